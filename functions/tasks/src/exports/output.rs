//! The files of an export during a turn. What the turn adds is in memory, and at its end one file after the other is, with what
//! the turns before have left in no part.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;
use shared::clock::Timestamp;
use shared::handlers::export_rows::{PersonRow, cells, columns, is_too_long};
use shared::id::Id;
use shared::model::{Export, ExportFile, ExportFormat, ExportKind, ExternalId, Tenant};
use shared::providers::bucket::{Bucket, MIN_PART};
use shared::spreadsheet;

use crate::TaskError;

/// The media type of what is no file by itself.
const REST: &str = "application/octet-stream";

/// The files of an export during a turn.
pub(super) struct Output {
    format: ExportFormat,
    /// The files, each with what this turn has added.
    files: Vec<(ExportFile, Vec<u8>)>,
    /// The external ids of the roles that have been read.
    pub(super) roles: BTreeMap<Id, ExternalId>,
    /// The number of bytes that they take in the bucket.
    known_roles: usize,
    /// The number of bytes that this turn has added.
    pub(super) added: usize,
}

impl Output {
    /// The files as the turn before has left them; `None` if the external ids of roles are not there.
    pub(super) async fn load(
        bucket: &Bucket,
        export: &Export,
        tenant: Tenant,
        now: Timestamp,
    ) -> Result<Option<Self>, TaskError> {
        let of = |file: &ExportFile| (file.clone(), Vec::new());
        let mut output = Self {
            format: export.format,
            files: export.files.iter().map(of).collect(),
            roles: BTreeMap::new(),
            known_roles: export.known_roles,
            added: 0,
        };
        if export.turns == 0 {
            output.write_headers();
        }
        if export.known_roles > 0 {
            let key = known_roles_key(export, tenant, export.turns + 1);
            let Some(known) = read(bucket, &key, export.known_roles, now).await? else { return Ok(None) };
            let Ok(known) = serde_json::from_slice(&known) else { return Ok(None) };
            output.roles = known;
        }
        Ok(Some(output))
    }

    /// Begins each spreadsheet with the names of its columns.
    fn write_headers(&mut self) {
        if self.format != ExportFormat::Csv {
            return;
        }
        for (file, end) in &mut self.files {
            end.extend(spreadsheet::MARK);
            spreadsheet::write_row(end, columns(file.kind).iter().copied());
            file.size = end.len() as u64;
        }
    }

    /// Adds a row, if the export has its kind.
    pub(super) fn add(&mut self, kind: ExportKind, row: &impl Serialize) -> Result<(), TaskError> {
        match self.format {
            ExportFormat::Ndjson => self.add_line(kind, row),
            ExportFormat::Csv if self.has(kind) => {
                let cells = cells(kind, row).map_err(|error| unwritten(&error))?;
                self.add_cells(kind, &cells);
                Ok(())
            }
            ExportFormat::Csv => Ok(()),
        }
    }

    /// Adds a person, who has several rows in a spreadsheet.
    pub(super) fn add_person(&mut self, person: &PersonRow) -> Result<(), TaskError> {
        match self.format {
            ExportFormat::Ndjson => self.add_line(ExportKind::Candidates, person),
            ExportFormat::Csv => {
                for cells in person.cells() {
                    self.add_cells(ExportKind::Candidates, &cells);
                }
                Ok(())
            }
        }
    }

    fn has(&self, kind: ExportKind) -> bool {
        self.files.iter().any(|(file, _)| file.kind == kind)
    }

    fn add_line(&mut self, kind: ExportKind, row: &impl Serialize) -> Result<(), TaskError> {
        let Some((file, end)) = self.files.iter_mut().find(|(file, _)| file.kind == kind) else {
            return Ok(());
        };
        let before = end.len();
        serde_json::to_writer(&mut *end, row).map_err(|error| unwritten(&error))?;
        end.push(b'\n');
        let added = end.len() - before;
        file.rows += 1;
        file.size += added as u64;
        self.added += added;
        Ok(())
    }

    fn add_cells(&mut self, kind: ExportKind, cells: &[String]) {
        let Some((file, end)) = self.files.iter_mut().find(|(file, _)| file.kind == kind) else { return };
        if is_too_long(cells) {
            file.left_out += 1;
            return;
        }
        let before = end.len();
        spreadsheet::write_row(end, cells.iter().map(String::as_str));
        let added = end.len() - before;
        file.rows += 1;
        file.size += added as u64;
        self.added += added;
    }

    /// The files without what was added, and the number of bytes of the external ids of roles.
    pub(super) fn heads(&self) -> (Vec<ExportFile>, usize) {
        (self.files.iter().map(|(file, _)| file.clone()).collect(), self.known_roles)
    }

    /// Begins uploads in parts of the files that have become large. Returns the files of the export as they were, with these
    /// uploads; `None` if there are no new ones.
    pub(super) async fn begin_uploads(
        &mut self,
        bucket: &Bucket,
        export: &Export,
        tenant: Tenant,
        now: Timestamp,
    ) -> Result<Option<Vec<ExportFile>>, TaskError> {
        let (mut heads, mut has_begun) = (export.files.clone(), false);
        for ((file, added), head) in self.files.iter_mut().zip(&mut heads) {
            if file.upload.is_none() && file.rest + added.len() >= MIN_PART {
                let key = export.file(tenant, file.kind);
                let upload = bucket.begin_upload(&key, media_type(export.format), now).await?;
                head.upload = Some(upload.clone());
                file.upload = Some(upload);
                has_begun = true;
            }
        }
        Ok(has_begun.then_some(heads))
    }

    /// Stores what this turn has read: as parts of large files, which may be small only if they are the last, or as the rest for a
    /// later turn. Returns whether the rests of the turns before were there.
    pub(super) async fn store(
        &mut self,
        bucket: &Bucket,
        export: &Export,
        tenant: Tenant,
        is_last: bool,
        now: Timestamp,
    ) -> Result<bool, TaskError> {
        if is_last {
            self.known_roles = 0;
        } else if !self.roles.is_empty() {
            let known = serde_json::to_vec(&self.roles).map_err(|error| unwritten(&error))?;
            self.known_roles = known.len();
            bucket.write(&known_roles_key(export, tenant, export.turns), known, REST, now).await?;
        }
        for (file, added) in &mut self.files {
            let ends = is_last && file.upload.is_some();
            if added.is_empty() && !(ends && file.rest > 0) {
                continue;
            }
            let Some(mut content) = read_rest(bucket, export, tenant, file, now).await? else {
                return Ok(false);
            };
            content.append(&mut std::mem::take(added));
            if let Some(upload) = &file.upload
                && (content.len() >= MIN_PART || is_last)
            {
                let (key, number) = (export.file(tenant, file.kind), file.parts.len() + 1);
                file.parts.push(bucket.upload_part(&key, upload, number, content.into(), now).await?);
                file.rest = 0;
            } else {
                file.rest = content.len();
                file.rests += 1;
                bucket.write(&rest_key(export, tenant, file), content, REST, now).await?;
            }
        }
        Ok(true)
    }

    /// Makes the files of what is stored of them. It can be repeated. Returns whether everything was there.
    pub(super) async fn finish(
        &mut self,
        bucket: &Bucket,
        export: &Export,
        tenant: Tenant,
        now: Timestamp,
    ) -> Result<bool, TaskError> {
        for (file, _) in &mut self.files {
            let key = export.file(tenant, file.kind);
            if let Some(upload) = &file.upload {
                bucket.finish_upload(&key, upload, &file.parts, now).await?;
            } else {
                let Some(content) = read_rest(bucket, export, tenant, file, now).await? else {
                    return Ok(false);
                };
                bucket.write_attachment(&key, content.into(), media_type(export.format), now).await?;
            }
            file.rest = 0;
            file.parts.clear();
        }
        Ok(true)
    }
}

/// The end of a file that is in no part yet; `None` if it is not there.
async fn read_rest(
    bucket: &Bucket,
    export: &Export,
    tenant: Tenant,
    file: &ExportFile,
    now: Timestamp,
) -> Result<Option<Vec<u8>>, TaskError> {
    if file.rest == 0 {
        return Ok(Some(Vec::new()));
    }
    Ok(read(bucket, &rest_key(export, tenant, file), file.rest, now).await?.map(Vec::from))
}

/// An object of this size; `None` if there is none.
async fn read(bucket: &Bucket, key: &str, size: usize, now: Timestamp) -> Result<Option<Bytes>, TaskError> {
    let object = bucket.read(key, size, now).await?;
    Ok(object.map(|object| object.bytes).filter(|bytes| bytes.len() == size))
}

/// The key of the last end of a file that was written.
fn rest_key(export: &Export, tenant: Tenant, file: &ExportFile) -> String {
    number(export.rests(tenant, Some(file.kind)), file.rests)
}

/// The key of the external ids of roles that a turn leaves.
fn known_roles_key(export: &Export, tenant: Tenant, turn: u64) -> String {
    number(export.rests(tenant, None), turn)
}

fn number([even, odd]: [String; 2], number: u64) -> String {
    if number.is_multiple_of(2) { even } else { odd }
}

const fn media_type(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Ndjson => "application/x-ndjson",
        ExportFormat::Csv => "text/csv",
    }
}

fn unwritten(error: &dyn std::fmt::Display) -> TaskError {
    TaskError::NotCarriedOut(format!("a row can't be written: {error}"))
}
