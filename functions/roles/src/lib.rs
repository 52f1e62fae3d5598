//! Roles: open positions.

use shared::handlers::{rejection_reasons, role_queries, role_stats, roles};
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/roles", Scope::RolesRead, role_queries::list),
        R::new("POST /api/v1/roles", Scope::RolesWrite, roles::create),
        R::new("GET /api/v1/roles/{id}", Scope::RolesRead, role_queries::show),
        R::new("PATCH /api/v1/roles/{id}", Scope::RolesWrite, roles::update),
        R::new("POST /api/v1/roles/{id}/publish", Scope::RolesWrite, roles::publish),
        R::new("POST /api/v1/roles/{id}/pause", Scope::RolesWrite, roles::pause),
        R::new("POST /api/v1/roles/{id}/resume", Scope::RolesWrite, roles::resume),
        R::new("DELETE /api/v1/roles/{id}", Scope::RolesWrite, roles::close),
        R::new("POST /api/v1/roles/{id}/reopen", Scope::RolesWrite, roles::reopen),
        R::new("GET /api/v1/roles/{id}/stats", Scope::RolesRead, role_stats::show_role_stats),
        R::new(
            "GET /api/v1/rejection_reasons",
            Scope::OrganizationRead,
            rejection_reasons::list_rejection_reasons,
        ),
        R::new(
            "PUT /api/v1/rejection_reasons",
            Scope::RolesWrite,
            rejection_reasons::replace_rejection_reasons,
        ),
    ]
}
