//! Dates as people and programs write them. One that has two readings has none.

use std::borrow::Cow;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use shared::clock::Timestamp;

use crate::DateFormat;
use crate::cell::{Cell, CellKind};

/// The months in English. Three letters are enough.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// The first three letters of the days of the week, which may stand before a date.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// The day before the first one that spreadsheets count. They count one day in 1900 that was none.
const DAY_ZERO: Date = jiff::civil::date(1899, 12, 30);
/// The first instant of 1900. What is earlier is a typing error, or of another calendar.
const FIRST: Timestamp = Timestamp::constant(-2_208_988_800, 0);
/// The days that spreadsheets count that are dates of a person's history: from 1954 to 2119.
const COUNTED: std::ops::Range<f64> = 20_000.0..80_000.0;

/// A date, as its cell has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Read {
    /// A time with its offset.
    Exact(Timestamp),
    /// A date, and a time of day if there is one.
    Local(Date, Option<Time>),
}

impl Read {
    fn is_too_early(&self) -> bool {
        match self {
            Self::Exact(time) => *time < FIRST,
            Self::Local(date, _) => date.year() < 1900,
        }
    }

    /// The time in a time zone. A date is its first instant.
    pub(crate) fn in_zone(self, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Exact(time) => Some(time),
            Self::Local(date, None) => {
                zone.to_zoned(date.to_datetime(Time::midnight())).ok().map(|at| at.timestamp().into())
            }
            Self::Local(date, Some(time)) => {
                zone.to_zoned(date.to_datetime(time)).ok().map(|at| at.timestamp().into())
            }
        }
    }
}

/// Reads the date of a cell. Fails with the end of a sentence that begins with the name of a field.
pub(crate) fn read(cell: &Cell, format: Option<DateFormat>) -> Result<Read, String> {
    let read = of_cell(cell, format)?;
    if read.is_too_early() {
        return Err(format!(
            "must be a date from 1900 on: {} may be a typing error, or of another calendar",
            cut(cell.unguarded())
        ));
    }
    Ok(read)
}

fn of_cell(cell: &Cell, format: Option<DateFormat>) -> Result<Read, String> {
    if let CellKind::Date(date) = cell.kind {
        return Ok(of_date_time(date));
    }
    let text = cell.unguarded();
    if let Some(number) = day_number(text).filter(|number| COUNTED.contains(number)) {
        return match of_day_number(number).filter(|_| format == Some(DateFormat::Excel)) {
            Some(read) => Ok(read),
            None => Err(format!(
                "must be a date: {text} is a spreadsheet's day number; send date_format excel if all are"
            )),
        };
    }
    if let Some(read) = of_iso(text).or_else(|| of_month_name(text, format)) {
        return Ok(read);
    }
    let short_year = || format!("has a year of two digits: send date_format to say what {} is", cut(text));
    // Any format would do.
    if of_month_name(text, Some(DateFormat::Dmy)).is_some() {
        return Err(short_year());
    }
    let unreadable =
        || format!("must be a date, such as 2026-03-04 or 4 March 2026; \"{}\" is none", cut(text));
    let parts = Parts::of(text).ok_or_else(unreadable)?;
    let mut readings: Vec<_> = match format {
        _ if parts.begins_with_year() => parts.read(DateFormat::Ymd).into_iter().collect(),
        Some(format) => parts.read(format).into_iter().collect(),
        None => {
            [DateFormat::Dmy, DateFormat::Mdy].into_iter().filter_map(|format| parts.read(format)).collect()
        }
    };
    readings.dedup();
    match (readings.as_slice(), format) {
        _ if format.is_none() && parts.has_short_year() => Err(short_year()),
        ([date], _) => Ok(Read::Local(*date, parts.time)),
        ([one, other], _) => {
            Err(format!("may be {one} or {other}: send date_format to say what {} is", cut(text)))
        }
        (_, Some(format)) => {
            Err(format!("must be a date in the form {}: {} is none", format.as_str(), cut(text)))
        }
        _ => Err(unreadable()),
    }
}

/// Whether a text is a date in any form, also as the number of a day.
pub(crate) fn looks_like_one(text: &str) -> bool {
    day_number(text).is_some_and(|number| COUNTED.contains(&number) && number.fract() == 0.0)
        || of_iso(text).is_some()
        || Parts::of(text).is_some_and(|parts| {
            [DateFormat::Dmy, DateFormat::Mdy, DateFormat::Ymd]
                .into_iter()
                .any(|format| parts.read(format).is_some())
        })
}

fn of_date_time(date: DateTime) -> Read {
    let time = date.time();
    Read::Local(date.date(), (time != Time::midnight()).then_some(time))
}

/// The beginning of a text, for a message.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

fn day_number(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.bytes().filter(|byte| *byte == b'.').count() <= 1;
    let whole = text.split('.').next().unwrap_or_default();
    (is_number && (1..=6).contains(&whole.len())).then(|| text.parse().ok()).flatten()
}

fn of_day_number(number: f64) -> Option<Read> {
    #[expect(clippy::cast_possible_truncation, reason = "it is less than 80,000 days")]
    let seconds = (number * 86_400.0).round() as i64;
    let date = DAY_ZERO.at(0, 0, 0, 0).checked_add(jiff::SignedDuration::from_secs(seconds)).ok()?;
    Some(of_date_time(date))
}

/// Reads a date that begins with a year of four digits: `2026-03-04`, `2026/03/04`, with a time of day and an offset if there
/// are any.
fn of_iso(text: &str) -> Option<Read> {
    let (date, rest) = text.split_at_checked(text.find(['T', 't', ' ']).unwrap_or(text.len()))?;
    let separator = date.chars().nth(4).filter(|c| matches!(c, '-' | '/' | '.'))?;
    let numbers: Vec<_> = date.split(separator).collect();
    let [year, month, day] = numbers.as_slice() else { return None };
    if year.len() != 4 {
        return None;
    }
    let date = Date::new(number(year)?, number(month)?, number(day)?).ok()?;
    let rest = rest.trim_start_matches(['T', 't', ' ']);
    if rest.is_empty() {
        return Some(Read::Local(date, None));
    }
    at_clock(date, rest)
}

/// Reads a date with the English name of a month: `4 March 2026`, `Mar 4, 2026`, `Wed, 04-Mar-2026 14:30`, with an offset if there
/// is one. A year of two digits is read if any format says that there are such dates.
fn of_month_name(text: &str, format: Option<DateFormat>) -> Option<Read> {
    // The hour begins the time of day.
    let hour = text.find(':').map(|colon| text[..colon].trim_end_matches(|c: char| c.is_ascii_digit()).len());
    let (date, clock) = text.split_at_checked(hour.unwrap_or(text.len()))?;
    let lower = date.to_lowercase().replace([',', '-', '/', '.'], " ");
    let mut words: Vec<_> = lower.split_whitespace().collect();
    if words.first().is_some_and(|word| {
        word.len() >= 3 && DAYS.iter().any(|day| word.starts_with(day)) && month(word).is_none()
    }) {
        words.remove(0);
    }
    let format = format.filter(|format| *format != DateFormat::Excel);
    let (day, month, year) = match *words.as_slice() {
        [one, two, three] => match (month(one), month(two)) {
            (Some(month), None) => (two, month, three),
            (None, Some(month)) if format == Some(DateFormat::Ymd) && three.len() <= 2 => (three, month, one),
            (None, Some(month)) => (one, month, three),
            _ => return None,
        },
        _ => return None,
    };
    if year.len() != 4 && format.is_none() {
        return None;
    }
    // 1st, 2nd, 3rd, 4th.
    let day = day.trim_end_matches(|c: char| "stndrh".contains(c));
    let date = Date::new(of_year(year)?, month, number(day)?).ok()?;
    if clock.is_empty() { Some(Read::Local(date, None)) } else { at_clock(date, clock) }
}

/// The year of four digits, or of two: from 1970 to 2069.
fn of_year(digits: &str) -> Option<i16> {
    match (digits.len(), number::<i16>(digits)?) {
        (4, year) => Some(year),
        (2, year @ 70..) => Some(1900 + year),
        (2, year) => Some(2000 + year),
        _ => None,
    }
}

/// A date with a time of day, and its offset if there is one: `14:30`, `2:30 PM`, `10:00:00.5+0100`, `10:00:00 GMT`, or as JavaScript
/// writes it, `10:00:00 GMT+0100 (Central European Standard Time)`.
fn at_clock(date: Date, clock: &str) -> Option<Read> {
    let lower = clock.to_lowercase();
    let named = lower.strip_suffix(')').and_then(|text| text.split_once('('));
    let lower = named.map_or(lower.as_str(), |(clock, _)| clock).trim();
    let names = ["gmt", "utc"];
    let place = names.iter().find_map(|name| lower.find(name)).or_else(|| lower.find(['z', '+', '-']));
    let (time, offset) = lower.split_at_checked(place.unwrap_or(lower.len()))?;
    let time = of_time(time.trim())?;
    if offset.is_empty() {
        return Some(of_date_time(date.to_datetime(time)));
    }
    let name = names.iter().find(|name| offset.starts_with(**name));
    let offset = name.and_then(|name| offset.strip_prefix(*name)).unwrap_or(offset);
    let offset = match offset {
        "" | "z" => Cow::Borrowed("Z"),
        // ISO 8601 also has `+02` and `+0200`.
        offset if offset.len() == 3 => Cow::Owned(format!("{offset}:00")),
        offset if offset.len() == 5 => Cow::Owned(format!("{}:{}", offset.get(..3)?, offset.get(3..)?)),
        offset => Cow::Borrowed(offset),
    };
    Some(Read::Exact(format!("{date}T{time}{offset}").parse().ok()?))
}

/// The number of a month, by its name or at least the first three letters of it.
fn month(word: &str) -> Option<i8> {
    if word.len() < 3 {
        return None;
    }
    let place = MONTHS
        .iter()
        .position(|month| month.starts_with(word) || (word == "sept" && *month == "september"))?;
    i8::try_from(place + 1).ok()
}

/// Reads a time of day: `14:30`, `14:30:00.000`, `2:30 PM`.
fn of_time(text: &str) -> Option<Time> {
    let lower = text.to_lowercase();
    let (plain, half) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(plain), _) => (plain.trim(), Some(0)),
        (_, Some(plain)) => (plain.trim(), Some(12)),
        _ => (lower.trim(), None),
    };
    let (plain, fraction) = plain.split_once('.').unwrap_or((plain, "0"));
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut parts = plain.split(':');
    let (hour, minute): (i8, i8) = (number(parts.next()?)?, number(parts.next()?)?);
    let second = parts.next().map_or(Some(0), number)?;
    if parts.next().is_some() {
        return None;
    }
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute, second, format!("{fraction:0<9}").parse().ok()?).ok()
}

/// A whole number of at most four digits.
fn number<N: std::str::FromStr>(digits: &str) -> Option<N> {
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// The digits at the beginning of a text, and the rest. They are a day, a month or a year.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).filter(|(digits, _)| matches!(digits.len(), 1 | 2 | 4))
}

/// A date of three numbers.
struct Parts<'t> {
    numbers: [&'t str; 3],
    time: Option<Time>,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let (one, rest) = digits(text)?;
        let separator = rest.chars().next().filter(|c| matches!(c, '/' | '.' | '-'))?;
        // Some languages write `4. 3. 2026`, and `2026. 3. 4.`
        let spaces = |rest: &'t str| if separator == '.' { rest.trim_start() } else { rest };
        let next = |rest: &'t str| digits(spaces(rest.strip_prefix(separator)?));
        let (two, rest) = next(rest)?;
        let (three, rest) = next(rest)?;
        let rest = if separator == '.' { rest.strip_prefix('.').unwrap_or(rest) } else { rest };
        let time = match rest.chars().next() {
            None => None,
            Some(' ' | ',') => Some(of_time(rest.trim_start_matches([' ', ',']))?),
            Some(_) => return None,
        };
        Some(Self { numbers: [one, two, three], time: time.filter(|time| *time != Time::midnight()) })
    }

    /// The date with the numbers in this order.
    fn read(&self, format: DateFormat) -> Option<Date> {
        let [one, two, three] = self.numbers;
        let (year, month, day) = match format {
            DateFormat::Dmy => (three, two, one),
            DateFormat::Mdy => (three, one, two),
            DateFormat::Ymd => (one, two, three),
            DateFormat::Excel => return None,
        };
        if month.len() > 2 || day.len() > 2 {
            return None;
        }
        Date::new(of_year(year)?, number(month)?, number(day)?).ok()
    }

    fn begins_with_year(&self) -> bool {
        self.numbers[0].len() == 4
    }

    fn has_short_year(&self) -> bool {
        self.numbers.iter().all(|number| number.len() < 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str, format: Option<DateFormat>) -> Result<String, String> {
        let read = read(&Cell::text(text), format)?;
        read.in_zone(&TimeZone::UTC).map(|time| time.to_string()).ok_or_else(String::new)
    }

    #[test]
    fn what_has_one_reading_needs_no_format() {
        for (text, expected) in [
            ("2026-03-04", "2026-03-04T00:00:00.000Z"),
            ("2026/03/04", "2026-03-04T00:00:00.000Z"),
            ("2026-03-04 00:00:00", "2026-03-04T00:00:00.000Z"),
            ("2026-03-04T14:30", "2026-03-04T14:30:00.000Z"),
            ("2026-03-03T19:00:00-05:00", "2026-03-04T00:00:00.000Z"),
            ("2026-03-03T19:00:00.250-0500", "2026-03-04T00:00:00.250Z"),
            ("2026-03-04T01:00:00+01", "2026-03-04T00:00:00.000Z"),
            ("2026-03-04T00:00:00Z", "2026-03-04T00:00:00.000Z"),
            ("4 March 2026", "2026-03-04T00:00:00.000Z"),
            ("March 4, 2026", "2026-03-04T00:00:00.000Z"),
            ("Mar 4th, 2026", "2026-03-04T00:00:00.000Z"),
            ("4-Mar-2026", "2026-03-04T00:00:00.000Z"),
            ("Wed, 04 Mar 2026", "2026-03-04T00:00:00.000Z"),
            ("Wednesday, March 4, 2026 2:30 PM", "2026-03-04T14:30:00.000Z"),
            ("13/04/2026", "2026-04-13T00:00:00.000Z"),
            ("04/13/2026", "2026-04-13T00:00:00.000Z"),
            ("13.04.2026", "2026-04-13T00:00:00.000Z"),
            ("13-4-2026 9:05", "2026-04-13T09:05:00.000Z"),
            ("05/05/2026", "2026-05-05T00:00:00.000Z"),
            ("29/02/2024", "2024-02-29T00:00:00.000Z"),
            ("13. 4. 2026", "2026-04-13T00:00:00.000Z"),
            ("13. 04. 2026. 14:30", "2026-04-13T14:30:00.000Z"),
            ("2026. 3. 4.", "2026-03-04T00:00:00.000Z"),
            ("2026. 03. 04", "2026-03-04T00:00:00.000Z"),
            ("2026-03-04 10:00:00 UTC", "2026-03-04T10:00:00.000Z"),
            ("04 Mar 2026 10:00 +0100", "2026-03-04T09:00:00.000Z"),
            ("4 Mar 2026 10:00Z", "2026-03-04T10:00:00.000Z"),
            ("Mar 4, 2026, 2:30:15 PM", "2026-03-04T14:30:15.000Z"),
            ("Wed, 04 Mar 2026 10:00:00 GMT", "2026-03-04T10:00:00.000Z"),
            ("Wed, 4 Mar 2026 10:00:00 -0500", "2026-03-04T15:00:00.000Z"),
            (
                "Wed Mar 04 2026 10:00:00 GMT+0100 (Central European Standard Time)",
                "2026-03-04T09:00:00.000Z",
            ),
            ("1900-01-01", "1900-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(time(text, None).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_has_two_readings_or_none_is_invalid() {
        for (text, message) in [
            ("03/04/2026", "may be 2026-04-03 or 2026-03-04"),
            ("04.03.2026", "may be"),
            ("3/4/26", "has a year of two digits"),
            ("13/04/26", "has a year of two digits"),
            ("46085", "46085 is a spreadsheet's day number"),
            ("46114.83333", "is a spreadsheet's day number"),
            ("Mar 26", "must be a date"),
            ("4. März 2026", "must be a date"),
            ("TT.03.JJJJ", "must be a date"),
            ("31/02/2026", "must be a date"),
            ("2026-13-04", "must be a date"),
            ("2026-03-04T25:00", "must be a date"),
            ("soon", "must be a date"),
            ("2026", "must be a date, such as"),
            ("04. 03. 2026.", "may be 2026-03-04 or 2026-04-03"),
            ("4-Mar-26", "has a year of two digits: send date_format"),
            ("Mar 4, 26 14:30", "has a year of two digits"),
            ("4-Mar-126", "must be a date, such as"),
            ("4/ 3/ 2026", "must be a date, such as"),
            ("2026-03-04 10:00:00 CET", "must be a date, such as"),
            ("04 Mar 2026 10:00 +1", "must be a date, such as"),
            ("0026-03-04", "must be a date from 1900 on: 0026-03-04 may be a typing error"),
            ("1404/12/13", "must be a date from 1900 on"),
            ("0026-03-04T10:00:00Z", "must be a date from 1900 on"),
            ("13/04/0026", "must be a date from 1900 on"),
        ] {
            let problem = time(text, None).unwrap_err();
            assert!(problem.contains(message), "{text}: {problem}");
        }
    }

    #[test]
    fn a_format_decides() {
        use DateFormat::{Dmy, Excel, Mdy, Ymd};
        for (text, format, expected) in [
            ("03/04/2026", Dmy, "2026-04-03"),
            ("03/04/2026", Mdy, "2026-03-04"),
            ("3.4.26", Dmy, "2026-04-03"),
            ("3-4-69", Mdy, "2069-03-04"),
            ("3/4/70", Mdy, "1970-03-04"),
            ("26/03/04", Ymd, "2026-03-04"),
            ("2026-03-04", Mdy, "2026-03-04"),
            ("46085", Excel, "2026-03-04"),
            ("4. 3. 2026", Dmy, "2026-03-04"),
            ("04. 03. 2026.", Dmy, "2026-03-04"),
            ("2026. 3. 4.", Dmy, "2026-03-04"),
            ("26. 3. 4.", Ymd, "2026-03-04"),
            ("4-Mar-26", Dmy, "2026-03-04"),
            ("04-Mar-26", Mdy, "2026-03-04"),
            ("Mar 4, 70", Mdy, "1970-03-04"),
            ("26-Mar-04", Ymd, "2026-03-04"),
            ("04-Mar-2026", Ymd, "2026-03-04"),
        ] {
            let read = time(text, Some(format)).unwrap();
            assert_eq!(read, format!("{expected}T00:00:00.000Z"), "{text}");
        }
        assert_eq!(time("46114.604166666664", Some(Excel)).as_deref(), Ok("2026-04-02T14:30:00.000Z"));
        // The file has another form than the one that was said.
        assert!(time("13/04/2026", Some(Mdy)).unwrap_err().contains("in the form mdy"));
        assert!(time("46085", Some(Dmy)).unwrap_err().contains("day number"));
        assert!(time("117", Some(Excel)).is_err());
        assert!(time("4-Mar-26", Some(Excel)).unwrap_err().contains("has a year of two digits"));
    }

    #[test]
    fn a_date_is_its_first_instant_in_the_zone() {
        let zone = "America/Sao_Paulo".parse::<shared::model::TimeZoneName>().unwrap().zone();
        let first = |text| read(&Cell::text(text), None).unwrap().in_zone(&zone).unwrap().to_string();
        assert_eq!(first("2026-03-04"), "2026-03-04T03:00:00.000Z");
        // On that day the clocks went forward at midnight.
        assert_eq!(first("2018-11-04"), "2018-11-04T03:00:00.000Z");
    }

    #[test]
    fn a_tag_may_be_a_date_that_a_program_has_made() {
        for text in ["04/05/2026", "04/06/26", "2001-03-05", "2026/12/01", "36955"] {
            assert!(looks_like_one(text), "{text}");
        }
        for text in ["4/5", "3-5", "java", "117", "2026", "1/12", "80001", "a-b-c"] {
            assert!(!looks_like_one(text), "{text}");
        }
    }
}
