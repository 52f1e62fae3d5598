//! People whose import is not finished: nobody sees them, nothing counts and nobody is told, until the last write.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use shared::clock::Timestamp;
use shared::id::{Id, Ids};
use shared::model::{
    Actor, AuditActor, CandidateRecord, ImportedApplication, Lines, Mode, Move, Name, Note, Origin, Profile,
    Role, RoleCopy, Source, Stage, Tag, Tags, Text, Touchpoint, TouchpointKind,
};
use shared::store::{AuditOrigin, CommitError, MaybeErased, Store, Transaction};
use tests::assistant::Assistant;
use tests::browser::Browser;
use tests::dashboard::owner;
use tests::openapi::operations;
use tests::{ACME, Fixtures, TestApi, tenant};

use crate::careers_applications::{Job, form};
use crate::dashboard_pages::text_of;
use crate::webhooks::{deliveries, local_api, receiver};

const CANDIDATES: &str = "/api/v1/candidates";
const EMAIL: &str = "kim@gmail.com";
const PHONE: &str = "+14155550132";
/// When the people applied, and when they moved on.
const PAST: [&str; 2] = ["2026-11-02T10:00:00.000Z", "2026-11-06T12:00:00.000Z"];

fn id(number: u64) -> Id {
    Id::new(1_000_000_000_000_000 + number).unwrap()
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A store whose changes are events, as that of a task.
fn store(api: &TestApi) -> Store {
    let (clock, random) = (api.environment.clock.clone(), api.environment.random.clone());
    let ids = Ids::new(clock.clone(), random);
    let origin = AuditOrigin::inside(AuditActor::system(), clock, ids);
    api.store().clone().with_origin(Arc::new(origin))
}

/// A transaction of an import that notifies webhook endpoints.
fn import() -> Transaction {
    Transaction::of_import(tenant(ACME, Mode::Live), id(7), true)
}

async fn role(api: &TestApi, role: u64) -> Role {
    api.store().find_role(tenant(ACME, Mode::Live), Id::new(role).unwrap()).await.unwrap().unwrap()
}

fn touchpoint(number: u64, kind: TouchpointKind, at: Timestamp) -> Touchpoint {
    Touchpoint { id: id(9_000 + number), kind, at, actor: Actor::system() }
}

fn kim() -> Profile {
    let name = Name::parse("Kimberley Weber").unwrap().unwrap();
    Profile {
        phone: Some(PHONE.parse().unwrap()),
        source: Some(serde_json::from_str::<Source>("\"Fair\"").unwrap()),
        tags: Tags::of(vec![Tag::parse("Nights").unwrap().unwrap()]),
        external_id: Some(Text::parse("K-1").unwrap().unwrap()),
        ..Profile::new(name, EMAIL.parse().unwrap())
    }
}

/// A record with an application for each of these roles, which has moved to the interview.
async fn with_applications(
    api: &TestApi,
    record: CandidateRecord,
    roles: &[u64],
) -> (CandidateRecord, Vec<Touchpoint>) {
    let mut imported = Vec::new();
    for (number, of) in (0..).zip(roles) {
        imported.push(ImportedApplication {
            id: id(100 + number),
            role: RoleCopy::of(&role(api, *of).await),
            origin: Origin::from(serde_json::from_str::<Source>("\"Fair\"").unwrap()),
            applied_at: time(PAST[0]),
            moves: vec![(time(PAST[1]), Move::Advance(Stage::Interview))],
        });
    }
    let (record, history) = record.import_applications(imported, api.environment.clock.now()).unwrap();
    let history = (0..).zip(history).map(|(number, (at, kind))| touchpoint(number, kind, at)).collect();
    (record, history)
}

/// Stores somebody whose import is not finished, and who has applied for these roles.
async fn begin(api: &TestApi, roles: &[u64]) -> CandidateRecord {
    let record = CandidateRecord::new(id(1), kim(), time(PAST[0])).begin_import(id(7));
    let (record, history) = with_applications(api, record, roles).await;
    let mut transaction = import();
    transaction.insert_candidate_with_past(&[(record.clone(), history)]).unwrap();
    store(api).commit(transaction).await.unwrap();
    api.run_feed().await;
    record
}

/// Writes the next version of the record.
async fn write(api: &TestApi, before: &CandidateRecord, after: &CandidateRecord) -> Result<(), CommitError> {
    let mut transaction = import();
    transaction.replace_candidate(before, after, &[]).unwrap();
    store(api).commit(transaction).await
}

/// Makes the last write of an import.
async fn finish(api: &TestApi, before: &CandidateRecord) -> CandidateRecord {
    let now = api.environment.clock.now();
    let after = before.clone().finish_import(now);
    let imported = touchpoint(500, TouchpointKind::Imported { import_id: id(7) }, now);
    let mut transaction = import();
    transaction.replace_candidate(before, &after, &[imported]).unwrap();
    store(api).commit(transaction).await.unwrap();
    api.run_feed().await;
    after
}

async fn stored(api: &TestApi) -> CandidateRecord {
    let found = store(api).find_any_candidate(tenant(ACME, Mode::Live), id(1)).await.unwrap();
    found.and_then(MaybeErased::present).unwrap()
}

/// What verification finds.
async fn wrong(api: &TestApi) -> Vec<String> {
    let (_, findings) = api.store().verify(tenant(ACME, Mode::Live), false, |_| async {}).await.unwrap();
    let findings = findings.into_iter().map(|one| format!("{} {}: {}", one.pk, one.sk, one.problem));
    // Closing a role changes no entry in its lists.
    findings.filter(|finding| !finding.ends_with("differs from its record in updated_at")).collect()
}

async fn events(api: &TestApi) -> Vec<Value> {
    api.run_feed().await;
    api.get("/api/v1/events?limit=1000").await.expect(200).body["data"].as_array().unwrap().clone()
}

/// The number of people or applications in a list.
async fn count(api: &TestApi, list: &str) -> usize {
    api.get(&format!("/api/v1/{list}")).await.expect(200).body["data"].as_array().unwrap().len()
}

/// The numbers of a role: the applicants, and those in the interview.
async fn figures(api: &TestApi, role: u64) -> (u64, u64) {
    let stats = api.get(&format!("/api/v1/roles/{role}/stats")).await.expect(200);
    (stats.number("/applicants"), stats.number("/stages/interview/now"))
}

/// Every list and search that would have the person.
fn lists(role: u64) -> Vec<String> {
    let phone = PHONE.replace('+', "%2B");
    vec![
        "candidates".to_owned(),
        format!("candidates?role_id={role}"),
        "candidates?stage=interview".to_owned(),
        format!("candidates?role_id={role}&stage=interview"),
        "candidates?q=kimberley".to_owned(),
        format!("candidates?email={EMAIL}"),
        format!("candidates?phone={phone}"),
        "candidates?external_id=K-1".to_owned(),
        "candidates?source=fair".to_owned(),
        "candidates?tag=nights".to_owned(),
        "applications".to_owned(),
        format!("applications?role_id={role}"),
        "applications?stage=interview".to_owned(),
        format!("applications?role_id={role}&status=active"),
        format!("applications?candidate_id={}", id(1)),
    ]
}

async fn pages(api: &TestApi, role: u64) -> Vec<String> {
    let ada = Browser::with_session(api, ACME, &owner(api, ACME).await).await;
    let mut texts = Vec::new();
    for path in [
        "/dashboard".to_owned(),
        "/dashboard/candidates".to_owned(),
        format!("/dashboard/candidates?role_id={role}"),
        format!("/dashboard/candidates?role_id={role}&stage=interview"),
        format!("/dashboard/candidates?role_id={role}&label=tag&word=nights"),
        "/dashboard/candidates?by=tag&search=nights".to_owned(),
        format!("/dashboard/candidates/csv?role_id={role}"),
        format!("/dashboard/roles/{role}"),
    ] {
        let page = ada.get(&path).await.expect(200);
        texts.push(if path.contains("csv") { page.text } else { text_of(&page) });
    }
    texts
}

#[tokio::test]
async fn nobody_sees_somebody_whose_import_is_not_finished() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Cook").await;
    let before = events(&api).await.len();
    begin(&api, &[job.role]).await;
    for list in lists(job.role) {
        assert_eq!(count(&api, &list).await, 0, "{list}");
    }
    api.get(&format!("/api/v1/applications/{}", id(100))).await.expect(404);
    for text in pages(&api, job.role).await {
        assert!(!text.contains("Kimberley"), "{text}");
    }
    assert_eq!(figures(&api, job.role).await, (0, 0));
    let stats = api.store().find_hiring_stats(tenant(ACME, Mode::Live)).await.unwrap();
    assert_eq!(stats, shared::model::HiringStats::default());
    assert_eq!(events(&api).await.len(), before);

    // Every route about the person answers as if there were none, whatever it is asked.
    let mut tried = BTreeSet::new();
    for operation in operations() {
        let (method, pattern) = operation.key.split_once(' ').unwrap();
        if !pattern.starts_with("/api/v1/candidates/{id}") || pattern.ends_with("/erase") {
            continue;
        }
        let path = pattern.replacen("{id}", &id(1).to_string(), 1);
        let path = path.split('/').map(|part| if part.starts_with('{') { "17" } else { part });
        let path = path.collect::<Vec<_>>().join("/");
        let method: Method = method.parse().unwrap();
        let request = api.request(method.clone(), &path);
        let request = if method == Method::GET || method == Method::DELETE {
            request
        } else {
            request.json(&json!({}))
        };
        request.send().await.expect(404);
        tried.insert(operation.key);
    }
    assert!(tried.len() >= 24, "{tried:?}");
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    for page in ["", "/edit", "/applications", "/invite", "/erase", "/legal-hold", "/consents", "/files"] {
        ada.get(&format!("/dashboard/candidates/{}{page}", id(1))).await.expect(404);
    }
    let refused = Assistant::new(&api).refused("get_candidate", json!({ "candidate_id": id(1) })).await;
    assert!(refused.contains("There is no such record"), "{refused}");

    // What must be unique is taken, and the answer names the person.
    for (field, value) in [("email", "KIM@gmail.com"), ("external_id", "K-1")] {
        let mut body = json!({ "name": "Jo", "email": "jo@example.com" });
        body[field] = json!(value);
        let taken = api.post(CANDIDATES, body).await.expect(422);
        assert_eq!((taken.string("/code"), taken.number("/existing/id")), ("duplicate", id(1).get()));
    }
    // Somebody else with the same telephone number is found alone.
    let jo = json!({ "name": "Jo", "email": "jo@example.com", "phone": PHONE });
    let jo = api.post(CANDIDATES, jo).await.expect(201).number("/id");
    let shown = api.get(&format!("{CANDIDATES}/{jo}?include=possible_duplicates")).await.expect(200);
    assert_eq!(shown.body["possible_duplicates"], json!([]));
    assert_eq!(wrong(&api).await, [""; 0]);
    // An applicant with this address has to try again in a moment.
    job.apply(&api, &form("Kim", EMAIL)).await.expect(503);
    assert_eq!(stored(&api).await.applications.len(), 1);
}

#[tokio::test]
async fn the_last_write_shows_the_person_and_tells_of_it() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Cook").await;
    let start = events(&api).await.len();
    let before = begin(&api, &[job.role]).await;
    // Other parts come with further writes, and nobody is told of them.
    let note = Note {
        id: id(30),
        text: Lines::parse("Knows the team.").unwrap().unwrap(),
        actor: Actor::system(),
        created_at: time(PAST[1]),
        updated_at: None,
    };
    let mut transaction = import();
    transaction.insert_note(id(1), &note).unwrap();
    let mut after = before.clone().advance_version();
    after.candidate.has_notes = true;
    transaction.replace_candidate(&before, &after, &[]).unwrap();
    store(&api).commit(transaction).await.unwrap();
    assert_eq!(events(&api).await.len(), start);
    assert_eq!(count(&api, "candidates").await, 0);
    assert_eq!(wrong(&api).await, [""; 0]);

    api.clock.set("2026-11-20T10:00:00.000Z");
    finish(&api, &stored(&api).await).await;
    let told = events(&api).await.split_off(start);
    let kinds: Vec<_> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["candidate.created", "application.created"]);
    assert_eq!(told[0]["data"], json!({ "stage": "interview" }));
    assert_eq!(told[1]["data"], json!({ "candidate_id": id(1), "role_id": job.role, "stage": "interview" }));
    assert!(told.iter().all(|event| event["imported"] == true), "{told:?}");
    assert!(told.iter().all(|event| event.get("quiet").is_none()), "{told:?}");
    for list in lists(job.role) {
        assert_eq!(count(&api, &list).await, 1, "{list}");
    }
    assert_eq!(figures(&api, job.role).await, (1, 1));
    for text in pages(&api, job.role).await.into_iter().skip(1) {
        assert!(text.contains("Kimberley"), "{text}");
    }
    let shown = api.get(&format!("{CANDIDATES}/{}", id(1))).await.expect(200);
    assert_eq!(shown.string("/created_at"), PAST[0]);
    assert_eq!(shown.string("/updated_at"), "2026-11-20T10:00:00.000Z");
    assert_eq!(shown.string("/applications/0/applied_at"), PAST[0]);
    assert_eq!(shown.string("/applications/0/stage_changed_at"), PAST[1]);
    let history = shown.body["touchpoints"].as_array().unwrap();
    let history: Vec<_> = history.iter().map(|one| (one["kind"].as_str().unwrap(), &one["at"])).collect();
    let expected =
        [("imported", "2026-11-20T10:00:00.000Z"), ("stage_changed", PAST[1]), ("applied", PAST[0])];
    assert_eq!(history, expected.map(|(kind, at)| (kind, &*Box::leak(Box::new(json!(at))))));
    assert_eq!(shown.body["touchpoints"][0]["detail"], json!({ "import_id": id(7) }));
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let page = text_of(&ada.get(&format!("/dashboard/candidates/{}", id(1))).await.expect(200));
    assert!(page.contains("Imported") && page.contains("Knows the team."), "{page}");

    // The events of what came before follow.
    let mut transaction = import();
    transaction.tell_of_import(&stored(&api).await, &[], &[id(30)], &[]);
    store(&api).commit(transaction).await.unwrap();
    let last = events(&api).await.pop().unwrap();
    assert_eq!((&last["type"], &last["imported"]), (&json!("note.created"), &json!(true)));
    assert_eq!(last["data"], json!({ "candidate_id": id(1) }));
    assert_eq!(wrong(&api).await, [""; 0]);
    assert!(!api.stored_items().await.keys().any(|(pk, _)| pk.contains("#UNFINISHED")));

    // What others do from now on is not the import's.
    api.patch(&format!("{CANDIDATES}/{}", id(1)), json!({ "name": "Kim" })).await.expect(200);
    let last = events(&api).await.pop().unwrap();
    assert_eq!((&last["type"], &last["imported"]), (&json!("candidate.updated"), &json!(false)));
}

#[tokio::test]
async fn somebody_whose_import_is_not_finished_can_be_erased() {
    let api = TestApi::new().await;
    let roles: RangeInclusive<u64> = 1..=20;
    api.write_open_roles(roles.clone()).await;
    let record = begin(&api, &roles.clone().collect::<Vec<_>>()).await;
    let ahead = record.list_ahead().unwrap();
    write(&api, &record, &ahead).await.unwrap();
    let start = events(&api).await.len();
    let erase = format!("{CANDIDATES}/{}/erase", id(1));
    api.post(&erase, json!({ "reason": "mistake" })).await.expect(202);
    api.post(&erase, json!({})).await.expect(202);
    for _ in 0..3 {
        api.run_tasks().await;
    }
    assert_eq!(events(&api).await.len(), start, "nobody knew the person");
    api.get(&format!("{CANDIDATES}/{}", id(1))).await.expect(410);
    for role in roles {
        assert_eq!(figures(&api, role).await.1, 0, "{role}");
    }
    assert_eq!(wrong(&api).await, [""; 0]);
    let items = api.stored_items().await;
    let left = items.iter().filter(|(_, item)| format!("{item:?}").contains("Kimberley"));
    assert_eq!(left.count(), 0);
    assert!(!items.keys().any(|(pk, _)| pk.contains("#UNFINISHED") || pk.contains("#EMAIL#")));
    let again = json!({ "name": "Kim", "email": EMAIL, "external_id": "K-1" });
    api.post(CANDIDATES, again).await.expect(201);
}

/// The last write has no room for all of these applications.
#[tokio::test]
async fn many_applications_are_listed_before_the_last_write() {
    let api = TestApi::new().await;
    let roles: Vec<u64> = (1..=100).collect();
    api.write_open_roles(1..=100).await;
    let start = events(&api).await.len();
    let (few, rest) = roles.split_at(20);
    begin(&api, few).await;
    for more in rest.chunks(20) {
        let before = stored(&api).await;
        let mut imported = Vec::new();
        for of in more {
            imported.push(ImportedApplication {
                id: id(1_000 + of),
                role: RoleCopy::of(&role(&api, *of).await),
                origin: Origin::from(Source::API),
                applied_at: time(PAST[1]),
                moves: vec![(time(PAST[1]), Move::Advance(Stage::Interview))],
            });
        }
        let now = api.environment.clock.now();
        let (after, _) = before.clone().import_applications(imported, now).unwrap();
        write(&api, &before, &after).await.unwrap();
    }
    let mut current = stored(&api).await;
    assert_eq!((current.applications.len(), current.listed().len()), (100, 0));
    while let Some(ahead) = current.list_ahead() {
        write(&api, &current, &ahead).await.unwrap();
        current = stored(&api).await;
        assert_eq!(current, ahead);
        assert_eq!(wrong(&api).await, [""; 0]);
        assert_eq!((count(&api, "candidates").await, count(&api, "applications").await), (0, 0));
    }
    assert_eq!(current.listed().len(), 85);
    assert_eq!(figures(&api, 100).await, (0, 0));
    assert_eq!(events(&api).await.len(), start);

    // Roles change meanwhile. A task follows for what is listed, and the last write asks for the rest.
    api.delete("/api/v1/roles/1").await.expect(200);
    api.patch("/api/v1/roles/100", json!({ "title": "Chef" })).await.expect(200);
    for _ in 0..3 {
        api.run_tasks().await;
    }
    let current = stored(&api).await;
    assert!(current.applications[0].role.is_closed);
    let finished = current.clone().finish_import(api.environment.clock.now());
    assert!(matches!(write(&api, &current, &finished).await, Err(CommitError::Stale)));
    let chef = role(&api, 100).await;
    let followed = current.clone().follow([&chef], api.environment.clock.now()).unwrap().record;
    write(&api, &current, &followed).await.unwrap();
    let start = events(&api).await.len();
    let record = finish(&api, &followed).await;
    let told = events(&api).await.split_off(start);
    assert_eq!(told.len(), 1 + CandidateRecord::TOLD_AT_ONCE);
    let mut transaction = import();
    transaction.tell_of_import(&record, &record.applications[CandidateRecord::TOLD_AT_ONCE..], &[], &[]);
    store(&api).commit(transaction).await.unwrap();
    let told = events(&api).await.split_off(start);
    let subjects: BTreeSet<_> = told.iter().map(|event| event["subject"]["id"].as_u64().unwrap()).collect();
    assert_eq!(subjects.len(), 101);
    assert_eq!(figures(&api, 100).await, (1, 1));
    assert_eq!(figures(&api, 1).await, (1, 0), "its role is closed");
    assert_eq!(count(&api, "applications?limit=100").await, 100);
    let shown = api.get(&format!("{CANDIDATES}/{}", id(1))).await.expect(200);
    let statuses = shown.body["applications"].as_array().unwrap();
    assert_eq!(statuses.iter().filter(|one| one["status"] == "closed").count(), 1);
    assert_eq!(statuses.iter().filter(|one| one["role_title"] == "Chef").count(), 1);
    assert_eq!(wrong(&api).await, [""; 0]);
}

#[tokio::test]
async fn webhook_endpoints_get_the_events_of_an_import_only_if_it_notifies_them() {
    let api = local_api().await;
    let receiver = receiver(200).await;
    let job = Job::new(&api, "Cook").await;
    let added = json!({ "url": format!("{}/hook", receiver.url), "types": ["candidate.created", "application.created"] });
    let endpoint = api.post("/api/v1/webhook_endpoints", added).await.expect(201).number("/id");
    for (number, notifies) in [(1, false), (2, true)] {
        let name = Name::parse("Kim").unwrap().unwrap();
        let profile = Profile::new(name, format!("kim{number}@example.com").parse().unwrap());
        let record = CandidateRecord::new(id(number), profile, time(PAST[0]));
        let role = role(&api, job.role).await;
        let imported = ImportedApplication {
            id: id(100 + number),
            role: RoleCopy::of(&role),
            origin: Origin::from(Source::API),
            applied_at: time(PAST[0]),
            moves: Vec::new(),
        };
        let (record, _) = record.import_applications(vec![imported], api.environment.clock.now()).unwrap();
        let mut transaction = Transaction::of_import(tenant(ACME, Mode::Live), id(7), notifies);
        transaction.insert_candidate_with_past(&[(record, Vec::new())]).unwrap();
        transaction.require_role_state(&role);
        store(&api).commit(transaction).await.unwrap();
    }
    let told: Vec<_> = events(&api).await.into_iter().filter(|event| event["imported"] == true).collect();
    assert_eq!(told.len(), 4, "the feed has them all");
    for _ in 0..3 {
        api.deliver().await;
    }
    let sent: Vec<_> =
        receiver.requests().iter().map(|one| serde_json::from_str::<Value>(&one.body).unwrap()).collect();
    let seqs: BTreeSet<_> = sent.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, told[2..].iter().map(|event| event["seq"].as_u64().unwrap()).collect());
    assert!(sent.iter().all(|event| event["imported"] == true), "{sent:?}");
    assert_eq!(deliveries(&api, endpoint).await.len(), 2);
    // A repetition has no more.
    api.post(&format!("/api/v1/webhook_endpoints/{endpoint}/replay"), json!({ "after": "0" }))
        .await
        .expect(202);
    for _ in 0..3 {
        api.deliver().await;
    }
    assert_eq!(receiver.requests().len(), 4);
}

#[tokio::test]
async fn the_tools_of_other_tenants_never_meet_an_unfinished_person() {
    let api = TestApi::new().await;
    let fixtures = Fixtures::new(&api).await;
    begin(&api, &[fixtures.role]).await;
    let erase = format!("{CANDIDATES}/{}/erase", id(1));
    for (demo, mode) in [(ACME, Mode::Test), (tests::GLOBEX, Mode::Live)] {
        api.request(Method::POST, &erase).key(demo, mode).json(&json!({})).send().await.expect(404);
    }
    assert!(!stored(&api).await.is_shown());
}
