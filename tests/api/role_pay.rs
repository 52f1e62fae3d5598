//! What a role pays: in the API, in the dashboard, on the career pages, on X and for assistants.

use serde_json::{Value, json};
use tests::assistant::Assistant;
use tests::browser::{Browser, Form, input, plain};
use tests::careers::{Vacancy, cards, read};
use tests::dashboard::owner;
use tests::{ACME, Response, TestApi};

use crate::careers_jobs::{facts, json_ld};

fn pay(min: Option<&str>, max: Option<&str>, currency: &str, period: &str) -> Value {
    json!({ "min": min, "max": max, "currency": currency, "period": period })
}

fn hourly() -> Value {
    pay(Some("18.50"), Some("22"), "EUR", "hour")
}

/// The annual salary and the pay of a role.
fn shown(role: &Value) -> Value {
    json!([role["salary_min"], role["salary_max"], role["salary_currency"], role["pay"]])
}

async fn role(api: &TestApi, fields: Value) -> (String, Value) {
    let mut body = fields;
    body["title"] = "x".into();
    let role = api.post("/api/v1/roles", body).await.expect(201);
    (format!("/api/v1/roles/{}", role.number("/id")), shown(&role.body))
}

#[tokio::test]
async fn an_annual_salary_and_pay_for_a_year_are_the_same() {
    let api = TestApi::new().await;
    for (fields, expected) in [
        (json!({}), json!([null, null, null, null])),
        (json!({ "pay": null }), json!([null, null, null, null])),
        (json!({ "salary_currency": "eur" }), json!([null, null, "EUR", null])),
        (
            json!({ "salary_min": 150_000 }),
            json!([150_000, null, null, pay(Some("150000"), None, "USD", "year")]),
        ),
        (
            json!({ "salary_min": 1, "salary_max": 2, "salary_currency": "chf" }),
            json!([1, 2, "CHF", pay(Some("1"), Some("2"), "CHF", "year")]),
        ),
        (
            json!({ "pay": { "max": " 9.00 ", "currency": "usd", "period": "year" } }),
            json!([null, 9, "USD", pay(None, Some("9"), "USD", "year")]),
        ),
        // What is not whole is rounded away from the middle of the range.
        (
            json!({ "pay": pay(Some("55000.5"), Some("60000.01"), "GBP", "year") }),
            json!([55_000, 60_001, "GBP", pay(Some("55000.50"), Some("60000.01"), "GBP", "year")]),
        ),
        (json!({ "pay": hourly() }), json!([null, null, null, hourly()])),
        (
            json!({ "pay": hourly(), "salary_min": null, "salary_max": "", "salary_currency": null }),
            json!([null, null, null, hourly()]),
        ),
    ] {
        let (path, created) = role(&api, fields.clone()).await;
        assert_eq!(created, expected, "{fields}");
        let mut same = fields.clone();
        same["title"] = "x".into();
        assert_eq!(shown(&api.patch(&path, same).await.expect(200).body), expected, "{fields}");
        assert_eq!(shown(&api.get(&path).await.expect(200).body), expected, "{fields}");
    }
    let posted = json!({ "role": { "title": "x", "pay": hourly() } });
    let posted = api.post("/api/v1/quick_post", posted).await.expect(201).body;
    assert_eq!(shown(&posted["role"]), json!([null, null, null, hourly()]));
}

#[tokio::test]
async fn a_change_of_the_salary_and_a_change_of_the_pay_agree() {
    let api = TestApi::new().await;
    let monthly = pay(Some("4000"), None, "EUR", "month");
    let (path, _) = role(&api, json!({ "salary_min": 10, "salary_currency": "EUR" })).await;
    for (change, expected) in [
        (json!({ "salary_max": 20 }), json!([10, 20, "EUR", pay(Some("10"), Some("20"), "EUR", "year")])),
        (json!({ "pay": monthly }), json!([null, null, null, monthly])),
        // Old clients send back what they know.
        (
            json!({ "salary_min": null, "salary_max": null, "salary_currency": null }),
            json!([null, null, null, monthly]),
        ),
        (json!({ "salary_currency": "EUR" }), json!([null, null, null, monthly])),
        (
            json!({ "salary_min": 48_000 }),
            json!([48_000, null, "EUR", pay(Some("48000"), None, "EUR", "year")]),
        ),
        (json!({ "pay": null }), json!([null, null, null, null])),
        (json!({ "salary_currency": "SEK" }), json!([null, null, "SEK", null])),
        (json!({ "pay": null }), json!([null, null, "SEK", null])),
        (
            json!({ "pay": null, "salary_max": 5 }),
            json!([null, 5, "SEK", pay(None, Some("5"), "SEK", "year")]),
        ),
        (json!({ "pay": hourly(), "salary_min": null }), json!([null, null, null, hourly()])),
        (
            json!({ "pay": pay(Some("9.99"), None, "USD", "year") }),
            json!([9, null, "USD", pay(Some("9.99"), None, "USD", "year")]),
        ),
        // An amount that is sent back as it was shown is not rounded.
        (
            json!({ "salary_min": 9, "salary_max": 12 }),
            json!([9, 12, "USD", pay(Some("9.99"), Some("12"), "USD", "year")]),
        ),
        (json!({ "salary_min": 10 }), json!([10, 12, "USD", pay(Some("10"), Some("12"), "USD", "year")])),
    ] {
        let changed = api.patch(&path, change.clone()).await.expect(200);
        assert_eq!(shown(&changed.body), expected, "{change}");
        assert_eq!(api.get(&path).await.expect(200).body, changed.body, "{change}");
    }
}

#[tokio::test]
async fn contradictions_and_every_limit_are_refused() {
    let api = TestApi::new().await;
    let (path, before) = role(&api, json!({ "pay": hourly() })).await;
    let amount = "must be a number from 0 to 100000000 with at most two decimal places, such as 18.50";
    let combined = "pay can't be combined with salary_min, salary_max or salary_currency";
    for (change, messages) in [
        (json!({ "pay": hourly(), "salary_min": 1 }), vec![combined.to_owned()]),
        (json!({ "pay": hourly(), "salary_max": 1 }), vec![combined.to_owned()]),
        (json!({ "pay": hourly(), "salary_currency": "EUR" }), vec![combined.to_owned()]),
        (json!({ "pay": "18.50" }), vec!["pay must be an object".to_owned()]),
        (
            json!({ "pay": {} }),
            [
                "pay.currency can't be blank",
                "pay.period can't be blank",
                "pay.min can't be blank without max",
            ]
            .map(str::to_owned)
            .to_vec(),
        ),
        (
            json!({ "pay": { "min": "2", "max": "1.99", "currency": "EUR", "period": "day" } }),
            vec!["pay.min must be at most max".to_owned()],
        ),
        (
            json!({ "pay": { "min": "1.001", "max": "100000000.01", "currency": "EURO", "period": "minute", "x": 1 } }),
            vec![
                format!("pay.min {amount}"),
                format!("pay.max {amount}"),
                "pay.currency must be an ISO 4217 currency code, such as EUR".to_owned(),
                "pay.period must be one of hour, day, week, month, year".to_owned(),
            ],
        ),
        (
            json!({ "pay": { "min": 18.5, "max": "1", "currency": "EUR", "period": "day" } }),
            vec!["pay.min must be a string, such as \"18.50\"".to_owned()],
        ),
    ] {
        let refused = api.patch(&path, change.clone()).await.expect(422);
        assert_eq!(refused.messages()[..messages.len()], messages, "{change}");
        let mut body = change;
        body["title"] = "x".into();
        let refused = api.post("/api/v1/roles", body).await.expect(422);
        assert_eq!(refused.messages()[..messages.len()], messages);
    }
    let currency = api.patch(&path, json!({ "salary_currency": "USD" })).await.expect(422);
    let message = "salary_currency can't be changed while the pay is not annual; set pay instead";
    assert_eq!(currency.messages(), [message]);
    for amount in ["-1", "1e3", "01", "1,000", "1.", ".5", "NaN"] {
        let change = json!({ "pay": pay(Some(amount), None, "EUR", "day") });
        api.patch(&path, change).await.expect(422);
    }
    let longest = pay(Some("0"), Some("100000000"), "EUR", "day");
    assert_eq!(shown(&api.get(&path).await.expect(200).body), before);
    let changed = api.patch(&path, json!({ "pay": longest })).await.expect(200);
    assert_eq!(changed.body["pay"], longest);
}

#[tokio::test]
async fn a_change_of_pay_is_an_event_and_names_what_it_changes() {
    let api = TestApi::new().await;
    let (path, _) = role(&api, json!({})).await;
    for change in [
        json!({ "salary_min": 5 }),
        json!({ "salary_currency": "USD" }),
        json!({ "pay": hourly() }),
        json!({ "pay": hourly() }),
        json!({ "pay": pay(Some("18.50"), Some("22"), "EUR", "day") }),
    ] {
        api.patch(&path, change).await.expect(200);
    }
    api.run_feed().await;
    let events = api.get("/api/v1/events?type=role.updated").await.expect(200).body;
    let changed: Vec<_> =
        events["data"].as_array().unwrap().iter().map(|event| event["changed"].clone()).collect();
    assert_eq!(
        changed,
        [
            json!(["salary_min", "pay"]),
            json!(["salary_currency"]),
            json!(["salary_min", "salary_currency", "pay"]),
            json!(["pay"]),
        ]
    );
}

#[tokio::test]
async fn every_public_format_has_the_pay_with_its_period() {
    let api = TestApi::new().await;
    let cook = json!({ "title": "Cook", "description": "d", "country": "DE", "pay": hourly() });
    let cook = Vacancy::open(&api, cook).await;
    let page = read(&api, &cook.path()).await.expect(200);
    let words = "€18.50 to €22.00 an hour";
    assert!(facts(&page).contains(&("Pay".to_owned(), words.to_owned())), "{:?}", facts(&page));
    let markup = json_ld(&page).unwrap();
    assert_eq!(markup["salaryCurrency"], "EUR");
    let value = json!({ "@type": "QuantitativeValue", "unitText": "HOUR", "minValue": 18.5, "maxValue": 22 });
    assert_eq!(markup["baseSalary"]["value"], value);
    let list = read(&api, "/careers/acme").await.expect(200);
    assert!(cards(&list)[0].marks.contains(&words.to_owned()));
    let job = async || read(&api, "/careers/acme/jobs.json").await.expect(200).body["jobs"][0].clone();
    assert_eq!((&job().await["pay"], &job().await["compensation"]), (&hourly(), &Value::Null));
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let x =
        async || plain(&ada.get(&format!("/dashboard/postings/{}/x", cook.posting)).await.expect(200).text);
    let text = x().await;
    assert!(text.contains("Pay: €18.50–€22.00 an hour.") && !text.contains("Salary:"), "{text}");
    api.patch(&cook.role_path(), json!({ "salary_max": 40_000 })).await.expect(200);
    let annual = pay(None, Some("40000"), "EUR", "year");
    assert_eq!(job().await["pay"], annual);
    let compensation = json!({ "min": null, "max": 40_000, "currency": "EUR", "period": "year" });
    assert_eq!(job().await["compensation"], compensation);
    assert!(x().await.contains("Salary: up to €40,000 a year."));
    let page = read(&api, &cook.path()).await.expect(200);
    assert!(facts(&page).contains(&("Salary".to_owned(), "up to €40,000 a year".to_owned())));
}

/// The chosen value of a list in a form.
fn chosen(page: &Response, name: &str) -> String {
    let list = page.text.split(&format!("<select id=\"{name}\"")).nth(1).unwrap();
    let options = list.split("</select>").next().unwrap().split("<option value=\"").skip(1);
    let mut chosen = options.filter(|option| option.split('>').next().unwrap().ends_with(" selected"));
    chosen.next().map_or_else(String::new, |option| option.split('"').next().unwrap().to_owned())
}

#[tokio::test]
async fn members_give_pay_for_any_period() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let fields = [
        ("role.title", "Cook"),
        ("role.pay.min", "18,50"),
        ("role.pay.max", "22"),
        ("role.pay.currency", "eur"),
        ("role.pay.period", "hour"),
        ("publish", "true"),
    ];
    let preview = ada.post("/dashboard/quick-post", &[&fields[..], &[("preview", "yes")]].concat()).await;
    let words = "<dt>Pay</dt><dd>€18.50 to €22.00 an hour</dd>";
    assert!(preview.expect(200).text.contains(words));
    let saved = ada.post("/dashboard/quick-post", &fields).await.expect(303);
    assert!(ada.follow(&saved).await.expect(200).text.contains(words));
    let role = async || api.get("/api/v1/roles").await.expect(200).body["data"][0].clone();
    assert_eq!(role().await["pay"], hourly());
    let path = format!("/dashboard/roles/{}/edit", role().await["id"]);
    let page = ada.get(&path).await.expect(200);
    for (name, value) in [("pay.min", "18.50"), ("pay.max", "22")] {
        assert_eq!(input(&page, name), value);
    }
    assert_eq!(chosen(&page, "pay.currency"), "EUR");
    assert!(page.text.contains("<option value=\"hour\" selected>an hour</option>"), "{}", page.text);
    let filled = |min: &str, max: &str, currency: &str, period: &str| {
        let form =
            Form::of(&page, &path).without("key").without("seen").and("pay.min", min).and("pay.max", max);
        form.and("pay.currency", currency).and("pay.period", period)
    };
    ada.submit(&path, &filled("18.50", "22", "EUR", "month")).await.expect(303);
    assert_eq!(role().await["pay"], pay(Some("18.50"), Some("22"), "EUR", "month"));
    // A period and a currency without an amount mean nothing.
    ada.submit(&path, &filled("", " ", "EUR", "month")).await.expect(303);
    assert_eq!(shown(&role().await), json!([null, null, null, null]));
    let empty = ada.get(&path).await.expect(200);
    assert!(empty.text.contains("<option value=\"year\" selected>a year</option>"), "{}", empty.text);
    for (min, max, problem) in [
        ("much", "1", "Pay from must be a number from 0 to 100,000,000, such as"),
        ("1", "1.5", "Pay to must be a number from 0 to 100,000,000, such as"),
        ("2", "1", "Pay from must be at most max."),
    ] {
        let refused = ada.submit(&path, &filled(min, max, "EUR", "day")).await.expect(422);
        assert!(refused.text.contains(problem), "{problem}: {}", refused.text);
    }
}

#[tokio::test]
async fn the_currency_of_the_country_is_proposed_and_never_taken_silently() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    for (place, currency) in [
        (("role.country", "DE"), Some("EUR")),
        (("role.country", "JP"), Some("JPY")),
        (("role.locations", "Basel; ; ; CH\nBonn; ; ; DE"), Some("CHF")),
        (("role.country", "AQ"), None),
        (("role.country", ""), None),
    ] {
        let fields = [("role.title", "Cook"), place, ("role.pay.min", "40000"), ("role.pay.period", "year")];
        let page = ada.post("/dashboard/quick-post", &fields).await.expect(422);
        assert_eq!(chosen(&page, "role.pay.currency"), currency.unwrap_or_default(), "{place:?}");
        let proposal = currency.map(|code| format!("{code} is proposed: check it, and save again."));
        assert_eq!(page.text.contains("is proposed: check it"), proposal.is_some());
        assert!(proposal.is_none_or(|proposal| page.text.contains(&proposal)), "{}", page.text);
        assert!(page.text.contains("Currency of the pay can&#39;t be blank."), "{}", page.text);
    }
    assert_eq!(api.get("/api/v1/roles").await.expect(200).body["data"], json!([]), "nothing was saved");
    let body = json!({ "title": "Cook", "country": "SE" });
    let role = api.post("/api/v1/roles", body).await.expect(201).number("/id");
    let path = format!("/dashboard/roles/{role}/edit");
    let filled = |page: &Response| {
        let form = Form::of(page, &path).and("country", "SE").and("pay.max", "30000");
        form.and("pay.currency", &chosen(page, "pay.currency")).and("pay.period", "month")
    };
    let page = ada.submit(&path, &filled(&ada.get(&path).await.expect(200))).await.expect(422);
    assert_eq!(chosen(&page, "pay.currency"), "SEK");
    ada.submit(&path, &filled(&page)).await.expect(303);
    let role = api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
    assert_eq!(role.body["pay"], pay(None, Some("30000"), "SEK", "month"));
}

#[tokio::test]
async fn assistants_give_pay_for_any_period() {
    let api = TestApi::new().await;
    let assistant = Assistant::new(&api);
    let arguments = json!({
        "title": "Cook", "pay": "18.50; 22;EUR ; hour", "salary_min": 0, "salary_max": null, "salary_currency": " ",
        "response_format": "detailed",
    });
    let draft = assistant.call("save_role", arguments).await;
    assert_eq!(draft["role"]["pay"], hourly());
    let role = async || api.get(&format!("/api/v1/roles/{}", draft["id"])).await.expect(200).body;
    let without = json!({ "role_id": draft["id"], "title": "Chef", "pay": " " });
    assistant.call("save_role", without).await;
    assert_eq!(role().await["pay"], hourly());
    for (arguments, problem) in [
        (json!({ "pay": "20" }), "pay.currency is missing"),
        (json!({ "pay": "20; ; EUR; hour; x" }), "pay.period must be one of hour, day, week, month, year"),
        (json!({ "pay": "20; ; EUR; hour", "salary_min": 1 }), "pay can't be combined"),
        (json!({ "pay": "30; 20; EUR; hour" }), "pay.min must be at most max"),
        (json!({ "pay": 20 }), "pay must be an object"),
    ] {
        let mut arguments = arguments;
        arguments["role_id"] = draft["id"].clone();
        let refused = assistant.refused("save_role", arguments).await;
        assert!(refused.contains(problem), "{refused}");
    }
    assistant.call("save_role", json!({ "role_id": draft["id"], "clear": ["pay"] })).await;
    assert_eq!(role().await["pay"], Value::Null);
    let posted = json!({ "title": "Baker", "pay": "; 4000; EUR; month", "publish": false });
    let posted = assistant.call("quick_post", posted).await;
    let role = api.get(&format!("/api/v1/roles/{}", posted["role_id"])).await.expect(200).body;
    assert_eq!(role["pay"], pay(None, Some("4000"), "EUR", "month"));
}
