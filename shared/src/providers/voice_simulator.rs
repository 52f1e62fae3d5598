//! The simulated voice provider: what it says on the phone, and the callbacks that it sends.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::voice::{CallOrder, STRUCTURED_OUTPUT};

/// How long a word takes: two and a half are spoken in a second.
const MILLIS_PER_WORD: u32 = 400;

/// How good an answer is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grade {
    Strong,
    Fair,
    Weak,
}

/// Which score an answer counts for, beside communication.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Experience,
    Motivation,
}

/// A question with the answers that candidates give to it. What stands in brackets is quoted: as a highlight of a
/// strong answer, as a red flag of a weak one.
struct Topic {
    name: &'static str,
    measure: Measure,
    questions: [&'static str; 2],
    strong: [&'static str; 3],
    fair: [&'static str; 3],
    weak: [&'static str; 3],
}

const GREETING: &str = "Hello {name}, I am an AI assistant, and I am calling for the hiring team about the \
    {title} role. I have a few questions, and what we say is transcribed for the team. Is now a good time?";
const AGREEMENTS: [&str; 3] = [
    "Yes, now is fine.",
    "Hi, yes, I was expecting your call. Go ahead.",
    "Sure, let me just close the door. All right, I am ready.",
];
const ACKNOWLEDGEMENTS: [&str; 4] = ["Thank you.", "I see, thank you.", "All right.", "Understood."];
const FAREWELL: &str = "That was my last question. Thank you for your time, {first_name}. The hiring team \
    will read this conversation and be in touch. Goodbye!";
const GOODBYES: [&str; 2] = ["Thank you, goodbye.", "Thanks, I look forward to it. Bye!"];

const BACKGROUND: Topic = Topic {
    name: "background",
    measure: Measure::Experience,
    questions: [
        "To begin with, what have you been working on in recent years?",
        "Could you tell me briefly what you have done so far?",
    ],
    strong: [
        "I have done this kind of work full time for six years. [In my current job I lead a team of four], \
         and before that I built the same function up from nothing at a much smaller company.",
        "Eight years in comparable positions, at two employers. [I took over a project that was three \
         months late and we delivered it on the date that we had promised]. Since then I am usually handed \
         the difficult ones.",
        "I began as an assistant and worked my way up over seven years. [Today I plan the work of my whole \
         group and answer for the results], and I still do a good part of it with my own hands.",
    ],
    fair: [
        "I have been in a similar position for about two years, mostly supporting more senior colleagues. I \
         know the daily work well, but I have not been in charge of it yet.",
        "I come from a neighbouring field and moved over a year and a half ago. A good part of what I did \
         before carries over, I think.",
        "Three years, at one company. The work was steady and I know it well, though it was always the same \
         kind of task.",
    ],
    weak: [
        "Different things, really. A bit of this and a bit of that. [I never stayed anywhere for more than \
         a few months].",
        "Well, it is all in my papers. [I would rather not go through all of that again].",
        "Mostly something else, to be honest. I have not done this kind of work before, but it cannot be \
         that hard.",
    ],
};

const PROJECT: Topic = Topic {
    name: "project",
    measure: Measure::Experience,
    questions: [
        "Could you walk me through a piece of work that you are proud of?",
        "Which result of the past year was mostly your own doing?",
    ],
    strong: [
        "Our customers waited two weeks for an answer. I looked at every step, dropped the ones that nobody \
         needed, and [we brought the waiting time down to three days]. The team still works that way.",
        "We had to move everything to a new system without closing for a single day. [I wrote the plan, \
         tried it out twice at a weekend, and nobody noticed the move], which was the best praise.",
        "I noticed that we paid twice for the same service. [I renegotiated the contract and it saved us a \
         fifth of the yearly cost]. It took a month of patient talks.",
    ],
    fair: [
        "We reorganised the way that requests come in. I was one of five, and my part was to collect what \
         people needed.",
        "I kept things running while two colleagues were away. Nothing spectacular, but nothing was left \
         undone either.",
        "There was a small improvement to our weekly report that I suggested. It saves an hour or so.",
    ],
    weak: [
        "I cannot think of anything in particular just now.",
        "The last one was fine. [My manager did most of it, but I can put my name to it].",
        "That is hard to say. We just did what was on the list.",
    ],
};

const FIRST_TERM: Topic = Topic {
    name: "first term",
    measure: Measure::Experience,
    questions: [
        "The description of the role mentions {term}. What have you done with that yourself?",
        "One thing in the role's description is {term}. Where have you worked with it?",
    ],
    strong: [
        "Quite a lot. [I was responsible for {term} for three years], including the parts that nobody else \
         wanted to touch. The hardest bit was handing it over without anything breaking.",
        "Nearly every week. [I wrote the guide to {term} that our new colleagues start with], and I still \
         keep it up to date, because the questions never quite stop.",
        "That was the heart of my last job. [When I came, {term} was our weakest point, and after a year \
         other teams asked us for advice]. I would gladly do it again.",
    ],
    fair: [
        "I have worked with it alongside others, never as the one in charge. With {term} I would need a few \
         weeks until I am on my own.",
        "Some. We touched on {term} in my last job, and I have read up on it since. I understand the \
         basics.",
        "About a year, in a small setting. I know what {term} is about, but not at a large scale.",
    ],
    weak: [
        "Not much, really. [I only wrote {term} into my application because everyone does].",
        "I have heard of it. Somebody else took care of that.",
        "Hmm, {term}. I think we had a course about that once, but I do not remember much of it.",
    ],
};

const SECOND_TERM: Topic = Topic {
    name: "second term",
    measure: Measure::Experience,
    questions: [
        "And {term}: how confident would you be there on the first day?",
        "It also speaks of {term}. How confident are you with that?",
    ],
    strong: [
        "Quite confident. [I trained two colleagues in {term} last year], and teaching it showed me what I \
         had not understood.",
        "Very. [I have done that under real time pressure, and it held up]. I would want to see your \
         setting first, of course.",
        "That is what I enjoy most. [I spend about half of my week on {term}], so I would feel at home.",
    ],
    fair: [
        "Reasonably. I would look things up in the beginning, but I would not be lost.",
        "I know it from one project. For {term} I would want somebody to ask now and then.",
        "Halfway. I have used it, but I would not call myself an expert.",
    ],
    weak: [
        "Not very. I would hope that somebody shows me.",
        "To be frank, [I say yes to everything in an interview and sort it out later].",
        "I would have to start from zero with {term}, I am afraid.",
    ],
};

const SETBACK: Topic = Topic {
    name: "setback",
    measure: Measure::Experience,
    questions: [
        "Tell me about something that went wrong, and what you did about it.",
        "When did a plan of yours last fail, and how did you handle it?",
    ],
    strong: [
        "A delivery fell through the day before it was due. [I told the customer within the hour and agreed \
         on a smaller first part, which we had ready on time]. Afterwards we changed how we plan.",
        "I had misread a requirement, and we lost a week. [I said so in front of the team, and we now read \
         every requirement aloud together]. It has not happened again.",
        "We lost our most important supplier overnight. [I called eleven others in two days and found a \
         replacement before the stock ran out]. I slept well after that.",
    ],
    fair: [
        "We were late once because two of us thought that the other one was on it. We talked it over and it \
         got better.",
        "A colleague left in the middle of a project. It was a stressful time, but we managed somehow.",
        "I underestimated a task. I asked for help, a bit later than I should have, and it was done in the \
         end.",
    ],
    weak: [
        "[I missed a deadline and did not tell anyone until the day after]. The plan was wrong, so it was \
         not my fault.",
        "Nothing comes to mind. Things usually go fine.",
        "[Usually it is the others who make the mistakes], so I cannot say much about that.",
    ],
};

const TEAMWORK: Topic = Topic {
    name: "teamwork",
    measure: Measure::Experience,
    questions: [
        "How do you work with people who see things differently?",
        "How do you and your colleagues settle a disagreement?",
    ],
    strong: [
        "I ask them to show me what they see. [Last spring a colleague and I each argued the other one's \
         case, and we ended up with a better plan than either of us had]. That works surprisingly often.",
        "Openly, and early on. [Two former colleagues asked me to join them at their next company], so it \
         cannot be all wrong.",
        "I look for what we agree on first. [Our sales people and our planners did not speak to each other, \
         so I set up a short weekly round that still exists].",
    ],
    fair: [
        "I am easy to get along with. I tend to keep out of arguments, maybe more than I should.",
        "It depends on the person. With most people it goes well once we know each other.",
        "I listen first. If it cannot be settled, I leave it to the manager.",
    ],
    weak: [
        "[I mostly end up doing it my own way, because discussions take too long].",
        "That has not really come up.",
        "I would say I get along. You would have to ask them.",
    ],
};

const MOTIVATION: Topic = Topic {
    name: "motivation",
    measure: Measure::Motivation,
    questions: ["What interests you in the {title} role?", "Why the {title} role, and why now?"],
    strong: [
        "It is the part of my present job that I like best, only that here it is the whole job. [I have \
         read everything on your career page and spoke to somebody who works for you], and what I heard \
         fits.",
        "I have reached the end of what I can learn where I am. [I want to answer for something from \
         beginning to end, and that is what this role describes].",
        "[I have looked for exactly this combination for half a year and turned two other offers down]. I \
         would rather wait for the right one than change twice.",
    ],
    fair: [
        "It sounds like a sensible next step. I liked the description, and the place suits me.",
        "I am looking around at the moment, and this is one of the three roles that I find interesting.",
        "A friend told me that you are a good employer. I do not know much more yet.",
    ],
    weak: [
        "[I apply to everything that comes up at the moment], so I would have to look up which one this \
         was.",
        "I need something new, and quickly. The rest does not matter that much.",
        "I am not sure yet. I thought that you would tell me.",
    ],
};

const AVAILABILITY: Topic = Topic {
    name: "availability",
    measure: Measure::Motivation,
    questions: [
        "If it all works out, when could you start?",
        "What is your notice period, and does the place of work suit you?",
    ],
    strong: [
        "In four weeks. [I have already spoken to my manager about handing over my work], so there is \
         nothing in the way, and the place suits me as well.",
        "I am bound for one month. [I would use that time to prepare, and I could come in for a day before \
         I start].",
        "At the beginning of next month. [I have checked the way to work and the hours, and both suit me \
         well].",
    ],
    fair: [
        "I have three months' notice. Perhaps it can be shortened; I would have to ask.",
        "Some time in the next quarter. The place is all right, though working from home now and then would \
         help.",
        "In about two months, after a holiday that is already booked.",
    ],
    weak: [
        "I do not know whether I want to change at all. [I am mostly after an offer that I can show to my \
         present employer].",
        "Hard to say. Let us see when it gets that far.",
        "[I signed with another company last week, but I could still get out of that].",
    ],
};

const QUESTIONS: Topic = Topic {
    name: "questions",
    measure: Measure::Motivation,
    questions: [
        "Is there something that you would like to ask the hiring team? I will pass it on.",
        "What would you like to know from the hiring team? I will note it for them.",
    ],
    strong: [
        "Yes. [What should the person in this role have achieved after six months]? That would tell me \
         where to put my attention first.",
        "Two things: [who would I work with most closely, and what is the hardest part of the job that the \
         description does not mention]?",
        "I do. [How does the team decide what is not going to be done]? In my experience that says a lot.",
    ],
    fair: [
        "How many people are in the team?",
        "Only how long the process takes from here.",
        "Perhaps what a normal day looks like.",
    ],
    weak: ["No, nothing.", "Not that I can think of.", "No. Are we done then?"],
};

/// What the analysis says of a good, a fair and a poor score.
const EXPERIENCE: [&str; 3] = [
    "The experience fits the role well and was shown by concrete examples.",
    "The experience fits in part; it would take some time to grow into the role.",
    "The answers on experience stayed thin.",
];
const INTEREST: [&str; 3] = [
    "The interest in the role is well founded.",
    "There is interest in the role, though it is not a strong one.",
    "Why it should be this role remained open.",
];
const CLARITY: [&str; 3] = [
    "The answers were clear and to the point.",
    "The answers were clear enough, if short at times.",
    "Many answers were short or evasive.",
];
const WORTH_WHILE: &str = "All in all, a next conversation is worth while.";
const NOT_WORTH_WHILE: &str = "All in all, little speaks for a next conversation.";

/// Words that stand in every description, so that nobody would ask about them.
const EVERYDAY_WORDS: &str = "about applicants background benefits candidate candidates colleagues \
    environment everything experience hiring including knowledge opportunity please position qualifications \
    requirements responsibilities responsibility salary something together your";
/// Endings of words that are seldom nouns.
const NO_NOUN_ENDINGS: [&str; 9] = ["able", "ed", "ful", "ible", "ing", "ive", "less", "ly", "ous"];

/// One side's words.
struct Line {
    role: &'static str,
    text: String,
}

/// A conversation with what is to be thought of it.
struct Conversation {
    lines: Vec<Line>,
    highlights: Vec<Value>,
    red_flags: Vec<Value>,
    /// Each answer's points, 0 to 100.
    marks: Vec<(Measure, u32)>,
}

/// Choices that are the same for the same seed.
#[derive(Clone, Copy)]
struct Choices(u64);

impl Choices {
    /// A number from 0 to `bound - 1` for this question; 0 where `bound` is 0.
    fn below(self, question: &str, bound: u32) -> u32 {
        let digest = Sha256::new().chain_update(self.0.to_be_bytes()).chain_update(question).finalize();
        let number = digest.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte));
        number.checked_rem(bound).unwrap_or(0)
    }

    fn pick<'a>(self, question: &str, from: &[&'a str]) -> &'a str {
        let index = self.below(question, u32::try_from(from.len()).unwrap_or(u32::MAX));
        usize::try_from(index).ok().and_then(|index| from.get(index)).copied().unwrap_or_default()
    }
}

/// The callbacks of a simulated call, in the order in which they are to be sent: a status-update, then an
/// end-of-call-report. The same order and seed give the same conversation.
pub fn callbacks(order: &CallOrder, seed: u64, started_at: Timestamp) -> [Value; 2] {
    let choices = Choices(seed);
    let conversation = converse(order, choices);
    let customer =
        json!({"name": order.candidate_name, "number": order.phone, "externalId": order.reference});
    let call_id = format!("simulated-{}", order.reference);
    let call = json!({"id": call_id, "type": "outboundPhoneCall", "customer": customer});

    let started_millis = started_at.as_millisecond();
    let mut messages = vec![
        json!({"role": "system", "message": "Interviewer", "time": started_millis, "secondsFromStart": 0}),
    ];
    let mut transcript = String::new();
    let mut elapsed = 1_200_u32;
    for (line, index) in conversation.lines.iter().zip(0..) {
        let words = u32::try_from(line.text.split_whitespace().count()).unwrap_or(u32::MAX);
        let lasts = words.saturating_mul(MILLIS_PER_WORD);
        messages.push(json!({
            "role": line.role,
            "message": line.text,
            "time": started_millis.saturating_add(i64::from(elapsed)),
            "secondsFromStart": f64::from(elapsed) / 1_000.0,
            "duration": lasts,
        }));
        let label = if line.role == "bot" { "AI" } else { "User" };
        transcript.extend([label, ": ", &line.text, "\n"]);
        let pause = 500 + choices.below(&format!("pause {index}"), 1_500);
        elapsed = elapsed.saturating_add(lasts).saturating_add(pause);
    }
    let ended_at =
        started_at.checked_add(SignedDuration::from_millis(i64::from(elapsed))).unwrap_or(started_at);
    let left_by = if conversation.lines.last().is_some_and(|line| line.role == "user") {
        "customer"
    } else {
        "assistant"
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
        "endedReason": format!("{left_by}-ended-call"),
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

fn converse(order: &CallOrder, choices: Choices) -> Conversation {
    let first_name = order.candidate_name.split_whitespace().next().unwrap_or_default();
    let fill = |text: &str, term: &str| {
        text.replace("{term}", term)
            .replace("{title}", &order.role_title)
            .replace("{first_name}", first_name)
            .replace("{name}", &order.candidate_name)
    };
    let agent = |text: String| Line { role: "bot", text };
    let candidate = |text: String| Line { role: "user", text };
    let mut talk =
        Conversation { lines: Vec::new(), highlights: Vec::new(), red_flags: Vec::new(), marks: Vec::new() };
    talk.lines.push(agent(fill(GREETING, "")));
    talk.lines.push(candidate(choices.pick("agreement", &AGREEMENTS).to_owned()));
    for (index, (topic, term)) in topics(order, choices).into_iter().enumerate() {
        let question = fill(choices.pick(&format!("{} question", topic.name), &topic.questions), term);
        talk.lines.push(agent(if index == 0 {
            question
        } else {
            let acknowledgement = choices.pick(&format!("{} acknowledgement", topic.name), &ACKNOWLEDGEMENTS);
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
            let excerpts = if grade == Grade::Weak { &mut talk.red_flags } else { &mut talk.highlights };
            excerpts.push(json!({"text": fill(quote, term), "turn": talk.lines.len()}));
        }
        talk.lines.push(candidate(fill(&answer.replace(['[', ']'], ""), term)));
        talk.marks.push((topic.measure, points + choices.below(&format!("{} points", topic.name), spread)));
    }
    talk.lines.push(agent(fill(FAREWELL, "")));
    if choices.below("says goodbye", 2) == 0 {
        talk.lines.push(candidate(choices.pick("goodbye", &GOODBYES).to_owned()));
    }
    talk
}

/// What the interviewer asks about, with the description's term where the topic is one.
fn topics(order: &CallOrder, choices: Choices) -> Vec<(&'static Topic, &str)> {
    let mut topics = vec![(&BACKGROUND, "")];
    match terms(order.role_description.as_deref().unwrap_or_default()).as_slice() {
        [] => topics.push((&PROJECT, "")),
        [term] => topics.push((&FIRST_TERM, term)),
        [first, second, ..] => topics.extend([(&FIRST_TERM, *first), (&SECOND_TERM, *second)]),
    }
    let optional = [SETBACK.name, TEAMWORK.name, QUESTIONS.name];
    let skipped = ["first skipped", "second skipped"].map(|which| choices.pick(which, &optional));
    let others = [&SETBACK, &TEAMWORK, &MOTIVATION, &AVAILABILITY, &QUESTIONS];
    topics.extend(others.into_iter().filter(|topic| !skipped.contains(&topic.name)).map(|topic| (topic, "")));
    topics
}

/// Half of the candidates are good, a quarter middling, a quarter poor; and everybody has a better or a worse moment.
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

/// The terms of a description that are worth asking about: names of products and the like first, then long words.
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

/// How good a term is to ask about, best first; `None` where it is not.
fn rank(term: &str, begins_sentence: bool) -> Option<u8> {
    let length = term.chars().count();
    let capital = term.starts_with(char::is_uppercase);
    let word = term.starts_with(char::is_alphabetic)
        && term.chars().all(|c| c.is_alphanumeric() || matches!(c, '+' | '#' | '.' | '-'));
    let lower = term.to_lowercase();
    if !word || EVERYDAY_WORDS.split(' ').any(|everyday| everyday == lower) {
        return None;
    }
    let unusual = |c: char| c.is_uppercase() || c.is_numeric() || matches!(c, '+' | '#');
    match length {
        2..=30 if term.chars().skip(1).any(unusual) => Some(0),
        4..=30 if capital && !begins_sentence => Some(1),
        9..=30 if !NO_NOUN_ENDINGS.iter().any(|ending| lower.ends_with(ending)) => Some(2),
        _ => None,
    }
}

/// What the provider's analysis says of a conversation.
fn assess(order: &CallOrder, talk: &Conversation, millis: u32, choices: Choices) -> Value {
    let mean = |of: &[Measure]| {
        let marks = talk.marks.iter().filter(|(measure, _)| of.contains(measure)).map(|(_, points)| *points);
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
    let talked = format!(
        "{} talked about the {} role for {}:{:02} minutes.",
        order.candidate_name,
        order.role_title,
        seconds / 60,
        seconds % 60,
    );
    let summary = [
        talked.as_str(),
        sentence(experience, EXPERIENCE),
        sentence(motivation, INTEREST),
        sentence(communication, CLARITY),
        if overall >= 70 { WORTH_WHILE } else { NOT_WORTH_WHILE },
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
        "highlights": talk.highlights,
        "red_flags": talk.red_flags,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Analysis, Excerpt, Outcome, Report, Speaker};
    use crate::providers::voice::{Callback, News, read_callback};
    use proptest::prelude::*;

    const DESCRIPTION: &str = "We are looking for an experienced engineer. You will run **PostgreSQL** and \
        the Kubernetes clusters, and be responsible for observability (see https://example.com/Team).";

    fn order() -> CallOrder {
        CallOrder {
            reference: "screen-1".to_owned(),
            candidate_name: "Ada Lovelace".to_owned(),
            phone: None,
            role_title: "Platform Engineer".to_owned(),
            role_description: Some(DESCRIPTION.to_owned()),
            scheduled_at: None,
            callback_url: "https://jobs.example/webhooks/voice/simulator".to_owned(),
        }
    }

    fn start() -> Timestamp {
        Timestamp::from_second(1_700_000_000).unwrap()
    }

    fn read(callback: &Value) -> Callback {
        read_callback(callback.to_string().as_bytes()).unwrap()
    }

    fn report(order: &CallOrder, seed: u64) -> Report {
        let [first, second] = callbacks(order, seed, start());
        assert_eq!(read(&first).news, News::InProgress);
        let callback = read(&second);
        assert_eq!(callback.reference, order.reference);
        assert_eq!(callback.call_id, read(&first).call_id);
        match callback.news {
            News::Ended(report) => report,
            other => panic!("no report: {other:?}"),
        }
    }

    fn excerpts(analysis: &Analysis) -> impl Iterator<Item = &Excerpt> {
        analysis.highlights.iter().chain(&analysis.red_flags)
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let bytes = |seed| callbacks(&order(), seed, start()).map(|callback| callback.to_string());
        assert_eq!(bytes(7), bytes(7));
        assert_ne!(bytes(7), bytes(8));
    }

    #[test]
    fn every_seed_is_a_conversation_that_holds_together() {
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
            let lasted = report.ended_at.unwrap().as_second() - start().as_second();
            assert!((60..=480).contains(&lasted), "{lasted} seconds");
            assert!(i64::from(turns.last().unwrap().at_seconds) < lasted);

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
            assert_eq!(summary.contains(WORTH_WHILE), overall >= 70, "{summary}");
            assert!(overall < 85 || analysis.highlights.len() > analysis.red_flags.len());
            assert!(overall >= 50 || analysis.highlights.len() <= 1);
            passed += u32::from(overall >= 70);
        }
        assert!((225..=375).contains(&passed), "{passed} of 500 passed");
    }

    #[test]
    fn what_the_simulator_numbers_is_what_we_number() {
        for seed in 0..100 {
            let [_, second] = callbacks(&order(), seed, start());
            let result = &second["message"]["artifact"]["structuredOutputs"]["simulated-output"]["result"];
            let numbered = |list: &str| -> Vec<Option<u64>> {
                result[list].as_array().unwrap().iter().map(|excerpt| excerpt["turn"].as_u64()).collect()
            };
            let analysis = report(&order(), seed).analysis.unwrap();
            let read: Vec<Option<u64>> =
                excerpts(&analysis).map(|excerpt| excerpt.turn.map(u64::from)).collect();
            assert_eq!(read, [numbered("highlights"), numbered("red_flags")].concat());
        }
    }

    #[test]
    fn terms_are_names_first_then_long_words() {
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
        fn any_order_is_a_conversation(
            seed: u64,
            name in "\\PC{1,60}",
            title in "\\PC{1,60}",
            description in proptest::option::of("(?s).{0,200}"),
            at in any::<i32>(),
        ) {
            let order = CallOrder {
                candidate_name: name, role_title: title, role_description: description, ..order()
            };
            let started_at = Timestamp::from_second(i64::from(at)).unwrap();
            let [_, ended] = callbacks(&order, seed, started_at);
            let News::Ended(report) = read(&ended).news else { panic!("no report") };
            prop_assert_eq!(report.outcome, Outcome::Completed);
            let analysis = report.analysis.unwrap();
            prop_assert!(excerpts(&analysis).all(|excerpt| excerpt.turn.is_some()));
        }
    }

    #[test]
    fn the_end_of_time_is_no_trouble() {
        let [_, ended] = callbacks(&order(), 1, Timestamp::MAX);
        assert_eq!(ended["message"]["endedAt"], ended["message"]["startedAt"]);
    }
}
