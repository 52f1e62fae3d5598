//! The fence around the text of strangers. What candidates wrote, and what others wrote about them, is only inside a field
//! called `untrusted`. No text in an answer has characters that change or hide what a reader sees.

use serde_json::{Map, Value};
use shared::invisible::is_invisible;

/// The end of a text that was cut.
const CUT: &str = "… (cut)";

/// Copies fields of a resource that are no text of strangers: identifiers, states, times, and text of the hiring team.
/// Fields without a value are left out.
pub(super) fn trusted(resource: &Value, names: &[&str]) -> Map<String, Value> {
    let field = |name: &&str| {
        let value = resource.get(*name).filter(|value| !value.is_null())?;
        Some(((*name).to_owned(), value.clone()))
    };
    names.iter().filter_map(field).collect()
}

/// Copies fields with text of strangers, each text with at most `max` characters. Fields without a value are left out.
pub(super) fn untrusted(resource: &Value, names: &[&str], max: usize) -> Map<String, Value> {
    let fields = trusted(resource, names).into_iter();
    fields.map(|(name, value)| (name, clean(value, max))).collect()
}

/// The same value without invisible characters. Each text has at most `max` characters.
pub(super) fn clean(value: Value, max: usize) -> Value {
    match value {
        Value::String(text) => clean_text(&text, max).into(),
        Value::Array(items) => items.into_iter().map(|item| clean(item, max)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (clean_text(&name, max), clean(value, max))).collect()
        }
        value => value,
    }
}

/// The same text without invisible characters, and with at most `max` characters.
pub(crate) fn clean_text(text: &str, max: usize) -> String {
    let mut visible = text.chars().filter(|c| !is_invisible(*c));
    let mut kept: String = visible.by_ref().take(max).collect();
    if visible.next().is_some() {
        kept.push_str(CUT);
    }
    kept
}
