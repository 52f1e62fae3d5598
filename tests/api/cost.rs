//! The capacity units of typical requests, which are most of what the service costs. infra/README.md has the prices.

use serde_json::{Value, json};
use tests::{TestApi, interceptor::RecordedCall};

/// The capacity units that a request writes and reads.
async fn units(api: &TestApi, method: &str, path: &str, body: Value) -> (f64, f64) {
    api.dynamodb.take_calls();
    let request = api.request(method.parse().unwrap(), path);
    let request = if body.is_null() { request } else { request.json(&body) };
    let response = request.send().await;
    assert!(response.status < 300, "{method} {path}: {}", response.text);
    let is_read = |call: &RecordedCall| ["GetItem", "BatchGetItem", "Query"].contains(&&*call.operation);
    let (reads, writes): (Vec<_>, Vec<_>) = api.dynamodb.take_calls().into_iter().partition(is_read);
    let sum = |calls: Vec<RecordedCall>| calls.iter().map(RecordedCall::units).sum();
    (sum(writes), sum(reads))
}

fn post(title: &str) -> Value {
    json!({ "role": { "title": title, "description": "d".repeat(1_000) } })
}

#[tokio::test]
async fn typical_requests_cost_exactly_these_capacity_units() {
    let api = TestApi::new().await;
    for number in 0..30 {
        let role = json!({
            "title": format!("Cook {number}"), "description": "d".repeat(1_000), "department": "Kitchen",
            "location": "Oslo",
        });
        api.post("/api/v1/roles", role).await.expect(201);
    }
    let role = api.post("/api/v1/quick_post", post("Analyst")).await.expect(201).number("/role/id");
    let mut candidate = 0;
    for number in 0..30 {
        let body = json!({
            "name": format!("Ada Number {number}"), "email": format!("p{number}@example.com"),
            "phone": format!("+49151123456{number:02}"), "role_id": role, "source": "fair",
        });
        candidate = api.post("/api/v1/candidates", body).await.expect(201).number("/id");
    }
    let (shown, of_role) =
        (format!("/api/v1/roles/{role}"), format!("/api/v1/candidates?role_id={role}&limit=25"));
    let advance = format!("/api/v1/candidates/{candidate}/advance");
    for (method, path, body, expected) in [
        ("GET", &*shown, Value::Null, (1.0, 1.0)),
        ("GET", "/api/v1/roles?limit=25", Value::Null, (1.0, 9.0)),
        ("GET", "/api/v1/candidates?limit=25", Value::Null, (1.0, 2.0)),
        ("GET", &*of_role, Value::Null, (1.0, 16.5)),
        ("POST", "/api/v1/quick_post", post("Baker"), (20.0, 1.0)),
        // Reading the slug's number first saves a transaction that fails and costs as much as one that succeeds.
        ("POST", "/api/v1/quick_post", post("Baker"), (22.0, 1.0)),
        ("POST", &*advance, json!({ "stage": "interview" }), (25.0, 1.0)),
    ] {
        let counted = units(&api, method, path, body).await;
        // DynamoDB Local counts the units of transactions differently.
        if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none() {
            assert_eq!(
                counted, expected,
                "{method} {path}: these are write and read units. Every stored byte counts, also those of a null: leave \
                 it out with skip_serializing_if. If the request has to cost more, change the table in infra/README.md"
            );
        }
    }
}
