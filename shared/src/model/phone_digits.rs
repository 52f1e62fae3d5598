//! Telephone numbers that a program has taken a plus or zeros from.

use rlibphonenumber::PHONE_NUMBER_UTIL;

use super::Country;
use super::phone::{Phone, PhoneError, e164, parse, plain, settled, valid};
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
    /// The digits of a text that is nothing else, as a program may have left of a number: also with decimals, with the thousands
    /// apart as in any country, or with spaces anywhere. `None` if they begin with a zero, or have other punctuation, which shows
    /// that they are as they were typed.
    pub fn bare_digits(typed: &str) -> Option<String> {
        let text = plain(typed).ok()?;
        let text = without_decimals(&text);
        let is_bare = match text.chars().find(|c| !c.is_ascii_digit()) {
            Some(separator @ ('.' | ',' | '\'')) => are_thousands(text, separator),
            separator => text.chars().all(|c| c.is_ascii_digit() || (Some(c) == separator && c == ' ')),
        };
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        (is_bare && !digits.is_empty() && !digits.starts_with('0')).then_some(digits)
    }

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

/// A number without decimals that are none, which have another sign before them than its thousands.
fn without_decimals(text: &str) -> &str {
    let whole = text.rsplit_once(['.', ',']).filter(|(whole, decimals)| {
        let sign = text.as_bytes().get(whole.len()).copied();
        matches!(*decimals, "0" | "00") && !whole.bytes().any(|byte| Some(byte) == sign)
    });
    whole.map_or(text, |(whole, _)| whole)
}

/// Whether digits are in groups of thousands, or in those of India: two digits each before the last three.
fn are_thousands(text: &str, separator: char) -> bool {
    let groups: Vec<_> = text.split(separator).collect();
    let [first, middle @ .., last] = groups.as_slice() else { return false };
    let are_digits = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_digit()));
    let is_of =
        |most: usize| (1..=most).contains(&first.len()) && middle.iter().all(|group| group.len() == most);
    are_digits && last.len() == 3 && (is_of(3) || (separator == ',' && is_of(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_bare_whatever_a_program_has_put_around_them() {
        for typed in [
            "48512345678",
            "48512345678.0",
            "48512345678,0",
            "48512345678.00",
            "'48512345678",
            "tel:48512345678",
            "\u{202d}48512345678\u{202c}",
            "48.512.345.678",
            "48,512,345,678",
            "48'512'345'678",
            "48 512 345 678",
            "48\u{a0}512\u{a0}345\u{a0}678",
            "48\u{202f}512\u{202f}345\u{202f}678",
            "48\u{2009}512\u{2009}345\u{2009}678",
            "48,51,23,45,678",
            "48.512.345.678,00",
            "48 512 345 678,0",
            "48 51 234 56 78",
            "48512 345678",
            "４８５１２３４５６７８",
        ] {
            assert_eq!(Phone::bare_digits(typed).as_deref(), Some("48512345678"), "{typed}");
        }
        for typed in [
            "",
            " ",
            "+48512345678",
            "+48 512 345 678",
            "048512345678",
            "0048 512 345 678",
            "0 512 345 678",
            "415.555.0123",
            "48-512-345-678",
            "(48) 512 345 678",
            "48 512.345.678",
            "48,512,345.678",
            "4,851,23,45,678",
            "48.51.23.45.678",
            ",512,345,678",
            "48 512 345 678\n48 512 345 679",
            "4.8E+10",
            "4851.234",
            "x",
        ] {
            assert_eq!(Phone::bare_digits(typed), None, "{typed}");
        }
    }
}
