//! Files of candidates: in requests, uploaded with a ticket, and from forms.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::config::BucketAccess;
use shared::model::{Mode, Scope};
use tests::browser::Browser;
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, Response, TestApi, key_actor};

use crate::careers_applications::{Job, find, form, kinds};
use crate::careers_resumes::{PDF, docx, download, post, with_bucket};
use crate::erasures::{erase, keys};
use crate::writers::key_with;

const NOW: &str = "2026-11-20T09:30:00.000Z";
const CANDIDATES: &str = "/api/v1/candidates";
/// The most that a request can contain: 4 MiB.
const MAX_CONTENT: usize = 4 * 1024 * 1024;
/// The most that can be uploaded: 10 MiB.
const MAX_UPLOAD: usize = 10 * 1024 * 1024;

async fn ada(api: &TestApi) -> u64 {
    let person = json!({ "name": "Ada", "email": "ada@example.com" });
    api.post(CANDIDATES, person).await.expect(201).number("/id")
}

fn path(candidate: u64) -> String {
    format!("{CANDIDATES}/{candidate}/files")
}

/// A PDF of this size.
fn pdf(size: usize) -> Vec<u8> {
    let mut content = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n".to_vec();
    content.resize(size - 6, b' ');
    content.extend_from_slice(b"\n%%EOF");
    content
}

async fn add(api: &TestApi, candidate: u64, name: &str, content: &[u8]) -> Response {
    api.post(&path(candidate), json!({ "name": name, "content": STANDARD.encode(content) })).await
}

/// Asks for a ticket.
async fn ticket(api: &TestApi, candidate: u64, size: usize) -> Response {
    api.post(&path(candidate), json!({ "name": "cv.pdf", "size": size })).await
}

/// Uploads content with a ticket.
async fn upload(ticket: &Response, content: &[u8]) -> Response {
    let fields = ticket.body["upload"]["fields"].as_object().unwrap();
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    post(ticket.string("/upload/url"), &fields, content).await
}

async fn complete(api: &TestApi, candidate: u64, file: u64) -> Response {
    api.request(Method::POST, &format!("{}/{file}/complete", path(candidate))).send().await
}

async fn candidate(api: &TestApi, id: u64) -> Response {
    api.get(&format!("{CANDIDATES}/{id}")).await.expect(200)
}

/// The names of the files, newest first.
async fn names(api: &TestApi, candidate: u64) -> Vec<String> {
    let list = api.get(&path(candidate)).await.expect(200);
    list.body["data"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap().into()).collect()
}

async fn in_bucket(api: &TestApi, prefix: &str) -> usize {
    keys(api).await.iter().filter(|key| key.starts_with(prefix)).count()
}

fn messages(response: &Response) -> Vec<&str> {
    response.body["messages"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn a_file_in_a_request_is_ready_at_once_and_becomes_the_resume() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let added = add(&api, ada, " Lovelace CV.pdf ", PDF).await.expect(201);
    let url = added.string("/url").to_owned();
    let expected = json!({
        "id": added.number("/id"), "candidate_id": ada, "application_id": null, "kind": "resume",
        "name": "Lovelace CV.pdf", "media_type": "application/pdf", "size": PDF.len(), "status": "ready",
        "reason": null, "created_at": NOW, "created_by": key_actor(ACME, Mode::Live), "url": url, "upload": null,
    });
    assert_eq!(added.body, expected);
    let file = download(&url).await.expect(200);
    assert_eq!(file.text.as_bytes(), PDF);
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"Lovelace CV.pdf\"");
    let mut expected = expected;
    expected.as_object_mut().unwrap().remove("upload");
    let shown = api.get(&format!("{}/{}", path(ada), added.number("/id"))).await.expect(200);
    assert_eq!(shown.body, expected);
    assert_eq!(
        api.get(&path(ada)).await.expect(200).body,
        json!({ "data": [expected], "next_cursor": null })
    );
    let candidate = candidate(&api, ada).await;
    assert_eq!(kinds(&candidate), ["updated", "file_added", "created"]);
    let detail =
        json!({ "file_id": added.number("/id"), "application_id": null, "role_id": null, "kind": "resume" });
    assert_eq!(candidate.body["touchpoints"][1]["detail"], detail);
    assert!(candidate.string("/resume_url").starts_with(url.split('?').next().unwrap()));
}

#[tokio::test]
async fn only_a_resume_becomes_the_resume_and_earlier_ones_stay() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let role = api.post("/api/v1/roles", json!({ "title": "Analyst" })).await.expect(201).number("/id");
    api.request(Method::POST, &format!("/api/v1/roles/{role}/publish")).send().await.expect(200);
    let applied = api
        .post(&format!("{CANDIDATES}/{ada}/applications"), json!({ "role_id": role }))
        .await
        .expect(201)
        .number("/id");
    add(&api, ada, "first.pdf", PDF).await.expect(201);
    let first = candidate(&api, ada).await.string("/resume_url").to_owned();
    for kind in ["cover_letter", "portfolio", "other"] {
        let content = STANDARD.encode(docx(&[]));
        let file = json!({ "name": "mine", "kind": kind, "application_id": applied, "content": content });
        let added = api.post(&path(ada), file).await.expect(201);
        assert_eq!((added.string("/kind"), added.string("/name")), (kind, "mine.docx"));
        assert_eq!(added.number("/application_id"), applied);
    }
    let detail = candidate(&api, ada).await;
    assert_eq!(detail.string("/resume_url"), first);
    assert_eq!(detail.body["touchpoints"][0]["detail"]["role_id"], role);
    let second =
        json!({ "name": "second.txt", "application_id": applied, "content": STANDARD.encode("Ada") });
    let second = api.post(&path(ada), second).await.expect(201).number("/id");
    let detail = candidate(&api, ada).await;
    assert_ne!(detail.string("/resume_url"), first);
    assert_eq!(detail.body["applications"][0]["resume_file_id"], second);
    assert_eq!(names(&api, ada).await.len(), 5);
    // An answer or an application can name the file.
    let other = api.post("/api/v1/roles", json!({ "title": "Clerk" })).await.expect(201).number("/id");
    api.request(Method::POST, &format!("/api/v1/roles/{other}/publish")).send().await.expect(200);
    let application = json!({ "role_id": other, "resume_file_id": second });
    api.post(&format!("{CANDIDATES}/{ada}/applications"), application).await.expect(201);
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_said_at_once() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let refused = |body: Value| {
        let api = &api;
        async move {
            let response = api.post(&path(ada), body).await.expect(422);
            messages(&response).iter().map(|message| (*message).to_owned()).collect::<Vec<_>>()
        }
    };
    let content = STANDARD.encode(PDF);
    assert_eq!(refused(json!({})).await[0], "name can't be blank");
    assert_eq!(refused(json!({ "name": "x" })).await, ["content is required, or size for an upload"]);
    let both = json!({ "name": "x", "content": content, "size": 5 });
    assert_eq!(refused(both).await, ["size can't be given beside content"]);
    let wrong = json!({ "name": "x".repeat(256), "kind": "cv", "content": "%", "application_id": 7 });
    assert_eq!(
        refused(wrong).await,
        [
            "name must be at most 255 characters",
            "kind must be one of resume, cover_letter, portfolio, other",
            "content must be base64 (RFC 4648, section 4)",
        ]
    );
    let wrong = json!({ "name": "x", "content": STANDARD.encode(b"\x89PNG\r\n\x1a\n"), "application_id": 7 });
    let said = refused(wrong).await;
    assert_eq!(said[0], "application_id must be the id of an application of the candidate");
    assert!(said.len() == 2 && said[1].starts_with("content was refused: "), "{said:?}");
    for size in [json!(0), json!(MAX_UPLOAD + 1), json!(1.5), json!("x")] {
        let said = refused(json!({ "name": "x", "size": size })).await;
        assert_eq!(said, ["size must be a whole number from 1 to 10485760"]);
    }
    let large = json!({ "name": "x", "content": STANDARD.encode(pdf(MAX_CONTENT + 1)) });
    let said = refused(large).await;
    assert_eq!(said, ["content must be at most 4 MiB. Give the size instead, and upload the file"]);
    let huge = json!({ "name": "x", "content": "A".repeat(5_700_000) });
    api.post(&path(ada), huge).await.expect(413);
    // Other bodies have their limit, and a content of 4 MiB is accepted, also with line breaks.
    api.post(CANDIDATES, json!({ "name": "A".repeat(256 * 1024) })).await.expect(413);
    assert_eq!(names(&api, ada).await, [""; 0]);
    assert_eq!(in_bucket(&api, "resumes/").await, 0);
    let lines =
        STANDARD.encode(PDF).as_bytes().chunks(20).map(<[u8]>::to_vec).collect::<Vec<_>>().join(&b'\n');
    let lines = json!({ "name": "x", "content": String::from_utf8(lines).unwrap() });
    api.post(&path(ada), lines).await.expect(201);
    add(&api, ada, "large.pdf", &pdf(MAX_CONTENT)).await.expect(201);
}

#[tokio::test]
async fn a_file_is_uploaded_with_a_ticket_and_completed_once() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let content = pdf(MAX_UPLOAD);
    let waiting = ticket(&api, ada, MAX_UPLOAD).await.expect(201);
    assert_eq!((waiting.string("/status"), &waiting.body["url"]), ("waiting", &Value::Null));
    assert_eq!(waiting.body["media_type"], Value::Null);
    assert_eq!(kinds(&candidate(&api, ada).await), ["created"], "a file that is not here has no entry");
    let id = waiting.number("/id");
    assert_eq!(messages(&complete(&api, ada, id).await.expect(422)), ["The file has not been uploaded"]);
    upload(&waiting, b"%PDF-1.7 too short").await.expect(400);
    upload(&waiting, &content).await.expect(201);
    let done = join_all((0..3).map(|_| complete(&api, ada, id))).await;
    for done in done {
        let done = done.expect(200);
        assert_eq!((done.string("/status"), done.number("/size")), ("ready", MAX_UPLOAD as u64));
        assert_eq!(download(done.string("/url")).await.expect(200).text.len(), MAX_UPLOAD);
    }
    assert_eq!(kinds(&candidate(&api, ada).await), ["updated", "file_added", "created"]);
    api.clock.set("2026-11-20T11:00:00Z");
    api.run_tasks().await;
    assert_eq!(kinds(&candidate(&api, ada).await), ["updated", "file_added", "created"]);
    assert_eq!(in_bucket(&api, "resumes/").await, 1);
}

#[tokio::test]
async fn a_ticket_ends_after_an_hour_and_a_task_looks_at_the_file() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let (sent, empty, wrong) =
        (ticket(&api, ada, PDF.len()).await, ticket(&api, ada, 5).await, ticket(&api, ada, 8).await);
    upload(&sent, PDF).await.expect(201);
    upload(&wrong, b"\x89PNG\r\n\x1a\n").await.expect(201);
    api.clock.set("2026-11-20T10:29:59Z");
    api.run_tasks().await;
    let status = |list: &Response| {
        let files = list.body["data"].as_array().unwrap().iter();
        files.map(|file| file["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(status(&api.get(&path(ada)).await), ["waiting", "waiting", "waiting"]);
    api.clock.set("2026-11-20T10:30:00Z");
    upload(&empty, b"12345").await.expect(403);
    api.run_tasks().await;
    let list = api.get(&path(ada)).await;
    assert_eq!(status(&list), ["refused", "refused", "ready"]);
    assert_eq!(list.string("/data/1/reason"), "Nothing was uploaded in time.");
    assert!(!list.string("/data/0/reason").is_empty());
    let again = complete(&api, ada, wrong.number("/id")).await.expect(200);
    assert_eq!(again.string("/status"), "refused");
    let detail = candidate(&api, ada).await;
    assert_eq!(kinds(&detail), ["updated", "file_added", "created"]);
    assert_eq!(detail.body["touchpoints"][1]["actor"], key_actor(ACME, Mode::Live));
}

#[tokio::test]
async fn the_team_has_20_files_of_a_candidate_and_refused_ones_give_way() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let wrong = ticket(&api, ada, 8).await;
    upload(&wrong, b"\x89PNG\r\n\x1a\n").await.expect(201);
    complete(&api, ada, wrong.number("/id")).await.expect(200);
    for number in 1..=19 {
        add(&api, ada, &format!("{number}.pdf"), PDF).await.expect(201);
    }
    let last = json!({ "name": "20.pdf", "content": STANDARD.encode(PDF) });
    let last = async || {
        let request = api.request(Method::POST, &path(ada)).header("idempotency-key", "the-last-one");
        request.json(&last).send().await.expect(201).number("/id")
    };
    assert_eq!(last().await, last().await, "a request that is repeated has the first answer");
    let refused = add(&api, ada, "21.pdf", PDF).await.expect(422);
    assert!(messages(&refused)[0].contains("at most 20 files"), "{}", refused.text);
    ticket(&api, ada, 8).await.expect(422);
    let names = names(&api, ada).await;
    assert_eq!((names.len(), &*names[0], &*names[19]), (20, "20.pdf", "1.pdf"));
    let page = api.get(&format!("{}?limit=15", path(ada))).await.expect(200);
    let next = format!("{}?limit=15&cursor={}", path(ada), page.string("/next_cursor"));
    assert_eq!(api.get(&next).await.expect(200).body["data"].as_array().unwrap().len(), 5);
    // What was written before the refusal is deleted.
    api.clock.set("2026-11-20T10:00:00Z");
    api.run_tasks().await;
    assert_eq!(in_bucket(&api, "resumes/").await, 20);
}

#[tokio::test]
async fn a_deleted_file_is_gone_and_the_newest_other_resume_takes_its_place() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let first = add(&api, ada, "first.pdf", PDF).await.expect(201);
    let second = add(&api, ada, "second.pdf", PDF).await.expect(201);
    let of = |file: &Response| format!("{}/{}", path(ada), file.number("/id"));
    let stem = |url: &str| url.split('?').next().unwrap().to_owned();
    let hold = format!("{CANDIDATES}/{ada}/legal_hold");
    api.request(Method::PUT, &hold).json(&json!({ "reason": "A lawsuit" })).send().await.expect(200);
    assert_eq!(api.delete(&of(&second)).await.expect(409).string("/code"), "legal_hold");
    api.delete(&hold).await.expect(200);
    let deleted = api.delete(&of(&second)).await.expect(200);
    assert_eq!((deleted.string("/name"), &deleted.body["url"]), ("second.pdf", &Value::Null));
    download(second.string("/url")).await.expect(404);
    let detail = candidate(&api, ada).await;
    assert_eq!(stem(detail.string("/resume_url")), stem(first.string("/url")));
    assert_eq!(kinds(&detail)[0], "file_deleted");
    api.get(&of(&second)).await.expect(404);
    api.delete(&of(&second)).await.expect(404);
    // The bucket doesn't answer now: a task deletes the file.
    let file = add(&api, ada, "third.pdf", PDF).await.expect(201);
    api.clock.set("2026-11-20T10:00:00Z");
    api.run_tasks().await;
    assert_eq!(in_bucket(&api, "resumes/").await, 2);
    api.delete(&of(&file)).await.expect(200);
    api.delete(&of(&first)).await.expect(200);
    assert_eq!(candidate(&api, ada).await.body["resume_url"], Value::Null);
    assert_eq!(in_bucket(&api, "resumes/").await, 0);
}

#[tokio::test]
async fn what_the_bucket_did_not_delete_is_deleted_by_a_task() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let file = add(&api, ada, "cv.pdf", PDF).await.expect(201).number("/id");
    let nowhere =
        |access: BucketAccess| BucketAccess { endpoint: Some("http://127.0.0.1:1".into()), ..access };
    let environment = api.environment.clone();
    let mut api = api;
    let access = api.environment.config.services.resumes.take().map(nowhere);
    api.environment.config.services.resumes = access;
    api.environment.providers = shared::providers::Providers::new(&api.environment.config);
    api.restart();
    api.delete(&format!("{}/{file}", path(ada))).await.expect(200);
    add(&api, ada, "cv.pdf", PDF).await.expect(502);
    api.environment = environment;
    api.restart();
    assert_eq!(in_bucket(&api, "resumes/").await, 1);
    api.clock.set("2026-11-20T09:44:59Z");
    api.run_tasks().await;
    assert_eq!(in_bucket(&api, "resumes/").await, 1);
    api.clock.set("2026-11-20T09:45:00Z");
    api.run_tasks().await;
    assert_eq!(in_bucket(&api, "resumes/").await, 0);
}

#[tokio::test]
async fn five_files_of_an_application_s_forms_are_kept_and_opened_ones_stay() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let apply = |number: usize| {
        let (job, api) = (&job, &api);
        async move {
            let content = "x".repeat(number);
            let form = form("Ada", "ada@example.com");
            let (browser, path) = (Browser::new(api), format!("{}/apply", job.path));
            browser.submit_file(&path, &form, content.as_bytes()).await.expect(303);
        }
    };
    for number in 1..=5 {
        apply(number).await;
    }
    let ada = find(&api, "ada@example.com").await.number("/id");
    let sizes = async || {
        let list = api.get(&format!("{}?limit=100", path(ada))).await.expect(200);
        let sizes = list.body["data"].as_array().unwrap().iter().map(|file| file["size"].as_u64().unwrap());
        sizes.filter(|size| *size < 10).collect::<Vec<_>>()
    };
    assert_eq!(sizes().await, [5, 4, 3, 2, 1]);
    let list = api.get(&path(ada)).await;
    assert_eq!(list.string("/data/0/name"), "cv.pdf.txt");
    let first = format!("{}/{}", path(ada), list.number("/data/4/id"));
    api.get(&first).await.expect(200);
    apply(6).await;
    assert_eq!(sizes().await, [6, 5, 4, 3, 1]);
    let detail = candidate(&api, ada).await;
    assert!(kinds(&detail).contains(&"file_deleted"), "{:?}", kinds(&detail));
    // The team's files are counted apart.
    for number in 1..=20 {
        add(&api, ada, &format!("team {number}.pdf"), PDF).await.expect(201);
    }
    for file in api.get(&path(ada)).await.body["data"].as_array().unwrap() {
        api.get(&format!("{}/{}", path(ada), file["id"])).await.expect(200);
    }
    apply(7).await;
    assert_eq!(sizes().await, [7, 6, 5, 4, 3, 1], "nothing that somebody has opened gives way");
}

#[tokio::test]
async fn a_deployment_with_a_virus_scanner_opens_files_after_the_scan() {
    let api = with_bucket(|access| Some(BucketAccess { waits_for_scans: true, ..access })).await;
    let ada = ada(&api).await;
    let first = add(&api, ada, "first.pdf", PDF).await.expect(201);
    add(&api, ada, "second.pdf", PDF).await.expect(201);
    assert_eq!((first.string("/status"), &first.body["url"]), ("scanning", &Value::Null));
    let of = |file: &Response| format!("{}/{}", path(ada), file.number("/id"));
    assert_eq!(api.get(&of(&first)).await.string("/status"), "scanning");
    let keys = keys(&api).await;
    let key =
        |number: usize| keys.iter().filter(|key| key.starts_with("resumes/")).nth(number).unwrap().clone();
    assert!(api.files.scan(&key(0), "NO_THREATS_FOUND").await);
    assert!(api.files.scan(&key(1), "THREATS_FOUND").await);
    let list = api.get(&path(ada)).await.expect(200);
    let (mut statuses, mut reasons) = (Vec::new(), Vec::new());
    for file in list.body["data"].as_array().unwrap() {
        statuses.push(file["status"].as_str().unwrap());
        reasons.extend(file["reason"].as_str());
    }
    statuses.sort_unstable();
    assert_eq!(
        (statuses, reasons),
        (vec!["ready", "refused"], vec!["A virus scanner has found a threat in this file."])
    );
    let detail = candidate(&api, ada).await;
    let ready = list.body["data"].as_array().unwrap().iter().find(|file| file["status"] == "ready").unwrap();
    let stem = |url: &str| url.split('?').next().unwrap().to_owned();
    assert_eq!(stem(detail.string("/resume_url")), stem(ready["url"].as_str().unwrap()));
    api.clock.set("2026-11-20T10:00:00Z");
    api.run_tasks().await;
    assert_eq!(in_bucket(&api, "resumes/").await, 1);
}

#[tokio::test]
async fn files_belong_to_one_candidate_of_one_tenant() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let other = json!({ "name": "Bob", "email": "bob@example.com" });
    let bob = api.post(CANDIDATES, other).await.expect(201).number("/id");
    let file = add(&api, ada, "cv.pdf", PDF).await.expect(201).number("/id");
    let waiting = ticket(&api, ada, 5).await.expect(201).number("/id");
    for (demo, mode, candidate) in
        [(GLOBEX, Mode::Live, ada), (ACME, Mode::Test, ada), (ACME, Mode::Live, bob)]
    {
        for (method, path) in [
            (Method::GET, format!("{}/{file}", path(candidate))),
            (Method::DELETE, format!("{}/{file}", path(candidate))),
            (Method::POST, format!("{}/{waiting}/complete", path(candidate))),
        ] {
            api.request(method, &path).key(demo, mode).send().await.expect(404);
        }
    }
    api.request(Method::GET, &path(ada)).key(GLOBEX, Mode::Live).send().await.expect(404);
    let of_bob = api.get(&format!("{}/x", path(bob))).await;
    of_bob.expect(404);
}

#[tokio::test]
async fn who_may_not_read_people_gets_no_name_and_no_link() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let key = key_with(&api, Scope::CandidatesWrite).await.reveal().to_owned();
    let body = json!({ "name": "Ada's CV.pdf", "content": STANDARD.encode(PDF) });
    let added = api.request(Method::POST, &path(ada)).bearer(&key).json(&body).send().await.expect(201);
    let expected = json!({
        "id": added.number("/id"), "candidate_id": ada, "application_id": null, "kind": "resume",
        "size": PDF.len(), "status": "ready", "upload": null,
    });
    assert_eq!(added.body, expected);
    let body = json!({ "name": "Ada's CV.pdf", "size": PDF.len() });
    let waiting = api.request(Method::POST, &path(ada)).bearer(&key).json(&body).send().await.expect(201);
    upload(&waiting, PDF).await.expect(201);
    let complete = format!("{}/{}/complete", path(ada), waiting.number("/id"));
    let done = api.request(Method::POST, &complete).bearer(&key).send().await.expect(200);
    assert!(!done.text.contains("Ada") && !done.text.contains("http"), "{}", done.text);
}

#[tokio::test]
async fn files_are_in_events_exports_and_erasures() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    let kept = add(&api, ada, "kept.pdf", PDF).await.expect(201).number("/id");
    let gone = add(&api, ada, "gone.pdf", PDF).await.expect(201).number("/id");
    api.delete(&format!("{}/{gone}", path(ada))).await.expect(200);
    let waiting = ticket(&api, ada, PDF.len()).await.expect(201);
    upload(&waiting, PDF).await.expect(201);
    api.run_feed().await;
    let events = api.get("/api/v1/events?limit=100").await.expect(200);
    let of_files =
        events.body["data"].as_array().unwrap().iter().filter(|event| event["subject"]["type"] == "file");
    let of_files: Vec<_> = of_files
        .map(|event| {
            (event["type"].as_str().unwrap(), event["subject"]["id"].as_u64().unwrap(), event["data"].clone())
        })
        .collect();
    let data = json!({ "candidate_id": ada, "kind": "resume" });
    let expected = [("file.created", kept), ("file.created", gone), ("file.deleted", gone)];
    assert_eq!(of_files, expected.map(|(kind, id)| (kind, id, data.clone())));
    let export = api.get(&format!("{CANDIDATES}/{ada}/export")).await.expect(200);
    let files = export.body["files"].as_array().unwrap();
    let names: Vec<_> = files.iter().map(|file| (file["name"].as_str(), file["status"].as_str())).collect();
    assert_eq!(names, [(Some("cv.pdf"), Some("waiting")), (Some("kept.pdf"), Some("ready"))]);
    assert_eq!(download(files[1]["url"].as_str().unwrap()).await.expect(200).text.as_bytes(), PDF);
    erase(&api, ada).await.expect(202);
    api.run_tasks().await;
    assert_eq!((in_bucket(&api, "resumes/").await, in_bucket(&api, "incoming/").await), (0, 0));
    // The ticket is still valid for a while.
    upload(&waiting, PDF).await.expect(201);
    api.clock.set("2026-11-20T10:45:00Z");
    api.run_tasks().await;
    assert_eq!(in_bucket(&api, "incoming/").await, 0);
    complete(&api, ada, waiting.number("/id")).await.expect(410);
}

#[tokio::test]
async fn a_file_is_added_once_whatever_fails() {
    let api = TestApi::new().await;
    let ada = ada(&api).await;
    for attempt in 0..6 {
        let calls = AtomicUsize::new(0);
        api.dynamodb.inject_faults(move |operation, _| {
            let is_write = operation == "TransactWriteItems";
            (is_write && calls.fetch_add(1, Ordering::Relaxed) == attempt).then_some(Fault::ResponseLost)
        });
        let key = format!("key-{attempt}");
        let body = json!({ "name": "cv.pdf", "content": STANDARD.encode(PDF) });
        for _ in 0..2 {
            let request = api.request(Method::POST, &path(ada)).json(&body).header("idempotency-key", &key);
            request.send().await.expect(201);
            api.dynamodb.inject_faults(|_, _| None);
        }
        assert_eq!(names(&api, ada).await.len(), attempt + 1);
    }
    api.clock.set("2026-11-20T10:00:00Z");
    api.run_tasks().await;
    assert_eq!(in_bucket(&api, "resumes/").await, 6);
}
