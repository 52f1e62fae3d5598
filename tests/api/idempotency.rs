//! Idempotency keys: the same request again has the same answer, and one effect.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::wire::Fault;
use tests::{ACME, Answer, GLOBEX, World};

async fn post(world: &World, path: &str, key: &str, body: &Value) -> Answer {
    world.request(Method::POST, path).header("idempotency-key", key).json(body).send().await
}

async fn roles(world: &World) -> usize {
    world.get("/api/v1/roles?limit=100").await.body["data"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn a_repetition_gets_the_stored_answer() {
    let world = World::new().await;
    let body = json!({ "role": { "title": "x" } });
    let first = post(&world, "/api/v1/quick_post", "k1", &body).await.expect(201);
    assert_eq!(first.header("idempotency-replayed"), "");
    world.hands.set("2026-11-21T09:29:59Z");
    for key in ["k1", "\"k1\""] {
        let again = post(&world, "/api/v1/quick_post", key, &body).await.expect(201);
        assert_eq!((&again.body, again.header("location")), (&first.body, first.header("location")));
        assert_eq!(again.header("idempotency-replayed"), "true");
    }
    assert_eq!(roles(&world).await, 1);
    world.hands.set("2026-11-21T09:30:00Z");
    let later = post(&world, "/api/v1/quick_post", "k1", &body).await.expect(201);
    assert_ne!(later.body, first.body, "after 24 hours the key is free");
}

#[tokio::test]
async fn another_request_with_the_key_is_refused() {
    let world = World::new().await;
    post(&world, "/api/v1/roles", "k", &json!({ "title": "x" })).await.expect(201);
    for body in [json!({ "title": "y" }), json!({ "title": 7 }), json!({})] {
        let refused = post(&world, "/api/v1/roles", "k", &body).await.expect(422);
        assert_eq!(refused.string("/code"), "idempotency_mismatch");
        assert_eq!(refused.messages(), [refused.string("/error")]);
    }
    assert_eq!(roles(&world).await, 1);
}

#[tokio::test]
async fn a_key_belongs_to_its_tenant_and_route() {
    let world = World::new().await;
    post(&world, "/api/v1/roles", "k", &json!({ "title": "x" })).await.expect(201);
    let posted =
        post(&world, "/api/v1/quick_post", "k", &json!({ "role": { "title": "x" } })).await.expect(201);
    assert_eq!(posted.header("idempotency-replayed"), "");
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        let ask = world.request(Method::POST, "/api/v1/roles").key(demo, mode).header("idempotency-key", "k");
        let created = ask.json(&json!({ "title": "x" })).send().await.expect(201);
        assert_eq!(created.header("idempotency-replayed"), "");
    }
}

/// The first answer changed the state that would now refuse: the repetition must still see the first answer.
#[tokio::test]
async fn a_repeated_move_is_answered_as_the_first() {
    let world = World::new().await;
    let id = world.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let publish = format!("/api/v1/roles/{id}/publish");
    let first = post(&world, &publish, "k", &json!({})).await.expect(200);
    let again = post(&world, &publish, "k", &json!({})).await.expect(200);
    assert_eq!((&again.body, again.header("etag")), (&first.body, first.header("etag")));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(
        post(&world, &publish, "other", &json!({})).await.expect(422).string("/code"),
        "invalid_transition"
    );
    world.request(Method::POST, &format!("/api/v1/roles/{id}/pause")).send().await.expect(200);
    let again = post(&world, &publish, "k", &json!({})).await.expect(200);
    assert_eq!(again.string("/status"), "open", "what was answered then, not what is now");

    let other = world.post("/api/v1/roles", json!({ "title": "y" })).await.number("/id");
    let reused = post(&world, &format!("/api/v1/roles/{other}/publish"), "k", &json!({})).await.expect(422);
    assert_eq!(reused.string("/code"), "idempotency_mismatch");
}

/// Nothing to write is an effect too: a repetition after the state has moved on must not act.
#[tokio::test]
async fn a_repeated_no_op_does_nothing() {
    let world = World::new().await;
    let id =
        world.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.number("/job_posting/id");
    let publish = format!("/api/v1/job_postings/{id}/publish");
    post(&world, &publish, "k", &json!({})).await.expect(200);
    world.request(Method::POST, &format!("/api/v1/job_postings/{id}/unpublish")).send().await.expect(200);
    post(&world, &publish, "k", &json!({})).await.expect(200);
    assert_eq!(world.get(&format!("/api/v1/job_postings/{id}")).await.body["published"], false);
}

#[tokio::test]
async fn a_failure_uses_no_key_up() {
    let world = World::new().await;
    post(&world, "/api/v1/roles", "k", &json!({ "title": 7 })).await.expect(422);
    post(&world, "/api/v1/roles", "k", &json!({ "title": "x" })).await.expect(201);
    for bad in ["", " ", "a b", "\"\"", &"k".repeat(256)] {
        let refused = post(&world, "/api/v1/roles", bad, &json!({ "title": "x" })).await.expect(400);
        assert_eq!(refused.string("/code"), "bad_request");
    }
    assert_eq!(roles(&world).await, 1);
}

#[tokio::test]
async fn the_same_request_many_times_at_once_has_one_effect() {
    let world = World::new().await;
    let body = json!({ "role": { "title": "Engineer" } });
    let answers = join_all((0..50).map(|_| post(&world, "/api/v1/quick_post", "k", &body))).await;
    let replayed = answers.iter().filter(|answer| answer.header("idempotency-replayed") == "true").count();
    assert_eq!(replayed, 49);
    assert!(answers.iter().all(|answer| answer.status == 201 && answer.body == answers[0].body));
    assert_eq!(roles(&world).await, 1);
}

#[tokio::test]
async fn while_the_first_is_under_way_the_second_is_told_so() {
    let world = World::new().await;
    world.wire.play(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Conflict));
    let answer = post(&world, "/api/v1/roles", "k", &json!({ "title": "x" })).await.expect(409);
    assert_eq!(answer.string("/code"), "conflict");
    for (path, body) in [
        ("roles", json!({ "title": "x" })),
        ("quick_post", json!({ "role": { "title": "x" } })),
        ("candidates", json!({ "name": "x", "email": "x@example.com" })),
    ] {
        let answer = world.post(&format!("/api/v1/{path}"), body).await.expect(503);
        assert_eq!(answer.string("/code"), "unavailable", "without a key it is a busy table");
    }
}

/// The write happened, its answer was lost: a repetition with the key finds out, and does it once.
#[tokio::test]
async fn a_lost_answer_is_found_again() {
    let world = World::new().await;
    world.wire.play(|operation, _| (operation == "TransactWriteItems").then_some(Fault::AnswerLost));
    let body = json!({ "role": { "title": "x" } });
    post(&world, "/api/v1/quick_post", "k", &body).await.expect(503);
    world.wire.play(|_, _| None);
    let again = post(&world, "/api/v1/quick_post", "k", &body).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(roles(&world).await, 1);
}
