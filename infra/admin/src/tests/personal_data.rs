//! Exports and erasures of people, legal holds, and exports and deletions of organizations.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::tests::browser::{Browser, Form};
use ::tests::dashboard::PNG;
use ::tests::event_fixtures;
use ::tests::interceptor::Fault;
use ::tests::oauth::OAuthApp;
use ::tests::{ACME, BASE_URL, GLOBEX, RequestBuilder, TestApi, key, tenant};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{
    Actor, ActorKind, CandidateRecord, EndpointStatus, ExportUse, HoldReason, LegalHold, Member, MemberRole,
    Mode, Name, Profile, ResumeFile, Slug, Tenant,
};
use shared::providers::bucket::Bucket;
use shared::store::{AnsweredQuestion, Confirmation, Confirmed, KINDS, Transaction};

use super::{TestAdmin, all_secrets};

/// The identifiers of the demo organizations.
const ACME_ID: u64 = 1;
const GLOBEX_ID: u64 = 2;

impl TestAdmin {
    /// The tool with the table of an API.
    pub(super) fn of(api: &TestApi) -> Self {
        Self {
            dynamodb: api.dynamodb.clone(),
            store: api.store().clone(),
            now: api.environment.clock.now(),
            random: api.environment.random.clone(),
            bucket: api.environment.providers.resumes().cloned(),
            secrets: all_secrets(),
        }
    }
}

fn bucket(api: &TestApi) -> &Bucket {
    api.environment.providers.resumes().unwrap()
}

/// Uploads a file of a tenant, and stores a copy.
async fn upload(api: &TestApi, tenant: Tenant) {
    let (bucket, now) = (bucket(api), api.environment.clock.now());
    let organization = api.store().find_organization(tenant).await.unwrap().unwrap().organization;
    let key = ResumeFile::incoming_key(&organization.slug, "x1");
    let file = ResumeFile::new(tenant, "x1", "pdf");
    let form = bucket.upload_form(&key, BASE_URL, now).await.ok().unwrap();
    let fields = form.fields.iter().map(|(name, value)| {
        format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    });
    let mut body: String = fields.collect();
    body += "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nx\r\n--b--\r\n";
    let http = api.environment.providers.http_client().unwrap();
    let request =
        http.post(&form.action).header("content-type", "multipart/form-data; boundary=b").body(body);
    assert_eq!(http.send(request).await.unwrap().status.as_u16(), 303);
    let object = bucket.read(&key, 10, now).await.unwrap().unwrap();
    bucket.keep(&key, file.key(), &object.etag, "application/pdf", now).await.unwrap();
}

fn get<'a>(api: &'a TestApi, path: &str) -> RequestBuilder<'a> {
    api.request("GET".parse().unwrap(), path)
}

/// Sets a legal hold on a candidate, and erases another one. The erasure is not finished.
async fn hold_and_erase(api: &TestApi, demo: usize, mode: Mode, held: u64, role: u64) {
    let send = async |method: &str, path: &str, body: Value| {
        let path = format!("/api/v1/candidates{path}");
        api.request(method.parse().unwrap(), &path).key(demo, mode).json(&body).send().await
    };
    send("PUT", &format!("/{held}/legal_hold"), json!({ "reason": "Case 17" })).await.expect(200);
    let eve = json!({ "name": "Eve", "email": "eve@example.com", "role_id": role });
    let eve = send("POST", "", eve).await.expect(201).number("/id");
    let later = json!({ "role_id": role, "scheduled_at": "2026-12-01T09:00:00Z" });
    let screen = send("POST", &format!("/{eve}/invite_screen"), later).await.expect(201).number("/id");
    send("POST", &format!("/{eve}/erase"), json!({})).await.expect(202);
    // One step of the task.
    let (store, tenant) = (api.store(), tenant(demo, mode));
    let screen = store.find_screen(tenant, Id::new(screen).unwrap()).await.unwrap().unwrap();
    store.empty_screen(tenant, &screen, &screen.clone().erase()).await.unwrap();
}

/// The hash of a call that waits for its confirmation.
pub(super) const CALL: &str = "call";

/// Stores a question to a member, and the answer to another one.
async fn confirm(api: &TestApi, tenant: Tenant) {
    let until = "2026-11-20T10:30:00Z".parse().unwrap();
    let question = Confirmation {
        tool: "post_to_x".to_owned(),
        summary: "Post to X.".to_owned(),
        facts: Vec::new(),
        target: None,
        actor: Actor { kind: ActorKind::App, id: Id::new(1), name: "App".to_owned() },
        member: None,
        confirmed_by: None,
        until,
        version: 1,
    };
    api.store().put_confirmation(tenant, CALL, &question).await.unwrap();
    let mut transaction = Transaction::new(tenant);
    let question = AnsweredQuestion { id: "question".to_owned(), until, tool: "post_to_x", target: None };
    transaction.use_confirmation(&Confirmed::InClient(question));
    api.store().commit(transaction).await.unwrap();
}

/// Creates data of every kind in both modes of an organization. Returns a candidate in live mode.
pub(super) async fn populate(api: &TestApi, demo: usize) -> u64 {
    // The tasks leave what comes later.
    Box::pin(import(api, demo)).await;
    let mut candidates = Vec::new();
    for mode in Mode::ALL {
        let post = async |path: &str, body: Value| {
            let request = api.request("POST".parse().unwrap(), path).key(demo, mode).json(&body);
            request.header("idempotency-key", &format!("key-{path}").replace('/', "-")).send().await
        };
        let posted = json!({
            "role": { "title": "Analyst", "external_id": "analyst-7" },
            "job_posting": { "questions": [{ "label": "Why?", "kind": "short_text", "help": "Shortly." }] },
        });
        let posted = post("/api/v1/quick_post", posted).await.expect(201);
        let role = posted.number("/role/id");
        let draft = post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
        post("/api/v1/job_postings", json!({ "role_id": draft })).await.expect(201);
        let apply = format!("{}/apply", posted.string("/job_posting/public_url").replace(BASE_URL, ""));
        let form = Form::new(&[("name", "Ada"), ("email", "ada@gmail.com"), ("consent", "yes")]);
        let form =
            form.and("phone", "").and("resume_url", "").and("note", "Call me.").and("confirm_topic", "");
        let question = format!("question_{}", posted.number("/job_posting/questions/0/id"));
        let form = form.and(&question, "I like numbers.");
        let resume = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n";
        Browser::new(api).submit_file(&apply, &form, resume).await.expect(303);
        // Two suspect forms, one of them with a file.
        let suspect = form.clone().set("email", "robot@example.com").set("confirm_topic", "x");
        Browser::new(api).submit(&apply, &suspect).await.expect(303);
        Browser::new(api).submit_file(&apply, &suspect, resume).await.expect(303);
        let candidates_path = "/api/v1/candidates";
        let listed = get(api, &format!("{candidates_path}?email=ada@gmail.com")).key(demo, mode).send().await;
        let candidate = listed.number("/data/0/id");
        candidates.push(candidate);
        let path = format!("{candidates_path}/{candidate}");
        post(&format!("{path}/invite_screen"), json!({ "role_id": role })).await.expect(201);
        Box::pin(api.run_tasks()).await;
        post(&format!("{path}/reject"), json!({ "notes": "Would come for more." })).await.expect(200);
        post(&format!("{path}/notes"), json!({ "text": "Knows the team." })).await.expect(201);
        Browser::new(api).submit(&apply, &form.set("phone", "+4915112345678")).await.expect(303);
        let hook = json!({ "url": "https://hooks.example.com/" });
        let hook = post("/api/v1/webhook_endpoints", hook).await.expect(201).number("/id");
        post(&format!("/api/v1/webhook_endpoints/{hook}/ping"), json!({})).await.expect(202);
        let (hook, delivery) = (Id::new(hook).unwrap(), Id::new(7).unwrap());
        let (store, now) = (api.store(), api.environment.clock.now());
        event_fixtures::create_delivery(store, tenant(demo, mode), hook, delivery, now).await.unwrap();
        let grace = json!({
            "name": "Grace",
            "email": "grace@example.com",
            "phone": "+4915112345679",
            "role_id": role,
        });
        let grace = api.request("POST".parse().unwrap(), candidates_path).key(demo, mode).json(&grace);
        let grace = grace.send().await.expect(201).number("/id");
        post(&format!("{candidates_path}/{grace}/invite_screen"), json!({ "role_id": role }))
            .await
            .expect(201);
        Box::pin(api.run_tasks()).await;
        let jane = json!({
            "name": "Jane",
            "email": "jane@example.com",
            "phone": "+4915112345678",
            "source": "fair",
            "tags": ["finance"],
            "external_id": "J-1",
            "role_id": role,
        });
        let jane = post(candidates_path, jane).await.expect(201).number("/id");
        let later = json!({ "role_id": role, "scheduled_at": "2026-12-01T09:00:00Z" });
        post(&format!("{candidates_path}/{jane}/invite_screen"), later).await.expect(201);
        Box::pin(hold_and_erase(api, demo, mode, jane, role)).await;
        post("/api/v1/channels/x/post", json!({ "job_posting_id": posted.number("/job_posting/id") }))
            .await
            .expect(201);
        upload(api, tenant(demo, mode)).await;
        begin_import(api, tenant(demo, mode)).await;
        begin_export(api, tenant(demo, mode)).await;
        let tomorrow = "2026-11-21".parse().unwrap();
        api.store().archive_usage(tenant(demo, mode), tomorrow).await.unwrap();
        Box::pin(confirm(api, tenant(demo, mode))).await;
    }
    Box::pin(configure(api, demo)).await;
    Box::pin(api.run_feed()).await;
    candidates[0]
}

/// Stores somebody whose import is not finished.
async fn begin_import(api: &TestApi, tenant: Tenant) {
    let [id, import_id] = [4_712, 4_713].map(|number| Id::new(number).unwrap());
    let profile = Profile::new(Name::parse("Noor").unwrap().unwrap(), "noor@gmail.com".parse().unwrap());
    let record = CandidateRecord::new(id, profile, api.environment.clock.now()).begin_import(import_id);
    let mut transaction = Transaction::new(tenant);
    transaction.insert_candidate_with_past(&[(record, Vec::new())]).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// Adds somebody who is a member of both organizations.
async fn join(api: &TestApi, demo: usize) {
    let (live, now) = (tenant(demo, Mode::Live), api.environment.clock.now());
    let owner = api.store().find_member(live.organization, live.organization).await.unwrap().unwrap();
    let (id, email) = (Id::new(4_711).unwrap(), "both@jobs.example".parse().unwrap());
    let member = Member::invited(id, email, owner.name, MemberRole::Member, now);
    let mut transaction = Transaction::new(live);
    transaction.insert_member(&member.accepted(owner.password.unwrap(), now)).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// Imports somebody.
async fn import(api: &TestApi, demo: usize) {
    let post = async |path: &str, body: Value| {
        let request = api.request("POST".parse().unwrap(), path).key(demo, Mode::Live).json(&body);
        request.send().await
    };
    let rows = json!({ "format": "ndjson", "rows": [{ "name": "Ivy", "email": "ivy@example.com" }] });
    let import = post("/api/v1/imports", rows).await.expect(201).number("/id");
    for _ in 0..2 {
        Box::pin(api.run_tasks()).await;
    }
    post(&format!("/api/v1/imports/{import}/run"), json!({})).await.expect(202);
    // The second one deletes the file.
    for _ in 0..2 {
        Box::pin(api.run_tasks()).await;
    }
}

/// Stores an export that is being written.
async fn begin_export(api: &TestApi, tenant: Tenant) {
    let (id, now) = (Id::new(4_714).unwrap(), api.environment.clock.now());
    event_fixtures::create_export(api.store(), tenant, id, now).await.unwrap();
    let used = ExportUse { running: vec![id], version: 1, ..ExportUse::default() };
    let mut transaction = Transaction::new(tenant);
    transaction.replace_export_use(&ExportUse::default(), &used).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// Creates the data that members create in the dashboard.
async fn configure(api: &TestApi, demo: usize) {
    let browser = Box::pin(Browser::signed_in(api, demo)).await;
    browser.post_file("/dashboard/settings/career-page/logo", &[], PNG).await.expect(303);
    browser.post("/dashboard/settings/privacy", &[("text", "We keep data for a year.")]).await.expect(303);
    let reasons = [("team", "Other"), ("candidate", "Changed their mind")];
    Box::pin(browser.post("/dashboard/settings/rejection-reasons", &reasons)).await.expect(303);
    let list = get(api, "/api/v1/candidates").key(demo, Mode::Live).send().await;
    let grace = list.body["data"].as_array().unwrap().iter().find(|one| one["name"] == "Grace").unwrap();
    let roles = get(api, "/api/v1/roles").key(demo, Mode::Live).send().await;
    let role = roles.body["data"].as_array().unwrap().iter().find(|one| one["title"] == "Analyst").unwrap();
    let grace = format!("{}.screening", grace["id"]);
    let tag = [("to", "tag"), ("tag", "later"), ("candidate", &*grace)];
    Box::pin(browser.post(&format!("/dashboard/candidates/bulk?list=role_id%3D{}", role["id"]), &tag))
        .await
        .expect(303);
    let view = [("name", "Berlin"), ("query", "stage=offer")];
    Box::pin(browser.post("/dashboard/candidates/views", &view)).await.expect(303);
    let rule = [("days", "365"), ("previewed", "yes")];
    Box::pin(browser.post("/dashboard/settings/retention", &rule)).await.expect(303);
    let countries = [("countries", "DE")];
    let path = "/dashboard/settings/integrations/channels/voice";
    Box::pin(browser.post(path, &countries)).await.expect(303);
    let app = OAuthApp::register(api, "none").await;
    Box::pin(app.connect(&browser)).await;
}

/// Whether an item belongs to an organization.
fn is_of<V: Debug>(organization: u64, (pk, sk): &(String, String), item: &HashMap<String, V>) -> bool {
    let slug = if organization == ACME_ID { "acme" } else { "globex" };
    let names_it = || format!("{:?}", item["organization"]) == format!("N({:?})", organization.to_string());
    let is_registered = pk.starts_with("ORGANIZATION#") && *sk == format!("{organization:016}");
    pk.starts_with(&format!("{organization}#"))
        || (pk.starts_with("OUTBOX#") && sk.starts_with(&format!("{organization}#")))
        || (pk.starts_with("TASK#") && sk.contains(&format!("#{organization}#")))
        || (pk.starts_with("WEBHOOK#") && sk.starts_with(&format!("{organization}#")))
        || is_registered
        || pk.starts_with(&format!("ORGANIZATION_SLUG#{slug}"))
        || (pk.starts_with("MEMBER_EMAIL#") && names_it())
}

/// The keys of the items that do not belong to the first organization.
fn others<V: Debug>(items: &BTreeMap<(String, String), HashMap<String, V>>) -> Vec<(String, String)> {
    let others = items.iter().filter(|(key, item)| !is_of(ACME_ID, key, item));
    others.map(|(key, _)| key.clone()).collect()
}

#[tokio::test]
async fn the_endpoints_of_a_revoked_key_are_disabled() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let add = json!({ "url": "https://hooks.example.com/rolecall" });
    let added = api.post("/api/v1/webhook_endpoints", add).await.expect(201).body;
    let found = async || {
        let id = added["id"].as_u64().and_then(Id::new).unwrap();
        api.store().find_webhook_endpoint(tenant(ACME, Mode::Live), id).await.unwrap().unwrap()
    };
    assert_eq!(found().await.status(), EndpointStatus::Enabled);
    admin.output(&format!("key revoke {ACME_ID} {}", added["created_by"]["id"])).await;
    assert_eq!(found().await.status(), EndpointStatus::Disabled);
}

#[tokio::test]
async fn an_interrupted_deletion_of_an_organization_can_be_repeated_and_leaves_nothing() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    admin.output("channel connect-x 1 --username acme").await;
    let candidate = Box::pin(populate(&api, ACME)).await;
    Box::pin(populate(&api, GLOBEX)).await;
    for demo in [ACME, GLOBEX] {
        join(&api, demo).await;
    }
    // Nothing has been told that this role is closed.
    let role = api.post("/api/v1/roles", json!({ "title": "Closed" })).await.expect(201).number("/id");
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    Box::pin(api.run_feed()).await;
    let changed = json!({ "email": "not.in.the.index.yet@example.com" });
    api.patch(&format!("/api/v1/candidates/{candidate}"), changed).await.expect(200);
    let before = api.stored_items().await;
    let kind = |pk: &str| pk.split(['#', '`']).nth(2).unwrap_or_default().to_owned();
    let of_acme = before.keys().map(|(pk, _)| pk).filter(|pk| pk.starts_with(&format!("{ACME_ID}#")));
    let rows = KINDS.iter().filter_map(|row| row.pk.strip_prefix("{tenant}"));
    let (stored, known): (BTreeSet<_>, BTreeSet<_>) =
        (of_acme.map(|pk| kind(pk)).collect(), rows.map(|pk| kind(&format!("0#live{pk}"))).collect());
    assert_eq!(stored, known, "the organization has an item of every kind");

    let held = admin.error("organization delete 1 --confirm acme").await;
    assert!(held.contains("is on legal hold in live mode"), "{held}");
    assert!(api.stored_items().await == before, "nothing was deleted");
    admin.output("person lift-hold 1 --email jane@example.com").await;
    let held = admin.error("organization delete 1 --confirm acme").await;
    assert!(held.contains("is on legal hold in test mode"), "{held}");
    admin.output("person lift-hold 1 --email jane@example.com --mode test").await;

    // Every run fails after its first write, until one run has nothing left to delete.
    admin.output("organization suspend 1").await;
    let mut runs = 0;
    let deleted = loop {
        let writes = Arc::new(AtomicUsize::new(0));
        api.dynamodb.inject_faults(move |operation, _| {
            let is_write = operation == "TransactWriteItems";
            (is_write && writes.fetch_add(1, Ordering::Relaxed) > 0).then_some(Fault::Conflict)
        });
        runs += 1;
        assert!(runs < 300, "every run must delete something");
        match admin.run("organization delete 1 --confirm acme").await {
            Ok(text) => break text,
            Err(sentence) => assert_eq!(sentence, "DynamoDB is unavailable: write conflicts persisted."),
        }
    };
    api.dynamodb.inject_faults(|_, _| None);
    assert!(runs > 30, "{runs}");
    assert_eq!(deleted, "The organization 1 was deleted at 2026-11-20T09:30:00.000Z.\n");
    assert_eq!(admin.output("organization delete 1 --confirm acme").await, deleted, "it can be repeated");

    for (organization, slugs, files) in
        [(ACME_ID, ["acme", "acme-test"], [0; 6]), (GLOBEX_ID, ["globex", "globex-test"], [4, 2, 1, 0, 1, 1])]
    {
        let slugs = slugs.map(|slug| Slug::of(slug, ""));
        let prefixes = ResumeFile::prefixes(Id::new(organization).unwrap(), [&slugs[0], &slugs[1]]);
        for (prefix, files) in prefixes.into_iter().zip(files) {
            assert_eq!(bucket(&api).list(&prefix, None, admin.now).await.unwrap().len(), files, "{prefix}");
        }
    }
    let after = api.stored_items().await;
    let mut temporary: Vec<_> = after
        .iter()
        .filter(|(key, item)| is_of(ACME_ID, key, item))
        .map(|((pk, _), item)| {
            assert!(item.contains_key("expires_at"), "{pk} stays");
            pk.split('#').nth(2).unwrap()
        })
        .collect();
    temporary.sort_unstable();
    temporary.dedup();
    assert_eq!(temporary, ["RECEIPT", "UPLOAD"], "these cannot be found, but expire");
    let mut expected = others(&before);
    expected.push(("DELETED_ORGANIZATION".to_owned(), format!("{ACME_ID:016}")));
    expected.sort_unstable();
    assert_eq!(others(&after), expected);
    for (key, item) in &before {
        assert!(
            !is_of(GLOBEX_ID, key, item) || after[key] == *item,
            "{key:?} belongs to another organization"
        );
    }

    for mode in Mode::ALL {
        get(&api, "/api/v1/candidates").bearer(&key(ACME, mode)).send().await.expect(401);
        get(&api, "/api/v1/candidates").key(GLOBEX, mode).send().await.expect(200);
    }
    for path in ["/careers/acme", "/careers/acme-test"] {
        get(&api, path).anonymous().send().await.expect(404);
    }
    assert_eq!(admin.json("organization list").await.as_array().map(Vec::len), Some(1));
    assert_eq!(admin.json("organization create Acme --plan free").await["slug"], "acme", "the slug is free");
}

/// The tests' database refuses transactions of more than 100 actions.
#[tokio::test]
async fn long_lists_are_deleted_in_several_transactions() {
    let api = TestApi::new().await;
    let opened = json!({ "role": { "title": "Cook", "description": "A job." } });
    let role = api.post("/api/v1/quick_post", opened).await.expect(201).number("/role/id");
    let body = json!({ "name": "Jane", "email": "jane@example.com", "role_id": role });
    api.post("/api/v1/candidates", body).await.expect(201);
    let items = api.stored_items().await;
    let copies = |partition: &str, place: fn(u64) -> String| {
        let (_, item) = items.iter().find(|((pk, _), _)| pk.starts_with(partition)).unwrap();
        let copy = move |n| {
            let mut copy = item.clone();
            copy.insert("sk".to_owned(), AttributeValue::S(place(n)));
            copy.insert("email".to_owned(), AttributeValue::S(format!("member{n}@acme.example")));
            copy
        };
        (100..210).map(copy)
    };
    api.write_items(copies("1#live#CANDIDATE#", |n| format!("HISTORY#{n:012}#00"))).await;
    api.write_items(copies("1#live#MEMBER", |n| format!("{n:016}"))).await;
    let (organization, now) = (Id::new(ACME_ID).unwrap(), api.environment.clock.now());
    let before = api.stored_items().await.len() as u64;
    let deleted = api.store().delete_organization_data(organization, now).await.unwrap();
    let left = api.stored_items().await.len() as u64;
    assert!(deleted > 220 && before - left <= deleted, "{deleted}, {before} before and {left} left");
    assert_eq!(api.store().delete_organization_data(organization, now).await.unwrap(), 0);
}

#[tokio::test]
async fn a_deletion_needs_the_slug_and_the_bucket_and_waits_for_requests_in_progress() {
    let api = TestApi::new().await;
    let admin = TestAdmin { bucket: None, ..TestAdmin::of(&api) };
    let before = api.stored_items().await;
    for slug in ["globex", "acme-test"] {
        assert_eq!(
            admin.error(&format!("organization delete 1 --confirm {slug}")).await,
            "The slug after --confirm is not the organization's; see `rolecall-admin organization show`."
        );
    }
    assert!(
        admin.error("organization delete 17 --confirm acme").await.starts_with("The organization does not")
    );
    assert!(api.stored_items().await == before, "nothing has changed");

    tokio::time::pause();
    let started = tokio::time::Instant::now();
    admin.output("organization delete 1 --confirm acme --no-files").await;
    let waited = started.elapsed().as_secs();
    assert_eq!(waited, 60, "requests that were admitted before the suspension are over, and in the feed");
    admin.output("organization suspend 2").await;
    let started = tokio::time::Instant::now();
    admin.output("organization delete 2 --confirm globex --no-files").await;
    assert_eq!(started.elapsed().as_secs(), 0);
}

#[tokio::test]
async fn a_person_is_exported_by_id_or_e_mail_address() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let candidate = Box::pin(populate(&api, ACME)).await;
    let mut expected = api.get(&format!("/api/v1/candidates/{candidate}/export")).await.expect(200).body;
    expected["exported_at"] = json!("2026-11-20T09:30:00.000Z");
    for who in [format!("--id {candidate}"), "--email ADA@gmail.com".to_owned()] {
        let exported = admin.output(&format!("person export 1 {who}")).await;
        assert_eq!(serde_json::from_str::<Value>(&exported).unwrap(), expected);
    }
    for line in [
        "person export 1 --email nobody@example.com".to_owned(),
        format!("person export 1 --mode test --id {candidate}"),
        format!("person export 2 --id {candidate}"),
    ] {
        assert!(admin.error(&line).await.starts_with("The organization has no such person"), "{line}");
    }
    assert!(admin.error("person export 17 --id 1").await.starts_with("The organization does not exist"));
}

/// A hold that is set while the deletion waits for requests in progress is respected.
#[tokio::test]
async fn a_deletion_checks_for_legal_holds_after_its_wait_too() {
    let api = TestApi::new().await;
    let admin = TestAdmin { bucket: None, ..TestAdmin::of(&api) };
    let jane = json!({ "name": "Jane", "email": "jane@example.com" });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    let (store, now, tenant) = (api.store().clone(), api.environment.clock.now(), tenant(ACME, Mode::Live));
    let hold = async move {
        let found = store.find_candidate(tenant, Id::new(jane).unwrap()).await.unwrap();
        let before = found.unwrap().present().unwrap();
        let reason = HoldReason::parse("Case 17").unwrap().unwrap();
        let after = before.clone().hold(LegalHold { reason, set_at: now, actor: Actor::system() });
        let mut transaction = Transaction::new(tenant);
        transaction.replace_candidate(&before, &after, &[]).unwrap();
        store.commit(transaction).await.unwrap();
    };
    api.dynamodb.run_before("TransactWriteItems", hold);
    tokio::time::pause();
    let refused = admin.error("organization delete 1 --confirm acme --no-files").await;
    assert!(refused.starts_with(&format!("The person {jane} is on legal hold")), "{refused}");
    assert_eq!(admin.json("organization show 1").await["suspended"], true);
    admin.output("person export 1 --email jane@example.com").await;
    admin.output("person lift-hold 1 --email jane@example.com").await;
    admin.output("organization delete 1 --confirm acme --no-files").await;
}

#[tokio::test]
async fn a_person_is_erased_unless_a_legal_hold_is_set() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let create = async |name: &str| {
        let body = json!({ "name": name, "email": format!("{name}@example.com") });
        api.post("/api/v1/candidates", body).await.expect(201).number("/id")
    };
    let (jane, joe) = (create("jane").await, create("joe").await);
    assert_eq!(
        admin.output(&format!("person hold 1 --id {jane} --reason Case_17")).await,
        format!("The person {jane} is on legal hold since 2026-11-20T09:30:00.000Z.\n")
    );
    let detail = api.get(&format!("/api/v1/candidates/{jane}")).await.expect(200);
    assert_eq!(detail.body["legal_hold"]["reason"], "Case 17");
    assert_eq!(detail.body["legal_hold"]["actor"]["type"], "system");
    let refused = format!(
        "The person {jane} is on legal hold in live mode; lift it with `rolecall-admin person lift-hold`."
    );
    assert_eq!(admin.error("person erase 1 --email jane@example.com").await, refused);
    for _ in 0..2 {
        let lifted = admin.output(&format!("person lift-hold 1 --id {jane}")).await;
        assert_eq!(lifted, format!("The person {jane} is not on legal hold.\n"));
    }
    let without_bucket = TestAdmin { bucket: None, ..TestAdmin::of(&api) };
    let sentence = without_bucket.error("person erase 1 --email jane@example.com").await;
    assert!(sentence.contains("--bucket") && sentence.contains("--no-files"), "{sentence}");
    api.get(&format!("/api/v1/candidates/{jane}")).await.expect(200);

    let erased = admin.json("person erase 1 --email jane@example.com --reason mistake").await;
    let expected =
        json!({ "id": jane, "mode": "live", "erased_at": "2026-11-20T09:30:00.000Z", "reason": "mistake" });
    assert_eq!(erased, expected);
    assert_eq!(admin.json(&format!("person erase 1 --id {jane}")).await, expected, "it can be repeated");
    api.get(&format!("/api/v1/candidates/{jane}")).await.expect(410);
    let key = format!("erased/1/live/{jane}.json");
    assert!(bucket(&api).read(&key, 4096, admin.now).await.unwrap().is_some());
    without_bucket.output(&format!("person erase 1 --id {joe} --no-files")).await;
    for line in ["person erase 1 --email jane@example.com", "person hold 1 --id 17 --reason x"] {
        assert!(admin.error(line).await.starts_with("The organization has no such person"), "{line}");
    }
    assert!(admin.error(&format!("person erase 2 --id {jane}")).await.contains("no such person"));
    assert!(admin.error(&format!("person hold 1 --id {jane} --reason x")).await.contains("no such person"));
    let invalid = admin.run(&format!("person erase 1 --id {jane} --reason whim")).await.unwrap_err();
    assert!(invalid.contains("[possible values: request, retention, mistake]"), "{invalid}");
}

#[tokio::test]
async fn a_replay_erases_whoever_a_restored_backup_has_brought_back() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    let mut people = Vec::new();
    for number in 0..120 {
        let body = json!({ "name": "zorbax", "email": format!("p{number}@example.com") });
        people.push(api.post("/api/v1/candidates", body).await.expect(201).number("/id"));
    }
    admin.output(&format!("person hold 1 --id {} --reason x", people[0])).await;
    let backup = api.stored_items().await;
    admin.output(&format!("person lift-hold 1 --id {}", people[0])).await;
    for person in &people[..110] {
        let erase = api.request("POST".parse().unwrap(), &format!("/api/v1/candidates/{person}/erase"));
        erase.send().await.expect(202);
    }
    api.run_tasks().await;
    let nothing = "110 tombstones; 0 people were in the table again and are erased now.\n";
    assert_eq!(admin.output("erasures replay").await, nothing);

    api.restore(&backup).await;
    api.get(&format!("/api/v1/candidates/{}", people[1])).await.expect(200);
    bucket(&api).write("erased/stray", b"{}".to_vec(), "application/json", admin.now).await.unwrap();
    let replayed = admin.json("erasures replay").await;
    let on_hold = json!([{ "organization_id": 1, "mode": "live", "id": people[0] }]);
    let expected =
        json!({ "tombstones": 110, "erased": 109, "on_hold": on_hold, "unreadable": ["erased/stray"] });
    assert_eq!(replayed, expected);
    let text = admin.output("erasures replay").await;
    assert!(
        text.contains("0 people") && text.contains("legal hold") && text.contains("erased/stray"),
        "{text}"
    );
    admin.output(&format!("person lift-hold 1 --id {}", people[0])).await;
    assert_eq!(admin.json("erasures replay").await["erased"], 1);
    api.run_tasks().await;
    for (number, person) in people.iter().enumerate() {
        let expected = if number < 110 { 410 } else { 200 };
        api.get(&format!("/api/v1/candidates/{person}")).await.expect(expected);
    }
    let again = api.post(&format!("/api/v1/candidates/{}/erase", people[1]), json!({})).await.expect(202);
    assert_eq!(again.string("/erased_at"), "2026-11-20T09:30:00.000Z", "the first erasure counts");
    let left = api.stored_items().await;
    let names = left
        .values()
        .filter(|item| item.get("name").is_some_and(|name| name.as_s().is_ok_and(|name| name == "zorbax")));
    assert_eq!(names.count(), 20, "ten people with a record and a list entry each");
    let without_bucket = TestAdmin { bucket: None, ..TestAdmin::of(&api) };
    assert!(without_bucket.error("erasures replay").await.contains("--bucket"));
}

#[tokio::test]
async fn an_organization_is_exported_line_by_line_without_secrets() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api);
    admin.output("channel connect-x 1 --username acme").await;
    let candidate = Box::pin(populate(&api, ACME)).await;
    Box::pin(populate(&api, GLOBEX)).await;
    let text = admin.output(&format!("organization export 1 --base-url {BASE_URL}")).await;
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut exported = None;
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let of = |name: &str| line[name].as_str().unwrap().to_owned();
        *counts.entry((of("mode"), of("type"))).or_default() += 1;
        if line["data"]["id"] == candidate {
            exported = Some(line["data"].clone());
        }
    }
    let expected = [
        ("live", "api_key", 1),
        ("live", "audit_entry", 14),
        ("live", "candidate", 4),
        ("live", "career_site", 1),
        ("live", "channels", 1),
        ("live", "connected_app", 1),
        ("live", "job_posting", 2),
        ("live", "logo", 1),
        ("live", "member", 1),
        ("live", "organization", 1),
        ("live", "privacy_text", 1),
        ("live", "rejection_reasons", 1),
        ("live", "retention_rule", 1),
        ("live", "role", 2),
        ("live", "suspect_form", 2),
        ("live", "usage", 2),
        ("live", "x_post", 1),
        ("test", "api_key", 1),
        ("test", "audit_entry", 3),
        ("test", "candidate", 3),
        ("test", "career_site", 1),
        ("test", "job_posting", 2),
        ("test", "organization", 1),
        ("test", "role", 2),
        ("test", "suspect_form", 2),
        ("test", "usage", 2),
        ("test", "x_post", 1),
    ];
    let counts: Vec<_> =
        counts.iter().map(|((mode, kind), count)| (mode.as_str(), kind.as_str(), *count)).collect();
    assert_eq!(counts, expected);
    let person = admin.output(&format!("person export 1 --id {candidate}")).await;
    assert_eq!(exported, serde_json::from_str(&person).ok());
    for secret in ["SECRET_X_ACCESS_TOKEN", "SECRET_X_REFRESH_TOKEN", "\"hash\"", "$argon2", "\"family\""] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert!(
        admin
            .error(&format!("organization export 17 --base-url {BASE_URL}"))
            .await
            .contains("does not exist")
    );
}
