//! Checks that everything stored can be read, and that copies and counters agree with the records that they are made of.
//!
//! Copies are compared with what a new record would write, so the rules for them are in one place. A repair requires that
//! the record has not changed since it was read, so it can run while the service is in use, and can be repeated.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;

use super::applications::{SCREENED, counted_cause, now, read_rejections, rejections};
use super::candidate_records::DAMAGED;
use super::changes::Changes;
use super::indexing::{label_entries, word_entries};
use super::item::number;
use super::keys::{self, Key, Partition};
use super::labels::is_labelled;
use super::list::Range;
use super::maybe_erased::MaybeErased;
use super::roles::Kept;
use super::{Item, MAX_BATCH, Owner, Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::{
    CandidateRecord, IndexPosition, Opening, Posting, Role, ScreenRecord, SearchWords, Stage, Tenant,
};

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The item's partition key.
    pub pk: String,
    /// The item's range key.
    pub sk: String,
    /// What is wrong.
    pub problem: String,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// An item that the feed writes or deletes.
enum Indexed {
    /// The entry of a word in the search index.
    Word(String),
    /// The entry of an application in a list by label.
    Label,
    /// Former words and labels.
    Former,
}

/// Checks one tenant.
struct Check<'s> {
    store: &'s Store,
    tenant: Tenant,
    /// Whether missing and different copies and counters are written again.
    rebuilds: bool,
    items: u64,
    findings: Vec<Finding>,
}

impl Store {
    /// Checks everything that a tenant has, except the audit log and what expires. Returns the number of items
    /// that were read, and what is wrong. With `rebuilds`, missing and different copies and counters are written again.
    /// `pause` is awaited after each page of items, and is given their number.
    pub async fn verify<P: Future<Output = ()>>(
        &self,
        tenant: Tenant,
        rebuilds: bool,
        pause: impl Fn(usize) -> P,
    ) -> Result<(u64, Vec<Finding>), StoreError> {
        let mut check = Check { store: self, tenant, rebuilds, items: 0, findings: Vec::new() };
        Box::pin(check.all(&pause)).await?;
        Ok((check.items, check.findings))
    }
}

impl Check<'_> {
    async fn all<P: Future<Output = ()>>(&mut self, pause: &impl Fn(usize) -> P) -> Result<(), StoreError> {
        let tenant = self.tenant;
        for item in self.store.read_many([keys::gate(tenant), keys::profile(tenant)]).await? {
            self.item(&item)?;
        }
        for partition in self.store.lasting_partitions_of(Owner::Tenant, tenant, None) {
            let mut before = None;
            loop {
                let items;
                (items, before) = self.page(&partition, before, pause).await?;
                Box::pin(self.no_longer_indexed(&items)).await?;
                for item in items {
                    Box::pin(self.owned(item, pause)).await?;
                }
                if before.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Checks what belongs to the owner that an item leads to.
    async fn owned<P: Future<Output = ()>>(
        &mut self,
        item: Item,
        pause: &impl Fn(usize) -> P,
    ) -> Result<(), StoreError> {
        let Ok(Some(owner)) = self.store.kind_of(&item).map(|kind| kind.leads_to) else { return Ok(()) };
        let key = Key::of(&item)?;
        let (id, mut items) = (key.id()?, Vec::new());
        for partition in self.store.lasting_partitions_of(owner, self.tenant, Some(id)) {
            let mut before = None;
            loop {
                let page;
                (page, before) = self.page(&partition, before, pause).await?;
                items.extend(page);
                if before.is_none() {
                    break;
                }
            }
        }
        match owner {
            Owner::Candidate => Box::pin(self.candidate(key, id)).await,
            Owner::Screen => Box::pin(self.screen(id)).await,
            Owner::Role => {
                Box::pin(self.no_longer_indexed(&items)).await?;
                Box::pin(self.role(item, id, &items)).await
            }
            Owner::Tenant | Owner::Endpoint | Owner::Member | Owner::Others => Ok(()),
        }
    }

    /// Checks that the items of a page of a partition can be read. Returns them, and where the next page begins.
    async fn page<P: Future<Output = ()>>(
        &mut self,
        partition: &Partition,
        before: Option<String>,
        pause: &impl Fn(usize) -> P,
    ) -> Result<(Vec<Item>, Option<String>), StoreError> {
        let (items, next) = self.store.query(partition, u32::MAX, Range::Before(before.as_deref())).await?;
        pause(items.len()).await;
        for item in &items {
            self.item(item)?;
        }
        Ok((items, next))
    }

    /// Checks that an item can be read.
    fn item(&mut self, item: &Item) -> Result<(), StoreError> {
        self.items += 1;
        let key = Key::of(item)?;
        if let Err(problem) = self.store.check(item.clone()) {
            self.found(key, problem.to_string(), false);
        }
        Ok(())
    }

    async fn candidate(&mut self, entry: Key, id: Id) -> Result<(), StoreError> {
        let (key, file) = (keys::candidate_record(self.tenant, id), keys::candidate_file(self.tenant, id));
        let mut seen = self.store.see_record(&file).await;
        if let Ok((Err(torn), _)) = &seen {
            let mut transaction = Transaction::new(self.tenant);
            transaction.mend_record(id, torn);
            let repaired = self.rebuilds && Box::pin(self.store.attempt(transaction)).await?;
            self.found(key.clone(), DAMAGED.to_owned(), repaired);
            if repaired {
                seen = self.store.see_record(&file).await;
            }
        }
        let record = match seen {
            Ok((Ok(Some(MaybeErased::Present(record))), _)) => record,
            Ok((Ok(None), _)) => {
                self.found(entry, "its record is missing".to_owned(), false);
                return Ok(());
            }
            // What cannot be read is found already.
            Ok(_) | Err(StoreError::Unreadable(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut expected = Transaction::new(self.tenant);
        expected.insert_candidate(record.clone(), &[])?;
        let guard = |transaction: &mut Transaction| transaction.require_candidate(&record);
        Box::pin(self.copies(expected, &key, guard)).await?;
        if !record.is_shown() {
            return Ok(());
        }
        let (candidate, form) = (&record.candidate, record.index_form);
        let words = SearchWords::of(&candidate.profile, form);
        let words = word_entries(self.tenant, candidate.id, form, &words)?;
        Box::pin(self.entries(&record, &words, Transaction::write_words)).await?;
        let labels = label_entries(self.tenant, &record)?;
        Box::pin(self.entries(&record, &labels, Transaction::write_labels)).await
    }

    /// Compares entries of a candidate that the feed writes, unless it has yet to write them. `write` has them written.
    async fn entries(
        &mut self,
        record: &CandidateRecord,
        entries: &[(Key, Item)],
        write: impl Fn(&mut Transaction, Id),
    ) -> Result<(), StoreError> {
        let (tenant, candidate) = (self.tenant, &record.candidate);
        if self.differences(entries).await?.is_empty()
            || self.store.awaits_entries(tenant, Some(candidate.id)).await?
        {
            return Ok(());
        }
        // The feed has written the last change before. If the candidate has changed since, the next run will check again.
        let wrong = self.differences(entries).await?;
        if wrong.is_empty() || self.version_of(candidate.id).await? != Some(record.version) {
            return Ok(());
        }
        let mut repaired = false;
        if self.rebuilds {
            let mut transaction = Transaction::new(tenant);
            transaction.require_candidate(record);
            write(&mut transaction, candidate.id);
            repaired = Box::pin(self.store.attempt(transaction)).await?;
        }
        for (key, _, problem) in wrong {
            self.found(key.clone(), problem, repaired);
        }
        Ok(())
    }

    /// The version of a candidate's record; `None` if there is no candidate.
    async fn version_of(&self, candidate: Id) -> Result<Option<u64>, StoreError> {
        let record = self.store.find_candidate(self.tenant, candidate).await?;
        Ok(record.and_then(MaybeErased::present).map(|record| record.version))
    }

    /// Finds entries of words and labels that their candidates do not have, and former ones, unless the feed has yet to
    /// delete them.
    async fn no_longer_indexed(&mut self, items: &[Item]) -> Result<(), StoreError> {
        let mut found = Vec::new();
        for item in items {
            let key = Key::of(item)?;
            match self.store.kind_of(item).map(|kind| kind.name) {
                Ok("word") => {
                    let position = IndexPosition::parse(&key.sk);
                    let word =
                        position.map(|IndexPosition { word, id }| (id, Indexed::Word(word.to_owned())));
                    found.extend(word.map(|(id, word)| (key, id, word)));
                }
                Ok("labelled") => {
                    let candidate = Id::new(item::count(item, "candidate_id"));
                    found.extend(candidate.map(|id| (key, id, Indexed::Label)));
                }
                Ok("former_words") => {
                    let id = key.id()?;
                    found.push((key, id, Indexed::Former));
                }
                _ => {}
            }
        }
        for found in found.chunks(MAX_BATCH) {
            let people: BTreeSet<_> = found.iter().map(|(_, id, _)| *id).collect();
            let key = |id| keys::candidate_record(self.tenant, id);
            let mut items = self.store.read_many(people.iter().map(|id| key(*id))).await?;
            let mut records = HashMap::new();
            for id in people {
                let record = match key(id).take_from(&mut items) {
                    Some(item) => self.store.complete_record(self.tenant, item).await,
                    None => Ok(None),
                };
                match record {
                    Ok(record) => {
                        let shown = record.and_then(MaybeErased::shown).and_then(MaybeErased::present);
                        records.insert(id, shown);
                    }
                    // It is reported.
                    Err(StoreError::Unreadable(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            for (key, id, indexed) in found {
                if let Some(record) = records.get(id) {
                    Box::pin(self.not_of(record.as_ref(), key, *id, indexed)).await?;
                }
            }
        }
        Ok(())
    }

    /// Reports an entry that a candidate does not have, or the item with former ones.
    async fn not_of(
        &mut self,
        record: Option<&CandidateRecord>,
        key: &Key,
        id: Id,
        indexed: &Indexed,
    ) -> Result<(), StoreError> {
        let has_entry = match (indexed, record) {
            (Indexed::Word(word), Some(CandidateRecord { candidate, index_form, .. })) => {
                SearchWords::of(&candidate.profile, *index_form).contains(word)
            }
            (Indexed::Label, Some(record)) => is_labelled(self.tenant, record, key),
            (Indexed::Former, _) | (_, None) => false,
        };
        if has_entry || self.store.awaits_entries(self.tenant, Some(id)).await? {
            return Ok(());
        }
        // The feed has deleted what the last change has left. If there was another since, the next run will check again.
        let is_there = self.store.read(key.clone()).await?.is_some();
        if !is_there || self.version_of(id).await? != record.map(|record| record.version) {
            return Ok(());
        }
        let mut repaired = false;
        if self.rebuilds {
            let mut transaction = Transaction::new(self.tenant);
            if let Some(record) = record {
                transaction.require_candidate(record);
            }
            match indexed {
                Indexed::Word(_) | Indexed::Label => transaction.delete(key.clone()),
                Indexed::Former => transaction.write_words(id),
            }
            repaired = Box::pin(self.store.attempt(transaction)).await?;
        }
        let problem = match indexed {
            Indexed::Word(_) => "it is the entry of a word that the candidate does not have",
            Indexed::Label => "it is the entry of a label that the application does not have",
            Indexed::Former => "the entries of these words and labels may still be stored",
        };
        self.found(key.clone(), problem.to_owned(), repaired);
        Ok(())
    }

    async fn screen(&mut self, id: Id) -> Result<(), StoreError> {
        let key = keys::screen_record(self.tenant, id);
        let Some(item) = self.store.read(key.clone()).await? else {
            self.found(keys::screen(self.tenant, id), "its record is missing".to_owned(), false);
            return Ok(());
        };
        let Ok(record) = item::read::<ScreenRecord>(item) else { return Ok(()) };
        let mut expected = Transaction::new(self.tenant);
        expected.put_list_entries(&record.screen)?;
        let guard = |transaction: &mut Transaction| transaction.require(key.clone(), record.version);
        Box::pin(self.copies(expected, &key, guard)).await
    }

    async fn role(&mut self, item: Item, id: Id, items: &[Item]) -> Result<(), StoreError> {
        let tenant = self.tenant;
        let key = keys::role_stats(tenant, id);
        let Some(stats) = self.store.read(key.clone()).await? else {
            self.found(key, "the role's counters are missing".to_owned(), false);
            return Ok(());
        };
        Box::pin(self.counters(&key, &stats, items)).await?;
        let Ok(role) = item::read::<Role>(item) else { return Ok(()) };
        Box::pin(self.kept_with_counters(&role, key, &stats)).await?;
        let Some(link) = &role.posting else { return Ok(()) };
        let Some(posting) = self.store.read(keys::posting(tenant, link.id)).await? else {
            self.found(keys::posting(tenant, link.id), "the posting of a role is missing".to_owned(), false);
            return Ok(());
        };
        let Ok(posting) = item::read::<Posting>(posting) else { return Ok(()) };
        let mut expected = Transaction::new(tenant);
        expected.put_role_posting(&posting)?;
        if let Some(opening) = Opening::of(&role, &posting) {
            expected.put_opening(&opening)?;
        }
        let guard = |transaction: &mut Transaction| {
            transaction.require_role(&role);
            transaction.require_posting(&posting);
        };
        Box::pin(self.copies(expected, &keys::role(tenant, id), guard)).await
    }

    /// Compares the copies of a record, which are in other partitions, with those that `expected` writes. `guard`
    /// requires that the record is unchanged.
    async fn copies(
        &mut self,
        expected: Transaction,
        record: &Key,
        guard: impl Fn(&mut Transaction),
    ) -> Result<(), StoreError> {
        let copies = expected.items().map(|item| Ok((Key::of(&item)?, item)));
        let copies = copies.collect::<Result<Vec<_>, StoreError>>()?;
        let copies: Vec<_> = copies.into_iter().filter(|(key, _)| key.pk != record.pk).collect();
        for (key, copy, problem) in self.differences(&copies).await? {
            let mut repaired = false;
            if self.rebuilds {
                let mut transaction = Transaction::new(self.tenant);
                guard(&mut transaction);
                transaction.put(copy.clone())?;
                repaired = Box::pin(self.store.attempt(transaction)).await?;
            }
            self.found(key.clone(), problem, repaired);
        }
        Ok(())
    }

    /// The copies that are missing or that differ from what is stored, and how.
    async fn differences<'c>(
        &self,
        copies: &'c [(Key, Item)],
    ) -> Result<Vec<(&'c Key, &'c Item, String)>, StoreError> {
        let mut found = Vec::new();
        for chunk in copies.chunks(MAX_BATCH) {
            let mut stored = self.store.read_many(chunk.iter().map(|(key, _)| key.clone())).await?;
            for (key, copy) in chunk {
                let problem = match key.take_from(&mut stored) {
                    None => "the copy is missing".to_owned(),
                    Some(stored) => {
                        let mut differs: Vec<_> = copy
                            .iter()
                            .filter(|(name, value)| stored.get(*name) != Some(value))
                            .map(|(name, _)| &**name)
                            .collect();
                        if differs.is_empty() {
                            continue;
                        }
                        differs.sort_unstable();
                        format!("the copy differs from its record in {}", differs.join(", "))
                    }
                };
                found.push((key, copy, problem));
            }
        }
        Ok(found)
    }

    /// Compares a role's numbers of applications in each stage with the applications among what belongs to it.
    async fn counters(&mut self, key: &Key, stored: &Item, items: &[Item]) -> Result<(), StoreError> {
        let is_application =
            |item: &&Item| self.store.kind_of(item).is_ok_and(|kind| kind.name == "role_application");
        let applications: Vec<_> = items.iter().filter(is_application).collect();
        let is_in = |item: &Item, stage: Stage| {
            item.get("stage").and_then(|text| text.as_s().ok()).is_some_and(|text| text == stage.as_str())
        };
        let stages = Stage::ALL.map(|stage| {
            let counted = applications.iter().filter(|item| is_in(item, stage)).count();
            (now(stage), counted)
        });
        let is_screened = |item: &&&Item| {
            is_in(item, Stage::Screening) && item.get(SCREENED) == Some(&AttributeValue::Bool(true))
        };
        let screened = (SCREENED.to_owned(), applications.iter().filter(is_screened).count());
        // Also those that no application has any more.
        let mut rejected: BTreeMap<_, usize> =
            read_rejections(stored).into_keys().map(|cause| (rejections(cause), 0)).collect();
        for cause in applications.iter().filter_map(|item| counted_cause((*item).clone())) {
            *rejected.entry(rejections(cause)).or_default() += 1;
        }
        for (name, counted) in stages.into_iter().chain([screened]).chain(rejected) {
            let known = item::count(stored, &name);
            if known == counted as u64 {
                continue;
            }
            let mut repaired = false;
            if self.rebuilds {
                let mut transaction = Transaction::new(self.tenant);
                let names = vec![("#name", name.clone())];
                let values = vec![(":counted", number(counted as u64)), (":known", number(known))];
                let condition = if stored.contains_key(&name) {
                    "#name = :known"
                } else {
                    "attribute_not_exists(#name) AND :known = :known"
                };
                transaction.update(key.clone(), "SET #name = :counted", condition, names, values);
                repaired = Box::pin(self.store.attempt(transaction)).await?;
            }
            self.found(key.clone(), format!("{name} is {known}, but there are {counted}"), repaired);
        }
        Ok(())
    }

    /// Checks what the item with a role's counters keeps of the role.
    async fn kept_with_counters(&mut self, role: &Role, key: Key, stats: &Item) -> Result<(), StoreError> {
        // An item that cannot be read is found already.
        let kept: Option<Kept> = serde_dynamo::from_item(stats.clone()).ok();
        if kept.is_some_and(|kept| kept.is_of(role)) {
            return Ok(());
        }
        let mut repaired = false;
        if self.rebuilds {
            let mut transaction = Transaction::new(self.tenant);
            transaction.require_role(role);
            let kept = Kept::of(role).attributes()?;
            transaction.change_existing(key.clone(), Changes::to_attributes(kept));
            repaired = Box::pin(self.store.attempt(transaction)).await?;
        }
        self.found(key, "what it keeps of the role is not that of the role".to_owned(), repaired);
        Ok(())
    }

    fn found(&mut self, Key { pk, sk }: Key, problem: String, repaired: bool) {
        self.findings.push(Finding { pk, sk, problem, repaired });
    }
}
