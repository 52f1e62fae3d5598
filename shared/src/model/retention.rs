//! Retention: an organization's rule for erasing people some time after their last application has ended.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::text::grouped;
use super::{CandidateRecord, Stage};
use crate::clock::{Timestamp, later};

/// A number of days from 30 to 3,650.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct RetentionDays(u16);

/// A rule: people are erased this many days after the start of their retention period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// The number of days.
    pub days: RetentionDays,
    /// Whether people who were ever hired are erased, too.
    pub include_hired: bool,
}

/// When a person's retention period begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionStart {
    /// The latest of the person's creation or import, the ends of all applications, and when the person applied again.
    pub since: Timestamp,
    /// Until when nobody may erase the person, because a legal hold was lifted not long ago.
    pub grace_until: Option<Timestamp>,
    /// Whether the person was ever hired.
    pub ever_hired: bool,
}

/// A rule that is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionSchedule {
    /// The rule.
    pub retention: Retention,
    /// When it was set.
    pub set_at: Timestamp,
    /// When people are erased next.
    pub next_run: Timestamp,
}

/// A tenant's setting. It is off at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionSetting {
    /// The rule; `None` while it is switched off.
    pub schedule: Option<RetentionSchedule>,
    /// The version, which grows with every write; 0 before the first one.
    pub version: u64,
}

/// The time after a legal hold was lifted in which nobody is erased.
const GRACE: SignedDuration = SignedDuration::from_hours(24 * 30);
/// The time between two runs, and between a change of the rule and its first run.
const DAY: SignedDuration = SignedDuration::from_hours(24);

impl RetentionDays {
    /// The minimum.
    pub const MIN: u16 = 30;
    /// The maximum.
    pub const MAX: u16 = 3_650;

    fn duration(self) -> SignedDuration {
        SignedDuration::from_hours(24 * i64::from(self.0))
    }
}

impl TryFrom<u16> for RetentionDays {
    type Error = String;

    fn try_from(days: u16) -> Result<Self, Self::Error> {
        if (Self::MIN..=Self::MAX).contains(&days) {
            return Ok(Self(days));
        }
        Err(format!("must be a whole number from {} to {}", Self::MIN, grouped(Self::MAX.into())))
    }
}

impl FromStr for RetentionDays {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim();
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        Self::try_from(digits.parse::<u16>().ok().filter(|_| is_number).unwrap_or_default())
    }
}

impl From<RetentionDays> for u16 {
    fn from(days: RetentionDays) -> Self {
        days.0
    }
}

impl fmt::Display for RetentionDays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&grouped(self.0.into()))
    }
}

impl Retention {
    /// Whether a person is erased at this time.
    pub fn is_due(self, start: RetentionStart, at: Timestamp) -> bool {
        let is_over = later(start.since, self.days.duration()) <= at;
        is_over
            && start.grace_until.is_none_or(|until| until <= at)
            && (self.include_hired || !start.ever_hired)
    }

    /// The groups of people that the rule erases: whether they were ever hired.
    pub const fn groups(self) -> &'static [bool] {
        if self.include_hired { &[false, true] } else { &[false] }
    }

    /// The latest start of a retention period that is over at this time.
    pub fn latest_start(self, at: Timestamp) -> Timestamp {
        later(at, -self.days.duration())
    }
}

impl RetentionSetting {
    /// When the first run of a rule is due that is set now.
    pub fn first_run(now: Timestamp) -> Timestamp {
        later(now, DAY)
    }

    /// Sets a rule, or switches the rule off. Nobody is erased in the first 24 hours. Returns `None` if the rule stays
    /// the same.
    pub fn change(&self, retention: Option<Retention>, now: Timestamp) -> Option<Self> {
        if self.schedule.map(|schedule| schedule.retention) == retention {
            return None;
        }
        let next_run = Self::first_run(now);
        let schedule = |retention| RetentionSchedule { retention, set_at: now, next_run };
        Some(Self { schedule: retention.map(schedule), version: self.version + 1 })
    }

    /// The schedule, if its next run is the one that is due at this time.
    pub fn due_at(&self, due: Timestamp) -> Option<RetentionSchedule> {
        self.schedule.filter(|schedule| schedule.next_run == due)
    }

    /// Schedules the run after the next one: a day later, or a day from now if a run is late by a day.
    #[must_use]
    pub fn finish_run(&self, now: Timestamp) -> Self {
        let next = |schedule: RetentionSchedule| {
            let planned = later(schedule.next_run, DAY);
            let next_run = if planned > now { planned } else { later(now, DAY) };
            RetentionSchedule { next_run, ..schedule }
        };
        Self { schedule: self.schedule.map(next), version: self.version + 1 }
    }
}

impl CandidateRecord {
    /// When the retention period begins; `None` during a legal hold, and while an application is active or a voice screen
    /// or the import is unfinished. A stage of a candidate without applications counts like an application once the candidate has
    /// moved.
    pub fn retention_start(&self) -> Option<RetentionStart> {
        if self.legal_hold.is_some() || !self.open_screens.is_empty() || !self.is_shown() {
            return None;
        }
        let created_at = self.candidate.created_at;
        let mut since = created_at.max(self.retained_from.unwrap_or(created_at));
        let mut ever_hired = self.own.ever_hired;
        for application in &self.applications {
            let end = application.ended_at()?;
            since = since.max(end).max(application.reapplied_at.unwrap_or(end));
            ever_hired |= application.visited.contains(&Stage::Hired);
        }
        if self.applications.is_empty() {
            match (self.own.stage, self.own.changed_at) {
                (Stage::Applied, None) => {}
                (stage, Some(changed_at)) if stage.is_end() => since = since.max(changed_at),
                _ => return None,
            }
        }
        let grace_until = self.hold_lifted_at.map(|lifted_at| later(lifted_at, GRACE));
        Some(RetentionStart { since, grace_until, ever_hired })
    }
}

#[cfg(test)]
mod tests {
    use super::super::role::RoleContent;
    use super::super::{
        Actor, ApplicationForm, CancelReason, Cause, EndedBy, HoldReason, LegalHold, Move, Name, OpenScreen,
        Profile, Role, Source, Submission, Text,
    };
    use super::*;
    use crate::id::Id;

    const REJECT: Move = Move::Reject { cause: Cause::by(EndedBy::Team), notes: None };
    const HIRE: Move = Move::Hire { start_date: None };

    fn id(number: u64) -> Id {
        Id::new(number).unwrap()
    }

    fn day(number: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * number)
    }

    fn role(number: u64) -> Role {
        let content = RoleContent::titled(Text::parse("Engineer").unwrap().unwrap());
        Role::draft(id(number), content, day(0)).publish(day(0)).unwrap()
    }

    /// A candidate who was created on day 1.
    fn jane() -> CandidateRecord {
        let name = Name::parse("Jane").unwrap().unwrap();
        CandidateRecord::new(id(1), Profile::new(name, "jane@example.com".parse().unwrap()), day(1))
    }

    fn apply(record: CandidateRecord, number: u64, at: i64) -> CandidateRecord {
        record.apply(id(100 + number), &role(number), Source::API, day(at)).unwrap()
    }

    fn make(record: CandidateRecord, step: &Move, role: Option<u64>, at: i64) -> CandidateRecord {
        record.make(step, role.map(id), day(at)).unwrap().record
    }

    fn follow(record: CandidateRecord, role: &Role, at: i64) -> CandidateRecord {
        record.follow([role], day(at)).unwrap().record
    }

    /// The day on which the period begins, and whether the candidate was ever hired.
    fn start(record: &CandidateRecord) -> Option<(i64, bool)> {
        let start = record.retention_start()?;
        Some((start.since.as_second() / 86_400, start.ever_hired))
    }

    fn rule(days: u16, include_hired: bool) -> Retention {
        Retention { days: days.try_into().unwrap(), include_hired }
    }

    #[test]
    fn the_number_of_days_is_from_30_to_3650() {
        for (text, days) in [("30", 30), (" 365\n", 365), ("3650", 3_650), ("0030", 30)] {
            assert_eq!(text.parse::<RetentionDays>().map(u16::from), Ok(days), "{text}");
        }
        let texts = [
            "",
            " ",
            "29",
            "3651",
            "65536",
            "99999999999999999999",
            "-30",
            "+30",
            "30.5",
            "3e2",
            "30 days",
            "３０",
        ];
        for text in texts {
            let message = text.parse::<RetentionDays>().unwrap_err();
            assert_eq!(message, "must be a whole number from 30 to 3,650", "{text}");
        }
        assert_eq!(RetentionDays::try_from(3_650).unwrap().to_string(), "3,650");
        assert!([0, 29, 3_651, u16::MAX].iter().all(|days| RetentionDays::try_from(*days).is_err()));
    }

    #[test]
    fn the_period_begins_with_the_creation_or_the_last_end_of_an_application() {
        assert_eq!(start(&jane()), Some((1, false)));
        let active = apply(jane(), 1, 3);
        assert_eq!(start(&active), None, "an active application");
        let rejected = make(active.clone(), &REJECT, None, 5);
        assert_eq!(start(&rejected), Some((5, false)));
        let hired = make(active.clone(), &HIRE, None, 6);
        assert_eq!(start(&hired), Some((6, true)));
        let closed = follow(active, &role(1).close(day(7)), 7);
        assert_eq!(start(&closed), Some((7, false)));

        // The last end counts, in any order of the applications.
        let second = apply(rejected.clone(), 2, 8);
        assert_eq!(start(&second), None, "one of two is active");
        assert_eq!(start(&make(second, &REJECT, Some(2), 9)), Some((9, false)));
        let both = apply(apply(jane(), 1, 3), 2, 3);
        let both = make(make(both, &REJECT, Some(2), 10), &HIRE, Some(1), 11);
        assert_eq!(start(&both), Some((11, true)));
        let edited = rejected.clone().edit(rejected.candidate.profile.clone(), day(20));
        assert_eq!(start(&edited), Some((5, false)), "other changes do not count");
    }

    #[test]
    fn the_period_begins_again_with_a_form() {
        let rejected = make(apply(jane(), 1, 3), &REJECT, None, 5);
        let name = rejected.candidate.profile.name.clone();
        let content = ApplicationForm {
            name,
            email: "jane@example.com".parse().unwrap(),
            phone: None,
            phone_as_typed: None,
            resume_url: None,
            note: None,
            consents: Vec::new(),
            source: None,
            answers: Vec::new(),
        };
        let submission = Submission {
            id: id(200),
            application_id: id(101),
            role_id: id(1),
            content,
            resume_file_id: None,
            submitted_at: day(9),
        };
        assert_eq!(start(&rejected.clone().reapply(&submission).record), Some((9, false)));
        let active = make(rejected, &Move::Unreject, None, 6);
        let again = active.reapply(&submission).record;
        assert_eq!(start(&again), None, "a form does not end an application");
        assert_eq!(start(&make(again, &REJECT, None, 12)), Some((12, false)));
    }

    #[test]
    fn an_undo_a_reopened_role_and_a_new_application_stop_the_clock() {
        let rejected = make(apply(jane(), 1, 3), &REJECT, None, 5);
        let back = make(rejected.clone(), &Move::Unreject, None, 8);
        assert_eq!(start(&back), None);
        assert_eq!(start(&make(back, &REJECT, None, 9)), Some((9, false)), "the second rejection counts");
        assert_eq!(start(&apply(rejected.clone(), 2, 9)), None);

        let closed_role = role(1).close(day(4));
        let closed = follow(apply(jane(), 1, 3), &closed_role, 4);
        let reopened_role = closed_role.clone().reopen(day(6)).unwrap();
        let reopened = follow(closed, &reopened_role, 6);
        assert_eq!(start(&reopened), None);
        let again = follow(reopened, &reopened_role.clone().close(day(8)), 8);
        assert_eq!(start(&again), Some((8, false)));

        // A role that is closed or reopened after the end does not change the end, but an undo after that does.
        let over = follow(rejected, &closed_role, 7);
        assert_eq!(start(&over), Some((5, false)));
        assert_eq!(start(&make(over, &Move::Unreject, Some(1), 12)), Some((12, false)));
    }

    #[test]
    fn a_hire_is_remembered_after_it_was_undone() {
        let hired = make(apply(jane(), 1, 3), &HIRE, None, 4);
        let rejected = make(make(hired.clone(), &Move::Unhire, None, 5), &REJECT, None, 6);
        assert_eq!(start(&rejected), Some((6, true)));
        let again = make(apply(hired, 2, 7), &REJECT, Some(2), 9);
        assert_eq!(start(&again), Some((9, true)), "the stage of the new application does not matter");
    }

    #[test]
    fn a_candidate_without_applications_is_treated_alike() {
        let interview = make(jane(), &Move::Advance(Stage::Interview), None, 2);
        assert_eq!(start(&interview), None);
        assert_eq!(start(&make(interview.clone(), &Move::Advance(Stage::Applied), None, 3)), None);
        let rejected = make(interview.clone(), &REJECT, None, 5);
        assert_eq!(start(&rejected), Some((5, false)));
        let edited = rejected.clone().edit(rejected.candidate.profile.clone(), day(20));
        assert_eq!(start(&edited), Some((5, false)));
        assert_eq!(start(&make(rejected, &Move::Unreject, None, 6)), None);
        let hired = make(interview, &HIRE, None, 7);
        assert_eq!(start(&hired), Some((7, true)));
        let unhired = make(hired, &Move::Unhire, None, 8);
        assert_eq!(start(&make(unhired, &REJECT, None, 9)), Some((9, true)));
    }

    #[test]
    fn an_unfinished_voice_screen_stops_the_clock() {
        let rejected = make(apply(jane(), 1, 3), &REJECT, None, 5);
        let invited = rejected.invite(OpenScreen::new(id(7), &role(2)), day(6)).unwrap().record;
        assert_eq!(start(&invited), None);
        let marked = invited.clone().cancel_screens(CancelReason::Requested);
        assert_eq!(start(&marked), None, "a task has yet to cancel it");
        assert_eq!(start(&invited.close_screen(id(7))), Some((5, false)));
    }

    #[test]
    fn a_legal_hold_stops_the_clock_and_is_followed_by_30_days_of_grace() {
        let reason = HoldReason::parse("a lawsuit").unwrap().unwrap();
        let hold = LegalHold { reason, set_at: day(5), actor: Actor::system() };
        let held = jane().hold(hold);
        assert_eq!(start(&held), None);
        let lifted = held.lift_hold(day(10)).retention_start().unwrap();
        assert_eq!(
            (lifted.since, lifted.grace_until),
            (day(1), Some(day(40))),
            "the period itself is the same"
        );
    }

    #[test]
    fn a_person_is_due_when_the_days_and_the_grace_are_over() {
        let since = day(100);
        let start = RetentionStart { since, grace_until: None, ever_hired: false };
        let second = SignedDuration::from_secs(1);
        for days in [30, 365, 3_650] {
            let (rule, over) = (rule(days, false), day(100 + i64::from(days)));
            assert!(
                !rule.is_due(start, over - second)
                    && rule.is_due(start, over)
                    && rule.is_due(start, day(9_999))
            );
            assert_eq!((rule.latest_start(over), rule.latest_start(over - second)), (since, since - second));
        }
        let held = RetentionStart { grace_until: Some(day(200)), ..start };
        assert!(!rule(30, false).is_due(held, day(200) - second) && rule(30, false).is_due(held, day(200)));
        assert!(!rule(365, false).is_due(held, day(300)), "the grace does not shorten the period");
        let hired = RetentionStart { ever_hired: true, ..start };
        assert!(!rule(30, false).is_due(hired, day(9_999)) && rule(30, true).is_due(hired, day(130)));
        assert!(!rule(3_650, true).is_due(start, Timestamp::MIN), "no overflow");
    }

    #[test]
    fn a_change_is_followed_by_24_hours_without_a_run() {
        let off = RetentionSetting::default();
        assert_eq!((off.change(None, day(1)), off.due_at(day(1))), (None, None));
        let on = off.change(Some(rule(30, false)), day(1)).unwrap();
        assert_eq!(on.schedule.map(|schedule| (schedule.set_at, schedule.next_run)), Some((day(1), day(2))));
        assert_eq!((on.due_at(day(2)), on.due_at(day(1))), (on.schedule, None));
        assert_eq!(on.change(Some(rule(30, false)), day(9)), None, "the same rule keeps its schedule");
        for other in [rule(31, false), rule(30, true)] {
            let changed = on.change(Some(other), day(2)).unwrap();
            assert_eq!(changed.schedule.map(|schedule| schedule.next_run), Some(day(3)));
            assert_eq!(changed.version, 2);
        }
        let switched_off = on.change(None, day(2)).unwrap();
        assert_eq!((switched_off.schedule, switched_off.version), (None, 2));
        assert_eq!(switched_off.finish_run(day(2)).schedule, None);
    }

    #[test]
    fn runs_are_a_day_apart() {
        let on = RetentionSetting::default().change(Some(rule(30, false)), day(1)).unwrap();
        let hour = SignedDuration::from_hours(1);
        for (now, next) in [(day(2), day(3)), (day(2) + hour, day(3)), (day(5) + hour, day(6) + hour)] {
            let finished = on.finish_run(now);
            assert_eq!(finished.schedule.map(|schedule| schedule.next_run), Some(next));
            assert_eq!((finished.due_at(day(2)), finished.version), (None, 2));
            assert_eq!(finished.schedule.map(|schedule| schedule.set_at), Some(day(1)));
        }
    }
}
