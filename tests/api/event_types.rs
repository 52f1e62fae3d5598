//! What makes each type of event in the change feed. `tests/outcomes.json` has the events of a usual request to each route.

use std::collections::BTreeSet;
use std::sync::Arc;

use rolecall_local::event_fixtures;
use serde_json::{Value, json};
use shared::id::{Id, Ids};
use shared::model::{AuditActor, DATA_NAMES, EventType, ImportStatus, Mode, Plan};
use shared::random::Random;
use shared::store::AuditOrigin;
use tests::fake::{FakeResponse, FakeServer};
use tests::{ACME, Fixtures, TestApi, tenant};

use super::careers_applications::{Job, form};
use super::fake_x::{POST, connected, problem};
use super::importing::{begin_with, run, settle, step};
use super::outcomes::outcomes;
use super::vapi;
use super::voice_screens::Client;
use super::voice_webhook::{callback, conversation, deliver};
use super::x_posts::{live_posting, post};

/// The types of the events in Acme's live feed.
async fn types(api: &TestApi) -> BTreeSet<String> {
    api.run_feed().await;
    let listed = api.get("/api/v1/events?limit=1000").await.expect(200);
    let events = listed.body["data"].as_array().unwrap();
    for event in events {
        check_data(event);
    }
    events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

/// The data of an event has only the names of its type, with values of the declared types.
fn check_data(event: &Value) {
    let kind: EventType = event["type"].as_str().unwrap().parse().unwrap();
    for (name, value) in event["data"].as_object().unwrap() {
        assert!(kind.data().contains(&name.as_str()), "{event}");
        let is_declared = match value {
            Value::Number(number) => ("integer", number.is_u64()),
            Value::Bool(_) => ("boolean", true),
            value => ("string", value.is_string()),
        };
        let declared = DATA_NAMES.iter().find(|(declared, ..)| declared == name);
        assert_eq!(is_declared, (declared.unwrap().1, true), "{event}");
    }
}

#[tokio::test]
async fn requests_jobs_providers_and_operators_make_all_types_of_events() {
    let mut made: BTreeSet<_> = outcomes().into_values().flat_map(|outcome| outcome.events).collect();
    // Jobs, the administration, and changes of a status.
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    for _ in 0..2 {
        job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    }
    let ada = api.get("/api/v1/candidates").await.expect(200).number("/data/0/id");
    api.post(&format!("/api/v1/candidates/{ada}/withdraw"), json!({})).await.expect(200);
    let Fixtures { role, .. } = Fixtures::new(&api).await;
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    api.run_tasks().await;
    api.post(&format!("/api/v1/roles/{role}/reopen"), json!({})).await.expect(200);
    api.run_tasks().await;
    let (import, done) = (Id::new(7).unwrap(), ImportStatus::Done);
    let (live, at) = (tenant(ACME, Mode::Live), api.environment.clock.now());
    event_fixtures::create_import(api.store(), live, import, done, at).await.unwrap();
    api.post("/api/v1/imports/7/undo", json!({})).await.expect(202);
    for _ in 0..2 {
        api.run_tasks().await;
    }
    let row = json!({
        "name": "Ada", "email": "ada@example.com", "applications": [{ "role": { "title": "Cook" } }],
    });
    let import = begin_with(&api, &[row]).await;
    run(&api, import).await;
    step(&api, import, "undo").await.expect(202);
    settle(&api, import).await;
    api.post("/api/v1/exports", json!({ "format": "csv" })).await.expect(201);
    for _ in 0..3 {
        api.run_tasks().await;
    }
    let new = json!({ "url": "https://hooks.example.com/" });
    let endpoint = api.post("/api/v1/webhook_endpoints", new).await.expect(201).number("/id");
    for status in ["disabled", "enabled"] {
        let path = format!("/api/v1/webhook_endpoints/{endpoint}");
        api.patch(&path, json!({ "status": status })).await.expect(200);
    }
    let (organization, now) = (tenant(ACME, Mode::Live).organization, api.environment.clock.now());
    let clock = api.environment.clock.clone();
    let ids = Ids::new(clock.clone(), Random::seeded(7));
    let origin = AuditOrigin::inside(AuditActor::operator(), clock, ids);
    let operator = api.store().clone().with_origin(Arc::new(origin));
    operator.set_plan(organization, Plan::Free).await.unwrap();
    for suspended in [true, false] {
        operator.set_suspended(organization, suspended, now).await.unwrap();
    }
    made.extend(types(&api).await);
    // Calls.
    let vapi = FakeServer::start(|_| FakeResponse::Json(500, json!({}))).await;
    let api = TestApi::with_services(vapi::services(&vapi.url)).await;
    let client = Client::live(&api);
    let mut declined = conversation(84);
    declined["endedReason"] = json!("assistant-said-end-call-phrase");
    declined["artifact"]["structuredOutputs"] = Value::Null;
    for report in [
        conversation(84),
        json!({ "endedReason": "customer-busy" }),
        json!({ "endedReason": "twilio-failed" }),
        declined,
    ] {
        let (role, candidate) = (client.role().await, client.candidate().await);
        client
            .post(&format!("candidates/{candidate}/applications"), json!({ "role_id": role }))
            .await
            .expect(201);
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        deliver(&api, &callback(&api, screen, "end-of-call-report", report)).await.expect(200);
        let review = format!("voice_screens/{screen}/review");
        client.post(&review, json!({ "decision": "overruled" })).await;
    }
    client.invited().await;
    api.run_tasks().await;
    made.extend(types(&api).await);
    // Posts.
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    x.reply_with(POST, problem(400, "Invalid Request", "One or more parameters was invalid."));
    post(&api, posting).await.expect(502);
    x.reply_normally();
    x.revoke();
    post(&api, posting).await.expect(422);
    made.extend(types(&api).await);
    let all = EventType::ALL.iter().map(|kind| kind.as_str().to_owned());
    // A ping is delivered to its endpoint only, and is not in the feed.
    let all: BTreeSet<_> = all.filter(|kind| kind != EventType::WebhookEndpointPinged.as_str()).collect();
    assert_eq!(made, all);
}
