//! Usage: today's counters, and the finished days that the reset job archives.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::gate::{DAY_PREFIX, day_attribute};
use super::keys::{self, GATE_SHARDS, Key, PK, SK};
use super::writes::number;
use super::{Failure, Item, Listed, Page, Refusal, Store, Writes, item};
use crate::model::{Day, Tenant};

/// A finished day's requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageDay {
    /// The day.
    pub day: Day,
    /// How many requests were counted.
    pub requests: u64,
}

impl Store {
    /// How many requests the tenant has made on `day`, the gate's count and every shard's together.
    pub async fn requests_on(&self, tenant: Tenant, day: Day) -> Result<u64, Failure> {
        Ok(self.counted_requests(tenant).await?.get(&day).copied().unwrap_or(0))
    }

    /// How many requests the counters hold of each day: of today, and of days that are not archived yet.
    pub async fn counted_requests(&self, tenant: Tenant) -> Result<HashMap<Day, u64>, Failure> {
        let mut days = HashMap::new();
        for counter in self.read_many(counter_keys(tenant)).await? {
            for day in counter.keys().filter_map(|name| name.strip_prefix(DAY_PREFIX)?.parse().ok()) {
                *days.entry(day).or_default() += item::count(&counter, &day_attribute(day));
            }
        }
        Ok(days)
    }

    /// A tenant's finished days, latest first.
    pub async fn list_usage(&self, tenant: Tenant, page: &Page) -> Result<Listed<UsageDay>, Failure> {
        self.page(&keys::usage(tenant), page).await
    }

    /// Moves every counter of a day before `today` from the tenant's gate into its usage history, and says how many.
    ///
    /// Each counter moves in a transaction of its own, on the condition that it is still what was read, and is *added*
    /// to the history: a second run finds nothing to move, two at once move each counter once, a killed one leaves
    /// the rest for the next, and a request counted late is added later.
    pub async fn archive_usage(&self, tenant: Tenant, today: Day) -> Result<usize, Failure> {
        let mut archived = 0;
        for _ in 0..5 {
            let mut contended = false;
            for item in self.read_many(counter_keys(tenant)).await? {
                for (day, requests) in finished(&item, today) {
                    match self.commit(archive(tenant, &item, day, requests)?).await {
                        Ok(()) => archived += 1,
                        Err(Refusal::Failed(failure)) => return Err(failure),
                        Err(_) => contended = true,
                    }
                }
            }
            if !contended {
                return Ok(archived);
            }
        }
        Err(Failure::Unavailable("counters kept changing".to_owned()))
    }
}

fn counter_keys(tenant: Tenant) -> impl Iterator<Item = Key> {
    std::iter::once(keys::gate(tenant))
        .chain((0..GATE_SHARDS).map(move |shard| keys::gate_shard(tenant, shard)))
}

fn finished(item: &Item, today: Day) -> Vec<(Day, u64)> {
    let day = |name: &String| name.strip_prefix(DAY_PREFIX)?.parse().ok();
    let days = item.keys().filter_map(day).filter(|day| *day < today);
    days.map(|day| (day, item::count(item, &day_attribute(day)))).collect()
}

fn archive(tenant: Tenant, counter: &Item, day: Day, requests: u64) -> Result<Writes, Failure> {
    let place = |name| counter.get(name).and_then(|value| value.as_s().ok()).cloned();
    let (Some(pk), Some(sk)) = (place(PK), place(SK)) else {
        return Err(Failure::Internal("a counter has no key".to_owned()));
    };
    let mut writes = Writes::new(tenant);
    writes.update(
        Key { pk, sk },
        "REMOVE #day",
        "#day = :requests",
        vec![("#day", day_attribute(day))],
        vec![(":requests", number(requests))],
    );
    writes.update(
        keys::usage_day(tenant, day),
        "SET #date = :date ADD #requests :requests",
        "",
        vec![("#date", "day".to_owned()), ("#requests", "requests".to_owned())],
        vec![
            (":date", aws_sdk_dynamodb::types::AttributeValue::S(day.to_string())),
            (":requests", number(requests)),
        ],
    );
    Ok(writes)
}
