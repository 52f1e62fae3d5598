//! Tasks: work that a request leaves to a job. One partition holds the tasks of all tenants, ordered by due time.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Item, Listed, Paging, Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{Mode, Tenant};

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Start or check the call of a voice screen.
    Call,
    /// Update the applications' copies of a role.
    Role,
    /// Cancel the voice screens of a candidate that are marked so.
    Cancellation,
    /// Cancel the voice screens of a suspended organization.
    Suspension,
    /// Remove what is left of an erased candidate.
    Erasure,
    /// Erase the people whose retention period is over.
    Retention,
    /// Revoke an API key that another one replaces.
    KeyEnd,
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    organization: Id,
    mode: Mode,
    /// The kind.
    pub kind: TaskKind,
    /// The screen, role, candidate, organization or API key.
    pub id: Id,
    /// When it is due.
    pub due: Timestamp,
}

impl Task {
    pub(super) fn new(tenant: Tenant, kind: TaskKind, id: Id, due: Timestamp) -> Self {
        Self { organization: tenant.organization, mode: tenant.mode, kind, id, due }
    }

    /// The tenant.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.organization, mode: self.mode }
    }

    pub(super) fn key(&self) -> keys::Key {
        let kind = match self.kind {
            TaskKind::Call => "call",
            TaskKind::Role => "role",
            TaskKind::Cancellation => "cancellation",
            TaskKind::Suspension => "suspension",
            TaskKind::Erasure => "erasure",
            TaskKind::Retention => "retention",
            TaskKind::KeyEnd => "key_end",
        };
        keys::task(self.due, self.tenant(), kind, self.id)
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

impl Store {
    /// A page of the tasks that are due at `now`, latest first. `before` is the previous page's `next`.
    pub async fn list_due_tasks(
        &self,
        now: Timestamp,
        limit: u32,
        before: Option<String>,
    ) -> Result<Listed<Task>, StoreError> {
        let before = before.unwrap_or_else(|| keys::tasks_after(now));
        self.read_page(&keys::tasks(), &Paging { limit, before: Some(before) }).await
    }
}
