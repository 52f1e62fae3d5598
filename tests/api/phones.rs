//! Phone numbers at every door: as people type them, in E.164 form afterwards, and what earlier versions have stored.

use http::Method;
use serde_json::{Value, json};
use shared::id::Id;
use shared::model::{CandidateRecord, Mode, Name, Profile};
use shared::store::Transaction;
use tests::assistant::Assistant;
use tests::browser::{Browser, input};
use tests::dashboard::owner;
use tests::fake::FakeResponse;
use tests::{ACME, TestApi, tenant};
use url::form_urlencoded::byte_serialize;

use crate::careers_applications::{Job, form};
use crate::vapi::{Setup, call_id};
use crate::voice_screens::NAME;

const CANDIDATES: &str = "/api/v1/candidates";
const NO_COUNTRY: &str = "phone must be a phone number with its country code, such as +14155552671";

/// The number that every spelling of these tests stands for.
const NUMBER: &str = "+4915112345678";

/// A candidate with an address of this number.
fn person(number: usize, phone: &str) -> Value {
    json!({ "name": NAME, "email": format!("jane{number}@example.com"), "phone": phone })
}

/// Creates a role in a country.
async fn role_in(api: &TestApi, country: &str) -> u64 {
    let role = json!({ "role": { "title": "Cook", "country": country } });
    api.post("/api/v1/quick_post", role).await.expect(201).number("/role/id")
}

/// Stores a candidate as earlier versions did, with this number.
async fn store_old(api: &TestApi, id: u64, phone: &str) {
    let name = Name::parse(NAME).unwrap().unwrap();
    let phone = serde_json::from_value(json!(phone)).unwrap();
    let profile =
        Profile { phone: Some(phone), ..Profile::new(name, format!("old{id}@example.com").parse().unwrap()) };
    let record = CandidateRecord::new(Id::new(id).unwrap(), profile, api.environment.clock.now());
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.insert_candidate(record, &[]).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// The ids of the candidates on a page of the list with a phone number, and where the next page begins.
async fn page_of(api: &TestApi, phone: &str, limit: usize, cursor: &str) -> (Vec<u64>, Option<String>) {
    let phone: String = byte_serialize(phone.as_bytes()).collect();
    let cursor = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
    let page = api.get(&format!("{CANDIDATES}?phone={phone}&limit={limit}{cursor}")).await.expect(200);
    let ids = page.body["data"].as_array().unwrap().iter().map(|candidate| candidate["id"].as_u64().unwrap());
    (ids.collect(), page.body["next_cursor"].as_str().map(str::to_owned))
}

async fn found(api: &TestApi, phone: &str) -> Vec<u64> {
    let (ids, next) = page_of(api, phone, 100, "").await;
    assert_eq!(next, None);
    ids
}

#[tokio::test]
async fn a_number_is_read_by_the_country_of_the_role_or_of_the_organization() {
    let api = TestApi::new().await;
    let (german, anywhere) = (role_in(&api, "DE").await, role_in(&api, "").await);
    let created = async |number: usize, phone: &str, role: Option<u64>| {
        let mut body = person(number, phone);
        body["role_id"] = json!(role);
        api.post(CANDIDATES, body).await
    };
    let national = "0151 12345678";
    assert_eq!(created(1, national, Some(german)).await.expect(201).string("/phone"), NUMBER);
    for (number, role) in [(2, None), (3, Some(anywhere))] {
        assert_eq!(created(number, national, role).await.expect(422).messages(), [NO_COUNTRY]);
    }
    api.change_settings(tenant(ACME, Mode::Live), ["FR", "UTC", ""]).await;
    assert_eq!(created(4, "06 12 34 56 78", None).await.expect(201).string("/phone"), "+33612345678");
    assert_eq!(
        created(5, "06 12 34 56 78", Some(anywhere)).await.expect(201).string("/phone"),
        "+33612345678"
    );
    assert_eq!(created(6, national, Some(german)).await.expect(201).string("/phone"), NUMBER, "the role's");
    let changed = created(7, "+1 415 555 2671", None).await.expect(201).number("/id");
    let patch =
        async |phone: &str| api.patch(&format!("{CANDIDATES}/{changed}"), json!({ "phone": phone })).await;
    assert_eq!(patch("06.12.34.56.78").await.expect(200).string("/phone"), "+33612345678");
    let refused = patch("06 12").await.expect(422);
    assert_eq!(refused.messages(), ["phone has too few digits for a number of its country"]);
    // A role that nobody has is the first mistake.
    assert_eq!(
        created(8, national, Some(17)).await.expect(422).messages(),
        ["role_id must be the id of a role"]
    );
}

#[tokio::test]
async fn every_door_reads_a_number_in_the_same_way() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let assistant = Assistant::new(&api);
    let job = Job::new(&api, "Analyst").await;
    let path = format!("/api/v1/roles/{}", job.role);
    api.patch(&path, json!({ "country": "DE" })).await.expect(200);
    let role = job.role.to_string();
    for (number, typed) in [
        NUMBER,
        "+49 0151 12345678",
        "+49 (0)151 12345678",
        "0049 151 12345678",
        "0151/12345678",
        "\u{202a}+49 151 12345678\u{202c}",
        "＋４９ １５１ １２３４５６７８",
        "٠١٥١ ١٢٣٤٥٦٧٨",
        "tel:+49-151-12345678",
        "4915112345678.0",
    ]
    .into_iter()
    .enumerate()
    {
        let email = |door: &str| format!("{door}{number}@example.com");
        let mut body = person(number, typed);
        body["role_id"] = job.role.into();
        assert_eq!(api.post(CANDIDATES, body.clone()).await.expect(201).string("/phone"), NUMBER, "{typed}");
        body["email"] = email("assistant").into();
        assistant.call("add_candidate", body).await;
        job.apply(&api, &form("Ada", &email("career")).set("phone", typed)).await.expect(303);
        let dashboard = email("dashboard");
        let fields = [("name", "Zoe"), ("email", &*dashboard), ("phone", typed), ("role_id", &*role)];
        browser.post("/dashboard/candidates/new", &fields).await.expect(303);
        for door in ["assistant", "career", "dashboard"] {
            let found = api.get(&format!("{CANDIDATES}?email={}", email(door))).await.expect(200);
            assert_eq!(found.string("/data/0/phone"), NUMBER, "{door}: {typed}");
        }
    }
    assert_eq!(found(&api, "+49 (0)151 12345678").await.len(), 40);
}

#[tokio::test]
async fn a_number_that_cannot_be_read_is_refused_with_the_reason() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let assistant = Assistant::new(&api);
    let exponent = "is incomplete: a spreadsheet has cut this number's digits; format the column as text and export it again";
    for (typed, reason) in [
        ("+1 415 555 2671 ext. 12", "must not have an extension: leave it out, or keep it in a note"),
        (
            "+49 151 12345678 / +49 30 901820",
            "must be one number: this looks like two, or like a number and an extension",
        ),
        ("+1 415 CALL NOW", "must not contain anything but digits, spaces and punctuation"),
        ("+49 151 12345678 (mobile)", "must not contain anything but digits, spaces and punctuation"),
        ("4.91511E+12", exponent),
        ("4,91511E+12", exponent),
        ("+49 1", "has too few digits for a number of its country"),
        ("+1 415 555 267123", "has too many digits for a number of its country"),
        ("+999 1234567", "must begin with + and the code of a country, such as +49"),
        ("0151 12345678", "must be a phone number with its country code, such as +14155552671"),
    ] {
        let body = person(1, typed);
        let refused = api.post(CANDIDATES, body.clone()).await.expect(422);
        assert_eq!(refused.messages(), [format!("phone {reason}")], "{typed}");
        let refused = assistant.refused("add_candidate", body).await;
        assert!(refused.contains(&format!("phone {reason}")), "{typed}: {refused}");
        let fields = [("name", "Zoe"), ("email", "zoe@example.com"), ("phone", typed)];
        let page = browser.post("/dashboard/candidates/new", &fields).await.expect(422);
        assert_eq!(input(&page, "phone"), typed);
        let shown = tests::dashboard::escaped(reason);
        assert!(page.text.contains(&format!("Phone number {shown}")), "{typed}: {}", page.text);
    }
    assert_eq!(api.get(CANDIDATES).await.body["data"], json!([]));
}

/// A reader may send back what it was answered. Everything else about the candidate can be changed, too.
#[tokio::test]
async fn a_stored_number_of_an_earlier_version_stays_until_it_is_changed() {
    let api = TestApi::new().await;
    let browser = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    for (id, stored) in [(1, "+49015112345678"), (2, "+9991234567"), (3, "+151234567890123")] {
        store_old(&api, id, stored).await;
        let path = format!("{CANDIDATES}/{id}");
        assert_eq!(api.get(&path).await.expect(200).string("/phone"), stored);
        let change = json!({ "name": "Renamed", "phone": stored });
        assert_eq!(api.patch(&path, change).await.expect(200).string("/phone"), stored);
        let page = browser.get(&format!("/dashboard/candidates/{id}/edit")).await.expect(200);
        assert_eq!(input(&page, "phone"), stored);
        let email = format!("old{id}@example.com");
        let fields = [("name", "Renamed again"), ("email", &*email), ("phone", stored)];
        browser.post(&format!("/dashboard/candidates/{id}/edit"), &fields).await.expect(303);
        let shown = api.get(&path).await.expect(200);
        assert_eq!((shown.string("/name"), shown.string("/phone")), ("Renamed again", stored));
        assert_eq!(found(&api, stored).await, [id]);
    }
    let refused = api.patch(&format!("{CANDIDATES}/1"), json!({ "phone": "+9991234567" })).await.expect(422);
    assert_eq!(refused.messages(), ["phone must begin with + and the code of a country, such as +49"]);
    let changed = api.patch(&format!("{CANDIDATES}/1"), json!({ "phone": "+49 0151 12345678" })).await;
    assert_eq!(changed.expect(200).string("/phone"), NUMBER);
    assert_eq!(found(&api, NUMBER).await, [1]);
}

#[tokio::test]
async fn a_search_finds_the_number_and_what_an_earlier_version_stored_for_it() {
    let api = TestApi::new().await;
    for id in 1..=3 {
        store_old(&api, id, "+49015112345678").await;
    }
    let mut newer = Vec::new();
    for number in 0..3 {
        newer.insert(0, api.post(CANDIDATES, person(number, NUMBER)).await.expect(201).number("/id"));
    }
    for spelling in [NUMBER, "+49 151 123 456 78", " 49 151 12345678", "0049 151 12345678"] {
        assert_eq!(found(&api, spelling).await, newer, "{spelling}");
    }
    let all: Vec<_> = newer.iter().copied().chain([3, 2, 1]).collect();
    for spelling in ["+49015112345678", "+49 0151 12345678", " 49 (0)151 12345678"] {
        assert_eq!(found(&api, spelling).await, all, "{spelling}");
        for limit in 1..=6 {
            let (mut read, mut cursor) = (Vec::new(), String::new());
            loop {
                let (ids, next) = page_of(&api, spelling, limit, &cursor).await;
                assert!(ids.len() <= limit);
                read.extend(ids);
                let Some(next) = next else { break };
                cursor = next;
            }
            assert_eq!(read, all, "{spelling} in pages of {limit}");
        }
    }
    let session = owner(&api, ACME).await;
    let browser = Browser::with_session(&api, ACME, &session).await;
    let page = browser.get("/dashboard/candidates?q=%2B49+%280%29151+12345678").await.expect(200);
    for id in all {
        assert!(page.text.contains(&format!("/dashboard/candidates/{id}")), "{id}: {}", page.text);
    }
}

/// The provider gets the number that is right, and all spellings of a number have one limit.
#[tokio::test]
async fn a_call_goes_to_the_parsed_number_and_counts_for_it() {
    let setup = Setup::new(|request| FakeResponse::Json(201, json!({ "id": call_id(request) }))).await;
    let (api, client) = (&setup.api, setup.client());
    let role = client.role().await;
    let mut candidates = Vec::new();
    for id in 1..=3 {
        store_old(api, id, "+49015112345678").await;
        candidates.push(id);
    }
    for number in 0..3 {
        candidates.push(api.post(CANDIDATES, person(number, NUMBER)).await.expect(201).number("/id"));
    }
    for candidate in candidates {
        client.invite(candidate, role).await.expect(201);
    }
    api.run_tasks().await;
    let requests = setup.vapi.requests();
    let numbers: Vec<_> = requests
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| {
            let body: Value = serde_json::from_str(&request.body).unwrap();
            body["customer"]["number"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(numbers, [NUMBER; 5]);
    let failed = client.get(&format!("voice_screens?role_id={role}&status=failed")).await.expect(200);
    let sentence = "No call was made: the phone number has already been called 5 times that day.";
    assert_eq!(failed.body["data"].as_array().unwrap().len(), 1);
    assert_eq!(failed.string("/data/0/summary"), sentence);
}

#[tokio::test]
async fn kosovo_is_a_country_of_roles_organizations_numbers_and_calls() {
    let setup = Setup::new(|request| FakeResponse::Json(201, json!({ "id": call_id(request) }))).await;
    let (api, client) = (&setup.api, setup.client());
    let role = role_in(api, "xk").await;
    assert_eq!(api.get(&format!("/api/v1/roles/{role}")).await.expect(200).string("/country"), "XK");
    let browser = Browser::with_session(api, ACME, &owner(api, ACME).await).await;
    let mut body = person(1, "043 201 234");
    body["role_id"] = role.into();
    let created = api.post(CANDIDATES, body).await.expect(201);
    assert_eq!(created.string("/phone"), "+38343201234");
    let candidate = created.number("/id");
    let refused = client.invite(candidate, role).await.expect(422);
    assert!(refused.messages()[0].starts_with("phone must not be a number in Kosovo"), "{}", refused.text);
    let countries = "/dashboard/settings/integrations/channels/voice";
    browser.post(countries, &[("countries", "DE, XK, AC, TA")]).await.expect(303);
    client.invite(candidate, role).await.expect(201);
    let fields = [("country", "XK"), ("time_zone", "Europe/Belgrade"), ("contact_email", "")];
    browser.post("/dashboard/settings/organization", &fields).await.expect(303);
    let organization = api.request(Method::GET, "/api/v1/organization").send().await.expect(200);
    assert_eq!(organization.string("/country"), "XK");
    assert_eq!(
        api.post(CANDIDATES, person(2, "038 200 123")).await.expect(201).string("/phone"),
        "+38338200123"
    );
}
