//! The size of answers: at most 8,000 tokens, the structured content and the same as text together.

use serde_json::{Value, json};

use super::fence::clean;

/// The maximum estimate of an answer, without the message around it.
pub(super) const MAX: usize = 7_600;
/// The maximum numbers of characters of a text, from which the first that fits is chosen.
const LENGTHS: [usize; 6] = [4_000, 1_000, 300, 100, 30, 10];

/// An answer, or how many items fit in one.
pub(super) enum Page {
    Fits(Value),
    /// Only this number of items fits. The page is read again, so that its cursor is that of the last item that is shown.
    Only(usize),
}

/// Shows a page of a list under `name`. `show` shows an item, with texts of at most a number of characters.
pub(super) fn page(name: &str, list: &Value, show: impl Fn(&Value, usize) -> Value) -> Page {
    let items = list["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let answer = |max| {
        let shown: Vec<_> = items.iter().map(|item| show(item, max)).collect();
        json!({ name: shown, "next_cursor": list["next_cursor"] })
    };
    if items.len() <= 1 {
        return Page::Fits(fit(answer));
    }
    let whole = clean(answer(LENGTHS[0]), LENGTHS[0]);
    if cost(&whole) <= MAX {
        return Page::Fits(whole);
    }
    // The cursor takes 200 characters at most.
    let mut left = MAX - 400;
    let fits = items.iter().map(|item| cost(&show(item, LENGTHS[0]))).take_while(|cost| {
        let fits = *cost <= left;
        left = left.saturating_sub(*cost);
        fits
    });
    Page::Only(fits.count().max(1))
}

/// The largest of an answer's forms that fits. `show` gives the form with texts of at most a number of characters.
pub(super) fn fit(show: impl Fn(usize) -> Value) -> Value {
    fit_within(MAX, show)
}

/// The same, within another maximum.
pub(super) fn fit_within(max: usize, show: impl Fn(usize) -> Value) -> Value {
    let forms = LENGTHS.iter().map(|length| clean(show(*length), LENGTHS[0]));
    let mut last = Value::Null;
    for form in forms {
        if cost(&form) <= max {
            return form;
        }
        last = form;
    }
    last
}

/// The largest part of a text, at most half of it, with which an entry costs at most `max`, and its number of characters.
pub(super) fn part(text: &str, max: usize, entry: impl Fn(&str) -> Value) -> (Value, usize) {
    let mut length = text.chars().count() / 2;
    loop {
        let shown = entry(&text.chars().take(length).collect::<String>());
        if length <= 1 || cost(&shown) <= max {
            return (shown, length.max(1));
        }
        length /= 2;
    }
}

/// The number of tokens of a value as structured content and as text, where a JSON string escapes it. The estimate is
/// never too low by much: the tests compare it with tokenizers.
pub(super) fn cost(value: &Value) -> usize {
    let text = value.to_string();
    tokens(&text) + tokens(&Value::from(text).to_string())
}

/// An estimate of the number of tokens: half the small letters, two thirds of the capital ones, a third of the digits, half
/// the punctuation of JSON, and every other character, with at least one for each change between them. Characters outside
/// of ASCII count as their bytes, because rare characters have a token for each.
fn tokens(text: &str) -> usize {
    let mut tokens = 0;
    let mut run = (Class::Other, 0);
    for c in text.chars() {
        let class = Class::of(c);
        if class != run.0 {
            tokens += run.0.tokens(run.1);
            run = (class, 0);
        }
        run.1 += c.len_utf8();
    }
    tokens + run.0.tokens(run.1)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Small,
    Capital,
    Digit,
    Json,
    Other,
}

impl Class {
    const fn of(c: char) -> Self {
        match c {
            'a'..='z' | ' ' => Self::Small,
            'A'..='Z' => Self::Capital,
            '0'..='9' => Self::Digit,
            '"' | '{' | '}' | '[' | ']' | ':' | ',' | '\\' => Self::Json,
            _ => Self::Other,
        }
    }

    const fn tokens(self, bytes: usize) -> usize {
        match self {
            Self::Small | Self::Json => bytes.div_ceil(2),
            Self::Capital => (2 * bytes).div_ceil(3),
            Self::Digit => bytes.div_ceil(3),
            Self::Other => bytes,
        }
    }
}
