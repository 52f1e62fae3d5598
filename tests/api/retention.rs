//! Retention: the daily run that erases the people whose retention period is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{CandidateRecord, Mode, Move, Name, Profile};
use shared::store::{MaybeErased, Transaction};
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, TestApi, tenant};

use crate::dashboard_retention::{owner_browser, set, switch_off};

const CANDIDATES: &str = "/api/v1/candidates";
const OLD: &str = "2026-01-01T00:00:00.000Z";
const NOW: &str = "2026-11-20T09:30:00.000Z";
/// The first run of a rule that is set now.
const FIRST_RUN: &str = "2026-11-21T09:30:00.000Z";
/// The latest start of a period of 30 days that is over at the first run.
const JUST_OVER: &str = "2026-10-22T09:30:00.000Z";

async fn at<T>(api: &TestApi, time: &str, action: impl Future<Output = T>) -> T {
    api.clock.set(time);
    let result = action.await;
    api.clock.set(NOW);
    result
}

/// Creates an open role at the same time as the first candidates.
async fn role(api: &TestApi) -> u64 {
    let role = json!({ "role": { "title": "Cook" } });
    at(api, OLD, api.post("/api/v1/quick_post", role)).await.expect(201).number("/role/id")
}

/// Adds a candidate at this time, who also applies for the role.
async fn add(api: &TestApi, name: &str, time: &str, role: Option<u64>) -> u64 {
    let person = json!({ "name": name, "email": format!("{name}@example.com"), "role_id": role });
    at(api, time, api.post(CANDIDATES, person)).await.expect(201).number("/id")
}

async fn act(api: &TestApi, candidate: u64, action: &str, time: &str) {
    at(api, time, api.post(&format!("{CANDIDATES}/{candidate}/{action}"), json!({}))).await.expect(200);
}

/// Runs the tasks at this time.
async fn run_at(api: &TestApi, time: &str) -> tasks::Summary {
    at(api, time, api.run_tasks()).await
}

async fn is_erased(api: &TestApi, candidate: u64) -> bool {
    match api.get(&format!("{CANDIDATES}/{candidate}")).await.status {
        200 => false,
        410 => true,
        status => panic!("{status}"),
    }
}

async fn erased(api: &TestApi, candidates: &[u64]) -> Vec<bool> {
    join_all(candidates.iter().map(|candidate| is_erased(api, *candidate))).await
}

/// Sets a rule for Acme's live mode.
async fn set_rule(api: &TestApi, days: u16, include_hired: bool) {
    set(&owner_browser(api, ACME).await, &days.to_string(), include_hired).await;
}

/// Returns the times of the stored retention tasks.
async fn next_runs(api: &TestApi) -> Vec<String> {
    let items = api.stored_items().await.into_keys();
    let tasks = items.filter(|(pk, sk)| pk.starts_with("TASK#") && sk.contains("#retention#"));
    let time =
        |sk: String| Timestamp::from_millisecond(sk.split('#').nth(3).unwrap().parse().unwrap()).unwrap();
    tasks.map(|(_, sk)| time(sk).to_string()).collect()
}

/// Whether the lists of retention periods contain anybody.
async fn is_listed(api: &TestApi) -> bool {
    api.stored_items().await.into_keys().any(|(pk, _)| pk.contains("#RETENTION#"))
}

#[tokio::test]
async fn people_are_erased_at_the_first_run_after_their_period() {
    let api = TestApi::new().await;
    let over = add(&api, "over", JUST_OVER, None).await;
    let next_day = add(&api, "next_day", "2026-10-22T09:30:01.000Z", None).await;
    let recent = add(&api, "recent", "2026-11-01T00:00:00.000Z", None).await;
    let all = [over, next_day, recent];
    set_rule(&api, 30, false).await;
    for time in [NOW, "2026-11-21T09:29:59.000Z"] {
        assert_eq!(run_at(&api, time).await, tasks::Summary::default());
    }
    assert_eq!(erased(&api, &all).await, [false; 3]);
    run_at(&api, FIRST_RUN).await;
    assert_eq!(erased(&api, &all).await, [true, false, false]);
    assert_eq!(next_runs(&api).await, ["2026-11-22T09:30:00.000Z"]);
    let again = api.post(&format!("{CANDIDATES}/{over}/erase"), json!({})).await.expect(202).body;
    assert_eq!(
        (&again["reason"], &again["erased_at"], &again["actor"]["type"]),
        (&json!("retention"), &json!(FIRST_RUN), &json!("system"))
    );
    run_at(&api, "2026-11-22T09:29:59.000Z").await;
    assert_eq!(erased(&api, &all).await, [true, false, false]);
    run_at(&api, "2026-11-22T09:30:00.000Z").await;
    assert_eq!(erased(&api, &all).await, [true, true, false]);
    // A run that is late does not shift the following ones, unless it is late by a day.
    run_at(&api, "2026-11-23T17:00:00.000Z").await;
    assert_eq!(next_runs(&api).await, ["2026-11-24T09:30:00.000Z"]);
    run_at(&api, "2026-12-10T12:00:00.000Z").await;
    assert_eq!(erased(&api, &all).await, [true; 3]);
    assert_eq!(next_runs(&api).await, ["2026-12-11T12:00:00.000Z"]);
    run_at(&api, "2026-12-11T12:00:00.000Z").await;
    assert!(!is_listed(&api).await);
}

#[tokio::test]
async fn the_end_of_the_last_application_counts() {
    let api = TestApi::new().await;
    let (cook, closed) = (role(&api).await, role(&api).await);
    let active = add(&api, "active", OLD, Some(cook)).await;
    let rejected = add(&api, "rejected", OLD, Some(cook)).await;
    act(&api, rejected, "reject", JUST_OVER).await;
    let late = add(&api, "late", OLD, Some(cook)).await;
    act(&api, late, "reject", "2026-10-22T09:30:01.000Z").await;
    let undone = add(&api, "undone", OLD, Some(cook)).await;
    act(&api, undone, "reject", OLD).await;
    act(&api, undone, "unreject", NOW).await;
    let of_closed_role = add(&api, "closed", OLD, Some(closed)).await;
    at(&api, JUST_OVER, api.delete(&format!("/api/v1/roles/{closed}"))).await.expect(200);
    run_at(&api, JUST_OVER).await;
    let all = [active, rejected, late, undone, of_closed_role];
    set_rule(&api, 30, false).await;
    run_at(&api, FIRST_RUN).await;
    assert_eq!(erased(&api, &all).await, [false, true, false, false, true]);
    act(&api, active, "reject", "2026-11-21T10:00:00.000Z").await;
    for (time, expected) in [("2026-12-21T09:59:59.000Z", false), ("2026-12-22T09:59:59.000Z", true)] {
        run_at(&api, time).await;
        assert_eq!(erased(&api, &all).await, [expected, true, true, false, true], "{time}");
    }
}

#[tokio::test]
async fn people_who_were_ever_hired_are_kept_unless_the_rule_includes_them() {
    let api = TestApi::new().await;
    let cook = role(&api).await;
    let hired = add(&api, "hired", OLD, Some(cook)).await;
    act(&api, hired, "hire", OLD).await;
    let unhired = add(&api, "unhired", OLD, Some(cook)).await;
    for action in ["hire", "unhire", "reject"] {
        act(&api, unhired, action, OLD).await;
    }
    set_rule(&api, 30, false).await;
    run_at(&api, FIRST_RUN).await;
    assert_eq!(erased(&api, &[hired, unhired]).await, [false, false]);
    set_rule(&api, 30, true).await;
    run_at(&api, "2026-11-21T09:29:59.000Z").await;
    assert_eq!(erased(&api, &[hired, unhired]).await, [false, false], "a change waits for 24 hours");
    run_at(&api, FIRST_RUN).await;
    assert_eq!(erased(&api, &[hired, unhired]).await, [true, true]);
}

#[tokio::test]
async fn a_rule_that_was_switched_off_or_changed_erases_nobody() {
    let api = TestApi::new().await;
    let people = [add(&api, "a", OLD, None).await, add(&api, "b", JUST_OVER, None).await];
    let browser = owner_browser(&api, ACME).await;
    set(&browser, "30", false).await;
    switch_off(&browser).await;
    run_at(&api, "2026-12-21T09:30:00.000Z").await;
    assert_eq!(erased(&api, &people).await, [false, false]);
    set(&browser, "30", false).await;
    api.clock.set("2026-11-20T10:30:00Z");
    let browser = owner_browser(&api, ACME).await;
    set(&browser, "200", false).await;
    run_at(&api, FIRST_RUN).await;
    assert_eq!(erased(&api, &people).await, [false, false]);
    run_at(&api, "2026-11-21T10:30:00.000Z").await;
    assert_eq!(erased(&api, &people).await, [true, false]);
}

#[tokio::test]
async fn a_rule_that_is_switched_off_during_a_run_erases_nobody_from_then_on() {
    let api = TestApi::new().await;
    let mut people = Vec::new();
    for name in ["a", "b", "c", "d"] {
        people.push(add(&api, name, OLD, None).await);
    }
    set_rule(&api, 30, false).await;
    // The owner switches the rule off right before the first erasure is written.
    let (store, acme) = (api.store().clone(), tenant(ACME, Mode::Live));
    let setting = store.get_retention_setting(acme).await.unwrap();
    let off = setting.change(None, NOW.parse().unwrap()).unwrap();
    api.dynamodb.run_before("TransactWriteItems", async move {
        let mut transaction = Transaction::new(acme);
        transaction.replace_retention_setting(&setting, &off).unwrap();
        store.commit(transaction).await.unwrap();
    });
    run_at(&api, FIRST_RUN).await;
    assert_eq!(erased(&api, &people).await, [false; 4]);
    assert!(next_runs(&api).await.is_empty());
}

#[tokio::test]
async fn a_change_during_the_run_prevents_the_erasure() {
    let api = TestApi::new().await;
    let cook = role(&api).await;
    let jane = add(&api, "jane", OLD, Some(cook)).await;
    act(&api, jane, "reject", JUST_OVER).await;
    set_rule(&api, 30, false).await;
    let (store, acme) = (api.store().clone(), tenant(ACME, Mode::Live));
    api.dynamodb.run_before("TransactWriteItems", async move {
        let found = store.find_candidate(acme, Id::new(jane).unwrap()).await.unwrap();
        let record = found.and_then(MaybeErased::present).unwrap();
        let moved = record.clone().make(&Move::Unreject, None, NOW.parse().unwrap()).unwrap();
        let mut transaction = Transaction::new(acme);
        transaction.replace_candidate(&record, &moved.record, &[]).unwrap();
        store.commit(transaction).await.unwrap();
    });
    run_at(&api, FIRST_RUN).await;
    assert!(!is_erased(&api, jane).await);
    let detail = api.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    assert_eq!(detail.string("/stage"), "applied");
}

#[tokio::test]
async fn a_reopened_role_protects_its_applicants_at_once() {
    let api = TestApi::new().await;
    let cook = role(&api).await;
    let jane = add(&api, "jane", OLD, Some(cook)).await;
    at(&api, JUST_OVER, api.delete(&format!("/api/v1/roles/{cook}"))).await.expect(200);
    run_at(&api, JUST_OVER).await;
    assert!(is_listed(&api).await, "the role's task has updated the application");
    set_rule(&api, 30, false).await;
    at(&api, FIRST_RUN, api.post(&format!("/api/v1/roles/{cook}/reopen"), json!({}))).await.expect(200);
    // The task that updates the application fails until the retention run is over.
    api.dynamodb.inject_faults(move |operation, request| {
        let is_list = operation == "Query" && request.to_string().contains("ROLE_APPLICATION");
        is_list.then_some(Fault::Internal)
    });
    api.clock.set(FIRST_RUN);
    tasks::run(api.environment.clone()).await.unwrap_err();
    api.dynamodb.inject_faults(|_, _| None);
    assert_eq!(next_runs(&api).await, ["2026-11-22T09:30:00.000Z"], "the run is over");
    assert!(!is_erased(&api, jane).await);
    api.run_tasks().await;
    run_at(&api, "2027-11-22T09:30:00.000Z").await;
    assert!(!is_erased(&api, jane).await);
}

#[tokio::test]
async fn a_legal_hold_and_its_grace_prevent_the_erasure() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane", OLD, None).await;
    let hold = format!("{CANDIDATES}/{jane}/legal_hold");
    let request = |method: &str| api.request(method.parse().unwrap(), &hold);
    request("PUT").json(&json!({ "reason": "a lawsuit" })).send().await.expect(200);
    set_rule(&api, 30, false).await;
    run_at(&api, FIRST_RUN).await;
    assert!(!is_erased(&api, jane).await);
    at(&api, "2026-11-21T12:00:00.000Z", request("DELETE").send()).await.expect(200);
    let browser = owner_browser(&api, ACME).await;
    assert!(
        browser.get("/dashboard/settings/retention").await.text.contains("erases <strong>0 people</strong>")
    );
    for (time, expected) in [("2026-12-21T11:59:59.000Z", false), ("2026-12-22T11:59:59.000Z", true)] {
        run_at(&api, time).await;
        assert_eq!(is_erased(&api, jane).await, expected, "{time}");
    }
}

#[tokio::test]
async fn other_tenants_are_not_affected() {
    let api = TestApi::new().await;
    api.clock.set(OLD);
    let mut others = Vec::new();
    for (demo, mode) in [(ACME, Mode::Live), (ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
        let request = api.request(Method::POST, CANDIDATES).key(demo, mode);
        let person = json!({
            "name": "Jane", "email": "jane@example.com", "phone": "+14155552671", "source": "fair", "tags": ["cook"],
            "external_id": "7",
        });
        others.push((demo, mode, request.json(&person).send().await.expect(201).number("/id")));
    }
    api.clock.set(NOW);
    set_rule(&api, 30, true).await;
    run_at(&api, FIRST_RUN).await;
    for (demo, mode, id) in others {
        let path = format!("{CANDIDATES}/{id}");
        let status = api.request(Method::GET, &path).key(demo, mode).send().await.status;
        assert_eq!(status, if (demo, mode) == (ACME, Mode::Live) { 410 } else { 200 });
    }
}

#[tokio::test]
async fn a_suspended_organizations_people_are_not_erased() {
    let api = TestApi::new().await;
    let jane = add(&api, "jane", OLD, None).await;
    set_rule(&api, 30, false).await;
    let (acme, now) = (tenant(ACME, Mode::Live).organization, api.environment.clock.now());
    api.store().set_suspended(acme, true, now).await.unwrap();
    run_at(&api, FIRST_RUN).await;
    api.store().set_suspended(acme, false, now).await.unwrap();
    assert!(!is_erased(&api, jane).await);
    run_at(&api, "2026-11-22T09:30:00.000Z").await;
    assert!(is_erased(&api, jane).await);
}

/// Stores candidates with the ids from 1 to `count`.
async fn write(api: &TestApi, count: u64) -> Vec<u64> {
    for number in 1..=count {
        let profile =
            Profile::new(Name::parse("P").unwrap().unwrap(), format!("p{number}@x.com").parse().unwrap());
        let time = OLD.parse().unwrap();
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        let record = CandidateRecord::new(Id::new(number).unwrap(), profile, time);
        transaction.insert_candidate(record, &[]).unwrap();
        api.store().commit(transaction).await.unwrap();
    }
    (1..=count).collect()
}

#[tokio::test]
async fn a_run_leaves_people_beyond_a_hundred_to_the_next_one() {
    let api = TestApi::new().await;
    let people = write(&api, 150).await;
    set_rule(&api, 30, false).await;
    run_at(&api, FIRST_RUN).await;
    let count = erased(&api, &people).await.into_iter().filter(|is_erased| *is_erased).count();
    assert_eq!((count, next_runs(&api).await), (100, vec![FIRST_RUN.to_owned()]));
    // The clock stands still during a run, so another run in the same millisecond would draw the same identifiers.
    run_at(&api, "2026-11-21T09:30:00.5Z").await;
    assert_eq!(erased(&api, &people).await, [true; 150]);
    assert_eq!(next_runs(&api).await, ["2026-11-22T09:30:00.000Z"]);
    // For a task without anybody to erase, a run makes four calls: the rule, the organization, the list, the next task.
    api.clock.set("2026-11-22T09:30:00Z");
    while api.run_tasks().await.tasks > 0 {}
    api.clock.set("2026-11-23T09:30:00Z");
    api.dynamodb.take_calls();
    api.run_tasks().await;
    let mut calls = api.dynamodb.take_calls();
    let reads_tasks =
        |request: &Value| request["ExpressionAttributeValues"][":hash"]["S"].to_string().contains("TASK");
    calls.retain(|call| !reads_tasks(&call.request));
    let operations: Vec<_> = calls.into_iter().map(|call| call.operation).collect();
    assert_eq!(operations, ["GetItem", "BatchGetItem", "Query", "TransactWriteItems"]);
}

#[tokio::test]
async fn a_run_that_is_killed_at_any_write_is_completed_by_the_next_ones() {
    let api = TestApi::new().await;
    let people = write(&api, 5).await;
    set_rule(&api, 30, false).await;
    api.clock.set(FIRST_RUN);
    // Every run makes one more write than the run before, until one has nothing left to do.
    let mut runs = 0;
    loop {
        let writes = Arc::new(AtomicUsize::new(0));
        let counted = writes.clone();
        api.dynamodb.inject_faults(move |operation, _| {
            let is_write = operation == "TransactWriteItems";
            (is_write && counted.fetch_add(1, Ordering::Relaxed) > 0).then_some(Fault::Unreachable)
        });
        let outcome = tasks::run(api.environment.clone()).await;
        runs += 1;
        assert!(runs < 100, "every run must make progress");
        if outcome.is_ok_and(|summary| summary.tasks == 0) {
            break;
        }
    }
    api.dynamodb.inject_faults(|_, _| None);
    assert!(runs > people.len(), "{runs}");
    assert_eq!(erased(&api, &people).await, [true; 5]);
    assert_eq!(next_runs(&api).await, ["2026-11-22T09:30:00.000Z"]);
}

#[tokio::test]
async fn concurrent_runs_erase_everybody_once() {
    let api = TestApi::new().await;
    let people = write(&api, 20).await;
    set_rule(&api, 30, false).await;
    api.clock.set(FIRST_RUN);
    let runs = join_all((0..3).map(|_| tasks::run(api.environment.clone()))).await;
    assert!(runs.into_iter().all(|run| run.is_ok()));
    while api.run_tasks().await.tasks > 0 {}
    assert_eq!(erased(&api, &people).await, [true; 20]);
    assert_eq!(next_runs(&api).await, ["2026-11-22T09:30:00.000Z"]);
    let erasures: Vec<Value> = join_all(
        people
            .iter()
            .map(async |id| api.post(&format!("{CANDIDATES}/{id}/erase"), json!({})).await.expect(202).body),
    )
    .await;
    assert!(erasures.iter().all(|erasure| erasure["reason"] == "retention"));
}
