//! Events of the gateway, before `lambda_http` turns them into requests.

use lambda_http::http::header::HOST;
use lambda_http::http::{HeaderValue, Uri};
use lambda_http::request::LambdaRequest;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use url::{Position, Url};

use super::headers;

/// The characters that a URI's query cannot contain, besides those outside ASCII.
const INVALID: AsciiSet = CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// Makes an event whose scheme, host, path and query are an address. `lambda_http` puts them together and panics if they are
/// none.
pub fn with_valid_address(mut event: LambdaRequest) -> LambdaRequest {
    let LambdaRequest::ApiGatewayV2(request) = &mut event else { return event };
    // Nothing uses the scheme.
    request.headers.remove("x-forwarded-proto");
    request.request_context.domain_name.take_if(|name| !is_host(name));
    let host = request.headers.get(HOST).map(HeaderValue::as_bytes).and_then(headers::text);
    if !host.is_some_and(is_host) {
        // The domain takes its place, if there is one.
        request.headers.remove(HOST);
    }
    if let Some(path) = &mut request.raw_path
        && !path.starts_with('/')
    {
        path.insert(0, '/');
    }
    if let Some(query) = &mut request.raw_query_string {
        // Clients may send characters without an escape.
        *query = utf8_percent_encode(query, &INVALID).to_string();
    }
    event
}

/// Whether a text is a host in a URI, with or without a port.
fn is_host(text: &str) -> bool {
    let url = Url::parse(&format!("https://{text}/"));
    url.is_ok_and(|url| &url[Position::BeforePath..] == "/" && url.as_str().parse::<Uri>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_http::{Request, RequestExt};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn event(path: &str, query: &str) -> Value {
        json!({
            "version": "2.0",
            "routeKey": "GET /api/v1/roles",
            "rawPath": path,
            "rawQueryString": query,
            "headers": { "host": "api.rolecall.test", "x-forwarded-proto": "https" },
            "requestContext": {
                "domainName": "gateway.rolecall.test", "http": { "method": "GET" }, "stage": "$default",
            },
        })
    }

    fn request(event: &Value) -> Request {
        with_valid_address(serde_json::from_value(event.clone()).unwrap()).into()
    }

    #[test]
    fn a_valid_address_is_unchanged() {
        let query = "a=%22b%22&c=d+e&f[]=(g)|{h}^`!~'*%";
        let mut event = event("/api/v1/roles", query);
        for host in ["api.rolecall.test", "localhost:3000", "[::1]:3000", "127.0.0.1"] {
            event["headers"]["host"] = host.into();
            let request = request(&event);
            assert_eq!(request.uri().to_string(), format!("https://{host}/api/v1/roles?{query}"));
            assert_eq!(request.headers()["host"], host);
        }
    }

    #[test]
    fn the_domain_takes_the_place_of_a_host_that_is_none() {
        let mut event = event("/api/v1/roles", "");
        for host in ["", "a b", "a/b", "a:b", "a?b", "a#b", "[", "%", "a\\b"] {
            event["headers"]["host"] = host.into();
            let request = request(&event);
            assert_eq!(request.uri().to_string(), "https://gateway.rolecall.test/api/v1/roles", "{host}");
            assert!(request.headers().get("host").is_none(), "{host}");
        }
        event["requestContext"]["domainName"] = "a b".into();
        assert_eq!(request(&event).uri().to_string(), "/api/v1/roles", "there is neither");
    }

    proptest! {
        #[test]
        fn any_query_keeps_its_parameters(value in "[^&+%]{0,20}") {
            let request = request(&event("/api/v1/roles", &format!("a=b&c={value}")));
            let parameters = request.query_string_parameters();
            prop_assert_eq!((parameters.first("a"), parameters.first("c")), (Some("b"), Some(value.as_str())));
        }

        #[test]
        fn any_event_becomes_a_request(
            host in prop::option::of("([a-z0-9.:\\[\\]@%/\\\\ ]|[ -~]){0,12}"),
            domain in prop::option::of("([a-z0-9.:\\[\\]@%/\\\\]|\\PC|[\t\n]){0,12}"),
            scheme in prop::option::of("[a-z]{0,5}[ -~]{0,3}"),
            path in prop::option::of("/?(\\PC|[:/?#%]){0,20}"),
            query in prop::option::of("(?s).{0,20}"),
        ) {
            let mut event = event("", "");
            event["rawPath"] = json!(path);
            event["rawQueryString"] = json!(query);
            event["requestContext"]["domainName"] = json!(domain);
            let given = [("host", host), ("x-forwarded-proto", scheme)];
            event["headers"] = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect();
            let request = request(&event);
            let path = path.unwrap_or_default();
            let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
            let is_kept = request.raw_http_path() == format!("{slash}{path}") || path.is_empty();
            prop_assert!(is_kept, "{}", request.raw_http_path());
        }
    }
}
