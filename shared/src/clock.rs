//! Times, and the injected clock. Only this module reads the system clock.
#![expect(
    clippy::disallowed_types,
    reason = "this is the only place with times that are not in whole milliseconds"
)]

use std::fmt;
use std::ops::{Add, AddAssign, Deref, Sub};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, TimestampArithmetic};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time in whole milliseconds. It is always written with three digits after the second, so that texts sort as times do.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The beginning of 1970.
    pub const UNIX_EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);
    /// The earliest time.
    pub const MIN: Self = Self(jiff::Timestamp::MIN);
    /// The latest time.
    pub const MAX: Self = Self::constant(253_402_207_200, 999);

    /// The time at a second and a millisecond, both counted from the beginning of 1970 on.
    pub const fn constant(second: i64, millisecond: i32) -> Self {
        Self(jiff::Timestamp::constant(second, millisecond * 1_000_000))
    }

    /// The time at a second since the beginning of 1970.
    pub fn from_second(second: i64) -> Result<Self, jiff::Error> {
        jiff::Timestamp::from_second(second).map(Self)
    }

    /// The time at a millisecond since the beginning of 1970.
    pub fn from_millisecond(millisecond: i64) -> Result<Self, jiff::Error> {
        jiff::Timestamp::from_millisecond(millisecond).map(Self::from)
    }

    /// The time, cut to a whole second.
    #[must_use]
    pub fn to_second(self) -> Self {
        Self::from_second(self.as_second()).unwrap_or(self)
    }

    /// The seconds since the beginning of 1970.
    pub fn as_second(self) -> i64 {
        self.0.as_second()
    }

    /// The time from `earlier` to this one; negative if `earlier` is later.
    pub fn duration_since(self, earlier: Self) -> SignedDuration {
        self.0.duration_since(earlier.0)
    }

    /// The time after a duration.
    pub fn checked_add(self, duration: impl Into<TimestampArithmetic>) -> Result<Self, jiff::Error> {
        self.0.checked_add(duration).map(Self::from)
    }

    /// The time before a duration.
    pub fn checked_sub(self, duration: impl Into<TimestampArithmetic>) -> Result<Self, jiff::Error> {
        self.0.checked_sub(duration).map(Self::from)
    }

    /// The time after a duration, or the latest one.
    pub fn saturating_add(self, duration: impl Into<TimestampArithmetic>) -> Result<Self, jiff::Error> {
        self.0.saturating_add(duration).map(Self::from)
    }

    /// The time before a duration, or the earliest one.
    pub fn saturating_sub(self, duration: impl Into<TimestampArithmetic>) -> Result<Self, jiff::Error> {
        self.0.saturating_sub(duration).map(Self::from)
    }
}

/// Cuts the time to milliseconds.
impl From<jiff::Timestamp> for Timestamp {
    fn from(time: jiff::Timestamp) -> Self {
        let below = i64::from(time.subsec_nanosecond() % 1_000_000);
        Self(time.saturating_sub(SignedDuration::from_nanos(below)).unwrap_or(time))
    }
}

impl Deref for Timestamp {
    type Target = jiff::Timestamp;

    fn deref(&self) -> &jiff::Timestamp {
        &self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        text.parse::<jiff::Timestamp>().map(Self::from)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        jiff::Timestamp::deserialize(deserializer).map(Self::from)
    }
}

impl Add<SignedDuration> for Timestamp {
    type Output = Self;

    fn add(self, duration: SignedDuration) -> Self {
        Self::from(self.0 + duration)
    }
}

impl Sub<SignedDuration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: SignedDuration) -> Self {
        Self::from(self.0 - duration)
    }
}

impl AddAssign<SignedDuration> for Timestamp {
    fn add_assign(&mut self, duration: SignedDuration) {
        *self = *self + duration;
    }
}

/// A source of the current time.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Whether the clock runs by itself, as fast as tokio's.
    runs: bool,
}

impl Clock {
    /// The system clock.
    #[expect(clippy::disallowed_methods, reason = "this is the only place that reads the system clock")]
    pub fn system() -> Self {
        Self { runs: true, ..Self::from_fn(|| jiff::Timestamp::now().into()) }
    }

    /// A clock that shows `start` now, and runs on from there as fast as the system clock.
    pub fn starting_at(start: Timestamp) -> Self {
        let system = Self::system();
        let began = system.now();
        let now = move || later(start, system.now().duration_since(began));
        Self { runs: true, ..Self::from_fn(now) }
    }

    /// A clock that returns the result of `now`. Nobody waits for it.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(now), runs: false }
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Whether the clock runs by itself.
    pub const fn runs(&self) -> bool {
        self.runs
    }

    /// Waits until this time, if the clock runs by itself. Returns the time, or the current one if that is later.
    pub async fn wait_until(&self, time: Timestamp) -> Timestamp {
        let wait = Duration::try_from(time.duration_since(self.now())).unwrap_or_default();
        if self.runs {
            tokio::time::sleep(wait).await;
        }
        self.now().max(time)
    }
}

/// The time of a change at `now` of what was last changed at `last`: later than that, if a clock is slow. Several steps of one
/// change have the same time.
pub fn time_of_change(now: Timestamp, last: Timestamp) -> Timestamp {
    if now < last { later(last, SignedDuration::from_millis(1)) } else { now }
}

/// `time` plus `duration`, capped at the last representable timestamp.
pub fn later(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.saturating_add(duration).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Texts of times in years of four digits sort as the times do, and say them exactly.
        #[test]
        fn a_time_is_written_with_three_digits_after_the_second(
            one in 0..=253_402_207_199_999_i64, other in 0..=253_402_207_199_999_i64,
        ) {
            let [one, other] = [one, other].map(|milli| Timestamp::from_millisecond(milli).unwrap());
            let text = one.to_string();
            prop_assert_eq!((text.len(), text.as_bytes()[19], text.as_bytes()[23]), (24, b'.', b'Z'));
            prop_assert_eq!(text.parse::<Timestamp>().unwrap(), one);
            prop_assert_eq!(text.cmp(&other.to_string()), one.cmp(&other));
        }
    }

    #[test]
    fn a_time_is_cut_to_milliseconds() {
        for (given, cut) in [
            ("2026-11-20T09:30:00Z", "2026-11-20T09:30:00.000Z"),
            ("2026-11-20T09:30:00.5Z", "2026-11-20T09:30:00.500Z"),
            ("2026-11-20T09:30:00.123999999Z", "2026-11-20T09:30:00.123Z"),
        ] {
            let time: Timestamp = given.parse().unwrap();
            assert_eq!(time.to_string(), cut);
            assert_eq!(serde_json::to_string(&time).unwrap(), format!("\"{cut}\""));
            let stored: Timestamp = serde_json::from_str(&format!("\"{given}\"")).unwrap();
            assert_eq!(stored, time);
        }
        assert_eq!(Timestamp::MAX, jiff::Timestamp::MAX.into());
        assert_eq!(Timestamp::MIN, jiff::Timestamp::MIN.into());
    }
}
