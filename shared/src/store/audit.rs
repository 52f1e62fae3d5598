//! The audit log: entries by day, actor and action, newest first.
//!
//! A handle to the table knows who writes through it. Transactions record their acts, and the commit adds the entries.
//! Reads of people have no transaction, so their entries are written on their own.
//!
//! A day's entries are spread over shards, because a busy tenant makes more entries a second than a partition takes. A
//! page reads the shards of a period (a day, or a month of one actor or action) at the same time, and merges them.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use jiff::tz::TimeZone;

use super::audit_origin::AuditOrigin;
use super::item::number;
use super::keys::{self, EXPIRES_AT, Partition, SK, STATUS_FILTER};
use super::list::Range;
use super::{Item, Listed, Paging, Store, StoreError, item};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditActorKind, AuditActorTerm, AuditEntry, AuditTarget, AuditTargetKind, Mode,
    NamedOrganization, Tenant, ToolCall,
};

/// The maximum number of attempts to find identifiers for the entries in the audit log.
pub(super) const ENTRY_ATTEMPTS: u32 = 10;

/// Which entries a list contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditSelection {
    /// All.
    All,
    /// Those of one actor.
    Actor(AuditActorTerm),
    /// Those with one action.
    Action(AuditAction),
}

/// An entry that was written before everything that it says was certain, with its mode; `None` if the handle writes no
/// entries.
#[derive(Debug)]
pub struct WrittenEntry(Option<(Tenant, AuditEntry)>);

/// The names of members, API keys and applications.
#[derive(Clone, Debug, Default)]
pub struct AuditNames(HashMap<(Named, Id), String>);

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Named {
    Member,
    ApiKey,
    Grant,
}

impl Named {
    const fn target(kind: AuditTargetKind) -> Option<Self> {
        match kind {
            AuditTargetKind::Member => Some(Self::Member),
            AuditTargetKind::ApiKey => Some(Self::ApiKey),
            AuditTargetKind::Grant => Some(Self::Grant),
            _ => None,
        }
    }
}

impl AuditNames {
    /// The name of a member.
    pub fn member(&self, id: Id) -> Option<&str> {
        self.0.get(&(Named::Member, id)).map(String::as_str)
    }

    /// The name of an API key.
    pub fn api_key(&self, id: Id) -> Option<&str> {
        self.0.get(&(Named::ApiKey, id)).map(String::as_str)
    }

    /// The name of the application with this grant.
    pub fn app(&self, grant: Id) -> Option<&str> {
        self.0.get(&(Named::Grant, grant)).map(String::as_str)
    }
}

/// The maximum number of periods that a page reads: a fortnight, or all months in which entries are kept. A page that ends
/// early has a `next`.
const MAX_PERIODS: usize = 15;
/// The milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// A place in the log: before it are the entries of earlier times, and those of its millisecond with smaller identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    millisecond: i64,
    id: u64,
}

impl Position {
    /// The place before all entries of this time.
    fn at(time: Timestamp) -> Self {
        Self { millisecond: time.as_millisecond().max(0), id: 0 }
    }

    /// Parses the form of a page's `before`: the digits of the time and of the identifier.
    fn parse(text: &str) -> Result<Self, StoreError> {
        // 15 digits of the millisecond, and 16 of the identifier. In older entries, 12 digits of the second came first.
        let digits = matches!(text.len(), 28 | 31) && text.bytes().all(|byte| byte.is_ascii_digit());
        let parts = digits.then(|| text.split_at(text.len() - 16));
        let parts =
            parts.and_then(|(time, id)| Some((format!("{time:0<15}").parse().ok()?, id.parse().ok()?)));
        let (millisecond, id) =
            parts.ok_or_else(|| StoreError::Internal("a position in the audit log is invalid".to_owned()))?;
        Ok(Self { millisecond, id })
    }

    /// The millisecond of the last entry that may be before this place.
    const fn last_millisecond(self) -> i64 {
        if self.id == 0 { self.millisecond - 1 } else { self.millisecond }
    }

    /// A range key that sorts at or after those of all entries before this place, and before those of all others.
    fn last_key(self) -> String {
        match self.id {
            // The key of an entry of this millisecond begins with it, and is longer.
            0 => format!("{:015}", self.millisecond),
            id => format!("{:015}{:016}", self.millisecond, id - 1),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:015}{:016}", self.millisecond, self.id)
    }
}

/// A part of the log that has partitions of its own.
struct Period {
    /// The first millisecond.
    start: i64,
    /// The name in keys.
    name: String,
}

impl Period {
    /// The period of a selection that contains this millisecond.
    fn of(selection: AuditSelection, millisecond: i64) -> Self {
        let time = Timestamp::from_millisecond(millisecond).unwrap_or_default();
        let date = time.to_zoned(TimeZone::UTC).date();
        match selection {
            AuditSelection::All => {
                Self { start: millisecond - millisecond.rem_euclid(DAY), name: date.to_string() }
            }
            AuditSelection::Actor(_) | AuditSelection::Action(_) => {
                let first = date.first_of_month().to_zoned(TimeZone::UTC);
                let start = first.map_or(0, |first| first.timestamp().as_millisecond());
                Self { start, name: date.strftime("%Y-%m").to_string() }
            }
        }
    }

    fn partition(&self, tenant: Tenant, selection: AuditSelection, shard: u64) -> Partition {
        match selection {
            AuditSelection::All => keys::audit_day(tenant, &self.name, shard),
            AuditSelection::Actor(actor) => {
                Partition::Filtered(keys::audit_actor(tenant, actor, &self.name, shard))
            }
            AuditSelection::Action(action) => {
                Partition::ByStatus(keys::audit_action(tenant, action, &self.name, shard))
            }
        }
    }
}

/// The partitions of the days in which an organization's entries can be that still exist.
pub(super) fn partitions(tenant: Tenant, created_at: Timestamp, now: Timestamp) -> Vec<Partition> {
    let first = created_at.max(kept_since(now)).as_millisecond();
    // A clock may be fast.
    let mut time = now.as_millisecond() + DAY;
    let mut partitions = Vec::new();
    while time >= first - DAY {
        let day = Period::of(AuditSelection::All, time);
        partitions
            .extend((0..keys::AUDIT_SHARDS).map(|shard| day.partition(tenant, AuditSelection::All, shard)));
        time -= DAY;
    }
    partitions
}

fn kept_since(now: Timestamp) -> Timestamp {
    now.checked_sub(AuditEntry::KEPT).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Store {
    /// A handle whose commits and records have this origin in the audit log.
    #[must_use]
    pub fn with_origin(self, origin: Arc<AuditOrigin>) -> Self {
        Self { origin: Some(origin), ..self }
    }

    /// Writes an entry without a transaction.
    pub async fn record(
        &self,
        tenant: Tenant,
        action: AuditAction,
        target: Option<AuditTarget>,
        shown: Option<u64>,
    ) -> Result<(), StoreError> {
        self.write_entry(|| self.audit_entry(tenant, action, target, shown, None)).await.map(drop)
    }

    /// Writes the entry of a page that shows this number of people, or is expected to.
    pub async fn record_page(
        &self,
        tenant: Tenant,
        action: AuditAction,
        shown: u64,
    ) -> Result<WrittenEntry, StoreError> {
        self.write_entry(|| self.audit_entry(tenant, action, None, Some(shown), None)).await
    }

    /// Corrects the entry of a page that shows another number of people than was expected.
    pub async fn correct_page(&self, written: WrittenEntry, shown: u64) -> Result<(), StoreError> {
        self.correct_entry(written, |entry| AuditEntry { shown: Some(shown), ..entry }).await
    }

    /// Writes an entry about a call of a tool.
    pub async fn record_tool_call(
        &self,
        tenant: Tenant,
        target: Option<AuditTarget>,
        call: &ToolCall,
    ) -> Result<WrittenEntry, StoreError> {
        let action = AuditAction::ToolCalled;
        self.write_entry(|| self.audit_entry(tenant, action, target, None, Some(call.clone()))).await
    }

    /// Corrects the entry about a call of a tool that ended otherwise than was expected.
    pub async fn correct_tool_call(&self, written: WrittenEntry, call: ToolCall) -> Result<(), StoreError> {
        self.correct_entry(written, |entry| AuditEntry { tool: Some(call), ..entry }).await
    }

    async fn correct_entry(
        &self,
        WrittenEntry(written): WrittenEntry,
        correct: impl FnOnce(AuditEntry) -> AuditEntry,
    ) -> Result<(), StoreError> {
        let Some((tenant, entry)) = written else { return Ok(()) };
        let corrected = correct(entry.clone());
        if corrected == entry { Ok(()) } else { self.put_item(entry_item(tenant, &corrected)?).await }
    }

    async fn write_entry(
        &self,
        entry: impl Fn() -> Result<Option<(Tenant, AuditEntry)>, StoreError>,
    ) -> Result<WrittenEntry, StoreError> {
        // The entry names the actor, who is known from the admission on.
        self.admitted().await;
        for _ in 0..ENTRY_ATTEMPTS {
            let Some((tenant, entry)) = entry()? else { return Ok(WrittenEntry(None)) };
            let item = entry_item(tenant, &entry)?;
            let written = WrittenEntry(Some((tenant, entry)));
            let call = self
                .client
                .put_item()
                .table_name(&*self.table)
                .set_item(Some(item.clone()))
                .condition_expression("attribute_not_exists(pk)")
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            let Err(error) = self.count(call.send()).await else { return Ok(written) };
            match error.as_service_error() {
                // A retry of the SDK finds its own entry. Another entry has the identifier in rare cases.
                Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                    if failed.item.as_ref() == Some(&item) {
                        return Ok(written);
                    }
                }
                _ => return Err(StoreError::of(&error)),
            }
        }
        Err(StoreError::Unavailable("identifiers of the audit log are in use".to_owned()))
    }

    /// The item of a new entry; `None` if the handle has no origin, because it belongs to no function.
    pub(super) fn audit_item(
        &self,
        tenant: Tenant,
        action: AuditAction,
        target: Option<AuditTarget>,
        tool: Option<ToolCall>,
    ) -> Result<Option<Item>, StoreError> {
        let entry = self.audit_entry(tenant, action, target, None, tool)?;
        entry.map(|(tenant, entry)| entry_item(tenant, &entry)).transpose()
    }

    /// A new entry, in the mode in whose log it is.
    fn audit_entry(
        &self,
        tenant: Tenant,
        action: AuditAction,
        target: Option<AuditTarget>,
        shown: Option<u64>,
        tool: Option<ToolCall>,
    ) -> Result<Option<(Tenant, AuditEntry)>, StoreError> {
        let Some(origin) = &self.origin else { return Ok(None) };
        let actor = origin.actor().ok_or_else(|| {
            StoreError::Internal(format!("{} has no actor for the audit log", action.as_str()))
        })?;
        let mode = if action.concerns_both_modes() { Mode::Live } else { tenant.mode };
        let (tenant, at) = (Tenant { mode, ..tenant }, origin.clock.now());
        let network = origin.network.clone();
        let entry = AuditEntry { id: origin.ids.next(), at, actor, action, target, shown, network, tool };
        Ok(Some((tenant, entry)))
    }

    /// A page of the entries from `from` on that are before `to`, newest first. A page may be short or empty although
    /// more entries follow.
    pub async fn list_audit_log(
        &self,
        organization: &NamedOrganization,
        selection: AuditSelection,
        [from, to]: [Option<Timestamp>; 2],
        now: Timestamp,
        page: &Paging,
    ) -> Result<Listed<AuditEntry>, StoreError> {
        let tenant = organization.organization.tenant();
        // Nothing is read from days without entries.
        let first = kept_since(now).max(organization.created_at);
        let from = Position::at(from.map_or(first, |from| from.max(first)));
        let latest = Position { millisecond: now.as_millisecond() + 1, id: 0 };
        let mut before = to.map_or(latest, |to| Position::at(to).min(latest));
        if let Some(text) = &page.before {
            before = before.min(Position::parse(text)?);
        }
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let mut items = Vec::new();
        for _ in 0..MAX_PERIODS {
            if before <= from {
                return Ok(Listed { items, next: None });
            }
            let period = Period::of(selection, before.last_millisecond());
            let start = Position { millisecond: period.start, id: 0 };
            let left = limit - items.len();
            let (found, has_more) =
                self.read_period(tenant, selection, &period, start.max(from), before, left).await?;
            for mut item in found {
                if let Some(AttributeValue::S(key)) = item.get(SK) {
                    before = Position::parse(key)?;
                }
                item.remove(EXPIRES_AT);
                items.extend(item::read_listed::<AuditEntry>(item));
            }
            if !has_more {
                before = start;
            }
            if items.len() >= limit {
                break;
            }
        }
        let next = (before > from).then(|| before.to_string());
        Ok(Listed { items, next })
    }

    /// The names of the members, API keys and applications in these entries, as far as they still exist. At most 33
    /// entries, because each has up to three names, and a batch 100 keys.
    pub async fn find_audit_names(
        &self,
        tenant: Tenant,
        entries: &[AuditEntry],
    ) -> Result<AuditNames, StoreError> {
        let mut wanted = BTreeSet::new();
        for AuditEntry { actor, target, .. } in entries {
            let kind = match actor.kind {
                AuditActorKind::ApiKey => Some(Named::ApiKey),
                AuditActorKind::App => Some(Named::Grant),
                AuditActorKind::Member => Some(Named::Member),
                AuditActorKind::Operator | AuditActorKind::System | AuditActorKind::Unknown => None,
            };
            wanted.extend(kind.zip(actor.id));
            wanted.extend(actor.member.map(|member| (Named::Member, member)));
            wanted.extend(target.and_then(|target| Named::target(target.kind).zip(target.id)));
        }
        let key = |(named, id): &(Named, Id)| match named {
            Named::Member => keys::member(tenant.organization, *id),
            Named::ApiKey => keys::api_key(tenant, *id),
            Named::Grant => keys::grant(tenant, *id),
        };
        if wanted.is_empty() {
            return Ok(AuditNames::default());
        }
        let mut items = self.read_many_eventually(wanted.iter().map(key)).await?;
        let mut names = HashMap::new();
        for wanted in wanted {
            let Some(mut item) = key(&wanted).take_from(&mut items) else { continue };
            let attribute = if wanted.0 == Named::Grant { "client_name" } else { "name" };
            if let Some(AttributeValue::S(name)) = item.remove(attribute) {
                names.insert(wanted, name);
            }
        }
        Ok(AuditNames(names))
    }

    /// Reads the latest entries between two places of a period. Returns them, newest first, and whether there may be
    /// more.
    async fn read_period(
        &self,
        tenant: Tenant,
        selection: AuditSelection,
        period: &Period,
        from: Position,
        before: Position,
        limit: usize,
    ) -> Result<(Vec<Item>, bool), StoreError> {
        let (first, last) = (format!("{:015}", from.millisecond), before.last_key());
        let most = u32::try_from(limit).unwrap_or(u32::MAX);
        let read = async |shard| {
            let partition = period.partition(tenant, selection, shard);
            self.query(&partition, most, Range::Between { from: &first, to: &last }).await
        };
        const { assert!(keys::AUDIT_SHARDS == 4, "a page reads every shard") };
        let shards = <[_; 4]>::from(tokio::try_join!(read(0), read(1), read(2), read(3))?);
        let mut has_more = false;
        let mut items = Vec::new();
        for (found, next) in shards {
            has_more |= next.is_some();
            items.extend(found);
        }
        let key = |item: &Item| item.get(SK).and_then(|key| key.as_s().ok()).cloned();
        items.sort_by_cached_key(|item| std::cmp::Reverse(key(item)));
        has_more |= items.len() > limit;
        items.truncate(limit);
        Ok((items, has_more))
    }
}

/// The item of an entry, with its places in the lists of its actor and its action.
fn entry_item(tenant: Tenant, entry: &AuditEntry) -> Result<Item, StoreError> {
    let at = entry.at.as_millisecond();
    let (day, month) =
        (Period::of(AuditSelection::All, at), Period::of(AuditSelection::Action(entry.action), at));
    let shard = keys::audit_shard(entry.id);
    let position = keys::audit_position(entry.at, entry.id);
    let key = keys::audit_entry(tenant, &day.name, shard, &position);
    let actor = keys::audit_actor(tenant, entry.actor.term(), &month.name, shard);
    let mut item = item::write(entry, key, Some(actor))?;
    let action = keys::audit_action(tenant, entry.action, &month.name, shard);
    item.insert(STATUS_FILTER.to_owned(), AttributeValue::S(action));
    item.insert(EXPIRES_AT.to_owned(), number(later(entry.at, AuditEntry::KEPT).as_second()));
    Ok(item)
}

/// Whether a text is a place in the log.
pub fn is_audit_position(text: &str) -> bool {
    Position::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The range of a page contains exactly the keys before its place.
        #[test]
        fn the_last_key_separates_the_entries_before_a_place_from_the_others(
            millisecond in 0..100_000_000_000_000_i64, id in 0..=Id::MAX,
            distance in -2..=2_i64, other_id in 1..=Id::MAX, same in any::<bool>(),
        ) {
            let place = Position { millisecond, id };
            let other = Position {
                millisecond: (millisecond + distance).max(0),
                id: if same { id.max(1) } else { other_id },
            };
            let time = Timestamp::from_millisecond(other.millisecond).unwrap();
            let key = keys::audit_position(time, Id::new(other.id).unwrap());
            prop_assert_eq!(key.as_str() <= place.last_key().as_str(), other < place);
            prop_assert_eq!(Position::parse(&key).unwrap(), other);
        }
    }

    #[test]
    fn a_period_is_a_day_of_the_log_or_a_month_of_an_action() {
        let start = "2026-03-01T00:00:00Z".parse::<Timestamp>().unwrap().as_millisecond();
        let name = |selection, time| Period::of(selection, time).name;
        assert_eq!(name(AuditSelection::All, start), "2026-03-01");
        assert_eq!(name(AuditSelection::All, start - 1), "2026-02-28");
        let action = AuditSelection::Action(AuditAction::CandidateRead);
        assert_eq!(name(action, start), "2026-03");
        assert_eq!(name(action, start - 1), "2026-02");
        assert_eq!(Period::of(action, start + 40 * DAY).start, start + 31 * DAY);
        assert_eq!(Period::of(AuditSelection::All, start + DAY - 1).start, start);
    }

    #[test]
    fn a_position_has_31_digits() {
        assert!(is_audit_position(&"0".repeat(31)));
        let older = Position::parse("0017951780960000000000000017").unwrap();
        assert_eq!(older, Position { millisecond: 1_795_178_096_000, id: 17 });
        for wrong in [String::new(), "0".repeat(29), "0".repeat(32), "-".repeat(31), "ü".repeat(15) + "0"] {
            assert!(!is_audit_position(&wrong), "{wrong}");
        }
    }
}
