//! The `task` commands.

use std::fmt;

use serde::Serialize;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{TaskKind, Tenant};
use shared::store::{Task, TaskPartition, Transaction};

use crate::admin::{Admin, CommandError};
use crate::output::table;

/// A task.
#[derive(Serialize)]
pub(crate) struct Listed {
    due: Timestamp,
    organization_id: Id,
    mode: &'static str,
    kind: &'static str,
    id: Id,
}

/// Tasks, oldest first.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Tasks(Vec<Listed>);

/// A task that was deleted, or would be.
#[derive(Serialize)]
pub(crate) struct Dropped {
    #[serde(flatten)]
    task: Listed,
    dropped: bool,
}

pub(crate) async fn list(admin: &Admin, all: bool) -> Result<Tasks, CommandError> {
    let until = if all { Timestamp::MAX } else { admin.now };
    let mut tasks = Vec::new();
    for partition in TaskPartition::all() {
        tasks.extend(admin.store.list_due_tasks(partition, until, usize::MAX).await?.tasks);
    }
    tasks.sort_by_key(|task| task.due);
    Ok(Tasks(tasks.iter().map(Listed::of).collect()))
}

pub(crate) async fn discard(
    admin: &Admin,
    tenant: Tenant,
    kind: TaskKind,
    id: Id,
    yes: bool,
) -> Result<Dropped, CommandError> {
    for partition in TaskPartition::of(tenant) {
        let due = admin.store.list_due_tasks(partition, Timestamp::MAX, usize::MAX).await?;
        let is_meant = |task: &&Task| task.tenant() == tenant && task.kind == kind && task.id == id;
        let Some(task) = due.tasks.iter().find(is_meant) else { continue };
        if yes {
            let mut transaction = Transaction::new(tenant);
            transaction.delete_task(task);
            admin.store.commit(transaction).await.map_err(CommandError::of_commit)?;
        }
        return Ok(Dropped { task: Listed::of(task), dropped: yes });
    }
    Err(CommandError::NoSuchTask)
}

impl Listed {
    fn of(task: &Task) -> Self {
        let tenant = task.tenant();
        Self {
            due: task.due,
            organization_id: tenant.organization,
            mode: tenant.mode.as_str(),
            kind: task.kind.as_str(),
            id: task.id,
        }
    }
}

impl fmt::Display for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "No tasks.");
        }
        let rows = self.0.iter().map(|task| {
            let organization = task.organization_id.to_string();
            [
                task.due.to_string(),
                organization,
                task.mode.to_owned(),
                task.kind.to_owned(),
                task.id.to_string(),
            ]
        });
        table(f, ["DUE", "ORGANIZATION", "MODE", "KIND", "ID"], rows)
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listed { kind, id, due, .. } = &self.task;
        let done = if self.dropped { "was deleted" } else { "exists; add --yes to delete it" };
        write!(f, "The task {kind} {id}, due at {due}, {done}.")
    }
}
