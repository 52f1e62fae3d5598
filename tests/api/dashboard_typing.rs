//! What members type in the dashboard's forms: amounts as people write them, the button that was pressed, the limits that the
//! browser holds, and how a page with mistakes begins.

use serde_json::{Value, json};
use tests::browser::{Browser, Form};
use tests::dashboard::owner;
use tests::{ACME, Response, TestApi};

const QUICK_POST: &str = "/dashboard/quick-post";

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

/// The identifier in the address that a form redirects to.
fn id_in(response: &Response) -> String {
    let location = response.header("location");
    location.trim_start_matches("/dashboard/roles/").chars().take_while(char::is_ascii_digit).collect()
}

/// The labels of the buttons that send the form, in their order, and the first one's class.
fn buttons(page: &Response) -> Vec<(String, bool)> {
    let form = page.text.split("class=\"form panel\"").nth(1).unwrap().split("</form>").next().unwrap();
    let buttons = form.split("<button ").skip(1).filter(|button| button.contains("name=\"publish\""));
    let button = |button: &str| {
        let label = button.split('>').nth(1).unwrap().split('<').next().unwrap().to_owned();
        (label, button.split('>').next().unwrap().contains("is-first"))
    };
    buttons.map(button).collect()
}

#[tokio::test]
async fn amounts_are_understood_as_people_write_them() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    for (min, max, stored) in [
        ("60,000", "70 000", json!(["60000", "70000"])),
        ("70.000", "80k", json!(["70000", "80000"])),
        ("70\u{a0}000", "70\u{202f}500", json!(["70000", "70500"])),
        ("18,50", "20.00", json!(["18.50", "20"])),
        ("", "1.234,56", json!([null, "1234.56"])),
    ] {
        let fields = [
            ("role.title", "Cook"),
            ("role.pay.min", min),
            ("role.pay.max", max),
            ("role.pay.currency", "EUR"),
            ("role.pay.period", "month"),
            ("publish", "false"),
        ];
        let posted = ada.post(QUICK_POST, &fields).await.expect(303);
        let role = id_in(&posted);
        let shown = api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
        assert_eq!(json!([shown.body["pay"]["min"], shown.body["pay"]["max"]]), stored, "{min} {max}");
        let edit = format!("/dashboard/roles/{role}/edit");
        let fields =
            [("pay.min", min), ("pay.max", "100,000,000"), ("pay.currency", "EUR"), ("pay.period", "year")];
        ada.post(&edit, &fields).await.expect(303);
        let shown = api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
        assert_eq!(shown.body["pay"]["max"], json!("100000000"));
    }
}

#[tokio::test]
async fn an_amount_that_could_mean_several_is_refused_with_all_other_mistakes() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    for (min, max) in [("60,5", ""), ("", "1.5"), ("1.5", "60,5"), ("-1", "100,000,001")] {
        let fields = [
            ("role.title", ""),
            ("role.pay.min", min),
            ("role.pay.max", max),
            ("role.pay.currency", "EUR"),
            ("role.pay.period", "hour"),
            ("publish", "true"),
        ];
        let refused = ada.post(QUICK_POST, &fields).await.expect(422);
        let said = "must be a number from 0 to 100,000,000, such as 60000, 60,000, 80k or 18.50";
        for (label, typed) in [("Pay from", min), ("Pay to", max)] {
            let is_said = refused.text.contains(&format!("{label} {said}"));
            assert_eq!(is_said, !typed.is_empty(), "{label} {typed}: {}", refused.text);
            assert!(refused.text.contains(&format!("value=\"{typed}\"")), "{typed}");
        }
        assert!(refused.text.contains("Title can&#39;t be blank."), "{}", refused.text);
        assert!(!refused.text.contains("currency can"), "{}", refused.text);
    }
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    let edit = format!("/dashboard/roles/{role}/edit");
    let fields = [("title", "Cook"), ("pay.min", "60,5"), ("pay.currency", "EUR"), ("pay.period", "year")];
    ada.post(&edit, &fields).await.expect(422);
    let preview = [&fields[..], &[("preview", "yes")]].concat();
    ada.post(&edit, &preview).await.expect(422);
    assert_eq!(api.get(&format!("/api/v1/roles/{role}")).await.expect(200).body["pay"], Value::Null);
}

#[tokio::test]
async fn the_currency_is_a_list_that_begins_with_the_organizations() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let first = |page: &Response| {
        let list =
            page.text.split("name=\"role.pay.currency\"").nth(1).unwrap().split("</select>").next().unwrap();
        let options: Vec<_> =
            list.split("<option value=\"").skip(1).map(|option| option[..3].to_owned()).collect();
        (options[1].clone(), options.len())
    };
    let (code, count) = first(&ada.get(QUICK_POST).await.expect(200));
    assert_eq!(code, "AED");
    api.change_settings(tests::tenant(ACME, shared::model::Mode::Live), ["CH", "UTC", ""]).await;
    assert_eq!(first(&ada.get(QUICK_POST).await.expect(200)), ("CHF".to_owned(), count));
}

#[tokio::test]
async fn publish_and_save_as_a_draft_are_two_buttons() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let page = ada.get(QUICK_POST).await.expect(200);
    let [publish, draft] = ["Publish", "Save as a draft"].map(str::to_owned);
    assert_eq!(buttons(&page), [(publish.clone(), true), (draft.clone(), false)]);
    assert!(!page.text.contains("<select id=\"publish\""), "{}", page.text);
    // The form that is shown again begins with the button that was pressed, which Enter presses.
    let form = Form::of(&page, QUICK_POST);
    for (value, first, second) in [("false", &draft, &publish), ("true", &publish, &draft)] {
        let sent = form.clone().and("role.title", "").and("publish", value);
        let again = ada.submit(QUICK_POST, &sent).await.expect(422);
        assert_eq!(buttons(&again), [(first.clone(), true), (second.clone(), false)]);
    }
    for (value, status) in [("true", "open"), ("false", "draft")] {
        let sent = Form::of(&ada.get(QUICK_POST).await.expect(200), QUICK_POST);
        let sent = sent.and("role.title", value).and("publish", value);
        let posted = ada.submit(QUICK_POST, &sent).await.expect(303);
        let role = api.get(&format!("/api/v1/roles/{}", id_in(&posted))).await.expect(200);
        assert_eq!(role.string("/status"), status);
    }
    let role = api.post("/api/v1/roles", json!({ "title": "Cook" })).await.expect(201).number("/id");
    let edit = ada.get(&format!("/dashboard/roles/{role}/edit")).await.expect(200);
    assert!(edit.text.contains("<button class=\"button is-first\">Save</button>"), "{}", edit.text);
}

#[tokio::test]
async fn the_button_that_was_pressed_waits_for_the_sign_in_with_the_form() {
    let api = TestApi::new().await;
    for (value, status) in [("false", "draft"), ("true", "open")] {
        api.clock.set("2026-11-20T09:30:00Z");
        let ada = Browser::signed_in(&api, ACME).await;
        let page = ada.get(QUICK_POST).await.expect(200);
        let sent = Form::of(&page, QUICK_POST).and("role.title", "Cook").and("publish", value);
        api.clock.set("2026-11-21T08:00:00Z");
        let asked = ada.submit(QUICK_POST, &sent).await.expect(401);
        let sign_in = Form::of(&asked, "/dashboard/sign-in")
            .set("email", "ada@acme.example")
            .set("password", "acme demo password");
        ada.submit("/dashboard/sign-in", &sign_in).await.expect(307);
        let posted = ada.submit(QUICK_POST, &sign_in).await.expect(303);
        let role = api.get(&format!("/api/v1/roles/{}", id_in(&posted))).await.expect(200);
        assert_eq!(role.string("/status"), status);
    }
}

#[tokio::test]
async fn the_browser_holds_the_limits_and_the_server_still_says_them() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let page = ada.get(QUICK_POST).await.expect(200);
    let field = |name: &str| {
        let rest = page.text.split(&format!("name=\"{name}\"")).nth(1).unwrap();
        rest.split('>').next().unwrap().to_owned()
    };
    let title = field("role.title");
    assert!(title.contains(" required") && title.contains(" maxlength=\"200\""), "{title}");
    let pay = field("role.pay.min");
    assert!(pay.contains("inputmode=\"decimal\"") && !pay.contains("required"), "{pay}");
    // A long text that is pasted is not cut.
    assert!(!field("role.description").contains("maxlength"));
    let fields =
        [("role.title", &*"x".repeat(201)), ("role.description", &*"x".repeat(20_001)), ("publish", "true")];
    let refused = ada.post(QUICK_POST, &fields).await.expect(422);
    for sentence in
        ["Title must be at most 200 characters.", "Description must be at most 20,000 characters."]
    {
        assert!(refused.text.contains(sentence), "{sentence}: {}", refused.text);
    }
}

#[tokio::test]
async fn a_page_with_mistakes_says_so_first() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let summary = "<div class=\"said is-bad\" role=\"alert\" tabindex=\"-1\" autofocus>";
    for (path, fields) in [
        (QUICK_POST, &[("role.title", ""), ("publish", "true")][..]),
        ("/dashboard/candidates/new", &[("name", "")]),
        ("/dashboard/settings/organization", &[("time_zone", "Nowhere")]),
    ] {
        let good = ada.get(path).await.expect(200);
        assert!(!good.text.contains("<title>Error: ") && !good.text.contains("autofocus"), "{path}");
        let bad = ada.post(path, fields).await.expect(422);
        assert!(bad.text.contains("<title>Error: ") && bad.text.contains(summary), "{path}: {}", bad.text);
        assert_eq!(bad.text.matches("autofocus").count(), 1, "{path}");
    }
    let log = ada.get("/dashboard/settings/audit-log?from=x").await.expect(422);
    assert!(log.text.contains("<title>Error: Audit log") && log.text.contains(summary), "{}", log.text);
    let wrong = ada.post("/dashboard/sign-in", &[("email", "ada@acme.example"), ("password", "wrong")]).await;
    assert!(wrong.status == 401 && wrong.text.contains("<title>Error: Sign in"), "{}", wrong.text);
}
