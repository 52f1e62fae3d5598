//! Job postings: the public pages of roles on the career site. A role has at most one.

use shared::handlers::postings;
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/job_postings", Scope::RolesRead, postings::list),
        R::new("POST /api/v1/job_postings", Scope::RolesWrite, postings::create),
        R::new("GET /api/v1/job_postings/{id}", Scope::RolesRead, postings::show),
        R::new("PATCH /api/v1/job_postings/{id}", Scope::RolesWrite, postings::update),
        R::new("POST /api/v1/job_postings/{id}/publish", Scope::RolesWrite, postings::publish),
        R::new("POST /api/v1/job_postings/{id}/unpublish", Scope::RolesWrite, postings::unpublish),
    ]
}
