//! Retention: the rule of a tenant, its task, and the list of people by the start of their retention period.

use serde::{Deserialize, Serialize};

use super::recording::Recorded;
use super::tasks::Task;
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item, keys};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Retention, RetentionSetting, RetentionStart, SubjectType,
    TaskKind, Tenant,
};

/// A person whose retention period has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuePerson {
    /// The candidate.
    pub id: Id,
    /// When the period began.
    #[serde(flatten)]
    pub start: RetentionStart,
}

impl Transaction {
    /// Replaces a tenant's rule, and its task with the task of the next run.
    pub fn replace_retention_setting(
        &mut self,
        before: &RetentionSetting,
        after: &RetentionSetting,
    ) -> Result<(), StoreError> {
        let item = |setting| item::write(setting, keys::retention_setting(self.tenant), None);
        match before.version {
            0 => self.insert(item(after)?),
            _ => self.replace(&item(before)?, &item(after)?)?,
        }
        let rule = |setting: &RetentionSetting| setting.schedule.map(|schedule| schedule.retention);
        if rule(before) != rule(after) {
            self.audit(AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::RetentionRule)));
            self.record([Recorded::setting(SubjectType::RetentionRule)]);
        }
        let task = |setting: &RetentionSetting| {
            let due = setting.schedule?.next_run;
            Some(Task::new(self.tenant, TaskKind::Retention, self.tenant.organization, due))
        };
        let (old, new) = (task(before), task(after));
        if old != new {
            if let Some(old) = old {
                self.delete_task(&old);
            }
            if let Some(new) = new {
                self.put(new.item()?)?;
            }
        }
        Ok(())
    }

    /// Requires that the rule does not change before the commit.
    pub fn require_retention_setting(&mut self, setting: &RetentionSetting) {
        self.require(keys::retention_setting(self.tenant), setting.version);
    }

    /// Writes the change of the start of a person's retention period.
    pub(super) fn replace_retention_start(
        &mut self,
        id: Id,
        before: Option<RetentionStart>,
        after: Option<RetentionStart>,
    ) -> Result<(), StoreError> {
        if before == after {
            return Ok(());
        }
        let key =
            |start: &RetentionStart| keys::retention_start(self.tenant, start.ever_hired, start.since, id);
        let (old, new) = (before.as_ref().map(key), after.as_ref().map(key));
        if let Some(old) = old.filter(|old| new.as_ref() != Some(old)) {
            self.delete(old);
        }
        if let Some(start) = after {
            self.put(start_item(self.tenant, id, start)?)?;
        }
        Ok(())
    }
}

/// The item of a person in the list of retention periods.
pub(super) fn start_item(tenant: Tenant, id: Id, start: RetentionStart) -> Result<Item, StoreError> {
    let key = keys::retention_start(tenant, start.ever_hired, start.since, id);
    item::write(&DuePerson { id, start }, key, None)
}

impl Store {
    /// The tenant's rule. It is off at first.
    pub async fn get_retention_setting(&self, tenant: Tenant) -> Result<RetentionSetting, StoreError> {
        let item = self.read(keys::retention_setting(tenant)).await?;
        Ok(item.map(item::read).transpose()?.unwrap_or_default())
    }

    /// A page of the people who were ever hired, or of the others, whose retention period is over at this time. The
    /// latest periods come first. People in the grace period after a legal hold are left out.
    pub async fn list_due_people(
        &self,
        tenant: Tenant,
        retention: Retention,
        ever_hired: bool,
        at: Timestamp,
        page: &Paging,
    ) -> Result<Listed<DuePerson>, StoreError> {
        let first = || keys::retention_starts_after(retention.latest_start(at));
        let page = Paging { limit: page.limit, before: Some(page.before.clone().unwrap_or_else(first)) };
        let partition = keys::retention_starts(tenant, ever_hired);
        let mut people: Listed<DuePerson> = self.read_page(&partition, &page).await?;
        people.items.retain(|person| retention.is_due(person.start, at));
        Ok(people)
    }
}
