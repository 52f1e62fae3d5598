//! The history of posts to X, and the figures in it.

use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Mode, Post, Style};
use shared::store::Writes;
use tests::fake::Play;
use tests::wire::Fault;
use tests::{ACME, Answer, BASE_URL, World, tenant};

use crate::fake_x::{
    READ, TOKEN, account, connect, connected, connected_until, ids, keys, problem, services,
};
use crate::x_posts::{history, live_posting, post};

const PATH: &str = "/api/v1/channels/x/posts";

fn shown(page: &Answer) -> Vec<u64> {
    page.body["data"].as_array().into_iter().flatten().filter_map(|post| post["id"].as_u64()).collect()
}

/// A post's likes, reposts, replies, link clicks, and when that was.
fn figures(post: &Value) -> Value {
    json!([post["likes"], post["reposts"], post["replies"], post["link_clicks"], post["metrics_at"]])
}

fn operations(world: &World) -> Vec<String> {
    world.wire.take().into_iter().map(|call| call.operation).collect()
}

#[tokio::test]
async fn the_history_is_newest_first_and_comes_in_pages() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.insert(0, post(&world, posting).await.expect(201).number("/id"));
    }
    let first = world.get(&format!("{PATH}?limit=2")).await.expect(200);
    let cursor = first.string("/next_cursor");
    let next = format!("{PATH}?limit=2&cursor={cursor}");
    assert_eq!(first.header("link"), format!("<{BASE_URL}{next}>; rel=\"next\""));
    let second = world.get(&next).await.expect(200);
    let third =
        world.get(&format!("{PATH}?limit=2&cursor={}", second.string("/next_cursor"))).await.expect(200);
    assert_eq!([shown(&first), shown(&second), shown(&third)].concat(), all);
    assert_eq!(third.body["next_cursor"], Value::Null);
    let asked: Vec<_> = x.fake.requests().iter().filter(|request| request.method == "GET").map(ids).collect();
    let expected = [["5", "4"].as_slice(), &["3", "2"], &["1"]];
    let expected =
        expected.map(|page| page.iter().map(|n| format!("190000000000000000{n}")).collect::<Vec<_>>());
    assert_eq!(asked, expected, "each page's own figures, in one call");
    world.get(&format!("{PATH}?status=x")).await.expect(422);
    world.get("/api/v1/roles?limit=1").await.expect(200);
    world.get(&format!("/api/v1/roles?cursor={cursor}")).await.expect(400);
}

#[tokio::test]
async fn only_figures_older_than_15_minutes_are_asked_for() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let read = async |time: &str, expected: &[&str]| {
        world.hands.set(time);
        let before = x.fake.requests().len();
        world.wire.take();
        world.get(PATH).await.expect(200);
        let asked: Vec<_> = x.fake.requests()[before..].iter().map(ids).collect();
        if expected.is_empty() {
            assert!(asked.is_empty(), "{time}: {asked:?}");
            assert_eq!(operations(&world), ["UpdateItem", "Query"], "{time}");
        } else {
            let expected: Vec<_> = expected.iter().map(|n| format!("190000000000000000{n}")).collect();
            assert_eq!(asked, [expected], "{time}");
            assert_eq!(
                operations(&world),
                ["UpdateItem", "Query", "GetItem", "TransactWriteItems"],
                "{time}"
            );
        }
    };
    post(&world, posting).await.expect(201);
    read("2026-11-20T09:30:00Z", &["1"]).await;
    read("2026-11-20T09:45:00Z", &[]).await;
    post(&world, posting).await.expect(201);
    read("2026-11-20T09:45:00Z", &["2"]).await;
    read("2026-11-20T09:45:01Z", &["1"]).await;
    read("2026-11-20T10:00:01Z", &["2"]).await;
    read("2026-11-20T10:20:00Z", &["2", "1"]).await;
    read("2026-11-20T10:35:00Z", &[]).await;
}

#[tokio::test]
async fn a_page_of_100_is_one_call_and_what_x_has_not_confirmed_is_not_asked_for() {
    let (world, x) = connected().await;
    let now = world.environment.clock.now();
    let on_x = |number: u64| (1_900_000_000_000_000_000 + number).to_string();
    for number in 1..=103 {
        let id = Id::new(number).unwrap();
        let draft = Post::unconfirmed(id, id, Style::Casual, "x".to_owned());
        let confirmed = draft.clone().confirmed(on_x(number), "https://x.com/a".to_owned(), now);
        let mut writes = Writes::new(tenant(ACME, Mode::Live));
        writes.insert_post(if number == 2 { &draft } else { &confirmed }, now).unwrap();
        world.store().commit(writes).await.unwrap();
        x.set_figures(&on_x(number), json!({ "public_metrics": { "like_count": number } }));
    }
    let first = format!("{PATH}?limit=100");
    world.wire.take();
    let page = world.get(&first).await.expect(200);
    let second = format!("{first}&cursor={}", page.string("/next_cursor"));
    assert_eq!(operations(&world), ["UpdateItem", "Query", "GetItem", "TransactWriteItems"]);
    let rest = world.get(&second).await.expect(200);
    let asked: Vec<_> = x.fake.requests().iter().map(ids).collect();
    assert_eq!(asked, [(4..=103).rev().map(on_x).collect(), [3, 1].map(on_x).to_vec()]);
    for post in [&page, &rest].into_iter().flat_map(|page| page.body["data"].as_array().unwrap()) {
        let likes = if post["id"] == 2 { Value::Null } else { post["id"].clone() };
        assert_eq!(post["likes"], likes, "each post has its own figures");
    }
    world.wire.take();
    assert_eq!(world.get(&first).await.body, page.body);
    assert_eq!(operations(&world), ["UpdateItem", "Query"], "all of them were kept");
    assert_eq!(x.count(READ), 2);
}

#[tokio::test]
async fn figures_come_in_both_forms_and_what_x_no_longer_says_stays() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let external_id = post(&world, posting).await.expect(201).string("/external_id").to_owned();
    let all = json!([3, 7, 1, 9, "2026-11-20T10:30:00Z"]);
    for (time, said, expected) in [
        (
            "10:00",
            json!({ "public_metrics": { "like_count": 1, "retweet_count": 2, "reply_count": 0, "quote_count": 5 } }),
            json!([1, 2, 0, null, "2026-11-20T10:00:00Z"]),
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
            json!([2, 8, 1, 9, "2026-11-20T11:00:00Z"]),
        ),
    ] {
        world.hands.set(&format!("2026-11-20T{time}:00Z"));
        x.set_figures(&external_id, said);
        let [post] = history(&world).await.try_into().unwrap();
        assert_eq!(figures(&post), expected, "{time}");
    }
}

#[tokio::test]
async fn a_post_that_was_deleted_keeps_its_last_figures() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let [kept, deleted] = [(); 2].map(|()| post(&world, posting));
    let kept = kept.await.expect(201).string("/external_id").to_owned();
    let deleted = deleted.await.expect(201).string("/external_id").to_owned();
    for id in [&kept, &deleted] {
        x.set_figures(
            id,
            json!({ "public_metrics": { "like_count": 5, "repost_count": 5, "reply_count": 5 } }),
        );
    }
    history(&world).await;
    x.forget(&deleted);
    world.hands.set("2026-11-20T10:00:00Z");
    let [newest, oldest] = history(&world).await.try_into().unwrap();
    assert_eq!((&newest["external_id"], &oldest["external_id"]), (&json!(deleted), &json!(kept)));
    assert_eq!(figures(&newest), json!([5, 5, 5, null, "2026-11-20T09:30:00Z"]));
    assert_eq!(figures(&oldest), json!([5, 5, 5, null, "2026-11-20T10:00:00Z"]));
    let before = x.count(READ);
    history(&world).await;
    assert_eq!(x.count(READ), before, "and is not asked for again at once");
    x.forget(&kept);
    world.hands.set("2026-11-20T10:30:00Z");
    let times: Vec<_> = history(&world).await.iter().map(|post| post["metrics_at"].clone()).collect();
    assert_eq!(times, ["2026-11-20T09:30:00Z", "2026-11-20T10:00:00Z"], "all gone");
}

#[tokio::test]
async fn when_x_fails_the_last_figures_are_shown_with_their_time() {
    let (world, x) = connected_until("2026-11-21T09:30:00Z").await;
    let posting = live_posting(&world).await;
    let external_id = post(&world, posting).await.expect(201).string("/external_id").to_owned();
    x.set_figures(
        &external_id,
        json!({ "public_metrics": { "like_count": 4, "repost_count": 3, "reply_count": 2 } }),
    );
    let known = json!([4, 3, 2, null, "2026-11-20T09:30:00Z"]);
    let [post] = history(&world).await.try_into().unwrap();
    assert_eq!(figures(&post), known);
    let cases = [
        (READ, problem(400, "Invalid Request", "no")),
        (READ, problem(403, "Forbidden", "no")),
        (READ, problem(429, "Too Many Requests", "no")),
        (READ, Play::Json(500, json!({}))),
        (READ, Play::Json(200, json!({}))),
        (READ, Play::Json(200, json!([]))),
        (READ, Play::Html(200)),
        (READ, Play::Html(503)),
        (READ, Play::Nothing),
        (READ, Play::Half(200, json!({ "data": { "id": "19" } }))),
        (READ, Play::Long(200, json!({ "data": { "id": "19" } }))),
        (READ, Play::Redirect),
        (READ, Play::Hang),
        (TOKEN, Play::Html(500)),
        (TOKEN, Play::Hang),
        (TOKEN, Play::Json(400, json!({ "error": "invalid_grant" }))),
    ];
    for (minute, (route, play)) in (10..).step_by(2).zip(cases) {
        world.hands.set(&format!("2026-11-20T10:{minute}:00Z"));
        if route == TOKEN {
            let ended = account(&world, Mode::Live, &keys(&["k1"]), "2026-11-20T09:30:00Z");
            connect(&world, Mode::Live, &ended).await;
        }
        let (case, before) = (format!("{route} {play:?}"), x.count(route));
        x.play(route, play);
        let [post] = history(&world).await.try_into().unwrap();
        assert_eq!(figures(&post), known, "{case}");
        assert_eq!(x.count(route), before + 1, "{case}: asked once");
        assert_eq!(figures(&history(&world).await[0]), known, "{case}");
        assert_eq!(x.count(route), before + 1, "{case}: and not by every request");
        x.heal();
    }
    let asked = x.asked().len();
    world.hands.set("2026-11-20T10:50:00Z");
    let unreadable = account(&world, Mode::Live, &keys(&["k9"]), "2026-11-21T09:30:00Z");
    connect(&world, Mode::Live, &unreadable).await;
    assert_eq!(figures(&history(&world).await[0]), known, "the tokens cannot be opened");
    world.hands.set("2026-11-20T10:55:00Z");
    let mut writes = Writes::new(tenant(ACME, Mode::Live));
    writes.delete_x_connection();
    world.store().commit(writes).await.unwrap();
    assert_eq!(figures(&history(&world).await[0]), known, "no account is connected");
    assert_eq!(x.asked().len(), asked);

    connect(&world, Mode::Live, &account(&world, Mode::Live, &keys(&["k1"]), "2026-11-21T09:30:00Z")).await;
    world.hands.set("2026-11-20T11:00:00Z");
    let [post] = history(&world).await.try_into().unwrap();
    assert_eq!(figures(&post), json!([4, 3, 2, null, "2026-11-20T11:00:00Z"]));
}

#[tokio::test]
async fn a_refused_token_is_renewed_and_the_figures_asked_for_once_more() {
    let (world, x) = connected_until("2026-11-21T09:30:00Z").await;
    let posting = live_posting(&world).await;
    let external_id = post(&world, posting).await.expect(201).string("/external_id").to_owned();
    x.set_figures(&external_id, json!({ "public_metrics": { "like_count": 4 } }));
    x.revoke_access();
    assert_eq!(history(&world).await[0]["likes"], 4);
    assert_eq!((x.count(READ), x.count(TOKEN)), (2, 1));
}

#[tokio::test]
async fn an_x_that_cannot_be_reached_hides_no_history() {
    let world = World::with_services(services("http://127.0.0.1:0")).await;
    let (id, now) = (Id::new(7).unwrap(), world.environment.clock.now());
    let post = Post::unconfirmed(id, id, Style::Urgent, "x".to_owned());
    let mut writes = Writes::new(tenant(ACME, Mode::Live));
    writes.insert_post(&post.confirmed("19".to_owned(), "https://x.com/a".to_owned(), now), now).unwrap();
    world.store().commit(writes).await.unwrap();
    connect(&world, Mode::Live, &account(&world, Mode::Live, &keys(&["k1"]), "2026-11-21T09:30:00Z")).await;
    assert_eq!(figures(&history(&world).await[0]), json!([null, null, null, null, null]));
}

#[tokio::test]
async fn figures_that_cannot_be_kept_are_shown_all_the_same() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let external_id = post(&world, posting).await.expect(201).string("/external_id").to_owned();
    x.set_figures(&external_id, json!({ "public_metrics": { "like_count": 4 } }));
    world.wire.play(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Unreachable));
    assert_eq!(history(&world).await[0]["likes"], 4);
}

#[tokio::test]
async fn the_simulators_figures_grow_with_the_clock_and_never_fall() {
    let world = World::new().await;
    let ask = |method, path: &str| world.request(method, path).key(ACME, Mode::Test);
    let body = json!({ "role": { "title": "x" } });
    let posting = ask(Method::POST, "/api/v1/quick_post").json(&body).send().await.number("/job_posting/id");
    let body = json!({ "job_posting_id": posting });
    ask(Method::POST, "/api/v1/channels/x/post").json(&body).send().await.expect(201);
    let mut before = [0; 4];
    let mut likes = Vec::new();
    for (time, measured_at) in [
        ("2026-11-20T09:30:00Z", "2026-11-20T09:30:00Z"),
        ("2026-11-20T09:44:59Z", "2026-11-20T09:30:00Z"),
        ("2026-11-20T09:45:00Z", "2026-11-20T09:45:00Z"),
        ("2026-11-20T13:31:00Z", "2026-11-20T13:30:00Z"),
        ("2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z"),
        ("2026-12-20T09:30:00Z", "2026-12-20T09:30:00Z"),
    ] {
        world.hands.set(time);
        world.wire.take();
        let page = ask(Method::GET, PATH).send().await.expect(200);
        assert_eq!(operations(&world), ["UpdateItem", "Query"]);
        assert_eq!(page.string("/data/0/metrics_at"), measured_at, "{time}");
        let now = ["likes", "reposts", "replies", "link_clicks"]
            .map(|name| page.number(&format!("/data/0/{name}")));
        assert!(now.iter().zip(before).all(|(now, before)| *now >= before), "{time}: {before:?} {now:?}");
        assert_eq!(ask(Method::GET, PATH).send().await.body, page.body, "{time}: the same for the same time");
        likes.push(now[0]);
        before = now;
    }
    assert_eq!((likes[0], likes[1]), (0, 0));
    assert!(likes[3] < likes[4] && likes[4] < likes[5], "{likes:?}");
    world.hands.set("2026-11-20T13:31:00Z");
    let page = ask(Method::GET, PATH).send().await.expect(200);
    assert_eq!(page.number("/data/0/likes"), likes[3], "whatever was looked at before");
}
