//! The lists of a role's applications by source, tag and reason, which the feed writes: who is in them after each kind of change,
//! how they are read, and what killed, late and repeated runs leave.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Mode, Profile, Tag, Tags};
use shared::store::{MaybeErased, Transaction};
use tests::assistant::Assistant;
use tests::browser::{Browser, Form, plain};
use tests::dashboard::{links, owner};
use tests::interceptor::RecordedCall;
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use super::feed::{LEASE, pass, poll, run_killed, run_of};
use super::people_lists::{acme, all, names, next, post_job};
use crate::dashboard_pages::text_of;

const PATH: &str = "/dashboard/candidates";

/// Adds somebody who has applied for the role.
async fn add(api: &TestApi, name: &str, role: u64, more: Value) -> u64 {
    let mut body = json!({
        "name": name,
        "email": format!("{}@example.com", name.to_lowercase()),
        "role_id": role,
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    api.post("/api/v1/candidates", body).await.expect(201).number("/id")
}

async fn add_all(api: &TestApi, numbers: Range<u64>, role: u64, more: &Value) {
    for number in numbers {
        add(api, &format!("P{number}"), role, more.clone()).await;
    }
}

async fn edit(api: &TestApi, id: u64, changes: Value) {
    api.patch(&format!("/api/v1/candidates/{id}"), changes).await.expect(200);
}

async fn step(api: &TestApi, id: u64, action: &str, body: Value) {
    api.post(&format!("/api/v1/candidates/{id}/{action}"), body).await.expect(200);
}

async fn erase(api: &TestApi, id: u64) {
    api.post(&format!("/api/v1/candidates/{id}/erase"), json!({})).await.expect(202);
    api.run_tasks().await;
}

/// The path of a list, from the part of its query that names the label.
fn list(role: u64, label: &str) -> String {
    format!("{PATH}?role_id={role}&label={label}")
}

/// The entries that are stored: the role, the application and the candidate of each.
async fn entries(api: &TestApi) -> Vec<(u64, u64, u64)> {
    let items = api.stored_items().await;
    let left = items.keys().filter(|(pk, _)| pk.starts_with("OUTBOX#") || pk.ends_with("#FORMER_WORDS"));
    assert_eq!(left.count(), 0, "all changes are in the lists");
    let labelled = items.into_iter().filter(|((pk, _), _)| pk.starts_with("1#live#LABELLED#"));
    let entries = labelled.map(|((pk, sk), item)| {
        let number = |text: &str| text.parse::<u64>().unwrap();
        let [role, application] = [&pk, &sk].map(|key| number(key.rsplit('#').next().unwrap()));
        let attribute = |name: &str| number(item[name].as_n().unwrap());
        assert_eq!(attribute("id"), application);
        assert_eq!(item.len(), 5, "identifiers and keys only: {item:?}");
        (role, application, attribute("candidate_id"))
    });
    entries.collect()
}

#[tokio::test]
async fn a_role_is_listed_by_source_tag_and_reason() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (cook, waiter) = (post_job(&api, "Cook").await, post_job(&api, "Waiter").await);
    let mia =
        add(&api, "Mia", cook, json!({ "source": "Émile & Co", "tags": ["Needs call", "Straße"] })).await;
    let max = add(&api, "Max", cook, json!({ "tags": ["needs CALL"] })).await;
    add(&api, "Other", waiter, json!({ "source": "Émile & Co", "tags": ["Needs call"] })).await;
    // The source of an application can differ from that of its candidate. Both count.
    let other = json!({ "role_id": waiter, "source": "Fair" });
    api.post(&format!("/api/v1/candidates/{mia}/applications"), other).await.expect(201);
    for (role, label, expected) in [
        (cook, "source&word=%C3%89mile+%26+Co", &["Mia"][..]),
        (cook, "source&word=E%CC%81MILE+%26+CO", &["Mia"]),
        (cook, "source&word=Emile+%26+Co", &[]),
        (cook, "source&word=Added+manually", &["Max"]),
        (cook, "source&word=MANUAL", &["Max"]),
        (cook, "source&word=fair", &[]),
        (waiter, "source&word=fair", &["Mia"]),
        (waiter, "source&word=%C3%89mile+%26+Co", &["Mia", "Other"]),
        (cook, "tag&word=NEEDS+call", &["Max", "Mia"]),
        (cook, "tag&word=needs", &[]),
        (cook, "tag&word=STRASSE", &["Mia"]),
        (waiter, "tag&word=needs+call", &["Mia", "Other"]),
        // A word is one of a kind.
        (cook, "source&word=needs+call", &[]),
        (cook, "tag&word=manual", &[]),
    ] {
        assert_eq!(all(&ada, &list(role, label)).await, expected, "{label}");
    }

    // Reasons of the team and of candidates, before and after a rejection is undone.
    step(&api, mia, "reject", json!({ "role_id": cook, "reason_id": 3 })).await;
    step(&api, max, "withdraw", json!({ "role_id": cook, "reason_id": 9, "reason": "Own words" })).await;
    assert_eq!(all(&ada, &list(cook, "3")).await, ["Mia"]);
    assert_eq!(all(&ada, &list(cook, "9")).await, ["Max"]);
    assert_eq!(all(&ada, &list(waiter, "3")).await, [""; 0], "only the application for the cook ended");
    let page = ada.get(&list(cook, "3")).await.expect(200);
    let text = text_of(&page);
    assert!(
        text.contains("1 of 1 candidates") && text.contains("Salary expectations too high (1)"),
        "{text}"
    );
    // The figures of the role lead to exactly these people.
    let role = ada.get(&format!("/dashboard/roles/{cook}")).await.expect(200);
    let figures: BTreeSet<_> =
        links(&role, PATH).into_iter().filter(|path| path.contains("&label=")).collect();
    assert_eq!(figures, BTreeSet::from([list(cook, "3"), list(cook, "9")]));
    let back = json!({ "candidate_id": mia, "action": "unreject", "role_id": cook });
    Assistant::new(&api).call("move_candidate", back).await;
    assert_eq!(all(&ada, &list(cook, "3")).await, [""; 0]);
    step(&api, mia, "reject", json!({ "role_id": cook, "reason_id": 4 })).await;
    assert_eq!(all(&ada, &list(cook, "4")).await, ["Mia"]);
    assert_eq!(all(&ada, &list(cook, "3")).await, [""; 0]);

    // Changes of the person.
    edit(&api, mia, json!({ "source": "fair", "tags": ["Straße", "new"] })).await;
    for (role, label, expected) in [
        // The application for the cook came from there.
        (cook, "source&word=%C3%89mile+%26+Co", &["Mia"][..]),
        (waiter, "source&word=%C3%89mile+%26+Co", &["Other"]),
        (cook, "source&word=fair", &["Mia"]),
        (waiter, "source&word=fair", &["Mia"]),
        (cook, "tag&word=needs+call", &["Max"]),
        (cook, "tag&word=NEW", &["Mia"]),
        (waiter, "tag&word=new", &["Mia"]),
        (cook, "tag&word=strasse", &["Mia"]),
        (cook, "4", &["Mia"]),
    ] {
        assert_eq!(all(&ada, &list(role, label)).await, expected, "{label}");
    }
    // A closed role keeps its lists.
    api.delete(&format!("/api/v1/roles/{cook}")).await.expect(200);
    api.run_tasks().await;
    assert_eq!(all(&ada, &list(cook, "tag&word=new")).await, ["Mia"]);

    erase(&api, mia).await;
    assert_eq!(all(&ada, &list(cook, "4")).await, [""; 0]);
    assert_eq!(all(&ada, &list(waiter, "tag&word=new")).await, [""; 0]);
    api.run_feed().await;
    let left = entries(&api).await;
    assert!(!left.is_empty() && left.iter().all(|(.., candidate)| *candidate != mia), "{left:?}");
}

#[tokio::test]
async fn nobody_else_sees_the_lists() {
    let api = TestApi::new().await;
    let role = post_job(&api, "Cook").await;
    add(&api, "Mia", role, json!({ "tags": ["x"] })).await;
    let path = list(role, "tag&word=x");
    let ada = acme(&api).await;
    assert_eq!(all(&ada, &path).await, ["Mia"]);
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    globex.get(&path).await.expect(404);
    globex.get(&path.replace('?', "/csv?")).await.expect(200);
    let csv = globex.get(&path.replace('?', "/csv?")).await;
    assert_eq!(csv.text.lines().count(), 1, "{}", csv.text);
    ada.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    ada.get(&path).await.expect(404);
}

#[tokio::test]
async fn the_form_of_the_list_has_a_field_for_the_label() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api, "Cook").await;
    let mia = add(&api, "Mia", role, json!({ "source": "fair", "tags": ["a \"b\""] })).await;
    step(&api, mia, "reject", json!({ "reason_id": 2 })).await;
    let page = ada.get(&format!("{PATH}?role_id={role}&stage=rejected")).await.expect(200);
    let form = page.text.split("aria-label=\"Order\"").nth(1).unwrap().split("</form>").next().unwrap();
    for part in [
        "<option value=\"2\">Missing skills (1)</option>",
        "<option value=\"a &#34;b&#34;\"></option>",
        "<option value=\"fair\"></option>",
        "name=\"stage\" value=\"rejected\"",
    ] {
        assert!(form.contains(part), "{part}: {form}");
    }
    assert!(!text_of(&page).contains("People in all stages"));
    assert!(
        page.text.contains(&format!("role_id={role}&#38;label=tag&#38;word=a%20%22b%22"))
            || page.text.contains(&format!("role_id={role}&amp;label=tag&amp;word=a%20%22b%22")),
        "a tag leads to its list"
    );

    // What the form sends: the label wins over the stage, and the page says so.
    let chosen = format!("{PATH}?role_id={role}&stage=rejected&label=tag&word=+A+%22B%22+&order=&least=");
    let page = ada.get(&chosen).await.expect(200);
    assert_eq!(names(&page), ["Mia"]);
    assert!(text_of(&page).contains("People in all stages: a source, a tag or a reason is not combined"));
    assert!(page.text.contains("<option value=\"tag\" selected>"));
    assert!(page.text.contains("value=\"A &#34;B&#34;\""));
    // A stage that is chosen then is the only filter.
    assert!(page.text.contains(&format!("{PATH}?role_id={role}&#38;stage=offer\"")), "{}", page.text);
    for (query, problem) in [
        ("label=tag&word=", "Enter the source or the tag."),
        ("label=source&word=+", "Enter the source or the tag."),
        ("label=&word=x", "Choose whether it is a source or a tag."),
        (
            &format!("label=tag&word={}", "x".repeat(51)),
            "A source has at most 100 characters, and a tag at most 50.",
        ),
    ] {
        let page = ada.get(&format!("{PATH}?role_id={role}&{query}")).await.expect(422);
        assert!(text_of(&page).contains(problem) && names(&page) == ["Mia"], "{query}: {}", text_of(&page));
    }
    for unknown in ["label=x", "label=17", "label=0"] {
        ada.get(&format!("{PATH}?role_id={role}&{unknown}")).await.expect(404);
    }
    // A reason for which nothing ended is empty, and without a role there is no such list.
    assert!(
        text_of(&ada.get(&list(role, "1")).await.expect(200)).contains("No candidates match these filters.")
    );
    add(&api, "Max", role, json!({})).await;
    let everybody = ada.get(&format!("{PATH}?label=2")).await.expect(200);
    assert_eq!(names(&everybody), ["Max", "Mia"]);
    assert!(!everybody.text.contains("name=\"label\""));
}

#[tokio::test]
async fn lists_by_label_have_pages_in_both_orders_and_lead_from_person_to_person() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api, "Cook").await;
    let more = json!({ "tags": ["x"] });
    for number in 0..60_u64 {
        // Others are between them, with other labels.
        add_all(&api, number..number + 1, role, &more).await;
        if number % 7 == 0 {
            add_all(&api, 100 + number..101 + number, role, &json!({ "tags": ["y"] })).await;
        }
    }
    let mut expected: Vec<_> = (0..60).map(|number| format!("P{number}")).collect();
    let path = list(role, "tag&word=X");
    let oldest = format!("{path}&order=oldest");
    assert_eq!(all(&ada, &oldest).await, expected);
    let second = ada.get(&next(&ada.get(&oldest).await.expect(200)).unwrap()).await.expect(200);
    assert_eq!((names(&second)[0].as_str(), names(&second).len()), ("P25", 25));
    let person = |page: &Response| {
        links(page, "/dashboard/candidates/").into_iter().find(|path| path.contains("?list=")).unwrap()
    };
    let shown = ada.get(&person(&second)).await.expect(200);
    let previous = plain(shown.text.split("rel=\"prev\" href=\"").nth(1).unwrap().split('"').next().unwrap());
    let previous = ada.get(&previous).await.expect(200);
    assert!(previous.text.contains("<bdi>P24</bdi></h1>"), "{}", text_of(&previous));

    expected.reverse();
    let first = ada.get(&path).await.expect(200);
    assert_eq!(all(&ada, &path).await, expected);
    let (mut seen, mut at) = (Vec::new(), Some(person(&first)));
    while let Some(path) = at {
        let page = ada.get(&path).await.expect(200);
        let name = page.text.split("<h1").nth(1).unwrap().split("<bdi>").nth(1).unwrap();
        seen.push(plain(name.split('<').next().unwrap()));
        at = next(&page);
    }
    assert_eq!(seen, expected);

    // The same list as a file, and under a name.
    let csv = ada.get(&oldest.replace('?', "/csv?")).await.expect(200);
    let lines: Vec<_> = csv.text.lines().collect();
    assert_eq!(lines.len(), 61);
    assert!(lines[1].contains(",P0,") && lines[60].contains(",P59,"), "{}", csv.text);
    let query = oldest.split_once('?').unwrap().1;
    let saved = ada.post(&format!("{PATH}/views"), &[("name", "With X"), ("query", query)]).await.expect(303);
    assert_eq!(saved.header("location"), format!("{oldest}&done=view-saved"));
    let page = ada.get(&oldest).await.expect(200);
    assert!(page.text.contains("aria-current=\"true\">With X</a>"), "{}", page.text);
}

#[tokio::test]
async fn everybody_in_a_list_by_label_is_changed() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api, "Cook").await;
    add_all(&api, 0..30, role, &json!({ "tags": ["x"] })).await;
    add_all(&api, 30..33, role, &json!({})).await;
    api.run_feed().await;
    let path = format!("/dashboard/candidates/bulk?list=role_id%3D{role}%26label%3Dtag%26word%3Dx");
    let page = ada.get(&format!("{path}&to=rejected&everybody=yes")).await.expect(200);
    let done = ada.submit(&path, &Form::of(&page, &path).and("reason_id", "5")).await.expect(303);
    assert_eq!(done.header("location"), format!("{}&done=bulk-done", list(role, "tag&word=x")));
    let stats = api.get(&format!("/api/v1/roles/{role}/stats")).await.expect(200);
    assert_eq!((stats.number("/stages/rejected/now"), stats.number("/stages/applied/now")), (30, 3));
    let page = ada.get(&list(role, "5")).await.expect(200);
    assert!(text_of(&page).contains("25 of 30 candidates"), "{}", text_of(&page));
    assert_eq!(all(&ada, &list(role, "5")).await.len(), 30);
    let group = page.text.split("name=\"group\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    ada.post(&format!("/dashboard/candidates/bulk/undo?list=role_id%3D{role}"), &[("group", group)])
        .await
        .expect(303);
    assert_eq!(all(&ada, &list(role, "5")).await, [""; 0]);
    assert_eq!(all(&ada, &list(role, "tag&word=x")).await.len(), 30);
}

/// What a list shows without waiting for the feed.
async fn at_once(ada: &Browser<'_>, path: &str) -> Vec<String> {
    names(&ada.request(http::Method::GET, path).send_at_once().await.expect(200))
}

#[tokio::test]
async fn a_list_follows_a_change_by_moments() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api, "Cook").await;
    let mia = add(&api, "Mia", role, json!({ "tags": ["x"] })).await;
    let path = list(role, "tag&word=x");
    assert_eq!(at_once(&ada, &path).await, [""; 0]);
    api.run_feed().await;
    assert_eq!(at_once(&ada, &path).await, ["Mia"]);
    edit(&api, mia, json!({ "tags": [] })).await;
    assert_eq!(at_once(&ada, &path).await, ["Mia"]);
    api.run_feed().await;
    assert_eq!(at_once(&ada, &path).await, [""; 0]);
    edit(&api, mia, json!({ "tags": ["x"] })).await;
    api.run_feed().await;
    assert_eq!(at_once(&ada, &path).await, ["Mia"]);
    // Somebody who was erased is shown no more at once.
    api.post(&format!("/api/v1/candidates/{mia}/erase"), json!({})).await.expect(202);
    assert_eq!(at_once(&ada, &path).await, [""; 0]);
}

/// Two applications, with all kinds of labels.
async fn apply_twice(api: &TestApi, roles: [u64; 2]) -> u64 {
    let mia = add(api, "Mia", roles[0], json!({ "source": "a", "tags": ["x", "y"] })).await;
    let other = json!({ "role_id": roles[1], "source": "b" });
    api.post(&format!("/api/v1/candidates/{mia}/applications"), other).await.expect(201);
    step(api, mia, "reject", json!({ "role_id": roles[0], "reason_id": 1 })).await;
    mia
}

/// Each label goes, comes or stays.
async fn relabel(api: &TestApi, mia: u64, roles: [u64; 2]) {
    edit(api, mia, json!({ "source": "c", "tags": ["y", "z"] })).await;
    step(api, mia, "unreject", json!({ "role_id": roles[0] })).await;
    step(api, mia, "reject", json!({ "role_id": roles[1], "reason_id": 2 })).await;
}

/// The lists that have the person after these changes: each with the place of the role.
const RELABELLED: [(usize, &str); 9] = [
    (0, "source&word=a"),
    (0, "source&word=c"),
    (1, "source&word=b"),
    (1, "source&word=c"),
    (0, "tag&word=y"),
    (0, "tag&word=z"),
    (1, "tag&word=y"),
    (1, "tag&word=z"),
    (1, "2"),
];

async fn check_relabelled(api: &TestApi, ada: &Browser<'_>, roles: [u64; 2], is_erased: bool, case: &str) {
    assert_eq!(entries(api).await.len(), if is_erased { 0 } else { RELABELLED.len() }, "{case}");
    if !is_erased {
        for (role, label) in RELABELLED {
            assert_eq!(at_once(ada, &list(roles[role], label)).await, ["Mia"], "{case}: {label}");
        }
    }
}

#[tokio::test]
async fn whatever_a_killed_run_leaves_the_lists_have_the_labels_of_the_last_change() {
    for erases in [false, true] {
        for calls in (0..).step_by(2) {
            let api = TestApi::new().await;
            let ada = acme(&api).await;
            let roles = [post_job(&api, "Cook").await, post_job(&api, "Waiter").await];
            let mia = apply_twice(&api, roles).await;
            let mut was_done = run_killed(&api, calls).await;
            relabel(&api, mia, roles).await;
            pass(&api, LEASE);
            was_done &= run_killed(&api, calls).await;
            if erases {
                erase(&api, mia).await;
                pass(&api, LEASE);
                was_done &= run_killed(&api, calls).await;
            }
            pass(&api, LEASE);
            run_of(&api).await.unwrap();
            check_relabelled(&api, &ada, roles, erases, &format!("killed after {calls} calls")).await;
            if was_done {
                assert!(calls > 20, "{calls}");
                break;
            }
        }
    }
}

/// The run is interrupted by changes or an erasure, and by another run if its time is over.
#[tokio::test(start_paused = true)]
async fn a_slow_run_leaves_no_former_labels_and_nothing_of_erased_people() {
    // How often a run is polled says how far it is only with the embedded database.
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_some() {
        return;
    }
    for (erases, waits) in [(false, 0), (true, 0), (false, LEASE), (true, LEASE)] {
        for polls in (0..).step_by(3) {
            let api = TestApi::new().await;
            let ada = acme(&api).await;
            let roles = [post_job(&api, "Cook").await, post_job(&api, "Waiter").await];
            let mia = apply_twice(&api, roles).await;
            let mut slow = run_of(&api);
            let done = poll(polls, &mut slow).await;
            relabel(&api, mia, roles).await;
            if erases {
                erase(&api, mia).await;
            }
            pass(&api, waits);
            run_of(&api).await.unwrap();
            if done.is_none() {
                let ended = slow.await;
                assert!(waits > 0 || ended.is_ok(), "{ended:?}");
                run_of(&api).await.unwrap();
            }
            check_relabelled(&api, &ada, roles, erases, &format!("another run after {polls} polls")).await;
            if done.is_some() {
                break;
            }
        }
    }
}

/// The units that a request writes, and those that the feed writes for it.
async fn written(api: &TestApi, request: impl Future<Output = ()>) -> [f64; 2] {
    api.run_feed().await;
    api.dynamodb.take_calls();
    request.await;
    let is_read = |call: &&RecordedCall| ["GetItem", "BatchGetItem", "Query"].contains(&&*call.operation);
    let units = |api: &TestApi| {
        let calls = api.dynamodb.take_calls();
        calls.iter().filter(|call| !is_read(call)).map(RecordedCall::units).sum()
    };
    let own = units(api);
    api.run_feed().await;
    [own, units(api)]
}

#[tokio::test]
async fn only_entries_that_change_are_written() {
    let api = TestApi::new().await;
    let role = post_job(&api, "Cook").await;
    let tags: Vec<_> = (0..19).map(|number| format!("t{number}")).collect();
    let mia = add(&api, "Mia", role, json!({ "tags": tags })).await;
    let max = add(&api, "Max", role, json!({})).await;
    let mut figures = Vec::new();
    for (id, action, body) in [
        (max, "advance", json!({ "stage": "interview" })),
        (mia, "advance", json!({ "stage": "interview" })),
        (max, "reject", json!({})),
        (mia, "reject", json!({ "reason_id": 1 })),
        (max, "unreject", json!({})),
        (mia, "unreject", json!({})),
    ] {
        figures.push(written(&api, step(&api, id, action, body)).await);
    }
    let [few, many, plain, reason, back, back_from_reason] = figures[..] else { panic!("{figures:?}") };
    assert!(many[1] <= few[1], "a move changes no label: {many:?} {few:?}");
    assert!(reason[0] <= plain[0] + 2.0 && reason[1] <= plain[1] + 1.0, "{reason:?} {plain:?}");
    // The former entry, and what says so until it is deleted.
    assert!(back_from_reason[0] <= back[0] + 2.0, "{back_from_reason:?} {back:?}");
    assert!(back_from_reason[1] <= back[1] + 2.0, "{back_from_reason:?} {back:?}");
    let tagged = written(&api, async {
        edit(
            &api,
            mia,
            json!({ "tags": tags.iter().map(String::as_str).chain(["new"]).collect::<Vec<_>>() }),
        )
        .await;
    });
    let named = written(&api, edit(&api, max, json!({ "tags": ["new"] })));
    let (tagged, named) = (tagged.await, named.await);
    assert!(tagged[1] <= named[1], "one tag is one entry: {tagged:?} {named:?}");
}

/// People with many applications and labels are in all of their lists, also if a change brings and takes many.
#[tokio::test]
async fn a_person_with_many_applications_and_tags_is_in_all_lists() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=12).await;
    let tags = |from: u64| (from..from + 20).map(|number| format!("t{number}")).collect::<Vec<_>>();
    let person = json!({ "name": "Mia", "email": "mia@example.com", "tags": tags(0) });
    let mia = api.post("/api/v1/candidates", person).await.expect(201).number("/id");
    api.write_applications(mia, 1..=12).await;
    api.run_feed().await;
    assert_eq!(entries(&api).await.len(), 12 * 21);
    edit(&api, mia, json!({ "tags": tags(10), "source": "fair" })).await;
    api.run_feed().await;
    let found = entries(&api).await;
    assert_eq!(found.len(), 12 * 22);
    assert_eq!(found.iter().map(|(role, ..)| *role).collect::<BTreeSet<_>>().len(), 12);
    let ada = acme(&api).await;
    for (label, expected) in
        [("tag&word=t9", 0), ("tag&word=T10", 1), ("tag&word=t29", 1), ("source&word=FAIR", 1)]
    {
        assert_eq!(at_once(&ada, &list(12, label)).await.len(), expected, "{label}");
    }
    erase(&api, mia).await;
    api.run_tasks().await;
    api.run_feed().await;
    assert_eq!(entries(&api).await, []);
}

/// A store handle without a clock records no change for the feed, and its labels follow, too.
#[tokio::test]
async fn labels_follow_changes_that_make_no_event() {
    let api = TestApi::new().await;
    let role = post_job(&api, "Cook").await;
    let mia = add(&api, "Mia", role, json!({})).await;
    api.run_feed().await;
    let (store, live) = (api.store(), tenant(ACME, Mode::Live));
    let found = store.find_candidate(live, Id::new(mia).unwrap()).await.unwrap();
    let before = found.and_then(MaybeErased::present).unwrap();
    let mut after = before.clone().advance_version();
    let tags = Tags::of([Tag::parse("x").unwrap().unwrap()]);
    after.candidate.profile = Profile { tags, ..after.candidate.profile };
    let mut transaction = Transaction::new(live);
    transaction.replace_candidate(&before, &after, &[]).unwrap();
    store.commit(transaction).await.unwrap();
    api.run_feed().await;
    let ada = acme(&api).await;
    assert_eq!(at_once(&ada, &list(role, "tag&word=x")).await, ["Mia"]);
}
