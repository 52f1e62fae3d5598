//! The change feed: what is an event, the order and the numbers of events, and how the feed is read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::Poll;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::{join_all, poll_fn};
use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::clock::{Clock, Timestamp};
use shared::http::Environment;
use shared::id::{Id, Ids};
use shared::model::{
    AuditActor, DATA_NAMES, EventType, Mode, Role, RoleAndPosting, RoleContent, RoleStats, RoleStatus, Scope,
    Scopes, SubjectType, Tenant, Text,
};
use shared::providers::Providers;
use shared::providers::webhooks::WebhookReach;
use shared::random::Random;
use shared::store::{AuditOrigin, FeedHead, Store, Transaction};
use tests::fake::{FakeResponse, FakeServer};
use tests::interceptor::{Fault, RecordedCall};
use tests::{ACME, Fixtures, GLOBEX, TestApi, engine, tenant};
use tokio::sync::Notify;

use super::webhooks::write_events;

/// The events of Acme's live feed after a position, as the API returns them.
async fn events(api: &TestApi, after: &str) -> Vec<Value> {
    let path = format!("/api/v1/events?limit=1000&after={after}");
    api.get(&path).await.expect(200).body["data"].as_array().unwrap().clone()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The types of the events of one request, in the order of the feed.
async fn events_of(api: &TestApi, method: &str, path: &str, body: Value) -> Vec<Value> {
    api.run_feed().await;
    let head = api.get("/api/v1/events?after=latest").await.expect(200).string("/position").to_owned();
    let request = api.request(method.parse().unwrap(), path);
    let request = if body.is_null() { request } else { request.json(&body) };
    let response = request.send().await;
    assert!(response.status < 300, "{method} {path}: {}", response.text);
    api.run_feed().await;
    events(api, &head).await
}

#[tokio::test]
async fn changes_are_events_with_ids_and_words() {
    let api = TestApi::new().await;
    let Fixtures { role, posting, candidate, application, screen, note, .. } = Fixtures::new(&api).await;
    api.run_feed().await;
    let all = events(&api, "0").await;
    let first = [
        "role.created",
        "posting.created",
        "candidate.created",
        "application.created",
        "screen.created",
        "candidate.stage_changed",
        "application.stage_changed",
        "note.created",
        "file.created",
    ];
    assert_eq!(types(&all), first);
    let seqs: Vec<_> = all.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=9).collect::<Vec<_>>());
    let ids: BTreeSet<_> = all.iter().map(|event| event["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), 9);
    let [key] = [&all[0]["actor"]["id"]];
    assert_eq!(
        all[6],
        json!({
            "id": all[6]["id"], "seq": 7, "type": "application.stage_changed", "at": "2026-11-20T09:30:00.002Z",
            "mode": "live", "subject": { "type": "application", "id": application, "version": 2 },
            "actor": { "type": "api_key", "id": key }, "changed": ["stage"],
            "data": { "candidate_id": candidate, "role_id": role, "from": "applied", "to": "screening" },
            "imported": false,
        })
    );
    assert_eq!(all[4]["subject"], json!({ "type": "voice_screen", "id": screen, "version": 1 }));
    assert_eq!(all[7]["subject"]["id"], note);

    let (roles, people) = (format!("/api/v1/roles/{role}"), format!("/api/v1/candidates/{candidate}"));
    let pause = events_of(&api, "POST", &format!("{roles}/pause"), Value::Null).await;
    assert_eq!(types(&pause), ["role.paused"]);
    assert_eq!(pause[0]["data"], json!({ "from": "open", "to": "paused" }));
    let edit = events_of(&api, "PATCH", &roles, json!({ "title": "y", "location": "Oslo" })).await;
    assert_eq!(types(&edit), ["role.updated", "posting.updated"], "the posting shows the role's title");
    assert_eq!(edit[0]["changed"], json!(["title", "location"]));
    assert_eq!(edit[1]["changed"], json!(["title"]));
    let same = events_of(&api, "PATCH", &roles, json!({ "title": "y" })).await;
    assert!(same.is_empty(), "nothing changed: {same:?}");
    let named = events_of(&api, "PATCH", &people, json!({ "name": "Ada", "tags": ["x"] })).await;
    assert_eq!((types(&named), &named[0]["changed"]), (vec!["candidate.updated"], &json!(["name", "tags"])));
    let hired = events_of(&api, "POST", &format!("{people}/hire"), json!({})).await;
    assert_eq!(types(&hired), ["candidate.stage_changed", "application.stage_changed"]);
    assert_eq!(hired[1]["data"]["to"], "hired");
    let hidden =
        events_of(&api, "POST", &format!("/api/v1/job_postings/{posting}/unpublish"), Value::Null).await;
    assert_eq!(types(&hidden), ["posting.unpublished"]);
    let removed = events_of(&api, "DELETE", &format!("{people}/notes/{note}"), Value::Null).await;
    assert_eq!(types(&removed), ["note.deleted"]);
    let erased = events_of(&api, "POST", &format!("{people}/erase"), json!({ "reason": "request" })).await;
    assert_eq!(types(&erased), ["candidate.erased"]);
    assert_eq!(erased[0]["data"], json!({ "reason": "request" }));
}

#[tokio::test]
async fn jobs_and_the_administration_make_events_too() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    api.delete(&format!("/api/v1/roles/{}", fixtures.role)).await.expect(200);
    api.run_tasks().await;
    api.run_tasks().await;
    api.run_feed().await;
    let all = events(&api, "0").await;
    for (kind, actor) in
        [("role.closed", "api_key"), ("application.closed", "system"), ("screen.cancelled", "system")]
    {
        let event = all
            .iter()
            .find(|event| event["type"] == kind)
            .unwrap_or_else(|| panic!("{kind}: {:?}", types(&all)));
        assert_eq!(event["actor"]["type"], actor, "{kind}");
    }
    let origin = AuditOrigin::inside(
        AuditActor::operator(),
        api.environment.clock.clone(),
        Ids::new(api.environment.clock.clone(), Random::seeded(7)),
    );
    let operator = api.store().clone().with_origin(Arc::new(origin));
    let acme = tenant(ACME, Mode::Live).organization;
    operator.set_plan(acme, shared::model::Plan::Pro).await.unwrap();
    api.run_feed().await;
    for mode in Mode::ALL {
        let response = api.request(Method::GET, "/api/v1/events").key(ACME, mode).send().await.expect(200);
        let last = response.body["data"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(
            (last["type"].as_str(), last["mode"].as_str()),
            (Some("organization.plan_changed"), Some(mode.as_str()))
        );
        assert_eq!(last["actor"], json!({ "type": "operator", "id": null }));
    }
}

/// The link to the next page of Acme's feed.
fn link(query: &str) -> String {
    format!("<https://api.rolecall.test/api/v1/events?{query}>; rel=\"next\"")
}

#[tokio::test]
async fn a_page_of_one_type_reads_on_until_it_has_an_event_or_10_000_were_examined() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    let write = async |kind: EventType, count: usize| {
        drop(write_events(&api, acme, &vec![kind; count]).await);
    };
    write(EventType::RoleUpdated, 2_500).await;
    write(EventType::CandidateErased, 2).await;
    let path = "/api/v1/events?type=candidate.erased&limit=1";
    let found = api.get(path).await.expect(200);
    assert_eq!(found.body["data"][0]["seq"], 2_501);
    assert_eq!((&found.body["position"], &found.body["next_cursor"]), (&json!("2501"), &json!("2501")));
    let last = api.get(&format!("{path}&after=2501")).await.expect(200).body;
    assert_eq!((&last["data"][0]["seq"], &last["next_cursor"]), (&json!(2_502), &json!(null)));
    write(EventType::RoleUpdated, 10_001).await;
    let empty = api.get(&format!("{path}&after=2502")).await.expect(200);
    assert_eq!(empty.header("link"), link("limit=1&type=candidate.erased&after=12502"));
    let expected = json!({ "data": [], "next_cursor": "12502", "position": "12502", "has_more": true });
    assert_eq!(empty.body, expected);
    let rest = api.get(&format!("{path}&cursor=12502")).await.expect(200).body;
    let expected = json!({ "data": [], "next_cursor": null, "position": "12503", "has_more": false });
    assert_eq!(rest, expected);
}

#[tokio::test]
async fn the_feed_is_read_in_pages() {
    let api = TestApi::new().await;
    let empty = api.get("/api/v1/events").await.expect(200).body;
    assert_eq!(empty, json!({ "data": [], "next_cursor": null, "position": "0", "has_more": false }));
    for number in 0..5 {
        api.post("/api/v1/roles", json!({ "title": format!("Role {number}") })).await.expect(201);
    }
    assert!(events(&api, "0").await.is_empty(), "not before the job has run");
    assert_eq!(api.run_feed().await.events, 5);
    assert_eq!(api.run_feed().await, feed::Summary::default());
    let page = api.get("/api/v1/events?limit=2").await.expect(200);
    assert_eq!(page.header("link"), link("limit=2&after=2"));
    let page = page.body;
    assert_eq!((&page["next_cursor"], &page["has_more"]), (&json!("2"), &json!(true)));
    assert_eq!(page["position"], "2");
    let page = api.get("/api/v1/events?limit=3&after=2").await.expect(200).body;
    assert_eq!((page["data"].as_array().unwrap().len(), &page["has_more"]), (3, &json!(false)));
    assert_eq!((&page["next_cursor"], &page["position"]), (&json!(null), &json!("5")));
    let end = api.get("/api/v1/events?after=5").await.expect(200);
    assert_eq!(end.header("link"), "");
    let end = end.body;
    assert_eq!(end, json!({ "data": [], "next_cursor": null, "position": "5", "has_more": false }));
    // Programs that know lists send `cursor`.
    let other = api.get("/api/v1/events?limit=2&cursor=2").await.expect(200);
    assert_eq!(other.body, api.get("/api/v1/events?limit=2&after=2").await.body);
    assert_eq!(other.header("link"), link("limit=2&after=4"));
    let both = api.get("/api/v1/events?after=1&cursor=1").await.expect(422);
    assert_eq!(both.body["messages"], json!(["cursor can't be combined with after"]));
    for blank in ["after=", "cursor=", "cursor=%20"] {
        let blank = api.get(&format!("/api/v1/events?{blank}")).await.expect(400);
        assert!(blank.string("/error").ends_with("A list has ended when next_cursor is null"));
    }
    let latest = api.get("/api/v1/events?after=latest").await.expect(200).body;
    assert_eq!(latest, end);
    let beyond = api.get("/api/v1/events?after=6").await.expect(410);
    assert_eq!(beyond.string("/code"), "cursor_expired");
    for bad in ["after=x", "after=-1", "cursor=now", "limit=0", "limit=1001", "type=role.exploded"] {
        api.get(&format!("/api/v1/events?{bad}")).await.expect(422);
    }
    // A filter reads on: the page ends where it is full, or at the end of what was read.
    let role = api.post("/api/v1/roles", json!({ "title": "Last" })).await.expect(201).number("/id");
    api.post(&format!("/api/v1/roles/{role}/publish"), json!({})).await.expect(200);
    api.run_feed().await;
    let published = api.get("/api/v1/events?type=role.published&limit=1").await.expect(200).body;
    assert_eq!((&published["data"][0]["seq"], &published["position"]), (&json!(7), &json!("7")));
    let created = api.get("/api/v1/events?type=role.created&limit=4").await.expect(200);
    assert_eq!(created.header("link"), link("limit=4&type=role.created&after=4"));
    let created = created.body;
    assert_eq!((&created["next_cursor"], &created["has_more"]), (&json!("4"), &json!(true)));
    let none = api.get("/api/v1/events?type=note.created").await.expect(200).body;
    assert_eq!(none, json!({ "data": [], "next_cursor": null, "position": "7", "has_more": false }));
    // Other tenants have feeds of their own.
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        let other = api.request(Method::GET, "/api/v1/events").key(demo, mode).send().await.expect(200);
        assert_eq!(other.body["data"], json!([]));
    }
}

/// The position after a page is that of its last event, even if the event is newer than the head that was read.
#[tokio::test]
async fn a_page_may_have_events_that_came_after_its_head_was_read() {
    let api = Arc::new(TestApi::new().await);
    let create = async |api: &TestApi| {
        api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201);
        api.run_feed().await;
    };
    create(&api).await;
    let other = api.clone();
    api.dynamodb.run_before("Query", async move {
        create(&other).await;
        create(&other).await;
    });
    let page = api.get("/api/v1/events").await.expect(200);
    let last = page.body["data"].as_array().unwrap().last().unwrap()["seq"].to_string();
    assert_eq!((page.string("/position"), &page.body["has_more"]), (last.as_str(), &json!(false)));
    let seen: u64 = last.parse().unwrap();
    let rest = events(&api, &last).await;
    let rest: Vec<_> = rest.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(rest, (seen + 1..=3).collect::<Vec<_>>());
}

#[tokio::test]
async fn events_expire_after_30_days_even_if_they_are_deleted_late_and_in_any_order() {
    let api = TestApi::new().await;
    let post = async |count: u64| {
        for _ in 0..count {
            api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201);
        }
        api.run_feed().await;
    };
    post(5).await;
    api.clock.set("2026-12-05T09:30:00Z");
    post(3).await;
    api.clock.set("2026-12-20T09:29:59Z");
    assert_eq!(events(&api, "0").await.len(), 8);
    api.clock.set("2026-12-20T09:30:00Z");
    // Nothing is deleted yet.
    let seqs =
        |events: Vec<Value>| events.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>();
    let oldest = async || {
        let page = api.get("/api/v1/events").await.expect(200);
        seqs(page.body["data"].as_array().unwrap().clone())
    };
    assert_eq!(oldest().await, [6, 7, 8]);
    for after in 0..5 {
        api.get(&format!("/api/v1/events?after={after}")).await.expect(410);
    }
    assert_eq!(seqs(events(&api, "5").await), [6, 7, 8]);
    // DynamoDB deletes some of the expired events.
    let mut items = api.stored_items().await;
    items.retain(|(pk, sk), _| !(pk.ends_with("#EVENT") && (sk.ends_with('1') || sk.ends_with('4'))));
    api.restore(&items).await;
    assert_eq!(oldest().await, [6, 7, 8]);
    for after in 0..5 {
        api.get(&format!("/api/v1/events?after={after}")).await.expect(410);
    }
    api.clock.set("2027-02-01T00:00:00Z");
    assert_eq!(oldest().await, [0_u64; 0]);
    assert_eq!(api.get("/api/v1/events?after=8").await.expect(200).body["data"], json!([]));
    // A slow clock gives no event a shorter life than its predecessor has.
    api.clock.set("2026-12-01T00:00:00Z");
    post(1).await;
    let items = api.stored_items().await;
    let expiry = |seq: u64| {
        let (_, item) = items
            .iter()
            .find(|((pk, sk), _)| pk.ends_with("live#EVENT") && *sk == format!("{seq:016}"))
            .unwrap();
        item["expires_at"].as_n().unwrap().parse::<i64>().unwrap()
    };
    assert_eq!(expiry(9), expiry(8));
}

#[tokio::test]
async fn after_a_restore_readers_go_on_a_million_events_later() {
    let api = TestApi::new().await;
    let create = async || {
        api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201);
        api.run_feed().await;
    };
    create().await;
    create().await;
    let backup = api.stored_items().await;
    create().await;
    api.restore(&backup).await;
    let acme = tenant(ACME, Mode::Live);
    assert_eq!(api.store().raise_feed(acme).await.unwrap(), 1_000_002);
    for after in ["0", "2", "3", "1000002", "latest"] {
        let page = api.get(&format!("/api/v1/events?after={after}")).await.expect(200);
        let expected = if after == "0" { 2 } else { 0 };
        assert_eq!(page.body["data"].as_array().unwrap().len(), expected, "{after}");
        assert_eq!(page.body["has_more"], false);
        assert_eq!(page.string("/position"), "1000002", "all was examined");
    }
    create().await;
    for (after, first) in [("2", 1_000_003), ("3", 1_000_003), ("1000002", 1_000_003), ("0", 1)] {
        let found = events(&api, after).await;
        assert_eq!(found[0]["seq"], first, "{after}");
        assert_eq!(found.last().unwrap()["seq"], 1_000_003);
    }
    api.get("/api/v1/events?after=1000004").await.expect(410);
    // The oldest event is found among expired ones, past the numbers that no event has.
    api.clock.set("2026-12-01T09:30:00Z");
    create().await;
    api.clock.set("2026-12-20T09:30:00Z");
    let kept = api.get("/api/v1/events").await.expect(200);
    assert_eq!(kept.body["data"][0]["seq"], 1_000_004);
}

#[tokio::test]
async fn events_contain_nothing_that_somebody_wrote() {
    const SECRET: &str = "Xylophon";
    let mut api = TestApi::new().await;
    let reach = WebhookReach::with_loopback();
    api.environment.providers = Providers::with_webhook_reach(&api.environment.config, reach);
    api.restart();
    let server = FakeServer::start(|_| FakeResponse::Full(200, Vec::new(), String::new())).await;
    let endpoint = json!({ "url": format!("{}/{SECRET}", server.url), "description": SECRET });
    api.post("/api/v1/webhook_endpoints", endpoint).await.expect(201);
    let text = |what: &str| format!("{SECRET} {what}");
    let role = json!({
        "role": { "title": text("title"), "description": text("description"), "department": text("department"), "location": text("city") },
        "job_posting": { "requirements": text("requirements") },
    });
    let role = api.post("/api/v1/quick_post", role).await.expect(201).number("/role/id");
    let ada = json!({
        "name": text("name"), "email": format!("{SECRET}@example.com"), "phone": "+4915112345678", "source": SECRET,
        "tags": [SECRET], "external_id": SECRET, "role_id": role,
    });
    let id = api.post("/api/v1/candidates", ada).await.expect(201).number("/id");
    let path = format!("/api/v1/candidates/{id}");
    api.patch(&path, json!({ "name": text("other"), "tags": [text("tag")] })).await.expect(200);
    api.post(&format!("{path}/notes"), json!({ "text": text("note") })).await.expect(201);
    let consent = json!({
        "purpose": "recording", "granted": true, "obtained_at": "2026-11-20T09:00:00Z", "wording": text("wording"),
    });
    api.post(&format!("{path}/consents"), consent).await.expect(201);
    api.post(&format!("{path}/reject"), json!({ "reason": text("reason"), "notes": text("notes") }))
        .await
        .expect(200);
    api.request(Method::PUT, &format!("{path}/legal_hold"))
        .json(&json!({ "reason": text("hold") }))
        .send()
        .await
        .expect(200);
    let texts = |items: BTreeMap<(String, String), HashMap<String, _>>, part: &str| {
        let own: Vec<_> = items.into_iter().filter(|((pk, _), _)| pk.contains(part)).collect();
        assert!(!own.is_empty(), "{part}");
        format!("{own:?}")
    };
    let has_none = |what: &str, text: &str| {
        assert!(!text.to_lowercase().contains(&SECRET.to_lowercase()), "{what}: {text}");
        assert!(!text.contains("15112345678"), "{what}: {text}");
    };
    for part in ["OUTBOX", "#EVENT", "#DELIVERY", "WEBHOOK#"] {
        has_none(part, &texts(api.stored_items().await, part));
        api.run_feed().await;
        api.deliver().await;
    }
    let requests = server.requests();
    assert!(requests.len() > 10, "{}", requests.len());
    for request in requests {
        has_none("a request", &format!("{} {:?}", request.body, request.headers));
    }
}

#[tokio::test]
async fn a_key_has_the_feed_only_if_it_was_asked_for() {
    let by_default = Scopes::by_default();
    for scope in [Scope::EventsRead, Scope::WebhooksRead, Scope::WebhooksWrite] {
        assert!(!by_default.contains(scope));
    }
}

/// The partitions of the outbox in which changes wait.
async fn waiting_in(api: &TestApi) -> BTreeSet<String> {
    let keys = api.stored_items().await.into_keys().map(|(pk, _)| pk);
    keys.filter(|pk| pk.starts_with("OUTBOX#")).collect()
}

/// The identifiers and versions of the roles of events, without a gap in the numbers.
fn role_versions(events: &[Value]) -> Vec<(u64, u64)> {
    let number = |value: &Value| value.as_u64().unwrap();
    for two in events.windows(2) {
        assert_eq!(number(&two[1]["seq"]), number(&two[0]["seq"]) + 1, "{two:?}");
    }
    let of = |event: &Value| (number(&event["subject"]["id"]), number(&event["subject"]["version"]));
    events.iter().map(of).collect()
}

/// A tenant's changes are in two partitions, and one may have more of them than a round reads.
#[tokio::test]
async fn changes_in_two_partitions_get_their_numbers_in_the_order_of_their_times() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201).number("/id");
    for number in 2..=20 {
        let title = json!({ "title": format!("Title {number}") });
        api.patch(&format!("/api/v1/roles/{role}"), title).await.expect(200);
    }
    let partitions: Vec<_> = waiting_in(&api).await.into_iter().collect();
    assert_eq!(partitions.len(), 2, "{partitions:?}");
    let pattern = api.stored_items().await.into_iter().find(|((pk, _), _)| *pk == partitions[0]).unwrap().1;
    let run = api.run_whole_feed().await;
    assert_eq!((run.events, run.advanced), (20, vec![tenant(ACME, Mode::Live)]));
    let versions: Vec<_> = (1..=20).map(|version| (role, version)).collect();
    assert_eq!(role_versions(&events(&api, "0").await), versions);
    assert!(waiting_in(&api).await.is_empty());

    // Whether each of 300 further changes is in the second partition.
    let is_in_second: [fn(u64) -> bool; 5] = [
        |number| number % 2 == 0,
        |number| number % 50 == 7,
        |number| number >= 150,
        |number| number < 150,
        |_| false,
    ];
    let mut position = 20;
    for (what, is_in_second) in is_in_second.into_iter().enumerate() {
        let begin = 1_795_167_100_000 + position;
        let change = |number: u64| {
            let mut item = pattern.clone();
            let (id, version) = (1 + number / 3, 1 + number % 3);
            let sk = format!("1#live#{:015}#role#{id}", begin + number);
            let pk = partitions[usize::from(is_in_second(number))].clone();
            item.extend([("pk".to_owned(), AttributeValue::S(pk)), ("sk".to_owned(), AttributeValue::S(sk))]);
            let Some(AttributeValue::L(changes)) = item.get_mut("changes") else { panic!("{pattern:?}") };
            let AttributeValue::M(change) = &mut changes[0] else { panic!("{pattern:?}") };
            let Some(AttributeValue::M(subject)) = change.get_mut("subject") else { panic!("{pattern:?}") };
            subject.insert("id".to_owned(), AttributeValue::N(id.to_string()));
            subject.insert("version".to_owned(), AttributeValue::N(version.to_string()));
            item
        };
        api.write_items((0..300).map(change)).await;
        let run = api.run_whole_feed().await;
        assert_eq!((run.events, run.advanced), (300, vec![tenant(ACME, Mode::Live)]), "{what}");
        let expected: Vec<_> = (0..300).map(|number| (1 + number / 3, 1 + number % 3)).collect();
        assert_eq!(role_versions(&events(&api, &position.to_string()).await), expected, "{what}");
        assert!(waiting_in(&api).await.is_empty(), "{what}");
        position += 300;
    }
}

/// The first reading has read one of the two partitions when these changes are made. It misses those in this partition, and finds
/// later ones in the other.
#[tokio::test]
async fn changes_during_a_reading_of_two_partitions_keep_the_order_of_their_versions() {
    let api = Arc::new(TestApi::new().await);
    let role = api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201).number("/id");
    let (queries, shared) = (AtomicU64::new(0), api.clone());
    api.dynamodb.inject_faults(move |operation, request| {
        let partition = request["ExpressionAttributeValues"][":hash"]["S"].as_str();
        let is_of_outbox = operation == "Query" && partition.is_some_and(|pk| pk.starts_with("OUTBOX#"));
        if is_of_outbox && queries.fetch_add(1, Ordering::Relaxed) == 1 {
            let api = shared.clone();
            shared.dynamodb.run_before("Query", async move {
                for version in 2..=9 {
                    let title = json!({ "title": format!("Title {version}") });
                    api.patch(&format!("/api/v1/roles/{role}"), title).await.expect(200);
                }
            });
        }
        None
    });
    run_of(&api).await.unwrap();
    api.dynamodb.inject_faults(|_, _| None);
    api.run_feed().await;
    let versions: Vec<_> = (1..=9).map(|version| (role, version)).collect();
    assert_eq!(role_versions(&events(&api, "0").await), versions);
}

/// Writes two changes of Acme, of which the first cannot be read.
async fn write_poison(api: &TestApi) {
    api.run_feed().await;
    for _ in 0..2 {
        api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201);
    }
    let mut items = api.stored_items().await;
    let (_, item) = items.iter_mut().find(|((pk, _), _)| pk.starts_with("OUTBOX#")).unwrap();
    item.remove("changes");
    api.restore(&items).await;
}

#[tokio::test]
async fn an_unreadable_change_is_set_aside_and_the_others_go_on() {
    let api = TestApi::new().await;
    write_poison(&api).await;
    let run = api.run_whole_feed().await;
    assert_eq!((run.events, run.quarantined), (1, 1));
    assert_eq!(events(&api, "0").await.len(), 1);
}

#[tokio::test]
async fn a_deleted_organization_leaves_nothing_of_its_feed() {
    let api = TestApi::new().await;
    api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201);
    api.run_feed().await;
    for title in 'a'..='h' {
        api.post("/api/v1/roles", json!({ "title": title })).await.expect(201);
    }
    assert_eq!(waiting_in(&api).await.len(), 2, "both partitions have changes");
    let acme = tenant(ACME, Mode::Live);
    let now = api.environment.clock.now();
    while api.store().delete_organization_data(acme.organization, now).await.unwrap() > 0 {}
    let own = |(pk, sk): &(String, String)| {
        (pk.starts_with("OUTBOX#") && sk.starts_with("1#")) || (pk.starts_with("1#") && pk.contains("#EVENT"))
    };
    let left: Vec<_> = api.stored_items().await.into_keys().filter(own).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A change with one event costs 5 write units: 2 for the outbox in the request's transaction, and in the function one each for
/// the head, the event and the deletion from the outbox.
#[tokio::test]
async fn the_function_moves_an_event_with_three_write_units() {
    let api = TestApi::new().await;
    api.post("/api/v1/roles", json!({ "title": "x" })).await.expect(201);
    api.run_feed().await;
    for (changes, expected) in [(1, 3.0), (2, 5.0), (10, 21.0)] {
        for _ in 0..changes {
            api.post("/api/v1/roles", json!({ "title": "y" })).await.expect(201);
        }
        api.dynamodb.take_calls();
        api.run_feed().await;
        let is_write = |call: &RecordedCall| !matches!(call.operation.as_str(), "GetItem" | "Query");
        let written: f64 =
            api.dynamodb.take_calls().iter().filter(|call| is_write(call)).map(RecordedCall::units).sum();
        // DynamoDB Local counts the units differently.
        if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none() {
            assert!((written - expected).abs() < f64::EPSILON, "{changes} changes cost {written}");
        }
    }
}

/// The time after which another run may take over a batch.
pub(super) const LEASE: i64 = 20_000;

/// Polls a future at most so many times.
pub(super) async fn poll<T, F: Future<Output = T>>(polls: u64, future: &mut Pin<Box<F>>) -> Option<T> {
    let mut left = polls;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// An API with changes of Acme that are not in the feed yet, and the number of all events. The feed may have one already.
async fn with_changes(has_head: bool) -> (TestApi, usize) {
    let api = TestApi::new().await;
    if has_head {
        api.post("/api/v1/roles", json!({ "title": "First" })).await.expect(201);
        api.run_feed().await;
    }
    for title in ["One", "Two"] {
        let role = json!({ "role": { "title": title, "description": "A job." } });
        api.post("/api/v1/quick_post", role).await.expect(201);
        let person =
            json!({ "name": "Jane Doe", "email": format!("{title}@example.com"), "phone": "+4915112345678" });
        api.post("/api/v1/candidates", person).await.expect(201);
    }
    let count = api.stored_items().await.into_iter().filter(|((pk, _), _)| pk.starts_with("OUTBOX#"));
    let count: usize = count.map(|(_, item)| item["changes"].as_l().unwrap().len()).sum();
    assert_eq!(waiting_in(&api).await.len(), 2, "both partitions have changes");
    (api, count + usize::from(has_head))
}

/// What a reader without a position sees, and the position after it. No number is missing.
async fn read_on(api: &TestApi, position: Option<&str>) -> (Vec<Value>, String) {
    let after = position.map(|position| format!("?after={position}")).unwrap_or_default();
    let page = api.get(&format!("/api/v1/events{after}")).await.expect(200);
    assert_eq!(page.body["has_more"], false);
    let events = page.body["data"].as_array().unwrap().clone();
    let first = position.unwrap_or("0").parse::<u64>().unwrap() + 1;
    for (seq, event) in (first..).zip(&events) {
        assert_eq!(event["seq"], seq, "{events:?}");
    }
    assert_eq!(page.string("/position").parse::<u64>().unwrap(), first - 1 + events.len() as u64);
    (events, page.string("/position").to_owned())
}

/// A reader who began while runs were at work ends with every change once, and nothing is left in the outbox.
async fn expect_all(api: &TestApi, (mut seen, position): (Vec<Value>, String), count: usize, what: &str) {
    seen.extend(read_on(api, Some(&position)).await.0);
    let subjects: BTreeSet<_> =
        seen.iter().map(|event| format!("{}{}", event["type"], event["subject"])).collect();
    assert_eq!((seen.len(), subjects.len()), (count, count), "{what}: {seen:?}");
    assert_eq!(read_on(api, None).await.0, seen, "{what}: what was seen stays");
    let ids: Vec<_> = seen.iter().map(|event| event["id"].as_u64().unwrap()).collect();
    assert!(ids.is_sorted(), "{what}");
    let items = api.stored_items().await;
    assert!(!items.keys().any(|(pk, _)| pk.starts_with("OUTBOX#")), "{what}");
    assert_eq!(items.keys().filter(|(pk, _)| pk == "1#live#EVENT").count(), count, "{what}");
}

/// Lets so much time pass.
pub(super) fn pass(api: &TestApi, milliseconds: i64) {
    let now = api.environment.clock.now() + SignedDuration::from_millis(milliseconds);
    api.clock.set(&now.to_string());
}

pub(super) fn run_of(
    api: &TestApi,
) -> Pin<Box<impl Future<Output = Result<feed::Summary, lambda_http::Error>>>> {
    Box::pin(feed::run_for(api.environment.clone(), vec![tenant(ACME, Mode::Live)]))
}

/// Runs the feed of Acme until it would make its call after so many. Returns whether it ended before.
pub(super) async fn run_killed(api: &TestApi, calls: u64) -> bool {
    let (left, killed) = (AtomicU64::new(calls), Arc::new(Notify::new()));
    let kill = killed.clone();
    api.dynamodb.inject_faults(move |_, _| {
        let is_over =
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left: u64| left.checked_sub(1)).is_err();
        if is_over {
            kill.notify_one();
        }
        is_over.then_some(Fault::Hang)
    });
    let is_done = tokio::select! {
        biased;
        () = killed.notified() => false,
        done = run_of(api) => {
            done.unwrap();
            true
        }
    };
    api.dynamodb.inject_faults(|_, _| None);
    is_done
}

/// Nobody continues what a killed run has begun before its time is over.
#[tokio::test]
async fn a_run_that_is_killed_before_any_of_its_calls_is_finished_by_another_one() {
    for calls in 0.. {
        let (api, count) = with_changes(calls % 2 == 0).await;
        let is_done = run_killed(&api, calls).await;
        let seen = read_on(&api, None).await;
        run_of(&api).await.unwrap();
        pass(&api, LEASE);
        run_of(&api).await.unwrap();
        expect_all(&api, seen, count, &format!("killed after {calls} calls")).await;
        if is_done {
            assert!(calls > 10, "{calls}");
            return;
        }
    }
}

/// The second run comes while the first one works, or when its time is over although it is only slow.
#[tokio::test]
async fn two_runs_at_the_same_time_move_each_change_once() {
    for (has_head, waits) in [(false, 0), (true, 0), (true, LEASE)] {
        for polls in 0.. {
            let (api, count) = with_changes(has_head).await;
            let what = format!("another run after {polls} polls and {waits} ms");
            let mut slow = run_of(&api);
            let done = poll(polls, &mut slow).await;
            pass(&api, waits);
            api.post("/api/v1/roles", json!({ "title": "Meanwhile" })).await.expect(201);
            run_of(&api).await.unwrap();
            let seen = read_on(&api, None).await;
            if done.is_some() {
                expect_all(&api, seen, count + 1, &what).await;
                break;
            }
            // If its time is over, it fails.
            let ended = slow.await;
            assert!(waits > 0 || ended.is_ok(), "{what}: {ended:?}");
            pass(&api, 1);
            expect_all(&api, seen, count + 1, &what).await;
        }
    }
}

const TENANTS: u64 = 50;
const ROLES_PER_TENANT: u64 = 3;

/// A store of another process, whose clock is `ahead` of a common time.
async fn process(api: &TestApi, time: &Arc<AtomicI64>, ahead: i64, seed: u64) -> (Store, Clock) {
    let (table, time) = (&api.environment.config.table, time.clone());
    let store = engine::store(api.dynamodb.client(), table).await;
    let clock =
        Clock::from_fn(move || Timestamp::from_millisecond(time.load(Ordering::Relaxed) + ahead).unwrap());
    let ids = Ids::new(clock.clone(), Random::seeded(seed));
    let origin = AuditOrigin::inside(AuditActor::system(), clock.clone(), ids);
    (store.with_origin(Arc::new(origin)), clock)
}

/// Polls a future at most `polls` times, and drops it unless it is done. This is how a process is killed.
async fn kill_after<T>(polls: u64, future: impl Future<Output = T>) -> Option<T> {
    poll(polls, &mut Box::pin(future)).await
}

fn tenant_number(number: u64) -> Tenant {
    Tenant { organization: Id::new(1_000 + number).unwrap(), mode: Mode::Live }
}

/// Makes a random change of a random role. Whatever fails, somebody else has changed the role, or the process is killed.
async fn change(store: &Store, clock: &Clock, random: &Random) {
    let tenant = tenant_number(random.below(TENANTS));
    let id = Id::new(1 + random.below(ROLES_PER_TENANT)).unwrap();
    let Ok(found) = store.find_roles(tenant, [id]).await else { return };
    let (now, mut transaction) = (clock.now(), Transaction::new(tenant));
    let titled = |text: &str| RoleContent::titled(Text::parse(text).unwrap().unwrap());
    match found.get(&id) {
        None => transaction.insert_role(&Role::draft(id, titled("New"), now)).unwrap(),
        Some(role) => {
            let after = match random.below(4) {
                0 => role
                    .clone()
                    .publish(now)
                    .or_else(|_| role.clone().reopen(now))
                    .unwrap_or_else(|_| role.clone().close(now)),
                1 if role.status != RoleStatus::Closed => role.clone().close(now),
                _ => role.clone().edit(titled(&format!("Title {}", random.below(1_000_000))), now),
            };
            let of = |role: &Role| RoleAndPosting {
                role: role.clone(),
                posting: None,
                stats: Some(RoleStats::default()),
            };
            transaction.replace_role(&of(role), &of(&after)).unwrap();
        }
    }
    let _ = store.commit(transaction).await;
}

/// Reads a feed to its end and checks that no number is missing. Returns the new position.
async fn follow(
    store: &Store,
    tenant: Tenant,
    after: u64,
    now: Timestamp,
    seen: &mut Vec<(u64, Id, u64)>,
) -> u64 {
    let mut after = after;
    loop {
        let Ok(head) = store.get_feed_head(tenant).await else { return after };
        let Ok(page) = store.list_events(tenant, &head, after, 7, now).await else { return after };
        let page = page.expect("a position of the reader is kept");
        for event in page.events {
            assert_eq!(event.seq, Some(after + 1), "a gap");
            after += 1;
            assert_eq!(event.subject.kind, SubjectType::Role);
            seen.push((after, event.subject.id.unwrap(), event.subject.version));
        }
        assert_eq!(page.next, after);
        if !page.has_more {
            return after;
        }
    }
}

/// 50 tenants, writers whose clocks differ by seconds, jobs that are killed, run twice and late, lost responses and
/// conflicts. `FEED_CHANGES=100000` makes so many changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_doubled_or_out_of_order() {
    let changes: u64 = std::env::var("FEED_CHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let api = TestApi::new().await;
    let faults = Random::seeded(11);
    api.dynamodb.inject_faults(move |operation, _| match (operation, faults.below(60)) {
        ("TransactWriteItems", 0) => Some(Fault::ResponseLost),
        ("TransactWriteItems", 1) => Some(Fault::Conflict),
        ("Query" | "GetItem", 0) => Some(Fault::Throttled),
        _ => None,
    });
    let (made, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let time = Arc::new(AtomicI64::new(1_795_167_000_000));
    let writers = (0_u64..6).map(|number| {
        let (api, made, time) = (&api, &made, &time);
        async move {
            let offset = [0, 2_000, -2_000, 7, -60_000, 90_000][usize::try_from(number).unwrap()];
            let (store, clock) = process(api, time, offset, number).await;
            let random = Random::seeded(100 + number);
            while made.fetch_add(1, Ordering::Relaxed) < changes {
                let polls = if random.below(10) == 0 { random.below(15) } else { u64::MAX };
                kill_after(polls, change(&store, &clock, &random)).await;
            }
        }
    });
    let jobs = (0_u64..2).map(|number| {
        let (api, is_over, time) = (&api, &is_over, &time);
        async move {
            let random = Random::seeded(200 + number);
            let (store, clock) = process(api, time, i64::try_from(number).unwrap() * 500, 50 + number).await;
            let environment =
                Environment { store, clock, random: Random::seeded(300 + number), ..api.environment.clone() };
            while !is_over.load(Ordering::Relaxed) {
                let tenants = (0..4).map(|_| tenant_number(random.below(TENANTS))).collect();
                let polls = if random.below(3) == 0 { random.below(30) } else { u64::MAX };
                let _ = kill_after(polls, feed::run_for(environment.clone(), tenants)).await;
                // Sometimes the time of a run is over that is only slow.
                if random.below(4) == 0 {
                    time.fetch_add(LEASE / 2, Ordering::Relaxed);
                }
            }
        }
    });
    let now = api.environment.clock.now();
    let reader = async {
        let mut positions = vec![(0, Vec::new()); usize::try_from(TENANTS).unwrap()];
        while !is_over.load(Ordering::Relaxed) {
            for (number, (after, seen)) in (0..).zip(positions.iter_mut()) {
                *after = follow(api.store(), tenant_number(number), *after, now, seen).await;
            }
            // The test does not read these calls.
            api.dynamodb.clear_calls();
        }
        positions
    };
    let work = async {
        join_all(writers).await;
        is_over.store(true, Ordering::Relaxed);
    };
    let ((), _, mut positions) = tokio::join!(work, join_all(jobs), reader);
    api.dynamodb.inject_faults(|_, _| None);
    let (_, clock) = process(&api, &time, 10 * LEASE, 7).await;
    feed::run(Environment { clock, ..api.environment.clone() }).await.unwrap();
    let mut events = 0;
    for (number, (after, seen)) in (0..).zip(positions.iter_mut()) {
        let tenant = tenant_number(number);
        *after = follow(api.store(), tenant, *after, now, seen).await;
        let head = api.store().get_feed_head(tenant).await.unwrap();
        assert_eq!(head.seq, *after);
        let mut versions: BTreeMap<Id, Vec<u64>> = BTreeMap::new();
        for (_, role, version) in seen.iter() {
            versions.entry(*role).or_default().push(*version);
        }
        let ids = (1..=ROLES_PER_TENANT).map(|id| Id::new(id).unwrap());
        let roles = api.store().find_roles(tenant, ids).await.unwrap();
        assert_eq!(versions.len(), roles.len());
        for (id, mut found) in versions {
            let sorted = found.is_sorted();
            assert!(sorted, "tenant {number}, role {id}: {found:?}");
            found.dedup();
            assert_eq!(found, (1..=roles[&id].version).collect::<Vec<_>>(), "tenant {number}, role {id}");
        }
        events += head.seq;
    }
    assert!(events > changes / 3, "{events} events of {changes} changes");
    let left = api.stored_items().await.into_keys().filter(|(pk, _)| pk.starts_with("OUTBOX#")).count();
    assert_eq!(left, 0);
}

#[test]
fn every_type_of_event_is_in_the_guide() {
    let guide = std::fs::read_to_string(tests::project("functions/README.md")).unwrap();
    for kind in EventType::ALL {
        let data: Vec<_> = kind.data().iter().map(|name| format!("`{name}`")).collect();
        let row = format!("| `{}` | {} | {} |", kind.as_str(), kind.description(), data.join(", "));
        assert!(guide.contains(&row), "the guide lacks this row:\n{row}");
    }
    for (name, kind, description) in DATA_NAMES {
        let row = format!("| `{name}` | {kind} | {description} |");
        assert!(guide.contains(&row), "the guide lacks this row:\n{row}");
    }
    assert_eq!(FeedHead::default().seq, 0);
}
