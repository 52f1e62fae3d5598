//! The privacy page of a career site, and the setting for the organization's own text.

use http::Method;
use serde_json::json;
use shared::model::{MemberRole, Mode};
use tests::browser::Browser;
use tests::dashboard::{add_member, escaped, owner};
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::careers_applications::Job;
use crate::dashboard_access::is_write;

const PATH: &str = "/dashboard/settings/privacy";
const PAGE: &str = "/careers/acme/privacy";
/// A part of the general text.
const GENERAL: &str = "A score alone never decides about your application.";

async fn owner_browser(api: &TestApi, demo: usize) -> Browser<'_> {
    Browser::with_session(api, demo, &owner(api, demo).await).await
}

/// Returns the text in the form.
fn typed(page: &Response) -> String {
    let text = page.text.split("name=\"text\"").nth(1).unwrap();
    text.split_once(">\n").unwrap().1.split("</textarea>").next().unwrap().to_owned()
}

#[tokio::test]
async fn the_general_text_is_shown_until_the_organization_has_its_own() {
    let api = TestApi::new().await;
    let (browser, visitor) = (owner_browser(&api, ACME).await, Browser::new(&api));
    let general = visitor.get(PAGE).await.expect(200);
    assert!(general.text.contains(GENERAL) && general.text.contains("How Acme uses your data"));
    let others = ["/careers/acme-test/privacy", "/careers/globex/privacy", "/careers/globex-test/privacy"];
    let mut before = Vec::new();
    for path in others {
        before.push(visitor.get(path).await.expect(200).text);
    }
    assert_eq!(typed(&browser.get(PATH).await.expect(200)), "");

    let text = "We keep your data for *one* year.\r\n\r\n- Write to [us](https://acme.example/privacy)";
    let saved = browser.post(PATH, &[("text", text)]).await.expect(303);
    assert_eq!(saved.header("location"), format!("{PATH}?done=privacy-changed"));
    let form = browser.follow(&saved).await.expect(200);
    assert!(form.text.contains("Privacy text saved.") && form.text.contains(PAGE));
    assert_eq!(typed(&form), escaped(&text.replace('\r', "")));
    let own = visitor.get(PAGE).await.expect(200);
    assert!(!own.text.contains(GENERAL));
    for part in [
        // The text has its own direction.
        "<div class=\"text\" dir=\"auto\">\n<p>We keep your data for <em>one</em> year.</p>",
        "<li>Write to <a href=\"https://acme.example/privacy\"",
    ] {
        assert!(own.text.contains(part), "{part} is not in {}", own.text);
    }
    for (path, before) in others.iter().zip(&before) {
        assert_eq!(&visitor.get(path).await.text, before, "{path}");
    }
    // The test mode has its own text.
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    assert_eq!(typed(&browser.get(PATH).await), "");
    browser.post(PATH, &[("text", "Only a test.")]).await.expect(303);
    assert!(visitor.get(others[0]).await.text.contains("<p>Only a test.</p>"));
    assert_eq!(visitor.get(PAGE).await.text, own.text);
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    browser.post(PATH, &[("text", " \r\n")]).await.expect(303);
    assert_eq!(visitor.get(PAGE).await.text, general.text);
}

#[tokio::test]
async fn an_invalid_text_is_shown_with_its_problem_and_changes_nothing() {
    let api = TestApi::new().await;
    let (browser, visitor) = (owner_browser(&api, ACME).await, Browser::new(&api));
    browser.post(PATH, &[("text", "Our text.")]).await.expect(303);
    let before = visitor.get(PAGE).await.text;
    let long = format!("</textarea><script>{}", "🦀".repeat(19_982));
    for (text, sentence) in [
        (long.as_str(), "The text must be at most 20000 characters."),
        ("a\0b", "The text must not contain control characters other than newline and tab."),
    ] {
        api.dynamodb.take_calls();
        let page = browser.post(PATH, &[("text", text)]).await.expect(422);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{sentence}");
        assert!(page.text.contains(&format!("<p class=\"problem\" id=\"text-problem\">{sentence}</p>")));
        assert_eq!(typed(&page), escaped(text));
    }
    assert_eq!(visitor.get(PAGE).await.text, before);
    // The longest text, in characters of four bytes.
    let longest = "🦀".repeat(20_000);
    browser.post(PATH, &[("text", &longest)]).await.expect(303);
    assert_eq!(typed(&browser.get(PATH).await), longest);
}

#[tokio::test]
async fn only_owners_change_the_text() {
    let api = TestApi::new().await;
    owner_browser(&api, ACME).await.post(PATH, &[("text", "Our text.")]).await.expect(303);
    let member = add_member(&api, ACME, "Grace", MemberRole::Member).await;
    let browser = Browser::with_session(&api, ACME, &member).await;
    let page = browser.get(PATH).await.expect(200);
    assert!(page.text.contains("Only owners can change it.") && !page.text.contains("<textarea"));
    browser.post(PATH, &[("text", "Mine.")]).await.expect(403);
    owner_browser(&api, GLOBEX).await.post(PATH, &[("text", "Theirs.")]).await.expect(303);
    assert!(Browser::new(&api).get(PAGE).await.text.contains("<p>Our text.</p>"));
}

#[tokio::test]
async fn every_career_page_and_the_form_link_to_the_privacy_page() {
    let api = TestApi::new().await;
    let visitor = Browser::new(&api);
    let job = Job::new(&api, "Analyst").await;
    for (path, links) in
        [("/careers/acme", 1), (job.path.as_str(), 2), ("/careers/acme/unknown", 1), (PAGE, 1)]
    {
        let page = visitor.get(path).await;
        assert_eq!(page.text.matches(&format!("href=\"{PAGE}\"")).count(), links, "{path}");
    }
    let test = visitor.get("/careers/acme-test").await.expect(200);
    assert!(test.text.contains("href=\"/careers/acme-test/privacy\""));
}

#[tokio::test]
async fn the_privacy_page_is_cached_like_the_other_career_pages() {
    let api = TestApi::new().await;
    let owner = owner_browser(&api, ACME).await;
    let get = async |tag: &str| {
        api.request(Method::GET, PAGE).anonymous().header("if-none-match", tag).send().await
    };
    api.dynamodb.take_calls();
    let page = get("\"x\"").await.expect(200);
    let operations: Vec<_> = api.dynamodb.take_calls().into_iter().map(|call| call.operation).collect();
    assert_eq!(operations, ["GetItem", "BatchGetItem"], "the site, and the text with the settings");
    assert_eq!((page.header("cache-control"), page.header("set-cookie")), ("public, max-age=30", ""));
    let tag = page.header("etag");
    assert_eq!(get(tag).await.expect(304).text, "");
    owner.post(PATH, &[("text", "Our text.")]).await.expect(303);
    assert_ne!(get(tag).await.expect(200).header("etag"), tag);
    api.request(Method::HEAD, PAGE).anonymous().send().await.expect(200);
    let post = api.request(Method::POST, PAGE).anonymous().send().await.expect(405);
    assert_eq!(post.header("allow"), "GET, HEAD");
}

#[tokio::test]
async fn a_suspended_or_unknown_organization_has_no_privacy_page() {
    let api = TestApi::new().await;
    let (visitor, acme) = (Browser::new(&api), tenant(ACME, Mode::Live).organization);
    let unknown = visitor.get("/careers/nobody/privacy").await.expect(404);
    assert!(unknown.text.contains("Career page not found"));
    for suspended in [true, false] {
        api.store().set_suspended(acme, suspended, api.environment.clock.now()).await.unwrap();
        let page = visitor.get(PAGE).await.expect(if suspended { 404 } else { 200 });
        assert_eq!(page.text == unknown.text, suspended);
    }
}

#[tokio::test]
async fn a_text_cannot_inject_markup() {
    let api = TestApi::new().await;
    let (browser, visitor) = (owner_browser(&api, ACME).await, Browser::new(&api));
    for payload in ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))"] {
        browser.post(PATH, &[("text", payload)]).await.expect(303);
        let page = visitor.get(PAGE).await.expect(200);
        for hostile in ["<script", "<img", "javascript:"] {
            assert!(!page.text.contains(hostile), "{payload}: {}", page.text);
        }
        assert!(!browser.get(PATH).await.text.contains("<script>alert"));
    }
}

#[tokio::test]
async fn a_posting_with_the_title_privacy_has_another_path() {
    let api = TestApi::new().await;
    for (title, slug) in
        [("Privacy", "privacy-job"), ("privacy!", "privacy-job-2"), ("Privacy Officer", "privacy-officer")]
    {
        let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": title } })).await.expect(201);
        assert_eq!(posted.string("/job_posting/slug"), slug);
        let page = Browser::new(&api).get(&format!("/careers/acme/{slug}")).await.expect(200);
        assert!(page.text.contains(&format!("<h1 dir=\"auto\">{title}</h1>")));
    }
    let role = api.post("/api/v1/roles", json!({ "title": "PRIVACY" })).await.expect(201).number("/id");
    let posting = api.post("/api/v1/job_postings", json!({ "role_id": role })).await.expect(201);
    assert_eq!(posting.string("/slug"), "privacy-job-3");
    assert!(Browser::new(&api).get(PAGE).await.text.contains(GENERAL));
}
