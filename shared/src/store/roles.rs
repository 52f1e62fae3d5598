//! Roles, their counters, and writes of a role together with its posting.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;

use super::applications::{ever, now, stays};
use super::changes::Changes;
use super::item::number;
use super::keys::{ROLE_STATUS, ROLE_VERSION};
use super::tasks::Task;
use super::transaction::RoleCondition;
use super::{Item, Listed, MAX_BATCH, Paging, Store, StoreError, Transaction, item, keys, recording};
use crate::id::Id;
use crate::model::{
    Opening, Posting, Role, RoleAndPosting, RoleStats, RoleStatus, Slug, Stage, StageCount, StageStats,
    TaskKind, Tenant,
};

impl Transaction {
    /// Inserts a role without a posting, with its counters at 0.
    pub fn insert_role(&mut self, role: &Role) -> Result<(), StoreError> {
        self.insert(role_item(self.tenant, role)?);
        self.record([recording::new_role(role)]);
        let mut stats = item::write(&RoleStats::default(), keys::role_stats(self.tenant, role.id), None)?;
        stats.extend(kept_of(role));
        self.insert(stats);
        Ok(())
    }

    /// Inserts a role together with its posting, whose slug is the `number`-th variant of `base`.
    pub fn insert_role_and_posting(
        &mut self,
        role: &Role,
        posting: &Posting,
        base: &Slug,
        number: u64,
    ) -> Result<(), StoreError> {
        self.insert_role(role)?;
        self.insert_posting_item(posting, base, number)?;
        self.replace_opening(None, Opening::of(role, posting).as_ref())
    }

    /// Inserts the posting of a stored role. `role` is the role with the link to its posting. The posting's slug is the
    /// `number`-th variant of `base`.
    pub fn insert_posting(
        &mut self,
        before: &Role,
        role: &Role,
        posting: &Posting,
        base: &Slug,
        number: u64,
    ) -> Result<(), StoreError> {
        self.replace(&role_item(self.tenant, before)?, &role_item(self.tenant, role)?)?;
        self.record(recording::role_changes(before, role));
        self.insert_posting_item(posting, base, number)?;
        self.replace_opening(None, Opening::of(role, posting).as_ref())
    }

    /// Replaces a role, its posting, or both. Writes nothing if neither has changed. If only one has changed, the other
    /// must not change before the commit, because the opening on the career page depends on both.
    pub fn replace_role(
        &mut self,
        before: &RoleAndPosting,
        after: &RoleAndPosting,
    ) -> Result<(), StoreError> {
        if after == before {
            return Ok(());
        }
        if after.role == before.role {
            self.require_role(&before.role);
        } else {
            self.replace(&role_item(self.tenant, &before.role)?, &role_item(self.tenant, &after.role)?)?;
            self.record(recording::role_changes(&before.role, &after.role));
            self.keep_role(&before.role, &after.role);
            self.put_role_task(&before.role, &after.role)?;
        }
        match (&before.posting, &after.posting) {
            (None, None) => {}
            (Some(old), Some(new)) if old == new => self.require_posting(old),
            (Some(old), Some(new)) => self.replace_posting_item(old, new)?,
            _ => return Err(StoreError::Internal("a replacement cannot add or remove a posting".to_owned())),
        }
        self.replace_opening(before.opening().as_ref(), after.opening().as_ref())
    }

    /// Keeps what transactions require of a role with its counters, if that changes.
    fn keep_role(&mut self, before: &Role, after: &Role) {
        if before.status != after.status || before.content.title != after.content.title {
            let changes = Changes::to_attributes(kept_of(after));
            self.change_existing(keys::role_stats(self.tenant, after.id), changes);
        }
    }

    /// Adds a task that updates the applications' copies of the role, if they depend on the change.
    fn put_role_task(&mut self, before: &Role, after: &Role) -> Result<(), StoreError> {
        let is_closed = |role: &Role| role.status == RoleStatus::Closed;
        if is_closed(before) != is_closed(after) || before.content.title != after.content.title {
            self.put(Task::new(self.tenant, TaskKind::Role, after.id, after.updated_at).item()?)?;
        }
        Ok(())
    }

    /// Requires that the role does not change before the commit.
    pub fn require_role(&mut self, role: &Role) {
        self.require(keys::role(self.tenant, role.id), role.version);
    }

    /// Requires that the status and the title of the role do not change before the commit. What changes the role's counters is
    /// added before.
    pub fn require_role_state(&mut self, role: &Role) {
        self.require_of_role(role.id, RoleCondition::SameSince(role.version));
    }
}

/// What the item with a role's counters keeps of the role.
pub(super) fn kept_of(role: &Role) -> [(String, AttributeValue); 2] {
    let status = AttributeValue::S(role.status.as_str().to_owned());
    [(ROLE_STATUS.to_owned(), status), (ROLE_VERSION.to_owned(), number(role.version))]
}

pub(super) fn read_stats(item: Item) -> Result<RoleStats, StoreError> {
    let stages = Stage::ALL.map(|stage| {
        let stays = (0..=StageCount::MAX_DAYS).map(|days| (days, item::count(&item, &stays(stage, days))));
        StageStats {
            now: item::count(&item, &now(stage)),
            ever: item::count(&item, &ever(stage)),
            stays: stays.filter(|(_, count)| *count > 0).collect(),
        }
    });
    Ok(RoleStats { stages, ..item::read(item)? })
}

fn role_item(tenant: Tenant, role: &Role) -> Result<Item, StoreError> {
    item::write(role, keys::role(tenant, role.id), Some(keys::role_filter(tenant, role.status)))
}

impl Store {
    /// The role, if the tenant has it.
    pub async fn find_role(&self, tenant: Tenant, id: Id) -> Result<Option<Role>, StoreError> {
        self.read(keys::role(tenant, id)).await?.map(item::read).transpose()
    }

    /// The role and its posting, if the tenant has the role. If one of them changes between the two reads, a later
    /// replacement fails, because it requires the versions of both.
    pub async fn find_role_and_posting(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<RoleAndPosting>, StoreError> {
        let (role, posting) = (keys::role(tenant, id), keys::role_posting(tenant, id));
        let mut items = self.read_many([role.clone(), posting.clone()]).await?;
        let Some(role) = role.take_from(&mut items) else { return Ok(None) };
        let posting = posting.take_from(&mut items).map(item::read).transpose()?;
        Ok(Some(RoleAndPosting { role: item::read(role)?, posting }))
    }

    /// The role and its counters, if the tenant has the role.
    pub async fn find_role_and_stats(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<(Role, RoleStats)>, StoreError> {
        let (role, stats) = (keys::role(tenant, id), keys::role_stats(tenant, id));
        let mut items = self.read_many([role.clone(), stats.clone()]).await?;
        let Some(role) = role.take_from(&mut items) else { return Ok(None) };
        let stats = stats.take_from(&mut items).map(read_stats).transpose()?.unwrap_or_default();
        Ok(Some((item::read(role)?, stats)))
    }

    /// The counters of up to 100 roles, by the role's identifier. Omits roles that the tenant does not have, and counters
    /// that cannot be read.
    pub async fn find_roles_stats(
        &self,
        tenant: Tenant,
        roles: impl IntoIterator<Item = Id>,
    ) -> Result<HashMap<Id, RoleStats>, StoreError> {
        let keys: Vec<_> = roles.into_iter().map(|id| (id, keys::role_stats(tenant, id))).collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let mut items = self.read_many(keys.iter().map(|(_, key)| key.clone())).await?;
        let stats = keys.into_iter().filter_map(|(id, key)| Some((id, key.take_from(&mut items)?)));
        Ok(stats.filter_map(|(id, stats)| Some((id, read_stats(stats).ok()?))).collect())
    }

    /// The roles with these identifiers. Omits roles that the tenant does not have, and those that cannot be read.
    pub async fn find_roles(
        &self,
        tenant: Tenant,
        ids: impl IntoIterator<Item = Id>,
    ) -> Result<HashMap<Id, Role>, StoreError> {
        // DynamoDB rejects a batch with the same key twice.
        let ids: BTreeSet<_> = ids.into_iter().collect();
        let keys: Vec<_> = ids.into_iter().map(|id| keys::role(tenant, id)).collect();
        let mut roles = HashMap::new();
        for batch in keys.chunks(MAX_BATCH) {
            for role in self.read_many(batch.iter().cloned()).await? {
                roles.extend(item::read_listed::<Role>(role).map(|role| (role.id, role)));
            }
        }
        Ok(roles)
    }

    /// The roles that these postings follow, by the role's identifier.
    pub async fn find_followed_roles(
        &self,
        tenant: Tenant,
        postings: &[Posting],
    ) -> Result<HashMap<Id, Role>, StoreError> {
        let following = postings.iter().filter(|posting| posting.content.follows_role());
        self.find_roles(tenant, following.map(|posting| posting.role_id)).await
    }

    /// A page of the tenant's roles, newest first: all, or those in one status.
    pub async fn list_roles(
        &self,
        tenant: Tenant,
        status: Option<RoleStatus>,
        page: &Paging,
    ) -> Result<Listed<Role>, StoreError> {
        self.read_page(&keys::roles(tenant, status), page).await
    }
}
