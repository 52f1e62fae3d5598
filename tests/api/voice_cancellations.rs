//! Cancelled voice screens: by hand, by the end of an application, by a closed role or a suspension, and at the provider.

use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};
use shared::model::Mode;
use tests::fake::{FakeResponse, NOWHERE};
use tests::interceptor::Fault;
use tests::{ACME, TestApi, key_actor, tenant};

use crate::vapi::{Setup, in_state, services};
use crate::voice_screens::{Client, Invited};
use crate::voice_webhook::{callback, conversation, deliver, report};

/// The time of scheduled calls.
const LATER: &str = "2026-11-20T12:00:00.000Z";

/// Schedules a screen for a candidate who has applied for the role, if `applied`.
async fn scheduled(client: &Client<'_>, applied: bool) -> Invited {
    let (role, candidate) = (client.role().await, client.candidate().await);
    if applied {
        let path = format!("candidates/{candidate}/applications");
        client.post(&path, json!({ "role_id": role })).await.expect(201);
    }
    let screen = client.invite_at(candidate, role, LATER).await.expect(201).number("/id");
    Invited { role, candidate, screen }
}

async fn status(client: &Client<'_>, screen: u64) -> String {
    client.screen(screen).await["status"].as_str().unwrap().to_owned()
}

async fn cancel(client: &Client<'_>, screen: u64) -> tests::Response {
    client.post(&format!("voice_screens/{screen}/cancel"), json!({})).await
}

fn suspend(api: &TestApi, suspended: bool) -> impl Future<Output = ()> + Send + use<> {
    let (store, now) = (api.store().clone(), api.environment.clock.now());
    let acme = tenant(ACME, Mode::Live).organization;
    async move { store.set_suspended(acme, suspended, now).await.unwrap() }
}

/// The retention period of a rejected person begins when the last voice screen ends.
#[tokio::test]
async fn the_end_of_a_rejected_persons_last_screen_begins_the_retention_period() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let Invited { candidate, screen, .. } = scheduled(&client, true).await;
    let is_listed = async || api.stored_items().await.into_keys().any(|(pk, _)| pk.contains("#RETENTION#"));
    client.post(&format!("candidates/{candidate}/reject"), json!({})).await.expect(200);
    assert!(!is_listed().await);
    cancel(&client, screen).await.expect(200);
    assert!(is_listed().await);
}

#[tokio::test]
async fn a_screen_is_cancelled_before_its_call() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    for is_scheduled in [false, true] {
        let invited = if is_scheduled { scheduled(&client, true).await } else { client.invited().await };
        let Invited { role, candidate, screen } = invited;
        api.clock.set("2026-11-20T09:30:30Z");
        let cancelled = cancel(&client, screen).await.expect(200);
        assert_eq!(cancelled.string("/status"), "cancelled");
        assert_eq!(cancelled.string("/summary"), "The screen was cancelled.");
        assert_eq!(cancelled.string("/updated_at"), "2026-11-20T09:30:30.000Z");
        let page = client.page(candidate).await;
        assert_eq!(page["voice_screens"], json!([cancelled.body]));
        for query in ["candidate_id", "role_id"] {
            let id = if query == "role_id" { role } else { candidate };
            let list = client.get(&format!("voice_screens?{query}={id}")).await.expect(200);
            assert_eq!(list.body["data"], json!([cancelled.body]), "{query}");
        }
        let touchpoint = &page["touchpoints"][0];
        assert_eq!(
            (&touchpoint["kind"], &touchpoint["actor"]),
            (&json!("screen_cancelled"), &key_actor(ACME, Mode::Live))
        );
        assert_eq!(
            touchpoint["detail"],
            json!({ "screen_id": screen, "role_id": role, "reason": "requested" })
        );
        let stats = client.stats(role).await;
        assert_eq!((&stats["screens"], &stats["screens_completed"]), (&json!(1), &json!(0)));
        for time in ["2026-11-20T09:31:00.000Z", "2026-11-20T12:01:00.000Z", "2026-11-21T00:00:00.000Z"] {
            api.clock.set(time);
            assert_eq!(api.run_tasks().await, tasks::Summary::default(), "nothing is left to do");
        }
        assert_eq!(status(&client, screen).await, "cancelled");
        client.invite(candidate, role).await.expect(201);
        assert_eq!(client.stats(role).await["screens"], 2);
        api.run_tasks().await;
        api.clock.set("2026-11-20T09:30:00Z");
    }
    let list = client.get("voice_screens?status=cancelled").await.expect(200);
    assert_eq!(list.body["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn only_a_screen_whose_conversation_has_not_begun_can_be_cancelled() {
    let api = TestApi::with_services(services(NOWHERE)).await;
    let client = Client::live(&api);
    let talk = |reason: &str| {
        let mut talk = conversation(84);
        talk["endedReason"] = json!(reason);
        talk["artifact"]["structuredOutputs"] = Value::Null;
        talk
    };
    for (kind, more, expected) in [
        ("status-update", json!({ "status": "in-progress" }), "in_progress"),
        ("end-of-call-report", conversation(84), "completed"),
        ("end-of-call-report", json!({ "endedReason": "customer-busy" }), "no_answer"),
        ("end-of-call-report", json!({ "endedReason": "twilio-failed" }), "failed"),
        ("end-of-call-report", talk("assistant-said-end-call-phrase"), "declined"),
    ] {
        let Invited { screen, candidate, .. } = client.invited().await;
        deliver(&api, &callback(&api, screen, kind, more)).await.expect(200);
        let before = client.screen(screen).await;
        assert_eq!(before["status"], expected);
        let refused = cancel(&client, screen).await.expect(422);
        assert_eq!(refused.string("/code"), "invalid_transition");
        assert_eq!(refused.messages(), [format!("status cannot go from {expected} to cancelled")]);
        assert_eq!(client.screen(screen).await, before);
        assert!(!client.history(candidate).await.contains(&"screen_cancelled".to_owned()));
    }
    let screen = client.invited().await.screen;
    client.post(&format!("voice_screens/{screen}/cancel"), json!({ "reason": "x" })).await.expect(422);
    for other in [Client::globex(&api), Client::test(&api)] {
        let foreign = cancel(&other, screen).await.expect(404);
        assert_eq!(foreign.text.len(), cancel(&other, 1).await.expect(404).text.len());
    }
    cancel(&client, screen).await.expect(200);
    let refused = cancel(&client, screen).await.expect(422);
    assert_eq!(refused.messages(), ["status cannot go from cancelled to cancelled"]);
}

#[tokio::test]
async fn a_repeated_cancellation_gets_the_same_response() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let screen = client.invited().await.screen;
    let path = format!("/api/v1/voice_screens/{screen}/cancel");
    let send = || api.request(Method::POST, &path).header("idempotency-key", "k").send();
    let first = send().await.expect(200);
    let again = send().await.expect(200);
    assert_eq!((again.header("idempotency-replayed"), &again.body), ("true", &first.body));
}

#[tokio::test]
async fn late_callbacks_never_reopen_a_cancelled_screen() {
    let api = TestApi::with_services(services(NOWHERE)).await;
    let client = Client::live(&api);
    let Invited { role, candidate, screen } = client.invited().await;
    cancel(&client, screen).await.expect(200);
    let before = (client.screen(screen).await, client.page(candidate).await, client.stats(role).await);
    for callback in [
        callback(&api, screen, "status-update", json!({ "status": "in-progress" })),
        report(&api, screen, 84),
        callback(&api, screen, "end-of-call-report", json!({ "endedReason": "customer-busy" })),
    ] {
        deliver(&api, &callback).await.expect(200);
    }
    api.run_tasks().await;
    assert_eq!((client.screen(screen).await, client.page(candidate).await, client.stats(role).await), before);
}

#[tokio::test]
async fn the_end_of_an_application_cancels_its_screen() {
    for (step, undo, applied, reason) in [
        ("reject", "unreject", true, "rejected"),
        ("hire", "unhire", true, "hired"),
        ("reject", "unreject", false, "rejected"),
        ("close", "reopen", true, "role_closed"),
        ("close", "reopen", false, "role_closed"),
    ] {
        let api = TestApi::new().await;
        let client = Client::live(&api);
        let Invited { role, candidate, screen } = scheduled(&client, applied).await;
        let bystander = scheduled(&client, true).await;
        let other_role = client.role().await;
        let other = applied.then_some(client.invite_at(candidate, other_role, LATER).await.expect(201));
        let at = if step == "close" { format!("roles/{role}") } else { format!("candidates/{candidate}") };
        let body = if applied && step != "close" { json!({ "role_id": role }) } else { json!({}) };
        if step == "close" {
            api.delete(&format!("/api/v1/{at}")).await.expect(200);
        } else {
            client.post(&format!("{at}/{step}"), body.clone()).await.expect(200);
        }
        // The undo comes before the task.
        client.post(&format!("{at}/{undo}"), body).await.expect(200);
        assert_eq!(status(&client, screen).await, "scheduled");
        api.clock.set("2026-11-20T09:30:05Z");
        // The task of a role adds tasks of candidates.
        api.run_tasks().await;
        api.run_tasks().await;
        assert_eq!(status(&client, screen).await, "cancelled", "{step}");
        let page = client.page(candidate).await;
        let touchpoints = page["touchpoints"].as_array().unwrap();
        let cancelled: Vec<_> = touchpoints.iter().filter(|one| one["kind"] == "screen_cancelled").collect();
        // Without any application, the candidate ends with all screens.
        let count = if applied || step == "close" { 1 } else { 2 };
        assert_eq!(cancelled.len(), count, "{step} {applied}");
        let ours = cancelled.iter().find(|one| one["detail"]["screen_id"] == screen).unwrap();
        assert_eq!(ours["detail"]["reason"], reason);
        assert_eq!(ours["actor"]["type"], "system");
        for time in ["2026-11-20T12:00:00.000Z", "2026-11-20T12:10:00.000Z"] {
            api.clock.set(time);
            api.run_tasks().await;
        }
        assert_eq!(status(&client, screen).await, "cancelled", "{step}");
        assert_eq!(status(&client, bystander.screen).await, "completed");
        if let Some(other) = other {
            assert_eq!(status(&client, other.number("/id")).await, "completed", "another role's screen");
        }
        assert_eq!(client.stats(role).await["screens"], 1);
    }
}

#[tokio::test]
async fn a_conversation_in_progress_runs_on_after_a_rejection() {
    let api = TestApi::with_services(services(NOWHERE)).await;
    let client = Client::live(&api);
    let Invited { role, candidate, screen } = client.invited().await;
    deliver(&api, &callback(&api, screen, "status-update", json!({ "status": "in-progress" })))
        .await
        .expect(200);
    client.post(&format!("candidates/{candidate}/reject"), json!({})).await.expect(200);
    api.run_tasks().await;
    assert_eq!(status(&client, screen).await, "in_progress");
    deliver(&api, &report(&api, screen, 84)).await.expect(200);
    assert_eq!(status(&client, screen).await, "completed");
    assert_eq!(client.stats(role).await["screens_completed"], 1, "the result counts");
    let page = client.page(candidate).await;
    assert_eq!(
        (&page["stage"], &page["touchpoints"][0]["kind"]),
        (&json!("rejected"), &json!("screen_completed"))
    );
}

#[tokio::test]
async fn a_suspended_organization_calls_nobody() {
    let api = TestApi::new().await;
    let (client, other) = (Client::live(&api), Client::globex(&api));
    let test = scheduled(&Client::test(&api), false).await;
    let (queued, later, foreign) =
        (client.invited().await, scheduled(&client, true).await, scheduled(&other, true).await);
    suspend(&api, true).await;
    api.run_tasks().await;
    api.clock.set("2026-11-20T12:00:00Z");
    api.run_tasks().await;
    assert_eq!(status(&other, foreign.screen).await, "completed", "another organization's screen");
    suspend(&api, false).await;
    for Invited { screen, candidate, .. } in [queued, later] {
        assert_eq!(status(&client, screen).await, "cancelled");
        let page = client.page(candidate).await;
        assert_eq!(page["touchpoints"][0]["detail"]["reason"], "organization_suspended");
    }
    assert_eq!(status(&Client::test(&api), test.screen).await, "cancelled", "the test mode, too");
    let again = client.invite(queued.candidate, queued.role).await.expect(201).number("/id");
    api.run_tasks().await;
    assert_eq!(status(&client, again).await, "completed");
}

/// A change between a task's reads and its claim makes the claim fail, so nobody is called.
#[tokio::test]
async fn a_change_during_the_claim_prevents_the_call() {
    for case in ["reject", "close", "suspend", "cancel", "withdraw"] {
        let setup = Arc::new(Setup::new(in_state(json!({ "status": "queued" }))).await);
        let Invited { role, candidate, screen } = setup.client().invited().await;
        let shared = setup.clone();
        setup.api.dynamodb.run_before("TransactWriteItems", async move {
            let client = shared.client();
            match case {
                "reject" => {
                    client.post(&format!("candidates/{candidate}/reject"), json!({})).await.expect(200);
                }
                "close" => {
                    shared.api.delete(&format!("/api/v1/roles/{role}")).await.expect(200);
                }
                "cancel" => {
                    cancel(&client, screen).await.expect(200);
                }
                "withdraw" => {
                    let body = json!({
                        "purpose": "recording", "granted": false, "obtained_at": "2026-11-20T09:30:00.000Z",
                        "wording": "Please do not record me.",
                    });
                    client.post(&format!("candidates/{candidate}/consents"), body).await.expect(201);
                }
                _ => suspend(&shared.api, true).await,
            }
        });
        setup.api.run_tasks().await;
        setup.run_tasks_at(&["09:30:01", "09:31:00", "10:00:00"]).await;
        suspend(&setup.api, false).await;
        assert_eq!(setup.vapi.requests().len(), 0, "{case}");
        assert_eq!(status(&setup.client(), screen).await, "cancelled", "{case}");
        assert_eq!(setup.api.run_tasks().await, tasks::Summary::default(), "{case}");
    }
}

#[tokio::test]
async fn a_scheduled_call_is_cancelled_at_the_provider() {
    let setup = Setup::new(in_state(json!({ "status": "scheduled" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let by_hand = scheduled(&client, true).await;
    let rejected = scheduled(&client, true).await;
    let kept = scheduled(&client, true).await;
    api.run_tasks().await;
    assert_eq!(setup.vapi.requests().len(), 3);
    cancel(&client, by_hand.screen).await.expect(200);
    client.post(&format!("candidates/{}/reject", rejected.candidate), json!({})).await.expect(200);
    setup.run_tasks_at(&["09:30:01", "09:30:02", "09:40:00"]).await;
    assert_eq!((setup.cancellations(by_hand.screen), setup.cancellations(rejected.screen)), (1, 1));
    assert_eq!(setup.cancellations(kept.screen), 0);
    for screen in [by_hand.screen, rejected.screen] {
        let before = client.screen(screen).await;
        deliver(api, &report(api, screen, 84)).await.expect(200);
        assert_eq!(client.screen(screen).await, before);
    }
    assert_eq!(status(&client, kept.screen).await, "scheduled");
}

#[tokio::test]
async fn a_failed_cancellation_at_the_provider_is_retried_and_raises_an_alarm() {
    let setup = Setup::new(in_state(json!({ "status": "scheduled" }))).await;
    let (api, client) = (&setup.api, setup.client());
    let screen = scheduled(&client, true).await.screen;
    api.run_tasks().await;
    cancel(&client, screen).await.expect(200);
    let shown = client.screen(screen).await;
    setup.vapi.reply_with(|_| FakeResponse::Json(500, json!({})));
    setup.run_tasks_at(&["09:30:00", "09:30:30", "09:31:00", "09:32:00"]).await;
    assert_eq!(setup.cancellations(screen), 3, "once a minute");
    api.clock.set("2026-11-20T09:41:00Z");
    tasks::run(api.environment.clone()).await.unwrap_err();
    assert_eq!(client.screen(screen).await, shown, "the screen itself does not change");
    setup.vapi.reply_with(|_| FakeResponse::Json(404, json!({})));
    setup.run_tasks_at(&["09:42:00", "09:43:00", "12:00:00", "15:00:00"]).await;
    assert_eq!(setup.cancellations(screen), 5);
    assert_eq!(client.screen(screen).await, shown);
}

#[tokio::test]
async fn a_cancellation_at_the_provider_ends_when_the_call_would_be_over() {
    let setup = Setup::new(in_state(json!({ "status": "scheduled" }))).await;
    let screen = scheduled(&setup.client(), true).await.screen;
    setup.api.run_tasks().await;
    cancel(&setup.client(), screen).await.expect(200);
    setup.vapi.reply_with(|_| FakeResponse::Json(500, json!({})));
    for (time, fails) in [("12:00:00", true), ("14:00:00", true), ("14:01:00", false), ("15:00:00", false)] {
        setup.api.clock.set(&format!("2026-11-20T{time}Z"));
        assert_eq!(tasks::run(setup.api.environment.clone()).await.is_err(), fails, "{time}");
    }
    assert_eq!(setup.cancellations(screen), 2);
}

/// The provider accepts the call after the screen was cancelled, so its id becomes known only then.
#[tokio::test]
async fn a_screen_cancelled_during_its_order_is_cancelled_at_the_provider() {
    for answered in [true, false] {
        let setup = Arc::new(Setup::new(|_| FakeResponse::Close).await);
        let screen = scheduled(&setup.client(), true).await.screen;
        let weak = Arc::downgrade(&setup);
        setup.vapi.reply_with(move |request| {
            if request.method == "DELETE" {
                return FakeResponse::Json(200, json!({}));
            }
            if request.method == "GET" {
                return FakeResponse::Json(200, json!([]));
            }
            let setup = weak.upgrade().unwrap();
            FakeResponse::after(async move {
                cancel(&setup.client(), screen).await.expect(200);
                let call = json!({ "id": format!("call-{screen}"), "status": "scheduled" });
                if answered { FakeResponse::Json(201, call) } else { FakeResponse::Close }
            })
        });
        setup.run_tasks_at(&["09:30:00", "09:30:01"]).await;
        assert_eq!(setup.cancellations(screen), usize::from(answered));
        if !answered {
            let mut ringing = callback(&setup.api, screen, "status-update", json!({ "status": "ringing" }));
            ringing["message"]["call"]["id"] = json!(format!("call-{screen}"));
            deliver(&setup.api, &ringing).await.expect(200);
            setup.run_tasks_at(&["09:30:02"]).await;
        }
        setup.run_tasks_at(&["09:31:00", "12:00:00", "14:00:00", "15:00:00"]).await;
        assert_eq!((setup.orders(screen), setup.cancellations(screen)), (1, 1), "{answered}");
        assert_eq!(status(&setup.client(), screen).await, "cancelled");
        assert_eq!(setup.api.run_tasks().await, tasks::Summary::default());
    }
}

/// A rejection cancels two screens. The process may stop at any write.
#[tokio::test]
async fn a_killed_task_is_continued() {
    for (nth, fault) in (1..=6)
        .flat_map(|nth| [(nth, Fault::Unreachable), (nth, Fault::ResponseLost), (nth, Fault::Conflict)])
    {
        let setup = Setup::new(in_state(json!({ "status": "scheduled" }))).await;
        let (api, client) = (&setup.api, setup.client());
        let candidate = client.candidate().await;
        let mut screens = Vec::new();
        for _ in 0..2 {
            let role = client.role().await;
            screens.push(client.invite_at(candidate, role, LATER).await.expect(201).number("/id"));
        }
        api.run_tasks().await;
        client.post(&format!("candidates/{candidate}/reject"), json!({})).await.expect(200);
        let seen = Mutex::new(Vec::new());
        let injected = fault.clone();
        api.dynamodb.inject_faults(move |operation, request| {
            let mut seen = seen.lock().unwrap();
            let token = request["ClientRequestToken"].clone();
            if operation == "TransactWriteItems" && !seen.contains(&token) {
                seen.push(token.clone());
            }
            // From this write on, nothing succeeds.
            (seen.len() >= nth && seen.iter().position(|one| *one == token) >= Some(nth - 1))
                .then(|| injected.clone())
        });
        // The run may fail, or leave everything to the next one.
        let _ = tasks::run(api.environment.clone()).await;
        api.dynamodb.inject_faults(|_, _| None);
        setup.run_tasks_at(&["09:31:00", "09:32:00", "09:33:00", "12:00:00"]).await;
        for screen in screens {
            assert_eq!(status(&client, screen).await, "cancelled", "{nth} {fault:?}");
            assert!(setup.cancellations(screen) >= 1, "{nth} {fault:?}");
        }
        let history = client.history(candidate).await;
        let count = history.iter().filter(|kind| *kind == "screen_cancelled").count();
        assert_eq!(count, 2, "{nth} {fault:?}");
    }
}

/// A report and a cancellation that arrive together: one of them wins, and everything agrees with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_report_and_a_cancellation_never_both_count() {
    let api = TestApi::with_services(services(NOWHERE)).await;
    let client = Client::live(&api);
    for _ in 0..8 {
        let Invited { role, candidate, screen } = client.invited().await;
        let report = report(&api, screen, 84);
        let (answer, cancelled) = futures_util::join!(deliver(&api, &report), cancel(&client, screen));
        if answer.status == 503 {
            deliver(&api, &report).await.expect(200);
        }
        let won = cancelled.status == 200;
        assert!(won || cancelled.status == 422, "{}", cancelled.text);
        let (end, kind) =
            if won { ("cancelled", "screen_cancelled") } else { ("completed", "screen_completed") };
        assert_eq!(status(&client, screen).await, end);
        assert_eq!(client.history(candidate).await[0], kind);
        assert_eq!(client.stats(role).await["screens_completed"], u8::from(!won));
        client.invite(candidate, role).await.expect(201);
    }
}

#[tokio::test]
async fn a_candidate_who_declines_ends_the_screen_and_nothing_is_kept() {
    let api = TestApi::new().await;
    let client = Client::live(&api);
    let role = client.role().await;
    for (phone, expected, summary) in [
        ("+1 500 555 0191", "declined", "The candidate declined the conversation."),
        ("+1 500 555 0192", "no_answer", "The candidate did not answer the call."),
    ] {
        let body = json!({ "name": "Jo", "email": format!("{expected}@example.com"), "phone": phone });
        let candidate = client.post("candidates", body).await.expect(201).number("/id");
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        api.run_tasks().await;
        let shown = client.screen(screen).await;
        assert_eq!((&shown["status"], &shown["summary"]), (&json!(expected), &json!(summary)));
        assert_eq!((&shown["transcript"], &shown["result"]), (&json!([]), &Value::Null));
        client.invite(candidate, role).await.expect(201);
    }
    let list = client.get("voice_screens?status=declined").await.expect(200);
    assert_eq!(list.body["data"].as_array().unwrap().len(), 2);
    let stats = client.stats(role).await;
    assert_eq!((&stats["screens"], &stats["screens_completed"]), (&json!(4), &json!(0)));
}

/// The transcript arrives first, and the analysis that says that the candidate declined follows.
#[tokio::test]
async fn an_earlier_transcript_of_a_declined_call_is_deleted() {
    let api = TestApi::with_services(services(NOWHERE)).await;
    let client = Client::live(&api);
    let screen = client.invited().await.screen;
    let mut early = conversation(84);
    early["artifact"]["structuredOutputs"] = Value::Null;
    deliver(&api, &callback(&api, screen, "end-of-call-report", early)).await.expect(200);
    assert_eq!(client.screen(screen).await["transcript"].as_array().unwrap().len(), 6);
    let mut declined = conversation(84);
    declined["artifact"]["structuredOutputs"]["output-1"]["result"] = json!({ "declined": true });
    deliver(&api, &callback(&api, screen, "end-of-call-report", declined)).await.expect(200);
    let shown = client.screen(screen).await;
    assert_eq!((&shown["status"], &shown["transcript"]), (&json!("declined"), &json!([])));
}
