//! Quick post: one request creates both the role and the posting, or neither.

use serde_json::{Value, json};
use tests::{ACME, BASE_URL, GLOBEX, TestApi};

#[tokio::test]
async fn one_request_creates_and_publishes_the_role_and_the_posting() {
    let api = TestApi::new().await;
    let posted = api
        .post("/api/v1/quick_post", json!({ "role": { "title": "Senior Rust Engineer", "department": "Platform", "description": "Build." } }))
        .await
        .expect(201);
    assert_eq!(posted.string("/role/status"), "open");
    assert_eq!(posted.string("/role/department"), "Platform");
    assert_eq!(posted.body["job_posting"]["published"], true);
    assert_eq!(posted.string("/job_posting/title"), "Senior Rust Engineer");
    assert_eq!(posted.string("/job_posting/public_description"), "Build.");
    let url = format!("{BASE_URL}/careers/acme/senior-rust-engineer");
    assert_eq!(posted.string("/job_posting/public_url"), url);
    assert_eq!(posted.string("/career_portal_url"), format!("{BASE_URL}/careers/acme"));
    assert_eq!(posted.header("etag"), "", "the response contains two resources with different entity tags");
    assert_eq!(posted.header("location"), format!("{BASE_URL}/api/v1/roles/{}", posted.number("/role/id")));
    for (path, resource) in [("roles", "role"), ("job_postings", "job_posting")] {
        let actual = api
            .get(&format!("/api/v1/{path}/{}", posted.number(&format!("/{resource}/id"))))
            .await
            .expect(200);
        assert_eq!(actual.body, posted.body[resource]);
    }
}

#[tokio::test]
async fn publish_false_creates_drafts() {
    let api = TestApi::new().await;
    let posted = api
        .post("/api/v1/quick_post", json!({ "role": { "title": "x" }, "publish": false }))
        .await
        .expect(201);
    assert_eq!(
        (posted.string("/role/status"), &posted.body["job_posting"]["published"]),
        ("draft", &Value::Bool(false))
    );
}

#[tokio::test]
async fn the_posting_may_have_its_own_title_and_description() {
    let api = TestApi::new().await;
    let posting =
        json!({ "title": "Come and build", "public_description": "Public", "requirements": "Rust" });
    let body = json!({ "role": { "title": "Engineer", "description": "Internal" }, "job_posting": posting });
    let posted = api.post("/api/v1/quick_post", body).await.expect(201);
    assert_eq!(posted.string("/role/title"), "Engineer");
    assert_eq!(posted.string("/role/description"), "Internal");
    assert_eq!(posted.string("/job_posting/title"), "Come and build");
    assert_eq!(posted.string("/job_posting/slug"), "come-and-build");
    assert_eq!(posted.string("/job_posting/public_description"), "Public");
    assert_eq!(posted.string("/job_posting/requirements"), "Rust");
}

#[tokio::test]
async fn a_posting_without_its_own_title_follows_the_role_on_the_career_page() {
    let api = TestApi::new().await;
    let role = json!({ "title": "Engineer", "description": "Build." });
    let posted = api.post("/api/v1/quick_post", json!({ "role": role })).await.expect(201);
    let change = json!({ "title": "Rust engineer", "description": "Build with Rust." });
    api.patch(&format!("/api/v1/roles/{}", posted.number("/role/id")), change).await.expect(200);
    let posting = api.get(&format!("/api/v1/job_postings/{}", posted.number("/job_posting/id"))).await;
    assert_eq!(posting.string("/title"), "Rust engineer");
    assert_eq!(posting.string("/public_description"), "Build with Rust.");
    let url = posting.string("/public_url");
    assert_eq!(url, posted.string("/job_posting/public_url"), "the slug does not change");
    let path = url.strip_prefix(BASE_URL).unwrap();
    for page in ["/careers/acme", "/careers/acme/jobs.json", path] {
        let page = api.request(http::Method::GET, page).anonymous().send().await.expect(200);
        assert!(page.text.contains("Rust engineer"), "{}", page.text);
    }
}

#[tokio::test]
async fn validation_errors_have_the_path_of_the_field() {
    let api = TestApi::new().await;
    for (body, messages) in [
        (json!({}), vec!["role.title can't be blank"]),
        (json!({ "role": null }), vec!["role.title can't be blank"]),
        (json!({ "role": "x" }), vec!["role must be an object"]),
        (
            json!({ "role": { "salary_min": "1", "x": 1 }, "job_posting": { "title": 1 }, "publish": "yes", "y": 1 }),
            vec![
                "role.title can't be blank",
                "role.salary_min must be a whole number from 0 to 100000000",
                "role.x is not a known field",
                "job_posting.title must be a string",
                "publish must be true or false",
                "y is not a known field",
            ],
        ),
        (
            json!({ "role": { "title": "x", "salary_min": 2, "salary_max": 1 } }),
            vec!["role.salary_min must be at most salary_max"],
        ),
    ] {
        assert_eq!(api.post("/api/v1/quick_post", body).await.expect(422).messages(), messages);
    }
    assert_eq!(api.get("/api/v1/roles").await.body["data"], json!([]), "nothing was written");
}

#[tokio::test]
async fn tenants_may_use_the_same_slug() {
    let api = TestApi::new().await;
    for (demo, slug) in [(ACME, "acme"), (GLOBEX, "globex")] {
        for (mode, portal) in [
            (shared::model::Mode::Live, slug.to_owned()),
            (shared::model::Mode::Test, format!("{slug}-test")),
        ] {
            let request = api.request(http::Method::POST, "/api/v1/quick_post").key(demo, mode);
            let posted = request.json(&json!({ "role": { "title": "Engineer" } })).send().await.expect(201);
            assert_eq!(
                posted.string("/job_posting/public_url"),
                format!("{BASE_URL}/careers/{portal}/engineer")
            );
        }
    }
}

#[tokio::test]
async fn the_largest_valid_request_fits_into_a_transaction() {
    let api = TestApi::new().await;
    let long = "🦀".repeat(20_000);
    let body = json!({ "role": { "title": "🦀".repeat(200), "description": long }, "job_posting": { "requirements": long } });
    let request =
        api.request(http::Method::POST, "/api/v1/quick_post").header("idempotency-key", "large").json(&body);
    let posted = request.send().await.expect(201);
    assert_eq!(posted.body["job_posting"]["public_description"], body["role"]["description"]);
}
