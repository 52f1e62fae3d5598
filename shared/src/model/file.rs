//! Files of candidates: those that came with forms, and those that members and API keys add.

use serde::{Deserialize, Serialize};

use super::candidate_file_kind::CandidateFileKind;
use super::string_enum::string_enum;
use super::{Actor, ResumeFile, Text};
use crate::clock::Timestamp;
use crate::documents::FileKind;
use crate::id::Id;

string_enum! {
    /// What can be done with a file.
    pub enum FileStatus {
        /// The file has not been uploaded yet.
        Waiting = "waiting",
        /// The file cannot be opened before a virus scanner has looked at it.
        Scanning = "scanning",
        /// The file can be opened.
        Ready = "ready",
        /// The file was not accepted.
        Refused = "refused",
    }
}

string_enum! {
    /// How a file came to a candidate.
    pub enum FileOrigin {
        /// A member, an API key or an application added it.
        Team = "team",
        /// It came with the form that created the candidate, or a member has accepted it.
        OwnForm = "own_form",
        /// It came with a form that anybody can send who knows the candidate's e-mail address.
        LaterForm = "later_form",
    }
}

/// The name of a file, as whoever sent it called it.
pub type FileName = Text<255>;

/// A file of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateFile {
    /// The identifier.
    pub id: Id,
    /// The application that the file belongs to.
    pub application_id: Option<Id>,
    /// What it is.
    #[serde(default)]
    pub kind: CandidateFileKind,
    /// The question that the file answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_id: Option<Id>,
    /// The name that its sender gave it, or what the question asked if it was uploaded as an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<FileName>,
    /// Where its content is.
    #[serde(flatten)]
    pub content: FileContent,
    /// The size in bytes.
    pub size: u64,
    /// How it came to the candidate.
    #[serde(default = "unknown_origin")]
    pub origin: FileOrigin,
    /// When it was added.
    pub created_at: Timestamp,
    /// Who added it.
    #[serde(default = "Actor::career_page")]
    pub created_by: Actor,
    /// When somebody opened it first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Timestamp>,
    /// What distinguishes its content from others, if a member sent it with a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Files that were stored before they had an origin came with forms.
const fn unknown_origin() -> FileOrigin {
    FileOrigin::LaterForm
}

/// Where the content of a file is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileContent {
    /// In the bucket, checked.
    #[serde(rename = "resume")]
    Kept(ResumeFile),
    /// In the bucket, checked, and waiting for a virus scanner.
    #[serde(rename = "unscanned")]
    Unscanned(ResumeFile),
    /// Not here yet.
    #[serde(rename = "upload")]
    Awaited(AwaitedUpload),
    /// Nowhere, for this reason.
    #[serde(rename = "refusal")]
    Refused(String),
}

/// An upload that is expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedUpload {
    /// The unguessable name of the file in the bucket, without an extension.
    pub name: String,
    /// The key that the file is uploaded to.
    pub key: String,
    /// When the ticket ends.
    pub until: Timestamp,
}

impl CandidateFile {
    /// The maximum number of files of a candidate that the team adds. A file that was refused gives way to another one.
    pub const MAX_OF_TEAM: usize = 20;
    /// The maximum number of files of an application's forms that nobody has opened, for each question and apart from them.
    pub const MAX_OF_FORMS: usize = 5;

    /// What can be done with the file.
    pub const fn status(&self) -> FileStatus {
        match self.content {
            FileContent::Kept(_) => FileStatus::Ready,
            FileContent::Unscanned(_) => FileStatus::Scanning,
            FileContent::Awaited(_) => FileStatus::Waiting,
            FileContent::Refused(_) => FileStatus::Refused,
        }
    }

    /// The file in the bucket, once it was checked.
    pub const fn stored(&self) -> Option<&ResumeFile> {
        match &self.content {
            FileContent::Kept(file) | FileContent::Unscanned(file) => Some(file),
            FileContent::Awaited(_) | FileContent::Refused(_) => None,
        }
    }

    /// The file in the bucket, if it can be opened.
    pub const fn ready(&self) -> Option<&ResumeFile> {
        match &self.content {
            FileContent::Kept(file) => Some(file),
            _ => None,
        }
    }

    /// Where the file is uploaded to, while it is awaited.
    pub const fn awaited(&self) -> Option<&AwaitedUpload> {
        match &self.content {
            FileContent::Awaited(upload) => Some(upload),
            _ => None,
        }
    }

    /// Whether the file can be the current resume of the candidate.
    pub fn is_own_resume(&self) -> bool {
        self.kind == CandidateFileKind::Resume
            && self.question_id.is_none()
            && self.origin != FileOrigin::LaterForm
            && self.stored().is_some()
    }

    /// The name, with the extension of what the file was found to be. A file without a name has one of the candidate's.
    pub fn shown_name(&self, candidate: &str) -> String {
        match (&self.name, self.stored()) {
            (Some(name), Some(stored)) => stored.named(name.as_str()),
            (None, Some(stored)) => stored.file_name(candidate),
            (Some(name), None) => name.as_str().to_owned(),
            (None, None) => format!("{candidate} resume"),
        }
    }

    /// The registered media type of the content; `None` before it was checked.
    pub fn media_type(&self) -> Option<&'static str> {
        self.stored().and_then(ResumeFile::kind).map(FileKind::media_type)
    }
}

/// The file that gives way to another one of the team: the oldest one that was refused.
pub fn giving_way_to_team(files: &[CandidateFile]) -> Result<Option<&CandidateFile>, TooManyFiles> {
    let of_team = || files.iter().filter(|file| file.origin == FileOrigin::Team);
    if of_team().count() < CandidateFile::MAX_OF_TEAM {
        return Ok(None);
    }
    let refused = of_team().filter(|file| file.status() == FileStatus::Refused);
    refused.min_by_key(|file| file.id).map(Some).ok_or(TooManyFiles)
}

/// The file that gives way to another one of an application's forms: the oldest one that nobody has opened. Files that
/// somebody has opened stay, and the others never become more than the limit.
pub fn giving_way_to_form(
    files: &[CandidateFile],
    application: Option<Id>,
    question: Option<Id>,
) -> Option<&CandidateFile> {
    let same = |file: &&CandidateFile| {
        file.origin != FileOrigin::Team && file.application_id == application && file.question_id == question
    };
    let is_full = files.iter().filter(same).count() >= CandidateFile::MAX_OF_FORMS;
    let unopened = files.iter().filter(same).filter(|file| file.opened_at.is_none());
    unopened.min_by_key(|file| file.id).filter(|_| is_full)
}

/// The team has added as many files as are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyFiles;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mode, Tenant};
    use serde_json::json;

    fn file(id: u64, content: FileContent, origin: FileOrigin) -> CandidateFile {
        CandidateFile {
            id: Id::new(id).unwrap(),
            application_id: Id::new(9),
            kind: CandidateFileKind::Resume,
            question_id: None,
            name: FileName::cut("cv.PDF"),
            content,
            size: 7,
            origin,
            created_at: Timestamp::UNIX_EPOCH,
            created_by: Actor::system(),
            opened_at: None,
            digest: None,
        }
    }

    fn kept(extension: &str) -> FileContent {
        let tenant = Tenant { organization: Id::new(7).unwrap(), mode: Mode::Live };
        FileContent::Kept(ResumeFile::new(tenant, "x1", extension))
    }

    #[test]
    fn a_file_that_was_stored_before_it_had_a_kind_is_a_resume_of_a_form() {
        let stored = json!({
            "id": 3, "application_id": 9, "resume": "resumes/7/live/x1.pdf", "size": 12,
            "created_at": "2026-11-28T10:00:00Z",
        });
        let read: CandidateFile = serde_json::from_value(stored).unwrap();
        assert_eq!((read.status(), read.kind), (FileStatus::Ready, CandidateFileKind::Resume));
        assert_eq!((read.origin, read.created_by), (FileOrigin::LaterForm, Actor::career_page()));
        let written = serde_json::to_value(file(3, kept("pdf"), FileOrigin::Team)).unwrap();
        assert_eq!(written["resume"], "resumes/7/live/x1.pdf");
    }

    #[test]
    fn a_name_has_the_extension_of_the_content() {
        let named = |content| file(1, content, FileOrigin::Team).shown_name("Ada");
        assert_eq!(named(kept("pdf")), "cv.PDF");
        assert_eq!(named(kept("docx")), "cv.PDF.docx");
        let unnamed = CandidateFile { name: None, ..file(1, kept("odt"), FileOrigin::Team) };
        assert_eq!(unnamed.shown_name("Ada"), "Ada resume.odt");
    }

    #[test]
    fn the_oldest_refused_file_gives_way_to_the_team_and_the_oldest_unopened_one_to_a_form() {
        let mut files: Vec<_> = (1..=20).map(|id| file(id, kept("pdf"), FileOrigin::Team)).collect();
        assert_eq!(giving_way_to_team(&files[..19]), Ok(None));
        assert_eq!(giving_way_to_team(&files), Err(TooManyFiles));
        for index in [5, 3] {
            files[index].content = FileContent::Refused("It is empty.".to_owned());
        }
        assert_eq!(giving_way_to_team(&files).unwrap().map(|file| file.id.get()), Some(4));
        let application = Id::new(9);
        let mut files: Vec<_> = (1..=5).map(|id| file(id, kept("pdf"), FileOrigin::LaterForm)).collect();
        let giving_way =
            |files: &[CandidateFile]| giving_way_to_form(files, application, None).map(|file| file.id.get());
        assert_eq!((giving_way(&files[..4]), giving_way(&files)), (None, Some(1)));
        files[0].opened_at = Some(Timestamp::UNIX_EPOCH);
        assert_eq!(giving_way(&files), Some(2));
        for file in &mut files {
            file.opened_at = Some(Timestamp::UNIX_EPOCH);
        }
        assert_eq!(giving_way(&files), None);
    }
}
