//! Suspect forms: what applicants sent and nobody has accepted yet.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

use super::deletion::Deletion;
use super::item::number;
use super::keys::{self, EXPIRES_AT, Partition, STATUS_FILTER};
use super::list::Range;
use super::organizations::EXISTS;
use super::recording::{Recorded, names};
use super::{Listed, Paging, Store, StoreError, Transaction, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    ApplicationLimits, AuditAction, AuditTarget, AuditTargetKind, Email, Organization, SubjectType,
    SuspectFile, SuspectForm, Tenant,
};

/// Which suspect forms to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuspectSelection {
    /// Those of this network.
    pub network: Option<String>,
    /// Those that were received from this time on.
    pub from: Option<Timestamp>,
    /// Those that were received before this time.
    pub to: Option<Timestamp>,
}

/// A form whose ticket allows an upload.
#[derive(Serialize, Deserialize)]
pub(super) struct SuspectUpload {
    id: Id,
}

/// The attribute with the file.
const FILE: &str = "file";
/// The number of forms that one transaction discards.
// DynamoDB's limit.
pub const DISCARDED_AT_ONCE: u32 = 100;

impl Transaction {
    /// Inserts a suspect form.
    pub fn insert_suspect(&mut self, form: &SuspectForm) -> Result<(), StoreError> {
        let filter = keys::suspect_filter(self.tenant, &form.network);
        let mut item = item::write(form, keys::suspect_form(self.tenant, form.id), Some(filter))?;
        // An erasure finds the forms with the person's address.
        let with_email = keys::suspects_with_email(self.tenant, &form.content.email);
        item.insert(STATUS_FILTER.to_owned(), AttributeValue::S(with_email));
        item.insert(EXPIRES_AT.to_owned(), number(form.expires_at().as_second()));
        self.insert(item);
        Ok(())
    }

    /// Inserts the upload that the ticket with this hash allows until `until`, after a suspect form.
    pub fn insert_suspect_upload(
        &mut self,
        hash: &str,
        form: Id,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let key = keys::suspect_upload(self.tenant, hash);
        let mut item = item::write(&SuspectUpload { id: form }, key, None)?;
        item.insert(EXPIRES_AT.to_owned(), number(until.as_second()));
        self.insert(item);
        Ok(())
    }

    /// Adds an uploaded file to a suspect form, which must exist. The ticket is used up.
    pub fn add_suspect_file(&mut self, hash: &str, form: Id, file: SuspectFile) {
        self.update(
            keys::suspect_form(self.tenant, form),
            "SET #file = :file",
            "attribute_exists(pk)",
            vec![("#file", FILE.to_owned())],
            vec![(":file", AttributeValue::S(file.into()))],
        );
        self.delete_existing(keys::suspect_upload(self.tenant, hash));
    }

    /// Deletes a suspect form that becomes an application. The commit fails if somebody else has accepted or discarded it.
    pub fn delete_suspect(&mut self, form: Id) {
        self.delete_existing(keys::suspect_form(self.tenant, form));
    }
}

impl Transaction {
    /// Replaces the limits of the organization's career site.
    pub fn put_application_limits(
        &mut self,
        organization: &Organization,
        limits: &ApplicationLimits,
    ) -> Result<(), StoreError> {
        let limits = serde_dynamo::to_attribute_value(limits)
            .map_err(|error| StoreError::Internal(format!("limits cannot be written: {error}")))?;
        self.audit(AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::ApplicationLimits)));
        self.update(
            keys::organization_slug(&organization.slug),
            "SET #limits = :limits",
            EXISTS,
            vec![("#limits", "limits".to_owned())],
            vec![(":limits", limits)],
        );
        self.record([Recorded::setting(SubjectType::CareerPage).changing(names([("limits", true)]))]);
        Ok(())
    }
}

impl Store {
    /// A page of the suspect forms that have not expired, newest first.
    pub async fn list_suspects(
        &self,
        tenant: Tenant,
        selection: &SuspectSelection,
        now: Timestamp,
        page: &Paging,
    ) -> Result<Listed<SuspectForm>, StoreError> {
        // DynamoDB deletes expired items late. Identifiers contain the time, so a range of them leaves those out.
        let kept = SuspectForm::kept_since(now);
        let from = Id::first_at(selection.from.map_or(kept, |from| from.max(kept)));
        let ends = [
            selection.to.map(|to| Id::first_at(to).get()),
            page.before.as_deref().and_then(|before| before.parse().ok()),
        ];
        let end = ends.into_iter().flatten().min().unwrap_or(Id::MAX);
        let Some(last) = Id::new(end.saturating_sub(1)).filter(|last| *last >= from) else {
            return Ok(Listed { items: Vec::new(), next: None });
        };
        let (from, to) = (keys::padded(from), keys::padded(last));
        let range = Range::Between { from: &from, to: &to };
        let partition = keys::suspects(tenant, selection.network.as_deref());
        let (items, next) = self.query(&partition, page.limit, range).await?;
        Ok(Listed { items: items.into_iter().filter_map(item::read_listed).collect(), next })
    }

    /// The suspect forms with these identifiers, up to 100, in their order. Omits those that do not exist or have expired.
    pub async fn find_suspects(
        &self,
        tenant: Tenant,
        ids: &[Id],
        now: Timestamp,
    ) -> Result<Vec<SuspectForm>, StoreError> {
        let first = Id::first_at(SuspectForm::kept_since(now));
        let mut ids: Vec<_> = ids.iter().copied().filter(|id| *id >= first).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let items = self.read_many(ids.into_iter().map(|id| keys::suspect_form(tenant, id))).await?;
        let mut forms: Vec<SuspectForm> = items.into_iter().filter_map(item::read_listed).collect();
        forms.sort_unstable_by_key(|form| form.id);
        Ok(forms)
    }

    /// The newest suspect forms with this e-mail address.
    pub async fn list_suspects_with(
        &self,
        tenant: Tenant,
        email: &Email,
        limit: u32,
    ) -> Result<Vec<SuspectForm>, StoreError> {
        let filter = Partition::ByStatus(keys::suspects_with_email(tenant, email));
        Ok(self.read_page(&filter, &Paging { limit, before: None }).await?.items)
    }

    /// A page of the suspect forms with an e-mail address of an erased candidate, newest first. `suspects` is from the
    /// candidate's record or a trace.
    pub async fn list_suspects_of(
        &self,
        suspects: &str,
        page: &Paging,
    ) -> Result<Listed<SuspectForm>, StoreError> {
        self.read_page(&Partition::ByStatus(suspects.to_owned()), page).await
    }

    /// Deletes up to [`DISCARDED_AT_ONCE`] suspect forms, those that still exist.
    pub async fn delete_suspects(&self, tenant: Tenant, forms: &[Id]) -> Result<(), StoreError> {
        let keys = forms.iter().map(|form| keys::suspect_form(tenant, *form)).collect();
        Deletion { store: self, tenant, deleted: 0 }.delete_keys(keys).await
    }

    /// The suspect form to which the ticket with this hash may add a file.
    pub async fn find_suspect_upload(&self, tenant: Tenant, hash: &str) -> Result<Option<Id>, StoreError> {
        let upload: Option<SuspectUpload> =
            self.read(keys::suspect_upload(tenant, hash)).await?.map(item::read).transpose()?;
        Ok(upload.map(|upload| upload.id))
    }
}
