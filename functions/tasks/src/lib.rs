//! Tasks, run whenever one is written and every minute: what requests have left to be done.
//!
//! A voice screen is written first and called after: its call is a task, and so is looking after a call of which nothing
//! has been heard. A provider is asked for a call once: whoever asks has claimed the screen before, so that this job may
//! run late, twice, twice at once, or be killed anywhere.

use futures_util::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use shared::clock::to_second;
use shared::http::Environment;
use shared::id::Ids;
use shared::model::{CandidateFile, Dialing, Outcome, Report, Role, ScreenFile, Tenant, VoiceProvider};
use shared::providers::vapi::{StartFailure, Vapi};
use shared::providers::voice::{self, CallOrder};
use shared::providers::voice_simulator;
use shared::screening::{self, Reference};
use shared::store::{Failure, Refusal, Task, TaskKind, Writes};

/// What a run has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Tasks that were worked on.
    pub tasks: usize,
    /// Tasks that could not be worked on; the next run takes them up again.
    pub failed: usize,
}

/// How many tasks are read at a time.
const PAGE: u32 = 100;
/// How many of them are worked on at a time.
const CONCURRENCY: usize = 8;
/// How long a provider may be silent about a call that it may or may not have made.
const SILENCE: SignedDuration = SignedDuration::from_mins(30);
/// How long a call may last, with all that comes before and after it.
const LONGEST_CALL: SignedDuration = SignedDuration::from_hours(2);
/// How often a provider is asked about a call of which nothing is heard.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_mins(10);
/// When the simulator is asked again, whose callbacks did not arrive.
const SIMULATE_AGAIN: SignedDuration = SignedDuration::from_secs(30);
/// How often it is tried to note what a provider has answered, each time because other writes were at the same items.
const MAX_ATTEMPTS: u32 = 5;
/// How long an ended call may wait for its analysis.
const LONGEST_ANALYSIS: SignedDuration = SignedDuration::from_mins(10);

/// Does what is due. What fails for one task does not keep the others waiting, but makes the run fail in the end.
pub async fn run(environment: Environment) -> Result<Summary, lambda_http::Error> {
    let now = to_second(environment.clock.now());
    let job = Job { ids: Ids::new(environment.clock.clone(), environment.random.clone()), environment, now };
    let mut summary = Summary::default();
    let mut before = None;
    loop {
        let listed = job.environment.store.list_due_tasks(now, PAGE, before).await?;
        let working = listed.items.into_iter().map(|task| job.work(task));
        let mut working = stream::iter(working).buffer_unordered(CONCURRENCY);
        while let Some(done) = working.next().await {
            summary.tasks += 1;
            summary.failed += usize::from(!done);
        }
        before = listed.next;
        if before.is_none() {
            break;
        }
    }
    if summary.tasks > 0 {
        tracing::info!(tasks = summary.tasks, failed = summary.failed, "tasks");
    }
    if summary.failed > 0 {
        return Err(format!("{} tasks could not be worked on", summary.failed).into());
    }
    Ok(summary)
}

struct Job {
    environment: Environment,
    ids: Ids,
    now: Timestamp,
}

impl Job {
    /// Works on a task; `false` where it could not.
    async fn work(&self, task: Task) -> bool {
        let worked = match task.kind {
            TaskKind::Index => self.environment.store.index_candidate(&task).await,
            TaskKind::Call => self.look_after(&task).await,
        };
        match worked {
            // What has changed meanwhile is in other hands, or the next run's.
            Ok(()) | Err(Refusal::Stale) => true,
            Err(refusal) => {
                tracing::error!(tenant = %task.tenant(), id = task.id.get(), %refusal, "a task failed");
                false
            }
        }
    }

    async fn look_after(&self, task: &Task) -> Result<(), Refusal> {
        let tenant = task.tenant();
        let found = self.environment.store.find_screen(tenant, task.id).await?;
        let Some(file) = found.filter(|file| file.task_due == Some(task.due)) else {
            // The screen has ended, or has another task by now.
            let mut writes = Writes::new(tenant);
            writes.finish(task);
            return self.environment.store.commit(writes).await;
        };
        match (&file.dialing, file.provider) {
            (Dialing::Due, _) => self.claim(tenant, file).await,
            // A callback may have arrived, and the next one not.
            (Dialing::Asked | Dialing::Placed(_), VoiceProvider::Simulator) if !self.is_overdue(&file) => {
                self.simulate(tenant, &file).await?;
                let file_after = file.clone().postpone(self.after(SIMULATE_AGAIN), self.now);
                self.replace(tenant, &file, &file_after).await.or_else(stale_is_fine)
            }
            (Dialing::Placed(call_id), VoiceProvider::Vapi) => match self.environment.providers.vapi() {
                Some(vapi) => self.ask_about(tenant, &file, &vapi, call_id).await,
                None => self.give_up(tenant, &file).await,
            },
            _ => self.give_up(tenant, &file).await,
        }
    }

    /// Claims a screen whose call is due, and has it called.
    async fn claim(&self, tenant: Tenant, file: ScreenFile) -> Result<(), Refusal> {
        let due = match file.provider {
            VoiceProvider::Simulator => self.after(SIMULATE_AGAIN),
            VoiceProvider::Vapi => later(file.screen.scheduled_at.unwrap_or(self.now).max(self.now), SILENCE),
        };
        let claimed = file.clone().dial(Dialing::Asked, None, due, self.now);
        self.replace(tenant, &file, &claimed).await?;
        match (claimed.provider, self.environment.providers.vapi()) {
            (VoiceProvider::Simulator, _) => self.simulate(tenant, &claimed).await,
            (VoiceProvider::Vapi, Some(vapi)) => self.start(tenant, claimed, &vapi).await,
            (VoiceProvider::Vapi, None) => {
                self.fail(tenant, &claimed, "The voice provider is not configured any more.").await
            }
        }
    }

    async fn start(&self, tenant: Tenant, file: ScreenFile, vapi: &Vapi) -> Result<(), Refusal> {
        let Some(order) = self.order(tenant, &file).await? else {
            return self.fail(tenant, &file, "The candidate or the role is gone.").await;
        };
        match vapi.start(&order).await {
            Ok(call_id) => self.note(tenant, file, Some(call_id), None).await,
            Err(StartFailure::Refused(sentence)) => {
                tracing::warn!(%tenant, screen = file.screen.id.get(), sentence, "a call was refused");
                let sentence = format!("{sentence}.");
                self.insist(tenant, &file, || self.fail(tenant, &file, &sentence)).await
            }
            Err(StartFailure::Unknown(sentence)) => {
                tracing::warn!(%tenant, screen = file.screen.id.get(), sentence, "a call is uncertain");
                let note = format!("{sentence}. It is not known whether the call will be made.");
                self.note(tenant, file, None, Some(note)).await
            }
        }
    }

    /// Notes what the provider has answered, unless a callback has told more in the meantime.
    async fn note(
        &self,
        tenant: Tenant,
        file: ScreenFile,
        call_id: Option<String>,
        note: Option<String>,
    ) -> Result<(), Refusal> {
        let due = file.task_due.unwrap_or(self.now);
        let dialing = call_id.map_or(Dialing::Asked, Dialing::Placed);
        let noted = file.clone().dial(dialing, note, due, self.now);
        self.insist(tenant, &file, || self.replace(tenant, &file, &noted)).await
    }

    /// Writes what the provider has answered, whoever else is at the same items, unless the screen itself has changed.
    async fn insist<W: Future<Output = Result<(), Refusal>>>(
        &self,
        tenant: Tenant,
        file: &ScreenFile,
        write: impl Fn() -> W,
    ) -> Result<(), Refusal> {
        for _ in 0..MAX_ATTEMPTS {
            match write().await {
                Err(Refusal::Stale) => {}
                settled => return settled,
            }
            let found = self.environment.store.find_screen(tenant, file.screen.id).await?;
            if found.is_none_or(|found| found.version != file.version) {
                return Ok(());
            }
        }
        Err(Refusal::Stale)
    }

    /// Sends what the simulator has to say to our own webhook.
    async fn simulate(&self, tenant: Tenant, file: &ScreenFile) -> Result<(), Refusal> {
        let Some(order) = self.order(tenant, file).await? else {
            return self.fail(tenant, file, "The candidate or the role is gone.").await;
        };
        let providers = &self.environment.providers;
        let (Some(secret), Some(outside)) =
            (providers.webhook_secret(VoiceProvider::Simulator), providers.outside())
        else {
            return Ok(());
        };
        let seed = file.screen.candidate_id.get() ^ file.screen.role_id.get().rotate_left(32);
        for callback in voice_simulator::callbacks(&order, seed, self.now) {
            let body = callback.to_string();
            let sent_at = self.now.as_second();
            let request = outside
                .post(&order.callback_url)
                .header("content-type", "application/json")
                .header("x-timestamp", sent_at)
                .header("x-signature", voice::sign(secret, sent_at, body.as_bytes()))
                .body(body);
            match outside.send(request).await {
                Ok(answer) if answer.status.is_success() => {}
                Ok(answer) => {
                    tracing::warn!(%tenant, status = answer.status.as_u16(), "a simulated callback was refused");
                    break;
                }
                Err(no_answer) => {
                    tracing::warn!(%tenant, %no_answer, "a simulated callback did not arrive");
                    break;
                }
            }
        }
        Ok(())
    }

    /// Asks the provider about a call of which nothing is heard, or whose analysis is still missing.
    async fn ask_about(
        &self,
        tenant: Tenant,
        file: &ScreenFile,
        vapi: &Vapi,
        call_id: &str,
    ) -> Result<(), Refusal> {
        let wait = match vapi.report(call_id).await {
            Ok(Some(report)) => {
                let ended_at = report.ended_at.unwrap_or(file.screen.updated_at);
                let patient = self.now.duration_since(ended_at) < LONGEST_ANALYSIS;
                if !(screening::is_early(&report) && patient) {
                    return self.end(tenant, file, report).await;
                }
                screening::ANALYSIS_WAIT
            }
            Ok(None) => LOOK_AGAIN,
            Err(failure) => {
                tracing::warn!(%tenant, screen = file.screen.id.get(), %failure, "a call cannot be read");
                LOOK_AGAIN
            }
        };
        if self.is_overdue(file) {
            return self.give_up(tenant, file).await;
        }
        let postponed = file.clone().postpone(self.after(wait), self.now);
        self.replace(tenant, file, &postponed).await
    }

    /// Ends a screen of which nothing will be heard any more. A conversation that was kept stays.
    async fn give_up(&self, tenant: Tenant, file: &ScreenFile) -> Result<(), Refusal> {
        if file.transcript_parts > 0 {
            let outcome = Outcome::Completed;
            let report =
                Report { outcome, started_at: None, ended_at: None, transcript: Vec::new(), analysis: None };
            return self.end(tenant, file, report).await;
        }
        let sentence = match file.dialing {
            Dialing::Placed(_) => "The voice provider has not reported on the call.",
            Dialing::Due | Dialing::Asked => {
                "The voice provider has not confirmed the call; it is not known whether it was made."
            }
        };
        self.fail(tenant, file, sentence).await
    }

    async fn fail(&self, tenant: Tenant, file: &ScreenFile, sentence: &str) -> Result<(), Refusal> {
        let outcome = Outcome::Failed(sentence.to_owned());
        let report =
            Report { outcome, started_at: None, ended_at: None, transcript: Vec::new(), analysis: None };
        self.end(tenant, file, report).await
    }

    async fn end(&self, tenant: Tenant, file: &ScreenFile, report: Report) -> Result<(), Refusal> {
        screening::end(&self.environment.store, tenant, file, report, self.now, &self.ids).await
    }

    async fn replace(&self, tenant: Tenant, before: &ScreenFile, file: &ScreenFile) -> Result<(), Refusal> {
        let mut writes = Writes::new(tenant);
        writes.replace_screen(before, file)?;
        self.environment.store.commit(writes).await
    }

    async fn order(&self, tenant: Tenant, file: &ScreenFile) -> Result<Option<CallOrder>, Failure> {
        let screen = &file.screen;
        let Environment { store, config, .. } = &self.environment;
        let base_url = config.base_url.as_deref().unwrap_or(&file.base_url);
        let found = store.find_candidate_and_role(tenant, screen.candidate_id, screen.role_id).await?;
        let (Some(CandidateFile { candidate, .. }), Some(Role { content, .. })) = found else {
            return Ok(None);
        };
        Ok(Some(CallOrder {
            reference: Reference { tenant, screen: screen.id }.to_string(),
            candidate_name: candidate.profile.name.as_str().to_owned(),
            phone: candidate.profile.phone.map(|phone| phone.as_str().to_owned()),
            role_title: content.title.as_str().to_owned(),
            role_description: content.description.map(|description| description.as_str().to_owned()),
            scheduled_at: screen.scheduled_at,
            callback_url: self.environment.providers.callback_url(file.provider, base_url),
        }))
    }

    fn is_overdue(&self, file: &ScreenFile) -> bool {
        let begins = file.screen.scheduled_at.unwrap_or(file.screen.created_at);
        self.now > later(begins, LONGEST_CALL)
    }

    fn after(&self, wait: SignedDuration) -> Timestamp {
        later(self.now, wait)
    }
}

fn later(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.saturating_add(wait).unwrap_or(time)
}

/// Whoever came first knows more.
fn stale_is_fine(refusal: Refusal) -> Result<(), Refusal> {
    if matches!(refusal, Refusal::Stale) { Ok(()) } else { Err(refusal) }
}
