//! Calls that the provider could not make: they are ordered again, but nobody is called twice, and nobody at night.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shared::model::Mode;
use tests::fake::{FakeResponse, FakeServer, NOWHERE, Request};
use tests::{ACME, TestApi, tenant};

use crate::call_endings::WAITING;
use crate::vapi::{Setup, in_state, is_search, services, without_calls};
use crate::voice_screens::{Client, Invited};
use crate::voice_webhook::{callback, conversation, deliver};

const BUSY: &str = "The voice provider could not make the call. Invite the candidate again.";
const IN_TIME: &str = "The voice provider could not make the call in time.";
const FULL: &str = "call.start.error-subscription-concurrency-limit-reached";

/// A Vapi that makes this many calls at a time. The calls never end.
#[derive(Clone, Default)]
struct FullVapi {
    calls: Arc<Mutex<Vec<Value>>>,
    limit: usize,
}

impl FullVapi {
    fn answer(&self, request: &Request) -> FakeResponse {
        let mut calls = self.calls.lock().unwrap();
        if is_search(request) {
            return FakeResponse::Json(200, json!(*calls));
        }
        if request.method == "DELETE" {
            return FakeResponse::Json(200, json!({}));
        }
        if calls.len() >= self.limit {
            return FakeResponse::Json(429, json!({ "message": "Over the limit" }));
        }
        let id = format!("call-{}", calls.len() + 1);
        calls.push(json!({ "id": id, "customer": request.json()["customer"] }));
        FakeResponse::Json(201, json!({ "id": id }))
    }
}

/// Runs the tasks every five minutes between these times of day, and returns the times of the orders for a screen.
async fn run_between(setup: &Setup, screen: u64, from: (i32, i32), hours: i32) -> Vec<(i32, i32)> {
    let mut orders = Vec::new();
    let mut seen = setup.orders(screen);
    for minute in (0..hours * 60).step_by(5) {
        let total = from.0 * 60 + from.1 + minute;
        let (day, hour, minute) = (20 + total / 1_440, total / 60 % 24, total % 60);
        setup.api.clock.set(&format!("2026-11-{day}T{hour:02}:{minute:02}:00Z"));
        setup.api.run_tasks().await;
        if setup.orders(screen) > seen {
            seen = setup.orders(screen);
            orders.push((hour, minute));
        }
    }
    orders
}

#[tokio::test]
async fn a_call_waits_until_the_provider_has_room() {
    let vapi = FullVapi { limit: 2, ..FullVapi::default() };
    let answers = vapi.clone();
    let setup = Setup::new(move |request| answers.answer(request)).await;
    let client = setup.client();
    let mut screens = Vec::new();
    for _ in 0..4 {
        screens.push(client.invited().await.screen);
    }
    setup.api.run_tasks().await;
    let waiting = async || {
        let mut waiting = Vec::new();
        for screen in &screens {
            let shown = client.screen(*screen).await;
            assert_eq!(shown["status"], "queued");
            if shown["summary"] == WAITING {
                waiting.push(*screen);
            }
        }
        waiting
    };
    assert_eq!(waiting().await.len(), 2);
    setup.run_tasks_at(&["09:30:29"]).await;
    let orders = |screens: &[u64]| screens.iter().map(|screen| setup.orders(*screen)).collect::<Vec<_>>();
    assert_eq!(orders(&waiting().await), [1, 1], "the first pause has 30 seconds at least");
    setup.run_tasks_at(&["09:31:00"]).await;
    assert_eq!(orders(&waiting().await), [2, 2]);
    let still = waiting().await;
    vapi.calls.lock().unwrap().clear();
    setup.run_tasks_at(&["09:33:00", "09:34:00"]).await;
    assert_eq!((waiting().await.len(), orders(&still)), (0, vec![3, 3]));
    // The calls count once towards the daily limits, although they were ordered three times.
    let items = setup.api.stored_items().await;
    let counters = items.iter().filter(|((pk, _), _)| pk.starts_with("ATTEMPTS#"));
    let counted: BTreeSet<_> = counters.map(|(_, item)| item["attempts"].as_n().unwrap().clone()).collect();
    assert_eq!(counted, BTreeSet::from(["1".to_owned(), "4".to_owned()]));
}

#[tokio::test]
async fn a_call_is_tried_for_a_day_and_only_by_day() {
    let setup = Setup::new(without_calls(|| FakeResponse::Json(503, json!({})))).await;
    let client = setup.client();
    let Invited { role, candidate, screen } = client.invited().await;
    let orders = run_between(&setup, screen, (9, 30), 25).await;
    // The number is in Germany: the hours for calls are 8:00 to 19:00 UTC.
    assert!(orders.iter().all(|(hour, _)| (8..19).contains(hour)), "{orders:?}");
    assert!(orders.len() > 20 && orders.iter().any(|(hour, _)| *hour == 8), "{orders:?}");
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(BUSY)));
    let made = setup.orders(screen);
    setup.api.clock.set("2026-11-22T12:00:00Z");
    setup.api.run_tasks().await;
    assert_eq!(setup.orders(screen), made);
    client.invite(candidate, role).await.expect(201);
}

#[tokio::test]
async fn an_unreachable_provider_is_tried_again() {
    let api = TestApi::with_services(services(NOWHERE)).await;
    let client = Client::live(&api);
    let screen = client.invited().await.screen;
    api.run_tasks().await;
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["summary"]), (&json!("queued"), &json!(WAITING)));
    api.clock.set("2026-11-21T09:30:01Z");
    api.run_tasks().await;
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(BUSY)));
}

#[tokio::test]
async fn a_scheduled_call_is_tried_until_two_hours_after_its_time() {
    let setup = Setup::new(without_calls(|| FakeResponse::Json(429, json!({})))).await;
    let client = setup.client();
    let (role, candidate) = (client.role().await, client.candidate().await);
    let screen = client.invite_at(candidate, role, "2026-11-20T12:00:00Z").await.expect(201).number("/id");
    let orders = run_between(&setup, screen, (9, 30), 6).await;
    assert!(orders.iter().all(|time| *time <= (14, 0)), "{orders:?}");
    assert!(orders.iter().any(|time| (12, 0) < *time), "{orders:?}");
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(BUSY)));
    // Its time is in the evening, when nobody may be called unexpectedly.
    let late = client.invite_at(candidate, role, "2026-11-20T18:50:00Z").await.expect(201).number("/id");
    setup.run_tasks_at(&["15:30:00", "16:00:00", "18:55:00", "19:15:00", "19:30:00"]).await;
    let shown = client.screen(late).await;
    assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(IN_TIME)));
}

/// The reports of the first order come late and twice, while the second one is on its way.
#[tokio::test]
async fn reports_on_a_call_that_was_put_off_no_longer_count() {
    let number = Arc::new(Mutex::new(0));
    let setup = Setup::new(move |request| {
        if request.method != "POST" {
            return in_state(json!({ "status": "queued" }))(request);
        }
        let mut number = number.lock().unwrap();
        *number += 1;
        FakeResponse::Json(201, json!({ "id": format!("call-{number}") }))
    })
    .await;
    let (api, client) = (&setup.api, setup.client());
    let Invited { role, screen, .. } = client.invited().await;
    let report_of = |call: &str, kind: &str, more: Value| {
        let mut report = callback(api, screen, kind, more);
        report["message"]["call"]["id"] = json!(call);
        report
    };
    api.run_tasks().await;
    let full = report_of("call-1", "end-of-call-report", json!({ "endedReason": FULL }));
    deliver(api, &full).await.expect(200);
    deliver(api, &full).await.expect(200);
    assert_eq!(client.screen(screen).await["summary"], WAITING);
    setup.run_tasks_at(&["09:31:00", "09:32:00"]).await;
    assert_eq!(setup.orders(screen), 2);
    for late in [
        full.clone(),
        report_of("call-1", "status-update", json!({ "status": "in-progress" })),
        report_of("call-1", "end-of-call-report", conversation(12)),
    ] {
        deliver(api, &late).await.expect(200);
    }
    assert_eq!(client.screen(screen).await["status"], "queued");
    setup.run_tasks_at(&["09:33:00", "09:40:00"]).await;
    assert_eq!(setup.orders(screen), 2, "the second call was made");
    deliver(api, &report_of("call-2", "status-update", json!({ "status": "in-progress" }))).await.expect(200);
    // The candidate has taken this call, so it is not made again, whatever the reason.
    deliver(api, &report_of("call-2", "end-of-call-report", json!({ "endedReason": FULL })))
        .await
        .expect(200);
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(BUSY)));
    assert_eq!(client.stats(role).await["screens_completed"], 0);
}

/// The provider says that it failed, or does not answer, but has the call.
#[tokio::test]
async fn a_call_that_the_provider_has_after_all_is_adopted() {
    let lost: [fn() -> FakeResponse; 3] =
        [|| FakeResponse::Json(500, json!({})), || FakeResponse::Close, || FakeResponse::Html(200)];
    for (respond, is_cancelled) in lost.into_iter().flat_map(|respond| [(respond, false), (respond, true)]) {
        let orders = Arc::new(Mutex::new(Vec::new()));
        let setup = Setup::new(move |request| {
            let mut orders = orders.lock().unwrap();
            match request.method.as_str() {
                "POST" => {
                    let stranger = json!({ "id": "call-7", "customer": { "externalId": "1-live-1" } });
                    let customer = request.json()["customer"].clone();
                    *orders = vec![stranger, json!({ "id": "call-8", "customer": customer })];
                    respond()
                }
                "DELETE" => FakeResponse::Json(200, json!({})),
                _ if is_search(request) => FakeResponse::Json(200, json!(*orders)),
                _ => FakeResponse::Json(200, json!({ "status": "in-progress" })),
            }
        })
        .await;
        let (api, client) = (&setup.api, setup.client());
        let screen = client.invited().await.screen;
        api.run_tasks().await;
        if is_cancelled {
            client.post(&format!("voice_screens/{screen}/cancel"), json!({})).await.expect(200);
        }
        setup.run_tasks_at(&["09:31:00", "09:32:00", "09:33:00", "09:40:00"]).await;
        assert_eq!(setup.orders(screen), 1);
        let requests = setup.vapi.requests();
        let deleted: Vec<_> =
            requests.iter().filter(|one| one.method == "DELETE").map(|one| &one.target).collect();
        if is_cancelled {
            assert_eq!(deleted, ["/call/call-8"]);
            continue;
        }
        assert!(deleted.is_empty());
        let shown = client.screen(screen).await;
        assert_eq!((&shown["status"], &shown["summary"]), (&json!("queued"), &Value::Null));
    }
}

/// The call of a declined conversation, and those that were never made, are deleted at the provider.
#[tokio::test]
async fn calls_leave_nothing_at_the_provider() {
    let setup = Setup::new(in_state(json!({ "status": "queued" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let screen = client.invited().await.screen;
    api.run_tasks().await;
    let mut declined = conversation(84);
    declined["artifact"]["structuredOutputs"]["output-1"]["result"] = json!({ "declined": true });
    let mut declined = callback(api, screen, "end-of-call-report", declined);
    declined["message"]["call"]["id"] = json!(format!("call-{screen}"));
    deliver(api, &declined).await.expect(200);
    setup.run_tasks_at(&["09:30:01", "09:31:00", "12:00:00"]).await;
    assert_eq!(setup.cancellations(screen), 1);
    let Invited { candidate, screen: waiting, .. } = client.invited().await;
    api.run_tasks().await;
    let mut full = callback(api, waiting, "end-of-call-report", json!({ "endedReason": FULL }));
    full["message"]["call"]["id"] = json!(format!("call-{waiting}"));
    deliver(api, &full).await.expect(200);
    api.post(&format!("/api/v1/candidates/{candidate}/erase"), json!({})).await.expect(202);
    setup.run_tasks_at(&["12:00:01", "12:01:00", "15:00:00"]).await;
    assert_eq!(setup.cancellations(waiting), 1);
}

/// Two organizations with many calls get the provider's room by turns.
#[tokio::test]
async fn organizations_take_turns() {
    let vapi = FullVapi { limit: 9, ..FullVapi::default() };
    let answers = vapi.clone();
    let server = FakeServer::start(move |request| answers.answer(request)).await;
    let api = TestApi::with_services(services(&server.url)).await;
    let busy = Client::live(&api);
    for _ in 0..12 {
        busy.invited().await;
    }
    let other = Client::globex(&api);
    let (role, candidate) = (other.role().await, other.candidate().await);
    let screen = other.invite(candidate, role).await.expect(201).number("/id");
    api.run_tasks().await;
    assert_eq!(other.screen(screen).await["summary"], Value::Null, "its call was made");
    let references = vapi.calls.lock().unwrap().clone();
    let acme = format!("{}-", tenant(ACME, Mode::Live).organization);
    let of_acme =
        references.iter().filter(|call| call["customer"]["externalId"].as_str().unwrap().starts_with(&acme));
    assert_eq!(of_acme.count(), 8);
}
