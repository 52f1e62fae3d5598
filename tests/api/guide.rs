//! Tests of the API guide. They send its example requests in order and compare the responses with those in the guide.

use std::collections::BTreeMap;
use std::io::{self, Write};

use http::{HeaderName, Method, StatusCode};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use shared::clock::Timestamp;
use shared::http::Access;
use tests::generated::assert_current;
use tests::openapi::operations;
use tests::{Response, TestApi, project};

const GUIDE: &str = "functions/README.md";
const OPEN: &str = "```http\n";
const CLOSE: &str = "```\n";
const CREATED: &str = "HTTP/1.1 201 ";
/// The maximum line width of JSON.
const WIDTH: usize = 120;
/// The headers that the examples show.
const HEADERS: [&str; 6] =
    ["Location", "ETag", "Link", "Idempotency-Replayed", "RateLimit-Policy", "RateLimit"];

/// Sends a request from the guide, with Acme's live key unless the request has a credential.
async fn send(api: &TestApi, request: &str) -> Response {
    let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
    let mut lines = head.lines();
    let (method, path) = lines.next().and_then(|line| line.split_once(' ')).expect("a method and a path");
    let mut builder = api.request(method.parse::<Method>().unwrap(), path);
    if !body.is_empty() {
        builder = builder.body("application/json", body.to_owned());
    }
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header");
        builder = builder.header(name.parse::<HeaderName>().unwrap(), value);
    }
    api.run_tasks().await;
    api.run_feed().await;
    builder.send().await
}

/// Formats a response as the guide shows it.
fn formatted(response: &Response) -> String {
    let status = format!("HTTP/1.1 {}", StatusCode::from_u16(response.status).unwrap());
    let headers = HEADERS.into_iter().filter_map(|name| Some((name, response.headers.get(name)?)));
    let headers =
        headers.map(|(name, value)| format!("{name}: {}", str::from_utf8(value.as_bytes()).unwrap()));
    let head = [status].into_iter().chain(headers).collect::<Vec<_>>().join("\n");
    format!("{head}\n\n{}\n", format_json(&response.body, 0, 0))
}

/// Formats JSON that starts at `column` of a line with `indent` leading spaces. It stays on one line if it fits.
fn format_json(value: &Value, indent: usize, column: usize) -> String {
    let mut line = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut line, SingleLine)).unwrap();
    let line = String::from_utf8(line).unwrap();
    let inner = indent + 2;
    let entries: Vec<_> = match value {
        Value::Object(fields) if column + line.len() >= WIDTH => {
            let format_json = |(name, value): (&String, &Value)| {
                format!("\"{name}\": {}", format_json(value, inner, inner + name.len() + 4))
            };
            fields.iter().map(format_json).collect()
        }
        Value::Array(items) if column + line.len() >= WIDTH => {
            items.iter().map(|item| format_json(item, inner, inner)).collect()
        }
        _ => return line,
    };
    let (open, close) = if value.is_object() { ("{", "}") } else { ("[", "]") };
    let (margin, outer) = (" ".repeat(inner), " ".repeat(indent));
    format!("{open}\n{margin}{}\n{outer}{close}", entries.join(&format!(",\n{margin}")))
}

struct SingleLine;

impl Formatter for SingleLine {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Splits text so that each number, and therefore each id, is a separate part.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|character: char| !character.is_ascii_digit()).flat_map(|part| {
        <[&str; 2]>::from(part.split_at(part.trim_end_matches(|last: char| !last.is_ascii_digit()).len()))
    })
}

fn ids(text: &str) -> impl Iterator<Item = &str> {
    parts(text).filter(|part| part.len() > 12 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the guide with the current responses to its requests, which are sent one minute apart.
async fn with_current_responses(guide: &str) -> String {
    let api = TestApi::new().await;
    let mut now: Timestamp = "2026-11-20T09:30:00Z".parse().unwrap();
    let (mut text, mut rest) = (String::new(), guide.to_owned());
    while let Some((before, block)) = rest.split_once(OPEN) {
        let (request, after) = block.split_once(CLOSE).expect("the end of a request");
        let (between, block) = after.split_once(OPEN).expect("a response to each request");
        let (response, following) = block.split_once(CLOSE).expect("the end of a response");
        now += SignedDuration::from_mins(1);
        api.clock.set(&now.to_string());
        let actual = formatted(&send(&api, request.trim_end()).await);
        assert_eq!(actual.lines().next(), response.lines().next(), "after {request}");
        text += &[before, OPEN, request, CLOSE, between, OPEN, &actual, CLOSE].concat();
        // A created resource has a new id in this run, which later requests must use.
        let created = response.starts_with(CREATED);
        let new_ids: BTreeMap<_, _> = ids(response).zip(ids(&actual)).filter(|_| created).collect();
        rest = parts(following).map(|part| *new_ids.get(part).unwrap_or(&part)).collect();
    }
    text + &rest
}

#[tokio::test]
async fn the_responses_are_current() {
    let guide = std::fs::read_to_string(project(GUIDE)).unwrap();
    assert_current(GUIDE, &with_current_responses(&guide).await);
}

#[test]
fn the_guides_tables_have_every_field() {
    let guide = std::fs::read_to_string(project(GUIDE)).unwrap();
    let document: Value = serde_json::from_str(docs::DOCUMENT).unwrap();
    for (section, schema) in [
        ("## Roles", "Role"),
        ("## Job postings", "JobPosting"),
        ("## Candidates", "Candidate"),
        ("### Consents", "Consent"),
        ("## Applications", "Application"),
        ("## Voice screens", "VoiceScreen"),
    ] {
        let text = guide.split_once(&format!("\n{section}\n")).expect(section).1;
        let table = text.split_once("\n| Field | Type |").expect(section).1.split("\n\n").next().unwrap();
        let names: String = table.lines().filter_map(|row| row.split('|').nth(1)).collect();
        for field in document["components"]["schemas"][schema]["properties"].as_object().unwrap().keys() {
            assert!(names.contains(&format!("`{field}`")), "{section} in {GUIDE} has no row for `{field}`");
        }
    }
}

#[test]
fn every_resource_and_every_header_has_an_example() {
    let guide = std::fs::read_to_string(project(GUIDE)).unwrap();
    for operation in operations().iter().filter(|operation| matches!(operation.access, Access::Scopes(_))) {
        let resource = operation.key.split('/').nth(3).unwrap();
        let has_example = |method: &str| guide.contains(&format!("{OPEN}{method} /api/v1/{resource}"));
        assert!(has_example("GET") || has_example("POST"), "{resource}");
    }
    for header in HEADERS {
        assert!(guide.contains(&format!("\n{header}: ")), "{header}");
    }
}
