//! Calls through Vapi: requests, responses and failures. No candidate is called twice.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use futures_util::future::join;
use http::Method;
use serde_json::{Value, json};
use shared::config::{Addresses, Services, VapiAccess};
use shared::secret::Secret;
use shared::services::screening::Reference;
use tests::fake::{FakeResponse, FakeServer, Request};
use tests::interceptor::Fault;
use tests::{ACME, TestApi, tenant};

use crate::call_endings::ACCOUNT;
use crate::voice_screens::{Client, DESCRIPTION, Invited, NAME, PHONE, TITLE};
use crate::voice_webhook::{callback, conversation, deliver, report, transcript};

const API_KEY: &str = "vapi-key";
const UNCONFIRMED: &str = "The voice provider has not confirmed the call; it may or may not have been made.";

/// A configuration with Vapi at `url` for live calls.
pub(super) fn services(url: &str) -> Services {
    let vapi = VapiAccess {
        api_key: Some(Secret::new(API_KEY)),
        phone_number_id: "phone-1".to_owned(),
        webhook_secret: Some(Secret::new("vapi-webhook-secret")),
        credential_id: Some("credential-1".to_owned()),
    };
    let addresses = Addresses { vapi: url.to_owned(), ..Addresses::default() };
    let call_countries = vec!["DE".parse().unwrap()];
    Services { vapi: Some(vapi), call_countries, addresses, ..Services::default() }
}

/// The API with a fake Vapi server. Dropping it checks every request to the fake.
pub(super) struct Setup {
    pub(super) api: TestApi,
    pub(super) vapi: FakeServer,
}

impl Setup {
    /// An API whose Vapi sends the responses of `script`.
    pub(super) async fn new(script: impl Fn(&Request) -> FakeResponse + Send + Sync + 'static) -> Self {
        let vapi = FakeServer::start(script).await;
        Self { api: TestApi::with_services(services(&vapi.url)).await, vapi }
    }

    /// A client with Acme's live key.
    pub(super) fn client(&self) -> Client<'_> {
        Client::live(&self.api)
    }

    /// The number of orders for a screen's call.
    pub(super) fn orders(&self, screen: u64) -> usize {
        let requests = self.vapi.requests();
        let is_order = |request: &&Request| request.method == "POST" && screen_of(request) == Some(screen);
        requests.iter().filter(is_order).count()
    }

    /// The number of requests that cancel a screen's call.
    pub(super) fn cancellations(&self, screen: u64) -> usize {
        let target = format!("/call/call-{screen}");
        let requests = self.vapi.requests();
        requests.iter().filter(|request| request.method == "DELETE" && request.target == target).count()
    }

    /// The number of requests that read a call.
    fn reads(&self) -> usize {
        let requests = self.vapi.requests();
        requests.iter().filter(|request| request.method == "GET" && !is_search(request)).count()
    }

    /// Runs the tasks at each of these times of day.
    pub(super) async fn run_tasks_at(&self, times: &[&str]) {
        for time in times {
            self.api.clock.set(&format!("2026-11-20T{time}Z"));
            self.api.run_tasks().await;
        }
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let services = &self.api.environment.config.services;
            let callbacks = services.callback_url.as_ref().unwrap();
            for request in self.vapi.requests() {
                check(&request, callbacks);
            }
        }
    }
}

/// The screen that a call order refers to.
fn screen_of(request: &Request) -> Option<u64> {
    let reference: Reference = request.json()["customer"]["externalId"].as_str()?.parse().ok()?;
    assert_eq!(reference.tenant, tenant(ACME, shared::model::Mode::Live));
    Some(reference.screen.get())
}

/// The call id that the fake returns for an order.
pub(super) fn call_id(request: &Request) -> String {
    format!("call-{}", screen_of(request).unwrap())
}

/// Checks that a request follows Vapi's documentation.
fn check(request: &Request, callbacks: &str) {
    assert_eq!(request.header("authorization"), format!("Bearer {API_KEY}"));
    if is_search(request) {
        let query =
            request.target.strip_prefix("/call?phoneNumberId=phone-1&limit=8&createdAtGe=2026-").unwrap();
        assert!(query.contains("Z&createdAtLt=2026-") && request.body.is_empty(), "{request:?}");
        return;
    }
    if ["GET", "DELETE"].contains(&request.method.as_str()) {
        let id = request.target.strip_prefix("/call/call-").expect("the id of a call");
        let body = if request.method == "GET" { "" } else { "{}" };
        assert!(id.bytes().all(|byte| byte.is_ascii_digit()) && request.body == body, "{request:?}");
        return;
    }
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/call"));
    assert_eq!(request.header("content-type"), "application/json");
    let mut body = request.json();
    let reference = body["customer"]["externalId"].take();
    let number = body["customer"]["number"].take();
    assert!(number.as_str().unwrap().starts_with("+49"), "{number}");
    assert_eq!(reference, format!("1-live-{}", screen_of(request).unwrap()));
    let assistant = &mut body["assistant"];
    let greeting = assistant["firstMessage"].take();
    let greeting = greeting.as_str().unwrap();
    assert!(greeting.contains("AI") && greeting.contains(NAME) && greeting.contains(TITLE), "{greeting}");
    let messages = assistant["model"]["messages"].take();
    assert_eq!((&messages[0]["role"], messages.as_array().unwrap().len()), (&json!("system"), 1));
    let prompt = messages[0]["content"].as_str().unwrap();
    for text in [NAME, TITLE, DESCRIPTION] {
        assert!(prompt.contains(text), "{prompt}");
    }
    let schema = assistant["artifactPlan"]["structuredOutputs"][0]["schema"].take();
    let text = schema.to_string();
    assert!(!text.contains("minimum") && !text.contains("maximum"), "Vapi's schemas have no bounds");
    for (list, parts) in [("highlights", ["text", "turn"]), ("red_flags", ["text", "turn"])] {
        let item = &schema["properties"][list]["items"]["properties"];
        assert!(parts.iter().all(|part| item.get(part).is_some()), "{schema}");
    }
    for name in ["summary", "scores"] {
        assert!(schema["properties"].get(name).is_some(), "{schema}");
    }
    let model = assistant["model"].take();
    assert!(model["provider"].is_string() && model["model"].is_string(), "{model}");
    assert_eq!(model["tools"], json!([{ "type": "endCall" }]));
    if let Some(plan) = body.as_object_mut().unwrap().remove("schedulePlan") {
        let time = plan["earliestAt"].as_str().unwrap();
        assert!(["2026-11-20T12:00:00.000Z", "2026-11-20T18:50:00.000Z"].contains(&time), "{plan}");
        assert_eq!(plan.as_object().unwrap().len(), 1);
    }
    let expected = json!({
        "phoneNumberId": "phone-1",
        "customer": { "number": null, "name": NAME, "externalId": null },
        "assistant": {
            "firstMessage": null,
            "model": null,
            "endCallPhrases": ["I will not continue with this call"],
            "maxDurationSeconds": 720,
            "voicemailDetection": {
                "provider": "vapi",
                "backoffPlan": { "startAtSeconds": 2, "frequencySeconds": 2.5, "maxRetries": 5 },
            },
            "backgroundSound": "off",
            "server": {
                "url": format!("{callbacks}/webhooks/voice/vapi"),
                "timeoutSeconds": 20,
                "credentialId": "credential-1",
                "backoffPlan": { "type": "exponential", "maxRetries": 5, "baseDelaySeconds": 1 },
            },
            "serverMessages": ["end-of-call-report", "status-update"],
            "artifactPlan": {
                "recordingEnabled": false,
                "pcapEnabled": false,
                "loggingEnabled": false,
                "structuredOutputs": [{
                    "name": "rolecall_screen",
                    "type": "ai",
                    "model": { "provider": "openai", "model": "gpt-4.1", "temperature": 0 },
                    "conditions": [{ "type": "minMessages", "count": 0 }],
                    "schema": null,
                }],
            },
            "analysisPlan": {
                "summaryPlan": { "enabled": false },
                "successEvaluationPlan": { "enabled": false },
            },
        },
    });
    assert_eq!(body, expected);
}

/// Whether a request lists calls.
pub(super) fn is_search(request: &Request) -> bool {
    request.method == "GET" && request.target.starts_with("/call?")
}

/// Sends this response to orders, and has no calls.
pub(super) fn without_calls(
    respond: impl Fn() -> FakeResponse + Send + Sync,
) -> impl Fn(&Request) -> FakeResponse + Send + Sync {
    move |request| match request.method.as_str() {
        "POST" => respond(),
        "GET" if is_search(request) => FakeResponse::Json(200, json!([])),
        _ => FakeResponse::Json(404, json!({})),
    }
}

/// Accepts every order. Every call stays in this state.
pub(super) fn in_state(call: Value) -> impl Fn(&Request) -> FakeResponse + Send + Sync {
    move |request| match request.method.as_str() {
        "GET" if is_search(request) => FakeResponse::Json(200, json!([])),
        "POST" => FakeResponse::Json(201, json!({ "id": call_id(request), "status": "queued", "new": [1] })),
        _ => FakeResponse::Json(200, call.clone()),
    }
}

/// A call that has ended and has no analysis yet.
fn without_analysis() -> Value {
    let mut call = conversation(84);
    call["artifact"]["structuredOutputs"]["output-1"]["result"] = Value::Null;
    call
}

fn ended(call: &Value) -> Value {
    let mut call = call.clone();
    call["status"] = json!("ended");
    call
}

#[tokio::test]
async fn invitation_leads_to_a_call_and_a_result() {
    let setup = Setup::new(in_state(json!({ "status": "in-progress" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let Invited { role, candidate, screen } = client.invited().await;
    assert_eq!(api.run_tasks().await, tasks::Summary { tasks: 1, ..Default::default() });
    assert_eq!(setup.orders(screen), 1);
    let update = async |more: Value| {
        deliver(api, &callback(api, screen, "status-update", more)).await.expect(200);
        client.screen(screen).await
    };
    let queued = client.screen(screen).await;
    assert_eq!((&queued["status"], &queued["summary"]), (&json!("queued"), &Value::Null));
    let assessment = &queued["assessment"];
    assert_eq!((&assessment["provider"], &assessment["model"]), (&json!("vapi"), &json!("gpt-4.1")));
    assert!(assessment["prompt_version"].is_string() && assessment["rubric_version"].is_string());
    assert_eq!(update(json!({ "status": "ringing" })).await["status"], "queued");
    api.clock.set("2026-11-20T09:31:00Z");
    let in_progress = update(json!({ "status": "in-progress" })).await;
    assert_eq!(
        (&in_progress["status"], &in_progress["started_at"]),
        (&json!("in_progress"), &json!("2026-11-20T09:31:00.000Z"))
    );
    assert_eq!(client.get("voice_screens?status=in_progress").await.body["data"][0]["id"], screen);
    deliver(api, &report(api, screen, 84)).await.expect(200);
    assert_eq!(client.screen(screen).await["status"], "completed");
    assert_eq!(client.stats(role).await["screens_completed"], 1);
    assert_eq!(client.history(candidate).await[0], "screen_completed");
    setup.run_tasks_at(&["09:32:00", "10:00:00", "10:30:00", "12:00:00", "23:59:59"]).await;
    assert_eq!(setup.vapi.requests().len(), 1, "no more requests are needed");
}

#[tokio::test]
async fn scheduled_call_is_ordered_immediately() {
    let setup = Setup::new(in_state(json!({ "status": "scheduled" }))).await;
    let (client, api) = (setup.client(), &setup.api);
    let (role, candidate) = (client.role().await, client.candidate().await);
    let invited = client.invite_at(candidate, role, "2026-11-20T12:00:00Z").await.expect(201);
    let screen = invited.number("/id");
    setup.run_tasks_at(&["09:30:00", "11:59:00", "12:00:00", "12:29:59"]).await;
    let [order] = &setup.vapi.requests()[..] else { panic!("one order") };
    assert_eq!(order.json()["schedulePlan"], json!({ "earliestAt": "2026-11-20T12:00:00.000Z" }));
    assert_eq!(client.screen(screen).await["status"], "scheduled");
    setup.run_tasks_at(&["12:30:00", "12:35:00"]).await;
    assert_eq!(setup.reads(), 1, "the call is read half an hour after its scheduled time");
    deliver(api, &callback(api, screen, "status-update", json!({ "status": "in-progress" })))
        .await
        .expect(200);
    assert_eq!(client.screen(screen).await["status"], "in_progress");
}

#[tokio::test]
async fn refused_call_fails_the_screen_and_allows_a_new_invitation() {
    let setup = Setup::new(|_| FakeResponse::Close).await;
    let client = setup.client();
    let (role, candidate) = (client.role().await, client.candidate().await);
    for (status, body, summary) in [
        (
            400,
            json!({ "message": ["customer.number is odd"], "statusCode": 400 }),
            "refused the call: customer.number is odd.",
        ),
        (422, json!({ "message": "Invalid key vapi-key" }), "refused the call with status 422."),
    ] {
        setup.vapi.reply_with(move |_| FakeResponse::Json(status, body.clone()));
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        setup.api.run_tasks().await;
        let shown = client.screen(screen).await;
        assert_eq!(shown["status"], "failed");
        assert_eq!(shown["summary"], format!("The voice provider {summary}"));
        assert!(shown["completed_at"].is_null() && shown["result"].is_null());
        setup.api.run_tasks().await;
        assert_eq!(setup.orders(screen), 1);
        deliver(&setup.api, &report(&setup.api, screen, 84)).await.expect(200);
        assert_eq!(client.screen(screen).await, shown, "a screen that has ended does not change");
    }
    let without_phone = client.invite(candidate, role).await.expect(201).number("/id");
    setup.api.patch(&format!("/api/v1/candidates/{candidate}"), json!({ "phone": null })).await.expect(200);
    setup.api.run_tasks().await;
    let shown = client.screen(without_phone).await;
    assert_eq!(
        (&shown["status"], &shown["summary"]),
        (&json!("failed"), &json!("The candidate has no phone number."))
    );
    assert_eq!(setup.orders(without_phone), 0);
    let stats = client.stats(role).await;
    assert_eq!((&stats["screens"], &stats["screens_completed"]), (&json!(3), &json!(0)));
    assert_eq!(client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count(), 0);
}

#[tokio::test]
async fn the_operators_account_is_no_concern_of_the_team() {
    let setup = Setup::new(|_| FakeResponse::Close).await;
    let client = setup.client();
    let (role, candidate) = (client.role().await, client.candidate().await);
    for status in [401, 402, 403] {
        let secret = json!({ "message": "Wallet 4711 of org acme has no credits" });
        setup.vapi.reply_with(without_calls(move || FakeResponse::Json(status, secret.clone())));
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        setup.api.run_tasks().await;
        let shown = client.screen(screen).await;
        assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(ACCOUNT)));
    }
}

#[tokio::test]
async fn live_invitation_needs_a_phone_number() {
    let setup = Setup::new(|_| FakeResponse::Close).await;
    let client = setup.client();
    let body = json!({ "name": "Jo", "email": "jo@example.com" });
    let candidate = client.post("candidates", body).await.expect(201).number("/id");
    let role = client.role().await;
    let refused = client.invite(candidate, role).await.expect(422);
    assert_eq!(refused.messages(), ["phone can't be blank: the candidate has no number to call"]);
    setup.api.patch(&format!("/api/v1/candidates/{candidate}"), json!({ "phone": PHONE })).await.expect(200);
    client.invite(candidate, role).await.expect(201);
}

type Responder = fn() -> FakeResponse;

#[tokio::test]
async fn unconfirmed_call_is_never_ordered_again() {
    let unconfirmed: [(&str, Responder); 10] = [
        ("a page", || FakeResponse::Html(200)),
        ("a page with status 201", || FakeResponse::Html(201)),
        ("no id", || FakeResponse::Json(201, json!({ "status": "queued" }))),
        ("an invalid id", || FakeResponse::Json(201, json!({ "id": "../call/call-1" }))),
        ("nothing", || FakeResponse::Close),
        ("noise", || FakeResponse::Raw(b"SSH-2.0\r\n\r\n".to_vec())),
        ("half a body", || FakeResponse::Truncated(201, json!({ "id": "call-1" }))),
        ("two megabytes", || FakeResponse::Oversized(201, json!({ "id": "call-1" }))),
        ("a redirect", || FakeResponse::Redirect),
        ("a hang", || FakeResponse::TimeOut),
    ];
    for (case, respond) in unconfirmed {
        let setup = Setup::new(without_calls(respond)).await;
        let (api, client) = (&setup.api, setup.client());
        let Invited { role, candidate, screen: called } = client.invited().await;
        setup.run_tasks_at(&["09:30:00"]).await;
        let silent = client.invited().await.screen;
        setup.run_tasks_at(&["09:30:00", "09:30:00", "09:31:00", "09:45:00", "09:59:59"]).await;
        for screen in [called, silent] {
            let shown = client.screen(screen).await;
            let summary = shown["summary"].as_str().unwrap();
            assert_eq!(shown["status"], "queued", "{case}");
            assert!(summary.contains("The call may or may not be made"), "{case}: {summary}");
        }
        client.invite(candidate, role).await.expect(422);

        deliver(api, &callback(api, called, "status-update", json!({ "status": "ringing" })))
            .await
            .expect(200);
        let shown = client.screen(called).await;
        assert_eq!(
            (&shown["status"], &shown["summary"]),
            (&json!("queued"), &Value::Null),
            "{case}: the callback confirms the call"
        );
        deliver(api, &report(api, called, 84)).await.expect(200);
        assert_eq!(client.screen(called).await["status"], "completed", "{case}");

        setup.run_tasks_at(&["10:00:00"]).await;
        let shown = client.screen(silent).await;
        assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(UNCONFIRMED)), "{case}");
        setup.run_tasks_at(&["10:30:00", "12:00:00", "18:00:00"]).await;
        deliver(api, &report(api, silent, 84)).await.expect(200);
        assert_eq!(client.screen(silent).await, shown, "{case}: too late");
        assert_eq!((setup.orders(called), setup.orders(silent)), (1, 1), "{case}");
        let searches = setup.vapi.requests().iter().filter(|request| is_search(request)).count();
        assert_eq!((searches, setup.reads()), (3, 0), "{case}: after two minutes, and before giving up");
        client.invite(candidate, role).await.expect(201);
    }
}

/// The process may stop at any point between claiming the call and storing Vapi's response.
#[tokio::test]
async fn killed_process_never_causes_a_second_call() {
    for (case, nth, fault, orders) in [
        ("before the claim", 1, Fault::Unreachable, 1),
        ("after the claim, with the response lost", 1, Fault::ResponseLost, 0),
        ("before the result is stored", 2, Fault::Unreachable, 1),
        ("after the result is stored, with the response lost", 2, Fault::ResponseLost, 1),
    ] {
        let setup = Setup::new(in_state(json!({ "status": "queued" }))).await;
        let (api, client) = (&setup.api, setup.client());
        let screen = client.invited().await.screen;
        // The SDK sends the same token in all retries of a call.
        let seen = Mutex::new(Vec::new());
        api.dynamodb.inject_faults(move |operation, request| {
            let mut seen = seen.lock().unwrap();
            let token = request["ClientRequestToken"].clone();
            if operation == "TransactWriteItems" && !seen.contains(&token) {
                seen.push(token.clone());
            }
            (seen.len() >= nth && seen.get(nth - 1) == Some(&token)).then(|| fault.clone())
        });
        tasks::run(api.environment.clone()).await.unwrap_err();
        api.dynamodb.inject_faults(|_, _| None);
        setup.run_tasks_at(&["09:30:30", "09:35:00", "09:59:59"]).await;
        assert_eq!(setup.orders(screen), orders, "{case}");
        assert_eq!(client.screen(screen).await["status"], "queued", "{case}");
        setup.run_tasks_at(&["10:00:00", "10:10:00", "11:00:00", "12:00:00", "12:30:00", "15:00:00"]).await;
        assert_eq!(setup.orders(screen), orders, "{case}");
        assert_eq!(client.screen(screen).await["status"], "failed", "{case}");
    }
}

#[tokio::test]
async fn process_killed_during_an_order_causes_no_second_call() {
    let setup = Setup::new(without_calls(|| FakeResponse::NoResponse)).await;
    let client = setup.client();
    let screen = client.invited().await.screen;
    let run = tokio::spawn(tasks::run(setup.api.environment.clone()));
    while setup.orders(screen) == 0 {
        tokio::task::yield_now().await;
    }
    run.abort();
    setup.run_tasks_at(&["09:30:30", "09:59:59"]).await;
    assert_eq!(client.screen(screen).await["status"], "queued");
    setup.run_tasks_at(&["10:00:00", "12:00:00"]).await;
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(UNCONFIRMED)));
    assert_eq!((setup.orders(screen), setup.vapi.requests().len()), (1, 2), "it was looked for once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_runs_order_each_call_once() {
    let setup = Setup::new(in_state(json!({ "status": "queued" }))).await;
    let client = setup.client();
    for _ in 0..5 {
        let mut screens = Vec::new();
        for _ in 0..4 {
            screens.push(client.invited().await.screen);
        }
        let run = || setup.api.run_tasks();
        join(join(run(), run()), join(run(), run())).await;
        setup.api.run_tasks().await;
        for screen in screens {
            assert_eq!(setup.orders(screen), 1);
        }
    }
}

#[tokio::test]
async fn late_analysis_is_fetched() {
    let setup = Setup::new(in_state(ended(&without_analysis()))).await;
    let (api, client) = (&setup.api, setup.client());
    let Invited { role, candidate, screen } = client.invited().await;
    api.run_tasks().await;
    let mut early = callback(api, screen, "end-of-call-report", without_analysis());
    early["message"]["call"]["id"] = json!(format!("call-{screen}"));
    deliver(api, &callback(api, screen, "status-update", json!({ "status": "in-progress" })))
        .await
        .expect(200);
    deliver(api, &early).await.expect(200);
    deliver(api, &early).await.expect(200);
    let waiting = client.screen(screen).await;
    assert_eq!((&waiting["status"], &waiting["completed_at"]), (&json!("in_progress"), &Value::Null));
    assert_eq!(client.stats(role).await["screens_completed"], 0);
    setup.run_tasks_at(&["09:30:19"]).await;
    assert_eq!(setup.reads(), 0, "the first read comes after 20 seconds");
    setup.run_tasks_at(&["09:30:20", "09:30:40"]).await;
    assert_eq!((setup.reads(), client.screen(screen).await["status"].clone()), (2, json!("in_progress")));
    setup.vapi.reply_with(in_state(ended(&conversation(84))));
    setup.run_tasks_at(&["09:31:00", "09:31:20", "10:00:00"]).await;
    let shown = client.screen(screen).await;
    assert_eq!(
        (&shown["status"], &shown["scores"]["overall"], &shown["result"]),
        (&json!("completed"), &json!(84), &json!("passed"))
    );
    assert_eq!((&shown["transcript"], &shown["duration_seconds"]), (&transcript(84), &json!(250)));
    assert_eq!(shown["completed_at"], "2026-11-20T09:28:10.900Z");
    assert_eq!(client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count(), 1);
    assert_eq!((setup.reads(), setup.orders(screen)), (3, 1));
}

/// The call ended at 09:28:10.
#[tokio::test]
async fn waiting_for_an_analysis_ends_after_ten_minutes() {
    let setup = Setup::new(in_state(ended(&without_analysis()))).await;
    let (api, client) = (&setup.api, setup.client());
    let Invited { role, candidate, screen } = client.invited().await;
    api.run_tasks().await;
    deliver(api, &callback(api, screen, "end-of-call-report", without_analysis())).await.expect(200);
    setup.run_tasks_at(&["09:30:20", "09:34:00", "09:38:09"]).await;
    assert_eq!(client.screen(screen).await["completed_at"], Value::Null);
    setup.run_tasks_at(&["09:38:30"]).await;
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["transcript"]), (&json!("completed"), &transcript(84)));
    assert_eq!(
        (&shown["scores"]["overall"], &shown["result"], &shown["summary"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&shown["completed_at"], &shown["duration_seconds"]),
        (&json!("2026-11-20T09:28:10.900Z"), &json!(250))
    );
    let stats = client.stats(role).await;
    assert_eq!((&stats["screens_completed"], &stats["average_score"]), (&json!(1), &Value::Null));
    assert_eq!(client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count(), 1);
    client.invite(candidate, role).await.expect(201);
}

/// If the report has no analysis and the call cannot be read, the screen keeps the transcript and has no scores.
#[tokio::test]
async fn transcript_is_kept_if_the_call_cannot_be_read() {
    let unreadable: [(&str, Responder); 5] = [
        ("500", || FakeResponse::Json(500, json!({}))),
        ("404", || FakeResponse::Json(404, json!({}))),
        ("a page", || FakeResponse::Html(200)),
        ("nothing", || FakeResponse::Close),
        ("two megabytes", || FakeResponse::Oversized(200, json!({ "status": "ended" }))),
    ];
    for (case, respond) in unreadable {
        let started = in_state(Value::Null);
        let setup = Setup::new(move |request| match request.method.as_str() {
            "POST" => started(request),
            _ => respond(),
        })
        .await;
        let (api, client) = (&setup.api, setup.client());
        let screen = client.invited().await.screen;
        api.run_tasks().await;
        deliver(api, &callback(api, screen, "status-update", json!({ "status": "in-progress" })))
            .await
            .expect(200);
        deliver(api, &callback(api, screen, "end-of-call-report", without_analysis())).await.expect(200);
        assert_eq!(client.screen(screen).await["transcript"], transcript(84), "{case}");
        setup.run_tasks_at(&["09:30:20", "09:40:20", "10:30:00", "11:00:00", "11:31:00", "12:00:00"]).await;
        let shown = client.screen(screen).await;
        assert_eq!(
            (&shown["status"], &shown["transcript"]),
            (&json!("completed"), &transcript(84)),
            "{case}"
        );
        assert_eq!((&shown["result"], &shown["scores"]["overall"]), (&Value::Null, &Value::Null), "{case}");
        let duration = &shown["duration_seconds"];
        assert!(duration.is_null() || *duration == 250, "{case}: a wrong duration of {duration} seconds");
    }
}

#[tokio::test]
async fn first_of_two_reports_without_an_analysis_is_kept() {
    let setup = Setup::new(in_state(ended(&without_analysis()))).await;
    let (api, client) = (&setup.api, setup.client());
    let screen = client.invited().await.screen;
    api.run_tasks().await;
    let mut other = without_analysis();
    other["artifact"]["messages"][2]["message"] = json!("Something else.");
    deliver(api, &callback(api, screen, "end-of-call-report", without_analysis())).await.expect(200);
    deliver(api, &callback(api, screen, "end-of-call-report", other)).await.expect(200);
    assert_eq!(client.screen(screen).await["transcript"], transcript(84));
    deliver(api, &report(api, screen, 84)).await.expect(200);
    let shown = client.screen(screen).await;
    assert_eq!(
        (&shown["status"], &shown["result"]),
        (&json!("completed"), &json!("passed")),
        "a later report adds the analysis"
    );
}

#[tokio::test]
async fn call_without_callbacks_is_read_and_ended() {
    for (call, end, summary) in [
        (
            json!({ "status": "in-progress" }),
            "failed",
            json!("The voice provider has not reported on the call."),
        ),
        (ended(&conversation(84)), "completed", json!("A conversation of 84.")),
        (
            json!({ "status": "ended", "endedReason": "customer-busy" }),
            "no_answer",
            json!("The candidate did not answer the call."),
        ),
        (
            json!({ "status": "ended", "endedReason": "twilio-failed-to-connect-call" }),
            "failed",
            json!("The phone number cannot be reached. Check it with the candidate."),
        ),
    ] {
        let setup = Setup::new(in_state(json!({ "status": "queued" }))).await;
        let client = setup.client();
        let Invited { role, candidate, screen } = client.invited().await;
        setup.run_tasks_at(&["09:30:00", "09:45:00", "09:59:59"]).await;
        assert_eq!(setup.reads(), 0);
        setup.run_tasks_at(&["10:00:00", "10:09:59"]).await;
        let requests = setup.vapi.requests();
        let (last, first) = (requests.last().unwrap(), &requests[0]);
        assert_eq!((last.method.as_str(), last.target.clone()), ("GET", format!("/call/{}", call_id(first))));
        assert_eq!((requests.len(), client.screen(screen).await["status"].clone()), (2, json!("queued")));
        setup.vapi.reply_with(in_state(call));
        setup.run_tasks_at(&["10:10:00", "10:40:00", "11:20:00", "11:31:00", "12:00:00"]).await;
        let shown = client.screen(screen).await;
        assert_eq!((&shown["status"], &shown["summary"]), (&json!(end), &summary));
        let requests = setup.vapi.requests().len();
        setup.run_tasks_at(&["13:00:00", "23:00:00"]).await;
        assert_eq!((setup.vapi.requests().len(), setup.orders(screen)), (requests, 1));
        client.invite(candidate, role).await.expect(201);
    }
}

#[tokio::test]
async fn test_screens_never_reach_vapi() {
    let setup = Setup::new(in_state(Value::Null)).await;
    let client = Client::test(&setup.api);
    let screens = [client.invited().await, client.invited().await];
    setup.run_tasks_at(&["09:30:00", "10:00:00", "12:00:00"]).await;
    for Invited { screen, .. } in screens {
        assert_eq!(client.screen(screen).await["status"], "completed");
    }
    assert_eq!(setup.vapi.requests().len(), 0);
}

/// The candidate answers so quickly that the callbacks arrive before Vapi's response to the order.
#[tokio::test]
async fn callbacks_may_arrive_before_the_call_id_is_recorded() {
    let in_progress = ("status-update", json!({ "status": "in-progress" }));
    let finished = ("end-of-call-report", conversation(84));
    let early = ("end-of-call-report", without_analysis());
    let missed = ("end-of-call-report", json!({ "endedReason": "customer-busy" }));
    for (callbacks, answered, status) in [
        (vec![in_progress.clone()], true, "in_progress"),
        (vec![finished.clone()], true, "completed"),
        (vec![finished.clone()], false, "completed"),
        (vec![in_progress.clone(), finished], true, "completed"),
        (vec![in_progress, early.clone()], false, "in_progress"),
        (vec![early], true, "queued"),
        (vec![missed], true, "no_answer"),
    ] {
        let setup = Arc::new(Setup::new(|_| FakeResponse::Close).await);
        let Invited { role, candidate, screen } = setup.client().invited().await;
        let weak_setup: Arc<OnceLock<Weak<Setup>>> = Arc::default();
        weak_setup.set(Arc::downgrade(&setup)).unwrap();
        setup.vapi.reply_with(move |request| {
            if is_search(request) {
                return FakeResponse::Json(200, json!([]));
            }
            if request.method == "GET" {
                return FakeResponse::Json(200, ended(&conversation(84)));
            }
            let (setup, callbacks) = (weak_setup.get().unwrap().upgrade().unwrap(), callbacks.clone());
            let call = call_id(request);
            FakeResponse::after(async move {
                for (kind, more) in callbacks {
                    let mut callback = callback(&setup.api, screen, kind, more);
                    callback["message"]["call"]["id"] = json!(call);
                    deliver(&setup.api, &callback).await.expect(200);
                }
                if answered { FakeResponse::Json(201, json!({ "id": call })) } else { FakeResponse::Close }
            })
        });
        assert_eq!(setup.api.run_tasks().await, tasks::Summary { tasks: 1, ..Default::default() });
        let shown = setup.client().screen(screen).await;
        assert_eq!(
            (&shown["status"], shown["summary"].is_null()),
            (&json!(status), !["completed", "no_answer"].contains(&status))
        );
        setup.run_tasks_at(&["09:30:20", "10:00:00", "10:10:00"]).await;
        let shown = setup.client().screen(screen).await;
        let end = if status == "no_answer" { status } else { "completed" };
        assert_eq!(shown["status"], end);
        assert_eq!(setup.client().stats(role).await["screens_completed"], u8::from(end == "completed"));
        setup.client().invite(candidate, role).await.expect(201);
        assert_eq!(setup.orders(screen), 1);
    }
}

/// A refusal is final. Concurrent writes to the candidate must not leave the call unconfirmed.
#[tokio::test]
async fn refusal_is_recorded_despite_write_conflicts() {
    let setup = Setup::new(|_| FakeResponse::Json(400, json!({ "message": "no" }))).await;
    let client = setup.client();
    let Invited { screen, candidate, .. } = client.invited().await;
    let conflicts = Mutex::new(0);
    setup.api.dynamodb.inject_faults(move |operation, request| {
        let mut conflicts = conflicts.lock().unwrap();
        let fails = operation == "TransactWriteItems" && request.to_string().contains("#SCREEN#failed");
        *conflicts += u32::from(fails);
        (fails && *conflicts <= 2).then_some(Fault::Conflict)
    });
    setup.api.run_tasks().await;
    let shown = client.screen(screen).await;
    assert_eq!(
        (&shown["status"], &shown["summary"]),
        (&json!("failed"), &json!("The voice provider refused the call: no."))
    );
    assert_eq!(client.page(candidate).await["voice_screens"][0]["status"], "failed");
    setup.api.request(Method::GET, "/api/v1/voice_screens?status=queued").send().await.expect(200);
}
