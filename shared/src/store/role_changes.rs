//! Changes of roles that the copies in applications do not have yet.
//!
//! Whoever shows applications reads these few items, too, and lays them over the copies. A task brings the copies up to date,
//! from the newest application to the oldest, and then deletes the item. Only the record of a candidate and what must agree
//! with it are written in transactions, many people in each. The rest is written afterwards, and again by a run that follows
//! one that was killed.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};

use super::applications::{Applied, entry_item};
use super::changes::Changes;
use super::item::number;
use super::keys::{self, Key};
use super::maybe_erased::MaybeErased;
use super::tasks::Task;
use super::{Listed, Paging, Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::{Application, CandidateRecord, RetentionStart, Role, RoleState, Tenant, Touchpoint};

/// The attribute with the version of a role.
const VERSION: &str = "role_version";
/// The attribute with the time of an application's last update.
const UPDATED_AT: &str = "updated_at";
/// The attribute with how far the copies are up to date.
const POSITION: &str = "position";
/// The number of people whose further applications are read at the same time.
const QUERIES: usize = 8;

/// A change of a role that the copies in applications do not have yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleChange {
    /// The role after the change.
    #[serde(flatten)]
    pub state: RoleState,
    /// The position in the list of the role's applications down to which the copies are up to date; `None` at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

impl Transaction {
    /// Adds a change of a role. It replaces an earlier one, whose task then continues with this one.
    pub(super) fn put_role_change(&mut self, role: &Role) -> Result<(), StoreError> {
        let change = RoleChange { state: RoleState::of(role), position: None };
        self.overwrite(item::write(&change, keys::role_change(self.tenant, role.id), None)?);
        Ok(())
    }

    /// Deletes a change that all copies have, and its task. The role must not have changed again.
    pub fn finish_role_change(&mut self, task: &Task, change: &RoleChange) {
        let RoleState { copy, .. } = &change.state;
        self.delete_if(
            keys::role_change(self.tenant, copy.id),
            "#version = :version",
            ("#version", VERSION),
            (":version", number(copy.version)),
        );
        self.delete_task(task);
    }
}

impl Store {
    /// The changes of roles that not all copies in applications have.
    pub async fn list_role_changes(&self, tenant: Tenant) -> Result<Vec<RoleState>, StoreError> {
        let items = self.read_partition(&keys::role_changes(tenant), usize::MAX).await?.into_iter();
        let changes = items.filter_map(|(_, item)| item::read_listed::<RoleChange>(item));
        Ok(changes.map(|change| change.state).collect())
    }

    /// The change of a role, if not all copies have it.
    pub async fn find_role_change(&self, tenant: Tenant, role: Id) -> Result<Option<RoleChange>, StoreError> {
        self.read(keys::role_change(tenant, role)).await?.map(item::read).transpose()
    }

    /// A page of the candidates who have applied for a role, the newest application first.
    pub async fn list_applied(
        &self,
        tenant: Tenant,
        role: Id,
        page: &Paging,
    ) -> Result<Listed<Id>, StoreError> {
        let listed = self.read_page::<Applied>(&keys::role_applications(tenant, role), page).await?;
        Ok(listed.map(|applied| applied.candidate_id))
    }

    /// The records of up to 100 candidates, without those who were erased, but with those whose import is not finished. They may be out of date by a moment: a write then
    /// fails. Those that seem to be missing are read consistently.
    pub async fn find_records(
        &self,
        tenant: Tenant,
        candidates: &[Id],
    ) -> Result<Vec<CandidateRecord>, StoreError> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let mut keys: HashMap<_, _> =
            candidates.iter().map(|id| (*id, keys::candidate_record(tenant, *id))).collect();
        let mut items = self.read_many_eventually(keys.values().cloned()).await?;
        keys.retain(|_, key| !items.iter().any(|item| Key::of(item).is_ok_and(|found| found == *key)));
        if !keys.is_empty() {
            items.extend(self.read_many(keys.into_values()).await?);
        }
        let whole = items.into_iter().map(|item| self.complete_record(tenant, item));
        let whole: Vec<_> = stream::iter(whole).buffer_unordered(QUERIES).collect().await;
        let mut records = Vec::new();
        for found in whole {
            match found {
                Ok(found) => records.extend(found.and_then(MaybeErased::present)),
                // It is reported.
                Err(StoreError::Unreadable(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    /// Remembers how far the copies are up to date. Returns whether the role has not changed again.
    pub async fn advance_role_change(
        &self,
        tenant: Tenant,
        change: &RoleChange,
        position: &str,
    ) -> Result<bool, StoreError> {
        let key = keys::role_change(tenant, change.state.copy.id);
        let changes = Changes::set(POSITION, AttributeValue::S(position.to_owned()));
        let version = number(change.state.copy.version);
        self.update_if(key, changes, "#version = :version", [("#version", VERSION)], [(":version", version)])
            .await
    }

    /// Writes what a transaction that made a candidate follow a role has left: the application's list entry over all roles,
    /// unless a later version of the record has written it, the time of the application in its role's lists if it was closed or
    /// reopened, and the start of the retention period. Does nothing that was done before.
    pub async fn settle_application(
        &self,
        tenant: Tenant,
        record: &CandidateRecord,
        application: &Application,
        role: &RoleState,
    ) -> Result<(), StoreError> {
        let candidate = record.candidate.id;
        let entry = entry_item(tenant, candidate, application)?;
        let (key, version) = (Key::of(&entry)?, number(application.role.version));
        let condition = "attribute_exists(pk) AND #version < :version";
        self.update_if(key, Changes::to(entry), condition, [("#version", VERSION)], [(":version", version)])
            .await?;
        if application.updated_at >= role.changed_at {
            let key = keys::role_application(tenant, role.copy.id, application.id);
            let time = AttributeValue::S(application.updated_at.to_string());
            let condition = "attribute_exists(pk) AND #updated < :updated";
            let changes = Changes::set(UPDATED_AT, time.clone());
            self.update_if(key, changes, condition, [("#updated", UPDATED_AT)], [(":updated", time)]).await?;
        }
        if let Some(start) = record.retention_start() {
            self.put_item(super::retention::start_item(tenant, candidate, start)?).await?;
        }
        Ok(())
    }

    /// Takes a person out of the list of retention periods before a transaction makes the person follow a role that was
    /// reopened. Whoever has no retention period any more is not erased, whatever the list says.
    pub async fn unlist_retention_start(
        &self,
        tenant: Tenant,
        candidate: Id,
        start: RetentionStart,
    ) -> Result<(), StoreError> {
        let key = keys::retention_start(tenant, start.ever_hired, start.since, candidate);
        self.delete_item(key).await
    }
}

impl Transaction {
    /// Replaces a candidate who has followed changes of roles, with the touchpoints of the applications that were closed or
    /// reopened. [`Store::settle_application`] writes the rest.
    pub fn follow_roles(
        &mut self,
        before: &CandidateRecord,
        after: &CandidateRecord,
        history: &[Touchpoint],
    ) -> Result<(), StoreError> {
        self.replace_record(before, after)?;
        self.put_cancellation_task(before, after)?;
        self.insert_touchpoints(after, history)
    }
}
