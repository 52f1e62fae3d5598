//! Questions that are answered with a file: asked on the page after the application form, without scripts, and kept as answers.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::config::BucketAccess;
use shared::model::Mode;
use tests::assistant::Assistant;
use tests::browser::{Browser, Form, plain};
use tests::dashboard::owner;
use tests::interceptor::Fault;
use tests::{ACME, Response, TestApi, tenant};

use crate::careers_applications::{Job, find, form, kinds, observed, submission};
use crate::careers_resumes::{PDF, apply_with, docx, download, post, redirect_path, with_bucket};
use crate::careers_suspects::{suspects_of, trapped};
use crate::erasures::{erase, everything, keys};

const MAX: usize = 10 * 1024 * 1024;
const MISSING: &str = "We did not receive the file. Please upload it again.";
const RECEIVED: &str = ": we have received your file.";

fn question(label: &str, required: bool) -> Value {
    json!({ "label": label, "kind": "file", "required": required })
}

/// Sets the questions of a job. Returns their identifiers.
async fn ask(api: &TestApi, job: &Job, questions: Value) -> Vec<u64> {
    let path = format!("/api/v1/job_postings/{}", job.posting);
    let asked = api.patch(&path, json!({ "questions": questions })).await.expect(200);
    asked.body["questions"].as_array().unwrap().iter().map(|asked| asked["id"].as_u64().unwrap()).collect()
}

/// A job that asks for a certificate, and perhaps for samples.
async fn job_with_files(api: &TestApi) -> (Job, Vec<u64>) {
    let job = Job::new(api, "Analyst").await;
    let ids = ask(api, &job, json!([question("Certificate?", true), question("Samples?", false)])).await;
    (job, ids)
}

/// A form of a page that uploads a file.
struct Upload {
    /// The identifier of its field.
    field: String,
    action: String,
    hidden: Vec<(String, String)>,
}

/// The forms of a page that upload a file, in their order.
fn uploads(page: &Response) -> Vec<Upload> {
    let attribute = |tag: &str, name: &str| {
        let value = tag.split(&format!("{name}=\"")).nth(1).unwrap();
        plain(value.split('"').next().unwrap())
    };
    let forms = page.text.split("<form ").skip(1).map(|rest| rest.split("</form>").next().unwrap());
    let forms = forms.map(|form| {
        let hidden = form.split("<input type=\"hidden\"").skip(1);
        let file = form.split("<input id=").nth(1).unwrap();
        assert!(file.contains("type=\"file\" name=\"file\"") && form.contains("multipart/form-data"));
        Upload {
            field: file.split('"').nth(1).unwrap().to_owned(),
            action: attribute(form, "action"),
            hidden: hidden.map(|tag| (attribute(tag, "name"), attribute(tag, "value"))).collect(),
        }
    });
    forms.collect()
}

fn fields(page: &Response) -> Vec<String> {
    uploads(page).into_iter().map(|upload| upload.field).collect()
}

fn field(question: u64) -> String {
    format!("question_{question}")
}

/// Uploads a file with one of the forms of a page. Returns the path that the bucket redirects to.
async fn upload(page: &Response, field: &str, content: &[u8]) -> String {
    let forms = uploads(page);
    let form = forms.iter().find(|upload| upload.field == field).unwrap_or_else(|| panic!("{}", page.text));
    redirect_path(&post(&form.action, &form.hidden, content).await.expect(303))
}

/// Answers a question with a file, and returns the page after it.
async fn answer(api: &TestApi, page: &Response, question: u64, content: &[u8]) -> Response {
    let browser = Browser::new(api);
    let back = browser.get(&upload(page, &field(question), content).await).await;
    if back.status == 303 { browser.follow(&back).await.expect(200) } else { back }
}

async fn apply(api: &TestApi, job: &Job, form: &Form) -> Response {
    let applied = job.apply(api, form).await.expect(303);
    Browser::new(api).follow(&applied).await.expect(200)
}

/// The sentence of a page about files that are missing.
fn missing(page: &Response) -> Option<&str> {
    let notice = page.text.split("<p class=\"notice\" role=\"status\">").nth(1)?;
    notice.split('<').next()
}

/// The problem that a page names at the field of a question.
fn problem(page: &Response, question: u64) -> &str {
    let id = format!("{}-problem", field(question));
    let problem = page.text.split(&format!("id=\"{id}\" role=\"alert\">")).nth(1).unwrap_or_default();
    assert!(
        page.text
            .contains(&format!("aria-invalid=\"true\" aria-describedby=\"{}-hint {id}\"", field(question)))
    );
    problem.split('<').next().unwrap()
}

/// The detail of the application for a job.
async fn detail(api: &TestApi, candidate: &Response) -> Response {
    api.get(&format!("/api/v1/applications/{}", candidate.number("/applications/0/id"))).await.expect(200)
}

async fn files(api: &TestApi, candidate: &Response) -> Vec<Value> {
    let list = api.get(&format!("/api/v1/candidates/{}/files", candidate.number("/id"))).await.expect(200);
    list.body["data"].as_array().unwrap().clone()
}

fn answered(question: u64, label: &str, file: &Value) -> Value {
    json!({ "question_id": question, "label": label, "kind": "file", "value": file["id"] })
}

async fn export(api: &TestApi, candidate: &Response) -> Response {
    api.get(&format!("/api/v1/candidates/{}/export", candidate.number("/id"))).await.expect(200)
}

#[tokio::test]
async fn each_question_has_a_form_and_its_file_becomes_an_answer() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let mut arabic = question("شهادة الميلاد؟", true);
    arabic["help"] = "صفحة واحدة\nواضحة".into();
    let typed = json!({ "label": "Why?", "kind": "short_text" });
    let ids = ask(&api, &job, json!([question("Samples?", false), typed, arabic])).await;
    let page = Browser::new(&api).get(&job.path).await.expect(200);
    assert!(
        page.text.contains("You will be asked for 1 file on the next page.") && !page.text.contains("شهادة")
    );
    let page = apply(&api, &job, &form("ليلى", "layla@example.com").and(&field(ids[1]), "Because")).await;
    assert_eq!(fields(&page), [field(ids[0]), field(ids[2]), "file".to_owned()]);
    assert_eq!(missing(&page), Some("1 file is still needed."));
    assert!(!page.text.contains("nothing else you need to do"));
    assert!(
        page.text.contains("<bdi>شهادة الميلاد؟</bdi></label>") && page.text.contains("صفحة واحدة\nواضحة</p>")
    );
    assert!(page.text.contains("<bdi>Samples?</bdi> <span class=\"quiet\">(optional)</span></label>"));
    assert!(page.text.contains(&format!("aria-describedby=\"{0}-help {0}-hint\"", field(ids[2]))));

    api.clock.set("2026-11-20T09:31:00Z");
    let page = answer(&api, &page, ids[2], PDF).await;
    assert_eq!(fields(&page), [field(ids[0]), "file".to_owned()], "a form is not offered twice");
    assert!(missing(&page).is_none() && page.text.contains("nothing else you need to do"));
    assert!(page.text.contains(&format!("<bdi>شهادة الميلاد؟</bdi>{RECEIVED}")));
    let large = [PDF, &vec![b' '; MAX - PDF.len()]].concat();
    let page = answer(&api, &page, ids[0], &large).await;
    assert_eq!(fields(&page), ["file"]);
    let resume = upload(&page, "file", &docx(&[])).await;
    let browser = Browser::new(&api);
    let page = browser.follow(&browser.get(&resume).await.expect(303)).await.expect(200);
    assert!(fields(&page).is_empty() && page.text.contains("and your resume"));
    assert_eq!(page.text.matches(RECEIVED).count(), 2, "{}", page.text);

    let candidate = find(&api, "layla@example.com").await;
    let kept = files(&api, &candidate).await;
    let [resume, samples, certificate] = kept.as_slice() else { panic!("{kept:?}") };
    let application = candidate.number("/applications/0/id");
    for (file, name, size) in [(certificate, "شهادة الميلاد؟.pdf", PDF.len()), (samples, "Samples?.pdf", MAX)]
    {
        assert_eq!(
            (&file["kind"], &file["name"], &file["size"]),
            (&json!("other"), &json!(name), &json!(size))
        );
        assert_eq!(
            (&file["application_id"], &file["created_by"]["type"]),
            (&json!(application), &json!("career_page"))
        );
    }
    assert_eq!(download(certificate["url"].as_str().unwrap()).await.expect(200).text.as_bytes(), PDF);
    assert_eq!(
        (&resume["kind"], &candidate.body["applications"][0]["resume_file_id"]),
        (&json!("resume"), &resume["id"])
    );
    assert!(candidate.string("/resume_url").contains(".docx"), "an answer is never the resume");
    assert_eq!(
        kinds(&candidate),
        ["updated", "file_added", "file_added", "file_added", "applied", "consent_changed", "created"],
    );
    let expected = json!([
        { "question_id": ids[1], "label": "Why?", "kind": "short_text", "value": "Because" },
        answered(ids[2], "شهادة الميلاد؟", certificate),
        answered(ids[0], "Samples?", samples),
    ]);
    let shown = detail(&api, &candidate).await;
    assert_eq!(shown.body["answers"], expected);
    assert_eq!(shown.string("/updated_at"), "2026-11-20T09:31:00.000Z");
    let sent = submission(&api, &candidate, 4).await;
    assert_eq!((&sent.body["answers"], &sent.body["resume_file_id"]), (&expected, &resume["id"]));
    let export = export(&api, &candidate).await;
    assert_eq!(export.body["applications"][0]["answers"], expected);
    assert_eq!(export.body["submissions"][0]["answers"], expected);
    assert_eq!(export.body["files"].as_array().unwrap().len(), 3);

    let dashboard = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let person =
        dashboard.get(&format!("/dashboard/candidates/{}", candidate.number("/id"))).await.expect(200);
    let side_by_side = dashboard.get(&format!("/dashboard/roles/{}/answers", job.role)).await.expect(200);
    for page in [person, side_by_side] {
        assert!(
            page.text.contains("شهادة الميلاد؟") && page.text.contains(&format!("File {}", certificate["id"]))
        );
    }
    let arguments = json!({ "candidate_id": candidate.number("/id"), "response_format": "detailed" });
    let read = Assistant::new(&api).call("get_candidate", arguments).await;
    assert_eq!(read["untrusted"]["answers"].as_array().unwrap().len(), 3);
    api.run_feed().await;
    let created = api.get("/api/v1/events?type=file.created").await.expect(200);
    assert_eq!(created.body["data"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_page_asks_for_up_to_25_files_and_counts_those_that_are_required() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let longest = |number: usize| {
        let mut question = question(&format!("{number:02}{}", "é".repeat(298)), number != 7);
        question["help"] = "é".repeat(490).into();
        question
    };
    let ids = ask(&api, &job, (0..25).map(longest).collect::<Vec<_>>().into()).await;
    let page = Browser::new(&api).get(&job.path).await.expect(200);
    assert!(page.text.contains("You will be asked for 24 files on the next page."));
    let mut page = apply(&api, &job, &form("Ada", "ada@example.com")).await;
    assert_eq!(fields(&page).len(), 26);
    assert_eq!(missing(&page), Some("24 files are still needed."));
    for (number, id) in ids.iter().enumerate() {
        page = answer(&api, &page, *id, PDF).await;
        assert_eq!(page.text.matches(RECEIVED).count(), number + 1, "{}", page.text);
    }
    assert_eq!((fields(&page), missing(&page)), (vec!["file".to_owned()], None));
    let candidate = find(&api, "ada@example.com").await;
    let answers = detail(&api, &candidate).await.body["answers"].clone();
    let asked: Vec<_> =
        answers.as_array().unwrap().iter().map(|answer| answer["question_id"].as_u64().unwrap()).collect();
    assert_eq!(asked, ids);
    let names: Vec<_> = files(&api, &candidate)
        .await
        .iter()
        .map(|file| file["name"].as_str().unwrap().chars().count())
        .collect();
    assert_eq!(names, [259; 25], "a name has 255 characters and the ending");
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_said_at_its_question() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let browser = Browser::new(&api);
    let page = browser.follow(&applied).await.expect(200);
    // Nothing was uploaded.
    let address = |question: &str| format!("{}&question={question}&etag=x", applied.header("location"));
    let early = browser.get(&address(&ids[0].to_string())).await.expect(422);
    assert_eq!((problem(&early, ids[0]), missing(&early)), (MISSING, Some("1 file is still needed.")));
    let wrong = answer(&api, &page, ids[0], b"\x89PNG\r\n\x1a\n").await.expect(422);
    assert!(problem(&wrong, ids[0]).starts_with("This is a picture."), "{}", wrong.text);
    assert_eq!(fields(&wrong), [field(ids[0]), field(ids[1]), "file".to_owned()]);
    assert_eq!(wrong.text.matches("role=\"alert\"").count(), 1);
    // The bucket itself refuses these.
    for (content, code) in [(Vec::new(), "EntityTooSmall"), (vec![b'x'; MAX + 1], "EntityTooLarge")] {
        let form = &uploads(&page)[0];
        assert!(post(&form.action, &form.hidden, &content).await.expect(400).text.contains(code));
    }
    // A file for one question is none for another.
    browser.get(&address(&ids[1].to_string())).await.expect(422);
    // Numbers that are no question of this kind.
    for other in ["7", "x", "%3Cscript%3E"] {
        let page = browser.get(&address(other)).await.expect(422);
        assert!(page.text.contains("does not ask for the file that you uploaded any more"), "{}", page.text);
    }
    let candidate = find(&api, "ada@example.com").await;
    assert!(files(&api, &candidate).await.is_empty());
    assert_eq!(detail(&api, &candidate).await.body["answers"], json!([]));
    let page = answer(&api, &wrong, ids[0], PDF).await.expect(200);
    assert_eq!((missing(&page), files(&api, &candidate).await.len()), (None, 1));
}

#[tokio::test]
async fn a_ticket_allows_one_file_for_each_question_of_its_posting_for_an_hour() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let other = Job::new(&api, "Cook").await;
    let others = ask(&api, &other, json!([question("Certificate?", true)])).await;
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let browser = Browser::new(&api);
    let page = browser.follow(&applied).await.expect(200);
    answer(&api, &page, ids[0], PDF).await;
    let candidate = find(&api, "ada@example.com").await;
    let first = files(&api, &candidate).await;
    // The page of before the upload offers the form again: the first file stays, and the page says that it was received.
    let again = answer(&api, &page, ids[0], b"Another certificate").await.expect(200);
    assert!(again.text.contains(&format!("<bdi>Certificate?</bdi>{RECEIVED}")));
    assert_eq!(files(&api, &candidate).await, first);
    assert_eq!(detail(&api, &candidate).await.body["answers"].as_array().unwrap().len(), 1);
    // The same at the same time.
    let path = upload(&page, &field(ids[1]), PDF).await;
    for back in join_all((0..4).map(|_| browser.get(&path))).await {
        assert!(back.expect(303).header("location").ends_with(&format!("&answered={}", ids[1])));
    }
    assert_eq!(files(&api, &candidate).await.len(), 2);
    // Another posting's ticket.
    let ticket = Form::of_location(&applied).1.get("ticket").to_owned();
    let foreign = format!("{}/apply?ticket={ticket}&question={}&etag=x", other.path, others[0]);
    assert!(browser.get(&foreign).await.expect(303).header("location").ends_with("#apply"));
    // An hour later, nothing can be uploaded, even if DynamoDB has not deleted the item yet.
    let applied = job.apply(&api, &form("Eve", "eve@example.com")).await.expect(303);
    let page = browser.follow(&applied).await.expect(200);
    let path = upload(&page, &field(ids[0]), PDF).await;
    api.clock.set("2026-11-20T10:30:00Z");
    assert!(browser.get(&path).await.expect(303).header("location").ends_with("#apply"));
    assert!(files(&api, &find(&api, "eve@example.com").await).await.is_empty());
}

#[tokio::test]
async fn a_ticket_allows_20_files_to_be_checked_besides_one_for_each_question() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let page = apply(&api, &job, &form("Ada", "ada@example.com")).await;
    for _ in 0..22 {
        let refused = answer(&api, &page, ids[0], b"<html>").await.expect(422);
        assert!(problem(&refused, ids[0]).starts_with("This is a web page."));
    }
    let refused = answer(&api, &page, ids[0], PDF).await.expect(422);
    assert!(problem(&refused, ids[0]).ends_with("received without this file."));
    assert!(files(&api, &find(&api, "ada@example.com").await).await.is_empty());
}

#[tokio::test]
async fn questions_may_change_while_somebody_uploads() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let page = apply(&api, &job, &form("Ada", "ada@example.com")).await;
    let browser = Browser::new(&api);
    let paths = [upload(&page, &field(ids[0]), PDF).await, upload(&page, &field(ids[1]), PDF).await];
    let renamed = json!([
        { "id": ids[0], "label": "Diploma?", "kind": "file" },
        { "id": ids[1], "label": "Samples?", "kind": "short_text" },
        question("New?", true),
    ]);
    let new = ask(&api, &job, renamed).await[2];
    let back = browser.get(&paths[0]).await.expect(303);
    let page = browser.follow(&back).await.expect(200);
    assert_eq!(
        (fields(&page), missing(&page)),
        (vec![field(new), "file".to_owned()], Some("1 file is still needed."))
    );
    let gone = browser.get(&paths[1]).await.expect(422);
    assert!(gone.text.contains("so it was not kept."), "{}", gone.text);
    let candidate = find(&api, "ada@example.com").await;
    let kept = files(&api, &candidate).await;
    assert_eq!(
        detail(&api, &candidate).await.body["answers"],
        json!([answered(ids[0], "Diploma?", &kept[0])])
    );
    // The answer stays when its question is deleted, and the address that names it is no mistake.
    ask(&api, &job, json!([])).await;
    let page = browser.get(back.header("location")).await.expect(200);
    assert_eq!((fields(&page), missing(&page)), (vec!["file".to_owned()], None));
    assert_eq!(detail(&api, &candidate).await.body["answers"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn files_of_a_further_form_stay_in_its_submission() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let ada = form("Ada", "ada@example.com");
    let page = apply(&api, &job, &ada).await;
    answer(&api, &page, ids[0], PDF).await;
    let candidate = find(&api, "ada@example.com").await;
    let before = detail(&api, &candidate).await.body["answers"].clone();
    api.clock.set("2026-11-20T09:40:00Z");
    let again = apply(&api, &job, &ada).await;
    answer(&api, &again, ids[0], b"Another certificate").await;
    answer(&api, &again, ids[1], PDF).await;
    let after = find(&api, "ada@example.com").await;
    let kept = files(&api, &after).await;
    assert_eq!(detail(&api, &after).await.body["answers"], before);
    assert_eq!(
        submission(&api, &after, 2).await.body["answers"],
        json!([answered(ids[0], "Certificate?", &kept[1]), answered(ids[1], "Samples?", &kept[0]),])
    );
    assert_eq!(submission(&api, &after, 4).await.body["answers"], before);
    assert_eq!(
        (&after.body["resume_url"], &after.body["applications"][0]["offered"]),
        (&Value::Null, &Value::Null)
    );
    // A form for an application that a key has made is a further one, even at the same time.
    let body = json!({ "name": "Eve", "email": "eve@example.com", "role_id": job.role });
    api.post("/api/v1/candidates", body).await.expect(201);
    let page = apply(&api, &job, &form("Eve", "eve@example.com")).await;
    answer(&api, &page, ids[0], PDF).await;
    let eve = find(&api, "eve@example.com").await;
    assert_eq!(detail(&api, &eve).await.body["answers"], json!([]));
    assert_eq!(submission(&api, &eve, 1).await.body["answers"].as_array().unwrap().len(), 1);
    // The first form of a known person for another role belongs to its application.
    let other = Job::new(&api, "Cook").await;
    let id = ask(&api, &other, json!([question("Licence?", true)])).await[0];
    let page = apply(&api, &other, &form("Eve", "eve@example.com")).await;
    answer(&api, &page, id, PDF).await;
    let eve = find(&api, "eve@example.com").await;
    let answers = detail(&api, &eve).await.body["answers"].clone();
    assert_eq!(answers, json!([answered(id, "Licence?", &files(&api, &eve).await[0])]));
    assert_eq!(eve.body["resume_url"], Value::Null);
}

/// Six forms bring a file for each of two questions. Each question keeps five.
#[tokio::test]
async fn each_question_keeps_five_files_of_an_applications_forms() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    for _ in 0..6 {
        let page = apply(&api, &job, &form("Ada", "ada@example.com")).await;
        answer(&api, &page, ids[0], PDF).await;
    }
    let candidate = find(&api, "ada@example.com").await;
    assert_eq!(files(&api, &candidate).await.len(), 5);
    let page = apply(&api, &job, &form("Ada", "ada@example.com")).await;
    answer(&api, &page, ids[1], PDF).await;
    assert_eq!(files(&api, &candidate).await.len(), 6, "another question has its own five");
    // The answer still names the file that gave way.
    assert_eq!(detail(&api, &candidate).await.body["answers"].as_array().unwrap().len(), 1);
}

/// Neither the calls nor their size reveal whether somebody is known.
#[tokio::test]
async fn answering_takes_the_same_calls_and_writes_for_known_and_unknown_people() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let other = Job::new(&api, "Cook").await;
    other.apply(&api, &form("Known", "known@example.com")).await.expect(303);
    job.apply(&api, &form("Applied", "applied@example.com")).await.expect(303);
    let mut seen = Vec::new();
    for email in ["new@example.com", "known@example.com", "applied@example.com"] {
        let page = apply(&api, &job, &form("Somebody", email)).await;
        for id in &ids {
            let path = upload(&page, &field(*id), PDF).await;
            api.dynamodb.take_calls();
            Browser::new(&api).get(&path).await.expect(303);
            let writes = |call: &Value| call["TransactItems"].as_array().map_or(1, Vec::len);
            let calls = api.dynamodb.take_calls().into_iter();
            seen.push(calls.map(|call| (writes(&call.request), call.operation)).collect::<Vec<_>>());
        }
    }
    assert!(seen[0].iter().any(|(_, operation)| operation == "TransactWriteItems"));
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
}

/// A function can be killed after any call. The answer is kept once, and the file can be uploaded again.
#[tokio::test]
async fn an_interrupted_answer_can_be_repeated() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let browser = Browser::new(&api);
    let mut successful_calls = 0;
    loop {
        let email = format!("ada{successful_calls}@example.com");
        let page = apply(&api, &job, &form("Ada", &email)).await;
        let back = upload(&page, &field(ids[0]), PDF).await;
        let calls = AtomicUsize::new(0);
        api.dynamodb.inject_faults(move |_, _| {
            (calls.fetch_add(1, Ordering::Relaxed) >= successful_calls).then_some(Fault::Unreachable)
        });
        let response = browser.get(&back).await;
        api.dynamodb.inject_faults(|_, _| None);
        if response.status == 303 {
            break;
        }
        assert_eq!(response.status, 503);
        assert_eq!(detail(&api, &find(&api, &email).await).await.body["answers"], json!([]));
        browser.get(&back).await.expect(303);
        let candidate = find(&api, &email).await;
        let kept = files(&api, &candidate).await;
        let answers = detail(&api, &candidate).await.body["answers"].clone();
        assert_eq!(answers, json!([answered(ids[0], "Certificate?", &kept[0])]), "{successful_calls}");
        assert_eq!(kept.len(), 1);
        successful_calls += 1;
    }
    assert!(successful_calls >= 5, "{successful_calls}");
}

#[tokio::test]
async fn a_bucket_that_does_not_answer_is_said_at_the_question() {
    let nowhere = |access| Some(BucketAccess { endpoint: Some("http://127.0.0.1:1".to_owned()), ..access });
    let api = with_bucket(nowhere).await;
    let (job, ids) = job_with_files(&api).await;
    for form in [form("Ada Lovelace", "ada@example.com"), trapped("robot@example.com")] {
        let applied = job.apply(&api, &form).await.expect(303);
        let path = format!("{}&question={}&etag=x", applied.header("location"), ids[0]);
        let page = Browser::new(&api).get(&path).await.expect(422);
        assert!(
            problem(&page, ids[0]).ends_with("please upload the file again in a minute."),
            "{}",
            page.text
        );
        assert_eq!(missing(&page), Some("1 file is still needed."));
    }
}

/// Everything that a visitor receives who answers a question twice, with random values masked.
async fn visit(api: &TestApi, job: &Job, id: u64, form: &Form) -> Vec<(u16, Vec<(String, String)>, String)> {
    let browser = Browser::new(api);
    let applied = job.apply(api, form).await;
    let ticket = Form::of_location(&applied).1.get("ticket").to_owned();
    let page = browser.follow(&applied).await.expect(200);
    let early =
        browser.get(&format!("{}&question={id}&etag=x", applied.header("location"))).await.expect(422);
    let path = upload(&page, &field(id), PDF).await;
    let back = browser.get(&path).await.expect(303);
    let received = browser.follow(&back).await.expect(200);
    let again = browser.get(&path).await.expect(303);
    let masked = |response: &Response| {
        let (status, headers, mut text) = observed(response, &ticket);
        for (name, value) in uploads(response).into_iter().flat_map(|upload| upload.hidden) {
            match name.as_str() {
                "policy" => text = text.replace(&value, "POLICY"),
                "x-amz-signature" => text = text.replace(&value, "AMZ"),
                _ => {}
            }
        }
        (status, headers, text)
    };
    [applied, page, early, back, received, again].iter().map(masked).collect()
}

#[tokio::test]
async fn the_visitor_of_a_suspect_form_sees_the_same_pages_and_the_answer_is_dropped() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let honest = visit(&api, &job, ids[0], &form("Ada Lovelace", "ada@example.com")).await;
    let suspect = visit(&api, &job, ids[0], &trapped("robot@example.com")).await;
    for (step, (one, other)) in suspect.iter().zip(&honest).enumerate() {
        assert_eq!(one, other, "step {step}");
    }
    let [suspect] = suspects_of(&api, tenant(ACME, Mode::Live)).await.try_into().unwrap();
    assert!(suspect.file.is_none());
    assert!(!keys(&api).await.iter().any(|key| key.starts_with("suspects/")));
}

#[tokio::test]
async fn an_erasure_deletes_the_answers_with_their_files() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let zorbax = b"%PDF-1.7\n% zorbax\n1 0 obj\n<<>>\nendobj\n%%EOF\n";
    let applied = apply_with(&api, &job, &form("Zorbax", "zorbax@example.com"), zorbax).await.expect(303);
    let page = Browser::new(&api).follow(&applied).await.expect(200);
    assert_eq!(fields(&page), [field(ids[0]), field(ids[1])]);
    answer(&api, &page, ids[0], zorbax).await;
    // One that was uploaded, but never came back to the page.
    upload(&page, &field(ids[1]), zorbax).await;
    let stored = keys(&api).await;
    assert_eq!(stored.iter().filter(|key| key.contains("-q")).count(), 3, "{stored:?}");
    let candidate = find(&api, "zorbax@example.com").await;
    erase(&api, candidate.number("/id")).await.expect(202);
    api.run_tasks().await;
    let left =
        |keys: Vec<String>| keys.into_iter().filter(|key| !key.starts_with("erased/")).collect::<Vec<_>>();
    assert_eq!(left(keys(&api).await), [""; 0]);
    // The form can still upload for a quarter of an hour after the ticket.
    upload(&page, &field(ids[1]), zorbax).await;
    api.clock.set("2026-11-20T10:45:00Z");
    api.run_tasks().await;
    assert_eq!(left(keys(&api).await), [""; 0]);
    assert!(!everything(&api).await.iter().any(|(_, content)| content.contains("zorbax")));
}

/// The task that deletes a resume leaves the answers that came with the same ticket.
#[tokio::test]
async fn a_deleted_resume_leaves_the_answers() {
    let api = TestApi::new().await;
    let (job, ids) = job_with_files(&api).await;
    let applied = apply_with(&api, &job, &form("Ada", "ada@example.com"), PDF).await.expect(303);
    let page = Browser::new(&api).follow(&applied).await.expect(200);
    answer(&api, &page, ids[0], PDF).await;
    let candidate = find(&api, "ada@example.com").await;
    let kept = files(&api, &candidate).await;
    let path = format!("/api/v1/candidates/{}/files", candidate.number("/id"));
    api.delete(&format!("{path}/{}", kept[1]["id"])).await.expect(200);
    api.clock.set("2026-11-20T10:45:00Z");
    api.run_tasks().await;
    let left = api.get(&format!("{path}/{}", kept[0]["id"])).await.expect(200);
    assert_eq!(download(left.string("/url")).await.expect(200).text.as_bytes(), PDF);
}

#[tokio::test]
async fn programs_read_when_a_file_is_asked_for() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let typed = json!({ "label": "Why?", "kind": "short_text" });
    let ids = ask(&api, &job, json!([typed, question("Certificate?", true)])).await;
    let path = format!("{}/form.json", job.path);
    let form = api.request(Method::GET, &path).anonymous().send().await.expect(200);
    let [typed, file] = form.body["questions"].as_array().unwrap().as_slice() else {
        panic!("{}", form.text)
    };
    assert_eq!((&typed["asked"], &typed["field"]), (&json!("in_form"), &json!(field(ids[0]))));
    assert_eq!((&typed["max_size"], &typed["accepts"]), (&Value::Null, &json!([])));
    assert_eq!(
        (&file["asked"], &file["field"], &file["required"]),
        (&json!("after_form"), &Value::Null, &json!(true))
    );
    assert_eq!((&file["max_size"], &file["accepts"][0]), (&json!(MAX), &json!(".pdf")));
    assert!(!form.text.contains("\"resume_file\",\"asked\""));

    // Without a bucket, no files are asked for.
    let api = with_bucket(|_| None).await;
    let (job, _) = job_with_files(&api).await;
    let form = api.request(Method::GET, &format!("{}/form.json", job.path)).anonymous().send().await;
    assert_eq!(form.expect(200).body["questions"], json!([]));
    assert!(!api.get(&job.path).await.expect(200).text.contains("on the next page"));
    let page = apply(&api, &job, &crate::careers_applications::form("Ada", "ada@example.com")).await;
    assert!(fields(&page).is_empty() && missing(&page).is_none());
}
