//! The rewriting of people whom an earlier release has stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ::tests::{ACME, TestApi, tenant};
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{self, StreamExt};
use jiff::SignedDuration;
use serde_json::json;
use shared::id::{Id, Ids};
use shared::model::{CandidateRecord, IndexForm, Mode, Name, Profile, SearchWords};
use shared::store::{FeedRun, Rewriting, Transaction};
use tokio::sync::Notify;
use url::form_urlencoded::byte_serialize;

use super::TestAdmin;

const CANDIDATES: &str = "/api/v1/candidates";
const NAMES: [&str; 5] = ["करण शर्मा", "किरण शर्मा", "Қасым Müller", "علی حمزة", "Jane Doe"];
/// The number of people in the large test. `REWRITING_SCALE=10` stores ten times as many.
const PEOPLE: u64 = 500;
const PER_TRANSACTION: u64 = 5;

type Items = BTreeMap<(String, String), HashMap<String, AttributeValue>>;

/// An API whose first organization was created by a release that knew only the first form.
async fn api() -> TestApi {
    let api = TestApi::new().await;
    let mut gate = api.stored_items().await.remove(&("1#live#GATE".to_owned(), "GATE".to_owned())).unwrap();
    assert_eq!(
        gate.remove("index_form"),
        Some(AttributeValue::N("2".to_owned())),
        "a new organization is done"
    );
    api.write_items([gate]).await;
    api
}

fn id(number: u64) -> Id {
    Id::new(1_000_000_000_000_000 + number).unwrap()
}

fn profile(number: u64) -> Profile {
    let name = NAMES[usize::try_from(number % 5).unwrap()];
    let email = format!("p{number}@x.yz").parse().unwrap();
    let phone = Some(format!("+4915{number:09}").parse().unwrap());
    Profile { phone, ..Profile::new(Name::parse(name).unwrap().unwrap(), email) }
}

/// Stores people in the first form.
async fn store_old(api: &TestApi, count: u64) {
    let now = api.environment.clock.now();
    let insert = async |from: u64| {
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        for number in from..(from + PER_TRANSACTION).min(count) {
            let record = CandidateRecord::new(id(number), profile(number), now);
            let record = CandidateRecord { index_form: IndexForm::First, ..record };
            transaction.insert_candidate(record, &[]).unwrap();
        }
        api.store().commit(transaction).await.unwrap();
        api.dynamodb.clear_calls();
    };
    let starts = (0..count).step_by(usize::try_from(PER_TRANSACTION).unwrap());
    stream::iter(starts).for_each_concurrent(4, insert).await;
}

/// The people on all pages of a search, in ascending order; nobody is shown twice.
async fn found(api: &TestApi, query: &str) -> Vec<u64> {
    let shown = on_pages(api, query).await;
    let distinct: BTreeSet<_> = shown.iter().copied().collect();
    assert_eq!(distinct.len(), shown.len(), "{query}: nobody is repeated");
    distinct.into_iter().collect()
}

/// The people on all pages of a search, in ascending order. Who is written again between two pages may be on both.
async fn found_meanwhile(api: &TestApi, query: &str) -> Vec<u64> {
    let found: BTreeSet<_> = on_pages(api, query).await.into_iter().collect();
    found.into_iter().collect()
}

async fn on_pages(api: &TestApi, query: &str) -> Vec<u64> {
    let query: String = byte_serialize(query.as_bytes()).collect();
    let path = format!("{CANDIDATES}?limit=100&q={query}");
    let (mut found, mut next) = (Vec::new(), path.clone());
    loop {
        let page = api.get(&next).await.expect(200);
        found.extend(page.body["data"].as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()));
        let Some(cursor) = page.body["next_cursor"].as_str() else { return found };
        next = format!("{path}&cursor={cursor}");
    }
}

/// The people with a name, except some.
fn with_name(count: u64, name: u64, except: &[u64]) -> Vec<u64> {
    (0..count)
        .filter(|number| number % 5 == name && !except.contains(number))
        .map(|number| id(number).get())
        .collect()
}

/// The words of all entries in the search index, by person.
fn words(items: &Items) -> BTreeMap<u64, BTreeSet<String>> {
    let mut words: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (_, sk) in items.keys().filter(|(pk, _)| pk == "1#live#WORD") {
        let position = shared::model::IndexPosition::parse(sk).unwrap();
        words.entry(position.id.get()).or_default().insert(position.word.to_owned());
    }
    words
}

fn words_of(profile: &Profile, form: IndexForm) -> BTreeSet<String> {
    SearchWords::of(profile, form).iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn people_of_the_first_form_leave_no_entry_when_they_are_renamed_or_erased() {
    let api = api().await;
    Box::pin(store_old(&api, 5)).await;
    Box::pin(api.run_feed()).await;
    let before = words(&api.stored_items().await);
    for number in 0..5 {
        assert_eq!(before[&id(number).get()], words_of(&profile(number), IndexForm::First));
    }
    // A move changes nothing that the index depends on.
    api.post(&format!("{CANDIDATES}/{}/advance", id(0)), json!({ "stage": "offer" })).await.expect(200);
    Box::pin(api.run_feed()).await;
    assert_eq!(words(&api.stored_items().await), before);
    // A change of another field writes all entries in the newest form.
    api.patch(&format!("{CANDIDATES}/{}", id(0)), json!({ "source": "x" })).await.expect(200);
    api.patch(&format!("{CANDIDATES}/{}", id(1)), json!({ "name": "ダイキ" })).await.expect(200);
    api.post(&format!("{CANDIDATES}/{}/erase", id(2)), json!({})).await.expect(202);
    let renamed = Profile { name: Name::parse("ダイキ").unwrap().unwrap(), ..profile(1) };
    Box::pin(api.run_feed()).await;
    let items = api.stored_items().await;
    let after = words(&items);
    assert_eq!(after[&id(0).get()], words_of(&profile(0), IndexForm::Second));
    assert_eq!(after[&id(1).get()], words_of(&renamed, IndexForm::Second));
    assert_eq!(after.get(&id(2).get()), None);
    for (number, form) in [(0, Some("2")), (1, Some("2")), (3, None), (4, None)] {
        let form = form.map(|form| AttributeValue::N(form.to_owned()));
        let record = (format!("1#live#CANDIDATE#{:016}", id(number).get()), "~FILE".to_owned());
        let entry = items.iter().find(|((pk, sk), _)| {
            pk == "1#live#WORD" && shared::model::IndexPosition::parse(sk).unwrap().id == id(number)
        });
        assert_eq!(items[&record].get("index_form"), form.as_ref(), "{number}");
        assert_eq!(entry.unwrap().1.get("index_form"), form.as_ref(), "{number}");
    }
}

#[tokio::test]
async fn until_a_rebuild_a_search_finds_people_of_both_forms() {
    let api = api().await;
    Box::pin(store_old(&api, 5)).await;
    let new = api.post(CANDIDATES, json!({ "name": "किरण राव", "email": "new@x.yz" })).await.expect(201);
    let new = new.number("/id");
    // The word of the first form is the same for two names, but only one of them is shown.
    assert_eq!(found(&api, "करण").await, [id(0).get()]);
    let mut expected = vec![id(1).get(), new];
    expected.sort_unstable();
    assert_eq!(found(&api, "किरण").await, expected);
    assert_eq!(found(&api, "қасым").await, [id(2).get()]);
    assert_eq!(found(&api, "jane").await, [id(4).get()]);
    let queries = async |query: &str| {
        // The first search after a change of the form is repeated with the one that the gate has.
        found(&api, query).await;
        api.dynamodb.take_calls();
        found(&api, query).await;
        api.dynamodb.take_calls().iter().filter(|call| call.operation == "Query").count()
    };
    for (query, first, newest) in [("किरण", 2, 1), ("jane", 1, 1), ("müller", 2, 2)] {
        assert_eq!(queries(query).await, first, "{query}");
        let admin = TestAdmin::of(&api);
        let before = api.stored_items().await;
        Box::pin(admin.json("rebuild 1 --items-per-second 1000000")).await;
        assert_eq!(queries(query).await, newest, "{query}");
        api.restore(&before).await;
    }
}

#[tokio::test]
async fn a_search_goes_on_while_its_index_is_rebuilt() {
    let api = api().await;
    let admin = TestAdmin::of(&api);
    Box::pin(store_old(&api, 10)).await;
    // The entries of the second name begin with the other word in the first form.
    let path = format!("{CANDIDATES}?limit=1&q={}", byte_serialize("किरण".as_bytes()).collect::<String>());
    let first = api.get(&path).await.expect(200);
    let cursor = first.string("/next_cursor").to_owned();
    Box::pin(admin.json("rebuild 1 --items-per-second 1000000")).await;
    let second = api.get(&format!("{path}&cursor={cursor}")).await.expect(200);
    assert!(second.body["data"].as_array().unwrap().len() <= 1);
    assert_eq!(found(&api, "किरण").await, with_name(10, 1, &[]));
}

/// `infra/README.md` has the same figures.
#[tokio::test]
async fn a_rebuild_costs_3_read_units_and_15_write_units_a_person() {
    let api = api().await;
    let admin = TestAdmin::of(&api);
    Box::pin(store_old(&api, PEOPLE)).await;
    Box::pin(api.run_feed()).await;
    let summary = Box::pin(admin.json("rebuild 1 --items-per-second 1000000000")).await;
    let people = f64::from(u32::try_from(PEOPLE).unwrap());
    let units = |name: &str| summary["people"][name].as_f64().unwrap() / people;
    let (read, written) = (units("read_units"), units("write_units"));
    assert!(read < 3.5 && written < 15.5, "{read} {written}");
}

#[tokio::test]
async fn a_rebuild_that_was_killed_goes_on_while_people_are_searched_and_changed() {
    let api = api().await;
    let admin = TestAdmin::of(&api);
    let scale = std::env::var("REWRITING_SCALE").map_or(1, |scale| scale.parse().expect("a number"));
    let count: u64 = PEOPLE * scale;
    Box::pin(store_old(&api, count)).await;
    let preview = Box::pin(admin.json("rebuild 1 --preview --items-per-second 1000000000")).await;
    assert_eq!((&preview["people"]["read"], &preview["people"]["rewritten"]), (&json!(count), &json!(count)));
    assert_eq!(preview["people"]["write_units"], 0.0);

    // The run ends after its second page.
    let (pages, paused) = (AtomicU64::new(0), Notify::new());
    let pause = async |_| {
        if pages.fetch_add(1, Ordering::Relaxed) == 1 {
            paused.notify_one();
            pending::<()>().await;
        }
    };
    let live = tenant(ACME, Mode::Live);
    let ids = &Ids::new(api.environment.clock.clone(), api.environment.random.clone());
    let run = FeedRun { number: 1, ids, clock: &api.environment.clock };
    tokio::select! {
        done = api.store().rewrite_people(live, true, run, pause) => panic!("it was not killed: {done:?}"),
        () = paused.notified() => {}
    }
    assert_eq!(found(&api, "किरण").await, with_name(count, 1, &[]));

    // Of the people who are changed, the last ones are rewritten, and the first ones are not.
    let (renamed, erased) = ([count - 4, 1], [count - 5, 0]);
    for number in renamed {
        api.patch(&format!("{CANDIDATES}/{}", id(number)), json!({ "name": "Grace Hopper" }))
            .await
            .expect(200);
    }
    for number in erased {
        api.post(&format!("{CANDIDATES}/{}/erase", id(number)), json!({})).await.expect(202);
    }
    api.post(&format!("{CANDIDATES}/{}/advance", id(2)), json!({ "stage": "offer" })).await.expect(200);
    let new =
        api.post(CANDIDATES, json!({ "name": "करण", "email": "new@x.yz" })).await.expect(201).number("/id");
    let mut named_karan = with_name(count, 0, &erased);
    named_karan.push(new);
    named_karan.sort_unstable();

    let is_done = AtomicBool::new(false);
    let rebuild = Box::pin(async {
        let summary = admin.json("rebuild 1 --items-per-second 1000000000").await;
        is_done.store(true, Ordering::Relaxed);
        summary
    });
    let searches = Box::pin(async {
        while !is_done.load(Ordering::Relaxed) {
            assert_eq!(found_meanwhile(&api, "करण").await, named_karan);
            assert_eq!(found_meanwhile(&api, "किरण").await, with_name(count, 1, &renamed));
            // Nobody reads these calls, and there may be many.
            api.dynamodb.clear_calls();
        }
    });
    let (summary, ()) = tokio::join!(rebuild, searches);
    assert_eq!(summary["findings"], json!([]));
    let people = &summary["people"];
    println!("{count} people: {people}");
    // The last 200 were done, and of the others one was renamed and one was erased.
    assert_eq!(people["rewritten"], count - 202);
    assert!(people["read"].as_u64().unwrap() <= count - 198, "{people}");
    assert!(people["write_units"].as_f64().unwrap() > 10.0, "{people}");

    let items = api.stored_items().await;
    let index = words(&items);
    assert_eq!(index.len() as u64, count - 2 + 1);
    for number in (0..count).filter(|number| !renamed.contains(number) && !erased.contains(number)) {
        assert_eq!(index[&id(number).get()], words_of(&profile(number), IndexForm::Second), "{number}");
    }
    let newest = AttributeValue::N("2".to_owned());
    let of_people = items.iter().filter(|((pk, sk), item)| {
        pk == "1#live#WORD"
            || pk.starts_with("1#live#CANDIDATE#") && sk == "~FILE" && !item.contains_key("erased_at")
    });
    assert!(of_people.into_iter().all(|(_, item)| item.get("index_form") == Some(&newest)));
    let item = |pk: &str, sk: &str| &items[&(pk.to_owned(), sk.to_owned())];
    assert_eq!(item("1#live#GATE", "GATE").get("index_form"), Some(&newest));
    assert_eq!(item("1#live#PROFILE", "PROFILE").get("rewritten_to"), None);
    // Nothing is left to do, and no event says that somebody has changed.
    let again =
        api.store().rewrite_people(live, true, FeedRun { number: 2, ..run }, async |_| ()).await.unwrap();
    assert_eq!(again, Rewriting { people: count - 1, rewritten: 0 });
    assert_eq!(found(&api, "касым").await, with_name(count, 2, &[]));
}

#[tokio::test]
async fn a_rebuild_writes_telephone_numbers_as_they_are_read_now() {
    let api = api().await;
    let stored = serde_json::from_value(json!("+49015112345678")).unwrap();
    let profile = Profile { phone: Some(stored), ..profile(0) };
    let yesterday = api.environment.clock.now() - SignedDuration::from_hours(24);
    let record = CandidateRecord::new(id(0), profile, yesterday);
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.insert_candidate(record, &[]).unwrap();
    api.store().commit(transaction).await.unwrap();
    let path = format!("{CANDIDATES}/{}", id(0));
    let before = api.get(&path).await.expect(200);
    assert_eq!(before.string("/phone"), "+49015112345678");

    let admin = TestAdmin::of(&api);
    let summary = Box::pin(admin.json("rebuild 1")).await;
    assert_eq!((&summary["people"]["rewritten"], &summary["findings"]), (&json!(1), &json!([])));
    let after = api.get(&path).await.expect(200);
    assert_eq!(after.string("/phone"), "+4915112345678");
    assert_ne!(after.string("/updated_at"), before.string("/updated_at"));
    let touchpoint = &after.body["touchpoints"][0];
    assert_eq!(touchpoint["kind"], "updated");
    assert_eq!(touchpoint["detail"]["fields"], json!(["phone"]));
    assert_eq!(touchpoint["actor"]["type"], "system");
    assert_eq!(found(&api, "0151 12345678").await, [id(0).get()]);
    let events = api.stored_items().await.into_keys().filter(|(pk, _)| pk == "1#live#EVENT").count();
    assert_eq!(events, 1, "the change is an event");
    assert_eq!(Box::pin(admin.json("rebuild 1")).await["people"]["rewritten"], 0);
}
