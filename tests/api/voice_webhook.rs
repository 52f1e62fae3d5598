//! Voice provider callbacks: signatures, sizes, repetitions and order.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Tenant, VoiceProvider};
use shared::providers::voice::sign;
use shared::secret::Secret;
use shared::services::screening::Reference;
use tests::fake::NOWHERE;
use tests::interceptor::{Fault, RecordedCall};
use tests::{RequestBuilder, Response, TestApi};

use crate::vapi;
use crate::voice_screens::{Client, Invited};

/// The clock's time: 2026-11-20T09:30:00Z.
const NOW: i64 = 1_795_167_000;

/// The API with an unreachable Vapi for live screens.
async fn api() -> TestApi {
    TestApi::with_services(vapi::services(NOWHERE)).await
}

fn reference(tenant: Tenant, screen: u64) -> String {
    Reference { tenant, screen: Id::new(screen).unwrap() }.to_string()
}

/// A callback about one of Acme's live screens.
pub(super) fn callback(api: &TestApi, screen: u64, kind: &str, more: Value) -> Value {
    message(&reference(Client::live(api).tenant(), screen), kind, more)
}

/// A callback of this kind with additional fields.
fn message(reference: &str, kind: &str, more: Value) -> Value {
    let mut message = json!({ "type": kind, "timestamp": 1, "call": { "id": "call-1", "customer": { "externalId": reference } } });
    if let (Value::Object(message), Value::Object(more)) = (&mut message, more) {
        message.extend(more);
    }
    json!({ "message": message })
}

/// A conversation with this overall score, as it appears in an `end-of-call-report` or in the call itself.
pub(super) fn conversation(overall: u8) -> Value {
    let result = json!({
        "summary": format!("A conversation of {overall}."),
        "scores": { "overall": overall, "communication": 81, "experience": 82, "motivation": 83 },
        "highlights": [{ "text": "I ran the clusters", "turn": 1 }],
        "red_flags": [{ "text": "in March", "turn": 99 }],
    });
    json!({
        "endedReason": "customer-ended-call",
        "startedAt": "2026-11-20T09:24:00.400Z",
        "endedAt": "2026-11-20T09:28:10.900Z",
        "artifact": {
            "messages": [
                { "role": "system", "message": "You are an assistant.", "secondsFromStart": 0 },
                { "role": "bot", "message": "What have you done?", "secondsFromStart": 1.5 },
                { "role": "user", "message": format!("I ran the clusters, {overall} of them."), "secondsFromStart": 4.2 },
                { "role": "bot", "message": "When could you start?", "secondsFromStart": 9 },
                { "role": "user", "message": "At once, in March.", "secondsFromStart": 12 },
                { "role": "bot", "message": "Do you have a question?", "secondsFromStart": 20 },
                { "role": "user", "message": "Not today, thank you.", "secondsFromStart": 40 },
            ],
            "structuredOutputs": { "output-1": { "name": "rolecall_screen", "result": result } },
        },
    })
}

/// The transcript of [`conversation`], as the API returns it.
pub(super) fn transcript(overall: u8) -> Value {
    json!([
        { "speaker": "agent", "text": "What have you done?", "at_seconds": 1 },
        { "speaker": "candidate", "text": format!("I ran the clusters, {overall} of them."), "at_seconds": 4 },
        { "speaker": "agent", "text": "When could you start?", "at_seconds": 9 },
        { "speaker": "candidate", "text": "At once, in March.", "at_seconds": 12 },
        { "speaker": "agent", "text": "Do you have a question?", "at_seconds": 20 },
        { "speaker": "candidate", "text": "Not today, thank you.", "at_seconds": 40 },
    ])
}

/// A callback with the report of a conversation with this overall score.
pub(super) fn report(api: &TestApi, screen: u64, overall: u8) -> Value {
    callback(api, screen, "end-of-call-report", conversation(overall))
}

fn post<'w>(api: &'w TestApi, provider: &str, body: impl Into<Bytes>) -> RequestBuilder<'w> {
    let request = api.request(Method::POST, &format!("/webhooks/voice/{provider}"));
    request.anonymous().body("application/json", body)
}

/// A request that the provider signed at `sent_at`, in seconds or milliseconds.
fn signed<'w>(api: &'w TestApi, provider: VoiceProvider, sent_at: i64, body: &[u8]) -> RequestBuilder<'w> {
    let voice = api.environment.providers.voice_provider(provider).unwrap();
    let request = post(api, provider.as_str(), body.to_vec()).header("x-timestamp", &sent_at.to_string());
    request.header("x-signature", &sign(&voice.webhook_secrets()[0], sent_at, body))
}

async fn deliver_bytes(api: &TestApi, body: &[u8]) -> Response {
    signed(api, VoiceProvider::Vapi, api.environment.clock.now().as_second(), body).send().await
}

/// Sends a callback with Vapi's signature for the current time.
pub(super) async fn deliver(api: &TestApi, callback: &Value) -> Response {
    deliver_bytes(api, callback.to_string().as_bytes()).await
}

/// Sends a callback until the table is no longer busy, but at most 20 times, as a provider would.
async fn deliver_with_retries(api: &TestApi, body: &[u8]) {
    for _ in 0..20 {
        let answer = deliver_bytes(api, body).await;
        if answer.status != 503 {
            answer.expect(200);
            return;
        }
    }
    panic!("the table is still busy after 20 attempts");
}

/// The DynamoDB operations since the previous call.
fn operations(api: &TestApi) -> Vec<String> {
    api.dynamodb.take_calls().into_iter().map(|RecordedCall { operation, .. }| operation).collect()
}

fn assert_nothing_written(api: &TestApi, why: &str) {
    let operations = operations(api);
    assert!(operations.iter().all(|operation| operation == "GetItem"), "{why}: {operations:?}");
}

#[tokio::test]
async fn report_completes_the_screen() {
    let api = api().await;
    let client = Client::live(&api);
    let Invited { role, candidate, screen } = client.invited().await;
    api.clock.set("2026-11-20T09:30:07Z");
    let answer = deliver(&api, &report(&api, screen, 84)).await.expect(200);
    assert_eq!(answer.text, "{}");
    let shown = client.screen(screen).await;
    let expected = json!({
        "id": screen, "candidate_id": candidate, "role_id": role, "status": "completed", "scheduled_at": null,
        "started_at": "2026-11-20T09:24:00.400Z", "completed_at": "2026-11-20T09:28:10.900Z", "duration_seconds": 250,
        "summary": "A conversation of 84.", "result": "passed", "review": null,
        "scores": { "overall": 84, "communication": 81, "experience": 82, "motivation": 83 },
        "created_at": "2026-11-20T09:30:00.000Z", "updated_at": "2026-11-20T09:30:07.000Z",
        "transcript": transcript(84),
        "highlights": [{ "text": "I ran the clusters", "turn": 1 }],
        "red_flags": [{ "text": "in March", "turn": 3 }],
        "assessment": null,
    });
    assert_eq!(shown, expected);
    let page = client.page(candidate).await;
    assert_eq!(page["touchpoints"][0]["kind"], "screen_completed");
    assert_eq!(page["touchpoints"][0]["actor"]["type"], "voice_provider");
    assert_eq!(page["voice_screens"][0]["status"], "completed");
    let mut stats = client.stats(role).await;
    stats.as_object_mut().unwrap().remove("stages");
    assert_eq!(
        stats,
        json!({
            "role_id": role, "applicants": 0, "screens": 1, "screens_completed": 1, "pass_rate": 1.0, "average_score": 84.0, "rejections": []
        })
    );
}

#[tokio::test]
async fn only_valid_signatures_are_accepted() {
    let api = api().await;
    let client = Client::live(&api);
    let screen = client.invited().await.screen;
    let body = report(&api, screen, 84).to_string();
    let secret = |provider| {
        let voice = api.environment.providers.voice_provider(provider).unwrap();
        voice.webhook_secrets()[0].clone()
    };
    let (ours, simulators) = (secret(VoiceProvider::Vapi), secret(VoiceProvider::Simulator));
    let valid = sign(&ours, NOW, body.as_bytes());
    let now = NOW.to_string();
    let changed = |at: usize| {
        let mut bytes = body.clone().into_bytes();
        bytes[at] ^= 1;
        bytes
    };
    let requests = [
        ("nothing", post(&api, "vapi", body.clone())),
        ("no signature", post(&api, "vapi", body.clone()).header("x-timestamp", &now)),
        ("no time", post(&api, "vapi", body.clone()).header("x-signature", &valid)),
        ("another secret", vapi_request(&api, &body, &sign(&Secret::new("x"), NOW, body.as_bytes()), &now)),
        ("no secret", vapi_request(&api, &body, &sign(&Secret::new(""), NOW, body.as_bytes()), &now)),
        ("the simulator's", vapi_request(&api, &body, &sign(&simulators, NOW, body.as_bytes()), &now)),
        ("other bytes", vapi_request(&api, &body, &sign(&ours, NOW, b"{}"), &now)),
        ("no bytes", vapi_request(&api, &body, &sign(&ours, NOW, b""), &now)),
        ("no body", vapi_request(&api, "", &valid, &now)),
        ("a changed first byte", vapi_request(&api, changed(0), &valid, &now)),
        ("a changed byte", vapi_request(&api, changed(body.len() / 2), &valid, &now)),
        ("a changed last byte", vapi_request(&api, changed(body.len() - 1), &valid, &now)),
        ("a byte more", vapi_request(&api, body.clone() + " ", &valid, &now)),
        ("another time", vapi_request(&api, &body, &valid, &(NOW - 1).to_string())),
        ("half a signature", vapi_request(&api, &body, &valid[..32], &now)),
        ("a prefix", vapi_request(&api, &body, &format!("sha256={valid}"), &now)),
        ("two signatures", vapi_request(&api, &body, &valid, &now).append_header("x-signature", &valid)),
        ("two times", vapi_request(&api, &body, &valid, &now).append_header("x-timestamp", &now)),
        ("no number", vapi_request(&api, &body, &valid, "now")),
        ("too old", signed(&api, VoiceProvider::Vapi, NOW - 301, body.as_bytes())),
        ("too old in ms", signed(&api, VoiceProvider::Vapi, (NOW - 301) * 1_000, body.as_bytes())),
        ("from the future", signed(&api, VoiceProvider::Vapi, NOW + 301, body.as_bytes())),
        ("from the future in ms", signed(&api, VoiceProvider::Vapi, (NOW + 301) * 1_000, body.as_bytes())),
        ("a bearer", post(&api, "vapi", body.clone()).header("authorization", "Bearer vapi-webhook-secret")),
    ];
    for (why, request) in requests {
        api.dynamodb.take_calls();
        let answer = request.send().await;
        assert_eq!((answer.status, answer.string("/code")), (401, "unauthorized"), "{why}");
        assert_eq!(operations(&api), [""; 0], "{why}: the database is not read");
    }
    assert_eq!(client.screen(screen).await["status"], "queued");

    let upper = vapi_request(&api, &body, &valid.to_uppercase(), &now);
    for request in [
        signed(&api, VoiceProvider::Vapi, NOW - 300, body.as_bytes()),
        signed(&api, VoiceProvider::Vapi, NOW + 300, body.as_bytes()),
        signed(&api, VoiceProvider::Vapi, NOW * 1_000 + 250, body.as_bytes()),
        upper,
    ] {
        request.send().await.expect(200);
    }
    assert_eq!(client.screen(screen).await["status"], "completed");
}

fn vapi_request<'w>(
    api: &'w TestApi,
    body: impl AsRef<[u8]>,
    signature: &str,
    timestamp: &str,
) -> RequestBuilder<'w> {
    let body = body.as_ref().to_vec();
    post(api, "vapi", body).header("x-signature", signature).header("x-timestamp", timestamp)
}

#[tokio::test]
async fn unconfigured_provider_is_not_found() {
    let api = TestApi::new().await;
    api.dynamodb.take_calls();
    for provider in ["nobody", "vapi", "Simulator", "%73imulator%00", "retell"] {
        let request =
            post(&api, provider, "{}").header("x-signature", "x").header("x-timestamp", &NOW.to_string());
        assert_eq!(request.send().await.expect(404).string("/code"), "not_found", "{provider}");
    }
    post(&api, "simulator", "{}").send().await.expect(401);
    for path in ["/webhooks/voice", "/webhooks/voice/", "/webhooks/voice/simulator/x"] {
        api.request(Method::POST, path).send().await.expect(404);
    }
    let get = api.get("/webhooks/voice/simulator").await.expect(405);
    assert_eq!(get.header("allow"), "POST");
    assert_eq!(operations(&api), [""; 0]);
}

#[tokio::test]
async fn responses_do_not_reveal_which_screens_exist() {
    let api = api().await;
    let (live, test) = (Client::live(&api), Client::test(&api));
    let (ours, tests) = (live.invited().await.screen, test.invited().await.screen);
    let known = deliver(&api, &callback(&api, ours, "status-update", json!({ "status": "ringing" }))).await;
    let ended = live.invited().await.screen;
    deliver(&api, &report(&api, ended, 70)).await.expect(200);
    let (acme, acme_test) = (live.tenant(), test.tenant());
    let globex = tests::tenant(tests::GLOBEX, acme.mode);
    let own = reference(acme, ours);
    for (why, provider, reference) in [
        ("unknown", VoiceProvider::Vapi, reference(acme, 1)),
        ("another tenant's", VoiceProvider::Vapi, reference(globex, ours)),
        ("the other mode's", VoiceProvider::Vapi, reference(acme_test, ours)),
        ("a test screen through Vapi", VoiceProvider::Vapi, reference(acme_test, tests)),
        ("a live screen through the simulator", VoiceProvider::Simulator, own.clone()),
        ("an ended one", VoiceProvider::Vapi, reference(acme, ended)),
        ("no reference", VoiceProvider::Vapi, "screen".to_owned()),
        ("half a reference", VoiceProvider::Vapi, "1-live".to_owned()),
        ("too much of one", VoiceProvider::Vapi, format!("{own}-1")),
        ("another spelling", VoiceProvider::Vapi, own.replace("1-live-", "01-live-")),
        ("another mode", VoiceProvider::Vapi, own.replace("live", "LIVE")),
        ("a space before", VoiceProvider::Vapi, format!(" {own}")),
        ("a very long one", VoiceProvider::Vapi, "1-live-".repeat(10_000)),
        ("the key of a candidate", VoiceProvider::Vapi, format!("1#live#SCREEN#{ours}")),
    ] {
        for (kind, more) in
            [("status-update", json!({ "status": "in-progress" })), ("end-of-call-report", conversation(90))]
        {
            let body = message(&reference, kind, more).to_string();
            api.dynamodb.take_calls();
            let answer = signed(&api, provider, NOW, body.as_bytes()).send().await.expect(200);
            assert_eq!(answer.text, known.text, "{why}");
            let names = |answer: &Response| {
                answer.headers.keys().map(|name| name.as_str().to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(names(&answer), names(&known), "{why}");
            assert_nothing_written(&api, why);
        }
    }
    assert_eq!(live.screen(ours).await["status"], "queued");
    assert_eq!(test.screen(tests).await["status"], "queued");
    assert_eq!(live.screen(ended).await["summary"], "A conversation of 70.");
}

#[tokio::test]
async fn invalid_callback_is_a_bad_request() {
    let api = api().await;
    api.dynamodb.take_calls();
    for body in [
        &b""[..],
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"\"message\"",
        b"{\"message\":",
        b"{\"message\":{}}",
        b"{\"message\":7}",
        b"{\"message\":{\"call\":{\"customer\":{\"externalId\":7}}}}",
        b"\xff\xfe",
        b"{\"message\":{\"call\":{\"customer\":{\"externalId\":\"\xff\"}}}}",
        "[".repeat(100_000).as_bytes(),
    ] {
        let answer = deliver_bytes(&api, body).await;
        assert_eq!((answer.status, answer.string("/code")), (400, "bad_request"), "{}", answer.text);
    }
    assert_eq!(operations(&api), [""; 0]);
}

/// A report of exactly `size` bytes, and the candidate's last turn in it.
fn sized(api: &TestApi, screen: u64, size: usize) -> (String, String) {
    let mut report = report(api, screen, 84);
    let said = |length: usize| "é ".repeat(length / 3) + &"x".repeat(length % 3 + 1);
    report["message"]["artifact"]["messages"][4]["message"] = json!("x");
    let text = said(size - report.to_string().len());
    report["message"]["artifact"]["messages"][4]["message"] = json!(text);
    let body = report.to_string();
    assert_eq!(body.len(), size);
    (body, text)
}

#[tokio::test]
async fn report_may_be_up_to_three_megabytes() {
    const MEGABYTE: usize = 1024 * 1024;
    let api = api().await;
    let client = Client::live(&api);
    for size in [MEGABYTE, 3 * MEGABYTE] {
        let screen = client.invited().await.screen;
        let (body, text) = sized(&api, screen, size);
        deliver_with_retries(&api, body.as_bytes()).await;
        let shown = client.screen(screen).await;
        assert_eq!(shown["status"], "completed");
        assert!(shown["transcript"][3]["text"] == text, "the text is complete");
    }
    let screen = client.invited().await.screen;
    let (body, _) = sized(&api, screen, 3 * MEGABYTE + 1);
    api.dynamodb.take_calls();
    let refused = deliver_bytes(&api, body.as_bytes()).await.expect(413);
    assert_eq!(refused.string("/code"), "payload_too_large");
    post(&api, "vapi", body).send().await.expect(401);
    assert_eq!(operations(&api), [""; 0]);
    assert_eq!(client.screen(screen).await["status"], "queued");
}

#[tokio::test]
async fn two_hour_transcript_is_complete() {
    let api = api().await;
    let client = Client::live(&api);
    for words in ["Ich führte das Team. ", "私はチームを率いました。", "🦀🚀 ran it \"all\" \\ \t\n. ", "a"]
    {
        let screen = client.invited().await.screen;
        let text = |turn: u32| format!("{turn}: {}", words.repeat(300 / words.len())).trim().to_owned();
        let said: Vec<_> = (0..3_000_u32)
            .map(|turn| {
                let role = if turn % 2 == 0 { "bot" } else { "user" };
                json!({ "role": role, "message": text(turn), "secondsFromStart": f64::from(turn) * 2.4 })
            })
            .collect();
        let mut report = report(&api, screen, 84);
        report["message"]["artifact"]["messages"] = json!(said);
        assert!(report.to_string().len() > 900_000);
        deliver_with_retries(&api, report.to_string().as_bytes()).await;
        let shown = client.screen(screen).await;
        let turns = shown["transcript"].as_array().unwrap();
        assert_eq!(turns.len(), 3_000);
        for (index, turn) in (0..).zip(turns) {
            let speaker = if index % 2 == 0 { "agent" } else { "candidate" };
            let at_seconds = index * 24 / 10;
            assert_eq!(*turn, json!({ "speaker": speaker, "text": text(index), "at_seconds": at_seconds }));
        }
    }
}

/// A report of up to three megabytes ends the screen, and the API can return the screen.
#[tokio::test]
async fn report_of_any_shape_is_stored() {
    let api = api().await;
    let client = Client::live(&api);
    let long_text = "🦀".repeat(1_000);
    let excerpts = |count: usize| {
        (0..count).map(|n| json!({ "text": format!("{n}{long_text}"), "turn": 0 })).collect::<Vec<_>>()
    };
    let turns = |text: usize, count: usize| json!({ "messages": vec![json!({ "role": "user", "message": "x".repeat(text) }); count] });
    for (name, mut artifact, excerpt_count) in [
        ("short turns", turns(1, 95_000), 0),
        ("long turns", turns(265, 10_000), 0),
        (
            "one string of long turns",
            json!({ "transcript": format!("User:{}\n", "x".repeat(301)).repeat(10_000) }),
            0,
        ),
        ("one string of short turns", json!({ "transcript": "User:a\n".repeat(350_000) }), 0),
        ("long excerpts", turns(1, 1_000), 60),
        ("long excerpts of one long turn", turns(2_400_000, 1), 60),
    ] {
        let screen = client.invited().await.screen;
        let excerpts = excerpts(excerpt_count);
        let result = json!({ "summary": long_text.repeat(5), "highlights": excerpts, "red_flags": excerpts });
        artifact["structuredOutputs"] =
            json!({ "output-1": { "name": "rolecall_screen", "result": result } });
        let more = json!({ "endedReason": "customer-ended-call", "artifact": artifact });
        let report = callback(&api, screen, "end-of-call-report", more).to_string();
        assert!(report.len() < 3 * 1024 * 1024, "{name}: {}", report.len());
        deliver_with_retries(&api, report.as_bytes()).await;
        let shown = client.get(&format!("voice_screens/{screen}")).await.expect(200);
        assert_eq!(shown.string("/status"), "completed", "{name}");
        assert!(!shown.body["transcript"].as_array().unwrap().is_empty(), "{name}");
        assert!(
            shown.text.len() < 6_000_000,
            "{name}: {} bytes exceed Lambda's response limit",
            shown.text.len()
        );
        client.get("voice_screens").await.expect(200);
    }
}

#[tokio::test]
async fn repeated_report_changes_nothing() {
    let api = api().await;
    let client = Client::live(&api);
    let Invited { role, candidate, screen } = client.invited().await;
    let report = report(&api, screen, 84);
    deliver(&api, &report).await.expect(200);
    let (before, stats, page) =
        (client.screen(screen).await, client.stats(role).await, client.page(candidate).await);
    for time in ["2026-11-20T09:30:01.000Z", "2026-11-20T10:00:00.000Z", "2026-12-20T10:00:00.000Z"] {
        api.clock.set(time);
        api.dynamodb.take_calls();
        deliver(&api, &report).await.expect(200);
        assert_eq!(operations(&api), ["GetItem"]);
    }
    assert_eq!(
        (client.screen(screen).await, client.stats(role).await, client.page(candidate).await),
        (before, stats, page)
    );
}

/// What a screen says if the provider failed.
pub(super) const BROKEN: &str =
    "The call broke down at the voice provider before the candidate spoke. Invite the candidate again.";

/// The events of a call. Each has the final status that it gives the screen, or an empty string.
const EVENTS: [(&str, &str); 6] = [
    ("ringing", ""),
    ("in-progress", ""),
    ("passed", "completed"),
    ("not passed", "completed"),
    ("no answer", "no_answer"),
    ("failure", "failed"),
];

fn event(api: &TestApi, screen: u64, name: &str) -> Value {
    match name {
        "ringing" | "in-progress" => callback(api, screen, "status-update", json!({ "status": name })),
        "passed" => report(api, screen, 84),
        "not passed" => report(api, screen, 69),
        "no answer" => {
            callback(api, screen, "end-of-call-report", json!({ "endedReason": "voicemail", "artifact": {} }))
        }
        _ => callback(api, screen, "end-of-call-report", json!({ "endedReason": "pipeline-error" })),
    }
}

/// Sends three callbacks in every order. Only the first one that ends the screen counts.
#[tokio::test]
async fn callbacks_may_arrive_in_any_order() {
    let api = api().await;
    let client = Client::live(&api);
    let role = client.role().await;
    let (mut completed, mut passed, mut total) = (0_u32, 0_u32, 0_u32);
    // Every fifth order has every event in every place.
    for number in (0..EVENTS.len().pow(3)).step_by(5) {
        let order = [number / 36, number / 6 % 6, number % 6].map(|index| EVENTS[index]);
        let candidate = client.candidate().await;
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        let (mut status, mut summary) = ("queued", Value::Null);
        for (name, end) in order {
            deliver(&api, &event(&api, screen, name)).await.expect(200);
            match (status, name, end) {
                ("completed" | "no_answer" | "failed", ..) => {}
                (_, "in-progress", _) => status = "in_progress",
                (_, _, "") => {}
                (_, _, end) => {
                    status = end;
                    summary = json!(match name {
                        "passed" => "A conversation of 84.",
                        "not passed" => "A conversation of 69.",
                        "no answer" => "The candidate did not answer the call.",
                        _ => BROKEN,
                    });
                }
            }
            let shown = client.screen(screen).await;
            assert_eq!((&shown["status"], &shown["summary"]), (&json!(status), &summary), "{order:?} {name}");
        }
        let shown = client.screen(screen).await;
        let done = status == "completed";
        completed += u32::from(done);
        passed += u32::from(done && shown["result"] == "passed");
        total += if done { u32::try_from(shown["scores"]["overall"].as_u64().unwrap()).unwrap() } else { 0 };
        assert_eq!(shown["transcript"].as_array().unwrap().is_empty(), !done, "{order:?}");
        assert_eq!(shown["completed_at"].is_null(), !done, "{order:?}");
        let touchpoints =
            client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count();
        assert_eq!(touchpoints, usize::from(done), "{order:?}");
        let ended = !matches!(status, "queued" | "in_progress");
        client.invite(candidate, role).await.expect(if ended { 201 } else { 422 });
    }
    let stats = client.stats(role).await;
    assert_eq!(stats["screens_completed"], completed);
    assert_eq!(stats["pass_rate"], json!(f64::from(passed) / f64::from(completed)));
    assert_eq!(stats["average_score"], json!(f64::from(total) / f64::from(completed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_concurrent_callback_ends_the_screen() {
    let api = api().await;
    let client = Client::live(&api);
    for _ in 0..5 {
        let Invited { role, candidate, screen } = client.invited().await;
        let callbacks: Vec<_> = EVENTS[1..4]
            .iter()
            .cycle()
            .take(12)
            .map(|(name, _)| event(&api, screen, name).to_string())
            .collect();
        join_all(callbacks.iter().map(|callback| deliver_with_retries(&api, callback.as_bytes()))).await;
        let shown = client.screen(screen).await;
        let overall = u8::try_from(shown["scores"]["overall"].as_u64().unwrap()).unwrap();
        assert_eq!(shown["status"], "completed");
        assert_eq!(shown["summary"], format!("A conversation of {overall}."));
        assert_eq!(shown["transcript"], transcript(overall), "the transcript of a single report");
        assert_eq!(
            client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count(),
            1
        );
        let stats = client.stats(role).await;
        assert_eq!(
            (&stats["screens_completed"], &stats["average_score"]),
            (&json!(1), &json!(f64::from(overall)))
        );
        assert_eq!(client.get("voice_screens?status=in_progress").await.body["data"], json!([]));
    }
}

/// A concurrent change of the candidate must not lose the report, and the report must not undo the change.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_report_and_candidate_change_are_both_kept() {
    let api = api().await;
    let client = Client::live(&api);
    for _ in 0..10 {
        let Invited { candidate, screen, .. } = client.invited().await;
        let path = format!("candidates/{candidate}/advance");
        let report = report(&api, screen, 84);
        let (delivered, advanced) = futures_util::future::join(
            deliver(&api, &report),
            client.post(&path, json!({ "stage": "interview" })),
        )
        .await;
        delivered.expect(200);
        advanced.expect(200);
        assert_eq!(client.screen(screen).await["status"], "completed");
        let page = client.page(candidate).await;
        assert_eq!((&page["stage"], page["touchpoints"].as_array().unwrap().len()), (&json!("interview"), 7));
    }
}

#[tokio::test]
async fn busy_table_gives_503_and_the_retry_succeeds() {
    let api = api().await;
    let client = Client::live(&api);
    for fault in [Fault::Throttled, Fault::Unreachable, Fault::Internal, Fault::ResponseLost, Fault::Conflict]
    {
        for failing in ["GetItem", "TransactWriteItems"] {
            for name in ["in-progress", "passed", "no answer"] {
                let Invited { role, candidate, screen } = client.invited().await;
                let callback = event(&api, screen, name);
                let injected = fault.clone();
                api.dynamodb
                    .inject_faults(move |operation, _| (operation == failing).then(|| injected.clone()));
                let answer = deliver(&api, &callback).await.expect(503);
                assert_eq!((answer.string("/code"), answer.header("retry-after")), ("unavailable", "1"));
                api.dynamodb.inject_faults(|_, _| None);
                if !matches!(fault, Fault::ResponseLost) {
                    assert_eq!(client.screen(screen).await["status"], "queued", "{fault:?} of {failing}");
                    assert_eq!(client.stats(role).await["screens_completed"], 0);
                }
                deliver(&api, &callback).await.expect(200);
                let (status, touchpoints) = match name {
                    "in-progress" => ("in_progress", 5),
                    "passed" => ("completed", 6),
                    _ => ("no_answer", 5),
                };
                assert_eq!(client.screen(screen).await["status"], status, "{fault:?} of {failing}");
                assert_eq!(client.stats(role).await["screens_completed"], u8::from(name == "passed"));
                assert_eq!(client.history(candidate).await.len(), touchpoints);
            }
        }
    }
}
