//! Calls through Vapi: what it is asked, whatever it answers, and that nobody is called twice.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use futures_util::future::join;
use http::Method;
use serde_json::{Value, json};
use shared::config::{Addresses, Services, VapiAccess};
use shared::screening::Reference;
use shared::secret::Secret;
use tests::fake::{Fake, NOWHERE, Play, Request};
use tests::wire::Fault;
use tests::{ACME, World, tenant};

use crate::voice_screens::{Client, DESCRIPTION, Invited, NAME, PHONE, TITLE};
use crate::voice_webhook::{callback, conversation, deliver, report, transcript};

const API_KEY: &str = "vapi-key";
const UNKNOWN_END: &str =
    "The voice provider has not confirmed the call; it is not known whether it was made.";

/// Live calls go through Vapi at `url`.
pub(super) fn services(url: &str) -> Services {
    let vapi = VapiAccess {
        api_key: Secret::new(API_KEY),
        phone_number_id: "phone-1".to_owned(),
        webhook_secret: Secret::new("vapi-webhook-secret"),
        credential_id: Some("credential-1".to_owned()),
    };
    let addresses = Addresses { vapi: url.to_owned(), ..Addresses::default() };
    Services { vapi: Some(vapi), addresses, ..Services::default() }
}

/// A world that calls through a fake of Vapi. Whatever the fake was asked is checked in the end.
struct Exchange {
    world: World,
    vapi: Fake,
}

impl Exchange {
    async fn new(script: impl Fn(&Request) -> Play + Send + Sync + 'static) -> Self {
        let vapi = Fake::start(script).await;
        Self { world: World::with_services(services(&vapi.url)).await, vapi }
    }

    fn client(&self) -> Client<'_> {
        Client::live(&self.world)
    }

    /// How many calls were ordered for the screen.
    fn orders(&self, screen: u64) -> usize {
        let requests = self.vapi.requests();
        let ours = |request: &&Request| request.method == "POST" && about(request) == Some(screen);
        requests.iter().filter(ours).count()
    }

    /// How often a call was read.
    fn reads(&self) -> usize {
        self.vapi.requests().iter().filter(|request| request.method == "GET").count()
    }

    /// Runs the tasks at each of these times of the day.
    async fn pass(&self, times: &[&str]) {
        for time in times {
            self.world.hands.set(&format!("2026-11-20T{time}Z"));
            self.world.run_tasks().await;
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let services = &self.world.environment.config.services;
            let callbacks = services.callback_url.as_ref().unwrap();
            for request in self.vapi.requests() {
                check(&request, callbacks);
            }
        }
    }
}

/// The screen that an order is about.
fn about(request: &Request) -> Option<u64> {
    let reference: Reference = request.json()["customer"]["externalId"].as_str()?.parse().ok()?;
    assert_eq!(reference.tenant, tenant(ACME, shared::model::Mode::Live));
    Some(reference.screen.get())
}

/// The id that our fake gives the call of an order.
fn call_id(request: &Request) -> String {
    format!("call-{}", about(request).unwrap())
}

/// A request is as Vapi documents it.
fn check(request: &Request, callbacks: &str) {
    assert_eq!(request.header("authorization"), format!("Bearer {API_KEY}"));
    if request.method == "GET" {
        let id = request.target.strip_prefix("/call/call-").expect("a call of ours");
        assert!(id.bytes().all(|byte| byte.is_ascii_digit()) && request.body.is_empty(), "{request:?}");
        return;
    }
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/call"));
    assert_eq!(request.header("content-type"), "application/json");
    let mut body = request.json();
    let reference = body["customer"]["externalId"].take();
    assert_eq!(reference, format!("1-live-{}", about(request).unwrap()));
    let assistant = &mut body["assistant"];
    let greeting = assistant["firstMessage"].take();
    let greeting = greeting.as_str().unwrap();
    assert!(greeting.contains("AI") && greeting.contains(NAME) && greeting.contains(TITLE), "{greeting}");
    let messages = assistant["model"]["messages"].take();
    assert_eq!((&messages[0]["role"], messages.as_array().unwrap().len()), (&json!("system"), 1));
    let prompt = messages[0]["content"].as_str().unwrap();
    for told in [NAME, TITLE, DESCRIPTION] {
        assert!(prompt.contains(told), "{prompt}");
    }
    let schema = assistant["artifactPlan"]["structuredOutputs"][0]["schema"].take();
    for (list, parts) in [("highlights", ["text", "turn"]), ("red_flags", ["text", "turn"])] {
        let item = &schema["properties"][list]["items"]["properties"];
        assert!(parts.iter().all(|part| item.get(part).is_some()), "{schema}");
    }
    for name in ["summary", "scores"] {
        assert!(schema["properties"].get(name).is_some(), "{schema}");
    }
    let model = assistant["model"].take();
    assert!(model["provider"].is_string() && model["model"].is_string(), "{model}");
    if let Some(plan) = body.as_object_mut().unwrap().remove("schedulePlan") {
        assert_eq!(plan, json!({ "earliestAt": "2026-11-20T12:00:00Z" }));
    }
    let expected = json!({
        "phoneNumberId": "phone-1",
        "customer": { "number": PHONE, "name": NAME, "externalId": null },
        "assistant": {
            "firstMessage": null,
            "model": null,
            "maxDurationSeconds": 600,
            "server": {
                "url": format!("{callbacks}/webhooks/voice/vapi"),
                "timeoutSeconds": 20,
                "credentialId": "credential-1",
                "backoffPlan": { "type": "exponential", "maxRetries": 5, "baseDelaySeconds": 1 },
            },
            "serverMessages": ["end-of-call-report", "status-update"],
            "artifactPlan": { "structuredOutputs": [{ "name": "rolecall_screen", "type": "ai", "schema": null }] },
        },
    });
    assert_eq!(body, expected);
}

/// Vapi takes every order, and every call stays in this state.
fn in_state(call: Value) -> impl Fn(&Request) -> Play + Send + Sync {
    move |request| match request.method.as_str() {
        "POST" => Play::Json(201, json!({ "id": call_id(request), "status": "queued", "new": [1] })),
        _ => Play::Json(200, call.clone()),
    }
}

/// A call that has ended, without an analysis as yet.
fn unanalysed() -> Value {
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
async fn an_invitation_becomes_a_call_and_the_call_a_result() {
    let exchange = Exchange::new(in_state(json!({ "status": "in-progress" }))).await;
    let (world, client) = (&exchange.world, exchange.client());
    let Invited { role, candidate, screen } = client.invited().await;
    assert_eq!(world.run_tasks().await, tasks::Summary { tasks: 1, failed: 0 });
    assert_eq!(exchange.orders(screen), 1);
    let told = async |more: Value| {
        deliver(world, &callback(world, screen, "status-update", more)).await.expect(200);
        client.screen(screen).await
    };
    let queued = client.screen(screen).await;
    assert_eq!((&queued["status"], &queued["summary"]), (&json!("queued"), &Value::Null));
    assert_eq!(told(json!({ "status": "ringing" })).await["status"], "queued");
    world.hands.set("2026-11-20T09:31:00Z");
    let talking = told(json!({ "status": "in-progress" })).await;
    assert_eq!(
        (&talking["status"], &talking["started_at"]),
        (&json!("in_progress"), &json!("2026-11-20T09:31:00Z"))
    );
    assert_eq!(client.get("voice_screens?status=in_progress").await.body["data"][0]["id"], screen);
    deliver(world, &report(world, screen, 84)).await.expect(200);
    assert_eq!(client.screen(screen).await["status"], "completed");
    assert_eq!(client.stats(role).await["screens_completed"], 1);
    assert_eq!(client.history(candidate).await[0], "screen_completed");
    exchange.pass(&["09:32:00", "10:00:00", "10:30:00", "12:00:00", "23:59:59"]).await;
    assert_eq!(exchange.vapi.requests().len(), 1, "there is nothing more to ask");
}

#[tokio::test]
async fn a_scheduled_call_is_ordered_at_once_for_its_time() {
    let exchange = Exchange::new(in_state(json!({ "status": "scheduled" }))).await;
    let (client, world) = (exchange.client(), &exchange.world);
    let (role, candidate) = (client.role().await, client.candidate().await);
    let body = json!({ "role_id": role, "scheduled_at": "2026-11-20T12:00:00Z" });
    let invited = client.post(&format!("candidates/{candidate}/invite_screen"), body).await.expect(201);
    let screen = invited.number("/id");
    exchange.pass(&["09:30:00", "11:59:00", "12:00:00", "12:29:59"]).await;
    let [order] = &exchange.vapi.requests()[..] else { panic!("one order") };
    assert_eq!(order.json()["schedulePlan"], json!({ "earliestAt": "2026-11-20T12:00:00Z" }));
    assert_eq!(client.screen(screen).await["status"], "scheduled");
    exchange.pass(&["12:30:00", "12:35:00"]).await;
    assert_eq!(exchange.reads(), 1, "half an hour after its time, it is asked about");
    deliver(world, &callback(world, screen, "status-update", json!({ "status": "in-progress" })))
        .await
        .expect(200);
    assert_eq!(client.screen(screen).await["status"], "in_progress");
}

#[tokio::test]
async fn what_vapi_refuses_fails_at_once_and_may_be_tried_again() {
    let exchange = Exchange::new(|_| Play::Nothing).await;
    let client = exchange.client();
    let (role, candidate) = (client.role().await, client.candidate().await);
    for (status, body, summary) in [
        (
            400,
            json!({ "message": ["customer.number is odd"], "statusCode": 400 }),
            "refused the call: customer.number is odd.",
        ),
        (401, json!({ "message": "Invalid key vapi-key" }), "refused the call with status 401."),
        (402, json!({}), "refused the call with status 402."),
        (429, json!({ "message": "Over the limit" }), "refused the call: Over the limit."),
    ] {
        exchange.vapi.play(move |_| Play::Json(status, body.clone()));
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        exchange.world.run_tasks().await;
        let shown = client.screen(screen).await;
        assert_eq!(shown["status"], "failed");
        assert_eq!(shown["summary"], format!("The voice provider {summary}"));
        assert!(shown["completed_at"].is_null() && shown["result"].is_null());
        exchange.world.run_tasks().await;
        assert_eq!(exchange.orders(screen), 1);
        deliver(&exchange.world, &report(&exchange.world, screen, 84)).await.expect(200);
        assert_eq!(client.screen(screen).await, shown, "an end is an end");
    }
    let without_phone = client.invite(candidate, role).await.expect(201).number("/id");
    exchange
        .world
        .patch(&format!("/api/v1/candidates/{candidate}"), json!({ "phone": null }))
        .await
        .expect(200);
    exchange.world.run_tasks().await;
    let shown = client.screen(without_phone).await;
    assert_eq!(
        (&shown["status"], &shown["summary"]),
        (&json!("failed"), &json!("The candidate has no phone number."))
    );
    assert_eq!(exchange.orders(without_phone), 0);
    let stats = client.stats(role).await;
    assert_eq!((&stats["screens"], &stats["screens_completed"]), (&json!(5), &json!(0)));
    assert_eq!(client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count(), 0);
}

#[tokio::test]
async fn where_vapi_cannot_be_reached_there_is_no_call() {
    let world = World::with_services(services(NOWHERE)).await;
    let client = Client::live(&world);
    let Invited { role, candidate, screen } = client.invited().await;
    world.run_tasks().await;
    let shown = client.screen(screen).await;
    let expected = (json!("failed"), json!("The voice provider could not be reached."));
    assert_eq!((shown["status"].clone(), shown["summary"].clone()), expected);
    client.invite(candidate, role).await.expect(201);
}

#[tokio::test]
async fn a_number_is_needed() {
    let exchange = Exchange::new(|_| Play::Nothing).await;
    let client = exchange.client();
    let body = json!({ "name": "Jo", "email": "jo@example.com" });
    let candidate = client.post("candidates", body).await.expect(201).number("/id");
    let role = client.role().await;
    let refused = client.invite(candidate, role).await.expect(422);
    assert_eq!(refused.messages(), ["phone can't be blank: the candidate has no number to call"]);
    exchange
        .world
        .patch(&format!("/api/v1/candidates/{candidate}"), json!({ "phone": PHONE }))
        .await
        .expect(200);
    client.invite(candidate, role).await.expect(201);
}

type Answering = fn() -> Play;

#[tokio::test]
async fn what_is_not_known_is_never_asked_for_again() {
    let doubtful: [(&str, Answering); 12] = [
        ("500", || Play::Json(500, json!({ "message": "oops" }))),
        ("503", || Play::Html(503)),
        ("a page", || Play::Html(200)),
        ("a page of 201", || Play::Html(201)),
        ("no id", || Play::Json(201, json!({ "status": "queued" }))),
        ("an id that is none", || Play::Json(201, json!({ "id": "../call/call-1" }))),
        ("nothing", || Play::Nothing),
        ("noise", || Play::Raw("SSH-2.0\r\n\r\n".to_owned())),
        ("half a body", || Play::Half(201, json!({ "id": "call-1" }))),
        ("two megabytes", || Play::Long(201, json!({ "id": "call-1" }))),
        ("a redirect", || Play::Redirect),
        ("a hang", || Play::Hang),
    ];
    for (what, answer) in doubtful {
        let exchange = Exchange::new(move |_| answer()).await;
        let (world, client) = (&exchange.world, exchange.client());
        let Invited { role, candidate, screen: called } = client.invited().await;
        exchange.pass(&["09:30:00"]).await;
        let silent = client.invited().await.screen;
        exchange.pass(&["09:30:00", "09:30:00", "09:31:00", "09:45:00", "09:59:59"]).await;
        for screen in [called, silent] {
            let shown = client.screen(screen).await;
            let summary = shown["summary"].as_str().unwrap();
            assert_eq!(shown["status"], "queued", "{what}");
            assert!(summary.contains("not known whether the call will be made"), "{what}: {summary}");
        }
        client.invite(candidate, role).await.expect(422);

        deliver(world, &callback(world, called, "status-update", json!({ "status": "ringing" })))
            .await
            .expect(200);
        let shown = client.screen(called).await;
        assert_eq!(
            (&shown["status"], &shown["summary"]),
            (&json!("queued"), &Value::Null),
            "{what}: now it is known"
        );
        deliver(world, &report(world, called, 84)).await.expect(200);
        assert_eq!(client.screen(called).await["status"], "completed", "{what}");

        exchange.pass(&["10:00:00"]).await;
        let shown = client.screen(silent).await;
        assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(UNKNOWN_END)), "{what}");
        exchange.pass(&["10:30:00", "12:00:00", "18:00:00"]).await;
        deliver(world, &report(world, silent, 84)).await.expect(200);
        assert_eq!(client.screen(silent).await, shown, "{what}: too late");
        assert_eq!((exchange.orders(called), exchange.orders(silent)), (1, 1), "{what}");
        assert_eq!(exchange.vapi.requests().len(), 2, "{what}");
        client.invite(candidate, role).await.expect(201);
    }
}

/// Wherever between the claim and the note the process stops, there is no second call.
#[tokio::test]
async fn a_process_that_dies_leaves_no_second_call() {
    for (what, nth, fault, orders) in [
        ("before the claim", 1, Fault::Unreachable, 1),
        ("with the claim made, but its answer lost", 1, Fault::AnswerLost, 0),
        ("with the answer not noted", 2, Fault::Unreachable, 1),
        ("with the answer noted, but not told so", 2, Fault::AnswerLost, 1),
    ] {
        let exchange = Exchange::new(in_state(json!({ "status": "queued" }))).await;
        let (world, client) = (&exchange.world, exchange.client());
        let screen = client.invited().await.screen;
        // The SDK's retries of one call carry one token.
        let seen = Mutex::new(Vec::new());
        world.wire.play(move |operation, request| {
            let mut seen = seen.lock().unwrap();
            let token = request["ClientRequestToken"].clone();
            if operation == "TransactWriteItems" && !seen.contains(&token) {
                seen.push(token.clone());
            }
            (seen.len() >= nth && seen.get(nth - 1) == Some(&token)).then(|| fault.clone())
        });
        tasks::run(world.environment.clone()).await.unwrap_err();
        world.wire.play(|_, _| None);
        exchange.pass(&["09:30:30", "09:35:00", "09:59:59"]).await;
        assert_eq!(exchange.orders(screen), orders, "{what}");
        assert_eq!(client.screen(screen).await["status"], "queued", "{what}");
        exchange.pass(&["10:00:00", "10:10:00", "11:00:00", "12:00:00", "12:30:00", "15:00:00"]).await;
        assert_eq!(exchange.orders(screen), orders, "{what}");
        assert_eq!(client.screen(screen).await["status"], "failed", "{what}");
    }
}

#[tokio::test]
async fn a_process_that_dies_while_vapi_thinks_leaves_no_second_call() {
    let exchange = Exchange::new(|_| Play::Silence).await;
    let client = exchange.client();
    let screen = client.invited().await.screen;
    let run = tokio::spawn(tasks::run(exchange.world.environment.clone()));
    while exchange.orders(screen) == 0 {
        tokio::task::yield_now().await;
    }
    run.abort();
    exchange.pass(&["09:30:30", "09:59:59"]).await;
    assert_eq!(client.screen(screen).await["status"], "queued");
    exchange.pass(&["10:00:00", "12:00:00"]).await;
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["summary"]), (&json!("failed"), &json!(UNKNOWN_END)));
    assert_eq!(exchange.vapi.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn runs_at_once_call_once() {
    let exchange = Exchange::new(in_state(json!({ "status": "queued" }))).await;
    let client = exchange.client();
    for _ in 0..5 {
        let mut screens = Vec::new();
        for _ in 0..4 {
            screens.push(client.invited().await.screen);
        }
        let run = || exchange.world.run_tasks();
        join(join(run(), run()), join(run(), run())).await;
        exchange.world.run_tasks().await;
        for screen in screens {
            assert_eq!(exchange.orders(screen), 1);
        }
    }
}

#[tokio::test]
async fn an_analysis_that_comes_later_is_fetched() {
    let exchange = Exchange::new(in_state(ended(&unanalysed()))).await;
    let (world, client) = (&exchange.world, exchange.client());
    let Invited { role, candidate, screen } = client.invited().await;
    world.run_tasks().await;
    let mut early = callback(world, screen, "end-of-call-report", unanalysed());
    early["message"]["call"]["id"] = json!(format!("call-{screen}"));
    deliver(world, &callback(world, screen, "status-update", json!({ "status": "in-progress" })))
        .await
        .expect(200);
    deliver(world, &early).await.expect(200);
    deliver(world, &early).await.expect(200);
    let waiting = client.screen(screen).await;
    assert_eq!((&waiting["status"], &waiting["completed_at"]), (&json!("in_progress"), &Value::Null));
    assert_eq!(client.stats(role).await["screens_completed"], 0);
    exchange.pass(&["09:30:19"]).await;
    assert_eq!(exchange.reads(), 0, "it takes some seconds");
    exchange.pass(&["09:30:20", "09:30:40"]).await;
    assert_eq!((exchange.reads(), client.screen(screen).await["status"].clone()), (2, json!("in_progress")));
    exchange.vapi.play(in_state(ended(&conversation(84))));
    exchange.pass(&["09:31:00", "09:31:20", "10:00:00"]).await;
    let shown = client.screen(screen).await;
    assert_eq!(
        (&shown["status"], &shown["scores"]["overall"], &shown["result"]),
        (&json!("completed"), &json!(84), &json!("passed"))
    );
    assert_eq!((&shown["transcript"], &shown["duration_seconds"]), (&transcript(84), &json!(250)));
    assert_eq!(shown["completed_at"], "2026-11-20T09:28:10Z");
    assert_eq!(client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count(), 1);
    assert_eq!((exchange.reads(), exchange.orders(screen)), (3, 1));
}

/// The call has ended at 09:28:10.
#[tokio::test]
async fn an_analysis_that_never_comes_is_not_waited_for_longer_than_ten_minutes() {
    let exchange = Exchange::new(in_state(ended(&unanalysed()))).await;
    let (world, client) = (&exchange.world, exchange.client());
    let Invited { role, candidate, screen } = client.invited().await;
    world.run_tasks().await;
    deliver(world, &callback(world, screen, "end-of-call-report", unanalysed())).await.expect(200);
    exchange.pass(&["09:30:20", "09:34:00", "09:38:09"]).await;
    assert_eq!(client.screen(screen).await["completed_at"], Value::Null);
    exchange.pass(&["09:38:30"]).await;
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["transcript"]), (&json!("completed"), &transcript(84)));
    assert_eq!(
        (&shown["scores"]["overall"], &shown["result"], &shown["summary"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&shown["completed_at"], &shown["duration_seconds"]),
        (&json!("2026-11-20T09:28:10Z"), &json!(250))
    );
    let stats = client.stats(role).await;
    assert_eq!((&stats["screens_completed"], &stats["average_score"]), (&json!(1), &Value::Null));
    assert_eq!(client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count(), 1);
    client.invite(candidate, role).await.expect(201);
}

/// The report came, the analysis did not, and the call cannot be read: what was said is kept, and nothing is made up.
#[tokio::test]
async fn a_conversation_is_kept_where_its_call_cannot_be_read_again() {
    let unreadable: [(&str, Answering); 5] = [
        ("500", || Play::Json(500, json!({}))),
        ("404", || Play::Json(404, json!({}))),
        ("a page", || Play::Html(200)),
        ("nothing", || Play::Nothing),
        ("two megabytes", || Play::Long(200, json!({ "status": "ended" }))),
    ];
    for (what, answer) in unreadable {
        let started = in_state(Value::Null);
        let exchange = Exchange::new(move |request| match request.method.as_str() {
            "POST" => started(request),
            _ => answer(),
        })
        .await;
        let (world, client) = (&exchange.world, exchange.client());
        let screen = client.invited().await.screen;
        world.run_tasks().await;
        deliver(world, &callback(world, screen, "status-update", json!({ "status": "in-progress" })))
            .await
            .expect(200);
        deliver(world, &callback(world, screen, "end-of-call-report", unanalysed())).await.expect(200);
        assert_eq!(client.screen(screen).await["transcript"], transcript(84), "{what}");
        exchange.pass(&["09:30:20", "09:40:20", "10:30:00", "11:00:00", "11:31:00", "12:00:00"]).await;
        let shown = client.screen(screen).await;
        assert_eq!(
            (&shown["status"], &shown["transcript"]),
            (&json!("completed"), &transcript(84)),
            "{what}"
        );
        assert_eq!((&shown["result"], &shown["scores"]["overall"]), (&Value::Null, &Value::Null), "{what}");
        let duration = &shown["duration_seconds"];
        assert!(
            duration.is_null() || *duration == 250,
            "{what}: the call did not last for {duration} seconds"
        );
    }
}

#[tokio::test]
async fn of_two_reports_without_an_analysis_the_first_is_kept() {
    let exchange = Exchange::new(in_state(ended(&unanalysed()))).await;
    let (world, client) = (&exchange.world, exchange.client());
    let screen = client.invited().await.screen;
    world.run_tasks().await;
    let mut other = unanalysed();
    other["artifact"]["messages"][2]["message"] = json!("Something else.");
    deliver(world, &callback(world, screen, "end-of-call-report", unanalysed())).await.expect(200);
    deliver(world, &callback(world, screen, "end-of-call-report", other)).await.expect(200);
    assert_eq!(client.screen(screen).await["transcript"], transcript(84));
    deliver(world, &report(world, screen, 84)).await.expect(200);
    let shown = client.screen(screen).await;
    assert_eq!(
        (&shown["status"], &shown["result"]),
        (&json!("completed"), &json!("passed")),
        "it need not be fetched"
    );
}

#[tokio::test]
async fn a_call_of_which_nothing_is_heard_is_asked_about_and_ends() {
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
            json!("Nobody answered the call."),
        ),
        (
            json!({ "status": "ended", "endedReason": "twilio-failed" }),
            "failed",
            json!("The call ended without a conversation (twilio-failed)"),
        ),
    ] {
        let exchange = Exchange::new(in_state(json!({ "status": "queued" }))).await;
        let client = exchange.client();
        let Invited { role, candidate, screen } = client.invited().await;
        exchange.pass(&["09:30:00", "09:45:00", "09:59:59"]).await;
        assert_eq!(exchange.reads(), 0);
        exchange.pass(&["10:00:00", "10:09:59"]).await;
        let requests = exchange.vapi.requests();
        let (last, first) = (requests.last().unwrap(), &requests[0]);
        assert_eq!((last.method.as_str(), last.target.clone()), ("GET", format!("/call/{}", call_id(first))));
        assert_eq!((requests.len(), client.screen(screen).await["status"].clone()), (2, json!("queued")));
        exchange.vapi.play(in_state(call));
        exchange.pass(&["10:10:00", "10:40:00", "11:20:00", "11:31:00", "12:00:00"]).await;
        let shown = client.screen(screen).await;
        assert_eq!((&shown["status"], &shown["summary"]), (&json!(end), &summary));
        let asked = exchange.vapi.requests().len();
        exchange.pass(&["13:00:00", "23:00:00"]).await;
        assert_eq!((exchange.vapi.requests().len(), exchange.orders(screen)), (asked, 1));
        client.invite(candidate, role).await.expect(201);
    }
}

#[tokio::test]
async fn a_test_keys_screen_never_reaches_vapi() {
    let exchange = Exchange::new(in_state(Value::Null)).await;
    let client = Client::test(&exchange.world);
    let screens = [client.invited().await, client.invited().await];
    exchange.pass(&["09:30:00", "10:00:00", "12:00:00"]).await;
    for Invited { screen, .. } in screens {
        assert_eq!(client.screen(screen).await["status"], "completed");
    }
    assert_eq!(exchange.vapi.requests().len(), 0);
}

/// The candidate answers so quickly that the callbacks are here before Vapi's answer to our order.
#[tokio::test]
async fn callbacks_may_come_before_the_call_is_noted() {
    let in_progress = ("status-update", json!({ "status": "in-progress" }));
    let finished = ("end-of-call-report", conversation(84));
    let early = ("end-of-call-report", unanalysed());
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
        let exchange = Arc::new(Exchange::new(|_| Play::Nothing).await);
        let Invited { role, candidate, screen } = exchange.client().invited().await;
        let ours: Arc<OnceLock<Weak<Exchange>>> = Arc::default();
        ours.set(Arc::downgrade(&exchange)).unwrap();
        exchange.vapi.play(move |request| {
            if request.method == "GET" {
                return Play::Json(200, ended(&conversation(84)));
            }
            let (exchange, callbacks) = (ours.get().unwrap().upgrade().unwrap(), callbacks.clone());
            let call = call_id(request);
            Play::later(async move {
                for (kind, more) in callbacks {
                    let mut callback = callback(&exchange.world, screen, kind, more);
                    callback["message"]["call"]["id"] = json!(call);
                    deliver(&exchange.world, &callback).await.expect(200);
                }
                if answered { Play::Json(201, json!({ "id": call })) } else { Play::Nothing }
            })
        });
        assert_eq!(exchange.world.run_tasks().await, tasks::Summary { tasks: 1, failed: 0 });
        let shown = exchange.client().screen(screen).await;
        assert_eq!(
            (&shown["status"], shown["summary"].is_null()),
            (&json!(status), !["completed", "no_answer"].contains(&status))
        );
        exchange.pass(&["09:30:20", "10:00:00", "10:10:00"]).await;
        let shown = exchange.client().screen(screen).await;
        let end = if status == "no_answer" { status } else { "completed" };
        assert_eq!(shown["status"], end);
        assert_eq!(exchange.client().stats(role).await["screens_completed"], u8::from(end == "completed"));
        exchange.client().invite(candidate, role).await.expect(201);
        assert_eq!(exchange.orders(screen), 1);
    }
}

/// A refusal is final, and whatever else is at the candidate in that moment does not turn it into a doubt.
#[tokio::test]
async fn a_refusal_is_noted_though_other_writes_come_between() {
    let exchange = Exchange::new(|_| Play::Json(400, json!({ "message": "no" }))).await;
    let client = exchange.client();
    let Invited { screen, candidate, .. } = client.invited().await;
    let conflicts = Mutex::new(0);
    exchange.world.wire.play(move |operation, request| {
        let mut conflicts = conflicts.lock().unwrap();
        let fails = operation == "TransactWriteItems" && request.to_string().contains("#SCREEN#failed");
        *conflicts += u32::from(fails);
        (fails && *conflicts <= 2).then_some(Fault::Conflict)
    });
    exchange.world.run_tasks().await;
    let shown = client.screen(screen).await;
    assert_eq!(
        (&shown["status"], &shown["summary"]),
        (&json!("failed"), &json!("The voice provider refused the call: no."))
    );
    assert_eq!(client.page(candidate).await["voice_screens"][0]["status"], "failed");
    exchange.world.request(Method::GET, "/api/v1/voice_screens?status=queued").send().await.expect(200);
}
