//! The components of the document, which operations refer to.

use serde_json::{Map, Value, json};
use shared::http::{ErrorBody, Existing, OAuthError};
use shared::model::{Scope, Slug, VoiceProvider};
use utoipa::PartialSchema;

use crate::project::BASE_URL;

use super::errors;
use super::operation::{Operation, RequestContent};
use super::schema::{Schemas, value};
use super::source::Source;

/// Returns the schemas of responses, errors and requests by name.
pub(super) fn schemas(schemas: &Schemas, operations: &[Operation], source: &Source) -> Map<String, Value> {
    let mut named = schemas.of_responses();
    named.extend(error_schemas());
    for operation in operations {
        match &operation.content {
            RequestContent::Fields(fields) if operation.reads_body() && !fields.is_empty() => {
                fields.schemas(source, schemas, operation.output.name(), &mut named);
            }
            RequestContent::Payload { body, .. } if body.is_object() => {
                named.insert(body.name().to_owned(), schemas.of_request(body));
            }
            _ => {}
        }
    }
    named
}

/// `Error`, `Invalid` (which has messages), `OAuthError` and `GatewayError`. The first two share no codes, so clients
/// can tell them apart by `code`.
fn error_schemas() -> [(String, Value); 4] {
    let mut invalid = value(ErrorBody::schema());
    let fields = ["error", "code", "messages", "request_id"];
    let (invalid_codes, codes) =
        errors::codes().into_iter().partition::<Vec<_>, _>(|(status, _)| *status == 422);
    let words = |codes: Vec<(u16, &str)>| codes.into_iter().map(|(_, code)| code).collect::<Value>();
    invalid["properties"]["code"]["enum"] = words(invalid_codes);
    invalid["properties"]["messages"]["type"] = "array".into();
    invalid["properties"]["messages"]["minItems"] = 1.into();
    let mut existing = value(Existing::schema());
    existing["description"] = invalid["properties"]["existing"]["description"].take();
    invalid["properties"]["existing"] = existing;
    invalid["required"] = fields.to_vec().into();
    let mut error = invalid.clone();
    error["properties"]["code"]["enum"] = words(codes);
    for field in ["messages", "existing"] {
        error["properties"].as_object_mut().expect("fields").shift_remove(field);
    }
    error["required"] = fields.into_iter().filter(|field| *field != "messages").collect();
    let oauth = value(OAuthError::schema());
    let gateway = json!({
        "type": "object",
        "description": "An error that the gateway returns before any function runs.",
        "required": ["message"],
        "properties": { "message": { "type": "string", "description": "A human-readable message." } },
    });
    [("Error", error), ("Invalid", invalid), ("OAuthError", oauth), ("GatewayError", gateway)]
        .map(|(name, schema)| (name.to_owned(), schema))
}

/// The parameters that several operations share.
pub(super) fn parameters() -> Value {
    let tag = "(?:W/)?\"[!#-+\\--~]*\"";
    json!({
        "Idempotency-Key": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A unique key for this request. Repeating the request with the same key within 24 hours \
                            returns the same response and has no further effect.",
            "schema": { "type": "string", "pattern": "^(?:[!#-~][!-~]{0,254}|\"[!-~]{1,255}\")$" },
        },
        "If-Match": {
            "name": "If-Match",
            "in": "header",
            "description": "The entity tags of the versions that may be changed, or `*` for any version.",
            "schema": { "type": "string", "pattern": format!("^(?:\\*|{tag}(?:, ?{tag})*)$") },
        },
        "If-None-Match": {
            "name": "If-None-Match",
            "in": "header",
            "description": "The entity tags of the versions that the client has. If one of them is current, or for `*`, \
                            the response is a 304 without a body. Anything else in the header is ignored, and so is \
                            the whole header if the response contains links to uploaded files, because links expire, or \
                            `possible_duplicates`.",
            "schema": { "type": "string" },
            "example": "\"xElLuAH9dx9cewj5dBw0zw\"",
        },
        "X-Timestamp": {
            "name": "X-Timestamp",
            "in": "header",
            "required": true,
            "description": "The time at which the request was signed, in seconds or milliseconds since 1970.",
            "schema": { "type": "string", "pattern": "^[0-9]+$" },
        },
        "before": {
            "name": "before",
            "in": "query",
            "description": "The start of the page. Use only values from URLs in earlier responses.",
            "schema": { "type": "string" },
        },
        "org": {
            "name": "org",
            "in": "path",
            "required": true,
            "description": "The organization's slug in live or test mode.",
            "schema": Slug::schema(),
        },
        "slug": {
            "name": "slug",
            "in": "path",
            "required": true,
            "description": "The job posting's slug.",
            "schema": Slug::schema(),
        },
        "provider": {
            "name": "provider",
            "in": "path",
            "required": true,
            "description": "The voice provider.",
            "schema": VoiceProvider::schema(),
        },
    })
}

/// The authentication methods.
pub(super) fn security_schemes() -> Value {
    let scopes: Map<_, _> =
        Scope::ALL.into_iter().map(|scope| (scope.as_str().to_owned(), scope.description().into())).collect();
    json!({
        "oauth": {
            "type": "oauth2",
            "description": "OAuth 2.0 with PKCE (S256), for applications that act on behalf of a member. A client \
                            registers at `POST /oauth/registrations` (RFC 7591) and sends the member's browser to the \
                            authorization URL, which shows a consent page.",
            "flows": { "authorizationCode": {
                "authorizationUrl": format!("{BASE_URL}/oauth/authorize"),
                "tokenUrl": format!("{BASE_URL}/oauth/token"),
                "refreshUrl": format!("{BASE_URL}/oauth/token"),
                "scopes": scopes,
            } },
        },
        // Some generators use only the scheme whose name sorts last.
        "token": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "rc_live_... or rc_test_...",
            "description": "An API key from the dashboard, under Settings, Integrations, API keys, or an access token.",
        },
        "client": {
            "type": "http",
            "scheme": "basic",
            "description": "An OAuth client's identifier and secret, both form-encoded (RFC 6749, section 2.3.1). They \
                            may be sent in the form instead. A public client sends only its identifier, in the form.",
        },
        "signature": {
            "type": "apiKey",
            "in": "header",
            "name": "X-Signature",
            "description": "A voice provider's signature: the hexadecimal HMAC-SHA256 of `X-Timestamp`, a dot and the \
                            body, with the secret that the provider and this service share.",
        },
    })
}
