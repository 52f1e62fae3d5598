//! Candidates: people in the hiring pipeline, and the transitions between its stages.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::contact::{Email, Phone};
use super::resume::Resume;
use super::role::InvalidTransition;
use super::string_enum::string_enum;
use super::{RoleStatus, Text};
use crate::id::Id;

string_enum! {
    /// A stage of the pipeline. The first four are open, the last two are final.
    pub enum Stage {
        /// The candidate is new.
        Applied = "applied",
        /// The candidate is being screened.
        Screening = "screening",
        /// The candidate is being interviewed.
        Interview = "interview",
        /// The candidate has an offer or is about to get one.
        Offer = "offer",
        /// The candidate was hired.
        Hired = "hired",
        /// The candidate was rejected.
        Rejected = "rejected",
    }
}

string_enum! {
    /// How a candidate or an application was created.
    pub enum Source {
        /// The candidate was created through the API, with or without an application.
        Manual = "manual",
        /// The candidate applied on the career page.
        CareerPage = "career_page",
        /// The application was added to an existing candidate through the API.
        Api = "api",
    }
}

string_enum! {
    /// The status of an application.
    pub enum ApplicationStatus {
        /// The application is open.
        Active = "active",
        /// The candidate was rejected.
        Rejected = "rejected",
        /// The candidate was hired.
        Hired = "hired",
        /// The role was closed.
        Closed = "closed",
    }
}

/// A candidate's name.
pub type Name = Text<200>;

/// A candidate's personal data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The name.
    pub name: Name,
    /// The e-mail address, unique in the tenant.
    pub email: Email,
    /// The telephone number.
    pub phone: Option<Phone>,
    /// The resume.
    #[serde(rename = "resume_url")]
    pub resume: Option<Resume>,
}

/// A candidate, as shown in lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The identifier.
    pub id: Id,
    /// The personal data.
    #[serde(flatten)]
    pub profile: Profile,
    /// The current stage.
    pub stage: Stage,
    /// When the candidate was created.
    pub created_at: Timestamp,
    /// When the candidate was last updated.
    pub updated_at: Timestamp,
}

/// A candidate's application for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// The identifier.
    pub id: Id,
    /// The role.
    pub role_id: Id,
    /// The stored status, which does not take the role's status into account.
    pub status: ApplicationStatus,
    /// How the application was created.
    pub source: Source,
    /// When the candidate applied.
    pub applied_at: Timestamp,
}

/// A voice screen that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenScreen {
    /// The screen.
    pub id: Id,
    /// The role.
    pub role_id: Id,
}

/// A candidate with everything that its transitions depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateRecord {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// The applications, oldest first.
    pub applications: Vec<Application>,
    /// The voice screens that have not ended.
    pub open_screens: Vec<OpenScreen>,
    /// The stage of a rejected candidate before the rejection.
    pub rejected_from: Option<Stage>,
    /// The version, which increases with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

/// The reason that a candidate cannot apply for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplicationError {
    /// The role is not open.
    #[error("role_id must be the id of an open role, but this one is {}", .0.as_str())]
    RoleNotOpen(RoleStatus),
    /// The candidate has already applied for the role.
    #[error("role_id is a role that the candidate has already applied for")]
    AlreadyApplied,
    /// The candidate has the maximum number of applications.
    #[error(
        "role_id can't be added, because the candidate already has the maximum of {} applications",
        CandidateRecord::MAX_APPLICATIONS
    )]
    TooMany,
}

/// The reason that a candidate cannot be invited to a voice screen for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvitationError {
    /// The role is a draft or closed.
    #[error("role_id must be the id of an open or paused role, but this one is {}", .0.as_str())]
    RoleNotReady(RoleStatus),
    /// The candidate has an unfinished voice screen for the role.
    #[error("role_id is a role for which the candidate already has an unfinished voice screen")]
    Unfinished,
}

impl Stage {
    /// Whether the stage is final. Only `unreject` leaves a final stage.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Hired | Self::Rejected)
    }

    fn invalid_transition(self, to: Self) -> InvalidTransition {
        InvalidTransition { field: "stage", from: self.as_str(), to: to.as_str() }
    }
}

impl ApplicationStatus {
    /// The effective status while the role has this status.
    #[must_use]
    pub const fn effective(self, role: RoleStatus) -> Self {
        match (self, role) {
            (Self::Active, RoleStatus::Closed) => Self::Closed,
            (status, _) => status,
        }
    }
}

impl CandidateRecord {
    /// The maximum number of applications per candidate.
    pub const MAX_APPLICATIONS: usize = 200;

    /// A new candidate.
    pub fn new(id: Id, profile: Profile, now: Timestamp) -> Self {
        let candidate = Candidate { id, profile, stage: Stage::Applied, created_at: now, updated_at: now };
        Self {
            candidate,
            applications: Vec::new(),
            open_screens: Vec::new(),
            rejected_from: None,
            version: 1,
        }
    }

    /// Replaces the profile.
    #[must_use]
    pub fn edit(self, profile: Profile, now: Timestamp) -> Self {
        let mut record = self.changed(now);
        record.candidate.profile = profile;
        record
    }

    /// Adds an application for a role with this status.
    pub fn apply(
        self,
        id: Id,
        role_id: Id,
        status: RoleStatus,
        source: Source,
        now: Timestamp,
    ) -> Result<Self, ApplicationError> {
        if self.applications.iter().any(|application| application.role_id == role_id) {
            return Err(ApplicationError::AlreadyApplied);
        }
        if status != RoleStatus::Open {
            return Err(ApplicationError::RoleNotOpen(status));
        }
        if self.applications.len() >= Self::MAX_APPLICATIONS {
            return Err(ApplicationError::TooMany);
        }
        let mut record = self.changed(now);
        let status = ApplicationStatus::Active;
        record.applications.push(Application { id, role_id, status, source, applied_at: now });
        Ok(record)
    }

    /// Moves the candidate to another open stage.
    pub fn advance(self, to: Stage, now: Timestamp) -> Result<Self, InvalidTransition> {
        if self.candidate.stage == to || to.is_end() {
            return Err(self.candidate.stage.invalid_transition(to));
        }
        self.leave(to, now)
    }

    /// Moves the candidate from an open stage to rejected. Active applications become rejected.
    pub fn reject(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        let from = self.candidate.stage;
        let mut record = self.leave(Stage::Rejected, now)?;
        record.rejected_from = Some(from);
        Ok(record.replace_statuses(ApplicationStatus::Active, ApplicationStatus::Rejected))
    }

    /// Moves the candidate from rejected back to the previous stage. Rejected applications become active.
    pub fn unreject(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        if self.candidate.stage != Stage::Rejected {
            let from = self.candidate.stage.as_str();
            return Err(InvalidTransition { field: "stage", from, to: "the stage before rejection" });
        }
        let to = self.rejected_from.unwrap_or(Stage::Applied);
        let mut record = self.changed(now);
        record.candidate.stage = to;
        record.rejected_from = None;
        Ok(record.replace_statuses(ApplicationStatus::Rejected, ApplicationStatus::Active))
    }

    /// Moves the candidate from an open stage to hired. Active applications become hired.
    pub fn hire(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        let record = self.leave(Stage::Hired, now)?;
        Ok(record.replace_statuses(ApplicationStatus::Active, ApplicationStatus::Hired))
    }

    /// Checks whether the candidate can be invited to a screen for a role with this status.
    pub fn check_invitation(&self, role_id: Id, status: RoleStatus) -> Result<(), InvitationError> {
        if matches!(status, RoleStatus::Draft | RoleStatus::Closed) {
            return Err(InvitationError::RoleNotReady(status));
        }
        if self.open_screens.iter().any(|screen| screen.role_id == role_id) {
            return Err(InvitationError::Unfinished);
        }
        Ok(())
    }

    /// Adds an open screen. A candidate in stage applied moves to screening.
    pub fn invite(self, screen: OpenScreen, now: Timestamp) -> Result<Self, InvalidTransition> {
        if self.candidate.stage.is_end() {
            return Err(self.candidate.stage.invalid_transition(Stage::Screening));
        }
        let mut record = self.changed(now);
        record.open_screens.push(screen);
        if record.candidate.stage == Stage::Applied {
            record.candidate.stage = Stage::Screening;
        }
        Ok(record)
    }

    /// Removes a screen that has ended. `updated_at` does not change.
    #[must_use]
    pub fn close_screen(mut self, screen: Id) -> Self {
        self.open_screens.retain(|open| open.id != screen);
        self.version += 1;
        self
    }

    fn leave(self, to: Stage, now: Timestamp) -> Result<Self, InvalidTransition> {
        if self.candidate.stage.is_end() {
            return Err(self.candidate.stage.invalid_transition(to));
        }
        let mut record = self.changed(now);
        record.candidate.stage = to;
        Ok(record)
    }

    fn replace_statuses(mut self, from: ApplicationStatus, to: ApplicationStatus) -> Self {
        for application in self.applications.iter_mut().filter(|application| application.status == from) {
            application.status = to;
        }
        self
    }

    fn changed(mut self, now: Timestamp) -> Self {
        self.candidate.updated_at = now.max(self.candidate.updated_at);
        self.version += 1;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stage: Stage) -> CandidateRecord {
        let profile = Profile {
            name: Name::parse("Jane").unwrap().unwrap(),
            email: "jane@example.com".parse().unwrap(),
            phone: None,
            resume: None,
        };
        let mut record = CandidateRecord::new(Id::new(1).unwrap(), profile, Timestamp::UNIX_EPOCH);
        record.candidate.stage = stage;
        record
    }

    /// Tries every action in every stage.
    #[test]
    fn only_the_documented_transitions_are_allowed() {
        let now = Timestamp::UNIX_EPOCH;
        for from in Stage::ALL {
            for to in Stage::ALL {
                let allowed = !from.is_end() && !to.is_end() && from != to;
                let result = at(from).advance(to, now);
                assert_eq!(result.is_ok(), allowed, "{from:?} {to:?}");
                if let Ok(record) = result {
                    assert_eq!((record.candidate.stage, record.version), (to, 2));
                }
            }
            assert_eq!(at(from).hire(now).is_ok(), !from.is_end());
            assert_eq!(at(from).reject(now).is_ok(), !from.is_end());
            assert_eq!(at(from).unreject(now).is_ok(), from == Stage::Rejected);
            if let Ok(rejected) = at(from).reject(now) {
                assert_eq!(rejected.candidate.stage, Stage::Rejected);
                assert_eq!(rejected.unreject(now).unwrap().candidate.stage, from, "the previous stage");
            }
            let screen = OpenScreen { id: Id::new(9).unwrap(), role_id: Id::new(8).unwrap() };
            let invited = at(from).invite(screen, now);
            assert_eq!(invited.is_ok(), !from.is_end());
            if let Ok(record) = invited {
                let expected = if from == Stage::Applied { Stage::Screening } else { from };
                assert_eq!(record.candidate.stage, expected);
            }
        }
        assert_eq!(
            at(Stage::Hired).reject(now).unwrap_err().to_string(),
            "stage cannot go from hired to rejected"
        );
    }

    #[test]
    fn application_statuses_follow_the_candidate_and_the_role() {
        let now = Timestamp::UNIX_EPOCH;
        let id = |n| Id::new(n).unwrap();
        let apply =
            |record: CandidateRecord, role, status| record.apply(id(7), id(role), status, Source::Api, now);
        for status in RoleStatus::ALL {
            assert_eq!(apply(at(Stage::Applied), 1, status).is_ok(), status == RoleStatus::Open);
        }
        let one = apply(at(Stage::Applied), 1, RoleStatus::Open).unwrap();
        assert_eq!(apply(one.clone(), 1, RoleStatus::Open), Err(ApplicationError::AlreadyApplied));
        let rejected = apply(one.reject(now).unwrap(), 2, RoleStatus::Open).unwrap();
        let statuses =
            |record: &CandidateRecord| record.applications.iter().map(|a| a.status).collect::<Vec<_>>();
        assert_eq!(statuses(&rejected), [ApplicationStatus::Rejected, ApplicationStatus::Active]);
        let back = rejected.unreject(now).unwrap();
        assert_eq!(statuses(&back), [ApplicationStatus::Active; 2]);
        assert_eq!(statuses(&back.hire(now).unwrap()), [ApplicationStatus::Hired; 2]);
        assert_eq!(ApplicationStatus::Active.effective(RoleStatus::Closed), ApplicationStatus::Closed);
        assert_eq!(ApplicationStatus::Hired.effective(RoleStatus::Closed), ApplicationStatus::Hired);
        let mut full = at(Stage::Applied);
        for n in 1..=200 {
            full = apply(full, n, RoleStatus::Open).unwrap();
        }
        assert_eq!(apply(full, 201, RoleStatus::Open), Err(ApplicationError::TooMany));
    }
}
