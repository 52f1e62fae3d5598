//! The simulator: a voice provider that makes no real calls. It makes up a conversation and sends the callbacks of a
//! real call. Two phone numbers, which belong to nobody, have other outcomes.

use jiff::SignedDuration;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::dialogue::{self, Measure, Topic};
use super::ending::DECLINED_REASON;
use super::message::{self, DECLINED_PHRASE, GREETING, STRUCTURED_OUTPUT};
use super::{
    CallError, CallEvent, CallOrder, Callback, ErasedCall, Pending, StartError, VoiceFacts, VoicePort,
    signature,
};
use crate::clock::Timestamp;
use crate::model::{Assessment, CallState, Report, VoiceProvider};
use crate::providers::client::HttpClient;
use crate::secret::Secret;

/// The duration of one spoken word: people say two and a half words per second.
const MILLIS_PER_WORD: u32 = 400;
/// The phone number of a candidate who declines the conversation.
const DECLINES: &str = "+15005550191";
/// The phone number of a candidate who does not answer.
const DOES_NOT_ANSWER: &str = "+15005550192";
/// What the simulator does.
pub(super) static FACTS: VoiceFacts = VoiceFacts {
    provider: VoiceProvider::Simulator,
    title: "Simulator",
    description: "Conversations are made up; nobody is called.",
    needs_phone: false,
    needs_consent: false,
    schedules_calls: false,
    accepts_repeated_orders: true,
    // Missing callbacks are sent again afterwards.
    report_timeout: SignedDuration::from_secs(30),
};

/// The simulator, with the secrets of its callbacks. The first one signs.
pub(super) struct Simulator<'p> {
    secrets: &'p [Secret],
}

impl<'p> Simulator<'p> {
    /// A simulator that signs with the first of these secrets.
    pub(super) const fn new(secrets: &'p [Secret]) -> Self {
        Self { secrets }
    }

    /// Sends the callbacks one after the other and stops when one fails.
    async fn send_callbacks(&self, client: &HttpClient, order: &CallOrder) {
        let Some(secret) = self.secrets.first() else { return };
        // Ids begin with their time. Without the rotation, those of one time would nearly cancel each other out.
        let seed = order.candidate_id.get() ^ order.role_id.get().rotate_left(32);
        let callbacks = if order.phone.as_deref() == Some(DOES_NOT_ANSWER) {
            vec![missed_call(order)]
        } else {
            callbacks(order, seed, order.ordered_at).to_vec()
        };
        for callback in callbacks {
            let body = callback.to_string();
            let sent_at = order.ordered_at.as_second();
            let request = client
                .post(&order.callback_url)
                .header("content-type", "application/json")
                .header("x-timestamp", sent_at)
                .header("x-signature", signature::sign(secret, sent_at, body.as_bytes()))
                .body(body);
            let tenant = order.tenant;
            match client.send(request).await {
                Ok(response) if response.status.is_success() => {}
                Ok(response) => {
                    tracing::warn!(%tenant, status = response.status.as_u16(), "a simulated callback was rejected");
                    break;
                }
                Err(error) => {
                    tracing::warn!(%tenant, no_answer = %error, "a simulated callback did not arrive");
                    break;
                }
            }
        }
    }
}

impl VoicePort for Simulator<'_> {
    fn facts(&self) -> &'static VoiceFacts {
        &FACTS
    }

    /// The answers and their points are made up.
    fn assessment(&self) -> Assessment {
        Assessment {
            provider: VoiceProvider::Simulator,
            model: None,
            prompt_version: None,
            rubric_version: None,
        }
    }

    fn webhook_secrets(&self) -> &[Secret] {
        self.secrets
    }

    fn start<'p>(
        &'p self,
        client: &'p HttpClient,
        order: &'p CallOrder,
    ) -> Pending<'p, Result<Option<String>, StartError>> {
        Box::pin(async move {
            self.send_callbacks(client, order).await;
            Ok(None)
        })
    }

    /// The simulator keeps no calls.
    fn find<'p>(
        &'p self,
        _: &'p HttpClient,
        _: &'p str,
        _: Timestamp,
    ) -> Pending<'p, Result<Vec<String>, CallError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// The simulator keeps no reports, because its callbacks contain everything.
    fn report<'p>(&'p self, _: &'p HttpClient, _: &'p str) -> Pending<'p, Result<Option<Report>, CallError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// A simulated call begins when it is ordered, so there is nothing to cancel.
    fn cancel<'p>(&'p self, _: &'p HttpClient, _: &'p str) -> Pending<'p, Result<(), CallError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// A simulated call leaves nothing behind.
    fn erase<'p>(
        &'p self,
        _: &'p HttpClient,
        _: &'p CallState,
    ) -> Pending<'p, Result<ErasedCall, CallError>> {
        Box::pin(std::future::ready(Ok(ErasedCall::Nothing)))
    }

    fn read_callback(&self, body: &[u8]) -> Option<Callback> {
        message::read_callback(body)
    }
}

/// The quality of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grade {
    Strong,
    Fair,
    Weak,
}

/// One turn of the conversation.
struct Line {
    role: &'static str,
    text: String,
}

/// A conversation and the material for its analysis.
struct Conversation {
    lines: Vec<Line>,
    highlights: Vec<Value>,
    red_flags: Vec<Value>,
    /// The points of each answer, 0 to 100.
    marks: Vec<(Measure, u32)>,
    /// Whether the candidate declined.
    declined: bool,
}

/// A source of choices. The same seed always gives the same choices.
#[derive(Clone, Copy)]
struct Choices(u64);

impl Choices {
    /// A number from 0 to `bound - 1` for this purpose; 0 if `bound` is 0.
    fn below(self, purpose: &str, bound: u32) -> u32 {
        let digest = Sha256::new().chain_update(self.0.to_be_bytes()).chain_update(purpose).finalize();
        let number = digest.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte));
        number.checked_rem(bound).unwrap_or(0)
    }

    fn pick<'a>(self, purpose: &str, options: &[&'a str]) -> &'a str {
        let index = self.below(purpose, u32::try_from(options.len()).unwrap_or(u32::MAX));
        usize::try_from(index).ok().and_then(|index| options.get(index)).copied().unwrap_or_default()
    }
}

/// The callbacks of a simulated call, in sending order: a `status-update` and an `end-of-call-report`. The same order
/// and seed always give the same conversation.
fn callbacks(order: &CallOrder, seed: u64, started_at: Timestamp) -> [Value; 2] {
    let choices = Choices(seed);
    let conversation = converse(order, choices);
    let (customer, call) = parties(order);
    let started_millis = started_at.as_millisecond();
    let mut messages = vec![
        json!({"role": "system", "message": "Interviewer", "time": started_millis, "secondsFromStart": 0}),
    ];
    let mut transcript = String::new();
    let mut elapsed = 1_200_u32;
    for (line, index) in conversation.lines.iter().zip(0..) {
        let words = u32::try_from(line.text.split_whitespace().count()).unwrap_or(u32::MAX);
        let duration = words.saturating_mul(MILLIS_PER_WORD);
        messages.push(json!({
            "role": line.role,
            "message": line.text,
            "time": started_millis.saturating_add(i64::from(elapsed)),
            "secondsFromStart": f64::from(elapsed) / 1_000.0,
            "duration": duration,
        }));
        let label = if line.role == "bot" { "AI" } else { "User" };
        transcript.extend([label, ": ", &line.text, "\n"]);
        let pause = 500 + choices.below(&format!("pause {index}"), 1_500);
        elapsed = elapsed.saturating_add(duration).saturating_add(pause);
    }
    let ended_at =
        started_at.checked_add(SignedDuration::from_millis(i64::from(elapsed))).unwrap_or(started_at);
    let ended_reason = match conversation.lines.last() {
        _ if conversation.declined => DECLINED_REASON,
        Some(line) if line.role == "user" => "customer-ended-call",
        _ => "assistant-ended-call",
    };
    let result = assess(order, &conversation, elapsed, choices);
    let status = json!({"message": {
        "type": "status-update",
        "status": "in-progress",
        "timestamp": started_millis,
        "call": call,
        "customer": customer,
    }});
    let report = json!({"message": {
        "type": "end-of-call-report",
        "endedReason": ended_reason,
        "startedAt": started_at.to_string(),
        "endedAt": ended_at.to_string(),
        "durationSeconds": elapsed / 1_000,
        "artifact": {
            "messages": messages,
            "transcript": transcript,
            "structuredOutputs": {"simulated-output": {"name": STRUCTURED_OUTPUT, "result": result}},
        },
        "analysis": {"summary": result["summary"]},
        "call": call,
        "customer": customer,
    }});
    [status, report]
}

/// The report on a simulated call, without the callbacks. The same order and seed always give the same conversation.
pub fn simulated_report(order: &CallOrder, seed: u64, started_at: Timestamp) -> Option<Report> {
    let [_, report] = callbacks(order, seed, started_at);
    match message::read_callback(report.to_string().as_bytes())?.event {
        CallEvent::Ended(report) => Some(report),
        CallEvent::InProgress | CallEvent::Other => None,
    }
}

/// The customer and the call in every callback.
fn parties(order: &CallOrder) -> (Value, Value) {
    let customer =
        json!({"name": order.candidate_name, "number": order.phone, "externalId": order.reference});
    let call_id = format!("simulated-{}", order.reference);
    let call = json!({"id": call_id, "type": "outboundPhoneCall", "customer": customer});
    (customer, call)
}

/// The callback of a call that nobody answers.
fn missed_call(order: &CallOrder) -> Value {
    let (customer, call) = parties(order);
    json!({"message": {
        "type": "end-of-call-report",
        "endedReason": "customer-did-not-answer",
        "call": call,
        "customer": customer,
    }})
}

fn converse(order: &CallOrder, choices: Choices) -> Conversation {
    let first_name = order.candidate_name.split_whitespace().next().unwrap_or_default();
    let fill = |text: &str, term: &str| {
        text.replace("{term}", term)
            .replace("{title}", &order.role_title)
            .replace("{organization}", &order.organization_name)
            .replace("{privacy_page}", order.privacy_page())
            .replace("{first_name}", first_name)
            .replace("{name}", &order.candidate_name)
    };
    let agent = |text: String| Line { role: "bot", text };
    let candidate = |text: String| Line { role: "user", text };
    let mut conversation = Conversation {
        lines: vec![agent(fill(GREETING, ""))],
        highlights: Vec::new(),
        red_flags: Vec::new(),
        marks: Vec::new(),
        declined: order.phone.as_deref() == Some(DECLINES),
    };
    if conversation.declined {
        conversation.lines.push(candidate(dialogue::REFUSAL.to_owned()));
        conversation
            .lines
            .push(agent(dialogue::REFUSAL_ACKNOWLEDGEMENT.replace("{phrase}", DECLINED_PHRASE)));
        return conversation;
    }
    conversation.lines.push(candidate(choices.pick("agreement", &dialogue::AGREEMENTS).to_owned()));
    for (index, (topic, term)) in topics(order, choices).into_iter().enumerate() {
        let question = fill(choices.pick(&format!("{} question", topic.name), &topic.questions), term);
        conversation.lines.push(agent(if index == 0 {
            question
        } else {
            let acknowledgement =
                choices.pick(&format!("{} acknowledgement", topic.name), &dialogue::ACKNOWLEDGEMENTS);
            format!("{acknowledgement} {question}")
        }));
        let grade = grade(topic, choices);
        let (answers, points, spread) = match grade {
            Grade::Strong => (&topic.strong, 82, 13),
            Grade::Fair => (&topic.fair, 66, 13),
            Grade::Weak => (&topic.weak, 34, 17),
        };
        let answer = choices.pick(&format!("{} answer", topic.name), answers);
        if let Some((_, quote)) = answer.split_once('[')
            && let Some((quote, _)) = quote.split_once(']')
        {
            let excerpts =
                if grade == Grade::Weak { &mut conversation.red_flags } else { &mut conversation.highlights };
            excerpts.push(json!({"text": fill(quote, term), "turn": conversation.lines.len()}));
        }
        conversation.lines.push(candidate(fill(&answer.replace(['[', ']'], ""), term)));
        conversation
            .marks
            .push((topic.measure, points + choices.below(&format!("{} points", topic.name), spread)));
    }
    conversation.lines.push(agent(fill(dialogue::FAREWELL, "")));
    if choices.below("says goodbye", 2) == 0 {
        conversation.lines.push(candidate(choices.pick("goodbye", &dialogue::GOODBYES).to_owned()));
    }
    conversation
}

/// The topics of the conversation, each with the term from the role's description that it asks about, if any.
fn topics(order: &CallOrder, choices: Choices) -> Vec<(&'static Topic, &str)> {
    let mut topics = vec![(&dialogue::BACKGROUND, "")];
    match terms(order.role_description.as_deref().unwrap_or_default()).as_slice() {
        [] => topics.push((&dialogue::PROJECT, "")),
        [term] => topics.push((&dialogue::FIRST_TERM, term)),
        [first, second, ..] => {
            topics.extend([(&dialogue::FIRST_TERM, *first), (&dialogue::SECOND_TERM, *second)]);
        }
    }
    let optional = [dialogue::SETBACK.name, dialogue::TEAMWORK.name, dialogue::QUESTIONS.name];
    let skipped = ["first skipped", "second skipped"].map(|which| choices.pick(which, &optional));
    let remaining = [
        &dialogue::SETBACK,
        &dialogue::TEAMWORK,
        &dialogue::MOTIVATION,
        &dialogue::AVAILABILITY,
        &dialogue::QUESTIONS,
    ];
    topics.extend(
        remaining.into_iter().filter(|topic| !skipped.contains(&topic.name)).map(|topic| (topic, "")),
    );
    topics
}

/// Chooses the grade of an answer. Half of the candidates are strong, a quarter are fair and a quarter are weak, and
/// the grades of each candidate vary.
fn grade(topic: &Topic, choices: Choices) -> Grade {
    let (strong, fair) = match choices.below("candidate", 4) {
        0 | 1 => (70, 95),
        2 => (25, 75),
        _ => (5, 40),
    };
    match choices.below(&format!("{} grade", topic.name), 100) {
        percent if percent < strong => Grade::Strong,
        percent if percent < fair => Grade::Fair,
        _ => Grade::Weak,
    }
}

/// The terms in a description that are worth asking about. Names, such as product names, come before long words.
fn terms(description: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begins_sentence = true;
    for word in description.split_whitespace() {
        let term = word
            .trim_start_matches(|c: char| !c.is_alphanumeric())
            .trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#'));
        let known = found.iter().any(|(_, known): &(u8, &str)| known.eq_ignore_ascii_case(term));
        if let Some(rank) = rank(term, begins_sentence).filter(|_| !known) {
            found.push((rank, term));
        }
        begins_sentence = term.is_empty() || word.ends_with(['.', '!', '?', ':']);
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, term)| term).collect()
}

/// The priority of a term as the subject of a question; 0 is the highest. Returns `None` for a term that is not worth
/// asking about.
fn rank(term: &str, begins_sentence: bool) -> Option<u8> {
    let length = term.chars().count();
    let capital = term.starts_with(char::is_uppercase);
    let word = term.starts_with(char::is_alphabetic)
        && term.chars().all(|c| c.is_alphanumeric() || matches!(c, '+' | '#' | '.' | '-'));
    let lower = term.to_lowercase();
    if !word || dialogue::EVERYDAY_WORDS.split(' ').any(|everyday| everyday == lower) {
        return None;
    }
    let unusual = |c: char| c.is_uppercase() || c.is_numeric() || matches!(c, '+' | '#');
    match length {
        2..=30 if term.chars().skip(1).any(unusual) => Some(0),
        4..=30 if capital && !begins_sentence => Some(1),
        9..=30 if !dialogue::NON_NOUN_ENDINGS.iter().any(|ending| lower.ends_with(ending)) => Some(2),
        _ => None,
    }
}

/// The analysis of a conversation, in the format of the structured output.
fn assess(order: &CallOrder, conversation: &Conversation, millis: u32, choices: Choices) -> Value {
    if conversation.declined {
        return json!({"declined": true});
    }
    let mean = |measures: &[Measure]| {
        let marks = conversation.marks.iter();
        let marks = marks.filter(|(measure, _)| measures.contains(measure)).map(|(_, points)| *points);
        marks.clone().sum::<u32>().checked_div(u32::try_from(marks.count()).unwrap_or(0)).unwrap_or(0)
    };
    let experience = mean(&[Measure::Experience]);
    let motivation = mean(&[Measure::Motivation]);
    let communication = mean(&[Measure::Experience, Measure::Motivation]) + choices.below("communication", 5);
    let overall = (2 * experience + motivation + communication) / 4;
    let sentence = |score: u32, [good, fair, poor]: [&'static str; 3]| match score {
        80.. => good,
        65.. => fair,
        _ => poor,
    };
    let seconds = millis / 1_000;
    let opening = format!(
        "{} talked about the {} role for {}:{:02} minutes.",
        order.candidate_name,
        order.role_title,
        seconds / 60,
        seconds % 60,
    );
    let summary = [
        opening.as_str(),
        sentence(experience, dialogue::EXPERIENCE_SUMMARIES),
        sentence(motivation, dialogue::MOTIVATION_SUMMARIES),
        sentence(communication, dialogue::COMMUNICATION_SUMMARIES),
        if overall >= 70 { dialogue::WORTHWHILE } else { dialogue::NOT_WORTHWHILE },
    ]
    .join(" ");
    json!({
        "summary": summary,
        "scores": {
            "overall": overall,
            "communication": communication,
            "experience": experience,
            "motivation": motivation,
        },
        "declined": false,
        "highlights": conversation.highlights,
        "red_flags": conversation.red_flags,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::model::{Analysis, Excerpt, Mode, Outcome, Speaker, Tenant};
    use crate::providers::voice::CallEvent;
    use proptest::prelude::*;

    const DESCRIPTION: &str = "We are looking for an experienced engineer. You will run **PostgreSQL** and \
        the Kubernetes clusters, and be responsible for observability (see https://example.com/Team).";

    fn order() -> CallOrder {
        let id = |n| Id::new(n).unwrap();
        CallOrder {
            tenant: Tenant { organization: id(1), mode: Mode::Test },
            reference: "screen-1".to_owned(),
            candidate_id: id(2),
            candidate_name: "Ada Lovelace".to_owned(),
            phone: None,
            organization_name: "Acme".to_owned(),
            privacy_url: "https://jobs.example/careers/acme/privacy".to_owned(),
            role_id: id(3),
            role_title: "Platform Engineer".to_owned(),
            role_description: Some(DESCRIPTION.to_owned()),
            ordered_at: start(),
            scheduled_at: None,
            callback_url: "https://jobs.example/webhooks/voice/simulator".to_owned(),
        }
    }

    fn start() -> Timestamp {
        Timestamp::from_second(1_700_000_000).unwrap()
    }

    fn read(callback: &Value) -> Callback {
        message::read_callback(callback.to_string().as_bytes()).unwrap()
    }

    fn report(order: &CallOrder, seed: u64) -> Report {
        let [first, second] = callbacks(order, seed, start());
        assert_eq!(read(&first).event, CallEvent::InProgress);
        let callback = read(&second);
        assert_eq!(callback.reference, order.reference);
        assert_eq!(callback.call_id, read(&first).call_id);
        match callback.event {
            CallEvent::Ended(report) => report,
            other => panic!("no report: {other:?}"),
        }
    }

    fn excerpts(analysis: &Analysis) -> impl Iterator<Item = &Excerpt> {
        analysis.highlights.iter().chain(&analysis.red_flags)
    }

    #[test]
    fn same_seed_gives_the_same_callbacks() {
        let bytes = |seed| callbacks(&order(), seed, start()).map(|callback| callback.to_string());
        assert_eq!(bytes(7), bytes(7));
        assert_ne!(bytes(7), bytes(8));
    }

    #[test]
    fn every_seed_gives_a_consistent_conversation() {
        let mut passed = 0;
        for seed in 0..500 {
            let described =
                CallOrder { role_description: (seed % 2 == 0).then(|| DESCRIPTION.to_owned()), ..order() };
            let report = report(&described, seed);
            let turns = &report.transcript;
            assert_eq!(report.outcome, Outcome::Completed);
            assert!((10..=18).contains(&turns.len()), "{} turns", turns.len());
            assert!(
                turns
                    .iter()
                    .zip(0..)
                    .all(|(turn, index)| (turn.speaker == Speaker::Agent) == (index % 2 == 0))
            );
            assert!(turns.windows(2).all(|pair| pair[0].at_seconds < pair[1].at_seconds));
            let greeting = &turns[0].text;
            assert!(greeting.contains("Ada Lovelace") && greeting.contains("Platform Engineer"));
            let asked = turns.iter().any(|turn| turn.text.contains("PostgreSQL"));
            assert_eq!(asked, described.role_description.is_some());
            assert!(turns.iter().all(|turn| !turn.text.contains(['{', '}', '[', ']'])));

            assert_eq!(report.started_at, Some(start()));
            let duration = report.ended_at.unwrap().as_second() - start().as_second();
            assert!((60..=480).contains(&duration), "{duration} seconds");
            assert!(i64::from(turns.last().unwrap().at_seconds) < duration);

            let analysis = report.analysis.unwrap();
            for excerpt in excerpts(&analysis) {
                let turn = &turns[usize::try_from(excerpt.turn.unwrap()).unwrap()];
                assert_eq!(turn.speaker, Speaker::Candidate);
                assert!(turn.text.contains(&excerpt.text), "{excerpt:?}");
            }
            let scores = analysis.scores;
            let [overall, experience, motivation] =
                [scores.overall, scores.experience, scores.motivation].map(Option::unwrap);
            assert!(overall >= experience.min(motivation) && overall <= experience.max(motivation) + 4);
            let summary = analysis.summary.unwrap();
            assert_eq!(summary.contains(dialogue::WORTHWHILE), overall >= 70, "{summary}");
            assert!(overall < 85 || analysis.highlights.len() > analysis.red_flags.len());
            assert!(overall >= 50 || analysis.highlights.len() <= 1);
            passed += u32::from(overall >= 70);
        }
        assert!((225..=375).contains(&passed), "{passed} of 500 passed");
    }

    #[test]
    fn a_phone_number_decides_who_declines_and_who_does_not_answer() {
        let with = |phone: &str| CallOrder { phone: Some(phone.to_owned()), ..order() };
        let declined = report(&with(DECLINES), 7);
        assert_eq!(declined.outcome, Outcome::Declined);
        let said: Vec<_> =
            declined.transcript.iter().map(|turn| (turn.speaker, turn.text.as_str())).collect();
        assert_eq!((said.len(), said[1]), (3, (Speaker::Candidate, dialogue::REFUSAL)));
        assert!(said[2].1.contains(DECLINED_PHRASE));
        assert_eq!(report(&with("+15005550193"), 7), report(&order(), 7), "any other number");
        let callback = read(&missed_call(&with(DOES_NOT_ANSWER)));
        assert_eq!(callback.reference, order().reference);
        let CallEvent::Ended(missed) = callback.event else { panic!("no report") };
        assert_eq!(missed.outcome, Outcome::NoAnswer);
    }

    #[test]
    fn the_first_words_say_that_it_is_an_ai_that_it_records_and_how_to_decline() {
        let greeting = &report(&order(), 7).transcript[0].text;
        for words in
            ["AI assistant", "Acme", "transcribed", "jobs.example/careers/acme/privacy", "just say no"]
        {
            assert!(greeting.contains(words), "{greeting}");
        }
    }

    #[test]
    fn excerpts_keep_the_simulators_turn_numbers() {
        for seed in 0..100 {
            let [_, second] = callbacks(&order(), seed, start());
            let result = &second["message"]["artifact"]["structuredOutputs"]["simulated-output"]["result"];
            let claimed = |list: &str| -> Vec<Option<u64>> {
                result[list].as_array().unwrap().iter().map(|excerpt| excerpt["turn"].as_u64()).collect()
            };
            let analysis = report(&order(), seed).analysis.unwrap();
            let read: Vec<Option<u64>> =
                excerpts(&analysis).map(|excerpt| excerpt.turn.map(u64::from)).collect();
            assert_eq!(read, [claimed("highlights"), claimed("red_flags")].concat());
        }
    }

    #[test]
    fn terms_are_names_and_then_long_words() {
        assert_eq!(terms(DESCRIPTION), ["PostgreSQL", "Kubernetes", "observability"]);
        assert_eq!(terms("C++ and C#, node.js, TypeScript; typescript."), ["C++", "C#", "TypeScript"]);
        assert_eq!(terms("REQUIREMENTS: Your experience. Please apply at jobs@example.com!"), [""; 0]);
        assert_eq!(
            terms("- Bookkeeping and accountancy\n- Responsible, reliable, {template} 24/7"),
            ["accountancy"]
        );
        assert_eq!(terms(&"長".repeat(200)), [""; 0]);
    }

    proptest! {
        #[test]
        fn every_order_gives_a_completed_conversation(
            seed: u64,
            name in "\\PC{1,60}",
            title in "\\PC{1,60}",
            description in proptest::option::of("(?s).{0,200}"),
            started_at in any::<i32>(),
        ) {
            let order = CallOrder {
                candidate_name: name, role_title: title, role_description: description, ..order()
            };
            let started_at = Timestamp::from_second(i64::from(started_at)).unwrap();
            let [_, ended] = callbacks(&order, seed, started_at);
            let CallEvent::Ended(report) = read(&ended).event else { panic!("no report") };
            prop_assert_eq!(report.outcome, Outcome::Completed);
            let analysis = report.analysis.unwrap();
            prop_assert!(excerpts(&analysis).all(|excerpt| excerpt.turn.is_some()));
        }
    }

    #[test]
    fn conversation_at_the_latest_timestamp_has_no_duration() {
        let [_, ended] = callbacks(&order(), 1, Timestamp::MAX);
        assert_eq!(ended["message"]["endedAt"], ended["message"]["startedAt"]);
    }
}
