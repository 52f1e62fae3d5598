//! The OpenAPI document, put together from what is there already: the route tables and their types say what is asked and
//! answered, the handlers' comments what for, the errors how they look, and recorded requests give the examples.

mod breaking;
mod errors;
mod input;
mod names;
mod operation;
mod schema;
mod source;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shared::http::{Access, Route};
use shared::model::Scope;

pub use breaking::{breaking, promises};
pub use operation::Operation;
use schema::Schemas;
use source::Source;

/// The row that the document itself is the answer to.
pub const DOCUMENT: &str = "GET /api/v1/openapi.json";

/// The version of OpenAPI.
const VERSION: &str = "3.1.1";
/// Where a schema is, but for its name.
const SCHEMAS: &str = "#/components/schemas/";

/// Whether the document has this row as an operation.
pub fn is_described(route: &Route) -> bool {
    matches!(route.access(), Access::Scope(_)) || route.key == DOCUMENT
}

/// A request that was carried out: what was sent, and what came back.
#[derive(Clone, Debug)]
pub struct Example {
    /// The body that was sent, `null` where there was none.
    pub request: Value,
    /// The body that came back.
    pub response: Value,
    /// The address of what was created, empty where nothing was.
    pub location: String,
}

/// What the tables of the API tell, in the order in which it is shown.
pub fn operations() -> Vec<Operation> {
    [
        quick_post::routes(),
        roles::routes(),
        job_postings::routes(),
        candidates::routes(),
        voice_screens::routes(),
        channels::routes(),
        organization::routes(),
    ]
    .concat()
}

/// The document, with an example for each row of the tables.
pub fn document(examples: &BTreeMap<&str, Example>) -> Value {
    let (source, operations) = (Source::read(), operations());
    let schemas = Schemas::of(&operations);
    let mut responses = Map::new();
    let mut paths = Map::new();
    let mut tags = Vec::new();
    for operation in &operations {
        let tag = operation.tag();
        if !tags.iter().any(|known: &Value| known["name"] == *tag) {
            tags.push(json!({ "name": tag, "description": source.module(operation.function()) }));
        }
        let described = describe(operation, &operations, &source, &schemas, examples, &mut responses);
        insert(&mut paths, operation.key, described);
    }
    tags.push(json!({ "name": "Document", "description": source.module("docs") }));
    insert(&mut paths, DOCUMENT, describe_document(&source));
    let mut named = schemas.into_map(&operations, &source);
    named.insert("OpenApi".to_owned(), document_schema());
    let mut document = json!({
        "openapi": VERSION,
        "info": {
            "title": "Rolecall",
            "summary": "A hiring API.",
            "description": Source::rules(),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{ "url": "/", "description": "Where this document comes from." }],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": named,
            "responses": responses,
            "parameters": parameters(),
            "examples": errors::examples(),
            "headers": headers(),
            "securitySchemes": security_schemes(),
        },
    });
    remove_unused(&mut document);
    names::rename(&mut document);
    document
}

/// Takes out the components that nothing refers to.
fn remove_unused(document: &mut Value) {
    loop {
        let text = document.to_string();
        let mut removed = false;
        for (kind, components) in document["components"].as_object_mut().expect("components") {
            let components = components.as_object_mut().expect("components of a kind");
            let before = components.len();
            components.retain(|name, _| {
                kind == "securitySchemes" || text.contains(&format!("\"#/components/{kind}/{name}\""))
            });
            removed |= components.len() < before;
        }
        if !removed {
            return;
        }
    }
}

fn insert(paths: &mut Map<String, Value>, key: &str, operation: Value) {
    let (method, path) = key.split_once(' ').expect("a route key");
    let item = paths.entry(path).or_insert_with(|| json!({}));
    item[method.to_lowercase()] = operation;
}

fn describe(
    operation: &Operation,
    all: &[Operation],
    source: &Source,
    schemas: &Schemas,
    examples: &BTreeMap<&str, Example>,
    responses: &mut Map<String, Value>,
) -> Value {
    let docs = source.handler(&operation.handler);
    let example = examples.get(operation.key).expect("an example for every row");
    let output = reference("schemas", operation.output.name());
    let mut described = json!({
        "tags": [operation.tag()],
        "summary": operation.summary(),
        "description": docs.text,
        "operationId": operation.id(),
        "security": [{ "api_key": [] }, { "oauth": [operation.scope.as_str()] }],
    });
    let mut parameters = Vec::new();
    if operation.has_id() {
        let description = format!("The identifier of the {}.", operation.noun().replace('_', " "));
        let schema = schemas.inline("Id");
        parameters.push(json!({
            "name": "id", "in": "path", "required": true, "description": description, "schema": schema,
        }));
    }
    if operation.method() == "GET" {
        parameters.extend(operation.input.parameters(source, schemas));
    }
    match operation.method() {
        "POST" => parameters.push(json!({ "$ref": "#/components/parameters/Idempotency-Key" })),
        "PATCH" => parameters.push(json!({ "$ref": "#/components/parameters/If-Match" })),
        _ => {}
    }
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if operation.takes_body() {
        let schema = reference("schemas", operation.input.name());
        described["requestBody"] = json!({
            "required": operation.input.is_required(),
            "content": { "application/json": { "schema": schema, "example": example.request } },
        });
    }
    let mut answers = Map::new();
    let mut success = json!({
        "description": schemas.description(operation.output.name()),
        "headers": success_headers(operation),
        "content": { "application/json": { "schema": output, "example": example.response } },
    });
    let links = operation.links(all, example);
    if !links.is_empty() {
        success["links"] = links.into();
    }
    answers.insert(operation.status.to_string(), success);
    answers.extend(errors::responses(operation, source, &docs.errors, responses));
    described["responses"] = answers.into();
    described
}

fn describe_document(source: &Source) -> Value {
    let docs = source.handler("docs::show_openapi");
    let mut headers = always();
    for name in ["ETag", "Content-Security-Policy", "X-Content-Type-Options"] {
        headers.insert(name.to_owned(), reference("headers", name));
    }
    json!({
        "tags": ["Document"],
        "summary": "Show OpenAPI",
        "description": docs.text,
        "operationId": "show_openapi",
        "security": [],
        "parameters": [{ "$ref": "#/components/parameters/If-None-Match" }],
        "responses": {
            "200": {
                "description": "An OpenAPI document.",
                "headers": headers,
                "content": { "application/json": { "schema": reference("schemas", "OpenApi") } },
            },
            "304": { "description": "The document is the one that was named.", "headers": headers },
        },
    })
}

/// What this document is.
fn document_schema() -> Value {
    let object =
        |description| json!({ "type": "object", "description": description, "additionalProperties": true });
    let mut paths = object("The operations, by path and method.");
    paths["additionalProperties"] = object("The operations of a path.");
    json!({
        "type": "object",
        "description": "An OpenAPI document.",
        "required": ["openapi", "info", "paths", "components"],
        "properties": {
            "openapi": { "type": "string", "const": VERSION, "description": "The version of OpenAPI." },
            "info": object("What the API is, and its rules."),
            "paths": paths,
            "components": object("What operations share."),
        },
        "additionalProperties": true,
    })
}

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// The headers of every response.
fn always() -> Map<String, Value> {
    ["X-Request-Id", "Cache-Control"]
        .map(|name| (name.to_owned(), reference("headers", name)))
        .into_iter()
        .collect()
}

/// The headers of every response to a credential that is good.
fn admitted() -> Map<String, Value> {
    let quota = ["RateLimit", "RateLimit-Policy"].map(|name| (name.to_owned(), reference("headers", name)));
    always().into_iter().chain(quota).collect()
}

fn success_headers(operation: &Operation) -> Map<String, Value> {
    let mut headers = admitted();
    let mut add = |name: &str| headers.insert(name.to_owned(), reference("headers", name));
    for name in operation.headers {
        match *name {
            "etag" => add("ETag"),
            "location" => add("Location"),
            "link" => add("Link"),
            other => panic!("{other} has no description"),
        };
    }
    if operation.method() == "POST" {
        add("Idempotency-Replayed");
    }
    headers
}

fn headers() -> Value {
    json!({
        "X-Request-Id": {
            "description": "The request's name in the logs.",
            "required": true,
            "schema": { "type": "string" },
        },
        "Cache-Control": {
            "description": "`no-store`, but for this document.",
            "required": true,
            "schema": { "type": "string" },
        },
        "Content-Security-Policy": {
            "description": "What a browser that shows it may do.",
            "required": true,
            "schema": { "type": "string" },
        },
        "X-Content-Type-Options": {
            "description": "It is of the type that it says.",
            "required": true,
            "schema": { "const": "nosniff" },
        },
        "ETag": {
            "description": "The version, a strong entity tag (RFC 9110, section 8.8.3).",
            "required": true,
            "schema": { "type": "string", "pattern": "^\"[!#-~]+\"$" },
        },
        "Location": {
            "description": "Where what was created can be found.",
            "required": true,
            "schema": { "type": "string", "format": "uri" },
        },
        "Link": {
            "description": "The address of the next page, with `rel=\"next\"` (RFC 8288); none at the end.",
            "schema": { "type": "string" },
        },
        "Idempotency-Replayed": {
            "description": "This is the answer that an earlier request with the same idempotency key got.",
            "schema": { "const": "true" },
        },
        "RateLimit": {
            "description": "On the Free plan: the requests left today, and the seconds until midnight UTC.",
            "schema": { "type": "string", "pattern": "^\"daily\";r=[0-9]+;t=[0-9]+$" },
            "example": "\"daily\";r=99;t=52200",
        },
        "RateLimit-Policy": {
            "description": "On the Free plan: the requests a day, and the seconds of a day.",
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
        "description": "The seconds after which it is worth another try.",
        "required": required,
        "schema": { "type": "integer", "minimum": 1 },
    })
}

fn challenge(required: bool) -> Value {
    json!({
        "description": "How to get a credential that is good enough (RFC 6750, RFC 9728).",
        "required": required,
        "schema": { "type": "string", "pattern": "^Bearer " },
    })
}

fn parameters() -> Value {
    let tag = "(?:W/)?\"[!#-+\\--~]*\"";
    json!({
        "Idempotency-Key": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A name for this request. For 24 hours, the same request with the same key gets the same \
                            answer and has no second effect.",
            "schema": { "type": "string", "pattern": "^(?:[!#-~][!-~]{0,254}|\"[!-~]{1,255}\")$" },
        },
        "If-Match": {
            "name": "If-Match",
            "in": "header",
            "description": "The versions, by their entity tags, of which the resource must have one; `*` for any.",
            "schema": { "type": "string", "pattern": format!("^(?:\\*|{tag}(?:, ?{tag})*)$") },
        },
        "If-None-Match": {
            "name": "If-None-Match",
            "in": "header",
            "description": "The version that is known already, by its entity tag.",
            "schema": { "type": "string" },
        },
    })
}

fn security_schemes() -> Value {
    let scopes: Map<_, _> =
        Scope::ALL.into_iter().map(|scope| (scope.as_str().to_owned(), scope.description().into())).collect();
    json!({
        "api_key": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "rc_live_... or rc_test_...",
            "description": "A key from the dashboard, under Settings, Integrations, API keys.",
        },
        "oauth": {
            "type": "oauth2",
            "description": "OAuth 2.0 with PKCE (S256), for applications that act for a member. They register \
                            themselves at `POST /oauth/registrations` (RFC 7591).",
            "flows": { "authorizationCode": {
                "authorizationUrl": "/oauth/authorize",
                "tokenUrl": "/oauth/token",
                "refreshUrl": "/oauth/token",
                "scopes": scopes,
            } },
        },
    })
}
