//! Candidates: people and their progress through the hiring pipeline.

use shared::handlers::{
    candidate_detail, candidate_list, candidates, consents, erasure, export, files, moves, notes, screens,
    submissions,
};
use shared::http::Row;
use shared::model::{AuditAction, Scope};

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/candidates", Scope::CandidatesRead, candidate_list::list)
            .reading(AuditAction::CandidatesListed),
        R::new("POST /api/v1/candidates", Scope::CandidatesWrite, candidates::create),
        R::new("GET /api/v1/candidates/{id}", Scope::CandidatesRead, candidate_detail::show)
            .reading(AuditAction::CandidateRead),
        R::new("PATCH /api/v1/candidates/{id}", Scope::CandidatesWrite, candidates::update),
        R::new(
            "GET /api/v1/candidates/{id}/touchpoints",
            Scope::CandidatesRead,
            candidate_detail::list_touchpoints,
        )
        .reading(AuditAction::TouchpointsListed),
        R::new("GET /api/v1/candidates/{id}/notes", Scope::CandidatesRead, notes::list_notes)
            .reading(AuditAction::NotesListed),
        R::new("POST /api/v1/candidates/{id}/notes", Scope::CandidatesWrite, notes::create_note),
        R::new("PATCH /api/v1/candidates/{id}/notes/{note_id}", Scope::CandidatesWrite, notes::update_note),
        R::new("DELETE /api/v1/candidates/{id}/notes/{note_id}", Scope::CandidatesWrite, notes::delete_note),
        R::new("GET /api/v1/candidates/{id}/files", Scope::CandidatesRead, files::list_files)
            .reading(AuditAction::FilesListed),
        R::new("POST /api/v1/candidates/{id}/files", Scope::CandidatesWrite, files::create_file),
        R::new("GET /api/v1/candidates/{id}/files/{file_id}", Scope::CandidatesRead, files::show_file)
            .reading(AuditAction::FileRead),
        R::new("DELETE /api/v1/candidates/{id}/files/{file_id}", Scope::CandidatesWrite, files::delete_file),
        R::new(
            "POST /api/v1/candidates/{id}/files/{file_id}/complete",
            Scope::CandidatesWrite,
            files::complete_file,
        ),
        R::new(
            "GET /api/v1/candidates/{id}/submissions/{submission_id}",
            Scope::CandidatesRead,
            submissions::show_submission,
        )
        .reading(AuditAction::SubmissionRead),
        R::new("POST /api/v1/candidates/{id}/consents", Scope::CandidatesWrite, consents::create_consent),
        R::new("POST /api/v1/candidates/{id}/advance", Scope::CandidatesWrite, moves::advance),
        R::new("POST /api/v1/candidates/{id}/reject", Scope::CandidatesWrite, moves::reject),
        R::new("POST /api/v1/candidates/{id}/withdraw", Scope::CandidatesWrite, moves::withdraw),
        R::new("POST /api/v1/candidates/{id}/unreject", Scope::CandidatesWrite, moves::unreject),
        R::new("POST /api/v1/candidates/{id}/hire", Scope::CandidatesWrite, moves::hire),
        R::new("POST /api/v1/candidates/{id}/unhire", Scope::CandidatesWrite, moves::unhire),
        R::new("POST /api/v1/candidates/{id}/applications", Scope::CandidatesWrite, candidates::apply),
        R::new("POST /api/v1/candidates/{id}/invite_screen", Scope::CandidatesWrite, screens::invite_screen),
        R::new(
            "GET /api/v1/candidates/{id}/export",
            [Scope::CandidatesRead, Scope::VoiceScreensRead],
            export::export,
        )
        .reading(AuditAction::CandidateExported),
        R::new("POST /api/v1/candidates/{id}/erase", Scope::CandidatesErase, erasure::erase),
        R::new("PUT /api/v1/candidates/{id}/legal_hold", Scope::CandidatesErase, erasure::set_legal_hold),
        R::new("DELETE /api/v1/candidates/{id}/legal_hold", Scope::CandidatesErase, erasure::lift_legal_hold),
    ]
}
