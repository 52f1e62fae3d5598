//! The cost of a request: DynamoDB calls and items read.

use http::Method;
use rolecall_local::functions::{Tables, tables};
use serde_json::{Value, json};
use shared::http::Access;
use shared::model::{Role, RoleContent, Text};
use tests::interceptor::RecordedCall;
use tests::{Fixtures, TestApi};

/// The number of DynamoDB calls that a successful request to each route makes.
const BUDGET: &[(&str, usize)] = &[
    ("DELETE /api/v1/candidates/{id}/legal_hold", 3),
    ("DELETE /api/v1/candidates/{id}/notes/{note_id}", 4),
    ("DELETE /api/v1/roles/{id}", 3),
    ("GET /api/v1/applications", 3),
    ("GET /api/v1/applications/{id}", 3),
    // The four shards of a day.
    ("GET /api/v1/audit_log", 6),
    ("GET /api/v1/events", 3),
    ("GET /api/v1/candidates", 2),
    ("GET /api/v1/candidates/{id}", 3),
    ("GET /api/v1/candidates/{id}/notes", 3),
    ("GET /api/v1/candidates/{id}/submissions/{submission_id}", 3),
    ("GET /api/v1/candidates/{id}/touchpoints", 3),
    // With the entry in the audit log.
    ("GET /api/v1/candidates/{id}/export", 8),
    ("GET /api/v1/channels", 2),
    ("GET /api/v1/channels/x/posts", 2),
    ("GET /api/v1/job_postings", 3),
    ("GET /api/v1/job_postings/{id}", 3),
    ("GET /api/v1/organization", 2),
    ("GET /api/v1/roles", 2),
    ("GET /api/v1/roles/{id}", 2),
    ("GET /api/v1/roles/{id}/stats", 2),
    ("GET /api/v1/voice_screens", 3),
    ("GET /api/v1/voice_screens/{id}", 3),
    ("PATCH /api/v1/candidates/{id}", 3),
    ("PATCH /api/v1/job_postings/{id}", 4),
    ("PATCH /api/v1/roles/{id}", 3),
    ("POST /api/v1/candidates", 3),
    ("POST /api/v1/candidates/{id}/advance", 3),
    ("POST /api/v1/candidates/{id}/applications", 3),
    ("POST /api/v1/candidates/{id}/consents", 3),
    ("POST /api/v1/candidates/{id}/erase", 3),
    ("POST /api/v1/candidates/{id}/hire", 3),
    ("POST /api/v1/candidates/{id}/invite_screen", 3),
    ("POST /api/v1/candidates/{id}/notes", 3),
    ("POST /api/v1/candidates/{id}/reject", 3),
    ("POST /api/v1/candidates/{id}/unhire", 3),
    ("POST /api/v1/candidates/{id}/unreject", 3),
    ("POST /api/v1/channels/x/post", 5),
    ("POST /api/v1/job_postings", 4),
    ("POST /api/v1/job_postings/{id}/publish", 4),
    ("POST /api/v1/job_postings/{id}/unpublish", 4),
    ("POST /api/v1/quick_post", 3),
    ("POST /api/v1/roles", 2),
    ("POST /api/v1/roles/{id}/pause", 3),
    ("POST /api/v1/roles/{id}/publish", 3),
    ("POST /api/v1/roles/{id}/reopen", 3),
    ("POST /api/v1/roles/{id}/resume", 3),
    ("POST /api/v1/voice_screens/{id}/cancel", 4),
    ("PUT /api/v1/candidates/{id}/legal_hold", 3),
    ("DELETE /api/v1/webhook_endpoints/{id}", 3),
    ("GET /api/v1/webhook_endpoints", 2),
    ("GET /api/v1/webhook_endpoints/{id}", 2),
    ("GET /api/v1/webhook_endpoints/{id}/deliveries", 3),
    ("PATCH /api/v1/webhook_endpoints/{id}", 3),
    ("POST /api/v1/webhook_endpoints", 4),
    ("POST /api/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver", 5),
    ("POST /api/v1/webhook_endpoints/{id}/ping", 4),
    ("POST /api/v1/webhook_endpoints/{id}/replay", 6),
    ("POST /api/v1/webhook_endpoints/{id}/rotate_secret", 3),
    ("$default", 0),
];

fn operations(calls: &[RecordedCall]) -> Vec<&str> {
    calls.iter().map(|call| call.operation.as_str()).collect()
}

/// Creates the fixtures through the API, with the role and the candidate in the state that a request to the route
/// needs.
async fn fixtures_for(api: &TestApi, key: &str) -> Fixtures {
    let fixtures = Fixtures::new(api).await;
    let step = async |step: String| {
        api.request(Method::POST, &format!("/api/v1/{step}")).send().await.expect(200);
    };
    let Fixtures { role, candidate, .. } = fixtures;
    match key {
        "POST /api/v1/roles/{id}/resume" => step(format!("roles/{role}/pause")).await,
        "POST /api/v1/roles/{id}/publish" => {
            api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
            step(format!("roles/{role}/reopen")).await;
        }
        "POST /api/v1/roles/{id}/reopen" => {
            api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
        }
        "POST /api/v1/job_postings/{id}/publish" => {
            step(format!("job_postings/{}/unpublish", fixtures.posting)).await;
        }
        "DELETE /api/v1/candidates/{id}/legal_hold" => {
            let hold = api.request(Method::PUT, &format!("/api/v1/candidates/{candidate}/legal_hold"));
            hold.json(&json!({ "reason": "x" })).send().await.expect(200);
        }
        "POST /api/v1/candidates/{id}/unhire" => step(format!("candidates/{candidate}/hire")).await,
        "POST /api/v1/candidates/{id}/unreject" => step(format!("candidates/{candidate}/reject")).await,
        _ => {}
    }
    fixtures
}

/// Returns a valid request body for the route.
fn body(key: &str, fixtures: &Fixtures, draft: u64, open: u64) -> Value {
    match key {
        "POST /api/v1/quick_post" => json!({ "role": { "title": format!("unique {open}") } }),
        "POST /api/v1/roles" => json!({ "title": "x" }),
        "POST /api/v1/roles/{id}/publish" => json!({ "job_posting": true }),
        "POST /api/v1/job_postings" => json!({ "role_id": draft }),
        "POST /api/v1/candidates" => json!({ "name": "x", "email": "x@example.com", "role_id": open }),
        "POST /api/v1/candidates/{id}/advance" => json!({ "stage": "offer" }),
        "POST /api/v1/candidates/{id}/applications" | "POST /api/v1/candidates/{id}/invite_screen" => {
            json!({ "role_id": open })
        }
        "POST /api/v1/candidates/{id}/consents" => {
            json!({ "purpose": "recording", "granted": true, "obtained_at": "2026-11-20T09:00:00Z", "wording": "x" })
        }
        "POST /api/v1/candidates/{id}/notes" => json!({ "text": "x" }),
        "PUT /api/v1/candidates/{id}/legal_hold" => json!({ "reason": "x" }),
        "POST /api/v1/channels/x/post" => json!({ "job_posting_id": fixtures.posting }),
        "PATCH /api/v1/webhook_endpoints/{id}" => json!({ "hmac": false }),
        "POST /api/v1/webhook_endpoints" => json!({ "url": "https://hooks.example.com/new" }),
        "POST /api/v1/webhook_endpoints/{id}/replay" => json!({ "after": 0 }),
        "PATCH /api/v1/candidates/{id}" => json!({ "name": "other" }),
        _ if key.starts_with("PATCH") => json!({ "title": "other" }),
        _ => json!({}),
    }
}

#[tokio::test]
async fn every_route_stays_within_its_call_budget() {
    let api = TestApi::new().await;
    let mut rows: Vec<_> = tables()
        .into_iter()
        .flat_map(Tables::rows)
        .filter(|route| match route.access() {
            Access::Scopes(_) => true,
            Access::Public => route.key == "$default",
            Access::Credential | Access::Signed | Access::Member(_) => false,
        })
        .map(|route| route.key)
        .collect();
    rows.sort_unstable();
    let mut budgeted: Vec<_> = BUDGET.iter().map(|(key, _)| *key).collect();
    budgeted.sort_unstable();
    assert_eq!(rows, budgeted, "every route has a budget: change BUDGET in tests/api/budget.rs");
    for (second, (key, calls)) in BUDGET.iter().enumerate() {
        // A new id could equal an earlier one of the same time, and its transaction would then be repeated.
        api.clock.set(&format!("2026-11-20T09:30:{second:02}Z"));
        let fixtures = fixtures_for(&api, key).await;
        let draft = api.post("/api/v1/roles", json!({ "title": "fresh" })).await.number("/id");
        let open = json!({ "role": { "title": "open" } });
        let open = api.post("/api/v1/quick_post", open).await.number("/role/id");
        let (method, path) = key.split_once(' ').unwrap_or(("GET", "/nowhere"));
        let body = body(key, &fixtures, draft, open);
        api.dynamodb.take_calls();
        let request = api.request(method.parse().unwrap(), &fixtures.path(path));
        let response = request
            .header("idempotency-key", &format!("budget-{key}").replace(' ', "-"))
            .json(&body)
            .send()
            .await;
        let calls_made = api.dynamodb.take_calls();
        if *key == "$default" {
            assert_eq!((response.status, calls_made.len()), (404, 0));
            continue;
        }
        assert!(response.status < 300, "{key}: {}", response.text);
        assert_eq!(operations(&calls_made)[0], "UpdateItem", "{key}: the gate is the first call");
        let gate = calls_made.iter().filter(|call| call.operation == "UpdateItem").count();
        assert_eq!(gate, 1, "{key}: one call checks authentication, quota and plan");
        assert_eq!(calls_made.len(), *calls, "{key}: {:?}", operations(&calls_made));
        assert!(
            calls_made
                .iter()
                .all(|call| call.operation != "Scan" && call.request.get("FilterExpression").is_none())
        );
    }
}

#[tokio::test]
async fn postings_with_their_own_title_and_description_are_shown_without_their_roles() {
    let api = TestApi::new().await;
    let own = json!({ "title": "Own", "public_description": "Own" });
    let body = json!({ "role": { "title": "x" }, "job_posting": own });
    let id = api.post("/api/v1/quick_post", body).await.expect(201).number("/job_posting/id");
    for path in [format!("/api/v1/job_postings/{id}"), "/api/v1/job_postings".to_owned()] {
        api.dynamodb.take_calls();
        api.get(&path).await.expect(200);
        assert_eq!(api.dynamodb.take_calls().len(), 2, "{path}");
    }
}

#[tokio::test]
async fn a_quick_post_with_a_taken_slug_costs_no_extra_call() {
    let api = TestApi::new().await;
    for _ in 0..30 {
        api.dynamodb.take_calls();
        api.post("/api/v1/quick_post", json!({ "role": { "title": "Engineer" } })).await.expect(201);
        assert_eq!(api.dynamodb.take_calls().len(), 3);
    }
}

#[tokio::test]
async fn a_rejected_request_costs_only_the_gate_call() {
    let api = TestApi::new().await;
    for (request, status) in [
        (api.request(Method::POST, "/api/v1/roles").json(&json!({})), 422),
        (api.request(Method::POST, "/api/v1/roles").body("text/plain", "x"), 415),
        (api.request(Method::GET, "/api/v1/roles/x"), 404),
        (api.request(Method::GET, "/api/v1/roles?limit=0"), 422),
    ] {
        api.dynamodb.take_calls();
        request.send().await.expect(status);
        assert_eq!(operations(&api.dynamodb.take_calls()), ["UpdateItem"]);
    }
}

/// Returns the capacity units and the number of queries of a page, and the page.
async fn cost(api: &TestApi, path: &str) -> (f64, usize, Value) {
    api.dynamodb.take_calls();
    let page = api.get(path).await.expect(200);
    let queries: Vec<_> =
        api.dynamodb.take_calls().into_iter().filter(|call| call.operation == "Query").collect();
    let read: u64 = queries.iter().filter_map(|call| call.response["ScannedCount"].as_u64()).sum();
    let returned = page.body["data"].as_array().map_or(0, Vec::len);
    assert_eq!(usize::try_from(read).unwrap(), returned, "{path}: every item that is read is returned");
    (queries.iter().map(RecordedCall::units).sum(), queries.len(), page.body)
}

/// How many thousands of items the tests of pages store.
pub(crate) fn pages_scale() -> u64 {
    std::env::var("PAGES_SCALE").map_or(1, |scale| scale.parse().expect("a number"))
}

#[tokio::test]
async fn every_page_costs_the_same_with_ten_and_a_thousand_roles() {
    let api = TestApi::new().await;
    let roles = async |from: u64, to: u64| {
        let role = |number: u64| {
            let title = Text::parse(&format!("Role {number:05}")).unwrap().unwrap();
            let mut content = RoleContent::titled(title);
            content.description = Text::parse(&"d".repeat(300)).unwrap();
            let id = shared::id::Id::new(1_000_000_000_000_000 + number).unwrap();
            let draft = Role::draft(id, content, api.environment.clock.now());
            if number.is_multiple_of(2) { draft.publish(api.environment.clock.now()).unwrap() } else { draft }
        };
        api.write_roles(&(from..to).map(role).collect::<Vec<_>>()).await;
    };
    let count = 1_000 * pages_scale();
    roles(0, 10).await;
    let small = cost(&api, "/api/v1/roles?limit=5").await;
    let small_filtered = cost(&api, "/api/v1/roles?limit=5&status=open").await;
    roles(10, count).await;
    let large = cost(&api, "/api/v1/roles?limit=5").await;
    assert_eq!((small.0, small.1), (large.0, large.1));
    let large_filtered = cost(&api, "/api/v1/roles?limit=5&status=open").await;
    assert_eq!((small_filtered.0, small_filtered.1), (large_filtered.0, large_filtered.1));

    for (list, expected) in
        [("/api/v1/roles?limit=100", count), ("/api/v1/roles?limit=100&status=open", count / 2)]
    {
        let mut path = list.to_owned();
        let mut costs = Vec::new();
        let mut seen = 0;
        loop {
            let (units, queries, page) = cost(&api, &path).await;
            let returned = page["data"].as_array().map_or(0, Vec::len);
            seen += returned;
            if returned > 0 {
                assert_eq!((returned, queries), (100, 1));
                costs.push(units);
            }
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("{list}&cursor={cursor}");
        }
        assert_eq!(seen as u64, expected);
        assert!(
            costs.iter().all(|units| (units - costs[0]).abs() <= 0.5),
            "first {} last {:?}",
            costs[0],
            costs.last()
        );
    }
}
