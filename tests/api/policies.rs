//! What each function does to the table is what `template.yaml` allows it: no less, or it fails in AWS; no more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use serde_json::{Value, json};
use serde_yaml_ng::Value as Yaml;
use shared::accounts;
use shared::config::{Addresses, Services, XAccess};
use shared::id::Id;
use shared::model::{Dialing, Mode, RoleStatus, Source, Speaker, Turn, VoiceProvider};
use shared::providers::voice;
use shared::providers::x::Tokens;
use shared::sealed::SealingKeys;
use shared::secret::Secret;
use shared::store::Writes;
use tests::wire::{Fault, Recorded};
use tests::{ACME, Things, World, project, tenant};

pub(crate) type Actions = BTreeSet<(String, &'static str)>;

/// The actions that a call needs, on the table or on its index.
pub(crate) fn needed(call: &Recorded) -> Vec<(String, &'static str)> {
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
                // What is allowed on the bucket is not asked of the table.
                let granted = granted.filter(|action| action.starts_with("dynamodb:"));
                actions.extend(granted.map(|action| (action, target)));
            }
        }
        allowed.insert(name.as_str().unwrap().to_owned(), actions);
    }
    allowed
}

/// Requests that take every way through the functions that writes or reads differently.
async fn everything(world: &World) -> Vec<(String, Vec<Recorded>)> {
    let mut seen = Vec::new();
    let mut ids = BTreeMap::new();
    let live = Some(("live", "/role/id", "/job_posting/id"));
    let jane = |role: &str| json!({ "name": "Jane", "email": "jane@example.com", "role_id": role });
    let (none, nothing) = (Value::Null, None);
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
        ("POST", "job_postings", json!({ "role_id": "{plain}" }), nothing),
        ("GET", "roles", none.clone(), nothing),
        ("GET", "roles?status=open", none.clone(), nothing),
        ("GET", "roles/{live}", none.clone(), nothing),
        ("GET", "roles/{live}/stats", none.clone(), nothing),
        ("PATCH", "roles/{live}", json!({ "title": "z" }), nothing),
        ("POST", "roles/{live}/pause", none.clone(), nothing),
        ("POST", "roles/{live}/pause", none.clone(), nothing),
        ("POST", "roles/{live}/resume", none.clone(), nothing),
        ("GET", "job_postings", none.clone(), nothing),
        ("GET", "job_postings?published=true", none.clone(), nothing),
        ("GET", "job_postings/{live'}", none.clone(), nothing),
        ("PATCH", "job_postings/{live'}", json!({ "title": "z" }), nothing),
        ("POST", "job_postings/{live'}/unpublish", none.clone(), nothing),
        ("POST", "job_postings/{live'}/publish", none.clone(), nothing),
        ("POST", "candidates", jane("{live}"), Some(("jane", "/id", "/id"))),
        ("GET", "candidates", none.clone(), nothing),
        ("GET", "candidates?role_id={live}", none.clone(), nothing),
        ("GET", "candidates?role_id={live}&stage=applied", none.clone(), nothing),
        ("GET", "candidates/{jane}", none.clone(), nothing),
        ("PATCH", "candidates/{jane}", json!({ "email": "j@example.com" }), nothing),
        ("POST", "candidates/{jane}/applications", json!({ "role_id": "{other}" }), nothing),
        (
            "POST",
            "candidates/{jane}/invite_screen",
            json!({ "role_id": "{live}" }),
            Some(("screen", "/id", "/id")),
        ),
        ("POST", "candidates/{jane}/advance", json!({ "stage": "offer" }), nothing),
        ("GET", "voice_screens?status=queued", none.clone(), nothing),
        ("GET", "voice_screens/{screen}", none.clone(), nothing),
        ("GET", "channels", none.clone(), nothing),
        ("POST", "channels/x/post", json!({ "job_posting_id": "{live'}" }), nothing),
        ("GET", "channels/x/posts", none.clone(), nothing),
        ("DELETE", "roles/{live}", none.clone(), nothing),
        ("DELETE", "roles/{draft}", none.clone(), nothing),
        ("POST", "roles/{draft}/reopen", none.clone(), nothing),
        ("GET", "organization", none.clone(), nothing),
    ];
    for (number, (method, path, body, kept)) in script.into_iter().enumerate() {
        let filled = |text: &str| {
            ids.iter().fold(text.to_owned(), |text: String, (name, id): (&String, &u64)| {
                text.replace(&format!("{{{name}}}"), &id.to_string())
            })
        };
        // An id stands in a body without the quotes that its placeholder needs.
        let body = filled(&body.to_string().replace("\"{", "{").replace("}\"", "}"));
        let body: Value = serde_json::from_str(&body).unwrap();
        let path = format!("/api/v1/{}", filled(path));
        world.wire.take();
        let method: Method = method.parse().unwrap();
        let ask = world.request(method, &path).header("idempotency-key", &format!("k{number}"));
        let answer = if body.is_null() { ask.send().await } else { ask.json(&body).send().await };
        if let Some((name, first, second)) = kept {
            ids.insert(name.to_owned(), answer.number(first));
            ids.insert(format!("{name}'"), answer.number(second));
        }
        let function = path.split(['/', '?']).nth(3).unwrap_or_default();
        seen.push((function.to_owned(), world.wire.take()));
    }
    seen
}

/// What the tasks and the webhook do, each by itself: the tasks' callbacks go nowhere.
async fn behind_the_scenes(seen: &mut Vec<(String, Vec<Recorded>)>) {
    let world = World::new().await;
    let things = Things::new(&world).await;
    let acme = tenant(ACME, Mode::Live);
    let secret = world.environment.providers.webhook_secret(VoiceProvider::Simulator).unwrap().clone();
    let report = |screen: u64| {
        json!({ "message": { "type": "end-of-call-report", "call": {
            "id": "c", "customer": { "externalId": format!("1-live-{screen}") } },
            "artifact": { "messages": [{ "role": "user", "message": "Hello", "secondsFromStart": 1 }] } } })
    };
    let now = world.environment.clock.now().as_second();
    let hook = async |world: &World, body: &Value| {
        let body = body.to_string();
        let ask = world.request(Method::POST, "/webhooks/voice/simulator").anonymous();
        let ask = ask.header("x-signature", &voice::sign(&secret, now, body.as_bytes()));
        ask.header("x-timestamp", &now.to_string()).body("application/json", body).send().await.expect(200);
    };
    world.wire.take();
    let mut early = report(things.screen);
    hook(&world, &early).await;
    early["message"]["artifact"]["structuredOutputs"] =
        json!({ "x": { "name": "rolecall_screen", "result": {} } });
    hook(&world, &early).await;
    seen.push(("voice_webhook".to_owned(), world.wire.take()));

    let nowhere = Some("http://127.0.0.1:1".to_owned());
    let services = Services { simulated: true, callback_url: nowhere, ..Services::default() };
    let world = World::with_services(services).await;
    let (silent, talked) = (Things::new(&world).await, Things::new(&world).await);
    // A conversation that was kept, and whose analysis never came.
    let before = world.store().find_screen(acme, Id::new(talked.screen).unwrap()).await.unwrap().unwrap();
    let turn = Turn { speaker: Speaker::Agent, text: "Hello".to_owned(), at_seconds: 0 };
    let mut writes = Writes::new(acme);
    let mut after = before.clone().dial(
        Dialing::Placed("c".to_owned()),
        None,
        before.task_due.unwrap(),
        before.screen.created_at,
    );
    after.transcript_parts = writes.put_transcript(before.screen.id, &[turn]).unwrap();
    writes.replace_screen(&before, &after).unwrap();
    world.store().commit(writes).await.unwrap();
    // A candidate whose applications a transaction has no room for.
    let path = format!("/api/v1/candidates/{}", silent.candidate);
    let before =
        world.store().find_candidate(acme, Id::new(silent.candidate).unwrap()).await.unwrap().unwrap();
    let mut file = before.clone();
    for number in 1..=120 {
        let (id, now) = (Id::new(number).unwrap(), before.candidate.created_at);
        file = file.apply(id, id, RoleStatus::Open, Source::Api, now).unwrap();
    }
    let mut writes = Writes::new(acme);
    writes.replace_candidate(&before, &file).unwrap();
    world.store().commit(writes).await.unwrap();
    let transactions = AtomicUsize::new(0);
    world.wire.play(move |operation, _| {
        let transaction = operation == "TransactWriteItems";
        (transaction && transactions.fetch_add(1, Ordering::Relaxed) > 0).then_some(Fault::Unreachable)
    });
    world.post(&format!("{path}/advance"), json!({ "stage": "offer" })).await.expect(200);
    world.wire.play(|_, _| None);
    world.wire.take();
    for time in ["2026-11-20T09:30:10Z", "2026-11-20T12:30:00Z"] {
        world.hands.set(time);
        world.run_tasks().await;
    }
    for (screen, status) in [(silent.screen, "failed"), (talked.screen, "completed")] {
        let shown = world.store().find_screen(acme, Id::new(screen).unwrap()).await.unwrap().unwrap();
        assert_eq!(shown.screen.status.as_str(), status);
    }
    seen.push(("tasks".to_owned(), world.wire.take()));
}

/// What the channels do when they have accounts, and nobody answers.
async fn with_accounts(seen: &mut Vec<(String, Vec<Recorded>)>) {
    let nowhere = "http://127.0.0.1:1".to_owned();
    let keys = SealingKeys::parse(&format!("k:{}", "s".repeat(32))).unwrap();
    let world = World::with_services(Services {
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
    let (acme, random) = (tenant(ACME, Mode::Live), &world.environment.random);
    let tokens = Tokens {
        access: Secret::new("a"),
        refresh: Secret::new("r"),
        expires_at: "2026-11-20T11:30:00Z".parse().unwrap(),
    };
    let x = accounts::connect_x(acme, "acme".to_owned(), &tokens, &keys, random).unwrap();
    let whatsapp = accounts::connect_whatsapp(acme, "1".to_owned(), &tokens.access, &keys, random).unwrap();
    let mut writes = Writes::new(acme);
    writes.put_x_connection(&x).unwrap();
    writes.put_whatsapp_connection(&whatsapp).unwrap();
    world.store().commit(writes).await.unwrap();
    let post = world.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await;
    world.wire.take();
    world.get("/api/v1/channels").await.expect(200);
    let post = json!({ "job_posting_id": post.number("/job_posting/id") });
    world.post("/api/v1/channels/x/post", post).await.expect(502);
    seen.push(("channels".to_owned(), world.wire.take()));
}

fn logical_id(function: &str) -> String {
    let words = function.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.chain(["Function".to_owned()]).collect()
}

#[tokio::test]
async fn policies_are_least_privilege() {
    let world = World::new().await;
    let mut used: BTreeMap<String, Actions> = BTreeMap::new();
    let mut seen = everything(&world).await;
    behind_the_scenes(&mut seen).await;
    with_accounts(&mut seen).await;
    for function in ["oauth", "dashboard", "careers"] {
        seen.push((function.to_owned(), super::events::calls_of(function).await));
    }
    seen.push(("careers".to_owned(), super::careers_resumes::calls_of_an_upload(&world).await));
    for (function, calls) in seen {
        let actions = used.entry(logical_id(&function)).or_default();
        actions.extend(calls.iter().flat_map(needed));
        // At its start, and when the gate is throttled, a function reads an item.
        if !calls.is_empty() {
            actions.insert(("dynamodb:GetItem".to_owned(), "table"));
        }
    }
    world.hands.set("2026-11-21T00:00:00Z");
    usage_reset::run(world.environment.clone()).await.unwrap();
    let actions = used.entry("UsageResetFunction".to_owned()).or_default();
    actions.extend(world.wire.take().iter().flat_map(needed));
    actions.insert(("dynamodb:GetItem".to_owned(), "table"));
    let allowed = allowed();
    for (function, used) in used {
        assert_eq!(used, allowed[&function], "{function}: used, and allowed");
    }
}
