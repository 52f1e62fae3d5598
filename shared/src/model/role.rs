//! Roles: open positions, and the transitions between their statuses.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::text::grouped;
use super::{Lines, Slug, Text};
use crate::id::Id;

/// The title of a role or posting.
pub type Title = Text<200>;
/// The department or team.
pub type Department = Text<100>;
/// A city, a state or the word Remote.
pub type Location = Text<200>;
/// A description or a list of requirements.
pub type LongText = Lines<20_000>;

string_enum! {
    /// The status of a role.
    pub enum RoleStatus {
        /// The role is being prepared.
        Draft = "draft",
        /// The role accepts applications.
        Open = "open",
        /// The role accepts no applications for now.
        Paused = "paused",
        /// Hiring for the role has ended. The role can be reopened as a draft.
        Closed = "closed",
    }
}

/// A transition that the state machine does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} cannot go from {from} to {to}")]
pub struct InvalidTransition {
    /// The field that contains the state.
    pub field: &'static str,
    /// The current state.
    pub from: &'static str,
    /// The requested state.
    pub to: &'static str,
}

string_enum! {
    /// Where the work is done.
    pub enum RemotePolicy {
        /// At the workplace.
        Onsite = "onsite",
        /// Partly at the workplace, partly remote.
        Hybrid = "hybrid",
        /// Remote.
        Remote = "remote",
    }
}

/// An annual salary in whole US dollars, 0 to 100,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Salary(u32);

impl Salary {
    /// The maximum salary.
    pub const MAX: u32 = 100_000_000;

    /// A salary of this many dollars; `None` if it is out of range.
    pub fn new(dollars: i64) -> Option<Self> {
        u32::try_from(dollars).ok().filter(|dollars| *dollars <= Self::MAX).map(Self)
    }

    /// The salary in dollars.
    pub const fn dollars(self) -> u32 {
        self.0
    }
}

/// The salary range of a role. Either bound may be absent. The minimum never exceeds the maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SalaryRange {
    min: Option<Salary>,
    max: Option<Salary>,
}

impl SalaryRange {
    /// A range; `None` if the minimum exceeds the maximum.
    pub fn new(min: Option<Salary>, max: Option<Salary>) -> Option<Self> {
        match (min, max) {
            (Some(min), Some(max)) if min > max => None,
            _ => Some(Self { min, max }),
        }
    }

    /// The minimum.
    pub const fn min(self) -> Option<Salary> {
        self.min
    }

    /// The maximum.
    pub const fn max(self) -> Option<Salary> {
        self.max
    }

    /// The range in words: `$150,000 to $190,000 a year`; `None` if it has no bounds.
    pub fn words(self) -> Option<String> {
        self.joined_by(" to ")
    }

    /// The same with a dash, for short text: `$150,000–$190,000 a year`.
    pub fn short_words(self) -> Option<String> {
        self.joined_by("–")
    }

    fn joined_by(self, separator: &str) -> Option<String> {
        let dollars = |salary: Salary| format!("${}", grouped(salary.dollars().into()));
        let range = match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => dollars(min),
            (Some(min), Some(max)) => format!("{}{separator}{}", dollars(min), dollars(max)),
            (Some(min), None) => format!("from {}", dollars(min)),
            (None, Some(max)) => format!("up to {}", dollars(max)),
            (None, None) => return None,
        };
        Some(format!("{range} a year"))
    }
}

/// The content of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleContent {
    /// The job title.
    pub title: Title,
    /// The department or team.
    pub department: Option<Department>,
    /// The description.
    pub description: Option<LongText>,
    /// The location.
    pub location: Option<Location>,
    /// Where the work is done.
    pub remote_policy: Option<RemotePolicy>,
    /// The annual salary.
    pub salary: SalaryRange,
}

/// A reference to a role's posting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostingLink {
    /// The posting.
    pub id: Id,
    /// The posting's slug, which never changes.
    pub slug: Slug,
}

/// An open position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// The identifier.
    pub id: Id,
    /// The status.
    pub status: RoleStatus,
    /// The content.
    #[serde(flatten)]
    pub content: RoleContent,
    /// The role's posting, once it has one.
    pub posting: Option<PostingLink>,
    /// When the status last changed from draft to open.
    pub opened_at: Option<Timestamp>,
    /// When the role was created.
    pub created_at: Timestamp,
    /// When the role was last updated.
    pub updated_at: Timestamp,
    /// The version, which increases with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

impl Role {
    /// A new draft.
    pub fn draft(id: Id, content: RoleContent, now: Timestamp) -> Self {
        Self {
            id,
            status: RoleStatus::Draft,
            content,
            posting: None,
            opened_at: None,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// Changes the status from draft to open.
    pub fn publish(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        let role = self.transition(&[RoleStatus::Draft], RoleStatus::Open, now)?;
        Ok(Self { opened_at: Some(now), ..role })
    }

    /// Changes the status from open to paused.
    pub fn pause(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition(&[RoleStatus::Open], RoleStatus::Paused, now)
    }

    /// Changes the status from paused to open.
    pub fn resume(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition(&[RoleStatus::Paused], RoleStatus::Open, now)
    }

    /// Changes the status from closed to draft.
    pub fn reopen(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.transition(&[RoleStatus::Closed], RoleStatus::Draft, now)
    }

    /// Changes any status to closed.
    #[must_use]
    pub fn close(self, now: Timestamp) -> Self {
        Self { status: RoleStatus::Closed, ..self.changed(now) }
    }

    /// Replaces the content.
    #[must_use]
    pub fn edit(self, content: RoleContent, now: Timestamp) -> Self {
        Self { content, ..self.changed(now) }
    }

    /// Adds the reference to the role's posting.
    #[must_use]
    pub fn link(self, posting: PostingLink, now: Timestamp) -> Self {
        Self { posting: Some(posting), ..self.changed(now) }
    }

    fn transition(
        self,
        from: &[RoleStatus],
        to: RoleStatus,
        now: Timestamp,
    ) -> Result<Self, InvalidTransition> {
        if from.contains(&self.status) {
            Ok(Self { status: to, ..self.changed(now) })
        } else {
            Err(InvalidTransition { field: "status", from: self.status.as_str(), to: to.as_str() })
        }
    }

    fn changed(self, now: Timestamp) -> Self {
        Self { updated_at: now.max(self.updated_at), version: self.version + 1, ..self }
    }
}

/// The statistics of a role. Every write that changes them updates these counters, so reading them takes constant time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoleStats {
    /// The number of distinct candidates who have applied.
    pub applicants: u64,
    /// The number of voice screens in any status.
    pub screens: u64,
    /// The number of completed voice screens.
    pub screens_completed: u64,
    /// The number of completed voice screens that the candidates passed.
    pub screens_passed: u64,
    /// The number of completed voice screens that have an overall score.
    pub screens_scored: u64,
    /// The sum of those scores.
    pub score_total: u64,
}

impl RoleStats {
    /// The share of completed screens that the candidates passed, from 0 to 1; `None` before the first completed screen.
    pub fn pass_rate(self) -> Option<f64> {
        ratio(self.screens_passed, self.screens_completed)
    }

    /// The mean overall score, from 0 to 100; `None` before the first score.
    pub fn average_score(self) -> Option<f64> {
        ratio(self.score_total, self.screens_scored)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counters stay far below 2^52")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use RoleStatus::{Closed, Draft, Open, Paused};
    use proptest::prelude::*;

    type Transition = fn(Role, Timestamp) -> Result<Role, InvalidTransition>;

    const TRANSITIONS: [(Transition, &[RoleStatus], RoleStatus); 5] = [
        (Role::publish, &[Draft], Open),
        (Role::pause, &[Open], Paused),
        (Role::resume, &[Paused], Open),
        (Role::reopen, &[Closed], Draft),
        (|role, now| Ok(role.close(now)), &[Draft, Open, Paused, Closed], Closed),
    ];

    fn role(status: RoleStatus) -> Role {
        let title = Title::parse("Engineer").unwrap().unwrap();
        let salary = SalaryRange::default();
        let content = RoleContent {
            title,
            department: None,
            description: None,
            location: None,
            remote_policy: None,
            salary,
        };
        Role { status, ..Role::draft(Id::new(1).unwrap(), content, Timestamp::UNIX_EPOCH) }
    }

    #[test]
    fn salary_ranges_with_two_one_or_no_bounds_are_formatted() {
        let range = |min: Option<i64>, max: Option<i64>| {
            SalaryRange::new(min.and_then(Salary::new), max.and_then(Salary::new)).unwrap()
        };
        for (min, max, expected) in [
            (Some(150_000), Some(190_000), Some("$150,000 to $190,000 a year")),
            (Some(90_000), Some(90_000), Some("$90,000 a year")),
            (Some(1_000), None, Some("from $1,000 a year")),
            (None, Some(100_000_000), Some("up to $100,000,000 a year")),
            (Some(0), Some(999), Some("$0 to $999 a year")),
            (None, None, None),
        ] {
            assert_eq!(range(min, max).words().as_deref(), expected);
            let short = expected.map(|words| words.replace("0 to $", "0–$"));
            assert_eq!(range(min, max).short_words(), short);
        }
    }

    #[test]
    fn only_the_documented_transitions_are_allowed() {
        for status in RoleStatus::ALL {
            for (transition, from, to) in TRANSITIONS {
                match transition(role(status), Timestamp::MAX) {
                    Ok(after) => {
                        assert!(from.contains(&status));
                        assert_eq!((after.status, after.version, after.updated_at), (to, 2, Timestamp::MAX));
                    }
                    Err(error) => {
                        assert!(!from.contains(&status));
                        assert_eq!((error.from, error.to), (status.as_str(), to.as_str()));
                        let message = error.to_string();
                        assert!(
                            message.contains(status.as_str()) && message.contains(to.as_str()),
                            "{message}"
                        );
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_sequence_of_transitions_is_valid(indices in prop::collection::vec(0..TRANSITIONS.len(), 0..40)) {
            let mut current = role(Draft);
            for index in indices {
                let (transition, from, to) = TRANSITIONS[index];
                let before = current.clone();
                if let Ok(after) = transition(current, before.updated_at) {
                    prop_assert!(from.contains(&before.status) && after.status == to);
                    prop_assert_eq!(after.version, before.version + 1);
                    current = after;
                } else {
                    prop_assert!(!from.contains(&before.status));
                    current = before;
                }
            }
        }

        #[test]
        fn the_minimum_never_exceeds_the_maximum(min: Option<i64>, max: Option<i64>) {
            let (min, max) = (min.and_then(Salary::new), max.and_then(Salary::new));
            let range = SalaryRange::new(min, max);
            prop_assert_eq!(range.is_none(), matches!((min, max), (Some(min), Some(max)) if min > max));
        }
    }

    #[test]
    fn salaries_are_bounded_and_rates_are_computed() {
        assert!(Salary::new(-1).is_none() && Salary::new(100_000_001).is_none());
        assert_eq!(Salary::new(100_000_000).map(Salary::dollars), Some(100_000_000));
        assert_eq!(RoleStats::default().pass_rate(), None);
        let stats = RoleStats {
            screens_completed: 5,
            screens_passed: 3,
            screens_scored: 4,
            score_total: 290,
            ..RoleStats::default()
        };
        assert_eq!((stats.pass_rate(), stats.average_score()), (Some(0.6), Some(72.5)));
    }
}
