//! The row of an import: one person with everything that a team knows about him or her. All other forms become this one.

use std::fmt;

use super::consents::NewConsent;
use crate::clock::Timestamp;
use crate::http::{Error, input, read_body};
use crate::id::Id;
use crate::model::{
    ApplicationStatus, CandidateFileKind, Email, EndedBy, ExternalId, GivenPhone, Lines, Name, NoteText,
    Source, Stage, Tag, Tags, Text, WebAddress,
};

/// The maximum number of applications of a row.
pub const MAX_APPLICATIONS: usize = 200;
/// The maximum number of files of a row.
pub const MAX_FILES: usize = 20;
/// The maximum number of notes, of consents, and of stage changes of an application.
pub const MAX_ENTRIES: usize = 1_000;

input! {
    /// A person to import.
    pub struct ImportRow {
        /// The identifier in another system.
        pub external_id: optional ExternalId,
        /// The name.
        pub name: required Name,
        /// The e-mail address.
        pub email: optional Email,
        /// The phone number.
        pub phone: optional GivenPhone,
        /// Where the person came from.
        pub source: optional Source,
        /// The tags.
        pub tags: list Tag[Tags::MAX],
        /// Since when the other system has the person.
        pub created_at: optional Timestamp,
        /// A link to the resume.
        pub resume_url: optional WebAddress,
        /// The notes.
        pub notes: objects ImportNote[MAX_ENTRIES],
        /// Names of files in the ZIP of the import.
        pub files: objects ImportFile[MAX_FILES],
        /// What the person has agreed to.
        pub consents: objects NewConsent[MAX_ENTRIES],
        /// The applications.
        pub applications: objects ImportApplication[MAX_APPLICATIONS],
        /// Of an exported row; it means nothing here.
        _id: optional Id,
        /// Of an exported row; it means nothing here.
        _version: optional Id,
        /// Of an exported row; it means nothing here.
        _stage: optional Stage,
        /// Of an exported row; it means nothing here.
        _updated_at: optional Timestamp,
    }

    /// A note that somebody wrote in the other system.
    pub struct ImportNote {
        /// The text.
        pub text: required NoteText,
        /// Who wrote it.
        pub author: optional Text<200>,
        /// When it was written.
        pub at: optional Timestamp,
    }

    /// A file in the ZIP of the import.
    pub struct ImportFile {
        /// The name.
        pub name: required Text<500>,
        /// The kind.
        pub kind: optional CandidateFileKind = CandidateFileKind::default(),
    }

    /// An application.
    pub struct ImportApplication {
        /// The identifier in another system.
        pub external_id: optional ExternalId,
        /// The role.
        pub role: object ImportRole,
        /// When the person applied.
        pub applied_at: optional Timestamp,
        /// The stage; for a rejected application, the last one before.
        pub stage: optional Stage,
        /// The status.
        pub status: optional ApplicationStatus,
        /// Why it was rejected.
        pub rejection: optional_object ImportRejection,
        /// The answers to questions of the other system.
        pub answers: objects ImportAnswer[MAX_ENTRIES],
        /// The moves.
        pub stage_changes: objects ImportStageChange[MAX_ENTRIES],
    }

    /// The role of an application: by its identifier, or by the identifier in another system, by the title, or by both, of which
    /// the title counts where no role has the identifier.
    pub struct ImportRole {
        /// The identifier.
        pub id: optional Id,
        /// The identifier in another system.
        pub external_id: optional ExternalId,
        /// The title.
        pub title: optional Text<200>,
    }

    /// The end of an application without a hire.
    pub struct ImportRejection {
        /// Who ended it.
        pub by: optional EndedBy = EndedBy::Team,
        /// Why.
        pub reason: optional Lines<500>,
        /// When.
        pub at: optional Timestamp,
    }

    /// An answer to a question of the other system.
    pub struct ImportAnswer {
        /// What was asked.
        pub label: required Text<300>,
        /// The answer.
        pub value: required Lines<5_000>,
    }

    /// A move to a stage.
    pub struct ImportStageChange {
        /// The stage.
        pub stage: required Stage,
        /// When.
        pub at: required Timestamp,
    }
}

impl ImportRow {
    /// Everything that is wrong with the row beyond its single fields.
    fn problems(&self, now: Timestamp) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |path: &dyn fmt::Display, time: Option<Timestamp>| {
            if time.is_some_and(|time| time > now) {
                problems.push(format!("{path} must not be in the future"));
            }
        };
        check(&"created_at", self.created_at);
        for (index, note) in self.notes.iter().flatten().enumerate() {
            check(&format_args!("notes[{index}].at"), note.at);
        }
        let applications = || self.applications.iter().flatten().enumerate();
        for (index, application) in applications() {
            check(&format_args!("applications[{index}].applied_at"), application.applied_at);
            let rejected_at = application.rejection.as_ref().and_then(|rejection| rejection.at);
            check(&format_args!("applications[{index}].rejection.at"), rejected_at);
            for (change, moved) in application.stage_changes.iter().flatten().enumerate() {
                check(&format_args!("applications[{index}].stage_changes[{change}].at"), Some(moved.at));
            }
        }
        for (index, application) in applications() {
            let ImportRole { id, external_id, title } = &application.role;
            let is_named = external_id.is_some() || title.is_some();
            if id.is_some() == is_named {
                problems.push(format!(
                    "applications[{index}].role must have an id, or an external_id, a title or both"
                ));
            }
        }
        problems
    }
}

/// Reads the JSON of a row. Fails with all that is wrong with it, each message beginning with the path of a field.
pub fn read_line(json: &str, now: Timestamp) -> Result<ImportRow, Vec<String>> {
    if serde_json::from_str::<serde::de::IgnoredAny>(json).is_err() {
        return Err(vec!["row must be a JSON object".to_owned()]);
    }
    let row: ImportRow = read_body(json, std::iter::empty()).map_err(|error| match error {
        Error::Validation(messages) => messages,
        other => vec![other.to_string()],
    })?;
    let problems = row.problems(now);
    if problems.is_empty() { Ok(row) } else { Err(problems) }
}
