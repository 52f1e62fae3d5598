//! The search index, which the feed writes.
//!
//! A transaction that changes the words of a person says so in its item of the outbox, without the words, and adds those that
//! are gone to an item of its own. A run of the feed then reads the person's record, writes an entry for each word, and deletes
//! those of former words. What it writes depends only on what is stored then, so it may be late and be repeated. Only one
//! run at a time works on the changes of a tenant, so no older entry is written after a newer one.
//!
//! An erasure deletes the entries itself. It also adds all words to the former ones, because a run may be writing entries at
//! the same time. The run that moves the erasure to the feed deletes those.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;

use super::finding::WordEntry;
use super::item::{FORM, LATEST_FORM, number};
use super::keys::{self, Key};
use super::lease::Lease;
use super::maybe_erased::{MaybeErased, read_record};
use super::{Item, MAX_BATCH, Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::{Candidate, CandidateRecord, IndexForm, IndexPosition, SearchWords, Tenant};

/// Words that a person no longer has, but whose entries may still be in the index.
#[derive(Debug, Deserialize)]
pub(super) struct FormerWords {
    words: BTreeSet<String>,
    /// The last version of the record that had any of them. No other change of the item has the same.
    version: u64,
}

/// The attribute with former words.
const WORDS: &str = "words";
/// The attribute with the version of the record.
const VERSION: &str = "version";

impl Transaction {
    /// Has the entries of a candidate written for these words in place of others. Those of an erased candidate are deleted.
    pub(super) fn replace_words(
        &mut self,
        before: Option<&CandidateRecord>,
        after: Option<&CandidateRecord>,
    ) {
        let words = |record: &CandidateRecord| {
            (record.index_form, SearchWords::of(&record.candidate.profile, record.index_form))
        };
        let Some(CandidateRecord { candidate: Candidate { id, .. }, .. }) = after.or(before) else { return };
        let (old, new) = (before.map(words), after.map(words));
        if old == new {
            return;
        }
        self.write_words(*id);
        let (Some(before), Some((_, old))) = (before, old) else { return };
        if new.is_none() {
            for word in old.iter() {
                self.delete(keys::word(self.tenant, IndexPosition { word, id: *id }));
            }
        }
        let is_gone = |word: &&str| new.as_ref().is_none_or(|(_, new)| !new.contains(word));
        let gone: Vec<_> = old.iter().filter(is_gone).map(str::to_owned).collect();
        if !gone.is_empty() {
            self.update(
                keys::former_words(self.tenant, *id),
                "SET #form = :form, #version = :version ADD #words :gone",
                "",
                [("#form", FORM), ("#version", VERSION), ("#words", WORDS)]
                    .map(|(name, attribute)| (name, attribute.to_owned()))
                    .to_vec(),
                vec![
                    (":form", number(LATEST_FORM)),
                    (":version", number(before.version)),
                    (":gone", AttributeValue::Ss(gone)),
                ],
            );
        }
    }

    /// Has the entries of a candidate written.
    pub(super) fn write_words(&mut self, candidate: Id) {
        self.new_words.push(candidate);
    }
}

impl Store {
    /// Writes the entries of these people in the search index as their records are now, and deletes those of former words.
    pub(super) async fn write_index(
        &self,
        tenant: Tenant,
        people: impl Iterator<Item = Id>,
        lease: &Lease<'_>,
    ) -> Result<(), StoreError> {
        let people: Vec<_> = people.collect::<BTreeSet<_>>().into_iter().collect();
        for people in people.chunks(MAX_BATCH) {
            // The records are read after the former words, so a former word that a record has now has come back.
            let former_words = people.iter().map(|id| keys::former_words(tenant, *id));
            let mut all_former = self.read_many(former_words).await?;
            let records = people.iter().map(|id| keys::candidate_record(tenant, *id));
            let mut records = self.read_many(records).await?;
            let (mut entries, mut gone, mut former) = (Vec::new(), Vec::new(), Vec::new());
            for id in people {
                let mut words = SearchWords::default();
                match keys::candidate_record(tenant, *id).take_from(&mut records).map(read_record) {
                    Some(Ok(MaybeErased::Present(record))) => {
                        words = SearchWords::of(&record.candidate.profile, record.index_form);
                        let new = word_entries(tenant, *id, record.index_form, &words)?;
                        entries.extend(new.into_iter().map(|(_, entry)| entry));
                    }
                    Some(Ok(MaybeErased::Erased(_))) | None => {}
                    // It is reported, and the index stays as it is.
                    Some(Err(_)) => continue,
                }
                let Some(item) = keys::former_words(tenant, *id).take_from(&mut all_former) else { continue };
                let Some(FormerWords { words: all, version }) = item::read_listed(item) else { continue };
                let no_more = all.iter().filter(|word| !words.contains(word));
                gone.extend(no_more.map(|word| keys::word(tenant, IndexPosition { word, id: *id })));
                former.push((keys::former_words(tenant, *id), number(version)));
            }
            lease.write_all(entries.into_iter().map(|entry| self.write_item(entry))).await?;
            lease.write_all(gone.into_iter().map(|key| self.delete_item(key))).await?;
            // Words that a change has added meanwhile stay.
            let forget = former.into_iter().map(|(key, version)| self.delete_if(key, VERSION, version));
            lease.write_all(forget).await?;
        }
        Ok(())
    }

    /// Whether the entries of a candidate are still to be written.
    pub(super) async fn awaits_words(&self, tenant: Tenant, id: Option<Id>) -> Result<bool, StoreError> {
        let waiting = self.list_changes(tenant).await?;
        let mut new_words = waiting.values().flat_map(|entry| &entry.new_words);
        Ok(new_words.any(|new| id.is_none_or(|id| *new == id)))
    }
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
