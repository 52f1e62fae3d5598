//! Posts to X: the request, and the response when X accepts, refuses, or fails.

use std::collections::HashSet;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::fake::FakeResponse;
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::fake_x::{ME, POST, TOKEN, connected, connected_until, count, problem, services};

const PATH: &str = "/api/v1/channels/x/post";

/// Creates an open role with a published posting. Returns the posting's id.
pub(crate) async fn live_posting(api: &TestApi) -> u64 {
    let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "Engineer" } })).await.expect(201);
    posted.number("/job_posting/id")
}

/// Posts a job to X.
pub(crate) async fn post(api: &TestApi, posting: u64) -> Response {
    api.post(PATH, json!({ "job_posting_id": posting })).await
}

async fn post_with(api: &TestApi, key: &str, posting: u64) -> Response {
    let request = api.request(Method::POST, PATH).header("idempotency-key", key);
    request.json(&json!({ "job_posting_id": posting })).send().await
}

/// Returns the posts in the history.
pub(crate) async fn history(api: &TestApi) -> Vec<Value> {
    let listed = api.get("/api/v1/channels/x/posts?limit=100").await.expect(200);
    listed.body["data"].as_array().unwrap().clone()
}

async fn used(api: &TestApi) -> u64 {
    api.get("/api/v1/channels").await.expect(200).number("/x/usage/used")
}

#[tokio::test]
async fn a_post_contains_the_roles_current_title_and_the_salary_in_its_currency() {
    let (api, x) = connected().await;
    let role = json!({ "title": "Engineer", "salary_min": 90_000, "salary_currency": "CHF" });
    let posted = api.post("/api/v1/quick_post", json!({ "role": role })).await.expect(201);
    let role = format!("/api/v1/roles/{}", posted.number("/role/id"));
    api.patch(&role, json!({ "title": "Builder" })).await.expect(200);
    post(&api, posted.number("/job_posting/id")).await.expect(201);
    let [text] = x.texts().try_into().unwrap();
    assert!(text.contains("Builder. Salary: from CHF 90,000 a year."), "{text}");
}

#[tokio::test]
async fn a_post_is_published_and_returned_with_every_field() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let posted = post(&api, posting).await.expect(201);
    let [text] = x.texts().try_into().unwrap();
    let expected = json!({
        "id": posted.number("/id"), "job_posting_id": posting, "style": "professional", "text": text,
        "external_id": "1900000000000000001", "url": "https://x.com/acme_jobs/status/1900000000000000001",
        "posted_at": "2026-11-20T09:30:00.000Z", "likes": null, "reposts": null, "replies": null, "link_clicks": null,
        "metrics_at": null
    });
    assert_eq!(posted.body, expected);
    assert_eq!(posted.header("location"), "", "a post has no URL in the API");
    assert_eq!(history(&api).await, [expected]);
    assert_eq!(used(&api).await, 1);
    assert_eq!(x.requests()[0], (POST.to_owned(), "access-1".to_owned()));
}

#[tokio::test]
async fn the_simulator_publishes_nothing_and_returns_the_same_fields() {
    let api = TestApi::new().await;
    let posting = live_posting(&api).await;
    let posted = post_with(&api, "k", posting).await.expect(201);
    let external_id = posted.string("/external_id");
    assert_eq!(
        posted.body,
        json!({
            "id": posted.number("/id"), "job_posting_id": posting, "style": "professional",
            "text": posted.string("/text"), "external_id": external_id,
            "url": format!("https://x.example/rolecall_simulator/status/{external_id}"),
            "posted_at": "2026-11-20T09:30:00.000Z", "likes": 0, "reposts": 0, "replies": 0, "link_clicks": 0,
            "metrics_at": "2026-11-20T09:30:00.000Z"
        })
    );
    let again = post_with(&api, "k", posting).await.expect(201);
    assert_eq!((&again.body, again.header("idempotency-replayed")), (&posted.body, "true"));
    assert_eq!(history(&api).await, [posted.body]);
}

#[tokio::test]
async fn the_simulator_rejects_a_repeated_text_as_x_does() {
    let api = TestApi::new().await;
    let posting = live_posting(&api).await;
    let with = async |style: &str| api.post(PATH, json!({ "job_posting_id": posting, "style": style })).await;
    for style in ["professional", "casual", "urgent"] {
        with(style).await.expect(201);
    }
    for style in ["professional", "casual", "urgent"] {
        let refused = with(style).await.expect(422);
        assert_eq!(
            (refused.string("/code"), refused.messages()),
            (
                "validation_failed",
                vec!["job_posting_id was already posted with this text, and X rejects duplicates"]
            )
        );
    }
    assert_eq!((history(&api).await.len(), used(&api).await), (3, 3));
    let other = live_posting(&api).await;
    post(&api, other).await.expect(201);
}

#[tokio::test]
async fn the_three_styles_produce_different_text() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    for style in ["professional", "casual", "urgent"] {
        let posted = api.post(PATH, json!({ "job_posting_id": posting, "style": style })).await.expect(201);
        assert_eq!(posted.string("/style"), style);
    }
    let texts = x.texts();
    assert_eq!(texts.iter().collect::<HashSet<_>>().len(), 3, "{texts:?}");
    post(&api, posting).await.expect(201);
    assert_eq!(x.texts().last(), texts.first(), "professional is the default style");
}

#[tokio::test]
async fn an_invalid_post_never_reaches_x() {
    let (api, x) = connected().await;
    let posting_of = async |demo, mode| {
        let request = api.request(Method::POST, "/api/v1/quick_post").key(demo, mode);
        request.json(&json!({ "role": { "title": "x" } })).send().await.expect(201).number("/job_posting/id")
    };
    let unpublished = live_posting(&api).await;
    api.post(&format!("/api/v1/job_postings/{unpublished}/unpublish"), json!({})).await.expect(200);
    let paused = api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
    api.post(&format!("/api/v1/roles/{}/pause", paused.number("/role/id")), json!({})).await.expect(200);
    let live = live_posting(&api).await;
    let unknown_posting = "job_posting_id must be the id of a job posting";
    for (body, message) in [
        (json!({ "job_posting_id": 17 }), unknown_posting),
        (json!({ "job_posting_id": posting_of(GLOBEX, Mode::Live).await }), unknown_posting),
        (json!({ "job_posting_id": posting_of(ACME, Mode::Test).await }), unknown_posting),
        (
            json!({ "job_posting_id": unpublished }),
            "job_posting_id must be the id of a published job posting",
        ),
        (
            json!({ "job_posting_id": paused.number("/job_posting/id") }),
            "job_posting_id must belong to an open role, but this one is paused",
        ),
        (
            json!({ "job_posting_id": live, "style": "shy" }),
            "style must be one of professional, casual, urgent",
        ),
        (json!({}), "job_posting_id can't be blank"),
        (json!({ "job_posting_id": live, "text": "mine" }), "text is not a known field"),
    ] {
        let refused = api.post(PATH, body).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("validation_failed", vec![message]));
    }
    assert_eq!((x.requests(), history(&api).await), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn posting_requires_a_connected_account() {
    let services = [services("http://127.0.0.1:0"), shared::config::Services::default()];
    for (services, message) in
        services.into_iter().zip(["x has no connected account", "x is not set up on this service"])
    {
        let api = TestApi::with_services(services).await;
        let posting = live_posting(&api).await;
        let refused = post(&api, posting).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("channel_not_connected", vec![message]));
        assert_eq!((history(&api).await.len(), used(&api).await), (0, 0));
    }
}

#[tokio::test]
async fn a_revoked_access_token_is_refreshed_once_and_the_post_retried() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    x.revoke_access();
    post(&api, posting).await.expect(201);
    post(&api, posting).await.expect(201);
    let requests = x.requests();
    let requests: Vec<_> = requests.iter().map(|(route, token)| (route.as_str(), token.as_str())).collect();
    let with_refresh = [(POST, "access-1"), (TOKEN, "refresh-1"), (POST, "access-2")];
    assert_eq!(requests, [&with_refresh[..], &[(POST, "access-2")]].concat(), "the new token is stored");
    assert_eq!((history(&api).await.len(), used(&api).await), (2, 2));
}

#[tokio::test]
async fn a_revoked_account_has_to_be_reconnected() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    x.revoke();
    let refused = post_with(&api, "k", posting).await.expect(422);
    assert_eq!(refused.string("/code"), "channel_not_connected");
    assert_eq!(refused.messages(), ["x no longer accepts the account's tokens: reconnect the account"]);
    assert_eq!((x.count(POST), x.count(TOKEN)), (1, 1));
    let channel = api.get("/api/v1/channels").await.expect(200).body["x"].take();
    assert_eq!((&channel["connected"], &channel["status"]), (&json!(false), &json!("expired")));
    assert!(
        channel["detail"].as_str().is_some_and(|detail| detail.contains("Connect the account again")),
        "{channel}"
    );
    assert_eq!((channel["usage"]["used"].as_u64(), history(&api).await.len()), (Some(0), 0));
    assert_eq!(x.count(ME), 0, "the status was stored with the failed post");
}

/// If X has definitely not published the post, nothing is stored, and the idempotency key can be used again.
#[tokio::test]
async fn a_definite_refusal_stores_nothing_and_frees_the_key() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let duplicate =
        problem(403, "Forbidden", "You are not allowed to create a Tweet with duplicate content.");
    let limited = |reset: &[(&str, &str)]| {
        let headers = reset.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        FakeResponse::Full(429, headers, r#"{"title": "Too Many Requests"}"#.to_owned())
    };
    // 2026-11-20T09:45:00Z, which is in fifteen minutes, and 2026-11-20T09:29:00Z, a minute ago.
    let (ahead, past) = ("1795167900", "1795166940");
    // 2026-11-21T09:30:00Z.
    let tomorrow = "1795253400";
    let (invalid, upstream) = ("validation_failed", "upstream_failed");
    let cases = [
        (POST, duplicate, 422, invalid, ""),
        (POST, problem(403, "Forbidden", "You are not permitted to perform this action."), 502, upstream, ""),
        (POST, problem(400, "Invalid Request", "One or more parameters was invalid."), 502, upstream, ""),
        (POST, problem(402, "CreditsDepleted", "Your account [77] has no credits."), 502, upstream, ""),
        (POST, FakeResponse::Html(404), 502, upstream, ""),
        (POST, limited(&[("x-rate-limit-reset", ahead)]), 502, upstream, "900"),
        (POST, limited(&[("x-rate-limit-reset", past)]), 502, upstream, "1"),
        (POST, limited(&[]), 502, upstream, ""),
        (
            POST,
            limited(&[
                ("x-rate-limit-reset", ahead),
                ("x-app-limit-24hour-remaining", "0"),
                ("x-app-limit-24hour-reset", tomorrow),
            ]),
            502,
            upstream,
            "86400",
        ),
        (POST, problem(401, "Unauthorized", ""), 422, "channel_not_connected", ""),
        (TOKEN, FakeResponse::Json(500, json!({})), 502, upstream, ""),
        (TOKEN, FakeResponse::Json(401, json!({ "error": "unauthorized_client" })), 502, upstream, ""),
        (TOKEN, limited(&[("x-rate-limit-reset", ahead)]), 502, upstream, "900"),
    ];
    for (published, (route, failure, status, code, retry_after)) in cases.into_iter().enumerate() {
        let key = format!("k{published}");
        let case = format!("{route} {failure:?}");
        if route == TOKEN {
            x.revoke_access();
        }
        x.reply_with(route, failure);
        let refused = post_with(&api, &key, posting).await.expect(status);
        assert_eq!((refused.string("/code"), refused.header("retry-after")), (code, retry_after), "{case}");
        assert!(!refused.string("/error").contains("may or may not"), "{case}: {}", refused.text);
        assert!(
            !refused.text.contains("77"),
            "{case}: the operator's account is not named: {}",
            refused.text
        );
        assert_eq!((history(&api).await.len(), used(&api).await), (published, published as u64), "{case}");
        x.reply_normally();
        let posted = post_with(&api, &key, posting).await.expect(201);
        assert_eq!(posted.header("idempotency-replayed"), "", "{case}");
        assert_eq!(
            (history(&api).await.len(), used(&api).await),
            (published + 1, published as u64 + 1),
            "{case}"
        );
    }
}

#[tokio::test]
async fn an_unreachable_x_has_published_nothing() {
    let api = TestApi::with_services(services("http://127.0.0.1:0")).await;
    let account =
        crate::fake_x::account(&api, Mode::Live, &crate::fake_x::keys(&["k1"]), "2026-11-20T11:30:00Z");
    crate::fake_x::connect(&api, Mode::Live, &account).await;
    let posting = live_posting(&api).await;
    for _ in 0..2 {
        let refused = post_with(&api, "k", posting).await.expect(502);
        assert_eq!(refused.string("/error"), "X could not be reached");
    }
    assert_eq!((history(&api).await.len(), used(&api).await), (0, 0));
}

/// If X may have published the post, the error says so. A repeated request gets the same error without a request to X,
/// regardless of the state of the account's tokens.
#[tokio::test]
async fn an_uncertain_post_is_reported_and_never_repeated() {
    for failure in [
        FakeResponse::Json(500, json!({ "title": "Internal Error" })),
        FakeResponse::Json(201, json!({ "data": {} })),
        FakeResponse::Html(200),
        FakeResponse::Html(503),
        FakeResponse::Close,
        FakeResponse::Truncated(200, json!({ "data": { "id": "19" } })),
        FakeResponse::Oversized(200, json!({ "data": { "id": "19" } })),
        FakeResponse::Redirect,
        FakeResponse::TimeOut,
    ] {
        let case = format!("{failure:?}");
        let (api, x) = connected().await;
        let posting = live_posting(&api).await;
        x.reply_with(POST, failure);
        let uncertain = post_with(&api, "k", posting).await.expect(502);
        assert_eq!(uncertain.string("/code"), "upstream_failed", "{case}");
        assert!(
            uncertain.string("/error").contains("may or may not have been published"),
            "{}",
            uncertain.text
        );
        x.reply_normally();
        let actual = history(&api).await;
        assert_eq!((actual.len(), &actual[0]["external_id"]), (1, &Value::Null), "{case}");
        assert_eq!((&actual[0]["url"], &actual[0]["posted_at"]), (&Value::Null, &Value::Null), "{case}");
        for time in ["2026-11-20T09:30:01.000Z", "2026-11-20T09:32:00.000Z", "2026-11-20T13:00:00.000Z"] {
            api.clock.set(time);
            let again = post_with(&api, "k", posting).await.expect(502);
            assert_eq!(again.body["error"], uncertain.body["error"], "{case} {time}");
        }
        let other = live_posting(&api).await;
        assert_eq!(post_with(&api, "k", other).await.expect(422).string("/code"), "idempotency_mismatch");
        assert_eq!(x.requests().len(), 1, "{case}: {:?}", x.requests());
        post(&api, posting).await.expect(201);
        assert_eq!(
            (x.count(POST), history(&api).await.len()),
            (2, 2),
            "{case}: a request without the key is a new post"
        );
    }
}

#[tokio::test]
async fn a_repeated_request_does_not_call_x() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let first = post_with(&api, "k", posting).await.expect(201);
    let requests = x.requests();
    let again = async |case: &str| {
        let again = post_with(&api, "k", posting).await.expect(201);
        assert_eq!((&again.body, again.header("idempotency-replayed")), (&first.body, "true"), "{case}");
        assert_eq!(x.requests(), requests, "{case}");
    };
    again("immediately").await;
    api.clock.set("2026-11-20T13:00:00Z");
    again("the access token has expired").await;
    x.revoke();
    again("the account is revoked").await;
    x.reply_with(TOKEN, FakeResponse::Html(500));
    again("X is down").await;
    api.post(&format!("/api/v1/job_postings/{posting}/unpublish"), json!({})).await.expect(200);
    again("the posting is offline").await;
}

#[tokio::test]
async fn every_request_without_a_key_is_a_new_post() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let (one, two) = (post(&api, posting).await.expect(201), post(&api, posting).await.expect(201));
    assert_ne!(one.body["external_id"], two.body["external_id"]);
    assert_eq!((x.count(POST), used(&api).await), (2, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_requests_with_the_same_key_post_once() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let responses = join_all((0..20).map(|_| post_with(&api, "k", posting))).await;
    assert_eq!(x.count(POST), 1);
    let published: Vec<_> = responses.iter().filter(|response| response.status == 201).collect();
    assert!(published.iter().all(|response| response.body == published[0].body));
    assert_eq!(
        published.iter().filter(|response| response.header("idempotency-replayed").is_empty()).count(),
        1
    );
    for response in responses.iter().filter(|response| response.status != 201) {
        assert_eq!((response.status, response.string("/code")), (409, "conflict"), "{}", response.text);
    }
    assert_eq!((history(&api).await.len(), used(&api).await), (1, 1));
}

#[tokio::test]
async fn a_post_that_cannot_be_stored_is_not_sent_to_x() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    for fault in [Fault::Throttled, Fault::Unreachable, Fault::Internal] {
        api.dynamodb
            .inject_faults(move |operation, _| (operation == "TransactWriteItems").then(|| fault.clone()));
        assert_eq!(post_with(&api, "k", posting).await.expect(503).string("/code"), "unavailable");
        api.dynamodb.inject_faults(|_, _| None);
    }
    assert_eq!((x.requests().len(), history(&api).await.len()), (0, 0));
    post_with(&api, "k", posting).await.expect(201);
}

/// X has accepted the post, but storing the result failed. A repeated request must not post again.
#[tokio::test]
async fn an_accepted_post_that_cannot_be_stored_is_not_repeated() {
    for fault in [Fault::Throttled, Fault::Unreachable] {
        let (api, x) = connected().await;
        let posting = live_posting(&api).await;
        let fake = x.fake.clone();
        api.dynamodb.inject_faults(move |operation, _| {
            (operation == "TransactWriteItems" && count(&fake, POST) > 0).then(|| fault.clone())
        });
        assert_eq!(post_with(&api, "k", posting).await.expect(503).string("/code"), "unavailable");
        api.dynamodb.inject_faults(|_, _| None);
        tokio::time::pause();
        assert_eq!(post_with(&api, "k", posting).await.expect(409).string("/code"), "conflict");
        tokio::time::resume();
        api.clock.set("2026-11-20T09:31:00Z");
        let again = post_with(&api, "k", posting).await.expect(502);
        assert!(again.string("/error").contains("may or may not"), "{}", again.text);
        assert_eq!(x.count(POST), 1);
        let actual = history(&api).await;
        assert_eq!((actual.len(), &actual[0]["external_id"]), (1, &Value::Null));
    }
}

/// The result was stored, but DynamoDB's response was lost.
#[tokio::test]
async fn a_post_is_found_after_the_response_to_the_last_transaction_is_lost() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let fake = x.fake.clone();
    api.dynamodb.inject_faults(move |operation, _| {
        (operation == "TransactWriteItems" && count(&fake, POST) > 0).then_some(Fault::ResponseLost)
    });
    post_with(&api, "k", posting).await.expect(503);
    api.dynamodb.inject_faults(|_, _| None);
    let again = post_with(&api, "k", posting).await.expect(201);
    assert_eq!((again.string("/external_id"), x.count(POST)), ("1900000000000000001", 1));
}

#[tokio::test]
async fn a_lost_response_to_the_first_transaction_never_leads_to_two_posts() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let lost = std::sync::atomic::AtomicBool::new(false);
    api.dynamodb.inject_faults(move |operation, _| {
        let first =
            operation == "TransactWriteItems" && !lost.swap(true, std::sync::atomic::Ordering::Relaxed);
        first.then_some(Fault::ResponseLost)
    });
    post_with(&api, "once", posting).await.expect(201);
    assert_eq!(
        (x.count(POST), history(&api).await.len()),
        (1, 1),
        "the retried transaction is not applied twice"
    );
    let before = (x.count(POST), history(&api).await.len());

    api.dynamodb
        .inject_faults(|operation, _| (operation == "TransactWriteItems").then_some(Fault::ResponseLost));
    post_with(&api, "always", posting).await.expect(503);
    api.dynamodb.inject_faults(|_, _| None);
    api.clock.set("2026-11-20T09:31:00Z");
    post_with(&api, "always", posting).await.expect(502);
    let after = (x.count(POST), history(&api).await.len());
    assert_eq!(after, (before.0, before.1 + 1), "no request was sent to X");
}

/// A post counts towards the day on which it was started, and a failed post is subtracted from the same day.
#[tokio::test]
async fn a_failed_post_is_subtracted_from_the_day_that_counted_it() {
    let (api, x) = connected_until("2026-11-21T11:30:00Z").await;
    let posting = live_posting(&api).await;
    api.clock.set("2026-11-20T23:59:59Z");
    post(&api, posting).await.expect(201);
    let clock = api.clock.clone();
    x.revoke();
    x.during_refresh(move || clock.set("2026-11-21T00:00:05Z"));
    post(&api, posting).await.expect(422);
    assert_eq!(used(&api).await, 0);
    api.clock.set("2026-11-20T23:59:59Z");
    assert_eq!(used(&api).await, 1);
}
