//! OAuth: access tokens at the API's gate.

use http::Method;
use serde_json::json;
use shared::auth::Credential;
use shared::model::{Mode, Plan};
use tests::browser::{Browser, Form};
use tests::oauth::{App, Tokens, refusal, status};
use tests::{ACME, Answer, GLOBEX, World, tenant};

async fn get(world: &World, path: &str, access: &str) -> Answer {
    world.request(Method::GET, path).bearer(access).send().await
}

#[tokio::test]
async fn an_access_token_costs_what_a_key_costs() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let tokens = app.connect(&Browser::signed_in(&world, ACME).await).await;
    let operations = || world.wire.take().into_iter().map(|call| call.operation).collect::<Vec<_>>();
    operations();
    world.get("/api/v1/roles").await.expect(200);
    let of_a_key = operations();
    get(&world, "/api/v1/roles", &tokens.access).await.expect(200);
    assert_eq!(
        (operations(), of_a_key.as_slice()),
        (of_a_key.clone(), &["UpdateItem", "Query"].map(String::from)[..])
    );
    get(&world, "/api/v1/roles", "rc_at_L").await.expect(401);
    assert_eq!(operations(), [""; 0], "junk is refused without a call");
}

#[tokio::test]
async fn an_access_token_is_good_for_an_hour() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let tokens = app.connect(&Browser::signed_in(&world, ACME).await).await;
    for (time, expected) in
        [("2026-11-20T10:29:59.999Z", 200), ("2026-11-20T10:30:00Z", 401), ("2026-11-21T09:30:00Z", 401)]
    {
        world.hands.set(time);
        assert_eq!(status(&world, &tokens.access).await, expected, "{time}");
    }
    let next = Tokens::of(&app.refresh(&tokens.refresh).await);
    assert_eq!(status(&world, &next.access).await, 200);
}

#[tokio::test]
async fn what_an_application_asks_is_counted_as_the_organizations() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let tokens = app.connect(&Browser::signed_in(&world, GLOBEX).await).await;
    let by_token = async || get(&world, "/api/v1/organization", &tokens.access).await.expect(200);
    assert_eq!(by_token().await.number("/usage/requests_today"), 1, "the way to the token is not counted");
    let by_key = world.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send().await;
    assert_eq!(by_key.number("/usage/requests_today"), 2);
    let third = by_token().await;
    assert_eq!(third.number("/usage/requests_today"), 3);
    let left = Plan::Free.requests_per_day().unwrap() - 3;
    assert!(third.header("ratelimit").starts_with(&format!("\"daily\";r={left};")), "{:?}", third.headers);
}

#[tokio::test]
async fn a_suspended_organizations_application_is_forbidden_and_told_no_way_round() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let tokens = app.connect(&Browser::signed_in(&world, GLOBEX).await).await;
    let organization = tenant(GLOBEX, Mode::Live).organization;
    world.store().set_suspended(organization, true).await.unwrap();
    let answer = get(&world, "/api/v1/roles", &tokens.access).await.expect(403);
    assert_eq!(
        (answer.string("/error"), answer.header("www-authenticate")),
        ("The organization is suspended", "")
    );
    world.store().set_suspended(organization, false).await.unwrap();
    get(&world, "/api/v1/roles", &tokens.access).await.expect(200);
}

#[tokio::test]
async fn a_token_for_another_api_is_not_good_here() {
    let mut world = World::new().await;
    let app = App::register(&world, "none").await;
    let tokens = app.connect(&Browser::signed_in(&world, ACME).await).await;
    let credential: Credential = tokens.access.parse().unwrap();
    let grant = world.store().find_grant(credential.tenant(), credential.id()).await.unwrap().unwrap();
    assert_eq!(grant.tokens.unwrap().access, credential.hash_for("https://api.rolecall.test/api/v1"));
    let here = world.gateway.clone();
    for elsewhere in
        ["https://api.elsewhere.test", "http://api.rolecall.test", "https://api.rolecall.test:8443"]
    {
        world.environment.config.base_url = Some(elsewhere.to_owned());
        world.restart();
        assert_eq!(status(&world, &tokens.access).await, 401, "{elsewhere}");
    }
    world.gateway = here;
    assert_eq!(status(&world, &tokens.access).await, 200);
}

#[tokio::test]
async fn a_token_of_test_mode_sees_test_data_only() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let [live, test] = ["live", "test"].map(|mode| (mode, app.asking()));
    let mut tokens = Vec::new();
    for (mode, asking) in [live, test] {
        let code = app.code(&browser, &asking, mode).await;
        tokens.push(Tokens::of(&app.exchange(&code).await));
    }
    for (tokens, title) in tokens.iter().zip(["live role", "test role"]) {
        let post = world.request(Method::POST, "/api/v1/roles").bearer(&tokens.access);
        post.json(&json!({ "title": title })).send().await.expect(201);
    }
    for (tokens, mode, title) in
        [(&tokens[0], Mode::Live, "live role"), (&tokens[1], Mode::Test, "test role")]
    {
        let by_key = world.request(Method::GET, "/api/v1/roles").key(ACME, mode).send().await;
        for answer in [get(&world, "/api/v1/roles", &tokens.access).await, by_key] {
            let roles = answer.body["data"].as_array().unwrap();
            assert_eq!((roles.len(), roles[0]["title"].as_str()), (1, Some(title)));
        }
    }
    // The same text with another mode's letter is no token at all.
    let turned = tokens[1].access.replacen("rc_at_T", "rc_at_L", 1);
    assert_eq!(status(&world, &turned).await, 401);
}

#[tokio::test]
async fn what_the_dashboard_revokes_ends_at_once() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let (kept, gone) = (app.connect(&browser).await, app.connect(&browser).await);
    let code = app.code(&browser, &app.asking(), "live").await;
    let settings = "/dashboard/settings/integrations/connected-apps";
    for credential in [&gone.access, &code] {
        let id = credential.parse::<Credential>().unwrap().id().get();
        let form = Form::of(&browser.get("/dashboard").await.expect(200), "/dashboard/sign-out");
        let globex = Browser::signed_in(&world, GLOBEX).await;
        let theirs = Form::of(&globex.get("/dashboard").await.expect(200), "/dashboard/sign-out");
        let path = format!("{settings}/{id}/revoke");
        globex.submit(&path, &theirs).await.expect(404);
        browser.submit(&path, &form).await.expect(303);
        browser.submit(&path, &form).await.expect(303);
    }
    assert_eq!(status(&world, &gone.access).await, 401);
    assert_eq!(refusal(&app.refresh(&gone.refresh).await), (400, "invalid_grant"));
    assert_eq!(refusal(&app.exchange(&code).await), (400, "invalid_grant"));
    assert_eq!(status(&world, &kept.access).await, 200);
}

#[tokio::test]
async fn what_an_application_does_is_known_as_its_doing() {
    let world = World::new().await;
    let app = App::register(&world, "none").await;
    let tokens = app.connect(&Browser::signed_in(&world, ACME).await).await;
    let post = world.request(Method::POST, "/api/v1/candidates").bearer(&tokens.access);
    let jane = post.json(&json!({ "name": "Jane", "email": "jane@example.com" })).send().await.expect(201);
    let page = get(&world, &format!("/api/v1/candidates/{}", jane.number("/id")), &tokens.access).await;
    assert_eq!(page.expect(200).string("/touchpoints/0/actor"), "Assistant");
}

#[tokio::test]
async fn an_organization_connects_fifty_applications_and_expired_ones_make_room() {
    let world = World::new().await;
    let browser = Browser::signed_in(&world, ACME).await;
    let app = App::register(&world, "none").await;
    let mut all = Vec::new();
    for _ in 0..50 {
        all.push(app.connect(&browser).await);
    }
    let code = app.code(&browser, &app.asking(), "live").await;
    let answer = app.exchange(&code).await;
    assert_eq!(refusal(&answer), (400, "invalid_grant"));
    assert!(answer.string("/error_description").contains("Too many applications"), "{}", answer.text);
    let renewed = Tokens::of(&app.refresh(&all[0].refresh).await);
    assert_eq!(status(&world, &renewed.access).await, 200, "whoever has a place keeps it");
    app.revoke(&all[1].refresh).await.expect(200);
    Tokens::of(&app.exchange(&code).await);
    world.hands.set("2026-11-20T10:31:00Z");
    app.connect(&browser).await;
    for pair in &all[2..] {
        Tokens::of(&app.refresh(&pair.refresh).await);
    }
}
