//! Touchpoints: a candidate's history, one entry for everything that was done.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Text;
use super::candidate::{Name, Source, Stage};
use super::contact::{Email, Phone, WebAddress};
use super::resume::Resume;
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
        /// What the form on the career page held; only there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Submission, required = false)]
        submission: Option<Box<Submission>>,
    },
    /// The candidate's own fields were changed.
    Updated {
        /// Which of them.
        fields: Vec<String>,
        /// The file that an applicant has sent, where that is what was done.
        #[serde(rename = "resume_url", default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = String, format = "uri", required = false)]
        resume: Option<Resume>,
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

/// What an applicant wrote into the form on the career page. Anybody can write anything there: of a candidate who is
/// known already, nothing changes by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Submission {
    /// The name.
    pub name: Name,
    /// The e-mail address.
    pub email: Email,
    /// The telephone number.
    pub phone: Option<Phone>,
    /// Where the résumé is.
    pub resume_url: Option<WebAddress>,
    /// A few words.
    pub note: Option<Notes>,
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

impl Touchpoint {
    /// The file that was sent, where that is what was done.
    pub const fn resume(&self) -> Option<&Resume> {
        match &self.happening {
            Happening::Updated { resume, .. } => resume.as_ref(),
            _ => None,
        }
    }
}
