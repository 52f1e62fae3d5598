//! The member's list of sessions, the fresh sign-in before dangerous changes, and what the end of all sessions ends
//! with them.

use http::Method;
use rolecall_local::demo::DEMOS;
use rolecall_local::functions::tables;
use shared::model::{Member, MemberRole, Mode};
use shared::store::Transaction;
use tests::browser::{Browser, FORM, Form, form, input};
use tests::dashboard::{actions, add_member, connect_app, owner, shown_once};
use tests::oauth::{OAuthApp, authorize_url};
use tests::{ACME, BASE_URL, GLOBEX, TestApi, tenant};

use crate::dashboard_access::{DashboardFixtures, is_write, page_routes};

const ACCOUNT: &str = "/dashboard/settings/account";
const CONFIRM: &str = "/dashboard/confirm";
const END: &str = "/dashboard/settings/account/sessions/end";
const PASSKEYS: &str = "/dashboard/settings/account/passkeys";
const SECOND_FACTOR: &str = "/dashboard/settings/account/second-factor";
const WEBHOOKS: &str = "/dashboard/webhooks";
const PASSWORD: &str = "a longer pass phrase";

/// The values of the buttons that end a session, in order.
async fn endable(browser: &Browser<'_>) -> Vec<String> {
    let page = browser.get(ACCOUNT).await.expect(200);
    let buttons = page.text.split("name=\"session\" value=\"").skip(1);
    buttons.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn members_see_their_sessions_and_end_them_one_by_one() {
    let api = TestApi::new().await;
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
    let (email, password) = (DEMOS[ACME].email, DEMOS[ACME].password);
    let first = Browser::new(&api).at([198, 51, 100, 7]);
    let csrf = first.csrf().await;
    let body = form(&[("csrf", &csrf), ("email", email), ("password", password)]);
    let sign_in = first.request(Method::POST, "/dashboard/sign-in").header("user-agent", firefox);
    let signed_in = sign_in.body(FORM, body).send().await.expect(303);
    let cookie = signed_in.header("set-cookie").split(['=', ';']).nth(1).unwrap().to_owned();
    let first = Browser::with_cookie(&api, &cookie);
    api.clock.set("2026-11-20T09:40:00Z");
    let (second, third) = (Browser::signed_in(&api, ACME).await, Browser::signed_in(&api, ACME).await);
    let colleague = add_member(&api, ACME, "Colleague", MemberRole::Owner).await;
    let colleague = Browser::with_session(&api, ACME, &colleague).await;

    let page = second.get(ACCOUNT).await.expect(200).text;
    let rows: Vec<_> = page.split("<tr>").filter(|row| row.contains("scope=\"row\"")).collect();
    assert_eq!(rows.len(), 3, "{page}");
    let oldest = rows[2];
    for part in ["Firefox on Linux", "198.51.100.7", "20 Nov 2026, 09:30 UTC", "End<"] {
        assert!(oldest.contains(part), "{part}: {oldest}");
    }
    let own: Vec<_> = rows.iter().filter(|row| row.contains("this session")).collect();
    assert!(own.len() == 1 && !own[0].contains("<form"), "{own:?}");

    let others = endable(&second).await;
    assert_eq!(others.len(), 2);
    let foreign = endable(&colleague).await;
    assert!(foreign.is_empty() && !page.contains("Test browser"), "members see only their own sessions");
    let response = second.post(END, &[("session", &others[1])]).await.expect(303);
    assert!(second.follow(&response).await.expect(200).text.contains("Session ended."));
    first.get(ACCOUNT).await.expect(303);
    for browser in [&second, &third, &colleague] {
        browser.get(ACCOUNT).await.expect(200);
    }
    assert_eq!(endable(&second).await, [others[0].clone()]);
    // Hashes of other members' sessions, and other texts, end nothing.
    for hash in [&others[0], "x", &"x".repeat(64)] {
        colleague.post(END, &[("session", hash)]).await.expect(303);
    }
    for invalid in ["", &"x".repeat(65)] {
        second.post(END, &[("session", invalid)]).await.expect(400);
    }
    third.get(ACCOUNT).await.expect(200);
    let own = endable(&third).await.remove(0);
    let response = second.post(END, &[("session", &own)]).await.expect(303);
    assert_eq!(response.header("location"), "/dashboard/sign-in?done=signed-out", "its own session");
    second.get(ACCOUNT).await.expect(303);
    third.get(ACCOUNT).await.expect(200);
}

#[tokio::test]
async fn sessions_that_have_ended_are_not_listed() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    Browser::with_session(&api, ACME, &ada).await;
    api.clock.set("2026-11-20T21:29:59Z");
    let browser = Browser::with_session(&api, ACME, &ada).await;
    assert_eq!(endable(&browser).await.len(), 1);
    api.clock.set("2026-11-20T21:30:00Z");
    assert_eq!(endable(&browser).await.len(), 0, "the first was not used for twelve hours");
}

#[tokio::test]
async fn members_can_sign_out_everywhere_else() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let acme = tenant(ACME, Mode::Live);
    let (_, token) = connect_app(&api.environment, acme, ada.id, "App").await;
    let browser = Browser::with_session(&api, ACME, &ada).await;
    assert!(!actions(&browser.get(ACCOUNT).await).contains(&format!("{END}-others")));
    let others =
        [Browser::with_session(&api, ACME, &ada).await, Browser::with_session(&api, ACME, &ada).await];
    let response = browser.post(&format!("{END}-others"), &[]).await.expect(303);
    assert!(browser.follow(&response).await.expect(200).text.contains("You are signed out everywhere else."));
    for other in &others {
        other.get(ACCOUNT).await.expect(303);
    }
    assert_eq!(endable(&browser).await.len(), 0);
    Browser::signed_in(&api, ACME).await.get(ACCOUNT).await.expect(200);
    let request = api.request(Method::GET, "/api/v1/organization");
    request.bearer(token.reveal()).send().await.expect(200);
}

/// The changes that need a fresh sign-in, each with the page that has the form.
const DANGEROUS: &[(&str, &str)] = &[
    ("POST /dashboard/candidates/{id}/export", "/dashboard/candidates/{id}"),
    ("GET /dashboard/candidates/{id}/erase", "/dashboard/candidates/{id}/erase"),
    ("POST /dashboard/candidates/{id}/erase", "/dashboard/candidates/{id}/erase"),
    ("GET /dashboard/candidates/{id}/legal-hold", "/dashboard/candidates/{id}/legal-hold"),
    ("POST /dashboard/candidates/{id}/legal-hold", "/dashboard/candidates/{id}/legal-hold"),
    ("GET /dashboard/imports/{id}/undo", "/dashboard/imports/{id}/undo"),
    ("POST /dashboard/imports/{id}/undo", "/dashboard/imports/{id}/undo"),
    ("GET /dashboard/exports/new", "/dashboard/exports/new"),
    ("POST /dashboard/exports/new", "/dashboard/exports/new"),
    ("GET /dashboard/exports/{id}", "/dashboard/exports/{id}"),
    ("POST /dashboard/settings/integrations/api-keys", "/dashboard/settings/integrations/api-keys"),
    (
        "POST /dashboard/settings/integrations/api-keys/{id}/rotate",
        "/dashboard/settings/integrations/api-keys",
    ),
    (
        "POST /dashboard/settings/integrations/api-keys/{id}/revoke",
        "/dashboard/settings/integrations/api-keys",
    ),
    ("POST /dashboard/settings/integrations/channels/voice", "/dashboard/settings/integrations/channels"),
    ("POST /dashboard/settings/retention", "/dashboard/settings/retention"),
    ("POST /dashboard/settings/members", "/dashboard/settings/members"),
    ("POST /dashboard/settings/members/{id}/link", "/dashboard/settings/members"),
    ("POST /dashboard/settings/members/{id}/role", "/dashboard/settings/members"),
    ("POST /dashboard/settings/members/{id}/remove", "/dashboard/settings/members"),
    ("POST /dashboard/settings/members/{id}/second-factor", "/dashboard/settings/members"),
    ("POST /dashboard/settings/members/second-factor", "/dashboard/settings/members"),
    ("POST /dashboard/settings/application-limits", "/dashboard/settings/application-limits"),
    ("POST /dashboard/settings/integrations/confirmations", "/dashboard/settings/integrations/confirmations"),
    ("POST /dashboard/webhooks", WEBHOOKS),
    ("POST /dashboard/webhooks/{id}", WEBHOOKS),
    ("POST /dashboard/webhooks/{id}/rotate", WEBHOOKS),
    ("POST /dashboard/webhooks/{id}/delete", WEBHOOKS),
    ("GET /dashboard/settings/account/second-factor", SECOND_FACTOR),
    ("POST /dashboard/settings/account/second-factor", SECOND_FACTOR),
    ("POST /dashboard/settings/account/second-factor/recovery-codes", SECOND_FACTOR),
    ("POST /dashboard/settings/account/second-factor/remove", SECOND_FACTOR),
    ("POST /dashboard/settings/account/passkeys/{id}/remove", ACCOUNT),
    ("GET /dashboard/settings/account/passkeys", PASSKEYS),
    ("POST /dashboard/settings/account/passkeys", PASSKEYS),
];

/// Whether the form of a route has nothing that a page may repeat.
fn has_secrets(key: &str) -> bool {
    key == "POST /dashboard/settings/account/second-factor"
}

#[tokio::test]
async fn dangerous_changes_need_a_password_that_was_given_in_the_last_15_minutes() {
    let pages = tables().into_iter().flat_map(|tables| tables.pages);
    let fresh = pages.filter_map(|route| Some((route.key, route.fresh_sign_in_for()?)));
    assert_eq!(fresh.collect::<Vec<_>>(), DANGEROUS);
    for (key, form_page) in DANGEROUS {
        let api = TestApi::new().await;
        let fixtures = DashboardFixtures::new(&api).await;
        let route = page_routes().into_iter().find(|route| route.key == *key).unwrap();
        let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
        let form_page = &form_page.replace("{id}", &fixtures.id(route).to_string());
        let send = async || {
            if route.is_post() {
                browser.post(&fixtures.path(route), &fixtures.fields(route)).await
            } else {
                browser.get(&fixtures.path(route)).await
            }
        };
        api.clock.set("2026-11-20T09:44:00Z");
        browser.get(form_page).await.expect(200);
        api.clock.set("2026-11-20T09:45:00Z");
        api.dynamodb.take_calls();
        let asked = send().await;
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{key}");
        // The page that asks keeps what was typed.
        let waits = asked.status == 401;
        assert_eq!(
            waits,
            route.is_post() && !fixtures.fields(route).is_empty() && !has_secrets(key),
            "{key}"
        );
        let page = if waits {
            asked
        } else {
            let expected = format!("{CONFIRM}?{}", form(&[("return_to", form_page)]));
            assert_eq!((asked.status, asked.header("location")), (303, &*expected), "{key}");
            browser.follow(&asked).await.expect(200)
        };
        assert_eq!(input(&page, "return_to"), *form_page);
        let hidden = Form::of(&page, CONFIRM);
        let wrong = browser.submit(CONFIRM, &hidden.clone().and("password", "wrong")).await.expect(422);
        assert!(wrong.text.contains("The password is incorrect.") && input(&wrong, "password").is_empty());
        assert_eq!(input(&wrong, "return_to"), *form_page);
        assert!([303, 401].contains(&send().await.status));
        let right = hidden.and("password", DEMOS[ACME].password);
        let confirmed = browser.submit(CONFIRM, &right).await;
        let next = if waits { (307, fixtures.path(route)) } else { (303, form_page.clone()) };
        assert_eq!((confirmed.status, confirmed.header("location").to_owned()), next, "{key}");
        let done = if waits { browser.submit(&fixtures.path(route), &right).await } else { send().await };
        // The code in the form is for another time, and the import was not run.
        let refused = ["POST /dashboard/settings/account/second-factor", "POST /dashboard/imports/{id}/undo"];
        let is_done = done.status < 400 || (refused.contains(key) && done.status == 422);
        assert!(is_done && !done.header("location").starts_with(CONFIRM), "{key}: {}", done.text);
    }
}

/// The other pages stay open, and another session of the same member is not confirmed with this one.
#[tokio::test]
async fn a_fresh_sign_in_belongs_to_one_session() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let (one, two) =
        (Browser::with_session(&api, ACME, &ada).await, Browser::with_session(&api, ACME, &ada).await);
    api.clock.set("2026-11-20T10:00:00Z");
    let fields = [("password", DEMOS[ACME].password), ("return_to", "https://evil.example")];
    let confirmed = one.post(CONFIRM, &fields).await.expect(303);
    assert_eq!(confirmed.header("location"), "/dashboard");
    let invitation = [("name", "Jo"), ("email", "jo@acme.example"), ("role", "owner")];
    assert!(shown_once(&one.post("/dashboard/settings/members", &invitation).await.expect(200)).is_some());
    let asked = two.post("/dashboard/settings/members", &invitation).await.expect(401);
    assert!(asked.text.contains("Enter your password"), "{}", asked.text);
    for page in ["/dashboard", ACCOUNT, "/dashboard/settings/members"] {
        two.get(page).await.expect(200);
    }
    two.post("/dashboard/settings/privacy", &[("text", "")]).await.expect(303);
}

#[tokio::test]
async fn ten_wrong_passwords_in_fifteen_minutes_block_the_confirmation() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let long = "x".repeat(1_025);
    for _ in 0..10 {
        browser.post(CONFIRM, &[("password", &long)]).await.expect(422);
    }
    let right = [("password", DEMOS[ACME].password)];
    let blocked = browser.post(CONFIRM, &right).await.expect(429);
    assert_eq!(blocked.header("retry-after"), "900");
    assert!(blocked.text.contains("Try again in 15 minutes."));
    Browser::signed_in(&api, ACME).await;
    api.clock.set("2026-11-20T09:45:00Z");
    browser.post(CONFIRM, &right).await.expect(303);
}

#[tokio::test]
async fn an_application_is_allowed_only_after_a_fresh_sign_in() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let url = authorize_url(&app.authorization_request());
    let page = browser.get(&url).await.expect(200);
    let consent = Form::of(&page, "/oauth/authorize").and("mode", "live");
    api.clock.set("2026-11-20T09:45:00Z");
    let asked = browser.get(&url).await.expect(303);
    assert_eq!(asked.header("location"), format!("{CONFIRM}?{}", form(&[("return_to", &url)])));
    api.dynamodb.take_calls();
    let allow = consent.clone().and("decision", "allow");
    let asked = browser.submit("/oauth/authorize", &allow).await.expect(303);
    assert!(asked.header("location").starts_with(CONFIRM), "{}", asked.header("location"));
    assert!(!api.dynamodb.take_calls().iter().any(is_write));
    let denied = browser.submit("/oauth/authorize", &consent.and("decision", "deny")).await.expect(303);
    assert!(denied.header("location").contains("access_denied"), "denying needs no password");

    let page = browser.follow(&asked).await.expect(200);
    let form = Form::of(&page, CONFIRM).and("password", DEMOS[ACME].password);
    let confirmed = browser.submit(CONFIRM, &form).await.expect(303);
    assert!(browser.follow(&confirmed).await.expect(200).text.contains("Assistant"), "the consent page");
    let allowed = browser.submit("/oauth/authorize", &allow).await.expect(303);
    assert!(allowed.header("location").contains("code="));
}

/// What ends the sessions of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Recovery,
    SignOutEverywhere,
    PasswordChange,
}

#[tokio::test]
async fn a_recovery_and_a_sign_out_everywhere_end_sessions_and_connected_apps() {
    for end in [End::Recovery, End::SignOutEverywhere, End::PasswordChange] {
        let api = TestApi::new().await;
        let ada = owner(&api, ACME).await;
        let colleague = add_member(&api, ACME, "Colleague", MemberRole::Owner).await;
        let mut apps = Vec::new();
        for (mode, member) in [(Mode::Live, &ada), (Mode::Test, &ada), (Mode::Live, &colleague)] {
            let (grant, token) =
                connect_app(&api.environment, tenant(ACME, mode), member.id, "Assistant").await;
            apps.push((mode, member.id, grant.id, token));
        }
        let (thief, browser) =
            (Browser::with_session(&api, ACME, &ada).await, Browser::with_session(&api, ACME, &ada).await);
        match end {
            End::Recovery => recover(&api, &ada).await,
            End::SignOutEverywhere => {
                browser.post("/dashboard/sign-out-everywhere", &[]).await.expect(303);
            }
            End::PasswordChange => {
                let current = DEMOS[ACME].password;
                let fields = [("current", current), ("password", PASSWORD), ("repeated", PASSWORD)];
                browser.post(&format!("{ACCOUNT}/password"), &fields).await.expect(303);
            }
        }
        thief.get("/dashboard").await.expect(303);
        for (mode, member, grant, token) in &apps {
            let ends = *member == ada.id && end != End::PasswordChange;
            let request = api.request(Method::GET, "/api/v1/organization").bearer(token.reveal());
            assert_eq!(request.send().await.status, if ends { 401 } else { 200 }, "{end:?} {mode:?}");
            let grant = api.store().find_grant(tenant(ACME, *mode), *grant).await.unwrap().unwrap();
            assert_eq!(grant.revoked_at.is_some(), ends, "{end:?} {mode:?}");
        }
    }
}

/// Sets a new password with a link from the operator.
async fn recover(api: &TestApi, member: &Member) {
    let acme = tenant(ACME, Mode::Live);
    let (now, random) = (api.environment.clock.now(), &api.environment.random);
    let keys = &api.environment.config.credential_keys;
    let (linked, link) = shared::services::membership::create_link(
        acme.organization,
        member.clone(),
        BASE_URL,
        keys,
        random,
        now,
    );
    let mut transaction = Transaction::new(acme);
    transaction.replace_member(member, &linked).unwrap();
    api.store().commit(transaction).await.unwrap();
    let token = link.split_once("token=").unwrap().1;
    let fields = [("token", token), ("password", PASSWORD), ("repeated", PASSWORD)];
    Browser::new(api).post("/dashboard/password", &fields).await.expect(303);
}

#[tokio::test]
async fn a_removed_members_sessions_and_notices_are_deleted() {
    let api = TestApi::new().await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    Browser::with_session(&api, ACME, &jo).await;
    ada.post(&format!("/dashboard/settings/members/{}/role", jo.id), &[("role", "owner")]).await.expect(303);
    let stored = async || {
        let of_jo = format!("#{:016}", jo.id.get());
        let items = api.stored_items().await;
        items.into_keys().filter(|(pk, _)| pk.ends_with(&of_jo)).count()
    };
    assert_eq!(stored().await, 2);
    ada.post(&format!("/dashboard/settings/members/{}/remove", jo.id), &[]).await.expect(303);
    assert_eq!(stored().await, 0);
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    grace.get(ACCOUNT).await.expect(200);
}
