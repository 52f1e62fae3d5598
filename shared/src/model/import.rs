//! Imports: people whom a team brings from elsewhere, row by row.
//!
//! The rows of the file are read once, and stored in parts. Each part is then judged, carried out and undone in its turn, so
//! that an import can go on wherever it was interrupted.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::actor::Actor;
use super::day::Day;
use super::import_settings::{DateFormat, ImportMapping, TextEncoding};
use super::import_zip::{ImportZip, ImportedFile};
use super::phone_digits::PlainPhones;
use super::string_enum::string_enum;
use super::tags::Tags;
use super::{Plan, Source, Tenant, Text};
use crate::clock::{Timestamp, later};
use crate::id::Id;

string_enum! {
    /// The format of the file of an import.
    pub enum ImportFormat {
        /// Text in cells with a separator (RFC 4180).
        Csv = "csv",
        /// A workbook (ECMA-376).
        Xlsx = "xlsx",
        /// A JSON object in each line.
        Ndjson = "ndjson",
    }
}

string_enum! {
    /// How far an import is.
    pub enum ImportStatus {
        /// It waits for the upload of the file.
        Waiting = "waiting",
        /// The rows are being read and judged.
        Checking = "checking",
        /// Every row has a verdict. It waits for the decision to run it.
        Checked = "checked",
        /// The rows are being carried out.
        Running = "running",
        /// The rows were carried out.
        Done = "done",
        /// It is being undone.
        Undoing = "undoing",
        /// It was undone.
        Undone = "undone",
        /// Nothing of the file can be trusted, it was not run in time, or what was stored of it is gone. `reason` says why.
        Failed = "failed",
        /// Somebody cancelled it.
        Cancelled = "cancelled",
    }
}

string_enum! {
    /// What becomes of a row.
    #[derive(PartialOrd, Ord)]
    pub enum RowResult {
        /// A person is added.
        Create = "create",
        /// Something is added to a person.
        Update = "update",
        /// The person has everything already.
        Unchanged = "unchanged",
        /// Something is wrong with the row, so it is skipped.
        Invalid = "invalid",
    }
}

/// What rows have that do not say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportDefaults {
    /// The role of those without an application.
    #[serde(default)]
    pub role_id: Option<Id>,
    /// Where the people came from.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub source: Option<Source>,
    /// Tags that all get.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub tags: Tags,
}

/// How an import is carried out.
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the request")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportSettings {
    /// Where the file comes from, such as the name of another system.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub source: Option<Text<100>>,
    /// The sheet of a workbook; `null` for the first visible one with a header.
    #[serde(default)]
    pub sheet: Option<String>,
    /// The encoding of a text file; `null` for UTF-8 if the whole file is, else Windows-1252.
    #[serde(default)]
    pub encoding: Option<TextEncoding>,
    /// How dates with several readings are read; `null` if they are invalid.
    #[serde(default)]
    pub date_format: Option<DateFormat>,
    /// How phone numbers of digits alone are read; `null` if those with two readings are invalid.
    #[serde(default)]
    pub plain_phones: Option<PlainPhones>,
    /// What rows have that do not say otherwise.
    #[serde(default)]
    pub defaults: ImportDefaults,
    /// Whether roles are made whose titles are unknown.
    pub create_roles: bool,
    /// Whether values replace those that a known person has.
    pub overwrite: bool,
    /// Whether retention counts from the people's own dates, and not from the import.
    pub respect_dates: bool,
    /// Whether webhook endpoints get the events.
    pub notify: bool,
}

/// The numbers of rows by what becomes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportCounts {
    /// Rows that add a person.
    pub create: u64,
    /// Rows that add something to a person.
    pub update: u64,
    /// Rows of people who have everything already.
    pub unchanged: u64,
    /// Rows that are skipped, because something is wrong with them.
    pub invalid: u64,
    /// Rows that are not invalid and have messages.
    pub warnings: u64,
    /// Blank rows and repeated headers, which have no verdict.
    #[serde(default)]
    pub skipped: u64,
    /// Rows of an import that was undone, of which nothing is left.
    #[serde(default)]
    pub undone: u64,
    /// Rows of an import that was undone, of which something stays.
    #[serde(default)]
    pub kept: u64,
}

impl ImportCounts {
    /// The number of rows with this result.
    pub const fn of(&self, result: RowResult) -> u64 {
        match result {
            RowResult::Create => self.create,
            RowResult::Update => self.update,
            RowResult::Unchanged => self.unchanged,
            RowResult::Invalid => self.invalid,
        }
    }

    /// Counts a row.
    pub const fn add(&mut self, result: RowResult, has_messages: bool) {
        match result {
            RowResult::Create => self.create += 1,
            RowResult::Update => self.update += 1,
            RowResult::Unchanged => self.unchanged += 1,
            RowResult::Invalid => self.invalid += 1,
        }
        if has_messages && !matches!(result, RowResult::Invalid) {
            self.warnings += 1;
        }
    }

    /// The counts after one of the rows has another result than before.
    #[must_use]
    pub fn changed(&self, before: RowResult, after: RowResult) -> Self {
        let (mut one, mut other) = (Self::default(), Self::default());
        one.add(before, false);
        other.add(after, false);
        self.after(one, other)
    }

    /// The number of rows with a verdict.
    pub const fn judged(&self) -> u64 {
        self.create + self.update + self.unchanged + self.invalid
    }

    /// The sum after a part has other counts than before.
    fn after(self, before: Self, after: Self) -> Self {
        Self {
            create: self.create - before.create + after.create,
            update: self.update - before.update + after.update,
            unchanged: self.unchanged - before.unchanged + after.unchanged,
            invalid: self.invalid - before.invalid + after.invalid,
            warnings: self.warnings - before.warnings + after.warnings,
            skipped: self.skipped,
            undone: self.undone - before.undone + after.undone,
            kept: self.kept - before.kept + after.kept,
        }
    }
}

/// What the file was found to have as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportFindings {
    /// What its columns mean; `None` for NDJSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping: Option<ImportMapping>,
    /// What the whole file shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The one form that all dates have, if some are not read without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date_format: Option<DateFormat>,
}

/// An import: all but its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The identifier.
    pub id: Id,
    /// The format of the file.
    pub format: ImportFormat,
    /// How it is carried out.
    pub settings: ImportSettings,
    /// What the columns mean, as it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping: Option<ImportMapping>,
    /// The unguessable part of the keys of its files.
    pub secret: String,
    /// How far it is.
    pub status: ImportStatus,
    /// Why it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the file was found to have, once it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<ImportFindings>,
    /// The number of rows.
    pub rows: u64,
    /// The number of parts.
    pub parts: u32,
    /// The number of parts that have had their turn: judged, carried out or undone.
    pub position: u32,
    /// The number of rows of these parts.
    pub done: u64,
    /// What became of the rows.
    pub counts: ImportCounts,
    /// The number of people whom the retention rule would erase on the first day, by their own dates.
    pub due_for_erasure: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// Who created it.
    pub created_by: Actor,
    /// When every row had a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// Who ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_by: Option<Actor>,
    /// When it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Timestamp>,
    /// When it was done, failed or was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Who undid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<Actor>,
    /// When it was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<Timestamp>,
    /// The ZIP with files of its people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip: Option<ImportZip>,
    /// Whether its files are deleted.
    pub is_cleared: bool,
    /// When the task that works on it is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_due: Option<Timestamp>,
    /// The version, which grows with every write.
    pub version: u64,
}

impl Import {
    /// The maximum number of imports that are not finished.
    pub const MAX_UNFINISHED: usize = 3;
    /// The maximum size of an uploaded file, in bytes.
    pub const MAX_UPLOAD: u64 = 200 * 1024 * 1024;
    /// The maximum number of rows in a request.
    pub const MAX_SENT_ROWS: usize = 100;
    /// The length of the unguessable part of the keys of its files.
    pub const SECRET_LENGTH: usize = 24;
    /// The lifetime of an upload ticket.
    pub const TICKET: SignedDuration = SignedDuration::from_hours(1);
    /// How long the files of a checked import are kept.
    pub const CHECKED: SignedDuration = SignedDuration::from_hours(7 * 24);
    /// How long an import can be undone, and its verdicts are kept.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
    /// How long what its rows have made is stored: for the run, and until it can no longer be undone, and for the undo.
    pub const CLAIMED: SignedDuration = SignedDuration::from_hours(45 * 24);
    /// How long one worker has an import for itself: a little longer than a function may run.
    pub const LEASE: SignedDuration = SignedDuration::from_secs(150);
    /// How often it is looked whether the file was uploaded, or whether a pause is over.
    pub const WAIT: SignedDuration = SignedDuration::from_secs(20);

    /// An import that waits for its file.
    pub fn new(id: Id, secret: String, created_by: Actor, now: Timestamp) -> Self {
        let settings = ImportSettings {
            source: None,
            sheet: None,
            encoding: None,
            date_format: None,
            plain_phones: None,
            defaults: ImportDefaults::default(),
            create_roles: true,
            overwrite: false,
            respect_dates: false,
            notify: false,
        };
        Self {
            id,
            format: ImportFormat::Ndjson,
            settings,
            mapping: None,
            secret,
            status: ImportStatus::Waiting,
            reason: None,
            findings: None,
            rows: 0,
            parts: 0,
            position: 0,
            done: 0,
            counts: ImportCounts::default(),
            due_for_erasure: 0,
            created_at: now,
            created_by,
            checked_at: None,
            run_by: None,
            run_at: None,
            ended_at: None,
            undone_by: None,
            undone_at: None,
            zip: None,
            is_cleared: false,
            task_due: Some(later(now, Self::WAIT)),
            version: 1,
        }
    }

    /// The new import, whose file is here.
    #[must_use]
    pub fn with_file(self, now: Timestamp) -> Self {
        Self { status: ImportStatus::Checking, task_due: Some(now), ..self }
    }

    /// Until when the file can be uploaded.
    pub fn upload_until(&self) -> Timestamp {
        later(self.created_at, Self::TICKET)
    }

    /// The beginning of the keys of all of an organization's files of imports.
    pub fn files_of(organization: Id) -> String {
        format!("{PREFIX}{organization}/")
    }

    /// The beginning of the keys of the import's files.
    pub(super) fn files(&self, tenant: Tenant) -> String {
        let mode = tenant.mode.as_str();
        format!("{}{mode}/{}-{}/", Self::files_of(tenant.organization), self.id, self.secret)
    }

    /// The key of the file with the people.
    pub fn file(&self, tenant: Tenant) -> String {
        format!("{}file", self.files(tenant))
    }

    /// The key of the rows of a part.
    pub fn part_file(&self, tenant: Tenant, part: u32) -> String {
        format!("{}rows/{part}", self.files(tenant))
    }

    /// The key of the verdicts of a part.
    pub fn verdict_file(&self, tenant: Tenant, part: u32) -> String {
        format!("{}verdicts/{part}", self.files(tenant))
    }

    /// Until when a checked import can be run.
    pub fn run_until(&self) -> Timestamp {
        later(self.checked_at.unwrap_or(self.created_at), Self::CHECKED)
    }

    /// Whether it counts towards the maximum.
    pub const fn is_unfinished(&self) -> bool {
        matches!(
            self.status,
            ImportStatus::Waiting | ImportStatus::Checking | ImportStatus::Checked | ImportStatus::Running
        )
    }

    /// Whether somebody or something works on it.
    pub const fn is_working(&self) -> bool {
        matches!(self.status, ImportStatus::Checking | ImportStatus::Running | ImportStatus::Undoing)
    }

    /// Until when its verdicts are kept, and it can be undone.
    pub fn kept_until(&self) -> Timestamp {
        later(self.ended_at.or(self.checked_at).unwrap_or(self.created_at), Self::KEPT)
    }

    /// Who asked for its latest step: for the undo, else for the run, else for the check.
    pub fn asked_by(&self) -> &Actor {
        self.undone_by.as_ref().or(self.run_by.as_ref()).unwrap_or(&self.created_by)
    }

    /// Whether nobody and nothing works on it any more.
    pub const fn is_over(&self) -> bool {
        matches!(
            self.status,
            ImportStatus::Done | ImportStatus::Undone | ImportStatus::Failed | ImportStatus::Cancelled
        )
    }

    pub(super) fn next(&self) -> Self {
        Self { version: self.version + 1, ..self.clone() }
    }

    /// The import that nobody else works on for a while. If the work is interrupted, it goes on after that.
    #[must_use]
    pub fn lease(&self, now: Timestamp) -> Self {
        Self { task_due: Some(later(now, Self::LEASE)), ..self.next() }
    }

    /// The import that looks later whether it can go on.
    #[must_use]
    pub fn wait(&self, now: Timestamp) -> Self {
        Self { task_due: Some(later(now, Self::WAIT)), ..self.next() }
    }

    /// The import whose file is here.
    #[must_use]
    pub fn check(&self, now: Timestamp) -> Self {
        Self { status: ImportStatus::Checking, task_due: Some(now), ..self.next() }
    }

    /// The import whose rows are stored in parts.
    #[must_use]
    pub fn read(
        &self,
        findings: ImportFindings,
        skipped: u64,
        rows: u64,
        parts: u32,
        now: Timestamp,
    ) -> Self {
        let counts = ImportCounts { skipped, ..ImportCounts::default() };
        let read = Self { findings: Some(findings), rows, parts, counts, ..self.next() };
        if parts == 0 { read.turn_over(now) } else { Self { task_due: Some(now), ..read } }
    }

    /// The import after the turn of a part.
    #[must_use]
    pub fn after_turn(&self, before: &ImportPart, after: &ImportPart, now: Timestamp) -> Self {
        let counts = self.counts.after(before.counts, after.counts);
        let due_for_erasure = match self.status {
            ImportStatus::Checking => self.due_for_erasure - before.due_for_erasure + after.due_for_erasure,
            _ => self.due_for_erasure,
        };
        let (position, done) = (self.position + 1, self.done + after.rows);
        let next = Self { counts, position, done, due_for_erasure, task_due: Some(now), ..self.next() };
        if position < self.parts { next } else { next.turn_over(now) }
    }

    /// The import all of whose parts have had their turn, if there were none.
    pub fn without_parts(&self, now: Timestamp) -> Option<Self> {
        (self.parts == 0).then(|| self.next().turn_over(now))
    }

    /// The import when all parts have had their turn.
    pub(super) fn turn_over(self, now: Timestamp) -> Self {
        match self.status {
            ImportStatus::Checking => {
                let checked = Self { status: ImportStatus::Checked, checked_at: Some(now), ..self };
                // It is looked at once whether an awaited ZIP is here.
                let due = if checked.awaited_zip().is_some() { now } else { checked.run_until() };
                Self { task_due: Some(due), ..checked }
            }
            ImportStatus::Undoing => {
                let due = self.kept_until().max(now);
                Self { status: ImportStatus::Undone, undone_at: Some(now), task_due: Some(due), ..self }
            }
            _ => self.end(ImportStatus::Done, None, now),
        }
    }

    /// The import that ends. A task deletes its files.
    fn end(self, status: ImportStatus, reason: Option<String>, now: Timestamp) -> Self {
        Self { status, reason, ended_at: Some(now), task_due: Some(now), ..self }
    }

    /// The import that has failed, with a sentence that says why.
    #[must_use]
    pub fn fail(&self, reason: String, now: Timestamp) -> Self {
        self.next().end(ImportStatus::Failed, Some(reason), now)
    }

    /// The import whose rows are to be carried out; `None` unless it is checked.
    pub fn run(&self, actor: Actor, now: Timestamp) -> Option<Self> {
        (self.status == ImportStatus::Checked).then(|| Self {
            status: ImportStatus::Running,
            position: 0,
            done: 0,
            run_by: Some(actor),
            run_at: Some(now),
            zip: self.zip_at_run(),
            task_due: Some(now),
            ..self.next()
        })
    }

    /// The import that ends before its last row; `None` if it has ended.
    pub fn cancel(&self, now: Timestamp) -> Option<Self> {
        self.is_unfinished().then(|| self.next().end(ImportStatus::Cancelled, None, now))
    }

    /// Whether there may be something to undo.
    pub const fn can_be_undone(&self) -> bool {
        let is_over =
            matches!(self.status, ImportStatus::Done | ImportStatus::Failed | ImportStatus::Cancelled);
        self.run_at.is_some() && is_over
    }

    /// The import that is to be undone; `None` if it made nothing, or is undone.
    pub fn undo(&self, actor: Actor, now: Timestamp) -> Option<Self> {
        self.can_be_undone().then(|| Self {
            status: ImportStatus::Undoing,
            position: 0,
            done: 0,
            undone_by: Some(actor),
            task_due: Some(now),
            ..self.next()
        })
    }

    /// The import after its rows, or everything, were deleted.
    #[must_use]
    pub fn cleared(&self, now: Timestamp) -> Self {
        let task_due = Some(self.kept_until()).filter(|due| *due > now);
        // Why a ZIP was refused may have names of files.
        let zip = self
            .zip
            .clone()
            .map(|zip| ImportZip { reason: zip.reason.filter(|_| task_due.is_some()), ..zip });
        Self { is_cleared: task_due.is_none(), task_due, zip, ..self.next() }
    }
}

/// The prefix of the keys of all files of imports.
const PREFIX: &str = "imports/";

/// Some of the rows of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportPart {
    /// The number, from 0.
    pub number: u32,
    /// The number of the first row.
    pub first: u64,
    /// The number of rows.
    pub rows: u64,
    /// What became of them.
    #[serde(default)]
    pub counts: ImportCounts,
    /// The number of its people whom the retention rule would erase on the first day.
    #[serde(default)]
    pub due_for_erasure: u64,
    /// When its claims and verdicts expire.
    pub kept_until: Timestamp,
}

impl ImportPart {
    /// The maximum number of rows.
    pub const SIZE: u64 = 100;
    /// The number of bytes after which a part has no further row.
    pub const BYTES: usize = 1024 * 1024;
}

/// What a row of an import has made so far. It is written with the first change, so that nothing is made twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedRow {
    /// The number of the row.
    pub row: u64,
    /// The person.
    pub candidate_id: Id,
    /// Whether the import made the person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// The applications that were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<Id>,
    /// The notes that were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Id>,
    /// What became of its files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ImportedFile>,
    /// The number of applications, notes and files that events tell of, of a new person who took several writes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub told: usize,
    /// The fields of a known person that were filled or replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Whether an earlier row of the import made the person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_import: bool,
    /// Whether everything is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_done: bool,
    /// What an undo left, as sentences; `None` before it. An empty list says that nothing is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Vec<String>>,
    /// The version, which grows with every write.
    pub version: u64,
}

// Serde passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How much of imports a tenant uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportUse {
    /// The imports that are not finished.
    pub unfinished: Vec<Id>,
    /// The day of the last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
    /// The number of rows that were run on this day.
    pub rows: u64,
    /// The version, which grows with every write; 0 if nothing is stored.
    pub version: u64,
}

impl ImportedRow {
    /// The identifiers of the files that were made.
    pub fn file_ids(&self) -> Vec<Id> {
        self.files.iter().filter_map(|file| file.id).collect()
    }
}

impl ImportUse {
    /// The use without an import that has ended.
    #[must_use]
    pub fn without(&self, import: Id) -> Self {
        let unfinished = self.unfinished.iter().copied().filter(|id| *id != import).collect();
        Self { unfinished, version: self.version + 1, ..self.clone() }
    }

    /// The use with another import; `None` if there are too many.
    pub fn with(&self, import: Id) -> Option<Self> {
        (self.unfinished.len() < Import::MAX_UNFINISHED).then(|| {
            let unfinished = self.unfinished.iter().copied().chain([import]).collect();
            Self { unfinished, version: self.version + 1, ..self.clone() }
        })
    }

    /// The use after so many rows were run on this day. Fails with the number of rows that the plan has room for.
    pub fn run(&self, plan: Plan, rows: u64, day: Day) -> Result<Self, u64> {
        let used = if self.day == Some(day) { self.rows } else { 0 };
        let room = plan.imported_rows_per_day().saturating_sub(used);
        if rows > room {
            return Err(room);
        }
        Ok(Self { day: Some(day), rows: used + rows, version: self.version + 1, ..self.clone() })
    }
}

/// What becomes of a row, with messages: what is wrong with an invalid row, and warnings about another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportVerdict {
    /// The number of the row, from 1 on after the header.
    pub row: u64,
    /// The line of the file, or the row of the sheet.
    pub line: u64,
    /// What becomes of it.
    pub result: RowResult,
    /// What is wrong with an invalid row; warnings about another one. Each begins with the path of a field.
    pub messages: Vec<String>,
    /// The person, if there is one.
    pub candidate_id: Option<Id>,
    /// The numbers of the files in the ZIP of the import that it gets, or has got.
    #[serde(default)]
    pub files: Vec<u64>,
}
