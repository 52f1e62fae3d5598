//! Requests that do not come through the CDN, and the contact for reports of vulnerabilities.

use http::Method;
use shared::config::OriginSecrets;
use tests::openapi::operations;
use tests::{BASE_URL, TestApi, project};

use crate::dashboard_access::page_routes;

const SECRET: &str = "x-origin-secret";

#[tokio::test]
async fn every_route_requires_the_origin_secret_before_anything_else() {
    let mut api = TestApi::new().await;
    let (old, new) = ("o".repeat(32), "n".repeat(32));
    api.environment.config.edge.origin_secrets = OriginSecrets::parse(&format!("{new},{old}")).unwrap();
    api.restart();
    let keys: Vec<_> = operations().into_iter().map(|operation| operation.key.to_owned()).collect();
    let pages = page_routes().into_iter().map(|route| route.key.to_owned());
    let others = ["GET /", "GET /docs", "GET /docs/roles", "GET /.well-known/security.txt", "GET /nowhere"];
    let mut count = 0;
    for key in keys.into_iter().chain(pages).chain(others.map(str::to_owned)) {
        let (method, path) = key.split_once(' ').unwrap();
        let path = path.replace("{org}", "acme").replace(['{', '}'], "");
        let request = |secret: &str| {
            let request = api.request(method.parse().unwrap(), &path);
            if secret.is_empty() { request.send() } else { request.header(SECRET, secret).send() }
        };
        api.dynamodb.take_calls();
        for wrong in ["", "x", &old[1..], &format!("{new},{old}")] {
            let refused = request(wrong).await;
            assert_eq!(refused.status, 403, "{key} with {wrong:?}");
            assert!(refused.text.contains("Requests must be sent to the public address"), "{}", refused.text);
        }
        assert!(api.dynamodb.take_calls().is_empty(), "{key}");
        for secret in [&old, &new] {
            let text = request(secret).await.text;
            assert!(!text.contains("Requests must be sent to the public address"), "{key}: {text}");
        }
        count += 1;
    }
    assert!(count > 90, "{count}");
    let twice =
        api.request(Method::GET, "/api/v1/roles").append_header(SECRET, &new).append_header(SECRET, &new);
    twice.send().await.expect(403);
    // The OpenAPI document does not describe requests that bypass the CDN.
    api.contract_monitor.take_violations();
}

#[tokio::test]
async fn the_limits_count_the_address_that_cloudfront_reports() {
    let mut api = TestApi::new().await;
    api.environment.config.client_address_header = Some("cloudfront-viewer-address".to_owned());
    api.restart();
    let register = |address: &'static str| {
        let metadata = serde_json::json!({ "redirect_uris": ["https://app.example/cb"] });
        tests::oauth::registration(&api, &metadata).header("cloudfront-viewer-address", address).send()
    };
    for number in 0..100 {
        let address: &'static str = if number % 2 == 0 { "2001:db8::1:443" } else { "2001:db8::2:50000" };
        register(address).await.expect(201);
    }
    // The port is not part of the network.
    register("2001:db8::1:444").await.expect(429);
    register("2001:db8:0:1::1:444").await.expect(201);
    register("198.51.100.7:444").await.expect(201);
}

#[tokio::test]
async fn security_txt_names_the_contact() {
    let mut api = TestApi::new().await;
    let response = api.request(Method::GET, "/.well-known/security.txt").anonymous().send().await.expect(200);
    assert_eq!(response.header("content-type"), "text/plain; charset=utf-8");
    let canonical = format!("{BASE_URL}/.well-known/security.txt");
    assert_eq!(
        response.text,
        format!(
            "Contact: mailto:security@example.com\nExpires: 2027-05-19T00:00:00Z\nPreferred-Languages: en\n\
             Canonical: {canonical}\n"
        )
    );
    api.environment.config.edge.security_policy = Some("https://example.com/policy".to_owned());
    api.restart();
    let response = api.request(Method::GET, "/.well-known/security.txt").anonymous().send().await.expect(200);
    assert!(response.text.ends_with("Policy: https://example.com/policy\n"), "{}", response.text);
    api.environment.config.edge.security_contact = None;
    api.restart();
    api.request(Method::GET, "/.well-known/security.txt").anonymous().send().await.expect(404);
}

/// `pip` refuses a list in which only some packages have hashes.
#[test]
fn every_python_package_has_a_hash() {
    let mut lists = 0;
    for folder in [
        "",
        "lint/",
        "contract/",
        "clients/",
        "sbom/",
        "strangers/",
        "strangers/data/",
        "strangers/data/exports/",
        "strangers/generated/",
        "strangers/models/older/",
        "uv/",
    ] {
        let text = std::fs::read_to_string(project(&format!(".ci/{folder}requirements.txt"))).unwrap();
        let entries = text.replace("\\\n", " ");
        for entry in entries.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            assert!(entry.contains("==") && entry.contains("--hash=sha256:"), "{folder}: {entry}");
        }
        lists += 1;
    }
    let script = std::fs::read_to_string(project(".ci/run")).unwrap();
    assert!(lists == 11 && script.contains("pip install --require-hashes"));
}
