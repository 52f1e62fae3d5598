//! The change feed: gives changes that transactions have left in the outbox their numbers, and writes the entries of changed
//! people in the search index. The function runs whenever a transaction writes to the outbox, and every minute for lost events.
//!
//! After that it starts the deliver function for the tenants with new events.
//!
//! A run may be late, run twice or concurrently, and be killed at any point: what one run has begun, the next one ends.

use std::collections::{BTreeSet, HashSet};
use std::future::ready;

use futures_util::stream::{self, StreamExt};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::{Value, json};
use shared::http::Environment;
use shared::id::Ids;
use shared::model::Tenant;
use shared::store::{CommitError, FeedRun, OutboxPartition, Sequenced};

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of events that got their numbers.
    pub events: usize,
    /// The number of items that could not be read and were moved to the quarantine.
    pub quarantined: usize,
    /// The number of tenants whose changes were left to the next run because of an error.
    pub failed: usize,
    /// For how many seconds the oldest change had waited.
    pub oldest: u64,
    /// The tenants whose feeds have new events.
    #[serde(skip)]
    pub advanced: Vec<Tenant>,
}

/// The number of tenants that one event for the deliver function names, in at most 30 bytes each.
const NAMED: usize = 1_000;
/// The number of tenants, and of partitions, processed at a time.
const CONCURRENCY: usize = 8;
/// The time after which a run begins no further round for a tenant. A run may take a minute, and another one begins every
/// minute.
const ENOUGH: SignedDuration = SignedDuration::from_secs(30);

/// Answers an event: those of the table's stream name the tenants, and the schedule's are for all.
pub async fn answer(event: Value, environment: Environment) -> Result<Summary, lambda_http::Error> {
    let Some(records) = event["Records"].as_array() else {
        return run_all(environment, true).await;
    };
    let tenant = |record: &Value| {
        let keys = &record["dynamodb"]["Keys"];
        OutboxPartition::tenant_of(keys["pk"]["S"].as_str()?, keys["sk"]["S"].as_str()?)
    };
    let tenants: HashSet<_> = records.iter().filter_map(tenant).collect();
    run_for(environment, tenants.into_iter().collect()).await
}

/// Moves the changes of all tenants to their feeds.
pub async fn run(environment: Environment) -> Result<Summary, lambda_http::Error> {
    run_all(environment, false).await
}

async fn run_all(environment: Environment, is_scheduled: bool) -> Result<Summary, lambda_http::Error> {
    let store = &environment.store;
    let lists = OutboxPartition::all().map(|partition| store.list_outbox_tenants(partition));
    let mut lists = stream::iter(lists).buffer_unordered(CONCURRENCY);
    // A tenant may have changes in both of its partitions.
    let (mut tenants, mut known, mut unlisted) = (Vec::new(), HashSet::new(), 0);
    while let Some(listed) = lists.next().await {
        match listed {
            Ok(found) => tenants.extend(found.into_iter().filter(|tenant| known.insert(*tenant))),
            Err(error) => {
                tracing::error!(failure = %error, "a part of the outbox could not be listed");
                unlisted += 1;
            }
        }
    }
    drop(lists);
    let summary = move_changes(environment, tenants, is_scheduled).await?;
    if unlisted > 0 {
        return Err(format!("{unlisted} partitions of the outbox could not be read").into());
    }
    Ok(summary)
}

/// Moves the changes of these tenants to their feeds. If a tenant fails, the run continues with the others and returns an
/// error at the end.
pub async fn run_for(environment: Environment, tenants: Vec<Tenant>) -> Result<Summary, lambda_http::Error> {
    move_changes(environment, tenants, false).await
}

/// Like [`run_for`]. The schedule's runs are logged even if nothing was waiting, because an alarm expects them.
async fn move_changes(
    environment: Environment,
    tenants: Vec<Tenant>,
    is_scheduled: bool,
) -> Result<Summary, lambda_http::Error> {
    let started = environment.clock.now();
    let ids = Ids::new(environment.clock.clone(), environment.random.clone());
    let run = FeedRun { number: environment.random.below(u64::MAX), ids: &ids, clock: &environment.clock };
    let runs = tenants.into_iter().map(|tenant| {
        let environment = &environment;
        async move { (tenant, advance(environment, run, tenant).await) }
    });
    let mut runs = stream::iter(runs).buffer_unordered(CONCURRENCY);
    let mut summary = Summary::default();
    while let Some((tenant, (done, result))) = runs.next().await {
        summary.events += done.events;
        summary.quarantined += done.quarantined;
        let age = done.oldest.map_or(0, |oldest| started.duration_since(oldest).as_secs());
        summary.oldest = summary.oldest.max(u64::try_from(age).unwrap_or(0));
        if done.events > 0 {
            summary.advanced.push(tenant);
        }
        if let Err(error) = result {
            tracing::error!(%tenant, refusal = %error, "changes were not moved to the feed");
            summary.failed += 1;
        }
    }
    start_deliveries(&environment, &summary.advanced).await;
    if is_scheduled || summary != Summary::default() {
        let Summary { events, quarantined, failed, oldest: feed_age, .. } = summary;
        tracing::info!(events, quarantined, failed, feed_age, "feed");
    }
    if summary.failed > 0 {
        return Err(format!("the feeds of {} tenants were not advanced", summary.failed).into());
    }
    Ok(summary)
}

/// Moves the changes of a tenant. Returns also what was moved before an error.
async fn advance(
    environment: &Environment,
    run: FeedRun<'_>,
    tenant: Tenant,
) -> (Sequenced, Result<(), CommitError>) {
    let (store, clock) = (&environment.store, &environment.clock);
    let started = clock.now();
    let mut total = Sequenced::default();
    loop {
        match store.sequence(tenant, run, &mut total).await {
            Ok(()) if total.has_more && clock.now().duration_since(started) <= ENOUGH => {}
            // If the changes are stale, another run is moving them.
            Ok(()) | Err(CommitError::Stale) => return (total, Ok(())),
            Err(error) => return (total, Err(error)),
        }
    }
}

/// Starts the deliver function for those of the tenants that have webhook endpoints. If this fails, its schedule delivers
/// their events within a minute.
async fn start_deliveries(environment: &Environment, advanced: &[Tenant]) {
    let Environment { store, clock, providers, .. } = environment;
    let Some(function) = providers.deliver_function() else { return };
    let with_endpoints = stream::iter(advanced.to_vec()).map(|tenant| async move {
        let endpoints = store.list_progress_of(tenant).await;
        let endpoints = endpoints.inspect_err(|error| {
            tracing::warn!(%tenant, failure = %error, "the endpoints of a tenant could not be listed");
        });
        endpoints.is_ok_and(|found| !found.is_empty()).then(|| tenant.to_string())
    });
    let waiting: BTreeSet<_> = with_endpoints.buffer_unordered(CONCURRENCY).filter_map(ready).collect().await;
    let waiting: Vec<_> = waiting.into_iter().collect();
    for tenants in waiting.chunks(NAMED) {
        let event = json!({ "tenants": tenants }).to_string();
        if let Err(error) = function.start(event, clock.now()).await {
            tracing::warn!(failure = %error, tenants = tenants.len(), "deliveries were not started");
        }
    }
}
