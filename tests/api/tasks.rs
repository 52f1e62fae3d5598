//! Background tasks: their partitions, the shares of tenants, and items that are no tasks.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{Mode, TaskKind, Tenant};
use shared::store::{Paging, TaskPartition};
use tests::engine::client;
use tests::{ACME, TestApi, tenant};

use crate::finding_cost::{COUNT, scale};

/// The time of the test API.
const NOW: i64 = 1_795_167_000;

/// The item of a task that has nothing to do: it revokes a key that does not exist.
fn item(tenant: Tenant, id: u64, due: i64) -> Value {
    let (organization, mode) = (tenant.organization.get(), tenant.mode.as_str());
    json!({
        "pk": format!("TASK#{:02}#{}", group(tenant), id % 4),
        "sk": format!("{:012}#{tenant}#{:015}#key_end#{id:016}", due / 3_600 * 3_600, due * 1_000),
        "organization": organization, "mode": mode, "kind": "key_end", "id": id,
        "due": Timestamp::from_second(due).unwrap().to_string(), "form": 1,
    })
}

fn group(tenant: Tenant) -> u8 {
    Sha256::digest(tenant.to_string())[0] % 64
}

/// Another organization whose tasks are in the same partitions.
fn neighbour(of: Tenant) -> Tenant {
    let tenant = |id| Tenant { organization: Id::new(id).unwrap(), mode: Mode::Live };
    (1_000..10_000).map(tenant).find(|other| group(*other) == group(of)).unwrap()
}

async fn write(api: &TestApi, items: impl IntoIterator<Item = Value>) {
    let client = Client::from_conf(client(api.dynamodb.client()).await.build());
    let table = &api.environment.config.table;
    let requests: Vec<_> = items
        .into_iter()
        .map(|item| {
            let put =
                PutRequest::builder().set_item(Some(serde_dynamo::to_item(item).unwrap())).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        })
        .collect();
    for batch in requests.chunks(25) {
        client.batch_write_item().request_items(table, batch.to_vec()).send().await.unwrap();
    }
}

/// The number of tasks of a tenant in its partitions, due or not.
async fn left(api: &TestApi, tenant: Tenant) -> usize {
    let is_task = |pk: &str, sk: &str| pk.starts_with("TASK#") && sk.contains(&format!("#{tenant}#"));
    api.stored_items().await.keys().filter(|(pk, sk)| is_task(pk, sk)).count()
}

/// Writes an item in the place of a task that the job does not know, due at once.
async fn write_poison(api: &TestApi) {
    let mut poison = item(tenant(ACME, Mode::Live), 4, NOW);
    poison["kind"] = json!("email");
    write(api, [poison]).await;
}

/// `FINDING_SCALE=40` makes it a burst of 100,000.
#[tokio::test]
async fn a_burst_of_one_tenant_delays_no_other_tenants_tasks() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    let other = neighbour(acme);
    let burst = 2 * COUNT * scale();
    // All in one partition. The burst is older than the ten, and due in two hours.
    write(&api, (1..=burst).map(|number| item(acme, number * 4, NOW - 3_600 - number.cast_signed() % 3_600)))
        .await;
    write(&api, (1..=10).map(|number| item(other, number * 4, NOW - number.cast_signed()))).await;
    api.dynamodb.take_calls();
    let summary = api.run_tasks().await;
    assert_eq!(left(&api, other).await, 0, "the ten are done in the first run");
    let burst = usize::try_from(burst).unwrap();
    let done = burst - left(&api, acme).await;
    assert_eq!((summary.tasks, summary.failed), (done + 10, 0));
    assert_eq!(done, 25 + 50 + 100 + 200 + 400 + 800, "a run has six shares of the burst");
    assert_eq!(summary.oldest, 3_600 + burst.min(3_599) as u64);
}

#[tokio::test]
async fn each_tenants_oldest_tasks_are_done_first() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    write(&api, (1..=60).map(|number| item(acme, number * 4, NOW - number.cast_signed() * 100))).await;
    write(&api, [item(acme, 400, NOW + 1), item(acme, 404, NOW + 7_200)]).await;
    let partition = TaskPartition::parse(&format!("TASK#{:02}#0", group(acme))).unwrap();
    let now = api.environment.clock.now();
    let due = api.store().list_due_tasks(partition, now, 10).await.unwrap();
    assert_eq!(due.tasks.len(), 10);
    assert!(due.has_more && due.tasks.is_sorted_by_key(|task| task.due));
    assert_eq!(due.tasks[0].id.get(), 240);
    let due = api.store().list_due_tasks(partition, now, 100).await.unwrap();
    assert_eq!((due.tasks.len(), due.has_more), (60, false), "later tasks are not due");
    assert_eq!(api.run_tasks().await.tasks, 60);
    assert_eq!(left(&api, acme).await, 2);
}

#[tokio::test]
async fn an_event_of_the_stream_is_for_the_partitions_that_it_names() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    write(&api, (1..=8).map(|number| item(acme, number, NOW))).await;
    let record = |part| json!({ "dynamodb": { "Keys": { "pk": { "S": format!("TASK#{:02}#{part}", group(acme)) } } } });
    api.dynamodb.take_calls();
    let event = json!({ "Records": [record(1), record(2), record(1), { "dynamodb": {} }] });
    let summary = tasks::answer(event, api.environment.clone()).await.unwrap();
    assert_eq!(summary.tasks, 4);
    let queries = api.dynamodb.take_calls().iter().filter(|call| call.operation == "Query").count();
    assert_eq!(queries, 2);
    let summary =
        tasks::answer(json!({ "detail-type": "Scheduled Event" }), api.environment.clone()).await.unwrap();
    assert_eq!(summary.tasks, 4);
}

/// A minute without tasks reads every partition once.
#[tokio::test]
async fn an_idle_minute_makes_256_small_reads() {
    let api = TestApi::new().await;
    api.dynamodb.take_calls();
    assert_eq!(api.run_all_tasks().await, tasks::Summary::default());
    let calls = api.dynamodb.take_calls();
    assert!(calls.iter().all(|call| call.operation == "Query"));
    let units: f64 = calls.iter().map(tests::interceptor::RecordedCall::units).sum();
    assert_eq!(calls.len(), 256);
    // DynamoDB Local counts nothing for a query without items.
    if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none() {
        assert!((units - 256.0).abs() < f64::EPSILON, "{units}");
    }
}

/// A newer release may have written kinds of tasks that this one does not know. They wait in quarantine until an operator
/// moves them back.
#[tokio::test]
async fn what_is_no_task_is_set_aside_and_the_others_are_done() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    let change = |id, name: &str, value: Value| {
        let mut item = item(acme, id, NOW);
        item[name] = value;
        item
    };
    let mut missing = item(acme, 16, NOW);
    missing.as_object_mut().unwrap().remove("due");
    let poison = [
        change(4, "kind", json!("email")),
        change(8, "form", json!(2)),
        change(12, "organization", json!("one")),
        missing,
    ];
    write(&api, poison.clone()).await;
    write(&api, [item(acme, 20, NOW), item(neighbour(acme), 24, NOW)]).await;
    let summary = api.run_tasks().await;
    assert_eq!((summary.tasks, summary.failed, summary.quarantined), (2, 0, 4));
    let stored = api.stored_items().await;
    for item in &poison {
        let (pk, sk) = (item["pk"].as_str().unwrap().to_owned(), item["sk"].as_str().unwrap().to_owned());
        assert!(!stored.contains_key(&(pk.clone(), sk.clone())));
        let (moved, whole) = api.store().find_quarantined(pk.clone(), sk.clone()).await.unwrap().unwrap();
        assert_eq!((moved.old_pk, moved.old_sk), (pk, sk));
        assert_eq!(whole, *item, "the whole item is kept");
    }
    let page = Paging { limit: 100, before: None };
    for of in [None, Some(acme)] {
        assert_eq!(api.store().list_quarantined(of, &page).await.unwrap().items.len(), 4, "{of:?}");
    }
    assert_eq!(api.store().list_quarantined(Some(neighbour(acme)), &page).await.unwrap().items.len(), 0);
    assert_eq!(api.run_tasks().await, tasks::Summary::default(), "no later run reads them");
}

/// Two runs may set the same item aside.
#[tokio::test]
async fn an_item_is_set_aside_once() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    write_poison(&api).await;
    let partition = TaskPartition::parse(&format!("TASK#{:02}#0", group(acme))).unwrap();
    let now = api.environment.clock.now();
    let due = api.store().list_due_tasks(partition, now, 10).await.unwrap();
    let unreadable = &due.unreadable[0];
    assert!(unreadable.problem.contains("unknown variant `email`"), "{}", unreadable.problem);
    assert!(api.store().quarantine(unreadable, now).await.unwrap());
    assert!(!api.store().quarantine(unreadable, now).await.unwrap());
}

/// Throttled partitions do not stop the others.
#[tokio::test]
async fn a_partition_that_cannot_be_read_stops_no_other() {
    let api = TestApi::new().await;
    let acme = tenant(ACME, Mode::Live);
    write(&api, (1..=4).map(|number| item(acme, number, NOW))).await;
    let throttled = format!("TASK#{:02}#1", group(acme));
    api.dynamodb.inject_faults(move |operation, request| {
        let is_query =
            operation == "Query" && request["ExpressionAttributeValues"][":hash"]["S"] == throttled;
        is_query.then_some(tests::interceptor::Fault::Throttled)
    });
    tasks::run(api.environment.clone()).await.unwrap_err();
    api.dynamodb.inject_faults(|_, _| None);
    let left = api.due_tasks(api.environment.clock.now()).await;
    assert_eq!(
        left.iter().map(|task| (task.kind, task.id.get())).collect::<Vec<_>>(),
        [(TaskKind::KeyEnd, 1)]
    );
}
