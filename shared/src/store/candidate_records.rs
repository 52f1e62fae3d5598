//! Candidates' records, of several items each: the first application is inside the record, and every further one is an item
//! beside it.
//!
//! So what a move writes does not grow with the number of applications, and somebody with one application, like most people, is
//! one item.
//!
//! One query reads them all, but it is no snapshot: it may see one item before a transaction and another one after it. So an
//! application beside the record has the version of the record that last wrote it, and the number of times that it was
//! written, and the record has the sum of these numbers. What a query saw is whole if no application is later than the record,
//! and the sum agrees: whatever is earlier than it was with the record was written fewer times, and nothing makes up for that.
//! Otherwise the query is repeated. Conditions on the record's version protect the writes, as with a single item.
//!
//! Of an application that is removed, or moves into the record because the first one is removed, an item stays that only counts:
//! without it, the sum could agree with applications that were written fewer times.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

use super::candidates::MAX_PAGES;
use super::changes::Changes;
use super::item::{count, number};
use super::keys::{self, Key, Partition};
use super::maybe_erased::{MaybeErased, is_erased, read_record};
use super::transaction::VERSION;
use super::{Item, Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::{Application, CandidateRecord, Tenant};

/// The number of applications inside the record: the first ones.
const INSIDE: usize = 1;
/// The attribute of an application beside the record with the number of times that it was written, and of the record with the
/// sum of these numbers. A record without such applications does not have it.
const WRITTEN: &str = "written";
/// The attribute that only what stays of an application has.
const REMOVED: &str = "removed";
/// The attribute of the record with the applications that are inside.
const APPLICATIONS: &str = "applications";
/// What stays of an application that is no longer beside the record.
#[derive(Serialize)]
struct Removed {
    removed: bool,
}

/// What is wrong with a record whose applications were damaged.
pub(super) const DAMAGED: &str = "the applications beside it are not those that it counts";
/// The maximum number of queries until one of them sees everything as it was at the same time.
const ATTEMPTS: usize = 5;

/// What a query saw of a candidate's record: everything as it was at the same time, if there is a record; or some items before a
/// transaction and others after it.
pub(super) type Seen = Result<Option<MaybeErased<CandidateRecord>>, Torn>;

/// The versions and the counts of a record and of the applications beside it. They do not agree if the record was torn by a
/// transaction, or damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Torn {
    /// The version and the sum.
    record: (u64, u64),
    /// The version and the count of each.
    applications: Vec<(u64, u64)>,
}

impl Torn {
    /// Whether they agree.
    fn is_whole(&self) -> bool {
        let (version, written) = self.record;
        let is_known = |(of_application, _): &(u64, u64)| *of_application <= version;
        self.applications.iter().all(is_known) && self.written() == written
    }

    /// How often the applications were written together.
    fn written(&self) -> u64 {
        self.applications.iter().fold(0, |sum, (_, written)| sum.saturating_add(*written))
    }
}

/// Reads a record and the applications beside it, which are in any order.
pub(super) fn see(items: impl IntoIterator<Item = Item>) -> Result<Seen, StoreError> {
    let (mut record, mut further) = (None, Vec::new());
    for item in items {
        if Key::of(&item)?.sk == keys::RECORD {
            record = Some(item);
        } else {
            further.push(item);
        }
    }
    let Some(record) = record else { return Ok(Ok(None)) };
    if is_erased(&record) {
        return Ok(Ok(Some(read_record(record)?)));
    }
    let counts = |item: &Item| (count(item, VERSION), count(item, WRITTEN));
    let seen = Torn { record: counts(&record), applications: further.iter().map(counts).collect() };
    if !seen.is_whole() {
        return Ok(Err(seen));
    }
    let mut found = read_record(record)?;
    if let MaybeErased::Present(record) = &mut found {
        let further = further.into_iter().filter(|item| !is_removed(item)).map(item::read::<Application>);
        let mut further = further.collect::<Result<Vec<_>, _>>()?;
        further.sort_by_key(|application| (application.since, application.id));
        record.applications.extend(further);
    }
    Ok(Ok(Some(found)))
}

/// The item of a record, with the applications that are inside.
fn record_item(tenant: Tenant, record: &CandidateRecord) -> Result<Item, StoreError> {
    let mut item = item::write(record, keys::candidate_record(tenant, record.candidate.id), None)?;
    if let Some(AttributeValue::L(applications)) = item.get_mut(APPLICATIONS) {
        applications.truncate(INSIDE);
    }
    Ok(item)
}

/// Whether an item beside a record is what stays of a removed application.
fn is_removed(item: &Item) -> bool {
    item.contains_key(REMOVED)
}

/// Checks that an item beside a record can be read.
pub(super) fn check_application(item: Item) -> Result<(), StoreError> {
    if is_removed(&item) { Ok(()) } else { item::read::<Application>(item).map(drop) }
}

/// The item of an application beside a version of the record, or what stays of it.
fn further_item(
    tenant: Tenant,
    record: &CandidateRecord,
    id: Id,
    application: Option<&Application>,
) -> Result<Item, StoreError> {
    let key = keys::candidate_application(tenant, record.candidate.id, id);
    let mut item = match application {
        Some(application) => item::write(application, key, None)?,
        None => item::write(&Removed { removed: true }, key, None)?,
    };
    item.insert(VERSION.to_owned(), number(record.version));
    Ok(item)
}

/// The applications that are, or were, beside a record and differ between two versions: what each was, and what it is.
fn changed<'r>(
    before: Option<&'r CandidateRecord>,
    after: &'r CandidateRecord,
) -> impl Iterator<Item = (Id, Option<&'r Application>, Option<&'r Application>)> {
    let beside = |record: &'r CandidateRecord| record.applications.iter().skip(INSIDE);
    let with_id = move |record: &'r CandidateRecord, id| beside(record).find(|one| one.id == id);
    let new = beside(after).map(move |new| (new.id, before.and_then(|one| with_id(one, new.id)), Some(new)));
    let gone = before.into_iter().flat_map(beside).filter(move |old| with_id(after, old.id).is_none());
    new.filter(|(_, old, new)| old != new).chain(gone.map(|old| (old.id, Some(old), None)))
}

impl Transaction {
    /// Inserts the last of these versions of a record, as if the first one had been inserted and replaced by the others. The
    /// last action is the one of the record itself.
    pub(super) fn insert_record(&mut self, past: &[&CandidateRecord]) -> Result<(), StoreError> {
        let Some(last) = past.last() else { return Ok(()) };
        let (mut further, mut before) = (BTreeMap::<Id, (Item, u64)>::new(), None);
        for version in past {
            for (id, _, application) in changed(before, version) {
                let (item, written) = further.entry(id).or_default();
                *item = further_item(self.tenant, version, id, application)?;
                *written += 1;
            }
            before = Some(*version);
        }
        let mut record = record_item(self.tenant, last)?;
        let total = further.values().map(|(_, written)| *written).sum::<u64>();
        if total > 0 {
            record.insert(WRITTEN.to_owned(), number(total));
        }
        for (mut item, written) in further.into_values() {
            item.insert(WRITTEN.to_owned(), number(written));
            self.insert(item);
        }
        self.insert(record);
        Ok(())
    }

    /// Replaces a record. Of the applications beside it, only those that differ are written. The last action is the one of the
    /// record itself.
    pub(super) fn replace_whole_record(
        &mut self,
        before: &CandidateRecord,
        after: &CandidateRecord,
    ) -> Result<(), StoreError> {
        let mut written = 0;
        for (id, old, new) in changed(Some(before), after) {
            let mut item = further_item(self.tenant, after, id, new)?;
            written += 1;
            if old.is_none() {
                item.insert(WRITTEN.to_owned(), number(1));
                self.insert(item);
                continue;
            }
            let changes = Changes::between(&further_item(self.tenant, before, id, old)?, &item);
            self.change_existing(Key::of(&item)?, changes.adding(WRITTEN, 1));
        }
        let (before, after) = (record_item(self.tenant, before)?, record_item(self.tenant, after)?);
        let changes = Changes::between(&before, &after);
        self.replace_with(
            &before,
            &after,
            if written > 0 { changes.adding(WRITTEN, written) } else { changes },
        )
    }

    /// Makes a damaged record count the applications that are beside it, unless it has changed.
    pub(super) fn mend_record(&mut self, candidate: Id, torn: &Torn) {
        let versions = torn.applications.iter().map(|(version, _)| *version);
        let latest = versions.fold(torn.record.0, u64::max);
        let names = vec![("#version", VERSION.to_owned()), ("#written", WRITTEN.to_owned())];
        let values =
            [(":version", torn.record.0), (":later", latest.saturating_add(1)), (":written", torn.written())];
        self.update(
            keys::candidate_record(self.tenant, candidate),
            "SET #version = :later, #written = :written",
            "#version = :version",
            names,
            values.map(|(name, value)| (name, number(value))).into(),
        );
    }
}

impl Store {
    /// The record, also of a candidate whose import is not finished: for the import, and for an erasure.
    pub async fn find_any_candidate(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<MaybeErased<CandidateRecord>>, StoreError> {
        let file = keys::candidate_file(tenant, id);
        let (seen, _) = self.see_record(&file).await?;
        seen.map_err(|_| StoreError::unreadable(file.key(), DAMAGED))
    }

    /// Reads a part of a candidate's partition that has the record: the record, and the other items. There is none while the
    /// candidate's import is not finished.
    pub(super) async fn read_with_record(
        &self,
        partition: &Partition,
    ) -> Result<(Option<MaybeErased<CandidateRecord>>, Vec<(String, Item)>), StoreError> {
        let (seen, others) = self.see_record(partition).await?;
        let record = seen.map_err(|_| StoreError::unreadable(partition.key(), DAMAGED))?;
        Ok((record.and_then(MaybeErased::shown), others))
    }

    /// Like [`Self::read_with_record`], but shows what is left of a damaged record: one that did not agree with the
    /// applications beside it in any of several queries, although nothing has changed.
    pub(super) async fn see_record(
        &self,
        partition: &Partition,
    ) -> Result<(Seen, Vec<(String, Item)>), StoreError> {
        let mut seen = Vec::new();
        for _ in 0..ATTEMPTS {
            let items = self.read_partition(partition, MAX_PAGES).await?.into_iter();
            let is_of_record = |(range, _): &(String, Item)| range.starts_with(keys::BEFORE_RECORD);
            let (record, others): (Vec<_>, Vec<_>) = items.partition(is_of_record);
            match see(record.into_iter().map(|(_, item)| item))? {
                Err(torn) => seen.push(torn),
                whole => return Ok((whole, others)),
            }
        }
        match seen.pop() {
            Some(last) if seen.iter().all(|torn| *torn == last) => Ok((Err(last), Vec::new())),
            _ => {
                Err(StoreError::Unavailable("a record was changed during each of several queries".to_owned()))
            }
        }
    }

    /// The whole of a record whose own item was read alone, also of a candidate whose import is not finished.
    pub(super) async fn complete_record(
        &self,
        tenant: Tenant,
        item: Item,
    ) -> Result<Option<MaybeErased<CandidateRecord>>, StoreError> {
        let has_more = count(&item, WRITTEN) > 0;
        match read_record(item)? {
            MaybeErased::Present(record) if has_more => {
                self.find_any_candidate(tenant, record.candidate.id).await
            }
            found => Ok(Some(found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::clock::Timestamp;
    use crate::model::{Mode, Move, Profile, Role, RoleContent, Source, Stage, Text};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn id(number: u64) -> Id {
        Id::new(number).unwrap()
    }

    fn tenant() -> Tenant {
        Tenant { organization: id(1), mode: Mode::Live }
    }

    fn role(number: u64) -> Role {
        let content = RoleContent::titled(Text::parse("Cook").unwrap().unwrap());
        Role::draft(id(number), content, NOW).publish(NOW).unwrap()
    }

    /// All versions of a record: four applications are added, and moved alone and together.
    fn history() -> Vec<CandidateRecord> {
        let profile =
            Profile::new(Text::parse("Jane").unwrap().unwrap(), "jane@example.com".parse().unwrap());
        let mut history = vec![CandidateRecord::new(id(1), profile, NOW)];
        let apply = |record: CandidateRecord, number: u64| {
            // Clocks differ, so the identifiers are not in the order of the applications.
            record.apply(id(100 - number), &role(number), Source::API, NOW).unwrap()
        };
        let advance = |record: CandidateRecord, stage, role: Option<u64>| {
            record.make(&Move::Advance(stage), role.map(id), NOW).unwrap().record
        };
        for number in 1..=3 {
            history.push(apply(history.last().unwrap().clone(), number));
        }
        for (stage, role) in [(Stage::Screening, Some(2)), (Stage::Interview, None), (Stage::Offer, Some(3))]
        {
            history.push(advance(history.last().unwrap().clone(), stage, role));
        }
        history.push(apply(history.last().unwrap().clone(), 4));
        history.push(advance(history.last().unwrap().clone(), Stage::Offer, None));
        history.push(history.last().unwrap().clone().advance_version());
        history.push(advance(history.last().unwrap().clone(), Stage::Interview, Some(2)));
        // One beside the record is removed, and the first one, in whose place comes the next.
        for number in [3, 1] {
            let last = history.last().unwrap().clone();
            history.push(last.without_applications(&[id(100 - number)], NOW));
        }
        history.push(advance(history.last().unwrap().clone(), Stage::Screening, Some(2)));
        history
    }

    /// The items of the record at each version, by their range keys.
    fn stored(history: &[CandidateRecord]) -> Vec<BTreeMap<String, Item>> {
        let versions = (1..=history.len()).map(|version| {
            let mut transaction = Transaction::new(tenant());
            transaction.insert_record(&history[..version].iter().collect::<Vec<_>>()).unwrap();
            transaction.items().map(|item| (Key::of(&item).unwrap().sk, item)).collect()
        });
        versions.collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let history = history();
        for (record, items) in history.iter().zip(stored(&history)) {
            let removed = items.values().filter(|item| is_removed(item)).count();
            assert_eq!(items.len(), record.applications.len().max(1) + removed);
            for order in [false, true] {
                let mut items: Vec<_> = items.values().cloned().collect();
                if order {
                    items.reverse();
                }
                let seen = see(items).unwrap().unwrap().and_then(MaybeErased::present);
                assert_eq!(seen.as_ref(), Some(record));
            }
        }
        assert!(see([]).unwrap().unwrap().is_none());
    }

    /// Each item may be seen as it was with any version. Only what belongs to the same version is whole.
    #[test]
    fn every_torn_read_is_noticed() {
        let history = history();
        let stored = stored(&history);
        let keys: Vec<_> = stored.last().unwrap().keys().filter(|key| *key != keys::RECORD).collect();
        // The states that each application was in, with the versions that had them.
        let states: Vec<Vec<Option<&Item>>> = keys
            .iter()
            .map(|key| {
                let mut states: Vec<_> = stored.iter().map(|items| items.get(*key)).collect();
                states.dedup();
                states
            })
            .collect();
        let (mut whole, mut only_older, mut same_sum) = (0, 0, 0);
        for (record, items) in history.iter().zip(&stored) {
            let combinations = states.iter().map(Vec::len).product::<usize>();
            for mut number in 0..combinations {
                let mut seen = HashMap::new();
                for (key, states) in keys.iter().zip(&states) {
                    seen.extend(states[number % states.len()].map(|item| ((*key).clone(), item.clone())));
                    number /= states.len();
                }
                seen.insert(keys::RECORD.to_owned(), items[keys::RECORD].clone());
                let is_same =
                    seen.len() == items.len() && seen.iter().all(|(key, item)| items.get(key) == Some(item));
                match see(seen.into_values()).unwrap() {
                    Ok(found) => {
                        assert!(is_same);
                        assert_eq!(found.and_then(MaybeErased::present).as_ref(), Some(record));
                        whole += 1;
                    }
                    Err(torn) => {
                        assert!(!is_same);
                        only_older += usize::from(torn.applications.iter().all(|one| one.0 <= torn.record.0));
                        same_sum += usize::from(torn.written() == torn.record.1);
                    }
                }
            }
        }
        assert_eq!(whole, history.len());
        assert!(only_older > 0 && same_sum > 0, "neither the versions nor the sums are enough");
    }

    #[test]
    fn an_application_that_was_tampered_with_is_no_reason_to_panic() {
        let history = history();
        let mut items = stored(&history).pop().unwrap();
        for item in items.iter_mut().filter(|(range, _)| *range != keys::RECORD).map(|(_, item)| item) {
            item.insert(WRITTEN.to_owned(), number(u64::MAX));
            item.insert(VERSION.to_owned(), number(u64::MAX));
        }
        let torn = see(items.into_values()).unwrap().unwrap_err();
        Transaction::new(tenant()).mend_record(id(1), &torn);
    }
}
