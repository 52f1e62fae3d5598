//! The log: one line per request, with what operators need and nothing that a client sent. This is a separate test
//! binary, because the log level is decided once for all threads of a process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic in a test is a failure")]

mod metrics;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};
use shared::config::{Addresses, Services, VapiAccess, XAccess};
use shared::model::Mode;
use shared::providers::x::Tokens;
use shared::secret::Secret;
use shared::services::accounts::connect_x;
use shared::store::Transaction;
use shared::token_encryption::EncryptionKeys;
use tests::browser::Browser;
use tests::fake::{FakeResponse, FakeServer};
use tests::oauth::{OAuthApp, VERIFIER, misuse_secrets, oauth_error, secrets};
use tests::{ACME, TestApi, key, tenant};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Lines {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_request_is_logged_as_one_line_without_client_data() {
    let api = TestApi::new().await;
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), None));
    let canary = "Canary-4711";
    let body = json!({ "role": { "title": canary, "description": canary }, canary: canary });
    let good = json!({ "role": { "title": canary } });
    api.request(Method::POST, "/api/v1/quick_post")
        .header("idempotency-key", canary)
        .json(&good)
        .send()
        .await
        .expect(201);
    api.post("/api/v1/quick_post", body).await.expect(422);
    api.request(Method::GET, "/api/v1/roles")
        .header("authorization", &format!("Bearer {canary}"))
        .send()
        .await
        .expect(401);
    api.get(&format!("/api/v1/{canary}?{canary}={canary}")).await.expect(404);
    let jane = json!({ "name": canary, "email": format!("{canary}@example.com") });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    let reject = json!({ "reason": canary, "notes": canary });
    api.post(&format!("/api/v1/candidates/{jane}/reject"), reject).await.expect(200);
    let callback = api.request(Method::POST, "/webhooks/voice/simulator").anonymous();
    callback.header("x-signature", canary).json(&json!({ canary: canary })).send().await.expect(401);
    api.dynamodb.inject_faults(|operation, _| {
        (operation == "Query").then_some(tests::interceptor::Fault::Unreachable)
    });
    api.get("/api/v1/roles").await.expect(503);

    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains(canary) && !text.contains(&key(ACME, Mode::Live)[10..]), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<_> = lines.iter().filter(|line| line["message"] == "request").collect();
    let seen: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["route"].as_str(),
                line["tenant"].as_str(),
                line["status"].as_u64(),
                line["dynamodb_calls"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Some("POST /api/v1/quick_post"), Some("1#live"), Some(201), Some(3)),
            (Some("POST /api/v1/quick_post"), Some("1#live"), Some(422), Some(1)),
            (Some("GET /api/v1/roles"), None, Some(401), Some(0)),
            (Some("$default"), None, Some(404), Some(0)),
            (Some("POST /api/v1/candidates"), Some("1#live"), Some(201), Some(2)),
            (Some("POST /api/v1/candidates/{id}/reject"), Some("1#live"), Some(200), Some(3)),
            (Some("POST /webhooks/voice/{provider}"), None, Some(401), Some(0)),
            (Some("GET /api/v1/roles"), Some("1#live"), Some(503), Some(2)),
        ]
    );
    for line in &lines {
        let level = if line["status"].as_u64() >= Some(500) { "ERROR" } else { "INFO" };
        assert_eq!(line["level"], level, "{line}");
    }
    assert_eq!(lines[7]["detail"], "DynamoDB is unavailable: not reachable");
    for line in lines {
        assert!(
            line["request_id"].as_str().is_some_and(|id| !id.is_empty()) && line["milliseconds"].is_number()
        );
    }
}

/// A service whose calls go to this fake of Vapi.
async fn with_vapi(vapi: &FakeServer) -> TestApi {
    let access = VapiAccess {
        api_key: Some(Secret::new("vapi-key")),
        phone_number_id: "phone-1".to_owned(),
        webhook_secret: Some(Secret::new("vapi-webhook-secret")),
        credential_id: None,
    };
    let addresses = Addresses { vapi: vapi.url.clone(), ..Addresses::default() };
    let call_countries = vec!["US".parse().unwrap()];
    let services = Services { vapi: Some(access), call_countries, addresses, ..Services::default() };
    TestApi::with_services(services).await
}

/// Invites somebody to a voice screen, and runs the tasks. Returns the screen.
async fn called(api: &TestApi) -> u64 {
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.post(&format!("/api/v1/roles/{role}/publish"), json!({})).await.expect(200);
    let jane = json!({ "name": "Jane", "email": "jane@example.com", "phone": "+14155552671" });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    let path = format!("/api/v1/candidates/{jane}/invite_screen");
    let consent =
        json!({ "obtained_at": "2026-11-20T09:00:00Z", "wording": "You may call me and record it." });
    let invitation = json!({ "role_id": role, "consent": consent });
    let screen = api.post(&path, invitation).await.expect(201).number("/id");
    api.run_tasks().await;
    screen
}

#[tokio::test]
async fn the_words_of_a_voice_provider_are_not_logged() {
    let canary = "Canary-4711";
    let vapi = FakeServer::start(move |_| FakeResponse::Json(400, json!({ "message": [canary] }))).await;
    let api = with_vapi(&vapi).await;
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), None));
    let screen = called(&api).await;
    let shown = api.get(&format!("/api/v1/voice_screens/{screen}")).await.expect(200);
    assert!(shown.string("/summary").contains(canary), "the organization reads the reason");
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("a call was refused") && !text.contains(canary), "{text}");
    let of_job = text.lines().filter(|line| line.contains("\"message\":\"a call was refused\""));
    let actors: Vec<_> =
        of_job.map(|line| serde_json::from_str::<Value>(line).unwrap()["span"].clone()).collect();
    let [span] = &actors[..] else { panic!("{actors:?}") };
    assert_eq!((&span["name"], &span["actor"]), (&json!("task"), &json!("system")));
    assert_eq!((&span["kind"], &span["id"]), (&json!("call"), &json!(screen)));
    // The alarm on calls counts this line.
    let ordered = "a telephone call is ordered";
    assert_eq!(text.matches(&format!("\"message\":\"{ordered}\"")).count(), 1, "{text}");
    assert!(
        std::fs::read_to_string(tests::project("infra/alarms.yaml"))
            .unwrap()
            .contains(&format!("{{ $.message = \"{ordered}\" }}"))
    );
}

/// The alarm on errors is raised, and the log has the reason, but not the provider's words.
#[tokio::test]
async fn trouble_with_the_account_of_the_voice_provider_is_an_error() {
    let canary = "Canary-4711";
    let vapi = FakeServer::start(move |_| FakeResponse::Json(402, json!({ "message": [canary] }))).await;
    let api = with_vapi(&vapi).await;
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), None));
    let screen = called(&api).await;
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let logged: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let errors: Vec<_> = logged.iter().filter(|line| line["level"] == "ERROR").collect();
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!(error["message"], "the voice provider's account does not allow calls");
    assert_eq!(error["reason"], "status 402");
    let shown = api.get(&format!("/api/v1/voice_screens/{screen}")).await.expect(200);
    let summary = shown.string("/summary");
    assert!(!text.contains(canary) && !summary.contains(canary) && !summary.contains("402"), "{summary}");
}

/// Each line names the API key, the application with its member, or the member, but no names.
/// The operator learns that X does not serve the app, and which fields are missing from its answers.
#[tokio::test]
async fn what_the_operator_of_an_x_app_must_know_is_logged_without_the_account_at_x() {
    let canary = "Canary-4711";
    let x = FakeServer::start(move |request| {
        match (request.method.as_str(), request.body.contains("Hiring now")) {
            ("POST", true) => {
                let detail = format!("Your enrolled account [{canary}] does not have any credits.");
                FakeResponse::Json(
                    402,
                    json!({ "title": "CreditsDepleted", "detail": detail, "account_id": canary }),
                )
            }
            ("POST", false) => FakeResponse::Json(201, json!({ "data": { "id": "19" } })),
            _ => FakeResponse::Json(200, json!({ "data": [{ "id": "19", "text": canary }] })),
        }
    })
    .await;
    let keys = EncryptionKeys::parse("k1:0123456789abcdef0123456789abcdefk1").unwrap();
    let services = Services {
        x: Some(XAccess { client_id: "client".to_owned(), client_secret: Secret::new("s3cret") }),
        sealing_keys: Some(keys.clone()),
        addresses: Addresses { x: x.url.clone(), ..Addresses::default() },
        ..Services::default()
    };
    let api = TestApi::with_services(services).await;
    let tokens = Tokens {
        access: Secret::new("access"),
        refresh: Secret::new("refresh"),
        expires_at: "2026-11-20T11:30:00Z".parse().unwrap(),
    };
    let acme = tenant(ACME, Mode::Live);
    let connection = connect_x(acme, "acme".to_owned(), &tokens, &keys, &api.environment.random).unwrap();
    let mut transaction = Transaction::new(acme);
    transaction.put_x_connection(&connection).unwrap();
    api.store().commit(transaction).await.unwrap();
    let job = json!({ "role": { "title": "Cook" } });
    let posting = api.post("/api/v1/quick_post", job).await.expect(201).number("/job_posting/id");

    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), None));
    let urgent = json!({ "job_posting_id": posting, "style": "urgent" });
    let refused = api.post("/api/v1/channels/x/post", urgent).await.expect(502);
    let sentence = "This service may not post to X at present; its administrator has been told";
    assert_eq!(refused.string("/error"), sentence);
    api.post("/api/v1/channels/x/post", json!({ "job_posting_id": posting })).await.expect(201);
    api.get("/api/v1/channels/x/posts").await.expect(200);

    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains(canary), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (level, message) in [
        ("ERROR", "X does not serve this service's app"),
        ("WARN", "X returned a post without public_metrics"),
    ] {
        let is_expected =
            |line: &&Value| line["message"].as_str().is_some_and(|known| known.starts_with(message));
        let found: Vec<_> = lines.iter().filter(is_expected).map(|line| &line["level"]).collect();
        assert_eq!(found, [level], "{message}: {text}");
    }
}

#[tokio::test]
async fn a_request_is_logged_with_its_actor() {
    let api = TestApi::new().await;
    let owner = tests::dashboard::owner(&api, ACME).await;
    let (grant, token) =
        tests::dashboard::connect_app(&api.environment, tests::tenant(ACME, Mode::Live), owner.id, "App")
            .await;
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), None));
    api.get("/api/v1/roles").await.expect(200);
    api.request(Method::GET, "/api/v1/roles").bearer(token.reveal()).send().await.expect(200);
    api.request(Method::GET, "/api/v1/roles").anonymous().send().await.expect(401);
    let browser = Browser::with_session(&api, ACME, &owner).await;
    browser.get("/dashboard/roles").await.expect(200);
    for _ in 0..100 {
        api.request(Method::GET, "/api/v1/roles").key(tests::GLOBEX, Mode::Live).send().await.expect(200);
    }
    api.request(Method::GET, "/api/v1/roles").key(tests::GLOBEX, Mode::Live).send().await.expect(429);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let logged: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let actor = |line: &Value| (line["actor"].as_str().map(str::to_owned), line["member"].as_u64());
    let seen: Vec<_> = logged.iter().filter(|line| line["message"] == "request").map(actor).collect();
    assert_eq!(
        seen[..4],
        [
            (Some("api_key:1".to_owned()), None),
            (Some(format!("app:{}", grant.id)), Some(owner.id.get())),
            (None, None),
            (Some(format!("member:{}", owner.id)), None),
        ]
    );
    assert_eq!(seen.last(), Some(&(Some("api_key:2".to_owned()), None)), "of a request above the quota, too");
    assert!(!text.contains("demonstration") && !text.contains("Ada"));
}

/// The client gets the same error in every case (RFC 6749, section 5.2).
#[tokio::test]
async fn the_log_has_the_reason_for_a_rejected_code() {
    let api = TestApi::new().await;
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), None));
    let browser = Browser::signed_in(&api, ACME).await;
    let (app, other) = (OAuthApp::register(&api, "none").await, OAuthApp::register(&api, "none").await);
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let valid = OAuthApp::token_request(&code);
    let wrong_uri = valid.clone().set("redirect_uri", "https://app.example/other");
    let mut descriptions = HashSet::new();
    for (sent_by, form, reason) in [
        (
            &app,
            valid.clone().set("code_verifier", &VERIFIER.to_uppercase()),
            "code_verifier does not match the code_challenge",
        ),
        (&app, wrong_uri, "redirect_uri is not the one that the code was sent to"),
        (&other, valid.clone(), "the code or token was issued to another client"),
        (&app, valid.clone().set("code", "nonsense"), "malformed"),
    ] {
        lines.0.lock().unwrap().clear();
        let refused = sent_by.send("/oauth/token", &form).await;
        assert_eq!(oauth_error(&refused), (400, "invalid_grant"));
        descriptions.insert(refused.string("/error_description").to_owned());
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let logged: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let line = logged.iter().find(|line| line["message"] == "a code or token was rejected").unwrap();
        assert_eq!((line["reason"].as_str(), line["level"].as_str()), (Some(reason), Some("INFO")));
        let request = logged.iter().find(|line| line["message"] == "request").unwrap();
        assert_eq!(line["span"]["request_id"], request["request_id"], "both lines belong together");
    }
    assert_eq!(descriptions.len(), 1, "{descriptions:?}");
    app.exchange(&code).await.expect(200);
}

#[tokio::test]
async fn no_secret_is_logged() {
    let api = TestApi::new().await;
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), None));
    let secrets = secrets(&api).await;
    misuse_secrets(&api, &secrets).await;
    api.dynamodb.inject_faults(|operation, _| {
        (operation == "GetItem").then_some(tests::interceptor::Fault::Internal)
    });
    OAuthApp::public(&api, "nobody").refresh("x").await.expect(503);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    for expected_text in
        ["POST /oauth/token", "GET /oauth/authorize", "a refresh token was used again", "InternalServerError"]
    {
        assert!(text.contains(expected_text), "{expected_text}");
    }
    for (what, secret) in secrets {
        assert!(!text.contains(&secret), "a {what} is in the log");
    }
}
