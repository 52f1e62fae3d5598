//! Posts to X: what is sent, and what a client is told when X says yes, no, or nothing that can be read.

use std::collections::HashSet;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::fake::Play;
use tests::wire::Fault;
use tests::{ACME, Answer, GLOBEX, World};

use crate::fake_x::{ME, POST, TOKEN, connected, connected_until, count, problem, services};

const PATH: &str = "/api/v1/channels/x/post";

/// A posting that is published, of a role that is open.
pub(crate) async fn live_posting(world: &World) -> u64 {
    let posted =
        world.post("/api/v1/quick_post", json!({ "role": { "title": "Engineer" } })).await.expect(201);
    posted.number("/job_posting/id")
}

/// Posts a job to X.
pub(crate) async fn post(world: &World, posting: u64) -> Answer {
    world.post(PATH, json!({ "job_posting_id": posting })).await
}

async fn post_with(world: &World, key: &str, posting: u64) -> Answer {
    let ask = world.request(Method::POST, PATH).header("idempotency-key", key);
    ask.json(&json!({ "job_posting_id": posting })).send().await
}

/// The posts as the history shows them.
pub(crate) async fn history(world: &World) -> Vec<Value> {
    let listed = world.get("/api/v1/channels/x/posts?limit=100").await.expect(200);
    listed.body["data"].as_array().unwrap().clone()
}

async fn used(world: &World) -> u64 {
    world.get("/api/v1/channels").await.expect(200).number("/x/usage/used")
}

#[tokio::test]
async fn a_post_is_made_and_shown_with_every_field() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let posted = post(&world, posting).await.expect(201);
    let [text] = x.texts().try_into().unwrap();
    let expected = json!({
        "id": posted.number("/id"), "job_posting_id": posting, "style": "professional", "text": text,
        "external_id": "1900000000000000001", "url": "https://x.com/acme_jobs/status/1900000000000000001",
        "posted_at": "2026-11-20T09:30:00Z", "likes": null, "reposts": null, "replies": null, "link_clicks": null,
        "metrics_at": null
    });
    assert_eq!(posted.body, expected);
    assert_eq!(posted.header("location"), "", "it has no address of its own");
    assert_eq!(history(&world).await, [expected]);
    assert_eq!(used(&world).await, 1);
    assert_eq!(x.asked()[0], (POST.to_owned(), "access-1".to_owned()));
}

#[tokio::test]
async fn the_simulator_posts_nowhere_and_shows_the_same_fields() {
    let world = World::new().await;
    let posting = live_posting(&world).await;
    let posted = post_with(&world, "k", posting).await.expect(201);
    let external_id = posted.string("/external_id");
    assert_eq!(
        posted.body,
        json!({
            "id": posted.number("/id"), "job_posting_id": posting, "style": "professional",
            "text": posted.string("/text"), "external_id": external_id,
            "url": format!("https://x.example/rolecall_simulator/status/{external_id}"),
            "posted_at": "2026-11-20T09:30:00Z", "likes": 0, "reposts": 0, "replies": 0, "link_clicks": 0,
            "metrics_at": "2026-11-20T09:30:00Z"
        })
    );
    let again = post_with(&world, "k", posting).await.expect(201);
    assert_eq!((&again.body, again.header("idempotency-replayed")), (&posted.body, "true"));
    assert_eq!(history(&world).await, [posted.body]);
}

#[tokio::test]
async fn the_three_styles_say_it_differently() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    for style in ["professional", "casual", "urgent"] {
        let posted = world.post(PATH, json!({ "job_posting_id": posting, "style": style })).await.expect(201);
        assert_eq!(posted.string("/style"), style);
    }
    let texts = x.texts();
    assert_eq!(texts.iter().collect::<HashSet<_>>().len(), 3, "{texts:?}");
    post(&world, posting).await.expect(201);
    assert_eq!(x.texts().last(), texts.first(), "professional where none is given");
}

#[tokio::test]
async fn what_cannot_be_posted_never_reaches_x() {
    let (world, x) = connected().await;
    let of = async |demo, mode| {
        let ask = world.request(Method::POST, "/api/v1/quick_post").key(demo, mode);
        ask.json(&json!({ "role": { "title": "x" } })).send().await.expect(201).number("/job_posting/id")
    };
    let unpublished = live_posting(&world).await;
    world.post(&format!("/api/v1/job_postings/{unpublished}/unpublish"), json!({})).await.expect(200);
    let paused = world.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
    world.post(&format!("/api/v1/roles/{}/pause", paused.number("/role/id")), json!({})).await.expect(200);
    let live = live_posting(&world).await;
    let nobodys = "job_posting_id must be the id of a job posting";
    for (body, message) in [
        (json!({ "job_posting_id": 17 }), nobodys),
        (json!({ "job_posting_id": of(GLOBEX, Mode::Live).await }), nobodys),
        (json!({ "job_posting_id": of(ACME, Mode::Test).await }), nobodys),
        (
            json!({ "job_posting_id": unpublished }),
            "job_posting_id must be the id of a published job posting",
        ),
        (
            json!({ "job_posting_id": paused.number("/job_posting/id") }),
            "job_posting_id must belong to an open role, and this one is paused",
        ),
        (
            json!({ "job_posting_id": live, "style": "shy" }),
            "style must be one of professional, casual, urgent",
        ),
        (json!({}), "job_posting_id can't be blank"),
        (json!({ "job_posting_id": live, "text": "mine" }), "text is not a known field"),
    ] {
        let refused = world.post(PATH, body).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("validation_failed", vec![message]));
    }
    assert_eq!((x.asked(), history(&world).await), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn without_an_account_there_is_no_posting() {
    let services = [services("http://127.0.0.1:0"), shared::config::Services::default()];
    for (services, message) in services
        .into_iter()
        .zip(["x has no connected account", "x is not set up: this service has no app on X"])
    {
        let world = World::with_services(services).await;
        let posting = live_posting(&world).await;
        let refused = post(&world, posting).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("channel_not_connected", vec![message]));
        assert_eq!((history(&world).await.len(), used(&world).await), (0, 0));
    }
}

#[tokio::test]
async fn a_revoked_access_token_is_renewed_once_and_the_post_tried_once_more() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    x.revoke_access();
    post(&world, posting).await.expect(201);
    post(&world, posting).await.expect(201);
    let asked = x.asked();
    let asked: Vec<_> = asked.iter().map(|(route, token)| (route.as_str(), token.as_str())).collect();
    let renewal = [(POST, "access-1"), (TOKEN, "refresh-1"), (POST, "access-2")];
    assert_eq!(asked, [&renewal[..], &[(POST, "access-2")]].concat(), "the new token is kept");
    assert_eq!((history(&world).await.len(), used(&world).await), (2, 2));
}

#[tokio::test]
async fn a_revoked_account_has_to_be_connected_anew() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    x.revoke();
    let refused = post_with(&world, "k", posting).await.expect(422);
    assert_eq!(refused.string("/code"), "channel_not_connected");
    assert_eq!(refused.messages(), ["x does not accept the account's tokens any more: connect it anew"]);
    assert_eq!((x.count(POST), x.count(TOKEN)), (1, 1));
    let channel = world.get("/api/v1/channels").await.expect(200).body["x"].take();
    assert_eq!((&channel["connected"], &channel["status"]), (&json!(false), &json!("expired")));
    assert!(channel["detail"].as_str().is_some_and(|detail| detail.contains("anew")), "{channel}");
    assert_eq!((channel["usage"]["used"].as_u64(), history(&world).await.len()), (Some(0), 0));
    assert_eq!(x.count(ME), 0, "what the post has found out is known");
}

/// X has certainly not taken the post: there is no trace of it, and the key is free.
#[tokio::test]
async fn a_definite_refusal_leaves_no_trace_and_frees_the_key() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let duplicate =
        problem(403, "Forbidden", "You are not allowed to create a Tweet with duplicate content.");
    let limited = |reset: &[(&str, &str)]| {
        let headers = reset.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Play::With(429, headers, r#"{"title": "Too Many Requests"}"#.to_owned())
    };
    // 2026-11-20T09:45:00Z, fifteen minutes from now, and a minute ago.
    let (ahead, past) = ("1795167900", "1795166940");
    let (invalid, upstream) = ("validation_failed", "upstream_failed");
    let cases = [
        (POST, duplicate, 422, invalid, ""),
        (POST, problem(403, "Forbidden", "You are not permitted to perform this action."), 502, upstream, ""),
        (POST, problem(400, "Invalid Request", "One or more parameters was invalid."), 502, upstream, ""),
        (POST, problem(402, "CreditsDepleted", ""), 502, upstream, ""),
        (POST, Play::Html(404), 502, upstream, ""),
        (POST, limited(&[("x-rate-limit-reset", ahead)]), 502, upstream, "900"),
        (POST, limited(&[("x-rate-limit-reset", past)]), 502, upstream, "1"),
        (POST, limited(&[]), 502, upstream, ""),
        (POST, problem(401, "Unauthorized", ""), 422, "channel_not_connected", ""),
        (TOKEN, Play::Json(500, json!({})), 502, upstream, ""),
        (TOKEN, Play::Json(401, json!({ "error": "unauthorized_client" })), 502, upstream, ""),
        (TOKEN, limited(&[("x-rate-limit-reset", ahead)]), 502, upstream, "900"),
    ];
    for (made, (route, play, status, code, retry_after)) in cases.into_iter().enumerate() {
        let key = format!("k{made}");
        let case = format!("{route} {play:?}");
        if route == TOKEN {
            x.revoke_access();
        }
        x.play(route, play);
        let refused = post_with(&world, &key, posting).await.expect(status);
        assert_eq!((refused.string("/code"), refused.header("retry-after")), (code, retry_after), "{case}");
        assert!(!refused.string("/error").contains("may or may not"), "{case}: {}", refused.text);
        assert_eq!((history(&world).await.len(), used(&world).await), (made, made as u64), "{case}");
        x.heal();
        let posted = post_with(&world, &key, posting).await.expect(201);
        assert_eq!(posted.header("idempotency-replayed"), "", "{case}");
        assert_eq!((history(&world).await.len(), used(&world).await), (made + 1, made as u64 + 1), "{case}");
    }
}

#[tokio::test]
async fn an_x_that_cannot_be_reached_has_posted_nothing() {
    let world = World::with_services(services("http://127.0.0.1:0")).await;
    let account =
        crate::fake_x::account(&world, Mode::Live, &crate::fake_x::keys(&["k1"]), "2026-11-20T11:30:00Z");
    crate::fake_x::connect(&world, Mode::Live, &account).await;
    let posting = live_posting(&world).await;
    for _ in 0..2 {
        let refused = post_with(&world, "k", posting).await.expect(502);
        assert_eq!(refused.string("/error"), "X could not be reached");
    }
    assert_eq!((history(&world).await.len(), used(&world).await), (0, 0));
}

/// X may have taken the post: that is said, and a repetition says the same without asking X again, whatever has
/// become of the account's tokens.
#[tokio::test]
async fn what_is_not_known_is_said_and_never_posted_twice() {
    for play in [
        Play::Json(500, json!({ "title": "Internal Error" })),
        Play::Json(201, json!({ "data": {} })),
        Play::Html(200),
        Play::Html(503),
        Play::Nothing,
        Play::Half(200, json!({ "data": { "id": "19" } })),
        Play::Long(200, json!({ "data": { "id": "19" } })),
        Play::Redirect,
        Play::Hang,
    ] {
        let case = format!("{play:?}");
        let (world, x) = connected().await;
        let posting = live_posting(&world).await;
        x.play(POST, play);
        let uncertain = post_with(&world, "k", posting).await.expect(502);
        assert_eq!(uncertain.string("/code"), "upstream_failed", "{case}");
        assert!(
            uncertain.string("/error").contains("may or may not have been published"),
            "{}",
            uncertain.text
        );
        x.heal();
        let shown = history(&world).await;
        assert_eq!((shown.len(), &shown[0]["external_id"]), (1, &Value::Null), "{case}");
        assert_eq!((&shown[0]["url"], &shown[0]["posted_at"]), (&Value::Null, &Value::Null), "{case}");
        for time in ["2026-11-20T09:30:01Z", "2026-11-20T09:32:00Z", "2026-11-20T13:00:00Z"] {
            world.hands.set(time);
            let again = post_with(&world, "k", posting).await.expect(502);
            assert_eq!(again.body["error"], uncertain.body["error"], "{case} {time}");
        }
        let other = live_posting(&world).await;
        assert_eq!(post_with(&world, "k", other).await.expect(422).string("/code"), "idempotency_mismatch");
        assert_eq!(x.asked().len(), 1, "{case}: {:?}", x.asked());
        post(&world, posting).await.expect(201);
        assert_eq!(
            (x.count(POST), history(&world).await.len()),
            (2, 2),
            "{case}: without the key it is a new post"
        );
    }
}

#[tokio::test]
async fn a_repetition_is_answered_without_x_whatever_has_changed() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let first = post_with(&world, "k", posting).await.expect(201);
    let asked = x.asked();
    let again = async |case: &str| {
        let again = post_with(&world, "k", posting).await.expect(201);
        assert_eq!((&again.body, again.header("idempotency-replayed")), (&first.body, "true"), "{case}");
        assert_eq!(x.asked(), asked, "{case}");
    };
    again("at once").await;
    world.hands.set("2026-11-20T13:00:00Z");
    again("the access token has ended").await;
    x.revoke();
    again("the account is gone").await;
    x.play(TOKEN, Play::Html(500));
    again("X is down").await;
    world.post(&format!("/api/v1/job_postings/{posting}/unpublish"), json!({})).await.expect(200);
    again("the posting is offline").await;
}

#[tokio::test]
async fn without_a_key_every_request_is_a_post() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let (one, two) = (post(&world, posting).await.expect(201), post(&world, posting).await.expect(201));
    assert_ne!(one.body["external_id"], two.body["external_id"]);
    assert_eq!((x.count(POST), used(&world).await), (2, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_request_many_times_at_once_posts_once() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let answers = join_all((0..20).map(|_| post_with(&world, "k", posting))).await;
    assert_eq!(x.count(POST), 1);
    let made: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
    assert!(made.iter().all(|answer| answer.body == made[0].body));
    assert_eq!(made.iter().filter(|answer| answer.header("idempotency-replayed").is_empty()).count(), 1);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        assert_eq!((answer.status, answer.string("/code")), (409, "conflict"), "{}", answer.text);
    }
    assert_eq!((history(&world).await.len(), used(&world).await), (1, 1));
}

#[tokio::test]
async fn a_post_that_could_not_be_written_down_was_not_made() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    for fault in [Fault::Throttled, Fault::Unreachable, Fault::Internal] {
        world.wire.play(move |operation, _| (operation == "TransactWriteItems").then(|| fault.clone()));
        assert_eq!(post_with(&world, "k", posting).await.expect(503).string("/code"), "unavailable");
        world.wire.play(|_, _| None);
    }
    assert_eq!((x.asked().len(), history(&world).await.len()), (0, 0));
    post_with(&world, "k", posting).await.expect(201);
}

/// X has said yes, and it could not be kept. Nobody may find out by posting again.
#[tokio::test]
async fn a_yes_that_could_not_be_kept_is_not_asked_for_again() {
    for fault in [Fault::Throttled, Fault::Unreachable] {
        let (world, x) = connected().await;
        let posting = live_posting(&world).await;
        let fake = x.fake.clone();
        world.wire.play(move |operation, _| {
            (operation == "TransactWriteItems" && count(&fake, POST) > 0).then(|| fault.clone())
        });
        assert_eq!(post_with(&world, "k", posting).await.expect(503).string("/code"), "unavailable");
        world.wire.play(|_, _| None);
        tokio::time::pause();
        assert_eq!(post_with(&world, "k", posting).await.expect(409).string("/code"), "conflict");
        tokio::time::resume();
        world.hands.set("2026-11-20T09:31:00Z");
        let again = post_with(&world, "k", posting).await.expect(502);
        assert!(again.string("/error").contains("may or may not"), "{}", again.text);
        assert_eq!(x.count(POST), 1);
        let shown = history(&world).await;
        assert_eq!((shown.len(), &shown[0]["external_id"]), (1, &Value::Null));
    }
}

/// The post was written down and kept, and the answer to that was lost.
#[tokio::test]
async fn a_lost_answer_of_the_last_transaction_is_found_again() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let fake = x.fake.clone();
    world.wire.play(move |operation, _| {
        (operation == "TransactWriteItems" && count(&fake, POST) > 0).then_some(Fault::AnswerLost)
    });
    post_with(&world, "k", posting).await.expect(503);
    world.wire.play(|_, _| None);
    let again = post_with(&world, "k", posting).await.expect(201);
    assert_eq!((again.string("/external_id"), x.count(POST)), ("1900000000000000001", 1));
}

#[tokio::test]
async fn a_lost_answer_of_the_first_transaction_never_leads_to_two_posts() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let lost = std::sync::atomic::AtomicBool::new(false);
    world.wire.play(move |operation, _| {
        let first =
            operation == "TransactWriteItems" && !lost.swap(true, std::sync::atomic::Ordering::Relaxed);
        first.then_some(Fault::AnswerLost)
    });
    post_with(&world, "once", posting).await.expect(201);
    assert_eq!(
        (x.count(POST), history(&world).await.len()),
        (1, 1),
        "asked again, DynamoDB knows it has done it"
    );
    let before = (x.count(POST), history(&world).await.len());

    world.wire.play(|operation, _| (operation == "TransactWriteItems").then_some(Fault::AnswerLost));
    post_with(&world, "always", posting).await.expect(503);
    world.wire.play(|_, _| None);
    world.hands.set("2026-11-20T09:31:00Z");
    post_with(&world, "always", posting).await.expect(502);
    let after = (x.count(POST), history(&world).await.len());
    assert_eq!(after, (before.0, before.1 + 1), "X has not been asked");
}

/// A day's count is that of the day on which the post was begun, also where it is taken back.
#[tokio::test]
async fn a_withdrawn_post_is_taken_from_the_day_that_counted_it() {
    let (world, x) = connected_until("2026-11-21T11:30:00Z").await;
    let posting = live_posting(&world).await;
    world.hands.set("2026-11-20T23:59:59Z");
    post(&world, posting).await.expect(201);
    let hands = world.hands.clone();
    x.revoke();
    x.meanwhile(move || hands.set("2026-11-21T00:00:05Z"));
    post(&world, posting).await.expect(422);
    assert_eq!(used(&world).await, 0);
    world.hands.set("2026-11-20T23:59:59Z");
    assert_eq!(used(&world).await, 1);
}
