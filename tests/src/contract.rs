//! Checks every request to the functions and every response against the committed contract. A test fails if a response
//! does not match the contract or the OpenAPI document that is made from it, or if an undocumented request succeeds.

use std::collections::{BTreeSet, HashMap};
use std::convert::identity;
use std::sync::{Arc, LazyLock, Mutex};

use bytes::Bytes;
use futures_util::FutureExt;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use jsonschema::{Registry, RegistryBuilder, Validator};
use lambda_http::request::RequestContext;
use lambda_http::{Body, RequestExt, Response};
use rolecall_local::demo;
use rolecall_local::functions::{Tables, tables};
use rolecall_local::gateway::Function;
use serde_json::{Map, Value, json};
use shared::auth::Credential;
use shared::http::FORM;
use shared::model::Scope;
use url::form_urlencoded;

use crate::compression;
use crate::project::project;

/// The extension with the schema of the response to a credential that may not read people. Clients are generated for
/// credentials that may.
pub const WITHOUT_READING: &str = "x-without-candidates-read";

/// The path of the contract, which describes every route exactly.
pub const WHOLE: &str = "functions/docs/contract.json";
/// The path of the OpenAPI document, which the service returns.
pub const PUBLISHED: &str = "functions/docs/openapi.json";

const NO_OPERATION: &str = "the operation is not documented";

/// The committed contract.
pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::read(WHOLE));
/// The contract that clients read. It has fewer routes, and is not exact about requests.
pub static CLIENTS: LazyLock<Contract> = LazyLock::new(|| Contract::read(PUBLISHED));

/// Records violations of the contract by the functions that it wraps. Dropping it with recorded violations fails the
/// test.
#[derive(Debug, Default)]
pub struct ContractMonitor(Arc<Mutex<BTreeSet<String>>>);

/// Whether a schema accepts every value: it has at most a description.
fn accepts_everything(schema: &Value) -> bool {
    *schema == json!(true)
        || schema.as_object().is_some_and(|schema| schema.keys().all(|name| name == "description"))
}

impl ContractMonitor {
    /// Wraps a function with the checks.
    pub fn wrap(&self, function: Function) -> Function {
        let found = self.0.clone();
        Arc::new(move |request| {
            let (function, found) = (function.clone(), found.clone());
            let (parts, body) = request.into_parts();
            let content: &[u8] = body.as_ref();
            let request = http::Request::from_parts(parts.clone(), content.to_vec());
            async move {
                let response = function(http::Request::from_parts(parts, body)).await;
                let mut violations = CONTRACT.violations(&request, &response);
                if violations.is_empty() {
                    violations = CLIENTS.broken_promises(&request, &response);
                }
                found.lock().expect("no poison").extend(violations);
                response
            }
            .boxed()
        })
    }

    /// Removes and returns the violations recorded so far, such as
    /// `GET /api/v1/roles returned 200: the header ETag is missing`.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("no poison")).into_iter().collect()
    }
}

impl Drop for ContractMonitor {
    fn drop(&mut self) {
        let violations = self.take_violations();
        if std::thread::panicking() {
            if !violations.is_empty() {
                eprintln!("The service also violated the contract: {violations:#?}");
            }
        } else {
            assert!(
                violations.is_empty(),
                "{WHOLE} and the service differ: if the service is right, run .ci/renew\n{violations:#?}"
            );
        }
    }
}

/// The OpenAPI document with its schemas and validators.
pub struct Contract {
    /// The document.
    pub document: Value,
    /// The registry that resolves references between schemas.
    registry: Registry<'static>,
    /// Whether the document describes a route, by route key.
    is_documented: HashMap<&'static str, bool>,
    /// A validator for each schema in use, by JSON pointer.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// A part of the document.
#[derive(Clone)]
struct Part<'d> {
    document: &'d Value,
    pointer: String,
    value: &'d Value,
}

impl<'d> Part<'d> {
    fn at(document: &'d Value, pointer: String) -> Option<Self> {
        let value = document.pointer(&pointer)?;
        Self { document, pointer, value }.resolved()
    }

    /// Returns the target of a reference, or the part itself.
    fn resolved(self) -> Option<Self> {
        match self.value["$ref"].as_str() {
            // A reference to a schema is kept, because other keywords may appear next to it.
            Some(reference) if !reference.starts_with("#/components/schemas/") => {
                Self::at(self.document, reference.strip_prefix('#')?.to_owned())
            }
            _ => Some(self),
        }
    }

    fn get(&self, name: &str) -> Option<Self> {
        Self::at(self.document, format!("{}/{}", self.pointer, pointer_escaped(name)))
    }

    /// Returns the members of an object by name.
    fn entries(&self) -> Vec<(&'d str, Self)> {
        let names = self.value.as_object().into_iter().flat_map(Map::keys);
        names.filter_map(|name| Some((name.as_str(), self.get(name)?))).collect()
    }

    /// Returns the elements of an array.
    fn items(&self) -> Vec<Self> {
        let count = self.value.as_array().map_or(0, Vec::len);
        (0..count).filter_map(|index| self.get(&index.to_string())).collect()
    }
}

impl Contract {
    fn read(path: &str) -> Self {
        let document = std::fs::read_to_string(project(path)).expect("the document");
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let registry = Registry::new().add("contract:", document.clone()).and_then(RegistryBuilder::prepare);
        let tables =
            tables().into_iter().flat_map(|Tables { routes, pages, .. }| [(routes, true), (pages, false)]);
        Self {
            registry: registry.expect("schemas"),
            document,
            is_documented: tables
                .flat_map(|(routes, is_documented)| {
                    routes.into_iter().map(move |route| (route.key, is_documented))
                })
                .collect(),
            validators: Mutex::default(),
        }
    }

    /// Returns the validation errors of a value for the schema at this pointer, including fields that the schema does
    /// not describe.
    pub fn mismatches(&self, pointer: &str, value: &Value) -> Vec<String> {
        let validator = self.validator(pointer);
        let failures = validator.iter_errors(value).map(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            at => format!("{at}: {error}"),
        });
        let schema = self.document.pointer(pointer).expect("a schema");
        let more = self.undocumented(&[schema], value, "");
        failures.chain(more.into_iter().map(|at| format!("{at} is not documented"))).collect()
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        if let Some(validator) = self.validators.lock().expect("no poison").get(pointer) {
            return validator.clone();
        }
        let uri = format!("contract:#{}", pointer.replace('{', "%7B").replace('}', "%7D"));
        let schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": uri });
        let options = jsonschema::options().with_registry(&self.registry).should_validate_formats(true);
        let validator = Arc::new(options.build(&schema).expect("a schema"));
        self.validators.lock().expect("no poison").insert(pointer.to_owned(), validator.clone());
        validator
    }

    /// Returns the JSON pointers of the fields that no part of the schemas describes.
    fn undocumented(&self, schemas: &[&Value], value: &Value, at: &str) -> Vec<String> {
        let parts: Vec<_> = schemas.iter().flat_map(|schema| self.parts(schema)).collect();
        let children: Vec<(Vec<&Value>, &Value, String)> = match value {
            Value::Object(fields) => {
                let schemas_of = |name: &str| {
                    let found = parts.iter().filter_map(|part| {
                        part["properties"].get(name).or_else(|| part.get("additionalProperties"))
                    });
                    found.collect()
                };
                fields.iter().map(|(name, value)| (schemas_of(name), value, format!("{at}/{name}"))).collect()
            }
            Value::Array(items) => {
                let item_schemas: Vec<_> = parts.iter().filter_map(|part| part.get("items")).collect();
                items.iter().map(|item| (item_schemas.clone(), item, format!("{at}/0"))).collect()
            }
            _ => Vec::new(),
        };
        let undocumented = |(schemas, value, at): (Vec<&Value>, &Value, String)| match schemas.as_slice() {
            [] => vec![at],
            schemas if schemas.iter().any(|schema| accepts_everything(schema)) => Vec::new(),
            schemas => self.undocumented(schemas, value, &at),
        };
        children.into_iter().flat_map(undocumented).collect()
    }

    /// Returns a schema and all schemas that it refers to or combines.
    fn parts<'d>(&'d self, schema: &'d Value) -> Vec<&'d Value> {
        let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        let target = reference.and_then(|pointer| self.document.pointer(pointer));
        let parts_of = |name: &str| schema[name].as_array().into_iter().flatten();
        let inner = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(parts_of);
        inner.chain(target).flat_map(|part| self.parts(part)).chain([schema]).collect()
    }

    /// Returns the violations of a request and its response, each as a sentence.
    fn violations(&self, request: &http::Request<Vec<u8>>, response: &Response<Body>) -> Vec<String> {
        let route_key = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV2(context)) => context.route_key.as_deref().unwrap_or_default(),
            _ => "",
        };
        // HEAD is documented as GET, whose status and headers it has.
        let method = if request.method() == Method::HEAD { "GET" } else { request.method().as_str() };
        let path = route_key.split_once(' ').map(|(_, path)| path);
        let key = path.map_or_else(|| route_key.to_owned(), |path| format!("{method} {path}"));
        let is_unknown = path.is_some_and(|path| {
            let mut known = self.is_documented.keys().filter_map(|known| known.split_once(' '));
            !self.is_documented.contains_key(key.as_str()) && known.any(|(_, own)| own == path)
        });
        let key = if is_unknown { "$default" } else { key.as_str() };
        let accepted = request.headers().get("accept").map(text).unwrap_or_default();
        let found = match self.is_documented.get(key) {
            Some(true) => self.operation_violations(key, request, response),
            // A browser gets an HTML page.
            Some(false) if key == "$default" && !accepted.contains("text/html") => {
                self.error_violations(request.method(), response)
            }
            Some(false) => Vec::new(),
            None => vec!["no function has this route".to_owned()],
        };
        let (method, path, status) = (request.method(), request.raw_http_path(), response.status().as_u16());
        found.into_iter().map(|violation| format!("{method} {path} returned {status}: {violation}")).collect()
    }

    /// Returns the violations of a response of an operation that this document describes, each as a sentence.
    fn broken_promises(&self, request: &http::Request<Vec<u8>>, response: &Response<Body>) -> Vec<String> {
        let Some(RequestContext::ApiGatewayV2(context)) = request.request_context_ref() else {
            return Vec::new();
        };
        let key = context.route_key.as_deref().unwrap_or_default();
        let Some(operation) = self.operation(key) else { return Vec::new() };
        let found =
            self.response_violations(request.method(), &operation, may_read_people(request), response);
        found.into_iter().map(|violation| format!("{key}, as clients know it: {violation}")).collect()
    }

    fn operation_violations(
        &self,
        key: &str,
        request: &http::Request<Vec<u8>>,
        response: &Response<Body>,
    ) -> Vec<String> {
        let Some(operation) = self.operation(key) else {
            return vec![NO_OPERATION.to_owned()];
        };
        let mut found =
            self.response_violations(request.method(), &operation, may_read_people(request), response);
        if response.status().is_success() {
            found.extend(self.parameters(&operation, request));
            found.extend(self.request_body(&operation, request));
        }
        found
    }

    fn operation(&self, key: &str) -> Option<Part<'_>> {
        let (method, path) = key.split_once(' ')?;
        Part::at(&self.document, format!("/paths/{}/{}", pointer_escaped(path), method.to_lowercase()))
    }

    /// Returns the violations of a response that the gateway sends without calling a function.
    pub fn gateway_violations(&self, key: &str, response: &Response<Bytes>) -> Vec<String> {
        let Some(operation) = self.operation(key) else { return vec![NO_OPERATION.to_owned()] };
        self.response_violations(&Method::GET, &operation, true, response)
    }

    fn response_violations<B: AsRef<[u8]>>(
        &self,
        method: &Method,
        operation: &Part<'_>,
        may_read_people: bool,
        response: &Response<B>,
    ) -> Vec<String> {
        let documented = operation.get("responses").and_then(|all| all.get(response.status().as_str()));
        let Some(documented) = documented else { return vec!["the status is not documented".to_owned()] };
        let mut found = self.headers(&documented, response.headers(), &[]);
        let content = documented.get("content").filter(|_| method != Method::HEAD);
        let schema = if may_read_people { "schema" } else { WITHOUT_READING };
        found.extend(self.content(content, schema, response.headers(), &uncompressed(response), identity));
        found
    }

    /// Returns the violations of an error response to a request without an operation.
    fn error_violations(&self, method: &Method, response: &Response<Body>) -> Vec<String> {
        let documented = Part::at(&self.document, "/components/responses/not_found".to_owned());
        let documented = documented.expect("the not_found response");
        let allow = match response.status().as_u16() {
            404 => None,
            405 => Some("allow"),
            _ => return vec!["the status is not documented".to_owned()],
        };
        let mut found = self.headers(&documented, response.headers(), allow.as_slice());
        if method != Method::HEAD {
            let body = parsed("application/json", &uncompressed(response));
            found.extend(self.mismatches("/components/schemas/Problem", &body));
        }
        found
    }

    /// Checks that all required headers are present, and that each header is valid and is either documented or in
    /// `others`.
    fn headers(&self, response: &Part<'_>, actual: &HeaderMap, others: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        let documented: Vec<_> = response.get("headers").iter().flat_map(Part::entries).collect();
        for (name, header) in &documented {
            let values: Vec<_> = actual.get_all(*name).iter().collect();
            match values.as_slice() {
                [] if header.value["required"] == true => found.push(format!("the header {name} is missing")),
                [] => {}
                [value] => found.extend(
                    self.text_mismatches(header, &text(value))
                        .into_iter()
                        .map(|mismatch| format!("the header {name}: {mismatch}")),
                ),
                _ => found.push(format!("the header {name} is sent more than once")),
            }
        }
        found.extend(
            others
                .iter()
                .filter(|name| !actual.contains_key(**name))
                .map(|name| format!("the header {name} is missing")),
        );
        let is_known = |name: &str| {
            ["content-type", "content-length", "content-encoding", "vary"].contains(&name)
                || others.contains(&name)
                || documented.iter().any(|(documented, _)| documented.eq_ignore_ascii_case(name))
        };
        let more = actual.keys().map(http::HeaderName::as_str).filter(|name| !is_known(name));
        found.extend(more.map(|name| format!("the header {name} is not documented")));
        found
    }

    /// Checks that a body has a documented media type and matches its schema, which is under `name` if it has that.
    fn content(
        &self,
        documented: Option<Part<'_>>,
        name: &str,
        headers: &HeaderMap,
        body: &[u8],
        read: fn(Value) -> Value,
    ) -> Vec<String> {
        let Some(documented) = documented else {
            return if body.is_empty() { Vec::new() } else { vec!["a body is not documented".to_owned()] };
        };
        let media = headers.get("content-type").map(media_type).unwrap_or_default();
        let documented = documented.get(&media);
        let schema = |name: &str| documented.as_ref().and_then(|documented| documented.get(name));
        match schema(name).or_else(|| schema("schema")) {
            Some(schema) if media == FORM => {
                self.mismatches(&schema.pointer, &self.fields(schema.value, body))
            }
            Some(schema) => self.mismatches(&schema.pointer, &read(parsed(&media, body))),
            None => vec![format!("the type {media:?} is not documented")],
        }
    }

    fn parameters(&self, operation: &Part<'_>, request: &http::Request<Vec<u8>>) -> Vec<String> {
        let documented: Vec<_> = operation.get("parameters").iter().flat_map(Part::items).collect();
        let parameters_in = |location: &'static str| {
            let matching = documented.iter().filter(move |parameter| parameter.value["in"] == location);
            matching.map(|parameter| (parameter.value["name"].as_str().unwrap_or_default(), parameter))
        };
        let mut found = Vec::new();
        let query = request.uri().query().unwrap_or_default();
        let query: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        // Only the API rejects unknown parameters; other operations ignore them.
        let is_strict = !operation.value["security"][0]["token"].is_null();
        let is_known =
            |name: &str| !is_strict || parameters_in("query").any(|(documented, _)| documented == name);
        let unknown = query.iter().filter(|(name, _)| !is_known(name));
        found.extend(unknown.map(|(name, _)| format!("the parameter {name} is not documented")));
        let mut check = |name: &str, parameter: &Part<'_>, values: Vec<String>| {
            if values.is_empty() && parameter.value["required"] == true {
                found.push(format!("the parameter {name} is missing"));
            }
            for value in values {
                let wrong = self.text_mismatches(parameter, &value);
                found.extend(wrong.into_iter().map(|mismatch| format!("the parameter {name}: {mismatch}")));
            }
        };
        for (name, parameter) in parameters_in("query") {
            let values = query.iter().filter(|(field, _)| field == name).map(|(_, value)| value.clone());
            check(name, parameter, values.collect());
        }
        for (name, parameter) in parameters_in("header") {
            check(name, parameter, request.headers().get_all(name).iter().map(text).collect());
        }
        for (name, parameter) in parameters_in("path") {
            let value = request.path_parameters_ref().and_then(|path| path.first(name));
            check(name, parameter, value.map(str::to_owned).into_iter().collect());
        }
        found
    }

    fn request_body(&self, operation: &Part<'_>, request: &http::Request<Vec<u8>>) -> Vec<String> {
        let body = request.body();
        let wrong = match operation.get("requestBody") {
            Some(documented) if !body.is_empty() || documented.value["required"] == true => {
                self.content(documented.get("content"), "schema", request.headers(), body, trimmed)
            }
            // The service ignores the body, or the body is an empty object.
            None if !["POST", "PATCH", "PUT"].contains(&request.method().as_str())
                || parsed("application/json", body) == json!({}) =>
            {
                Vec::new()
            }
            None if !body.is_empty() => vec!["a body is not documented".to_owned()],
            _ => Vec::new(),
        };
        wrong.into_iter().map(|violation| format!("the request: {violation}")).collect()
    }

    /// Returns the fields of a form as JSON, with arrays where the schema has arrays. Empty fields count as missing
    /// (RFC 6749, section 3.1).
    fn fields(&self, schema: &Value, body: &[u8]) -> Value {
        let parts = self.parts(schema);
        let is_list = |name: &str| parts.iter().any(|part| part["properties"][name]["type"] == "array");
        let mut fields = Map::new();
        for (name, value) in form_urlencoded::parse(body).filter(|(_, value)| !value.is_empty()) {
            let field = fields.entry(name.clone()).or_insert_with(|| json!([]));
            match field.as_array_mut() {
                Some(values) if is_list(&name) => values.push(value.into()),
                _ => *field = value.into(),
            }
        }
        fields.into()
    }

    /// Returns the validation errors of the value of a header or a parameter.
    fn text_mismatches(&self, documented: &Part<'_>, text: &str) -> Vec<String> {
        let Some(schema) = documented.get("schema") else { return vec!["it has no schema".to_owned()] };
        let target = self.parts(schema.value);
        let is = |kind: &str| target.iter().any(|part| part["type"] == kind);
        let value = if is("integer") || is("number") || is("boolean") {
            serde_json::from_str(text).unwrap_or_else(|_| text.into())
        } else {
            text.into()
        };
        self.mismatches(&schema.pointer, &value)
    }
}

/// Whether the credential of a request, if it is one of an admitted request, may read people.
fn may_read_people<B>(request: &http::Request<B>) -> bool {
    let credential = request.headers().get(AUTHORIZATION).map(text).unwrap_or_default();
    let keys = demo::credential_keys().expect("keys");
    let credential = Credential::read(credential.trim_start_matches("Bearer "), &keys);
    credential.is_ok_and(|credential| credential.claims().scopes.contains(Scope::CandidatesRead))
}

/// Escapes a name for a JSON pointer (RFC 6901).
fn pointer_escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns a response's body as it was before its compression.
fn uncompressed<B: AsRef<[u8]>>(response: &Response<B>) -> Vec<u8> {
    compression::uncompressed(response.headers(), response.body().as_ref())
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).trim().to_owned()
}

/// Returns a media type without its parameters.
fn media_type(value: &HeaderValue) -> String {
    text(value).split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Trims all strings of a request body. The API trims strings before it validates them.
pub fn trimmed(value: Value) -> Value {
    match value {
        Value::String(text) => text.trim().into(),
        Value::Array(items) => items.into_iter().map(trimmed).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, trimmed(value))).collect(),
        value => value,
    }
}

/// Returns a body as JSON, or as a string if it is not JSON.
fn parsed(media: &str, body: &[u8]) -> Value {
    let text = || Value::String(String::from_utf8_lossy(body).into_owned());
    match media {
        "application/json" => serde_json::from_slice(body).unwrap_or_else(|_| text()),
        _ => text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the violations when the sample request to create a role is changed and gets this response.
    async fn violations_of(change: impl FnOnce(&mut Value), response: Response<Body>) -> Vec<String> {
        let event = std::fs::read_to_string(project("events/roles_create.json")).unwrap();
        let mut event = serde_json::from_str(&event).unwrap();
        change(&mut event);
        let request = lambda_http::request::from_str(&event.to_string()).unwrap();
        let (monitor, response) = (ContractMonitor::default(), Mutex::new(Some(response)));
        let function: Function = Arc::new(move |_| {
            let response = response.lock().unwrap().take().unwrap();
            async move { response }.boxed()
        });
        monitor.wrap(function)(request).await;
        monitor.take_violations()
    }

    fn role() -> Value {
        let example = "/paths/~1api~1v1~1roles/post/responses/201/content/application~1json/example";
        CONTRACT.document.pointer(example).unwrap().clone()
    }

    fn created(role: &Value) -> Response<Body> {
        let headers = [
            ("content-type", "application/json"),
            ("x-request-id", "x"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("strict-transport-security", "max-age=31536000; includeSubDomains"),
            ("etag", "\"x\""),
            ("location", "https://api.rolecall.test/api/v1/roles/1"),
        ];
        let response = Response::builder().status(201);
        let response =
            headers.into_iter().fold(response, |response, (name, value)| response.header(name, value));
        response.body(role.to_string().into()).unwrap()
    }

    #[tokio::test]
    async fn an_undocumented_response_is_a_violation() {
        type Change = fn(&mut Response<Body>);
        let responses: [(&str, Change); 8] = [
            ("201: the header ETag is missing", |response| {
                response.headers_mut().remove("etag");
            }),
            ("201: the header ETag: \"x\" does not match \"^\"[!#-~]+\"$\"", |response| {
                response.headers_mut().insert("etag", "x".parse().unwrap());
            }),
            ("201: the header x-more is not documented", |response| {
                response.headers_mut().insert("x-more", "x".parse().unwrap());
            }),
            ("201: the type \"text/html\" is not documented", |response| {
                response.headers_mut().insert("content-type", "text/html; charset=utf-8".parse().unwrap());
            }),
            ("202: the status is not documented", |response| {
                *response.status_mut() = 202.try_into().unwrap();
            }),
            ("201: /more is not documented", |response| {
                let mut role = role();
                role["more"] = 1.into();
                *response.body_mut() = role.to_string().into();
            }),
            ("201: /title: 1 is not of type \"string\"", |response| {
                let mut role = role();
                role["title"] = 1.into();
                *response.body_mut() = role.to_string().into();
            }),
            ("201: \"title\" is a required property", |response| {
                let mut role = role();
                role.as_object_mut().unwrap().remove("title");
                *response.body_mut() = role.to_string().into();
            }),
        ];
        assert_eq!(violations_of(|_| (), created(&role())).await, [""; 0]);
        for (violation, change) in responses {
            let mut response = created(&role());
            change(&mut response);
            assert_eq!(
                violations_of(|_| (), response).await,
                [format!("POST /api/v1/roles returned {violation}")]
            );
        }
    }

    #[tokio::test]
    async fn an_undocumented_request_that_succeeds_is_a_violation() {
        type Change = fn(&mut Value);
        let requests: [(&str, Change); 6] = [
            ("the parameter more is not documented", |event| event["rawQueryString"] = "more=1".into()),
            ("the parameter Idempotency-Key: \"a b\" does not match", |event| {
                event["headers"]["idempotency-key"] = "a b".into();
            }),
            ("the request: /department: 1 is not of types", |event| {
                event["body"] = r#"{"title": "Cook", "department": 1}"#.into();
            }),
            ("the request: Additional properties are not allowed", |event| {
                event["body"] = r#"{"title": "Cook", "more": 1}"#.into();
            }),
            ("the request: \"\" is not of type \"object\"", |event| event["body"] = Value::Null),
            ("the request: the type \"text/plain\" is not documented", |event| {
                event["headers"]["content-type"] = "text/plain".into();
            }),
        ];
        for (violation, change) in requests {
            let found = violations_of(change, created(&role())).await;
            let expected = format!("POST /api/v1/roles returned 201: {violation}");
            assert!(found.iter().any(|found| found.starts_with(&expected)), "{expected}: {found:#?}");
        }
    }

    #[test]
    fn form_fields_are_converted_according_to_the_schema() {
        let schema = &CONTRACT.document["components"]["schemas"]["TokenRequest"];
        assert_eq!(
            CONTRACT.fields(schema, b"code=&scope=a+b&resource=c&resource=d&more=1&more=2"),
            json!({ "scope": "a b", "resource": ["c", "d"], "more": "2" })
        );
    }

    #[tokio::test]
    async fn the_response_to_an_unknown_path_is_checked() {
        let unknown_path = |event: &mut Value| event["requestContext"]["routeKey"] = "$default".into();
        let not_found = || {
            let response = Response::builder().status(404).header("content-type", "application/json");
            let response = response.header("x-request-id", "x").header("cache-control", "no-store");
            let response = response.header("x-content-type-options", "nosniff");
            let response =
                response.header("strict-transport-security", "max-age=31536000; includeSubDomains");
            let body = json!({ "error": "Not found", "code": "not_found", "request_id": "x" });
            response.body(body.to_string().into()).unwrap()
        };
        assert_eq!(violations_of(unknown_path, not_found()).await, [""; 0]);
        let mut not_allowed = not_found();
        *not_allowed.status_mut() = 405.try_into().unwrap();
        assert_eq!(
            violations_of(unknown_path, not_allowed).await,
            ["POST /api/v1/roles returned 405: the header allow is missing"]
        );
        let mut empty = not_found();
        *empty.body_mut() = "{}".into();
        assert_eq!(violations_of(unknown_path, empty).await.len(), 3);
    }

    #[tokio::test]
    #[should_panic(expected = "functions/docs/contract.json and the service differ")]
    async fn a_violation_fails_the_test() {
        let monitor = ContractMonitor::default();
        monitor.0.lock().unwrap().insert("something".to_owned());
    }
}
