//! The `quarantine` commands.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use shared::store::{Paging, Quarantined, RestoreError};

use crate::admin::{Admin, CommandError};
use crate::cli::StoredItem;
use crate::output::table;

/// Items in quarantine.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Listed(Vec<Quarantined>);

/// An item in quarantine with all of its attributes.
#[derive(Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    moved: Quarantined,
    item: Value,
}

/// What happened to an item.
#[derive(Serialize)]
pub(crate) struct Done {
    pk: String,
    sk: String,
    result: &'static str,
}

pub(crate) async fn list(admin: &Admin) -> Result<Listed, CommandError> {
    let mut items = Vec::new();
    let mut page = Paging { limit: 100, before: None };
    loop {
        let listed = admin.store.list_quarantined(None, &page).await?;
        items.extend(listed.items);
        page.before = listed.next;
        if page.before.is_none() {
            return Ok(Listed(items));
        }
    }
}

pub(crate) async fn show(admin: &Admin, item: StoredItem) -> Result<Shown, CommandError> {
    let found = admin.store.find_quarantined(item.pk, item.sk).await?;
    let (moved, item) = found.ok_or(CommandError::Restore(RestoreError::Missing))?;
    Ok(Shown { moved, item })
}

/// Moves an item that this release cannot read.
pub(crate) async fn set_aside(admin: &Admin, item: StoredItem) -> Result<Done, CommandError> {
    let unreadable = admin.store.find_unreadable(item.pk.clone(), item.sk.clone()).await?;
    let unreadable = unreadable.ok_or(CommandError::Readable)?;
    let moved = admin.store.quarantine(&unreadable, admin.now).await?;
    let done = if moved {
        "moved to the quarantine"
    } else {
        "not moved, because it has changed; repeat the command"
    };
    Ok(Done { pk: item.pk, sk: item.sk, result: done })
}

pub(crate) async fn restore(
    admin: &Admin,
    item: StoredItem,
    set: Vec<(String, Value)>,
    remove: Vec<String>,
) -> Result<Done, CommandError> {
    let set = set.into_iter().map(|(name, value)| (name, Some(value)));
    let corrections = set.chain(remove.into_iter().map(|name| (name, None))).collect();
    let restored = admin.store.restore_quarantined(item.pk.clone(), item.sk.clone(), corrections);
    restored.await.map_err(CommandError::Restore)?;
    Ok(Done { pk: item.pk, sk: item.sk, result: "moved back to its place" })
}

pub(crate) async fn discard(admin: &Admin, item: StoredItem, yes: bool) -> Result<Done, CommandError> {
    let (pk, sk) = (item.pk.clone(), item.sk.clone());
    show(admin, item).await?;
    if !yes {
        return Ok(Done { pk, sk, result: "in quarantine; add --yes to delete it for ever" });
    }
    admin.store.drop_quarantined(pk.clone(), sk.clone()).await?;
    Ok(Done { pk, sk, result: "deleted" })
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "The quarantine is empty.");
        }
        let rows = self.0.iter().map(|moved| {
            [moved.at.to_string(), moved.old_pk.clone(), moved.old_sk.clone(), moved.problem.clone()]
        });
        table(f, ["MOVED", "PK", "SK", "PROBLEM"], rows)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", serde_json::to_string_pretty(&self.item).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The item {} {} is {}.", self.pk, self.sk, self.result)
    }
}
