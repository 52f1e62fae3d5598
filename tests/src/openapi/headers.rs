//! The headers of responses.

use serde_json::{Map, Value, json};
use shared::http::ReplyFormat;

use super::operation::Operation;
use super::reference::reference;
use super::words::capitalized;

/// The headers of every response in this format.
pub(super) fn always(format: ReplyFormat) -> Map<String, Value> {
    let names: &[&str] = match format {
        ReplyFormat::OAuth => &[
            "X-Request-Id",
            "X-Content-Type-Options",
            "Strict-Transport-Security",
            "Cache-Control",
            "Pragma",
            "Access-Control-Allow-Origin",
            "Access-Control-Expose-Headers",
        ],
        _ => &["X-Request-Id", "X-Content-Type-Options", "Strict-Transport-Security", "Cache-Control"],
    };
    names.iter().map(|name| ((*name).to_owned(), reference("headers", name))).collect()
}

/// The headers of every response to a request with a valid credential.
pub(super) fn admitted() -> Map<String, Value> {
    let quota = ["RateLimit", "RateLimit-Policy"].map(|name| (name.to_owned(), reference("headers", name)));
    always(ReplyFormat::Api).into_iter().chain(quota).collect()
}

/// The headers of an operation's successful response.
pub(super) fn success_headers(operation: &Operation) -> Map<String, Value> {
    let mut headers = if operation.is_scoped() { admitted() } else { always(operation.format) };
    let mut add = |name: &str| headers.insert(header_name(name), reference("headers", &header_name(name)));
    for name in operation.headers {
        add(name);
    }
    if operation.is_scoped() && operation.method() == "POST" && !operation.is_rpc() {
        add("idempotency-replayed");
    }
    headers
}

/// The canonical form of a header's name, such as `Retry-After`.
pub(super) fn header_name(name: &str) -> String {
    match name {
        "etag" => "ETag".to_owned(),
        "www-authenticate" => "WWW-Authenticate".to_owned(),
        name => name.split('-').map(capitalized).collect::<Vec<_>>().join("-"),
    }
}

/// The header components.
pub(super) fn headers() -> Value {
    json!({
        "X-Request-Id": {
            "description": "The id of the request, which also appears in the logs.",
            "required": true,
            "schema": { "type": "string" },
        },
        "Cache-Control": {
            "description": "`no-store`, except for documents that may be cached.",
            "required": true,
            "schema": { "type": "string" },
        },
        "Pragma": {
            "description": "The HTTP/1.0 equivalent of `Cache-Control` (RFC 6749, section 5.1).",
            "required": true,
            "schema": { "const": "no-cache" },
        },
        "Access-Control-Allow-Origin": {
            "description": "Allows scripts from any origin to read the response.",
            "required": true,
            "schema": { "const": "*" },
        },
        "Access-Control-Expose-Headers": {
            "description": "The response headers that scripts from other origins may read.",
            "required": true,
            "schema": { "const": "WWW-Authenticate" },
        },
        "X-Content-Type-Options": {
            "description": "Prevents browsers from guessing another content type.",
            "required": true,
            "schema": { "const": "nosniff" },
        },
        "Strict-Transport-Security": {
            "description": "Tells browsers to use only HTTPS from now on. Sent only over HTTPS.",
            "schema": { "const": "max-age=31536000; includeSubDomains" },
        },
        "ETag": {
            "description": "The version of the resource, as a strong entity tag (RFC 9110, section 8.8.3).",
            "required": true,
            "schema": { "type": "string", "pattern": "^\"[!#-~]+\"$" },
        },
        "Location": {
            "description": "The URL of the created resource.",
            "required": true,
            "schema": { "type": "string", "format": "uri" },
        },
        "Link": {
            "description": "The URL of the next page, with `rel=\"next\"` (RFC 8288). Absent on the last page.",
            "schema": { "type": "string" },
        },
        "Idempotency-Replayed": {
            "description": "Present if this is the stored response of an earlier request with the same key.",
            "schema": { "const": "true" },
        },
        "RateLimit": {
            "description": "The number of requests left today and the number of seconds until midnight UTC. Sent only \
                            on the Free plan.",
            "schema": { "type": "string", "pattern": "^\"daily\";r=[0-9]+;t=[0-9]+$" },
            "example": "\"daily\";r=99;t=52200",
        },
        "RateLimit-Policy": {
            "description": "The number of requests per day and the length of a day in seconds. Sent only on the Free \
                            plan.",
            "schema": { "type": "string", "pattern": "^\"daily\";q=[0-9]+;w=86400$" },
            "example": "\"daily\";q=100;w=86400",
        },
        "Retry-After": retry_after(true),
        "Retry-After-if-known": retry_after(false),
        "WWW-Authenticate": challenge(true),
        "WWW-Authenticate-if-known": challenge(false),
    })
}

fn retry_after(required: bool) -> Value {
    json!({
        "description": "The number of seconds to wait before retrying.",
        "required": required,
        "schema": { "type": "integer", "minimum": 1 },
    })
}

fn challenge(required: bool) -> Value {
    json!({
        "description": "The required authentication: a credential (RFC 6750, RFC 9728), a client or a signature.",
        "required": required,
        "schema": { "type": "string", "pattern": "^(?:Basic|Bearer|Signature) " },
    })
}
