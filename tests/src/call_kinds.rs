//! The kinds of DynamoDB calls that a test makes: operations with kinds of items, operations with expressions and outcomes,
//! and what each function accesses.
//!
//! With `ROLECALL_TEST_CALLS=FOLDER`, each test writes its kinds of calls to a file. `.ci/dynamodb_local/run.py` uses these
//! files to choose tests that together make every kind of call, and a test in `policies` to find permissions that no
//! function needs.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::permissions::{Access, pattern};

/// The kinds of calls of one test, which are written to a file at its end.
pub(crate) struct CallKinds {
    file: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    calls: u64,
    kinds: BTreeSet<String>,
    /// Functions with actions, resources and patterns of keys.
    accesses: BTreeSet<[String; 4]>,
}

impl CallKinds {
    /// Records the calls of the current test, if the environment variable names a folder. The harness of Rust names a
    /// test's thread after the test.
    pub(crate) fn of_this_test() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os("ROLECALL_TEST_CALLS")?);
        let thread = std::thread::current();
        let test = thread.name()?.replace("::", ".");
        std::fs::create_dir_all(&folder).expect("a folder");
        Some(Self { file: folder.join(format!("{test}.jsonl")), seen: Mutex::default() })
    }

    /// Records a function's call and its response.
    pub(crate) fn record(
        &self,
        function: &str,
        operation: &str,
        request: &Value,
        status: u16,
        response: &[u8],
    ) {
        let outcome = outcome(status, response);
        let mut seen = self.seen.lock().expect("no poison");
        seen.calls += 1;
        for Access { action, resource, leading_keys } in Access::of(operation, request) {
            let access = |key: &String| [function.to_owned(), action.clone(), resource.clone(), pattern(key)];
            seen.accesses.extend(leading_keys.iter().map(access));
        }
        let actions = request["TransactItems"].as_array().into_iter().flatten();
        for (name, action) in actions.filter_map(Value::as_object).flatten() {
            seen.kinds.extend(kinds(&format!("{operation} {name}"), action, ""));
        }
        seen.kinds.extend(kinds(operation, request, &outcome));
    }
}

impl Drop for CallKinds {
    fn drop(&mut self) {
        let Ok(Seen { calls, kinds, accesses }) = self.seen.get_mut() else { return };
        let line = format!("{}\n", json!({ "calls": calls, "kinds": kinds, "accesses": accesses }));
        // A test may use several tables. A missing file only means that the test is not chosen for its calls.
        let _ = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.file)
            .and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// The kinds of a request or an action: one for its item, and one for its expressions and its outcome.
fn kinds(operation: &str, request: &Value, outcome: &str) -> [String; 2] {
    const PARTS: [&str; 7] = [
        "IndexName",
        "ConsistentRead",
        "ScanIndexForward",
        "KeyConditionExpression",
        "ConditionExpression",
        "ProjectionExpression",
        "ReturnValues",
    ];
    let values = &request["ExpressionAttributeValues"];
    let places = [&request["Item"]["pk"], &request["Key"]["pk"], &values[":hash"]];
    let key = places.iter().find_map(|place| place["S"].as_str()).unwrap_or_default();
    // What is left are words such as `ROLE_APPLICATION`.
    let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let item: Vec<_> = key.split('#').filter(is_word).collect();
    let parts = PARTS.iter().filter_map(|name| Some(format!("{name}={}", request.get(name)?)));
    let update = request["UpdateExpression"].as_str().map(shape);
    let continued = request["ExclusiveStartKey"].is_object().then(|| "continued".to_owned());
    let parts: Vec<_> = parts.chain(update).chain(continued).collect();
    [format!("{operation} {}", item.join(" ")), format!("{operation} {} {outcome}", parts.join(" "))]
}

/// The different clauses of an update, without the names of attributes, the names of values and the numbers of elements.
fn shape(update: &str) -> String {
    let mut shape = String::new();
    for character in update.chars() {
        let is_in_name =
            shape.ends_with(['#', ':', '[']) && (character.is_ascii_alphanumeric() || character == '_');
        if !is_in_name {
            shape.push(character);
        }
    }
    let verbs = ["REMOVE", "ADD", "DELETE"];
    let clauses =
        verbs.iter().fold(shape, |shape, verb| shape.replace(&format!(" {verb} "), &format!(", {verb} ")));
    clauses.split(", ").collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// The outcome of a call: what is left to read or write, or the error, with the reasons of a cancelled transaction.
fn outcome(status: u16, response: &[u8]) -> String {
    let response: Value = serde_json::from_slice(response).unwrap_or_default();
    if status == 200 {
        let is_filled = |name: &str| response[name].as_object().is_some_and(|left| !left.is_empty());
        let left = ["LastEvaluatedKey", "UnprocessedKeys", "UnprocessedItems"]
            .into_iter()
            .filter(|name| is_filled(name));
        return left.collect::<Vec<_>>().join(" ");
    }
    let reasons = response["CancellationReasons"].as_array().into_iter().flatten();
    let reasons: BTreeSet<_> = reasons.filter_map(|reason| reason["Code"].as_str()).collect();
    format!("{} {reasons:?}", response["__type"])
}
