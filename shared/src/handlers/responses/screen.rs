//! Voice screens in the API.

use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    self, Review, Scope, Scopes, Scores, ScreenResult, ScreenStatus, Touchpoint, TouchpointKind,
};

/// A voice screen: an AI interview by telephone.
#[derive(Debug, Serialize, ToSchema)]
pub struct Screen {
    /// The identifier.
    pub id: Id,
    /// The candidate.
    pub candidate_id: Id,
    /// The role.
    pub role_id: Id,
    /// The status. `completed`, `no_answer`, `failed`, `cancelled` and `declined` are final.
    pub status: ScreenStatus,
    /// The scheduled time of the call, if one was chosen.
    pub scheduled_at: Option<Timestamp>,
    /// When the conversation began.
    pub started_at: Option<Timestamp>,
    /// When the conversation ended, if the screen was completed.
    pub completed_at: Option<Timestamp>,
    /// The duration of the conversation, in seconds.
    pub duration_seconds: Option<u64>,
    /// A summary of the conversation, or an explanation of why there was none. Without the scope `voice_screens:read`,
    /// `summary`, `scores` and `result` are `null`.
    pub summary: Option<String>,
    /// The scores, from 0 to 100.
    pub scores: Option<Scores>,
    /// The result: `passed` with an overall score of at least 70, otherwise `failed`; `null` without an overall score, or if
    /// a person has overruled it.
    pub result: Option<ScreenResult>,
    /// What a person decided about the result; `null` if nobody did, or without the scope `voice_screens:read`.
    pub review: Option<Review>,
    /// When the candidate was invited.
    pub created_at: Timestamp,
    /// When the screen was last updated.
    pub updated_at: Timestamp,
}

/// What a caller may see of voice screens.
#[derive(Clone, Copy, Debug)]
pub struct ScreenAccess {
    /// Whether the caller may see the summary, the scores and the result.
    results: bool,
}

impl ScreenAccess {
    /// Access to everything, for exports.
    pub const FULL: Self = Self { results: true };

    /// Access with the results, or without them.
    pub const fn with_results(results: bool) -> Self {
        Self { results }
    }

    /// What a credential with these scopes may see.
    pub const fn of(scopes: Scopes) -> Self {
        Self { results: scopes.contains(Scope::VoiceScreensRead) }
    }

    /// A voice screen, as the caller may see it.
    pub fn screen(self, screen: model::Screen) -> Screen {
        Screen {
            id: screen.id,
            candidate_id: screen.candidate_id,
            role_id: screen.role_id,
            status: screen.status,
            scheduled_at: screen.scheduled_at,
            started_at: screen.started_at,
            completed_at: screen.completed_at,
            duration_seconds: screen.duration_seconds,
            summary: screen.summary.filter(|_| self.results),
            scores: Some(screen.scores).filter(|_| self.results),
            result: screen.result.filter(|_| self.results),
            review: screen.review.filter(|_| self.results),
            created_at: screen.created_at,
            updated_at: screen.updated_at,
        }
    }

    /// A touchpoint, as the caller may see it.
    pub fn touchpoint(self, mut touchpoint: Touchpoint) -> Touchpoint {
        match &mut touchpoint.kind {
            TouchpointKind::ScreenCompleted { result, .. } => *result = result.filter(|_| self.results),
            TouchpointKind::ScreenReviewed { decision, .. } => *decision = decision.filter(|_| self.results),
            _ => {}
        }
        touchpoint
    }
}
