//! Lists: pages of a partition, newest first.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::DeserializeOwned;

use super::keys::{FILTER, FILTERED, PK, Partition, SK};
use super::{Failure, Item, Store, item};

/// How much of a list is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// At most this many.
    pub limit: u32,
    /// Only what sorts before this range key.
    pub before: Option<String>,
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page starts, unless this is the last.
    pub next: Option<String>,
}

impl Store {
    /// One page. DynamoDB reads at most 1 MB a call; a page of very long items takes two calls and may then be shorter
    /// than it could be, which its `next` says.
    pub(super) async fn page<T: DeserializeOwned>(
        &self,
        partition: &Partition,
        page: &Page,
    ) -> Result<Listed<T>, Failure> {
        let mut items: Vec<Item> = Vec::new();
        let mut before = page.before.clone();
        for _ in 0..2 {
            let left = page.limit.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
            if left == 0 {
                break;
            }
            let (read, next) = self.query(partition, left, before.as_deref()).await?;
            items.extend(read);
            before = next;
            if before.is_none() {
                break;
            }
        }
        let items = items.into_iter().map(item::read).collect::<Result<_, _>>()?;
        Ok(Listed { items, next: before })
    }

    /// All of a partition, backwards, each item with its range key; at most `pages` of 1 MB.
    pub(super) async fn whole(
        &self,
        partition: &Partition,
        pages: usize,
    ) -> Result<Vec<(String, Item)>, Failure> {
        let mut items = Vec::new();
        let mut before: Option<String> = None;
        for _ in 0..pages {
            let (read, next) = self.query(partition, u32::MAX, before.as_deref()).await?;
            items.extend(read.into_iter().map(|mut item| match item.remove(SK) {
                Some(AttributeValue::S(range)) => (range, item),
                _ => (String::new(), item),
            }));
            before = next;
            if before.is_none() {
                break;
            }
        }
        Ok(items)
    }

    pub(super) async fn query(
        &self,
        partition: &Partition,
        limit: u32,
        before: Option<&str>,
    ) -> Result<(Vec<Item>, Option<String>), Failure> {
        let (hash, value, index) = match partition {
            Partition::Table(pk) | Partition::Recent(pk) => (PK, pk, None),
            Partition::Filtered(filter) => (FILTER, filter, Some(FILTERED.to_owned())),
        };
        let mut call = self
            .client
            .query()
            .table_name(&*self.table)
            .consistent_read(matches!(partition, Partition::Table(_)))
            .set_index_name(index)
            .expression_attribute_names("#hash", hash)
            .expression_attribute_values(":hash", AttributeValue::S(value.clone()))
            .scan_index_forward(false)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        call = match before {
            None => call.key_condition_expression("#hash = :hash"),
            Some(before) => call
                .key_condition_expression("#hash = :hash AND #range < :before")
                .expression_attribute_names("#range", SK)
                .expression_attribute_values(":before", AttributeValue::S(before.to_owned())),
        };
        let answer = self.count(call.send()).await.map_err(|error| Failure::of(&error))?;
        let next = answer.last_evaluated_key.and_then(|mut key| match key.remove(SK) {
            Some(AttributeValue::S(range)) => Some(range),
            _ => None,
        });
        Ok((answer.items.unwrap_or_default(), next))
    }
}
