//! Formats dates and times for the pages. All times are UTC.

use jiff::Timestamp;
use shared::model::Day;

/// Formats a day: `20 Nov 2026`.
pub(crate) fn date(day: Day) -> String {
    day.date().strftime("%-d %b %Y").to_string()
}

/// Formats the day of a time.
pub(crate) fn day(time: Timestamp) -> String {
    date(Day::of(time))
}

/// Formats a time to the minute: `20 Nov 2026, 09:30 UTC`.
pub(crate) fn minute(time: Timestamp) -> String {
    time.strftime("%-d %b %Y, %H:%M UTC").to_string()
}
