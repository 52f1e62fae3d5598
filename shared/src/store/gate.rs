//! The gate: one conditional write authenticates the caller and counts the request against the day's quota.
//!
//! The gate item holds the organization (in one mode), each API key as `key_{id}`, each connected application's access
//! token as `app_{grant id}`, the access token that it has just replaced as `old_{grant id}`, and each day's request
//! counter as `day_{date}`. The write adds 1 to today's counter on the condition that the credential's hash matches, that the credential has not expired, and that the plan has no limit or
//! the counter is below it. As a result, revocation takes effect at once, the limit is exact under any concurrency, no
//! job has to run at midnight, and wrong credentials use no quota.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::error::is_contention;
use super::item::number;
use super::keys::{self, GATE_SHARDS};
use super::{Item, Store, StoreError, item};
use crate::id::Id;
use crate::model::{Actor, ActorKind, Day, Organization, Plan, Scopes, Tenant};

/// The holder of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The API key with this identifier.
    Key(Id),
    /// The application that has the grant with this identifier.
    App(Id),
    /// The same application with the access token before its current one.
    Replaced(Id),
}

impl Holder {
    fn actor(self, name: String) -> Actor {
        let (kind, id) = match self {
            Self::Key(id) => (ActorKind::ApiKey, id),
            Self::App(id) | Self::Replaced(id) => (ActorKind::App, id),
        };
        Actor { kind, id: Some(id), name }
    }

    /// The name of the gate item's attribute for the credential.
    pub(super) fn attribute(self) -> String {
        match self {
            Self::Key(id) => format!("key_{id}"),
            Self::App(id) => format!("{APP_PREFIX}{id}"),
            Self::Replaced(id) => format!("{REPLACED_PREFIX}{id}"),
        }
    }
}

/// A credential that a client presents.
#[derive(Clone, Debug)]
pub struct PresentedCredential {
    /// The tenant whose data the credential gives access to.
    pub tenant: Tenant,
    /// The credential's holder.
    pub holder: Holder,
    /// The credential's hash, which is compared with the stored hash.
    pub hash: String,
}

impl PresentedCredential {
    /// The same credential as a replaced access token, if the item has it as one that is still valid.
    fn as_replaced_in(&self, item: &Item, now: Timestamp) -> Result<Option<Self>, StoreError> {
        let Holder::App(id) = self.holder else { return Ok(None) };
        let replaced = Self { holder: Holder::Replaced(id), ..self.clone() };
        Ok(authenticate(item.clone(), &replaced, now)?.map(|_| replaced))
    }
}

/// The caller of an admitted request.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The caller's organization, in the credential's mode.
    pub organization: Organization,
    /// The API key or the application.
    pub actor: Actor,
    /// The member who gave the application access.
    pub member: Option<Id>,
    /// The scopes of the credential.
    pub scopes: Scopes,
    /// The number of requests counted today on the gate item, including this one.
    pub counted_today: u64,
}

/// The gate's decision.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The request is admitted and counted.
    Admitted(Box<Admission>),
    /// The credential is unknown, revoked or expired. The request is not counted.
    Unknown,
    /// The day's quota is used up. The request is not counted.
    Exhausted {
        /// The API key or the application.
        actor: Actor,
        /// The member who gave the application access.
        member: Option<Id>,
        /// The plan's limit.
        limit: u64,
    },
}

/// A credential on the gate item. The attribute names are short because every request writes the whole item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Credential {
    #[serde(rename = "h")]
    pub(super) hash: String,
    #[serde(rename = "n", default)]
    pub(super) name: String,
    #[serde(rename = "s")]
    pub(super) scopes: Scopes,
    /// The expiry in epoch seconds. Absent if the credential does not expire.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<i64>,
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub(super) last_used: Option<Day>,
    /// The member who gave the application access.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub(super) member: Option<Id>,
}

pub(super) const APP_PREFIX: &str = "app_";
pub(super) const REPLACED_PREFIX: &str = "old_";
pub(super) const DAY_PREFIX: &str = "day_";

pub(super) fn day_attribute(day: Day) -> String {
    format!("{DAY_PREFIX}{day}")
}

/// The result of the conditional write.
enum Attempt {
    Decided(Verdict),
    Contention,
}

impl Store {
    /// Authenticates and counts one request. `shard` can be any number. It spreads the counts of a busy Pro tenant.
    pub async fn admit(
        &self,
        presented: &PresentedCredential,
        now: Timestamp,
        shard: u64,
    ) -> Result<Verdict, StoreError> {
        if let Attempt::Decided(verdict) = self.count_at_gate(presented, now).await? {
            return Ok(verdict);
        }
        // DynamoDB allows an item 1,000 writes a second, and none while a transaction uses it. In both cases the item
        // is read and the condition is evaluated here. A request of a Pro tenant is counted on a shard, a used up quota
        // needs no write, and all other requests are tried again.
        let Some(item) = self.read(keys::gate(presented.tenant)).await? else { return Ok(Verdict::Unknown) };
        let replaced = presented.as_replaced_in(&item, now)?;
        let presented = replaced.as_ref().unwrap_or(presented);
        match evaluate(item, presented, now)? {
            Verdict::Admitted(admission) if admission.organization.plan == Plan::Pro => {
                self.count_at_shard(presented.tenant, Day::of(now), shard % GATE_SHARDS).await?;
                Ok(Verdict::Admitted(admission))
            }
            Verdict::Admitted(_) => match self.count_at_gate(presented, now).await? {
                Attempt::Decided(verdict) => Ok(verdict),
                Attempt::Contention => Err(StoreError::Unavailable("the gate is throttled".to_owned())),
            },
            rejected => Ok(rejected),
        }
    }

    async fn count_at_gate(
        &self,
        presented: &PresentedCredential,
        now: Timestamp,
    ) -> Result<Attempt, StoreError> {
        let today = Day::of(now);
        let limited = Plan::Free;
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::gate(presented.tenant).attributes()))
            .update_expression("SET #credential.#used = :today ADD #day :one")
            .condition_expression(
                "#credential.#hash = :hash \
                 AND (attribute_not_exists(#credential.#expires) OR #credential.#expires > :now) \
                 AND (#plan <> :limited OR attribute_not_exists(#day) OR #day < :limit)",
            )
            .expression_attribute_names("#credential", presented.holder.attribute())
            .expression_attribute_names("#hash", "h")
            .expression_attribute_names("#expires", "x")
            .expression_attribute_names("#used", "u")
            .expression_attribute_names("#plan", "plan")
            .expression_attribute_names("#day", day_attribute(today))
            .expression_attribute_values(":hash", text(&presented.hash))
            .expression_attribute_values(":now", number(now.as_second()))
            .expression_attribute_values(":today", text(&today.to_string()))
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":limited", text(limited.as_str()))
            .expression_attribute_values(":limit", number(limited.requests_per_day().unwrap_or(u64::MAX)))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .customize()
            // A retry after a lost response would count the request twice.
            .config_override(aws_sdk_dynamodb::Config::builder().retry_config(RetryConfig::disabled()));
        match self.count(call.send()).await {
            Ok(answer) => {
                let admission = authenticate(answer.attributes.unwrap_or_default(), presented, now)?;
                Ok(Attempt::Decided(admission.map_or(Verdict::Unknown, Verdict::Admitted)))
            }
            Err(error) if is_contention(&error) => Ok(Attempt::Contention),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                    let item = failed.item.clone().unwrap_or_default();
                    // A replaced access token costs a second write. Its use must not count as a use of its successor.
                    if let Some(replaced) = presented.as_replaced_in(&item, now)? {
                        return Box::pin(self.count_at_gate(&replaced, now)).await;
                    }
                    match evaluate(item, presented, now)? {
                        // The condition failed, but the returned item meets it, so the item has changed.
                        Verdict::Admitted(_) => {
                            Err(StoreError::Unavailable("the gate item has changed".to_owned()))
                        }
                        rejected => Ok(Attempt::Decided(rejected)),
                    }
                }
                _ => Err(StoreError::of(&error)),
            },
        }
    }

    async fn count_at_shard(&self, tenant: Tenant, today: Day, shard: u64) -> Result<(), StoreError> {
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::gate_shard(tenant, shard).attributes()))
            .update_expression("ADD #day :one")
            .expression_attribute_names("#day", day_attribute(today))
            .expression_attribute_values(":one", number(1));
        self.count(call.send()).await.map(|_| ()).map_err(|error| StoreError::of(&error))
    }
}

/// Evaluates the write's condition on an item that was read.
fn evaluate(item: Item, presented: &PresentedCredential, now: Timestamp) -> Result<Verdict, StoreError> {
    let Some(admission) = authenticate(item, presented, now)? else { return Ok(Verdict::Unknown) };
    Ok(match admission.organization.plan.requests_per_day() {
        Some(limit) if admission.counted_today >= limit => {
            let Admission { actor, member, .. } = *admission;
            Verdict::Exhausted { actor, member, limit }
        }
        _ => Verdict::Admitted(admission),
    })
}

/// Returns the caller if the gate item has the credential and the credential has not expired.
fn authenticate(
    item: Item,
    presented: &PresentedCredential,
    now: Timestamp,
) -> Result<Option<Box<Admission>>, StoreError> {
    let Some(attribute) = item.get(&presented.holder.attribute()) else { return Ok(None) };
    let credential: Credential = serde_dynamo::from_attribute_value(attribute.clone())
        .map_err(|error| StoreError::Internal(format!("a credential cannot be read: {error}")))?;
    let matches: bool = credential.hash.as_bytes().ct_eq(presented.hash.as_bytes()).into();
    if !matches || credential.expires_at.is_some_and(|expires_at| expires_at <= now.as_second()) {
        return Ok(None);
    }
    let counted_today = item::count(&item, &day_attribute(Day::of(now)));
    let organization = item::read(item)?;
    Ok(Some(Box::new(Admission {
        organization,
        actor: presented.holder.actor(credential.name),
        member: credential.member,
        scopes: credential.scopes,
        counted_today,
    })))
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}
