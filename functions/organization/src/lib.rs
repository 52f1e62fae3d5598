//! The organization: its plan, limits, usage and settings, and its audit log.

use shared::handlers::organization;
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/organization", Scope::OrganizationRead, organization::show),
        R::new("GET /api/v1/audit_log", Scope::AuditRead, organization::list_audit_log),
    ]
}
