//! The values of request fields, each parsed from a JSON scalar or a query parameter.
//!
//! `string_enum!` implements [`Value`] for enumerations. The `http` module handles objects and the fields of requests.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use jiff::civil::Date;
use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, Schema};

use super::schema::formatted;
use super::text::non_blank;
use crate::clock::Timestamp;

/// A JSON scalar or a query parameter.
#[derive(Debug)]
pub enum Scalar<'v> {
    /// A JSON string.
    Text(String),
    /// A JSON number as written.
    Number(&'v str),
    /// A JSON boolean.
    Bool(bool),
    /// A query parameter or a form field.
    Word(&'v str),
    /// A JSON array of strings.
    Texts(Vec<String>),
    /// A JSON object or another array.
    Other,
}

impl Scalar<'_> {
    /// Whether it is a JSON string without visible characters, which means the same as `null` in fields of every type.
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if non_blank(text).is_none())
    }

    /// Parses a whole number within a range. Returns an error message that names the range.
    pub fn whole_number_in<N>(&self, range: RangeInclusive<N>) -> Result<N, String>
    where
        N: TryFrom<i64> + PartialOrd + fmt::Display,
    {
        let number = self.whole_number().and_then(|number| N::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        number.ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
    }

    /// Parses a whole number in any JSON notation (`17`, `17.0`, `1.7e1`) that a double represents exactly. A query
    /// parameter or a form field must consist of decimal digits without leading zeros.
    fn whole_number(&self) -> Option<i64> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self {
            Self::Word("0") => Some(0),
            Self::Word(word) if word.bytes().all(|byte| byte.is_ascii_digit()) && !word.starts_with('0') => {
                word.parse().ok()
            }
            Self::Number(written) => written.parse().ok().or_else(|| {
                let number: f64 = written.parse().ok()?;
                let whole = number.fract() == 0.0 && number.abs() < EXACT;
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
                whole.then_some(number as i64)
            }),
            _ => None,
        }
    }
}

/// A type that a request field can have.
pub trait Value: Sized {
    /// Parses the value. Returns `None` if it is blank, and an error message if it is invalid.
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String>;

    /// The schema of the accepted values, except blank ones.
    fn schema() -> RefOr<Schema>;
}

impl Value for bool {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Bool(value) => Ok(Some(*value)),
            Scalar::Word("true") => Ok(Some(true)),
            Scalar::Word("false") => Ok(Some(false)),
            scalar if scalar.is_blank() => Ok(None),
            _ => Err("must be true or false".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

impl Value for Date {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        text(scalar)?.map(date).transpose()
    }

    fn schema() -> RefOr<Schema> {
        formatted(KnownFormat::Date).into()
    }
}

impl Value for Timestamp {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let Some(text) = text(scalar)? else { return Ok(None) };
        let time = is_date_time(text).then(|| text.parse().ok()).flatten();
        time.map(Some).ok_or_else(|| "must be a time, such as 2026-11-20T09:30:00.000Z".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        formatted(KnownFormat::DateTime).into()
    }
}

/// Parses a date.
pub(super) fn date(text: &str) -> Result<Date, String> {
    let date = text.parse::<Date>().ok().filter(|date| date.to_string() == text && date.year() > 0);
    date.ok_or_else(|| "must be a date, such as 2026-11-20".to_owned())
}

/// Whether the text has the format of RFC 3339, section 5.6. ISO 8601 allows many other formats.
fn is_date_time(text: &str) -> bool {
    let pattern: String =
        text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c.to_ascii_uppercase() }).collect();
    let Some(rest) = pattern.strip_prefix("0000-00-00T00:00:00") else { return false };
    let fraction = rest.strip_prefix('.').filter(|rest| rest.starts_with('0'));
    ["Z", "+00:00", "-00:00"].contains(&fraction.map_or(rest, |rest| rest.trim_start_matches('0')))
}

/// Returns a trimmed string, or `None` if it is blank.
fn text<'s>(scalar: &'s Scalar<'_>) -> Result<Option<&'s str>, String> {
    match scalar {
        Scalar::Text(text) => Ok(non_blank(text)),
        Scalar::Word(text) => Ok(non_blank(text)),
        _ => Err("must be a string".to_owned()),
    }
}

/// Parses a string as `T`. Returns `None` if it is blank.
pub(super) fn parsed<T: FromStr<Err = String>>(scalar: &Scalar<'_>) -> Result<Option<T>, String> {
    text(scalar)?.map(str::parse).transpose()
}

/// Parses a variant of an enumeration.
pub fn one_of<T: FromStr<Err = String>>(scalar: &Scalar<'_>) -> Result<Option<T>, String> {
    match scalar {
        scalar if scalar.is_blank() => Ok(None),
        Scalar::Text(text) => text.trim().parse().map(Some),
        Scalar::Word(text) => text.parse().map(Some),
        // No variant is an empty string, so this fails with the list of variants.
        _ => "".parse().map(Some),
    }
}
