//! Invalid request bodies and headers.

use std::net::Ipv4Addr;

use bytes::Bytes;
use http::Method;
use rolecall_local::gateway::MAX_BODY;
use serde_json::json;
use tests::contract::CONTRACT;
use tests::openapi::operations;
use tests::{Response, TestApi};

async fn send(api: &TestApi, content_type: &str, body: impl Into<Bytes>) -> Response {
    api.request(Method::POST, "/api/v1/roles").body(content_type, body).send().await
}

#[tokio::test]
async fn invalid_json_gets_400() {
    let api = TestApi::new().await;
    for body in [
        &b"{"[..],
        b"{\"title\":}",
        b"{\"title\":\"x\"} {}",
        b"title=x",
        b"\xff\xfe",
        b"{\"title\":\"\xff\"}",
        b"{\"title\":\"\xed\xa0\x80\"}",
        b"{'title':'x'}",
        b"{\"title\":NaN}",
        b"{\"title\":01}",
        b"\xef\xbb\xbf{}",
        b"{\"title\":\"a\nb\"}",
        b" ",
        b"\0",
    ] {
        let response = send(&api, "application/json", body.to_vec()).await;
        assert_eq!(
            (response.status, response.string("/code")),
            (400, "bad_request"),
            "{}",
            String::from_utf8_lossy(body)
        );
        assert!(response.body.get("messages").is_none(), "only a 422 has messages");
    }
}

#[tokio::test]
async fn json_of_the_wrong_type_gets_422() {
    let api = TestApi::new().await;
    for body in ["[]", "null", "7", "\"x\"", "true"] {
        assert_eq!(
            send(&api, "application/json", body).await.expect(422).messages(),
            ["body must be a JSON object"]
        );
    }
    assert_eq!(send(&api, "application/json", "").await.expect(422).messages(), ["title can't be blank"]);
    for (body, message) in [
        (r#"{"title":"x","salary_min":1e400}"#, "salary_min must be a whole number from 0 to 100000000"),
        (
            r#"{"title":"x","salary_min":9007199254740993}"#,
            "salary_min must be a whole number from 0 to 100000000",
        ),
        (r#"{"title":"x","salary_min":0.5}"#, "salary_min must be a whole number from 0 to 100000000"),
        (r#"{"title":"\ud800"}"#, "title must be valid Unicode, without unpaired surrogates"),
        (r#"{"title":"x","\ud800":1}"#, "body must have field names in valid Unicode"),
        (r#"{"title":"a","title":"b"}"#, "title must be given only once"),
        (r#"{"title":"x","":1}"#, " is not a known field"),
        (r#"{"title":"x","__proto__":{}}"#, "__proto__ is not a known field"),
    ] {
        assert_eq!(send(&api, "application/json", body).await.expect(422).messages(), [message], "{body}");
    }
    let depth = 100_000;
    let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(
        send(&api, "application/json", nested.clone()).await.expect(422).messages(),
        ["body must be a JSON object"]
    );
    let response = send(&api, "application/json", format!(r#"{{"title":{nested}}}"#)).await.expect(422);
    assert_eq!(response.messages(), ["title must be a string"]);
    send(&api, "application/json", "{\"title\":\"\\u0000\"}").await.expect(422);
}

#[tokio::test]
async fn a_body_must_be_json_of_at_most_256_kilobytes() {
    let api = TestApi::new().await;
    let body_of_size = |size: usize| format!(r#"{{"title":"x","description":"{}"}}"#, "d".repeat(size - 30));
    assert_eq!(body_of_size(262_144).len(), 262_144);
    send(&api, "application/json", body_of_size(262_144)).await.expect(422);
    let large = send(&api, "application/json", body_of_size(262_145)).await.expect(413);
    assert_eq!(large.string("/code"), "payload_too_large");
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
        "application/merge-patch+json",
        "",
    ] {
        let response = send(&api, media, r#"{"title":"x"}"#).await.expect(415);
        assert_eq!(response.string("/code"), "unsupported_media_type", "{media}");
    }
    for media in ["application/json", "APPLICATION/JSON;charset=utf-8", "application/json; charset=\"UTF-8\""]
    {
        send(&api, media, r#"{"title":"x"}"#).await.expect(201);
    }
}

/// The order is: route, credential and quota, scope, syntax, existence, validation, state.
#[tokio::test]
async fn checks_run_in_the_documented_order() {
    let api = TestApi::new().await;
    let patch = |id: u64, body: &'static str| {
        api.request(Method::PATCH, &format!("/api/v1/roles/{id}")).body("application/json", body).send()
    };
    api.request(Method::PATCH, "/api/v1/roles/17")
        .anonymous()
        .body("text/plain", "{")
        .send()
        .await
        .expect(401);
    patch(17, "{").await.expect(400);
    patch(17, r#"{"title":7}"#).await.expect(404);
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let response = api.request(Method::PATCH, &format!("/api/v1/roles/{id}")).header("if-match", "\"no\"");
    response.json(&json!({ "title": 7 })).send().await.expect(422);
    let publish =
        api.request(Method::POST, &format!("/api/v1/roles/{id}/pause")).json(&json!({ "x": 1 })).send().await;
    assert_eq!(publish.expect(422).string("/code"), "validation_failed");
}

#[tokio::test]
async fn every_response_has_the_common_headers() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    for response in [
        api.get("/api/v1/roles").await.expect(200),
        api.get(&format!("/api/v1/roles/{id}")).await.expect(200),
        api.get("/api/v1/roles/17").await.expect(404),
        api.post("/api/v1/roles", json!({})).await.expect(422),
        api.request(Method::GET, "/api/v1/roles").anonymous().send().await.expect(401),
        send(&api, "text/plain", "x").await.expect(415),
    ] {
        assert_eq!(response.header("content-type"), "application/json");
        assert_eq!(response.header("cache-control"), "no-store");
        assert_eq!(response.header("x-content-type-options"), "nosniff");
        assert_eq!(response.header("strict-transport-security"), "max-age=31536000; includeSubDomains");
        assert!(!response.header("x-request-id").is_empty());
        if response.status >= 400 {
            assert_eq!(response.header("x-request-id"), response.string("/request_id"));
            assert!(response.body["error"].is_string() && response.body["code"].is_string());
        }
    }
}

#[tokio::test]
async fn an_authorization_header_of_ten_kilobytes_is_accepted() {
    let api = TestApi::new().await;
    let long = format!("Bearer {}", "a".repeat(10_000));
    let response = api.request(Method::GET, "/api/v1/roles").header("authorization", &long).send().await;
    assert_eq!(response.status, 401, "the gateway accepts the header, and the credential is malformed");
}

/// A request that is too large for the gateway never reaches a function. The OpenAPI document also describes the
/// gateway's responses.
#[tokio::test]
async fn error_responses_of_the_gateway_are_documented() {
    let api = TestApi::new().await;
    let (header, body) = ("a".repeat(10_240), Bytes::from(vec![b'x'; MAX_BODY + 1]));
    for operation in operations() {
        let key = operation.key;
        let (method, path) = key.split_once(' ').unwrap();
        let request = http::Request::builder().method(method).uri(path).header("host", "api.rolecall.test");
        let long = request.header("authorization", header.clone()).body(Bytes::new()).unwrap();
        let large = http::Request::builder().method(method).uri(path).body(body.clone()).unwrap();
        for (request, status) in [(long, 431), (large, 413)] {
            let response = api.gateway.send(request, Ipv4Addr::LOCALHOST.into()).await;
            assert_eq!(response.status(), status, "{key}");
            if status == 431 || operation.reads_body() {
                assert_eq!(CONTRACT.gateway_violations(key, &response), [] as [&str; 0], "{key}");
            }
        }
    }
}

/// Lambda takes events of 6 MB. The body is a part of the event: text as it is, and everything else in base64.
#[tokio::test]
async fn the_gateway_answers_what_is_too_large_for_lambda() {
    let api = TestApi::new().await;
    for (media, size, is_too_large) in [
        ("multipart/form-data; boundary=x", 4_700_000, false),
        ("multipart/form-data; boundary=x", 4_720_000, true),
        ("application/json", 6_280_000, false),
        ("application/json", 6_291_556, true),
    ] {
        let response =
            api.request(Method::POST, "/dashboard/candidates/new").body(media, vec![b'x'; size]).send().await;
        let is_gateways = response.text == r#"{"message":"Request Entity Too Large"}"#;
        assert_eq!(is_gateways, is_too_large, "{media} {size}: {} {}", response.status, response.text);
    }
}

#[tokio::test]
async fn get_and_delete_ignore_a_body() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let path = format!("/api/v1/roles/{id}");
    api.request(Method::GET, &path).body("text/plain", "x").send().await.expect(200);
    api.request(Method::DELETE, &path).body("text/plain", "x").send().await.expect(200);
}
