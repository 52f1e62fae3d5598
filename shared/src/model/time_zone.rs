//! Time zones, by their names.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

/// The database of time zones. It is part of the program, because the machines of the functions have none.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The name of the zone of machines on which no zone is set. The database contains it, but it is nowhere.
const PLACEHOLDER: &str = "Factory";

/// The name of a time zone in the IANA database, as the database spells it: `Europe/Berlin`. A stored name may be unknown,
/// because a later version of the database may not have it any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimeZoneName(Cow<'static, str>);

impl TimeZoneName {
    /// UTC.
    pub const UTC: Self = Self(Cow::Borrowed("UTC"));

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is UTC.
    pub fn is_utc(&self) -> bool {
        *self == Self::UTC
    }

    /// The time zone; UTC if the database does not have the name.
    pub fn zone(&self) -> TimeZone {
        ZONES.get(&self.0).unwrap_or(TimeZone::UTC)
    }

    /// The names to choose from: UTC, and then all places, such as `Europe/Berlin`.
    pub fn choices() -> Vec<Self> {
        let places = ZONES.available().map(|name| name.to_string());
        let mut places: Vec<_> =
            places.filter(|name| name.contains('/') && !name.starts_with("Etc/")).collect();
        places.sort_unstable();
        [Self::UTC].into_iter().chain(places.into_iter().map(|name| Self(name.into()))).collect()
    }
}

impl Default for TimeZoneName {
    fn default() -> Self {
        Self::UTC
    }
}

impl FromStr for TimeZoneName {
    type Err = String;

    /// Finds the time zone with this name, in any case. Offsets and POSIX rules are not names.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let zone = ZONES.get(name).ok();
        let known = zone.as_ref().and_then(TimeZone::iana_name).filter(|known| *known != PLACEHOLDER);
        let name = known.map(|known| Self(known.to_owned().into()));
        name.ok_or_else(|| {
            "must be the name of a time zone in the IANA database, such as Europe/Berlin".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_spelled_like_the_database() {
        for (given, name) in [
            ("UTC", "UTC"),
            ("utc", "UTC"),
            ("Europe/Berlin", "Europe/Berlin"),
            ("Europe/berlin", "Europe/Berlin"),
            ("AMERICA/ARGENTINA/BUENOS_AIRES", "America/Argentina/Buenos_Aires"),
            ("etc/utc", "Etc/UTC"),
            ("Etc/GMT+5", "Etc/GMT+5"),
            ("est5edt", "EST5EDT"),
            ("Asia/Calcutta", "Asia/Calcutta"),
        ] {
            let found: TimeZoneName = given.parse().unwrap();
            assert_eq!(found.as_str(), name, "{given}");
            assert_eq!(found.zone().iana_name(), Some(name), "{given}");
            assert_eq!(found.is_utc(), name == "UTC", "{given}");
        }
    }

    #[test]
    fn offsets_rules_and_unknown_names_are_refused() {
        for given in [
            "",
            " ",
            " Europe/Berlin",
            "Berlin",
            "Europe/Nowhere",
            "Europe/Berlin/",
            "CEST",
            "UTC+1",
            "GMT+1",
            "+01:00",
            "-05",
            "Z",
            "EST5EDT,M3.2.0,M11.1.0",
            "<+03>-3",
            ":Europe/Berlin",
            "posix/Europe/Berlin",
            "right/UTC",
            "localtime",
            "../../etc/passwd",
            "/usr/share/zoneinfo/UTC",
            "Etc/Unknown",
            "Factory",
            "factory",
            "Europe\u{2044}Berlin",
            "Europe/Berl\u{131}n",
            "Europe/Berlin\0",
        ] {
            let message = "must be the name of a time zone in the IANA database, such as Europe/Berlin";
            assert_eq!(given.parse::<TimeZoneName>(), Err(message.to_owned()), "{given:?}");
        }
        assert!("x".repeat(1_000_000).parse::<TimeZoneName>().is_err());
    }

    #[test]
    fn every_choice_is_a_name() {
        let choices = TimeZoneName::choices();
        assert_eq!((choices[0].as_str(), choices.len() > 400), ("UTC", true));
        for place in ["America/Argentina/Buenos_Aires", "Asia/Kolkata", "Europe/Berlin", "Pacific/Auckland"] {
            assert!(choices.iter().any(|choice| choice.as_str() == place), "{place}");
        }
        for choice in &choices {
            assert_eq!(choice.as_str().parse().as_ref(), Ok(choice));
            assert!(choice.as_str().len() <= 64);
        }
    }

    #[test]
    fn a_stored_name_that_the_database_does_not_have_is_utc() {
        let stored: TimeZoneName = serde_json::from_str("\"Mars/Olympus_Mons\"").unwrap();
        assert_eq!((stored.as_str(), stored.zone()), ("Mars/Olympus_Mons", TimeZone::UTC));
    }
}
