//! Imports: the file is read into parts, and each part has its turns: it is judged, carried out and, in an undo, undone.
//!
//! A turn is a task of its own that is due now, so a tenant with a large import delays nobody for more than one part. A run that
//! is killed is repeated: nothing is made twice, and nobody is left out.

mod judging;
mod person;
mod reading;
mod roles;
mod row_files;
mod rows;
mod running;
mod together;
mod undoing;
mod worker;
mod zip;

use std::sync::{Arc, Mutex};

use futures_util::stream::{self, StreamExt};
use shared::clock::Timestamp;
use shared::model::{
    AuditActor, Import, ImportPart, ImportStatus, Notice, NoticeEvent, OrganizationSettings, Tenant,
};
use shared::providers::bucket::Bucket;
use shared::services::imports::VerdictError;
use shared::services::notices;
use shared::store::{AuditOrigin, CommitError, Task, Transaction};
use tokio::sync::OnceCell;

use self::worker::{CONCURRENCY, Worker};
use crate::{Job, MAX_ATTEMPTS, TaskError};

/// The number of changes that wait for the feed above which an import pauses.
const MAX_WAITING: usize = 500;
/// The reason of an import whose file never came.
const NOT_UPLOADED: &str = "No file was uploaded in time.";
/// The reason of an import that nobody has run.
const NOT_RUN: &str = "It was not run within seven days, so its file was deleted.";
/// The reason of an import whose rows or verdicts are gone before it was run.
const GONE: &str = "What was stored of its rows is gone. Import the file again.";
/// The reason of one whose rows or verdicts are gone during the run.
const GONE_IN_RUN: &str = "What was stored of its rows is gone, so the rest was not carried out. Import the file again, or undo what was \
                           carried out.";

impl Job {
    /// Gives an import its turn.
    pub(crate) async fn work_on_import(&self, task: &Task) -> Result<(), TaskError> {
        let (tenant, store, now) = (task.tenant(), &self.environment.store, self.now);
        let found = store.find_import(tenant, task.id).await?;
        let Some(import) = found.filter(|import| import.task_due == Some(task.due)) else {
            return Ok(self.discard(task).await?);
        };
        let organization = store.find_organization(tenant).await?;
        let bucket = self.environment.providers.resumes();
        let (Some(organization), Some(bucket)) = (organization, bucket) else {
            return Ok(self.discard(task).await?);
        };
        match import.status {
            ImportStatus::Waiting => return self.wait_for_file(&import, bucket, tenant).await,
            ImportStatus::Checked => {
                if let Some(after) = self.look_for_zip(&import, bucket, tenant).await? {
                    return self.replace_import(&import, &after, None, tenant).await;
                }
                return self.end_import(&import, &import.fail(NOT_RUN.to_owned(), now), tenant).await;
            }
            ImportStatus::Checking | ImportStatus::Running | ImportStatus::Undoing => {}
            ImportStatus::Done | ImportStatus::Undone | ImportStatus::Failed | ImportStatus::Cancelled => {
                return self.clear_import(&import, bucket, task).await;
            }
        }
        if organization.organization.suspended && import.status == ImportStatus::Running {
            let cancelled = import.cancel(now).unwrap_or_else(|| import.clone());
            return self.end_import(&import, &cancelled, tenant).await;
        }
        let settings = store.find_organization_settings(tenant).await?;
        let leased = import.lease(self.environment.clock.now());
        self.replace_import(&import, &leased, None, tenant).await?;
        let import = leased;
        let worker = self.worker(&import, bucket, task, settings.unwrap_or_default());
        match import.status {
            ImportStatus::Checking if import.findings.is_none() => {
                let after = Box::pin(worker.read_file()).await?;
                let is_over = after.status == ImportStatus::Failed;
                if is_over {
                    return self.end_import(&import, &after, tenant).await;
                }
                self.replace_import(&import, &after, None, tenant).await
            }
            ImportStatus::Checking if import.zip_to_match().is_some() => {
                match Box::pin(worker.match_zip()).await {
                    Err(TaskError::FileGone) => self.end_without_files(&worker, None).await,
                    after => self.replace_import(&import, &after?, None, tenant).await,
                }
            }
            ImportStatus::Checking => self.turn(&worker, Worker::judge_part).await,
            ImportStatus::Running if self.must_pause(&worker).await? => {
                self.replace_import(&import, &import.wait(self.environment.clock.now()), None, tenant).await
            }
            ImportStatus::Running => self.turn(&worker, Worker::run_part).await,
            _ => self.turn(&worker, Worker::undo_part).await,
        }
    }

    /// Works on the next part, and writes down what became of it.
    async fn turn<'w, F>(
        &self,
        worker: &'w Worker<'w>,
        work: impl FnOnce(&'w Worker<'w>, ImportPart) -> F,
    ) -> Result<(), TaskError>
    where
        F: Future<Output = Result<Option<ImportPart>, TaskError>>,
    {
        let Worker { store, import, tenant, .. } = worker;
        if let Some(after) = import.without_parts(self.environment.clock.now()) {
            return self.end_import(import, &after, *tenant).await;
        }
        let part = store.find_import_part(*tenant, import.id, import.position).await;
        let part = part?;
        let Some(before) = part else {
            // Its parts expire, like what can be undone.
            let after = import.fail("Its parts have expired.".to_owned(), self.now);
            return self.end_import(import, &after, *tenant).await;
        };
        let part = match work(worker, before).await {
            Ok(Some(part)) => part,
            // Somebody has cancelled it meanwhile.
            Ok(None) => return Ok(()),
            Err(TaskError::FileGone) => return self.end_without_files(worker, Some(&before)).await,
            Err(error) => return Err(error),
        };
        let after = import.after_turn(&before, &part, self.environment.clock.now());
        let after = worker.with_replaced_zip(after);
        if !after.is_over() {
            return self.replace_import(import, &after, Some(&part), *tenant).await;
        }
        let mut transaction = Transaction::new(*tenant);
        transaction.put_import_part(import.id, &part)?;
        self.end_with(import, &after, transaction, *tenant).await
    }

    /// Ends an import whose stored rows or verdicts are gone. What is begun of the rows of this part is ended with what stands.
    async fn end_without_files(
        &self,
        worker: &Worker<'_>,
        part: Option<&ImportPart>,
    ) -> Result<(), TaskError> {
        let Worker { import, tenant, .. } = worker;
        if let Some(part) = part {
            worker.end_rows(&worker.begun_rows(part).await?).await?;
        }
        let reason = if import.run_at.is_some() { GONE_IN_RUN } else { GONE };
        let after = import.fail(reason.to_owned(), self.environment.clock.now());
        self.end_import(import, &after, *tenant).await
    }

    /// Whether so many changes wait for the feed that an import must not add to them.
    async fn must_pause(&self, worker: &Worker<'_>) -> Result<bool, TaskError> {
        let waiting = worker.store.count_waiting_changes(worker.tenant, MAX_WAITING).await;
        Ok(waiting? > MAX_WAITING)
    }

    /// Looks whether the file was uploaded.
    async fn wait_for_file(&self, import: &Import, bucket: &Bucket, tenant: Tenant) -> Result<(), TaskError> {
        let now = self.now;
        if bucket.has(&import.file(tenant), now).await? {
            return self.replace_import(import, &import.check(now), None, tenant).await;
        }
        if now >= import.upload_until() {
            return self.end_import(import, &import.fail(NOT_UPLOADED.to_owned(), now), tenant).await;
        }
        self.replace_import(import, &import.wait(now), None, tenant).await
    }

    /// Deletes the file and the rows of an import that has ended and, when its time is over, also its verdicts.
    async fn clear_import(&self, import: &Import, bucket: &Bucket, task: &Task) -> Result<(), TaskError> {
        let (tenant, now) = (task.tenant(), self.now);
        if import.status == ImportStatus::Cancelled
            && import.run_at.is_some()
            && import.position < import.parts
        {
            self.finish_begun_rows(import, bucket, task).await?;
        }
        let is_over = now >= import.kept_until();
        let rows = (0..import.parts).map(|part| import.part_file(tenant, part));
        let verdicts = (0..import.parts).filter(|_| is_over).map(|part| import.verdict_file(tenant, part));
        let files: Vec<_> =
            rows.chain(verdicts).chain([import.file(tenant)]).chain(zip::keys(import, tenant)).collect();
        let delete = |file: String| async move { bucket.delete(&file, now).await };
        let mut deletions = stream::iter(files.into_iter().map(delete)).buffer_unordered(CONCURRENCY);
        while let Some(deleted) = deletions.next().await {
            deleted?;
        }
        drop(deletions);
        self.replace_import(import, &import.cleared(now), None, tenant).await
    }

    /// Carries out the rest of the rows of a cancelled import of which a killed run has made a part.
    async fn finish_begun_rows(
        &self,
        import: &Import,
        bucket: &Bucket,
        task: &Task,
    ) -> Result<(), TaskError> {
        let (store, tenant) = (&self.environment.store, task.tenant());
        let Some(part) = store.find_import_part(tenant, import.id, import.position).await? else {
            return Ok(());
        };
        let settings = store.find_organization_settings(tenant).await?;
        let worker = self.worker(import, bucket, task, settings.unwrap_or_default());
        let begun = worker.begun_rows(&part).await?;
        if begun.is_empty() {
            return Ok(());
        }
        match worker.finish_rows(&part, &begun).await {
            Err(TaskError::FileGone) => worker.end_rows(&begun).await,
            result => result,
        }
    }

    fn worker<'w>(
        &self,
        import: &'w Import,
        bucket: &'w Bucket,
        task: &Task,
        settings: OrganizationSettings,
    ) -> Worker<'w> {
        let (actor, clock) = (AuditActor::of(import.asked_by(), None), self.environment.clock.clone());
        let origin = AuditOrigin::inside(actor, clock.clone(), self.ids.clone());
        let origin = origin.caused_by(task.caused_by.clone());
        let store = self.environment.store.clone().with_origin(Arc::new(origin));
        Worker {
            store,
            bucket,
            ids: self.ids.clone(),
            random: self.environment.random.clone(),
            now: clock.now(),
            latest: Arc::new(Mutex::new(Timestamp::UNIX_EPOCH)),
            clock,
            tenant: task.tenant(),
            import,
            settings,
            files: Arc::new(OnceCell::new()),
        }
    }

    async fn replace_import(
        &self,
        before: &Import,
        after: &Import,
        part: Option<&ImportPart>,
        tenant: Tenant,
    ) -> Result<(), TaskError> {
        let mut transaction = Transaction::new(tenant);
        transaction.replace_import(before, after)?;
        if let Some(part) = part {
            transaction.put_import_part(before.id, part)?;
        }
        Ok(self.environment.store.commit(transaction).await?)
    }

    /// Ends an import, which then no longer counts as unfinished. The member who asked for the step that ended is told.
    async fn end_import(&self, before: &Import, after: &Import, tenant: Tenant) -> Result<(), TaskError> {
        self.end_with(before, after, Transaction::new(tenant), tenant).await
    }

    async fn end_with(
        &self,
        before: &Import,
        after: &Import,
        transaction: Transaction,
        tenant: Tenant,
    ) -> Result<(), TaskError> {
        let store = &self.environment.store;
        for attempt in 1.. {
            let used = store.find_import_use(tenant).await?;
            let mut transaction = transaction.clone();
            transaction.replace_import(before, after)?;
            if before.is_unfinished() && !after.is_unfinished() {
                transaction.replace_import_use(&used, &used.without(before.id))?;
            }
            if let Some(event) = NoticeEvent::end_of_import(after, tenant.mode) {
                let notice = Notice { id: self.ids.next(), at: self.now, event };
                notices::tell_actor(store, &mut transaction, before.asked_by(), &notice).await?;
            }
            match store.commit(transaction).await {
                Err(CommitError::Stale) if attempt < MAX_ATTEMPTS => {}
                result => return Ok(result?),
            }
        }
        Ok(())
    }
}

impl From<VerdictError> for TaskError {
    fn from(error: VerdictError) -> Self {
        match error {
            VerdictError::Gone => Self::FileGone,
            VerdictError::Bucket(error) => error.into(),
        }
    }
}
