//! The application form after a mistake: what was typed, what was ticked and the file that was chosen are still there.

use http::Method;
use shared::config::BucketAccess;
use tests::browser::{Browser, Form, input};
use tests::dashboard::escaped;
use tests::{GLOBEX, Response, TestApi};

use crate::careers_applications::{Job, find, form, kinds, list, problems, ticked};
use crate::careers_resumes::{PDF, apply_with, download, with_bucket};
use crate::dashboard_access::is_write;
use shared::model::Mode;

const WRONG_TYPE: &str =
    "This is not a PDF, DOC, DOCX, ODT, RTF or plain text file. Save your resume as a PDF and choose that.";
const TOO_LARGE: &str =
    "Your file is larger than 4 MB. Apply without it: you can upload it on the next page.";
const AGAIN: &str = "Choose your resume again.";

/// Everything that can be typed and ticked.
fn whole() -> Form {
    form("Ada Lovelace", "ada@example.com")
        .set("phone", "+1 415 555 2671")
        .set("resume_url", "https://example.com/cv?a=1&b=2")
        .set("note", "Typed\nbefore")
        .set("consent_recording", "yes")
}

/// Returns the fields of the form on a page, as a browser would send them.
fn filled(page: &Response) -> Form {
    let mut form = Form::default();
    for name in ["name", "email", "phone", "resume_ticket", "resume_name", "resume_url"] {
        if page.text.contains(&format!("name=\"{name}\"")) {
            form = form.and(name, &input(page, name));
        }
    }
    let note = page.text.split("name=\"note\"").nth(1).unwrap().split_once(">\n").unwrap().1;
    form = form.and("note", note.split("</textarea>").next().unwrap());
    ticked(page).into_iter().fold(form, |form, name| form.and(name, "yes"))
}

/// Returns the name of the file that the form on a page still has.
fn attached(page: &Response) -> Option<&str> {
    let (_, rest) = page.text.split_once("<p class=\"kept\">Attached: <bdi>")?;
    assert!(!input(page, "resume_ticket").is_empty());
    rest.split("</bdi>").next()
}

/// Returns the page after a mistake in a form with a file.
async fn with_mistake(api: &TestApi, job: &Job) -> Response {
    apply_with(api, job, &whole().set("email", "ada at example"), PDF).await.expect(422)
}

async fn assert_attached(candidate: &Response, content: &[u8]) {
    let file = download(candidate.string("/resume_url")).await.expect(200);
    assert_eq!(file.text.as_bytes(), content);
}

#[tokio::test]
async fn every_mistake_keeps_what_was_typed_what_was_ticked_and_the_file() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let mistakes = [
        ("name", String::new(), "Enter your name."),
        ("email", "ada at example".to_owned(), "Enter a valid e-mail address, such as jane@example.com."),
        (
            "resume_url",
            "ftp://a.example".to_owned(),
            "Enter a valid URL that begins with http:// or https://.",
        ),
        ("note", "x".repeat(5_001), "Your note must be at most 5000 characters."),
        ("consent", String::new(), "Tick the box to agree that your application may be stored."),
    ];
    for (field, value, sentence) in mistakes {
        let wrong = if value.is_empty() { whole().without(field) } else { whole().set(field, &value) };
        let page = apply_with(&api, &job, &wrong, PDF).await.expect(422);
        assert_eq!(problems(&page), [(field, sentence)]);
        assert_eq!(attached(&page), Some("cv.pdf"));
        let sent_again = filled(&page);
        for name in ["name", "email", "phone", "resume_url", "note", "consent", "consent_recording"] {
            assert_eq!(sent_again.get(name), wrong.get(name), "{field}: {name}");
        }
        assert!(!ticked(&page).contains(&"consent_voice_screen"));
        // The file is there after any number of mistakes, and without another choice.
        let page = job.apply(&api, &sent_again.set("email", "")).await.expect(422);
        assert_eq!((problems(&page).len() <= 2, attached(&page)), (true, Some("cv.pdf")));
        let email = format!("{field}@example.com");
        let whole = whole().set("email", &email);
        let corrected = ["resume_ticket", "resume_name"]
            .into_iter()
            .fold(whole, |form, name| form.and(name, &input(&page, name)));
        let applied = job.apply(&api, &corrected).await.expect(303);
        assert!(applied.header("location").ends_with("&attached=yes"));
        let candidate = find(&api, &email).await;
        assert_eq!(kinds(&candidate)[..3], ["updated", "file_added", "applied"], "as if it had been sent");
        assert_attached(&candidate, PDF).await;
        let confirmation = Browser::new(&api).follow(&applied).await.expect(200);
        assert!(confirmation.text.contains("and your resume"), "{}", confirmation.text);
    }
}

#[tokio::test]
async fn a_file_that_is_not_accepted_keeps_what_was_typed_and_the_file_before() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let large = [PDF, &vec![b' '; 4 * 1024 * 1024][..]].concat();
    // As much as Lambda takes.
    let largest = vec![b' '; 4_680_000];
    let kept = filled(&with_mistake(&api, &job).await).set("email", "ada@example.com");
    for (content, sentence) in [
        (&b"<html>"[..], "This is a web page. Open it, print it to a PDF, and choose the PDF."),
        (b"", "This file is empty. Choose another file."),
        (b"MZ\x90\0", WRONG_TYPE),
        (&large, TOO_LARGE),
        (&largest, TOO_LARGE),
    ] {
        api.dynamodb.take_calls();
        let page = apply_with(&api, &job, &whole(), content).await.expect(422);
        assert_eq!(problems(&page), [("resume_file", sentence)]);
        assert_eq!((filled(&page).get("note"), attached(&page)), ("Typed\nbefore", None));
        assert!(
            page.text.contains("aria-describedby=\"resume_file-hint resume_file-problem\""),
            "{}",
            page.text
        );
        let page = apply_with(&api, &job, &kept, content).await.expect(422);
        assert_eq!((problems(&page), attached(&page)), (vec![("resume_file", sentence)], Some("cv.pdf")));
        let written: Vec<_> = api.dynamodb.take_calls().into_iter().filter(is_write).collect();
        assert!(written.iter().all(|call| call.operation == "UpdateItem"), "only the sender is counted");
    }
    assert!(list(&api, "").await.is_empty());
    job.apply(&api, &kept).await.expect(303);
    assert_attached(&find(&api, "ada@example.com").await, PDF).await;
}

#[tokio::test]
async fn a_kept_file_can_be_replaced_or_removed() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    // Replaced, at once or with another mistake.
    let kept = filled(&with_mistake(&api, &job).await);
    let page = apply_with(&api, &job, &kept, b"Another resume").await.expect(422);
    let replaced = filled(&page);
    assert_ne!(replaced.get("resume_ticket"), kept.get("resume_ticket"));
    job.apply(&api, &replaced.set("email", "one@example.com")).await.expect(303);
    assert_attached(&find(&api, "one@example.com").await, b"Another resume").await;
    apply_with(&api, &job, &kept.set("email", "two@example.com"), b"A third resume").await.expect(303);
    assert_attached(&find(&api, "two@example.com").await, b"A third resume").await;
    // Removed: the box stays ticked, and can be unticked again.
    let kept = filled(&with_mistake(&api, &job).await).and("resume_remove", "yes");
    let page = job.apply(&api, &kept).await.expect(422);
    assert_eq!((attached(&page), ticked(&page)[0]), (Some("cv.pdf"), "resume_remove"));
    let applied = job.apply(&api, &filled(&page).set("email", "three@example.com")).await.expect(303);
    assert!(!applied.header("location").contains("attached"));
    assert!(
        find(&api, "three@example.com").await.body["resume_url"].as_str().unwrap().ends_with("/cv?a=1&b=2")
    );
    let page = job.apply(&api, &filled(&with_mistake(&api, &job).await).and("resume_remove", "yes")).await;
    let unticked = filled(&page).without("resume_remove").set("email", "four@example.com");
    job.apply(&api, &unticked).await.expect(303);
    assert_attached(&find(&api, "four@example.com").await, PDF).await;
}

/// Asserts that a form with a ticket that is no good loses nothing but the file, and can be sent without it.
async fn assert_lost(api: &TestApi, job: &Job, form: &Form) {
    let known = list(api, "").await.len();
    let page = job.apply(api, form).await.expect(422);
    assert_eq!((problems(&page), attached(&page)), (vec![("resume_file", AGAIN)], None));
    let sent_again = filled(&page);
    for name in ["name", "email", "phone", "resume_url", "note", "consent", "consent_recording"] {
        assert_eq!(sent_again.get(name), form.get(name), "{name}");
    }
    assert_eq!(list(api, "").await.len(), known, "nothing is stored");
    let email = format!("lost{known}@example.com");
    let applied = job.apply(api, &sent_again.set("email", &email)).await.expect(303);
    assert!(!applied.header("location").contains("attached"));
}

#[tokio::test]
async fn a_ticket_for_a_kept_file_is_good_once_for_an_hour_and_for_one_posting() {
    let api = TestApi::new().await;
    let (job, other) = (Job::new(&api, "Analyst").await, Job::new(&api, "Engineer").await);
    let globex = Job::of(&api, GLOBEX, Mode::Live, "Analyst").await;
    let corrected = |page: &Response| filled(page).set("email", "ada@example.com");
    let kept = corrected(&with_mistake(&api, &job).await);
    // Of another posting, of another organization, tampered with, and of another kind.
    let ticket = kept.get("resume_ticket").to_owned();
    assert_lost(&api, &other, &kept).await;
    let page = globex.apply(&api, &kept).await.expect(422);
    assert_eq!((problems(&page), attached(&page)), (vec![("resume_file", AGAIN)], None));
    let [random, expires_at, signature] = ticket.split('.').collect::<Vec<_>>()[..] else {
        panic!("{ticket}")
    };
    let later = expires_at.parse::<i64>().unwrap() + 1;
    for tampered in [
        format!("x{random}.{expires_at}.{signature}"),
        format!("{random}.{later}.{signature}"),
        format!("{random}.{expires_at}.{}", "A".repeat(22)),
        format!("{random}.{expires_at}"),
        format!("../{random}.{expires_at}.{signature}"),
        "x".repeat(10_000),
        "\"><script>".to_owned(),
    ] {
        assert_lost(&api, &job, &kept.clone().set("resume_ticket", &tampered)).await;
    }
    let applied = job.apply(&api, &form("Grace", "grace@example.com")).await.expect(303);
    let (_, query) = Form::of_location(&applied);
    assert_lost(&api, &job, &kept.clone().set("resume_ticket", query.get("ticket"))).await;
    let confirmation =
        Browser::new(&api).get(&format!("{}/apply?ticket={ticket}", job.path)).await.expect(303);
    assert_eq!(confirmation.header("location"), format!("{}#apply", job.path), "it is no upload ticket");
    // It is still good, but only once.
    job.apply(&api, &kept).await.expect(303);
    assert_attached(&find(&api, "ada@example.com").await, PDF).await;
    assert_lost(&api, &job, &kept.set("email", "eve@example.com")).await;
    assert_eq!(find(&api, "ada@example.com").await.body["touchpoints"].as_array().unwrap().len(), 6);
    // An hour.
    let (in_time, late) = (with_mistake(&api, &job).await, with_mistake(&api, &job).await);
    api.clock.set("2026-11-20T10:29:59Z");
    job.apply(&api, &corrected(&in_time).set("email", "in_time@example.com")).await.expect(303);
    assert_attached(&find(&api, "in_time@example.com").await, PDF).await;
    api.clock.set("2026-11-20T10:30:00Z");
    assert_lost(&api, &job, &corrected(&late)).await;
    // A lost file that the applicant wanted to remove, or has replaced, is no problem.
    let form = |email: &str| corrected(&late).set("email", email);
    job.apply(&api, &form("removed@example.com").and("resume_remove", "yes")).await.expect(303);
    apply_with(&api, &job, &form("replaced@example.com"), b"Another resume").await.expect(303);
    assert_attached(&find(&api, "replaced@example.com").await, b"Another resume").await;
}

/// Otherwise anybody could fill the bucket with forms that have mistakes.
#[tokio::test]
async fn a_network_can_have_100_files_kept_in_an_hour() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    for _ in 0..100 {
        assert!(attached(&with_mistake(&api, &job).await).is_some());
    }
    let page = with_mistake(&api, &job).await;
    assert_eq!(problems(&page)[1..], [("resume_file", AGAIN)]);
    assert_eq!((filled(&page).get("note"), attached(&page)), ("Typed\nbefore", None));
    let (media, body) = whole().set("email", "").multipart(PDF);
    let path = format!("{}/apply", job.path);
    let elsewhere = Browser::new(&api).at([203, 0, 113, 9]);
    let page = elsewhere.request(Method::POST, &path).body(&media, body).send().await.expect(422);
    assert!(attached(&page).is_some());
    // Robots get no place in the bucket, and files that are kept do not count as applications.
    apply_with(&api, &job, &whole(), PDF).await.expect(303);
}

#[tokio::test]
async fn a_form_works_without_the_bucket() {
    let nowhere = |access| Some(BucketAccess { endpoint: Some("http://127.0.0.1:1".to_owned()), ..access });
    let api = with_bucket(nowhere).await;
    let job = Job::new(&api, "Analyst").await;
    let page = with_mistake(&api, &job).await;
    assert_eq!(problems(&page)[1..], [("resume_file", AGAIN)]);
    assert_eq!((filled(&page).get("note"), attached(&page)), ("Typed\nbefore", None));
    let api = with_bucket(|_| None).await;
    let job = Job::new(&api, "Analyst").await;
    let page = with_mistake(&api, &job).await;
    assert_eq!((problems(&page).len(), attached(&page)), (1, None));
}

#[tokio::test]
async fn a_files_name_is_shown_as_text() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let hostile = "\"><script>alert(1)</script>\u{202e}fdp.exe";
    let form = filled(&with_mistake(&api, &job).await).set("resume_name", hostile);
    let page = job.apply(&api, &form).await.expect(422);
    assert_eq!(attached(&page), Some(&*escaped(hostile)));
    let page = job.apply(&api, &form.clone().set("resume_name", &"n".repeat(1_000))).await.expect(422);
    assert_eq!(attached(&page), Some(&*"n".repeat(100)));
    let page = job.apply(&api, &form.set("resume_name", " \0")).await.expect(422);
    assert_eq!(attached(&page), Some("resume"));
}

/// The gateway answers what Lambda does not take, so a script looks at the file before. It runs only where the form is.
#[tokio::test]
async fn a_script_checks_the_size_of_the_file_only_where_the_form_is() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let page = api.get(&job.path).await.expect(200);
    let limit = format!("data-largest=\"4194304\" data-too-large=\"{TOO_LARGE}\"");
    assert!(page.text.contains(&limit), "{}", page.text);
    let script = page.text.split("<script src=\"").nth(1).unwrap().split('"').next().unwrap();
    let file = api.get(script).await.expect(200);
    assert_eq!(file.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(file.header("x-content-type-options"), "nosniff");
    let (path, version) = script.split_once("?v=").unwrap();
    assert_eq!(path, "/careers/script.js");
    assert!(version.len() >= 12 && shared::model::challenge(&file.text).starts_with(version), "{script}");
    let runs = |page: &Response| {
        let policy = page.header("content-security-policy");
        assert_eq!(policy.contains("script-src"), policy.contains("; script-src 'self'; "), "{policy}");
        assert_eq!(policy.contains("script-src"), page.text.contains("<script src="), "{policy}");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        policy.contains("script-src")
    };
    assert!(runs(&page));
    assert!(runs(&with_mistake(&api, &job).await));
    let applied = job.apply(&api, &whole()).await.expect(303);
    let others = ["/careers/acme", "/careers/acme/privacy", "/careers/acme/nothing", "/careers/nobody"];
    for path in others.into_iter().chain([applied.header("location")]) {
        assert!(!runs(&api.get(path).await), "{path}");
    }
    api.request(Method::POST, &format!("/api/v1/roles/{}/pause", job.role)).send().await.expect(200);
    assert!(!runs(&api.get(&job.path).await.expect(200)));
    let api = with_bucket(|_| None).await;
    let job = Job::new(&api, "Analyst").await;
    assert!(!runs(&api.get(&job.path).await.expect(200)));
}

#[tokio::test]
async fn text_that_is_too_long_for_the_form_comes_back_as_far_as_it_was_read() {
    let api = TestApi::new().await;
    let job = Job::new(&api, "Analyst").await;
    let sentence = "Your text is too long to be sent as a whole. Please shorten it.";
    let long = whole().without("note").and("note", &"x".repeat(300_000));
    let page = apply_with(&api, &job, &long, PDF).await.expect(422);
    assert!(page.text.contains(&format!("<a href=\"#apply\">{sentence}</a>")), "{}", page.text);
    let sent_again = filled(&page);
    assert!((261_000..262_144).contains(&sent_again.get("note").len()), "{}", sent_again.get("note").len());
    for name in ["name", "email", "phone", "resume_url", "consent", "consent_recording"] {
        assert_eq!(sent_again.get(name), long.get(name), "{name}");
    }
    assert_eq!(attached(&page), Some("cv.pdf"));
    assert!(list(&api, "").await.is_empty());
}
