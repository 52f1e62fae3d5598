//! Touchpoints: a candidate's history, one entry for everything that was done.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Text;
use super::candidate::{Source, Stage};
use super::screen::ScreenResult;
use crate::id::Id;

/// Why a candidate was rejected.
pub type Reason = Text<500>;
/// What there is to say about it.
pub type Notes = Text<5_000>;

/// What was done, with what there is to know about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Happening {
    /// The candidate was added.
    Created {
        /// How.
        source: Source,
    },
    /// The candidate applied for a role.
    Applied {
        /// The application.
        application_id: Id,
        /// The role.
        role_id: Id,
        /// How.
        source: Source,
    },
    /// The candidate's own fields were changed.
    Updated {
        /// Which of them.
        fields: Vec<String>,
    },
    /// The candidate moved along the pipeline.
    StageChanged {
        /// From where.
        from: Stage,
        /// Where to.
        to: Stage,
    },
    /// The candidate was rejected.
    Rejected {
        /// From where.
        from: Stage,
        /// Why.
        reason: Option<Reason>,
        /// What there is to say about it.
        notes: Option<Notes>,
    },
    /// The rejection was taken back.
    Unrejected {
        /// Where to.
        to: Stage,
    },
    /// The candidate was hired.
    Hired {
        /// From where.
        from: Stage,
        /// The first day at work.
        start_date: Option<Date>,
    },
    /// The candidate was invited to a voice screen.
    ScreenInvited {
        /// The screen.
        screen_id: Id,
        /// For which role.
        role_id: Id,
        /// When it is to take place.
        scheduled_at: Option<Timestamp>,
    },
    /// A voice screen was completed.
    ScreenCompleted {
        /// The screen.
        screen_id: Id,
        /// For which role.
        role_id: Id,
        /// What it came to.
        result: Option<ScreenResult>,
    },
}

/// An entry of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Touchpoint {
    /// The identifier.
    pub id: Id,
    /// What was done.
    #[serde(flatten)]
    pub happening: Happening,
    /// When.
    pub at: Timestamp,
    /// By whom: a credential's name, `career page` or `voice provider`.
    pub actor: String,
}
