//! The cost of lists and of unusual requests. `tests/outcomes.json` has the calls of a usual request to each route.

use http::Method;
use serde_json::{Value, json};
use shared::model::{Role, RoleContent, Text};
use tests::TestApi;
use tests::interceptor::RecordedCall;

fn operations(calls: &[RecordedCall]) -> Vec<&str> {
    calls.iter().map(|call| call.operation.as_str()).collect()
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
