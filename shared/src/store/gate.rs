//! The gate: one conditional write authenticates the caller and counts the request against the day's quota.
//!
//! The gate item holds the plan of the organization (in one mode), the hashes of its API keys and access tokens as
//! `alive`, and each day's request counter as `day_{date}`. The write adds what the request costs to today's counter, on the
//! condition that `alive` contains the credential's hash, and that the plan has no limit or the counter stays within it. As a
//! result, revocation takes effect at once, the limit is exact under any concurrency, no job has to run at midnight, and wrong
//! credentials use no quota.
//!
//! DynamoDB allows an item 1,000 writes a second. Above that, requests of a Pro tenant are counted on shards. The gate says until
//! which day they were (`shards`), which is written before the first one is counted, so nobody reads shards that were never used,
//! and nobody misses a count.
//!
//! A request from a network that its key may not be used from is authenticated with a read of the item and is not counted, so
//! whoever has found a key uses up no quota with it.
//!
//! Each request writes the whole item, and DynamoDB bills each KB. With 25 keys and 50 applications, the item stays
//! below 1 KB, and takes a quarter more while the access tokens before the current ones are still valid. The text of a
//! credential therefore contains its scopes, its audience and its expiry (its MAC protects them), and the names of the
//! organization and of the credential are on other items.

use std::collections::HashMap;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};

use super::error::is_contention;
use super::item::number;
use super::keys::{self, GATE_SHARDS};
use super::{Item, Store, StoreError, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{Actor, ActorKind, Day, GateHash, Networks, Organization, Plan, Tenant};

/// The holder of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// The API key with this identifier.
    Key(Id),
    /// The application that has the grant with this identifier.
    App(Id),
}

/// A credential that a client presents. This service issued it, and it has not expired.
#[derive(Clone, Copy, Debug)]
pub struct PresentedCredential {
    /// The tenant whose data the credential gives access to.
    pub tenant: Tenant,
    /// The credential's holder.
    pub holder: Holder,
    /// The credential's hash, which the gate item contains if the credential is valid.
    pub hash: GateHash,
}

/// What is known about the holder of a credential.
#[derive(Clone, Debug)]
pub struct HolderDetails {
    /// The API key or the application.
    pub actor: Actor,
    /// The member who connected the application; `None` for an API key.
    pub member: Option<Id>,
    /// The networks from which the credential may be used.
    pub networks: Networks,
    /// The day on which the credential was last used.
    pub last_used_on: Option<Day>,
}

/// An admitted request.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The caller's organization, in the credential's mode.
    pub organization: Organization,
    /// The number of requests counted today on the gate item, including the cost of this one if it is counted.
    pub counted_today: u64,
}

/// The gate's decision.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The request is admitted and counted.
    Admitted(Box<Admission>),
    /// The credential is unknown, revoked or expired. The request is not counted.
    Unknown,
    /// The rest of the day's quota is less than what the request costs. The request is not counted.
    Exhausted {
        /// The plan's limit.
        limit: u64,
        /// The number of requests counted today.
        counted: u64,
    },
}

/// The attribute with the hashes of API keys and access tokens.
pub(super) const ALIVE: &str = "alive";
pub(super) const DAY_PREFIX: &str = "day_";
/// The attribute with the last day on which requests were counted on shards.
pub(super) const SHARDS: &str = "shards";

pub(super) fn day_attribute(day: Day) -> String {
    format!("{DAY_PREFIX}{day}")
}

/// The last day on which requests of a gate were counted on shards; `None` if there is none that is not archived.
pub(super) fn last_sharded_day(gate: &Item) -> Option<Day> {
    gate.get(SHARDS)?.as_s().ok()?.parse().ok()
}

/// A hash as an element of a set.
pub(super) fn element(hash: GateHash) -> AttributeValue {
    AttributeValue::B(Blob::new(hash.bytes()))
}

/// Hashes as a set, which must not be empty.
pub(super) fn set_of(hashes: impl IntoIterator<Item = GateHash>) -> AttributeValue {
    AttributeValue::Bs(hashes.into_iter().map(|hash| Blob::new(hash.bytes())).collect())
}

/// The hashes of API keys and access tokens on a gate item.
pub(super) fn hashes(item: &Item) -> impl Iterator<Item = GateHash> {
    let blobs = item.get(ALIVE).and_then(|set| set.as_bs().ok());
    blobs.into_iter().flatten().filter_map(|blob| GateHash::from_bytes(blob.as_ref()))
}

/// The result of the conditional write.
enum Attempt {
    Decided(Verdict),
    Contention,
}

impl Store {
    /// Authenticates a request, and counts it as `cost` requests. A message for assistants can cost nothing or more than 1.
    /// `shard` can be any number. It spreads the counts of a busy Pro tenant.
    pub async fn admit(
        &self,
        presented: &PresentedCredential,
        cost: u64,
        now: Timestamp,
        shard: u64,
    ) -> Result<Verdict, StoreError> {
        if let Attempt::Decided(verdict) = self.count_at_gate(presented, cost, now).await? {
            return Ok(verdict);
        }
        // DynamoDB allows an item 1,000 writes a second, and none while a transaction uses it. In both cases the item
        // is read and the condition is evaluated here. A request of a Pro tenant is counted on a shard, a used up quota
        // needs no write, and all other requests are tried again.
        let Some(item) = self.find_at_gate(presented).await? else { return Ok(Verdict::Unknown) };
        let sharded = last_sharded_day(&item);
        match evaluate(item, cost, now)? {
            Verdict::Admitted(admission) if admission.organization.plan == Plan::Pro => {
                let today = Day::of(now);
                self.open_shards(presented.tenant, today, sharded).await?;
                self.count_at_shard(presented.tenant, cost, today, shard).await?;
                Ok(Verdict::Admitted(admission))
            }
            Verdict::Admitted(_) => match self.count_at_gate(presented, cost, now).await? {
                Attempt::Decided(verdict) => Ok(verdict),
                Attempt::Contention => Err(StoreError::Unavailable("the gate is throttled".to_owned())),
            },
            rejected => Ok(rejected),
        }
    }

    /// Authenticates one request without counting it.
    pub async fn authenticate(
        &self,
        presented: &PresentedCredential,
        now: Timestamp,
    ) -> Result<Verdict, StoreError> {
        match self.find_at_gate(presented).await? {
            Some(item) => evaluate(item, 0, now),
            None => Ok(Verdict::Unknown),
        }
    }

    /// The tenant's gate item, if it contains the credential's hash.
    async fn find_at_gate(&self, presented: &PresentedCredential) -> Result<Option<Item>, StoreError> {
        let item = self.read(keys::gate(presented.tenant)).await?;
        Ok(item.filter(|item| contains(item, presented.hash)))
    }

    /// The details of a credential's holder.
    pub async fn find_holder(
        &self,
        tenant: Tenant,
        holder: Holder,
    ) -> Result<Option<HolderDetails>, StoreError> {
        Ok(match holder {
            Holder::Key(id) => self.find_api_key(tenant, id).await?.map(|key| HolderDetails {
                actor: Actor { kind: ActorKind::ApiKey, id: Some(id), name: key.name },
                member: None,
                networks: key.networks,
                last_used_on: key.last_used_on,
            }),
            Holder::App(id) => self.find_grant(tenant, id).await?.map(|grant| {
                let name = grant.client_name.as_str().to_owned();
                HolderDetails {
                    actor: Actor { kind: ActorKind::App, id: Some(id), name },
                    member: Some(grant.member),
                    networks: Networks::default(),
                    last_used_on: grant.last_used_on,
                }
            }),
        })
    }

    async fn count_at_gate(
        &self,
        presented: &PresentedCredential,
        cost: u64,
        now: Timestamp,
    ) -> Result<Attempt, StoreError> {
        let today = Day::of(now);
        let limited = Plan::Free;
        let names = HashMap::from([
            ("#alive".to_owned(), ALIVE.to_owned()),
            ("#plan".to_owned(), "plan".to_owned()),
            ("#day".to_owned(), day_attribute(today)),
        ]);
        let values = HashMap::from([
            (":hash".to_owned(), element(presented.hash)),
            (":cost".to_owned(), number(cost)),
            (":limited".to_owned(), AttributeValue::S(limited.as_str().to_owned())),
            (":most".to_owned(), number(limited.requests_per_day().unwrap_or(u64::MAX).saturating_sub(cost))),
        ]);
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(keys::gate(presented.tenant).attributes()))
            .update_expression("ADD #day :cost")
            .condition_expression(
                "contains(#alive, :hash) AND (#plan <> :limited OR attribute_not_exists(#day) OR #day <= :most)",
            )
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .customize()
            .config_override(without_retries());
        match self.count(call.send()).await {
            Ok(answer) => {
                let admission = admission(answer.attributes.unwrap_or_default(), now)?;
                Ok(Attempt::Decided(Verdict::Admitted(admission)))
            }
            Err(error) if is_contention(&error) => Ok(Attempt::Contention),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                    let item = failed.item.clone().unwrap_or_default();
                    if !contains(&item, presented.hash) {
                        return Ok(Attempt::Decided(Verdict::Unknown));
                    }
                    match evaluate(item, cost, now)? {
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

    /// Notes on the gate that requests of `today` are counted on shards, unless `sharded` says that it is noted. The day only
    /// grows, because shards are read for as long as a day up to it may not be archived.
    async fn open_shards(
        &self,
        tenant: Tenant,
        today: Day,
        mut sharded: Option<Day>,
    ) -> Result<(), StoreError> {
        /// How often a throttled write is tried. Meanwhile another request may have noted the same.
        const MAX_ATTEMPTS: usize = 4;
        for _ in 0..MAX_ATTEMPTS {
            if sharded.is_some_and(|day| day >= today) {
                return Ok(());
            }
            let call = self
                .client
                .update_item()
                .table_name(&*self.table)
                .set_key(Some(keys::gate(tenant).attributes()))
                .update_expression("SET #shards = :today")
                .condition_expression(
                    "attribute_exists(#alive) AND (attribute_not_exists(#shards) OR #shards < :today)",
                )
                .expression_attribute_names("#shards", SHARDS)
                .expression_attribute_names("#alive", ALIVE)
                .expression_attribute_values(":today", AttributeValue::S(today.to_string()))
                .customize()
                .config_override(without_retries());
            match self.count(call.send()).await {
                Ok(_) => return Ok(()),
                Err(error) if is_contention(&error) => {
                    let gate = self.read(keys::gate(tenant)).await?;
                    sharded = gate.as_ref().and_then(last_sharded_day);
                }
                Err(error) => match error.as_service_error() {
                    // Another request has noted the same or a later day, or all credentials have just ended.
                    Some(UpdateItemError::ConditionalCheckFailedException(_)) => return Ok(()),
                    _ => return Err(StoreError::of(&error)),
                },
            }
        }
        Err(StoreError::Unavailable("the gate is throttled".to_owned()))
    }

    /// Counts a request on a shard, or on one of the next if the shard is throttled.
    async fn count_at_shard(
        &self,
        tenant: Tenant,
        cost: u64,
        today: Day,
        shard: u64,
    ) -> Result<(), StoreError> {
        /// How many further shards are tried.
        const MAX_ATTEMPTS: u64 = 3;
        self.meter.counted_on_shard();
        let mut attempt = 0;
        loop {
            let shard = shard.wrapping_add(attempt) % GATE_SHARDS;
            let call = self
                .client
                .update_item()
                .table_name(&*self.table)
                .set_key(Some(keys::gate_shard(tenant, shard).attributes()))
                .update_expression("ADD #day :cost")
                .expression_attribute_names("#day", day_attribute(today))
                .expression_attribute_values(":cost", number(cost))
                .customize()
                .config_override(without_retries());
            match self.count(call.send()).await {
                Err(error) if is_contention(&error) && attempt < MAX_ATTEMPTS => attempt += 1,
                result => return result.map(|_| ()).map_err(|error| StoreError::of(&error)),
            }
        }
    }
}

/// The configuration of a write that counts a request. A retry after a lost response would count it twice.
fn without_retries() -> aws_sdk_dynamodb::config::Builder {
    aws_sdk_dynamodb::Config::builder().retry_config(RetryConfig::disabled())
}

/// Whether a gate item has a hash. Each comparison takes constant time.
fn contains(item: &Item, hash: GateHash) -> bool {
    hashes(item).any(|known| known.matches(hash))
}

/// Evaluates the write's condition on the quota for an item that was read.
fn evaluate(item: Item, cost: u64, now: Timestamp) -> Result<Verdict, StoreError> {
    let admission = admission(item, now)?;
    Ok(match admission.organization.plan.requests_per_day() {
        Some(limit) if admission.counted_today.saturating_add(cost) > limit => {
            Verdict::Exhausted { limit, counted: admission.counted_today }
        }
        _ => Verdict::Admitted(admission),
    })
}

fn admission(item: Item, now: Timestamp) -> Result<Box<Admission>, StoreError> {
    let counted_today = item::count(&item, &day_attribute(Day::of(now)));
    Ok(Box::new(Admission { organization: item::read(item)?, counted_today }))
}
