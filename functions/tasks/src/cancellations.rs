//! Cancels voice screens: those that a change of their candidate has made obsolete, those of suspended organizations,
//! and their calls at the provider.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use jiff::SignedDuration;
use shared::clock::later;
use shared::id::Id;
use shared::model::{Actor, CallState, CancelReason, Screen, ScreenRecord, ScreenStatus, Tenant};
use shared::providers::client::HttpClient;
use shared::providers::voice::VoicePort;
use shared::services::{Author, screening};
use shared::store::{CommitError, MaybeErased, Paging, StoreError, Task, Transaction};

use crate::calls::LOOK_AFTER;
use crate::{CONCURRENCY, Job, MAX_ATTEMPTS, MAX_CALL, PAGE, TaskError};

/// The time between two attempts to cancel or erase a call at the provider.
pub(crate) const RETRY_INTERVAL: SignedDuration = SignedDuration::from_mins(1);
/// The time after which failed attempts raise an alarm.
pub(crate) const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

impl Job {
    /// Cancels the screens that the candidate's record marks. A run that is killed is repeated: cancelled screens are
    /// no longer in the record.
    pub(crate) async fn cancel_marked(&self, task: &Task) -> Result<(), CommitError> {
        let (tenant, store) = (task.tenant(), &self.environment.store);
        let mut done: Vec<Id> = Vec::new();
        loop {
            let found = store.find_candidate(tenant, task.id).await?;
            let Some(record) = found.and_then(MaybeErased::present) else {
                return self.discard(task).await;
            };
            let marked = record.screens_to_cancel().find(|(screen, _)| !done.contains(&screen.id));
            let Some((screen, reason)) = marked else {
                // If the record has changed again, the next run looks for further marks.
                let mut transaction = Transaction::new(tenant);
                transaction.require_candidate(&record);
                transaction.delete_task(task);
                return store.commit(transaction).await;
            };
            self.cancel(tenant, screen.id, reason).await?;
            done.push(screen.id);
        }
    }

    /// Cancels the screens of a suspended organization.
    pub(crate) async fn cancel_suspended(&self, task: &Task) -> Result<(), CommitError> {
        let (tenant, store) = (task.tenant(), &self.environment.store);
        if store.find_organization(tenant).await?.is_some_and(|found| found.organization.suspended) {
            let screens = self.list_upcoming(tenant, None).await?.into_iter();
            let cancel =
                screens.map(|screen| self.cancel(tenant, screen.id, CancelReason::OrganizationSuspended));
            stream::iter(cancel).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
        }
        self.discard(task).await
    }

    /// The screens whose conversations have not begun, optionally only those for a role. A filtered list could miss the
    /// newest ones, because it is eventually consistent.
    pub(crate) async fn list_upcoming(
        &self,
        tenant: Tenant,
        role: Option<Id>,
    ) -> Result<Vec<Screen>, StoreError> {
        let mut upcoming = Vec::new();
        let mut page = Paging { limit: PAGE, before: None };
        loop {
            let screens = self.environment.store.list_screens(tenant, role, None, &page).await?;
            page.before = screens.next;
            let oldest = screens.items.last().map(|screen| screen.created_at);
            let is_upcoming =
                |screen: &Screen| matches!(screen.status, ScreenStatus::Queued | ScreenStatus::Scheduled);
            upcoming.extend(screens.items.into_iter().filter(is_upcoming));
            // No call is scheduled so long ago, and the tasks end a screen soon after its call.
            let is_over = |created_at| later(created_at, screening::MAX_LEAD_TIME + MAX_CALL * 2) < self.now;
            if page.before.is_none() || oldest.is_some_and(is_over) {
                return Ok(upcoming);
            }
        }
    }

    /// Cancels a screen, unless its conversation has begun.
    pub(crate) async fn cancel(
        &self,
        tenant: Tenant,
        screen: Id,
        reason: CancelReason,
    ) -> Result<(), CommitError> {
        let store = &self.environment.store;
        let author = Author { ids: &self.ids, actor: Actor::system(), at: self.now };
        for _ in 0..MAX_ATTEMPTS {
            let Some(before) = store.find_screen(tenant, screen).await? else { return Ok(()) };
            let Ok(after) = before.clone().cancel(reason, self.now) else { return Ok(()) };
            let candidate = store.find_candidate(tenant, before.screen.candidate_id).await?;
            let Some(candidate) = candidate.and_then(MaybeErased::present) else { return Ok(()) };
            let mut transaction = Transaction::new(tenant);
            screening::cancel(&mut transaction, &before, &after, &candidate, reason, &author)?;
            match store.commit(transaction).await {
                Err(CommitError::Stale) => {}
                result => return result,
            }
        }
        Err(CommitError::Stale)
    }

    /// Cancels the call of a cancelled screen at the provider, or deletes that of a declined one. While the call's id is
    /// unknown, looks for it until the order has certainly arrived, and then waits until the call would be over.
    pub(crate) async fn cancel_call(
        &self,
        tenant: Tenant,
        record: &ScreenRecord,
        provider: Option<(&dyn VoicePort, &HttpClient)>,
    ) -> Result<(), TaskError> {
        let screen = &record.screen;
        let over = later(record.call_at(), MAX_CALL);
        let (mut dialing, mut failure) = (record.dialing.clone(), None);
        if let Some((voice, client)) = provider {
            if !matches!(dialing, CallState::Placed(_)) {
                match self.find_call(tenant, record, voice, client).await {
                    Ok(found) => dialing = found.map_or(dialing, CallState::Placed),
                    Err(error) => failure = Some(error),
                }
            }
            if let CallState::Placed(call_id) = &dialing {
                failure = voice.cancel(client, call_id).await.err();
            }
        }
        let arrived = record.orders.last_at.map(|ordered_at| later(ordered_at, LOOK_AFTER));
        let due = match (&dialing, failure) {
            _ if self.now >= over => None,
            (CallState::Asked, None) => Some(arrived.filter(|time| *time > self.now).unwrap_or(over)),
            (CallState::Due, None) => arrived.filter(|time| *time > self.now),
            (_, Some(error)) => {
                tracing::warn!(%tenant, screen = screen.id.get(), failure = %error, "a call was not cancelled");
                Some(self.after(RETRY_INTERVAL))
            }
            _ => None,
        };
        let next = record.clone().follow_call(dialing, due);
        self.replace(tenant, record, &next).await?;
        match failure {
            Some(error) if self.now > later(screen.updated_at, PATIENCE) => {
                Err(TaskError::NotCancelled(error))
            }
            _ => Ok(()),
        }
    }
}
