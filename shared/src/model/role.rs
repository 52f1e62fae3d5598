//! Roles: open positions, and the transitions between their statuses.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::{CountedCause, ExternalId, Lines, Pay, Places, Slug, Stage, Text, TimeZoneName};
use crate::clock::{Timestamp, time_of_change};
use crate::id::Id;

/// The title of a role or posting.
pub type Title = Text<200>;
/// The department or team.
pub type Department = Text<100>;
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

string_enum! {
    /// The kind of employment.
    pub enum EmploymentType {
        /// Full-time.
        FullTime = "full_time",
        /// Part-time.
        PartTime = "part_time",
        /// As a contractor.
        Contract = "contract",
        /// For a limited time.
        Temporary = "temporary",
        /// An internship.
        Internship = "internship",
    }
}

impl EmploymentType {
    /// The type in words: `Full-time`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::FullTime => "Full-time",
            Self::PartTime => "Part-time",
            Self::Contract => "Contract",
            Self::Temporary => "Temporary",
            Self::Internship => "Internship",
        }
    }
}

impl RemotePolicy {
    /// The policy in words: `On-site`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Onsite => "On-site",
            Self::Hybrid => "Hybrid",
            Self::Remote => "Remote",
        }
    }
}

/// The content of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleContent {
    /// The job title.
    pub title: Title,
    /// The department or team.
    pub department: Option<Department>,
    /// The description. Markdown: CommonMark with tables. The HTML tags a, b, br, em, h1 to h6, i, li, ol, p, strong
    /// and ul work; other HTML is shown as text, and an image is replaced by its alternative text.
    pub description: Option<LongText>,
    /// Where the work is done.
    #[serde(flatten)]
    pub places: Places,
    /// Where the work is done. If it is missing, the location `Remote` in any case means `remote`.
    pub(crate) remote_policy: Option<RemotePolicy>,
    /// The kind of employment.
    pub employment_type: Option<EmploymentType>,
    /// What the role pays.
    #[serde(rename = "salary")]
    pub pay: Pay,
    /// The last day on which the role's posting is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_on: Option<Date>,
    /// The identifier in another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<ExternalId>,
}

impl RoleContent {
    /// Content that consists only of a title.
    pub fn titled(title: Title) -> Self {
        Self {
            title,
            department: None,
            description: None,
            places: Places::default(),
            remote_policy: None,
            employment_type: None,
            pay: Pay::default(),
            closes_on: None,
            external_id: None,
        }
    }

    /// The fields of the API, and whether they differ from those of `other`.
    pub fn differences(&self, other: &Self) -> impl Iterator<Item = (&'static str, bool)> {
        let Self {
            title,
            department,
            description,
            places,
            remote_policy: _,
            employment_type,
            pay,
            closes_on,
            external_id,
        } = self;
        let other_pay = other.pay;
        [
            ("title", *title != other.title),
            ("department", *department != other.department),
            ("description", *description != other.description),
            ("location", places.location() != other.places.location()),
            ("country", places.country() != other.places.country()),
            ("locations", places.list() != other.places.list()),
            ("remote_policy", self.remote_policy() != other.remote_policy()),
            ("employment_type", *employment_type != other.employment_type),
            ("salary_min", pay.salary_min() != other_pay.salary_min()),
            ("salary_max", pay.salary_max() != other_pay.salary_max()),
            ("salary_currency", pay.salary_currency() != other_pay.salary_currency()),
            ("pay", pay.shown() != other_pay.shown()),
            ("closes_on", *closes_on != other.closes_on),
            ("external_id", *external_id != other.external_id),
        ]
        .into_iter()
    }

    /// The same content with another remote policy.
    #[must_use]
    pub fn with_remote_policy(self, remote_policy: Option<RemotePolicy>) -> Self {
        Self { remote_policy, ..self }
    }

    /// Where the work is done. If no policy was given, the location `Remote` in any case means remote.
    pub fn remote_policy(&self) -> Option<RemotePolicy> {
        self.remote_policy.or(self.places.is_remote().then_some(RemotePolicy::Remote))
    }
}

/// A reference to a role's posting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostingLink {
    /// The posting.
    pub id: Id,
    /// The posting's slug, which never changes.
    pub slug: Slug,
}

/// The closing date is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyOver;

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
    /// When the role's posting stops being public: at the end of the day `closes_on`, in the time zone of the organization when
    /// the day was set. Roles with a day are stored only with the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_at: Option<Timestamp>,
    /// The role's posting, once it has one.
    pub posting: Option<PostingLink>,
    /// When the status last changed from draft to open.
    pub opened_at: Option<Timestamp>,
    /// The version with which the role was last closed.
    pub closed_version: Option<u64>,
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
            closes_at: None,
            posting: None,
            opened_at: None,
            closed_version: None,
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
        let role = self.changed(now);
        Self { status: RoleStatus::Closed, closed_version: Some(role.version), ..role }
    }

    /// Replaces the content. Another closing date needs [`Self::closing_in`] afterwards.
    #[must_use]
    pub fn edit(self, content: RoleContent, now: Timestamp) -> Self {
        let closes_at = self.closes_at.filter(|_| content.closes_on == self.content.closes_on);
        Self { content, closes_at, ..self.changed(now) }
    }

    /// Fixes when a new closing date is over, for an organization in this time zone.
    pub fn closing_in(self, zone: &TimeZoneName, now: Timestamp) -> Result<Self, AlreadyOver> {
        let Some(day) = self.content.closes_on.filter(|_| self.closes_at.is_none()) else { return Ok(self) };
        // A day may begin later than at midnight, or be left out by its zone.
        let next = day.checked_add(1.day()).and_then(|next| next.to_zoned(zone.zone()));
        let closes_at = next.map_or(Timestamp::MAX, |next| next.timestamp().into());
        if closes_at > now { Ok(Self { closes_at: Some(closes_at), ..self }) } else { Err(AlreadyOver) }
    }

    /// Whether the closing date is over, so that the role's posting is not public, whatever is stored of it.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.closes_at.is_some_and(|closes_at| closes_at <= now)
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
        Self { updated_at: time_of_change(now, self.updated_at), version: self.version + 1, ..self }
    }
}

/// The statistics of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageStats {
    /// The number of applications in the stage, whether the role is closed or not.
    pub now: u64,
    /// The number of applications that have ever been in the stage.
    pub ever: u64,
    /// The number of finished stays in the stage, by their whole days.
    pub stays: BTreeMap<u8, u64>,
}

impl StageStats {
    /// The lower median of the finished stays, in whole days; `None` without any.
    pub fn median_days(&self) -> Option<u8> {
        let middle = self.stays.values().sum::<u64>().div_ceil(2);
        let mut count = 0;
        self.stays.iter().find_map(|(days, stays)| {
            count += stays;
            (middle > 0 && count >= middle).then_some(*days)
        })
    }
}

/// The statistics of a role. Every write that changes them updates these counters, so reading them takes constant time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleStats {
    /// The number of distinct candidates who have applied.
    pub applicants: u64,
    /// The number of applications in screening whose voice screen is completed, whether the role is closed or not.
    #[serde(default)]
    pub screened: u64,
    /// The number of voice screens in any status.
    pub screens: u64,
    /// The number of completed voice screens.
    pub screens_completed: u64,
    /// The number of completed voice screens that the candidates passed.
    pub screens_passed: u64,
    /// The number of completed voice screens that the candidates failed.
    #[serde(default)]
    pub screens_failed: u64,
    /// The number of completed voice screens that have an overall score.
    pub screens_scored: u64,
    /// The sum of those scores.
    pub score_total: u64,
    /// The statistics of each stage, in the order of [`Stage::ALL`]. The store reads and writes them in its own format.
    #[serde(skip)]
    pub stages: [StageStats; 6],
    /// The number of rejected applications for each cause that has a counter of its own, like `stages`.
    #[serde(skip)]
    pub rejections: BTreeMap<CountedCause, u64>,
}

impl RoleStats {
    /// The number of rejected applications for each cause, those of most applications first.
    pub fn rejections(&self) -> Vec<(CountedCause, u64)> {
        let rejected = self.stages[Stage::Rejected.rank()].now;
        let unnamed = rejected.saturating_sub(self.rejections.values().sum());
        let mut all: Vec<_> = self.rejections.iter().map(|(cause, count)| (*cause, *count)).collect();
        all.push((CountedCause::UNNAMED, unnamed));
        all.retain(|(_, count)| *count > 0);
        all.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), *cause));
        all
    }

    /// The share of passed screens among those with a result, from 0 to 1; `None` before the first result.
    pub fn pass_rate(&self) -> Option<f64> {
        ratio(self.screens_passed, self.screens_passed + self.screens_failed)
    }

    /// The mean overall score, from 0 to 100; `None` before the first score.
    pub fn average_score(&self) -> Option<f64> {
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
        let content = RoleContent::titled(Title::parse("Engineer").unwrap().unwrap());
        Role { status, ..Role::draft(Id::new(1).unwrap(), content, Timestamp::UNIX_EPOCH) }
    }

    #[test]
    fn the_location_remote_means_remote_unless_there_is_a_policy() {
        use RemotePolicy::{Hybrid, Onsite, Remote};
        for (location, given, policy) in [
            (Some("Remote"), None, Some(Remote)),
            (Some(" rEMOTE\n"), None, Some(Remote)),
            (Some("Remote"), Some(Hybrid), Some(Hybrid)),
            (Some("Remote, Germany"), None, None),
            (Some("Berlin"), Some(Onsite), Some(Onsite)),
            (Some("Berlin"), None, None),
            (None, None, None),
        ] {
            let content = RoleContent {
                places: Places::named(location.and_then(Text::cut), None),
                ..role(Draft).content.with_remote_policy(given)
            };
            assert_eq!(content.remote_policy(), policy, "{location:?} {given:?}");
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
    }

    #[test]
    fn the_median_is_the_lower_one() {
        let median = |stays: &[(u8, u64)]| {
            StageStats { stays: stays.iter().copied().collect(), ..StageStats::default() }.median_days()
        };
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[(4, 1)]), Some(4));
        assert_eq!(median(&[(1, 1), (9, 1)]), Some(1));
        assert_eq!(median(&[(0, 1), (2, 1), (60, 1)]), Some(2));
        assert_eq!(median(&[(0, 2), (3, 1), (60, 3)]), Some(3));
    }

    #[test]
    fn rates_are_computed() {
        assert_eq!(RoleStats::default().pass_rate(), None);
        let stats = RoleStats {
            screens_completed: 7,
            screens_passed: 3,
            screens_failed: 2,
            screens_scored: 4,
            score_total: 290,
            ..RoleStats::default()
        };
        assert_eq!((stats.pass_rate(), stats.average_score()), (Some(0.6), Some(72.5)));
    }
}
