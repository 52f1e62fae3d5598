//! Items: between model values and DynamoDB's attributes.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Failure;
use super::keys::{FILTER, Key};

/// An item's attributes.
pub(super) type Item = HashMap<String, AttributeValue>;

/// `entity` at its place in the table and, where `filter` is given, in the index.
pub(super) fn write<T: Serialize>(entity: &T, key: Key, filter: Option<String>) -> Result<Item, Failure> {
    let mut item: Item = serde_dynamo::to_item(entity)
        .map_err(|error| Failure::Internal(format!("an item cannot be written: {error}")))?;
    item.extend(key.attributes());
    item.extend(filter.map(|filter| (FILTER.to_owned(), AttributeValue::S(filter))));
    Ok(item)
}

/// The value that an item holds.
pub(super) fn read<T: DeserializeOwned>(item: Item) -> Result<T, Failure> {
    serde_dynamo::from_item(item)
        .map_err(|error| Failure::Internal(format!("an item cannot be read: {error}")))
}

/// A whole number that an item holds, 0 where it has no such attribute.
pub(super) fn count(item: &Item, name: &str) -> u64 {
    item.get(name).and_then(|value| value.as_n().ok()).and_then(|n| n.parse().ok()).unwrap_or(0)
}
