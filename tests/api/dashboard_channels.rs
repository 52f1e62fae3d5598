//! Channels in the dashboard: X accounts, WhatsApp numbers, and simulated channels.

use serde_json::{Value, json};
use shared::config::{Services, VapiAccess};
use shared::model::{AuditAction, Mode, XConnection};
use shared::secret::Secret;
use tests::browser::{Browser, form, input};
use tests::dashboard::{actions, add_member, escaped, owner};
use tests::fake::{FakeResponse, NOWHERE};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

use crate::dashboard_access::is_write;
use crate::fake_x::{FakeX, ME, POST, REVOKE, TOKEN, keys, problem, services};
use crate::x_posts::{live_posting, post};

const PATH: &str = "/dashboard/settings/integrations/channels";

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

pub(crate) async fn api() -> (TestApi, FakeX) {
    let x = FakeX::start().await;
    let api = TestApi::with_services(services(&x.fake.url)).await;
    (api, x)
}

async fn stored(api: &TestApi, demo: usize) -> Option<XConnection> {
    api.store().find_x_connection(tenant(demo, Mode::Live)).await.unwrap()
}

/// Begins an authorization on X, and returns the URL of the redirect.
pub(crate) async fn begin(browser: &Browser<'_>) -> String {
    let response = browser.post(&format!("{PATH}/x/connect"), &[]).await.expect(303);
    response.header("location").to_owned()
}

pub(crate) fn state_of(url: &str) -> String {
    let url = url::Url::parse(url).unwrap();
    url.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned()
}

pub(crate) async fn callback(browser: &Browser<'_>, code: &str, state: &str) -> Response {
    browser.get(&format!("{PATH}/x/callback?{}", form(&[("state", state), ("code", code)]))).await.expect(303)
}

/// Connects an X account: the member allows access on X.
async fn connect(browser: &Browser<'_>, x: &FakeX) -> Response {
    let url = begin(browser).await;
    callback(browser, &x.allow(&url), &state_of(&url)).await
}

const STALE: &str = "The connection to X took too long or was started in another browser.";

#[tokio::test]
async fn an_x_account_is_connected_used_and_disconnected() {
    let (api, x) = api().await;
    let browser = acme(&api).await;
    let page = browser.get(PATH).await.expect(200);
    assert!(actions(&page).contains(&format!("{PATH}/x/connect")));
    assert!(!actions(&page).contains(&format!("{PATH}/x/disconnect")));
    let posting = live_posting(&api).await;
    post(&api, posting).await.expect(422);

    api.dynamodb.take_calls();
    let url = begin(&browser).await;
    assert!(!api.dynamodb.take_calls().iter().any(is_write), "the state is computed, not stored");
    let redirect_uri = form(&[("redirect_uri", &format!("{BASE_URL}{PATH}/x/callback"))]);
    assert!(url.contains(&redirect_uri), "{url}");
    let response = callback(&browser, &x.allow(&url), &state_of(&url)).await;
    assert_eq!(response.header("location"), format!("{PATH}?done=x-connected"));
    let entries = crate::audit_log::entries(&api, ACME, Mode::Live).await;
    let owner = owner(&api, ACME).await;
    assert_eq!((entries[0].action, entries[0].actor.id), (AuditAction::ChannelConnected, Some(owner.id)));
    api.run_feed().await;
    let events = api.get("/api/v1/events?type=connection.created").await.expect(200);
    assert_eq!(events.string("/data/0/data/channel"), "x");
    let page = browser.follow(&response).await.expect(200);
    assert!(page.text.contains("X account connected.") && page.text.contains("@acme_jobs"));
    assert!(!actions(&page).contains(&format!("{PATH}/x/connect")));
    let connection = stored(&api, ACME).await.unwrap();
    assert_eq!((connection.username.as_str(), connection.access.key.as_str()), ("acme_jobs", "k1"));
    assert_eq!(connection.expires_at.to_string(), "2026-11-20T11:30:00.000Z");
    assert!(stored(&api, GLOBEX).await.is_none());

    post(&api, posting).await.expect(201);
    let requests: Vec<_> =
        x.requests().into_iter().map(|(route, token)| format!("{route} {token}")).collect();
    assert_eq!(requests, [format!("{TOKEN} code-1"), format!("{ME} access-2"), format!("{POST} access-2")]);
    api.clock.set("2026-11-20T11:30:00Z");
    post(&api, posting).await.expect(201);
    assert_eq!(
        x.requests()[3],
        (TOKEN.to_owned(), "refresh-2".to_owned()),
        "the refresh token is stored, too"
    );

    for call in api.dynamodb.take_calls() {
        let wire = format!("{} {}", call.request, call.response);
        for plain in ["access-2", "refresh-2", "access-3", "code-1", "s3cret"] {
            assert!(!wire.contains(plain), "{plain} in {wire}");
        }
    }
    let browser = acme(&api).await;
    let response = browser.post(&format!("{PATH}/x/disconnect"), &[]).await.expect(303);
    assert!(browser.follow(&response).await.text.contains("X account disconnected."));
    assert!(stored(&api, ACME).await.is_none());
    let requests = x.requests().into_iter();
    let mut revoked: Vec<_> =
        requests.filter_map(|(route, token)| (route == REVOKE).then_some(token)).collect();
    revoked.sort_unstable();
    assert_eq!(revoked, ["access-3", "refresh-3"]);
    post(&api, posting).await.expect(422);
    browser.post(&format!("{PATH}/x/disconnect"), &[]).await.expect(303);
    assert_eq!(x.count(REVOKE), 2, "no account is connected");
}

#[tokio::test]
async fn an_account_is_disconnected_also_if_x_does_not_revoke_its_tokens() {
    let (api, x) = api().await;
    let browser = acme(&api).await;
    for failure in [
        FakeResponse::Json(400, json!({ "error": "invalid_request" })),
        FakeResponse::Html(503),
        FakeResponse::Close,
        FakeResponse::TimeOut,
    ] {
        connect(&browser, &x).await;
        x.reply_with(REVOKE, failure);
        let response = browser.post(&format!("{PATH}/x/disconnect"), &[]).await.expect(303);
        assert!(stored(&api, ACME).await.is_none());
        let page = browser.follow(&response).await;
        assert!(page.text.contains("X did not confirm that the access has ended"), "{}", page.text);
    }
    // An access token that has expired needs no revocation.
    x.reply_normally();
    connect(&browser, &x).await;
    let before = x.count(REVOKE);
    let mut connection = stored(&api, ACME).await.unwrap();
    connection.expires_at = api.environment.clock.now();
    crate::fake_x::connect(&api, Mode::Live, &connection).await;
    browser.post(&format!("{PATH}/x/disconnect"), &[]).await.expect(303);
    assert_eq!(x.count(REVOKE), before + 1);
}

#[tokio::test]
async fn an_x_state_is_valid_for_one_session_one_mode_and_ten_minutes() {
    let (api, x) = api().await;
    let browser = acme(&api).await;
    let ada = owner(&api, ACME).await;
    let (url, other_url) = (begin(&browser).await, begin(&browser).await);
    let (state, code) = (state_of(&url), x.allow(&url));
    assert_ne!(state, state_of(&other_url), "every authorization has its own state");
    let colleague = add_member(&api, ACME, "Jo", shared::model::MemberRole::Member).await;
    let stale = async |browser: &Browser<'_>, state: &str, context: &str| {
        let response = callback(browser, &code, state).await;
        assert_eq!(response.header("location"), format!("{PATH}?failed=x-stale"), "{context}");
        assert!(browser.follow(&response).await.expect(200).text.contains(STALE), "{context}");
    };
    stale(&Browser::with_session(&api, ACME, &ada).await, &state, "another browser of the same member").await;
    stale(&Browser::with_session(&api, ACME, &colleague).await, &state, "a colleague").await;
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    stale(&grace, &state, "another organization").await;
    Browser::new(&api)
        .get(&format!("{PATH}/x/callback?{}", form(&[("state", &state), ("code", &code)])))
        .await
        .expect(303);
    let (start, digest) = state.rsplit_once('.').unwrap();
    let later = start.replace(&start.split('.').nth(1).unwrap().to_owned(), "1795167001");
    for (tampered, context) in [
        (String::new(), "none"),
        ("x".to_owned(), "junk"),
        (start.to_owned(), "no digest"),
        (format!("{start}."), "an empty digest"),
        (format!("{start}.{}", digest.to_lowercase()), "another digest"),
        (format!("x{state}"), "another authorization"),
        (format!("{later}.{digest}"), "another time"),
        (format!("{}.{digest}", start.replace("live", "test")), "another mode"),
        ("x.-9223372036854775808.live.x".to_owned(), "the oldest time"),
        ("x.9223372036854775807.live.x".to_owned(), "the latest time"),
        (format!("{state}.{digest}"), "an extra part"),
    ] {
        stale(&browser, &tampered, context).await;
    }
    api.clock.set("2026-11-20T09:40:00Z");
    stale(&browser, &state, "ten minutes later").await;
    api.clock.set("2026-11-20T09:29:59Z");
    stale(&browser, &state, "before the authorization started").await;
    assert!(stored(&api, ACME).await.is_none() && x.requests().is_empty());
    api.clock.set("2026-11-20T09:39:59Z");
    let response = callback(&browser, &code, &state).await;
    assert_eq!(response.header("location"), format!("{PATH}?done=x-connected"));
    // X accepts a code only once.
    let again = callback(&browser, &code, &state).await;
    assert_eq!(again.header("location"), format!("{PATH}?failed=x-failed"));
    // The code of another authorization has another verifier.
    let (one, two) = (begin(&browser).await, begin(&browser).await);
    let mixed = callback(&browser, &x.allow(&one), &state_of(&two)).await;
    assert_eq!(mixed.header("location"), format!("{PATH}?failed=x-failed"));
    assert_eq!(stored(&api, ACME).await.unwrap().username, "acme_jobs", "the connected account stays");
    // The member switches to test data during the authorization. In test mode, the channel is simulated.
    let url = begin(&browser).await;
    let code = x.allow(&url);
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let query = form(&[("state", &state_of(&url)), ("code", &code)]);
    browser.get(&format!("{PATH}/x/callback?{query}")).await.expect(404);
    browser.post(&format!("{PATH}/x/connect"), &[]).await.expect(404);
}

#[tokio::test]
async fn a_declined_or_failed_x_authorization_connects_nothing() {
    let (api, x) = api().await;
    let browser = acme(&api).await;
    let url = begin(&browser).await;
    let declined = form(&[("state", &state_of(&url)), ("error", "access_denied")]);
    let response = browser.get(&format!("{PATH}/x/callback?{declined}")).await.expect(303);
    let page = browser.follow(&response).await.expect(200);
    assert!(page.text.contains("X account not connected: access was declined on X."), "{}", page.text);
    assert!(x.requests().is_empty());
    let half = json!({ "token_type": "bearer", "access_token": "access-9" });
    for (route, fake_response) in [
        (TOKEN, FakeResponse::Json(400, json!({ "error": "invalid_request" }))),
        (TOKEN, FakeResponse::Json(401, json!({ "error": "invalid_client" }))),
        (TOKEN, FakeResponse::Json(200, half)),
        (TOKEN, FakeResponse::Html(500)),
        (TOKEN, FakeResponse::Close),
        (ME, problem(403, "Forbidden", "Not permitted")),
        (ME, problem(401, "Unauthorized", "Unauthorized")),
        (ME, FakeResponse::Json(200, json!({ "data": { "id": "42", "name": "x", "username": "a/../b" } }))),
        (ME, FakeResponse::Html(200)),
        (ME, FakeResponse::Close),
    ] {
        let context = format!("{route} {fake_response:?}");
        x.reply_with(route, fake_response);
        let response = connect(&browser, &x).await;
        assert_eq!(response.header("location"), format!("{PATH}?failed=x-failed"), "{context}");
        assert!(
            browser.follow(&response).await.text.contains("The X account could not be connected."),
            "{context}"
        );
        assert!(stored(&api, ACME).await.is_none(), "{context}");
        x.reply_normally();
    }
    assert_eq!(connect(&browser, &x).await.header("location"), format!("{PATH}?done=x-connected"));
}

#[tokio::test]
async fn an_expired_account_can_be_reconnected() {
    let (api, x) = api().await;
    let browser = acme(&api).await;
    connect(&browser, &x).await;
    let posting = live_posting(&api).await;
    x.revoke();
    post(&api, posting).await.expect(422);
    let page = browser.get(PATH).await.expect(200);
    assert!(page.text.contains("is-expired") && page.text.contains("Reconnect"), "{}", page.text);
    assert!(actions(&page).contains(&format!("{PATH}/x/connect")));
    connect(&browser, &x).await;
    assert!(!browser.get(PATH).await.expect(200).text.contains("is-expired"));
    post(&api, posting).await.expect(201);
}

#[tokio::test]
async fn a_whatsapp_number_is_connected_with_a_form() {
    let (api, _x) = api().await;
    let browser = acme(&api).await;
    let path = format!("{PATH}/whatsapp/connect");
    let long = "x".repeat(2_001);
    for (number, token, problems) in [
        ("", "EAAB", &["The phone number ID must be 1 to 20 digits."][..]),
        ("+1 555", "EAAB", &["The phone number ID must be 1 to 20 digits."]),
        ("123456789012345678901", "EAAB", &["The phone number ID must be 1 to 20 digits."]),
        ("٣", "EAAB", &["The phone number ID must be 1 to 20 digits."]),
        (
            "106540352242922",
            "",
            &["The access token must be 1 to 2,000 visible ASCII characters without spaces."],
        ),
        (
            "106540352242922",
            "EA AB",
            &["The access token must be 1 to 2,000 visible ASCII characters without spaces."],
        ),
        ("106540352242922", "EAÄB", &["The access token must be"]),
        ("106540352242922", &long, &["The access token must be"]),
        ("<b>", "", &["The phone number ID must be 1 to 20 digits.", "The access token must be"]),
    ] {
        api.dynamodb.take_calls();
        let page = browser.post(&path, &[("phone_number_id", number), ("token", token)]).await.expect(422);
        assert!(!api.dynamodb.take_calls().iter().any(is_write));
        for problem in problems {
            assert!(page.text.contains(&escaped(problem)), "{problem}: {}", page.text);
        }
        assert_eq!((input(&page, "phone_number_id").as_str(), input(&page, "token").as_str()), (number, ""));
        assert!(page.header("content-security-policy").contains("form-action 'self' https://x.com;"));
    }
    api.dynamodb.take_calls();
    let fields = [("phone_number_id", " 106540352242922 "), ("token", " EAABsecret ")];
    let response = browser.post(&path, &fields).await.expect(303);
    let page = browser.follow(&response).await.expect(200);
    assert!(page.text.contains("WhatsApp number connected.") && page.text.contains("106540352242922"));
    assert!(!actions(&page).contains(&path));
    for call in api.dynamodb.take_calls() {
        let wire = format!("{} {}", call.request, call.response);
        assert!(!wire.contains("EAABsecret"), "{wire}");
    }
    let live = tenant(ACME, Mode::Live);
    let day = shared::model::Day::of(api.environment.clock.now());
    let connection = api.store().get_channels(live, day).await.unwrap().whatsapp.unwrap();
    let opened = shared::services::accounts::whatsapp_token(live, &connection, &keys(&["k1"])).unwrap();
    assert_eq!(opened.expose(), "EAABsecret");
    // A token of the maximum length can be stored.
    let longest = "x".repeat(2_000);
    browser.post(&path, &[("phone_number_id", "1"), ("token", &longest)]).await.expect(303);
    let response = browser.post(&format!("{PATH}/whatsapp/disconnect"), &[]).await.expect(303);
    let page = browser.follow(&response).await.expect(200);
    assert!(page.text.contains("WhatsApp number disconnected.") && actions(&page).contains(&path));
    assert!(api.store().get_channels(live, day).await.unwrap().whatsapp.is_none());
}

#[tokio::test]
async fn simulated_and_missing_channels_have_an_explanation_and_no_forms() {
    let (configured, _x) = api().await;
    let simulated = TestApi::new().await;
    let missing = TestApi::with_services(Services::default()).await;
    let vapi = VapiAccess {
        api_key: Some(Secret::new("key")),
        phone_number_id: "number".to_owned(),
        webhook_secret: Some(Secret::new("0123456789abcdef0123456789abcdef")),
        credential_id: None,
    };
    let calling = TestApi::with_services(Services { vapi: Some(vapi), ..services(NOWHERE) }).await;
    let simulator = ["Simulated: a built-in account is used", "Simulator", "Conversations are made up"];
    let nothing = [
        "X is not set up on this service",
        "WhatsApp is not set up on this service",
        "Candidates cannot be invited",
    ];
    for (api, mode, sentences, has_forms) in [
        (&simulated, "live", &simulator[..], false),
        (&simulated, "test", &simulator, false),
        (&configured, "test", &simulator, false),
        (&missing, "test", &simulator, false),
        (&missing, "live", &nothing, false),
        (&configured, "live", &["Candidates cannot be invited"], true),
        (&calling, "live", &["Vapi calls candidates."], true),
    ] {
        let browser = acme(api).await;
        browser.post("/dashboard/mode", &[("mode", mode)]).await.expect(303);
        let page = browser.get(PATH).await.expect(200);
        for sentence in sentences {
            assert!(page.text.contains(sentence), "{mode}: {sentence}");
        }
        let forms: Vec<_> = actions(&page).into_iter().filter(|action| action.starts_with(PATH)).collect();
        let mut expected = Vec::new();
        if has_forms {
            expected.extend(["x/connect", "whatsapp/connect"].map(|form| format!("{PATH}/{form}")));
        }
        // Only a real provider calls numbers of countries.
        if sentences == ["Vapi calls candidates."] {
            expected.push(format!("{PATH}/voice"));
        }
        assert_eq!(forms, expected, "{mode} {sentences:?}");
        let allows_x = page.header("content-security-policy").contains("https://x.com");
        assert_eq!(allows_x, has_forms, "{mode}");
        let fields = [("phone_number_id", "1"), ("token", "x")];
        let status = if has_forms { 303 } else { 404 };
        api.dynamodb.take_calls();
        browser.post(&format!("{PATH}/x/connect"), &[]).await.expect(status);
        browser.post(&format!("{PATH}/whatsapp/connect"), &fields).await.expect(status);
        assert_eq!(api.dynamodb.take_calls().iter().any(is_write), has_forms);
    }
}

#[tokio::test]
async fn the_page_shows_the_stored_status_and_calls_no_provider() {
    let (api, x) = api().await;
    let browser = acme(&api).await;
    connect(&browser, &x).await;
    let before = x.requests().len();
    assert!(!browser.get(PATH).await.expect(200).text.contains("Checked"));
    assert_eq!(x.requests().len(), before);
    let channels: Value = api.get("/api/v1/channels").await.expect(200).body;
    assert_eq!(channels["x"]["status"], "connected");
    let page = browser.get(PATH).await.expect(200);
    assert!(
        page.text.contains(
            "<dt>Checked</dt><dd><time datetime=\"2026-11-20T09:30:00Z\">20 Nov 2026, 09:30 UTC</time></dd>"
        ),
        "{}",
        page.text
    );
}
