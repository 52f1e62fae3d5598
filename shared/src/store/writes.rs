//! Writes that hold together: one transaction, all of it or nothing.
//!
//! Every action carries its condition. What a failed condition means is decided here, from the action that it
//! belongs to; DynamoDB returns the item that stood in the way.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::candidates::ApplicantMove;
use super::keys::{self, EXPIRES_AT, Key};
use super::{Failure, Item, Store, item};
use crate::id::Id;
use crate::model::Tenant;

/// The answer to an idempotent request, kept so that a repetition gets it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// What was asked: a digest of method, path and body.
    pub fingerprint: String,
    /// The answer's status.
    pub status: u16,
    /// The answer's own headers.
    pub headers: Vec<(String, String)>,
    /// The answer's body.
    pub body: String,
    /// Set while an outside service is being asked: then there is no answer yet, and there may never be one.
    #[serde(default)]
    pub pending: Option<Pending>,
}

/// A request that waits for an outside service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Until when it may still be waiting.
    pub until: Timestamp,
    /// What is said of it afterwards, where it has not been heard of.
    pub sentence: String,
}

/// Where a receipt is kept, and until when.
#[derive(Clone, Debug)]
pub struct ReceiptSlot {
    /// The route that was called.
    pub route: &'static str,
    /// What the client sent as `Idempotency-Key`.
    pub idempotency_key: String,
    /// A receipt that has expired by now does not count.
    pub now: Timestamp,
    /// When this one expires.
    pub expires_at: Timestamp,
}

/// Why a transaction did not happen. Nothing of it was written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Something that it was based on has changed since it was read, or another write was at the same items: read
    /// again and decide anew.
    #[error("the items have changed")]
    Stale,
    /// Another transaction was at the receipt at the same moment.
    #[error("a request with this idempotency key is being carried out")]
    InFlight,
    /// The slug, or its number, is taken; numbers up to `last` are.
    #[error("the slug is taken up to number {last}")]
    SlugTaken {
        /// The highest number known to be taken.
        last: u64,
    },
    /// Another candidate has the e-mail address.
    #[error("the e-mail address is in use")]
    EmailTaken,
    /// The request has been carried out before.
    #[error("the request has been carried out before")]
    Done(Box<Receipt>),
    /// DynamoDB failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// What a failed condition means.
#[derive(Clone, Copy, Debug)]
enum Guard {
    Unchanged,
    Slug { number: u64 },
    Email,
    Receipt,
}

#[derive(Clone, Debug)]
enum Effect {
    Put(Item),
    Update(Key, &'static str),
    Delete(Key),
    Check(Key),
}

#[derive(Clone, Debug)]
struct Action {
    effect: Effect,
    guard: Guard,
    condition: &'static str,
    names: Vec<(&'static str, String)>,
    values: Vec<(&'static str, AttributeValue)>,
}

/// Writes to be made together, for one tenant.
#[derive(Clone, Debug)]
pub struct Writes {
    pub(super) tenant: Tenant,
    actions: Vec<Action>,
    /// Where the candidate's applications stand in the index, when that changes.
    pub(super) applicant: Option<ApplicantMove>,
}

/// A taken slug: whose it is, and how far the numbers behind it have been given out.
#[derive(Serialize, Deserialize)]
pub(super) struct SlugClaim {
    pub(super) id: Id,
    pub(super) last: u64,
}

/// The most actions of a transaction.
const MAX_ACTIONS: usize = 100;
const VACANT: &str = "attribute_not_exists(pk)";
const SAME_VERSION: &str = "#version = :version";

impl Writes {
    /// No writes yet.
    pub const fn new(tenant: Tenant) -> Self {
        Self { tenant, actions: Vec::new(), applicant: None }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Adds the receipt of the request that these writes carry out.
    pub fn receipt(&mut self, slot: &ReceiptSlot, receipt: &Receipt) -> Result<(), Failure> {
        let item = self.receipt_item(slot, receipt)?;
        self.actions.push(Action {
            effect: Effect::Put(item),
            guard: Guard::Receipt,
            condition: "attribute_not_exists(pk) OR #expires <= :now",
            names: vec![("#expires", EXPIRES_AT.to_owned())],
            values: vec![(":now", number(slot.now.as_second()))],
        });
        Ok(())
    }

    /// The receipt in place of the pending one that these writes conclude.
    pub fn conclude_receipt(&mut self, slot: &ReceiptSlot, receipt: &Receipt) -> Result<(), Failure> {
        let item = self.receipt_item(slot, receipt)?;
        self.put(item);
        Ok(())
    }

    /// No receipt: what was pending has not been done.
    pub fn withdraw_receipt(&mut self, slot: &ReceiptSlot) {
        self.delete(keys::receipt(self.tenant, slot.route, &slot.idempotency_key));
    }

    fn receipt_item(&self, slot: &ReceiptSlot, receipt: &Receipt) -> Result<Item, Failure> {
        let key = keys::receipt(self.tenant, slot.route, &slot.idempotency_key);
        let mut item = item::write(receipt, key, None)?;
        item.insert(EXPIRES_AT.to_owned(), number(slot.expires_at.as_second()));
        Ok(item)
    }

    /// A new item; its place must be empty.
    pub(super) fn insert(&mut self, item: Item) {
        self.plain(Effect::Put(item), Guard::Unchanged, VACANT);
    }

    /// An item, whatever was in its place: another action of the transaction guards it.
    pub(super) fn put(&mut self, item: Item) {
        self.plain(Effect::Put(item), Guard::Unchanged, "");
    }

    /// An item in place of one that must be there.
    pub(super) fn rewrite(&mut self, item: Item) {
        self.plain(Effect::Put(item), Guard::Unchanged, "attribute_exists(pk)");
    }

    /// No item any more; it must be there.
    pub(super) fn delete_existing(&mut self, key: Key) {
        self.plain(Effect::Delete(key), Guard::Unchanged, "attribute_exists(pk)");
    }

    /// No item any more: another action of the transaction guards it.
    pub(super) fn delete(&mut self, key: Key) {
        self.plain(Effect::Delete(key), Guard::Unchanged, "");
    }

    /// A new claim on an e-mail address; its place must be empty.
    pub(super) fn insert_email(&mut self, item: Item) {
        self.plain(Effect::Put(item), Guard::Email, VACANT);
    }

    /// How many more actions a transaction has room for.
    pub(super) fn room(&self) -> usize {
        MAX_ACTIONS.saturating_sub(self.actions.len())
    }

    /// A new slug; its place must be empty, or else `number` is taken.
    pub(super) fn insert_slug(&mut self, item: Item, number: u64) {
        self.plain(Effect::Put(item), Guard::Slug { number }, VACANT);
    }

    /// An item in place of the one before it: the version that `version` follows.
    pub(super) fn replace(&mut self, item: Item, version: u64) {
        self.supersede(item, version.saturating_sub(1));
    }

    /// An item in place of the one that has this version.
    pub(super) fn supersede(&mut self, item: Item, version: u64) {
        self.versioned(Effect::Put(item), version);
    }

    /// No item in place of the one that has this version.
    pub(super) fn delete_version(&mut self, key: Key, version: u64) {
        self.versioned(Effect::Delete(key), version);
    }

    /// No write, but the item must still have this version.
    pub(super) fn require(&mut self, key: Key, version: u64) {
        self.versioned(Effect::Check(key), version);
    }

    /// Notes that a slug's numbers have been given out up to this one.
    pub(super) fn raise_slug(&mut self, key: Key, to: u64) {
        self.actions.push(Action {
            effect: Effect::Update(key, "SET #last = :number"),
            guard: Guard::Slug { number: to },
            condition: "#last < :number",
            names: vec![("#last", "last".to_owned())],
            values: vec![(":number", number(to))],
        });
    }

    /// Sets or removes attributes of an item, on a condition.
    pub(super) fn update(
        &mut self,
        key: Key,
        expression: &'static str,
        condition: &'static str,
        names: Vec<(&'static str, String)>,
        values: Vec<(&'static str, AttributeValue)>,
    ) {
        let effect = Effect::Update(key, expression);
        self.actions.push(Action { effect, guard: Guard::Unchanged, condition, names, values });
    }

    fn versioned(&mut self, effect: Effect, version: u64) {
        let names = vec![("#version", "version".to_owned())];
        let values = vec![(":version", number(version))];
        self.actions.push(Action { effect, guard: Guard::Unchanged, condition: SAME_VERSION, names, values });
    }

    fn plain(&mut self, effect: Effect, guard: Guard, condition: &'static str) {
        self.actions.push(Action { effect, guard, condition, names: Vec::new(), values: Vec::new() });
    }
}

/// A DynamoDB number.
pub(super) fn number(value: impl Into<i128>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

impl Action {
    fn build(self, table: &str) -> Result<TransactWriteItem, BuildError> {
        const OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;
        let condition = Some(self.condition.to_owned()).filter(|condition| !condition.is_empty());
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
            Effect::Delete(key) => action.delete(
                Delete::builder()
                    .table_name(table)
                    .set_key(Some(key.attributes()))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
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
    /// Makes the writes, all or none. Only of a candidate with very many applications the index follows, by a task.
    pub async fn commit(&self, mut writes: Writes) -> Result<(), Refusal> {
        if let Some(applicant) = writes.applicant.take() {
            writes.index(applicant)?;
        }
        self.transact(writes).await
    }

    /// One transaction. The SDK's own retries carry one token, so that they can't write twice.
    pub(super) async fn transact(&self, writes: Writes) -> Result<(), Refusal> {
        let guards: Vec<_> = writes.actions.iter().map(|action| action.guard).collect();
        let actions: Result<Vec<_>, _> =
            writes.actions.into_iter().map(|action| action.build(&self.table)).collect();
        let actions =
            actions.map_err(|error| Failure::Internal(format!("a transaction cannot be built: {error}")))?;
        let call = self.client.transact_write_items().set_transact_items(Some(actions));
        let Err(error) = self.count(call.send()).await else { return Ok(()) };
        match error.as_service_error() {
            Some(failed) if failed.is_transaction_canceled_exception() => {}
            _ => return Err(Failure::of(&error).into()),
        }
        let reasons = match error.into_service_error() {
            TransactWriteItemsError::TransactionCanceledException(cancelled) => {
                cancelled.cancellation_reasons
            }
            _ => None,
        };
        Err(refusal(&guards, reasons.unwrap_or_default()))
    }

    /// The receipt of a request that has been carried out before.
    pub async fn find_receipt(&self, tenant: Tenant, slot: &ReceiptSlot) -> Result<Option<Receipt>, Failure> {
        let found = self.read(keys::receipt(tenant, slot.route, &slot.idempotency_key)).await?;
        let now = u64::try_from(slot.now.as_second()).unwrap_or(0);
        found.filter(|item| item::count(item, EXPIRES_AT) > now).map(item::read).transpose()
    }
}

/// What a cancelled transaction comes down to: a receipt says most, then DynamoDB's own trouble, then a slug.
fn refusal(guards: &[Guard], reasons: Vec<CancellationReason>) -> Refusal {
    let mut slug = None;
    let mut email = false;
    let mut stale = false;
    let mut trouble = None;
    let mut in_flight = false;
    for (guard, reason) in guards.iter().zip(reasons) {
        match (reason.code.as_deref().unwrap_or("None"), guard) {
            ("ConditionalCheckFailed", Guard::Receipt) => {
                return match item::read(reason.item.unwrap_or_default()) {
                    Ok(receipt) => Refusal::Done(Box::new(receipt)),
                    Err(failure) => failure.into(),
                };
            }
            ("ConditionalCheckFailed", Guard::Slug { number }) => {
                let given_out = reason.item.map_or(0, |item| item::count(&item, "last"));
                slug = slug.max(Some(given_out.max(*number)));
            }
            ("ConditionalCheckFailed", Guard::Email) => email = true,
            // What has changed may be the candidate itself, which then has the address already.
            ("ConditionalCheckFailed" | "TransactionConflict", Guard::Unchanged) => stale = true,
            ("TransactionConflict", Guard::Receipt) => in_flight = true,
            ("None" | "TransactionConflict", _) => {}
            (code, _) if Failure::transient_code(code) => {
                trouble = Some(Failure::Unavailable(code.to_owned()));
            }
            (code, _) => {
                let message = reason.message.unwrap_or_default();
                trouble =
                    Some(Failure::Internal(format!("DynamoDB refused a transaction: {code}: {message}")));
            }
        }
    }
    match (trouble, slug) {
        (Some(failure), _) => failure.into(),
        (None, _) if in_flight => Refusal::InFlight,
        (None, Some(last)) => Refusal::SlugTaken { last },
        (None, None) if email && !stale => Refusal::EmailTaken,
        (None, None) => Refusal::Stale,
    }
}
