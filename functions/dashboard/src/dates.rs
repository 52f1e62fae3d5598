//! Dates and times on the pages, in the time zone of the member.

use std::fmt::{self, Display, Formatter};

use askama::filters::HtmlSafe;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};
use shared::clock::Timestamp;
use shared::http::page::Problem;
use shared::http::{MemberRequest, Parameters};
use shared::model::{Day, non_blank};

/// The length of the value of an input for a date and a time: `2026-11-20T09:30`.
const INPUT_LENGTH: usize = 16;

/// A time zone.
pub(crate) struct Zone(TimeZone);

/// A time on a page: an element with the time in UTC, whose text is in the member's time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    at: Timestamp,
    text: String,
}

impl Time {
    /// The time as a text without markup.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { at, text } = self;
        write!(f, "<time datetime=\"{}\">{text}</time>", at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

// The text consists of letters, digits and a few signs without a meaning in HTML.
impl HtmlSafe for Time {}

/// The first and the last day in the fields `from` and `to`. Adds the problems with them to the others.
pub(crate) fn period(fields: &Parameters, problems: &mut Vec<Problem>) -> [Option<Date>; 2] {
    let mut day = |field| {
        let date = non_blank(fields.get(field))?.parse::<Date>().ok();
        if date.is_none() {
            problems.push(Problem { field, sentence: "Enter a date, such as 2026-11-20.".to_owned() });
        }
        date
    };
    let (from, to) = (day("from"), day("to"));
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        let sentence = "The last day can't be before the first day.".to_owned();
        problems.push(Problem { field: "to", sentence });
    }
    [from, to]
}

/// Formats a day: `20 Nov 2026`.
pub(crate) fn date(day: Day) -> String {
    day.date().strftime("%-d %b %Y").to_string()
}

/// The member's time zone.
pub(crate) fn zone(request: &MemberRequest) -> Zone {
    Zone(request.member().time_zone.zone())
}

impl Zone {
    /// UTC.
    #[cfg(test)]
    pub(crate) const UTC: Self = Self(TimeZone::UTC);

    fn local(&self, time: Timestamp) -> Zoned {
        time.to_zoned(self.0.clone())
    }

    /// Formats the day of a time: `20 Nov 2026`.
    pub(crate) fn day(&self, time: Timestamp) -> Time {
        Time { at: time, text: self.day_in_words(time) }
    }

    /// The day of a time as text: `20 Nov 2026`.
    pub(crate) fn day_in_words(&self, time: Timestamp) -> String {
        self.local(time).strftime("%-d %b %Y").to_string()
    }

    /// Formats a time to the minute, with the abbreviation of the zone or its distance from UTC:
    /// `20 Nov 2026, 10:30 CET`.
    pub(crate) fn minute(&self, time: Timestamp) -> Time {
        self.with_zone(time, "%-d %b %Y, %H:%M")
    }

    /// Formats a time to the second: `20 Nov 2026, 10:30:00 CET`.
    pub(crate) fn second(&self, time: Timestamp) -> Time {
        self.with_zone(time, "%-d %b %Y, %H:%M:%S")
    }

    fn with_zone(&self, time: Timestamp, format: &str) -> Time {
        let local = self.local(time);
        let abbreviation = local.strftime("%Z").to_string();
        let sign = if abbreviation.starts_with(['+', '-']) { "UTC" } else { "" };
        Time { at: time, text: format!("{} {sign}{abbreviation}", local.strftime(format)) }
    }

    /// When a day begins, and when the next one does; `None` if the time is out of range.
    pub(crate) fn bounds(&self, day: jiff::civil::Date) -> [Option<Timestamp>; 2] {
        let begins =
            |day: jiff::civil::Date| Some(Timestamp::from(day.to_zoned(self.0.clone()).ok()?.timestamp()));
        [begins(day), day.checked_add(1.day()).ok().and_then(begins)]
    }

    /// The same fields with these times in UTC. Other texts stay as they are, so that the message about them quotes them.
    pub(crate) fn in_utc(&self, fields: &Parameters, times: &[&str]) -> Parameters {
        let time = |value: &str| {
            let local = (value.len() == INPUT_LENGTH).then(|| value.parse::<DateTime>().ok()).flatten()?;
            // A time that the clocks skip means the same distance after the change.
            let time = self.0.to_ambiguous_timestamp(local).compatible().ok()?;
            Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        };
        let field = |(name, value): (&str, &str)| {
            let converted = if times.contains(&name) { time(value) } else { None };
            (name.to_owned(), converted.unwrap_or_else(|| value.to_owned()))
        };
        fields.iter().map(field).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;
    use shared::model::TimeZoneName;

    fn zone(name: &str) -> Zone {
        Zone(name.parse::<TimeZoneName>().unwrap().zone())
    }

    fn in_utc(zone: &Zone, value: &str) -> String {
        let fields: Parameters = [("at".to_owned(), value.to_owned())].into_iter().collect();
        zone.in_utc(&fields, &["at"]).get("at").to_owned()
    }

    #[test]
    fn times_have_the_zone_and_the_time_in_utc() {
        let time: Timestamp = "2026-11-20T23:30:00Z".parse().unwrap();
        for (name, text) in [
            ("UTC", "20 Nov 2026, 23:30 UTC"),
            ("Europe/Berlin", "21 Nov 2026, 00:30 CET"),
            ("America/New_York", "20 Nov 2026, 18:30 EST"),
            ("America/Sao_Paulo", "20 Nov 2026, 20:30 UTC-03"),
            ("Asia/Kathmandu", "21 Nov 2026, 05:15 UTC+0545"),
        ] {
            let shown = format!("<time datetime=\"2026-11-20T23:30:00Z\">{text}</time>");
            assert_eq!(zone(name).minute(time).to_string(), shown);
        }
        let day = "<time datetime=\"2026-11-20T23:30:00Z\">21 Nov 2026</time>";
        assert_eq!(zone("Europe/Berlin").day(time).to_string(), day);
        let summer = zone("Europe/Berlin").minute("2026-07-01T00:00:00Z".parse().unwrap()).to_string();
        assert!(summer.contains("02:00 CEST"), "{summer}");
    }

    #[test]
    fn typed_times_are_in_the_members_zone() {
        let berlin = zone("Europe/Berlin");
        for (typed, expected) in [
            ("2026-11-20T10:30", "2026-11-20T09:30:00Z"),
            ("2026-07-01T10:30", "2026-07-01T08:30:00Z"),
            // The clocks skip 02:30 in March, and show it twice in October.
            ("2026-03-29T02:30", "2026-03-29T01:30:00Z"),
            ("2026-10-25T02:30", "2026-10-25T00:30:00Z"),
            ("2026-11-20T10:30:00Z", "2026-11-20T10:30:00Z"),
            ("tomorrow", "tomorrow"),
            ("2026-13-20T10:30", "2026-13-20T10:30"),
            ("", ""),
        ] {
            assert_eq!(in_utc(&berlin, typed), expected, "{typed}");
        }
        assert_eq!(in_utc(&Zone::UTC, "2026-11-20T10:30"), "2026-11-20T10:30:00Z");
        let [from, to] = berlin.bounds(date(2026, 3, 29)).map(|time| time.unwrap().to_string());
        assert_eq!((&*from, &*to), ("2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"));
        assert_eq!(berlin.bounds(jiff::civil::Date::MAX)[1], None);
    }

    proptest! {
        #[test]
        fn a_time_contains_no_markup(seconds in -377_705_023_201i64..=253_402_207_200, index in 0usize..400) {
            let (time, names) = (Timestamp::from_second(seconds).unwrap(), TimeZoneName::choices());
            let zone = Zone(names[index % names.len()].zone());
            for text in [zone.second(time).text, zone.minute(time).text, zone.day(time).text] {
                prop_assert!(!text.contains(['<', '>', '&', '"', '\'']), "{text}");
            }
        }

        #[test]
        fn any_text_may_be_typed(typed in "\\PC{0,20}", index in 0usize..400) {
            let names = TimeZoneName::choices();
            in_utc(&Zone(names[index % names.len()].zone()), &typed);
        }
    }
}
