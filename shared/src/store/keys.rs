//! Every key of the single table, and nothing else builds one.
//!
//! | Entity | `pk` | `sk` | `filter` |
//! |---|---|---|---|
//! | gate: organization in one mode, credentials, today's counter | `{tenant}#GATE` | `GATE` | |
//! | gate counter shard, for a Pro tenant beyond one item's write rate | `{tenant}#GATE#{shard}` | `GATE` | |
//! | API key, as its owner sees it | `{tenant}#KEY` | id | |
//! | finished day's request count | `{tenant}#USAGE` | date | |
//! | receipt of an idempotent request | `{tenant}#RECEIPT#{idempotency key}` | route | |
//! | role | `{tenant}#ROLE` | id | `{tenant}#ROLE#{status}` |
//! | role stats | `{tenant}#ROLE_STATS` | role id | |
//! | job posting | `{tenant}#POSTING` | id | `{tenant}#POSTING#{published or unpublished}` |
//! | job posting slug | `{tenant}#SLUG` | slug | |
//! | organization registry, spread over 16 partitions | `ORGANIZATION#{shard}` | id | |
//! | organization slug | `ORGANIZATION_SLUG#{slug}` | `SLUG` | |
//!
//! `{tenant}` is `{organization id}#{live or test}`: what begins with one tenant cannot be reached with another.
//! Identifiers are padded to 16 digits, so that their order as text is their order as numbers, and by time.
//!
//! The index `filtered` (hash `filter`, range `sk`, all attributes) answers "those in one state, newest first". It
//! follows the table within moments; unfiltered lists and single items are read from the table itself, consistently.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::id::Id;
use crate::model::{Day, RoleStatus, Slug, Tenant};

/// The hash key's attribute.
pub(super) const PK: &str = "pk";
/// The range key's attribute, of the table and of the index.
pub(super) const SK: &str = "sk";
/// The index's hash key attribute.
pub(super) const FILTER: &str = "filter";
/// The index.
pub(super) const FILTERED: &str = "filtered";
/// The attribute by which DynamoDB removes what is no longer needed (TTL, epoch seconds).
pub(super) const EXPIRES_AT: &str = "expires_at";

/// How many counter shards a busy Pro tenant's requests are spread over.
pub(super) const GATE_SHARDS: u64 = 8;
/// How many partitions the organization registry is spread over.
pub const REGISTRY_SHARDS: u64 = 16;

/// An item's place in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) pk: String,
    pub(super) sk: String,
}

impl Key {
    pub(super) fn attributes(self) -> HashMap<String, AttributeValue> {
        HashMap::from([
            (PK.to_owned(), AttributeValue::S(self.pk)),
            (SK.to_owned(), AttributeValue::S(self.sk)),
        ])
    }
}

/// What a list is read from.
pub(super) enum Partition {
    Table(String),
    Filtered(String),
}

pub(super) fn padded(id: Id) -> String {
    format!("{:016}", id.get())
}

pub(super) fn gate(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#GATE"), sk: "GATE".to_owned() }
}

pub(super) fn gate_shard(tenant: Tenant, shard: u64) -> Key {
    Key { pk: format!("{tenant}#GATE#{shard}"), sk: "GATE".to_owned() }
}

pub(super) fn api_keys(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#KEY"))
}

pub(super) fn api_key(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#KEY"), sk: padded(id) }
}

pub(super) fn usage(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#USAGE"))
}

pub(super) fn usage_day(tenant: Tenant, day: Day) -> Key {
    Key { pk: format!("{tenant}#USAGE"), sk: day.to_string() }
}

pub(super) fn receipt(tenant: Tenant, route: &str, idempotency_key: &str) -> Key {
    Key { pk: format!("{tenant}#RECEIPT#{idempotency_key}"), sk: route.to_owned() }
}

pub(super) fn roles(tenant: Tenant, status: Option<RoleStatus>) -> Partition {
    match status {
        None => Partition::Table(format!("{tenant}#ROLE")),
        Some(status) => Partition::Filtered(role_filter(tenant, status)),
    }
}

pub(super) fn role(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#ROLE"), sk: padded(id) }
}

pub(super) fn role_filter(tenant: Tenant, status: RoleStatus) -> String {
    format!("{tenant}#ROLE#{}", status.as_str())
}

pub(super) fn role_stats(tenant: Tenant, role: Id) -> Key {
    Key { pk: format!("{tenant}#ROLE_STATS"), sk: padded(role) }
}

pub(super) fn postings(tenant: Tenant, published: Option<bool>) -> Partition {
    match published {
        None => Partition::Table(format!("{tenant}#POSTING")),
        Some(published) => Partition::Filtered(posting_filter(tenant, published)),
    }
}

pub(super) fn posting(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#POSTING"), sk: padded(id) }
}

pub(super) fn posting_filter(tenant: Tenant, published: bool) -> String {
    format!("{tenant}#POSTING#{}", if published { "published" } else { "unpublished" })
}

pub(super) fn posting_slug(tenant: Tenant, slug: &Slug) -> Key {
    Key { pk: format!("{tenant}#SLUG"), sk: slug.to_string() }
}

pub(super) fn registry(shard: u64) -> Partition {
    Partition::Table(format!("ORGANIZATION#{shard:02}"))
}

pub(super) fn registered(organization: Id) -> Key {
    Key { pk: format!("ORGANIZATION#{:02}", organization.get() % REGISTRY_SHARDS), sk: padded(organization) }
}

pub(super) fn organization_slug(slug: &Slug) -> Key {
    Key { pk: format!("ORGANIZATION_SLUG#{slug}"), sk: "SLUG".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn padded_ids_sort_as_numbers(a in 1..=Id::MAX, b in 1..=Id::MAX) {
            let text = |n| padded(Id::new(n).unwrap());
            prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
        }

        /// No idempotency key, slug or route that a client can choose makes one tenant's key another's.
        #[test]
        fn tenants_never_meet(a in 1..=Id::MAX, b in 1..=Id::MAX, chosen in "[!-~]{1,40}") {
            let tenants: Vec<_> = [a, b].into_iter().flat_map(|organization| {
                let organization = Id::new(organization).unwrap();
                Mode::ALL.map(|mode| Tenant { organization, mode })
            }).collect();
            for (i, one) in tenants.iter().enumerate() {
                for other in &tenants[i + 1..] {
                    if one == other { continue; }
                    let prefix = format!("{other}#");
                    prop_assert!(!receipt(*one, "POST /x", &chosen).pk.starts_with(&prefix));
                    prop_assert!(!gate(*one).pk.starts_with(&prefix));
                    prop_assert!(!role(*one, Id::new(1).unwrap()).pk.starts_with(&prefix));
                }
            }
        }
    }
}
