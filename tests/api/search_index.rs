//! The feed writes the search index: what a killed or slow run leaves, and what an erasure leaves.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use shared::model::IndexPosition;
use tests::TestApi;
use tests::interceptor::Fault;

use super::feed::{LEASE, pass, poll, run_killed, run_of};

const CANDIDATES: &str = "/api/v1/candidates";

/// The words of all entries in the search index of Acme.
async fn words(api: &TestApi) -> BTreeSet<String> {
    let items = api.stored_items().await;
    let left =
        items.keys().filter(|(pk, _)| pk.starts_with("OUTBOX#") || pk == "1#live#FORMER_WORDS").count();
    assert_eq!(left, 0, "all changes are in the index");
    let entries = items.into_keys().filter(|(pk, _)| pk == "1#live#WORD");
    entries.map(|(_, sk)| IndexPosition::parse(&sk).unwrap().word.to_owned()).collect()
}

fn set<const N: usize>(words: [&str; N]) -> BTreeSet<String> {
    words.map(str::to_owned).into()
}

async fn create(api: &TestApi) -> String {
    let jane = json!({ "name": "Jane Doe", "email": "jane@example.com", "phone": "+14155552671" });
    format!("{CANDIDATES}/{}", api.post(CANDIDATES, jane).await.expect(201).number("/id"))
}

async fn rename(api: &TestApi, path: &str) {
    api.patch(path, json!({ "name": "Ann Lee", "email": "ann@example.com", "phone": null }))
        .await
        .expect(200);
}

async fn erase(api: &TestApi, path: &str) {
    api.post(&format!("{path}/erase"), json!({})).await.expect(202);
    api.run_tasks().await;
}

#[tokio::test]
async fn whatever_a_killed_run_leaves_the_index_has_the_words_of_the_last_change() {
    for erases in [false, true] {
        for calls in 0.. {
            let api = TestApi::new().await;
            let path = create(&api).await;
            let mut was_done = run_killed(&api, calls).await;
            rename(&api, &path).await;
            pass(&api, LEASE);
            was_done &= run_killed(&api, calls).await;
            if erases {
                erase(&api, &path).await;
                pass(&api, LEASE);
                was_done &= run_killed(&api, calls).await;
            }
            pass(&api, LEASE);
            run_of(&api).await.unwrap();
            let expected = if erases { set([]) } else { set(["ann", "com", "example", "lee"]) };
            assert_eq!(words(&api).await, expected, "killed after {calls} calls");
            if was_done {
                assert!(calls > 10, "{calls}");
                break;
            }
        }
    }
}

/// The first time that former words are forgotten, the response is lost.
fn lose_answer_of_forgetting(api: &TestApi) {
    let is_lost = AtomicBool::new(false);
    api.dynamodb.inject_faults(move |operation, request| {
        let is_forgetting = operation == "DeleteItem" && request["Key"]["pk"]["S"] == "1#live#FORMER_WORDS";
        (is_forgetting && !is_lost.swap(true, Ordering::Relaxed)).then_some(Fault::ResponseLost)
    });
}

/// The run is interrupted by a change or an erasure, and by another run if its time is over. It repeats what got no response,
/// after words were added again.
#[tokio::test(start_paused = true)]
async fn a_slow_run_leaves_nothing_of_former_words_and_of_erased_people() {
    // How often a run is polled says how far it is only with the embedded database.
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_some() {
        return;
    }
    let cases =
        [(false, false, 0), (false, true, 0), (true, false, 0), (true, true, LEASE), (true, false, LEASE)];
    for (has_former_words, erases, waits) in cases {
        for polls in 0.. {
            let api = TestApi::new().await;
            let path = create(&api).await;
            if has_former_words {
                run_of(&api).await.unwrap();
                api.patch(&path, json!({ "name": "Joan Roe" })).await.expect(200);
            }
            lose_answer_of_forgetting(&api);
            let mut slow = run_of(&api);
            let done = poll(polls, &mut slow).await;
            if erases {
                erase(&api, &path).await;
            } else {
                rename(&api, &path).await;
            }
            pass(&api, waits);
            run_of(&api).await.unwrap();
            if done.is_none() {
                let ended = slow.await;
                assert!(waits > 0 || ended.is_ok(), "{ended:?}");
                run_of(&api).await.unwrap();
            }
            let expected = if erases { set([]) } else { set(["ann", "com", "example", "lee"]) };
            assert_eq!(words(&api).await, expected, "another run after {polls} polls and {waits} ms");
            if done.is_some() {
                break;
            }
        }
    }
}

#[tokio::test]
async fn the_feed_writes_only_the_words_of_the_last_change() {
    for erases in [false, true] {
        let api = TestApi::new().await;
        let path = create(&api).await;
        api.patch(&path, json!({ "name": "Joan Roe" })).await.expect(200);
        rename(&api, &path).await;
        if erases {
            erase(&api, &path).await;
        }
        api.run_feed().await;
        let expected = if erases { set([]) } else { set(["ann", "com", "example", "lee"]) };
        assert_eq!(words(&api).await, expected);
    }
}

/// The words of a change that is not in the index yet are former ones, too, and those that came back are not.
#[tokio::test]
async fn words_that_go_and_come_back_have_their_entries() {
    let api = TestApi::new().await;
    let path = create(&api).await;
    rename(&api, &path).await;
    api.patch(&path, json!({ "name": "Jane Lee" })).await.expect(200);
    api.run_feed().await;
    assert_eq!(words(&api).await, set(["ann", "com", "example", "jane", "lee"]));
    rename(&api, &path).await;
    api.patch(&path, json!({ "name": "Jane Lee" })).await.expect(200);
    erase(&api, &path).await;
    // Without the run, only entries that were being written could be left.
    let left = api.stored_items().await.into_keys().filter(|(pk, _)| pk == "1#live#WORD").count();
    assert_eq!(left, 0);
    api.run_feed().await;
    assert_eq!(words(&api).await, set([]));
}

/// What is not in the index yet is missing in no list, and an erased person is found no longer at once.
#[tokio::test]
async fn the_index_may_be_behind_and_the_lists_are_not() {
    let api = TestApi::new().await;
    let path = create(&api).await;
    let find = async |query: &str| {
        let page =
            api.request(http::Method::GET, &format!("{CANDIDATES}?{query}")).send_at_once().await.expect(200);
        page.body["data"].as_array().unwrap().len()
    };
    assert_eq!((find("q=jane").await, find("phone=%2B14155552671").await, find("").await), (0, 1, 1));
    api.run_feed().await;
    assert_eq!(find("q=jane").await, 1);
    rename(&api, &path).await;
    assert_eq!((find("q=jane").await, find("q=ann").await), (1, 0));
    api.run_feed().await;
    assert_eq!((find("q=jane").await, find("q=ann").await), (0, 1));
    erase(&api, &path).await;
    assert_eq!((find("q=ann").await, find("").await), (0, 0));
}
