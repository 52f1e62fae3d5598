//! Parameters of a query or a form, as browsers and OAuth clients send them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

/// Names and values, in the order in which they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses `application/x-www-form-urlencoded` text. Any bytes are valid.
    pub fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value with this name; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All values with this name.
    pub fn all<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value with this name, unless it is empty (RFC 6749, section 3.1, treats empty values as omitted).
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|value| !value.is_empty())
    }

    /// Deserializes the parameters that are not empty. A repeated name becomes a list.
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

    /// The first of these names that was sent more than once.
    pub fn repeated<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.all(name).nth(1).is_some())
    }
}

impl FromIterator<(String, String)> for Parameters {
    fn from_iter<P: IntoIterator<Item = (String, String)>>(pairs: P) -> Self {
        Self(pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_can_be_parsed(bytes: Vec<u8>) {
            let _ = Parameters::parse(&bytes).get("a");
        }
    }

    #[test]
    fn parameters_are_read_by_name() {
        let parameters = Parameters::parse(b"a=1&b=%26+x&a=2&c=&d");
        assert_eq!(
            (parameters.get("a"), parameters.get("b"), parameters.get("c"), parameters.get("e")),
            ("1", "& x", "", "")
        );
        assert_eq!(parameters.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(
            (parameters.non_empty("b"), parameters.non_empty("c"), parameters.non_empty("d")),
            (Some("& x"), None, None)
        );
        let read: Value = parameters.read().unwrap();
        assert_eq!(read, serde_json::json!({ "a": ["1", "2"], "b": "& x" }));
        assert_eq!((parameters.repeated(&["b", "a"]), parameters.repeated(&["b", "c"])), (Some("a"), None));
    }
}
