//! Exports of an organization's data in the API.

use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{self, Actor, ExportFormat, ExportKind, ExportStatus};

/// A file of an export.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportFile {
    /// What it has.
    kind: ExportKind,
    /// The number of rows.
    rows: u64,
    /// The size in bytes.
    size: u64,
    /// The URL of the file, valid for up to an hour; ask again for another one. `null` in lists, and for credentials that may not
    /// see everything in it.
    #[schema(format = "uri")]
    url: Option<String>,
}

/// An export of the organization's data.
#[derive(Debug, Serialize, ToSchema)]
pub struct Export {
    /// The identifier.
    id: Id,
    /// How far it is.
    status: ExportStatus,
    /// Why it has no files.
    reason: Option<String>,
    /// The format of the files.
    format: ExportFormat,
    /// What it has.
    kinds: Vec<ExportKind>,
    /// The role to which it is limited.
    role_id: Option<Id>,
    /// The position in the change feed from which `GET /events` continues what the files have; `null` unless the export is of
    /// everything.
    position: Option<String>,
    /// The files, one for each kind; none before all are written.
    files: Vec<ExportFile>,
    /// The number of rows of spreadsheets that were left out, because a cell has more than 32,000 characters. The format `ndjson`
    /// has them.
    left_out: u64,
    /// Until when the files are kept; `null` before they are written.
    expires_at: Option<Timestamp>,
    /// When it was created.
    created_at: Timestamp,
    /// Who created it.
    created_by: Actor,
    /// When it was done or failed.
    ended_at: Option<Timestamp>,
}

impl Export {
    /// An export, with these URLs of its files.
    pub fn of(export: model::Export, urls: Vec<Option<String>>) -> Self {
        let (left_out, expires_at) = (export.left_out(), export.kept_until());
        let is_done = export.status == ExportStatus::Done;
        let mut urls = urls.into_iter();
        let files = export.files.into_iter().filter(|_| is_done).map(|file| ExportFile {
            kind: file.kind,
            rows: file.rows,
            size: file.size,
            url: urls.next().flatten(),
        });
        Self {
            id: export.id,
            status: export.status,
            reason: export.reason,
            format: export.format,
            kinds: export.kinds,
            role_id: export.role_id,
            position: export.position.map(|position| position.to_string()),
            files: files.collect(),
            left_out,
            expires_at,
            created_at: export.created_at,
            created_by: export.created_by,
            ended_at: export.failed_at.or(export.done_at),
        }
    }
}
