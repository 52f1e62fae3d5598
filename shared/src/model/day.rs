//! Days of the quota: dates in UTC.

use crate::clock::Timestamp;
use std::fmt;
use std::str::FromStr;

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// A date in UTC. The daily limit of a plan resets at the start of each day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(Date);

impl Day {
    /// The day that contains `now`.
    pub fn of(now: Timestamp) -> Self {
        Self(now.to_zoned(TimeZone::UTC).date())
    }

    /// The date.
    pub const fn date(self) -> Date {
        self.0
    }

    /// The day this many days earlier.
    #[must_use]
    pub fn before(self, days: u32) -> Self {
        Self(self.0.saturating_sub(i64::from(days).days()))
    }

    /// The Monday of the day's week.
    #[must_use]
    pub fn monday(self) -> Self {
        Self(self.0.saturating_sub(i64::from(self.0.weekday().to_monday_zero_offset()).days()))
    }

    /// The start of the next day, when the quota resets.
    pub fn end(self) -> Timestamp {
        let next = self.0.checked_add(1.day()).unwrap_or(Date::MAX);
        next.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |midnight| midnight.timestamp().into())
    }

    /// The number of seconds from `now` until the end of the day, rounded up. It is 0 only once the day has ended.
    pub fn seconds_left(self, now: Timestamp) -> u64 {
        let left = self.end().duration_since(now);
        let whole = u64::try_from(left.as_secs()).unwrap_or(0);
        whole + u64::from(left.subsec_nanos() > 0)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Day {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_mondays() {
        for (day, monday) in
            [("2026-11-22", "2026-11-16"), ("2026-11-23", "2026-11-23"), ("2027-01-01", "2026-12-28")]
        {
            assert_eq!(day.parse::<Day>().unwrap().monday().to_string(), monday);
        }
    }

    #[test]
    fn the_day_ends_at_midnight_utc_and_seconds_round_up() {
        for (now, day, left) in [
            ("2026-11-20T00:00:00Z", "2026-11-20", 86_400),
            ("2026-11-20T23:59:59Z", "2026-11-20", 1),
            ("2026-11-20T23:59:59.999Z", "2026-11-20", 1),
            ("2026-11-20T23:59:58.001Z", "2026-11-20", 2),
            ("2026-11-20T23:30:00-01:00", "2026-11-21", 84_600),
            ("2028-02-29T12:00:00Z", "2028-02-29", 43_200),
        ] {
            let now: Timestamp = now.parse().unwrap();
            assert_eq!(Day::of(now).to_string(), day);
            assert_eq!(Day::of(now).seconds_left(now), left, "{now}");
            assert_eq!(Day::of(now), day.parse().unwrap());
        }
    }
}
