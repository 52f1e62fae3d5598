//! Applications: candidates' progress through the pipelines of roles. Moves are routes of the candidate.

use shared::handlers::applications;
use shared::http::Row;
use shared::model::{AuditAction, Scope};

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/applications", Scope::CandidatesRead, applications::list)
            .reading(AuditAction::ApplicationsListed),
        R::new("GET /api/v1/applications/{id}", Scope::CandidatesRead, applications::show)
            .reading(AuditAction::ApplicationRead),
    ]
}
