//! What candidates cost, however many there are and however much they apply, and that their lists keep up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{
    CandidateFile, Mode, Name, Profile, Resume, Role, RoleContent, RoleStatus, SalaryRange, Source, Stage,
    Text,
};
use shared::store::{Task, Writes};
use tests::wire::{Fault, Recorded};
use tests::{ACME, Answer, World, tenant};

const CANDIDATES: &str = "/api/v1/candidates";
/// The most applications of one candidate.
const MOST: u64 = 200;

fn id(number: u64) -> Id {
    Id::new(number).unwrap()
}

fn writes() -> Writes {
    Writes::new(tenant(ACME, Mode::Live))
}

/// Open roles with the numbers from 1 to `count`.
async fn write_roles(world: &World, count: u64) {
    let now = world.environment.clock.now();
    let role = |number| {
        let content = RoleContent {
            title: Text::parse("Engineer").unwrap().unwrap(),
            department: None,
            description: None,
            location: None,
            remote_policy: None,
            salary: SalaryRange::default(),
        };
        Role::draft(id(number), content, now).publish(now).unwrap()
    };
    world.write_roles(&(1..=count).map(role).collect::<Vec<_>>()).await;
}

async fn jane(world: &World) -> u64 {
    let jane = json!({ "name": "Jane", "email": "jane@example.com" });
    world.post(CANDIDATES, jane).await.expect(201).number("/id")
}

async fn step(world: &World, candidate: u64, action: &str, body: Value) -> Answer {
    world.post(&format!("{CANDIDATES}/{candidate}/{action}"), body).await
}

async fn apply(world: &World, candidate: u64, role: u64) -> Answer {
    step(world, candidate, "applications", json!({ "role_id": role })).await
}

async fn advance(world: &World, candidate: u64, stage: &str) {
    step(world, candidate, "advance", json!({ "stage": stage })).await.expect(200);
}

/// A candidate who has applied for all of the roles from 1 to 200.
async fn busy_candidate(world: &World) -> u64 {
    write_roles(world, MOST + 1).await;
    let jane = jane(world).await;
    for role in 1..=MOST {
        apply(world, jane, role).await.expect(201);
    }
    jane
}

/// Those of the roles from 1 to `count` in whose lists of `stage` there is nobody.
async fn missing(world: &World, stage: &str, count: u64) -> Vec<u64> {
    let lacks = async |role: u64| {
        let page = world.get(&format!("{CANDIDATES}?role_id={role}&stage={stage}")).await.expect(200);
        (page.body["data"] == json!([])).then_some(role)
    };
    stream::iter(1..=count).map(lacks).buffered(4).filter_map(async |role| role).collect().await
}

/// In every role's lists, the candidate must be in the one of this stage, and in no other.
async fn assert_listed(world: &World, stage: &str, before: &[&str]) {
    assert_eq!(missing(world, stage, MOST).await, [] as [u64; 0], "{stage}");
    let all: Vec<_> = (1..=MOST).collect();
    for other in before {
        assert_eq!(missing(world, other, MOST).await, all, "not {stage} but {other}");
    }
}

async fn tasks(world: &World) -> Vec<Task> {
    let end = "2030-01-01T00:00:00Z".parse().unwrap();
    world.store().list_due_tasks(end, 100, None).await.unwrap().items
}

/// From now on, only this many transactions come to pass.
fn die_after(world: &World, transactions: usize) {
    let seen = Arc::new(AtomicUsize::new(0));
    world.wire.play(move |operation, _| {
        let dead = operation == "TransactWriteItems" && seen.fetch_add(1, Ordering::SeqCst) >= transactions;
        dead.then_some(Fault::Unreachable)
    });
}

#[tokio::test]
async fn a_candidate_with_the_most_applications_moves_with_all_of_them() {
    let world = World::new().await;
    let jane = busy_candidate(&world).await;
    let refused = apply(&world, jane, MOST + 1).await.expect(422);
    assert_eq!(
        refused.messages(),
        ["role_id can't be applied for: the candidate has 200 applications, the most there can be"]
    );
    world.wire.take();
    let page = world.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    assert!(world.wire.take().len() <= 4);
    let roles: Vec<_> =
        page.body["applications"].as_array().unwrap().iter().map(|a| a["role_id"].as_u64()).collect();
    assert_eq!(roles, (1..=MOST).rev().map(Some).collect::<Vec<_>>());
    assert_eq!(page.body["touchpoints"].as_array().unwrap().len(), 201);
    assert_listed(&world, "applied", &[]).await;

    let mut before = "applied";
    for (action, body, stage) in [
        ("advance", json!({ "stage": "offer" }), "offer"),
        ("reject", json!({}), "rejected"),
        ("unreject", json!({}), "offer"),
        ("hire", json!({}), "hired"),
    ] {
        world.wire.take();
        step(&world, jane, action, body).await.expect(200);
        assert_eq!(world.wire.take().len(), 3, "{action}");
        world.run_tasks().await;
        assert_listed(&world, stage, &[before]).await;
        before = stage;
    }
    assert_eq!(tasks(&world).await, [], "nothing is left to be done");
    let page = world.get(&format!("{CANDIDATES}/{jane}")).await.expect(200);
    assert!(page.body["applications"].as_array().unwrap().iter().all(|a| a["status"] == "hired"));
}

#[tokio::test]
async fn up_to_ninety_applications_move_in_one_transaction() {
    let world = World::new().await;
    write_roles(&world, 90).await;
    let jane = jane(&world).await;
    for count in 1..=90 {
        apply(&world, jane, count).await.expect(201);
        let stage = if count % 2 == 0 { "applied" } else { "interview" };
        let path = format!("{CANDIDATES}/{jane}/advance");
        let ask = world.request(Method::POST, &path).header("idempotency-key", &format!("k{count}"));
        world.wire.take();
        ask.json(&json!({ "stage": stage })).send().await.expect(200);
        let made = world.wire.take();
        assert!(made.len() <= 3, "{count}: {}", made.len());
        if count % 30 == 0 {
            assert_eq!(missing(&world, stage, count).await, [] as [u64; 0]);
        }
    }
    assert_eq!(tasks(&world).await, []);
}

/// A move is made or not made; what its transaction has no room for is a task, which survives a job that dies.
#[tokio::test]
async fn lists_are_brought_up_to_date_by_a_task() {
    let world = World::new().await;
    let jane = busy_candidate(&world).await;
    let path = format!("{CANDIDATES}/{jane}");
    let mut before = "applied";
    for (survived, stage) in [(0, "screening"), (1, "interview"), (2, "offer")] {
        let kinds = world.get(&path).await.expect(200).body["touchpoints"].as_array().unwrap().len();
        advance(&world, jane, stage).await;
        let page = world.get(&path).await.expect(200);
        assert_eq!(page.string("/stage"), stage);
        assert_eq!(page.body["touchpoints"][0]["detail"], json!({ "from": before, "to": stage }));
        assert_eq!(page.body["touchpoints"].as_array().unwrap().len(), kinds + 1);
        let listed = world.get(&format!("{CANDIDATES}?stage={stage}")).await.expect(200);
        assert_eq!(listed.body["data"][0]["id"], jane, "the list of all candidates is right at once");
        let behind = missing(&world, stage, MOST).await.len();
        assert!(0 < behind && behind as u64 * 5 < MOST * 3, "{behind}");
        assert_eq!(tasks(&world).await.len(), 1);

        die_after(&world, survived);
        tasks::run(world.environment.clone()).await.expect_err("the job cannot finish");
        world.wire.play(|_, _| None);
        assert_eq!(tasks(&world).await.len(), 1, "{survived}");
        world.run_tasks().await;
        assert_listed(&world, stage, &[before]).await;
        assert_eq!(tasks(&world).await, []);
        before = stage;
    }
    die_after(&world, 0);
    assert_eq!(step(&world, jane, "reject", json!({})).await.status, 503);
    world.wire.play(|_, _| None);
    assert_eq!(world.get(&path).await.expect(200).string("/stage"), before, "not made at all");
    assert_eq!(tasks(&world).await, []);
}

/// Two moves, the first of which was left halfway; a job that dies, too; and what is written in between.
#[tokio::test]
async fn the_last_of_several_interrupted_moves_is_what_lists_show() {
    let world = World::new().await;
    let jane = busy_candidate(&world).await;
    for stage in ["screening", "offer"] {
        die_after(&world, 1);
        advance(&world, jane, stage).await;
        world.hands.set("2026-11-20T09:30:20Z");
    }
    world.wire.play(|_, _| None);
    world.patch(&format!("{CANDIDATES}/{jane}"), json!({ "name": "Janet" })).await.expect(200);
    assert_eq!(tasks(&world).await.len(), 2);
    world.hands.set("2026-11-20T09:32:00Z");
    die_after(&world, 1);
    tasks::run(world.environment.clone()).await.expect_err("the job cannot finish");
    world.wire.play(|_, _| None);
    world.run_tasks().await;
    assert_listed(&world, "offer", &["applied", "screening"]).await;
    assert_eq!(tasks(&world).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn moves_at_once_of_a_candidate_with_the_most_applications_leave_right_lists() {
    let world = World::new().await;
    let jane = busy_candidate(&world).await;
    for round in 1..=5 {
        let (path, name) = (format!("{CANDIDATES}/{jane}"), format!("Jane {round}"));
        let moves =
            ["screening", "interview", "offer", "applied"].map(|stage| (stage, json!({ "stage": stage })));
        let moves = moves.iter().map(|(_, body)| step(&world, jane, "advance", body.clone()));
        let (moved, patched) =
            futures_util::future::join(join_all(moves), world.patch(&path, json!({ "name": name }))).await;
        assert!(moved.iter().all(|answer| [200, 422].contains(&answer.status)));
        patched.expect(200);
        world.hands.set(&format!("2026-11-20T09:{}:00Z", 30 + 2 * round));
        world.run_tasks().await;
        let stage = world.get(&path).await.expect(200).string("/stage").to_owned();
        let others: Vec<_> = ["applied", "screening", "interview", "offer"]
            .into_iter()
            .filter(|other| *other != stage)
            .collect();
        assert_listed(&world, &stage, &others).await;
        assert_eq!(tasks(&world).await, []);
    }
}

/// A page: its capacity units, and itself. What is read for it is shown, and nothing else.
async fn cost(world: &World, path: &str) -> (f64, Answer) {
    world.wire.take();
    let page = world.get(path).await.expect(200);
    let calls = world.wire.take();
    let shown = page.body["data"].as_array().unwrap().len();
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
        assert_eq!(read, Some(shown), "{path}: {}", call.operation);
        assert!(call.request.get("FilterExpression").is_none());
    }
    (calls.iter().skip(1).map(Recorded::units).sum(), page)
}

/// Candidates `from` to `to` in five stages, every second run of five with an application for role 1.
async fn write_candidates(world: &World, from: u64, to: u64) {
    const STAGES: [Stage; 5] =
        [Stage::Applied, Stage::Screening, Stage::Interview, Stage::Offer, Stage::Rejected];
    let now = world.environment.clock.now();
    let candidate = |number: u64| {
        let profile = Profile {
            name: Name::parse(&format!("Candidate {number:05}")).unwrap().unwrap(),
            email: format!("candidate{number:05}@example.com").parse().unwrap(),
            phone: Some("+14155552671".parse().unwrap()),
            resume: Some(Resume::Address(format!("https://example.com/{number:05}").parse().unwrap())),
        };
        let file = CandidateFile::new(id(1_000_000_000_000_000 + number), profile, now);
        match STAGES[usize::try_from(number % 5).unwrap()] {
            Stage::Applied => file,
            Stage::Rejected => file.reject(now).unwrap(),
            stage => file.advance(stage, now).unwrap(),
        }
    };
    // Of the candidates of a transaction, only one may apply: they count on one item.
    let insert = async |number: u64| {
        let number = number / 5 * 10 + number % 5;
        let application = id(2_000_000_000_000_000 + number);
        let applied =
            candidate(number).apply(application, id(1), RoleStatus::Open, Source::Api, now).unwrap();
        let mut writes = writes();
        writes.insert_application(&applied.candidate, &applied.applications[0]).unwrap();
        for file in [applied, candidate(number + 5)] {
            writes.insert_candidate(&file).unwrap();
        }
        world.store().commit(writes).await.unwrap();
    };
    stream::iter(from / 2..to / 2).for_each_concurrent(8, insert).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_page_costs_the_same_of_ten_candidates_as_of_ten_thousand_first_or_last() {
    let world = World::new().await;
    write_roles(&world, 1).await;
    let count = 10_000;
    let lists = [
        ("", count),
        ("&stage=offer", count / 5),
        ("&role_id=1", count / 2),
        ("&role_id=1&stage=offer", count / 10),
    ];
    write_candidates(&world, 0, 10).await;
    let mut of_ten = Vec::new();
    for (filter, _) in lists {
        of_ten.push(cost(&world, &format!("{CANDIDATES}?limit=1{filter}")).await.0);
    }
    write_candidates(&world, 10, count).await;
    for ((filter, _), of_ten) in lists.into_iter().zip(of_ten) {
        let (of_many, _) = cost(&world, &format!("{CANDIDATES}?limit=1{filter}")).await;
        assert!((of_many - of_ten).abs() < f64::EPSILON && of_ten > 0.0, "{filter}: {of_ten} {of_many}");
    }
    for (filter, expected) in lists {
        let mut path = format!("{CANDIDATES}?limit=100{filter}");
        let (mut seen, mut first) = (0, None);
        loop {
            let (units, page) = cost(&world, &path).await;
            let shown = page.body["data"].as_array().unwrap().len();
            seen += shown;
            if shown > 0 {
                let first = *first.get_or_insert(units);
                assert!(shown == 100 && (units - first).abs() <= 0.5, "{path}: {shown}, {first} and {units}");
            }
            let Some(cursor) = page.body["next_cursor"].as_str() else { break };
            path = format!("{CANDIDATES}?limit=100{filter}&cursor={cursor}");
        }
        assert_eq!(seen as u64, expected, "{filter}");
    }
    assert_eq!(world.get("/api/v1/roles/1/stats").await.expect(200).number("/applicants"), count / 2);
}
