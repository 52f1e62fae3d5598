//! Least privilege: `template.yaml` allows each function exactly the table actions that it uses.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};
use serde_yaml_ng::Value as Yaml;
use shared::config::{Addresses, Services, XAccess};
use shared::id::Id;
use shared::model::{CallState, Mode, Speaker, Turn, VoiceProvider};
use shared::providers::voice;
use shared::providers::x::Tokens;
use shared::secret::Secret;
use shared::services::accounts;
use shared::store::Transaction;
use shared::token_encryption::EncryptionKeys;
use tests::interceptor::RecordedCall;
use tests::{ACME, Fixtures, TestApi, project, tenant};

pub(crate) type Actions = BTreeSet<(String, &'static str)>;

/// Returns the IAM actions that a call needs, each with its resource: the table or the index.
pub(crate) fn needed(call: &RecordedCall) -> Vec<(String, &'static str)> {
    let action = |name: &str| format!("dynamodb:{name}");
    if call.operation == "TransactWriteItems" {
        let actions =
            call.request["TransactItems"].as_array().into_iter().flatten().filter_map(Value::as_object);
        let name = |kind: &String| match kind.as_str() {
            "ConditionCheck" => "ConditionCheckItem".to_owned(),
            kind => format!("{kind}Item"),
        };
        return actions.flat_map(|item| item.keys()).map(|kind| (action(&name(kind)), "table")).collect();
    }
    let resource = if call.request.get("IndexName").is_some() { "index" } else { "table" };
    vec![(action(&call.operation), resource)]
}

pub(crate) fn allowed() -> BTreeMap<String, Actions> {
    let text = std::fs::read_to_string(project("template.yaml")).unwrap();
    let template: Yaml = serde_yaml_ng::from_str(&text).unwrap();
    let mut allowed = BTreeMap::new();
    for (name, resource) in template["Resources"].as_mapping().unwrap() {
        let mut actions = Actions::new();
        let policies = resource.get("Properties").and_then(|properties| properties.get("Policies"));
        for policy in policies.and_then(Yaml::as_sequence).into_iter().flatten() {
            for statement in policy["Statement"].as_sequence().unwrap() {
                let target = serde_yaml_ng::to_string(&statement["Resource"]).unwrap();
                let target = if target.contains("index/") { "index" } else { "table" };
                let granted = match &statement["Action"] {
                    Yaml::Sequence(actions) => actions.clone(),
                    action => vec![action.clone()],
                };
                let granted = granted.iter().map(|action| action.as_str().unwrap().to_owned());
                // Actions on the bucket are not tested here.
                let granted = granted.filter(|action| action.starts_with("dynamodb:"));
                actions.extend(granted.map(|action| (action, target)));
            }
        }
        allowed.insert(name.as_str().unwrap().to_owned(), actions);
    }
    allowed
}

/// Sends requests that cover every kind of read and write of the functions. Returns the calls of each request with its
/// function.
async fn calls_of_requests(api: &TestApi) -> Vec<(String, Vec<RecordedCall>)> {
    let mut calls_by_function = Vec::new();
    let mut ids = BTreeMap::new();
    let live = Some(("live", "/role/id", "/job_posting/id"));
    let jane = |role: &str| json!({ "name": "Jane", "email": "jane@example.com", "role_id": role });
    let (no_body, no_ids) = (Value::Null, None);
    let script = [
        ("POST", "quick_post", json!({ "role": { "title": "x" } }), live),
        (
            "POST",
            "quick_post",
            json!({ "role": { "title": "x" }, "publish": false }),
            Some(("draft", "/role/id", "/job_posting/id")),
        ),
        (
            "POST",
            "quick_post",
            json!({ "role": { "title": "z" } }),
            Some(("other", "/role/id", "/job_posting/id")),
        ),
        ("POST", "roles", json!({ "title": "y" }), Some(("plain", "/id", "/id"))),
        ("POST", "job_postings", json!({ "role_id": "{plain}" }), no_ids),
        ("GET", "roles", no_body.clone(), no_ids),
        ("GET", "roles?status=open", no_body.clone(), no_ids),
        ("GET", "roles/{live}", no_body.clone(), no_ids),
        ("GET", "roles/{live}/stats", no_body.clone(), no_ids),
        ("PATCH", "roles/{live}", json!({ "title": "z" }), no_ids),
        ("POST", "roles/{live}/pause", no_body.clone(), no_ids),
        ("POST", "roles/{live}/pause", no_body.clone(), no_ids),
        ("POST", "roles/{live}/resume", no_body.clone(), no_ids),
        ("GET", "job_postings", no_body.clone(), no_ids),
        ("GET", "job_postings?published=true", no_body.clone(), no_ids),
        ("GET", "job_postings/{live'}", no_body.clone(), no_ids),
        ("PATCH", "job_postings/{live'}", json!({ "title": "z" }), no_ids),
        ("POST", "job_postings/{live'}/unpublish", no_body.clone(), no_ids),
        ("POST", "job_postings/{live'}/publish", no_body.clone(), no_ids),
        ("POST", "candidates", jane("{live}"), Some(("jane", "/id", "/id"))),
        ("GET", "candidates", no_body.clone(), no_ids),
        ("GET", "candidates?role_id={live}", no_body.clone(), no_ids),
        ("GET", "candidates?role_id={live}&stage=applied", no_body.clone(), no_ids),
        ("GET", "candidates?email=jane@example.com", no_body.clone(), no_ids),
        ("GET", "candidates?q=jane", no_body.clone(), no_ids),
        ("GET", "candidates/{jane}", no_body.clone(), no_ids),
        ("PATCH", "candidates/{jane}", json!({ "email": "j@example.com", "tags": ["x"] }), no_ids),
        ("POST", "candidates/{jane}/applications", json!({ "role_id": "{other}" }), no_ids),
        (
            "POST",
            "candidates/{jane}/invite_screen",
            json!({ "role_id": "{live}" }),
            Some(("screen", "/id", "/id")),
        ),
        ("POST", "candidates/{jane}/advance", json!({ "stage": "offer" }), no_ids),
        ("PUT", "candidates/{jane}/legal_hold", json!({ "reason": "x" }), no_ids),
        ("DELETE", "candidates/{jane}/legal_hold", no_body.clone(), no_ids),
        ("GET", "applications", no_body.clone(), no_ids),
        ("GET", "applications?stage=applied", no_body.clone(), no_ids),
        ("GET", "voice_screens?status=queued", no_body.clone(), no_ids),
        ("GET", "voice_screens?result=passed", no_body.clone(), no_ids),
        ("GET", "voice_screens/{screen}", no_body.clone(), no_ids),
        ("POST", "voice_screens/{screen}/cancel", no_body.clone(), no_ids),
        ("GET", "channels", no_body.clone(), no_ids),
        ("POST", "channels/x/post", json!({ "job_posting_id": "{live'}" }), no_ids),
        ("GET", "channels/x/posts", no_body.clone(), no_ids),
        ("POST", "candidates/{jane}/erase", no_body.clone(), no_ids),
        ("DELETE", "roles/{live}", no_body.clone(), no_ids),
        ("DELETE", "roles/{draft}", no_body.clone(), no_ids),
        ("POST", "roles/{draft}/reopen", no_body.clone(), no_ids),
        ("GET", "organization", no_body.clone(), no_ids),
        ("GET", "audit_log", no_body.clone(), no_ids),
        ("GET", "audit_log?actor=system", no_body.clone(), no_ids),
        ("GET", "audit_log?action=candidate.read", no_body.clone(), no_ids),
    ];
    for (number, (method, path, body, ids_to_store)) in script.into_iter().enumerate() {
        let with_ids = |text: &str| {
            ids.iter().fold(text.to_owned(), |text: String, (name, id): (&String, &u64)| {
                text.replace(&format!("{{{name}}}"), &id.to_string())
            })
        };
        // The script quotes the placeholders of ids, but the ids are numbers.
        let body = with_ids(&body.to_string().replace("\"{", "{").replace("}\"", "}"));
        let body: Value = serde_json::from_str(&body).unwrap();
        let path = format!("/api/v1/{}", with_ids(path));
        api.dynamodb.take_calls();
        let method: Method = method.parse().unwrap();
        let request = api.request(method, &path).header("idempotency-key", &format!("k{number}"));
        let response = if body.is_null() { request.send().await } else { request.json(&body).send().await };
        if let Some((name, first, second)) = ids_to_store {
            ids.insert(name.to_owned(), response.number(first));
            ids.insert(format!("{name}'"), response.number(second));
        }
        let function = path.split(['/', '?']).nth(3).unwrap_or_default();
        let function = if function == "audit_log" { "organization" } else { function };
        calls_by_function.push((function.to_owned(), api.dynamodb.take_calls()));
    }
    calls_by_function
}

/// Returns the calls of reads by an application, which the audit log records.
async fn calls_of_an_application(api: &TestApi) -> Vec<(String, Vec<RecordedCall>)> {
    let owner = tests::dashboard::owner(api, ACME).await;
    let acme = tenant(ACME, Mode::Live);
    let (_, token) = tests::dashboard::connect_app(&api.environment, acme, owner.id, "App").await;
    let mut calls_by_function = Vec::new();
    let fixtures = Fixtures::new(api).await;
    for function in ["candidates", "applications", "voice_screens"] {
        api.dynamodb.take_calls();
        let path = fixtures.path(&format!("/api/v1/{function}/{{id}}"));
        api.request(Method::GET, &path).bearer(token.reveal()).send().await.expect(200);
        calls_by_function.push((function.to_owned(), api.dynamodb.take_calls()));
    }
    calls_by_function
}

/// Adds the calls of the webhook and of the tasks. The tasks' own callbacks go to a closed port, so the calls of the
/// two functions stay separate.
async fn add_calls_of_webhook_and_tasks(calls_by_function: &mut Vec<(String, Vec<RecordedCall>)>) {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    let acme = tenant(ACME, Mode::Live);
    let simulator = api.environment.providers.voice_provider(VoiceProvider::Simulator).unwrap();
    let secret = simulator.webhook_secret();
    let report = |screen: u64| {
        json!({ "message": { "type": "end-of-call-report", "call": {
            "id": "c", "customer": { "externalId": format!("1-live-{screen}") } },
            "artifact": { "messages": [{ "role": "user", "message": "Hello", "secondsFromStart": 1 }] } } })
    };
    let now = api.environment.clock.now().as_second();
    let send_callback = async |api: &TestApi, body: &Value| {
        let body = body.to_string();
        let request = api.request(Method::POST, "/webhooks/voice/simulator").anonymous();
        let request = request.header("x-signature", &voice::sign(secret, now, body.as_bytes()));
        request
            .header("x-timestamp", &now.to_string())
            .body("application/json", body)
            .send()
            .await
            .expect(200);
    };
    api.dynamodb.take_calls();
    let mut callback = report(fixtures.screen);
    send_callback(&api, &callback).await;
    callback["message"]["artifact"]["structuredOutputs"] =
        json!({ "x": { "name": "rolecall_screen", "result": {} } });
    send_callback(&api, &callback).await;
    calls_by_function.push(("voice_webhook".to_owned(), api.dynamodb.take_calls()));

    let nowhere = Some("http://127.0.0.1:1".to_owned());
    let services = Services { simulated: true, callback_url: nowhere, ..Services::default() };
    let api = TestApi::with_services(services).await;
    let (without_call, with_transcript) = (Fixtures::new(&api).await, Fixtures::new(&api).await);
    let of_closed_role = Fixtures::new(&api).await;
    // A screen with a stored transcript but without an analysis.
    let before =
        api.store().find_screen(acme, Id::new(with_transcript.screen).unwrap()).await.unwrap().unwrap();
    let turn = Turn { speaker: Speaker::Agent, text: "Hello".to_owned(), at_seconds: 0 };
    let mut transaction = Transaction::new(acme);
    let mut after = before.clone().dial(
        CallState::Placed("c".to_owned()),
        None,
        before.task_due.unwrap(),
        before.screen.created_at,
    );
    after.transcript_parts = transaction.put_transcript(before.screen.id, &[turn]).unwrap();
    transaction.replace_screen(&before, &after).unwrap();
    api.store().commit(transaction).await.unwrap();
    // A role whose applications must follow it.
    api.delete(&format!("/api/v1/roles/{}", of_closed_role.role)).await.expect(200);
    api.dynamodb.take_calls();
    for time in ["2026-11-20T09:30:10Z", "2026-11-20T12:30:00Z"] {
        api.clock.set(time);
        api.run_tasks().await;
    }
    for (screen, status) in [
        (without_call.screen, "failed"),
        (with_transcript.screen, "completed"),
        (of_closed_role.screen, "cancelled"),
    ] {
        let actual = api.store().find_screen(acme, Id::new(screen).unwrap()).await.unwrap().unwrap();
        assert_eq!(actual.screen.status.as_str(), status);
    }
    let erase = format!("/api/v1/candidates/{}/erase", with_transcript.candidate);
    let mut calls = api.dynamodb.take_calls();
    api.post(&erase, json!({})).await.expect(202);
    api.dynamodb.take_calls();
    api.run_tasks().await;
    calls.extend(api.dynamodb.take_calls());
    calls_by_function.push(("tasks".to_owned(), calls));
}

/// Adds the calls of channels with connected accounts and unreachable providers.
async fn add_calls_of_channels(calls_by_function: &mut Vec<(String, Vec<RecordedCall>)>) {
    let nowhere = "http://127.0.0.1:1".to_owned();
    let keys = EncryptionKeys::parse(&format!("k:{}", "s".repeat(32))).unwrap();
    let api = TestApi::with_services(Services {
        x: Some(XAccess { client_id: "c".to_owned(), client_secret: Secret::new("s") }),
        sealing_keys: Some(keys.clone()),
        addresses: Addresses {
            vapi: nowhere.clone(),
            x: nowhere.clone(),
            whatsapp: nowhere,
            ..Addresses::default()
        },
        ..Services::default()
    })
    .await;
    let (acme, random) = (tenant(ACME, Mode::Live), &api.environment.random);
    let tokens = Tokens {
        access: Secret::new("a"),
        refresh: Secret::new("r"),
        expires_at: "2026-11-20T11:30:00Z".parse().unwrap(),
    };
    let x = accounts::connect_x(acme, "acme".to_owned(), &tokens, &keys, random).unwrap();
    let whatsapp = accounts::connect_whatsapp(acme, "1".to_owned(), &tokens.access, &keys, random).unwrap();
    let mut transaction = Transaction::new(acme);
    transaction.put_x_connection(&x).unwrap();
    transaction.put_whatsapp_connection(&whatsapp).unwrap();
    api.store().commit(transaction).await.unwrap();
    let post = api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await;
    api.dynamodb.take_calls();
    api.get("/api/v1/channels").await.expect(200);
    let post = json!({ "job_posting_id": post.number("/job_posting/id") });
    api.post("/api/v1/channels/x/post", post).await.expect(502);
    calls_by_function.push(("channels".to_owned(), api.dynamodb.take_calls()));
}

fn logical_id(function: &str) -> String {
    let words = function.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.chain(["Function".to_owned()]).collect()
}

#[tokio::test]
async fn policies_allow_exactly_the_actions_used() {
    let api = TestApi::new().await;
    let mut used: BTreeMap<String, Actions> = BTreeMap::new();
    let mut calls_by_function = calls_of_requests(&api).await;
    add_calls_of_webhook_and_tasks(&mut calls_by_function).await;
    add_calls_of_channels(&mut calls_by_function).await;
    calls_by_function.extend(calls_of_an_application(&api).await);
    for function in ["oauth", "dashboard", "careers", "sign_in"] {
        calls_by_function.push((function.to_owned(), super::events::calls_of(function).await));
    }
    calls_by_function.push(("careers".to_owned(), super::careers_resumes::calls_of_an_upload(&api).await));
    calls_by_function.push(("sign_in".to_owned(), super::passkeys::calls_of_a_sign_in(&api).await));
    for (function, calls) in calls_by_function {
        let actions = used.entry(logical_id(&function)).or_default();
        actions.extend(calls.iter().flat_map(needed));
        // Every function reads an item when it starts and when the gate is throttled.
        if !calls.is_empty() {
            actions.insert(("dynamodb:GetItem".to_owned(), "table"));
        }
    }
    api.clock.set("2026-11-21T00:00:00Z");
    usage_reset::run(api.environment.clone()).await.unwrap();
    let actions = used.entry("UsageResetFunction".to_owned()).or_default();
    actions.extend(api.dynamodb.take_calls().iter().flat_map(needed));
    actions.insert(("dynamodb:GetItem".to_owned(), "table"));
    let allowed = allowed();
    for (function, used) in used {
        assert_eq!(used, allowed[&function], "{function}: used and allowed actions");
    }
}
