//! The daily quota: exact, per mode, full again at midnight UTC.

use futures_util::future::join_all;
use http::Method;
use shared::model::{Mode, Plan};
use tests::wire::Fault;
use tests::{ACME, Answer, GLOBEX, World, tenant};

async fn ask(world: &World, mode: Mode) -> Answer {
    world.request(Method::GET, "/api/v1/roles").key(GLOBEX, mode).send().await
}

#[tokio::test]
async fn of_a_thousand_requests_at_once_exactly_a_hundred_are_admitted() {
    let world = World::new().await;
    world.hands.set("2026-11-20T23:59:30.250Z");
    let answers = join_all((0..1_000).map(|_| ask(&world, Mode::Live))).await;
    let (admitted, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((admitted.len(), refused.len()), (100, 900));
    let mut remaining: Vec<_> = admitted.iter().map(|answer| answer.header("ratelimit").to_owned()).collect();
    remaining.sort_unstable();
    remaining.dedup();
    assert_eq!(remaining.len(), 100, "every remainder from 99 to 0 once");
    for answer in refused {
        assert_eq!((answer.status, answer.string("/code")), (429, "rate_limited"));
        assert_eq!(answer.header("retry-after"), "30", "29.75 seconds, rounded up");
        assert_eq!(answer.header("ratelimit"), r#""daily";r=0;t=30"#);
        assert_eq!(answer.header("ratelimit-policy"), r#""daily";q=100;w=86400"#);
    }
    assert_eq!(
        ask(&world, Mode::Test).await.expect(200).header("ratelimit"),
        r#""daily";r=99;t=30"#,
        "each mode has its own"
    );
    world.get("/api/v1/roles").await.expect(200);

    world.hands.set("2026-11-21T00:00:00Z");
    let answers = join_all((0..150).map(|_| ask(&world, Mode::Live))).await;
    assert_eq!(
        answers.iter().filter(|answer| answer.status == 200).count(),
        100,
        "without the job having run"
    );

    let summary = usage_reset::run(world.environment.clone()).await.unwrap();
    assert_eq!((summary.organizations, summary.archived), (2, 3));
    let page = shared::store::Page { limit: 10, before: None };
    let history = world.store().list_usage(tenant(GLOBEX, Mode::Live), &page).await.unwrap();
    let history: Vec<_> = history.items.iter().map(|day| (day.day.to_string(), day.requests)).collect();
    assert_eq!(history, [("2026-11-20".to_owned(), 100)]);
}

#[tokio::test]
async fn whatever_the_outcome_a_request_counts_but_not_the_429() {
    let world = World::new().await;
    let send = async |method: Method, path: &str, body: &'static str| {
        world.request(method, path).key(GLOBEX, Mode::Live).body("application/json", body).send().await
    };
    for (method, path, body, status) in [
        (Method::GET, "/api/v1/roles/17", "", 404),
        (Method::POST, "/api/v1/roles", "{", 400),
        (Method::POST, "/api/v1/roles", "{}", 422),
        (Method::GET, "/api/v1/roles?cursor=x", "", 400),
    ] {
        send(method, path, body).await.expect(status);
    }
    // What no route takes is answered before anybody looks at the credential.
    for (method, path, status) in
        [(Method::GET, "/api/v1/nothing", 404), (Method::DELETE, "/api/v1/organization", 405)]
    {
        assert_eq!(send(method, path, "").await.expect(status).header("ratelimit"), "");
    }
    assert_eq!(ask(&world, Mode::Live).await.header("ratelimit"), r#""daily";r=95;t=52200"#);
    for _ in 0..95 {
        ask(&world, Mode::Live).await.expect(200);
    }
    for _ in 0..3 {
        ask(&world, Mode::Live).await.expect(429);
    }
    assert_eq!(
        world
            .store()
            .requests_on(tenant(GLOBEX, Mode::Live), shared::model::Day::of(world.environment.clock.now()))
            .await
            .unwrap(),
        100
    );
}

#[tokio::test]
async fn a_change_of_plan_counts_at_once() {
    let world = World::new().await;
    let globex = tenant(GLOBEX, Mode::Live);
    for _ in 0..100 {
        ask(&world, Mode::Live).await.expect(200);
    }
    ask(&world, Mode::Live).await.expect(429);
    world.store().set_plan(globex.organization, Plan::Pro).await.unwrap();
    assert_eq!(ask(&world, Mode::Live).await.expect(200).header("ratelimit"), "", "Pro has no limit to show");
    world.store().set_plan(globex.organization, Plan::Free).await.unwrap();
    ask(&world, Mode::Live).await.expect(429);
}

/// One item takes 1,000 writes a second: beyond it Pro is counted on shards, Free answers from a read.
#[tokio::test]
async fn a_throttled_gate_still_answers() {
    let world = World::new().await;
    let gate_is_throttled = |operation: &str, request: &serde_json::Value| {
        let gate = operation == "UpdateItem"
            && request["Key"]["pk"]["S"].as_str().is_some_and(|pk| pk.ends_with("#GATE"));
        gate.then_some(Fault::Throttled)
    };
    for _ in 0..100 {
        ask(&world, Mode::Live).await.expect(200);
    }
    world.wire.play(gate_is_throttled);
    for _ in 0..20 {
        world.get("/api/v1/roles").await.expect(200);
    }
    ask(&world, Mode::Live).await.expect(429);
    let busy = ask(&world, Mode::Test).await.expect(503);
    assert_eq!((busy.string("/code"), busy.header("retry-after")), ("unavailable", "1"));
    let forged = world
        .request(Method::GET, "/api/v1/roles")
        .header("authorization", "Bearer rc_live_nonsense")
        .send()
        .await;
    forged.expect(401);
    world.wire.play(|_, _| None);

    let shown = world.get("/api/v1/organization").await.expect(200);
    assert_eq!(shown.number("/usage/requests_today"), 21, "the shards' counts are part of the day's");
    world.hands.set("2026-11-21T08:00:00Z");
    usage_reset::run(world.environment.clone()).await.unwrap();
    let page = shared::store::Page { limit: 10, before: None };
    let history = world.store().list_usage(tenant(ACME, Mode::Live), &page).await.unwrap();
    assert_eq!(history.items.iter().map(|day| day.requests).collect::<Vec<_>>(), [21]);
}

/// The usage reset job's transactions are at the gate items just when the new day's requests come.
#[tokio::test]
async fn a_request_that_meets_a_transaction_at_the_gate_is_admitted_and_counted_once() {
    let world = World::new().await;
    for demo in [ACME, GLOBEX] {
        let met = std::sync::atomic::AtomicBool::new(false);
        world.wire.play(move |operation, _| {
            let first = operation == "UpdateItem" && !met.swap(true, std::sync::atomic::Ordering::Relaxed);
            first.then_some(Fault::Conflict)
        });
        let ask = || world.request(Method::GET, "/api/v1/organization").key(demo, Mode::Live).send();
        ask().await.expect(200);
        assert_eq!(ask().await.expect(200).number("/usage/requests_today"), 2);
    }
}
