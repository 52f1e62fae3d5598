//! The retention settings: the rule, the preview of the people whom it erases, and its schedule.

use std::collections::BTreeMap;

use http::Method;
use serde_json::json;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{CandidateRecord, MemberRole, Mode, Name, Profile};
use shared::store::Transaction;
use tests::browser::{Browser, Form, input};
use tests::dashboard::{actions, add_member, escaped, links, owner};
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::dashboard_access::is_write;

pub(crate) const PATH: &str = "/dashboard/settings/retention";
const CANDIDATES: &str = "/api/v1/candidates";
const NOW: &str = "2026-11-20T09:30:00.000Z";

pub(crate) async fn owner_browser(api: &TestApi, demo: usize) -> Browser<'_> {
    Browser::with_session(api, demo, &owner(api, demo).await).await
}

/// Returns the items of the table without the entries of the audit log, which has who saw the people.
fn without_audit_log<V>(mut items: BTreeMap<(String, String), V>) -> BTreeMap<(String, String), V> {
    items.retain(|(pk, _), _| !pk.contains("#AUDIT#"));
    items
}

/// Adds a candidate at this time.
async fn add(api: &TestApi, name: &str, time: &str, mode: Mode) -> u64 {
    api.clock.set(time);
    let email = format!("{}@example.com", name.replace(|c: char| !c.is_alphanumeric(), ""));
    let request = api.request(Method::POST, CANDIDATES).key(ACME, mode);
    let id = request.json(&json!({ "name": name, "email": email })).send().await.expect(201).number("/id");
    api.clock.set(NOW);
    id
}

async fn hire(api: &TestApi, candidate: u64, time: &str) {
    api.clock.set(time);
    api.post(&format!("{CANDIDATES}/{candidate}/hire"), json!({})).await.expect(200);
    api.clock.set(NOW);
}

fn preview(days: &str, include_hired: bool) -> String {
    let hired = if include_hired { "&include_hired=yes" } else { "" };
    format!("{PATH}?preview=yes&days={days}{hired}")
}

/// Previews and confirms a rule.
pub(crate) async fn set(browser: &Browser<'_>, days: &str, include_hired: bool) -> Response {
    let page = browser.get(&preview(days, include_hired)).await.expect(200);
    browser.submit(PATH, &Form::of(&page, PATH)).await.expect(303)
}

pub(crate) async fn switch_off(browser: &Browser<'_>) {
    let off = browser.post(PATH, &[("rule", "off")]).await.expect(303);
    assert_eq!(off.header("location"), format!("{PATH}?done=retention-off"));
}

/// Returns the people on the page.
fn shown(page: &Response) -> Vec<u64> {
    let id = |link: String| link.rsplit('/').next().unwrap().parse().unwrap();
    links(page, "/dashboard/candidates/").into_iter().map(id).collect()
}

/// Returns the times and tenants of the stored retention tasks.
async fn tasks(api: &TestApi) -> Vec<String> {
    let items = api.stored_items().await.into_keys();
    items.filter(|(pk, sk)| pk.starts_with("TASK#") && sk.contains("#retention#")).map(|(_, sk)| sk).collect()
}

/// The task of Acme's live mode that is due at this time.
fn task_at(time: &str) -> String {
    let seconds = time.parse::<Timestamp>().unwrap().as_second();
    format!("{:012}#1#live#{:015}#retention#{:016}", seconds / 3_600 * 3_600, seconds * 1_000, 1)
}

#[tokio::test]
async fn a_rule_is_previewed_and_confirmed_before_it_is_saved() {
    let api = TestApi::new().await;
    let old = add(&api, "Old", "2026-01-10T00:00:00.000Z", Mode::Live).await;
    add(&api, "New", "2026-11-01T00:00:00.000Z", Mode::Live).await;
    let browser = owner_browser(&api, ACME).await;
    let page = browser.get(PATH).await.expect(200);
    assert!(
        page.text.contains("Retention is off. Nobody is erased automatically.") && shown(&page).is_empty()
    );
    assert!(page.text.contains("The rule applies only to your live data."));
    let before = without_audit_log(api.stored_items().await);

    let page = browser.get(&preview("300", false)).await.expect(200);
    assert!(
        page.text.contains(">21 Nov 2026, 09:30 UTC</time>, would erase <strong>1 person</strong>"),
        "{}",
        page.text
    );
    assert_eq!(shown(&page), [old]);
    assert!(page.text.contains("10 Jan 2026") && page.text.contains("Retention is off."));
    let after = without_audit_log(api.stored_items().await);
    assert!(after == before, "a preview writes nothing");

    let saved = browser.submit(PATH, &Form::of(&page, PATH)).await.expect(303);
    assert_eq!(saved.header("location"), format!("{PATH}?done=retention-set"));
    let page = browser.follow(&saved).await.expect(200);
    for text in [
        "Retention rule saved. Nobody is erased before the next run.",
        "People are erased 300 days after",
        "ever hired are kept.",
        "<dt>Set</dt><dd><time datetime=\"2026-11-20T09:30:00Z\">20 Nov 2026, 09:30 UTC</time></dd>",
        "<dt>Next run</dt><dd><time datetime=\"2026-11-21T09:30:00Z\">21 Nov 2026, 09:30 UTC</time></dd>",
        "The next run erases <strong>1 person</strong>",
    ] {
        assert!(page.text.contains(text), "{text}: {}", page.text);
    }
    assert_eq!((shown(&page), input(&page, "days").as_str()), (vec![old], "300"));
    assert_eq!(tasks(&api).await, [task_at("2026-11-21T09:30:00.000Z")]);

    switch_off(&browser).await;
    let page = browser.get(PATH).await.expect(200);
    assert!(page.text.contains("Retention is off.") && input(&page, "days").is_empty());
    assert!(tasks(&api).await.is_empty());
    switch_off(&browser).await;
}

#[tokio::test]
async fn a_rule_without_a_preview_is_not_saved() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    let before = api.stored_items().await;
    for (fields, query) in [
        (vec![("days", "365")], "days=365"),
        (vec![("days", " 0365 "), ("include_hired", "yes"), ("rule", "on")], "days=365&include_hired=yes"),
        (vec![("days", "3650"), ("previewed", "no")], "days=3650"),
    ] {
        let redirect = browser.post(PATH, &fields).await.expect(303);
        assert_eq!(redirect.header("location"), format!("{PATH}?preview=yes&{query}"));
        browser.follow(&redirect).await.expect(200);
    }
    assert!(api.stored_items().await == before);
}

#[tokio::test]
async fn an_invalid_number_of_days_is_shown_again_with_the_problem() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    set(&browser, "100", false).await;
    let before = api.stored_items().await;
    for days in ["", "29", "3651", "-30", "30.5", "soon", "\"><script>"] {
        let typed: String = url::form_urlencoded::byte_serialize(days.as_bytes()).collect();
        let fields = [("days", days), ("include_hired", "yes"), ("previewed", "yes")];
        for page in [browser.get(&preview(&typed, true)).await, browser.post(PATH, &fields).await] {
            let page = page.expect(422);
            let sentence = "The number of days must be a whole number from 30 to 3,650.";
            assert!(
                page.text.contains(&format!("<a href=\"#days\">{sentence}</a>")),
                "{days}: {}",
                page.text
            );
            assert!(page.text.contains("aria-invalid=\"true\""));
            assert_eq!(input(&page, "days"), days);
            assert!(page.text.contains("name=\"include_hired\" value=\"yes\" checked"), "{days}");
            assert!(!page.text.contains("<script"), "{days}");
        }
    }
    assert!(api.stored_items().await == before);
}

#[tokio::test]
async fn members_see_the_rule_but_cannot_change_it() {
    let api = TestApi::new().await;
    let old = add(&api, "Old", "2026-01-10T00:00:00.000Z", Mode::Live).await;
    let plain = add_member(&api, ACME, "Plain", MemberRole::Member).await;
    let member = Browser::with_session(&api, ACME, &plain).await;
    let browser = owner_browser(&api, ACME).await;
    assert!(member.get(PATH).await.expect(200).text.contains("Retention is off."));
    set(&browser, "30", false).await;
    let before = without_audit_log(api.stored_items().await);
    for path in [PATH.to_owned(), preview("300", true)] {
        let page = member.get(&path).await.expect(200);
        assert!(
            page.text.contains("People are erased 30 days after") && !page.text.contains("Preview"),
            "{path}"
        );
        assert!(page.text.contains("Only owners can change the rule.") && shown(&page) == [old]);
        assert_eq!(actions(&page), ["/dashboard/mode", "/dashboard/sign-out"], "{path}");
    }
    for fields in [vec![("rule", "off")], vec![("days", "300"), ("previewed", "yes")]] {
        api.dynamodb.take_calls();
        member.post(PATH, &fields).await.expect(403);
        assert!(!api.dynamodb.take_calls().iter().any(is_write));
    }
    assert!(without_audit_log(api.stored_items().await) == before);
}

#[tokio::test]
async fn each_mode_and_organization_has_its_own_rule_and_people() {
    let api = TestApi::new().await;
    let live = add(&api, "Live", "2026-01-10T00:00:00.000Z", Mode::Live).await;
    let test = add(&api, "Test", "2026-01-11T00:00:00.000Z", Mode::Test).await;
    let browser = owner_browser(&api, ACME).await;
    set(&browser, "30", false).await;
    assert_eq!(shown(&browser.get(PATH).await), [live]);
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    let page = browser.get(PATH).await.expect(200);
    assert!(page.text.contains("Retention is off.") && page.text.contains("only to your test data"));
    assert_eq!(shown(&browser.get(&preview("30", true)).await), [test]);
    set(&browser, "90", true).await;
    let page = browser.get(PATH).await.expect(200);
    assert!(page.text.contains("erased 90 days after") && page.text.contains("ever hired are erased, too."));
    let others = owner_browser(&api, GLOBEX).await;
    assert!(others.get(PATH).await.expect(200).text.contains("Retention is off."));
    assert!(shown(&others.get(&preview("30", true)).await.expect(200)).is_empty());
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    assert!(browser.get(PATH).await.expect(200).text.contains("erased 30 days after"));
    assert_eq!(tasks(&api).await.len(), 2);
}

#[tokio::test]
async fn the_preview_shows_exactly_the_people_whom_the_first_run_would_erase() {
    let api = TestApi::new().await;
    // The first run is at 2026-11-21T09:30:00Z. A period of 30 days is over if it began at 2026-10-22T09:30:00Z.
    api.clock.set("2026-01-01T00:00:00Z");
    let role = api.post("/api/v1/quick_post", json!({ "role": { "title": "Cook" } })).await.expect(201);
    let role = role.number("/role/id");
    let exact = add(&api, "<b>Exact</b>", "2026-10-22T09:30:00.000Z", Mode::Live).await;
    add(&api, "Late", "2026-10-22T09:30:01.000Z", Mode::Live).await;
    let hired = add(&api, "Hired", "2026-01-01T00:00:00.000Z", Mode::Live).await;
    hire(&api, hired, "2026-02-01T00:00:00.000Z").await;
    let active = add(&api, "Active", "2026-01-02T00:00:00.000Z", Mode::Live).await;
    let applications = format!("{CANDIDATES}/{active}/applications");
    api.clock.set("2026-01-02T00:00:00Z");
    api.post(&applications, json!({ "role_id": role })).await.expect(201);
    api.clock.set(NOW);
    let browser = owner_browser(&api, ACME).await;

    let page = browser.get(&preview("30", false)).await.expect(200);
    assert!(page.text.contains("<strong>1 person</strong>") && page.text.contains(&escaped("<b>Exact</b>")));
    assert_eq!(shown(&page), [exact]);
    let page = browser.get(&preview("30", true)).await.expect(200);
    assert!(page.text.contains("<strong>2 people</strong>"));
    assert_eq!(shown(&page), [exact, hired], "the latest periods come first");
    assert!(page.text.contains("1 Feb 2026"), "the period of the hired person began with the hire");
    assert_eq!(shown(&browser.get(&preview("31", true)).await), [hired]);

    // The end of the last application begins the period.
    api.clock.set("2026-03-01T00:00:00Z");
    api.post(&format!("{CANDIDATES}/{active}/reject"), json!({})).await.expect(200);
    api.clock.set(NOW);
    assert_eq!(shown(&browser.get(&preview("30", false)).await), [exact, active]);
    api.clock.set("2026-03-02T00:00:00Z");
    api.post(&format!("{CANDIDATES}/{active}/unreject"), json!({})).await.expect(200);
    api.clock.set(NOW);
    assert_eq!(shown(&browser.get(&preview("30", false)).await), [exact]);

    // A closed role ends its applications, and a reopened one continues them.
    api.clock.set("2026-04-01T00:00:00Z");
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    api.run_tasks().await;
    api.clock.set(NOW);
    assert_eq!(shown(&browser.get(&preview("30", false)).await), [exact, active]);
    assert!(browser.get(&preview("30", false)).await.text.contains("1 Apr 2026"));
    api.post(&format!("/api/v1/roles/{role}/reopen"), json!({})).await.expect(200);
    api.run_tasks().await;
    assert_eq!(shown(&browser.get(&preview("30", false)).await), [exact]);
}

#[tokio::test]
async fn the_page_names_25_people_and_counts_up_to_1000() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    let time = |number: u64| format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60);
    let write = async |numbers: std::ops::Range<u64>| {
        for first in numbers.step_by(5) {
            let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
            for number in first..first + 5 {
                let email = format!("p{number}@example.com").parse().unwrap();
                let profile = Profile::new(Name::parse("P").unwrap().unwrap(), email);
                let record =
                    CandidateRecord::new(Id::new(number).unwrap(), profile, time(number).parse().unwrap());
                transaction.insert_candidate(record, &[]).unwrap();
            }
            api.store().commit(transaction).await.unwrap();
        }
    };
    write(1..31).await;
    let page = browser.get(&preview("30", true)).await.expect(200);
    assert!(page.text.contains("<strong>30 people</strong>"));
    assert_eq!(shown(&page), (6..=30).rev().collect::<Vec<_>>());
    assert!(page.text.contains("1 to 25 of 30 people, those first whose periods began last."));
    write(31..1_001).await;
    api.dynamodb.take_calls();
    let page = browser.get(&preview("30", true)).await.expect(200);
    assert!(page.text.contains("<strong>at least 1,000 people</strong>"));
    assert_eq!(shown(&page), (976..=1_000).rev().collect::<Vec<_>>());
    let calls = api.dynamodb.take_calls();
    let units: f64 = calls.iter().map(tests::interceptor::RecordedCall::units).sum();
    assert!(calls.len() == 6 && units <= 39.0, "{} calls, {units} units", calls.len());
}

#[tokio::test]
async fn every_change_of_the_rule_is_followed_by_24_hours_without_a_run() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    set(&browser, "100", false).await;
    let first = [task_at("2026-11-21T09:30:00.000Z")];
    assert_eq!(tasks(&api).await, first);
    // A change in the same second keeps the time of the run.
    set(&browser, "101", false).await;
    assert_eq!(tasks(&api).await, first);
    api.clock.set("2026-11-20T10:30:00Z");
    let browser = owner_browser(&api, ACME).await;
    set(&browser, "101", false).await;
    assert_eq!(tasks(&api).await, first, "the same rule changes nothing");
    set(&browser, "101", true).await;
    assert_eq!(tasks(&api).await, [task_at("2026-11-21T10:30:00.000Z")]);
    api.clock.set("2026-11-20T11:00:00Z");
    let browser = owner_browser(&api, ACME).await;
    switch_off(&browser).await;
    assert!(tasks(&api).await.is_empty());
    set(&browser, "101", true).await;
    assert_eq!(tasks(&api).await, [task_at("2026-11-21T11:00:00.000Z")]);
}

#[tokio::test]
async fn concurrent_changes_leave_one_rule_with_one_run() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    browser.csrf().await;
    let days: Vec<String> = (30..42).map(|days| days.to_string()).collect();
    let changes = days.iter().map(|days| async {
        let fields = [("days", days.as_str()), ("previewed", "yes")];
        browser.post(PATH, &fields).await.expect(303);
    });
    futures_util::future::join_all(changes).await;
    let page = browser.get(PATH).await.expect(200);
    assert!(days.contains(&input(&page, "days")));
    assert_eq!(tasks(&api).await, [task_at("2026-11-21T09:30:00.000Z")]);
    // An owner who is no longer one cannot save a rule.
    let jo = add_member(&api, ACME, "Jo", MemberRole::Owner).await;
    let former = Browser::with_session(&api, ACME, &jo).await;
    former.csrf().await;
    let before = input(&page, "days");
    let (store, demoted) = (api.store().clone(), jo.clone().in_role(MemberRole::Member));
    api.dynamodb.run_before("TransactWriteItems", async move {
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        transaction.replace_member(&jo, &demoted).unwrap();
        store.commit(transaction).await.unwrap();
    });
    former.post(PATH, &[("days", "99"), ("previewed", "yes")]).await.expect(403);
    assert_eq!(input(&browser.get(PATH).await, "days"), before);
}
