//! OAuth: exchanging an authorization code for tokens.

use futures_util::future::join_all;
use http::{HeaderValue, Method};
use shared::model::Mode;
use tests::browser::{Browser, FORM, Form};
use tests::oauth::{OAuthApp, REDIRECT, Tokens, VERIFIER, basic_auth, oauth_error, token_status};
use tests::{ACME, GLOBEX, Response, TestApi, key};

const TOKEN: &str = "/oauth/token";

async fn post(api: &TestApi, authorization: Option<&str>, form: &Form) -> Response {
    let request = api.request(Method::POST, TOKEN).anonymous().body(FORM, form.encoded());
    match authorization {
        Some(value) => request.header("authorization", value).send().await,
        None => request.send().await,
    }
}

#[tokio::test]
async fn public_and_confidential_applications_get_tokens() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = OAuthApp::register(&api, method).await;
        let query = app.authorization_request().set("scope", "roles:read organization:read");
        for (mode, letter) in [("live", 'L'), ("test", 'T')] {
            let code = app.code(&browser, &query, mode).await;
            let response = app.exchange(&code).await.expect(200);
            for (name, value) in [
                ("content-type", "application/json"),
                ("cache-control", "no-store"),
                ("pragma", "no-cache"),
                ("set-cookie", ""),
            ] {
                assert_eq!(response.header(name), value, "{name}");
            }
            let mut names: Vec<_> = response.body.as_object().unwrap().keys().map(String::as_str).collect();
            names.sort_unstable();
            assert_eq!(names, ["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
            assert_eq!((response.string("/token_type"), response.number("/expires_in")), ("Bearer", 3600));
            assert_eq!(response.string("/scope"), "roles:read organization:read");
            let tokens = Tokens::of(&response);
            for (token, prefix) in [(&tokens.access, "rc_at_"), (&tokens.refresh, "rc_rt_")] {
                assert!(token.starts_with(&format!("{prefix}{letter}")) && token.len() <= 256, "{token}");
            }
            assert_eq!(token_status(&api, &tokens.access).await, 200);
            assert_eq!(
                token_status(&api, &tokens.refresh).await,
                401,
                "a refresh token is not an access token"
            );
            assert_eq!(token_status(&api, &code).await, 401, "a code is not an access token");
        }
    }
}

#[tokio::test]
async fn an_invalid_request_does_not_use_up_the_code() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let another = OAuthApp::register(&api, "client_secret_basic").await;
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let other_code = another.code(&browser, &another.authorization_request(), "live").await;
    let valid = OAuthApp::token_request(&code);
    let altered = format!("{}A", &code[..code.len() - 1]);
    let (invalid, grant, target) = ("invalid_request", "invalid_grant", "invalid_target");
    let mut wrong = vec![
        (valid.clone().without("code"), invalid),
        (valid.clone().set("code", ""), invalid),
        (valid.clone().set("code", &altered), grant),
        (valid.clone().set("code", "nonsense"), grant),
        (valid.clone().set("code", &"x".repeat(5_000)), grant),
        (valid.clone().set("code", &other_code), grant),
        (valid.clone().set("code", &key(ACME, Mode::Live)), grant),
        (valid.clone().without("code_verifier"), invalid),
        (valid.clone().set("code_verifier", ""), invalid),
        (valid.clone().set("code_verifier", "abc"), invalid),
        (valid.clone().set("code_verifier", &"a".repeat(42)), invalid),
        (valid.clone().set("code_verifier", &"a".repeat(129)), invalid),
        (valid.clone().set("code_verifier", &"a".repeat(128)), grant),
        (valid.clone().set("code_verifier", &shared::model::challenge(VERIFIER)), grant),
        (valid.clone().set("code_verifier", &VERIFIER.to_uppercase()), grant),
        (valid.clone().set("code_verifier", &format!("{VERIFIER} ")), invalid),
        (valid.clone().set("code_verifier", &format!("{VERIFIER}+")), invalid),
        (valid.clone().without("redirect_uri"), invalid),
        (valid.clone().set("redirect_uri", ""), invalid),
        (valid.clone().set("redirect_uri", "https://app.example/other"), grant),
        (valid.clone().set("redirect_uri", &format!("{REDIRECT}/")), grant),
        (valid.clone().set("resource", "https://evil.example"), target),
        (
            valid
                .clone()
                .set("resource", "https://api.rolecall.test")
                .and("resource", "https://evil.example"),
            target,
        ),
        (valid.clone().without("grant_type"), invalid),
        (valid.clone().set("grant_type", ""), invalid),
        (valid.clone().set("grant_type", "password"), "unsupported_grant_type"),
        (valid.clone().set("grant_type", "client_credentials"), "unsupported_grant_type"),
        (valid.clone().set("grant_type", "refresh_token"), invalid),
        (valid.clone().set("grant_type", "refresh_token").and("refresh_token", &code), grant),
    ];
    for name in ["grant_type", "code", "redirect_uri", "code_verifier"] {
        wrong.push((valid.clone().and(name, valid.get(name)), invalid));
    }
    for name in ["scope", "client_id", "client_secret", "refresh_token"] {
        wrong.push((valid.clone().and(name, "x").and(name, "x"), invalid));
    }
    for (form, error) in wrong {
        assert_eq!(oauth_error(&app.send(TOKEN, &form).await), (400, error), "{form:?}");
    }
    for (form, sender) in [(&valid, &another), (&valid.clone().set("code", &other_code), &app)] {
        assert_eq!(
            oauth_error(&sender.send(TOKEN, form).await),
            (400, "invalid_grant"),
            "another client's code"
        );
    }
    let tokens = Tokens::of(&app.send(TOKEN, &valid).await);
    assert_eq!(token_status(&api, &tokens.access).await, 200);
    Tokens::of(&another.exchange(&other_code).await);
}

#[tokio::test]
async fn failed_client_authentication_gets_invalid_client() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "client_secret_basic").await;
    let public = OAuthApp::register(&api, "none").await;
    let other = OAuthApp::register(&api, "client_secret_post").await;
    let secret = app.secret.clone().unwrap();
    let codes = [
        app.code(&browser, &app.authorization_request(), "live").await,
        public.code(&browser, &public.authorization_request(), "live").await,
    ];
    let valid = OAuthApp::token_request(&codes[0]);
    let with_client_id = |id: &str| valid.clone().and("client_id", id);
    let client = "invalid_client";
    let zeros = "0".repeat(22);
    for (case, authorization, form, expected) in [
        ("no client id", None, valid.clone(), (400, "invalid_request")),
        ("an empty client id", None, with_client_id(""), (400, "invalid_request")),
        ("an unknown client", None, with_client_id(&format!("rc_client_{zeros}")), (401, client)),
        ("no secret", None, with_client_id(&app.id), (401, client)),
        ("an empty secret", None, with_client_id(&app.id).and("client_secret", ""), (401, client)),
        ("a wrong secret", None, with_client_id(&app.id).and("client_secret", "x"), (401, client)),
        (
            "another client's secret",
            None,
            with_client_id(&app.id).and("client_secret", other.secret.as_ref().unwrap()),
            (401, client),
        ),
        (
            "a public client with a secret",
            None,
            with_client_id(&public.id).and("client_secret", "x"),
            (401, client),
        ),
        ("a wrong secret in the Basic header", Some(basic_auth(&app.id, "x")), valid.clone(), (401, client)),
        ("no secret in the Basic header", Some(basic_auth(&app.id, "")), valid.clone(), (401, client)),
        ("a longer secret", Some(basic_auth(&app.id, &format!("{secret}x"))), valid.clone(), (401, client)),
        ("an unknown client in the Basic header", Some(basic_auth("x", "x")), valid.clone(), (401, client)),
        ("an empty client id in the Basic header", Some(basic_auth("", "")), valid.clone(), (401, client)),
        ("invalid base64", Some("Basic ????".to_owned()), valid.clone(), (401, client)),
        ("no colon", Some("Basic YWJj".to_owned()), valid.clone(), (401, client)),
        ("not UTF-8", Some("Basic /////w==".to_owned()), valid.clone(), (401, client)),
        ("no credentials", Some("Basic".to_owned()), with_client_id(&app.id), (401, client)),
        (
            "another scheme",
            Some(format!("Bearer {}", key(ACME, Mode::Live))),
            with_client_id(&public.id),
            (401, client),
        ),
        ("two client ids", Some(basic_auth(&app.id, &secret)), with_client_id(&public.id), (401, client)),
        (
            "two authentication methods",
            Some(basic_auth(&app.id, &secret)),
            with_client_id(&app.id).and("client_secret", &secret),
            (400, "invalid_request"),
        ),
    ] {
        let response = post(&api, authorization.as_deref(), &form).await;
        assert_eq!(oauth_error(&response), expected, "{case}");
        let challenge =
            if expected.0 == 401 && authorization.is_some() { "Basic realm=\"rolecall\"" } else { "" };
        assert_eq!(response.header("www-authenticate"), challenge, "{case}");
    }
    let twice = api.request(Method::POST, TOKEN).anonymous().body(FORM, valid.encoded());
    let twice = twice
        .append_header("authorization", &basic_auth(&app.id, &secret))
        .append_header("authorization", "Basic eDp5");
    assert_eq!(oauth_error(&twice.send().await), (401, client));
    let not_utf8 = api.request(Method::POST, TOKEN).anonymous().body(FORM, valid.encoded());
    let not_utf8 =
        not_utf8.header_value("authorization", HeaderValue::from_bytes(b"Basic \xff\xfe").unwrap());
    assert!([400, 401].contains(&oauth_error(&not_utf8.send().await).0));
    // The scheme is case-insensitive.
    let by_basic = basic_auth(&app.id, &secret).replace("Basic", "bAsIc");
    Tokens::of(&post(&api, Some(&by_basic), &with_client_id(&app.id)).await);
    // Some libraries send the empty secret of a public client in the Basic header.
    Tokens::of(&post(&api, Some(&basic_auth(&public.id, "")), &OAuthApp::token_request(&codes[1])).await);
}

/// Some libraries always send the secret in one way, and some exchange in one way and refresh in the other.
#[tokio::test]
async fn a_secret_is_accepted_by_both_methods() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    for method in ["client_secret_basic", "client_secret_post"] {
        let app = OAuthApp::register(&api, method).await;
        let secret = app.secret.clone().unwrap();
        let basic = basic_auth(&app.id, &secret);
        let in_form = |form: Form| form.and("client_id", &app.id).and("client_secret", &secret);
        let [one, two] = [
            app.code(&browser, &app.authorization_request(), "live").await,
            app.code(&browser, &app.authorization_request(), "live").await,
        ];
        let by_basic = Tokens::of(&post(&api, Some(&basic), &OAuthApp::token_request(&one)).await);
        Tokens::of(&post(&api, None, &in_form(OAuthApp::refresh_request(&by_basic.refresh))).await);
        let by_form = Tokens::of(&post(&api, None, &in_form(OAuthApp::token_request(&two))).await);
        let last = Tokens::of(&post(&api, Some(&basic), &OAuthApp::refresh_request(&by_form.refresh)).await);
        let revoke = in_form(Form::new(&[("token", &last.refresh)]));
        api.request(Method::POST, "/oauth/revoke")
            .anonymous()
            .body(FORM, revoke.encoded())
            .send()
            .await
            .expect(200);
        assert_eq!(token_status(&api, &last.access).await, 401, "{method}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_a_form_gets_an_oauth_error() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    let valid = Form::new(&[("grant_type", "refresh_token"), ("refresh_token", "x"), ("client_id", &app.id)]);
    for path in [TOKEN, "/oauth/revoke"] {
        let send = async |content_type: Option<&str>, body: Vec<u8>| {
            let request = api.request(Method::POST, path).anonymous();
            let request = request.body(content_type.unwrap_or("x"), body);
            match content_type {
                Some(_) => request.send().await,
                None => {
                    request
                        .header_value("content-type", HeaderValue::from_bytes(b"\xff\xfe").unwrap())
                        .send()
                        .await
                }
            }
        };
        let types = [
            "",
            " ",
            ";",
            "/",
            "x",
            "application/json",
            "text/plain",
            "multipart/form-data; boundary=x",
            "application/x-www-form-urlencodedx",
            "application/x-www-form-urlencoded, text/plain",
            "\"\"",
        ];
        for content_type in types.into_iter().map(Some).chain([None]) {
            let response = send(content_type, valid.encoded().into_bytes()).await;
            assert_eq!(oauth_error(&response), (400, "invalid_request"), "{path} {content_type:?}");
        }
        let large = format!("{}&x={}", valid.encoded(), "x".repeat(64 * 1024)).into_bytes();
        for body in [
            Vec::new(),
            b"&&&===".to_vec(),
            b"{\"grant_type\":\"refresh_token\"}".to_vec(),
            b"\0\xff\xfe%ff%zz%".to_vec(),
            b"grant_type".to_vec(),
            b"%67rant_type=refresh_token".to_vec(),
            "&".repeat(60_000).into_bytes(),
            "grant_type=refresh_token&".repeat(2_000).into_bytes(),
            large,
        ] {
            let response = send(Some(FORM), body.clone()).await;
            assert_eq!(
                oauth_error(&response),
                (400, "invalid_request"),
                "{path} {:?}",
                String::from_utf8_lossy(&body[..body.len().min(60)])
            );
        }
    }
    let charset = "APPLICATION/X-WWW-Form-Urlencoded; charset=UTF-8";
    let request = api.request(Method::POST, TOKEN).anonymous().body(charset, valid.encoded());
    assert_eq!(oauth_error(&request.send().await), (400, "invalid_grant"), "the content type is accepted");
    // Query parameters are ignored.
    let query = format!("{TOKEN}?{}", valid.encoded());
    let response = api.request(Method::POST, &query).anonymous().body(FORM, "").send().await;
    assert_eq!(oauth_error(&response), (400, "invalid_request"));
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        api.request(method, TOKEN).anonymous().send().await.expect(405);
    }
}

#[tokio::test]
async fn a_code_is_valid_for_a_minute() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let [first, second] = [
        app.code(&browser, &app.authorization_request(), "live").await,
        app.code(&browser, &app.authorization_request(), "live").await,
    ];
    api.clock.set("2026-11-20T09:30:59.999Z");
    Tokens::of(&app.exchange(&first).await);
    api.clock.set("2026-11-20T09:31:00Z");
    assert_eq!(oauth_error(&app.exchange(&second).await), (400, "invalid_grant"));
}

#[tokio::test]
async fn reuse_of_a_code_ends_its_grant() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let (app, other) = (OAuthApp::register(&api, "none").await, OAuthApp::register(&api, "none").await);
    let untouched = app.connect(&browser).await;
    for with_a_refresh in [false, true] {
        let code = app.code(&browser, &app.authorization_request(), "live").await;
        let first = Tokens::of(&app.exchange(&code).await);
        assert_eq!(oauth_error(&other.exchange(&code).await), (400, "invalid_grant"));
        assert_eq!(token_status(&api, &first.access).await, 200, "another client's reuse has no effect");
        let last =
            if with_a_refresh { Tokens::of(&app.refresh(&first.refresh).await) } else { first.clone() };
        // Somebody who has only the code, from a log or a history, cannot end the grant.
        let again = OAuthApp::token_request(&code);
        for (name, value) in [
            ("code_verifier", "x".repeat(43)),
            ("code_verifier", "x".to_owned()),
            ("redirect_uri", "https://app.example/other".to_owned()),
        ] {
            oauth_error(&app.send(TOKEN, &again.clone().set(name, &value)).await);
            assert_eq!(token_status(&api, &last.access).await, 200, "{name}: {value}");
        }
        assert_eq!(oauth_error(&app.send(TOKEN, &again).await), (400, "invalid_grant"));
        assert_eq!(token_status(&api, &last.access).await, 401);
        for token in [&first.refresh, &last.refresh] {
            assert_eq!(oauth_error(&app.refresh(token).await), (400, "invalid_grant"));
        }
    }
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let late = Tokens::of(&app.exchange(&code).await);
    api.clock.set("2026-11-20T09:50:00Z");
    assert_eq!(oauth_error(&app.exchange(&code).await), (400, "invalid_grant"));
    assert_eq!(token_status(&api, &late.access).await, 401, "reuse of an expired code also ends the grant");
    assert_eq!(
        token_status(&api, &untouched.access).await,
        200,
        "another grant of the same application remains"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_100_concurrent_exchanges_succeeds() {
    let api = TestApi::new().await;
    let browser = Browser::signed_in(&api, ACME).await;
    let app = OAuthApp::register(&api, "none").await;
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    let responses = join_all((0..100).map(|_| app.exchange(&code))).await;
    let (valid, bad): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status == 200);
    assert_eq!(valid.len(), 1);
    for response in bad {
        assert_eq!(oauth_error(response), (400, "invalid_grant"));
    }
    let tokens = Tokens::of(valid[0]);
    assert_eq!(token_status(&api, &tokens.access).await, 401, "the reuse of the code revokes the tokens");
    assert_eq!(oauth_error(&app.refresh(&tokens.refresh).await), (400, "invalid_grant"));
}

#[tokio::test]
async fn a_code_grants_access_to_the_members_organization() {
    let api = TestApi::new().await;
    let app = OAuthApp::register(&api, "none").await;
    for (demo, name) in [(ACME, "Acme"), (GLOBEX, "Globex")] {
        let tokens = app.connect(&Browser::signed_in(&api, demo).await).await;
        let actual = api.request(Method::GET, "/api/v1/organization").bearer(&tokens.access).send().await;
        assert_eq!(actual.expect(200).string("/name"), name);
    }
}
