//! The sample events in `events/` for `sam local invoke`. Every function must handle its events.

use std::collections::BTreeMap;
use std::mem::discriminant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rolecall_local::functions::{Tables, tables};
use serde_json::{Map, Value};
use shared::config::{Addresses, Config, Services, XAccess};
use shared::http::{ReplyFormat, Route};
use shared::providers::Providers;
use shared::secret::Secret;
use shared::token_encryption::EncryptionKeys;
use tests::browser::FORM;
use tests::contract::CONTRACT;
use tests::interceptor::RecordedCall;
use tests::{Response, TEMPLATE, TestApi, generated, project};
use url::form_urlencoded;

/// Returns the sample events by name.
pub(crate) fn events() -> BTreeMap<String, Value> {
    let mut events = BTreeMap::new();
    for entry in std::fs::read_dir(project("events")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        events.insert(name, serde_json::from_str(&text).unwrap());
    }
    events
}

/// Returns the sample events of a function's routes.
fn events_of(function: &str) -> impl Iterator<Item = (String, Value)> {
    let own = tables().into_iter().filter(move |tables| tables.function == function);
    let keys: Vec<_> = own.flat_map(Tables::rows).map(|route| route.key).collect();
    events().into_iter().filter(move |(_, event)| keys.iter().any(|key| event["routeKey"] == *key))
}

/// Creates a test API for an event, with the records that the events use.
pub(crate) async fn api_for(name: &str, change: impl Fn(&mut Config)) -> TestApi {
    let mut api = TestApi::with_sample_records(services_for(name)).await;
    change(&mut api.environment.config);
    api.environment.providers = Providers::new(&api.environment.config);
    api.restart();
    api.dynamodb.take_calls();
    api
}

/// The beginning of the names of events for connecting channels.
const CHANNELS: &str = "dashboard_channels_";

/// The external services for an event with this name. Channels can be connected only if providers are configured. No server
/// listens at these URLs.
fn services_for(name: &str) -> Services {
    if !name.starts_with(CHANNELS) {
        return Services { simulated: true, ..Services::default() };
    }
    Services {
        x: Some(XAccess { client_id: "recorded".to_owned(), client_secret: Secret::new("recorded") }),
        sealing_keys: Some(EncryptionKeys::parse(&format!("k:{}", "s".repeat(32))).unwrap()),
        addresses: Addresses { x: "http://127.0.0.1:1".to_owned(), ..Addresses::default() },
        ..Services::default()
    }
}

/// Sends the HTTP events in order. Returns the name, the response and the DynamoDB calls of each event.
async fn send_all(
    requests: impl Iterator<Item = (String, Value)>,
) -> Vec<(String, Response, Vec<RecordedCall>)> {
    send_all_with(|_| (), requests).await
}

/// Sends the HTTP events in order to functions with a changed configuration.
async fn send_all_with(
    change: impl Fn(&mut Config),
    requests: impl Iterator<Item = (String, Value)>,
) -> Vec<(String, Response, Vec<RecordedCall>)> {
    let (simulated, with_providers) = (api_for("", &change).await, api_for(CHANNELS, &change).await);
    let mut results = Vec::new();
    for (name, event) in requests.filter(|(_, event)| event["version"] == "2.0") {
        let api = if name.starts_with(CHANNELS) { &with_providers } else { &simulated };
        let response = Response::read(api.gateway.invoke_event(event).await.unwrap());
        results.push((name, response, api.dynamodb.take_calls()));
    }
    results
}

/// Returns the responses to a function's sample requests with a changed configuration, and the number of calls that each
/// made to DynamoDB.
pub(crate) async fn responses_with(
    function: &str,
    change: impl Fn(&mut Config),
) -> Vec<(String, u16, Vec<(String, String)>, String, usize)> {
    let results = send_all_with(change, events_of(function)).await.into_iter();
    results
        .map(|(name, response, calls)| {
            let headers = headers_of_content(&response);
            (name, response.status, headers, without_ports(&response.text), calls.len())
        })
        .collect()
}

#[tokio::test]
async fn every_sample_event_succeeds_in_any_order() {
    let mut results = send_all(events().into_iter()).await;
    results.extend(send_all(events().into_iter().rev()).await);
    for (name, response, _) in results {
        if name == "default_not_found" {
            assert_eq!(response.status, 404, "{name}: {}", response.text);
        } else {
            assert!(response.status < 400, "{name}: {} {}", response.status, response.text);
            assert!(!response.header("location").starts_with("/dashboard/sign-in?return_to"), "{name}");
        }
    }
}

/// Before a new version of a function gets requests, the hook in `infra/shift.yaml` sends it this one.
#[tokio::test]
async fn every_function_answers_the_hook() {
    let text = std::fs::read_to_string(project("infra/shift.yaml")).unwrap();
    let template: serde_yaml_ng::Value = serde_yaml_ng::from_str(&text).unwrap();
    let code = template["Resources"]["Hook"]["Properties"]["Code"]["ZipFile"].as_str().unwrap();
    let request = code.split("\"\"\"").nth(1).expect("the request between triple quotes");
    let request: Value = serde_json::from_str(request).unwrap();
    let api = api_for("", |_| ()).await;
    // The gateway finds the function by the outer key, and the function its route by the inner one.
    let functions: BTreeMap<_, _> =
        TEMPLATE.routes.iter().map(|route| (&route.function, &route.key)).collect();
    assert_eq!(functions.len(), tables().len());
    for (function, key) in functions {
        let mut event = request.clone();
        event["routeKey"] = key.as_str().into();
        let response = Response::read(api.gateway.invoke_event(event).await.unwrap());
        assert_eq!(response.status, 404, "{function}: {}", response.text);
        assert!(api.dynamodb.take_calls().is_empty(), "{function}");
    }
    // The document does not have this route.
    api.contract_monitor.take_violations();
}

/// Returns the sample events of GET requests after a change.
fn changed_reads(change: fn(&mut Value)) -> impl Iterator<Item = (String, Value)> {
    let reads = events().into_iter().filter(|(_, event)| event["requestContext"]["http"]["method"] == "GET");
    reads.map(move |(name, mut event)| {
        change(&mut event);
        (name, event)
    })
}

/// Removes the ports of URLs, because each test API has its own.
fn without_ports(text: &str) -> String {
    let mut parts = text.split("http://127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, rest| text + rest.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Returns the headers of a response except those that depend on the body's compression.
fn headers_of_content(response: &Response) -> Vec<(String, String)> {
    let headers = response
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), without_ports(&String::from_utf8_lossy(value.as_bytes()))));
    let of_content = |(name, _): &(String, _)| name != "content-length" && name != "content-encoding";
    let mut headers: Vec<_> = headers.filter(of_content).collect();
    headers.sort_unstable();
    headers
}

#[tokio::test]
async fn every_route_answers_head_like_get() {
    let reads = send_all(changed_reads(|_| ())).await;
    let heads = send_all(changed_reads(|event| {
        event["requestContext"]["http"]["method"] = "HEAD".into();
    }))
    .await;
    assert!(reads.len() > 40, "{}", reads.len());
    for ((name, read, calls), (_, head, calls_of_head)) in reads.iter().zip(&heads) {
        assert_eq!(head.status, read.status, "{name}");
        assert_eq!(head.text, "", "{name}");
        assert_eq!(headers_of_content(head), headers_of_content(read), "{name}");
        let length = if read.text.is_empty() { String::new() } else { read.text.len().to_string() };
        // The text of a picture is not its content.
        if !read.header("content-type").starts_with("image/png") {
            assert_eq!(head.header("content-length"), length, "{name}");
        }
        assert_eq!(calls_of_head.len(), calls.len(), "{name}");
    }
}

#[tokio::test]
async fn every_route_compresses_large_responses_without_secrets() {
    let plain = send_all(changed_reads(|_| ())).await;
    let compressed = send_all(changed_reads(|event| {
        event["headers"]["accept-encoding"] = "gzip, deflate, br".into();
    }))
    .await;
    let mut count = 0;
    for ((name, plain, _), (_, compressed, _)) in plain.iter().zip(&compressed) {
        assert_eq!(compressed.status, plain.status, "{name}");
        assert_eq!(without_ports(&compressed.text), without_ports(&plain.text), "{name}");
        let tag = compressed.header("etag").replace("-gzip\"", "\"");
        assert_eq!(tag, plain.header("etag"), "{name}");
        let headers = [compressed, plain].map(|response| {
            let mut headers = headers_of_content(response);
            headers.retain(|(name, _)| name != "etag");
            headers
        });
        assert_eq!(headers[0], headers[1], "{name}");
        // These pages contain form tokens.
        let is_private = plain.header("content-type").starts_with("text/html")
            && plain.header("cache-control") == "no-store"
            && !name.starts_with("careers_");
        // Bytes are sent as they are.
        let is_text = plain.header("content-type") != "application/octet-stream";
        let is_compressed = plain.text.len() >= 1_024 && !is_private && is_text;
        let (encoding, vary) = if is_compressed { ("gzip", "Accept-Encoding") } else { ("", "") };
        assert_eq!(compressed.header("content-encoding"), encoding, "{name}");
        assert_eq!(
            compressed.header("etag") == plain.header("etag"),
            !is_compressed || tag.is_empty(),
            "{name}"
        );
        assert_eq!((plain.header("content-encoding"), plain.header("vary")), ("", vary), "{name}");
        count += usize::from(is_compressed);
    }
    assert!(count >= 8, "{count} responses were compressed");
}

#[test]
fn every_route_and_every_job_has_a_sample_event() {
    let mut events = events();
    for tables in tables() {
        let package = generated::package(tables.function);
        for route in tables.rows() {
            if events.values().any(|event| event["routeKey"] == route.key) {
                continue;
            }
            let (name, event) = (new_name(&package, route.key, &events), new_event(&route, &events));
            let text = serde_json::to_string_pretty(&event).unwrap() + "\n";
            generated::assert_current(&format!("events/{name}.json"), &text);
            events.insert(name, event);
        }
    }
    for (name, event) in &events {
        let Some(key) = event["routeKey"].as_str() else { continue };
        let is_route = tables().into_iter().flat_map(Tables::rows).any(|route| route.key == key);
        assert!(is_route, "{key} is not a route: delete events/{name}.json");
    }
    for job in [
        "deliver_schedule",
        "feed_schedule",
        "feed_stream",
        "tasks_schedule",
        "tasks_stream",
        "usage_reset_schedule",
    ] {
        assert!(events.contains_key(job), "{job}");
    }
}

/// Returns the name of a new event: the handler's path, followed by the last word of the route if that name is taken.
fn new_name(package: &str, key: &str, events: &BTreeMap<String, Value>) -> String {
    let name = generated::handler(package, key).replace("::", "_");
    let last = key.rsplit('/').find(|segment| !segment.starts_with('{')).unwrap();
    let long_name = format!("{name}_{}", last.replace(['-', '.'], "_"));
    let free = [name, long_name].into_iter().find(|name| !events.contains_key(name));
    free.unwrap_or_else(|| panic!("add an event for {key} to events/"))
}

/// Returns a draft of a new route's event: a copy of the most similar event with the route's path and body. It may need
/// other ids, other fields, or a new fixture.
fn new_event(route: &Route, events: &BTreeMap<String, Value>) -> Value {
    let (method, path) = route.key.split_once(' ').unwrap();
    let operation = &CONTRACT.document["paths"][path][method.to_lowercase()];
    let content = operation["requestBody"]["content"].as_object().and_then(|content| content.iter().next());
    let is_form = content.is_none() && method == "POST" && route.format() == ReplyFormat::Page;
    let similar = most_similar(route, content.is_some() || is_form, events);
    let body = match content {
        Some((media, content)) if media == FORM => {
            let fields = content["example"].as_object().unwrap().iter();
            Some((FORM, encoded(fields.map(|(name, value)| (name.as_str(), value.as_str().unwrap())))))
        }
        Some((media, content)) => {
            Some((media.as_str(), with_fixtures(&content["example"], events).to_string()))
        }
        None if is_form => csrf_token(similar).map(|token| (FORM, encoded([("csrf", token.as_str())]))),
        None => None,
    };
    let (mut parameters, mut pattern, mut raw_path) = (Map::new(), String::new(), String::new());
    for segment in path.split('/').skip(1) {
        pattern = format!("{pattern}/{segment}");
        let name = segment.strip_prefix('{').and_then(|segment| segment.strip_suffix('}'));
        let value = name.map_or(segment, |name| path_parameter(&pattern, name, events));
        parameters.extend(name.map(|name| (name.to_owned(), value.into())));
        raw_path = format!("{raw_path}/{value}");
    }
    let mut event = similar.clone();
    event["routeKey"] = route.key.into();
    event["rawPath"] = raw_path.as_str().into();
    event["rawQueryString"] = "".into();
    event["isBase64Encoded"] = false.into();
    event["requestContext"]["routeKey"] = route.key.into();
    event["requestContext"]["http"]["method"] = method.into();
    event["requestContext"]["http"]["path"] = raw_path.into();
    for name in ["body", "pathParameters", "queryStringParameters"] {
        event.as_object_mut().unwrap().shift_remove(name);
    }
    for name in ["content-length", "content-type"] {
        event["headers"].as_object_mut().unwrap().shift_remove(name);
    }
    if !parameters.is_empty() {
        event["pathParameters"] = parameters.into();
    }
    if let Some((media, body)) = body {
        event["headers"]["content-length"] = body.len().to_string().into();
        event["headers"]["content-type"] = media.into();
        // The gateway base64-encodes every body except JSON.
        event["isBase64Encoded"] = (media == FORM).into();
        event["body"] = if media == FORM { STANDARD.encode(body) } else { body }.into();
    }
    event.sort_all_objects();
    event
}

/// Returns the most similar event. The criteria, most important first: the same kind of credential, the same response
/// format, both with or both without a body, the same method, and the longest common path.
fn most_similar<'e>(route: &Route, has_body: bool, events: &'e BTreeMap<String, Value>) -> &'e Value {
    let method = |key: &'static str| key.split(' ').next();
    let segments = |key: &'static str| key.split('/').skip(1);
    let routes: BTreeMap<_, _> =
        tables().into_iter().flat_map(Tables::rows).map(|route| (route.key, route)).collect();
    let with_routes =
        events.values().filter_map(|event| Some((event, routes.get(event["routeKey"].as_str()?)?)));
    let similarity = |(event, other): &(&Value, &Route)| {
        let common = segments(route.key).zip(segments(other.key)).take_while(|(own, other)| own == other);
        (
            discriminant(&other.access()) == discriminant(&route.access()),
            other.format() == route.format(),
            event["body"].is_string() == has_body,
            method(route.key) == method(other.key),
            common.count(),
        )
    };
    with_routes.max_by_key(similarity).unwrap().0
}

/// Returns the value of a path parameter in an event. Prefers routes that begin with this pattern, and then GET routes.
fn path_parameter<'e>(pattern: &str, name: &str, events: &'e BTreeMap<String, Value>) -> &'e str {
    let uses = events.values().filter_map(|event| {
        Some((event["routeKey"].as_str()?.split_once(' ')?, event["pathParameters"][name].as_str()?))
    });
    let best = uses.max_by_key(|((method, path), _)| (path.starts_with(pattern), *method == "GET"));
    best.unwrap_or_else(|| panic!("no event has the path parameter {name}: add one to events/")).1
}

/// Replaces the ids in an example, such as `role_id`, with those of the fixtures.
fn with_fixtures(example: &Value, events: &BTreeMap<String, Value>) -> Value {
    let mut example = example.clone();
    for (name, value) in example.as_object_mut().into_iter().flatten().filter(|(_, value)| value.is_u64()) {
        if let Some(resource) = name.strip_suffix("_id") {
            let id = path_parameter(&format!("/api/v1/{resource}s/{{id}}"), "id", events);
            *value = id.parse::<u64>().unwrap().into();
        }
    }
    example
}

/// Returns the CSRF token from an event's form. It is valid for the event's cookie.
fn csrf_token(event: &Value) -> Option<String> {
    let form = STANDARD.decode(event["body"].as_str()?).ok()?;
    form_urlencoded::parse(&form).find(|(name, _)| name == "csrf").map(|(_, token)| token.into_owned())
}

fn encoded<'f>(fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// A client may send such characters without an escape, and the gateway passes the query on as it was sent.
#[tokio::test]
async fn a_query_may_contain_characters_that_no_uri_can_contain() {
    let api = api_for("", |_| ()).await;
    let query = "q=<b>\"é\" #";
    for (name, status) in [("careers_list", 200), ("docs_show_page", 200), ("roles_list", 422)] {
        let mut event = events()[name].clone();
        event["rawQueryString"] = query.into();
        let response = Response::read(api.gateway.invoke_event(event).await.unwrap());
        assert_eq!(response.status, status, "{name}: {}", response.text);
    }
}
