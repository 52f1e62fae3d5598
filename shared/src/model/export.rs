//! Exports: files with what an organization has, kind by kind.
//!
//! An export is written in turns. What a turn has written counts only with the write of the export after it, so a turn that was
//! interrupted is repeated as a whole.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::actor::Actor;
use super::day::Day;
use super::string_enum::string_enum;
use super::{Plan, Tenant};
use crate::clock::{Timestamp, later};
use crate::id::Id;

string_enum! {
    /// The format of the files of an export.
    pub enum ExportFormat {
        /// A JSON object in each line.
        Ndjson = "ndjson",
        /// Text in cells with commas (RFC 4180), in UTF-8 with a byte order mark.
        Csv = "csv",
    }
}

string_enum! {
    /// What a file of an export has.
    #[derive(PartialOrd, Ord)]
    pub enum ExportKind {
        /// People, as an import takes them.
        Candidates = "candidates",
        /// Applications with their answers.
        Applications = "applications",
        /// Roles.
        Roles = "roles",
        /// Job postings.
        JobPostings = "job_postings",
        /// Notes about candidates.
        Notes = "notes",
        /// Voice screens with their transcripts.
        VoiceScreens = "voice_screens",
        /// The history of candidates.
        Touchpoints = "touchpoints",
    }
}

string_enum! {
    /// How far an export is.
    pub enum ExportStatus {
        /// Its files are being written.
        Running = "running",
        /// Its files can be downloaded.
        Done = "done",
        /// It has no files. `reason` says why.
        Failed = "failed",
    }
}

string_enum! {
    /// What an export reads next.
    pub enum ExportStep {
        /// Roles and their job postings.
        Roles = "roles",
        /// People, and everything about them.
        People = "people",
        /// Nothing more: the files are put together.
        Files = "files",
    }
}

/// A file of an export, as far as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportFile {
    /// What it has.
    pub kind: ExportKind,
    /// The number of rows.
    pub rows: u64,
    /// The size in bytes.
    pub size: u64,
    /// The number of rows that were left out, because a spreadsheet would cut one of their cells.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// The number of bytes at its end that are in no part yet. They are an object of their own.
    pub rest: usize,
    /// How often such an end was written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rests: u64,
    /// The upload in parts; `None` while the rest is the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<String>,
    /// The entity tags of the parts that are uploaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
}

// Serde passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// An export of an organization's data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The identifier.
    pub id: Id,
    /// The format of its files.
    pub format: ExportFormat,
    /// What it has, each kind once.
    pub kinds: Vec<ExportKind>,
    /// The role to which it is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<Id>,
    /// Whether it has the results of voice screens.
    pub has_results: bool,
    /// The beginning of the URLs in it.
    pub base_url: String,
    /// The unguessable part of the keys of its files.
    pub secret: String,
    /// How far it is.
    pub status: ExportStatus,
    /// Why it has no files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last event before everything that it has; `None` if it does not have everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// What is read next.
    pub step: ExportStep,
    /// Where the list that is read goes on; `None` at its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The number of turns that it has had.
    pub turns: u64,
    /// The number of bytes that the external ids of roles take, which are an object of their own.
    #[serde(default)]
    pub known_roles: usize,
    /// Its files, in the order of the kinds.
    pub files: Vec<ExportFile>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Who created it.
    pub created_by: Actor,
    /// When all files were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Timestamp>,
    /// When it failed, or its files were given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// Whether its files are deleted.
    pub is_cleared: bool,
    /// When the task that works on it is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_due: Option<Timestamp>,
    /// The version, which grows with every write.
    pub version: u64,
}

/// What an export is to have.
#[derive(Clone, Debug)]
pub struct ExportOrder {
    /// The format of its files.
    pub format: ExportFormat,
    /// The kinds; all if there are none.
    pub kinds: Vec<ExportKind>,
    /// The role to which it is limited.
    pub role_id: Option<Id>,
    /// Whether it has the results of voice screens.
    pub has_results: bool,
    /// The beginning of the URLs in it.
    pub base_url: String,
}

impl ExportOrder {
    /// Whether it is of everything, so that it has a position in the change feed.
    pub fn is_whole(&self) -> bool {
        self.role_id.is_none() && chosen(&self.kinds).len() == ExportKind::ALL.len()
    }
}

/// The kinds in their order, each once; all if none is given.
fn chosen(kinds: &[ExportKind]) -> Vec<ExportKind> {
    ExportKind::ALL.into_iter().filter(|kind| kinds.is_empty() || kinds.contains(kind)).collect()
}

impl Export {
    /// The length of the unguessable part of the keys of its files.
    pub const SECRET_LENGTH: usize = 24;
    /// The maximum number of exports that are being written.
    pub const MAX_RUNNING: usize = 3;
    /// How long the files are kept.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(24);
    /// How long one worker has an export for itself: a little longer than a function may run.
    pub const LEASE: SignedDuration = SignedDuration::from_secs(150);
    /// How long a clock may differ from another: an export that begins so shortly after an erasure ends with it, too.
    const SKEW: SignedDuration = SignedDuration::from_secs(60);

    /// An export that is to be written. `position` is the last number in the change feed at this time.
    pub fn new(
        (id, secret): (Id, String),
        order: ExportOrder,
        position: Option<u64>,
        created_by: Actor,
        now: Timestamp,
    ) -> Self {
        let ExportOrder { format, kinds, role_id, has_results, base_url } = order;
        let kinds = chosen(&kinds);
        let file = |kind: &ExportKind| ExportFile {
            kind: *kind,
            rows: 0,
            size: 0,
            left_out: 0,
            rest: 0,
            rests: 0,
            upload: None,
            parts: Vec::new(),
        };
        Self {
            id,
            format,
            files: kinds.iter().map(file).collect(),
            kinds,
            role_id,
            has_results,
            base_url,
            secret,
            status: ExportStatus::Running,
            reason: None,
            position,
            step: ExportStep::Roles,
            place: None,
            turns: 0,
            known_roles: 0,
            created_at: now,
            created_by,
            done_at: None,
            failed_at: None,
            is_cleared: false,
            task_due: Some(now),
            version: 1,
        }
    }

    /// Whether it has this kind.
    pub fn has(&self, kind: ExportKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The beginning of the keys of all of an organization's files of exports.
    pub fn files_of(organization: Id) -> String {
        format!("{PREFIX}{organization}/")
    }

    fn folder(&self, tenant: Tenant) -> String {
        let mode = tenant.mode.as_str();
        format!("{}{mode}/{}-{}/", Self::files_of(tenant.organization), self.id, self.secret)
    }

    /// The key of the file of a kind.
    pub fn file(&self, tenant: Tenant, kind: ExportKind) -> String {
        format!("{}{}", self.folder(tenant), self.file_name(kind))
    }

    /// The name of the file of a kind.
    pub fn file_name(&self, kind: ExportKind) -> String {
        format!("{}.{}", kind.as_str(), self.format.as_str())
    }

    /// The keys of the ends of a file that are in no part, and of the external ids of roles. Two in a row have different ones, so that
    /// a turn can be repeated.
    pub fn rests(&self, tenant: Tenant, kind: Option<ExportKind>) -> [String; 2] {
        let (folder, name) = (self.folder(tenant), kind.map_or("known-roles", ExportKind::as_str));
        [0, 1].map(|number| format!("{folder}rest-{name}-{number}"))
    }

    /// The number of rows that were left out of all files.
    pub fn left_out(&self) -> u64 {
        self.files.iter().map(|file| file.left_out).sum()
    }

    /// Until when its files are kept; `None` before they are written.
    pub fn kept_until(&self) -> Option<Timestamp> {
        self.done_at.map(|done| later(done, Self::KEPT))
    }

    /// Whether it had files that cannot be downloaded any more.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.kept_until().is_some_and(|until| now >= until || self.status == ExportStatus::Failed)
    }

    /// Whether it has files, or will have.
    pub fn stands(&self, now: Timestamp) -> bool {
        self.status != ExportStatus::Failed && !self.is_over(now)
    }

    /// Whether it may have somebody who was erased at this time, according to the clock of another machine.
    pub fn may_have(&self, erased_at: Timestamp) -> bool {
        self.created_at < later(erased_at, Self::SKEW)
    }

    fn next(&self) -> Self {
        Self { version: self.version + 1, ..self.clone() }
    }

    /// The export that nobody else works on for a while. If the work is interrupted, it goes on after that.
    #[must_use]
    pub fn lease(&self, now: Timestamp) -> Self {
        Self { task_due: Some(later(now, Self::LEASE)), ..self.next() }
    }

    /// The export with these uploads in parts, which have no part yet.
    #[must_use]
    pub fn with_uploads(&self, files: Vec<ExportFile>) -> Self {
        Self { files, ..self.next() }
    }

    /// The export after a turn: its files, the bytes of the external ids of roles, and where the next turn goes on; `None` if
    /// everything was read.
    #[must_use]
    pub fn after_turn(
        &self,
        (files, known_roles): (Vec<ExportFile>, usize),
        next: Option<(ExportStep, Option<String>)>,
        now: Timestamp,
    ) -> Self {
        let turned = Self { files, known_roles, turns: self.turns + 1, ..self.next() };
        match next {
            Some((step, place)) => Self { step, place, task_due: Some(now), ..turned },
            None => Self {
                status: ExportStatus::Done,
                place: None,
                done_at: Some(now),
                task_due: Some(later(now, Self::KEPT)),
                ..turned
            },
        }
    }

    /// The export that has no files, with a sentence that says why; `None` if it has none already. A task deletes what is written,
    /// once more when nobody can be writing any more.
    pub fn fail(&self, reason: &str, now: Timestamp) -> Option<Self> {
        self.stands(now).then(|| Self {
            status: ExportStatus::Failed,
            reason: Some(reason.to_owned()),
            failed_at: Some(now),
            task_due: Some(now),
            ..self.next()
        })
    }

    /// The export after its files were deleted. While another worker may still be writing, they are deleted once more.
    #[must_use]
    pub fn cleared(&self, now: Timestamp) -> Self {
        let again = self.failed_at.map(|failed| later(failed, Self::LEASE)).filter(|due| *due > now);
        Self { is_cleared: again.is_none(), task_due: again, ..self.next() }
    }
}

/// The prefix of the keys of all files of exports.
const PREFIX: &str = "exports/";

/// How much of exports a tenant uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportUse {
    /// The exports that are being written.
    pub running: Vec<Id>,
    /// The exports whose files are kept.
    pub kept: Vec<Id>,
    /// The day of the last export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
    /// The number of exports on this day.
    pub exports: u64,
    /// The version, which grows with every write; 0 if nothing is stored.
    pub version: u64,
}

/// Why no further export can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooManyExports {
    /// Others are being written.
    #[error("{} exports are being written. Wait until one is done", Export::MAX_RUNNING)]
    Running,
    /// The plan has no more today.
    #[error("The plan {} has {} a day", .0.as_str(), exports_a_day(*.0))]
    Plan(Plan),
}

fn exports_a_day(plan: Plan) -> String {
    match plan.exports_per_day() {
        1 => "1 export".to_owned(),
        count => format!("{count} exports"),
    }
}

impl ExportUse {
    /// The use with another export, which begins on this day.
    pub fn with(&self, export: Id, plan: Plan, day: Day) -> Result<Self, TooManyExports> {
        if self.running.len() >= Export::MAX_RUNNING {
            return Err(TooManyExports::Running);
        }
        let used = if self.day == Some(day) { self.exports } else { 0 };
        if used >= plan.exports_per_day() {
            return Err(TooManyExports::Plan(plan));
        }
        let mut running = self.running.clone();
        running.push(export);
        let version = self.version + 1;
        Ok(Self { running, kept: self.kept.clone(), day: Some(day), exports: used + 1, version })
    }

    /// The use after an export has come to this state.
    #[must_use]
    pub fn after(&self, export: &Export) -> Self {
        let others = |ids: &[Id]| ids.iter().copied().filter(|id| *id != export.id).collect::<Vec<_>>();
        let (mut running, mut kept) = (others(&self.running), others(&self.kept));
        match export.status {
            ExportStatus::Running => running.push(export.id),
            ExportStatus::Done if !export.is_cleared => kept.push(export.id),
            ExportStatus::Done | ExportStatus::Failed => {}
        }
        Self { running, kept, version: self.version + 1, ..self.clone() }
    }

    /// The exports that have files, or will have.
    pub fn standing(&self) -> impl Iterator<Item = Id> + '_ {
        self.running.iter().chain(&self.kept).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;

    const NOW: Timestamp = Timestamp::constant(1_795_178_096, 0);

    fn order(kinds: &[ExportKind], role_id: Option<Id>) -> ExportOrder {
        let (format, base_url) = (ExportFormat::Csv, "https://jobs.example".to_owned());
        ExportOrder { format, kinds: kinds.to_vec(), role_id, has_results: true, base_url }
    }

    fn export(kinds: &[ExportKind]) -> Export {
        let id = Id::new(7).unwrap();
        Export::new((id, "secret".to_owned()), order(kinds, None), None, Actor::system(), NOW)
    }

    #[test]
    fn only_an_export_of_all_kinds_and_roles_is_whole() {
        assert!(order(&[], None).is_whole());
        assert!(order(&ExportKind::ALL, None).is_whole());
        assert!(!order(&ExportKind::ALL[1..], None).is_whole());
        assert!(!order(&[], Id::new(1)).is_whole());
    }

    #[test]
    fn kinds_have_an_order_and_are_there_once() {
        let kinds = [ExportKind::Notes, ExportKind::Candidates, ExportKind::Notes];
        assert_eq!(export(&kinds).kinds, [ExportKind::Candidates, ExportKind::Notes]);
        assert_eq!(export(&[]).kinds, ExportKind::ALL);
    }

    #[test]
    fn keys_can_be_objects_in_the_bucket() {
        let tenant = Tenant { organization: Id::new(3).unwrap(), mode: Mode::Test };
        let export = export(&[]);
        assert_eq!(export.file(tenant, ExportKind::JobPostings), "exports/3/test/7-secret/job_postings.csv");
        let rests = [Some(ExportKind::Notes), None].map(|kind| export.rests(tenant, kind));
        assert_eq!(rests[0][1], "exports/3/test/7-secret/rest-notes-1");
        assert_eq!(rests[1][0], "exports/3/test/7-secret/rest-known-roles-0");
    }

    #[test]
    fn files_are_kept_for_a_day_unless_they_are_given_up() {
        let running = export(&[]);
        assert!(running.stands(NOW) && !running.is_over(NOW));
        let done = running.after_turn((running.files.clone(), 0), None, NOW);
        let until = later(NOW, Export::KEPT);
        assert!(!done.is_over(later(until, SignedDuration::from_secs(-1))) && done.is_over(until));
        assert!(done.cleared(until).is_cleared);
        let given_up = done.fail("Somebody was erased.", NOW).unwrap();
        assert!(given_up.is_over(NOW) && given_up.fail("Again.", NOW).is_none());
        let failed = running.fail("Somebody was erased.", NOW).unwrap();
        assert!(!failed.is_over(NOW) && !failed.stands(NOW));
        let cleared = failed.cleared(NOW);
        let over = later(NOW, Export::LEASE);
        assert_eq!((cleared.is_cleared, cleared.task_due), (false, Some(over)));
        assert!(cleared.cleared(over).is_cleared && cleared.cleared(over).task_due.is_none());
    }

    #[test]
    fn a_plan_has_so_many_exports_a_day_and_three_run_at_once() {
        let (today, tomorrow) = (Day::of(NOW), Day::of(later(NOW, Export::KEPT)));
        let id = |number| Id::new(number).unwrap();
        let one = ExportUse::default().with(id(1), Plan::Free, today).unwrap();
        let refused = one.with(id(2), Plan::Free, today).unwrap_err();
        assert_eq!(refused.to_string(), "The plan free has 1 export a day");
        let two = one.with(id(2), Plan::Free, tomorrow).unwrap();
        let three = two.with(id(3), Plan::Pro, tomorrow).unwrap();
        assert_eq!(three.with(id(4), Plan::Pro, tomorrow), Err(TooManyExports::Running));
        let mut first = Export { id: id(1), ..export(&[]) };
        first = first.after_turn((Vec::new(), 0), None, NOW);
        let four = three.after(&first).with(id(4), Plan::Pro, tomorrow).unwrap();
        assert_eq!(four.standing().collect::<Vec<_>>(), [id(2), id(3), id(4), id(1)]);
        assert_eq!(four.after(&first.cleared(NOW)).kept, []);
    }
}
