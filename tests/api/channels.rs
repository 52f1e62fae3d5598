//! Channels: how the accounts on X and WhatsApp are doing, and that test keys reach neither.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use rolecall_local::functions::tables;
use serde_json::{Value, json};
use shared::accounts::connect_whatsapp;
use shared::config::{Addresses, Services, VapiAccess};
use shared::model::{Mode, XConnection};
use shared::sealed::SealingKeys;
use shared::secret::Secret;
use shared::store::Writes;
use tests::fake::{Fake, Play};
use tests::wire::Fault;
use tests::{ACME, GLOBEX, World, tenant};

use crate::fake_x::{FakeX, ME, account, connect, connected_until, keys, problem, services};
use crate::x_posts::{live_posting, post};

const PATH: &str = "/api/v1/channels";
const HEALTH: &str =
    "/v23.0/106540352242922?fields=id,display_phone_number,verified_name,quality_rating,health_status";

/// WhatsApp, which says the same to everybody until it is told otherwise.
struct FakeWhatsApp {
    fake: Fake,
    play: Arc<Mutex<Play>>,
}

impl FakeWhatsApp {
    async fn start() -> Self {
        let play = Arc::new(Mutex::new(number("AVAILABLE")));
        let playing = play.clone();
        Self { fake: Fake::start(move |_| playing.lock().unwrap().clone()).await, play }
    }

    fn play(&self, play: Play) {
        *self.play.lock().unwrap() = play;
    }

    fn count(&self) -> usize {
        self.fake.requests().len()
    }
}

/// A request that WhatsApp would not know fails the test.
impl Drop for FakeWhatsApp {
    fn drop(&mut self) {
        for request in self.fake.requests().iter().filter(|_| !std::thread::panicking()) {
            assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", HEALTH));
            assert_eq!(request.header("authorization"), "Bearer whatsapp-1");
            assert_eq!(request.body, "");
        }
    }
}

fn number(can_send: &str) -> Play {
    Play::Json(
        200,
        json!({
            "id": "106540352242922", "display_phone_number": "+1 555-0100", "verified_name": "Acme",
            "quality_rating": "GREEN", "status": "WHATEVER",
            "health_status": { "can_send_message": can_send, "entities": [] }
        }),
    )
}

fn error(status: u16, code: u64) -> Play {
    Play::Json(
        status,
        json!({ "error": { "message": "No.", "type": "OAuthException", "code": code, "fbtrace_id": "A" } }),
    )
}

async fn connect_number(world: &World, mode: Mode, keys: &SealingKeys) {
    let (token, number) = (Secret::new("whatsapp-1"), "106540352242922".to_owned());
    let random = &world.environment.random;
    let connection = connect_whatsapp(tenant(ACME, mode), number, &token, keys, random).unwrap();
    let mut writes = Writes::new(tenant(ACME, mode));
    writes.put_whatsapp_connection(&connection).unwrap();
    world.store().commit(writes).await.unwrap();
}

/// A world in which both are connected, and both work.
async fn both() -> (World, FakeX, FakeWhatsApp) {
    let (x, whatsapp) = (FakeX::start().await, FakeWhatsApp::start().await);
    let addresses =
        Addresses { x: x.fake.url.clone(), whatsapp: whatsapp.fake.url.clone(), ..Addresses::default() };
    let world = World::with_services(Services { addresses, ..services("") }).await;
    connect(&world, Mode::Live, &account(&world, Mode::Live, &keys(&["k1"]), "2026-11-25T09:30:00Z")).await;
    connect_number(&world, Mode::Live, &keys(&["k1"])).await;
    world.wire.take();
    (world, x, whatsapp)
}

async fn channels(world: &World) -> Value {
    world.get(PATH).await.expect(200).body
}

/// A channel that nobody has used today.
fn unused(status: &str, account: Option<&str>, checked_at: Option<&str>, detail: Option<&str>) -> Value {
    json!({
        "connected": status == "connected", "status": status, "account": account, "checked_at": checked_at,
        "detail": detail,
        "usage": { "used": 0, "limit": null, "period": "day", "resets_at": "2026-11-21T00:00:00Z" }
    })
}

#[tokio::test]
async fn test_keys_and_a_service_without_providers_have_simulators() {
    let simulated = World::new().await;
    let (configured, x, whatsapp) = both().await;
    let expected = |account: &str| {
        unused("connected", Some(account), Some("2026-11-20T09:30:00Z"), Some("This is a simulator."))
    };
    let expected =
        json!({ "x": expected("@rolecall_simulator"), "whatsapp": expected("Rolecall simulator") });
    for (world, demo, mode) in [
        (&simulated, ACME, Mode::Live),
        (&simulated, ACME, Mode::Test),
        (&configured, ACME, Mode::Test),
        (&configured, GLOBEX, Mode::Test),
    ] {
        let shown = world.request(Method::GET, PATH).key(demo, mode).send().await.expect(200);
        assert_eq!(shown.body, expected);
    }
    assert_eq!((x.asked().len(), whatsapp.count()), (0, 0));
    let refused = simulated.get(&format!("{PATH}?x=1")).await.expect(422);
    assert_eq!(refused.messages(), ["x is not a known field"]);
}

#[tokio::test]
async fn what_is_not_connected_says_so() {
    let (configured, x, whatsapp) = both().await;
    let missing = World::with_services(Services::default()).await;
    for (world, x_detail, whatsapp_detail) in [
        (&configured, "No account is connected.", "No number is connected."),
        (&missing, "This service has no app on X.", "This service keeps no tokens of WhatsApp numbers."),
    ] {
        let shown = world.request(Method::GET, PATH).key(GLOBEX, Mode::Live).send().await.expect(200);
        let expected = |detail: &str| unused("disconnected", None, None, Some(detail));
        assert_eq!(shown.body, json!({ "x": expected(x_detail), "whatsapp": expected(whatsapp_detail) }));
    }
    assert_eq!(
        (x.asked().len(), whatsapp.count()),
        (0, 0),
        "another organization's accounts are not asked about"
    );
}

#[tokio::test]
async fn both_are_asked_at_most_once_a_minute() {
    let (world, x, whatsapp) = both().await;
    for (time, asked_at, asked) in [
        ("2026-11-20T09:30:00Z", "2026-11-20T09:30:00Z", 1),
        ("2026-11-20T09:30:59Z", "2026-11-20T09:30:00Z", 1),
        ("2026-11-20T09:31:00Z", "2026-11-20T09:31:00Z", 2),
        ("2026-11-20T09:31:01Z", "2026-11-20T09:31:00Z", 2),
    ] {
        world.hands.set(time);
        let expected = |account: &str| unused("connected", Some(account), Some(asked_at), None);
        world.wire.take();
        let expected = json!({ "x": expected("@acme_jobs"), "whatsapp": expected("Acme (+1 555-0100)") });
        assert_eq!(channels(&world).await, expected, "{time}");
        let calls = if time == asked_at { 3 } else { 2 };
        assert_eq!(world.wire.take().len(), calls, "{time}");
        assert_eq!((x.count(ME), whatsapp.count()), (asked, asked), "{time}");
    }
    assert_eq!(x.asked()[0], (ME.to_owned(), "access-1".to_owned()));
}

/// How a channel stands after its provider has said something, an hour after all was well.
struct Case {
    play: Play,
    status: &'static str,
    /// Whether it is an answer about the account at all.
    answers: bool,
    detail: &'static str,
}

fn case(play: Play, status: &'static str, answers: bool, detail: &'static str) -> Case {
    Case { play, status, answers, detail }
}

/// Sets the clock to so many hours after the beginning.
fn set_hour(world: &World, hour: usize) -> String {
    let time = format!("2026-11-{:02}T{:02}:30:00Z", 20 + (9 + hour) / 24, (9 + hour) % 24);
    world.hands.set(&time);
    time
}

/// Has the provider say what each case says, each time after all was well.
async fn follow(
    world: &World,
    name: &str,
    cases: Vec<Case>,
    play: impl Fn(Option<Play>),
    count: impl Fn() -> usize,
) {
    for (number, Case { play: said, status, answers, detail }) in cases.into_iter().enumerate() {
        let text = format!("{name}: {said:?}");
        play(None);
        let well_at = set_hour(world, number * 2);
        let well = channels(world).await[name].take();
        assert_eq!((&well["status"], &well["checked_at"]), (&json!("connected"), &json!(well_at)), "{text}");
        assert_eq!(well["detail"], Value::Null, "{text}");
        play(Some(said));
        let said_at = set_hour(world, number * 2 + 1);
        let before = count();
        let shown = channels(world).await[name].take();
        assert_eq!((&shown["status"], &shown["account"]), (&json!(status), &well["account"]), "{text}");
        assert_eq!(shown["connected"], status == "connected", "{text}");
        assert_eq!(shown["checked_at"], if answers { said_at } else { well_at }, "{text}");
        assert!(shown["detail"].as_str().is_some_and(|shown| shown.contains(detail)), "{text}: {shown}");
        assert_eq!(channels(world).await[name], shown, "{text}: it is kept");
        assert_eq!(count(), before + 1, "{text}: nobody asks again within the minute");
    }
}

#[tokio::test]
async fn whatever_whatsapp_says_the_request_succeeds() {
    let (world, _x, whatsapp) = both().await;
    let cases = vec![
        case(number("LIMITED"), "connected", true, "limits the messages"),
        case(number("BLOCKED"), "error", true, "does not let this number send"),
        case(Play::Json(200, json!({ "id": "106540352242922" })), "error", true, "does not say"),
        case(error(401, 190), "expired", true, "anew"),
        case(error(403, 200), "error", true, "may not read"),
        case(error(404, 803), "error", true, "does not know"),
        case(error(400, 4), "connected", false, "no more calls"),
        case(error(400, 17), "connected", false, "no more calls"),
        case(error(429, 80007), "connected", false, "no more calls"),
        case(Play::Json(500, json!({})), "connected", false, "failed"),
        case(Play::Html(200), "connected", false, "could not be read"),
        case(Play::Html(404), "connected", false, "could not be read"),
        case(Play::Half(200, json!({ "data": { "id": "19" } })), "connected", false, "did not answer"),
        case(Play::Nothing, "connected", false, "did not answer"),
        case(Play::Long(200, json!({ "data": { "id": "19" } })), "connected", false, "did not answer"),
        case(Play::Redirect, "connected", false, "could not be read"),
        case(Play::Hang, "connected", false, "did not answer"),
    ];
    let play = |play: Option<Play>| whatsapp.play(play.unwrap_or_else(|| number("AVAILABLE")));
    follow(&world, "whatsapp", cases, play, || whatsapp.count()).await;

    whatsapp.play(number("BLOCKED"));
    let blocked_at = set_hour(&world, 50);
    channels(&world).await;
    whatsapp.play(error(400, 4));
    set_hour(&world, 51);
    let shown = channels(&world).await["whatsapp"].take();
    assert_eq!(
        (&shown["status"], &shown["checked_at"]),
        (&json!("error"), &json!(blocked_at)),
        "as it was last known"
    );
}

#[tokio::test]
async fn whatever_x_says_the_request_succeeds() {
    let (world, x, _whatsapp) = both().await;
    let cases = vec![
        case(problem(401, "Unauthorized", "Unauthorized"), "expired", true, "next post"),
        case(problem(403, "Forbidden", "The app is suspended."), "error", true, "The app is suspended."),
        case(problem(429, "Too Many Requests", "slow down"), "connected", false, "no more calls"),
        case(Play::Json(500, json!({})), "connected", false, "failed"),
        case(Play::Json(200, json!({ "data": {} })), "connected", false, "could not be read"),
        case(Play::Html(200), "connected", false, "could not be read"),
        case(Play::Half(200, json!({ "data": { "id": "19" } })), "connected", false, "did not come whole"),
        case(Play::Nothing, "connected", false, "did not come whole"),
        case(Play::Long(200, json!({ "data": { "id": "19" } })), "connected", false, "too long"),
        case(Play::Redirect, "connected", false, "neither yes nor no"),
        case(Play::Hang, "connected", false, "did not answer in time"),
    ];
    let play = |play: Option<Play>| play.map_or_else(|| x.heal(), |play| x.play(ME, play));
    follow(&world, "x", cases, play, || x.count(ME)).await;
}

#[tokio::test]
async fn two_providers_that_hang_keep_nobody_waiting() {
    let (world, x, whatsapp) = both().await;
    x.play(ME, Play::Hang);
    whatsapp.play(Play::Hang);
    let before = tokio::time::Instant::now();
    let shown = channels(&world).await;
    let waited = before.elapsed();
    // One after the other, they would take twice as long.
    assert!((Duration::from_secs(2)..Duration::from_secs(4)).contains(&waited), "{waited:?}");
    for name in ["x", "whatsapp"] {
        let channel = &shown[name];
        assert_eq!(
            (&channel["status"], &channel["checked_at"]),
            (&json!("connected"), &Value::Null),
            "{name}"
        );
        assert!(
            channel["detail"].as_str().is_some_and(|detail| detail.contains("did not answer")),
            "{channel}"
        );
    }
    assert_eq!((x.count(ME), whatsapp.count()), (1, 1));
}

#[tokio::test]
async fn a_status_that_cannot_be_kept_is_shown_all_the_same() {
    let (world, x, _whatsapp) = both().await;
    world.wire.play(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Unreachable));
    let shown = channels(&world).await;
    assert_eq!(shown["x"]["checked_at"], "2026-11-20T09:30:00Z");
    assert_eq!(x.count(ME), 1);
}

#[tokio::test]
async fn usage_counts_the_days_posts_of_the_tenant() {
    let world = World::new().await;
    let used = async |mode| {
        let shown = world.request(Method::GET, PATH).key(ACME, mode).send().await.expect(200);
        let usage = &shown.body["x"]["usage"];
        assert_eq!(shown.body["whatsapp"]["usage"]["used"], 0, "this service sends no messages");
        (usage["used"].clone(), usage["resets_at"].clone())
    };
    let posting = live_posting(&world).await;
    for _ in 0..3 {
        post(&world, posting).await.expect(201);
    }
    let (today, tomorrow) = (json!("2026-11-21T00:00:00Z"), json!("2026-11-22T00:00:00Z"));
    assert_eq!(used(Mode::Test).await, (json!(0), today.clone()));
    world.hands.set("2026-11-20T23:59:59.999Z");
    assert_eq!(used(Mode::Live).await, (json!(3), today));
    world.hands.set("2026-11-21T00:00:00Z");
    assert_eq!(used(Mode::Live).await, (json!(0), tomorrow.clone()));
    post(&world, posting).await.expect(201);
    assert_eq!(used(Mode::Live).await, (json!(1), tomorrow));
}

#[tokio::test]
async fn a_status_check_renews_no_token() {
    for ends in ["2026-11-20T09:30:00Z", "2026-11-20T09:31:00Z"] {
        let (world, x) = connected_until(ends).await;
        let shown = channels(&world).await["x"].take();
        assert_eq!(shown, unused("connected", Some("@acme_jobs"), None, None));
        assert!(x.asked().is_empty(), "{ends}: {:?}", x.asked());
    }
}

/// No provider has answered: `checked_at` does not change.
#[tokio::test]
async fn a_token_whose_sealing_key_is_gone_is_told_of() {
    let (world, x, whatsapp) = both().await;
    channels(&world).await;
    let good = world.store().find_x_connection(tenant(ACME, Mode::Live)).await.unwrap().unwrap();
    for ends in ["2026-11-25T09:30:00Z", "2026-11-20T09:00:00Z"] {
        let unreadable = account(&world, Mode::Live, &keys(&["k9"]), ends);
        connect(&world, Mode::Live, &XConnection { standing: good.standing.clone(), ..unreadable }).await;
        connect_number(&world, Mode::Live, &keys(&["k9"])).await;
        world.hands.set("2026-11-20T10:30:00Z");
        let shown = channels(&world).await;
        for (name, checked_at) in [("x", json!("2026-11-20T09:30:00Z")), ("whatsapp", Value::Null)] {
            let channel = &shown[name];
            assert_eq!(
                (&channel["status"], &channel["connected"]),
                (&json!("error"), &json!(false)),
                "{name} {ends}"
            );
            assert_eq!(channel["checked_at"], checked_at, "{name} {ends}");
            let detail = channel["detail"].as_str().unwrap();
            assert!(detail.contains("sealed with a key that is not configured"), "{detail}");
        }
    }
    assert_eq!((x.asked().len(), whatsapp.count()), (1, 1), "nobody is asked with it");
    connect(&world, Mode::Live, &good).await;
    connect_number(&world, Mode::Live, &keys(&["k1"])).await;
    let shown = channels(&world).await;
    assert_eq!(
        (&shown["x"]["status"], &shown["whatsapp"]["status"]),
        (&json!("connected"), &json!("connected"))
    );
}

/// Accounts that are connected for test keys by mistake are never used.
#[tokio::test]
async fn a_test_key_reaches_no_real_provider() {
    let fakes = [(); 3].map(|()| Fake::start(|_| Play::Html(500)));
    let [x, whatsapp, vapi] = fakes;
    let (x, whatsapp, vapi) = (x.await, whatsapp.await, vapi.await);
    let addresses = Addresses {
        x: x.url.clone(),
        whatsapp: whatsapp.url.clone(),
        vapi: vapi.url.clone(),
        ..Addresses::default()
    };
    let access = VapiAccess {
        api_key: Secret::new("key"),
        phone_number_id: "number".to_owned(),
        webhook_secret: Secret::new("0123456789abcdef0123456789abcdef"),
        credential_id: None,
    };
    let world = World::with_services(Services { addresses, vapi: Some(access), ..services("") }).await;
    for mode in Mode::ALL {
        connect(&world, mode, &account(&world, mode, &keys(&["k1"]), "2026-11-25T09:30:00Z")).await;
        connect_number(&world, mode, &keys(&["k1"])).await;
    }
    let ask = async |mode, path: &str, body: Value| {
        world.request(Method::POST, path).key(ACME, mode).json(&body).send().await
    };
    let get = async |mode, path: &str| world.request(Method::GET, path).key(ACME, mode).send().await;

    let tables = tables().into_iter().find(|tables| tables.function == "ChannelsFunction").unwrap();
    let routes: Vec<_> = tables.rows().iter().map(|route| route.key).collect();
    let known = ["GET /api/v1/channels", "POST /api/v1/channels/x/post", "GET /api/v1/channels/x/posts"];
    assert_eq!(routes, known, "every route is run here");
    // A test key's requests, then the same of a live key: they show that the test would notice.
    for mode in [Mode::Test, Mode::Live] {
        let posted = ask(mode, "/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
        let (role, posting) = (posted.number("/role/id"), posted.number("/job_posting/id"));
        let jane =
            json!({ "name": "Jane", "email": "jane@example.com", "phone": "+15550100", "role_id": role });
        let jane = ask(mode, "/api/v1/candidates", jane).await.expect(201).number("/id");
        let invite = format!("/api/v1/candidates/{jane}/invite_screen");
        let screen = ask(mode, &invite, json!({ "role_id": role })).await.expect(201).number("/id");
        for (day, style) in ["professional", "casual", "urgent"].iter().enumerate() {
            world.hands.set(&format!("2026-11-2{day}T09:30:00Z"));
            let body = json!({ "job_posting_id": posting, "style": style });
            ask(mode, "/api/v1/channels/x/post", body).await;
            get(mode, PATH).await.expect(200);
            get(mode, "/api/v1/channels/x/posts").await.expect(200);
        }
        world.run_tasks().await;
        let screen = get(mode, &format!("/api/v1/voice_screens/{screen}")).await.expect(200);
        if mode == Mode::Test {
            assert_ne!(screen.string("/status"), "queued", "the simulator has called");
            assert_eq!(
                get(mode, "/api/v1/channels/x/posts").await.body["data"].as_array().map(Vec::len),
                Some(3)
            );
        }
        let reached = [&x, &whatsapp, &vapi].map(|fake| !fake.requests().is_empty());
        assert_eq!(reached, [mode == Mode::Live; 3], "{mode:?}");
    }
}
