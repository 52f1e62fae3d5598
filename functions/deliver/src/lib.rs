//! Deliveries: sends the events of the feeds to the webhook endpoints. The function runs every minute, and the feed function
//! starts it when there are new events.
//!
//! An endpoint is a position in the feed. A transaction moves the position and adds the deliveries of the events that it
//! passes, so no event is left out. A run takes an endpoint for a while (a lease), so that two runs rarely send the same.
//! The function may run late, twice or concurrently, and it may be killed at any point: a delivery whose attempt was not
//! recorded is sent again.

mod endpoint;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::Value;
use shared::clock::{Timestamp, later};
use shared::http::Environment;
use shared::id::Ids;
use shared::model::{AuditActor, EndpointProgress, Tenant};
use shared::providers::webhooks::WebhookSender;
use shared::store::{AuditOrigin, CommitError, FeedHead, StoreError, WebhookPartition};
use shared::token_encryption::EncryptionKeys;
use tokio::sync::Semaphore;
use tracing::Instrument;

/// The results of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of endpoints with something to do.
    pub endpoints: usize,
    /// The number of requests that were answered with a status from 200 to 299.
    pub delivered: usize,
    /// The number of requests that failed. Most are repeated later.
    pub failed: usize,
    /// For how many seconds the oldest event or attempt had waited.
    pub oldest: u64,
}

/// The number of calls to the table at a time while a run looks for endpoints with something to do.
const CONCURRENCY: usize = 16;
/// The number of requests at a time to the endpoints of one tenant.
const PER_TENANT: usize = 16;
/// The number of requests at a time to endpoints whose last request succeeded.
const TO_HEALTHY: usize = 400;
/// The number of requests at a time to all other endpoints, so that they never delay the healthy ones.
const TO_FAILING: usize = 200;
/// The time after which a run begins no further attempt. A run may take two minutes, and another one begins every minute.
const ENOUGH: SignedDuration = SignedDuration::from_secs(45);
/// The time for which a run has an endpoint: longer than any run.
const LEASE: SignedDuration = SignedDuration::from_secs(120);
/// The longest wait for a next attempt within a run, so that the first repetition needs no further run.
const WAIT: SignedDuration = SignedDuration::from_secs(6);

/// Why the work for an endpoint stopped.
#[derive(Debug, thiserror::Error)]
enum DeliverError {
    /// DynamoDB failed, or another run has the endpoint.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The endpoint's keys cannot be decrypted.
    #[error("the keys of an endpoint cannot be used: {0}")]
    Keys(shared::token_encryption::DecryptionError),
}

impl From<StoreError> for DeliverError {
    fn from(error: StoreError) -> Self {
        Self::Commit(error.into())
    }
}

/// Answers an event: the schedule's, which is for all tenants, or one that names tenants.
pub async fn answer(event: Value, environment: Environment) -> Result<Summary, lambda_http::Error> {
    let Some(named) = event["tenants"].as_array() else {
        return run_all(environment, true).await;
    };
    let tenants: Result<Vec<Tenant>, _> =
        named.iter().map(|tenant| tenant.as_str().unwrap_or_default().parse::<Tenant>()).collect();
    run_for(environment, tenants?).await
}

/// Delivers what is due to all endpoints.
pub async fn run(environment: Environment) -> Result<Summary, lambda_http::Error> {
    run_all(environment, false).await
}

async fn run_all(environment: Environment, is_scheduled: bool) -> Result<Summary, lambda_http::Error> {
    let store = environment.store.clone();
    let lists = WebhookPartition::all().map(|partition| {
        let store = store.clone();
        async move { store.list_progress(partition).await }
    });
    let found: Vec<_> = stream::iter(lists).buffer_unordered(CONCURRENCY).collect().await;
    let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    start(environment, found.into_iter().flatten(), is_scheduled).await
}

/// Delivers what is due to the endpoints of these tenants.
pub async fn run_for(environment: Environment, tenants: Vec<Tenant>) -> Result<Summary, lambda_http::Error> {
    let mut found = Vec::new();
    for tenant in tenants {
        found.extend(environment.store.list_progress_of(tenant).await?);
    }
    start(environment, found, false).await
}

async fn start(
    environment: Environment,
    found: impl IntoIterator<Item = EndpointProgress>,
    is_scheduled: bool,
) -> Result<Summary, lambda_http::Error> {
    let mut tenants: BTreeMap<String, Vec<EndpointProgress>> = BTreeMap::new();
    for progress in found {
        tenants.entry(progress.tenant().to_string()).or_default().push(progress);
    }
    if tenants.is_empty() {
        log(&Summary::default(), is_scheduled);
        return Ok(Summary::default());
    }
    let Some(sealing) = environment.config.services.sealing_keys.clone() else {
        return Err("the environment variable SEALING_KEYS is not set".into());
    };
    let sender = environment.providers.webhook_sender().cloned().ok_or("no client for webhooks")?;
    let ids = Ids::new(environment.clock.clone(), environment.random.clone());
    let origin = AuditOrigin::inside(AuditActor::system(), environment.clock.clone(), ids.clone());
    let environment =
        Environment { store: environment.store.clone().with_origin(Arc::new(origin)), ..environment };
    let started = environment.clock.now();
    let job = Job {
        environment,
        ids,
        sealing,
        sender,
        started,
        to_healthy: Semaphore::new(TO_HEALTHY),
        to_failing: Semaphore::new(TO_FAILING),
    };
    let span = tracing::error_span!("job", actor = %AuditActor::system().term());
    job.run(tenants.into_values().collect(), is_scheduled).instrument(span).await
}

/// Logs a run. The schedule's runs are logged even if nothing was due, because an alarm expects them.
fn log(summary: &Summary, is_scheduled: bool) {
    if is_scheduled || *summary != Summary::default() {
        let Summary { endpoints, delivered, failed: delivery_failures, oldest: delivery_age } = *summary;
        tracing::info!(endpoints, delivered, delivery_failures, delivery_age, "deliveries");
    }
}

struct Job {
    environment: Environment,
    ids: Ids,
    sealing: EncryptionKeys,
    sender: WebhookSender,
    started: Timestamp,
    to_healthy: Semaphore,
    to_failing: Semaphore,
}

impl Job {
    /// Works for all tenants at the same time, because most of the work is waiting for endpoints.
    async fn run(
        &self,
        tenants: Vec<Vec<EndpointProgress>>,
        is_scheduled: bool,
    ) -> Result<Summary, lambda_http::Error> {
        let heads = tenants.into_iter().map(|endpoints| self.with_work(endpoints));
        let found: Vec<_> = stream::iter(heads).buffer_unordered(CONCURRENCY).collect().await;
        let mut unread = 0;
        let found = found.into_iter().filter_map(|found| {
            found
                .inspect_err(|error| {
                    tracing::error!(failure = %error, "a feed could not be read");
                    unread += 1;
                })
                .ok()
        });
        let found: Vec<_> = found.collect();
        let done = join_all(found.into_iter().map(|endpoints| self.work_for_tenant(endpoints))).await;
        let (mut summary, mut stopped) = (Summary::default(), unread);
        for result in done.into_iter().flatten() {
            summary.endpoints += 1;
            match result {
                Ok(counted) => {
                    summary.delivered += counted.delivered;
                    summary.failed += counted.failed;
                    summary.oldest = summary.oldest.max(counted.oldest);
                }
                // Another run has the endpoint.
                Err(DeliverError::Commit(CommitError::Stale)) => {}
                Err(error) => {
                    tracing::error!(failure = %error, "an endpoint's events were not delivered");
                    stopped += 1;
                }
            }
        }
        log(&summary, is_scheduled);
        if stopped > 0 {
            return Err(format!("the events of {stopped} endpoints or tenants were not delivered").into());
        }
        Ok(summary)
    }

    /// The endpoints of one tenant that have something to do. A suspended organization's endpoints wait.
    async fn with_work(&self, endpoints: Vec<EndpointProgress>) -> Result<Vec<EndpointProgress>, StoreError> {
        let (store, now) = (&self.environment.store, self.started);
        let Some(tenant) = endpoints.first().map(EndpointProgress::tenant) else { return Ok(Vec::new()) };
        let head = store.get_feed_head(tenant).await?;
        let has_work = |progress: &EndpointProgress| {
            !progress.is_leased(now) && (is_behind(progress, &head) || is_due(progress, now))
        };
        let waiting: Vec<_> = endpoints.into_iter().filter(has_work).collect();
        if waiting.is_empty() {
            return Ok(waiting);
        }
        let organization = store.find_organization(tenant).await?;
        let is_active = organization.is_some_and(|found| !found.organization.suspended);
        Ok(if is_active { waiting } else { Vec::new() })
    }

    async fn work_for_tenant(&self, endpoints: Vec<EndpointProgress>) -> Vec<Result<Summary, DeliverError>> {
        let to_tenant = Semaphore::new(PER_TENANT);
        join_all(endpoints.into_iter().map(|progress| self.work(progress, &to_tenant))).await
    }

    /// Whether the run begins no further attempts.
    fn is_over(&self) -> bool {
        self.environment.clock.now() > later(self.started, ENOUGH)
    }
}

fn is_behind(progress: &EndpointProgress, head: &FeedHead) -> bool {
    head.past_jumps(progress.after) < head.seq
}

fn is_due(progress: &EndpointProgress, now: Timestamp) -> bool {
    // A run that was killed has not returned the endpoint with the time of the next attempt.
    progress.leased_until.is_some() || progress.due.is_some_and(|due| due <= now)
}
