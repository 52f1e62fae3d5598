//! Job postings and their slugs.

use super::openings::posting_slug;
use super::{Listed, Paging, Store, StoreError, Transaction, item, keys, recording};
use crate::id::Id;
use crate::model::{Posting, Role, Slug, Tenant};

impl Transaction {
    /// Inserts a posting and claims its slug, the `number`-th variant of `base`.
    pub(super) fn insert_posting_item(
        &mut self,
        posting: &Posting,
        base: &Slug,
        number: u64,
    ) -> Result<(), StoreError> {
        self.insert(posting_item(self.tenant, posting)?);
        self.record([recording::new_posting(posting)]);
        self.put_role_posting(posting)?;
        self.insert_slug(posting_slug(self.tenant, posting)?, number);
        if number > 1 {
            self.raise_slug(keys::posting_slug(self.tenant, base), number);
        }
        Ok(())
    }

    /// Replaces a posting, each version with its role.
    pub(super) fn replace_posting_item(
        &mut self,
        (before, old_role): (&Posting, &Role),
        (after, role): (&Posting, &Role),
    ) -> Result<(), StoreError> {
        self.replace(&posting_item(self.tenant, before)?, &posting_item(self.tenant, after)?)?;
        let followed = after.content.followed(&old_role.content, &role.content);
        self.record(recording::posting_changes(before, after, followed));
        self.put_role_posting(after)
    }

    /// Writes the posting's copy that is read together with its role.
    pub(super) fn put_role_posting(&mut self, posting: &Posting) -> Result<(), StoreError> {
        self.put(item::write(posting, keys::role_posting(self.tenant, posting.role_id), None)?)
    }

    /// Requires that the posting does not change before the commit.
    pub(super) fn require_posting(&mut self, posting: &Posting) {
        self.require(keys::posting(self.tenant, posting.id), posting.version);
    }
}

fn posting_item(tenant: Tenant, posting: &Posting) -> Result<super::Item, StoreError> {
    let filter = keys::posting_filter(tenant, posting.published);
    item::write(posting, keys::posting(tenant, posting.id), Some(filter))
}

impl Store {
    /// The last number that was assigned to a posting's slug; 0 if the slug is not taken.
    pub async fn find_last_slug_number(&self, tenant: Tenant, slug: &Slug) -> Result<u64, StoreError> {
        let claim = self.read(keys::posting_slug(tenant, slug)).await?;
        Ok(claim.map_or(0, |claim| item::count(&claim, "last")))
    }

    /// The posting, if the tenant has it.
    pub async fn find_posting(&self, tenant: Tenant, id: Id) -> Result<Option<Posting>, StoreError> {
        self.read(keys::posting(tenant, id)).await?.map(item::read).transpose()
    }

    /// A page of the tenant's postings, newest first: all, or only published or unpublished postings.
    pub async fn list_postings(
        &self,
        tenant: Tenant,
        published: Option<bool>,
        page: &Paging,
    ) -> Result<Listed<Posting>, StoreError> {
        self.read_page(&keys::postings(tenant, published), page).await
    }
}
