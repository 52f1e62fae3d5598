//! Exports of an organization's data: what they have, how long, and that they go on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::clock::later;
use shared::id::Id;
use shared::model::{Actor, Mode, Note, NoteText, Scope, Scopes};
use shared::providers::bucket::MIN_PART;
use shared::store::Transaction;
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::access::new_key;
use crate::careers_resumes::{download, post};
use crate::erasures::{Jobs, Person, bucket, keys};

const EXPORTS: &str = "/api/v1/exports";
const CANDIDATES: &str = "/api/v1/candidates";
const KINDS: [&str; 7] =
    ["candidates", "applications", "roles", "job_postings", "notes", "voice_screens", "touchpoints"];

/// The rows of each kind, by their identifiers.
type Data = BTreeMap<&'static str, BTreeMap<String, Value>>;

/// What tells a row from all others. Ids of touchpoints may meet while the clock stands still.
pub(super) fn identity(row: &Value) -> String {
    match row["at"].as_str() {
        Some(at) => format!("{} {} {at} {}", row["id"], row["candidate_id"], row["kind"]),
        None => row["id"].to_string(),
    }
}

async fn begin(api: &TestApi, mode: Mode, body: Value) -> u64 {
    let request = api.request(Method::POST, EXPORTS).key(ACME, mode).json(&body);
    request.send().await.expect(201).number("/id")
}

async fn show(api: &TestApi, mode: Mode, export: u64) -> Response {
    api.request(Method::GET, &format!("{EXPORTS}/{export}")).key(ACME, mode).send().await
}

/// Lets the tasks work until the export is done or has failed.
async fn settle(api: &TestApi, mode: Mode, export: u64) -> Response {
    for _ in 0..50 {
        let shown = show(api, mode, export).await.expect(200);
        if shown.string("/status") != "running" {
            return shown;
        }
        api.run_tasks().await;
    }
    panic!("the export {export} does not end");
}

/// Exports to the end.
async fn export(api: &TestApi, mode: Mode, body: Value) -> Response {
    let export = begin(api, mode, body).await;
    let done = settle(api, mode, export).await;
    assert_eq!(done.string("/status"), "done", "{}", done.text);
    done
}

/// The content of the files, by their kinds.
async fn contents(done: &Response) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for file in done.body["files"].as_array().unwrap() {
        let response = download(file["url"].as_str().unwrap()).await.expect(200);
        assert_eq!(response.text.len() as u64, file["size"].as_u64().unwrap());
        files.insert(file["kind"].as_str().unwrap().to_owned(), response.text);
    }
    files
}

/// The rows of files of JSON.
fn rows(files: &BTreeMap<String, String>) -> Data {
    let mut data = Data::new();
    for kind in KINDS {
        let Some(file) = files.get(kind) else { continue };
        let rows: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let by_id: BTreeMap<_, _> = rows.iter().map(|row| (identity(row), row.clone())).collect();
        assert_eq!(by_id.len(), rows.len(), "nothing of {kind} is there twice");
        data.insert(kind, by_id);
    }
    data
}

async fn get(api: &TestApi, path: &str) -> Value {
    api.get(&format!("/api/v1/{path}")).await.expect(200).body
}

/// All ids of a list.
async fn ids(api: &TestApi, path: &str) -> Vec<u64> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(api, &format!("{path}?limit=100{cursor}")).await;
        ids.extend(page["data"].as_array().unwrap().iter().map(|item| item["id"].as_u64().unwrap()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

/// What of a candidate's row the API shows in the same form.
pub(super) fn profile(row: &Value) -> Value {
    let names = [
        "id",
        "name",
        "email",
        "phone",
        "stage",
        "source",
        "tags",
        "external_id",
        "created_at",
        "updated_at",
    ];
    names
        .into_iter()
        .map(|name| (name.to_owned(), row[name].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Replaces what is known of a person with what the API shows.
async fn fetch_person(api: &TestApi, data: &mut Data, id: u64) {
    for kind in ["applications", "notes", "voice_screens", "touchpoints"] {
        data.entry(kind).or_default().retain(|_, row| row["candidate_id"] != id);
    }
    let detail = get(api, &format!("candidates/{id}")).await;
    data.entry("candidates").or_default().insert(identity(&detail), profile(&detail));
    for application in detail["applications"].as_array().unwrap() {
        let id = application["id"].as_u64().unwrap();
        let shown = get(api, &format!("applications/{id}")).await;
        data.entry("applications").or_default().insert(identity(&shown), shown);
    }
    for screen in detail["voice_screens"].as_array().unwrap() {
        let id = screen["id"].as_u64().unwrap();
        let shown = get(api, &format!("voice_screens/{id}")).await;
        data.entry("voice_screens").or_default().insert(identity(&shown), shown);
    }
    for note in get(api, &format!("candidates/{id}/notes?limit=100")).await["data"].as_array().unwrap() {
        data.entry("notes").or_default().insert(identity(note), note.clone());
    }
    for touchpoint in detail["touchpoints"].as_array().unwrap() {
        let mut touchpoint = touchpoint.clone();
        touchpoint["candidate_id"] = json!(id);
        // Links to files are in no export.
        if let Some(detail) = touchpoint["detail"].as_object_mut() {
            detail.remove("resume_url");
        }
        data.entry("touchpoints").or_default().insert(identity(&touchpoint), touchpoint);
    }
}

/// Everything that the API shows.
async fn shown(api: &TestApi) -> Data {
    let mut data: Data = KINDS.into_iter().map(|kind| (kind, BTreeMap::new())).collect();
    for kind in ["roles", "job_postings"] {
        for id in ids(api, kind).await {
            data.get_mut(kind).unwrap().insert(id.to_string(), get(api, &format!("{kind}/{id}")).await);
        }
    }
    for id in ids(api, "candidates").await {
        fetch_person(api, &mut data, id).await;
    }
    data
}

/// The same, with what of candidates the API shows in another form left out.
fn comparable(mut data: Data) -> Data {
    for row in data.get_mut("candidates").into_iter().flat_map(BTreeMap::values_mut) {
        *row = profile(row);
    }
    for row in data.get_mut("touchpoints").into_iter().flat_map(BTreeMap::values_mut) {
        if let Some(detail) = row["detail"].as_object_mut() {
            detail.remove("resume_url");
        }
    }
    data
}

fn assert_same(exported: Data, shown: &Data, about: &str) {
    let exported = comparable(exported);
    for kind in KINDS {
        assert_eq!(exported.get(kind), shown.get(kind), "{kind} {about}");
    }
}

/// The rows of a spreadsheet (RFC 4180), each by the names of its columns.
fn spreadsheet(text: &str) -> Vec<BTreeMap<String, String>> {
    let text = text.strip_prefix('\u{feff}').expect("a mark");
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => cell.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {
                assert_eq!(characters.next(), Some('\n'));
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    let mut rows = rows.into_iter();
    let header = rows.next().unwrap();
    rows.map(|row| {
        assert_eq!(row.len(), header.len());
        header.iter().cloned().zip(row).collect()
    })
    .collect()
}

/// People with everything, and roles.
async fn populate(api: &TestApi) -> [Person; 2] {
    let jobs = Jobs::new(api).await;
    let people = [Person::create(api, &jobs, 1).await, Person::create(api, &jobs, 2).await];
    let draft = json!({ "title": "=Draft, \"with\"; signs", "external_id": "d-1", "pay": { "min": "18.50", "currency": "EUR", "period": "hour" } });
    api.post("/api/v1/roles", draft).await.expect(201);
    let plain =
        json!({ "name": "Zoë, \"the\" Plain\u{a0}One", "email": "plain@export.example", "tags": ["a, b"] });
    api.post(CANDIDATES, plain).await.expect(201);
    api.run_tasks().await;
    people
}

#[tokio::test]
async fn an_export_has_what_the_api_shows() {
    let api = TestApi::new().await;
    populate(&api).await;
    let begun = api.post(EXPORTS, json!({ "format": "ndjson" })).await.expect(201);
    assert_eq!(begun.string("/status"), "running");
    assert_eq!((&begun.body["kinds"], &begun.body["files"]), (&json!(KINDS), &json!([])));
    let done = settle(&api, Mode::Live, begun.number("/id")).await;
    let files = contents(&done).await;
    let shown = shown(&api).await;
    assert!(shown.values().all(|rows| !rows.is_empty()), "there is something of every kind");
    let exported = rows(&files);
    for file in done.body["files"].as_array().unwrap() {
        let kind = file["kind"].as_str().unwrap();
        assert_eq!(file["rows"].as_u64().unwrap(), exported[kind].len() as u64, "{kind}");
    }
    let person = exported["candidates"].values().find(|row| row["source"] == "zorbax1q").unwrap();
    assert_eq!(person["resume_url"], Value::Null, "a link to a file is left out");
    assert_eq!(person["notes"][0]["text"], "I know zorbax1q well.");
    assert_eq!(person["files"][0]["kind"], "resume");
    let [first, second] = &person["applications"].as_array().unwrap()[..] else { panic!("{person}") };
    assert_eq!(first["role"], json!({ "external_id": null, "title": "Analyst" }));
    assert_eq!((&first["status"], &first["stage"]), (&json!("rejected"), &json!("screening")));
    assert_eq!(first["rejection"]["reason"], "zorbax1q");
    let stages: Vec<_> = first["stage_changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["screening", "rejected"]);
    assert_eq!(second["role"]["title"], "Cook");
    assert_same(exported, &shown, "as JSON");

    let done = export(&api, Mode::Live, json!({ "format": "csv" })).await;
    let files = contents(&done).await;
    assert_eq!(done.number("/left_out"), 0);
    for kind in KINDS.into_iter().skip(1) {
        let table = spreadsheet(&files[kind]);
        assert_eq!(table.len(), shown[kind].len(), "{kind}");
        for cells in table {
            let is_row = |row: &&Value| {
                ["id", "candidate_id", "kind"].iter().all(|name| {
                    row[*name].is_null() || row[*name].to_string().trim_matches('"') == cells[*name]
                })
            };
            let row = shown[kind].values().find(is_row).unwrap().as_object().unwrap();
            assert_eq!(cells.keys().collect::<BTreeSet<_>>(), row.keys().collect::<BTreeSet<_>>(), "{kind}");
            for (column, cell) in cells {
                let cell = cell.strip_prefix('\'').unwrap_or(&cell);
                let expected = match &row[&column] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    Value::Array(list) if list.is_empty() => String::new(),
                    value => value.to_string(),
                };
                assert_eq!(cell, expected, "{kind} {column}");
            }
        }
    }
    let people = spreadsheet(&files["candidates"]);
    let of_person: Vec<_> = people.iter().filter(|row| row["source"] == "zorbax1q").collect();
    assert_eq!(of_person.len(), 2, "a row for each application");
    assert_eq!(of_person[0]["notes"], of_person[1]["notes"]);
    assert_eq!((&*of_person[0]["role"], &*of_person[1]["role"]), ("Analyst", "Cook"));
    let plain = people.iter().find(|row| row["email"] == "plain@export.example").unwrap();
    assert_eq!((&*plain["tags"], &*plain["role"]), (r#"["a, b"]"#, ""));
    assert_eq!(of_person[0]["tags"], "zorbax1q; shared");
    assert!(of_person[0]["phone"].starts_with("'+49"), "no cell is a formula");
}

/// Imports a file into Acme's test data.
async fn import(api: &TestApi, format: &str, content: &str) -> Response {
    let send = async |method: Method, path: &str, body: Value| {
        let request = api.request(method.clone(), path).key(ACME, Mode::Test);
        if method == Method::POST { request.json(&body).send().await } else { request.send().await }
    };
    let waiting = send(Method::POST, "/api/v1/imports", json!({ "format": format })).await.expect(201);
    let fields = waiting.body["upload"]["fields"].as_object().unwrap();
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    post(waiting.string("/upload/url"), &fields, content.as_bytes()).await.expect(201);
    let path = format!("/api/v1/imports/{}", waiting.number("/id"));
    send(Method::POST, &format!("{path}/complete"), json!({})).await.expect(202);
    for step in ["checked", "done"] {
        while send(Method::GET, &path, json!({})).await.expect(200).string("/status") != step {
            api.run_tasks().await;
            api.run_feed().await;
        }
        if step == "checked" {
            send(Method::POST, &format!("{path}/run"), json!({})).await.expect(202);
        }
    }
    let done = send(Method::GET, &path, json!({})).await;
    let verdicts = send(Method::GET, &format!("{path}/rows?result=invalid"), json!({})).await;
    assert_eq!(verdicts.body["data"], json!([]), "every row is valid");
    done
}

/// What another organization has of a row after an import: all but ids, times of the import, and files.
fn imported(row: &Value) -> Value {
    let mut row = row.clone();
    let fields = row.as_object_mut().unwrap();
    // The stage follows from the status of roles, which are made closed.
    for name in ["id", "version", "stage", "updated_at", "files"] {
        fields.remove(name).unwrap();
    }
    for note in row["notes"].as_array_mut().unwrap() {
        let text = note["text"].as_str().unwrap().split("\n\n(").next().unwrap().to_owned();
        *note = json!({ "text": text, "at": note["at"] });
    }
    row["applications"].as_array_mut().unwrap().sort_by_key(|one| one["role"]["title"].to_string());
    row
}

#[tokio::test]
async fn another_organization_imports_an_export() {
    for format in ["ndjson", "csv"] {
        let api = TestApi::new().await;
        populate(&api).await;
        // Two people whom only the id in the file tells apart, and one with every kind of trouble for spreadsheets.
        let role = api.post(
            "/api/v1/quick_post",
            json!({ "role": { "title": "Second analyst", "external_id": "a-2" } }),
        );
        let role = role.await.expect(201).number("/role/id");
        let hard = json!({
            "name": "=Hard", "email": "hard@export.example", "source": "a; b, c", "tags": ["x; y", "'=z"],
            "external_id": "-0012", "role_id": role, "resume_url": "https://files.example/a?b=1,2;3",
        });
        let hard = api.post(CANDIDATES, hard).await.expect(201).number("/id");
        let path = format!("{CANDIDATES}/{hard}");
        api.post(&format!("{path}/notes"), json!({ "text": "=1\n\"quoted\", and; more" })).await.expect(201);
        api.post(&format!("{path}/notes"), json!({ "text": "n".repeat(5_000) })).await.expect(201);
        api.post(&format!("{path}/withdraw"), json!({ "reason": "-no" })).await.expect(200);
        let nameless = json!({ "format": "ndjson", "rows": [
            { "name": "Same", "applications": [{ "role": { "title": "Baker" } }, { "role": { "title": "Waiter" } }] },
            { "name": "Same", "applications": [{ "role": { "title": "Baker" } }] },
        ]});
        let nameless = api.post("/api/v1/imports", nameless).await.expect(201).number("/id");
        api.run_tasks().await;
        api.run_tasks().await;
        api.post(&format!("/api/v1/imports/{nameless}/run"), json!({})).await.expect(202);
        api.run_tasks().await;

        let done = export(&api, Mode::Live, json!({ "format": format, "kinds": ["candidates"] })).await;
        let file = contents(&done).await.remove("candidates").unwrap();
        import(&api, format, &file).await;
        let of = async |mode| {
            let done = export(&api, mode, json!({ "format": "ndjson", "kinds": ["candidates"] })).await;
            let data = rows(&contents(&done).await);
            let mut rows: Vec<_> = data["candidates"].values().map(imported).collect();
            rows.sort_by_key(|row| (row["name"].to_string(), row["applications"].to_string()));
            rows
        };
        let (before, after) = (of(Mode::Live).await, of(Mode::Test).await);
        assert_eq!(before.len(), 6);
        assert_eq!(before.len(), after.len());
        for (mut before, after) in before.into_iter().zip(after) {
            // The roles are made closed.
            for application in before["applications"].as_array_mut().unwrap() {
                if application["status"] == "active" {
                    application["status"] = json!("closed");
                }
            }
            assert_eq!(after, before, "{format}");
        }
        let again = import(&api, format, &file).await;
        let unchanged = again.number("/counts/unchanged");
        let new = again.number("/counts/create");
        assert_eq!(new, 2, "only those without an address: {}", again.text);
        assert!(unchanged >= 4, "{}", again.text);
    }
}

#[tokio::test]
async fn files_are_kept_for_a_day() {
    let api = TestApi::new().await;
    api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201);
    let done = export(&api, Mode::Live, json!({ "format": "csv", "kinds": ["roles"] })).await;
    assert_eq!(done.string("/expires_at"), "2026-11-21T09:30:00.000Z");
    let id = done.number("/id");
    api.clock.set("2026-11-21T09:29:59.999Z");
    show(&api, Mode::Live, id).await.expect(200);
    api.clock.set("2026-11-21T09:30:00Z");
    assert_eq!(show(&api, Mode::Live, id).await.expect(410).string("/code"), "expired");
    assert!(keys(&api).await.iter().any(|key| key.starts_with("exports/")));
    api.run_tasks().await;
    assert!(!keys(&api).await.iter().any(|key| key.starts_with("exports/")));
    show(&api, Mode::Live, id).await.expect(410);
    let listed = api.get(EXPORTS).await.expect(200);
    assert_eq!(
        (listed.string("/data/0/status"), &listed.body["data"][0]["files"][0]["url"]),
        ("done", &Value::Null)
    );
}

#[tokio::test]
async fn an_erasure_ends_every_export() {
    let api = TestApi::new().await;
    let people = populate(&api).await;
    let done = export(&api, Mode::Live, json!({ "format": "ndjson" })).await.number("/id");
    let in_test = export(&api, Mode::Test, json!({ "format": "ndjson" })).await.number("/id");
    let running = begin(&api, Mode::Live, json!({ "format": "ndjson" })).await;
    api.run_tasks().await;
    crate::erasures::erase(&api, people[0].id).await.expect(202);
    assert_eq!(show(&api, Mode::Live, done).await.expect(410).string("/code"), "expired");
    while show(&api, Mode::Live, running).await.string("/status") == "running" {
        api.run_tasks().await;
    }
    let failed = show(&api, Mode::Live, running).await.expect(200);
    assert_eq!(failed.string("/status"), "failed");
    assert_eq!(
        failed.string("/reason"),
        "Somebody was erased, so its files were deleted. Begin another export."
    );
    assert_eq!(failed.body["files"], json!([]));
    show(&api, Mode::Live, done).await.expect(410);
    // Whoever was still writing is over by now.
    api.clock.set("2026-11-20T09:40:00Z");
    api.run_tasks().await;
    let live = format!("exports/{}/live/", tenant(ACME, Mode::Live).organization);
    assert!(!keys(&api).await.iter().any(|key| key.starts_with(&live)));
    show(&api, Mode::Test, in_test).await.expect(200);
    let another = export(&api, Mode::Live, json!({ "format": "ndjson" })).await;
    let exported = rows(&contents(&another).await);
    assert!(!exported["candidates"].contains_key(&people[0].id.to_string()));
    assert_same(exported, &shown(&api).await, "without the erased person");
}

#[tokio::test]
async fn an_export_needs_the_scopes_and_belongs_to_its_tenant() {
    let api = TestApi::new().await;
    populate(&api).await;
    let live = tenant(ACME, Mode::Live);
    let body = json!({ "format": "ndjson" });
    let send = async |number: u64, scopes: &[Scope], method: Method, path: &str| {
        let key = new_key(&api, live, number, scopes.iter().copied().collect::<Scopes>(), None).await;
        let request = api.request(method.clone(), path).bearer(key.reveal());
        if method == Method::POST { request.json(&body).send().await } else { request.send().await }
    };
    send(101, &[Scope::DataExport], Method::POST, EXPORTS).await.expect(403);
    send(102, &[Scope::CandidatesRead], Method::POST, EXPORTS).await.expect(403);
    let without_results = [Scope::DataExport, Scope::CandidatesRead];
    let export = send(103, &without_results, Method::POST, EXPORTS).await.expect(201).number("/id");
    let done = settle(&api, Mode::Live, export).await;
    let screens = &rows(&contents(&done).await)["voice_screens"];
    let completed = screens.values().find(|row| row["status"] == "completed").unwrap();
    for name in
        ["summary", "scores", "result", "review", "transcript", "highlights", "red_flags", "assessment"]
    {
        assert_eq!(completed[name], Value::Null, "{name}");
    }
    let path = format!("{EXPORTS}/{export}");
    let shown = send(104, &without_results, Method::GET, &path).await.expect(200);
    assert!(shown.body["files"][0]["url"].is_string());
    let whole = self::export(&api, Mode::Live, body.clone()).await.number("/id");
    let screens = &rows(&contents(&show(&api, Mode::Live, whole).await).await)["voice_screens"];
    assert!(screens.values().any(|row| row["scores"].is_object()));
    // Whoever may not see results gets no files with them.
    let shown = send(105, &without_results, Method::GET, &format!("{EXPORTS}/{whole}")).await.expect(200);
    assert_eq!(shown.body["files"][0]["url"], Value::Null);
    for (demo, mode) in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
        api.request(Method::GET, &path).key(demo, mode).send().await.expect(404);
    }
    for (body, message) in [
        (json!({}), "format can't be blank"),
        (json!({ "format": "xlsx" }), "format must be one of ndjson, csv"),
        (json!({ "format": "csv", "kinds": [] }), "kinds must have at least one item"),
        (json!({ "format": "csv", "role_id": 4 }), "role_id must be the id of a role"),
    ] {
        assert_eq!(api.post(EXPORTS, body).await.expect(422).messages(), [message]);
    }
    let audit = api.get("/api/v1/audit_log?action=export.created").await.expect(200);
    assert_eq!(audit.body["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_plan_has_so_many_exports_a_day() {
    let api = TestApi::new().await;
    let send = async || {
        let request = api.request(Method::POST, EXPORTS).key(GLOBEX, Mode::Live);
        request.json(&json!({ "format": "csv", "kinds": ["roles"] })).send().await
    };
    send().await.expect(201);
    assert_eq!(send().await.expect(422).string("/code"), "plan_limit");
    api.clock.set("2026-11-21T00:00:00Z");
    send().await.expect(201);
    for _ in 0..3 {
        begin(&api, Mode::Live, json!({ "format": "csv" })).await;
    }
    let refused = api.post(EXPORTS, json!({ "format": "csv" })).await.expect(422);
    assert_eq!(refused.string("/code"), "invalid_transition");
    for _ in 0..3 {
        api.run_tasks().await;
    }
    begin(&api, Mode::Live, json!({ "format": "csv" })).await;
}

#[tokio::test]
async fn an_export_can_be_limited_to_a_role() {
    let api = TestApi::new().await;
    let jobs = Jobs::new(&api).await;
    Person::create(&api, &jobs, 1).await;
    let role = api.post("/api/v1/quick_post", json!({ "role": { "title": "Nurse" } })).await.expect(201);
    let role = role.number("/role/id");
    let both = json!({ "name": "Both", "email": "both@export.example", "role_id": role });
    let both = api.post(CANDIDATES, both).await.expect(201).number("/id");
    let other = ids(&api, "roles").await.into_iter().find(|id| *id != role).unwrap();
    let path = format!("{CANDIDATES}/{both}");
    api.post(&format!("{path}/applications"), json!({ "role_id": other })).await.expect(201);
    api.post(&format!("{path}/notes"), json!({ "text": "Good" })).await.expect(201);
    let done = export(&api, Mode::Live, json!({ "format": "ndjson", "role_id": role })).await;
    assert_eq!(done.body["position"], Value::Null);
    let data = rows(&contents(&done).await);
    let of = |kind: &str, name: &str| {
        data[kind].values().map(|row| row[name].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of("roles", "id"), [role]);
    assert_eq!(of("job_postings", "role_id"), [role]);
    assert_eq!(of("candidates", "id"), [both]);
    assert_eq!(of("applications", "role_id"), [role]);
    assert_eq!(of("notes", "candidate_id"), [both]);
    assert_eq!(data["candidates"][&both.to_string()]["applications"].as_array().unwrap().len(), 1);
    assert!(
        data["touchpoints"]
            .values()
            .all(|row| row["candidate_id"] == both && row["detail"]["role_id"] != other)
    );
    assert_eq!(data["voice_screens"].len(), 0);
}

/// A turn that is killed after any call is repeated: nothing is missing, and nothing is there twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_export_that_is_killed_after_any_call_goes_on() {
    let api = TestApi::new().await;
    populate(&api).await;
    let shown = shown(&api).await;
    let mut calls = 0;
    loop {
        let id = begin(&api, Mode::Live, json!({ "format": "ndjson" })).await;
        let mut is_whole = true;
        for _ in 0..3 {
            is_whole &= api.run_tasks_with(calls).await;
            api.let_leases_end();
        }
        let done = settle(&api, Mode::Live, id).await;
        assert_same(rows(&contents(&done).await), &shown, &format!("after {calls} calls"));
        if is_whole {
            break;
        }
        calls += 2;
        // A plan has so many exports a day.
        let now = later(api.environment.clock.now(), SignedDuration::from_hours(3));
        api.clock.set(&now.to_string());
        api.run_tasks().await;
    }
    assert!(calls > 8, "{calls}");
}

/// Changes something of everything.
async fn change(api: &TestApi, number: usize) {
    let at = |path: &str| format!("/api/v1/{path}");
    let roles = ids(api, "roles").await;
    let people = ids(api, "candidates").await;
    let role = roles[number % roles.len()];
    api.patch(&at(&format!("roles/{role}")), json!({ "title": format!("Title {number}") })).await.expect(200);
    // The newest ones, and those who were there first.
    for person in people.iter().take(1).chain(people.iter().rev().take(3)) {
        let person = at(&format!("candidates/{person}"));
        api.post(&format!("{person}/notes"), json!({ "text": format!("Note {number}") })).await.expect(201);
        api.patch(&person, json!({ "source": format!("source {number}") })).await.expect(200);
        _ = api.post(&format!("{person}/advance"), json!({ "stage": "interview" })).await;
        _ = api.post(&format!("{person}/reject"), json!({ "reason": format!("no {number}") })).await;
    }
    let new = json!({ "role": { "title": format!("New {number}") } });
    let new = api.post(&at("quick_post"), new).await.expect(201).number("/role/id");
    let person = json!({ "name": "New", "email": format!("new{number}@export.example"), "role_id": new });
    api.post(&at("candidates"), person).await.expect(201);
    api.delete(&at(&format!("roles/{role}"))).await.expect(200);
}

/// Makes a change before one of the next queries.
fn change_after(api: &Arc<TestApi>, queries: usize, number: usize, has_changed: &Arc<AtomicBool>) {
    let (other, changed) = (api.clone(), has_changed.clone());
    api.dynamodb.run_before("Query", async move {
        if queries > 0 {
            return change_after(&other, queries - 1, number, &changed);
        }
        changed.store(true, Ordering::SeqCst);
        Box::pin(change(&other, number)).await;
    });
}

/// Applies all events after a position, by asking the API for what each names.
async fn apply(api: &TestApi, data: &mut Data, position: &str) {
    let mut after = position.to_owned();
    let mut people = BTreeSet::new();
    loop {
        let page = get(api, &format!("events?after={after}&limit=1000")).await;
        for event in page["data"].as_array().unwrap() {
            let (subject, id) = (&event["subject"], event["subject"]["id"].as_u64());
            match subject["type"].as_str().unwrap() {
                "role" => {
                    let shown = get(api, &format!("roles/{}", id.unwrap())).await;
                    // A job posting may follow the title of its role.
                    if let Some(posting) = shown["job_posting_id"].as_u64() {
                        let posting = get(api, &format!("job_postings/{posting}")).await;
                        data.get_mut("job_postings").unwrap().insert(identity(&posting), posting);
                    }
                    data.get_mut("roles").unwrap().insert(identity(&shown), shown);
                }
                "posting" => {
                    let shown = get(api, &format!("job_postings/{}", id.unwrap())).await;
                    data.get_mut("job_postings").unwrap().insert(identity(&shown), shown);
                }
                "candidate" => drop(people.insert(id.unwrap())),
                _ => people.extend(event["data"]["candidate_id"].as_u64()),
            }
        }
        page["position"].as_str().unwrap().clone_into(&mut after);
        if !page["has_more"].as_bool().unwrap() {
            break;
        }
    }
    for person in people {
        fetch_person(api, data, person).await;
    }
    // An application's copy of the title has no event of its own.
    let titles: BTreeMap<_, _> =
        data["roles"].iter().map(|(id, role)| (id.clone(), role["title"].clone())).collect();
    for application in data.get_mut("applications").unwrap().values_mut() {
        application["role_title"] = titles[&application["role_id"].to_string()].clone();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_applies_the_events_after_an_export_has_what_the_api_shows() {
    let api = Arc::new(TestApi::new().await);
    populate(&api).await;
    let (mut queries, mut number, mut changes) = (0, 0, 0);
    loop {
        // Some changes have no number in the feed yet when the export begins.
        Box::pin(change(&api, number)).await;
        let begun = api.post(EXPORTS, json!({ "format": "ndjson" })).await.expect(201);
        let position = begun.string("/position").to_owned();
        number += 1;
        let has_changed = Arc::new(AtomicBool::new(false));
        change_after(&api, queries, number, &has_changed);
        for _ in 0..3 {
            api.run_tasks().await;
        }
        api.dynamodb.run_before("Query", async {});
        let done = settle(&api, Mode::Live, begun.number("/id")).await;
        let mut data = comparable(rows(&contents(&done).await));
        api.run_tasks().await;
        for _ in 0..3 {
            api.run_feed().await;
        }
        apply(&api, &mut data, &position).await;
        assert_same(data, &shown(&api).await, &format!("with a change after {queries} queries"));
        number += 1;
        if !has_changed.load(Ordering::SeqCst) {
            break;
        }
        changes += 1;
        queries += 13;
        let now = later(api.environment.clock.now(), SignedDuration::from_hours(3));
        api.clock.set(&now.to_string());
        api.run_tasks().await;
    }
    assert!(changes > 3, "{changes}");
}

/// Stores notes about a candidate who has one.
async fn write_notes(api: &TestApi, candidate: u64, count: u64, text: &str) {
    let path = format!("{CANDIDATES}/{candidate}/notes");
    api.post(&path, json!({ "text": text })).await.expect(201);
    let numbers: Vec<_> = (1..count).collect();
    for numbers in numbers.chunks(50) {
        let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
        for number in numbers {
            let note = Note {
                id: Id::new(candidate * 10_000 % 4_000_000_000_000_000 + number).unwrap(),
                text: NoteText::parse(text).unwrap().unwrap(),
                actor: Actor::system(),
                created_at: api.environment.clock.now(),
                updated_at: None,
            };
            transaction.insert_note(Id::new(candidate).unwrap(), &note).unwrap();
        }
        api.store().commit(transaction).await.unwrap();
    }
}

async fn add(api: &TestApi, number: u64) -> u64 {
    let person = json!({ "name": format!("Person {number}"), "email": format!("p{number}@export.example") });
    api.post(CANDIDATES, person).await.expect(201).number("/id")
}

#[tokio::test]
async fn a_large_export_is_uploaded_in_parts() {
    let api = TestApi::new().await;
    let (first, long) = (add(&api, 0).await, "n".repeat(5_000));
    write_notes(&api, first, 1_200, &long).await;
    for number in 1..=50 {
        add(&api, number).await;
    }
    let last = add(&api, 51).await;
    write_notes(&api, last, 1_200, &long).await;
    let done = export(&api, Mode::Live, json!({ "format": "ndjson" })).await;
    let size = |kind: &str| {
        let files = done.body["files"].as_array().unwrap();
        files.iter().find(|file| file["kind"] == kind).unwrap()["size"].as_u64().unwrap()
    };
    assert!(size("notes") > 12_000_000 && size("candidates") > 10_000_000);
    let data = rows(&contents(&done).await);
    assert_eq!((data["notes"].len(), data["candidates"].len()), (2_400, 52));
    let of_export: Vec<_> = keys(&api).await.into_iter().filter(|key| key.starts_with("exports/")).collect();
    assert!(of_export.iter().any(|key| key.ends_with("/notes.ndjson")), "{of_export:?}");
    assert!(bucket(&api).has(&of_export[0], api.environment.clock.now()).await.unwrap());
    let table = export(&api, Mode::Live, json!({ "format": "csv", "kinds": ["candidates", "notes"] })).await;
    assert_eq!(table.number("/left_out"), 2, "of people with too many notes for a cell");
    let people = spreadsheet(&contents(&table).await["candidates"]);
    assert_eq!(people.len(), 50);
    // An erasure deletes all of it, also of an export that has only some parts.
    begin(&api, Mode::Live, json!({ "format": "ndjson" })).await;
    for _ in 0..2 {
        api.run_tasks().await;
    }
    crate::erasures::erase(&api, first).await.expect(202);
    api.run_tasks().await;
    api.clock.set("2026-11-20T09:40:00Z");
    api.run_tasks().await;
    assert!(!keys(&api).await.iter().any(|key| key.starts_with("exports/")));
}

/// What a turn adds to the files, and with it each of them what is in no part yet, is in memory. Neither grows with people.
#[tokio::test]
async fn a_turn_ends_amid_a_page_of_large_people() {
    const PEOPLE: u64 = 40;
    const ENOUGH: u64 = 4 * 1024 * 1024;
    let api = TestApi::new().await;
    let long = "n".repeat(5_000);
    for number in 0..PEOPLE {
        let id = add(&api, number).await;
        write_notes(&api, id, 40, &long).await;
    }
    // A person has 200 KB among the notes, and again among the candidates.
    let person = 2 * 40 * 5_200;
    let id = Id::new(begin(&api, Mode::Live, json!({ "format": "ndjson" })).await).unwrap();
    let (mut size, mut turns) = (0, 0);
    loop {
        api.run_tasks().await;
        let export = api.store().find_export(tenant(ACME, Mode::Live), id).await.unwrap().unwrap();
        let written: u64 = export.files.iter().map(|file| file.size).sum();
        // Those who were being read are the last ones of a turn.
        assert!(written - size < ENOUGH + 10 * person, "{written} after {size}");
        assert!(export.files.iter().all(|file| file.rest < MIN_PART));
        (size, turns) = (written, turns + 1);
        if export.done_at.is_some() {
            break;
        }
    }
    assert!(size > PEOPLE * person * 9 / 10 && turns >= 4, "{size} in {turns} turns");
    let data = rows(&contents(&show(&api, Mode::Live, id.get()).await.expect(200)).await);
    assert_eq!((data["candidates"].len(), data["notes"].len()), (40, 1_600));
}

/// The size of a value in the table, as DynamoDB counts it.
fn size(value: &Value) -> usize {
    let Some((kind, value)) = value.as_object().and_then(|value| value.iter().next()) else { return 0 };
    match (kind.as_str(), value) {
        ("S", Value::String(text)) => text.len(),
        ("N", Value::String(number)) => number.len().div_ceil(2) + 1,
        ("B", Value::String(bytes)) => bytes.len() * 3 / 4,
        ("L", Value::Array(list)) => 3 + list.iter().map(|item| 1 + size(item)).sum::<usize>(),
        ("M", Value::Object(map)) => {
            3 + map.iter().map(|(name, item)| 1 + name.len() + size(item)).sum::<usize>()
        }
        _ => 1,
    }
}

/// The read units of the tasks of an export, and those that its bytes would take alone.
async fn cost(api: &TestApi) -> (f64, f64) {
    api.run_feed().await;
    let id = begin(api, Mode::Live, json!({ "format": "ndjson" })).await;
    let mut calls = Vec::new();
    while show(api, Mode::Live, id).await.string("/status") == "running" {
        api.dynamodb.clear_calls();
        api.run_tasks().await;
        calls.extend(api.dynamodb.take_calls());
    }
    let (mut units, mut bytes, mut seen) = (0.0, 0, BTreeSet::new());
    for call in calls.iter().filter(|call| ["Query", "BatchGetItem"].contains(&&*call.operation)) {
        let request = call.request.to_string();
        if ["\"TASK#", "#GATE\"", "#PROFILE\""].iter().any(|other| request.contains(other)) {
            continue;
        }
        units += call.units();
        let is_new = request.contains("#ROLE_CHANGE") || seen.insert(request.clone());
        assert!(is_new, "nothing is read twice: {request}");
        for item in call.response["Items"].as_array().into_iter().flatten() {
            bytes +=
                item.as_object().unwrap().iter().map(|(name, value)| name.len() + size(value)).sum::<usize>();
        }
    }
    (units, f64::from(u32::try_from(bytes).unwrap()) / 4096.0)
}

#[tokio::test]
async fn an_export_costs_little_more_than_its_bytes() {
    const PEOPLE: u32 = 60;
    let api = TestApi::new().await;
    let mut roles = Vec::new();
    for title in ["Cook", "Baker"] {
        let role = api.post("/api/v1/quick_post", json!({ "role": { "title": title } })).await.expect(201);
        roles.push(role.number("/role/id"));
    }
    let mut people = Vec::new();
    for number in 0..u64::from(PEOPLE) {
        let person = json!({
            "name": format!("Person {number}"), "email": format!("p{number}@export.example"),
            "phone": format!("+1415555{number:04}"), "tags": ["one", "two"], "role_id": roles[0],
        });
        let id = api.post(CANDIDATES, person).await.expect(201).number("/id");
        let path = format!("{CANDIDATES}/{id}");
        api.post(&format!("{path}/applications"), json!({ "role_id": roles[1] })).await.expect(201);
        api.post(&format!("{path}/advance"), json!({ "stage": "interview" })).await.expect(200);
        for text in ["She called.", "He wrote."] {
            api.post(&format!("{path}/notes"), json!({ "text": text })).await.expect(201);
        }
        people.push(id);
    }
    let (units, bytes) = cost(&api).await;
    let each = units / f64::from(PEOPLE);
    println!(
        "{each:.2} read units for each of {PEOPLE} ordinary people, whose bytes would take {bytes:.1} of {units:.1}"
    );
    assert!(each <= 4.0, "{each}");
    for id in people {
        write_notes(&api, id, 12, &"n".repeat(4_000)).await;
    }
    let (units, bytes) = cost(&api).await;
    println!("{units:.1} read units for people with 48 KB, whose bytes would take {bytes:.1}");
    assert!(units <= 1.2 * bytes, "{units} {bytes}");
}
