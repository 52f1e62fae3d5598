//! Voice screens in the API.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::id::Id;
use crate::model::{self, Scores, ScreenResult, ScreenStatus};

/// A voice screen: an AI interview by telephone.
#[derive(Debug, Serialize, ToSchema)]
pub struct Screen {
    /// The identifier.
    pub id: Id,
    /// The candidate.
    pub candidate_id: Id,
    /// The role.
    pub role_id: Id,
    /// The status. `completed`, `no_answer` and `failed` are final.
    pub status: ScreenStatus,
    /// The scheduled time of the call, if one was chosen.
    pub scheduled_at: Option<Timestamp>,
    /// When the conversation began.
    pub started_at: Option<Timestamp>,
    /// When the conversation ended, if the screen was completed.
    pub completed_at: Option<Timestamp>,
    /// The duration of the conversation, in seconds.
    pub duration_seconds: Option<u64>,
    /// A summary of the conversation, or an explanation of why the call failed.
    pub summary: Option<String>,
    /// The scores, from 0 to 100.
    pub scores: Scores,
    /// The result: `passed` with an overall score of at least 70, otherwise `failed`; `null` without an overall score.
    pub result: Option<ScreenResult>,
    /// When the candidate was invited.
    pub created_at: Timestamp,
    /// When the screen was last updated.
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
