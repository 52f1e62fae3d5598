//! OAuth: what clients discover, and scripts of any origin may ask.

use http::Method;
use rolecall_local::functions::tables;
use serde_json::json;
use shared::auth::{Credential, Kind};
use shared::http::Access;
use shared::id::Id;
use shared::model::{Mode, Scope};
use shared::random::Random;
use tests::browser::Browser;
use tests::oauth::{App, Tokens};
use tests::{ACME, Answer, World, tenant};

const SCOPES: [&str; 8] = [
    "roles:read",
    "roles:write",
    "candidates:read",
    "candidates:write",
    "voice_screens:read",
    "channels:read",
    "channels:write",
    "organization:read",
];
const METADATA: &str =
    "Bearer resource_metadata=\"https://api.rolecall.test/.well-known/oauth-protected-resource/api/v1\"";

async fn discover(world: &World, name: &str) -> Answer {
    world.request(Method::GET, &format!("/.well-known/{name}")).anonymous().send().await
}

#[tokio::test]
async fn the_server_describes_itself() {
    let world = World::new().await;
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    world.wire.take();
    let answer = discover(&world, "oauth-authorization-server").await.expect(200);
    assert_eq!(
        answer.body,
        json!({
            "issuer": "https://api.rolecall.test",
            "authorization_endpoint": "https://api.rolecall.test/oauth/authorize",
            "token_endpoint": "https://api.rolecall.test/oauth/token",
            "registration_endpoint": "https://api.rolecall.test/oauth/registrations",
            "revocation_endpoint": "https://api.rolecall.test/oauth/revoke",
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": methods,
            "revocation_endpoint_auth_methods_supported": methods,
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": true,
        })
    );
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(world.wire.take().is_empty(), "nothing is read for it");
}

#[tokio::test]
async fn the_api_and_its_host_describe_themselves_as_resources() {
    let world = World::new().await;
    for (name, resource) in [
        ("oauth-protected-resource", "https://api.rolecall.test"),
        ("oauth-protected-resource/api/v1", "https://api.rolecall.test/api/v1"),
    ] {
        assert_eq!(
            discover(&world, name).await.expect(200).body,
            json!({
                "resource": resource,
                "resource_name": "Rolecall API",
                "authorization_servers": ["https://api.rolecall.test"],
                "scopes_supported": SCOPES,
                "bearer_methods_supported": ["header"],
            })
        );
    }
    discover(&world, "oauth-protected-resource/api/v2").await.expect(404);
}

#[tokio::test]
async fn without_a_base_url_the_domain_that_was_asked_is_the_issuer() {
    let mut world = World::new().await;
    world.environment.config.base_url = None;
    world.restart();
    let answer = discover(&world, "oauth-authorization-server").await;
    assert_eq!(answer.string("/issuer"), "https://api.rolecall.test");
}

#[tokio::test]
async fn scripts_of_any_origin_may_talk_to_all_but_the_pages() {
    let world = World::new().await;
    let script = |method: Method, path: &str| {
        world.request(method, path).anonymous().header("origin", "https://tool.example")
    };
    let credentials = |answer: &Answer| answer.header("access-control-allow-credentials").to_owned();
    for (path, own, status) in [
        ("/.well-known/oauth-authorization-server", Method::GET, 200),
        ("/.well-known/oauth-protected-resource", Method::GET, 200),
        ("/.well-known/oauth-protected-resource/api/v1", Method::GET, 200),
        ("/oauth/registrations", Method::POST, 400),
        ("/oauth/token", Method::POST, 400),
        ("/oauth/revoke", Method::POST, 400),
    ] {
        let asked = script(Method::OPTIONS, path).header("access-control-request-method", own.as_str());
        let preflight = asked.send().await.expect(204);
        let lists = |name: &str, item: &str| {
            preflight.header(name).split(", ").any(|listed| listed.eq_ignore_ascii_case(item))
        };
        assert!(lists("access-control-allow-methods", own.as_str()), "{path}");
        for header in ["authorization", "content-type", "mcp-protocol-version"] {
            assert!(lists("access-control-allow-headers", header), "{path} {header}");
        }
        let answer = script(own, path).send().await.expect(status);
        for answer in [&preflight, &answer] {
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(credentials(answer), "", "{path}");
        }
    }
    for method in [Method::GET, Method::POST, Method::OPTIONS] {
        let answer = script(method, "/oauth/authorize").send().await;
        let shares = answer.headers.keys().any(|name| name.as_str().starts_with("access-control-"));
        assert!(answer.status >= 400 && !shares, "{answer:?}");
    }
}

#[tokio::test]
async fn every_401_and_403_of_the_api_says_where_access_is_to_be_had() {
    let world = World::new().await;
    let (browser, app) = (Browser::signed_in(&world, ACME).await, App::register(&world, "none").await);
    let mut narrow = Vec::new();
    for scope in ["organization:read", "roles:read"] {
        let code = app.code(&browser, &app.asking().set("scope", scope), "live").await;
        narrow.push(Tokens::of(&app.exchange(&code).await).access);
    }
    let unknown = Credential::generate(
        Kind::AccessToken,
        tenant(ACME, Mode::Live),
        Id::new(99).unwrap(),
        &Random::seeded(1),
    );
    let refresh = Credential::generate(
        Kind::RefreshToken,
        tenant(ACME, Mode::Live),
        Id::new(99).unwrap(),
        &Random::seeded(1),
    );
    let mut rows = 0;
    for route in tables().into_iter().flat_map(|tables| tables.routes) {
        let Access::Scope(scope) = route.access() else { continue };
        let (method, path) = route.key.split_once(' ').unwrap();
        let ask = || world.request(method.parse().unwrap(), &path.replace("{id}", "17"));
        let challenge = async |ask: tests::Ask<'_>, status: u16| {
            ask.send().await.expect(status).header("www-authenticate").to_owned()
        };
        assert_eq!(challenge(ask().anonymous(), 401).await, METADATA);
        for bad in [unknown.reveal(), refresh.reveal(), "rc_at_", "nonsense"] {
            let invalid = format!("{METADATA}, error=\"invalid_token\"");
            assert_eq!(challenge(ask().bearer(bad), 401).await, invalid, "{bad}");
        }
        let [access, wanted] = match scope {
            Scope::OrganizationRead => [&narrow[1], "organization:read"],
            scope => [&narrow[0], scope.as_str()],
        };
        let insufficient = format!("{METADATA}, error=\"insufficient_scope\", scope=\"{wanted}\"");
        assert_eq!(challenge(ask().bearer(access), 403).await, insufficient, "{}", route.key);
        rows += 1;
    }
    assert!(rows > 20, "{rows}");
}
