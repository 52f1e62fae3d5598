//! What an application sends to the API with a token that is also for the MCP endpoint: past the tools, which ask.

use std::fmt::Debug;

use http::Method;
use serde_json::{Value, json};
use shared::model::{Audience, MemberRole, Mode};
use tests::browser::{Browser, Form};
use tests::dashboard::{add_member, connect_app_to, owner};
use tests::{ACME, BASE_URL, Fixtures, GLOBEX, Response, TestApi, tenant};

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

/// What tools do only after a confirmation, in an order in which all of it succeeds, with the question of each.
async fn requests(api: &TestApi) -> Vec<(Method, String, Value, String)> {
    let Fixtures { role, posting, candidate, .. } = Fixtures::new(api).await;
    let draft = api.post("/api/v1/roles", json!({ "title": "Draft" })).await.expect(201).number("/id");
    let eve = json!({ "name": "Eve", "email": "eve@example.com", "role_id": role });
    let eve = api.post("/api/v1/candidates", eve).await.expect(201).number("/id");
    let request =
        |method, path: String, body, question: String| (method, format!("/api/v1/{path}"), body, question);
    let post = |path: String, question: String| request(Method::POST, path, json!({}), question);
    let (of_role, of_posting) = (format!("roles/{role}"), format!("job_postings/{posting}"));
    vec![
        request(
            Method::PATCH,
            of_role.clone(),
            json!({ "location": "Bonn" }),
            format!("Change role {role}, whose job posting is public."),
        ),
        request(
            Method::PATCH,
            of_posting.clone(),
            json!({ "requirements": "Rust" }),
            format!("Change job posting {posting}, which is public."),
        ),
        request(
            Method::POST,
            "channels/x/post".to_owned(),
            json!({ "job_posting_id": posting }),
            format!("Post job posting {posting} to X."),
        ),
        request(
            Method::POST,
            format!("candidates/{eve}/invite_screen"),
            json!({ "role_id": role }),
            format!("Call candidate {eve} for a voice screen for role {role}, now."),
        ),
        post(
            format!("{of_role}/pause"),
            format!("Pause role {role}, so that its job posting is no longer listed."),
        ),
        post(
            format!("{of_role}/resume"),
            format!("Resume role {role}, so that its job posting is listed again."),
        ),
        post(format!("{of_posting}/unpublish"), format!("Take job posting {posting} off the career page.")),
        post(
            format!("{of_posting}/publish"),
            format!("Publish job posting {posting}, so that people can apply."),
        ),
        post(
            format!("roles/{draft}/publish"),
            format!("Publish role {draft}, whose job posting stays off the career page."),
        ),
        post(
            format!("candidates/{candidate}/reject"),
            format!("Reject candidate {candidate}: application for role {role} in stage screening."),
        ),
        post(
            format!("candidates/{eve}/hire"),
            format!("Hire candidate {eve}: application for role {role} in stage screening."),
        ),
        request(
            Method::POST,
            "quick_post".to_owned(),
            json!({ "role": { "title": "Cook" } }),
            "Create a role with a job posting, and publish both on the career page.".to_owned(),
        ),
        request(
            Method::DELETE,
            of_role,
            json!({}),
            format!("Close role {role}, which is open, and all its active applications."),
        ),
    ]
}

async fn send(api: &TestApi, token: &str, method: &Method, path: &str, body: &Value) -> Response {
    api.request(method.clone(), path).bearer(token).json(body).send().await
}

/// All that is stored but the questions, the counters of requests, the audit log and the day of the last use.
async fn stored(api: &TestApi) -> impl PartialEq + Debug {
    let others = ["#GATE", "#GRANT", "#CONFIRMATION", "#AUDIT", "#CANDIDATE_TRACE"];
    let mut items = api.stored_items().await;
    items.retain(|(partition, _), _| !others.iter().any(|other| partition.contains(other)));
    items
}

/// The member's answer on the page that an error names.
async fn decide(browser: &Browser<'_>, refused: &Response, decision: &str) {
    let path = refused.string("/page").strip_prefix(BASE_URL).unwrap();
    let form = Form::of(&browser.get(path).await.expect(200), path).and("decision", decision);
    browser.submit(path, &form).await.expect(303);
}

#[tokio::test]
async fn what_a_tool_confirms_is_confirmed_in_the_api_too() {
    let api = TestApi::new().await;
    let both = token(&api, Audience::Both).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    for (method, path, body, question) in requests(&api).await {
        let before = stored(&api).await;
        let refused = send(&api, &both, &method, &path, &body).await.expect(403);
        assert_eq!(refused.string("/code"), "confirmation_required", "{method} {path}");
        assert_eq!(refused.header("www-authenticate"), "", "more scopes would not help");
        let again = send(&api, &both, &method, &path, &body).await.expect(403);
        assert_eq!(refused.string("/page"), again.string("/page"), "{method} {path}");
        let page = browser.get(refused.string("/page").strip_prefix(BASE_URL).unwrap()).await.expect(200);
        assert!(page.text.contains(&question), "{question} {}", page.text);
        decide(&browser, &refused, "refuse").await;
        send(&api, &both, &method, &path, &body).await.expect(403);
        decide(&browser, &refused, "confirm").await;
        assert_eq!(stored(&api).await, before, "{method} {path}");
        let done = send(&api, &both, &method, &path, &body).await;
        assert!((200..300).contains(&done.status), "{method} {path}: {}", done.text);
        assert_ne!(stored(&api).await, before, "{method} {path}");
        // The confirmation is used up.
        let after = stored(&api).await;
        send(&api, &both, &method, &path, &body).await;
        assert_eq!(stored(&api).await, after, "{method} {path}");
    }
    let log = api.get("/api/v1/audit_log?action=confirmation.decided").await.expect(200);
    assert_eq!(log.body["data"].as_array().unwrap().len(), 26);
    assert_eq!(log.string("/data/0/tool/name"), "DELETE /api/v1/roles/{id}");
}

#[tokio::test]
async fn a_confirmation_is_for_one_request_and_only_its_member_gives_it() {
    let api = TestApi::new().await;
    let both = token(&api, Audience::Both).await;
    let post = async |title: &str| {
        let body = json!({ "role": { "title": title, "description": "Salt\u{202E} & pepper" } });
        send(&api, &both, &Method::POST, "/api/v1/quick_post", &body).await
    };
    let asked = post("Cook").await.expect(403);
    let path = asked.string("/page").strip_prefix(BASE_URL).unwrap().to_owned();
    let ben = add_member(&api, ACME, "Ben", MemberRole::Member).await;
    let other = Browser::with_session(&api, ACME, &ben).await;
    let page = other.get(&path).await.expect(200);
    assert!(
        page.text.contains("Only the member who connected this app")
            && !page.text.contains("value=\"confirm\"")
    );
    let foreign = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    foreign.get(&path).await.expect(404);
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let page = browser.get(&path).await.expect(200);
    for shown in ["Cook", "Salt &#38; pepper", "POST /api/v1/quick_post"] {
        assert!(page.text.contains(shown), "{shown}: {}", page.text);
    }
    decide(&browser, &asked, "confirm").await;
    post("Chef").await.expect(403);
    api.clock.set("2026-11-20T09:44:00Z");
    let (one, two) = tokio::join!(post("Cook"), post("Cook"));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 403], "{} {}", one.text, two.text);
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
