//! Exports: the table is read in turns, and each turn adds to the files.
//!
//! A turn is a task of its own that is due now, so a tenant with a large export delays nobody for longer than one turn. A run that is
//! killed is repeated: what a turn has written counts only with the write of the export after it.

mod output;
mod reading;

use shared::clock::Timestamp;
use shared::model::{Export, ExportStatus, ExportStep, Notice, NoticeEvent, Tenant};
use shared::providers::bucket::{Bucket, BucketError};
use shared::services::notices;
use shared::store::{CommitError, Task, Transaction};

use self::output::Output;
use self::reading::Reader;
use crate::{Job, MAX_ATTEMPTS, TaskError};

/// The reason of an export that an erasure has ended.
const ERASED: &str = "Somebody was erased, so its files were deleted. Begin another export.";
/// The reason of an export whose files are not as they were left.
const LOST: &str = "Its files were lost. Begin another export.";

impl Job {
    /// Gives an export its turn.
    pub(crate) async fn work_on_export(&self, task: &Task) -> Result<(), TaskError> {
        let (tenant, store, clock) = (task.tenant(), &self.environment.store, &self.environment.clock);
        let found = store.find_export(tenant, task.id).await?;
        let Some(export) = found.filter(|export| export.task_due == Some(task.due)) else {
            return Ok(self.discard(task).await?);
        };
        let organization = store.find_organization(tenant).await?;
        let bucket = self.environment.providers.resumes();
        let (Some(organization), Some(bucket)) = (organization, bucket) else {
            return Ok(self.discard(task).await?);
        };
        if export.status != ExportStatus::Running {
            return self.clear_export(&export, bucket, tenant).await;
        }
        let leased = export.lease(clock.now());
        self.replace_export(&export, &leased, tenant).await?;
        let Some(mut output) = Output::load(bucket, &leased, tenant, clock.now()).await? else {
            return self.lose(&leased, tenant).await;
        };
        let reader =
            Reader { store, clock, tenant, export: &leased, organization: &organization.organization };
        let next = match leased.step {
            ExportStep::Roles => Some(reader.read_roles(&mut output).await?),
            ExportStep::People => Some(reader.read_people(&mut output).await?),
            ExportStep::Files => None,
        };
        let Some(next) = next else {
            if !output.finish(bucket, &leased, tenant, clock.now()).await? {
                return self.lose(&leased, tenant).await;
            }
            let done = leased.after_turn(output.heads(), None, clock.now());
            return self.replace_export(&leased, &done, tenant).await;
        };
        // The uploads are known before they have anything, so whatever they have can be deleted.
        let begun = output.begin_uploads(bucket, &leased, tenant, clock.now()).await?;
        let before = match begun {
            Some(heads) => {
                let begun = leased.with_uploads(heads);
                self.replace_export(&leased, &begun, tenant).await?;
                begun
            }
            None => leased.clone(),
        };
        if !output.store(bucket, &before, tenant, next.0 == ExportStep::Files, clock.now()).await? {
            return self.lose(&before, tenant).await;
        }
        let after = before.after_turn(output.heads(), Some(next), clock.now());
        self.replace_export(&before, &after, tenant).await
    }

    /// Ends an export whose files are not as they were left.
    async fn lose(&self, export: &Export, tenant: Tenant) -> Result<(), TaskError> {
        match export.fail(LOST, self.environment.clock.now()) {
            Some(failed) => self.replace_export(export, &failed, tenant).await,
            None => Ok(()),
        }
    }

    /// Deletes the files of an export that is over.
    async fn clear_export(&self, export: &Export, bucket: &Bucket, tenant: Tenant) -> Result<(), TaskError> {
        delete_files(bucket, export, tenant, self.now).await?;
        self.replace_export(export, &export.cleared(self.now), tenant).await
    }

    /// Ends the exports that may have somebody who was erased at this time, and deletes their files.
    pub(crate) async fn end_exports(
        &self,
        tenant: Tenant,
        erased_at: Timestamp,
        bucket: Option<&Bucket>,
    ) -> Result<(), TaskError> {
        let store = &self.environment.store;
        for id in store.find_export_use(tenant).await?.standing() {
            let found = store.find_export(tenant, id).await?;
            let Some(export) = found.filter(|export| export.may_have(erased_at)) else { continue };
            if let Some(failed) = export.fail(ERASED, self.environment.clock.now()) {
                self.replace_export(&export, &failed, tenant).await?;
            }
            if let Some(bucket) = bucket {
                delete_files(bucket, &export, tenant, self.now).await?;
            }
        }
        Ok(())
    }

    /// Replaces an export. What the tenant uses of exports follows its status. The member who began it is told of its end, but not
    /// that files are given up which were written.
    async fn replace_export(&self, before: &Export, after: &Export, tenant: Tenant) -> Result<(), TaskError> {
        let store = &self.environment.store;
        let is_other = before.status != after.status || before.is_cleared != after.is_cleared;
        for attempt in 1.. {
            let mut transaction = Transaction::new(tenant);
            transaction.replace_export(before, after)?;
            if is_other {
                let used = store.find_export_use(tenant).await?;
                transaction.replace_export_use(&used, &used.after(after))?;
            }
            if before.status == ExportStatus::Running
                && let Some(event) = NoticeEvent::end_of_export(after, tenant.mode)
            {
                let notice = Notice { id: self.ids.next(), at: self.environment.clock.now(), event };
                notices::tell_actor(store, &mut transaction, &before.created_by, &notice).await?;
            }
            match store.commit(transaction).await {
                Err(CommitError::Stale) if is_other && attempt < MAX_ATTEMPTS => {}
                result => return Ok(result?),
            }
        }
        Ok(())
    }
}

/// Deletes everything that an export has written.
async fn delete_files(
    bucket: &Bucket,
    export: &Export,
    tenant: Tenant,
    now: Timestamp,
) -> Result<(), BucketError> {
    for file in &export.files {
        let key = export.file(tenant, file.kind);
        if let Some(upload) = &file.upload {
            bucket.abort_upload(&key, upload, now).await?;
        }
        bucket.delete(&key, now).await?;
    }
    for kind in export.kinds.iter().map(|kind| Some(*kind)).chain([None]) {
        for rest in export.rests(tenant, kind) {
            bucket.delete(&rest, now).await?;
        }
    }
    Ok(())
}
