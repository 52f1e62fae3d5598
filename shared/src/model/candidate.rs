//! Candidates: people on their way through the pipeline, and the moves between its stages.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::contact::{Email, Phone};
use super::resume::Resume;
use super::role::InvalidTransition;
use super::words::words;
use super::{RoleStatus, Text};
use crate::id::Id;

words! {
    /// Where a candidate stands: four stages in order, and two ends.
    pub enum Stage {
        /// New.
        Applied = "applied",
        /// Being screened.
        Screening = "screening",
        /// Being interviewed.
        Interview = "interview",
        /// Has an offer, or is about to.
        Offer = "offer",
        /// Comes to work.
        Hired = "hired",
        /// Does not.
        Rejected = "rejected",
    }
}

words! {
    /// How an application came in.
    pub enum Source {
        /// Somebody added the candidate.
        Manual = "manual",
        /// The candidate applied on the career page.
        CareerPage = "career_page",
        /// A program applied for a candidate that it knew.
        Api = "api",
    }
}

words! {
    /// Where an application stands.
    pub enum ApplicationStatus {
        /// In the running.
        Active = "active",
        /// Rejected with the candidate.
        Rejected = "rejected",
        /// Hired with the candidate.
        Hired = "hired",
        /// The role was closed.
        Closed = "closed",
    }
}

/// A candidate's name.
pub type Name = Text<200>;

/// What there is to know about a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The name.
    pub name: Name,
    /// The e-mail address, unique in the tenant.
    pub email: Email,
    /// The telephone number.
    pub phone: Option<Phone>,
    /// Where the résumé is.
    #[serde(rename = "resume_url")]
    pub resume: Option<Resume>,
}

/// A candidate, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The identifier.
    pub id: Id,
    /// The person.
    #[serde(flatten)]
    pub profile: Profile,
    /// Where the candidate stands.
    pub stage: Stage,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A candidate's application for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// The identifier.
    pub id: Id,
    /// The role.
    pub role_id: Id,
    /// Where it stands as far as the candidate decides it.
    pub status: ApplicationStatus,
    /// How it came in.
    pub source: Source,
    /// When.
    pub applied_at: Timestamp,
}

/// A voice screen that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenScreen {
    /// The screen.
    pub id: Id,
    /// For which role.
    pub role_id: Id,
}

/// A candidate with all that its moves depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateFile {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// The applications, oldest first.
    pub applications: Vec<Application>,
    /// The voice screens that have not ended.
    pub open_screens: Vec<OpenScreen>,
    /// Where a rejected candidate stood before.
    pub rejected_from: Option<Stage>,
    /// Grows with every write; a write names the version it has read.
    pub version: u64,
}

/// Why a candidate cannot apply for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// Only an open role takes applications.
    #[error("role_id must be the id of an open role, and this one is {}", .0.as_str())]
    RoleNotOpen(RoleStatus),
    /// Once is enough.
    #[error("role_id is a role that the candidate has applied for already")]
    Applied,
    /// There is an end to it.
    #[error(
        "role_id can't be applied for: the candidate has {} applications, the most there can be",
        CandidateFile::MAX_APPLICATIONS
    )]
    TooMany,
}

/// Why a candidate cannot be screened for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInvitable {
    /// A draft is not ready, a closed role is done with.
    #[error("role_id must be the id of an open or paused role, and this one is {}", .0.as_str())]
    RoleNotReady(RoleStatus),
    /// One at a time.
    #[error("role_id is a role for which the candidate has a voice screen that has not ended")]
    Unfinished,
}

impl Stage {
    /// Whether only `unreject` leads away from it, if anything does.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Hired | Self::Rejected)
    }

    fn refuse(self, to: Self) -> InvalidTransition {
        InvalidTransition { field: "stage", from: self.as_str(), to: to.as_str() }
    }
}

impl ApplicationStatus {
    /// What the status comes to while the role is in `role`.
    #[must_use]
    pub const fn seen_with(self, role: RoleStatus) -> Self {
        match (self, role) {
            (Self::Active, RoleStatus::Closed) => Self::Closed,
            (status, _) => status,
        }
    }
}

impl CandidateFile {
    /// The most applications of one candidate.
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

    /// The same candidate with another profile.
    #[must_use]
    pub fn edit(self, profile: Profile, now: Timestamp) -> Self {
        let mut file = self.changed(now);
        file.candidate.profile = profile;
        file
    }

    /// The same candidate with one more application, for a role in `status`.
    pub fn apply(
        self,
        id: Id,
        role_id: Id,
        status: RoleStatus,
        source: Source,
        now: Timestamp,
    ) -> Result<Self, NotApplicable> {
        if self.applications.iter().any(|application| application.role_id == role_id) {
            return Err(NotApplicable::Applied);
        }
        if status != RoleStatus::Open {
            return Err(NotApplicable::RoleNotOpen(status));
        }
        if self.applications.len() >= Self::MAX_APPLICATIONS {
            return Err(NotApplicable::TooMany);
        }
        let mut file = self.changed(now);
        let status = ApplicationStatus::Active;
        file.applications.push(Application { id, role_id, status, source, applied_at: now });
        Ok(file)
    }

    /// To another of the four stages.
    pub fn advance(self, to: Stage, now: Timestamp) -> Result<Self, InvalidTransition> {
        if self.candidate.stage == to || to.is_end() {
            return Err(self.candidate.stage.refuse(to));
        }
        self.leave(to, now)
    }

    /// From one of the four stages -> rejected, and the active applications with it.
    pub fn reject(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        let from = self.candidate.stage;
        let mut file = self.leave(Stage::Rejected, now)?;
        file.rejected_from = Some(from);
        Ok(file.settle(ApplicationStatus::Active, ApplicationStatus::Rejected))
    }

    /// rejected -> the stage before, and the rejected applications with it.
    pub fn unreject(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        if self.candidate.stage != Stage::Rejected {
            let from = self.candidate.stage.as_str();
            return Err(InvalidTransition { field: "stage", from, to: "the one before rejected" });
        }
        let to = self.rejected_from.unwrap_or(Stage::Applied);
        let mut file = self.changed(now);
        file.candidate.stage = to;
        file.rejected_from = None;
        Ok(file.settle(ApplicationStatus::Rejected, ApplicationStatus::Active))
    }

    /// From one of the four stages -> hired, and the active applications with it.
    pub fn hire(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        let file = self.leave(Stage::Hired, now)?;
        Ok(file.settle(ApplicationStatus::Active, ApplicationStatus::Hired))
    }

    /// Whether the candidate may be screened for a role in `status`.
    pub fn check_invitation(&self, role_id: Id, status: RoleStatus) -> Result<(), NotInvitable> {
        if matches!(status, RoleStatus::Draft | RoleStatus::Closed) {
            return Err(NotInvitable::RoleNotReady(status));
        }
        if self.open_screens.iter().any(|screen| screen.role_id == role_id) {
            return Err(NotInvitable::Unfinished);
        }
        Ok(())
    }

    /// Invited to a screen, which moves a new candidate to screening.
    pub fn invite(self, screen: OpenScreen, now: Timestamp) -> Result<Self, InvalidTransition> {
        if self.candidate.stage.is_end() {
            return Err(self.candidate.stage.refuse(Stage::Screening));
        }
        let mut file = self.changed(now);
        file.open_screens.push(screen);
        if file.candidate.stage == Stage::Applied {
            file.candidate.stage = Stage::Screening;
        }
        Ok(file)
    }

    /// One of the screens has ended. The candidate itself does not change by that.
    #[must_use]
    pub fn close_screen(mut self, screen: Id) -> Self {
        self.open_screens.retain(|open| open.id != screen);
        self.version += 1;
        self
    }

    fn leave(self, to: Stage, now: Timestamp) -> Result<Self, InvalidTransition> {
        if self.candidate.stage.is_end() {
            return Err(self.candidate.stage.refuse(to));
        }
        let mut file = self.changed(now);
        file.candidate.stage = to;
        Ok(file)
    }

    fn settle(mut self, from: ApplicationStatus, to: ApplicationStatus) -> Self {
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

    fn at(stage: Stage) -> CandidateFile {
        let profile = Profile {
            name: Name::parse("Jane").unwrap().unwrap(),
            email: "jane@example.com".parse().unwrap(),
            phone: None,
            resume: None,
        };
        let mut file = CandidateFile::new(Id::new(1).unwrap(), profile, Timestamp::UNIX_EPOCH);
        file.candidate.stage = stage;
        file
    }

    /// The whole state machine: every stage meets every action.
    #[test]
    fn every_stage_and_every_action() {
        let now = Timestamp::UNIX_EPOCH;
        for from in Stage::ALL {
            for to in Stage::ALL {
                let allowed = !from.is_end() && !to.is_end() && from != to;
                let moved = at(from).advance(to, now);
                assert_eq!(moved.is_ok(), allowed, "{from:?} {to:?}");
                if let Ok(file) = moved {
                    assert_eq!((file.candidate.stage, file.version), (to, 2));
                }
            }
            assert_eq!(at(from).hire(now).is_ok(), !from.is_end());
            assert_eq!(at(from).reject(now).is_ok(), !from.is_end());
            assert_eq!(at(from).unreject(now).is_ok(), from == Stage::Rejected);
            if let Ok(rejected) = at(from).reject(now) {
                assert_eq!(rejected.candidate.stage, Stage::Rejected);
                assert_eq!(rejected.unreject(now).unwrap().candidate.stage, from, "the stage before");
            }
            let screen = OpenScreen { id: Id::new(9).unwrap(), role_id: Id::new(8).unwrap() };
            let invited = at(from).invite(screen, now);
            assert_eq!(invited.is_ok(), !from.is_end());
            if let Ok(file) = invited {
                let expected = if from == Stage::Applied { Stage::Screening } else { from };
                assert_eq!(file.candidate.stage, expected);
            }
        }
        assert_eq!(
            at(Stage::Hired).reject(now).unwrap_err().to_string(),
            "stage cannot go from hired to rejected"
        );
    }

    #[test]
    fn applications_follow_the_candidate_and_the_role() {
        let now = Timestamp::UNIX_EPOCH;
        let id = |n| Id::new(n).unwrap();
        let apply = |file: CandidateFile, role, status| file.apply(id(7), id(role), status, Source::Api, now);
        for status in RoleStatus::ALL {
            assert_eq!(apply(at(Stage::Applied), 1, status).is_ok(), status == RoleStatus::Open);
        }
        let one = apply(at(Stage::Applied), 1, RoleStatus::Open).unwrap();
        assert_eq!(apply(one.clone(), 1, RoleStatus::Open), Err(NotApplicable::Applied));
        let rejected = apply(one.reject(now).unwrap(), 2, RoleStatus::Open).unwrap();
        let statuses = |file: &CandidateFile| file.applications.iter().map(|a| a.status).collect::<Vec<_>>();
        assert_eq!(statuses(&rejected), [ApplicationStatus::Rejected, ApplicationStatus::Active]);
        let back = rejected.unreject(now).unwrap();
        assert_eq!(statuses(&back), [ApplicationStatus::Active; 2]);
        assert_eq!(statuses(&back.hire(now).unwrap()), [ApplicationStatus::Hired; 2]);
        assert_eq!(ApplicationStatus::Active.seen_with(RoleStatus::Closed), ApplicationStatus::Closed);
        assert_eq!(ApplicationStatus::Hired.seen_with(RoleStatus::Closed), ApplicationStatus::Hired);
        let mut full = at(Stage::Applied);
        for n in 1..=200 {
            full = apply(full, n, RoleStatus::Open).unwrap();
        }
        assert_eq!(apply(full, 201, RoleStatus::Open), Err(NotApplicable::TooMany));
    }
}
