//! Files: what became of uploads whose tickets have ended, and contents that no candidate has.

use shared::model::CandidateFile;
use shared::services::Author;
use shared::services::files;
use shared::store::{CommitError, MaybeErased, Task, Transaction};

use crate::erasures::delete_upload;
use crate::{Job, MAX_ATTEMPTS, TaskError};

impl Job {
    /// Looks at the candidate's uploads whose tickets have ended, and deletes files that the candidate does not have yet, or no
    /// more. An erased candidate's are left to the task of the erasure.
    pub(crate) async fn look_at_files(&self, task: &Task) -> Result<(), TaskError> {
        let (store, tenant, now) = (&self.environment.store, task.tenant(), self.now);
        let Some(bucket) = self.environment.providers.resumes() else { return Ok(self.discard(task).await?) };
        for _ in 0..MAX_ATTEMPTS {
            let found = store.find_candidate(tenant, task.id).await.map_err(CommitError::from)?;
            let Some(before) = found.and_then(MaybeErased::present) else { break };
            let all = store.all_files(tenant, task.id).await.map_err(CommitError::from)?;
            let is_over = |file: &&CandidateFile| file.awaited().is_some_and(|upload| upload.until <= now);
            let Some(file) = all.iter().find(is_over) else { break };
            let author = Author { ids: &self.ids, actor: file.created_by.clone(), at: now };
            let mut transaction = Transaction::new(tenant);
            if files::settle(&mut transaction, bucket, &before, file, &author).await?.is_some() {
                match store.commit(transaction).await {
                    Ok(()) | Err(CommitError::Stale) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        for upload in store.list_unattached_files(tenant, task.id).await.map_err(CommitError::from)? {
            if upload.over() <= now {
                delete_upload(bucket, tenant, &upload, now).await?;
                store.forget_upload(tenant, task.id, &upload).await?;
            }
        }
        Ok(self.discard(task).await?)
    }
}
