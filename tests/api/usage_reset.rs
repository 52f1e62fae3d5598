//! The usage reset job. The history is correct even if the job runs late, repeatedly, concurrently, or after a failure.

use futures_util::future::join;
use http::Method;
use shared::http::Environment;
use shared::id::Id;
use shared::model::{Mode, Plan, Tenant, Text};
use shared::store::Paging;
use tests::interceptor::Fault;
use tests::permissions::run_as;
use tests::{GLOBEX, TestApi, tenant};

async fn send_requests(api: &TestApi, count: usize) {
    for _ in 0..count {
        api.request(Method::GET, "/api/v1/roles").key(GLOBEX, Mode::Live).send().await.expect(200);
    }
}

async fn history(api: &TestApi, tenant: Tenant) -> Vec<(String, u64)> {
    let page = Paging { limit: 100, before: None };
    let listed = api.store().list_usage(tenant, &page).await.unwrap();
    listed.items.into_iter().map(|day| (day.day.to_string(), day.requests)).collect()
}

fn days(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(day, requests)| ((*day).to_owned(), *requests)).collect()
}

#[tokio::test]
async fn finished_days_are_archived_once_even_when_the_job_runs_late_or_repeatedly() {
    let api = TestApi::new().await;
    let globex = tenant(GLOBEX, Mode::Live);
    for (day, count) in [("2026-11-20", 3), ("2026-11-21", 5), ("2026-11-23", 7)] {
        api.clock.set(&format!("{day}T12:00:00Z"));
        send_requests(&api, count).await;
    }
    let run = || run_as("UsageResetFunction", usage_reset::run(api.environment.clone()));
    let first = run().await.unwrap();
    assert_eq!(
        (first.organizations, first.archived, first.failed),
        (2, 2, 0),
        "the current day is not archived"
    );
    assert_eq!(history(&api, globex).await, days(&[("2026-11-21", 5), ("2026-11-20", 3)]));
    assert_eq!(run().await.unwrap().archived, 0);
    send_requests(&api, 1).await;
    api.clock.set("2026-11-24T00:00:00Z");
    let (one, two) = join(run(), run()).await;
    assert_eq!(one.unwrap().archived + two.unwrap().archived, 1);
    assert_eq!(history(&api, globex).await, days(&[("2026-11-23", 8), ("2026-11-21", 5), ("2026-11-20", 3)]));
}

/// A function whose clock is slightly behind may still count for the previous day after the job has run.
#[tokio::test]
async fn the_next_run_adds_a_late_count() {
    let api = TestApi::new().await;
    send_requests(&api, 2).await;
    api.clock.set("2026-11-21T00:00:00Z");
    usage_reset::run(api.environment.clone()).await.unwrap();
    api.clock.set("2026-11-20T23:59:59.9Z");
    send_requests(&api, 1).await;
    api.clock.set("2026-11-21T00:05:00Z");
    usage_reset::run(api.environment.clone()).await.unwrap();
    assert_eq!(history(&api, tenant(GLOBEX, Mode::Live)).await, days(&[("2026-11-20", 3)]));
}

/// Interrupts the job at each of its calls and runs it again.
#[tokio::test]
async fn the_next_run_completes_the_job_after_a_failure_at_any_call() {
    for failing in 0..60 {
        let api = TestApi::new().await;
        send_requests(&api, 4).await;
        api.get("/api/v1/roles").await.expect(200);
        api.clock.set("2026-11-22T00:00:00Z");
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let fault = if failing % 2 == 0 { Fault::Unreachable } else { Fault::ResponseLost };
        api.dynamodb.inject_faults(move |_, _| {
            (calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= failing / 2).then(|| fault.clone())
        });
        let failed_first = usage_reset::run(api.environment.clone()).await.is_err();
        api.dynamodb.inject_faults(|_, _| None);
        usage_reset::run(api.environment.clone()).await.unwrap();
        assert_eq!(
            history(&api, tenant(GLOBEX, Mode::Live)).await,
            days(&[("2026-11-20", 4)]),
            "call {failing}"
        );
        assert_eq!(history(&api, tenant(tests::ACME, Mode::Live)).await, days(&[("2026-11-20", 1)]));
        if !failed_first {
            return;
        }
    }
    panic!("the job makes more calls than this test covers");
}

#[tokio::test]
async fn a_failing_organization_does_not_stop_the_job() {
    let api = TestApi::new().await;
    let now = api.environment.clock.now();
    for number in 1_000..1_130u64 {
        let name = Text::parse(&format!("Company {number}")).unwrap().unwrap();
        api.store()
            .create_organization(Id::new(number).unwrap(), &name, None, Plan::Free, now)
            .await
            .unwrap();
    }
    send_requests(&api, 2).await;
    api.clock.set("2026-11-21T00:00:00Z");
    api.dynamodb.inject_faults(|operation, request| {
        (operation == "GetItem" && request["Key"]["pk"]["S"] == "1000#live#GATE").then_some(Fault::Internal)
    });
    assert!(
        usage_reset::run(api.environment.clone()).await.is_err(),
        "the job fails, so that the schedule retries it"
    );
    assert_eq!(history(&api, tenant(GLOBEX, Mode::Live)).await, days(&[("2026-11-20", 2)]));
    api.dynamodb.inject_faults(|_, _| None);
    let environment: Environment = api.environment.clone();
    assert_eq!(usage_reset::run(environment).await.unwrap().organizations, 132);
}
