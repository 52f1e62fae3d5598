//! The tokens of an account on X: refreshed once, stored before use, and always encrypted at rest.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use shared::config::Services;
use shared::model::{ChannelStatus, Mode, XConnection};
use shared::secret::Secret;
use shared::services::accounts::{connect_whatsapp, reseal_x};
use shared::store::Transaction;
use tests::fake::FakeResponse;
use tests::interceptor::{Fault, written};
use tests::{ACME, TestApi, tenant};

use crate::fake_x::{
    FakeX, ME, POST, TOKEN, account, connect, connected, connected_until, count, keys, services,
};
use crate::x_posts::{history, live_posting, post};

async fn stored(api: &TestApi) -> XConnection {
    api.store().find_x_connection(tenant(ACME, Mode::Live)).await.unwrap().unwrap()
}

/// Returns whether a call stores the result of a token refresh, which is the account without a lease.
fn stores_refreshed_tokens(operation: &str, request: &Value) -> bool {
    let item = written(&request["TransactItems"][0]);
    operation == "TransactWriteItems" && item["sk"]["S"] == "x" && item["leased_until"]["NULL"] == true
}

fn requests_of(x: &FakeX) -> Vec<String> {
    x.requests().into_iter().map(|(route, token)| format!("{route} {token}")).collect()
}

#[tokio::test]
async fn a_token_that_is_about_to_expire_is_refreshed_before_use() {
    let refreshed: &[&str] = &["POST /2/oauth2/token refresh-1", "POST /2/tweets access-2"];
    let unchanged: &[&str] = &["POST /2/tweets access-1"];
    for (expires_at, expected) in [
        ("2026-11-20T09:29:59.000Z", refreshed),
        ("2026-11-20T09:31:00.000Z", refreshed),
        ("2026-11-20T09:31:01.000Z", unchanged),
    ] {
        let (api, x) = connected_until(expires_at).await;
        let posting = live_posting(&api).await;
        post(&api, posting).await.expect(201);
        assert_eq!(requests_of(&x), expected, "{expires_at}");
        post(&api, posting).await.expect(201);
        assert_eq!((x.count(TOKEN), x.count(POST)), (expected.len() - 1, 2), "{expires_at}: one refresh");
    }
}

#[tokio::test]
async fn the_new_pair_is_stored_before_it_is_used() {
    let (api, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&api).await;
    let requests_before = Arc::new(Mutex::new(Vec::new()));
    let (seen, fake) = (requests_before.clone(), x.fake.clone());
    api.dynamodb.inject_faults(move |operation, request| {
        if stores_refreshed_tokens(operation, request) {
            seen.lock().unwrap().push((count(&fake, TOKEN), count(&fake, POST)));
        }
        None
    });
    post(&api, posting).await.expect(201);
    assert_eq!(*requests_before.lock().unwrap(), [(1, 0)], "after the refresh and before the post");

    api.clock.set("2026-11-20T11:30:00Z");
    api.dynamodb.inject_faults(|operation, request| {
        stores_refreshed_tokens(operation, request).then_some(Fault::Unreachable)
    });
    assert_eq!(post(&api, posting).await.expect(503).string("/code"), "unavailable");
    assert_eq!((x.count(TOKEN), x.count(POST)), (2, 1), "a pair that is not stored is not used");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_requests_refresh_the_tokens_once() {
    for expired in [true, false] {
        let (api, x) =
            connected_until(if expired { "2026-11-20T09:30:00Z" } else { "2026-11-20T11:30:00Z" }).await;
        let posting = live_posting(&api).await;
        x.revoke_access();
        let responses = join_all((0..20).map(|_| post(&api, posting))).await;
        for response in responses {
            response.expect(201);
        }
        let sent: Vec<_> = requests_of(&x).into_iter().filter(|request| request.starts_with(TOKEN)).collect();
        assert_eq!(sent, ["POST /2/oauth2/token refresh-1"], "expired: {expired}");
        let posts_made =
            requests_of(&x).into_iter().filter(|request| request == "POST /2/tweets access-2").count();
        assert_eq!(posts_made, 20);
        if expired {
            assert_eq!(x.count(POST), 20, "an expired token is not sent");
        }
        assert_eq!(history(&api).await.len(), 20);
    }
}

#[tokio::test]
async fn an_abandoned_lease_is_taken_over_when_it_expires() {
    let (api, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&api).await;
    let leased_until = Some("2026-11-20T09:30:20Z".parse().unwrap());
    connect(&api, Mode::Live, &XConnection { leased_until, ..stored(&api).await }).await;
    api.clock.set("2026-11-20T09:30:19Z");
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    post(&api, posting).await.expect(503);
    let waited = before.elapsed();
    tokio::time::resume();
    assert!((Duration::from_secs(10)..Duration::from_secs(12)).contains(&waited), "{waited:?}");
    assert_eq!((x.requests().len(), history(&api).await.len()), (0, 0));
    api.clock.set("2026-11-20T09:30:20Z");
    post(&api, posting).await.expect(201);
    assert_eq!(requests_of(&x)[..2], ["POST /2/oauth2/token refresh-1", "POST /2/tweets access-2"]);
}

/// Another request changes the account just before this one takes the lease.
#[tokio::test]
async fn a_request_that_does_not_get_the_lease_reads_the_account_again() {
    for (status, expected) in [(ChannelStatus::Expired, 422), (ChannelStatus::Connected, 201)] {
        let (api, x) = connected_until("2026-11-20T09:30:00Z").await;
        let posting = live_posting(&api).await;
        let mut changed = stored(&api).await;
        changed.version += 1;
        changed.standing.status = status;
        let (store, mut transaction) = (api.store().clone(), Transaction::new(tenant(ACME, Mode::Live)));
        transaction.put_x_connection(&changed).unwrap();
        api.dynamodb.run_before("TransactWriteItems", async move {
            store.commit(transaction).await.unwrap();
        });
        post(&api, posting).await.expect(expected);
        assert_eq!(x.count(TOKEN), usize::from(expected == 201), "{status:?}");
    }
}

#[tokio::test]
async fn tokens_that_x_refused_once_are_tried_again_by_the_next_request() {
    let (api, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&api).await;
    x.reply_with(TOKEN, FakeResponse::Json(400, json!({ "error": "invalid_grant" })));
    post(&api, posting).await.expect(422);
    x.reply_normally();
    post(&api, posting).await.expect(201);
    assert_eq!(x.count(TOKEN), 2);
}

#[tokio::test]
async fn a_refresh_holds_a_lease_of_twenty_seconds_and_releases_it() {
    let (api, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&api).await;
    for failure in [
        None,
        Some(FakeResponse::Html(500)),
        Some(FakeResponse::Json(400, json!({ "error": "invalid_grant" }))),
    ] {
        connect(&api, Mode::Live, &account(&api, Mode::Live, &keys(&["k1"]), "2026-11-20T09:30:00Z")).await;
        match failure {
            None => x.reply_normally(),
            Some(failure) => x.reply_with(TOKEN, failure),
        }
        api.dynamodb.take_calls();
        post(&api, posting).await;
        let written: Vec<_> = api
            .dynamodb
            .take_calls()
            .iter()
            .map(|call| written(&call.request["TransactItems"][0]))
            .filter(|item| item["sk"]["S"] == "x")
            .map(|item| item["leased_until"].clone())
            .collect();
        assert_eq!(written, [json!({ "S": "2026-11-20T09:30:20.000Z" }), json!({ "NULL": true })]);
    }
}

/// Pauses `x` during its next token refresh. Returns a function that waits for the refresh and one that lets it
/// continue.
fn pause_refresh(x: &FakeX) -> (impl Fn(), impl Fn()) {
    let (entered, entering) = mpsc::channel();
    let (leave, leaving) = mpsc::channel();
    x.during_refresh(move || {
        entered.send(()).unwrap();
        leaving.recv_timeout(Duration::from_mins(1)).unwrap();
    });
    let wait_for_refresh =
        move || tokio::task::block_in_place(|| entering.recv_timeout(Duration::from_mins(1)).unwrap());
    (wait_for_refresh, move || leave.send(()).unwrap())
}

/// While the old token is invalid and the new one has not arrived, the account must not be reported as expired.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_status_check_during_a_refresh_loses_no_tokens() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    x.revoke_access();
    let (wait_for_refresh, resume_refresh) = pause_refresh(&x);
    let check_status = async {
        wait_for_refresh();
        assert_eq!(api.get("/api/v1/channels").await.expect(200).string("/x/status"), "connected");
        resume_refresh();
    };
    let (posted, ()) = join(post(&api, posting), check_status).await;
    posted.expect(201);
    assert_eq!(api.get("/api/v1/channels").await.expect(200).string("/x/status"), "connected");
    post(&api, posting).await.expect(201);
    assert_eq!((x.count(TOKEN), x.count(ME)), (1, 1));
}

/// The lease expires while the refresh is running, and X rejects another request's refresh because the token was used.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tokens_that_arrive_late_are_stored() {
    let (api, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&api).await;
    let (wait_for_refresh, resume_refresh) = pause_refresh(&x);
    let concurrent_post = async {
        wait_for_refresh();
        api.clock.set("2026-11-20T09:30:20Z");
        post(&api, posting).await.expect(422);
        resume_refresh();
    };
    let (posted, ()) = join(post(&api, posting), concurrent_post).await;
    posted.expect(201);
    assert_eq!(api.get("/api/v1/channels").await.expect(200).string("/x/status"), "connected");
    post(&api, posting).await.expect(201);
    assert_eq!((x.count(TOKEN), x.count(POST)), (2, 2));
}

#[tokio::test]
async fn a_lost_response_when_storing_tokens_loses_no_tokens() {
    let (api, x) = connected_until("2026-11-20T09:30:00Z").await;
    let posting = live_posting(&api).await;
    api.dynamodb.inject_faults(|operation, request| {
        stores_refreshed_tokens(operation, request).then_some(Fault::ResponseLost)
    });
    post(&api, posting).await.expect(201);
    assert_eq!(requests_of(&x)[..2], ["POST /2/oauth2/token refresh-1", "POST /2/tweets access-2"]);
}

#[tokio::test]
async fn storing_tokens_is_tried_five_times() {
    for (conflicts, status) in [(4, 201), (5, 503)] {
        let (api, x) = connected_until("2026-11-20T09:30:00Z").await;
        let posting = live_posting(&api).await;
        let attempts = AtomicUsize::new(0);
        api.dynamodb.inject_faults(move |operation, request| {
            let is_attempt = stores_refreshed_tokens(operation, request);
            (is_attempt && attempts.fetch_add(1, Ordering::Relaxed) < conflicts).then_some(Fault::Conflict)
        });
        post(&api, posting).await.expect(status);
        assert_eq!(x.count(TOKEN), 1);
    }
}

#[tokio::test]
async fn tokens_are_never_stored_in_plain_text() {
    let (api, x) = connected().await;
    let tenant = tenant(ACME, Mode::Live);
    let account = account(&api, Mode::Live, &keys(&["k1"]), "2026-11-20T09:30:00Z");
    connect(&api, Mode::Live, &account).await;
    let token = Secret::new("whatsapp-1");
    let number = "106540352242922".to_owned();
    let whatsapp = connect_whatsapp(tenant, number, &token, &keys(&["k1"]), &api.environment.random).unwrap();
    let mut transaction = Transaction::new(tenant);
    transaction.put_whatsapp_connection(&whatsapp).unwrap();
    api.store().commit(transaction).await.unwrap();
    let posting = live_posting(&api).await;
    post(&api, posting).await.expect(201);
    api.get("/api/v1/channels").await.expect(200);
    api.get("/api/v1/channels/x/posts").await.expect(200);
    let calls = api.dynamodb.take_calls();
    let actions: Vec<_> = calls
        .iter()
        .flat_map(|call| call.request["TransactItems"].as_array().into_iter().flatten())
        .collect();
    for (name, token) in [("x", "access"), ("x", "refresh"), ("whatsapp", "token")] {
        let items = actions.iter().map(|action| written(action)).filter(|item| item["sk"]["S"] == name);
        let keys: Vec<_> = items.map(|item| item[token]["M"]["key"]["S"].clone()).collect();
        let keys: Vec<_> = keys.iter().filter(|key| !key.is_null()).collect();
        assert!(!keys.is_empty() && keys.iter().all(|key| **key == "k1"), "{name} {token}: {keys:?}");
    }
    assert_eq!(x.count(TOKEN), 1);
    for call in &calls {
        let text = format!("{} {}", call.request, call.response);
        for plain in ["access-1", "refresh-1", "access-2", "refresh-2", "whatsapp-1", "s3cret"] {
            assert!(!text.contains(plain), "{plain} in {text}");
        }
    }
}

#[tokio::test]
async fn a_new_key_encrypts_while_the_old_one_still_decrypts() {
    let x = FakeX::start().await;
    let sealing_keys = Some(keys(&["k2", "k1"]));
    let api = TestApi::with_services(Services { sealing_keys, ..services(&x.fake.url) }).await;
    connect(&api, Mode::Live, &account(&api, Mode::Live, &keys(&["k1"]), "2026-11-20T11:30:00Z")).await;
    let posting = live_posting(&api).await;
    post(&api, posting).await.expect(201);
    assert_eq!(stored(&api).await.access.key, "k1", "a valid token is not encrypted again");
    api.clock.set("2026-11-20T11:30:00Z");
    post(&api, posting).await.expect(201);
    let refreshed = stored(&api).await;
    assert_eq!((refreshed.access.key.as_str(), refreshed.refresh.key.as_str()), ("k2", "k2"));
    post(&api, posting).await.expect(201);
    assert_eq!(
        requests_of(&x),
        [
            "POST /2/tweets access-1",
            "POST /2/oauth2/token refresh-1",
            "POST /2/tweets access-2",
            "POST /2/tweets access-2"
        ]
    );
}

#[tokio::test]
async fn a_connection_is_encrypted_again_if_only_one_of_its_tokens_has_an_older_key() {
    let api = TestApi::new().await;
    let (both, random) = (keys(&["k2", "k1"]), &api.environment.random);
    let [older, newer] =
        [&keys(&["k1"]), &both].map(|keys| account(&api, Mode::Live, keys, "2026-11-20T11:30:00Z"));
    for (connection, is_encrypted_again) in [
        (older.clone(), true),
        (XConnection { access: newer.access.clone(), ..older.clone() }, true),
        (XConnection { refresh: newer.refresh.clone(), ..older }, true),
        (newer, false),
    ] {
        let again = reseal_x(tenant(ACME, Mode::Live), &connection, &both, random).unwrap();
        let keys = again.as_ref().map(|again| (again.access.key.as_str(), again.refresh.key.as_str()));
        assert_eq!(keys, is_encrypted_again.then_some(("k2", "k2")));
        assert!(again.is_none_or(|again| again.version == connection.version + 1));
    }
}

#[tokio::test]
async fn a_token_moved_from_another_tenant_or_field_cannot_be_decrypted() {
    let (api, x) = connected().await;
    let posting = live_posting(&api).await;
    let valid = stored(&api).await;
    let of_test_mode = account(&api, Mode::Test, &keys(&["k1"]), "2026-11-20T11:30:00Z");
    let swapped = XConnection { access: valid.refresh.clone(), refresh: valid.access.clone(), ..valid };
    for moved in [of_test_mode, swapped] {
        connect(&api, Mode::Live, &moved).await;
        let refused = post(&api, posting).await.expect(422);
        assert_eq!(refused.string("/code"), "channel_not_connected");
        assert_eq!(api.get("/api/v1/channels").await.expect(200).string("/x/status"), "error");
    }
    assert_eq!((x.requests().len(), history(&api).await.len()), (0, 0));
}
