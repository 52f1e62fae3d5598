//! The answers of applications.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::candidates::MAX_PAGES;
use super::keys::{self, Key};
use super::{Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::{Answer, Answers, Application, Tenant};

/// The attribute with the answers of an application or a submission.
const ANSWERS: &str = "answers";

impl Transaction {
    /// Inserts the answers of a new application. The same transaction writes the candidate.
    pub fn insert_answers(&mut self, candidate: Id, answers: &Answers) -> Result<(), StoreError> {
        let key = keys::application_answers(self.tenant, candidate, answers.application_id);
        self.insert(item::write(answers, key, None)?);
        Ok(())
    }

    /// Deletes the answers of an application that the same transaction removes.
    pub fn delete_answers(&mut self, candidate: Id, application: Id) {
        self.delete_existing(keys::application_answers(self.tenant, candidate, application));
    }

    /// Adds an answer that came after the form to those of its application. The same transaction replaces the candidate.
    pub fn add_answer(
        &mut self,
        candidate: Id,
        application: &Application,
        answer: Answer,
    ) -> Result<(), StoreError> {
        let application_id = application.id;
        if application.has_answers {
            let key = keys::application_answers(self.tenant, candidate, application_id);
            return self.append_answer(key, &answer);
        }
        self.insert_answers(candidate, &Answers { application_id, answers: vec![answer] })
    }

    /// Adds an answer that came after a form to its submission. The same transaction replaces the candidate.
    pub fn add_answer_to_submission(
        &mut self,
        candidate: Id,
        submission: Id,
        answer: &Answer,
    ) -> Result<(), StoreError> {
        self.append_answer(keys::submission(self.tenant, candidate, submission), answer)
    }

    fn append_answer(&mut self, key: Key, answer: &Answer) -> Result<(), StoreError> {
        let answer = serde_dynamo::to_attribute_value(answer)
            .map_err(|error| StoreError::Internal(format!("an answer cannot be written: {error}")))?;
        self.update(
            key,
            "SET #answers = list_append(if_not_exists(#answers, :none), :answer)",
            "attribute_exists(pk)",
            vec![("#answers", ANSWERS.to_owned())],
            vec![(":none", AttributeValue::L(Vec::new())), (":answer", AttributeValue::L(vec![answer]))],
        );
        Ok(())
    }
}

impl Store {
    /// The answers of an application; empty if it has none.
    pub async fn find_answers(
        &self,
        tenant: Tenant,
        candidate: Id,
        application: Id,
    ) -> Result<Vec<Answer>, StoreError> {
        let found = self.read(keys::application_answers(tenant, candidate, application)).await?;
        let found: Option<Answers> = found.map(item::read).transpose()?;
        Ok(found.map(|found| found.answers).unwrap_or_default())
    }

    /// The answers of all applications of the candidate that have any, the newest first.
    pub async fn list_answers(&self, tenant: Tenant, candidate: Id) -> Result<Vec<Answers>, StoreError> {
        let items = self.read_partition(&keys::candidate_answers(tenant, candidate), MAX_PAGES).await?;
        Ok(items.into_iter().filter_map(|(_, item)| item::read_listed(item)).collect())
    }

    /// The answers of these applications of candidates, by the application. Omits those without any.
    pub async fn find_answers_of(
        &self,
        tenant: Tenant,
        applications: impl Iterator<Item = (Id, Id)>,
    ) -> Result<HashMap<Id, Vec<Answer>>, StoreError> {
        let keys: Vec<_> = applications
            .map(|(candidate, application)| keys::application_answers(tenant, candidate, application))
            .collect();
        let items = self.read_many(keys).await?;
        let found = items.into_iter().filter_map(item::read_listed::<Answers>);
        Ok(found.map(|found| (found.application_id, found.answers)).collect())
    }
}
