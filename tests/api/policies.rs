//! Least privilege: `template.yaml` allows each function exactly the table actions and the keys that it uses.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use http::Method;
use serde_json::{Value, json};
use serde_yaml_ng::Value as Yaml;
use shared::config::{Addresses, Services, XAccess};
use shared::http::KnownHolders;
use shared::id::Id;
use shared::model::{CallState, Mode, Speaker, Turn, VoiceProvider};
use shared::providers::voice;
use shared::providers::x::Tokens;
use shared::secret::Secret;
use shared::services::accounts;
use shared::store::{KINDS, Transaction};
use shared::token_encryption::EncryptionKeys;
use tests::interceptor::RecordedCall;
use tests::permissions::{Access, POLICIES, Policy, is_like, run_as, sample_key};
use tests::{ACME, Fixtures, RequestBuilder, TestApi, project, tenant};

/// A function's actions, each with its resource: the table, or the name of an index.
type Actions = BTreeSet<(String, String)>;

/// A request: its method, path and body, and the ids in its response that later requests use.
type ScriptedRequest =
    (&'static str, &'static str, Value, Option<(&'static str, &'static str, &'static str)>);

/// The requests that add a webhook endpoint and use it.
fn webhook_requests() -> Vec<ScriptedRequest> {
    let (no_body, no_ids) = (Value::Null, None);
    vec![
        (
            "POST",
            "webhook_endpoints",
            json!({ "url": "https://hooks.example.com/" }),
            Some(("hook", "/id", "/id")),
        ),
        ("GET", "webhook_endpoints", no_body.clone(), no_ids),
        ("PATCH", "webhook_endpoints/{hook}", json!({ "hmac": false }), no_ids),
        ("POST", "webhook_endpoints/{hook}/rotate_secret", no_body.clone(), no_ids),
        ("POST", "webhook_endpoints/{hook}/ping", no_body.clone(), Some(("delivery", "/id", "/id"))),
        ("POST", "webhook_endpoints/{hook}/deliveries/{delivery}/redeliver", no_body.clone(), no_ids),
        ("POST", "webhook_endpoints/{hook}/replay", json!({ "after": 0 }), no_ids),
        ("GET", "webhook_endpoints/{hook}/deliveries", no_body.clone(), no_ids),
        ("DELETE", "webhook_endpoints/{hook}", no_body.clone(), no_ids),
    ]
}

/// Sends requests that cover every kind of read and write of the functions. Returns the calls of each request with its
/// function.
async fn calls_of_requests(api: &TestApi) -> Vec<(String, Vec<RecordedCall>)> {
    let (mut calls_by_function, mut ids) = (Vec::new(), BTreeMap::new());
    let live = Some(("live", "/role/id", "/job_posting/id"));
    let jane = |role: &str| {
        let (phone, email) = ("+14155552671", "jane@example.com");
        json!({ "name": "Jane", "email": email, "role_id": role, "phone": phone, "source": "s", "external_id": "x" })
    };
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
        ("GET", "events", no_body.clone(), no_ids),
        ("PATCH", "roles/{live}", json!({ "title": "z" }), no_ids),
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
        ("GET", "applications?status=active", no_body.clone(), no_ids),
        ("GET", "applications?role_id={live}&stage=applied", no_body.clone(), no_ids),
        ("GET", "voice_screens?role_id={live}&status=queued", no_body.clone(), no_ids),
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
    let script = script.into_iter().chain(webhook_requests());
    for (number, (method, path, body, ids_to_store)) in script.enumerate() {
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

/// Returns the calls of reads by an application, which the audit log records, and of the first requests of instances.
async fn calls_of_an_application(api: &mut TestApi) -> Vec<(String, Vec<RecordedCall>)> {
    let owner = tests::dashboard::owner(api, ACME).await;
    let acme = tenant(ACME, Mode::Live);
    let (_, token) = tests::dashboard::connect_app(&api.environment, acme, owner.id, "App").await;
    let mut calls_by_function = Vec::new();
    let fixtures = Fixtures::new(api).await;
    let dynamodb = api.dynamodb.clone();
    let mut send = async |function: &str, request: RequestBuilder<'_>| {
        dynamodb.take_calls();
        let response = request.send().await;
        assert!(response.status < 500, "{}", response.text);
        calls_by_function.push((function.to_owned(), dynamodb.take_calls()));
    };
    for function in ["candidates", "applications", "voice_screens"] {
        let path = fixtures.path(&format!("/api/v1/{function}/{{id}}"));
        send(function, api.request(Method::GET, &path).bearer(token.reveal())).await;
    }
    let role = fixtures.role;
    for path in [format!("applications?role_id={role}"), "candidates?stage=applied".to_owned()] {
        let function = path.split('?').next().unwrap_or_default();
        send(function, api.request(Method::GET, &format!("/api/v1/{path}"))).await;
    }
    let export = fixtures.path("/api/v1/candidates/{id}/export");
    send("candidates", api.request(Method::GET, &export)).await;
    let notes = fixtures.path("/api/v1/candidates/{id}/notes");
    send("candidates", api.request(Method::POST, &notes).json(&json!({ "text": "x" }))).await;
    // The retention period of a rejected person begins when the last voice screen ends.
    let reject = fixtures.path("/api/v1/candidates/{id}/reject");
    send("candidates", api.request(Method::POST, &reject).json(&json!({}))).await;
    let cancel = format!("/api/v1/voice_screens/{}/cancel", fixtures.screen);
    send("voice_screens", api.request(Method::POST, &cancel)).await;
    let alone = json!({ "name": "Ada", "email": "ada@example.com" });
    send("candidates", api.request(Method::POST, "/api/v1/candidates").json(&alone)).await;
    // The first request of an instance of a function reads who has the credential.
    for (function, path) in [
        ("applications", "applications"),
        ("candidates", "candidates"),
        ("channels", "channels"),
        ("events", "events"),
        ("job_postings", "job_postings"),
        ("organization", "organization"),
        ("quick_post", "quick_post"),
        ("roles", "roles"),
        ("voice_screens", "voice_screens"),
        ("webhook_endpoints", "webhook_endpoints"),
    ] {
        for bearer in [token.reveal(), &tests::key(ACME, Mode::Live)] {
            api.environment.known_holders = KnownHolders::default();
            api.restart();
            let method = if function == "quick_post" { Method::POST } else { Method::GET };
            send(function, api.request(method, &format!("/api/v1/{path}")).bearer(bearer)).await;
        }
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
    let secret = &simulator.webhook_secrets()[0];
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

/// Actions and patterns that the sample requests below do not use, and the files whose tests fail without them.
const RARE: [(&str, &[&str], &str); 9] = [
    (
        "CandidatesFunction",
        &["*#MAILBOX#*", "*#REAPPLIED#*", "*#SCORED#*", "*#SETTING"],
        "calls.rs, careers_again.rs, dashboard_lists.rs, duplicates.rs",
    ),
    (
        "CareersFunction",
        &["*#MAILBOX#*", "*#PHONE#*", "*#REAPPLIED#*", "*#RETENTION#*", "*#SCORED#*", "*#SUSPECT"],
        "careers_again.rs, careers_applications.rs, careers_suspects.rs, duplicates.rs",
    ),
    (
        "DashboardCandidatesFunction",
        &[
            "index *#APPLICANT#*",
            "index *#CANDIDATE#*",
            "index *#SUSPECT#*",
            "*#MAILBOX#*",
            "*#REAPPLIED#*",
            "*#SCORED#*",
        ],
        "careers_again.rs, dashboard_lists.rs, dashboard_pages.rs, dashboard_suspects.rs, duplicates.rs",
    ),
    (
        "DashboardRolesFunction",
        &["*#AUDIT#*", "*#CANDIDATE", "*#RECEIPT#*"],
        "audit_log.rs, dashboard_pages.rs, dashboard_work.rs",
    ),
    (
        "DashboardSettingsFunction",
        &["dynamodb:Query", "index *#AUDIT_ACTION#*", "*#CANDIDATE", "*#RETENTION#*", "MEMBER_EMAIL#*"],
        "audit_log.rs, dashboard_links.rs, dashboard_retention.rs",
    ),
    ("McpFunction", &["*#MAILBOX#*", "*#REAPPLIED#*"], "careers_again.rs, duplicates.rs"),
    ("OauthFunction", &["dynamodb:Query", "*#KEY", "OAUTH_DOCUMENT#*"], "gate.rs, oauth_documents.rs"),
    (
        "TasksFunction",
        &[
            "*#AUDIT#*",
            "*#CANDIDATE_SOURCE#*",
            "*#EMAIL#*",
            "*#EXTERNAL_ID#*",
            "*#KEY",
            "*#MAILBOX#*",
            "*#PHONE#*",
            "*#REAPPLIED#*",
            "*#SCORED#*",
            "*#SETTING",
            "*#SUSPECT",
            "*#TAG#*",
            "*#UPLOAD#*",
            "*#WORD",
            "ATTEMPTS#*",
        ],
        "calls.rs, careers_again.rs, careers_suspects.rs, dashboard_keys.rs, dashboard_lists.rs, duplicates.rs, \
         erasures.rs, retention.rs",
    ),
    ("VoiceWebhookFunction", &["*#RETENTION#*", "*#SCORED#*"], "pipeline.rs, voice_webhook.rs"),
];

/// Above 1,000 requests a second, every function of the API counts an organization's requests on shards.
const SHARDS: &str = "*#GATE#*";

/// Returns everything that each function accessed in sample requests.
async fn used() -> BTreeMap<String, BTreeSet<Access>> {
    let mut api = TestApi::new().await;
    let mut calls_by_function = calls_of_requests(&api).await;
    add_calls_of_webhook_and_tasks(&mut calls_by_function).await;
    add_calls_of_channels(&mut calls_by_function).await;
    calls_by_function.extend(calls_of_an_application(&mut api).await);
    super::feed::write_poison(&api).await;
    api.dynamodb.take_calls();
    assert_eq!(api.run_whole_feed().await.quarantined, 1);
    calls_by_function.push(("feed".to_owned(), api.dynamodb.take_calls()));
    calls_by_function.push(("feed".to_owned(), super::webhooks::calls_of_a_start().await));
    calls_by_function.push(("deliver".to_owned(), super::webhooks::calls_of_deliveries().await));
    let pages = [
        "mcp",
        "oauth",
        "careers",
        "dashboard_account",
        "dashboard_candidates",
        "dashboard_roles",
        "dashboard_settings",
        "sign_in",
    ];
    for function in pages {
        let calls = super::events::calls_of(&logical_id(function)).await;
        calls_by_function.push((function.to_owned(), calls));
    }
    calls_by_function.push(("careers".to_owned(), super::careers_resumes::calls_of_an_upload(&api).await));
    calls_by_function.push(("mcp".to_owned(), super::mcp_tools::calls_of_all_tools().await));
    calls_by_function.push(("sign_in".to_owned(), super::passkeys::calls_of_a_sign_in(&api).await));
    super::tasks::write_poison(&api).await;
    api.dynamodb.take_calls();
    assert_eq!(api.run_all_tasks().await.quarantined, 1);
    calls_by_function.push(("tasks".to_owned(), api.dynamodb.take_calls()));
    api.clock.set("2026-11-21T00:00:00Z");
    Box::pin(run_as("UsageResetFunction", usage_reset::run(api.environment.clone()))).await.unwrap();
    calls_by_function.push(("usage_reset".to_owned(), api.dynamodb.take_calls()));
    let mut used: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for call in super::dashboard_work::calls_of_a_day().await {
        used.entry(call.function).or_default().extend(Access::of(&call.operation, &call.request));
    }
    for (function, calls) in calls_by_function {
        let accesses = calls.iter().flat_map(|call| Access::of(&call.operation, &call.request));
        used.entry(logical_id(&function)).or_default().extend(accesses);
    }
    // Every function reads an item when it starts.
    for accesses in used.values_mut() {
        let (action, resource) = ("dynamodb:GetItem".to_owned(), "table".to_owned());
        accesses.insert(Access { action, resource, leading_keys: vec!["NOTHING".to_owned()] });
    }
    used
}

/// The harness checks for every call of every test that the policy allows it. This test checks the other direction.
#[tokio::test]
async fn policies_allow_exactly_the_actions_and_keys_used() {
    let (used, mut problems) = (used().await, Vec::new());
    for (function, policy) in POLICIES.iter() {
        let is_rare = |what: &str| {
            RARE.iter().any(|(name, rare, _)| *name == function.as_str() && rare.contains(&what))
        };
        let accesses = used.get(function).into_iter().flatten();
        let actions: Actions =
            accesses.clone().map(|access| (access.action.clone(), access.resource.clone())).collect();
        let allowed: Actions =
            policy.actions().map(|(action, resource)| (action.to_owned(), resource.to_owned())).collect();
        for (action, resource) in actions.symmetric_difference(&allowed) {
            if !is_rare(action) {
                problems
                    .push(format!("{function}: {action} on {resource} is either not allowed or not used"));
            }
        }
        let denied = accesses.clone().filter(|access| !policy.allows(access));
        problems.extend(denied.map(|access| format!("{function} is denied {access:?}")));
        for (pattern, resources) in policy.patterns().filter(|(pattern, _)| *pattern != SHARDS) {
            let mut keys = accesses
                .clone()
                .filter(|access| resources.contains(&access.resource))
                .flat_map(|access| &access.leading_keys);
            let is_used = keys.any(|key| is_like(pattern.as_bytes(), key.as_bytes()));
            let is_of_table = resources.iter().any(|resource| resource == "table");
            let name = format!("{}{pattern}", if is_of_table { "" } else { "index " });
            if is_used == is_rare(&name) {
                problems.push(format!("{function} has the pattern {name}, and used it: {is_used}"));
            }
        }
    }
    assert!(problems.is_empty(), "change the policies in template.yaml: {problems:#?}");
}

#[test]
fn no_statement_allows_a_request_without_a_key_or_a_key_of_an_unknown_kind() {
    for (function, policy) in POLICIES.iter() {
        for (action, resource) in policy.actions() {
            let access = |leading_keys: &[&str]| Access {
                action: action.to_owned(),
                resource: resource.to_owned(),
                leading_keys: leading_keys.iter().map(|key| (*key).to_owned()).collect(),
            };
            for keys in [&["1#live#UNKNOWN"] as &[_], &["1#live#GATE", "1#live#UNKNOWN"], &["", "*"]] {
                assert!(!policy.allows(&access(keys)), "{function} may {action} {keys:?}");
            }
            // A query always has a key, so statements about indexes need not require one.
            let always_has_key = resource != "table" && action == "dynamodb:Query";
            assert_eq!(policy.allows(&access(&[])), always_has_key, "{function} may {action} on {resource}");
        }
    }
}

/// A pattern matches keys of one kind only: with a value after the kind, or without one.
#[test]
fn a_pattern_matches_the_keys_of_one_kind() {
    let keys = KINDS.iter().flat_map(|kind| [Some(kind.pk), kind.filter, kind.status_filter]).flatten();
    let keys: Vec<_> = keys.map(sample_key).collect();
    assert!(keys.len() > 50, "{keys:#?}");
    let kind = |key: &str| key.strip_prefix("1#live#").unwrap_or(key).split('#').next().unwrap().to_owned();
    for (function, policy) in POLICIES.iter() {
        for (pattern, _) in policy.patterns() {
            let matching = keys.iter().filter(|key| is_like(pattern.as_bytes(), key.as_bytes()));
            let kinds: BTreeSet<_> = matching.map(|key| kind(key)).collect();
            assert!(kinds.len() <= 1, "{function}: {pattern} matches {kinds:?}");
        }
    }
}

/// What a function never needs, it cannot reach, even if an attacker runs code in it.
#[test]
fn functions_are_denied_the_secrets_of_others() {
    let hash = "AAAAAAAAAAAAAAAAAAAAAA";
    let members = ["1#live#MEMBER".to_owned(), "1#live#SESSION#7".to_owned(), format!("MEMBER_EMAIL#{hash}")];
    let registry = ["ORGANIZATION#05".to_owned()];
    let clients = [format!("OAUTH_CLIENT#{hash}"), format!("OAUTH_DOCUMENT#{hash}")];
    let uploads = [format!("1#live#UPLOAD#{hash}")];
    let accounts = ["1#live#CHANNEL".to_owned()];
    let people = ["1#live#CANDIDATE".to_owned(), "1#live#CANDIDATE#7".to_owned(), "1#live#WORD".to_owned()];
    let can_reach = |keys: &[String]| -> Vec<&str> {
        let reaches = |policy: &Policy| {
            let mut actions = policy.actions().filter(|(_, resource)| *resource == "table");
            actions.any(|(action, resource)| {
                keys.iter().any(|key| {
                    let (action, resource) = (action.to_owned(), resource.to_owned());
                    policy.allows(&Access { action, resource, leading_keys: vec![key.clone()] })
                })
            })
        };
        POLICIES.iter().filter(|(_, policy)| reaches(policy)).map(|(name, _)| name.as_str()).collect()
    };
    let audit_log = ["1#live#AUDIT#2026-11-20#1".to_owned()];
    let of_members = [
        "DashboardAccountFunction",
        "DashboardCandidatesFunction",
        "DashboardRolesFunction",
        "DashboardSettingsFunction",
        "OauthFunction",
        "SignInFunction",
    ];
    let of_people = [
        "ApplicationsFunction",
        "CandidatesFunction",
        "CareersFunction",
        "DashboardCandidatesFunction",
        "DashboardRolesFunction",
        "DashboardSettingsFunction",
        "McpFunction",
        "TasksFunction",
        "VoiceScreensFunction",
        "VoiceWebhookFunction",
    ];
    let of_audit_log = [
        "ApplicationsFunction",
        "CandidatesFunction",
        "DashboardAccountFunction",
        "DashboardCandidatesFunction",
        "DashboardRolesFunction",
        "DashboardSettingsFunction",
        "DeliverFunction",
        "McpFunction",
        "OauthFunction",
        "OrganizationFunction",
        "SignInFunction",
        "TasksFunction",
        "VoiceScreensFunction",
        "WebhookEndpointsFunction",
    ];
    for (keys, functions) in [
        (&members as &[_], &of_members as &[_]),
        (&registry, &["UsageResetFunction"]),
        (&clients, &["OauthFunction"]),
        (
            &accounts,
            &["ChannelsFunction", "DashboardRolesFunction", "DashboardSettingsFunction", "McpFunction"],
        ),
        (&uploads, &["CareersFunction", "TasksFunction"]),
        (&people, &of_people),
        (&audit_log, &of_audit_log),
    ] {
        assert_eq!(can_reach(keys), functions, "{keys:?}");
    }
}

/// Clients choose idempotency keys, e-mail addresses, telephone numbers, sources, tags, external ids and client ids. The
/// harness requires for every test that keys contain no text that somebody chose. Here these texts look like other keys.
#[tokio::test]
async fn hostile_values_never_match_a_pattern_of_another_kind() {
    let api = TestApi::new().await;
    let hostile = ["x#GATE", "*#GATE", "1#live#MEMBER", "#KEY#", "TASK#00#0", "*"];
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "*#GATE" } })).await.expect(201);
    let role = posted.number("/role/id");
    for (number, value) in hostile.iter().enumerate() {
        let body = json!({
            "name": value, "email": format!("{}@{number}.example.com", value.replace('#', "/")),
            "phone": "+14155552671", "source": value, "tags": [value, format!("x{value}")], "external_id": value,
            "role_id": if number == 0 { Some(role) } else { None },
        });
        let request = api.request(Method::POST, "/api/v1/candidates").header("idempotency-key", value);
        request.json(&body).send().await.expect(201);
        let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        for filter in ["external_id", "source", "tag", "q"] {
            api.get(&format!("/api/v1/candidates?{filter}={encoded}")).await;
        }
        let authorize = format!("/oauth/authorize?client_id={encoded}&redirect_uri=https://example.com");
        api.request(Method::GET, &authorize).anonymous().send().await;
        tests::browser::Browser::new(&api).submit_sign_in(&format!("{value}@example.com"), value).await;
    }
    let items = api.stored_items().await;
    let text = |item: &HashMap<String, AttributeValue>, name: &str| {
        item.get(name).and_then(|value| value.as_s().ok()).cloned()
    };
    let keys = items.values().flat_map(|item| ["pk", "filter", "status_filter"].map(|name| text(item, name)));
    let keys: BTreeSet<_> = keys.flatten().collect();
    let kinds = |key: &str| key.split('#').filter(|part| part.len() > 1 && is_kind(part)).count();
    for kind in ["RECEIPT", "EMAIL", "PHONE", "TAG", "CANDIDATE_SOURCE", "EXTERNAL_ID", "ATTEMPTS"] {
        assert!(keys.iter().any(|key| key.split('#').any(|part| part == kind)), "{kind}");
    }
    for key in keys {
        assert_eq!(kinds(&key), 1, "{key} has exactly one part that names a kind");
    }
}

/// Whether a part of a key looks like the name of a kind. Hashes have 22 characters or more.
fn is_kind(part: &str) -> bool {
    part.len() < 22 && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

#[test]
fn every_function_with_data_may_use_the_key_that_encrypts_it() {
    let text = std::fs::read_to_string(project("template.yaml")).unwrap();
    let template: Yaml = serde_yaml_ng::from_str(&text).unwrap();
    let resources = &template["Resources"];
    let text = |value: &Yaml| serde_yaml_ng::to_string(value).unwrap();
    for (resource, property) in [
        ("Table", "SSESpecification"),
        ("Resumes", "BucketEncryption"),
        ("SigningKey", "KmsKeyId"),
        ("CredentialKey", "KmsKeyId"),
        ("SealingKey", "KmsKeyId"),
    ] {
        assert!(text(&resources[resource]["Properties"][property]).contains("DataKey"), "{resource}");
    }
    let key = &resources["DataKey"];
    assert_eq!(key["Properties"]["EnableKeyRotation"].as_bool(), Some(true));
    assert_eq!(key["DeletionPolicy"].as_str(), Some("Retain"), "the data is lost with the key");
    for (policy, service) in [("TableEncryption", "dynamodb"), ("FileEncryption", "s3")] {
        let statements =
            resources[policy]["Properties"]["PolicyDocument"]["Statement"].as_sequence().unwrap();
        for statement in statements {
            let via = text(&statement["Condition"]["StringEquals"]["kms:ViaService"]);
            assert!(via.contains(&format!("{service}.${{AWS::Region}}.amazonaws.com")), "{policy}: {via}");
        }
    }
    for (name, function) in resources.as_mapping().unwrap() {
        let policies = text(&function["Properties"].get("Policies").cloned().unwrap_or_default());
        if function["Type"].as_str() != Some("AWS::Serverless::Function") {
            continue;
        }
        let uses = ["dynamodb:", "s3:PutObject", "s3:GetObject"].map(|action| policies.contains(action));
        let may_use = ["!Ref TableEncryption", "!Ref FileEncryption"].map(|policy| policies.contains(policy));
        assert_eq!([uses[0], uses[1] || uses[2]], may_use, "{name:?}");
    }
}
