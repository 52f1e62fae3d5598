//! OAuth: revocation (RFC 7009).

use http::Method;
use shared::model::Mode;
use tests::browser::{Browser, FORM, Form};
use tests::oauth::{App, Tokens, basic, refusal, status};
use tests::{ACME, World, key};

#[tokio::test]
async fn an_application_revokes_a_token_or_with_the_refresh_token_the_grant() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let app = App::register(&world, method).await;
        let tokens = app.connect(&browser).await;
        let answer = app.revoke(&tokens.access).await.expect(200);
        assert_eq!((answer.header("cache-control"), answer.text.as_str()), ("no-store", "{}"));
        assert_eq!(status(&world, &tokens.access).await, 401);
        let next = Tokens::of(&app.refresh(&tokens.refresh).await);
        assert_eq!(status(&world, &next.access).await, 200, "the grant goes on");
        app.revoke(&next.refresh).await.expect(200);
        assert_eq!(status(&world, &next.access).await, 401);
        assert_eq!(refusal(&app.refresh(&next.refresh).await), (400, "invalid_grant"));
        for ended in [&tokens.access, &tokens.refresh, &next.access, &next.refresh] {
            app.revoke(ended).await.expect(200);
        }
    }
    // A hint, right or wrong, changes nothing; and a refresh token that was replaced names the same grant.
    let app = App::register(&world, "none").await;
    for hint in ["access_token", "refresh_token", "pigeon", ""] {
        let tokens = app.connect(&browser).await;
        let next = Tokens::of(&app.refresh(&tokens.refresh).await);
        let form = Form::new(&[("token", &tokens.refresh), ("token_type_hint", hint)]);
        app.send("/oauth/revoke", &form).await.expect(200);
        assert_eq!(status(&world, &next.access).await, 401, "{hint}");
    }
}

#[tokio::test]
async fn what_is_not_known_is_answered_alike_and_ends_nothing() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let tokens = app.connect(&browser).await;
    let old = Tokens::of(&app.refresh(&tokens.refresh).await);
    let last = Tokens::of(&app.refresh(&old.refresh).await);
    let code = app.code(&browser, &app.asking(), "live").await;
    let mistyped = format!("{}A", &last.refresh[..last.refresh.len() - 1]);
    let (key, long) = (key(ACME, Mode::Live), "x".repeat(10_000));
    for unknown in [
        &mistyped,
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
    assert_eq!(status(&world, &last.access).await, 200);
    assert_eq!(status(&world, &key).await, 200);
    Tokens::of(&app.refresh(&last.refresh).await);
    Tokens::of(&app.exchange(&code).await);
    browser.get("/dashboard").await.expect(200);
}

#[tokio::test]
async fn nobody_revokes_anothers_token() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let (app, thief) =
        (App::register(&world, "client_secret_basic").await, App::register(&world, "none").await);
    let first = app.connect(&browser).await;
    let tokens = Tokens::of(&app.refresh(&first.refresh).await);
    for token in [&tokens.access, &tokens.refresh, &first.refresh] {
        assert_eq!(refusal(&thief.revoke(token).await), (400, "invalid_grant"));
    }
    let form = Form::new(&[("token", &tokens.refresh)]);
    let named = form.clone().and("client_id", &app.id);
    let wrong = basic(&app.id, "wrong");
    for (what, authorization, form, expected) in [
        ("without its secret", None, &named, (401, "invalid_client")),
        ("with a wrong one", None, &named.clone().and("client_secret", "x"), (401, "invalid_client")),
        ("with a wrong one by Basic", Some(&wrong), &form, (401, "invalid_client")),
        ("by nobody", None, &form, (400, "invalid_request")),
        ("by an unknown one", None, &form.clone().and("client_id", "x"), (401, "invalid_client")),
    ] {
        let ask = world.request(Method::POST, "/oauth/revoke").anonymous().body(FORM, form.encoded());
        let ask = match authorization {
            Some(value) => ask.header("authorization", value),
            None => ask,
        };
        let answer = ask.send().await;
        assert_eq!(refusal(&answer), expected, "{what}");
        let challenge = if authorization.is_some() { "Basic realm=\"rolecall\"" } else { "" };
        assert_eq!(answer.header("www-authenticate"), challenge, "{what}");
    }
    for (wrong, what) in [
        (Form::default(), "no token"),
        (Form::new(&[("token", "")]), "an empty one"),
        (form.clone().and("token", "x"), "two"),
        (form.clone().and("client_id", "x").and("client_id", "x"), "two names"),
    ] {
        assert_eq!(refusal(&app.send("/oauth/revoke", &wrong).await), (400, "invalid_request"), "{what}");
    }
    assert_eq!(status(&world, &tokens.access).await, 200);
    Tokens::of(&app.refresh(&tokens.refresh).await);
}

/// However often it is sent (RFC 6749, section 3.2).
#[tokio::test]
async fn what_an_endpoint_does_not_know_it_ignores() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let tokens = app.connect(&browser).await;
    let refreshing = App::refreshing(&tokens.refresh).and("token", "x").and("token", "y");
    let next = Tokens::of(&app.send("/oauth/token", &refreshing).await.expect(200));
    let revoking = Form::new(&[("token", &next.refresh), ("refresh_token", "x"), ("refresh_token", "y")]);
    app.send("/oauth/revoke", &revoking).await.expect(200);
    assert_eq!(status(&world, &next.access).await, 401);
}
