//! Touchpoints: the entries in a candidate's history.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::application::{Application, Move, Notes};
use super::candidate::{CandidateRecord, Step};
use super::candidate_file_kind::CandidateFileKind;
use super::consent::{Consent, ConsentPurpose};
use super::file::CandidateFile;
use super::rejection::{Cause, EndedBy, Reason};
use super::resume::Resume;
use super::screen::{CancelReason, ReviewDecision, ScreenResult};
use super::stage::Stage;
use super::{Actor, Source};
use crate::clock::Timestamp;
use crate::id::Id;

/// The kind of a touchpoint, with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum TouchpointKind {
    /// The candidate was created.
    Created {
        /// How the candidate was created.
        source: Source,
    },
    /// An import brought the candidate, or changed what was known.
    Imported {
        /// The import.
        import_id: Id,
    },
    /// The candidate applied for a role.
    Applied {
        /// The application.
        application_id: Id,
        /// The role.
        role_id: Id,
        /// How the application was created.
        source: Source,
        /// The submitted form, if the candidate applied on the career page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Id, required = false)]
        submission_id: Option<Id>,
    },
    /// The candidate applied again for the role, on the career page.
    Reapplied {
        /// The application.
        application_id: Id,
        /// The role.
        role_id: Id,
        /// The submitted form.
        submission_id: Id,
    },
    /// A member accepted what forms with the candidate's e-mail address had offered.
    OfferedAccepted {
        /// The application.
        application_id: Id,
        /// The role.
        role_id: Id,
    },
    /// A member dismissed what forms with the candidate's e-mail address had offered.
    OfferedDismissed {
        /// The application.
        application_id: Id,
        /// The role.
        role_id: Id,
    },
    /// The candidate's fields were updated.
    Updated {
        /// The names of the changed fields.
        fields: Vec<String>,
        /// The link to the file, if the candidate uploaded a resume.
        #[serde(rename = "resume_url", skip_serializing_if = "Option::is_none")]
        #[schema(value_type = String, format = "uri", required = false)]
        resume: Option<Resume>,
    },
    /// The application moved to another open stage.
    StageChanged {
        /// The role of the application; `null` if the candidate had none.
        role_id: Option<Id>,
        /// The previous stage.
        from: Stage,
        /// The new stage.
        to: Stage,
    },
    /// The candidate was rejected.
    Rejected {
        /// The role of the application; `null` if the candidate had none.
        role_id: Option<Id>,
        /// The previous stage.
        from: Stage,
        /// The reason.
        reason: Option<Reason>,
        /// Further notes.
        notes: Option<Notes>,
    },
    /// The candidate withdrew the application.
    Withdrawn {
        /// The role of the application; `null` if the candidate had none.
        role_id: Option<Id>,
        /// The previous stage.
        from: Stage,
        /// The reason.
        reason: Option<Reason>,
    },
    /// The rejection or the withdrawal was undone.
    Unrejected {
        /// The role of the application; `null` if the candidate had none.
        role_id: Option<Id>,
        /// The new stage.
        to: Stage,
    },
    /// The candidate was hired.
    Hired {
        /// The role of the application; `null` if the candidate had none.
        role_id: Option<Id>,
        /// The previous stage.
        from: Stage,
        /// The first day of work.
        start_date: Option<Date>,
    },
    /// The hire was undone.
    Unhired {
        /// The role of the application; `null` if the candidate had none.
        role_id: Option<Id>,
        /// The new stage.
        to: Stage,
    },
    /// The application was closed with its role.
    ApplicationClosed {
        /// The application.
        application_id: Id,
        /// The role.
        role_id: Id,
    },
    /// The application became active again with its role.
    ApplicationReopened {
        /// The application.
        application_id: Id,
        /// The role.
        role_id: Id,
    },
    /// The application was deleted, because the import that had made it was undone.
    ApplicationDeleted {
        /// The application.
        application_id: Id,
        /// The role.
        role_id: Id,
    },
    /// A note about the candidate was added.
    NoteAdded {
        /// The note.
        note_id: Id,
    },
    /// The text of a note about the candidate was changed.
    NoteUpdated {
        /// The note.
        note_id: Id,
    },
    /// A note about the candidate was deleted.
    NoteDeleted {
        /// The note.
        note_id: Id,
    },
    /// A file was added.
    FileAdded {
        /// The file.
        file_id: Id,
        /// The application that it belongs to; `null` if it belongs to none.
        application_id: Option<Id>,
        /// The role of the application.
        role_id: Option<Id>,
        /// What it is.
        kind: CandidateFileKind,
    },
    /// A file was deleted: by the team, or because the candidate has sent newer ones than are kept.
    FileDeleted {
        /// The file.
        file_id: Id,
        /// The application that it belonged to; `null` if it belonged to none.
        application_id: Option<Id>,
        /// The role of the application.
        role_id: Option<Id>,
        /// What it was.
        kind: CandidateFileKind,
    },
    /// A consent was recorded.
    ConsentChanged {
        /// The consent.
        consent_id: Id,
        /// What the consent is for.
        purpose: ConsentPurpose,
        /// Whether the candidate gave the consent.
        granted: bool,
        /// When the candidate gave, refused or withdrew it.
        obtained_at: Timestamp,
    },
    /// The candidate was invited to a voice screen.
    ScreenInvited {
        /// The screen.
        screen_id: Id,
        /// The role.
        role_id: Id,
        /// The scheduled time of the call, if one was chosen.
        scheduled_at: Option<Timestamp>,
    },
    /// A voice screen was cancelled.
    ScreenCancelled {
        /// The screen.
        screen_id: Id,
        /// The role.
        role_id: Id,
        /// Why it was cancelled.
        reason: CancelReason,
    },
    /// A person confirmed or overruled the result of a voice screen.
    ScreenReviewed {
        /// The screen.
        screen_id: Id,
        /// The role.
        role_id: Id,
        /// The decision.
        decision: Option<ReviewDecision>,
    },
    /// A voice screen was completed.
    ScreenCompleted {
        /// The screen.
        screen_id: Id,
        /// The role.
        role_id: Id,
        /// The result.
        result: Option<ScreenResult>,
    },
}

/// An entry in a candidate's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Touchpoint {
    /// The identifier.
    pub id: Id,
    /// What happened.
    #[serde(flatten)]
    pub kind: TouchpointKind,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
}

impl TouchpointKind {
    /// The touchpoint of an application that has been closed or reopened with its role.
    pub fn of_status(application: &Application) -> Self {
        let (application_id, role_id) = (application.id, application.role.id);
        if application.role.is_closed {
            Self::ApplicationClosed { application_id, role_id }
        } else {
            Self::ApplicationReopened { application_id, role_id }
        }
    }

    /// The role that this is about; `None` if it is about the person.
    pub const fn role_id(&self) -> Option<Id> {
        match self {
            Self::Applied { role_id, .. }
            | Self::Reapplied { role_id, .. }
            | Self::OfferedAccepted { role_id, .. }
            | Self::OfferedDismissed { role_id, .. }
            | Self::ApplicationClosed { role_id, .. }
            | Self::ApplicationReopened { role_id, .. }
            | Self::ApplicationDeleted { role_id, .. }
            | Self::ScreenInvited { role_id, .. }
            | Self::ScreenCancelled { role_id, .. }
            | Self::ScreenReviewed { role_id, .. }
            | Self::ScreenCompleted { role_id, .. } => Some(*role_id),
            Self::StageChanged { role_id, .. }
            | Self::Rejected { role_id, .. }
            | Self::Withdrawn { role_id, .. }
            | Self::Unrejected { role_id, .. }
            | Self::Hired { role_id, .. }
            | Self::Unhired { role_id, .. }
            | Self::FileAdded { role_id, .. }
            | Self::FileDeleted { role_id, .. } => *role_id,
            Self::Created { .. }
            | Self::Imported { .. }
            | Self::Updated { .. }
            | Self::NoteAdded { .. }
            | Self::NoteUpdated { .. }
            | Self::NoteDeleted { .. }
            | Self::ConsentChanged { .. } => None,
        }
    }

    /// The touchpoint of a file that was added.
    pub fn of_new_file(file: &CandidateFile, record: &CandidateRecord) -> Self {
        let CandidateFile { id: file_id, application_id, kind, .. } = *file;
        Self::FileAdded { file_id, application_id, role_id: role_of(file, record), kind }
    }

    /// The touchpoint of a file that was deleted.
    pub fn of_deleted_file(file: &CandidateFile, record: &CandidateRecord) -> Self {
        let CandidateFile { id: file_id, application_id, kind, .. } = *file;
        Self::FileDeleted { file_id, application_id, role_id: role_of(file, record), kind }
    }

    /// The touchpoint of a consent.
    pub const fn of_consent(consent: &Consent) -> Self {
        let Consent { id, purpose, granted, obtained_at, .. } = *consent;
        Self::ConsentChanged { consent_id: id, purpose, granted, obtained_at }
    }

    /// The touchpoint of a move that led to `step`.
    pub fn of(made: &Move, step: Step) -> Self {
        let Step { role_id, from, to } = step;
        match made.clone() {
            Move::Advance(_) => Self::StageChanged { role_id, from, to },
            Move::Reject { cause: Cause { by: EndedBy::Team, reason, .. }, notes } => {
                Self::Rejected { role_id, from, reason, notes }
            }
            Move::Reject { cause: Cause { by: EndedBy::Candidate, reason, .. }, .. } => {
                Self::Withdrawn { role_id, from, reason }
            }
            Move::Hire { start_date } => Self::Hired { role_id, from, start_date },
            Move::Unreject => Self::Unrejected { role_id, to },
            Move::Unhire => Self::Unhired { role_id, to },
        }
    }
}

/// The role of the application that a file belongs to.
fn role_of(file: &CandidateFile, record: &CandidateRecord) -> Option<Id> {
    let id = file.application_id?;
    record.applications.iter().find(|application| application.id == id).map(|one| one.role.id)
}

impl Touchpoint {
    /// The resume that the candidate uploaded, if this touchpoint records an upload.
    pub const fn resume(&self) -> Option<&Resume> {
        match &self.kind {
            TouchpointKind::Updated { resume, .. } => resume.as_ref(),
            _ => None,
        }
    }
}
