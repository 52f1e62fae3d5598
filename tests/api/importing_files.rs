//! The files of imports: the ZIP that has them, whose they are, and what becomes of them.

use flate2::Crc;
use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use shared::clock::later;
use shared::model::Mode;
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::importing::{CANDIDATES, IMPORTS, begin, begin_with, by_email, run, settle, show, step, verdicts};

/// The people of the example ZIPs: what their rows name, the address and the identifier.
const PEOPLE: [(&str, &str, &str); 8] = [
    ("Köhler Lebenslauf.pdf", "anneliese.koehler@mail.example", "00117"),
    ("tHart.pdf", "pieter.thart@mail.example", "00204"),
    ("Wójcik Łukasz CV.pdf", "lukasz.wojcik@mail.example", "00318"),
    ("oconnell.pdf", "sinead.oconnell@mail.example", "00422"),
    ("CV.pdf", "maya.fernandez@mail.example", "12-45"),
    ("Müller Jörg.pdf", "joerg.mueller@mail.example", "00531"),
    ("sato.pdf", "aiko.sato@mail.example", "00640"),
    ("CV.pdf", "ofa.tupou@mail.example", "00755"),
];

fn sheet() -> String {
    let rows = PEOPLE.map(|(files, email, id)| format!("{id},Person {id},{email},{files}\r\n"));
    format!("External ID,Name,Email,Files\r\n{}", rows.concat())
}

fn example(name: &str) -> Vec<u8> {
    let path = format!("{}/../shared/import_files/files/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// An entry of a ZIP, stored as it is.
struct Entry<'e> {
    name: &'e str,
    content: &'e [u8],
    /// The size that the directory says; the real one without it.
    said: Option<u32>,
    is_encrypted: bool,
}

fn entry<'e>(name: &'e str, content: &'e [u8]) -> Entry<'e> {
    Entry { name, content, said: None, is_encrypted: false }
}

/// A ZIP of these entries.
fn zip(entries: &[Entry<'_>]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for Entry { name, content, said, is_encrypted } in entries {
        let mut crc = Crc::new();
        crc.update(content);
        let (size, length) = (u32::try_from(content.len()).unwrap(), u16::try_from(name.len()).unwrap());
        let start = u32::try_from(zip.len()).unwrap();
        let mut fields = Vec::new();
        // The version that can read it, the flags (names are UTF-8), the method, the time and the day.
        for field in [20, 0x800 | u16::from(*is_encrypted), 0, 0, 0x21] {
            fields.extend_from_slice(&u16::to_le_bytes(field));
        }
        for field in [crc.sum(), size, said.unwrap_or(size)] {
            fields.extend_from_slice(&u32::to_le_bytes(field));
        }
        fields.extend_from_slice(&length.to_le_bytes());
        fields.extend_from_slice(&[0, 0]);
        zip.extend_from_slice(b"PK\x03\x04");
        zip.extend_from_slice(&fields);
        zip.extend_from_slice(name.as_bytes());
        zip.extend_from_slice(content);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&fields);
        // The comment, the disk and the attributes.
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&start.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let (count, start) = (u16::try_from(entries.len()).unwrap(), u32::try_from(zip.len()).unwrap());
    zip.extend_from_slice(&directory);
    zip.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    zip.extend_from_slice(&count.to_le_bytes());
    zip.extend_from_slice(&count.to_le_bytes());
    zip.extend_from_slice(&u32::try_from(directory.len()).unwrap().to_le_bytes());
    zip.extend_from_slice(&start.to_le_bytes());
    zip.extend_from_slice(&[0, 0]);
    zip
}

/// Asks for a ticket, and uploads a ZIP.
async fn send_zip(api: &TestApi, import: u64, content: &[u8]) {
    let ticket = api.request(Method::POST, &format!("{IMPORTS}/{import}/files")).send().await.expect(201);
    assert_eq!(ticket.string("/status"), "waiting");
    crate::importing::upload(&ticket, content).await;
}

/// Gives an import that waits for its decision a ZIP, and returns it when its rows are checked with the files.
async fn check_with(api: &TestApi, import: u64, content: &[u8]) -> Response {
    settle(api, import).await;
    send_zip(api, import, content).await;
    assert_eq!(step(api, import, "complete").await.expect(202).string("/files/status"), "matching");
    let checked = settle(api, import).await;
    assert_eq!(checked.string("/status"), "checked");
    checked
}

/// An import of the sheet of the example ZIPs.
async fn begin_sheet(api: &TestApi) -> u64 {
    let waiting = api.post(IMPORTS, json!({ "format": "csv" })).await.expect(201);
    crate::importing::upload(&waiting, sheet().as_bytes()).await;
    step(api, waiting.number("/id"), "complete").await.expect(202);
    waiting.number("/id")
}

/// The files as `number name: row`.
async fn files(api: &TestApi, import: u64, query: &str) -> Vec<String> {
    let listed = api.get(&format!("{IMPORTS}/{import}/files{query}")).await.expect(200);
    let file =
        |file: &Value| format!("{} {}: {}", file["number"], file["name"].as_str().unwrap(), file["row"]);
    listed.body["data"].as_array().unwrap().iter().map(file).collect()
}

/// The keys of the bucket that begin like this.
async fn stored_at(api: &TestApi, prefix: &str) -> Vec<String> {
    let bucket = api.environment.providers.resumes().unwrap();
    bucket.list(prefix, None, api.environment.clock.now()).await.unwrap()
}

/// The files that each row gets, or has got.
async fn files_of_rows(api: &TestApi, import: u64) -> Vec<Value> {
    let listed = api.get(&format!("{IMPORTS}/{import}/rows")).await.expect(200);
    listed.body["data"].as_array().unwrap().iter().map(|row| row["files"].clone()).collect()
}

/// The names of the files of the candidate with this address.
async fn names_of(api: &TestApi, email: &str) -> Vec<String> {
    let id = by_email(api, email).await.number("/id");
    let listed = api.get(&format!("{CANDIDATES}/{id}/files")).await.expect(200);
    let name = |file: &Value| file["name"].as_str().unwrap().to_owned();
    listed.body["data"].as_array().unwrap().iter().map(name).collect()
}

fn person(name: &str, files: &Value) -> Value {
    json!({ "name": name, "email": format!("{name}@files.example"), "files": files })
}

#[tokio::test]
async fn files_find_their_rows_and_become_the_people_s() {
    let api = TestApi::new().await;
    let import = begin_sheet(&api).await;
    let checked = settle(&api, import).await;
    assert_eq!(checked.body["files"], Value::Null);
    assert_eq!(files(&api, import, "").await, [""; 0]);
    let checked = check_with(&api, import, &example("resumes-bsdtar.zip")).await;
    assert_eq!(
        checked.body["files"],
        json!({ "status": "matched", "reason": null, "count": 9, "matched": 8, "unmatched": 1, "upload": null })
    );
    assert_eq!(checked.body["counts"]["create"], 8);
    let missing = "files[0].name is the name of no file in the ZIP file";
    assert_eq!(
        verdicts(&api, import, "?warnings=true").await,
        [format!("5 create: {missing}"), format!("8 create: {missing}")]
    );
    let rest = files(&api, import, "?matched=false").await;
    assert_eq!(rest, ["6 Bewerbungen/Notes for the team.txt: null"]);
    assert_eq!(files(&api, import, "?matched=true").await.len(), 8);
    let page = api.get(&format!("{IMPORTS}/{import}/files?limit=5")).await.expect(200);
    let next = page.string("/next_cursor");
    let page = api.get(&format!("{IMPORTS}/{import}/files?limit=5&cursor={next}")).await.expect(200);
    assert_eq!((page.number("/data/0/number"), &page.body["next_cursor"]), (6, &Value::Null));
    assert!(files_of_rows(&api, import).await.iter().all(|files| files.as_array().unwrap().len() == 1));

    api.run_feed().await;
    let last = api.get("/api/v1/events?after=latest").await.expect(200).string("/position").to_owned();
    let done = run(&api, import).await;
    assert_eq!((done.string("/status"), &done.body["counts"]["create"]), ("done", &json!(8)));
    assert_eq!(done.body["files"]["matched"], 8);
    for (number, (_, email, id)) in PEOPLE.iter().enumerate() {
        let candidate = by_email(&api, email).await;
        let path = format!("{CANDIDATES}/{}/files", candidate.number("/id"));
        let listed = api.get(&path).await.expect(200);
        let file = &listed.body["data"][0];
        assert_eq!(listed.body["data"].as_array().unwrap().len(), 1, "{number}");
        assert_eq!((&file["kind"], &file["status"]), (&json!("resume"), &json!("ready")));
        assert_eq!(file["media_type"], "text/plain", "it is what its content says");
        assert!(candidate.body["resume_url"].is_string());
        let content = crate::careers_resumes::download(file["url"].as_str().unwrap()).await.expect(200).text;
        let expected = if *id == "12-45" { "12E45" } else { id };
        assert_eq!(content, format!("Resume of {expected}\n"));
        let kinds: Vec<_> =
            candidate.body["touchpoints"].as_array().unwrap().iter().map(|one| one["kind"].clone()).collect();
        assert_eq!(kinds, ["imported", "updated", "file_added", "created"]);
    }
    // Everybody is told of once.
    let events = api.get(&format!("/api/v1/events?after={last}&limit=1000")).await.expect(200);
    let count = |kind: &str| {
        let events = events.body["data"].as_array().unwrap().iter();
        events.filter(|event| event["type"] == kind && event["imported"] == true).count()
    };
    assert_eq!(["candidate.created", "file.created"].map(count), [8, 8]);

    // The ZIP is deleted with the import.
    api.get(&format!("{IMPORTS}/{import}/files")).await.expect(410);
    api.run_tasks().await;
    let id = done.number("/id").to_string();
    let stored = stored_at(&api, "imports/").await;
    assert!(stored.iter().all(|key| !key.contains(&id) || key.contains("/verdicts/")), "{stored:?}");

    // The same again changes nothing.
    let again = begin_sheet(&api).await;
    check_with(&api, again, &example("resumes-bsdtar.zip")).await;
    run(&api, again).await;
    assert_eq!(names_of(&api, PEOPLE[0].1).await.len(), 1);

    // Undone, nobody is left.
    step(&api, import, "undo").await.expect(202);
    let undone = settle(&api, import).await;
    assert_eq!(undone.string("/status"), "undone");
}

#[tokio::test]
async fn names_are_read_as_programs_write_them() {
    let api = TestApi::new().await;
    let import = begin_sheet(&api).await;
    // Two of one name: it is said, and another one can be sent.
    let refused = check_with(&api, import, &example("resumes-python-same-name.zip")).await;
    assert_eq!(refused.string("/files/status"), "refused");
    assert_eq!(
        refused.string("/files/reason"),
        "The ZIP file has several files that are called CV.pdf. Give each a name of its own."
    );
    for content in [&b"no archive"[..], b"PK\x05\x06"] {
        let refused = check_with(&api, import, content).await;
        assert!(
            refused.string("/files/reason").starts_with("The ZIP file can't be read"),
            "{}",
            refused.text
        );
    }
    let checked = check_with(&api, import, &example("resumes-by-hand-like-macos.zip")).await;
    assert_eq!((checked.number("/files/count"), checked.number("/files/unmatched")), (4, 0));
    let rows = files_of_rows(&api, import).await;
    assert_eq!(rows[..5], [json!([1]), json!([2]), json!([3]), json!([4]), json!([])]);
    let checked = check_with(&api, import, &example("resumes-java-cp850.zip")).await;
    assert_eq!((checked.number("/files/count"), checked.number("/files/matched")), (4, 3));
    let rest = files(&api, import, "?matched=false").await;
    assert!(rest.len() == 1 && rest[0].ends_with("Åse S¢rensen.pdf: null"), "{rest:?}");
    // Another ticket takes the place of the files at once.
    let ticket = api.request(Method::POST, &format!("{IMPORTS}/{import}/files")).send().await.expect(201);
    let checked = settle(&api, import).await;
    assert_eq!(checked.string("/files/status"), "waiting");
    assert_eq!(checked.body["files"]["upload"], ticket.body["upload"]);
    assert!(files_of_rows(&api, import).await.iter().all(|files| *files == json!([])));
    step(&api, import, "complete").await.expect(422);
    // Nothing comes in time.
    api.clock.set("2026-11-20T10:31:00Z");
    api.run_tasks().await;
    assert_eq!(show(&api, import).await.string("/files/reason"), "No file was uploaded in time.");
    // It can still be run, without files.
    assert_eq!(run(&api, import).await.string("/status"), "done");
    assert_eq!(names_of(&api, PEOPLE[0].1).await, [""; 0]);
}

#[tokio::test]
async fn a_zip_is_awaited_until_the_run() {
    let api = TestApi::new().await;
    let one = zip(&[entry("ann@files.example.txt", b"About Ann")]);
    let import = begin_with(&api, &[person("ann", &json!([]))]).await;
    settle(&api, import).await;
    let path = format!("{IMPORTS}/{import}/files");
    for key in [GLOBEX, ACME] {
        let mode = if key == ACME { Mode::Test } else { Mode::Live };
        for method in [Method::GET, Method::POST] {
            api.request(method, &path).key(key, mode).send().await.expect(404);
        }
        let assign = api.request(Method::POST, &format!("{path}/1/assign")).key(key, mode);
        assign.json(&json!({ "row": 1 })).send().await.expect(404);
    }
    // The same ZIP is awaited by each ticket, until it is here.
    api.request(Method::POST, &path).send().await.expect(201);
    send_zip(&api, import, &one).await;
    let refused = step(&api, import, "run").await.expect(422);
    assert_eq!(refused.string("/code"), "invalid_transition");
    // It is also noticed without a word.
    api.clock.set("2026-11-20T09:30:25Z");
    api.run_tasks().await;
    let checked = settle(&api, import).await;
    assert_eq!(checked.string("/files/status"), "matched");
    step(&api, import, "run").await.expect(202);
    assert_eq!(
        api.request(Method::POST, &path).send().await.expect(422).string("/code"),
        "invalid_transition"
    );
    settle(&api, import).await;
    assert_eq!(names_of(&api, "ann@files.example").await, ["ann@files.example.txt"]);

    // One that never came is awaited no longer.
    let late = begin_with(&api, &[person("late", &json!([]))]).await;
    settle(&api, late).await;
    api.request(Method::POST, &format!("{IMPORTS}/{late}/files")).send().await.expect(201);
    let done = run(&api, late).await;
    assert_eq!(done.string("/files/reason"), "The import was run before it was uploaded.");

    // Both can come before the check.
    let waiting = api.post(IMPORTS, json!({ "format": "ndjson" })).await.expect(201);
    let early = waiting.number("/id");
    send_zip(&api, early, &one).await;
    crate::importing::upload(&waiting, person("ann", &json!([])).to_string().as_bytes()).await;
    step(&api, early, "complete").await.expect(202);
    let checked = settle(&api, early).await;
    assert_eq!(checked.string("/files/status"), "matched");
    assert_eq!(verdicts(&api, early, "").await, ["1 update"]);
    step(&api, early, "cancel").await.expect(202);
    settle(&api, early).await;
    api.request(Method::POST, &format!("{IMPORTS}/{early}/files")).send().await.expect(422);
    let id = begin(&api, json!({ "format": "csv" })).await;
    api.request(Method::POST, &format!("{IMPORTS}/{id}/files")).send().await.expect(201);
}

#[tokio::test]
async fn a_member_assigns_what_is_left() {
    let api = TestApi::new().await;
    let ann = json!({ "name": "ann", "email": "ann@files.example" });
    api.post(CANDIDATES, ann).await.expect(201);
    let rows = [
        json!({ "name": "ann", "email": "ann@files.example" }),
        json!({ "name": "ben", "email": "ben@files.example", "external_id": "117" }),
        json!({ "email": "nobody@files.example" }),
    ];
    let import = begin_with(&api, &rows).await;
    let content =
        [entry("00117.txt", b"About Ben"), entry("b.txt", b"B"), entry("ben@files.example.txt", b"C")];
    let checked = check_with(&api, import, &zip(&content)).await;
    assert_eq!(verdicts(&api, import, "").await[..2], ["1 unchanged", "2 create"]);
    assert_eq!(checked.number("/files/unmatched"), 2);
    let listed = api.get(&format!("{IMPORTS}/{import}/files?matched=false")).await.expect(200);
    assert_eq!((listed.number("/data/0/number"), listed.number("/data/0/proposed_row")), (1, 2));
    let assign = async |number: u64, body: Value| {
        let path = format!("{IMPORTS}/{import}/files/{number}/assign");
        api.request(Method::POST, &path).json(&body).send().await
    };
    let message = |response: Response| response.expect(422).messages()[0].to_owned();
    assert_eq!(message(assign(1, json!({})).await), "row can't be blank");
    assert_eq!(
        message(assign(1, json!({ "row": 3 })).await),
        "row must be that of a valid row: the import has 3 rows"
    );
    assert_eq!(
        message(assign(1, json!({ "row": 4 })).await),
        "row must be that of a valid row: the import has 3 rows"
    );
    assert_eq!(
        message(assign(3, json!({ "row": 1 })).await),
        "row can't be another one, because the file belongs to row 2"
    );
    assign(4, json!({ "row": 1 })).await.expect(404);
    let assigned = assign(2, json!({ "row": 1, "kind": "portfolio" })).await.expect(200);
    assert_eq!(assigned.number("/files/matched"), 2);
    let listed = api.get(&format!("{IMPORTS}/{import}/files")).await.expect(200);
    assert_eq!((listed.number("/data/1/row"), &listed.body["data"][1]["assigned"]), (1, &json!(true)));
    assign(2, json!({ "row": 1, "kind": "portfolio" })).await.expect(200);
    let shown = show(&api, import).await;
    assert_eq!((shown.number("/files/matched"), shown.number("/files/unmatched")), (2, 1));
    let counts =
        |shown: &Response| ["update", "unchanged"].map(|name| shown.number(&format!("/counts/{name}")));
    assert_eq!(counts(&shown), [1, 0]);
    assert_eq!(verdicts(&api, import, "?result=update").await, ["1 update"]);
    // It can be given to somebody else, and back.
    assign(2, json!({ "row": 2 })).await.expect(200);
    assert_eq!(counts(&show(&api, import).await), [0, 1]);
    assign(2, json!({ "row": 1, "kind": "portfolio" })).await.expect(200);
    assign(1, json!({ "row": 2 })).await.expect(200);
    assert_eq!(files_of_rows(&api, import).await, [json!([2]), json!([3, 1]), json!([])]);
    let done = run(&api, import).await;
    assert_eq!(counts(&done), [1, 0]);
    let late = assign(2, json!({ "row": 1 })).await.expect(422);
    assert_eq!(late.string("/code"), "invalid_transition");
    assert_eq!(names_of(&api, "ann@files.example").await, ["b.txt"]);
    assert_eq!(names_of(&api, "ben@files.example").await.len(), 2);
    let ann = by_email(&api, "ann@files.example").await.number("/id");
    let file = api.get(&format!("{CANDIDATES}/{ann}/files")).await.expect(200);
    assert_eq!(file.string("/data/0/kind"), "portfolio");
}

#[tokio::test]
async fn what_nobody_may_have_is_left_out_with_a_warning() {
    let api = TestApi::new().await;
    let large = vec![b'x'; 10 * 1024 * 1024 + 1];
    let fits = vec![b'x'; 10 * 1024 * 1024];
    let names = ["large", "fits", "locked", "picture", "liar", "same"];
    let all = names.map(|name| json!({ "name": format!("{name}.txt"), "kind": "other" }));
    let import = begin_with(&api, &[person("ann", &json!(all)), person("ben", &json!([]))]).await;
    let mut content: Vec<_> = names.iter().map(|name| format!("{name}.txt")).collect();
    content.sort_by_key(|name| names.iter().position(|one| name.starts_with(one)));
    let entries = [
        entry(&content[0], &large),
        entry(&content[1], &fits),
        Entry { is_encrypted: true, ..entry(&content[2], b"secret") },
        entry(&content[3], b"\x89PNG\r\n\x1a\n"),
        Entry { said: Some(7), ..entry(&content[4], b"more than seven") },
        entry(&content[5], &fits),
    ];
    check_with(&api, import, &zip(&entries)).await;
    let known = [
        "files is without file 1 of the ZIP file, because it has more than 10 MB",
        "files is without file 3 of the ZIP file, because it needs a password",
    ];
    assert_eq!(
        verdicts(&api, import, "").await,
        [format!("1 create: {}", known.join("; ")), "2 create".to_owned()]
    );
    assert_eq!(files_of_rows(&api, import).await[0], json!([2, 4, 5, 6]));
    let done = run(&api, import).await;
    assert_eq!(done.string("/status"), "done");
    let verdict = &verdicts(&api, import, "").await[0];
    for message in [
        known[0],
        known[1],
        "files is without file 4 of the ZIP file. ",
        "files is without file 5 of the ZIP file. It is damaged in the ZIP file",
    ] {
        assert!(verdict.contains(message), "{message} in {verdict}");
    }
    // The last has the content of another one.
    assert_eq!(files_of_rows(&api, import).await[0], json!([2]));
    assert_eq!(names_of(&api, "ann@files.example").await, ["fits.txt"]);

    // Somebody has at most 20 files of the team.
    let ann = by_email(&api, "ann@files.example").await.number("/id");
    for number in 0..18 {
        let file = json!({ "name": "n.txt", "content": "aGVsbG8=", "kind": "other" });
        let added = api.post(&format!("{CANDIDATES}/{ann}/files"), file).await;
        assert_eq!(added.expect(201).string("/status"), "ready", "{number}");
    }
    let more = begin_with(&api, &[person("ann", &json!([{ "name": "1.txt" }, { "name": "2.txt" }]))]).await;
    check_with(&api, more, &zip(&[entry("1.txt", b"One"), entry("2.txt", b"Two")])).await;
    run(&api, more).await;
    let messages = [
        "1 update: files is without file 2 of the ZIP file. A candidate has at most 20 files that the team adds",
    ];
    assert_eq!(verdicts(&api, more, "").await, messages);
    assert_eq!(names_of(&api, "ann@files.example").await.len(), 20);
}

#[tokio::test]
async fn an_undo_deletes_the_files_that_nobody_has_opened() {
    let api = TestApi::new().await;
    for name in ["known", "opened"] {
        let person = json!({ "name": name, "email": format!("{name}@files.example") });
        api.post(CANDIDATES, person).await.expect(201);
    }
    let names = ["known", "opened", "free", "added"];
    let rows = names.map(|name| person(name, &json!([])));
    let import = begin_with(&api, &rows).await;
    let paths = names.map(|name| format!("{name}@files.example.txt"));
    let entries: Vec<_> = paths.iter().map(|path| entry(path, path.as_bytes())).collect();
    check_with(&api, import, &zip(&entries)).await;
    run(&api, import).await;
    let id = async |name: &str| by_email(&api, &format!("{name}@files.example")).await.number("/id");
    let (opened, added, free) = (id("opened").await, id("added").await, id("free").await);
    let file = api.get(&format!("{CANDIDATES}/{opened}/files")).await.expect(200).number("/data/0/id");
    api.get(&format!("{CANDIDATES}/{opened}/files/{file}")).await.expect(200);
    let other = json!({ "name": "other.txt", "content": "aGVsbG8=" });
    api.post(&format!("{CANDIDATES}/{added}/files"), other).await.expect(201);
    step(&api, import, "undo").await.expect(202);
    let undone = settle(&api, import).await;
    assert_eq!((undone.number("/counts/undone"), undone.number("/counts/kept")), (2, 2));
    assert_eq!(
        verdicts(&api, import, "?warnings=true").await,
        [
            format!("2 update: File {file} was opened, and stays"),
            "4 create: The candidate was changed since, and stays".to_owned(),
        ]
    );
    assert_eq!(names_of(&api, "known@files.example").await, [""; 0]);
    assert_eq!(by_email(&api, "known@files.example").await.body["resume_url"], Value::Null);
    assert_eq!(names_of(&api, "added@files.example").await.len(), 2);
    api.get(&format!("{CANDIDATES}/{free}")).await.expect(410);
}

/// A ZIP can be uploaded once more while its ticket is good. Nobody gets what is at the place of a file in another ZIP.
#[tokio::test]
async fn a_zip_that_is_replaced_after_it_was_matched_is_not_used() {
    let api = TestApi::new().await;
    let names = ["ann", "ben"];
    let rows = names.map(|name| person(name, &json!([{ "name": format!("{name}.txt") }])));
    let import = begin_with(&api, &rows).await;
    settle(&api, import).await;
    let ticket = api.request(Method::POST, &format!("{IMPORTS}/{import}/files")).send().await.expect(201);
    let of = |text: &[u8]| zip(&[entry("ann.txt", text), entry("ben.txt", text)]);
    crate::importing::upload(&ticket, &of(b"first")).await;
    step(&api, import, "complete").await.expect(202);
    assert_eq!(settle(&api, import).await.string("/files/status"), "matched");

    // The same content is the same file.
    crate::importing::upload(&ticket, &of(b"first")).await;
    let second = of(b"other");
    crate::importing::upload(&ticket, &second).await;
    let refused = step(&api, import, "run").await.expect(422);
    assert_eq!(refused.string("/code"), "invalid_transition");
    let sentence = "The ZIP file was replaced after its files were given to rows. Ask for another upload with files, and send it there";
    assert_eq!(refused.string("/messages/0"), sentence);
    send_zip(&api, import, &second).await;
    step(&api, import, "complete").await.expect(202);
    settle(&api, import).await;

    // It is replaced after the run was asked for.
    step(&api, import, "run").await.expect(202);
    let stored = stored_at(&api, "imports/").await;
    let key = stored.iter().find(|key| key.ends_with("/zip/2")).unwrap();
    let bucket = api.environment.providers.resumes().unwrap();
    bucket.write(key, of(b"third"), "application/zip", api.environment.clock.now()).await.unwrap();
    let done = settle(&api, import).await;
    assert_eq!((done.string("/status"), &done.body["counts"]["create"]), ("done", &json!(2)));
    let reason = "The ZIP file was replaced after its files were given to rows. Import the rows again with it: only the files are added \
                  then";
    assert_eq!(done.string("/files/status"), "matched");
    assert_eq!(done.string("/files/reason"), format!("{reason}."));
    assert_eq!(
        verdicts(&api, import, "").await,
        [1, 2].map(|row| format!("{row} create: files is without file {row} of the ZIP file. {reason}"))
    );
    for name in names {
        assert_eq!(names_of(&api, &format!("{name}@files.example")).await, [""; 0]);
    }

    // As it says, another import adds the files.
    let again = begin_with(&api, &rows).await;
    check_with(&api, again, &of(b"third")).await;
    assert_eq!(run(&api, again).await.body["counts"]["update"], 2);
    for name in names {
        assert_eq!(names_of(&api, &format!("{name}@files.example")).await, [format!("{name}.txt")]);
    }
}

/// Without the list, nobody knows whose the files are; without the ZIP, it is only the files that are missing.
#[tokio::test]
async fn a_list_of_files_that_is_gone_ends_the_import_and_a_zip_does_not() {
    let api = TestApi::new().await;
    let lose = async |end: &str| {
        let stored = stored_at(&api, "imports/").await;
        let key = stored.iter().find(|key| key.ends_with(end)).unwrap();
        let bucket = api.environment.providers.resumes().unwrap();
        bucket.delete(key, api.environment.clock.now()).await.unwrap();
    };
    let rows = [person("ann", &json!([]))];
    let content = zip(&[entry("ann@files.example.txt", b"About Ann")]);
    let import = begin_with(&api, &rows).await;
    check_with(&api, import, &content).await;
    step(&api, import, "run").await.expect(202);
    lose("/zip/1-files").await;
    let failed = settle(&api, import).await;
    assert_eq!((failed.string("/status"), failed.number("/counts/create")), ("failed", 1));
    let found = api.get(&format!("{CANDIDATES}?email=ann@files.example")).await.expect(200);
    assert_eq!(found.body["data"], json!([]));
    api.run_tasks().await;

    // It is gone while it waits for its files to be matched, and then during the run.
    let import = begin_with(&api, &rows).await;
    settle(&api, import).await;
    send_zip(&api, import, &content).await;
    step(&api, import, "complete").await.expect(202);
    lose("/zip/1").await;
    let checked = settle(&api, import).await;
    assert_eq!(checked.string("/files/reason"), "The file is gone. Send it again.");
    send_zip(&api, import, &content).await;
    step(&api, import, "complete").await.expect(202);
    settle(&api, import).await;
    step(&api, import, "run").await.expect(202);
    lose("/zip/2").await;
    assert_eq!(settle(&api, import).await.string("/status"), "done");
    let left_out = "files is without file 1 of the ZIP file. It is damaged in the ZIP file, or that is gone";
    assert_eq!(verdicts(&api, import, "").await, [format!("1 create: {left_out}")]);
}

/// A run that is killed after any call is repeated: no file twice, and none lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn files_of_an_import_that_is_killed_after_any_call_come_once() {
    let api = TestApi::new().await;
    let mut calls = 0;
    loop {
        let names = [format!("known{calls}"), format!("new{calls}")];
        let known = json!({ "name": names[0], "email": format!("{}@files.example", names[0]) });
        api.post(CANDIDATES, known).await.expect(201);
        let rows: Vec<_> =
            names.iter().map(|name| person(name, &json!([{ "name": format!("{name}.txt") }]))).collect();
        let import = begin_with(&api, &rows).await;
        let paths: Vec<_> = names
            .iter()
            .flat_map(|name| [format!("{name}.txt"), format!("{name}@files.example.txt")])
            .collect();
        let entries: Vec<_> = paths.iter().map(|path| entry(path, path.as_bytes())).collect();
        settle(&api, import).await;
        send_zip(&api, import, &zip(&entries)).await;
        step(&api, import, "complete").await.expect(202);
        let mut is_whole = api.run_tasks_with(calls).await;
        api.let_leases_end();
        settle(&api, import).await;
        step(&api, import, "run").await.expect(202);
        is_whole &= api.run_tasks_with(calls).await;
        api.let_leases_end();
        let done = settle(&api, import).await;
        let counts = &done.body["counts"];
        assert_eq!([&counts["create"], &counts["update"], &counts["warnings"]], [1, 1, 0], "{calls}");
        for name in &names {
            let mut shown = names_of(&api, &format!("{name}@files.example")).await;
            shown.sort();
            assert_eq!(shown, [format!("{name}.txt"), format!("{name}@files.example.txt")], "{calls}");
            let touchpoints = by_email(&api, &format!("{name}@files.example")).await;
            let touchpoints = touchpoints.body["touchpoints"].as_array().unwrap().clone();
            let count = |kind: &str| touchpoints.iter().filter(|one| one["kind"] == kind).count();
            assert_eq!(["file_added", "imported"].map(count), [2, 1], "{calls}");
        }
        step(&api, import, "undo").await.expect(202);
        is_whole &= api.run_tasks_with(calls).await;
        api.let_leases_end();
        let undone = settle(&api, import).await;
        assert_eq!((undone.number("/counts/undone"), undone.number("/counts/kept")), (2, 0), "{calls}");
        assert_eq!(names_of(&api, &format!("{}@files.example", names[0])).await, [""; 0], "{calls}");
        if is_whole {
            break;
        }
        calls += 2;
    }
    assert!(calls > 20, "{calls}");
    // What a killed run has stored, and nobody has, is deleted.
    let now = later(api.environment.clock.now(), SignedDuration::from_hours(1));
    api.clock.set(&now.to_string());
    for _ in 0..5 {
        api.run_tasks().await;
        api.run_feed().await;
    }
    let stored = stored_at(&api, "resumes/").await;
    assert_eq!(stored, [""; 0]);
}
