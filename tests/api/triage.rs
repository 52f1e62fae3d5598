//! Triage in the dashboard: the decision at the top of a candidate's page and of a transcript, and the way from one person to
//! the next. The browser lane counts the keys, clicks and pages that it takes.

use serde_json::json;
use tests::browser::{Browser, Form, input, plain};
use tests::dashboard::owner;
use tests::{ACME, Response, TestApi};

use crate::dashboard_pages::text_of;

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

async fn post_job(api: &TestApi) -> u64 {
    let posted = json!({ "role": { "title": "Cook" } });
    api.post("/api/v1/quick_post", posted).await.expect(201).number("/role/id")
}

async fn add(api: &TestApi, name: &str, role: u64) -> u64 {
    let body = json!({ "name": name, "email": format!("{name}@example.com"), "role_id": role });
    api.post("/api/v1/candidates", body).await.expect(201).number("/id")
}

/// The address of a candidate's page that was opened from the list of a role's applicants.
fn listed(id: u64, role: u64) -> String {
    format!("/dashboard/candidates/{id}?list=role_id%3D{role}%26stage%3Dapplied")
}

/// The form with the decision.
fn decision(page: &Response, id: u64, role: u64) -> Form {
    Form::of(page, &step(id, role)).and("next", &input(page, "next"))
}

/// Where the form is sent.
fn step(id: u64, role: u64) -> String {
    listed(id, role).replace('?', "/move?")
}

async fn send(ada: &Browser<'_>, id: u64, role: u64, form: &Form) -> String {
    ada.submit(&step(id, role), form).await.expect(303).header("location").to_owned()
}

async fn application(api: &TestApi, id: u64) -> serde_json::Value {
    api.get(&format!("/api/v1/candidates/{id}")).await.expect(200).body["applications"][0].clone()
}

#[tokio::test]
async fn a_decision_opens_the_next_candidate_and_one_press_takes_it_back() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    let [second, first] = [add(&api, "ben", role).await, add(&api, "mia", role).await];
    let page = ada.get(&listed(first, role)).await.expect(200);
    let form = decision(&page, first, role);
    let advance = form.clone().and("to", "screening");
    let moved = send(&ada, first, role, &advance).await;
    assert!(moved.starts_with(&format!("{}&moved={first}", listed(second, role))), "{moved}");
    let next = ada.get(&moved).await.expect(200);
    assert!(text_of(&next).contains("mia was moved to screening."), "{}", text_of(&next));
    assert!(next.text.contains("Show the candidate") && next.text.contains("<h1 tabindex=\"-1\" autofocus>"));
    // The same form again is the same decision, and one about a stage that has passed does nothing and stays.
    assert_eq!(send(&ada, first, role, &advance).await, moved);
    let late = form.set("key", "another-key-of-a-form-22").and("to", "offer");
    let refused = format!("{}&failed=moved-meanwhile", listed(first, role));
    assert_eq!(send(&ada, first, role, &late).await, refused);
    assert_eq!(application(&api, first).await["stage"], "screening");
    let undo = Form::of(&next, &step(first, role));
    let undone = send(&ada, first, role, &undo).await;
    assert!(undone.starts_with(&format!("{}&moved=", listed(first, role))), "{undone}");
    assert_eq!(application(&api, first).await["stage"], "applied");
}

#[tokio::test]
async fn a_rejection_names_its_reason_with_the_second_press() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    let [third, second, first] =
        [add(&api, "zoe", role).await, add(&api, "ben", role).await, add(&api, "mia", role).await];
    let page = ada.get(&listed(first, role)).await.expect(200);
    let (summary, rest) =
        page.text.split_once("<details class=\"reasons\">").unwrap().1.split_once("</summary>").unwrap();
    assert!(summary.contains("aria-keyshortcuts=\"r\""), "{summary}");
    let buttons = rest.split_once("</ol>").unwrap().0;
    assert!(buttons.contains("value=\"2\" aria-keyshortcuts=\"2\">Missing skills"), "{buttons}");
    assert!(buttons.contains("value=\"\" aria-keyshortcuts=\"0\">None of the list"), "{buttons}");
    let moved = send(&ada, first, role, &decision(&page, first, role).and("rejected_for", "2")).await;
    assert!(moved.starts_with(&listed(second, role)) && moved.ends_with("done=rejected"), "{moved}");
    let rejected = application(&api, first).await;
    assert_eq!((&rejected["stage"], &rejected["rejection"]["reason_id"]), (&json!("rejected"), &json!(2)));
    // Without a reason, and without going on.
    let page = ada.get(&moved).await.expect(200);
    assert!(text_of(&page).contains("mia was rejected."), "{}", text_of(&page));
    let form = decision(&page, second, role).without("next").and("rejected_for", "");
    let moved = send(&ada, second, role, &form).await;
    assert!(moved.starts_with(&format!("{}&moved=", listed(second, role))), "{moved}");
    assert_eq!(application(&api, second).await["rejection"]["reason_id"], json!(null));
    // A reason that is not offered gets the form with all reasons, and nobody is rejected.
    let page = ada.get(&listed(third, role)).await.expect(200);
    let form = decision(&page, third, role).and("rejected_for", "9");
    let refused = ada.submit(&step(third, role), &form).await.expect(422);
    assert!(text_of(&refused).contains("Reject zoe"), "{}", text_of(&refused));
    assert_eq!(application(&api, third).await["stage"], "applied");
    // The last one in the list has nobody after it.
    assert!(!page.text.contains("name=\"next\""));
}

#[tokio::test]
async fn a_decision_leads_nowhere_else() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    for next in [
        "https://evil.example/dashboard/candidates/1?list=",
        "//evil.example",
        "/dashboard/roles/1?list=",
        "/dashboard/candidates/x?list=",
        "/dashboard/candidates/1",
        "/dashboard/candidates/1?list=stage%3Dnowhere",
        "/dashboard/candidates/../../evil?list=",
    ] {
        let id = add(&api, &format!("p{}", next.len()), role).await;
        let page = ada.get(&listed(id, role)).await.expect(200);
        let form = decision(&page, id, role).without("next").and("next", next).and("to", "offer");
        let moved = send(&ada, id, role, &form).await;
        assert!(moved.starts_with(&format!("{}&moved={id}", listed(id, role))), "{next}: {moved}");
    }
}

#[tokio::test]
async fn the_decision_is_about_the_role_of_the_list() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let (cook, waiter) = (post_job(&api).await, post_job(&api).await);
    let mia = add(&api, "mia", cook).await;
    let path = format!("/api/v1/candidates/{mia}");
    api.post(&format!("{path}/applications"), json!({ "role_id": waiter })).await.expect(201);
    let role_of = |page: &Response| -> u64 {
        let head =
            page.text.split_once("<header class=\"decision\">").unwrap().1.split_once("</header>").unwrap().0;
        head.split_once("name=\"role_id\" value=\"").unwrap().1.split_once('"').unwrap().0.parse().unwrap()
    };
    let page = format!("/dashboard/candidates/{mia}");
    assert_eq!(role_of(&ada.get(&page).await.expect(200)), waiter, "the latest one");
    assert_eq!(role_of(&ada.get(&listed(mia, cook)).await.expect(200)), cook);
    // An application that has ended is not what is decided next.
    api.post(&format!("{path}/reject"), json!({ "role_id": waiter })).await.expect(200);
    assert_eq!(role_of(&ada.get(&page).await.expect(200)), cook);
    let text = ada.get(&listed(mia, waiter)).await.expect(200);
    assert!(text_of(&text).contains("Undo this rejection") && !text.text.contains("class=\"reasons\""));
    // A closed role is not decided about.
    api.delete(&format!("/api/v1/roles/{cook}")).await.expect(200);
    let text = text_of(&ada.get(&listed(mia, cook)).await.expect(200));
    assert!(text.contains("The role is closed.") && !text.contains("Move to screening"), "{text}");
}

#[tokio::test]
async fn a_card_on_the_board_leads_to_the_next_one_and_back() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    let [second, first] = [add(&api, "ben", role).await, add(&api, "mia", role).await];
    let board = ada.get(&format!("/dashboard/roles/{role}")).await.expect(200);
    let card = board.text.split_once(&format!("id=\"card-{first}\"")).unwrap().1;
    let link = plain(card.split_once("href=\"").unwrap().1.split_once('"').unwrap().0);
    let page = ada.get(&link).await.expect(200);
    assert!(
        page.text.contains(&format!("href=\"/dashboard/roles/{role}#card-{first}\">Back to the board</a>"))
    );
    let query = link.split_once('?').unwrap().1;
    let path = format!("/dashboard/candidates/{first}/move?{query}");
    let form = Form::of(&page, &path).and("next", &input(&page, "next")).and("to", "interview");
    let sent = ada.submit(&path, &form).await.expect(303);
    let next = format!("/dashboard/candidates/{second}?{query}&moved=");
    assert!(sent.header("location").starts_with(&next), "{}", sent.header("location"));
}

#[tokio::test]
async fn keys_can_be_turned_off() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    let id = add(&api, "mia", role).await;
    let account = "/dashboard/settings/account";
    let pages = [listed(id, role), format!("/dashboard/candidates?role_id={role}")];
    for (word, are_on) in [("off", false), ("off", false), ("on", true)] {
        let sent = ada.post(&format!("{account}/shortcuts"), &[("shortcuts", word)]).await.expect(303);
        assert_eq!(sent.header("location"), format!("{account}?done=shortcuts-saved"));
        for page in &pages {
            let page = ada.get(page).await.expect(200);
            assert_eq!(page.text.contains("aria-keyshortcuts"), are_on, "{word}");
            assert_eq!(page.text.contains("<dialog"), are_on, "{word}");
        }
    }
    for word in ["", "On", "yes"] {
        ada.post(&format!("{account}/shortcuts"), &[("shortcuts", word)]).await.expect(400);
    }
}

#[tokio::test]
async fn an_invitation_says_whether_the_candidate_has_agreed() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let role = post_job(&api).await;
    let id = add(&api, "mia", role).await;
    let path = format!("/dashboard/candidates/{id}/invite");
    let consents = format!("/api/v1/candidates/{id}/consents");
    let agree = |purpose: &str| {
        json!({
            "purpose": purpose,
            "granted": true,
            "wording": "I agree.",
            "obtained_at": "2026-11-18T09:00:00Z",
        })
    };
    // One of the two consents is not enough.
    for (purpose, has_agreed) in [("", false), ("voice_screen", false), ("recording", true)] {
        if !purpose.is_empty() {
            api.post(&consents, agree(purpose)).await.expect(201);
        }
        let page = ada.get(&path).await.expect(200);
        let text = text_of(&page);
        assert_eq!(
            text.contains("mia agreed to the call and its transcript on 18 Nov 2026"),
            has_agreed,
            "{text}"
        );
        assert_eq!(page.text.contains("name=\"consent.wording\""), !has_agreed);
    }
}
