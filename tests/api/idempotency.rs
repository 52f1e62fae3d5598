//! Idempotency keys: a repeated request gets the same response and has one effect.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::events::{api_for, events};

async fn post(api: &TestApi, path: &str, key: &str, body: &Value) -> Response {
    api.request(Method::POST, path).header("idempotency-key", key).json(body).send().await
}

async fn count_roles(api: &TestApi) -> usize {
    api.get("/api/v1/roles?limit=100").await.body["data"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn a_repeated_request_gets_the_stored_response() {
    let api = TestApi::new().await;
    let body = json!({ "role": { "title": "x" } });
    let first = post(&api, "/api/v1/quick_post", "k1", &body).await.expect(201);
    assert_eq!(first.header("idempotency-replayed"), "");
    api.clock.set("2026-11-21T09:29:59Z");
    for key in ["k1", "\"k1\""] {
        let again = post(&api, "/api/v1/quick_post", key, &body).await.expect(201);
        assert_eq!((&again.body, again.header("location")), (&first.body, first.header("location")));
        assert_eq!(again.header("idempotency-replayed"), "true");
    }
    assert_eq!(count_roles(&api).await, 1);
    api.clock.set("2026-11-20T09:30:00Z");
    let jane = json!({ "name": "Jane", "email": "jane@example.com" });
    post(&api, "/api/v1/candidates", "k2", &jane).await.expect(201);
    api.clock.set("2026-11-21T09:30:00Z");
    let later = post(&api, "/api/v1/quick_post", "k1", &body).await.expect(201);
    assert_ne!(later.body, first.body, "a key expires after 24 hours");
    post(&api, "/api/v1/candidates", "k2", &jane).await.expect(422);
}

#[tokio::test]
async fn every_route_returns_the_stored_response_to_a_repeated_request() {
    let api = api_for("", |_| ()).await;
    for (name, mut event) in events() {
        if event["routeKey"].as_str().is_some_and(|key| key.starts_with("POST /api/")) {
            event["headers"]["idempotency-key"] = name.as_str().into();
            let mut responses = Vec::new();
            for _ in 0..2 {
                let response = Response::read(api.gateway.invoke_event(event.clone()).await.unwrap());
                assert!(response.status < 300, "{name}: {}", response.text);
                responses.push((response.status, response.text));
            }
            assert_eq!(responses[0], responses[1], "{name}");
        }
    }
}

#[tokio::test]
async fn a_different_request_with_the_same_key_is_rejected() {
    let api = TestApi::new().await;
    post(&api, "/api/v1/roles", "k", &json!({ "title": "x" })).await.expect(201);
    for body in [json!({ "title": "y" }), json!({ "title": 7 }), json!({})] {
        let refused = post(&api, "/api/v1/roles", "k", &body).await.expect(422);
        assert_eq!(refused.string("/code"), "idempotency_mismatch");
        assert_eq!(refused.messages(), [refused.string("/error")]);
    }
    assert_eq!(count_roles(&api).await, 1);
}

#[tokio::test]
async fn a_key_is_scoped_to_its_tenant_and_route() {
    let api = TestApi::new().await;
    post(&api, "/api/v1/roles", "k", &json!({ "title": "x" })).await.expect(201);
    let posted =
        post(&api, "/api/v1/quick_post", "k", &json!({ "role": { "title": "x" } })).await.expect(201);
    assert_eq!(posted.header("idempotency-replayed"), "");
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        let request =
            api.request(Method::POST, "/api/v1/roles").key(demo, mode).header("idempotency-key", "k");
        let created = request.json(&json!({ "title": "x" })).send().await.expect(201);
        assert_eq!(created.header("idempotency-replayed"), "");
    }
}

/// The new state would reject the transition after the first request. A repeated request must still get the first
/// response.
#[tokio::test]
async fn a_repeated_transition_gets_the_first_response() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let publish = format!("/api/v1/roles/{id}/publish");
    let first = post(&api, &publish, "k", &json!({})).await.expect(200);
    let again = post(&api, &publish, "k", &json!({})).await.expect(200);
    assert_eq!((&again.body, again.header("etag")), (&first.body, first.header("etag")));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(
        post(&api, &publish, "other", &json!({})).await.expect(422).string("/code"),
        "invalid_transition"
    );
    api.request(Method::POST, &format!("/api/v1/roles/{id}/pause")).send().await.expect(200);
    let again = post(&api, &publish, "k", &json!({})).await.expect(200);
    assert_eq!(again.string("/status"), "open", "the stored response, not the current state");

    let other = api.post("/api/v1/roles", json!({ "title": "y" })).await.number("/id");
    let reused = post(&api, &format!("/api/v1/roles/{other}/publish"), "k", &json!({})).await.expect(422);
    assert_eq!(reused.string("/code"), "idempotency_mismatch");
}

/// A no-op also uses up its key, so a repeated request must have no effect after the state has changed.
#[tokio::test]
async fn a_repeated_no_op_does_nothing() {
    let api = TestApi::new().await;
    let id =
        api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.number("/job_posting/id");
    let publish = format!("/api/v1/job_postings/{id}/publish");
    post(&api, &publish, "k", &json!({})).await.expect(200);
    api.request(Method::POST, &format!("/api/v1/job_postings/{id}/unpublish")).send().await.expect(200);
    post(&api, &publish, "k", &json!({})).await.expect(200);
    assert_eq!(api.get(&format!("/api/v1/job_postings/{id}")).await.body["published"], false);
}

#[tokio::test]
async fn a_failed_request_does_not_use_up_its_key() {
    let api = TestApi::new().await;
    post(&api, "/api/v1/roles", "k", &json!({ "title": 7 })).await.expect(422);
    post(&api, "/api/v1/roles", "k", &json!({ "title": "x" })).await.expect(201);
    for bad in ["", " ", "a b", "\"\"", &"k".repeat(256)] {
        let refused = post(&api, "/api/v1/roles", bad, &json!({ "title": "x" })).await.expect(400);
        assert_eq!(refused.string("/code"), "bad_request");
    }
    assert_eq!(count_roles(&api).await, 1);
}

#[tokio::test]
async fn concurrent_requests_with_the_same_key_have_one_effect() {
    let api = TestApi::new().await;
    let body = json!({ "role": { "title": "Engineer" } });
    let responses = join_all((0..50).map(|_| post(&api, "/api/v1/quick_post", "k", &body))).await;
    let replayed =
        responses.iter().filter(|response| response.header("idempotency-replayed") == "true").count();
    assert_eq!(replayed, 49);
    assert!(responses.iter().all(|response| response.status == 201 && response.body == responses[0].body));
    assert_eq!(count_roles(&api).await, 1);
}

#[tokio::test]
async fn a_write_conflict_is_409_with_a_key_and_503_without_one() {
    let api = TestApi::new().await;
    api.dynamodb.inject_faults(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Conflict));
    let response = post(&api, "/api/v1/roles", "k", &json!({ "title": "x" })).await.expect(409);
    assert_eq!(response.string("/code"), "conflict");
    let calls = api.dynamodb.take_calls();
    let attempts = calls.iter().filter(|call| call.operation == "TransactWriteItems").count();
    assert_eq!(attempts, 10, "write conflicts are retried");
    for (path, body) in [
        ("roles", json!({ "title": "x" })),
        ("quick_post", json!({ "role": { "title": "x" } })),
        ("candidates", json!({ "name": "x", "email": "x@example.com" })),
    ] {
        let response = api.post(&format!("/api/v1/{path}"), body).await.expect(503);
        assert_eq!(
            response.string("/code"),
            "unavailable",
            "without a key, a write conflict means a busy table"
        );
    }
}

/// The write succeeded, but its response was lost: a retry with the key finds the stored response and does not write
/// again.
#[tokio::test]
async fn a_retry_after_a_lost_response_gets_the_stored_response() {
    let api = TestApi::new().await;
    api.dynamodb
        .inject_faults(|operation, _| (operation == "TransactWriteItems").then_some(Fault::ResponseLost));
    let body = json!({ "role": { "title": "x" } });
    post(&api, "/api/v1/quick_post", "k", &body).await.expect(503);
    api.dynamodb.inject_faults(|_, _| None);
    let again = post(&api, "/api/v1/quick_post", "k", &body).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(count_roles(&api).await, 1);
}
