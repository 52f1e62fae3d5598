//! The lists of a role's applications by label, whose entries the feed writes as it does those of the
//! [index](super::indexing).
//!
//! An application has an entry for each of its labels. Only those that a change may have added are written, because a person
//! may have many applications with many labels. The key of an entry has a hash of the label, so neither the items of the outbox
//! nor former entries have a text about a person.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::keys::{self, Key};
use super::{Item, StoreError, item};
use crate::id::Id;
use crate::model::{Application, CandidateRecord, Label, Tenant};

/// An application in a list by label.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Labelled {
    /// The application.
    pub(super) id: Id,
    pub(super) candidate_id: Id,
}

/// An application and its role, as `{role}#{application}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct OfRole {
    role: Id,
    application: Id,
}

/// The place of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LabelEntry {
    of: OfRole,
    /// The hash of the label.
    label: String,
}

/// Some of a person's entries, as `{label}#{application}`, each of which may be missing: those of one application or of all, with
/// the hash of one label or with any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct LabelEntries {
    label: Option<String>,
    application: Option<Id>,
}

/// A person whose labels have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NewLabels {
    pub(super) candidate: Id,
    /// The entries that are to be written, as far as the person has them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) entries: BTreeSet<LabelEntries>,
}

/// What of a person's entries may still be stored after a change: those of labels that are gone. Without a record, they
/// are those of these applications.
#[derive(Debug, Default)]
pub(super) struct GoneLabels {
    pub(super) entries: Vec<String>,
    pub(super) applications: Vec<String>,
}

impl OfRole {
    const fn of(application: &Application) -> Self {
        Self { role: application.role.id, application: application.id }
    }
}

impl From<OfRole> for String {
    fn from(OfRole { role, application }: OfRole) -> Self {
        format!("{role}#{application}")
    }
}

impl TryFrom<String> for OfRole {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let of = text.split_once('#').and_then(|(role, application)| {
            Some(Self { role: role.parse().ok()?, application: application.parse().ok()? })
        });
        of.ok_or("it must name a role and an application")
    }
}

impl From<LabelEntries> for String {
    fn from(LabelEntries { label, application }: LabelEntries) -> Self {
        let application = application.map(|id| id.to_string()).unwrap_or_default();
        format!("{}#{application}", label.unwrap_or_default())
    }
}

impl TryFrom<String> for LabelEntries {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (label, application) = text.split_once('#').ok_or("it must name a label and an application")?;
        let application = match application {
            "" => None,
            id => Some(id.parse().map_err(|_| "its application must be an identifier")?),
        };
        Ok(Self { label: (!label.is_empty()).then(|| label.to_owned()), application })
    }
}

impl NewLabels {
    /// All of a person's entries.
    pub(super) fn all(candidate: Id) -> Self {
        Self { candidate, entries: [LabelEntries { label: None, application: None }].into() }
    }
}

impl LabelEntries {
    const fn of_label(label: String, application: Option<Id>) -> Self {
        Self { label: Some(label), application }
    }

    fn has(&self, entry: &LabelEntry) -> bool {
        self.application.is_none_or(|application| application == entry.of.application)
            && self.label.as_ref().is_none_or(|label| *label == entry.label)
    }

    /// The entries with the label, if one is named, of these applications.
    pub(super) fn among(&self, applications: &BTreeSet<OfRole>) -> impl Iterator<Item = LabelEntry> {
        let labelled = |of: &OfRole| Some(LabelEntry { of: *of, label: self.label.clone()? });
        applications.iter().filter_map(labelled).filter(|entry| self.has(entry))
    }
}

impl LabelEntry {
    pub(super) fn key(&self, tenant: Tenant) -> Key {
        keys::labelled(tenant, self.of.role, &self.label, self.of.application)
    }

    pub(super) fn item(&self, tenant: Tenant, candidate_id: Id) -> Result<Item, StoreError> {
        item::write(&Labelled { id: self.of.application, candidate_id }, self.key(tenant), None)
    }

    pub(super) fn is_among(&self, some: &BTreeSet<LabelEntries>) -> bool {
        some.iter().any(|entries| entries.has(self))
    }
}

/// The hashes of labels.
fn hashes(labels: impl Iterator<Item = Label>) -> BTreeSet<String> {
    labels.map(|label| keys::label(&label)).collect()
}

fn of_person(record: &CandidateRecord) -> BTreeSet<String> {
    hashes(Label::of_profile(&record.candidate.profile))
}

fn of_application(application: &Application) -> BTreeSet<String> {
    hashes(Label::of_application(application))
}

/// A person's applications.
pub(super) fn applications(record: &CandidateRecord) -> BTreeSet<OfRole> {
    record.applications.iter().map(OfRole::of).collect()
}

/// The entries of an application, with the labels of all the person's applications.
fn entries_of(application: &Application, of_all: &BTreeSet<String>) -> BTreeSet<LabelEntry> {
    let of = OfRole::of(application);
    of_application(application).union(of_all).map(|label| LabelEntry { of, label: label.clone() }).collect()
}

/// The entries that a person has.
pub(super) fn labels_of(record: &CandidateRecord) -> BTreeSet<LabelEntry> {
    let of_all = of_person(record);
    record.applications.iter().flat_map(|application| entries_of(application, &of_all)).collect()
}

/// Whether a person has the entry with this key.
pub(super) fn is_labelled(tenant: Tenant, record: &CandidateRecord, key: &Key) -> bool {
    let of_all = of_person(record);
    let mut applications = record.applications.iter();
    let application = applications.find(|application| key.sk.ends_with(&keys::padded(application.id)));
    let entries = application.map(|application| entries_of(application, &of_all)).unwrap_or_default();
    entries.iter().any(|entry| entry.key(tenant) == *key)
}

/// The labels that `one` has and `other` lacks, of one application or of all.
fn more(one: &BTreeSet<String>, other: &BTreeSet<String>, application: Option<Id>) -> Vec<LabelEntries> {
    one.difference(other).map(|label| LabelEntries::of_label(label.clone(), application)).collect()
}

/// What a change does to a candidate's labels: what is to be written, and what is gone.
pub(super) fn changed_labels(
    candidate: Id,
    before: Option<&CandidateRecord>,
    after: Option<&CandidateRecord>,
) -> (Option<NewLabels>, GoneLabels) {
    let applied = |record: Option<&CandidateRecord>| record.is_some_and(|one| !one.applications.is_empty());
    let none: BTreeSet<String> = BTreeSet::new();
    let (mut new, mut gone) = (BTreeSet::new(), BTreeSet::new());
    let (is_same_person, is_erased) = match (before, after) {
        (Some(before), Some(after)) => {
            let (old, new) = (&before.candidate.profile, &after.candidate.profile);
            (old.source == new.source && old.tags == new.tags, false)
        }
        _ => (false, after.is_none()),
    };
    if applied(before) && !is_same_person {
        let [old_labels, new_labels] =
            [before, after].map(|record| record.map(of_person).unwrap_or_default());
        new.extend(more(&new_labels, &old_labels, None));
        gone.extend(more(&old_labels, &new_labels, None));
    }
    let [old, current] = [before, after].map(|record| record.map_or(&[][..], |record| &record.applications));
    for application in current {
        let id = Some(application.id);
        match old.iter().find(|old| old.id == application.id) {
            Some(old) if old.cause == application.cause && old.source == application.source => {}
            Some(old) => {
                let [old_labels, new_labels] = [old, application].map(of_application);
                new.extend(more(&new_labels, &old_labels, id));
                gone.extend(more(&old_labels, &new_labels, id));
            }
            None => drop(new.insert(LabelEntries { label: None, application: id })),
        }
    }
    let removed: Vec<_> = old.iter().filter(|old| current.iter().all(|one| one.id != old.id)).collect();
    gone.extend(removed.iter().flat_map(|one| more(&of_application(one), &none, Some(one.id))));
    if !is_erased && !removed.is_empty() {
        let of_all = before.map(of_person).unwrap_or_default();
        gone.extend(removed.iter().flat_map(|one| more(&of_all, &none, Some(one.id))));
    }
    let applications = removed.into_iter().map(OfRole::of).map(String::from).collect();
    let has_changed = !(new.is_empty() && gone.is_empty());
    let new = has_changed.then_some(NewLabels { candidate, entries: new });
    (new, GoneLabels { entries: gone.into_iter().map(String::from).collect(), applications })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_entries_are_read_as_they_were_written() {
        for text in ["#", "x#", "#7", "x-_9#7"] {
            let entries = LabelEntries::try_from(text.to_owned()).unwrap();
            assert_eq!(String::from(entries), text);
        }
        for text in ["", "x", "#x", "x#0"] {
            assert!(LabelEntries::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert_eq!(String::from(OfRole::try_from("7#9".to_owned()).unwrap()), "7#9");
        assert!(
            ["", "7", "7#", "#9", "x#9"].iter().all(|text| OfRole::try_from((*text).to_owned()).is_err())
        );
    }
}
