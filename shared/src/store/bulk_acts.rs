//! Acts on several candidates of a role at once.

use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Item, Paging, Store, StoreError, Transaction, item};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{BulkAct, Tenant};

/// The maximum number of parts that are read.
const PARTS: u32 = 100;

impl Transaction {
    /// Remembers an act, so that it can be undone.
    pub fn insert_bulk_act(&mut self, role: Id, act: &BulkAct) -> Result<(), StoreError> {
        self.insert(bulk_item(self.tenant, role, act)?);
        Ok(())
    }

    /// Replaces an act, unless it has changed.
    pub fn replace_bulk_act(
        &mut self,
        role: Id,
        before: &BulkAct,
        after: &BulkAct,
    ) -> Result<(), StoreError> {
        self.replace(&bulk_item(self.tenant, role, before)?, &bulk_item(self.tenant, role, after)?)
    }
}

impl Store {
    /// The latest acts on a role's candidates that can be undone or were, the latest first.
    pub async fn list_bulk_acts(
        &self,
        tenant: Tenant,
        role: Id,
        now: Timestamp,
    ) -> Result<Vec<BulkAct>, StoreError> {
        let page = Paging { limit: PARTS, before: None };
        let listed = self.read_page::<BulkAct>(&keys::bulk_acts(tenant, role), &page).await?;
        // Items stay for a while after they have expired.
        Ok(listed.items.into_iter().filter(|act| later(act.at, BulkAct::KEPT) > now).collect())
    }
}

fn bulk_item(tenant: Tenant, role: Id, act: &BulkAct) -> Result<Item, StoreError> {
    let mut item = item::write(act, keys::bulk_act(tenant, role, act.id), None)?;
    item.insert(EXPIRES_AT.to_owned(), number(later(act.at, BulkAct::KEPT).as_second()));
    Ok(item)
}
