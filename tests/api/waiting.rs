//! How many calls to DynamoDB a caller waits for in sequence. `tests/outcomes.json` has the figure of a usual request to each
//! route. It is counted, not measured, and only with the embedded database: of another one, calls end at any time.

use http::Method;
use serde_json::json;
use shared::model::Mode;
use tests::assistant::Assistant;
use tests::browser::Browser;
use tests::dashboard::{connect_app_to, owner};
use tests::interceptor::in_sequence;
use tests::{ACME, Response, TestApi, tenant};

use crate::careers_applications::{Job, form};
use crate::outcomes::requests;

/// The routes that wait for more than one call to read, and for more than two to write.
const MOST: &[(&str, usize)] = &[
    // The people and the roles of a page, and the role that a posting follows.
    ("GET /api/v1/applications", 2),
    ("GET /api/v1/applications/{id}", 2),
    ("GET /api/v1/job_postings", 2),
    ("GET /api/v1/job_postings/{id}", 2),
    // Whose erasure is not finished is known before screens are read, and which deliveries have answers, before these.
    ("GET /api/v1/voice_screens/{id}", 2),
    ("GET /api/v1/voice_screens", 2),
    ("GET /api/v1/webhook_endpoints/{id}/deliveries", 2),
    // The head of the feed says which events are visible, and the organization since when there are entries.
    ("GET /api/v1/events", 2),
    ("GET /api/v1/audit_log", 2),
    // The usage includes the request.
    ("GET /api/v1/organization", 2),
    // Each part of an export leads to the next one.
    ("GET /api/v1/candidates/{id}/export", 5),
    // A trace leads to the content before the bucket has it.
    ("POST /api/v1/candidates/{id}/files", 3),
    // The bucket has the rows before an import names them.
    ("POST /api/v1/imports", 3),
    // What the plan has left, and then the position in the feed.
    ("POST /api/v1/exports", 4),
    // What the change is about leads to something else that it depends on.
    ("POST /api/v1/voice_screens/{id}/cancel", 3),
    ("POST /api/v1/voice_screens/{id}/review", 3),
    ("POST /api/v1/job_postings", 3),
    ("PATCH /api/v1/job_postings/{id}", 3),
    ("POST /api/v1/job_postings/{id}/publish", 3),
    ("POST /api/v1/job_postings/{id}/unpublish", 3),
    ("POST /api/v1/channels/x/post", 4),
    ("POST /api/v1/webhook_endpoints/{id}/ping", 3),
    ("POST /api/v1/webhook_endpoints/{id}/replay", 5),
    ("POST /api/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver", 5),
];

#[test]
fn a_read_waits_for_one_call_and_a_write_for_two() {
    let routes = requests().into_iter().filter(|(route, _)| route.key.contains(" /api/v1/"));
    for (route, outcome) in routes {
        let known = MOST.iter().find(|(key, _)| *key == route.key).map(|(_, most)| *most);
        let usual = if route.key.starts_with("GET ") { 1 } else { 2 };
        assert!(outcome.in_sequence <= known.unwrap_or(usual), "{}: {}", route.key, outcome.in_sequence);
        assert!(known.is_none_or(|known| known > usual), "{} is like others", route.key);
    }
}

#[test]
fn pages_wait_for_their_visitor_and_for_two_calls_at_most() {
    for (key, most) in [
        ("GET /dashboard", 3),
        ("GET /dashboard/roles/{id}", 3),
        ("GET /careers/{org}/{slug}", 2),
        ("POST /careers/{org}/{slug}/apply", 4),
    ] {
        let found: Vec<_> = requests().into_iter().filter(|(route, _)| route.key == key).collect();
        let [(_, outcome)] = found.as_slice() else { panic!("{key}: {} events", found.len()) };
        assert!(outcome.in_sequence <= most, "{key}: {}", outcome.in_sequence);
    }
}

/// Awaits a request, and asserts that it waits for at most so many calls.
async fn within(api: &TestApi, most: usize, what: &str, request: impl Future<Output = Response>) -> Response {
    api.dynamodb.take_calls();
    let response = request.await;
    assert!(response.status < 400, "{what}: {}", response.text);
    let calls = api.dynamodb.take_calls();
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none() {
        let operations: Vec<_> = calls.iter().map(|call| &call.operation).collect();
        assert!(in_sequence(&calls) <= most, "{what}: {} of {operations:?}", in_sequence(&calls));
    }
    response
}

#[tokio::test]
async fn searches_and_details_wait_for_two_calls() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let mut ada = 0;
    for (name, email) in [("Ada Lovelace", "ada@example.com"), ("Ada Byron", "byron@example.com")] {
        let person = json!({ "name": name, "email": email, "role_id": job.role, "tags": ["first"] });
        ada = api.post("/api/v1/candidates", person).await.expect(201).number("/id");
    }
    for (path, most) in [
        (format!("/api/v1/candidates/{ada}"), 2),
        ("/api/v1/candidates".to_owned(), 1),
        ("/api/v1/candidates?q=ada".to_owned(), 2),
        ("/api/v1/candidates?email=ada@example.com".to_owned(), 2),
        ("/api/v1/candidates?tag=first".to_owned(), 2),
        (format!("/api/v1/candidates?role_id={}", job.role), 2),
        ("/api/v1/applications?limit=25".to_owned(), 2),
        (format!("/api/v1/applications?candidate_id={ada}"), 2),
        (format!("/api/v1/roles/{}", job.role), 1),
        (format!("/api/v1/roles/{}/stats", job.role), 1),
        ("/api/v1/roles".to_owned(), 1),
        ("/api/v1/roles?include=stats".to_owned(), 2),
        ("/api/v1/organization".to_owned(), 2),
        ("/api/v1/events?after=latest".to_owned(), 1),
    ] {
        within(&api, most, &path, api.get(&path)).await;
    }
    let head = api.request(Method::HEAD, &format!("/api/v1/roles/{}", job.role)).send();
    within(&api, 1, "HEAD", head).await;
    // A write reads what it changes, with an idempotency key and with the version that the caller has seen.
    let advance = format!("/api/v1/candidates/{ada}/advance");
    let request = api.request(Method::POST, &advance).header("idempotency-key", "a");
    within(&api, 2, "advance", request.json(&json!({ "stage": "interview" })).send()).await;
    let seen = api.get(&format!("/api/v1/roles/{}", job.role)).await.header("etag").to_owned();
    let request =
        api.request(Method::PATCH, &format!("/api/v1/roles/{}", job.role)).header("if-match", &seen);
    within(&api, 2, "a change", request.json(&json!({ "department": "Kitchen" })).send()).await;
    // The second of two requests with a key fails at its commit, which returns the receipt.
    let request = api.request(Method::POST, &advance).header("idempotency-key", "a");
    within(&api, 3, "again", request.json(&json!({ "stage": "interview" })).send()).await;
}

#[tokio::test]
async fn a_search_of_an_assistant_waits_for_two_calls() {
    let api = TestApi::new().await;
    for number in 0..3 {
        let person = json!({ "name": "Ada Lovelace", "email": format!("ada{number}@example.com") });
        api.post("/api/v1/candidates", person).await.expect(201);
    }
    let member = owner(&api, ACME).await.id;
    let audience = shared::model::Audience::Both;
    let acme = tenant(ACME, Mode::Live);
    let (_, token) = connect_app_to(audience, &api.environment, acme, member, "Assistant").await;
    let assistants = [Assistant::new(&api), Assistant::with(&api, token.reveal())];
    for assistant in assistants {
        // The first request of a holder reads who it is.
        assistant.call("search_candidates", json!({ "q": "ada" })).await;
        let search = assistant.try_call("search_candidates", json!({ "q": "ada" }));
        let found = within(&api, 2, "a search", search).await;
        assert_eq!(found.text.matches("Ada Lovelace").count(), 6, "as text and as structured content");
    }
}

#[tokio::test]
async fn the_board_and_the_overview_wait_for_three_calls() {
    let api = TestApi::with_demo_company().await;
    let browser = Browser::signed_in(&api, ACME).await;
    within(&api, 3, "overview", browser.get("/dashboard")).await;
    let roles = api.get("/api/v1/roles?status=open&limit=100").await.expect(200);
    for role in roles.body["data"].as_array().unwrap() {
        let path = format!("/dashboard/roles/{}", role["id"]);
        within(&api, 3, &path, browser.get(&path)).await;
    }
}

#[tokio::test]
async fn an_application_waits_for_four_calls() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    // Somebody new, and somebody who is known.
    for what in ["new", "known"] {
        within(&api, 4, what, job.apply(&api, &form("Ada Lovelace", "ada@example.com"))).await;
    }
    within(&api, 2, "the page", Browser::new(&api).get(&job.path)).await;
}
