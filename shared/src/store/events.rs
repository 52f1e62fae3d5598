//! The change feed of a tenant: its head and its events.
//!
//! The head has the number of the last event, and names the changes that got their numbers last. Their events are written after
//! the head, so a reader who reads the head first sees every event before them, and of them as many as follow each other.
//! Events expire in the order of their numbers.

use serde::{Deserialize, Serialize};

use super::item::count;
use super::keys::{self, EXPIRES_AT, Partition};
use super::list::Range;
use super::{Item, Store, StoreError, item};
use crate::clock::Timestamp;
use crate::model::{Event, EventType, Tenant};

/// The maximum number of events that one page reads.
const MOST: u32 = 1_000;
/// The attribute with an event's number.
pub(super) const SEQ: &str = "seq";

/// The end of a tenant's feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedHead {
    /// The number of the last event; 0 before the first one.
    pub seq: u64,
    /// The identifier of the last event; 0 before the first one.
    pub last_id: u64,
    /// When the last event expires, in epoch seconds. No later event expires earlier.
    pub last_expiry: i64,
    /// The numbers that no event has, in ascending order.
    pub jumps: Vec<Jump>,
    /// A number that grows with each write of the head.
    pub(super) version: u64,
    /// The changes that got their numbers last.
    pub(super) batch: Batch,
}

/// Changes that get their numbers together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Batch {
    /// The number before the first event.
    pub(super) after: u64,
    /// The identifier of the first event. Those of the others follow.
    pub(super) first_id: u64,
    /// The items of the outbox, by the ends of their range keys.
    pub(super) entries: Vec<String>,
    /// The run that works on them.
    pub(super) run: u64,
    /// The time until which no other run does.
    pub(super) until: Option<Timestamp>,
}

/// Numbers that no event has, because the table was restored from a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jump {
    /// The number before them.
    pub from: u64,
    /// The last of them.
    pub to: u64,
}

/// A part of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The events, oldest first, without gaps.
    pub events: Vec<Event>,
    /// The number after which the next page begins.
    pub next: u64,
    /// Whether more events follow.
    pub has_more: bool,
}

impl FeedHead {
    /// The number after which the same events follow as after `seq`: past the numbers that no event has.
    pub fn past_jumps(&self, seq: u64) -> u64 {
        self.jumps
            .iter()
            .fold(seq, |seq, jump| if (jump.from..jump.to).contains(&seq) { jump.to } else { seq })
    }

    /// The head after `count` numbers that no event has.
    pub(super) fn raised(&self, count: u64) -> Self {
        let (mut after, seq) = (self.clone(), self.seq + count);
        match after.jumps.last_mut().filter(|last| last.to == self.seq) {
            Some(last) => last.to = seq,
            None => after.jumps.push(Jump { from: self.seq, to: seq }),
        }
        Self { seq, version: self.version + 1, ..after }
    }

    /// The number up to which every event is in the table, unless it has expired. A run may be writing the events after it.
    fn written(&self, now: Timestamp) -> u64 {
        if self.last_expiry > now.as_second() { self.batch.after } else { self.seq }
    }

    /// The last event up to this number.
    pub(super) fn before_jumps(&self, seq: u64) -> u64 {
        let jumps = self.jumps.iter().rev();
        jumps.fold(seq, |seq, jump| if jump.from < seq && seq <= jump.to { jump.from } else { seq })
    }
}

impl EventPage {
    /// The first `limit` events of this type, or of any. The next page begins after the last one that was read.
    #[must_use]
    pub fn of_type(self, kind: Option<EventType>, limit: u32) -> Self {
        let (mut events, limit) = (Vec::new(), usize::try_from(limit).unwrap_or(usize::MAX));
        for event in self.events {
            if events.len() == limit {
                // The page ends with the last event that fits.
                let next = events.last().and_then(|last: &Event| last.seq).unwrap_or(self.next);
                return Self { events, next, has_more: true };
            }
            if kind.is_none_or(|kind| event.kind == kind) {
                events.push(event);
            }
        }
        Self { events, next: self.next, has_more: self.has_more }
    }
}

impl Store {
    /// The head of the tenant's feed.
    pub async fn get_feed_head(&self, tenant: Tenant) -> Result<FeedHead, StoreError> {
        let head = self.read(keys::feed_head(tenant)).await?;
        Ok(head.map(item::read).transpose()?.unwrap_or_default())
    }

    /// The events after the number `after`, at most `limit` and at most 1,000. The head was read before. Returns `None` if
    /// the next event has expired, or if the feed does not reach `after`.
    pub async fn list_events(
        &self,
        tenant: Tenant,
        head: &FeedHead,
        after: u64,
        limit: u32,
        now: Timestamp,
    ) -> Result<Option<EventPage>, StoreError> {
        self.list_events_in(&keys::events(tenant), head, after, limit, now).await
    }

    /// The same, from the feed's partition. If it is not read consistently, the events of the last moment may be missing.
    pub(super) async fn list_events_in(
        &self,
        feed: &Partition,
        head: &FeedHead,
        after: u64,
        limit: u32,
        now: Timestamp,
    ) -> Result<Option<EventPage>, StoreError> {
        let after = head.past_jumps(after);
        if after >= head.seq {
            let page = EventPage { events: Vec::new(), next: after, has_more: false };
            return Ok((after == head.seq).then_some(page));
        }
        let from = keys::event_position(after);
        let range = Range::Ascending { after: &from, to: keys::END };
        let (items, rest) = self.query(feed, limit.clamp(1, MOST), range).await?;
        let (mut events, mut next): (Vec<Event>, _) = (Vec::new(), after);
        let mut is_missing = rest.is_none();
        for item in items {
            let seq = count(&item, SEQ);
            if seq != head.past_jumps(next) + 1 {
                is_missing = true;
                break;
            }
            if !is_kept(&item, now) {
                return Ok(None);
            }
            events.push(item::read(item)?);
            next = seq;
        }
        if head.past_jumps(next) >= head.seq {
            // Events may have come after the head was read.
            return Ok(Some(EventPage { events, next: next.max(head.seq), has_more: false }));
        }
        // A missing event is being written, or has expired.
        let is_end = is_missing && next >= head.written(now);
        Ok((is_end || !events.is_empty()).then_some(EventPage { events, next, has_more: !is_end }))
    }

    /// The number before the oldest event that is kept. DynamoDB deletes expired events late, and not in their order.
    pub async fn find_feed_start(
        &self,
        tenant: Tenant,
        head: &FeedHead,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let range = Range::Ascending { after: "", to: keys::END };
        let (items, _) = self.query(&keys::events(tenant), 1, range).await?;
        let written = head.written(now);
        let Some(first) = items.first() else { return Ok(written) };
        let seq = count(first, SEQ);
        if is_kept(first, now) {
            return Ok(seq.saturating_sub(1).min(written));
        }
        // All events up to `expired` have expired, and none after `last`.
        let (mut expired, mut last) = (seq, written);
        while expired < last {
            let middle = last - (last - expired) / 2;
            let event = self.read(keys::event(tenant, head.before_jumps(middle))).await?;
            if event.is_some_and(|event| is_kept(&event, now)) {
                last = middle - 1;
            } else {
                expired = middle;
            }
        }
        Ok(expired)
    }
}

/// Whether an event has not expired.
pub(super) fn is_kept(event: &Item, now: Timestamp) -> bool {
    count(event, EXPIRES_AT) > u64::try_from(now.as_second()).unwrap_or(0)
}
