//! Expected uploads: each ticket allows adding one resume to one application.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use serde::{Deserialize, Serialize};

use super::erasures::UploadTrace;
use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Store, StoreError, Transaction, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::Tenant;

/// An expected upload of a resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The candidate.
    pub candidate_id: Id,
    /// Whether the candidate was created with the application.
    pub is_new: bool,
    /// The form that the file belongs to; `None` if the candidate has too many applications for another one.
    pub submitted: Option<SubmittedWith>,
}

/// The form that an expected upload belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedWith {
    /// The application.
    pub application_id: Id,
    /// The submission.
    pub submission_id: Id,
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

    /// Records that a member's file is about to be kept for the candidate under `upload.key`, so that an erasure finds the
    /// file even if the candidate never gets it.
    pub fn expect_file(&mut self, candidate: Id, upload: UploadTrace) -> Result<(), StoreError> {
        self.put_lasting_upload_trace(candidate, upload)
    }

    /// Deletes the record of [`Self::expect_file`], because the candidate has the file.
    pub fn forget_expected_file(&mut self, candidate: Id, hash: &str) {
        self.delete(keys::upload_trace(self.tenant, candidate, hash));
    }

    /// Deletes the expected upload of the ticket with this hash. The upload must exist.
    pub fn delete_upload(&mut self, hash: &str) {
        self.delete_existing(keys::upload(self.tenant, hash));
    }
}

/// The result of counting an attempt at an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadAttempt {
    /// The file may be checked.
    Allowed(Upload),
    /// Too many files were checked already.
    Exhausted,
    /// No upload is expected: the file was attached already, or nobody applied with this ticket.
    Unexpected,
}

/// The attribute of an expected upload with the number of files that were checked.
const CHECKED: &str = "checked";
/// The maximum number of files that are checked for one ticket.
const MAX_CHECKED: u64 = 20;

impl Store {
    /// Counts an attempt to attach the file that the ticket with this hash allows. Each attempt reads a whole file, so a
    /// ticket allows only a few.
    pub async fn count_upload(&self, tenant: Tenant, hash: &str) -> Result<UploadAttempt, StoreError> {
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::upload(tenant, hash).attributes()))
            .update_expression("ADD #checked :one")
            .condition_expression(
                "attribute_exists(pk) AND (attribute_not_exists(#checked) OR #checked < :most)",
            )
            .expression_attribute_names("#checked", CHECKED)
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":most", number(MAX_CHECKED))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match self.count(call.send()).await {
            Ok(updated) => {
                let item = updated
                    .attributes
                    .ok_or_else(|| StoreError::Internal("an updated upload was not returned".to_owned()))?;
                Ok(UploadAttempt::Allowed(item::read(item)?))
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failure)) => {
                    Ok(if failure.item.is_some() {
                        UploadAttempt::Exhausted
                    } else {
                        UploadAttempt::Unexpected
                    })
                }
                _ => Err(StoreError::of(&error)),
            },
        }
    }
}
