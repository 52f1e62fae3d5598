//! Imports in the API.

use serde::Serialize;
use utoipa::ToSchema;

use super::file::FileUpload;
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    self, Actor, DateFormat, ImportCounts, ImportFormat, ImportMapping, ImportSettings, ImportStatus,
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
    /// How to upload the file, within an hour; `null` unless it is awaited.
    upload: Option<FileUpload>,
}

impl Import {
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
            upload: upload.map(FileUpload::from),
        }
    }
}
