//! Closing a role in the dashboard: the page that says what ends, the way back, and what a closed role no longer offers.

use serde_json::json;
use tests::browser::{Browser, Form, input};
use tests::dashboard::{actions, owner};
use tests::{ACME, Response, TestApi};

use crate::dashboard_access::DashboardFixtures;
use crate::dashboard_pages::text_of;

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

fn path(role: u64) -> String {
    format!("/dashboard/roles/{role}")
}

/// Posts a job through the API, and takes these steps with its role.
async fn job(api: &TestApi, title: &str, publish: bool, steps: &[&str]) -> u64 {
    let body = json!({ "role": { "title": title }, "publish": publish });
    let role = api.post("/api/v1/quick_post", body).await.expect(201).number("/role/id");
    for step in steps {
        api.post(&format!("/api/v1/roles/{role}/{step}"), json!({})).await.expect(200);
    }
    role
}

async fn apply(api: &TestApi, role: u64, name: &str) -> u64 {
    let email = format!("{}@people.example", name.to_lowercase());
    let body = json!({ "name": name, "email": email, "role_id": role });
    api.post("/api/v1/candidates", body).await.expect(201).number("/id")
}

async fn status(api: &TestApi, role: u64) -> (String, bool) {
    let role = api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
    let posting =
        api.get(&format!("/api/v1/job_postings/{}", role.number("/job_posting_id"))).await.expect(200);
    (role.string("/status").to_owned(), posting.body["published"].as_bool().unwrap())
}

async fn application(api: &TestApi, candidate: u64) -> String {
    let candidate = api.get(&format!("/api/v1/candidates/{candidate}")).await.expect(200);
    candidate.string("/applications/0/status").to_owned()
}

/// The form of the page that asks whether to close the role.
async fn asked(browser: &Browser<'_>, role: u64) -> (Response, Form) {
    let page = browser.get(&format!("{}/close", path(role))).await.expect(200);
    let form = Form::of(&page, &format!("{}/status", path(role))).and("action", "close");
    (page, form)
}

async fn close(browser: &Browser<'_>, role: u64) -> Response {
    let (_, form) = asked(browser, role).await;
    let closed = browser.submit(&format!("{}/status", path(role)), &form).await.expect(303);
    browser.follow(&closed).await.expect(200)
}

/// Presses Undo in the message of a page.
async fn undo(browser: &Browser<'_>, role: u64, page: &Response) -> Response {
    let action = format!("{}/status", path(role));
    let undo = Form::of(page, &action).and("action", "undo");
    browser.submit(&action, &undo).await.expect(303)
}

#[tokio::test]
async fn nothing_is_closed_before_the_page_has_said_what_ends() {
    let api = TestApi::new().await;
    let fixtures = DashboardFixtures::new(&api).await;
    let role: u64 = fixtures.other_role.parse().unwrap();
    apply(&api, role, "Ann").await;
    let gone = apply(&api, role, "Bo").await;
    api.post(&format!("/api/v1/candidates/{gone}/reject"), json!({})).await.expect(200);
    let ada = acme(&api).await;
    let page = ada.get(&path(role)).await.expect(200);
    let link = format!("<a class=\"button is-small is-grave\" href=\"{}/close\">Close", path(role));
    assert!(page.text.contains(&link) && !page.text.contains("value=\"close\""), "{}", page.text);
    // A page from before the question was asked.
    let old = ada.post(&format!("{}/status", path(role)), &[("action", "close")]).await.expect(303);
    assert_eq!(old.header("location"), format!("{}/close", path(role)));
    let (page, form) = asked(&ada, role).await;
    let text = text_of(&page);
    for sentence in [
        "The job is taken off your career page.",
        "2 active applications end",
        "1 planned call is cancelled",
        "3 people stay in the list of candidates.",
        "Undo : it makes the role open again, publishes its posting",
        "Cancelled calls do not come back",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    assert!(page.text.contains("<button class=\"button is-grave\" name=\"action\" value=\"close\">"));
    assert_eq!(status(&api, role).await, ("open".to_owned(), true));
    let action = format!("{}/status", path(role));
    let closed = ada.submit(&action, &form).await.expect(303);
    let page = ada.follow(&closed).await.expect(200);
    assert!(page.text.contains("Role closed.") && page.text.contains("value=\"undo\""), "{}", page.text);
    assert_eq!(status(&api, role).await, ("closed".to_owned(), false));
    // The form is sent twice.
    let again = ada.submit(&action, &form).await.expect(303);
    assert_eq!(again.header("location"), closed.header("location"));
    // There is nothing to close any more.
    let gone = ada.get(&format!("{}/close", path(role))).await.expect(303);
    assert_eq!(gone.header("location"), path(role));
}

#[tokio::test]
async fn a_role_without_people_and_posting_says_so() {
    let api = TestApi::new().await;
    let role = api.post("/api/v1/roles", json!({ "title": "Plain" })).await.expect(201).number("/id");
    let ada = acme(&api).await;
    let (page, _) = asked(&ada, role).await;
    let text = text_of(&page);
    assert!(
        text.contains("No application ends: none is active.") && text.contains("Nobody has applied."),
        "{text}"
    );
    assert!(text.contains("makes the role draft again and makes") && !text.contains("career page"), "{text}");
    let page = close(&ada, role).await;
    let undone = undo(&ada, role, &page).await;
    assert!(ada.follow(&undone).await.expect(200).text.contains("Undone."));
    let role = api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
    assert_eq!(role.string("/status"), "draft");
}

#[tokio::test]
async fn undo_brings_back_the_status_the_posting_and_the_applications() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    for (number, (publish, steps, before)) in [
        (true, &[][..], ("open", true)),
        (true, &["pause"], ("paused", true)),
        (false, &[], ("draft", false)),
        (false, &["publish"], ("open", false)),
        (false, &["publish", "pause"], ("paused", false)),
    ]
    .into_iter()
    .enumerate()
    {
        let role = job(&api, &format!("Job {number}"), publish, steps).await;
        let before = (before.0.to_owned(), before.1);
        let candidate =
            if before.0 == "open" { Some(apply(&api, role, &format!("P{number}")).await) } else { None };
        assert_eq!(status(&api, role).await, before);
        let page = close(&ada, role).await;
        assert_eq!(status(&api, role).await, ("closed".to_owned(), false));
        if let Some(candidate) = candidate {
            assert_eq!(application(&api, candidate).await, "closed");
        }
        let undone = undo(&ada, role, &page).await;
        assert_eq!(undone.header("location"), format!("{}?done=closing-undone", path(role)));
        assert_eq!(status(&api, role).await, before, "{number}");
        if let Some(candidate) = candidate {
            assert_eq!(application(&api, candidate).await, "active");
        }
        let shown = ada.follow(&undone).await.expect(200);
        assert!(shown.text.contains("Calls that were cancelled stay cancelled"), "{}", shown.text);
        // Undo is pressed twice.
        let again = undo(&ada, role, &page).await;
        assert_eq!(again.header("location"), undone.header("location"));
        // The address of the message no longer says that the role is closed.
        let old = ada.get(&format!("{}?done=role-closed", path(role))).await.expect(200);
        assert!(!old.text.contains("Role closed."), "{}", old.text);
    }
}

#[tokio::test]
async fn a_change_of_somebody_else_is_not_undone_and_not_hidden() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = job(&api, "Baker", true, &[]).await;
    let action = format!("{}/status", path(role));
    // The role was paused after the page was shown.
    let (_, form) = asked(&ada, role).await;
    api.post(&format!("/api/v1/roles/{role}/pause"), json!({})).await.expect(200);
    let stale = ada.submit(&action, &form).await.expect(412);
    assert!(stale.text.contains("Nothing was closed.") && stale.text.contains("makes the role paused again"));
    assert_eq!(status(&api, role).await, ("paused".to_owned(), true));
    // The page has the current state, and closes now.
    let form = Form::of(&stale, &action).and("action", "close");
    let closed = ada.submit(&action, &form).await.expect(303);
    let page = ada.follow(&closed).await.expect(200);
    // Somebody reopens, publishes and closes it again.
    api.post(&format!("/api/v1/roles/{role}/reopen"), json!({})).await.expect(200);
    let late = undo(&ada, role, &page).await;
    assert!(late.header("location").ends_with("?failed=only-reopened"), "{}", late.header("location"));
    assert_eq!(status(&api, role).await, ("draft".to_owned(), false));
    api.post(&format!("/api/v1/roles/{role}/publish"), json!({})).await.expect(200);
    let late = undo(&ada, role, &page).await;
    assert!(late.header("location").ends_with("?failed=status-changed"), "{}", late.header("location"));
    assert_eq!(status(&api, role).await, ("open".to_owned(), false));
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    let late = undo(&ada, role, &page).await;
    assert!(late.header("location").ends_with("?failed=status-changed"), "{}", late.header("location"));
    assert_eq!(status(&api, role).await.0, "closed");
    let late = ada.submit(&action, &form).await.expect(303);
    assert!(late.header("location").ends_with("?failed=status-changed"), "{}", late.header("location"));
}

#[tokio::test]
async fn an_address_from_elsewhere_offers_no_undo() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = job(&api, "Baker", true, &[]).await;
    let (_, form) = asked(&ada, role).await;
    let closed = ada.submit(&format!("{}/status", path(role)), &form).await.expect(303);
    let location = closed.header("location").to_owned();
    for (other, changed) in [
        (false, location.replace("published=true", "published=false")),
        (false, location.replace("status=open", "status=paused")),
        (true, location.clone()),
    ] {
        let browser = if other { acme(&api).await } else { Browser::with_cookie(&api, &ada.cookie()) };
        let page = browser.get(&changed).await.expect(200);
        assert!(page.text.contains("Role closed.") && !page.text.contains("value=\"undo\""), "{changed}");
    }
    let broken = ada.post(&format!("{}/status", path(role)), &[("action", "undo")]).await;
    assert_eq!(broken.status, 400, "{}", broken.text);
}

#[tokio::test]
async fn what_cannot_be_published_again_is_said() {
    let api = TestApi::new().await;
    api.clock.set("2026-11-20T23:30:00Z");
    let ada = acme(&api).await;
    let body = json!({ "role": { "title": "Baker", "closes_on": "2026-11-20" } });
    let role = api.post("/api/v1/quick_post", body).await.expect(201).number("/role/id");
    let page = close(&ada, role).await;
    api.clock.set("2026-11-21T00:00:00Z");
    let undone = undo(&ada, role, &page).await;
    assert!(undone.header("location").ends_with("?failed=only-reopened"), "{}", undone.header("location"));
    assert_eq!(status(&api, role).await, ("draft".to_owned(), false));
    let page = ada.follow(&undone).await.expect(200);
    assert!(page.text.contains("its last day to apply is over or somebody changed it"), "{}", page.text);
    // The page of the draft tells why its posting cannot be published, and offers no button for it.
    assert!(
        !page.text.contains("Publish the posting") && page.text.contains("Choose a later day"),
        "{}",
        page.text
    );
    let action = format!("{}/status", path(role));
    let published = ada.post(&action, &[("action", "publish"), ("job_posting", "true")]).await.expect(303);
    assert!(
        published.header("location").ends_with("?failed=last-day-over"),
        "{}",
        published.header("location")
    );
}

#[tokio::test]
async fn a_closed_role_offers_nothing_that_cannot_work() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = job(&api, "Baker", true, &[]).await;
    let offers = ["Publish the posting", "Post to X", "Add a candidate"];
    let page = ada.get(&path(role)).await.expect(200);
    assert!(page.text.contains(offers[1]) && page.text.contains(offers[2]), "{}", page.text);
    api.post(&format!("/api/v1/roles/{role}/pause"), json!({})).await.expect(200);
    let page = ada.get(&path(role)).await.expect(200);
    assert!(!page.text.contains(offers[1]) && page.text.contains(offers[2]), "{}", page.text);
    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    let page = ada.get(&path(role)).await.expect(200);
    for offer in offers {
        assert!(!page.text.contains(offer), "{offer}");
    }
    assert!(page.text.contains("Reopen the role first.") && page.text.contains(">Reopen<"), "{}", page.text);
    assert!(actions(&page).iter().all(|action| !action.ends_with("/close")));
    let reopened = ada.post(&format!("{}/status", path(role)), &[("action", "reopen")]).await.expect(303);
    let page = ada.follow(&reopened).await.expect(200);
    assert!(
        page.text.contains("Role reopened as a draft. Its applications are active again."),
        "{}",
        page.text
    );
    assert!(page.text.contains(offers[0]) && page.text.contains(offers[2]));
    assert_eq!(input(&page, "job_posting"), "true");
}
