//! Telephone numbers: read as people type them, and kept in the E.164 form of the library.

use std::str::FromStr;

use rlibphonenumber::{
    NumberLengthType, PHONE_NUMBER_UTIL, ParseError, PhoneNumber, PhoneNumberFormat, Region, ValidationError,
};
use serde::{Deserialize, Serialize};

use super::text::is_invisible;
use super::{Country, Text};

/// The punctuation between the digits of a number. Dashes of other scripts are read as `-`, other white space as a space.
const PUNCTUATION: &str = " \n-.·•‧∙_,;:'’/\\|()[]";
/// The punctuation that may stand between two numbers.
const BETWEEN_NUMBERS: &str = "\n,;/\\|";
/// The former prefixes of calls within Mexico. They are still typed, also after the country code, and `WhatsApp` shows the 1.
const MEXICAN_PREFIXES: [&str; 5] = ["1", "01", "044", "045", "0"];

/// A telephone number in E.164 form: `+` and 6 to 15 digits. One that an earlier version has stored may have a trunk prefix
/// after the country code, or be no number of any country (see [`Phone::parsed`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Phone(String);

/// The text in the field of a phone number, as an applicant typed it.
pub type TypedPhone = Text<100>;

/// Why a text is not a telephone number. The message follows the name of a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhoneError {
    /// The text is too long.
    #[error("must be at most {} characters", Phone::MAX_TYPED)]
    Text,
    /// It has no country code, and no country says how to read it.
    #[error("must be a phone number with its country code, such as +14155552671")]
    Country,
    /// No country has this code.
    #[error("must begin with + and the code of a country, such as +49")]
    CountryCode,
    /// It contains more than digits and punctuation.
    #[error("must not contain anything but digits, spaces and punctuation")]
    Letters,
    /// It has an extension.
    #[error("must not have an extension: leave it out, or keep it in a note")]
    Extension,
    /// It is two numbers.
    #[error("must be one number: this looks like two, or like a number and an extension")]
    Two,
    /// No number of the country is so short.
    #[error("has too few digits for a number of its country")]
    Short,
    /// No number of the country is so long.
    #[error("has too many digits for a number of its country")]
    Long,
    /// No number of the country is as long, but shorter and longer ones exist.
    #[error("has more or fewer digits than a number of its country")]
    Length,
    /// It has no country code, and more than one country has such a number.
    #[error("may be {national} or {international}: a program has taken its plus or its zeros away")]
    Ambiguous {
        /// The number, read as one of the country.
        national: String,
        /// The number, read with a country code.
        international: String,
    },
    /// No country has a number of these digits.
    #[error("must be a phone number with its country code, such as +14155552671; these digits are none")]
    NoReading,
    /// A spreadsheet has written it with an exponent.
    #[error(
        "is incomplete: a spreadsheet has cut this number's digits; format the column as text and export it again"
    )]
    Exponent,
}

impl Phone {
    /// The maximum number of characters of a number as it is typed.
    pub const MAX_TYPED: usize = 100;

    /// The number.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a number as people type it: with spaces and punctuation, in digits of any script, with `00` instead of `+`, with
    /// a trunk prefix, or as a number of `country` without the country code.
    pub fn read(typed: &str, country: Option<Country>) -> Result<Self, PhoneError> {
        number(&without_extension(typed)?, country)
    }

    /// Reads a number like [`Phone::read`], but drops an extension. Returns `None` if it cannot be read.
    pub fn understood(typed: &str, country: Option<Country>) -> Option<Self> {
        let plain = plain(typed).ok()?;
        let number_alone = extension(&plain).and_then(|extension| Some(&plain[..plain.rfind(&extension)?]));
        let number_alone = number_alone.map(|text| text.trim_end_matches(|c: char| !c.is_ascii_digit()));
        number(number_alone.unwrap_or(&plain), country).ok()
    }

    /// The number as it would be stored now. What cannot be read stays as it is.
    #[must_use]
    pub fn parsed(&self) -> Self {
        Self::read(&self.0, None).unwrap_or_else(|_| self.clone())
    }

    /// Whether a text has no other digits than this number.
    pub fn is_in_full(&self, typed: &str) -> bool {
        plain(typed)
            .is_ok_and(|plain| Digits::of(&plain).is_ok_and(|digits| digits.stored().as_ref() == Some(self)))
    }

    /// The numbers that a query stands for, where an unescaped `+` arrives as a space: the number itself, and what an earlier
    /// version would have stored, if that differs.
    pub fn in_query(given: &str) -> Result<Vec<Self>, PhoneError> {
        let typed = match given.strip_prefix(' ') {
            Some(rest) if !given.contains('+') => format!("+{rest}"),
            _ => given.to_owned(),
        };
        let stored =
            plain(&typed).and_then(|plain| Digits::of(&plain)).ok().and_then(|digits| digits.stored());
        let number = match (Self::read(&typed, None), &stored) {
            (Err(error), None) => return Err(error),
            (number, _) => number.ok(),
        };
        let stored = stored.filter(|stored| number.as_ref() != Some(stored));
        Ok(number.into_iter().chain(stored).collect())
    }
}

impl FromStr for Phone {
    type Err = PhoneError;

    /// Reads a number with its country code.
    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        Self::read(typed, None)
    }
}

/// A telephone number in a request. Without a plus it can be read only when the country is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenPhone {
    typed: String,
    international: Option<Phone>,
}

impl GivenPhone {
    /// The number, if it begins with a plus.
    pub const fn international(&self) -> Option<&Phone> {
        self.international.as_ref()
    }

    /// The number, read as one of `country` if it has no country code.
    pub fn in_country(&self, country: Option<Country>) -> Result<Phone, PhoneError> {
        Phone::read(&self.typed, country)
    }
}

impl FromStr for GivenPhone {
    type Err = String;

    /// Fails if the text cannot be a number of any country.
    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let number = without_extension(typed).and_then(|plain| {
            let digits = Digits::of(&plain)?;
            if digits.is_international {
                return number(&plain, None).map(Some);
            }
            if digits.all.len() < 4 { Err(PhoneError::Country) } else { Ok(None) }
        });
        let international = number.map_err(|error| error.to_string())?;
        Ok(Self { typed: typed.to_owned(), international })
    }
}

/// The text without what means nothing in a number: invisible marks, other scripts, a `tel:`, the apostrophe that makes a cell
/// of a spreadsheet a text, and the decimals that a spreadsheet has added to a number.
pub(super) fn plain(typed: &str) -> Result<String, PhoneError> {
    if typed.chars().count() > Phone::MAX_TYPED {
        return Err(PhoneError::Text);
    }
    let plain: String = typed.chars().filter(|c| !is_invisible(*c)).map(ascii).collect();
    let plain = plain.trim();
    let plain = match plain.get(..3) {
        Some(label) if label.eq_ignore_ascii_case("tel") => plain[3..].trim_start_matches(['.', ':', ' ']),
        _ => plain.trim_start_matches('\''),
    };
    if is_cut(plain) {
        return Err(PhoneError::Exponent);
    }
    let whole = plain.rsplit_once(['.', ',']).filter(|(whole, decimals)| {
        matches!(*decimals, "0" | "00")
            && whole.strip_prefix('+').unwrap_or(whole).bytes().all(|byte| byte.is_ascii_digit())
    });
    Ok(whole.map_or(plain, |(whole, _)| whole).to_owned())
}

/// The character with the same meaning in ASCII, if there is one.
fn ascii(c: char) -> char {
    match c {
        '\n' | '\r' => '\n',
        '\u{FF01}'..='\u{FF5E}' => u32::from(c).checked_sub(0xFEE0).and_then(char::from_u32).unwrap_or(c),
        '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{30FC}' | '\u{FE58}' | '\u{FE63}' => '-',
        _ if c.is_whitespace() => ' ',
        _ => digit(c).unwrap_or(c),
    }
}

/// The decimal digit of any script, in ASCII.
pub(super) fn digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c).filter(char::is_ascii_digit);
    }
    PHONE_NUMBER_UTIL.normalize_digits_only(c.encode_utf8(&mut [0; 4])).chars().next()
}

/// Whether a spreadsheet has written the number with an exponent: `4.91511E+12`.
fn is_cut(plain: &str) -> bool {
    plain.split_once(['E', 'e']).is_some_and(|(mantissa, exponent)| {
        let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        are_digits(exponent) && are_digits(&mantissa.replacen(['.', ','], "", 1).replacen('+', "", 1))
    })
}

/// The plain text, if the library sees no extension after the number.
fn without_extension(typed: &str) -> Result<String, PhoneError> {
    let plain = plain(typed)?;
    if extension(&plain).is_some() { Err(PhoneError::Extension) } else { Ok(plain) }
}

/// The extension after a number, which the library looks for in the same way in every region.
fn extension(plain: &str) -> Option<String> {
    PhoneNumber::parse(plain, Some(Region::US)).ok()?.extension
}

/// Reads a plain text without an extension.
fn number(plain: &str, country: Option<Country>) -> Result<Phone, PhoneError> {
    let digits = Digits::of(plain)?;
    let region = country.and_then(|country| country.code().parse().ok());
    if are_two(plain, region) { Err(PhoneError::Two) } else { digits.number(region) }
}

/// Whether a text is two numbers, or one and something that may be an extension.
fn are_two(plain: &str, region: Option<Region>) -> bool {
    let valid = |text: &str, region| Digits::of(text).ok().and_then(|digits| digits.valid(region));
    plain.char_indices().filter(|(_, c)| PUNCTUATION.contains(*c)).any(|(at, c)| {
        let (left, right) = (&plain[..at], &plain[at + c.len_utf8()..]);
        let (is_between, count) =
            (BETWEEN_NUMBERS.contains(c), right.chars().filter(char::is_ascii_digit).count());
        // A group within one number may begin with a zero, too.
        if count == 0 || !(is_between || (count >= 8 && right.starts_with('0'))) {
            return false;
        }
        valid(left, region).is_some_and(|number| {
            (is_between && count <= 2) || valid(right, number.get_region_code().or(region)).is_some()
        })
    })
}

/// The digits of a text.
struct Digits {
    /// Whether they come after a plus, so that they begin with a country code.
    is_international: bool,
    /// All digits.
    all: String,
    /// The digits without a zero in brackets, if there is one: the prefix of calls within the country.
    without_trunk: Option<String>,
}

impl Digits {
    fn of(plain: &str) -> Result<Self, PhoneError> {
        let number = plain.trim_start_matches(|c| PUNCTUATION.contains(c));
        let rest = number.trim_start_matches(|c| c == '+' || PUNCTUATION.contains(c));
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let (is_international, all) = (number.starts_with('+'), digits(rest));
        if all.is_empty() {
            return Err(PhoneError::Country);
        }
        if !rest.chars().all(|c| c.is_ascii_digit() || c == '+' || PUNCTUATION.contains(c)) {
            return Err(PhoneError::Letters);
        }
        if rest.contains('+') {
            return Err(PhoneError::Two);
        }
        let compact: String = rest.chars().filter(|c| *c != ' ').collect();
        let without_trunk = Some(digits(&compact.replace("(0)", "").replace("[0]", "")));
        let without_trunk = without_trunk.filter(|without| *without != all);
        Ok(Self { is_international, all, without_trunk })
    }

    /// What versions before the library would have stored.
    fn stored(&self) -> Option<Phone> {
        let is_number =
            self.is_international && (7..=15).contains(&self.all.len()) && !self.all.starts_with('0');
        is_number.then(|| Phone(format!("+{}", self.all)))
    }

    /// The readings of the digits, the likeliest first: with a country code, or as a number of the region.
    fn readings(&self, region: Option<Region>) -> Vec<Result<PhoneNumber, PhoneError>> {
        let code = region.and_then(|region| PHONE_NUMBER_UTIL.get_country_code_for_region(region));
        let code = code.map(|code| code.to_string());
        let mut readings = Vec::new();
        for digits in [Some(&self.all), self.without_trunk.as_ref()].into_iter().flatten() {
            let abroad = digits.strip_prefix("00");
            // Of a number without a plus that begins with the region's own code, the plus was left out.
            let begins_with_code = code.as_ref().is_some_and(|code| digits.starts_with(code));
            if self.is_international || abroad.is_some() || begins_with_code {
                readings.push(parse(&format!("+{}", abroad.unwrap_or(digits)), None));
            }
            if !self.is_international {
                readings.push(if code.is_some() { parse(digits, region) } else { Err(PhoneError::Country) });
            }
        }
        readings
    }

    /// The number, if a country has numbers of this form.
    fn valid(&self, region: Option<Region>) -> Option<PhoneNumber> {
        let found = self.readings(region).into_iter().flatten().find_map(valid);
        // Rather a valid number of another country than one that the region does not have.
        let is_open = found.is_none() && !self.is_international && region.is_some();
        found.or_else(|| parse(&format!("+{}", self.all), None).ok().filter(|_| is_open).and_then(valid))
    }

    /// The number: of a form that a country has, else with as many digits as other numbers of its country.
    fn number(&self, region: Option<Region>) -> Result<Phone, PhoneError> {
        if let Some(number) = self.valid(region) {
            return settled(&number);
        }
        let readings = self.readings(region).into_iter().map(|reading| reading.and_then(possible));
        let first = readings.reduce(|one, other| if one.is_ok() || other.is_err() { one } else { other });
        settled(&first.unwrap_or(Err(PhoneError::Country))?)
    }
}

/// Parses digits, with a plus or as a number of the region.
pub(super) fn parse(digits: &str, region: Option<Region>) -> Result<PhoneNumber, PhoneError> {
    PhoneNumber::parse(digits, region).map_err(|error| match error {
        ParseError::InvalidCountryCode => PhoneError::CountryCode,
        ParseError::TooLongNsn => PhoneError::Long,
        ParseError::NotANumber(_) | ParseError::TooShortAfterIdd | ParseError::TooShortNsn => {
            PhoneError::Short
        }
    })
}

/// The number if its country has numbers of this form, else without a prefix of calls within the country that the library
/// has left in it.
pub(super) fn valid(number: PhoneNumber) -> Option<PhoneNumber> {
    if number.is_valid() {
        return Some(number);
    }
    let (code, all) = (format!("+{}", number.country_code), e164(&number));
    let national = all.strip_prefix(&code)?;
    let prefixes: &[_] = match number.country_code {
        1 => &["1", "0"],
        52 => &MEXICAN_PREFIXES,
        _ => &["0"],
    };
    prefixes.iter().find_map(|prefix| {
        let rest = national.strip_prefix(prefix)?;
        parse(&format!("{code}{rest}"), None).ok().filter(PhoneNumber::is_valid)
    })
}

/// The number if it has as many digits as other numbers of its country.
fn possible(number: PhoneNumber) -> Result<PhoneNumber, PhoneError> {
    match number.is_possible_with_reason() {
        Ok(NumberLengthType::IsPossible) => Ok(number),
        Ok(NumberLengthType::IsPossibleLocalOnly) | Err(ValidationError::TooShort) => Err(PhoneError::Short),
        Err(ValidationError::TooLong) => Err(PhoneError::Long),
        Err(ValidationError::InvalidLength) => Err(PhoneError::Length),
        Err(ValidationError::InvalidCountryCode) => Err(PhoneError::CountryCode),
    }
}

/// The number in a form that is read as the same form again: the library may take another prefix away.
pub(super) fn settled(number: &PhoneNumber) -> Result<Phone, PhoneError> {
    let mut settled = e164(number);
    while let Ok(again) = parse(&settled, None) {
        let again = e164(&valid(again.clone()).unwrap_or(again));
        if again.len() >= settled.len() {
            break;
        }
        settled = again;
    }
    match settled.len() - 1 {
        ..6 => Err(PhoneError::Short),
        6..=15 => Ok(Phone(settled)),
        16.. => Err(PhoneError::Long),
    }
}

pub(super) fn e164(number: &PhoneNumber) -> String {
    number.format_as(PhoneNumberFormat::E164).into_owned()
}

#[cfg(test)]
mod tests;
