//! Finding candidates: by e-mail address, external id, phone number, source, tag, or the words of a search; and those
//! who may be the same person.
//!
//! Every write of a candidate's record also writes the lists and the claims that the candidate is found by. The
//! [index](super::indexing) of words follows by moments.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::keys::{CandidateGroup, Key, Partition};
use super::list::Range;
use super::partition::padded;
use super::{Item, Listed, Paging, Store, StoreError, Transaction, UniqueField, item, keys};
use crate::id::Id;
use crate::model::{
    Candidate, CandidateRecord, CaseFolded, Email, ExternalId, IndexForm, IndexPosition, Organization, Phone,
    Profile, SearchQuery, SearchWords, Source, Tag, Tenant,
};

/// What candidates are found by.
#[derive(Clone, Debug)]
pub enum CandidateSearch {
    /// The e-mail address, regardless of case.
    Email(Email),
    /// One of these phone numbers.
    Phones(Vec<Phone>),
    /// The identifier in a system of the client.
    ExternalId(ExternalId),
    /// The source, regardless of case.
    Source(Source),
    /// One of the tags, regardless of case.
    Tag(Tag),
    /// The words of the name, the e-mail address and the phone number.
    Words(SearchQuery),
}

/// An item that refers to a candidate.
#[derive(Serialize, Deserialize)]
pub(super) struct Reference {
    pub(super) id: Id,
}

/// An entry of the search index.
#[derive(Serialize, Deserialize)]
pub(super) struct WordEntry {
    /// The text of the [`IndexPosition`].
    sk: String,
    /// The form of the words.
    #[serde(default, skip_serializing_if = "IndexForm::is_first")]
    index_form: IndexForm,
    /// All words of the candidate.
    words: SearchWords,
}

impl WordEntry {
    /// The position of the entry.
    fn position(&self) -> Result<IndexPosition<'_>, StoreError> {
        let position = IndexPosition::parse(&self.sk);
        position.ok_or_else(|| StoreError::Internal("an index entry has no position".to_owned()))
    }

    /// The entry with this key.
    pub(super) fn new(key: &Key, index_form: IndexForm, words: &SearchWords) -> Self {
        Self { sk: key.sk.clone(), index_form, words: words.clone() }
    }

    /// The approximate number of bytes that a read of the entry is charged for.
    fn size(&self) -> usize {
        const KEYS_AND_NAMES: usize = 40;
        let words = self.words.iter().map(|word| word.len() + 1);
        KEYS_AND_NAMES + self.sk.len() + words.sum::<usize>()
    }
}

/// The maximum number of queries for a page of a search. With the gate and the batch of candidates, a search makes four
/// calls.
const MAX_QUERIES: usize = 2;
/// The maximum number of queries for a page while nobody is found. Such a page is empty only if more would have to be read.
const MAX_QUERIES_FOR_ANYBODY: usize = 4;
/// The number of entries that a first look at a word reads, for half a unit. With several words, a search first looks at the
/// three longest ones at the same time.
const FEW_ENTRIES: usize = 30;
/// The maximum number of prefixes of a word that a search looks at.
const MAX_LOOKS: usize = 2;
/// What ends the number of the word that drives a search, in the position of a page.
const DRIVER_END: char = ':';
/// The number of entries that the first query for a page of a search with several words reads, if nothing is known about
/// their size.
const FIRST_ENTRIES: usize = 100;
/// What is read for such a page: its queries cost at most 4.5 units.
const PAGE: Budget = Budget { entries: 300, bytes: 32 * 1024 };
/// What a query for a page reads once that much has found nobody. It costs at most 24 units, which is less than the pages that
/// a client would have to ask for instead.
const ANYBODY: Budget = Budget { entries: 1_500, bytes: 192 * 1024 };
/// The maximum number of possible duplicates of a candidate.
const MAX_DUPLICATES: u32 = 5;

impl Transaction {
    /// Writes the changes to the items that a candidate is found by, except the claim on the e-mail address, and has the
    /// entries of words and labels written. At most 20 tags are deleted and as many written, beside at most two items each for phone
    /// number, mailbox, source and external id. An erasure also deletes at most 30 words. While the candidate's import is not
    /// finished, there is only the claim on the external id.
    pub(super) fn replace_index(
        &mut self,
        before: Option<&CandidateRecord>,
        after: Option<&CandidateRecord>,
    ) -> Result<(), StoreError> {
        let shown = [before, after].map(|record| record.and_then(CandidateRecord::shown));
        self.replace_entries(shown[0], shown[1]);
        if before.map(indexed) == after.map(indexed) && shown.map(|one| one.is_some()) == [true; 2] {
            return Ok(());
        }
        let [old_keys, new_keys] = shown.map(|record| {
            record.map(|record| group_keys(self.tenant, &record.candidate)).unwrap_or_default()
        });
        for key in old_keys.iter().filter(|key| !new_keys.contains(key)) {
            self.delete(key.clone());
        }
        if let Some(CandidateRecord { candidate: Candidate { id, .. }, .. }) = after {
            for key in new_keys.into_iter().filter(|key| !old_keys.contains(key)) {
                self.put(item::write(&Reference { id: *id }, key, None)?)?;
            }
        }
        let (old, new) = [before, after].map(|record| record?.candidate.profile.external_id.as_ref()).into();
        if old != new {
            if let (Some(new), Some(CandidateRecord { candidate, .. })) = (new, after) {
                let id = candidate.id;
                let claim = item::write(&Reference { id }, keys::external_id(self.tenant, new), None)?;
                self.insert_claim(UniqueField::ExternalId, claim);
            }
            if let Some(old) = old {
                self.delete(keys::external_id(self.tenant, old));
            }
        }
        Ok(())
    }
}

/// What a candidate is found by depends on this.
pub(super) const fn indexed(record: &CandidateRecord) -> (&Profile, IndexForm) {
    (&record.candidate.profile, record.index_form)
}

/// The keys of the items that a candidate is found by, except the claim on the e-mail address and the search index, which is
/// one partition.
pub(super) fn keys_outside_the_index(tenant: Tenant, candidate: &Candidate) -> Vec<Key> {
    let external_id = candidate.profile.external_id.iter().map(|id| keys::external_id(tenant, id));
    group_keys(tenant, candidate).into_iter().chain(external_id).collect()
}

/// The keys of a candidate's entries in the lists by phone number, mailbox, source and tag.
fn group_keys(tenant: Tenant, candidate: &Candidate) -> Vec<Key> {
    groups(tenant, &candidate.profile).map(|group| group.entry(candidate.id)).collect()
}

/// The lists by phone number, mailbox, source and tag that a candidate is in.
fn groups(tenant: Tenant, profile: &Profile) -> impl Iterator<Item = CandidateGroup> {
    let phone = profile.phone.iter().map(move |phone| CandidateGroup::of_phone(tenant, phone));
    let mailbox = profile.email.as_ref().and_then(Email::gmail_mailbox);
    let mailbox = mailbox.map(move |mailbox| CandidateGroup::of_mailbox(tenant, &mailbox));
    let source = profile.source.iter().map(move |source| CandidateGroup::of_source(tenant, &folded(source)));
    let tags = profile.tags.folded().map(move |tag| CandidateGroup::of_tag(tenant, &tag));
    phone.chain(mailbox).chain(source).chain(tags)
}

fn folded(source: &Source) -> CaseFolded {
    CaseFolded::of(source.as_str())
}

/// Reads items of candidates in lists. Leaves out those that cannot be read.
pub(super) fn by_id(items: Vec<Item>) -> HashMap<Id, Candidate> {
    let candidates = items.into_iter().filter_map(item::read_listed::<Candidate>);
    candidates.map(|candidate| (candidate.id, candidate)).collect()
}

impl Store {
    /// A page of the candidates that are found. Words are found in the order of [`SearchQuery`]; other lists are newest
    /// first. The claims on e-mail addresses and external ids are read consistently, everything else eventually. `expect` gets
    /// the number of those who are found before they are read; somebody who was just erased is among them.
    pub async fn search_candidates(
        &self,
        organization: &Organization,
        search: &CandidateSearch,
        page: &Paging,
        expect: impl FnOnce(usize) + Send,
    ) -> Result<Listed<Candidate>, StoreError> {
        let tenant = organization.tenant();
        let groups = match search {
            CandidateSearch::Email(email) => {
                return self.find_claimed(tenant, keys::email(tenant, email), expect).await;
            }
            CandidateSearch::ExternalId(id) => {
                return self.find_claimed(tenant, keys::external_id(tenant, id), expect).await;
            }
            CandidateSearch::Words(query) => {
                let Listed { items, next } = self.search_index(organization, query, page).await?;
                expect(items.len());
                let mut items = self.find_candidates(tenant, &items).await?;
                if organization.index_form < IndexForm::NEWEST {
                    // Words of an older form can be those of somebody else.
                    let words = |found: &Candidate| SearchWords::of(&found.profile, IndexForm::NEWEST);
                    items.retain(|found| query.matches(&words(found)));
                }
                return Ok(Listed { items, next });
            }
            CandidateSearch::Phones(phones) => {
                phones.iter().map(|phone| CandidateGroup::of_phone(tenant, phone)).collect()
            }
            CandidateSearch::Source(source) => vec![CandidateGroup::of_source(tenant, &folded(source))],
            CandidateSearch::Tag(tag) => vec![CandidateGroup::of_tag(tenant, &CaseFolded::of(tag.as_str()))],
        };
        let Listed { items, next } = self.read_groups(groups, page).await?;
        expect(items.len());
        Ok(Listed { items: self.find_candidates(tenant, &items).await?, next })
    }

    /// A page of the candidates who are in one of the groups, newest first.
    async fn read_groups(
        &self,
        groups: Vec<CandidateGroup>,
        page: &Paging,
    ) -> Result<Listed<Id>, StoreError> {
        let (mut found, mut next) = (BTreeSet::new(), None);
        for group in groups {
            let read: Listed<Reference> = self.read_page(&group.partition(), page).await?;
            found.extend(read.items.into_iter().map(|Reference { id }| id));
            // What is older than the end of one page comes with the next page of all.
            next = next.max(read.next);
        }
        let is_read = |id: &Id| next.as_ref().is_none_or(|next| padded(*id) >= *next);
        let mut items: Vec<_> = found.into_iter().rev().filter(is_read).collect();
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        if items.len() > limit {
            items.truncate(limit);
            next = items.last().map(|id| padded(*id));
        }
        Ok(Listed { items, next })
    }

    /// The candidate with a claim, as a list of at most one.
    async fn find_claimed(
        &self,
        tenant: Tenant,
        claim: Key,
        expect: impl FnOnce(usize) + Send,
    ) -> Result<Listed<Candidate>, StoreError> {
        let mut items = Vec::new();
        if let Some(claim) = self.read(claim).await? {
            expect(1);
            let candidate = self.read(keys::candidate(tenant, item::read::<Reference>(claim)?.id)).await?;
            items.extend(candidate.map(item::read).transpose()?);
        }
        Ok(Listed { items, next: None })
    }

    /// The candidates with these identifiers, at most 100, in this order. Omits candidates who are no longer in lists.
    pub async fn find_candidates(&self, tenant: Tenant, ids: &[Id]) -> Result<Vec<Candidate>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys = ids.iter().map(|id| keys::candidate(tenant, *id));
        let mut candidates = by_id(self.read_many_eventually(keys).await?);
        Ok(ids.iter().filter_map(|id| candidates.remove(id)).collect())
    }

    /// The other candidates with the same phone number or the same mailbox, at most 5, newest first.
    pub async fn find_possible_duplicates(
        &self,
        tenant: Tenant,
        candidate: &Candidate,
    ) -> Result<Vec<Id>, StoreError> {
        let Profile { phone, email, .. } = &candidate.profile;
        let phone = phone.as_ref().map(|phone| CandidateGroup::of_phone(tenant, phone));
        let mailbox = email.as_ref().and_then(Email::gmail_mailbox);
        let mailbox = mailbox.map(|mailbox| CandidateGroup::of_mailbox(tenant, &mailbox));
        // One more, because the candidate is in both groups.
        let page = Paging { limit: MAX_DUPLICATES + 1, before: None };
        let newest = async |group: Option<CandidateGroup>| match group {
            Some(group) => Ok(self.read_page::<Reference>(&group.partition(), &page).await?.items),
            None => Ok::<_, StoreError>(Vec::new()),
        };
        let (same_phone, same_mailbox) = tokio::try_join!(newest(phone), newest(mailbox))?;
        let found = same_phone.into_iter().chain(same_mailbox).map(|Reference { id }| id);
        let found: BTreeSet<_> = found.filter(|id| *id != candidate.id).collect();
        Ok(found.into_iter().rev().take(MAX_DUPLICATES as usize).collect())
    }

    /// A page of the results of a search in the index. The position of the next page begins with the number of the word
    /// that drives the search.
    async fn search_index(
        &self,
        organization: &Organization,
        query: &SearchQuery,
        page: &Paging,
    ) -> Result<Listed<Id>, StoreError> {
        let position = page.before.as_deref().and_then(|position| position.split_once(DRIVER_END));
        let (driver, after, looks) = if let Some((driver, after)) = position {
            (driver.parse().unwrap_or(0), Some(after.to_owned()), Looks::new())
        } else {
            let (driver, looks) = self.rarest_word(organization, query).await?;
            (driver, None, looks)
        };
        let query = &query.driven_by(driver);
        let Listed { items, next } =
            self.search_driven(organization, query, page.limit, after, looks).await?;
        Ok(Listed { items, next: next.map(|next| format!("{driver}{DRIVER_END}{next}")) })
    }

    /// The word that should drive a search, and the first entries of its prefixes.
    async fn rarest_word(
        &self,
        organization: &Organization,
        query: &SearchQuery,
    ) -> Result<(usize, Looks), StoreError> {
        if query.drivers() < 2 {
            return Ok((0, Looks::new()));
        }
        let index = &keys::words(organization.tenant());
        let look = async |driver| {
            let driven = query.driven_by(driver);
            let prefixes = driven.prefixes(organization.index_form);
            let reads = prefixes.iter().take(MAX_LOOKS).map(async |prefix| {
                let read = self.query_words(index, FEW_ENTRIES, prefix, None).await?;
                Ok::<_, StoreError>((prefix.clone(), read))
            });
            let looks: Looks = try_join_all(reads).await?.into_iter().collect();
            Ok::<_, StoreError>((Rarity::of(&driven, &looks, prefixes.len()), driver, looks))
        };
        // Of equally rare words, the longest one comes first.
        let seen = try_join_all((0..query.drivers()).map(look)).await?;
        let rarest = seen.into_iter().min_by(|(one, ..), (other, ..)| one.cmp(other));
        Ok(rarest.map_or((0, Looks::new()), |(_, driver, looks)| (driver, looks)))
    }

    /// Entries whose sort key begins with a prefix, and the last sort key if more follow. Leaves out what cannot be read.
    async fn query_words(
        &self,
        index: &Partition,
        count: usize,
        prefix: &str,
        after: Option<&str>,
    ) -> Result<WordsRead, StoreError> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let (items, last) = self.query(index, count, Range::Prefix { prefix, after }).await?;
        Ok((items.into_iter().filter_map(item::read_listed).collect(), last))
    }

    /// A page of the results of a search that one word drives, after a sort key. The first entries of its prefixes may have
    /// been read already.
    async fn search_driven(
        &self,
        organization: &Organization,
        query: &SearchQuery,
        limit: u32,
        mut after: Option<String>,
        mut looks: Looks,
    ) -> Result<Listed<Id>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let index = keys::words(organization.tenant());
        let plan = SearchPlan::of(query, organization.index_form, after.as_deref());
        let mut prefixes = plan.remaining.as_slice();
        let (mut found, mut last_found) = (Vec::new(), None);
        let (mut read, mut made) = (Amount::default(), 0);
        while let Some((prefix, rest)) = prefixes.split_first() {
            let look = if after.is_none() { looks.remove(prefix) } else { None };
            let (entries, last) = if let Some(look) = look {
                look
            } else {
                let missing = limit - found.len();
                let Some(count) = plan.next_query(query, missing, found.is_empty(), made, &read) else {
                    break;
                };
                made += 1;
                let after_in_prefix = after.as_deref().filter(|after| after.starts_with(prefix));
                self.query_words(&index, count, prefix, after_in_prefix).await?
            };
            for entry in entries {
                read.add(&entry);
                let position = entry.position()?;
                // Who is written again between two queries is in both of their answers.
                let is_result = query.listed_at(&entry.words, entry.index_form) == Some(position.word);
                if !is_result || found.contains(&position.id) {
                    continue;
                }
                if found.len() == limit {
                    return Ok(Listed { items: found, next: last_found });
                }
                found.push(position.id);
                last_found = Some(entry.sk);
            }
            if last.is_none() {
                prefixes = rest;
            }
            after = last;
        }
        let next = prefixes.first().map(|prefix| after.unwrap_or_else(|| prefix.clone()));
        Ok(Listed { items: found, next })
    }
}

/// Entries of the search index, and the last sort key if more follow.
type WordsRead = (Vec<WordEntry>, Option<String>);

/// The first entries of prefixes.
type Looks = HashMap<String, WordsRead>;

/// How rare a word of a search is, as far as a look at a few entries tells. Rarer words come first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rarity {
    /// The word has only so many entries.
    Few(usize),
    /// The word has more. One comes first if fewer of the entries are no results, then if the people reach further back.
    More {
        /// The number of entries that are no results.
        others: usize,
        /// The person who was added first.
        oldest: Option<Id>,
    },
}

impl Rarity {
    /// The rarity of the word that drives `query` and has this number of prefixes.
    fn of(query: &SearchQuery, looks: &Looks, prefixes: usize) -> Self {
        let entries = || looks.values().flat_map(|(entries, _)| entries);
        if looks.len() == prefixes && looks.values().all(|(_, more)| more.is_none()) {
            return Self::Few(entries().count());
        }
        let positions = || entries().filter_map(|entry| Some((entry, entry.position().ok()?)));
        let is_result =
            |entry: &WordEntry, word: &str| query.listed_at(&entry.words, entry.index_form) == Some(word);
        Self::More {
            others: positions().filter(|(entry, position)| !is_result(entry, position.word)).count(),
            oldest: positions().map(|(_, position)| position.id).min(),
        }
    }
}

/// A number of entries and of bytes that may be read.
struct Budget {
    entries: usize,
    bytes: usize,
}

/// What was read.
#[derive(Default)]
struct Amount {
    entries: usize,
    bytes: usize,
}

impl Amount {
    /// Adds an entry.
    fn add(&mut self, entry: &WordEntry) {
        (self.entries, self.bytes) = (self.entries + 1, self.bytes + entry.size());
    }

    /// The number of similar entries that have so many bytes; `None` if nothing was read.
    const fn similar(&self, bytes: usize) -> Option<usize> {
        bytes.saturating_mul(self.entries).checked_div(self.bytes)
    }

    /// The number of entries that a page may still read.
    fn left_on_page(&self) -> usize {
        let similar = self.similar(PAGE.bytes.saturating_sub(self.bytes));
        similar.unwrap_or(FIRST_ENTRIES).min(PAGE.entries.saturating_sub(self.entries))
    }
}

/// What a page of a search reads.
struct SearchPlan {
    /// The prefixes whose entries are still to be read, the first of them after the position of the page.
    remaining: Vec<String>,
    /// The maximum number of queries once somebody is found.
    queries: usize,
}

impl SearchPlan {
    /// The plan for a page after a position, in an index whose oldest entries have the form `oldest`.
    fn of(query: &SearchQuery, oldest: IndexForm, after: Option<&str>) -> Self {
        let mut prefixes = query.prefixes(oldest);
        if after.is_some_and(|after| SearchQuery::prefixes_from(&prefixes, after).is_empty()) {
            // The index was rebuilt after the page before, whose entries had an older form.
            prefixes = query.prefixes(IndexForm::First);
        }
        let remaining = match after {
            Some(after) => SearchQuery::prefixes_from(&prefixes, after).to_vec(),
            None => prefixes.clone(),
        };
        let asks_older_forms = prefixes.len() > query.prefixes(IndexForm::NEWEST).len();
        Self { remaining, queries: MAX_QUERIES + usize::from(asks_older_forms) }
    }

    /// The number of entries that the next query reads; `None` if the page has enough. While nobody is found, there are more
    /// queries for more entries.
    fn next_query(
        &self,
        query: &SearchQuery,
        missing: usize,
        is_empty: bool,
        made: usize,
        read: &Amount,
    ) -> Option<usize> {
        let usual = if query.is_refined() { read.left_on_page() } else { missing };
        if missing == 0 {
            return None;
        }
        if made < self.queries && usual > 0 {
            return Some(usual);
        }
        let for_anybody = self.queries + MAX_QUERIES_FOR_ANYBODY - MAX_QUERIES;
        let similar = read.similar(ANYBODY.bytes).unwrap_or(ANYBODY.entries);
        (is_empty && made < for_anybody).then(|| similar.clamp(1, ANYBODY.entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_a_search_reads_at_most_300_entries_and_32_kilobytes() {
        let left = |entries, bytes| Amount { entries, bytes }.left_on_page();
        assert_eq!(left(0, 0), 100);
        assert_eq!(left(100, 100 * 80), 200);
        assert_eq!(left(100, 100 * 160), 104);
        assert_eq!(left(100, 100 * 400), 0);
        assert_eq!(left(300, 300 * 80), 0);
    }

    /// While nobody is found, a page has two more queries, for 1,500 entries or 192 kilobytes each.
    #[test]
    fn a_page_reads_more_while_it_finds_nobody() {
        let [refined, plain]: [SearchQuery; 2] = ["jane doe", "jane"].map(|text| text.parse().unwrap());
        let plan = SearchPlan::of(&refined, IndexForm::NEWEST, None);
        let next = |query, is_empty, made, entries, bytes| {
            plan.next_query(query, 25, is_empty, made, &Amount { entries, bytes })
        };
        assert_eq!(next(&refined, true, 0, 30, 30 * 100), Some(270));
        for (is_empty, expected) in [(false, None), (true, Some(1_500))] {
            assert_eq!(next(&refined, is_empty, 1, 300, 300 * 100), expected);
            assert_eq!(next(&refined, is_empty, 2, 300, 300 * 100), expected);
            assert_eq!(next(&plain, is_empty, 2, 50, 50 * 100), expected);
            assert_eq!(next(&refined, is_empty, 4, 3_000, 3_000 * 100), None);
        }
        assert_eq!(next(&refined, true, 2, 100, 100 * 1_024), Some(192));
        assert_eq!(next(&plain, false, 1, 5, 500), Some(25));
    }

    /// A word with few entries is rarer than one with more, and of these the one with more results.
    #[test]
    fn a_rare_word_comes_before_one_with_results_and_this_before_an_old_one() {
        let old = Id::new(1);
        let more = |others, oldest| Rarity::More { others, oldest };
        let mut sorted =
            [more(9, Id::new(5)), more(9, old), Rarity::Few(7), more(3, Id::new(9)), Rarity::Few(0)];
        sorted.sort();
        assert_eq!(
            sorted,
            [Rarity::Few(0), Rarity::Few(7), more(3, Id::new(9)), more(9, old), more(9, Id::new(5))]
        );
    }

    #[test]
    fn the_words_of_an_entry_are_a_list() {
        let name = crate::model::Name::parse("Jane Müller").unwrap().unwrap();
        let profile = Profile::new(name, "x@x.xx".parse().unwrap());
        let words = SearchWords::of(&profile, IndexForm::NEWEST);
        let stored = serde_json::to_string(&words).unwrap();
        assert_eq!(stored, r#"["jane","mueller","muller","x","xx"]"#);
        assert_eq!(serde_json::from_str::<SearchWords>(&stored).unwrap(), words);
    }
}
