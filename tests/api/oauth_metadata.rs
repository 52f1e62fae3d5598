//! OAuth: discovery metadata, CORS and challenges.

use http::Method;
use rolecall_local::functions::tables;
use serde_json::json;
use shared::auth::Kind;
use shared::http::Access;
use shared::id::Id;
use shared::model::{Mode, Scope};
use shared::random::Random;
use tests::browser::Browser;
use tests::oauth::{OAuthApp, Tokens};
use tests::{ACME, Response, TestApi, new_credential, tenant};

const SCOPES: [&str; 15] = [
    "roles:read",
    "roles:write",
    "candidates:read",
    "candidates:write",
    "voice_screens:read",
    "channels:read",
    "channels:write",
    "organization:read",
    "candidates:erase",
    "audit:read",
    "events:read",
    "webhooks:read",
    "webhooks:write",
    "data:import",
    "data:export",
];
const CHALLENGE: &str =
    "Bearer resource_metadata=\"https://api.rolecall.test/.well-known/oauth-protected-resource/api/v1\"";

async fn discover(api: &TestApi, name: &str) -> Response {
    api.request(Method::GET, &format!("/.well-known/{name}")).anonymous().send().await
}

#[tokio::test]
async fn the_authorization_server_metadata_is_complete() {
    let api = TestApi::new().await;
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    api.dynamodb.take_calls();
    let response = discover(&api, "oauth-authorization-server").await.expect(200);
    assert_eq!(
        response.body,
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
    assert_eq!(response.header("content-type"), "application/json");
    assert!(api.dynamodb.take_calls().is_empty(), "the metadata is static");
}

#[tokio::test]
async fn the_api_and_its_host_have_protected_resource_metadata() {
    let api = TestApi::new().await;
    for (name, resource, title) in [
        ("oauth-protected-resource", "https://api.rolecall.test", "Rolecall"),
        ("oauth-protected-resource/api/v1", "https://api.rolecall.test/api/v1", "Rolecall API"),
    ] {
        assert_eq!(
            discover(&api, name).await.expect(200).body,
            json!({
                "resource": resource,
                "resource_name": title,
                "authorization_servers": ["https://api.rolecall.test"],
                "scopes_supported": SCOPES,
                "bearer_methods_supported": ["header"],
            })
        );
    }
    discover(&api, "oauth-protected-resource/api/v2").await.expect(404);
}

#[tokio::test]
async fn the_issuer_is_the_requested_host_without_a_base_url() {
    let mut api = TestApi::new().await;
    api.environment.config.base_url = None;
    api.restart();
    let response = discover(&api, "oauth-authorization-server").await;
    assert_eq!(response.string("/issuer"), "https://api.rolecall.test");
}

#[tokio::test]
async fn cors_allows_any_origin_except_on_pages() {
    let api = TestApi::new().await;
    let script = |method: Method, path: &str| {
        api.request(method, path).anonymous().header("origin", "https://tool.example")
    };
    let credentials = |response: &Response| response.header("access-control-allow-credentials").to_owned();
    for (path, own, status) in [
        ("/.well-known/oauth-authorization-server", Method::GET, 200),
        ("/.well-known/oauth-protected-resource", Method::GET, 200),
        ("/.well-known/oauth-protected-resource/api/v1", Method::GET, 200),
        ("/oauth/registrations", Method::POST, 400),
        ("/oauth/token", Method::POST, 400),
        ("/oauth/revoke", Method::POST, 400),
    ] {
        let preflight_request =
            script(Method::OPTIONS, path).header("access-control-request-method", own.as_str());
        let preflight = preflight_request.send().await.expect(204);
        let lists = |name: &str, item: &str| {
            preflight.header(name).split(", ").any(|listed| listed.eq_ignore_ascii_case(item))
        };
        assert!(lists("access-control-allow-methods", own.as_str()), "{path}");
        for header in ["authorization", "content-type", "mcp-protocol-version"] {
            assert!(lists("access-control-allow-headers", header), "{path} {header}");
        }
        let response = script(own, path).send().await.expect(status);
        for response in [&preflight, &response] {
            assert_eq!(response.header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(credentials(response), "", "{path}");
        }
    }
    for method in [Method::GET, Method::POST, Method::OPTIONS] {
        let response = script(method, "/oauth/authorize").send().await;
        let has_cors_headers =
            response.headers.keys().any(|name| name.as_str().starts_with("access-control-"));
        assert!(response.status >= 400 && !has_cors_headers, "{response:?}");
    }
}

#[tokio::test]
async fn every_401_and_403_of_the_api_has_a_challenge() {
    let api = TestApi::new().await;
    let (browser, app) = (Browser::signed_in(&api, ACME).await, OAuthApp::register(&api, "none").await);
    let mut narrow = Vec::new();
    for scope in ["organization:read", "roles:read"] {
        let code = app.code(&browser, &app.authorization_request().set("scope", scope), "live").await;
        narrow.push(Tokens::of(&app.exchange(&code).await).access);
    }
    let unknown =
        new_credential(Kind::AccessToken, tenant(ACME, Mode::Live), Id::new(99).unwrap(), &Random::seeded(1));
    let refresh = new_credential(
        Kind::RefreshToken,
        tenant(ACME, Mode::Live),
        Id::new(99).unwrap(),
        &Random::seeded(1),
    );
    let mut routes = 0;
    for route in tables().into_iter().flat_map(|tables| tables.routes) {
        let Access::Scopes(scopes) = route.access() else { continue };
        let (method, path) = route.key.split_once(' ').unwrap();
        let request = || api.request(method.parse().unwrap(), &path.replace("{id}", "17"));
        let challenge = async |request: tests::RequestBuilder<'_>, status: u16| {
            request.send().await.expect(status).header("www-authenticate").to_owned()
        };
        assert_eq!(challenge(request().anonymous(), 401).await, CHALLENGE);
        for bad in [unknown.reveal(), refresh.reveal(), "rc_at_", "nonsense"] {
            let invalid = format!("{CHALLENGE}, error=\"invalid_token\"");
            assert_eq!(challenge(request().bearer(bad), 401).await, invalid, "{bad}");
        }
        let access = if scopes.contains(Scope::OrganizationRead) { &narrow[1] } else { &narrow[0] };
        let insufficient = format!("{CHALLENGE}, error=\"insufficient_scope\", scope=\"{scopes}\"");
        assert_eq!(challenge(request().bearer(access), 403).await, insufficient, "{}", route.key);
        routes += 1;
    }
    assert!(routes > 20, "{routes}");
}
