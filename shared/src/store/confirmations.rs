//! Confirmations: what an assistant may do only after a member has confirmed it, and only once.

use serde::{Deserialize, Serialize};

use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Store, StoreError, Transaction, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{Actor, Tenant};

/// A call that waits for a member's confirmation, or has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The name of the tool.
    pub tool: String,
    /// What will happen, without any text of a stranger.
    pub summary: String,
    /// Whose call it is.
    pub actor: Actor,
    /// The only member who may confirm the call: the one who connected the application. `None` lets any member do it.
    pub member: Option<Id>,
    /// The member who has confirmed the call.
    pub confirmed_by: Option<Id>,
    /// When the question, or the confirmation, ends.
    pub until: Timestamp,
    /// The version, which increases with every write.
    pub version: u64,
}

/// Proof that a member has confirmed a call. The transaction that carries out the call uses it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// In the dashboard: the hash of the call, and the version of its confirmation.
    OnPage {
        /// The hash of the call.
        hash: String,
        /// The version.
        version: u64,
    },
    /// In the client, by an answer to the question with this identifier.
    InClient {
        /// The identifier of the question.
        question: String,
        /// When the question ends.
        until: Timestamp,
    },
}

impl Confirmation {
    /// Whether this member may confirm the call.
    pub fn may_be_confirmed_by(&self, member: Id) -> bool {
        self.member.is_none_or(|only| only == member)
    }

    /// The confirmed call.
    #[must_use]
    pub fn confirmed(self, member: Id, until: Timestamp) -> Self {
        Self { confirmed_by: Some(member), until, version: self.version + 1, ..self }
    }
}

impl Transaction {
    /// Replaces a confirmation. Fails if it has changed or was used since it was read.
    pub fn replace_confirmation(
        &mut self,
        hash: &str,
        before: &Confirmation,
        after: &Confirmation,
    ) -> Result<(), StoreError> {
        let key = keys::confirmation(self.tenant, hash);
        let before = item::write(before, key.clone(), None)?;
        let mut after_item = item::write(after, key, None)?;
        after_item.insert(EXPIRES_AT.to_owned(), number(after.until.as_second()));
        self.replace(&before, &after_item)
    }

    /// Deletes the question, because a member has refused it.
    pub fn delete_confirmation(&mut self, hash: &str, confirmation: &Confirmation) {
        self.delete_version(keys::confirmation(self.tenant, hash), confirmation.version);
    }

    /// Uses up a confirmation. Fails if it was used before.
    pub fn use_confirmation(&mut self, confirmed: &Confirmed) {
        match confirmed {
            Confirmed::OnPage { hash, version } => {
                self.delete_version(keys::confirmation(self.tenant, hash), *version);
            }
            Confirmed::InClient { question, until } => {
                let mut item = keys::used_confirmation(self.tenant, question).attributes();
                item.insert(EXPIRES_AT.to_owned(), number(until.as_second()));
                self.insert(item);
            }
        }
    }
}

impl Store {
    /// The confirmation of the call with this hash, unless it has ended.
    pub async fn find_confirmation(
        &self,
        tenant: Tenant,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<Confirmation>, StoreError> {
        let item = self.read(keys::confirmation(tenant, hash)).await?;
        let confirmation: Option<Confirmation> = item.map(item::read).transpose()?;
        Ok(confirmation.filter(|confirmation| now < confirmation.until))
    }

    /// Stores the question whether the call with this hash may be carried out.
    pub async fn put_confirmation(
        &self,
        tenant: Tenant,
        hash: &str,
        confirmation: &Confirmation,
    ) -> Result<(), StoreError> {
        let mut item = item::write(confirmation, keys::confirmation(tenant, hash), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(confirmation.until.as_second()));
        self.put_item(item).await
    }

    /// Whether the answer to a question was used.
    pub async fn is_confirmation_used(&self, tenant: Tenant, question: &str) -> Result<bool, StoreError> {
        Ok(self.read(keys::used_confirmation(tenant, question)).await?.is_some())
    }
}
