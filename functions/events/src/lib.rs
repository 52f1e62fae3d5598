//! The change feed: every change of the organization's data, oldest first, without gaps.

use shared::handlers::event_list;
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![R::new("GET /api/v1/events", Scope::EventsRead, event_list::list)]
}
