//! The settings of the organization in the dashboard: country, time zone and contact address.

use http::Method;
use serde_json::{Value, json};
use shared::model::{MemberRole, Mode, OrganizationSettings};
use tests::browser::{Browser, Form, input};
use tests::dashboard::{add_member, escaped, owner};
use tests::{ACME, GLOBEX, Response, TestApi, tenant};

use crate::careers_applications::Job;
use crate::dashboard_access::is_write;

const PATH: &str = "/dashboard/settings/organization";
const DONE: &str = "/dashboard/settings/organization?done=organization-changed";
/// The settings before anybody changes them, as the API returns them.
const FIRST: [Option<&str>; 3] = [None, Some("UTC"), None];

async fn owner_browser(api: &TestApi, demo: usize) -> Browser<'_> {
    Browser::with_session(api, demo, &owner(api, demo).await).await
}

/// The fields of the form.
fn fields<'f>(country: &'f str, time_zone: &'f str, contact_email: &'f str) -> [(&'static str, &'f str); 3] {
    [("country", country), ("time_zone", time_zone), ("contact_email", contact_email)]
}

/// The form of a page, with its version and these fields.
fn filled_in(page: &Response, fields: [(&str, &str); 3]) -> Form {
    fields.into_iter().fold(Form::of(page, PATH), |form, (name, value)| form.and(name, value))
}

/// The settings in the API.
async fn settings(api: &TestApi, demo: usize, mode: Mode) -> Value {
    let organization = api.request(Method::GET, "/api/v1/organization").key(demo, mode).send().await;
    let body = organization.expect(200).body;
    json!([body["country"], body["time_zone"], body["contact_email"]])
}

/// The option that is selected in a field.
fn selected(page: &Response, field: &str) -> String {
    let select = page.text.split(&format!("<select id=\"{field}\"")).nth(1).unwrap();
    let options = select.split("</select>").next().unwrap();
    let chosen = options.split("<option value=\"").find(|option| option.contains("\" selected>"));
    chosen.map_or(String::new(), |option| option.split('"').next().unwrap().to_owned())
}

#[tokio::test]
async fn owners_change_the_settings_of_one_mode() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    let page = browser.get(PATH).await.expect(200);
    assert_eq!((selected(&page, "country"), selected(&page, "time_zone")), (String::new(), "UTC".to_owned()));
    assert_eq!(input(&page, "contact_email"), "");
    assert!(page.text.contains(&format!("<a href=\"{PATH}\" aria-current=\"true\">Organization</a>")));
    assert!(page.text.contains("<option value=\"CI\">Côte d&#39;Ivoire</option>"));

    // Names are stored as the database spells them, and an address as it was typed.
    let typed = fields("DE", "europe/berlin", " Jobs+data@Acme.example ");
    let saved = browser.post(PATH, &typed).await.expect(303);
    assert_eq!(saved.header("location"), DONE);
    let page = browser.follow(&saved).await.expect(200);
    assert!(page.text.contains("Organization settings saved."));
    assert_eq!((&*selected(&page, "country"), &*selected(&page, "time_zone")), ("DE", "Europe/Berlin"));
    assert_eq!(input(&page, "contact_email"), "Jobs+data@Acme.example");
    let stored = json!(["DE", "Europe/Berlin", "Jobs+data@Acme.example"]);
    assert_eq!(settings(&api, ACME, Mode::Live).await, stored);

    // The test mode has its own, and so has every other organization.
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live), (GLOBEX, Mode::Test)] {
        assert_eq!(settings(&api, demo, mode).await, json!(FIRST), "{demo} {mode:?}");
    }
    browser.post("/dashboard/mode", &[("mode", "test")]).await.expect(303);
    assert_eq!(selected(&browser.get(PATH).await, "country"), "");
    browser.post(PATH, &fields("at", "utc", "")).await.expect(303);
    assert_eq!(settings(&api, ACME, Mode::Test).await, json!(["AT", "UTC", null]));
    assert_eq!(settings(&api, ACME, Mode::Live).await, stored);

    // A blank field clears the country and the address.
    browser.post("/dashboard/mode", &[("mode", "live")]).await.expect(303);
    browser.post(PATH, &fields("", "Europe/Berlin", "")).await.expect(303);
    assert_eq!(settings(&api, ACME, Mode::Live).await, json!([null, "Europe/Berlin", null]));
}

#[tokio::test]
async fn invalid_values_are_shown_with_their_problems_and_change_nothing() {
    const ZONE: &str =
        "Time zone must be the name of a time zone in the IANA database, such as Europe/Berlin.";
    const COUNTRY: &str = "Country must be an ISO 3166-1 alpha-2 country code, such as DE.";
    const EMAIL: &str = "Contact e-mail address must be an e-mail address, such as jane@example.com.";
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    browser.post(PATH, &fields("DE", "Europe/Berlin", "jobs@acme.example")).await.expect(303);
    let before = settings(&api, ACME, Mode::Live).await;
    let long = format!("{}@{}.example", "a".repeat(64), "b".repeat(182));
    assert_eq!(long.len(), 255);
    let too_long = "Contact e-mail address must be at most 254 characters.";
    let (script, fields_of_mail) =
        ("<script>alert(1)</script>@acme.example", "a@acme.example?cc=b@c.example");
    for (typed, sentences) in [
        (fields("ZZ", "Europe/Berlin", ""), &[COUNTRY][..]),
        (fields("Germany", "Europe/Berlin", ""), &[COUNTRY]),
        (fields("DE", "", ""), &["Time zone can&#39;t be blank."]),
        (fields("DE", "Europe/Nowhere", ""), &[ZONE]),
        (fields("DE", "+01:00", ""), &[ZONE]),
        (fields("DE", "EST5EDT,M3.2.0,M11.1.0", ""), &[ZONE]),
        (fields("DE", "Etc/Unknown", ""), &[ZONE]),
        (fields("DE", "../../etc/passwd", ""), &[ZONE]),
        (fields("DE", "UTC", "jobs"), &[EMAIL]),
        (fields("DE", "UTC", script), &[EMAIL]),
        (fields("DE", "UTC", fields_of_mail), &[EMAIL]),
        (fields("DE", "UTC", "jobs@acme.example, more@acme.example"), &[EMAIL]),
        (fields("DE", "UTC", &long), &[too_long]),
        (fields("ZZ", "Mars", "jobs"), &[COUNTRY, ZONE, EMAIL]),
    ] {
        api.dynamodb.take_calls();
        let page = browser.post(PATH, &typed).await.expect(422);
        assert!(!api.dynamodb.take_calls().iter().any(is_write), "{typed:?}");
        assert!(page.text.contains("Please fix the following:"), "{typed:?}");
        for sentence in sentences {
            assert!(page.text.contains(&format!("-problem\">{sentence}</p>")), "{typed:?}: {}", page.text);
        }
        let email = format!("name=\"contact_email\" type=\"email\" value=\"{}\"", escaped(typed[2].1));
        assert!(page.text.contains(&email) && !page.text.contains("<script>alert"), "{typed:?}");
        if sentences == [EMAIL] {
            assert_eq!(
                (selected(&page, "country"), selected(&page, "time_zone")),
                ("DE".into(), "UTC".into())
            );
        }
    }
    let unknown = [fields("DE", "UTC", "").as_slice(), &[("timezone", "UTC")]].concat();
    assert!(browser.post(PATH, &unknown).await.expect(422).text.contains("Timezone is not a known field"));
    assert_eq!(settings(&api, ACME, Mode::Live).await, before);
}

#[tokio::test]
async fn only_owners_change_the_settings() {
    let api = TestApi::new().await;
    let grace = add_member(&api, ACME, "Grace", MemberRole::Member).await;
    let browser = Browser::with_session(&api, ACME, &grace).await;
    let page = browser.get(PATH).await.expect(200);
    assert_eq!(page.text.matches("<dd>Not given</dd>").count(), 3);
    let values = ["DE", "Europe/Berlin", "jobs@acme.example"];
    api.change_settings(tenant(ACME, Mode::Live), values).await;
    let page = browser.get(PATH).await.expect(200);
    for part in
        ["Only owners can change these settings.", ">Germany<", ">Europe/Berlin<", "mailto:jobs@acme.example"]
    {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    assert!(!page.text.contains(&format!("action=\"{PATH}\"")));
    browser.post(PATH, &fields("AT", "UTC", "")).await.expect(403);
    // An owner changes only the own organization.
    owner_browser(&api, GLOBEX).await.post(PATH, &fields("US", "UTC", "")).await.expect(303);
    assert_eq!(settings(&api, ACME, Mode::Live).await, json!(values));
}

#[tokio::test]
async fn a_change_that_the_member_has_not_seen_is_not_overwritten() {
    let api = TestApi::new().await;
    let (ada, bob) =
        (owner_browser(&api, ACME).await, add_member(&api, ACME, "Bob", MemberRole::Owner).await);
    let bob = Browser::with_session(&api, ACME, &bob).await;
    let (hers, his) = (ada.get(PATH).await.expect(200), bob.get(PATH).await.expect(200));
    let form = filled_in(&hers, fields("DE", "Europe/Berlin", ""));
    ada.submit(PATH, &form).await.expect(303);
    // Sent twice, the form has been carried out.
    ada.submit(PATH, &form).await.expect(303);

    let stale =
        bob.submit(PATH, &filled_in(&his, fields("AT", "UTC", "jobs@acme.example"))).await.expect(412);
    for part in ["Somebody changed this in the meantime.", "Germany", "Europe/Berlin</p>"] {
        assert!(stale.text.contains(part), "{part}: {}", stale.text);
    }
    assert_eq!(
        (&*selected(&stale, "country"), &*input(&stale, "contact_email")),
        ("AT", "jobs@acme.example")
    );
    assert_eq!(settings(&api, ACME, Mode::Live).await, json!(["DE", "Europe/Berlin", null]));
    // Having compared them, he saves his own.
    let form = filled_in(&stale, fields("AT", "UTC", "jobs@acme.example"));
    bob.submit(PATH, &form).await.expect(303);
    assert_eq!(settings(&api, ACME, Mode::Live).await, json!(["AT", "UTC", "jobs@acme.example"]));
}

#[tokio::test]
async fn a_mistake_does_not_hide_that_somebody_else_changed_the_settings() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    let page = browser.get(PATH).await.expect(200);
    api.change_settings(tenant(ACME, Mode::Live), ["DE", "Europe/Berlin", ""]).await;
    let wrong = browser.submit(PATH, &filled_in(&page, fields("AT", "UTC", "jobs"))).await.expect(422);
    let form = filled_in(&wrong, fields("AT", "UTC", "jobs@acme.example"));
    let stale = browser.submit(PATH, &form).await.expect(412);
    assert!(stale.text.contains("Germany") && stale.text.contains("Current version:"), "{}", stale.text);
    assert_eq!(settings(&api, ACME, Mode::Live).await, json!(["DE", "Europe/Berlin", null]));
}

#[tokio::test]
async fn one_of_two_changes_at_the_same_time_is_refused() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    let acme = tenant(ACME, Mode::Live);
    for (version, country) in [(0, "AT"), (1, "CH")] {
        let page = browser.get(PATH).await.expect(200);
        assert_eq!(Form::of(&page, PATH).get("seen"), version.to_string());
        let store = api.environment.store.clone();
        // Another change is committed after this one has read the settings.
        api.dynamodb.run_before("TransactWriteItems", async move {
            let change = |before: &OrganizationSettings| {
                before.change(OrganizationSettings { country: country.parse().ok(), ..before.clone() })
            };
            store.change_organization_settings(acme, change).await.unwrap();
        });
        let form = filled_in(&page, fields("DE", "Europe/Berlin", ""));
        let stale = browser.submit(PATH, &form).await.expect(412);
        assert!(stale.text.contains("Current version:"), "{}", stale.text);
        assert_eq!(settings(&api, ACME, Mode::Live).await, json!([country, "UTC", null]));
    }
}

#[tokio::test]
async fn a_change_is_in_the_audit_log_and_in_the_feed() {
    let api = TestApi::new().await;
    let browser = owner_browser(&api, ACME).await;
    browser.post(PATH, &fields("DE", "UTC", "jobs@acme.example")).await.expect(303);
    browser.post(PATH, &fields("DE", "UTC", "jobs@acme.example")).await.expect(303);
    browser.post(PATH, &fields("DE", "Europe/Berlin", "jobs@acme.example")).await.expect(303);
    let log = api.get("/api/v1/audit_log?action=settings.changed").await.expect(200);
    assert_eq!(log.body["data"].as_array().unwrap().len(), 2, "the second form changed nothing");
    assert_eq!(log.body["data"][0]["target"], json!({ "type": "organization", "id": null }));
    assert_eq!(log.string("/data/0/actor/type"), "member");
    let page = browser.get("/dashboard/settings/audit-log").await.expect(200);
    assert!(page.text.contains("the settings of the organization"), "{}", page.text);

    api.run_feed().await;
    let events = api.get("/api/v1/events?type=settings.changed").await.expect(200);
    let events = events.body["data"].as_array().unwrap();
    assert_eq!(events.len(), 2);
    let subject = |event: &Value| (event["subject"]["type"].clone(), event["subject"]["id"].clone());
    assert_eq!(subject(&events[0]), ("organization".into(), 1.into()));
    assert_eq!(events[0]["changed"], json!(["country", "contact_email"]));
    assert_eq!((&events[1]["changed"], &events[1]["data"]), (&json!(["time_zone"]), &json!({})));
    assert!(events[0]["subject"]["version"].as_u64() < events[1]["subject"]["version"].as_u64());
    assert!(!json!(events).to_string().contains("jobs@"), "events have no personal data");
    for (demo, mode) in [(ACME, Mode::Test), (GLOBEX, Mode::Live)] {
        let other = api.request(Method::GET, "/api/v1/events").key(demo, mode).send().await.expect(200);
        assert_eq!(other.body["data"], json!([]), "{demo} {mode:?}");
    }
}

#[tokio::test]
async fn the_pages_for_candidates_name_the_contact_address() {
    let api = TestApi::new().await;
    let (owner, visitor) = (owner_browser(&api, ACME).await, Browser::new(&api));
    let job = Job::new(&api, "Analyst").await;
    let others = Job::of(&api, ACME, Mode::Test, "Analyst").await;
    let applied = job.apply(&api, &crate::careers_applications::form("Jane", "jane@example.com")).await;
    let confirmation = applied.header("location").to_owned();
    let pages = ["/careers/acme/privacy", &*job.path, &*confirmation];
    for (path, without) in pages.into_iter().zip([
        "<p>To do so, contact Acme, and give the e&#8209;mail address",
        "You can withdraw each consent at any time. <a href=",
        "You can withdraw each consent at any time.\n  <a href=",
    ]) {
        let page = visitor.get(path).await.expect(200);
        assert!(page.text.contains(without), "{path}: {}", page.text);
        assert!(!page.text.contains("mailto:"), "{path}");
    }
    let settings = owner.get("/dashboard/settings/privacy").await.expect(200);
    for part in
        ["Your organization has no contact address", "<a href=\"/dashboard/settings/organization\">Set"]
    {
        assert!(settings.text.contains(part), "{part}: {}", settings.text);
    }

    // An address with everything that means something in a URL or in HTML.
    let email = "a'b&c?d=%{e}#f+g@müller.example";
    owner.post(PATH, &fields("", "UTC", email)).await.expect(303);
    let url = "mailto:a%27b%26c%3Fd%3D%25%7Be%7D%23f+g@m%C3%BCller.example";
    let link = format!("write to <a href=\"{url}\">{}</a>", escaped(email));
    for path in pages {
        let page = visitor.get(path).await.expect(200);
        assert!(page.text.contains(&link), "{path}: {}", page.text);
    }
    let wrong = visitor.post(&format!("{}/apply", job.path), &[("name", "")]).await.expect(422);
    assert!(wrong.text.contains(&link), "{}", wrong.text);
    for path in ["/careers/acme-test/privacy", "/careers/globex/privacy", &others.path] {
        assert!(!visitor.get(path).await.expect(200).text.contains("mailto:"), "{path}");
    }
    let settings = owner.get("/dashboard/settings/privacy").await.expect(200);
    assert!(!settings.text.contains("no contact address") && settings.text.contains(&link));

    // Below a text of the organization's own, too.
    owner.post("/dashboard/settings/privacy", &[("text", "Our text.")]).await.expect(303);
    let page = visitor.get(pages[0]).await.expect(200);
    let contact = format!("<p>Contact: <a href=\"{url}\">{}</a></p>", escaped(email));
    assert!(page.text.contains("<p>Our text.</p>") && page.text.contains(&contact), "{}", page.text);
}

#[tokio::test]
async fn the_privacy_settings_show_the_general_text_with_the_name_on_the_career_page() {
    let api = TestApi::new().await;
    let owner = owner_browser(&api, ACME).await;
    let branding = [("name", "Acme <Labs>"), ("introduction", ""), ("accent", ""), ("logo_url", "")];
    owner.post("/dashboard/settings/career-page", &branding).await.expect(303);
    let path = "/dashboard/settings/privacy";
    let general = "When you apply, Acme &#60;Labs&#62; stores what you enter";
    let page = owner.get(path).await.expect(200);
    for part in [general, "because your organization has none of its own", "The general text"] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    owner.post(path, &[("text", "Our text.")]).await.expect(303);
    let page = owner.get(path).await.expect(200);
    assert!(page.text.contains(general) && page.text.contains("Your own text replaces this one."));
    let grace = add_member(&api, ACME, "Grace", MemberRole::Member).await;
    let page = Browser::with_session(&api, ACME, &grace).await.get(path).await.expect(200);
    assert!(page.text.contains(general) && page.text.contains("An owner can set one under"), "{}", page.text);
}

#[tokio::test]
async fn settings_survive_a_change_of_the_plan() {
    let api = TestApi::new().await;
    let values = ["DE", "Europe/Berlin", "jobs@acme.example"];
    api.change_settings(tenant(ACME, Mode::Live), values).await;
    let acme = tenant(ACME, Mode::Live).organization;
    api.store().set_plan(acme, shared::model::Plan::Free).await.unwrap();
    api.store().set_suspended(acme, true, api.environment.clock.now()).await.unwrap();
    api.store().set_suspended(acme, false, api.environment.clock.now()).await.unwrap();
    assert_eq!(settings(&api, ACME, Mode::Live).await, json!(values));
    let browser = owner_browser(&api, ACME).await;
    let page = browser.get(PATH).await.expect(200);
    browser.submit(PATH, &filled_in(&page, fields("AT", "UTC", ""))).await.expect(303);
    assert_eq!(settings(&api, ACME, Mode::Live).await, json!(["AT", "UTC", null]));
}
