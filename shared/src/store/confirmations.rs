//! Confirmations: what an assistant may do only after a member has confirmed it, and only once.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{CommitError, Store, StoreError, Transaction, item};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{Actor, AuditTarget, AuditTargetKind, Tenant, ToolCall, ToolOutcome};

/// A call that waits for a member's confirmation, or has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The name of the tool.
    pub tool: String,
    /// What will happen, without any text of a stranger.
    pub summary: String,
    /// What the call says, and what will be public. Whatever the assistant obeys may have written it.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// The record that the call is about.
    #[serde(default)]
    pub target: Option<AuditTarget>,
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

/// Something that a member reads before deciding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is.
    pub label: String,
    /// The text.
    pub text: String,
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
    /// In the client, by an answer to a question.
    InClient(AnsweredQuestion),
}

/// A question that a client has shown to a member, with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredQuestion {
    /// The identifier of the question.
    pub id: String,
    /// When the question ends.
    pub until: Timestamp,
    /// The name of the tool.
    pub tool: &'static str,
    /// The record that the call is about.
    pub target: Option<AuditTarget>,
}

/// The time for which a trace outlives the end of a question: that in which a confirmed call must be repeated.
const TRACE_KEPT: SignedDuration = SignedDuration::from_mins(15);

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

    /// The candidate whom the call is about, if it is about one.
    pub fn candidate(&self) -> Option<Id> {
        self.target.filter(|target| target.kind == AuditTargetKind::Candidate).and_then(|target| target.id)
    }

    fn decision(&self, outcome: ToolOutcome) -> ToolCall {
        ToolCall { name: self.tool.clone(), outcome }
    }
}

impl Transaction {
    /// Stores the question whether the call with this hash may be carried out. What it says may identify the candidate, so an
    /// erasure must find it.
    fn put_confirmation(&mut self, hash: &str, confirmation: &Confirmation) -> Result<(), StoreError> {
        let mut item = item::write(confirmation, keys::confirmation(self.tenant, hash), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(confirmation.until.as_second()));
        self.put(item)?;
        match confirmation.candidate() {
            Some(candidate) => {
                // The erasure would not find the question any more.
                self.require_absence(keys::erased_candidate(self.tenant, candidate));
                self.put_confirmation_trace(candidate, hash, later(confirmation.until, TRACE_KEPT))
            }
            None => Ok(()),
        }
    }

    /// Stores that a member has confirmed a call. Fails if its question has changed or was used since it was read.
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
        self.replace(&before, &after_item)?;
        self.audit_decision(after.target, after.decision(ToolOutcome::Confirmed));
        Ok(())
    }

    /// Deletes the question, because a member has refused it.
    pub fn delete_confirmation(&mut self, hash: &str, confirmation: &Confirmation) {
        self.delete_version(keys::confirmation(self.tenant, hash), confirmation.version);
        self.audit_decision(confirmation.target, confirmation.decision(ToolOutcome::Refused));
    }

    /// Uses up a confirmation. Fails if it was used before.
    pub fn use_confirmation(&mut self, confirmed: &Confirmed) {
        match confirmed {
            Confirmed::OnPage { hash, version } => {
                self.delete_version(keys::confirmation(self.tenant, hash), *version);
            }
            Confirmed::InClient(question) => self.use_question(question, ToolOutcome::Confirmed),
        }
    }

    /// Uses up a question that a member has answered in the client. Fails if it was used up before.
    pub fn use_question(&mut self, question: &AnsweredQuestion, outcome: ToolOutcome) {
        let AnsweredQuestion { id, until, tool, target } = question;
        let mut item = keys::used_confirmation(self.tenant, id).attributes();
        item.insert(EXPIRES_AT.to_owned(), number(until.as_second()));
        self.insert(item);
        self.audit_decision(*target, ToolCall { name: (*tool).to_owned(), outcome });
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
    ) -> Result<(), CommitError> {
        let mut transaction = Transaction::new(tenant);
        transaction.put_confirmation(hash, confirmation)?;
        self.commit(transaction).await
    }

    /// Whether the answer to a question was used.
    pub async fn is_confirmation_used(&self, tenant: Tenant, question: &str) -> Result<bool, StoreError> {
        Ok(self.read(keys::used_confirmation(tenant, question)).await?.is_some())
    }
}
