//! An organization's list of the reasons for which applications end.

use super::recording::Recorded;
use super::{Store, StoreError, Transaction, item, keys};
use crate::model::{AuditAction, AuditTarget, AuditTargetKind, RejectionReasons, SubjectType, Tenant};

impl Transaction {
    /// Replaces the list.
    pub fn replace_rejection_reasons(
        &mut self,
        before: &RejectionReasons,
        after: &RejectionReasons,
    ) -> Result<(), StoreError> {
        let item = |reasons| item::write(reasons, keys::rejection_reasons(self.tenant), None);
        match before.version {
            0 => self.insert(item(after)?),
            _ => self.replace(&item(before)?, &item(after)?)?,
        }
        self.audit(AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::RejectionReasons)));
        self.record([Recorded::setting(SubjectType::RejectionReasons)]);
        Ok(())
    }
}

impl Store {
    /// The tenant's list; the one that every organization begins with, if nobody has replaced it.
    pub async fn get_rejection_reasons(&self, tenant: Tenant) -> Result<RejectionReasons, StoreError> {
        let item = self.read(keys::rejection_reasons(tenant)).await?;
        Ok(item.map(item::read).transpose()?.unwrap_or_default())
    }
}
