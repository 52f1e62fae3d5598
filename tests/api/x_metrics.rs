//! The history of posts on X and their metrics.

use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Mode, Post, Style};
use shared::providers::x::X;
use shared::store::Transaction;
use tests::fake::FakeResponse;
use tests::interceptor::Fault;
use tests::{ACME, BASE_URL, Response, TestApi, tenant};

use crate::fake_x::{
    CLICKS, FakeX, READ, TOKEN, account, connect, connected, connected_until, keys, problem, services,
};
use crate::x_posts::{history, live_posting, post};

const PATH: &str = "/api/v1/channels/x/posts";

fn ids_shown(page: &Response) -> Vec<u64> {
    page.body["data"].as_array().into_iter().flatten().filter_map(|post| post["id"].as_u64()).collect()
}

/// Returns a post's likes, reposts, replies and link clicks, and the time of these metrics.
fn metrics(post: &Value) -> Value {
    json!([post["likes"], post["reposts"], post["replies"], post["link_clicks"], post["metrics_at"]])
}

fn operations(api: &TestApi) -> Vec<String> {
    api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect()
}

#[tokio::test]
async fn the_history_is_paginated_newest_first() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.insert(0, post(&api, posting).await.expect(201).number("/id"));
    }
    let first = api.get(&format!("{PATH}?limit=2")).await.expect(200);
    let cursor = first.string("/next_cursor");
    let next = format!("{PATH}?limit=2&cursor={cursor}");
    assert_eq!(first.header("link"), format!("<{BASE_URL}{next}>; rel=\"next\""));
    let second = api.get(&next).await.expect(200);
    let third =
        api.get(&format!("{PATH}?limit=2&cursor={}", second.string("/next_cursor"))).await.expect(200);
    assert_eq!([ids_shown(&first), ids_shown(&second), ids_shown(&third)].concat(), all);
    assert_eq!(third.body["next_cursor"], Value::Null);
    let expected = [["5", "4"].as_slice(), &["3", "2"], &["1"]];
    let expected =
        expected.map(|page| page.iter().map(|n| format!("190000000000000000{n}")).collect::<Vec<_>>());
    assert_eq!(x.ids(READ), expected, "one request for the metrics of each page");
    assert_eq!(x.ids(CLICKS), expected, "and one for the clicks");
    api.get(&format!("{PATH}?status=x")).await.expect(422);
    api.get("/api/v1/roles?limit=1").await.expect(200);
    api.get(&format!("/api/v1/roles?cursor={cursor}")).await.expect(400);
}

#[tokio::test]
async fn only_metrics_older_than_15_minutes_are_refreshed() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let read = async |time: &str, expected: &[&str]| {
        api.clock.set(time);
        let before = x.count(READ);
        api.dynamodb.take_calls();
        api.get(PATH).await.expect(200);
        let requested_ids = x.ids(READ).split_off(before);
        if expected.is_empty() {
            assert!(requested_ids.is_empty(), "{time}: {requested_ids:?}");
            assert_eq!(operations(&api), ["UpdateItem", "Query"], "{time}");
        } else {
            let expected: Vec<_> = expected.iter().map(|n| format!("190000000000000000{n}")).collect();
            assert_eq!(requested_ids, [expected], "{time}");
            assert_eq!(operations(&api), ["UpdateItem", "Query", "GetItem", "TransactWriteItems"], "{time}");
        }
    };
    post(&api, posting).await.expect(201);
    read("2026-11-20T09:30:00.000Z", &["1"]).await;
    read("2026-11-20T09:45:00.000Z", &[]).await;
    post(&api, posting).await.expect(201);
    read("2026-11-20T09:45:00.000Z", &["2"]).await;
    read("2026-11-20T09:45:01.000Z", &["1"]).await;
    read("2026-11-20T10:00:01.000Z", &["2"]).await;
    read("2026-11-20T10:20:00.000Z", &["2", "1"]).await;
    read("2026-11-20T10:35:00.000Z", &[]).await;
}

#[tokio::test]
async fn a_page_of_100_posts_needs_two_requests_without_unconfirmed_posts() {
    let (api, x) = connected().await;
    let now = api.environment.clock.now();
    let external_id = |number: u64| (1_900_000_000_000_000_000 + number).to_string();
    for number in 1..=103 {
        let id = Id::new(number).unwrap();
        let draft = Post::unconfirmed(id, id, Style::Casual, "x".to_owned());
        let external_id = external_id(number);
        let url = X::post_url("acme_jobs", &external_id);
        let confirmed = draft.clone().confirmed(external_id.clone(), url, now);
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        transaction.insert_post(if number == 2 { &draft } else { &confirmed }, now).unwrap();
        api.store().commit(transaction).await.unwrap();
        x.set_metrics(&external_id, json!({ "public_metrics": { "like_count": number } }));
    }
    let first = format!("{PATH}?limit=100");
    api.dynamodb.take_calls();
    let page = api.get(&first).await.expect(200);
    let second = format!("{first}&cursor={}", page.string("/next_cursor"));
    assert_eq!(operations(&api), ["UpdateItem", "Query", "GetItem", "TransactWriteItems"]);
    let rest = api.get(&second).await.expect(200);
    assert_eq!(x.ids(READ), x.ids(CLICKS));
    assert_eq!(x.ids(READ), [(4..=103).rev().map(external_id).collect(), [3, 1].map(external_id).to_vec()]);
    for post in [&page, &rest].into_iter().flat_map(|page| page.body["data"].as_array().unwrap()) {
        let likes = if post["id"] == 2 { Value::Null } else { post["id"].clone() };
        assert_eq!(post["likes"], likes, "each post has its own metrics");
    }
    api.dynamodb.take_calls();
    assert_eq!(api.get(&first).await.body, page.body);
    assert_eq!(operations(&api), ["UpdateItem", "Query"], "all metrics were stored");
    assert_eq!(x.count(READ), 2);
}

#[tokio::test]
async fn both_metric_names_are_read_and_missing_metrics_keep_their_value() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let external_id = post(&api, posting).await.expect(201).string("/external_id").to_owned();
    let all = json!([3, 7, 1, 9, "2026-11-20T10:30:00.000Z"]);
    for (time, x_response, expected) in [
        (
            "10:00",
            json!({ "public_metrics": { "like_count": 1, "retweet_count": 2, "reply_count": 0, "quote_count": 5 } }),
            json!([1, 2, 0, null, "2026-11-20T10:00:00.000Z"]),
        ),
        (
            "10:30",
            json!({
                "public_metrics": { "like_count": 3, "repost_count": 7, "retweet_count": 2, "reply_count": 1 },
                "non_public_metrics": { "url_link_clicks": 9, "impression_count": 100 }
            }),
            all.clone(),
        ),
        (
            "11:00",
            json!({ "public_metrics": { "like_count": 2, "repost_count": 8, "reply_count": 1 } }),
            json!([2, 8, 1, 9, "2026-11-20T11:00:00.000Z"]),
        ),
    ] {
        api.clock.set(&format!("2026-11-20T{time}:00Z"));
        x.set_metrics(&external_id, x_response);
        let [post] = history(&api).await.try_into().unwrap();
        assert_eq!(metrics(&post), expected, "{time}");
    }
}

#[tokio::test]
async fn a_deleted_post_keeps_its_last_metrics() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let [kept, deleted] = [(); 2].map(|()| post(&api, posting));
    let kept = kept.await.expect(201).string("/external_id").to_owned();
    let deleted = deleted.await.expect(201).string("/external_id").to_owned();
    for id in [&kept, &deleted] {
        x.set_metrics(
            id,
            json!({ "public_metrics": { "like_count": 5, "repost_count": 5, "reply_count": 5 } }),
        );
    }
    history(&api).await;
    x.delete_post(&deleted);
    api.clock.set("2026-11-20T10:00:00Z");
    let [newest, oldest] = history(&api).await.try_into().unwrap();
    assert_eq!((&newest["external_id"], &oldest["external_id"]), (&json!(deleted), &json!(kept)));
    assert_eq!(metrics(&newest), json!([5, 5, 5, null, "2026-11-20T09:30:00.000Z"]));
    assert_eq!(metrics(&oldest), json!([5, 5, 5, null, "2026-11-20T10:00:00.000Z"]));
    let before = x.count(READ);
    history(&api).await;
    assert_eq!(x.count(READ), before, "a deleted post is not requested again immediately");
    x.delete_post(&kept);
    api.clock.set("2026-11-20T10:30:00Z");
    let times: Vec<_> = history(&api).await.iter().map(|post| post["metrics_at"].clone()).collect();
    assert_eq!(times, ["2026-11-20T09:30:00.000Z", "2026-11-20T10:00:00.000Z"], "all posts are deleted");
}

#[tokio::test]
async fn the_last_metrics_are_shown_with_their_time_when_x_fails() {
    let (api, x) = connected_until("2026-11-21T09:30:00Z").await;
    let posting = live_posting(&api).await;
    let external_id = post(&api, posting).await.expect(201).string("/external_id").to_owned();
    x.set_metrics(
        &external_id,
        json!({ "public_metrics": { "like_count": 4, "repost_count": 3, "reply_count": 2 } }),
    );
    let last_known = json!([4, 3, 2, null, "2026-11-20T09:30:00.000Z"]);
    let [post] = history(&api).await.try_into().unwrap();
    assert_eq!(metrics(&post), last_known);
    let cases = [
        (READ, problem(400, "Invalid Request", "no")),
        (READ, problem(403, "Forbidden", "no")),
        (READ, problem(429, "Too Many Requests", "no")),
        (READ, FakeResponse::Json(500, json!({}))),
        (READ, FakeResponse::Json(200, json!({}))),
        (READ, FakeResponse::Json(200, json!([]))),
        (READ, FakeResponse::Html(200)),
        (READ, FakeResponse::Html(503)),
        (READ, FakeResponse::Close),
        (READ, FakeResponse::Truncated(200, json!({ "data": { "id": "19" } }))),
        (READ, FakeResponse::Oversized(200, json!({ "data": { "id": "19" } }))),
        (READ, FakeResponse::Redirect),
        (READ, FakeResponse::TimeOut),
        (TOKEN, FakeResponse::Html(500)),
        (TOKEN, FakeResponse::TimeOut),
        (TOKEN, FakeResponse::Json(400, json!({ "error": "invalid_grant" }))),
    ];
    for (minute, (route, failure)) in (10..).step_by(2).zip(cases) {
        api.clock.set(&format!("2026-11-20T10:{minute}:00Z"));
        if route == TOKEN {
            let expired = account(&api, Mode::Live, &keys(&["k1"]), "2026-11-20T09:30:00Z");
            connect(&api, Mode::Live, &expired).await;
        }
        let (case, before) = (format!("{route} {failure:?}"), x.count(route));
        x.reply_with(route, failure);
        let [post] = history(&api).await.try_into().unwrap();
        assert_eq!(metrics(&post), last_known, "{case}");
        // A 400 may also mean that X does not know the name of the parameter.
        let after = before + if minute == 10 { 2 } else { 1 };
        assert_eq!(x.count(route), after, "{case}: one request");
        assert_eq!(metrics(&history(&api).await[0]), last_known, "{case}");
        assert_eq!(x.count(route), after, "{case}: no further request");
        x.reply_normally();
    }
    let requests_before = x.requests().len();
    api.clock.set("2026-11-20T10:50:00Z");
    let undecryptable = account(&api, Mode::Live, &keys(&["k9"]), "2026-11-21T09:30:00Z");
    connect(&api, Mode::Live, &undecryptable).await;
    assert_eq!(metrics(&history(&api).await[0]), last_known, "the tokens cannot be decrypted");
    api.clock.set("2026-11-20T10:55:00Z");
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.delete_x_connection();
    api.store().commit(transaction).await.unwrap();
    assert_eq!(metrics(&history(&api).await[0]), last_known, "no account is connected");
    assert_eq!(x.requests().len(), requests_before);

    connect(&api, Mode::Live, &account(&api, Mode::Live, &keys(&["k1"]), "2026-11-21T09:30:00Z")).await;
    api.clock.set("2026-11-20T11:00:00Z");
    let [post] = history(&api).await.try_into().unwrap();
    assert_eq!(metrics(&post), json!([4, 3, 2, null, "2026-11-20T11:00:00.000Z"]));
}

#[tokio::test]
async fn a_rejected_token_is_refreshed_and_the_request_repeated() {
    let (api, x) = connected_until("2026-11-21T09:30:00Z").await;
    let posting = live_posting(&api).await;
    let external_id = post(&api, posting).await.expect(201).string("/external_id").to_owned();
    x.set_metrics(&external_id, json!({ "public_metrics": { "like_count": 4 } }));
    x.revoke_access();
    assert_eq!(history(&api).await[0]["likes"], 4);
    assert_eq!((x.count(READ), x.count(CLICKS), x.count(TOKEN)), (2, 1, 1));
}

/// Stores a post that an account has made at this time, and sets its metrics on X.
async fn posted(api: &TestApi, x: &FakeX, number: u64, username: &str, posted_at: &str) {
    let (id, external_id) = (Id::new(number).unwrap(), number.to_string());
    let draft = Post::unconfirmed(id, id, Style::Casual, "x".to_owned());
    let url = X::post_url(username, &external_id);
    let post = draft.confirmed(external_id.clone(), url, posted_at.parse().unwrap());
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.insert_post(&post, api.environment.clock.now()).unwrap();
    api.store().commit(transaction).await.unwrap();
    let metrics =
        json!({ "public_metrics": { "like_count": number }, "non_public_metrics": { "url_link_clicks": 9 } });
    x.set_metrics(&external_id, metrics);
}

#[tokio::test]
async fn clicks_are_read_for_30_days_and_metrics_for_90_days() {
    let (api, x) = connected_until("2026-11-21T09:30:00Z").await;
    for (number, username, posted_at) in [
        (1, "acme_jobs", "2026-08-22T09:30:00.000Z"),
        (2, "acme_jobs", "2026-08-22T09:30:01.000Z"),
        (3, "acme_jobs", "2026-10-21T09:30:00.000Z"),
        (4, "acme_jobs", "2026-10-21T09:30:01.000Z"),
        (5, "an_earlier_account", "2026-11-20T09:00:00.000Z"),
        (6, "acme_jobs", "2026-11-20T09:00:00.000Z"),
    ] {
        posted(&api, &x, number, username, posted_at).await;
    }
    let shown: Vec<_> =
        history(&api).await.iter().map(|post| json!([post["likes"], post["link_clicks"]])).collect();
    let expected = [
        json!([6, 9]),
        json!([5, null]),
        json!([4, 9]),
        json!([3, null]),
        json!([2, null]),
        json!([null, null]),
    ];
    assert_eq!(shown, expected);
    assert_eq!(x.ids(READ), [["6", "5", "4", "3", "2"]]);
    assert_eq!(x.ids(CLICKS), [["6", "4"]]);

    // What X no longer reports is kept.
    x.set_metrics("4", json!({ "public_metrics": { "like_count": 40 } }));
    api.clock.set("2026-11-20T10:00:00Z");
    let shown = history(&api).await;
    assert_eq!(metrics(&shown[2]), json!([40, null, null, 9, "2026-11-20T10:00:00.000Z"]));
    assert_eq!(x.ids(CLICKS), [["6", "4"].as_slice(), &["6"]]);

    // Without recent posts, nothing private is asked for; without younger ones, nothing at all.
    connect(&api, Mode::Live, &account(&api, Mode::Live, &keys(&["k1"]), "2027-12-01T09:30:00Z")).await;
    api.clock.set("2027-01-01T09:30:00Z");
    history(&api).await;
    assert_eq!((x.count(READ), x.count(CLICKS)), (3, 2));
    api.clock.set("2027-03-01T09:30:00Z");
    assert_eq!(history(&api).await[2]["likes"], 40);
    assert_eq!(x.count(READ), 3);
}

#[tokio::test]
async fn public_metrics_are_kept_when_x_refuses_the_private_ones() {
    let (api, x) = connected_until("2026-11-21T09:30:00Z").await;
    posted(&api, &x, 1, "acme_jobs", "2026-11-20T09:00:00Z").await;
    assert_eq!(metrics(&history(&api).await[0]), json!([1, null, null, 9, "2026-11-20T09:30:00.000Z"]));
    x.set_metrics("1", json!({ "public_metrics": { "like_count": 7 } }));
    for (hour, failure) in
        (10..).zip([problem(403, "Forbidden", "no"), FakeResponse::Html(503), FakeResponse::Close])
    {
        x.reply_with(CLICKS, failure);
        api.clock.set(&format!("2026-11-20T{hour}:00:00Z"));
        let measured_at = format!("2026-11-20T{hour}:00:00.000Z");
        assert_eq!(metrics(&history(&api).await[0]), json!([7, null, null, 9, measured_at]));
    }
}

#[tokio::test]
async fn the_old_name_of_the_parameter_is_tried_once() {
    let (api, x) = connected_until("2026-11-21T09:30:00Z").await;
    x.know_only_old_names();
    posted(&api, &x, 1, "acme_jobs", "2026-11-20T09:00:00Z").await;
    assert_eq!(metrics(&history(&api).await[0]), json!([1, null, null, 9, "2026-11-20T09:30:00.000Z"]));
    assert_eq!((x.count(READ), x.count(CLICKS)), (2, 2));
}

#[tokio::test]
async fn the_history_is_shown_when_x_is_unreachable() {
    let api = TestApi::with_services(services("http://127.0.0.1:0")).await;
    let (id, now) = (Id::new(7).unwrap(), api.environment.clock.now());
    let post = Post::unconfirmed(id, id, Style::Urgent, "x".to_owned());
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction
        .insert_post(&post.confirmed("19".to_owned(), "https://x.com/a".to_owned(), now), now)
        .unwrap();
    api.store().commit(transaction).await.unwrap();
    connect(&api, Mode::Live, &account(&api, Mode::Live, &keys(&["k1"]), "2026-11-21T09:30:00Z")).await;
    assert_eq!(metrics(&history(&api).await[0]), json!([null, null, null, null, null]));
}

#[tokio::test]
async fn metrics_that_cannot_be_stored_are_still_shown() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let external_id = post(&api, posting).await.expect(201).string("/external_id").to_owned();
    x.set_metrics(&external_id, json!({ "public_metrics": { "like_count": 4 } }));
    api.dynamodb
        .inject_faults(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Unreachable));
    assert_eq!(history(&api).await[0]["likes"], 4);
}

#[tokio::test]
async fn the_simulators_metrics_grow_with_time_and_never_fall() {
    let api = TestApi::new().await;
    let request = |method, path: &str| api.request(method, path).key(ACME, Mode::Test);
    let body = json!({ "role": { "title": "x" } });
    let posting =
        request(Method::POST, "/api/v1/quick_post").json(&body).send().await.number("/job_posting/id");
    let body = json!({ "job_posting_id": posting });
    request(Method::POST, "/api/v1/channels/x/post").json(&body).send().await.expect(201);
    let mut before = [0; 4];
    let mut likes = Vec::new();
    for (time, measured_at) in [
        ("2026-11-20T09:30:00.000Z", "2026-11-20T09:30:00.000Z"),
        ("2026-11-20T09:44:59.000Z", "2026-11-20T09:30:00.000Z"),
        ("2026-11-20T09:45:00.000Z", "2026-11-20T09:45:00.000Z"),
        ("2026-11-20T13:31:00.000Z", "2026-11-20T13:30:00.000Z"),
        ("2026-11-21T09:30:00.000Z", "2026-11-21T09:30:00.000Z"),
        ("2026-12-20T09:30:00.000Z", "2026-12-20T09:30:00.000Z"),
    ] {
        api.clock.set(time);
        // The first request of a day also records the use of the key.
        request(Method::GET, "/api/v1/roles").send().await.expect(200);
        api.dynamodb.take_calls();
        let page = request(Method::GET, PATH).send().await.expect(200);
        assert_eq!(operations(&api), ["UpdateItem", "Query"]);
        assert_eq!(page.string("/data/0/metrics_at"), measured_at, "{time}");
        let now = ["likes", "reposts", "replies", "link_clicks"]
            .map(|name| page.number(&format!("/data/0/{name}")));
        assert!(now.iter().zip(before).all(|(now, before)| *now >= before), "{time}: {before:?} {now:?}");
        assert_eq!(
            request(Method::GET, PATH).send().await.body,
            page.body,
            "{time}: the metrics depend only on the time"
        );
        likes.push(now[0]);
        before = now;
    }
    assert_eq!((likes[0], likes[1]), (0, 0));
    assert!(likes[3] < likes[4] && likes[4] < likes[5], "{likes:?}");
    api.clock.set("2026-11-20T13:31:00Z");
    let page = request(Method::GET, PATH).send().await.expect(200);
    assert_eq!(page.number("/data/0/likes"), likes[3], "the metrics do not depend on earlier requests");
}
