//! Webhook endpoints: where an organization's events are sent, and what became of them.
//!
//! | Method | Path | Description |
//! |---|---|---|
//!
//! The handlers are in `shared::hiring::webhooks`, because members can do the same in the dashboard. The function
//! `deliver` sends the events.

use shared::hiring::webhooks::{
    create, delete, list, list_deliveries, ping, redeliver, replay, rotate_secret, show, update,
};
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/webhook_endpoints", Scope::WebhooksRead, list),
        R::new("POST /api/v1/webhook_endpoints", Scope::WebhooksWrite, create),
        R::new("GET /api/v1/webhook_endpoints/{id}", Scope::WebhooksRead, show),
        R::new("PATCH /api/v1/webhook_endpoints/{id}", Scope::WebhooksWrite, update),
        R::new("DELETE /api/v1/webhook_endpoints/{id}", Scope::WebhooksWrite, delete),
        R::new("POST /api/v1/webhook_endpoints/{id}/rotate_secret", Scope::WebhooksWrite, rotate_secret),
        R::new("POST /api/v1/webhook_endpoints/{id}/ping", Scope::WebhooksWrite, ping),
        R::new("POST /api/v1/webhook_endpoints/{id}/replay", Scope::WebhooksWrite, replay),
        R::new("GET /api/v1/webhook_endpoints/{id}/deliveries", Scope::WebhooksRead, list_deliveries),
        R::new(
            "POST /api/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver",
            Scope::WebhooksWrite,
            redeliver,
        ),
    ]
}
