//! What each sample event does, as `tests/outcomes.json` records it, and the rules for all of them.

use std::collections::BTreeMap;

use rolecall_local::functions::{Tables, tables};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::http::{Access, Route};
use shared::model::AuditAction;
use tests::interceptor::{RecordedCall, in_sequence};
use tests::permissions::{self, pattern, run_as};
use tests::{Response, TestApi, generated, project};

use super::events::{api_for, events};

/// The record of all sample events.
const FILE: &str = "tests/outcomes.json";

/// What a sample event does.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Outcome {
    /// The route of a request, or that it is a job.
    route: String,
    /// The status of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The target of a redirect. A star stands for what differs each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    /// The title of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The entries in the audit log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    audit: Vec<String>,
    /// The types of the events in the change feed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) events: Vec<String>,
    /// The number of calls to DynamoDB that wait for each other.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) in_sequence: usize,
    /// The calls to DynamoDB, each with the patterns of its partition keys.
    #[serde(skip_serializing)]
    pub(crate) calls: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none(number: &usize) -> bool {
    *number == 0
}

/// Returns what is recorded about each sample event.
pub(crate) fn outcomes() -> BTreeMap<String, Outcome> {
    serde_json::from_str(&std::fs::read_to_string(project(FILE)).unwrap()).unwrap()
}

/// Returns what is recorded about each sample request, with its route.
pub(crate) fn requests() -> Vec<(Route, Outcome)> {
    let routes: BTreeMap<_, _> =
        tables().into_iter().flat_map(Tables::rows).map(|route| (route.key, route)).collect();
    let outcomes = outcomes().into_values();
    outcomes.filter_map(|outcome| Some((routes.get(&*outcome.route)?.clone(), outcome))).collect()
}

#[tokio::test]
async fn the_outcomes_of_the_sample_events_are_current() {
    let mut lines = Vec::new();
    // The sample endpoints of webhooks are on the internet, so what happens to the deliveries differs.
    for (name, event) in events().into_iter().filter(|(name, _)| name != "deliver_schedule") {
        let outcome = outcome(&name, event).await;
        // A line for the response and what is recorded, and one for each call.
        let calls: Vec<_> = outcome.calls.iter().map(|call| format!("\n  {}", json!(call))).collect();
        let rest = serde_json::to_string(&outcome).unwrap();
        lines.push(format!("{}: {},\"calls\":[{}]}}", json!(name), &rest[..rest.len() - 1], calls.join(",")));
    }
    generated::assert_current(FILE, &format!("{{\n{}\n}}\n", lines.join(",\n")));
}

/// Sends an event to functions with a table of their own.
async fn outcome(name: &str, event: Value) -> Outcome {
    let base_url = Some("https://api.rolecall.example".to_owned());
    let api = api_for(name, |config| config.base_url.clone_from(&base_url)).await;
    let mut outcome = Outcome::default();
    if let Some(route) = event["routeKey"].as_str() {
        route.clone_into(&mut outcome.route);
        let response = Response::read(api.gateway.invoke_event(event).await.unwrap());
        let title = response.text.split_once("<title>").and_then(|(_, text)| text.split_once("</title>"));
        outcome.title = title.map(|(title, _)| title.to_owned());
        outcome.location = Some(stable(response.header("location"))).filter(|target| !target.is_empty());
        outcome.status = Some(response.status);
    } else {
        "a job".clone_into(&mut outcome.route);
        run(&api, name, event).await;
    }
    let calls = api.dynamodb.take_calls();
    for (kind, item) in calls.iter().flat_map(written) {
        match &*kind {
            "*#AUDIT#*" => outcome.audit.push(entry(item)),
            "OUTBOX#*" => outcome.events.extend(types(item)),
            _ => {}
        }
    }
    outcome.events.sort_unstable();
    outcome.in_sequence = in_sequence(&calls);
    outcome.calls = counted(&calls.iter().map(summary).collect::<Vec<_>>());
    outcome
}

/// Runs a job.
async fn run(api: &TestApi, name: &str, event: Value) {
    let environment = api.environment.clone();
    match name.split('_').next().unwrap() {
        "feed" => _ = run_as("FeedFunction", feed::answer(event, environment)).await.unwrap(),
        "tasks" => _ = run_as("TasksFunction", tasks::answer(event, environment)).await.unwrap(),
        "usage" => _ = run_as("UsageResetFunction", usage_reset::run(environment)).await.unwrap(),
        _ => panic!("{name} is an event of an unknown job"),
    }
}

/// Returns the items that a call puts, each with the pattern of its partition key.
fn written(call: &RecordedCall) -> Vec<(String, &Value)> {
    let actions = call.request["TransactItems"].as_array().into_iter().flatten();
    let items = actions.map(|action| &action["Put"]["Item"]).chain([&call.request["Item"]]);
    // A call that failed has written nothing.
    let items = items.filter(|_| call.response["__type"].is_null());
    items.filter_map(|item| Some((pattern(item["pk"]["S"].as_str()?), item))).collect()
}

/// Returns the types of the events in an item of the outbox.
fn types(item: &Value) -> Vec<String> {
    let changes = item["changes"]["L"].as_array().into_iter().flatten();
    changes.map(|change| change["M"]["type"]["S"].as_str().unwrap().to_owned()).collect()
}

/// Returns an entry of the audit log: what was done, who did it, and what it was done on.
fn entry(item: &Value) -> String {
    let of = |value: &Value| {
        let kind = value["M"]["type"]["S"].as_str()?;
        let id = value["M"]["id"]["N"].as_str().map(|id| format!(" {}", stable(id)));
        Some(format!("{kind}{}", id.unwrap_or_default()))
    };
    let action = item["action"]["S"].as_str().unwrap();
    let target = of(&item["target"]).map(|target| format!(" on {target}"));
    format!("{action} by {}{}", of(&item["actor"]).unwrap(), target.unwrap_or_default())
}

/// Returns a call in words: `Query by_status *#ROLE#*`.
fn summary(call: &RecordedCall) -> String {
    let mut actions: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for permissions::Access { action, resource, leading_keys } in
        permissions::Access::of(&call.operation, &call.request)
    {
        let index = if resource == "table" { String::new() } else { format!(" {resource}") };
        let action = action.trim_start_matches("dynamodb:").to_owned() + &index;
        actions.entry(action).or_default().extend(leading_keys.iter().map(|key| pattern(key)));
    }
    let actions = actions.into_iter().map(|(action, mut patterns)| {
        patterns.sort_unstable();
        format!("{action} {}", counted(&patterns).join(", "))
    });
    let actions = actions.collect::<Vec<_>>().join("; ");
    if call.operation == "TransactWriteItems" { format!("TransactWriteItems: {actions}") } else { actions }
}

/// Joins equal neighbours: `4 × Query *#AUDIT#*`.
fn counted(texts: &[String]) -> Vec<String> {
    let count = |equal: &[String]| match equal {
        [one] => one.clone(),
        more => format!("{} × {}", more.len(), more[0]),
    };
    texts.chunk_by(|one, next| one == next).map(count).collect()
}

/// Returns the operation of a recorded call.
pub(crate) fn operation(call: &str) -> &str {
    let call = call.trim_start_matches(|character: char| !character.is_ascii_alphabetic());
    call.split([' ', ':']).next().unwrap()
}

/// Whether a recorded call writes items with this pattern of the key.
fn changes(call: &str, pattern: &str) -> bool {
    let writes = |part: &str| {
        !part.contains("ConditionCheckItem") && part.split([' ', ',']).any(|word| word == pattern)
    };
    !["BatchGetItem", "GetItem", "Query"].contains(&operation(call)) && call.split("; ").any(writes)
}

/// Replaces the ids and secrets that are not those of the sample events' records.
fn stable(text: &str) -> String {
    let ends = |character: char| !(character.is_ascii_alphanumeric() || "%_.-".contains(character));
    let differs = |word: &str| {
        let is_random = word.len() >= 15 && word.bytes().any(|byte| byte.is_ascii_digit());
        is_random && !word.contains('%') && !word.starts_with("17000000000000")
    };
    let parts = text.split_inclusive(ends).map(|part| match part.trim_end_matches(ends) {
        word if differs(word) => part.replace(word, "*"),
        _ => part.to_owned(),
    });
    parts.collect()
}

#[test]
fn a_request_with_a_credential_makes_one_call_to_the_gate_before_all_others() {
    for (route, outcome) in requests() {
        if matches!(route.access(), Access::Scopes(_) | Access::Credential) {
            assert_eq!(outcome.calls[0], "UpdateItem *#GATE", "{}", route.key);
            let gate = outcome.calls.iter().filter(|call| changes(call, "*#GATE")).count();
            assert_eq!(gate, 1, "{}: {:?}", route.key, outcome.calls);
        }
    }
}

/// The kinds of keys with people's data.
const PEOPLE: [&str; 5] = ["*#APPLICATION", "*#CANDIDATE", "*#ROLE_APPLICATION", "*#SCREEN", "*#SUSPECT"];

/// Forms that name the person whom a member has just read.
const FORMS: [&str; 8] =
    ["applications", "consents", "erase", "files", "files/{file_id}/delete", "invite", "legal-hold", "move"];

/// An assistant's question shows whom it is about, if it is about somebody.
const QUESTION: &str = "GET /dashboard/confirmations/{call}";

/// Members' reads are recorded, and the exports that a program makes. `audit_log.rs` shows it for applications.
#[test]
fn every_read_of_people_is_recorded() {
    let is_read = |route: &Route| route.key.starts_with("GET ") || route.reading.is_some();
    for (route, outcome) in requests().into_iter().filter(|(route, _)| is_read(route)) {
        let reads = outcome.calls.iter().any(|call| PEOPLE.iter().any(|kind| call.contains(kind)));
        let form = route.key.strip_prefix("GET /dashboard/candidates/{id}/");
        if reads && !form.is_some_and(|form| FORMS.contains(&form)) {
            assert!(
                route.reading.is_some() || route.key == QUESTION,
                "{} reads people: {:?}",
                route.key,
                outcome.calls
            );
        }
        let recorded = match route.reading {
            // Without a rule, examples or mentions, the page shows nobody.
            _ if [
                "GET /dashboard/settings/retention",
                "GET /dashboard/imports/{id}",
                "GET /dashboard/settings/account/notices",
            ]
            .contains(&route.key) =>
            {
                None
            }
            _ if route.key == QUESTION => Some(AuditAction::CandidateRead),
            Some(action) if matches!(route.access(), Access::Member(_)) => Some(action),
            Some(action) => Some(action).filter(|_| route.key.ends_with("/export")),
            None => None,
        };
        let actions = outcome.audit.iter().map(|entry| entry.split(' ').next().unwrap());
        assert!(actions.eq(recorded.map(AuditAction::as_str)), "{}: {:?}", route.key, outcome.audit);
    }
}

/// The kinds of keys whose changes programs follow. What a member changes only for itself, what an application is granted,
/// and the way of a delivery are in the audit log or in lists of their own.
const FOLLOWED: [&str; 14] = [
    "*#APPLICATION",
    "*#CANDIDATE#*",
    "*#CANDIDATE_NOTE#*",
    "*#CHANNEL",
    "*#KEY",
    "*#LEGAL_HOLD",
    "*#POST",
    "*#POSTING",
    "*#PRIVACY",
    "*#PROFILE",
    "*#ROLE",
    "*#SCREEN",
    "*#SETTING",
    "*#WEBHOOK",
];

/// The sample event asks for a ticket, and a file that is awaited is not there yet.
const SILENT: &str = "POST /api/v1/candidates/{id}/files";

#[test]
fn every_change_that_programs_follow_makes_an_event() {
    let outcomes = outcomes();
    for kind in FOLLOWED {
        let changing =
            outcomes.values().filter(|outcome| outcome.calls.iter().any(|call| changes(call, kind)));
        let (mut number, mut silent) = (0, Vec::new());
        for outcome in changing {
            number += 1;
            silent.extend((outcome.events.is_empty() && outcome.route != SILENT).then_some(&outcome.route));
        }
        assert!(number > 0 && silent.is_empty(), "{kind}: {number} change it, without an event: {silent:?}");
    }
}

/// The kinds of keys with credentials, members and settings.
const SECURITY: [&str; 8] =
    ["*#KEY", "*#LEGAL_HOLD", "*#LOGO", "*#MEMBER", "*#PRIVACY", "*#PROFILE", "*#SETTING", "*#WEBHOOK"];

/// What members change only for themselves.
const OWN: [&str; 3] = [
    "POST /dashboard/settings/account/second-factor/recovery-codes",
    "POST /dashboard/settings/account/shortcuts",
    "POST /dashboard/settings/account/time-zone",
];

#[test]
fn every_change_of_credentials_members_and_settings_is_recorded() {
    for (route, outcome) in requests().into_iter().filter(|(route, _)| !OWN.contains(&route.key)) {
        let is_changed = outcome.calls.iter().any(|call| SECURITY.iter().any(|kind| changes(call, kind)));
        assert!(!is_changed || !outcome.audit.is_empty(), "{}: {:?}", route.key, outcome.calls);
    }
}
