//! The questions of a job posting, which the form on the career page asks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::{Lines, Text};
use crate::id::Id;

/// What a question asks.
pub type QuestionLabel = Text<300>;
/// An explanation below a question.
pub type QuestionHelp = Lines<500>;
/// What can be chosen.
pub type QuestionOption = Text<200>;
/// A short answer.
pub type ShortText = Text<300>;
/// A long answer.
pub type LongAnswer = Lines<5_000>;

string_enum! {
    /// The kind of a question, which says what an answer can be.
    pub enum QuestionKind {
        /// A line of text.
        ShortText = "short_text",
        /// Text with several lines.
        LongText = "long_text",
        /// Yes or no.
        YesNo = "yes_no",
        /// One of the options.
        SingleChoice = "single_choice",
        /// At least one of the options.
        MultipleChoice = "multiple_choice",
        /// A number.
        Number = "number",
        /// A date.
        Date = "date",
        /// A file.
        File = "file",
    }
}

impl QuestionKind {
    /// Whether the answer is among options.
    pub const fn has_options(self) -> bool {
        matches!(self, Self::SingleChoice | Self::MultipleChoice)
    }

    /// The maximum number of characters of an answer that is typed.
    pub const fn max_length(self) -> Option<usize> {
        match self {
            Self::ShortText => Some(ShortText::MAX_LENGTH),
            Self::LongText => Some(LongAnswer::MAX_LENGTH),
            _ => None,
        }
    }

    /// What members read.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ShortText => "Short text",
            Self::LongText => "Long text",
            Self::YesNo => "Yes or no",
            Self::SingleChoice => "One of the options",
            Self::MultipleChoice => "Several of the options",
            Self::Number => "Number",
            Self::Date => "Date",
            Self::File => "File",
        }
    }
}

/// What a question asks, and what can be answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionContent {
    label: QuestionLabel,
    kind: QuestionKind,
    required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    help: Option<QuestionHelp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<QuestionOption>,
}

impl QuestionContent {
    /// The minimum number of options of a choice.
    pub const MIN_OPTIONS: usize = 2;
    /// The maximum number of options of a choice.
    pub const MAX_OPTIONS: usize = 50;

    /// A question. Fails with what is wrong with the options: a choice has 2 to 50, all different, and other kinds have none.
    pub fn new(
        label: QuestionLabel,
        kind: QuestionKind,
        required: bool,
        help: Option<QuestionHelp>,
        options: Vec<QuestionOption>,
    ) -> Result<Self, &'static str> {
        let distinct: BTreeSet<_> = options.iter().map(Text::as_str).collect();
        match (kind.has_options(), options.len()) {
            (false, 1..) => Err("must be empty for a question of this kind"),
            (true, ..Self::MIN_OPTIONS) => Err("must have at least 2 items"),
            (true, count) if count > Self::MAX_OPTIONS => Err("must have at most 50 items"),
            _ if distinct.len() < options.len() => Err("must be different from each other"),
            _ => Ok(Self { label, kind, required, help, options }),
        }
    }

    /// The text.
    pub const fn label(&self) -> &QuestionLabel {
        &self.label
    }

    /// The kind.
    pub const fn kind(&self) -> QuestionKind {
        self.kind
    }

    /// Whether the form on the career page requires an answer.
    pub const fn is_required(&self) -> bool {
        self.required
    }

    /// The explanation.
    pub const fn help(&self) -> Option<&QuestionHelp> {
        self.help.as_ref()
    }

    /// The options of a choice, in their order.
    pub fn options(&self) -> &[QuestionOption] {
        &self.options
    }

    /// The number of characters.
    pub fn length(&self) -> usize {
        let texts = [Some(self.label.as_str()), self.help.as_ref().map(Text::as_str)];
        let texts = texts.into_iter().flatten().chain(self.options.iter().map(Text::as_str));
        texts.map(|text| text.chars().count()).sum()
    }
}

/// A question of a posting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The identifier, which stays the same when the question changes.
    pub id: Id,
    /// What it asks.
    #[serde(flatten)]
    pub content: QuestionContent,
}

/// A question to write: a new one, or one that keeps its identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenQuestion {
    /// The identifier of a question that the posting has.
    pub id: Option<Id>,
    /// What it asks.
    pub content: QuestionContent,
}

/// The questions of a posting, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Questions(Vec<Question>);

impl Questions {
    /// The maximum number of questions.
    pub const MAX: usize = 25;
    /// The maximum number of characters of all of them together.
    pub const MAX_LENGTH: usize = 20_000;

    /// The questions.
    pub fn list(&self) -> &[Question] {
        &self.0
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that are answered with a file, which the career page asks for after the form.
    pub fn of_files(&self) -> impl Iterator<Item = &Question> {
        self.0.iter().filter(|question| question.content.kind() == QuestionKind::File)
    }

    /// The question with this identifier.
    pub fn find(&self, id: Id) -> Option<&Question> {
        self.0.iter().find(|question| question.id == id)
    }

    /// The questions that replace these. One that names a question keeps its identifier, and the others get the `next`. Fails
    /// with the position and the problem of each that names no question, or the same as another.
    pub fn replaced_by(
        &self,
        given: Vec<GivenQuestion>,
        mut next: impl FnMut() -> Id,
    ) -> Result<Self, Vec<(usize, &'static str)>> {
        let (mut known, mut wrong) = (BTreeSet::new(), Vec::new());
        let mut questions = Vec::with_capacity(given.len());
        for (index, GivenQuestion { id, content }) in given.into_iter().enumerate() {
            match id {
                Some(id) if self.find(id).is_none() => {
                    wrong.push((index, "must be the id of a question of this job posting"));
                }
                Some(id) if !known.insert(id) => wrong.push((index, "must not be given twice")),
                _ => {}
            }
            questions.push(Question { id: id.unwrap_or_else(&mut next), content });
        }
        if wrong.is_empty() { Ok(Self(questions)) } else { Err(wrong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(kind: QuestionKind, options: &[&str]) -> Result<QuestionContent, &'static str> {
        let text = |text: &str| Text::parse(text).unwrap().unwrap();
        let options = options.iter().map(|option| QuestionOption::parse(option).unwrap().unwrap());
        QuestionContent::new(text("Why?"), kind, true, None, options.collect())
    }

    #[test]
    fn only_choices_have_options_and_all_are_different() {
        let many: Vec<_> = (0..=50).map(|number| number.to_string()).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        for kind in QuestionKind::ALL {
            assert_eq!(content(kind, &[]).is_ok(), !kind.has_options());
            assert!(content(kind, &["a"]).is_err());
            for options in [&["a", "b"][..], &many[..50]] {
                assert_eq!(content(kind, options).is_ok(), kind.has_options());
            }
            assert!(content(kind, &many).is_err());
            assert!(content(kind, &["a", "b", "a"]).is_err());
        }
    }

    #[test]
    fn a_question_keeps_its_identifier_and_a_new_one_gets_one() {
        let id = |id| Id::new(id).unwrap();
        let asked = |label: &str| {
            let label = Text::parse(label).unwrap().unwrap();
            QuestionContent::new(label, QuestionKind::YesNo, false, None, Vec::new()).unwrap()
        };
        let given = |id: Option<Id>, label: &str| GivenQuestion { id, content: asked(label) };
        let mut last = 0;
        let mut next = move || {
            last += 1;
            id(last)
        };
        let first =
            Questions::default().replaced_by(vec![given(None, "a"), given(None, "b")], &mut next).unwrap();
        let second = first.replaced_by(vec![given(None, "c"), given(Some(id(1)), "d")], &mut next).unwrap();
        let shown: Vec<_> =
            second.list().iter().map(|one| (one.id.get(), one.content.label().as_str())).collect();
        assert_eq!(shown, [(3, "c"), (1, "d")]);
        let wrong = vec![given(Some(id(2)), "b"), given(Some(id(1)), "d"), given(Some(id(1)), "d")];
        let wrong: Vec<_> =
            second.replaced_by(wrong, next).unwrap_err().into_iter().map(|(index, _)| index).collect();
        assert_eq!(wrong, [0, 2]);
    }
}
