//! Applications: a candidate's progress through the pipeline of one role, and the moves between its stages.

use std::ops::Not;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::offered::Offered;
use super::rejection::{Cause, CountedCause, EndedBy, Rejection};
use super::role::InvalidTransition;
use super::stage::Stage;
use super::string_enum::string_enum;
use super::{ExternalId, Lines, Role, RoleStatus, Source, Title};
use crate::clock::{Timestamp, time_of_change};
use crate::id::Id;

/// Notes from a recruiter or an applicant.
pub type Notes = Lines<5_000>;

string_enum! {
    /// The status of an application.
    pub enum ApplicationStatus {
        /// The application is in an open stage.
        Active = "active",
        /// The candidate was rejected.
        Rejected = "rejected",
        /// The candidate was hired.
        Hired = "hired",
        /// The application is in an open stage, and the role is closed.
        Closed = "closed",
    }
}

/// A copy of the parts of a role that its applications depend on. After a change of these parts, a task updates the copies, and
/// until then the list of role changes has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleCopy {
    /// The role.
    #[serde(rename = "role_id")]
    pub id: Id,
    /// The title.
    #[serde(rename = "role_title")]
    pub title: Title,
    /// Whether the role is closed.
    #[serde(rename = "role_closed")]
    pub is_closed: bool,
    /// The version of the role. A copy is never replaced by an older one.
    #[serde(rename = "role_version")]
    pub version: u64,
}

/// What applications follow of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleState {
    /// What applications copy.
    #[serde(flatten)]
    pub copy: RoleCopy,
    /// The version with which the role was last closed.
    pub closed_version: Option<u64>,
    /// When the role was last changed.
    pub changed_at: Timestamp,
}

/// How an application got to a final stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The stage before.
    pub from: Stage,
    /// The version of the candidate's record with the move.
    pub version: u64,
}

/// A candidate's application for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// The identifier.
    pub id: Id,
    /// The role.
    #[serde(flatten)]
    pub role: RoleCopy,
    /// The stage. It stays the same when the role is closed.
    pub stage: Stage,
    /// Where the application came from.
    pub source: Source,
    /// The identifier in a system of the client. Several applications may have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<ExternalId>,
    /// When the candidate applied.
    pub applied_at: Timestamp,
    /// When the application got to its stage.
    pub stage_changed_at: Timestamp,
    /// Who rejected it, and why, if it is rejected.
    #[serde(flatten)]
    pub cause: Cause,
    /// The first day of work of a hired candidate.
    pub start_date: Option<Date>,
    /// When the application was last updated.
    pub updated_at: Timestamp,
    /// The version of the candidate's record that added the application.
    pub since: u64,
    /// How the application got to its final stage.
    pub end: Option<End>,
    /// The stages in which the application has ever been.
    pub visited: Vec<Stage>,
    /// The overall score of the latest completed voice screen that has one.
    pub score: Option<u8>,
    /// Whether a voice screen for the role was completed since the application got to its stage.
    pub screened: bool,
    /// When the candidate last applied again for the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reapplied_at: Option<Timestamp>,
    /// The number of submissions that are no longer kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resubmissions: u64,
    /// Whether the candidate has applied again since the application last moved.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub reapplied: bool,
    /// The submissions that are kept, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submissions: Vec<Id>,
    /// The resume file of the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_file_id: Option<Id>,
    /// What forms of a known person brought, until a member accepts or dismisses it; never empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<Offered>,
    /// Whether the application came with answers, which are an item of their own.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub has_answers: bool,
    /// The open stages that an imported application had left before it was added, and after how many whole days.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_stays: Vec<(Stage, u8)>,
}

/// Where an application comes from, and what comes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Where it comes from.
    pub source: Source,
    /// The identifier in a system of the client.
    pub external_id: Option<ExternalId>,
    /// The resume file, which is one of the candidate's files.
    pub resume_file_id: Option<Id>,
}

impl From<Source> for Origin {
    fn from(source: Source) -> Self {
        Self { source, external_id: None, resume_file_id: None }
    }
}

// Serde passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A move of one application or, without applications, of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// To another open stage.
    Advance(Stage),
    /// To rejected: by the team, or because the candidate withdraws.
    Reject {
        /// Who ends the application, and why.
        cause: Cause,
        /// Further notes, which only the history keeps.
        notes: Option<Notes>,
    },
    /// To hired.
    Hire {
        /// The first day of work.
        start_date: Option<Date>,
    },
    /// From rejected to the stage before.
    Unreject,
    /// From hired to the stage before.
    Unhire,
}

/// The changes of counters of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageCount {
    /// The number of applications in the stage changes, whether their role is closed or not.
    Now(Stage, i64),
    /// The number of applications in screening whose voice screen is completed changes, whether their role is closed or not.
    Screened(i64),
    /// The number of applications that were rejected for this cause changes.
    Rejected(CountedCause, i64),
    /// An application has got to the stage for the first time.
    Ever(Stage),
    /// An application has left the open stage after this many whole days. Longer stays count as 60 days.
    Stay(Stage, u8),
}

impl StageCount {
    /// The longest stay that is told apart, in days.
    pub const MAX_DAYS: u8 = 60;
}

impl RoleCopy {
    /// Copies a role.
    pub fn of(role: &Role) -> Self {
        Self {
            id: role.id,
            title: role.content.title.clone(),
            is_closed: role.status == RoleStatus::Closed,
            version: role.version,
        }
    }
}

impl RoleState {
    /// What applications follow of a role.
    pub fn of(role: &Role) -> Self {
        let closed_version = role.closed_version;
        Self { copy: RoleCopy::of(role), closed_version, changed_at: role.updated_at }
    }
}

impl From<&Role> for RoleState {
    fn from(role: &Role) -> Self {
        Self::of(role)
    }
}

impl From<&Self> for RoleState {
    fn from(state: &Self) -> Self {
        state.clone()
    }
}

impl ApplicationStatus {
    /// The status of an application in a stage.
    pub const fn of(stage: Stage, role_is_closed: bool) -> Self {
        match stage {
            Stage::Hired => Self::Hired,
            Stage::Rejected => Self::Rejected,
            _ if role_is_closed => Self::Closed,
            _ => Self::Active,
        }
    }
}

impl Move {
    /// Returns the stage to which the move leads from `stage`. `end` is how a final stage was reached.
    pub(super) fn target(&self, stage: Stage, end: Option<End>) -> Result<Stage, InvalidTransition> {
        let invalid = |to| InvalidTransition { field: "stage", from: stage.as_str(), to };
        let (to, undone) = match self {
            Self::Advance(to) => (*to, None),
            Self::Reject { .. } => (Stage::Rejected, None),
            Self::Hire { .. } => (Stage::Hired, None),
            Self::Unreject => (Stage::Applied, Some((Stage::Rejected, "the stage before rejection"))),
            Self::Unhire => (Stage::Applied, Some((Stage::Hired, "the stage before hire"))),
        };
        match undone {
            Some((undone, _)) if stage == undone => Ok(end.map_or(to, |end| end.from)),
            Some((_, before)) => Err(invalid(before)),
            None if stage.is_end() || stage == to => Err(invalid(to.as_str())),
            None => Ok(to),
        }
    }
}

impl Application {
    /// A new application, added by the `version` of the candidate's record.
    pub fn new(id: Id, role: RoleCopy, origin: Origin, version: u64, now: Timestamp) -> Self {
        let Origin { source, external_id, resume_file_id } = origin;
        Self {
            id,
            role,
            stage: Stage::Applied,
            source,
            external_id,
            applied_at: now,
            stage_changed_at: now,
            cause: Cause::by(EndedBy::Team),
            start_date: None,
            updated_at: now,
            since: version,
            end: None,
            visited: vec![Stage::Applied],
            score: None,
            screened: false,
            reapplied_at: None,
            resubmissions: 0,
            reapplied: false,
            submissions: Vec::new(),
            resume_file_id,
            offered: None,
            has_answers: false,
            past_stays: Vec::new(),
        }
    }

    /// The rejection, if the application is rejected.
    pub fn rejection(&self) -> Option<Rejection<'_>> {
        let stage = self.end.map(|end| end.from);
        (self.stage == Stage::Rejected).then_some(Rejection { cause: &self.cause, stage })
    }

    /// The cause of the rejection that has a counter of its own.
    pub fn counted_cause(&self) -> Option<CountedCause> {
        let cause = self.rejection()?.cause.counted();
        (cause != CountedCause::UNNAMED).then_some(cause)
    }

    /// The status.
    pub const fn status(&self) -> ApplicationStatus {
        ApplicationStatus::of(self.stage, self.role.is_closed)
    }

    /// Updates the copy of its role, if that is older. Returns whether it did, and whether the status has changed.
    pub fn follow(&mut self, role: &RoleState, now: Timestamp) -> (bool, bool) {
        if self.role.id != role.copy.id || self.role.version >= role.copy.version {
            return (false, false);
        }
        let before = self.status();
        self.role = role.copy.clone();
        let has_changed = self.status() != before;
        if has_changed {
            self.updated_at = time_of_change(now, self.updated_at);
        }
        (true, has_changed)
    }

    /// When the application ended; `None` while it is active.
    pub fn ended_at(&self) -> Option<Timestamp> {
        match self.status() {
            ApplicationStatus::Active => None,
            ApplicationStatus::Rejected | ApplicationStatus::Hired => Some(self.stage_changed_at),
            // A closed application was last updated when its role was closed, or by an undo after that.
            ApplicationStatus::Closed => Some(self.updated_at),
        }
    }

    /// Makes a move with the `version` of the candidate's record.
    pub(super) fn make(
        &mut self,
        step: &Move,
        version: u64,
        now: Timestamp,
    ) -> Result<(), InvalidTransition> {
        let to = step.target(self.stage, self.end)?;
        self.end = to.is_end().then_some(End { from: self.stage, version });
        self.stage = to;
        let none = Cause::by(EndedBy::Team);
        (self.cause, self.start_date) = match step {
            Move::Reject { cause, .. } => (cause.clone(), None),
            Move::Hire { start_date } => (none, *start_date),
            Move::Advance(_) | Move::Unreject | Move::Unhire => (none, None),
        };
        self.stage_changed_at = now.max(self.stage_changed_at);
        self.screened = false;
        self.reapplied = false;
        self.updated_at = time_of_change(now, self.updated_at);
        if !self.visited.contains(&to) {
            self.visited.push(to);
        }
        Ok(())
    }

    /// The open stage that the application has left to become `after`, and after how many whole days.
    pub(super) fn stay(&self, after: &Self) -> Option<(Stage, u8)> {
        if after.stage == self.stage || self.stage.is_end() {
            return None;
        }
        let hours = after.stage_changed_at.duration_since(self.stage_changed_at).as_hours();
        let days = u8::try_from(hours / 24).unwrap_or(StageCount::MAX_DAYS).min(StageCount::MAX_DAYS);
        Some((self.stage, days))
    }

    /// Whether the application waits for a decision after a voice screen, unless its role is closed.
    pub fn is_screened(&self) -> bool {
        self.screened && self.stage == Stage::Screening
    }

    /// The changes of the counters when `before`, if there was such an application, becomes this one.
    pub fn counts(&self, before: Option<&Self>) -> Vec<StageCount> {
        let mut counts = Vec::new();
        let old = before.map(|before| before.stage);
        if old != Some(self.stage) {
            counts.extend(old.map(|stage| StageCount::Now(stage, -1)));
            counts.push(StageCount::Now(self.stage, 1));
        }
        let (cause, new_cause) = (before.and_then(Self::counted_cause), self.counted_cause());
        if cause != new_cause {
            counts.extend(cause.map(|cause| StageCount::Rejected(cause, -1)));
            counts.extend(new_cause.map(|cause| StageCount::Rejected(cause, 1)));
        }
        let visited = before.map_or(&[][..], |before| &before.visited);
        let first = self.visited.iter().filter(|stage| !visited.contains(stage));
        counts.extend(first.map(|stage| StageCount::Ever(*stage)));
        let stays =
            before.map_or_else(|| self.past_stays.clone(), |before| before.stay(self).into_iter().collect());
        counts.extend(stays.into_iter().map(|(stage, days)| StageCount::Stay(stage, days)));
        match (before.is_some_and(Self::is_screened), self.is_screened()) {
            (true, false) => counts.push(StageCount::Screened(-1)),
            (false, true) => counts.push(StageCount::Screened(1)),
            (true, true) | (false, false) => {}
        }
        counts
    }
}
