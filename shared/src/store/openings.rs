//! Openings, and the career sites that list them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::list::Range;
use super::organizations::Profile;
use super::transaction::SlugClaim;
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item, keys};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{CareerSite, Opening, OrganizationSettings, Posting, Role, Slug, Tenant};

/// The start and the limits of a search of the openings.
#[derive(Clone, Debug)]
pub struct Search {
    /// Only openings that sort before this position.
    pub before: Option<String>,
    /// The maximum number of openings to return.
    pub limit: usize,
    /// The maximum number of megabytes to read. Each takes one call.
    pub megabytes: usize,
}

/// The posting that has a slug, and its role.
#[derive(Clone, Copy, Debug)]
pub struct PostedUnder {
    posting: Id,
    role: Id,
}

/// A posting's claim on its slug. It identifies the posting and its role.
#[derive(Serialize, Deserialize)]
pub(super) struct PostingSlug {
    #[serde(flatten)]
    pub(super) claim: SlugClaim,
    pub(super) role_id: Id,
}

impl Transaction {
    /// Replaces the opening of a role's posting. Other writes in the transaction guard the role and the posting.
    pub(super) fn replace_opening(
        &mut self,
        before: Option<&Opening>,
        after: Option<&Opening>,
    ) -> Result<(), StoreError> {
        let key = |opening: &Opening| keys::opening(self.tenant, opening.since, opening.id);
        let (old, new) = (before.map(key), after.map(key));
        if let Some(old) = old.filter(|old| new.as_ref() != Some(old)) {
            self.delete(old);
        }
        match after.filter(|after| before != Some(after)) {
            Some(after) => self.put_opening(after),
            None => Ok(()),
        }
    }

    /// Adds an opening to the career page's list. The methods that write roles and postings already do this.
    pub fn put_opening(&mut self, opening: &Opening) -> Result<(), StoreError> {
        let key = keys::opening(self.tenant, opening.since, opening.id);
        self.put(item::write(opening, key, None)?)
    }
}

impl Store {
    /// The career site with this slug.
    pub async fn find_career_site(&self, slug: &Slug) -> Result<Option<CareerSite>, StoreError> {
        self.read(keys::organization_slug(slug)).await?.map(item::read).transpose()
    }

    /// What has this slug.
    pub async fn find_posted_under(
        &self,
        tenant: Tenant,
        slug: &Slug,
    ) -> Result<Option<PostedUnder>, StoreError> {
        let slug: Option<PostingSlug> =
            self.read(keys::posting_slug(tenant, slug)).await?.map(item::read).transpose()?;
        Ok(slug.map(|PostingSlug { claim, role_id }| PostedUnder { posting: claim.id, role: role_id }))
    }

    /// The posting with a slug, its role, and the settings of the organization.
    pub async fn find_posted(
        &self,
        tenant: Tenant,
        PostedUnder { posting, role }: PostedUnder,
    ) -> Result<Option<(Posting, Role, OrganizationSettings)>, StoreError> {
        let (posting, role) = (keys::posting(tenant, posting), keys::role(tenant, role));
        let mut items = self.read_many([posting.clone(), role.clone(), keys::profile(tenant)]).await?;
        let settings = Profile::take_settings_from(&mut items, tenant)?;
        let pair = posting.take_from(&mut items).zip(role.take_from(&mut items));
        let pair = pair.and_then(|(posting, role)| item::read_listed(posting).zip(item::read_listed(role)));
        Ok(pair.map(|(posting, role)| (posting, role, settings)))
    }

    /// Up to 50 postings with their roles, by the posting's identifier. Omits pairs that the tenant does not have.
    pub async fn find_postings_and_roles(
        &self,
        tenant: Tenant,
        ids: impl IntoIterator<Item = (Id, Id)>,
    ) -> Result<HashMap<Id, (Posting, Role)>, StoreError> {
        let keys = ids
            .into_iter()
            .map(|(posting, role)| (posting, keys::posting(tenant, posting), keys::role(tenant, role)));
        let keys: Vec<_> = keys.collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let both = keys.iter().flat_map(|(_, posting, role)| [posting.clone(), role.clone()]);
        let mut items = self.read_many(both).await?;
        let mut pairs = HashMap::new();
        for (id, posting, role) in keys {
            if let (Some(posting), Some(role)) = (posting.take_from(&mut items), role.take_from(&mut items)) {
                pairs.extend(item::read_listed(posting).zip(item::read_listed(role)).map(|pair| (id, pair)));
            }
        }
        Ok(pairs)
    }

    /// A page of the tenant's openings, latest first, without those whose closing date is over.
    pub async fn list_openings(
        &self,
        tenant: Tenant,
        page: &Paging,
        now: Timestamp,
    ) -> Result<Listed<Opening>, StoreError> {
        let mut listed: Listed<Opening> = self.read_page(&keys::openings(tenant), page).await?;
        // A task removes them soon.
        listed.items.retain(|opening| !opening.is_over(now));
        Ok(listed)
    }

    /// The openings that match, latest first, without those whose closing date is over. `next` is the position where the search continues, or `None` if all
    /// openings were read.
    pub async fn search_openings(
        &self,
        tenant: Tenant,
        search: Search,
        now: Timestamp,
        matches: impl Fn(&Opening) -> bool,
    ) -> Result<Listed<Opening>, StoreError> {
        let Search { mut before, limit, megabytes } = search;
        let mut items = Vec::new();
        for _ in 0..megabytes {
            let (read, next) =
                self.query(&keys::openings(tenant), u32::MAX, Range::Before(before.as_deref())).await?;
            for opening in read {
                let Some(opening) = item::read_listed::<Opening>(opening) else { continue };
                if opening.is_over(now) || !matches(&opening) {
                    continue;
                }
                if items.len() == limit {
                    let next = items.last().map(|last: &Opening| opening_position(last.since, last.id));
                    return Ok(Listed { items, next });
                }
                items.push(opening);
            }
            before = next;
            if before.is_none() {
                break;
            }
        }
        Ok(Listed { items, next: before })
    }
}

/// The position of an opening in the list.
pub fn opening_position(since: Timestamp, id: Id) -> String {
    keys::opening_position(since, id)
}

/// The item of a posting's claim on its slug.
pub(super) fn posting_slug(tenant: Tenant, posting: &Posting) -> Result<Item, StoreError> {
    let claim = PostingSlug { claim: SlugClaim { id: posting.id, last: 1 }, role_id: posting.role_id };
    item::write(&claim, keys::posting_slug(tenant, &posting.slug), None)
}
