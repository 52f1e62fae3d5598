//! People with several applications, of which all but the first are items beside the record: reads that other requests interrupt,
//! and what the number of applications costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{CandidateRecord, Mode, Move, Stage};
use shared::store::{MaybeErased, Store, StoreError, Transaction};
use tests::engine;
use tests::interceptor::{DynamoDbInterceptor, Order, RecordedCall};
use tests::{ACME, TestApi, tenant};

const CANDIDATES: &str = "/api/v1/candidates";

/// Somebody who has applied for the roles 1 to `count`.
async fn applicant(api: &TestApi, count: u64) -> u64 {
    let body = json!({ "name": "Jane", "email": format!("jane{count}@example.com"), "role_id": 1 });
    let id = api.post(CANDIDATES, body).await.expect(201).number("/id");
    if count > 1 {
        api.write_applications(id, 2..=count).await;
    }
    id
}

async fn find(store: &Store, candidate: u64) -> CandidateRecord {
    let found = store.find_candidate(tenant(ACME, Mode::Live), Id::new(candidate).unwrap()).await;
    found.unwrap().and_then(MaybeErased::present).unwrap()
}

/// A move of the application for the role, or of all.
async fn advance(store: &Store, candidate: u64, role: Option<u64>) {
    let before = find(store, candidate).await;
    let is_in = |stage: Stage| before.applications.iter().any(|one| one.stage == stage);
    let free = Stage::OPEN.into_iter().find(|stage| !is_in(*stage)).unwrap();
    let role = role.map(|role| Id::new(role).unwrap());
    let after = before.clone().make(&Move::Advance(free), role, before.candidate.updated_at).unwrap().record;
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.replace_candidate(&before, &after, &[]).unwrap();
    store.commit(transaction).await.unwrap();
}

/// Runs an action right before one of the next queries.
fn before_query(dynamodb: &DynamoDbInterceptor, number: usize, action: BoxFuture<'static, ()>) {
    let next = dynamodb.clone();
    dynamodb.run_before("Query", async move {
        match number.checked_sub(1) {
            None => action.await,
            Some(left) => before_query(&next, left, action),
        }
    });
}

/// Runs an action right before each of the next queries.
fn before_each_query(
    dynamodb: &DynamoDbInterceptor,
    action: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
) {
    let next = dynamodb.clone();
    dynamodb.run_before("Query", async move {
        action().await;
        before_each_query(&next, action);
    });
}

/// A query may return its items in several pages, between which others write. Whichever application moves between any two
/// items, in either order, the reader gets one version of the record with the applications of that version.
#[tokio::test]
async fn a_read_during_moves_sees_one_version() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=3).await;
    let jane = applicant(&api, 3).await;
    let others = engine::store(api.dynamodb.another().client(), &api.environment.config.table).await;
    let (mut repeated, mut reads) = (0, 0);
    // The three items, and the end, after which DynamoDB Local sometimes asks for no further page.
    let is_embedded = std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none();
    let pages = if is_embedded { 4 } else { 3 };
    for order in [Order::Descending, Order::Ascending] {
        api.dynamodb.cut_queries(order);
        for role in [None, Some(1), Some(2), Some(3)] {
            for query in 0..pages {
                let before = find(&others, jane).await;
                let store = others.clone();
                let action = Box::pin(async move { advance(&store, jane, role).await });
                before_query(&api.dynamodb, query, action);
                api.dynamodb.take_calls();
                let seen = find(api.store(), jane).await;
                let queries = api.dynamodb.take_calls().len();
                let after = find(&others, jane).await;
                assert_eq!(after.version, before.version + 1, "{order:?} {role:?} {query}");
                assert!(seen == before || seen == after, "{order:?} {role:?} {query}: {seen:?}");
                repeated += usize::from(queries > 4);
                reads += 1;
            }
        }
    }
    // A move of the first application alone changes only the record.
    // Of the others, those after the record and before an application that moves, or the other way round.
    assert!(!is_embedded || (repeated, reads) == (10, 32), "{repeated} of {reads}");
}

/// Whoever reads a person who changes all the time is told to try again.
#[tokio::test]
async fn a_person_who_changes_all_the_time_is_not_read_in_part() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=2).await;
    let jane = applicant(&api, 2).await;
    let path = format!("{CANDIDATES}/{jane}");
    let others = engine::store(api.dynamodb.another().client(), &api.environment.config.table).await;
    api.dynamodb.cut_queries(Order::Ascending);
    api.get(&path).await.expect(200);
    let action = Arc::new(move || {
        let store = others.clone();
        Box::pin(async move { advance(&store, jane, Some(2)).await }) as BoxFuture<'static, ()>
    });
    before_each_query(&api.dynamodb, action);
    let found = api.store().find_candidate(tenant(ACME, Mode::Live), Id::new(jane).unwrap()).await;
    assert!(matches!(found, Err(StoreError::Unavailable(_))), "{found:?}");
    api.get(&path).await.expect(503);
    api.dynamodb.run_before("Query", async {});
    api.get(&path).await.expect(200);
}

fn is_read(call: &RecordedCall) -> bool {
    ["GetItem", "BatchGetItem", "Query"].contains(&&*call.operation)
}

/// The units that a request reads and writes.
async fn units(api: &TestApi, method: Method, path: &str, body: &Value) -> (f64, f64) {
    api.dynamodb.take_calls();
    let request = api.request(method, path);
    let request = if body.is_null() { request } else { request.json(body) };
    let response = request.send().await;
    assert!(response.status < 300, "{path}: {}", response.text);
    let (reads, writes): (Vec<_>, Vec<_>) = api.dynamodb.take_calls().into_iter().partition(is_read);
    let sum = |calls: Vec<RecordedCall>| calls.iter().map(RecordedCall::units).sum();
    (sum(reads), sum(writes))
}

/// What a move writes does not grow with the number of applications: it is the same for somebody with two and with 200. Somebody
/// with one, whose record is a single item, takes two units less.
#[tokio::test]
async fn a_move_costs_the_same_however_many_applications_somebody_has() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=201).await;
    let mut costs = BTreeMap::new();
    for count in [1, 2, 60, 200] {
        let jane = applicant(&api, count).await;
        let path = format!("{CANDIDATES}/{jane}");
        let mut cost = Vec::new();
        for (action, body) in [
            ("advance", json!({ "stage": "interview", "role_id": count })),
            ("reject", json!({ "role_id": count, "reason": "Salary" })),
            ("unreject", json!({ "role_id": count })),
            ("notes", json!({ "text": "x" })),
        ] {
            cost.push(units(&api, Method::POST, &format!("{path}/{action}"), &body).await.1);
        }
        cost.push(units(&api, Method::PATCH, &path, &json!({ "source": "fair" })).await.1);
        let (read, _) = units(&api, Method::GET, &path, &Value::Null).await;
        println!("{count}: {cost:?}, and {read} read units for the candidate");
        costs.insert(count, (cost, read));
    }
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_some() {
        // DynamoDB Local counts the units of transactions differently.
        return;
    }
    let of = |count: u64| &costs[&count];
    assert_eq!((&of(2).0, &of(60).0), (&of(60).0, &of(200).0));
    // The end of the only application begins a retention period.
    let further: Vec<_> = of(2).0.iter().zip(&of(1).0).map(|(two, one)| two - one).collect();
    assert_eq!(further, [2.0, 0.0, 0.0, 0.0, 0.0], "the item of the application");
    assert!(of(1).1 <= 2.0 && of(60).1 <= 8.0 && of(200).1 <= 25.0, "{costs:?}");
}
