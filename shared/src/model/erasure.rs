//! Erasures of candidates.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::string_enum::string_enum;
use super::{Actor, ActorId, Application, CandidateRecord, CountedCause, Resume, ResumeFile, Stage};
use crate::clock::Timestamp;
use crate::id::Id;

string_enum! {
    /// Why a candidate was erased.
    pub enum ErasureReason {
        /// The person asked for it.
        Request = "request",
        /// The retention period is over.
        Retention = "retention",
        /// The candidate was created by mistake.
        Mistake = "mistake",
    }
}

/// What is kept of an erased candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Erasure {
    /// The candidate's identifier.
    pub id: Id,
    /// When the candidate was erased.
    pub erased_at: Timestamp,
    /// Why the candidate was erased.
    pub reason: ErasureReason,
    /// Who erased the candidate.
    pub actor: ActorId,
}

impl Erasure {
    /// The erasure of a candidate.
    pub const fn new(id: Id, reason: ErasureReason, actor: &Actor, now: Timestamp) -> Self {
        Self { id, erased_at: now, reason, actor: actor.without_name() }
    }
}

/// An error for an erasure that a legal hold forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a legal hold on the candidate forbids the erasure")]
pub struct OnHold;

/// An application of an erased candidate that is still counted and listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedApplication {
    /// The identifier.
    pub id: Id,
    /// The role.
    pub role_id: Id,
    /// The stage.
    pub stage: Stage,
    /// Why it was rejected, if that has a counter of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CountedCause>,
    /// Whether the application waits for a decision after a voice screen, unless its role is closed.
    pub screened: bool,
    /// The score, with which the application is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
    /// Whether the application is listed among those with which somebody applied again.
    #[serde(default)]
    pub reapplied: bool,
}

/// The record of an erased candidate, with what the erasure task needs to remove everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedCandidate {
    /// What is kept.
    #[serde(flatten)]
    pub erasure: Erasure,
    /// The applications that are still counted and listed.
    pub applications: Vec<ErasedApplication>,
    /// The resume, if it was uploaded.
    pub file: Option<ResumeFile>,
    /// The list of the suspect forms with the person's e-mail address, until they are removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspects: Option<String>,
    /// When the task is due; `None` once everything is removed.
    pub task_due: Option<Timestamp>,
    /// The version, which increases with every write.
    pub version: u64,
}

impl ErasedApplication {
    /// What is counted and listed of an application.
    pub fn of(application: &Application) -> Self {
        Self {
            id: application.id,
            role_id: application.role.id,
            stage: application.stage,
            cause: application.counted_cause(),
            screened: application.is_screened(),
            score: application.score,
            reapplied: application.reapplied,
        }
    }
}

impl ErasedCandidate {
    /// The record that replaces the record of a candidate, unless there is a legal hold.
    pub fn of(record: &CandidateRecord, erasure: Erasure) -> Result<Self, OnHold> {
        if record.legal_hold.is_some() {
            return Err(OnHold);
        }
        let applications = record.listed().iter().map(ErasedApplication::of);
        let resume = record.candidate.profile.resume.as_ref();
        Ok(Self {
            applications: applications.collect(),
            file: resume.and_then(Resume::file).cloned(),
            suspects: None,
            task_due: Some(erasure.erased_at),
            version: record.version + 1,
            erasure,
        })
    }

    /// The record when the task is due again, or when everything is removed.
    #[must_use]
    pub fn due(self, task_due: Option<Timestamp>) -> Self {
        let (file, suspects) = if task_due.is_some() { (self.file, self.suspects) } else { (None, None) };
        Self { file, suspects, task_due, version: self.version + 1, ..self }
    }
}
