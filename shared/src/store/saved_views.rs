//! Lists of candidates that a team has saved under a name.

use super::{Store, StoreError, Transaction, item, keys};
use crate::model::{SavedViews, Tenant};

impl Transaction {
    /// Replaces the saved lists.
    pub fn replace_views(&mut self, before: &SavedViews, after: &SavedViews) -> Result<(), StoreError> {
        let item = |views| item::write(views, keys::saved_views(self.tenant), None);
        match before.version {
            0 => self.insert(item(after)?),
            _ => self.replace(&item(before)?, &item(after)?)?,
        }
        Ok(())
    }
}

impl Store {
    /// The tenant's saved lists.
    pub async fn list_views(&self, tenant: Tenant) -> Result<SavedViews, StoreError> {
        let item = self.read(keys::saved_views(tenant)).await?;
        Ok(item.map(item::read).transpose()?.unwrap_or_default())
    }
}
