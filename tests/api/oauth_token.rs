//! OAuth: a code for the first tokens.

use futures_util::future::join_all;
use http::{HeaderValue, Method};
use shared::model::Mode;
use tests::browser::{Browser, FORM, Form};
use tests::oauth::{App, REDIRECT, Tokens, VERIFIER, basic, refusal, status};
use tests::{ACME, Answer, GLOBEX, World, key};

const TOKEN: &str = "/oauth/token";

async fn post(world: &World, authorization: Option<&str>, form: &Form) -> Answer {
    let ask = world.request(Method::POST, TOKEN).anonymous().body(FORM, form.encoded());
    match authorization {
        Some(value) => ask.header("authorization", value).send().await,
        None => ask.send().await,
    }
}

#[tokio::test]
async fn an_application_of_either_kind_gets_a_pair_of_tokens() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = App::register(&world, method).await;
        let asking = app.asking().set("scope", "roles:read organization:read");
        for (mode, letter) in [("live", 'L'), ("test", 'T')] {
            let code = app.code(&browser, &asking, mode).await;
            let answer = app.exchange(&code).await.expect(200);
            for (name, value) in [
                ("content-type", "application/json"),
                ("cache-control", "no-store"),
                ("pragma", "no-cache"),
                ("set-cookie", ""),
            ] {
                assert_eq!(answer.header(name), value, "{name}");
            }
            let mut names: Vec<_> = answer.body.as_object().unwrap().keys().map(String::as_str).collect();
            names.sort_unstable();
            assert_eq!(names, ["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
            assert_eq!((answer.string("/token_type"), answer.number("/expires_in")), ("Bearer", 3600));
            assert_eq!(answer.string("/scope"), "roles:read organization:read");
            let tokens = Tokens::of(&answer);
            for (token, prefix) in [(&tokens.access, "rc_at_"), (&tokens.refresh, "rc_rt_")] {
                assert!(token.starts_with(&format!("{prefix}{letter}")) && token.len() <= 256, "{token}");
            }
            assert_eq!(status(&world, &tokens.access).await, 200);
            assert_eq!(status(&world, &tokens.refresh).await, 401, "a refresh token opens nothing");
            assert_eq!(status(&world, &code).await, 401, "nor does a code");
        }
    }
}

#[tokio::test]
async fn a_request_that_is_not_right_leaves_the_code_for_the_one_that_is() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let another = App::register(&world, "client_secret_basic").await;
    let code = app.code(&browser, &app.asking(), "live").await;
    let stranger = another.code(&browser, &another.asking(), "live").await;
    let good = App::exchanging(&code);
    let mistyped = format!("{}A", &code[..code.len() - 1]);
    let (invalid, grant, target) = ("invalid_request", "invalid_grant", "invalid_target");
    let mut wrong = vec![
        (good.clone().without("code"), invalid),
        (good.clone().set("code", ""), invalid),
        (good.clone().set("code", &mistyped), grant),
        (good.clone().set("code", "nonsense"), grant),
        (good.clone().set("code", &"x".repeat(5_000)), grant),
        (good.clone().set("code", &stranger), grant),
        (good.clone().set("code", &key(ACME, Mode::Live)), grant),
        (good.clone().without("code_verifier"), invalid),
        (good.clone().set("code_verifier", ""), invalid),
        (good.clone().set("code_verifier", "wrong"), grant),
        (good.clone().set("code_verifier", &shared::model::challenge(VERIFIER)), grant),
        (good.clone().set("code_verifier", &VERIFIER.to_uppercase()), grant),
        (good.clone().set("code_verifier", &format!("{VERIFIER} ")), grant),
        (good.clone().without("redirect_uri"), invalid),
        (good.clone().set("redirect_uri", ""), invalid),
        (good.clone().set("redirect_uri", "https://app.example/other"), grant),
        (good.clone().set("redirect_uri", &format!("{REDIRECT}/")), grant),
        (good.clone().set("resource", "https://evil.example"), target),
        (
            good.clone().set("resource", "https://api.rolecall.test").and("resource", "https://evil.example"),
            target,
        ),
        (good.clone().without("grant_type"), invalid),
        (good.clone().set("grant_type", ""), invalid),
        (good.clone().set("grant_type", "password"), "unsupported_grant_type"),
        (good.clone().set("grant_type", "client_credentials"), "unsupported_grant_type"),
        (good.clone().set("grant_type", "refresh_token"), invalid),
        (good.clone().set("grant_type", "refresh_token").and("refresh_token", &code), grant),
    ];
    for name in ["grant_type", "code", "redirect_uri", "code_verifier"] {
        wrong.push((good.clone().and(name, good.get(name)), invalid));
    }
    for name in ["scope", "client_id", "client_secret", "refresh_token"] {
        wrong.push((good.clone().and(name, "x").and(name, "x"), invalid));
    }
    for (form, word) in wrong {
        assert_eq!(refusal(&app.send(TOKEN, &form).await), (400, word), "{form:?}");
    }
    for (form, who) in [(&good, &another), (&good.clone().set("code", &stranger), &app)] {
        assert_eq!(refusal(&who.send(TOKEN, form).await), (400, "invalid_grant"), "another client's code");
    }
    let tokens = Tokens::of(&app.send(TOKEN, &good).await);
    assert_eq!(status(&world, &tokens.access).await, 200);
    Tokens::of(&another.exchange(&stranger).await);
}

#[tokio::test]
async fn an_application_that_does_not_prove_itself_is_told_so_in_kind() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "client_secret_basic").await;
    let public = App::register(&world, "none").await;
    let other = App::register(&world, "client_secret_post").await;
    let secret = app.secret.clone().unwrap();
    let codes = [
        app.code(&browser, &app.asking(), "live").await,
        public.code(&browser, &public.asking(), "live").await,
    ];
    let good = App::exchanging(&codes[0]);
    let named = |id: &str| good.clone().and("client_id", id);
    let client = "invalid_client";
    let zeros = "0".repeat(22);
    for (what, authorization, form, expected) in [
        ("nobody", None, good.clone(), (400, "invalid_request")),
        ("an empty name", None, named(""), (400, "invalid_request")),
        ("an unknown client", None, named(&format!("rc_client_{zeros}")), (401, client)),
        ("no secret", None, named(&app.id), (401, client)),
        ("an empty secret", None, named(&app.id).and("client_secret", ""), (401, client)),
        ("a wrong secret", None, named(&app.id).and("client_secret", "x"), (401, client)),
        (
            "another's secret",
            None,
            named(&app.id).and("client_secret", other.secret.as_ref().unwrap()),
            (401, client),
        ),
        ("a public client with a secret", None, named(&public.id).and("client_secret", "x"), (401, client)),
        ("a wrong secret by Basic", Some(basic(&app.id, "x")), good.clone(), (401, client)),
        ("no secret by Basic", Some(basic(&app.id, "")), good.clone(), (401, client)),
        ("a longer secret", Some(basic(&app.id, &format!("{secret}x"))), good.clone(), (401, client)),
        ("an unknown client by Basic", Some(basic("x", "x")), good.clone(), (401, client)),
        ("nobody by Basic", Some(basic("", "")), good.clone(), (401, client)),
        ("no base64", Some("Basic ????".to_owned()), good.clone(), (401, client)),
        ("no colon", Some("Basic YWJj".to_owned()), good.clone(), (401, client)),
        ("no text", Some("Basic /////w==".to_owned()), good.clone(), (401, client)),
        ("no credentials", Some("Basic".to_owned()), named(&app.id), (401, client)),
        (
            "another scheme",
            Some(format!("Bearer {}", key(ACME, Mode::Live))),
            named(&public.id),
            (401, client),
        ),
        ("two names", Some(basic(&app.id, &secret)), named(&public.id), (401, client)),
        (
            "two ways",
            Some(basic(&app.id, &secret)),
            named(&app.id).and("client_secret", &secret),
            (400, "invalid_request"),
        ),
    ] {
        let answer = post(&world, authorization.as_deref(), &form).await;
        assert_eq!(refusal(&answer), expected, "{what}");
        let challenge =
            if expected.0 == 401 && authorization.is_some() { "Basic realm=\"rolecall\"" } else { "" };
        assert_eq!(answer.header("www-authenticate"), challenge, "{what}");
    }
    let twice = world.request(Method::POST, TOKEN).anonymous().body(FORM, good.encoded());
    let twice =
        twice.another("authorization", &basic(&app.id, &secret)).another("authorization", "Basic eDp5");
    assert_eq!(refusal(&twice.send().await), (401, client));
    let blurred = world.request(Method::POST, TOKEN).anonymous().body(FORM, good.encoded());
    let blurred = blurred.header_value("authorization", HeaderValue::from_bytes(b"Basic \xff\xfe").unwrap());
    assert!([400, 401].contains(&refusal(&blurred.send().await).0));
    // Either way is good for whoever has a secret; and the scheme is in any case.
    let by_basic = basic(&app.id, &secret).replace("Basic", "bAsIc");
    Tokens::of(&post(&world, Some(&by_basic), &named(&app.id)).await);
    // Some libraries send a public client's empty secret by Basic.
    Tokens::of(&post(&world, Some(&basic(&public.id, "")), &App::exchanging(&codes[1])).await);
}

#[tokio::test]
async fn what_is_no_form_is_refused_in_the_same_form() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let good = Form::new(&[("grant_type", "refresh_token"), ("refresh_token", "x"), ("client_id", &app.id)]);
    for path in [TOKEN, "/oauth/revoke"] {
        let send = async |content_type: Option<&str>, body: Vec<u8>| {
            let ask = world.request(Method::POST, path).anonymous();
            let ask = ask.body(content_type.unwrap_or("x"), body);
            match content_type {
                Some(_) => ask.send().await,
                None => {
                    ask.header_value("content-type", HeaderValue::from_bytes(b"\xff\xfe").unwrap())
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
            let answer = send(content_type, good.encoded().into_bytes()).await;
            assert_eq!(refusal(&answer), (400, "invalid_request"), "{path} {content_type:?}");
        }
        let large = format!("{}&x={}", good.encoded(), "x".repeat(64 * 1024)).into_bytes();
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
            let answer = send(Some(FORM), body.clone()).await;
            assert_eq!(
                refusal(&answer),
                (400, "invalid_request"),
                "{path} {:?}",
                String::from_utf8_lossy(&body[..body.len().min(60)])
            );
        }
    }
    let charset = "APPLICATION/X-WWW-Form-Urlencoded; charset=UTF-8";
    let ask = world.request(Method::POST, TOKEN).anonymous().body(charset, good.encoded());
    assert_eq!(refusal(&ask.send().await), (400, "invalid_grant"), "that is a form");
    // In the query they count for nothing.
    let query = format!("{TOKEN}?{}", good.encoded());
    let answer = world.request(Method::POST, &query).anonymous().body(FORM, "").send().await;
    assert_eq!(refusal(&answer), (400, "invalid_request"));
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        world.request(method, TOKEN).anonymous().send().await.expect(405);
    }
}

#[tokio::test]
async fn a_code_is_good_for_a_minute() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let [first, second] =
        [app.code(&browser, &app.asking(), "live").await, app.code(&browser, &app.asking(), "live").await];
    world.hands.set("2026-11-20T09:30:59.999Z");
    Tokens::of(&app.exchange(&first).await);
    world.hands.set("2026-11-20T09:31:00Z");
    assert_eq!(refusal(&app.exchange(&second).await), (400, "invalid_grant"));
}

#[tokio::test]
async fn a_code_that_is_used_again_ends_all_that_came_of_it() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let (app, other) = (App::register(&world, "none").await, App::register(&world, "none").await);
    let untouched = app.connect(&browser).await;
    for (what, spoiled) in
        [("as it was", Form::new(&[])), ("with another verifier", Form::new(&[("code_verifier", "x")]))]
    {
        let code = app.code(&browser, &app.asking(), "live").await;
        let first = Tokens::of(&app.exchange(&code).await);
        assert_eq!(refusal(&other.exchange(&code).await), (400, "invalid_grant"));
        assert_eq!(status(&world, &first.access).await, 200, "whoever else shows the code ends nothing");
        let next = Tokens::of(&app.refresh(&first.refresh).await);
        let mut again = App::exchanging(&code);
        for name in spoiled.names() {
            again = again.set(name, spoiled.get(name));
        }
        // Later, too: the code itself would no longer be good.
        assert_eq!(refusal(&app.send(TOKEN, &again).await), (400, "invalid_grant"), "{what}");
        assert_eq!(status(&world, &next.access).await, 401, "{what}");
        for token in [&first.refresh, &next.refresh] {
            assert_eq!(refusal(&app.refresh(token).await), (400, "invalid_grant"), "{what}");
        }
    }
    let code = app.code(&browser, &app.asking(), "live").await;
    let late = Tokens::of(&app.exchange(&code).await);
    world.hands.set("2026-11-20T09:50:00Z");
    assert_eq!(refusal(&app.exchange(&code).await), (400, "invalid_grant"));
    assert_eq!(status(&world, &late.access).await, 401, "a code that has expired since ends it as well");
    assert_eq!(status(&world, &untouched.access).await, 200, "another grant of the same application goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_who_use_a_code_at_once_one_gets_tokens() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let code = app.code(&browser, &app.asking(), "live").await;
    let answers = join_all((0..100).map(|_| app.exchange(&code))).await;
    let (good, bad): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(good.len(), 1);
    for answer in bad {
        assert_eq!(refusal(answer), (400, "invalid_grant"));
    }
    let tokens = Tokens::of(good[0]);
    assert_eq!(status(&world, &tokens.access).await, 401, "and does not keep them");
    assert_eq!(refusal(&app.refresh(&tokens.refresh).await), (400, "invalid_grant"));
}

#[tokio::test]
async fn a_code_opens_the_data_of_whoever_gave_it() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    for (demo, name) in [(ACME, "Acme"), (GLOBEX, "Globex")] {
        let tokens = app.connect(&Browser::signed_in(&world, demo).await).await;
        let shown = world.request(Method::GET, "/api/v1/organization").bearer(&tokens.access).send().await;
        assert_eq!(shown.expect(200).string("/name"), name);
    }
}
