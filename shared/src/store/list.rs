//! Lists: pages of a partition, newest first, and the parts of a partition with a prefix, in ascending order.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::DeserializeOwned;

use super::keys::{BY_STATUS, FILTER, FILTERED, Key, PK, Partition, SK, STATUS_FILTER};
use super::{Item, Store, StoreError, item};

/// The part of a list to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paging {
    /// The maximum number of items.
    pub limit: u32,
    /// Only items that sort before this range key or, in a search, after it.
    pub before: Option<String>,
}

/// The part of a partition that a query reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Range<'r> {
    /// The items that sort before this range key, or all, in descending order.
    Before(Option<&'r str>),
    /// The items whose range key begins with `prefix` and sorts after `after`, in ascending order.
    Prefix { prefix: &'r str, after: Option<&'r str> },
    /// The items after one range key and up to another, in ascending order.
    Ascending { after: &'r str, to: &'r str },
    /// The items from one range key to another, in descending order.
    Between { from: &'r str, to: &'r str },
    /// The items of a partition of the table from a range key on that sort before another one, in descending order.
    From { from: &'r str, before: Option<&'r str> },
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    /// The items.
    pub items: Vec<T>,
    /// The range key where the next page begins; `None` on the last page.
    pub next: Option<String>,
}

impl<T> Listed<T> {
    /// The page with other items.
    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> Listed<U> {
        Listed { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}

impl Store {
    /// Reads one page, without the items that cannot be read.
    pub(super) async fn read_page<T: DeserializeOwned>(
        &self,
        partition: &Partition,
        page: &Paging,
    ) -> Result<Listed<T>, StoreError> {
        let Listed { items, next } = self.read_items(partition, page).await?;
        Ok(Listed { items: items.into_iter().filter_map(item::read_listed).collect(), next })
    }

    /// Reads one page. DynamoDB returns at most 1 MB per call, so a page of very
    /// large items takes two calls. Such a page may still have fewer items than its limit, but then it has a `next`.
    pub(super) async fn read_items(
        &self,
        partition: &Partition,
        page: &Paging,
    ) -> Result<Listed<Item>, StoreError> {
        let mut items: Vec<Item> = Vec::new();
        let mut before = page.before.clone();
        for _ in 0..2 {
            let left = page.limit.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
            if left == 0 {
                break;
            }
            let (read, next) = self.query(partition, left, Range::Before(before.as_deref())).await?;
            items.extend(read);
            before = next;
            if before.is_none() {
                break;
            }
        }
        Ok(Listed { items, next: before })
    }

    /// Reads a partition backwards and returns each item with its range key. Stops after `pages` pages of 1 MB.
    pub(super) async fn read_partition(
        &self,
        partition: &Partition,
        pages: usize,
    ) -> Result<Vec<(String, Item)>, StoreError> {
        let mut items = Vec::new();
        let mut before: Option<String> = None;
        for _ in 0..pages {
            let (read, next) = self.query(partition, u32::MAX, Range::Before(before.as_deref())).await?;
            items.extend(read.into_iter().map(|item| match item.get(SK) {
                Some(AttributeValue::S(range)) => (range.clone(), item),
                _ => (String::new(), item),
            }));
            before = next;
            if before.is_none() {
                break;
            }
        }
        Ok(items)
    }

    /// Makes one query. Returns the items, and the last range key if more items follow.
    pub(super) async fn query(
        &self,
        partition: &Partition,
        limit: u32,
        range: Range<'_>,
    ) -> Result<(Vec<Item>, Option<String>), StoreError> {
        let (hash, value, index) = match partition {
            Partition::Table(pk) | Partition::EventuallyConsistent(pk) | Partition::Section { pk, .. } => {
                (PK, pk, None)
            }
            Partition::Filtered(filter) => (FILTER, filter, Some(FILTERED.to_owned())),
            Partition::ByStatus(filter) => (STATUS_FILTER, filter, Some(BY_STATUS.to_owned())),
        };
        let mut call = self
            .client
            .query()
            .table_name(&*self.table)
            .consistent_read(matches!(partition, Partition::Table(_) | Partition::Section { .. }))
            .set_index_name(index)
            .expression_attribute_names("#hash", hash)
            .expression_attribute_values(":hash", AttributeValue::S(value.clone()))
            .scan_index_forward(matches!(range, Range::Prefix { .. } | Range::Ascending { .. }))
            .set_return_consumed_capacity(self.wanted_capacity())
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        call = match (partition, range) {
            // A key condition can have only one comparison of the range key.
            (Partition::Section { pk, from, to }, Range::Before(before)) => call
                .key_condition_expression("#hash = :hash AND #range BETWEEN :from AND :to")
                .expression_attribute_names("#range", SK)
                .expression_attribute_values(":from", AttributeValue::S(from.clone()))
                .expression_attribute_values(":to", AttributeValue::S(to.clone()))
                .set_exclusive_start_key(
                    before.map(|before| Key { pk: pk.clone(), sk: before.to_owned() }.attributes()),
                ),
            (_, Range::Between { from, to }) => call
                .key_condition_expression("#hash = :hash AND #range BETWEEN :from AND :to")
                .expression_attribute_names("#range", SK)
                .expression_attribute_values(":from", AttributeValue::S(from.to_owned()))
                .expression_attribute_values(":to", AttributeValue::S(to.to_owned())),
            (_, Range::Ascending { after, to }) => call
                .key_condition_expression("#hash = :hash AND #range BETWEEN :from AND :to")
                .expression_attribute_names("#range", SK)
                // The first string after `after`.
                .expression_attribute_values(":from", AttributeValue::S(format!("{after}\0")))
                .expression_attribute_values(":to", AttributeValue::S(to.to_owned())),
            (_, Range::From { from, before }) => call
                .key_condition_expression("#hash = :hash AND #range >= :from")
                .expression_attribute_names("#range", SK)
                .expression_attribute_values(":from", AttributeValue::S(from.to_owned()))
                .set_exclusive_start_key(
                    before.map(|before| Key { pk: value.clone(), sk: before.to_owned() }.attributes()),
                ),
            (_, Range::Before(None)) => call.key_condition_expression("#hash = :hash"),
            (_, Range::Before(Some(before))) => call
                .key_condition_expression("#hash = :hash AND #range < :before")
                .expression_attribute_names("#range", SK)
                .expression_attribute_values(":before", AttributeValue::S(before.to_owned())),
            (_, Range::Prefix { prefix, after }) => {
                // The first string after `after`, and one after all strings that begin with the prefix.
                let first = after.map_or_else(|| prefix.to_owned(), |after| format!("{after}\0"));
                call.key_condition_expression("#hash = :hash AND #range BETWEEN :first AND :last")
                    .expression_attribute_names("#range", SK)
                    .expression_attribute_values(":first", AttributeValue::S(first))
                    .expression_attribute_values(":last", AttributeValue::S(format!("{prefix}{}", char::MAX)))
            }
        };
        let answer = self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
        self.meter.has_read(answer.consumed_capacity.as_slice());
        let next = answer.last_evaluated_key.and_then(|mut key| match key.remove(SK) {
            Some(AttributeValue::S(range)) => Some(range),
            _ => None,
        });
        Ok((answer.items.unwrap_or_default(), next))
    }
}
