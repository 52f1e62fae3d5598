//! DynamoDB throttled, slow or gone: 503 in our form, and nothing half-written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::json;
use shared::model::Mode;
use shared::store::Store;
use tests::wire::Fault;
use tests::{Answer, GLOBEX, World};

fn assert_unavailable(answer: &Answer) {
    assert_eq!((answer.status, answer.string("/code")), (503, "unavailable"), "{}", answer.text);
    assert_eq!(answer.header("retry-after"), "1");
    assert!(!answer.text.to_lowercase().contains("dynamo"), "no detail: {}", answer.text);
}

#[tokio::test]
async fn whichever_call_fails_the_answer_is_503_and_nothing_is_half_written() {
    let world = World::new().await;
    let posted = world.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
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
        let roles = world.get("/api/v1/roles").await.expect(200).text;
        roles + &world.get("/api/v1/job_postings").await.expect(200).text
    };
    for fault in [Fault::Throttled, Fault::Unreachable, Fault::Internal] {
        for failing in ["UpdateItem", "GetItem", "BatchGetItem", "Query", "TransactWriteItems"] {
            // A Pro organization passes a throttled gate: see the quota's tests.
            if failing == "UpdateItem" && matches!(fault, Fault::Throttled) {
                continue;
            }
            for (method, path, body) in &requests {
                world.wire.play(|_, _| None);
                let before = snapshot().await;
                let playing = fault.clone();
                world.wire.play(move |operation, _| (operation == failing).then(|| playing.clone()));
                world.wire.take();
                let answer = world.request(method.clone(), path).body("application/json", *body).send().await;
                let reached = world.wire.take().iter().any(|call| call.operation == failing);
                if reached {
                    assert_unavailable(&answer);
                    world.wire.play(|_, _| None);
                    assert_eq!(snapshot().await, before, "{fault:?} of {failing}: {method} {path}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_silent_database_is_given_up_in_time() {
    let mut world = World::new().await;
    // With the deadlines of the service, where other tests have patience.
    let client = tests::engine::client(world.wire.client(), &world.endpoint).await;
    world.environment.store = Store::configured(client, &world.environment.config.table);
    world.restart();
    for silent in ["UpdateItem", "Query"] {
        let frozen = AtomicBool::new(false);
        world.wire.play(move |operation, _| {
            // From the first silent call on there is nothing to wait for but timers, which then run out at once.
            if operation == silent && !frozen.swap(true, Ordering::Relaxed) {
                tokio::time::pause();
            }
            (operation == silent).then_some(Fault::Silent)
        });
        let started = tokio::time::Instant::now();
        assert_unavailable(&world.get("/api/v1/roles").await);
        assert!(started.elapsed() < Duration::from_secs(9), "a function has ten seconds");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_lost_gate_answer_is_not_asked_again() {
    let world = World::new().await;
    world.wire.play(|operation, _| (operation == "UpdateItem").then_some(Fault::AnswerLost));
    world.wire.take();
    let answer = world.request(Method::GET, "/api/v1/roles").key(GLOBEX, Mode::Live).send().await;
    assert_unavailable(&answer);
    assert_eq!(world.wire.take().len(), 1, "a retry could count the request twice");
    world.wire.play(|_, _| None);
    let shown = world.request(Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send().await;
    assert_eq!(shown.number("/usage/requests_today"), 2);
}

#[tokio::test]
async fn a_table_that_is_not_there_is_our_fault_and_says_no_more() {
    let mut world = World::new().await;
    world.environment.store = world.table(&world.wire, "no-such-table").await;
    world.restart();
    let answer = world.get("/api/v1/roles").await.expect(500);
    assert_eq!(answer.string("/code"), "internal_error");
    assert!(!answer.text.contains("table"), "{}", answer.text);
}
