//! API keys.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

use super::gate::{ALIVE, element, set_of};
use super::item::number;
use super::organizations::{ATTEMPTS, EXISTS, MAX_API_KEYS, contended};
use super::recording::{Recorded, names};
use super::tasks::Task;
use super::{CommitError, Listed, OrganizationError, Paging, Store, StoreError, Transaction, item, keys};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Day, EventData, EventType, GateHash, Networks, Scopes,
    SubjectType, TaskKind, Tenant,
};

/// An API key as members see it. The secret is not stored anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The identifier.
    pub id: Id,
    /// The name that a member gave it.
    pub name: String,
    /// The last four characters of the key, so that members recognize it. They are part of its checksum.
    pub ending: String,
    /// The hash by which the gate recognizes it.
    pub hash: GateHash,
    /// The scopes.
    pub scopes: Scopes,
    /// When it was created.
    pub created_at: Timestamp,
    /// The member who created it; `None` if an operator did.
    pub created_by: Option<Id>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// The networks from which it may be used.
    pub networks: Networks,
    /// The day on which it was last used.
    pub last_used_on: Option<Day>,
    /// The key that it replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Id>,
    /// When it is revoked, because another key replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// The attribute of that item with the number of keys, which the limit's condition uses.
pub(super) const KEYS: &str = "keys";

fn target(key: Id) -> AuditTarget {
    AuditTarget::of(AuditTargetKind::ApiKey, key)
}

impl Transaction {
    /// Lets a task revoke a key at `ends_at`, because another key replaces it.
    pub fn end_replaced_key(&mut self, replaced: Id, ends_at: Timestamp) -> Result<(), StoreError> {
        self.update(
            keys::api_key(self.tenant, replaced),
            "SET #ends = :ends",
            "attribute_exists(pk) AND attribute_not_exists(#ends) AND attribute_not_exists(#revoked)",
            vec![("#ends", "ends_at".to_owned()), ("#revoked", "revoked_at".to_owned())],
            vec![(":ends", AttributeValue::S(ends_at.to_string()))],
        );
        let change = Recorded::stamped(EventType::ApiKeyUpdated, SubjectType::ApiKey, Some(replaced));
        self.record([change.changing(names([("ends_at", true)]))]);
        self.put(Task::new(self.tenant, TaskKind::KeyEnd, replaced, ends_at).item()?)
    }

    /// Adds a key to the gate item, if there is room.
    fn admit_key(&mut self, key: &ApiKey) {
        self.update(
            keys::gate(self.tenant),
            "ADD #alive :hash, #keys :one",
            "attribute_exists(pk) AND (attribute_not_exists(#keys) OR #keys < :most)",
            vec![("#alive", ALIVE.to_owned()), ("#keys", KEYS.to_owned())],
            vec![(":hash", set_of([key.hash])), (":one", number(1)), (":most", number(MAX_API_KEYS))],
        );
    }
}

impl Store {
    /// Inserts an API key of the tenant together with the writes of `transaction`. A key can be replaced only once, and
    /// only if the key that it replaced itself is revoked, so at most two of them are valid at the same time.
    pub async fn insert_api_key(
        &self,
        transaction: Transaction,
        key: &ApiKey,
    ) -> Result<(), OrganizationError> {
        let (tenant, together) = (transaction.tenant, transaction);
        let (action, subject) = match key.replaces {
            None => (AuditAction::ApiKeyCreated, key.id),
            Some(replaced) => (AuditAction::ApiKeyRotated, replaced),
        };
        for _ in 0..ATTEMPTS {
            if let Some(replaced) = key.replaces {
                self.require_replaceable(tenant, replaced).await?;
            }
            let mut transaction = together.clone();
            transaction.insert(item::write(key, keys::api_key(tenant, key.id), None)?);
            let data = EventData::new().with_some("replaces", key.replaces);
            let created = Recorded::stamped(EventType::ApiKeyCreated, SubjectType::ApiKey, Some(key.id));
            transaction.record([created.with(data)]);
            transaction.audit(action, Some(target(subject)));
            transaction.admit_key(key);
            match self.commit(transaction).await {
                Ok(()) => return Ok(()),
                Err(CommitError::Store(error)) => return Err(error.into()),
                Err(CommitError::Repeated(_)) => return Err(OrganizationError::Repeated),
                // A condition failed, or another transaction used the same items.
                Err(_) => {}
            }
            self.require_room_for_key(tenant).await?;
            if self.find_api_key(tenant, key.id).await?.is_some() {
                return Err(OrganizationError::Exists);
            }
        }
        Err(contended())
    }

    async fn require_replaceable(&self, tenant: Tenant, id: Id) -> Result<(), OrganizationError> {
        let key = self.find_api_key(tenant, id).await?.ok_or(OrganizationError::NoSuchKey)?;
        if key.revoked_at.is_some() {
            return Err(OrganizationError::KeyRevoked);
        }
        if key.ends_at.is_some() {
            return Err(OrganizationError::KeyReplaced);
        }
        if let Some(before) = key.replaces
            && self.find_api_key(tenant, before).await?.is_some_and(|before| before.revoked_at.is_none())
        {
            return Err(OrganizationError::KeyOverlaps);
        }
        Ok(())
    }

    async fn require_room_for_key(&self, tenant: Tenant) -> Result<(), OrganizationError> {
        let gate = self.read(keys::gate(tenant)).await?.ok_or(OrganizationError::NoSuchOrganization)?;
        if item::count(&gate, KEYS) < MAX_API_KEYS { Ok(()) } else { Err(OrganizationError::TooManyKeys) }
    }

    /// The tenant's API key with this identifier, revoked or not.
    pub async fn find_api_key(&self, tenant: Tenant, id: Id) -> Result<Option<ApiKey>, StoreError> {
        self.read(keys::api_key(tenant, id)).await?.map(item::read).transpose()
    }

    /// A page of the tenant's API keys, revoked or not, newest first.
    pub async fn list_api_keys(&self, tenant: Tenant, page: &Paging) -> Result<Listed<ApiKey>, StoreError> {
        self.read_page(&keys::api_keys(tenant), page).await
    }

    /// All keys of the tenant that are not revoked, newest first.
    pub async fn list_unrevoked_keys(&self, tenant: Tenant) -> Result<Vec<ApiKey>, StoreError> {
        let mut found = Vec::new();
        let mut page = Paging { limit: 100, before: None };
        loop {
            let listed = self.list_api_keys(tenant, &page).await?;
            found.extend(listed.items.into_iter().filter(|key| key.revoked_at.is_none()));
            page.before = listed.next;
            if page.before.is_none() {
                return Ok(found);
            }
        }
    }

    /// Makes a member the creator of another member's key.
    pub async fn hand_over_api_key(
        &self,
        tenant: Tenant,
        id: Id,
        to: Option<Id>,
    ) -> Result<(), OrganizationError> {
        let to = to.map_or(AttributeValue::Null(true), |to| number(to.get()));
        let mut transaction = Transaction::new(tenant);
        let names = vec![("#creator", "created_by".to_owned())];
        transaction.update(keys::api_key(tenant, id), "SET #creator = :to", EXISTS, names, vec![(":to", to)]);
        Ok(self.commit_any(transaction).await?)
    }

    /// Revokes a key and returns it. Does nothing if the key is already revoked.
    pub async fn revoke_api_key(
        &self,
        tenant: Tenant,
        id: Id,
        now: Timestamp,
    ) -> Result<ApiKey, OrganizationError> {
        for _ in 0..ATTEMPTS {
            let key = self.find_api_key(tenant, id).await?.ok_or(OrganizationError::NoSuchKey)?;
            if key.revoked_at.is_some() {
                return Ok(key);
            }
            let mut transaction = Transaction::new(tenant);
            transaction.audit(AuditAction::ApiKeyRevoked, Some(target(id)));
            transaction.update(
                keys::api_key(tenant, id),
                "SET #revoked = :now",
                EXISTS,
                vec![("#revoked", "revoked_at".to_owned())],
                vec![(":now", AttributeValue::S(now.to_string()))],
            );
            transaction.record([Recorded::stamped(EventType::ApiKeyRevoked, SubjectType::ApiKey, Some(id))]);
            transaction.update(
                keys::gate(tenant),
                "DELETE #alive :set ADD #keys :less",
                // Two revocations at the same time must not subtract the key twice.
                "contains(#alive, :hash)",
                vec![("#alive", ALIVE.to_owned()), ("#keys", KEYS.to_owned())],
                vec![(":set", set_of([key.hash])), (":hash", element(key.hash)), (":less", number(-1))],
            );
            if self.attempt(transaction).await? {
                return Ok(ApiKey { revoked_at: Some(now), ..key });
            }
        }
        Err(contended())
    }
}
