//! Imports of files of people. What becomes of rows is tested with the API.

use std::fmt::Write;
use std::pin::Pin;
use std::time::Duration;

use ::tests::{ACME, GLOBEX, TestApi, project, tenant};
use serde_json::json;
use shared::model::{ImportStatus, Mode};
use shared::store::Paging;

use super::TestAdmin;

const IMPORTS: &str = "/api/v1/imports";
/// The states in which a command goes on.
const ENDS: [ImportStatus; 3] = [ImportStatus::Checked, ImportStatus::Done, ImportStatus::Failed];

/// Runs a command of a demo organization while the service's tasks work. Its waits are over at once.
fn with_tasks<'t, T>(
    api: &'t TestApi,
    demo: usize,
    command: impl Future<Output = T> + 't,
) -> Pin<Box<dyn Future<Output = T> + 't>> {
    let tasks = async move {
        let (page, mut before, mut looks) = (Paging { limit: 1, before: None }, None, 0);
        loop {
            Box::pin(api.run_tasks()).await;
            let listed = api.store().list_imports(tenant(demo, Mode::Live), &page).await.unwrap();
            let now = listed.items.first().map(|import| (import.id, import.status));
            looks = if now == before { looks + 1 } else { 0 };
            before = now;
            // The command may be about to wait. Requests that it has sent must not run out of time.
            if now.is_some_and(|(_, status)| ENDS.contains(&status)) && looks < 5 {
                tokio::time::pause();
                tokio::time::advance(Duration::from_secs(2)).await;
                tokio::time::resume();
            }
            tokio::task::yield_now().await;
        }
    };
    Box::pin(async move {
        tokio::select! {
            result = command => result,
            () = tasks => unreachable!("the tasks never end"),
        }
    })
}

#[tokio::test]
async fn a_file_of_people_is_checked_and_imported() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let role = api.post("/api/v1/roles", json!({ "title": "Baker" })).await.expect(201).number("/id");
    let people =
        "Full name;E-mail;Telefon;Added\nAnna Weber;anna@x.example;+4915112345678;03/04/2026\nBen;nobody;;\n";
    std::fs::write(path("people.csv"), people).unwrap();
    let mapping = json!({
        "columns": [{ "header": "Telefon", "field": "phone" }, { "header": "Added", "field": "created_at" }],
    });
    std::fs::write(path("columns.json"), mapping.to_string()).unwrap();
    let command = format!(
        "import 1 {} --mapping {} --source Fair --tag sheet --tag new --role {role}",
        path("people.csv"),
        path("columns.json")
    );

    // Without the order of dates, neither row can be imported.
    let checked = with_tasks(&api, ACME, admin.output(&format!("{command} --wait"))).await;
    let id = api.get(IMPORTS).await.expect(200).number("/data/0/id");
    let lines: Vec<_> = checked.lines().collect();
    assert!(lines[1].starts_with("1    2     invalid  created_at "), "{checked}");
    assert_eq!(
        lines[2..],
        [
            "2    3     invalid  email must be an e-mail address, such as jane@example.com",
            "",
            "0 create, 0 update, 0 unchanged (0 with warnings), 2 invalid, 0 skipped",
            &format!(
                "The import {id} is checked. POST {IMPORTS}/{id}/run carries it out, within seven days."
            ),
        ]
    );

    let command = format!("{command} --date-format dmy");
    let done = with_tasks(&api, ACME, admin.json(&format!("{command} --run"))).await;
    assert_eq!((&done["status"], &done["mode"]), (&json!("done"), &json!("live")));
    assert_eq!((&done["counts"]["create"], &done["counts"]["invalid"]), (&json!(1), &json!(1)));
    assert_eq!((&done["rows"][0]["row"], &done["rows"][0]["result"]), (&json!(2), &json!("invalid")));
    let anna = api.get("/api/v1/candidates?email=anna@x.example").await.expect(200).number("/data/0/id");
    let anna = api.get(&format!("/api/v1/candidates/{anna}")).await.expect(200);
    assert_eq!(anna.body["tags"], json!(["sheet", "new"]));
    assert_eq!((anna.string("/source"), anna.string("/phone")), ("Fair", "+4915112345678"));
    assert_eq!(anna.string("/created_at"), "2026-04-03T00:00:00.000Z");
    assert_eq!(anna.number("/applications/0/role_id"), role);

    // The operator has begun and run it.
    let log = api.get("/api/v1/audit_log?actor=operator").await.expect(200);
    let acts = log.body["data"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap());
    assert_eq!(acts.collect::<Vec<_>>(), ["import.run", "import.created", "import.created"]);

    // Their files come with them.
    let zip = project("shared/import_files/files/resumes-bsdtar.zip");
    std::fs::write(path("files.csv"), "Name,E-mail,Files\nPieter,pieter@x.example,tHart.pdf\n").unwrap();
    std::fs::copy(zip, path("files.zip")).unwrap();
    let command = format!("import 1 {} --files {} --run", path("files.csv"), path("files.zip"));
    let printed = with_tasks(&api, ACME, admin.output(&command)).await;
    assert!(
        printed.contains("\n1 of 9 files have a row.\n") || printed.starts_with("1 of 9 files have a row.\n")
    );
    let pieter = api.get("/api/v1/candidates?email=pieter@x.example").await.expect(200).number("/data/0/id");
    let files = api.get(&format!("/api/v1/candidates/{pieter}/files")).await.expect(200);
    assert_eq!(files.string("/data/0/name"), "tHart.pdf.txt");

    // Known people keep what they have, unless it is to be replaced.
    std::fs::write(path("new.csv"), "Name,E-mail\nAnna Maria Weber,anna@x.example\n").unwrap();
    let printed = with_tasks(&api, ACME, admin.output(&format!("import 1 {} --run", path("new.csv")))).await;
    let warning = "1    2     warning  name differs from the candidate's, which stays\n";
    assert!(printed.contains(warning), "{printed}");
    assert!(printed.contains("\n0 create, 0 update, 1 unchanged (1 with warnings), 0 invalid, 0 skipped\n"));
    let printed = format!("import 1 {} --run --overwrite", path("new.csv"));
    let printed = with_tasks(&api, ACME, admin.output(&printed)).await;
    assert!(printed.starts_with("0 create, 1 update, "), "{printed}");
    assert!(printed.contains("/undo undoes it, within 30 days."), "{printed}");
}

#[tokio::test]
async fn an_import_that_cannot_begin_or_go_on_says_why() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("people.csv"), "Name,E-mail\nAnna,anna@x.example\n").unwrap();
    let people = path("people.csv");
    let without_bucket = TestAdmin { bucket: None, ..TestAdmin::of(&api) };
    assert!(without_bucket.error(&format!("import 1 {people}")).await.contains("--bucket"));
    assert!(admin.error(&format!("import 17 {people}")).await.starts_with("The organization does not exist"));
    assert!(admin.error(&format!("import 1 {people} --role 17")).await.contains("--role"));
    assert!(admin.error(&format!("import 1 {}", path("nobody.csv"))).await.contains("can't be read"));
    let format = admin.error(&format!("import 1 {}", path("people.ods"))).await;
    assert!(format.ends_with("is: csv, xlsx, ndjson; `rolecall-admin convert` makes NDJSON of other files."));
    for wrong in [" --tag ", " --source ", " --date-format european"] {
        assert!(admin.run(&format!("import 1 {people}{wrong}")).await.is_err(), "{wrong}");
    }
    let large = std::fs::File::create(path("large.csv")).unwrap();
    large.set_len(200 * 1024 * 1024 + 1).unwrap();
    assert!(admin.error(&format!("import 1 {}", path("large.csv"))).await.contains("more than 200 MB"));
    assert_eq!(api.get(IMPORTS).await.expect(200).body["data"], json!([]), "nothing has begun");

    // Nothing of the file can be trusted.
    std::fs::write(path("quote.csv"), "Name,E-mail\n\"Anna,anna@x.example\n").unwrap();
    let failed = format!("import 1 {} --run", path("quote.csv"));
    let failed = with_tasks(&api, ACME, admin.error(&failed)).await;
    assert!(failed.ends_with(" has failed. The quote of line 2 is not closed."), "{failed}");

    // More people than the plan has room for in a day.
    let mut many = "Name,E-mail\n".to_owned();
    (0..1_001).for_each(|number| writeln!(many, "Anna {number},").unwrap());
    std::fs::write(path("many.csv"), many).unwrap();
    let refused =
        with_tasks(&api, GLOBEX, admin.error(&format!("import 2 {} --run", path("many.csv")))).await;
    assert!(refused.ends_with("but the plan free has room for 1000 more today."), "{refused}");

    // Without --wait, nothing waits.
    for _ in 0..3 {
        let begun = admin.output(&format!("import 1 {people}")).await;
        assert!(begun.contains(" is being checked. GET /api/v1/imports/"), "{begun}");
    }
    let fourth = admin.error(&format!("import 1 {people}")).await;
    assert_eq!(fourth, "The organization has 3 unfinished imports. Run or cancel one first.");
}
