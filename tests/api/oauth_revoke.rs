//! OAuth: revocation (RFC 7009).

use http::Method;
use shared::auth::Kind;
use shared::model::Mode;
use shared::random::Random;
use tests::browser::{Browser, FORM, Form};
use tests::oauth::{OAuthApp, Tokens, basic_auth, oauth_error, token_status};
use tests::{ACME, TestApi, key, new_credential, read_credential};

#[tokio::test]
async fn revoking_a_refresh_token_ends_the_grant_but_revoking_an_access_token_does_not() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = OAuthApp::register(&api, method).await;
        let tokens = app.connect(&browser).await;
        let response = app.revoke(&tokens.access).await.expect(200);
        assert_eq!((response.header("cache-control"), response.text.as_str()), ("no-store", "{}"));
        assert_eq!(token_status(&api, &tokens.access).await, 401);
        let next = Tokens::of(&app.refresh(&tokens.refresh).await);
        assert_eq!(token_status(&api, &next.access).await, 200, "the grant remains");
        app.revoke(&next.refresh).await.expect(200);
        assert_eq!(token_status(&api, &next.access).await, 401);
        assert_eq!(oauth_error(&app.refresh(&next.refresh).await), (400, "invalid_grant"));
        for ended in [&tokens.access, &tokens.refresh, &next.access, &next.refresh] {
            app.revoke(ended).await.expect(200);
        }
    }
    // The hint has no effect, and a replaced refresh token identifies the same grant.
    let app = OAuthApp::register(&api, "none").await;
    for hint in ["access_token", "refresh_token", "pigeon", ""] {
        let tokens = app.connect(&browser).await;
        let next = Tokens::of(&app.refresh(&tokens.refresh).await);
        let form = Form::new(&[("token", &tokens.refresh), ("token_type_hint", hint)]);
        app.send("/oauth/revoke", &form).await.expect(200);
        assert_eq!(token_status(&api, &next.access).await, 401, "{hint}");
    }
}

#[tokio::test]
async fn revoking_an_unknown_token_succeeds_without_effect() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&browser).await;
    let old = Tokens::of(&app.refresh(&tokens.refresh).await);
    let last = Tokens::of(&app.refresh(&old.refresh).await);
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let altered = format!("{}A", &last.refresh[..last.refresh.len() - 1]);
    let (key, long) = (key(ACME, Mode::Live), "x".repeat(10_000));
    app.revoke(&tokens.access).await.expect(200);
    assert_eq!(token_status(&api, &old.access).await, 200, "only the token itself is revoked");
    let refresh = read_credential(&last.refresh);
    let forged = new_credential(Kind::RefreshToken, refresh.tenant(), refresh.id(), &Random::seeded(5));
    for unknown in [
        &altered,
        forged.reveal(),
        &tokens.access,
        &old.access,
        &key,
        &browser.cookie(),
        &code,
        "nonsense",
        "rc_rt_L",
        "🔑",
        &long,
    ] {
        app.revoke(unknown).await.expect(200);
    }
    assert_eq!(token_status(&api, &last.access).await, 200);
    assert_eq!(token_status(&api, &key).await, 200);
    Tokens::of(&app.refresh(&last.refresh).await);
    Tokens::of(&app.exchange(&code).await);
    browser.get("/dashboard").await.expect(200);
}

#[tokio::test]
async fn a_client_cannot_revoke_another_clients_token() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (app, other) =
        (OAuthApp::register(&api, "client_secret_basic").await, OAuthApp::register(&api, "none").await);
    let first = app.connect(&browser).await;
    let tokens = Tokens::of(&app.refresh(&first.refresh).await);
    for token in [&tokens.access, &tokens.refresh, &first.refresh] {
        assert_eq!(oauth_error(&other.revoke(token).await), (400, "invalid_grant"));
    }
    let form = Form::new(&[("token", &tokens.refresh)]);
    let with_client_id = form.clone().and("client_id", &app.id);
    let wrong = basic_auth(&app.id, "wrong");
    for (case, authorization, form, expected) in [
        ("without its secret", None, &with_client_id, (401, "invalid_client")),
        (
            "with a wrong secret",
            None,
            &with_client_id.clone().and("client_secret", "x"),
            (401, "invalid_client"),
        ),
        ("with a wrong secret in the Basic header", Some(&wrong), &form, (401, "invalid_client")),
        ("without a client", None, &form, (400, "invalid_request")),
        ("by an unknown client", None, &form.clone().and("client_id", "x"), (401, "invalid_client")),
    ] {
        let request = api.request(Method::POST, "/oauth/revoke").anonymous().body(FORM, form.encoded());
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        let response = request.send().await;
        assert_eq!(oauth_error(&response), expected, "{case}");
        let challenge = if authorization.is_some() { "Basic realm=\"rolecall\"" } else { "" };
        assert_eq!(response.header("www-authenticate"), challenge, "{case}");
    }
    for (wrong, case) in [
        (Form::default(), "no token"),
        (Form::new(&[("token", "")]), "an empty token"),
        (form.clone().and("token", "x"), "two tokens"),
        (form.clone().and("client_id", "x").and("client_id", "x"), "two client ids"),
    ] {
        assert_eq!(oauth_error(&app.send("/oauth/revoke", &wrong).await), (400, "invalid_request"), "{case}");
    }
    assert_eq!(token_status(&api, &tokens.access).await, 200);
    Tokens::of(&app.refresh(&tokens.refresh).await);
}

/// Even repeated unknown parameters are ignored (RFC 6749, section 3.2).
#[tokio::test]
async fn unknown_parameters_are_ignored() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let tokens = app.connect(&browser).await;
    let refresh_form = OAuthApp::refresh_request(&tokens.refresh).and("token", "x").and("token", "y");
    let next = Tokens::of(&app.send("/oauth/token", &refresh_form).await.expect(200));
    let revoke_form = Form::new(&[("token", &next.refresh), ("refresh_token", "x"), ("refresh_token", "y")]);
    app.send("/oauth/revoke", &revoke_form).await.expect(200);
    assert_eq!(token_status(&api, &next.access).await, 401);
}
