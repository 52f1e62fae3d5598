//! A file as another system hands it out: the columns that Lever prints for its migrations, with invented people, in four
//! encodings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use encoding_rs::{Encoding, UTF_8, WINDOWS_1250, WINDOWS_1252};
use http::Method;
use jiff::SignedDuration;
use rolecall_local::demo;
use serde_json::{Value, json};
use shared::clock::later;
use shared::model::Mode;
use tests::interceptor::Fault;
use tests::{ACME, TestApi};

use crate::importing::{CANDIDATES, IMPORTS, settle, show, step, upload};

/// The columns, as the system's public page prints them.
const HEADER: &str = "Full-Name,Email,Date-Added,Stage,Archive-Reason,Archive-Date,Sources,Origin";
const ROWS: usize = 5_000;
/// The rows of the file that is imported.
const IMPORTED: usize = 400;
/// Every so many rows, one is broken.
const BROKEN: usize = 33;

/// A file: how it is written, and what is said about it.
struct File {
    encoding: &'static Encoding,
    mark: &'static [u8],
    settings: Value,
    given: [&'static str; 4],
    family: [&'static str; 5],
    date: fn(usize) -> String,
}

fn iso(day: usize) -> String {
    format!("2025-{:02}-{:02}", day % 12 + 1, day % 28 + 1)
}

fn day_first(day: usize) -> String {
    format!("{:02}/{:02}/2025", day % 28 + 1, day % 12 + 1)
}

const WEST: ([&str; 4], [&str; 5]) =
    (["Zoë", "Anneliese", "Siân", "Søren"], ["Müller", "O'Connell", "Köhler", "Fernández", "'t Hart"]);
const EAST: ([&str; 4], [&str; 5]) =
    (["Łukasz", "Žofie", "Béla", "Jürgen"], ["Wójcik", "Dvořák", "Fűtő", "Kőszegi", "Świątek"]);

fn files() -> [File; 4] {
    let ((west_given, west_family), (east_given, east_family)) = (WEST, EAST);
    let file = |encoding, mark, settings, east: bool, date| File {
        encoding,
        mark,
        settings,
        given: if east { east_given } else { west_given },
        family: if east { east_family } else { west_family },
        date,
    };
    [
        file(UTF_8, b"\xEF\xBB\xBF", json!({}), true, iso),
        file(
            encoding_rs::UTF_16LE,
            b"\xFF\xFE",
            json!({ "encoding": "utf-16", "date_format": "dmy" }),
            true,
            day_first,
        ),
        file(WINDOWS_1252, b"", json!({}), false, iso),
        file(WINDOWS_1250, b"", json!({ "encoding": "windows-1250", "date_format": "dmy" }), true, day_first),
    ]
}

impl File {
    fn name(&self, row: usize) -> String {
        format!("{} {}", self.given[row % 4], self.family[row % 5])
    }

    /// The line of a row, and how its verdict begins.
    fn line(&self, row: usize) -> (String, &'static str) {
        let (name, mail, added) = (self.name(row), format!("person{row}@peer.example"), (self.date)(row));
        let good = |name: &str, mail: &str, added: &str| match row % 3 {
            0 => format!("{name},{mail},{added},Phone screen,,,\"Referral,Agency\",sourced"),
            1 => format!("{name},{mail},{added},Archived,Underqualified,{added},LinkedIn,applied"),
            _ => format!("{name},{mail},{added},Offer,,,,\"referred, by Ann\""),
        };
        if !row.is_multiple_of(BROKEN) {
            return (good(&name, &mail, &added), "create");
        }
        match row / BROKEN % 5 {
            0 => (good(&name, "nobody", &added), "invalid: email "),
            1 => (good("", &mail, &added), "invalid: name "),
            2 => (good(&name, &mail, "31.31.2025"), "invalid: created_at "),
            3 => (format!("{},", good(&name, &mail, &added)) + "more", "invalid: row "),
            _ => (good("#N/A", &mail, &added), "invalid: name "),
        }
    }

    fn bytes(&self, rows: usize) -> Vec<u8> {
        let lines = (1..=rows).map(|row| self.line(row).0);
        let text: Vec<_> = std::iter::once(HEADER.to_owned()).chain(lines).collect();
        let text = text.join("\r\n") + "\r\n";
        let encoded = if self.mark == b"\xFF\xFE" {
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        } else {
            let (encoded, _, lost) = self.encoding.encode(&text);
            assert!(!lost);
            encoded.into_owned()
        };
        [self.mark, &encoded].concat()
    }
}

/// Begins an import of a file, which is checked then.
async fn check(api: &TestApi, file: &File, rows: usize, role: Option<u64>) -> u64 {
    let mut body = json!({ "format": "csv", "source": "Lever", "defaults": { "role_id": role } });
    body.as_object_mut().unwrap().extend(file.settings.as_object().unwrap().clone());
    let waiting = api.post(IMPORTS, body).await.expect(201);
    upload(&waiting, &file.bytes(rows)).await;
    let import = waiting.number("/id");
    step(api, import, "complete").await.expect(202);
    let checked = settle(api, import).await;
    assert_eq!(checked.string("/status"), "checked", "{}", checked.body);
    import
}

/// All verdicts of an import, by row.
async fn verdicts(api: &TestApi, import: u64) -> BTreeMap<usize, Value> {
    let (mut all, mut cursor) = (BTreeMap::new(), String::new());
    loop {
        let page = api.get(&format!("{IMPORTS}/{import}/rows?limit=100{cursor}")).await.expect(200);
        for verdict in page.body["data"].as_array().unwrap() {
            let row = usize::try_from(verdict["row"].as_u64().unwrap()).unwrap();
            assert!(all.insert(row, verdict.clone()).is_none(), "row {row} has two verdicts");
        }
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// Checks the verdict of every row.
async fn assert_verdicts(api: &TestApi, import: u64, file: &File, rows: usize) -> BTreeSet<u64> {
    let found = verdicts(api, import).await;
    assert_eq!(found.len(), rows);
    let mut people = BTreeSet::new();
    for (row, verdict) in &found {
        let said = verdict["messages"].as_array().unwrap();
        let colon = if said.is_empty() { "" } else { ": " };
        let first = said.first().and_then(Value::as_str).unwrap_or_default();
        let is = format!("{}{colon}{first}", verdict["result"].as_str().unwrap());
        let (line, expected) = file.line(*row);
        assert!(is.starts_with(expected), "{row} {line}: {is}");
        people.extend(verdict["candidate_id"].as_u64());
    }
    people
}

#[tokio::test]
async fn a_file_in_any_of_four_encodings_has_the_right_verdicts() {
    let api = TestApi::new().await;
    for file in &files() {
        let import = check(&api, file, ROWS, None).await;
        assert_verdicts(&api, import, file, ROWS).await;
        let warnings = &show(&api, import).await.body["warnings"];
        let left_out = "No column names a role, so these columns of applications are left out: Stage, Archive-Reason, Archive-Date";
        assert!(warnings.to_string().contains(left_out), "{warnings}");
        step(&api, import, "cancel").await.expect(202);
    }
}

/// Runs tasks until the import has ended, and kills so many of the first runs at any moment.
async fn settle_killed(api: &TestApi, import: u64, kills: usize, seed: &mut u64) {
    for run in 0.. {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let calls = if run < kills { usize::try_from(*seed >> 33).unwrap() % 100 } else { usize::MAX };
        let seen = Arc::new(AtomicUsize::new(0));
        api.dynamodb.inject_faults(move |_, _| {
            (seen.fetch_add(1, Ordering::SeqCst) >= calls).then_some(Fault::Unreachable)
        });
        let is_whole = tasks::run_for(api.environment.clone(), demo::task_partitions()).await.is_ok();
        assert!(is_whole || run < kills);
        api.dynamodb.inject_faults(|_, _| None);
        api.run_feed().await;
        api.dynamodb.clear_calls();
        // Others take over what a killed run has begun, and a large import waits for the feed.
        api.clock.set(&later(api.environment.clock.now(), SignedDuration::from_secs(200)).to_string());
        if ["done", "undone"].contains(&show(api, import).await.string("/status")) {
            assert!(run >= kills, "only {run} runs were killed");
            return;
        }
        assert!(run < 400, "{}", show(api, import).await.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_is_imported_undone_and_imported_again_although_tasks_are_killed() {
    let (api, mut seed) = (TestApi::new().await, 7);
    let [file, ..] = &files();
    let right = IMPORTED - IMPORTED / BROKEN;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.request(Method::POST, &format!("/api/v1/roles/{role}/publish")).send().await.expect(200);
    for round in 0..2 {
        let import = check(&api, file, IMPORTED, Some(role)).await;
        step(&api, import, "run").await.expect(202);
        settle_killed(&api, import, 25, &mut seed).await;
        let done = show(&api, import).await;
        assert_eq!(done.string("/status"), "done", "{}", done.body);
        assert_eq!(done.number("/counts/create"), right as u64);
        let people = assert_verdicts(&api, import, file, IMPORTED).await;
        assert_eq!(people.len(), right);
        let listed = list(&api).await;
        assert_eq!(listed.len(), right);
        for row in (1..=IMPORTED).filter(|row| !row.is_multiple_of(BROKEN)) {
            let (name, stage) = &listed[&format!("person{row}@peer.example")];
            assert_eq!(*name, file.name(row));
            let expected = ["screening", "rejected", "offer"];
            assert_eq!(stage, expected[row % 3], "{row}");
        }
        let tenant = tests::tenant(ACME, Mode::Live);
        let (_, findings) = api.store().verify(tenant, false, |_| async {}).await.unwrap();
        assert!(findings.is_empty());
        if round == 0 {
            step(&api, import, "undo").await.expect(202);
            settle_killed(&api, import, 25, &mut seed).await;
            let undone = show(&api, import).await;
            assert_eq!((undone.number("/counts/undone"), undone.number("/counts/kept")), (right as u64, 0));
            assert!(list(&api).await.is_empty());
        }
    }
}

/// The names and the stages of the people of the file, by their addresses.
async fn list(api: &TestApi) -> BTreeMap<String, (String, String)> {
    let (mut all, mut cursor) = (BTreeMap::new(), String::new());
    loop {
        let page = api.get(&format!("{CANDIDATES}?limit=100{cursor}")).await.expect(200);
        for person in page.body["data"].as_array().unwrap() {
            let text = |name: &str| person[name].as_str().unwrap_or_default().to_owned();
            if text("email").ends_with("@peer.example") {
                assert!(all.insert(text("email"), (text("name"), text("stage"))).is_none());
            }
        }
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}
