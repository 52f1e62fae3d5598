//! Two at once: no update is lost, no state is skipped.

use futures_util::future::{join, join_all};
use http::Method;
use serde_json::json;
use tests::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_publishes_at_once_publish_once() {
    let world = World::new().await;
    for _ in 0..20 {
        let id = world.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
        let path = format!("/api/v1/roles/{id}/publish");
        let publish = || world.request(Method::POST, &path).send();
        let (one, two) = join(publish(), publish()).await;
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 422]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn patches_at_once_all_take_effect() {
    let world = World::new().await;
    let id = world.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let path = format!("/api/v1/roles/{id}");
    let changes = [
        json!({ "title": "t" }),
        json!({ "department": "d" }),
        json!({ "description": "e" }),
        json!({ "location": "l" }),
        json!({ "remote_policy": "hybrid" }),
        json!({ "salary_max": 9 }),
    ];
    let answers = join_all(changes.iter().map(|change| world.patch(&path, change.clone()))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    let role = world.get(&path).await.body;
    for change in &changes {
        for (field, value) in change.as_object().unwrap() {
            assert_eq!(&role[field], value);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_patches_with_one_etag_one_wins() {
    let world = World::new().await;
    let id = world.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let path = format!("/api/v1/roles/{id}");
    let etag = world.get(&path).await.header("etag").to_owned();
    let bodies: Vec<_> = (0..10).map(|n| json!({ "title": format!("t{n}") })).collect();
    let patch = |body| world.request(Method::PATCH, &path).header("if-match", &etag).json(body).send();
    let answers = join_all(bodies.iter().map(patch)).await;
    let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200], vec![412; 9]].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_role_gets_one_posting_however_many_ask_at_once() {
    let world = World::new().await;
    let id = world.post("/api/v1/roles", json!({ "title": "x" })).await.number("/id");
    let answers =
        join_all((0..10).map(|_| world.post("/api/v1/job_postings", json!({ "role_id": id })))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.status == 422).count(), 9);
    assert_eq!(world.get("/api/v1/job_postings").await.body["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn quick_posts_of_one_title_at_once_get_a_slug_each() {
    let world = World::new().await;
    let body = json!({ "role": { "title": "Engineer" } });
    let answers = join_all((0..12).map(|_| world.post("/api/v1/quick_post", body.clone()))).await;
    let mut slugs: Vec<_> =
        answers.iter().map(|answer| answer.string("/job_posting/slug").to_owned()).collect();
    slugs.sort_unstable();
    slugs.dedup();
    assert_eq!(slugs.len(), 12, "{slugs:?}");
}

/// A posting must never be live while its role is closed, whichever of the two comes first.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closing_and_publishing_at_once_leave_no_live_posting() {
    let world = World::new().await;
    for _ in 0..20 {
        let body = json!({ "role": { "title": "x" }, "publish": false });
        let posted = world.post("/api/v1/quick_post", body).await.expect(201);
        let role = format!("/api/v1/roles/{}", posted.number("/role/id"));
        let posting = format!("/api/v1/job_postings/{}", posted.number("/job_posting/id"));
        let publish = format!("{posting}/publish");
        let (closed, _) = join(world.delete(&role), world.request(Method::POST, &publish).send()).await;
        closed.expect(200);
        assert_eq!(world.get(&posting).await.body["published"], false);
    }
}
