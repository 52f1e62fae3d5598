//! Removes what is left of erased candidates: exports, list entries, receipts, answers of webhook endpoints, notes, history, voice
//! screens, files, and calls at the voice provider.
//!
//! Every step can be repeated. A run that is killed is repeated from the start, and skips what is removed already.

use shared::clock::{Timestamp, later};
use shared::id::Id;
use shared::model::{
    CallState, CandidateFile, ErasedCandidate, ResumeFile, ScreenRecord, ScreenStatus, Tenant,
};
use shared::providers::bucket::{Bucket, BucketError};
use shared::providers::client::HttpClient;
use shared::providers::voice::{CallError, ErasedCall, VoicePort};
use shared::services::erasure::Tombstone;
use shared::store::{CommitError, DISCARDED_AT_ONCE, Paging, StoreError, Task, UploadTrace};

use crate::cancellations::{PATIENCE, RETRY_INTERVAL};
use crate::{Job, MAX_ATTEMPTS, MAX_CALL, TaskError};

/// When the call of an erased screen has to be erased at the provider again.
enum Remainder {
    /// Never: the provider has nothing.
    Nothing,
    /// At this time, when the call is over. Until then, the provider may add to it, or its id may become known.
    Call(Timestamp),
    /// Soon, because the provider failed.
    Failure(String),
}

impl Job {
    /// Removes everything about an erased candidate, except the record that says so. Waits for the end of calls that may
    /// still be in progress, and for the end of the time in which files can still be uploaded.
    pub(crate) async fn erase(&self, task: &Task) -> Result<(), TaskError> {
        for _ in 0..MAX_ATTEMPTS {
            match self.remove_all(task).await {
                Err(TaskError::Commit(CommitError::Stale)) => {}
                result => return result,
            }
        }
        // The next run continues, but an erasure that never finishes must not stay unnoticed.
        if self.now > later(task.due, PATIENCE) {
            return Err(TaskError::NotErased("the data keeps changing".to_owned()));
        }
        Err(CommitError::Stale.into())
    }

    async fn remove_all(&self, task: &Task) -> Result<(), TaskError> {
        let (tenant, id, store) = (task.tenant(), task.id, &self.environment.store);
        let found = store.find_erased(tenant, id).await.map_err(CommitError::from)?;
        let Some(erased) = found.filter(|erased| erased.task_due == Some(task.due)) else {
            return Ok(self.discard(task).await?);
        };
        let bucket = self.environment.providers.resumes();
        Tombstone::store(bucket, tenant, &erased.erasure, self.now).await?;
        Box::pin(self.end_exports(tenant, erased.erasure.erased_at, bucket)).await?;
        let erased = store.remove_applications(tenant, erased).await?;
        let traced = store.remove_traced(tenant, id).await?;
        let mut next = self.remove_files(tenant, &erased, &traced.uploads, bucket).await?;
        if let Some(suspects) = &erased.suspects {
            self.remove_suspects(tenant, suspects, bucket).await?;
        }
        for suspects in &traced.suspects {
            self.remove_suspects(tenant, suspects, bucket).await?;
            store.forget_former_address(tenant, id, suspects).await?;
        }
        if let Some(source) = store.find_chosen_source(tenant, id).await.map_err(CommitError::from)? {
            store.forget_source(tenant, &source).await?;
        }
        store.remove_belongings(tenant, id).await.map_err(CommitError::from)?;
        let mut failure = None;
        for screen in store.list_screens_to_erase(tenant, id).await.map_err(CommitError::from)? {
            let due = match self.erase_screen(tenant, screen).await? {
                Remainder::Nothing => continue,
                Remainder::Call(over) => over,
                Remainder::Failure(sentence) => {
                    tracing::warn!(%tenant, screen = screen.get(), failure = sentence, "a call was not erased");
                    failure = Some(sentence);
                    self.after(RETRY_INTERVAL)
                }
            };
            next = Some(next.map_or(due, |next| next.min(due)));
        }
        store.finish_erasure(task, &erased, next).await?;
        match failure {
            Some(sentence) if self.now > later(erased.erasure.erased_at, PATIENCE) => {
                Err(TaskError::NotErased(sentence))
            }
            _ => Ok(()),
        }
    }

    /// Deletes the candidate's files. Returns when they have to be deleted again, because a file can still be uploaded.
    async fn remove_files(
        &self,
        tenant: Tenant,
        erased: &ErasedCandidate,
        uploads: &[UploadTrace],
        bucket: Option<&Bucket>,
    ) -> Result<Option<Timestamp>, TaskError> {
        let (id, store, now) = (erased.erasure.id, &self.environment.store, self.now);
        let mut files = store.list_files_in_history(tenant, id).await.map_err(CommitError::from)?;
        files.extend(erased.file.clone());
        let current = store.all_files(tenant, id).await.map_err(CommitError::from)?;
        files.extend(current.iter().filter_map(CandidateFile::stored).cloned());
        let mut next = None;
        if let Some(bucket) = bucket {
            for file in files {
                bucket.delete(file.key(), now).await?;
            }
        }
        for upload in uploads {
            if let Some(bucket) = bucket {
                delete_upload(bucket, tenant, upload, now).await?;
                delete_answers(bucket, tenant, upload, now).await?;
            }
            let over = upload.over();
            if now < over {
                next = Some(next.map_or(over, |next: Timestamp| next.min(over)));
            } else {
                store.forget_upload(tenant, id, upload).await?;
            }
        }
        Ok(next)
    }

    /// Removes the suspect forms with the person's e-mail address, and their files first.
    async fn remove_suspects(
        &self,
        tenant: Tenant,
        suspects: &str,
        bucket: Option<&Bucket>,
    ) -> Result<(), TaskError> {
        let store = &self.environment.store;
        let mut page = Paging { limit: DISCARDED_AT_ONCE, before: None };
        loop {
            let listed = store.list_suspects_of(suspects, &page).await.map_err(CommitError::from)?;
            if let Some(bucket) = bucket {
                for file in listed.items.iter().filter_map(|form| form.file.as_ref()) {
                    bucket.delete(file.key(), self.now).await?;
                }
            }
            let ids: Vec<_> = listed.items.iter().map(|form| form.id).collect();
            store.delete_suspects(tenant, &ids).await.map_err(CommitError::from)?;
            page.before = listed.next;
            if page.before.is_none() {
                return Ok(());
            }
        }
    }

    /// Erases a screen's call at the provider, and the screen. While something may remain at the provider, keeps only what
    /// is needed to erase the call.
    async fn erase_screen(&self, tenant: Tenant, screen: Id) -> Result<Remainder, TaskError> {
        let store = &self.environment.store;
        let found = store.find_screen(tenant, screen).await.map_err(CommitError::from)?;
        let record = found.ok_or_else(|| {
            CommitError::from(StoreError::Internal("a screen has an entry but no record".to_owned()))
        })?;
        let emptied = record.clone().erase();
        let call_at = record.call_at();
        let over = later(call_at, MAX_CALL);
        // Only the call of a screen that had not ended, or that was cancelled, may still be in progress.
        let is_over = self.now >= over || emptied.screen.status != ScreenStatus::Cancelled;
        let providers = &self.environment.providers;
        let voice = providers.voice_provider(record.provider);
        let left = match voice.zip(providers.http_client()) {
            _ if record.dialing == CallState::Due && record.orders.is_empty() => Ok(ErasedCall::Nothing),
            Some((voice, client)) => {
                let erased = self.erase_calls(tenant, &record, &*voice, client).await;
                erased.map_err(|error| error.to_string())
            }
            None => Err("the voice provider is no longer configured".to_owned()),
        };
        let remainder = match left {
            Ok(ErasedCall::RestOfCall) if !is_over && call_at <= self.now => Remainder::Call(over),
            Ok(ErasedCall::Everything) if !is_over => Remainder::Call(over),
            Ok(ErasedCall::Everything) => {
                tracing::warn!(%tenant, screen = screen.get(), "a call that was never confirmed cannot be erased");
                Remainder::Nothing
            }
            Ok(ErasedCall::Nothing | ErasedCall::RestOfCall) => Remainder::Nothing,
            Err(sentence) => Remainder::Failure(sentence),
        };
        let is_empty = emptied == ScreenRecord { version: emptied.version, ..record.clone() };
        if matches!(remainder, Remainder::Nothing) {
            store.remove_screen(tenant, &record).await?;
        } else if !is_empty {
            store.empty_screen(tenant, &record, &emptied).await?;
        }
        Ok(remainder)
    }
}

impl Job {
    /// Erases all calls of a screen at the provider, also those that were never made.
    async fn erase_calls(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
    ) -> Result<ErasedCall, CallError> {
        for call_id in &record.orders.ended {
            voice.erase(client, &CallState::Placed(call_id.clone())).await?;
        }
        let found = match record.dialing {
            CallState::Asked | CallState::Due => self.find_call(tenant, record, voice, client).await?,
            CallState::Placed(_) => None,
        };
        let call = found.map_or(record.dialing.clone(), CallState::Placed);
        voice.erase(client, &call).await
    }
}

/// Deletes an uploaded file, and the copy that is stored under the hash of its ticket.
pub(crate) async fn delete_upload(
    bucket: &Bucket,
    tenant: Tenant,
    upload: &UploadTrace,
    now: Timestamp,
) -> Result<(), BucketError> {
    bucket.delete(&upload.key, now).await?;
    delete_all(bucket, &ResumeFile::prefix(tenant, &upload.hash), now).await
}

/// Deletes the files that were uploaded with the same ticket as answers to questions, and their copies.
async fn delete_answers(
    bucket: &Bucket,
    tenant: Tenant,
    upload: &UploadTrace,
    now: Timestamp,
) -> Result<(), BucketError> {
    delete_all(bucket, &ResumeFile::answer_names(&upload.key), now).await?;
    let copies = ResumeFile::answer_names(&upload.hash);
    delete_all(bucket, &ResumeFile::beginning(tenant, &copies), now).await
}

/// Deletes all files whose keys begin with this.
async fn delete_all(bucket: &Bucket, prefix: &str, now: Timestamp) -> Result<(), BucketError> {
    let mut last = None;
    loop {
        let keys = bucket.list(prefix, last.as_deref(), now).await?;
        for key in &keys {
            bucket.delete(key, now).await?;
        }
        let Some(key) = keys.into_iter().next_back() else { return Ok(()) };
        last = Some(key);
    }
}
