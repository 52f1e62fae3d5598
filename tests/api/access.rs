//! Who may: 401, 403, and a foreign tenant's 404, on every row of every route table.

use http::Method;
use rolecall_local::functions::tables;
use serde_json::json;
use shared::auth::{Credential, Kind};
use shared::http::Access;
use shared::id::Id;
use shared::model::{Mode, Scope, Scopes, Tenant};
use shared::random::Random;
use shared::store::{ApiKey, NewApiKey};
use tests::{ACME, Answer, GLOBEX, Things, World, tenant};

fn rows() -> Vec<(Method, &'static str, Scope)> {
    let routes = tables().into_iter().flat_map(|tables| tables.routes);
    let row = |route: shared::http::Route| match route.access() {
        Access::Public | Access::Signed | Access::Member(_) => None,
        Access::Scope(scope) => {
            let (method, path) = route.key.split_once(' ')?;
            Some((method.parse().ok()?, path, scope))
        }
    };
    routes.filter_map(row).collect()
}

async fn new_key(
    world: &World,
    tenant: Tenant,
    number: u64,
    scopes: Scopes,
    expires_at: Option<jiff::Timestamp>,
) -> Credential {
    let credential =
        Credential::generate(Kind::ApiKey, tenant, Id::new(number).unwrap(), &Random::seeded(number));
    let key = ApiKey {
        id: credential.id(),
        name: "test".to_owned(),
        scopes,
        created_at: jiff::Timestamp::UNIX_EPOCH,
        expires_at,
        revoked_at: None,
    };
    world.store().insert_api_key(tenant, &NewApiKey { key, hash: credential.hash() }).await.unwrap();
    credential
}

fn assert_401(answer: &Answer, challenge: &str) {
    assert_eq!((answer.status, answer.string("/code")), (401, "unauthorized"));
    assert_eq!(answer.header("www-authenticate"), challenge);
    assert_eq!(answer.header("ratelimit"), "", "nobody's quota is shown");
    assert!(!answer.string("/request_id").is_empty());
}

const NO_CREDENTIAL: &str = concat!(
    "Bearer resource_metadata=",
    r#""https://api.rolecall.test/.well-known/oauth-protected-resource/api/v1""#
);
const BAD_CREDENTIAL: &str = concat!(
    "Bearer resource_metadata=",
    r#""https://api.rolecall.test/.well-known/oauth-protected-resource/api/v1", error="invalid_token""#
);

#[tokio::test]
async fn every_row_wants_a_good_credential() {
    let world = World::new().await;
    let unknown = Credential::generate(
        Kind::ApiKey,
        tenant(GLOBEX, Mode::Live),
        Id::new(99).unwrap(),
        &Random::seeded(1),
    );
    let nobody = Tenant { organization: Id::new(77).unwrap(), mode: Mode::Live };
    let nobody = Credential::generate(Kind::ApiKey, nobody, Id::new(1).unwrap(), &Random::seeded(2));
    let forged = Credential::with_secret(
        Kind::ApiKey,
        tenant(GLOBEX, Mode::Live),
        Id::new(2).unwrap(),
        "ThisIsNotTheSecretOfGlobex1",
    );
    let mistyped = tests::key(GLOBEX, Mode::Live).replace("Secret", "secret");
    for (method, path, _) in rows() {
        let path = path.replace("{id}", "17");
        world.wire.take();
        assert_401(&world.request(method.clone(), &path).anonymous().send().await, NO_CREDENTIAL);
        for junk in [&mistyped, "nonsense", "", "rc_live_", "🔑"] {
            let ask = world.request(method.clone(), &path).anonymous();
            let value = http::HeaderValue::from_bytes(format!("Bearer {junk}").as_bytes()).unwrap();
            assert_401(&ask.header_value("authorization", value).send().await, BAD_CREDENTIAL);
        }
        assert_401(
            &world.request(method.clone(), &path).header("authorization", "Basic eDp5").send().await,
            BAD_CREDENTIAL,
        );
        let twice = world.request(method.clone(), &path).another("authorization", "Bearer x");
        assert_401(&twice.send().await, BAD_CREDENTIAL);
        assert!(world.wire.take().is_empty(), "junk is refused without a call to DynamoDB");
        for key in [&unknown, &nobody, &forged] {
            let ask = world
                .request(method.clone(), &path)
                .header("authorization", &format!("Bearer {}", key.reveal()));
            assert_401(&ask.send().await, BAD_CREDENTIAL);
        }
    }
    let used = world.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send().await;
    assert_eq!(used.number("/usage/requests_today"), 1, "bad credentials spend nothing");
}

#[tokio::test]
async fn every_row_wants_its_scope() {
    let world = World::new().await;
    for (method, path, scope) in rows() {
        for (number, other) in Scope::ALL.into_iter().enumerate() {
            let number = 100 + number as u64;
            let key = Credential::generate(
                Kind::ApiKey,
                tenant(ACME, Mode::Live),
                Id::new(number).unwrap(),
                &Random::seeded(number),
            );
            if world.store().find_api_key(tenant(ACME, Mode::Live), key.id()).await.unwrap().is_none() {
                new_key(&world, tenant(ACME, Mode::Live), number, Scopes::from_iter([other]), None).await;
            }
            let ask = world.request(method.clone(), &path.replace("{id}", "17"));
            let answer = ask.header("authorization", &format!("Bearer {}", key.reveal())).send().await;
            if other == scope {
                assert!(![401, 403].contains(&answer.status), "{method} {path}: {}", answer.text);
            } else {
                assert_eq!((answer.status, answer.string("/code")), (403, "forbidden"), "{method} {path}");
                let challenge =
                    format!(r#"{NO_CREDENTIAL}, error="insufficient_scope", scope="{}""#, scope.as_str());
                assert_eq!(answer.header("www-authenticate"), challenge);
            }
        }
    }
}

/// What belongs to another tenant, be it another organization or the other mode, answers exactly like what never was.
#[tokio::test]
async fn a_foreign_id_answers_like_an_absent_one() {
    let world = World::new().await;
    let things = Things::new(&world).await;
    let everything = async || {
        let mut shown = String::new();
        for path in [
            format!("/api/v1/roles/{}", things.role),
            format!("/api/v1/job_postings/{}", things.posting),
            format!("/api/v1/candidates/{}", things.candidate),
            format!("/api/v1/voice_screens/{}", things.screen),
        ] {
            shown += &world.get(&path).await.expect(200).text;
        }
        shown
    };
    let before = everything().await;
    let without_request_id = |answer: &Answer| {
        let mut headers = answer.headers.clone();
        for name in ["x-request-id", "ratelimit", "date"] {
            headers.remove(name);
        }
        (answer.status, answer.text.replace(answer.string("/request_id"), ""), headers)
    };
    let mut rows_with_ids = 0;
    for (method, path, _) in rows().into_iter().filter(|(_, path, _)| path.contains("{id}")) {
        rows_with_ids += 1;
        let foreign = things.id(path);
        for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
            let ask = async |id: &str| {
                world
                    .request(method.clone(), &path.replace("{id}", id))
                    .key(demo, mode)
                    .json(&json!({}))
                    .send()
                    .await
            };
            let absent = without_request_id(&ask("17").await);
            assert_eq!(absent.0, 404, "{method} {path}");
            assert_eq!(without_request_id(&ask(&foreign.to_string()).await), absent, "{method} {path}");
        }
    }
    assert!(rows_with_ids >= 20);
    assert_eq!(everything().await, before, "untouched");

    let own = json!({ "name": "Joe", "email": "joe@example.com" });
    let own = world.request(Method::POST, "/api/v1/candidates").key(GLOBEX, Mode::Live).json(&own).send();
    let own = own.await.expect(201).number("/id");
    for (path, field, foreign, rest) in [
        ("/api/v1/job_postings".to_owned(), "role_id", things.role, json!({})),
        ("/api/v1/candidates".to_owned(), "role_id", things.role, json!({ "name": "x", "email": "x@y.io" })),
        (format!("/api/v1/candidates/{own}/applications"), "role_id", things.role, json!({})),
        (format!("/api/v1/candidates/{own}/invite_screen"), "role_id", things.role, json!({})),
        ("/api/v1/channels/x/post".to_owned(), "job_posting_id", things.posting, json!({})),
    ] {
        let ask = |id: u64| {
            let mut body = rest.clone();
            body[field] = json!(id);
            world.request(Method::POST, &path).key(GLOBEX, Mode::Live).json(&body).send()
        };
        let (absent, foreign) = (ask(17).await.expect(422), ask(foreign).await);
        assert_eq!(without_request_id(&absent), without_request_id(&foreign), "nor does {field} of {path}");
    }
    let Things { role, .. } = things;
    for list in [
        "roles".to_owned(),
        "roles?status=open".to_owned(),
        "job_postings".to_owned(),
        "job_postings?published=true".to_owned(),
        "candidates?stage=screening".to_owned(),
        format!("candidates?role_id={role}"),
        format!("candidates?role_id={role}&stage=screening"),
        "voice_screens".to_owned(),
        "voice_screens?status=queued".to_owned(),
        format!("voice_screens?role_id={role}"),
        format!("voice_screens?role_id={role}&status=queued"),
        "channels/x/posts".to_owned(),
    ] {
        let path = format!("/api/v1/{list}");
        let shown = world.get(&path).await.expect(200).body["data"].as_array().map_or(0, Vec::len);
        assert_eq!(shown, usize::from(list != "channels/x/posts"), "{list}: there is something to hide");
        let listed = world.request(Method::GET, &path).key(GLOBEX, Mode::Live).send().await.expect(200);
        assert_eq!(listed.body["data"], json!([]), "{list}");
    }
}

#[tokio::test]
async fn ids_that_cannot_be_are_not_found() {
    let world = World::new().await;
    for id in [
        "0",
        "-1",
        "1.0",
        "1e3",
        "01",
        "%201",
        "99999999999999999999",
        "9007199254740992",
        "%2e%2e",
        "..",
        "abc",
        "1;2",
        "%00",
        "💥",
    ] {
        for path in ["/api/v1/roles/{id}", "/api/v1/roles/{id}/stats", "/api/v1/job_postings/{id}"] {
            let path: String = path.replace("{id}", &id.replace("💥", "%F0%9F%92%A5"));
            let answer = world.get(&path).await;
            assert_eq!((answer.status, answer.string("/code")), (404, "not_found"), "{path}");
        }
    }
}

#[tokio::test]
async fn an_expired_key_is_refused_from_its_second_on() {
    let world = World::new().await;
    let acme = tenant(ACME, Mode::Live);
    let key = new_key(&world, acme, 50, Scopes::all(), Some("2026-11-20T10:00:00Z".parse().unwrap())).await;
    let ask = || {
        world
            .request(Method::GET, "/api/v1/roles")
            .header("authorization", &format!("Bearer {}", key.reveal()))
            .send()
    };
    world.hands.set("2026-11-20T09:59:59Z");
    ask().await.expect(200);
    world.hands.set("2026-11-20T10:00:00Z");
    assert_401(&ask().await, BAD_CREDENTIAL);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let world = World::new().await;
    let acme = tenant(ACME, Mode::Live);
    let key = new_key(&world, acme, 51, Scopes::all(), None).await;
    let ask = || {
        world
            .request(Method::GET, "/api/v1/roles")
            .header("authorization", &format!("Bearer {}", key.reveal()))
            .send()
    };
    ask().await.expect(200);
    assert_eq!(
        world.store().last_used(acme).await.unwrap()(key.id()).map(|day| day.to_string()).as_deref(),
        Some("2026-11-20")
    );
    world.store().revoke_api_key(acme, key.id(), world.environment.clock.now()).await.unwrap();
    assert_401(&ask().await, BAD_CREDENTIAL);
    world.get("/api/v1/roles").await.expect(200);
}

#[tokio::test]
async fn a_suspended_organization_is_forbidden_and_still_counted() {
    let world = World::new().await;
    let globex = tenant(GLOBEX, Mode::Live);
    world.store().set_suspended(globex.organization, true).await.unwrap();
    let ask = || world.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send();
    let refused = ask().await.expect(403);
    assert_eq!(
        (refused.string("/code"), refused.string("/error")),
        ("forbidden", "The organization is suspended")
    );
    assert_eq!(refused.header("ratelimit"), r#""daily";r=99;t=52200"#);
    world.store().set_suspended(globex.organization, false).await.unwrap();
    assert_eq!(ask().await.expect(200).number("/usage/requests_today"), 2);
}

#[tokio::test]
async fn what_is_no_route_is_not_found_and_another_method_not_allowed() {
    let world = World::new().await;
    for (method, path, status, allow) in [
        (Method::GET, "/", 404, ""),
        (Method::GET, "/api/v1", 404, ""),
        (Method::GET, "/api/v1/roles/", 404, ""),
        (Method::GET, "/api/v1/candidates/1/nothing", 404, ""),
        (Method::PUT, "/api/v1/roles/17", 405, "DELETE, GET, PATCH"),
        (Method::DELETE, "/api/v1/roles", 405, "GET, POST"),
        (Method::GET, "/api/v1/quick_post", 405, "POST"),
        (Method::OPTIONS, "/api/v1/organization", 405, "GET"),
    ] {
        let answer = world.request(method, path).anonymous().send().await.expect(status);
        assert_eq!(answer.header("allow"), allow, "{path}");
        assert_eq!(answer.string("/code"), if status == 404 { "not_found" } else { "method_not_allowed" });
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("x-request-id"), answer.string("/request_id"));
    }
}

/// Typos must not pass: every row refuses a parameter that it does not know, but only of what exists.
#[tokio::test]
async fn every_row_refuses_an_unknown_query_parameter() {
    let world = World::new().await;
    let things = Things::new(&world).await;
    for (method, path, _) in rows() {
        let id = things.id(path);
        let ask = world.request(method.clone(), &format!("{}?typo=1", path.replace("{id}", &id.to_string())));
        let answer = ask.json(&json!({})).send().await.expect(422);
        assert!(answer.messages().contains(&"typo is not a known field"), "{method} {path}: {}", answer.text);
        if path.contains("{id}") {
            let absent = world.request(method, &format!("{}?typo=1", path.replace("{id}", "17")));
            absent.json(&json!({})).send().await.expect(404);
        }
    }
    let shown = world.get(&format!("/api/v1/roles/{}", things.role)).await.expect(200);
    assert_eq!(shown.string("/status"), "open", "nothing was done");
}
