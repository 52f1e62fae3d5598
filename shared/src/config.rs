//! Configuration: read from the environment once, when a function starts.

use std::fmt;

/// What a function is told by its environment.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name (`TABLE_NAME`).
    pub table: String,
    /// The address that public links begin with, without a final slash (`BASE_URL`); where it is not given, the
    /// domain that the request came to.
    pub base_url: Option<String>,
    /// Another DynamoDB than AWS's (`DYNAMODB_ENDPOINT`), for `sam local invoke`.
    pub dynamodb_endpoint: Option<String>,
    /// Signs cursors (`SIGNING_KEY`, at least 32 characters).
    pub signing_key: Secret,
}

/// A value that never shows itself.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Hides `value`.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The hidden value.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Config {
    /// Reads the variables that `lookup` knows; says in a sentence which one is missing or wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let given = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let required =
            |name: &str| given(name).ok_or_else(|| format!("the environment variable {name} is not set"));
        let base_url = given("BASE_URL").map(|url| url.trim_end_matches('/').to_owned());
        if let Some(url) = &base_url
            && !url.starts_with("https://")
            && !url.starts_with("http://")
        {
            return Err(format!("BASE_URL must begin with https:// or http://, and is {url}"));
        }
        let signing_key = required("SIGNING_KEY")?;
        if signing_key.len() < 32 {
            return Err("SIGNING_KEY must have at least 32 characters".to_owned());
        }
        Ok(Self {
            table: required("TABLE_NAME")?,
            base_url,
            dynamodb_endpoint: given("DYNAMODB_ENDPOINT"),
            signing_key: Secret(signing_key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_variable_is_wrong() {
        let full = [
            ("TABLE_NAME", "t"),
            ("BASE_URL", "https://jobs.example/"),
            ("SIGNING_KEY", "0123456789abcdef0123456789abcdef"),
        ];
        let with = |name: &'static str, value: &'static str| {
            Config::read(move |asked| {
                full.iter()
                    .find(|(known, _)| *known == asked)
                    .map(|(known, given)| if *known == name { value } else { given }.to_owned())
            })
        };
        assert_eq!(with("", "").unwrap().base_url.as_deref(), Some("https://jobs.example"));
        assert_eq!(with("BASE_URL", "").unwrap().base_url, None);
        for (name, value) in
            [("TABLE_NAME", ""), ("BASE_URL", "jobs.example"), ("SIGNING_KEY", "short"), ("SIGNING_KEY", "")]
        {
            assert!(with(name, value).unwrap_err().contains(name), "{name}={value}");
        }
        assert_eq!(format!("{:?}", with("", "").unwrap().signing_key), "***");
    }
}
