//! The answers of applications.

use std::collections::HashMap;

use super::candidates::MAX_PAGES;
use super::{Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{Answer, Answers, Tenant};

impl Transaction {
    /// Inserts the answers of a new application. The same transaction writes the candidate.
    pub fn insert_answers(&mut self, candidate: Id, answers: &Answers) -> Result<(), StoreError> {
        let key = keys::application_answers(self.tenant, candidate, answers.application_id);
        self.insert(item::write(answers, key, None)?);
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
