//! Whole requests to all functions: none fails, each response is documented, and only a credential opens the API, for the
//! data of its own tenant.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use lambda_http::request::LambdaRequest;
use rolecall_local::demo::{DEMOS, credential_keys};
use serde_json::Value;
use shared::auth::Caller;
use shared::model::Mode;
use tests::contract::ContractMonitor;

use crate::deployment::Deployment;
use crate::input::{first_line, text};

const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// The only document of the API that anyone may read.
const PUBLIC: &str = "/api/v1/openapi.json";

/// The ids of the records of the sample events. All of them belong to one tenant.
const RECORDED: RangeInclusive<u64> = 1_700_000_000_000_000..=1_700_000_000_000_999;

pub(crate) static UNCHECKED: LazyLock<Deployment> = LazyLock::new(|| Deployment::new(|function| function));
static MONITOR: LazyLock<ContractMonitor> = LazyLock::new(ContractMonitor::default);
static CHECKED: LazyLock<Deployment> = LazyLock::new(|| Deployment::new(|function| MONITOR.wrap(function)));

/// The input is an event of the gateway, in payload format 2.0. It may lack anything, and its parts may contradict each
/// other, except for what `lambda_http` needs to build a request.
pub fn gateway_events(input: &[u8]) {
    let Ok(mut event) = serde_json::from_slice::<Value>(input) else { return };
    let path = event["rawPath"].as_str().unwrap_or_default();
    if !path.starts_with('/') {
        return;
    }
    if event["isBase64Encoded"] == true
        && STANDARD.decode(event["body"].as_str().unwrap_or_default()).is_err()
    {
        return;
    }
    let Some(headers) = event["headers"].as_object_mut() else { return };
    headers.retain(|name, _| !["host", "x-forwarded-proto"].contains(&name.to_ascii_lowercase().as_str()));
    headers.insert("host".to_owned(), "api.rolecall.test".into());
    let Some(context) = event["requestContext"].as_object_mut() else { return };
    context.insert("stage".to_owned(), "$default".into());
    // Such events never come from AWS.
    if serde_json::from_value::<LambdaRequest>(event.clone()).is_err() {
        return;
    }
    if let Ok(response) = UNCHECKED.run(|gateway| gateway.invoke_event(event)) {
        assert_ordinary(&response);
    }
}

/// The first line is a method and a path with a query. Headers follow, then an empty line, and then the body.
pub fn requests(input: &[u8]) {
    let Some(request) = parse(input) else { return };
    let (path, method) = (request.uri().path().to_owned(), request.method().clone());
    // A provider's signature proves that the body is its own, whatever the media type is.
    let is_signed = path.starts_with("/webhooks/");
    if is_signed && request.headers().get("content-type").is_none_or(|media| media != "application/json") {
        return;
    }
    let authorization = request.headers().get("authorization").map(|value| text(value.as_bytes()));
    let keys = credential_keys().expect("keys");
    let credential = match Caller::read(authorization.as_deref(), &keys) {
        Caller::Presented(credential) => Some(credential),
        Caller::Anonymous | Caller::Rejected(_) => None,
    };
    let response = CHECKED.run(|gateway| gateway.send(request, SOURCE));
    let violations = MONITOR.take_violations();
    assert!(violations.is_empty(), "{violations:#?}");
    if response.headers().contains_key("x-request-id") {
        assert_ordinary(&response);
    }
    if response.status().is_success() && path.starts_with("/api/v1/") && path != PUBLIC {
        assert!(credential.is_some(), "{method} {path}");
    }
    let owner = DEMOS[0].tenant(Mode::Live).expect("a tenant");
    if credential.is_some_and(|credential| credential.tenant() != owner)
        && let Ok(body) = serde_json::from_slice(response.body())
    {
        assert!(!has_recorded_id(&body), "{method} {path}: {body}");
    }
}

fn parse(input: &[u8]) -> Option<Request<Bytes>> {
    let (line, mut rest) = first_line(input);
    let line = str::from_utf8(line).ok()?;
    let (method, target) = line.split_once(' ')?;
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).ok()?)
        .uri(target)
        .header("host", "api.rolecall.test");
    loop {
        let (header, after) = first_line(rest);
        rest = after;
        if header.is_empty() {
            break;
        }
        let (name, value) =
            text(header).split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()))?;
        request = request.header(name, value);
    }
    request.body(Bytes::copy_from_slice(rest)).ok()
}

/// Whether a response has the id of a record of the sample events.
fn has_recorded_id(body: &Value) -> bool {
    match body {
        Value::Number(number) => number.as_u64().is_some_and(|number| RECORDED.contains(&number)),
        Value::Array(items) => items.iter().any(has_recorded_id),
        Value::Object(fields) => fields.values().any(has_recorded_id),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Checks what all responses of functions have in common.
fn assert_ordinary(response: &Response<Bytes>) {
    let (status, headers) = (response.status(), response.headers());
    assert!(status != 500, "{status} {}", text(response.body()));
    let header = |headers: &HeaderMap, name: &str| {
        headers.get(name).map(|value| text(value.as_bytes())).unwrap_or_default()
    };
    assert_eq!(header(headers, "x-content-type-options"), "nosniff");
    let content_type = header(headers, "content-type");
    if content_type.starts_with("text/html") {
        assert!(headers.contains_key("content-security-policy"));
    }
    if content_type == "application/json"
        && !response.body().is_empty()
        && !headers.contains_key("content-encoding")
    {
        let body: Value = serde_json::from_slice(response.body()).expect("JSON");
        if status.is_client_error() || status.is_server_error() {
            // A JSON-RPC error is an object.
            assert!(body["error"].is_string() || body["jsonrpc"] == "2.0", "{body}");
        }
    }
}
