//! Expected uploads: each ticket allows adding one resume to one application, and one file for each question that asks for one.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use serde::{Deserialize, Serialize};

use super::erasures::UploadTrace;
use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Item, Store, StoreError, Transaction, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::Tenant;

/// An expected upload of a resume, and of files that answer questions.
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
    /// Whether it is the form that created the application: its answers are also the application's.
    #[serde(default)]
    pub is_first: bool,
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

    /// Records that a file is about to be kept for the candidate under `upload.key`, or is no longer the candidate's. A task
    /// deletes it some time after `upload.until`, unless the candidate has it by then, and so does an erasure.
    pub fn expect_file(&mut self, candidate: Id, upload: UploadTrace) -> Result<(), StoreError> {
        let over = upload.over();
        self.put_unattached_trace(candidate, upload)?;
        self.look_at_files(candidate, over)
    }

    /// Deletes the record of [`Self::expect_file`], because the candidate has the file.
    pub fn forget_expected_file(&mut self, candidate: Id, hash: &str) {
        self.delete(keys::unattached_trace(self.tenant, candidate, hash));
    }

    /// Uses up what the ticket with this hash allows: the resume, or the file that answers a question. It must not have been
    /// used. The rest of the ticket stays, and expires.
    pub fn use_upload(&mut self, hash: &str, question: Option<Id>) {
        let part = part(question);
        self.update(
            keys::upload(self.tenant, hash),
            "ADD #used :used",
            format!("attribute_exists(pk) AND {UNUSED}"),
            vec![("#used", USED.to_owned())],
            vec![(":used", AttributeValue::Ss(vec![part.clone()])), (":part", AttributeValue::S(part))],
        );
    }
}

/// The result of counting an attempt at an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadAttempt {
    /// The file may be checked.
    Allowed(Upload),
    /// Too many files were checked already.
    Exhausted,
    /// The file was attached already.
    Used,
    /// No upload is expected: nobody applied with this ticket.
    Unexpected,
}

/// The attribute of an expected upload with the number of files that were checked.
const CHECKED: &str = "checked";
/// The attribute with what was attached: a set of [`part`]s.
const USED: &str = "used";
const UNUSED: &str = "(attribute_not_exists(#used) OR NOT contains(#used, :part))";

/// What a ticket allows: the resume, or the file that answers a question.
fn part(question: Option<Id>) -> String {
    question.map_or_else(|| "resume".to_owned(), |id| id.to_string())
}

impl Store {
    /// Counts an attempt to attach the file that the ticket with this hash allows: the resume, or the answer to a question. Each
    /// attempt reads a whole file, so a ticket allows only `most`. The caller has checked that the ticket has not expired.
    pub async fn count_upload(
        &self,
        tenant: Tenant,
        hash: &str,
        question: Option<Id>,
        most: usize,
    ) -> Result<UploadAttempt, StoreError> {
        let part = part(question);
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::upload(tenant, hash).attributes()))
            .update_expression("ADD #checked :one")
            .condition_expression(format!(
                "attribute_exists(pk) AND (attribute_not_exists(#checked) OR #checked < :most) AND {UNUSED}"
            ))
            .expression_attribute_names("#checked", CHECKED)
            .expression_attribute_names("#used", USED)
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":most", number(most as u64))
            .expression_attribute_values(":part", AttributeValue::S(part.clone()))
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
                    let used = |item: &Item| {
                        item.get(USED)
                            .and_then(|used| used.as_ss().ok())
                            .is_some_and(|used| used.contains(&part))
                    };
                    Ok(match &failure.item {
                        None => UploadAttempt::Unexpected,
                        Some(item) if used(item) => UploadAttempt::Used,
                        Some(_) => UploadAttempt::Exhausted,
                    })
                }
                _ => Err(StoreError::of(&error)),
            },
        }
    }
}
