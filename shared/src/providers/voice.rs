//! What every voice provider speaks: the order of a call, the callbacks and reports of it, and their signature.
//!
//! The form is Vapi's; the simulated provider keeps to it. Reading is forgiving: what is unknown, missing or of an odd
//! type is left out, and never breaks the rest.

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

use crate::model::{Analysis, Excerpt, Outcome, Report, Scores, Speaker, Turn};
use crate::secret::Secret;

/// The name by which our structured output is found among a call's.
pub(super) const STRUCTURED_OUTPUT: &str = "rolecall_screen";

/// How old, or how far ahead, a signed callback may be.
const TOLERANCE_MILLIS: u64 = 5 * 60 * 1_000;
/// A timestamp from here on is in milliseconds: in seconds it would lie beyond the year 5000.
const FIRST_MILLIS: u64 = 100_000_000_000;
const MAX_AT_SECONDS: f64 = 86_400.0;
const MAX_SUMMARY: usize = 4_000;
const MAX_EXCERPT: usize = 500;
const MAX_EXCERPTS: usize = 50;
const MAX_REASON: usize = 150;
/// More than any conversation has: it keeps a transcript of very short turns within what one transaction can write.
const MAX_TURNS: usize = 10_000;

/// What is asked of a provider.
#[derive(Clone, Debug)]
pub struct CallOrder {
    /// Our opaque name of the screen; comes back with every callback.
    pub reference: String,
    /// The candidate's full name.
    pub candidate_name: String,
    /// The number to call, in E.164; the simulated provider needs none.
    pub phone: Option<String>,
    /// The role's title.
    pub role_title: String,
    /// The role's description, plain text or Markdown.
    pub role_description: Option<String>,
    /// When to call at the earliest; `None` for now.
    pub scheduled_at: Option<Timestamp>,
    /// Where the callbacks go.
    pub callback_url: String,
}

/// What a provider sends.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CallbackBody {
    /// The message as the provider has it, with the call, whose customer's `externalId` is the one that we ordered with.
    /// A `status-update` and an `end-of-call-report` change the screen, whatever else comes does not.
    #[schema(value_type = HashMap<String, Value>)]
    message: Value,
}

/// What a provider says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Our name of the screen, from the order.
    pub reference: String,
    /// The provider's name of the call.
    pub call_id: Option<String>,
    /// What has happened.
    pub news: News,
}

/// What has happened to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Somebody has answered.
    InProgress,
    /// It is over.
    Ended(Report),
    /// Nothing that matters to us.
    Other,
}

/// Reads a callback's body; `None` where it is not one: broken JSON, no message, no reference.
pub fn read_callback(body: &[u8]) -> Option<Callback> {
    let CallbackBody { message } = serde_json::from_slice(body).ok()?;
    let call = &message["call"];
    let customers = [&call["customer"], &message["customer"]];
    let reference = customers.into_iter().find_map(|customer| filled(&customer["externalId"]))?;
    let news = match (message["type"].as_str(), message["status"].as_str()) {
        (Some("status-update"), Some("in-progress")) => News::InProgress,
        (Some("end-of-call-report"), _) => News::Ended(report(&message)),
        _ => News::Other,
    };
    Some(Callback { reference, call_id: filled(&call["id"]), news })
}

/// Reads a call as the provider answers `GET /call/{id}`; `None` while it has not ended, or where it is no call.
pub fn read_call(body: &[u8]) -> Option<Report> {
    let call: Value = serde_json::from_slice(body).ok()?;
    (call["status"] == "ended").then(|| report(&call))
}

/// The signature of a body that is sent at `timestamp_seconds`: a hexadecimal HMAC-SHA256.
pub fn sign(secret: &Secret, timestamp_seconds: i64, body: &[u8]) -> String {
    mac(secret, &timestamp_seconds.to_string(), body).unwrap_or_default()
}

/// Whether `signature` is ours for this body, and `timestamp`, as it was sent in seconds or milliseconds, is at most
/// five minutes away from `now`.
pub fn verify(secret: &Secret, signature: &str, timestamp: &str, body: &[u8], now: Timestamp) -> bool {
    let Ok(sent) = timestamp.parse::<i64>() else { return false };
    let sent_millis = if sent.unsigned_abs() < FIRST_MILLIS { sent * 1_000 } else { sent };
    let fresh = sent_millis.abs_diff(now.as_millisecond()) <= TOLERANCE_MILLIS;
    let given = signature.to_ascii_lowercase();
    let genuine =
        mac(secret, timestamp, body).is_some_and(|ours| ours.as_bytes().ct_eq(given.as_bytes()).into());
    fresh && genuine
}

/// The structured output that a provider is asked for, which [`read_callback`] and [`read_call`] read again.
pub(super) fn structured_output() -> Value {
    let score = |about: &str| {
        let about = format!("{about} Leave it out where the conversation does not tell.");
        json!({"type": "integer", "minimum": 0, "maximum": 100, "description": about})
    };
    let excerpts = |about: &str| {
        json!({"type": "array", "description": about, "items": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "The candidate's exact words from one turn."},
                "turn": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "The turn that they stand in. The first turn is 0; count only what the \
                                    assistant and the candidate said.",
                },
            },
            "required": ["text", "turn"],
        }})
    };
    json!({"name": STRUCTURED_OUTPUT, "type": "ai", "schema": {
        "type": "object",
        "description": "An assessment of the candidate's answers, by what was said and nothing else. Age, \
                        sex, origin, religion, health, family and accent are never considered.",
        "properties": {
            "summary": {"type": "string", "description": "Three to five sentences for the hiring team."},
            "scores": {"type": "object", "properties": {
                "overall": score("All in all; 70 and more means that a next conversation is worth while."),
                "communication": score("How clear and to the point the answers were."),
                "experience": score("How well the experience fits the role."),
                "motivation": score("How well founded the interest in the role is."),
            }},
            "highlights": excerpts("What speaks for the candidate."),
            "red_flags": excerpts("What the hiring team should ask about again, if anything."),
        },
        "required": ["summary", "scores", "highlights", "red_flags"],
    }})
}

fn mac(secret: &Secret, timestamp: &str, body: &[u8]) -> Option<String> {
    let hmac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    let hmac = hmac.chain_update(timestamp).chain_update(".").chain_update(body);
    let bytes = hmac.finalize().into_bytes();
    Some(bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")))
}

/// A report has the same fields in a callback's message and in a call.
fn report(call: &Value) -> Report {
    let artifact = &call["artifact"];
    let transcript = transcript(artifact);
    Report {
        outcome: outcome(call["endedReason"].as_str().unwrap_or_default(), &transcript),
        started_at: time(&call["startedAt"]),
        ended_at: time(&call["endedAt"]),
        analysis: analysis(artifact, &transcript),
        transcript,
    }
}

fn outcome(reason: &str, transcript: &[Turn]) -> Outcome {
    match reason {
        "customer-did-not-answer" | "customer-busy" | "voicemail" => Outcome::NoAnswer,
        _ if !transcript.is_empty() => Outcome::Completed,
        _ => {
            let readable = |c: &char| c.is_ascii_alphanumeric() || " .,()-".contains(*c);
            let reason: String = reason.chars().filter(readable).take(MAX_REASON).collect();
            let because = match reason.trim() {
                "" => String::new(),
                reason => format!(" ({reason})"),
            };
            Outcome::Failed(format!("The call ended without a conversation{because}"))
        }
    }
}

fn transcript(artifact: &Value) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in list(&artifact["messages"]) {
        let speaker = match message["role"].as_str() {
            Some("bot" | "assistant") => Speaker::Agent,
            Some("user") => Speaker::Candidate,
            _ => continue,
        };
        let Some(text) = clean(&message["message"], usize::MAX) else { continue };
        let before = turns.last().map_or(0, |turn| turn.at_seconds);
        let at_seconds = message["secondsFromStart"].as_f64().map_or(before, whole_seconds);
        turns.push(Turn { speaker, text, at_seconds });
    }
    if turns.is_empty() {
        turns = turns_of_text(&clean(&artifact["transcript"], usize::MAX).unwrap_or_default());
    }
    turns.truncate(MAX_TURNS);
    turns
}

/// The turns of a transcript that is one text: each begins with `AI:` or `User:` at the start of a line.
fn turns_of_text(text: &str) -> Vec<Turn> {
    let mut said: Vec<(Speaker, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("AI:") {
            said.push((Speaker::Agent, vec![words]));
        } else if let Some(words) = line.strip_prefix("User:") {
            said.push((Speaker::Candidate, vec![words]));
        } else if let Some((_, lines)) = said.last_mut() {
            lines.push(line);
        }
    }
    let turn = |(speaker, lines): (Speaker, Vec<&str>)| Turn {
        speaker,
        text: lines.join("\n").trim().to_owned(),
        at_seconds: 0,
    };
    said.into_iter().map(turn).filter(|turn| !turn.text.is_empty()).collect()
}

fn analysis(artifact: &Value, transcript: &[Turn]) -> Option<Analysis> {
    let outputs = artifact["structuredOutputs"].as_object()?.values();
    let result = outputs
        .filter(|output| output["name"] == STRUCTURED_OUTPUT)
        .map(|output| &output["result"])
        .find(|result| result.is_object())?;
    let scores = &result["scores"];
    let spoken: Vec<String> = transcript.iter().map(|turn| comparable(&turn.text)).collect();
    Some(Analysis {
        summary: clean(&result["summary"], MAX_SUMMARY),
        scores: Scores {
            overall: score(&scores["overall"]),
            communication: score(&scores["communication"]),
            experience: score(&scores["experience"]),
            motivation: score(&scores["motivation"]),
        },
        highlights: excerpts(&result["highlights"], &spoken),
        red_flags: excerpts(&result["red_flags"], &spoken),
    })
}

fn excerpts(given: &Value, spoken: &[String]) -> Vec<Excerpt> {
    let excerpt = |item: &Value| {
        let text = clean(&item["text"], MAX_EXCERPT)?;
        let turn = supporting_turn(&text, &item["turn"], spoken);
        Some(Excerpt { text, turn })
    };
    list(given).filter_map(excerpt).take(MAX_EXCERPTS).collect()
}

/// The provider may number the turns of another transcript than ours, so the one turn that says the very words wins.
fn supporting_turn(text: &str, claimed: &Value, spoken: &[String]) -> Option<u32> {
    let words = comparable(text);
    let mut saying = spoken.iter().zip(0..).filter(|(turn, _)| turn.contains(&words)).map(|(_, index)| index);
    if let (Some(only), None) = (saying.next(), saying.next()) {
        return Some(only);
    }
    let index = u32::try_from(claimed.as_u64()?).ok()?;
    spoken.get(usize::try_from(index).ok()?).map(|_| index)
}

/// Text without what may differ between two copies of it: case and white space.
fn comparable(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a day")]
fn whole_seconds(seconds: f64) -> u32 {
    seconds.clamp(0.0, MAX_AT_SECONDS) as u32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
fn score(value: &Value) -> Option<u8> {
    value.as_f64().filter(|score| (0.0..=100.0).contains(score)).map(|score| score.round() as u8)
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn filled(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Trimmed text of at most `max` characters without control characters other than newline and tab.
fn clean(value: &Value, max: usize) -> Option<String> {
    let printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = value.as_str()?.chars().filter(printable).collect();
    let text: String = text.trim().chars().take(max).collect();
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ended(body: &Value) -> Report {
        match read_callback(body.to_string().as_bytes()).map(|callback| callback.news) {
            Some(News::Ended(report)) => report,
            other => panic!("no report: {other:?}"),
        }
    }

    /// The report of a call that ended for `reason` with this artifact.
    fn report_of(reason: &str, artifact: &Value) -> Report {
        ended(&json!({"message": {
            "type": "end-of-call-report",
            "endedReason": reason,
            "artifact": artifact,
            "call": {"id": "call-1", "customer": {"externalId": "screen-1"}},
        }}))
    }

    /// The analysis of a conversation whose three turns are `one two`, `Three  FOUR` and `one five`.
    fn analysis_of(result: &Value) -> Option<Analysis> {
        let artifact = json!({
            "messages": [
                {"role": "system", "message": "three four"},
                {"role": "bot", "message": "one two"},
                {"role": "user", "message": "Three  FOUR"},
                {"role": "bot", "message": "one five"},
            ],
            "structuredOutputs": {
                "a": {"name": "somebody_elses", "result": {"summary": "not ours"}},
                "b": {"name": STRUCTURED_OUTPUT, "result": result},
            },
        });
        report_of("customer-ended-call", &artifact).analysis
    }

    fn turn(speaker: Speaker, text: &str, at_seconds: u32) -> Turn {
        Turn { speaker, text: text.to_owned(), at_seconds }
    }

    #[test]
    fn a_callback_names_its_screen_and_its_news() {
        let read =
            |message: Value| read_callback(json!({"message": message, "more": 1}).to_string().as_bytes());
        let call =
            json!({"id": "call-1", "customer": {"externalId": "screen-1"}, "type": "outboundPhoneCall"});
        for (kind, status, news) in [
            ("status-update", "in-progress", News::InProgress),
            ("status-update", "ringing", News::Other),
            ("status-update", "ended", News::Other),
            ("status-update", "levitating", News::Other),
            ("speech-update", "in-progress", News::Other),
        ] {
            let callback = read(json!({"type": kind, "status": status, "call": call})).unwrap();
            assert_eq!(
                (callback.reference.as_str(), callback.call_id.as_deref()),
                ("screen-1", Some("call-1"))
            );
            assert_eq!(callback.news, news, "{kind} {status}");
        }
        let customer_only = read(json!({"customer": {"externalId": "screen-2"}, "call": {"customer": {}}}));
        let expected = Callback { reference: "screen-2".to_owned(), call_id: None, news: News::Other };
        assert_eq!(customer_only, Some(expected));
        for nobodys in
            [json!({}), json!(null), json!([]), json!("text"), json!({"customer": {"externalId": " "}})]
        {
            assert_eq!(read(nobodys), None);
        }
        for broken in ["", "{", "null", "[]", "{\"message\":", "\u{feff}{}"] {
            assert_eq!(read_callback(broken.as_bytes()), None, "{broken}");
        }
    }

    #[test]
    fn a_call_is_read_once_it_has_ended() {
        let mut call = json!({
            "id": "call-1",
            "status": "in-progress",
            "startedAt": "2026-11-20T09:30:00.250Z",
            "endedAt": "soon",
            "artifact": {"messages": [{"role": "user", "message": "Hello?"}]},
        });
        assert_eq!(read_call(call.to_string().as_bytes()), None);
        call["status"] = json!("ended");
        let report = read_call(call.to_string().as_bytes()).unwrap();
        assert_eq!(report.outcome, Outcome::Completed);
        assert_eq!(report.started_at, Some("2026-11-20T09:30:00.25Z".parse().unwrap()));
        assert_eq!((report.ended_at, report.analysis), (None, None));
        assert_eq!(report.transcript, [turn(Speaker::Candidate, "Hello?", 0)]);
        assert_eq!(read_call(b"<html>"), None);
    }

    #[test]
    fn the_outcome_follows_from_the_reason_and_the_transcript() {
        let talk = json!({"messages": [{"role": "user", "message": "Hello?"}]});
        for reason in ["customer-did-not-answer", "customer-busy", "voicemail"] {
            assert_eq!(report_of(reason, &talk).outcome, Outcome::NoAnswer);
        }
        for reason in ["customer-ended-call", "assistant-error", "", "something-new"] {
            assert_eq!(report_of(reason, &talk).outcome, Outcome::Completed, "{reason}");
        }
        let failed = |reason: &str| match report_of(reason, &Value::Null).outcome {
            Outcome::Failed(sentence) => sentence,
            other => panic!("{other:?}"),
        };
        assert_eq!(failed("assistant-error"), "The call ended without a conversation (assistant-error)");
        assert_eq!(failed("a<b>\u{202e}\n&\"b"), "The call ended without a conversation (abb)");
        assert_eq!(failed("\u{0}<>"), "The call ended without a conversation");
        assert_eq!(failed(""), "The call ended without a conversation");
        assert!((150..=200).contains(&failed(&"long ".repeat(9_000)).len()));
    }

    #[test]
    fn the_transcript_keeps_what_the_two_said() {
        let artifact = json!({"transcript": "AI: not this", "messages": [
            {"role": "system", "message": "You are an interviewer", "secondsFromStart": 0},
            {"role": "assistant", "message": " Hello\u{7}\r\n\tthere ", "secondsFromStart": 1.99},
            {"role": "user", "message": "Hi"},
            {"role": "tool_calls", "message": "look up", "secondsFromStart": 3},
            {"role": "user", "message": " \n "},
            {"role": "user"},
            {"message": "nobody's"},
            "odd",
            {"role": "bot", "message": "Bye", "secondsFromStart": 1e300},
            {"role": "bot", "message": "Bye!", "secondsFromStart": -4},
            {"role": "bot", "message": "Bye?", "secondsFromStart": "late"},
        ]});
        let expected = [
            turn(Speaker::Agent, "Hello\n\tthere", 1),
            turn(Speaker::Candidate, "Hi", 1),
            turn(Speaker::Agent, "Bye", 86_400),
            turn(Speaker::Agent, "Bye!", 0),
            turn(Speaker::Agent, "Bye?", 0),
        ];
        assert_eq!(report_of("", &artifact).transcript, expected);
    }

    #[test]
    fn a_transcript_in_one_text_will_do() {
        let text = "Beep\nAI: Hello: ready?\nUser: Yes.\n\nAnd you?\nUser:\nAI:  Fine.\n";
        let expected = [
            turn(Speaker::Agent, "Hello: ready?", 0),
            turn(Speaker::Candidate, "Yes.\n\nAnd you?", 0),
            turn(Speaker::Agent, "Fine.", 0),
        ];
        for messages in [json!(null), json!([]), json!([{"role": "system", "message": "x"}])] {
            let report = report_of("", &json!({"messages": messages, "transcript": text}));
            assert_eq!(report.transcript, expected);
        }
    }

    #[test]
    fn no_result_is_no_analysis_yet() {
        for result in [json!(null), json!("text"), json!([1]), json!(7)] {
            assert_eq!(analysis_of(&result), None, "{result}");
        }
        assert_eq!(analysis_of(&json!({})), Some(Analysis::default()));
        for artifact in [json!({}), json!({"structuredOutputs": null}), json!({"structuredOutputs": [1]})] {
            assert_eq!(report_of("", &artifact).analysis, None);
        }
    }

    #[test]
    fn a_score_is_a_number_from_0_to_100_or_nothing() {
        for (given, expected) in [
            (json!(0), Some(0)),
            (json!(100), Some(100)),
            (json!(69.5), Some(70)),
            (json!(69.4), Some(69)),
            (json!(100.1), None),
            (json!(-1), None),
            (json!(1e300), None),
            (json!("80"), None),
            (json!(null), None),
            (json!(true), None),
        ] {
            let analysis = analysis_of(&json!({"scores": {"overall": given, "experience": 55}})).unwrap();
            let expected = Scores { overall: expected, experience: Some(55), ..Scores::default() };
            assert_eq!(analysis.scores, expected, "{given}");
        }
        assert_eq!(analysis_of(&json!({"scores": 80})).unwrap().scores, Scores::default());
    }

    #[test]
    fn an_excerpt_points_at_the_turn_that_says_it() {
        for (text, claimed, expected) in [
            ("three four", json!(0), Some(1)),
            ("THREE\n four", json!(99), Some(1)),
            ("one", json!(2), Some(2)),
            ("one", json!(3), None),
            ("one", json!(null), None),
            ("one two", json!("1"), Some(0)),
            ("in other words", json!(1), Some(1)),
            ("in other words", json!(-1), None),
            ("in other words", json!(1.5), None),
            ("in other words", json!(4_294_967_296_u64), None),
        ] {
            let result = json!({"highlights": [{"text": text, "turn": claimed}]});
            let expected = [Excerpt { text: text.to_owned(), turn: expected }];
            assert_eq!(analysis_of(&result).unwrap().highlights, expected, "{text} {claimed}");
        }
    }

    #[test]
    fn texts_are_bounded_and_blank_ones_left_out() {
        let many: Vec<Value> =
            (0..80).map(|n| json!({"text": format!("{n}{}", "é".repeat(2_000))})).collect();
        let odd =
            json!([{"text": " \u{0} "}, {"turn": 1}, "text", null, {"text": 5}, {"text": " a\u{1b}b\r\nc "}]);
        let result = json!({"summary": "s".repeat(5_000), "highlights": many, "red_flags": odd});
        let analysis = analysis_of(&result).unwrap();
        assert_eq!(analysis.summary.unwrap().chars().count(), 4_000);
        assert_eq!(analysis.highlights.len(), 50);
        assert!(analysis.highlights.iter().all(|highlight| highlight.text.chars().count() == 500));
        let cut = analysis_of(&json!({"summary": format!("{} t", "s".repeat(3_999))})).unwrap();
        assert_eq!(cut.summary, Some("s".repeat(3_999)));
        assert_eq!(analysis.red_flags, [Excerpt { text: "ab\nc".to_owned(), turn: None }]);
        assert_eq!(
            analysis_of(&json!({"summary": " ", "highlights": {"text": "x"}})),
            Some(Analysis::default())
        );
    }

    #[test]
    fn a_megabyte_of_report_is_read() {
        let line = |n: usize| {
            let text = format!("answer {} {}", 10_000 + n, "x".repeat(60));
            json!({"role": "user", "message": text, "secondsFromStart": n})
        };
        let last = 10_000 + MAX_TURNS - 1;
        let quotes: Vec<Value> = (0..100).map(|n| json!({"text": format!("answer {}", last - n)})).collect();
        let result = json!({"highlights": quotes, "red_flags": quotes});
        let artifact = json!({
            "messages": (0..=MAX_TURNS).map(line).collect::<Vec<_>>(),
            "structuredOutputs": {"a": {"name": STRUCTURED_OUTPUT, "result": result}},
        });
        assert!(artifact.to_string().len() > 1_000_000);
        let report = report_of("", &artifact);
        assert_eq!(report.transcript.len(), MAX_TURNS);
        assert_eq!(report.analysis.unwrap().highlights.last().unwrap().turn, Some(9_950));
        let text = json!({"transcript": format!("AI: a{}", "\nb".repeat(500_000))});
        assert_eq!(report_of("", &text).transcript.first().unwrap().text.len(), 1_000_001);
        assert_eq!(read_callback("[".repeat(1_000_000).as_bytes()), None);
    }

    #[test]
    fn what_is_asked_for_is_what_is_read() {
        let asked = structured_output();
        assert!(STRUCTURED_OUTPUT.len() <= 40, "Vapi takes no longer name");
        assert_eq!((&asked["name"], &asked["type"]), (&json!(STRUCTURED_OUTPUT), &json!("ai")));
        let excerpt = Excerpt { text: "one five".to_owned(), turn: Some(2) };
        let analysis = Analysis {
            summary: Some("Good.".to_owned()),
            scores: Scores {
                overall: Some(1),
                communication: Some(2),
                experience: Some(3),
                motivation: Some(4),
            },
            highlights: vec![excerpt.clone()],
            red_flags: vec![excerpt],
        };
        let stored = serde_json::to_value(&analysis).unwrap();
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let properties = &asked["schema"]["properties"];
        assert_eq!(names(properties), names(&stored));
        assert_eq!(names(&properties["scores"]["properties"]), names(&stored["scores"]));
        for list in ["highlights", "red_flags"] {
            assert_eq!(names(&properties[list]["items"]["properties"]), names(&stored[list][0]));
        }
        assert_eq!(analysis_of(&stored), Some(analysis));
    }

    const NOW: i64 = 1_700_000_000;
    const BODY: &[u8] = br#"{"message":{}}"#;

    fn secret() -> Secret {
        Secret::new("a secret of ours")
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn the_signature_is_hmac_sha256_over_timestamp_and_body() {
        let signature = sign(&secret(), NOW, BODY);
        assert_eq!(signature, "91f99a4568008f18133da03df379f3aefe82545b4a0837f85ed1f8003fb41564");
        let verified = |secret: &str, signature: &str, timestamp: &str, body: &[u8]| {
            verify(&Secret::new(secret), signature, timestamp, body, at(NOW))
        };
        let ours = "a secret of ours";
        assert!(verified(ours, &signature, "1700000000", BODY));
        assert!(verified(ours, &signature.to_uppercase(), "1700000000", BODY));
        assert!(!verified("another secret", &signature, "1700000000", BODY));
        assert!(!verified(ours, &signature, "1700000001", BODY));
        assert!(!verified(ours, &signature, "01700000000", BODY));
        assert!(!verified(ours, &signature, "1700000000", br#"{"message": {}}"#));
        for junk in ["", "0", "zz", &signature[1..], &format!("{signature}0"), &format!(" {signature}"), "é"]
        {
            assert!(!verified(ours, junk, "1700000000", BODY), "{junk}");
        }
        for junk in ["", "now", "1700000000.0", " 1700000000", "9999999999999999999", "-9223372036854775808"]
        {
            let signature = mac(&secret(), junk, BODY).unwrap();
            assert!(!verified(ours, &signature, junk, BODY), "{junk}");
        }
    }

    #[test]
    fn a_signature_lives_for_five_minutes_either_way() {
        for (age_millis, good) in [
            (0, true),
            (299_000, true),
            (300_000, true),
            (300_001, false),
            (301_000, false),
            (-299_000, true),
            (-300_000, true),
            (-301_000, false),
            (86_400_000, false),
        ] {
            let now = Timestamp::from_millisecond(NOW * 1_000 + age_millis).unwrap();
            for timestamp in [NOW, NOW * 1_000] {
                let signature = sign(&secret(), timestamp, BODY);
                assert_eq!(
                    verify(&secret(), &signature, &timestamp.to_string(), BODY, now),
                    good,
                    "{age_millis}"
                );
            }
        }
    }

    /// JSON that resembles a callback, with anything anywhere.
    fn oddity() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
            prop::sample::select(vec![
                "end-of-call-report",
                "ended",
                "user",
                "bot",
                STRUCTURED_OUTPUT,
                "AI: x"
            ])
            .prop_map(Value::from),
        ];
        let names = prop::sample::select(vec![
            "message",
            "type",
            "status",
            "call",
            "customer",
            "externalId",
            "artifact",
            "messages",
            "role",
            "transcript",
            "secondsFromStart",
            "structuredOutputs",
            "name",
            "result",
            "scores",
            "overall",
            "highlights",
            "text",
            "turn",
            "endedReason",
            "startedAt",
        ]);
        leaf.prop_recursive(6, 64, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((names.clone(), inner), 0..8).prop_map(|fields| {
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Value>()
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reading(bytes: Vec<u8>, text: String, now: i32) {
            read_callback(&bytes);
            read_call(&bytes);
            verify(&secret(), &text, &text, &bytes, at(i64::from(now)));
        }

        #[test]
        fn no_shape_breaks_the_reading(artifact in oddity(), message in oddity()) {
            read_callback(json!({"message": message}).to_string().as_bytes());
            let report = report_of("", &artifact);
            let spoken = report.transcript.len();
            let analysis = report.analysis.unwrap_or_default();
            for excerpt in analysis.highlights.iter().chain(&analysis.red_flags) {
                prop_assert!(excerpt.turn.is_none_or(|turn| (turn as usize) < spoken));
            }
        }

        #[test]
        fn what_is_signed_is_verified_in_time(body: Vec<u8>, key: String, age in -600..600_i64, more: u8) {
            let key = Secret::new(key);
            let signature = sign(&key, NOW, &body);
            let verified = verify(&key, &signature, &NOW.to_string(), &body, at(NOW + age));
            prop_assert_eq!(verified, age.abs() <= 300);
            let mut changed = body;
            changed.push(more);
            prop_assert!(!verify(&key, &signature, &NOW.to_string(), &changed, at(NOW)));
        }
    }
}
