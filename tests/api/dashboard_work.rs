//! Work in the dashboard: everything that hiring teams do there, without a single API request.

use serde_json::{Value, json};
use shared::model::{MemberRole, Mode};
use tests::browser::{Browser, Form, input};
use tests::dashboard::{add_member, owner};
use tests::{ACME, GLOBEX, Response, TestApi};

/// Submits a form of a member, and returns the path of the page that it redirects to.
async fn submit(browser: &Browser<'_>, path: &str, fields: &[(&str, &str)]) -> String {
    let response = browser.post(path, fields).await;
    assert_eq!(response.status, 303, "{path} {fields:?}: {}", response.text);
    response.header("location").to_owned()
}

/// The identifier in a path such as `/dashboard/roles/17?done=posted`.
fn id_in(path: &str) -> u64 {
    let digits: String =
        path.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no identifier in {path}"))
}

/// The key of the page's forms.
fn key_of(page: &Response) -> String {
    page.text.split("name=\"key\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

async fn post_job(browser: &Browser<'_>, title: &str) -> u64 {
    id_in(&submit(browser, "/dashboard/quick-post", &[("role.title", title), ("publish", "true")]).await)
}

async fn add(browser: &Browser<'_>, name: &str, role: u64) -> u64 {
    let email = format!("{}@people.example", name.to_lowercase());
    let role = role.to_string();
    let fields = [("name", name), ("email", &email), ("role_id", &role)];
    id_in(&submit(browser, "/dashboard/candidates/new", &fields).await)
}

async fn candidate(api: &TestApi, id: u64) -> Value {
    api.get(&format!("/api/v1/candidates/{id}")).await.expect(200).body
}

/// The stage of the candidate's newest application.
async fn stage(api: &TestApi, id: u64) -> String {
    candidate(api, id).await["applications"][0]["stage"].as_str().unwrap().to_owned()
}

/// A day of a hiring team, from the job to the hire and the erasure.
async fn work(api: &TestApi, ada: &Browser<'_>) {
    let role = publish_a_job(api, ada).await;
    let zoe = add_zoe(api, ada, role).await;
    invite_and_cancel(api, ada, role, zoe).await;
    hire_and_reject(api, ada, role, zoe).await;
    export_and_erase(ada, zoe).await;
}

async fn publish_a_job(api: &TestApi, ada: &Browser<'_>) -> u64 {
    let fields = [
        ("role.title", "Line Cook"),
        ("role.department", "Kitchen"),
        ("role.country", "DE"),
        ("role.pay.min", "40000"),
        ("role.pay.currency", "EUR"),
        ("role.pay.period", "year"),
        ("role.description", "Cook\r\nwell"),
        ("job_posting.requirements", ""),
        ("publish", "true"),
    ];
    let role = id_in(&submit(ada, "/dashboard/quick-post", &fields).await);
    let page = format!("/dashboard/roles/{role}");
    assert!(ada.get(&page).await.expect(200).text.contains("/careers/acme/line-cook"));
    let shown = ada.get(&format!("{page}/edit")).await.expect(200);
    assert!(shown.text.contains("Cook\nwell") && shown.text.contains("value=\"40000\""), "{}", shown.text);
    submit(
        ada,
        &format!("{page}/edit"),
        &[("title", "Sous Chef"), ("pay.min", ""), ("pay.max", ""), ("pay.currency", "EUR")],
    )
    .await;
    ada.get(&format!("{page}/posting")).await.expect(200);
    submit(ada, &format!("{page}/posting"), &[("title", "Chef"), ("requirements", "Knives")]).await;
    for action in ["pause", "resume"] {
        submit(ada, &format!("{page}/status"), &[("action", action)]).await;
    }
    let asked = ada.get(&format!("{page}/close")).await.expect(200);
    let close = Form::of(&asked, &format!("{page}/status")).and("action", "close");
    ada.submit(&format!("{page}/status"), &close).await.expect(303);
    submit(ada, &format!("{page}/status"), &[("action", "reopen")]).await;
    submit(ada, &format!("{page}/status"), &[("action", "publish"), ("job_posting", "true")]).await;
    let draft = submit(ada, "/dashboard/quick-post", &[("role.title", "Draft"), ("publish", "false")]).await;
    assert!(ada.get(&draft).await.expect(200).text.contains("Draft saved"), "{draft}");
    let plain = api.post("/api/v1/roles", json!({ "title": "Plain" })).await.expect(201).number("/id");
    submit(ada, &format!("/dashboard/roles/{plain}/posting"), &[("title", "Public")]).await;

    let detail = api.get(&format!("/api/v1/roles/{role}")).await.expect(200);
    let posting = detail.number("/job_posting_id");
    assert_eq!((&detail.body["title"], &detail.body["salary_min"]), (&json!("Sous Chef"), &Value::Null));
    let x = format!("/dashboard/postings/{posting}/x");
    assert!(ada.get(&x).await.expect(200).text.contains("Chef"));
    submit(ada, &x, &[("style", "urgent")]).await;
    assert!(ada.get(&x).await.expect(200).text.contains("Open on X"));
    for action in ["unpublish", "publish"] {
        submit(ada, &format!("/dashboard/postings/{posting}/status"), &[("action", action)]).await;
    }
    role
}

async fn add_zoe(api: &TestApi, ada: &Browser<'_>, role: u64) -> u64 {
    let zoe_role = role.to_string();
    ada.get(&format!("/dashboard/candidates/new?role_id={role}")).await.expect(200);
    let fields = [
        ("name", "Zoë Müller"),
        ("email", "zoe@people.example"),
        ("phone", "+49 30 90182009"),
        ("source", "fair"),
        ("tags", "senior, , Referral"),
        ("external_id", "z-1"),
        ("role_id", &*zoe_role),
        ("key", "a-random-key-of-a-form"),
    ];
    let zoe = id_in(&submit(ada, "/dashboard/candidates/new", &fields).await);
    let path = format!("/dashboard/candidates/{zoe}");
    assert_eq!(candidate(api, zoe).await["tags"], json!(["senior", "Referral"]));
    let edit = ada.get(&format!("{path}/edit")).await.expect(200);
    assert!(edit.text.contains("senior, Referral"), "{}", edit.text);
    let fields = [
        ("name", "Zoë Maier"),
        ("email", "zoe@new.example"),
        ("phone", "+49 30 90182009"),
        ("tags", "senior"),
    ];
    submit(ada, &format!("{path}/edit"), &fields).await;
    find_everywhere(ada, zoe).await;

    submit(ada, &format!("{path}/notes"), &[("text", "A good\r\nfirst call")]).await;
    let shown = ada.get(&path).await.expect(200);
    assert!(shown.text.contains("A good\nfirst call"), "{}", shown.text);
    let note = api.get(&format!("/api/v1/candidates/{zoe}/notes")).await.expect(200).number("/data/0/id");
    submit(ada, &format!("{path}/notes/{note}/delete"), &[]).await;
    zoe
}

async fn invite_and_cancel(api: &TestApi, ada: &Browser<'_>, role: u64, zoe: u64) {
    let (number, path) = (role.to_string(), format!("/dashboard/candidates/{zoe}"));
    ada.get(&format!("{path}/invite")).await.expect(200);
    let invitation = [
        ("role_id", &*number),
        ("scheduled_at", "2026-12-01T09:30"),
        ("consent.obtained_at", "2026-11-20T09:00"),
        ("consent.wording", "I agree to the call and its recording."),
    ];
    submit(ada, &format!("{path}/invite"), &invitation).await;
    let screened = candidate(api, zoe).await;
    assert_eq!(screened["voice_screens"][0]["scheduled_at"], "2026-12-01T09:30:00.000Z");
    assert_eq!(screened["consents"].as_array().unwrap().len(), 2);
    let screen = screened["voice_screens"][0]["id"].as_u64().unwrap();
    ada.get(&format!("/dashboard/screens/{screen}")).await.expect(200);
    submit(ada, &format!("/dashboard/screens/{screen}/cancel"), &[("candidate", &zoe.to_string())]).await;
}

async fn hire_and_reject(api: &TestApi, ada: &Browser<'_>, role: u64, zoe: u64) {
    let (number, path, page) =
        (role.to_string(), format!("/dashboard/candidates/{zoe}"), format!("/dashboard/roles/{role}"));
    let board = format!("{page}/move");
    submit(ada, &board, &[("move", &format!("{zoe}.screening.offer"))]).await;
    let step = submit(ada, &board, &[("move", &format!("{zoe}.offer.hired"))]).await;
    assert!(ada.get(&step).await.expect(200).text.contains("First day of work"));
    let hire = [
        ("to", "hired"),
        ("seen", "offer"),
        ("role_id", &*number),
        ("from", "board"),
        ("start_date", "2027-01-04"),
    ];
    let hired = submit(ada, &format!("{path}/move"), &hire).await;
    assert!(hired.starts_with(&page), "{hired}");
    let shown = ada.get(&hired).await.expect(200);
    assert!(shown.text.contains("was hired.") && shown.text.contains(">Undo<"), "{}", shown.text);
    // A link from elsewhere offers nothing.
    let forged = ada.get(&hired.replace("moved_to=hired", "moved_to=offer")).await.expect(200);
    assert!(forged.text.contains("Candidate hired.") && !forged.text.contains(">Undo<"), "{}", forged.text);
    assert_eq!(candidate(api, zoe).await["applications"][0]["start_date"], "2027-01-04");
    submit(ada, &format!("{path}/move"), &[("to", "offer"), ("seen", "hired"), ("role_id", &number)]).await;
    let reject = [
        ("to", "rejected"),
        ("seen", "offer"),
        ("role_id", &*number),
        ("reason", "Too far"),
        ("notes", "Kind"),
    ];
    submit(ada, &format!("{path}/move"), &reject).await;
    assert!(ada.get(&path).await.expect(200).text.contains("Too far"));
    submit(ada, &format!("{path}/move"), &[("to", "applied"), ("seen", "rejected"), ("role_id", &number)])
        .await;
    assert_eq!(stage(api, zoe).await, "offer");

    let other = post_job(ada, "Other").await.to_string();
    ada.get(&format!("{path}/applications")).await.expect(200);
    submit(ada, &format!("{path}/applications"), &[("role_id", &other)]).await;
}

async fn export_and_erase(ada: &Browser<'_>, zoe: u64) {
    let path = format!("/dashboard/candidates/{zoe}");
    // A link cannot start a download.
    ada.get(&format!("{path}/export")).await.expect(405);
    let export = ada.post(&format!("{path}/export"), &[]).await.expect(200);
    assert_eq!(
        export.header("content-disposition"),
        format!("attachment; filename=\"candidate-{zoe}.json\"")
    );
    assert_eq!(export.body["email"], "zoe@new.example");
    ada.get(&format!("{path}/legal-hold")).await.expect(200);
    submit(ada, &format!("{path}/legal-hold"), &[("reason", "A dispute")]).await;
    let refused = submit(ada, &format!("{path}/erase"), &[]).await;
    assert!(
        ada.get(&refused)
            .await
            .expect(200)
            .text
            .contains("A legal hold on this candidate forbids the erasure.")
    );
    let lift = ada.get(&format!("{path}/legal-hold")).await.expect(200);
    let lift = Form::of(&lift, &format!("{path}/legal-hold"));
    ada.submit(&format!("{path}/legal-hold"), &lift).await.expect(303);
    assert!(ada.get(&format!("{path}/erase")).await.expect(200).text.contains("This cannot be undone."));
    submit(ada, &format!("{path}/erase"), &[]).await;
    ada.get(&path).await.expect(410);
}

/// Finds the candidate by everything that the search box accepts.
async fn find_everywhere(ada: &Browser<'_>, zoe: u64) {
    let link = format!("/dashboard/candidates/{zoe}?list=");
    for (query, is_found) in [
        ("search=zoe%40new.example", true),
        ("search=ZOE%40NEW.example", true),
        ("search=%2B49+30+90182009", true),
        ("search=030%2090182009", true),
        ("search=182009", true),
        ("search=maier", true),
        ("search=zo%C3%AB+mai", true),
        ("by=tag&search=SENIOR", true),
        ("by=source&search=Fair", true),
        ("by=tag&search=zoe", false),
        ("search=nobody%40people.example", false),
        ("search=%3F%3F", false),
    ] {
        let page = ada.get(&format!("/dashboard/candidates?{query}")).await.expect(200);
        assert_eq!(page.text.contains(&link), is_found, "{query}");
    }
    ada.get("/dashboard/candidates?search=zoe&before=forged").await.expect(400);
}

#[tokio::test]
async fn a_day_of_work_needs_no_api_request_and_no_quota() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    let role = post_job(&ada, "Cook").await;
    for number in 0..105 {
        let fields = [("action", if number % 2 == 0 { "pause" } else { "resume" })];
        submit(&ada, &format!("/dashboard/roles/{role}/status"), &fields).await;
    }
    let usage = api
        .request(http::Method::GET, "/api/v1/organization")
        .key(GLOBEX, Mode::Live)
        .send()
        .await
        .expect(200);
    assert_eq!(usage.header("ratelimit"), "\"daily\";r=99;t=52200");
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    work(&api, &ada).await;
}

#[tokio::test]
async fn members_do_all_hiring_but_owners_alone_handle_personal_data() {
    let api = TestApi::new().await;
    let member = add_member(&api, ACME, "Bob", MemberRole::Member).await;
    let bob = Browser::with_session(&api, ACME, &member).await;
    let role = post_job(&bob, "Cook").await;
    let zoe = add(&bob, "Zoe", role).await;
    let history = candidate(&api, zoe).await;
    assert_eq!(
        history["touchpoints"][0]["actor"],
        json!({ "type": "member", "id": member.id.get(), "name": "Bob" })
    );
    for (path, fields) in [
        ("erase", vec![]),
        ("legal-hold", vec![("reason", "x")]),
        ("legal-hold", vec![("action", "lift")]),
        ("export", vec![]),
    ] {
        bob.post(&format!("/dashboard/candidates/{zoe}/{path}"), &fields).await.expect(403);
    }
    assert!(
        !bob.get(&format!("/dashboard/candidates/{zoe}")).await.expect(200).text.contains("Personal data")
    );
}

#[tokio::test]
async fn the_same_form_again_shows_the_first_result() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let key = key_of(&ada.get("/dashboard/quick-post").await.expect(200));
    assert_ne!(key, key_of(&ada.get("/dashboard/quick-post").await.expect(200)));
    let form = |title| {
        [("role.title", title), ("publish", "true"), ("key", &*key)]
            .map(|(name, value): (&str, &str)| (name.to_owned(), value.to_owned()))
    };
    let send = async |title: &'static str| {
        let form = form(title);
        let fields: Vec<_> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        submit(&ada, "/dashboard/quick-post", &fields).await
    };
    let first = send("Cook").await;
    assert_eq!(send("Cook").await, first);
    // A browser can go back to a form and send it with other values.
    assert_ne!(send("Chef").await, first);
    // Two at the same time.
    let (one, two) = tokio::join!(send("Baker"), send("Baker"));
    assert_eq!(one, two);
    let roles = api.get("/api/v1/roles").await.expect(200);
    assert_eq!(roles.body["data"].as_array().unwrap().len(), 3);
    // Another member's key is another one.
    let bob = add_member(&api, ACME, "Bob", MemberRole::Member).await;
    let bob = Browser::with_session(&api, ACME, &bob).await;
    let fields = [("role.title", "Cook"), ("publish", "true"), ("key", &*key)];
    assert_ne!(submit(&bob, "/dashboard/quick-post", &fields).await, first);

    // A repeated move is not a move from another stage.
    let role = id_in(&first);
    let zoe = add(&ada, "Zoe", role).await;
    let (id, path) = (role.to_string(), format!("/dashboard/candidates/{zoe}/move"));
    let advance =
        [("to", "offer"), ("seen", "applied"), ("role_id", &*id), ("key", "a-random-key-of-a-form")];
    let moved = submit(&ada, &path, &advance).await;
    assert!(moved.contains("done=moved"), "{moved}");
    assert_eq!(submit(&ada, &path, &advance).await, moved);
    assert_eq!(stage(&api, zoe).await, "offer");
}

#[tokio::test]
async fn a_stale_form_keeps_what_was_typed_and_shows_both_versions() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let role = post_job(&ada, "Cook").await;
    let zoe = add(&ada, "Zoe", role).await;
    for (path, resource, body, (typed, other)) in [
        (
            format!("roles/{role}/edit"),
            format!("roles/{role}"),
            json!({ "title": "Theirs" }),
            ("title", "department"),
        ),
        (
            format!("candidates/{zoe}/edit"),
            format!("candidates/{zoe}"),
            json!({ "name": "Theirs" }),
            ("name", "source"),
        ),
    ] {
        let path = format!("/dashboard/{path}");
        let page = ada.get(&path).await.expect(200);
        let seen = tests::browser::plain(
            page.text.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap(),
        );
        let request = api.request(http::Method::PATCH, &format!("/api/v1/{resource}"));
        request.json(&body).send().await.expect(200);
        let stale = ada.post(&path, &[("seen", &seen), (typed, "Mine"), (other, "")]).await;
        assert_eq!(stale.status, 412, "{}", stale.text);
        for part in ["value=\"Mine\"", "Current version:", "Theirs", "Somebody changed this in the meantime"]
        {
            assert!(stale.text.contains(part), "{path} {part}: {}", stale.text);
        }
        let now = tests::browser::plain(
            stale.text.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap(),
        );
        submit(&ada, &path, &[("seen", &now), (typed, "Mine"), (other, "")]).await;
    }

    // A rejection of somebody who was moved in the meantime.
    let (id, path) = (role.to_string(), format!("/dashboard/candidates/{zoe}/move"));
    let reject = |seen| [("to", "rejected"), ("seen", seen), ("role_id", &*id), ("reason", "Too far")];
    let advance = json!({ "stage": "interview", "role_id": role });
    api.post(&format!("/api/v1/candidates/{zoe}/advance"), advance).await.expect(200);
    let stale = ada.post(&path, &reject("applied")).await;
    assert_eq!(stale.status, 422, "{}", stale.text);
    for part in ["from applied to interview", "Too far", "value=\"interview\""] {
        assert!(stale.text.contains(part), "{part}: {}", stale.text);
    }
    assert_eq!(stage(&api, zoe).await, "interview");
    submit(&ada, &path, &reject("interview")).await;
    assert_eq!(stage(&api, zoe).await, "rejected");
    let board = format!("/dashboard/roles/{role}/move");
    let refused = submit(&ada, &board, &[("move", &format!("{zoe}.interview.offer"))]).await;
    assert!(refused.ends_with("?failed=moved-meanwhile"), "{refused}");
}

#[tokio::test]
async fn invalid_forms_say_what_is_wrong_and_keep_everything() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let fields = [
        ("role.title", " "),
        ("role.pay.min", "much"),
        ("role.pay.max", "050000"),
        ("role.location", "Ulm"),
        ("publish", "true"),
    ];
    let page = ada.post("/dashboard/quick-post", &fields).await.expect(422);
    for part in [
        "Title can&#39;t be blank.",
        "Pay from must be a number from 0 to 100,000,000, such as 60000, 60,000, 80k or 18.50",
        "Pay to must be a number from 0 to 100,000,000, such as 60000, 60,000, 80k or 18.50",
        "value=\"Ulm\"",
        "href=\"#role.title\"",
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    let role = post_job(&ada, "Cook").await;
    let zoe = add(&ada, "Zoe", role).await;
    let page = ada
        .post("/dashboard/candidates/new", &[("name", "Zoe"), ("email", "ZOE@people.example")])
        .await
        .expect(422);
    assert!(page.text.contains(&format!("href=\"/dashboard/candidates/{zoe}\"")), "{}", page.text);
    for fields in
        [vec![], vec![("move", "x")], vec![("move", "1.applied")], vec![("move", "1.applied.nowhere")]]
    {
        ada.post(&format!("/dashboard/roles/{role}/move"), &fields).await.expect(400);
    }
    ada.post(&format!("/dashboard/roles/{role}/status"), &[("action", "explode")]).await.expect(400);
    let refused = submit(&ada, &format!("/dashboard/roles/{role}/status"), &[("action", "resume")]).await;
    assert!(ada.get(&refused).await.expect(200).text.contains("somebody changed the status"), "{refused}");
    let page = ada.post(&format!("/dashboard/candidates/{zoe}/notes"), &[("text", "")]).await.expect(422);
    assert!(page.text.contains("Note can&#39;t be blank."), "{}", page.text);
    let page = ada
        .post(&format!("/dashboard/candidates/{zoe}/invite"), &[("scheduled_at", "2020-01-01T09:00")])
        .await;
    assert!(page.status == 422 && page.text.contains("value=\"2020-01-01T09:00\""), "{}", page.text);
}

#[tokio::test]
async fn several_candidates_move_one_by_one_and_a_repetition_finishes_the_rest() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let role = post_job(&ada, "Cook").await;
    let mut people = Vec::new();
    for name in ["Ann", "Bo", "Cy", "Di"] {
        people.push(add(&ada, name, role).await);
    }
    let list = ada.get(&format!("/dashboard/candidates?role_id={role}&all=yes")).await.expect(200);
    assert_eq!(list.text.matches(" checked").count(), 4);
    let bulk = format!("/dashboard/candidates/bulk?list=role_id%3D{role}");
    let chosen: Vec<_> = people.iter().map(|id| format!("id={id}")).collect();
    let review = ada.get(&format!("{bulk}&to=rejected&{}", chosen.join("&"))).await.expect(200);
    let key = key_of(&review);
    let values: Vec<_> = people.iter().map(|id| format!("{id}.applied")).collect();
    let mut fields = vec![("to", "rejected"), ("reason", "Filled"), ("key", &*key)];
    fields.extend(values.iter().map(|value| ("candidate", value.as_str())));
    // Bo moves before the form is sent.
    let advance = json!({ "stage": "interview", "role_id": role });
    api.post(&format!("/api/v1/candidates/{}/advance", people[1]), advance).await.expect(200);
    let done = ada.post(&bulk, &fields).await.expect(200);
    assert!(done.text.contains("3 of 4 candidates rejected."), "{}", done.text);
    assert!(done.text.contains("Somebody moved this candidate in the meantime."), "{}", done.text);
    let stages = async || {
        let mut stages = Vec::new();
        for id in &people {
            stages.push(stage(&api, *id).await);
        }
        stages
    };
    assert_eq!(stages().await, ["rejected", "interview", "rejected", "rejected"]);
    // Bo is back, and the same form again moves only Bo.
    let back = json!({ "stage": "applied", "role_id": role });
    api.post(&format!("/api/v1/candidates/{}/advance", people[1]), back).await.expect(200);
    let again = ada.post(&bulk, &fields).await.expect(303);
    assert!(again.header("location").ends_with("done=bulk-done"), "{}", again.header("location"));
    assert_eq!(stages().await, ["rejected"; 4]);
    let rejections = candidate(&api, people[0]).await["touchpoints"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|touchpoint| touchpoint["kind"] == "rejected")
        .count();
    assert_eq!(rejections, 1);
    // Nobody of another organization, and nobody without an application for the role.
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    grace.get(&format!("{bulk}&to=rejected&{}", chosen.join("&"))).await.expect(404);
    let empty = ada.get(&format!("{bulk}&to=rejected&id=17")).await.expect(303);
    assert!(empty.header("location").ends_with("failed=nobody-selected"));
    ada.get(&format!("{bulk}&to=hired&id={}", people[0])).await.expect(404);
}

#[tokio::test]
async fn a_board_shows_the_newest_of_each_stage_with_counts_and_scores() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let role = post_job(&ada, "Cook").await;
    for number in 0..27 {
        add(&ada, &format!("Person{number}"), role).await;
    }
    let page = ada.get(&format!("/dashboard/roles/{role}")).await.expect(200);
    assert_eq!(page.text.matches("data-card=").count(), 25);
    assert!(page.text.contains("25 of 27"), "{}", page.text);
    assert!(page.header("content-security-policy").contains("script-src 'self'"));
    assert!(
        !ada.get("/dashboard/roles")
            .await
            .expect(200)
            .header("content-security-policy")
            .contains("script-src")
    );
    for column in ["applied", "screening", "interview", "offer", "hired", "rejected"] {
        assert_eq!(page.text.matches(&format!("data-stage=\"{column}\"")).count(), 1, "{column}");
    }
    let overview = ada.get("/dashboard").await.expect(200);
    assert_eq!(overview.text.matches("data-label=\"Applied\">27</td>").count(), 1, "{}", overview.text);
    assert_eq!(overview.text.matches("<strong>27</strong>").count(), 2, "to look at, and new people");
    let zoe = add(&ada, "Zoe", role).await;
    let number = role.to_string();
    submit(&ada, &format!("/dashboard/candidates/{zoe}/invite"), &[("role_id", &number)]).await;
    for time in ["09:31", "09:40", "09:50"] {
        api.clock.set(&format!("2026-11-20T{time}:00Z"));
        api.run_tasks().await;
    }
    let screen = candidate(&api, zoe).await["voice_screens"][0].clone();
    assert_eq!(screen["status"], "completed", "{screen}");
    let score = screen["overall_score"].as_u64().or(screen["scores"]["overall"].as_u64()).unwrap();
    let page = ada.get(&format!("/dashboard/roles/{role}")).await.expect(200);
    assert!(page.text.contains(&format!(">{score}<span class=\"hidden\"> points")), "{score}: {}", page.text);
    let shown = ada.get(&format!("/dashboard/screens/{}", screen["id"])).await.expect(200);
    assert!(
        shown.text.contains("Interviewer, ") && shown.text.contains("<dt>Communication</dt>"),
        "{}",
        shown.text
    );
}

/// The numbers of the overview: applications to look at, screened ones to decide on, and open offers.
async fn waiting(browser: &Browser<'_>) -> [u64; 3] {
    let page = browser.get("/dashboard").await.expect(200);
    ["Applications to look at", "Screened, to decide on", "Offers open"].map(|name| {
        let (_, rest) = page.text.split_once(&format!("<span>{name}</span> <strong>")).unwrap();
        rest.split_once('<').unwrap().0.parse().unwrap()
    })
}

#[tokio::test]
async fn the_overview_counts_what_waits_for_the_team() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let role = post_job(&ada, "Cook").await;
    let other = post_job(&ada, "Baker").await;
    assert_eq!(waiting(&ada).await, [0, 0, 0]);
    let zoe = add(&ada, "Zoe", role).await;
    let ben = add(&ada, "Ben", role).await;
    add(&ada, "Cleo", other).await;
    assert_eq!(waiting(&ada).await, [3, 0, 0]);

    let step = async |id: u64, action: &str, body: Value| {
        api.post(&format!("/api/v1/candidates/{id}/{action}"), body).await.expect(200);
    };
    step(zoe, "advance", json!({ "stage": "screening" })).await;
    let number = role.to_string();
    submit(&ada, &format!("/dashboard/candidates/{zoe}/invite"), &[("role_id", &number)]).await;
    assert_eq!(waiting(&ada).await, [2, 0, 0], "the call has not ended");
    for time in ["09:31", "09:40", "09:50"] {
        api.clock.set(&format!("2026-11-20T{time}:00Z"));
        api.run_tasks().await;
    }
    assert_eq!(waiting(&ada).await, [2, 1, 0]);
    step(zoe, "advance", json!({ "stage": "offer" })).await;
    assert_eq!(waiting(&ada).await, [2, 0, 1]);
    step(zoe, "advance", json!({ "stage": "screening" })).await;
    assert_eq!(waiting(&ada).await, [2, 0, 0], "the decision was made");
    step(ben, "reject", json!({})).await;
    assert_eq!(waiting(&ada).await, [1, 0, 0]);
    step(ben, "unreject", json!({})).await;
    assert_eq!(waiting(&ada).await, [2, 0, 0]);

    api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
    api.run_tasks().await;
    assert_eq!(waiting(&ada).await, [1, 0, 0], "nothing waits in a closed role");
    api.post(&format!("/api/v1/roles/{role}/reopen"), json!({})).await.expect(200);
    api.run_tasks().await;
    assert_eq!(waiting(&ada).await, [2, 0, 0]);
    api.post(&format!("/api/v1/candidates/{ben}/erase"), json!({ "reason": "request" })).await.expect(202);
    api.run_tasks().await;
    assert_eq!(waiting(&ada).await, [1, 0, 0]);

    let page = ada.get("/dashboard").await.expect(200);
    assert!(page.text.contains("Last 12 weeks: <strong>3</strong>"), "{}", page.text);
    assert!(page.text.contains("<title>16 Nov 2026: 3</title>"), "{}", page.text);
    assert!(page.text.contains(">none given</span>"), "{}", page.text);
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    assert_eq!(waiting(&grace).await, [0, 0, 0]);
}

#[tokio::test]
async fn the_overview_shows_twenty_sources_and_counts_the_others() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    for number in 0..23 {
        let source = if number < 2 { ["Fair", "fair"][number].to_owned() } else { format!("s{number:02}") };
        let body = json!({ "name": "A", "email": format!("a{number}@example.com"), "source": source });
        api.post("/api/v1/candidates", body).await.expect(201);
    }
    let page = ada.get("/dashboard").await.expect(200);
    let names: Vec<_> =
        page.text.split("<bdi>").skip(1).map(|rest| rest.split_once('<').unwrap().0).collect();
    assert_eq!((names.len(), names[0]), (20, "Fair"), "{names:?}");
    let (_, others) = page.text.split_once("other</span></th><td class=\"number\">").unwrap();
    assert!(others.starts_with("2<"), "{others}");
}

#[tokio::test]
async fn the_overview_warns_when_the_quota_is_nearly_used_up() {
    let api = TestApi::new().await;
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    for (requests, warning) in [(79, None), (1, Some("80% of today")), (25, Some("100% of today"))] {
        for _ in 0..requests {
            api.request(http::Method::GET, "/api/v1/organization").key(GLOBEX, Mode::Live).send().await;
        }
        let page = grace.get("/dashboard").await.expect(200);
        assert_eq!(page.text.contains("of today's requests are used"), warning.is_some(), "{}", page.text);
        assert!(warning.is_none_or(|warning| page.text.contains(warning)), "{}", page.text);
    }
}

#[tokio::test]
async fn the_copy_of_a_role_has_all_but_what_only_one_role_can_have() {
    let api = TestApi::new().await;
    let ada = Browser::with_session(&api, ACME, &owner(&api, ACME).await).await;
    let body = json!({
        "role": {
            "title": "Cook", "department": "Kitchen", "description": "Soup", "external_id": "R-7", "closes_on": "2026-12-31",
            "locations": [{ "city": "Oslo", "country": "NO" }, { "country": "DE" }], "employment_type": "contract",
            "pay": { "min": "18.50", "currency": "EUR", "period": "hour" }, "remote_policy": "hybrid",
        },
        "job_posting": {
            "public_description": "Soup & bread", "requirements": "Knives",
            "questions": [
                { "label": "Which soup?", "kind": "multiple_choice", "required": true, "options": ["Leek, cold", "Pea"] },
                { "label": "Since when?", "kind": "date", "help": "A day" },
            ],
        },
    });
    let posted = api.post("/api/v1/quick_post", body).await.expect(201);
    let role = posted.number("/role/id");
    let page = ada.get(&format!("/dashboard/roles/{role}")).await.expect(200);
    let path = format!("/dashboard/quick-post?copy={role}");
    assert!(page.text.contains(&format!("href=\"{path}\"")), "{}", page.text);
    let form = ada.get(&path).await.expect(200);
    let value = |name: &str| input(&form, &format!("role.{name}"));
    let values = ["title", "department", "pay.min", "external_id", "closes_on"].map(value);
    assert_eq!(values, ["Cook", "Kitchen", "18.50", "", ""]);
    for text in [
        ">\nOslo; ; ; Norway\n; ; ; Germany</textarea>",
        ">\nSoup &amp; bread</textarea>",
        ">\nKnives</textarea>",
    ] {
        assert!(form.text.replace("&#38;", "&amp;").contains(text), "{text} in {}", form.text);
    }
    for choice in ["contract", "hybrid", "hour", "EUR"] {
        assert!(form.text.contains(&format!("<option value=\"{choice}\" selected>")), "{choice}");
    }
    // The questions come along, also after a mistake.
    let send = Form::of(&form, "/dashboard/quick-post");
    let wrong = send.clone().set("role.title", "").set("publish", "true");
    let again = ada.submit("/dashboard/quick-post", &wrong).await.expect(422);
    let right = Form::of(&again, "/dashboard/quick-post").set("role.title", "Copy").set("publish", "false");
    let saved = ada.submit("/dashboard/quick-post", &right).await.expect(303);
    let copy = api.get(&format!("/api/v1/roles/{}", id_in(saved.header("location")))).await.expect(200);
    let copy = api.get(&format!("/api/v1/job_postings/{}", copy.number("/job_posting_id"))).await.expect(200);
    let asked = |posting: &Value| {
        let mut questions = posting["questions"].clone();
        questions.as_array_mut().unwrap().iter_mut().for_each(|question| question["id"] = Value::Null);
        questions
    };
    assert_eq!(asked(&copy.body), asked(&posted.body["job_posting"]));
    assert_ne!(copy.number("/questions/0/id"), posted.number("/job_posting/questions/0/id"));
    api.delete(&format!("/api/v1/roles/{}", copy.number("/role_id"))).await.expect(200);
    // Nothing is copied before the form is sent.
    assert_eq!(api.get("/api/v1/roles").await.expect(200).body["data"].as_array().unwrap().len(), 2);
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    grace.get(&path).await.expect(404);
    for wrong in ["0", "x", "17"] {
        ada.get(&format!("/dashboard/quick-post?copy={wrong}")).await.expect(404);
    }
}
