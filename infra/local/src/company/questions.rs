//! The questions of some postings, and the answers of people who apply on the career page.

use shared::id::Id;
use shared::model::{Answer, GivenQuestion, QuestionContent, QuestionKind, Questions};

use super::setting::{Outcome, text};

/// A question, whether it is required, its options, and what people answer.
pub(super) struct PlannedQuestion {
    label: &'static str,
    kind: QuestionKind,
    required: bool,
    options: &'static [&'static str],
    answers: &'static [&'static str],
}

/// The questions of engineers.
pub(super) const OF_ENGINEERS: &[PlannedQuestion] = &[
    PlannedQuestion {
        label: "Are you allowed to work in this country?",
        kind: QuestionKind::YesNo,
        required: true,
        options: &[],
        answers: &["yes", "yes", "no"],
    },
    PlannedQuestion {
        label: "How many years have you worked as an engineer?",
        kind: QuestionKind::Number,
        required: true,
        options: &[],
        answers: &["4", "7", "2.5", "11", "6"],
    },
    PlannedQuestion {
        label: "Which of these have you used at work?",
        kind: QuestionKind::MultipleChoice,
        required: false,
        options: &["Rust", "TypeScript", "PostgreSQL", "Kafka"],
        answers: &["Rust", "TypeScript", "PostgreSQL", "Kafka"],
    },
    PlannedQuestion {
        label: "What have you built that you are proud of?",
        kind: QuestionKind::LongText,
        required: false,
        options: &[],
        answers: &[
            "A booking system for a ferry company. It still runs, and nobody calls at night.",
            "I replaced a nightly job of six hours by a query that takes two minutes.",
            "The checkout of a shop, which works without scripts and with a screen reader.",
        ],
    },
];

/// The questions of people who talk to customers.
pub(super) const OF_SUPPORT: &[PlannedQuestion] = &[
    PlannedQuestion {
        label: "Which shift do you prefer?",
        kind: QuestionKind::SingleChoice,
        required: true,
        options: &["Early", "Late", "Any"],
        answers: &["Early", "Any", "Late"],
    },
    PlannedQuestion {
        label: "When can you start?",
        kind: QuestionKind::Date,
        required: false,
        options: &[],
        answers: &["2027-01-04", "2027-02-01", "2027-03-01"],
    },
];

/// The questions, with these identifiers.
pub(super) fn planned(plan: &[PlannedQuestion], next: impl FnMut() -> Id) -> Outcome<Questions> {
    let mut given = Vec::new();
    for question in plan {
        let options: Result<Vec<_>, _> = question.options.iter().map(|option| text(option)).collect();
        let content =
            QuestionContent::new(text(question.label)?, question.kind, question.required, None, options?)?;
        given.push(GivenQuestion { id: None, content });
    }
    Questions::default().replaced_by(given, next).map_err(|_| "two questions have an identifier".into())
}

/// The answers of the person with this number.
pub(super) fn answers(plan: &[PlannedQuestion], questions: &Questions, number: u64) -> Outcome<Vec<Answer>> {
    let mut answers = Vec::new();
    for (planned, question) in plan.iter().zip(questions.list()) {
        let place = usize::try_from(number)? % planned.answers.len();
        let given = match planned.kind {
            QuestionKind::MultipleChoice => &planned.answers[..=place],
            _ => &planned.answers[place..=place],
        };
        answers.extend(question.content.entered(given)?.map(|value| Answer::to(question, value)));
    }
    Ok(answers)
}
