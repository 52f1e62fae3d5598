//! The tokens of an account on X: renewed once, stored before they are used, and never written as they are.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use shared::accounts::connect_whatsapp;
use shared::config::Services;
use shared::model::{Mode, XConnection};
use shared::secret::Secret;
use shared::store::Writes;
use tests::fake::Play;
use tests::wire::Fault;
use tests::{ACME, World, tenant};

use crate::fake_x::{
    FakeX, ME, POST, TOKEN, account, connect, connected, connected_until, count, keys, services,
};
use crate::x_posts::{history, live_posting, post};

async fn stored(world: &World) -> XConnection {
    world.store().find_x_connection(tenant(ACME, Mode::Live)).await.unwrap().unwrap()
}

/// Whether a call stores the account without a lease on it: what came of a renewal.
fn keeps(operation: &str, request: &Value) -> bool {
    let item = &request["TransactItems"][0]["Put"]["Item"];
    operation == "TransactWriteItems" && item["sk"]["S"] == "x" && item["leased_until"]["NULL"] == true
}

fn asked(x: &FakeX) -> Vec<String> {
    x.asked().into_iter().map(|(route, token)| format!("{route} {token}")).collect()
}

#[tokio::test]
async fn a_token_that_is_about_to_end_is_renewed_before_it_is_used() {
    let renewed: &[&str] = &["POST /2/oauth2/token refresh-1", "POST /2/tweets access-2"];
    let kept: &[&str] = &["POST /2/tweets access-1"];
    for (ends, expected) in
        [("2026-11-20T09:29:59Z", renewed), ("2026-11-20T09:31:00Z", renewed), ("2026-11-20T09:31:01Z", kept)]
    {
        let (world, x) = connected_until(ends).await;
        let posting = live_posting(&world).await;
        post(&world, posting).await.expect(201);
        assert_eq!(asked(&x), expected, "{ends}");
        post(&world, posting).await.expect(201);
        assert_eq!((x.count(TOKEN), x.count(POST)), (expected.len() - 1, 2), "{ends}: once");
    }
}

#[tokio::test]
async fn the_new_pair_is_stored_before_it_is_used() {
    let (world, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&world).await;
    let asked_before = Arc::new(Mutex::new(Vec::new()));
    let (seen, fake) = (asked_before.clone(), x.fake.clone());
    world.wire.play(move |operation, request| {
        if keeps(operation, request) {
            seen.lock().unwrap().push((count(&fake, TOKEN), count(&fake, POST)));
        }
        None
    });
    post(&world, posting).await.expect(201);
    assert_eq!(*asked_before.lock().unwrap(), [(1, 0)], "after the renewal, before the post");

    world.hands.set("2026-11-20T11:30:00Z");
    world.wire.play(|operation, request| keeps(operation, request).then_some(Fault::Unreachable));
    assert_eq!(post(&world, posting).await.expect(503).string("/code"), "unavailable");
    assert_eq!((x.count(TOKEN), x.count(POST)), (2, 1), "a pair that is not stored is not used");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_need_the_next_pair_at_once_fetch_it_once() {
    for ended in [true, false] {
        let (world, x) =
            connected_until(if ended { "2026-11-20T09:30:00Z" } else { "2026-11-20T11:30:00Z" }).await;
        let posting = live_posting(&world).await;
        x.revoke_access();
        let answers = join_all((0..20).map(|_| post(&world, posting))).await;
        for answer in answers {
            answer.expect(201);
        }
        let sent: Vec<_> = asked(&x).into_iter().filter(|asked| asked.starts_with(TOKEN)).collect();
        assert_eq!(sent, ["POST /2/oauth2/token refresh-1"], "ended: {ended}");
        let made = asked(&x).into_iter().filter(|asked| asked == "POST /2/tweets access-2").count();
        assert_eq!(made, 20);
        if ended {
            assert_eq!(x.count(POST), 20, "nobody tries the token that has ended");
        }
        assert_eq!(history(&world).await.len(), 20);
    }
}

#[tokio::test]
async fn the_lease_of_a_holder_that_died_is_taken_over_when_it_ends() {
    let (world, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&world).await;
    let leased_until = Some("2026-11-20T09:30:20Z".parse().unwrap());
    connect(&world, Mode::Live, &XConnection { leased_until, ..stored(&world).await }).await;
    world.hands.set("2026-11-20T09:30:19Z");
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    post(&world, posting).await.expect(503);
    let waited = before.elapsed();
    tokio::time::resume();
    assert!((Duration::from_secs(10)..Duration::from_secs(12)).contains(&waited), "{waited:?}");
    assert_eq!((x.asked().len(), history(&world).await.len()), (0, 0));
    world.hands.set("2026-11-20T09:30:20Z");
    post(&world, posting).await.expect(201);
    assert_eq!(asked(&x)[..2], ["POST /2/oauth2/token refresh-1", "POST /2/tweets access-2"]);
}

#[tokio::test]
async fn a_renewal_holds_a_lease_of_twenty_seconds_and_gives_it_back() {
    let (world, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&world).await;
    for play in [None, Some(Play::Html(500)), Some(Play::Json(400, json!({ "error": "invalid_grant" })))] {
        connect(&world, Mode::Live, &account(&world, Mode::Live, &keys(&["k1"]), "2026-11-20T09:30:00Z"))
            .await;
        match play {
            None => x.heal(),
            Some(play) => x.play(TOKEN, play),
        }
        world.wire.take();
        post(&world, posting).await;
        let written: Vec<_> = world
            .wire
            .take()
            .iter()
            .map(|call| call.request["TransactItems"][0]["Put"]["Item"].clone())
            .filter(|item| item["sk"]["S"] == "x")
            .map(|item| item["leased_until"].clone())
            .collect();
        assert_eq!(written, [json!({ "S": "2026-11-20T09:30:20Z" }), json!({ "NULL": true })]);
    }
}

/// Has `x` wait in the middle of its next renewal: gives the moment when that is, and the way to let it go on.
fn hold_renewal(x: &FakeX) -> (impl Fn(), impl Fn()) {
    let (entered, entering) = mpsc::channel();
    let (leave, leaving) = mpsc::channel();
    x.meanwhile(move || {
        entered.send(()).unwrap();
        leaving.recv_timeout(Duration::from_mins(1)).unwrap();
    });
    let begun =
        move || tokio::task::block_in_place(|| entering.recv_timeout(Duration::from_mins(1)).unwrap());
    (begun, move || leave.send(()).unwrap())
}

/// The old token is no good, and the new one is on its way: that is no reason to call the account expired.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_look_at_the_channel_during_a_renewal_loses_no_tokens() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    x.revoke_access();
    let (begun, go_on) = hold_renewal(&x);
    let look = async {
        begun();
        assert_eq!(world.get("/api/v1/channels").await.expect(200).string("/x/status"), "connected");
        go_on();
    };
    let (posted, ()) = join(post(&world, posting), look).await;
    posted.expect(201);
    assert_eq!(world.get("/api/v1/channels").await.expect(200).string("/x/status"), "connected");
    post(&world, posting).await.expect(201);
    assert_eq!((x.count(TOKEN), x.count(ME)), (1, 1));
}

/// Whoever renews was given up too early, and somebody else has been told that the refresh token is spent.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_pair_that_comes_late_is_kept_all_the_same() {
    let (world, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&world).await;
    let (begun, go_on) = hold_renewal(&x);
    let overtake = async {
        begun();
        world.hands.set("2026-11-20T09:30:20Z");
        post(&world, posting).await.expect(422);
        go_on();
    };
    let (posted, ()) = join(post(&world, posting), overtake).await;
    posted.expect(201);
    assert_eq!(world.get("/api/v1/channels").await.expect(200).string("/x/status"), "connected");
    post(&world, posting).await.expect(201);
    assert_eq!((x.count(TOKEN), x.count(POST)), (2, 2));
}

#[tokio::test]
async fn a_lost_answer_of_the_pairs_storing_loses_no_tokens() {
    let (world, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&world).await;
    world.wire.play(|operation, request| keeps(operation, request).then_some(Fault::AnswerLost));
    post(&world, posting).await.expect(201);
    assert_eq!(asked(&x)[..2], ["POST /2/oauth2/token refresh-1", "POST /2/tweets access-2"]);
}

#[tokio::test]
async fn tokens_are_never_written_as_they_are() {
    let (world, x) = connected().await;
    let tenant = tenant(ACME, Mode::Live);
    let account = account(&world, Mode::Live, &keys(&["k1"]), "2026-11-20T09:30:00Z");
    connect(&world, Mode::Live, &account).await;
    let token = Secret::new("whatsapp-1");
    let number = "106540352242922".to_owned();
    let whatsapp =
        connect_whatsapp(tenant, number, &token, &keys(&["k1"]), &world.environment.random).unwrap();
    let mut writes = Writes::new(tenant);
    writes.put_whatsapp_connection(&whatsapp).unwrap();
    world.store().commit(writes).await.unwrap();
    let posting = live_posting(&world).await;
    post(&world, posting).await.expect(201);
    world.get("/api/v1/channels").await.expect(200);
    world.get("/api/v1/channels/x/posts").await.expect(200);
    let calls = world.wire.take();
    let items = |name: &str| {
        let puts =
            calls.iter().flat_map(|call| call.request["TransactItems"].as_array().into_iter().flatten());
        let items: Vec<_> =
            puts.map(|action| &action["Put"]["Item"]).filter(|item| item["sk"]["S"] == name).collect();
        assert!(!items.is_empty(), "{name}");
        items
    };
    assert!(items("x").iter().all(|item| item["access"]["M"]["key"]["S"] == "k1"), "the key's id is stored");
    assert!(items("x").iter().all(|item| item["refresh"]["M"]["key"]["S"] == "k1"));
    assert!(items("whatsapp").iter().all(|item| item["token"]["M"]["key"]["S"] == "k1"));
    assert_eq!(x.count(TOKEN), 1);
    for call in &calls {
        let wire = format!("{} {}", call.request, call.response);
        for plain in ["access-1", "refresh-1", "access-2", "refresh-2", "whatsapp-1", "s3cret"] {
            assert!(!wire.contains(plain), "{plain} in {wire}");
        }
    }
}

#[tokio::test]
async fn a_new_sealing_key_seals_while_the_old_one_still_opens() {
    let x = FakeX::start().await;
    let sealing_keys = Some(keys(&["k2", "k1"]));
    let world = World::with_services(Services { sealing_keys, ..services(&x.fake.url) }).await;
    connect(&world, Mode::Live, &account(&world, Mode::Live, &keys(&["k1"]), "2026-11-20T11:30:00Z")).await;
    let posting = live_posting(&world).await;
    post(&world, posting).await.expect(201);
    assert_eq!(stored(&world).await.access.key, "k1", "what is good stays");
    world.hands.set("2026-11-20T11:30:00Z");
    post(&world, posting).await.expect(201);
    let renewed = stored(&world).await;
    assert_eq!((renewed.access.key.as_str(), renewed.refresh.key.as_str()), ("k2", "k2"));
    post(&world, posting).await.expect(201);
    assert_eq!(
        asked(&x),
        [
            "POST /2/tweets access-1",
            "POST /2/oauth2/token refresh-1",
            "POST /2/tweets access-2",
            "POST /2/tweets access-2"
        ]
    );
}

#[tokio::test]
async fn a_token_of_another_tenant_or_place_does_not_open() {
    let (world, x) = connected().await;
    let posting = live_posting(&world).await;
    let good = stored(&world).await;
    let elsewhere = account(&world, Mode::Test, &keys(&["k1"]), "2026-11-20T11:30:00Z");
    let swapped = XConnection { access: good.refresh.clone(), refresh: good.access.clone(), ..good };
    for moved in [elsewhere, swapped] {
        connect(&world, Mode::Live, &moved).await;
        let refused = post(&world, posting).await.expect(422);
        assert_eq!(refused.string("/code"), "channel_not_connected");
        assert_eq!(world.get("/api/v1/channels").await.expect(200).string("/x/status"), "error");
    }
    assert_eq!((x.asked().len(), history(&world).await.len()), (0, 0));
}
