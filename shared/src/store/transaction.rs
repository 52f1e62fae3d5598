//! Transactions: DynamoDB makes all of the writes or none.
//!
//! Each action has a condition, and a guard that defines what a failed condition means. DynamoDB returns the item whose
//! condition failed.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use serde::{Deserialize, Serialize};

use super::audit::ENTRY_ATTEMPTS;
use super::audit_origin::AuditOrigin;
use super::changes::Changes;
use super::item::number;
use super::keys::{self, CAUSED_BY, EXPIRES_AT, Key, ROLE_STATUS, ROLE_VERSION};
use super::labels::NewLabels;
use super::receipts::{Receipt, ReceiptSlot};
use super::recording::{Imported, Recorded, STAMP};
use super::{Item, Store, StoreError, item};
use crate::id::Id;
use crate::model::{AuditAction, AuditTarget, Mode, RoleStatus, Tenant, ToolCall};

/// Why a transaction was not carried out. Unless DynamoDB failed, nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// An item has changed since it was read, or another write was using it. The caller reads the items again and
    /// retries.
    #[error("the items have changed")]
    Stale,
    /// Another transaction was writing the receipt at the same time.
    #[error("a request with this idempotency key is in progress")]
    InFlight,
    /// The slug and all of its numbered variants up to `last` are taken.
    #[error("the slug is taken up to number {last}")]
    SlugTaken {
        /// The highest number known to be taken.
        last: u64,
    },
    /// The role of an application has been closed or reopened.
    #[error("a role has been closed or reopened")]
    RoleChanged,
    /// Other candidates or members have values that must be unique.
    #[error("a unique value is in use")]
    Taken(Vec<Taken>),
    /// The request has been carried out before, with this receipt.
    #[error("the request has been carried out before")]
    Repeated(Box<Receipt>),
    /// DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a transaction with its entries in the audit log was not carried out.
enum Refusal {
    /// Only the identifier of an entry was in use.
    EntryExists,
    /// Only the time of the transaction was too early: a changed item has this stamp, from a function whose clock is fast.
    TooEarly(i64),
    Error(CommitError),
}

impl From<CommitError> for Refusal {
    fn from(error: CommitError) -> Self {
        Self::Error(error)
    }
}

/// A field whose values are unique in the tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UniqueField {
    /// The e-mail address of a candidate or a member.
    Email,
    /// The external id of a candidate.
    ExternalId,
    /// The external id of a role.
    RoleExternalId,
}

/// A value that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The field.
    pub field: UniqueField,
    /// The candidate, the member or the role with this value.
    pub owner: Option<Id>,
}

/// The meaning of a failed condition.
#[derive(Clone, Copy, Debug)]
enum Guard {
    Unchanged,
    Slug {
        number: u64,
    },
    Claim(UniqueField),
    Role,
    Receipt,
    /// The identifier of an entry of the audit log is in use.
    AuditEntry,
}

/// What must be true of a role at the commit.
#[derive(Clone, Copy, Debug)]
pub(super) enum RoleCondition {
    /// It is closed, or it is not.
    Closed(bool),
    /// It has the status and the title that it had in this version.
    SameSince(u64),
}

/// The effect of an action.
#[derive(Clone, Debug)]
enum Effect {
    Put(Item),
    /// Writes all attributes of an item, which may exist.
    Write(Key, Item),
    Change(Key, Changes),
    Update(Key, Cow<'static, str>),
    /// Adds to counters, which are all different.
    Add(Key, Vec<(String, i64)>),
    Delete(Key),
    Check(Key),
}

impl Effect {
    /// The key of the item; none if the item has none.
    fn key(&self) -> Option<Key> {
        match self {
            Self::Put(item) => Key::of(item).ok(),
            Self::Write(key, _)
            | Self::Change(key, _)
            | Self::Update(key, _)
            | Self::Add(key, _)
            | Self::Delete(key)
            | Self::Check(key) => Some(key.clone()),
        }
    }
}

/// A write or a check, with its condition.
#[derive(Clone, Debug)]
struct Action {
    effect: Effect,
    guard: Guard,
    condition: Cow<'static, str>,
    names: Vec<(&'static str, String)>,
    values: Vec<(&'static str, AttributeValue)>,
}

/// What an entry of the audit log says about a transaction.
#[derive(Clone, Debug)]
struct Act {
    action: AuditAction,
    target: Option<AuditTarget>,
    tool: Option<ToolCall>,
}

/// Writes of one tenant that are committed together.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub(super) tenant: Tenant,
    /// The candidate that the transaction writes.
    pub(super) candidate: Option<Id>,
    actions: Vec<Action>,
    /// What the audit log says about the transaction.
    acts: Vec<Act>,
    /// What the change feed says about the transaction.
    changes: Vec<Recorded>,
    /// The people whose words in the search index have changed.
    pub(super) new_words: Vec<Id>,
    /// The people whose labels have changed.
    pub(super) new_labels: Vec<NewLabels>,
    /// The positions of the actions whose items keep the time of the transaction.
    stamped: BTreeSet<usize>,
    /// Whether nobody is told of the changes, because the candidate's import is not finished.
    is_silent: bool,
    /// What the events say if an import makes the transaction.
    pub(super) imported: Option<Imported>,
    /// The import that makes the transaction.
    pub(super) import: Option<Id>,
}

/// A taken slug: its owner, and the last number that was assigned to it.
#[derive(Serialize, Deserialize)]
pub(super) struct SlugClaim {
    pub(super) id: Id,
    pub(super) last: u64,
}
/// The name of the attribute with the end of a counter.
const EXPIRES: &str = "#expires";
/// The number of actions that DynamoDB takes in a transaction.
const MAX_ACTIONS: usize = 100;
const VACANT: &str = "attribute_not_exists(pk)";
const SAME_VERSION: &str = "#version = :version";
/// The attribute with the version of an item, which grows with every write.
pub(super) const VERSION: &str = "version";

impl Transaction {
    /// An empty transaction.
    pub const fn new(tenant: Tenant) -> Self {
        Self {
            tenant,
            candidate: None,
            actions: Vec::new(),
            acts: Vec::new(),
            changes: Vec::new(),
            new_words: Vec::new(),
            new_labels: Vec::new(),
            stamped: BTreeSet::new(),
            is_silent: false,
            imported: None,
            import: None,
        }
    }

    /// An empty transaction of an import, whose events and history say so. Webhook endpoints get the events only if it `notifies`
    /// them.
    pub const fn of_import(tenant: Tenant, import: Id, notifies: bool) -> Self {
        let mut transaction = Self::new(tenant);
        (transaction.imported, transaction.import) = (Some(Imported { notifies }), Some(import));
        transaction
    }

    /// The tenant.
    pub const fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The number of writes.
    pub(super) const fn len(&self) -> usize {
        self.actions.len()
    }

    /// The number of writes that the commit sends, with the entries of the audit log and the changes for the feed.
    pub fn sent(&self) -> usize {
        let has_changes_in = |mode| {
            self.told().iter().any(|one| one.mode.unwrap_or(self.tenant.mode) == mode)
                || (mode == self.tenant.mode && !(self.new_words.is_empty() && self.new_labels.is_empty()))
        };
        let outbox = Mode::ALL.into_iter().filter(|mode| has_changes_in(*mode)).count();
        self.actions.len() + self.acts.len() + outbox
    }

    /// Adds writes that change nothing until the commit sends this number: deletions of items that no candidate has.
    pub fn pad(&mut self, sent: usize, candidate: Id) {
        for number in self.sent()..sent {
            self.delete(keys::nothing_of_candidate(self.tenant, candidate, number));
        }
    }

    /// Adds the writes of another transaction. Gives it back if one transaction has no room for both, or if they can't be made at
    /// once: both write the same item, other than to add to its counters on the same condition.
    pub fn join(&mut self, other: Self) -> Result<(), Box<Self>> {
        let own: HashMap<_, _> =
            self.actions.iter().enumerate().map(|(place, action)| (action.effect.key(), place)).collect();
        let place = |action: &Action| own.get(&action.effect.key()).copied();
        let places: Vec<_> = other.actions.iter().map(place).collect();
        let is_alike = |(action, place): (&Action, &Option<usize>)| {
            place.is_none_or(|place| self.actions[place].counts_like(action))
        };
        let new = places.iter().filter(|place| place.is_none()).count();
        let has_room = self.sent() + new + other.acts.len() <= MAX_ACTIONS;
        let are_alike = other.actions.iter().zip(&places).all(is_alike);
        if !(has_room && are_alike && self.is_silent == other.is_silent) {
            return Err(Box::new(other));
        }
        for (index, (action, place)) in other.actions.into_iter().zip(places).enumerate() {
            if let (Some(place), Effect::Add(_, counts)) = (place, &action.effect) {
                self.actions[place].add(counts.clone());
                continue;
            }
            if other.stamped.contains(&index) {
                self.stamped.insert(self.actions.len());
            }
            self.actions.push(action);
        }
        self.acts.extend(other.acts);
        self.changes.extend(other.changes);
        self.new_words.extend(other.new_words);
        self.new_labels.extend(other.new_labels);
        Ok(())
    }

    /// Whether the transaction has no writes.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// The items that the transaction writes as a whole.
    pub(super) fn items(self) -> impl Iterator<Item = Item> {
        self.actions.into_iter().filter_map(|action| match action.effect {
            Effect::Put(item) | Effect::Write(_, item) => Some(item),
            _ => None,
        })
    }

    /// Records an act in the audit log. The commit adds who did it, from where and when.
    pub(super) fn audit(&mut self, action: AuditAction, target: Option<AuditTarget>) {
        self.acts.push(Act { action, target, tool: None });
    }

    /// Records in the audit log what a member decided about a call of a tool.
    pub(super) fn audit_decision(&mut self, target: Option<AuditTarget>, call: ToolCall) {
        self.acts.push(Act { action: AuditAction::ConfirmationDecided, target, tool: Some(call) });
    }

    /// Records changes without an action that they are of.
    pub(super) fn tell(&mut self, changes: impl IntoIterator<Item = Recorded>) {
        self.changes.extend(changes);
    }

    /// Lets nobody be told of the changes.
    pub(super) const fn keep_silent(&mut self) {
        self.is_silent = true;
    }

    /// The changes that the feed will have.
    fn told(&self) -> &[Recorded] {
        if self.is_silent { &[] } else { &self.changes }
    }

    /// Records changes by the last action. Its item keeps the time of the transaction.
    pub(super) fn record(&mut self, changes: impl IntoIterator<Item = Recorded>) {
        let count = self.changes.len();
        self.changes.extend(changes);
        if self.changes.len() > count {
            self.stamped.extend(self.actions.len().checked_sub(1));
        }
    }

    /// Inserts the receipt of the request that the transaction carries out. If the transaction writes a candidate, the
    /// receipt may contain the candidate's data, so an erasure must find it.
    pub fn insert_receipt(&mut self, slot: &ReceiptSlot, receipt: Receipt) -> Result<(), StoreError> {
        let receipt = Receipt { candidate: self.candidate, ..receipt };
        if let Some(candidate) = self.candidate {
            self.put_receipt_trace(candidate, slot)?;
        }
        let item = self.receipt_item(slot, &receipt)?;
        self.actions.push(Action {
            effect: Effect::Put(item),
            guard: Guard::Receipt,
            condition: "attribute_not_exists(pk) OR #expires <= :now".into(),
            names: vec![("#expires", EXPIRES_AT.to_owned())],
            values: vec![(":now", number(slot.now.as_second()))],
        });
        Ok(())
    }

    /// Replaces the pending receipt of the request.
    pub fn replace_receipt(&mut self, slot: &ReceiptSlot, receipt: &Receipt) -> Result<(), StoreError> {
        let item = self.receipt_item(slot, receipt)?;
        self.overwrite(item);
        Ok(())
    }

    /// Deletes the pending receipt of a request that had no effect.
    pub fn delete_receipt(&mut self, slot: &ReceiptSlot) {
        self.delete(keys::receipt(self.tenant, &slot.idempotency_key, slot.route));
    }

    fn receipt_item(&self, slot: &ReceiptSlot, receipt: &Receipt) -> Result<Item, StoreError> {
        let key = keys::receipt(self.tenant, &slot.idempotency_key, slot.route);
        let mut item = item::write(receipt, key, None)?;
        item.insert(EXPIRES_AT.to_owned(), number(slot.expires_at.as_second()));
        Ok(item)
    }

    /// Inserts an item, which must not exist yet.
    pub(super) fn insert(&mut self, item: Item) {
        self.plain(Effect::Put(item), Guard::Unchanged, VACANT);
    }

    /// Writes the attributes of an item, which may exist. Keeps the attributes that this release does not know. If the item
    /// needs a guard, another action of the transaction has it.
    pub(super) fn put(&mut self, item: Item) -> Result<(), StoreError> {
        let key = Key::of(&item)?;
        self.plain(Effect::Write(key, item), Guard::Unchanged, "");
        Ok(())
    }

    /// Writes an item without keeping anything of an existing one: bytes, or what must be forgotten.
    pub(super) fn overwrite(&mut self, item: Item) {
        self.plain(Effect::Put(item), Guard::Unchanged, "");
    }

    /// Like [`Self::put`], but the item must exist.
    pub(super) fn replace_existing(&mut self, item: Item) -> Result<(), StoreError> {
        let key = Key::of(&item)?;
        self.change_existing(key, Changes::to(item));
        Ok(())
    }

    /// Writes the attributes of an item, whose stored form must satisfy `condition`.
    pub(super) fn change_if(
        &mut self,
        item: Item,
        condition: &'static str,
        names: Vec<(&'static str, String)>,
        values: Vec<(&'static str, AttributeValue)>,
    ) -> Result<(), StoreError> {
        let effect = Effect::Write(Key::of(&item)?, item);
        self.actions.push(Action {
            effect,
            guard: Guard::Unchanged,
            condition: condition.into(),
            names,
            values,
        });
        Ok(())
    }

    /// Changes an item, which must exist.
    pub(super) fn change_existing(&mut self, key: Key, changes: Changes) {
        self.plain(Effect::Change(key, changes), Guard::Unchanged, "attribute_exists(pk)");
    }

    /// Changes an item whose stored form must satisfy `condition`.
    pub(super) fn change_if_stored(
        &mut self,
        key: Key,
        changes: Changes,
        condition: String,
        names: Vec<(&'static str, String)>,
        values: Vec<(&'static str, AttributeValue)>,
    ) {
        let (effect, condition) = (Effect::Change(key, changes), condition.into());
        self.actions.push(Action { effect, guard: Guard::Unchanged, condition, names, values });
    }

    /// Deletes an item, which must exist.
    pub(super) fn delete_existing(&mut self, key: Key) {
        self.plain(Effect::Delete(key), Guard::Unchanged, "attribute_exists(pk)");
    }

    /// Deletes an item whose stored form must satisfy a condition without values.
    pub(super) fn delete_where(&mut self, key: Key, condition: &'static str) {
        self.plain(Effect::Delete(key), Guard::Unchanged, condition);
    }

    /// Deletes an item unconditionally. If the item needs a guard, another action of the transaction has it.
    pub(super) fn delete(&mut self, key: Key) {
        self.plain(Effect::Delete(key), Guard::Unchanged, "");
    }

    /// Deletes an item if a condition with one name and one value holds.
    pub(super) fn delete_if(
        &mut self,
        key: Key,
        condition: &'static str,
        (name, attribute): (&'static str, &str),
        value: (&'static str, AttributeValue),
    ) {
        self.actions.push(Action {
            effect: Effect::Delete(key),
            guard: Guard::Unchanged,
            condition: condition.into(),
            names: vec![(name, attribute.to_owned())],
            values: vec![value],
        });
    }

    /// Inserts a claim on a unique value, which must not be taken.
    pub(super) fn insert_claim(&mut self, field: UniqueField, item: Item) {
        self.plain(Effect::Put(item), Guard::Claim(field), VACANT);
    }

    /// Inserts a slug. If it already exists, the commit fails because `number` is taken.
    pub(super) fn insert_slug(&mut self, item: Item, number: u64) {
        self.plain(Effect::Put(item), Guard::Slug { number }, VACANT);
    }

    /// Turns an item into its next version. Keeps the attributes that this release does not know. Fails if the version of
    /// `after` is not a later one, because a concurrent update could then be lost.
    pub(super) fn replace(&mut self, before: &Item, after: &Item) -> Result<(), StoreError> {
        self.replace_with(before, after, Changes::between(before, after))
    }

    /// Like [`Self::replace`], with these changes.
    pub(super) fn replace_with(
        &mut self,
        before: &Item,
        after: &Item,
        changes: Changes,
    ) -> Result<(), StoreError> {
        let version = later_version(before, after)?;
        self.versioned(Effect::Change(Key::of(after)?, changes), version);
        Ok(())
    }

    /// Like [`Self::replace`], without keeping anything else: what is erased must be forgotten.
    pub(super) fn forget(&mut self, before: u64, after: Item) -> Result<(), StoreError> {
        let version = later_version(&Item::from([(VERSION.to_owned(), number(before))]), &after)?;
        self.versioned(Effect::Put(after), version);
        Ok(())
    }

    /// Deletes the item with this version.
    pub(super) fn delete_version(&mut self, key: Key, version: u64) {
        self.versioned(Effect::Delete(key), version);
    }

    /// Requires that the item has this version at the commit.
    pub(super) fn require(&mut self, key: Key, version: u64) {
        self.versioned(Effect::Check(key), version);
    }

    /// Requires that an item does not exist at the commit.
    pub(super) fn require_absence(&mut self, key: Key) {
        self.plain(Effect::Check(key), Guard::Unchanged, VACANT);
    }

    /// Records that a slug's numbers up to `to` have been assigned.
    pub(super) fn raise_slug(&mut self, key: Key, to: u64) {
        self.actions.push(Action {
            effect: Effect::Update(key, "SET #last = :number".into()),
            guard: Guard::Slug { number: to },
            condition: "#last < :number".into(),
            names: vec![("#last", "last".to_owned())],
            values: vec![(":number", number(to))],
        });
    }

    /// Updates attributes of an item if `condition` holds.
    pub(super) fn update(
        &mut self,
        key: Key,
        expression: impl Into<Cow<'static, str>>,
        condition: impl Into<Cow<'static, str>>,
        names: Vec<(&'static str, String)>,
        values: Vec<(&'static str, AttributeValue)>,
    ) {
        let (effect, condition) = (Effect::Update(key, expression.into()), condition.into());
        self.actions.push(Action { effect, guard: Guard::Unchanged, condition, names, values });
    }

    /// Adds to the counters of an existing item.
    pub(super) fn add(&mut self, key: Key, counts: Vec<(String, i64)>) {
        self.add_if(key, counts, "attribute_exists(pk)");
    }

    /// Adds to the counters of an item, which may not exist yet.
    pub(super) fn count(&mut self, key: Key, counts: Vec<(String, i64)>) {
        self.add_if(key, counts, "");
    }

    /// Adds to the counters of an item, which may not exist yet and is kept until then, in epoch seconds.
    pub(super) fn count_until(&mut self, key: Key, counts: Vec<(String, i64)>, expires_at: i64) {
        self.actions.push(Action {
            effect: Effect::Add(key, counts),
            guard: Guard::Unchanged,
            condition: "".into(),
            names: vec![(EXPIRES, EXPIRES_AT.to_owned())],
            values: vec![(":expires", number(expires_at))],
        });
    }

    fn add_if(&mut self, key: Key, counts: Vec<(String, i64)>, condition: &'static str) {
        // A transaction may contain only one action for each item.
        let is_same = |action: &Action| matches!(&action.effect, Effect::Add(other, _) if *other == key);
        let index = self.actions.iter().position(is_same).unwrap_or(self.actions.len());
        if index == self.actions.len() {
            self.plain(Effect::Add(key, Vec::new()), Guard::Unchanged, condition);
        }
        self.actions[index].add(counts);
    }

    /// Requires something of a role at the commit. The role's counters keep it, and most transactions change them anyway.
    pub(super) fn require_of_role(&mut self, role: Id, required: RoleCondition) {
        let key = keys::role_stats(self.tenant, role);
        let has_key = |action: &Action| matches!(&action.effect, Effect::Add(other, _) | Effect::Check(other) if *other == key);
        let index = self.actions.iter().position(has_key).unwrap_or(self.actions.len());
        if index == self.actions.len() {
            self.actions.push(Action::plain(Effect::Check(key), Guard::Unchanged, ""));
        }
        let action = &mut self.actions[index];
        let (guard, condition, name, value);
        match required {
            RoleCondition::Closed(is_closed) => {
                guard = Guard::Role;
                condition = if is_closed { "#role = :role" } else { "#role <> :role" };
                name = ROLE_STATUS;
                value = AttributeValue::S(RoleStatus::Closed.as_str().to_owned());
            }
            RoleCondition::SameSince(version) => {
                guard = Guard::Unchanged;
                condition = "#role <= :role";
                name = ROLE_VERSION;
                value = number(version);
            }
        }
        action.guard = guard;
        action.condition = format!("attribute_exists(pk) AND {condition}").into();
        action.names = vec![("#role", name.to_owned())];
        action.values = vec![(":role", value)];
    }

    /// Requires that an attribute of an item is not true at the commit.
    pub(super) fn require_not(&mut self, key: Key, attribute: &str) {
        self.actions.push(Action {
            effect: Effect::Check(key),
            guard: Guard::Unchanged,
            condition: "#attribute = :false".into(),
            names: vec![("#attribute", attribute.to_owned())],
            values: vec![(":false", AttributeValue::Bool(false))],
        });
    }

    /// Lets the changed items keep the time of the transaction.
    pub(super) fn stamp(&mut self, time: i64) {
        for index in std::mem::take(&mut self.stamped) {
            if let Some(action) = self.actions.get_mut(index) {
                action.stamp(time);
            }
        }
    }

    /// Names the request that causes the tasks which this transaction writes, unless a task names its own.
    fn name_cause_of_tasks(&mut self, cause: &str) {
        for action in &mut self.actions {
            if let Effect::Write(key, item) = &mut action.effect
                && key.is_of_task()
            {
                let cause = || AttributeValue::S(cause.to_owned());
                item.entry(CAUSED_BY.to_owned()).or_insert_with(cause);
            }
        }
    }

    fn versioned(&mut self, effect: Effect, version: u64) {
        let names = vec![("#version", VERSION.to_owned())];
        let values = vec![(":version", number(version))];
        let condition = SAME_VERSION.into();
        self.actions.push(Action { effect, guard: Guard::Unchanged, condition, names, values });
    }

    fn plain(&mut self, effect: Effect, guard: Guard, condition: &'static str) {
        self.actions.push(Action::plain(effect, guard, condition));
    }
}

/// The version of `before`, if the one of `after` is a later one.
fn later_version(before: &Item, after: &Item) -> Result<u64, StoreError> {
    let (before, after) = (item::count(before, VERSION), item::count(after, VERSION));
    if after <= before {
        return Err(StoreError::Internal(format!("version {after} cannot replace version {before}")));
    }
    Ok(before)
}

impl Changes {
    fn update(
        self,
        table: &str,
        key: Key,
        condition: Option<String>,
        names: Option<HashMap<String, String>>,
        values: Option<HashMap<String, AttributeValue>>,
    ) -> Result<Update, BuildError> {
        let names = names.into_iter().flatten().chain(self.names).collect();
        let values: HashMap<_, _> = values.into_iter().flatten().chain(self.values).collect();
        Update::builder()
            .table_name(table)
            .set_key(Some(key.attributes()))
            .update_expression(self.expression)
            .set_condition_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values).filter(|values| !values.is_empty()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
    }
}

impl Action {
    fn plain(effect: Effect, guard: Guard, condition: &'static str) -> Self {
        Self { effect, guard, condition: condition.into(), names: Vec::new(), values: Vec::new() }
    }

    /// Adds to more counters, if the action adds to counters.
    fn add(&mut self, counts: Vec<(String, i64)>) {
        let Effect::Add(_, sums) = &mut self.effect else { return };
        for (name, by) in counts {
            match sums.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += by,
                None => sums.push((name, by)),
            }
        }
    }

    /// Whether both add to counters on the same condition.
    fn counts_like(&self, other: &Self) -> bool {
        matches!((&self.effect, &other.effect), (Effect::Add(..), Effect::Add(..)))
            && (&self.condition, &self.names, &self.values) == (&other.condition, &other.names, &other.values)
    }

    /// Lets the item keep the time of the transaction, which must be later than the one that it has.
    fn stamp(&mut self, time: i64) {
        match &mut self.effect {
            Effect::Put(item) | Effect::Write(_, item) => _ = item.insert(STAMP.to_owned(), number(time)),
            Effect::Change(_, Changes { expression, .. }) => *expression = with_stamp(expression),
            Effect::Update(_, expression) => *expression = with_stamp(expression).into(),
            Effect::Add(..) | Effect::Delete(_) | Effect::Check(_) => {}
        }
        if self.condition == VACANT {
            return;
        }
        let both =
            if self.condition.is_empty() { String::new() } else { format!("({}) AND ", self.condition) };
        self.condition = format!("{both}(attribute_not_exists(#stamp) OR #stamp < :stamp)").into();
        self.names.push(("#stamp", STAMP.to_owned()));
        self.values.push((":stamp", number(time)));
    }

    fn build(self, table: &str) -> Result<TransactWriteItem, BuildError> {
        const OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;
        let condition = Some(self.condition.into_owned()).filter(|condition| !condition.is_empty());
        let names: HashMap<_, _> =
            self.names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let values: HashMap<_, _> =
            self.values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let names = Some(names).filter(|names| !names.is_empty());
        let values = Some(values).filter(|values| !values.is_empty());
        let action = TransactWriteItem::builder();
        Ok(match self.effect {
            Effect::Put(item) => action.put(
                Put::builder()
                    .table_name(table)
                    .set_item(Some(item))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(OLD)
                    .build()?,
            ),
            Effect::Write(key, item) => {
                action.update(Changes::to(item).update(table, key, condition, names, values)?)
            }
            // The item only keeps the time of the transaction, and the handle has no clock.
            Effect::Change(key, changes) if changes.expression.is_empty() => action.condition_check(
                ConditionCheck::builder()
                    .table_name(table)
                    .set_key(Some(key.attributes()))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .build()?,
            ),
            Effect::Change(key, changes) => {
                action.update(changes.update(table, key, condition, names, values)?)
            }
            Effect::Update(key, expression) => action.update(
                Update::builder()
                    .table_name(table)
                    .set_key(Some(key.attributes()))
                    .update_expression(expression)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(OLD)
                    .build()?,
            ),
            Effect::Add(key, counts) => {
                let mut sums = Vec::new();
                let (mut names, mut values) = (names.unwrap_or_default(), values.unwrap_or_default());
                let set = if names.contains_key(EXPIRES) { "SET #expires = :expires " } else { "" };
                for (index, (name, by)) in counts.into_iter().enumerate() {
                    sums.push(format!("#c{index} :c{index}"));
                    names.insert(format!("#c{index}"), name);
                    values.insert(format!(":c{index}"), number(by));
                }
                action.update(
                    Update::builder()
                        .table_name(table)
                        .set_key(Some(key.attributes()))
                        .update_expression(format!("{set}ADD {}", sums.join(", ")))
                        .set_condition_expression(condition)
                        .set_expression_attribute_names(Some(names))
                        .set_expression_attribute_values(Some(values))
                        .return_values_on_condition_check_failure(OLD)
                        .build()?,
                )
            }
            Effect::Delete(key) => action.delete(
                Delete::builder()
                    .table_name(table)
                    .set_key(Some(key.attributes()))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(OLD)
                    .build()?,
            ),
            Effect::Check(key) => action.condition_check(
                ConditionCheck::builder()
                    .table_name(table)
                    .set_key(Some(key.attributes()))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .build()?,
            ),
        }
        .build())
    }
}

impl Store {
    /// Commits all writes or none. The SDK's retries use the same idempotency token, so they cannot write twice.
    ///
    /// The acts of the transaction get their entries in the audit log here, so whoever commits cannot forget them.
    pub async fn commit(&self, mut transaction: Transaction) -> Result<(), CommitError> {
        // Entries and changes name the actor, who is known from the admission on.
        self.admitted().await;
        let acts = std::mem::take(&mut transaction.acts);
        let changes = transaction.told().to_vec();
        transaction.changes.clear();
        let mut after = i64::MIN;
        // In rare cases the identifier of an entry is in use, or the clock of another function is fast.
        for _ in 0..ENTRY_ATTEMPTS {
            match self.commit_with_entries(transaction.clone(), &acts, &changes, after).await {
                Err(Refusal::EntryExists) => {}
                Err(Refusal::TooEarly(stamp)) => after = stamp,
                Err(Refusal::Error(error)) => return Err(error),
                Ok(()) => return Ok(()),
            }
        }
        Err(CommitError::Stale)
    }

    async fn commit_with_entries(
        &self,
        mut transaction: Transaction,
        acts: &[Act],
        changes: &[Recorded],
        after: i64,
    ) -> Result<(), Refusal> {
        let _time = self.add_to_outbox(&mut transaction, changes, after).map_err(CommitError::from)?;
        for Act { action, target, tool } in acts {
            let entry = self.audit_item(transaction.tenant, *action, *target, tool.clone());
            if let Some(entry) = entry.map_err(CommitError::from)? {
                transaction.plain(Effect::Put(entry), Guard::AuditEntry, VACANT);
            }
        }
        if let Some(cause) = self.origin.as_deref().and_then(AuditOrigin::cause) {
            transaction.name_cause_of_tasks(cause);
        }
        let guards: Vec<_> = transaction.actions.iter().map(|action| action.guard).collect();
        // An action is large, but these values of its condition are not.
        let sent: Vec<_> = transaction.actions.iter().map(|action| action.values.clone()).collect();
        let actions: Result<Vec<_>, _> =
            transaction.actions.into_iter().map(|action| action.build(&self.table)).collect();
        let actions = actions
            .map_err(|error| StoreError::Internal(format!("a transaction cannot be built: {error}")))
            .map_err(CommitError::from)?;
        let call = self.client.transact_write_items().set_transact_items(Some(actions));
        let call = call.set_return_consumed_capacity(self.wanted_capacity());
        let error = match self.count(call.send()).await {
            Ok(answer) => {
                self.meter.has_written(answer.consumed_capacity.as_deref().unwrap_or_default());
                return Ok(());
            }
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(error) if error.is_transaction_canceled_exception() => {}
            _ => return Err(CommitError::from(StoreError::of(&error)).into()),
        }
        let reasons = match error.into_service_error() {
            TransactWriteItemsError::TransactionCanceledException(cancelled) => {
                cancelled.cancellation_reasons
            }
            _ => None,
        };
        let reasons = reasons.unwrap_or_default();
        if only_entries_exist(&guards, &reasons) {
            return Err(Refusal::EntryExists);
        }
        if let Some(stamp) = too_early(&sent, &reasons) {
            return Err(Refusal::TooEarly(stamp));
        }
        let error = commit_error(&guards, reasons);
        match &error {
            CommitError::Stale | CommitError::InFlight => self.meter.conflicted(),
            CommitError::Store(StoreError::Unavailable(code)) => self.meter.refused(code),
            _ => {}
        }
        Err(error.into())
    }
}

/// An update expression that also sets the stamp.
fn with_stamp(expression: &str) -> String {
    match expression.strip_prefix("SET ") {
        Some(rest) => format!("SET #stamp = :stamp, {rest}"),
        None => format!("SET #stamp = :stamp {expression}"),
    }
}

/// Whether a transaction failed only because identifiers of entries in the audit log are in use.
fn only_entries_exist(guards: &[Guard], reasons: &[CancellationReason]) -> bool {
    let failed = guards.iter().zip(reasons).filter(|(_, reason)| reason.code.as_deref() != Some("None"));
    let mut failed = failed.map(|(guard, reason)| (guard, reason.code.as_deref())).peekable();
    failed.peek().is_some()
        && failed.all(|failed| matches!(failed, (Guard::AuditEntry, Some("ConditionalCheckFailed"))))
}

/// The latest stamp of an item that the transaction was too early for, if it failed for no other reason.
fn too_early(sent: &[Vec<(&str, AttributeValue)>], reasons: &[CancellationReason]) -> Option<i64> {
    let mut latest = None;
    for (values, reason) in sent.iter().zip(reasons) {
        match reason.code.as_deref() {
            None | Some("None") => {}
            Some("ConditionalCheckFailed") => {
                latest = latest.max(Some(later_stamp(values, reason.item.as_ref()?)?));
            }
            Some(_) => return None,
        }
    }
    latest
}

/// The stamp of an item as it is stored, if nothing but the stamp made a condition with these values fail.
fn later_stamp(values: &[(&str, AttributeValue)], stored: &Item) -> Option<i64> {
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    let time = value(":stamp")?.as_n().ok()?.parse::<i64>().ok()?;
    let stamp = i64::try_from(item::count(stored, STAMP)).ok()?;
    let is_version = value(":version").is_none_or(|version| stored.get(VERSION) == Some(version));
    (stamp >= time && is_version).then_some(stamp)
}

/// Returns the error for a cancelled transaction. If several conditions failed, a receipt takes precedence, followed by
/// a DynamoDB error, a concurrent request, a taken slug and taken values of unique fields.
fn commit_error(guards: &[Guard], reasons: Vec<CancellationReason>) -> CommitError {
    let mut slug = None;
    let mut taken = Vec::new();
    let mut role = false;
    let mut stale = false;
    let mut store_error = None;
    let mut in_flight = false;
    for (guard, reason) in guards.iter().zip(reasons) {
        match (reason.code.as_deref().unwrap_or("None"), guard) {
            ("ConditionalCheckFailed", Guard::Receipt) => {
                return match item::read(reason.item.unwrap_or_default()) {
                    Ok(receipt) => CommitError::Repeated(Box::new(receipt)),
                    Err(error) => error.into(),
                };
            }
            ("ConditionalCheckFailed", Guard::Slug { number }) => {
                let last = reason.item.map_or(0, |item| item::count(&item, "last"));
                slug = slug.max(Some(last.max(*number)));
            }
            ("ConditionalCheckFailed", Guard::Claim(field)) => {
                let owner = reason.item.and_then(|item| Id::new(item::count(&item, "id")));
                taken.push(Taken { field: *field, owner });
            }
            ("ConditionalCheckFailed", Guard::Role) => role = true,
            // The changed item may be the candidate itself, which then already has the value.
            ("ConditionalCheckFailed" | "TransactionConflict", Guard::Unchanged)
            | ("TransactionConflict", Guard::Role | Guard::AuditEntry) => stale = true,
            ("TransactionConflict", Guard::Receipt) => in_flight = true,
            // A refused entry is not the only reason, so it is found again in the next attempt.
            ("None" | "TransactionConflict", _) | ("ConditionalCheckFailed", Guard::AuditEntry) => {}
            (code, _) if StoreError::is_transient(code) => {
                store_error = Some(StoreError::Unavailable(code.to_owned()));
            }
            (code, _) => {
                let message = reason.message.unwrap_or_default();
                let message = format!("DynamoDB rejected a transaction: {code}: {message}");
                store_error = Some(StoreError::Internal(message));
            }
        }
    }
    match (store_error, slug) {
        (Some(error), _) => error.into(),
        (None, _) if in_flight => CommitError::InFlight,
        (None, Some(last)) => CommitError::SlugTaken { last },
        (None, None) if stale => CommitError::Stale,
        (None, None) if role => CommitError::RoleChanged,
        (None, None) if taken.is_empty() => CommitError::Stale,
        (None, None) => {
            taken.sort_by_key(|taken| taken.field);
            CommitError::Taken(taken)
        }
    }
}

#[cfg(test)]
mod tests;
