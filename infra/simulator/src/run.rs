//! A run, and what happened in it.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::OptionFuture;
use jiff::SignedDuration;
use shared::config::Config;

use crate::clients::{Clients, TENANTS};
use crate::cloud::{Cloud, Fault};
use crate::copies::Copies;
use crate::deployment::Deployment;
use crate::faults::Faults;
use crate::imports::Imports;
use crate::invariants;
use crate::kind::Kind;
use crate::setup::Setup;
use crate::time::paused_runtime;
use crate::work::{Cast, work};

/// One run of so many is longer than the others.
const LONG: u64 = 38;
/// How many steps more each client takes while others keep a copy of the lists, or import people.
const FURTHER_STEPS: u32 = 4;
/// The first longer run.
const FIRST_LONG: u64 = 18;

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
    /// The numbers of the only faults that happen; all if there are none.
    pub only: Option<BTreeSet<u64>>,
}

impl Run {
    /// A run with the usual number of steps and faults.
    pub fn new(seed: u64) -> Self {
        let steps = if seed % LONG == FIRST_LONG { 4 } else { 1 };
        Self { seed, steps, faults: 150, kills: 100, only: None }
    }

    /// The command that repeats this run.
    pub fn command(&self) -> String {
        let Self { seed, steps, faults, kills, only } = self;
        let only = only.iter().map(|only| {
            let numbers: Vec<_> = only.iter().map(u64::to_string).collect();
            format!(" --only={}", numbers.join(","))
        });
        let only: String = only.collect();
        format!(
            "cargo run --bin simulate -- --seed {seed} --steps {steps} --faults {faults} --kills {kills}{only} --trace"
        )
    }
}

/// What happened in a run.
#[derive(Debug, Default)]
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
    /// The number of faults that were chosen, those included that did not happen.
    pub chosen_faults: u64,
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

/// Carries out a run. A panic breaks an invariant, too.
pub fn simulate(run: &Run) -> Report {
    let setup = Setup::of(Kind::of(run.seed));
    // The SDK draws the jitter of its retries and its idempotency tokens from this generator.
    fastrand::seed(run.seed);
    let played = catch_unwind(AssertUnwindSafe(|| paused_runtime().block_on(Box::pin(play(run, setup)))));
    played.unwrap_or_else(|panic| Report { broken: vec![sentence(panic.as_ref())], ..Report::default() })
}

fn sentence(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a panic: {}", text.unwrap_or("without a message"))
}

async fn play(run: &Run, setup: Arc<Setup>) -> Report {
    let (chosen, kind) = (Faults::new(run.only.as_ref()), Kind::of(run.seed));
    let replica = setup.clone();
    let cloud =
        Cloud::new(run.seed, chosen.clone(), setup.table(), move || replica.table(), setup.contents());
    let deployment = Arc::new(Deployment::new(run.seed, chosen.clone(), cloud, kind, kind.start()));
    let clients = Clients::new(deployment.clone(), setup.known());
    let mut random = fastrand::Rng::with_seed(run.seed ^ 0xc11e);
    let cast = Cast::choose(&mut random);
    clients.use_up_quota(&mut random);
    let mut copies = Copies::of(&clients, &cast, run.seed);
    let mut imports = Imports::of(&clients, &cast, run.seed);
    deployment.set_chaos(run.faults, run.kills);
    let further = if copies.is_some() || imports.is_some() { FURTHER_STEPS } else { 0 };
    let is_over = AtomicBool::new(false);
    let others = async {
        work(&clients, &cast, random.fork(), run.steps + further).await;
        is_over.store(true, Ordering::Relaxed);
    };
    let follow =
        copies.as_mut().map(|copies| Box::pin(copies.follow(fastrand::Rng::with_seed(run.seed), &is_over)));
    let bring = imports.as_mut().map(|imports| Box::pin(imports.bring()));
    tokio::join!(others, OptionFuture::from(follow), OptionFuture::from(bring));
    deployment.set_chaos(0, 0);
    clients.settle().await;
    if let Some(imports) = &mut imports {
        imports.settle().await;
    }
    let mut broken = invariants::broken(&deployment, &clients, &cast, random).await;
    if let Some(imports) = &imports {
        broken.extend(imports.broken(&deployment.cloud.items()));
    }
    if let Some(copies) = &mut copies {
        let tenants = (0..TENANTS).collect();
        invariants::move_changes(&deployment, &tenants).await;
        deployment.skip(Config::SETTLING + SignedDuration::from_secs(20));
        broken.extend(copies.missing().await);
    }
    let (calls, faults) = deployment.cloud.counts();
    Report {
        broken,
        requests: clients.requests(),
        calls,
        faults,
        kills: deployment.kills(),
        chosen_faults: chosen.chosen(),
        trace: deployment.cloud.trace(),
    }
}
