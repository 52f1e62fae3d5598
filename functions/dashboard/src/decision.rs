//! The decision about an application, at the top of a candidate's page and of a transcript: the moves, the reasons of a
//! rejection, and who comes next in the list.

use shared::http::MemberRequest;
use shared::id::Id;
use shared::model::{ApplicationStatus, CandidateRecord, EndedBy, RejectionReasons, Stage};

use crate::candidate_list::{ListLinks, ListPage, chosen};

/// What can be decided.
pub(crate) struct Decision {
    /// The candidate.
    pub(crate) candidate: Id,
    /// The application's role and its title; `None` for a candidate without applications.
    pub(crate) role: Option<(Id, String)>,
    /// The stage that the page shows. A decision about another stage is refused.
    pub(crate) stage: Stage,
    /// Whether the role is closed, so that nothing can be decided.
    pub(crate) is_closed: bool,
    /// The reasons that can be chosen for a rejection.
    pub(crate) reasons: Vec<Reason>,
    /// The page of the candidate who comes next in the list.
    pub(crate) next: Option<String>,
}

/// A reason of a rejection.
pub(crate) struct Reason {
    /// The identifier.
    pub(crate) id: Id,
    /// The name.
    pub(crate) name: String,
    /// The digit that chooses it. Only the first nine have one; 0 is for none of the list.
    pub(crate) key: Option<usize>,
}

impl Decision {
    /// The decision about the application for this role, or else about the one that the list is about.
    pub(crate) fn of(
        request: &MemberRequest,
        record: &CandidateRecord,
        role: Option<Id>,
        list: Option<&ListLinks>,
        reasons: &RejectionReasons,
    ) -> Self {
        let listed = ListPage::opened_from(request);
        let application = match (role, listed) {
            (None, Some(list)) => list.application(record),
            (role, _) => chosen(record, role),
        };
        let reasons = (1..).zip(reasons.active(EndedBy::Team)).map(|(number, reason)| Reason {
            id: reason.id,
            name: reason.name.as_str().to_owned(),
            key: Some(number).filter(|number| *number <= 9),
        });
        Self {
            candidate: record.candidate.id,
            role: application.map(|one| (one.role.id, one.role.title.as_str().to_owned())),
            stage: application.map_or(record.candidate.stage, |one| one.stage),
            is_closed: application.is_some_and(|one| one.status() == ApplicationStatus::Closed),
            reasons: reasons.collect(),
            next: list.and_then(|list| list.next.clone()),
        }
    }

    /// Whether the decision is about the application for this role.
    pub(crate) fn is_about(&self, role: u64) -> bool {
        self.role.as_ref().is_some_and(|(id, _)| id.get() == role)
    }

    /// The role as the value of a form's field.
    pub(crate) fn role_id(&self) -> String {
        self.role.as_ref().map(|(id, _)| id.to_string()).unwrap_or_default()
    }

    /// The open stage after this one, with its key.
    pub(crate) fn stage_after(&self) -> Option<(Stage, &'static str)> {
        let after = Stage::OPEN.into_iter().find(|stage| stage.rank() > self.stage.rank());
        after.map(|stage| (stage, key_of(stage)))
    }

    /// The open stages after that one, with their keys.
    pub(crate) fn later_stages(&self) -> impl Iterator<Item = (Stage, &'static str)> {
        let later = Stage::OPEN.into_iter().filter(|stage| stage.rank() > self.stage.rank()).skip(1);
        later.map(|stage| (stage, key_of(stage)))
    }

    /// The open stages before this one, with their keys.
    pub(crate) fn earlier_stages(&self) -> impl Iterator<Item = (Stage, &'static str)> {
        let earlier = Stage::OPEN.into_iter().filter(|stage| stage.rank() < self.stage.rank());
        earlier.map(|stage| (stage, key_of(stage)))
    }
}

/// The letter that moves a candidate to a stage.
const fn key_of(stage: Stage) -> &'static str {
    match stage {
        Stage::Applied => "a",
        Stage::Screening => "s",
        Stage::Interview => "i",
        Stage::Offer => "o",
        Stage::Hired => "h",
        Stage::Rejected => "r",
    }
}
