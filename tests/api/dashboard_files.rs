//! Resume files in the dashboard: members upload them with a candidate's form, and see PDFs on the candidate's page.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use serde_json::{Value, json};
use shared::config::BucketAccess;
use shared::model::Mode;
use shared::providers::Providers;
use tests::browser::Browser;
use tests::dashboard::owner;
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::careers_applications::kinds;
use crate::careers_resumes::{PDF, docx, download};
use crate::dashboard_access::is_write;
use crate::erasures::{erase, everything, keys};

const NEW: &str = "/dashboard/candidates/new";
const ADA: [(&str, &str); 3] =
    [("name", "Ada"), ("email", "ada@people.example"), ("key", "the-key-of-a-form")];
/// The time when an erasure stops waiting for a file that might still be on its way.
const LATER: &str = "2026-11-20T09:46:00.000Z";

async fn member(api: &TestApi, demo: usize) -> Browser<'_> {
    Browser::with_session(api, demo, &owner(api, demo).await).await
}

/// Adds Ada with this file and returns her identifier.
async fn add(browser: &Browser<'_>, file: &[u8]) -> u64 {
    let added = browser.post_file(NEW, &ADA, file).await.expect(303);
    let path = added.header("location").strip_suffix("?done=candidate-added").expect("a candidate");
    path.rsplit('/').next().unwrap().parse().unwrap()
}

async fn candidate(api: &TestApi, id: u64) -> Response {
    api.get(&format!("/api/v1/candidates/{id}")).await.expect(200)
}

/// The number of resumes in the bucket.
async fn files(api: &TestApi) -> usize {
    keys(api).await.iter().filter(|key| key.starts_with("resumes/")).count()
}

fn problem<'p>(page: &'p Response, field: &str) -> Option<&'p str> {
    page.text.split_once(&format!("<a href=\"#{field}\">"))?.1.split('<').next()
}

#[tokio::test]
async fn a_member_adds_a_candidate_with_a_resume_in_one_form() {
    let api = TestApi::new().await;
    let browser = member(&api, ACME).await;
    let page = browser.get(NEW).await.expect(200);
    let form = "<form class=\"form panel\" method=\"post\" enctype=\"multipart/form-data\" action=\"/dashboard/candidates/new\">";
    assert!(page.text.contains(form) && page.text.contains("type=\"file\""), "{}", page.text);
    api.dynamodb.take_calls();
    let id = add(&browser, PDF).await;
    let calls: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
    // The session, the candidate, and the file: the candidate and the files, the trace, and the candidate with the file.
    let expected =
        ["BatchGetItem", "TransactWriteItems", "Query", "Query", "TransactWriteItems", "TransactWriteItems"];
    assert_eq!(calls, expected);
    let added = candidate(&api, id).await;
    assert_eq!(kinds(&added), ["updated", "file_added", "created"]);
    assert_eq!(added.string("/touchpoints/0/actor/type"), "member");
    let url = added.string("/resume_url").to_owned();
    let detail = json!({ "fields": ["resume_url"], "resume_url": url });
    assert_eq!(added.body["touchpoints"][0]["detail"], detail);
    let file = download(&url).await.expect(200);
    assert_eq!(file.text.as_bytes(), PDF);
    assert_eq!(
        (file.header("content-type"), file.header("content-disposition")),
        ("application/octet-stream", "attachment; filename=\"Ada resume.pdf\"")
    );
    // The same form again, as after a double click, has the same result.
    assert_eq!(add(&browser, PDF).await, id);
    assert_eq!((candidate(&api, id).await.text, files(&api).await), (added.text, 1));
}

#[tokio::test]
async fn a_file_replaces_the_resume_and_the_history_keeps_the_earlier_one() {
    let api = TestApi::new().await;
    let browser = member(&api, ACME).await;
    let ada = json!({ "name": "Ada", "email": "ada@people.example", "resume_url": "https://example.com/cv" });
    let id = api.post("/api/v1/candidates", ada).await.expect(201).number("/id");
    let edit = format!("/dashboard/candidates/{id}/edit");
    let page = browser.get(&edit).await.expect(200);
    let seen = tests::browser::input(&page, "seen");
    let fields = [ADA[0], ADA[1], ("resume_url", "https://example.com/cv"), ("seen", &seen)];
    let saved = browser.post_file(&edit, &fields, PDF).await.expect(303);
    assert!(saved.header("location").ends_with("?done=candidate-saved"), "{saved:?}");
    let first = candidate(&api, id).await;
    assert_eq!(kinds(&first), ["updated", "file_added", "created"], "only the resume has changed");
    let text = b"Ada Lovelace, analyst".as_slice();
    let fields = [ADA[0], ADA[1], ("tags", "senior"), ("resume", "file")];
    browser.post_file(&edit, &fields, text).await.expect(303);
    let second = candidate(&api, id).await;
    assert_eq!(kinds(&second), ["updated", "file_added", "updated", "updated", "file_added", "created"]);
    assert_eq!(download(second.string("/resume_url")).await.expect(200).text.as_bytes(), text);
    let earlier = second.string("/touchpoints/3/detail/resume_url");
    assert_eq!(download(earlier).await.expect(200).text.as_bytes(), PDF);
    // The page that was opened before knows an older version. Nothing is saved, and the file has to be chosen again.
    let fields = [ADA[0], ADA[1], ("seen", &*seen)];
    let stale = browser.post_file(&edit, &fields, PDF).await.expect(412);
    assert_eq!(problem(&stale, "resume_file"), Some("Choose the file again."), "{}", stale.text);
    assert_eq!(candidate(&api, id).await.text, second.text);
    // The same file again, in another form, changes nothing.
    browser
        .post_file(&edit, &[ADA[0], ADA[1], ("tags", "senior"), ("resume", "file")], text)
        .await
        .expect(303);
    assert_eq!(kinds(&candidate(&api, id).await).len(), 6);
}

#[tokio::test]
async fn all_problems_of_a_form_with_a_file_are_shown_and_what_was_typed_is_kept() {
    let api = TestApi::new().await;
    let browser = member(&api, ACME).await;
    browser.csrf().await;
    let large = [PDF, &vec![b' '; 4 * 1024 * 1024][..]].concat();
    let script = b"%PDF-1.7\n1 0 obj\n<</OpenAction<</S/J#61vaScript/JS(app.alert(1))>>>>\nendobj\n%%EOF";
    for (content, expected) in [
        (&b"<!doctype html><script>alert(1)</script>"[..], "This is a web page."),
        (b"", "This file is empty."),
        (script, "This PDF contains a script. Open it and print it to a new PDF."),
        (&large, "This file is larger than 4 MB."),
        (&[PDF, &vec![b' '; 4_600_000][..]].concat(), "This file is larger than 4 MB."),
    ] {
        api.dynamodb.take_calls();
        let fields = [("name", ""), ("email", "ada at example"), ("tags", "typed before")];
        let page = browser.post_file(NEW, &fields, content).await.expect(422);
        assert!(problem(&page, "resume_file").unwrap().starts_with(expected), "{}", page.text);
        assert!(problem(&page, "name").is_some() && problem(&page, "email").is_some(), "{}", page.text);
        assert!(page.text.contains("value=\"typed before\"") && page.text.contains("aria-invalid=\"true\""));
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{expected}");
    }
    let page =
        browser.post_file(NEW, &[("name", ""), ("email", "ada@people.example")], PDF).await.expect(422);
    assert_eq!(problem(&page, "resume_file"), Some("Choose the file again."), "{}", page.text);
    // What Lambda would not take never reaches the function, so a script looks at the file before.
    let page = browser.get(NEW).await.expect(200);
    let limit = "data-largest=\"4194304\" data-too-large=\"Resume file must be at most 4 MB.\"";
    assert!(
        page.text.contains(limit) && page.text.contains("<script src=\"/dashboard/script.js?v="),
        "{}",
        page.text
    );
    let page = browser.post_file(NEW, &ADA, &vec![b' '; 4_800_000]).await.expect(413);
    assert_eq!(page.text, r#"{"message":"Request Entity Too Large"}"#);
    assert_eq!(files(&api).await, 0);
}

#[tokio::test]
async fn files_are_taken_only_from_the_forms_of_this_browser_and_for_candidates_of_its_organization() {
    let api = TestApi::new().await;
    let (acme, globex) = (member(&api, ACME).await, member(&api, GLOBEX).await);
    let id = add(&acme, b"Ada Lovelace, analyst").await;
    let before = candidate(&api, id).await.text;
    let edit = format!("/dashboard/candidates/{id}/edit");
    globex.post_file(&edit, &ADA, PDF).await.expect(404);
    let other_form = tests::browser::Form::new(&[&[("csrf", &*globex.csrf().await)], &ADA[..]].concat());
    let waits = acme.submit_file(&edit, &other_form, PDF).await.expect(401);
    assert!(waits.text.contains("Sign in"), "the form waits for the member of the other organization");
    Browser::new(&api).post_file(&edit, &ADA, PDF).await.expect(303);
    // Forms without a file field take no file, and a form without parts is rejected.
    acme.post_file(&format!("/dashboard/candidates/{id}/notes"), &[("text", "x")], PDF).await.expect(415);
    let broken = acme.request(Method::POST, &edit).body("multipart/form-data; boundary=x", "--y");
    broken.send().await.expect(415);
    assert_eq!((candidate(&api, id).await.text, files(&api).await), (before, 1));
    let [key] = &keys(&api).await[..] else { panic!("one file") };
    let acme = tenant(ACME, Mode::Live).organization;
    assert!(key.starts_with(&format!("resumes/{acme}/live/")), "{key}");
    assert_eq!(key.rsplit('.').next(), Some("txt"));
}

/// A function can be killed after any call. The form that is sent again then has the same result as one that was not
/// interrupted.
#[tokio::test]
async fn an_interrupted_upload_can_be_repeated() {
    let mut successful_calls = 0;
    loop {
        let api = TestApi::new().await;
        let browser = member(&api, ACME).await;
        browser.csrf().await;
        let calls = AtomicUsize::new(0);
        api.dynamodb.inject_faults(move |_, _| {
            (calls.fetch_add(1, Ordering::Relaxed) >= successful_calls).then_some(Fault::Unreachable)
        });
        let response = browser.post_file(NEW, &ADA, PDF).await;
        api.dynamodb.inject_faults(|_, _| None);
        if response.status == 303 {
            break;
        }
        assert_eq!(response.status, 503, "{successful_calls} calls succeeded");
        let id = add(&browser, PDF).await;
        assert_eq!(
            kinds(&candidate(&api, id).await),
            ["updated", "file_added", "created"],
            "{successful_calls} calls succeeded"
        );
        // A task deletes a file that no candidate has got.
        api.clock.set("2026-11-20T09:45:00Z");
        api.run_tasks().await;
        assert_eq!(files(&api).await, 1);
        successful_calls += 1;
    }
    assert!(successful_calls >= 5, "{successful_calls}");
}

/// The bucket has the file, but the candidate does not: the function was killed in between.
#[tokio::test]
async fn an_erasure_finds_a_file_that_its_candidate_never_got() {
    let api = TestApi::new().await;
    let browser = member(&api, ACME).await;
    browser.csrf().await;
    let commits = AtomicUsize::new(0);
    api.dynamodb.inject_faults(move |operation, _| {
        let is_commit = operation == "TransactWriteItems";
        (is_commit && commits.fetch_add(1, Ordering::Relaxed) >= 2).then_some(Fault::Unreachable)
    });
    browser.post_file(NEW, &ADA, b"Ada Lovelace, analyst").await.expect(503);
    api.dynamodb.inject_faults(|_, _| None);
    let id = api.get("/api/v1/candidates").await.expect(200).number("/data/0/id");
    assert_eq!((&candidate(&api, id).await.body["resume_url"], files(&api).await), (&Value::Null, 1));
    erase(&api, id).await.expect(202);
    api.run_tasks().await;
    api.clock.set(LATER);
    api.run_tasks().await;
    assert_eq!(files(&api).await, 0);
    for (place, content) in everything(&api).await {
        assert!(!content.contains("lovelace") && !content.contains("ada@people"), "{place}: {content}");
    }
}

#[tokio::test]
async fn a_candidate_is_saved_even_if_the_bucket_does_not_take_the_file() {
    let mut api = TestApi::new().await;
    let config = &mut api.environment.config;
    let working = config.services.resumes.clone();
    let nowhere = |access| BucketAccess { endpoint: Some("http://127.0.0.1:1".to_owned()), ..access };
    config.services.resumes = working.clone().map(nowhere);
    api.environment.providers = Providers::new(config);
    api.restart();
    let session = member(&api, ACME).await.cookie();
    let browser = Browser::with_cookie(&api, &session);
    let saved = browser.post_file(NEW, &ADA, PDF).await.expect(303);
    assert!(saved.header("location").ends_with("?failed=resume-not-saved"), "{saved:?}");
    let page = browser.follow(&saved).await.expect(200);
    assert!(page.text.contains("the resume could not be stored"), "{}", page.text);
    let id = api.get("/api/v1/candidates").await.expect(200).number("/data/0/id");
    assert_eq!(kinds(&candidate(&api, id).await), ["created"]);
    // The same form attaches the file once the bucket works.
    api.environment.config.services.resumes = working;
    api.environment.providers = Providers::new(&api.environment.config);
    api.restart();
    let browser = Browser::with_cookie(&api, &session);
    assert_eq!(add(&browser, PDF).await, id);
    assert_eq!(kinds(&candidate(&api, id).await), ["updated", "file_added", "created"]);
    // Without a bucket, the forms have no file.
    api.environment.config.services.resumes = None;
    api.environment.providers = Providers::new(&api.environment.config);
    api.restart();
    let browser = Browser::with_cookie(&api, &session);
    let page = browser.get(NEW).await.expect(200);
    assert!(!page.text.contains("type=\"file\"") && !page.text.contains("multipart"), "{}", page.text);
    let page = browser.get(&format!("/dashboard/candidates/{id}")).await.expect(200);
    assert!(!page.text.contains("<iframe") && !page.text.contains("#resume_file"), "{}", page.text);
}

#[tokio::test]
async fn only_a_pdf_in_the_bucket_is_shown_in_a_frame_and_only_that_page_allows_one() {
    let api = TestApi::new().await;
    let browser = member(&api, ACME).await;
    let id = add(&browser, PDF).await;
    let path = format!("/dashboard/candidates/{id}");
    // A stranger's file is shown only to a member who asks for it.
    let offered = browser.get(&path).await.expect(200);
    let link = format!("<a class=\"button\" href=\"{path}?preview=yes#resume\">Show the resume here</a>");
    assert!(offered.text.contains(&link) && !offered.text.contains("<iframe"), "{}", offered.text);
    assert!(!offered.header("content-security-policy").contains("frame-src"));
    let from_list = browser.get(&format!("{path}?list=newest")).await.expect(200);
    let kept = from_list.text.split("Show the resume here").next().unwrap().rsplit("href=\"").next().unwrap();
    assert!(kept.starts_with(&format!("{path}?")) && kept.contains("preview=yes#resume"), "{kept}");
    let shown = format!("{path}?preview=yes");
    let page = browser.get(&shown).await.expect(200);
    let policy = page.header("content-security-policy");
    let frame =
        page.text.split_once("<iframe").and_then(|(_, rest)| rest.split('>').next()).expect("a frame");
    assert!(!frame.contains("sandbox") && frame.contains("title=\"Resume of Ada\""), "{frame}");
    let url = tests::browser::plain(frame.split("src=\"").nth(1).unwrap().split('"').next().unwrap());
    // Without the list of pages, and as wide as the frame.
    let url = url.strip_suffix("#navpanes=0&view=FitH").unwrap();
    let origin = url::Url::parse(url).unwrap().origin().ascii_serialization();
    assert!(policy.contains(&format!("; frame-src {origin}; ")), "{policy}");
    let file = download(url).await.expect(200);
    assert_eq!(
        (file.text.as_bytes(), file.header("content-type"), file.header("content-disposition")),
        (PDF, "application/pdf", "inline")
    );
    // Nothing in the response forbids the frame.
    assert_eq!((file.header("x-frame-options"), file.header("content-security-policy")), ("", ""));
    // The link is for this file and this way to show it, for an hour.
    download(&url.replace("application%2Fpdf", "text%2Fhtml")).await.expect(403);
    download(&url.replace(".pdf?", ".txt?")).await.expect(403);
    let other = browser.get("/dashboard/candidates").await.expect(200);
    assert!(!other.header("content-security-policy").contains("frame-src"));
    api.clock.set("2026-11-20T10:31:00Z");
    download(url).await.expect(403);
    for content in [docx(&[]), b"%PDF in a text file".to_vec()] {
        browser.post_file(&format!("{path}/edit"), &ADA, &content).await.expect(303);
        let page = browser.get(&shown).await.expect(200);
        assert!(!page.text.contains("<iframe") && !page.text.contains("Show the resume"), "{}", page.text);
        assert!(
            page.text.contains(">Download<") && !page.header("content-security-policy").contains("frame-src")
        );
    }
    let foreign = "https://example.com/resumes/1/live/cv.pdf";
    api.patch(&format!("/api/v1/candidates/{id}"), json!({ "resume_url": foreign })).await.expect(200);
    let page = browser.get(&shown).await.expect(200);
    assert!(page.text.contains(foreign) && !page.text.contains("<iframe"), "{}", page.text);
}

/// The erased person's files and their names are gone.
#[tokio::test]
async fn an_erasure_deletes_what_members_have_uploaded() {
    let api = TestApi::new().await;
    let browser = member(&api, ACME).await;
    let id = add(&browser, PDF).await;
    let edit = format!("/dashboard/candidates/{id}/edit");
    browser.post_file(&edit, &ADA, b"Ada Lovelace, analyst").await.expect(303);
    assert_eq!(files(&api).await, 2);
    erase(&api, id).await.expect(202);
    browser.post_file(&edit, &ADA, PDF).await.expect(410);
    api.run_tasks().await;
    assert_eq!(files(&api).await, 0);
}
