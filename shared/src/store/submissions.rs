//! Submitted application forms, and the files that came with them.

use std::collections::BTreeSet;

use super::candidates::MAX_PAGES;
use super::item::number;
use super::{Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{Offered, Submission, SubmittedFile, Tenant};

/// The attribute of a submission with its file.
const RESUME_FILE_ID: &str = "resume_file_id";

impl Transaction {
    /// Inserts a submitted form. The same transaction writes the candidate.
    pub fn insert_submission(&mut self, candidate: Id, submission: &Submission) -> Result<(), StoreError> {
        let key = keys::submission(self.tenant, candidate, submission.id);
        self.insert(item::write(submission, key, None)?);
        Ok(())
    }

    /// Deletes a submitted form. The same transaction replaces the candidate.
    pub fn delete_submission(&mut self, candidate: Id, submission: Id) {
        self.delete(keys::submission(self.tenant, candidate, submission));
    }

    /// Inserts a file that came with a form, and adds it to the form if that is still kept. The same transaction replaces
    /// the candidate.
    pub fn insert_submitted_file(
        &mut self,
        candidate: Id,
        submission: Option<Id>,
        file: &SubmittedFile,
    ) -> Result<(), StoreError> {
        let key = keys::submitted_file(self.tenant, candidate, file.id);
        self.insert(item::write(file, key, None)?);
        if let Some(submission) = submission {
            self.update(
                keys::submission(self.tenant, candidate, submission),
                "SET #file = :file",
                "attribute_exists(pk)",
                vec![("#file", RESUME_FILE_ID.to_owned())],
                vec![(":file", number(i128::from(file.id.get())))],
            );
        }
        Ok(())
    }
}

impl Store {
    /// A form that was submitted by the candidate.
    pub async fn find_submission(
        &self,
        tenant: Tenant,
        candidate: Id,
        id: Id,
    ) -> Result<Option<Submission>, StoreError> {
        self.read(keys::submission(tenant, candidate, id)).await?.map(item::read).transpose()
    }

    /// Those of these files that came with forms of the candidate.
    pub async fn find_submitted_files(
        &self,
        tenant: Tenant,
        candidate: Id,
        ids: &[Id],
    ) -> Result<Vec<Id>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys: BTreeSet<_> = ids.iter().collect();
        let keys = keys.into_iter().map(|id| keys::submitted_file(tenant, candidate, *id));
        let items = self.read_many(keys).await?;
        items.into_iter().map(|item| Ok(item::read::<SubmittedFile>(item)?.id)).collect()
    }

    /// The submitted forms that contain the consents of an offer, and the file of the offer.
    pub async fn find_offer(
        &self,
        tenant: Tenant,
        candidate: Id,
        offered: &Offered,
    ) -> Result<(Vec<Submission>, Option<SubmittedFile>), StoreError> {
        let mut forms: Vec<_> = offered.consents.iter().map(|consent| consent.submission_id).collect();
        forms.sort_unstable();
        forms.dedup();
        let forms: Vec<_> = forms.into_iter().map(|id| keys::submission(tenant, candidate, id)).collect();
        let file = offered.resume_file_id.map(|id| keys::submitted_file(tenant, candidate, id));
        if forms.is_empty() && file.is_none() {
            return Ok((Vec::new(), None));
        }
        let mut items = self.read_many(forms.iter().chain(&file).cloned()).await?;
        let file = file.and_then(|key| key.take_from(&mut items)).map(item::read).transpose()?;
        let forms = items.into_iter().map(item::read).collect::<Result<_, _>>()?;
        Ok((forms, file))
    }

    /// Whether the candidate has this file.
    pub async fn has_file(&self, tenant: Tenant, candidate: Id, file: Id) -> Result<bool, StoreError> {
        Ok(self.read(keys::submitted_file(tenant, candidate, file)).await?.is_some())
    }

    /// The candidate's submitted forms and their files, newest first.
    pub async fn list_submissions(
        &self,
        tenant: Tenant,
        candidate: Id,
    ) -> Result<(Vec<Submission>, Vec<SubmittedFile>), StoreError> {
        let (mut forms, mut files) = (Vec::new(), Vec::new());
        let partition = keys::submissions_and_files(tenant, candidate);
        for (range, item) in self.read_partition(&partition, MAX_PAGES).await? {
            if range.starts_with(keys::SUBMISSION) {
                forms.extend(item::read_listed(item));
            } else {
                files.extend(item::read_listed(item));
            }
        }
        Ok((forms, files))
    }
}
