//! The OpenAPI document, put together from what is there already: the route tables and their types say what is asked and
//! answered, the handlers' comments what for, the errors how they look, and recorded requests give the examples.

mod breaking;
mod errors;
mod input;
mod names;
mod operation;
mod schema;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use shared::http::{Access, Form};
use shared::model::{Scope, Slug, VoiceProvider};
use utoipa::PartialSchema;

pub use breaking::{breaking, promises};
pub use operation::Operation;
use operation::Taken;
use schema::Schemas;
use source::Source;

/// The row that the document itself is the answer to.
pub const DOCUMENT: &str = "GET /api/v1/openapi.json";

/// The version of OpenAPI.
const VERSION: &str = "3.1.1";
/// Where a schema is, but for its name.
const SCHEMAS: &str = "#/components/schemas/";

/// A request that was carried out: what was sent, and what came back.
#[derive(Clone, Debug)]
pub struct Example {
    /// The body that was sent, `null` where there was none.
    pub request: Value,
    /// The body that came back.
    pub response: Value,
    /// The address of what was created, empty where nothing was.
    pub location: String,
    /// What was refused of the same row.
    pub refusals: Vec<Refused>,
}

/// A request that was not carried out: what came back.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The status.
    pub status: u16,
    /// The names of the headers.
    pub headers: BTreeSet<String>,
    /// The body.
    pub body: Value,
}

/// The rows of all route tables, in the order in which they are shown.
pub fn operations() -> Vec<Operation> {
    [
        quick_post::routes(),
        roles::routes(),
        job_postings::routes(),
        candidates::routes(),
        voice_screens::routes(),
        channels::routes(),
        organization::routes(),
        oauth::routes(),
        voice_webhook::routes(),
        careers::routes(),
        docs::routes(),
    ]
    .concat()
}

/// The document, with an example for each row of the tables.
pub fn document(examples: &BTreeMap<&str, Example>) -> Value {
    let (source, operations) = (Source::read(), operations());
    let schemas = Schemas::of(&operations);
    let mut responses = Map::new();
    responses.insert("too_large_header".to_owned(), too_large_header());
    responses.insert("too_large_body".to_owned(), too_large_body());
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
            "schemas": schemas.into_map(&operations, &source),
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
    let example = examples.get(operation.key).unwrap_or_else(|| panic!("{} has no example", operation.key));
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
    let body = match &operation.taken {
        Taken::Fields(fields) if operation.reads_body() && !fields.is_empty() => {
            Some(("application/json", reference("schemas", fields.name()), fields.is_required()))
        }
        Taken::Payload { media: Some(media), body, .. } => Some((*media, schemas.of_body(body), true)),
        _ => None,
    };
    if let Some((media, schema, is_required)) = body {
        described["requestBody"] = json!({
            "required": is_required,
            "content": { media: { "schema": schema, "example": example.request } },
        });
    }
    let mut answers = Map::new();
    let description = source.docs(operation.answer);
    let mut success = json!({
        "description": description.unwrap_or_else(|| schemas.description(operation.output.name()).to_owned()),
        "headers": success_headers(operation),
        "content": { operation.media: { "schema": schemas.of_body(&operation.output) } },
    });
    if operation.key != DOCUMENT {
        success["content"][operation.media]["example"] = example.response.clone();
    }
    let links = operation.links(all, example);
    if !links.is_empty() {
        success["links"] = links.into();
    }
    answers.insert(operation.status.to_string(), success);
    if operation.is_cached() {
        let known =
            json!({ "description": "It is the one that was named.", "headers": success_headers(operation) });
        answers.insert("304".to_owned(), known);
    }
    answers.extend(if operation.is_scoped() {
        errors::responses(operation, source, &docs.errors, responses)
    } else {
        errors::played_responses(operation, source, &docs.errors, &example.refusals)
    });
    if operation.reads_body() {
        answers.entry("413").or_insert_with(|| reference("responses", "too_large_body"));
    }
    answers.insert("431".to_owned(), reference("responses", "too_large_header"));
    answers.sort_keys();
    described["responses"] = answers.into();
    described
}

fn security(operation: &Operation) -> Value {
    match operation.access {
        Access::Scope(scope) => json!([{ "api_key": [] }, { "oauth": [scope.as_str()] }]),
        Access::Signed => json!([{ "signature": [] }]),
        // Public clients say who they are, and prove nothing; others may have their secret in the form.
        Access::Public if operation.knows_clients() => json!([{ "client": [] }, {}]),
        Access::Public | Access::Member(_) => json!([]),
    }
}

fn parameters_of(operation: &Operation, source: &Source, schemas: &Schemas) -> Vec<Value> {
    let shared = |name: &str| reference("parameters", name);
    let of_path = operation.path_parameters().map(|name| match name {
        "id" => {
            let description = format!("The identifier of the {}.", operation.noun().replace('_', " "));
            let schema = schemas.inline("Id");
            json!({ "name": "id", "in": "path", "required": true, "description": description, "schema": schema })
        }
        name => shared(name),
    });
    let mut parameters: Vec<_> = of_path.collect();
    match &operation.taken {
        Taken::Fields(fields) => match operation.method() {
            "GET" => parameters.extend(fields.parameters(source, schemas)),
            "POST" => parameters.push(shared("Idempotency-Key")),
            "PATCH" => parameters.push(shared("If-Match")),
            _ => {}
        },
        Taken::Payload { parameters: names, .. } => parameters.extend(names.iter().map(|name| shared(name))),
    }
    if operation.is_cached() {
        parameters.push(shared("If-None-Match"));
    }
    parameters
}

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// The headers of every response in this form.
fn always(form: Form) -> Map<String, Value> {
    let names: &[&str] = match form {
        Form::OAuth => &[
            "X-Request-Id",
            "Cache-Control",
            "Pragma",
            "Access-Control-Allow-Origin",
            "Access-Control-Expose-Headers",
        ],
        _ => &["X-Request-Id", "Cache-Control"],
    };
    names.iter().map(|name| ((*name).to_owned(), reference("headers", name))).collect()
}

/// The headers of every response to a credential that is good.
fn admitted() -> Map<String, Value> {
    let quota = ["RateLimit", "RateLimit-Policy"].map(|name| (name.to_owned(), reference("headers", name)));
    always(Form::Api).into_iter().chain(quota).collect()
}

fn success_headers(operation: &Operation) -> Map<String, Value> {
    let mut headers = if operation.is_scoped() { admitted() } else { always(operation.form) };
    let mut add = |name: &str| headers.insert(header_name(name), reference("headers", &header_name(name)));
    for name in operation.headers {
        add(name);
    }
    if operation.form == Form::Document {
        add("x-content-type-options");
    }
    if operation.is_scoped() && operation.method() == "POST" {
        add("idempotency-replayed");
    }
    headers
}

/// A header's name as people write it: `Retry-After`.
fn header_name(name: &str) -> String {
    match name {
        "etag" => "ETag".to_owned(),
        "www-authenticate" => "WWW-Authenticate".to_owned(),
        name => name.split('-').map(operation::capitalized).collect::<Vec<_>>().join("-"),
    }
}

fn headers() -> Value {
    json!({
        "X-Request-Id": {
            "description": "The request's name in the logs.",
            "required": true,
            "schema": { "type": "string" },
        },
        "Cache-Control": {
            "description": "`no-store`, but for documents that caches may hold.",
            "required": true,
            "schema": { "type": "string" },
        },
        "Pragma": {
            "description": "The same for caches of old (RFC 6749, section 5.1).",
            "required": true,
            "schema": { "const": "no-cache" },
        },
        "Access-Control-Allow-Origin": {
            "description": "Scripts of any origin may read it.",
            "required": true,
            "schema": { "const": "*" },
        },
        "Access-Control-Expose-Headers": {
            "description": "The headers that they may read.",
            "required": true,
            "schema": { "const": "WWW-Authenticate" },
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
        "description": "How to prove who it is: by a better credential (RFC 6750, RFC 9728), as a client, or by a signature.",
        "required": required,
        "schema": { "type": "string", "pattern": "^(?:Basic|Bearer|Signature) " },
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
        "X-Timestamp": {
            "name": "X-Timestamp",
            "in": "header",
            "required": true,
            "description": "When it was signed, in seconds or milliseconds since 1970.",
            "schema": { "type": "string", "pattern": "^[0-9]+$" },
        },
        "before": {
            "name": "before",
            "in": "query",
            "description": "Where it begins, as an address that was answered has it.",
            "schema": { "type": "string" },
        },
        "org": {
            "name": "org",
            "in": "path",
            "required": true,
            "description": "The slug of the organization, or of its test copy.",
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

/// What the gateway answers before any function is asked.
fn of_the_gateway(when: &str, message: &str) -> Value {
    json!({
        "description": format!("{when}, says the gateway in its own form."),
        "content": { "application/json": {
            "schema": reference("schemas", "GatewayError"),
            "example": { "message": message },
        } },
    })
}

fn too_large_header() -> Value {
    let when = "The request's line and headers come to more than 10,240 bytes";
    of_the_gateway(when, "Request Header Fields Too Large")
}

fn too_large_body() -> Value {
    of_the_gateway("The request's body is over 10 MB", "Request Entity Too Large")
}

/// A function's response, with that of the gateway where it has one of this status: in its own form, without our headers.
fn or_the_gateway(status: u16, mut response: Value) -> Value {
    if status != 413 {
        return response;
    }
    let too_large = too_large_body();
    let description = |of: &Value| of["description"].as_str().expect("a description").to_owned();
    response["description"] = [description(&response), description(&too_large)].join("\n\n").into();
    for header in ["X-Request-Id", "Cache-Control"] {
        response["headers"][header] = headers()[header].clone();
        response["headers"][header]["required"] = false.into();
    }
    let theirs = &too_large["content"]["application/json"];
    let ours = &mut response["content"]["application/json"];
    ours["schema"] = json!({ "anyOf": [ours["schema"], theirs["schema"]] });
    ours["examples"]["of_the_gateway"] =
        json!({ "summary": theirs["example"]["message"], "value": theirs["example"] });
    response
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
                            themselves at `POST /oauth/registrations` (RFC 7591), and send the member's browser to the \
                            authorization URL, which shows it a page.",
            "flows": { "authorizationCode": {
                "authorizationUrl": "/oauth/authorize",
                "tokenUrl": "/oauth/token",
                "refreshUrl": "/oauth/token",
                "scopes": scopes,
            } },
        },
        "client": {
            "type": "http",
            "scheme": "basic",
            "description": "An OAuth client's identifier and secret, both form-encoded (RFC 6749, section 2.3.1). They may \
                            be sent in the form instead; a public client has only an identifier, and sends it there.",
        },
        "signature": {
            "type": "apiKey",
            "in": "header",
            "name": "X-Signature",
            "description": "A voice provider's signature: the HMAC with SHA-256, in hexadecimal, of `X-Timestamp`, a dot and \
                            the body, by the secret that the provider shares with the service.",
        },
    })
}
