//! Text that people enter: trimmed, limited in length and without control characters.

use serde::{Deserialize, Serialize};

/// Text of 1 to `MAX` characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    /// Trims and validates text. Returns `None` for blank text. The limit applies before trimming, because a schema can
    /// express only that.
    pub fn parse(given: &str) -> Result<Option<Self>, String> {
        if given.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
            return Err("must not contain control characters other than newline and tab".to_owned());
        }
        if given.chars().nth(MAX).is_some() {
            return Err(format!("must be at most {MAX} characters"));
        }
        let text = trimmed(given);
        Ok((!text.is_empty()).then(|| Self(text.to_owned())))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Trims Unicode white space and U+FEFF, which patterns in JavaScript treat as white space.
fn trimmed(given: &str) -> &str {
    given.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}')
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

    proptest! {
        #[test]
        fn valid_text_is_trimmed_limited_and_stable(given in "(?s).{0,12}") {
            if let Ok(Some(text)) = Text::<8>::parse(&given) {
                prop_assert_eq!(text.as_str(), trimmed(&given));
                prop_assert!((1..=8).contains(&text.as_str().chars().count()));
                prop_assert_eq!(Text::<8>::parse(text.as_str()), Ok(Some(text.clone())));
            }
        }
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
        assert_eq!(Text::<4>::parse(" \u{3000}\n"), Ok(None));
        assert_eq!(Text::<4>::parse(" abc\n"), Err("must be at most 4 characters".to_owned()));
        assert!(Text::<4>::parse("a\n\tb").unwrap().is_some());
        for control in ["a\rb", "a\r", "a\0b", "a\u{7f}b", "a\u{85}b", "a\u{1b}b"] {
            assert!(Text::<4>::parse(control).is_err(), "{control:?}");
        }
    }
}
