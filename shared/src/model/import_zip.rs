//! The ZIP with the files of an import's people: how far it is, and the files in it.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::candidate_file_kind::CandidateFileKind;
use super::string_enum::string_enum;
use crate::clock::{Timestamp, later};
use crate::id::Id;

string_enum! {
    /// How far the ZIP with the files of an import is.
    pub enum ImportFilesStatus {
        /// It waits for the upload.
        Waiting = "waiting",
        /// The files are being given to rows.
        Matching = "matching",
        /// It is known which rows have which files.
        Matched = "matched",
        /// It cannot be used. `reason` says why.
        Refused = "refused",
    }
}

/// The ZIP with the files of an import's people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportZip {
    /// The number of the ZIP, from 1: another one takes the place of one that was matched or refused.
    pub number: u32,
    /// How far it is.
    pub status: ImportFilesStatus,
    /// Until when it can be uploaded.
    pub until: Timestamp,
    /// Why it was refused, or why the rows did not get the rest of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of files.
    #[serde(default)]
    pub count: u64,
    /// The number of files that belong to a row, apart from those that were assigned.
    #[serde(default)]
    pub matched: u64,
    /// The files that members assigned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assigned: Vec<AssignedFile>,
    /// The entity tag that it had when its files were given to rows: it may be uploaded once more until its ticket ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

/// A file that a member assigned to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignedFile {
    /// The number of the file in the ZIP.
    pub number: u64,
    /// The row.
    pub row: u64,
    /// What it is.
    pub kind: CandidateFileKind,
}

impl ImportZip {
    /// The maximum size, in bytes.
    pub const MAX_SIZE: u64 = 1024 * 1024 * 1024;
    /// The maximum number of files that members assign.
    pub const MAX_ASSIGNED: usize = 1_000;
    /// The lifetime of an upload ticket.
    const TICKET: SignedDuration = SignedDuration::from_hours(1);

    pub(super) fn new(number: u32, status: ImportFilesStatus, now: Timestamp) -> Self {
        let until = later(now, Self::TICKET);
        Self { number, status, until, reason: None, count: 0, matched: 0, assigned: Vec::new(), etag: None }
    }

    /// The number of files that belong to a row.
    pub const fn with_row(&self) -> u64 {
        self.matched + self.assigned.len() as u64
    }

    /// The number of files that a row gets from members.
    pub fn assigned_to(&self, row: u64) -> usize {
        self.assigned.iter().filter(|assigned| assigned.row == row).count()
    }

    pub(super) fn refused(&self, reason: &str) -> Self {
        let status = ImportFilesStatus::Refused;
        Self { status, reason: Some(reason.to_owned()), assigned: Vec::new(), ..self.clone() }
    }
}

/// A file in the ZIP of an import, as the directory of the ZIP has it, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZippedFile {
    /// The number, from 1.
    pub number: u64,
    /// The name with its folders. Of a name in an unknown encoding, the reading as code page 437.
    pub path: String,
    /// The other readings of the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<String>,
    /// The size in bytes.
    pub size: u64,
    /// The size while it is packed.
    pub packed: u64,
    /// Where its header begins in the ZIP.
    pub header: u64,
    /// The checksum of its content.
    pub crc32: u32,
    /// Whether it is compressed.
    pub is_deflated: bool,
    /// Why it cannot become anybody's file, as the end of a sentence about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The row that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// A row that it may belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_row: Option<u64>,
    /// What it is.
    pub kind: CandidateFileKind,
}

impl ZippedFile {
    /// The name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// What became of a file of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// The number of the file in the ZIP.
    pub number: u64,
    /// The person's file; `None` if it was left out, or the person has it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// Why it was left out, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ImportedFile {
    /// What is said about the row, if the file was left out.
    pub fn message(&self) -> Option<String> {
        let problem = self.problem.as_deref()?;
        Some(format!(
            "files is without file {} of the ZIP file. {}",
            self.number,
            problem.trim_end_matches('.')
        ))
    }
}
