//! Tests of the gateway: the events that functions receive, and the responses that clients receive.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "in a test, that is a failure")]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderValue, Method, Request, Response};
use lambda_http::request::RequestContext;
use lambda_http::{Body, RequestExt};
use proptest::prelude::*;
use rolecall_local::gateway::{Function, Gateway};
use rolecall_local::template::TemplateRoute;
use serde_json::{Value, json};
use shared::clock::{Clock, Timestamp};
use shared::random::Random;

/// A function that responds with the request it received. `/panic` panics, `/cookies` sets two cookies, `/bytes` responds
/// with bytes.
fn echo() -> Function {
    Arc::new(|request: lambda_http::Request| {
        async move {
            match request.raw_http_path() {
                "/panic" => panic!("a bug in a function"),
                "/cookies" => {
                    let response =
                        Response::builder().header("set-cookie", "a=1; Path=/").header("set-cookie", "b=2");
                    return response.body(Body::Empty).unwrap();
                }
                "/bytes" => {
                    let response = Response::builder().header("content-type", "application/octet-stream");
                    return response.body(Body::Binary(vec![0, 159, 146, 150])).unwrap();
                }
                _ => {}
            }
            let headers: Vec<_> = request
                .headers()
                .iter()
                .map(|(name, value)| {
                    (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
                })
                .collect();
            let query: Vec<_> =
                request.query_string_parameters_ref().into_iter().flat_map(|query| query.iter()).collect();
            let Some(RequestContext::ApiGatewayV2(context)) = request.request_context_ref() else {
                panic!("not an event of payload format 2.0")
            };
            let received = json!({
                "route": context.route_key,
                "time": context.time,
                "request_id": context.request_id,
                "source": context.http.source_ip,
                "method": request.method().as_str(),
                "path": request.raw_http_path(),
                "id": request.path_parameters_ref().and_then(|path| path.first("id")),
                "query": query,
                "headers": headers,
                "body": request.body().as_ref() as &[u8],
                "binary": matches!(request.body(), Body::Binary(_)),
            });
            Response::new(Body::Text(received.to_string()))
        }
        .boxed()
    })
}

fn gateway() -> Gateway {
    let keys = [
        "GET /things",
        "POST /things",
        "GET /things/{id}",
        "GET /things/new",
        "POST /things/{id}/go",
        "ANY /pages",
        "POST /pages",
        "$default",
    ];
    let routes = keys.map(|key| TemplateRoute { key: key.to_owned(), function: "Echo".to_owned() });
    let functions = BTreeMap::from([("Echo".to_owned(), echo())]);
    let clock = Clock::from_fn(|| "2026-11-20T09:05:03Z".parse::<Timestamp>().unwrap());
    Gateway::new(&routes, &functions, clock, Random::seeded(1)).unwrap()
}

async fn send(request: http::request::Builder, body: impl Into<Bytes>) -> (u16, Value, Response<Bytes>) {
    let mut request = request.body(body.into()).unwrap();
    request.headers_mut().entry("host").or_insert("api.example:8080".parse().unwrap());
    let response = gateway().send(request, Ipv4Addr::LOCALHOST.into()).await;
    (response.status().as_u16(), serde_json::from_slice(response.body()).unwrap_or_default(), response)
}

fn header<'s>(received: &'s Value, name: &str) -> Option<&'s str> {
    received["headers"].as_array()?.iter().find(|pair| pair[0] == name)?[1].as_str()
}

#[tokio::test]
async fn the_most_specific_route_wins_and_other_paths_go_to_default() {
    for (method, path, route) in [
        ("GET", "/things", "GET /things"),
        ("POST", "/things", "POST /things"),
        ("GET", "/things/17", "GET /things/{id}"),
        ("GET", "/things/new", "GET /things/new"),
        ("GET", "/things/new%20", "GET /things/{id}"),
        ("GET", "/things/%2e%2e", "GET /things/{id}"),
        ("POST", "/things/17/go", "POST /things/{id}/go"),
        ("GET", "/things/", "$default"),
        ("GET", "/things/17/", "$default"),
        ("POST", "/things//go", "$default"),
        ("PUT", "/things", "$default"),
        ("GET", "/pages", "ANY /pages"),
        ("POST", "/pages", "POST /pages"),
        ("DELETE", "/pages", "ANY /pages"),
        ("GET", "/", "$default"),
    ] {
        let (_, received, _) = send(Request::builder().method(method).uri(path), "").await;
        assert_eq!(received["route"], route, "{method} {path}");
    }
}

#[tokio::test]
async fn paths_are_decoded_and_query_strings_are_not() {
    let request = Request::get("/things/caf%C3%A9%20%3F%23%2F%25?a=1&a=2&b=x%26y&c&d=%E2%82%AC+e");
    let (_, received, _) = send(request, "").await;
    assert_eq!(received["path"], "/things/café ?#/%");
    assert_eq!(received["id"], "café ?#/%");
    let mut query: Vec<_> = received["query"].as_array().unwrap().iter().map(Value::to_string).collect();
    query.sort_unstable();
    assert_eq!(query, [r#"["a","1"]"#, r#"["a","2"]"#, r#"["b","x&y"]"#, r#"["c",""]"#, r#"["d","€ e"]"#]);
    for path in ["/things/%ff%fe", "/things/%zz", "/things/%0a%0d", "/things/%00", "/things/%"] {
        assert_eq!(send(Request::get(path), "").await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn headers_with_the_same_name_are_joined_and_forwarding_headers_are_added() {
    let request = Request::get("/things")
        .header("X-Two", "a")
        .header("x-two", "b")
        .header("cookie", "one=1; two=2")
        .header("x-forwarded-for", "9.9.9.9")
        .header("x-forwarded-proto", "gopher");
    let (_, received, _) = send(request, "").await;
    assert_eq!(header(&received, "x-two"), Some("a,b"));
    assert_eq!(header(&received, "cookie"), Some("one=1; two=2"));
    assert_eq!(header(&received, "x-forwarded-for"), Some("9.9.9.9, 127.0.0.1"));
    assert_eq!(header(&received, "x-forwarded-port"), Some("8080"));
    assert_eq!(header(&received, "x-forwarded-proto"), None, "nothing may use the scheme");
    assert!(header(&received, "x-amzn-trace-id").is_some_and(|trace| trace.starts_with("Root=1-")));
    assert_eq!(
        (received["time"].as_str(), received["source"].as_str()),
        (Some("20/Nov/2026:09:05:03 +0000"), Some("127.0.0.1"))
    );
    assert_eq!(received["request_id"].as_str().map(str::len), Some(16));
}

#[tokio::test]
async fn cookies_keep_their_characters_and_lose_bytes_that_are_not_utf_8() {
    for (cookie, expected) in [
        ("promo=Grüße; own=1".as_bytes(), "promo=Grüße; own=1"),
        (b"promo=Gr\xfc\xdfe; own=1", "promo=Gr\u{fffd}\u{fffd}e; own=1"),
    ] {
        let cookie = HeaderValue::from_bytes(cookie).unwrap();
        let (_, received, _) = send(Request::get("/things").header("cookie", cookie), "").await;
        assert_eq!(header(&received, "cookie"), Some(expected));
    }
}

#[tokio::test]
async fn bodies_arrive_unchanged() {
    for (media, body, binary) in [
        ("application/json", &b"{\"a\":\"\xc3\xa9\"}"[..], false),
        ("text/plain; charset=utf-8", b"x", false),
        ("application/problem+json", b"{}", false),
        ("application/json", b"\xff\xfe\x00", true),
        ("application/octet-stream", b"plain", true),
        ("application/x-www-form-urlencoded", b"a=b", true),
        ("", b"plain", true),
    ] {
        let (_, received, _) =
            send(Request::post("/things").header("content-type", media), body.to_vec()).await;
        let bytes: Vec<u8> = serde_json::from_value(received["body"].clone()).unwrap();
        assert_eq!((bytes.as_slice(), &received["binary"]), (body, &json!(binary)), "{media}");
    }
}

#[tokio::test]
async fn responses_keep_cookies_and_bytes() {
    let (_, _, response) = send(Request::get("/cookies"), "").await;
    let cookies: Vec<_> = response.headers().get_all("set-cookie").iter().collect();
    assert_eq!(cookies, ["a=1; Path=/", "b=2"]);
    assert_eq!(send(Request::get("/bytes"), "").await.2.body().as_ref(), [0, 159, 146, 150]);
    assert!(send(Request::head("/things"), "").await.2.body().is_empty());
}

#[tokio::test]
async fn a_panic_in_a_function_is_an_internal_error() {
    let (status, body, _) = send(Request::get("/panic"), "").await;
    assert_eq!((status, body), (500, json!({ "message": "Internal Server Error" })));
}

#[tokio::test]
async fn oversized_requests_and_invalid_hosts_are_rejected() {
    let filled = |size: usize| Request::get("/things").header("x-fill", "a".repeat(size));
    // The request line and the other headers take 3 + 7 + 4 + 16 + 6 bytes.
    assert_eq!(send(filled(10_240 - 36), "").await.0, 200);
    assert_eq!(send(filled(10_240 - 35), "").await.0, 431);
    // A body that is not text is in base64 in the event.
    for (media, size, status) in [
        ("text/plain", 6_200_000, 200),
        ("text/plain", 6_300_000, 413),
        ("application/pdf", 4_700_000, 200),
        ("application/pdf", 4_725_000, 413),
        ("text/plain", 10 * 1024 * 1024 + 1, 413),
    ] {
        let request = Request::post("/things").header("content-type", media);
        assert_eq!(send(request, vec![b'x'; size]).await.0, status, "{size} bytes of {media}");
    }
    for host in ["", "a b", "a/b", "user@host", "a,b", "host:port:1", "host:99999", "1.2.3.999", "[::z]", "é"]
    {
        let host = http::HeaderValue::from_bytes(host.as_bytes()).unwrap();
        assert_eq!(send(Request::get("/things").header("host", host.clone()), "").await.0, 400, "{host:?}");
    }
}

#[tokio::test]
async fn a_request_target_must_be_a_path() {
    for (method, target) in [("OPTIONS", "*"), ("CONNECT", "api.example:8080")] {
        assert_eq!(send(Request::builder().method(method).uri(target), "").await.0, 400, "{method} {target}");
    }
}

#[tokio::test]
async fn the_forwarded_port_is_the_port_of_the_host() {
    for (host, port) in
        [("h", "80"), ("h:", "80"), ("h:8080", "8080"), ("[::1]", "80"), ("[::1]:3000", "3000")]
    {
        let (_, received, _) = send(Request::get("/things").header("host", host), "").await;
        assert_eq!(header(&received, "x-forwarded-port"), Some(port), "{host}");
    }
}

#[tokio::test]
async fn a_route_needs_an_existing_function() {
    let routes = [TemplateRoute { key: "GET /x".to_owned(), function: "Gone".to_owned() }];
    let error = Gateway::new(&routes, &BTreeMap::new(), Clock::system(), Random::seeded(1)).err();
    assert_eq!(error.as_deref(), Some("The function Gone of GET /x does not exist."));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_request_that_hyper_accepts_gets_a_response(
        path in "/[!-~]{0,30}", name in "[a-z-]{1,12}", value in "[ -~]{0,30}", host in "([!-~]{0,20}|[a-z0-9.:\\[\\]-]{1,12}|[0-9.]{1,15}|[a-z]{1,3}:[0-9]{1,6})", body in any::<Vec<u8>>()
    ) {
        let request = Request::builder().method(Method::POST).uri(&path).header(&name, &value).header("host", &host).body(Bytes::from(body));
        if let Ok(request) = request {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let status = runtime.block_on(gateway().send(request, Ipv4Addr::LOCALHOST.into())).status();
            prop_assert!([200, 400].contains(&status.as_u16()), "{status}");
        }
    }
}
