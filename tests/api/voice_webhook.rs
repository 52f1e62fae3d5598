//! What voice providers report: signatures, sizes, repetitions, every order.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Tenant, VoiceProvider};
use shared::providers::voice;
use shared::screening::Reference;
use shared::secret::Secret;
use tests::fake::NOWHERE;
use tests::wire::{Fault, Recorded};
use tests::{Answer, Ask, World};

use crate::vapi;
use crate::voice_screens::{Client, Invited};

/// 2026-11-20T09:30:00Z, where the clock stands.
const NOW: i64 = 1_795_167_000;

/// A world where live keys are called through Vapi, which is not there.
async fn world() -> World {
    World::with_services(vapi::services(NOWHERE)).await
}

fn reference(tenant: Tenant, screen: u64) -> String {
    Reference { tenant, screen: Id::new(screen).unwrap() }.to_string()
}

/// A callback about one of Acme's live screens.
pub(super) fn callback(world: &World, screen: u64, kind: &str, more: Value) -> Value {
    about(&reference(Client::live(world).tenant(), screen), kind, more)
}

fn about(reference: &str, kind: &str, more: Value) -> Value {
    let mut message = json!({ "type": kind, "timestamp": 1, "call": { "id": "call-1", "customer": { "externalId": reference } } });
    if let (Value::Object(message), Value::Object(more)) = (&mut message, more) {
        message.extend(more);
    }
    json!({ "message": message })
}

/// What an end-of-call-report, or the call itself, says of a conversation that scored `overall`.
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
            ],
            "structuredOutputs": { "output-1": { "name": "rolecall_screen", "result": result } },
        },
    })
}

/// The transcript of [`conversation`], as it is shown.
pub(super) fn transcript(overall: u8) -> Value {
    json!([
        { "speaker": "agent", "text": "What have you done?", "at_seconds": 1 },
        { "speaker": "candidate", "text": format!("I ran the clusters, {overall} of them."), "at_seconds": 4 },
        { "speaker": "agent", "text": "When could you start?", "at_seconds": 9 },
        { "speaker": "candidate", "text": "At once, in March.", "at_seconds": 12 },
    ])
}

/// A report of a conversation that scored `overall`.
pub(super) fn report(world: &World, screen: u64, overall: u8) -> Value {
    callback(world, screen, "end-of-call-report", conversation(overall))
}

fn post<'w>(world: &'w World, provider: &str, body: impl Into<Bytes>) -> Ask<'w> {
    let ask = world.request(Method::POST, &format!("/webhooks/voice/{provider}"));
    ask.anonymous().body("application/json", body)
}

/// Signed at `sent_at`, in seconds or milliseconds, as the provider signs.
fn signed<'w>(world: &'w World, provider: VoiceProvider, sent_at: i64, body: &[u8]) -> Ask<'w> {
    let secret = world.environment.providers.webhook_secret(provider).unwrap();
    let ask = post(world, provider.as_str(), body.to_vec()).header("x-timestamp", &sent_at.to_string());
    ask.header("x-signature", &voice::sign(secret, sent_at, body))
}

async fn deliver_bytes(world: &World, body: &[u8]) -> Answer {
    signed(world, VoiceProvider::Vapi, world.environment.clock.now().as_second(), body).send().await
}

/// Sends a callback as Vapi does, signed now.
pub(super) async fn deliver(world: &World, callback: &Value) -> Answer {
    deliver_bytes(world, callback.to_string().as_bytes()).await
}

/// The same, again and again while the table is busy: a provider does not give up, and the machine may be slow.
async fn deliver_at_last(world: &World, body: &[u8]) {
    for _ in 0..20 {
        let answer = deliver_bytes(world, body).await;
        if answer.status != 503 {
            answer.expect(200);
            return;
        }
    }
    panic!("the table stays busy");
}

/// The operations that were asked of DynamoDB since the last time.
fn operations(world: &World) -> Vec<String> {
    world.wire.take().into_iter().map(|Recorded { operation, .. }| operation).collect()
}

fn assert_nothing_written(world: &World, why: &str) {
    let operations = operations(world);
    assert!(operations.iter().all(|operation| operation == "GetItem"), "{why}: {operations:?}");
}

#[tokio::test]
async fn a_report_completes_the_screen() {
    let world = world().await;
    let client = Client::live(&world);
    let Invited { role, candidate, screen } = client.invited().await;
    world.hands.set("2026-11-20T09:30:07Z");
    let answer = deliver(&world, &report(&world, screen, 84)).await.expect(200);
    assert_eq!(answer.text, "{}");
    let shown = client.screen(screen).await;
    let expected = json!({
        "id": screen, "candidate_id": candidate, "role_id": role, "status": "completed", "scheduled_at": null,
        "started_at": "2026-11-20T09:24:00Z", "completed_at": "2026-11-20T09:28:10Z", "duration_seconds": 250,
        "summary": "A conversation of 84.", "result": "passed",
        "scores": { "overall": 84, "communication": 81, "experience": 82, "motivation": 83 },
        "created_at": "2026-11-20T09:30:00Z", "updated_at": "2026-11-20T09:30:07Z",
        "transcript": transcript(84),
        "highlights": [{ "text": "I ran the clusters", "turn": 1 }],
        "red_flags": [{ "text": "in March", "turn": 3 }],
    });
    assert_eq!(shown, expected);
    let page = client.page(candidate).await;
    assert_eq!(page["touchpoints"][0]["kind"], "screen_completed");
    assert_eq!(page["touchpoints"][0]["actor"], "voice provider");
    assert_eq!(page["voice_screens"][0]["status"], "completed");
    assert_eq!(
        client.stats(role).await,
        json!({
            "role_id": role, "applicants": 0, "screens": 1, "screens_completed": 1, "pass_rate": 1.0, "average_score": 84.0
        })
    );
}

#[tokio::test]
async fn only_the_providers_signature_is_believed() {
    let world = world().await;
    let client = Client::live(&world);
    let screen = client.invited().await.screen;
    let body = report(&world, screen, 84).to_string();
    let sign = |sent_at: i64, body: &[u8]| {
        voice::sign(world.environment.providers.webhook_secret(VoiceProvider::Vapi).unwrap(), sent_at, body)
    };
    let good = sign(NOW, body.as_bytes());
    let now = NOW.to_string();
    let changed = |at: usize| {
        let mut bytes = body.clone().into_bytes();
        bytes[at] ^= 1;
        bytes
    };
    let simulators = world.environment.providers.webhook_secret(VoiceProvider::Simulator).unwrap();
    let asks = [
        ("nothing", post(&world, "vapi", body.clone())),
        ("no signature", post(&world, "vapi", body.clone()).header("x-timestamp", &now)),
        ("no time", post(&world, "vapi", body.clone()).header("x-signature", &good)),
        (
            "another secret",
            vapi_ask(&world, &body, &voice::sign(&Secret::new("x"), NOW, body.as_bytes()), &now),
        ),
        ("no secret", vapi_ask(&world, &body, &voice::sign(&Secret::new(""), NOW, body.as_bytes()), &now)),
        ("the simulator's", vapi_ask(&world, &body, &voice::sign(simulators, NOW, body.as_bytes()), &now)),
        ("other bytes", vapi_ask(&world, &body, &sign(NOW, b"{}"), &now)),
        ("no bytes", vapi_ask(&world, &body, &sign(NOW, b""), &now)),
        ("no body", vapi_ask(&world, "", &good, &now)),
        ("a changed first byte", vapi_ask(&world, changed(0), &good, &now)),
        ("a changed byte", vapi_ask(&world, changed(body.len() / 2), &good, &now)),
        ("a changed last byte", vapi_ask(&world, changed(body.len() - 1), &good, &now)),
        ("a byte more", vapi_ask(&world, body.clone() + " ", &good, &now)),
        ("another time", vapi_ask(&world, &body, &good, &(NOW - 1).to_string())),
        ("half a signature", vapi_ask(&world, &body, &good[..32], &now)),
        ("a prefix", vapi_ask(&world, &body, &format!("sha256={good}"), &now)),
        ("two signatures", vapi_ask(&world, &body, &good, &now).another("x-signature", &good)),
        ("two times", vapi_ask(&world, &body, &good, &now).another("x-timestamp", &now)),
        ("no number", vapi_ask(&world, &body, &good, "now")),
        ("too old", signed(&world, VoiceProvider::Vapi, NOW - 301, body.as_bytes())),
        ("too old in ms", signed(&world, VoiceProvider::Vapi, (NOW - 301) * 1_000, body.as_bytes())),
        ("from the future", signed(&world, VoiceProvider::Vapi, NOW + 301, body.as_bytes())),
        ("from the future in ms", signed(&world, VoiceProvider::Vapi, (NOW + 301) * 1_000, body.as_bytes())),
        (
            "a bearer",
            post(&world, "vapi", body.clone()).header("authorization", "Bearer vapi-webhook-secret"),
        ),
    ];
    for (why, ask) in asks {
        world.wire.take();
        let answer = ask.send().await;
        assert_eq!((answer.status, answer.string("/code")), (401, "unauthorized"), "{why}");
        assert_eq!(operations(&world), [""; 0], "{why}: not even read");
    }
    assert_eq!(client.screen(screen).await["status"], "queued");

    let upper = vapi_ask(&world, &body, &good.to_uppercase(), &now);
    for ask in [
        signed(&world, VoiceProvider::Vapi, NOW - 300, body.as_bytes()),
        signed(&world, VoiceProvider::Vapi, NOW + 300, body.as_bytes()),
        signed(&world, VoiceProvider::Vapi, NOW * 1_000 + 250, body.as_bytes()),
        upper,
    ] {
        ask.send().await.expect(200);
    }
    assert_eq!(client.screen(screen).await["status"], "completed");
}

fn vapi_ask<'w>(world: &'w World, body: impl AsRef<[u8]>, signature: &str, timestamp: &str) -> Ask<'w> {
    let body = body.as_ref().to_vec();
    post(world, "vapi", body).header("x-signature", signature).header("x-timestamp", timestamp)
}

#[tokio::test]
async fn a_provider_that_is_not_configured_is_not_found() {
    let world = World::new().await;
    world.wire.take();
    for provider in ["nobody", "vapi", "Simulator", "%73imulator%00", "retell"] {
        let ask =
            post(&world, provider, "{}").header("x-signature", "x").header("x-timestamp", &NOW.to_string());
        assert_eq!(ask.send().await.expect(404).string("/code"), "not_found", "{provider}");
    }
    post(&world, "simulator", "{}").send().await.expect(401);
    for path in ["/webhooks/voice", "/webhooks/voice/", "/webhooks/voice/simulator/x"] {
        world.request(Method::POST, path).send().await.expect(404);
    }
    let get = world.get("/webhooks/voice/simulator").await.expect(405);
    assert_eq!(get.header("allow"), "POST");
    assert_eq!(operations(&world), [""; 0]);
}

#[tokio::test]
async fn nobody_learns_which_screens_exist() {
    let world = world().await;
    let (live, test) = (Client::live(&world), Client::test(&world));
    let (ours, tests) = (live.invited().await.screen, test.invited().await.screen);
    let known =
        deliver(&world, &callback(&world, ours, "status-update", json!({ "status": "ringing" }))).await;
    let ended = live.invited().await.screen;
    deliver(&world, &report(&world, ended, 70)).await.expect(200);
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
            let body = about(&reference, kind, more).to_string();
            world.wire.take();
            let answer = signed(&world, provider, NOW, body.as_bytes()).send().await.expect(200);
            assert_eq!(answer.text, known.text, "{why}");
            let names = |answer: &Answer| {
                answer.headers.keys().map(|name| name.as_str().to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(names(&answer), names(&known), "{why}");
            assert_nothing_written(&world, why);
        }
    }
    assert_eq!(live.screen(ours).await["status"], "queued");
    assert_eq!(test.screen(tests).await["status"], "queued");
    assert_eq!(live.screen(ended).await["summary"], "A conversation of 70.");
}

#[tokio::test]
async fn what_is_no_callback_is_a_bad_request() {
    let world = world().await;
    world.wire.take();
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
        let answer = deliver_bytes(&world, body).await;
        assert_eq!((answer.status, answer.string("/code")), (400, "bad_request"), "{}", answer.text);
    }
    assert_eq!(operations(&world), [""; 0]);
}

/// A report of exactly `size` bytes, and what the candidate says in it.
fn sized(world: &World, screen: u64, size: usize) -> (String, String) {
    let mut report = report(world, screen, 84);
    let said = |length: usize| "é ".repeat(length / 3) + &"x".repeat(length % 3 + 1);
    report["message"]["artifact"]["messages"][4]["message"] = json!("x");
    let text = said(size - report.to_string().len());
    report["message"]["artifact"]["messages"][4]["message"] = json!(text);
    let body = report.to_string();
    assert_eq!(body.len(), size);
    (body, text)
}

#[tokio::test]
async fn a_report_may_have_three_megabytes() {
    const MEGABYTE: usize = 1024 * 1024;
    let world = world().await;
    let client = Client::live(&world);
    for size in [MEGABYTE, 3 * MEGABYTE] {
        let screen = client.invited().await.screen;
        let (body, text) = sized(&world, screen, size);
        deliver_at_last(&world, body.as_bytes()).await;
        let shown = client.screen(screen).await;
        assert_eq!(shown["status"], "completed");
        assert!(shown["transcript"][3]["text"] == text, "every character");
    }
    let screen = client.invited().await.screen;
    let (body, _) = sized(&world, screen, 3 * MEGABYTE + 1);
    world.wire.take();
    let refused = deliver_bytes(&world, body.as_bytes()).await.expect(413);
    assert_eq!(refused.string("/code"), "payload_too_large");
    post(&world, "vapi", body).send().await.expect(401);
    assert_eq!(operations(&world), [""; 0]);
    assert_eq!(client.screen(screen).await["status"], "queued");
}

#[tokio::test]
async fn a_two_hour_transcript_comes_back_whole() {
    let world = world().await;
    let client = Client::live(&world);
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
        let mut report = report(&world, screen, 84);
        report["message"]["artifact"]["messages"] = json!(said);
        assert!(report.to_string().len() > 900_000);
        deliver_at_last(&world, report.to_string().as_bytes()).await;
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

/// Whatever a provider fills its three megabytes with, the screen ends and can be read.
#[tokio::test]
async fn a_report_of_any_shape_is_kept() {
    let world = world().await;
    let client = Client::live(&world);
    let crab = "🦀".repeat(1_000);
    let excerpts = |many: usize| {
        (0..many).map(|n| json!({ "text": format!("{n}{crab}"), "turn": 0 })).collect::<Vec<_>>()
    };
    let turns = |text: usize, many: usize| json!({ "messages": vec![json!({ "role": "user", "message": "x".repeat(text) }); many] });
    for (what, talk, noticed) in [
        ("short turns", turns(1, 95_000), 0),
        ("long turns", turns(265, 10_000), 0),
        (
            "one text of long turns",
            json!({ "transcript": format!("AI:{}\n", "x".repeat(303)).repeat(10_000) }),
            0,
        ),
        ("one text of short turns", json!({ "transcript": "AI:a\n".repeat(500_000) }), 0),
        ("long excerpts", turns(1, 1_000), 60),
        ("long excerpts of one long turn", turns(2_400_000, 1), 60),
    ] {
        let screen = client.invited().await.screen;
        let noticed = excerpts(noticed);
        let result = json!({ "summary": crab.repeat(5), "highlights": noticed, "red_flags": noticed });
        let mut artifact = talk;
        artifact["structuredOutputs"] =
            json!({ "output-1": { "name": "rolecall_screen", "result": result } });
        let more = json!({ "endedReason": "customer-ended-call", "artifact": artifact });
        let report = callback(&world, screen, "end-of-call-report", more).to_string();
        assert!(report.len() < 3 * 1024 * 1024, "{what}: {}", report.len());
        deliver_at_last(&world, report.as_bytes()).await;
        let shown = client.get(&format!("voice_screens/{screen}")).await.expect(200);
        assert_eq!(shown.string("/status"), "completed", "{what}");
        assert!(!shown.body["transcript"].as_array().unwrap().is_empty(), "{what}");
        assert!(
            shown.text.len() < 6_000_000,
            "{what}: {} bytes are more than Lambda answers",
            shown.text.len()
        );
        client.get("voice_screens").await.expect(200);
    }
}

#[tokio::test]
async fn a_repeated_report_is_the_same_report() {
    let world = world().await;
    let client = Client::live(&world);
    let Invited { role, candidate, screen } = client.invited().await;
    let report = report(&world, screen, 84);
    deliver(&world, &report).await.expect(200);
    let (before, stats, page) =
        (client.screen(screen).await, client.stats(role).await, client.page(candidate).await);
    for time in ["2026-11-20T09:30:01Z", "2026-11-20T10:00:00Z", "2026-12-20T10:00:00Z"] {
        world.hands.set(time);
        world.wire.take();
        deliver(&world, &report).await.expect(200);
        assert_eq!(operations(&world), ["GetItem"]);
    }
    assert_eq!(
        (client.screen(screen).await, client.stats(role).await, client.page(candidate).await),
        (before, stats, page)
    );
}

/// What providers may say of a call, and to which end it leads.
const NEWS: [(&str, &str); 6] = [
    ("ringing", ""),
    ("in-progress", ""),
    ("passed", "completed"),
    ("not passed", "completed"),
    ("no answer", "no_answer"),
    ("failure", "failed"),
];

fn news(world: &World, screen: u64, what: &str) -> Value {
    match what {
        "ringing" | "in-progress" => callback(world, screen, "status-update", json!({ "status": what })),
        "passed" => report(world, screen, 84),
        "not passed" => report(world, screen, 69),
        "no answer" => callback(
            world,
            screen,
            "end-of-call-report",
            json!({ "endedReason": "voicemail", "artifact": {} }),
        ),
        _ => callback(world, screen, "end-of-call-report", json!({ "endedReason": "pipeline-error" })),
    }
}

/// Three callbacks in every order: the first end is the end, and it counts once.
#[tokio::test]
async fn callbacks_may_come_in_any_order() {
    let world = world().await;
    let client = Client::live(&world);
    let role = client.role().await;
    let (mut completed, mut passed, mut total) = (0_u32, 0_u32, 0_u32);
    for number in 0..NEWS.len().pow(3) {
        let order = [number / 36, number / 6 % 6, number % 6].map(|index| NEWS[index]);
        let candidate = client.candidate().await;
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        let (mut status, mut summary) = ("queued", Value::Null);
        for (what, end) in order {
            deliver(&world, &news(&world, screen, what)).await.expect(200);
            match (status, what, end) {
                ("completed" | "no_answer" | "failed", ..) => {}
                (_, "in-progress", _) => status = "in_progress",
                (_, _, "") => {}
                (_, _, end) => {
                    status = end;
                    summary = json!(match what {
                        "passed" => "A conversation of 84.",
                        "not passed" => "A conversation of 69.",
                        "no answer" => "Nobody answered the call.",
                        _ => "The call ended without a conversation (pipeline-error)",
                    });
                }
            }
            let shown = client.screen(screen).await;
            assert_eq!((&shown["status"], &shown["summary"]), (&json!(status), &summary), "{order:?} {what}");
        }
        let shown = client.screen(screen).await;
        let done = status == "completed";
        completed += u32::from(done);
        passed += u32::from(done && shown["result"] == "passed");
        total += if done { u32::try_from(shown["scores"]["overall"].as_u64().unwrap()).unwrap() } else { 0 };
        assert_eq!(shown["transcript"].as_array().unwrap().is_empty(), !done, "{order:?}");
        assert_eq!(shown["completed_at"].is_null(), !done, "{order:?}");
        let told = client.history(candidate).await.iter().filter(|kind| *kind == "screen_completed").count();
        assert_eq!(told, usize::from(done), "{order:?}");
        let ended = !matches!(status, "queued" | "in_progress");
        client.invite(candidate, role).await.expect(if ended { 201 } else { 422 });
    }
    let stats = client.stats(role).await;
    assert_eq!(stats["screens_completed"], completed);
    assert_eq!(stats["pass_rate"], json!(f64::from(passed) / f64::from(completed)));
    assert_eq!(stats["average_score"], json!(f64::from(total) / f64::from(completed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_callbacks_at_once_one_ends_the_screen() {
    let world = world().await;
    let client = Client::live(&world);
    for _ in 0..5 {
        let Invited { role, candidate, screen } = client.invited().await;
        let callbacks: Vec<_> = NEWS[1..4]
            .iter()
            .cycle()
            .take(12)
            .map(|(what, _)| news(&world, screen, what).to_string())
            .collect();
        join_all(callbacks.iter().map(|callback| deliver_at_last(&world, callback.as_bytes()))).await;
        let shown = client.screen(screen).await;
        let overall = u8::try_from(shown["scores"]["overall"].as_u64().unwrap()).unwrap();
        assert_eq!(shown["status"], "completed");
        assert_eq!(shown["summary"], format!("A conversation of {overall}."));
        assert_eq!(shown["transcript"], transcript(overall), "of one report alone");
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

/// While the candidate is edited, the report must neither be lost nor undo the edit.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_report_and_a_change_of_the_candidate_at_once_both_count() {
    let world = world().await;
    let client = Client::live(&world);
    for _ in 0..10 {
        let Invited { candidate, screen, .. } = client.invited().await;
        let path = format!("candidates/{candidate}/advance");
        let report = report(&world, screen, 84);
        let (told, advanced) = futures_util::future::join(
            deliver(&world, &report),
            client.post(&path, json!({ "stage": "interview" })),
        )
        .await;
        told.expect(200);
        advanced.expect(200);
        assert_eq!(client.screen(screen).await["status"], "completed");
        let page = client.page(candidate).await;
        assert_eq!((&page["stage"], page["touchpoints"].as_array().unwrap().len()), (&json!("interview"), 5));
    }
}

#[tokio::test]
async fn a_busy_table_is_said_so_and_the_retry_succeeds() {
    let world = world().await;
    let client = Client::live(&world);
    for fault in [Fault::Throttled, Fault::Unreachable, Fault::Internal, Fault::AnswerLost, Fault::Conflict] {
        for failing in ["GetItem", "TransactWriteItems"] {
            for what in ["in-progress", "passed", "no answer"] {
                let Invited { role, candidate, screen } = client.invited().await;
                let callback = news(&world, screen, what);
                let playing = fault.clone();
                world.wire.play(move |operation, _| (operation == failing).then(|| playing.clone()));
                let answer = deliver(&world, &callback).await.expect(503);
                assert_eq!((answer.string("/code"), answer.header("retry-after")), ("unavailable", "1"));
                world.wire.play(|_, _| None);
                if !matches!(fault, Fault::AnswerLost) {
                    assert_eq!(client.screen(screen).await["status"], "queued", "{fault:?} of {failing}");
                    assert_eq!(client.stats(role).await["screens_completed"], 0);
                }
                deliver(&world, &callback).await.expect(200);
                let (status, touchpoints) = match what {
                    "in-progress" => ("in_progress", 3),
                    "passed" => ("completed", 4),
                    _ => ("no_answer", 3),
                };
                assert_eq!(client.screen(screen).await["status"], status, "{fault:?} of {failing}");
                assert_eq!(client.stats(role).await["screens_completed"], u8::from(what == "passed"));
                assert_eq!(client.history(candidate).await.len(), touchpoints);
            }
        }
    }
}
