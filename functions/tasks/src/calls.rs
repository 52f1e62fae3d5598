//! Calls: orders those of voice screens, and checks on those that the provider has not reported on.
//!
//! A voice screen is stored first and called later. One task starts the call, and another checks on the call if the
//! provider has not reported on it. A run claims the screen before it sends the order, so the function may run late, twice, or
//! concurrently, and it may be killed at any point.
//!
//! A provider gets one order for each call. It gets another one only if it has said that it did not make the call, for a
//! reason that passes, and does not have the call after all.

use jiff::SignedDuration;
use shared::clock::{Timestamp, later};
use shared::http::Environment;
use shared::model::{
    CallState, CallingHours, CancelReason, Candidate, Failure, NamedOrganization, Organization, Outcome,
    Phone, Report, Role, ScreenRecord, ScreenStatus, Tenant,
};
use shared::providers::client::HttpClient;
use shared::providers::voice::{CallError, CallOrder, StartError, VoicePort};
use shared::services::calls::{CountedCall, check_number};
use shared::services::screening::{self, Reference};
use shared::store::{CommitError, MaybeErased, Task, Transaction};

use crate::{Job, MAX_ATTEMPTS, MAX_CALL, TaskError};

/// The time between two checks on a call.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// The maximum wait for the analysis of a call that has ended.
const MAX_ANALYSIS: SignedDuration = SignedDuration::from_mins(10);
/// The time after which a call is looked for at the provider whose answer was lost. Until then, the order may be on its way.
pub(crate) const LOOK_AFTER: SignedDuration = SignedDuration::from_mins(2);
/// The time after the first hour for calls within which calls are ordered that have waited for it.
const MORNING: u64 = 15 * 60;

/// Whether a call may be ordered now.
enum Admission {
    /// It may. It was counted, unless it had been counted before.
    Now(Option<CountedCall>),
    /// It may be ordered at this time.
    Later(Timestamp),
    /// It may not, for the reason in this sentence.
    Never(String),
}

impl Job {
    /// Takes the next step for a screen's call: orders it, checks on it, cancels it, or gives up.
    pub(crate) async fn follow_up(&self, task: &Task) -> Result<(), TaskError> {
        let tenant = task.tenant();
        let found = self.environment.store.find_screen(tenant, task.id).await.map_err(CommitError::from)?;
        let Some(record) = found.filter(|record| record.task_due == Some(task.due)) else {
            // The screen has ended or has another task.
            return Ok(self.discard(task).await?);
        };
        let providers = &self.environment.providers;
        let voice = providers.voice_provider(record.provider);
        let provider = voice.as_deref().zip(providers.http_client());
        if record.screen.status.is_end() {
            return self.cancel_call(tenant, &record, provider).await;
        }
        let result = match (&record.dialing, provider) {
            (CallState::Due, Some((voice, client))) if record.orders.last_at.is_some() => {
                self.call_again(tenant, &record, voice, client).await
            }
            (CallState::Due, Some((voice, client))) => self.call(tenant, &record, voice, client).await,
            (CallState::Due, None) => {
                self.fail(tenant, &record, "The voice provider is no longer configured.").await
            }
            // One callback may have arrived without the next one.
            (CallState::Asked | CallState::Placed(_), Some((voice, client)))
                if voice.facts().accepts_repeated_orders && !self.is_overdue(&record) =>
            {
                self.call(tenant, &record, voice, client).await
            }
            (CallState::Placed(call_id), Some((voice, client))) => {
                self.check(tenant, &record, voice, client, call_id).await
            }
            (CallState::Asked, Some((voice, client))) => self.look_for(tenant, &record, voice, client).await,
            _ => self.give_up(tenant, &record).await,
        };
        Ok(result?)
    }

    /// Orders a call again that the provider has not made, unless it is too late, or the provider has the call after all.
    async fn call_again(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
    ) -> Result<(), CommitError> {
        if self.now > record.latest_order() {
            return self.fail_for(tenant, record, Failure::Busy).await;
        }
        match self.find_call(tenant, record, voice, client).await {
            Ok(None) => self.call(tenant, record, voice, client).await,
            Ok(Some(call_id)) => self.adopt(tenant, record, voice, call_id).await,
            Err(error) => {
                tracing::warn!(%tenant, screen = record.screen.id.get(), failure = %error, "calls cannot be listed");
                self.put_off(tenant, record).await
            }
        }
    }

    /// Looks for a call whose answer was lost, and gives up if the provider does not have it.
    async fn look_for(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
    ) -> Result<(), CommitError> {
        let last_look = later(record.call_at(), voice.facts().report_timeout);
        let next = match self.find_call(tenant, record, voice, client).await {
            Ok(Some(call_id)) => return self.adopt(tenant, record, voice, call_id).await,
            Ok(None) => last_look,
            Err(error) => {
                tracing::warn!(%tenant, screen = record.screen.id.get(), failure = %error, "calls cannot be listed");
                self.after(CHECK_INTERVAL).min(last_look)
            }
        };
        if self.now >= last_look {
            return self.give_up(tenant, record).await;
        }
        self.replace(tenant, record, &record.clone().postpone(next)).await
    }

    /// Records the id of a call that was found at the provider.
    async fn adopt(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        call_id: String,
    ) -> Result<(), CommitError> {
        let due = later(record.call_at(), voice.facts().report_timeout);
        let found = record.clone().dial(CallState::Placed(call_id), None, due, self.now);
        self.replace(tenant, record, &found).await
    }

    /// Finds the call of the last order at the provider.
    pub(crate) async fn find_call(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
    ) -> Result<Option<String>, CallError> {
        let Some(ordered_at) = record.orders.last_at else { return Ok(None) };
        let reference = Reference { tenant, screen: record.screen.id }.to_string();
        let calls = voice.find(client, &reference, ordered_at).await?;
        Ok(calls.into_iter().find(|call_id| !record.orders.ended.contains(call_id)))
    }

    async fn put_off(&self, tenant: Tenant, record: &ScreenRecord) -> Result<(), CommitError> {
        let Environment { store, random, .. } = &self.environment;
        screening::put_off(store, tenant, record, record.clone(), self.now, &self.ids, random).await
    }

    /// Claims a screen whose call is due and orders the call, unless the screen has become obsolete.
    async fn call(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
    ) -> Result<(), CommitError> {
        match self.retry_conflicts(tenant, record, || self.claim(tenant, record, voice)).await? {
            Some((claimed, order)) => self.start(tenant, &claimed, voice, client, &order).await,
            None => Ok(()),
        }
    }

    /// Claims a screen and returns it with the order for its call; `None` if the screen was obsolete and has ended. The
    /// claim conflicts with every change that could make the screen obsolete, so an obsolete screen is never called.
    async fn claim(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
    ) -> Result<Option<(ScreenRecord, CallOrder)>, CommitError> {
        let (screen, store) = (&record.screen, &self.environment.store);
        let found = store.find_candidate_and_role(tenant, screen.candidate_id, screen.role_id).await?;
        let candidate = found.0.and_then(MaybeErased::present);
        let (Some(candidate), Some(role), Some(organization)) =
            (candidate, found.1, store.find_organization(tenant).await?)
        else {
            self.fail(tenant, record, "The candidate or the role no longer exists.").await?;
            return Ok(None);
        };
        let mut transaction = Transaction::new(tenant);
        if screen.status != ScreenStatus::InProgress {
            let suspended =
                organization.organization.suspended.then_some(CancelReason::OrganizationSuspended);
            if let Some(reason) = suspended.or_else(|| candidate.obstacle(screen.id, &role)) {
                self.cancel(tenant, screen.id, reason).await?;
                return Ok(None);
            }
            transaction.require_candidate(&candidate);
            transaction.require_role_state(&role);
            transaction.require_active(&organization.organization);
        }
        let call_at = screen.scheduled_at.unwrap_or(self.now).max(self.now);
        // Counted before the claim, so that a run that is killed in between never exceeds the limit.
        let counted = match &candidate.candidate.profile.phone {
            Some(phone) if voice.facts().needs_phone && record.dialing == CallState::Due => {
                match self.admit(&organization.organization, record, phone, call_at).await? {
                    Admission::Now(counted) => counted,
                    Admission::Later(due) => {
                        self.replace(tenant, record, &record.clone().postpone(due)).await?;
                        return Ok(None);
                    }
                    Admission::Never(sentence) => {
                        self.fail(tenant, record, &format!("{sentence}.")).await?;
                        return Ok(None);
                    }
                }
            }
            _ => None,
        };
        let due = later(call_at, voice.facts().report_timeout);
        let claimed = match record.dialing {
            CallState::Due => {
                let mut claimed = record.clone().dial(CallState::Asked, None, due, self.now);
                claimed.assessment = Some(voice.assessment());
                claimed.orders.last_at = Some(self.now);
                claimed
            }
            // A repeated order.
            CallState::Asked | CallState::Placed(_) => record.clone().postpone(due),
        };
        transaction.replace_screen(record, &claimed)?;
        let committed = store.commit(transaction).await;
        match (committed, counted) {
            (Err(error), Some(counted)) => {
                counted.uncount(store).await?;
                return Err(error);
            }
            (committed, counted) => {
                committed?;
                if counted.is_some() {
                    // A metric filter counts this line for the alarm on calls.
                    tracing::info!(%tenant, screen = screen.id.get(), "a telephone call is ordered");
                }
            }
        }
        let order = self.order(tenant, &claimed, candidate.candidate, role, &organization);
        Ok(Some((claimed, order)))
    }

    /// Checks whether a telephone number may be called now, and counts the call towards the daily limits. A call that was put
    /// off was counted already, and nobody expects it at its time, so it is made only in the hours for calls.
    async fn admit(
        &self,
        organization: &Organization,
        record: &ScreenRecord,
        phone: &Phone,
        call_at: Timestamp,
    ) -> Result<Admission, CommitError> {
        let Environment { store, config, providers, random, .. } = &self.environment;
        let chosen = store.find_call_countries(organization.tenant()).await?;
        let allowed = chosen.as_deref().unwrap_or(providers.default_call_countries());
        let country = match check_number(phone, allowed) {
            Ok(country) => country,
            Err(error) => return Ok(Admission::Never(format!("No call was made: the phone number {error}"))),
        };
        if record.orders.last_at.is_none() {
            let counted =
                CountedCall::count(store, &config.signing_keys, organization, phone, call_at).await?;
            return Ok(counted.map_or_else(
                |limit| Admission::Never(format!("No call was made: {limit}")),
                |counted| Admission::Now(Some(counted)),
            ));
        }
        if call_at > self.now {
            return Ok(Admission::Now(None));
        }
        let too_late = "The voice provider could not make the call in time";
        Ok(match CallingHours::of(country).next(self.now) {
            Some(time) if time <= self.now => Admission::Now(None),
            Some(time) if time <= record.latest_order() => {
                let wait = i64::try_from(random.below(MORNING)).unwrap_or(0);
                Admission::Later(later(time, SignedDuration::from_secs(wait)))
            }
            _ => Admission::Never(too_late.to_owned()),
        })
    }

    /// Orders the call of a claimed screen and records the provider's response.
    async fn start(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        voice: &dyn VoicePort,
        client: &HttpClient,
        order: &CallOrder,
    ) -> Result<(), CommitError> {
        match voice.start(client, order).await {
            Ok(Some(call_id)) => self.record_answer(tenant, record, Some(call_id), None).await,
            Ok(None) => Ok(()),
            Err(StartError::Refused(sentence)) => {
                // The sentence may contain the provider's own words, so only the screen has it.
                tracing::warn!(%tenant, screen = record.screen.id.get(), "a call was refused");
                let sentence = format!("{sentence}.");
                self.retry_conflicts(tenant, record, || self.fail(tenant, record, &sentence)).await
            }
            Err(StartError::Account(status)) => {
                let failure = || Failure::Account(format!("status {status}"));
                self.retry_conflicts(tenant, record, || self.fail_for(tenant, record, failure())).await
            }
            Err(StartError::Busy(sentence)) => {
                tracing::warn!(%tenant, screen = record.screen.id.get(), sentence, "a call was not made");
                self.retry_conflicts(tenant, record, || self.put_off(tenant, record)).await
            }
            Err(StartError::Unknown(sentence)) => {
                tracing::warn!(%tenant, screen = record.screen.id.get(), sentence, "a call may have been started");
                let note = format!("{sentence}. The call may or may not be made.");
                self.record_answer(tenant, record, None, Some(note)).await
            }
        }
    }

    /// Records the provider's response to an order, unless a callback has changed the screen in the meantime. If the
    /// screen was cancelled in the meantime, a task cancels the call.
    async fn record_answer(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        call_id: Option<String>,
        note: Option<String>,
    ) -> Result<(), CommitError> {
        let mut due = record.task_due.unwrap_or(self.now);
        if call_id.is_none() {
            due = due.min(self.after(LOOK_AFTER));
        }
        let state = call_id.map_or(CallState::Asked, CallState::Placed);
        let mut before = record.clone();
        let mut after = record.clone().dial(state.clone(), note, due, self.now);
        for _ in 0..MAX_ATTEMPTS {
            match self.replace(tenant, &before, &after).await {
                Err(CommitError::Stale) => {}
                result => return result,
            }
            match self.environment.store.find_screen(tenant, record.screen.id).await? {
                Some(found) if found.version == before.version => {}
                Some(found) if found.awaits_call() && state != CallState::Asked => {
                    after = found.clone().follow_call(state.clone(), Some(self.now));
                    before = found;
                }
                _ => return Ok(()),
            }
        }
        Err(CommitError::Stale)
    }

    /// Retries a write that conflicts with writes to other items, unless the screen itself has changed.
    async fn retry_conflicts<T: Default, W: Future<Output = Result<T, CommitError>>>(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        write: impl Fn() -> W,
    ) -> Result<T, CommitError> {
        for _ in 0..MAX_ATTEMPTS {
            match write().await {
                Err(CommitError::Stale) => {}
                result => return result,
            }
            let found = self.environment.store.find_screen(tenant, record.screen.id).await?;
            if found.is_none_or(|found| found.version != record.version) {
                return Ok(T::default());
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
                if screening::can_be_put_off(record, &report) {
                    return self.put_off(tenant, record).await;
                }
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
        let postponed = record.clone().postpone(self.after(wait));
        self.replace(tenant, record, &postponed).await
    }

    /// Ends a screen whose provider has not reported on the call. The screen is completed if it has a transcript, and
    /// failed otherwise.
    async fn give_up(&self, tenant: Tenant, record: &ScreenRecord) -> Result<(), CommitError> {
        if record.transcript_parts > 0 {
            let found = self.environment.store.find_screen_page(tenant, record.screen.id).await?;
            let transcript = found.map_or(Vec::new(), |(_, transcript)| transcript);
            let report = Report { transcript, ..Report::without_conversation(Outcome::Completed) };
            return self.end(tenant, record, report).await;
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
        self.fail_for(tenant, record, Failure::Other(sentence.to_owned())).await
    }

    async fn fail_for(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        failure: Failure,
    ) -> Result<(), CommitError> {
        self.end(tenant, record, Report::without_conversation(Outcome::Failed(failure))).await
    }

    async fn end(&self, tenant: Tenant, record: &ScreenRecord, report: Report) -> Result<(), CommitError> {
        let store = &self.environment.store;
        screening::end(store, tenant, record, record.clone(), report, self.now, &self.ids).await
    }

    pub(crate) async fn replace(
        &self,
        tenant: Tenant,
        before: &ScreenRecord,
        after: &ScreenRecord,
    ) -> Result<(), CommitError> {
        screening::replace(&self.environment.store, tenant, before, after).await
    }

    /// The order for a screen's call.
    fn order(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        candidate: Candidate,
        Role { content, .. }: Role,
        NamedOrganization { organization, name, .. }: &NamedOrganization,
    ) -> CallOrder {
        let screen = &record.screen;
        let Environment { config, providers, .. } = &self.environment;
        let base_url = config.base_url.as_deref().unwrap_or(&record.base_url);
        CallOrder {
            tenant,
            reference: Reference { tenant, screen: screen.id }.to_string(),
            candidate_id: screen.candidate_id,
            candidate_name: candidate.profile.name.as_str().to_owned(),
            phone: candidate.profile.phone.map(|phone| phone.parsed().as_str().to_owned()),
            organization_name: name.as_str().to_owned(),
            privacy_url: format!("{base_url}/careers/{}/privacy", organization.slug),
            role_id: screen.role_id,
            role_title: content.title.as_str().to_owned(),
            role_description: content.description.map(|description| description.as_str().to_owned()),
            ordered_at: self.now,
            scheduled_at: screen.scheduled_at,
            callback_url: providers.callback_url(record.provider, base_url),
        }
    }

    fn is_overdue(&self, record: &ScreenRecord) -> bool {
        self.now > later(record.call_at(), MAX_CALL)
    }
}
