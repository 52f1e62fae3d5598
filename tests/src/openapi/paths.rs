//! The paths of the document: the requests and responses of each operation.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shared::http::Access;
use shared::model::Scope;

use super::errors;
use super::example::Example;
use super::headers::success_headers;
use super::operation::{Operation, RequestContent};
use super::reference::reference;
use super::schema::Schemas;
use super::source::Source;
use crate::contract::WITHOUT_READING;

/// The route that returns the document itself.
pub const DOCUMENT: &str = "GET /api/v1/openapi.json";

/// Adds the description of the operation with this route key.
pub(super) fn insert(paths: &mut Map<String, Value>, key: &str, operation: Value) {
    let (method, path) = key.split_once(' ').expect("a route key");
    let item = paths.entry(path).or_insert_with(|| json!({}));
    item[method.to_lowercase()] = operation;
}

/// Describes an operation. Responses that several operations share go to `shared_responses`.
pub(super) fn describe(
    operation: &Operation,
    all: &[Operation],
    source: &Source,
    schemas: &Schemas,
    examples: &BTreeMap<&str, Example>,
    shared_responses: &mut Map<String, Value>,
) -> Value {
    let docs = source.handler(&operation.handler);
    let example = examples.get(operation.key);
    let example = example.unwrap_or_else(|| {
        panic!("{} has no example: add a request to the session in tests/api/openapi.rs", operation.key)
    });
    let mut described = json!({
        "tags": [operation.tag()],
        "summary": operation.summary(),
        "description": docs.text,
        "operationId": operation.id(),
        "security": security(operation),
    });
    let parameters = parameters_of(operation, source, schemas);
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    let body = match &operation.content {
        RequestContent::Fields(fields) if operation.reads_body() && !fields.is_empty() => {
            Some(("application/json", reference("schemas", fields.name()), fields.is_required()))
        }
        RequestContent::Payload { media: Some(media), body, .. } => {
            Some((*media, one_or_many(operation, schemas.of_body(body)), true))
        }
        _ => None,
    };
    if let Some((media, schema, is_required)) = body {
        described["requestBody"] = json!({
            "required": is_required,
            "content": { media: { "schema": schema, "example": example.request } },
        });
    }
    let mut responses = Map::new();
    let description = source.docs(operation.output_type);
    let mut success = json!({
        "description": description.unwrap_or_else(|| schemas.description(operation.output.name()).to_owned()),
        "headers": success_headers(operation),
        "content": { operation.media: { "schema": one_or_many(operation, schemas.of_body(&operation.output)) } },
    });
    if let Some(reference) = &operation.reference {
        let name = reference.name();
        let sentence =
            format!("Without the scope `candidates:read`, the response has only the fields of `{name}`.");
        described["description"] = format!("{}\n\n{sentence}", docs.text).into();
        success["content"][operation.media][WITHOUT_READING] = schemas.of_body(reference);
    }
    if operation.key != DOCUMENT {
        success["content"][operation.media]["example"] = example.response.clone();
    }
    let links = operation.links(all, example);
    if !links.is_empty() {
        success["links"] = links.into();
    }
    responses.insert(operation.status.to_string(), success);
    if operation.is_revalidated() {
        let description = "The version that the client has is current.";
        let not_modified = json!({ "description": description, "headers": success_headers(operation) });
        responses.insert("304".to_owned(), not_modified);
    }
    responses.extend(if operation.is_rpc() {
        errors::rpc_responses(operation, schemas)
    } else if operation.is_scoped() {
        errors::responses(operation, source, &docs.errors, shared_responses)
    } else {
        errors::recorded_responses(operation, source, &docs.errors, &example.refusals)
    });
    if operation.reads_body() {
        responses.entry("413").or_insert_with(|| reference("responses", "too_large_body"));
    }
    responses.insert("431".to_owned(), reference("responses", "too_large_header"));
    responses.sort_keys();
    described["responses"] = responses.into();
    described
}

/// The schema of a body, which is a batch if a client of the oldest revision sent one.
fn one_or_many(operation: &Operation, schema: Value) -> Value {
    if operation.is_rpc() {
        json!({ "anyOf": [schema, { "type": "array", "items": schema }] })
    } else {
        schema
    }
}

fn security(operation: &Operation) -> Value {
    match operation.access {
        Access::Scopes(scopes) => {
            let scopes: Vec<_> = scopes.iter().map(Scope::as_str).collect();
            json!([{ "token": [] }, { "oauth": scopes }])
        }
        Access::Credential => json!([{ "token": [] }, { "oauth": [] }]),
        Access::Signed => json!([{ "signature": [] }]),
        // Public clients do not authenticate, and other clients may send their secret in the form.
        Access::Public if operation.authenticates_clients() => json!([{ "client": [] }, {}]),
        Access::Public | Access::Member(_) => json!([]),
    }
}

fn parameters_of(operation: &Operation, source: &Source, schemas: &Schemas) -> Vec<Value> {
    let shared = |name: &str| reference("parameters", name);
    let of_path = operation.path_parameters().map(|name| {
        let noun = if name == "id" { Some(operation.noun()) } else { name.strip_suffix("_id") };
        let description = match noun {
            Some(noun) => format!("The identifier of the {}.", noun.replace('_', " ")),
            None if name == "number" => "The number of the file in the list.".to_owned(),
            None => return shared(name),
        };
        let schema = schemas.inline("Id");
        json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema })
    });
    let mut parameters: Vec<_> = of_path.collect();
    match &operation.content {
        RequestContent::Fields(fields) => match operation.method() {
            "GET" => parameters.extend(fields.parameters(source, schemas)),
            "POST" => parameters.push(shared("Idempotency-Key")),
            _ if operation.has_precondition() => parameters.push(shared("If-Match")),
            _ => {}
        },
        RequestContent::Payload { parameters: names, .. } => {
            parameters.extend(names.iter().map(|name| shared(name)));
        }
    }
    if operation.is_revalidated() {
        parameters.push(shared("If-None-Match"));
    }
    parameters
}
