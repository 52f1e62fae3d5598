//! Access control: 401, 403, and 404 for another tenant's resources, on every route of the API.

use http::Method;
use rolecall_local::demo;
use rolecall_local::functions::tables;
use serde_json::json;
use shared::auth::{Claims, Credential, Kind};
use shared::clock::Timestamp;
use shared::http::Access;
use shared::id::Id;
use shared::mac_keys::MacKeys;
use shared::model::{Mode, Plan, Scope, Scopes, Tenant};
use shared::random::Random;
use shared::store::Transaction;
use tests::{ACME, Fixtures, GLOBEX, Response, TestApi, tenant};

fn routes_with_scopes() -> Vec<(Method, &'static str, Scopes)> {
    let routes = tables().into_iter().flat_map(|tables| tables.routes);
    let row = |route: shared::http::Route| match route.access() {
        Access::Credential | Access::Public | Access::Signed | Access::Member(_) => None,
        Access::Scopes(scopes) => {
            let (method, path) = route.key.split_once(' ')?;
            Some((method.parse().ok()?, path, scopes))
        }
    };
    routes.filter_map(row).collect()
}

/// Creates an API key with these scopes.
pub(super) async fn new_key(
    api: &TestApi,
    tenant: Tenant,
    number: u64,
    scopes: Scopes,
    expires_at: Option<Timestamp>,
) -> Credential {
    let credential = key_of(tenant, number, scopes, expires_at);
    let key = credential.api_key("test".to_owned(), Timestamp::UNIX_EPOCH);
    api.store().insert_api_key(Transaction::new(tenant), &key).await.unwrap();
    credential
}

fn key_of(tenant: Tenant, number: u64, scopes: Scopes, expires_at: Option<Timestamp>) -> Credential {
    let (id, keys) = (Id::new(number).unwrap(), demo::credential_keys().unwrap());
    let access = Claims { scopes, expires_at, ..Claims::default() };
    Credential::generate(Kind::ApiKey, tenant, id, access, &keys, &Random::seeded(number))
}

/// A credential that somebody made up without the service's key.
pub(super) fn forged(kind: Kind, tenant: Tenant, id: u64) -> Credential {
    let keys = MacKeys::parse("a key of somebody who does not know ours").unwrap();
    let access = Claims { scopes: Scopes::all(), expires_at: None, ..Claims::default() };
    Credential::generate(kind, tenant, Id::new(id).unwrap(), access, &keys, &Random::seeded(1))
}

fn assert_401(response: &Response, challenge: &str) {
    assert_eq!((response.status, response.string("/code")), (401, "unauthorized"));
    assert_eq!(response.header("www-authenticate"), challenge);
    assert_eq!(response.header("ratelimit"), "", "the response shows no quota without an organization");
    assert!(!response.string("/request_id").is_empty());
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
async fn every_route_requires_a_valid_credential() {
    let api = TestApi::new().await;
    let unknown = key_of(tenant(GLOBEX, Mode::Live), 99, Scopes::all(), None);
    let unknown_organization = Tenant { organization: Id::new(77).unwrap(), mode: Mode::Live };
    let unknown_organization = key_of(unknown_organization, 1, Scopes::all(), None);
    // The id of a key that exists, with another secret.
    let other_secret = key_of(tenant(GLOBEX, Mode::Live), 2, Scopes::all(), None);
    let forged = forged(Kind::ApiKey, tenant(GLOBEX, Mode::Live), 2);
    let wrong_checksum = tests::key(GLOBEX, Mode::Live).replace("Secret", "secret");
    for (method, path, _) in routes_with_scopes() {
        let path = path.replace("{id}", "17");
        api.dynamodb.take_calls();
        assert_401(&api.request(method.clone(), &path).anonymous().send().await, NO_CREDENTIAL);
        for malformed in [&wrong_checksum, forged.reveal(), "nonsense", "", "rc_live_", "🔑"] {
            let request = api.request(method.clone(), &path).anonymous();
            let value = http::HeaderValue::from_bytes(format!("Bearer {malformed}").as_bytes()).unwrap();
            assert_401(&request.header_value("authorization", value).send().await, BAD_CREDENTIAL);
        }
        assert_401(
            &api.request(method.clone(), &path).header("authorization", "Basic eDp5").send().await,
            BAD_CREDENTIAL,
        );
        let twice = api.request(method.clone(), &path).append_header("authorization", "Bearer x");
        assert_401(&twice.send().await, BAD_CREDENTIAL);
        assert!(
            api.dynamodb.take_calls().is_empty(),
            "malformed and forged credentials are rejected without a call to DynamoDB"
        );
        for key in [&unknown, &unknown_organization, &other_secret] {
            let request = api
                .request(method.clone(), &path)
                .header("authorization", &format!("Bearer {}", key.reveal()));
            assert_401(&request.send().await, BAD_CREDENTIAL);
        }
    }
    let used = api.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send().await;
    assert_eq!(
        used.number("/usage/requests_today"),
        1,
        "requests with invalid credentials do not count towards the quota"
    );
}

#[tokio::test]
async fn every_route_requires_all_of_its_scopes() {
    let api = TestApi::new().await;
    let mut routes_with_several = 0;
    for (method, path, required) in routes_with_scopes() {
        let single = Scope::ALL.into_iter().map(|scope| Scopes::from_iter([scope]));
        let mut granted: Vec<_> = single.collect();
        if required.iter().count() > 1 {
            routes_with_several += 1;
            granted.push(required);
            granted.extend(
                required.iter().map(|missing| {
                    Scope::ALL.into_iter().filter(|scope| *scope != missing).collect::<Scopes>()
                }),
            );
        }
        for granted in granted {
            let number = 100 + granted.iter().fold(0, |number, scope| number | 1 << scope as u64);
            let key = key_of(tenant(ACME, Mode::Live), number, granted, None);
            if api.store().find_api_key(tenant(ACME, Mode::Live), key.id()).await.unwrap().is_none() {
                new_key(&api, tenant(ACME, Mode::Live), number, granted, None).await;
            }
            let request = api.request(method.clone(), &path.replace("{id}", "17"));
            let response = request.header("authorization", &format!("Bearer {}", key.reveal())).send().await;
            if required.are_within(granted) {
                assert!(![401, 403].contains(&response.status), "{method} {path}: {}", response.text);
            } else {
                assert_eq!(
                    (response.status, response.string("/code")),
                    (403, "forbidden"),
                    "{method} {path}"
                );
                let challenge = format!(r#"{NO_CREDENTIAL}, error="insufficient_scope", scope="{required}""#);
                assert_eq!(response.header("www-authenticate"), challenge);
            }
        }
    }
    assert!(routes_with_several > 0);
}

/// A resource of another tenant (another organization or the other mode) gets the same response as a missing resource.
#[tokio::test]
async fn another_tenants_id_gets_the_same_404_as_a_missing_one() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    // A Free organization has fewer requests a day than the test sends.
    let globex = tenant(GLOBEX, Mode::Live).organization;
    api.store().set_plan(globex, Plan::Pro).await.unwrap();
    let read_all = async || {
        let mut actual = String::new();
        for path in [
            format!("/api/v1/roles/{}", fixtures.role),
            format!("/api/v1/job_postings/{}", fixtures.posting),
            format!("/api/v1/candidates/{}", fixtures.candidate),
            format!("/api/v1/voice_screens/{}", fixtures.screen),
        ] {
            actual += &api.get(&path).await.expect(200).text;
        }
        actual
    };
    let before = read_all().await;
    let without_request_id = |response: &Response| {
        let mut headers = response.headers.clone();
        for name in ["x-request-id", "ratelimit", "date"] {
            headers.remove(name);
        }
        (response.status, response.text.replace(response.string("/request_id"), ""), headers)
    };
    let mut routes_with_ids = 0;
    for (method, path, _) in routes_with_scopes().into_iter().filter(|(_, path, _)| path.contains("{id}")) {
        routes_with_ids += 1;
        let foreign = fixtures.path(path);
        for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
            let request = async |path: &str| {
                api.request(method.clone(), path).key(demo, mode).json(&json!({})).send().await
            };
            let missing = without_request_id(&request(&path.replace("{id}", "17")).await);
            assert_eq!(missing.0, 404, "{method} {path}");
            assert_eq!(without_request_id(&request(&foreign).await), missing, "{method} {path}");
        }
    }
    assert!(routes_with_ids >= 20);
    assert_eq!(read_all().await, before, "the requests changed nothing");

    let own = json!({ "name": "Joe", "email": "joe@example.com" });
    let own = api.request(Method::POST, "/api/v1/candidates").key(GLOBEX, Mode::Live).json(&own).send();
    let own = own.await.expect(201).number("/id");
    for (path, field, foreign, rest) in [
        ("/api/v1/job_postings".to_owned(), "role_id", fixtures.role, json!({})),
        (
            "/api/v1/candidates".to_owned(),
            "role_id",
            fixtures.role,
            json!({ "name": "x", "email": "x@y.io" }),
        ),
        (format!("/api/v1/candidates/{own}/applications"), "role_id", fixtures.role, json!({})),
        (format!("/api/v1/candidates/{own}/invite_screen"), "role_id", fixtures.role, json!({})),
        ("/api/v1/channels/x/post".to_owned(), "job_posting_id", fixtures.posting, json!({})),
    ] {
        let request = |id: u64| {
            let mut body = rest.clone();
            body[field] = json!(id);
            api.request(Method::POST, &path).key(GLOBEX, Mode::Live).json(&body).send()
        };
        let (missing, foreign) = (request(17).await.expect(422), request(foreign).await);
        assert_eq!(without_request_id(&missing), without_request_id(&foreign), "{field} of {path}");
    }
    let Fixtures { role, .. } = fixtures;
    for list in [
        "roles".to_owned(),
        "roles?status=open".to_owned(),
        "job_postings".to_owned(),
        "job_postings?published=true".to_owned(),
        "candidates?stage=screening".to_owned(),
        format!("candidates?role_id={role}"),
        format!("candidates?role_id={role}&stage=screening"),
        "candidates?q=jane".to_owned(),
        "voice_screens".to_owned(),
        "voice_screens?status=queued".to_owned(),
        format!("voice_screens?role_id={role}"),
        format!("voice_screens?role_id={role}&status=queued"),
        "channels/x/posts".to_owned(),
    ] {
        let path = format!("/api/v1/{list}");
        let actual = api.get(&path).await.expect(200).body["data"].as_array().map_or(0, Vec::len);
        assert_eq!(
            actual,
            usize::from(list != "channels/x/posts"),
            "{list}: Acme has an entry that must be hidden"
        );
        let listed = api.request(Method::GET, &path).key(GLOBEX, Mode::Live).send().await.expect(200);
        assert_eq!(listed.body["data"], json!([]), "{list}");
    }
}

#[tokio::test]
async fn malformed_ids_are_not_found() {
    let api = TestApi::new().await;
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
            let response = api.get(&path).await;
            assert_eq!((response.status, response.string("/code")), (404, "not_found"), "{path}");
        }
    }
}

#[tokio::test]
async fn a_key_is_rejected_as_soon_as_it_expires() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    let key = new_key(&api, acme, 50, Scopes::all(), Some("2026-11-20T10:00:00Z".parse().unwrap())).await;
    let request = || {
        api.request(Method::GET, "/api/v1/roles")
            .header("authorization", &format!("Bearer {}", key.reveal()))
            .send()
    };
    api.clock.set("2026-11-20T09:59:59Z");
    request().await.expect(200);
    api.clock.set("2026-11-20T10:00:00Z");
    assert_401(&request().await, BAD_CREDENTIAL);
}

#[tokio::test]
async fn a_revoked_key_is_rejected_immediately() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    let key = new_key(&api, acme, 51, Scopes::all(), None).await;
    let request = || {
        api.request(Method::GET, "/api/v1/roles")
            .header("authorization", &format!("Bearer {}", key.reveal()))
            .send()
    };
    request().await.expect(200);
    let used = api.store().find_api_key(acme, key.id()).await.unwrap().unwrap().last_used_on.unwrap();
    assert_eq!(used.to_string(), "2026-11-20");
    api.store().revoke_api_key(acme, key.id(), api.environment.clock.now()).await.unwrap();
    assert_401(&request().await, BAD_CREDENTIAL);
    api.get("/api/v1/roles").await.expect(200);
}

#[tokio::test]
async fn a_suspended_organization_gets_403_and_its_requests_count() {
    let api = TestApi::new().await;
    let globex = tenant(GLOBEX, Mode::Live);
    api.store().set_suspended(globex.organization, true, api.environment.clock.now()).await.unwrap();
    let request = || api.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send();
    let refused = request().await.expect(403);
    assert_eq!(
        (refused.string("/code"), refused.string("/error")),
        ("forbidden", "The organization is suspended")
    );
    assert_eq!(refused.header("ratelimit"), r#""daily";r=99;t=52200"#);
    api.store().set_suspended(globex.organization, false, api.environment.clock.now()).await.unwrap();
    assert_eq!(request().await.expect(200).number("/usage/requests_today"), 2);
}

#[tokio::test]
async fn an_unknown_path_gets_404_and_a_wrong_method_405() {
    let api = TestApi::new().await;
    for (method, path, status, allow) in [
        (Method::POST, "/", 405, "GET, HEAD"),
        (Method::GET, "/api/v1", 404, ""),
        (Method::GET, "/api/v1/roles/", 404, ""),
        (Method::GET, "/api/v1/candidates/1/nothing", 404, ""),
        (Method::PUT, "/api/v1/roles/17", 405, "DELETE, GET, HEAD, PATCH"),
        (Method::DELETE, "/api/v1/roles", 405, "GET, HEAD, POST"),
        (Method::GET, "/api/v1/quick_post", 405, "POST"),
        (Method::OPTIONS, "/api/v1/organization", 405, "GET, HEAD"),
        (Method::HEAD, "/api/v1/quick_post", 405, "POST"),
    ] {
        let response = api.request(method, path).anonymous().send().await.expect(status);
        assert_eq!(response.header("allow"), allow, "{path}");
        assert!(!response.header("x-request-id").is_empty());
        if response.text.is_empty() {
            continue; // HEAD has no body.
        }
        assert_eq!(response.string("/code"), if status == 404 { "not_found" } else { "method_not_allowed" });
        assert_eq!(response.header("content-type"), "application/json");
        assert_eq!(response.header("cache-control"), "no-store");
        assert_eq!(response.header("x-request-id"), response.string("/request_id"));
    }
}

/// Unknown parameters are rejected so that clients notice typos. A missing resource still gets a 404.
#[tokio::test]
async fn every_route_rejects_an_unknown_query_parameter() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    for (method, path, _) in routes_with_scopes() {
        let request = api.request(method.clone(), &format!("{}?typo=1", fixtures.path(path)));
        let response = request.json(&json!({})).send().await.expect(422);
        assert!(
            response.messages().contains(&"typo is not a known query parameter"),
            "{method} {path}: {}",
            response.text
        );
        if path.contains("{id}") {
            let missing = api.request(method, &format!("{}?typo=1", path.replace("{id}", "17")));
            missing.json(&json!({})).send().await.expect(404);
        }
    }
    let actual = api.get(&format!("/api/v1/roles/{}", fixtures.role)).await.expect(200);
    assert_eq!(actual.string("/status"), "open", "the request changed nothing");
}
