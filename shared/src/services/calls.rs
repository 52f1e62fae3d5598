//! The limits of telephone calls: which numbers are called, and how often.
//!
//! Calls cost the operator of the service money, and the person who is called hears words that an organization chose. So
//! numbers that cost more than an ordinary call are never called, and neither is anybody outside the countries that the
//! organization has allowed.

use std::iter::once;

use jiff::SignedDuration;
use rlibphonenumber::{PhoneNumber, PhoneNumberType as Type};

use crate::clock::Timestamp;
use crate::mac_keys::MacKeys;
use crate::model::{Country, Organization, Phone};
use crate::store::{Store, StoreError};

/// The maximum number of calls to one phone number on a day, from all organizations together.
pub const MAX_CALLS_TO_A_NUMBER: u64 = 5;
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Why a number is not called. The message follows the words "the phone number".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// No network has such a number.
    #[error("must be a number that exists: no country has numbers of this form")]
    Invalid,
    /// A premium-rate, shared-cost, satellite, toll-free, personal, pager, voicemail or company number, or a number of an
    /// unknown type.
    #[error(
        "must be a mobile, landline or internet telephone number: other kinds, such as premium-rate and satellite \
             numbers, are never called"
    )]
    Special,
    /// The organization does not allow calls to this country.
    #[error("must not be a number in {}, because the organization allows calls only to {allowed}; owners can change the \
             countries in the dashboard, under Channels", country.name())]
    OtherCountry {
        /// The number's country.
        country: Country,
        /// The codes of the allowed countries.
        allowed: String,
    },
}

/// Checks whether a number may be called, in the form in which it would be stored now: an ordinary number in one of the
/// `allowed` countries. Returns its country.
pub fn check_number(phone: &Phone, allowed: &[Country]) -> Result<Country, NumberError> {
    let number = PhoneNumber::parse(phone.parsed().as_str(), None).map_err(|_| NumberError::Invalid)?;
    if !number.is_valid() {
        return Err(NumberError::Invalid);
    }
    let kind = number.get_type();
    let is_ordinary = matches!(kind, Type::FixedLine | Type::Mobile | Type::FixedLineOrMobile | Type::VoIP);
    let country = country_of(&number).filter(|_| is_ordinary).ok_or(NumberError::Special)?;
    if allowed.contains(&country) {
        Ok(country)
    } else {
        Err(NumberError::OtherCountry { country, allowed: codes(allowed) })
    }
}

/// The country of a number. Satellite networks and international services have none.
fn country_of(number: &PhoneNumber) -> Option<Country> {
    number.get_region_code()?.as_region_str().as_ref().parse().ok()
}

/// The codes of countries, separated by commas.
pub fn codes(countries: &[Country]) -> String {
    countries.iter().map(|country| country.code()).collect::<Vec<_>>().join(", ")
}

/// Which daily limit a call would exceed. The message continues a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallLimit {
    /// The limit of the organization's plan.
    #[error("the organization's limit of {0} calls a day is used up")]
    Organization(u64),
    /// The limit for one phone number.
    #[error("the phone number has already been called {MAX_CALLS_TO_A_NUMBER} times that day")]
    Number,
}

/// A call that was counted towards the daily limits. The counters are items of their own, so that concurrent calls of an
/// organization do not conflict.
#[derive(Debug)]
pub struct CountedCall {
    subjects: Vec<String>,
    call_at: Timestamp,
}

impl CountedCall {
    /// Counts a call on the UTC day of `call_at`, unless a limit is reached. The counters do not contain the number
    /// itself, but a MAC of it under one of the `keys`. While a key is being replaced, a call counts under both, so the
    /// limit also holds on that day.
    pub async fn count(
        store: &Store,
        keys: &MacKeys,
        organization: &Organization,
        phone: &Phone,
        call_at: Timestamp,
    ) -> Result<Result<Self, CallLimit>, StoreError> {
        let limit = organization.plan.calls_per_day();
        let of_organization =
            (format!("calls of {}", organization.id), limit, CallLimit::Organization(limit));
        let to_number = keys.signatures(&["called number", phone.parsed().as_str()]).into_iter();
        let to_number =
            to_number.map(|number| (format!("calls to {number}"), MAX_CALLS_TO_A_NUMBER, CallLimit::Number));
        let mut counted = Self { subjects: Vec::new(), call_at };
        for (subject, limit, error) in once(of_organization).chain(to_number) {
            if store.count_attempt(&subject, limit, DAY, call_at).await?.is_some() {
                counted.uncount(store).await?;
                return Ok(Err(error));
            }
            counted.subjects.push(subject);
        }
        Ok(Ok(counted))
    }

    /// Subtracts a call that was not ordered.
    pub async fn uncount(self, store: &Store) -> Result<(), StoreError> {
        for subject in &self.subjects {
            store.uncount_attempt(subject, DAY, self.call_at).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn countries(codes: &str) -> Vec<Country> {
        codes.split(' ').map(|code| code.parse().unwrap()).collect()
    }

    fn check(number: &str, allowed: &str) -> Result<Country, NumberError> {
        let stored = serde_json::from_value(serde_json::json!(number)).unwrap();
        check_number(&stored, &countries(allowed))
    }

    #[test]
    fn ordinary_numbers_in_allowed_countries_are_called() {
        for (number, country) in [
            ("+14155552671", "US"),
            ("+4915112345678", "DE"),
            ("+4930123456", "DE"),
            ("+442079460958", "GB"),
            ("+393912345678", "IT"),
            ("+390612345678", "IT"),
            ("+33612345678", "FR"),
            ("+41791234567", "CH"),
            ("+819012345678", "JP"),
            ("+5511961234567", "BR"),
            ("+38343201234", "XK"),
            ("+24762889", "AC"),
            ("+2908999", "TA"),
            // Stored by an earlier version.
            ("+49015112345678", "DE"),
            ("+5212221234567", "MX"),
        ] {
            assert_eq!(check(number, country), country.parse().map_err(|_| NumberError::Invalid), "{number}");
            assert!(matches!(check(number, "AT"), Err(NumberError::OtherCountry { .. })), "{number}");
        }
        let error = check("+14155552671", "DE AT").unwrap_err().to_string();
        assert!(error.contains("in United States") && error.contains("only to DE, AT"), "{error}");
    }

    /// The Caribbean and the United States share a country code.
    #[test]
    fn numbers_that_look_domestic_are_checked_by_their_own_country() {
        for number in ["+18765551234", "+12425551234", "+16495551234", "+18095551234", "+14415551234"] {
            assert!(check(number, "US").is_err(), "{number}");
        }
    }

    #[test]
    fn special_numbers_are_never_called() {
        for number in [
            // Satellites and international networks.
            "+870773111632",
            "+881612345678",
            "+8821612345678",
            "+88312345678901",
            // Premium rate.
            "+19005551234",
            "+499001234567",
            "+449098790000",
            "+33899123456",
            "+979123456789",
            // Shared cost, toll-free, personal and company numbers.
            "+491805123456",
            "+448450123456",
            "+18005550199",
            "+80012345678",
            "+80812345678",
            "+447012345678",
            "+15005550006",
            "+448001111111",
            // Not assigned.
            "+9991234567",
            "+2101234567",
        ] {
            let result = check(number, "US DE GB FR");
            assert!(
                matches!(result, Err(NumberError::Special | NumberError::Invalid)),
                "{number}: {result:?}"
            );
        }
    }
}
