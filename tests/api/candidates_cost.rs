//! The cost of requests with many candidates and many applications, and the consistency of the candidate lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{CandidateRecord, Cause, EndedBy, Mode, Move, Name, Profile, Resume, Source, Stage};
use shared::store::{Task, Transaction};
use tests::interceptor::{Fault, RecordedCall};
use tests::{ACME, Response, TestApi, tenant};

use crate::budget::pages_scale;

const CANDIDATES: &str = "/api/v1/candidates";
/// The maximum number of applications of one candidate.
const MAX_APPLICATIONS: u64 = 200;

fn id(number: u64) -> Id {
    Id::new(number).unwrap()
}

fn transaction() -> Transaction {
    Transaction::new(tenant(ACME, Mode::Live))
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

/// Creates a candidate who has applied for roles 1 to 200.
async fn candidate_with_200_applications(api: &TestApi) -> u64 {
    api.write_open_roles(1..=MAX_APPLICATIONS + 1).await;
    let jane = jane(api).await;
    api.write_applications(jane, 1..=MAX_APPLICATIONS).await;
    jane
}

/// Returns the applications of a role in a stage, as the list of candidates and the list of applications show them.
async fn listed(api: &TestApi, role: u64, stage: &str) -> (Vec<u64>, Vec<u64>) {
    let candidates = api.get(&format!("{CANDIDATES}?role_id={role}&stage={stage}")).await.expect(200);
    let applications =
        api.get(&format!("/api/v1/applications?role_id={role}&stage={stage}")).await.expect(200);
    let ids = |page: &Response, pointer: &str| {
        let items = page.body["data"].as_array().unwrap().iter();
        items.map(|item| item.pointer(pointer).and_then(Value::as_u64).unwrap()).collect()
    };
    (ids(&candidates, "/application/id"), ids(&applications, "/id"))
}

async fn tasks(api: &TestApi) -> Vec<Task> {
    let end = "2030-01-01T00:00:00Z".parse().unwrap();
    api.due_tasks(end).await
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
async fn a_candidate_with_200_applications_is_moved_in_one_role_with_3_calls() {
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

    for (action, body) in [("advance", json!({ "stage": "offer" })), ("reject", json!({}))] {
        let response = step(&api, jane, action, body).await.expect(422);
        let message =
            "role_id can't be blank, because the move would change 200 applications; the maximum is 10";
        assert_eq!((response.string("/code"), response.messages()), ("validation_failed", vec![message]));
    }
    for (role, action, body, stage) in [
        (7, "advance", json!({ "stage": "offer", "role_id": 7 }), "offer"),
        (7, "reject", json!({ "role_id": 7 }), "rejected"),
        (7, "unreject", json!({ "role_id": 7 }), "offer"),
        (7, "hire", json!({ "role_id": 7 }), "hired"),
        (7, "unhire", json!({}), "offer"),
        (7, "hire", json!({}), "hired"),
    ] {
        api.dynamodb.take_calls();
        let moved = step(&api, jane, action, body).await.expect(200);
        assert_eq!(api.dynamodb.take_calls().len(), 3, "{action}");
        assert_eq!(moved.body["applications"].as_array().unwrap().len(), 1);
        assert_eq!(moved.number("/applications/0/role_id"), role);
        let application = moved.number("/applications/0/id");
        assert_eq!(listed(&api, role, stage).await, (vec![application], vec![application]), "{action}");
    }
    assert_eq!(listed(&api, 8, "applied").await.0.len(), 1);
    assert_eq!(tasks(&api).await, []);
}

#[tokio::test]
async fn one_move_changes_up_to_10_applications_with_3_calls() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=10).await;
    let jane = jane(&api).await;
    for role in 1..=10 {
        apply(&api, jane, role).await.expect(201);
    }
    for (action, body, stage) in [
        ("advance", json!({ "stage": "offer" }), "offer"),
        ("reject", json!({}), "rejected"),
        ("unreject", json!({}), "offer"),
    ] {
        let path = format!("{CANDIDATES}/{jane}/{action}");
        let request = api.request(Method::POST, &path).header("idempotency-key", &format!("k{action}"));
        api.dynamodb.take_calls();
        let moved = request.json(&body).send().await.expect(200);
        assert_eq!(api.dynamodb.take_calls().len(), 3, "{action}");
        let roles = moved.body["applications"].as_array().unwrap().iter();
        let roles: Vec<_> = roles.map(|application| application["role_id"].as_u64().unwrap()).collect();
        assert_eq!(roles, (1..=10).rev().collect::<Vec<_>>());
        for role in 1..=10 {
            assert_eq!(listed(&api, role, stage).await.0.len(), 1, "{action} {role}");
        }
    }
}

/// Closes and reopens a role with 150 applications, and lets the job fail in between.
#[tokio::test]
async fn a_task_closes_and_reopens_the_applications_of_a_role() {
    const APPLICANTS: u64 = 150;
    let api = TestApi::new().await;
    api.write_open_roles(1..=1).await;
    let mut applicants = Vec::new();
    for number in 0..APPLICANTS {
        let jane = json!({ "name": "Jane", "email": format!("jane{number}@example.com"), "role_id": 1 });
        applicants.push(api.post(CANDIDATES, jane).await.expect(201).number("/id"));
    }
    let count = async |query: &str| {
        let mut path = format!("/api/v1/applications?limit=100&{query}");
        let mut count = 0;
        loop {
            api.dynamodb.take_calls();
            let page = api.get(&path).await.expect(200);
            assert!(api.dynamodb.take_calls().len() <= 4);
            count += page.body["data"].as_array().unwrap().len() as u64;
            let Some(cursor) = page.body["next_cursor"].as_str() else { return count };
            path = format!("/api/v1/applications?limit=100&{query}&cursor={cursor}");
        }
    };
    let now = async || api.get("/api/v1/roles/1/stats").await.expect(200).number("/stages/applied/now");
    assert_eq!((count("role_id=1&status=active").await, now().await), (APPLICANTS, APPLICANTS));
    let first = format!("{CANDIDATES}/{}", applicants[0]);
    for (method, path, status, other) in [
        (Method::DELETE, "/api/v1/roles/1", "closed", "active"),
        (Method::POST, "/api/v1/roles/1/reopen", "active", "closed"),
    ] {
        api.dynamodb.take_calls();
        api.request(method, path).send().await.expect(200);
        assert!(api.dynamodb.take_calls().len() <= 3, "{path}");
        let page = api.get(&first).await.expect(200);
        assert_eq!(page.string("/applications/0/status"), status, "the candidate shows it immediately");
        assert_eq!(now().await, if status == "closed" { 0 } else { APPLICANTS });
        assert_eq!(tasks(&api).await.len(), 1);
        for succeeding in [0, 1, 5] {
            fail_after(&api, succeeding);
            tasks::run(api.environment.clone()).await.expect_err("the job fails");
            api.dynamodb.inject_faults(|_, _| None);
            assert_eq!(tasks(&api).await.len(), 1, "{succeeding}");
        }
        api.run_tasks().await;
        assert_eq!(tasks(&api).await, []);
        assert_eq!(count(&format!("role_id=1&status={status}")).await, APPLICANTS);
        assert_eq!(count(&format!("status={status}")).await, APPLICANTS);
        assert_eq!(count(&format!("role_id=1&status={other}")).await, 0);
        assert_eq!(count("role_id=1&stage=applied").await, APPLICANTS, "the stage stays the same");
        let kind = if status == "closed" { "application_closed" } else { "application_reopened" };
        let page = api.get(&first).await.expect(200);
        assert_eq!(
            (page.string("/touchpoints/0/kind"), page.string("/touchpoints/0/actor/type")),
            (kind, "system")
        );
    }
}

/// Every move of a closed application names the action that makes it possible, before and after the task has run.
#[tokio::test]
async fn an_application_of_a_closed_role_cannot_move() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=2).await;
    let jane = jane(&api).await;
    apply(&api, jane, 1).await.expect(201);
    api.delete("/api/v1/roles/1").await.expect(200);
    for _ in 0..2 {
        for (action, body) in [
            ("advance", json!({ "stage": "offer" })),
            ("advance", json!({ "stage": "offer", "role_id": 1 })),
            ("reject", json!({})),
            ("hire", json!({ "role_id": 1 })),
        ] {
            let response = step(&api, jane, action, body).await.expect(422);
            assert_eq!(response.string("/code"), "invalid_transition");
            assert_eq!(
                response.messages(),
                ["the role 1 is closed; reopen it first with POST /api/v1/roles/1/reopen"]
            );
        }
        api.run_tasks().await;
    }
    apply(&api, jane, 2).await.expect(201);
    let moved = step(&api, jane, "advance", json!({ "stage": "interview" })).await.expect(200);
    assert_eq!((moved.string("/stage"), moved.number("/applications/0/role_id")), ("interview", 2));
    api.post("/api/v1/roles/1/reopen", json!({})).await.expect(200);
    let moved = step(&api, jane, "advance", json!({ "stage": "screening", "role_id": 1 })).await.expect(200);
    assert_eq!(moved.string("/applications/0/status"), "active");
    api.run_tasks().await;
    assert_eq!(tasks(&api).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_moves_in_two_roles_leave_correct_lists() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=2).await;
    let jane = jane(&api).await;
    for role in [1, 2] {
        apply(&api, jane, role).await.expect(201);
    }
    let path = format!("{CANDIDATES}/{jane}");
    for round in 1..=5 {
        let name = format!("Jane {round}");
        let bodies: Vec<_> = ["screening", "interview", "offer", "applied"]
            .into_iter()
            .flat_map(|stage| [1, 2].map(|role| json!({ "stage": stage, "role_id": role })))
            .collect();
        let moves = bodies.iter().map(|body| step(&api, jane, "advance", body.clone()));
        let (moves, patched) =
            futures_util::future::join(join_all(moves), api.patch(&path, json!({ "name": name }))).await;
        assert!(moves.iter().all(|response| [200, 422].contains(&response.status)));
        patched.expect(200);
        let page = api.get(&path).await.expect(200);
        for index in 0..2 {
            let role = page.number(&format!("/applications/{index}/role_id"));
            let stage = page.string(&format!("/applications/{index}/stage")).to_owned();
            for other in ["applied", "screening", "interview", "offer"] {
                assert_eq!(listed(&api, role, other).await.0.len(), usize::from(other == stage));
            }
        }
    }
}

/// Returns the capacity units of a page, and the page. Asserts that the page returns every item that it reads.
async fn cost(api: &TestApi, path: &str) -> (f64, Response) {
    api.dynamodb.take_calls();
    let page = api.get(path).await.expect(200);
    let calls = api.dynamodb.take_calls();
    let returned = page.body["data"].as_array().unwrap().len();
    assert!(calls.len() <= 4, "{path}: {} calls", calls.len());
    for call in &calls {
        let read = match call.operation.as_str() {
            // The gate, and what a list of a role shows of the role.
            "UpdateItem" | "GetItem" => continue,
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
        let name = Name::parse(&format!("Candidate {number:05}")).unwrap().unwrap();
        let email = format!("candidate{number:05}@example.com").parse().unwrap();
        let resume = Resume::Address(format!("https://example.com/{number:05}").parse().unwrap());
        let phone = Some("+14155552671".parse().unwrap());
        let profile = Profile { phone, resume: Some(resume), ..Profile::new(name, email) };
        let record = CandidateRecord::new(id(1_000_000_000_000_000 + number), profile, now);
        match STAGES[usize::try_from(number % 5).unwrap()] {
            Stage::Applied => record,
            Stage::Rejected => {
                record
                    .make(&Move::Reject { cause: Cause::by(EndedBy::Team), notes: None }, None, now)
                    .unwrap()
                    .record
            }
            stage => record.make(&Move::Advance(stage), None, now).unwrap().record,
        }
    };
    let role = api.store().find_role(tenant(ACME, Mode::Live), id(1)).await.unwrap().unwrap();
    // Only one candidate per transaction may apply, because every application updates the role's counter.
    let insert = async |number: u64| {
        let number = number / 5 * 10 + number % 5;
        let application = id(2_000_000_000_000_000 + number);
        let person = candidate(number);
        let stage = person.candidate.stage;
        let mut applied = person.apply(application, &role, Source::API, now).unwrap();
        if stage != Stage::Applied {
            let step = match stage {
                Stage::Rejected => Move::Reject { cause: Cause::by(EndedBy::Team), notes: None },
                stage => Move::Advance(stage),
            };
            applied = applied.make(&step, None, now).unwrap().record;
        }
        let mut transaction = transaction();
        for record in [applied, candidate(number + 5)] {
            transaction.insert_candidate(record, &[]).unwrap();
        }
        api.store().commit(transaction).await.unwrap();
    };
    stream::iter(from / 2..to / 2).for_each_concurrent(8, insert).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_page_costs_the_same_with_ten_and_a_thousand_candidates() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=1).await;
    let count = 1_000 * pages_scale();
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
