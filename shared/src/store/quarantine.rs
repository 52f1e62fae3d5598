//! The quarantine: items that cannot be read and would stop a job. Only jobs and the administration tool move items there.
//! Requests never do.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use super::keys::{self, Key, STATUS_FILTER};
use super::unreadable::{Quarantined, Unreadable};
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{Mode, Tenant};

/// A new value of an attribute; `None` removes the attribute.
pub type Correction = (String, Option<Value>);

/// Why an item was not moved back.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// No item with this key is in quarantine.
    #[error("no item with this key is in quarantine")]
    Missing,
    /// Another item has the key now.
    #[error("another item has this key now")]
    Occupied,
    /// The item still cannot be read.
    #[error("the item still cannot be read: {0}")]
    Unreadable(String),
    /// DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The attribute with the whole item.
const WHOLE: &str = "item";
/// The attribute with the version of an item, if it has one.
const VERSION: &str = "version";
/// The tenant of a transaction without an entry in the audit log.
const NOBODY: Tenant = Tenant { organization: Id::LAST, mode: Mode::Live };

impl Store {
    /// Moves an item to the quarantine. Returns `false` if it does not exist, or has changed in the meantime.
    pub async fn quarantine(&self, unreadable: &Unreadable, now: Timestamp) -> Result<bool, StoreError> {
        match self.quarantining(unreadable, now).await? {
            Some(transaction) => self.attempt(transaction).await,
            None => Ok(false),
        }
    }

    /// The transaction that moves an item to the quarantine; `None` if the item does not exist.
    pub(super) async fn quarantining(
        &self,
        unreadable: &Unreadable,
        now: Timestamp,
    ) -> Result<Option<Transaction>, StoreError> {
        let Unreadable { key, problem } = unreadable;
        let Some(whole) = self.read(key.clone()).await? else { return Ok(None) };
        let (old_pk, old_sk) = (key.pk.clone(), key.sk.clone());
        let moved = Quarantined { old_pk, old_sk, problem: problem.clone(), at: now };
        let filter = keys::QUARANTINE.to_owned();
        let mut item = item::write(&moved, keys::quarantined(key), Some(filter))?;
        let tenant = tenant_of(key);
        let status_filter = tenant.map(|tenant| AttributeValue::S(keys::quarantine_of(tenant)));
        item.extend(status_filter.map(|filter| (STATUS_FILTER.to_owned(), filter)));
        let version = whole.contains_key(VERSION).then(|| item::count(&whole, VERSION));
        item.insert(WHOLE.to_owned(), AttributeValue::M(whole));
        let mut transaction = Transaction::new(tenant.unwrap_or(NOBODY));
        transaction.overwrite(item);
        match version {
            Some(version) => transaction.delete_version(key.clone(), version),
            None => transaction.delete_existing(key.clone()),
        }
        Ok(Some(transaction))
    }

    /// The item with this key, if this release cannot read it.
    pub async fn find_unreadable(&self, pk: String, sk: String) -> Result<Option<Unreadable>, StoreError> {
        let Some(item) = self.read(Key { pk: pk.clone(), sk: sk.clone() }).await? else { return Ok(None) };
        Ok(self.check(item).err().map(|problem| Unreadable::new(pk, sk, problem.to_string())))
    }

    /// A page of the items in quarantine, of a tenant or of all.
    pub async fn list_quarantined(
        &self,
        tenant: Option<Tenant>,
        page: &Paging,
    ) -> Result<Listed<Quarantined>, StoreError> {
        self.read_page(&keys::quarantine(tenant), page).await
    }

    /// An item in quarantine, by the key that it had, with all of its attributes.
    pub async fn find_quarantined(
        &self,
        pk: String,
        sk: String,
    ) -> Result<Option<(Quarantined, Value)>, StoreError> {
        let Some((moved, whole)) = self.read_quarantined(&Key { pk, sk }).await? else { return Ok(None) };
        let whole = serde_dynamo::from_item(whole)
            .map_err(|error| StoreError::Internal(format!("an item cannot be shown: {error}")))?;
        Ok(Some((moved, whole)))
    }

    /// Moves an item back to its place, with corrections. This release must be able to read it then.
    pub async fn restore_quarantined(
        &self,
        pk: String,
        sk: String,
        corrections: Vec<Correction>,
    ) -> Result<(), RestoreError> {
        let key = Key { pk, sk };
        let Some((_, mut whole)) = self.read_quarantined(&key).await? else {
            return Err(RestoreError::Missing);
        };
        for (name, value) in corrections {
            match value {
                None => _ = whole.remove(&name),
                Some(value) => {
                    let value = serde_dynamo::to_attribute_value(value)
                        .map_err(|error| RestoreError::Unreadable(error.to_string()))?;
                    whole.insert(name, value);
                }
            }
        }
        whole.extend(key.clone().attributes());
        self.check(whole.clone()).map_err(|error| RestoreError::Unreadable(error.to_string()))?;
        let mut transaction = Transaction::new(tenant_of(&key).unwrap_or(NOBODY));
        transaction.insert(whole);
        transaction.delete_existing(keys::quarantined(&key));
        if self.attempt(transaction).await? { Ok(()) } else { Err(RestoreError::Occupied) }
    }

    /// Deletes an item in quarantine. Returns `false` if there is none.
    pub async fn drop_quarantined(&self, pk: String, sk: String) -> Result<bool, StoreError> {
        let key = Key { pk, sk };
        let mut transaction = Transaction::new(tenant_of(&key).unwrap_or(NOBODY));
        transaction.delete_existing(keys::quarantined(&key));
        self.attempt(transaction).await
    }

    /// Deletes what a tenant has in quarantine: all, or only what is about an erased candidate.
    pub async fn forget_quarantined(&self, tenant: Tenant, candidate: Option<Id>) -> Result<(), StoreError> {
        let mut page = Paging { limit: 100, before: None };
        loop {
            let listed = self.list_quarantined(Some(tenant), &page).await?;
            for moved in listed.items {
                let (pk, sk) = (moved.old_pk, moved.old_sk);
                let is_meant = match (
                    candidate,
                    self.read_quarantined(&Key { pk: pk.clone(), sk: sk.clone() }).await?,
                ) {
                    (_, None) => false,
                    (None, Some(_)) => true,
                    (Some(id), Some((_, whole))) => is_about(id, &whole),
                };
                if is_meant {
                    self.drop_quarantined(pk, sk).await?;
                }
            }
            page.before = listed.next;
            if page.before.is_none() {
                return Ok(());
            }
        }
    }

    async fn read_quarantined(&self, key: &Key) -> Result<Option<(Quarantined, Item)>, StoreError> {
        let Some(mut item) = self.read(keys::quarantined(key)).await? else { return Ok(None) };
        let Some(AttributeValue::M(whole)) = item.remove(WHOLE) else {
            return Err(StoreError::unreadable(&key.pk, "the quarantined item is missing"));
        };
        Ok(Some((item::read(item)?, whole)))
    }
}

/// Whether an item is about a candidate: its key or an attribute has the identifier.
fn is_about(candidate: Id, item: &Item) -> bool {
    let (number, padded) = (candidate.get().to_string(), keys::padded(candidate));
    item.values().any(|value| match value {
        AttributeValue::N(n) => *n == number,
        AttributeValue::S(text) => text.contains(&padded),
        _ => false,
    })
}

/// The tenant of an item, by its key.
fn tenant_of(key: &Key) -> Option<Tenant> {
    if key.pk.starts_with("OUTBOX#") {
        return keys::outbox_tenant(&key.sk);
    }
    // The tenant of a task follows the hour.
    let text = if key.pk.starts_with("TASK#") { key.sk.split_once('#')?.1 } else { &*key.pk };
    let mut parts = text.split('#');
    let (organization, mode) = (parts.next()?, parts.next()?);
    Some(Tenant { organization: organization.parse().ok()?, mode: mode.parse().ok()? })
}
