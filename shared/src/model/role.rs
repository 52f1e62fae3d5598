//! Roles: open positions, and the moves between their states.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::text::grouped;
use super::words::words;
use super::{Slug, Text};
use crate::id::Id;

/// A role's or posting's title.
pub type Title = Text<200>;
/// The department or team.
pub type Department = Text<100>;
/// A city, a state, or the word Remote.
pub type Location = Text<200>;
/// A description or a list of requirements.
pub type LongText = Text<20_000>;

words! {
    /// Where a role stands (spec, section 3).
    pub enum RoleStatus {
        /// Being prepared.
        Draft = "draft",
        /// Accepts applications.
        Open = "open",
        /// Accepts none for now.
        Paused = "paused",
        /// Done with; may be reopened as a draft.
        Closed = "closed",
    }
}

/// A move that the state machine does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} cannot go from {from} to {to}")]
pub struct InvalidTransition {
    /// The field that holds the state.
    pub field: &'static str,
    /// The state as it is.
    pub from: &'static str,
    /// The state that it was to reach.
    pub to: &'static str,
}

words! {
    /// Where the work is done.
    pub enum RemotePolicy {
        /// At the workplace.
        Onsite = "onsite",
        /// Some days here, some there.
        Hybrid = "hybrid",
        /// Anywhere.
        Remote = "remote",
    }
}

/// An annual salary in whole US dollars, 0 to 100,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Salary(u32);

impl Salary {
    /// The highest salary.
    pub const MAX: u32 = 100_000_000;

    /// The salary of this many dollars, if it lies in the range.
    pub fn new(dollars: i64) -> Option<Self> {
        u32::try_from(dollars).ok().filter(|dollars| *dollars <= Self::MAX).map(Self)
    }

    /// The salary in dollars.
    pub const fn dollars(self) -> u32 {
        self.0
    }
}

/// What a role pays: either end may be open, and the lower is never above the upper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SalaryRange {
    min: Option<Salary>,
    max: Option<Salary>,
}

impl SalaryRange {
    /// The range, or `None` where its ends are crossed.
    pub fn new(min: Option<Salary>, max: Option<Salary>) -> Option<Self> {
        match (min, max) {
            (Some(min), Some(max)) if min > max => None,
            _ => Some(Self { min, max }),
        }
    }

    /// The lower end.
    pub const fn min(self) -> Option<Salary> {
        self.min
    }

    /// The upper end.
    pub const fn max(self) -> Option<Salary> {
        self.max
    }

    /// The range in words: `$150,000 to $190,000 a year`; `None` where both ends are open.
    pub fn words(self) -> Option<String> {
        let dollars = |salary: Salary| format!("${}", grouped(salary.dollars().into()));
        let words = match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => dollars(min),
            (Some(min), Some(max)) => format!("{} to {}", dollars(min), dollars(max)),
            (Some(min), None) => format!("from {}", dollars(min)),
            (None, Some(max)) => format!("up to {}", dollars(max)),
            (None, None) => return None,
        };
        Some(format!("{words} a year"))
    }
}

/// What people write about a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleContent {
    /// The job title.
    pub title: Title,
    /// The department or team.
    pub department: Option<Department>,
    /// The description.
    pub description: Option<LongText>,
    /// The place.
    pub location: Option<Location>,
    /// Where the work is done.
    pub remote_policy: Option<RemotePolicy>,
    /// The annual salary.
    pub salary: SalaryRange,
}

/// A role's posting, as much of it as the role shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostingLink {
    /// The posting.
    pub id: Id,
    /// Its slug, which never changes.
    pub slug: Slug,
}

/// An open position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// The identifier.
    pub id: Id,
    /// Where it stands.
    pub status: RoleStatus,
    /// What is written about it.
    #[serde(flatten)]
    pub content: RoleContent,
    /// Its posting, once it has one.
    pub posting: Option<PostingLink>,
    /// When it last went from draft to open.
    pub opened_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Grows with every write; a write names the version it has read.
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

    /// draft -> open.
    pub fn publish(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        let role = self.step(&[RoleStatus::Draft], RoleStatus::Open, now)?;
        Ok(Self { opened_at: Some(now), ..role })
    }

    /// open -> paused.
    pub fn pause(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.step(&[RoleStatus::Open], RoleStatus::Paused, now)
    }

    /// paused -> open.
    pub fn resume(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.step(&[RoleStatus::Paused], RoleStatus::Open, now)
    }

    /// closed -> draft.
    pub fn reopen(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        self.step(&[RoleStatus::Closed], RoleStatus::Draft, now)
    }

    /// Any state -> closed.
    #[must_use]
    pub fn close(self, now: Timestamp) -> Self {
        Self { status: RoleStatus::Closed, ..self.changed(now) }
    }

    /// The same role with other content.
    #[must_use]
    pub fn edit(self, content: RoleContent, now: Timestamp) -> Self {
        Self { content, ..self.changed(now) }
    }

    /// The same role with a posting.
    #[must_use]
    pub fn link(self, posting: PostingLink, now: Timestamp) -> Self {
        Self { posting: Some(posting), ..self.changed(now) }
    }

    fn step(self, from: &[RoleStatus], to: RoleStatus, now: Timestamp) -> Result<Self, InvalidTransition> {
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

/// Counters kept beside a role by every write that changes them, so that reading them never counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoleStats {
    /// Distinct candidates.
    pub applicants: u64,
    /// Voice screens of any status.
    pub screens: u64,
    /// Completed voice screens.
    pub screens_completed: u64,
    /// Completed voice screens that were passed.
    pub screens_passed: u64,
    /// Completed voice screens that have an overall score.
    pub screens_scored: u64,
    /// The sum of those scores.
    pub score_total: u64,
}

impl RoleStats {
    /// Passed of completed, 0 to 1; `None` before the first completed screen.
    pub fn pass_rate(self) -> Option<f64> {
        ratio(self.screens_passed, self.screens_completed)
    }

    /// The mean overall score, 0 to 100; `None` before the first.
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

    type Move = fn(Role, Timestamp) -> Result<Role, InvalidTransition>;

    const MOVES: [(Move, &[RoleStatus], RoleStatus); 5] = [
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
    fn a_salary_has_one_end_two_or_none() {
        let words = |min: Option<i64>, max: Option<i64>| {
            SalaryRange::new(min.and_then(Salary::new), max.and_then(Salary::new)).unwrap().words()
        };
        for (min, max, expected) in [
            (Some(150_000), Some(190_000), Some("$150,000 to $190,000 a year")),
            (Some(90_000), Some(90_000), Some("$90,000 a year")),
            (Some(1_000), None, Some("from $1,000 a year")),
            (None, Some(100_000_000), Some("up to $100,000,000 a year")),
            (Some(0), Some(999), Some("$0 to $999 a year")),
            (None, None, None),
        ] {
            assert_eq!(words(min, max).as_deref(), expected);
        }
    }

    #[test]
    fn every_pair_of_state_and_move() {
        for status in RoleStatus::ALL {
            for (step, from, to) in MOVES {
                match step(role(status), Timestamp::MAX) {
                    Ok(moved) => {
                        assert!(from.contains(&status));
                        assert_eq!((moved.status, moved.version, moved.updated_at), (to, 2, Timestamp::MAX));
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
        fn any_walk_stays_in_the_machine(steps in prop::collection::vec(0..MOVES.len(), 0..40)) {
            let mut walker = role(Draft);
            for step in steps {
                let (go, from, to) = MOVES[step];
                let before = walker.clone();
                if let Ok(after) = go(walker, before.updated_at) {
                    prop_assert!(from.contains(&before.status) && after.status == to);
                    prop_assert_eq!(after.version, before.version + 1);
                    walker = after;
                } else {
                    prop_assert!(!from.contains(&before.status));
                    walker = before;
                }
            }
        }

        #[test]
        fn a_range_is_never_crossed(min: Option<i64>, max: Option<i64>) {
            let (min, max) = (min.and_then(Salary::new), max.and_then(Salary::new));
            let range = SalaryRange::new(min, max);
            prop_assert_eq!(range.is_none(), matches!((min, max), (Some(min), Some(max)) if min > max));
        }
    }

    #[test]
    fn salaries_and_rates() {
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
