//! Why applications end without a hire: who ended them, and the organization's list of reasons.

use serde::{Deserialize, Serialize};

use super::stage::Stage;
use super::string_enum::string_enum;
use super::{CaseFolded, Lines, Text};
use crate::id::Id;

/// The reason for a rejection.
pub type Reason = Lines<500>;
/// The name of a rejection reason.
pub type ReasonName = Text<100>;

string_enum! {
    /// Who ended an application.
    #[derive(PartialOrd, Ord)]
    pub enum EndedBy {
        /// The team rejected the candidate.
        Team = "team",
        /// The candidate withdrew.
        Candidate = "candidate",
    }
}

impl EndedBy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_team(&self) -> bool {
        *self == Self::Team
    }
}

/// Who ended an application, and why. An application that is not rejected has the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Who ended it.
    #[serde(rename = "rejected_by", default = "team", skip_serializing_if = "EndedBy::is_team")]
    pub by: EndedBy,
    /// The reason in the organization's list.
    #[serde(rename = "rejection_reason_id", default, skip_serializing_if = "Option::is_none")]
    pub reason_id: Option<Id>,
    /// The reason as a text. With a reason in the list and no text of its own, it is the name that the reason had then.
    #[serde(rename = "rejection_reason")]
    pub reason: Option<Reason>,
}

/// Who ended applications that were rejected before candidates could withdraw.
const fn team() -> EndedBy {
    EndedBy::Team
}

impl Cause {
    /// No reason.
    pub const fn by(by: EndedBy) -> Self {
        Self { by, reason_id: None, reason: None }
    }

    /// The part that is counted.
    pub const fn counted(&self) -> CountedCause {
        CountedCause { by: self.by, reason_id: self.reason_id }
    }
}

/// The part of a cause that the statistics tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CountedCause {
    /// Who ended the application.
    pub by: EndedBy,
    /// The reason in the organization's list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_id: Option<Id>,
}

impl CountedCause {
    /// The cause of a rejection by the team without a reason in the list. It has no counter: it is what the others leave of
    /// the rejected applications, also of those from before the list.
    pub const UNNAMED: Self = Self { by: EndedBy::Team, reason_id: None };
}

/// The rejection of an application: who ended it, why and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection<'a> {
    /// Who ended it, and why.
    pub cause: &'a Cause,
    /// The stage before, if it is known.
    pub stage: Option<Stage>,
}

/// A reason for which applications end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectionReason {
    /// The identifier.
    pub id: Id,
    /// The name.
    pub name: ReasonName,
    /// Whose reason it is.
    pub by: EndedBy,
    /// Whether it can be chosen.
    pub active: bool,
}

/// A reason in a list that replaces another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonInput {
    /// The reason that it changes.
    pub id: Option<Id>,
    /// The name.
    pub name: ReasonName,
    /// Whose reason it is.
    pub by: EndedBy,
    /// Whether it can be chosen.
    pub active: bool,
}

/// An organization's list of the reasons for which applications end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectionReasons {
    /// The reasons, in the order of the organization.
    pub reasons: Vec<RejectionReason>,
    /// The version, which grows with every write; 0 before the first one.
    pub version: u64,
}

/// The reasons that every organization begins with. Their identifiers are 1 to 12, in this order; the service gives no others
/// below a billion.
const DEFAULTS: [(EndedBy, &str); 12] = [
    (EndedBy::Team, "Not enough experience"),
    (EndedBy::Team, "Missing skills"),
    (EndedBy::Team, "Salary expectations too high"),
    (EndedBy::Team, "Location"),
    (EndedBy::Team, "No permission to work"),
    (EndedBy::Team, "Position filled"),
    (EndedBy::Team, "Stronger candidate"),
    (EndedBy::Team, "Other"),
    (EndedBy::Candidate, "Accepted another offer"),
    (EndedBy::Candidate, "Salary too low"),
    (EndedBy::Candidate, "Changed their mind"),
    (EndedBy::Candidate, "No longer reachable"),
];

impl Default for RejectionReasons {
    fn default() -> Self {
        let reasons = (1..).zip(DEFAULTS).filter_map(|(id, (by, name))| {
            let (id, name) = Id::new(id).zip(ReasonName::parse(name).ok().flatten())?;
            Some(RejectionReason { id, name, by, active: true })
        });
        Self { reasons: reasons.collect(), version: 0 }
    }
}

impl RejectionReasons {
    /// The maximum number of reasons, with those that are no longer active.
    // Each may have a counter in every role.
    pub const MAX: usize = 100;

    /// The reason with this identifier, if it is in the list.
    pub fn find(&self, id: Id) -> Option<&RejectionReason> {
        self.reasons.iter().find(|reason| reason.id == id)
    }

    /// The reasons of one side that can be chosen.
    pub fn active(&self, by: EndedBy) -> impl Iterator<Item = &RejectionReason> {
        self.reasons.iter().filter(move |reason| reason.active && reason.by == by)
    }

    /// The cause with one of these reasons. Without a text, the text is the reason's name. Fails with a message if the reason
    /// cannot be chosen by this side.
    pub fn cause(&self, by: EndedBy, id: Id, text: Option<Reason>) -> Result<Cause, String> {
        let Some(reason) = self.active(by).find(|reason| reason.id == id) else {
            let by = by.as_str();
            return Err(format!("reason_id must be the id of an active rejection reason of the {by}"));
        };
        let name = || Reason::parse(reason.name.as_str()).ok().flatten();
        Ok(Cause { by, reason_id: Some(id), reason: text.or_else(name) })
    }

    /// The next version, with these reasons in this order. One without an identifier takes that of the reason with the same
    /// name and side, or else a new one from `next_id`. What is left out becomes inactive, at the end. Returns `None` if
    /// nothing changes. Fails with all messages.
    pub fn replace(
        &self,
        inputs: Vec<ReasonInput>,
        mut next_id: impl FnMut() -> Id,
    ) -> Result<Option<Self>, Vec<String>> {
        let mut messages = Vec::new();
        let mut reasons: Vec<RejectionReason> = Vec::new();
        let named: Vec<_> = inputs.iter().filter_map(|input| input.id).collect();
        for (index, ReasonInput { id, name, by, active }) in inputs.into_iter().enumerate() {
            let mut fail =
                |field: &str, problem: &str| messages.push(format!("data[{index}].{field} {problem}"));
            let is_same = |reason: &RejectionReason| reason.by == by && is_same_name(&reason.name, &name);
            if reasons.iter().any(is_same) {
                fail("name", "is the name of another reason of the same side");
            }
            let known = match id {
                Some(id) => self.find(id),
                None => self.reasons.iter().find(|reason| is_same(reason) && !named.contains(&reason.id)),
            };
            match (id, known) {
                (Some(_), None) => fail("id", "must be the id of a rejection reason"),
                (Some(_), Some(known)) if known.by != by => fail("by", "can't be changed"),
                (Some(id), _) if reasons.iter().any(|reason| reason.id == id) => {
                    fail("id", "must be given only once");
                }
                _ => {}
            }
            let id = known.map_or_else(&mut next_id, |known| known.id);
            reasons.push(RejectionReason { id, name, by, active });
        }
        let left_out = |reason: &&RejectionReason| reasons.iter().all(|other| other.id != reason.id);
        let left_out = self.reasons.iter().filter(left_out).cloned();
        let left_out: Vec<_> = left_out.map(|reason| RejectionReason { active: false, ..reason }).collect();
        reasons.extend(left_out);
        if reasons.len() > Self::MAX {
            let max = Self::MAX;
            messages.push(format!("data must have at most {max} items, with those that it leaves out"));
        }
        if !messages.is_empty() {
            return Err(messages);
        }
        Ok((reasons != self.reasons).then(|| Self { reasons, version: self.version + 1 }))
    }
}

fn is_same_name(one: &ReasonName, other: &ReasonName) -> bool {
    CaseFolded::of(one.as_str()) == CaseFolded::of(other.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(id: Option<u64>, name: &str, by: EndedBy) -> ReasonInput {
        let id = id.and_then(Id::new);
        ReasonInput { id, name: ReasonName::parse(name).unwrap().unwrap(), by, active: true }
    }

    fn new_ids() -> impl FnMut() -> Id {
        let mut next = 1_000;
        move || {
            next += 1;
            Id::new(next).unwrap()
        }
    }

    #[test]
    fn an_organization_begins_with_twelve_reasons() {
        let reasons = RejectionReasons::default();
        assert_eq!(reasons.reasons.len(), 12);
        assert_eq!(
            (reasons.active(EndedBy::Team).count(), reasons.active(EndedBy::Candidate).count()),
            (8, 4)
        );
        assert!((1..=12).all(|id| reasons.find(Id::new(id).unwrap()).is_some()));
    }

    #[test]
    fn the_same_list_again_changes_nothing_and_a_name_finds_its_reason() {
        let first = RejectionReasons::default();
        let same = first.reasons.iter().cloned();
        let same = same.map(|RejectionReason { id, name, by, active }| ReasonInput {
            id: Some(id),
            name,
            by,
            active,
        });
        assert_eq!(first.replace(same.collect(), new_ids()), Ok(None));
        let short = vec![reason(None, "OTHER", EndedBy::Team), reason(None, "other", EndedBy::Candidate)];
        let second = first.replace(short.clone(), new_ids()).unwrap().unwrap();
        assert_eq!(second.reasons[0].id.get(), 8, "the name is that of a reason");
        assert_eq!(second.reasons[1].id.get(), 1_001, "the other side has none");
        assert_eq!((second.reasons.len(), second.active(EndedBy::Team).count()), (13, 1));
        assert_eq!(second.replace(short, new_ids()), Ok(None));
    }

    #[test]
    fn a_rejection_from_before_the_list_is_one_by_the_team() {
        let stored = serde_json::json!({ "rejection_reason": "Too far" });
        let cause: Cause = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!((cause.by, cause.reason_id), (EndedBy::Team, None));
        assert_eq!(cause.reason.as_ref().map(Reason::as_str), Some("Too far"));
        assert_eq!(cause.counted(), CountedCause::UNNAMED);
        assert_eq!(serde_json::to_value(&cause).unwrap(), stored, "it takes no more room than before");
    }

    #[test]
    fn a_list_keeps_at_most_a_hundred_reasons_with_those_that_are_left_out() {
        let reasons = |count: usize| -> Vec<_> {
            (0..count).map(|index| reason(None, &format!("Reason {index}"), EndedBy::Team)).collect()
        };
        let first = RejectionReasons::default();
        assert_eq!(first.replace(reasons(88), new_ids()).unwrap().unwrap().reasons.len(), 100);
        let messages = first.replace(reasons(89), new_ids()).unwrap_err();
        assert_eq!(messages, ["data must have at most 100 items, with those that it leaves out"]);
    }
}
