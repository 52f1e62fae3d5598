//! Imports in the dashboard: beginning, uploading, the mapping, the verdicts, running, cancelling and undoing.

use serde_json::json;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{Actor, Import, ImportCounts, ImportFindings, ImportStatus, MemberRole, Mode, Tenant};
use shared::store::Transaction;
use tests::browser::{Browser, Form};
use tests::dashboard::{actions, add_member, escaped, links, owner};
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi, tenant};

use crate::careers_resumes::post;

const PATH: &str = "/dashboard/imports";
const NEW: &str = "/dashboard/imports/new";

fn acme() -> Tenant {
    tenant(ACME, Mode::Live)
}

async fn signed_in(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Begins an import with these fields. Returns the path of its page.
async fn begin(browser: &Browser<'_>, fields: &[(&str, &str)]) -> String {
    let begun = browser.post(NEW, fields).await.expect(303);
    let path = begun.header("location").to_owned();
    assert!(path.starts_with(PATH), "{path}");
    path
}

/// Uploads a file with the form on the import's page, and follows the bucket back.
async fn upload(browser: &Browser<'_>, path: &str, content: &[u8]) -> Response {
    let page = browser.get(path).await.expect(200);
    let action = actions(&page).into_iter().find(|action| action.starts_with("http://")).unwrap();
    let form = Form::of(&page, &action);
    let fields: Vec<_> =
        form.names().into_iter().map(|name| (name.to_owned(), form.get(name).to_owned())).collect();
    let sent = post(&action, &fields, content).await.expect(303);
    let back = sent.header("location").strip_prefix(BASE_URL).unwrap().to_owned();
    assert!(back.starts_with(&format!("{path}/uploaded?")), "{back}");
    browser.get(&back).await
}

/// Lets the tasks and the feed work until the import needs nothing more of them, and opens its page.
async fn settle(api: &TestApi, browser: &Browser<'_>, path: &str) -> Response {
    let id: Id = path.rsplit('/').next().unwrap().parse().unwrap();
    for _ in 0..100 {
        let import = api.store().find_import(acme(), id).await.unwrap().unwrap();
        if !import.is_working() {
            return browser.get(path).await.expect(200);
        }
        api.run_tasks().await;
        api.run_feed().await;
    }
    panic!("the import {id} does not end");
}

/// Begins an import of a spreadsheet and waits for its check. Returns the paths and the page.
async fn check(
    api: &TestApi,
    browser: &Browser<'_>,
    fields: &[(&str, &str)],
    csv: &str,
) -> (String, Response) {
    let path = begin(browser, &[&[("format", "csv")], fields].concat()).await;
    assert_eq!(upload(browser, &path, csv.as_bytes()).await.expect(303).header("location"), path);
    let page = settle(api, browser, &path).await;
    (path, page)
}

/// Stores an import that is checked, with these changes.
async fn store(api: &TestApi, number: u64, change: impl FnOnce(Import) -> Import) -> String {
    let (id, now) = (Id::new(number).unwrap(), api.environment.clock.now());
    let waiting = Import::new(id, "s".repeat(24), Actor::system(), now);
    let checked = waiting.check(now).read(ImportFindings::default(), 0, 0, 0, now);
    let mut transaction = Transaction::new(acme());
    transaction.insert_import(&change(checked)).unwrap();
    api.store().commit(transaction).await.unwrap();
    format!("{PATH}/{id}")
}

/// The numbers on an import's page, with their labels.
fn figures(page: &Response) -> Vec<String> {
    let (_, list) = page.text.split_once("<ul class=\"figures\"").unwrap();
    let items = list.split("</ul>").next().unwrap().split("<span>").skip(1);
    let figure = |item: &str| {
        let (label, rest) = item.split_once("</span> <strong>").unwrap();
        format!("{label} {}", rest.split('<').next().unwrap())
    };
    items.map(figure).collect()
}

#[track_caller]
fn says(page: &Response, text: &str) {
    assert!(page.text.contains(&escaped(text)), "{text} in {}", page.text);
}

#[tokio::test]
async fn an_owner_imports_a_spreadsheet_page_by_page_and_undoes_it() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let candidates = ada.get("/dashboard/candidates").await.expect(200);
    assert_eq!(links(&candidates, PATH), [PATH]);
    says(&ada.get(PATH).await.expect(200), "No imports yet");
    let form = ada.get(NEW).await.expect(200);
    assert_eq!(links(&form, "/dashboard/imports/example").len(), 1);

    let fields = [
        ("format", "csv"),
        ("source", "Old system"),
        ("defaults.source", "Manual list"),
        ("defaults.tags", "old, \"Berlin, Germany\""),
        ("overwrite", "false"),
        ("encoding", ""),
        ("sheet", ""),
    ];
    let path = begin(&ada, &fields).await;
    let waiting = ada.get(&path).await.expect(200);
    says(&waiting, "Waits for the file.");
    let policy = waiting.header("content-security-policy");
    assert!(policy.contains(&format!(" {BASE_URL}; script-src 'self'; ")), "{policy}");
    let early = ada.get(&format!("{path}/uploaded")).await.expect(303);
    let early = ada.follow(&early).await.expect(200);
    says(&early, "The file is not here yet.");

    let csv = "Name;E-Mail;Job;Phone;Colour\r\nZoë Müller;zoe@sheet.example;Baker;+14155550101;red\r\n;;;;\r\n\
               Ada <b>Lovelace</b>;ada@sheet.example;;;\r\nBroken;x;;;\r\n";
    assert_eq!(upload(&ada, &path, csv.as_bytes()).await.expect(303).header("location"), path);
    let checking = ada.get(&path).await.expect(200);
    says(&checking, "The file is being read.");
    assert!(links(&checking, &path).contains(&path), "it can be refreshed");
    assert!(!checking.text.contains("Run the import"));

    let checked = settle(&api, &ada, &path).await;
    says(&checked, "All of 3 rows checked. Nothing is added yet.");
    assert_eq!(
        figures(&checked),
        ["To add 2", "To change 0", "Nothing new 0", "Invalid 1", "With warnings 0"]
    );
    assert!(checked.text.contains("<strong>add 2 people</strong>. 1 invalid row is skipped."));
    says(&checked, "1 row that is blank or repeats the header");
    for example in ["Zoë Müller", "Ada <b>Lovelace</b>", "zoe@sheet.example", "Baker", "+14155550101"] {
        assert!(checked.text.contains(&format!("<bdi>{}</bdi>", escaped(example))), "{example}");
    }
    assert!(checked.text.contains("<option value=\"email\" selected>"));
    assert!(checked.text.contains("aria-label=\"What Colour is\">\n          <option value=\"\">Left out"));
    assert!(!checked.text.contains("<bdi>red</bdi>"), "what is left out is not read");

    let invalid = ada.get(&format!("{path}/rows?result=invalid")).await.expect(200);
    says(&invalid, "E-mail address must be an e-mail address, such as jane@example.com.");
    assert!(invalid.text.contains("<td data-label=\"Line\">5</td>"));
    says(&ada.get(&format!("{path}/rows?warnings=true")).await.expect(200), "No such rows.");
    ada.get(&format!("{path}/rows?result=maybe")).await.expect(404);

    let ran = ada.post(&format!("{path}/run"), &[]).await.expect(303);
    let running = ada.follow(&ran).await.expect(200);
    says(&running, "The import runs.");
    says(&running, "Carried out 0 of 3 rows.");
    let done = settle(&api, &ada, &path).await;
    assert_eq!(figures(&done), ["Added 2", "Changed 0", "Nothing new 0", "Invalid 1", "With warnings 0"]);
    let zoe = api.get("/api/v1/candidates?email=zoe@sheet.example").await.expect(200);
    assert_eq!(zoe.body["data"][0]["tags"], json!(["old", "Berlin, Germany"]));
    let zoe = zoe.number("/data/0/id");
    let added = ada.get(&format!("{path}/rows?result=create")).await.expect(200);
    assert_eq!(
        links(&added, "/dashboard/candidates/").first(),
        Some(&format!("/dashboard/candidates/{zoe}"))
    );
    let list = ada.get(PATH).await.expect(200);
    says(&list, "Old system");
    // The band above says that the import is done.
    assert_eq!(links(&list, &format!("{PATH}/")), [path.as_str(), NEW]);

    let asked = ada.get(&format!("{path}/undo")).await.expect(200);
    assert!(asked.text.contains("<dt>People added</dt><dd>2</dd>"));
    let undone = ada.submit(&format!("{path}/undo"), &Form::of(&asked, &format!("{path}/undo"))).await;
    says(&ada.follow(&undone.expect(303)).await.expect(200), "The import is being undone.");
    let undone = settle(&api, &ada, &path).await;
    says(&undone, "Undone. Nothing is left of 2 rows; something stays of 0.");
    api.get(&format!("/api/v1/candidates/{zoe}")).await.expect(410);
    assert!(!undone.text.contains("Undo the import"));
    ada.post(&format!("{path}/undo"), &[]).await.expect(303);
}

#[tokio::test]
async fn the_proposed_dates_and_other_columns_begin_another_import() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let csv = "Name;Job;Applied;Colour\r\nAda;Baker;03/04/2025;red\r\nEve;Baker;14/04/2025;blue\r\n";
    let settings = [("source", "Old \"ATS\""), ("defaults.tags", "\"a, b\""), ("create_roles", "true")];
    let (first, page) = check(&api, &ada, &settings, csv).await;
    assert_eq!(figures(&page)[..4], ["To add 1", "To change 0", "Nothing new 0", "Invalid 1"]);
    says(&page, "Day, month, year: 31/12/2026");
    let again = ada.submit(NEW, &Form::of(&page, NEW)).await.expect(303);
    let second = again.header("location").to_owned();
    assert_ne!(second, first);
    says(&ada.get(&first).await.expect(200), "Cancelled. Nothing was added.");
    upload(&ada, &second, csv.as_bytes()).await.expect(303);
    let page = settle(&api, &ada, &second).await;
    assert_eq!(figures(&page)[..4], ["To add 2", "To change 0", "Nothing new 0", "Invalid 0"]);
    says(&page, "Old \"ATS\"");

    // The column that was left out has tags.
    let form = Form::of(&page, NEW).set("mapping.columns[3].field", "tags").set("date_format", "dmy");
    let names = ["name", "role", "applied_at"].into_iter().enumerate();
    let form =
        names.fold(form, |form, (index, field)| form.set(&format!("mapping.columns[{index}].field"), field));
    let third = ada.submit(NEW, &form).await.expect(303).header("location").to_owned();
    upload(&ada, &third, csv.as_bytes()).await.expect(303);
    let page = settle(&api, &ada, &third).await;
    assert_eq!(figures(&page)[0], "To add 2");
    assert!(page.text.contains("<bdi>red</bdi>") && page.text.contains("<option value=\"tags\" selected>"));
    let import = api.get(&format!("/api/v1/imports/{}", third.rsplit('/').next().unwrap())).await.expect(200);
    assert_eq!((&import.body["defaults"]["tags"], import.string("/date_format")), (&json!(["a, b"]), "dmy"));
    assert_eq!(import.string("/source"), "Old \"ATS\"");
}

#[tokio::test]
async fn the_example_file_is_valid() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let example = ada.get("/dashboard/imports/example").await.expect(200);
    assert_eq!(example.header("content-disposition"), "attachment; filename=\"import-example.csv\"");
    let csv = example.text;
    assert!(csv.starts_with("\u{feff}external_id,name,"));
    assert_eq!(csv.matches("\r\n").count(), csv.matches('\n').count(), "the lines end with CRLF");
    let (path, page) = check(&api, &ada, &[], &csv).await;
    assert_eq!(figures(&page), ["To add 2", "To change 0", "Nothing new 0", "Invalid 0", "With warnings 0"]);
    assert!(!page.text.contains("<option value=\"\" selected>Left out"));
    let import = api.get(&format!("/api/v1/imports/{}", path.rsplit('/').next().unwrap())).await.expect(200);
    let columns = import.body["mapping"]["columns"].as_array().unwrap();
    assert!(columns.len() == 10 && columns.iter().all(|column| !column["field"].is_null()));
}

#[tokio::test]
async fn what_is_wrong_with_the_form_is_said_at_its_fields() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let long = "x".repeat(101);
    let wrong = [
        ("format", "xlsx"),
        ("sheet", long.as_str()),
        ("defaults.role_id", "17"),
        ("defaults.source", "Fair"),
        ("mapping.columns[0].header", "Colour"),
        ("mapping.columns[0].field", "tags"),
        ("instead_of", "4711"),
    ];
    let page = ada.post(NEW, &wrong).await.expect(422);
    says(&page, "Sheet of the workbook must be at most 100 characters.");
    assert!(page.text.contains("<details class=\"more\" open>"), "the field is seen");
    assert!(page.text.contains("<option value=\"xlsx\" selected>") && page.text.contains("value=\"Fair\""));
    let kept = Form::of(&page, NEW);
    assert_eq!((kept.get("mapping.columns[0].field"), kept.get("instead_of")), ("tags", "4711"));
    let page = ada.post(NEW, &[("format", "csv"), ("defaults.role_id", "17")]).await.expect(422);
    says(&page, "Role must be the id of a role.");
    assert!(page.text.contains("<details class=\"more\">"));
    for _ in 0..3 {
        begin(&ada, &[("format", "csv")]).await;
    }
    let page = ada.post(NEW, &[("format", "csv")]).await.expect(422);
    says(&page, "3 imports are not finished. Run or cancel one first.");
    // A form that is sent twice begins one import.
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let form = Form::of(&globex.get(NEW).await.expect(200), NEW).set("format", "ndjson");
    let [first, second] = [globex.submit(NEW, &form).await, globex.submit(NEW, &form).await];
    assert_eq!(first.expect(303).header("location"), second.expect(303).header("location"));
}

#[tokio::test]
async fn refusals_come_back_as_sentences_and_numbers_are_said_before() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let counts = ImportCounts { create: 199_998, update: 3, invalid: 2, ..ImportCounts::default() };
    let full = store(&api, 4_801, |import| Import { counts, due_for_erasure: 7, ..import }).await;
    let page = ada.get(&full).await.expect(200);
    assert!(
        page.text.contains("<strong>add 199,998 people and change 3</strong>. 2 invalid rows are skipped.")
    );
    says(&page, "By their own dates, 7 people would be erased on the first day by your retention rule.");
    let refused = ada.post(&format!("{full}/run"), &[]).await.expect(422);
    says(
        &refused,
        "The import has 200001 rows to carry out, and the plan pro has room for 200000 more today",
    );
    assert!(refused.text.contains("<title>Error: Import"));

    let settings = |import: Import| {
        let mut settings = import.settings.clone();
        settings.respect_dates = true;
        Import { settings, due_for_erasure: 1, counts, ..import }
    };
    let dated = store(&api, 4_802, settings).await;
    says(
        &ada.get(&dated).await.expect(200),
        "Your retention rule will erase 1 person of them on the first day",
    );

    let nothing = store(&api, 4_803, |import| import).await;
    let page = ada.get(&nothing).await.expect(200);
    says(&page, "There is nobody to add or to change.");
    assert!(!actions(&page).contains(&format!("{nothing}/run")));
    for _ in 0..2 {
        let cancelled = ada.post(&format!("{nothing}/cancel"), &[]).await.expect(303);
        says(&ada.follow(&cancelled).await.expect(200), "Cancelled. Nothing was added.");
    }
    let refused = ada.post(&format!("{nothing}/run"), &[]).await.expect(422);
    says(&refused, "Only a checked import can be run, but this one is cancelled.");
    let refused = ada.post(&format!("{nothing}/undo"), &[]).await.expect(422);
    says(&refused, "Only an import that was run can be undone, but this one is cancelled.");

    let failed = |import: Import| import.fail("The file has no header.".to_owned(), import.created_at);
    says(&ada.get(&store(&api, 4_804, failed).await).await.expect(200), "The file has no header.");
    let ran: Timestamp = "2026-10-20T09:00:00Z".parse().unwrap();
    let done = |import: Import| Import {
        status: ImportStatus::Done,
        run_at: Some(ran),
        ended_at: Some(ran),
        ..import
    };
    let old = store(&api, 4_805, done).await;
    let page = ada.get(&old).await.expect(200);
    assert!(!page.text.contains("Undo the import"), "it is too late");
    ada.post(&format!("{old}/undo"), &[]).await.expect(410);
    ada.get(&format!("{old}/rows")).await.expect(410);
}

#[tokio::test]
async fn verdicts_have_pages() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let rows: Vec<_> = (1..=30).map(|row| format!("Person {row},{row}@verdict.example")).collect();
    let rows = rows.join("\r\n");
    let (path, _) = check(&api, &ada, &[], &format!("name,email\r\n{rows}")).await;
    let first = ada.get(&format!("{path}/rows?result=create")).await.expect(200);
    assert_eq!(first.text.matches("<th scope=\"row\"").count(), 25);
    let next = links(&first, &format!("{path}/rows?result=create&cursor="));
    let second = ada.get(&next[0]).await.expect(200);
    assert_eq!(second.text.matches("<th scope=\"row\"").count(), 5);
    assert!(second.text.contains("Row </span>30<") && second.text.contains("First page"));
    ada.get(&next[0].replace("create", "invalid")).await.expect(400);
    let all = ada.get(&format!("{path}/rows")).await.expect(200);
    says(&all, "To add 30");
}

#[tokio::test]
async fn a_member_and_another_tenant_see_no_import() {
    let api = TestApi::new().await;
    let path = store(&api, 4_801, |import| import).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let jo = Browser::with_session(&api, ACME, &jo).await;
    assert_eq!(links(&jo.get("/dashboard/candidates").await.expect(200), PATH), [""; 0]);
    for page in [PATH, NEW, "/dashboard/imports/example", &path] {
        says(&jo.get(page).await.expect(403), "Only owners of the organization may do this");
    }
    jo.post(NEW, &[("format", "csv")]).await.expect(403);
    jo.post(&format!("{path}/run"), &[]).await.expect(403);
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let test = signed_in(&api).await;
    test.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    for browser in [&globex, &test] {
        browser.get(&path).await.expect(404);
        browser.get(&format!("{path}/rows")).await.expect(404);
        browser.get(&format!("{path}/undo")).await.expect(404);
        browser.post(&format!("{path}/run"), &[]).await.expect(404);
        says(&browser.get(PATH).await.expect(200), "No imports yet");
    }
}

#[tokio::test]
async fn an_owner_sends_the_files_of_people_and_gives_one_to_a_row() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let csv = "Name,E-mail,Files\nPieter,pieter@files.example,tHart.pdf\nMaya,maya@files.example,\n";
    let (path, page) = check(&api, &ada, &[], csv).await;
    let files = format!("{path}/files");
    says(&page, "Add a ZIP file");
    says(&ada.get(&files).await.expect(200), "No such files.");
    let waiting = ada.post(&files, &[]).await.expect(303);
    let waiting = ada.follow(&waiting).await.expect(200);
    says(&waiting, "The ZIP file is awaited.");
    says(&waiting, "At most 1 GB and 5,000 files");
    let early = ada.get(&format!("{path}/uploaded")).await.expect(303);
    says(&ada.follow(&early).await.expect(200), "The file is not here yet.");
    let content = std::fs::read(tests::project("shared/import_files/files/resumes-bsdtar.zip")).unwrap();
    assert_eq!(upload(&ada, &path, &content).await.expect(303).header("location"), path);
    let page = settle(&api, &ada, &path).await;
    says(&page, "1 of 9 files belong to a row.");
    assert_eq!(links(&page, &format!("{files}?")), [format!("{files}?matched=false")]);
    says(&ada.get(&format!("{path}/rows")).await.expect(200), "1 file");

    let rest = ada.get(&format!("{files}?matched=false")).await.expect(200);
    says(&rest, "Without a row 8");
    says(&rest, "Bewerbungen/oconnell.pdf");
    let number = rest.text.split_once("oconnell.pdf</bdi>").unwrap().1.split_once("/files/").unwrap().1;
    let number = number.split('/').next().unwrap();
    let assign = format!("{files}/{number}/assign");
    let refused = ada.post(&assign, &[("row", "3")]).await.expect(422);
    says(&refused, "Row must be that of a valid row: the import has 2 rows.");
    let given = ada.post(&assign, &[("row", "2"), ("kind", "other")]).await.expect(303);
    says(&ada.follow(&given).await.expect(200), "The row gets the file.");
    let with_row = ada.get(&format!("{files}?matched=true")).await.expect(200);
    says(&with_row, "With a row 2");
    says(&with_row, "Other");
    ada.post(&format!("{path}/run"), &[]).await.expect(303);
    let done = settle(&api, &ada, &path).await;
    says(&done, "2 of 9 files belong to a row.");
    assert!(!done.text.contains("Send another ZIP file"));
    ada.get(&files).await.expect(410);
}
