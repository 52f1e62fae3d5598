//! Previews in the dashboard's forms of jobs: what the career page would show, without saving anything.

use serde_json::json;
use tests::browser::{Browser, Form, input};
use tests::dashboard::owner;
use tests::{ACME, GLOBEX, Response, TestApi};

use crate::dashboard_access::is_write;
use crate::dashboard_pages::text_of;

const DESCRIPTION: &str = "Cook **well**.\r\n\r\n* Soups\r\n* Stews\r\n\r\n<script>alert(1)</script>\r\n\r\n[x](javascript:alert(1))";

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// The preview on a page.
fn preview(page: &Response) -> String {
    let rest =
        page.text.split("aria-labelledby=\"preview\"").nth(1).unwrap_or_else(|| panic!("{}", page.text));
    rest.split("</section>").next().unwrap().to_owned()
}

fn assert_safe(preview: &str) {
    assert!(preview.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{preview}");
    assert!(
        !preview.contains("<script") && !preview.contains("javascript") && preview.contains("<p>x</p>"),
        "{preview}"
    );
}

#[tokio::test]
async fn a_job_is_previewed_as_the_career_page_shows_it_and_nothing_is_saved() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
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
        ("publish", "true"),
    ];
    let previewed = [fields.as_slice(), &[("preview", "yes")]].concat();
    api.dynamodb.take_calls();
    let page = ada.post("/dashboard/quick-post", &previewed).await.expect(200);
    assert!(!api.dynamodb.take_calls().iter().any(is_write), "nothing is saved");
    let shown = preview(&page);
    for part in [
        "Line &#60;Cook&#62;</h2>",
        "<dt>Department</dt><dd>Kitchen</dd>",
        "<dt>Country</dt><dd>France</dd>",
        "<dt>Workplace</dt><dd>Hybrid</dd>",
        "<dt>Employment</dt><dd>Full-time</dd>",
        "<p>Cook <strong>well</strong>.</p>",
        "<li>Soups</li>",
        "<ol>\n<li>Knives</li>",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("<dt>Salary</dt><dd>from €40,000 a year</dd>"), "{shown}");
    assert_safe(&shown);
    // What was typed is still in the form, which can be saved.
    let mut form = Form::of(&page, "/dashboard/quick-post");
    for (name, value) in fields {
        let is_kept = match name {
            "role.description" => page.text.contains("Cook **well**.\n\n* Soups"),
            "job_posting.requirements" => page.text.contains(">\n1. Knives</textarea>"),
            "publish"
            | "role.country"
            | "role.remote_policy"
            | "role.employment_type"
            | "role.pay.period" => page.text.contains(&format!("<option value=\"{value}\" selected>")),
            name => input(&page, name) == value,
        };
        assert!(is_kept, "{name}: {}", page.text);
        form = form.and(name, value);
    }
    let saved = ada.submit("/dashboard/quick-post", &form).await.expect(303);
    let role = ada.follow(&saved).await.expect(200);
    let path = role.text.split("/careers/acme/").nth(1).unwrap().split('"').next().unwrap();
    let career = Browser::new(&api).get(&format!("/careers/acme/{path}")).await.expect(200);
    let description =
        shown.split("About the job</h3>").nth(1).unwrap().split("</div>").next().unwrap().trim();
    assert!(career.text.contains(description), "{description} is not in {}", career.text);
}

#[tokio::test]
async fn a_preview_of_an_invalid_job_says_what_is_wrong() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let fields = [("role.title", ""), ("role.description", "Cook well."), ("preview", "yes")];
    let page = ada.post("/dashboard/quick-post", &fields).await.expect(422);
    assert!(
        text_of(&page).contains("Title can't be blank.") || page.text.contains("Title can&#39;t be blank.")
    );
    assert!(page.text.contains("Cook well.") && !page.text.contains("aria-labelledby=\"preview\""));
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    let path = format!("/dashboard/roles/{role}/edit");
    for fields in [
        [("title", "Cook"), ("pay.min", "9"), ("pay.max", "1"), ("preview", "yes")],
        [("title", "Cook"), ("pay.min", "x"), ("pay.max", ""), ("preview", "yes")],
    ] {
        let page = ada.post(&path, &fields).await.expect(422);
        assert!(page.text.contains("role=\"alert\""), "{fields:?}");
    }
    // Nobody of another organization.
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    for page in ["edit", "posting"] {
        let path = format!("/dashboard/roles/{role}/{page}");
        grace.post(&path, &[("title", "Cook"), ("preview", "yes")]).await.expect(404);
    }
}

#[tokio::test]
async fn a_preview_of_a_role_keeps_the_version_that_the_member_saw() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    let path = format!("/dashboard/roles/{role}/edit");
    let opened = Form::of(&ada.get(&path).await.expect(200), &path).set("title", "Chef");
    // Somebody else changes the role before the preview.
    api.patch(&format!("/api/v1/roles/{role}"), json!({ "department": "Kitchen" })).await.expect(200);
    let page = ada.submit(&path, &opened.and("preview", "yes")).await.expect(200);
    assert!(preview(&page).contains(">Chef</h2>"), "{}", page.text);
    let again = Form::of(&page, &path).and("title", "Chef");
    let refused = ada.submit(&path, &again).await.expect(412);
    assert!(refused.text.contains("Somebody changed this in the meantime."), "{}", refused.text);
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
    let wrong = ada.submit(&path, &opened.and("title", "Chef").set("pay.min", "x")).await.expect(422);
    let again = Form::of(&wrong, &path).and("title", "Chef");
    let refused = ada.submit(&path, &again).await.expect(412);
    assert!(refused.text.contains("Somebody changed this in the meantime."), "{}", refused.text);
    let role = api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
    assert_eq!((role.string("/title"), role.string("/department")), ("Cook", "Kitchen"));
}

#[tokio::test]
async fn a_preview_of_a_posting_follows_the_role_where_it_is_empty() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let body = json!({ "title": "Cook", "description": "Cook *well*.", "department": "Kitchen" });
    let role = api.post("/api/v1/roles", body).await.expect(201).number("/id");
    let path = format!("/dashboard/roles/{role}/posting");
    let page = ada.post(&path, &[("requirements", DESCRIPTION), ("preview", "yes")]).await.expect(200);
    let shown = preview(&page);
    for part in [">Cook</h2>", "<em>well</em>", "<dd>Kitchen</dd>", "<strong>well</strong>"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_safe(&shown);
    let fields = [("title", "Line cook"), ("public_description", "Ours."), ("preview", "yes")];
    let shown = preview(&ada.post(&path, &fields).await.expect(200));
    assert!(
        shown.contains(">Line cook</h2>") && shown.contains("<p>Ours.</p>") && !shown.contains("well"),
        "{shown}"
    );
    // The role's form shows the posting, too.
    ada.post(&path, &[("title", "Line cook"), ("public_description", "Ours.")]).await.expect(303);
    let edited = [("title", "Chef"), ("department", "Canteen"), ("preview", "yes")];
    let shown = preview(&ada.post(&format!("/dashboard/roles/{role}/edit"), &edited).await.expect(200));
    assert!(shown.contains(">Line cook</h2>") && shown.contains("<dd>Canteen</dd>"), "{shown}");
}
