//! Possible duplicates: candidates with the same phone number or the same Gmail mailbox.

use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::assistant::Assistant;
use tests::browser::Browser;
use tests::dashboard::owner;
use tests::{ACME, GLOBEX, TestApi};

use crate::careers_applications::{Job, form};
use crate::dashboard_pages::text_of;
use crate::dashboard_retention::{owner_browser, set};
use crate::erasures::erase;

const CANDIDATES: &str = "/api/v1/candidates";
const PHONE: &str = "+14155552671";

fn detail(id: u64) -> String {
    format!("{CANDIDATES}/{id}?include=possible_duplicates")
}

/// Adds a candidate of a tenant.
async fn add_in(api: &TestApi, demo: usize, mode: Mode, email: &str, phone: Option<&str>) -> u64 {
    let person = json!({ "name": format!("Owner of {email}"), "email": email, "phone": phone });
    let request = api.request(Method::POST, CANDIDATES).key(demo, mode).json(&person);
    request.send().await.expect(201).number("/id")
}

async fn add(api: &TestApi, email: &str, phone: Option<&str>) -> u64 {
    add_in(api, ACME, Mode::Live, email, phone).await
}

async fn duplicates(api: &TestApi, id: u64) -> Value {
    api.get(&detail(id)).await.expect(200).body["possible_duplicates"].clone()
}

#[tokio::test]
async fn people_with_the_same_phone_number_or_mailbox_may_be_the_same_person() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane.doe@gmail.com", Some(PHONE)).await;
    let plus = add(&api, "JaneDoe+jobs@googlemail.com", None).await;
    let phone = add(&api, "jane@example.com", Some("+1 (415) 555-2671")).await;
    let both = add(&api, "j.a.n.e.d.o.e+x@gmail.com", Some(PHONE)).await;
    // The same name, an address that differs only at another provider, and a similar number are not enough.
    let name = json!({ "name": "Owner of jane.doe@gmail.com", "email": "jane+jobs@example.com", "phone": "+14155552672" });
    let other = api.post(CANDIDATES, name).await.expect(201).number("/id");
    for (id, expected) in [
        (jane, json!([both, phone, plus])),
        (plus, json!([both, jane])),
        (phone, json!([both, jane])),
        (both, json!([phone, plus, jane])),
        (other, json!([])),
    ] {
        assert_eq!(duplicates(&api, id).await, expected);
    }
    let page = api.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    assert_eq!(page.body.get("possible_duplicates"), None, "they have to be asked for");
}

#[tokio::test]
async fn the_newest_five_are_shown() {
    let api = TestApi::new().await;
    let mut ids = Vec::new();
    for number in 0..8 {
        let phone = (number % 2 == 0).then_some(PHONE);
        ids.push(add(&api, &format!("jane+{number}@gmail.com"), phone).await);
    }
    let newest = |ids: &[u64]| ids.iter().rev().take(5).copied().collect::<Vec<_>>();
    assert_eq!(duplicates(&api, ids[0]).await, json!(newest(&ids)));
    assert_eq!(duplicates(&api, ids[7]).await, json!(newest(&ids[..7])));
    assert_eq!(duplicates(&api, ids[5]).await, json!([ids[7], ids[6], ids[4], ids[3], ids[2]]));
}

#[tokio::test]
async fn a_change_of_the_phone_number_or_the_address_counts_at_once() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane@gmail.com", Some(PHONE)).await;
    let joe = add(&api, "joe@example.com", None).await;
    assert_eq!(duplicates(&api, joe).await, json!([]));
    let path = format!("{CANDIDATES}/{joe}");
    for (change, is_duplicate) in [
        (json!({ "phone": PHONE }), true),
        (json!({ "phone": null }), false),
        (json!({ "email": "j.ane@gmail.com" }), true),
        (json!({ "email": "J.Ane+new@googlemail.com" }), true),
        (json!({ "email": "joe@gmail.com" }), false),
        (json!({ "email": "ja.ne@gmail.com", "phone": PHONE }), true),
        (json!({ "email": "joe@example.com" }), true),
        (json!({ "phone": "+4930901820" }), false),
    ] {
        api.patch(&path, change.clone()).await.expect(200);
        let expected = |other: u64| if is_duplicate { json!([other]) } else { json!([]) };
        assert_eq!(duplicates(&api, joe).await, expected(jane), "{change}");
        assert_eq!(duplicates(&api, jane).await, expected(joe), "{change}");
    }
}

#[tokio::test]
async fn other_tenants_are_never_shown() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane@gmail.com", Some(PHONE)).await;
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
        let other = add_in(&api, demo, mode, "jane+x@gmail.com", Some(PHONE)).await;
        let shown = api.request(Method::GET, &detail(other)).key(demo, mode).send().await.expect(200);
        assert_eq!(shown.body["possible_duplicates"], json!([]));
        api.request(Method::GET, &detail(jane)).key(demo, mode).send().await.expect(404);
    }
    assert_eq!(duplicates(&api, jane).await, json!([]));
}

#[tokio::test]
async fn erased_people_are_not_shown_and_leave_no_entry() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane@gmail.com", Some(PHONE)).await;
    let joe = add(&api, "jane+joe@gmail.com", Some(PHONE)).await;
    assert_eq!(duplicates(&api, jane).await, json!([joe]));
    erase(&api, joe).await.expect(202);
    assert_eq!(duplicates(&api, jane).await, json!([]));
    api.get(&detail(joe)).await.expect(410);
    // A retention rule erases people in another function.
    set(&owner_browser(&api, ACME).await, "30", false).await;
    api.clock.set("2026-12-31T09:30:00Z");
    api.run_tasks().await;
    api.get(&detail(jane)).await.expect(410);
    let left = api.stored_items().await.into_keys();
    let left: Vec<_> = left.filter(|(pk, _)| pk.contains("#MAILBOX#") || pk.contains("#PHONE#")).collect();
    assert_eq!(left, []);
}

#[tokio::test]
async fn everybody_who_is_added_can_be_a_duplicate() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane@gmail.com", None).await;
    let job = Job::new(&api, "Cook").await;
    job.apply(&api, &form("Jane", "jane+career@gmail.com")).await.expect(303);
    let person = json!({ "name": "Jane", "email": "jane+assistant@gmail.com" });
    let by_assistant = Assistant::new(&api).call("add_candidate", person).await["id"].clone();
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let fields = [("name", "Jane"), ("email", "jane+member@gmail.com")];
    browser.post("/dashboard/candidates/new", &fields).await.expect(303);
    let found = duplicates(&api, jane).await;
    let listed = api.get(CANDIDATES).await.expect(200);
    let listed = listed.body["data"].as_array().unwrap().iter().map(|other| other["id"].clone());
    let others: Vec<_> = listed.filter(|other| *other != jane).collect();
    assert_eq!((others.len(), &found), (3, &json!(others)));
    assert!(others.contains(&by_assistant));
}

#[tokio::test]
async fn possible_duplicates_take_two_queries() {
    let api = TestApi::new().await;
    let add = async |email: &str, phone: Option<&str>| add(&api, email, phone).await;
    for (id, queries) in [
        (add("jane@gmail.com", Some(PHONE)).await, 2),
        (add("joe@example.com", Some(PHONE)).await, 1),
        (add("jane+x@gmail.com", None).await, 1),
        (add("joe@example.org", None).await, 0),
    ] {
        let calls = async |path: &str| {
            api.dynamodb.take_calls();
            api.get(path).await.expect(200);
            api.dynamodb.take_calls()
        };
        let without = calls(&format!("{CANDIDATES}/{id}")).await.len();
        let with = calls(&detail(id)).await;
        assert_eq!(with.len(), without + queries);
        let groups = with.iter().rev().take(queries);
        assert!(groups.clone().all(|call| call.operation == "Query" && call.request["Limit"] == 6));
        assert!(groups.map(|call| call.response["ScannedCount"].as_u64().unwrap()).sum::<u64>() <= 4);
    }
}

#[tokio::test]
async fn an_unknown_word_to_include_is_refused() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane@example.com", None).await;
    for wrong in ["stats", "", "POSSIBLE_DUPLICATES", "possible_duplicates,x"] {
        let response = api.get(&format!("{CANDIDATES}/{jane}?include={wrong}")).await.expect(422);
        assert_eq!(response.messages(), ["include must be possible_duplicates"], "{wrong}");
        api.get(&format!("{CANDIDATES}/17?include={wrong}")).await.expect(404);
    }
    let both = api.get(&format!("{}&touchpoints=101", detail(jane))).await.expect(422);
    assert_eq!(both.messages(), ["touchpoints must be a whole number from 0 to 100"]);
    let newest = api.get(&format!("{}&touchpoints=0", detail(jane))).await.expect(200);
    assert_eq!((&newest.body["touchpoints"], &newest.body["possible_duplicates"]), (&json!([]), &json!([])));
}

/// The `ETag` is that of the candidate, who stays the same when somebody else gets the same phone number.
#[tokio::test]
async fn possible_duplicates_are_never_outdated_and_their_etag_is_that_of_the_candidate() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane@example.com", Some(PHONE)).await;
    let path = format!("{CANDIDATES}/{jane}");
    let tag = api.get(&path).await.expect(200).header("etag").to_owned();
    let joe = add(&api, "joe@example.com", Some(PHONE)).await;
    let known = |path: &str| api.request(Method::GET, path).header("if-none-match", &tag);
    known(&path).send().await.expect(304);
    let shown = known(&detail(jane)).send().await.expect(200);
    assert_eq!((shown.header("etag"), &shown.body["possible_duplicates"]), (tag.as_str(), &json!([joe])));
    let change = api.request(Method::PATCH, &path).header("if-match", &tag);
    change.json(&json!({ "name": "Jane" })).send().await.expect(200);
}

#[tokio::test]
async fn the_page_of_a_candidate_links_to_possible_duplicates() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane@gmail.com", Some(PHONE)).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let page = format!("/dashboard/candidates/{jane}");
    assert!(!browser.get(&page).await.expect(200).text.contains("Maybe the same person"));
    let joe = json!({ "name": "Joe <b>Doe</b>", "email": "joe@example.com", "phone": PHONE });
    let joe = api.post(CANDIDATES, joe).await.expect(201).number("/id");
    let ann = add(&api, "jane+ann@gmail.com", None).await;
    api.dynamodb.take_calls();
    let shown = browser.get(&page).await.expect(200);
    let calls = api.dynamodb.take_calls();
    for (id, name) in [(joe, "Joe &#60;b&#62;Doe&#60;/b&#62;"), (ann, "Owner of jane+ann@gmail.com")] {
        let link = format!("<a href=\"/dashboard/candidates/{id}\"><bdi>{name}</bdi></a>");
        assert!(shown.text.contains(&link), "{link}: {}", shown.text);
    }
    assert!(text_of(&shown).contains("Maybe the same person Owner of jane+ann@gmail.com , Joe"));
    let last: Vec<_> = calls.iter().rev().take(3).rev().map(|call| call.operation.as_str()).collect();
    assert_eq!(last, ["Query", "Query", "BatchGetItem"]);
    for id in [joe, ann] {
        erase(&api, id).await.expect(202);
    }
    assert!(!browser.get(&page).await.expect(200).text.contains("Maybe the same person"));
}
