//! OAuth: the page on which a member allows or denies, and who gets to see it.

use http::Method;
use serde_json::json;
use shared::model::Scope;
use tests::browser::{Browser, COOKIE, FORM, Form};
use tests::oauth::{App, REDIRECT, STATE, Tokens, address, status};
use tests::{ACME, BASE_URL, GLOBEX, World, tenant};

#[tokio::test]
async fn the_member_sees_who_asks_for_what_and_where_the_answer_goes() {
    let world = World::new().await;
    let metadata = json!({
        "client_name": "Assistant",
        "redirect_uris": [REDIRECT],
        "client_uri": "https://home.example/about",
        "token_endpoint_auth_method": "none",
    });
    let app = App::registered(&world, &metadata).await;
    let browser = Browser::signed_in(&world, ACME).await;
    let page =
        browser.get(&address(&app.asking().set("scope", "roles:read channels:write"))).await.expect(200);
    for shown in [
        "Allow <q>Assistant</q>",
        "<strong>app.example</strong>",
        "<strong>home.example</strong>",
        "Acme",
        "ada@acme.example",
        "nobody has verified this one",
    ] {
        assert!(page.text.contains(shown), "{shown} in {}", page.text);
    }
    for scope in Scope::ALL {
        let asked = [Scope::RolesRead, Scope::ChannelsWrite].contains(&scope);
        let shown = page.text.contains(&scope.description().replace('\'', "&#39;"));
        assert_eq!(shown, asked, "{scope:?}");
    }
    let all = browser.get(&address(&app.asking())).await.expect(200);
    assert_eq!(all.text.matches("<li>").count(), Scope::ALL.len() + 3, "no scope means every scope");
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
async fn whatever_an_application_calls_itself_and_sends_along_is_text() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let hostile = "</q><script>alert(1)</script><img src=x onerror=\"alert(2)\">'&amp;";
    let metadata = json!({
        "client_name": hostile,
        "redirect_uris": ["https://app.example/cb?a='(1)'&b=%22%3E"],
        "client_uri": "https://home.example/\"><script>alert(3)</script>",
        "token_endpoint_auth_method": "none",
    });
    let app = App::registered(&world, &metadata).await;
    let asking = app.asking().set("redirect_uri", "https://app.example/cb?a='(1)'&b=%22%3E");
    let asking = asking.set("state", "\"><script>alert(4)</script>").set("scope", "roles:read\troles:read");
    let page = browser.get(&address(&asking)).await.expect(200);
    for markup in ["<script", "<img src=x", "</q><", "onerror=\""] {
        assert!(!page.text.contains(markup), "{markup} in {}", page.text);
    }
    let form = Form::of(&page, "/oauth/authorize");
    for name in asking.names() {
        assert_eq!(form.get(name), asking.get(name), "it comes back as it was sent");
    }
    let form = form.and("mode", "live").and("decision", "allow");
    let (_, answer) = Form::of_location(&browser.submit("/oauth/authorize", &form).await);
    assert_eq!(answer.get("state"), asking.get("state"));
    let settings = browser.get("/dashboard/settings/integrations/connected-apps").await.expect(200);
    assert!(!settings.text.contains("<script"), "{}", settings.text);
}

#[tokio::test]
async fn whoever_is_not_signed_in_signs_in_and_comes_back() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let browser = Browser::new(&world);
    let asked = address(&app.asking());
    let sent = browser.get(&asked).await;
    assert!(sent.header("set-cookie").ends_with("; Path=/; Max-Age=86400; Secure; HttpOnly; SameSite=Lax"));
    let (door, query) = Form::of_location(&sent);
    assert_eq!((door.as_str(), query.get("return_to")), ("/dashboard/sign-in", asked.as_str()));
    let page = browser.get(sent.header("location")).await.expect(200);
    let before = browser.cookie().clone();
    let back = browser.sign_in(&page, GLOBEX).await;
    assert_eq!((back.status, back.header("location")), (303, asked.as_str()));
    assert_ne!(browser.cookie(), before, "nobody else knows the new cookie");
    let page = browser.get(back.header("location")).await.expect(200);
    assert!(page.text.contains("Globex"));
    // Somebody else wants to sign in.
    let out = Form::of(&page, "/dashboard/sign-out");
    let back = browser.submit("/dashboard/sign-out", &out).await;
    assert_eq!((back.status, back.header("location")), (303, asked.as_str()));
    assert_eq!(Form::of_location(&browser.get(&asked).await).0, "/dashboard/sign-in");
}

#[tokio::test]
async fn the_member_decides_and_the_application_is_told() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let browser = Browser::signed_in(&world, ACME).await;
    let page = browser.get(&address(&app.asking())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "test");
    world.wire.take();
    let denied = browser.submit("/oauth/authorize", &form.clone().and("decision", "deny")).await;
    let (back, told) = Form::of_location(&denied);
    assert_eq!((back.as_str(), told.get("error")), (REDIRECT, "access_denied"));
    assert_eq!((told.get("state"), told.get("iss")), (STATE, BASE_URL));
    assert!(world.wire.take().iter().all(|call| call.operation.contains("Get")), "nothing is written");
    for nothing in [
        form.clone(),
        form.clone().and("decision", "ALLOW"),
        form.clone().set("mode", "").and("decision", "allow"),
        form.clone().set("mode", "both").and("decision", "allow"),
    ] {
        let answer = browser.submit("/oauth/authorize", &nothing).await;
        assert_eq!((answer.status, answer.header("location")), (400, ""), "{nothing:?}");
    }
    world.wire.take();
    let allowed = browser.submit("/oauth/authorize", &form.and("decision", "allow")).await;
    let (back, told) = Form::of_location(&allowed);
    assert_eq!((back.as_str(), told.names()), (REDIRECT, vec!["code", "state", "iss"]));
    assert_eq!((told.get("state"), told.get("iss")), (STATE, BASE_URL));
    assert!(told.get("code").starts_with("rc_ac_T") && told.get("code").len() <= 256);
    assert_eq!(
        (allowed.header("referrer-policy"), allowed.header("cache-control")),
        ("no-referrer", "no-store")
    );
    let writes: Vec<_> =
        world.wire.take().into_iter().filter(|call| !call.operation.contains("Get")).collect();
    assert_eq!(writes.len(), 1, "one transaction");
}

#[tokio::test]
async fn a_consent_keeps_the_application_and_holds_only_if_the_member_is_still_there() {
    let world = World::new().await;
    world.wire.take();
    let app = App::register(&world, "none").await;
    let put = world.wire.take().into_iter().find(|call| call.operation == "PutItem").unwrap();
    let ninety_days = world.environment.clock.now().as_second() + 90 * 24 * 60 * 60;
    assert_eq!(
        put.request["Item"]["expires_at"]["N"],
        ninety_days.to_string(),
        "nobody has connected it yet"
    );
    app.code(&Browser::signed_in(&world, ACME).await, &app.asking(), "test").await;
    let calls = world.wire.take();
    let granted = calls.iter().rfind(|call| call.operation == "TransactWriteItems").unwrap();
    let actions: Vec<_> = granted.request["TransactItems"].as_array().unwrap().iter().collect();
    let find = |kind: &str, pk: &str| {
        actions.iter().map(|action| &action[kind]).find(|action| action["Key"]["pk"]["S"] == pk)
    };
    let kept = find("Update", &format!("OAUTH_CLIENT#{}", app.id)).unwrap();
    assert_eq!(kept["UpdateExpression"], "REMOVE #expires");
    let member = find("ConditionCheck", "1#live#MEMBER").unwrap();
    assert_eq!(member["ConditionExpression"], "#version = :version");
    assert_eq!(actions.len(), 3);
}

#[tokio::test]
async fn a_form_that_the_browser_was_not_given_grants_nothing() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let stranger = Browser::new(&world);
    let browser = Browser::new(&world);
    let door = browser.get("/dashboard/sign-in").await.expect(200);
    let csrf_before = Form::of(&door, "/dashboard/sign-in").get("csrf").to_owned();
    let cookie_before = browser.cookie().clone();
    browser.sign_in(&door, ACME).await.expect(303);
    let neighbour = Browser::signed_in(&world, GLOBEX).await;
    let form = async |browser: &Browser<'_>| {
        let page = browser.get(&address(&app.asking())).await.expect(200);
        Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow")
    };
    let (own, neighbours) = (form(&browser).await, form(&neighbour).await);
    let strange = stranger.get("/dashboard/sign-in").await.expect(200);
    let strange = Form::of(&strange, "/dashboard/sign-in").get("csrf").to_owned();
    let mistyped = format!("{}A", &browser.cookie()[..browser.cookie().len() - 1]);
    world.wire.take();
    for (what, cookie, form) in [
        ("no token", &browser.cookie(), own.clone().without("csrf")),
        ("an empty token", &browser.cookie(), own.clone().set("csrf", "")),
        ("a cut token", &browser.cookie(), own.clone().set("csrf", &own.get("csrf")[1..])),
        ("the token of before sign-in", &browser.cookie(), own.clone().set("csrf", &csrf_before)),
        ("another member's token", &browser.cookie(), neighbours.clone()),
        ("a stranger's token", &browser.cookie(), own.clone().set("csrf", &strange)),
        ("no cookie", &String::new(), own.clone()),
        ("another's cookie", &neighbour.cookie(), own.clone()),
        ("the cookie of before", &cookie_before, own.clone()),
        ("a mistyped cookie", &mistyped, own.clone()),
    ] {
        for decision in ["allow", "deny"] {
            let form = form.clone().set("decision", decision);
            let answer = Browser::with_cookie(&world, cookie).submit("/oauth/authorize", &form).await;
            assert_eq!((answer.status, answer.header("location")), (403, ""), "{what}");
            assert!(answer.header("content-type").starts_with("text/html"), "{what}");
        }
    }
    // In the query it is no form's.
    let path = address(&own.clone());
    let ask = world.request(Method::POST, &path).anonymous().body(FORM, "");
    ask.header("cookie", &format!("{COOKIE}={}", browser.cookie())).send().await.expect(403);
    for content_type in ["text/plain", "application/json", "multipart/form-data", ""] {
        let ask = world.request(Method::POST, "/oauth/authorize").anonymous();
        let ask = ask.header("cookie", &format!("{COOKIE}={}", browser.cookie()));
        ask.body(content_type, own.encoded()).send().await.expect(415);
    }
    // A form of its own, but nobody is signed in.
    let answer = stranger.submit("/oauth/authorize", &own.clone().set("csrf", &strange)).await;
    assert_eq!(Form::of_location(&answer).0, "/dashboard/sign-in");
    assert!(world.wire.take().iter().all(|call| call.operation.contains("Get")), "nothing is written");
    browser.submit("/oauth/authorize", &own).await.expect(303);
}

#[tokio::test]
async fn a_session_that_has_ended_grants_nothing() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    for how in ["signed out", "signed out everywhere", "two hours unused"] {
        let browser = Browser::signed_in(&world, ACME).await;
        let page = browser.get(&address(&app.asking())).await.expect(200);
        let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
        let cookie = browser.cookie().clone();
        let csrf = Form::new(&[("csrf", form.get("csrf"))]);
        match how {
            "signed out" => drop(browser.submit("/dashboard/sign-out", &csrf).await.expect(303)),
            "signed out everywhere" => {
                drop(browser.submit("/dashboard/sign-out-everywhere", &csrf).await.expect(303));
            }
            _ => world.hands.set("2026-11-20T11:30:00Z"),
        }
        let browser = Browser::with_cookie(&world, &cookie);
        world.wire.take();
        let answer = browser.submit("/oauth/authorize", &form).await;
        // After sign-in the same is asked once more.
        let (path, query) = Form::of_location(&answer);
        assert_eq!((path.as_str(), answer.status), ("/dashboard/sign-in", 303), "{how}");
        let asked = browser.get(query.get("return_to")).await;
        assert_eq!(Form::of_location(&asked), (path, query), "{how}");
        assert_eq!(Form::of_location(&browser.get(&address(&app.asking())).await).0, "/dashboard/sign-in");
        assert!(world.wire.take().iter().all(|call| call.operation.contains("Get")), "{how}");
    }
}

#[tokio::test]
async fn a_member_who_is_removed_takes_what_was_granted_along() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let browser = Browser::signed_in(&world, GLOBEX).await;
    let tokens = app.connect(&browser).await;
    let code = app.code(&browser, &app.asking(), "live").await;
    let page = browser.get(&address(&app.asking())).await.expect(200);
    let form = Form::of(&page, "/oauth/authorize").and("mode", "live").and("decision", "allow");
    let organization = tenant(GLOBEX, shared::model::Mode::Live).organization;
    let member = world.store().find_member(organization, organization).await.unwrap().unwrap();
    let now = world.environment.clock.now();
    shared::membership::remove(world.store(), organization, &member, None, now).await.unwrap();
    assert_eq!(status(&world, &tokens.access).await, 401);
    app.refresh(&tokens.refresh).await.expect(400);
    app.exchange(&code).await.expect(400);
    browser.submit("/oauth/authorize", &form).await.expect(303);
    assert_eq!(Form::of_location(&browser.get(&address(&app.asking())).await).0, "/dashboard/sign-in");
    let others = Tokens::of(
        &app.exchange(&{
            let browser = Browser::signed_in(&world, ACME).await;
            app.code(&browser, &app.asking(), "live").await
        })
        .await,
    );
    assert_eq!(status(&world, &others.access).await, 200);
}
