//! The work for one endpoint: turns events into deliveries, and makes the attempts that are due.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::stream::{self, StreamExt};
use jiff::SignedDuration;
use shared::clock::{Timestamp, later};
use shared::model::{
    Attempt, AuditAction, Delivery, DeliveryOrigin, DisabledReason, EndpointProgress, EndpointStatus, Event,
    Replay, Tenant, WebhookEndpoint, WebhookHeaders, retry_after,
};
use shared::services::webhooks::{body_of, candidate_in};
use shared::store::{CommitError, DueAttempt, Queue, StoreError, Transaction};
use tokio::sync::Semaphore;

use crate::{DeliverError, Job, LEASE, Summary, WAIT, is_behind, is_due};

/// The number of events that become deliveries in one transaction, which has two actions for each.
const EVENTS: u32 = 45;
/// The number of attempts that are made in one round, unless the endpoint fails.
const ROUND: u32 = 40;
/// The number of attempts to disable an endpoint that is changed at the same time.
const MAX_ATTEMPTS: u32 = 5;

/// An endpoint that a run has taken.
struct Taken<'j> {
    job: &'j Job,
    tenant: Tenant,
    /// The progress as it is stored.
    stored: EndpointProgress,
    /// The progress as it is now.
    progress: EndpointProgress,
    /// The time, which a wait may have moved ahead of the clock.
    now: Timestamp,
    summary: Summary,
}

/// What came of one attempt.
struct Made {
    attempt: Attempt,
    ended: Timestamp,
}

impl Job {
    /// Takes the endpoint, does what is due, and returns it.
    pub(crate) async fn work(
        &self,
        progress: EndpointProgress,
        to_tenant: &Semaphore,
    ) -> Result<Summary, DeliverError> {
        let (tenant, now, store) = (progress.tenant(), self.environment.clock.now(), &self.environment.store);
        let found = store.find_webhook_endpoint(tenant, progress.endpoint).await?;
        let Some(endpoint) = found else { return Ok(Summary::default()) };
        // What a disabled endpoint has missed, only a replay brings.
        if endpoint.status() == EndpointStatus::Disabled && !is_due(&progress, now) {
            return Ok(Summary::default());
        }
        let progress_now = EndpointProgress { leased_until: Some(later(now, LEASE)), ..progress.clone() };
        let mut taken = Taken {
            job: self,
            tenant,
            stored: progress,
            progress: progress_now,
            now,
            summary: Summary::default(),
        };
        taken.store_progress(Transaction::new(tenant)).await?;
        while taken.round(to_tenant).await? {}
        taken.give_back().await?;
        Ok(taken.summary)
    }
}

impl Taken<'_> {
    /// Does one round. Returns whether there is more to do in this run.
    async fn round(&mut self, to_tenant: &Semaphore) -> Result<bool, DeliverError> {
        let store = &self.job.environment.store;
        if self.job.is_over() {
            return Ok(false);
        }
        self.now = self.now.max(self.job.environment.clock.now());
        let found = store.find_webhook_endpoint(self.tenant, self.progress.endpoint).await?;
        let Some(endpoint) = found else { return Ok(false) };
        if endpoint.status() == EndpointStatus::Disabled {
            return self.give_up_due().await;
        }
        let is_behind = self.take_new_events(&endpoint).await?;
        let (mut queue, mut attempts) = (Queue::New, self.list_attempts(Queue::New).await?);
        if !is_behind && !has_due(&attempts, self.now) {
            let has_moved = self.take_replayed_events(&endpoint).await?;
            let replayed = self.list_attempts(Queue::Replayed).await?;
            if has_due(&replayed, self.now) {
                (queue, attempts) = (Queue::Replayed, replayed);
            } else {
                let next = attempts.iter().chain(&replayed).map(|attempt| attempt.due).min();
                let Some(next) = next.filter(|next| *next <= later(self.now, WAIT)) else {
                    return Ok(has_moved && self.progress.replay.is_some());
                };
                self.now = self.job.environment.clock.wait_until(next).await;
                return Ok(true);
            }
        }
        attempts.retain(|attempt| attempt.due <= self.now);
        self.note_age(attempts.iter().map(|attempt| attempt.due).min());
        self.attempt_all(&endpoint, queue, attempts, to_tenant).await?;
        Ok(true)
    }

    /// Turns the next events of the feed into deliveries. Returns whether more follow.
    async fn take_new_events(&mut self, endpoint: &WebhookEndpoint) -> Result<bool, DeliverError> {
        let (store, now) = (&self.job.environment.store, self.job.environment.clock.now());
        let head = store.get_feed_head(self.tenant).await?;
        if !is_behind(&self.progress, &head) {
            return Ok(false);
        }
        let page = store.list_events(self.tenant, &head, self.progress.after, EVENTS, now).await?;
        let Some(page) = page else {
            // The endpoint waited until the feed no longer had the next event.
            self.progress.after =
                store.find_feed_start(self.tenant, &head, now).await?.max(self.progress.after + 1);
            return Ok(true);
        };
        self.note_age(page.events.first().map(|event| event.at));
        let transaction = self.deliveries(endpoint, &page.events, DeliveryOrigin::Event)?;
        self.progress.after = page.next;
        self.store_progress(transaction).await?;
        Ok(page.has_more)
    }

    /// Turns the next events of a replay into deliveries. Returns `false` if there are none, or if they are not in the table yet.
    async fn take_replayed_events(&mut self, endpoint: &WebhookEndpoint) -> Result<bool, DeliverError> {
        let Some(replay) = self.progress.replay else { return Ok(false) };
        let (store, now) = (&self.job.environment.store, self.job.environment.clock.now());
        let head = store.get_feed_head(self.tenant).await?;
        let page = store.list_events(self.tenant, &head, replay.after, EVENTS, now).await?;
        let Some(page) = page else {
            let start = store.find_feed_start(self.tenant, &head, now).await?;
            let after = start.max(replay.after + 1);
            self.progress.replay = (after < replay.until).then_some(Replay { after, ..replay });
            return Ok(true);
        };
        let events: Vec<Event> = page
            .events
            .into_iter()
            .filter(|event| event.seq.is_some_and(|seq| seq <= replay.until))
            .collect();
        let transaction = self.deliveries(endpoint, &events, DeliveryOrigin::Replay)?;
        self.progress.replay = (page.next < replay.until).then_some(Replay { after: page.next, ..replay });
        self.store_progress(transaction).await?;
        Ok(page.next > replay.after)
    }

    /// The deliveries of the events that the endpoint wants.
    fn deliveries(
        &self,
        endpoint: &WebhookEndpoint,
        events: &[Event],
        origin: DeliveryOrigin,
    ) -> Result<Transaction, StoreError> {
        let mut transaction = Transaction::new(self.tenant);
        for event in events.iter().filter(|event| !event.quiet && endpoint.wants(event.kind)) {
            let id = self.job.ids.next();
            let delivery = Delivery::of(id, endpoint.id, event, body_of(event)?, origin, self.now);
            transaction.insert_delivery(&delivery)?;
        }
        Ok(transaction)
    }

    /// Makes attempts, a few at a time.
    async fn attempt_all(
        &mut self,
        endpoint: &WebhookEndpoint,
        queue: Queue,
        attempts: Vec<DueAttempt>,
        to_tenant: &Semaphore,
    ) -> Result<(), DeliverError> {
        let (job, tenant, now) = (self.job, self.tenant, self.now);
        let (parallel, is_failing) = (self.progress.parallel(), self.progress.failures > 0);
        // After some failures, the endpoint gets one request at a time, so this round begins no more.
        let is_cautious = &AtomicBool::new(false);
        let most = if is_failing { parallel } else { attempts.len() };
        let mut made = stream::iter(attempts.into_iter().take(most).map(|attempt| async move {
            if job.is_over() || is_cautious.load(Ordering::Relaxed) {
                return Ok(None);
            }
            job.attempt(tenant, endpoint, queue, attempt, now, is_failing, to_tenant).await
        }))
        .buffer_unordered(parallel);
        let mut reason = None;
        while let Some(result) = made.next().await {
            let Some(Made { attempt, ended }) = result? else { continue };
            // The next attempt is due after the end of this one, also if nobody waits for the clock.
            self.now = self.now.max(ended);
            if attempt.is_success() {
                self.summary.delivered += 1;
                self.progress.succeed();
                continue;
            }
            self.summary.failed += 1;
            let has_failed_for_long = self.progress.fail(ended);
            if attempt.is_gone() {
                reason = Some(DisabledReason::Gone);
            } else if has_failed_for_long {
                reason = reason.or(Some(DisabledReason::Failing));
            }
            is_cautious.store(self.progress.parallel() < parallel, Ordering::Relaxed);
        }
        drop(made);
        match reason {
            Some(reason) => self.disable(reason).await,
            None => Ok(()),
        }
    }

    async fn disable(&mut self, reason: DisabledReason) -> Result<(), DeliverError> {
        let store = &self.job.environment.store;
        for _ in 0..MAX_ATTEMPTS {
            let found = store.find_webhook_endpoint(self.tenant, self.progress.endpoint).await?;
            let Some(before) = found else { return Ok(()) };
            let Some(after) = before.clone().disable(reason, self.now) else { return Ok(()) };
            let mut transaction = Transaction::new(self.tenant);
            transaction.replace_webhook_endpoint(&before, &after, AuditAction::WebhookEndpointUpdated)?;
            match store.commit(transaction).await {
                Err(CommitError::Stale) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => {
                    let (tenant, endpoint) = (self.tenant, before.id.get());
                    tracing::warn!(%tenant, endpoint, reason = reason.as_str(), "an endpoint was disabled");
                    return Ok(());
                }
            }
        }
        Err(CommitError::Stale.into())
    }

    /// Ends the deliveries of a disabled endpoint that are due. Returns whether there may be more.
    async fn give_up_due(&mut self) -> Result<bool, DeliverError> {
        let store = &self.job.environment.store;
        let mut ended = false;
        for queue in [Queue::New, Queue::Replayed] {
            for attempt in
                self.list_attempts(queue).await?.into_iter().filter(|attempt| attempt.due <= self.now)
            {
                let (endpoint, mut transaction) = (self.progress.endpoint, Transaction::new(self.tenant));
                match store.find_delivery(self.tenant, endpoint, attempt.id, self.now).await? {
                    Some(before) if before.next_attempt_at == Some(attempt.due) => {
                        transaction.replace_delivery(&before, &before.clone().give_up())?;
                    }
                    _ => transaction.delete_attempt(endpoint, queue, attempt),
                }
                store.commit(transaction).await?;
                ended = true;
            }
        }
        Ok(ended)
    }

    async fn list_attempts(&self, queue: Queue) -> Result<Vec<DueAttempt>, StoreError> {
        self.job.environment.store.list_attempts(self.tenant, self.progress.endpoint, queue, ROUND).await
    }

    /// Notes since when the oldest event or attempt has waited.
    fn note_age(&mut self, since: Option<Timestamp>) {
        let age = since.map_or(0, |since| self.now.duration_since(since).as_secs());
        self.summary.oldest = self.summary.oldest.max(u64::try_from(age).unwrap_or(0));
    }

    /// Returns the endpoint, with the time of the next attempt.
    async fn give_back(&mut self) -> Result<(), DeliverError> {
        let mut next = None;
        for queue in [Queue::New, Queue::Replayed] {
            let first =
                self.job.environment.store.list_attempts(self.tenant, self.progress.endpoint, queue, 1);
            next = [next, first.await?.first().map(|attempt| attempt.due)].into_iter().flatten().min();
        }
        let replay_is_due = self.progress.replay.is_some().then_some(self.now);
        self.progress.due = replay_is_due.or(next);
        self.progress.leased_until = None;
        self.store_progress(Transaction::new(self.tenant)).await
    }

    /// Stores the progress, together with other writes. If somebody has changed it meanwhile (asked for a replay, or for an
    /// attempt), the change stays.
    async fn store_progress(&mut self, transaction: Transaction) -> Result<(), DeliverError> {
        let store = &self.job.environment.store;
        for _ in 0..MAX_ATTEMPTS {
            let next =
                EndpointProgress { version: self.stored.version, ..self.progress.clone() }.next_version();
            let mut transaction = transaction.clone();
            transaction.replace_endpoint_progress(&self.stored, &next)?;
            match store.commit(transaction).await {
                Err(CommitError::Stale) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => {
                    (self.stored, self.progress) = (next.clone(), next);
                    return Ok(());
                }
            }
            let found = store.find_endpoint_progress(self.tenant, self.progress.endpoint).await?;
            let same = found.filter(|found| found.leased_until == self.stored.leased_until);
            let Some(found) = same else { break };
            self.progress.after = self.progress.after.max(found.after);
            if found.replay != self.stored.replay {
                self.progress.replay = found.replay;
            }
            self.stored = found;
        }
        Err(CommitError::Stale.into())
    }
}

impl Job {
    /// Makes one attempt and records it. Returns `None` if the delivery has changed or is no longer kept.
    #[expect(clippy::too_many_arguments, reason = "what one request depends on")]
    async fn attempt(
        &self,
        tenant: Tenant,
        endpoint: &WebhookEndpoint,
        queue: Queue,
        due: DueAttempt,
        now: Timestamp,
        is_failing: bool,
        to_tenant: &Semaphore,
    ) -> Result<Option<Made>, DeliverError> {
        let (store, clock) = (&self.environment.store, &self.environment.clock);
        let found = store.find_delivery(tenant, endpoint.id, due.id, now).await?;
        let Some(before) = found.filter(|delivery| delivery.next_attempt_at == Some(due.due)) else {
            let mut transaction = Transaction::new(tenant);
            transaction.delete_attempt(endpoint.id, queue, due);
            store.commit(transaction).await?;
            return Ok(None);
        };
        let shared = if is_failing { &self.to_failing } else { &self.to_healthy };
        // The semaphores are never closed.
        let _permits = (to_tenant.acquire().await, shared.acquire().await);
        let at = now.max(clock.now());
        let keys = endpoint.signing_keys(tenant, &self.sealing, at).map_err(DeliverError::Keys)?;
        let id = before.event_id.to_string();
        let headers = WebhookHeaders::sign(&keys, endpoint.hmac, &id, at, &before.body);
        let started = clock.now();
        let answer = self.sender.send(&endpoint.url, &headers, &before.body).await;
        let took: SignedDuration = clock.now().duration_since(started);
        let ended = later(at, took);
        let asked = answer.retry_after.as_deref().and_then(|header| retry_after(header, ended));
        let attempt = Attempt {
            at,
            status: answer.status,
            error: answer.error,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(0),
            answer: answer.body,
        };
        let after = before.clone().record(attempt.clone(), asked, ended, &self.environment.random);
        let mut transaction = Transaction::new(tenant);
        transaction.replace_delivery(&before, &after)?;
        let mut with_answer = transaction.clone();
        with_answer.put_answer(&before, &attempt, candidate_in(&before.body))?;
        let committed = match store.commit(with_answer).await {
            // The candidate may have been erased, and the answer is then forgotten.
            Err(CommitError::Stale) => store.commit(transaction).await,
            result => result,
        };
        match committed {
            // Somebody asked for another attempt, which the next round makes.
            Ok(()) | Err(CommitError::Stale) => Ok(Some(Made { attempt, ended })),
            Err(error) => Err(error.into()),
        }
    }
}

fn has_due(attempts: &[DueAttempt], now: Timestamp) -> bool {
    attempts.iter().any(|attempt| attempt.due <= now)
}
