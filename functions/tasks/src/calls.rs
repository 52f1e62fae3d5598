//! Calls: orders those of voice screens, and checks on those that the provider has not reported on.
//!
//! A voice screen is stored first and called later. One task starts the call, and another checks on the call if the
//! provider has not reported on it. A provider gets one order for each call. A run claims the screen before it sends
//! the order, so the function may run late, twice, or concurrently, and it may be killed at any point.

use jiff::{SignedDuration, Timestamp};
use shared::clock::later;
use shared::http::Environment;
use shared::model::{
    CallState, CancelReason, Candidate, Failure, NamedOrganization, Organization, Outcome, Phone, Report,
    Role, ScreenRecord, ScreenStatus, Tenant,
};
use shared::providers::client::HttpClient;
use shared::providers::voice::{CallOrder, StartError, VoicePort};
use shared::services::calls::{CountedCall, check_number};
use shared::services::screening::{self, Reference};
use shared::store::{CommitError, MaybeErased, Task, Transaction};

use crate::{Job, MAX_ATTEMPTS, MAX_CALL, TaskError};

/// The time between two checks on a call.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_mins(10);
/// The maximum wait for the analysis of a call that has ended.
const MAX_ANALYSIS: SignedDuration = SignedDuration::from_mins(10);

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
            _ => self.give_up(tenant, &record).await,
        };
        Ok(result?)
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
            transaction.require_role(&role);
            transaction.require_active(&organization.organization);
        }
        let call_at = screen.scheduled_at.unwrap_or(self.now).max(self.now);
        // Counted before the claim, so that a run that is killed in between never exceeds the limit.
        let counted = match &candidate.candidate.profile.phone {
            Some(phone) if voice.facts().needs_phone && record.dialing == CallState::Due => {
                match self.count_call(&organization.organization, phone, call_at).await? {
                    Ok(counted) => Some(counted),
                    Err(sentence) => {
                        self.fail(tenant, record, &format!("{sentence}.")).await?;
                        return Ok(None);
                    }
                }
            }
            _ => None,
        };
        let due = later(call_at, voice.facts().report_timeout);
        let claimed = match record.dialing {
            CallState::Due => ScreenRecord {
                assessment: Some(voice.assessment()),
                ..record.clone().dial(CallState::Asked, None, due, self.now)
            },
            // A repeated order.
            CallState::Asked | CallState::Placed(_) => record.clone().postpone(due, self.now),
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

    /// Counts a telephone call towards the daily limits, if its number may be called. The error is a sentence for users.
    async fn count_call(
        &self,
        organization: &Organization,
        phone: &Phone,
        call_at: Timestamp,
    ) -> Result<Result<CountedCall, String>, CommitError> {
        let Environment { store, config, providers, .. } = &self.environment;
        let chosen = store.find_call_countries(organization.tenant()).await?;
        let allowed = chosen.as_deref().unwrap_or(providers.default_call_countries());
        if let Err(error) = check_number(phone, allowed) {
            return Ok(Err(format!("No call was made: the phone number {error}")));
        }
        let counted = CountedCall::count(store, &config.signing_keys, organization, phone, call_at).await?;
        Ok(counted.map_err(|limit| format!("No call was made: {limit}")))
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
        let due = record.task_due.unwrap_or(self.now);
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
        let failure = Failure::Other(sentence.to_owned());
        self.end(tenant, record, Report::without_conversation(Outcome::Failed(failure))).await
    }

    async fn end(&self, tenant: Tenant, record: &ScreenRecord, report: Report) -> Result<(), CommitError> {
        screening::end(&self.environment.store, tenant, record, report, self.now, &self.ids).await
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
        let call_at = record.screen.scheduled_at.unwrap_or(record.screen.created_at);
        self.now > later(call_at, MAX_CALL)
    }
}
