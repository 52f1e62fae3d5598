//! Openings and the career sites that list them: what candidates read.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::writes::SlugClaim;
use super::{Failure, Item, Listed, Page, Store, Writes, item, keys};
use crate::id::Id;
use crate::model::{CareerSite, Opening, Posting, Role, Slug, Tenant};

/// How much of the openings is searched.
#[derive(Clone, Debug)]
pub struct Search {
    /// Only what sorts before this position.
    pub before: Option<String>,
    /// At most this many are found.
    pub limit: usize,
    /// At most this many megabytes are read, each a call.
    pub megabytes: usize,
}

/// A posting's claim on its slug: where its page finds it.
#[derive(Serialize, Deserialize)]
pub(super) struct PostingSlug {
    #[serde(flatten)]
    pub(super) claim: SlugClaim,
    pub(super) role_id: Id,
}

impl Writes {
    /// The list's entry of a role's posting, as it was and as it is from now on. Both the role and the posting are
    /// guarded by other writes of the transaction.
    pub fn replace_opening(
        &mut self,
        before: Option<&Opening>,
        after: Option<&Opening>,
    ) -> Result<(), Failure> {
        let key = |opening: &Opening| keys::opening(self.tenant, opening.since, opening.id);
        let (old, new) = (before.map(key), after.map(key));
        if let Some(old) = old.filter(|old| new.as_ref() != Some(old)) {
            self.delete(old);
        }
        if let (Some(after), Some(new)) = (after.filter(|after| before != Some(after)), new) {
            self.put(item::write(after, new, None)?);
        }
        Ok(())
    }
}

impl Store {
    /// Whose career pages these are, if anybody's.
    pub async fn find_career_site(&self, slug: &Slug) -> Result<Option<CareerSite>, Failure> {
        self.read(keys::organization_slug(slug)).await?.map(item::read).transpose()
    }

    /// The posting at an address, and its role.
    pub async fn find_posting_by_slug(
        &self,
        tenant: Tenant,
        slug: &Slug,
    ) -> Result<Option<(Posting, Role)>, Failure> {
        let Some(found) = self.read(keys::posting_slug(tenant, slug)).await? else { return Ok(None) };
        let PostingSlug { claim, role_id } = item::read(found)?;
        let pairs = self.find_postings_and_roles(tenant, [(claim.id, role_id)]).await?;
        Ok(pairs.into_values().next())
    }

    /// Postings, by their identifiers, with their roles: at most 50, of those pairs that the tenant has.
    pub async fn find_postings_and_roles(
        &self,
        tenant: Tenant,
        wanted: impl IntoIterator<Item = (Id, Id)>,
    ) -> Result<HashMap<Id, (Posting, Role)>, Failure> {
        let keys = wanted
            .into_iter()
            .map(|(posting, role)| (posting, keys::posting(tenant, posting), keys::role(tenant, role)));
        let keys: Vec<_> = keys.collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let both = keys.iter().flat_map(|(_, posting, role)| [posting.clone(), role.clone()]);
        let mut found = self.read_many(both).await?;
        let mut pairs = HashMap::new();
        for (id, posting, role) in keys {
            if let (Some(posting), Some(role)) = (posting.take_from(&mut found), role.take_from(&mut found)) {
                pairs.insert(id, (item::read(posting)?, item::read(role)?));
            }
        }
        Ok(pairs)
    }

    /// The tenant's openings, the latest first.
    pub async fn list_openings(&self, tenant: Tenant, page: &Page) -> Result<Listed<Opening>, Failure> {
        self.page(&keys::openings(tenant), page).await
    }

    /// Those openings that match, the latest first, and where the search goes on unless all were read.
    pub async fn search_openings(
        &self,
        tenant: Tenant,
        search: Search,
        matches: impl Fn(&Opening) -> bool,
    ) -> Result<Listed<Opening>, Failure> {
        let Search { mut before, limit, megabytes } = search;
        let mut items = Vec::new();
        for _ in 0..megabytes {
            let (read, next) = self.query(&keys::openings(tenant), u32::MAX, before.as_deref()).await?;
            for found in read {
                let opening: Opening = item::read(found)?;
                if !matches(&opening) {
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

/// Where an opening stands in the list.
pub fn opening_position(since: Timestamp, id: Id) -> String {
    keys::opening_position(since, id)
}

/// The attributes of a posting's claim on its slug.
pub(super) fn posting_slug(tenant: Tenant, posting: &Posting) -> Result<Item, Failure> {
    let claim = PostingSlug { claim: SlugClaim { id: posting.id, last: 1 }, role_id: posting.role_id };
    item::write(&claim, keys::posting_slug(tenant, &posting.slug), None)
}
