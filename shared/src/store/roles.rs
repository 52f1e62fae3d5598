//! Roles, their counters, and writes of a role together with its posting.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::applications::{SCREENED, ever, now, read_rejections, stays};
use super::changes::Changes;
use super::finding::Reference;
use super::item::number;
use super::tasks::Task;
use super::transaction::RoleCondition;
use super::{
    Item, Listed, MAX_BATCH, Paging, Store, StoreError, Transaction, UniqueField, item, keys, recording,
};
use crate::id::Id;
use crate::model::{
    ExternalId, Opening, Posting, Role, RoleAndPosting, RoleCopy, RoleStats, RoleStatus, Slug, Stage,
    StageCount, StageStats, TaskKind, Tenant, Title,
};

impl Transaction {
    /// Inserts a role without a posting, with its counters at 0.
    pub fn insert_role(&mut self, role: &Role) -> Result<(), StoreError> {
        self.insert(role_item(self.tenant, role)?);
        self.record([recording::new_role(role)]);
        self.claim_external_id(None, role)?;
        self.put_closing_task(None, role)?;
        let mut stats = item::write(&RoleStats::default(), keys::role_stats(self.tenant, role.id), None)?;
        stats.extend(Kept::of(role).attributes()?);
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
            self.claim_external_id(Some(&before.role), &after.role)?;
            self.put_closing_task(Some(&before.role), &after.role)?;
            self.follow_role(before, &after.role)?;
        }
        match (&before.posting, &after.posting) {
            (None, None) => {}
            (Some(old), Some(new)) if old == new => self.require_posting(old),
            (Some(old), Some(new)) => {
                self.replace_posting_item((old, &before.role), (new, &after.role))?;
            }
            _ => return Err(StoreError::Internal("a replacement cannot add or remove a posting".to_owned())),
        }
        self.replace_opening(before.opening().as_ref(), after.opening().as_ref())
    }

    /// Adds the task that unpublishes the role's posting, if the closing date is a new one. The task of an earlier date finds that
    /// it is not the role's any more.
    fn put_closing_task(&mut self, before: Option<&Role>, after: &Role) -> Result<(), StoreError> {
        match after.closes_at.filter(|_| before.is_none_or(|before| before.closes_at != after.closes_at)) {
            Some(due) => self.put(Task::new(self.tenant, TaskKind::Closing, after.id, due).item()?),
            None => Ok(()),
        }
    }

    /// Claims a role's external id, and gives back the one that it had.
    fn claim_external_id(&mut self, before: Option<&Role>, after: &Role) -> Result<(), StoreError> {
        let old = before.and_then(|before| before.content.external_id.as_ref());
        let new = after.content.external_id.as_ref();
        if old == new {
            return Ok(());
        }
        if let Some(new) = new {
            let key = keys::role_external_id(self.tenant, new);
            let claim = item::write(&Reference { id: after.id }, key, None)?;
            self.insert_claim(UniqueField::RoleExternalId, claim);
        }
        if let Some(old) = old {
            self.delete(keys::role_external_id(self.tenant, old));
        }
        Ok(())
    }

    /// Writes what follows from a change of a role's status or title: what its counters keep of it, and if copies in
    /// applications depend on the change, the change and the task that updates them. If the role is closed or reopened, the
    /// counters of all roles lose or get its active applications, whose numbers must not change before the commit.
    fn follow_role(&mut self, before: &RoleAndPosting, after: &Role) -> Result<(), StoreError> {
        let is_closed = |role: &Role| role.status == RoleStatus::Closed;
        let (old, was_closed, is_closed) = (&before.role, is_closed(&before.role), is_closed(after));
        let is_renamed = old.content.title != after.content.title;
        if old.status == after.status && !is_renamed {
            return Ok(());
        }
        let kept = Kept::of(after).attributes()?;
        let mut conditions = vec!["attribute_exists(pk)".to_owned()];
        let (mut names, mut values) = (Vec::new(), Vec::new());
        if was_closed != is_closed {
            let missing = || StoreError::Internal("a role is closed without its counters".to_owned());
            let stats = before.stats.as_ref().ok_or_else(missing)?;
            for ((name, value), (attribute, count)) in COUNTS.into_iter().zip(waiting(stats)) {
                let absent =
                    if count == 0 { format!("attribute_not_exists({name}) OR ") } else { String::new() };
                conditions.push(format!("({absent}{name} = {value})"));
                names.push((name, attribute));
                values.push((value, number(i128::from(count))));
            }
            self.count_role(after.id, stats, if is_closed { -1 } else { 1 });
        }
        let changes = Changes::to_attributes(kept);
        self.change_if_stored(
            keys::role_stats(self.tenant, after.id),
            changes,
            conditions.join(" AND "),
            names,
            values,
        );
        if was_closed != is_closed || is_renamed {
            self.put_role_change(after)?;
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The status.
    #[serde(rename = "role_status")]
    status: RoleStatus,
    /// The title.
    #[serde(rename = "role_title")]
    title: Title,
    /// The version that last changed the status or the title.
    #[serde(rename = "role_version")]
    version: u64,
}

impl Kept {
    pub(super) fn of(role: &Role) -> Self {
        Self { status: role.status, title: role.content.title.clone(), version: role.version }
    }

    pub(super) fn attributes(&self) -> Result<Item, StoreError> {
        serde_dynamo::to_item(self)
            .map_err(|error| StoreError::Internal(format!("an item cannot be written: {error}")))
    }

    /// Whether this can be kept of a role.
    pub(super) fn is_of(&self, role: &Role) -> bool {
        self.status == role.status
            && self.title == role.content.title
            && (1..=role.version).contains(&self.version)
    }
}

/// The placeholders of the numbers of a role's waiting applications in a condition.
const COUNTS: [(&str, &str); 5] =
    [("#c0", ":c0"), ("#c1", ":c1"), ("#c2", ":c2"), ("#c3", ":c3"), ("#c4", ":c4")];

/// The numbers of a role that also count in those of all roles while the role is not closed, by their attributes.
fn waiting(stats: &RoleStats) -> [(String, u64); 5] {
    let [applied, screening, interview, offer] =
        Stage::OPEN.map(|stage| (now(stage), stats.stages[stage.rank()].now));
    [applied, screening, interview, offer, (SCREENED.to_owned(), stats.screened)]
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
    let rejections = read_rejections(&item);
    Ok(RoleStats { stages, rejections, ..item::read(item)? })
}

fn role_item(tenant: Tenant, role: &Role) -> Result<Item, StoreError> {
    if role.content.closes_on.is_some() != role.closes_at.is_some() {
        return Err(StoreError::Internal("the time of a role's closing date is not fixed".to_owned()));
    }
    item::write(role, keys::role(tenant, role.id), Some(keys::role_filter(tenant, role.status)))
}

impl Store {
    /// The role, if the tenant has it.
    pub async fn find_role(&self, tenant: Tenant, id: Id) -> Result<Option<Role>, StoreError> {
        self.read(keys::role(tenant, id)).await?.map(item::read).transpose()
    }

    /// The role with this external id, as a list of at most one.
    pub async fn find_role_by_external_id(
        &self,
        tenant: Tenant,
        external_id: &ExternalId,
    ) -> Result<Listed<Role>, StoreError> {
        let claim = self.read(keys::role_external_id(tenant, external_id)).await?;
        let role = match claim.map(item::read::<Reference>).transpose()? {
            Some(claim) => self.find_role(tenant, claim.id).await?,
            None => None,
        };
        Ok(Listed { items: role.into_iter().collect(), next: None })
    }

    /// The role with its posting and its counters, if the tenant has the role. If one of them changes between the reads, a later
    /// replacement fails, because it requires the versions of both, and of the counters what it depends on.
    pub async fn find_role_and_posting(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<RoleAndPosting>, StoreError> {
        let (role, posting) = (keys::role(tenant, id), keys::role_posting(tenant, id));
        let stats = keys::role_stats(tenant, id);
        let mut items = self.read_many([role.clone(), posting.clone(), stats.clone()]).await?;
        let Some(role) = role.take_from(&mut items) else { return Ok(None) };
        let posting = posting.take_from(&mut items).map(item::read).transpose()?;
        let stats = stats.take_from(&mut items).map(read_stats).transpose()?;
        Ok(Some(RoleAndPosting { role: item::read(role)?, posting, stats }))
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

    /// What lists of a role's applications show of the role, if the tenant has it.
    pub(super) async fn find_role_in_lists(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<RoleCopy>, StoreError> {
        let Some(stats) = self.read(keys::role_stats(tenant, id)).await? else { return Ok(None) };
        let Kept { status, title, version } = item::read(stats)?;
        let is_closed = status == RoleStatus::Closed;
        Ok(Some(RoleCopy { id, title, is_closed, version }))
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
