//! What an import warns of or refuses because a team would not want what the row says to the letter.

use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::browser::Browser;
use tests::{ACME, TestApi, tenant};

use crate::importing::{
    CANDIDATES, IMPORTS, begin, begin_with, by_email, run, settle, show, step, upload, verdicts,
};

/// Checks a spreadsheet.
async fn check(api: &TestApi, settings: Value, content: &str) -> u64 {
    let mut body = json!({ "format": "csv" });
    body.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let waiting = api.post(IMPORTS, body).await.expect(201);
    upload(&waiting, content.as_bytes()).await;
    let import = waiting.number("/id");
    step(api, import, "complete").await.expect(202);
    assert_eq!(settle(api, import).await.string("/status"), "checked");
    import
}

/// An open role.
async fn role(api: &TestApi, content: Value) -> u64 {
    let role = api.post("/api/v1/roles", content).await.expect(201).number("/id");
    api.request(Method::POST, &format!("/api/v1/roles/{role}/publish")).send().await.expect(200);
    role
}

#[tokio::test]
async fn a_number_in_a_spreadsheet_is_one_of_the_country_of_its_role() {
    let api = TestApi::new().await;
    api.change_settings(tenant(ACME, Mode::Live), ["DE", "Europe/Berlin", ""]).await;
    let place = |country: &str| json!([{ "city": "Somewhere", "country": country }]);
    let london =
        role(&api, json!({ "title": "Cook", "external_id": "uk-1", "locations": place("GB") })).await;
    role(&api, json!({ "title": "Baker", "locations": place("US") })).await;
    role(&api, json!({ "title": "Waiter" })).await;
    let rows = "Name,Email,Phone,Job\n\
        Ann,ann@doubt.example,07911 123456,cook\n\
        Bob,bob@doubt.example,(415) 555-0123,Baker\n\
        Cem,cem@doubt.example,0151 12345678,Waiter\n";
    let import = check(&api, json!({}), rows).await;
    run(&api, import).await;
    for (email, phone) in [
        ("ann@doubt.example", "+447911123456"),
        ("bob@doubt.example", "+14155550123"),
        ("cem@doubt.example", "+4915112345678"),
    ] {
        assert_eq!(by_email(&api, email).await.string("/phone"), phone);
    }
    let by_default = "Name,Email,Phone\nDan,dan@doubt.example,07911 123457\n";
    let import = check(&api, json!({ "defaults": { "role_id": london } }), by_default).await;
    run(&api, import).await;
    assert_eq!(by_email(&api, "dan@doubt.example").await.string("/phone"), "+447911123457");
    let mapping = json!({ "columns": [
        { "header": "who", "field": "name" }, { "header": "mail", "field": "email" },
        { "header": "tel", "field": "phone" }, { "header": "req", "field": "role_external_id" },
    ] });
    let by_id = "who,mail,tel,req\nEve,eve@doubt.example,07911 123458,uk-1\n";
    let import = check(&api, json!({ "mapping": mapping }), by_id).await;
    run(&api, import).await;
    assert_eq!(by_email(&api, "eve@doubt.example").await.string("/phone"), "+447911123458");
}

/// An agency may send several people with its own address. The check says so before anything is written.
#[tokio::test]
async fn rows_about_one_person_that_differ_have_warnings_before_the_run() {
    let api = TestApi::new().await;
    let rows = "Name,Email,Phone,Job,Stage\n\
        Anna,agency@doubt.example,+14155550101,Cook,Interview\n\
        Bert,agency@doubt.example,+14155550102,Cook,Rejected\n\
        anna,AGENCY@doubt.example,+14155550101,Cook,Interview\n\
        Carl,carl@doubt.example,+14155550103,Cook,Offer\n";
    let import = check(&api, json!({}), rows).await;
    let differs = "differs from that of row 1, which is about the same person";
    assert_eq!(
        verdicts(&api, import, "").await,
        [
            "1 create".to_owned(),
            format!("2 update: name {differs}; phone {differs}; applications[0] {differs}"),
            "3 update".to_owned(),
            "4 create".to_owned(),
        ]
    );
    assert_eq!(show(&api, import).await.number("/counts/warnings"), 1);
}

/// What a known person's application has come to stays, and the row says so.
#[tokio::test]
async fn an_application_that_the_person_has_stays_with_a_warning() {
    let api = TestApi::new().await;
    let role = role(&api, json!({ "title": "Cook" })).await;
    let person = json!({ "name": "Ann", "email": "ann@doubt.example", "role_id": role });
    api.post(CANDIDATES, person).await.expect(201);
    let row = |more: Value| {
        let mut application = json!({ "role": { "id": role } });
        application.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "name": "Ann", "email": "ann@doubt.example", "applications": [application] })
    };
    for (more, messages) in [
        (json!({ "status": "rejected" }), ": applications[0] differs from the candidate's, which stays"),
        (json!({ "stage": "offer" }), ": applications[0] differs from the candidate's, which stays"),
        (json!({ "stage": "applied" }), ""),
        (json!({}), ""),
    ] {
        let import = begin_with(&api, &[row(more)]).await;
        run(&api, import).await;
        assert_eq!(verdicts(&api, import, "").await, [format!("1 unchanged{messages}")]);
    }
    let stage = by_email(&api, "ann@doubt.example").await;
    assert_eq!(stage.string("/applications/0/stage"), "applied");
}

#[tokio::test]
async fn times_that_contradict_each_other_have_warnings_and_a_rejection_keeps_its_own() {
    let api = TestApi::new().await;
    let row = |email: &str, more: Value| {
        let mut row = json!({ "name": "Ann", "email": email });
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row
    };
    let rejected = |applied_at: Value| {
        let rejection = json!({ "at": "2026-05-06T00:00:00Z" });
        json!({ "applications": [
            { "role": { "title": "Cook" }, "applied_at": applied_at, "rejection": rejection },
        ] })
    };
    let rows = [
        row("one@doubt.example", rejected(Value::Null)),
        row("two@doubt.example", rejected(json!("2026-06-01T00:00:00Z"))),
        row(
            "three@doubt.example",
            json!({
                "created_at": "2026-03-01T00:00:00Z",
                "applications": [{ "role": { "title": "Cook" }, "applied_at": "2026-02-01T00:00:00Z" }],
            }),
        ),
    ];
    let import = begin_with(&api, &rows).await;
    run(&api, import).await;
    assert_eq!(
        verdicts(&api, import, "").await,
        [
            "1 create",
            "2 create: applications[0].rejection.at is before the application, whose time counts for both",
            "3 create: created_at is after the first application, whose time counts for both",
        ]
    );
    let one = by_email(&api, "one@doubt.example").await;
    assert_eq!(one.string("/applications/0/stage_changed_at"), "2026-05-06T00:00:00.000Z");
    assert_eq!(one.string("/applications/0/applied_at"), "2026-05-06T00:00:00.000Z");
    let two = by_email(&api, "two@doubt.example").await;
    assert_eq!(two.string("/applications/0/stage_changed_at"), "2026-06-01T00:00:00.000Z");
    assert_eq!(by_email(&api, "three@doubt.example").await.string("/created_at"), "2026-02-01T00:00:00.000Z");
}

#[tokio::test]
async fn a_closed_application_of_an_open_role_has_a_warning() {
    let api = TestApi::new().await;
    let role = role(&api, json!({ "title": "Cook" })).await;
    let application = json!([{ "role": { "id": role }, "status": "closed" }]);
    let row = json!({ "name": "Ann", "email": "ann@doubt.example", "applications": application });
    let import = begin_with(&api, &[row]).await;
    run(&api, import).await;
    let warning = "applications[0].status is closed, but the role is not: the application is active";
    assert_eq!(verdicts(&api, import, "").await, [format!("1 create: {warning}")]);
    let ann = by_email(&api, "ann@doubt.example").await;
    assert_eq!(ann.string("/applications/0/status"), "active");
}

/// Columns that are left out because no role is named make no row invalid.
#[tokio::test]
async fn what_is_left_out_is_not_looked_at() {
    let api = TestApi::new().await;
    let rows = "Name,Email,Applied on,Stage,Status\nAnn,ann@doubt.example,03/04/2026,Somewhere,odd\n";
    let import = check(&api, json!({}), rows).await;
    assert_eq!(verdicts(&api, import, "").await, ["1 create"]);
    let warnings = show(&api, import).await.body["warnings"].to_string();
    assert!(warnings.contains("Applied on, Stage, Status"), "{warnings}");
}

#[tokio::test]
async fn a_list_of_roles_is_no_title() {
    let api = TestApi::new().await;
    for title in ["Cook", "Baker", "VP, Sales"] {
        role(&api, json!({ "title": title })).await;
    }
    let row = |number: usize, title: &str| {
        let applications = json!([{ "role": { "title": title } }]);
        json!({ "name": "Ann", "email": format!("ann{number}@doubt.example"), "applications": applications })
    };
    let rows =
        [row(1, "baker, Cook"), row(2, "Cook;Baker"), row(3, "vp, sales"), row(4, "Cook, Something new")];
    let import = begin(&api, json!({ "format": "ndjson", "rows": rows })).await;
    settle(&api, import).await;
    let wrong = "applications[0].role.title names several roles: each takes a row of its own";
    let expected = [&format!("1 invalid: {wrong}"), &format!("2 invalid: {wrong}"), "3 create", "4 create"];
    assert_eq!(verdicts(&api, import, "").await, expected);
}

/// A header in another language has one known name, perhaps. The import fails, and says what the columns are called.
#[tokio::test]
async fn an_unknown_header_can_be_mapped() {
    let api = TestApi::new().await;
    let send = async |settings: Value, content: &str| {
        let mut body = json!({ "format": "csv" });
        body.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let waiting = api.post(IMPORTS, body).await.expect(201);
        upload(&waiting, content.as_bytes()).await;
        let import = waiting.number("/id");
        step(&api, import, "complete").await.expect(202);
        settle(&api, import).await
    };
    let rows = "Jméno;E-mail;Telefonní číslo\nJan Novák;jan@doubt.example;+420601234567\n";
    let failed = send(json!({}), rows).await;
    assert_eq!(failed.string("/status"), "failed");
    let mut mapping = failed.body["mapping"].clone();
    assert_eq!(
        mapping,
        json!({ "header_row": 1, "columns": [
            { "header": "Jméno", "field": null }, { "header": "E-mail", "field": "email" },
            { "header": "Telefonní číslo", "field": null },
        ] })
    );
    let browser = Browser::signed_in(&api, ACME).await;
    let page = browser.get(&format!("/dashboard/imports/{}", failed.number("/id"))).await.expect(200);
    assert!(page.text.contains("Jméno") && page.text.contains("Begin another import with these columns"));
    mapping["columns"][0]["field"] = json!("name");
    mapping["columns"][2]["field"] = json!("phone");
    let checked = send(json!({ "mapping": mapping }), rows).await;
    assert_eq!((checked.string("/status"), checked.number("/counts/create")), ("checked", 1));
    // What may be about a person is not kept as the name of a column.
    let failed = send(json!({}), "Jan Novák;jan@doubt.example;+420601234567\n").await;
    assert_eq!((failed.string("/status"), &failed.body["mapping"]), ("failed", &Value::Null));
}
