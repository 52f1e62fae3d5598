//! Roles and their counters.

use std::collections::{BTreeSet, HashMap};

use super::keys::{self};
use super::{Failure, Listed, MAX_KEYS, Page, Store, Writes, item};
use crate::id::Id;
use crate::model::{Role, RoleStats, RoleStatus, Tenant, Title};

impl Writes {
    /// A new role, with its counters at 0.
    pub fn insert_role(&mut self, role: &Role) -> Result<(), Failure> {
        self.insert(role_item(self.tenant, role)?);
        self.insert(item::write(&RoleStats::default(), keys::role_stats(self.tenant, role.id), None)?);
        Ok(())
    }

    /// A role in place of the version that it was made from.
    pub fn replace_role(&mut self, role: &Role) -> Result<(), Failure> {
        self.replace(role_item(self.tenant, role)?, role.version);
        Ok(())
    }

    /// The role must still be as it was read.
    pub fn require_role(&mut self, role: &Role) {
        self.require(keys::role(self.tenant, role.id), role.version);
    }
}

fn role_item(tenant: Tenant, role: &Role) -> Result<super::Item, Failure> {
    item::write(role, keys::role(tenant, role.id), Some(keys::role_filter(tenant, role.status)))
}

impl Store {
    /// The role, if the tenant has it.
    pub async fn find_role(&self, tenant: Tenant, id: Id) -> Result<Option<Role>, Failure> {
        self.read(keys::role(tenant, id)).await?.map(item::read).transpose()
    }

    /// The role's counters, if the tenant has the role.
    pub async fn find_role_stats(&self, tenant: Tenant, role: Id) -> Result<Option<RoleStats>, Failure> {
        self.read(keys::role_stats(tenant, role)).await?.map(item::read).transpose()
    }

    /// The counters of those of these roles, at most 100, that the tenant has.
    pub async fn find_roles_stats(
        &self,
        tenant: Tenant,
        roles: impl IntoIterator<Item = Id>,
    ) -> Result<HashMap<Id, RoleStats>, Failure> {
        let wanted: Vec<_> = roles.into_iter().map(|id| (id, keys::role_stats(tenant, id))).collect();
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let mut found = self.read_many(wanted.iter().map(|(_, key)| key.clone())).await?;
        let stats = wanted.into_iter().filter_map(|(id, key)| Some((id, key.take_from(&mut found)?)));
        stats.map(|(id, stats)| Ok((id, item::read(stats)?))).collect()
    }

    /// Roles' titles and statuses, of those that the tenant has.
    pub async fn find_role_titles(
        &self,
        tenant: Tenant,
        roles: impl IntoIterator<Item = Id>,
    ) -> Result<HashMap<Id, (Title, RoleStatus)>, Failure> {
        // DynamoDB takes no key of a batch twice.
        let wanted: BTreeSet<_> = roles.into_iter().collect();
        let wanted: Vec<_> = wanted.into_iter().map(|id| keys::role(tenant, id)).collect();
        let mut titles = HashMap::new();
        for batch in wanted.chunks(MAX_KEYS) {
            for role in self.read_many(batch.iter().cloned()).await? {
                let role: Role = item::read(role)?;
                titles.insert(role.id, (role.content.title, role.status));
            }
        }
        Ok(titles)
    }

    /// The tenant's roles, or those in one status, newest first.
    pub async fn list_roles(
        &self,
        tenant: Tenant,
        status: Option<RoleStatus>,
        page: &Page,
    ) -> Result<Listed<Role>, Failure> {
        self.page(&keys::roles(tenant, status), page).await
    }
}
