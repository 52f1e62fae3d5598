//! What requests cost among many people, in one table: calls that wait for each other, calls, and capacity units.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::clock::later;
use shared::id::Id;
use shared::model::{CandidateRecord, EventType, Mode, Name, Profile, Source};
use shared::store::Transaction;
use tests::assistant::Assistant;
use tests::browser::Browser;
use tests::careers::Vacancy;
use tests::dashboard::owner;
use tests::interceptor::{RecordedCall, in_sequence};
use tests::{ACME, Response, TestApi, tenant};

use crate::careers_applications::form;
use crate::webhooks::write_events;

/// The number of open roles. The first one has two of five people.
const ROLES: u64 = 21;
const FIRST_NAMES: [&str; 25] = [
    "Maria",
    "Ada",
    "Grace",
    "Alan",
    "Edsger",
    "Barbara",
    "Donald",
    "Frances",
    "John",
    "Katherine",
    "Linus",
    "Margaret",
    "Niklaus",
    "Radia",
    "Robin",
    "Sophie",
    "Tim",
    "Anita",
    "Butler",
    "Carol",
    "Dennis",
    "Evelyn",
    "Fred",
    "Hedy",
    "Ivan",
];

/// The number of people. `PEOPLE=50000` makes it as many.
fn people() -> u64 {
    std::env::var("PEOPLE").map_or(5_000, |people| people.parse().expect("a number"))
}

/// The text of an ordinary job.
fn text() -> String {
    "d".repeat(4_500)
}

/// Stores the people with these numbers. Each has applied for one role.
async fn write(api: &TestApi, roles: &[u64], numbers: std::ops::Range<u64>) {
    let (tenant, now) = (tenant(ACME, Mode::Live), api.environment.clock.now());
    let mut found = Vec::new();
    for role in roles {
        found.push(api.store().find_role(tenant, Id::new(*role).unwrap()).await.unwrap().unwrap());
    }
    let insert = async |number: u64| {
        let first = FIRST_NAMES[usize::try_from(number % 25).unwrap()];
        let name = Name::parse(&format!("{first} Number{number:05}")).unwrap().unwrap();
        let email = format!("person{number}@mail{}.example.com", number % 5).parse().unwrap();
        let phone = Some(format!("+1415{:07}", 2_000_000 + number).parse().unwrap());
        let source = number.is_multiple_of(5).then_some(Source::CAREER_PAGE);
        let profile = Profile { phone, source, ..Profile::new(name, email) };
        let id = |from: u64| Id::new(from + number).unwrap();
        let role = if number % 5 < 2 { 0 } else { 1 + usize::try_from(number % (ROLES - 1)).unwrap() };
        let record = CandidateRecord::new(id(1_000_000_000_000_000), profile, now);
        let applied = record.apply(id(2_000_000_000_000_000), &found[role], Source::API, now).unwrap();
        loop {
            let mut transaction = Transaction::new(tenant);
            transaction.insert_candidate(applied.clone(), &[]).unwrap();
            if api.store().commit(transaction).await.is_ok() {
                break;
            }
        }
        api.dynamodb.clear_calls();
    };
    stream::iter(numbers).for_each_concurrent(8, insert).await;
}

/// What a request costs: the calls that wait for each other, all calls, and the units that are read, written, and written
/// afterwards by the feed.
type Cost = [f64; 5];

/// The most that each request may cost.
const MOST: &[(&str, Cost)] = &[
    ("GET role", [1.0, 2.0, 2.0, 1.0, 0.0]),
    ("list 21 roles", [1.0, 2.0, 25.0, 1.0, 0.0]),
    ("list 21 roles with stats", [2.0, 3.0, 46.0, 1.0, 0.0]),
    ("role stats", [1.0, 2.0, 3.0, 1.0, 0.0]),
    ("25 candidates", [1.0, 2.0, 2.0, 1.0, 0.0]),
    ("100 candidates", [1.0, 2.0, 7.0, 1.0, 0.0]),
    ("25 candidates of a role", [2.0, 4.0, 16.5, 1.0, 0.0]),
    ("GET candidate", [1.0, 3.0, 2.0, 1.0, 0.0]),
    ("q common", [2.0, 3.0, 14.0, 1.0, 0.0]),
    ("q rare", [2.0, 3.0, 1.0, 1.0, 0.0]),
    ("25 applications", [2.0, 4.0, 16.5, 1.0, 0.0]),
    ("100 applications", [2.0, 4.0, 61.0, 1.0, 0.0]),
    ("25 applications of a role by status", [2.0, 4.0, 15.0, 1.0, 0.0]),
    ("GET organization", [2.0, 2.0, 2.0, 1.0, 0.0]),
    ("100 events", [3.0, 4.0, 5.0, 1.0, 0.0]),
    ("POST candidate", [2.0, 2.0, 0.0, 16.0, 8.0]),
    ("POST candidate, role, phone, source, 2 tags", [2.0, 3.0, 2.0, 34.0, 13.0]),
    ("PATCH phone", [2.0, 3.0, 1.0, 16.0, 11.0]),
    ("POST note", [2.0, 3.0, 1.0, 12.0, 3.0]),
    ("advance", [2.0, 3.0, 1.0, 25.0, 4.0]),
    ("advance with key", [2.0, 3.0, 1.0, 29.0, 4.0]),
    ("quick post", [2.0, 3.0, 1.0, 29.0, 4.0]),
    ("career list", [2.0, 2.0, 2.0, 0.0, 0.0]),
    ("job page", [2.0, 3.0, 6.0, 0.0, 0.0]),
    ("apply", [4.0, 10.0, 8.0, 39.0, 11.0]),
    ("MCP search", [2.0, 4.0, 1.0, 4.0, 0.0]),
    ("overview", [3.0, 8.0, 34.5, 0.0, 0.0]),
    ("board", [3.0, 10.0, 28.0, 3.0, 0.0]),
    ("person", [6.0, 9.0, 13.5, 3.0, 0.0]),
    ("25 people of a role with a source", [4.0, 8.0, 26.0, 3.0, 0.0]),
    ("close role", [2.0, 3.0, 4.0, 39.0, 4.0]),
    ("reopen role", [2.0, 3.0, 4.0, 33.0, 3.0]),
    ("GET candidate with 60 applications", [1.0, 3.0, 8.0, 1.0, 0.0]),
    ("advance with 60 applications", [2.0, 3.0, 8.0, 27.0, 4.0]),
    ("10 changed among 100 events", [4.0, 6.0, 11.0, 1.0, 0.0]),
    ("10 changed among 1,100 events", [30.0, 32.0, 167.0, 1.0, 0.0]),
];

fn is_read(call: &RecordedCall) -> bool {
    ["GetItem", "BatchGetItem", "Query"].contains(&&*call.operation)
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// Sends a request and runs the feed, prints what both cost, and requires that it is within the limits.
async fn row(api: &TestApi, name: &str, request: impl Future<Output = Response>) -> Response {
    api.run_whole_feed().await;
    api.dynamodb.take_calls();
    let response = request.await;
    assert!(response.status < 400, "{name}: {} {}", response.status, response.text);
    let calls = api.dynamodb.take_calls();
    let (sequence, all) = (in_sequence(&calls), calls.len());
    let (reads, writes): (Vec<_>, Vec<_>) = calls.into_iter().partition(is_read);
    let sum = |calls: &[RecordedCall]| calls.iter().map(RecordedCall::units).fold(0.0, std::ops::Add::add);
    api.run_whole_feed().await;
    let feed: Vec<_> = api.dynamodb.take_calls().into_iter().filter(|call| !is_read(call)).collect();
    let cost = [number(sequence), number(all), sum(&reads), sum(&writes), sum(&feed)];
    println!("| {name} | {} |", cost.map(|figure| figure.to_string()).join(" | "));
    // DynamoDB Local counts the units of transactions differently, and its calls end at any time.
    let is_embedded = std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none();
    let (_, most) = MOST.iter().find(|(limited, _)| *limited == name).unwrap();
    let is_within = cost.iter().zip(most).all(|(figure, most)| figure <= most);
    assert!(is_within || !is_embedded, "{name}: {cost:?} is more than {most:?}");
    response
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_among_many_people_cost_at_most_this() {
    let api = Arc::new(TestApi::new().await);
    let mut roles = Vec::new();
    let mut jobs = Vec::new();
    for number in 0..ROLES {
        let role = json!({ "title": format!("Cook {number}"), "description": text(), "location": "Oslo" });
        let job = Vacancy::open(&api, role).await;
        roles.push(job.role);
        jobs.push(job);
    }
    for first in (0..people()).step_by(1_000) {
        write(&api, &roles, first..people().min(first + 1_000)).await;
        api.run_whole_feed().await;
        api.dynamodb.clear_calls();
    }
    // The head of the feed has the changes of the last batch, so its next write costs more.
    let note = format!("/api/v1/candidates/{}/notes", 1_000_000_000_000_001_u64);
    api.post(&note, json!({ "text": "x" })).await.expect(201);
    api.run_whole_feed().await;
    println!("| Request | In sequence | Calls | Read units | Write units | Written by the feed |");
    let (role, first) = (roles[0], 1_000_000_000_000_000_u64);
    for (name, path) in [
        ("GET role", format!("/api/v1/roles/{role}")),
        ("list 21 roles", "/api/v1/roles".to_owned()),
        ("list 21 roles with stats", "/api/v1/roles?include=stats".to_owned()),
        ("role stats", format!("/api/v1/roles/{role}/stats")),
        ("25 candidates", "/api/v1/candidates?limit=25".to_owned()),
        ("100 candidates", "/api/v1/candidates?limit=100".to_owned()),
        ("25 candidates of a role", format!("/api/v1/candidates?limit=25&role_id={role}")),
        ("GET candidate", format!("/api/v1/candidates/{first}")),
        ("q common", "/api/v1/candidates?limit=25&q=maria".to_owned()),
        ("q rare", "/api/v1/candidates?q=number00017".to_owned()),
        ("25 applications", "/api/v1/applications?limit=25".to_owned()),
        ("100 applications", "/api/v1/applications?limit=100".to_owned()),
        (
            "25 applications of a role by status",
            format!("/api/v1/applications?limit=25&role_id={role}&status=active"),
        ),
        ("GET organization", "/api/v1/organization".to_owned()),
        ("100 events", "/api/v1/events?limit=100".to_owned()),
    ] {
        row(&api, name, api.get(&path)).await;
    }
    let person = |number: u64, more: Value| {
        let mut body = json!({ "name": "Ada Lovelace", "email": format!("ada{number}@example.com") });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let post = |path: &str, body: Value| {
        let path = path.to_owned();
        let api = &api;
        async move { api.post(&path, body).await }
    };
    row(&api, "POST candidate", post("/api/v1/candidates", person(1, json!({})))).await;
    let full = json!({ "role_id": role, "phone": "+14155552671", "source": "fair", "tags": ["a", "b"] });
    let created =
        row(&api, "POST candidate, role, phone, source, 2 tags", post("/api/v1/candidates", person(2, full)))
            .await;
    let ada = created.number("/id");
    let path = format!("/api/v1/candidates/{ada}");
    row(&api, "PATCH phone", api.patch(&path, json!({ "phone": "+14155552672" }))).await;
    row(&api, "POST note", post(&format!("{path}/notes"), json!({ "text": "x" }))).await;
    row(&api, "advance", post(&format!("{path}/advance"), json!({ "stage": "interview" }))).await;
    let with_key = api.request(Method::POST, &format!("{path}/advance")).header("idempotency-key", "k1");
    row(&api, "advance with key", with_key.json(&json!({ "stage": "offer" })).send()).await;
    let quick = json!({ "role": { "title": "Baker", "description": text() } });
    row(&api, "quick post", post("/api/v1/quick_post", quick)).await;
    let browser = Browser::new(&api);
    row(&api, "career list", browser.get("/careers/acme")).await;
    row(&api, "job page", browser.get(&jobs[0].path())).await;
    let apply = format!("{}/apply", jobs[0].path());
    row(&api, "apply", browser.submit(&apply, &form("Jane Doe", "jane.doe@example.com"))).await;
    let assistant = Assistant::new(&api);
    row(&api, "MCP search", assistant.try_call("search_candidates", json!({ "q": "number00017" }))).await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    browser.get("/dashboard").await.expect(200);
    row(&api, "overview", browser.get("/dashboard")).await;
    row(&api, "board", browser.get(&format!("/dashboard/roles/{role}"))).await;
    row(&api, "person", browser.get(&format!("/dashboard/candidates/{first}"))).await;
    let sourced = format!("/dashboard/candidates?role_id={role}&label=source&word=API");
    row(&api, "25 people of a role with a source", browser.get(&sourced)).await;
    row(&api, "close role", api.delete(&format!("/api/v1/roles/{role}"))).await;
    row(&api, "reopen role", post(&format!("/api/v1/roles/{role}/reopen"), json!({}))).await;
    api.write_open_roles(1..=60).await;
    let busy = api.post("/api/v1/candidates", person(3, json!({}))).await.expect(201).number("/id");
    api.write_applications(busy, 1..=60).await;
    let path = format!("/api/v1/candidates/{busy}");
    row(&api, "GET candidate with 60 applications", api.get(&path)).await;
    let step = json!({ "stage": "interview", "role_id": 60 });
    row(&api, "advance with 60 applications", post(&format!("{path}/advance"), step)).await;
    // The test itself leaves little of its stack.
    tokio::spawn(async move { cost_of_changes(&api).await }).await.unwrap();
}

/// Asks who has changed: ten people, among the last 100 events, and among the last 1,100, whose start is searched in the whole feed.
async fn cost_of_changes(api: &TestApi) {
    let wait = |seconds| {
        let now = later(api.environment.clock.now(), SignedDuration::from_secs(seconds)).to_string();
        api.clock.set(&now);
        now
    };
    let fill = async |count: usize| {
        write_events(api, tenant(ACME, Mode::Live), &vec![EventType::RoleUpdated; count]).await;
    };
    wait(600);
    fill(100).await;
    let since = wait(600);
    fill(90).await;
    for number in 0..10 {
        wait(1);
        let path = format!("/api/v1/candidates/{}", 1_000_000_000_000_000_u64 + number * 7);
        api.patch(&path, json!({ "tags": ["changed"] })).await.expect(200);
    }
    api.run_whole_feed().await;
    wait(60);
    let path = format!("/api/v1/candidates?updated_after={since}");
    let answered = |response: &Response| response.body["data"].as_array().unwrap().len();
    assert_eq!(answered(&row(api, "10 changed among 100 events", api.get(&path)).await), 10);
    fill(1_000).await;
    assert_eq!(answered(&row(api, "10 changed among 1,100 events", api.get(&path)).await), 10);
}
