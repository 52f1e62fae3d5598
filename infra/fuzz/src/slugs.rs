//! Slugs: every title has a valid one.

use shared::model::Slug;

use crate::input::text;

/// The input is a title, and also a slug from a URL.
pub fn slugs(input: &[u8]) {
    let given = text(input);
    if let Some(slug) = Slug::parse(&given) {
        assert_eq!(slug.as_str(), given);
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
        };
        assert!(given.len() <= Slug::MAX && given.split('-').all(is_word));
    }
    let slug = Slug::of(&given, "fallback");
    assert_valid(&slug);
    assert!(slug.as_str().bytes().any(|byte| byte.is_ascii_lowercase()));
    assert_eq!(Slug::of(slug.as_str(), "other"), slug);
    for number in [0, 1, 2, input.len() as u64, u64::MAX] {
        assert_valid(&slug.numbered(number));
    }
    let posting = Slug::of_posting(&given);
    assert_valid(&posting);
    assert_ne!(posting.as_str(), "privacy");
}

fn assert_valid(slug: &Slug) {
    assert_eq!(Slug::parse(slug.as_str()).as_ref(), Some(slug));
}
