//! An in-process API Gateway HTTP API. It turns HTTP requests into events of payload format 2.0, passes them to the
//! functions through `lambda_http`'s own conversion, and turns the results into HTTP responses.
//!
//! It behaves like AWS in everything that a function can observe: paths and path parameters are decoded, but the query
//! string is not; headers and query parameters with the same name are joined by commas; bodies that are not text are in
//! base64.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{CONTENT_TYPE, COOKIE, HOST, USER_AGENT};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use lambda_http::lambda_runtime::Context;
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Body, LambdaEvent, Service};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use shared::clock::Clock;
use shared::http::with_valid_address;
use shared::random::Random;
use tokio::sync::Semaphore;
use url::Url;

use crate::template::TemplateRoute;

/// A function that the gateway can invoke.
pub type Function = Arc<dyn Fn(lambda_http::Request) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

/// The maximum size of a request body, in bytes.
// The limits are those of API Gateway and of Lambda.
pub const MAX_BODY: usize = 10 * 1024 * 1024;
/// The maximum size of an event, in bytes: that of a synchronous invocation. A body that is not text is in the event in
/// base64, so forms with a file reach this limit at 4.7 MB.
pub const MAX_EVENT: usize = 6_291_556;
/// The maximum total size of the request line and the headers, in bytes.
const MAX_HEADERS: usize = 10_240;
/// The maximum number of functions that run at the same time. Further requests wait. Lambda has a higher limit.
const CONCURRENCY: usize = 32;
/// The time limit of a function.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The gateway: routes and the functions that answer them.
pub struct Gateway {
    routes: Vec<Route>,
    default: Option<Function>,
    running: Semaphore,
    clock: Clock,
    random: Random,
}

struct Route {
    key: String,
    /// `None` for any method.
    method: Option<Method>,
    segments: Vec<Segment>,
    function: Function,
}

enum Segment {
    Literal(String),
    Parameter(String),
}

/// An error response of the gateway itself.
fn gateway_error(status: StatusCode, message: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(json!({ "message": message }).to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

impl Gateway {
    /// Creates a gateway for `routes`. `functions` contains the functions by their logical ids.
    pub fn new(
        routes: &[TemplateRoute],
        functions: &BTreeMap<String, Function>,
        clock: Clock,
        random: Random,
    ) -> Result<Self, String> {
        let running = Semaphore::new(CONCURRENCY);
        let mut gateway = Self { routes: Vec::new(), default: None, running, clock, random };
        for route in routes {
            let function = functions.get(&route.function).cloned();
            let function = function
                .ok_or_else(|| format!("The function {} of {} does not exist.", route.function, route.key))?;
            match route.key.split_once(' ') {
                None => gateway.default = Some(function),
                Some((method, path)) => {
                    let method = match method {
                        "ANY" => None,
                        method => Some(method.parse().map_err(|_| format!("{} has no method.", route.key))?),
                    };
                    let segments = path.split('/').map(Segment::parse).collect();
                    gateway.routes.push(Route { key: route.key.clone(), method, segments, function });
                }
            }
        }
        Ok(gateway)
    }

    /// Answers a request.
    pub async fn send(&self, request: Request<Bytes>, source: IpAddr) -> Response<Bytes> {
        if header_size(&request) > MAX_HEADERS {
            return gateway_error(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "Request Header Fields Too Large",
            );
        }
        if request.body().len() > MAX_BODY {
            return gateway_error(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large");
        }
        if !has_valid_host(request.headers()) || !request.uri().path().starts_with('/') {
            return gateway_error(StatusCode::BAD_REQUEST, "Bad Request");
        }
        let Some((route_key, parameters, function)) = self.route(request.method(), request.uri().path())
        else {
            return gateway_error(StatusCode::NOT_FOUND, "Not Found");
        };
        let event = self.event(&request, source, route_key, &parameters).to_string();
        if event.len() > MAX_EVENT {
            return gateway_error(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large");
        }
        // This fails only if the semaphore is closed, which never happens.
        let permit = self.running.acquire().await;
        let mut response = invoke(function, event).await;
        drop(permit);
        if request.method() == Method::HEAD {
            *response.body_mut() = Bytes::new();
        }
        response
    }

    /// Answers an event, such as one from `events/`.
    pub async fn invoke_event(&self, event: Value) -> Result<Response<Bytes>, String> {
        let key = event["routeKey"].as_str().unwrap_or_default();
        let function = match self.routes.iter().find(|route| route.has_key(key)) {
            Some(route) => Some(&route.function),
            None => self.default.as_ref().filter(|_| key == "$default"),
        };
        Ok(invoke(function.ok_or_else(|| format!("the route {key} does not exist"))?, event.to_string())
            .await)
    }

    /// Finds the most specific route. A literal wins over a parameter in the first segment where two routes differ, and
    /// then a method wins over any method.
    fn route(&self, method: &Method, path: &str) -> Option<(&str, Map<String, Value>, &Function)> {
        let path: Vec<_> = path.split('/').collect();
        let answers =
            |route: &&Route| route.method.as_ref().is_none_or(|own| own == method) && route.matches(&path);
        let matching = self.routes.iter().filter(answers);
        match matching.min_by_key(|route| (route.parameter_positions(), route.method.is_none())) {
            Some(route) => Some((&route.key, route.parameters(&path), &route.function)),
            None => self.default.as_ref().map(|function| ("$default", Map::new(), function)),
        }
    }

    /// The event that AWS would create for a request.
    fn event(
        &self,
        request: &Request<Bytes>,
        source: IpAddr,
        route_key: &str,
        parameters: &Map<String, Value>,
    ) -> Value {
        let headers = request.headers();
        let text =
            |name: HeaderName| headers.get(name).map(|value| lossy(value.as_bytes())).unwrap_or_default();
        let host = text(HOST);
        let now = self.clock.now();
        let path = decoded(request.uri().path());
        let query = request.uri().query().unwrap_or_default();
        let body = request.body();
        let (body, is_base64_encoded) = match std::str::from_utf8(body) {
            _ if body.is_empty() => (Value::Null, false),
            // AWS looks only at the content type. This gateway also encodes text that is not UTF-8, so that no byte is
            // lost.
            Ok(body) if is_text(&text(CONTENT_TYPE)) => (json!(body), false),
            _ => (json!(base64(body)), true),
        };
        let mut event = json!({
            "version": "2.0",
            "routeKey": route_key,
            "rawPath": path,
            "rawQueryString": query,
            "headers": self.headers(headers, source),
            "requestContext": {
                "accountId": "123456789012",
                "apiId": "local",
                "domainName": host,
                "domainPrefix": host.split('.').next(),
                "http": {
                    "method": request.method().as_str(),
                    "path": path,
                    "protocol": "HTTP/1.1",
                    "sourceIp": source.to_string(),
                    "userAgent": text(USER_AGENT),
                },
                "requestId": format!("{}=", self.random.token(15)),
                "routeKey": route_key,
                "stage": "$default",
                "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
                "timeEpoch": now.as_millisecond(),
            },
            "isBase64Encoded": is_base64_encoded,
        });
        let cookies: Vec<_> =
            headers.get_all(COOKIE).iter().flat_map(|value| cookies(value.as_bytes())).collect();
        for (name, value, present) in [
            ("body", body.clone(), !body.is_null()),
            ("cookies", json!(cookies), !cookies.is_empty()),
            ("pathParameters", json!(parameters), !parameters.is_empty()),
            ("queryStringParameters", json!(query_parameters(query)), !query.is_empty()),
        ] {
            if present {
                event[name] = value;
            }
        }
        event
    }

    fn headers(&self, headers: &HeaderMap, source: IpAddr) -> BTreeMap<String, String> {
        let mut joined = BTreeMap::<String, String>::new();
        for (name, value) in headers.iter().filter(|(name, _)| *name != COOKIE) {
            let value = lossy(value.as_bytes());
            joined
                .entry(name.as_str().to_owned())
                .and_modify(|all| *all = format!("{all},{value}"))
                .or_insert(value);
        }
        let forwarded = joined.entry("x-forwarded-for".to_owned()).or_default();
        *forwarded = if forwarded.is_empty() { source.to_string() } else { format!("{forwarded}, {source}") };
        let host = joined.get("host").and_then(|host| host.parse::<Authority>().ok());
        let port = host.and_then(|host| host.port_u16()).unwrap_or(80);
        joined.insert("x-forwarded-port".to_owned(), port.to_string());
        joined.insert("x-forwarded-proto".to_owned(), "http".to_owned());
        let trace = format!("Root=1-{:08x}-{}", self.clock.now().as_second(), self.random.token(24));
        joined.entry("x-amzn-trace-id".to_owned()).or_insert(trace);
        joined
    }
}

impl Segment {
    fn parse(text: &str) -> Self {
        match text.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => Self::Parameter(name.to_owned()),
            None => Self::Literal(text.to_owned()),
        }
    }
}

impl Route {
    /// Whether an event with this route key belongs to the route. A route for any method has one key, but events for a
    /// certain method may name it.
    fn has_key(&self, key: &str) -> bool {
        let path = |key: &str| key.split_once(' ').map(|(_, path)| path.to_owned());
        self.key == key || (self.method.is_none() && path(&self.key) == path(key))
    }

    fn matches(&self, path: &[&str]) -> bool {
        let fits = |(segment, actual): (&Segment, &&str)| match segment {
            Segment::Literal(text) => text == actual,
            Segment::Parameter(_) => !actual.is_empty(),
        };
        self.segments.len() == path.len() && self.segments.iter().zip(path).all(fits)
    }

    /// Which segments are parameters. The most specific route has the smallest list.
    fn parameter_positions(&self) -> Vec<bool> {
        self.segments.iter().map(|segment| matches!(segment, Segment::Parameter(_))).collect()
    }

    fn parameters(&self, path: &[&str]) -> Map<String, Value> {
        let parameter = |(segment, value): (&Segment, &&str)| match segment {
            Segment::Parameter(name) => Some((name.clone(), json!(decoded(value)))),
            Segment::Literal(_) => None,
        };
        self.segments.iter().zip(path).filter_map(parameter).collect()
    }
}

/// Sends an event to a function. The function runs in a separate task, so a panic or hang affects only its own request.
async fn invoke(function: &Function, event: String) -> Response<Bytes> {
    let function = function.clone();
    let invocation = tokio::spawn(async move {
        let request: LambdaRequest = serde_json::from_str(&event)?;
        let service = move |request: lambda_http::Request| {
            let response = function(request);
            async move { Ok::<_, serde_json::Error>(response.await) }
        };
        let mut adapter = Adapter::from(lambda_http::service_fn(service));
        let event = LambdaEvent::new(with_valid_address(request), Context::default());
        let response = adapter.call(event).await?;
        serde_json::to_value(response)
    });
    match tokio::time::timeout(TIMEOUT, invocation).await {
        Err(_) => gateway_error(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
        Ok(Ok(Ok(response))) => http_response(response)
            .unwrap_or_else(|| gateway_error(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")),
        Ok(_) => gateway_error(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
    }
}

/// A function's response, in payload format 2.0.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionResponse {
    status_code: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    cookies: Vec<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

fn http_response(response: Value) -> Option<Response<Bytes>> {
    let response: FunctionResponse = serde_json::from_value(response).ok()?;
    let body = response.body.unwrap_or_default();
    let body = if response.is_base64_encoded { from_base64(&body)? } else { body.into_bytes() };
    let mut http = Response::builder().status(response.status_code);
    for (name, value) in response.headers {
        http = http.header(name, value);
    }
    for cookie in response.cookies {
        http = http.header("set-cookie", cookie);
    }
    http.body(Bytes::from(body)).ok()
}

fn header_size(request: &Request<Bytes>) -> usize {
    let line = request.method().as_str().len()
        + request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>() + line
}

/// Whether the request has exactly one `Host` header that is valid in a URL.
fn has_valid_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next().map(|host| str::from_utf8(host.as_bytes())), hosts.next()) {
        (Some(Ok(host)), None) => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
            host.chars().all(allowed) && Url::parse(&format!("http://{host}/")).is_ok()
        }
        _ => false,
    }
}

/// Whether AWS passes bodies of this type as text. It passes bodies of other types, including forms, in base64.
fn is_text(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media.starts_with("text/")
        || ["+json", "+xml"].iter().any(|suffix| media.ends_with(suffix))
        || ["application/json", "application/xml", "application/javascript"].contains(&media.as_str())
}

fn query_parameters(query: &str) -> BTreeMap<String, String> {
    let mut joined = BTreeMap::<String, String>::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |text: &str| decoded(&text.replace('+', " "));
        let value = plain(value);
        joined.entry(plain(name)).and_modify(|all| *all = format!("{all},{value}")).or_insert(value);
    }
    joined
}

fn cookies(header: &[u8]) -> Vec<String> {
    lossy(header)
        .split(';')
        .map(|cookie| cookie.trim().to_owned())
        .filter(|cookie| !cookie.is_empty())
        .collect()
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn base64(bytes: &[u8]) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes)
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).ok()
}
