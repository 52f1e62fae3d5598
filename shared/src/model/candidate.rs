//! Candidates: people, their applications, and the stage that follows from these.

use std::ops::Not;

use serde::{Deserialize, Serialize};

use super::application::{Application, ApplicationStatus, End, Move, Origin, RoleCopy, RoleState};
use super::consent::{Consent, ConsentPurpose};
use super::contact::Email;
use super::index_form::IndexForm;
use super::legal_hold::LegalHold;
use super::phone::Phone;
use super::resume::Resume;
use super::role::{InvalidTransition, Role, RoleStatus};
use super::screen::{CancelReason, Screen, ScreenStatus};
use super::stage::Stage;
use super::{ExternalId, Source, Tags, Text};
use crate::clock::{Timestamp, time_of_change};
use crate::id::Id;

/// A candidate's name.
pub type Name = Text<200>;

/// A candidate's personal data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The name.
    pub name: Name,
    /// The e-mail address, unique in the tenant. Only an import brings people without one, and nobody loses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Email>,
    /// The telephone number.
    pub phone: Option<Phone>,
    /// The resume.
    #[serde(rename = "resume_url")]
    pub resume: Option<Resume>,
    /// Where the candidate came from.
    pub source: Option<Source>,
    /// The tags.
    pub tags: Tags,
    /// The identifier in a system of the client, unique in the tenant.
    pub external_id: Option<ExternalId>,
}

impl Profile {
    /// A profile with only the data that requests need.
    pub fn new(name: Name, email: Email) -> Self {
        let tags = Tags::default();
        Self { name, email: Some(email), phone: None, resume: None, source: None, tags, external_id: None }
    }

    /// The fields of the API, and whether they differ from those of `other`.
    pub fn differences(&self, other: &Self) -> impl Iterator<Item = (&'static str, bool)> {
        let Self { name, email, phone, resume, source, tags, external_id } = self;
        [
            ("name", *name != other.name),
            ("email", *email != other.email),
            ("phone", *phone != other.phone),
            ("resume_url", *resume != other.resume),
            ("source", *source != other.source),
            ("tags", *tags != other.tags),
            ("external_id", *external_id != other.external_id),
        ]
        .into_iter()
    }
}

/// A candidate, as shown in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The identifier.
    pub id: Id,
    /// The personal data.
    #[serde(flatten)]
    pub profile: Profile,
    /// The stage, which follows from the applications.
    pub stage: Stage,
    /// When the candidate was created.
    pub created_at: Timestamp,
    /// When the candidate was last updated.
    pub updated_at: Timestamp,
    /// Whether the team has written notes, which are items of their own.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub has_notes: bool,
}

/// The stage of a candidate without applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnStage {
    /// The stage.
    pub stage: Stage,
    /// How the candidate got to the final stage.
    pub end: Option<End>,
    /// When the candidate last moved; `None` before the first move.
    pub changed_at: Option<Timestamp>,
    /// Whether the candidate was ever hired in this way.
    pub ever_hired: bool,
}

/// A voice screen that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenScreen {
    /// The screen.
    pub id: Id,
    /// For which role.
    pub role_id: Id,
    /// The version of the role at the invitation.
    pub role_version: u64,
    /// Why the screen is to be cancelled. A task cancels it, unless its conversation has begun.
    pub cancel: Option<CancelReason>,
}

/// An import that has not brought the whole of a person yet. Until the last write, nobody sees the person, and nothing counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The import.
    pub import_id: Id,
    /// The number of applications, of the first ones, that are in lists and counters already, because the last write has no room
    /// for all. Lists leave them out, as those of people who were erased.
    pub listed: usize,
}

/// A candidate with everything that moves depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateRecord {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// The stage that counts while there are no applications.
    pub own: OwnStage,
    /// The applications, oldest first.
    pub applications: Vec<Application>,
    /// The voice screens that have not ended.
    pub open_screens: Vec<OpenScreen>,
    /// The consents that count: at most one for each purpose.
    pub consents: Vec<Consent>,
    /// The number of consents that have been recorded.
    pub recorded_consents: usize,
    /// The legal hold, which forbids an erasure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legal_hold: Option<LegalHold>,
    /// When the last legal hold was lifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_lifted_at: Option<Timestamp>,
    /// The form of the candidate's entries in the search index.
    #[serde(default, skip_serializing_if = "IndexForm::is_first")]
    pub index_form: IndexForm,
    /// The import that has not brought the whole person yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
    /// When an import brought the person, whose retention period does not begin earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained_from: Option<Timestamp>,
    /// The version, which grows with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

/// A step of an application or, without applications, of the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The role of the application.
    pub role_id: Option<Id>,
    /// The previous stage.
    pub from: Stage,
    /// The new stage.
    pub to: Stage,
}

/// A move that was made.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The candidate after the move.
    pub record: CandidateRecord,
    /// The steps: one for each application that changed, or one without a role.
    pub steps: Vec<Step>,
}

/// A candidate whose applications have followed changes of their roles.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The candidate afterwards.
    pub record: CandidateRecord,
    /// The applications that were closed or reopened.
    pub statuses: Vec<Application>,
}

/// Why a move is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// The state machine has no such transition.
    #[error(transparent)]
    Invalid(#[from] InvalidTransition),
    /// The application's role is closed.
    #[error("the role {0} is closed; reopen it first with POST /api/v1/roles/{0}/reopen")]
    RoleClosed(Id),
    /// The candidate has not applied for the role.
    #[error("role_id must be the id of a role that the candidate has applied for")]
    NoApplication,
    /// The move fits too many applications.
    #[error("role_id can't be blank, because the move would change {0} applications; the maximum is {max}", max = CandidateRecord::MAX_STEPS)]
    TooMany(usize),
}

/// Why a candidate cannot apply for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplicationError {
    /// The role is not open.
    #[error("role_id must be the id of an open role, but this one is {}", .0.as_str())]
    RoleNotOpen(RoleStatus),
    /// The candidate has already applied for the role with this application.
    #[error("role_id is a role that the candidate has already applied for")]
    AlreadyApplied(Id),
    /// The candidate has the maximum number of applications.
    #[error(
        "role_id can't be added, because the candidate already has the maximum of {} applications",
        CandidateRecord::MAX_APPLICATIONS
    )]
    TooMany,
}

/// Why a candidate cannot be invited to a voice screen for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvitationError {
    /// The role is a draft or closed.
    #[error("role_id must be the id of an open or paused role, but this one is {}", .0.as_str())]
    RoleNotReady(RoleStatus),
    /// The candidate has an unfinished voice screen for the role.
    #[error("role_id is a role for which the candidate already has an unfinished voice screen")]
    Unfinished,
}

/// The candidate already has the maximum number of consents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "consent can't be recorded, because the candidate already has the maximum of {} records; only the withdrawal of a \
     consent in force is still accepted",
    CandidateRecord::MAX_CONSENTS
)]
pub struct TooManyConsents;

impl OpenScreen {
    /// A new screen for a role.
    pub const fn new(id: Id, role: &Role) -> Self {
        Self { id, role_id: role.id, role_version: role.version, cancel: None }
    }

    /// Whether the role has been closed since the invitation.
    fn outlived(&self, role: Id, closed_version: Option<u64>) -> bool {
        self.role_id == role && closed_version.is_some_and(|closed| closed > self.role_version)
    }
}

impl CandidateRecord {
    /// The maximum number of applications of one candidate.
    // Whoever reads the person reads all of them.
    pub const MAX_APPLICATIONS: usize = 200;
    /// The maximum number of recorded consents of one candidate, except for withdrawals of consents in force.
    pub const MAX_CONSENTS: usize = 100;
    /// The maximum number of applications that one move changes.
    // Each takes up to eight of the 100 actions of a transaction.
    pub const MAX_STEPS: usize = 10;

    /// A new candidate.
    pub fn new(id: Id, profile: Profile, now: Timestamp) -> Self {
        let stage = Stage::Applied;
        let candidate = Candidate { id, profile, stage, created_at: now, updated_at: now, has_notes: false };
        Self {
            candidate,
            own: OwnStage { stage, end: None, changed_at: None, ever_hired: false },
            applications: Vec::new(),
            open_screens: Vec::new(),
            consents: Vec::new(),
            recorded_consents: 0,
            legal_hold: None,
            hold_lifted_at: None,
            index_form: IndexForm::NEWEST,
            unfinished: None,
            retained_from: None,
            version: 1,
        }
    }

    /// The application for a role.
    pub fn application(&self, role: Id) -> Option<&Application> {
        self.applications.iter().find(|application| application.role.id == role)
    }

    /// Replaces the profile, and with it the candidate's entries in the search index. `updated_at` stays if the profile is the same.
    #[must_use]
    pub fn edit(mut self, profile: Profile, now: Timestamp) -> Self {
        self.index_form = IndexForm::NEWEST;
        if self.candidate.profile == profile {
            return self.advance_version();
        }
        self.candidate.profile = profile;
        self.without_moot_offers().updated(now)
    }

    /// The record as this release writes it, if an earlier release has written it differently. Clients see only a telephone
    /// number that is read differently now: that alone is a change of the candidate.
    #[must_use]
    pub fn rewritten(&self, now: Timestamp) -> Option<Self> {
        let phone = self.candidate.profile.phone.as_ref().map(Phone::parsed);
        let mut newest = Self { index_form: IndexForm::NEWEST, ..self.clone() };
        if phone != self.candidate.profile.phone {
            newest.candidate.profile.phone = phone;
            return Some(newest.updated(now));
        }
        newest.version += 1;
        (self.index_form != IndexForm::NEWEST).then_some(newest)
    }

    /// Adds an application for a role.
    pub fn apply(
        mut self,
        id: Id,
        role: &Role,
        origin: impl Into<Origin>,
        now: Timestamp,
    ) -> Result<Self, ApplicationError> {
        if let Some(application) = self.application(role.id) {
            return Err(ApplicationError::AlreadyApplied(application.id));
        }
        if role.status != RoleStatus::Open {
            return Err(ApplicationError::RoleNotOpen(role.status));
        }
        if self.applications.len() >= Self::MAX_APPLICATIONS {
            return Err(ApplicationError::TooMany);
        }
        self.applications.push(Application::new(
            id,
            RoleCopy::of(role),
            origin.into(),
            self.version + 1,
            now,
        ));
        Ok(self.updated(now))
    }

    /// Makes a move: of the application for `role`, or of all applications that it fits, or of the candidate if there
    /// are no applications.
    pub fn make(mut self, step: &Move, role: Option<Id>, now: Timestamp) -> Result<Moved, MoveError> {
        let version = self.version + 1;
        if self.applications.is_empty() && role.is_none() {
            let OwnStage { stage: from, end, ever_hired, .. } = self.own;
            let to = step.target(from, end)?;
            self.own = OwnStage {
                stage: to,
                end: to.is_end().then_some(End { from, version }),
                changed_at: Some(now),
                ever_hired: ever_hired || to == Stage::Hired,
            };
            let step = Step { role_id: None, from, to };
            self.cancel_screens_after(step);
            return Ok(Moved { record: self.updated(now), steps: vec![step] });
        }
        let chosen = match role {
            Some(role) => {
                let index = self.applications.iter().position(|application| application.role.id == role);
                vec![index.ok_or(MoveError::NoApplication)?]
            }
            None => self.fitting(step),
        };
        if chosen.is_empty() {
            return Err(self.no_fit(step));
        }
        if chosen.len() > Self::MAX_STEPS {
            return Err(MoveError::TooMany(chosen.len()));
        }
        let mut steps = Vec::new();
        for index in chosen {
            let application = &mut self.applications[index];
            let (role_id, from) = (application.role.id, application.stage);
            if application.status() == ApplicationStatus::Closed {
                return Err(MoveError::RoleClosed(role_id));
            }
            application.make(step, version, now)?;
            let step = Step { role_id: Some(role_id), from, to: application.stage };
            self.cancel_screens_after(step);
            steps.push(step);
        }
        Ok(Moved { record: self.updated(now), steps })
    }

    /// The positions of the applications that a move without a role changes.
    fn fitting(&self, step: &Move) -> Vec<usize> {
        let all = || self.applications.iter().enumerate();
        let active = || all().filter(|(_, application)| application.status() == ApplicationStatus::Active);
        match step {
            Move::Advance(to) => {
                active().filter(|(_, application)| application.stage != *to).map(|(index, _)| index).collect()
            }
            Move::Reject { .. } => active().map(|(index, _)| index).collect(),
            Move::Hire { .. } => {
                let furthest = active().max_by_key(|(index, application)| (application.stage.rank(), *index));
                furthest.map(|(index, _)| index).into_iter().collect()
            }
            Move::Unreject => self.latest_ended(Stage::Rejected),
            Move::Unhire => self.latest_ended(Stage::Hired),
        }
    }

    /// The positions of the applications that the latest move to a final stage ended.
    fn latest_ended(&self, stage: Stage) -> Vec<usize> {
        let all = self.applications.iter().enumerate();
        let ended = all.filter(|(_, application)| application.stage == stage);
        let ended: Vec<_> =
            ended.map(|(index, application)| (index, application.end.map_or(0, |end| end.version))).collect();
        let latest = ended.iter().map(|(_, version)| *version).max();
        ended.iter().filter(|(_, version)| Some(*version) == latest).map(|(index, _)| *index).collect()
    }

    /// Why a move without a role fits no application. A closed application that could make the move comes first.
    fn no_fit(&self, step: &Move) -> MoveError {
        let is_closed = |application: &&Application| application.status() == ApplicationStatus::Closed;
        let mut closed = self.applications.iter().rev().filter(is_closed);
        if let Some(application) = closed.find(|application| step.target(application.stage, None).is_ok()) {
            return MoveError::RoleClosed(application.role.id);
        }
        let from = self.candidate.stage;
        match step.target(from, None) {
            Err(invalid) => invalid.into(),
            // Every active application is already in this stage, or there is none.
            Ok(to) => InvalidTransition { field: "stage", from: from.as_str(), to: to.as_str() }.into(),
        }
    }

    /// Updates the copies of roles in the applications, and marks the open screens for closed roles as to be cancelled.
    /// Returns `None` if nothing is out of date. `updated_at` stays, unless the candidate's stage changes.
    pub fn follow<R: Into<RoleState>>(
        self,
        roles: impl IntoIterator<Item = R>,
        now: Timestamp,
    ) -> Option<Followed> {
        let mut record = self;
        let mut statuses = Vec::new();
        let mut changed = false;
        for role in roles.into_iter().map(Into::<RoleState>::into) {
            let RoleState { copy, closed_version, .. } = &role;
            changed |= record
                .mark_screens(CancelReason::RoleClosed, |screen| screen.outlived(copy.id, *closed_version));
            for application in &mut record.applications {
                let (is_updated, has_other_status) = application.follow(&role, now);
                changed |= is_updated;
                if has_other_status {
                    statuses.push(application.clone());
                }
            }
        }
        if !changed {
            return None;
        }
        let moves = record.stage() != record.candidate.stage;
        let record = if moves { record.updated(now) } else { record.advance_version() };
        Some(Followed { record, statuses })
    }

    /// The record as if its copies had followed these changes of roles at once.
    #[must_use]
    pub fn following(self, changes: &[RoleState]) -> Self {
        changes.iter().fold(self, |record, change| {
            let shown = record.clone().follow([change], change.changed_at);
            shown.map_or(record, |followed| followed.record)
        })
    }

    /// The record to show while some changes of roles are not in the copies yet. `updated_at` changes with the copies.
    #[must_use]
    pub fn with_roles(self, changes: &[RoleState]) -> Self {
        let mut shown = self.clone().following(changes);
        shown.candidate.updated_at = self.candidate.updated_at;
        for (application, stored) in shown.applications.iter_mut().zip(&self.applications) {
            application.updated_at = stored.updated_at;
        }
        shown
    }

    /// Checks whether the candidate can be invited to a screen for a role.
    pub fn check_invitation(&self, role: &Role) -> Result<(), InvitationError> {
        if matches!(role.status, RoleStatus::Draft | RoleStatus::Closed) {
            return Err(InvitationError::RoleNotReady(role.status));
        }
        if self.open_screens.iter().any(|screen| screen.role_id == role.id) {
            return Err(InvitationError::Unfinished);
        }
        Ok(())
    }

    /// Adds an open screen. The application for the role or, without any application, the candidate moves from applied
    /// to screening. Otherwise `updated_at` stays.
    pub fn invite(mut self, screen: OpenScreen, now: Timestamp) -> Result<Moved, MoveError> {
        self.open_screens.push(screen);
        let stage = match self.application(screen.role_id) {
            Some(application) if application.status() == ApplicationStatus::Closed => {
                return Err(MoveError::RoleClosed(screen.role_id));
            }
            Some(application) => application.stage,
            None if self.applications.is_empty() => self.own.stage,
            None => return Ok(Moved { record: self.advance_version(), steps: Vec::new() }),
        };
        if stage.is_end() {
            let to = Stage::Screening.as_str();
            return Err(InvalidTransition { field: "stage", from: stage.as_str(), to }.into());
        }
        if stage == Stage::Applied {
            let role = self.application(screen.role_id).map(|application| application.role.id);
            return self.make(&Move::Advance(Stage::Screening), role, now);
        }
        Ok(Moved { record: self.advance_version(), steps: Vec::new() })
    }

    /// Records a consent. For each purpose, the one with the latest `obtained_at` counts, and of several the one that was
    /// recorded last. If it withdraws a consent that calls require, the open screens are marked as to be cancelled.
    pub fn record_consent(mut self, consent: Consent) -> Result<Self, TooManyConsents> {
        let current = self.consent(consent.purpose);
        let counts = current.is_none_or(|current| current.obtained_at <= consent.obtained_at);
        let withdraws = counts && !consent.granted && current.is_some_and(|current| current.granted);
        if self.recorded_consents >= Self::MAX_CONSENTS && !withdraws {
            return Err(TooManyConsents);
        }
        self.recorded_consents += 1;
        if !counts {
            return Ok(self.advance_version());
        }
        let forbids_calls = !consent.granted && ConsentPurpose::FOR_CALLS.contains(&consent.purpose);
        self.consents.retain(|other| other.purpose != consent.purpose);
        self.consents.push(consent);
        let record = self.without_moot_offers();
        Ok(if forbids_calls {
            record.cancel_screens(CancelReason::ConsentWithdrawn)
        } else {
            record.advance_version()
        })
    }

    /// The consent that counts for a purpose.
    pub fn consent(&self, purpose: ConsentPurpose) -> Option<&Consent> {
        self.consents.iter().find(|consent| consent.purpose == purpose)
    }

    /// The consents that a call requires and that the candidate has not given.
    pub fn missing_consents(&self) -> impl Iterator<Item = ConsentPurpose> {
        let is_given = |purpose| self.consent(purpose).is_some_and(|consent| consent.granted);
        ConsentPurpose::FOR_CALLS.into_iter().filter(move |purpose| !is_given(*purpose))
    }

    /// Marks all open screens as to be cancelled. The transaction that stores the record adds a task that cancels them.
    #[must_use]
    pub fn cancel_screens(mut self, reason: CancelReason) -> Self {
        self.mark_screens(reason, |_| true);
        self.version += 1;
        self
    }

    /// Marks the screens that a step to a final stage makes obsolete: those for the role or, without applications, all.
    fn cancel_screens_after(&mut self, step: Step) {
        let reason = match step.to {
            Stage::Rejected => CancelReason::Rejected,
            Stage::Hired => CancelReason::Hired,
            _ => return,
        };
        self.mark_screens(reason, |screen| step.role_id.is_none_or(|role| role == screen.role_id));
    }

    /// Marks open screens as to be cancelled. A mark is never removed. Returns whether any screen was not marked before.
    fn mark_screens(&mut self, reason: CancelReason, which: impl Fn(&OpenScreen) -> bool) -> bool {
        let unmarked = self.open_screens.iter_mut().filter(|screen| screen.cancel.is_none());
        let mut marked = false;
        for screen in unmarked.filter(|screen| which(screen)) {
            screen.cancel = Some(reason);
            marked = true;
        }
        marked
    }

    /// The open screens that are to be cancelled.
    pub fn screens_to_cancel(&self) -> impl Iterator<Item = (&OpenScreen, CancelReason)> {
        self.open_screens.iter().filter_map(|screen| Some((screen, screen.cancel?)))
    }

    /// Why the call of an open screen for this role must not begin, if there is a reason.
    pub fn obstacle(&self, screen: Id, role: &Role) -> Option<CancelReason> {
        let screen = self.open_screens.iter().find(|open| open.id == screen)?;
        screen.cancel.or(screen.outlived(role.id, role.closed_version).then_some(CancelReason::RoleClosed))
    }

    /// Removes the mark of a voice screen that has ended. The application for its role keeps the overall score of the latest
    /// completed one, and that one was completed.
    #[must_use]
    pub fn end_screen(self, screen: &Screen) -> Self {
        let mut record = self.close_screen(screen.id);
        let score = screen.scores.overall.filter(|_| screen.status == ScreenStatus::Completed);
        let applications = record.applications.iter_mut();
        for application in applications.filter(|application| application.role.id == screen.role_id) {
            application.score = score.or(application.score);
            application.screened |= screen.status == ScreenStatus::Completed;
        }
        record
    }

    /// Removes a screen that has ended. `updated_at` stays.
    #[must_use]
    pub fn close_screen(mut self, screen: Id) -> Self {
        self.open_screens.retain(|open| open.id != screen);
        self.advance_version()
    }

    /// Increments the version for a change beside the record, such as a new note. `updated_at` stays.
    #[must_use]
    pub const fn advance_version(mut self) -> Self {
        self.version += 1;
        self
    }

    /// Sets a legal hold, which replaces an earlier one. `updated_at` stays.
    #[must_use]
    pub fn hold(mut self, hold: LegalHold) -> Self {
        self.legal_hold = Some(hold);
        self.advance_version()
    }

    /// Lifts the legal hold. `updated_at` stays.
    #[must_use]
    pub fn lift_hold(mut self, now: Timestamp) -> Self {
        self.legal_hold = None;
        self.hold_lifted_at = Some(now);
        self.advance_version()
    }

    /// The record with a new `updated_at` and the stage that follows from the applications.
    pub(super) fn updated(mut self, now: Timestamp) -> Self {
        self.candidate.stage = self.stage();
        self.candidate.updated_at = time_of_change(now, self.candidate.updated_at);
        self.version += 1;
        self
    }

    /// The stage that follows from the applications: hired, if one is hired and no active one was added after that;
    /// else the furthest stage of the active ones; else rejected, if one is rejected; else the furthest stage of the
    /// closed ones. Without applications, the candidate's own stage.
    fn stage(&self) -> Stage {
        let with = |status| self.applications.iter().filter(move |one| one.status() == status);
        let furthest =
            |status| with(status).map(|application| application.stage).max_by_key(|stage| stage.rank());
        let hired = with(ApplicationStatus::Hired)
            .filter_map(|application| application.end)
            .map(|end| end.version)
            .max();
        let newest = with(ApplicationStatus::Active).map(|application| application.since).max();
        if hired > newest {
            return Stage::Hired;
        }
        furthest(ApplicationStatus::Active)
            .or_else(|| furthest(ApplicationStatus::Rejected))
            .or_else(|| furthest(ApplicationStatus::Closed))
            .unwrap_or(self.own.stage)
    }
}

#[cfg(test)]
mod tests {
    use super::super::application::StageCount;
    use super::super::role::RoleContent;
    use super::super::{Cause, EndedBy, Text};
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn id(number: u64) -> Id {
        Id::new(number).unwrap()
    }

    fn later(days: i64) -> Timestamp {
        NOW + jiff::SignedDuration::from_hours(24 * days)
    }

    fn jane() -> CandidateRecord {
        let name = Name::parse("Jane").unwrap().unwrap();
        CandidateRecord::new(id(1), Profile::new(name, "jane@example.com".parse().unwrap()), NOW)
    }

    fn role(number: u64) -> Role {
        let draft =
            Role::draft(id(number), RoleContent::titled(Text::parse("Engineer").unwrap().unwrap()), NOW);
        draft.publish(NOW).unwrap()
    }

    /// A candidate with an application for each of the roles from 1 to `count`.
    fn applicant(count: u64) -> CandidateRecord {
        (1..=count).fold(jane(), |record, number| {
            record.apply(id(100 + number), &role(number), Source::API, NOW).unwrap()
        })
    }

    fn make(record: &CandidateRecord, step: &Move, role: Option<u64>) -> CandidateRecord {
        record.clone().make(step, role.map(id), NOW).unwrap().record
    }

    fn stages(record: &CandidateRecord) -> Vec<&'static str> {
        record.applications.iter().map(|application| application.stage.as_str()).collect()
    }

    const REJECT: Move = Move::Reject { cause: Cause::by(EndedBy::Team), notes: None };
    const HIRE: Move = Move::Hire { start_date: None };

    #[test]
    fn every_stage_allows_only_the_documented_moves() {
        for (from, steps) in [
            (Stage::Applied, vec![]),
            (Stage::Interview, vec![Move::Advance(Stage::Interview)]),
            (Stage::Rejected, vec![Move::Advance(Stage::Offer), REJECT]),
            (Stage::Hired, vec![Move::Advance(Stage::Offer), HIRE]),
        ] {
            // A candidate without applications follows the same rules as an application.
            for start in [jane(), applicant(1)] {
                let at = steps.iter().fold(start, |record, step| make(&record, step, None));
                assert_eq!(at.candidate.stage, from);
                for to in Stage::OPEN {
                    let advanced = at.clone().make(&Move::Advance(to), None, NOW);
                    assert_eq!(advanced.is_ok(), !from.is_end() && from != to, "{from:?} {to:?}");
                }
                for (step, allowed) in [
                    (REJECT, !from.is_end()),
                    (HIRE, !from.is_end()),
                    (Move::Unreject, from == Stage::Rejected),
                    (Move::Unhire, from == Stage::Hired),
                ] {
                    let moved = at.clone().make(&step, None, NOW);
                    assert_eq!(moved.is_ok(), allowed, "{from:?} {step:?}");
                    if from.is_end()
                        && let Ok(moved) = moved
                    {
                        assert_eq!(moved.record.candidate.stage, Stage::Offer, "the stage before");
                    }
                }
            }
        }
        let error = make(&applicant(1), &HIRE, None).make(&REJECT, None, NOW).unwrap_err();
        assert_eq!(error.to_string(), "stage cannot go from hired to rejected");
    }

    #[test]
    fn a_move_without_a_role_takes_the_applications_that_it_fits() {
        let three = make(&applicant(3), &Move::Advance(Stage::Offer), Some(2));
        assert_eq!(stages(&make(&three, &Move::Advance(Stage::Interview), None)), ["interview"; 3]);
        assert_eq!(stages(&make(&three, &HIRE, None)), ["applied", "hired", "applied"], "the furthest");
        assert_eq!(stages(&make(&applicant(3), &HIRE, None)), ["applied", "applied", "hired"], "the newest");
        let rejected = make(&make(&three, &REJECT, Some(1)), &REJECT, None);
        assert_eq!(stages(&rejected), ["rejected"; 3]);
        let back = make(&rejected, &Move::Unreject, None);
        assert_eq!(stages(&back), ["rejected", "offer", "applied"], "the latest rejection is undone");
        assert_eq!(stages(&make(&back, &Move::Unreject, None)), ["applied", "offer", "applied"]);
        let many = applicant(11);
        assert_eq!(many.clone().make(&REJECT, None, NOW).unwrap_err(), MoveError::TooMany(11));
        assert_eq!(many.make(&REJECT, Some(id(12)), NOW).unwrap_err(), MoveError::NoApplication);
    }

    #[test]
    fn the_stage_follows_from_the_applications() {
        let hired = make(&applicant(2), &HIRE, Some(1));
        assert_eq!(hired.candidate.stage, Stage::Hired, "the active one was added before");
        let again = hired.apply(id(9), &role(3), Source::API, NOW).unwrap();
        assert_eq!(again.candidate.stage, Stage::Applied, "the active one was added after the hire");
        let rejected = make(&again, &REJECT, None);
        assert_eq!(rejected.candidate.stage, Stage::Hired);
        let two = make(&make(&applicant(2), &Move::Advance(Stage::Interview), Some(1)), &REJECT, Some(2));
        assert_eq!(two.candidate.stage, Stage::Interview);
        let closed = two.follow([&role(1).close(NOW)], NOW).unwrap();
        assert_eq!(closed.record.candidate.stage, Stage::Rejected, "a rejected one outweighs a closed one");
        assert_eq!(closed.statuses.len(), 1);
        assert_eq!(closed.record.applications[0].status(), ApplicationStatus::Closed);
        let moved = closed.record.clone().make(&REJECT, Some(id(1)), NOW);
        assert_eq!(moved.unwrap_err(), MoveError::RoleClosed(id(1)));
        assert!(closed.record.follow([&role(1)], NOW).is_none(), "an older copy is ignored");
        let only = applicant(1).follow([&role(1).close(NOW)], NOW).unwrap().record;
        assert_eq!(only.candidate.stage, Stage::Applied, "the furthest of the closed ones");
    }

    /// The marks of the open screens.
    fn marks(record: &CandidateRecord) -> Vec<Option<&'static str>> {
        record.open_screens.iter().map(|screen| screen.cancel.map(CancelReason::as_str)).collect()
    }

    fn invite(record: CandidateRecord, screen: u64, role: &Role) -> CandidateRecord {
        record.invite(OpenScreen::new(id(screen), role), NOW).unwrap().record
    }

    #[test]
    fn an_end_marks_the_screens_for_its_role() {
        let both = (1..=2).fold(applicant(2), |record, number| invite(record, number, &role(number)));
        assert_eq!(marks(&make(&both, &Move::Advance(Stage::Offer), None)), [None, None]);
        let rejected = make(&both, &REJECT, Some(1));
        assert_eq!(marks(&rejected), [Some("rejected"), None]);
        let hired = make(&rejected, &HIRE, None);
        assert_eq!(marks(&hired), [Some("rejected"), Some("hired")]);
        let back = make(&make(&hired, &Move::Unhire, None), &Move::Unreject, None);
        assert_eq!(marks(&back), [Some("rejected"), Some("hired")], "an undo keeps the marks");
        let withdrawn = both.clone().cancel_screens(CancelReason::ConsentWithdrawn);
        assert_eq!(marks(&withdrawn), [Some("consent_withdrawn"); 2]);
        assert_eq!((withdrawn.version, &withdrawn.candidate), (both.version + 1, &both.candidate));
        assert_eq!(withdrawn.screens_to_cancel().count(), 2);
        // A screen for a role without an application ends with the candidate only if there are no applications at all.
        let other = invite(applicant(1), 9, &role(2));
        assert_eq!(marks(&make(&other, &REJECT, None)), [None]);
        let alone = invite(jane(), 9, &role(2));
        assert_eq!(marks(&make(&alone, &HIRE, None)), [Some("hired")]);
    }

    #[test]
    fn closing_a_role_marks_its_screens_even_if_it_is_reopened() {
        let open = role(1);
        let reopened = open.clone().close(NOW).reopen(NOW).unwrap();
        let other = role(2).close(NOW);
        for start in [applicant(1), jane()] {
            let invited = invite(start, 7, &open);
            assert!(invited.clone().follow([&open, &other], NOW).is_none());
            assert_eq!(invited.obstacle(id(7), &open), None);
            for after in [open.clone().close(NOW), reopened.clone()] {
                assert_eq!(invited.obstacle(id(7), &after), Some(CancelReason::RoleClosed));
                let followed = invited.clone().follow([&after], NOW).unwrap().record;
                assert_eq!(marks(&followed), [Some("role_closed")]);
                assert_eq!(followed.obstacle(id(7), &open), Some(CancelReason::RoleClosed), "the mark");
                assert!(followed.follow([&after], NOW).is_none(), "marked once");
            }
        }
        let again = reopened.publish(NOW).unwrap();
        let invited = invite(applicant(1), 8, &again);
        assert_eq!(invited.obstacle(id(8), &again), None, "invited after the role was reopened");
    }

    #[test]
    fn counters_follow_the_moves() {
        use StageCount::{Ever, Now, Screened, Stay};
        let before = applicant(1).applications[0].clone();
        let new = [Now(Stage::Applied, 1), Ever(Stage::Applied)];
        assert_eq!(before.counts(None), new);
        let step = |before: &Application, step: &Move, at| {
            let mut after = before.clone();
            after.make(step, 9, at).unwrap();
            let counts = after.counts(Some(before));
            (after, counts)
        };
        let (interview, counts) = step(&before, &Move::Advance(Stage::Interview), later(3));
        let moved = [
            Now(Stage::Applied, -1),
            Now(Stage::Interview, 1),
            Ever(Stage::Interview),
            Stay(Stage::Applied, 3),
        ];
        assert_eq!(counts, moved);
        let (rejected, counts) = step(&interview, &REJECT, later(100));
        assert_eq!(counts[3], Stay(Stage::Interview, 60));
        let (back, counts) = step(&rejected, &Move::Unreject, later(200));
        let undone = [Now(Stage::Rejected, -1), Now(Stage::Interview, 1)];
        assert_eq!(counts, undone, "counted once, and no stay");
        let (_, counts) = step(&back, &Move::Advance(Stage::Applied), later(201));
        assert_eq!(counts[2], Stay(Stage::Interview, 1), "an undo begins a new stay");

        let (screening, _) = step(&before, &Move::Advance(Stage::Screening), later(1));
        let screened = Application { screened: true, ..screening.clone() };
        assert_eq!(screened.counts(Some(&screening)), [Screened(1)]);
        let mut closed = screened.clone();
        closed.role.is_closed = true;
        assert_eq!(
            closed.counts(Some(&screened)),
            [],
            "the numbers of a role do not depend on whether it is closed"
        );
        let (decided, counts) = step(&screened, &Move::Advance(Stage::Offer), later(2));
        assert_eq!((decided.screened, counts.last()), (false, Some(&Screened(-1))));
    }
}
