//! The changes from one version of an item to the next, as an update expression.
//!
//! An update writes only what has changed, so it keeps all attributes that this release does not know, at any depth. A newer
//! release that is deployed or rolled back beside this one loses nothing.

use std::collections::HashMap;
use std::fmt::Write;

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;
use super::item::number;
use super::keys::{EXPIRES_AT, FILTER, PK, REAPPLIED, SK, STATUS_FILTER};

/// The maximum number of changes in one expression. DynamoDB allows 4 KB and 300 operators.
const MAX_CHANGES: usize = 100;
/// The attribute that identifies the elements of a list.
const ID: &str = "id";
/// What an item has only for a time, and is left out where there is none: of an application who rejected it and why, and its
/// resume file; of a candidate that there are notes.
const FOR_A_TIME: [&str; 4] = ["rejected_by", "rejection_reason_id", "resume_file_id", "has_notes"];

/// An update expression with its names and values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Changes {
    pub(super) expression: String,
    pub(super) names: HashMap<String, String>,
    pub(super) values: HashMap<String, AttributeValue>,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Attribute(String),
    Element(usize),
}

/// A new value at a path; `None` removes it.
type Change = (Vec<Step>, Option<AttributeValue>);

impl Changes {
    /// What turns the item `before` into `after`, which has the same key.
    pub(super) fn between(before: &Item, after: &Item) -> Self {
        let mut changes = Vec::new();
        compare_maps(&[], before, after, &mut changes);
        if changes.len() > MAX_CHANGES {
            changes.clear();
            for name in names_of(before, after).filter(|name| before.get(*name) != after.get(*name)) {
                changes.push((vec![Step::Attribute(name.clone())], after.get(name).cloned()));
            }
        }
        Self::of(changes)
    }

    /// What gives an item all attributes of `item`, whether it exists or not. An attribute that puts an item into an index,
    /// lets it expire, marks it, or that it has only for a time is removed unless `item` has it.
    pub(super) fn to(item: Item) -> Self {
        let marks = [FILTER, STATUS_FILTER, EXPIRES_AT, REAPPLIED];
        let absent = marks.into_iter().chain(FOR_A_TIME).filter(|name| !item.contains_key(*name));
        let removed: Vec<_> = absent.map(|name| (vec![Step::Attribute(name.to_owned())], None)).collect();
        let kept = item.into_iter().filter(|(name, _)| !is_key(name));
        let set = kept.map(|(name, value)| (vec![Step::Attribute(name)], Some(value)));
        Self::of(set.chain(removed).collect())
    }

    /// What sets one attribute.
    pub(super) fn set(name: &str, value: AttributeValue) -> Self {
        Self::to_attributes([(name.to_owned(), value)])
    }

    /// What sets these attributes.
    pub(super) fn to_attributes(attributes: impl IntoIterator<Item = (String, AttributeValue)>) -> Self {
        let set = attributes.into_iter().map(|(name, value)| (vec![Step::Attribute(name)], Some(value)));
        Self::of(set.collect())
    }

    /// What sets these attributes in a map, which exists.
    pub(super) fn within(map: &str, attributes: Item) -> Self {
        let path = |name| vec![Step::Attribute(map.to_owned()), Step::Attribute(name)];
        Self::of(attributes.into_iter().map(|(name, value)| (path(name), Some(value))).collect())
    }

    /// The same changes, which also add to a number that they do not set. An item that lacks it has 0.
    pub(super) fn adding(mut self, name: &str, by: u64) -> Self {
        push_clause(&mut self.expression, "ADD #added :added");
        self.names.insert("#added".to_owned(), name.to_owned());
        self.values.insert(":added".to_owned(), number(by));
        self
    }

    fn of(mut changes: Vec<Change>) -> Self {
        // The order of a map's attributes is random.
        changes.sort_by_cached_key(|(path, _)| format!("{path:?}"));
        let mut built = Self::default();
        let (mut set, mut remove) = (String::new(), String::new());
        for (path, value) in changes {
            let path = built.path(path);
            match value {
                Some(value) => {
                    let name = format!(":u{}", built.values.len());
                    push(&mut set, "SET ", &format!("{path} = {name}"));
                    built.values.insert(name, value);
                }
                None => push(&mut remove, "REMOVE ", &path),
            }
        }
        for clause in [set, remove].iter().filter(|clause| !clause.is_empty()) {
            push_clause(&mut built.expression, clause);
        }
        built
    }

    /// Writes a path, with a placeholder for each name.
    fn path(&mut self, steps: Vec<Step>) -> String {
        let mut text = String::new();
        for step in steps {
            match step {
                Step::Element(index) => _ = write!(text, "[{index}]"),
                Step::Attribute(name) => {
                    let known = self.names.iter().find(|(_, known)| **known == name);
                    let placeholder = known.map(|(placeholder, _)| placeholder.clone());
                    let placeholder = placeholder.unwrap_or_else(|| format!("#u{}", self.names.len()));
                    let separator = if text.is_empty() { "" } else { "." };
                    text = text + separator + &placeholder;
                    self.names.insert(placeholder, name);
                }
            }
        }
        text
    }
}

fn push(clause: &mut String, keyword: &str, part: &str) {
    clause.push_str(if clause.is_empty() { keyword } else { ", " });
    clause.push_str(part);
}

fn push_clause(expression: &mut String, clause: &str) {
    if !expression.is_empty() {
        expression.push(' ');
    }
    expression.push_str(clause);
}

fn is_key(name: &str) -> bool {
    name == PK || name == SK
}

fn names_of<'i>(before: &'i Item, after: &'i Item) -> impl Iterator<Item = &'i String> {
    before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)))
}

fn compare_maps(path: &[Step], before: &Item, after: &Item, changes: &mut Vec<Change>) {
    for name in names_of(before, after) {
        let path = [path, &[Step::Attribute(name.clone())]].concat();
        compare(path, before.get(name), after.get(name), changes);
    }
}

fn compare(
    path: Vec<Step>,
    before: Option<&AttributeValue>,
    after: Option<&AttributeValue>,
    changes: &mut Vec<Change>,
) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(AttributeValue::M(before)), Some(AttributeValue::M(after))) => {
            compare_maps(&path, before, after, changes);
        }
        (Some(AttributeValue::L(before)), Some(AttributeValue::L(after))) if begins_with(after, before) => {
            for (index, value) in after.iter().enumerate() {
                let path = [&*path, &[Step::Element(index)]].concat();
                compare(path, before.get(index), Some(value), changes);
            }
        }
        (_, after) => changes.push((path, after.cloned())),
    }
}

/// Whether a list begins with the elements of an earlier version of it, which may have changed.
fn begins_with(list: &[AttributeValue], earlier: &[AttributeValue]) -> bool {
    let id = |element: &AttributeValue| element.as_m().ok().and_then(|map| map.get(ID).cloned());
    list.len() >= earlier.len()
        && earlier.iter().zip(list).all(|(old, new)| old == new || (id(old).is_some() && id(old) == id(new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: serde_json::Value) -> Item {
        serde_dynamo::to_item(json).unwrap()
    }

    /// The expression with its names and values in place.
    fn text(changes: &Changes) -> String {
        let mut text = changes.expression.clone();
        for (placeholder, name) in &changes.names {
            text = text.replace(placeholder, name);
        }
        for (placeholder, value) in &changes.values {
            let value: serde_json::Value = serde_dynamo::from_attribute_value(value.clone()).unwrap();
            text = text.replace(placeholder, &value.to_string());
        }
        text
    }

    #[test]
    fn only_what_has_changed_is_written() {
        use serde_json::json;
        let before = json!({
            "pk": "1", "sk": "2", "version": 1, "same": [1], "gone": true,
            "profile": { "name": "Ada", "tags": ["x"], "phone": null },
            "list": [{ "id": 1, "stage": "applied" }, { "id": 2, "stage": "offer" }],
            "shorter": [{ "id": 1 }, { "id": 2 }],
            "plain": [1, 2],
        });
        let after = json!({
            "pk": "1", "sk": "2", "version": 2, "same": [1],
            "profile": { "name": "Ada L.", "tags": ["x", "y"], "phone": { "number": "+1" } },
            "list": [{ "id": 1, "stage": "applied" }, { "id": 2, "stage": "hired" }, { "id": 3 }],
            "shorter": [{ "id": 2 }],
            "plain": [2, 2],
        });
        let changes = Changes::between(&item(before.clone()), &item(after));
        assert_eq!(
            text(&changes),
            "SET list[1].stage = \"hired\", list[2] = {\"id\":3}, plain = [2,2], profile.name = \"Ada L.\", \
             profile.phone = {\"number\":\"+1\"}, profile.tags[1] = \"y\", shorter = [{\"id\":2}], version = 2 \
             REMOVE gone"
        );
        assert_eq!(Changes::between(&item(before.clone()), &item(before)), Changes::default());
    }

    #[test]
    fn a_change_can_add_to_a_number() {
        use serde_json::json;
        let (before, after) = (item(json!({ "a": 1, "b": 2 })), item(json!({ "a": 3 })));
        assert_eq!(text(&Changes::between(&before, &after).adding("n", 1)), "SET a = 3 REMOVE b ADD n 1");
        assert_eq!(text(&Changes::between(&after, &after).adding("n", 2)), "ADD n 2");
    }

    #[test]
    fn very_many_changes_are_written_as_whole_attributes() {
        use serde_json::json;
        let list =
            |stage: &str| json!((0..200).map(|id| json!({ "id": id, "stage": stage })).collect::<Vec<_>>());
        let (before, after) = (json!({ "a": 1, "list": list("x") }), json!({ "a": 1, "list": list("y") }));
        let changes = Changes::between(&item(before), &item(after));
        assert_eq!(changes.expression, "SET #u0 = :u0");
        assert_eq!(changes.names["#u0"], "list");
    }

    #[test]
    fn an_item_that_leaves_an_index_loses_its_attribute() {
        use serde_json::json;
        let changes = Changes::to(item(json!({ "pk": "1", "sk": "2", "name": "Ada", "filter": "x" })));
        assert_eq!(
            text(&changes),
            "SET filter = \"x\", name = \"Ada\" REMOVE expires_at, has_notes, reapplied, rejected_by, \
             rejection_reason_id, resume_file_id, status_filter"
        );
    }
}
