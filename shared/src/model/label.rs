//! What a role's applications are listed by besides their stages: where they came from, a tag, or why they ended.

use super::{Application, CaseFolded, Profile, Source, Tag};
use crate::id::Id;

/// A label of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// The source of the application or of the candidate, regardless of case.
    Source(Source),
    /// A tag of the candidate, regardless of case.
    Tag(Tag),
    /// The reason in the organization's list for which the application ended.
    Reason(Id),
}

impl Label {
    /// The labels of all applications of a candidate.
    pub fn of_profile(profile: &Profile) -> impl Iterator<Item = Self> {
        let tags = profile.tags.iter().cloned().map(Self::Tag);
        profile.source.clone().map(Self::Source).into_iter().chain(tags)
    }

    /// The labels of an application beside those of its candidate.
    pub fn of_application(application: &Application) -> impl Iterator<Item = Self> {
        let reason =
            application.rejection().and_then(|rejection| rejection.cause.reason_id).map(Self::Reason);
        [Self::Source(application.source.clone())].into_iter().chain(reason)
    }

    /// The kind of the label and its word. Labels that differ only in case have the same.
    pub fn folded(&self) -> String {
        let word = |kind, word| format!("{kind} {}", CaseFolded::of(word).as_str());
        match self {
            Self::Source(source) => word("source", source.as_str()),
            Self::Tag(tag) => word("tag", tag.as_str()),
            Self::Reason(id) => format!("reason {id}"),
        }
    }
}
