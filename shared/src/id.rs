//! Identifiers: whole numbers that JavaScript represents exactly, generated without a central counter.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Timestamp};
use crate::random::Random;

/// The identifier of a resource: 1 to 2^53 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Id(u64);

impl Id {
    /// The largest identifier, which is the largest whole number that every JSON parser represents exactly.
    pub const MAX: u64 = (1 << 53) - 1;

    /// The largest identifier. No resource ever has it.
    pub const LAST: Self = Self(Self::MAX);

    /// The identifier with this number; `None` if it is out of range.
    pub const fn new(number: u64) -> Option<Self> {
        if number >= 1 && number <= Self::MAX { Some(Self(number)) } else { None }
    }

    /// The smallest identifier that can be generated at this time.
    pub fn first_at(time: Timestamp) -> Self {
        Self(Ids::first_at(time).max(1))
    }

    /// The identifier as a number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for Id {
    type Error = &'static str;

    fn try_from(number: u64) -> Result<Self, Self::Error> {
        Self::new(number).ok_or("an id is a whole number from 1 to 9007199254740991")
    }
}

impl From<Id> for u64 {
    fn from(id: Id) -> Self {
        id.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Parses only the canonical form: `17`, but not `017`, `+17` or `17.0`.
impl FromStr for Id {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        let number = text.parse().ok().filter(|_| canonical).unwrap_or(0);
        Self::try_from(number)
    }
}

/// Generates identifiers: 41 bits of milliseconds since 2025, which last until 2094, followed by 12 random bits.
///
/// The identifiers of one process always increase, even within a millisecond. In rare cases two processes generate the
/// same identifier. Every insert is conditional, so the second insert fails and is retried with a new identifier.
#[derive(Clone)]
pub struct Ids {
    clock: Clock,
    random: Random,
    last: Arc<AtomicU64>,
}

impl Ids {
    // 2025-01-01T00:00:00Z
    const EPOCH_MS: i64 = 1_735_689_600_000;
    const RANDOM_BITS: u32 = 12;

    /// Creates a generator with this clock and this source of randomness.
    pub fn new(clock: Clock, random: Random) -> Self {
        Self { clock, random, last: Arc::new(AtomicU64::new(0)) }
    }

    /// Returns a new identifier.
    pub fn next(&self) -> Id {
        let drawn = Self::first_at(self.clock.now()) | self.random.below(1 << Self::RANDOM_BITS);
        let after = |last: u64| drawn.max(last + 1) & Id::MAX;
        let last = self.last.update(Ordering::Relaxed, Ordering::Relaxed, after);
        Id(after(last).max(1))
    }

    fn first_at(time: Timestamp) -> u64 {
        let elapsed = time.as_millisecond().saturating_sub(Self::EPOCH_MS);
        u64::try_from(elapsed).unwrap_or(0) << Self::RANDOM_BITS & Id::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: i64) -> Clock {
        Clock::from_fn(move || Timestamp::from_millisecond(ms).unwrap())
    }

    proptest! {
        #[test]
        fn an_id_round_trips_through_text(number in 1..=Id::MAX) {
            let id = Id::new(number).unwrap();
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn only_the_canonical_form_is_parsed(text in "\\PC{0,20}") {
            let parsed = text.parse::<Id>();
            let is_canonical = |number: u64| number.to_string() == text && Id::new(number).is_some();
            prop_assert_eq!(parsed.is_ok(), text.parse().is_ok_and(is_canonical));
            if let Ok(id) = parsed {
                prop_assert_eq!(id.to_string(), text);
            }
        }

        #[test]
        fn a_later_id_is_larger(ms in 1_735_689_600_000i64..3_900_000_000_000, more in 1i64..1_000_000, seed: u64) {
            let earlier = Ids::new(at(ms), Random::seeded(seed)).next();
            let later = Ids::new(at(ms + more), Random::seeded(seed ^ 1)).next();
            prop_assert!(later > earlier);
        }
    }

    #[test]
    fn malformed_ids_are_rejected() {
        for text in [
            "",
            "0",
            "-1",
            "+1",
            "01",
            "1.0",
            "1e3",
            " 1",
            "1 ",
            "..",
            "٣",
            "9007199254740992",
            "99999999999999999999",
        ] {
            assert!(text.parse::<Id>().is_err(), "{text:?}");
        }
        assert_eq!("9007199254740991".parse(), Ok(Id(Id::MAX)));
    }

    #[test]
    fn ids_of_one_process_increase_even_if_the_clock_stands_still() {
        let ids = Ids::new(at(1_800_000_000_000), Random::seeded(7));
        let made: Vec<_> = (0..20_000).map(|_| ids.next()).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
