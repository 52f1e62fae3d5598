//! OAuth: API requests with access tokens.

use http::Method;
use serde_json::json;
use shared::auth::{Claims, Credential, Kind};
use shared::mac_keys::MacKeys;
use shared::model::{Audience, Mode, Plan};
use shared::random::Random;
use tests::browser::{Browser, Form};
use tests::oauth::{OAuthApp, Tokens, count_hashes, oauth_error, token_status};
use tests::{ACME, GLOBEX, Response, TestApi, read_credential, tenant};

async fn get(api: &TestApi, path: &str, access: &str) -> Response {
    api.request(Method::GET, path).bearer(access).send().await
}

#[tokio::test]
async fn an_access_token_costs_as_many_calls_as_an_api_key() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&Browser::signed_in(&api, ACME).await).await;
    let operations = || api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect::<Vec<_>>();
    // The first request of each credential also reads its holder.
    api.get("/api/v1/roles").await.expect(200);
    get(&api, "/api/v1/roles", &tokens.access).await.expect(200);
    operations();
    api.get("/api/v1/roles").await.expect(200);
    let with_key = operations();
    get(&api, "/api/v1/roles", &tokens.access).await.expect(200);
    assert_eq!(
        (operations(), with_key.as_slice()),
        (with_key.clone(), &["UpdateItem", "Query"].map(String::from)[..])
    );
    get(&api, "/api/v1/roles", "rc_at_L").await.expect(401);
    assert_eq!(operations(), [""; 0], "a malformed token is refused without a call");
}

#[tokio::test]
async fn an_access_token_is_valid_for_an_hour() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&Browser::signed_in(&api, ACME).await).await;
    for (time, expected) in [
        ("2026-11-20T10:29:59.999Z", 200),
        ("2026-11-20T10:30:00.000Z", 401),
        ("2026-11-21T09:30:00.000Z", 401),
    ] {
        api.clock.set(time);
        assert_eq!(token_status(&api, &tokens.access).await, expected, "{time}");
    }
    let next = Tokens::of(&app.refresh(&tokens.refresh).await);
    assert_eq!(token_status(&api, &next.access).await, 200);
}

#[tokio::test]
async fn an_applications_requests_count_towards_the_organizations_quota() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&Browser::signed_in(&api, GLOBEX).await).await;
    let by_token = async || get(&api, "/api/v1/organization", &tokens.access).await.expect(200);
    assert_eq!(by_token().await.number("/usage/requests_today"), 1, "the OAuth requests do not count");
    let by_key = api.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send().await;
    assert_eq!(by_key.number("/usage/requests_today"), 2);
    let third = by_token().await;
    assert_eq!(third.number("/usage/requests_today"), 3);
    let left = Plan::Free.requests_per_day().unwrap() - 3;
    assert!(third.header("ratelimit").starts_with(&format!("\"daily\";r={left};")), "{:?}", third.headers);
}

#[tokio::test]
async fn an_application_of_a_suspended_organization_gets_403_without_a_challenge() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&Browser::signed_in(&api, GLOBEX).await).await;
    let organization = tenant(GLOBEX, Mode::Live).organization;
    api.store().set_suspended(organization, true, api.environment.clock.now()).await.unwrap();
    let response = get(&api, "/api/v1/roles", &tokens.access).await.expect(403);
    assert_eq!(
        (response.string("/error"), response.header("www-authenticate")),
        ("The organization is suspended", "")
    );
    api.store().set_suspended(organization, false, api.environment.clock.now()).await.unwrap();
    get(&api, "/api/v1/roles", &tokens.access).await.expect(200);
}

/// Only the service that issued a token knows it, and its text says for which of the resources.
#[tokio::test]
async fn a_token_of_another_service_or_for_another_resource_is_invalid() {
    let mut api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&Browser::signed_in(&api, ACME).await).await;
    let credential = read_credential(&tokens.access);
    assert_eq!(credential.claims().audience, Audience::Api);
    let grant = api.store().find_grant(credential.tenant(), credential.id()).await.unwrap().unwrap();
    assert_eq!(grant.tokens.unwrap().access, credential.gate_hash());
    let keys = api.environment.config.credential_keys.clone();
    for audience in Audience::ALL {
        let claims = Claims { audience, ..credential.claims() };
        let random = Random::seeded(1);
        let (kind, tenant, id) = (Kind::AccessToken, credential.tenant(), credential.id());
        let other = Credential::generate(kind, tenant, id, claims, &keys, &random);
        assert_eq!(token_status(&api, other.reveal()).await, 401, "never issued: {audience:?}");
    }
    api.dynamodb.take_calls();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let refused =
        api.request(Method::POST, "/mcp").bearer(&tokens.access).json(&list).send().await.expect(401);
    assert!(refused.header("www-authenticate").contains("error=\"invalid_token\""));
    assert!(api.dynamodb.take_calls().is_empty(), "the text says for what it is");
    let original = api.gateway.clone();
    api.environment.config.credential_keys =
        MacKeys::parse("the key of another service is long enough").unwrap();
    api.restart();
    assert_eq!(token_status(&api, &tokens.access).await, 401);
    api.gateway = original;
    assert_eq!(token_status(&api, &tokens.access).await, 200);
}

#[tokio::test]
async fn a_test_mode_token_sees_only_test_data() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let [live, test] = ["live", "test"].map(|mode| (mode, app.authorization_request()));
    let mut tokens = Vec::new();
    for (mode, query) in [live, test] {
        let code = app.code(&browser, &query, mode).await;
        tokens.push(Tokens::of(&app.exchange(&code).await));
    }
    for (tokens, title) in tokens.iter().zip(["live role", "test role"]) {
        let post = api.request(Method::POST, "/api/v1/roles").bearer(&tokens.access);
        post.json(&json!({ "title": title })).send().await.expect(201);
    }
    for (tokens, mode, title) in
        [(&tokens[0], Mode::Live, "live role"), (&tokens[1], Mode::Test, "test role")]
    {
        let by_key = api.request(Method::GET, "/api/v1/roles").key(ACME, mode).send().await;
        for response in [get(&api, "/api/v1/roles", &tokens.access).await, by_key] {
            let roles = response.body["data"].as_array().unwrap();
            assert_eq!((roles.len(), roles[0]["title"].as_str()), (1, Some(title)));
        }
    }
    // The same token with the other mode's letter is invalid.
    let altered = tokens[1].access.replacen("rc_at_T", "rc_at_L", 1);
    assert_eq!(token_status(&api, &altered).await, 401);
}

#[tokio::test]
async fn revocation_in_the_dashboard_takes_effect_at_once() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let (kept, revoked) = (app.connect(&browser).await, app.connect(&browser).await);
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let settings = "/dashboard/settings/integrations/connected-apps";
    for credential in [&revoked.access, &code] {
        let id = read_credential(credential).id().get();
        let form = Form::of(&browser.get("/dashboard").await.expect(200), "/dashboard/sign-out");
        let globex = Browser::signed_in(&api, GLOBEX).await;
        let globex_form = Form::of(&globex.get("/dashboard").await.expect(200), "/dashboard/sign-out");
        let path = format!("{settings}/{id}/revoke");
        globex.submit(&path, &globex_form).await.expect(404);
        browser.submit(&path, &form).await.expect(303);
        browser.submit(&path, &form).await.expect(303);
    }
    assert_eq!(token_status(&api, &revoked.access).await, 401);
    assert_eq!(oauth_error(&app.refresh(&revoked.refresh).await), (400, "invalid_grant"));
    assert_eq!(oauth_error(&app.exchange(&code).await), (400, "invalid_grant"));
    assert_eq!(token_status(&api, &kept.access).await, 200);
}

#[tokio::test]
async fn touchpoints_name_the_application_as_the_actor() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&Browser::signed_in(&api, ACME).await).await;
    let post = api.request(Method::POST, "/api/v1/candidates").bearer(&tokens.access);
    let jane = post.json(&json!({ "name": "Jane", "email": "jane@example.com" })).send().await.expect(201);
    let page = get(&api, &format!("/api/v1/candidates/{}", jane.number("/id")), &tokens.access).await;
    assert_eq!(page.expect(200).string("/touchpoints/0/actor/name"), "Assistant");
}

/// Each request writes the hashes of all valid tokens, so those without a grant are removed.
#[tokio::test]
async fn tokens_that_have_expired_leave_the_gate() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let keys = count_hashes(&api).await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (one, two) = (app.connect(&browser).await, app.connect(&browser).await);
    let next = Tokens::of(&app.refresh(&two.refresh).await);
    assert_eq!(count_hashes(&api).await, keys + 3);
    let last = Tokens::of(&app.refresh(&next.refresh).await);
    assert_eq!(count_hashes(&api).await, keys + 3, "one current token and the one before it");
    assert_eq!(token_status(&api, &two.access).await, 401);
    app.revoke(&one.access).await.expect(200);
    assert_eq!(count_hashes(&api).await, keys + 2);
    // A day later all have expired, but nobody has asked for new ones.
    api.clock.set("2026-11-21T09:30:00Z");
    assert_eq!(count_hashes(&api).await, keys + 2);
    let third = app.connect(&Browser::signed_in(&api, ACME).await).await;
    assert_eq!(count_hashes(&api).await, keys + 1);
    for (tokens, status) in [(&last, 401), (&third, 200)] {
        assert_eq!(token_status(&api, &tokens.access).await, status);
        Tokens::of(&app.refresh(&tokens.refresh).await);
    }
    api.get("/api/v1/roles").await.expect(200);
}
