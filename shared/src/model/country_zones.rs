//! The time zones of countries, and the hours in which people there may be called.

use std::iter::successors;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::country::Country;
use super::time_zone::TimeZoneName;
use crate::clock::Timestamp;

/// The zones of each country. The file says where they come from.
const ZONES: &str = include_str!("country_zones.txt");
/// The first hour of a day in which people may be called.
const FIRST: i8 = 9;
/// The hour of a day from which people may no longer be called.
const END: i8 = 20;
/// The time within which the hours are looked for.
const DAYS_AHEAD: SignedDuration = SignedDuration::from_hours(48);
/// The distance between two times that are tried. Zones differ by multiples of it.
const STEP: SignedDuration = SignedDuration::from_mins(15);

/// The hours in which the people of a country may be called, without regard to where in the country they are: from 9:00 to
/// 20:00 in all of its time zones.
#[derive(Clone, Debug)]
pub struct CallingHours(Vec<TimeZone>);

impl CallingHours {
    /// The hours of a country.
    pub fn of(country: Country) -> Self {
        let lines = ZONES.lines().filter_map(|line| line.split_once('\t'));
        let zones = lines.filter(|(code, _)| *code == country.code());
        Self(zones.filter_map(|(_, name)| name.parse().ok()).map(|name: TimeZoneName| name.zone()).collect())
    }

    /// The first time at which people may be called, from `time` on; `None` if there is none soon.
    pub fn next(&self, time: Timestamp) -> Option<Timestamp> {
        if self.contain(time) {
            return Some(time);
        }
        let step = STEP.as_secs();
        let first = Timestamp::from_second(time.as_second() - time.as_second().rem_euclid(step)).ok()?;
        successors(Some(first), |time| time.checked_add(STEP).ok())
            .take_while(|tried| tried.duration_since(time) <= DAYS_AHEAD)
            .find(|tried| *tried >= time && self.contain(*tried))
    }

    fn contain(&self, time: Timestamp) -> bool {
        let hour = |zone: &TimeZone| zone.to_datetime(*time).hour();
        !self.0.is_empty() && self.0.iter().all(|zone| (FIRST..END).contains(&hour(zone)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(code: &str, time: &str) -> Option<Timestamp> {
        let hours = CallingHours::of(code.parse().unwrap());
        hours.next(time.parse().unwrap())
    }

    #[test]
    fn people_are_called_between_9_and_20_in_all_zones_of_their_country() {
        for (code, time, expected) in [
            ("DE", "2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z"),
            ("DE", "2026-11-20T07:59:59Z", "2026-11-20T08:00:00Z"),
            ("DE", "2026-11-20T18:59:59Z", "2026-11-20T18:59:59Z"),
            ("DE", "2026-11-20T19:00:00Z", "2026-11-21T08:00:00Z"),
            // Summer time.
            ("DE", "2026-07-20T06:30:00Z", "2026-07-20T07:00:00Z"),
            // 9:00 in Hawaii is 14:00 in New York.
            ("US", "2026-11-20T14:00:00Z", "2026-11-20T19:00:00Z"),
            ("US", "2026-11-21T01:00:00Z", "2026-11-21T19:00:00Z"),
            ("IN", "2026-11-20T00:00:00Z", "2026-11-20T03:30:00Z"),
            ("NP", "2026-11-20T00:00:00Z", "2026-11-20T03:15:00Z"),
            // 9:00 in Kaliningrad is 19:00 in Kamchatka.
            ("RU", "2026-11-20T00:00:00Z", "2026-11-20T07:00:00Z"),
        ] {
            assert_eq!(next(code, time), expected.parse().ok(), "{code} {time}");
        }
    }

    #[test]
    fn every_country_with_telephones_has_hours() {
        let names = ZONES.lines().filter_map(|line| line.split_once('\t')).map(|(_, name)| name);
        for name in names {
            assert!(name.parse::<TimeZoneName>().is_ok(), "the database has no {name}");
        }
        // Two islands where nobody lives, and a continent with all zones.
        let without: Vec<_> = Country::all()
            .map(Country::code)
            .filter(|code| next(code, "2026-11-20T00:00:00Z").is_none())
            .collect();
        assert_eq!(without, ["AQ", "BV", "HM"]);
    }
}
