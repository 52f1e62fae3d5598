//! Erased is erased: a text in everything about a person is nowhere after the erasure. The test knows each kind of item, so
//! a new kind needs a line here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use shared::store::{KINDS, Unreadable};
use tests::assistant::Assistant;
use tests::browser::Browser;
use tests::dashboard::owner;
use tests::fake::{FakeResponse, FakeServer};
use tests::{ACME, Response, TestApi, key_actor};
use tracing_subscriber::fmt::MakeWriter;

use crate::careers_applications::{Job, form};
use crate::careers_resumes::{apply_with, attach};
use crate::careers_suspects::trapped;
use crate::erasures::{append, bucket, erase, keys, simulated_callback};
use crate::voice_webhook::conversation;
use crate::webhooks::{PATH, local_api};

/// The text. No other text of the service has it.
const MARKER: &str = "Qorvexa";
/// The digits of the person's phone number that no other number has.
const DIGITS: &str = "7033912";
const EMAIL: &str = "Qorvexa@people.example";
/// When calls are over, and forms for uploads have expired.
const LATER: &str = "2026-11-20T12:30:00.000Z";

/// Whether items of a kind have texts about a person.
#[derive(Clone, Copy, Debug)]
enum Texts {
    /// They have, so one must have the marker before the erasure.
    Held,
    /// They never have, for this reason.
    Never(&'static str),
}

use Texts::{Held, Never};

const HASHED: Texts = Never("the key has a hash, and the item an identifier");
const IDS: Texts = Never("identifiers, words of enumerations, numbers and times");
const OF_JOBS: Texts = Never("what members write about a job");
const OF_MEMBERS: Texts =
    Never("what members, operators and applications say about themselves and the organization");

/// Every kind of the chart.
const TEXTS: &[(&str, Texts)] = &[
    ("gate", OF_MEMBERS),
    ("profile", OF_MEMBERS),
    ("gate_shard", IDS),
    ("api_key", OF_MEMBERS),
    ("usage_day", IDS),
    ("receipt", Held),
    ("role", OF_JOBS),
    ("role_stats", IDS),
    ("role_external_id", HASHED),
    ("role_change", OF_JOBS),
    ("stage_counters", IDS),
    ("new_people", Held),
    ("posting", OF_JOBS),
    ("role_posting", OF_JOBS),
    ("posting_slug", OF_JOBS),
    ("opening", OF_JOBS),
    ("candidate_record", Held),
    ("candidate_application", Held),
    ("touchpoints", Held),
    ("consent", Held),
    ("application_answers", Held),
    ("file", Held),
    ("submission", Held),
    ("candidate_screen", Held),
    ("note", Held),
    ("trace", Held),
    ("unfinished_erasure", IDS),
    ("erased_candidate", IDS),
    ("legal_hold", Never("the reason is in the candidate's record")),
    ("candidate", Held),
    ("unfinished_candidate", Never("an import is finished before anybody works with the person")),
    ("application", Held),
    ("role_application", Held),
    ("scored_applicant", IDS),
    ("reapplied_applicant", IDS),
    ("screened_applicant", IDS),
    ("labelled", Never("the key has a hash of the label, and the item identifiers")),
    (
        "bulk_act",
        Never(
            "identifiers, stages, the member's name, and while it is carried out what is the same for everybody",
        ),
    ),
    ("bulk_part", Never("identifiers, stages, and reasons that name nobody")),
    ("email", HASHED),
    ("word", Held),
    ("former_words", Never("the feed has deleted it")),
    ("phone", HASHED),
    ("mailbox", HASHED),
    ("source", HASHED),
    ("tag", HASHED),
    ("external_id", HASHED),
    ("retention_start", IDS),
    ("upload", IDS),
    ("suspect_upload", IDS),
    ("suspect_form", Held),
    ("screen_record", Held),
    ("transcript_part", Held),
    ("screen", Held),
    ("role_screen", Held),
    ("privacy_text", OF_MEMBERS),
    ("logo", OF_MEMBERS),
    ("x_connection", OF_MEMBERS),
    ("whatsapp_connection", OF_MEMBERS),
    ("x_usage", IDS),
    ("post", OF_JOBS),
    ("retention_setting", OF_MEMBERS),
    ("webhook_endpoint_count", IDS),
    ("second_factor_setting", OF_MEMBERS),
    ("rejection_reasons", OF_MEMBERS),
    ("saved_views", OF_MEMBERS),
    ("import", Never("what members and programs chose, and the names of columns")),
    ("import_part", IDS),
    ("imported_row", IDS),
    ("import_use", IDS),
    ("export", Never("what members and programs chose")),
    ("export_use", IDS),
    ("call_setting", OF_MEMBERS),
    ("connections", IDS),
    ("narrowed_site", HASHED),
    ("webhook_endpoint", OF_MEMBERS),
    ("endpoint_progress", IDS),
    ("delivery", Never("events have identifiers and words only, and answers are items of their own")),
    ("delivery_answer", Held),
    ("due_delivery", IDS),
    ("audit_entry", Never("the target is an identifier, and the actor a member or an application")),
    ("member", OF_MEMBERS),
    ("session", OF_MEMBERS),
    ("notice", OF_MEMBERS),
    ("owners_notice", OF_MEMBERS),
    ("confirmation", Held),
    ("used_confirmation", IDS),
    ("grant", OF_MEMBERS),
    ("feed_head", IDS),
    ("event", IDS),
    ("outbox_entry", IDS),
    ("task", IDS),
    ("registered", OF_MEMBERS),
    ("deleted_organization", IDS),
    ("organization_slug", OF_MEMBERS),
    ("member_email", OF_MEMBERS),
    ("passkey_ceremony", OF_MEMBERS),
    ("attempts", HASHED),
    ("client", OF_MEMBERS),
    ("client_document", OF_MEMBERS),
    ("quarantined", Held),
];

/// The kinds of items that may have the person's identifier after the erasure: the tombstone, what happened, and the receipts
/// that must not be used for another request yet.
const WITH_ID: [&str; 7] =
    ["audit_entry", "candidate_record", "delivery", "erased_candidate", "event", "feed_head", "receipt"];

/// The lines of the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Log {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// What base64 makes of a text wherever it begins in the encoded bytes, without the characters that depend on its neighbours.
fn in_base64(text: &str) -> BTreeSet<String> {
    let shifted = (0..3).flat_map(|before| {
        let bytes = [&b"xxx"[..before], text.as_bytes()].concat();
        [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)].map(|encoded| {
            let (start, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
            encoded[start..end].to_owned()
        })
    });
    shifted.collect()
}

/// Whether a content has the marker or the digits: as they are, in other letters, or in base64.
fn is_marked(content: &str) -> bool {
    let plain = content.to_lowercase();
    let mut written = [MARKER.to_owned(), MARKER.to_lowercase(), MARKER.to_uppercase()].into_iter();
    plain.contains(&MARKER.to_lowercase())
        || plain.contains(DIGITS)
        || written.any(|text| in_base64(&text).iter().any(|encoded| content.contains(encoded)))
}

#[test]
fn the_marker_is_found_in_each_form() {
    let encoded = |text: &str| [STANDARD_NO_PAD.encode(text), URL_SAFE_NO_PAD.encode(text)];
    let forms = ["a", "ab", "abc"].map(|before| encoded(&format!("{before} {MARKER}?>, {before}")));
    let forms = forms.into_iter().flatten().chain(encoded(&MARKER.to_lowercase()));
    for form in forms.chain(["xQORVEXAx".to_owned(), format!("+4915{DIGITS}")]) {
        assert!(is_marked(&form), "{form}");
    }
    assert!(!is_marked("Qorvex a 703391 UW9ydmV4"));
}

/// The name of an item's kind.
fn kind(pk: &str, sk: &str) -> &'static str {
    KINDS.iter().find(|kind| kind.has(pk, sk)).unwrap_or_else(|| panic!("{pk} {sk} has no kind")).name
}

fn content(item: &HashMap<String, AttributeValue>) -> String {
    let mut content = String::new();
    for (name, value) in item {
        content.push_str(name);
        append(value, &mut content);
    }
    content
}

/// The kinds of the items with the marker, with the number of them.
async fn marked_kinds(api: &TestApi) -> BTreeMap<&'static str, usize> {
    let mut marked = BTreeMap::new();
    for ((pk, sk), item) in api.stored_items().await {
        if is_marked(&content(&item)) {
            *marked.entry(kind(&pk, &sk)).or_default() += 1;
        }
    }
    marked
}

/// The keys of the objects in the bucket with the marker.
async fn marked_objects(api: &TestApi) -> Vec<String> {
    let mut marked = Vec::new();
    for key in keys(api).await {
        let object = bucket(api).read(&key, 1 << 24, api.environment.clock.now()).await.unwrap().unwrap();
        if is_marked(&format!("{key} {}", String::from_utf8_lossy(&object.bytes))) {
            marked.push(key);
        }
    }
    marked
}

/// Sends a POST whose idempotency key has the marker, too.
async fn post(api: &TestApi, path: &str, body: Value) -> Response {
    let key = format!("{MARKER}-{}", path.replace('/', "-"));
    api.request(Method::POST, path).header("idempotency-key", &key).json(&body).send().await
}

/// A receiver that refuses all events, those about a person with a text about her.
async fn receiver() -> FakeServer {
    let about_people = ["candidate.", "application.", "file.", "note.", "screen."];
    FakeServer::start(move |request| {
        let event = request.json();
        let is_about_her = about_people.iter().any(|noun| event["type"].as_str().unwrap().starts_with(noun));
        let answer = format!("{{\"error\": \"{MARKER} is locked, call +4915{DIGITS}\"}}");
        FakeResponse::Full(500, Vec::new(), if is_about_her { answer } else { String::new() })
    })
    .await
}

fn pdf() -> Vec<u8> {
    format!("%PDF-1.7\n% {MARKER}\n1 0 obj\n<<>>\nendobj\n%%EOF\n").into_bytes()
}

/// Creates the person by API, with a voice screen, notes, moves and a legal hold. Returns the identifier.
async fn create(api: &TestApi, [first, second]: [&Job; 2]) -> u64 {
    let posting = format!("/api/v1/job_postings/{}", first.posting);
    let questions = json!({ "questions": [{ "label": "What do friends call you?", "kind": "short_text" }] });
    let question = api.patch(&posting, questions).await.expect(200).number("/questions/0/id");
    let body = json!({
        "answers": [{ "question_id": question, "value": MARKER }],
        "name": format!("{MARKER} Miller"), "email": EMAIL, "phone": format!("+4915{DIGITS}1"),
        "resume_url": format!("https://{MARKER}.example/cv"), "source": format!("A friend of {MARKER}"),
        "tags": [MARKER, "shared"], "external_id": format!("ats {MARKER}"), "role_id": first.role,
    });
    let id = post(api, "/api/v1/candidates", body.clone()).await.expect(201).number("/id");
    let at = format!("/api/v1/candidates/{id}");
    // The same person again, and a change that is refused.
    api.request(Method::POST, "/api/v1/candidates")
        .header("idempotency-key", &format!("{MARKER}-again"))
        .json(&body)
        .send()
        .await
        .expect(422);
    api.patch(&at, json!({ "email": MARKER })).await.expect(422);
    api.patch(&at, json!({ "source": format!("{MARKER} herself") })).await.expect(200);
    let body = json!({ "role_id": second.role, "source": MARKER });
    post(api, &format!("{at}/applications"), body).await.expect(201);
    post(api, &format!("{at}/notes"), json!({ "text": format!("I know {MARKER} well.") })).await.expect(201);
    let consent = json!({
        "purpose": "recording", "granted": true, "obtained_at": "2026-11-20T09:00:00.000Z",
        "wording": format!("{MARKER} agrees."),
    });
    post(api, &format!("{at}/consents"), consent).await.expect(201);
    let invite = format!("{at}/invite_screen");
    let screen = post(api, &invite, json!({ "role_id": first.role })).await.expect(201).number("/id");
    let mut talk = conversation(84);
    talk["artifact"]["messages"][2]["message"] = json!(format!("They call me {MARKER}."));
    let result = &mut talk["artifact"]["structuredOutputs"]["output-1"]["result"];
    result["summary"] = json!(format!("{MARKER} spoke."));
    result["highlights"][0]["text"] = json!(format!("They call me {MARKER}."));
    result["red_flags"][0]["text"] = json!(MARKER);
    simulated_callback(api, screen, talk).await;
    let review = json!({ "decision": "overruled", "note": format!("{MARKER} was nervous.") });
    post(api, &format!("/api/v1/voice_screens/{screen}/review"), review).await.expect(200);
    for name in ["kept", "deleted"] {
        let name = format!("{MARKER} {name}.pdf");
        let file = json!({ "name": name, "kind": "other", "content": STANDARD_NO_PAD.encode(pdf()) });
        let file = api.post(&format!("{at}/files"), file).await.expect(201);
        if name.contains("deleted") {
            api.delete(&format!("{at}/files/{}", file.number("/id"))).await.expect(200);
        }
    }
    let later = json!({ "role_id": second.role, "scheduled_at": "2026-11-30T09:00:00Z" });
    api.post(&invite, later).await.expect(201);
    let reason = json!({ "role_id": first.role, "reason": MARKER, "notes": format!("{MARKER} was late.") });
    post(api, &format!("{at}/reject"), reason).await.expect(200);
    let hold = api.request(Method::PUT, &format!("{at}/legal_hold"));
    hold.json(&json!({ "reason": format!("{MARKER} against Acme") })).send().await.expect(200);
    id
}

/// The person applies on the career page: as somebody who is known, again, with files, with one that never comes, and with
/// forms that look automatic.
async fn apply(api: &TestApi, [first, second]: [&Job; 2]) {
    let asked = api.get(&format!("/api/v1/job_postings/{}", first.posting)).await.expect(200);
    let question = format!("question_{}", asked.number("/questions/0/id"));
    let filled = form(&format!("{MARKER} M."), EMAIL)
        .set(&question, MARKER)
        .set("phone", &format!("+4915{DIGITS}2"))
        .set("resume_url", &format!("https://{MARKER}.example/cv"))
        .set("note", &format!("Call me {MARKER}."));
    let applied = first.apply(api, &filled).await.expect(303);
    attach(api, &applied, &pdf()).await.expect(303);
    apply_with(api, second, &filled, &pdf()).await.expect(303);
    second.apply(api, &filled).await.expect(303);
    let suspect = trapped(EMAIL).set("name", MARKER).set("note", MARKER);
    apply_with(api, first, &suspect, &pdf()).await.expect(303);
    second.apply(api, &suspect).await.expect(303);
}

/// Members and assistants read and edit the person, and an assistant asks whether it may reject her.
async fn work(api: &TestApi, id: u64, job: &Job) {
    let browser = Browser::with_session(api, ACME, &owner(api, ACME).await).await;
    let edit = format!("/dashboard/candidates/{id}/edit");
    let seen = tests::browser::input(&browser.get(&edit).await.expect(200), "seen");
    let (name, tags) = (format!("{MARKER} Smith"), format!("shared, {MARKER}"));
    let fields = [("name", name.as_str()), ("email", EMAIL), ("tags", &tags), ("seen", &seen)];
    browser.post_file(&edit, &fields, &pdf()).await.expect(303);
    browser.get(&format!("/dashboard/candidates/{id}")).await.expect(200);
    browser.get(&format!("/dashboard/candidates?q={MARKER}")).await.expect(200);
    let assistant = Assistant::new(api);
    assistant.call("search_candidates", json!({ "q": MARKER })).await;
    let reject = json!({ "candidate_id": id, "action": "reject", "role_id": job.role, "reason": MARKER });
    let unconfirmed = assistant.refused("move_candidate", reject.clone()).await;
    assert!(unconfirmed.starts_with("Not done yet: "), "{unconfirmed}");
    assistant.ask("move_candidate", &reject, &json!({})).await;
    let note = json!({ "candidate_id": id, "text": format!("{MARKER} called."), "idempotency_key": MARKER });
    assistant.call("add_note", note).await;
    api.get(&format!("/api/v1/candidates/{id}/export")).await.expect(200);
    api.get(&format!("/api/v1/candidates?q={MARKER}")).await.expect(200);
    api.get(&format!("/api/v1/candidates?email={EMAIL}")).await.expect(200);
}

/// Puts a note about the person that this release cannot read into quarantine.
async fn quarantine_note(api: &TestApi, id: u64) {
    let items = api.stored_items().await;
    let of_person = format!("#CANDIDATE_NOTE#{id:016}");
    let ((pk, sk), note) = items.into_iter().find(|((pk, _), _)| pk.ends_with(&of_person)).unwrap();
    let mut broken = note.clone();
    broken.insert("form".to_owned(), AttributeValue::N("2".to_owned()));
    broken.insert("sk".to_owned(), AttributeValue::S(format!("{:016}", sk.parse::<u64>().unwrap() + 1)));
    let sk = broken["sk"].as_s().unwrap().clone();
    api.write_items([broken]).await;
    let unreadable = Unreadable::new(pk, sk, "it is of a later form".to_owned());
    assert!(api.store().quarantine(&unreadable, api.environment.clock.now()).await.unwrap());
}

/// Sends what is in the feed to the receiver, which answers with the marker.
async fn deliver(api: &TestApi) {
    api.run_feed().await;
    api.deliver().await;
}

#[test]
fn every_kind_says_whether_it_has_texts_about_people() {
    let known: Vec<_> = TEXTS.iter().map(|(name, _)| *name).collect();
    let kinds: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(known, kinds, "the chart and TEXTS have the same kinds in the same order");
}

#[tokio::test]
async fn a_marker_in_everything_about_a_person_is_nowhere_after_the_erasure() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(shared::runtime::log(log.clone(), None));
    let api = local_api().await;
    let jobs = [&Job::new(&api, "Analyst").await, &Job::new(&api, "Cook").await];
    let receiver = receiver().await;
    let hook = json!({ "url": format!("{}/hook", receiver.url) });
    let endpoint = api.post(PATH, hook).await.expect(201).number("/id");
    let id = create(&api, jobs).await;
    apply(&api, jobs).await;
    work(&api, id, jobs[1]).await;
    quarantine_note(&api, id).await;
    deliver(&api).await;

    let marked = marked_kinds(&api).await;
    let held = TEXTS.iter().filter(|(_, texts)| matches!(texts, Held)).map(|(name, _)| *name);
    assert_eq!(
        marked.keys().copied().collect::<BTreeSet<_>>(),
        held.collect(),
        "the marker is in an item of each kind that holds it, and in no other: {marked:?}"
    );
    for (name, texts) in TEXTS {
        if let Never(reason) = texts {
            assert!(!marked.contains_key(name), "{name} has {reason}");
        }
    }
    assert!(marked_objects(&api).await.len() >= 4, "{:?}", keys(&api).await);

    api.delete(&format!("/api/v1/candidates/{id}/legal_hold")).await.expect(200);
    let erased = erase(&api, id).await.expect(202);
    let mut actor = key_actor(ACME, Mode::Live);
    actor.as_object_mut().unwrap().remove("name");
    assert_eq!(erased.body["actor"], actor, "the tombstone has identifiers only");
    for time in ["2026-11-20T09:30:00.000Z", "2026-11-20T09:40:00.000Z", LATER, "2026-11-20T14:00:00.000Z"] {
        api.clock.set(time);
        api.run_tasks().await;
        // The receiver still answers with the marker, also to the news of the erasure.
        deliver(&api).await;
    }
    assert_eq!(marked_kinds(&api).await, BTreeMap::new());
    assert_eq!(marked_objects(&api).await, [""; 0]);
    let log = log.text();
    assert!(log.lines().count() > 30, "{log}");
    let lines: Vec<_> = log.lines().filter(|line| is_marked(line)).collect();
    assert_eq!(lines, [""; 0]);
    let requests = receiver.requests();
    assert!(requests.iter().any(|request| request.body.contains("candidate.erased")));
    assert!(!requests.iter().any(|request| is_marked(&request.body)), "no event says who it is about");
    let listed = api.get(&format!("{PATH}/{endpoint}/deliveries?limit=100")).await.expect(200);
    assert!(!is_marked(&listed.text) && listed.text.contains("\"status\":500"), "{}", listed.text);

    let (number, padded) = (id.to_string(), format!("{id:016}"));
    let with_id = api.stored_items().await.into_iter().filter(|((pk, sk), item)| {
        let content = content(item);
        pk.contains(&padded) || sk.contains(&padded) || content.contains(&number)
    });
    let with_id: BTreeSet<_> = with_id.map(|((pk, sk), _)| kind(&pk, &sk)).collect();
    assert_eq!(with_id, BTreeSet::from(WITH_ID), "only these have the identifier");
}
