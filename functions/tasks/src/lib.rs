//! Tasks: work that requests leave for later. The function runs whenever a task is written, and every minute.

mod bulk_acts;
mod calls;
mod cancellations;
mod closings;
mod erasures;
mod exports;
mod files;
mod imports;
mod retention;
mod role_copies;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::Value;
use shared::clock::{Timestamp, later};
use shared::http::Environment;
use shared::id::Ids;
use shared::model::{AuditActor, TaskKind};
use shared::providers::bucket::BucketError;
use shared::providers::voice::CallError;
use shared::services::files::SettleError;
use shared::store::{
    AuditOrigin, CommitError, OrganizationError, StoreError, Task, TaskPartition, Transaction, Unreadable,
};
use tracing::Instrument;

/// The results of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of tasks.
    pub tasks: usize,
    /// The number of tasks that failed. The next run retries them.
    pub failed: usize,
    /// The number of items that could not be read and were moved to the quarantine.
    pub quarantined: usize,
    /// For how many seconds the oldest task had been due.
    pub oldest: u64,
    /// The number of partitions that could not be read. The next run reads them again.
    pub unlisted: usize,
}

/// The number of items of a list read at a time.
const PAGE: u32 = 100;
/// The share of a tenant's due tasks in one partition that each round of a run has. Each round lists the failed tasks of the
/// rounds before again, so it has a larger share.
const SHARES: [usize; 6] = [25, 50, 100, 200, 400, 800];
/// The time after which a run begins no further round. A run may take two minutes, and another one begins every minute.
const ENOUGH: SignedDuration = SignedDuration::from_secs(40);
/// The number of tasks processed at a time.
const CONCURRENCY: usize = 8;
/// The maximum duration of a call, including the time before and after the conversation.
const MAX_CALL: SignedDuration = SignedDuration::from_hours(2);
/// The maximum number of attempts at a write that conflicts with other writes.
const MAX_ATTEMPTS: u32 = 5;

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
enum TaskError {
    /// DynamoDB failed, or a write conflicted with others.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The provider has not cancelled a call for a while.
    #[error("a call could not be cancelled: {0}")]
    NotCancelled(CallError),
    /// A candidate's data has not been removed completely for a while.
    #[error("a candidate was not erased completely: {0}")]
    NotErased(String),
    /// An act on several candidates, an import or an export could not go on.
    #[error("not carried out: {0}")]
    NotCarriedOut(String),
    /// What an import has stored in the bucket is gone.
    #[error("a stored file is gone")]
    FileGone,
    /// The bucket failed.
    #[error("the bucket failed: {0}")]
    Bucket(#[from] BucketError),
}

impl From<StoreError> for TaskError {
    fn from(error: StoreError) -> Self {
        Self::Commit(error.into())
    }
}

impl From<SettleError> for TaskError {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Bucket(error) => error.into(),
            SettleError::Store(error) => error.into(),
        }
    }
}

/// Answers an event: those of the table's stream name the partitions of new tasks, and the schedule's are for all.
pub async fn answer(event: Value, environment: Environment) -> Result<Summary, lambda_http::Error> {
    let records = event["Records"].as_array().into_iter().flatten();
    let named: BTreeSet<_> = records
        .filter_map(|record| TaskPartition::parse(record["dynamodb"]["Keys"]["pk"]["S"].as_str()?))
        .collect();
    if event["Records"].is_array() {
        run_for(environment, named.into_iter().collect()).await
    } else {
        run_job(environment, TaskPartition::all().collect(), true).await
    }
}

/// Processes all due tasks. If a task fails, the run continues with the others and returns an error at the end.
pub async fn run(environment: Environment) -> Result<Summary, lambda_http::Error> {
    run_job(environment, TaskPartition::all().collect(), false).await
}

/// Processes the due tasks of these partitions.
pub async fn run_for(
    environment: Environment,
    partitions: Vec<TaskPartition>,
) -> Result<Summary, lambda_http::Error> {
    run_job(environment, partitions, false).await
}

async fn run_job(
    environment: Environment,
    partitions: Vec<TaskPartition>,
    is_scheduled: bool,
) -> Result<Summary, lambda_http::Error> {
    if environment.config.signing_keys.are_missing() {
        return Err("the environment variable SIGNING_KEYS is not set".into());
    }
    if environment.config.services.vapi.as_ref().is_some_and(|vapi| vapi.api_key.is_none()) {
        return Err("the environment variable VAPI_API_KEY is not set".into());
    }
    let environment = Environment { store: environment.store.metered(), ..environment };
    let now = environment.clock.now();
    let ids = Ids::new(environment.clock.clone(), environment.random.clone());
    let job = Job { environment, ids, now };
    let summary = job.run(&partitions).await;
    job.log(&summary, is_scheduled);
    let Summary { failed, unlisted, .. } = summary;
    if failed + unlisted > 0 {
        return Err(format!("{failed} tasks failed, and {unlisted} partitions could not be read").into());
    }
    Ok(summary)
}

/// The tasks in the order in which they are processed: the oldest of each tenant, then the second ones, and so on. A tenant
/// that orders very many calls does not use up what the voice provider takes at a time.
fn in_turn(tasks: Vec<Task>) -> Vec<Task> {
    let mut seen = HashMap::new();
    let mut tasks: Vec<_> = tasks
        .into_iter()
        .map(|task| {
            let turn = seen.entry(task.tenant()).or_insert(0_usize);
            *turn += 1;
            (*turn, task)
        })
        .collect();
    tasks.sort_by_key(|(turn, _)| *turn);
    tasks.into_iter().map(|(_, task)| task).collect()
}

struct Job {
    environment: Environment,
    ids: Ids,
    now: Timestamp,
}

impl Job {
    /// Processes the due tasks of these partitions, each tenant's oldest first. A tenant with very many delays nobody else:
    /// in each round, a partition has at most a share of every tenant's tasks.
    async fn run(&self, partitions: &[TaskPartition]) -> Summary {
        let (store, clock) = (&self.environment.store, &self.environment.clock);
        let started = clock.now();
        let (mut summary, mut tried) = (Summary::default(), HashSet::new());
        for share in SHARES {
            let lists =
                partitions.iter().copied().map(|partition| store.list_due_tasks(partition, self.now, share));
            let mut lists = stream::iter(lists).buffer_unordered(CONCURRENCY);
            let (mut tasks, mut has_more) = (Vec::new(), false);
            while let Some(listed) = lists.next().await {
                match listed {
                    Ok(due) => {
                        has_more |= due.has_more;
                        tasks.extend(due.tasks.into_iter().filter(|task| tried.insert(task.clone())));
                        for unreadable in due.unreadable {
                            summary.quarantined += usize::from(self.set_aside(&unreadable).await);
                        }
                    }
                    // The other partitions have their tasks, and the next run reads this one again.
                    Err(error) => {
                        tracing::error!(failure = %error, "tasks could not be listed");
                        summary.unlisted += 1;
                    }
                }
            }
            tasks.sort_by_key(|task| task.due);
            summary.oldest = summary.oldest.max(tasks.first().map_or(0, |task| self.age(task)));
            let tasks = in_turn(tasks);
            let mut results =
                stream::iter(tasks.into_iter().map(|task| self.work(task))).buffer_unordered(CONCURRENCY);
            while let Some(done) = results.next().await {
                summary.tasks += 1;
                summary.failed += usize::from(!done);
            }
            if !has_more || clock.now().duration_since(started) > ENOUGH {
                break;
            }
        }
        summary
    }

    /// Logs a run. The schedule's runs are logged even if nothing was due, because an alarm expects them.
    fn log(&self, summary: &Summary, is_scheduled: bool) {
        if !is_scheduled && *summary == Summary::default() {
            return;
        }
        let Summary { tasks, failed, quarantined, oldest, unlisted } = *summary;
        let database = self.environment.store.database_use();
        tracing::info!(
            queue = "tasks",
            scheduled = u8::from(is_scheduled),
            tasks,
            failed,
            quarantined,
            oldest,
            unlisted,
            dynamodb_calls = database.calls,
            dynamodb_milliseconds = database.milliseconds,
            dynamodb_retries = Some(database.retries).filter(|number| *number > 0),
            dynamodb_throttled = Some(database.throttled).filter(|number| *number > 0),
            dynamodb_conflicts = Some(database.conflicts).filter(|number| *number > 0),
            "tasks"
        );
    }

    /// The number of seconds for which a task has been due.
    fn age(&self, task: &Task) -> u64 {
        u64::try_from(self.now.duration_since(task.due).as_secs()).unwrap_or(0)
    }

    /// Moves an item that is no task to the quarantine, so that no later run reads it again. Returns whether it was moved.
    async fn set_aside(&self, unreadable: &Unreadable) -> bool {
        match self.environment.store.quarantine(unreadable, self.now).await {
            Ok(moved) => moved,
            Err(error) => {
                tracing::error!(failure = %error, "an unreadable task was not moved");
                false
            }
        }
    }

    /// Processes a task. Returns whether it succeeded. Its lines in the log, and the tasks that it writes, name the request
    /// that caused it.
    async fn work(&self, task: Task) -> bool {
        let (actor, cause) = (AuditActor::system(), task.caused_by.clone());
        let span = tracing::error_span!(
            "task",
            actor = %actor.term(),
            kind = task.kind.as_str(),
            id = task.id.get(),
            caused_by = cause
        );
        let Self { environment, ids, .. } = self;
        let origin = AuditOrigin::inside(actor, environment.clock.clone(), ids.clone()).caused_by(cause);
        let store = environment.store.clone().with_origin(Arc::new(origin));
        let environment = Environment { store, ..environment.clone() };
        let now = environment.clock.now();
        let job = Self { environment, ids: ids.clone(), now };
        job.carry_out(&task).instrument(span).await
    }

    async fn carry_out(&self, task: &Task) -> bool {
        let result = match task.kind {
            TaskKind::Role => self.update_copies(task).await.map_err(TaskError::from),
            TaskKind::Cancellation => self.cancel_marked(task).await.map_err(TaskError::from),
            TaskKind::Suspension => self.cancel_suspended(task).await.map_err(TaskError::from),
            TaskKind::Erasure => self.erase(task).await,
            TaskKind::Retention => self.apply_retention(task).await.map_err(TaskError::from),
            TaskKind::Closing => self.unpublish(task).await.map_err(TaskError::from),
            TaskKind::Files => self.look_at_files(task).await,
            TaskKind::BulkAct => self.work_on_act(task).await,
            // Most tasks are not imports, whose work has many states.
            TaskKind::Import => Box::pin(self.work_on_import(task)).await,
            TaskKind::Export => Box::pin(self.work_on_export(task)).await,
            TaskKind::KeyEnd => self.end_key(task).await,
            TaskKind::Call => self.follow_up(task).await,
        };
        match result {
            // Another run processes a stale task, or the next run retries it.
            Ok(()) | Err(TaskError::Commit(CommitError::Stale)) => true,
            Err(error) => {
                tracing::error!(tenant = %task.tenant(), id = task.id.get(), refusal = %error, "a task failed");
                false
            }
        }
    }

    /// Revokes an API key that another one replaces.
    async fn end_key(&self, task: &Task) -> Result<(), TaskError> {
        match self.environment.store.revoke_api_key(task.tenant(), task.id, self.now).await {
            Ok(_) | Err(OrganizationError::NoSuchKey) => Ok(self.discard(task).await?),
            Err(OrganizationError::Store(error)) => Err(CommitError::from(error).into()),
            Err(_) => Err(CommitError::Stale.into()),
        }
    }

    /// Deletes a task without anything to do.
    async fn discard(&self, task: &Task) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(task.tenant());
        transaction.delete_task(task);
        self.environment.store.commit(transaction).await
    }

    fn after(&self, wait: SignedDuration) -> Timestamp {
        later(self.now, wait)
    }
}
