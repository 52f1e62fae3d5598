//! The API guide: its examples are played in order, and what it shows is what was answered.

use std::collections::BTreeMap;
use std::io::{self, Write};

use http::{HeaderName, Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use shared::http::Access;
use tests::openapi::operations;
use tests::{Answer, World, project};

const GUIDE: &str = "functions/README.md";
const RENEW: &str = "RENEW_GUIDE";
const OPEN: &str = "```http\n";
const CLOSE: &str = "```\n";
const CREATED: &str = "HTTP/1.1 201 ";
/// Where lines of JSON end at the latest, if they can.
const WIDTH: usize = 120;
/// The headers that examples show.
const HEADERS: [&str; 6] =
    ["Location", "ETag", "Link", "Idempotency-Replayed", "RateLimit-Policy", "RateLimit"];

/// Sends a request that the guide shows, with Acme's live key where it shows none.
async fn play(world: &World, request: &str) -> Answer {
    let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
    let mut lines = head.lines();
    let (method, path) = lines.next().and_then(|line| line.split_once(' ')).expect("a method and a path");
    let mut ask = world.request(method.parse::<Method>().unwrap(), path);
    if !body.is_empty() {
        ask = ask.body("application/json", body.to_owned());
    }
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header");
        ask = ask.header(name.parse::<HeaderName>().unwrap(), value);
    }
    world.run_tasks().await;
    ask.send().await
}

/// A response as the guide shows it.
fn shown(answer: &Answer) -> String {
    let status = format!("HTTP/1.1 {}", StatusCode::from_u16(answer.status).unwrap());
    let headers = HEADERS.into_iter().filter_map(|name| Some((name, answer.headers.get(name)?)));
    let headers = headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    let head = [status].into_iter().chain(headers).collect::<Vec<_>>().join("\n");
    format!("{head}\n\n{}\n", laid_out(&answer.body, 0, 0))
}

/// JSON that begins in this column of a line that is indented by so many: on one line where it fits.
fn laid_out(value: &Value, indent: usize, column: usize) -> String {
    let mut line = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut line, OnOneLine)).unwrap();
    let line = String::from_utf8(line).unwrap();
    let inner = indent + 2;
    let entries: Vec<_> = match value {
        Value::Object(fields) if column + line.len() >= WIDTH => {
            let laid_out = |(name, value): (&String, &Value)| {
                format!("\"{name}\": {}", laid_out(value, inner, inner + name.len() + 4))
            };
            fields.iter().map(laid_out).collect()
        }
        Value::Array(items) if column + line.len() >= WIDTH => {
            items.iter().map(|item| laid_out(item, inner, inner)).collect()
        }
        _ => return line,
    };
    let (open, close) = if value.is_object() { ("{", "}") } else { ("[", "]") };
    let (margin, outer) = (" ".repeat(inner), " ".repeat(indent));
    format!("{open}\n{margin}{}\n{outer}{close}", entries.join(&format!(",\n{margin}")))
}

struct OnOneLine;

impl Formatter for OnOneLine {
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

/// A text taken apart, such that ids are parts of their own.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|character: char| !character.is_ascii_digit()).flat_map(|part| {
        <[&str; 2]>::from(part.split_at(part.trim_end_matches(|last: char| !last.is_ascii_digit()).len()))
    })
}

fn ids(text: &str) -> impl Iterator<Item = &str> {
    parts(text).filter(|part| part.len() > 12 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The guide with the answers that its requests get today, one minute after the other.
async fn played(guide: &str) -> String {
    let world = World::new().await;
    let mut now: Timestamp = "2026-11-20T09:30:00Z".parse().unwrap();
    let (mut text, mut rest) = (String::new(), guide.to_owned());
    while let Some((before, block)) = rest.split_once(OPEN) {
        let (request, after) = block.split_once(CLOSE).expect("the end of a request");
        let (between, block) = after.split_once(OPEN).expect("a response to every request");
        let (response, following) = block.split_once(CLOSE).expect("the end of a response");
        now += SignedDuration::from_mins(1);
        world.hands.set(&now.to_string());
        let answer = shown(&play(&world, request.trim_end()).await);
        assert_eq!(answer.lines().next(), response.lines().next(), "after {request}");
        text += &[before, OPEN, request, CLOSE, between, OPEN, &answer, CLOSE].concat();
        // What was created has another id today, in later requests, too.
        let created = response.starts_with(CREATED);
        let renamed: BTreeMap<_, _> = ids(response).zip(ids(&answer)).filter(|_| created).collect();
        rest = parts(following).map(|part| *renamed.get(part).unwrap_or(&part)).collect();
    }
    text + &rest
}

#[tokio::test]
async fn every_example_is_what_the_service_answers() {
    let guide = std::fs::read_to_string(project(GUIDE)).unwrap();
    let today = played(&guide).await;
    if std::env::var_os(RENEW).is_some() {
        std::fs::write(project(GUIDE), today).unwrap();
        return;
    }
    let differs = guide.lines().zip(today.lines()).find(|(before, today)| before != today);
    assert!(guide == today, "{differs:#?}; {RENEW}=1 cargo test --test api guide:: writes {GUIDE} anew");
}

#[test]
fn every_resource_and_every_header_has_an_example() {
    let guide = std::fs::read_to_string(project(GUIDE)).unwrap();
    for operation in operations().iter().filter(|operation| matches!(operation.access, Access::Scope(_))) {
        let resource = operation.key.split('/').nth(3).unwrap();
        let is_shown = |method: &str| guide.contains(&format!("{OPEN}{method} /api/v1/{resource}"));
        assert!(is_shown("GET") || is_shown("POST"), "{resource}");
    }
    for header in HEADERS {
        assert!(guide.contains(&format!("\n{header}: ")), "{header}");
    }
}
