//! A busy time: clients, people, jobs and the table's stream work at the same time.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{OptionFuture, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::sleep;

use crate::clients::{Clients, TENANTS};
use crate::deployment::{Deployment, LEASE};
use crate::people::People;

/// In one run of so many, the table's stream moves changes to the feeds.
const FED: u32 = 3;

/// Who takes part in a run. Most of them have the same tenant or its organization, so that they meet.
pub(crate) struct Cast {
    /// The tenants of the clients.
    clients: [usize; 2],
    /// The organization of all others.
    organization: usize,
    /// The people who take part.
    people: BTreeSet<Person>,
    /// The tenants whose webhooks are sent; none in most runs.
    pub(crate) receivers: BTreeSet<usize>,
}

/// The people of an organization who may take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Person {
    /// A visitor of the career page.
    Visitor,
    /// The first member, at the dashboard.
    Member,
    /// The first member, who connects an application.
    App,
    /// The second member, who changes the factors of sign-ins.
    SecondMember,
}

impl Cast {
    pub(crate) fn choose(random: &mut fastrand::Rng) -> Self {
        let tenant = random.usize(0..TENANTS);
        let other = if random.bool() { tenant } else { random.usize(0..TENANTS) };
        let is_there = |_: &Person| random.u32(0..40) == 0;
        let mut people: BTreeSet<_> =
            [Person::Visitor, Person::Member, Person::App].into_iter().filter(is_there).collect();
        if random.u32(0..20) == 0 {
            people.insert(Person::SecondMember);
        }
        let mut cast =
            Self { clients: [tenant, other], organization: tenant / 2, people, receivers: BTreeSet::new() };
        if random.u32(0..20) == 0 {
            cast.receivers = cast.tenants();
        }
        cast
    }

    /// Whether this person takes part.
    pub(crate) fn has(&self, person: Person) -> bool {
        self.people.contains(&person)
    }

    /// Whether people work at the dashboard or with an application.
    pub(crate) fn has_people(&self) -> bool {
        !self.people.is_empty()
    }

    /// The organization of the people.
    pub(crate) fn people<'c>(&self, clients: &'c Clients) -> People<'c> {
        People::of(clients, self.organization)
    }

    /// The tenants that somebody changes something of.
    pub(crate) fn tenants(&self) -> BTreeSet<usize> {
        let live = 2 * self.organization;
        let of_people = self.people.iter().map(|_| live);
        let of_apps = self.has(Person::App).then_some([live, live + 1]);
        self.clients.iter().copied().chain(of_people).chain(of_apps.into_iter().flatten()).collect()
    }
}

/// Lets everybody take some steps at the same time.
pub(crate) async fn work(clients: &Clients, cast: &Cast, mut random: fastrand::Rng, steps: u32) {
    let (people, tenants) = (cast.people(clients), cast.tenants());
    let users: Vec<_> = cast
        .clients
        .iter()
        .map(|tenant| Box::pin(clients.client(&clients.tenants[*tenant], random.fork(), steps)))
        .collect();
    let visitor = cast.has(Person::Visitor).then(|| Box::pin(people.visit(random.fork(), steps.div_ceil(2))));
    let member = cast.has(Person::Member).then(|| Box::pin(people.work(random.fork(), steps)));
    let app = cast.has(Person::App).then(|| Box::pin(people.connect(random.fork(), steps)));
    let guard = cast.has(Person::SecondMember).then(|| Box::pin(people.guard(random.fork(), steps)));
    let jobs = Box::pin(jobs(&clients.deployment, &tenants, random.fork(), steps.div_ceil(2)));
    let stream = stream(&clients.deployment, random.fork());
    let feed = random.u32(0..FED) == 0;
    let feed =
        OptionFuture::from(feed.then(|| Box::pin(feed_stream(&clients.deployment, &tenants, random.fork()))));
    let webhooks = webhooks(&clients.deployment, &cast.receivers, random, 1 + steps.div_ceil(2));
    let all = async {
        tokio::join!(
            join_all(users),
            OptionFuture::from(visitor),
            OptionFuture::from(member),
            OptionFuture::from(app),
            OptionFuture::from(guard),
            Box::pin(webhooks),
            jobs
        );
    };
    tokio::select! {
        biased;
        () = all => {}
        () = stream => {}
        Some(()) = feed => {}
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

/// Moves changes to the feeds after each write to the outbox, as the table's stream does: late, and sometimes twice or not at
/// all.
async fn feed_stream(deployment: &Deployment, tenants: &BTreeSet<usize>, mut random: fastrand::Rng) {
    let written = deployment.cloud.change_written();
    let mut runs = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            () = written.notified() => {
                for _ in 0..[0, 1, 1, 2][random.usize(0..4)] {
                    let late = Duration::from_millis(random.u64(0..500));
                    let again = random.fork();
                    runs.push(async move {
                        sleep(late).await;
                        feed(deployment, tenants, again).await;
                    });
                }
            }
            Some(()) = runs.next() => {}
        }
    }
}

/// Moves changes to the feeds. A run that was killed is followed by another one, when it may take over.
async fn feed(deployment: &Deployment, tenants: &BTreeSet<usize>, mut random: fastrand::Rng) {
    while deployment.run_feed(tenants).await.is_err() {
        sleep(LEASE + Duration::from_millis(random.u64(0..200))).await;
    }
}

/// Runs the jobs at random times. Runs may overlap.
async fn jobs(deployment: &Deployment, tenants: &BTreeSet<usize>, mut random: fastrand::Rng, runs: u32) {
    let runs = (0..runs).map(|_| {
        let (start, job, again) = (random.u64(0..3_000), random.u32(0..256), random.fork());
        async move {
            sleep(Duration::from_millis(start)).await;
            // A failed run is repeated by the next one.
            let _ = match job {
                0..32 => deployment.reset_usage().await,
                32 => deployment.run_all_tasks().await,
                33 => deployment.sweep_feed().await,
                34..96 => {
                    feed(deployment, tenants, again).await;
                    Ok(())
                }
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
            let _ = deployment.run_feed(tenants).await;
            let _ = deployment.deliver(tenants).await;
        }
    });
    join_all(runs.collect::<Vec<_>>()).await;
}
