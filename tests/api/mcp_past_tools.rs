//! What an application sends to the API with a token that is also for the MCP endpoint: past the tools, which ask.

use http::Method;
use serde_json::{Value, json};
use shared::model::{Audience, Mode};
use tests::browser::{Browser, Form};
use tests::dashboard::{connect_app_to, owner};
use tests::{ACME, BASE_URL, Fixtures, Response, TestApi, tenant};

const RULE: &str = "/dashboard/settings/integrations/confirmations";

async fn token(api: &TestApi, audience: Audience) -> String {
    let ada = owner(api, ACME).await;
    let acme = tenant(ACME, Mode::Live);
    let (_, token) = connect_app_to(audience, &api.environment, acme, ada.id, "Assistant").await;
    token.reveal().to_owned()
}

/// An owner decides whether applications may ask by themselves.
async fn let_apps_ask(api: &TestApi, may_ask: bool) {
    let browser = Browser::with_session(api, ACME, &owner(api, ACME).await).await;
    let form = Form::of(&browser.get(RULE).await.expect(200), RULE);
    let form = form.set("apps_use_page", &(!may_ask).to_string()).set("keys_use_page", "true");
    browser.submit(RULE, &form).await.expect(303);
}

/// What tools do only after a confirmation, in an order in which all of it succeeds, with the page of each.
async fn requests(api: &TestApi) -> Vec<(Method, String, Value, String)> {
    let Fixtures { role, posting, candidate, .. } = Fixtures::new(api).await;
    let draft = api.post("/api/v1/roles", json!({ "title": "Draft" })).await.expect(201).number("/id");
    let eve = json!({ "name": "Eve", "email": "eve@example.com", "role_id": role });
    let eve = api.post("/api/v1/candidates", eve).await.expect(201).number("/id");
    let request = |method, path: String, body, page: String| {
        (method, format!("/api/v1/{path}"), body, format!("{BASE_URL}/dashboard/{page}"))
    };
    let post = |path: String, page: String| request(Method::POST, path, json!({}), page);
    let (of_role, of_posting) = (format!("roles/{role}"), format!("job_postings/{posting}"));
    let posting_page = format!("roles/{role}/posting");
    let invited = json!({ "role_id": role });
    let posted = json!({ "job_posting_id": posting });
    vec![
        request(Method::PATCH, of_role.clone(), json!({ "location": "Bonn" }), of_role.clone()),
        request(Method::PATCH, of_posting.clone(), json!({ "requirements": "Rust" }), posting_page.clone()),
        request(Method::POST, "channels/x/post".to_owned(), posted, "roles".to_owned()),
        request(
            Method::POST,
            format!("candidates/{eve}/invite_screen"),
            invited,
            format!("candidates/{eve}"),
        ),
        post(format!("{of_role}/pause"), of_role.clone()),
        post(format!("{of_role}/resume"), of_role.clone()),
        post(format!("{of_posting}/unpublish"), posting_page.clone()),
        post(format!("{of_posting}/publish"), posting_page),
        post(format!("roles/{draft}/publish"), format!("roles/{draft}")),
        post(format!("candidates/{candidate}/reject"), format!("candidates/{candidate}")),
        post(format!("candidates/{eve}/hire"), format!("candidates/{eve}")),
        request(
            Method::POST,
            "quick_post".to_owned(),
            json!({ "role": { "title": "Cook" } }),
            "roles".to_owned(),
        ),
        request(Method::DELETE, of_role.clone(), json!({}), of_role),
    ]
}

async fn send(api: &TestApi, token: &str, method: &Method, path: &str, body: &Value) -> Response {
    api.request(method.clone(), path).bearer(token).json(body).send().await
}

#[tokio::test]
async fn what_a_tool_confirms_needs_a_member_in_the_api_too() {
    let api = TestApi::new().await;
    let both = token(&api, Audience::Both).await;
    // All but the counters of requests, and the day of the last use.
    let stored = async || {
        let mut items = api.stored_items().await;
        items.retain(|(partition, _), _| !partition.contains("#GATE") && !partition.ends_with("#GRANT"));
        items
    };
    for (method, path, body, page) in requests(&api).await {
        let before = stored().await;
        let refused = send(&api, &both, &method, &path, &body).await.expect(403);
        assert_eq!(refused.string("/code"), "confirmation_required", "{method} {path}");
        assert_eq!(refused.string("/page"), page, "{method} {path}");
        assert_eq!(refused.header("www-authenticate"), "", "more scopes would not help");
        assert_eq!(stored().await, before, "{method} {path}");
        api.request(method, &path).json(&body).send().await;
        assert_ne!(stored().await, before, "{path}: a key is not asked");
    }
}

#[tokio::test]
async fn a_token_for_the_api_alone_is_not_asked_nor_one_of_apps_that_may_ask() {
    for audience in [Audience::Api, Audience::Both] {
        let api = TestApi::new().await;
        let token = token(&api, audience).await;
        let_apps_ask(&api, audience == Audience::Both).await;
        for (method, path, body, _) in requests(&api).await {
            let done = send(&api, &token, &method, &path, &body).await;
            assert!((200..300).contains(&done.status), "{audience:?} {method} {path}: {}", done.text);
        }
    }
}

#[tokio::test]
async fn what_no_tool_confirms_needs_no_member_in_the_api_either() {
    let api = TestApi::new().await;
    let of = Fixtures::new(&api).await;
    let both = token(&api, Audience::Both).await;
    let draft = json!({ "role": { "title": "Cook" }, "publish": false });
    let draft = send(&api, &both, &Method::POST, "/api/v1/quick_post", &draft).await.expect(201);
    let (role, posting) = (draft.number("/role/id"), draft.number("/job_posting/id"));
    let candidate = format!("/api/v1/candidates/{}", of.candidate);
    for (method, path, body) in [
        (Method::PATCH, format!("/api/v1/roles/{role}"), json!({ "title": "Chef" })),
        (Method::PATCH, format!("/api/v1/job_postings/{posting}"), json!({ "requirements": "Salt" })),
        // Nothing changes.
        (Method::PATCH, format!("/api/v1/roles/{}", of.role), json!({})),
        (Method::POST, format!("/api/v1/job_postings/{}/publish", of.posting), json!({})),
        (Method::POST, format!("{candidate}/advance"), json!({ "stage": "interview" })),
        (Method::PATCH, candidate, json!({ "name": "Jane Doe" })),
    ] {
        send(&api, &both, &method, &path, &body).await.expect(200);
    }
}

#[tokio::test]
async fn a_repeated_request_gets_the_answer_from_before_the_rule() {
    let api = TestApi::new().await;
    let both = token(&api, Audience::Both).await;
    let post = async || {
        let request = api.request(Method::POST, "/api/v1/quick_post").bearer(&both);
        request.header("idempotency-key", "k").json(&json!({ "role": { "title": "Cook" } })).send().await
    };
    let_apps_ask(&api, true).await;
    let first = post().await.expect(201);
    let_apps_ask(&api, false).await;
    assert_eq!(post().await.expect(201).body, first.body);
}
