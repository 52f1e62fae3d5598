//! A busy time: clients, people, jobs and the table's stream work at the same time.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::sleep;

use crate::clients::Clients;
use crate::deployment::Deployment;
use crate::people::People;

/// The number of clients of each tenant.
const CLIENTS: usize = 2;

/// Lets everybody take some steps at the same time.
pub(crate) async fn work(clients: &Clients, mut random: fastrand::Rng, steps: u32) {
    let people: Vec<_> = People::of(clients).collect();
    let mut users = Vec::new();
    for tenant in &clients.tenants {
        for _ in 0..CLIENTS {
            users.push(clients.client(tenant, random.fork(), steps));
        }
    }
    let (mut visitors, mut members, mut apps) = (Vec::new(), Vec::new(), Vec::new());
    for people in &people {
        visitors.push(people.visit(random.fork(), steps.div_ceil(2)));
        members.push(people.work(random.fork(), steps));
        apps.push(people.connect(random.fork(), steps));
    }
    let jobs = jobs(&clients.deployment, random.fork(), steps);
    let all = async {
        tokio::join!(join_all(users), join_all(visitors), join_all(members), join_all(apps), jobs);
    };
    tokio::select! {
        biased;
        () = all => {}
        () = stream(&clients.deployment, random.fork()) => {}
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
async fn jobs(deployment: &Deployment, mut random: fastrand::Rng, steps: u32) {
    let runs = (0..steps).map(|_| {
        let (start, job) = (random.u64(0..u64::from(steps) * 700), random.u32(0..5));
        async move {
            sleep(Duration::from_millis(start)).await;
            // A failed run is repeated by the next one.
            let _ = match job {
                0 => deployment.reset_usage().await,
                1 | 2 => deployment.run_feed().await,
                _ => deployment.run_tasks().await,
            };
        }
    });
    join_all(runs.collect::<Vec<_>>()).await;
}
