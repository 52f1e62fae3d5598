//! The usage reset job: late, twice, twice at once, killed and run again; always the right history.

use futures_util::future::join;
use http::Method;
use shared::http::Environment;
use shared::id::Id;
use shared::model::{Mode, Plan, Tenant, Text};
use shared::store::Page;
use tests::wire::Fault;
use tests::{GLOBEX, World, tenant};

async fn requests(world: &World, count: usize) {
    for _ in 0..count {
        world.request(Method::GET, "/api/v1/roles").key(GLOBEX, Mode::Live).send().await.expect(200);
    }
}

async fn history(world: &World, tenant: Tenant) -> Vec<(String, u64)> {
    let page = Page { limit: 100, before: None };
    let listed = world.store().list_usage(tenant, &page).await.unwrap();
    listed.items.into_iter().map(|day| (day.day.to_string(), day.requests)).collect()
}

fn days(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(day, requests)| ((*day).to_owned(), *requests)).collect()
}

#[tokio::test]
async fn finished_days_are_archived_once_however_often_and_late_it_runs() {
    let world = World::new().await;
    let globex = tenant(GLOBEX, Mode::Live);
    for (day, count) in [("2026-11-20", 3), ("2026-11-21", 5), ("2026-11-23", 7)] {
        world.hands.set(&format!("{day}T12:00:00Z"));
        requests(&world, count).await;
    }
    let run = || usage_reset::run(world.environment.clone());
    let first = run().await.unwrap();
    assert_eq!((first.organizations, first.archived, first.failed), (2, 2, 0), "today is not finished");
    assert_eq!(history(&world, globex).await, days(&[("2026-11-21", 5), ("2026-11-20", 3)]));
    assert_eq!(run().await.unwrap().archived, 0);
    requests(&world, 1).await;
    world.hands.set("2026-11-24T00:00:00Z");
    let (one, two) = join(run(), run()).await;
    assert_eq!(one.unwrap().archived + two.unwrap().archived, 1);
    assert_eq!(
        history(&world, globex).await,
        days(&[("2026-11-23", 8), ("2026-11-21", 5), ("2026-11-20", 3)])
    );
}

/// A function whose clock is a moment behind may still count for yesterday after the job has run.
#[tokio::test]
async fn a_straggler_is_added_by_the_next_run() {
    let world = World::new().await;
    requests(&world, 2).await;
    world.hands.set("2026-11-21T00:00:00Z");
    usage_reset::run(world.environment.clone()).await.unwrap();
    world.hands.set("2026-11-20T23:59:59.9Z");
    requests(&world, 1).await;
    world.hands.set("2026-11-21T00:05:00Z");
    usage_reset::run(world.environment.clone()).await.unwrap();
    assert_eq!(history(&world, tenant(GLOBEX, Mode::Live)).await, days(&[("2026-11-20", 3)]));
}

/// Killed at any of its calls, and run again.
#[tokio::test]
async fn whichever_call_it_dies_at_the_next_run_completes_it() {
    for deadly in 0..60 {
        let world = World::new().await;
        requests(&world, 4).await;
        world.get("/api/v1/roles").await.expect(200);
        world.hands.set("2026-11-22T00:00:00Z");
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let fault = if deadly % 2 == 0 { Fault::Unreachable } else { Fault::AnswerLost };
        world.wire.play(move |_, _| {
            (calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= deadly / 2).then(|| fault.clone())
        });
        let died = usage_reset::run(world.environment.clone()).await.is_err();
        world.wire.play(|_, _| None);
        usage_reset::run(world.environment.clone()).await.unwrap();
        assert_eq!(
            history(&world, tenant(GLOBEX, Mode::Live)).await,
            days(&[("2026-11-20", 4)]),
            "call {deadly}"
        );
        assert_eq!(history(&world, tenant(tests::ACME, Mode::Live)).await, days(&[("2026-11-20", 1)]));
        if !died {
            return;
        }
    }
    panic!("the job makes more calls than this test looks at");
}

#[tokio::test]
async fn it_walks_every_organization_and_one_that_fails_does_not_stop_it() {
    let world = World::new().await;
    let now = world.environment.clock.now();
    for number in 1_000..1_130u64 {
        let name = Text::parse(&format!("Company {number}")).unwrap().unwrap();
        world
            .store()
            .create_organization(Id::new(number).unwrap(), &name, None, Plan::Free, now)
            .await
            .unwrap();
    }
    requests(&world, 2).await;
    world.hands.set("2026-11-21T00:00:00Z");
    world.wire.play(|operation, request| {
        let keys = request["RequestItems"].to_string();
        (operation == "BatchGetItem" && keys.contains("\"1000#live#GATE\"")).then_some(Fault::Internal)
    });
    assert!(usage_reset::run(world.environment.clone()).await.is_err(), "so that the schedule tries again");
    assert_eq!(history(&world, tenant(GLOBEX, Mode::Live)).await, days(&[("2026-11-20", 2)]));
    world.wire.play(|_, _| None);
    let environment: Environment = world.environment.clone();
    assert_eq!(usage_reset::run(environment).await.unwrap().organizations, 132);
}
