//! Job postings: one per role, slugs, publishing.

use http::Method;
use serde_json::{Value, json};
use tests::{BASE_URL, TestApi};

async fn role(api: &TestApi, body: Value) -> u64 {
    api.post("/api/v1/roles", body).await.expect(201).number("/id")
}

async fn posting(api: &TestApi, role_id: u64) -> u64 {
    api.post("/api/v1/job_postings", json!({ "role_id": role_id })).await.expect(201).number("/id")
}

#[tokio::test]
async fn a_posting_shows_its_roles_title_and_description_if_it_has_none() {
    let api = TestApi::new().await;
    let role_id = role(&api, json!({ "title": "Data Engineer", "description": "For the role" })).await;
    let created = api
        .post("/api/v1/job_postings", json!({ "role_id": role_id, "job_posting": { "requirements": "SQL" } }))
        .await
        .expect(201);
    let id = created.number("/id");
    let url = format!("{BASE_URL}/careers/acme/data-engineer");
    let expected = json!({
        "id": id, "role_id": role_id, "title": "Data Engineer", "slug": "data-engineer", "published": false,
        "public_url": url, "public_description": "For the role", "requirements": "SQL", "questions": [],
        "created_at": "2026-11-20T09:30:00.000Z", "updated_at": "2026-11-20T09:30:00.000Z"
    });
    assert_eq!(created.body, expected);
    assert_eq!(created.header("location"), format!("{BASE_URL}/api/v1/job_postings/{id}"));
    assert_eq!(api.get(&format!("/api/v1/job_postings/{id}")).await.expect(200).body, expected);
    let role = api.get(&format!("/api/v1/roles/{role_id}")).await.expect(200);
    assert_eq!((role.number("/job_posting_id"), role.string("/job_posting_url")), (id, url.as_str()));
}

#[tokio::test]
async fn missing_fields_follow_the_role_until_they_are_given() {
    let api = TestApi::new().await;
    let role_id = role(&api, json!({ "title": "Cook", "description": "Soup" })).await;
    let id = posting(&api, role_id).await;
    let (role, posting) = (format!("/api/v1/roles/{role_id}"), format!("/api/v1/job_postings/{id}"));
    for (path, change, title, description) in [
        (&role, json!({ "title": "Chef" }), "Chef", Some("Soup")),
        (&role, json!({ "description": "Stew" }), "Chef", Some("Stew")),
        (&posting, json!({ "title": "Head chef" }), "Head chef", Some("Stew")),
        (&role, json!({ "title": "Baker", "description": null }), "Head chef", None),
        (&posting, json!({ "public_description": "Bread" }), "Head chef", Some("Bread")),
        (&role, json!({ "description": "Cake" }), "Head chef", Some("Bread")),
        (&posting, json!({ "title": "", "requirements": "hands" }), "Baker", Some("Bread")),
        (&posting, json!({ "public_description": null }), "Baker", Some("Cake")),
        (&posting, json!({ "title": "Baker" }), "Baker", Some("Cake")),
        (&role, json!({ "title": "Miller" }), "Baker", Some("Cake")),
        (&posting, json!({ "title": null }), "Miller", Some("Cake")),
    ] {
        let patched = api.patch(path, change.clone()).await.expect(200);
        let shown = api.get(&posting).await.expect(200);
        assert_eq!((shown.string("/title"), shown.body["public_description"].as_str()), (title, description));
        assert_eq!(shown.string("/slug"), "cook", "{change}");
        if *path == posting {
            assert_eq!((&patched.body, patched.header("etag")), (&shown.body, shown.header("etag")));
        }
        assert_eq!(api.get("/api/v1/job_postings").await.body["data"], json!([shown.body]), "{change}");
    }
    for step in ["publish", "unpublish"] {
        let changed = api.post(&format!("{posting}/{step}"), json!({})).await.expect(200);
        assert_eq!(changed.body, api.get(&posting).await.body, "{step}");
    }
}

#[tokio::test]
async fn an_entity_tag_covers_what_the_posting_takes_from_its_role() {
    let api = TestApi::new().await;
    let role_id = role(&api, json!({ "title": "Cook" })).await;
    let path = format!("/api/v1/job_postings/{}", posting(&api, role_id).await);
    let role = format!("/api/v1/roles/{role_id}");
    let patch = |tag: String, body: Value| {
        api.request(Method::PATCH, &path).header("if-match", &tag).json(&body).send()
    };
    let tag = api.get(&path).await.header("etag").to_owned();
    api.patch(&role, json!({ "title": "Chef" })).await.expect(200);
    let requirements = json!({ "requirements": "hands" });
    let lost = patch(tag, requirements.clone()).await.expect(412);
    assert_eq!(lost.string("/code"), "precondition_failed");

    // A role's other fields are not part of the posting.
    let tag = api.get(&path).await.header("etag").to_owned();
    api.patch(&role, json!({ "location": "Oslo" })).await.expect(200);
    let own = json!({ "title": "Own", "public_description": "Own" });
    let tag = patch(tag, own).await.expect(200).header("etag").to_owned();
    api.patch(&role, json!({ "title": "Baker", "description": "Bread" })).await.expect(200);
    patch(tag, requirements).await.expect(200);
}

#[tokio::test]
async fn a_role_has_at_most_one_posting() {
    let api = TestApi::new().await;
    let role_id = role(&api, json!({ "title": "x" })).await;
    posting(&api, role_id).await;
    let again = api.post("/api/v1/job_postings", json!({ "role_id": role_id })).await.expect(422);
    assert_eq!(again.messages(), ["role_id already has a job posting"]);
    for (body, message) in [
        (json!({}), "role_id can't be blank"),
        (json!({ "role_id": 17 }), "role_id must be the id of a role"),
        (json!({ "role_id": "17" }), "role_id must be a whole number from 1 to 9007199254740991"),
        (json!({ "role_id": 0 }), "role_id must be a whole number from 1 to 9007199254740991"),
        (json!({ "role_id": 1.5 }), "role_id must be a whole number from 1 to 9007199254740991"),
        (json!({ "role_id": role_id, "job_posting": [] }), "job_posting must be an object"),
        (
            json!({ "role_id": role_id, "job_posting": { "slug": "x" } }),
            "job_posting.slug is not a known field",
        ),
        (json!({ "role_id": role_id, "title": "x" }), "title is not a known field"),
    ] {
        assert_eq!(api.post("/api/v1/job_postings", body).await.expect(422).messages(), [message]);
    }
}

#[tokio::test]
async fn duplicate_slugs_are_numbered_and_slugs_never_change() {
    let api = TestApi::new().await;
    let mut slugs = Vec::new();
    for title in ["Engineer", "Engineer", "Engineer 3", "Engineer", "engineer!", "!!!", "¿?"] {
        let role_id = role(&api, json!({ "title": title })).await;
        let created = api.post("/api/v1/job_postings", json!({ "role_id": role_id })).await.expect(201);
        slugs.push(created.string("/slug").to_owned());
    }
    assert_eq!(slugs, ["engineer", "engineer-2", "engineer-3", "engineer-4", "engineer-5", "job", "job-2"]);

    let role_id = role(&api, json!({ "title": "Cook" })).await;
    let id = posting(&api, role_id).await;
    let renamed =
        api.patch(&format!("/api/v1/job_postings/{id}"), json!({ "title": "Chef" })).await.expect(200);
    assert_eq!((renamed.string("/title"), renamed.string("/slug")), ("Chef", "cook"));
}

#[tokio::test]
async fn publishing_and_unpublishing_are_idempotent() {
    let api = TestApi::new().await;
    let role_id = role(&api, json!({ "title": "x" })).await;
    let id = posting(&api, role_id).await;
    let change = async |step: &str| {
        api.request(Method::POST, &format!("/api/v1/job_postings/{id}/{step}")).send().await
    };
    for (step, published, time) in [
        ("unpublish", false, "2026-11-20T09:30:00.000Z"),
        ("publish", true, "2026-11-20T09:31:00.000Z"),
        ("publish", true, "2026-11-20T09:31:00.000Z"),
        ("unpublish", false, "2026-11-20T09:33:00.000Z"),
        ("unpublish", false, "2026-11-20T09:33:00.000Z"),
    ] {
        let response = change(step).await.expect(200);
        assert_eq!(
            (response.body["published"].as_bool(), response.string("/updated_at")),
            (Some(published), time),
            "{step}"
        );
        let now =
            api.environment.clock.now().checked_add(jiff::SignedDuration::from_mins(1)).expect("a time");
        api.clock.set(&now.to_string());
    }
    assert_eq!(
        api.get(&format!("/api/v1/roles/{role_id}")).await.string("/status"),
        "draft",
        "the role does not change"
    );
}

#[tokio::test]
async fn a_closed_roles_posting_cannot_be_published() {
    let api = TestApi::new().await;
    let role_id = role(&api, json!({ "title": "x" })).await;
    let id = posting(&api, role_id).await;
    api.delete(&format!("/api/v1/roles/{role_id}")).await.expect(200);
    let path = format!("/api/v1/job_postings/{id}/publish");
    let refused = api.request(Method::POST, &path).send().await.expect(422);
    assert_eq!(refused.string("/code"), "invalid_transition");
    assert_eq!(refused.messages(), ["published cannot become true while the role is closed"]);
    api.request(Method::POST, &format!("/api/v1/roles/{role_id}/reopen")).send().await.expect(200);
    api.request(Method::POST, &path).send().await.expect(200);
}

#[tokio::test]
async fn a_patch_changes_the_description_and_requirements() {
    let api = TestApi::new().await;
    let role_id = role(&api, json!({ "title": "x", "description": "d" })).await;
    let id = posting(&api, role_id).await;
    let path = format!("/api/v1/job_postings/{id}");
    let patched =
        api.patch(&path, json!({ "public_description": null, "requirements": " r " })).await.expect(200);
    assert_eq!((patched.string("/public_description"), patched.string("/requirements")), ("d", "r"));
    for (body, message) in [
        (json!({ "title": "t".repeat(201) }), "title must be at most 200 characters"),
        (json!({ "requirements": 7 }), "requirements must be a string"),
        (json!({ "published": true }), "published is not a known field"),
        (json!({ "slug": "y" }), "slug is not a known field"),
        (json!({ "role_id": 1 }), "role_id is not a known field"),
    ] {
        assert_eq!(api.patch(&path, body).await.expect(422).messages(), [message]);
    }
    let stale =
        api.request(Method::PATCH, &path).header("if-match", "\"stale\"").json(&json!({})).send().await;
    assert_eq!(stale.expect(412).string("/code"), "precondition_failed");
}

#[tokio::test]
async fn the_list_can_be_filtered_by_published() {
    let api = TestApi::new().await;
    let live =
        api.post("/api/v1/quick_post", json!({ "role": { "title": "a" } })).await.number("/job_posting/id");
    let draft = api
        .post("/api/v1/quick_post", json!({ "role": { "title": "b" }, "publish": false }))
        .await
        .number("/job_posting/id");
    for (query, expected) in
        [("", vec![draft, live]), ("?published=true", vec![live]), ("?published=false", vec![draft])]
    {
        let listed = api.get(&format!("/api/v1/job_postings{query}")).await.expect(200);
        let ids: Vec<_> = listed.body["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|posting| posting["id"].as_u64())
            .collect();
        assert_eq!(ids, expected, "{query}");
    }
    let refused = api.get("/api/v1/job_postings?published=yes").await.expect(422);
    assert_eq!(refused.messages(), ["published must be true or false"]);
}
