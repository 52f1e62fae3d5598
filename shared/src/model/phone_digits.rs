//! Telephone numbers that a program has taken a plus or zeros from.

use rlibphonenumber::PHONE_NUMBER_UTIL;

use super::Country;
use super::phone::{Phone, PhoneError, e164, parse, settled, valid};
use super::string_enum::string_enum;

string_enum! {
    /// How the numbers in a file are read that lost their plus or their zeros.
    pub enum PlainPhones {
        /// As numbers of the country, without its trunk prefix.
        National = "national",
        /// With a country code, without the plus.
        International = "international",
    }
}

impl Phone {
    /// Reads digits that a program may have taken a plus or zeros from: as a number of `country`, or with a country code. Only
    /// a valid number counts. If both readings are valid and differ, it is the one with a country code if the digits begin with
    /// the code of `country`; otherwise only `plain` can decide.
    pub fn of_digits(
        digits: &str,
        country: Option<Country>,
        plain: Option<PlainPhones>,
    ) -> Result<Self, PhoneError> {
        let region = country.and_then(|country| country.code().parse().ok());
        let reading = |text: &str, region| parse(text, region).ok().and_then(valid);
        let national = region.and_then(|region| reading(digits, Some(region)));
        let international = reading(&format!("+{digits}"), None);
        let own_code = region.and_then(|region| PHONE_NUMBER_UTIL.get_country_code_for_region(region));
        let has_own_code = own_code.is_some_and(|code| digits.starts_with(&code.to_string()));
        let chosen = match (national, international, plain) {
            (_, international, Some(PlainPhones::International)) => international,
            (national, _, Some(PlainPhones::National)) => national,
            (Some(national), Some(international), None) if !has_own_code => {
                let [national, international] = [e164(&national), e164(&international)];
                if national != international {
                    return Err(PhoneError::Ambiguous { national, international });
                }
                return settled(&parse(&national, None)?);
            }
            (national, international, None) => international.or(national),
        };
        settled(&chosen.ok_or(PhoneError::NoReading)?)
    }
}
