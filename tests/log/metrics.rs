//! The metrics in the lines of the log, and how lines belong together.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use lambda_http::{Context, RequestExt};
use serde_json::{Value, json};
use shared::config::{Addresses, Services, VapiAccess};
use shared::http::App;
use shared::model::{ApplicationLimits, Mode};
use shared::providers::Providers;
use shared::providers::webhooks::WebhookReach;
use shared::secret::Secret;
use shared::store::Transaction;
use tests::browser::{Browser, Form};
use tests::fake::{FakeResponse, FakeServer};
use tests::interceptor::Fault;
use tests::metric_filters::{self, Metric, MetricFilter};
use tests::oauth::OAuthApp;
use tests::{ACME, BASE_URL, TestApi, project, tenant};
use tracing::subscriber::DefaultGuard;

use super::Lines;

/// The log of a function in AWS.
fn log_in_lambda() -> (Lines, DefaultGuard) {
    let lines = Lines::default();
    let guard = tracing::subscriber::set_default(shared::runtime::log(lines.clone(), Some("Roles")));
    (lines, guard)
}

fn read(lines: &Lines) -> Vec<Value> {
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A metric of the lines of the functions.
fn metric(name: &str, dimension: Option<&str>) -> Metric {
    Metric {
        namespace: "Rolecall/${StackName}".to_owned(),
        name: name.to_owned(),
        dimension: dimension.map(str::to_owned),
    }
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
async fn invite(api: &TestApi, email: &str) -> (u64, String) {
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.post(&format!("/api/v1/roles/{role}/publish"), json!({})).await.expect(200);
    let jane = json!({ "name": "Jane", "email": email, "phone": "+14155552671" });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    let consent =
        json!({ "obtained_at": "2026-11-20T09:00:00Z", "wording": "You may call me and record it." });
    let invitation = json!({ "role_id": role, "consent": consent });
    let invited = api.post(&format!("/api/v1/candidates/{jane}/invite_screen"), invitation).await.expect(201);
    (invited.number("/id"), invited.header("x-request-id").to_owned())
}

/// Makes what alarms on attacks count: a code that is used twice, a form by a program, and more forms than the limit.
async fn attack(api: &TestApi) {
    let (app, browser) = (OAuthApp::register(api, "none").await, Browser::signed_in(api, ACME).await);
    let code = app.code(&browser, &app.authorization_request(), "live").await;
    app.exchange(&code).await.expect(200);
    app.exchange(&code).await.expect(400);

    let acme = tenant(ACME, Mode::Live);
    let organization = api.store().find_organization(acme).await.unwrap().unwrap().organization;
    let limits = ApplicationLimits { posting: 1, ..ApplicationLimits::default() };
    let mut transaction = Transaction::new(acme);
    transaction.put_application_limits(&organization, &limits).unwrap();
    api.store().commit(transaction).await.unwrap();
    let job = api.post("/api/v1/quick_post", json!({ "role": { "title": "Waiter" } })).await.expect(201);
    let apply = format!("{}/apply", job.string("/job_posting/public_url").strip_prefix(BASE_URL).unwrap());
    for (email, hidden) in [("ada@example.com", ""), ("grace@example.com", ""), ("robot@example.com", "x")] {
        let form =
            Form::new(&[("name", "Ada"), ("email", email), ("consent", "yes"), ("confirm_topic", hidden)]);
        Browser::new(api).submit(&apply, &form).await.expect(303);
    }
}

/// Runs the tasks as the schedule does.
async fn run_schedule(api: &TestApi) {
    tasks::answer(json!({}), api.environment.clone()).await.unwrap();
}

#[tokio::test]
async fn every_metric_filter_finds_its_field_in_a_line() {
    let answers = AtomicUsize::new(0);
    let vapi = FakeServer::start(move |_| match answers.fetch_add(1, Ordering::SeqCst) {
        0 => FakeResponse::Json(201, json!({ "id": "call-1" })),
        _ => FakeResponse::Json(429, json!({ "message": ["no"] })),
    })
    .await;
    let api = TestApi::with_services(with_vapi(&vapi)).await;
    let (lines, _guard) = log_in_lambda();
    for email in ["jane@example.com", "ada@example.com"] {
        invite(&api, email).await;
        run_schedule(&api).await;
    }
    attack(&api).await;
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
    let seen = metric_filters::values("FunctionLogs", &lines);
    let of_functions = MetricFilter::all().into_iter().filter(|filter| filter.log_group == "FunctionLogs");
    let expected: BTreeSet<_> = of_functions.map(|filter| filter.metric).collect();
    assert_eq!(seen.keys().cloned().collect::<BTreeSet<_>>(), expected);

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the values are whole numbers"
    )]
    let values = |name: &str, dimension: Option<&str>| -> Vec<u64> {
        seen[&metric(name, dimension)].iter().map(|value| *value as u64).collect()
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
    let starts: BTreeSet<_> =
        lines.iter().filter(|line| line["starts"] == 1).map(|line| line["route"].as_str()).collect();
    assert_eq!(values("starts", None).len(), starts.len(), "one of each function that the requests reached");
    assert_eq!(values("unreadable", None), [1]);
    assert_eq!(values("refused", Some("provider")), [0, 1]);
    assert_eq!(values("unanswered", Some("provider")), [0, 0]);
    assert_eq!(values("scheduled", Some("queue")), [1, 1]);
    assert_eq!((values("feed_age", None), values("delivered", None)), (vec![0], vec![0]));
    let errors = lines.iter().filter(|line| line["level"] == "ERROR").count();
    assert_eq!(values("errors", None).len(), errors);
    assert!(lines.iter().all(|line| line["function"] == "Roles"));
    assert!(errors >= 3, "two failed requests, and the item");
}

/// What a request logged before metrics came from filters: its line with the names of metrics, and the gateway's.
const BEFORE: usize = 714 + 317;

/// A request logs at most half of what it did, in the function and in the gateway.
#[tokio::test]
async fn a_request_logs_few_bytes() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
    let (lines, _guard) = log_in_lambda();
    api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
    let line = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert_eq!(line.lines().count(), 1, "{line}");
    // The gateway's identifiers are longer than those of the tests.
    let id = serde_json::from_str::<Value>(&line).unwrap()["request_id"].as_str().unwrap().len();
    let of_function = line.trim_end().len() + "Jq4L6NmlkQwlt3N=".len() - id;

    let template: serde_yaml_ng::Value =
        serde_yaml_ng::from_str(&std::fs::read_to_string(project("template.yaml")).unwrap()).unwrap();
    let format = template["Resources"]["Api"]["Properties"]["AccessLogSettings"]["Format"].as_str().unwrap();
    let mut access = format.to_owned();
    for (name, value) in [
        ("requestId", "Jq4L6NmlkQwlt3N="),
        ("identity.sourceIp", "203.0.113.195"),
        ("httpMethod", "GET"),
        ("path", &format!("/api/v1/roles/{role}")),
        ("routeKey", "ANY /api/v1/roles/{id}"),
        ("status", "401"),
        ("responseLength", "1024"),
        ("responseLatency", "12"),
        ("integrationErrorMessage", "-"),
    ] {
        access = access.replace(&format!("\"$context.{name}\""), &format!("\"{value}\""));
    }
    assert!(!access.contains("$context"), "{access}");
    println!("{of_function} + {} bytes\n{line}{access}", access.len());
    assert!(
        of_function + access.len() <= BEFORE / 2,
        "{of_function} + {} bytes: {line} {access}",
        access.len()
    );

    // The filters of the gateway's log find the status.
    let access: Value = serde_json::from_str(&access).unwrap();
    let mut statuses = Vec::new();
    for filter in MetricFilter::all().into_iter().filter(|filter| filter.log_group == "AccessLogs") {
        let status = filter.metric.name.strip_prefix("Responses").unwrap().to_owned();
        for (other, expected) in [(status.as_str(), Some((1.0, None))), ("200", None)] {
            let mut line = access.clone();
            line["status"] = other.into();
            assert_eq!(filter.value(&line), expected, "{}", filter.id);
        }
        statuses.push(status);
    }
    assert_eq!(statuses, ["401", "403", "429"]);
}

#[tokio::test]
async fn the_schedule_is_logged_and_measured_even_if_nothing_is_due() {
    let api = TestApi::new().await;
    let (lines, _guard) = log_in_lambda();
    run_schedule(&api).await;
    tasks::answer(json!({ "Records": [] }), api.environment.clone()).await.unwrap();
    let lines = read(&lines);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let metrics = metric_filters::values("FunctionLogs", std::slice::from_ref(line));
    for (name, value) in [("scheduled", 1.0), ("oldest", 0.0), ("tasks", 0.0)] {
        assert_eq!(metrics[&metric(name, Some("queue"))], [value], "{name}");
    }
    assert!(metrics[&metric("dynamodb_calls", None)][0] >= 256.0, "{line}");
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
    invite(&api, "jane@example.com").await;
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
    let (screen, request) = invite(&api, "jane@example.com").await;
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
    invite(&api, "jane@example.com").await;
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
