//! A busy time: clients, people, jobs and the table's stream work at the same time.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{OptionFuture, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::sleep;

use crate::clients::{Clients, TENANTS};
use crate::deployment::Deployment;
use crate::people::People;

/// The number of clients of the tenant that has most of them.
const CLIENTS: usize = 2;

/// Who takes part in a run. Most of them have the same tenant or its organization, so that they meet.
pub(crate) struct Cast {
    /// The tenants of the clients.
    clients: Vec<usize>,
    /// The organization of all others.
    organization: usize,
    has_visitor: bool,
    has_member: bool,
    has_app: bool,
    /// The tenants whose webhooks are sent; none in most runs.
    pub(crate) receivers: BTreeSet<usize>,
}

impl Cast {
    pub(crate) fn choose(random: &mut fastrand::Rng) -> Self {
        let tenant = random.usize(0..TENANTS);
        let mut clients = vec![tenant; CLIENTS];
        clients.push(random.usize(0..TENANTS));
        let mut is_there = || random.u32(0..3) == 0;
        let mut cast = Self {
            clients,
            organization: tenant / 2,
            has_visitor: is_there(),
            has_member: is_there(),
            has_app: is_there(),
            receivers: BTreeSet::new(),
        };
        if random.clone().u32(0..8) == 0 {
            cast.receivers = cast.tenants();
        }
        cast
    }

    /// The organization of the people.
    pub(crate) fn people<'c>(&self, clients: &'c Clients) -> People<'c> {
        People::of(clients, self.organization)
    }

    /// The tenants that somebody changes something of.
    pub(crate) fn tenants(&self) -> BTreeSet<usize> {
        let live = 2 * self.organization;
        let of_people = (self.has_visitor || self.has_member).then_some(live);
        let of_apps = self.has_app.then_some([live, live + 1]);
        self.clients.iter().copied().chain(of_people).chain(of_apps.into_iter().flatten()).collect()
    }
}

/// Lets everybody take some steps at the same time.
pub(crate) async fn work(clients: &Clients, cast: &Cast, mut random: fastrand::Rng, steps: u32) {
    let people = cast.people(clients);
    let users: Vec<_> = cast
        .clients
        .iter()
        .map(|tenant| Box::pin(clients.client(&clients.tenants[*tenant], random.fork(), steps)))
        .collect();
    let visitor = cast.has_visitor.then(|| Box::pin(people.visit(random.fork(), steps.div_ceil(2))));
    let member = cast.has_member.then(|| Box::pin(people.work(random.fork(), steps)));
    let app = cast.has_app.then(|| Box::pin(people.connect(random.fork(), steps)));
    let jobs = Box::pin(jobs(&clients.deployment, random.fork(), steps.div_ceil(2)));
    let stream = stream(&clients.deployment, random.fork());
    let webhooks = webhooks(&clients.deployment, &cast.receivers, random, steps.div_ceil(2));
    let all = async {
        tokio::join!(
            join_all(users),
            OptionFuture::from(visitor),
            OptionFuture::from(member),
            OptionFuture::from(app),
            Box::pin(webhooks),
            jobs
        );
    };
    tokio::select! {
        biased;
        () = all => {}
        () = stream => {}
    }
}

/// Runs the tasks after each write of one, as the table's stream does: late, and sometimes twice or not at all.
async fn stream(deployment: &Deployment, mut random: fastrand::Rng) {
    let written = deployment.cloud.task_written();
    let mut runs = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            () = written.notified() => {
                let partitions = deployment.cloud.take_written();
                for _ in 0..[0, 1, 1, 2][random.usize(0..4)] {
                    let late = Duration::from_millis(random.u64(0..2_000));
                    let partitions = partitions.clone();
                    runs.push(async move {
                        sleep(late).await;
                        // A failed run is repeated by the next one.
                        let _ = deployment.run_tasks_of(partitions).await;
                    });
                }
            }
            Some(()) = runs.next() => {}
        }
    }
}

/// Runs the jobs at random times. Runs may overlap.
async fn jobs(deployment: &Deployment, mut random: fastrand::Rng, runs: u32) {
    let runs = (0..runs).map(|_| {
        let (start, job) = (random.u64(0..3_000), random.u32(0..64));
        async move {
            sleep(Duration::from_millis(start)).await;
            // A failed run is repeated by the next one.
            let _ = match job {
                0..8 => deployment.reset_usage().await,
                8 => deployment.run_all_tasks().await,
                9 => deployment.sweep_feed().await,
                10..24 => deployment.run_feed().await,
                // Most partitions are empty.
                _ => deployment.run_tasks_of(deployment.cloud.task_partitions_in_use()).await,
            };
        }
    });
    join_all(runs.collect::<Vec<_>>()).await;
}

/// Moves changes to the feeds and sends them to webhook endpoints, at random times. Runs may overlap.
async fn webhooks(deployment: &Deployment, tenants: &BTreeSet<usize>, mut random: fastrand::Rng, runs: u32) {
    if tenants.is_empty() {
        return;
    }
    let runs = (0..runs).map(|_| {
        let start = random.u64(0..3_000);
        async move {
            sleep(Duration::from_millis(start)).await;
            // A failed run is repeated by the next one.
            let _ = deployment.run_feed().await;
            let _ = deployment.deliver(tenants).await;
        }
    });
    join_all(runs.collect::<Vec<_>>()).await;
}
