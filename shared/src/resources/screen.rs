//! A voice screen on the wire.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::id::Id;
use crate::model::{self, Scores, ScreenResult, ScreenStatus};

/// An AI interview by telephone, as clients see it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Screen {
    /// The identifier.
    pub id: Id,
    /// Who is interviewed.
    pub candidate_id: Id,
    /// For which role.
    pub role_id: Id,
    /// Where it stands. `completed`, `no_answer` and `failed` are for good.
    pub status: ScreenStatus,
    /// When the call is to be made, where that was chosen.
    pub scheduled_at: Option<Timestamp>,
    /// When the conversation began.
    pub started_at: Option<Timestamp>,
    /// When a completed one ended.
    pub completed_at: Option<Timestamp>,
    /// How long it took.
    pub duration_seconds: Option<u64>,
    /// The conversation in a few sentences, or what became of the call.
    pub summary: Option<String>,
    /// From 0 to 100.
    pub scores: Scores,
    /// `passed` with an overall score of 70 or more.
    pub result: Option<ScreenResult>,
    /// When the candidate was invited.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl From<model::Screen> for Screen {
    fn from(screen: model::Screen) -> Self {
        Self {
            id: screen.id,
            candidate_id: screen.candidate_id,
            role_id: screen.role_id,
            status: screen.status,
            scheduled_at: screen.scheduled_at,
            started_at: screen.started_at,
            completed_at: screen.completed_at,
            duration_seconds: screen.duration_seconds,
            summary: screen.summary,
            scores: screen.scores,
            result: screen.result,
            created_at: screen.created_at,
            updated_at: screen.updated_at,
        }
    }
}
