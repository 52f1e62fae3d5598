//! Channels in the dashboard: an account on X by way of X's own page, a number on WhatsApp, and what stands in for them.

use serde_json::{Value, json};
use shared::config::{Services, VapiAccess};
use shared::model::{Mode, XConnection};
use shared::secret::Secret;
use tests::browser::{Browser, form, input};
use tests::desk::{actions, escaped, join as joined, owner};
use tests::fake::{NOWHERE, Play};
use tests::{ACME, Answer, BASE_URL, GLOBEX, World, tenant};

use crate::dashboard_access::writes;
use crate::fake_x::{FakeX, ME, POST, TOKEN, keys, problem, services};
use crate::x_posts::{live_posting, post};

const PATH: &str = "/dashboard/settings/integrations/channels";

async fn acme(world: &World) -> Browser<'_> {
    Browser::of(world, ACME, &owner(world, ACME).await).await
}

async fn world() -> (World, FakeX) {
    let x = FakeX::start().await;
    let world = World::with_services(services(&x.fake.url)).await;
    (world, x)
}

async fn stored(world: &World, demo: usize) -> Option<XConnection> {
    world.store().find_x_connection(tenant(demo, Mode::Live)).await.unwrap()
}

/// Sets out for X; gives the address that the browser is sent to.
async fn set_out(browser: &Browser<'_>) -> String {
    let answer = browser.post(&format!("{PATH}/x/connect"), &[]).await.expect(303);
    answer.header("location").to_owned()
}

fn state_of(address: &str) -> String {
    let url = url::Url::parse(address).unwrap();
    url.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned()
}

async fn come_back(browser: &Browser<'_>, code: &str, state: &str) -> Answer {
    browser.get(&format!("{PATH}/x/callback?{}", form(&[("state", state), ("code", code)]))).await.expect(303)
}

/// Connects the account, as its owner allows it.
async fn connect(browser: &Browser<'_>, x: &FakeX) -> Answer {
    let address = set_out(browser).await;
    come_back(browser, &x.allow(&address), &state_of(&address)).await
}

const STALE: &str = "The way back from X took too long, or began in another browser.";

#[tokio::test]
async fn an_account_on_x_is_connected_used_and_forgotten() {
    let (world, x) = world().await;
    let browser = acme(&world).await;
    let shown = browser.get(PATH).await.expect(200);
    assert!(actions(&shown).contains(&format!("{PATH}/x/connect")));
    assert!(!actions(&shown).contains(&format!("{PATH}/x/disconnect")));
    let posting = live_posting(&world).await;
    post(&world, posting).await.expect(422);

    world.wire.take();
    let address = set_out(&browser).await;
    assert!(!world.wire.take().iter().any(writes), "the way back is computed, not stored");
    let callback = form(&[("redirect_uri", &format!("{BASE_URL}{PATH}/x/callback"))]);
    assert!(address.contains(&callback), "{address}");
    let answer = come_back(&browser, &x.allow(&address), &state_of(&address)).await;
    assert_eq!(answer.header("location"), format!("{PATH}?done=x-connected"));
    let shown = browser.follow(&answer).await.expect(200);
    assert!(shown.text.contains("The account on X is connected.") && shown.text.contains("@acme_jobs"));
    assert!(!actions(&shown).contains(&format!("{PATH}/x/connect")));
    let connection = stored(&world, ACME).await.unwrap();
    assert_eq!((connection.username.as_str(), connection.access.key.as_str()), ("acme_jobs", "k1"));
    assert_eq!(connection.expires_at.to_string(), "2026-11-20T11:30:00Z");
    assert!(stored(&world, GLOBEX).await.is_none());

    post(&world, posting).await.expect(201);
    let asked: Vec<_> = x.asked().into_iter().map(|(route, token)| format!("{route} {token}")).collect();
    assert_eq!(asked, [format!("{TOKEN} code-1"), format!("{ME} access-2"), format!("{POST} access-2")]);
    world.hands.set("2026-11-20T11:30:00Z");
    post(&world, posting).await.expect(201);
    assert_eq!(x.asked()[3], (TOKEN.to_owned(), "refresh-2".to_owned()), "the refresh token is kept, too");

    for call in world.wire.take() {
        let wire = format!("{} {}", call.request, call.response);
        for plain in ["access-2", "refresh-2", "access-3", "code-1", "s3cret"] {
            assert!(!wire.contains(plain), "{plain} in {wire}");
        }
    }
    let browser = acme(&world).await;
    let answer = browser.post(&format!("{PATH}/x/disconnect"), &[]).await.expect(303);
    assert!(browser.follow(&answer).await.text.contains("The account on X is forgotten."));
    assert!(stored(&world, ACME).await.is_none());
    post(&world, posting).await.expect(422);
    browser.post(&format!("{PATH}/x/disconnect"), &[]).await.expect(303);
}

#[tokio::test]
async fn a_way_back_is_for_one_browser_one_mode_and_ten_minutes() {
    let (world, x) = world().await;
    let browser = acme(&world).await;
    let ada = owner(&world, ACME).await;
    let (address, other_address) = (set_out(&browser).await, set_out(&browser).await);
    let (state, code) = (state_of(&address), x.allow(&address));
    assert_ne!(state, state_of(&other_address), "each journey is another");
    let colleague = joined(&world, ACME, "Jo", shared::model::MemberRole::Member).await;
    let stale = async |browser: &Browser<'_>, state: &str, what: &str| {
        let answer = come_back(browser, &code, state).await;
        assert_eq!(answer.header("location"), format!("{PATH}?failed=x-stale"), "{what}");
        assert!(browser.follow(&answer).await.expect(200).text.contains(STALE), "{what}");
    };
    stale(&Browser::of(&world, ACME, &ada).await, &state, "another browser of the same member").await;
    stale(&Browser::of(&world, ACME, &colleague).await, &state, "a colleague").await;
    let grace = Browser::of(&world, GLOBEX, &owner(&world, GLOBEX).await).await;
    stale(&grace, &state, "another organization").await;
    Browser::new(&world)
        .get(&format!("{PATH}/x/callback?{}", form(&[("state", &state), ("code", &code)])))
        .await
        .expect(303);
    let (start, digest) = state.rsplit_once('.').unwrap();
    let later = start.replace(&start.split('.').nth(1).unwrap().to_owned(), "1795167001");
    for (tampered, what) in [
        (String::new(), "none"),
        ("x".to_owned(), "junk"),
        (start.to_owned(), "no digest"),
        (format!("{start}."), "an empty digest"),
        (format!("{start}.{}", digest.to_lowercase()), "another digest"),
        (format!("x{state}"), "another journey"),
        (format!("{later}.{digest}"), "another time"),
        (format!("{}.{digest}", start.replace("live", "test")), "another mode"),
        ("x.-9223372036854775808.live.x".to_owned(), "the oldest time"),
        ("x.9223372036854775807.live.x".to_owned(), "the latest time"),
        (format!("{state}.{digest}"), "more"),
    ] {
        stale(&browser, &tampered, what).await;
    }
    world.hands.set("2026-11-20T09:40:00Z");
    stale(&browser, &state, "ten minutes later").await;
    world.hands.set("2026-11-20T09:29:59Z");
    stale(&browser, &state, "before it began").await;
    assert!(stored(&world, ACME).await.is_none() && x.asked().is_empty());
    world.hands.set("2026-11-20T09:39:59Z");
    let answer = come_back(&browser, &code, &state).await;
    assert_eq!(answer.header("location"), format!("{PATH}?done=x-connected"));
    // A code is good once, and X says so.
    let again = come_back(&browser, &code, &state).await;
    assert_eq!(again.header("location"), format!("{PATH}?failed=x-failed"));
    // A code of another journey of the same browser has another verifier.
    let (one, two) = (set_out(&browser).await, set_out(&browser).await);
    let mixed = come_back(&browser, &x.allow(&one), &state_of(&two)).await;
    assert_eq!(mixed.header("location"), format!("{PATH}?failed=x-failed"));
    assert_eq!(stored(&world, ACME).await.unwrap().username, "acme_jobs", "what was connected stays");
    // In between, somebody looks at test data: there is nothing to connect there.
    let address = set_out(&browser).await;
    let code = x.allow(&address);
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let query = form(&[("state", &state_of(&address)), ("code", &code)]);
    browser.get(&format!("{PATH}/x/callback?{query}")).await.expect(404);
    browser.post(&format!("{PATH}/x/connect"), &[]).await.expect(404);
}

#[tokio::test]
async fn what_x_does_not_grant_is_not_connected() {
    let (world, x) = world().await;
    let browser = acme(&world).await;
    let address = set_out(&browser).await;
    let declined = form(&[("state", &state_of(&address)), ("error", "access_denied")]);
    let answer = browser.get(&format!("{PATH}/x/callback?{declined}")).await.expect(303);
    let shown = browser.follow(&answer).await.expect(200);
    assert!(shown.text.contains("X was not allowed to connect the account."), "{}", shown.text);
    assert!(x.asked().is_empty());
    let half = json!({ "token_type": "bearer", "access_token": "access-9" });
    for (route, play) in [
        (TOKEN, Play::Json(400, json!({ "error": "invalid_request" }))),
        (TOKEN, Play::Json(401, json!({ "error": "invalid_client" }))),
        (TOKEN, Play::Json(200, half)),
        (TOKEN, Play::Html(500)),
        (TOKEN, Play::Nothing),
        (ME, problem(403, "Forbidden", "Not permitted")),
        (ME, problem(401, "Unauthorized", "Unauthorized")),
        (ME, Play::Json(200, json!({ "data": { "id": "42", "name": "x", "username": "a/../b" } }))),
        (ME, Play::Html(200)),
        (ME, Play::Nothing),
    ] {
        let what = format!("{route} {play:?}");
        x.play(route, play);
        let answer = connect(&browser, &x).await;
        assert_eq!(answer.header("location"), format!("{PATH}?failed=x-failed"), "{what}");
        assert!(browser.follow(&answer).await.text.contains("X did not connect the account."), "{what}");
        assert!(stored(&world, ACME).await.is_none(), "{what}");
        x.heal();
    }
    assert_eq!(connect(&browser, &x).await.header("location"), format!("{PATH}?done=x-connected"));
}

/// Connected anew, an account that had expired is in order again.
#[tokio::test]
async fn an_expired_account_is_connected_again() {
    let (world, x) = world().await;
    let browser = acme(&world).await;
    connect(&browser, &x).await;
    let posting = live_posting(&world).await;
    x.revoke();
    post(&world, posting).await.expect(422);
    let shown = browser.get(PATH).await.expect(200);
    assert!(shown.text.contains("is-expired") && shown.text.contains("Connect again"), "{}", shown.text);
    assert!(actions(&shown).contains(&format!("{PATH}/x/connect")));
    connect(&browser, &x).await;
    assert!(!browser.get(PATH).await.expect(200).text.contains("is-expired"));
    post(&world, posting).await.expect(201);
}

#[tokio::test]
async fn a_number_on_whatsapp_is_connected_with_a_form() {
    let (world, _x) = world().await;
    let browser = acme(&world).await;
    let path = format!("{PATH}/whatsapp/connect");
    let long = "x".repeat(2_001);
    for (number, token, problems) in [
        ("", "EAAB", &["The phone number ID must be 1 to 20 digits."][..]),
        ("+1 555", "EAAB", &["The phone number ID must be 1 to 20 digits."]),
        ("123456789012345678901", "EAAB", &["The phone number ID must be 1 to 20 digits."]),
        ("٣", "EAAB", &["The phone number ID must be 1 to 20 digits."]),
        ("106540352242922", "", &["The token must be visible ASCII without spaces."]),
        ("106540352242922", "EA AB", &["The token must be visible ASCII without spaces."]),
        ("106540352242922", "EAÄB", &["The token must be"]),
        ("106540352242922", &long, &["The token must be"]),
        ("<b>", "", &["The phone number ID must be 1 to 20 digits.", "The token must be"]),
    ] {
        world.wire.take();
        let page = browser.post(&path, &[("phone_number_id", number), ("token", token)]).await.expect(422);
        assert!(!world.wire.take().iter().any(writes));
        for problem in problems {
            assert!(page.text.contains(&escaped(problem)), "{problem}: {}", page.text);
        }
        assert_eq!((input(&page, "phone_number_id").as_str(), input(&page, "token").as_str()), (number, ""));
        assert!(page.header("content-security-policy").contains("form-action 'self' https://x.com;"));
    }
    world.wire.take();
    let fields = [("phone_number_id", " 106540352242922 "), ("token", " EAABsecret ")];
    let answer = browser.post(&path, &fields).await.expect(303);
    let shown = browser.follow(&answer).await.expect(200);
    assert!(
        shown.text.contains("The WhatsApp number is connected.") && shown.text.contains("106540352242922")
    );
    assert!(!actions(&shown).contains(&path));
    for call in world.wire.take() {
        let wire = format!("{} {}", call.request, call.response);
        assert!(!wire.contains("EAABsecret"), "{wire}");
    }
    let live = tenant(ACME, Mode::Live);
    let day = shared::model::Day::of(world.environment.clock.now());
    let connection = world.store().find_channels(live, day).await.unwrap().whatsapp.unwrap();
    let opened = shared::accounts::whatsapp_token(live, &connection, &keys(&["k1"])).unwrap();
    assert_eq!(opened.expose(), "EAABsecret");
    // The longest token that the form takes is one that can be kept.
    let longest = "x".repeat(2_000);
    browser.post(&path, &[("phone_number_id", "1"), ("token", &longest)]).await.expect(303);
    let answer = browser.post(&format!("{PATH}/whatsapp/disconnect"), &[]).await.expect(303);
    let shown = browser.follow(&answer).await.expect(200);
    assert!(shown.text.contains("The WhatsApp number is forgotten.") && actions(&shown).contains(&path));
    assert!(world.store().find_channels(live, day).await.unwrap().whatsapp.is_none());
}

#[tokio::test]
async fn what_is_simulated_or_missing_says_so_and_has_no_forms() {
    let (configured, _x) = world().await;
    let simulated = World::new().await;
    let missing = World::with_services(Services::default()).await;
    let vapi = VapiAccess {
        api_key: Secret::new("key"),
        phone_number_id: "number".to_owned(),
        webhook_secret: Secret::new("0123456789abcdef0123456789abcdef"),
        credential_id: None,
    };
    let calling = World::with_services(Services { vapi: Some(vapi), ..services(NOWHERE) }).await;
    let simulator = ["Simulated: a built-in account stands in", "Simulator", "Conversations are made up"];
    let nothing =
        ["This service has no app on X", "This service keeps no tokens", "Candidates cannot be invited"];
    for (world, mode, said, has_forms) in [
        (&simulated, "live", &simulator[..], false),
        (&simulated, "test", &simulator, false),
        (&configured, "test", &simulator, false),
        (&missing, "test", &simulator, false),
        (&missing, "live", &nothing, false),
        (&configured, "live", &["Candidates cannot be invited"], true),
        (&calling, "live", &["Candidates are called by Vapi."], true),
    ] {
        let browser = acme(world).await;
        browser.post("/dashboard/mode", &[("mode", mode)]).await.expect(303);
        let shown = browser.get(PATH).await.expect(200);
        for sentence in said {
            assert!(shown.text.contains(sentence), "{mode}: {sentence}");
        }
        let forms: Vec<_> = actions(&shown).into_iter().filter(|action| action.starts_with(PATH)).collect();
        let expected = [format!("{PATH}/x/connect"), format!("{PATH}/whatsapp/connect")];
        assert_eq!(forms, if has_forms { &expected[..] } else { &[] }, "{mode} {said:?}");
        let leads_to_x = shown.header("content-security-policy").contains("https://x.com");
        assert_eq!(leads_to_x, has_forms, "{mode}");
        let fields = [("phone_number_id", "1"), ("token", "x")];
        let status = if has_forms { 303 } else { 404 };
        world.wire.take();
        browser.post(&format!("{PATH}/x/connect"), &[]).await.expect(status);
        browser.post(&format!("{PATH}/whatsapp/connect"), &fields).await.expect(status);
        assert_eq!(world.wire.take().iter().any(writes), has_forms);
    }
}

/// The page shows what is known; it asks nobody.
#[tokio::test]
async fn the_page_shows_what_the_channels_last_said() {
    let (world, x) = world().await;
    let browser = acme(&world).await;
    connect(&browser, &x).await;
    let before = x.asked().len();
    assert!(!browser.get(PATH).await.expect(200).text.contains("Checked"));
    assert_eq!(x.asked().len(), before);
    let shown: Value = world.get("/api/v1/channels").await.expect(200).body;
    assert_eq!(shown["x"]["status"], "connected");
    let page = browser.get(PATH).await.expect(200);
    assert!(page.text.contains("<dt>Checked</dt><dd>20 Nov 2026, 09:30 UTC</dd>"), "{}", page.text);
}
