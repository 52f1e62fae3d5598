//! POST policies: the conditions that an upload form must meet.

use serde::Deserialize;
use serde_json::Value;
use shared::clock::Timestamp;

use super::error::S3Error;
use super::form::Form;

/// The policy of a form.
#[derive(Deserialize)]
pub(super) struct Policy {
    expiration: Timestamp,
    conditions: Vec<Value>,
}

enum Condition<'c> {
    Equals(&'c str, &'c str),
    StartsWith(&'c str, &'c str),
    Size(u64, u64),
}

impl Policy {
    /// Checks that the policy has not expired, that the form meets every condition, and that every field has one.
    pub(super) fn check(&self, bucket: &str, form: &Form, now: Timestamp) -> Result<(), S3Error> {
        if self.expiration <= now {
            return Err(S3Error::access_denied("Invalid according to Policy: Policy expired."));
        }
        let fields = &form.fields;
        let mut sizes = 0..=u64::MAX;
        let mut checked = Vec::new();
        for condition in &self.conditions {
            let parsed = Condition::parse(condition).ok_or_else(S3Error::invalid_policy)?;
            let (name, is_met) = match parsed {
                Condition::Size(min, max) => {
                    sizes = min.max(*sizes.start())..=max.min(*sizes.end());
                    continue;
                }
                Condition::Equals(name, value) => {
                    let name = name.to_ascii_lowercase();
                    let actual =
                        if name == "bucket" { Some(bucket) } else { fields.get(&name).map(String::as_str) };
                    (name, actual == Some(value))
                }
                Condition::StartsWith(name, prefix) => {
                    let name = name.to_ascii_lowercase();
                    let is_met = fields.get(&name).is_some_and(|actual| actual.starts_with(prefix));
                    (name, is_met)
                }
            };
            if !is_met {
                let message = format!("Invalid according to Policy: Policy Condition failed: {condition}");
                return Err(S3Error::access_denied(message));
            }
            checked.push(name);
        }
        if let Some(extra) = fields.keys().find(|name| !is_exempt(name) && !checked.contains(name)) {
            let message = format!("Invalid according to Policy: Extra input fields: {extra}");
            return Err(S3Error::access_denied(message));
        }
        if let Some(unsupported) = fields.keys().find(|name| !is_supported(name)) {
            return Err(S3Error::not_implemented(format!("The field {unsupported} is not supported here.")));
        }
        match u64::try_from(form.file.len()).unwrap_or(u64::MAX) {
            size if size < *sizes.start() => {
                Err(S3Error::new(400, "EntityTooSmall", "The file is too small."))
            }
            size if size > *sizes.end() => Err(S3Error::new(400, "EntityTooLarge", "The file is too large.")),
            _ => Ok(()),
        }
    }
}

/// Whether a field needs no condition.
fn is_exempt(name: &str) -> bool {
    matches!(name, "policy" | "x-amz-signature") || name.starts_with("x-ignore-")
}

fn is_supported(name: &str) -> bool {
    is_exempt(name)
        || matches!(name, "content-type" | "key" | "success_action_redirect" | "success_action_status")
        || matches!(name, "x-amz-algorithm" | "x-amz-credential" | "x-amz-date")
}

impl<'c> Condition<'c> {
    /// Parses a condition; `None` if it is malformed.
    fn parse(condition: &'c Value) -> Option<Self> {
        if let Some(pair) = condition.as_object() {
            let (name, value) = pair.iter().next().filter(|_| pair.len() == 1)?;
            return Some(Self::Equals(name, value.as_str()?));
        }
        let [operator, first, second] = condition.as_array()?.as_slice() else { return None };
        match operator.as_str()?.to_ascii_lowercase().as_str() {
            "eq" => Some(Self::Equals(first.as_str()?.strip_prefix('$')?, second.as_str()?)),
            "starts-with" => Some(Self::StartsWith(first.as_str()?.strip_prefix('$')?, second.as_str()?)),
            "content-length-range" => Some(Self::Size(first.as_u64()?, second.as_u64()?)),
            _ => None,
        }
    }
}
