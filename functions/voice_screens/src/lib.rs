//! Voice screens: AI interviews by phone. An invitation creates a screen, and the voice provider reports the result.

use shared::handlers::{screen_queries, screens};
use shared::http::Row;
use shared::model::{AuditAction, Scope};

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/voice_screens", Scope::VoiceScreensRead, screen_queries::list)
            .reading(AuditAction::VoiceScreensListed),
        R::new("GET /api/v1/voice_screens/{id}", Scope::VoiceScreensRead, screen_queries::show)
            .reading(AuditAction::VoiceScreenRead),
        R::new("POST /api/v1/voice_screens/{id}/cancel", Scope::CandidatesWrite, screens::cancel),
        R::new(
            "POST /api/v1/voice_screens/{id}/review",
            [Scope::CandidatesWrite, Scope::VoiceScreensRead],
            screens::review,
        ),
    ]
}
