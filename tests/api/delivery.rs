//! Conditional requests, HEAD and compression. `events.rs` checks HEAD and compression on every route.

use http::Method;
use serde_json::json;
use shared::model::Mode;
use tests::openapi::operations;
use tests::{ACME, Fixtures, GLOBEX, TestApi};

#[tokio::test]
async fn a_client_that_has_the_current_version_gets_304() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    let mut count = 0;
    for operation in operations() {
        let Some(pattern) = operation.key.strip_prefix("GET ").filter(|path| path.starts_with("/api/v1/"))
        else {
            continue;
        };
        let path = fixtures.path(pattern);
        let get = |known: &str| api.request(Method::GET, &path).header("if-none-match", known).send();
        let full = api.get(&path).await.expect(200);
        let tag = full.header("etag").to_owned();
        if tag.is_empty() {
            assert_eq!(get("*").await.expect(200).text, full.text, "{path} has no versions");
            continue;
        }
        if pattern == "/api/v1/organization" {
            assert_ne!(get(&tag).await.expect(200).header("etag"), tag, "each request changes the usage");
            continue;
        }
        if pattern.ends_with("/files/{file_id}") {
            assert_eq!(get(&tag).await.expect(200).header("etag"), tag, "the link to the file expires");
            continue;
        }
        count += 1;
        for known in [&tag, &format!("W/{tag}"), &format!("\"a\", W/\"b\" ,{tag}"), "*"] {
            let response = get(known).await.expect(304);
            assert_eq!(
                (response.text.as_str(), response.header("etag")),
                ("", tag.as_str()),
                "{path}: {known}"
            );
            assert!(!response.header("x-request-id").is_empty(), "{path}: {known}");
            assert_eq!(response.header("cache-control"), full.header("cache-control"), "{path}: {known}");
        }
        for other in ["\"a\"", "W/\"a\"", tag.trim_matches('"'), "nonsense", ""] {
            assert_eq!(get(other).await.expect(200).text, full.text, "{path}: {other}");
        }
    }
    assert!(count >= 6, "{count} resources have versions");
}

#[tokio::test]
async fn only_reads_that_succeed_get_304() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201);
    let path = format!("/api/v1/roles/{}", role.number("/id"));
    let known = role.header("etag").to_owned();
    let send = |method: Method, path: &str| api.request(method, path).header("if-none-match", &known);
    send(Method::GET, &path).send().await.expect(304);
    send(Method::HEAD, &path).send().await.expect(304);
    send(Method::PATCH, &path).json(&json!({})).send().await.expect(200);
    send(Method::GET, &format!("{path}?typo=1")).send().await.expect(422);
    send(Method::GET, "/api/v1/roles/17").header("if-none-match", "*").send().await.expect(404);
    let changed = send(Method::PATCH, &path).json(&json!({ "title": "Chef" })).send().await.expect(200);
    let read = send(Method::GET, &path).send().await.expect(200);
    assert_eq!((&read.body, read.header("etag")), (&changed.body, changed.header("etag")));
    let other = api.request(Method::GET, &path).key(ACME, Mode::Test);
    other.header("if-none-match", "*").send().await.expect(404);
}

#[tokio::test]
async fn head_and_304_count_against_the_quota() {
    let api = TestApi::new().await;
    let request = |method: Method, path: &str| api.request(method, path).key(GLOBEX, Mode::Live);
    let role =
        request(Method::POST, "/api/v1/roles").json(&json!({ "title": "Cook" })).send().await.expect(201);
    let path = format!("/api/v1/roles/{}", role.number("/id"));
    assert_eq!(role.header("ratelimit"), "\"daily\";r=99;t=52200");
    let head = request(Method::HEAD, &path).send().await.expect(200);
    assert_eq!(head.header("ratelimit"), "\"daily\";r=98;t=52200");
    assert_eq!((head.text.as_str(), head.header("etag")), ("", role.header("etag")));
    assert_eq!(head.header("content-length"), role.text.len().to_string());
    let known =
        request(Method::GET, &path).header("if-none-match", role.header("etag")).send().await.expect(304);
    assert_eq!(known.header("ratelimit"), "\"daily\";r=97;t=52200");
    assert_eq!(known.header("ratelimit-policy"), "\"daily\";q=100;w=86400");
    let unknown = api.request(Method::HEAD, &path).anonymous().send().await.expect(401);
    assert_eq!(unknown.text, "");
    assert!(unknown.header("www-authenticate").starts_with("Bearer "));
    api.request(Method::HEAD, "/api/v1/nothing").send().await.expect(404);
    let list = request(Method::HEAD, "/api/v1/roles?limit=101").send().await.expect(422);
    assert_eq!(list.header("ratelimit"), "\"daily\";r=96;t=52200");
}

#[tokio::test]
async fn a_compressed_response_has_the_same_content_and_an_entity_tag_of_its_own() {
    let api = TestApi::new().await;
    let body = json!({ "title": "Cook", "description": "A kitchen. ".repeat(200) });
    let request = |method: Method, path: &str| {
        api.request(method, path)
            .header("accept-encoding", "br;q=1.0, gzip;q=0.8")
            .header("idempotency-key", "k")
    };
    let created = request(Method::POST, "/api/v1/roles").json(&body).send().await.expect(201);
    assert_eq!(created.header("content-encoding"), "gzip");
    // The stored response is not compressed.
    let plain = api.request(Method::POST, "/api/v1/roles").header("idempotency-key", "k");
    let plain = plain.json(&body).send().await.expect(201);
    assert_eq!((plain.header("idempotency-replayed"), plain.header("content-encoding")), ("true", ""));
    assert_eq!(plain.text, created.text);
    let compressed = format!("{}-gzip\"", plain.header("etag").trim_end_matches('"'));
    assert_eq!(created.header("etag"), compressed);
    let path = format!("/api/v1/roles/{}", created.number("/id"));
    let read = request(Method::GET, &path).send().await.expect(200);
    assert_eq!((read.header("content-encoding"), read.header("vary")), ("gzip", "Accept-Encoding"));
    assert_eq!((&read.text, read.header("etag")), (&created.text, &*compressed));
    for tag in [plain.header("etag"), &compressed, &format!("W/{compressed}")] {
        let known = request(Method::GET, &path).header("if-none-match", tag).send().await.expect(304);
        assert_eq!((known.header("content-encoding"), known.header("vary")), ("", "Accept-Encoding"));
        assert_eq!(known.header("etag"), compressed);
        let known = api.request(Method::GET, &path).header("if-none-match", tag).send().await.expect(304);
        assert_eq!(known.header("etag"), plain.header("etag"));
    }
    let refused =
        api.request(Method::GET, &path).header("accept-encoding", "gzip;q=0, identity").send().await;
    assert_eq!((refused.header("content-encoding"), refused.header("vary")), ("", "Accept-Encoding"));
    let patch = api.request(Method::PATCH, &path).header("if-match", read.header("etag"));
    patch.json(&json!({ "title": "Chef" })).send().await.expect(200);
}
