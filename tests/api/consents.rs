//! Consents: records, what counts, withdrawals, and the consents that calls require.

use std::sync::Arc;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::fake::NOWHERE;
use tests::{ACME, GLOBEX, Response, TestApi, key_actor};

use crate::vapi::{Setup, in_state, services};
use crate::voice_screens::Client;

const NOW: &str = "2026-11-20T09:30:00.000Z";
const CANDIDATES: &str = "/api/v1/candidates";
const WORDING: &str = "An AI may call me, and the call may be recorded.";

async fn candidate(api: &TestApi, name: &str) -> u64 {
    let person = json!({ "name": name, "email": format!("{name}@example.com") });
    api.post(CANDIDATES, person).await.expect(201).number("/id")
}

fn consents_path(candidate: u64) -> String {
    format!("{CANDIDATES}/{candidate}/consents")
}

/// Records a consent, obtained at a time of day.
async fn consent(api: &TestApi, candidate: u64, purpose: &str, granted: bool, time: &str) -> Response {
    let obtained_at = format!("2026-11-20T{time}Z");
    let body =
        json!({ "purpose": purpose, "granted": granted, "obtained_at": obtained_at, "wording": WORDING });
    api.post(&consents_path(candidate), body).await
}

async fn detail(api: &TestApi, candidate: u64) -> Response {
    api.get(&format!("{CANDIDATES}/{candidate}")).await.expect(200)
}

/// The consents in the candidate's detail: purpose and whether it is granted.
async fn state(api: &TestApi, candidate: u64) -> Vec<(String, bool)> {
    let detail = detail(api, candidate).await;
    let consents = detail.body["consents"].as_array().unwrap().iter();
    let consent = |one: &Value| (one["purpose"].as_str().unwrap().to_owned(), one["granted"] == true);
    consents.map(consent).collect()
}

fn states(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    expected.iter().map(|(purpose, granted)| ((*purpose).to_owned(), *granted)).collect()
}

/// The number of records in the candidate's export.
async fn recorded(api: &TestApi, candidate: u64) -> usize {
    let export = api.get(&format!("{CANDIDATES}/{candidate}/export")).await.expect(200);
    export.body["consents"].as_array().unwrap().len()
}

async fn status(client: &Client<'_>, screen: u64) -> String {
    client.screen(screen).await["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_recorded_consent_is_shown_with_the_candidate() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let before = detail(&api, jane).await;
    assert_eq!(before.body["consents"], json!([]));
    let body = json!({
        "purpose": "voice_screen", "granted": true, "obtained_at": "2026-11-19T08:00:00.9009Z",
        "wording": " An AI may call me.\r\nAt any time. ",
    });
    let recorded = api.post(&consents_path(jane), body).await.expect(201);
    let expected = json!({
        "id": recorded.number("/id"), "candidate_id": jane, "purpose": "voice_screen", "granted": true,
        "obtained_at": "2026-11-19T08:00:00.900Z", "wording": "An AI may call me.\nAt any time.",
        "actor": key_actor(ACME, Mode::Live), "created_at": NOW,
    });
    assert_eq!(recorded.body, expected);
    assert_eq!((recorded.header("location"), recorded.header("etag")), ("", ""));
    let after = detail(&api, jane).await;
    assert_eq!(after.body["consents"], json!([expected]));
    let touchpoint = &after.body["touchpoints"][0];
    let expected = json!({
        "id": touchpoint["id"], "kind": "consent_changed", "at": NOW, "actor": key_actor(ACME, Mode::Live),
        "detail": {
            "consent_id": recorded.number("/id"), "purpose": "voice_screen", "granted": true,
            "obtained_at": "2026-11-19T08:00:00.900Z",
        },
    });
    assert_eq!(*touchpoint, expected);
    assert_eq!(after.string("/updated_at"), before.string("/updated_at"), "the candidate is unchanged");
    assert_ne!(after.header("etag"), before.header("etag"), "the detail is changed");
}

#[tokio::test]
async fn the_latest_obtained_at_of_each_purpose_counts() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    for (purpose, granted, time, expected) in [
        ("recording", true, "09:10:00", vec![("recording", true)]),
        ("application", true, "09:00:00", vec![("application", true), ("recording", true)]),
        // It was obtained before the one that counts.
        ("recording", false, "09:09:59", vec![("application", true), ("recording", true)]),
        // Of two at the same time, the one that was recorded last counts.
        ("recording", false, "09:10:00", vec![("application", true), ("recording", false)]),
        ("recording", true, "09:30:00", vec![("application", true), ("recording", true)]),
        (
            "voice_screen",
            false,
            "09:00:00",
            vec![("application", true), ("voice_screen", false), ("recording", true)],
        ),
    ] {
        consent(&api, jane, purpose, granted, time).await.expect(201);
        assert_eq!(state(&api, jane).await, states(&expected), "{purpose} {granted} {time}");
    }
    assert_eq!(recorded(&api, jane).await, 6, "every record is kept");
    let shown = detail(&api, jane).await;
    let kinds = shown.body["touchpoints"].as_array().unwrap().iter();
    assert_eq!(kinds.filter(|one| one["kind"] == "consent_changed").count(), 6);
}

#[tokio::test]
async fn an_invalid_consent_is_rejected_with_every_mistake() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let valid = json!({ "purpose": "recording", "granted": false, "obtained_at": NOW, "wording": "x" });
    let with = |field: &str, value: Value| {
        let mut body = valid.clone();
        body[field] = value;
        body
    };
    let blank =
        ["purpose", "granted", "obtained_at", "wording"].map(|field| format!("{field} can't be blank"));
    let purposes = "purpose must be one of application, voice_screen, recording";
    for (body, messages) in [
        (json!({}), blank.iter().map(String::as_str).collect()),
        (with("purpose", json!("marketing")), vec![purposes]),
        (with("purpose", json!(7)), vec![purposes]),
        (with("granted", json!("yes")), vec!["granted must be true or false"]),
        (with("granted", json!(1)), vec!["granted must be true or false"]),
        (
            with("obtained_at", json!("2026-11-20")),
            vec!["obtained_at must be a time, such as 2026-11-20T09:30:00.000Z"],
        ),
        (
            with("obtained_at", json!("2026-11-20T09:30:01.000Z")),
            vec!["obtained_at must not be in the future"],
        ),
        (with("wording", json!(" \u{200B}\n")), vec!["wording can't be blank"]),
        (with("wording", json!("🦀".repeat(2_001))), vec!["wording must be at most 2000 characters"]),
        (with("wording", json!(["x"])), vec!["wording must be a string"]),
        (with("actor", json!("x")), vec!["actor is not a known field"]),
        (with("id", json!(1)), vec!["id is not a known field"]),
    ] {
        assert_eq!(api.post(&consents_path(jane), body).await.expect(422).messages(), messages);
    }
    assert_eq!((state(&api, jane).await, recorded(&api, jane).await), (Vec::new(), 0));
    let longest = "🦀".repeat(2_000);
    let response = api.post(&consents_path(jane), with("wording", json!(longest))).await.expect(201);
    assert_eq!(response.string("/wording"), longest);
    api.post(&consents_path(17), json!({})).await.expect(404);
}

#[tokio::test]
async fn another_organization_cannot_record_a_consent() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let body = json!({ "purpose": "recording", "granted": true, "obtained_at": NOW, "wording": "x" });
    for (demo, mode) in [(GLOBEX, Mode::Live), (ACME, Mode::Test)] {
        for candidate in [jane, 17] {
            let request = api.request(Method::POST, &consents_path(candidate)).key(demo, mode).json(&body);
            assert_eq!(request.send().await.expect(404).string("/code"), "not_found");
        }
    }
    assert_eq!(state(&api, jane).await, []);
}

#[tokio::test]
async fn a_repeated_request_records_one_consent() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let send = |granted: bool| {
        let request = api.request(Method::POST, &consents_path(jane)).header("idempotency-key", "consent-1");
        let body = json!({ "purpose": "recording", "granted": granted, "obtained_at": NOW, "wording": "x" });
        request.json(&body).send()
    };
    let (first, second) = (send(true).await.expect(201), send(true).await.expect(201));
    assert_eq!((&second.body, second.header("idempotency-replayed")), (&first.body, "true"));
    assert_eq!(send(false).await.expect(422).string("/code"), "idempotency_mismatch");
    assert_eq!((state(&api, jane).await, recorded(&api, jane).await), (states(&[("recording", true)]), 1));
}

#[tokio::test]
async fn simultaneous_consents_are_all_recorded() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    let times = ["09:05:00", "09:01:00", "09:04:00", "09:02:00", "09:03:00"];
    let responses =
        join_all(times.map(|time| consent(&api, jane, "recording", time == times[0], time))).await;
    assert!(responses.iter().all(|response| response.status == 201));
    assert_eq!((state(&api, jane).await, recorded(&api, jane).await), (states(&[("recording", true)]), 5));
}

#[tokio::test]
async fn a_candidate_has_at_most_100_consents_but_can_always_withdraw() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    for number in 0..100 {
        let time = format!("08:{:02}:{:02}", number / 60, number % 60);
        consent(&api, jane, if number % 2 == 0 { "recording" } else { "voice_screen" }, true, &time)
            .await
            .expect(201);
    }
    let full = "consent can't be recorded, because the candidate already has the maximum of 100 records; only the \
        withdrawal of a consent in force is still accepted";
    for (purpose, granted, time) in [
        ("recording", true, "09:00:00"),
        ("application", true, "09:00:00"),
        ("application", false, "09:00:00"),
        // An older withdrawal does not count.
        ("recording", false, "08:00:00"),
    ] {
        let refused = consent(&api, jane, purpose, granted, time).await.expect(422);
        assert_eq!((refused.string("/code"), refused.messages()), ("validation_failed", vec![full]));
    }
    let role = api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.number("/role/id");
    let invite = format!("{CANDIDATES}/{jane}/invite_screen");
    let given = json!({ "obtained_at": NOW, "wording": WORDING });
    let refused = api.post(&invite, json!({ "role_id": role, "consent": given })).await.expect(422);
    assert_eq!(refused.messages(), [full]);
    assert_eq!(detail(&api, jane).await.body["voice_screens"], json!([]));
    for purpose in ["recording", "voice_screen"] {
        consent(&api, jane, purpose, false, "09:00:00").await.expect(201);
        consent(&api, jane, purpose, false, "09:01:00").await.expect(422);
    }
    assert_eq!(state(&api, jane).await, states(&[("voice_screen", false), ("recording", false)]));
    assert_eq!(recorded(&api, jane).await, 102);
}

#[tokio::test]
async fn a_withdrawal_cancels_the_unfinished_screens() {
    for purpose in ["voice_screen", "recording"] {
        let setup = Setup::new(in_state(json!({ "status": "scheduled" }))).await;
        let (api, client) = (&setup.api, setup.client());
        let jane = client.candidate().await;
        let later = "2026-11-20T12:00:00.000Z";
        let mut screens = Vec::new();
        for _ in 0..2 {
            screens.push(client.invite_at(jane, client.role().await, later).await.expect(201).number("/id"));
        }
        let bystander = client.candidate().await;
        let kept = client.invite_at(bystander, client.role().await, later).await.expect(201).number("/id");
        api.run_tasks().await;
        let other = if purpose == "recording" { "voice_screen" } else { "recording" };
        for (purpose, granted, time) in
            [("application", false, "09:30:00"), (purpose, false, "08:59:59"), (other, true, "09:30:00")]
        {
            consent(api, jane, purpose, granted, time).await.expect(201);
            setup.run_tasks_at(&["09:30:01"]).await;
            assert_eq!(status(&client, screens[0]).await, "scheduled", "{purpose} {granted}");
        }
        consent(api, jane, purpose, false, "09:30:00").await.expect(201);
        // A new consent does not bring a cancelled screen back.
        consent(api, jane, purpose, true, "09:30:01").await.expect(201);
        setup.run_tasks_at(&["09:30:02", "09:30:03"]).await;
        let page = client.page(jane).await;
        let touchpoints = page["touchpoints"].as_array().unwrap();
        let cancelled: Vec<_> = touchpoints.iter().filter(|one| one["kind"] == "screen_cancelled").collect();
        assert_eq!(cancelled.len(), 2);
        assert!(cancelled.iter().all(|one| one["detail"]["reason"] == "consent_withdrawn"));
        for screen in screens {
            assert_eq!(status(&client, screen).await, "cancelled");
            assert_eq!((setup.orders(screen), setup.cancellations(screen)), (1, 1));
            let summary = &client.screen(screen).await["summary"];
            assert_eq!(*summary, "The screen was cancelled because the candidate withdrew consent.");
        }
        assert_eq!((status(&client, kept).await, setup.cancellations(kept)), ("scheduled".to_owned(), 0));
    }
}

/// A withdrawal and an invitation at the same time: nobody is called after a withdrawal.
#[tokio::test]
async fn a_withdrawal_during_an_invitation_wins() {
    for has_real_calls in [true, false] {
        let real = services(NOWHERE);
        let api =
            Arc::new(if has_real_calls { TestApi::with_services(real).await } else { TestApi::new().await });
        let client = Client::live(&api);
        let (role, jane) = (client.role().await, client.candidate().await);
        for purpose in ["voice_screen", "recording"] {
            consent(&api, jane, purpose, true, "09:00:00").await.expect(201);
        }
        let shared = api.clone();
        api.dynamodb.run_before("TransactWriteItems", async move {
            consent(&shared, jane, "recording", false, "09:30:00").await.expect(201);
        });
        let invite = json!({ "role_id": role });
        let invited = client.post(&format!("candidates/{jane}/invite_screen"), invite).await;
        if has_real_calls {
            assert_eq!(invited.expect(422).string("/code"), "consent_required");
            assert_eq!(client.page(jane).await["voice_screens"], json!([]));
        } else {
            invited.expect(201);
        }
    }
}

#[tokio::test]
async fn an_invitation_during_a_withdrawal_is_cancelled() {
    let setup = Arc::new(Setup::new(in_state(json!({ "status": "scheduled" }))).await);
    let client = setup.client();
    let (role, jane) = (client.role().await, client.candidate().await);
    let shared = setup.clone();
    setup.api.dynamodb.run_before("TransactWriteItems", async move {
        shared.client().invite_at(jane, role, "2026-11-20T12:00:00Z").await.expect(201);
    });
    consent(&setup.api, jane, "voice_screen", false, "09:30:00").await.expect(201);
    setup.run_tasks_at(&["09:30:01", "09:30:02", "12:00:00"]).await;
    let page = client.page(jane).await;
    assert_eq!(page["voice_screens"][0]["status"], "cancelled");
    assert_eq!(
        setup.orders(page["voice_screens"][0]["id"].as_u64().unwrap()),
        0,
        "the provider never got it"
    );
}

#[tokio::test]
async fn a_real_call_requires_consent_to_the_call_and_to_its_recording() {
    let api = TestApi::with_services(services(NOWHERE)).await;
    let client = Client::live(&api);
    let (role, jane) = (client.role().await, client.candidate().await);
    let invite = async |consent: Value| {
        let body = json!({ "role_id": role, "consent": consent });
        client.post(&format!("candidates/{jane}/invite_screen"), body).await
    };
    let given = |time: &str| json!({ "obtained_at": format!("2026-11-20T{time}Z"), "wording": WORDING });
    let refused = async |consent: Value, missing: &str| {
        let refused = invite(consent).await.expect(422);
        let message = format!(
            "consent must be given by the candidate to {missing} before the call, and not be withdrawn later"
        );
        assert_eq!((refused.string("/code"), refused.messages()), ("consent_required", vec![&*message]));
    };
    refused(Value::Null, "voice_screen and recording").await;
    consent(&api, jane, "application", true, "09:00:00").await.expect(201);
    consent(&api, jane, "voice_screen", true, "09:00:00").await.expect(201);
    refused(Value::Null, "recording").await;
    consent(&api, jane, "recording", false, "09:10:00").await.expect(201);
    refused(Value::Null, "recording").await;
    refused(given("09:09:59"), "recording").await;
    let page = client.page(jane).await;
    assert_eq!((&page["voice_screens"], &page["stage"]), (&json!([]), &json!("applied")));
    assert_eq!(recorded(&api, jane).await, 3, "a rejected invitation records nothing");

    // Validation comes first.
    let paths = ["consent.obtained_at can't be blank", "consent.wording can't be blank"];
    assert_eq!(invite(json!({})).await.expect(422).messages(), paths);
    for (body, message) in [
        (json!("yes"), "consent must be an object"),
        (json!([]), "consent must be an object"),
        (json!({ "obtained_at": NOW, "wording": 7 }), "consent.wording must be a string"),
        (
            json!({ "obtained_at": NOW, "wording": "x", "purpose": "x" }),
            "consent.purpose is not a known field",
        ),
        (given("09:30:01"), "consent.obtained_at must not be in the future"),
    ] {
        let invalid = invite(body).await.expect(422);
        assert_eq!((invalid.string("/code"), invalid.messages()), ("validation_failed", vec![message]));
    }

    // The consent in the invitation counts for both purposes.
    invite(given("09:20:00")).await.expect(201);
    let page = client.page(jane).await;
    for (index, purpose) in [(1, "voice_screen"), (2, "recording")] {
        let shown = &page["consents"][index];
        assert_eq!((&shown["purpose"], &shown["wording"]), (&json!(purpose), &json!(WORDING)));
        assert_eq!(
            (&shown["granted"], &shown["obtained_at"]),
            (&json!(true), &json!("2026-11-20T09:20:00.000Z"))
        );
        assert_eq!(shown["actor"], key_actor(ACME, Mode::Live));
    }
    let history = client.history(jane).await;
    assert_eq!(history[..4], ["stage_changed", "screen_invited", "consent_changed", "consent_changed"]);
    // The records are enough for the next invitation.
    client
        .post(&format!("candidates/{jane}/invite_screen"), json!({ "role_id": client.role().await }))
        .await
        .expect(201);
    // The simulator of the test mode requires no consent.
    let test = Client::test(&api);
    let (role, joe) = (test.role().await, test.candidate().await);
    test.post(&format!("candidates/{joe}/invite_screen"), json!({ "role_id": role })).await.expect(201);
}

#[tokio::test]
async fn an_invitation_to_a_simulated_call_records_the_given_consent() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let (role, jane) = (client.role().await, client.candidate().await);
    consent(&api, jane, "recording", false, "09:30:00").await.expect(201);
    let given = json!({ "obtained_at": "2026-11-20T09:00:00Z", "wording": WORDING });
    let body = json!({ "role_id": role, "consent": given });
    client.post(&format!("candidates/{jane}/invite_screen"), body).await.expect(201);
    assert_eq!(state(&api, jane).await, states(&[("voice_screen", true), ("recording", false)]));
    assert_eq!(recorded(&api, jane).await, 3);
}

#[tokio::test]
async fn the_detail_of_a_candidate_does_not_read_earlier_consents() {
    let api = TestApi::new().await;
    let jane = candidate(&api, "jane").await;
    consent(&api, jane, "recording", true, "09:30:00").await.expect(201);
    let read = async |query: &str| {
        api.dynamodb.take_calls();
        let detail = api.get(&format!("{CANDIDATES}/{jane}{query}")).await.expect(200);
        assert_eq!(detail.string("/consents/0/wording"), WORDING);
        let calls = api.dynamodb.take_calls();
        (calls.len(), calls.iter().filter_map(|call| call.response["ScannedCount"].as_u64()).sum::<u64>())
    };
    let (all, newest) = (read("").await, read("?touchpoints=1").await);
    for _ in 0..5 {
        consent(&api, jane, "recording", true, "09:00:00").await.expect(201);
    }
    // Five more touchpoints.
    assert_eq!((all, read("").await), ((3, 3), (3, 8)));
    assert_eq!((newest, read("?touchpoints=1").await), ((4, 2), (4, 2)));
}
