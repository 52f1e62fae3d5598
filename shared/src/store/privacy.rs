//! The organizations' own texts on their privacy pages. They are separate items, because all career pages read the career
//! site, but only the privacy page shows the text.

use serde::{Deserialize, Serialize};

use super::organizations::Profile;
use super::recording::Recorded;
use super::{Store, StoreError, Transaction, item, keys};
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, OrganizationSettings, PrivacyText, SubjectType, Tenant,
};

#[derive(Serialize, Deserialize)]
pub(super) struct Privacy {
    text: PrivacyText,
}

impl Transaction {
    /// Replaces the organization's privacy text, or deletes it.
    pub fn put_privacy_text(&mut self, text: Option<PrivacyText>) -> Result<(), StoreError> {
        self.audit(AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::PrivacyText)));
        let key = keys::privacy_text(self.tenant);
        match text {
            Some(text) => self.put(item::write(&Privacy { text }, key, None)?)?,
            None => self.delete(key),
        }
        self.record([Recorded::setting(SubjectType::PrivacyText)]);
        Ok(())
    }
}

impl Store {
    /// The organization's privacy text.
    pub async fn find_privacy_text(&self, tenant: Tenant) -> Result<Option<PrivacyText>, StoreError> {
        let found = self.read(keys::privacy_text(tenant)).await?.map(item::read::<Privacy>).transpose()?;
        Ok(found.map(|privacy| privacy.text))
    }

    /// The organization's privacy text, and its settings.
    pub async fn find_privacy_text_and_settings(
        &self,
        tenant: Tenant,
    ) -> Result<(Option<PrivacyText>, OrganizationSettings), StoreError> {
        let mut items = self.read_many([keys::privacy_text(tenant), keys::profile(tenant)]).await?;
        let settings = Profile::take_settings_from(&mut items, tenant)?;
        let found =
            keys::privacy_text(tenant).take_from(&mut items).map(item::read::<Privacy>).transpose()?;
        Ok((found.map(|privacy| privacy.text), settings))
    }
}
