//! Erases the people whose retention period is over, once a day.

use shared::id::Id;
use shared::model::{Actor, ErasedCandidate, Erasure, ErasureReason, Retention, RetentionSetting, Tenant};
use shared::store::{CommitError, MaybeErased, Paging, Task, Transaction};

use crate::{Job, PAGE};

/// The number of people after whom a run leaves the others to the next run.
const PER_RUN: usize = 100;

impl Job {
    /// Erases the people whose retention period is over, and schedules the next day's run. If there are many, the task
    /// stays and the next run continues. A run that is killed is repeated: erased people are no longer in the list.
    pub(crate) async fn apply_retention(&self, task: &Task) -> Result<(), CommitError> {
        let (tenant, store) = (task.tenant(), &self.environment.store);
        let setting = store.get_retention_setting(tenant).await?;
        let organization = store.find_organization(tenant).await?;
        let (Some(schedule), Some(organization)) = (setting.due_at(task.due), organization) else {
            // The rule was switched off or changed.
            return self.discard(task).await;
        };
        // A suspended organization may be reinstated, so its data stays.
        if organization.organization.suspended
            || self.erase_due_people(tenant, &setting, schedule.retention).await?
        {
            let mut transaction = Transaction::new(tenant);
            transaction.replace_retention_setting(&setting, &setting.finish_run(self.now))?;
            store.commit(transaction).await?;
        }
        Ok(())
    }

    /// Erases people until none is due or the maximum is reached. Returns whether none is due.
    async fn erase_due_people(
        &self,
        tenant: Tenant,
        setting: &RetentionSetting,
        rule: Retention,
    ) -> Result<bool, CommitError> {
        let (store, mut erased) = (&self.environment.store, 0);
        for ever_hired in rule.groups() {
            let mut page = Paging { limit: PAGE, before: None };
            loop {
                let due = store.list_due_people(tenant, rule, *ever_hired, self.now, &page).await?;
                // One at a time, because concurrent transactions that require the same rule conflict.
                for person in due.items {
                    erased += usize::from(self.erase_if_due(tenant, person.id, setting, rule).await?);
                }
                page.before = due.next;
                if page.before.is_none() {
                    break;
                }
                if erased >= PER_RUN {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Begins the erasure of a person, unless the record or its current roles say that nobody may be erased by the rule.
    /// Leaves a person who is changed at the same time to the next day's run, and fails if the rule has changed. Returns
    /// whether the person was erased.
    async fn erase_if_due(
        &self,
        tenant: Tenant,
        candidate: Id,
        setting: &RetentionSetting,
        rule: Retention,
    ) -> Result<bool, CommitError> {
        let store = &self.environment.store;
        let found = store.find_candidate(tenant, candidate).await?;
        let Some(record) = found.and_then(MaybeErased::present) else { return Ok(false) };
        let current = record.clone().following(&store.list_role_changes(tenant).await?);
        if !current.retention_start().is_some_and(|start| rule.is_due(start, self.now)) {
            return Ok(false);
        }
        let erasure = Erasure::new(candidate, ErasureReason::Retention, &Actor::system(), self.now);
        let Ok(erased) = ErasedCandidate::of(&record, erasure) else { return Ok(false) };
        let mut transaction = Transaction::new(tenant);
        transaction.erase_candidate(&record, &erased)?;
        transaction.require_retention_setting(setting);
        match store.commit(transaction).await {
            Ok(()) => Ok(true),
            Err(CommitError::Stale) if store.get_retention_setting(tenant).await? == *setting => Ok(false),
            Err(error) => Err(error),
        }
    }
}
