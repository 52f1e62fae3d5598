//! The history of a candidate: details with part of it, the list of touchpoints, and entity tags.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use tests::interceptor::RecordedCall;
use tests::{Fixtures, Response, TestApi};

/// Creates a candidate with an application, a voice screen and this number of further touchpoints. Returns the path.
async fn candidate_with_history(api: &TestApi, count: usize) -> String {
    let candidate = Fixtures::new(api).await.candidate;
    let path = format!("/api/v1/candidates/{candidate}");
    for number in 0..count {
        rename(api, &path, &format!("Jane {number}")).await.expect(200);
    }
    path
}

async fn rename(api: &TestApi, path: &str, name: &str) -> Response {
    api.patch(path, json!({ "name": name })).await
}

fn ids(touchpoints: &Value) -> Vec<u64> {
    touchpoints.as_array().unwrap().iter().map(|touchpoint| touchpoint["id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_detail_contains_the_whole_history_or_its_newest_part() {
    let api = TestApi::new().await;
    let path = candidate_with_history(&api, 110).await;
    let whole = api.get(&path).await.expect(200);
    let all = ids(&whole.body["touchpoints"]);
    assert_eq!(all.len(), 116);
    for count in [0, 1, 2, 25, 100] {
        let part = api.get(&format!("{path}?touchpoints={count}")).await.expect(200);
        assert_eq!(ids(&part.body["touchpoints"]), all[..count]);
        let without_history = |detail: &Response| {
            let mut detail = detail.body.clone();
            detail["touchpoints"] = Value::Null;
            detail
        };
        assert_eq!(without_history(&part), without_history(&whole));
        assert_eq!(part.body["voice_screens"].as_array().unwrap().len(), 1);
    }
    let short = candidate_with_history(&api, 0).await;
    let part = api.get(&format!("{short}?touchpoints=100")).await.expect(200);
    assert_eq!(part.body, api.get(&short).await.expect(200).body, "there are fewer touchpoints");
}

#[tokio::test]
async fn the_number_of_touchpoints_is_from_0_to_100() {
    let api = TestApi::new().await;
    let path = candidate_with_history(&api, 0).await;
    for invalid in ["101", "-1", "+1", "1.0", "x", "99999999999999999999"] {
        let response = api.get(&format!("{path}?touchpoints={invalid}")).await.expect(422);
        assert_eq!(response.messages(), ["touchpoints must be a whole number from 0 to 100"], "{invalid}");
        api.get(&format!("/api/v1/candidates/17?touchpoints={invalid}")).await.expect(404);
    }
    let repeated = api.get(&format!("{path}?touchpoints=1&touchpoints=2&limit=3")).await.expect(422);
    assert!(repeated.messages().contains(&"limit is not a known query parameter"));
}

#[tokio::test]
async fn a_detail_reads_only_what_it_contains() {
    let api = TestApi::new().await;
    let path = candidate_with_history(&api, 30).await;
    for (query, calls, items) in [
        // The first six touchpoints have four items: two of them were written with others.
        ("", 3, 1 + 1 + 34),
        ("?touchpoints=0", 3, 1 + 1),
        ("?touchpoints=1", 4, 1 + 1 + 1),
        ("?touchpoints=20", 4, 1 + 1 + 20),
        ("?touchpoints=100", 4, 1 + 1 + 34),
    ] {
        api.dynamodb.take_calls();
        api.get(&format!("{path}{query}")).await.expect(200);
        let made = api.dynamodb.take_calls();
        let read: u64 = made.iter().filter_map(|call| call.response["ScannedCount"].as_u64()).sum();
        assert_eq!((made.len(), read), (calls, items), "{query}");
    }
}

#[tokio::test]
async fn the_list_of_touchpoints_contains_the_whole_history() {
    let api = TestApi::new().await;
    let path = candidate_with_history(&api, 30).await;
    let all = api.get(&path).await.expect(200).body["touchpoints"].clone();
    let mut listed = Vec::new();
    let mut query = "?limit=10".to_owned();
    for (expected, items_read) in [(10, 10), (10, 10), (10, 10), (6, 4)] {
        api.dynamodb.take_calls();
        let page = api.get(&format!("{path}/touchpoints{query}")).await.expect(200);
        let items = page.body["data"].as_array().unwrap().clone();
        assert_eq!(items.len(), expected);
        let calls = api.dynamodb.take_calls();
        let history = |call: &&RecordedCall| call.request.to_string().contains("HISTORY#");
        let read = calls.iter().find(history).and_then(|call| call.response["ScannedCount"].as_u64());
        assert_eq!((calls.len(), read), (3, Some(items_read)));
        listed.extend(items);
        query = format!("?limit=10&cursor={}", page.body["next_cursor"].as_str().unwrap_or_default());
    }
    assert_eq!(Value::from(listed), all);
    assert!(query.ends_with("cursor="), "the last page has no cursor");
    let default = api.get(&format!("{path}/touchpoints")).await.expect(200);
    assert_eq!(default.body["data"], all);
    let first = api.get(&format!("{path}/touchpoints?limit=25")).await.expect(200);
    let cursor = first.string("/next_cursor");
    let link = format!("{}{path}/touchpoints?limit=25&cursor={cursor}", tests::BASE_URL);
    assert_eq!(first.header("link"), format!("<{link}>; rel=\"next\""));
    let other = candidate_with_history(&api, 0).await;
    api.get(&format!("{other}/touchpoints?cursor={cursor}")).await.expect(400);
    api.get(&format!("{path}/notes?cursor={cursor}")).await.expect(400);
    api.get("/api/v1/candidates/17/touchpoints?limit=0").await.expect(404);
    let invalid = api.get(&format!("{path}/touchpoints?limit=0&kind=updated")).await.expect(422);
    assert_eq!(
        invalid.messages(),
        ["limit must be a whole number from 1 to 100", "kind is not a known query parameter"]
    );
}

/// A version of the record with several touchpoints may be on two pages or more.
#[tokio::test]
async fn pages_of_every_size_contain_the_whole_history() {
    let api = TestApi::new().await;
    let path = candidate_with_history(&api, 2).await;
    let roles =
        ["One", "Two", "Three"].map(|title| json!({ "role": { "title": title, "description": "A job." } }));
    for role in roles {
        let role = api.post("/api/v1/quick_post", role).await.expect(201).number("/role/id");
        api.post(&format!("{path}/applications"), json!({ "role_id": role })).await.expect(201);
    }
    // All four applications are rejected by one change.
    api.post(&format!("{path}/reject"), json!({ "reason": "x" })).await.expect(200);
    rename(&api, &path, "Last").await.expect(200);
    let all = api.get(&path).await.expect(200).body["touchpoints"].clone();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 16);
    for limit in 1..=17 {
        let (mut listed, mut query) = (Vec::new(), format!("?limit={limit}"));
        loop {
            let page = api.get(&format!("{path}/touchpoints{query}")).await.expect(200);
            let items = page.body["data"].as_array().unwrap();
            listed.extend(items.iter().cloned());
            let Some(cursor) = page.body["next_cursor"].as_str() else { break };
            assert_eq!(items.len(), limit, "every page but the last one is full");
            query = format!("?limit={limit}&cursor={cursor}");
        }
        assert_eq!(&listed, all, "{limit}");
        let newest = api.get(&format!("{path}?touchpoints={limit}")).await.expect(200);
        assert_eq!(newest.body["touchpoints"].as_array().unwrap()[..], all[..limit.min(16)], "{limit}");
    }
}

#[tokio::test]
async fn a_patch_accepts_the_etag_of_a_detail_with_any_number_of_touchpoints() {
    let api = TestApi::new().await;
    let path = candidate_with_history(&api, 3).await;
    let tag = async |query: &str| {
        let detail = api.get(&format!("{path}{query}")).await.expect(200);
        detail.header("etag").to_owned()
    };
    let patch = async |tag: &str, name: &str| {
        let request = api.request(Method::PATCH, &path).header("if-match", tag);
        request.json(&json!({ "name": name })).send().await
    };
    for (number, query) in
        ["", "?touchpoints=0", "?touchpoints=1", "?touchpoints=2", "?touchpoints=100"].iter().enumerate()
    {
        let current = tag(query).await;
        patch(&current, &format!("a{number}")).await.expect(200);
        patch(&current, "b").await.expect(412);
    }
    let (with_history, without_history) = (tag("?touchpoints=2").await, tag("?touchpoints=0").await);
    api.post(&format!("{path}/notes"), json!({ "text": "x" })).await.expect(201);
    patch(&with_history, "c").await.expect(412);
    patch(&without_history, "c").await.expect(200);
}

#[tokio::test]
async fn a_patch_with_the_etag_of_a_detail_does_not_read_the_history() {
    let api = TestApi::new().await;
    let path = candidate_with_history(&api, 30).await;
    let tag = api.get(&path).await.expect(200).header("etag").to_owned();
    api.dynamodb.take_calls();
    let request = api.request(Method::PATCH, &path).header("if-match", &tag);
    request.json(&json!({ "name": "x" })).send().await.expect(200);
    let calls = api.dynamodb.take_calls();
    let read: u64 = calls.iter().filter_map(|call| call.response["ScannedCount"].as_u64()).sum();
    assert_eq!(read, 4, "the record, again with the screen, and one touchpoint");
}

/// A touchpoint that is written between the two queries of a detail belongs to a later version of the record.
#[tokio::test]
async fn a_detail_does_not_mix_versions_of_a_candidate() {
    let api = Arc::new(TestApi::new().await);
    let path = candidate_with_history(&api, 0).await;
    let before = api.get(&format!("{path}?touchpoints=3")).await.expect(200);
    let (dynamodb, shared_api, shared_path) = (api.dynamodb.clone(), api.clone(), path.clone());
    api.dynamodb.run_before("Query", async move {
        dynamodb.run_before("Query", async move {
            rename(&shared_api, &shared_path, "Joan").await.expect(200);
        });
    });
    assert_eq!(api.get(&format!("{path}?touchpoints=3")).await.expect(200).body, before.body);
    let after = api.get(&format!("{path}?touchpoints=3")).await.expect(200);
    assert_eq!((after.string("/name"), after.string("/touchpoints/0/kind")), ("Joan", "updated"));
}
