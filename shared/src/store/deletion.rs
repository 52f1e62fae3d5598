//! The deletion of an organization. Everything is found through the lists, never by a scan.
//!
//! What is found through an item is deleted before that item, so a deletion that was interrupted can be repeated. The
//! gate is deleted last, in one transaction with everything else that makes the organization exist.

use serde::{Deserialize, Serialize};

use super::audit;
use super::finding::keys_outside_the_index;
use super::keys::{self, GATE_SHARDS, Key, Partition, TaskPartition};
use super::list::Range;
use super::tasks::Task;
use super::{CommitError, Item, Owner, Paging, Store, StoreError, Transaction, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{Candidate, Member, Mode, NamedOrganization, Tenant};

/// What is kept of a deleted organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedOrganization {
    /// The organization.
    pub id: Id,
    /// When it was deleted.
    pub deleted_at: Timestamp,
}

/// The number of items that one transaction deletes.
const BATCH: u32 = 100;
/// The maximum number of attempts at a transaction. It may conflict with requests that are still in progress.
const ATTEMPTS: usize = 10;

impl Store {
    /// What is kept of a deleted organization.
    pub async fn find_deleted_organization(&self, id: Id) -> Result<Option<DeletedOrganization>, StoreError> {
        self.read(keys::deleted_organization(id)).await?.map(item::read).transpose()
    }

    /// Deletes the data of an organization in both modes, except the organization itself. Returns the number of
    /// deleted items, which is 0 if there was nothing left.
    pub async fn delete_organization_data(
        &self,
        organization: Id,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut deleted = 0;
        for mode in Mode::ALL {
            let mut deletion = Deletion { store: self, tenant: Tenant { organization, mode }, deleted: 0 };
            deletion.delete_all().await?;
            Box::pin(deletion.delete_audit_log(now)).await?;
            deleted += deletion.deleted;
        }
        Ok(deleted)
    }

    /// Deletes the organization itself, whose data must be deleted already.
    pub async fn delete_organization(
        &self,
        modes: &[NamedOrganization; 2],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let id = modes[0].organization.id;
        let mut transaction = Transaction::new(modes[0].organization.tenant());
        for NamedOrganization { organization, .. } in modes {
            let tenant = organization.tenant();
            transaction.delete(keys::gate(tenant));
            transaction.delete(keys::profile(tenant));
            for shard in 0..GATE_SHARDS {
                transaction.delete(keys::gate_shard(tenant, shard));
            }
            transaction.delete(keys::organization_slug(&organization.slug));
        }
        transaction.delete(keys::registered(keys::registry_shard(id), id));
        let tombstone = DeletedOrganization { id, deleted_at: now };
        transaction.put(item::write(&tombstone, keys::deleted_organization(id), None)?)?;
        self.commit_deletion(&transaction).await
    }

    async fn commit_deletion(&self, transaction: &Transaction) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            // Many deletions contain this large future. Without the box, their frames would overflow a thread's stack.
            match Box::pin(self.commit(transaction.clone())).await {
                Ok(()) => return Ok(()),
                Err(CommitError::Store(error)) => return Err(error),
                Err(_) => {}
            }
        }
        Err(StoreError::Unavailable("write conflicts persisted".to_owned()))
    }
}

/// The deletion of a tenant's data.
pub(super) struct Deletion<'s> {
    pub(super) store: &'s Store,
    pub(super) tenant: Tenant,
    pub(super) deleted: u64,
}

impl Deletion<'_> {
    async fn delete_all(&mut self) -> Result<(), StoreError> {
        self.delete_tasks().await?;
        self.delete_outbox().await?;
        for partition in self.store.partitions_of(Owner::Tenant, self.tenant, None) {
            loop {
                // Each item may lead to one more.
                let (items, _) = self.store.query(&partition, BATCH / 2, Range::Before(None)).await?;
                if items.is_empty() {
                    break;
                }
                let mut found = items.iter().map(Key::of).collect::<Result<Vec<_>, _>>()?;
                for item in items {
                    found.extend(Box::pin(self.delete_owned(item)).await?);
                }
                self.delete_keys(found).await?;
            }
        }
        Ok(())
    }

    /// Deletes what belongs to the owner that an item leads to. Returns the key of what is deleted together with the item.
    async fn delete_owned(&mut self, item: Item) -> Result<Option<Key>, StoreError> {
        let Some((kind, owner)) =
            self.store.kind_of(&item).ok().and_then(|kind| Some((kind, kind.leads_to?)))
        else {
            return Ok(None);
        };
        let (tenant, id) = (self.tenant, Key::of(&item)?.id()?);
        if owner == Owner::Candidate {
            // The screens of an erased candidate may already be out of the lists.
            for screen in self.store.list_screens_to_erase(tenant, id).await? {
                self.delete_partition(&keys::screen_partition(tenant, screen)).await?;
            }
        }
        if matches!(kind.name, "candidate" | "unfinished_candidate") {
            self.delete_candidate(&item::read(item.clone())?).await?;
        }
        self.delete_owned_by(owner, id).await?;
        Ok(match owner {
            Owner::Endpoint => Some(keys::endpoint_progress(tenant, id)),
            Owner::Member => {
                let member: Member = item::read(item)?;
                (!member.is_invited()).then(|| keys::claim_of(tenant.organization, &member))
            }
            _ => None,
        })
    }

    /// Deletes a candidate's own partition. What is found through the record is deleted in the same transaction as the record,
    /// which comes first in the partition.
    async fn delete_candidate(&mut self, candidate: &Candidate) -> Result<(), StoreError> {
        let partition = keys::candidate_partition(self.tenant, candidate.id);
        let mut found = keys_outside_the_index(self.tenant, candidate);
        found.extend(candidate.profile.email.iter().map(|email| keys::email(self.tenant, email)));
        loop {
            let (items, _) = self.store.query(&partition, BATCH / 2, Range::Before(None)).await?;
            if items.is_empty() {
                return Ok(());
            }
            found.extend(items.iter().map(Key::of).collect::<Result<Vec<_>, _>>()?);
            self.delete_keys(std::mem::take(&mut found)).await?;
        }
    }

    /// Deletes the audit log: the partitions of all days since the organization was created.
    async fn delete_audit_log(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let Some(organization) = self.store.find_organization(self.tenant).await? else { return Ok(()) };
        for partition in audit::partitions(self.tenant, organization.created_at, now) {
            self.delete_partition(&partition).await?;
        }
        Ok(())
    }

    pub(super) async fn delete_owned_by(&mut self, owner: Owner, id: Id) -> Result<(), StoreError> {
        for partition in self.store.partitions_of(owner, self.tenant, Some(id)) {
            self.delete_partition(&partition).await?;
        }
        Ok(())
    }

    /// Deletes the tenant's tasks, which are among those of other tenants.
    async fn delete_tasks(&mut self) -> Result<(), StoreError> {
        for partition in TaskPartition::of(self.tenant) {
            let mut page = Paging { limit: BATCH, before: None };
            loop {
                let listed = self.store.read_page::<Task>(&partition.tasks(), &page).await?;
                let tasks = listed.items.into_iter().filter(|task| task.tenant() == self.tenant);
                self.delete_keys(tasks.map(|task| task.key()).collect()).await?;
                page.before = listed.next;
                if page.before.is_none() {
                    break;
                }
            }
        }
        Box::pin(self.store.forget_quarantined(self.tenant, None)).await
    }

    /// Deletes the tenant's changes that are not in the feed yet, which are among those of other tenants.
    async fn delete_outbox(&mut self) -> Result<(), StoreError> {
        loop {
            // As many of each of two partitions.
            let items = self.store.read_outbox_items(self.tenant, BATCH / 2).await?;
            if items.is_empty() {
                return Ok(());
            }
            self.delete_items(&items).await?;
        }
    }

    pub(super) async fn delete_partition(&mut self, partition: &Partition) -> Result<(), StoreError> {
        loop {
            let (items, _) = self.store.query(partition, BATCH, Range::Before(None)).await?;
            if items.is_empty() {
                return Ok(());
            }
            self.delete_items(&items).await?;
        }
    }

    async fn delete_items(&mut self, items: &[Item]) -> Result<(), StoreError> {
        self.delete_keys(items.iter().map(Key::of).collect::<Result<_, _>>()?).await
    }

    /// Deletes up to [`BATCH`] items.
    pub(super) async fn delete_keys(&mut self, keys: Vec<Key>) -> Result<(), StoreError> {
        if keys.is_empty() {
            return Ok(());
        }
        self.deleted += keys.len() as u64;
        let mut transaction = Transaction::new(self.tenant);
        for key in keys {
            transaction.delete(key);
        }
        self.store.commit_deletion(&transaction).await
    }
}
