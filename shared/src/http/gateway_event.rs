//! Events of the gateway, before `lambda_http` turns them into requests.

use lambda_http::request::LambdaRequest;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// The characters that a URI's query cannot contain, besides those outside ASCII.
const INVALID: AsciiSet = CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// Escapes the characters of a query that a URI cannot contain. Clients may send them without an escape, and `lambda_http`
/// panics on such a query.
pub fn with_escaped_query(mut event: LambdaRequest) -> LambdaRequest {
    if let LambdaRequest::ApiGatewayV2(request) = &mut event
        && let Some(query) = &mut request.raw_query_string
    {
        *query = utf8_percent_encode(query, &INVALID).to_string();
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_http::{Request, RequestExt};
    use proptest::prelude::*;
    use serde_json::json;

    fn request(query: &str) -> Request {
        let event = json!({
            "version": "2.0",
            "routeKey": "GET /api/v1/roles",
            "rawPath": "/api/v1/roles",
            "rawQueryString": query,
            "headers": { "host": "api.rolecall.test" },
            "requestContext": { "http": { "method": "GET" }, "stage": "$default" },
        });
        with_escaped_query(serde_json::from_value(event).unwrap()).into()
    }

    #[test]
    fn a_valid_query_is_unchanged() {
        let query = "a=%22b%22&c=d+e&f[]=(g)|{h}^`!~'*%";
        assert_eq!(request(query).uri().query(), Some(query));
    }

    proptest! {
        #[test]
        fn any_query_keeps_its_parameters(value in "[^&+%]{0,20}") {
            let request = request(&format!("a=b&c={value}"));
            let parameters = request.query_string_parameters();
            prop_assert_eq!((parameters.first("a"), parameters.first("c")), (Some("b"), Some(value.as_str())));
        }
    }
}
