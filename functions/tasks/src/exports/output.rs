//! The files of an export during a turn: their ends, which are in no part yet, are in memory.

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

/// The media type of what is no file of its own.
const REST: &str = "application/octet-stream";

/// The files of an export, as far as a turn has them.
pub(super) struct Output {
    format: ExportFormat,
    /// The files, each with its end.
    files: Vec<(ExportFile, Vec<u8>)>,
    /// The external ids of the roles that have been read.
    pub(super) roles: BTreeMap<Id, ExternalId>,
    /// The number of bytes that they take in the rest.
    known_roles: usize,
    /// The number of bytes that this turn has added.
    pub(super) added: usize,
}

impl Output {
    /// The files as the turn before has left them; `None` if they are not.
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
            known_roles: 0,
            added: 0,
        };
        if export.turns == 0 {
            output.write_headers();
            return Ok(Some(output));
        }
        let size = export.known_roles + export.files.iter().map(|file| file.rest).sum::<usize>();
        if size == 0 {
            return Ok(Some(output));
        }
        let key = rest_key(export, tenant, export.turns + 1);
        let Some(object) = bucket.read(&key, size, now).await? else { return Ok(None) };
        if object.bytes.len() != size {
            return Ok(None);
        }
        let (roles, mut rests) = object.bytes.split_at(export.known_roles);
        if !roles.is_empty() {
            let Ok(known) = serde_json::from_slice(roles) else { return Ok(None) };
            output.roles = known;
        }
        for (file, end) in &mut output.files {
            let (own, others) = rests.split_at(file.rest);
            end.extend_from_slice(own);
            rests = others;
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

    /// The files without their ends, and the number of bytes before these.
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
        for ((file, end), head) in self.files.iter_mut().zip(&mut heads) {
            if file.upload.is_none() && end.len() >= MIN_PART {
                let key = export.file(tenant, file.kind);
                let upload = bucket.begin_upload(&key, media_type(export.format), now).await?;
                head.upload = Some(upload.clone());
                file.upload = Some(upload);
                has_begun = true;
            }
        }
        Ok(has_begun.then_some(heads))
    }

    /// Stores what this turn has read: as parts of large files, which may be small only if they are the last, and the rest for the
    /// next turn.
    pub(super) async fn store(
        &mut self,
        bucket: &Bucket,
        export: &Export,
        tenant: Tenant,
        is_last: bool,
        now: Timestamp,
    ) -> Result<(), TaskError> {
        let mut rest = Vec::new();
        if !is_last && !self.roles.is_empty() {
            serde_json::to_writer(&mut rest, &self.roles).map_err(|error| unwritten(&error))?;
        }
        self.known_roles = rest.len();
        for (file, end) in &mut self.files {
            if let Some(upload) = &file.upload
                && (end.len() >= MIN_PART || (is_last && !end.is_empty()))
            {
                let (key, number) = (export.file(tenant, file.kind), file.parts.len() + 1);
                let content = Bytes::from(std::mem::take(end));
                file.parts.push(bucket.upload_part(&key, upload, number, content, now).await?);
            }
            file.rest = end.len();
            rest.append(end);
        }
        if !rest.is_empty() {
            bucket.write(&rest_key(export, tenant, export.turns), rest, REST, now).await?;
        }
        Ok(())
    }

    /// Makes the files of what is stored of them. It can be repeated.
    pub(super) async fn finish(
        &mut self,
        bucket: &Bucket,
        export: &Export,
        tenant: Tenant,
        now: Timestamp,
    ) -> Result<(), TaskError> {
        for (file, end) in &mut self.files {
            let key = export.file(tenant, file.kind);
            if let Some(upload) = &file.upload {
                bucket.finish_upload(&key, upload, &file.parts, now).await?;
            } else {
                let content = Bytes::from(std::mem::take(end));
                bucket.write_attachment(&key, content, media_type(export.format), now).await?;
            }
            file.rest = 0;
            file.parts.clear();
        }
        self.known_roles = 0;
        Ok(())
    }
}

/// The key of what a turn leaves in no part.
fn rest_key(export: &Export, tenant: Tenant, turn: u64) -> String {
    let [even, odd] = export.rests(tenant);
    if turn.is_multiple_of(2) { even } else { odd }
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
