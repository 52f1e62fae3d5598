//! A client that keeps a copy of each list: it asks again and again what was updated after the latest time that it has seen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::Value;
use tokio::time::sleep;

use crate::clients::{Clients, Tenant};
use crate::work::Cast;

/// In one run of so many, there is such a client.
const COPIED: u64 = 10;
/// The first such run.
const FIRST_COPIED: u64 = 3;
/// The most items of a page. Walks have several pages, between which the lists change.
const PAGE: u32 = 2;
/// The lists.
const LISTS: [&str; 5] = ["candidates", "applications", "roles", "job_postings", "voice_screens"];
/// The time of the first question, before everything.
const FIRST: &str = "2020-01-01T00:00:00.000Z";

/// The copy of a tenant's lists.
pub(crate) struct Copies<'c> {
    clients: &'c Clients,
    tenant: &'c Tenant,
    lists: BTreeMap<&'static str, Copied>,
}

/// The copy of a list.
struct Copied {
    /// The latest `updated_at` of the walks that have ended.
    since: String,
    /// The `updated_at` of each item.
    items: BTreeMap<u64, String>,
}

impl<'c> Copies<'c> {
    /// The copy in a run with this seed, of the first tenant without a quota that others change; `None` in most runs.
    pub(crate) fn of(clients: &'c Clients, cast: &Cast, seed: u64) -> Option<Self> {
        let tenants = cast.tenants().into_iter().map(|tenant| &*clients.tenants[tenant]);
        let tenant = tenants.into_iter().find(|tenant| !tenant.is_free)?;
        let copied = || Copied { since: FIRST.to_owned(), items: BTreeMap::new() };
        let lists = LISTS.into_iter().map(|list| (list, copied())).collect();
        (seed % COPIED == FIRST_COPIED).then_some(Self { clients, tenant, lists })
    }

    /// Asks at random times, until the others are done. Every request is answered.
    pub(crate) async fn follow(&mut self, mut random: fastrand::Rng, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(random.u64(0..400))).await;
            self.ask(LISTS[random.usize(0..LISTS.len())]).await;
        }
    }

    /// Asks what has changed in a list. If a page fails, the next walk begins with the same time.
    async fn ask(&mut self, list: &'static str) -> bool {
        let Some(copied) = self.lists.get_mut(list) else { return false };
        let path = format!("/api/v1/{list}?updated_after={}&limit={PAGE}", copied.since);
        let (mut latest, mut next) = (copied.since.clone(), None::<String>);
        loop {
            let cursor = next.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let path = format!("{path}{cursor}");
            let answer = self.clients.send(self.tenant, Method::GET, &path, "", &Value::Null).await;
            let Some(items) = answer.body["data"].as_array().filter(|_| answer.status == 200) else {
                return false;
            };
            for item in items {
                let updated_at = item["updated_at"].as_str().unwrap_or_default();
                latest = latest.max(updated_at.to_owned());
                copied.items.insert(item["id"].as_u64().unwrap_or(0), updated_at.to_owned());
            }
            next = answer.body["next_cursor"].as_str().map(str::to_owned);
            if next.is_none() {
                copied.since = latest;
                return true;
            }
        }
    }

    /// Asks a last time, and returns what the copy lacks of the lists.
    pub(crate) async fn missing(&mut self) -> Vec<String> {
        let mut missing = Vec::new();
        for list in LISTS {
            if !self.ask(list).await {
                missing.push(format!("what has changed in {list} is not answered"));
            }
            let mut next = None::<String>;
            loop {
                let cursor = next.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
                let path = format!("/api/v1/{list}?limit=100{cursor}");
                let answer = self.clients.send(self.tenant, Method::GET, &path, "", &Value::Null).await;
                for item in answer.body["data"].as_array().into_iter().flatten() {
                    let known = item["id"].as_u64().and_then(|id| self.lists[list].items.get(&id));
                    if known.map(String::as_str) != item["updated_at"].as_str() {
                        missing.push(format!("the copy of {list} has {known:?} of {item}"));
                    }
                }
                next = answer.body["next_cursor"].as_str().map(str::to_owned);
                if next.is_none() {
                    break;
                }
            }
        }
        missing
    }
}
