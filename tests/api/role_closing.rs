//! Closing and reopening roles with many applications: what is true at once, what follows, and what it costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{CandidateRecord, Cause, EndedBy, Mode, Move, Name, Profile, Source, Stage};
use shared::store::Transaction;
use tests::interceptor::RecordedCall;
use tests::{ACME, Response, TestApi, tenant};

use crate::budget::pages_scale;

const ROLE: &str = "/api/v1/roles/1";
/// The stages of the people who are written, in turn.
const STAGES: [Stage; 4] = [Stage::Applied, Stage::Applied, Stage::Interview, Stage::Rejected];

fn id(number: u64) -> Id {
    Id::new(number).unwrap()
}

fn person(number: u64) -> u64 {
    1_000_000_000_000_000 + number
}

/// Writes people who have applied for role 1, each with a telephone number and a source. Every fourth was rejected.
async fn write_applicants(api: &TestApi, count: u64) {
    let (now, tenant) = (api.environment.clock.now(), tenant(ACME, Mode::Live));
    let role = api.store().find_role(tenant, id(1)).await.unwrap().unwrap();
    let insert = async |number: u64| {
        let name = Name::parse(&format!("Candidate {number:05}")).unwrap().unwrap();
        let email = format!("candidate{number:05}@example.com").parse().unwrap();
        let (phone, source) = (Some("+14155552671".parse().unwrap()), Some(Source::API));
        let profile = Profile { phone, source, ..Profile::new(name, email) };
        let record = CandidateRecord::new(id(person(number)), profile, now);
        let mut record = record.apply(id(2 * person(number)), &role, Source::API, now).unwrap();
        let stage = STAGES[usize::try_from(number % 4).unwrap()];
        let step = match stage {
            Stage::Applied => None,
            Stage::Rejected => Some(Move::Reject { cause: Cause::by(EndedBy::Team), notes: None }),
            stage => Some(Move::Advance(stage)),
        };
        if let Some(step) = step {
            record = record.make(&step, None, now).unwrap().record;
        }
        let mut transaction = Transaction::new(tenant);
        transaction.insert_candidate(record, &[]).unwrap();
        api.store().commit(transaction).await.unwrap();
    };
    // All count in the item of the role.
    stream::iter(0..count).for_each_concurrent(1, insert).await;
}

async fn close(api: &TestApi) {
    api.delete(ROLE).await.expect(200);
}

async fn reopen(api: &TestApi) {
    api.post(&format!("{ROLE}/reopen"), json!({})).await.expect(200);
}

/// The number of items of all pages of a list.
async fn count(api: &TestApi, list: &str) -> u64 {
    let (mut count, mut path) = (0, format!("/api/v1/{list}&limit=100"));
    loop {
        let page = api.get(&path).await.expect(200);
        count += page.body["data"].as_array().unwrap().len() as u64;
        let Some(cursor) = page.body["next_cursor"].as_str() else { return count };
        path = format!("/api/v1/{list}&limit=100&cursor={cursor}");
    }
}

/// The numbers of active applications over all roles, by stage, as the overview shows them.
async fn active(api: &TestApi) -> [u64; 4] {
    let stats = api.store().find_hiring_stats(tenant(ACME, Mode::Live)).await.unwrap();
    Stage::OPEN.map(|stage| stats.of(stage).active)
}

fn is_read(call: &RecordedCall) -> bool {
    ["GetItem", "BatchGetItem", "Query"].contains(&&*call.operation)
}

/// The number of items that a call writes.
fn writes(call: &RecordedCall) -> usize {
    match call.operation.as_str() {
        "TransactWriteItems" => call.request["TransactItems"].as_array().unwrap().len(),
        _ => usize::from(!is_read(call)),
    }
}

/// Checks everything that is true as soon as the role is closed, or reopened.
async fn check_at_once(api: &TestApi, people: u64, is_closed: bool) {
    let open = people / 4 * 3;
    let (status, other) = if is_closed { ("closed", "active") } else { ("active", "closed") };
    let first = api.get(&format!("/api/v1/candidates/{}", person(0))).await.expect(200);
    assert_eq!(first.string("/applications/0/status"), status);
    let application = first.number("/applications/0/id");
    let shown = api.get(&format!("/api/v1/applications/{application}")).await.expect(200);
    assert_eq!(shown.string("/status"), status);
    assert_eq!(count(api, &format!("applications?role_id=1&status={status}")).await, open);
    assert_eq!(count(api, &format!("applications?role_id=1&status={other}")).await, 0);
    assert_eq!(count(api, "applications?role_id=1&status=rejected").await, people / 4);
    assert_eq!(count(api, "applications?role_id=1&stage=applied").await, people / 2);
    let of_each = |page: &Response, pointer: &str| {
        let items = page.body["data"].as_array().unwrap().iter();
        items.map(|item| item.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (path, pointer) in [
        ("/api/v1/candidates?role_id=1&stage=interview", "/application/status"),
        ("/api/v1/applications?role_id=1&stage=interview", "/status"),
        ("/api/v1/applications?stage=interview", "/status"),
    ] {
        let page = api.get(path).await.expect(200);
        assert!(of_each(&page, pointer).iter().all(|shown| shown == status), "{path}: {}", page.text);
    }
    let now = if is_closed { [0; 4] } else { [people / 2, 0, people / 4, 0] };
    let stats = api.get(&format!("{ROLE}/stats")).await.expect(200);
    let shown = Stage::OPEN.map(|stage| stats.number(&format!("/stages/{}/now", stage.as_str())));
    assert_eq!((shown, active(api).await), (now, now));
    let step = json!({ "stage": "offer", "role_id": 1 });
    let path = format!("/api/v1/candidates/{}/advance", person(0));
    if is_closed {
        let refused = api.post(&path, step).await.expect(422);
        let sentence = "the role 1 is closed; reopen it first with POST /api/v1/roles/1/reopen";
        assert_eq!(refused.messages(), [sentence]);
    }
}

/// Checks what follows later.
async fn check_later(api: &TestApi, people: u64, is_closed: bool) {
    let (status, other) = if is_closed { ("closed", "active") } else { ("active", "closed") };
    assert_eq!(count(api, &format!("applications?status={status}")).await, people / 4 * 3);
    assert_eq!(count(api, &format!("applications?status={other}")).await, 0);
    let left: Vec<_> = api.stored_items().await.into_keys().collect();
    assert!(!left.iter().any(|(pk, _)| pk.starts_with("TASK#") || pk.ends_with("#ROLE_CHANGE")));
}

/// The kinds of the touchpoints and of the events of each application that its role has caused, oldest first.
async fn history(api: &TestApi) -> BTreeMap<u64, (Vec<String>, Vec<String>)> {
    let mut all: BTreeMap<u64, (Vec<String>, Vec<String>)> = BTreeMap::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for ((pk, sk), item) in api.stored_items().await {
        if !sk.starts_with("HISTORY#") && !pk.ends_with("#EVENT") {
            continue;
        }
        let item: Value = serde_dynamo::from_item(item).unwrap();
        let id = |value: &Value| value.as_u64().unwrap() / 2;
        if sk.starts_with("HISTORY#") {
            for touchpoint in item["touchpoints"].as_array().unwrap() {
                let kind = text(&touchpoint["kind"]);
                if kind.starts_with("application_") {
                    all.entry(id(&touchpoint["detail"]["application_id"])).or_default().0.push(kind);
                }
            }
        } else if item["subject"]["type"] == "application" {
            all.entry(id(&item["subject"]["id"])).or_default().1.push(text(&item["type"]));
        }
    }
    all
}

/// `PAGES_SCALE=100` makes it 20,000 active applications.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_role_with_many_applications_is_closed_and_reopened_with_few_writes() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=1).await;
    let people = 264 * pages_scale();
    write_applicants(&api, people).await;
    check_at_once(&api, people, false).await;
    for is_closed in [true, false] {
        api.dynamodb.take_calls();
        if is_closed {
            close(&api).await;
        } else {
            reopen(&api).await;
        }
        let calls = api.dynamodb.take_calls();
        let written: usize = calls.iter().map(writes).sum();
        assert!(calls.len() <= 3 && written <= 20, "{} calls with {written} writes", calls.len());
        check_at_once(&api, people, is_closed).await;
        let (mut runs, mut units) = (0, 0.0);
        while !api.due_tasks(api.environment.clock.now()).await.is_empty() {
            api.dynamodb.take_calls();
            api.run_tasks().await;
            let calls = api.dynamodb.take_calls();
            let handled: usize = calls.iter().filter(|call| call.operation == "PutItem").count();
            assert!(handled <= 2_100, "a run takes a share");
            // Every run looks for the tasks of all tenants.
            let own = calls.iter().filter(|call| !call.request.to_string().contains("\"TASK#"));
            units += own.map(RecordedCall::units).sum::<f64>();
            runs += 1;
            check_at_once(&api, people, is_closed).await;
        }
        assert_eq!(runs, people.div_ceil(2_000));
        check_later(&api, people, is_closed).await;
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let each = units / people as f64;
        println!("{each} units for each application");
        if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none() {
            assert!(each <= 9.0, "{each} units for each application");
        }
    }
    let path = format!("/api/v1/candidates/{}/advance", person(0));
    api.post(&path, json!({ "stage": "offer" })).await.expect(200);
}

/// A run that is killed after any call is repeated, and nothing is done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_that_is_killed_after_any_call_is_repeated() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=1).await;
    write_applicants(&api, 4).await;
    let (mut is_closed, mut expected) = (false, Vec::new());
    for calls in 0.. {
        is_closed = !is_closed;
        if is_closed {
            close(&api).await;
        } else {
            reopen(&api).await;
        }
        expected.push(if is_closed { "closed" } else { "reopened" });
        let is_whole = api.run_tasks_with(calls).await;
        check_at_once(&api, 4, is_closed).await;
        api.run_tasks().await;
        // Late and twice.
        api.run_tasks().await;
        check_at_once(&api, 4, is_closed).await;
        check_later(&api, 4, is_closed).await;
        if is_whole {
            assert!(calls > 10, "{calls}");
            break;
        }
    }
    api.run_whole_feed().await;
    let history = history(&api).await;
    assert_eq!(history.len(), 3);
    for (touchpoints, events) in history.into_values() {
        let of = |prefix: &str| expected.iter().map(|kind| format!("{prefix}{kind}")).collect::<Vec<_>>();
        assert_eq!((touchpoints, events), (of("application_"), of("application.")));
    }
}

/// The records are read with eventual consistency, and one may be older than the list of the role's applications.
#[tokio::test]
async fn an_application_that_the_record_lacks_when_it_is_read_is_closed_too() {
    let api = Arc::new(TestApi::new().await);
    api.write_open_roles(1..=1).await;
    let jane = json!({ "name": "Jane Doe", "email": "jane@example.com" });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    let key = (format!("1#live#CANDIDATE#{jane:016}"), "~FILE".to_owned());
    let before = api.stored_items().await.remove(&key).unwrap();
    let path = format!("/api/v1/candidates/{jane}/applications");
    api.post(&path, json!({ "role_id": 1 })).await.expect(201);
    close(&api).await;
    let after = api.stored_items().await.remove(&key).unwrap();
    let (reads, reads_again) = (api.clone(), api.clone());
    api.dynamodb.run_before("BatchGetItem", async move {
        reads.write_items([before]).await;
        reads.dynamodb.run_before("Query", async move { reads_again.write_items([after]).await });
    });
    api.run_tasks().await;
    assert_eq!(count(&api, "applications?status=closed").await, 1);
    assert_eq!(count(&api, "applications?status=active").await, 0);
}

/// The tasks of a role that was closed, reopened and closed again while nobody ran them make one change of each application.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn quick_changes_of_a_role_are_followed_once() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=1).await;
    write_applicants(&api, 8).await;
    close(&api).await;
    reopen(&api).await;
    check_at_once(&api, 8, false).await;
    api.clock.set("2026-11-20T09:31:00Z");
    close(&api).await;
    assert!(api.due_tasks(api.environment.clock.now()).await.len() > 1);
    check_at_once(&api, 8, true).await;
    for _ in 0..2 {
        // Of two runs at the same time, one finishes, and the other one leaves its task to the next run.
        api.run_tasks().await;
        check_at_once(&api, 8, true).await;
    }
    check_later(&api, 8, true).await;
    api.run_whole_feed().await;
    for (touchpoints, events) in history(&api).await.into_values() {
        assert_eq!(
            (&*touchpoints, &*events),
            (&["application_closed".to_owned()][..], &["application.closed".to_owned()][..])
        );
    }
    // A role that is renamed changes no application.
    reopen(&api).await;
    api.run_tasks().await;
    let before = api.get(&format!("/api/v1/candidates/{}", person(0))).await.expect(200);
    api.patch(ROLE, json!({ "title": "Chef" })).await.expect(200);
    for _ in 0..2 {
        let after = api.get(&format!("/api/v1/candidates/{}", person(0))).await.expect(200);
        assert_eq!(after.string("/applications/0/role_title"), "Chef");
        for field in ["/updated_at", "/applications/0/updated_at"] {
            assert_eq!(after.string(field), before.string(field));
        }
        for list in ["role_id=1", "stage=applied", "status=active", "status=rejected"] {
            let page = api.get(&format!("/api/v1/applications?{list}")).await.expect(200);
            let items = page.body["data"].as_array().unwrap();
            assert!(
                !items.is_empty() && items.iter().all(|item| item["role_title"] == "Chef"),
                "{}",
                page.text
            );
        }
        api.run_tasks().await;
    }
}

/// What a move writes grows neither with the text of the role nor with what the role has besides.
#[tokio::test]
async fn a_move_costs_the_same_however_long_the_text_is() {
    let mut costs = Vec::new();
    for length in [0, 4_500, 20_000] {
        let api = TestApi::new().await;
        let role = json!({ "role": { "title": "Cook", "description": "d".repeat(length) } });
        let role = api.post("/api/v1/quick_post", role).await.expect(201).number("/role/id");
        let units = |calls: Vec<RecordedCall>| {
            calls.iter().filter(|call| !is_read(call)).map(RecordedCall::units).sum::<f64>()
        };
        let mut of_length = Vec::new();
        let person = json!({
            "name": "Ada Number", "email": "ada@example.com", "phone": "+4915112345612", "role_id": role,
            "source": "fair", "tags": ["a", "b"],
        });
        api.dynamodb.take_calls();
        let person = api.post("/api/v1/candidates", person).await.expect(201).number("/id");
        of_length.push(units(api.dynamodb.take_calls()));
        for (action, body) in
            [("advance", json!({ "stage": "interview" })), ("reject", json!({})), ("unreject", json!({}))]
        {
            let path = format!("/api/v1/candidates/{person}/{action}");
            api.request(Method::POST, &path).json(&body).send().await.expect(200);
            of_length.push(units(api.dynamodb.take_calls()));
        }
        println!("{length}: {of_length:?}");
        costs.push(of_length);
    }
    assert!(costs.windows(2).all(|pair| pair[0] == pair[1]), "{costs:?}");
}

/// The capacity units that a request reads, and those that it writes.
async fn cost(api: &TestApi, method: Method, path: &str, body: &Value) -> (f64, f64) {
    api.dynamodb.take_calls();
    let request = api.request(method, path);
    let request = if body.is_null() { request } else { request.json(body) };
    request.send().await.expect(200);
    let (reads, writes): (Vec<_>, Vec<_>) = api.dynamodb.take_calls().into_iter().partition(is_read);
    let sum = |calls: Vec<RecordedCall>| calls.iter().map(RecordedCall::units).sum();
    (sum(reads), sum(writes))
}

/// No list and no detail of applications reads a role.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lists_and_details_of_applications_read_no_role() {
    let api = TestApi::new().await;
    api.write_open_roles(1..=60).await;
    write_applicants(&api, 104).await;
    let jane = json!({ "name": "Jane", "email": "jane@example.com" });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    api.write_applications(jane, 1..=60).await;
    let of_jane = format!("/api/v1/candidates/{jane}");
    for (path, most) in [
        (&*of_jane, 8.0),
        (&*format!("/api/v1/applications?candidate_id={jane}"), 8.0),
        ("/api/v1/applications?role_id=1&stage=applied&limit=25", 16.0),
        ("/api/v1/applications?role_id=1&limit=25", 18.0),
        ("/api/v1/applications?status=active&limit=25", 16.0),
        ("/api/v1/applications?limit=25", 18.0),
        ("/api/v1/applications?limit=100", 66.0),
    ] {
        let (read, _) = cost(&api, Method::GET, path, &Value::Null).await;
        println!("{path}: {read}");
        // DynamoDB Local counts the units of transactions differently.
        if std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none() {
            assert!(read <= most, "{path}: {read} units");
        }
    }
    let step = json!({ "stage": "interview", "role_id": 7 });
    let (_, written) = cost(&api, Method::POST, &format!("{of_jane}/advance"), &step).await;
    println!("a move of a person with 60 applications: {written}");
}
