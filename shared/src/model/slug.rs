//! Slugs: URL-safe forms of titles.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A slug: 1 to 80 lower-case ASCII letters, digits and single inner hyphens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slug(String);

impl Slug {
    /// The maximum length of a slug.
    pub const MAX: usize = 80;

    /// Makes a slug from a title in any script by transliteration. Returns `fallback` if the result has no letters.
    pub fn of(title: &str, fallback: &str) -> Self {
        let mut slug = String::new();
        for c in deunicode::deunicode_with_tofu(title, " ").chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        let slug = shortened(&slug, Self::MAX);
        let usable = slug.bytes().any(|byte| byte.is_ascii_lowercase());
        Self(if usable { slug } else { fallback }.to_owned())
    }

    /// Makes the slug of a job posting from its title. No posting has a slug that begins another path of the career site:
    /// `privacy`, `feeds` and `me`.
    pub fn of_posting(title: &str) -> Self {
        let slug = Self::of(title, "job");
        if ["privacy", "feeds", "me"].contains(&&*slug.0) { slug.with_suffix("-job") } else { slug }
    }

    /// Parses a slug, for example from a URL.
    pub fn parse(given: &str) -> Option<Self> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        (given.len() <= Self::MAX && given.split('-').all(is_word)).then(|| Self(given.to_owned()))
    }

    /// Returns this slug for number 1, `slug-2` for number 2, and so on.
    #[must_use]
    pub fn numbered(&self, number: u64) -> Self {
        if number < 2 { self.clone() } else { self.with_suffix(&format!("-{number}")) }
    }

    /// Appends `suffix`, shortening the slug if the result would be too long.
    #[must_use]
    pub fn with_suffix(&self, suffix: &str) -> Self {
        Self(format!("{}{suffix}", shortened(&self.0, Self::MAX - suffix.len())))
    }

    /// The slug.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shortens an ASCII slug to at most `max` bytes, without a hyphen at the end.
fn shortened(slug: &str, max: usize) -> &str {
    slug.get(..max).unwrap_or(slug).trim_end_matches('-')
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn well_formed(slug: &Slug) -> bool {
        let text = slug.as_str();
        (1..=Slug::MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && text.split('-').all(|part| !part.is_empty())
    }

    proptest! {
        #[test]
        fn any_title_gives_a_well_formed_slug(title in "(?s).{1,220}", number in 1u64..100_000) {
            let slug = Slug::of(&title, "job");
            prop_assert!(well_formed(&slug), "{slug}");
            prop_assert!(well_formed(&slug.numbered(number)), "{}", slug.numbered(number));
            prop_assert_eq!(Slug::parse(slug.as_str()), Some(slug.clone()));
            prop_assert_eq!(Slug::of(slug.as_str(), "job"), slug);
        }
    }

    #[test]
    fn no_posting_has_another_path_of_the_site() {
        for (title, slug) in [
            ("Privacy", "privacy-job"),
            (" PRIVACY! ", "privacy-job"),
            ("Privacy 2", "privacy-2"),
            ("Feeds", "feeds-job"),
            ("ME", "me-job"),
            ("!", "job"),
        ] {
            assert_eq!(Slug::of_posting(title).as_str(), slug, "{title}");
        }
        assert_eq!(Slug::of_posting("Privacy").numbered(2).as_str(), "privacy-job-2");
    }

    #[test]
    fn malformed_slugs_are_rejected() {
        for given in ["", "-", "a-", "-a", "a--b", "A", "a b", "a/b", "ä", "a.b", "a#b", &"a".repeat(81)] {
            assert_eq!(Slug::parse(given), None, "{given}");
        }
    }

    #[test]
    fn titles_in_any_script_are_transliterated() {
        for (title, slug) in [
            ("Senior Rust Engineer", "senior-rust-engineer"),
            ("  C++ / C# Développeur·se (H/F) ", "c-c-developpeur-se-h-f"),
            ("Größe & Übersicht", "grosse-ubersicht"),
            ("北京工程师", "bei-jing-gong-cheng-shi"),
            ("Инженер", "inzhener"),
            ("مهندس", "mhnds"),
            ("エンジニア", "enzinia"),
            ("!!!", "job"),
            ("2026", "job"),
            ("\u{0301}", "job"),
        ] {
            assert_eq!(Slug::of(title, "job").as_str(), slug, "{title}");
        }
        assert_eq!(Slug::of(&"word ".repeat(40), "job").as_str().len(), 79);
        assert_eq!(Slug::of(&"x".repeat(200), "job").numbered(12).as_str(), format!("{}-12", "x".repeat(77)));
        assert_eq!(Slug::of("Engineer", "job").numbered(1).as_str(), "engineer");
        assert_eq!(Slug::of("Engineer", "job").numbered(2).as_str(), "engineer-2");
    }
}
