//! Acts on several candidates at once: the heads, which lists read, and the parts with the people.

use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::list::Range;
use super::{Item, Paging, Store, StoreError, Task, Transaction, item};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{BulkAct, BulkPart, TaskKind, Tenant};

/// The maximum number of acts that are listed.
const ACTS: u32 = 100;
/// The number of parts that one query reads.
const PARTS: u32 = 10;

impl Transaction {
    /// Begins an act, with the task that works on it.
    pub fn insert_bulk_act(&mut self, act: &BulkAct) -> Result<(), StoreError> {
        self.insert(act_item(self.tenant, act)?);
        match bulk_task(self.tenant, act) {
            Some(task) => self.put(task.item()?),
            None => Ok(()),
        }
    }

    /// Replaces an act, unless it has changed, and its task.
    pub fn replace_bulk_act(&mut self, before: &BulkAct, after: &BulkAct) -> Result<(), StoreError> {
        self.replace(&act_item(self.tenant, before)?, &act_item(self.tenant, after)?)?;
        if before.task_due == after.task_due {
            return Ok(());
        }
        if let Some(task) = bulk_task(self.tenant, before) {
            self.delete_task(&task);
        }
        match bulk_task(self.tenant, after) {
            Some(task) => self.put(task.item()?),
            None => Ok(()),
        }
    }

    /// Stores the people of an act.
    pub fn insert_bulk_part(&mut self, part: &BulkPart) -> Result<(), StoreError> {
        self.insert(part_item(self.tenant, part)?);
        Ok(())
    }

    /// Replaces a part, unless it has changed.
    pub fn replace_bulk_part(&mut self, before: &BulkPart, after: &BulkPart) -> Result<(), StoreError> {
        self.replace(&part_item(self.tenant, before)?, &part_item(self.tenant, after)?)
    }
}

impl Store {
    /// The latest acts that were begun in the lists of a role, or in those over all roles, and can be undone, or are worked on,
    /// or were undone, the latest first.
    pub async fn list_bulk_acts(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        now: Timestamp,
    ) -> Result<Vec<BulkAct>, StoreError> {
        let page = Paging { limit: ACTS, before: None };
        let listed = self.read_page::<BulkAct>(&keys::bulk_acts(tenant, role), &page).await?;
        // Items stay for a while after they have expired.
        Ok(listed.items.into_iter().filter(|act| act.kept_until() > now).collect())
    }

    /// An act, by the role in whose list it was begun.
    pub async fn find_bulk_act(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        id: Id,
    ) -> Result<Option<BulkAct>, StoreError> {
        self.read(keys::bulk_act(tenant, role, id)).await?.map(item::read).transpose()
    }

    /// A part of an act.
    pub async fn find_bulk_part(
        &self,
        tenant: Tenant,
        act: &BulkAct,
        number: u32,
    ) -> Result<BulkPart, StoreError> {
        let part = self.read(keys::bulk_part(tenant, act.id, number)).await?;
        let missing = || StoreError::Internal("an act lacks a part".to_owned());
        item::read(part.ok_or_else(missing)?)
    }

    /// Some parts of an act, from this one on, in their order.
    pub async fn list_bulk_parts(
        &self,
        tenant: Tenant,
        act: &BulkAct,
        from: u32,
    ) -> Result<Vec<BulkPart>, StoreError> {
        let key = |number| keys::bulk_part(tenant, act.id, number).sk;
        let last = key(act.parts.min(from.saturating_add(PARTS)).saturating_sub(1));
        let range = Range::Between { from: &key(from), to: &last };
        let (items, _) = self.query(&keys::bulk_parts(tenant), PARTS, range).await?;
        let parts: Result<Vec<_>, _> = items.into_iter().rev().map(item::read).collect();
        parts
    }
}

fn bulk_task(tenant: Tenant, act: &BulkAct) -> Option<Task> {
    let due = act.task_due?;
    Some(Task::new(tenant, TaskKind::BulkAct, act.id, due).in_list_of(act.role_id))
}

fn act_item(tenant: Tenant, act: &BulkAct) -> Result<Item, StoreError> {
    let mut item = item::write(act, keys::bulk_act(tenant, act.role_id, act.id), None)?;
    item.insert(EXPIRES_AT.to_owned(), number(act.kept_until().as_second()));
    Ok(item)
}

fn part_item(tenant: Tenant, part: &BulkPart) -> Result<Item, StoreError> {
    let mut item = item::write(part, keys::bulk_part(tenant, part.act, part.number), None)?;
    item.insert(EXPIRES_AT.to_owned(), number(later(part.at, BulkPart::STORED).as_second()));
    Ok(item)
}
