//! The gate: one conditional write says who is calling, whether they may, and what is left of the day's quota.
//!
//! The gate item holds the organization (in one mode), each API key as `key_{id}`, each connected application's access
//! token as `app_{grant id}` and each day's request counter as `day_{date}`. The write adds one to today's counter on the condition that the credential's hash matches, that it
//! has not expired and that the plan has no limit or the counter is below it. So revocation is immediate, the limit is
//! exact under any concurrency, midnight needs no job, and a wrong credential spends nothing.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::failure::turned_away;
use super::keys::{self, GATE_SHARDS};
use super::writes::number;
use super::{Failure, Item, Store, item};
use crate::id::Id;
use crate::model::{Day, Organization, Plan, Scopes, Tenant};

/// Who holds a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Whoever was given the API key with this id.
    Key(Id),
    /// The application that was granted access under this id.
    App(Id),
}

impl Holder {
    /// The gate item's attribute for the credential.
    pub(super) fn attribute(self) -> String {
        match self {
            Self::Key(id) => format!("key_{id}"),
            Self::App(id) => format!("{APP_PREFIX}{id}"),
        }
    }
}

/// A credential as it was presented: what it claims, and the hash that proves it.
#[derive(Clone, Debug)]
pub struct Presented {
    /// Whose data it opens.
    pub tenant: Tenant,
    /// Which of the tenant's credentials it is.
    pub holder: Holder,
    /// The hash that is stored of it.
    pub hash: String,
}

/// What the gate knows of a caller that it lets in.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The caller's organization, in the credential's mode.
    pub organization: Organization,
    /// What its owner calls the key, or the application's name.
    pub credential: String,
    /// What the credential may do.
    pub scopes: Scopes,
    /// The gate item's count of today's requests, this one included.
    pub counted_today: u64,
}

/// The gate's answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Let in, and counted.
    Admitted(Box<Admission>),
    /// No such credential, or it was revoked or has expired. Not counted.
    Unknown,
    /// The day's quota is spent. Not counted.
    Exhausted {
        /// The plan's limit.
        limit: u64,
    },
}

/// A credential on the gate item. The names are short because every request writes the whole item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Credential {
    #[serde(rename = "h")]
    pub(super) hash: String,
    #[serde(rename = "n", default)]
    pub(super) name: String,
    #[serde(rename = "s")]
    pub(super) scopes: Scopes,
    /// Epoch seconds; absent where it does not expire.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<i64>,
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub(super) last_used: Option<Day>,
}

pub(super) const APP_PREFIX: &str = "app_";
pub(super) const DAY_PREFIX: &str = "day_";

pub(super) fn day_attribute(day: Day) -> String {
    format!("{DAY_PREFIX}{day}")
}

enum Attempt {
    Settled(Verdict),
    TurnedAway,
}

impl Store {
    /// Authenticates and counts one request. `shard` spreads a busy Pro tenant's counts; any number will do.
    pub async fn admit(&self, presented: &Presented, now: Timestamp, shard: u64) -> Result<Verdict, Failure> {
        if let Attempt::Settled(verdict) = self.count_at_gate(presented, now).await? {
            return Ok(verdict);
        }
        // One item takes 1,000 writes a second, and none while a transaction is at it. Then the same questions are
        // answered by a read: Pro is counted on a shard, a spent quota needs no write, the rest is tried once more.
        let Some(item) = self.read(keys::gate(presented.tenant)).await? else { return Ok(Verdict::Unknown) };
        match judge(item, presented, now)? {
            Verdict::Admitted(admission) if admission.organization.plan == Plan::Pro => {
                self.count_at_shard(presented.tenant, Day::of(now), shard % GATE_SHARDS).await?;
                Ok(Verdict::Admitted(admission))
            }
            Verdict::Admitted(_) => match self.count_at_gate(presented, now).await? {
                Attempt::Settled(verdict) => Ok(verdict),
                Attempt::TurnedAway => Err(Failure::Unavailable("the gate is throttled".to_owned())),
            },
            refused => Ok(refused),
        }
    }

    async fn count_at_gate(&self, presented: &Presented, now: Timestamp) -> Result<Attempt, Failure> {
        let today = Day::of(now);
        let limited = Plan::Free;
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::gate(presented.tenant).attributes()))
            .update_expression("SET #credential.#used = :today ADD #day :one")
            .condition_expression(
                "#credential.#hash = :hash AND (attribute_not_exists(#credential.#expires) OR #credential.#expires > :now) \
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
            // A retry after a lost answer would count the same request twice.
            .config_override(aws_sdk_dynamodb::Config::builder().retry_config(RetryConfig::disabled()));
        match self.count(call.send()).await {
            Ok(answer) => {
                let admission = recognise(answer.attributes.unwrap_or_default(), presented, now)?;
                Ok(Attempt::Settled(admission.map_or(Verdict::Unknown, Verdict::Admitted)))
            }
            Err(error) if turned_away(&error) => Ok(Attempt::TurnedAway),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
                    let item = refused.item.clone().unwrap_or_default();
                    match judge(item, presented, now)? {
                        // The item says yes where the condition said no: it changed in between.
                        Verdict::Admitted(_) => Err(Failure::Unavailable("the gate has changed".to_owned())),
                        refused => Ok(Attempt::Settled(refused)),
                    }
                }
                _ => Err(Failure::of(&error)),
            },
        }
    }

    async fn count_at_shard(&self, tenant: Tenant, today: Day, shard: u64) -> Result<(), Failure> {
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::gate_shard(tenant, shard).attributes()))
            .update_expression("ADD #day :one")
            .expression_attribute_names("#day", day_attribute(today))
            .expression_attribute_values(":one", number(1));
        self.count(call.send()).await.map(|_| ()).map_err(|error| Failure::of(&error))
    }
}

/// The condition's three questions, asked of an item in hand.
fn judge(item: Item, presented: &Presented, now: Timestamp) -> Result<Verdict, Failure> {
    let Some(admission) = recognise(item, presented, now)? else { return Ok(Verdict::Unknown) };
    Ok(match admission.organization.plan.requests_per_day() {
        Some(limit) if admission.counted_today >= limit => Verdict::Exhausted { limit },
        _ => Verdict::Admitted(admission),
    })
}

/// Who the gate item says the credential is, if it is one of its own and still good.
fn recognise(item: Item, presented: &Presented, now: Timestamp) -> Result<Option<Box<Admission>>, Failure> {
    let Some(attribute) = item.get(&presented.holder.attribute()) else { return Ok(None) };
    let credential: Credential = serde_dynamo::from_attribute_value(attribute.clone())
        .map_err(|error| Failure::Internal(format!("a credential cannot be read: {error}")))?;
    let genuine: bool = credential.hash.as_bytes().ct_eq(presented.hash.as_bytes()).into();
    if !genuine || credential.expires_at.is_some_and(|expires_at| expires_at <= now.as_second()) {
        return Ok(None);
    }
    let counted_today = item::count(&item, &day_attribute(Day::of(now)));
    let organization = item::read(item)?;
    Ok(Some(Box::new(Admission {
        organization,
        credential: credential.name,
        scopes: credential.scopes,
        counted_today,
    })))
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}
