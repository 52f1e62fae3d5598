//! OAuth: the consent page, its forms and its sessions.

use http::Method;
use serde_json::{Value, json};
use shared::model::{Grant, Member, MemberRole, Mode, Room, Scope, Scopes};
use shared::services::membership::{self, Decision};
use shared::store::{Holder, Transaction};
use tests::browser::{Browser, COOKIE, FOREIGN_COOKIES, FORM, Form};
use tests::dashboard::{add_member, connect_app, owner};
use tests::oauth::{OAuthApp, REDIRECT, STATE, Tokens, authorize_url, token_status};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, read_credential, tenant};

#[tokio::test]
async fn the_consent_page_shows_the_client_its_scopes_and_the_redirect_target() {
    let api = TestApi::new().await;
    let metadata = json!({
        "client_name": "Assistant",
        "redirect_uris": [REDIRECT],
        "client_uri": "https://home.example/about",
        "token_endpoint_auth_method": "none",
    });
    let app = OAuthApp::register_with(&api, &metadata).await;
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser
        .get(&authorize_url(&app.authorization_request().set("scope", "roles:read channels:write")))
        .await
        .expect(200);
    for actual in [
        "Allow <q>Assistant</q>",
        "<strong>app.example</strong>",
        "Acme",
        "ada@acme.example",
        "The name of this application is not verified",
    ] {
        assert!(page.text.contains(actual), "{actual} in {}", page.text);
    }
    assert!(!page.text.contains("home.example"), "anyone can register any home page");
    for scope in Scope::ALL {
        let requested = [Scope::RolesRead, Scope::ChannelsWrite].contains(&scope);
        let actual = page.text.contains(&scope.description().replace('\'', "&#39;"));
        assert_eq!(actual, requested, "{scope:?}");
    }
    let all = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    assert_eq!(
        all.text.matches("<li>").count(),
        Scopes::by_default().iter().count() + 3,
        "a request without a scope asks for the scopes of a key for which none are chosen"
    );
    let asks = |page: &Response| !page.text.contains("It may do this through the API at any time");
    let mcp = app.authorization_request().set("resource", &format!("{BASE_URL}/mcp"));
    for (query, expected) in [
        (app.authorization_request(), false),
        // The page of the dashboard is required, also through the API.
        (app.authorization_request().set("resource", BASE_URL), true),
        (app.authorization_request().without("resource"), true),
        (app.authorization_request().set("scope", "roles:read events:read"), true),
        (mcp, true),
    ] {
        assert_eq!(asks(&browser.get(&authorize_url(&query)).await.expect(200)), expected, "{query:?}");
    }
    let rule = "/dashboard/settings/integrations/confirmations";
    let form = Form::of(&browser.get(rule).await.expect(200), rule);
    let form = form.set("apps_use_page", "false").set("keys_use_page", "false");
    browser.submit(rule, &form).await.expect(303);
    for query in [
        app.authorization_request().set("resource", BASE_URL),
        app.authorization_request().without("resource"),
    ] {
        assert!(!asks(&browser.get(&authorize_url(&query)).await.expect(200)), "{query:?}");
    }
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("content-type", "text/html; charset=utf-8"),
        ("access-control-allow-origin", ""),
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' https://app.example; \
             frame-ancestors 'none'; base-uri 'none'",
        ),
    ] {
        assert_eq!(page.header(name), value, "{name}");
    }
}

#[tokio::test]
async fn members_consent_beside_a_cookie_of_another_site() {
    let api = TestApi::new().await;
    let (app, member) = (OAuthApp::register(&api, "none").await, owner(&api, ACME).await);
    for cookie in FOREIGN_COOKIES {
        let browser = Browser::with_session(&api, ACME, &member).await.with_foreign_cookie(cookie);
        app.code(&browser, &app.authorization_request(), "live").await;
    }
}

#[tokio::test]
async fn client_metadata_and_parameters_are_escaped() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let hostile = "</q><script>alert(1)</script><img src=x onerror=\"alert(2)\">'&amp;";
    let metadata = json!({
        "client_name": hostile,
        "redirect_uris": ["https://app.example/cb?a='(1)'&b=%22%3E"],
        "client_uri": "https://home.example/\"><script>alert(3)</script>",
        "token_endpoint_auth_method": "none",
    });
    let app = OAuthApp::register_with(&api, &metadata).await;
    let query = app.authorization_request().set("redirect_uri", "https://app.example/cb?a='(1)'&b=%22%3E");
    let query = query.set("state", "\"><script>alert(4)</script>").set("scope", "roles:read\troles:read");
    let page = browser.get(&authorize_url(&query)).await.expect(200);
    for markup in ["<script", "<img src=x", "</q><", "onerror=\""] {
        assert!(!page.text.contains(markup), "{markup} in {}", page.text);
    }
    let form = Form::of(&page, "/oauth/authorize");
    for name in query.names() {
        assert_eq!(form.get(name), query.get(name), "the form contains the parameter unchanged");
    }
    let form = form.and("mode", "live").and("decision", "allow");
    let (_, response) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
    assert_eq!(response.get("state"), query.get("state"));
    let settings = browser.get("/dashboard/settings/integrations/connected-apps").await.expect(200);
    assert!(!settings.text.contains("<script"), "{}", settings.text);
}

#[tokio::test]
async fn a_visitor_signs_in_and_returns_to_the_consent_page() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::new(&api);
    let url = authorize_url(&app.authorization_request());
    let sent = browser.get(&url).await;
    assert!(sent.header("set-cookie").ends_with("; Path=/; Max-Age=2592000; Secure; HttpOnly; SameSite=Lax"));
    let (sign_in, query) = Form::of_location(&sent);
    assert_eq!((sign_in.as_str(), query.get("return_to")), ("/dashboard/sign-in", url.as_str()));
    let page = browser.get(sent.header("location")).await.expect(200);
    let before = browser.cookie().clone();
    let redirect = browser.sign_in(&page, GLOBEX).await;
    assert_eq!((redirect.status, redirect.header("location")), (303, url.as_str()));
    assert_ne!(browser.cookie(), before, "sign-in creates a new session");
    let page = browser.get(redirect.header("location")).await.expect(200);
    assert!(page.text.contains("Globex"));
    // The member signs out to use another account.
    let out = Form::of(&page, "/dashboard/sign-out");
    let redirect = browser.submit("/dashboard/sign-out", &out).await;
    assert_eq!((redirect.status, redirect.header("location")), (303, url.as_str()));
    assert_eq!(Form::of_location(&browser.get(&url).await).0, "/dashboard/sign-in");
}

#[tokio::test]
async fn allow_and_deny_redirect_to_the_application() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "test");
    api.dynamodb.take_calls();
    let denied = browser.submit("/oauth/authorize", &form.clone().and("decision", "deny")).await;
    let (redirect, params) = Form::of_location(&denied);
    assert_eq!((redirect.as_str(), params.get("error")), (REDIRECT, "access_denied"));
    assert_eq!((params.get("state"), params.get("iss")), (STATE, BASE_URL));
    assert!(
        api.dynamodb.take_calls().iter().all(|call| call.operation.contains("Get")),
        "nothing is written"
    );
    for invalid in [
        form.clone(),
        form.clone().and("decision", "ALLOW"),
        form.clone().set("mode", "").and("decision", "allow"),
        form.clone().set("mode", "both").and("decision", "allow"),
    ] {
        let response = browser.submit("/oauth/authorize", &invalid).await;
        assert_eq!((response.status, response.header("location")), (400, ""), "{invalid:?}");
    }
    api.dynamodb.take_calls();
    let allowed = browser.submit("/oauth/authorize", &form.and("decision", "allow")).await;
    let (redirect, params) = Form::of_location(&allowed);
    assert_eq!((redirect.as_str(), params.names()), (REDIRECT, vec!["code", "state", "iss"]));
    assert_eq!((params.get("state"), params.get("iss")), (STATE, BASE_URL));
    assert!(params.get("code").starts_with("rc_ac_T") && params.get("code").len() <= 256);
    assert_eq!(
        (allowed.header("referrer-policy"), allowed.header("cache-control")),
        ("no-referrer", "no-store")
    );
    let is_read = |operation: &str| operation.contains("Get") || operation == "Query";
    let writes: Vec<_> =
        api.dynamodb.take_calls().into_iter().filter(|call| !is_read(&call.operation)).collect();
    assert_eq!(writes.len(), 1, "one transaction");
}

#[tokio::test]
async fn a_consent_keeps_the_application_and_checks_the_member() {
    let api = TestApi::new().await;
    api.dynamodb.take_calls();
    let app = OAuthApp::register(&api, "none").await;
    let put = api.dynamodb.take_calls().into_iter().find(|call| call.operation == "PutItem").unwrap();
    let ninety_days = api.environment.clock.now().as_second() + 90 * 24 * 60 * 60;
    assert_eq!(
        put.request["Item"]["expires_at"]["N"],
        ninety_days.to_string(),
        "an application without a grant expires"
    );
    app.code(&Browser::signed_in(&api, ACME).await, &app.authorization_request(), "test").await;
    let calls = api.dynamodb.take_calls();
    let granted = calls.iter().rfind(|call| call.operation == "TransactWriteItems").unwrap();
    let actions: Vec<_> = granted.request["TransactItems"].as_array().unwrap().iter().collect();
    let find = |kind: &str, start: &str| {
        let pk = |action: &Value| action["Key"]["pk"]["S"].as_str().unwrap_or_default().to_owned();
        actions.iter().map(|action| &action[kind]).find(|action| pk(action).starts_with(start))
    };
    let kept = find("Update", "OAUTH_CLIENT#").unwrap();
    assert_eq!(kept["UpdateExpression"], "REMOVE #expires");
    let member = find("ConditionCheck", "1#live#MEMBER").unwrap();
    assert_eq!(member["ConditionExpression"], "#version = :version");
    assert_eq!(
        actions.len(),
        6,
        "the grant, the counter, the member, the application, the notice, and the entry in the audit log"
    );
}

#[tokio::test]
async fn a_form_without_a_valid_csrf_token_grants_nothing() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let signed_out = Browser::new(&api);
    let browser = Browser::new(&api);
    let sign_in = browser.get("/dashboard/sign-in").await.expect(200);
    let csrf_before = Form::of(&sign_in, "/dashboard/sign-in").get("csrf").to_owned();
    let cookie_before = browser.cookie().clone();
    browser.sign_in(&sign_in, ACME).await.expect(303);
    let other_member = Browser::signed_in(&api, GLOBEX).await;
    let form = async |browser: &Browser<'_>| {
        let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
        Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow")
    };
    let (own, others_form) = (form(&browser).await, form(&other_member).await);
    let signed_out_csrf = signed_out.get("/dashboard/sign-in").await.expect(200);
    let signed_out_csrf = Form::of(&signed_out_csrf, "/dashboard/sign-in").get("csrf").to_owned();
    let altered = format!("{}A", &browser.cookie()[..browser.cookie().len() - 1]);
    api.dynamodb.take_calls();
    for (case, cookie, form) in [
        ("no token", &browser.cookie(), own.clone().without("csrf")),
        ("an empty token", &browser.cookie(), own.clone().set("csrf", "")),
        ("a truncated token", &browser.cookie(), own.clone().set("csrf", &own.get("csrf")[1..])),
        ("the token from before sign-in", &browser.cookie(), own.clone().set("csrf", &csrf_before)),
        ("another member's token", &browser.cookie(), others_form.clone()),
        ("another browser's token", &browser.cookie(), own.clone().set("csrf", &signed_out_csrf)),
        ("no cookie", &String::new(), own.clone()),
        ("another member's cookie", &other_member.cookie(), own.clone()),
        ("the cookie from before sign-in", &cookie_before, own.clone()),
        ("an altered cookie", &altered, own.clone()),
    ] {
        for decision in ["allow", "deny"] {
            let form = form.clone().set("decision", decision);
            let response = Browser::with_cookie(&api, cookie).submit("/oauth/authorize", &form).await;
            assert_eq!((response.status, response.header("location")), (403, ""), "{case}");
            assert!(response.header("content-type").starts_with("text/html"), "{case}");
        }
    }
    // Query parameters do not replace the form.
    let path = authorize_url(&own.clone());
    let request = api.request(Method::POST, &path).anonymous().body(FORM, "");
    request.header("cookie", &format!("{COOKIE}={}", browser.cookie())).send().await.expect(403);
    for content_type in ["text/plain", "application/json", "multipart/form-data", ""] {
        let request = api.request(Method::POST, "/oauth/authorize").anonymous();
        let request = request.header("cookie", &format!("{COOKIE}={}", browser.cookie()));
        request.body(content_type, own.encoded()).send().await.expect(415);
    }
    // A browser that is not signed in, with a valid form.
    let response = signed_out.submit("/oauth/authorize", &own.clone().set("csrf", &signed_out_csrf)).await;
    assert_eq!(Form::of_location(&response).0, "/dashboard/sign-in");
    assert!(
        api.dynamodb.take_calls().iter().all(|call| call.operation.contains("Get")),
        "nothing is written"
    );
    browser.submit("/oauth/authorize", &own).await.expect(303);
}

#[tokio::test]
async fn an_ended_session_grants_nothing() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    for case in ["signed out", "signed out everywhere", "twelve hours unused"] {
        let browser = Browser::signed_in(&api, ACME).await;
        let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
        let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
        let cookie = browser.cookie().clone();
        let csrf = Form::new(&[("csrf", form.get("csrf"))]);
        match case {
            "signed out" => drop(browser.submit("/dashboard/sign-out", &csrf).await.expect(303)),
            "signed out everywhere" => {
                drop(browser.submit("/dashboard/sign-out-everywhere", &csrf).await.expect(303));
            }
            _ => api.clock.set("2026-11-20T21:30:00Z"),
        }
        let browser = Browser::with_cookie(&api, &cookie);
        api.dynamodb.take_calls();
        let response = browser.submit("/oauth/authorize", &form).await;
        // The consent page opens again after sign-in.
        let (path, query) = Form::of_location(&response);
        assert_eq!((path.as_str(), response.status), ("/dashboard/sign-in", 303), "{case}");
        let response = browser.get(query.get("return_to")).await;
        assert_eq!(Form::of_location(&response), (path, query), "{case}");
        assert_eq!(
            Form::of_location(&browser.get(&authorize_url(&app.authorization_request())).await).0,
            "/dashboard/sign-in"
        );
        assert!(api.dynamodb.take_calls().iter().all(|call| call.operation.contains("Get")), "{case}");
    }
}

#[tokio::test]
async fn removing_a_member_revokes_the_grants() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, GLOBEX).await;
    let tokens = app.connect(&browser).await;
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let organization = tenant(GLOBEX, Mode::Live).organization;
    let member = api.store().find_member(organization, organization).await.unwrap().unwrap();
    let now = api.environment.clock.now();
    membership::remove(api.store(), organization, &member, None, |_, _| Decision::End, now).await.unwrap();
    assert_eq!(token_status(&api, &tokens.access).await, 401);
    app.refresh(&tokens.refresh).await.expect(400);
    app.exchange(&code).await.expect(400);
    browser.submit("/oauth/authorize", &form).await.expect(303);
    assert_eq!(
        Form::of_location(&browser.get(&authorize_url(&app.authorization_request())).await).0,
        "/dashboard/sign-in"
    );
    let others = Tokens::of(
        &app.exchange(&{
            let browser = Browser::signed_in(&api, ACME).await;
            app.code(&browser, &app.authorization_request(), "live").await
        })
        .await,
    );
    assert_eq!(token_status(&api, &others.access).await, 200);
}

/// Connects applications for a member, without the consent page.
async fn connect_many(api: &TestApi, mode: Mode, member: &Member, count: usize) -> Vec<Grant> {
    let mut grants = Vec::new();
    for number in 0..count {
        let name = format!("App {number}");
        grants.push(connect_app(&api.environment, tenant(ACME, mode), member.id, &name).await.0);
    }
    grants
}

async fn count_grants(api: &TestApi, mode: Mode) -> usize {
    api.store().list_good_grants(tenant(ACME, mode), api.environment.clock.now()).await.unwrap().len()
}

/// Allows what the consent page shows. Returns the page and the response.
async fn allow(browser: &Browser<'_>, query: &Form, mode: &str) -> (Response, Response) {
    let page = browser.get(&authorize_url(query)).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", mode).and("decision", "allow");
    let response = browser.submit("/oauth/authorize", &form).await;
    (page, response)
}

#[tokio::test]
async fn a_further_application_ends_the_members_own_that_was_idle_longest() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let (ada, query) = (owner(&api, ACME).await, app.authorization_request());
    let grants = connect_many(&api, Mode::Live, &ada, Room::MAX_OF_MEMBER).await;
    let acme = tenant(ACME, Mode::Live);
    for (number, grant) in grants.iter().enumerate() {
        let day = if number == 7 { "2026-11-01" } else { "2026-11-19" }.parse().unwrap();
        api.store().record_use(acme, Holder::App(grant.id), day).await.unwrap();
    }
    let browser = Browser::with_session(&api, ACME, &ada).await;
    let (page, response) = allow(&browser, &query, "live").await;
    let ending =
        "connected to the live data. If you\n    choose it, <q>App 7</q> from app.example loses its access";
    assert!(page.text.contains(ending), "{}", page.text);
    assert!(
        page.text.contains("(last on 2026-11-01)") && !page.text.contains("<q>App 8</q>"),
        "{}",
        page.text
    );
    let (_, answer) = Form::of_location(&response);
    let tokens = Tokens::of(&app.exchange(answer.get("code")).await);
    assert_eq!(token_status(&api, &tokens.access).await, 200);
    let ended = api.store().find_grant(acme, grants[7].id).await.unwrap().unwrap();
    assert!(ended.revoked_at.is_some());
    assert_eq!(count_grants(&api, Mode::Live).await, Room::MAX_OF_MEMBER);
    // The other mode and the other members have room.
    let (_, response) = allow(&browser, &query, "test").await;
    assert!(!Form::of_location(&response).1.get("code").is_empty());
    assert_eq!(count_grants(&api, Mode::Live).await, Room::MAX_OF_MEMBER);
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let (page, _) = allow(&Browser::with_session(&api, ACME, &jo).await, &query, "live").await;
    assert!(!page.text.contains("loses its access"), "{}", page.text);
}

/// The page that the member answers has named another application, or none.
#[tokio::test]
async fn no_application_ends_that_the_page_has_not_named() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let ada = owner(&api, ACME).await;
    let grants = connect_many(&api, Mode::Live, &ada, Room::MAX_OF_MEMBER - 1).await;
    let browser = Browser::with_session(&api, ACME, &ada).await;
    let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    connect_many(&api, Mode::Live, &ada, 1).await;
    let again = browser.submit("/oauth/authorize", &form).await.expect(200);
    assert!(
        again.text.contains("<q>App 0</q>") && count_grants(&api, Mode::Live).await == 50,
        "{}",
        again.text
    );
    let second = Form::of(&again, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let named = format!("live: in place of {}", grants[0].id);
    assert!(second.get("offer").contains(&named), "{second:?}");
    for wrong in ["", "x", form.get("offer"), &second.get("offer").replace("live: ", "test: ")] {
        browser.submit("/oauth/authorize", &second.clone().set("offer", wrong)).await.expect(200);
    }
    assert_eq!(count_grants(&api, Mode::Live).await, 50);
    browser.submit("/oauth/authorize", &second).await.expect(303);
    let ended = api.store().find_grant(tenant(ACME, Mode::Live), grants[0].id).await.unwrap().unwrap();
    assert!(ended.revoked_at.is_some());
}

#[tokio::test]
async fn an_organization_has_at_most_150_connected_applications_in_a_mode() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let query = app.authorization_request();
    let mut members = vec![owner(&api, ACME).await];
    for name in ["Ben", "Cleo", "Dan"] {
        members.push(add_member(&api, ACME, name, MemberRole::Member).await);
    }
    for member in &members[..3] {
        connect_many(&api, Mode::Live, member, 50).await;
    }
    let dan = Browser::with_session(&api, ACME, &members[3]).await;
    let page = dan.get(&authorize_url(&query)).await.expect(200);
    assert!(
        page.text.contains("The live data has as many\n    connected applications as possible"),
        "{}",
        page.text
    );
    assert!(page.text.contains("value=\"live\" disabled"), "{}", page.text);
    assert!(page.text.contains("value=\"test\" checked"), "{}", page.text);
    let (_, refused) = allow(&dan, &query, "live").await;
    assert_eq!((refused.status, count_grants(&api, Mode::Live).await), (200, 150));
    // Whoever has some, replaces one of them. A code that was given before is exchanged in any case.
    let cleo = Browser::with_session(&api, ACME, &members[2]).await;
    let (_, response) = allow(&cleo, &query, "live").await;
    assert_eq!(count_grants(&api, Mode::Live).await, 150);
    connect_many(&api, Mode::Live, &members[0], 1).await;
    let tokens = Tokens::of(&app.exchange(Form::of_location(&response).1.get("code")).await);
    let tokens = Tokens::of(&app.refresh(&tokens.refresh).await);
    assert_eq!(token_status(&api, &tokens.access).await, 200, "the token endpoint refuses none");
    // In both modes.
    for member in &members[..3] {
        connect_many(&api, Mode::Test, member, 50).await;
    }
    let page = dan.get(&authorize_url(&query)).await.expect(200);
    assert!(
        page.text.contains("Both have as many") && !page.text.contains(">Allow</button>"),
        "{}",
        page.text
    );
}

/// A narrowed application that is connected again, by anyone and under any client, stays narrowed.
#[tokio::test]
async fn a_narrowing_holds_for_a_site_until_an_owner_lifts_it() {
    let api = TestApi::new().await;
    let settings = "/dashboard/settings/integrations/connected-apps";
    let (ada, jo) = (owner(&api, ACME).await, add_member(&api, ACME, "Jo", MemberRole::Member).await);
    let [ada, jo] =
        [Browser::with_session(&api, ACME, &ada).await, Browser::with_session(&api, ACME, &jo).await];
    let of_others = Browser::signed_in(&api, GLOBEX).await;
    let uris = |uri: &str| json!({ "redirect_uris": [uri], "token_endpoint_auth_method": "none" });
    for (uri, same, site, other) in [
        (REDIRECT, "https://APP.example:8443/other", "app.example", "https://app.example.org/callback"),
        ("cursor://a/callback", "cursor://b/other", "cursor:", "zed://a/callback"),
        ("http://127.0.0.1:1/cb", "http://localhost/x", "a loopback address", "https://other.example/cb"),
    ] {
        let (first, second) = (
            OAuthApp::register_with(&api, &uris(uri)).await,
            OAuthApp::register_with(&api, &uris(same)).await,
        );
        let query = first.authorization_request().set("redirect_uri", uri);
        let (_, response) = allow(&ada, &query, "live").await;
        let exchange =
            OAuthApp::token_request(Form::of_location(&response).1.get("code")).set("redirect_uri", uri);
        let tokens = Tokens::of(&first.send("/oauth/token", &exchange).await);
        let path = format!("{settings}/{}", read_credential(&tokens.access).id());
        let narrow = format!("{path}/narrow");
        let page = ada.get(&path).await.expect(200);
        ada.submit(&narrow, &Form::of(&page, &narrow)).await.expect(303);
        assert!(ada.get(&path).await.text.contains(&format!("an app from {site} gives it only")), "{site}");
        // Another client at the same site, a plain member, and the other mode.
        let again = second.authorization_request().set("redirect_uri", same);
        for (browser, mode) in [(&jo, "live"), (&ada, "test")] {
            let (page, response) = allow(browser, &again, mode).await;
            assert!(page.text.contains(&format!("narrowed an application from {site}")), "{}", page.text);
            assert!(!page.text.contains(Scope::RolesWrite.description()), "{}", page.text);
            let code = Form::of_location(&response).1.get("code").to_owned();
            let exchange = OAuthApp::token_request(&code).set("redirect_uri", same);
            let granted = second.send("/oauth/token", &exchange).await.expect(200);
            let is_for_reading = granted.string("/scope").split(' ').all(|scope| scope.ends_with(":read"));
            assert!(is_for_reading, "{}", granted.text);
        }
        let writing = again.clone().set("scope", "roles:write");
        let (_, answer) = Form::of_location(&jo.get(&authorize_url(&writing)).await);
        assert_eq!(answer.get("error"), "access_denied");
        // Other sites and other organizations notice nothing.
        let elsewhere = OAuthApp::register_with(&api, &uris(other)).await;
        let elsewhere = elsewhere.authorization_request().set("redirect_uri", other);
        for (browser, query) in [(&jo, &elsewhere), (&of_others, &again)] {
            let page = browser.get(&authorize_url(query)).await.expect(200);
            assert!(page.text.contains(Scope::RolesWrite.description()), "{site}: {}", page.text);
        }
        // Members see it, and only owners lift it.
        let lift = format!("{settings}/lift-narrowing");
        let listed = jo.get(settings).await.expect(200);
        assert!(listed.text.contains(&format!("<th scope=\"row\">{site}</th>")), "{}", listed.text);
        assert!(!listed.text.contains(&lift), "{}", listed.text);
        let form = Form::of(&ada.get(settings).await.expect(200), &lift);
        assert_eq!(form.get("site"), site);
        let own = Form::of(&listed, "/dashboard/sign-out").and("site", site);
        jo.submit(&lift, &own).await.expect(403);
        ada.submit(&lift, &form.clone().set("site", "elsewhere.example")).await.expect(404);
        ada.submit(&lift, &form).await.expect(303);
        ada.submit(&lift, &form).await.expect(404);
        let (page, _) = allow(&jo, &again, "live").await;
        assert!(page.text.contains(Scope::RolesWrite.description()), "{}", page.text);
        // What was connected meanwhile keeps what it was given.
        let next = first.refresh(&tokens.refresh).await.expect(200);
        assert!(!next.string("/scope").contains("write"), "{}", next.text);
    }
    let log = ada.get("/dashboard/settings/audit-log?action=grant.narrowing_lifted").await.expect(200);
    assert_eq!(
        log.text.matches("lifted the narrowing that began with the application").count(),
        3,
        "{}",
        log.text
    );
}

/// The member became a plain one, or the narrowing was lifted, after the page was shown.
#[tokio::test]
async fn nothing_is_given_that_the_page_has_not_shown() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let browser = Browser::signed_in(&api, ACME).await;
    let acme = tenant(ACME, Mode::Live);
    let (grant, _) = connect_app(&api.environment, acme, acme.organization, "App").await;
    let now = api.environment.clock.now();
    let mut transaction = Transaction::new(acme);
    transaction.narrow_grant(&grant, now).unwrap();
    api.store().commit(transaction).await.unwrap();
    let page = browser.get(&authorize_url(&app.authorization_request())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let site = api.store().find_narrowed_site(acme.organization, "app.example").await.unwrap().unwrap();
    assert_eq!((site.grant, site.client_name.as_str(), site.at), (grant.id, "App", now));
    let mut transaction = Transaction::new(acme);
    transaction.lift_narrowing(&site);
    api.store().commit(transaction).await.unwrap();
    let again = browser.submit("/oauth/authorize", &form).await.expect(200);
    assert!(again.text.contains(Scope::RolesWrite.description()), "{}", again.text);
    let form = Form::of(&again, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let (_, answer) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
    assert!(app.exchange(answer.get("code")).await.expect(200).string("/scope").contains("roles:write"));
}

/// Hosts request all the scopes that the metadata names. Members give what they can.
#[tokio::test]
async fn members_give_everything_but_what_owners_alone_give() {
    let api = TestApi::new().await;
    let all = Scopes::all().to_string();
    let metadata = json!({ "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "scope": all });
    let app = OAuthApp::register_with(&api, &metadata).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    for (member, scopes) in [(jo, Scopes::of_members()), (owner(&api, ACME).await, Scopes::all())] {
        let browser = Browser::with_session(&api, ACME, &member).await;
        let (page, response) = allow(&browser, &app.authorization_request(), "live").await;
        let code = Form::of_location(&response).1.get("code").to_owned();
        assert_eq!(app.exchange(&code).await.expect(200).string("/scope"), scopes.to_string());
        let is_told =
            page.text.contains("The application also asked for what only an owner can allow: Erase");
        assert_eq!(is_told, scopes != Scopes::all(), "{}", page.text);
    }
}
