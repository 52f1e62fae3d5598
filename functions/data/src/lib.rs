//! A team's data as a whole: imports of people.
//!
//! The handlers are in `shared::handlers::imports`, because members can do the same in the dashboard. The function `tasks` reads
//! the files and does the work.

use shared::handlers::imports;
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/imports", Scope::DataImport, imports::list_imports),
        R::new("POST /api/v1/imports", Scope::DataImport, imports::create_import),
        R::new("GET /api/v1/imports/{id}", Scope::DataImport, imports::show_import),
        R::new("GET /api/v1/imports/{id}/rows", Scope::DataImport, imports::list_verdicts),
        R::new("POST /api/v1/imports/{id}/complete", Scope::DataImport, imports::complete_import),
        R::new("POST /api/v1/imports/{id}/run", Scope::DataImport, imports::run_import),
        R::new("POST /api/v1/imports/{id}/cancel", Scope::DataImport, imports::cancel_import),
        R::new("POST /api/v1/imports/{id}/undo", Scope::DataImport, imports::undo_import),
    ]
}
