//! The API returns a regular 503 and leaves no partial writes while DynamoDB is throttled, slow or unreachable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::json;
use shared::model::Mode;
use shared::store::Store;
use tests::interceptor::Fault;
use tests::{GLOBEX, Response, TestApi};

fn assert_unavailable(response: &Response) {
    assert_eq!((response.status, response.string("/code")), (503, "unavailable"), "{}", response.text);
    assert_eq!(response.header("retry-after"), "1");
    assert!(!response.text.to_lowercase().contains("dynamo"), "no details: {}", response.text);
}

#[tokio::test]
async fn a_failed_call_returns_503_and_leaves_no_partial_write() {
    let api = TestApi::new().await;
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
    let (role, posting) = (posted.number("/role/id"), posted.number("/job_posting/id"));
    let requests = [
        (Method::POST, "/api/v1/quick_post".to_owned(), r#"{"role":{"title":"y"}}"#),
        (Method::POST, "/api/v1/roles".to_owned(), r#"{"title":"y"}"#),
        (Method::PATCH, format!("/api/v1/roles/{role}"), r#"{"title":"y"}"#),
        (Method::POST, format!("/api/v1/roles/{role}/pause"), ""),
        (Method::DELETE, format!("/api/v1/roles/{role}"), ""),
        (Method::PATCH, format!("/api/v1/job_postings/{posting}"), r#"{"title":"y"}"#),
        (Method::POST, format!("/api/v1/job_postings/{posting}/unpublish"), ""),
        (Method::GET, "/api/v1/roles".to_owned(), ""),
        (Method::GET, format!("/api/v1/roles/{role}/stats"), ""),
        (Method::GET, "/api/v1/organization".to_owned(), ""),
    ];
    let snapshot = async || {
        let roles = api.get("/api/v1/roles").await.expect(200).text;
        roles + &api.get("/api/v1/job_postings").await.expect(200).text
    };
    for fault in [Fault::Throttled, Fault::Unreachable, Fault::Internal] {
        for failing in ["UpdateItem", "GetItem", "BatchGetItem", "Query", "TransactWriteItems"] {
            // A throttled gate admits a Pro organization. `quota.rs` tests this.
            if failing == "UpdateItem" && matches!(fault, Fault::Throttled) {
                continue;
            }
            for (method, path, body) in &requests {
                api.dynamodb.inject_faults(|_, _| None);
                let before = snapshot().await;
                let injected = fault.clone();
                api.dynamodb
                    .inject_faults(move |operation, _| (operation == failing).then(|| injected.clone()));
                api.dynamodb.take_calls();
                let response = api.request(method.clone(), path).body("application/json", *body).send().await;
                let was_called = api.dynamodb.take_calls().iter().any(|call| call.operation == failing);
                if was_called {
                    assert_unavailable(&response);
                    api.dynamodb.inject_faults(|_, _| None);
                    assert_eq!(snapshot().await, before, "{fault:?} of {failing}: {method} {path}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_hanging_call_times_out_before_the_function_does() {
    let mut api = TestApi::new().await;
    // This store has the timeouts of the service; other tests use longer ones.
    let client = tests::engine::client(api.dynamodb.client()).await;
    api.environment.store = Store::from_config(client, &api.environment.config.table);
    api.restart();
    for hanging in ["UpdateItem", "Query"] {
        let paused = AtomicBool::new(false);
        api.dynamodb.inject_faults(move |operation, _| {
            // Only timers are pending after the first hanging call. They fire at once while the clock is paused.
            if operation == hanging && !paused.swap(true, Ordering::Relaxed) {
                tokio::time::pause();
            }
            (operation == hanging).then_some(Fault::Hang)
        });
        let started = tokio::time::Instant::now();
        assert_unavailable(&api.get("/api/v1/roles").await);
        assert!(started.elapsed() < Duration::from_secs(9), "a function times out after ten seconds");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_gate_call_whose_response_is_lost_is_not_retried() {
    let api = TestApi::new().await;
    api.dynamodb.inject_faults(|operation, _| (operation == "UpdateItem").then_some(Fault::ResponseLost));
    api.dynamodb.take_calls();
    let response = api.request(Method::GET, "/api/v1/roles").key(GLOBEX, Mode::Live).send().await;
    assert_unavailable(&response);
    let calls = api.dynamodb.take_calls().into_iter().map(|call| call.operation);
    assert_eq!(calls.collect::<Vec<_>>(), ["UpdateItem", "Query"], "a retry could count the request twice");
    api.dynamodb.inject_faults(|_, _| None);
    let actual = api.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send().await;
    assert_eq!(actual.number("/usage/requests_today"), 2);
}

#[tokio::test]
async fn a_missing_table_returns_500_without_details() {
    let mut api = TestApi::new().await;
    api.environment.store = tests::engine::store(api.dynamodb.client(), "no-such-table").await;
    api.restart();
    let response = api.get("/api/v1/roles").await.expect(500);
    assert_eq!(response.string("/code"), "internal_error");
    assert!(!response.text.contains("table"), "{}", response.text);
}
