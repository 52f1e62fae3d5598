//! Channels: the status of the accounts on X and WhatsApp, and the isolation of test keys from both.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use rolecall_local::functions::tables;
use serde_json::{Value, json};
use shared::config::{Addresses, Services, VapiAccess};
use shared::model::{Mode, XConnection};
use shared::secret::Secret;
use shared::services::accounts::connect_whatsapp;
use shared::store::Transaction;
use shared::token_encryption::EncryptionKeys;
use tests::fake::{FakeResponse, FakeServer};
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, TestApi, tenant};

use crate::fake_x::{FakeX, ME, account, connect, connected_until, keys, problem, services};
use crate::x_posts::{live_posting, post};

const PATH: &str = "/api/v1/channels";
const HEALTH: &str =
    "/v23.0/106540352242922?fields=id,display_phone_number,verified_name,quality_rating,health_status";

/// A fake WhatsApp API that sends the same response to every request until the response is replaced.
struct FakeWhatsApp {
    fake: FakeServer,
    response: Arc<Mutex<FakeResponse>>,
}

impl FakeWhatsApp {
    async fn start() -> Self {
        let response = Arc::new(Mutex::new(number("AVAILABLE")));
        let current = response.clone();
        Self { fake: FakeServer::start(move |_| current.lock().unwrap().clone()).await, response }
    }

    fn reply_with(&self, response: FakeResponse) {
        *self.response.lock().unwrap() = response;
    }

    fn count(&self) -> usize {
        self.fake.requests().len()
    }
}

/// Fails the test if the fake received a request that WhatsApp does not support.
impl Drop for FakeWhatsApp {
    fn drop(&mut self) {
        for request in self.fake.requests().iter().filter(|_| !std::thread::panicking()) {
            assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", HEALTH));
            assert_eq!(request.header("authorization"), "Bearer whatsapp-1");
            assert_eq!(request.body, "");
        }
    }
}

fn number(can_send: &str) -> FakeResponse {
    FakeResponse::Json(
        200,
        json!({
            "id": "106540352242922", "display_phone_number": "+1 555-0100", "verified_name": "Acme",
            "quality_rating": "GREEN", "status": "WHATEVER",
            "health_status": { "can_send_message": can_send, "entities": [] }
        }),
    )
}

fn error(status: u16, code: u64) -> FakeResponse {
    FakeResponse::Json(
        status,
        json!({ "error": { "message": "No.", "type": "OAuthException", "code": code, "fbtrace_id": "A" } }),
    )
}

pub(crate) async fn connect_number(api: &TestApi, mode: Mode, keys: &EncryptionKeys) {
    let (token, number) = (Secret::new("whatsapp-1"), "106540352242922".to_owned());
    let random = &api.environment.random;
    let connection = connect_whatsapp(tenant(ACME, mode), number, &token, keys, random).unwrap();
    let mut transaction = Transaction::new(tenant(ACME, mode));
    transaction.put_whatsapp_connection(&connection).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// Creates a test API where both accounts are connected and work.
async fn both_connected() -> (TestApi, FakeX, FakeWhatsApp) {
    let (x, whatsapp) = (FakeX::start().await, FakeWhatsApp::start().await);
    let addresses =
        Addresses { x: x.fake.url.clone(), whatsapp: whatsapp.fake.url.clone(), ..Addresses::default() };
    let api = TestApi::with_services(Services { addresses, ..services("") }).await;
    connect(&api, Mode::Live, &account(&api, Mode::Live, &keys(&["k1"]), "2026-11-25T09:30:00Z")).await;
    connect_number(&api, Mode::Live, &keys(&["k1"])).await;
    api.dynamodb.take_calls();
    (api, x, whatsapp)
}

pub(crate) async fn channels(api: &TestApi) -> Value {
    api.get(PATH).await.expect(200).body
}

/// Returns a channel without usage today.
fn channel_without_usage(
    status: &str,
    account: Option<&str>,
    checked_at: Option<&str>,
    detail: Option<&str>,
) -> Value {
    json!({
        "connected": status == "connected", "status": status, "account": account, "checked_at": checked_at,
        "detail": detail,
        "usage": { "used": 0, "limit": null, "period": "day", "resets_at": "2026-11-21T00:00:00.000Z" }
    })
}

#[tokio::test]
async fn test_keys_and_a_service_without_providers_use_simulators() {
    let simulated = TestApi::new().await;
    let (configured, x, whatsapp) = both_connected().await;
    let expected = |account: &str| {
        channel_without_usage(
            "connected",
            Some(account),
            Some("2026-11-20T09:30:00.000Z"),
            Some("This is a simulator."),
        )
    };
    let expected =
        json!({ "x": expected("@rolecall_simulator"), "whatsapp": expected("Rolecall simulator") });
    for (api, demo, mode) in [
        (&simulated, ACME, Mode::Live),
        (&simulated, ACME, Mode::Test),
        (&configured, ACME, Mode::Test),
        (&configured, GLOBEX, Mode::Test),
    ] {
        let actual = api.request(Method::GET, PATH).key(demo, mode).send().await.expect(200);
        assert_eq!(actual.body, expected);
    }
    assert_eq!((x.requests().len(), whatsapp.count()), (0, 0));
    let refused = simulated.get(&format!("{PATH}?x=1")).await.expect(422);
    assert_eq!(refused.messages(), ["x is not a known query parameter"]);
}

#[tokio::test]
async fn a_disconnected_channel_is_reported() {
    let (configured, x, whatsapp) = both_connected().await;
    let missing = TestApi::with_services(Services::default()).await;
    for (api, x_detail, whatsapp_detail) in [
        (&configured, "No account is connected.", "No number is connected."),
        (&missing, "X is not set up on this service.", "WhatsApp is not set up on this service."),
    ] {
        let actual = api.request(Method::GET, PATH).key(GLOBEX, Mode::Live).send().await.expect(200);
        let expected = |detail: &str| channel_without_usage("disconnected", None, None, Some(detail));
        assert_eq!(actual.body, json!({ "x": expected(x_detail), "whatsapp": expected(whatsapp_detail) }));
    }
    assert_eq!(
        (x.requests().len(), whatsapp.count()),
        (0, 0),
        "no request is made with another organization's accounts"
    );
}

#[tokio::test]
async fn each_provider_is_checked_at_most_once_a_minute() {
    let (api, x, whatsapp) = both_connected().await;
    for (time, checked_at, checks) in [
        ("2026-11-20T09:30:00.000Z", "2026-11-20T09:30:00.000Z", 1),
        ("2026-11-20T09:30:59.000Z", "2026-11-20T09:30:00.000Z", 1),
        ("2026-11-20T09:31:00.000Z", "2026-11-20T09:31:00.000Z", 2),
        ("2026-11-20T09:31:01.000Z", "2026-11-20T09:31:00.000Z", 2),
    ] {
        api.clock.set(time);
        let expected =
            |account: &str| channel_without_usage("connected", Some(account), Some(checked_at), None);
        api.dynamodb.take_calls();
        let expected = json!({ "x": expected("@acme_jobs"), "whatsapp": expected("Acme (+1 555-0100)") });
        assert_eq!(channels(&api).await, expected, "{time}");
        let calls = if time == checked_at { 3 } else { 2 };
        assert_eq!(api.dynamodb.take_calls().len(), calls, "{time}");
        assert_eq!((x.count(ME), whatsapp.count()), (checks, checks), "{time}");
    }
    assert_eq!(x.requests()[0], (ME.to_owned(), "access-1".to_owned()));
}

/// A provider's response an hour after a successful check, and the channel's expected status after it.
struct Case {
    response: FakeResponse,
    status: &'static str,
    /// Whether the response determines the account's status.
    is_conclusive: bool,
    detail: &'static str,
}

fn case(response: FakeResponse, status: &'static str, is_conclusive: bool, detail: &'static str) -> Case {
    Case { response, status, is_conclusive, detail }
}

/// Sets the clock to this many hours after the start, and returns the time.
fn set_hour(api: &TestApi, hour: usize) -> String {
    let time = format!("2026-11-{:02}T{:02}:30:00.000Z", 20 + (9 + hour) / 24, (9 + hour) % 24);
    api.clock.set(&time);
    time
}

/// Checks each case: first a check that succeeds, then one with the response of the case.
async fn check_cases(
    api: &TestApi,
    name: &str,
    cases: Vec<Case>,
    reply_with: impl Fn(Option<FakeResponse>),
    count: impl Fn() -> usize,
) {
    for (number, Case { response, status, is_conclusive, detail }) in cases.into_iter().enumerate() {
        let text = format!("{name}: {response:?}");
        reply_with(None);
        let healthy_at = set_hour(api, number * 2);
        let healthy = channels(api).await[name].take();
        assert_eq!(
            (&healthy["status"], &healthy["checked_at"]),
            (&json!("connected"), &json!(healthy_at)),
            "{text}"
        );
        assert_eq!(healthy["detail"], Value::Null, "{text}");
        reply_with(Some(response));
        let checked_at = set_hour(api, number * 2 + 1);
        let before = count();
        let actual = channels(api).await[name].take();
        assert_eq!((&actual["status"], &actual["account"]), (&json!(status), &healthy["account"]), "{text}");
        assert_eq!(actual["connected"], status == "connected", "{text}");
        assert_eq!(actual["checked_at"], if is_conclusive { checked_at } else { healthy_at }, "{text}");
        assert!(actual["detail"].as_str().is_some_and(|actual| actual.contains(detail)), "{text}: {actual}");
        assert_eq!(channels(api).await[name], actual, "{text}: the status is stored");
        assert_eq!(count(), before + 1, "{text}: no second check within the minute");
    }
}

#[tokio::test]
async fn the_request_succeeds_with_every_response_from_whatsapp() {
    let (api, _x, whatsapp) = both_connected().await;
    let cases = vec![
        case(number("LIMITED"), "connected", true, "limits the messages"),
        case(number("BLOCKED"), "error", true, "blocked this number"),
        case(FakeResponse::Json(200, json!({ "id": "106540352242922" })), "error", true, "did not report"),
        case(error(401, 190), "expired", true, "reconnect the number"),
        case(error(401, 0), "expired", true, "reconnect the number"),
        case(error(403, 200), "error", true, "no permission to read"),
        case(error(500, 3), "error", true, "no permission to read"),
        case(error(404, 803), "error", true, "no phone number with this id"),
        case(error(400, 2), "connected", false, "temporary error"),
        case(error(400, 4), "connected", false, "rate limit"),
        case(error(400, 17), "connected", false, "rate limit"),
        case(error(429, 80007), "connected", false, "rate limit"),
        case(FakeResponse::Json(500, json!({})), "connected", false, "server error"),
        case(FakeResponse::Html(200), "connected", false, "could not be read"),
        case(FakeResponse::Html(404), "connected", false, "could not be read"),
        case(
            FakeResponse::Truncated(200, json!({ "data": { "id": "19" } })),
            "connected",
            false,
            "did not answer",
        ),
        case(FakeResponse::Close, "connected", false, "did not answer"),
        case(
            FakeResponse::Oversized(200, json!({ "data": { "id": "19" } })),
            "connected",
            false,
            "did not answer",
        ),
        case(FakeResponse::Redirect, "connected", false, "could not be read"),
        case(FakeResponse::TimeOut, "connected", false, "did not answer"),
    ];
    let reply_with =
        |response: Option<FakeResponse>| whatsapp.reply_with(response.unwrap_or_else(|| number("AVAILABLE")));
    check_cases(&api, "whatsapp", cases, reply_with, || whatsapp.count()).await;

    whatsapp.reply_with(number("BLOCKED"));
    let blocked_at = set_hour(&api, 50);
    channels(&api).await;
    whatsapp.reply_with(error(400, 4));
    set_hour(&api, 51);
    let actual = channels(&api).await["whatsapp"].take();
    assert_eq!(
        (&actual["status"], &actual["checked_at"]),
        (&json!("error"), &json!(blocked_at)),
        "the last known status remains"
    );
}

#[tokio::test]
async fn the_request_succeeds_with_every_response_from_x() {
    let (api, x, _whatsapp) = both_connected().await;
    let cases = vec![
        case(problem(401, "Unauthorized", "Unauthorized"), "expired", true, "next post"),
        case(problem(403, "Forbidden", "The app is suspended."), "error", true, "The app is suspended."),
        case(
            problem(402, "CreditsDepleted", "Account [77]"),
            "error",
            true,
            "This service may not post to X at present",
        ),
        case(problem(429, "Too Many Requests", "slow down"), "connected", false, "rate limit"),
        case(FakeResponse::Json(500, json!({})), "connected", false, "server error"),
        case(FakeResponse::Json(200, json!({ "data": {} })), "connected", false, "could not be read"),
        case(FakeResponse::Html(200), "connected", false, "could not be read"),
        case(
            FakeResponse::Truncated(200, json!({ "data": { "id": "19" } })),
            "connected",
            false,
            "incomplete or too late",
        ),
        case(FakeResponse::Close, "connected", false, "incomplete or too late"),
        case(FakeResponse::Oversized(200, json!({ "data": { "id": "19" } })), "connected", false, "too long"),
        case(FakeResponse::Redirect, "connected", false, "status was unexpected"),
        case(FakeResponse::TimeOut, "connected", false, "did not answer in time"),
    ];
    let reply_with = |response: Option<FakeResponse>| match response {
        Some(response) => x.reply_with(ME, response),
        None => x.reply_normally(),
    };
    check_cases(&api, "x", cases, reply_with, || x.count(ME)).await;
}

#[tokio::test]
async fn two_hanging_providers_are_checked_in_parallel() {
    let (api, x, whatsapp) = both_connected().await;
    x.reply_with(ME, FakeResponse::TimeOut);
    whatsapp.reply_with(FakeResponse::TimeOut);
    let before = tokio::time::Instant::now();
    let actual = channels(&api).await;
    let waited = before.elapsed();
    // Two sequential checks would take twice as long.
    assert!((Duration::from_secs(2)..Duration::from_secs(4)).contains(&waited), "{waited:?}");
    for name in ["x", "whatsapp"] {
        let channel = &actual[name];
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
async fn a_status_that_cannot_be_stored_is_still_returned() {
    let (api, x, _whatsapp) = both_connected().await;
    api.dynamodb
        .inject_faults(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Unreachable));
    let actual = channels(&api).await;
    assert_eq!(actual["x"]["checked_at"], "2026-11-20T09:30:00.000Z");
    assert_eq!(x.count(ME), 1);
}

#[tokio::test]
async fn usage_counts_the_tenants_posts_of_the_day() {
    let api = TestApi::new().await;
    let used = async |mode| {
        let actual = api.request(Method::GET, PATH).key(ACME, mode).send().await.expect(200);
        let usage = &actual.body["x"]["usage"];
        assert_eq!(actual.body["whatsapp"]["usage"]["used"], 0, "this service sends no messages");
        (usage["used"].clone(), usage["resets_at"].clone())
    };
    for _ in 0..3 {
        post(&api, live_posting(&api).await).await.expect(201);
    }
    let (today, tomorrow) = (json!("2026-11-21T00:00:00.000Z"), json!("2026-11-22T00:00:00.000Z"));
    assert_eq!(used(Mode::Test).await, (json!(0), today.clone()));
    api.clock.set("2026-11-20T23:59:59.999Z");
    assert_eq!(used(Mode::Live).await, (json!(3), today));
    api.clock.set("2026-11-21T00:00:00Z");
    assert_eq!(used(Mode::Live).await, (json!(0), tomorrow.clone()));
    post(&api, live_posting(&api).await).await.expect(201);
    assert_eq!(used(Mode::Live).await, (json!(1), tomorrow));
}

#[tokio::test]
async fn a_status_check_does_not_refresh_tokens() {
    for ends in ["2026-11-20T09:30:00.000Z", "2026-11-20T09:31:00.000Z"] {
        let (api, x) = connected_until(ends).await;
        let actual = channels(&api).await["x"].take();
        assert_eq!(actual, channel_without_usage("connected", Some("@acme_jobs"), None, None));
        assert!(x.requests().is_empty(), "{ends}: {:?}", x.requests());
    }
}

/// No request is made to the provider, so `checked_at` does not change.
#[tokio::test]
async fn a_token_whose_encryption_key_is_missing_is_reported() {
    let (api, x, whatsapp) = both_connected().await;
    channels(&api).await;
    let good = api.store().find_x_connection(tenant(ACME, Mode::Live)).await.unwrap().unwrap();
    for ends in ["2026-11-25T09:30:00.000Z", "2026-11-20T09:00:00.000Z"] {
        let unreadable = account(&api, Mode::Live, &keys(&["k9"]), ends);
        connect(&api, Mode::Live, &XConnection { standing: good.standing.clone(), ..unreadable }).await;
        connect_number(&api, Mode::Live, &keys(&["k9"])).await;
        api.clock.set("2026-11-20T10:30:00Z");
        let actual = channels(&api).await;
        for (name, checked_at) in [("x", json!("2026-11-20T09:30:00.000Z")), ("whatsapp", Value::Null)] {
            let channel = &actual[name];
            assert_eq!(
                (&channel["status"], &channel["connected"]),
                (&json!("error"), &json!(false)),
                "{name} {ends}"
            );
            assert_eq!(channel["checked_at"], checked_at, "{name} {ends}");
            let detail = channel["detail"].as_str().unwrap();
            assert!(detail.contains("encrypted with a key that is not configured"), "{detail}");
        }
    }
    assert_eq!((x.requests().len(), whatsapp.count()), (1, 1), "no request is made with such a token");
    connect(&api, Mode::Live, &good).await;
    connect_number(&api, Mode::Live, &keys(&["k1"])).await;
    let actual = channels(&api).await;
    assert_eq!(
        (&actual["x"]["status"], &actual["whatsapp"]["status"]),
        (&json!("connected"), &json!("connected"))
    );
}

/// Accounts that are connected in test mode by mistake are never used.
#[tokio::test]
async fn a_test_key_never_reaches_a_real_provider() {
    let fakes = [(); 3].map(|()| FakeServer::start(|_| FakeResponse::Html(500)));
    let [x, whatsapp, vapi] = fakes;
    let (x, whatsapp, vapi) = (x.await, whatsapp.await, vapi.await);
    let addresses = Addresses {
        x: x.url.clone(),
        whatsapp: whatsapp.url.clone(),
        vapi: vapi.url.clone(),
        ..Addresses::default()
    };
    let access = VapiAccess {
        api_key: Some(Secret::new("key")),
        phone_number_id: "number".to_owned(),
        webhook_secret: Some(Secret::new("0123456789abcdef0123456789abcdef")),
        credential_id: None,
    };
    let call_countries = vec!["US".parse().unwrap()];
    let services = Services { addresses, vapi: Some(access), call_countries, ..services("") };
    let api = TestApi::with_services(services).await;
    for mode in Mode::ALL {
        connect(&api, mode, &account(&api, mode, &keys(&["k1"]), "2026-11-25T09:30:00Z")).await;
        connect_number(&api, mode, &keys(&["k1"])).await;
    }
    let post = async |mode, path: &str, body: Value| {
        api.request(Method::POST, path).key(ACME, mode).json(&body).send().await
    };
    let get = async |mode, path: &str| api.request(Method::GET, path).key(ACME, mode).send().await;

    let tables = tables().into_iter().find(|tables| tables.function == "ChannelsFunction").unwrap();
    let routes: Vec<_> = tables.rows().iter().map(|route| route.key).collect();
    let known = ["GET /api/v1/channels", "POST /api/v1/channels/x/post", "GET /api/v1/channels/x/posts"];
    assert_eq!(routes, known, "the loop below calls every route");
    // The live key's requests reach the fakes. This shows that the fakes would also record the test key's requests.
    for mode in [Mode::Test, Mode::Live] {
        let posted = post(mode, "/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
        let (role, posting) = (posted.number("/role/id"), posted.number("/job_posting/id"));
        let jane =
            json!({ "name": "Jane", "email": "jane@example.com", "phone": "+14155552671", "role_id": role });
        let jane = post(mode, "/api/v1/candidates", jane).await.expect(201).number("/id");
        let invite = format!("/api/v1/candidates/{jane}/invite_screen");
        let consent =
            json!({ "obtained_at": "2026-11-20T09:00:00Z", "wording": "An AI may call and record me." });
        let body = json!({ "role_id": role, "consent": consent });
        let screen = post(mode, &invite, body).await.expect(201).number("/id");
        for (day, style) in ["professional", "casual", "urgent"].iter().enumerate() {
            api.clock.set(&format!("2026-11-2{day}T09:30:00Z"));
            let body = json!({ "job_posting_id": posting, "style": style });
            post(mode, "/api/v1/channels/x/post", body).await;
            get(mode, PATH).await.expect(200);
            get(mode, "/api/v1/channels/x/posts").await.expect(200);
        }
        api.run_tasks().await;
        let screen = get(mode, &format!("/api/v1/voice_screens/{screen}")).await.expect(200);
        if mode == Mode::Test {
            assert_ne!(screen.string("/status"), "queued", "the simulator has made the call");
            assert_eq!(
                get(mode, "/api/v1/channels/x/posts").await.body["data"].as_array().map(Vec::len),
                Some(3)
            );
        }
        let reached = [&x, &whatsapp, &vapi].map(|fake| !fake.requests().is_empty());
        assert_eq!(reached, [mode == Mode::Live; 3], "{mode:?}");
    }
}
