//! Text that people enter: trimmed, limited in length and without control characters.
//!
//! Text without any visible character is blank, and means the same as no text.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Text of 1 to `MAX` characters, at least one of them visible. It is a single line, unless `MULTILINE` is set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize, const MULTILINE: bool = false>(String);

/// Text that may have several lines, which end with `\n`.
pub type Lines<const MAX: usize> = Text<MAX, true>;

/// The identifier of a role or a candidate in a system of the client.
pub type ExternalId = Text<200>;

impl<const MAX: usize, const MULTILINE: bool> Text<MAX, MULTILINE> {
    /// The maximum number of characters.
    pub const MAX_LENGTH: usize = MAX;

    /// Trims and validates text. Returns `None` for blank text. Line ends become `\n`. The limit applies before
    /// trimming, because a schema can express only that.
    pub fn parse(given: &str) -> Result<Option<Self>, String> {
        if with_newlines(given).chars().nth(MAX).is_some() {
            return Err(format!("must be at most {MAX} characters"));
        }
        let Some(text) = non_blank(given) else { return Ok(None) };
        if given.chars().any(is_forbidden) {
            let allowed = if MULTILINE { "newline and tab" } else { "tab" };
            return Err(format!("must not contain control characters other than {allowed}"));
        }
        if !MULTILINE && text.contains(['\n', '\r']) {
            return Err("must not contain a line break".to_owned());
        }
        Ok(Some(Self(with_newlines(text).into_owned())))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> Text<MAX> {
    /// What a field can hold of any text: the beginning of a long one, without control characters. `None` for blank text.
    pub fn cut(given: &str) -> Option<Self> {
        let line: String = trimmed(given).chars().filter(|c| !c.is_control()).take(MAX).collect();
        Self::parse(&line).ok().flatten()
    }
}

/// Trims text. Returns `None` if it is blank: if it consists only of white space and invisible characters.
pub fn non_blank(given: &str) -> Option<&str> {
    let is_blank = given.chars().all(|c| !is_forbidden(c) && (c.is_whitespace() || is_invisible(c)));
    (!is_blank).then(|| trimmed(given))
}

/// Trims Unicode white space and U+FEFF, which patterns in JavaScript treat as white space.
fn trimmed(given: &str) -> &str {
    given.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}')
}

/// Replaces the line ends of Windows (`\r\n`) and of old Macs (`\r`) with newlines.
fn with_newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}

/// Whether a character is a control character other than tab and the characters of line ends.
fn is_forbidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}

/// Whether a character has no glyph of its own: `Default_Ignorable_Code_Point` in Unicode 16. Inside visible text such
/// characters are meaningful, as in emoji and in Persian words.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// Formats `number` with commas as thousands separators.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Characters of every class that the rules distinguish.
    fn any_text() -> impl Strategy<Value = String> {
        const CHARACTERS: &str =
            "aé🦀\u{200B}\u{FE0F}\u{FEFF}\u{3164}\u{E0020} \u{3000}\u{2028}\t\n\r\u{B}\u{85}\0\u{7F}";
        let characters: Vec<char> = CHARACTERS.chars().collect();
        let character = prop_oneof![prop::sample::select(characters), any::<char>()];
        prop::collection::vec(character, 0..10).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn valid_text_is_trimmed_limited_and_stable(given in any_text()) {
            if let Ok(Some(text)) = Text::<8>::parse(&given) {
                prop_assert_eq!(text.as_str(), trimmed(&given));
                prop_assert!((1..=8).contains(&text.as_str().chars().count()));
                prop_assert_eq!(Text::<8>::parse(text.as_str()), Ok(Some(text.clone())));
            }
            if let Ok(Some(text)) = Lines::<8>::parse(&given) {
                prop_assert!(!text.as_str().contains('\r') && trimmed(text.as_str()) == text.as_str());
                prop_assert_eq!(Lines::<8>::parse(text.as_str()), Ok(Some(text.clone())));
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_cut(given in any_text()) {
            let cut = Text::<8>::cut(&given);
            if let Ok(whole @ Some(_)) = Text::<8>::parse(&given) && !given.contains('\t') {
                prop_assert_eq!(cut, whole);
            }
        }
    }

    #[test]
    fn text_is_cut_instead_of_refused() {
        let cut = |given: &str| Text::<4>::cut(given).map(|text| text.as_str().to_owned());
        assert_eq!(cut(" a\r\nb\u{7}cde "), Some("abcd".to_owned()));
        assert_eq!((cut("日本語🦀x"), cut(" \0"), cut("")), (Some("日本語🦀".to_owned()), None, None));
    }

    proptest! {
        #[test]
        fn commas_separate_the_thousands(number: u64) {
            let text = grouped(number);
            prop_assert_eq!(text.replace(',', ""), number.to_string());
            let groups: Vec<&str> = text.split(',').collect();
            prop_assert!((1..=3).contains(&groups[0].len()));
            prop_assert!(groups[1..].iter().all(|group| group.len() == 3));
        }
    }

    #[test]
    fn limits_count_characters_instead_of_bytes() {
        assert!(Text::<4>::parse("日本語🦀").unwrap().is_some());
        assert_eq!(Text::<4>::parse("日本語🦀x"), Err("must be at most 4 characters".to_owned()));
        assert_eq!(Text::<4>::parse(" abc "), Err("must be at most 4 characters".to_owned()));
        let lines = Lines::<4>::parse("a\r\n\rb").unwrap().unwrap();
        assert_eq!(lines.as_str(), "a\n\nb", "a line end is one character");
        assert!(Lines::<4>::parse("a\r\n\rbc").is_err());
    }

    #[test]
    fn text_without_visible_characters_is_blank() {
        for blank in [
            "",
            " \u{3000}\t",
            "\r\n",
            "\u{200B}",
            "\u{200C}\u{200D}",
            "\u{2060}\u{FEFF}",
            "\u{AD}",
            "\u{3164}\u{115F}\u{FFA0}",
            "\u{202E} \u{E0020}\u{FE0F}",
        ] {
            assert_eq!(Text::<4>::parse(blank), Ok(None), "{blank:?}");
            assert_eq!(Lines::<4>::parse(blank), Ok(None), "{blank:?}");
        }
        for visible in ["👩\u{200D}🔬", "❤\u{FE0F}", "می\u{200C}خواهم", "x\u{200B}", "\u{200F}א"]
        {
            assert_eq!(Text::<10>::parse(visible).unwrap().unwrap().as_str(), visible);
        }
    }

    #[test]
    fn only_long_text_has_several_lines() {
        for (given, text) in
            [("a\r\nb", "a\nb"), ("a\rb", "a\nb"), ("a\n\tb\r\n", "a\n\tb"), ("a\r\r\nb", "a\n\nb")]
        {
            assert_eq!(Lines::<9>::parse(given).unwrap().unwrap().as_str(), text);
            assert_eq!(Text::<9>::parse(given), Err("must not contain a line break".to_owned()));
        }
        assert_eq!(
            Text::<9>::parse(" \na\tb\r\n").unwrap().unwrap().as_str(),
            "a\tb",
            "line ends are trimmed"
        );
        for control in ["a\0b", "a\u{7f}b", "a\u{85}", "\u{b}", "a\u{1b}b"] {
            assert!(Text::<4>::parse(control).is_err() && Lines::<4>::parse(control).is_err(), "{control:?}");
        }
    }
}
