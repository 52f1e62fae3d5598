//! Bodies and headers that are not what they should be.

use std::net::Ipv4Addr;

use bytes::Bytes;
use http::Method;
use rolecall_local::gateway::MAX_BODY;
use serde_json::json;
use tests::contract::CONTRACT;
use tests::openapi::operations;
use tests::{Answer, World};

async fn send(world: &World, content_type: &str, body: impl Into<Bytes>) -> Answer {
    world.request(Method::POST, "/api/v1/roles").body(content_type, body).send().await
}

#[tokio::test]
async fn what_is_not_json_is_a_bad_request() {
    let world = World::new().await;
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
        let answer = send(&world, "application/json", body.to_vec()).await;
        assert_eq!(
            (answer.status, answer.string("/code")),
            (400, "bad_request"),
            "{}",
            String::from_utf8_lossy(body)
        );
        assert!(answer.body.get("messages").is_none(), "messages come only with 422");
    }
}

#[tokio::test]
async fn json_of_another_shape_is_invalid() {
    let world = World::new().await;
    for body in ["[]", "null", "7", "\"x\"", "true"] {
        assert_eq!(
            send(&world, "application/json", body).await.expect(422).messages(),
            ["body must be a JSON object"]
        );
    }
    assert_eq!(send(&world, "application/json", "").await.expect(422).messages(), ["title can't be blank"]);
    for (body, message) in [
        (r#"{"title":"x","salary_min":1e400}"#, "salary_min must be a whole number from 0 to 100000000"),
        (
            r#"{"title":"x","salary_min":9007199254740993}"#,
            "salary_min must be a whole number from 0 to 100000000",
        ),
        (r#"{"title":"x","salary_min":0.5}"#, "salary_min must be a whole number from 0 to 100000000"),
        (r#"{"title":"\ud800"}"#, "title must be a string"),
        (r#"{"title":"a","title":"b"}"#, "title must be given once"),
        (r#"{"title":"x","":1}"#, " is not a known field"),
        (r#"{"title":"x","__proto__":{}}"#, "__proto__ is not a known field"),
    ] {
        assert_eq!(send(&world, "application/json", body).await.expect(422).messages(), [message], "{body}");
    }
    let depth = 100_000;
    let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(
        send(&world, "application/json", nested.clone()).await.expect(422).messages(),
        ["body must be a JSON object"]
    );
    let answer = send(&world, "application/json", format!(r#"{{"title":{nested}}}"#)).await.expect(422);
    assert_eq!(answer.messages(), ["title must be a string"]);
    send(&world, "application/json", "{\"title\":\"\\u0000\"}").await.expect(422);
}

#[tokio::test]
async fn a_body_is_json_of_at_most_256_kilobytes() {
    let world = World::new().await;
    let filled = |size: usize| format!(r#"{{"title":"x","description":"{}"}}"#, "d".repeat(size - 30));
    assert_eq!(filled(262_144).len(), 262_144);
    send(&world, "application/json", filled(262_144)).await.expect(422);
    let large = send(&world, "application/json", filled(262_145)).await.expect(413);
    assert_eq!(large.string("/code"), "payload_too_large");
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
        "application/merge-patch+json",
        "",
    ] {
        let answer = send(&world, media, r#"{"title":"x"}"#).await.expect(415);
        assert_eq!(answer.string("/code"), "unsupported_media_type", "{media}");
    }
    for media in ["application/json", "APPLICATION/JSON;charset=utf-8", "application/json; charset=\"UTF-8\""]
    {
        send(&world, media, r#"{"title":"x"}"#).await.expect(201);
    }
}

/// Route, credential and quota, scope, syntax, existence, validation, state.
#[tokio::test]
async fn checks_come_in_order() {
    let world = World::new().await;
    let patch = |id: u64, body: &'static str| {
        world.request(Method::PATCH, &format!("/api/v1/roles/{id}")).body("application/json", body).send()
    };
    world
        .request(Method::PATCH, "/api/v1/roles/17")
        .anonymous()
        .body("text/plain", "{")
        .send()
        .await
        .expect(401);
    patch(17, "{").await.expect(400);
    patch(17, r#"{"title":7}"#).await.expect(404);
    let id = world.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let answer = world.request(Method::PATCH, &format!("/api/v1/roles/{id}")).header("if-match", "\"no\"");
    answer.json(&json!({ "title": 7 })).send().await.expect(422);
    let publish = world
        .request(Method::POST, &format!("/api/v1/roles/{id}/pause"))
        .json(&json!({ "x": 1 }))
        .send()
        .await;
    assert_eq!(publish.expect(422).string("/code"), "validation_failed");
}

#[tokio::test]
async fn every_answer_has_the_same_headers() {
    let world = World::new().await;
    let id = world.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    for answer in [
        world.get("/api/v1/roles").await.expect(200),
        world.get(&format!("/api/v1/roles/{id}")).await.expect(200),
        world.get("/api/v1/roles/17").await.expect(404),
        world.post("/api/v1/roles", json!({})).await.expect(422),
        world.request(Method::GET, "/api/v1/roles").anonymous().send().await.expect(401),
        send(&world, "text/plain", "x").await.expect(415),
    ] {
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert!(!answer.header("x-request-id").is_empty());
        if answer.status >= 400 {
            assert_eq!(answer.header("x-request-id"), answer.string("/request_id"));
            assert!(answer.body["error"].is_string() && answer.body["code"].is_string());
        }
    }
}

#[tokio::test]
async fn an_authorization_header_of_ten_kilobytes_is_read() {
    let world = World::new().await;
    let long = format!("Bearer {}", "a".repeat(10_000));
    let answer = world.request(Method::GET, "/api/v1/roles").header("authorization", &long).send().await;
    assert_eq!(answer.status, 401, "within the gateway's limit it is a malformed credential");
}

/// What is too large for the gateway never reaches a function, and is in the document all the same.
#[tokio::test]
async fn what_the_gateway_refuses_is_described() {
    let world = World::new().await;
    let (header, body) = ("a".repeat(10_240), Bytes::from(vec![b'x'; MAX_BODY + 1]));
    for operation in operations() {
        let key = operation.key;
        let (method, path) = key.split_once(' ').unwrap();
        let request = http::Request::builder().method(method).uri(path).header("host", "api.rolecall.test");
        let long = request.header("authorization", header.clone()).body(Bytes::new()).unwrap();
        let large = http::Request::builder().method(method).uri(path).body(body.clone()).unwrap();
        for (request, status) in [(long, 431), (large, 413)] {
            let answer = world.gateway.send(request, Ipv4Addr::LOCALHOST.into()).await;
            assert_eq!(answer.status(), status, "{key}");
            if status == 431 || operation.reads_body() {
                assert_eq!(CONTRACT.gateway_breaches(key, &answer), [] as [&str; 0], "{key}");
            }
        }
    }
}

#[tokio::test]
async fn a_get_and_a_delete_ignore_a_body() {
    let world = World::new().await;
    let id = world.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let path = format!("/api/v1/roles/{id}");
    world.request(Method::GET, &path).body("text/plain", "x").send().await.expect(200);
    world.request(Method::DELETE, &path).body("text/plain", "x").send().await.expect(200);
}
