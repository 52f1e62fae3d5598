//! Files of candidates.

use std::collections::BTreeSet;

use super::candidates::MAX_PAGES;
use super::changes::Changes;
use super::item::number;
use super::recording::Recorded;
use super::tasks::Task;
use super::{CommitError, Listed, Paging, Store, StoreError, Transaction, UploadTrace, item, keys};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    CandidateFile, EventData, EventType, FileContent, FileOrigin, SubjectType, TaskKind, Tenant,
};

/// The attribute of a submission with its file.
const RESUME_FILE_ID: &str = "resume_file_id";

impl Transaction {
    /// Inserts a file. The same transaction replaces the candidate. A file that is not here yet gets no event.
    pub fn insert_file(&mut self, candidate: Id, file: &CandidateFile) -> Result<(), StoreError> {
        self.insert(item::write(file, keys::file(self.tenant, candidate, file.id), None)?);
        if file.stored().is_some() {
            self.record_file(EventType::FileCreated, candidate, file);
        }
        Ok(())
    }

    /// Writes down what became of a file that was awaited. The same transaction replaces the candidate.
    pub fn settle_file(
        &mut self,
        candidate: Id,
        before: &CandidateFile,
        after: &CandidateFile,
    ) -> Result<(), StoreError> {
        self.change_file(candidate, before, after)?;
        if after.stored().is_some() {
            self.record_file(EventType::FileCreated, candidate, after);
        }
        Ok(())
    }

    /// Adds a file that came with a form to it. The same transaction replaces the candidate.
    pub fn add_to_submission(&mut self, candidate: Id, submission: Id, file: Id) {
        self.update(
            keys::submission(self.tenant, candidate, submission),
            "SET #file = :file",
            "attribute_exists(pk)",
            vec![("#file", RESUME_FILE_ID.to_owned())],
            vec![(":file", number(i128::from(file.get())))],
        );
    }

    /// Deletes a file, and leaves its content to a task. The same transaction replaces the candidate. Of the files that
    /// nobody has opened, one that was opened meanwhile stays, and the commit fails.
    pub fn delete_file(
        &mut self,
        candidate: Id,
        file: &CandidateFile,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let key = keys::file(self.tenant, candidate, file.id);
        let unopened = "attribute_exists(pk) AND attribute_not_exists(opened_at)";
        self.delete_where(key, if file.opened_at.is_some() { "attribute_exists(pk)" } else { unopened });
        match &file.content {
            FileContent::Kept(stored) | FileContent::Unscanned(stored) => {
                self.record_file(EventType::FileDeleted, candidate, file);
                let (hash, key) = (stored.name().to_owned(), stored.key().to_owned());
                self.expect_file(candidate, UploadTrace { hash, key, until: now })
            }
            FileContent::Awaited(upload) => {
                let (hash, key) = (upload.name.clone(), upload.key.clone());
                self.expect_file(candidate, UploadTrace { hash, key, until: upload.until })
            }
            FileContent::Refused(_) => Ok(()),
        }
    }

    /// Writes down that something else about a file has changed.
    pub fn change_file(
        &mut self,
        candidate: Id,
        before: &CandidateFile,
        after: &CandidateFile,
    ) -> Result<(), StoreError> {
        let key = keys::file(self.tenant, candidate, after.id);
        let (before, after) =
            (item::write(before, key.clone(), None)?, item::write(after, key.clone(), None)?);
        self.change_existing(key, Changes::between(&before, &after));
        Ok(())
    }

    /// A member has accepted a file that came with a later form.
    pub fn accept_file(&mut self, candidate: Id, file: &CandidateFile) -> Result<(), StoreError> {
        self.change_file(candidate, file, &CandidateFile { origin: FileOrigin::OwnForm, ..file.clone() })
    }

    /// Adds the task that looks at the candidate's uploads whose tickets have ended, and deletes the contents of deleted
    /// files.
    pub fn look_at_files(&mut self, candidate: Id, due: Timestamp) -> Result<(), StoreError> {
        self.put(Task::new(self.tenant, TaskKind::Files, candidate, due).item()?)
    }

    fn record_file(&mut self, kind: EventType, candidate: Id, file: &CandidateFile) {
        self.record([file_event(kind, candidate, file)]);
    }
}

/// An event of a file of a candidate.
pub(super) fn file_event(kind: EventType, candidate: Id, file: &CandidateFile) -> Recorded {
    let data = EventData::new()
        .with("candidate_id", candidate)
        .with_some("application_id", file.application_id)
        .with("kind", file.kind.as_str());
    Recorded::stamped(kind, SubjectType::File, Some(file.id)).with(data)
}

impl Store {
    /// A file of the candidate.
    pub async fn find_file(
        &self,
        tenant: Tenant,
        candidate: Id,
        id: Id,
    ) -> Result<Option<CandidateFile>, StoreError> {
        self.read(keys::file(tenant, candidate, id)).await?.map(item::read).transpose()
    }

    /// Those of these files that the candidate has, and that were accepted.
    pub async fn find_files(
        &self,
        tenant: Tenant,
        candidate: Id,
        ids: &[Id],
    ) -> Result<Vec<CandidateFile>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys: BTreeSet<_> = ids.iter().collect();
        let keys = keys.into_iter().map(|id| keys::file(tenant, candidate, *id));
        let items = self.read_many(keys).await?.into_iter();
        let mut files = items.map(item::read).collect::<Result<Vec<CandidateFile>, _>>()?;
        files.retain(|file| file.stored().is_some());
        Ok(files)
    }

    /// A page of the candidate's files, newest first.
    pub async fn list_files(
        &self,
        tenant: Tenant,
        candidate: Id,
        page: &Paging,
    ) -> Result<Listed<CandidateFile>, StoreError> {
        self.read_page(&keys::candidate_files(tenant, candidate), page).await
    }

    /// All files of the candidate, newest first.
    pub async fn all_files(&self, tenant: Tenant, candidate: Id) -> Result<Vec<CandidateFile>, StoreError> {
        let items = self.read_partition(&keys::candidate_files(tenant, candidate), MAX_PAGES).await?;
        items.into_iter().map(|(_, item)| item::read(item)).collect()
    }

    /// Writes down that somebody has opened a file, once.
    pub async fn open_file(
        &self,
        tenant: Tenant,
        candidate: Id,
        file: &CandidateFile,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if file.opened_at.is_some() {
            return Ok(());
        }
        let mut transaction = Transaction::new(tenant);
        let opened = CandidateFile { opened_at: Some(now), ..file.clone() };
        transaction.change_file(candidate, file, &opened)?;
        match self.commit(transaction).await {
            // Somebody has deleted it or opened it at the same time.
            Ok(()) | Err(CommitError::Stale) => Ok(()),
            Err(CommitError::Store(error)) => Err(error),
            Err(error) => Err(StoreError::Internal(error.to_string())),
        }
    }
}
