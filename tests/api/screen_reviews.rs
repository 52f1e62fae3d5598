//! What people decide about the results of voice screens.

use serde_json::{Value, json};
use shared::model::Mode;
use tests::browser::Browser;
use tests::fake::NOWHERE;
use tests::{ACME, TestApi, key_actor};

use crate::dashboard_pages::text_of;
use crate::vapi::services;
use crate::voice_screens::{Client, Invited};
use crate::voice_webhook::{callback, deliver, report};

async fn api() -> TestApi {
    TestApi::with_services(services(NOWHERE)).await
}

/// A screen for a role with this overall score.
async fn screened(api: &TestApi, client: &Client<'_>, role: u64, overall: u8) -> Invited {
    let candidate = client.candidate().await;
    let screen = client.invite(candidate, role).await.expect(201).number("/id");
    deliver(api, &report(api, screen, overall)).await.expect(200);
    Invited { role, candidate, screen }
}

#[tokio::test]
async fn an_overruled_result_no_longer_counts() {
    let api = api().await;
    let client = Client::live(&api);
    let role = client.role().await;
    let passed = screened(&api, &client, role, 84).await;
    let failed = screened(&api, &client, role, 12).await;
    let rate = async || client.stats(role).await["pass_rate"].clone();
    assert_eq!(rate().await, 0.5);
    let review =
        async |screen: u64, body: Value| client.post(&format!("voice_screens/{screen}/review"), body).await;
    let note = "She answered well. The assessment missed it.";
    api.clock.set("2026-11-20T10:00:00Z");
    let overruled =
        review(failed.screen, json!({ "decision": "overruled", "note": note })).await.expect(200).body;
    assert_eq!((&overruled["result"], &overruled["scores"]["overall"]), (&Value::Null, &json!(12)));
    let expected = json!({
        "requested_at": null, "decided_at": "2026-11-20T10:00:00.000Z", "decision": "overruled", "note": note,
        "actor": key_actor(ACME, Mode::Live),
    });
    assert_eq!(overruled["review"], expected);
    assert_eq!(client.screen(failed.screen).await["review"], expected);
    assert_eq!(rate().await, 1.0);
    let stats = client.stats(role).await;
    assert_eq!((&stats["screens_completed"], &stats["average_score"]), (&json!(2), &json!(48.0)));
    assert!(
        client.get("voice_screens?result=failed").await.expect(200).body["data"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    // The decision is repeated, and then another one.
    review(failed.screen, json!({ "decision": "overruled" })).await.expect(200);
    assert_eq!(rate().await, 1.0);
    let confirmed = review(failed.screen, json!({ "decision": "confirmed" })).await.expect(200).body;
    assert_eq!((&confirmed["result"], &confirmed["review"]["note"]), (&json!("failed"), &Value::Null));
    assert_eq!(rate().await, 0.5);
    review(passed.screen, json!({ "decision": "overruled" })).await.expect(200);
    assert_eq!(rate().await, 0.0);
    let page = client.page(failed.candidate).await;
    assert_eq!(page["touchpoints"][0]["kind"], "screen_reviewed");
    assert_eq!(page["touchpoints"][0]["detail"]["decision"], "confirmed");
    assert_eq!(page["stage"], "screening", "a decision moves nobody");
    api.run_whole_feed().await;
    let events = client.get("events?limit=100").await.expect(200).body;
    let reviewed: Vec<_> = events["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "screen.reviewed")
        .collect();
    assert_eq!(reviewed.len(), 4);
    assert_eq!(reviewed[0]["data"], json!({ "candidate_id": failed.candidate, "role_id": role }));
    assert_eq!(reviewed[0]["changed"], json!(["result", "review"]));
    // A late report does not undo a decision.
    deliver(&api, &report(&api, passed.screen, 84)).await.expect(200);
    assert_eq!(client.screen(passed.screen).await["result"], Value::Null);
}

#[tokio::test]
async fn only_a_result_can_be_reviewed() {
    let api = api().await;
    let client = Client::live(&api);
    let Invited { screen, role, .. } = client.invited().await;
    let path = format!("voice_screens/{screen}/review");
    let body = json!({ "decision": "overruled" });
    for report in [None, Some(json!({ "endedReason": "customer-busy" }))] {
        if let Some(report) = report {
            deliver(&api, &callback(&api, screen, "end-of-call-report", report)).await.expect(200);
        }
        let refused = client.post(&path, body.clone()).await.expect(422);
        assert_eq!(refused.string("/code"), "invalid_transition");
        assert_eq!(refused.messages(), ["result cannot go from null to overruled"]);
    }
    let screen = screened(&api, &client, role, 84).await.screen;
    let path = format!("voice_screens/{screen}/review");
    for (body, message) in [
        (json!({}), "decision can't be blank"),
        (json!({ "decision": "maybe" }), "decision must be one of confirmed, overruled"),
        (
            json!({ "decision": "confirmed", "note": "x".repeat(2_001) }),
            "note must be at most 2000 characters",
        ),
    ] {
        let refused = client.post(&path, body).await.expect(422);
        assert_eq!(refused.messages(), [message]);
    }
    assert_eq!(client.screen(screen).await["review"], Value::Null);
}

#[tokio::test]
async fn members_decide_on_the_page_of_the_screen() {
    let api = api().await;
    let client = Client::live(&api);
    let role = client.role().await;
    let Invited { screen, candidate, .. } = screened(&api, &client, role, 12).await;
    let browser = Browser::signed_in(&api, ACME).await;
    let path = format!("/dashboard/screens/{screen}");
    let page = text_of(&browser.get(&path).await.expect(200));
    assert!(page.contains("The candidate said 3 things in 4:10 minutes"), "{page}");
    assert!(page.contains("Overrule the result"), "{page}");
    let fields = [("decision", "overruled"), ("note", "It was a bad line.")];
    let saved = browser.post(&format!("{path}/review"), &fields).await.expect(303);
    assert_eq!(saved.header("location"), format!("{path}?done=screen-reviewed"));
    let page = text_of(&browser.get(&path).await.expect(200));
    assert!(page.contains("The result was overruled by") && page.contains("It was a bad line."), "{page}");
    assert!(page.contains(" (member) on 20 Nov 2026, "), "{page}");
    let page = text_of(&browser.get(&format!("/dashboard/candidates/{candidate}")).await.expect(200));
    assert!(page.contains("Result of the voice screen for Platform Engineer overruled"), "{page}");
    // A mailbox answered: the page says why, and there is nothing to decide.
    let Invited { screen, .. } = client.invited().await;
    let messages = json!([
        { "role": "bot", "message": "Hi", "secondsFromStart": 1 },
        { "role": "user", "message": "Please leave a message after the tone.", "secondsFromStart": 4 },
    ]);
    let more = json!({ "endedReason": "silence-timed-out", "artifact": { "messages": messages } });
    deliver(&api, &callback(&api, screen, "end-of-call-report", more)).await.expect(200);
    let path = format!("/dashboard/screens/{screen}");
    let page = text_of(&browser.get(&path).await.expect(200));
    for part in [
        "no answer",
        "The candidate did not answer the call.",
        "The candidate said nothing",
        "after the tone",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Overrule the result"));
    let refused = browser.post(&format!("{path}/review"), &fields).await.expect(422);
    let note = fields.iter().find(|(name, _)| *name == "note").unwrap().1;
    assert!(refused.text.contains(note), "the page shows what was typed: {}", refused.text);
    let refused = browser.post(&format!("{path}/review"), &fields[..1]).await.expect(303);
    assert!(refused.header("location").contains("failed="));
}
