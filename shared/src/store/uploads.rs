//! Expected uploads: each ticket allows adding one resume to one application.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::erasures::UploadTrace;
use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::Tenant;

/// An expected upload of a resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The candidate.
    pub candidate_id: Id,
    /// Whether the candidate was created with the application.
    pub is_new: bool,
}

impl Transaction {
    /// Inserts the upload that the ticket with this hash allows until `until`. The file is uploaded to `key`.
    pub fn insert_upload(
        &mut self,
        hash: &str,
        key: String,
        upload: Upload,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let mut item = item::write(&upload, keys::upload(self.tenant, hash), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(until.as_second()));
        self.insert(item);
        self.put_upload_trace(upload.candidate_id, UploadTrace { hash: hash.to_owned(), key, until })
    }

    /// Deletes the expected upload of the ticket with this hash. The upload must exist.
    pub fn delete_upload(&mut self, hash: &str) {
        self.delete_existing(keys::upload(self.tenant, hash));
    }
}

impl Store {
    /// The upload that the ticket with this hash allows.
    pub async fn find_upload(&self, tenant: Tenant, hash: &str) -> Result<Option<Upload>, StoreError> {
        self.read(keys::upload(tenant, hash)).await?.map(item::read).transpose()
    }
}
