//! Uploads that are expected: who may add a résumé to which application.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::keys::{self, EXPIRES_AT};
use super::writes::number;
use super::{Failure, Store, Writes, item};
use crate::id::Id;
use crate::model::Tenant;

/// Whose résumé an upload will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The candidate.
    pub candidate_id: Id,
    /// Whether the candidate was created with the application that the résumé belongs to.
    pub is_new: bool,
}

impl Writes {
    /// Expects an upload by whoever has the ticket with this hash, until then.
    pub fn insert_upload(&mut self, hash: &str, upload: Upload, until: Timestamp) -> Result<(), Failure> {
        let mut item = item::write(&upload, keys::upload(self.tenant, hash), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(until.as_second()));
        self.insert(item);
        Ok(())
    }

    /// The upload has come; it must have been expected.
    pub fn finish_upload(&mut self, hash: &str) {
        self.delete_existing(keys::upload(self.tenant, hash));
    }
}

impl Store {
    /// The upload that is expected of the ticket with this hash.
    pub async fn find_upload(&self, tenant: Tenant, hash: &str) -> Result<Option<Upload>, Failure> {
        self.read(keys::upload(tenant, hash)).await?.map(item::read).transpose()
    }
}
