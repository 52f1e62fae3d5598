//! Reading the input of a request and reporting all mistakes at once.
//!
//! An input takes its fields one by one from a JSON body, a query string or a form. Each invalid field adds a message with the
//! field's path, and so does each field that was not taken. The input is valid only if no messages were added.
//!
//! An input reads its fields through the trait [`Fields`]. The OpenAPI generator has another implementation, which
//! records the fields that an input takes.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Error, Parameters};
use crate::model::{Scalar, Value};

/// The maximum size of a JSON body, in bytes, unless a route takes more.
pub(super) const MAX_BODY: usize = 256 * 1024;

/// The input of a route.
pub trait Input: Sized {
    /// Whether this is the query of a list, which has a cursor.
    const IS_LIST: bool = false;
    /// The maximum size of the JSON body, in bytes.
    const MAX_BODY: usize = MAX_BODY;

    /// Takes all fields before it checks any of them. Returns `None` only after a message was added.
    fn read(fields: &mut impl Fields) -> Option<Self>;
}

/// The fields of one object, or of a query string.
pub trait Fields {
    /// A field that must be present and not blank.
    fn required<T: Value>(&mut self, name: &str) -> Option<T>;

    /// A field that may be absent, `null` or blank. All three have the same meaning.
    fn optional<T: Value>(&mut self, name: &str) -> Option<T>;

    /// An optional field of a PATCH.
    fn change<T: Value>(&mut self, name: &str) -> Change<T>;

    /// A field of a PATCH that cannot be cleared; `None` if it was not sent.
    fn replacement<T: Value>(&mut self, name: &str) -> Option<T>;

    /// An optional field with an array of at most `max` values, none of them `null` or blank.
    fn list<T: Value>(&mut self, name: &str, max: usize) -> Change<Vec<T>>;

    /// An optional field with an array of at most `max` objects.
    fn objects<T: Input>(&mut self, name: &str, max: usize) -> Option<Vec<T>> {
        match self.change_objects(name, max) {
            Change::Set(objects) => Some(objects),
            Change::Keep | Change::Clear => None,
        }
    }

    /// An optional field of a PATCH with an array of at most `max` objects.
    fn change_objects<T: Input>(&mut self, name: &str, max: usize) -> Change<Vec<T>>;

    /// An optional field with an array of at most `max` objects that are read later: their JSON.
    fn unread(&mut self, name: &str, max: usize) -> Option<Vec<String>>;

    /// An object that may be absent or `null`. Both mean an empty object.
    fn object<T: Input>(&mut self, name: &str) -> Option<T>;

    /// An object that may be absent or `null`. Both mean that there is none.
    fn optional_object<T: Input>(&mut self, name: &str) -> Option<T> {
        match self.change_object(name) {
            Change::Set(object) => Some(object),
            Change::Keep | Change::Clear => None,
        }
    }

    /// An optional object of a PATCH.
    fn change_object<T: Input>(&mut self, name: &str) -> Change<T>;

    /// The fields of another input, beside the other fields of this one. They have their own names.
    fn part<T: Input>(&mut self, _: &str) -> Option<T>
    where
        Self: Sized,
    {
        T::read(self)
    }

    /// Adds a message: the field's path and `problem`.
    fn fail<T>(&mut self, name: &str, problem: &str) -> Option<T>;
}

/// The name in a request of a field that [`input!`](crate::input) declares.
pub fn field_name(declared: &'static str) -> &'static str {
    declared.trim_start_matches("r#").trim_start_matches('_')
}

/// No fields.
impl Input for () {
    fn read(_: &mut impl Fields) -> Option<Self> {
        Some(())
    }
}

/// The change that a PATCH makes to an optional field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// The field was not sent.
    Keep,
    /// The field was `null` or blank.
    Clear,
    /// The field had a value.
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

    /// Converts the value.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Change<U> {
        match self {
            Self::Keep => Change::Keep,
            Self::Clear => Change::Clear,
            Self::Set(value) => Change::Set(convert(value)),
        }
    }
}

/// A field's value as sent.
enum RawField<'v> {
    Json(&'v RawValue),
    Word(&'v str),
}

/// The value of a field.
enum Field<T> {
    Absent,
    /// `null` or a blank string.
    Blank,
    Value(T),
    /// An invalid value, for which a message was added.
    Invalid,
}

/// The members of a JSON object, in the order in which they were sent.
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

/// Where fields come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A JSON object.
    Field,
    /// A query string.
    QueryParameter,
    /// A form. The members of an object have names such as `role.title`, and commas separate the values of a list. A field
    /// that was left empty is blank.
    FormField,
}

/// The fields that a client sent.
struct Reader<'m, 'v> {
    kind: Kind,
    prefix: String,
    fields: Vec<(Cow<'v, str>, RawField<'v>)>,
    messages: &'m mut Vec<String>,
}

/// The maximum number of messages in a response.
const MAX_MESSAGES: usize = 100;

/// The problem of a JSON string with half of a surrogate pair, such as `"\ud800"`.
const NOT_UNICODE: &str = "must be valid Unicode, without unpaired surrogates";

/// Reads a well-formed JSON body. An empty body counts as an object without fields. The query must be empty.
pub fn read_body<'q, I: Input>(
    body: &str,
    query: impl Iterator<Item = (&'q str, &'q str)>,
) -> Result<I, Error> {
    let mut messages = Vec::new();
    let members = if body.is_empty() { Ok(Members(Vec::new())) } else { serde_json::from_str(body) };
    let value = if let Ok(Members(members)) = members {
        let fields = members.into_iter().map(|(name, value)| (name, RawField::Json(value))).collect();
        Reader { kind: Kind::Field, prefix: String::new(), fields, messages: &mut messages }.read()
    } else {
        messages.push(format!("body {}", unreadable(body, "must be a JSON object")));
        None
    };
    query_reader(query, &mut messages).read::<()>();
    result(value, messages)
}

/// Reads the fields of a form.
pub fn read_form<I: Input>(form: &Parameters) -> Result<I, Error> {
    let mut messages = Vec::new();
    let fields = form.iter().map(|(name, value)| (Cow::Borrowed(name), RawField::Word(value))).collect();
    let reader = Reader { kind: Kind::FormField, prefix: String::new(), fields, messages: &mut messages };
    let value = reader.read();
    result(value, messages)
}

/// Reads decoded query parameters.
pub fn read_query<'q, I: Input>(query: impl Iterator<Item = (&'q str, &'q str)>) -> Result<I, Error> {
    let mut messages = Vec::new();
    let value = query_reader(query, &mut messages).read();
    result(value, messages)
}

fn query_reader<'m, 'q>(
    query: impl Iterator<Item = (&'q str, &'q str)>,
    messages: &'m mut Vec<String>,
) -> Reader<'m, 'q> {
    let fields = query.map(|(name, value)| (Cow::Borrowed(name), RawField::Word(value))).collect();
    Reader { kind: Kind::QueryParameter, prefix: String::new(), fields, messages }
}

/// The problem of a JSON value whose fields could not be read. For values other than objects, it is `expected`.
fn unreadable(json: &str, expected: &'static str) -> &'static str {
    if json.starts_with('{') { "must have field names in valid Unicode" } else { expected }
}

fn result<I>(value: Option<I>, mut messages: Vec<String>) -> Result<I, Error> {
    if let (Some(value), true) = (value, messages.is_empty()) {
        return Ok(value);
    }
    if messages.len() > MAX_MESSAGES {
        let omitted = messages.len() - MAX_MESSAGES;
        messages.truncate(MAX_MESSAGES);
        messages.push(format!("body has {omitted} more errors"));
    }
    Err(Error::Validation(messages))
}

impl<'v> Fields for Reader<'_, 'v> {
    fn required<T: Value>(&mut self, name: &str) -> Option<T> {
        match self.field(name) {
            Field::Value(value) => Some(value),
            Field::Invalid => None,
            Field::Absent | Field::Blank => self.fail(name, "can't be blank"),
        }
    }

    fn optional<T: Value>(&mut self, name: &str) -> Option<T> {
        match self.field(name) {
            Field::Value(value) => Some(value),
            Field::Absent | Field::Blank | Field::Invalid => None,
        }
    }

    fn change<T: Value>(&mut self, name: &str) -> Change<T> {
        match self.field(name) {
            Field::Value(value) => Change::Set(value),
            Field::Blank => Change::Clear,
            Field::Absent | Field::Invalid => Change::Keep,
        }
    }

    fn replacement<T: Value>(&mut self, name: &str) -> Option<T> {
        match self.field(name) {
            Field::Value(value) => Some(value),
            Field::Absent | Field::Invalid => None,
            Field::Blank => self.fail(name, "can't be blank"),
        }
    }

    fn list<T: Value>(&mut self, name: &str, max: usize) -> Change<Vec<T>> {
        let items = self.items(name, max);
        items.map(|items| {
            let value = |(name, item): (String, RawField<'v>)| match self.value(&name, &item) {
                Field::Value(value) => Some(value),
                Field::Invalid => None,
                Field::Absent | Field::Blank => self.fail(&name, "can't be blank"),
            };
            numbered(name, items).filter_map(value).collect()
        })
    }

    fn change_objects<T: Input>(&mut self, name: &str, max: usize) -> Change<Vec<T>> {
        let members = self.take_listed_members(name, max);
        if members.is_empty() {
            let items = self.items(name, max);
            return items.map(|items| {
                numbered(name, items).filter_map(|(name, item)| self.read_members(&name, &item)).collect()
            });
        }
        self.check_length(name, members.len(), max);
        let read = numbered(name, members).filter_map(|(name, members)| self.read_object(&name, members));
        Change::Set(read.collect())
    }

    fn unread(&mut self, name: &str, max: usize) -> Option<Vec<String>> {
        let Change::Set(items) = self.items(name, max) else { return None };
        let json = |(name, item): (String, RawField<'v>)| match item {
            RawField::Json(raw) if raw.get().starts_with('{') => Some(raw.get().to_owned()),
            _ => self.fail(&name, "must be an object"),
        };
        Some(numbered(name, items).filter_map(json).collect())
    }

    fn object<T: Input>(&mut self, name: &str) -> Option<T> {
        if self.kind == Kind::FormField {
            let members = self.take_members(name);
            return self.read_object(name, members);
        }
        match self.take(name) {
            Field::Absent | Field::Blank => self.read_object(name, Vec::new()),
            Field::Invalid => None,
            Field::Value(raw) => self.read_members(name, &raw),
        }
    }

    fn change_object<T: Input>(&mut self, name: &str) -> Change<T> {
        if self.kind == Kind::FormField {
            let members = self.take_members(name);
            let is_blank = |(_, value): &(_, RawField<'_>)| matches!(value, RawField::Word(word) if word.trim().is_empty());
            return match members.as_slice() {
                [] => Change::Keep,
                members if members.iter().all(is_blank) => Change::Clear,
                _ => self.read_object(name, members).map_or(Change::Keep, Change::Set),
            };
        }
        match self.take(name) {
            Field::Absent | Field::Invalid => Change::Keep,
            Field::Blank => Change::Clear,
            Field::Value(raw) => self.read_members(name, &raw).map_or(Change::Keep, Change::Set),
        }
    }

    fn fail<T>(&mut self, name: &str, problem: &str) -> Option<T> {
        self.messages.push(format!("{}{name} {problem}", self.prefix));
        None
    }
}

impl<'v> Reader<'_, 'v> {
    fn read<T: Input>(mut self) -> Option<T> {
        let value = T::read(&mut self);
        for (name, _) in std::mem::take(&mut self.fields) {
            let name: String = name.chars().take(100).collect();
            let problem = match self.kind {
                Kind::Field | Kind::FormField => "is not a known field",
                Kind::QueryParameter => "is not a known query parameter",
            };
            self.fail::<T>(&name, problem);
        }
        value
    }

    fn read_members<T: Input>(&mut self, name: &str, raw: &RawField<'v>) -> Option<T> {
        let RawField::Json(raw) = raw else { return self.fail(name, "must be an object") };
        match serde_json::from_str(raw.get()) {
            Ok(Members(members)) => {
                let members = members.into_iter().map(|(name, value)| (name, RawField::Json(value)));
                self.read_object(name, members.collect())
            }
            Err(_) => self.fail(name, unreadable(raw.get(), "must be an object")),
        }
    }

    /// Takes the items of an array with at most `max` of them.
    fn items(&mut self, name: &str, max: usize) -> Change<Vec<RawField<'v>>> {
        if self.kind == Kind::FormField {
            // Items that may contain a comma have fields of their own.
            let item = |index| match self.take(&format!("{name}[{index}]")) {
                Field::Value(item) => Some(item),
                Field::Absent | Field::Blank | Field::Invalid => None,
            };
            let items: Vec<_> = (0..=max).map_while(item).collect();
            if !items.is_empty() {
                self.check_length(name, items.len(), max);
                return Change::Set(items);
            }
        }
        let items = match self.take(name) {
            Field::Absent | Field::Invalid => return Change::Keep,
            Field::Blank => return Change::Clear,
            Field::Value(RawField::Json(raw)) if scalar(raw).is_some_and(|scalar| scalar.is_blank()) => {
                return Change::Clear;
            }
            Field::Value(RawField::Json(raw)) => {
                let items: Option<Vec<&RawValue>> = serde_json::from_str(raw.get()).ok();
                items.map(|items| items.into_iter().map(RawField::Json).collect::<Vec<_>>())
            }
            Field::Value(RawField::Word(words)) if self.kind == Kind::FormField => {
                let words = words.split(',').filter(|word| !word.trim().is_empty());
                Some(words.map(RawField::Word).collect())
            }
            Field::Value(RawField::Word(_)) => None,
        };
        if let Some(items) = items {
            self.check_length(name, items.len(), max);
            return Change::Set(items);
        }
        self.fail::<()>(name, "must be an array");
        Change::Keep
    }

    fn check_length(&mut self, name: &str, length: usize, max: usize) {
        if length > max {
            self.fail::<()>(name, &format!("must have at most {max} items"));
        }
    }

    /// Takes the fields of the objects in an array of a form, whose names begin with `locations[0].`, `locations[1].` and so on. Takes at
    /// most one object more than `max`.
    fn take_listed_members(&mut self, name: &str, max: usize) -> Vec<Vec<(Cow<'v, str>, RawField<'v>)>> {
        let mut objects = Vec::new();
        while self.kind == Kind::FormField && objects.len() <= max {
            let members = self.take_members(&format!("{name}[{}]", objects.len()));
            if members.is_empty() {
                break;
            }
            objects.push(members);
        }
        objects
    }

    /// Takes the fields of a form whose names begin with the name of an object.
    fn take_members(&mut self, name: &str) -> Vec<(Cow<'v, str>, RawField<'v>)> {
        let prefix = format!("{name}.");
        let is_member = |field: &(Cow<'v, str>, RawField<'v>)| field.0.starts_with(&prefix);
        let (members, others) = std::mem::take(&mut self.fields).into_iter().partition(is_member);
        self.fields = others;
        let members: Vec<(Cow<'v, str>, RawField<'v>)> = members;
        members.into_iter().map(|(field, value)| (field[prefix.len()..].to_owned().into(), value)).collect()
    }

    fn read_object<T: Input>(&mut self, name: &str, fields: Vec<(Cow<'v, str>, RawField<'v>)>) -> Option<T> {
        let kind = if self.kind == Kind::FormField { Kind::FormField } else { Kind::Field };
        let prefix = format!("{}{name}.", self.prefix);
        Reader { kind, prefix, fields, messages: self.messages }.read()
    }

    fn field<T: Value>(&mut self, name: &str) -> Field<T> {
        match self.take(name) {
            Field::Absent => Field::Absent,
            Field::Blank => Field::Blank,
            Field::Invalid => Field::Invalid,
            Field::Value(raw) => self.value(name, &raw),
        }
    }

    /// Parses a value.
    fn value<T: Value>(&mut self, name: &str, raw: &RawField<'v>) -> Field<T> {
        let scalar = match raw {
            RawField::Word(word) => Scalar::Word(word),
            RawField::Json(raw) if raw.get() == "null" => return Field::Blank,
            RawField::Json(raw) => {
                let Some(scalar) = scalar(raw) else {
                    self.fail::<T>(name, NOT_UNICODE);
                    return Field::Invalid;
                };
                scalar
            }
        };
        match T::read(&scalar) {
            Ok(Some(value)) => Field::Value(value),
            Ok(None) => Field::Blank,
            Err(problem) => {
                self.fail::<T>(name, &problem);
                Field::Invalid
            }
        }
    }

    fn take(&mut self, name: &str) -> Field<RawField<'v>> {
        let Some(index) = self.fields.iter().position(|(key, _)| key == name) else { return Field::Absent };
        let (_, value) = self.fields.remove(index);
        let before = self.fields.len();
        self.fields.retain(|(key, _)| key != name);
        match value {
            _ if self.fields.len() < before => {
                self.fail::<()>(name, "must be given only once");
                Field::Invalid
            }
            RawField::Json(raw) if raw.get() == "null" => Field::Blank,
            RawField::Word(word) if self.kind == Kind::FormField && word.trim().is_empty() => Field::Blank,
            value => Field::Value(value),
        }
    }
}

/// The items of an array with their names, such as `tags[0]`.
fn numbered<T>(name: &str, items: Vec<T>) -> impl Iterator<Item = (String, T)> {
    items.into_iter().enumerate().map(move |(index, item)| (format!("{name}[{index}]"), item))
}

/// Converts a JSON value other than `null` to a scalar. Returns `None` for a string that is not valid Unicode.
fn scalar(raw: &RawValue) -> Option<Scalar<'_>> {
    Some(match raw.get().as_bytes().first() {
        Some(b't') => Scalar::Bool(true),
        Some(b'f') => Scalar::Bool(false),
        Some(b'"') => Scalar::Text(serde_json::from_str(raw.get()).ok()?),
        Some(b'-' | b'0'..=b'9') => Scalar::Number(raw.get()),
        Some(b'[') => serde_json::from_str(raw.get()).map_or(Scalar::Other, Scalar::Texts),
        _ => Scalar::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::input;
    use crate::model::{RemotePolicy, Salary, Tag, Title};
    use proptest::prelude::*;

    input! {
        #[derive(Debug, PartialEq)]
        struct Example {
            title: required Title,
            salary: optional Salary,
            live: optional bool,
            policy: change RemotePolicy,
            inner: object Inner,
            extra: optional_object Extra,
        }

        #[derive(Debug, PartialEq)]
        struct Extra {
            id: required Id,
        }

        #[derive(Debug, PartialEq)]
        struct Inner {
            id: optional Id,
            tags: list Tag[2],
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
            .map(Salary::amount)
    }

    #[test]
    fn all_mistakes_are_reported_in_order() {
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
            (r#"{"title":"\ud800"}"#, "title must be valid Unicode, without unpaired surrogates"),
            (r#"{"title":"a","live":"\udc00x"}"#, "live must be valid Unicode, without unpaired surrogates"),
            (r#"{"title":"a","\ud800":1}"#, "body must have field names in valid Unicode"),
            (r#"{"title":"a","inner":{"\ud800":1}}"#, "inner must have field names in valid Unicode"),
            (r#"{"title":"a","title":"b"}"#, "title must be given only once"),
            (r#"{"title":"a","inner":[]}"#, "inner must be an object"),
            (r#"{"title":"a","extra":[]}"#, "extra must be an object"),
            (r#"{"title":"a","extra":"x"}"#, "extra must be an object"),
            (r#"{"title":"a","extra":{}}"#, "extra.id can't be blank"),
            (r#"{"title":"a","extra":{"id":1,"x":1}}"#, "extra.x is not a known field"),
            (r#"{"title":"a","extra":null,"extra":{"id":1}}"#, "extra must be given only once"),
        ] {
            assert_eq!(read(body).unwrap_err()[0], message, "{body}");
        }
    }

    #[test]
    fn whole_numbers_may_have_a_fraction_of_zero_or_an_exponent() {
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
    fn a_patch_distinguishes_absent_from_null() {
        let policy = |body: &str| read(body).unwrap().policy;
        assert_eq!(policy(r#"{"title":"x"}"#), Change::Keep);
        assert_eq!(policy(r#"{"title":"x","policy":null}"#), Change::Clear);
        assert_eq!(policy(r#"{"title":"x","policy":"hybrid"}"#), Change::Set(RemotePolicy::Hybrid));
    }

    #[test]
    fn all_mistakes_in_an_array_are_reported() {
        let read = |tags: &str| read(&format!(r#"{{"title":"x","inner":{{"tags":{tags}}}}}"#));
        let tags = |written: &str| read(written).unwrap().inner.tags;
        let tag = |text: &str| Tag::parse(text).unwrap().unwrap();
        assert_eq!(tags(r#"[" a", "b"]"#), Change::Set(vec![tag("a"), tag("b")]));
        assert_eq!(tags("[]"), Change::Set(Vec::new()));
        assert_eq!((tags("null"), tags(r#"" ""#)), (Change::Clear, Change::Clear));
        let long = "x".repeat(51);
        for (written, messages) in [
            ("{}", vec!["inner.tags must be an array"]),
            (r#""a,b""#, vec!["inner.tags must be an array"]),
            (
                &format!(r#"["{long}", null, 7, "\u200b", "\ud800", [], "ok"]"#),
                vec![
                    "inner.tags must have at most 2 items",
                    "inner.tags[0] must be at most 50 characters",
                    "inner.tags[1] can't be blank",
                    "inner.tags[2] must be a string",
                    "inner.tags[3] can't be blank",
                    "inner.tags[4] must be valid Unicode, without unpaired surrogates",
                    "inner.tags[5] must be a string",
                ],
            ),
        ] {
            assert_eq!(read(written).unwrap_err(), messages, "{written}");
        }
    }

    #[test]
    fn a_response_has_at_most_100_messages() {
        let members: Vec<_> = (0..5_000).map(|n| format!(r#""f{n}":0"#)).collect();
        let messages = read(&format!("{{{}}}", members.join(","))).unwrap_err();
        assert_eq!(messages.len(), 101);
        assert_eq!(messages[100], "body has 4901 more errors");
    }

    proptest! {
        #[test]
        fn any_json_can_be_read(depth in 0usize..20_000, text in "\\PC{0,40}") {
            let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            for body in [&nested, &format!(r#"{{"title":{nested}}}"#), &text] {
                if serde_json::from_str::<&RawValue>(body).is_ok() {
                    let _ = read(body);
                }
            }
        }
    }
}
