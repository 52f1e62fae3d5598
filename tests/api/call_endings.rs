//! How calls end: the provider's reasons, and what was said until then.

use serde_json::{Value, json};
use tests::TestApi;
use tests::fake::NOWHERE;

use crate::vapi::services;
use crate::voice_screens::Client;
use crate::voice_webhook::{BROKEN, callback, conversation, deliver};

const SILENT: &str = "The candidate did not answer the call.";
const NUMBER: &str = "The phone number cannot be reached. Check it with the candidate.";
pub(super) const ACCOUNT: &str = "This service cannot make calls at present. Its operator has been told; invite the candidate again later.";
/// What a screen says while its call waits.
pub(super) const WAITING: &str = "The voice provider could not make the call yet. It is tried again.";
const CANCELLED: &str = "The call was cancelled at the voice provider.";
const UNEXPLAINED: &str = "The call ended before the candidate spoke.";
const DECLINED: &str = "The candidate declined the conversation.";
const TOO_LITTLE: &str = "The candidate said too little to judge: scores need three answers and 30 seconds.";

/// Reasons of the provider, and what a screen says if nobody spoke.
const ENDINGS: [(&str, &str); 62] = [
    // Nobody took the call.
    ("customer-did-not-answer", SILENT),
    ("customer-busy", SILENT),
    ("voicemail", SILENT),
    ("call.in-progress.error-providerfault-outbound-sip-408-request-timeout", SILENT),
    ("call.in-progress.error-providerfault-outbound-sip-480-temporarily-unavailable", SILENT),
    ("call.in-progress.error-providerfault-outbound-sip-486-busy-here", SILENT),
    ("call.in-progress.error-providerfault-outbound-sip-487-request-terminated", SILENT),
    ("call.ringing.hook-executed-say", SILENT),
    // One side hung up, or the time was up.
    ("customer-ended-call", SILENT),
    ("customer-ended-call-during-transfer", SILENT),
    ("customer-ended-call-after-warm-transfer-attempt", SILENT),
    ("assistant-ended-call", SILENT),
    ("assistant-ended-call-after-message-spoken", SILENT),
    ("assistant-ended-call-with-hangup-task", SILENT),
    ("silence-timed-out", SILENT),
    ("exceeded-max-duration", SILENT),
    ("call.in-progress.error-assistant-did-not-receive-customer-audio", SILENT),
    ("call.in-progress.twilio-completed-call", SILENT),
    ("call.in-progress.sip-completed-call", SILENT),
    ("vonage-completed", SILENT),
    ("sip-outbound-carrier-released-call", SILENT),
    // The interviewer said the words that end a declined call.
    ("assistant-said-end-call-phrase", DECLINED),
    // The number.
    ("twilio-reported-customer-misdialed", NUMBER),
    ("twilio-failed-to-connect-call", NUMBER),
    ("vonage-rejected", NUMBER),
    ("vonage-failed-to-connect-call", NUMBER),
    ("sip-outbound-unallocated-number", NUMBER),
    ("call.in-progress.error-sip-outbound-call-failed-to-connect", NUMBER),
    ("call.in-progress.error-providerfault-outbound-sip-404-not-found", NUMBER),
    // The operator's account.
    ("call.start.error-subscription-insufficient-credits", ACCOUNT),
    ("call.start.error-subscription-frozen", ACCOUNT),
    ("call.start.error-subscription-wallet-does-not-exist", ACCOUNT),
    ("call.start.error-subscription-upgrade-failed", ACCOUNT),
    ("call.start.error-fraud-check-failed", ACCOUNT),
    ("call.start.error-vapi-number-international", ACCOUNT),
    ("call.start.error-vapi-number-outbound-daily-limit", ACCOUNT),
    ("call.start.error-get-phone-number", ACCOUNT),
    ("call.start.assistant-version-error-validation", ACCOUNT),
    ("assistant-not-valid", ACCOUNT),
    ("call.in-progress.error-providerfault-outbound-sip-403-forbidden", ACCOUNT),
    ("pipeline-error-openai-401-unauthorized", ACCOUNT),
    ("pipeline-error-eleven-labs-quota-exceeded", ACCOUNT),
    // What passes.
    ("call.start.error-subscription-concurrency-limit-reached", WAITING),
    ("call.start.error-vapifault-database-error", WAITING),
    ("call.start.error-vapifault-worker-not-available", WAITING),
    ("call.in-progress.error-vapifault-worker-not-available", WAITING),
    ("call.in-progress.error-vapifault-transport-never-connected", WAITING),
    ("call.in-progress.error-providerfault-outbound-sip-503-service-unavailable", WAITING),
    ("worker-shutdown", WAITING),
    // Cancelled there.
    ("scheduled-call-deleted", CANCELLED),
    ("manually-canceled", CANCELLED),
    ("call-deleted", CANCELLED),
    // A component failed.
    ("call.in-progress.error-vapifault-worker-died", BROKEN),
    ("call.in-progress.error-vapifault-openai-429-exceeded-quota", BROKEN),
    ("call.in-progress.error-providerfault-deepgram-transcriber-failed", BROKEN),
    ("pipeline-error-openai-500-server-error", BROKEN),
    ("phone-call-provider-closed-websocket", BROKEN),
    ("call.in-progress.error-pipeline-no-available-llm-model", BROKEN),
    // Forwarding, which nobody orders, and what may come.
    ("assistant-forwarded-call", UNEXPLAINED),
    ("call.forwarding.operator-busy", UNEXPLAINED),
    ("a-reason-of-next-year", UNEXPLAINED),
    ("", UNEXPLAINED),
];

/// The status of a screen that says this.
fn status_of(summary: &str) -> &'static str {
    match summary {
        SILENT => "no_answer",
        DECLINED => "declined",
        WAITING => "queued",
        _ => "failed",
    }
}

/// A report: the reason, what the candidate said, and the overall score, if it was assessed.
fn report(reason: &str, said: &[&str], overall: Option<u8>) -> Value {
    let mut report = conversation(overall.unwrap_or(0));
    report["endedReason"] = json!(reason);
    let mut messages = vec![json!({ "role": "bot", "message": "Hi, this is an AI.", "secondsFromStart": 1 })];
    for (text, at) in said.iter().zip(1..) {
        messages.push(json!({ "role": "user", "message": text, "secondsFromStart": 20 * at }));
        messages.push(json!({ "role": "bot", "message": "I see.", "secondsFromStart": 20 * at + 5 }));
    }
    report["artifact"]["messages"] = json!(messages);
    if overall.is_none() {
        let skipped =
            json!({ "name": "rolecall_screen", "unmetCondition": { "type": "minMessages", "count": 2 } });
        report["artifact"]["structuredOutputs"] = json!({});
        report["artifact"]["skippedStructuredOutputs"] = json!({ "output-1": skipped });
    }
    report
}

async fn api() -> TestApi {
    TestApi::with_services(services(NOWHERE)).await
}

/// Delivers a report twice, and a while later the report of a conversation. Returns the screen as the first one left it.
async fn ended(api: &TestApi, client: &Client<'_>, screen: u64, report: Value) -> Value {
    let report = callback(api, screen, "end-of-call-report", report);
    deliver(api, &report).await.expect(200);
    let shown = client.screen(screen).await;
    let late = callback(api, screen, "end-of-call-report", conversation(84));
    for report in [report, late] {
        deliver(api, &report).await.expect(200);
        assert_eq!(
            client.screen(screen).await,
            shown,
            "neither an ended screen nor one whose call is put off changes"
        );
    }
    shown
}

#[tokio::test]
async fn a_call_in_which_nobody_spoke_is_no_interview() {
    let api = api().await;
    let client = Client::live(&api);
    let role = client.role().await;
    for (reason, summary) in ENDINGS {
        let candidate = client.candidate().await;
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        let shown = ended(&api, &client, screen, json!({ "endedReason": reason })).await;
        assert_eq!(shown["summary"], summary, "{reason}");
        assert_eq!(shown["status"], status_of(summary), "{reason}");
        assert_eq!((&shown["result"], &shown["scores"]["overall"]), (&Value::Null, &Value::Null), "{reason}");
        assert!(!client.history(candidate).await.contains(&"screen_completed".to_owned()), "{reason}");
        client.invite(candidate, role).await.expect(if summary == WAITING { 422 } else { 201 });
    }
    let stats = client.stats(role).await;
    assert_eq!(
        (&stats["screens_completed"], &stats["pass_rate"], &stats["average_score"]),
        (&json!(0), &Value::Null, &Value::Null)
    );
}

/// Whatever the reason is, and even if an assessment gave a score.
#[tokio::test]
async fn what_was_said_decides_how_a_screen_ends() {
    const TALK: [&str; 3] = ["Yes, go ahead.", "I ran the clusters.", "In March."];
    const MAILBOX: [&str; 4] = ["Please leave a message after the tone.", "Beep.", "Goodbye.", "Goodbye."];
    let api = api().await;
    let client = Client::live(&api);
    let (role, mut completed, mut judged) = (client.role().await, 0, 0);
    for ((reason, silent), number) in ENDINGS.into_iter().zip(0..) {
        let spoken = |status| match silent {
            DECLINED => "declined",
            SILENT if says_unanswered(reason) => "no_answer",
            _ => status,
        };
        let greeted = match silent {
            NUMBER | ACCOUNT | CANCELLED | BROKEN | WAITING => "failed",
            _ => "no_answer",
        };
        let (said, overall, status): (&[&str], _, _) = match number % 6 {
            0 => (&[], Some(0), greeted),
            1 => (&MAILBOX, Some(0), "no_answer"),
            2 => (&TALK, Some(84), spoken("completed")),
            3 => (&TALK, None, spoken("completed")),
            4 => (&["Hello?"], Some(12), spoken("completed")),
            _ => (&["No, thank you!"], None, spoken("declined")),
        };
        let candidate = client.candidate().await;
        let screen = client.invite(candidate, role).await.expect(201).number("/id");
        let shown = ended(&api, &client, screen, report(reason, said, overall)).await;
        assert_eq!(shown["status"], status, "{reason} {said:?}");
        let is_judged = status == "completed" && overall == Some(84);
        assert_eq!(shown["result"], if is_judged { json!("passed") } else { Value::Null }, "{reason}");
        assert_eq!(shown["summary"] == TOO_LITTLE, status == "completed" && said.len() < 3, "{reason}");
        assert_eq!(shown["transcript"].as_array().unwrap().is_empty(), status == "declined", "{reason}");
        assert!(
            shown["summary"].as_str().is_none_or(|summary| reason.is_empty() || !summary.contains(reason))
        );
        let history = client.history(candidate).await;
        assert_eq!(history.contains(&"screen_completed".to_owned()), status == "completed", "{reason}");
        completed += u32::from(status == "completed");
        judged += u32::from(is_judged);
    }
    let stats = client.stats(role).await;
    assert!(judged > 5 && completed > 20, "{judged} of {completed}");
    assert_eq!(stats["screens_completed"], completed);
    assert_eq!((&stats["pass_rate"], &stats["average_score"]), (&json!(1.0), &json!(84.0)));
}

/// Whether a reason says that nobody took the call.
fn says_unanswered(reason: &str) -> bool {
    ["answer", "busy", "voicemail", "sip-4", "ringing"].iter().any(|part| reason.contains(part))
}
