//! Previews of jobs in the dashboard: the career page of what a form has or of what is stored, without saving anything.

use serde_json::json;
use shared::model::{Branding, Mode, Text};
use tests::browser::{Browser, Form};
use tests::careers::{Vacancy, read};
use tests::dashboard::owner;
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::dashboard_access::is_write;
use crate::dashboard_pages::text_of;

const DESCRIPTION: &str = "Cook **well**.\r\n\r\n* Soups\r\n* Stews\r\n\r\n<script>alert(1)</script>\r\n\r\n[x](javascript:alert(1))";
const SCRIPT: &str = "<script>alert(1)</script>";

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// Asserts that nothing on the page can run or be sent, and that nobody keeps or indexes it. Returns its band.
fn assert_preview(page: &Response) -> &str {
    let (text, policy) = (&page.text, page.header("content-security-policy"));
    for part in
        ["<form", "<script", "javascript:", "rel=\"canonical\"", "og:url", "confirm_topic", "\"opened\""]
    {
        assert!(!text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("<button").count(), 1);
    assert!(
        text.contains(
            "<button class=\"button is-first\" type=\"button\" disabled>Submit application</button>"
        )
    );
    assert!(text.contains("<meta name=\"robots\" content=\"noindex\">"));
    assert_eq!(page.header("cache-control"), "no-store");
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("script-src"), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
    text.split("<p class=\"band\">").nth(1).unwrap().split("</p>").next().unwrap()
}

/// The lines of a page that applicants and a preview have in common.
fn shared_lines(page: &Response) -> Vec<&str> {
    let own = [
        "<script ",
        "<link rel=\"canonical\"",
        "<meta property=\"og:url\"",
        "<meta name=\"robots\"",
        "<p class=\"band\">",
        "<form ",
        "</form>",
        "<div class=\"form\">",
        "</div>",
        "<input type=\"hidden\" name=\"opened\"",
        "<button ",
    ];
    let (form, end) = page.text.split_once("Submit application</button>").unwrap();
    let form = form.split("<div class=\"extra\"").next().unwrap();
    let lines = form.lines().chain(end.lines()).map(str::trim);
    lines.filter(|line| !line.is_empty() && !own.iter().any(|own| line.starts_with(own))).collect()
}

/// Asserts that a preview shows what applicants get, but for what only one of them has.
fn assert_same(preview: &Response, career: &Response) {
    let preview = shared_lines(preview);
    assert_eq!(preview, shared_lines(career));
    assert!(preview.len() > 50, "{preview:?}");
}

#[tokio::test]
async fn a_job_is_previewed_as_applicants_will_get_it_and_nothing_is_saved() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let organization = api.store().find_organization(tenant(ACME, Mode::Live)).await.unwrap().unwrap();
    let branding = Branding {
        name: Text::parse("Acme & Co").unwrap().unwrap(),
        introduction: None,
        accent: "#117733".parse().ok(),
        logo_url: Some("https://cdn.example/logo.png".parse().unwrap()),
    };
    api.store().set_branding(&organization.organization, &branding).await.unwrap();
    let fields = [
        ("role.title", "Line <Cook>"),
        ("role.department", "Kitchen"),
        ("role.location", "Lyon"),
        ("role.country", "FR"),
        ("role.remote_policy", "hybrid"),
        ("role.employment_type", "full_time"),
        ("role.pay.min", "40000"),
        ("role.pay.currency", "EUR"),
        ("role.pay.period", "year"),
        ("role.description", DESCRIPTION),
        ("job_posting.requirements", "1. Knives"),
        ("job_posting.questions[0].label", SCRIPT),
        ("job_posting.questions[0].kind", "single_choice"),
        ("job_posting.questions[0].options[0]", "\"><script>"),
        ("job_posting.questions[0].options[1]", "No"),
        ("publish", "true"),
    ];
    api.dynamodb.take_calls();
    let previewed = [fields.as_slice(), &[("preview", "yes")]].concat();
    let page = ada.post("/dashboard/quick-post", &previewed).await.expect(200);
    assert!(!api.dynamodb.take_calls().iter().any(is_write), "nothing is saved");
    assert_eq!(
        assert_preview(&page),
        "Preview of unsaved changes: nobody can see this page until the job is published. The form cannot be sent from a preview."
    );
    for part in [
        "<h1 dir=\"auto\">Line &#60;Cook&#62;</h1>",
        "<dt>Country</dt><dd>France</dd>",
        "<dt>Salary</dt><dd>from €40,000 a year</dd>",
        "<p>Cook <strong>well</strong>.</p>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "<p>x</p>",
        "<bdi>&#60;script&#62;alert(1)&#60;/script&#62;</bdi>",
        "<option value=\"&#34;&#62;&#60;script&#62;\"",
        "name=\"consent_recording\"",
        "type=\"file\"",
        "src=\"https://cdn.example/logo.png\"",
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("style-src 'self' 'sha256-") && policy.contains("img-src 'self' https://cdn.example")
    );
    let saved = ada.post("/dashboard/quick-post", &fields).await.expect(303);
    let role = ada.follow(&saved).await.expect(200);
    let path = role.text.split("/careers/acme/").nth(1).unwrap().split('"').next().unwrap();
    let career = read(&api, &format!("/careers/acme/{path}")).await.expect(200);
    assert!(page.text.contains("<style>:root{--accent:#117733;") && theme(&page) == theme(&career));
    let (new, stored) = (asked(&page), asked(&career));
    let page = Response { text: page.text.replace(&new, &stored), ..page };
    assert_same(&page, &career);
    // What is stored looks the same, too.
    let link = role.text.split("/preview\">Preview<").next().unwrap().rsplit('"').next().unwrap();
    let page = ada.get(&format!("{link}/preview")).await.expect(200);
    assert_eq!(
        assert_preview(&page),
        "Preview: applicants see this page. The form cannot be sent from a preview."
    );
    assert_same(&page, &career);
}

/// The inline stylesheet.
fn theme(page: &Response) -> &str {
    page.text.split("<style>").nth(1).unwrap().split("</style>").next().unwrap()
}

/// The name of the field of the only question.
fn asked(page: &Response) -> String {
    let rest = page.text.split("name=\"question_").nth(1).unwrap();
    format!("question_{}", rest.split('"').next().unwrap())
}

#[tokio::test]
async fn a_preview_of_an_invalid_job_says_what_is_wrong() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let fields = [("role.title", ""), ("role.description", "Cook well."), ("preview", "yes")];
    let page = ada.post("/dashboard/quick-post", &fields).await.expect(422);
    assert!(page.text.replace("&#39;", "'").contains("Title can't be blank."), "{}", page.text);
    assert!(page.text.contains("Cook well.") && !page.text.contains("class=\"band\">Preview"));
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    let path = format!("/dashboard/roles/{role}/edit");
    for fields in [
        [("title", "Cook"), ("pay.min", "9"), ("pay.max", "1"), ("preview", "yes")],
        [("title", "Cook"), ("pay.min", "x"), ("pay.max", ""), ("preview", "yes")],
    ] {
        let page = ada.post(&path, &fields).await.expect(422);
        assert!(page.text.contains("role=\"alert\""), "{fields:?}");
    }
    let long = "x".repeat(201);
    let path = format!("/dashboard/roles/{role}/posting");
    let page = ada.post(&path, &[("title", &long), ("preview", "yes")]).await.expect(422);
    assert!(page.text.contains("Public title must be at most 200 characters."), "{}", page.text);
}

#[tokio::test]
async fn previews_are_for_members_of_the_organization_and_their_own_forms() {
    let api = TestApi::new().await;
    let cook = Vacancy::open(&api, json!({ "title": "Cook" })).await;
    let role = format!("/dashboard/roles/{}", cook.role);
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let fields = [("title", "Cook"), ("label.0", "Why?"), ("kind.0", "date"), ("preview", "yes")];
    for page in ["edit", "posting", "questions"] {
        grace.post(&format!("{role}/{page}"), &fields).await.expect(404);
        acme(&api).await.send(&format!("{role}/{page}"), &fields).await.expect(403);
    }
    grace.get(&format!("{role}/preview")).await.expect(404);
    acme(&api).await.get("/dashboard/roles/1/preview").await.expect(404);
    let anonymous = Browser::new(&api).get(&format!("{role}/preview")).await.expect(303);
    assert!(anonymous.header("location").starts_with("/dashboard/sign-in"));
    let shown = grace.post("/dashboard/quick-post", &[("role.title", "Chef"), ("preview", "yes")]).await;
    let shown = shown.expect(200);
    assert!(shown.text.contains("/careers/globex") && !shown.text.contains("acme"), "{}", shown.text);
}

#[tokio::test]
async fn a_preview_of_a_posting_follows_the_role_where_it_is_empty() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let body = json!({ "title": "Cook", "description": "Cook *well*.", "department": "Kitchen" });
    let role = api.post("/api/v1/roles", body).await.expect(201).number("/id");
    // The role has no posting yet.
    let shown = ada.get(&format!("/dashboard/roles/{role}/preview")).await.expect(200);
    assert_eq!(
        assert_preview(&shown),
        "Preview: nobody can see this page until the job is published. The form cannot be sent from a preview."
    );
    assert!(shown.text.contains(">Cook</h1>") && shown.text.contains("<em>well</em>"), "{}", shown.text);
    let path = format!("/dashboard/roles/{role}/posting");
    let shown = ada.post(&path, &[("requirements", DESCRIPTION), ("preview", "yes")]).await.expect(200);
    assert_preview(&shown);
    for part in [">Cook</h1>", "<em>well</em>", ">Kitchen</dd>", "<strong>well</strong>"] {
        assert!(shown.text.contains(part), "{part}: {}", shown.text);
    }
    let fields = [("title", "Line cook"), ("public_description", "Ours."), ("preview", "yes")];
    let shown = ada.post(&path, &fields).await.expect(200).text;
    assert!(
        shown.contains(">Line cook</h1>") && shown.contains("<p>Ours.</p>") && !shown.contains("well"),
        "{shown}"
    );
    // The role's form shows the posting, too.
    ada.post(&path, &[("title", "Line cook"), ("public_description", "Ours.")]).await.expect(303);
    let edited = [("title", "Chef"), ("department", "Canteen"), ("preview", "yes")];
    let shown = ada.post(&format!("/dashboard/roles/{role}/edit"), &edited).await.expect(200).text;
    assert!(shown.contains(">Line cook</h1>") && shown.contains(">Canteen</dd>"), "{shown}");
}

#[tokio::test]
async fn a_preview_says_who_sees_which_page() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let body = json!({ "title": "Cook", "description": "Cook\nwell.", "closes_on": "2026-12-24" });
    let cook = Vacancy::open(&api, body).await;
    let role = format!("/dashboard/roles/{}", cook.role);
    let band = async |ada: &Browser<'_>| {
        let page = ada.get(&format!("{role}/preview")).await.expect(200);
        assert!(page.text.contains("<dd>24 December 2026</dd>") || page.text.contains(">24 December 2026<"));
        assert_preview(&page).to_owned()
    };
    let changed =
        ada.post(&format!("{role}/edit"), &[("title", "Chef"), ("preview", "yes")]).await.expect(200);
    assert_eq!(
        assert_preview(&changed),
        "Preview of unsaved changes: applicants see the page as it was last saved. The form cannot be sent from a preview."
    );
    let path = format!("{role}/edit");
    let form = Form::of(&ada.get(&path).await.expect(200), &path).set("title", "Cook");
    let form = form.set("description", "Cook\r\nwell.").set("closes_on", "2026-12-24").set("preview", "yes");
    let same = ada.submit(&path, &form).await.expect(200);
    assert_eq!(
        assert_preview(&same),
        "Preview: applicants see this page. The form cannot be sent from a preview."
    );
    api.clock.set("2026-11-23T08:00:00Z");
    let ada = acme(&api).await;
    let open = ada.get(&format!("{role}/preview")).await.expect(200);
    assert_same(&open, &read(&api, &cook.path()).await);
    for (step, expected) in [
        ("pause", "Preview: applicants see the page without the form while the role is paused."),
        ("resume", "Preview: applicants see this page."),
        ("unpublish", "Preview: nobody can see this page until the job is published."),
        ("publish", "Preview: applicants see this page."),
        ("close", "Preview: nobody can see this page while the role is closed."),
        // Closing a role unpublishes its posting, and it is a draft when it is reopened.
        ("reopen", "Preview: nobody can see this page until the job is published."),
        ("open", "Preview: nobody can see this page until the job is published."),
        ("publish", "Preview: applicants see this page."),
    ] {
        let response = cook.step(&api, step).await;
        assert!(response.status < 300, "{step}: {}", response.text);
        assert_eq!(band(&ada).await, format!("{expected} The form cannot be sent from a preview."), "{step}");
    }
    api.clock.set("2026-12-25T08:00:00Z");
    let over = "Preview: nobody can see this page because the last day to apply is over.";
    assert_eq!(band(&acme(&api).await).await, format!("{over} The form cannot be sent from a preview."));
}

#[tokio::test]
async fn the_questions_of_a_preview_are_those_of_the_form() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let question = json!({ "label": "When?", "kind": "date" });
    let body = json!({ "role": { "title": "Cook" }, "job_posting": { "questions": [question] } });
    let cook = Vacancy::post(&api, body).await;
    let role = format!("/dashboard/roles/{}", cook.role);
    let asks = |page: &Response, label: &str| page.text.contains(&format!("<bdi>{label}</bdi>"));
    // Forms without questions leave them as they are.
    for page in ["edit", "posting"] {
        let shown = ada.post(&format!("{role}/{page}"), &[("title", "Chef"), ("preview", "yes")]).await;
        assert!(asks(&shown.expect(200), "When?"), "{page}");
    }
    let path = format!("{role}/questions");
    let form = Form::of(&ada.get(&path).await.expect(200), &path);
    let form = form.set("label.0", "").set("label.1", SCRIPT).set("kind.1", "multiple_choice");
    let form = form.set("options.1", "Early\r\n\"><b>").set("required.1", "yes").set("preview", "yes");
    api.dynamodb.take_calls();
    let shown = ada.submit(&path, &form).await.expect(200);
    assert!(!api.dynamodb.take_calls().iter().any(is_write), "nothing is saved");
    assert_eq!(
        assert_preview(&shown),
        "Preview of unsaved changes: applicants see the page as it was last saved. The form cannot be sent from a preview."
    );
    assert!(asks(&shown, "&#60;script&#62;alert(1)&#60;/script&#62;") && !asks(&shown, "When?"));
    assert!(shown.text.contains("value=\"&#34;&#62;&#60;b&#62;\""), "{}", shown.text);
    assert!(asks(&read(&api, &cook.path()).await, "When?"));
    // Mistakes are shown in the form.
    let wrong = ada.submit(&path, &form.set("options.1", "Early")).await.expect(422);
    let text = text_of(&wrong);
    assert!(
        text.contains("Nothing was saved.") && text.contains("The options must have at least 2 items."),
        "{text}"
    );
    assert!(wrong.text.contains(">\nEarly</textarea>") && !wrong.text.contains("class=\"band\">Preview"));
}

#[tokio::test]
async fn a_mistake_in_a_form_keeps_the_version_that_the_member_saw() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    let path = format!("/dashboard/roles/{role}/edit");
    let opened = Form::of(&ada.get(&path).await.expect(200), &path);
    // Somebody else changes the role before the mistake is corrected.
    api.patch(&format!("/api/v1/roles/{role}"), json!({ "department": "Kitchen" })).await.expect(200);
    for preview in ["", "yes"] {
        let wrong = opened.clone().set("preview", preview).and("title", "Chef").set("pay.min", "x");
        let wrong = ada.submit(&path, &wrong).await.expect(422);
        let again = Form::of(&wrong, &path).and("title", "Chef");
        let refused = ada.submit(&path, &again).await.expect(412);
        assert!(refused.text.contains("Somebody changed this in the meantime."), "{}", refused.text);
    }
    let role = api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
    assert_eq!((role.string("/title"), role.string("/department")), ("Cook", "Kitchen"));
}
