//! The metrics in the lines of the log, and how lines belong together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use lambda_http::{Context, RequestExt};
use serde_json::{Value, json};
use shared::config::{Addresses, Services, VapiAccess};
use shared::http::App;
use shared::providers::Providers;
use shared::providers::webhooks::WebhookReach;
use shared::runtime::metrics::{ERRORS, LINES, NAMESPACE, Source};
use shared::secret::Secret;
use tests::TestApi;
use tests::fake::{FakeResponse, FakeServer};
use tests::interceptor::Fault;
use tracing::subscriber::DefaultGuard;

use super::Lines;

/// The log of a function in AWS.
fn log_in_lambda() -> (Lines, DefaultGuard) {
    let lines = Lines::default();
    let source = Source { stack: "rolecall-test".to_owned(), function: "roles-1".to_owned() };
    let guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), Some(source)));
    (lines, guard)
}

fn read(lines: &Lines) -> Vec<Value> {
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the metrics of a line with their dimensions. Fails if `CloudWatch` would reject the line.
fn metrics(line: &Value) -> BTreeMap<(String, Vec<String>), u64> {
    let Some(directives) = line.get("_aws") else { return BTreeMap::new() };
    assert!(directives["Timestamp"].as_u64().is_some_and(|time| time > 1_700_000_000_000), "{line}");
    let mut metrics = BTreeMap::new();
    for directive in directives["CloudWatchMetrics"].as_array().unwrap() {
        assert_eq!(directive["Namespace"], NAMESPACE);
        let [dimensions] = &directive["Dimensions"].as_array().unwrap()[..] else { panic!("{line}") };
        let dimensions: Vec<_> =
            dimensions.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        assert!(dimensions.iter().all(|name| line[name].as_str().is_some_and(|value| !value.is_empty())));
        for metric in directive["Metrics"].as_array().unwrap() {
            let (name, unit) = (metric["Name"].as_str().unwrap(), metric["Unit"].as_str().unwrap());
            assert!(["Count", "Milliseconds", "Seconds"].contains(&unit), "{line}");
            let value = line[name].as_u64().unwrap_or_else(|| panic!("{name} is no number: {line}"));
            metrics.insert((name.to_owned(), dimensions.clone()), value);
        }
    }
    metrics
}

/// A service whose calls go to this fake of Vapi.
fn with_vapi(vapi: &FakeServer) -> Services {
    let access = VapiAccess {
        api_key: Some(Secret::new("vapi-key")),
        phone_number_id: "phone-1".to_owned(),
        webhook_secret: Some(Secret::new("vapi-webhook-secret")),
        credential_id: None,
    };
    let addresses = Addresses { vapi: vapi.url.clone(), ..Addresses::default() };
    let call_countries = vec!["US".parse().unwrap()];
    Services { vapi: Some(access), call_countries, addresses, ..Services::default() }
}

/// Invites somebody to a voice screen. Returns the screen and the identifier of the request.
async fn invite(api: &TestApi) -> (u64, String) {
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.post(&format!("/api/v1/roles/{role}/publish"), json!({})).await.expect(200);
    let jane = json!({ "name": "Jane", "email": "jane@example.com", "phone": "+14155552671" });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    let consent =
        json!({ "obtained_at": "2026-11-20T09:00:00Z", "wording": "You may call me and record it." });
    let invitation = json!({ "role_id": role, "consent": consent });
    let invited = api.post(&format!("/api/v1/candidates/{jane}/invite_screen"), invitation).await.expect(201);
    (invited.number("/id"), invited.header("x-request-id").to_owned())
}

/// Runs the tasks as the schedule does.
async fn run_schedule(api: &TestApi) {
    tasks::answer(json!({}), api.environment.clone()).await.unwrap();
}

#[tokio::test]
async fn every_metric_is_in_a_line_that_cloudwatch_accepts() {
    let vapi = FakeServer::start(|_| FakeResponse::Json(429, json!({ "message": ["no"] }))).await;
    let api = TestApi::with_services(with_vapi(&vapi)).await;
    let (lines, _guard) = log_in_lambda();
    invite(&api).await;
    run_schedule(&api).await;
    // The busy gate, a call that is throttled once, and one that is always throttled.
    tokio::time::pause();
    for (operation, times, status) in [("UpdateItem", 1, 200), ("Query", 1, 200), ("Query", 99, 503)] {
        let seen = AtomicUsize::new(0);
        api.dynamodb.inject_faults(move |name, _| {
            (name == operation && seen.fetch_add(1, Ordering::SeqCst) < times).then_some(Fault::Throttled)
        });
        api.get("/api/v1/roles").await.expect(status);
    }
    api.dynamodb.inject_faults(|name, _| (name == "TransactWriteItems").then_some(Fault::Throttled));
    api.post("/api/v1/roles", json!({ "title": "Waiter" })).await.expect(503);
    let seen = AtomicUsize::new(0);
    api.dynamodb.inject_faults(move |name, _| {
        let conflicts = name == "TransactWriteItems" && seen.fetch_add(1, Ordering::SeqCst) == 0;
        conflicts.then_some(Fault::Conflict)
    });
    let role = api.post("/api/v1/roles", json!({ "title": "Waiter" })).await.expect(201).number("/id");
    api.dynamodb.inject_faults(|_, _| None);
    let mut items = api.stored_items().await;
    let damaged = items.iter_mut().find(|((_, sk), item)| {
        sk.ends_with(&role.to_string()) && item.get("title") == Some(&AttributeValue::S("Waiter".to_owned()))
    });
    let (_, item) = damaged.unwrap();
    item.insert("status".to_owned(), AttributeValue::S("unknown".to_owned()));
    api.write_items([item.clone()]).await;
    api.get(&format!("/api/v1/roles/{role}")).await.expect(500);
    feed::answer(json!({}), api.environment.clone()).await.unwrap();
    deliver::answer(json!({}), api.environment.clone()).await.unwrap();

    let lines = read(&lines);
    let mut seen: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for (metric, value) in lines.iter().flat_map(metrics) {
        seen.entry(metric).or_default().push(value);
    }
    let of_lines = LINES.iter().flat_map(|line| {
        let dimensions: Vec<_> = ["stack"].into_iter().chain(line.dimension).map(str::to_owned).collect();
        line.metrics.iter().map(move |(name, _)| ((*name).to_owned(), dimensions.clone()))
    });
    let stack = vec!["stack".to_owned()];
    let expected: BTreeSet<_> = of_lines.chain([(ERRORS.to_owned(), stack.clone())]).collect();
    assert_eq!(seen.keys().cloned().collect::<BTreeSet<_>>(), expected);

    let values = |name: &str, dimension: Option<&str>| {
        let dimensions = ["stack"].into_iter().chain(dimension).map(str::to_owned).collect();
        seen[&(name.to_owned(), dimensions)].clone()
    };
    let requests = lines.iter().filter(|line| line["message"] == "request").count();
    let failed = values("failed", Some("function"));
    assert_eq!((failed.len(), failed.iter().sum::<u64>()), (requests, 3), "one line for each request");
    assert_eq!(values("gate_shards", None), [1]);
    assert_eq!(values("dynamodb_conflicts", None), [1]);
    assert_eq!(
        values("dynamodb_throttled", None),
        [1, 1, 1],
        "of the gate, after all retries, and of a transaction"
    );
    assert_eq!(values("dynamodb_retries", None), [1, 2]);
    assert_eq!(values("starts", None).len(), 2, "of the two functions that the requests reached");
    assert_eq!(values("unreadable", None), [1]);
    assert_eq!(values("refused", Some("provider")), [1]);
    assert_eq!(values("unanswered", Some("provider")), [0]);
    assert_eq!(values("scheduled", Some("queue")), [1]);
    assert_eq!((values("feed_age", None), values("delivered", None)), (vec![0], vec![0]));
    let errors = lines.iter().filter(|line| line["level"] == "ERROR").count();
    assert_eq!(values(ERRORS, None).len(), errors);
    assert!(errors >= 3, "two failed requests, and the item");
}

#[tokio::test]
async fn the_schedule_is_logged_and_measured_even_if_nothing_is_due() {
    let api = TestApi::new().await;
    let (lines, _guard) = log_in_lambda();
    run_schedule(&api).await;
    tasks::answer(json!({ "Records": [] }), api.environment.clone()).await.unwrap();
    let lines = read(&lines);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let metrics = metrics(line);
    let queue = vec!["stack".to_owned(), "queue".to_owned()];
    for (name, value) in [("scheduled", 1), ("oldest", 0), ("tasks", 0)] {
        assert_eq!(metrics[&(name.to_owned(), queue.clone())], value, "{name}");
    }
    assert!(metrics[&("dynamodb_calls".to_owned(), vec!["stack".to_owned()])] >= 256, "{line}");
}

/// An API that may send to this machine, as the local service does.
async fn api_with_loopback() -> TestApi {
    let mut api = TestApi::new().await;
    let reach = WebhookReach::with_loopback();
    api.environment.providers = Providers::with_webhook_reach(&api.environment.config, reach);
    api.restart();
    api
}

/// The change feed and deliveries are logged with ids and numbers: without texts of people or endpoints, and without what a
/// receiver answers.
#[tokio::test]
async fn the_lines_of_the_feed_and_of_deliveries_have_no_text_that_somebody_wrote() {
    const SECRET: &str = "Xylophon";
    let api = api_with_loopback().await;
    let answers = AtomicUsize::new(0);
    let server = FakeServer::start(move |_| match answers.fetch_add(1, Ordering::SeqCst) % 4 {
        0 => FakeResponse::Full(200, Vec::new(), SECRET.to_owned()),
        1 => FakeResponse::Full(500, vec![("retry-after".to_owned(), SECRET.to_owned())], SECRET.to_owned()),
        2 => FakeResponse::Close,
        _ => FakeResponse::Full(410, Vec::new(), SECRET.to_owned()),
    })
    .await;
    for number in 0..2 {
        let url = format!("{}/{SECRET}/{number}", server.url);
        let endpoint = json!({ "url": url, "description": SECRET });
        api.post("/api/v1/webhook_endpoints", endpoint).await.expect(201);
    }
    let jane = json!({
        "name": SECRET, "email": format!("{SECRET}@example.com"), "phone": "+14155552671", "source": SECRET, "tags": [SECRET],
    });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    let note = json!({ "text": SECRET });
    api.post(&format!("/api/v1/candidates/{jane}/notes"), note).await.expect(201);
    let (lines, _guard) = log_in_lambda();
    for _ in 0..3 {
        feed::answer(json!({}), api.environment.clone()).await.unwrap();
        deliver::answer(json!({}), api.environment.clone()).await.unwrap();
    }
    // Lines about faults.
    api.post(&format!("/api/v1/candidates/{jane}/notes"), json!({ "text": SECRET })).await.expect(201);
    api.dynamodb.inject_faults(|operation, _| {
        ["TransactWriteItems", "GetItem"].contains(&operation).then_some(Fault::Unreachable)
    });
    assert!(feed::answer(json!({}), api.environment.clone()).await.is_err());
    assert!(deliver::answer(json!({}), api.environment.clone()).await.is_err());
    api.dynamodb.inject_faults(|_, _| None);
    assert!(server.requests().len() > 4);
    let lines = read(&lines);
    let has = |message: &str| lines.iter().any(|line| line["message"] == message);
    assert!(has("feed") && has("deliveries") && has("an endpoint was disabled"), "{lines:?}");
    assert!(lines.iter().any(|line| line["level"] == "ERROR"), "{lines:?}");
    let text = format!("{lines:?}").to_lowercase();
    assert!(!text.contains(&SECRET.to_lowercase()) && !text.contains("14155552671"), "{text}");
}

#[tokio::test]
async fn changes_and_events_that_wait_are_measured_by_their_age() {
    let api = api_with_loopback().await;
    let server = FakeServer::start(|_| FakeResponse::Full(500, Vec::new(), String::new())).await;
    let endpoint = json!({ "url": format!("{}/hook", server.url) });
    api.post("/api/v1/webhook_endpoints", endpoint).await.expect(201);
    let (lines, _guard) = log_in_lambda();
    api.clock.set("2026-11-20T09:32:00Z");
    feed::answer(json!({}), api.environment.clone()).await.unwrap();
    feed::answer(json!({}), api.environment.clone()).await.unwrap();
    api.clock.set("2026-11-20T09:33:00Z");
    deliver::answer(json!({}), api.environment.clone()).await.unwrap();
    deliver::answer(json!({ "tenants": [] }), api.environment.clone()).await.unwrap();
    let lines = read(&lines);
    let of = |message: &'static str| lines.iter().filter(move |line| line["message"] == message);
    let ages: Vec<_> = of("feed").map(|line| line["feed_age"].as_u64().unwrap()).collect();
    assert_eq!(ages, [120, 0], "the schedule's runs are logged even if nothing waits");
    let deliveries: Vec<_> = of("deliveries").collect();
    let [line] = &deliveries[..] else { panic!("{deliveries:?}") };
    let numbers = ["delivered", "delivery_failures", "delivery_age"].map(|name| line[name].as_u64());
    assert_eq!(numbers, [Some(0), Some(2), Some(180)], "since the change, with the first repetition");
}

#[tokio::test]
async fn a_task_that_waits_is_measured_by_its_age() {
    let api = TestApi::new().await;
    invite(&api).await;
    api.clock.set("2026-11-20T09:37:00Z");
    let (lines, _guard) = log_in_lambda();
    run_schedule(&api).await;
    let line = read(&lines).into_iter().find(|line| line["message"] == "tasks").unwrap();
    assert_eq!((line["tasks"].as_u64(), line["oldest"].as_u64()), (Some(1), Some(420)));
}

/// The request's identifier is in its task, in the lines of the job that carries the task out, in the line of the call to
/// the provider, and in the tasks that follow.
#[tokio::test]
async fn a_request_can_be_followed_to_its_task_and_to_the_provider() {
    let vapi = FakeServer::start(|_| FakeResponse::Json(201, json!({ "id": "call-1" }))).await;
    let api = TestApi::with_services(with_vapi(&vapi)).await;
    let (lines, _guard) = log_in_lambda();
    let (screen, request) = invite(&api).await;
    let end = "2030-01-01T00:00:00Z".parse().unwrap();
    let due = api.due_tasks(end).await;
    let [task] = &due[..] else { panic!("{due:?}") };
    assert_eq!((task.id.get(), task.caused_by.as_deref()), (screen, Some(request.as_str())));
    run_schedule(&api).await;
    let next = api.due_tasks(end).await;
    let [next] = &next[..] else { panic!("{next:?}") };
    assert!(next.due > task.due, "the call is checked later");
    assert_eq!(next.caused_by.as_deref(), Some(request.as_str()));
    let lines = read(&lines);
    let line =
        lines.iter().find(|line| line["message"] == "request" && line["request_id"] == request.as_str());
    assert_eq!(line.unwrap()["route"], "POST /api/v1/candidates/{id}/invite_screen");
    let calls: Vec<_> = lines.iter().filter(|line| line["message"] == "a call to a provider").collect();
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((call["provider"].as_str(), call["status"].as_u64()), (Some("voice"), Some(201)));
    assert_eq!(call["span"]["caused_by"], request.as_str());
    assert_eq!((call["span"]["kind"].as_str(), call["span"]["id"].as_u64()), (Some("call"), Some(screen)));
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_measured() {
    let vapi = FakeServer::start(|_| FakeResponse::Json(503, json!({}))).await;
    let api = TestApi::with_services(with_vapi(&vapi)).await;
    let (lines, _guard) = log_in_lambda();
    invite(&api).await;
    run_schedule(&api).await;
    let calls: Vec<_> =
        read(&lines).into_iter().filter(|line| line["message"] == "a call to a provider").collect();
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((call["refused"].as_u64(), call["unanswered"].as_u64()), (Some(0), Some(1)));
}

#[tokio::test]
async fn a_request_that_x_ray_records_has_its_trace_in_the_log() {
    let api = TestApi::new().await;
    let app = App::new(api.environment.clone(), roles::routes());
    let event = std::fs::read_to_string(tests::project("events/roles_list.json")).unwrap();
    let (lines, _guard) = log_in_lambda();
    let root = "1-5759e988-bd862e3fe1be46a994272793";
    for header in [
        Some(format!("Root={root};Parent=53995c3f42cd8ad8;Sampled=1")),
        Some(format!("Root={root};Parent=53995c3f42cd8ad8;Sampled=0")),
        None,
    ] {
        let mut context = Context::default();
        context.xray_trace_id = header;
        let request = lambda_http::request::from_str(&event).unwrap().with_lambda_context(context);
        app.handle(request).await;
    }
    let traces: Vec<_> = read(&lines).into_iter().map(|line| line["xray_trace_id"].clone()).collect();
    assert_eq!(traces, [json!(root), Value::Null, Value::Null]);
}
