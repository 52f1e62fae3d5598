//! People without an e-mail address, whom only an import brings: how they are read, found, changed and erased.

use http::Method;
use serde_json::{Value, json};
use shared::id::{Id, Ids};
use shared::model::{CandidateRecord, Mode, Name, Profile, Source, Tags};
use shared::store::{FeedRun, PageWork, Transaction};
use tests::assistant::Assistant;
use tests::browser::{Browser, Form};
use tests::dashboard::owner;
use tests::{ACME, Response, TestApi, tenant};

use crate::careers_applications::{Job, form, list};
use crate::dashboard_pages::text_of;

const CANDIDATES: &str = "/api/v1/candidates";
const PHONE: &str = "+14155550132";

fn path(id: u64) -> String {
    format!("{CANDIDATES}/{id}")
}

/// Stores somebody without an e-mail address who has applied for the role, as an import does.
async fn write(api: &TestApi, number: u64, name: &str, role: u64) -> u64 {
    let (now, tenant) = (api.environment.clock.now(), tenant(ACME, Mode::Live));
    let id = |number| Id::new(1_000_000_000_000_000 + number).unwrap();
    let profile = Profile {
        name: Name::parse(name).unwrap().unwrap(),
        email: None,
        phone: Some(PHONE.parse().unwrap()),
        resume: None,
        source: None,
        tags: Tags::default(),
        external_id: None,
    };
    let role = api.store().find_role(tenant, Id::new(role).unwrap()).await.unwrap().unwrap();
    let record = CandidateRecord::new(id(number), profile, now);
    let record = record.apply(id(number + 1_000), &role, Source::API, now).unwrap();
    let mut transaction = Transaction::new(tenant);
    transaction.insert_candidate(record, &[]).unwrap();
    api.store().commit(transaction).await.unwrap();
    api.run_feed().await;
    id(number).get()
}

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Whether the field for the address on the page must be filled in.
fn needs_address(page: &Response) -> bool {
    let field = page.text.split("<input ").find(|rest| rest.contains("name=\"email\"")).unwrap();
    field.split('>').next().unwrap().contains("required")
}

/// What verification finds in Acme's live mode.
async fn wrong(api: &TestApi, rebuilds: bool) -> Vec<String> {
    let tenant = tenant(ACME, Mode::Live);
    let (_, findings) = api.store().verify(tenant, rebuilds, |_| async {}).await.unwrap();
    findings.into_iter().map(|finding| format!("{}: {}", finding.pk, finding.problem)).collect()
}

#[tokio::test]
async fn a_request_cannot_add_somebody_without_an_address_or_take_it_away() {
    let api = TestApi::new().await;
    for body in [
        json!({ "name": "Ida" }),
        json!({ "name": "Ida", "email": null }),
        json!({ "name": "Ida", "email": " " }),
    ] {
        let refused = api.post(CANDIDATES, body).await.expect(422);
        assert_eq!(refused.messages(), ["email can't be blank"]);
    }
    let ida = json!({ "name": "Ida", "email": "ida@example.com" });
    let ida = api.post(CANDIDATES, ida).await.expect(201).number("/id");
    for email in [json!(null), json!("")] {
        let refused = api.patch(&path(ida), json!({ "email": email })).await.expect(422);
        assert_eq!(refused.messages(), ["email can't be blank"]);
    }
    let ada = acme(&api).await;
    let edit = format!("/dashboard/candidates/{ida}/edit");
    let page = ada.get(&edit).await.expect(200);
    assert!(needs_address(&page), "{}", page.text);
    ada.submit(&edit, &Form::of(&page, &edit).set("email", "")).await.expect(422);
    assert_eq!(api.get(&path(ida)).await.expect(200).string("/email"), "ida@example.com");
}

#[tokio::test]
async fn somebody_without_an_address_is_read_everywhere() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Cook").await;
    let kim = write(&api, 1, "Kim Weber", job.role).await;
    let jo = write(&api, 2, "Jo Weber", job.role).await;
    let get = async |path: &str| api.get(&format!("/api/v1/{path}")).await.expect(200);

    let shown = get(&format!("candidates/{kim}?include=possible_duplicates")).await;
    assert_eq!(shown.body["email"], Value::Null);
    assert_eq!(shown.body["possible_duplicates"], json!([jo]), "by the telephone number");
    let application = shown.number("/applications/0/id");
    for list in [
        "candidates".to_owned(),
        format!("candidates?role_id={}", job.role),
        "candidates?stage=applied".to_owned(),
        "candidates?q=weber".to_owned(),
        format!("candidates?phone={}", PHONE.replace('+', "%2B")),
        "applications".to_owned(),
        format!("applications?role_id={}", job.role),
    ] {
        let listed = get(&list).await.body["data"].as_array().unwrap().clone();
        let people: Vec<_> =
            listed.iter().map(|one| (one["name"].as_str().unwrap(), &one["email"])).collect();
        assert_eq!(people, [("Jo Weber", &Value::Null), ("Kim Weber", &Value::Null)], "{list}");
    }
    assert_eq!(get(&format!("applications/{application}")).await.body["email"], Value::Null);
    let export = get(&format!("candidates/{kim}/export")).await;
    assert_eq!(
        (&export.body["candidate"]["email"], &export.body["suspect_forms"]),
        (&Value::Null, &json!([]))
    );

    let assistant = Assistant::new(&api);
    let found = assistant.call("search_candidates", json!({ "q": "kim" })).await;
    assert_eq!(found["candidates"][0]["untrusted"], json!({ "name": "Kim Weber" }));
    let shown = assistant.call("get_candidate", json!({ "candidate_id": kim })).await;
    assert_eq!(shown["untrusted"]["name"], "Kim Weber");
    assert!(shown["untrusted"].get("email").is_none(), "{shown}");

    // A form on the career page never belongs to somebody without an address.
    job.apply(&api, &form("Kim Weber", "kim@example.com")).await.expect(303);
    assert_eq!(list(&api, "?q=kim").await.len(), 2);
    assert_eq!(get(&format!("candidates/{kim}")).await.body["touchpoints"], json!([]));
}

#[tokio::test]
async fn pages_show_that_there_is_no_address() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Cook").await;
    let kim = write(&api, 1, "Kim Weber", job.role).await;
    let ada = acme(&api).await;
    let (base, page) = (format!("/dashboard/candidates/{kim}"), "/dashboard/candidates");
    let shown = ada.get(&base).await.expect(200);
    assert!(text_of(&shown).contains("E-mail address No e-mail address Phone"), "{}", text_of(&shown));
    assert!(!shown.text.contains("mailto:"), "{}", shown.text);
    for list in [page.to_owned(), format!("{page}?role_id={}", job.role), format!("{page}?search=kim")] {
        assert!(text_of(&ada.get(&list).await.expect(200)).contains("Kim Weber"), "{list}");
    }
    let csv = ada.get(&format!("{page}/csv?role_id={}", job.role)).await.expect(200);
    assert!(csv.text.contains(&format!("{kim},Kim Weber,,")), "{}", csv.text);
    let erase = text_of(&ada.get(&format!("{base}/erase")).await.expect(200));
    assert!(erase.contains("E-mail address –"), "{erase}");
    api.post(&format!("{}/reject", path(kim)), json!({})).await.expect(200);
    api.clock.set("2027-11-20T09:30:00Z");
    let ada = acme(&api).await;
    let due = ada.get("/dashboard/settings/retention?preview=yes&days=30").await.expect(200);
    assert!(text_of(&due).contains("Kim Weber –"), "{}", text_of(&due));

    // The form takes an address and does not need one.
    let edit = format!("{base}/edit");
    let form = async || Form::of(&ada.get(&edit).await.expect(200), &edit);
    let shown = ada.get(&edit).await.expect(200);
    assert!(!needs_address(&shown), "{}", shown.text);
    ada.submit(&edit, &form().await.set("name", "Kim W.")).await.expect(303);
    let renamed = api.get(&path(kim)).await.expect(200);
    assert_eq!((renamed.string("/name"), &renamed.body["email"]), ("Kim W.", &Value::Null));
    ada.submit(&edit, &form().await.set("email", "kim")).await.expect(422);
    ada.submit(&edit, &form().await.set("email", "kim@example.com")).await.expect(303);
    assert_eq!(api.get(&path(kim)).await.expect(200).string("/email"), "kim@example.com");
    assert!(ada.get(&base).await.expect(200).text.contains("mailto:kim@example.com"));
    ada.submit(&edit, &form().await.set("email", "")).await.expect(422);
}

#[tokio::test]
async fn an_address_that_is_added_is_claimed() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Cook").await;
    let kim = write(&api, 1, "Kim", job.role).await;
    let jo = write(&api, 2, "Jo", job.role).await;
    let same = api.patch(&path(kim), json!({ "name": "Kim W.", "tags": ["x"] })).await.expect(200);
    assert_eq!(same.body["email"], Value::Null);
    for email in [json!(null), json!("")] {
        let refused = api.patch(&path(kim), json!({ "email": email })).await.expect(422);
        assert_eq!(refused.messages(), ["email can't be blank"]);
    }
    api.patch(&path(kim), json!({ "email": "Kim@example.com" })).await.expect(200);
    api.run_feed().await;
    let events = api.get("/api/v1/events?type=candidate.updated").await.expect(200);
    assert_eq!(events.body["data"][1]["changed"], json!(["email"]));
    for query in ["?email=kim@example.com", "?q=kim@example"] {
        assert_eq!(list(&api, query).await.len(), 1, "{query}");
    }
    for taken in [
        api.patch(&path(jo), json!({ "email": "kim@EXAMPLE.com" })).await,
        api.post(CANDIDATES, json!({ "name": "Kim", "email": "kim@example.com" })).await,
    ] {
        assert_eq!(taken.expect(422).number("/existing/id"), kim);
    }
    // Now a form on the career page belongs to this person.
    job.apply(&api, &form("Kim", "kim@example.com")).await.expect(303);
    assert_eq!(list(&api, "").await.len(), 2);
    assert_eq!(wrong(&api, false).await, [""; 0]);
}

#[tokio::test]
async fn somebody_without_an_address_is_verified_written_again_and_erased() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Cook").await;
    let kim = write(&api, 1, "Kimberley", job.role).await;
    let jo = write(&api, 2, "Jo", job.role).await;
    assert_eq!(wrong(&api, false).await, [""; 0]);
    assert!(!api.stored_items().await.keys().any(|(pk, _)| pk.contains("#EMAIL#")), "nothing is claimed");

    // All copies are written again from the record.
    let mut items = api.stored_items().await;
    let is_copy = |pk: &str| ["#CANDIDATE", "#WORD", "#APPLICATION"].iter().any(|kind| pk.ends_with(kind));
    items.retain(|(pk, _), _| !is_copy(pk) || pk.ends_with("#CANDIDATE"));
    api.restore(&items).await;
    assert!(!wrong(&api, true).await.is_empty());
    api.run_feed().await;
    assert_eq!(wrong(&api, false).await, [""; 0]);
    let (clock, random) = (api.environment.clock.clone(), api.environment.random.clone());
    let ids = Ids::new(clock.clone(), random);
    let run = FeedRun { number: 17, ids: &ids, clock: &clock };
    let pause = |_: PageWork| async {};
    let done = api.store().rewrite_people(tenant(ACME, Mode::Live), true, run, pause).await.unwrap();
    assert_eq!((done.people, done.rewritten), (2, 0));

    api.post(&format!("{}/erase", path(kim)), json!({})).await.expect(202);
    api.run_tasks().await;
    api.run_feed().await;
    api.get(&path(kim)).await.expect(410);
    let left = api.stored_items().await;
    let names = left.iter().filter(|(_, item)| format!("{item:?}").to_lowercase().contains("kimberley"));
    assert_eq!(names.map(|(key, _)| key).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    assert_eq!(wrong(&api, false).await, [""; 0]);
    let listed = api.request(Method::GET, CANDIDATES).send().await.expect(200);
    assert_eq!(listed.body["data"][0]["id"], json!(jo));
}
