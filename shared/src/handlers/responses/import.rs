//! Imports in the API.

use serde::Serialize;
use utoipa::ToSchema;

use super::file::FileUpload;
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    self, Actor, AssignedFile, CandidateFileKind, DateFormat, ImportCounts, ImportFilesStatus, ImportFormat,
    ImportMapping, ImportSettings, ImportStatus, ImportZip, ZippedFile,
};
use crate::providers::bucket::UploadForm;

/// How far the work on the rows is.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImportProgress {
    /// The number of rows; 0 before the file is read.
    rows: u64,
    /// The number of rows that have had their turn: in the check, in the run or in the undo.
    done: u64,
}

/// The ZIP file with the files of an import's people.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImportFiles {
    /// How far it is.
    status: ImportFilesStatus,
    /// Why it was refused: another one can be sent. Why the rest of the files was left out, if it was replaced during the run.
    reason: Option<String>,
    /// The number of files; 0 before it was read.
    count: u64,
    /// The number of files that belong to a row.
    matched: u64,
    /// The number of files that belong to no row.
    unmatched: u64,
    /// How to upload it, within an hour; `null` unless it is awaited.
    upload: Option<FileUpload>,
}

impl ImportFiles {
    /// A ZIP, and the form for its upload, if that is awaited.
    pub fn of(zip: ImportZip, upload: Option<UploadForm>) -> Self {
        let matched = zip.with_row();
        Self {
            status: zip.status,
            reason: zip.reason,
            count: zip.count,
            matched,
            unmatched: zip.count.saturating_sub(matched),
            upload: upload.map(FileUpload::from),
        }
    }
}

/// A file in the ZIP file of an import.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImportFile {
    /// The number in the ZIP file, from 1, without what systems put there.
    number: u64,
    /// The name with its folders.
    name: String,
    /// The size in bytes.
    size: u64,
    /// What it is.
    kind: CandidateFileKind,
    /// The row that it belongs to; `null` if it belongs to none, or if several rows have it in the same way.
    row: Option<u64>,
    /// Whether the row was assigned.
    assigned: bool,
    /// A row that it may belong to: its `external_id` is the name but for zeros before it.
    proposed_row: Option<u64>,
    /// Why nobody gets it; `null` if it can be given to a person.
    reason: Option<String>,
}

impl ImportFile {
    /// A file. These were assigned.
    pub fn of(file: ZippedFile, assigned: &[AssignedFile]) -> Self {
        Self {
            number: file.number,
            size: file.size,
            kind: file.kind,
            row: file.row,
            assigned: assigned.iter().any(|one| one.number == file.number),
            proposed_row: file.proposed_row.filter(|_| file.row.is_none()),
            reason: file.problem.map(|problem| format!("It {problem}.")),
            name: file.path,
        }
    }
}

/// An import of people.
#[derive(Debug, Serialize, ToSchema)]
pub struct Import {
    /// The identifier.
    id: Id,
    /// How far it is.
    status: ImportStatus,
    /// Why it has failed.
    reason: Option<String>,
    /// The format of the file.
    format: ImportFormat,
    #[serde(flatten)]
    settings: ImportSettings,
    /// What the columns mean: as the file was read or, before, as it was sent; `null` for NDJSON.
    mapping: Option<ImportMapping>,
    /// What becomes of the rows.
    counts: ImportCounts,
    /// How far the work on the rows is.
    progress: ImportProgress,
    /// What the whole file shows.
    warnings: Vec<String>,
    /// The one form that all dates have, if some are not read without it. Send it as `date_format` of another import.
    proposed_date_format: Option<DateFormat>,
    /// The number of people whom the retention rule would erase on the first day, by their own dates.
    due_for_erasure: u64,
    /// When it was created.
    created_at: Timestamp,
    /// Who created it.
    created_by: Actor,
    /// When every row had a verdict.
    checked_at: Option<Timestamp>,
    /// When it was run.
    run_at: Option<Timestamp>,
    /// When it was done, failed or was cancelled.
    ended_at: Option<Timestamp>,
    /// When it was undone.
    undone_at: Option<Timestamp>,
    /// The ZIP file with the people's files; `null` if none was announced.
    files: Option<ImportFiles>,
    /// How to upload the file, within an hour; `null` unless it is awaited.
    upload: Option<FileUpload>,
}

impl Import {
    /// The same, with how to upload the ZIP.
    #[must_use]
    pub fn with_zip_upload(self, upload: Option<UploadForm>) -> Self {
        let upload = upload.map(FileUpload::from);
        Self { files: self.files.map(|files| ImportFiles { upload, ..files }), ..self }
    }

    /// An import, and the form for its upload, if that is awaited.
    pub fn of(import: model::Import, upload: Option<UploadForm>) -> Self {
        let findings = import.findings.unwrap_or_default();
        Self {
            id: import.id,
            status: import.status,
            reason: import.reason,
            format: import.format,
            settings: import.settings,
            mapping: findings.mapping.or(import.mapping),
            counts: import.counts,
            progress: ImportProgress { rows: import.rows, done: import.done },
            warnings: findings.warnings,
            proposed_date_format: findings.date_format,
            due_for_erasure: import.due_for_erasure,
            created_at: import.created_at,
            created_by: import.created_by,
            checked_at: import.checked_at,
            run_at: import.run_at,
            ended_at: import.ended_at,
            undone_at: import.undone_at,
            files: import.zip.map(|zip| ImportFiles::of(zip, None)),
            upload: upload.map(FileUpload::from),
        }
    }
}
