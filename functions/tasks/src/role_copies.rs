//! Updates the applications' copies of a role after it was closed, reopened or renamed, and cancels the voice screens
//! for a closed role.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::id::Id;
use shared::model::{Actor, Role, Tenant, TouchpointKind};
use shared::services::Author;
use shared::store::{CommitError, MaybeErased, Paging, Task, Transaction};

use crate::{CONCURRENCY, Job, MAX_ATTEMPTS, PAGE};

impl Job {
    /// Updates all copies of the task's role. A run that is killed is repeated: it skips the copies that are current.
    pub(crate) async fn update_copies(&self, task: &Task) -> Result<(), CommitError> {
        let (tenant, store) = (task.tenant(), &self.environment.store);
        let Some(role) = store.find_role(tenant, task.id).await? else { return self.discard(task).await };
        let mut page = Paging { limit: PAGE, before: None };
        loop {
            let copies = store.list_role_copies(tenant, role.id, &page).await?;
            let outdated = copies.items.into_iter().filter(|(_, version)| *version < role.version);
            let updates = outdated.map(|(candidate, _)| self.update_copy(tenant, candidate, &role));
            stream::iter(updates).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
            page.before = copies.next;
            if page.before.is_none() {
                break;
            }
        }
        if role.closed_version.is_some() {
            // Candidates can be invited without an application.
            let screens = self.list_upcoming(tenant, Some(role.id)).await?.into_iter();
            let updates = screens.map(|screen| self.update_copy(tenant, screen.candidate_id, &role));
            stream::iter(updates).buffer_unordered(CONCURRENCY).try_collect::<()>().await?;
        }
        // If the role has changed again, the next run continues with its new version.
        let mut transaction = Transaction::new(tenant);
        transaction.finish_role_task(task, &role);
        store.commit(transaction).await
    }

    /// Updates the copy in one candidate's application, and marks the candidate's screens for a closed role.
    async fn update_copy(&self, tenant: Tenant, candidate: Id, role: &Role) -> Result<(), CommitError> {
        let store = &self.environment.store;
        let author = Author { ids: &self.ids, actor: Actor::system(), at: self.now };
        for _ in 0..MAX_ATTEMPTS {
            let found = store.find_candidate(tenant, candidate).await?;
            let Some(record) = found.and_then(MaybeErased::present) else { return Ok(()) };
            let Some(followed) = record.clone().follow([role], self.now) else { return Ok(()) };
            let history = author.touchpoints(followed.statuses.iter().map(TouchpointKind::of_status));
            let mut transaction = Transaction::new(tenant);
            transaction.replace_candidate(&record, &followed.record, &history)?;
            match store.commit(transaction).await {
                Err(CommitError::Stale) => {}
                result => return result,
            }
        }
        Err(CommitError::Stale)
    }
}
