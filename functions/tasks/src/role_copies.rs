//! Updates the applications' copies of a role after it was closed, reopened or renamed, and cancels the voice screens
//! for a closed role.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::id::Id;
use shared::model::{Actor, CandidateRecord, Followed, RoleState, Tenant, TouchpointKind};
use shared::services::Author;
use shared::store::{CommitError, Listed, MaybeErased, Paging, Task, Transaction};

use crate::{CONCURRENCY, Job, MAX_ATTEMPTS, PAGE};

/// The number of people of a role after whom a run leaves the others to the next run.
const PER_RUN: usize = 2_000;
/// The number of people in one transaction, with at most five writes each beside the one for the feed.
const TOGETHER: usize = 19;

impl Job {
    /// Updates all copies of the task's role, from the newest application to the oldest. If there are many, the task stays and
    /// the next run continues. A run that is killed is repeated from the last page that was finished.
    pub(crate) async fn update_copies(&self, task: &Task) -> Result<(), CommitError> {
        let (tenant, store) = (task.tenant(), &self.environment.store);
        // An earlier change of the role is part of a later one, and the task of either makes both.
        let Some(mut change) = store.find_role_change(tenant, task.id).await? else {
            return self.discard(task).await;
        };
        let mut done = 0;
        loop {
            let page = Paging { limit: PAGE, before: change.position.take() };
            let Listed { items, next } = store.list_applied(tenant, task.id, &page).await?;
            self.update_page(tenant, &items, &change.state).await?;
            let Some(position) = next else { break };
            if !store.advance_role_change(tenant, &change, &position).await? {
                return Ok(());
            }
            change.position = Some(position);
            done += items.len();
            if done >= PER_RUN {
                return Ok(());
            }
        }
        if change.state.closed_version.is_some() {
            // Candidates can be invited without an application.
            let screens = self.list_upcoming(tenant, Some(task.id)).await?.into_iter();
            let updates = screens.map(|screen| self.update_copy(tenant, screen.candidate_id, &change.state));
            stream::iter(updates).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
        }
        // If the role has changed again, the next run continues with that change.
        let mut transaction = Transaction::new(tenant);
        transaction.finish_role_change(task, &change);
        store.commit(transaction).await
    }

    /// Updates the copies of a page of people. Those who have the change already may be those of a run that was killed.
    async fn update_page(&self, tenant: Tenant, people: &[Id], role: &RoleState) -> Result<(), CommitError> {
        let records = self.environment.store.find_records(tenant, people).await?;
        let (mut outdated, mut current, mut incomplete) = (Vec::new(), Vec::new(), Vec::new());
        for record in records {
            match record.clone().follow([role], self.environment.clock.now()) {
                Some(followed) => outdated.push((record, followed)),
                // The record that was read may be older than the application.
                None if record.application(role.copy.id).is_none() => incomplete.push(record.candidate.id),
                None => current.push(record),
            }
        }
        let mut groups = Vec::new();
        while !outdated.is_empty() {
            let rest = outdated.split_off(outdated.len().min(TOGETHER));
            groups.push(std::mem::replace(&mut outdated, rest));
        }
        let groups = groups.into_iter().map(|group| self.update_together(tenant, group, role));
        stream::iter(groups).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
        let updated = incomplete.into_iter().map(|candidate| self.update_copy(tenant, candidate, role));
        stream::iter(updated).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
        let settled = current.into_iter().map(|record| self.settle(tenant, record, role));
        stream::iter(settled).buffer_unordered(CONCURRENCY).try_collect::<()>().await
    }

    /// Updates the copies of some people in one transaction, or one after another if some of them change at the same time.
    async fn update_together(
        &self,
        tenant: Tenant,
        group: Vec<(CandidateRecord, Followed)>,
        role: &RoleState,
    ) -> Result<(), CommitError> {
        let people: Vec<_> = group.iter().map(|(record, _)| record.candidate.id).collect();
        match self.follow(tenant, group, role).await {
            Err(CommitError::Stale) => {
                for candidate in people {
                    self.update_copy(tenant, candidate, role).await?;
                }
                Ok(())
            }
            result => result,
        }
    }

    /// Updates the copy in one candidate's application, and marks the candidate's screens for a closed role.
    async fn update_copy(&self, tenant: Tenant, candidate: Id, role: &RoleState) -> Result<(), CommitError> {
        let store = &self.environment.store;
        for _ in 0..MAX_ATTEMPTS {
            let found = store.find_any_candidate(tenant, candidate).await?;
            let Some(record) = found.and_then(MaybeErased::present) else { return Ok(()) };
            let Some(followed) = record.clone().follow([role], self.environment.clock.now()) else {
                return self.settle(tenant, record, role).await;
            };
            match self.follow(tenant, vec![(record, followed)], role).await {
                Err(CommitError::Stale) => {}
                result => return result,
            }
        }
        Err(CommitError::Stale)
    }

    /// Stores candidates who have followed a role, and then what their lists still lack.
    async fn follow(
        &self,
        tenant: Tenant,
        group: Vec<(CandidateRecord, Followed)>,
        role: &RoleState,
    ) -> Result<(), CommitError> {
        let store = &self.environment.store;
        let author = Author { ids: &self.ids, actor: Actor::system(), at: self.now };
        let mut transaction = Transaction::new(tenant);
        for (before, Followed { record, statuses }) in &group {
            let history = author.touchpoints(statuses.iter().map(TouchpointKind::of_status));
            transaction.follow_roles(before, record, &history)?;
            let start = before.retention_start();
            if let Some(start) = start.filter(|_| record.retention_start() != start) {
                store.unlist_retention_start(tenant, before.candidate.id, start).await?;
            }
        }
        store.commit(transaction).await?;
        let settled = group.into_iter().map(|(_, Followed { record, .. })| self.settle(tenant, record, role));
        stream::iter(settled).buffer_unordered(CONCURRENCY).try_collect::<()>().await
    }

    /// Writes what the lists still lack after a candidate has followed a role.
    async fn settle(
        &self,
        tenant: Tenant,
        record: CandidateRecord,
        role: &RoleState,
    ) -> Result<(), CommitError> {
        match record.application(role.copy.id) {
            Some(application) => {
                Ok(self.environment.store.settle_application(tenant, &record, application, role).await?)
            }
            None => Ok(()),
        }
    }
}
