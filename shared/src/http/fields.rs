//! Reading what clients send, all failures together.
//!
//! A request's fields, from a JSON body or a query string, are taken one by one; what is wrong with each is noted
//! under its path, what nobody took is unknown, and only a request without a note becomes a value.
//!
//! What a route takes is read from [`Fields`], which may also be those of nobody: whoever describes the API reads, and
//! learns what was asked for.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, Schema};

use super::Error;
use crate::clock::to_second;
use crate::id::Id;
use crate::model::schema::{PHONE_AS_TYPED, formatted, string};
use crate::model::{
    Email, Phone, RemotePolicy, RoleStatus, Salary, ScreenStatus, Stage, Style, Text, WebAddress,
};

/// What a route takes.
pub trait Input: Sized {
    /// Takes the fields that it knows, all of them before it looks at any; `None` only where a failure was noted.
    fn read(fields: &mut impl Fields) -> Option<Self>;
}

/// The fields of one object, or of a query string.
pub trait Fields {
    /// A field that must be there and not blank.
    fn required<T: Value>(&mut self, name: &str) -> Option<T>;

    /// A field that may be absent, `null` or blank, which all mean the same.
    fn optional<T: Value>(&mut self, name: &str) -> Option<T>;

    /// An optional field of a PATCH.
    fn change<T: Value>(&mut self, name: &str) -> Change<T>;

    /// A field of a PATCH that cannot be cleared; `None` where it was not sent.
    fn replacement<T: Value>(&mut self, name: &str) -> Option<T>;

    /// An object that may be absent or `null`, which both mean an empty one.
    fn object<T: Input>(&mut self, name: &str) -> Option<T>;

    /// Notes what is wrong with a field, or with its part in the whole.
    fn fail<T>(&mut self, name: &str, what: &str) -> Option<T>;
}

/// Nothing is taken.
impl Input for () {
    fn read(_: &mut impl Fields) -> Option<Self> {
        Some(())
    }
}

/// A field's value before anything is made of it.
#[derive(Debug)]
pub enum Scalar<'v> {
    /// A JSON string.
    Text(String),
    /// A JSON number, as it was written.
    Number(&'v str),
    /// A JSON boolean.
    Bool(bool),
    /// A query parameter.
    Word(&'v str),
    /// A JSON object, array, or string that is not Unicode text.
    Other,
}

/// A type that a field can have.
pub trait Value: Sized {
    /// The value, `None` for a blank one, or what is wrong with it.
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String>;

    /// What is read as a value, blank ones aside.
    fn schema() -> RefOr<Schema>;
}

/// What a PATCH does to an optional field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// It was not sent.
    Keep,
    /// `null` or blank.
    Clear,
    /// A value.
    Set(T),
}

impl<T> Change<T> {
    /// The field's value after the change.
    pub fn apply(self, current: Option<T>) -> Option<T> {
        match self {
            Self::Keep => current,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }
}

enum Given<'v> {
    Json(&'v RawValue),
    Word(&'v str),
}

/// What came under a name.
enum Sent<T> {
    Absent,
    /// `null`, or a string without content.
    Blank,
    Value(T),
    /// Something else; the failure has been noted.
    Refused,
}

/// An object's members, in the order in which they were sent.
struct Members<'v>(Vec<(Cow<'v, str>, &'v RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    members.push((Cow::Owned(name), value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The fields that a client has sent.
struct Reader<'m, 'v> {
    prefix: String,
    given: Vec<(Cow<'v, str>, Given<'v>)>,
    messages: &'m mut Vec<String>,
}

/// More than this many messages help nobody.
const MAX_MESSAGES: usize = 100;

/// Reads a JSON body, which is known to be well-formed, beside a query that must be empty. An empty body is an object
/// without fields.
pub(super) fn read_body<'q, I: Input>(
    body: &str,
    query: impl Iterator<Item = (&'q str, &'q str)>,
) -> Result<I, Error> {
    let mut messages = Vec::new();
    let members = if body.is_empty() { Ok(Members(Vec::new())) } else { serde_json::from_str(body) };
    let value = if let Ok(Members(members)) = members {
        let given = members.into_iter().map(|(name, value)| (name, Given::Json(value))).collect();
        Reader { prefix: String::new(), given, messages: &mut messages }.read()
    } else {
        messages.push("body must be a JSON object".to_owned());
        None
    };
    words(query, &mut messages).read::<()>();
    settled(value, messages)
}

/// Reads query parameters, which come decoded.
pub(super) fn read_query<'q, I: Input>(query: impl Iterator<Item = (&'q str, &'q str)>) -> Result<I, Error> {
    let mut messages = Vec::new();
    let value = words(query, &mut messages).read();
    settled(value, messages)
}

fn words<'m, 'q>(
    query: impl Iterator<Item = (&'q str, &'q str)>,
    messages: &'m mut Vec<String>,
) -> Reader<'m, 'q> {
    let given = query.map(|(name, value)| (Cow::Borrowed(name), Given::Word(value))).collect();
    Reader { prefix: String::new(), given, messages }
}

fn settled<I>(value: Option<I>, mut messages: Vec<String>) -> Result<I, Error> {
    if let (Some(value), true) = (value, messages.is_empty()) {
        return Ok(value);
    }
    if messages.len() > MAX_MESSAGES {
        let left_out = messages.len() - MAX_MESSAGES;
        messages.truncate(MAX_MESSAGES);
        messages.push(format!("body has {left_out} more failures"));
    }
    Err(Error::Validation(messages))
}

impl Fields for Reader<'_, '_> {
    fn required<T: Value>(&mut self, name: &str) -> Option<T> {
        match self.field(name) {
            Sent::Value(value) => Some(value),
            Sent::Refused => None,
            Sent::Absent | Sent::Blank => self.fail(name, "can't be blank"),
        }
    }

    fn optional<T: Value>(&mut self, name: &str) -> Option<T> {
        match self.field(name) {
            Sent::Value(value) => Some(value),
            Sent::Absent | Sent::Blank | Sent::Refused => None,
        }
    }

    fn change<T: Value>(&mut self, name: &str) -> Change<T> {
        match self.field(name) {
            Sent::Value(value) => Change::Set(value),
            Sent::Blank => Change::Clear,
            Sent::Absent | Sent::Refused => Change::Keep,
        }
    }

    fn replacement<T: Value>(&mut self, name: &str) -> Option<T> {
        match self.field(name) {
            Sent::Value(value) => Some(value),
            Sent::Absent | Sent::Refused => None,
            Sent::Blank => self.fail(name, "can't be blank"),
        }
    }

    fn object<T: Input>(&mut self, name: &str) -> Option<T> {
        let members = match self.take(name) {
            Sent::Absent | Sent::Blank => Members(Vec::new()),
            Sent::Refused => return None,
            Sent::Value(Given::Json(raw)) => match serde_json::from_str(raw.get()) {
                Ok(members) => members,
                Err(_) => return self.fail(name, "must be an object"),
            },
            Sent::Value(Given::Word(_)) => return self.fail(name, "must be an object"),
        };
        let given = members.0.into_iter().map(|(name, value)| (name, Given::Json(value))).collect();
        Reader { prefix: format!("{}{name}.", self.prefix), given, messages: self.messages }.read()
    }

    fn fail<T>(&mut self, name: &str, what: &str) -> Option<T> {
        self.messages.push(format!("{}{name} {what}", self.prefix));
        None
    }
}

impl<'v> Reader<'_, 'v> {
    fn read<T: Input>(mut self) -> Option<T> {
        let value = T::read(&mut self);
        for (name, _) in std::mem::take(&mut self.given) {
            let name: String = name.chars().take(100).collect();
            self.fail::<T>(&name, "is not a known field");
        }
        value
    }

    fn field<T: Value>(&mut self, name: &str) -> Sent<T> {
        let scalar = match self.take(name) {
            Sent::Absent => return Sent::Absent,
            Sent::Blank => return Sent::Blank,
            Sent::Refused => return Sent::Refused,
            Sent::Value(Given::Word(word)) => Scalar::Word(word),
            Sent::Value(Given::Json(raw)) => scalar(raw),
        };
        match T::read(&scalar) {
            Ok(Some(value)) => Sent::Value(value),
            Ok(None) => Sent::Blank,
            Err(what) => {
                self.fail::<T>(name, &what);
                Sent::Refused
            }
        }
    }

    fn take(&mut self, name: &str) -> Sent<Given<'v>> {
        let Some(at) = self.given.iter().position(|(given, _)| given == name) else { return Sent::Absent };
        let (_, value) = self.given.remove(at);
        let before = self.given.len();
        self.given.retain(|(given, _)| given != name);
        match value {
            _ if self.given.len() < before => {
                self.fail::<()>(name, "must be given once");
                Sent::Refused
            }
            Given::Json(raw) if raw.get() == "null" => Sent::Blank,
            value => Sent::Value(value),
        }
    }
}

/// A JSON value other than `null`, as a scalar.
fn scalar(raw: &RawValue) -> Scalar<'_> {
    match raw.get().as_bytes().first() {
        Some(b't') => Scalar::Bool(true),
        Some(b'f') => Scalar::Bool(false),
        Some(b'"') => serde_json::from_str(raw.get()).map_or(Scalar::Other, Scalar::Text),
        Some(b'-' | b'0'..=b'9') => Scalar::Number(raw.get()),
        _ => Scalar::Other,
    }
}

impl<const MAX: usize> Value for Text<MAX> {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Text(text) => Self::parse(text),
            Scalar::Word(text) => Self::parse(text),
            _ => Err("must be a string".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

impl Value for bool {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Bool(value) => Ok(Some(*value)),
            Scalar::Word("true") => Ok(Some(true)),
            Scalar::Word("false") => Ok(Some(false)),
            _ => Err("must be true or false".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

impl Value for Salary {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let salary = whole_number(scalar).and_then(Self::new);
        salary.map(Some).ok_or_else(|| format!("must be a whole number from 0 to {}", Self::MAX))
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

impl Value for Id {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let id = whole_number(scalar).and_then(|number| u64::try_from(number).ok()).and_then(Self::new);
        id.map(Some).ok_or_else(|| format!("must be a whole number from 1 to {}", Self::MAX))
    }

    fn schema() -> RefOr<Schema> {
        <Self as PartialSchema>::schema()
    }
}

/// Values that are read by their own `FromStr`: words of an enumeration, and texts of a certain form.
macro_rules! values {
    ($read:ident: $($value:ty),+) => {
        $(impl Value for $value {
            fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
                $read(scalar)
            }

            fn schema() -> RefOr<Schema> {
                <Self as PartialSchema>::schema()
            }
        })+
    };
}

values!(one_of: RemotePolicy, RoleStatus, ScreenStatus, Stage, Style);
values!(parsed: Email, WebAddress);

impl Value for Phone {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        parsed(scalar)
    }

    fn schema() -> RefOr<Schema> {
        string().pattern(Some(PHONE_AS_TYPED)).into()
    }
}

impl Value for Date {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let Some(text) = text(scalar)? else { return Ok(None) };
        let date = text.parse::<Self>().ok().filter(|date| date.to_string() == text && date.year() > 0);
        date.map(Some).ok_or_else(|| "must be a date, such as 2026-11-20".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        formatted(KnownFormat::Date).into()
    }
}

impl Value for Timestamp {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        let Some(text) = text(scalar)? else { return Ok(None) };
        let time = is_date_time(text).then(|| text.parse().ok()).flatten().map(to_second);
        time.map(Some).ok_or_else(|| "must be a time, such as 2026-11-20T09:30:00Z".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        formatted(KnownFormat::DateTime).into()
    }
}

/// Whether it has the form of RFC 3339, section 5.6: one of the many that ISO 8601 has.
fn is_date_time(text: &str) -> bool {
    let form: String =
        text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c.to_ascii_uppercase() }).collect();
    let Some(rest) = form.strip_prefix("0000-00-00T00:00:00") else { return false };
    let fraction = rest.strip_prefix('.').filter(|rest| rest.starts_with('0'));
    ["Z", "+00:00", "-00:00"].contains(&fraction.map_or(rest, |rest| rest.trim_start_matches('0')))
}

/// A string's content; `None` where it is blank.
fn text<'s>(scalar: &'s Scalar<'_>) -> Result<Option<&'s str>, String> {
    match scalar {
        Scalar::Text(text) => Ok(Some(text.trim())),
        Scalar::Word(text) => Ok(Some(text.trim())),
        _ => Err("must be a string".to_owned()),
    }
    .map(|text| text.filter(|text| !text.is_empty()))
}

fn parsed<T: std::str::FromStr<Err = String>>(scalar: &Scalar<'_>) -> Result<Option<T>, String> {
    text(scalar)?.map(str::parse).transpose()
}

fn one_of<T: std::str::FromStr<Err = String>>(scalar: &Scalar<'_>) -> Result<Option<T>, String> {
    match scalar {
        Scalar::Text(text) => text.trim().parse().map(Some),
        Scalar::Word(text) => text.parse().map(Some),
        // An empty string is no member of any enumeration: the answer names those that are.
        _ => "".parse().map(Some),
    }
}

/// A number without a fraction, however JSON writes it (`17`, `17.0`, `1.7e1`), that a double holds exactly; of a
/// query parameter, only decimal digits.
fn whole_number(scalar: &Scalar<'_>) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match scalar {
        Scalar::Word(word) if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok(),
        Scalar::Number(written) => written.parse().ok().or_else(|| {
            let number: f64 = written.parse().ok()?;
            let whole = number.fract() == 0.0 && number.abs() < EXACT;
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
            whole.then_some(number as i64)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Title;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq)]
    struct Example {
        title: Title,
        salary: Option<Salary>,
        live: Option<bool>,
        policy: Change<RemotePolicy>,
        inner: Inner,
    }

    #[derive(Debug, PartialEq)]
    struct Inner(Option<Id>);

    impl Input for Inner {
        fn read(fields: &mut impl Fields) -> Option<Self> {
            Some(Self(fields.optional("id")))
        }
    }

    impl Input for Example {
        fn read(fields: &mut impl Fields) -> Option<Self> {
            let title = fields.required("title");
            let salary = fields.optional("salary");
            let live = fields.optional("live");
            let policy = fields.change("policy");
            let inner = fields.object("inner");
            Some(Self { title: title?, salary, live, policy, inner: inner? })
        }
    }

    fn read(body: &str) -> Result<Example, Vec<String>> {
        read_body(body, std::iter::empty()).map_err(|error| match error {
            Error::Validation(messages) => messages,
            other => panic!("{other}"),
        })
    }

    fn salary(written: &str) -> Option<u32> {
        read(&format!(r#"{{"title":"x","salary":{written}}}"#))
            .ok()
            .and_then(|example| example.salary)
            .map(Salary::dollars)
    }

    #[test]
    fn all_failures_come_together_in_order() {
        let body = r#"{"titel":"x","salary":-1,"live":"yes","policy":"moon","inner":{"id":1.5,"x":1}}"#;
        assert_eq!(
            read(body).unwrap_err(),
            [
                "title can't be blank",
                "salary must be a whole number from 0 to 100000000",
                "live must be true or false",
                "policy must be one of onsite, hybrid, remote",
                "inner.id must be a whole number from 1 to 9007199254740991",
                "inner.x is not a known field",
                "titel is not a known field",
            ]
        );
        for body in ["", "{}", r#"{"title":null}"#, r#"{"title":"  "}"#] {
            assert_eq!(read(body).unwrap_err(), ["title can't be blank"]);
        }
        for (body, message) in [
            ("[]", "body must be a JSON object"),
            ("null", "body must be a JSON object"),
            (r#"{"title":7}"#, "title must be a string"),
            (r#"{"title":"\ud800"}"#, "title must be a string"),
            (r#"{"title":"a","title":"b"}"#, "title must be given once"),
            (r#"{"title":"a","inner":[]}"#, "inner must be an object"),
        ] {
            assert_eq!(read(body).unwrap_err()[0], message, "{body}");
        }
    }

    #[test]
    fn numbers_are_whole_however_they_are_written() {
        for (written, dollars) in
            [("17", 17), ("17.0", 17), ("1.7e1", 17), ("0", 0), ("-0", 0), ("100000000", 100_000_000)]
        {
            assert_eq!(salary(written), Some(dollars), "{written}");
        }
        for written in [
            "1e400",
            "-1e400",
            "1.5",
            "-1",
            "9007199254740993",
            "99999999999999999999",
            "\"17\"",
            "true",
            "[]",
        ] {
            assert_eq!(salary(written), None, "{written}");
        }
    }

    #[test]
    fn a_patch_tells_absent_from_null() {
        let policy = |body: &str| read(body).unwrap().policy;
        assert_eq!(policy(r#"{"title":"x"}"#), Change::Keep);
        assert_eq!(policy(r#"{"title":"x","policy":null}"#), Change::Clear);
        assert_eq!(policy(r#"{"title":"x","policy":"hybrid"}"#), Change::Set(RemotePolicy::Hybrid));
    }

    #[test]
    fn many_failures_are_cut_short() {
        let members: Vec<_> = (0..5_000).map(|n| format!(r#""f{n}":0"#)).collect();
        let messages = read(&format!("{{{}}}", members.join(","))).unwrap_err();
        assert_eq!(messages.len(), 101);
        assert_eq!(messages[100], "body has 4901 more failures");
    }

    proptest! {
        #[test]
        fn any_json_is_answered(depth in 0usize..20_000, text in "\\PC{0,40}") {
            let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            for body in [&nested, &format!(r#"{{"title":{nested}}}"#), &text] {
                if serde_json::from_str::<&RawValue>(body).is_ok() {
                    let _ = read(body);
                }
            }
        }
    }
}
