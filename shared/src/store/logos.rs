//! The logos of career sites. They are separate items, because every career page reads the site, but only the picture's
//! own route reads the picture.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

use super::organizations::EXISTS;
use super::recording::{Recorded, names};
use super::{Store, StoreError, Transaction, item, keys};
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Logo, LogoFormat, Organization, SubjectType, Tenant,
};

/// The attribute with the picture.
const CONTENT: &str = "content";

#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    format: LogoFormat,
}

impl Transaction {
    /// Replaces the logo of the organization's career site, or deletes it.
    pub fn put_logo(&mut self, organization: &Organization, logo: Option<Logo>) -> Result<(), StoreError> {
        self.audit(AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::CareerPage)));
        let hash = serde_dynamo::to_attribute_value(logo.as_ref().map(Logo::hash))
            .map_err(|error| StoreError::Internal(format!("a logo cannot be written: {error}")))?;
        let (attributes, values) = (vec![("#logo", "logo".to_owned())], vec![(":hash", hash)]);
        self.update(
            keys::organization_slug(&organization.slug),
            "SET #logo = :hash",
            EXISTS,
            attributes,
            values,
        );
        self.record([Recorded::setting(SubjectType::CareerPage).changing(names([("logo", true)]))]);
        let key = keys::logo(organization.tenant());
        match logo {
            Some(Logo { format, content }) => {
                let mut item = item::write(&Stored { format }, key, None)?;
                item.insert(CONTENT.to_owned(), AttributeValue::B(Blob::new(content)));
                self.overwrite(item);
            }
            None => self.delete(key),
        }
        Ok(())
    }
}

impl Store {
    /// The logo of the tenant's career site.
    pub async fn find_logo(&self, tenant: Tenant) -> Result<Option<Logo>, StoreError> {
        let Some(mut item) = self.read(keys::logo(tenant)).await? else { return Ok(None) };
        let Some(AttributeValue::B(content)) = item.remove(CONTENT) else {
            return Err(StoreError::Internal("a logo has no content".to_owned()));
        };
        let Stored { format } = item::read(item)?;
        Ok(Some(Logo { format, content: content.into_inner() }))
    }
}
