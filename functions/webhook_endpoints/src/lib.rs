//! Webhook endpoints: where an organization's events are sent, and what became of them.
//!
//! The handlers are in `shared::handlers::webhooks`, because members can do the same in the dashboard. The function
//! `deliver` sends the events.

use shared::handlers::webhooks;
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/webhook_endpoints", Scope::WebhooksRead, webhooks::list),
        R::new("POST /api/v1/webhook_endpoints", Scope::WebhooksWrite, webhooks::create),
        R::new("GET /api/v1/webhook_endpoints/{id}", Scope::WebhooksRead, webhooks::show),
        R::new("PATCH /api/v1/webhook_endpoints/{id}", Scope::WebhooksWrite, webhooks::update),
        R::new("DELETE /api/v1/webhook_endpoints/{id}", Scope::WebhooksWrite, webhooks::delete),
        R::new(
            "POST /api/v1/webhook_endpoints/{id}/rotate_secret",
            Scope::WebhooksWrite,
            webhooks::rotate_secret,
        ),
        R::new("POST /api/v1/webhook_endpoints/{id}/ping", Scope::WebhooksWrite, webhooks::ping),
        R::new("POST /api/v1/webhook_endpoints/{id}/replay", Scope::WebhooksWrite, webhooks::replay),
        R::new(
            "GET /api/v1/webhook_endpoints/{id}/deliveries",
            Scope::WebhooksRead,
            webhooks::list_deliveries,
        ),
        R::new(
            "POST /api/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver",
            Scope::WebhooksWrite,
            webhooks::redeliver,
        ),
    ]
}
