//! The daily quota: exact, per mode, reset at midnight UTC.

use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;

use futures_util::future::join_all;
use http::Method;
use serde_json::Value;
use shared::auth::Kind;
use shared::id::Id;
use shared::model::{Mode, Networks, Plan};
use shared::random::Random;
use shared::store::{ApiKey, Transaction};
use tests::interceptor::{Fault, RecordedCall};
use tests::permissions::run_as;
use tests::{ACME, GLOBEX, Response, TestApi, new_credential, tenant};

async fn get_roles(api: &TestApi, mode: Mode) -> Response {
    api.request(Method::GET, "/api/v1/roles").key(GLOBEX, mode).send().await
}

/// Whether a call counts a request on a gate.
fn counts_at_gate(operation: &str, request: &Value) -> bool {
    let is_gate = request["Key"]["pk"]["S"].as_str().is_some_and(|pk| pk.ends_with("#GATE"));
    is_gate && operation == "UpdateItem" && request["UpdateExpression"] == "ADD #day :cost"
}

/// `QUOTA_ROUNDS=200` repeats the test 200 times.
#[tokio::test]
async fn exactly_100_of_1000_concurrent_requests_are_admitted() {
    let rounds: u32 = std::env::var("QUOTA_ROUNDS").map_or(3, |rounds| rounds.parse().expect("a number"));
    for _ in 0..rounds {
        let api = TestApi::new().await;
        api.clock.set("2026-11-20T23:59:30.250Z");
        let responses = join_all((0..1_000).map(|_| get_roles(&api, Mode::Live))).await;
        let (admitted, refused): (Vec<_>, Vec<_>) =
            responses.into_iter().partition(|response| response.status == 200);
        assert_eq!((admitted.len(), refused.len()), (100, 900));
        let mut remaining: Vec<_> =
            admitted.iter().map(|response| response.header("ratelimit").to_owned()).collect();
        remaining.sort_unstable();
        remaining.dedup();
        assert_eq!(remaining.len(), 100, "each remainder from 99 to 0 appears once");
        for response in refused {
            assert_eq!((response.status, response.string("/code")), (429, "rate_limited"));
            assert_eq!(response.header("retry-after"), "30", "29.75 seconds, rounded up");
            assert_eq!(response.header("ratelimit"), r#""daily";r=0;t=30"#);
            assert_eq!(response.header("ratelimit-policy"), r#""daily";q=100;w=86400"#);
        }
    }
}

#[tokio::test]
async fn the_reset_is_at_midnight_and_does_not_need_the_job() {
    let api = TestApi::new().await;
    api.clock.set("2026-11-20T23:59:30.250Z");
    for _ in 0..100 {
        get_roles(&api, Mode::Live).await.expect(200);
    }
    get_roles(&api, Mode::Live).await.expect(429);
    assert_eq!(
        get_roles(&api, Mode::Test).await.expect(200).header("ratelimit"),
        r#""daily";r=99;t=30"#,
        "each mode has its own quota"
    );
    api.get("/api/v1/roles").await.expect(200);

    api.clock.set("2026-11-21T00:00:00Z");
    let responses = join_all((0..150).map(|_| get_roles(&api, Mode::Live))).await;
    assert_eq!(
        responses.iter().filter(|response| response.status == 200).count(),
        100,
        "the reset does not need the usage reset job"
    );

    let summary = usage_reset::run(api.environment.clone()).await.unwrap();
    assert_eq!((summary.organizations, summary.archived), (2, 3));
    let page = shared::store::Paging { limit: 10, before: None };
    let history = api.store().list_usage(tenant(GLOBEX, Mode::Live), &page).await.unwrap();
    let history: Vec<_> = history.items.iter().map(|day| (day.day.to_string(), day.requests)).collect();
    assert_eq!(history, [("2026-11-20".to_owned(), 100)]);
}

#[tokio::test]
async fn every_request_counts_except_a_429() {
    let api = TestApi::new().await;
    let send = async |method: Method, path: &str, body: &'static str| {
        api.request(method, path).key(GLOBEX, Mode::Live).body("application/json", body).send().await
    };
    for (method, path, body, status) in [
        (Method::GET, "/api/v1/roles/17", "", 404),
        (Method::POST, "/api/v1/roles", "{", 400),
        (Method::POST, "/api/v1/roles", "{}", 422),
        (Method::GET, "/api/v1/roles?cursor=x", "", 400),
    ] {
        send(method, path, body).await.expect(status);
    }
    // A request without a route gets its response before the credential is checked.
    for (method, path, status) in
        [(Method::GET, "/api/v1/nothing", 404), (Method::DELETE, "/api/v1/organization", 405)]
    {
        assert_eq!(send(method, path, "").await.expect(status).header("ratelimit"), "");
    }
    assert_eq!(get_roles(&api, Mode::Live).await.header("ratelimit"), r#""daily";r=95;t=52200"#);
    for _ in 0..95 {
        get_roles(&api, Mode::Live).await.expect(200);
    }
    for _ in 0..3 {
        get_roles(&api, Mode::Live).await.expect(429);
    }
    let day = shared::model::Day::of(api.environment.clock.now());
    let found = api.store().find_organization_and_usage(tenant(GLOBEX, Mode::Live), day).await.unwrap();
    assert_eq!(found.unwrap().1, 100);
}

#[tokio::test]
async fn a_change_of_plan_takes_effect_at_once() {
    let api = TestApi::new().await;
    let globex = tenant(GLOBEX, Mode::Live);
    for _ in 0..100 {
        get_roles(&api, Mode::Live).await.expect(200);
    }
    get_roles(&api, Mode::Live).await.expect(429);
    api.store().set_plan(globex.organization, Plan::Pro).await.unwrap();
    assert_eq!(get_roles(&api, Mode::Live).await.expect(200).header("ratelimit"), "", "Pro has no limit");
    api.store().set_plan(globex.organization, Plan::Free).await.unwrap();
    get_roles(&api, Mode::Live).await.expect(429);
}

/// DynamoDB allows 1,000 writes per second to one item. Above this limit, Pro requests are counted on shards, and Free
/// requests are checked with a read.
#[tokio::test]
async fn a_throttled_gate_still_enforces_the_quota() {
    let api = TestApi::new().await;
    let gate_is_throttled =
        |operation: &str, request: &Value| counts_at_gate(operation, request).then_some(Fault::Throttled);
    for _ in 0..100 {
        get_roles(&api, Mode::Live).await.expect(200);
    }
    api.dynamodb.inject_faults(gate_is_throttled);
    for _ in 0..20 {
        api.get("/api/v1/roles").await.expect(200);
    }
    get_roles(&api, Mode::Live).await.expect(429);
    let unavailable = get_roles(&api, Mode::Test).await.expect(503);
    assert_eq!((unavailable.string("/code"), unavailable.header("retry-after")), ("unavailable", "1"));
    let forged = api
        .request(Method::GET, "/api/v1/roles")
        .header("authorization", "Bearer rc_live_nonsense")
        .send()
        .await;
    forged.expect(401);
    api.dynamodb.inject_faults(|_, _| None);

    let actual = api.get("/api/v1/organization").await.expect(200);
    assert_eq!(actual.number("/usage/requests_today"), 21, "the day's count includes the shards");
    api.clock.set("2026-11-21T08:00:00Z");
    usage_reset::run(api.environment.clone()).await.unwrap();
    let page = shared::store::Paging { limit: 10, before: None };
    let history = api.store().list_usage(tenant(ACME, Mode::Live), &page).await.unwrap();
    assert_eq!(history.items.iter().map(|day| day.requests).collect::<Vec<_>>(), [21]);
}

/// A throttled shard is followed by the next one. A lost response leaves open whether the request was counted, so it is
/// not counted again.
#[tokio::test]
async fn a_request_on_a_shard_is_counted_at_most_once() {
    let api = TestApi::new().await;
    for (fault, status) in [(Fault::Throttled, 200), (Fault::ResponseLost, 503)] {
        let before = api.get("/api/v1/organization").await.expect(200).number("/usage/requests_today");
        let shards = AtomicUsize::new(0);
        api.dynamodb.inject_faults(move |operation, request| {
            let pk = request["Key"]["pk"]["S"].as_str().unwrap_or_default();
            let is_first_shard =
                || pk.contains("#GATE#") && shards.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
            match operation {
                _ if counts_at_gate(operation, request) => Some(Fault::Throttled),
                "UpdateItem" if is_first_shard() => Some(fault.clone()),
                _ => None,
            }
        });
        assert_eq!(api.get("/api/v1/roles").await.status, status);
        api.dynamodb.inject_faults(|_, _| None);
        let after = api.get("/api/v1/organization").await.expect(200).number("/usage/requests_today");
        assert_eq!(after - before, 2, "this request and the one on the shard");
    }
}

#[tokio::test]
async fn a_request_is_counted_on_one_of_four_shards() {
    let api = TestApi::new().await;
    api.dynamodb.inject_faults(|operation, request| {
        let is_shard = request["Key"]["pk"]["S"].as_str().is_some_and(|pk| pk.contains("#GATE#"));
        let is_throttled = counts_at_gate(operation, request) || operation == "UpdateItem" && is_shard;
        is_throttled.then_some(Fault::Throttled)
    });
    api.dynamodb.take_calls();
    api.get("/api/v1/roles").await.expect(503);
    let calls = api.dynamodb.take_calls();
    let tried = calls.iter().filter_map(|call| call.request["Key"]["pk"]["S"].as_str());
    let tried: Vec<_> = tried.filter(|pk| pk.contains("#GATE#")).collect();
    assert_eq!((tried.len(), tried.iter().collect::<HashSet<_>>().len()), (4, 4), "{tried:?}");
}

/// Reads the organization. Returns the day's requests, the read units, and whether shards were read.
async fn usage(api: &TestApi) -> (u64, f64, bool) {
    api.dynamodb.take_calls();
    let shown = api.get("/api/v1/organization").await.expect(200).number("/usage/requests_today");
    let reads: Vec<_> =
        api.dynamodb.take_calls().into_iter().filter(|call| call.operation != "UpdateItem").collect();
    let shards = reads.iter().any(|call| call.request["RequestItems"].to_string().contains("#GATE#"));
    (shown, reads.iter().map(RecordedCall::units).sum(), shards)
}

/// Shards are read from the first request that is counted on one until the job has archived that day and a day more.
#[tokio::test]
async fn shards_are_read_only_while_they_may_have_counts() {
    let api = TestApi::new().await;
    usage(&api).await;
    assert_eq!(usage(&api).await, (2, 2.0, false), "the gate and the profile");
    api.dynamodb
        .inject_faults(|operation, request| counts_at_gate(operation, request).then_some(Fault::Throttled));
    api.dynamodb.take_calls();
    for calls in [["GetItem", "UpdateItem", "UpdateItem"].as_slice(), &["GetItem", "UpdateItem"]] {
        api.get("/api/v1/roles").await.expect(200);
        let mut made: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
        made.sort_unstable();
        // The list is read beside the gate, in any order.
        let mut expected = [calls, &["Query", "UpdateItem"]].concat();
        expected.sort_unstable();
        assert_eq!(made, expected, "the first request leaves a note");
    }
    api.dynamodb.inject_faults(|_, _| None);
    let (shown, _, shards) = usage(&api).await;
    assert_eq!((shown, shards), (5, true));

    let archive = || run_as("UsageResetFunction", usage_reset::run(api.environment.clone()));
    for (day, archived, read) in [("2026-11-21", 3, true), ("2026-11-22", 1, false), ("2026-11-23", 1, false)]
    {
        api.clock.set(&format!("{day}T00:00:00Z"));
        assert_eq!(archive().await.unwrap().archived, archived, "{day}: the gate's day, and two shards");
        let (shown, units, shards) = usage(&api).await;
        assert_eq!((shown, shards), (1, read), "{day}");
        assert!(read || (units - 2.0).abs() < f64::EPSILON, "{day}: {units} units");
    }
    let page = shared::store::Paging { limit: 10, before: None };
    let history = api.store().list_usage(tenant(ACME, Mode::Live), &page).await.unwrap();
    assert_eq!(history.items.last().map(|day| day.requests), Some(5));
}

/// The note is written before the first count, so the usage shown has every request, whatever is throttled and whenever the
/// job runs. What is not noted is not admitted.
#[tokio::test]
async fn the_usage_has_every_request_although_the_gate_is_throttled_at_random() {
    let (mut refused, mut waited) = (0, 0);
    for seed in 0..20 {
        let api = TestApi::new().await;
        let random = Random::seeded(seed);
        let [of_counts, of_notes] =
            [[60, 60], [90, 60], [100, 95], [90, 100]][usize::try_from(seed % 4).unwrap()];
        api.dynamodb.inject_faults(move |operation, request| {
            let is_note = request["UpdateExpression"] == "SET #shards = :today";
            let likely = if counts_at_gate(operation, request) { of_counts } else { of_notes };
            let is_gate = is_note || counts_at_gate(operation, request);
            (is_gate && random.below(100) < likely).then_some(Fault::Throttled)
        });
        let mut admitted = 0;
        for day in ["2026-11-20", "2026-11-21", "2026-11-23"] {
            api.clock.set(&format!("{day}T23:59:59.9Z"));
            let send = |_| api.get("/api/v1/roles");
            let (responses, _) = tokio::join!(join_all((0..40).map(send)), async {
                // At midnight, the job runs beside the last requests of the day.
                usage_reset::run(api.environment.clone()).await
            });
            admitted += responses.iter().filter(|response| response.status == 200).count();
            refused += responses.iter().filter(|response| response.status == 503).count();
        }
        api.dynamodb.inject_faults(|_, _| None);
        api.clock.set("2026-11-24T00:00:01Z");
        let acme = tenant(ACME, Mode::Live);
        let waiting: u64 = api.store().counted_requests(acme).await.unwrap().values().sum();
        usage_reset::run(api.environment.clone()).await.unwrap();
        let page = shared::store::Paging { limit: 10, before: None };
        let history = api.store().list_usage(acme, &page).await.unwrap();
        let archived: u64 = history.items.iter().map(|day| day.requests).sum();
        assert_eq!(archived, admitted as u64, "seed {seed}");
        assert!(waiting <= archived, "seed {seed}");
        waited += waiting;
    }
    assert!(
        refused > 0 && waited > 0,
        "{refused} refused, and {waited} counted on days that were not archived before"
    );
}

/// The transactions of the usage reset job may conflict with the first requests of a new day.
#[tokio::test]
async fn a_request_that_conflicts_at_the_gate_is_admitted_and_counted_once() {
    let api = TestApi::new().await;
    for demo in [ACME, GLOBEX] {
        let conflicted = std::sync::atomic::AtomicBool::new(false);
        api.dynamodb.inject_faults(move |operation, _| {
            let first =
                operation == "UpdateItem" && !conflicted.swap(true, std::sync::atomic::Ordering::Relaxed);
            first.then_some(Fault::Conflict)
        });
        let get_roles = || api.request(Method::GET, "/api/v1/organization").key(demo, Mode::Live).send();
        get_roles().await.expect(200);
        assert_eq!(get_roles().await.expect(200).number("/usage/requests_today"), 2);
    }
}

/// Whoever has found a key that may not be used from their network takes nothing from its owner.
#[tokio::test]
async fn requests_from_a_network_that_the_key_refuses_leave_the_whole_quota() {
    let api = TestApi::new().await;
    let (globex, now) = (tenant(GLOBEX, Mode::Live), api.environment.clock.now());
    let credential = new_credential(Kind::ApiKey, globex, Id::new(77).unwrap(), &Random::seeded(7));
    let networks = Networks::parse("203.0.113.0/24").unwrap();
    let key = ApiKey { networks, ..credential.api_key("Office".to_owned(), now) };
    api.store().insert_api_key(Transaction::new(globex), &key).await.unwrap();
    let send = |source: &'static str| {
        let request = api.request(Method::GET, "/api/v1/roles").bearer(credential.reveal());
        async move { request.from(source).send().await }
    };
    api.dynamodb.take_calls();
    let refused = send("198.51.100.7").await.expect(403);
    assert_eq!(refused.header("ratelimit"), r#""daily";r=100;t=52200"#);
    let calls = api.dynamodb.take_calls();
    assert!(calls.iter().all(|call| call.operation == "GetItem"), "{calls:?}");

    // In any order and at any moment, exactly 100 of the owner's requests are admitted.
    let sources = (0..600).map(|n| if n % 3 == 0 { "198.51.100.7" } else { "203.0.113.9" });
    let responses = join_all(sources.map(send)).await;
    let count = |status: u16| responses.iter().filter(|response| response.status == status).count();
    assert_eq!((count(200), count(200) + count(403) + count(429)), (100, 600));
    // A key that was revoked is no longer valid anywhere.
    api.store().revoke_api_key(globex, key.id, now).await.unwrap();
    for source in ["198.51.100.7", "203.0.113.9"] {
        send(source).await.expect(401);
    }
}
