//! Imports of people: checking, running, cancelling and undoing them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use jiff::SignedDuration;
use rolecall_local::demo;
use serde_json::{Value, json};
use shared::clock::later;
use shared::id::Id;
use shared::model::Mode;
use tests::interceptor::RecordedCall;
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::careers_resumes::post;

pub(crate) const IMPORTS: &str = "/api/v1/imports";
pub(crate) const CANDIDATES: &str = "/api/v1/candidates";

pub(crate) async fn begin(api: &TestApi, body: Value) -> u64 {
    api.post(IMPORTS, body).await.expect(201).number("/id")
}

pub(crate) async fn begin_with(api: &TestApi, rows: &[Value]) -> u64 {
    begin(api, json!({ "format": "ndjson", "rows": rows })).await
}

pub(crate) async fn show(api: &TestApi, import: u64) -> Response {
    api.get(&format!("{IMPORTS}/{import}")).await.expect(200)
}

/// Sends the file of an import that waits for it.
pub(crate) async fn upload(waiting: &Response, content: &[u8]) {
    let fields = waiting.body["upload"]["fields"].as_object().unwrap();
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    post(waiting.string("/upload/url"), &fields, content).await.expect(201);
}

pub(crate) async fn step(api: &TestApi, import: u64, step: &str) -> Response {
    api.request(Method::POST, &format!("{IMPORTS}/{import}/{step}")).send().await
}

/// Lets the tasks and the feed work until the import needs nothing more of them.
pub(crate) async fn settle(api: &TestApi, import: u64) -> Response {
    for _ in 0..200 {
        let shown = show(api, import).await;
        if !["waiting", "checking", "running", "undoing"].contains(&shown.string("/status")) {
            return shown;
        }
        api.run_tasks().await;
        api.run_feed().await;
    }
    panic!("the import does not end: {}", show(api, import).await.body);
}

/// Runs an import that is checked, to its end.
pub(crate) async fn run(api: &TestApi, import: u64) -> Response {
    settle(api, import).await;
    step(api, import, "run").await.expect(202);
    settle(api, import).await
}

/// The verdicts as `row result: messages`.
pub(crate) async fn verdicts(api: &TestApi, import: u64, query: &str) -> Vec<String> {
    let listed = api.get(&format!("{IMPORTS}/{import}/rows{query}")).await.expect(200);
    let verdict = |one: &Value| {
        let messages: Vec<_> =
            one["messages"].as_array().unwrap().iter().map(|message| message.as_str().unwrap()).collect();
        let colon = if messages.is_empty() { "" } else { ": " };
        format!("{} {}{colon}{}", one["row"], one["result"].as_str().unwrap(), messages.join("; "))
    };
    listed.body["data"].as_array().unwrap().iter().map(verdict).collect()
}

/// The candidate with this address.
pub(crate) async fn by_email(api: &TestApi, email: &str) -> Response {
    let found = api.get(&format!("{CANDIDATES}?email={email}")).await.expect(200);
    let id = found.number("/data/0/id");
    api.get(&format!("{CANDIDATES}/{id}")).await.expect(200)
}

#[tokio::test]
async fn a_person_is_imported_with_the_whole_past() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.request(Method::POST, &format!("/api/v1/roles/{role}/publish")).send().await.expect(200);
    let row = json!({
        "external_id": "gh-1", "name": "Grace Hopper", "email": "grace@navy.example", "phone": "+14155550100",
        "source": "referral", "tags": ["navy", "cobol"], "created_at": "2024-01-10T09:00:00Z",
        "resume_url": "https://files.example/grace.pdf",
        "notes": [{ "text": "Knows compilers", "author": "Ann Lee", "at": "2024-02-01T10:00:00Z" }],
        "consents": [{
            "purpose": "application", "granted": true, "obtained_at": "2024-01-10T09:00:00Z", "wording": "Keep my data",
        }],
        "applications": [
            {
                "role": { "id": role }, "applied_at": "2024-01-11T09:00:00Z", "stage": "interview", "status": "rejected",
                "rejection": { "reason": "Too senior", "at": "2024-03-01T09:00:00Z" },
                "stage_changes": [{ "stage": "screening", "at": "2024-01-20T09:00:00Z" }],
                "answers": [{ "label": "Notice period", "value": "3 months" }],
            },
            { "role": { "title": "Chief Cook" }, "applied_at": "2024-02-11T09:00:00Z", "stage": "offer" },
        ],
    });
    let import = begin_with(&api, std::slice::from_ref(&row)).await;
    let checked = settle(&api, import).await;
    assert_eq!(checked.string("/status"), "checked");
    assert_eq!(verdicts(&api, import, "").await, ["1 create"]);
    assert_eq!(checked.body["counts"]["create"], 1);
    assert_eq!(checked.body["progress"], json!({ "rows": 1, "done": 1 }));
    assert_eq!(verdicts(&api, import, "").await, ["1 create"]);
    assert_eq!(api.get(&format!("{CANDIDATES}?email=grace@navy.example")).await.body["data"], json!([]));
    let done = run(&api, import).await;
    assert_eq!((done.string("/status"), &done.body["counts"]["create"]), ("done", &json!(1)));

    let grace = by_email(&api, "grace@navy.example").await;
    assert_eq!(grace.string("/created_at"), "2024-01-10T09:00:00.000Z");
    assert_eq!(grace.string("/updated_at"), "2026-11-20T09:30:00.000Z");
    assert_eq!(grace.body["tags"], json!(["navy", "cobol"]));
    assert_eq!(grace.string("/external_id"), "gh-1");
    let id = grace.number("/id");
    let of_role = |title: &str| {
        let mut applications = grace.body["applications"].as_array().unwrap().iter();
        let found = applications.find(|one| one["role_title"] == title).unwrap();
        ["status", "stage", "applied_at", "source"].map(|name| found[name].as_str().unwrap().to_owned())
    };
    assert_eq!(of_role("Cook"), ["rejected", "rejected", "2024-01-11T09:00:00.000Z", "referral"]);
    let closed = ["closed", "offer", "2024-02-11T09:00:00.000Z", "referral"];
    assert_eq!(of_role("Chief Cook"), closed, "its role is closed");
    let history: Vec<_> = grace.body["touchpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!("{} {}", one["kind"].as_str().unwrap(), one["at"].as_str().unwrap().get(..10).unwrap())
        })
        .collect();
    assert_eq!(
        history,
        [
            "imported 2026-11-20",
            "consent_changed 2026-11-20",
            "rejected 2024-03-01",
            "stage_changed 2024-02-11",
            "applied 2024-02-11",
            "note_added 2024-02-01",
            "stage_changed 2024-01-20",
            "stage_changed 2024-01-20",
            "applied 2024-01-11",
            "created 2024-01-10",
        ]
    );
    let notes = api.get(&format!("{CANDIDATES}/{id}/notes")).await.expect(200);
    assert_eq!(notes.string("/data/0/text"), "Knows compilers\n\n(Ann Lee)");
    assert_eq!(notes.string("/data/0/created_at"), "2024-02-01T10:00:00.000Z");

    // The same file again changes nothing.
    let again = begin_with(&api, &[row]).await;
    assert_eq!(settle(&api, again).await.body["counts"]["unchanged"], 1);
    assert_eq!(verdicts(&api, again, "").await, ["1 unchanged"]);
    assert_eq!(run(&api, again).await.string("/status"), "done");
    let same = by_email(&api, "grace@navy.example").await;
    assert_eq!(same.body, grace.body);

    // Undone, nobody is left.
    step(&api, import, "undo").await.expect(202);
    let undone = settle(&api, import).await;
    assert_eq!((undone.string("/status"), &undone.body["counts"]["undone"]), ("undone", &json!(1)));
    api.get(&format!("{CANDIDATES}/{id}")).await.expect(410);
}

#[tokio::test]
async fn rows_are_judged_one_by_one() {
    let api = TestApi::new().await;
    let ada = api
        .post(CANDIDATES, json!({ "name": "Ada", "email": "ada@import.example", "external_id": "a-1" }))
        .await
        .expect(201)
        .number("/id");
    api.post(CANDIDATES, json!({ "name": "Eve", "email": "eve@import.example" })).await.expect(201);
    let rows = [
        json!({ "name": "New" }),
        json!({ "email": "no@name.example" }),
        json!({ "name": "Ada", "email": "ADA@import.example", "phone": "+14155550101" }),
        json!({ "name": "Ada", "external_id": "a-1" }),
        json!({ "name": "Both", "external_id": "a-1", "email": "eve@import.example" }),
        json!({ "name": "Twice", "email": "twice@import.example" }),
        json!({ "name": "Twice", "email": "twice@import.example" }),
        json!({ "name": "Twice again", "email": "twice@import.example", "phone": "+14155550102" }),
        json!({ "name": "Roles", "applications": [{ "role": { "id": 4 } }] }),
        json!({ "name": "Future", "created_at": "2027-01-01T00:00:00Z" }),
        json!({ "name": "Unknown", "colour": "red" }),
    ];
    let import = begin_with(&api, &rows).await;
    settle(&api, import).await;
    let expected = [
        "1 create",
        "2 invalid: name can't be blank",
        "3 update",
        "4 unchanged",
        &format!(
            "5 invalid: external_id is that of candidate {ada}, but email that of {}",
            by_email(&api, "eve@import.example").await.number("/id")
        ),
        "6 create",
        "7 unchanged",
        "8 update: name differs from that of row 6, which is about the same person",
        "9 invalid: applications[0].role.id must be the id of a role",
        "10 invalid: created_at must not be in the future",
        "11 invalid: colour is not a known field",
    ];
    assert_eq!(verdicts(&api, import, "").await, expected);
    assert_eq!(verdicts(&api, import, "?result=update").await, [expected[2], expected[7]]);
    assert_eq!(verdicts(&api, import, "?result=create&limit=1").await, [expected[0]]);
    let done = run(&api, import).await;
    let counts = &done.body["counts"];
    assert_eq!(
        [&counts["create"], &counts["update"], &counts["unchanged"], &counts["invalid"]],
        [2, 2, 2, 5]
    );
    assert_eq!(by_email(&api, "ada@import.example").await.string("/phone"), "+14155550101");
    let twice = by_email(&api, "twice@import.example").await;
    assert_eq!(
        (twice.string("/phone"), twice.string("/name")),
        ("+14155550102", "Twice"),
        "it fills what is missing"
    );
    assert_eq!(
        verdicts(&api, import, "?warnings=true").await,
        ["8 update: name differs from that of row 6, which is about the same person; name differs from the \
             candidate's, which stays"]
    );
}

#[tokio::test]
async fn a_spreadsheet_is_uploaded_and_imported() {
    let api = TestApi::new().await;
    let waiting = api.post(IMPORTS, json!({ "format": "csv" })).await.expect(201);
    let import = waiting.number("/id");
    step(&api, import, "complete").await.expect(422);
    let csv =
        "Name;E-Mail;Job;Stage\r\nZoë Müller;zoe@sheet.example;Baker;Interview\r\n;;;\r\nBroken;x;;\r\n";
    upload(&waiting, csv.as_bytes()).await;
    assert_eq!(step(&api, import, "complete").await.expect(202).string("/status"), "checking");
    let checked = settle(&api, import).await;
    assert_eq!(checked.string("/status"), "checked");
    assert_eq!(checked.body["counts"]["skipped"], 1);
    let column = |header: &str, field: &str| json!({ "header": header, "field": field });
    let columns =
        [column("Name", "name"), column("E-Mail", "email"), column("Job", "role"), column("Stage", "stage")];
    assert_eq!(checked.body["mapping"], json!({ "header_row": 1, "columns": columns }));
    assert_eq!(
        verdicts(&api, import, "").await,
        ["1 create", "2 invalid: email must be an e-mail address, such as jane@example.com"]
    );
    run(&api, import).await;
    let zoe = by_email(&api, "zoe@sheet.example").await;
    assert_eq!(zoe.body["applications"][0]["stage"], "interview");
    assert_eq!(zoe.body["applications"][0]["role_title"], "Baker");
}

#[tokio::test]
async fn an_import_belongs_to_its_tenant_and_ends_once() {
    let api = TestApi::new().await;
    let import = begin_with(&api, &[json!({ "name": "One" })]).await;
    let path = format!("{IMPORTS}/{import}");
    api.request(Method::GET, &path).key(GLOBEX, Mode::Live).send().await.expect(404);
    api.request(Method::GET, &path).key(ACME, Mode::Test).send().await.expect(404);
    step(&api, import, "run").await.expect(422);
    step(&api, import, "undo").await.expect(422);
    for _ in 0..2 {
        begin_with(&api, &[json!({ "name": "More" })]).await;
    }
    let refused = api.post(IMPORTS, json!({ "format": "csv" })).await.expect(422);
    assert_eq!(refused.string("/code"), "invalid_transition");
    step(&api, import, "cancel").await.expect(202);
    step(&api, import, "cancel").await.expect(202);
    begin(&api, json!({ "format": "csv" })).await;
    assert_eq!(show(&api, import).await.string("/status"), "cancelled");
    step(&api, import, "run").await.expect(422);
}

#[tokio::test]
async fn an_import_says_what_rows_get_that_do_not_say_otherwise() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    let rows = [json!({ "name": "One", "email": "one@defaults.example", "tags": ["own"] })];
    let with = |role: u64| {
        let defaults = json!({ "role_id": role, "source": "fair", "tags": ["all"] });
        json!({ "format": "ndjson", "rows": rows, "defaults": defaults })
    };
    let refused = api.post(IMPORTS, with(4)).await.expect(422);
    assert_eq!(refused.messages(), ["defaults.role_id must be the id of a role"]);
    let import = begin(&api, with(role)).await;
    run(&api, import).await;
    let person = by_email(&api, "one@defaults.example").await;
    assert_eq!((person.string("/source"), &person.body["tags"]), ("fair", &json!(["own", "all"])));
    assert_eq!(person.number("/applications/0/role_id"), role);
}

#[tokio::test]
async fn an_empty_file_and_a_foreign_one_end() {
    let api = TestApi::new().await;
    for (content, status, reason) in [
        ("\n\n", "checked", Value::Null),
        ("{\"name\": \"One\"}\n", "checked", Value::Null),
        ("\u{0}\u{1}", "checked", Value::Null),
    ] {
        let waiting = api.post(IMPORTS, json!({ "format": "ndjson" })).await.expect(201);
        let import = waiting.number("/id");
        upload(&waiting, content.as_bytes()).await;
        step(&api, import, "complete").await.expect(202);
        let checked = settle(&api, import).await;
        assert_eq!((checked.string("/status"), &checked.body["reason"]), (status, &reason), "{content:?}");
        assert_eq!(run(&api, import).await.string("/status"), "done", "{content:?}");
        step(&api, import, "undo").await.expect(202);
        assert_eq!(settle(&api, import).await.string("/status"), "undone", "{content:?}");
    }
    let waiting = api.post(IMPORTS, json!({ "format": "xlsx" })).await.expect(201);
    let import = waiting.number("/id");
    upload(&waiting, b"no workbook").await;
    // It is also noticed without a word.
    api.clock.set("2026-11-20T09:30:25Z");
    let failed = settle(&api, import).await;
    assert_eq!(failed.string("/status"), "failed");
    assert!(failed.string("/reason").ends_with('.'), "{}", failed.text);
    // Nothing came in time.
    let waiting = api.post(IMPORTS, json!({ "format": "csv" })).await.expect(201).number("/id");
    api.clock.set("2026-11-20T10:31:00Z");
    assert_eq!(settle(&api, waiting).await.string("/reason"), "No file was uploaded in time.");
}

/// A person with more than one transaction has room for, and one more row about the same person.
pub(crate) fn large(number: usize, roles: usize, notes: usize) -> [Value; 2] {
    let email = format!("large{number}@import.example");
    let applications: Vec<_> = (0..roles)
        .map(|role| {
            json!({
                "role": { "title": format!("Role {number} {role}") },
                "applied_at": format!("2025-01-{:02}T09:00:00Z", role + 1),
                "status": if role % 2 == 0 { "active" } else { "rejected" },
            })
        })
        .collect();
    let notes: Vec<_> = (0..notes).map(|note| json!({ "text": format!("Note {note}") })).collect();
    let person = json!({ "name": "Large", "email": email, "applications": applications, "notes": notes });
    [person, json!({ "name": "Large", "email": email, "phone": "+14155550103" })]
}

pub(crate) async fn counts_of(api: &TestApi, email: &str) -> [usize; 3] {
    let person = by_email(api, email).await;
    let id = person.number("/id");
    let notes = api.get(&format!("{CANDIDATES}/{id}/notes?limit=100")).await.expect(200);
    let count = |list: &Value| list.as_array().unwrap().len();
    let imported =
        person.body["touchpoints"].as_array().unwrap().iter().filter(|one| one["kind"] == "imported");
    [count(&person.body["applications"]), count(&notes.body["data"]), imported.count()]
}

#[tokio::test]
async fn a_person_who_takes_several_writes_is_whole() {
    let api = TestApi::new().await;
    api.run_feed().await;
    let last = api.get("/api/v1/events?after=latest").await.expect(200).string("/position").to_owned();
    let import = begin_with(&api, &large(1, 25, 90)).await;
    let done = run(&api, import).await;
    let counts = &done.body["counts"];
    assert_eq!([&counts["create"], &counts["update"], &counts["invalid"]], [1, 1, 0]);
    assert_eq!(counts_of(&api, "large1@import.example").await, [25, 90, 2]);
    let person = by_email(&api, "large1@import.example").await;
    assert_eq!(person.string("/phone"), "+14155550103");
    api.run_feed().await;
    let mut kinds = std::collections::BTreeMap::new();
    let mut after = last;
    loop {
        let page = api.get(&format!("/api/v1/events?after={after}&limit=1000")).await.expect(200);
        for event in page.body["data"].as_array().unwrap() {
            *kinds.entry(event["type"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
        if page.body["data"].as_array().unwrap().is_empty() {
            break;
        }
        page.string("/position").clone_into(&mut after);
    }
    let count = |kind: &str| kinds.get(kind).copied().unwrap_or(0);
    assert_eq!(
        ["candidate.created", "application.created", "note.created", "import.finished"].map(count),
        [1, 25, 90, 1],
        "{kinds:?}"
    );
    step(&api, import, "undo").await.expect(202);
    let undone = settle(&api, import).await;
    assert_eq!((&undone.body["counts"]["undone"], &undone.body["counts"]["kept"]), (&json!(2), &json!(0)));
    api.get(&format!("{CANDIDATES}/{}", person.number("/id"))).await.expect(410);
}

/// A run that is killed after any call is repeated: never half a person, never twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_import_that_is_killed_after_any_call_goes_on() {
    let api = TestApi::new().await;
    let mut calls = 0;
    loop {
        let known = format!("known{calls}@import.example");
        api.post(CANDIDATES, json!({ "name": "Known", "email": known })).await.expect(201);
        let [first, second] = large(calls, 2, 61);
        let known_row = json!({
            "name": "Known", "email": known, "notes": [{ "text": "Once" }],
            "applications": (0..9).map(|role| json!({ "role": { "title": format!("{role}") } })).collect::<Vec<_>>(),
        });
        let rows = [first, second, known_row];
        let import = begin_with(&api, &rows).await;
        settle(&api, import).await;
        step(&api, import, "run").await.expect(202);
        let mut is_whole = api.run_tasks_with(calls).await;
        api.let_leases_end();
        let done = settle(&api, import).await;
        let counts = &done.body["counts"];
        assert_eq!([&counts["create"], &counts["update"], &counts["invalid"]], [1, 2, 0], "{calls}");
        let large = format!("large{calls}@import.example");
        assert_eq!(counts_of(&api, &large).await, [2, 61, 2], "{calls}");
        assert_eq!(counts_of(&api, &known).await, [9, 1, 1], "{calls}");
        step(&api, import, "undo").await.expect(202);
        is_whole &= api.run_tasks_with(calls).await;
        api.let_leases_end();
        let undone = settle(&api, import).await;
        assert_eq!(
            (&undone.body["counts"]["undone"], &undone.body["counts"]["kept"]),
            (&json!(3), &json!(0)),
            "{calls}"
        );
        assert_eq!(counts_of(&api, &known).await, [0, 0, 1], "{calls}");
        let gone = api.get(&format!("{CANDIDATES}?email={large}")).await.expect(200);
        assert_eq!(gone.body["data"], json!([]), "{calls}");
        if is_whole {
            break;
        }
        calls += 2;
    }
    assert!(calls > 20, "{calls}");
}

/// What a killed run has begun is finished, although the import was cancelled meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cancelled_import_leaves_nobody_half() {
    let api = TestApi::new().await;
    let (mut begun, mut calls) = (0, 0);
    loop {
        let [row, _] = large(calls, 2, 61);
        let import = begin_with(&api, std::slice::from_ref(&row)).await;
        settle(&api, import).await;
        step(&api, import, "run").await.expect(202);
        let is_whole = api.run_tasks_with(calls).await;
        api.let_leases_end();
        step(&api, import, "cancel").await;
        settle(&api, import).await;
        let email = row["email"].as_str().unwrap();
        let found = api.get(&format!("{CANDIDATES}?email={email}")).await.expect(200);
        if found.body["data"] != json!([]) {
            assert_eq!(counts_of(&api, email).await, [2, 61, 1], "{calls}");
            begun += usize::from(!is_whole);
        }
        if is_whole {
            break;
        }
        calls += 1;
    }
    assert!(begun > 2, "{begun} of {calls}");
}

/// Rows of new people are written together. If somebody takes one of their addresses just before, each is carried out by itself.
#[tokio::test]
async fn rows_that_can_no_longer_be_written_together_are_carried_out_one_by_one() {
    const WRITE: &str = "TransactWriteItems";
    let api = Arc::new(TestApi::new().await);
    let row = |number: usize| json!({ "name": "Row", "email": format!("row{number}@import.example"), "tags": ["imported"] });
    let import = begin_with(&api, &(1..=5).map(row).collect::<Vec<_>>()).await;
    settle(&api, import).await;
    step(&api, import, "run").await.expect(202);
    let (other, again) = (Arc::clone(&api), Arc::clone(&api));
    let person = json!({ "name": "Somebody", "email": "row3@import.example", "tags": ["known"] });
    let take = async move { drop(other.post(CANDIDATES, person).await.expect(201)) };
    // The first write begins the turn, and the second one is that of the rows.
    api.dynamodb.run_before(WRITE, async move { again.dynamodb.run_before(WRITE, take) });
    let done = settle(&api, import).await;
    assert_eq!(
        (done.string("/status"), done.number("/counts/create"), done.number("/counts/update")),
        ("done", 4, 1)
    );
    let kept = "3 update: name differs from the candidate's, which stays";
    assert_eq!(verdicts(&api, import, "").await, ["1 create", "2 create", kept, "4 create", "5 create"]);
    let known = by_email(&api, "row3@import.example").await;
    assert_eq!((known.string("/name"), &known.body["tags"]), ("Somebody", &json!(["known", "imported"])));
    let all = api.get(&format!("{CANDIDATES}?tag=imported")).await.expect(200);
    assert_eq!(all.body["data"].as_array().unwrap().len(), 5, "{}", all.body);
}

/// A part whose rows take longer than a turn may goes on in the next one.
#[tokio::test]
async fn a_slow_part_has_several_turns() {
    const ROWS: usize = 100;
    let api = TestApi::new().await;
    let row = |number: usize| json!({ "name": "Slow", "email": format!("slow{number}@import.example") });
    let import = begin_with(&api, &(0..ROWS).map(row).collect::<Vec<_>>()).await;
    settle(&api, import).await;
    step(&api, import, "run").await.expect(202);
    // Each transaction takes ten seconds.
    let (clock, start) = (api.clock.clone(), api.environment.clock.now());
    let transactions = AtomicUsize::new(0);
    api.dynamodb.inject_faults(move |operation, _| {
        if operation == "TransactWriteItems" {
            let seconds = 10 * i64::try_from(transactions.fetch_add(1, Ordering::SeqCst)).unwrap();
            clock.set(&later(start, SignedDuration::from_secs(seconds)).to_string());
        }
        None
    });
    tasks::run_for(api.environment.clone(), demo::task_partitions()).await.unwrap();
    api.dynamodb.inject_faults(|_, _| None);
    let people = async || {
        let listed = api.get(&format!("{CANDIDATES}?q=slow&limit=100")).await.expect(200);
        listed.body["data"].as_array().unwrap().len()
    };
    let after_a_turn = people().await;
    assert!((1..ROWS).contains(&after_a_turn), "{after_a_turn}");
    assert_eq!(show(&api, import).await.string("/status"), "running");
    api.let_leases_end();
    let done = settle(&api, import).await;
    assert_eq!((done.string("/status"), &done.body["counts"]["create"]), ("done", &json!(ROWS)));
    assert_eq!(people().await, ROWS);
}

#[tokio::test]
async fn an_undo_keeps_whom_somebody_has_touched() {
    let api = TestApi::new().await;
    let known = json!({ "name": "Known", "email": "known@import.example" });
    api.post(CANDIDATES, known).await.expect(201);
    let row = |name: &str| json!({ "name": name, "email": format!("{name}@import.example"), "phone": "+14155550104" });
    let import = begin_with(&api, &[row("free"), row("noted"), row("held"), row("known")]).await;
    run(&api, import).await;
    let id = async |name: &str| by_email(&api, &format!("{name}@import.example")).await.number("/id");
    let (noted, held) = (id("noted").await, id("held").await);
    api.post(&format!("{CANDIDATES}/{noted}/notes"), json!({ "text": "Called" })).await.expect(201);
    let hold = api.request(Method::PUT, &format!("{CANDIDATES}/{held}/legal_hold"));
    hold.json(&json!({ "reason": "A lawsuit" })).send().await.expect(200);
    step(&api, import, "undo").await.expect(202);
    let undone = settle(&api, import).await;
    assert_eq!((&undone.body["counts"]["undone"], &undone.body["counts"]["kept"]), (&json!(1), &json!(3)));
    assert_eq!(
        verdicts(&api, import, "?warnings=true").await,
        [
            "2 create: The candidate was changed since, and stays",
            "3 create: A legal hold is on the candidate, who stays",
            "4 update: What was filled or replaced stays: phone",
        ]
    );
    step(&api, import, "undo").await.expect(202);
}

/// What the member who runs an import changes between two rows of a person is not the import's.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_undo_keeps_what_its_own_member_has_touched_between_two_rows() {
    let api = TestApi::new().await;
    let (store, tenant) = (api.store(), tests::tenant(ACME, Mode::Live));
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.request(Method::POST, &format!("/api/v1/roles/{role}/publish")).send().await.expect(200);
    for is_known in [false, true] {
        let (mut calls, mut between) = (0, 0);
        loop {
            let email = format!("{is_known}{calls}@import.example");
            if is_known {
                api.post(CANDIDATES, json!({ "name": "Ann", "email": email })).await.expect(201);
            }
            let first =
                json!({ "name": "Ann", "email": email, "applications": [{ "role": { "id": role } }] });
            let second = json!({ "name": "Ann", "email": email, "phone": "+14155550106" });
            let import = begin_with(&api, &[first, second]).await;
            settle(&api, import).await;
            step(&api, import, "run").await.expect(202);
            let is_whole = api.run_tasks_with(calls).await;
            api.let_leases_end();
            let import_id = Id::new(import).unwrap();
            let one = store.find_imported_row(tenant, import_id, 1).await.unwrap();
            let other = store.find_imported_row(tenant, import_id, 2).await.unwrap();
            let is_between = one.is_some_and(|made| made.is_done) && other.is_none();
            if is_between {
                let id = by_email(&api, &email).await.number("/id");
                let on = api.request(Method::POST, &format!("{CANDIDATES}/{id}/advance"));
                on.json(&json!({ "stage": "interview" })).send().await.expect(200);
                between += 1;
            }
            settle(&api, import).await;
            step(&api, import, "undo").await.expect(202);
            let undone = settle(&api, import).await;
            let expected = match (is_between, is_known) {
                (true, _) => (0, 2),
                (false, true) => (1, 1),
                (false, false) => (2, 0),
            };
            let counted = (undone.number("/counts/undone"), undone.number("/counts/kept"));
            assert_eq!(counted, expected, "{is_known} {calls}");
            if is_between {
                assert_eq!(by_email(&api, &email).await.string("/applications/0/stage"), "interview");
            }
            if is_whole {
                break;
            }
            calls += 1;
        }
        assert!(between > 0, "{calls}");
    }
}

/// The statuses of the candidate's applications by the titles of their roles.
async fn statuses(api: &TestApi, id: u64) -> Vec<String> {
    let person = api.get(&format!("{CANDIDATES}/{id}")).await.expect(200);
    let applications = person.body["applications"].as_array().unwrap().iter();
    let status =
        |one: &Value| format!("{} {}", one["role_title"].as_str().unwrap(), one["status"].as_str().unwrap());
    let mut all: Vec<_> = applications.map(status).collect();
    all.sort_unstable();
    all
}

#[tokio::test]
async fn an_undo_takes_applications_from_people_who_were_known() {
    let api = TestApi::new().await;
    let mut roles = Vec::new();
    for title in ["Own", "Moved", "Left"] {
        let role = api.post("/api/v1/roles", json!({ "title": title })).await.expect(201).number("/id");
        api.request(Method::POST, &format!("/api/v1/roles/{role}/publish")).send().await.expect(200);
        roles.push(role);
    }
    let known = |name: &str, role: Option<u64>| json!({ "name": name, "email": format!("{name}@import.example"), "role_id": role, "tags": ["cook"] });
    let one = api.post(CANDIDATES, known("one", Some(roles[0]))).await.expect(201).number("/id");
    let two = api.post(CANDIDATES, known("two", None)).await.expect(201).number("/id");
    let before = api.get(&format!("{CANDIDATES}/{two}")).await.expect(200);
    let mut applications = vec![
        json!({ "role": { "id": roles[2] }, "stage": "offer", "answers": [{ "label": "When?", "value": "Now" }] }),
        json!({ "role": { "id": roles[1] }, "status": "rejected", "rejection": { "reason": "Too late" } }),
    ];
    applications.extend((0..18).map(|number| json!({ "role": { "title": format!("Further {number}") } })));
    let notes: Vec<_> = (0..70).map(|number| json!({ "text": format!("{number}") })).collect();
    let row = |name: &str| {
        json!({
            "name": name, "email": format!("{name}@import.example"), "applications": applications, "notes": notes,
        })
    };
    let import = begin_with(&api, &[row("one"), row("two")]).await;
    run(&api, import).await;
    assert_eq!(statuses(&api, one).await.len(), 21);
    assert_eq!(counts_of(&api, "two@import.example").await, [20, 70, 1]);
    api.run_feed().await;
    let waiting = api.get(&format!("{CANDIDATES}?role_id={}", roles[2])).await.expect(200);
    assert_eq!(waiting.body["data"].as_array().unwrap().len(), 2);
    let last = api.get("/api/v1/events?after=latest").await.expect(200).string("/position").to_owned();
    let move_on = api.request(Method::POST, &format!("{CANDIDATES}/{two}/unreject"));
    move_on.json(&json!({ "role_id": roles[1] })).send().await.expect(200);
    // Nobody has touched an application that its role has closed.
    api.request(Method::DELETE, &format!("/api/v1/roles/{}", roles[2])).send().await.expect(200);

    step(&api, import, "undo").await.expect(202);
    let undone = settle(&api, import).await;
    assert_eq!((&undone.body["counts"]["undone"], &undone.body["counts"]["kept"]), (&json!(1), &json!(1)));
    let said = verdicts(&api, import, "?warnings=true").await;
    let [only] = said.as_slice() else { panic!("{said:?}") };
    assert!(only.starts_with("2 update: Application ") && only.ends_with(" was changed since, and stays"));
    assert_eq!(statuses(&api, one).await, ["Own active"]);
    // The second application was beside the first, whose place it has now.
    assert_eq!(statuses(&api, two).await, ["Moved active"]);
    assert_eq!(counts_of(&api, "two@import.example").await, [1, 0, 1]);
    let after = api.get(&format!("{CANDIDATES}/{two}")).await.expect(200);
    assert_eq!((before.string("/stage"), after.string("/stage")), ("applied", "applied"));
    let on = api.request(Method::POST, &format!("{CANDIDATES}/{two}/advance"));
    on.json(&json!({ "stage": "interview" })).send().await.expect(200);
    api.run_feed().await;
    let tenant = tests::tenant(ACME, Mode::Live);
    let (_, findings) = api.store().verify(tenant, false, |_| async {}).await.unwrap();
    assert!(findings.is_empty(), "{:?}", findings.iter().map(|found| &found.problem).collect::<Vec<_>>());
    let role = api.get(&format!("/api/v1/roles/{}/stats", roles[2])).await.expect(200);
    assert_eq!(role.body["stages"]["offer"]["now"], 0, "{}", role.body);
    let listed = api.get(&format!("{CANDIDATES}?role_id={}", roles[2])).await.expect(200);
    assert_eq!(listed.body["data"], json!([]));
    let listed = api.get(&format!("/api/v1/applications?role_id={}", roles[2])).await.expect(200);
    assert_eq!(listed.body["data"], json!([]));
    let events = api.get(&format!("/api/v1/events?after={last}&limit=1000")).await.expect(200);
    let events = events.body["data"].as_array().unwrap().iter();
    let mut deleted = events.filter(|event| event["type"] == "application.deleted");
    let first = deleted.next().unwrap();
    assert!(first["data"]["candidate_id"].is_number() && first["data"]["role_id"].is_number(), "{first}");
    assert_eq!(deleted.count(), 20 + 19 - 1);
    let history = api.get(&format!("{CANDIDATES}/{one}/touchpoints?limit=100")).await;
    let said = |kind: &str| {
        history.body["data"].as_array().map(|all| all.iter().filter(|one| one["kind"] == kind).count())
    };
    assert_eq!(said("application_deleted"), Some(20), "{}", history.body);
}

#[tokio::test]
async fn a_plan_has_room_for_so_many_rows_a_day() {
    let api = TestApi::new().await;
    let send = async |method: Method, path: &str| {
        let request = api.request(method, path).key(GLOBEX, Mode::Live);
        if path == IMPORTS {
            request.json(&json!({ "format": "csv" })).send().await
        } else {
            request.send().await
        }
    };
    let waiting = send(Method::POST, IMPORTS).await.expect(201);
    let rows = (0..1_001).map(|number| format!("Person {number},p{number}@plan.example"));
    let csv = ["Name,Email".to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\r\n");
    upload(&waiting, csv.as_bytes()).await;
    let import = format!("{IMPORTS}/{}", waiting.number("/id"));
    send(Method::POST, &format!("{import}/complete")).await.expect(202);
    for _ in 0..12 {
        api.run_tasks().await;
    }
    let checked = send(Method::GET, &import).await.expect(200);
    assert_eq!((checked.string("/status"), checked.number("/counts/create")), ("checked", 1_001));
    let page = send(Method::GET, &format!("{import}/rows?limit=100")).await.expect(200);
    assert_eq!(page.body["data"].as_array().unwrap().len(), 100);
    let next = page.string("/next_cursor");
    let page = send(Method::GET, &format!("{import}/rows?limit=100&cursor={next}")).await;
    assert_eq!(page.expect(200).number("/data/0/row"), 101);
    let refused = send(Method::POST, &format!("{import}/run")).await.expect(422);
    assert_eq!(refused.string("/code"), "plan_limit");
}

/// What the writes of calls cost in capacity units.
fn written(calls: &[RecordedCall]) -> f64 {
    let writes =
        calls.iter().filter(|call| call.operation.contains("Write") || call.operation.ends_with("Item"));
    writes.filter(|call| !call.operation.contains("Get")).map(RecordedCall::units).sum()
}

#[tokio::test]
async fn an_imported_person_costs_less_than_one_who_is_sent() {
    const PEOPLE: u32 = 50;
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    api.request(Method::POST, &format!("/api/v1/roles/{role}/publish")).send().await.expect(200);
    let person = |number: u32, kind: &str| {
        json!({
            "name": format!("Person {number}"), "email": format!("{kind}{number}@cost.example"),
            "phone": format!("+1415555{:04}", number + if kind == "sent" { 5_000 } else { 0 }),
            "source": "fair", "tags": ["one", "two"],
        })
    };
    let rows: Vec<_> = (0..PEOPLE)
        .map(|number| {
            let mut row = person(number, "row");
            row["applications"] = json!([{ "role": { "id": role } }]);
            row
        })
        .collect();
    let import = begin_with(&api, &rows).await;
    api.run_tasks().await;
    api.run_tasks().await;
    step(&api, import, "run").await.expect(202);
    api.run_feed().await;
    api.dynamodb.clear_calls();
    api.run_tasks().await;
    let imported = written(&api.dynamodb.take_calls());
    api.run_feed().await;
    let told = written(&api.dynamodb.take_calls());
    assert_eq!(show(&api, import).await.number("/counts/create"), u64::from(PEOPLE));
    api.dynamodb.clear_calls();
    for number in 0..PEOPLE {
        let mut sent = person(number, "sent");
        sent["role_id"] = json!(role);
        api.post(CANDIDATES, sent).await.expect(201);
    }
    let sent = written(&api.dynamodb.take_calls());
    api.run_feed().await;
    let told_of_sent = written(&api.dynamodb.take_calls());
    let each = [imported, told, sent, told_of_sent].map(|units| units / f64::from(PEOPLE));
    println!("units for each person: {each:?}");
    // The engine counts the units of transactions as AWS does, unless it is DynamoDB Local.
    let is_embedded = std::env::var_os("ROLECALL_TEST_ENDPOINT").is_none();
    assert!(!is_embedded || each[0] + each[1] <= 45.6, "{each:?}");
    assert!(each[0] + each[1] <= each[2] + each[3], "{each:?}");
}
