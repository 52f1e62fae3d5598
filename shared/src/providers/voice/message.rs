//! Vapi's JSON about calls: callbacks, reports, and the structured output that holds the analysis. The simulator sends
//! the same JSON.
//!
//! The parser is tolerant: it skips unknown fields, missing values and values of the wrong type.

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{CallEvent, Callback, ending};
use crate::clock::Timestamp;
use crate::model::{Analysis, Excerpt, Report, Scores, Speaker, Turn};

/// The name of our structured output among a call's outputs.
pub(super) const STRUCTURED_OUTPUT: &str = "rolecall_screen";

/// The first words of every call: they say that it is an AI, that the call is transcribed and not recorded, where the
/// privacy page is, and how to decline. `{name}`, `{organization}`, `{title}` and `{privacy_page}` are replaced.
pub(super) const GREETING: &str = "Hi {name}, this is an AI assistant calling for {organization} about the \
    {title} role. The call is transcribed for the hiring team, but not recorded. The page {privacy_page} explains \
    what happens to your data. If you would rather not take part, just say no, and I will end the call. \
    Otherwise I have a few questions, which will take less than ten minutes. Is it all right to go on now?";
/// What the interviewer says if the candidate declines. The provider then ends the call.
pub(super) const DECLINED_PHRASE: &str = "I will not continue with this call";

const MAX_AT_SECONDS: f64 = 86_400.0;
const MAX_SUMMARY: usize = 4_000;
const MAX_EXCERPT: usize = 500;
const MAX_EXCERPTS: usize = 50;
/// The maximum length of a reason, in characters. Vapi's longest has 115.
const MAX_REASON: usize = 150;
/// The maximum number of turns, which is more than any conversation has. It ensures that a transcript of very short
/// turns fits into one transaction.
const MAX_TURNS: usize = 10_000;

/// A voice provider's callback.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CallbackBody {
    /// The provider's message. `call.customer.externalId` is the reference from our order. Only messages of type
    /// `status-update` and `end-of-call-report` change the screen.
    #[schema(value_type = HashMap<String, Value>)]
    message: Value,
}

/// Parses a callback's body. Returns `None` for broken JSON, and for JSON without a message or a reference.
pub(super) fn read_callback(body: &[u8]) -> Option<Callback> {
    let CallbackBody { message } = serde_json::from_slice(body).ok()?;
    let call = &message["call"];
    let customers = [&call["customer"], &message["customer"]];
    let reference = customers.into_iter().find_map(|customer| non_blank(&customer["externalId"]))?;
    let event = match (message["type"].as_str(), message["status"].as_str()) {
        (Some("status-update"), Some("in-progress")) => CallEvent::InProgress,
        (Some("end-of-call-report"), _) => CallEvent::Ended(report(&message)),
        _ => CallEvent::Other,
    };
    Some(Callback { reference, call_id: non_blank(&call["id"]), event })
}

/// Parses the response to `GET /call/{id}`. Returns `None` if the call has not ended, or if the body is not a call.
pub(super) fn read_call(body: &[u8]) -> Option<Report> {
    let call: Value = serde_json::from_slice(body).ok()?;
    (call["status"] == "ended").then(|| report(&call))
}

/// The structured output that an order asks for, and that [`read_callback`] and [`read_call`] parse. `model` makes it, also
/// of the shortest conversation: who declines says little.
pub(super) fn structured_output(model: &str) -> Value {
    let score = |about: &str| {
        let about = format!("{about} Leave it out if the conversation gives no evidence.");
        json!({"type": "integer", "description": format!("{about} A whole number from 0 to 100.")})
    };
    let excerpts = |about: &str| {
        json!({"type": "array", "description": about, "items": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "The candidate's exact words from one turn."},
                "turn": {
                    "type": "integer",
                    "description": "The turn that has these words. The first turn is 0; count only the turns \
                                    of the assistant and the candidate.",
                },
            },
            "required": ["text", "turn"],
        }})
    };
    let model = json!({"provider": "openai", "model": model, "temperature": 0});
    let conditions = json!([{"type": "minMessages", "count": 0}]);
    json!({"name": STRUCTURED_OUTPUT, "type": "ai", "model": model, "conditions": conditions, "schema": {
        "type": "object",
        "description": "An assessment of the candidate's answers, based only on what was said. Never \
                        consider age, sex, origin, religion, health, family or accent.",
        "properties": {
            "summary": {"type": "string", "description": "Three to five sentences for the hiring team."},
            "scores": {"type": "object", "properties": {
                "overall": score("Overall. 70 or more means that a next interview is worthwhile."),
                "communication": score("How clear and to the point the answers were."),
                "experience": score("How well the experience fits the role."),
                "motivation": score("How strong the reasons for the interest in the role are."),
            }},
            "declined": {
                "type": "boolean",
                "description": "Whether the candidate declined to talk, to talk to an AI, or to be transcribed. \
                                Leave all scores out in that case.",
            },
            "highlights": excerpts("Answers that speak for the candidate."),
            "red_flags": excerpts("Answers that the hiring team should ask about again, if any."),
        },
        "required": ["summary", "scores", "declined", "highlights", "red_flags"],
    }})
}

/// Parses a report, which has the same fields in a callback's message and in a call.
fn report(call: &Value) -> Report {
    let artifact = &call["artifact"];
    let transcript = transcript(artifact);
    let result = result(artifact);
    let analysis = match result {
        Some(result) => Some(analysis(result, &transcript)),
        None => is_skipped(artifact).then(Analysis::default),
    };
    // A conversation with a score took place, whatever the flag says.
    let has_score = analysis.as_ref().is_some_and(|analysis| analysis.scores.overall.is_some());
    let has_declined = result.map(|result| result["declined"] == true && !has_score);
    let reason: String = call["endedReason"].as_str().unwrap_or_default().chars().take(MAX_REASON).collect();
    Report {
        outcome: ending::outcome(&reason, has_declined, &transcript),
        started_at: time(&call["startedAt"]),
        ended_at: time(&call["endedAt"]),
        analysis,
        transcript,
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
        let previous = turns.last().map_or(0, |turn| turn.at_seconds);
        let at_seconds = message["secondsFromStart"].as_f64().map_or(previous, whole_seconds);
        turns.push(Turn { speaker, text, at_seconds });
    }
    if turns.is_empty() {
        turns = split_turns(&clean(&artifact["transcript"], usize::MAX).unwrap_or_default());
    }
    turns.truncate(MAX_TURNS);
    turns
}

/// Splits a transcript that is a single string. Each turn starts with a line that begins with `AI:` or `User:`.
fn split_turns(text: &str) -> Vec<Turn> {
    let mut turns: Vec<(Speaker, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("AI:") {
            turns.push((Speaker::Agent, vec![words]));
        } else if let Some(words) = line.strip_prefix("User:") {
            turns.push((Speaker::Candidate, vec![words]));
        } else if let Some((_, lines)) = turns.last_mut() {
            lines.push(line);
        }
    }
    let turn = |(speaker, lines): (Speaker, Vec<&str>)| Turn {
        speaker,
        text: lines.join("\n").trim().to_owned(),
        at_seconds: 0,
    };
    turns.into_iter().map(turn).filter(|turn| !turn.text.is_empty()).collect()
}

/// The result of our structured output.
fn result(artifact: &Value) -> Option<&Value> {
    let outputs = artifact["structuredOutputs"].as_object()?.values();
    let ours = outputs.filter(|output| output["name"] == STRUCTURED_OUTPUT);
    ours.map(|output| &output["result"]).find(|result| result.is_object())
}

/// Whether Vapi has skipped our structured output, so that there will be no result.
fn is_skipped(artifact: &Value) -> bool {
    let skipped = artifact["skippedStructuredOutputs"].as_object();
    skipped.is_some_and(|skipped| skipped.values().any(|output| output["name"] == STRUCTURED_OUTPUT))
}

fn analysis(result: &Value, transcript: &[Turn]) -> Analysis {
    let scores = &result["scores"];
    let turns: Vec<String> = transcript.iter().map(|turn| normalized(&turn.text)).collect();
    Analysis {
        summary: clean(&result["summary"], MAX_SUMMARY),
        scores: Scores {
            overall: score(&scores["overall"]),
            communication: score(&scores["communication"]),
            experience: score(&scores["experience"]),
            motivation: score(&scores["motivation"]),
        },
        highlights: excerpts(&result["highlights"], &turns),
        red_flags: excerpts(&result["red_flags"], &turns),
    }
}

fn excerpts(items: &Value, turns: &[String]) -> Vec<Excerpt> {
    let excerpt = |item: &Value| {
        let text = clean(&item["text"], MAX_EXCERPT)?;
        let turn = supporting_turn(&text, &item["turn"], turns);
        Some(Excerpt { text, turn })
    };
    list(items).filter_map(excerpt).take(MAX_EXCERPTS).collect()
}

/// The index of the turn that an excerpt quotes. If exactly one turn contains the text, it is that turn, because the
/// provider may number its turns differently; otherwise it is the turn that the provider claims, if that turn exists.
fn supporting_turn(text: &str, claimed: &Value, turns: &[String]) -> Option<u32> {
    let text = normalized(text);
    let mut matching = turns.iter().zip(0..).filter(|(turn, _)| turn.contains(&text)).map(|(_, index)| index);
    if let (Some(only), None) = (matching.next(), matching.next()) {
        return Some(only);
    }
    let index = u32::try_from(claimed.as_u64()?).ok()?;
    turns.get(usize::try_from(index).ok()?).map(|_| index)
}

/// Text in lower case with single spaces, for comparisons.
fn normalized(text: &str) -> String {
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

fn non_blank(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Trimmed text of at most `max` characters, without control characters except newline and tab.
fn clean(value: &Value, max: usize) -> Option<String> {
    let printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = value.as_str()?.chars().filter(printable).collect();
    let text: String = text.trim().chars().take(max).collect();
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::Outcome;
    use proptest::prelude::*;

    fn ended(body: &Value) -> Report {
        match read_callback(body.to_string().as_bytes()).map(|callback| callback.event) {
            Some(CallEvent::Ended(report)) => report,
            other => panic!("no report: {other:?}"),
        }
    }

    /// The report of a call with this `endedReason` and artifact.
    fn report_of(reason: &str, artifact: &Value) -> Report {
        ended(&json!({"message": {
            "type": "end-of-call-report",
            "endedReason": reason,
            "artifact": artifact,
            "call": {"id": "call-1", "customer": {"externalId": "screen-1"}},
        }}))
    }

    /// The analysis of a conversation with the three turns `one two`, `Three  FOUR` and `one five`.
    fn analysis_of(result: &Value) -> Option<Analysis> {
        let artifact = json!({
            "messages": [
                {"role": "system", "message": "three four"},
                {"role": "bot", "message": "one two"},
                {"role": "user", "message": "Three  FOUR"},
                {"role": "bot", "message": "one five"},
            ],
            "structuredOutputs": {
                "a": {"name": "another_output", "result": {"summary": "not ours"}},
                "b": {"name": STRUCTURED_OUTPUT, "result": result},
            },
        });
        report_of("customer-ended-call", &artifact).analysis
    }

    fn turn(speaker: Speaker, text: &str, at_seconds: u32) -> Turn {
        Turn { speaker, text: text.to_owned(), at_seconds }
    }

    #[test]
    fn read_callback_returns_the_reference_and_the_event() {
        let read =
            |message: Value| read_callback(json!({"message": message, "more": 1}).to_string().as_bytes());
        let call =
            json!({"id": "call-1", "customer": {"externalId": "screen-1"}, "type": "outboundPhoneCall"});
        for (kind, status, event) in [
            ("status-update", "in-progress", CallEvent::InProgress),
            ("status-update", "ringing", CallEvent::Other),
            ("status-update", "ended", CallEvent::Other),
            ("status-update", "levitating", CallEvent::Other),
            ("speech-update", "in-progress", CallEvent::Other),
        ] {
            let callback = read(json!({"type": kind, "status": status, "call": call})).unwrap();
            assert_eq!(
                (callback.reference.as_str(), callback.call_id.as_deref()),
                ("screen-1", Some("call-1"))
            );
            assert_eq!(callback.event, event, "{kind} {status}");
        }
        let customer_only = read(json!({"customer": {"externalId": "screen-2"}, "call": {"customer": {}}}));
        let expected = Callback { reference: "screen-2".to_owned(), call_id: None, event: CallEvent::Other };
        assert_eq!(customer_only, Some(expected));
        for without_reference in
            [json!({}), json!(null), json!([]), json!("text"), json!({"customer": {"externalId": " "}})]
        {
            assert_eq!(read(without_reference), None);
        }
        for broken in ["", "{", "null", "[]", "{\"message\":", "\u{feff}{}"] {
            assert_eq!(read_callback(broken.as_bytes()), None, "{broken}");
        }
    }

    #[test]
    fn read_call_returns_a_report_once_the_call_has_ended() {
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
    fn the_assessment_says_whether_the_candidate_declined() {
        let talk = |result: Value| {
            let output = json!({"a": {"name": STRUCTURED_OUTPUT, "result": result}});
            let words = json!([{"role": "user", "message": "Hello?"}]);
            json!({"messages": words, "structuredOutputs": output})
        };
        for (result, outcome) in [
            (json!({"declined": true}), Outcome::Declined),
            (json!({"declined": true, "scores": {}}), Outcome::Declined),
            (json!({"declined": false}), Outcome::Completed),
            (json!({"declined": "true"}), Outcome::Completed),
            (json!({"declined": true, "scores": {"overall": 55}}), Outcome::Completed),
            (Value::Null, Outcome::Completed),
        ] {
            assert_eq!(report_of("customer-ended-call", &talk(result.clone())).outcome, outcome, "{result}");
        }
        let refusal = |result: Value| {
            let mut artifact = talk(result);
            let no = json!([{"role": "bot", "message": "Hi"}, {"role": "user", "message": "No, thanks."}]);
            artifact["messages"] = no;
            report_of("customer-ended-call", &artifact).outcome
        };
        assert_eq!(refusal(Value::Null), Outcome::Declined);
        assert_eq!(refusal(json!({"declined": false})), Outcome::Completed, "the assessment knows better");
    }

    #[test]
    fn a_skipped_output_is_an_empty_analysis() {
        let skipped = |name: &str| {
            let unmet = json!({"name": name, "unmetCondition": {"type": "minMessages", "count": 2}});
            report_of("", &json!({"skippedStructuredOutputs": {"b": unmet}})).analysis
        };
        assert_eq!(skipped(STRUCTURED_OUTPUT), Some(Analysis::default()));
        assert_eq!(skipped("another_output"), None);
        for odd in [json!(null), json!([]), json!({"b": null}), json!("b")] {
            assert_eq!(report_of("", &json!({"skippedStructuredOutputs": odd})).analysis, None, "{odd}");
        }
    }

    #[test]
    fn transcript_contains_only_the_agents_and_the_candidates_messages() {
        let artifact = json!({"transcript": "AI: not this", "messages": [
            {"role": "system", "message": "You are an interviewer", "secondsFromStart": 0},
            {"role": "assistant", "message": " Hello\u{7}\r\n\tthere ", "secondsFromStart": 1.99},
            {"role": "user", "message": "Hi"},
            {"role": "tool_calls", "message": "look up", "secondsFromStart": 3},
            {"role": "user", "message": " \n "},
            {"role": "user"},
            {"message": "no role"},
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
    fn transcript_in_one_string_is_split_into_turns() {
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
    fn missing_or_malformed_result_gives_no_analysis() {
        for result in [json!(null), json!("text"), json!([1]), json!(7)] {
            assert_eq!(analysis_of(&result), None, "{result}");
        }
        assert_eq!(analysis_of(&json!({})), Some(Analysis::default()));
        for artifact in [json!({}), json!({"structuredOutputs": null}), json!({"structuredOutputs": [1]})] {
            assert_eq!(report_of("", &artifact).analysis, None);
        }
    }

    #[test]
    fn score_outside_0_to_100_is_none() {
        for (value, expected) in [
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
            let analysis = analysis_of(&json!({"scores": {"overall": value, "experience": 55}})).unwrap();
            let expected = Scores { overall: expected, experience: Some(55), ..Scores::default() };
            assert_eq!(analysis.scores, expected, "{value}");
        }
        assert_eq!(analysis_of(&json!({"scores": 80})).unwrap().scores, Scores::default());
    }

    #[test]
    fn excerpt_refers_to_the_turn_that_contains_it() {
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
    fn long_strings_are_truncated_and_blank_strings_are_dropped() {
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
    fn report_of_one_megabyte_is_parsed() {
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
    fn structured_output_schema_matches_the_parser() {
        let output = structured_output("gpt-4.1");
        assert!(STRUCTURED_OUTPUT.len() <= 40, "Vapi limits names to 40 characters");
        assert_eq!((&output["name"], &output["type"]), (&json!(STRUCTURED_OUTPUT), &json!("ai")));
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
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        let mut properties = output["schema"]["properties"].clone();
        assert_eq!(properties["declined"].take()["type"], "boolean");
        properties.as_object_mut().unwrap().remove("declined");
        assert_eq!(names(&properties), names(&stored));
        assert_eq!(names(&properties["scores"]["properties"]), names(&stored["scores"]));
        for list in ["highlights", "red_flags"] {
            assert_eq!(names(&properties[list]["items"]["properties"]), names(&stored[list][0]));
        }
        assert_eq!(analysis_of(&stored), Some(analysis));
    }

    /// Random JSON that uses the field names and values of callbacks.
    fn random_callback() -> impl Strategy<Value = Value> {
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
            "skippedStructuredOutputs",
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
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            read_callback(&bytes);
            read_call(&bytes);
        }

        #[test]
        fn arbitrary_json_never_panics(artifact in random_callback(), message in random_callback()) {
            read_callback(json!({"message": message}).to_string().as_bytes());
            let report = report_of("", &artifact);
            let turns = report.transcript.len();
            let analysis = report.analysis.unwrap_or_default();
            for excerpt in analysis.highlights.iter().chain(&analysis.red_flags) {
                prop_assert!(excerpt.turn.is_none_or(|turn| (turn as usize) < turns));
            }
        }
    }
}
