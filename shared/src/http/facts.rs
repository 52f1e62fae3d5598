//! What a member reads before a confirmation: texts with their labels.

use serde_json::{Map, Value};

use crate::invisible::is_invisible;
use crate::store::Fact;

/// The fields that a question says in other words.
const SAID: [&str; 2] = ["role_id", "job_posting_id"];

/// Everything that the fields of a call say.
pub(super) fn of_call(call: &Map<String, Value>) -> Vec<Fact> {
    let said = |(name, _): &(&String, &Value)| SAID.contains(&name.as_str());
    let mut facts = of(call.iter().filter(|field| !said(field)));
    let emptied = call.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name.as_str());
    let emptied: Vec<_> = emptied.collect();
    if !emptied.is_empty() {
        facts.push(fact("emptied", &emptied.join(", ")));
    }
    facts
}

/// Everything that the fields of an object say. A field of an object in it is called by both names.
pub fn of<'f>(fields: impl Iterator<Item = (&'f String, &'f Value)>) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (name, value) in fields {
        add(name, value, &mut facts);
    }
    facts
}

/// A text with its label.
pub fn fact(name: &str, text: &str) -> Fact {
    let words = name.replace(['_', '.'], " ");
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    Fact {
        label: first.into_iter().chain(letters).collect(),
        text: text.chars().filter(|c| !is_invisible(*c)).collect(),
    }
}

/// An item of a list in words. An object is the texts in it.
fn item(item: &Value) -> String {
    match item {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        item => item.to_string(),
    }
}

fn add(name: &str, value: &Value, facts: &mut Vec<Fact>) {
    let text = match value {
        Value::Null => return,
        Value::Object(fields) => {
            for (field, value) in fields {
                add(&format!("{name}.{field}"), value, facts);
            }
            return;
        }
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(item).collect::<Vec<_>>().join(", "),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    facts.push(fact(name, &text));
}
