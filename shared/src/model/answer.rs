//! The answers of an application to the questions of a job posting.

use std::fmt;

use jiff::civil::Date;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::phone::digit;
use super::question::{LongAnswer, QuestionContent, QuestionLabel, QuestionOption, ShortText};
use super::text::is_invisible;
use super::value::date;
use super::{Question, QuestionKind, Text};
use crate::id::Id;

/// A number that answers a question: with at most 11 digits before the decimal point and 4 after it, so that a double
/// holds each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerNumber {
    ten_thousandths: i64,
}

impl AnswerNumber {
    /// What is wrong with another value.
    pub const RULE: &str = "must be a number with at most 11 digits before the decimal point and 4 after it";
    const PLACES: usize = 4;
    const MAX_DIGITS: usize = 11;
    const SCALE: i64 = 10_000;

    /// Reads a number in any notation of JSON.
    pub fn of_json(written: &str) -> Option<Self> {
        Self::of_double(written.parse().ok()?)
    }

    /// Reads a number as people type it: in digits of any script, with spaces between them, and with a point or a comma for
    /// the fraction. One comma before three digits may also separate thousands, so it is no number.
    pub fn of_typed(typed: &str) -> Option<Self> {
        let plain = typed.chars().filter(|c| !c.is_whitespace() && !is_invisible(*c));
        let plain: String = plain
            .map(|c| match c {
                '\u{66B}' => '.',
                '\u{2212}' => '-',
                c => digit(c).unwrap_or(c),
            })
            .collect();
        match plain.split_once(',') {
            Some((_, fraction)) if fraction.len() == 3 || plain.contains('.') => None,
            _ => Self::of_decimal(&plain.replacen(',', ".", 1)),
        }
    }

    fn of_double(number: f64) -> Option<Self> {
        Self::of_decimal(&number.to_string())
    }

    fn of_decimal(plain: &str) -> Option<Self> {
        let unsigned = plain.strip_prefix('-').unwrap_or_else(|| plain.strip_prefix('+').unwrap_or(plain));
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = whole.trim_start_matches('0').len() <= Self::MAX_DIGITS && fraction.len() <= Self::PLACES;
        if !fits || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let fraction: i64 = format!("{fraction:0<4}").parse().ok()?;
        let number = whole.parse::<i64>().ok()?.checked_mul(Self::SCALE)?.checked_add(fraction)?;
        Some(Self { ten_thousandths: if plain.starts_with('-') { -number } else { number } })
    }
}

impl fmt::Display for AnswerNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, scale) = (self.ten_thousandths, Self::SCALE);
        let sign = if number < 0 { "-" } else { "" };
        let (whole, fraction) = (number.abs() / scale, number.abs() % scale);
        if fraction == 0 {
            return write!(f, "{sign}{whole}");
        }
        let fraction = format!("{fraction:04}");
        write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
    }
}

impl Serialize for AnswerNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.ten_thousandths % Self::SCALE == 0 {
            return serializer.serialize_i64(self.ten_thousandths / Self::SCALE);
        }
        serializer.serialize_f64(self.to_string().parse().map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for AnswerNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Stored;
        impl Visitor<'_> for Stored {
            type Value = AnswerNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                AnswerNumber::of_decimal(&number.to_string()).ok_or_else(|| E::custom(AnswerNumber::RULE))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                AnswerNumber::of_decimal(&number.to_string()).ok_or_else(|| E::custom(AnswerNumber::RULE))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                AnswerNumber::of_double(number).ok_or_else(|| E::custom(AnswerNumber::RULE))
            }
        }
        deserializer.deserialize_any(Stored)
    }
}

/// The value of an answer, of the kind of its question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum AnswerValue {
    /// A line of text.
    ShortText(ShortText),
    /// Text with several lines.
    LongText(LongAnswer),
    /// Yes or no.
    YesNo(bool),
    /// The chosen option.
    SingleChoice(QuestionOption),
    /// The chosen options.
    MultipleChoice(Vec<QuestionOption>),
    /// A number.
    Number(AnswerNumber),
    /// A date.
    Date(Date),
    /// A file of the candidate.
    File(Id),
}

impl AnswerValue {
    /// The kind of the question.
    pub const fn kind(&self) -> QuestionKind {
        match self {
            Self::ShortText(_) => QuestionKind::ShortText,
            Self::LongText(_) => QuestionKind::LongText,
            Self::YesNo(_) => QuestionKind::YesNo,
            Self::SingleChoice(_) => QuestionKind::SingleChoice,
            Self::MultipleChoice(_) => QuestionKind::MultipleChoice,
            Self::Number(_) => QuestionKind::Number,
            Self::Date(_) => QuestionKind::Date,
            Self::File(_) => QuestionKind::File,
        }
    }

    /// The number of characters that somebody typed or chose.
    fn length(&self) -> usize {
        let of = |text: &str| text.chars().count();
        match self {
            Self::ShortText(text) => of(text.as_str()),
            Self::LongText(text) => of(text.as_str()),
            Self::SingleChoice(option) => of(option.as_str()),
            Self::MultipleChoice(options) => options.iter().map(|option| of(option.as_str())).sum(),
            Self::YesNo(_) | Self::Number(_) | Self::Date(_) | Self::File(_) => 0,
        }
    }
}

/// The value as members read it.
impl fmt::Display for AnswerValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShortText(text) => f.write_str(text.as_str()),
            Self::LongText(text) => f.write_str(text.as_str()),
            Self::SingleChoice(option) => f.write_str(option.as_str()),
            Self::MultipleChoice(options) => {
                f.write_str(&options.iter().map(Text::as_str).collect::<Vec<_>>().join("\n"))
            }
            Self::YesNo(answer) => f.write_str(if *answer { "Yes" } else { "No" }),
            Self::Number(number) => number.fmt(f),
            Self::Date(date) => f.write_str(&date.strftime("%-d %b %Y").to_string()),
            Self::File(id) => write!(f, "File {id}"),
        }
    }
}

/// An answer to a question, which is kept as it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The question.
    pub question_id: Id,
    /// What it asked.
    pub label: QuestionLabel,
    /// The value.
    #[serde(flatten)]
    pub value: AnswerValue,
}

impl Answer {
    /// The maximum number of characters of all values of an application together.
    pub const MAX_LENGTH: usize = 20_000;
    /// What is wrong with longer ones.
    pub const TOO_LONG: &str = "must have at most 20000 characters together";

    /// The answer to a question.
    pub fn to(question: &Question, value: AnswerValue) -> Self {
        Self { question_id: question.id, label: question.content.label().clone(), value }
    }

    /// Whether answers together have more characters than an application may have.
    pub fn are_too_long(answers: &[Self]) -> bool {
        answers.iter().map(|answer| answer.value.length()).sum::<usize>() > Self::MAX_LENGTH
    }
}

/// The answers of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// The application.
    pub application_id: Id,
    /// The answers, in the order of the questions. Files that were uploaded after the form follow, as they came.
    pub answers: Vec<Answer>,
}

/// A value that a program gives as an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenAnswer {
    /// A string.
    Text(String),
    /// A number as written in JSON.
    Number(String),
    /// A boolean.
    Bool(bool),
    /// An array of strings.
    Texts(Vec<String>),
}

impl QuestionContent {
    /// Reads an answer that a program gives. Fails with what is wrong with it.
    pub fn answer(&self, given: &GivenAnswer) -> Result<AnswerValue, String> {
        const NOT_AN_OPTION: &str = "must be one of the options";
        match (self.kind(), given) {
            (QuestionKind::ShortText, GivenAnswer::Text(text)) => {
                ShortText::parse(text)?.map(AnswerValue::ShortText).ok_or_else(blank)
            }
            (QuestionKind::LongText, GivenAnswer::Text(text)) => {
                LongAnswer::parse(text)?.map(AnswerValue::LongText).ok_or_else(blank)
            }
            (QuestionKind::YesNo, GivenAnswer::Bool(answer)) => Ok(AnswerValue::YesNo(*answer)),
            (QuestionKind::SingleChoice, GivenAnswer::Text(text)) => {
                self.option(text).map(AnswerValue::SingleChoice).ok_or_else(|| NOT_AN_OPTION.to_owned())
            }
            (QuestionKind::MultipleChoice, GivenAnswer::Texts(texts)) => self.choices(texts),
            (QuestionKind::Number, GivenAnswer::Number(written)) => AnswerNumber::of_json(written)
                .map(AnswerValue::Number)
                .ok_or_else(|| AnswerNumber::RULE.to_owned()),
            (QuestionKind::Date, GivenAnswer::Text(text)) => date(text).map(AnswerValue::Date),
            (QuestionKind::File, GivenAnswer::Number(written)) => {
                let id = written.parse().ok().and_then(Id::new);
                id.map(AnswerValue::File).ok_or_else(|| "must be the id of a file".to_owned())
            }
            (kind, _) => Err(match kind {
                QuestionKind::ShortText | QuestionKind::LongText => "must be a string",
                QuestionKind::YesNo => "must be true or false",
                QuestionKind::SingleChoice => NOT_AN_OPTION,
                QuestionKind::MultipleChoice => "must be an array of options",
                QuestionKind::Number => AnswerNumber::RULE,
                QuestionKind::Date => "must be a date, such as 2026-11-20",
                QuestionKind::File => "must be the id of a file",
            }
            .to_owned()),
        }
    }

    /// Reads what was entered in a form: the values of the field that are not blank. `None` without any, and for a file. Fails
    /// with what is wrong with it.
    pub fn entered(&self, values: &[&str]) -> Result<Option<AnswerValue>, String> {
        let Some(first) = values.first() else { return Ok(None) };
        let given = match self.kind() {
            QuestionKind::File => return Ok(None),
            QuestionKind::YesNo => match *first {
                "yes" => GivenAnswer::Bool(true),
                "no" => GivenAnswer::Bool(false),
                _ => return Err("must be yes or no".to_owned()),
            },
            QuestionKind::Number => {
                let number = AnswerNumber::of_typed(first).map(AnswerValue::Number);
                return number.map(Some).ok_or_else(|| AnswerNumber::RULE.to_owned());
            }
            QuestionKind::MultipleChoice => {
                GivenAnswer::Texts(values.iter().map(|value| (*value).to_owned()).collect())
            }
            _ => GivenAnswer::Text((*first).to_owned()),
        };
        self.answer(&given).map(Some)
    }

    fn option(&self, text: &str) -> Option<QuestionOption> {
        let chosen = QuestionOption::parse(text).ok().flatten()?;
        self.options().contains(&chosen).then_some(chosen)
    }

    /// The chosen options, in their order.
    fn choices(&self, texts: &[String]) -> Result<AnswerValue, String> {
        let chosen: Option<Vec<_>> = texts.iter().map(|text| self.option(text)).collect();
        let chosen = chosen.ok_or_else(|| "must be an array of options".to_owned())?;
        if chosen.is_empty() {
            return Err("must have at least one option".to_owned());
        }
        let in_order = self.options().iter().filter(|option| chosen.contains(option)).cloned();
        Ok(AnswerValue::MultipleChoice(in_order.collect()))
    }
}

fn blank() -> String {
    "can't be blank".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_as_people_type_them() {
        for (typed, shown) in [
            ("12", Some("12")),
            ("-0.5", Some("-0.5")),
            ("2,5", Some("2.5")),
            ("1 000", Some("1000")),
            ("٣٫٥", Some("3.5")),
            ("۱۲", Some("12")),
            ("\u{2212}4", Some("-4")),
            ("99999999999.9999", Some("99999999999.9999")),
            ("1,500", None),
            ("1.5.5", None),
            ("1,5.5", None),
            ("100000000000", None),
            ("0.00001", None),
            ("1e3", None),
            ("twelve", None),
            (".", None),
            ("", None),
        ] {
            let read = AnswerNumber::of_typed(typed).map(|number| number.to_string());
            assert_eq!(read.as_deref(), shown, "{typed}");
        }
        assert_eq!(AnswerNumber::of_json("1e3").map(|number| number.to_string()).as_deref(), Some("1000"));
        assert_eq!(AnswerNumber::of_json("1e300"), None);
    }

    proptest! {
        #[test]
        fn a_number_stays_the_same_in_json(ten_thousandths in -999_999_999_999_999_i64..=999_999_999_999_999) {
            let number = AnswerNumber { ten_thousandths };
            let written = serde_json::to_string(&number).unwrap();
            prop_assert_eq!(&written, &number.to_string());
            prop_assert_eq!(serde_json::from_str::<AnswerNumber>(&written).unwrap(), number);
            prop_assert_eq!(AnswerNumber::of_json(&written), Some(number));
        }

        #[test]
        fn any_text_can_be_typed_as_a_number(typed: String) {
            let _ = AnswerNumber::of_typed(&typed);
        }
    }

    #[test]
    fn answers_of_a_choice_have_the_order_of_the_options() {
        let options = ["a", "b", "c"].map(|option| QuestionOption::parse(option).unwrap().unwrap());
        let label = Text::parse("Which?").unwrap().unwrap();
        let choice =
            QuestionContent::new(label, QuestionKind::MultipleChoice, true, None, options.into()).unwrap();
        let chosen = choice.entered(&["c", "a", "a"]).unwrap().unwrap();
        assert_eq!(serde_json::to_value(&chosen).unwrap()["value"], serde_json::json!(["a", "c"]));
        assert!(choice.entered(&["d"]).is_err());
        assert_eq!(choice.entered(&[]), Ok(None));
        assert!(choice.answer(&GivenAnswer::Texts(Vec::new())).is_err());
    }
}
