//! Parameters of a query or a form, as browsers and OAuth clients send them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

/// Names and values, in the order in which they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads `application/x-www-form-urlencoded` text; any bytes are some parameters.
    pub fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value under a name; empty where there is none.
    pub fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// Every value under a name.
    pub fn all<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A value that was sent and is not empty (RFC 6749, section 3.1, treats the two alike).
    pub fn given(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|value| !value.is_empty())
    }

    /// What was sent and is not empty, as `T` has it: a list where a name was sent more than once.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        let mut fields = Map::new();
        for (name, value) in self.0.iter().filter(|(_, value)| !value.is_empty()) {
            let value = Value::from(value.as_str());
            match fields.get_mut(name) {
                None => drop(fields.insert(name.clone(), value)),
                Some(Value::Array(values)) => values.push(value),
                Some(first) => *first = vec![first.take(), value].into(),
            }
        }
        serde_json::from_value(fields.into())
    }

    /// A name that was sent more than once, among these.
    pub fn repeated<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.all(name).nth(1).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_some_parameters(bytes: Vec<u8>) {
            let _ = Parameters::parse(&bytes).get("a");
        }
    }

    #[test]
    fn values_are_found_by_name() {
        let given = Parameters::parse(b"a=1&b=%26+x&a=2&c=&d");
        assert_eq!((given.get("a"), given.get("b"), given.get("c"), given.get("e")), ("1", "& x", "", ""));
        assert_eq!(given.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!((given.given("b"), given.given("c"), given.given("d")), (Some("& x"), None, None));
        let read: Value = given.read().unwrap();
        assert_eq!(read, serde_json::json!({ "a": ["1", "2"], "b": "& x" }));
        assert_eq!((given.repeated(&["b", "a"]), given.repeated(&["b", "c"])), (Some("a"), None));
    }
}
