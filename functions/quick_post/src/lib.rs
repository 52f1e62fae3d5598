//! Quick post: create and publish a role and its job posting in one request.

use shared::handlers::quick_post;
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![R::new("POST /api/v1/quick_post", Scope::RolesWrite, quick_post::create)]
}
