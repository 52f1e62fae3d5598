//! The questions of job postings in the API, and the answers to them.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::http::{Change, Error, Fields, Input, input};
use crate::id::Id;
use crate::model::{
    self, AnswerValue, GivenAnswer, GivenQuestion, QuestionContent, QuestionHelp, QuestionKind,
    QuestionLabel, QuestionOption, Questions, Value,
};

/// A question of a job posting, which the application form on the career page asks.
#[derive(Debug, Serialize, ToSchema)]
pub struct Question {
    /// The identifier. It stays the same when the question is changed.
    id: Id,
    /// What is asked.
    label: QuestionLabel,
    /// The kind, which says what an answer can be.
    kind: QuestionKind,
    /// Whether the form on the career page requires an answer. The API does not.
    required: bool,
    /// An explanation.
    help: Option<QuestionHelp>,
    /// The options of a `single_choice` or `multiple_choice`: 2 to 50, all different. Empty for other kinds.
    options: Vec<QuestionOption>,
}

impl Question {
    /// The API form of each question.
    pub fn all(questions: &Questions) -> Vec<Self> {
        questions.list().iter().map(Self::from).collect()
    }
}

impl From<&model::Question> for Question {
    fn from(question: &model::Question) -> Self {
        let model::Question { id, content } = question;
        Self {
            id: *id,
            label: content.label().clone(),
            kind: content.kind(),
            required: content.is_required(),
            help: content.help().cloned(),
            options: content.options().to_vec(),
        }
    }
}

/// A question to write.
struct NewQuestion(GivenQuestion);

impl Input for NewQuestion {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let id = fields.optional("id");
        let (label, kind) = (fields.required("label"), fields.required("kind"));
        let required = fields.optional("required").unwrap_or_default();
        let help = fields.optional("help");
        let options = match fields.list("options", QuestionContent::MAX_OPTIONS) {
            Change::Set(options) => options,
            Change::Keep | Change::Clear => Vec::new(),
        };
        match QuestionContent::new(label?, kind?, required, help, options) {
            Ok(content) => Some(Self(GivenQuestion { id, content })),
            Err(problem) => fields.fail("options", problem),
        }
    }
}

/// The questions of a posting in a request, in their order.
#[derive(Clone, Debug)]
pub struct GivenQuestions(Change<Vec<GivenQuestion>>);

impl Input for GivenQuestions {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        let list = fields.change_objects::<NewQuestion>("questions", Questions::MAX);
        let list = list.map(|list| list.into_iter().map(|question| question.0).collect::<Vec<_>>());
        if let Change::Set(list) = &list
            && list.iter().map(|question| question.content.length()).sum::<usize>() > Questions::MAX_LENGTH
        {
            return fields.fail("questions", "must have at most 20000 characters together");
        }
        Some(Self(list))
    }
}

impl GivenQuestions {
    /// The questions after this change of the `current` ones. Fails with the path of each question that names none of these.
    pub fn apply(self, current: &Questions, next: impl FnMut() -> Id) -> Result<Questions, Vec<String>> {
        let given = match self.0 {
            Change::Keep => return Ok(current.clone()),
            Change::Clear => Vec::new(),
            Change::Set(given) => given,
        };
        let message = |(index, problem)| format!("questions[{index}].id {problem}");
        current.replaced_by(given, next).map_err(|wrong| wrong.into_iter().map(message).collect())
    }
}

/// An answer to a question of the job posting, as it was asked.
#[derive(Debug, Serialize, ToSchema)]
pub struct Answer {
    /// The question.
    question_id: Id,
    /// What was asked.
    label: QuestionLabel,
    /// The kind of the question.
    kind: QuestionKind,
    /// The answer: a string for `short_text`, `long_text` and `single_choice`, a boolean for `yes_no`, an array of strings for
    /// `multiple_choice`, a number for `number`, a date such as `2026-11-20` for `date`, and the id of a file for `file`.
    #[schema(schema_with = answer_value)]
    value: serde_json::Value,
}

fn answer_value() -> RefOr<Schema> {
    GivenAnswer::schema()
}

impl Answer {
    /// The API form of each answer.
    pub fn all(answers: Vec<model::Answer>) -> Vec<Self> {
        answers.into_iter().map(Self::from).collect()
    }
}

impl From<model::Answer> for Answer {
    fn from(answer: model::Answer) -> Self {
        let model::Answer { question_id, label, value } = answer;
        Self { question_id, label, kind: value.kind(), value: plain(&value) }
    }
}

/// The value without its kind.
fn plain(value: &AnswerValue) -> serde_json::Value {
    use serde_json::json;
    match value {
        AnswerValue::ShortText(text) => json!(text),
        AnswerValue::LongText(text) => json!(text),
        AnswerValue::YesNo(answer) => json!(answer),
        AnswerValue::SingleChoice(option) => json!(option),
        AnswerValue::MultipleChoice(options) => json!(options),
        AnswerValue::Number(number) => json!(number),
        AnswerValue::Date(date) => json!(date),
        AnswerValue::File(id) => json!(id),
    }
}

input! {
    /// An answer to a question of the role's job posting.
    #[derive(Clone, Debug)]
    pub struct NewAnswer {
        /// A question of the role's job posting.
        question_id: required Id,
        /// The answer: a string for `short_text`, `long_text` and `single_choice`, a boolean for `yes_no`, an array of strings
        /// for `multiple_choice`, a number for `number`, a date such as `2026-11-20` for `date`, and the id of a file of the
        /// candidate for `file`.
        value: required GivenAnswer,
    }
}

impl NewAnswer {
    /// The files that answer questions.
    pub fn files(answers: &[Self], questions: &Questions) -> Vec<Id> {
        let file = |Self { question_id, value }: &Self| match questions
            .find(*question_id)?
            .content
            .answer(value)
            .ok()?
        {
            AnswerValue::File(id) => Some(id),
            _ => None,
        };
        answers.iter().filter_map(file).collect()
    }

    /// Reads answers to these questions, and returns them in the order of the questions. A file must be one of `files`. Fails
    /// with all that is wrong with them.
    pub fn read_all(
        answers: &[Self],
        questions: &Questions,
        files: &[Id],
    ) -> Result<Vec<model::Answer>, Error> {
        let (mut read, mut messages): (Vec<model::Answer>, _) = (Vec::new(), Vec::new());
        for (index, Self { question_id, value }) in answers.iter().enumerate() {
            let Some(question) = questions.find(*question_id) else {
                let problem = "must be the id of a question of the role's job posting";
                messages.push(format!("answers[{index}].question_id {problem}"));
                continue;
            };
            if read.iter().any(|answer| answer.question_id == *question_id) {
                messages.push(format!("answers[{index}].question_id must not be given twice"));
                continue;
            }
            match question.content.answer(value) {
                Ok(AnswerValue::File(id)) if !files.contains(&id) => {
                    messages
                        .push(format!("answers[{index}].value must be the id of a file of the candidate"));
                }
                Ok(value) => read.push(model::Answer::to(question, value)),
                Err(problem) => messages.push(format!("answers[{index}].value {problem}")),
            }
        }
        if model::Answer::are_too_long(&read) {
            messages.push(format!("answers {}", model::Answer::TOO_LONG));
        }
        if !messages.is_empty() {
            return Err(Error::Validation(messages));
        }
        let place = |answer: &model::Answer| {
            questions.list().iter().position(|question| question.id == answer.question_id)
        };
        read.sort_by_key(place);
        Ok(read)
    }
}
