//! Notes about candidates.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::{ACME, GLOBEX, Response, TestApi, key_actor};

const NOW: &str = "2026-11-20T09:30:00.000Z";
const CANDIDATES: &str = "/api/v1/candidates";

async fn candidate(api: &TestApi, name: &str) -> u64 {
    let person = json!({ "name": name, "email": format!("{name}@example.com") });
    api.post(CANDIDATES, person).await.expect(201).number("/id")
}

fn notes_path(candidate: u64) -> String {
    format!("{CANDIDATES}/{candidate}/notes")
}

async fn note(api: &TestApi, candidate: u64, text: &str) -> Response {
    api.post(&notes_path(candidate), json!({ "text": text })).await
}

async fn texts(api: &TestApi, candidate: u64) -> Vec<String> {
    let page = api.get(&notes_path(candidate)).await.expect(200);
    page.body["data"].as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap().into()).collect()
}

/// Returns the history of a candidate, newest first.
async fn history(api: &TestApi, candidate: u64) -> Vec<Value> {
    let page = api.get(&format!("{CANDIDATES}/{candidate}")).await.expect(200);
    page.body["touchpoints"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_note_has_a_text_and_an_actor() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let note = note(&api, jane, " Speaks *Rust*.\r\nAsk about\tGo. ").await.expect(201);
    let expected = json!({
        "id": note.number("/id"), "candidate_id": jane, "text": "Speaks *Rust*.\nAsk about\tGo.",
        "actor": key_actor(ACME, Mode::Live), "created_at": NOW, "updated_at": null,
    });
    assert_eq!(note.body, expected);
    assert_eq!((note.header("location"), note.header("etag")), ("", ""));
    let list = api.get(&notes_path(jane)).await.expect(200);
    assert_eq!(list.body, json!({ "data": [expected], "next_cursor": null }));
}

#[tokio::test]
async fn notes_are_listed_newest_first() {
    let api = TestApi::new().await;
    let (jane, joe) = (candidate(&api, "jane").await, candidate(&api, "joe").await);
    for number in 1..=5 {
        api.clock.set(&format!("2026-11-20T09:3{number}:00Z"));
        note(&api, jane, &format!("note {number}")).await.expect(201);
    }
    note(&api, joe, "about joe").await.expect(201);
    assert_eq!(texts(&api, jane).await, ["note 5", "note 4", "note 3", "note 2", "note 1"]);
    assert_eq!(texts(&api, joe).await, ["about joe"]);
    let first = api.get(&format!("{}?limit=3", notes_path(jane))).await.expect(200);
    assert_eq!(first.string("/data/2/text"), "note 3");
    let cursor = first.string("/next_cursor");
    let rest = api.get(&format!("{}?cursor={cursor}", notes_path(jane))).await.expect(200);
    assert_eq!((rest.string("/data/0/text"), rest.string("/data/1/text")), ("note 2", "note 1"));
    assert!(rest.body["next_cursor"].is_null());
    let foreign = api.get(&format!("{}?cursor={cursor}", notes_path(joe))).await.expect(400);
    assert_eq!(foreign.string("/code"), "bad_request");
}

#[tokio::test]
async fn a_note_has_1_to_5000_characters() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    for (body, messages) in [
        (json!({}), vec!["text can't be blank"]),
        (json!({ "text": null }), vec!["text can't be blank"]),
        (json!({ "text": " \n\u{200B}" }), vec!["text can't be blank"]),
        (json!({ "text": 7 }), vec!["text must be a string"]),
        (json!({ "text": "🦀".repeat(5_001) }), vec!["text must be at most 5000 characters"]),
        (
            json!({ "text": "a\0", "candidate_id": jane }),
            vec![
                "text must not contain control characters other than newline and tab",
                "candidate_id is not a known field",
            ],
        ),
    ] {
        assert_eq!(api.post(&notes_path(jane), body).await.expect(422).messages(), messages);
    }
    assert_eq!(texts(&api, jane).await, [""; 0]);
    let longest = "🦀".repeat(5_000);
    assert_eq!(note(&api, jane, &longest).await.expect(201).string("/text"), longest);
}

#[tokio::test]
async fn a_deleted_note_is_returned_and_gone() {
    let api = TestApi::new().await;
    let (jane, joe) = (candidate(&api, "jane").await, candidate(&api, "joe").await);
    let added = note(&api, jane, "one").await.expect(201);
    let path = format!("{}/{}", notes_path(jane), added.number("/id"));
    let other = note(&api, jane, "two").await.expect(201).number("/id");
    for missing in [
        format!("{}/{}", notes_path(joe), added.number("/id")),
        format!("{}/{other}", notes_path(17)),
        format!("{}/x", notes_path(jane)),
        format!("{}/17", notes_path(jane)),
    ] {
        assert_eq!(api.delete(&missing).await.expect(404).string("/code"), "not_found");
    }
    let deleted = api.delete(&path).await.expect(200);
    assert_eq!((&deleted.body, deleted.header("etag")), (&added.body, ""));
    assert_eq!(texts(&api, jane).await, ["two"]);
    api.delete(&path).await.expect(404);
    let get = api.get(&path).await.expect(405);
    assert_eq!(get.header("allow"), "DELETE, PATCH");
}

#[tokio::test]
async fn the_history_records_notes_without_their_texts() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let before = api.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    api.clock.set("2026-11-20T09:31:00Z");
    let id = note(&api, jane, "confidential").await.expect(201).number("/id");
    api.clock.set("2026-11-20T09:32:00Z");
    api.delete(&format!("{}/{id}", notes_path(jane))).await.expect(200);
    let after = api.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    assert!(!after.text.contains("confidential"));
    let touchpoints = history(&api, jane).await;
    for (touchpoint, kind, at) in [
        (&touchpoints[0], "note_deleted", "2026-11-20T09:32:00.000Z"),
        (&touchpoints[1], "note_added", "2026-11-20T09:31:00.000Z"),
    ] {
        let expected = json!({
            "id": touchpoint["id"], "kind": kind, "detail": { "note_id": id }, "at": at,
            "actor": key_actor(ACME, Mode::Live),
        });
        assert_eq!(*touchpoint, expected);
    }
    assert_eq!(after.string("/updated_at"), before.string("/updated_at"), "the candidate is unchanged");
    assert_ne!(after.header("etag"), before.header("etag"), "the detail is changed");
}

#[tokio::test]
async fn a_repeated_request_adds_one_note() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let send = || {
        let request = api.request(Method::POST, &notes_path(jane)).header("idempotency-key", "note-1");
        request.json(&json!({ "text": "once" })).send()
    };
    let (first, second) = (send().await.expect(201), send().await.expect(201));
    assert_eq!((&second.body, second.header("idempotency-replayed")), (&first.body, "true"));
    assert_eq!(texts(&api, jane).await, ["once"]);
}

#[tokio::test]
async fn simultaneous_changes_of_notes_lose_none() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let numbers: Vec<String> = (1..=5).map(|number| number.to_string()).collect();
    let added = join_all(numbers.iter().map(|number| note(&api, jane, number))).await;
    let mut listed = texts(&api, jane).await;
    listed.sort_unstable();
    assert_eq!(listed, numbers);
    let path = format!("{}/{}", notes_path(jane), added[0].number("/id"));
    let statuses = join_all((0..5).map(|_| api.delete(&path))).await;
    let deleted = statuses.iter().filter(|response| response.status == 200).count();
    assert_eq!(deleted, 1, "a note is deleted once");
    assert!(statuses.iter().all(|response| [200, 404].contains(&response.status)));
    let kinds: Vec<_> = history(&api, jane).await.iter().map(|one| one["kind"].clone()).collect();
    assert_eq!(
        kinds,
        ["note_deleted", "note_added", "note_added", "note_added", "note_added", "note_added", "created"]
    );
}

#[tokio::test]
async fn the_detail_of_a_candidate_does_not_read_notes() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let read = async || {
        api.dynamodb.take_calls();
        api.get(&format!("{CANDIDATES}/{jane}?touchpoints=1")).await.expect(200);
        let calls = api.dynamodb.take_calls();
        calls.iter().filter_map(|call| call.response["ScannedCount"].as_u64()).sum::<u64>()
    };
    let before = read().await;
    for _ in 0..3 {
        note(&api, jane, &"x".repeat(5_000)).await.expect(201);
    }
    assert_eq!(read().await, before);
}

#[tokio::test]
async fn another_organization_does_not_see_notes() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let id = note(&api, jane, "x").await.expect(201).number("/id");
    let path = format!("{}/{id}", notes_path(jane));
    for (method, path) in
        [(Method::GET, notes_path(jane)), (Method::POST, notes_path(jane)), (Method::DELETE, path)]
    {
        api.request(method, &path).key(GLOBEX, Mode::Live).json(&json!({})).send().await.expect(404);
    }
    assert_eq!(texts(&api, jane).await, ["x"]);
}
