//! Erasures and legal holds: nothing about an erased candidate stays, except that he or she was erased.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::{BoxFuture, FutureExt, join};
use http::Method;
use serde_json::{Value, json};
use shared::config::Services;
use shared::id::Id;
use shared::model::{Mode, VoiceProvider};
use shared::providers::Providers;
use shared::providers::bucket::Bucket;
use shared::providers::voice;
use tests::browser::{Browser, FORM, Form};
use tests::fake::{FakeResponse, NOWHERE};
use tests::interceptor::Fault;
use tests::{ACME, BASE_URL, Fixtures, GLOBEX, Response, TestApi, key_actor, tenant};

use crate::careers_applications::{Job, form};
use crate::careers_resumes::{attach, send};
use crate::vapi::{Setup, in_state, without_calls};
use crate::voice_screens::Invited;
use crate::voice_webhook::{callback, conversation, deliver, report};

pub(super) const NOW: &str = "2026-11-20T09:30:00.000Z";
/// A time when all calls are over and all upload forms have expired.
const LATER: &str = "2026-11-20T12:30:00.000Z";

fn path(candidate: u64) -> String {
    format!("/api/v1/candidates/{candidate}")
}

pub(super) async fn erase(api: &TestApi, candidate: u64) -> Response {
    api.request(Method::POST, &format!("{}/erase", path(candidate))).send().await
}

async fn hold(api: &TestApi, candidate: u64, reason: &str) -> Response {
    let request = api.request(Method::PUT, &format!("{}/legal_hold", path(candidate)));
    request.json(&json!({ "reason": reason })).send().await
}

async fn lift(api: &TestApi, candidate: u64) -> Response {
    api.delete(&format!("{}/legal_hold", path(candidate))).await
}

/// Sends a POST with an idempotency key.
async fn post(api: &TestApi, path: &str, key: &str, body: &Value) -> Response {
    api.request(Method::POST, path).header("idempotency-key", key).json(body).send().await
}

fn assert_erased(response: &Response) {
    assert_eq!((response.status, response.string("/code")), (410, "erased"), "{}", response.text);
}

/// Roles to apply for, each with a published posting.
pub(super) struct Jobs([Job; 2]);

impl Jobs {
    pub(super) async fn new(api: &TestApi) -> Self {
        Self([Job::new(api, "Analyst").await, Job::new(api, "Cook").await])
    }

    /// The statistics of the roles.
    pub(super) async fn stats(&self, api: &TestApi) -> Vec<Value> {
        let mut stats = Vec::new();
        for job in &self.0 {
            stats.push(api.get(&format!("/api/v1/roles/{}/stats", job.role)).await.expect(200).body);
        }
        stats
    }
}

/// A candidate with an unmistakable text in every field, file, note, receipt and transcript.
pub(super) struct Person {
    pub(super) id: u64,
    word: String,
    number: usize,
    screens: [u64; 2],
}

impl Person {
    /// Creates the candidate: applies on the career page with a file, applies through the API, and is screened, moved,
    /// rejected and noted.
    pub(super) async fn create(api: &TestApi, jobs: &Jobs, number: usize) -> Self {
        let word = format!("zorbax{number}q");
        let [first, second] = &jobs.0;
        let filled = Self::form(&word, number);
        // An IP address can send 100 applications an hour.
        let apply = Browser::new(api).request(Method::POST, &format!("{}/apply", first.path));
        let apply = apply.from(&format!("198.51.100.{}", number % 256)).body(FORM, filled.encoded());
        let applied = apply.send().await.expect(303);
        attach(api, &applied, format!("%PDF-1.7\n% {word}\n1 0 obj\n<<>>\nendobj\n%%EOF\n").as_bytes())
            .await
            .expect(303);
        let found = api.get(&format!("/api/v1/candidates?email={word}@erase.example")).await.expect(200);
        let id = found.number("/data/0/id");
        let at = path(id);
        let key = |step: &str| format!("k{number}-{step}");
        let profile =
            json!({ "source": word, "tags": [word, "shared"], "external_id": format!("ats {word}") });
        api.patch(&at, profile).await.expect(200);
        let body = json!({ "role_id": second.role, "source": word });
        post(api, &format!("{at}/applications"), &key("apply"), &body).await.expect(201);
        let note = json!({ "text": format!("I know {word} well.") });
        post(api, &format!("{at}/notes"), &key("note"), &note).await.expect(201);
        let consent = json!({
            "purpose": "recording",
            "granted": true,
            "obtained_at": "2026-11-20T09:00:00.000Z",
            "wording": format!("{word} agrees."),
        });
        post(api, &format!("{at}/consents"), &key("consent"), &consent).await.expect(201);
        let invite = format!("{at}/invite_screen");
        let body = json!({ "role_id": first.role });
        let screen = post(api, &invite, &key("invite"), &body).await.expect(201).number("/id");
        let mut talk = conversation(84);
        talk["artifact"]["messages"][2]["message"] = json!(format!("They call me {word}."));
        talk["artifact"]["structuredOutputs"]["output-1"]["result"]["summary"] =
            json!(format!("{word} spoke."));
        talk["artifact"]["structuredOutputs"]["output-1"]["result"]["highlights"][0]["text"] = json!(word);
        simulated_callback(api, screen, talk).await;
        let body = json!({ "role_id": second.role, "scheduled_at": "2026-11-30T09:00:00Z" });
        let scheduled = post(api, &invite, &key("schedule"), &body).await.expect(201).number("/id");
        let body = json!({ "role_id": first.role, "reason": word, "notes": format!("{word} was late.") });
        post(api, &format!("{at}/reject"), &key("reject"), &body).await.expect(200);
        Self { id, word, number, screens: [screen, scheduled] }
    }

    fn form(word: &str, number: usize) -> Form {
        form(&format!("{word} Miller"), &format!("{word}@erase.example"))
            .set("phone", &format!("+49151700{number:05}"))
            .set("resume_url", &format!("https://{word}.example/cv"))
            .set("note", &format!("Call me {word}."))
    }

    fn email(&self) -> String {
        format!("{}@erase.example", self.word)
    }

    /// The candidate's detail without the links to files, which expire.
    pub(super) async fn detail(&self, api: &TestApi) -> Value {
        let mut detail = api.get(&path(self.id)).await.expect(200).body;
        detail["resume_url"] = Value::Null;
        for touchpoint in detail["touchpoints"].as_array_mut().unwrap() {
            if let Some(detail) = touchpoint["detail"].as_object_mut() {
                detail.remove("resume_url");
            }
        }
        detail
    }

    /// The texts that only this candidate's data contains.
    fn texts(&self) -> [String; 2] {
        [self.word.clone(), format!("151700{:05}", self.number)]
    }

    /// Asserts that the candidate's texts are nowhere.
    pub(super) fn assert_gone(&self, everything: &[(String, String)]) {
        let left: Vec<_> = self.places(everything).collect();
        assert!(left.is_empty(), "{:?} is still in {left:?}", self.texts());
    }

    /// The places that contain the candidate's texts, with their content.
    pub(super) fn places<'e>(
        &self,
        everything: &'e [(String, String)],
    ) -> impl Iterator<Item = &'e (String, String)> {
        let texts = self.texts();
        everything.iter().filter(move |(_, content)| texts.iter().any(|text| content.contains(text)))
    }
}

/// Sends the simulator's report on a conversation.
pub(super) async fn simulated_callback(api: &TestApi, screen: u64, talk: Value) {
    let mut body = callback(api, screen, "end-of-call-report", talk);
    body["message"]["call"]["id"] = json!("simulated");
    let simulator = api.environment.providers.voice_provider(VoiceProvider::Simulator).unwrap();
    let (body, now) = (body.to_string(), api.environment.clock.now().as_second());
    let request = api.request(Method::POST, "/webhooks/voice/simulator").anonymous();
    let request =
        request.header("x-signature", &voice::sign(&simulator.webhook_secrets()[0], now, body.as_bytes()));
    let request = request.header("x-timestamp", &now.to_string()).body("application/json", body);
    request.send().await.expect(200);
}

pub(super) fn bucket(api: &TestApi) -> &Bucket {
    api.environment.providers.resumes().unwrap()
}

/// The keys in the bucket.
pub(super) async fn keys(api: &TestApi) -> Vec<String> {
    let (mut keys, now): (Vec<String>, _) = (Vec::new(), api.environment.clock.now());
    loop {
        let page = bucket(api).list("", keys.last().map(String::as_str), now).await.unwrap();
        if page.is_empty() {
            return keys;
        }
        keys.extend(page);
    }
}

/// The text of every item in the table and of every object in the bucket, in lower case, with its place.
pub(super) async fn everything(api: &TestApi) -> Vec<(String, String)> {
    // The feed deletes what it was writing into the search index.
    api.run_feed().await;
    let mut found = Vec::new();
    for ((pk, sk), item) in api.stored_items().await {
        let mut content = String::new();
        for (name, value) in &item {
            content.push_str(name);
            append(value, &mut content);
        }
        found.push((format!("the item {pk} {sk}"), content.to_lowercase()));
    }
    for key in keys(api).await {
        let object = bucket(api).read(&key, 1 << 24, api.environment.clock.now()).await.unwrap().unwrap();
        let content = format!("{key} {}", String::from_utf8_lossy(&object.bytes));
        found.push((format!("the object {key}"), content.to_lowercase()));
    }
    found
}

pub(super) fn append(value: &AttributeValue, content: &mut String) {
    content.push(' ');
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => content.push_str(text),
        AttributeValue::B(bytes) => content.push_str(&String::from_utf8_lossy(bytes.as_ref())),
        AttributeValue::Bs(blobs) => {
            for blob in blobs {
                content.push_str(&String::from_utf8_lossy(blob.as_ref()));
            }
        }
        AttributeValue::Ss(texts) => content.push_str(&texts.join(" ")),
        AttributeValue::L(values) => values.iter().for_each(|value| append(value, content)),
        AttributeValue::M(values) => values.iter().for_each(|(name, value)| {
            content.push_str(name);
            append(value, content);
        }),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => {}
        other => panic!("{other:?}"),
    }
}

/// Runs the tasks now, and when calls are over and upload forms have expired.
async fn finish(api: &TestApi) {
    api.run_tasks().await;
    api.clock.set(LATER);
    api.run_tasks().await;
}

/// Asserts that every request about an erased person gets a 410 or a 404.
async fn assert_requests_fail(
    api: &TestApi,
    jobs: &Jobs,
    person: &Person,
    applications: &[u64],
    erased: &Value,
) {
    let at = path(person.id);
    let requests = [
        (Method::GET, String::new(), Value::Null),
        (Method::GET, "?touchpoints=1".to_owned(), Value::Null),
        (Method::GET, "/touchpoints".to_owned(), Value::Null),
        (Method::GET, "/notes".to_owned(), Value::Null),
        (Method::GET, "/export".to_owned(), Value::Null),
        (Method::PATCH, String::new(), json!({ "name": "x" })),
        (Method::POST, "/advance".to_owned(), json!({ "stage": "offer" })),
        (Method::POST, "/reject".to_owned(), json!({})),
        (Method::POST, "/unreject".to_owned(), json!({})),
        (Method::POST, "/hire".to_owned(), json!({})),
        (Method::POST, "/unhire".to_owned(), json!({})),
        (Method::POST, "/notes".to_owned(), json!({ "text": "x" })),
        (Method::DELETE, "/notes/17".to_owned(), Value::Null),
        (Method::POST, "/applications".to_owned(), json!({ "role_id": jobs.0[0].role })),
        (Method::POST, "/invite_screen".to_owned(), json!({ "role_id": jobs.0[0].role })),
        (Method::PUT, "/legal_hold".to_owned(), json!({ "reason": "x" })),
        (Method::DELETE, "/legal_hold".to_owned(), Value::Null),
    ];
    for (method, rest, body) in requests {
        let request = api.request(method, &format!("{at}{rest}"));
        let request = if body.is_null() { request } else { request.json(&body) };
        assert_erased(&request.send().await);
    }
    for body in [json!({}), json!({ "reason": "mistake" })] {
        let again = api.post(&format!("{at}/erase"), body).await.expect(202);
        assert_eq!(again.body, *erased, "the first erasure stays");
    }
    for id in applications {
        api.get(&format!("/api/v1/applications/{id}")).await.expect(404);
    }
    for id in person.screens {
        api.get(&format!("/api/v1/voice_screens/{id}")).await.expect(404);
        api.post(&format!("/api/v1/voice_screens/{id}/cancel"), json!({})).await.expect(404);
    }
    let browser = Browser::signed_in(api, ACME).await;
    browser.get(&format!("/dashboard/candidates/{}", person.id)).await.expect(410);
}

/// Asserts that no list and no search shows an erased person.
async fn assert_not_listed(api: &TestApi, jobs: &Jobs, person: &Person) {
    let role = jobs.0[0].role;
    for list in [
        "candidates".to_owned(),
        "candidates?stage=applied".to_owned(),
        format!("candidates?role_id={role}"),
        format!("candidates?role_id={role}&stage=rejected"),
        format!("candidates?email={}", person.email()),
        "candidates?phone=%2B4915170000001".to_owned(),
        format!("candidates?external_id=ats%20{}", person.word),
        format!("candidates?source={}", person.word),
        format!("candidates?tag={}", person.word),
        format!("candidates?q={}", person.word),
        "candidates?tag=shared".to_owned(),
        "applications".to_owned(),
        "applications?status=rejected".to_owned(),
        format!("applications?role_id={role}"),
        format!("applications?candidate_id={}", person.id),
        "voice_screens".to_owned(),
        "voice_screens?result=passed".to_owned(),
        format!("voice_screens?role_id={role}"),
        format!("voice_screens?candidate_id={}", person.id),
    ] {
        let page = api.get(&format!("/api/v1/{list}")).await.expect(200);
        assert!(!page.text.contains(&person.id.to_string()), "{list}: {}", page.text);
        assert!(!page.text.contains(&person.word), "{list}: {}", page.text);
    }
}

#[tokio::test]
async fn an_erased_candidate_is_gone_for_good() {
    let api = TestApi::new().await;
    let jobs = Jobs::new(&api).await;
    let bystander = Person::create(&api, &jobs, 2).await;
    let before = jobs.stats(&api).await;
    let untouched = bystander.detail(&api).await;
    let person = Person::create(&api, &jobs, 1).await;
    let with_person = jobs.stats(&api).await;
    let detail = api.get(&path(person.id)).await.expect(200);
    assert!(person.places(&everything(&api).await).count() > 20);
    assert_eq!(detail.body["legal_hold"], Value::Null);
    let applications: Vec<_> = (0..2).map(|n| detail.number(&format!("/applications/{n}/id"))).collect();

    let erased = erase(&api, person.id).await.expect(202);
    let mut actor = key_actor(ACME, Mode::Live);
    actor.as_object_mut().unwrap().remove("name");
    let expected = json!({ "id": person.id, "erased_at": NOW, "reason": "request", "actor": actor });
    assert_eq!(erased.body, expected);
    for is_finished in [false, true] {
        if is_finished {
            finish(&api).await;
        }
        assert_requests_fail(&api, &jobs, &person, &applications, &expected).await;
        assert_not_listed(&api, &jobs, &person).await;
    }
    person.assert_gone(&everything(&api).await);
    assert_eq!(bystander.detail(&api).await, untouched, "others stay as they were");

    let after = jobs.stats(&api).await;
    for ((before, with_person), after) in before.iter().zip(&with_person).zip(&after) {
        let mut expected = with_person.clone();
        expected["rejections"] = before["rejections"].clone();
        for (stage, figures) in expected["stages"].as_object_mut().unwrap() {
            figures["now"] = before["stages"][stage]["now"].clone();
        }
        assert_ne!(expected, *with_person, "the candidate was counted");
        assert_eq!(*after, expected, "only the numbers of current applications fall");
    }

    let key = format!("erased/1/live/{}.json", person.id);
    let tombstone = bucket(&api).read(&key, 4096, api.environment.clock.now()).await.unwrap().unwrap();
    let mut expected = expected;
    expected["organization"] = json!(1);
    expected["mode"] = json!("live");
    assert_eq!(serde_json::from_slice::<Value>(&tombstone.bytes).unwrap(), expected);
    let again =
        json!({ "name": "x", "email": person.email(), "external_id": format!("ats {}", person.word) });
    let created = api.post("/api/v1/candidates", again).await.expect(201);
    assert_ne!(created.number("/id"), person.id, "the e-mail address and the external id are free");
}

#[tokio::test]
async fn an_erasure_has_a_reason() {
    let api = TestApi::new().await;
    for (number, reason) in ["request", "retention", "mistake"].into_iter().enumerate() {
        let jane = json!({ "name": "Jane", "email": format!("jane{number}@example.com") });
        let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
        let erase = format!("{}/erase", path(jane));
        for (body, message) in [
            (json!({ "reason": "whim" }), "reason must be one of request, retention, mistake"),
            (json!({ "reason": 7 }), "reason must be one of request, retention, mistake"),
            (json!({ "because": "request" }), "because is not a known field"),
        ] {
            assert_eq!(api.post(&erase, body).await.expect(422).messages(), [message]);
        }
        api.get(&path(jane)).await.expect(200);
        for foreign in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
            let request = api.request(Method::POST, &erase).key(foreign.0, foreign.1);
            request.send().await.expect(404);
        }
        let erased =
            post(&api, &erase, &format!("k{number}"), &json!({ "reason": reason })).await.expect(202);
        assert_eq!(erased.string("/reason"), reason);
        let replayed =
            post(&api, &erase, &format!("k{number}"), &json!({ "reason": reason })).await.expect(202);
        assert_eq!((replayed.header("idempotency-replayed"), &replayed.body), ("true", &erased.body));
        let other = post(&api, &erase, &format!("k{number}"), &json!({})).await.expect(422);
        assert_eq!(other.string("/code"), "idempotency_mismatch");
        for foreign in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
            let request = api.request(Method::GET, &path(jane)).key(foreign.0, foreign.1);
            request.send().await.expect(404);
        }
    }
    erase(&api, 17).await.expect(404);
}

#[tokio::test]
async fn nobody_is_erased_while_a_legal_hold_is_set() {
    let api = TestApi::new().await;
    let jobs = Jobs::new(&api).await;
    let person = Person::create(&api, &jobs, 1).await;
    let before = api.get(&path(person.id)).await.expect(200);
    let mut unchanged = person.detail(&api).await;
    for (body, message) in [
        (json!({}), "reason can't be blank"),
        (json!({ "reason": " " }), "reason can't be blank"),
        (json!({ "reason": "x".repeat(501) }), "reason must be at most 500 characters"),
        (json!({ "reason": true }), "reason must be a string"),
    ] {
        let request = api.request(Method::PUT, &format!("{}/legal_hold", path(person.id))).json(&body);
        assert_eq!(request.send().await.expect(422).messages(), [message]);
    }
    let set = hold(&api, person.id, "Case 17").await.expect(200);
    let expected = json!({ "reason": "Case 17", "set_at": NOW, "actor": key_actor(ACME, Mode::Live) });
    assert_eq!(set.body, json!({ "legal_hold": expected }));
    api.clock.set("2026-11-20T10:00:00Z");
    assert_eq!(hold(&api, person.id, " Case 17 ").await.expect(200).body, set.body, "nothing has changed");
    let shown = api.get(&path(person.id)).await.expect(200);
    assert_eq!(shown.body["legal_hold"], expected);
    assert_ne!(shown.header("etag"), before.header("etag"));
    unchanged["legal_hold"] = expected.clone();
    assert_eq!(person.detail(&api).await, unchanged, "nothing else has changed");
    let export = api.get(&format!("{}/export", path(person.id))).await.expect(200);
    assert_eq!((&export.body["legal_hold"], &export.body["hold_lifted_at"]), (&expected, &Value::Null));
    let items = api.stored_items().await;
    for _ in 0..2 {
        let refused = erase(&api, person.id).await.expect(409);
        assert_eq!(refused.string("/code"), "legal_hold");
        assert_eq!(refused.string("/error"), "A legal hold on the candidate forbids the erasure");
    }
    let count = |items: &std::collections::BTreeMap<_, _>| items.len();
    assert_eq!(count(&api.stored_items().await), count(&items), "nothing was erased");
    let organization = tenant(ACME, Mode::Live).organization;
    assert!(api.store().find_legal_hold(organization).await.unwrap().is_some());
    let replaced = hold(&api, person.id, "Case 18").await.expect(200);
    assert_eq!(replaced.string("/legal_hold/set_at"), "2026-11-20T10:00:00.000Z");

    for _ in 0..2 {
        assert_eq!(lift(&api, person.id).await.expect(200).body, json!({ "legal_hold": null }));
    }
    assert_eq!(api.store().find_legal_hold(organization).await.unwrap(), None);
    let export = api.get(&format!("{}/export", path(person.id))).await.expect(200);
    assert_eq!(export.string("/hold_lifted_at"), "2026-11-20T10:00:00.000Z");
    let record = api.store().find_candidate(tenant(ACME, Mode::Live), Id::new(person.id).unwrap()).await;
    let record = record.unwrap().unwrap().present().unwrap();
    assert_eq!(record.hold_lifted_at, Some("2026-11-20T10:00:00Z".parse().unwrap()));
    erase(&api, person.id).await.expect(202);
    finish(&api).await;
    person.assert_gone(&everything(&api).await);
}

#[tokio::test]
async fn the_idempotency_keys_of_an_erased_candidate_get_410() {
    let api = TestApi::new().await;
    let create =
        |name: &str| json!({ "name": format!("{name} zorbax"), "email": format!("{name}@example.com") });
    let send = async |key: &str, body: &Value| post(&api, "/api/v1/candidates", key, body).await;
    let jane = send("jane", &create("jane")).await.expect(201).number("/id");
    let joe = send("joe", &create("joe")).await.expect(201);
    let notes = format!("{}/notes", path(jane));
    let note = json!({ "text": "zorbax" });
    post(&api, &notes, "note", &note).await.expect(201);
    let role = Job::new(&api, "Cook").await.role;
    let invite = format!("{}/invite_screen", path(jane));
    let later = json!({ "role_id": role, "scheduled_at": "2026-11-30T09:00:00Z" });
    let screen = post(&api, &invite, "invite", &later).await.expect(201).number("/id");
    let cancel = format!("/api/v1/voice_screens/{screen}/cancel");
    post(&api, &cancel, "cancel", &json!({})).await.expect(200);
    erase(&api, jane).await.expect(202);
    for is_finished in [false, true] {
        if is_finished {
            api.run_tasks().await;
            let receipts = everything(&api).await;
            let mut receipts = receipts.iter().filter(|(place, _)| place.contains("RECEIPT"));
            let of_jane = receipts.by_ref().filter(|(_, content)| !content.contains("joe@example.com"));
            for (place, content) in of_jane {
                assert!(!content.contains("zorbax") && !content.contains("jane@"), "{place}: {content}");
            }
        }
        assert_erased(&send("jane", &create("jane")).await);
        assert_erased(&send("jane", &create("another")).await);
        assert_erased(&post(&api, &notes, "note", &note).await);
        assert_erased(&post(&api, &invite, "invite", &later).await);
        assert_erased(&post(&api, &cancel, "cancel", &json!({})).await);
        let again = send("joe", &create("joe")).await.expect(201);
        assert_eq!((again.header("idempotency-replayed"), &again.body), ("true", &joe.body));
    }
    api.clock.set("2026-11-21T09:30:01Z");
    send("jane", &create("jane")).await.expect(201);
}

/// A receipt that has expired is replaced by the receipt of another request, which an erasure must not empty.
#[tokio::test]
async fn an_erasure_leaves_the_receipts_of_others_alone() {
    let api = TestApi::new().await;
    let create = |name: &str| json!({ "name": name, "email": format!("{name}@example.com") });
    let jane = post(&api, "/api/v1/candidates", "k", &create("jane")).await.expect(201).number("/id");
    api.clock.set("2026-11-21T09:30:01Z");
    let joe = post(&api, "/api/v1/candidates", "k", &create("joe")).await.expect(201);
    erase(&api, jane).await.expect(202);
    api.run_tasks().await;
    let again = post(&api, "/api/v1/candidates", "k", &create("joe")).await.expect(201);
    assert_eq!((again.header("idempotency-replayed"), &again.body), ("true", &joe.body));
}

#[tokio::test]
async fn a_candidate_with_200_applications_disappears_at_once() {
    let api = TestApi::new().await;
    let jane = json!({ "name": "Jane", "email": "jane@example.com" });
    let jane = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
    api.write_open_roles(1..=200).await;
    api.write_applications(jane, 1..=200).await;
    erase(&api, jane).await.expect(202);
    let listed = api.get("/api/v1/candidates?role_id=7").await.expect(200);
    assert_eq!(listed.body["data"], json!([]));
    assert_eq!(api.get("/api/v1/applications?limit=100").await.expect(200).body["data"], json!([]));
    api.run_tasks().await;
    api.run_feed().await;
    for role in 1..=200 {
        let stats = api.get(&format!("/api/v1/roles/{role}/stats")).await.expect(200);
        assert_eq!((stats.number("/stages/applied/now"), stats.number("/stages/applied/ever")), (0, 1));
        assert_eq!(stats.number("/applicants"), 1);
    }
    let left = api.stored_items().await.into_keys();
    // Changes in the feed have only identifiers.
    let left = left.filter(|(pk, _)| !pk.starts_with("OUTBOX#"));
    let left: BTreeSet<_> =
        left.filter(|(pk, sk)| pk.contains(&jane.to_string()) || sk.contains(&jane.to_string())).collect();
    let padded = format!("{jane:016}");
    let record = (format!("1#live#CANDIDATE#{padded}"), "~FILE".to_owned());
    assert_eq!(left, BTreeSet::from([record, ("1#live#ERASED".to_owned(), padded)]));
}

#[tokio::test]
async fn a_file_that_is_uploaded_after_the_erasure_is_deleted() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let applied = job.apply(&api, &form("Zorbax", "zorbax@example.com")).await.expect(303);
    let candidate = api.get("/api/v1/candidates").await.number("/data/0/id");
    let browser = Browser::new(&api);
    let page = browser.follow(&applied).await.expect(200);
    erase(&api, candidate).await.expect(202);
    api.run_tasks().await;
    let sent = send(&page, b"%PDF-1.7\n% zorbax\n1 0 obj\n<<>>\nendobj\n%%EOF\n").await.expect(303);
    browser.get(sent.header("location").strip_prefix(BASE_URL).unwrap()).await;
    assert!(keys(&api).await.iter().any(|key| key.starts_with("incoming/")));
    // The ticket is valid for an hour, and then a form for 15 minutes.
    for (time, files) in [("2026-11-20T10:44:59.000Z", 2), ("2026-11-20T10:45:00.000Z", 1)] {
        api.clock.set(time);
        api.run_tasks().await;
        assert_eq!(keys(&api).await.len(), files, "{:?}", keys(&api).await);
    }
    assert!(!everything(&api).await.iter().any(|(_, content)| content.contains("zorbax")));
    let traces = api.stored_items().await.into_keys().filter(|(pk, _)| pk.contains("#CANDIDATE_TRACE#"));
    assert_eq!(traces.count(), 0, "the upload is forgotten");
    api.clock.set("2026-11-21T09:30:00Z");
    assert_eq!(api.run_tasks().await, tasks::Summary::default(), "nothing is left to do");
}

/// The person is erased even if the bucket fails, but the response waits until the bucket has the tombstone.
#[tokio::test]
async fn an_erasure_is_confirmed_once_the_bucket_keeps_it() {
    let mut api = TestApi::new().await;
    let create = async |api: &TestApi, name: &str| {
        let body = json!({ "name": name, "email": format!("{name}@example.com") });
        api.post("/api/v1/candidates", body).await.expect(201).number("/id")
    };
    let working = api.environment.clone();
    let mut broken = api.environment.config.clone();
    broken.services.resumes.as_mut().unwrap().endpoint = Some(NOWHERE.to_owned());
    let jane = create(&api, "jane").await;
    api.environment.providers = Providers::new(&broken);
    api.restart();
    for _ in 0..2 {
        assert_eq!(erase(&api, jane).await.expect(503).header("retry-after"), "1");
        assert_erased(&api.get(&path(jane)).await);
    }
    assert!(tasks::run(api.environment.clone()).await.is_err(), "the failed task raises an alarm");
    api.environment = working.clone();
    api.restart();
    assert_eq!(keys(&api).await, [""; 0]);
    erase(&api, jane).await.expect(202);
    assert_eq!(keys(&api).await, [format!("erased/1/live/{jane}.json")]);
    api.run_tasks().await;

    // A request that was killed before it reached the bucket: the task stores the tombstone.
    let joe = create(&api, "joe").await;
    api.environment.providers = Providers::new(&broken);
    api.restart();
    erase(&api, joe).await.expect(503);
    api.environment = working;
    api.restart();
    api.run_tasks().await;
    assert!(keys(&api).await.contains(&format!("erased/1/live/{joe}.json")));

    // A service without a bucket erases people, too.
    let ann = create(&api, "ann").await;
    broken.services.resumes = None;
    api.environment.providers = Providers::new(&broken);
    api.restart();
    erase(&api, ann).await.expect(202);
    api.run_tasks().await;
    assert_erased(&api.get(&path(ann)).await);
}

/// The number of requests that erase or cancel a screen's call.
fn erasures(setup: &Setup, screen: u64) -> usize {
    setup.cancellations(screen)
}

#[tokio::test]
async fn the_call_of_a_completed_screen_is_erased_at_the_provider() {
    let setup = Setup::new(in_state(json!({ "status": "in-progress" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let Invited { candidate, screen, .. } = client.invited().await;
    api.run_tasks().await;
    let mut done = report(api, screen, 84);
    done["message"]["call"]["id"] = json!(format!("call-{screen}"));
    deliver(api, &done).await.expect(200);
    erase(api, candidate).await.expect(202);
    assert_eq!(erasures(&setup, screen), 0, "the request does not wait for the provider");
    assert_eq!(api.run_tasks().await, tasks::Summary { tasks: 1, ..Default::default() });
    assert_eq!(erasures(&setup, screen), 1);
    let before = api.stored_items().await;
    for late in [done, callback(api, screen, "status-update", json!({ "status": "in-progress" }))] {
        deliver(api, &late).await.expect(200);
    }
    assert!(api.stored_items().await == before, "a late report stores nothing");
    setup.run_tasks_at(&["09:31:00", "12:00:00"]).await;
    assert_eq!(erasures(&setup, screen), 1);
    assert!(!before.keys().any(|(pk, _)| pk.contains("#SCREEN#") || pk.ends_with("#SCREEN")));
}

#[tokio::test]
async fn an_erasure_at_the_provider_is_retried_and_raises_an_alarm() {
    let setup = Setup::new(in_state(json!({ "status": "in-progress" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let Invited { role, candidate, screen } = client.invited().await;
    api.run_tasks().await;
    let mut done = report(api, screen, 84);
    done["message"]["call"]["id"] = json!(format!("call-{screen}"));
    deliver(api, &done).await.expect(200);
    setup.vapi.reply_with(|_| FakeResponse::Json(500, json!({})));
    erase(api, candidate).await.expect(202);
    setup.run_tasks_at(&["09:30:00", "09:30:59", "09:31:00"]).await;
    assert_eq!(erasures(&setup, screen), 2, "every minute");
    api.dynamodb.take_calls();
    setup.run_tasks_at(&["09:40:00"]).await;
    let writes = api.dynamodb.take_calls().into_iter().filter(|call| call.operation == "TransactWriteItems");
    let screens = writes.filter(|call| call.request.to_string().contains("#SCREEN")).count();
    assert_eq!(screens, 0, "a screen that is already empty is not written again");
    client.get(&format!("voice_screens/{screen}")).await.expect(404);
    for (place, content) in everything(api).await {
        let texts = ["ran the clusters", "ada lovelace", "a conversation of 84"];
        assert!(texts.iter().all(|text| !content.contains(text)), "{place}: {content}");
    }
    api.clock.set("2026-11-20T09:41:00Z");
    assert!(
        tasks::run(api.environment.clone()).await.is_err(),
        "after ten minutes, the task raises an alarm"
    );
    setup.vapi.reply_with(in_state(json!({ "status": "ended" })));
    setup.run_tasks_at(&["09:42:00"]).await;
    assert_eq!(erasures(&setup, screen), 5);
    setup.run_tasks_at(&["09:43:00", "12:00:00"]).await;
    assert_eq!(erasures(&setup, screen), 5, "finished");
    assert_eq!(client.stats(role).await["screens_completed"], 1, "statistics stay");
    assert!(!api.stored_items().await.keys().any(|(pk, _)| pk.contains("#SCREEN")));
}

#[tokio::test]
async fn an_erasure_whose_data_keeps_changing_raises_an_alarm() {
    let api = TestApi::new().await;
    let candidate = Fixtures::new(&api).await.candidate;
    erase(&api, candidate).await.expect(202);
    api.dynamodb.inject_faults(|operation, _| (operation == "TransactWriteItems").then_some(Fault::Conflict));
    for (time, succeeds) in [("09:30:00", true), ("09:40:00", true), ("09:40:01", false), ("10:30:00", false)]
    {
        api.clock.set(&format!("2026-11-20T{time}Z"));
        let run = tasks::run(api.environment.clone()).await;
        assert_eq!(run.is_ok(), succeeds, "{time}: an alarm after ten minutes");
    }
    api.dynamodb.inject_faults(|_, _| None);
    finish(&api).await;
    assert!(!api.stored_items().await.keys().any(|(pk, _)| pk.contains("#SCREEN")));
}

#[tokio::test]
async fn a_call_in_progress_is_erased_again_when_it_is_over() {
    let setup = Setup::new(in_state(json!({ "status": "in-progress" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let Invited { candidate, screen, .. } = client.invited().await;
    api.run_tasks().await;
    let mut talking = callback(api, screen, "status-update", json!({ "status": "in-progress" }));
    talking["message"]["call"]["id"] = json!(format!("call-{screen}"));
    deliver(api, &talking).await.expect(200);
    erase(api, candidate).await.expect(202);
    let mut done = report(api, screen, 84);
    done["message"]["call"]["id"] = json!(format!("call-{screen}"));
    deliver(api, &done).await.expect(200);
    client.get(&format!("voice_screens/{screen}")).await.expect(404);
    setup.run_tasks_at(&["09:30:00"]).await;
    deliver(api, &done).await.expect(200);
    setup.run_tasks_at(&["10:00:00", "11:29:59"]).await;
    assert_eq!(erasures(&setup, screen), 1);
    setup.run_tasks_at(&["11:30:00", "12:00:00"]).await;
    assert_eq!(erasures(&setup, screen), 2, "two hours after the invitation, no call is in progress");
    assert!(!everything(api).await.iter().any(|(_, content)| content.contains("ran the clusters")));
    assert!(!api.stored_items().await.keys().any(|(pk, _)| pk.contains("#SCREEN")));
}

#[tokio::test]
async fn a_scheduled_call_is_cancelled_at_the_provider() {
    let setup = Setup::new(in_state(json!({ "status": "scheduled" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let (role, candidate) = (client.role().await, client.candidate().await);
    let screen = client.invite_at(candidate, role, "2026-11-20T12:00:00Z").await.expect(201).number("/id");
    api.run_tasks().await;
    erase(api, candidate).await.expect(202);
    setup.run_tasks_at(&["09:31:00", "12:00:00", "14:00:00"]).await;
    assert_eq!((setup.orders(screen), erasures(&setup, screen)), (1, 1));
    assert!(
        !api.stored_items().await.keys().any(|(pk, _)| pk.contains("#SCREEN") || pk.starts_with("TASK#"))
    );
}

/// The order of the call got no answer. The first callback supplies the call's id.
#[tokio::test]
async fn a_call_whose_id_is_unknown_is_erased_once_a_callback_supplies_it() {
    let setup = Setup::new(without_calls(|| FakeResponse::Close)).await;
    let (api, client) = (&setup.api, setup.client());
    for is_early in [true, false] {
        api.clock.set(NOW);
        let Invited { candidate, screen, .. } = client.invited().await;
        api.run_tasks().await;
        setup.vapi.reply_with(in_state(json!({ "status": "in-progress" })));
        erase(api, candidate).await.expect(202);
        if !is_early {
            api.run_tasks().await;
        }
        let mut talking = callback(api, screen, "status-update", json!({ "status": "in-progress" }));
        talking["message"]["call"]["id"] = json!(format!("call-{screen}"));
        deliver(api, &talking).await.expect(200);
        setup.run_tasks_at(&["09:31:00"]).await;
        assert_eq!(erasures(&setup, screen), 1, "{is_early}");
        setup.run_tasks_at(&["11:30:00", "12:00:00"]).await;
        assert_eq!(erasures(&setup, screen), 2, "{is_early}");
        assert!(!api.stored_items().await.keys().any(|(pk, _)| pk.contains("#SCREEN")));
        setup.vapi.reply_with(without_calls(|| FakeResponse::Close));
    }
    // A call that is never confirmed has no id.
    api.clock.set(NOW);
    let Invited { candidate, screen, .. } = client.invited().await;
    api.run_tasks().await;
    erase(api, candidate).await.expect(202);
    setup.run_tasks_at(&["09:31:00", "11:30:00"]).await;
    assert_eq!(erasures(&setup, screen), 0);
    assert!(
        !api.stored_items().await.keys().any(|(pk, _)| pk.contains("#SCREEN") || pk.starts_with("TASK#"))
    );
}

/// A person whose task has claimed the call is not called after the erasure.
#[tokio::test]
async fn nobody_is_called_after_the_erasure() {
    let setup = Setup::new(in_state(json!({ "status": "queued" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let Invited { candidate, screen, .. } = client.invited().await;
    let gateway = api.gateway.clone();
    let (key, at) = (tests::key(ACME, Mode::Live), format!("{}/erase", path(candidate)));
    let erase = async move {
        let request = http::Request::builder().method("POST").uri(at).header("host", "api.rolecall.test");
        let request =
            request.header("authorization", format!("Bearer {key}")).body(bytes::Bytes::new()).unwrap();
        assert_eq!(gateway.send(request, [127, 0, 0, 1].into()).await.status().as_u16(), 202);
    };
    // Between the reads and the claim.
    api.dynamodb.run_before("TransactWriteItems", erase);
    api.run_tasks().await;
    setup.run_tasks_at(&["09:31:00", "12:00:00"]).await;
    assert_eq!((setup.orders(screen), erasures(&setup, screen)), (0, 0));
    assert!(
        !api.stored_items().await.keys().any(|(pk, _)| pk.contains("#SCREEN") || pk.starts_with("TASK#"))
    );
}

/// A request about a person, and the statuses of its responses before and after the erasure.
type Action = (&'static str, [u16; 2]);

fn act<'a>(api: &'a TestApi, person: &'a Person, jobs: &'a Jobs, action: &'a str) -> BoxFuture<'a, Response> {
    let at = path(person.id);
    let word = &person.word;
    async move {
        match action {
            "patch" => api.patch(&at, json!({ "name": format!("{word} Smith") })).await,
            "apply" => api.post(&format!("{at}/applications"), json!({ "role_id": jobs.0[0].role })).await,
            "form" => jobs.0[0].apply(api, &Person::form(word, person.number)).await,
            "reject" => api.post(&format!("{at}/reject"), json!({ "notes": word })).await,
            "hire" => post(api, &format!("{at}/hire"), &format!("race-{}", person.number), &json!({})).await,
            "note" => api.post(&format!("{at}/notes"), json!({ "text": word })).await,
            "invite" => api.post(&format!("{at}/invite_screen"), json!({ "role_id": jobs.0[1].role })).await,
            "export" => api.get(&format!("{at}/export")).await,
            "hold" => hold(api, person.id, word).await,
            "erase" => erase(api, person.id).await,
            "report" => {
                let mut talk = conversation(84);
                talk["artifact"]["messages"][2]["message"] = json!(format!("They call me {word}."));
                simulated_callback(api, person.screens[0], talk).await;
                api.get("/api/v1/organization").await
            }
            "cancel" => {
                api.post(&format!("/api/v1/voice_screens/{}/cancel", person.screens[0]), json!({})).await
            }
            other => panic!("{other}"),
        }
    }
    .boxed()
}

/// A person who has applied for the second role and has an open screen for the first one.
async fn applicant(api: &TestApi, jobs: &Jobs, number: usize) -> Person {
    let word = format!("zorbax{number}q");
    let phone = format!("+49151700{number:05}");
    let body = json!({ "name": word, "email": format!("{word}@erase.example"), "phone": phone, "role_id": jobs.0[1].role });
    let id = api.post("/api/v1/candidates", body).await.expect(201).number("/id");
    let invite = format!("{}/invite_screen", path(id));
    let screen = api.post(&invite, json!({ "role_id": jobs.0[0].role })).await.expect(201).number("/id");
    Person { id, word, number, screens: [screen, screen] }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_erasure_and_a_concurrent_request_happen_in_some_order() {
    const ACTIONS: [Action; 12] = [
        ("patch", [200, 410]),
        ("apply", [201, 410]),
        ("form", [303, 303]),
        ("reject", [200, 410]),
        ("hire", [200, 410]),
        ("note", [201, 410]),
        ("invite", [201, 410]),
        ("export", [200, 410]),
        ("erase", [202, 202]),
        ("report", [200, 200]),
        ("cancel", [200, 404]),
        ("hold", [200, 410]),
    ];
    let services = Services {
        simulated: true,
        callback_url: Some("http://127.0.0.1:1".to_owned()),
        ..Services::default()
    };
    let api = TestApi::with_services(services).await;
    let jobs = Jobs::new(&api).await;
    let mut number = 100;
    for (action, [before, after]) in ACTIONS {
        for _ in 0..4 {
            number += 1;
            let person = applicant(&api, &jobs, number).await;
            let (erased, response) = join(erase(&api, person.id), act(&api, &person, &jobs, action)).await;
            if action == "hold" && response.status == before {
                assert_eq!(erased.status, 409, "{}", erased.text);
                api.get(&path(person.id)).await.expect(200);
                lift(&api, person.id).await.expect(200);
                erase(&api, person.id).await.expect(202);
            } else {
                assert_eq!(erased.status, 202, "{action}: {}", erased.text);
                let expected = [before, after];
                assert!(
                    expected.contains(&response.status),
                    "{action}: {} {}",
                    response.status,
                    response.text
                );
            }
            assert_erased(&api.get(&path(person.id)).await);
            let found = api.get(&format!("/api/v1/candidates?email={}", person.email())).await.expect(200);
            if let Some(other) = found.body["data"][0]["id"].as_u64() {
                assert_eq!(action, "form", "only the form creates a candidate");
                assert_ne!(other, person.id);
                erase(&api, other).await.expect(202);
            }
        }
    }
    api.run_tasks().await;
    api.clock.set(LATER);
    api.run_tasks().await;
    for (place, content) in everything(&api).await {
        assert!(!content.contains("zorbax"), "{place}: {content}");
    }
    for stats in jobs.stats(&api).await {
        for (stage, figures) in stats["stages"].as_object().unwrap() {
            assert_eq!(figures["now"], 0, "{stage}");
        }
    }
}

#[tokio::test]
async fn the_write_of_an_erasure_takes_effect_or_not() {
    let api = TestApi::new().await;
    let jobs = Jobs::new(&api).await;
    let person = applicant(&api, &jobs, 1).await;
    let before = api.get(&path(person.id)).await.expect(200).body;
    for fault in [Fault::Unreachable, Fault::Throttled, Fault::Conflict] {
        let fault =
            move |operation: &str, _: &Value| (operation == "TransactWriteItems").then(|| fault.clone());
        api.dynamodb.inject_faults(fault);
        erase(&api, person.id).await.expect(503);
        api.dynamodb.inject_faults(|_, _| None);
        assert_eq!(api.get(&path(person.id)).await.expect(200).body, before);
    }
    let lost =
        |operation: &str, _: &Value| (operation == "TransactWriteItems").then_some(Fault::ResponseLost);
    api.dynamodb.inject_faults(lost);
    erase(&api, person.id).await.expect(503);
    api.dynamodb.inject_faults(|_, _| None);
    assert_erased(&api.get(&path(person.id)).await);
    erase(&api, person.id).await.expect(202);
    finish(&api).await;
    person.assert_gone(&everything(&api).await);
}
