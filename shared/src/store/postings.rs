//! Job postings and the slugs that they hold.

use super::keys::{self};
use super::openings::posting_slug;
use super::{Failure, Listed, Page, Store, Writes, item};
use crate::id::Id;
use crate::model::{Posting, Slug, Tenant};

impl Writes {
    /// A new posting and its claim on its slug: the `number`-th bearer of `base`.
    pub fn insert_posting(&mut self, posting: &Posting, base: &Slug, number: u64) -> Result<(), Failure> {
        self.insert(posting_item(self.tenant, posting)?);
        self.insert_slug(posting_slug(self.tenant, posting)?, number);
        if number > 1 {
            self.raise_slug(keys::posting_slug(self.tenant, base), number);
        }
        Ok(())
    }

    /// A posting in place of the version that it was made from.
    pub fn replace_posting(&mut self, posting: &Posting) -> Result<(), Failure> {
        self.replace(posting_item(self.tenant, posting)?, posting.version);
        Ok(())
    }

    /// The posting must still be as it was read.
    pub fn require_posting(&mut self, posting: &Posting) {
        self.require(keys::posting(self.tenant, posting.id), posting.version);
    }
}

fn posting_item(tenant: Tenant, posting: &Posting) -> Result<super::Item, Failure> {
    let filter = keys::posting_filter(tenant, posting.published);
    item::write(posting, keys::posting(tenant, posting.id), Some(filter))
}

impl Store {
    /// The posting, if the tenant has it.
    pub async fn find_posting(&self, tenant: Tenant, id: Id) -> Result<Option<Posting>, Failure> {
        self.read(keys::posting(tenant, id)).await?.map(item::read).transpose()
    }

    /// The tenant's postings, or those that are (or aren't) published, newest first.
    pub async fn list_postings(
        &self,
        tenant: Tenant,
        published: Option<bool>,
        page: &Page,
    ) -> Result<Listed<Posting>, Failure> {
        self.page(&keys::postings(tenant, published), page).await
    }
}
