//! Items: the conversion between model values and DynamoDB's attributes.
//!
//! Every item except counters and parts of transcripts has a form, a number that grows when a release changes what attributes
//! mean. A release refuses items of a later form. A new attribute is no new form, because updates keep the attributes that
//! they do not know.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;
use super::partition::{FILTER, Key, PK, SK};
use crate::id::Id;

/// The attributes of an item.
pub(super) type Item = HashMap<String, AttributeValue>;

/// The attribute with the item's form.
pub(super) const FORM: &str = "form";
/// The form of the items that this release writes, and the only one that it reads.
pub(super) const LATEST_FORM: u64 = 1;

/// Converts `entity` to an item with this key. With a `filter`, the item is also in the index.
pub(super) fn write<T: Serialize>(entity: &T, key: Key, filter: Option<String>) -> Result<Item, StoreError> {
    let mut item: Item = serde_dynamo::to_item(entity)
        .map_err(|error| StoreError::Internal(format!("an item cannot be written: {error}")))?;
    item.extend(key.attributes());
    item.insert(FORM.to_owned(), number(LATEST_FORM));
    item.extend(filter.map(|filter| (FILTER.to_owned(), AttributeValue::S(filter))));
    Ok(item)
}

/// Converts an item to a model value. An item that cannot be read is reported.
pub(super) fn read<T: DeserializeOwned>(item: Item) -> Result<T, StoreError> {
    let key = name(&item);
    let problem = match count(&item, FORM) {
        LATEST_FORM => match serde_dynamo::from_item(item) {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        },
        0 => "it has no form".to_owned(),
        form => format!("its form is {form}, and this release reads form {LATEST_FORM}"),
    };
    Err(StoreError::unreadable(&key, &problem))
}

/// Converts an item of a list to a model value; `None` if it cannot be read, which is reported. The rest of the list stays
/// usable.
pub(super) fn read_listed<T: DeserializeOwned>(item: Item) -> Option<T> {
    read(item).ok()
}

/// Converts a value to an attribute.
pub(super) fn value<T: Serialize>(value: &T) -> Result<AttributeValue, StoreError> {
    serde_dynamo::to_attribute_value(value)
        .map_err(|error| StoreError::Internal(format!("an attribute cannot be written: {error}")))
}

/// The key of an item, for messages.
fn name(item: &Item) -> String {
    let text = |name| item.get(name).and_then(|value| value.as_s().ok()).map_or("?", String::as_str);
    format!("{} {}", text(PK), text(SK))
}

/// Returns an attribute's whole number, or 0 if the item does not have the attribute.
pub(super) fn count(item: &Item, name: &str) -> u64 {
    item.get(name).and_then(|value| value.as_n().ok()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A DynamoDB number.
pub(super) fn number(value: impl Into<i128>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

impl Key {
    /// The key of an item.
    pub(super) fn of(item: &Item) -> Result<Self, StoreError> {
        let attribute = |name| item.get(name).and_then(|value| value.as_s().ok()).cloned();
        let (Some(pk), Some(sk)) = (attribute(PK), attribute(SK)) else {
            return Err(StoreError::Internal("an item has no key".to_owned()));
        };
        Ok(Self { pk, sk })
    }

    /// The identifier in the range key.
    pub(super) fn id(&self) -> Result<Id, StoreError> {
        let id = self.sk.trim_start_matches('0').parse();
        id.map_err(|_| {
            StoreError::unreadable(&format!("{} {}", self.pk, self.sk), "the range key is no identifier")
        })
    }

    /// Removes the item with this key from `items`.
    pub(super) fn take_from(&self, items: &mut Vec<Item>) -> Option<Item> {
        let has = |item: &Item, name: &str, value: &str| {
            item.get(name).and_then(|attribute| attribute.as_s().ok()).is_some_and(|text| text == value)
        };
        let index = items.iter().position(|item| has(item, PK, &self.pk) && has(item, SK, &self.sk))?;
        Some(items.swap_remove(index))
    }
}
