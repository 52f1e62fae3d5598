//! A team's data as a whole: imports of people, and exports.
//!
//! The handlers are in `shared::handlers`, because members can do the same in the dashboard. The function `tasks` reads and writes
//! the files.

use shared::handlers::{exports, import_files, imports};
use shared::http::Row;
use shared::model::Scope;

/// What a credential needs for exports. All of them are of people.
const EXPORT: [Scope; 2] = [Scope::DataExport, Scope::CandidatesRead];

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/imports", Scope::DataImport, imports::list_imports),
        R::new("POST /api/v1/imports", Scope::DataImport, imports::create_import),
        R::new("GET /api/v1/imports/{id}", Scope::DataImport, imports::show_import),
        R::new("GET /api/v1/imports/{id}/rows", Scope::DataImport, imports::list_verdicts),
        R::new("GET /api/v1/imports/{id}/files", Scope::DataImport, import_files::list_import_files),
        R::new("POST /api/v1/imports/{id}/files", Scope::DataImport, import_files::create_import_files),
        R::new(
            "POST /api/v1/imports/{id}/files/{number}/assign",
            Scope::DataImport,
            import_files::assign_import_file,
        ),
        R::new("POST /api/v1/imports/{id}/complete", Scope::DataImport, imports::complete_import),
        R::new("POST /api/v1/imports/{id}/run", Scope::DataImport, imports::run_import),
        R::new("POST /api/v1/imports/{id}/cancel", Scope::DataImport, imports::cancel_import),
        R::new("POST /api/v1/imports/{id}/undo", Scope::DataImport, imports::undo_import),
        R::new("GET /api/v1/exports", EXPORT, exports::list_exports),
        R::new("POST /api/v1/exports", EXPORT, exports::create_export),
        R::new("GET /api/v1/exports/{id}", EXPORT, exports::show_export),
    ]
}
