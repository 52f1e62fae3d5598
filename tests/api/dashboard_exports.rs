//! Exports in the dashboard: beginning one, the list, the links to the files, and what ends them.

use rolecall_local::demo::DEMOS;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{Actor, Export, ExportFormat, ExportKind, ExportOrder, MemberRole, Mode};
use shared::store::Transaction;
use tests::browser::{Browser, Form, plain};
use tests::dashboard::{add_member, escaped, links, owner};
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::careers_resumes::download;
use crate::erasures::{Jobs, Person};

const PATH: &str = "/dashboard/exports";
const NEW: &str = "/dashboard/exports/new";
const ORGANIZATION: &str = "/dashboard/settings/organization";
const API: &str = "/api/v1/exports";

async fn signed_in(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Begins an export with these fields. Returns the path of its page.
async fn begin(browser: &Browser<'_>, fields: &[(&str, &str)]) -> String {
    let begun = browser.post(NEW, fields).await.expect(303);
    let path = begun.header("location").to_owned();
    assert!(path.starts_with(PATH), "{path}");
    path
}

/// Lets the tasks work until nothing is being written, and opens the page.
async fn settle(api: &TestApi, browser: &Browser<'_>, path: &str) -> Response {
    for _ in 0..50 {
        let page = browser.get(path).await.expect(200);
        if !page.text.contains("is-running") {
            return page;
        }
        api.run_tasks().await;
    }
    panic!("the export {path} does not end");
}

/// The identifier in the path of an export's page.
fn id_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// The links to the files on a page, by the kinds.
fn files(page: &Response) -> Vec<(String, String)> {
    let rows = page.text.split("<a class=\"button is-small\" href=\"").skip(1);
    let link = |row: &str| {
        let (url, rest) = row.split_once("\">Download<span class=\"hidden\"> ")?;
        Some((rest.split('<').next()?.to_owned(), plain(url)))
    };
    rows.filter_map(link).collect()
}

#[track_caller]
fn says(page: &Response, text: &str) {
    assert!(page.text.contains(&escaped(text)), "{text} in {}", page.text);
}

/// The entries of an action: the export and the kind of the actor.
async fn audited(api: &TestApi, action: &str) -> Vec<(u64, String)> {
    let log = api.get(&format!("/api/v1/audit_log?action={action}")).await.expect(200);
    let entry = |entry: &Value| {
        (entry["target"]["id"].as_u64().unwrap(), entry["actor"]["type"].as_str().unwrap().to_owned())
    };
    log.body["data"].as_array().unwrap().iter().map(entry).collect()
}

/// Stores an export, with these changes.
async fn store(api: &TestApi, number: u64, change: impl FnOnce(Export) -> Export) -> String {
    let (id, now) = (Id::new(number).unwrap(), api.environment.clock.now());
    let order = ExportOrder {
        format: ExportFormat::Csv,
        kinds: vec![ExportKind::Roles, ExportKind::Notes],
        role_id: None,
        has_results: true,
        base_url: String::new(),
    };
    let export = Export::new((id, "s".repeat(24)), order, None, Actor::system(), now);
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.insert_export(&Export { task_due: None, ..change(export) }).unwrap();
    api.store().commit(transaction).await.unwrap();
    format!("{PATH}/{id}")
}

#[tokio::test]
async fn an_owner_exports_everything_and_downloads_each_file() {
    let api = TestApi::new().await;
    let jobs = Jobs::new(&api).await;
    Person::create(&api, &jobs, 1).await;
    api.run_tasks().await;
    let ada = signed_in(&api).await;
    let candidates = ada.get("/dashboard/candidates").await.expect(200);
    assert_eq!(links(&candidates, PATH), [PATH]);
    assert_eq!(links(&ada.get(ORGANIZATION).await.expect(200), PATH), [PATH]);
    let none = ada.get(PATH).await.expect(200);
    says(&none, "No exports yet");
    says(&none, "Your plan has 20 exports a day (UTC), at most 3 at a time.");
    assert_eq!(links(&none, PATH), [NEW]);
    let form = ada.get(NEW).await.expect(200);
    says(&form, "The erasure of anybody, also by your retention rule, ends every export at once.");
    says(&form, "Your plan has 20 exports a day (UTC), at most 3 at a time.");
    for kind in ExportKind::ALL {
        assert!(
            form.text.contains(&format!("name=\"kinds\" value=\"{}\" checked", kind.as_str())),
            "{kind:?}"
        );
    }

    let all = ExportKind::ALL.map(|kind| ("kinds", kind.as_str()));
    let path = begin(&ada, &[&[("format", "ndjson"), ("role_id", "")], &all[..]].concat()).await;
    let running = ada.get(&path).await.expect(200);
    says(&running, "The files are being written.");
    assert!(links(&running, &path).contains(&path), "it can be refreshed");
    assert_eq!(files(&running), []);
    let shown = api.get(&format!("{API}/{}", id_of(&path))).await.expect(200);
    assert_eq!(shown.body["kinds"], json!(ExportKind::ALL.map(ExportKind::as_str)));
    assert_eq!((shown.string("/format"), shown.string("/created_by/type")), ("ndjson", "member"));
    api.run_tasks().await;
    assert_eq!(audited(&api, "export.read").await, [], "there are no links yet");

    let done = settle(&api, &ada, &path).await;
    let id: u64 = id_of(&path).parse().unwrap();
    assert_eq!(audited(&api, "export.read").await, [(id, "member".to_owned())]);
    assert_eq!(audited(&api, "export.created").await, [(id, "member".to_owned())]);
    let shown = api.get(&format!("{API}/{id}")).await.expect(200);
    let position = shown.string("/position");
    assert!(done.text.contains(&format!("<dt>Position</dt><dd>{position}</dd>")), "{}", done.text);
    assert_eq!(
        links(&done, "/docs/"),
        ["/docs/guide-keeping-a-copy#a-copy-that-stays-current"],
        "the guide says what the position is for"
    );
    says(&done, "All roles");
    let links_of_page = files(&done);
    let names: Vec<_> = links_of_page.iter().map(|(name, _)| &**name).collect();
    assert_eq!(
        names,
        ["People", "Applications", "Roles", "Job postings", "Notes", "Voice screens", "History"]
    );
    let mut total = 0;
    for ((name, url), file) in links_of_page.iter().zip(shown.body["files"].as_array().unwrap()) {
        let (by_page, by_api) =
            (download(url).await.expect(200), download(file["url"].as_str().unwrap()).await);
        assert_eq!(by_page.text, by_api.expect(200).text, "{name}");
        let rows = by_page.text.lines().count();
        assert!(rows > 0, "{name}");
        assert_eq!(file["rows"], rows, "{name}");
        let row = format!(
            "<th scope=\"row\">{name}</th>\n        <td data-label=\"Rows\" class=\"number\">{rows}</td>"
        );
        assert!(done.text.contains(&row), "{row} in {}", done.text);
        total += rows;
    }
    says(&done, &format!("Done. The files have {total} rows."));
    let list = ada.get(PATH).await.expect(200);
    assert!(list.text.contains(&format!("<td data-label=\"Rows\" class=\"number\">{total}</td>")));
    says(&list, "Everything");
    // The notice at the top leads to the export, too.
    assert_eq!(links(&list, &format!("{PATH}/")), [&*path, NEW]);
    // Each page with links has an entry, as each answer of the API. The list has no links.
    ada.get(&path).await.expect(200);
    let mut readers: Vec<_> = audited(&api, "export.read").await.into_iter().map(|(_, kind)| kind).collect();
    // The clock stands still, so they have no order.
    readers.sort();
    assert_eq!(readers, ["api_key", "member", "member"]);

    api.clock.set("2026-11-21T09:29:59.999Z");
    let ada = signed_in(&api).await;
    assert_eq!(files(&ada.get(&path).await.expect(200)).len(), 7);
    api.clock.set("2026-11-21T09:30:00Z");
    let expired = ada.get(&path).await.expect(200);
    says(&expired, "The files were kept for 24 hours and are deleted.");
    assert_eq!(files(&expired), []);
    assert!(ada.get(PATH).await.expect(200).text.contains("is-expired"));
    assert_eq!(audited(&api, "export.read").await.len(), 4);
}

#[tokio::test]
async fn an_export_of_some_kinds_of_a_role_has_no_position() {
    let api = TestApi::new().await;
    let role = json!({ "role": { "title": "Baker <b> & Cook" } });
    let role = api.post("/api/v1/quick_post", role).await.expect(201).number("/role/id").to_string();
    api.post("/api/v1/roles", json!({ "title": "Other" })).await.expect(201);
    let ada = signed_in(&api).await;
    says(&ada.get(NEW).await.expect(200), "Baker <b> & Cook");
    let fields = [("format", "csv"), ("kinds", "job_postings"), ("kinds", "roles"), ("role_id", &*role)];
    let path = begin(&ada, &fields).await;
    let done = settle(&api, &ada, &path).await;
    says(&done, "Roles, Job postings");
    assert!(done.text.contains(&format!("<bdi>{}</bdi>", escaped("Baker <b> & Cook"))));
    assert!(!done.text.contains("Position") && links(&done, "/docs/").is_empty());
    let files = files(&done);
    assert_eq!(files.len(), 2);
    let roles = download(&files[0].1).await.expect(200).text;
    assert!(roles.starts_with('\u{feff}') && roles.contains("Baker") && !roles.contains("Other"), "{roles}");
    let list = ada.get(PATH).await.expect(200);
    says(&list, "Roles, Job postings");
    assert!(list.text.contains(&format!("<bdi>{}</bdi>", escaped("Baker <b> & Cook"))));
    // The page outlives its role.
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    ada.get(&path).await.expect(200);
}

/// The form as it was sent: the chosen format, the ticked kinds and the role.
fn kept(page: &Response) -> (Vec<String>, Vec<String>) {
    let values = |start: &str, end: &str| {
        let parts = page.text.split(start).skip(1).filter_map(|rest| rest.split_once('"'));
        parts.filter(|(_, rest)| rest.starts_with(end)).map(|(value, _)| value.to_owned()).collect()
    };
    (values("<option value=\"", " selected>"), values("name=\"kinds\" value=\"", " checked>"))
}

#[tokio::test]
async fn a_refusal_is_said_in_the_form_with_what_was_chosen() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let role =
        api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id").to_string();
    let wrong = ada.post(NEW, &[("format", "ndjson"), ("role_id", &role)]).await.expect(422);
    says(&wrong, "Kinds of data must have at least one item.");
    assert!(wrong.text.contains("<title>Error: Export data") && wrong.text.contains("href=\"#kinds\""));
    assert_eq!(kept(&wrong), (vec!["ndjson".to_owned(), role.clone()], Vec::new()));
    let odd = [("format", "xlsx"), ("kinds", "roles"), ("kinds", "salaries"), ("role_id", "4")];
    let wrong = ada.post(NEW, &odd).await.expect(422);
    says(&wrong, "Format must be one of ndjson, csv.");
    says(&wrong, "Kinds of data must be one of candidates, applications, roles");
    assert_eq!(kept(&wrong).1, ["roles"]);
    let wrong = ada.post(NEW, &[("format", "csv"), ("kinds", "roles"), ("role_id", "4")]).await.expect(422);
    says(&wrong, "Role must be the id of a role.");
    assert_eq!(audited(&api, "export.created").await, [], "nothing was begun");

    // At most three at once.
    for _ in 0..Export::MAX_RUNNING {
        begin(&ada, &[("format", "csv"), ("kinds", "roles")]).await;
    }
    let fields = [("format", "ndjson"), ("kinds", "notes"), ("kinds", "roles"), ("role_id", &*role)];
    let refused = ada.post(NEW, &fields).await.expect(422);
    says(&refused, "3 exports are being written. Wait until one is done.");
    let (chosen, ticked) =
        (vec!["ndjson".to_owned(), role.clone()], vec!["roles".to_owned(), "notes".to_owned()]);
    assert_eq!(kept(&refused), (chosen, ticked));

    // Free has one a day.
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    says(&globex.get(NEW).await.expect(200), "Your plan has 1 export a day (UTC).");
    begin(&globex, &[("format", "csv"), ("kinds", "roles")]).await;
    let refused = globex.post(NEW, &[("format", "ndjson"), ("kinds", "notes")]).await.expect(422);
    says(&refused, "The plan free has 1 export a day.");
    assert_eq!(kept(&refused), (vec!["ndjson".to_owned(), String::new()], vec!["notes".to_owned()]));
}

#[tokio::test]
async fn a_form_that_is_sent_twice_begins_one_export() {
    let api = TestApi::new().await;
    // Free has one export a day: the second form gets the first answer and not the limit.
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let form = Form::of(&globex.get(NEW).await.expect(200), NEW);
    let form = form.set("format", "csv").and("kinds", "roles").and("kinds", "notes");
    let [first, second] = [globex.submit(NEW, &form).await, globex.submit(NEW, &form).await];
    assert_eq!(first.expect(303).header("location"), second.expect(303).header("location"));
    assert_eq!(links(&globex.get(PATH).await.expect(200), &format!("{PATH}/")).len(), 2, "with the form");
    // Two members at once get two exports.
    let ada = signed_in(&api).await;
    let form = Form::of(&ada.get(NEW).await.expect(200), NEW).set("format", "csv").and("kinds", "roles");
    let other = Form::of(&ada.get(NEW).await.expect(200), NEW).set("format", "csv").and("kinds", "roles");
    let (first, second) = tokio::join!(ada.submit(NEW, &form), ada.submit(NEW, &other));
    assert_ne!(first.expect(303).header("location"), second.expect(303).header("location"));
    assert_eq!(links(&ada.get(PATH).await.expect(200), &format!("{PATH}/")).len(), 3);
}

#[tokio::test]
async fn an_erasure_ends_exports_at_once() {
    let api = TestApi::new().await;
    let jobs = Jobs::new(&api).await;
    let person = Person::create(&api, &jobs, 1).await;
    api.run_tasks().await;
    let ada = signed_in(&api).await;
    let done = begin(&ada, &[("format", "csv"), ("kinds", "candidates")]).await;
    assert_eq!(files(&settle(&api, &ada, &done).await).len(), 1);
    let running = begin(&ada, &[("format", "csv"), ("kinds", "candidates")]).await;
    let read = audited(&api, "export.read").await.len();
    crate::erasures::erase(&api, person.id).await.expect(202);
    // Before the task has deleted the files.
    let ending = ada.get(&done).await.expect(200);
    says(&ending, "Somebody was erased, so its files are being deleted.");
    assert_eq!(files(&ending), []);
    settle(&api, &ada, &running).await;
    for path in [&done, &running] {
        let ended = ada.get(path).await.expect(200);
        says(&ended, "Somebody was erased, so its files were deleted. Begin another export.");
        assert_eq!(files(&ended), []);
        assert!(links(&ended, NEW).contains(&NEW.to_owned()));
    }
    let list = ada.get(PATH).await.expect(200);
    assert!(list.text.contains("is-ended") && list.text.contains("is-failed"));
    // Both say it, and so does the notice at the top.
    assert_eq!(list.text.matches("Somebody was erased, so its files were deleted.").count(), 3);
    assert_eq!(audited(&api, "export.read").await.len(), read);
}

#[tokio::test]
async fn the_page_says_what_the_files_lack_and_how_far_they_are() {
    let api = TestApi::new().await;
    let (ada, now) = (signed_in(&api).await, api.environment.clock.now());
    let counted = |export: &Export, rows: u64, left_out: u64| {
        let mut files = export.files.clone();
        files[1].rows = rows;
        files[1].left_out = left_out;
        (files, 0)
    };
    let running = |export: Export| Export { files: counted(&export, 1_234, 0).0, ..export };
    says(&ada.get(&store(&api, 4_901, running).await).await.expect(200), "being written: 1,234 rows so far.");
    let done = |export: Export| export.after_turn(counted(&export, 1, 2), None, now);
    let page = ada.get(&store(&api, 4_902, done).await).await.expect(200);
    says(&page, "Done. The files have 1 row.");
    says(&page, "2 rows are left out, because a cell would have more than 32,000 characters.");
    let failed = |export: Export| export.fail("Its files were lost. Begin another export.", now).unwrap();
    says(&ada.get(&store(&api, 4_903, failed).await).await.expect(200), "Its files were lost.");
    says(&ada.get(PATH).await.expect(200), "Its files were lost.");
}

#[tokio::test]
async fn the_list_has_pages() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    for number in 1..=27 {
        store(&api, 4_900 + number, |export| export).await;
    }
    let first = ada.get(PATH).await.expect(200);
    let exports = links(&first, &format!("{PATH}/49"));
    assert_eq!((exports.len(), &*exports[0]), (25, "/dashboard/exports/4927"), "newest first");
    let next = links(&first, &format!("{PATH}?before="));
    let second = ada.get(&next[0]).await.expect(200);
    assert_eq!(links(&second, &format!("{PATH}/49")), ["/dashboard/exports/4902", "/dashboard/exports/4901"]);
    assert!(second.text.contains("Previous page") && !second.text.contains("Next page"));
}

#[tokio::test]
async fn a_member_and_another_tenant_see_no_export() {
    let api = TestApi::new().await;
    let now = api.environment.clock.now();
    let path = store(&api, 4_901, |export| export.after_turn((export.files.clone(), 0), None, now)).await;
    let jo = add_member(&api, ACME, "Jo", MemberRole::Member).await;
    let jo = Browser::with_session(&api, ACME, &jo).await;
    let person = json!({ "name": "Zoe", "email": "zoe@export.example" });
    api.post("/api/v1/candidates", person).await.expect(201);
    for page in ["/dashboard/candidates", ORGANIZATION] {
        assert_eq!(links(&jo.get(page).await.expect(200), PATH), [""; 0], "{page}");
    }
    for page in [PATH, NEW, &path] {
        says(&jo.get(page).await.expect(403), "Only owners of the organization may do this");
    }
    jo.post(NEW, &[("format", "csv"), ("kinds", "roles")]).await.expect(403);
    let globex = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let test = signed_in(&api).await;
    test.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    for browser in [&globex, &test] {
        let foreign = browser.get(&path).await.expect(404);
        let unknown = browser.get(&format!("{PATH}/17")).await.expect(404);
        assert_eq!(foreign.text.len(), unknown.text.len(), "an id of others is like an unknown one");
        says(&browser.get(PATH).await.expect(200), "No exports yet");
    }
    // Another tenant's role limits nothing.
    let role =
        api.post("/api/v1/roles", json!({ "title": "Secret" })).await.expect(201).number("/id").to_string();
    let refused = globex.post(NEW, &[("format", "csv"), ("kinds", "roles"), ("role_id", &role)]).await;
    assert!(!refused.expect(422).text.contains("Secret"));
    assert_eq!(audited(&api, "export.read").await, []);
}

/// A stolen session gets no links, and begins nothing.
#[tokio::test]
async fn the_form_and_the_links_need_a_fresh_sign_in() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let path = begin(&ada, &[("format", "csv"), ("kinds", "roles"), ("kinds", "notes")]).await;
    let url = &files(&settle(&api, &ada, &path).await)[0].1;
    api.clock.set("2026-11-20T10:00:00Z");
    ada.get(PATH).await.expect(200);
    let read = audited(&api, "export.read").await.len();
    for page in [NEW, &path] {
        let asked = ada.get(page).await.expect(303);
        assert!(asked.header("location").starts_with("/dashboard/confirm?return_to="), "{page}");
    }
    assert_eq!(audited(&api, "export.read").await.len(), read);
    // What was ticked is sent after the password.
    let asked =
        ada.post(NEW, &[("format", "ndjson"), ("kinds", "notes"), ("kinds", "roles")]).await.expect(401);
    assert_eq!(audited(&api, "export.created").await.len(), 1);
    let confirm = Form::of(&asked, "/dashboard/confirm").and("password", DEMOS[ACME].password);
    let confirmed = ada.submit("/dashboard/confirm", &confirm).await.expect(307);
    assert_eq!(confirmed.header("location"), NEW);
    let begun = ada.submit(NEW, &confirm).await.expect(303);
    let shown = api.get(&format!("{API}/{}", id_of(begun.header("location")))).await.expect(200);
    assert_eq!((&shown.body["kinds"], shown.string("/format")), (&json!(["roles", "notes"]), "ndjson"));
    let page = ada.get(&path).await.expect(200);
    assert_ne!(&files(&page)[0].1, url, "the links are made for each page");
}

/// Without the entry in the audit log, nobody gets the links.
#[tokio::test]
async fn no_link_without_its_entry() {
    let api = TestApi::new().await;
    let ada = signed_in(&api).await;
    let path = begin(&ada, &[("format", "csv"), ("kinds", "roles")]).await;
    settle(&api, &ada, &path).await;
    api.dynamodb.inject_faults(|operation, _| (operation == "PutItem").then_some(Fault::Unreachable));
    let refused = ada.get(&path).await.expect(503);
    assert_eq!(files(&refused), []);
    api.dynamodb.inject_faults(|_, _| None);
    assert_eq!(files(&ada.get(&path).await.expect(200)).len(), 1);
}
