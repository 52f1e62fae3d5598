//! The simulator: a deployment of all functions in one process, on days when much goes wrong. Everything is chosen by a
//! seed, so each run can be repeated.
//!
//! Clients of several organizations use the API at the same time, while calls to the table are throttled, lost, slow or
//! in conflict, indexes lag, function instances are killed, clocks differ, and jobs overlap. Afterwards, all is quiet,
//! and the invariants in `invariants.rs` must hold.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a panic is a finding, and ends the run"
)]

mod clients;
pub mod cloud;
pub mod deployment;
mod invariants;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use clients::Clients;
use cloud::Fault;
use deployment::Deployment;

/// A run of the simulator.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed, which chooses everything.
    pub seed: u64,
    /// The number of steps of each client.
    pub steps: u32,
    /// How many of a thousand calls to the table have a fault.
    pub faults: u32,
    /// How many of a thousand invocations are killed.
    pub kills: u32,
}

impl Run {
    /// A run with the usual number of steps and faults.
    pub fn new(seed: u64) -> Self {
        Self { seed, steps: 6, faults: 150, kills: 100 }
    }

    /// The command that repeats this run.
    pub fn command(&self) -> String {
        let Self { seed, steps, faults, kills } = self;
        format!(
            "cargo run --bin simulate -- --seed {seed} --steps {steps} --faults {faults} --kills {kills} --trace"
        )
    }
}

/// What happened in a run.
#[derive(Debug)]
pub struct Report {
    /// The invariants that did not hold.
    pub broken: Vec<String>,
    /// The number of requests of clients.
    pub requests: u64,
    /// The number of calls to the table.
    pub calls: u64,
    /// The number of faults of each kind.
    pub faults: BTreeMap<Fault, u64>,
    /// The number of killed invocations.
    pub kills: u64,
    /// Every call and every request, in order.
    pub trace: Vec<String>,
}

impl Report {
    /// A number that is equal for equal traces.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.trace.hash(&mut hasher);
        hasher.finish()
    }
}

/// Carries out a run.
pub fn simulate(run: &Run) -> Report {
    // The SDK draws the jitter of its retries and its idempotency tokens from this generator.
    fastrand::seed(run.seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(Box::pin(play(run)))
}

async fn play(run: &Run) -> Report {
    let deployment = std::sync::Arc::new(Deployment::new(run.seed).await);
    deployment.set_chaos(run.faults, run.kills);
    let clients = Clients::new(deployment.clone(), run.seed);
    clients.work(run.steps).await;
    deployment.set_chaos(0, 0);
    let mut broken = invariants::broken_quotas(&deployment, &clients).await;
    clients.settle().await;
    broken.extend(invariants::broken(&deployment, &clients).await);
    let (calls, faults) = deployment.cloud.counts();
    Report {
        broken,
        requests: clients.requests(),
        calls,
        faults,
        kills: deployment.kills(),
        trace: deployment.cloud.trace(),
    }
}
