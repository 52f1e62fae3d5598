//! The times of changes: each transaction has one, and a list of changes ends before those that may still come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;

use crate::clock::Timestamp;

/// The longest time from the beginning of a change until its transaction is sent.
// A function may run for ten seconds.
const LATEST: SignedDuration = SignedDuration::from_secs(10);

/// How far a time may be in the future, in milliseconds, for later ones to follow it.
const AHEAD: i64 = 1_000;

/// The times that a process has given to its transactions, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Times(Mutex<Given>);

#[derive(Debug, Default)]
struct Given {
    /// The first and the last of the latest times that follow each other without a gap.
    latest: (i64, i64),
    /// The times of transactions that are on their way, and how many have each.
    sent: BTreeMap<i64, usize>,
    /// The time up to which nothing may change any more, because somebody was told so.
    settled: i64,
}

/// The time of a transaction that is on its way.
pub(super) struct TimeOfChange {
    times: Arc<Times>,
    /// In milliseconds.
    pub(super) time: i64,
}

impl Times {
    /// Gives a transaction its time. `made` is what its records say, if they say it and it is not long ago; otherwise it is now.
    /// It is a later time if the process has given that one already, or has said that it is over, and always later than
    /// `after`. What is made now is later than everything that the process has given.
    pub(super) fn give(
        self: &Arc<Self>,
        now: Timestamp,
        made: Option<Timestamp>,
        after: i64,
    ) -> TimeOfChange {
        let made = made.filter(|made| now.duration_since(*made) <= LATEST).unwrap_or(now);
        let mut given = self.given();
        let (first, last) = given.latest;
        let mut time = made.as_millisecond().max(after.saturating_add(1)).max(given.settled + 1);
        if made >= now || (first..=last).contains(&time) {
            time = time.max(last + 1);
        }
        // A clock that is fast does not make others fast.
        if time >= first && (time <= last + 1 || time - now.as_millisecond() < AHEAD) {
            given.latest = if time > last + 1 { (time, time) } else { (first, time.max(last)) };
        }
        *given.sent.entry(time).or_default() += 1;
        drop(given);
        TimeOfChange { times: self.clone(), time }
    }

    /// The time up to which this process changes nothing any more, at most `until`.
    pub(super) fn settle(&self, until: Timestamp) -> i64 {
        let mut given = self.given();
        let first = given.sent.keys().next().map_or(i64::MAX, |first| first - 1);
        let until = until.as_millisecond().min(first);
        given.settled = given.settled.max(until);
        until
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TimeOfChange {
    fn drop(&mut self) {
        let mut given = self.times.given();
        if let Some(count) = given.sent.get_mut(&self.time) {
            *count -= 1;
            if *count == 0 {
                given.sent.remove(&self.time);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milli: i64) -> Timestamp {
        Timestamp::from_millisecond(milli).unwrap()
    }

    fn give(times: &Arc<Times>, now: i64, made: Option<i64>) -> i64 {
        times.give(at(now), made.map(at), i64::MIN).time
    }

    #[test]
    fn a_transaction_has_the_time_that_its_records_say() {
        let times = Arc::new(Times::default());
        assert_eq!(give(&times, 50_000, Some(49_000)), 49_000);
        assert_eq!(give(&times, 50_000, Some(40_000)), 40_000, "ten seconds ago");
        assert_eq!(give(&times, 50_000, Some(39_999)), 50_000, "longer ago, it is an invented past");
        assert_eq!(give(&times, 50_100, Some(60_000)), 60_000, "another clock is fast");
        assert_eq!(give(&times, 50_200, None), 50_200, "but not this one");
        assert_eq!(times.give(at(50_300), Some(at(50_300)), 70_000).time, 70_001);
    }

    #[test]
    fn no_time_is_given_twice_one_after_another() {
        let times = Arc::new(Times::default());
        let given: Vec<_> = (0..4).map(|_| give(&times, 1_000, Some(1_000))).collect();
        assert_eq!(given, [1_000, 1_001, 1_002, 1_003]);
        assert_eq!(give(&times, 1_003, None), 1_004);
        assert_eq!(give(&times, 2_000, None), 2_000);
    }

    #[test]
    fn nothing_changes_at_a_time_that_is_settled() {
        let times = Arc::new(Times::default());
        let sent = times.give(at(1_000), None, i64::MIN);
        assert_eq!(times.settle(at(5_000)), 999, "a transaction is on its way");
        drop(sent);
        assert_eq!(times.settle(at(4_500)), 4_500);
        assert_eq!(give(&times, 4_000, Some(3_000)), 4_501);
        assert_eq!(times.settle(at(2_000)), 2_000);
        assert_eq!(give(&times, 4_000, Some(3_000)), 4_502);
    }
}
