//! Tasks: what a request has left to be done, by whoever comes next. They are one partition for all tenants, in the
//! order in which they are due.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Failure, Item, Listed, Page, Store, Writes, item, keys};
use crate::id::Id;
use crate::model::{Mode, Tenant};

/// What a task is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A voice screen's call.
    Call,
    /// A candidate's applications in the index.
    Index,
}

/// Something that is left to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    organization: Id,
    mode: Mode,
    /// What it is about.
    pub kind: TaskKind,
    /// The screen or candidate.
    pub id: Id,
    /// From when on.
    pub due: Timestamp,
}

impl Task {
    pub(super) fn new(tenant: Tenant, kind: TaskKind, id: Id, due: Timestamp) -> Self {
        Self { organization: tenant.organization, mode: tenant.mode, kind, id, due }
    }

    /// Whose it is.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.organization, mode: self.mode }
    }

    pub(super) fn key(&self) -> keys::Key {
        let kind = match self.kind {
            TaskKind::Call => "call",
            TaskKind::Index => "index",
        };
        keys::task(self.due, self.tenant(), kind, self.id)
    }

    pub(super) fn item(&self) -> Result<Item, Failure> {
        item::write(self, self.key(), None)
    }
}

impl Writes {
    /// The task is done.
    pub fn finish(&mut self, task: &Task) {
        self.delete(task.key());
    }
}

impl Store {
    /// Tasks that are due at `now`, latest first; the next page begins at `before`.
    pub async fn list_due_tasks(
        &self,
        now: Timestamp,
        limit: u32,
        before: Option<String>,
    ) -> Result<Listed<Task>, Failure> {
        let before = before.unwrap_or_else(|| keys::tasks_after(now));
        self.page(&keys::tasks(), &Page { limit, before: Some(before) }).await
    }
}
