//! Concurrent requests: no update is lost and no state is skipped.

use futures_util::future::{join, join_all};
use http::Method;
use serde_json::json;
use tests::TestApi;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_two_concurrent_publishes_succeeds() {
    let api = TestApi::new().await;
    for _ in 0..20 {
        let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
        let path = format!("/api/v1/roles/{id}/publish");
        let publish = || api.request(Method::POST, &path).send();
        let (one, two) = join(publish(), publish()).await;
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 422]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_patches_of_different_fields_all_take_effect() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let path = format!("/api/v1/roles/{id}");
    let changes = [
        json!({ "title": "t" }),
        json!({ "department": "d" }),
        json!({ "description": "e" }),
        json!({ "location": "l" }),
        json!({ "remote_policy": "hybrid" }),
        json!({ "salary_max": 9 }),
    ];
    let responses = join_all(changes.iter().map(|change| api.patch(&path, change.clone()))).await;
    assert!(responses.iter().all(|response| response.status == 200));
    let role = api.get(&path).await.body;
    for change in &changes {
        for (field, value) in change.as_object().unwrap() {
            assert_eq!(&role[field], value);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_one_of_ten_concurrent_patches_with_the_same_etag_succeeds() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let path = format!("/api/v1/roles/{id}");
    let etag = api.get(&path).await.header("etag").to_owned();
    let bodies: Vec<_> = (0..10).map(|n| json!({ "title": format!("t{n}") })).collect();
    let patch = |body| api.request(Method::PATCH, &path).header("if-match", &etag).json(body).send();
    let responses = join_all(bodies.iter().map(patch)).await;
    let mut statuses: Vec<_> = responses.iter().map(|response| response.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200], vec![412; 9]].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_requests_create_only_one_posting_for_a_role() {
    let api = TestApi::new().await;
    let id = api.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let responses =
        join_all((0..10).map(|_| api.post("/api/v1/job_postings", json!({ "role_id": id })))).await;
    assert_eq!(responses.iter().filter(|response| response.status == 201).count(), 1);
    assert_eq!(responses.iter().filter(|response| response.status == 422).count(), 9);
    assert_eq!(api.get("/api/v1/job_postings").await.body["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_quick_posts_with_the_same_title_get_different_slugs() {
    let api = TestApi::new().await;
    let body = json!({ "role": { "title": "Engineer" } });
    let responses = join_all((0..12).map(|_| api.post("/api/v1/quick_post", body.clone()))).await;
    let mut slugs: Vec<_> =
        responses.iter().map(|response| response.string("/job_posting/slug").to_owned()).collect();
    slugs.sort_unstable();
    slugs.dedup();
    assert_eq!(slugs.len(), 12, "{slugs:?}");
}

/// A posting must never be live while its role is closed, regardless of which request comes first.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closing_and_publishing_concurrently_leaves_no_live_posting() {
    let api = TestApi::new().await;
    for _ in 0..20 {
        let body = json!({ "role": { "title": "x" }, "publish": false });
        let posted = api.post("/api/v1/quick_post", body).await.expect(201);
        let role = format!("/api/v1/roles/{}", posted.number("/role/id"));
        let posting = format!("/api/v1/job_postings/{}", posted.number("/job_posting/id"));
        let publish = format!("{posting}/publish");
        let (closed, _) = join(api.delete(&role), api.request(Method::POST, &publish).send()).await;
        closed.expect(200);
        assert_eq!(api.get(&posting).await.body["published"], false);
    }
}
