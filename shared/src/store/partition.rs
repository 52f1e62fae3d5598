//! What keys are made of: the names of their attributes, the parts of a table that a query reads, and texts in keys.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{Mode, Tenant};

/// The attribute of the table's hash key.
pub(super) const PK: &str = "pk";
/// The attribute of the range key, in the table and in the index.
pub(super) const SK: &str = "sk";
/// The attribute of the index's hash key.
pub(super) const FILTER: &str = "filter";
/// The name of that index.
pub(super) const FILTERED: &str = "filtered";
/// The attribute of the second index's hash key.
pub(super) const STATUS_FILTER: &str = "status_filter";
/// The name of the second index.
pub(super) const BY_STATUS: &str = "by_status";
/// The attribute of the entries of an application with which somebody applied again. The others lack it.
pub(super) const REAPPLIED: &str = "reapplied";
/// The attribute of a role's counters with the role's status.
pub(super) const ROLE_STATUS: &str = "role_status";
/// The attribute of a role's counters with the version of the role that last changed the status or the title.
pub(super) const ROLE_VERSION: &str = "role_version";
/// The attribute with the request that caused a task.
pub(super) const CAUSED_BY: &str = "caused_by";
/// The attribute with the time after which DynamoDB deletes an item (TTL, in epoch seconds).
pub(super) const EXPIRES_AT: &str = "expires_at";

/// The primary key of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// The source of a list: the table (with consistent reads, or with eventually consistent reads at half the price) or
/// the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Partition {
    Table(String),
    /// The range keys from one to another of a partition of the table, read consistently.
    Section {
        pk: String,
        from: String,
        to: String,
    },
    EventuallyConsistent(String),
    Filtered(String),
    ByStatus(String),
}

impl Partition {
    /// The items of a partition of the table whose range keys have this pattern, by the part of it that is fixed.
    pub(super) fn of(pk: String, range: &str) -> Self {
        match range.split_once('{') {
            Some(("", _)) | None => Self::Table(pk),
            Some((prefix, _)) => Self::section(pk, prefix, &format!("{prefix}~")),
        }
    }

    /// The hash key.
    pub(super) fn key(&self) -> &str {
        match self {
            Self::Table(key)
            | Self::EventuallyConsistent(key)
            | Self::Filtered(key)
            | Self::ByStatus(key) => key,
            Self::Section { pk, .. } => pk,
        }
    }

    pub(super) fn section(pk: String, from: &str, to: &str) -> Self {
        Self::Section { pk, from: from.to_owned(), to: to.to_owned() }
    }
}

pub(super) fn padded(id: Id) -> String {
    format!("{:016}", id.get())
}

/// The hash that stands for a chosen text in a partition key: 128 bits of SHA-256 in base64url.
pub(super) fn hashed(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(text)[..16])
}

/// Formats a time as a string that sorts by time: its milliseconds.
pub(super) fn sortable(time: Timestamp) -> String {
    format!("{:015}", time.as_millisecond().max(0))
}

/// The organization's live tenant. Members belong to it, even while they look at test data.
pub(super) const fn live(organization: Id) -> Tenant {
    Tenant { organization, mode: Mode::Live }
}
