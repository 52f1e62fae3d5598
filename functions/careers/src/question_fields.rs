//! The questions of a posting in the application form: what was entered, and what is wrong with it.

use shared::http::Parameters;
use shared::id::Id;
use shared::model::{Answer, Question, QuestionKind, Questions, Text, non_blank};

use crate::pages::{OptionField, QuestionField};

/// What is wrong with an answer: the question and a sentence.
pub(crate) type Mistake = (Id, String);

/// The name of a question's field. It stays the same when questions are added or moved.
pub(crate) fn field_name(question: &Question) -> String {
    format!("question_{}", question.id)
}

/// The questions that the form asks. Files are uploaded on the page after it.
fn asked(questions: &Questions) -> impl Iterator<Item = &Question> {
    questions.list().iter().filter(|question| question.content.kind() != QuestionKind::File)
}

/// What was entered for a question.
fn entered<'f>(form: &'f Parameters, name: &str) -> Vec<&'f str> {
    form.all(name).filter_map(non_blank).collect()
}

/// Reads the answers in a submitted form, or returns what is wrong with each. Here alone, required questions need an answer.
pub(crate) fn read(form: &Parameters, questions: &Questions) -> Result<Vec<Answer>, Vec<Mistake>> {
    let (mut answers, mut mistakes) = (Vec::new(), Vec::new());
    for question in asked(questions) {
        match question.content.entered(&entered(form, &field_name(question))) {
            Ok(Some(value)) => answers.push(Answer::to(question, value)),
            Ok(None) if question.content.is_required() => {
                mistakes.push((question.id, "Answer this question.".to_owned()));
            }
            Ok(None) => {}
            Err(problem) => mistakes.push((question.id, sentence(question.content.kind(), &problem))),
        }
    }
    if mistakes.is_empty() { Ok(answers) } else { Err(mistakes) }
}

/// What is wrong with an answer, as a sentence for candidates.
fn sentence(kind: QuestionKind, problem: &str) -> String {
    match kind {
        QuestionKind::YesNo | QuestionKind::SingleChoice | QuestionKind::MultipleChoice => {
            "Choose from what this question offers.".to_owned()
        }
        QuestionKind::Number => {
            "Enter a number such as 1500 or 2.5, without separators and with at most 11 digits before the point and 4 after it."
                .to_owned()
        }
        QuestionKind::Date => "Enter a date such as 2026-11-20.".to_owned(),
        QuestionKind::ShortText | QuestionKind::LongText | QuestionKind::File => {
            format!("Your answer {problem}.")
        }
    }
}

/// The fields of the form, with what was entered in them.
pub(crate) fn fields<'p>(
    form: &'p Parameters,
    questions: &'p Questions,
    mistakes: &'p [Mistake],
) -> Vec<QuestionField<'p>> {
    let field = |question: &'p Question| {
        let (field, content) = (field_name(question), &question.content);
        let entered = entered(form, &field);
        let offered: Vec<_> = match content.kind() {
            QuestionKind::YesNo => vec![("yes", "Yes"), ("no", "No")],
            _ => content.options().iter().map(Text::as_str).map(|text| (text, text)).collect(),
        };
        let option = |(value, label)| OptionField { value, label, is_chosen: entered.contains(&value) };
        let mistake = mistakes.iter().find(|(id, _)| *id == question.id);
        QuestionField {
            options: offered.into_iter().map(option).collect(),
            typed: form.get(&field),
            field,
            label: content.label().as_str(),
            kind: content.kind().as_str(),
            is_required: content.is_required(),
            help: content.help().map(Text::as_str),
            problem: mistake.map(|(_, sentence)| sentence.as_str()),
        }
    };
    asked(questions).map(field).collect()
}
