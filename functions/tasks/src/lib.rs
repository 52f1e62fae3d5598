//! Tasks: work that requests leave for later. The function runs whenever a task is written, and every minute.
//!
//! A voice screen is stored first and called later. One task starts the call, and another checks on the call if the
//! provider has not reported on it. A provider gets one order for each call. A run claims the screen before it sends
//! the order, so the function may run late, twice, or concurrently, and it may be killed at any point.

mod role_copies;

use futures_util::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use shared::clock::{later, to_second};
use shared::http::Environment;
use shared::id::Ids;
use shared::model::{CallState, CandidateRecord, Outcome, Report, Role, ScreenRecord, Tenant};
use shared::providers::client::HttpClient;
use shared::providers::voice::{CallOrder, StartError, VoicePort};
use shared::services::screening::{self, Reference};
use shared::store::{CommitError, StoreError, Task, TaskKind, Transaction};

/// The results of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of tasks.
    pub tasks: usize,
    /// The number of tasks that failed. The next run retries them.
    pub failed: usize,
}

/// The number of tasks read at a time.
const PAGE: u32 = 100;
/// The number of tasks processed at a time.
const CONCURRENCY: usize = 8;
/// The maximum duration of a call, including the time before and after the conversation.
const MAX_CALL: SignedDuration = SignedDuration::from_hours(2);
/// The time between two checks on a call.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// The maximum number of attempts at a write that conflicts with other writes.
const MAX_ATTEMPTS: u32 = 5;
/// The maximum wait for the analysis of a call that has ended.
const MAX_ANALYSIS: SignedDuration = SignedDuration::from_mins(10);

/// Processes all due tasks. If a task fails, the run continues with the others and returns an error at the end.
pub async fn run(environment: Environment) -> Result<Summary, lambda_http::Error> {
    let now = to_second(environment.clock.now());
    let job = Job { ids: Ids::new(environment.clock.clone(), environment.random.clone()), environment, now };
    let mut summary = Summary::default();
    let mut start = None;
    loop {
        let page = job.environment.store.list_due_tasks(now, PAGE, start).await?;
        let results = page.items.into_iter().map(|task| job.work(task));
        let mut results = stream::iter(results).buffer_unordered(CONCURRENCY);
        while let Some(done) = results.next().await {
            summary.tasks += 1;
            summary.failed += usize::from(!done);
        }
        start = page.next;
        if start.is_none() {
            break;
        }
    }
    if summary.tasks > 0 {
        tracing::info!(tasks = summary.tasks, failed = summary.failed, "tasks");
    }
    if summary.failed > 0 {
        return Err(format!("{} tasks failed", summary.failed).into());
    }
    Ok(summary)
}

struct Job {
    environment: Environment,
    ids: Ids,
    now: Timestamp,
}

impl Job {
    /// Processes a task. Returns whether it succeeded.
    async fn work(&self, task: Task) -> bool {
        let result = match task.kind {
            TaskKind::Role => self.update_copies(&task).await,
            TaskKind::Call => self.follow_up(&task).await,
        };
        match result {
            // Another run processes a stale task, or the next run retries it.
            Ok(()) | Err(CommitError::Stale) => true,
            Err(error) => {
                tracing::error!(tenant = %task.tenant(), id = task.id.get(), refusal = %error, "a task failed");
                false
            }
        }
    }

    /// Takes the next step for a screen's call: orders it, checks on it, or gives up.
    async fn follow_up(&self, task: &Task) -> Result<(), CommitError> {
        let tenant = task.tenant();
        let found = self.environment.store.find_screen(tenant, task.id).await?;
        let Some(record) = found.filter(|record| record.task_due == Some(task.due)) else {
            // The screen has ended or has another task.
            return self.discard(task).await;
        };
        let providers = &self.environment.providers;
        let voice = providers.voice_provider(record.provider);
        match (&record.dialing, voice.as_deref().zip(providers.http_client())) {
            (CallState::Due, Some((voice, client))) => self.claim(tenant, &record, voice, client).await,
            (CallState::Due, None) => {
                self.fail(tenant, &record, "The voice provider is no longer configured.").await
            }
            // One callback may have arrived without the next one.
            (CallState::Asked | CallState::Placed(_), Some((voice, client)))
                if voice.accepts_repeated_orders() && !self.is_overdue(&record) =>
            {
                self.start(tenant, &record, voice, client).await?;
                let postponed = record.clone().postpone(self.after(voice.report_timeout()), self.now);
                self.replace(tenant, &record, &postponed).await.or_else(ignore_stale)
            }
            (CallState::Placed(call_id), Some((voice, client))) => {
                self.check(tenant, &record, voice, client, call_id).await
            }
            _ => self.give_up(tenant, &record).await,
        }
    }

    /// Deletes a task without anything to do.
    async fn discard(&self, task: &Task) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(task.tenant());
        transaction.delete_task(task);
        self.environment.store.commit(transaction).await
    }

    /// Claims a screen whose call is due and orders the call.
    async fn claim(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
    ) -> Result<(), CommitError> {
        let call_at = record.screen.scheduled_at.unwrap_or(self.now).max(self.now);
        let due = later(call_at, voice.report_timeout());
        let claimed = record.clone().dial(CallState::Asked, None, due, self.now);
        self.replace(tenant, record, &claimed).await?;
        self.start(tenant, &claimed, voice, client).await
    }

    /// Orders the call of a claimed screen and records the provider's response.
    async fn start(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
    ) -> Result<(), CommitError> {
        let Some(order) = self.order(tenant, record).await? else {
            return self.fail(tenant, record, "The candidate or the role no longer exists.").await;
        };
        match voice.start(client, &order).await {
            Ok(Some(call_id)) => self.record_answer(tenant, record, Some(call_id), None).await,
            Ok(None) => Ok(()),
            Err(StartError::Refused(sentence)) => {
                tracing::warn!(%tenant, screen = record.screen.id.get(), sentence, "a call was refused");
                let sentence = format!("{sentence}.");
                self.retry_conflicts(tenant, record, || self.fail(tenant, record, &sentence)).await
            }
            Err(StartError::Unknown(sentence)) => {
                tracing::warn!(%tenant, screen = record.screen.id.get(), sentence, "a call may have been started");
                let note = format!("{sentence}. The call may or may not be made.");
                self.record_answer(tenant, record, None, Some(note)).await
            }
        }
    }

    /// Records the provider's response to an order, unless a callback has changed the screen in the meantime.
    async fn record_answer(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        call_id: Option<String>,
        note: Option<String>,
    ) -> Result<(), CommitError> {
        let due = record.task_due.unwrap_or(self.now);
        let state = call_id.map_or(CallState::Asked, CallState::Placed);
        let answered = record.clone().dial(state, note, due, self.now);
        self.retry_conflicts(tenant, record, || self.replace(tenant, record, &answered)).await
    }

    /// Retries a write that conflicts with writes to other items, unless the screen itself has changed.
    async fn retry_conflicts<W: Future<Output = Result<(), CommitError>>>(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        write: impl Fn() -> W,
    ) -> Result<(), CommitError> {
        for _ in 0..MAX_ATTEMPTS {
            match write().await {
                Err(CommitError::Stale) => {}
                result => return result,
            }
            let found = self.environment.store.find_screen(tenant, record.screen.id).await?;
            if found.is_none_or(|found| found.version != record.version) {
                return Ok(());
            }
        }
        Err(CommitError::Stale)
    }

    /// Queries the provider about a call that it has not reported on, or about a missing analysis.
    async fn check(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
        call_id: &str,
    ) -> Result<(), CommitError> {
        let wait = match voice.report(client, call_id).await {
            Ok(Some(report)) => {
                let ended_at = report.ended_at.unwrap_or(record.screen.updated_at);
                let can_wait = self.now.duration_since(ended_at) < MAX_ANALYSIS;
                if !(screening::awaits_analysis(&report) && can_wait) {
                    return self.end(tenant, record, report).await;
                }
                screening::ANALYSIS_WAIT
            }
            Ok(None) => CHECK_INTERVAL,
            Err(error) => {
                let screen = record.screen.id.get();
                tracing::warn!(%tenant, screen, failure = %error, "a call cannot be read");
                CHECK_INTERVAL
            }
        };
        if self.is_overdue(record) {
            return self.give_up(tenant, record).await;
        }
        let postponed = record.clone().postpone(self.after(wait), self.now);
        self.replace(tenant, record, &postponed).await
    }

    /// Ends a screen whose provider has not reported on the call. The screen is completed if it has a transcript, and
    /// failed otherwise.
    async fn give_up(&self, tenant: Tenant, record: &ScreenRecord) -> Result<(), CommitError> {
        if record.transcript_parts > 0 {
            return self.end(tenant, record, empty_report(Outcome::Completed)).await;
        }
        let sentence = match record.dialing {
            CallState::Placed(_) => "The voice provider has not reported on the call.",
            CallState::Due | CallState::Asked => {
                "The voice provider has not confirmed the call; it may or may not have been made."
            }
        };
        self.fail(tenant, record, sentence).await
    }

    async fn fail(&self, tenant: Tenant, record: &ScreenRecord, sentence: &str) -> Result<(), CommitError> {
        self.end(tenant, record, empty_report(Outcome::Failed(sentence.to_owned()))).await
    }

    async fn end(&self, tenant: Tenant, record: &ScreenRecord, report: Report) -> Result<(), CommitError> {
        screening::end(&self.environment.store, tenant, record, report, self.now, &self.ids).await
    }

    async fn replace(
        &self,
        tenant: Tenant,
        before: &ScreenRecord,
        after: &ScreenRecord,
    ) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(tenant);
        transaction.replace_screen(before, after)?;
        self.environment.store.commit(transaction).await
    }

    /// The order for a screen's call; `None` if the candidate or the role no longer exists.
    async fn order(&self, tenant: Tenant, record: &ScreenRecord) -> Result<Option<CallOrder>, StoreError> {
        let screen = &record.screen;
        let Environment { store, config, providers, .. } = &self.environment;
        let base_url = config.base_url.as_deref().unwrap_or(&record.base_url);
        let found = store.find_candidate_and_role(tenant, screen.candidate_id, screen.role_id).await?;
        let (Some(CandidateRecord { candidate, .. }), Some(Role { content, .. })) = found else {
            return Ok(None);
        };
        Ok(Some(CallOrder {
            tenant,
            reference: Reference { tenant, screen: screen.id }.to_string(),
            candidate_id: screen.candidate_id,
            candidate_name: candidate.profile.name.as_str().to_owned(),
            phone: candidate.profile.phone.map(|phone| phone.as_str().to_owned()),
            role_id: screen.role_id,
            role_title: content.title.as_str().to_owned(),
            role_description: content.description.map(|description| description.as_str().to_owned()),
            ordered_at: self.now,
            scheduled_at: screen.scheduled_at,
            callback_url: providers.callback_url(record.provider, base_url),
        }))
    }

    fn is_overdue(&self, record: &ScreenRecord) -> bool {
        let call_at = record.screen.scheduled_at.unwrap_or(record.screen.created_at);
        self.now > later(call_at, MAX_CALL)
    }

    fn after(&self, wait: SignedDuration) -> Timestamp {
        later(self.now, wait)
    }
}

/// A report with only an outcome.
fn empty_report(outcome: Outcome) -> Report {
    Report { outcome, started_at: None, ended_at: None, transcript: Vec::new(), analysis: None }
}

/// Treats a stale write as a success, because the other write has newer data.
fn ignore_stale(error: CommitError) -> Result<(), CommitError> {
    if matches!(error, CommitError::Stale) { Ok(()) } else { Err(error) }
}
