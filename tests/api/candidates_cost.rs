//! The cost of requests with many candidates and many applications, and the consistency of the candidate lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{
    CandidateRecord, Mode, Name, Profile, Resume, Role, RoleContent, RoleStatus, Source, Stage, Text,
};
use shared::store::{Task, Transaction};
use tests::interceptor::{Fault, RecordedCall};
use tests::{ACME, Response, TestApi, tenant};

const CANDIDATES: &str = "/api/v1/candidates";
/// The maximum number of applications of one candidate.
const MAX_APPLICATIONS: u64 = 200;

fn id(number: u64) -> Id {
    Id::new(number).unwrap()
}

fn transaction() -> Transaction {
    Transaction::new(tenant(ACME, Mode::Live))
}

/// Stores open roles with the ids from 1 to `count`.
async fn write_roles(api: &TestApi, count: u64) {
    let now = api.environment.clock.now();
    let role = |number| {
        let content = RoleContent::titled(Text::parse("Engineer").unwrap().unwrap());
        Role::draft(id(number), content, now).publish(now).unwrap()
    };
    api.write_roles(&(1..=count).map(role).collect::<Vec<_>>()).await;
}

async fn jane(api: &TestApi) -> u64 {
    let jane = json!({ "name": "Jane", "email": "jane@example.com" });
    api.post(CANDIDATES, jane).await.expect(201).number("/id")
}

async fn step(api: &TestApi, candidate: u64, action: &str, body: Value) -> Response {
    api.post(&format!("{CANDIDATES}/{candidate}/{action}"), body).await
}

async fn apply(api: &TestApi, candidate: u64, role: u64) -> Response {
    step(api, candidate, "applications", json!({ "role_id": role })).await
}

async fn advance(api: &TestApi, candidate: u64, stage: &str) {
    step(api, candidate, "advance", json!({ "stage": stage })).await.expect(200);
}

/// Creates a candidate who has applied for roles 1 to 200.
async fn candidate_with_200_applications(api: &TestApi) -> u64 {
    write_roles(api, MAX_APPLICATIONS + 1).await;
    let jane = jane(api).await;
    for role in 1..=MAX_APPLICATIONS {
        apply(api, jane, role).await.expect(201);
    }
    jane
}

/// Returns the roles from 1 to `count` that have no candidate in `stage`.
async fn roles_without_candidate(api: &TestApi, stage: &str, count: u64) -> Vec<u64> {
    let without_candidate = async |role: u64| {
        let page = api.get(&format!("{CANDIDATES}?role_id={role}&stage={stage}")).await.expect(200);
        (page.body["data"] == json!([])).then_some(role)
    };
    stream::iter(1..=count).map(without_candidate).buffered(4).filter_map(async |role| role).collect().await
}

/// Asserts that every role lists the candidate in `stage` and in none of `others`.
async fn assert_listed(api: &TestApi, stage: &str, others: &[&str]) {
    assert_eq!(roles_without_candidate(api, stage, MAX_APPLICATIONS).await, [] as [u64; 0], "{stage}");
    let all: Vec<_> = (1..=MAX_APPLICATIONS).collect();
    for other in others {
        assert_eq!(
            roles_without_candidate(api, other, MAX_APPLICATIONS).await,
            all,
            "{other} instead of {stage}"
        );
    }
}

async fn tasks(api: &TestApi) -> Vec<Task> {
    let end = "2030-01-01T00:00:00Z".parse().unwrap();
    api.store().list_due_tasks(end, 100, None).await.unwrap().items
}

/// Lets this many transactions succeed and all later ones fail.
fn fail_after(api: &TestApi, transactions: usize) {
    let seen = Arc::new(AtomicUsize::new(0));
    api.dynamodb.inject_faults(move |operation, _| {
        let fails = operation == "TransactWriteItems" && seen.fetch_add(1, Ordering::SeqCst) >= transactions;
        fails.then_some(Fault::Unreachable)
    });
}

#[tokio::test]
async fn moving_a_candidate_updates_all_200_applications() {
    let api = TestApi::new().await;
    let jane = candidate_with_200_applications(&api).await;
    let refused = apply(&api, jane, MAX_APPLICATIONS + 1).await.expect(422);
    assert_eq!(
        refused.messages(),
        ["role_id can't be added, because the candidate already has the maximum of 200 applications"]
    );
    api.dynamodb.take_calls();
    let page = api.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    assert!(api.dynamodb.take_calls().len() <= 4);
    let roles: Vec<_> =
        page.body["applications"].as_array().unwrap().iter().map(|a| a["role_id"].as_u64()).collect();
    assert_eq!(roles, (1..=MAX_APPLICATIONS).rev().map(Some).collect::<Vec<_>>());
    assert_eq!(page.body["touchpoints"].as_array().unwrap().len(), 201);
    assert_listed(&api, "applied", &[]).await;

    let mut before = "applied";
    for (action, body, stage) in [
        ("advance", json!({ "stage": "offer" }), "offer"),
        ("reject", json!({}), "rejected"),
        ("unreject", json!({}), "offer"),
        ("hire", json!({}), "hired"),
    ] {
        api.dynamodb.take_calls();
        step(&api, jane, action, body).await.expect(200);
        assert_eq!(api.dynamodb.take_calls().len(), 3, "{action}");
        api.run_tasks().await;
        assert_listed(&api, stage, &[before]).await;
        before = stage;
    }
    assert_eq!(tasks(&api).await, [], "no task remains");
    let page = api.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    assert!(page.body["applications"].as_array().unwrap().iter().all(|a| a["status"] == "hired"));
}

#[tokio::test]
async fn up_to_90_applications_are_updated_in_one_transaction() {
    let api = TestApi::new().await;
    write_roles(&api, 90).await;
    let jane = jane(&api).await;
    for count in 1..=90 {
        apply(&api, jane, count).await.expect(201);
        let stage = if count % 2 == 0 { "applied" } else { "interview" };
        let path = format!("{CANDIDATES}/{jane}/advance");
        let request = api.request(Method::POST, &path).header("idempotency-key", &format!("k{count}"));
        api.dynamodb.take_calls();
        request.json(&json!({ "stage": stage })).send().await.expect(200);
        let calls = api.dynamodb.take_calls();
        assert!(calls.len() <= 3, "{count}: {}", calls.len());
        if count % 30 == 0 {
            assert_eq!(roles_without_candidate(&api, stage, count).await, [] as [u64; 0]);
        }
    }
    assert_eq!(tasks(&api).await, []);
}

/// A move is atomic. List updates that do not fit into its transaction become a task, which remains if the job fails.
#[tokio::test]
async fn a_task_updates_the_lists_that_do_not_fit_into_the_transaction() {
    let api = TestApi::new().await;
    let jane = candidate_with_200_applications(&api).await;
    let path = format!("{CANDIDATES}/{jane}");
    let mut before = "applied";
    for (succeeding, stage) in [(0, "screening"), (1, "interview"), (2, "offer")] {
        let kinds = api.get(&path).await.expect(200).body["touchpoints"].as_array().unwrap().len();
        advance(&api, jane, stage).await;
        let page = api.get(&path).await.expect(200);
        assert_eq!(page.string("/stage"), stage);
        assert_eq!(page.body["touchpoints"][0]["detail"], json!({ "from": before, "to": stage }));
        assert_eq!(page.body["touchpoints"].as_array().unwrap().len(), kinds + 1);
        let listed = api.get(&format!("{CANDIDATES}?stage={stage}")).await.expect(200);
        assert_eq!(listed.body["data"][0]["id"], jane, "the list of all candidates is updated immediately");
        let behind = roles_without_candidate(&api, stage, MAX_APPLICATIONS).await.len();
        assert!(0 < behind && behind as u64 * 5 < MAX_APPLICATIONS * 3, "{behind}");
        assert_eq!(tasks(&api).await.len(), 1);

        fail_after(&api, succeeding);
        tasks::run(api.environment.clone()).await.expect_err("the job fails");
        api.dynamodb.inject_faults(|_, _| None);
        assert_eq!(tasks(&api).await.len(), 1, "{succeeding}");
        api.run_tasks().await;
        assert_listed(&api, stage, &[before]).await;
        assert_eq!(tasks(&api).await, []);
        before = stage;
    }
    fail_after(&api, 0);
    assert_eq!(step(&api, jane, "reject", json!({})).await.status, 503);
    api.dynamodb.inject_faults(|_, _| None);
    assert_eq!(api.get(&path).await.expect(200).string("/stage"), before, "the candidate was not moved");
    assert_eq!(tasks(&api).await, []);
}

/// Interrupts the list updates of two moves, changes the candidate, and lets the job fail once.
#[tokio::test]
async fn the_lists_show_the_last_move_after_interrupted_moves() {
    let api = TestApi::new().await;
    let jane = candidate_with_200_applications(&api).await;
    for stage in ["screening", "offer"] {
        fail_after(&api, 1);
        advance(&api, jane, stage).await;
        api.clock.set("2026-11-20T09:30:20Z");
    }
    api.dynamodb.inject_faults(|_, _| None);
    api.patch(&format!("{CANDIDATES}/{jane}"), json!({ "name": "Janet" })).await.expect(200);
    assert_eq!(tasks(&api).await.len(), 2);
    api.clock.set("2026-11-20T09:32:00Z");
    fail_after(&api, 1);
    tasks::run(api.environment.clone()).await.expect_err("the job fails");
    api.dynamodb.inject_faults(|_, _| None);
    api.run_tasks().await;
    assert_listed(&api, "offer", &["applied", "screening"]).await;
    assert_eq!(tasks(&api).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_moves_with_200_applications_leave_correct_lists() {
    let api = TestApi::new().await;
    let jane = candidate_with_200_applications(&api).await;
    for round in 1..=5 {
        let (path, name) = (format!("{CANDIDATES}/{jane}"), format!("Jane {round}"));
        let moves =
            ["screening", "interview", "offer", "applied"].map(|stage| (stage, json!({ "stage": stage })));
        let moves = moves.iter().map(|(_, body)| step(&api, jane, "advance", body.clone()));
        let (moves_made, patched) =
            futures_util::future::join(join_all(moves), api.patch(&path, json!({ "name": name }))).await;
        assert!(moves_made.iter().all(|response| [200, 422].contains(&response.status)));
        patched.expect(200);
        api.clock.set(&format!("2026-11-20T09:{}:00Z", 30 + 2 * round));
        api.run_tasks().await;
        let stage = api.get(&path).await.expect(200).string("/stage").to_owned();
        let others: Vec<_> = ["applied", "screening", "interview", "offer"]
            .into_iter()
            .filter(|other| *other != stage)
            .collect();
        assert_listed(&api, &stage, &others).await;
        assert_eq!(tasks(&api).await, []);
    }
}

/// Returns the capacity units of a page, and the page. Asserts that the page returns every item that it reads.
async fn cost(api: &TestApi, path: &str) -> (f64, Response) {
    api.dynamodb.take_calls();
    let page = api.get(path).await.expect(200);
    let calls = api.dynamodb.take_calls();
    let returned = page.body["data"].as_array().unwrap().len();
    assert!(calls.len() <= 3, "{path}: {} calls", calls.len());
    for call in &calls {
        let read = match call.operation.as_str() {
            "UpdateItem" => continue,
            "Query" => call.response["ScannedCount"].as_u64().map(|read| usize::try_from(read).unwrap()),
            "BatchGetItem" => call.request["RequestItems"]
                .as_object()
                .map(|tables| tables.values().map(|table| table["Keys"].as_array().unwrap().len()).sum()),
            other => panic!("{path}: {other}"),
        };
        assert_eq!(read, Some(returned), "{path}: {}", call.operation);
        assert!(call.request.get("FilterExpression").is_none());
    }
    (calls.iter().skip(1).map(RecordedCall::units).sum(), page)
}

/// Stores candidates `from` to `to` in five stages. Every second group of five has applications for role 1.
async fn write_candidates(api: &TestApi, from: u64, to: u64) {
    const STAGES: [Stage; 5] =
        [Stage::Applied, Stage::Screening, Stage::Interview, Stage::Offer, Stage::Rejected];
    let now = api.environment.clock.now();
    let candidate = |number: u64| {
        let profile = Profile {
            name: Name::parse(&format!("Candidate {number:05}")).unwrap().unwrap(),
            email: format!("candidate{number:05}@example.com").parse().unwrap(),
            phone: Some("+14155552671".parse().unwrap()),
            resume: Some(Resume::Address(format!("https://example.com/{number:05}").parse().unwrap())),
        };
        let record = CandidateRecord::new(id(1_000_000_000_000_000 + number), profile, now);
        match STAGES[usize::try_from(number % 5).unwrap()] {
            Stage::Applied => record,
            Stage::Rejected => record.reject(now).unwrap(),
            stage => record.advance(stage, now).unwrap(),
        }
    };
    // Only one candidate per transaction may apply, because every application updates the role's counter.
    let insert = async |number: u64| {
        let number = number / 5 * 10 + number % 5;
        let application = id(2_000_000_000_000_000 + number);
        let applied =
            candidate(number).apply(application, id(1), RoleStatus::Open, Source::Api, now).unwrap();
        let mut transaction = transaction();
        transaction.insert_application(&applied.candidate, &applied.applications[0]).unwrap();
        for record in [applied, candidate(number + 5)] {
            transaction.insert_candidate(record, &[]).unwrap();
        }
        api.store().commit(transaction).await.unwrap();
    };
    stream::iter(from / 2..to / 2).for_each_concurrent(8, insert).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_page_costs_the_same_with_ten_and_ten_thousand_candidates() {
    let api = TestApi::new().await;
    write_roles(&api, 1).await;
    let count = 10_000;
    let lists = [
        ("", count),
        ("&stage=offer", count / 5),
        ("&role_id=1", count / 2),
        ("&role_id=1&stage=offer", count / 10),
    ];
    write_candidates(&api, 0, 10).await;
    let mut with_ten = Vec::new();
    for (filter, _) in lists {
        with_ten.push(cost(&api, &format!("{CANDIDATES}?limit=1{filter}")).await.0);
    }
    write_candidates(&api, 10, count).await;
    for ((filter, _), with_ten) in lists.into_iter().zip(with_ten) {
        let (with_many, _) = cost(&api, &format!("{CANDIDATES}?limit=1{filter}")).await;
        assert!(
            (with_many - with_ten).abs() < f64::EPSILON && with_ten > 0.0,
            "{filter}: {with_ten} {with_many}"
        );
    }
    for (filter, expected) in lists {
        let mut path = format!("{CANDIDATES}?limit=100{filter}");
        let (mut seen, mut first) = (0, None);
        loop {
            let (units, page) = cost(&api, &path).await;
            let returned = page.body["data"].as_array().unwrap().len();
            seen += returned;
            if returned > 0 {
                let first = *first.get_or_insert(units);
                assert!(
                    returned == 100 && (units - first).abs() <= 0.5,
                    "{path}: {returned}, {first} and {units}"
                );
            }
            let Some(cursor) = page.body["next_cursor"].as_str() else { break };
            path = format!("{CANDIDATES}?limit=100{filter}&cursor={cursor}");
        }
        assert_eq!(seen as u64, expected, "{filter}");
    }
    assert_eq!(api.get("/api/v1/roles/1/stats").await.expect(200).number("/applicants"), count / 2);
}
