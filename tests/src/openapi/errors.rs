//! Error responses. For routes with a scope, `can_happen` decides which errors an operation can return. For other
//! routes, error responses are recorded.

use std::collections::{BTreeMap, BTreeSet};

use mcp::rpc::RpcError;
use serde_json::{Map, Value, json};
use shared::http::{Error, Existing, Question, ReplyFormat, Unconfirmed};
use shared::id::Id;
use shared::model::{InvalidTransition, Resource, Scope};
use shared::store::{CommitError, StoreError};

use super::example::Refused;
use super::gateway::or_gateway_response;
use super::headers::{admitted, always, header_name};
use super::operation::Operation;
use super::reference::reference;
use super::schema::Schemas;
use super::source::Source;
use crate::project::BASE_URL;

/// A sample error of each kind with the name of its example.
fn samples() -> Vec<(&'static str, Error)> {
    let transition = InvalidTransition { field: "status", from: "closed", to: "open" };
    let messages = ["title can't be blank", "salary_min must be at most salary_max"];
    vec![
        ("bad_request", Error::BadRequest("The request body is not JSON: line 1, column 12".to_owned())),
        (
            "bad_header",
            Error::BadRequest(
                "The header idempotency-key must be 1 to 255 visible ASCII characters".to_owned(),
            ),
        ),
        ("bad_cursor", Error::BadRequest("The cursor is not valid for this list".to_owned())),
        ("unauthorized", Error::Unauthorized { presented: false }),
        ("bad_credential", Error::Unauthorized { presented: true }),
        ("forbidden", Error::InsufficientScope(Scope::RolesWrite.into())),
        ("suspended", Error::Suspended),
        ("network_not_allowed", Error::NetworkNotAllowed(Some([203, 0, 113, 9].into()))),
        ("not_the_author", Error::NotTheAuthor),
        ("confirmation_required", Error::ConfirmationRequired(Box::new(unconfirmed()))),
        ("not_found", Error::NotFound),
        ("method_not_allowed", Error::MethodNotAllowed("GET, POST".to_owned())),
        ("conflict", Error::Commit(CommitError::InFlight)),
        ("legal_hold", Error::LegalHold),
        ("erased", Error::Erased),
        ("cursor_expired", Error::CursorExpired),
        ("expired", Error::Expired),
        ("precondition_failed", Error::PreconditionFailed),
        ("payload_too_large", Error::PayloadTooLarge(256 * 1024)),
        ("unsupported_media_type", Error::UnsupportedMediaType("application/json")),
        ("validation_failed", Error::Validation(messages.map(str::to_owned).to_vec())),
        ("duplicate", duplicate()),
        ("invalid_transition", transition.into()),
        ("channel_not_connected", Error::ChannelNotConnected("x has no connected account".to_owned())),
        (
            "consent_required",
            Error::ConsentRequired("consent must be given by the candidate to voice_screen".to_owned()),
        ),
        (
            "plan_limit",
            Error::PlanLimit(
                "The import has 1001 rows to carry out, and the plan free has room for 1000 more today"
                    .to_owned(),
            ),
        ),
        ("idempotency_mismatch", Error::IdempotencyMismatch),
        ("rate_limited", Error::RateLimited { limit: 100, retry_after: 52_200 }),
        ("internal_error", Error::Store(StoreError::Internal(String::new()))),
        ("unreadable", Error::Store(StoreError::Unreadable(String::new()))),
        (
            "upstream_failed",
            Error::Upstream { sentence: "X did not answer".to_owned(), retry_after: Some(60) },
        ),
        ("unavailable", Error::Store(StoreError::Unavailable(String::new()))),
    ]
}

fn duplicate() -> Error {
    let existing = Existing { kind: "candidate", id: Id::new(121_212_121_212).expect("an id") };
    Error::Duplicate { messages: vec!["email is already in use".to_owned()], existing: Some(existing) }
}

fn unconfirmed() -> Unconfirmed {
    let hash = "cmVqZWN0IGNhbmRpZGF0ZSAyNDM2MTk2NzYxNjQwMDk".to_owned();
    let page = format!("{BASE_URL}/dashboard/confirmations/{hash}");
    Unconfirmed { question: Question::new(""), hash, page, name: "", is_stored: false }
}

/// Whether the operation can return the error. `named` contains the errors from the handler's doc comment.
fn can_happen(name: &str, error: &Error, operation: &Operation, named: &BTreeMap<String, String>) -> bool {
    let method = operation.method();
    match error {
        Error::BadRequest(_) => match name {
            "bad_cursor" => operation.is_list(),
            _ => operation.reads_body(),
        },
        Error::NotFound => operation.has_id(),
        Error::Commit(_) | Error::IdempotencyMismatch => method == "POST",
        Error::PreconditionFailed => operation.has_precondition(),
        Error::PayloadTooLarge(_) | Error::UnsupportedMediaType(_) => operation.reads_body(),
        Error::Duplicate { .. }
        | Error::InvalidTransition(_)
        | Error::ChannelNotConnected(_)
        | Error::ConsentRequired(_)
        | Error::PlanLimit(_)
        | Error::ConfirmationRequired(_)
        | Error::CursorExpired
        | Error::Expired
        | Error::LegalHold
        | Error::Upstream { .. } => named.contains_key(error.kind().1),
        Error::NotTheAuthor => named.contains_key("forbidden"),
        Error::Erased => named.contains_key("erased") || operation.is_about_candidate(),
        Error::Unauthorized { .. }
        | Error::InsufficientScope(_)
        | Error::Suspended
        | Error::NetworkNotAllowed(_)
        | Error::Validation(_)
        | Error::RateLimited { .. }
        | Error::Store(_) => true,
        // Only the default route, pages, callbacks and requests that bypass the CDN get these.
        Error::MethodNotAllowed(_)
        | Error::BadSignature
        | Error::ForeignForm
        | Error::ForeignOrigin
        | Error::NotThroughCdn
        | Error::OwnersOnly => false,
    }
}

/// Every code with its status, in order.
pub(super) fn codes() -> Vec<(u16, &'static str)> {
    let mut codes: Vec<_> = samples().iter().map(|(_, error)| error.kind()).collect();
    codes.dedup();
    codes
}

/// The bodies of all errors that operations return.
pub(super) fn examples() -> Map<String, Value> {
    let shown = samples().into_iter().filter(|(_, error)| !matches!(error, Error::MethodNotAllowed(_)));
    shown
        .map(|(name, error)| (name.to_owned(), json!({ "summary": error.sentence(), "value": body(&error) })))
        .collect()
}

fn body(error: &Error) -> Value {
    serde_json::from_str(&error.body("LUlYBjVGoAMEbOw=")).expect("a body")
}

/// The error responses of an operation by status. Responses that are the same for all operations go to `shared`.
pub(super) fn responses(
    operation: &Operation,
    source: &Source,
    named: &BTreeMap<String, String>,
    shared: &mut Map<String, Value>,
) -> Map<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<(&str, Error)>> = BTreeMap::new();
    for (name, error) in samples() {
        if can_happen(name, &error, operation, named) {
            by_status.entry(error.kind().0).or_default().push((name, error));
        }
    }
    for code in named.keys() {
        assert!(
            codes().iter().any(|(_, known)| known == code),
            "{}: {code} is not an error code",
            operation.key
        );
    }
    let mut responses = Map::new();
    for (status, errors) in by_status {
        let response = response(&errors, source, named);
        let is_own = errors.iter().any(|(_, error)| named.contains_key(error.kind().1));
        let response = if is_own {
            response
        } else {
            let mut codes: Vec<_> = errors.iter().map(|(_, error)| error.kind().1).collect();
            codes.dedup();
            let name = if codes.len() == 1 { errors[0].0.to_owned() } else { codes.join("_or_") };
            shared.insert(name.clone(), response);
            reference("responses", &name)
        };
        responses.insert(status.to_string(), response);
    }
    responses
}

fn response(errors: &[(&str, Error)], source: &Source, named: &BTreeMap<String, String>) -> Value {
    let mut when: Vec<String> = Vec::new();
    let mut codes: Vec<&str> = Vec::new();
    for (_, error) in errors {
        let code = error.kind().1;
        let sentence = match named.get(code) {
            Some(why) => format!("`{code}`: {why}"),
            None => format!("`{code}`: {}", meaning(error, source)),
        };
        if !when.contains(&sentence) {
            when.push(sentence);
        }
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let (status, _) = errors[0].1.kind();
    let schema = if status == 422 { "Invalid" } else { "Error" };
    let examples: Map<_, _> =
        errors.iter().map(|(name, _)| ((*name).to_owned(), reference("examples", name))).collect();
    or_gateway_response(
        status,
        json!({
            "description": when.join("\n\n"),
            "headers": headers(errors),
            "content": { "application/json": {
                "schema": {
                    "$ref": format!("#/components/schemas/{schema}"),
                    "properties": { "code": { "enum": codes } },
                },
                "examples": examples,
            } },
        }),
    )
}

/// The description of an error: the row of its code in the API guide, or the doc comment of its variant.
fn meaning(error: &Error, source: &Source) -> String {
    if let Some(ruled) = Source::rule(error.kind().1) {
        return ruled;
    }
    let debug = format!("{error:?}");
    let variant = debug.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let comment = source.of_type(&format!("shared::http::error::Error::{variant}"));
    comment.split_once(": ").expect("a comment that begins with a status").1.to_owned()
}

/// The headers of the errors with one status.
fn headers(errors: &[(&str, Error)]) -> Map<String, Value> {
    let (status, _) = errors[0].1.kind();
    let mut headers = if status == 401 { always(ReplyFormat::Api) } else { admitted() };
    let sent: Vec<_> = errors.iter().map(|(_, error)| header_names(error)).collect();
    add_error_headers(&mut headers, &sent, status == 502);
    headers
}

fn header_names(error: &Error) -> BTreeSet<String> {
    error.headers("", Resource::Api).into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Adds the headers that only errors have. A header is required if all errors have it, unless `optional` is set.
fn add_error_headers(headers: &mut Map<String, Value>, sent: &[BTreeSet<String>], optional: bool) {
    for name in ["retry-after", "www-authenticate"] {
        let shown = header_name(name);
        let component = match sent.iter().filter(|sent| sent.contains(name)).count() {
            0 => continue,
            all if all == sent.len() && !optional => shown.clone(),
            _ => format!("{shown}-if-known"),
        };
        headers.insert(shown, reference("headers", &component));
    }
}

/// The other responses of an operation with JSON-RPC messages.
pub(super) fn rpc_responses(operation: &Operation, schemas: &Schemas) -> Map<String, Value> {
    let failed = |error: Error| {
        let body = serde_json::from_str(&error.rpc_body("LUlYBjVGoAMEbOw=")).expect("a body");
        (error.kind().0, Some(body))
    };
    let refused = |error: RpcError| (error.status, Some(json!(error.answer(Some(&1.into())))));
    let described = [
        ((202, None), "The message was a notification, which has no answer."),
        (
            refused(RpcError::unsupported_revision("2024-11-05")),
            "The message, its revision or its headers are wrong, or the client lacks a capability that the call needs.",
        ),
        (
            failed(Error::Unauthorized { presented: false }),
            "The credential is missing or not valid for this endpoint. The header has the URL of the metadata and the scopes to ask for.",
        ),
        (
            failed(Error::InsufficientScope(Scope::RolesWrite.into())),
            "The credential lacks the scopes in the header, the organization is suspended, or the request comes from another site's page.",
        ),
        (refused(RpcError::unknown_method("roles/list")), "There is no such method."),
        (failed(Error::PayloadTooLarge(256 * 1024)), "The message has more than 256 KB."),
        (failed(Error::UnsupportedMediaType("application/json")), "The message is not `application/json`."),
        (failed(Error::RateLimited { limit: 100, retry_after: 52_200 }), "The day's quota is used up."),
        (failed(Error::Store(StoreError::Internal(String::new()))), "The service failed."),
        (failed(Error::Store(StoreError::Unavailable(String::new()))), "The service is busy."),
    ];
    let response = |((status, example), description): ((u16, Option<Value>), &str)| {
        let mut headers = if status == 401 { always(operation.format) } else { admitted() };
        let own = match status {
            401 => Some(("WWW-Authenticate", "WWW-Authenticate")),
            403 => Some(("WWW-Authenticate", "WWW-Authenticate-if-known")),
            429 | 503 => Some(("Retry-After", "Retry-After")),
            _ => None,
        };
        headers.extend(own.map(|(name, component)| (name.to_owned(), reference("headers", component))));
        let mut response = json!({ "description": description, "headers": headers });
        if let Some(example) = example {
            let schema = schemas.of_body(&operation.output);
            let examples = json!({ "error": { "summary": example["error"]["message"], "value": example } });
            response["content"] = json!({ "application/json": { "schema": schema, "examples": examples } });
        }
        (status.to_string(), or_gateway_response(status, response))
    };
    described.map(response).into_iter().collect()
}

/// The error responses of an operation without a scope: the recorded ones, which must match the list in the handler's
/// doc comment, and those that any operation can return.
pub(super) fn recorded_responses(
    operation: &Operation,
    source: &Source,
    named: &BTreeMap<String, String>,
    refusals: &[Refused],
) -> Map<String, Value> {
    let (schema, field) =
        if operation.format == ReplyFormat::OAuth { ("OAuthError", "error") } else { ("Error", "code") };
    let code = |refusal: &Refused| refusal.body[field].as_str().expect("an error code").to_owned();
    let recorded: BTreeSet<_> = refusals.iter().map(code).collect();
    assert!(named.keys().eq(&recorded), "{}: lists {named:?}, but returned {recorded:?}", operation.key);
    let mut by_status: BTreeMap<u16, Vec<(String, Refused)>> = BTreeMap::new();
    for refusal in refusals {
        let why = named[&code(refusal)].clone();
        by_status.entry(refusal.status).or_default().push((why, refusal.clone()));
    }
    let failures = samples().into_iter().filter(|(_, error)| matches!(error, Error::Store(_)));
    for (_, error) in failures.filter(|_| operation.can_fail()) {
        let body = if operation.format == ReplyFormat::OAuth {
            serde_json::from_str(&error.oauth_body()).expect("a body")
        } else {
            body(&error)
        };
        let refusal = Refused { status: error.kind().0, headers: header_names(&error), body };
        by_status.entry(refusal.status).or_default().push((meaning(&error, source), refusal));
    }
    let response = |(status, refused): (u16, Vec<(String, Refused)>)| {
        let mut headers = always(operation.format);
        let sent: Vec<_> = refused.iter().map(|(_, refusal)| refusal.headers.clone()).collect();
        // Only a client that used the `Authorization` header gets a challenge.
        add_error_headers(&mut headers, &sent, status == 401 && operation.format == ReplyFormat::OAuth);
        let when: Vec<_> =
            refused.iter().map(|(why, refusal)| format!("`{}`: {why}", code(refusal))).collect();
        let examples: Map<_, _> = refused
            .iter()
            .map(|(_, refusal)| {
                let sentence = refusal.body.get("error_description").unwrap_or(&refusal.body["error"]);
                (code(refusal), json!({ "summary": sentence, "value": refusal.body }))
            })
            .collect();
        let codes: Vec<_> = examples.keys().collect();
        let response = json!({
            "description": when.join("\n\n"),
            "headers": headers,
            "content": { "application/json": {
                "schema": {
                    "$ref": format!("#/components/schemas/{schema}"),
                    "properties": { field: { "enum": codes } },
                },
                "examples": examples,
            } },
        });
        (status.to_string(), or_gateway_response(status, response))
    };
    by_status.into_iter().map(response).collect()
}
