//! Many people are erased while every write of the service may be its last one. Nothing about them stays.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use rolecall_local::demo;
use serde_json::Value;
use shared::config::Services;
use tests::interceptor::Fault;
use tests::{Response, TestApi};

use crate::erasures::{Jobs, Person, erase, everything, keys};

/// The number of people who are erased, and of as many others who stay. `ERASURE_SCALE` multiplies it.
fn people() -> usize {
    let scale = std::env::var("ERASURE_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    10 * scale
}

/// Lets one more write succeed, and no other one. If `is_lost`, the response of that write is lost.
fn allow_one_write(api: &TestApi, is_lost: bool) -> Arc<AtomicUsize> {
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = writes.clone();
    api.dynamodb.inject_faults(move |operation, _| {
        if operation != "TransactWriteItems" {
            return None;
        }
        match counted.fetch_add(1, Ordering::Relaxed) {
            0 => is_lost.then_some(Fault::ResponseLost),
            _ => Some(Fault::Conflict),
        }
    });
    writes
}

/// Runs the tasks until none is due. Every run is stopped after its first write. Returns the number of runs.
async fn run_tasks_with_interruptions(api: &TestApi, is_lost: bool) -> usize {
    for run in 0..200 * people() {
        let now = api.environment.clock.now();
        if api.due_tasks(now).await.is_empty() {
            return run;
        }
        allow_one_write(api, is_lost);
        // A run that was stopped may report a failure.
        let _ = tasks::run_for(api.environment.clone(), demo::task_partitions()).await;
        api.dynamodb.inject_faults(|_, _| None);
    }
    panic!("every run must make progress");
}

/// Polls the future at most this many times, and drops it if it is not ready. Returns whether it was.
pub(crate) async fn kill_after<T>(steps: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = steps;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// Runs the tasks until none is due. Every run is killed a step later than the one before: between any two calls to the
/// database, the bucket and the voice provider. Returns the number of runs.
async fn run_tasks_killed_at_every_step(api: &TestApi) -> usize {
    for run in 0..10_000 {
        let now = api.environment.clock.now();
        if api.due_tasks(now).await.is_empty() {
            return run;
        }
        // A run that finishes the other tasks may report a failure.
        let tasks = tasks::run_for(api.environment.clone(), demo::task_partitions());
        let _ = kill_after(run + 1, tasks).await;
        api.dynamodb.clear_calls();
    }
    panic!("a run must end");
}

fn code(response: &Response) -> (u16, &str) {
    (response.status, response.body["code"].as_str().unwrap_or_default())
}

/// The statistics without the numbers of current applications.
fn lasting(stats: &[Value]) -> Vec<Value> {
    let mut stats = stats.to_vec();
    for role in &mut stats {
        role["rejections"] = Value::Null;
        for figures in role["stages"].as_object_mut().into_iter().flat_map(|stages| stages.values_mut()) {
            figures["now"] = Value::Null;
        }
    }
    stats
}

/// The number of current applications in all stages of all roles.
fn current(stats: &[Value]) -> u64 {
    let stages =
        stats.iter().filter_map(|role| role["stages"].as_object()).flat_map(|stages| stages.values());
    stages.filter_map(|figures| figures["now"].as_u64()).sum()
}

#[tokio::test]
async fn people_are_erased_completely_even_if_every_write_is_the_last_one() {
    let services = Services {
        simulated: true,
        callback_url: Some("http://127.0.0.1:1".to_owned()),
        ..Services::default()
    };
    let api = TestApi::with_services(services).await;
    let jobs = Jobs::new(&api).await;
    let count = people();
    let (mut erased, mut others) = (Vec::new(), Vec::new());
    for number in 0..count {
        erased.push(Person::create(&api, &jobs, 2 * number).await);
        others.push(Person::create(&api, &jobs, 2 * number + 1).await);
    }
    let before = jobs.stats(&api).await;
    assert_eq!(current(&before), 4 * count as u64);
    let mut details = Vec::new();
    for other in &others {
        details.push(other.detail(&api).await);
    }
    let files = keys(&api).await.len();
    let stored = everything(&api).await;
    assert!(erased.iter().all(|person| person.places(&stored).count() > 20));

    let mut interruptions = 0;
    for (number, person) in erased.iter().enumerate() {
        if number % 10 == 4 {
            erase(&api, person.id).await.expect(202);
            let runs = run_tasks_killed_at_every_step(&api).await;
            assert!(runs > 10, "the runs were killed: {runs}");
            continue;
        }
        let is_lost = number % 2 == 1;
        let writes = allow_one_write(&api, is_lost);
        // After a lost response, the request finds that the person is erased.
        erase(&api, person.id).await.expect(202);
        assert!(writes.load(Ordering::Relaxed) > 0);
        api.dynamodb.inject_faults(|_, _| None);
        interruptions += run_tasks_with_interruptions(&api, is_lost).await;
        let detail = api.get(&format!("/api/v1/candidates/{}", person.id)).await;
        assert_eq!(code(&detail), (410, "erased"));
    }
    // Upload forms have expired.
    api.clock.set("2026-11-20T12:30:00Z");
    interruptions += run_tasks_with_interruptions(&api, false).await;
    assert!(interruptions >= 8 * count, "every write was interrupted: {interruptions}");

    let stored = everything(&api).await;
    for person in &erased {
        person.assert_gone(&stored);
        let again = erase(&api, person.id).await.expect(202);
        assert_eq!(again.string("/erased_at"), "2026-11-20T09:30:00.000Z");
    }
    let after = jobs.stats(&api).await;
    assert_eq!(lasting(&after), lasting(&before), "figures that name nobody stay");
    assert_eq!(current(&after), 2 * count as u64);
    for (other, detail) in others.iter().zip(&details) {
        assert_eq!(other.detail(&api).await, *detail, "others stay as they were");
    }
    // Each person had an uploaded file and its copy, and now has a tombstone.
    assert_eq!((files, keys(&api).await.len()), (4 * count, 3 * count));
    api.clock.set("2026-11-23T09:30:00Z");
    assert_eq!(api.run_tasks().await, tasks::Summary::default(), "nothing is left to do");
}
