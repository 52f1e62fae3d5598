//! The outbox: the changes of transactions, until they have their numbers in the tenant's feed.
//!
//! Each transaction that changes something writes one item. A function moves a tenant's items to the feed. It reads the head
//! first, then the outbox, and its transaction requires that the head is unchanged and that the items still exist, so no
//! change gets two numbers. It remembers no position: whatever fails starts over.
//!
//! A query sees each item as last committed, but not all items at the same time: it may return the second version of a role
//! without the first one. So the outbox is read twice. The first version was committed before the second one began, so the
//! second reading has it.

use std::collections::{BTreeMap, HashMap};

use super::events::FeedHead;
use super::item::number;
use super::keys::{self, EXPIRES_AT, Key, OutboxPartition};
use super::list::Range;
use super::recording::OutboxEntry;
use super::unreadable::Unreadable;
use super::{CommitError, Item, Store, StoreError, Transaction, item};
use crate::clock::{Timestamp, later};
use crate::id::{Id, Ids};
use crate::model::{Change, Event, SubjectType, Tenant};

/// The number of items of a tenant that one round reads first.
const PAGE: u32 = 250;
/// The number of actions in a transaction.
// DynamoDB's limit.
const ACTIONS: usize = 100;
/// The number of events that readers may have seen and a backup lacks, at most.
const RAISE: u64 = 1_000_000;
/// The maximum number of attempts at a round, each from the start.
const ATTEMPTS: usize = 10;

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

type Entries = BTreeMap<String, OutboxEntry>;

impl OutboxPartition {
    /// The tenant of an item with this key of the table; `None` if the item is not in the outbox.
    pub fn tenant_of(pk: &str, sk: &str) -> Option<Tenant> {
        keys::outbox_tenant(sk).filter(|tenant| Self::of(*tenant).key() == pk)
    }
}

impl Store {
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
    /// an error.
    pub async fn sequence(
        &self,
        tenant: Tenant,
        ids: &Ids,
        now: Timestamp,
        done: &mut Sequenced,
    ) -> Result<(), CommitError> {
        done.has_more = false;
        for _ in 0..ATTEMPTS {
            let mut head = self.get_feed_head(tenant).await?;
            let start = keys::outbox_of(tenant);
            let (first, rest) = self.read_outbox(tenant, &start, &keys::outbox_after(tenant), PAGE).await?;
            let (first, unreadable) = parse(first)?;
            if !unreadable.is_empty() {
                for unreadable in unreadable {
                    done.quarantined += usize::from(self.quarantine(&unreadable, now).await?);
                }
                continue;
            }
            done.oldest = done.oldest.into_iter().chain(first.values().map(|entry| entry.at)).min();
            let Some(last) = first.keys().next_back() else { return Ok(()) };
            let second = self.read_outbox_to(tenant, last).await?;
            let entries = with_earlier_versions(first, second);
            done.has_more = rest.is_some();
            let mut is_stale = false;
            for batch in batches(entries) {
                let (transaction, after, events) = move_entries(tenant, &head, batch, ids, now)?;
                match self.commit(transaction).await {
                    Ok(()) => {}
                    Err(CommitError::Store(error)) => return Err(error.into()),
                    Err(_) => {
                        is_stale = true;
                        break;
                    }
                }
                head = after;
                done.events += events;
            }
            if !is_stale {
                return Ok(());
            }
        }
        Err(CommitError::Stale)
    }

    /// The first items of a tenant's outbox.
    pub(super) async fn read_outbox_items(
        &self,
        tenant: Tenant,
        limit: u32,
    ) -> Result<Vec<Item>, StoreError> {
        let (from, to) = (keys::outbox_of(tenant), keys::outbox_after(tenant));
        Ok(self.read_outbox(tenant, &from, &to, limit).await?.0)
    }

    /// Leaves out numbers of the tenant's feed after the table was restored from a backup. Readers may have seen later events
    /// than the backup has, so their numbers are not used again. Returns the last number that is left out.
    pub async fn raise_feed(&self, tenant: Tenant) -> Result<u64, CommitError> {
        for _ in 0..ATTEMPTS {
            let head = self.get_feed_head(tenant).await?;
            let after = head.raised(RAISE);
            let mut transaction = Transaction::new(tenant);
            transaction.replace_feed_head(&head, &after)?;
            match self.commit(transaction).await {
                Ok(()) => return Ok(after.seq),
                Err(CommitError::Store(error)) => return Err(error.into()),
                Err(_) => {}
            }
        }
        Err(CommitError::Stale)
    }

    /// Reads a part of a tenant's outbox. Returns the last range key if more follows.
    async fn read_outbox(
        &self,
        tenant: Tenant,
        after: &str,
        to: &str,
        limit: u32,
    ) -> Result<(Vec<Item>, Option<String>), StoreError> {
        self.query(&OutboxPartition::of(tenant).items(), limit, Range::Ascending { after, to }).await
    }

    /// All entries of a tenant up to the range key `last`. Leaves out those that cannot be read: the next round finds them.
    async fn read_outbox_to(&self, tenant: Tenant, last: &str) -> Result<Entries, StoreError> {
        let (mut entries, mut after) = (Entries::new(), keys::outbox_of(tenant));
        loop {
            let (items, next) = self.read_outbox(tenant, &after, last, u32::MAX).await?;
            entries.extend(parse(items)?.0);
            match next {
                Some(next) => after = next,
                None => return Ok(entries),
            }
        }
    }
}

/// The transaction that moves entries to the feed, the head after it, and the number of events.
fn move_entries(
    tenant: Tenant,
    head: &FeedHead,
    entries: Vec<(String, OutboxEntry)>,
    ids: &Ids,
    now: Timestamp,
) -> Result<(Transaction, FeedHead, usize), StoreError> {
    let expiry = later(now, Event::KEPT).as_second().max(head.last_expiry);
    let mut after = FeedHead { last_expiry: expiry, ..head.clone() };
    // Identifiers never repeat in a feed, even if a clock is slow.
    let mut id = ids.next().get().max(head.last_id + 1);
    let (mut transaction, mut events) = (Transaction::new(tenant), 0);
    for (range, OutboxEntry { at, actor, changes }) in entries {
        for Change { kind, subject, changed, data } in changes {
            after.seq += 1;
            after.last_id = id;
            let id_of_event =
                Id::new(id).ok_or_else(|| StoreError::Internal("no identifiers are left".to_owned()))?;
            let (seq, mode) = (Some(after.seq), tenant.mode);
            let event = Event { id: id_of_event, seq, kind, at, mode, subject, actor, changed, data };
            let mut item = item::write(&event, keys::event(tenant, after.seq), None)?;
            item.insert(EXPIRES_AT.to_owned(), number(expiry));
            transaction.insert(item);
            id += 1;
            events += 1;
        }
        transaction.delete_existing(Key { pk: OutboxPartition::of(tenant).key(), sk: range });
    }
    transaction.replace_feed_head(head, &after)?;
    Ok((transaction, after, events))
}

impl Transaction {
    /// Replaces the head of the feed, which must not have changed.
    pub(super) fn replace_feed_head(
        &mut self,
        before: &FeedHead,
        after: &FeedHead,
    ) -> Result<(), StoreError> {
        let item = item::write(after, keys::feed_head(self.tenant), None)?;
        if *before == FeedHead::default() {
            self.insert(item);
            return Ok(());
        }
        let names = vec![("#seq", "seq".to_owned())];
        self.change_if(item, "#seq = :seq", names, vec![(":seq", number(before.seq))])
    }
}

/// The entries by their range keys, and the items that cannot be read.
fn parse(items: Vec<Item>) -> Result<(Entries, Vec<Unreadable>), StoreError> {
    let (mut entries, mut unreadable) = (Entries::new(), Vec::new());
    for item in items {
        let key = Key::of(&item)?;
        match item::read::<OutboxEntry>(item) {
            Ok(entry) => _ = entries.insert(key.sk, entry),
            Err(error) => unreadable.push(Unreadable { key, problem: error.to_string() }),
        }
    }
    Ok((entries, unreadable))
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
    let mut others: Vec<_> = second.into_iter().filter(|(range, _)| !entries.contains_key(range)).collect();
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

/// Splits entries, in their order, into parts that fit into one transaction together with the head.
fn batches(entries: Entries) -> Vec<Vec<(String, OutboxEntry)>> {
    let (mut batches, mut actions) = (Vec::<Vec<_>>::new(), ACTIONS);
    for (range, entry) in entries {
        let needed = entry.changes.len() + 1;
        if actions + needed > ACTIONS {
            batches.push(Vec::new());
            actions = 1;
        }
        actions += needed;
        if let Some(batch) = batches.last_mut() {
            batch.push((range, entry));
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AuditActor, EventData, EventType, Subject};

    fn entry(subjects: &[(u64, u64)]) -> OutboxEntry {
        let change = |(id, version): &(u64, u64)| Change {
            kind: EventType::RoleUpdated,
            subject: Subject { kind: SubjectType::Role, id: Id::new(*id), version: *version },
            changed: Vec::new(),
            data: EventData::default(),
        };
        let changes = subjects.iter().map(change).collect();
        OutboxEntry { at: Timestamp::UNIX_EPOCH, actor: AuditActor::system().into(), changes }
    }

    fn entries(list: &[(&str, &[(u64, u64)])]) -> Entries {
        list.iter().map(|(range, subjects)| ((*range).to_owned(), entry(subjects))).collect()
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
        let moved: Vec<_> = with_earlier_versions(first, second).into_keys().collect();
        assert_eq!(moved, ["1", "2", "5"], "not what is unrelated, or later than what is moved");
    }

    #[test]
    fn a_batch_fits_into_a_transaction() {
        let many: Vec<_> = (1..=90).map(|id| (id, 1)).collect();
        let list = [("1", &many[..]), ("2", &many[..8]), ("3", &many[..1])];
        let sizes: Vec<_> = batches(entries(&list)).iter().map(Vec::len).collect();
        assert_eq!(sizes, [1, 2], "1 + 91, 1 + 9 + 2");
        let exact = [("1", &many[..89]), ("2", &many[..8])];
        assert_eq!(batches(entries(&exact)).len(), 1, "1 + 90 + 9 = 100");
        assert!(batches(Entries::new()).is_empty());
    }
}
