//! What members are told about their work: who mentioned them in a note, and that their imports and exports ended. They see it on the
//! next page, without another sign-in.

use http::Method;
use jiff::SignedDuration;
use rolecall_local::demo;
use serde_json::{Value, json};
use shared::clock::later;
use shared::id::Id;
use shared::model::{Import, ImportStatus, Member, MemberRole, Mode, NoticeEvent, Tenant};
use shared::store::{Store, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tests::assistant::Assistant;
use tests::browser::{Browser, Form, plain};
use tests::dashboard::{add_member, connect_app, owner};
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::bulk_tasks;
use crate::erasures::erase;

const CANDIDATES: &str = "/api/v1/candidates";
const PATH: &str = "/dashboard/settings/account/notices";
const BAND: &str = "<p class=\"band\">";

fn live(demo: usize) -> Tenant {
    tenant(demo, Mode::Live)
}

async fn candidate(api: &TestApi, name: &str) -> u64 {
    let email = format!("{}@example.com", name.split(' ').next().unwrap());
    api.post(CANDIDATES, json!({ "name": name, "email": email })).await.expect(201).number("/id")
}

/// Adds a note with the key. Returns the path of the note.
async fn note(api: &TestApi, candidate: u64, text: &str) -> String {
    let notes = format!("{CANDIDATES}/{candidate}/notes");
    let id = api.post(&notes, json!({ "text": text })).await.expect(201).number("/id");
    format!("{notes}/{id}")
}

async fn session<'w>(api: &'w TestApi, member: &Member) -> Browser<'w> {
    Browser::with_session(api, ACME, member).await
}

/// The band at the top of a page, as text and with its links; empty if there is none.
async fn band(browser: &Browser<'_>) -> (String, Vec<String>) {
    let page = browser.get("/dashboard/settings/career-page").await.expect(200);
    let Some(band) = page.text.split(BAND).nth(1).and_then(|rest| rest.split("</p>").next()) else {
        return Default::default();
    };
    let links = band.split("href=\"").skip(1).map(|rest| plain(rest.split('"').next().unwrap()));
    let text: String =
        band.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    (plain(text.trim()), links.collect())
}

/// What the page of notices says, in alphabetical order.
async fn told(browser: &Browser<'_>) -> Vec<String> {
    let page = browser.get(PATH).await.expect(200);
    let cells = page.text.split("data-label=\"What happened\">").skip(1);
    let text = |cell: &str| {
        let cell = cell.split("</td>").next().unwrap();
        plain(
            &cell
                .split('<')
                .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
                .collect::<String>(),
        )
    };
    let mut told: Vec<_> = cells.map(text).collect();
    told.sort_unstable();
    told
}

/// The number of notices of mentions that a member has.
async fn mentions(api: &TestApi, demo: usize, member: Id) -> usize {
    let notices = api.store().list_notices(live(demo).organization, member).await.unwrap();
    notices.iter().filter(|notice| matches!(notice.event, NoticeEvent::Mentioned { .. })).count()
}

async fn dismiss(browser: &Browser<'_>) -> Response {
    let page = browser.get(PATH).await.expect(200);
    let newest = page.text.split("name=\"newest\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    browser.post(PATH, &[("newest", newest)]).await.expect(303)
}

#[tokio::test]
async fn a_mention_is_seen_on_the_next_page_of_every_browser() {
    let api = TestApi::new().await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let (ada, jos, elsewhere) =
        (session(&api, &owner(&api, ACME).await).await, session(&api, &jo).await, session(&api, &jo).await);
    let jane = candidate(&api, "Jane <b>Doe</b>").await;
    assert_eq!(band(&jos).await.0, "");
    let notes = format!("/dashboard/candidates/{jane}/notes");
    ada.post(&notes, &[("text", "What do you think, @jo? And @JO again.")]).await.expect(303);

    let (path, sentence) =
        (format!("/dashboard/candidates/{jane}"), "Ada mentioned you in a note about a candidate.");
    for browser in [&jos, &elsewhere] {
        let (text, links) = band(browser).await;
        assert_eq!(text, format!("{sentence} See your notices"));
        assert_eq!(links, [path.clone(), PATH.to_owned()]);
    }
    assert_eq!(band(&ada).await.0, "", "it is only for Jo");
    assert_eq!(
        told(&jos).await,
        ["Ada mentioned you in a note about Jane <b>Doe</b>."],
        "once, with the name"
    );
    let page = jos.get(&path).await.expect(200);
    assert!(page.text.contains("What do you think, <strong>@jo</strong>? And <strong>@JO</strong> again."));
    // Nothing about the candidate is stored with the notice.
    let items = api.stored_items().await;
    let mut stored = items.iter().filter(|((pk, _), _)| pk.contains("#NOTICE#") || pk.contains("#SESSION#"));
    assert!(stored.all(|(_, item)| !format!("{item:?}").contains("Doe")));
    // Who reads the name reads about a person.
    let recorded = api.get("/api/v1/audit_log?action=candidates.listed").await.expect(200);
    let [entry] = recorded.body["data"].as_array().unwrap().as_slice() else { panic!("{}", recorded.text) };
    assert_eq!((&entry["actor"]["id"], &entry["shown"]), (&json!(jo.id), &json!(1)));

    dismiss(&jos).await;
    assert_eq!((band(&jos).await.0.as_str(), told(&jos).await.len()), ("", 0));
    // The other browser finds that there is nothing left.
    assert!(!elsewhere.get(PATH).await.expect(200).text.contains(BAND));
    assert_eq!(band(&elsewhere).await.0, "");
}

#[tokio::test]
async fn exactly_those_whom_a_note_names_are_told() {
    let api = TestApi::new().await;
    let mut members = Vec::new();
    for name in ["Jo Smith", "Jo Smithson", "Mia Brown", "Zoë Hall"] {
        let member = add_member(&api, ACME, &name.replace(' ', "."), MemberRole::Member).await;
        let named = Member {
            name: shared::model::Text::parse(name).unwrap().unwrap(),
            version: member.version + 1,
            ..member.clone()
        };
        let mut transaction = Transaction::new(live(ACME));
        transaction.replace_member(&member, &named).unwrap();
        api.store().commit(transaction).await.unwrap();
        members.push(named);
    }
    let same_name = add_member(&api, GLOBEX, "Mia.Brown", MemberRole::Member).await;
    let jane = candidate(&api, "Jane").await;
    let mut expected = [0; 4];
    for (text, named) in [
        ("@Jo", &[][..]),
        ("@jo smith, @mia and @Mia Brown", &[0, 2]),
        ("@Jo Smithson", &[1]),
        ("@jo.smithson@members.example @zoë.hall", &[1, 3]),
        ("mail jo.smith@members.example, a@mia or https://x.example/@mia", &[]),
        ("`@mia` [@mia](https://x.example)", &[]),
        ("**@mia**\n> @ZOË", &[2, 3]),
        ("@miah @mia_brown @nobody @", &[]),
    ] {
        note(&api, jane, text).await;
        for index in named {
            expected[*index] += 1;
        }
        for (member, expected) in members.iter().zip(expected) {
            assert_eq!(mentions(&api, ACME, member.id).await, expected, "{text}: {}", member.name.as_str());
        }
    }
    assert_eq!(mentions(&api, GLOBEX, same_name.id).await, 0, "another organization's member");
    // The list of members is read only for an @ that may name somebody.
    for (text, reads) in [("me@x.example", false), ("@nobody", true)] {
        api.dynamodb.take_calls();
        note(&api, jane, text).await;
        let calls = api.dynamodb.take_calls();
        assert_eq!(calls.iter().any(|call| call.request.to_string().contains("#MEMBER\"")), reads, "{text}");
    }
}

#[tokio::test]
async fn an_edit_tells_only_those_who_are_newly_named() {
    let api = TestApi::new().await;
    let mia = add_member(&api, ACME, "Mia", MemberRole::Member).await;
    let ben = add_member(&api, ACME, "Ben", MemberRole::Member).await;
    let jane = candidate(&api, "Jane").await;
    let path = note(&api, jane, "@mia").await;
    for (text, expected) in [("@mia again", [1, 0]), ("@mia @ben", [1, 1]), ("@ben", [1, 1])] {
        api.patch(&path, json!({ "text": text })).await.expect(200);
        let told = [mentions(&api, ACME, mia.id).await, mentions(&api, ACME, ben.id).await];
        assert_eq!(told, expected, "{text}");
    }
}

#[tokio::test]
async fn nobody_is_told_of_an_own_note_and_nothing_is_left_for_the_removed() {
    let api = TestApi::new().await;
    let ada = owner(&api, ACME).await;
    let browser = session(&api, &ada).await;
    let mia = add_member(&api, ACME, "Mia", MemberRole::Member).await;
    let jane = candidate(&api, "Jane").await;
    let notes = format!("/dashboard/candidates/{jane}/notes");
    browser.post(&notes, &[("text", "@ada @mia")]).await.expect(303);
    assert_eq!([mentions(&api, ACME, ada.id).await, mentions(&api, ACME, mia.id).await], [0, 1]);
    // A program is not the member who connected it, and neither is the key.
    let (_, token) = connect_app(&api.environment, live(ACME), ada.id, "Assistant").await;
    let of_app = api.request(Method::POST, &format!("{CANDIDATES}/{jane}/notes")).bearer(token.reveal());
    of_app.json(&json!({ "text": "@ada" })).send().await.expect(201);
    note(&api, jane, "@ada").await;
    assert_eq!(
        told(&browser).await,
        [
            "The API key \u{201c}Acme demonstration\u{201d} mentioned you in a note about Jane.",
            "The app \u{201c}Assistant\u{201d} mentioned you in a note about Jane.",
        ]
    );
    browser.post(&format!("/dashboard/settings/members/{}/remove", mia.id), &[]).await.expect(303);
    note(&api, jane, "@mia").await;
    assert_eq!(mentions(&api, ACME, mia.id).await, 0);
    let page = browser.get(&format!("/dashboard/candidates/{jane}")).await.expect(200);
    assert!(page.text.contains("<p>@mia</p>"), "{}", page.text);
}

#[tokio::test]
async fn a_note_tells_twenty_members_at_most() {
    let api = TestApi::new().await;
    let mut members = Vec::new();
    for number in 0..22 {
        let member = add_member(&api, ACME, &format!("M{number}x"), MemberRole::Member).await;
        for _ in 0..5 {
            session(&api, &member).await;
        }
        members.push(member);
    }
    let jane = candidate(&api, "Jane").await;
    let names: Vec<_> = members.iter().map(|member| format!("@{}", member.name.as_str())).collect();
    let text = names.join(" ");
    let key =
        api.request(Method::POST, &format!("{CANDIDATES}/{jane}/notes")).header("idempotency-key", "once");
    key.json(&json!({ "text": text })).send().await.expect(201);
    let mut counts = Vec::new();
    for member in &members {
        counts.push(mentions(&api, ACME, member.id).await);
    }
    assert_eq!(counts, [[1; 20].as_slice(), &[0; 2]].concat());
}

#[tokio::test]
async fn a_note_about_several_tells_of_each() {
    let api = TestApi::new().await;
    let browser = session(&api, &owner(&api, ACME).await).await;
    let mia = add_member(&api, ACME, "Mia", MemberRole::Member).await;
    let posted = json!({ "role": { "title": "Cook" } });
    let role = api.post("/api/v1/quick_post", posted).await.expect(201).number("/role/id");
    let mut ids = Vec::new();
    for number in 0..3 {
        let person = json!({ "name": format!("P{number}"), "email": format!("p{number}@example.com"), "role_id": role });
        ids.push(format!("&id={}", api.post(CANDIDATES, person).await.expect(201).number("/id")));
    }
    let path = format!("/dashboard/candidates/bulk?list=role_id%3D{role}%26stage%3Dapplied");
    let page = browser.get(&format!("{path}&to=note{}", ids.concat())).await.expect(200);
    assert!(page.text.contains("@name tells a colleague."));
    browser.submit(&path, &Form::of(&page, &path).and("text", "@mia: call")).await.expect(303);
    let told = told(&session(&api, &mia).await).await;
    assert_eq!(told, [0, 1, 2].map(|number| format!("Ada mentioned you in a note about P{number}.")));
}

#[tokio::test]
async fn notes_of_tasks_and_assistants_tell_too() {
    let api = TestApi::new().await;
    let browser = session(&api, &owner(&api, ACME).await).await;
    let mia = add_member(&api, ACME, "Mia", MemberRole::Member).await;
    let mias = session(&api, &mia).await;
    bulk_tasks::write(&api, 110).await;
    bulk_tasks::press(&browser, "note", ("text", "@mia")).await;
    // Runs at the same time would give notices the same identifiers.
    let run = async || {
        let now = later(api.environment.clock.now(), SignedDuration::from_secs(1));
        api.clock.set(&now.to_string());
        api.run_tasks().await.tasks
    };
    while run().await > 0 {}
    // The newest 50 are listed.
    assert_eq!(mentions(&api, ACME, mia.id).await, 50);
    assert!(band(&mias).await.0.starts_with("Ada mentioned you"), "{:?}", band(&mias).await);

    let jane = candidate(&api, "Jane").await;
    Assistant::new(&api).call("add_note", json!({ "candidate_id": jane, "text": "@mia" })).await;
    let told = told(&mias).await;
    assert!(told.iter().any(|one| one.ends_with("mentioned you in a note about Jane.")), "{told:?}");
}

#[tokio::test]
async fn a_notice_of_an_erased_person_says_so_and_one_of_other_data_has_no_link() {
    let api = TestApi::new().await;
    let mia = add_member(&api, ACME, "Mia", MemberRole::Member).await;
    let browser = session(&api, &mia).await;
    let jane = candidate(&api, "Jane").await;
    note(&api, jane, "@mia").await;
    erase(&api, jane).await.expect(202);
    api.run_tasks().await;
    let sentence = "The API key \u{201c}Acme demonstration\u{201d} mentioned you in a note about a candidate";
    assert_eq!(told(&browser).await, [format!("{sentence} who was erased.")]);

    let person = json!({ "name": "Test person", "email": "t@example.com" });
    let post =
        |path: String, body: Value| api.request(Method::POST, &path).key(ACME, Mode::Test).json(&body).send();
    let test = post(CANDIDATES.to_owned(), person).await.expect(201).number("/id");
    post(format!("{CANDIDATES}/{test}/notes"), json!({ "text": "@mia" })).await.expect(201);
    let band = band(&browser).await;
    assert!(
        band.0.ends_with("mentioned you in a note about a candidate in test data. See your notices"),
        "{band:?}"
    );
    assert_eq!(band.1, [PATH]);
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let told = told(&browser).await;
    let key = "The API key \u{201c}Acme demonstration\u{201d} mentioned you in a note about";
    assert_eq!(told, [format!("{key} Test person."), format!("{key} a candidate in live data.")]);
}

/// An import of these rows that a member, or the key, has begun.
async fn begin(api: &TestApi, rows: Value) -> u64 {
    api.post("/api/v1/imports", json!({ "format": "ndjson", "rows": rows })).await.expect(201).number("/id")
}

fn people(range: std::ops::Range<u64>) -> Value {
    range.map(|number| json!({ "name": "P", "email": format!("p{number}@import.example") })).collect()
}

async fn find(store: &Store, import: u64) -> Import {
    store.find_import(live(ACME), Id::new(import).unwrap()).await.unwrap().unwrap()
}

/// Lets a member, and not the key, have begun an import.
async fn hand_over(api: &TestApi, import: u64, member: &Member) {
    let before = find(api.store(), import).await;
    let mut after = before.clone();
    after.created_by = shared::model::Actor {
        kind: shared::model::ActorKind::Member,
        id: Some(member.id),
        name: member.name.as_str().to_owned(),
    };
    after.version += 1;
    let mut transaction = Transaction::new(live(ACME));
    transaction.replace_import(&before, &after).unwrap();
    api.store().commit(transaction).await.unwrap();
}

async fn settle(api: &TestApi, import: u64) -> ImportStatus {
    for _ in 0..100 {
        let found = find(api.store(), import).await;
        if !found.is_working() && found.status != ImportStatus::Waiting {
            return found.status;
        }
        api.run_tasks().await;
        api.run_feed().await;
    }
    panic!("the import {import} does not end");
}

#[tokio::test]
async fn the_member_who_asked_is_told_that_an_import_ended() {
    let api = TestApi::new().await;
    let ada = session(&api, &owner(&api, ACME).await).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Owner).await;
    let jos = session(&api, &jo).await;
    let rows = json!([{ "name": "One", "email": "one@import.example" }, { "name": "Two", "email": "x" }]);
    let import = begin(&api, rows).await;
    assert_eq!(settle(&api, import).await, ImportStatus::Checked);
    assert_eq!([band(&ada).await.0, band(&jos).await.0], ["", ""], "it waits for a decision");
    let path = format!("/dashboard/imports/{import}");
    ada.post(&format!("{path}/run"), &[]).await.expect(303);
    assert_eq!(settle(&api, import).await, ImportStatus::Done);
    let done = "Your import (NDJSON) is done. People added: 1. People updated: 0. Invalid rows: 1.";
    assert_eq!(band(&ada).await, (format!("{done} See your notices"), vec![path.clone(), PATH.to_owned()]));
    jos.post(&format!("{path}/undo"), &[]).await.expect(303);
    assert_eq!(settle(&api, import).await, ImportStatus::Undone);
    assert_eq!(told(&ada).await, [done], "once, and the undo is another member's");
    assert_eq!(told(&jos).await, ["Your import (NDJSON) is undone. Nothing of it is left."]);
}

#[tokio::test]
async fn a_failed_import_says_why_and_a_cancelled_one_says_nothing() {
    let api = TestApi::new().await;
    let owner = owner(&api, ACME).await;
    let ada = session(&api, &owner).await;
    // A file that never comes.
    let waiting =
        api.post("/api/v1/imports", json!({ "format": "csv", "source": "Old system" })).await.expect(201);
    hand_over(&api, waiting.number("/id"), &owner).await;
    api.clock.set(&later(api.environment.clock.now(), SignedDuration::from_mins(61)).to_string());
    assert_eq!(settle(&api, waiting.number("/id")).await, ImportStatus::Failed);
    assert_eq!(
        told(&ada).await,
        ["Your import from Old system (CSV) has failed: No file was uploaded in time."]
    );
    let cancelled = begin(&api, people(0..3)).await;
    hand_over(&api, cancelled, &owner).await;
    assert_eq!(settle(&api, cancelled).await, ImportStatus::Checked);
    ada.post(&format!("/dashboard/imports/{cancelled}/cancel"), &[]).await.expect(303);
    assert_eq!(settle(&api, cancelled).await, ImportStatus::Cancelled);
    // A key has no notices, and a removed member has none.
    let of_key = begin(&api, people(3..5)).await;
    settle(&api, of_key).await;
    api.request(Method::POST, &format!("/api/v1/imports/{of_key}/run")).send().await.expect(202);
    assert_eq!(settle(&api, of_key).await, ImportStatus::Done);
    assert_eq!(told(&ada).await.len(), 1);
    let jo = add_member(&api, ACME, "Jo", MemberRole::Owner).await;
    let of_removed = begin(&api, people(5..7)).await;
    settle(&api, of_removed).await;
    session(&api, &jo).await.post(&format!("/dashboard/imports/{of_removed}/run"), &[]).await.expect(303);
    let fresh = session(&api, &owner).await;
    fresh.post(&format!("/dashboard/settings/members/{}/remove", jo.id), &[]).await.expect(303);
    assert_eq!(settle(&api, of_removed).await, ImportStatus::Done);
    assert!(api.store().list_notices(live(ACME).organization, jo.id).await.unwrap().is_empty());
}

/// A run that is killed after any call is repeated, and tells once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_import_that_is_killed_at_its_end_tells_once() {
    let api = TestApi::new().await;
    let ada = session(&api, &owner(&api, ACME).await).await;
    let import = begin(&api, people(0..2)).await;
    settle(&api, import).await;
    ada.post(&format!("/dashboard/imports/{import}/run"), &[]).await.expect(303);
    let mut calls = 0;
    while find(api.store(), import).await.status != ImportStatus::Done {
        let seen = Arc::new(AtomicUsize::new(0));
        api.dynamodb.inject_faults(move |operation, request| {
            let lists_tasks = operation == "Query" && request.to_string().contains("\"TASK#");
            let is_dead = !lists_tasks && seen.fetch_add(1, Ordering::SeqCst) >= calls;
            is_dead.then_some(Fault::Unreachable)
        });
        let _ = tasks::run_for(api.environment.clone(), demo::task_partitions()).await;
        api.dynamodb.inject_faults(|_, _| None);
        let now = later(api.environment.clock.now(), SignedDuration::from_secs(200));
        api.clock.set(&now.to_string());
        calls += 1;
        assert!(calls < 200, "it never ends");
    }
    settle(&api, import).await;
    api.run_all_tasks().await;
    assert!(calls > 5, "{calls}");
    assert_eq!(told(&ada).await.len(), 1);
}

/// Begins an export on the page. Returns the path of its page.
async fn begin_export(browser: &Browser<'_>, format: &str) -> String {
    let all = ["candidates", "notes"].map(|kind| ("kinds", kind));
    let fields = [&[("format", format), ("role_id", "")], &all[..]].concat();
    browser.post("/dashboard/exports/new", &fields).await.expect(303).header("location").to_owned()
}

async fn run_export(api: &TestApi) {
    for _ in 0..5 {
        api.run_tasks().await;
        api.run_feed().await;
    }
}

#[tokio::test]
async fn the_member_who_began_an_export_is_told_that_it_ended() {
    let api = TestApi::new().await;
    let ada = session(&api, &owner(&api, ACME).await).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Owner).await;
    let jos = session(&api, &jo).await;
    let jane = candidate(&api, "Jane").await;
    let path = begin_export(&ada, "ndjson").await;
    assert_eq!(band(&ada).await.0, "", "it is being written");
    run_export(&api).await;
    let done = "Your export (NDJSON) is done. Its files are kept for 24 hours.";
    assert_eq!(band(&ada).await, (format!("{done} See your notices"), vec![path, PATH.to_owned()]));
    // An erasure ends the one that runs. The files of the other one were told of.
    let path = begin_export(&jos, "csv").await;
    erase(&api, jane).await.expect(202);
    run_export(&api).await;
    let failed =
        "Your export (CSV) has failed: Somebody was erased, so its files were deleted. Begin another export.";
    assert_eq!(band(&jos).await, (format!("{failed} See your notices"), vec![path, PATH.to_owned()]));
    assert_eq!(told(&jos).await, [failed]);
    assert_eq!(told(&ada).await, [done]);
}

#[tokio::test]
async fn a_key_that_exports_tells_nobody_and_test_data_has_no_link_among_live_data() {
    let api = TestApi::new().await;
    let owner = owner(&api, ACME).await;
    let ada = session(&api, &owner).await;
    api.post("/api/v1/exports", json!({ "format": "ndjson" })).await.expect(201);
    run_export(&api).await;
    assert_eq!(told(&ada).await, [""; 0]);
    ada.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let path = begin_export(&ada, "ndjson").await;
    run_export(&api).await;
    let done = "Your export of test data (NDJSON) is done. Its files are kept for 24 hours. See your notices";
    assert_eq!(band(&ada).await, (done.to_owned(), vec![path, PATH.to_owned()]));
    ada.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    assert_eq!(band(&ada).await, (done.to_owned(), vec![PATH.to_owned()]));
    // A member who was removed has no notices.
    let jo = add_member(&api, ACME, "Jo", MemberRole::Owner).await;
    begin_export(&session(&api, &jo).await, "ndjson").await;
    let fresh = session(&api, &owner).await;
    fresh.post(&format!("/dashboard/settings/members/{}/remove", jo.id), &[]).await.expect(303);
    run_export(&api).await;
    assert!(api.store().list_notices(live(ACME).organization, jo.id).await.unwrap().is_empty());
    let exports = api.get("/api/v1/exports").await.expect(200);
    assert_eq!(exports.body["data"][0]["status"], "done");
}

/// A run that is killed after any call is repeated, and tells once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_export_that_is_killed_at_its_end_tells_once() {
    let api = TestApi::new().await;
    let ada = session(&api, &owner(&api, ACME).await).await;
    candidate(&api, "Jane").await;
    begin_export(&ada, "ndjson").await;
    let mut calls = 0;
    while told(&ada).await.is_empty() {
        api.run_tasks_with(calls).await;
        api.let_leases_end();
        calls += 1;
        assert!(calls < 100, "it never ends");
    }
    run_export(&api).await;
    assert!(calls > 5, "{calls}");
    assert_eq!(told(&ada).await.len(), 1);
}
