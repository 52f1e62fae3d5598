//! The tags of candidates.

use serde::{Deserialize, Serialize};

use super::{CaseFolded, Text};

/// A word or a phrase that a client gives to several candidates.
pub type Tag = Text<50>;

/// A candidate's tags in the order in which they were given, at most [`Self::MAX`]. They differ in more than case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tags(Vec<Tag>);

impl Tags {
    /// The maximum number of tags.
    pub const MAX: usize = 20;

    /// The first [`Self::MAX`] tags. Of tags that differ only in case, the first is kept.
    pub fn of(given: impl IntoIterator<Item = Tag>) -> Self {
        let mut tags = Self::default();
        for tag in given {
            let folded = CaseFolded::of(tag.as_str());
            if tags.0.len() < Self::MAX && tags.folded().all(|other| other != folded) {
                tags.0.push(tag);
            }
        }
        tags
    }

    /// The tags.
    pub fn iter(&self) -> impl Iterator<Item = &Tag> {
        self.0.iter()
    }

    /// The number of tags.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The tags without case.
    pub fn folded(&self) -> impl Iterator<Item = CaseFolded> {
        self.0.iter().map(|tag| CaseFolded::of(tag.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(given: &[&str]) -> Vec<String> {
        let tags = Tags::of(given.iter().filter_map(|tag| Tag::parse(tag).unwrap()));
        tags.0.iter().map(|tag| tag.as_str().to_owned()).collect()
    }

    #[test]
    fn tags_that_differ_only_in_case_are_one_tag() {
        let given = ["Rust", "remote", "RUST", "Straße", "STRASSE", "re-mote", "rust"];
        assert_eq!(tags(&given), ["Rust", "remote", "Straße", "re-mote"]);
        let many: Vec<_> = (0..30).map(|number| number.to_string()).collect();
        assert_eq!(tags(&many.iter().map(String::as_str).collect::<Vec<_>>()).len(), Tags::MAX);
    }
}
