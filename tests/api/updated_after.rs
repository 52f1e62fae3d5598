//! Lists of what has changed since a time.

use std::collections::BTreeSet;

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::clock::{Timestamp, later};
use shared::config::Config;
use shared::model::{EventType, Mode};
use tests::interceptor::RecordedCall;
use tests::{ACME, Fixtures, GLOBEX, Response, TestApi, tenant};

use super::webhooks::write_events;

const LISTS: [&str; 5] = ["candidates", "applications", "roles", "job_postings", "voice_screens"];

/// A service in which changes are answered at once, as in the local one.
async fn settled_at_once() -> TestApi {
    let mut api = TestApi::new().await;
    api.environment.config.settling = Config::ONE_PROCESS;
    api.restart();
    api
}

/// Lets time go by. Returns the time then.
fn wait(api: &TestApi, seconds: i64) -> String {
    let now = later(api.environment.clock.now(), SignedDuration::from_secs(seconds)).to_string();
    api.clock.set(&now);
    now
}

/// All items of all pages, in their order.
async fn changed_by(api: &TestApi, list: &str, since: &str, limit: usize) -> Vec<Value> {
    if api.environment.config.settling.is_zero() {
        // Changes at the same time follow each other by a millisecond, also while the clock stands still.
        wait(api, 1);
    }
    let path = format!("/api/v1/{list}?updated_after={since}&limit={limit}");
    let (mut items, mut next) = (Vec::new(), path.clone());
    for _ in 0..1_000 {
        let page = api.get(&next).await.expect(200);
        items.extend(page.body["data"].as_array().unwrap().clone());
        match page.body["next_cursor"].as_str() {
            Some(cursor) => next = format!("{path}&cursor={cursor}"),
            None => return items,
        }
    }
    panic!("{path} does not end");
}

async fn changed(api: &TestApi, list: &str, since: &str) -> Vec<u64> {
    ids(&changed_by(api, list, since, 100).await)
}

fn ids(items: &[Value]) -> Vec<u64> {
    items.iter().map(|item| item["id"].as_u64().unwrap()).collect()
}

async fn add(api: &TestApi, number: usize) -> u64 {
    let body = json!({ "name": format!("Person {number}"), "email": format!("p{number}@example.com") });
    api.post("/api/v1/candidates", body).await.expect(201).number("/id")
}

async fn tag(api: &TestApi, id: u64, word: &str) -> Response {
    api.patch(&format!("/api/v1/candidates/{id}"), json!({ "tags": [word] })).await.expect(200)
}

/// The last event of the feed.
async fn last_event(api: &TestApi) -> Value {
    api.run_feed().await;
    let events = api.get("/api/v1/events?limit=1000").await.expect(200);
    events.body["data"].as_array().unwrap().last().unwrap().clone()
}

#[tokio::test]
async fn each_list_answers_what_was_changed_at_or_after_the_time() {
    let api = settled_at_once().await;
    let fixtures = Fixtures::new(&api).await;
    let other = add(&api, 1).await;
    let since = wait(&api, 3_600);
    api.run_feed().await;
    for list in LISTS {
        assert_eq!(changed(&api, list, &since).await, [0_u64; 0], "{list}");
    }

    let since = wait(&api, 1);
    let role = format!("/api/v1/roles/{}", fixtures.role);
    let edited = api.patch(&role, json!({ "department": "Kitchen" })).await.expect(200);
    assert_eq!(edited.string("/updated_at"), since);
    let posting = format!("/api/v1/job_postings/{}", fixtures.posting);
    let edited = api.patch(&posting, json!({ "requirements": "Knives" })).await.expect(200);
    assert_eq!(edited.string("/updated_at"), since);
    let edited = tag(&api, other, "new").await;
    assert_eq!(edited.string("/updated_at"), since);
    let screen = format!("/api/v1/voice_screens/{}", fixtures.screen);
    api.request(Method::POST, &format!("{screen}/cancel")).send().await.expect(200);
    let later = wait(&api, 1);
    let advance = format!("/api/v1/candidates/{}/advance", fixtures.candidate);
    api.post(&advance, json!({ "stage": "interview" })).await.expect(200);
    api.run_feed().await;

    assert_eq!(changed(&api, "roles", &since).await, [fixtures.role]);
    assert_eq!(changed(&api, "job_postings", &since).await, [fixtures.posting]);
    assert_eq!(changed(&api, "voice_screens", &since).await, [fixtures.screen]);
    assert_eq!(changed(&api, "applications", &since).await, [fixtures.application]);
    assert_eq!(changed(&api, "candidates", &since).await, [other, fixtures.candidate]);
    assert_eq!(changed(&api, "candidates", &later).await, [fixtures.candidate]);
    let after = wait(&api, 1);
    for list in LISTS {
        assert_eq!(changed(&api, list, &after).await, [0_u64; 0], "{list}");
    }

    // The items are those of the lists.
    for list in LISTS {
        let all = api.get(&format!("/api/v1/{list}")).await.expect(200);
        for item in changed_by(&api, list, &since, 100).await {
            assert!(all.body["data"].as_array().unwrap().contains(&item), "{list}: {item}");
        }
    }
}

#[tokio::test]
async fn a_subject_is_answered_once_at_its_last_change() {
    let api = settled_at_once().await;
    let mut people = Vec::new();
    for number in 0..12 {
        people.push(add(&api, number).await);
    }
    let since = wait(&api, 3_600);
    for round in 0..3 {
        for id in &people {
            wait(&api, 1);
            tag(&api, *id, &format!("r{round}")).await;
        }
    }
    wait(&api, 1);
    tag(&api, people[4], "last").await;
    api.run_feed().await;
    let order: Vec<_> = people.iter().copied().filter(|id| *id != people[4]).chain([people[4]]).collect();
    for limit in [1, 2, 5, 12, 100] {
        assert_eq!(ids(&changed_by(&api, "candidates", &since, limit).await), order, "{limit}");
    }
    // A note, a consent and a hold change nothing that the list shows.
    let since = wait(&api, 1);
    let person = format!("/api/v1/candidates/{}", people[0]);
    api.post(&format!("{person}/notes"), json!({ "text": "x" })).await.expect(201);
    let consent =
        json!({ "purpose": "application", "granted": true, "obtained_at": since, "wording": "Yes" });
    api.post(&format!("{person}/consents"), consent).await.expect(201);
    api.run_feed().await;
    assert_eq!(changed(&api, "candidates", &since).await, [0_u64; 0]);
}

#[tokio::test]
async fn what_changes_while_pages_are_read_comes_with_the_next_walk() {
    let api = settled_at_once().await;
    let mut people = Vec::new();
    let since = wait(&api, 60);
    for number in 0..6 {
        wait(&api, 1);
        people.push(add(&api, number).await);
    }
    api.run_feed().await;
    // The time is before the first event, so this would be all items. From the second person on, it is the feed.
    let first = api.get(&format!("/api/v1/candidates/{}", people[1])).await.expect(200);
    assert!(since.as_str() < first.string("/created_at"));
    let since = first.string("/created_at").to_owned();
    let path = format!("/api/v1/candidates?updated_after={since}&limit=2");
    let page = api.get(&path).await.expect(200);
    let (mut walked, mut latest) = (ids(page.body["data"].as_array().unwrap()), String::new());
    wait(&api, 1);
    tag(&api, people[4], "changed").await;
    tag(&api, people[1], "changed").await;
    api.run_feed().await;
    wait(&api, 1);
    let mut page = page;
    while let Some(cursor) = page.body["next_cursor"].as_str() {
        page = api.get(&format!("{path}&cursor={cursor}")).await.expect(200);
        for item in page.body["data"].as_array().unwrap() {
            latest = latest.max(item["updated_at"].as_str().unwrap().to_owned());
        }
        walked.extend(ids(page.body["data"].as_array().unwrap()));
    }
    assert_eq!(walked, [people[1], people[2], people[3], people[5]]);
    assert_eq!(changed(&api, "candidates", &latest).await, [people[5], people[4], people[1]]);
}

#[tokio::test]
async fn nothing_younger_than_twenty_seconds_is_answered() {
    let api = TestApi::new().await;
    let old = add(&api, 1).await;
    let since = wait(&api, 600);
    tag(&api, old, "one").await;
    api.run_feed().await;
    wait(&api, 19);
    assert_eq!(changed(&api, "candidates", &since).await, [0_u64; 0]);
    wait(&api, 1);
    assert_eq!(changed(&api, "candidates", &since).await, [old]);
    // Somebody who was changed again waits, too.
    tag(&api, old, "two").await;
    api.run_feed().await;
    assert_eq!(changed(&api, "candidates", &since).await, [0_u64; 0]);
    wait(&api, 20);
    assert_eq!(changed(&api, "candidates", &since).await, [old]);
    // So do all items.
    let new = add(&api, 2).await;
    api.run_feed().await;
    assert_eq!(changed(&api, "candidates", "2020-01-01T00:00:00Z").await, [old]);
    wait(&api, 20);
    assert_eq!(changed(&api, "candidates", "2020-01-01T00:00:00Z").await, [old, new]);
}

#[tokio::test]
async fn a_change_that_waits_for_the_feed_holds_back_what_is_later() {
    let api = TestApi::new().await;
    let (one, two) = (add(&api, 1).await, add(&api, 2).await);
    let since = wait(&api, 600);
    tag(&api, one, "one").await;
    api.run_feed().await;
    wait(&api, 10);
    tag(&api, two, "two").await;
    wait(&api, 60);
    // The feed is late: the change of the second person has no number yet.
    assert_eq!(changed(&api, "candidates", &since).await, [one]);
    tag(&api, one, "again").await;
    wait(&api, 60);
    assert_eq!(changed(&api, "candidates", &since).await, [0_u64; 0]);
    api.run_feed().await;
    assert_eq!(changed(&api, "candidates", &since).await, [two, one]);
}

#[tokio::test]
async fn a_time_before_the_oldest_event_gets_all_items_and_then_the_changes() {
    let api = settled_at_once().await;
    let mut people = Vec::new();
    for number in 0..5 {
        people.push(add(&api, number).await);
    }
    api.run_feed().await;
    wait(&api, 3_600);
    let path = "/api/v1/candidates?updated_after=2020-01-01T00:00:00Z&limit=2";
    let first = api.get(path).await.expect(200);
    assert_eq!(ids(first.body["data"].as_array().unwrap()), people[..2]);
    // Both a person of the page and a new one.
    let changed_at = wait(&api, 1);
    tag(&api, people[0], "new").await;
    people.push(add(&api, 6).await);
    api.run_feed().await;
    wait(&api, 1);
    let (mut page, mut rest) = (first, Vec::new());
    while let Some(cursor) = page.body["next_cursor"].as_str() {
        page = api.get(&format!("{path}&cursor={cursor}")).await.expect(200);
        rest.extend(page.body["data"].as_array().unwrap().clone());
    }
    let order = [people[2], people[3], people[4], people[5], people[0], people[5]];
    assert_eq!(ids(&rest), order);
    let again = rest.iter().find(|item| item["id"] == people[0]).unwrap();
    assert_eq!((&again["tags"], &again["updated_at"]), (&json!(["new"]), &json!(changed_at)));

    // The first event's own time is answered by the feed.
    let created = api.get(&format!("/api/v1/candidates/{}", people[1])).await.expect(200);
    let since = created.string("/created_at");
    assert_eq!(changed(&api, "candidates", since).await.len(), 6);
    // Without any event that is kept, too.
    let new = wait(&api, 40 * 86_400);
    assert_eq!(changed(&api, "candidates", &new).await, [0_u64; 0]);
    let all = changed(&api, "candidates", &changed_at).await;
    assert_eq!(all, people);
}

#[tokio::test]
async fn a_cursor_expires_with_the_events_that_follow_it() {
    let api = settled_at_once().await;
    let people = [add(&api, 1).await, add(&api, 2).await];
    api.run_feed().await;
    let since = wait(&api, 3_600);
    for id in people {
        tag(&api, id, "a").await;
        wait(&api, 1);
    }
    api.run_feed().await;
    let path = format!("/api/v1/candidates?updated_after={since}&limit=1");
    let page = api.get(&path).await.expect(200);
    let next = format!("{path}&cursor={}", page.string("/next_cursor"));
    assert_eq!(ids(api.get(&next).await.expect(200).body["data"].as_array().unwrap()), people[1..]);
    wait(&api, 31 * 86_400);
    assert_eq!(api.get(&next).await.expect(410).string("/code"), "cursor_expired");
    // The same after all items.
    add(&api, 3).await;
    api.run_feed().await;
    let path = "/api/v1/candidates?updated_after=2020-01-01T00:00:00Z&limit=100";
    let page = api.get(path).await.expect(200);
    let next = format!("{path}&cursor={}", page.string("/next_cursor"));
    wait(&api, 1);
    add(&api, 4).await;
    api.run_feed().await;
    wait(&api, 31 * 86_400);
    assert_eq!(api.get(&next).await.expect(410).string("/code"), "cursor_expired");
}

#[tokio::test]
async fn many_changes_are_paged_and_old_ones_are_found_by_search() {
    let api = settled_at_once().await;
    let mut people = Vec::new();
    for number in 0..40 {
        people.push(add(&api, number).await);
        wait(&api, 60);
    }
    api.run_feed().await;
    for round in 0..6 {
        for id in &people {
            tag(&api, *id, &format!("r{round}")).await;
            wait(&api, 60);
        }
        api.run_feed().await;
    }
    // 280 events, of which the feed's end is read at once, and the others are searched.
    let created = api.get(&format!("/api/v1/candidates/{}", people[7])).await.expect(200);
    for since in [created.string("/created_at"), created.string("/updated_at")] {
        let expected: Vec<_> =
            if since == created.string("/updated_at") { people[7..].to_vec() } else { people.clone() };
        for limit in [7, 100] {
            assert_eq!(ids(&changed_by(&api, "candidates", since, limit).await), expected, "{since} {limit}");
        }
    }
}

#[tokio::test]
async fn a_role_that_is_renamed_changes_its_posting_and_nobody_else() {
    let api = settled_at_once().await;
    let fixtures = Fixtures::new(&api).await;
    api.run_tasks().await;
    api.run_feed().await;
    let since = wait(&api, 3_600);
    let role = format!("/api/v1/roles/{}", fixtures.role);
    api.patch(&role, json!({ "title": "Chef" })).await.expect(200);
    api.run_tasks().await;
    let event = last_event(&api).await;
    assert_eq!((&event["type"], &event["changed"]), (&json!("posting.updated"), &json!(["title"])));
    assert_eq!(event["at"], since);
    assert_eq!(changed(&api, "roles", &since).await, [fixtures.role]);
    let postings = changed_by(&api, "job_postings", &since, 100).await;
    assert_eq!(
        (postings[0]["title"].as_str(), postings[0]["updated_at"].as_str()),
        (Some("Chef"), Some(&*since))
    );
    for list in ["candidates", "applications", "voice_screens"] {
        assert_eq!(changed(&api, list, &since).await, [0_u64; 0], "{list}");
    }
    // A posting with a title of its own shows nothing else.
    let posting = format!("/api/v1/job_postings/{}", fixtures.posting);
    api.patch(&posting, json!({ "title": "Cook", "public_description": "Own" })).await.expect(200);
    let since = wait(&api, 60);
    api.patch(&role, json!({ "title": "Head chef", "description": "New", "closes_on": "2026-12-31" }))
        .await
        .expect(200);
    api.run_tasks().await;
    api.run_feed().await;
    assert_eq!(changed(&api, "job_postings", &since).await, [0_u64; 0]);
    assert_eq!(changed(&api, "applications", &since).await, [0_u64; 0]);
}

#[tokio::test]
async fn a_closed_application_has_the_time_of_its_event_in_every_answer() {
    let api = settled_at_once().await;
    let role = Fixtures::new(&api).await;
    api.run_tasks().await;
    api.run_feed().await;
    let answers = async || {
        let paths = [
            format!("/api/v1/applications/{}", role.application),
            format!("/api/v1/applications?role_id={}", role.role),
            "/api/v1/applications".to_owned(),
            format!("/api/v1/applications?candidate_id={}", role.candidate),
            format!("/api/v1/candidates/{}", role.candidate),
        ];
        let mut found = BTreeSet::new();
        for path in paths {
            let answer = api.get(&path).await.expect(200);
            let places = ["", "/data/0", "/applications/0"];
            let place = places.into_iter().find(|place| {
                let id = answer.body.pointer(&format!("{place}/id"));
                id.and_then(Value::as_u64) == Some(role.application)
            });
            let place = place.unwrap_or_else(|| panic!("{path}: {}", answer.text));
            let of = |name: &str| answer.string(&format!("{place}/{name}")).to_owned();
            found.insert((of("status"), of("updated_at")));
        }
        found
    };
    let one = |status: &str, time: &str| BTreeSet::from([(status.to_owned(), time.to_owned())]);
    for (status, kind) in [("closed", "application.closed"), ("active", "application.reopened")] {
        let earlier = answers().await.into_iter().next().unwrap().1;
        wait(&api, 60);
        let path = format!("/api/v1/roles/{}", role.role);
        if status == "closed" {
            api.delete(&path).await.expect(200);
        } else {
            api.request(Method::POST, &format!("{path}/reopen")).send().await.expect(200);
        }
        assert_eq!(answers().await, one(status, &earlier));
        let time = wait(&api, 30);
        api.run_tasks().await;
        api.run_feed().await;
        let events = api.get(&format!("/api/v1/events?type={kind}")).await.expect(200);
        assert_eq!(events.string("/data/0/at"), time);
        assert_eq!(answers().await, one(status, &time));
        assert_eq!(changed(&api, "applications", &time).await, [role.application]);
    }
}

#[tokio::test]
async fn a_change_has_the_same_time_in_the_answer_and_in_the_feed_and_times_grow() {
    let api = TestApi::new().await;
    let id = add(&api, 1).await;
    let mut last = String::new();
    for round in 0..3 {
        // In the last round, the clock has gone back.
        wait(&api, if round < 2 { 5 } else { -60 });
        let edited = tag(&api, id, &format!("r{round}")).await;
        let time = edited.string("/updated_at").to_owned();
        assert!(last < time, "{last} {time}");
        assert_eq!(last_event(&api).await["at"], time);
        last = time;
    }
    let one = last.parse::<Timestamp>().unwrap();
    assert_eq!(later(one, SignedDuration::from_millis(-1)).to_string(), "2026-11-20T09:30:10.000Z");
}

#[tokio::test]
async fn somebody_who_was_erased_is_not_answered() {
    let api = settled_at_once().await;
    let (one, two) = (add(&api, 1).await, add(&api, 2).await);
    api.run_feed().await;
    let since = wait(&api, 600);
    tag(&api, one, "a").await;
    tag(&api, two, "a").await;
    api.post(&format!("/api/v1/candidates/{one}/erase"), json!({})).await.expect(202);
    api.run_feed().await;
    assert_eq!(changed(&api, "candidates", &since).await, [two]);
    api.run_tasks().await;
    api.run_feed().await;
    assert_eq!(changed(&api, "candidates", &since).await, [two]);
    assert_eq!(last_event(&api).await["type"], "candidate.erased");
}

#[tokio::test]
async fn another_tenant_and_the_other_mode_see_nothing() {
    let api = settled_at_once().await;
    api.run_feed().await;
    let since = wait(&api, 60);
    Fixtures::new(&api).await;
    api.run_whole_feed().await;
    wait(&api, 1);
    for list in LISTS {
        let path = format!("/api/v1/{list}?updated_after={since}");
        assert_ne!(api.get(&path).await.expect(200).body["data"], json!([]), "{list}");
        for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
            let other = api.request(Method::GET, &path).key(demo, mode).send().await.expect(200);
            assert_eq!(
                (&other.body["data"], &other.body["next_cursor"]),
                (&json!([]), &Value::Null),
                "{list}"
            );
        }
        let page = api.get(&format!("{path}&limit=1")).await.expect(200);
        if let Some(cursor) = page.body["next_cursor"].as_str() {
            let next = format!("{path}&limit=1&cursor={cursor}");
            api.request(Method::GET, &next).key(GLOBEX, Mode::Live).send().await.expect(400);
            let later = next.replace(&since, "2026-11-20T09:31:01Z");
            api.get(&later).await.expect(400);
        }
    }
}

#[tokio::test]
async fn a_wrong_time_or_another_filter_is_refused() {
    let api = TestApi::new().await;
    for list in LISTS {
        for (query, message) in [
            ("updated_after=", "updated_after can't be blank"),
            ("updated_after=yesterday", "updated_after must be a time, such as 2026-11-20T09:30:00.000Z"),
            ("updated_after=2026-11-20", "updated_after must be a time, such as 2026-11-20T09:30:00.000Z"),
        ] {
            let refused = api.get(&format!("/api/v1/{list}?{query}")).await.expect(422);
            assert_eq!(refused.messages(), [message], "{list}");
        }
    }
    let time = "updated_after=2026-11-20T09:30:00Z";
    for (list, filter) in [
        ("candidates", "role_id=1"),
        ("candidates", "q=ada"),
        ("applications", "status=active"),
        ("roles", "include=stats"),
        ("roles", "status=open"),
        ("job_postings", "published=true"),
        ("voice_screens", "candidate_id=1"),
    ] {
        let name = filter.split('=').next().unwrap();
        let refused = api.get(&format!("/api/v1/{list}?{time}&{filter}")).await.expect(422);
        assert_eq!(refused.messages(), [format!("updated_after can't be combined with {name}")], "{list}");
    }
    let both = api.get(&format!("/api/v1/candidates?{time}&role_id=1&stage=applied")).await.expect(422);
    assert_eq!(both.messages().len(), 2);
    api.get(&format!("/api/v1/candidates?{time}&cursor=")).await.expect(400);
    api.get(&format!(
        "/api/v1/candidates?{time}&cursor=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
    ))
    .await
    .expect(400);
    assert_eq!(
        api.get("/api/v1/candidates?updated_after=2126-01-01T00:00:00Z").await.expect(200).body["data"],
        json!([])
    );
}

#[tokio::test]
async fn people_of_an_import_are_answered_with_its_end() {
    let api = settled_at_once().await;
    add(&api, 1).await;
    api.run_feed().await;
    let since = wait(&api, 600);
    let rows: Vec<_> = (0..3)
        .map(|number| {
            json!({
                "name": format!("Imported {number}"), "external_id": format!("x{number}"),
                "created_at": "2024-01-10T09:00:00Z", "notes": [{ "text": "n" }],
                "applications": [{ "role": { "title": "Cook" }, "applied_at": "2024-02-11T09:00:00Z", "stage": "offer" }],
            })
        })
        .collect();
    let begun = api.post("/api/v1/imports", json!({ "format": "ndjson", "rows": rows })).await.expect(201);
    let import = begun.number("/id");
    for step in ["", "run"] {
        if !step.is_empty() {
            api.request(Method::POST, &format!("/api/v1/imports/{import}/{step}")).send().await.expect(202);
        }
        for _ in 0..20 {
            wait(&api, 1);
            api.run_tasks().await;
            api.run_feed().await;
        }
    }
    let shown = api.get(&format!("/api/v1/imports/{import}")).await.expect(200);
    assert_eq!(shown.string("/status"), "done");
    let people = changed_by(&api, "candidates", &since, 2).await;
    assert_eq!(people.len(), 3);
    assert!(people.iter().all(|person| person["updated_at"].as_str().unwrap() >= since.as_str()));
    assert_eq!(changed(&api, "applications", &since).await.len(), 3);
    assert_eq!(changed(&api, "roles", &since).await.len(), 1);
}

/// The calls of a question that read, without those of the outbox, and the sum of their units.
async fn cost(api: &TestApi, since: &str) -> (Vec<RecordedCall>, f64) {
    api.dynamodb.take_calls();
    changed(api, "candidates", since).await;
    let is_counted = |call: &RecordedCall| {
        let is_read = ["GetItem", "BatchGetItem", "Query"].contains(&&*call.operation);
        is_read && !call.request.to_string().contains("OUTBOX#")
    };
    let calls: Vec<_> = api.dynamodb.take_calls().into_iter().filter(is_counted).collect();
    let units = calls.iter().map(RecordedCall::units).sum();
    println!("{} calls, {units} units", calls.len());
    (calls, units)
}

#[tokio::test]
async fn a_question_costs_what_it_reads_of_the_feed() {
    let api = settled_at_once().await;
    let acme = tenant(ACME, Mode::Live);
    let mut people = Vec::new();
    for number in 0..10 {
        people.push(add(&api, number).await);
    }
    api.run_feed().await;
    let fill =
        async |count: usize| drop(write_events(&api, acme, &vec![EventType::RoleUpdated; count]).await);
    let mut times = Vec::new();
    for _ in 0..40 {
        times.push(wait(&api, 600));
        fill(250).await;
    }
    wait(&api, 600);
    fill(90).await;
    let since = wait(&api, 600);
    for id in &people {
        wait(&api, 1);
        tag(&api, *id, "new").await;
    }
    // Of each person, a write has one event here.
    api.run_feed().await;
    let (_, recent) = cost(&api, &since).await;
    assert!(recent <= 10.0, "{recent}");
    // A thousand events more.
    wait(&api, 1);
    fill(1_000).await;
    let (_, further) = cost(&api, &since).await;
    assert!(further <= recent + 130.0 + 25.0, "{further}");
    // The walk is not longer, but its start is farther away.
    let (calls, _) = cost(&api, &times[20]).await;
    let searched = calls.iter().filter(|call| call.operation == "GetItem").count();
    assert!(searched <= 25, "{searched}");
}
