//! What the feed writes about people: the search index, and the lists of applications by [label](super::labels).
//!
//! A transaction that changes the words of a person says so in its item of the outbox, without the words, and adds those that
//! are gone to an item of its own. A run of the feed then reads the person's record, writes an entry for each word, and deletes
//! those of former words. What it writes depends only on what is stored then, so it may be late and be repeated. Only one
//! run at a time works on the changes of a tenant, so no older entry is written after a newer one. Labels are the same, but the
//! item of the outbox says which of them may be new, and only their entries are written.
//!
//! An erasure deletes the entries of words itself. It also adds all words and labels to the former ones, because a run may be
//! writing entries at the same time. The run that moves the erasure to the feed deletes those. Entries of labels are not
//! deleted before: they have identifiers only, nobody who was erased is shown, and there may be more than a transaction takes.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;

use super::finding::{WordEntry, indexed};
use super::item::{FORM, LATEST_FORM, number};
use super::keys::{self, Key};
use super::labels::{LabelEntries, LabelEntry, NewLabels, OfRole, applications, changed_labels, labels_of};
use super::lease::Lease;
use super::maybe_erased::{MaybeErased, read_record};
use super::{Item, MAX_BATCH, Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::{Candidate, CandidateRecord, IndexForm, IndexPosition, SearchWords, Tenant};

/// Words and labels that a person no longer has, but whose entries may still be stored.
#[derive(Debug, Deserialize)]
pub(super) struct FormerWords {
    #[serde(default)]
    words: BTreeSet<String>,
    /// The entries of labels, of the person's applications.
    #[serde(default)]
    labels: BTreeSet<LabelEntries>,
    /// The applications that were removed, or of an erased person.
    #[serde(default)]
    applications: BTreeSet<OfRole>,
    /// The last version of the record that had any of them. No other change of the item has the same.
    version: u64,
}

/// The attribute with former words.
const WORDS: &str = "words";
/// The attribute with former entries of labels.
const LABELS: &str = "labels";
/// The attribute with the applications that were removed, or of an erased person.
const APPLICATIONS: &str = "applications";
/// The attribute with the version of the record.
const VERSION: &str = "version";

impl Transaction {
    /// Has the entries of a candidate written for these words and labels in place of others. Those of an erased candidate are
    /// deleted.
    pub(super) fn replace_entries(
        &mut self,
        before: Option<&CandidateRecord>,
        after: Option<&CandidateRecord>,
    ) {
        let Some(CandidateRecord { candidate: Candidate { id, .. }, .. }) = after.or(before) else { return };
        let words = self.replace_words(*id, before, after);
        let (new, labels) = changed_labels(*id, before, after);
        self.new_labels.extend(new);
        let gone = [
            ("#words", ":words", WORDS, words),
            ("#labels", ":labels", LABELS, labels.entries),
            ("#applications", ":applications", APPLICATIONS, labels.applications),
        ];
        let gone: Vec<_> = gone.into_iter().filter(|(.., gone)| !gone.is_empty()).collect();
        let Some(before) = before.filter(|_| !gone.is_empty()) else { return };
        let sets: Vec<_> = gone.iter().map(|(name, value, ..)| format!("{name} {value}")).collect();
        let (mut names, mut values) = (
            vec![("#form", FORM.to_owned()), ("#version", VERSION.to_owned())],
            vec![(":form", number(LATEST_FORM)), (":version", number(before.version))],
        );
        for (name, value, attribute, gone) in gone {
            names.push((name, attribute.to_owned()));
            values.push((value, AttributeValue::Ss(gone)));
        }
        let expression = format!("SET #form = :form, #version = :version ADD {}", sets.join(", "));
        self.update(keys::former_words(self.tenant, *id), expression, "", names, values);
    }

    /// Has the entries of words written. Returns the words that are gone.
    fn replace_words(
        &mut self,
        id: Id,
        before: Option<&CandidateRecord>,
        after: Option<&CandidateRecord>,
    ) -> Vec<String> {
        let words = |record: &CandidateRecord| {
            (record.index_form, SearchWords::of(&record.candidate.profile, record.index_form))
        };
        if before.map(indexed) == after.map(indexed) {
            return Vec::new();
        }
        let (old, new) = (before.map(words), after.map(words));
        if old == new {
            return Vec::new();
        }
        self.write_words(id);
        let Some((_, old)) = old else { return Vec::new() };
        if new.is_none() {
            for word in old.iter() {
                self.delete(keys::word(self.tenant, IndexPosition { word, id }));
            }
        }
        let is_gone = |word: &&str| new.as_ref().is_none_or(|(_, new)| !new.contains(word));
        old.iter().filter(is_gone).map(str::to_owned).collect()
    }

    /// Has the entries of a candidate in the search index written.
    pub(super) fn write_words(&mut self, candidate: Id) {
        self.new_words.push(candidate);
    }

    /// Has all entries of a candidate in the lists by label written.
    pub(super) fn write_labels(&mut self, candidate: Id) {
        self.new_labels.push(NewLabels::all(candidate));
    }
}

impl Store {
    /// Writes the entries of these people in the search index and in the lists by label as their records are now, and deletes
    /// those of former words and labels.
    pub(super) async fn write_index(
        &self,
        tenant: Tenant,
        new_words: &BTreeSet<Id>,
        new_labels: Vec<NewLabels>,
        lease: &Lease<'_>,
    ) -> Result<(), StoreError> {
        let mut labels: BTreeMap<Id, BTreeSet<LabelEntries>> = BTreeMap::new();
        for NewLabels { candidate, entries } in new_labels {
            labels.entry(candidate).or_default().extend(entries);
        }
        let people: Vec<_> =
            new_words.iter().chain(labels.keys()).copied().collect::<BTreeSet<_>>().into_iter().collect();
        for people in people.chunks(MAX_BATCH) {
            // The records are read after the former words, so a former word that a record has now has come back.
            let former_words = people.iter().map(|id| keys::former_words(tenant, *id));
            let mut all_former = self.read_many(former_words).await?;
            let records = people.iter().map(|id| keys::candidate_record(tenant, *id));
            let mut records = self.read_many(records).await?;
            let (mut entries, mut gone, mut forgotten) = (Vec::new(), Vec::new(), Vec::new());
            for id in people {
                let former = keys::former_words(tenant, *id).take_from(&mut all_former);
                let former = former.and_then(item::read_listed::<FormerWords>);
                let new_labels = labels.get(id).filter(|entries| !entries.is_empty());
                let needs_labels =
                    new_labels.is_some() || former.as_ref().is_some_and(|former| !former.labels.is_empty());
                let record = match keys::candidate_record(tenant, *id).take_from(&mut records) {
                    Some(item) if needs_labels => self.complete_record(tenant, item).await,
                    Some(item) => read_record(item).map(Some),
                    None => Ok(None),
                };
                let record = match record {
                    Ok(found) => found.and_then(MaybeErased::present),
                    // It is reported, and the index stays as it is.
                    Err(StoreError::Unreadable(_)) => continue,
                    Err(error) => return Err(error),
                };
                let (mut words, mut labelled) = (SearchWords::default(), BTreeSet::new());
                if let Some(record) = &record {
                    words = SearchWords::of(&record.candidate.profile, record.index_form);
                    if new_words.contains(id) {
                        let new = word_entries(tenant, *id, record.index_form, &words)?;
                        entries.extend(new.into_iter().map(|(_, entry)| entry));
                    }
                    if needs_labels {
                        labelled = labels_of(record);
                    }
                    let new =
                        labelled.iter().filter(|entry| new_labels.is_some_and(|new| entry.is_among(new)));
                    entries.extend(new.map(|entry| entry.item(tenant, *id)).collect::<Result<Vec<_>, _>>()?);
                }
                let Some(former) = former else { continue };
                let no_more = former.words.iter().filter(|word| !words.contains(word));
                gone.extend(no_more.map(|word| keys::word(tenant, IndexPosition { word, id: *id })));
                let mut applications = record.as_ref().map(applications).unwrap_or_default();
                applications.extend(former.applications);
                let former_labels: BTreeSet<_> =
                    former.labels.iter().flat_map(|entries| entries.among(&applications)).collect();
                gone.extend(former_labels.difference(&labelled).map(|entry| entry.key(tenant)));
                forgotten.push((keys::former_words(tenant, *id), number(former.version)));
            }
            lease.write_all(entries, |entry| self.write_item(entry)).await?;
            lease.write_all(gone, |key| self.delete_item(key)).await?;
            // What a change has added meanwhile stays.
            lease.write_all(forgotten, |(key, version)| self.delete_if(key, VERSION, version)).await?;
        }
        Ok(())
    }

    /// Whether the entries of a candidate are still to be written.
    pub(super) async fn awaits_entries(&self, tenant: Tenant, id: Option<Id>) -> Result<bool, StoreError> {
        let waiting = self.list_changes(tenant).await?;
        let mut people = waiting.values().flat_map(|entry| {
            entry.new_words.iter().copied().chain(entry.new_labels.iter().map(|new| new.candidate))
        });
        Ok(people.any(|new| id.is_none_or(|id| new == id)))
    }
}

/// The entries of a candidate in the lists by label.
pub(super) fn label_entries(
    tenant: Tenant,
    record: &CandidateRecord,
) -> Result<Vec<(Key, Item)>, StoreError> {
    let entry = |entry: LabelEntry| Ok((entry.key(tenant), entry.item(tenant, record.candidate.id)?));
    labels_of(record).into_iter().map(entry).collect()
}

/// The entries of a candidate in the search index.
pub(super) fn word_entries(
    tenant: Tenant,
    id: Id,
    form: IndexForm,
    words: &SearchWords,
) -> Result<Vec<(Key, Item)>, StoreError> {
    let entry = |word| {
        let key = keys::word(tenant, IndexPosition { word, id });
        Ok((key.clone(), item::write(&WordEntry::new(&key, form, words), key, None)?))
    };
    words.iter().map(entry).collect()
}
