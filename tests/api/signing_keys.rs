//! The replacement of the key that signs cursors, forms and other values. Values that were signed before stay valid while
//! both keys are configured, and no longer.

use http::Method;
use serde_json::json;
use shared::mac_keys::MacKeys;
use shared::model::{Mode, VoiceProvider};
use shared::providers::Providers;
use shared::providers::voice::sign;
use shared::secret::Secret;
use shared::services::calls::{CallLimit, CountedCall, MAX_CALLS_TO_A_NUMBER};
use tests::browser::{Browser, Form};
use tests::dashboard::owner;
use tests::{ACME, Response, TestApi, tenant};

use super::careers_applications::{Job, form};
use super::careers_resumes::{PDF, attach};
use super::{dashboard_channels, dashboard_second_factor};

const OLD: &str = rolecall_local::demo::SIGNING_KEYS;
const NEW: &str = "the key after the replacement of the old one";
const SIGN_IN: &str = "/dashboard/sign-in";

/// Configures both keys, of which the new one signs.
fn overlap(api: &mut TestApi) {
    configure(api, &format!("{NEW},{OLD}"));
}

/// Configures only the new key.
fn end_overlap(api: &mut TestApi) {
    configure(api, NEW);
}

fn configure(api: &mut TestApi, keys: &str) {
    api.environment.config.signing_keys = MacKeys::parse(keys).unwrap();
    api.environment.providers = Providers::new(&api.environment.config);
    api.restart();
}

/// A signed-out browser with these cookies.
fn reopened<'w>(api: &'w TestApi, others: &[(String, String)]) -> Browser<'w> {
    let browser = Browser::new(api);
    for (name, value) in others {
        browser.set_other_cookie(name, value);
    }
    browser
}

#[tokio::test]
async fn a_cursor_survives_the_replacement_of_the_signing_key() {
    let mut api = TestApi::new().await;
    for title in ["a", "b", "c"] {
        api.post("/api/v1/roles", json!({ "title": title })).await.expect(201);
    }
    let page = async |api: &TestApi, cursor: &str| api.get(&format!("/api/v1/roles?limit=1{cursor}")).await;
    let cursor = |page: &Response| format!("&cursor={}", page.string("/next_cursor"));
    let before = cursor(&page(&api, "").await.expect(200));
    overlap(&mut api);
    let second = page(&api, &before).await.expect(200);
    assert_eq!(second.string("/data/0/title"), "b");
    end_overlap(&mut api);
    page(&api, &before).await.expect(400);
    assert_eq!(page(&api, &cursor(&second)).await.expect(200).string("/data/0/title"), "a");
}

#[tokio::test]
async fn forms_and_known_browsers_survive_the_replacement_of_the_signing_key() {
    let mut api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let (others, open, open_cookie) = {
        let browser = Browser::signed_in(&api, ACME).await;
        let others: Vec<_> = browser.other_cookies().into_iter().collect();
        assert!(!others.is_empty(), "the browser is known");
        let stranger = Browser::new(&api);
        let page = stranger.get(SIGN_IN).await.expect(200);
        (others, page, stranger.cookie())
    };
    let notices = async |api: &TestApi| {
        api.store().list_notices(tenant(ACME, Mode::Live).organization, ada.id).await.unwrap().len()
    };
    let before = notices(&api).await;
    overlap(&mut api);
    let browser = reopened(&api, &others);
    browser.sign_in(&browser.get(SIGN_IN).await.expect(200), ACME).await.expect(303);
    assert_eq!(notices(&api).await, before, "the browser is still known");
    let renewed: Vec<_> = browser.other_cookies().into_iter().collect();
    assert_ne!(renewed, others, "the sign-in signs the cookie with the new key");
    Browser::with_cookie(&api, &open_cookie).sign_in(&open, ACME).await.expect(303);
    let after = notices(&api).await;
    assert_eq!(after, before + 1, "the stranger's browser was not known");

    end_overlap(&mut api);
    Browser::with_cookie(&api, &open_cookie).sign_in(&open, ACME).await.expect(403);
    for (cookies, reported) in [(&renewed, 0), (&others, 1)] {
        let browser = reopened(&api, cookies);
        browser.sign_in(&browser.get(SIGN_IN).await.expect(200), ACME).await.expect(303);
        assert_eq!(notices(&api).await, after + reported);
    }
}

#[tokio::test]
async fn a_sign_in_between_password_and_code_survives_the_replacement_of_the_signing_key() {
    let mut api = TestApi::new().await;
    let (codes, steps) = {
        let browser = Browser::signed_in(&api, ACME).await;
        let (_, codes) = dashboard_second_factor::set_up(&api, &browser).await;
        let mut steps = Vec::new();
        for _ in 0..2 {
            let browser = Browser::new(&api);
            let form = dashboard_second_factor::password_step(&browser).await;
            steps.push((browser.cookie(), form));
        }
        (codes, steps)
    };
    let finish = async |api: &TestApi, (cookie, form): &(String, Form), code: &str| {
        let browser = Browser::with_cookie(api, cookie);
        // The form's token comes from the page, so only the proof depends on the earlier key.
        let form = form.clone().set("csrf", &browser.csrf().await);
        dashboard_second_factor::send_code(&browser, &form, code).await.expect(303)
    };
    overlap(&mut api);
    assert_eq!(finish(&api, &steps[0], &codes[0]).await.header("location"), "/dashboard/roles");
    end_overlap(&mut api);
    let expired = finish(&api, &steps[1], &codes[1]).await;
    assert!(expired.header("location").starts_with(SIGN_IN), "{}", expired.header("location"));
}

#[tokio::test]
async fn an_authorization_on_x_survives_the_replacement_of_the_signing_key() {
    let (mut api, x) = dashboard_channels::api().await;
    let ada = owner(&api, ACME).await;
    let (cookie, first, second) = {
        let browser = Browser::with_session(&api, ACME, &ada).await;
        let (first, second) =
            (dashboard_channels::begin(&browser).await, dashboard_channels::begin(&browser).await);
        (browser.cookie(), first, second)
    };
    let finish = async |api: &TestApi, url: &str| {
        let browser = Browser::with_cookie(api, &cookie);
        let (code, state) = (x.allow(url), dashboard_channels::state_of(url));
        dashboard_channels::callback(&browser, &code, &state).await.header("location").to_owned()
    };
    overlap(&mut api);
    assert!(finish(&api, &first).await.ends_with("?done=x-connected"), "X has verified the PKCE verifier");
    end_overlap(&mut api);
    assert!(finish(&api, &second).await.ends_with("?failed=x-stale"));
}

#[tokio::test]
async fn an_upload_ticket_survives_the_replacement_of_the_signing_key() {
    let mut api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let first = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let second = job.apply(&api, &form("Grace", "grace@example.com")).await.expect(303);
    overlap(&mut api);
    attach(&api, &first, PDF).await.expect(303);
    end_overlap(&mut api);
    let late = Browser::new(&api).follow(&second).await.expect(303);
    assert_eq!(late.header("location"), format!("{}#apply", job.path));
}

#[tokio::test]
async fn a_number_is_not_called_more_often_while_the_signing_key_is_replaced() {
    let api = TestApi::new().await;
    let acme = api.store().find_organization(tenant(ACME, Mode::Live)).await.unwrap().unwrap().organization;
    let (phone, now) = ("+4930123456".parse().unwrap(), api.environment.clock.now());
    let count = async |keys: &str| {
        let keys = MacKeys::parse(keys).unwrap();
        CountedCall::count(api.store(), &keys, &acme, &phone, now).await.unwrap()
    };
    let both = format!("{NEW},{OLD}");
    for keys in [OLD, OLD, OLD, &both, &both] {
        assert!(count(keys).await.is_ok(), "{keys}");
    }
    for keys in [OLD, &both] {
        assert_eq!(count(keys).await.unwrap_err(), CallLimit::Number);
    }
    // A call that was refused is not counted under the new key either, which has counted two calls.
    for _ in 2..MAX_CALLS_TO_A_NUMBER {
        assert!(count(NEW).await.is_ok());
    }
    assert_eq!(count(NEW).await.unwrap_err(), CallLimit::Number);
}

#[tokio::test]
async fn a_callback_of_the_simulator_survives_the_replacement_of_the_signing_key() {
    let mut api = TestApi::new().await;
    let secret = |api: &TestApi| -> Secret {
        let simulator = api.environment.providers.voice_provider(VoiceProvider::Simulator).unwrap();
        simulator.webhook_secrets()[0].clone()
    };
    let deliver = async |api: &TestApi, secret: &Secret| {
        let call = json!({ "id": "c", "customer": { "externalId": "1-live-4711" } });
        let body = json!({ "message": { "type": "end-of-call-report", "call": call } }).to_string();
        let now = api.environment.clock.now().as_second();
        let request = api.request(Method::POST, "/webhooks/voice/simulator").anonymous();
        let request = request.header("x-signature", &sign(secret, now, body.as_bytes()));
        request.header("x-timestamp", &now.to_string()).body("application/json", body).send().await.status
    };
    let old = secret(&api);
    overlap(&mut api);
    let new = secret(&api);
    assert_eq!((deliver(&api, &old).await, deliver(&api, &new).await), (200, 200));
    end_overlap(&mut api);
    assert_eq!((deliver(&api, &old).await, deliver(&api, &new).await), (401, 200));
}
