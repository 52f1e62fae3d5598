//! The outbox: the changes of transactions, until they have their numbers in the tenant's feed.
//!
//! Each transaction that changes something writes one item. A function moves a tenant's items to the feed in batches. One write
//! to the head of the feed begins a batch: it names the items and gives their events numbers, on the condition that the head
//! has not changed since it was read, before the items. Then the events are written, and after them the items are deleted. That
//! depends only on the head and the items, so it has no conditions, and whoever finds a batch that was interrupted does the same
//! again. The next batch begins only when none of these items is left, so no change gets two numbers.
//!
//! The head also has the run that works on a batch, and until when. Other runs leave the batch alone until then. No number
//! depends on this time.
//!
//! A tenant's items are in two partitions, because one would take only half of the changes a second. Both are read side by side,
//! and what was read is put in the order of the range keys.
//!
//! A query sees each item as last committed, but not all items at the same time: it may return the second version of a role
//! without the first one, and so may two queries of two partitions. So the outbox is read twice, and the second reading begins
//! when the first one has ended in both partitions. Whichever partition has the first version, it was committed before the
//! second version began, so the second reading has it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::SignedDuration;

use super::changes::Changes;
use super::events::{Batch, FeedHead};
use super::item::number;
use super::keys::{self, EXPIRES_AT, Key, OutboxPartition};
use super::lease::Lease;
use super::list::Range;
use super::recording::{OutboxEntry, Recorded, outbox_items};
use super::times::TimeOfChange;
use super::unreadable::Unreadable;
use super::{CommitError, Item, Store, StoreError, Transaction, item};
use crate::clock::{Clock, Timestamp, later};
use crate::id::{Id, Ids};
use crate::model::{AuditActor, Change, Event, SubjectType, Tenant};

/// The number of items that one round reads first, in each of a tenant's partitions.
const PAGE: u32 = 125;
/// The maximum number of items of a batch.
const ENTRIES: usize = 100;
/// The maximum number of events of a batch, unless it has only one item.
const EVENTS: usize = 200;
/// How long a run may work on a batch. It takes a second or two.
const LEASE: SignedDuration = SignedDuration::from_secs(20);
/// The number of events that readers may have seen and a backup lacks, at most.
const RAISE: u64 = 1_000_000;
/// The maximum number of attempts at a round, each from the start.
const ATTEMPTS: usize = 10;
/// The attribute of an event that no webhook endpoint gets.
const QUIET: &str = "quiet";
/// The attribute with the version of the head.
const VERSION: &str = "version";

/// A run that moves changes to feeds.
#[derive(Clone, Copy)]
pub struct FeedRun<'r> {
    /// A random number, which no other run has.
    pub number: u64,
    /// Where the identifiers of events come from.
    pub ids: &'r Ids,
    /// The clock.
    pub clock: &'r Clock,
}

/// What rounds have moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequenced {
    /// The number of events.
    pub events: usize,
    /// The number of items that could not be read and were moved to the quarantine.
    pub quarantined: usize,
    /// Whether more changes are waiting.
    pub has_more: bool,
    /// The time of the oldest change that was waiting.
    pub oldest: Option<Timestamp>,
}

/// The key of an item of a tenant's outbox. Items sort by their range keys, in whichever partition they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    sk: String,
    pk: String,
}

pub(super) type Entries = BTreeMap<Place, OutboxEntry>;

/// Items of a tenant's outbox, and the last range key up to which both partitions were read if more follows.
type Part = (BTreeMap<Place, Item>, Option<String>);

impl Place {
    fn key(&self) -> Key {
        Key { pk: self.pk.clone(), sk: self.sk.clone() }
    }
}

impl OutboxPartition {
    /// The tenant of an item with this key of the table; `None` if the item is not in the outbox.
    pub fn tenant_of(pk: &str, sk: &str) -> Option<Tenant> {
        keys::outbox_tenant(sk)
            .filter(|tenant| Self::of(*tenant).iter().any(|partition| partition.key() == pk))
    }
}

impl Store {
    /// Adds the changes to the outbox, and the time to the changed items. The time is kept until the transaction has ended. A
    /// handle that belongs to no function has no clock, and only the search index follows its changes.
    pub(super) fn add_to_outbox(
        &self,
        transaction: &mut Transaction,
        changes: &[Recorded],
        after: i64,
    ) -> Result<Option<TimeOfChange>, StoreError> {
        let new_words = std::mem::take(&mut transaction.new_words);
        let new_labels = std::mem::take(&mut transaction.new_labels);
        let (changes, now, actor) = match &self.origin {
            Some(origin) => (changes, origin.clock.now(), origin.actor().unwrap_or_else(AuditActor::unknown)),
            None => (&[][..], Timestamp::UNIX_EPOCH, AuditActor::system()),
        };
        if changes.is_empty() && new_words.is_empty() && new_labels.is_empty() {
            return Ok(None);
        }
        let made = changes.iter().filter_map(|change| change.made).max();
        let given = self.times.give(now, made, after);
        let time = given.time;
        if !changes.is_empty() {
            transaction.stamp(time);
        }
        let (tenant, imported) = (transaction.tenant, transaction.imported);
        for item in outbox_items(tenant, changes, &new_words, &new_labels, imported, time, actor)? {
            transaction.insert(item);
        }
        Ok(Some(given))
    }

    /// The time of the oldest change of a tenant that is not in the feed yet, in milliseconds.
    pub(super) async fn find_oldest_waiting(&self, tenant: Tenant) -> Result<Option<i64>, StoreError> {
        let (start, end) = (keys::outbox_of(tenant), keys::outbox_after(tenant));
        let (first, _) = self.read_outbox(tenant, &start, &end, 1).await?;
        let Some(Place { sk, .. }) = first.into_keys().next() else { return Ok(None) };
        let time = sk.strip_prefix(&start).and_then(|rest| rest.split('#').next()?.parse().ok());
        time.map(Some).ok_or_else(|| StoreError::Internal("a change in the outbox has no time".to_owned()))
    }

    /// The tenants that have changes in a partition of the outbox.
    pub async fn list_outbox_tenants(&self, partition: OutboxPartition) -> Result<Vec<Tenant>, StoreError> {
        let (mut tenants, mut after) = (Vec::new(), String::new());
        loop {
            let range = Range::Ascending { after: &after, to: keys::END };
            let (items, _) = self.query(&partition.items(), 1, range).await?;
            let Some(item) = items.first() else { return Ok(tenants) };
            let range = Key::of(item)?.sk;
            after = match keys::outbox_tenant(&range) {
                Some(tenant) => {
                    tenants.push(tenant);
                    keys::outbox_after(tenant)
                }
                None => range,
            };
        }
    }

    /// Moves the tenant's oldest changes from the outbox to the feed, in one round. Adds to `done` also what was moved before
    /// an error. Changes that another run is moving are [stale](CommitError::Stale). That run moves also what is written until
    /// it ends.
    pub async fn sequence(
        &self,
        tenant: Tenant,
        run: FeedRun<'_>,
        done: &mut Sequenced,
    ) -> Result<(), CommitError> {
        done.has_more = false;
        for _ in 0..ATTEMPTS {
            let mut head = self.get_feed_head(tenant).await?;
            let (start, end) = (keys::outbox_of(tenant), keys::outbox_after(tenant));
            let (first, rest) = self.read_outbox(tenant, &start, &end, PAGE).await?;
            let (first, unreadable) = parse(first);
            if !unreadable.is_empty() {
                done.quarantined += self.quarantine_changes(tenant, head, unreadable, run).await?;
                continue;
            }
            done.oldest = done.oldest.into_iter().chain(first.values().map(|entry| entry.at)).min();
            let Some(last) = first.keys().next_back() else { return Ok(()) };
            let batch = head.batch.ranges(tenant);
            let last = batch.last().into_iter().chain([&last.sk]).max().unwrap_or(&last.sk);
            let (second, unreadable) = parse(self.read_outbox_to(tenant, last).await?);
            if unreadable.iter().any(|unreadable| batch.contains(&unreadable.key.sk)) {
                return Err(numbered_and_unreadable(tenant).into());
            }
            let is_in_batch = |(place, _): &(&Place, &OutboxEntry)| batch.contains(&place.sk);
            let begun: Entries = first.iter().chain(&second).filter(is_in_batch).map(cloned).collect();
            if !begun.is_empty() {
                let now = run.clock.now();
                if head.batch.run != run.number {
                    if head.batch.until.is_some_and(|until| until > now) {
                        return Err(CommitError::Stale);
                    }
                    let before = head.clone();
                    head.version += 1;
                    head.batch = Batch { run: run.number, until: Some(later(now, LEASE)), ..head.batch };
                    if !self.replace_feed_head(tenant, &before, &head).await? {
                        continue;
                    }
                }
                done.events += self.move_batch(tenant, &head, begun, run.clock).await?;
                continue;
            }
            let entries = with_earlier_versions(first, second);
            let mut is_stale = false;
            for entries in batches(entries) {
                let begun = begin(tenant, &head, &entries, run);
                if !self.replace_feed_head(tenant, &head, &begun).await? {
                    is_stale = true;
                    break;
                }
                done.events += self.move_batch(tenant, &begun, entries, run.clock).await?;
                head = begun;
            }
            if !is_stale {
                // Other runs may have left what was written meanwhile to this one.
                done.has_more =
                    rest.is_some() || !self.read_outbox(tenant, &start, &end, 1).await?.0.is_empty();
                return Ok(());
            }
        }
        Err(CommitError::Stale)
    }

    /// Writes the events of a batch that the head has begun, and then deletes its entries. `entries` are those that are left.
    /// Returns the number of events.
    async fn move_batch(
        &self,
        tenant: Tenant,
        head: &FeedHead,
        entries: Entries,
        clock: &Clock,
    ) -> Result<usize, StoreError> {
        let lease = Lease { clock, until: head.batch.until };
        let keys: Vec<_> = entries.keys().map(Place::key).collect();
        // Before the first entry is deleted, all events are written.
        let mut count = 0;
        if keys.len() == head.batch.entries.len() {
            let new_words = entries.values().flat_map(|entry| entry.new_words.clone()).collect();
            let new_labels: Vec<_> = entries.values().flat_map(|entry| entry.new_labels.clone()).collect();
            let events = events(tenant, head, entries)?;
            count = events.len();
            lease.write_all(events, |event| self.put_item(event)).await?;
            self.write_index(tenant, &new_words, new_labels, &lease).await?;
        }
        lease.write_all(keys, |key| self.delete_item(key)).await?;
        Ok(count)
    }

    /// Moves changes that cannot be read to the quarantine. Returns the number of them.
    async fn quarantine_changes(
        &self,
        tenant: Tenant,
        head: FeedHead,
        unreadable: Vec<Unreadable>,
        run: FeedRun<'_>,
    ) -> Result<usize, StoreError> {
        let (mut head, mut quarantined, batch) = (head.clone(), 0, head.batch.ranges(tenant));
        for unreadable in unreadable {
            if batch.contains(&unreadable.key.sk) {
                return Err(numbered_and_unreadable(tenant));
            }
            let Some(mut transaction) = self.quarantining(&unreadable, run.clock.now()).await? else {
                continue;
            };
            // Another release may be able to read it, and give it a number.
            let after = FeedHead { version: head.version + 1, ..head.clone() };
            transaction.replace_feed_head(&head, &after)?;
            if self.attempt(transaction).await? {
                quarantined += 1;
                head = after;
            }
        }
        Ok(quarantined)
    }

    /// Replaces the head of the feed. Returns `false` if it has changed.
    async fn replace_feed_head(
        &self,
        tenant: Tenant,
        before: &FeedHead,
        after: &FeedHead,
    ) -> Result<bool, StoreError> {
        let item = item::write(after, keys::feed_head(tenant), None)?;
        let (key, changes) = (Key::of(&item)?, Changes::to(item));
        if *before == FeedHead::default() {
            return self.update_if(key, changes, "attribute_not_exists(pk)", [], []).await;
        }
        let value = number(before.version);
        self.update_if(key, changes, SAME_HEAD, [("#version", VERSION)], [(":version", value)]).await
    }

    /// The number of changes that wait for the tenant's feed, of which at most `most` items in each partition are read.
    pub async fn count_waiting_changes(&self, tenant: Tenant, most: usize) -> Result<usize, StoreError> {
        let limit = u32::try_from(most).unwrap_or(u32::MAX);
        let entries = self.read_outbox_items(tenant, limit).await?.into_iter();
        let count = |item| item::read::<OutboxEntry>(item).map_or(1, |entry| entry.changes.len().max(1));
        Ok(entries.map(count).sum())
    }

    /// The first items of a tenant's outbox, at most `limit` in each of its partitions.
    pub(super) async fn read_outbox_items(
        &self,
        tenant: Tenant,
        limit: u32,
    ) -> Result<Vec<Item>, StoreError> {
        let (from, to) = (keys::outbox_of(tenant), keys::outbox_after(tenant));
        Ok(self.read_outbox(tenant, &from, &to, limit).await?.0.into_values().collect())
    }

    /// Leaves out numbers of the tenant's feed after the table was restored from a backup. Readers may have seen later events
    /// than the backup has, so their numbers are not used again. Returns the last number that is left out.
    pub async fn raise_feed(&self, tenant: Tenant) -> Result<u64, CommitError> {
        for _ in 0..ATTEMPTS {
            let head = self.get_feed_head(tenant).await?;
            let after = head.raised(RAISE);
            if self.replace_feed_head(tenant, &head, &after).await? {
                return Ok(after.seq);
            }
        }
        Err(CommitError::Stale)
    }

    /// Reads a part of a tenant's outbox, at most `limit` items in each of its partitions.
    async fn read_outbox(
        &self,
        tenant: Tenant,
        after: &str,
        to: &str,
        limit: u32,
    ) -> Result<Part, StoreError> {
        let [one, other] = OutboxPartition::of(tenant).map(OutboxPartition::items);
        let range = Range::Ascending { after, to };
        let read = tokio::try_join!(self.query(&one, limit, range), self.query(&other, limit, range))?;
        merge(read.into())
    }

    /// All items of a tenant up to the range key `last`.
    async fn read_outbox_to(&self, tenant: Tenant, last: &str) -> Result<BTreeMap<Place, Item>, StoreError> {
        let (mut all, mut after) = (BTreeMap::new(), keys::outbox_of(tenant));
        loop {
            let (items, next) = self.read_outbox(tenant, &after, last, u32::MAX).await?;
            all.extend(items);
            match next {
                Some(next) => after = next,
                None => return Ok(all),
            }
        }
    }

    /// All changes of a tenant that are in the outbox, except those that cannot be read.
    pub(super) async fn list_changes(&self, tenant: Tenant) -> Result<Entries, StoreError> {
        Ok(parse(self.read_outbox_to(tenant, &keys::outbox_after(tenant)).await?).0)
    }
}

impl Batch {
    /// The range keys of the items, in the order of their numbers.
    fn ranges(&self, tenant: Tenant) -> BTreeSet<String> {
        let start = keys::outbox_of(tenant);
        self.entries.iter().map(|end| format!("{start}{end}")).collect()
    }
}

/// The head after a run has begun a batch with these entries.
fn begin(tenant: Tenant, head: &FeedHead, entries: &Entries, run: FeedRun<'_>) -> FeedHead {
    let (start, now) = (keys::outbox_of(tenant), run.clock.now());
    let count: usize = entries.values().map(|entry| entry.changes.len()).sum();
    // Identifiers never repeat in a feed, even if a clock is slow.
    let first_id = run.ids.next().get().max(head.last_id + 1);
    let mut begun = head.clone();
    begun.version += 1;
    begun.seq += count as u64;
    if count > 0 {
        begun.last_id = first_id + count as u64 - 1;
        begun.last_expiry = later(now, Event::KEPT).as_second().max(head.last_expiry);
    }
    let ends = entries.keys().map(|place| place.sk.strip_prefix(&start).unwrap_or(&place.sk).to_owned());
    begun.batch = Batch {
        after: head.seq,
        first_id,
        entries: ends.collect(),
        run: run.number,
        until: Some(later(now, LEASE)),
    };
    begun
}

/// The events of the batch that a head has begun.
fn events(tenant: Tenant, head: &FeedHead, entries: Entries) -> Result<Vec<Item>, StoreError> {
    let (mut seq, mut id) = (head.batch.after, head.batch.first_id);
    let mut events = Vec::new();
    for OutboxEntry { at, actor, changes, imported, .. } in entries.into_values() {
        let is_quiet = imported.is_some_and(|imported| !imported.notifies);
        for Change { kind, subject, changed, data } in changes {
            seq += 1;
            let id_of_event =
                Id::new(id).ok_or_else(|| StoreError::Internal("no identifiers are left".to_owned()))?;
            id += 1;
            let mode = tenant.mode;
            let event = Event {
                id: id_of_event,
                seq: Some(seq),
                kind,
                at,
                mode,
                subject,
                actor,
                changed,
                data,
                imported: imported.is_some(),
                quiet: is_quiet,
            };
            let mut item = item::write(&event, keys::event(tenant, seq), None)?;
            item.insert(EXPIRES_AT.to_owned(), number(head.last_expiry));
            // Readers do not see it, so the event does not write it.
            if is_quiet {
                item.insert(QUIET.to_owned(), AttributeValue::Bool(true));
            }
            events.push(item);
        }
    }
    Ok(events)
}

/// The condition that the head has not changed.
const SAME_HEAD: &str = "#version = :version";

impl Transaction {
    /// Replaces the head of the feed, which must not have changed.
    fn replace_feed_head(&mut self, before: &FeedHead, after: &FeedHead) -> Result<(), StoreError> {
        let item = item::write(after, keys::feed_head(self.tenant), None)?;
        if *before == FeedHead::default() {
            self.insert(item);
            return Ok(());
        }
        let names = vec![("#version", VERSION.to_owned())];
        self.change_if(item, SAME_HEAD, names, vec![(":version", number(before.version))])
    }
}

/// A change got its number from a release that can read it. That release has to write its events.
fn numbered_and_unreadable(tenant: Tenant) -> StoreError {
    StoreError::Internal(format!("a change of {tenant} has a number but cannot be read"))
}

fn cloned((place, entry): (&Place, &OutboxEntry)) -> (Place, OutboxEntry) {
    (place.clone(), entry.clone())
}

/// Puts the items of two partitions in one order. If a partition has more, its next item may come before the last ones of the
/// other partition. These are left out, and the next reading has them.
fn merge(partitions: [(Vec<Item>, Option<String>); 2]) -> Result<Part, StoreError> {
    let last = partitions.iter().filter_map(|(_, last)| last.clone()).min();
    let mut merged = BTreeMap::new();
    for item in partitions.into_iter().flat_map(|(items, _)| items) {
        let Key { pk, sk } = Key::of(&item)?;
        if last.as_ref().is_none_or(|last| sk <= *last) {
            merged.insert(Place { sk, pk }, item);
        }
    }
    Ok((merged, last))
}

/// The entries, and the items that cannot be read.
fn parse(items: BTreeMap<Place, Item>) -> (Entries, Vec<Unreadable>) {
    let (mut entries, mut unreadable) = (Entries::new(), Vec::new());
    for (place, item) in items {
        match item::read::<OutboxEntry>(item) {
            Ok(entry) => _ = entries.insert(place, entry),
            Err(error) => unreadable.push(Unreadable { key: place.key(), problem: error.to_string() }),
        }
    }
    (entries, unreadable)
}

/// The latest version of each subject.
#[derive(Default)]
struct Latest(HashMap<(SubjectType, Option<Id>), u64>);

impl Latest {
    fn note(&mut self, entry: &OutboxEntry) {
        for Change { subject, .. } in &entry.changes {
            let version = self.0.entry((subject.kind, subject.id)).or_default();
            *version = subject.version.max(*version);
        }
    }

    /// Whether an entry has an earlier version of any subject.
    fn is_after_any(&self, entry: &OutboxEntry) -> bool {
        let latest = |kind, id| self.0.get(&(kind, id)).copied().unwrap_or(0);
        entry.changes.iter().any(|Change { subject, .. }| subject.version < latest(subject.kind, subject.id))
    }
}

/// Adds to `first` the entries of `second` with earlier versions of its subjects, and those with earlier versions of theirs.
fn with_earlier_versions(first: Entries, second: Entries) -> Entries {
    let mut latest = Latest::default();
    let mut entries = first;
    for entry in entries.values() {
        latest.note(entry);
    }
    let mut others: Vec<_> = second.into_iter().filter(|(place, _)| !entries.contains_key(place)).collect();
    loop {
        let (earlier, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(_, entry)| latest.is_after_any(entry));
        if earlier.is_empty() {
            return entries;
        }
        for (_, entry) in &earlier {
            latest.note(entry);
        }
        entries.extend(earlier);
        others = rest;
    }
}

/// Splits entries, in their order, into batches.
fn batches(entries: Entries) -> Vec<Entries> {
    let (mut batches, mut events) = (Vec::<Entries>::new(), 0);
    for (place, entry) in entries {
        events += entry.changes.len();
        let is_full = |batch: &Entries| batch.len() == ENTRIES || events > EVENTS;
        if batches.last().is_none_or(is_full) {
            batches.push(Entries::new());
            events = entry.changes.len();
        }
        if let Some(batch) = batches.last_mut() {
            batch.insert(place, entry);
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventData, EventType, Mode, Subject};

    fn entry(subjects: &[(u64, u64)]) -> OutboxEntry {
        let change = |(id, version): &(u64, u64)| Change {
            kind: EventType::RoleUpdated,
            subject: Subject { kind: SubjectType::Role, id: Id::new(*id), version: *version },
            changed: Vec::new(),
            data: EventData::default(),
        };
        let changes = subjects.iter().map(change).collect();
        let (at, actor) = (Timestamp::UNIX_EPOCH, AuditActor::system().into());
        OutboxEntry { at, actor, changes, new_words: Vec::new(), new_labels: Vec::new(), imported: None }
    }

    fn place(sk: &str, pk: &str) -> Place {
        Place { sk: sk.to_owned(), pk: pk.to_owned() }
    }

    fn entries(list: &[(&str, &[(u64, u64)])]) -> Entries {
        list.iter().map(|(range, subjects)| (place(range, "OUTBOX#001"), entry(subjects))).collect()
    }

    /// What is merged of two partitions with these range keys, each with the last one if it has more.
    fn merged(partitions: [(&[&str], Option<&str>); 2]) -> (Vec<String>, Option<String>) {
        let mut number = 0;
        let read = partitions.map(|(ranges, last)| {
            number += 1;
            let item = |range: &&str| place(range, &format!("OUTBOX#00{number}")).key().attributes();
            (ranges.iter().map(item).collect(), last.map(str::to_owned))
        });
        let (items, last) = merge(read).unwrap();
        (items.into_keys().map(|Place { sk, pk }| format!("{sk} {}", &pk[9..])).collect(), last)
    }

    #[test]
    fn two_partitions_are_read_in_one_order_and_nothing_is_skipped() {
        let all = |ranges: &[&str]| (ranges.iter().map(|range| (*range).to_owned()).collect(), None);
        assert_eq!(merged([(&[], None), (&[], None)]), all(&[]));
        assert_eq!(merged([(&["1", "2"], None), (&[], None)]), all(&["1 1", "2 1"]));
        assert_eq!(merged([(&[], None), (&["1"], None)]), all(&["1 2"]));
        let interleaved = merged([(&["1", "4", "5"], None), (&["2", "3", "6"], None)]);
        assert_eq!(interleaved, all(&["1 1", "2 2", "3 2", "4 1", "5 1", "6 2"]));
        let same = merged([(&["1"], None), (&["1"], None)]);
        assert_eq!(same, all(&["1 1", "1 2"]), "each item keeps its own key");

        // What comes after the last key of a partition that has more waits.
        let until = |ranges: &[&str], last: &str| (all(ranges).0, Some(last.to_owned()));
        let one = merged([(&["1", "3"], Some("3")), (&["2", "4", "5"], None)]);
        assert_eq!(one, until(&["1 1", "2 2", "3 1"], "3"));
        let other = merged([(&["7", "8"], None), (&["2", "4"], Some("4"))]);
        assert_eq!(other, until(&["2 2", "4 2"], "4"));
        let both = merged([(&["1", "3"], Some("3")), (&["2", "4"], Some("4"))]);
        assert_eq!(both, until(&["1 1", "2 2", "3 1"], "3"));
        let far = merged([(&["1", "2"], Some("2")), (&["8", "9"], Some("9"))]);
        assert_eq!(far, until(&["1 1", "2 1"], "2"));
    }

    #[test]
    fn the_key_of_a_change_leads_to_its_tenant() {
        for organization in 1..=20 {
            for mode in Mode::ALL {
                let tenant = Tenant { organization: Id::new(organization).unwrap(), mode };
                let [one, other] = OutboxPartition::of(tenant);
                assert_ne!(one, other);
                let mut used = BTreeMap::from([(one.key(), 0), (other.key(), 0)]);
                for id in 1..=200 {
                    let subject = Subject { kind: SubjectType::Role, id: Id::new(id), version: 1 };
                    let Key { pk, sk } = keys::outbox_item(tenant, 1_795_167_000_000, subject);
                    assert_eq!(OutboxPartition::tenant_of(&pk, &sk), Some(tenant));
                    *used.get_mut(&pk).unwrap() += 1;
                }
                assert!(used.values().all(|count| (60..=140).contains(count)), "{used:?}");
                let sk = format!("{tenant}#001795167000000#role#1");
                let of = |partition: OutboxPartition| OutboxPartition::tenant_of(&partition.key(), &sk);
                assert_eq!(OutboxPartition::all().filter_map(of).count(), 2, "an item is nowhere else");
            }
        }
        assert_eq!(OutboxPartition::tenant_of("TASK#01#0", "1#live#001795167000000#role#1"), None);
    }

    #[test]
    fn earlier_versions_that_the_first_reading_missed_are_moved_too() {
        let first = entries(&[("5", &[(1, 6)])]);
        let second = entries(&[
            ("1", &[(2, 3)]),
            ("2", &[(1, 5), (2, 4)]),
            ("3", &[(3, 1)]),
            ("4", &[(2, 5)]),
            ("5", &[(1, 6)]),
        ]);
        let moved: Vec<_> = with_earlier_versions(first, second).into_keys().map(|place| place.sk).collect();
        assert_eq!(moved, ["1", "2", "5"], "not what is unrelated, or later than what is moved");
    }

    #[test]
    fn a_batch_has_at_most_100_entries_and_200_events() {
        let many: Vec<_> = (1..=90).map(|id| (id, 1)).collect();
        let list = [("1", &many[..]), ("2", &many[..]), ("3", &many[..20]), ("4", &many[..1])];
        let sizes = |entries| batches(entries).iter().map(BTreeMap::len).collect::<Vec<_>>();
        assert_eq!(sizes(entries(&list)), [3, 1]);
        let one = entry(&[(1, 1)]);
        let long =
            (0..250).map(|number| (place(&format!("{number:03}"), "OUTBOX#001"), one.clone())).collect();
        assert_eq!(sizes(long), [100, 100, 50]);
        assert!(batches(Entries::new()).is_empty());
    }
}
