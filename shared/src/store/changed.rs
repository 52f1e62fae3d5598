//! What has changed in a list since a time, read from the change feed, so that no write does anything for it.
//!
//! A page goes through the events from a little before the time on. An event answers its subject if the subject was not updated
//! later, so each is answered once, at its last event. Nothing is skipped although transactions end late and clocks differ: the
//! walk ends at a time up to which every change is in the feed. What is younger, or waits in the outbox, is left to the next
//! walk, which begins with the latest `updated_at` that this one has answered.
//!
//! The walk's end is fixed with its first page. Whatever changes while a client reads the pages was updated after it, and comes
//! with the next walk.
//!
//! A time before the oldest event gets all items, in the order of their identifiers, and then the events since the first page.

use std::collections::HashMap;
use std::fmt;

use jiff::SignedDuration;
use serde::de::DeserializeOwned;

use super::applications::{CandidateApplication, Entry};
use super::events::{FeedHead, SEQ, is_kept};
use super::item::count;
use super::keys::{self, Key, Partition};
use super::list::Range;
use super::{Item, Listed, MAX_BATCH, Paging, Store, StoreError, item};
use crate::clock::{Clock, Timestamp, later};
use crate::id::Id;
use crate::model::{Candidate, Event, EventType, EventValue, Posting, Role, Screen, SubjectType, Tenant};

/// How long before the asked time the walk begins. Events are not quite in the order of their times.
const EARLIER: SignedDuration = SignedDuration::from_mins(5);
/// The number of events that are read at once from the head of the feed: a hundred, and the one before them, which may show that
/// nothing older counts.
const NEWEST: u32 = 101;
/// The number of events that one query reads.
const EVENTS: u32 = 1_000;
/// The number of events or items after which a page without any item ends.
const MOST_EXAMINED: usize = 10_000;
/// How often a process that gives all times looks whether its changes are in the feed, and after how long each time.
const LOOKS: usize = 100;
const BETWEEN_LOOKS: SignedDuration = SignedDuration::from_millis(20);

/// A question for what has changed.
#[derive(Clone, Copy)]
pub struct ChangesSince<'c> {
    /// Only what was changed at or after this time.
    pub time: Timestamp,
    /// The clock.
    pub clock: &'c Clock,
    /// The age from which on a change is answered.
    pub settling: SignedDuration,
}

/// What a list has of one subject of events.
trait Changing: DeserializeOwned {
    /// All items, by identifier.
    fn list(tenant: Tenant) -> Partition;
    /// The key of an item.
    fn key(tenant: Tenant, id: Id) -> Key;
    /// The item that an event may have changed.
    fn changed_by(event: &Event) -> Option<Id>;
    fn id(&self) -> Id;
    fn updated_at(&self) -> Timestamp;
}

/// The subject of an event, if it has this type.
fn subject(event: &Event, kind: SubjectType) -> Option<Id> {
    event.subject.id.filter(|_| event.subject.kind == kind)
}

/// Implements the trait for a type with the fields `id` and `updated_at`.
macro_rules! changing {
    ($($type:ty, $list:ident, $key:ident, $changed_by:expr;)+) => {$(
        impl Changing for $type {
            fn list(tenant: Tenant) -> Partition {
                keys::$list(tenant)
            }

            fn key(tenant: Tenant, id: Id) -> Key {
                keys::$key(tenant, id)
            }

            fn changed_by(event: &Event) -> Option<Id> {
                $changed_by(event)
            }

            fn id(&self) -> Id {
                self.id
            }

            fn updated_at(&self) -> Timestamp {
                self.updated_at
            }
        }
    )+};
}

changing! {
    Role, all_roles, role, |event| subject(event, SubjectType::Role);
    Posting, all_postings, posting, |event| subject(event, SubjectType::JobPosting);
    Screen, all_screens, screen, |event| subject(event, SubjectType::VoiceScreen);
    Candidate, all_candidates, candidate, person_of;
}

impl Changing for Entry {
    fn list(tenant: Tenant) -> Partition {
        keys::all_applications(tenant)
    }

    fn key(tenant: Tenant, id: Id) -> Key {
        keys::application(tenant, id)
    }

    fn changed_by(event: &Event) -> Option<Id> {
        subject(event, SubjectType::Application)
    }

    fn id(&self) -> Id {
        self.application.id
    }

    fn updated_at(&self) -> Timestamp {
        self.application.updated_at
    }
}

/// The person of an event about a candidate or about one of the candidate's applications.
fn person_of(event: &Event) -> Option<Id> {
    match (event.subject.kind, event.data.get("candidate_id")) {
        (SubjectType::Application, Some(EventValue::Id(id))) => Some(*id),
        _ => subject(event, SubjectType::Candidate),
    }
}

/// Whether an event can only be about something that no list shows.
const fn is_beside_lists(kind: EventType) -> bool {
    matches!(
        kind,
        EventType::CandidateErased
            | EventType::CandidateConsentRecorded
            | EventType::CandidateLegalHoldSet
            | EventType::CandidateLegalHoldLifted
            | EventType::ApplicationScored
    )
}

/// A walk through the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Walk {
    /// The number of the last event that was examined.
    after: u64,
    /// Only changes at or after this time, in milliseconds.
    since: i64,
    /// Only changes up to this time. Every one of them is in the feed.
    until: i64,
    /// The number of the last event that can have such a change; `None` before the walk has begun.
    end: Option<u64>,
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Among all items, after this range key. A walk follows.
    Items(String, Walk),
    /// In the feed.
    Events(Walk),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, key, Walk { after, since, until, end }) = match self {
            Self::Items(key, walk) => ("items", key.as_str(), walk),
            Self::Events(walk) => ("events", "", walk),
        };
        write!(f, "{kind}:{key}:{after}:{since}:{until}:{}", end.map_or(String::new(), |end| end.to_string()))
    }
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (kind, key) = (parts.next()?, parts.next()?);
        let after = parts.next()?.parse().ok()?;
        let since = parts.next()?.parse().ok()?;
        let until = parts.next()?.parse().ok()?;
        let end = parts.next().filter(|end| !end.is_empty()).map(str::parse).transpose().ok()?;
        let walk = Walk { after, since, until, end };
        match kind {
            "items" => Some(Self::Items(key.to_owned(), walk)),
            "events" => Some(Self::Events(walk)),
            _ => None,
        }
    }
}

/// The end of the feed.
struct Recent {
    head: FeedHead,
    /// The newest events, oldest first, without gaps.
    events: Vec<Event>,
    /// Whether no older event is kept.
    is_all: bool,
    /// Whether none of the newest events is missing.
    is_whole: bool,
}

/// A change of an item.
#[derive(Clone, Copy)]
struct ChangeOf {
    id: Id,
    seq: u64,
    /// In milliseconds.
    at: i64,
}

impl Recent {
    /// The end of the feed with this head and these newest events. `is_all` says whether there are no others.
    fn of(head: FeedHead, newest: Vec<Item>, is_all: bool, now: Timestamp) -> Result<Self, StoreError> {
        let (mut events, mut is_all, mut is_whole) = (Vec::new(), is_all, true);
        let mut next = head.seq + 1;
        for item in newest {
            let seq = count(&item, SEQ);
            if seq > head.seq {
                continue;
            }
            let follows = head.past_jumps(seq) + 1 == next;
            is_whole &= follows;
            if !is_kept(&item, now) || (!follows && !events.is_empty()) {
                is_all = true;
                break;
            }
            events.push(item::read(item)?);
            next = seq;
        }
        is_whole &= next <= head.seq || head.seq == 0;
        events.reverse();
        Ok(Self { head, events, is_all, is_whole })
    }

    /// The first of the events that was not made before this time; the one after the last if there is none.
    fn first_from(&self, time: Timestamp) -> u64 {
        let first = self.events.iter().find(|event| event.at >= time).and_then(|event| event.seq);
        first.unwrap_or(self.head.seq + 1)
    }

    fn reaches(&self, time: Timestamp) -> bool {
        self.is_all || self.events.first().is_some_and(|first| first.at < time)
    }
}

/// The last change of each item by these events that was made in the time, in the order of the events.
fn last_changes<T: Changing>(events: &[Event], walk: &Walk) -> Vec<ChangeOf> {
    let mut last = HashMap::new();
    for event in events.iter().filter(|event| !is_beside_lists(event.kind)) {
        let at = event.at.as_millisecond();
        if let (Some(id), Some(seq)) = (T::changed_by(event), event.seq) {
            last.insert(id, ChangeOf { id, seq, at });
        }
    }
    let mut last: Vec<_> =
        last.into_values().filter(|change| (walk.since..=walk.until).contains(&change.at)).collect();
    last.sort_unstable_by_key(|change| change.seq);
    last
}

/// Leaves out the last transaction, of which events may follow, unless there is no other.
fn without_last_transaction(events: &mut Vec<Event>) {
    let Some(last) = events.last().map(|event| event.at) else { return };
    let rest = events.iter().rposition(|event| event.at != last);
    if let Some(rest) = rest {
        events.truncate(rest + 1);
    }
}

impl Store {
    /// The candidates that have changed since a time. `None` if events that a later page needs are no longer kept.
    pub async fn list_changed_candidates(
        &self,
        tenant: Tenant,
        since: ChangesSince<'_>,
        page: &Paging,
    ) -> Result<Option<Listed<Candidate>>, StoreError> {
        self.list_changed(tenant, since, page).await
    }

    /// The applications that have changed, with their candidates and the current states of their roles.
    pub async fn list_changed_applications(
        &self,
        tenant: Tenant,
        since: ChangesSince<'_>,
        page: &Paging,
    ) -> Result<Option<Listed<CandidateApplication>>, StoreError> {
        let Some(Listed { items, next }) = self.list_changed::<Entry>(tenant, since, page).await? else {
            return Ok(None);
        };
        Ok(Some(Listed { items: self.with_candidates(tenant, items).await?, next }))
    }

    /// The roles that have changed.
    pub async fn list_changed_roles(
        &self,
        tenant: Tenant,
        since: ChangesSince<'_>,
        page: &Paging,
    ) -> Result<Option<Listed<Role>>, StoreError> {
        self.list_changed(tenant, since, page).await
    }

    /// The job postings that have changed.
    pub async fn list_changed_postings(
        &self,
        tenant: Tenant,
        since: ChangesSince<'_>,
        page: &Paging,
    ) -> Result<Option<Listed<Posting>>, StoreError> {
        self.list_changed(tenant, since, page).await
    }

    /// The voice screens that have changed, without those of erased candidates.
    pub async fn list_changed_screens(
        &self,
        tenant: Tenant,
        since: ChangesSince<'_>,
        page: &Paging,
    ) -> Result<Option<Listed<Screen>>, StoreError> {
        let erased = self.list_unfinished_erasures(tenant).await?;
        let mut listed = self.list_changed::<Screen>(tenant, since, page).await?;
        if let Some(Listed { items, .. }) = &mut listed {
            items.retain(|screen| !erased.contains(&screen.candidate_id));
        }
        Ok(listed)
    }

    async fn list_changed<T: Changing>(
        &self,
        tenant: Tenant,
        since: ChangesSince<'_>,
        page: &Paging,
    ) -> Result<Option<Listed<T>>, StoreError> {
        let now = since.clock.now();
        if let Some(position) = &page.before {
            let place = Place::parse(position)
                .ok_or_else(|| StoreError::Internal(format!("{position} is no place among changes")))?;
            return match place {
                Place::Items(after, walk) => {
                    let until = self.find_settled(tenant, since).await?.max(walk.until);
                    self.list_all(tenant, after, Walk { until, ..walk }, page).await.map(Some)
                }
                Place::Events(walk @ Walk { end: None, .. }) => {
                    let until = self.find_settled(tenant, since).await?.max(walk.until);
                    let head = self.get_feed_head(tenant).await?;
                    let walk = Walk { until, end: Some(head.seq), ..walk };
                    self.walk(tenant, &head, Vec::new(), walk, page, now).await
                }
                Place::Events(walk) => {
                    let head = self.get_feed_head(tenant).await?;
                    self.walk(tenant, &head, Vec::new(), walk, page, now).await
                }
            };
        }
        // The changes up to this time are read afterwards.
        let until = self.find_settled(tenant, since).await?;
        let recent = self.read_recent(tenant, now).await?;
        let walk = Walk { after: 0, since: since.time.as_millisecond(), until, end: Some(recent.head.seq) };
        if let Some(after) = self.find_start(tenant, &recent, since.time, now).await? {
            let Recent { head, events, .. } = recent;
            return self.walk(tenant, &head, events, Walk { after, ..walk }, page, now).await;
        }
        let settled = Timestamp::from_millisecond(until).unwrap_or(now);
        let after = match self.find_start(tenant, &recent, settled, now).await? {
            Some(after) => after,
            None => self.find_feed_start(tenant, &recent.head, now).await?,
        };
        let walk = Walk { after, since: until + 1, until, end: None };
        self.list_all(tenant, String::new(), walk, page).await.map(Some)
    }

    /// The time up to which every change is in the feed, in milliseconds. What this process has sent, or what waits in the
    /// outbox, may be earlier than others. A process that gives all times waits until its changes are in the feed.
    async fn find_settled(&self, tenant: Tenant, since: ChangesSince<'_>) -> Result<i64, StoreError> {
        let ChangesSince { clock, settling, .. } = since;
        let now = clock.now();
        let until = later(now, -settling);
        let mut looks = if settling.is_zero() && clock.runs() { LOOKS } else { 1 };
        loop {
            let settled = self.times.settle(until);
            let waiting = self.find_oldest_waiting(tenant).await?;
            looks -= 1;
            let end = waiting.map_or(settled, |waiting| settled.min(waiting - 1));
            if looks == 0 || end == until.as_millisecond() {
                return Ok(end);
            }
            clock.wait_until(later(clock.now(), BETWEEN_LOOKS)).await;
        }
    }

    /// Reads the end of the feed.
    async fn read_recent(&self, tenant: Tenant, now: Timestamp) -> Result<Recent, StoreError> {
        let feed = keys::events(tenant);
        let cheap = Partition::EventuallyConsistent(feed.key().to_owned());
        let newest = self.query(&cheap, NEWEST, Range::Before(None));
        let (head, (items, rest)) = tokio::try_join!(self.get_feed_head(tenant), newest)?;
        let recent = Recent::of(head, items, rest.is_none(), now)?;
        if recent.is_whole {
            return Ok(recent);
        }
        let (items, rest) = self.query(&feed, NEWEST, Range::Before(None)).await?;
        Recent::of(recent.head, items, rest.is_none(), now)
    }

    /// The number after which a walk from this time on begins: before the first event that was not made earlier than
    /// [`EARLIER`] before it. `None` if the time is before the oldest event that is kept.
    async fn find_start(
        &self,
        tenant: Tenant,
        recent: &Recent,
        time: Timestamp,
        now: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let (head, from) = (&recent.head, later(time, -EARLIER));
        if recent.reaches(from) {
            let is_kept = match recent.events.first() {
                Some(first) => !recent.is_all || first.at <= time,
                // Nothing has changed as long as events are kept.
                None => later(time, Event::KEPT) >= now,
            };
            return Ok(is_kept.then(|| recent.first_from(from) - 1));
        }
        let start = self.find_feed_start(tenant, head, now).await?;
        let oldest = self.find_event(tenant, head.past_jumps(start) + 1, now).await?;
        if oldest.is_none_or(|oldest| oldest.at > time) {
            return Ok(None);
        }
        // The event `last` was not made earlier, and no event up to `earlier` counts.
        let mut last = recent.events.first().and_then(|first| first.seq).unwrap_or(head.seq + 1);
        let mut earlier = start;
        while last - earlier > 1 {
            let middle = earlier + (last - earlier) / 2;
            let seq = head.before_jumps(middle);
            let event = if seq > earlier { self.find_event(tenant, seq, now).await? } else { None };
            match event {
                Some(event) if event.at >= from => last = seq,
                _ => earlier = middle,
            }
        }
        Ok(Some(last - 1))
    }

    /// The event with this number, if it is kept.
    async fn find_event(
        &self,
        tenant: Tenant,
        seq: u64,
        now: Timestamp,
    ) -> Result<Option<Event>, StoreError> {
        let event = self.read(keys::event(tenant, seq)).await?.filter(|event| is_kept(event, now));
        event.map(item::read).transpose()
    }

    /// A page of all items, by identifier, without what was changed later than the walk's end. The walk follows.
    async fn list_all<T: Changing>(
        &self,
        tenant: Tenant,
        mut after: String,
        walk: Walk,
        page: &Paging,
    ) -> Result<Listed<T>, StoreError> {
        let mut examined = 0;
        loop {
            let range = Range::Ascending { after: &after, to: keys::END };
            let (items, next) = self.query(&T::list(tenant), page.limit, range).await?;
            examined += items.len();
            let items = items.into_iter().filter_map(item::read_listed::<T>);
            let items: Vec<_> =
                items.filter(|item| item.updated_at().as_millisecond() <= walk.until).collect();
            let Some(next) = next else {
                return Ok(Listed { items, next: Some(Place::Events(walk).to_string()) });
            };
            if !items.is_empty() || examined >= MOST_EXAMINED {
                return Ok(Listed { items, next: Some(Place::Items(next, walk).to_string()) });
            }
            after = next;
        }
    }

    /// A page of a walk that has begun. `recent` are the last events of the feed, if they are known.
    async fn walk<T: Changing>(
        &self,
        tenant: Tenant,
        head: &FeedHead,
        recent: Vec<Event>,
        walk: Walk,
        page: &Paging,
        now: Timestamp,
    ) -> Result<Option<Listed<T>>, StoreError> {
        let end = walk.end.unwrap_or(head.seq);
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let at = |after| Some(Place::Events(Walk { after, ..walk }).to_string());
        let (mut items, mut after, mut examined) = (Vec::new(), walk.after, 0);
        let mut recent = Some(recent);
        loop {
            let Some((mut events, is_last)) =
                self.read_events(tenant, head, recent.take(), after, end, now).await?
            else {
                return Ok(None);
            };
            if !is_last {
                without_last_transaction(&mut events);
            }
            examined += events.len();
            after = events.last().and_then(|event| event.seq).unwrap_or(after);
            let changes = last_changes::<T>(&events, &walk);
            let mut left = &changes[..];
            while !left.is_empty() && items.len() < limit {
                let (some, others) = left.split_at(left.len().min(limit - items.len()).min(MAX_BATCH));
                let mut found = self.find_changed::<T>(tenant, some).await?;
                let is_current =
                    |change: &ChangeOf, item: &T| item.updated_at().as_millisecond() <= change.at;
                items.extend(
                    some.iter().filter_map(|change| {
                        found.remove(&change.id).filter(|item| is_current(change, item))
                    }),
                );
                left = others;
            }
            if let Some(next) = left.first() {
                return Ok(Some(Listed { items, next: at(next.seq - 1) }));
            }
            if is_last {
                return Ok(Some(Listed { items, next: None }));
            }
            if !items.is_empty() || examined >= MOST_EXAMINED {
                return Ok(Some(Listed { items, next: at(after) }));
            }
        }
    }

    /// The next events of a walk up to its end, and whether they are the last ones; `None` if they are no longer kept. They
    /// are old enough for a cheap reading, unless one is missing.
    async fn read_events(
        &self,
        tenant: Tenant,
        head: &FeedHead,
        recent: Option<Vec<Event>>,
        after: u64,
        end: u64,
        now: Timestamp,
    ) -> Result<Option<(Vec<Event>, bool)>, StoreError> {
        let up_to_end = |events: Vec<Event>| -> Vec<Event> {
            events
                .into_iter()
                .filter(|event| event.seq.is_some_and(|seq| seq > after && seq <= end))
                .collect()
        };
        if after >= end {
            return Ok(Some((Vec::new(), true)));
        }
        let recent = recent.unwrap_or_default();
        let first = recent.first().and_then(|event| event.seq);
        if first.is_some_and(|first| first <= head.past_jumps(after) + 1) {
            return Ok(Some((up_to_end(recent), true)));
        }
        let feed = keys::events(tenant);
        let cheap = Partition::EventuallyConsistent(feed.key().to_owned());
        let limit = u32::try_from(end - after).unwrap_or(EVENTS).min(EVENTS);
        let read = self.list_events_in(&cheap, head, after, limit, now).await?;
        let read = match read.filter(|page| page.has_more || page.next >= end) {
            Some(read) => Some(read),
            None => self.list_events_in(&feed, head, after, limit, now).await?,
        };
        Ok(read.map(|page| {
            let is_last = !page.has_more || page.next >= end;
            (up_to_end(page.events), is_last)
        }))
    }

    /// The items of these changes. An item that is older than its change, or missing, is read again consistently.
    async fn find_changed<T: Changing>(
        &self,
        tenant: Tenant,
        changes: &[ChangeOf],
    ) -> Result<HashMap<Id, T>, StoreError> {
        let by_id = |items: Vec<Item>| {
            let items = items.into_iter().filter_map(item::read_listed::<T>);
            items.map(|item| (item.id(), item)).collect::<HashMap<_, _>>()
        };
        let key = |change: &ChangeOf| T::key(tenant, change.id);
        let mut found = by_id(self.read_many_eventually(changes.iter().map(key)).await?);
        let is_old = |change: &&ChangeOf| {
            found.get(&change.id).is_none_or(|item| item.updated_at().as_millisecond() < change.at)
        };
        let old: Vec<_> = changes.iter().filter(is_old).map(key).collect();
        found.extend(by_id(self.read_many(old).await?));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_can_be_read_again() {
        let walk = Walk { after: 7, since: -5, until: 1_795_167_000_000, end: None };
        for place in [
            Place::Items("0000000000000012".to_owned(), walk),
            Place::Items(String::new(), walk),
            Place::Events(Walk { end: Some(9), ..walk }),
            Place::Events(walk),
        ] {
            assert_eq!(Place::parse(&place.to_string()), Some(place));
        }
        for wrong in ["", "items", "events::1:2", "other::1:2:3:", "events::1:2:3:x"] {
            assert_eq!(Place::parse(wrong), None, "{wrong}");
        }
    }
}
