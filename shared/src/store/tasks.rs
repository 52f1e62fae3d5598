//! Tasks: work that a request leaves to a job. 256 partitions hold the tasks of all tenants, ordered by the hour when they
//! are due, then by tenant.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::keys::{Key, TaskPartition};
use super::list::Range;
use super::unreadable::Unreadable;
use super::{Item, Store, StoreError, Transaction, item, keys};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{Mode, TaskKind, Tenant};

/// The number of items that one query reads.
const PAGE: u32 = 100;
/// The number of tasks after which a partition is left to the next run.
const MOST: usize = 2_000;

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    organization: Id,
    mode: Mode,
    /// The kind.
    pub kind: TaskKind,
    /// The screen, role, candidate, organization, API key or act.
    pub id: Id,
    /// The role in whose list an act on several candidates was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Id>,
    /// When it is due.
    pub due: Timestamp,
    /// The identifier of the request that caused the task, maybe through other tasks. A commit adds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<String>,
}

impl Task {
    pub(super) fn new(tenant: Tenant, kind: TaskKind, id: Id, due: Timestamp) -> Self {
        Self {
            organization: tenant.organization,
            mode: tenant.mode,
            kind,
            id,
            role: None,
            due,
            caused_by: None,
        }
    }

    /// The task, of an act that was begun in a list of this role, or over all roles.
    pub(super) fn in_list_of(self, role: Option<Id>) -> Self {
        Self { role, ..self }
    }

    /// The tenant.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.organization, mode: self.mode }
    }

    pub(super) fn key(&self) -> Key {
        keys::task(self.due, self.tenant(), self.kind.as_str(), self.id)
    }

    pub(super) fn item(&self) -> Result<Item, StoreError> {
        item::write(self, self.key(), None)
    }
}

impl Transaction {
    /// Deletes a task that is done.
    pub fn delete_task(&mut self, task: &Task) {
        self.delete(task.key());
    }
}

/// What one partition has to do.
#[derive(Debug, Default)]
pub struct DueTasks {
    /// The due tasks, each tenant's oldest first, and at most a share of each tenant.
    pub tasks: Vec<Task>,
    /// The keys of the items that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Whether more tasks are due.
    pub has_more: bool,
}

impl Store {
    /// The due tasks in a partition, each tenant's oldest first. After `share` tasks of a tenant in an hour, the tenant's
    /// other tasks of the hour are skipped, so that a tenant with very many delays nobody else's.
    pub async fn list_due_tasks(
        &self,
        partition: TaskPartition,
        now: Timestamp,
        share: usize,
    ) -> Result<DueTasks, StoreError> {
        let (mut due, mut taken) = (DueTasks::default(), HashMap::new());
        let (to, mut after) = (keys::tasks_until(now), String::new());
        loop {
            let range = Range::Ascending { after: &after, to: &to };
            let (items, next) = self.query(&partition.tasks(), PAGE, range).await?;
            let (read, mut skip_to) = (items.len(), None);
            for item in items {
                let key = Key::of(&item)?;
                if skip_to.as_ref().is_some_and(|skipped| key.sk < *skipped) {
                    continue;
                }
                let task: Task = match item::read(item) {
                    Ok(task) => task,
                    Err(error) => {
                        due.unreadable.push(Unreadable { key, problem: error.to_string() });
                        continue;
                    }
                };
                let taken = taken.entry(task.tenant()).or_insert(0);
                if task.due > now || *taken >= share {
                    due.has_more |= task.due <= now;
                    skip_to = Some(keys::tasks_after(task.due, task.tenant()));
                    continue;
                }
                *taken += 1;
                due.tasks.push(task);
            }
            match (next, skip_to) {
                (None, _) => return Ok(due),
                (Some(next), skip_to) => after = skip_to.filter(|skipped| *skipped > next).unwrap_or(next),
            }
            if due.tasks.len() >= MOST || read == 0 {
                due.has_more = true;
                return Ok(due);
            }
        }
    }
}
