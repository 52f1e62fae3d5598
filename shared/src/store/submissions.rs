//! Submitted application forms, and the files that came with them.

use super::candidates::MAX_PAGES;
use super::{Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{CandidateFile, Offered, Submission, Tenant};

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

    /// The submitted forms that contain the consents of an offer, and the file of the offer.
    pub async fn find_offer(
        &self,
        tenant: Tenant,
        candidate: Id,
        offered: &Offered,
    ) -> Result<(Vec<Submission>, Option<CandidateFile>), StoreError> {
        let mut forms: Vec<_> = offered.consents.iter().map(|consent| consent.submission_id).collect();
        forms.sort_unstable();
        forms.dedup();
        let forms: Vec<_> = forms.into_iter().map(|id| keys::submission(tenant, candidate, id)).collect();
        let file = offered.resume_file_id.map(|id| keys::file(tenant, candidate, id));
        if forms.is_empty() && file.is_none() {
            return Ok((Vec::new(), None));
        }
        let mut items = self.read_many(forms.iter().chain(&file).cloned()).await?;
        let file = file.and_then(|key| key.take_from(&mut items)).map(item::read).transpose()?;
        let forms = items.into_iter().map(item::read).collect::<Result<_, _>>()?;
        Ok((forms, file))
    }

    /// The candidate's submitted forms and files, newest first.
    pub async fn list_submissions(
        &self,
        tenant: Tenant,
        candidate: Id,
    ) -> Result<(Vec<Submission>, Vec<CandidateFile>), StoreError> {
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
