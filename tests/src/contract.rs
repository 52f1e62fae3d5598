//! The committed OpenAPI document, held against every request to the functions and every answer of theirs: no test
//! receives what the document does not promise, and none is served what it does not describe.

use std::collections::{BTreeSet, HashMap};
use std::convert::identity;
use std::sync::{Arc, LazyLock, Mutex};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue};
use jsonschema::{Registry, RegistryBuilder, Validator};
use lambda_http::request::RequestContext;
use lambda_http::{Body, RequestExt, Response};
use rolecall_local::functions::{Tables, tables};
use rolecall_local::gateway::Function;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::browser::FORM;
use crate::project;

/// The document's place in the project.
pub const DOCUMENT: &str = "functions/docs/openapi.json";

const NO_OPERATION: &str = "there is no such operation";

/// The committed document.
pub static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::read);

/// Watches functions at work. Where the contract was broken, the test fails at the latest when this is dropped.
#[derive(Debug, Default)]
pub struct Watch(Arc<Mutex<BTreeSet<String>>>);

impl Watch {
    /// The same function, watched.
    pub fn over(&self, function: Function) -> Function {
        let found = self.0.clone();
        Arc::new(move |request| {
            let (function, found) = (function.clone(), found.clone());
            let (parts, body) = request.into_parts();
            let sent: &[u8] = body.as_ref();
            let asked = http::Request::from_parts(parts.clone(), sent.to_vec());
            async move {
                let response = function(http::Request::from_parts(parts, body)).await;
                let breaches = CONTRACT.breaches(&asked, &response);
                found.lock().expect("no poison").extend(breaches);
                response
            }
            .boxed()
        })
    }

    /// What was found until now, and is herewith settled: `GET /api/v1/roles answered 200: the header ETag is missing`.
    pub fn settle(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("no poison")).into_iter().collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let breaches = self.settle();
        if std::thread::panicking() {
            eprintln!("The contract was broken, too: {breaches:#?}");
        } else {
            assert!(breaches.is_empty(), "{DOCUMENT} and the service differ: {breaches:#?}");
        }
    }
}

/// See [`CONTRACT`].
pub struct Contract {
    /// The document.
    pub document: Value,
    /// The same, for schemas that refer to each other.
    registry: Registry<'static>,
    /// Whether the document describes a row, by route key.
    rows: HashMap<&'static str, bool>,
    /// One for each schema that something was held against, by its pointer.
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

    /// Where a reference leads, or what is there by itself.
    fn resolved(self) -> Option<Self> {
        match self.value["$ref"].as_str() {
            // A schema may say more beside its reference.
            Some(reference) if !reference.starts_with("#/components/schemas/") => {
                Self::at(self.document, reference.strip_prefix('#')?.to_owned())
            }
            _ => Some(self),
        }
    }

    fn get(&self, name: &str) -> Option<Self> {
        Self::at(self.document, format!("{}/{}", self.pointer, escaped(name)))
    }

    /// The named parts of an object.
    fn entries(&self) -> Vec<(&'d str, Self)> {
        let names = self.value.as_object().into_iter().flat_map(Map::keys);
        names.filter_map(|name| Some((name.as_str(), self.get(name)?))).collect()
    }

    /// The parts of a list.
    fn items(&self) -> Vec<Self> {
        let count = self.value.as_array().map_or(0, Vec::len);
        (0..count).filter_map(|index| self.get(&index.to_string())).collect()
    }
}

impl Contract {
    fn read() -> Self {
        let document = std::fs::read_to_string(project(DOCUMENT)).expect("the document");
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let registry = Registry::new().add("contract:", document.clone()).and_then(RegistryBuilder::prepare);
        let tables =
            tables().into_iter().flat_map(|Tables { routes, pages, .. }| [(routes, true), (pages, false)]);
        Self {
            registry: registry.expect("schemas"),
            document,
            rows: tables
                .flat_map(|(rows, is_described)| rows.into_iter().map(move |row| (row.key, is_described)))
                .collect(),
            validators: Mutex::default(),
        }
    }

    /// What is wrong with a value by the schema at this pointer; what the schema does not describe is wrong, too.
    pub fn mismatches(&self, pointer: &str, value: &Value) -> Vec<String> {
        let validator = self.validator(pointer);
        let failures = validator.iter_errors(value).map(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            at => format!("{at}: {error}"),
        });
        let schema = self.document.pointer(pointer).expect("a schema");
        let more = self.undescribed(&[schema], value, "");
        failures.chain(more.into_iter().map(|at| format!("{at} is not described"))).collect()
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        if let Some(known) = self.validators.lock().expect("no poison").get(pointer) {
            return known.clone();
        }
        let place = format!("contract:#{}", pointer.replace('{', "%7B").replace('}', "%7D"));
        let schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": place });
        let options = jsonschema::options().with_registry(&self.registry).should_validate_formats(true);
        let validator = Arc::new(options.build(&schema).expect("a schema"));
        self.validators.lock().expect("no poison").insert(pointer.to_owned(), validator.clone());
        validator
    }

    /// Fields that none of the schemas has, in any of its parts.
    fn undescribed(&self, schemas: &[&Value], value: &Value, at: &str) -> Vec<String> {
        let parts: Vec<_> = schemas.iter().flat_map(|schema| self.parts(schema)).collect();
        let below: Vec<(Vec<&Value>, &Value, String)> = match value {
            Value::Object(fields) => {
                let of = |name: &str| {
                    let here = parts.iter().filter_map(|part| {
                        part["properties"].get(name).or_else(|| part.get("additionalProperties"))
                    });
                    here.collect()
                };
                fields.iter().map(|(name, value)| (of(name), value, format!("{at}/{name}"))).collect()
            }
            Value::Array(items) => {
                let of: Vec<_> = parts.iter().filter_map(|part| part.get("items")).collect();
                items.iter().map(|item| (of.clone(), item, format!("{at}/0"))).collect()
            }
            _ => Vec::new(),
        };
        let undescribed = |(schemas, value, at): (Vec<&Value>, &Value, String)| match schemas.as_slice() {
            [] => vec![at],
            // Anything goes.
            schemas if schemas.iter().any(|schema| [json!(true), json!({})].contains(schema)) => Vec::new(),
            schemas => self.undescribed(schemas, value, &at),
        };
        below.into_iter().flat_map(undescribed).collect()
    }

    /// A schema with all that it is put together from.
    fn parts<'d>(&'d self, schema: &'d Value) -> Vec<&'d Value> {
        let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        let target = reference.and_then(|pointer| self.document.pointer(pointer));
        let parts_of = |name: &str| schema[name].as_array().into_iter().flatten();
        let inner = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(parts_of);
        inner.chain(target).flat_map(|part| self.parts(part)).chain([schema]).collect()
    }

    /// Where a request and its answer are not what the document says, each a sentence.
    fn breaches(&self, request: &http::Request<Vec<u8>>, response: &Response<Body>) -> Vec<String> {
        let key = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV2(context)) => context.route_key.as_deref().unwrap_or_default(),
            _ => "",
        };
        let accepted = request.headers().get("accept").map(text).unwrap_or_default();
        let found = match self.rows.get(key) {
            Some(true) => self.operation_breaches(key, request, response),
            // A person's browser is shown a page.
            Some(false) if key == "$default" && !accepted.contains("text/html") => {
                self.refusal_breaches(response)
            }
            Some(false) => Vec::new(),
            None => vec!["no function has such a row".to_owned()],
        };
        let (method, path, status) = (request.method(), request.raw_http_path(), response.status().as_u16());
        found.into_iter().map(|what| format!("{method} {path} answered {status}: {what}")).collect()
    }

    fn operation_breaches(
        &self,
        key: &str,
        request: &http::Request<Vec<u8>>,
        response: &Response<Body>,
    ) -> Vec<String> {
        let Some(operation) = self.operation(key) else {
            return vec![NO_OPERATION.to_owned()];
        };
        let mut found = self.answer_breaches(&operation, response);
        if response.status().is_success() {
            found.extend(self.parameters(&operation, request));
            found.extend(self.request_body(&operation, request));
        }
        found
    }

    fn operation(&self, key: &str) -> Option<Part<'_>> {
        let (method, path) = key.split_once(' ')?;
        Part::at(&self.document, format!("/paths/{}/{}", escaped(path), method.to_lowercase()))
    }

    /// Where what the gateway answers by itself, before a function is asked, is not what the document says of the row.
    pub fn gateway_breaches(&self, key: &str, response: &Response<Bytes>) -> Vec<String> {
        let Some(operation) = self.operation(key) else { return vec![NO_OPERATION.to_owned()] };
        self.answer_breaches(&operation, response)
    }

    fn answer_breaches<B: AsRef<[u8]>>(&self, operation: &Part<'_>, response: &Response<B>) -> Vec<String> {
        let described = operation.get("responses").and_then(|all| all.get(response.status().as_str()));
        let Some(described) = described else { return vec!["the status is not described".to_owned()] };
        let mut found = self.headers(&described, response.headers(), &[]);
        let content = described.get("content");
        found.extend(self.content(content, response.headers(), response.body().as_ref(), identity));
        found
    }

    /// What is answered where there is no operation: an error, too.
    fn refusal_breaches(&self, response: &Response<Body>) -> Vec<String> {
        let described = Part::at(&self.document, "/components/responses/not_found".to_owned());
        let described = described.expect("what is answered where nothing is found");
        let allow = match response.status().as_u16() {
            404 => None,
            405 => Some("allow"),
            _ => return vec!["the status is not described".to_owned()],
        };
        let mut found = self.headers(&described, response.headers(), allow.as_slice());
        let body = parsed("application/json", response.body().as_ref());
        found.extend(self.mismatches("/components/schemas/ApiError", &body));
        found
    }

    /// Whether the headers are there that must be, those that are there are valid, and none is that is not described or
    /// among `others`.
    fn headers(&self, answer: &Part<'_>, sent: &HeaderMap, others: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        let described: Vec<_> = answer.get("headers").iter().flat_map(Part::entries).collect();
        for (name, header) in &described {
            let values: Vec<_> = sent.get_all(*name).iter().collect();
            match values.as_slice() {
                [] if header.value["required"] == true => found.push(format!("the header {name} is missing")),
                [] => {}
                [value] => found.extend(
                    self.text_mismatches(header, &text(value))
                        .into_iter()
                        .map(|what| format!("the header {name}: {what}")),
                ),
                _ => found.push(format!("the header {name} is sent more than once")),
            }
        }
        found.extend(
            others
                .iter()
                .filter(|name| !sent.contains_key(**name))
                .map(|name| format!("the header {name} is missing")),
        );
        let known = |name: &str| {
            ["content-type", "content-length"].contains(&name)
                || others.contains(&name)
                || described.iter().any(|(described, _)| described.eq_ignore_ascii_case(name))
        };
        let more = sent.keys().map(http::HeaderName::as_str).filter(|name| !known(name));
        found.extend(more.map(|name| format!("the header {name} is not described")));
        found
    }

    /// Whether a body is of a described type, and as its schema says.
    fn content(
        &self,
        described: Option<Part<'_>>,
        headers: &HeaderMap,
        body: &[u8],
        read: fn(Value) -> Value,
    ) -> Vec<String> {
        let Some(described) = described else {
            return if body.is_empty() { Vec::new() } else { vec!["a body is not described".to_owned()] };
        };
        let media = headers.get("content-type").map(media_type).unwrap_or_default();
        match described.get(&media).and_then(|described| described.get("schema")) {
            Some(schema) if media == FORM => {
                self.mismatches(&schema.pointer, &self.fields(schema.value, body))
            }
            Some(schema) => self.mismatches(&schema.pointer, &read(parsed(&media, body))),
            None => vec![format!("the type {media:?} is not described")],
        }
    }

    fn parameters(&self, operation: &Part<'_>, request: &http::Request<Vec<u8>>) -> Vec<String> {
        let described: Vec<_> = operation.get("parameters").iter().flat_map(Part::items).collect();
        let of = |place: &'static str| {
            let here = described.iter().filter(move |parameter| parameter.value["in"] == place);
            here.map(|parameter| (parameter.value["name"].as_str().unwrap_or_default(), parameter))
        };
        let mut found = Vec::new();
        let query = request.uri().query().unwrap_or_default();
        let query: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        // The API alone refuses what it does not know; elsewhere that is not read.
        let is_strict = !operation.value["security"][0]["api_key"].is_null();
        let is_known = |name: &str| !is_strict || of("query").any(|(known, _)| known == name);
        let unknown = query.iter().filter(|(name, _)| !is_known(name));
        found.extend(unknown.map(|(name, _)| format!("the parameter {name} is not described")));
        let mut hold = |name: &str, parameter: &Part<'_>, values: Vec<String>| {
            if values.is_empty() && parameter.value["required"] == true {
                found.push(format!("the parameter {name} is missing"));
            }
            for value in values {
                let wrong = self.text_mismatches(parameter, &value);
                found.extend(wrong.into_iter().map(|what| format!("the parameter {name}: {what}")));
            }
        };
        for (name, parameter) in of("query") {
            let values = query.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone());
            hold(name, parameter, values.collect());
        }
        for (name, parameter) in of("header") {
            hold(name, parameter, request.headers().get_all(name).iter().map(text).collect());
        }
        for (name, parameter) in of("path") {
            let value = request.path_parameters_ref().and_then(|path| path.first(name));
            hold(name, parameter, value.map(str::to_owned).into_iter().collect());
        }
        found
    }

    fn request_body(&self, operation: &Part<'_>, request: &http::Request<Vec<u8>>) -> Vec<String> {
        let body = request.body();
        let wrong = match operation.get("requestBody") {
            Some(described) if !body.is_empty() || described.value["required"] == true => {
                self.content(described.get("content"), request.headers(), body, trimmed)
            }
            // Nobody looks at it; or it is an object without a field, which says nothing.
            None if !["POST", "PATCH"].contains(&request.method().as_str())
                || parsed("application/json", body) == json!({}) =>
            {
                Vec::new()
            }
            None if !body.is_empty() => vec!["a body is not described".to_owned()],
            _ => Vec::new(),
        };
        wrong.into_iter().map(|what| format!("the request: {what}")).collect()
    }

    /// A form's fields as its schema sees them: a list where it says so. What is empty was not sent (RFC 6749, section
    /// 3.1).
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

    /// What is wrong with a header's or a parameter's value.
    fn text_mismatches(&self, described: &Part<'_>, text: &str) -> Vec<String> {
        let Some(schema) = described.get("schema") else { return vec!["it has no schema".to_owned()] };
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

/// A name as a pointer has it (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).trim().to_owned()
}

/// A media type without its parameters.
fn media_type(value: &HeaderValue) -> String {
    text(value).split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// A request's body as the service reads it: the API's rules have it that strings are trimmed before they are looked at.
fn trimmed(value: Value) -> Value {
    match value {
        Value::String(text) => text.trim().into(),
        Value::Array(items) => items.into_iter().map(trimmed).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, trimmed(value))).collect(),
        value => value,
    }
}

/// A body as its schema sees it: JSON, or a text.
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

    /// What the watch finds where the recorded request to create a role, changed, is answered like this.
    async fn found(change: impl FnOnce(&mut Value), answer: Response<Body>) -> Vec<String> {
        let event = std::fs::read_to_string(project("events/roles_create.json")).unwrap();
        let mut event = serde_json::from_str(&event).unwrap();
        change(&mut event);
        let request = lambda_http::request::from_str(&event.to_string()).unwrap();
        let (watch, answer) = (Watch::default(), Mutex::new(Some(answer)));
        let function: Function = Arc::new(move |_| {
            let answer = answer.lock().unwrap().take().unwrap();
            async move { answer }.boxed()
        });
        watch.over(function)(request).await;
        watch.settle()
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
            ("etag", "\"x\""),
            ("location", "https://api.rolecall.test/api/v1/roles/1"),
        ];
        let answer = Response::builder().status(201);
        let answer = headers.into_iter().fold(answer, |answer, (name, value)| answer.header(name, value));
        answer.body(role.to_string().into()).unwrap()
    }

    #[tokio::test]
    async fn an_answer_that_is_not_described_is_found() {
        type Change = fn(&mut Response<Body>);
        let answers: [(&str, Change); 8] = [
            ("201: the header ETag is missing", |answer| {
                answer.headers_mut().remove("etag");
            }),
            ("201: the header ETag: \"x\" does not match \"^\"[!#-~]+\"$\"", |answer| {
                answer.headers_mut().insert("etag", "x".parse().unwrap());
            }),
            ("201: the header x-more is not described", |answer| {
                answer.headers_mut().insert("x-more", "x".parse().unwrap());
            }),
            ("201: the type \"text/html\" is not described", |answer| {
                answer.headers_mut().insert("content-type", "text/html; charset=utf-8".parse().unwrap());
            }),
            ("202: the status is not described", |answer| *answer.status_mut() = 202.try_into().unwrap()),
            ("201: /more is not described", |answer| {
                let mut role = role();
                role["more"] = 1.into();
                *answer.body_mut() = role.to_string().into();
            }),
            ("201: /title: 1 is not of type \"string\"", |answer| {
                let mut role = role();
                role["title"] = 1.into();
                *answer.body_mut() = role.to_string().into();
            }),
            ("201: \"title\" is a required property", |answer| {
                let mut role = role();
                role.as_object_mut().unwrap().remove("title");
                *answer.body_mut() = role.to_string().into();
            }),
        ];
        assert_eq!(found(|_| (), created(&role())).await, [""; 0]);
        for (what, change) in answers {
            let mut answer = created(&role());
            change(&mut answer);
            assert_eq!(found(|_| (), answer).await, [format!("POST /api/v1/roles answered {what}")]);
        }
    }

    #[tokio::test]
    async fn a_request_that_is_served_and_not_described_is_found() {
        type Change = fn(&mut Value);
        let requests: [(&str, Change); 6] = [
            ("the parameter more is not described", |event| event["rawQueryString"] = "more=1".into()),
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
            ("the request: the type \"text/plain\" is not described", |event| {
                event["headers"]["content-type"] = "text/plain".into();
            }),
        ];
        for (what, change) in requests {
            let found = found(change, created(&role())).await;
            let what = format!("POST /api/v1/roles answered 201: {what}");
            assert!(found.iter().any(|found| found.starts_with(&what)), "{what}: {found:#?}");
        }
    }

    #[test]
    fn a_form_is_read_as_its_schema_has_it() {
        let schema = &CONTRACT.document["components"]["schemas"]["TokenRequest"];
        assert_eq!(
            CONTRACT.fields(schema, b"code=&scope=a+b&resource=c&resource=d&more=1&more=2"),
            json!({ "scope": "a b", "resource": ["c", "d"], "more": "2" })
        );
    }

    #[tokio::test]
    async fn what_is_not_there_is_an_error_like_others() {
        let nowhere = |event: &mut Value| event["requestContext"]["routeKey"] = "$default".into();
        let not_found = || {
            let answer = Response::builder().status(404).header("content-type", "application/json");
            let answer = answer.header("x-request-id", "x").header("cache-control", "no-store");
            let body = json!({ "error": "Not found", "code": "not_found", "request_id": "x" });
            answer.body(body.to_string().into()).unwrap()
        };
        assert_eq!(found(nowhere, not_found()).await, [""; 0]);
        let mut not_allowed = not_found();
        *not_allowed.status_mut() = 405.try_into().unwrap();
        assert_eq!(
            found(nowhere, not_allowed).await,
            ["POST /api/v1/roles answered 405: the header allow is missing"]
        );
        let mut bare = not_found();
        *bare.body_mut() = "{}".into();
        assert_eq!(found(nowhere, bare).await.len(), 3);
    }

    #[tokio::test]
    #[should_panic(expected = "functions/docs/openapi.json and the service differ")]
    async fn a_test_fails_with_what_was_found() {
        let watch = Watch::default();
        watch.0.lock().unwrap().insert("something".to_owned());
    }
}
