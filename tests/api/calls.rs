//! The limits of telephone calls: countries, types of numbers, calls a day, and suspended organizations.

use std::sync::atomic::Ordering::SeqCst;

use serde_json::json;
use shared::model::Mode;
use tests::browser::Browser;
use tests::dashboard::{add_member, owner};
use tests::fake::FakeResponse;
use tests::interceptor::Fault;
use tests::{ACME, GLOBEX, TestApi, tenant};

use crate::dashboard_pages::text_of;
use crate::vapi::{Setup, call_id};
use crate::voice_screens::Client;

const COUNTRIES: &str = "/dashboard/settings/integrations/channels/voice";
const CHANNELS: &str = "/dashboard/settings/integrations/channels";

/// A Vapi that accepts every call.
async fn setup() -> Setup {
    Setup::new(|request| FakeResponse::Json(201, json!({ "id": call_id(request) }))).await
}

/// The number of calls that were ordered.
fn ordered(setup: &Setup) -> usize {
    setup.vapi.requests().iter().filter(|request| request.method == "POST").count()
}

async fn set_phone(api: &TestApi, candidate: u64, phone: &str) {
    api.patch(&format!("/api/v1/candidates/{candidate}"), json!({ "phone": phone })).await.expect(200);
}

#[tokio::test]
async fn an_invitation_to_a_special_or_foreign_number_is_refused() {
    let setup = setup().await;
    let client = setup.client();
    let (role, candidate) = (client.role().await, client.candidate().await);
    for (phone, message) in [
        ("+18765551234", "phone must not be a number in Jamaica"),
        ("+14155552671", "phone must not be a number in United States"),
        ("+499001234567", "phone must be"),
        ("+870773111632", "phone must be a mobile, landline or internet telephone number"),
        ("+491805123456", "phone must be a mobile, landline or internet telephone number"),
        ("+1 200 555 2671", "phone must be a number that exists"),
    ] {
        set_phone(&setup.api, candidate, phone).await;
        let refused = client.invite(candidate, role).await.expect(422);
        assert!(refused.messages()[0].starts_with(message), "{phone}: {}", refused.text);
        assert_eq!(refused.messages().len(), 1);
    }
    set_phone(&setup.api, candidate, "+4915112345678").await;
    client.invite(candidate, role).await.expect(201);
    // The simulator calls nobody, so test mode has no such limits.
    let test = Client::test(&setup.api);
    let (role, candidate) = (test.role().await, test.candidate().await);
    let path = format!("/api/v1/candidates/{candidate}");
    let request = setup.api.request(http::Method::PATCH, &path).key(ACME, Mode::Test);
    request.json(&json!({ "phone": "+18765551234" })).send().await.expect(200);
    test.invite(candidate, role).await.expect(201);
}

#[tokio::test]
async fn owners_choose_the_countries_and_the_call_checks_them_again() {
    let setup = setup().await;
    let (api, client) = (&setup.api, setup.client());
    let browser = Browser::signed_in(api, ACME).await;
    let page = browser.get(CHANNELS).await.expect(200);
    assert!(page.text.contains("value=\"DE\""), "the default of the service: {}", page.text);
    browser.post(COUNTRIES, &[("countries", "us, jm")]).await.expect(303);
    let page = browser.get(&format!("{CHANNELS}?done=call-countries-changed")).await.expect(200);
    assert!(
        page.text.contains("value=\"US, JM\"") && page.text.contains("Countries saved."),
        "{}",
        page.text
    );
    for wrong in ["", "Germany", "DE, XX", "DE; AT"] {
        let page = browser.post(COUNTRIES, &[("countries", wrong)]).await.expect(422);
        assert!(text_of(&page).contains("The countries must"), "{wrong}: {}", page.text);
        assert!(page.text.contains(&format!("value=\"{wrong}\"")), "{wrong}");
    }
    let (role, candidate) = (client.role().await, client.candidate().await);
    let german = client.invite(candidate, role).await.expect(422);
    assert!(german.messages()[0].contains("only to US, JM"), "{}", german.text);
    set_phone(api, candidate, "+18762345678").await;
    let screen = client.invite(candidate, role).await.expect(201).number("/id");
    // The candidate's number changes between the invitation and the call.
    set_phone(api, candidate, "+4915112345678").await;
    api.run_tasks().await;
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], ordered(&setup)), (&json!("failed"), 0));
    let summary = shown["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("No call was made: the phone number must not be a number in Germany"),
        "{summary}"
    );
    // Members see the countries, but only owners change them. Another organization keeps its own.
    let member = add_member(api, ACME, "Eve", shared::model::MemberRole::Member).await;
    let member = Browser::with_session(api, ACME, &member).await;
    let page = member.get(CHANNELS).await.expect(200);
    assert!(text_of(&page).contains("Countries that may be called US, JM") && !page.text.contains(COUNTRIES));
    member.post(COUNTRIES, &[("countries", "CU")]).await.expect(403);
    let globex = Browser::with_session(api, GLOBEX, &owner(api, GLOBEX).await).await;
    assert!(globex.get(CHANNELS).await.expect(200).text.contains("value=\"DE\""));
}

#[tokio::test]
async fn a_plan_has_a_daily_limit_of_calls() {
    let setup = setup().await;
    let (api, client) = (&setup.api, setup.client());
    api.store().set_plan(tenant(ACME, Mode::Live).organization, shared::model::Plan::Free).await.unwrap();
    let role = client.role().await;
    let mut screens = Vec::new();
    for number in 0..22 {
        let candidate = client.candidate().await;
        set_phone(api, candidate, &format!("+49151123456{number:02}")).await;
        screens.push(client.invite(candidate, role).await.expect(201).number("/id"));
    }
    api.run_tasks().await;
    assert_eq!(ordered(&setup), 20);
    let mut refused = Vec::new();
    for screen in screens {
        let shown = client.screen(screen).await;
        if shown["status"] == "failed" {
            refused.push(shown["summary"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(refused, ["No call was made: the organization's limit of 20 calls a day is used up."; 2]);
    // The limit also counts calls that are scheduled for later that day.
    let candidate = client.candidate().await;
    let later = client.invite_at(candidate, role, "2026-11-20T12:00:00Z").await.expect(201).number("/id");
    api.run_tasks().await;
    assert_eq!((ordered(&setup), &client.screen(later).await["status"]), (20, &json!("failed")));
    api.clock.set("2026-11-21T00:00:00Z");
    let tomorrow = client.invite(candidate, role).await.expect(201).number("/id");
    api.run_tasks().await;
    assert_eq!((ordered(&setup), &client.screen(tomorrow).await["status"]), (21, &json!("queued")));
}

#[tokio::test]
async fn a_number_is_called_at_most_five_times_a_day() {
    let setup = setup().await;
    let (api, client) = (&setup.api, setup.client());
    let role = client.role().await;
    for _ in 0..7 {
        // Several candidates have the same number.
        let candidate = client.candidate().await;
        set_phone(api, candidate, "+49 30 1234567").await;
        client.invite(candidate, role).await.expect(201);
    }
    api.run_tasks().await;
    assert_eq!(ordered(&setup), 5);
    let list = client.get(&format!("voice_screens?role_id={role}&status=failed")).await.expect(200);
    let summaries: Vec<_> =
        list.body["data"].as_array().unwrap().iter().map(|s| s["summary"].clone()).collect();
    let sentence = "No call was made: the phone number has already been called 5 times that day.";
    assert_eq!(summaries, [json!(sentence), json!(sentence)]);
    // Calls that the number's limit prevented do not count towards the organization's limit.
    let items = api.stored_items().await;
    let counters = items.iter().filter(|((pk, _), _)| pk.starts_with("ATTEMPTS#"));
    let counted: Vec<_> = counters.map(|(_, item)| item["attempts"].as_n().unwrap().as_str()).collect();
    assert_eq!(counted, ["5", "5"], "of the organization, and to the number");
}

#[tokio::test]
async fn a_call_that_is_not_ordered_is_not_counted() {
    let setup = setup().await;
    let (api, client) = (&setup.api, setup.client());
    let (role, candidate) = (client.role().await, client.candidate().await);
    client.invite(candidate, role).await.expect(201);
    let left = std::sync::atomic::AtomicUsize::new(3);
    api.dynamodb.inject_faults(move |operation, _| {
        let use_one = |left: usize| left.checked_sub(1);
        let is_left = || left.fetch_update(SeqCst, SeqCst, use_one).is_ok();
        (operation == "TransactWriteItems" && is_left()).then_some(Fault::Conflict)
    });
    api.run_tasks().await;
    assert_eq!(ordered(&setup), 1);
    let counts: Vec<_> =
        api.stored_items().await.into_iter().filter(|((pk, _), _)| pk.starts_with("ATTEMPTS#")).collect();
    let counts: Vec<_> = counts.iter().map(|(_, item)| item["attempts"].as_n().unwrap().as_str()).collect();
    assert_eq!(counts, ["1", "1"], "each conflicting attempt was subtracted");
}
