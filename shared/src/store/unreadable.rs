//! Items that cannot be read.

use serde::{Deserialize, Serialize};

use super::partition::Key;
use crate::clock::Timestamp;

/// An item that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub(super) key: Key,
    /// Why it cannot be read.
    pub problem: String,
}

/// An item in quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// The partition key that the item had.
    pub old_pk: String,
    /// The range key that the item had.
    pub old_sk: String,
    /// Why it could not be read.
    pub problem: String,
    /// When it was moved.
    pub at: Timestamp,
}

impl Unreadable {
    /// An item with this key.
    pub fn new(pk: String, sk: String, problem: String) -> Self {
        Self { key: Key { pk, sk }, problem }
    }
}
