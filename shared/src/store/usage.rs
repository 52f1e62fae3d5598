//! Usage: the request counters, and the finished days that the reset job archives.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

use super::gate::{DAY_PREFIX, SHARDS, day_attribute, last_sharded_day};
use super::item::{FORM, LATEST_FORM, number};
use super::keys::{self, GATE_SHARDS, Key};
use super::{CommitError, Item, Listed, Paging, Store, StoreError, Transaction, item};
use crate::model::{Day, Tenant};

/// The number of requests on a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageDay {
    /// The day.
    pub day: Day,
    /// The number of requests.
    pub requests: u64,
}

impl Store {
    /// The tenant's number of requests per day, for today and for days that are not archived yet.
    pub async fn counted_requests(&self, tenant: Tenant) -> Result<HashMap<Day, u64>, StoreError> {
        let mut days = HashMap::new();
        for counter in self.read_counters(tenant).await? {
            for day in counter.keys().filter_map(|name| name.strip_prefix(DAY_PREFIX)?.parse().ok()) {
                *days.entry(day).or_default() += item::count(&counter, &day_attribute(day));
            }
        }
        Ok(days)
    }

    /// The tenant's gate, if it exists, and the shards that count requests.
    async fn read_counters(&self, tenant: Tenant) -> Result<Vec<Item>, StoreError> {
        let Some(gate) = self.read(keys::gate(tenant)).await? else { return Ok(Vec::new()) };
        let mut counters = self.read_shards(tenant, &gate).await?;
        counters.insert(0, gate);
        Ok(counters)
    }

    /// The shards that count requests besides the tenant's gate; none are read if the gate says that there are none.
    pub(super) async fn read_shards(&self, tenant: Tenant, gate: &Item) -> Result<Vec<Item>, StoreError> {
        if last_sharded_day(gate).is_none() {
            return Ok(Vec::new());
        }
        self.read_many((0..GATE_SHARDS).map(|shard| keys::gate_shard(tenant, shard))).await
    }

    /// A page of the tenant's archived days, latest first.
    pub async fn list_usage(&self, tenant: Tenant, page: &Paging) -> Result<Listed<UsageDay>, StoreError> {
        self.read_page(&keys::usage(tenant), page).await
    }

    /// Moves the counters of all days before `today` from the tenant's gate to its usage history. Returns the number of
    /// counters that it moved.
    ///
    /// A separate transaction moves each counter, on the condition that the counter has not changed since it was read,
    /// and *adds* it to the history. As a result, a second run moves nothing, two concurrent runs move each counter
    /// once, a killed run leaves the remaining counters to the next run, and a request that was counted late is added
    /// later. Once the shards have counted nothing for a whole day, the gate no longer names them.
    pub async fn archive_usage(&self, tenant: Tenant, today: Day) -> Result<usize, StoreError> {
        let mut archived = 0;
        // A request that was admitted before midnight may still be counted, which changes the counter.
        for _ in 0..5 {
            let mut contended = false;
            let counters = self.read_counters(tenant).await?;
            for item in &counters {
                for (day, requests) in finished_days(item, today) {
                    match self.commit(archive(tenant, item, day, requests)?).await {
                        Ok(()) => archived += 1,
                        Err(CommitError::Store(error)) => return Err(error),
                        Err(_) => contended = true,
                    }
                }
            }
            if !contended {
                // A request of yesterday may still be counted.
                let unused = counters.first().and_then(last_sharded_day).filter(|day| *day < today.before(1));
                if let Some(day) = unused {
                    self.close_shards(tenant, day).await?;
                }
                return Ok(archived);
            }
        }
        Err(StoreError::Unavailable("counters kept changing".to_owned()))
    }

    /// Removes the day of the shards from the gate, unless requests were counted on shards after that day.
    async fn close_shards(&self, tenant: Tenant, day: Day) -> Result<(), StoreError> {
        let mut transaction = Transaction::new(tenant);
        transaction.update(
            keys::gate(tenant),
            "REMOVE #shards",
            "#shards = :day",
            vec![("#shards", SHARDS.to_owned())],
            vec![(":day", AttributeValue::S(day.to_string()))],
        );
        match self.commit(transaction).await {
            Err(CommitError::Store(error)) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn finished_days(item: &Item, today: Day) -> Vec<(Day, u64)> {
    let day = |name: &String| name.strip_prefix(DAY_PREFIX)?.parse().ok();
    // The order of an item's attributes is random, and the days are archived in order.
    let mut days: Vec<_> = item.keys().filter_map(day).filter(|day| *day < today).collect();
    days.sort_unstable();
    days.into_iter().map(|day| (day, item::count(item, &day_attribute(day)))).collect()
}

fn archive(tenant: Tenant, counter: &Item, day: Day, requests: u64) -> Result<Transaction, StoreError> {
    let mut transaction = Transaction::new(tenant);
    transaction.update(
        Key::of(counter)?,
        "REMOVE #day",
        "#day = :requests",
        vec![("#day", day_attribute(day))],
        vec![(":requests", number(requests))],
    );
    transaction.update(
        keys::usage_day(tenant, day),
        "SET #form = :form, #date = :date ADD #requests :requests",
        "",
        vec![("#form", FORM.to_owned()), ("#date", "day".to_owned()), ("#requests", "requests".to_owned())],
        vec![
            (":form", number(LATEST_FORM)),
            (":date", AttributeValue::S(day.to_string())),
            (":requests", number(requests)),
        ],
    );
    Ok(transaction)
}
