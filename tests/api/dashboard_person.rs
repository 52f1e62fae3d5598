//! A person's page in the dashboard: consents, and times in the member's time zone.

use serde_json::{Value, json};
use tests::browser::Browser;
use tests::dashboard::owner;
use tests::{ACME, Fixtures, GLOBEX, TestApi};

use crate::dashboard_pages::text_of;

async fn acme(api: &TestApi) -> Browser<'_> {
    Browser::with_session(api, ACME, &owner(api, ACME).await).await
}

async fn candidate(api: &TestApi, id: u64) -> Value {
    api.get(&format!("/api/v1/candidates/{id}")).await.expect(200).body
}

/// The fields of a consent.
fn answer<'f>(granted: &'f str, at: &'f str, wording: &'f str) -> [(&'f str, &'f str); 4] {
    [("purpose", "recording"), ("granted", granted), ("obtained_at", at), ("wording", wording)]
}

#[tokio::test]
async fn a_consent_is_recorded_outside_an_invitation() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let id = Fixtures::new(&api).await.candidate;
    let (page, path) =
        (format!("/dashboard/candidates/{id}"), format!("/dashboard/candidates/{id}/consents"));
    let before = ada.get(&page).await.expect(200).text.matches("Recorded by ").count();
    for (granted, at, wording) in [
        ("true", "2026-11-18T10:00", "Record my calls."),
        ("false", "2026-11-19T10:00", "Stop recording <b>me</b>."),
    ] {
        let done = ada.post(&path, &answer(granted, at, wording)).await.expect(303);
        assert_eq!(done.header("location"), format!("{page}?done=consent-recorded"));
    }
    let shown = ada.get(&page).await.expect(200);
    let text = text_of(&shown);
    assert_eq!(shown.text.matches("Recorded by ").count(), before + 2);
    for part in [
        "18 Nov 2026, 10:00 UTC",
        "19 Nov 2026, 10:00 UTC",
        "Record my calls.",
        "Recorded by Ada (member)",
        "withdrawn",
        "no longer counts",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(shown.text.contains("Stop recording &#60;b&#62;me&#60;/b&#62;."), "{}", shown.text);
    let stored = candidate(&api, id).await;
    let recording = stored["consents"].as_array().unwrap().iter().find(|one| one["purpose"] == "recording");
    let recording = recording.unwrap();
    assert_eq!(
        (&recording["granted"], &recording["obtained_at"]),
        (&json!(false), &json!("2026-11-19T10:00:00.000Z"))
    );
    assert_eq!(stored["touchpoints"][0]["kind"], "consent_changed");
    // The same form again records nothing more.
    let repeated =
        [answer("true", "2026-11-19T11:00", "Yes.").as_slice(), &[("key", "the-same-key")]].concat();
    for _ in 0..2 {
        ada.post(&path, &repeated).await.expect(303);
    }
    let shown = ada.get(&page).await.expect(200);
    assert_eq!(shown.text.matches("Recorded by ").count(), before + 3);
}

#[tokio::test]
async fn an_invalid_consent_says_what_is_wrong_and_keeps_what_was_typed() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let id = Fixtures::new(&api).await.candidate;
    let path = format!("/dashboard/candidates/{id}/consents");
    for (fields, sentence) in [
        (answer("true", "2026-11-21T10:00", "Yes."), "Time of the answer must not be in the future."),
        (answer("true", "", "Yes."), "Time of the answer"),
        (answer("true", "soon", "Yes."), "Time of the answer"),
        (answer("true", "2026-11-20T09:00", ""), "Wording can"),
        (answer("perhaps", "2026-11-20T09:00", "Yes."), "Answer"),
        (
            [
                ("purpose", "marketing"),
                ("granted", "true"),
                ("obtained_at", "2026-11-20T09:00"),
                ("wording", "Yes."),
            ],
            "Consent",
        ),
    ] {
        let page = ada.post(&path, &fields).await.expect(422);
        let problems = page.text.split("role=\"alert\"").nth(1).unwrap().split("</div>").next().unwrap();
        assert!(problems.contains(sentence), "{fields:?}: {problems}");
        for (name, value) in fields.iter().filter(|(name, value)| *name == "obtained_at" && !value.is_empty())
        {
            assert!(page.text.contains(&format!("value=\"{value}\"")), "{name}");
        }
    }
    // Nobody of another organization.
    let grace = Browser::with_session(&api, GLOBEX, &owner(&api, GLOBEX).await).await;
    grace.get(&path).await.expect(404);
    grace.post(&path, &answer("true", "2026-11-20T09:00", "Yes.")).await.expect(404);
}

#[tokio::test]
async fn times_are_shown_and_typed_in_the_members_time_zone() {
    let api = TestApi::new().await;
    let ada = acme(&api).await;
    let id = Fixtures::new(&api).await.candidate;
    let page = format!("/dashboard/candidates/{id}");
    let utc = ada.get(&page).await.expect(200);
    assert!(
        utc.text.contains("<time datetime=\"2026-11-20T09:30:00Z\">20 Nov 2026, 09:30 UTC</time>"),
        "{}",
        utc.text
    );
    let account = "/dashboard/settings/account";
    assert!(ada.get(account).await.expect(200).text.contains("<option selected>UTC</option>"));
    let zone = format!("{account}/time-zone");
    for (name, shown, stored) in [
        ("America/Los_Angeles", "20 Nov 2026, 01:30 PST", "2026-11-18T18:00:00.000Z"),
        ("Asia/Kathmandu", "20 Nov 2026, 15:15 UTC+0545", "2026-11-18T04:15:00.000Z"),
        ("UTC", "20 Nov 2026, 09:30 UTC", "2026-11-18T10:00:00.000Z"),
    ] {
        let done = ada.post(&zone, &[("time_zone", name)]).await.expect(303);
        assert_eq!(done.header("location"), format!("{account}?done=time-zone-saved"));
        let chosen = ada.get(account).await.expect(200);
        assert!(chosen.text.contains(&format!("<option selected>{name}</option>")), "{name}");
        api.dynamodb.take_calls();
        let text = ada.get(&page).await.expect(200).text;
        let shown = format!("<time datetime=\"2026-11-20T09:30:00Z\">{shown}</time>");
        assert!(text.contains(&shown), "{shown}: {text}");
        let form = ada.get(&format!("{page}/consents")).await.expect(200);
        assert!(form.text.contains(&format!("Time zone: {name}")), "{}", form.text);
        let typed = answer("true", "2026-11-18T10:00", "Yes.");
        ada.post(&format!("{page}/consents"), &typed).await.expect(303);
        let consents = api.get(&format!("/api/v1/candidates/{id}/export")).await.expect(200).text;
        assert!(consents.contains(stored), "{name}: {consents}");
    }
    for name in ["", "Berlin", "Europe/Nowhere", "../../etc/passwd", "posix/Europe/Berlin"] {
        ada.post(&zone, &[("time_zone", name)]).await.expect(400);
    }
    // Each member has a time zone of their own.
    ada.post(&zone, &[("time_zone", "Asia/Tokyo")]).await.expect(303);
    let bob = tests::dashboard::add_member(&api, ACME, "Bob", shared::model::MemberRole::Member).await;
    let bob = Browser::with_session(&api, ACME, &bob).await;
    assert!(bob.get(&page).await.expect(200).text.contains("20 Nov 2026, 09:30 UTC</time>"));
}
