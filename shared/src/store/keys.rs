//! The keys: those of the rows of the [chart](super::chart), and what a row cannot say: partitions that several tenants share, parts of
//! partitions, lists that are in the table or in an index, and the order of range keys.
//!
//! `~` sorts after all letters, so the record comes first when its partition is read backwards.
//!
//! The index `filtered` (hash key `filter`, range key `sk`, all attributes) contains the lists of items in one state.
//! The index `by_status` (hash key `status_filter`) contains the lists of applications with one status, whose `filter` is
//! for their stage, of voice screens with one result, whose `filter` is for their status, of entries of the audit log
//! with one action, whose `filter` is for their actor, and of suspect forms with one e-mail address, whose `filter` is for
//! their network. Both indexes are eventually consistent. Single items and unfiltered lists are read consistently from
//! the table, except openings, searches for candidates and retention periods, which use eventually consistent reads at
//! half the price.

use sha2::{Digest, Sha256};

use super::chart::rows;
pub(super) use super::partition::*;
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    ApplicationStatus, AuditAction, AuditActorTerm, CaseFolded, Day, Email, ExternalId, IndexPosition, Label,
    Member, Phone, RoleStatus, ScreenResult, ScreenStatus, Slug, Stage, Subject, Tenant,
};

/// The range key of a record.
pub(super) const RECORD: &str = "~FILE";
/// The prefix of the range keys of files. It sorts right before submitted forms.
const FILE: &str = "FILE#";
/// The prefix of the range keys of submitted forms.
pub(super) const SUBMISSION: &str = "FORM#";
/// The prefix of the range keys of traces that lead to files that nobody has.
const UNATTACHED: &str = "UNATTACHED#";
/// A range key that sorts after all submitted forms.
const SUBMISSION_END: &str = "FORM#~";
/// The prefix of the range keys of touchpoints, which the version of the record follows.
pub(super) const HISTORY: &str = "HISTORY#";
/// The prefix of the range keys of the screens on a candidate's page.
pub(super) const SCREEN: &str = "SCREEN#";
/// A range key that sorts after all screens on a candidate's page.
const SCREEN_END: &str = "SCREEN#~";
/// A range key that sorts before all others, which are visible ASCII characters.
const START: &str = "!";
/// A range key that sorts before unfinished erasures, and before records and the applications beside them, but after everything
/// else. It is also the beginning of theirs.
pub(super) const BEFORE_RECORD: &str = "~";
/// A range key that sorts after all applications beside a candidate's record, and before the record.
const APPLICATION_END: &str = "~APPLICATION#~";
/// A range key that sorts after all others.
pub(super) const END: &str = "~~";
/// The prefix of the range keys of a transcript's parts.
pub(super) const TRANSCRIPT: &str = "TRANSCRIPT#";

/// The state of a role's applications in open stages, which are active or closed with the role.
pub(super) const OPEN: &str = "open";
/// What stands for the role in the keys of acts that were begun in a list over all roles.
const ALL_ROLES: &str = "ALL";
/// The filter of all items in quarantine.
pub(super) const QUARANTINE: &str = "QUARANTINE";

/// The number of shards of a busy Pro tenant's counter.
pub(super) const GATE_SHARDS: u64 = 8;
/// The number of shards of a day of the audit log. Each takes 1,000 entries a second.
pub(super) const AUDIT_SHARDS: u64 = 4;
/// The number of groups of tenants whose tasks are in the same partitions.
const TASK_GROUPS: u8 = 64;
/// The number of partitions of a group's tasks. Each takes 1,000 tasks a second.
const TASK_PARTS: u8 = 4;
/// The number of partitions of the organization registry.
pub const REGISTRY_SHARDS: u64 = 16;

/// Makes the rows of the chart into functions.
macro_rules! key_builders {
    ($(
        $(#[doc = $about:literal])+
        $name:ident: $type:ident,
        $pk:literal $( ($($p:ident: $pt:ty $(= $pv:expr)?),*) $(as $list:ident)? )?,
        $sk:literal $( ($($s:ident: $st:ty $(= $sv:expr)?),*) )?
        $(, filter $filter:literal $( ($($f:ident: $ft:ty $(= $fv:expr)?),*) as $filter_key:ident )?)?
        $(, status_filter $status:literal $( ($($t:ident: $tt:ty $(= $tv:expr)?),*) as $status_key:ident )?)?,
        of $owner:ident $(, leads to $led:ident)? $(, and $expires:ident)?;
    )+) => {$(
        $(builders! { $name $pk ($($p: $pt $(= $pv)?),*) [$($list)?] $sk ($($s: $st $(= $sv)?),*) })?
        $($(filter! { $filter_key $filter ($($f: $ft $(= $fv)?),*) })?)?
        $($(filter! { $status_key $status ($($t: $tt $(= $tv)?),*) })?)?
    )+};
}

macro_rules! builders {
    ($name:ident $pk:literal ($($p:ident: $pt:ty $(= $pv:expr)?),*) [$list:ident] $sk:literal $s:tt) => {
        pub(super) fn $list($($p: $pt),*) -> Partition {
            $($(let $p = $pv;)?)*
            Partition::of(format!($pk), $sk)
        }
        builders! { $name $pk ($($p: $pt $(= $pv)?),*) [] $sk $s }
    };
    ($name:ident $pk:literal ($($p:ident: $pt:ty $(= $pv:expr)?),*) [] $sk:literal ($($s:ident: $st:ty $(= $sv:expr)?),*)) => {
        pub(super) fn $name($($p: $pt,)* $($s: $st),*) -> Key {
            $($(let $p = $pv;)?)*
            $($(let $s = $sv;)?)*
            Key { pk: format!($pk), sk: format!($sk) }
        }
    };
}

macro_rules! filter {
    ($name:ident $key:literal ($($p:ident: $pt:ty $(= $pv:expr)?),*)) => {
        pub(super) fn $name($($p: $pt),*) -> String {
            $($(let $p = $pv;)?)*
            format!($key)
        }
    };
}

rows!(key_builders);

/// The stage or the status that a list of applications is filtered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageOrStatus {
    /// The stage.
    Stage(Stage),
    /// The status.
    Status(ApplicationStatus),
}

/// The status or the result that a list of screens is filtered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusOrResult {
    /// The status.
    Status(ScreenStatus),
    /// The result.
    Result(ScreenResult),
}

pub(super) fn roles(tenant: Tenant, status: Option<RoleStatus>) -> Partition {
    match status {
        None => all_roles(tenant),
        Some(status) => Partition::Filtered(role_filter(tenant, status)),
    }
}

/// The counters of stages of all roles.
pub(super) fn hiring_stats(tenant: Tenant) -> Partition {
    Partition::EventuallyConsistent(stage_counters(tenant, 0).pk)
}

/// The counters of new people, the newest week first.
pub(super) fn all_new_people(tenant: Tenant) -> Partition {
    Partition::EventuallyConsistent(new_people(tenant, Day::of(Timestamp::UNIX_EPOCH), 0, "").pk)
}

/// The Monday and the source of a counter of new people, by its range key.
pub(super) fn read_new_people(range: &str) -> Option<(Day, &str)> {
    let (monday, counter) = range.split_once('#')?;
    let (_, source) = counter.split_once('#')?;
    Some((monday.parse().ok()?, source))
}

pub(super) fn postings(tenant: Tenant, published: Option<bool>) -> Partition {
    match published {
        None => all_postings(tenant),
        Some(published) => Partition::Filtered(posting_filter(tenant, published)),
    }
}

pub(super) fn openings(tenant: Tenant) -> Partition {
    Partition::EventuallyConsistent(opening(tenant, Timestamp::UNIX_EPOCH, Id::LAST).pk)
}

/// The place of an opening in the list.
pub(super) fn opening_position(since: Timestamp, id: Id) -> String {
    format!("{}{}", sortable(since), padded(id))
}

pub(super) fn candidates(tenant: Tenant, role: Option<Id>, stage: Option<Stage>) -> Partition {
    match (role, stage) {
        (None, None) => all_candidates(tenant),
        (None, Some(stage)) => Partition::Filtered(candidate_filter(tenant, stage)),
        (Some(role), stage) => applications(tenant, Some(role), stage.map(StageOrStatus::Stage)),
    }
}

pub(super) fn applications(tenant: Tenant, role: Option<Id>, state: Option<StageOrStatus>) -> Partition {
    match (state, role) {
        (None, None) => all_applications(tenant),
        (None, Some(role)) => role_applications(tenant, role),
        (Some(StageOrStatus::Stage(stage)), _) => {
            Partition::Filtered(applications_in(tenant, role, stage.as_str()))
        }
        (Some(StageOrStatus::Status(ApplicationStatus::Rejected)), _) => {
            Partition::Filtered(applications_in(tenant, role, Stage::Rejected.as_str()))
        }
        (Some(StageOrStatus::Status(ApplicationStatus::Hired)), _) => {
            Partition::Filtered(applications_in(tenant, role, Stage::Hired.as_str()))
        }
        (Some(StageOrStatus::Status(status)), None) => {
            Partition::ByStatus(applications_in(tenant, None, status.as_str()))
        }
        (Some(StageOrStatus::Status(_)), Some(_)) => Partition::ByStatus(applications_in(tenant, role, OPEN)),
    }
}

/// The filter of the applications in a stage or with a status: those of one role, or all.
pub(super) fn applications_in(tenant: Tenant, role: Option<Id>, state: &str) -> String {
    match role {
        None => application_filter(tenant, state),
        Some(role) => role_application_filter(tenant, role, state),
    }
}

/// The place of an application in the lists by score.
pub fn score_position(score: u8, application: Id) -> String {
    format!("{}#{}", least_score(score), padded(application))
}

/// A range key that sorts before all applications with at least this score, and after all others.
pub(super) fn least_score(score: u8) -> String {
    format!("{score:03}")
}

/// The partition with everything about a candidate.
pub(super) fn candidate_partition(tenant: Tenant, id: Id) -> Partition {
    Partition::Table(candidate_record(tenant, id).pk)
}

/// The part of this partition with the touchpoints, the screens and the record.
pub(super) fn candidate_page(tenant: Tenant, id: Id) -> Partition {
    Partition::section(candidate_record(tenant, id).pk, HISTORY, RECORD)
}

/// The part of this partition with the screens and the record.
pub(super) fn candidate_screens_and_record(tenant: Tenant, id: Id) -> Partition {
    Partition::section(candidate_record(tenant, id).pk, SCREEN, RECORD)
}

/// A range key that sorts after the touchpoints of this version of the record and before all later ones.
pub(super) fn history_after(version: u64) -> String {
    format!("{HISTORY}{version:012}~")
}

/// The place in a candidate's history before which the first touchpoints of an item are, whose range key is `range`.
pub(super) fn history_before(range: &str, left: usize) -> String {
    format!("{range}#{left}")
}

/// How many of the first touchpoints of an item are before a place in the history; `None` if all are.
pub(super) fn history_left(place: &str, range: &str) -> Option<usize> {
    place.strip_prefix(range)?.strip_prefix('#')?.parse().ok()
}

/// The part of a candidate's partition with the submitted forms and their files.
pub(super) fn submissions_and_files(tenant: Tenant, candidate: Id) -> Partition {
    Partition::section(candidate_record(tenant, candidate).pk, FILE, SUBMISSION_END)
}

/// The part of this partition with the record and the applications beside it.
pub(super) fn candidate_file(tenant: Tenant, id: Id) -> Partition {
    Partition::section(candidate_record(tenant, id).pk, BEFORE_RECORD, RECORD)
}

/// The two parts of a candidate's partition before and after the screens, without the record.
pub(super) fn candidate_extras(tenant: Tenant, candidate: Id) -> [Partition; 2] {
    [(START, SCREEN), (SCREEN_END, APPLICATION_END)]
        .map(|(from, to)| Partition::section(candidate_record(tenant, candidate).pk, from, to))
}

/// A key that no item of a candidate has.
pub(super) fn nothing_of_candidate(tenant: Tenant, candidate: Id, number: usize) -> Key {
    Key { pk: candidate_record(tenant, candidate).pk, sk: format!("NOTHING#{number}") }
}

pub(super) fn receipt_trace(tenant: Tenant, candidate: Id, route: &str, idempotency_key: &str) -> Key {
    trace(tenant, candidate, format!("RECEIPT#{route}#{idempotency_key}"))
}

pub(super) fn confirmation_trace(tenant: Tenant, candidate: Id, hash: &str) -> Key {
    trace(tenant, candidate, format!("CONFIRMATION#{hash}"))
}

pub(super) fn upload_trace(tenant: Tenant, candidate: Id, hash: &str) -> Key {
    trace(tenant, candidate, format!("UPLOAD#{hash}"))
}

pub(super) fn unattached_trace(tenant: Tenant, candidate: Id, hash: &str) -> Key {
    trace(tenant, candidate, format!("{UNATTACHED}{hash}"))
}

/// The traces of a candidate that lead to files that nobody has.
pub(super) fn unattached_files(tenant: Tenant, candidate: Id) -> Partition {
    let pk = unattached_trace(tenant, candidate, "").pk;
    Partition::section(pk, UNATTACHED, &format!("{UNATTACHED}~"))
}

pub(super) fn former_address_trace(tenant: Tenant, candidate: Id, suspects: &str) -> Key {
    trace(tenant, candidate, format!("FORMER_ADDRESS#{suspects}"))
}

pub(super) fn answer_trace(tenant: Tenant, candidate: Id, delivery: Id, at: Timestamp) -> Key {
    trace(tenant, candidate, format!("ANSWER#{}#{}", padded(delivery), sortable(at)))
}

/// The answers of an endpoint to deliveries with these identifiers and those between.
pub(super) fn answers(tenant: Tenant, endpoint: Id, [first, last]: [Id; 2]) -> Partition {
    let pk = delivery_answer(tenant, endpoint, first, Timestamp::UNIX_EPOCH).pk;
    Partition::section(pk, &padded(first), &format!("{}~", padded(last)))
}

/// The acts that were begun in the lists of a role, or in those over all roles.
pub(super) fn bulk_acts(tenant: Tenant, role: Option<Id>) -> Partition {
    let Key { pk, sk: last } = bulk_act(tenant, role, Id::LAST);
    let list = last.split('#').next().unwrap_or_default();
    Partition::section(pk, &format!("{list}#"), &last)
}

/// The search index of all candidates.
pub(super) fn words(tenant: Tenant) -> Partition {
    Partition::EventuallyConsistent(format!("{tenant}#WORD"))
}

/// The hash that stands for a label in keys.
pub(super) fn label(label: &Label) -> String {
    hashed(&label.folded())
}

/// The lists by label of all applications for a role.
pub(super) fn labelled_applications(tenant: Tenant, role: Id) -> Partition {
    Partition::EventuallyConsistent(labelled(tenant, role, "", Id::LAST).pk)
}

/// The place of an application in the lists by label, from its place in one of them; it can also be empty, or have a letter that
/// sorts after all.
pub(super) fn labelled_position(label: &str, position: &str) -> String {
    format!("{label}#{position}")
}

/// A list of the candidates who have something in common.
#[derive(Clone, Debug)]
pub(super) struct CandidateGroup(String);

impl CandidateGroup {
    pub(super) fn of_phone(tenant: Tenant, phone: &Phone) -> Self {
        Self(format!("{tenant}#PHONE#{}", hashed(phone.as_str())))
    }

    pub(super) fn of_mailbox(tenant: Tenant, mailbox: &str) -> Self {
        Self(format!("{tenant}#MAILBOX#{}", hashed(mailbox)))
    }

    pub(super) fn of_source(tenant: Tenant, source: &CaseFolded) -> Self {
        Self(format!("{tenant}#CANDIDATE_SOURCE#{}", hashed(source.as_str())))
    }

    pub(super) fn of_tag(tenant: Tenant, tag: &CaseFolded) -> Self {
        Self(format!("{tenant}#TAG#{}", hashed(tag.as_str())))
    }

    pub(super) fn partition(self) -> Partition {
        Partition::EventuallyConsistent(self.0)
    }

    /// The partition, read consistently.
    pub(super) fn current(self) -> Partition {
        Partition::Table(self.0)
    }

    pub(super) fn entry(self, candidate: Id) -> Key {
        Key { pk: self.0, sk: padded(candidate) }
    }
}

/// The candidates who were ever hired, or all others, by the start of their retention period.
pub(super) fn retention_starts(tenant: Tenant, ever_hired: bool) -> Partition {
    Partition::EventuallyConsistent(retention_start(tenant, ever_hired, Timestamp::UNIX_EPOCH, Id::LAST).pk)
}

/// A range key that sorts after all retention periods that begin at `time` and before all later ones.
pub(super) fn retention_starts_after(time: Timestamp) -> String {
    format!("{}~", sortable(time))
}

/// The shard of the audit log for an entry.
pub(super) const fn audit_shard(entry: Id) -> u64 {
    entry.get() % AUDIT_SHARDS
}

/// The range key of an entry of the audit log.
pub(super) fn audit_position(at: Timestamp, id: Id) -> String {
    format!("{}{}", sortable(at), padded(id))
}

/// The suspect forms of a network, or all.
pub(super) fn suspects(tenant: Tenant, network: Option<&str>) -> Partition {
    match network {
        None => all_suspects(tenant),
        Some(network) => Partition::Filtered(suspect_filter(tenant, network)),
    }
}

pub(super) fn screens(tenant: Tenant, role: Option<Id>, state: Option<StatusOrResult>) -> Partition {
    match (state, role) {
        (None, None) => all_screens(tenant),
        (None, Some(role)) => role_screens(tenant, role),
        (Some(StatusOrResult::Status(status)), _) => {
            Partition::Filtered(screens_in(tenant, role, status.as_str()))
        }
        (Some(StatusOrResult::Result(result)), _) => {
            Partition::ByStatus(screens_in(tenant, role, result.as_str()))
        }
    }
}

/// The filter of the screens in a status or with a result: those for one role, or all.
pub(super) fn screens_in(tenant: Tenant, role: Option<Id>, state: &str) -> String {
    match role {
        None => screen_filter(tenant, state),
        Some(role) => role_screen_filter(tenant, role, state),
    }
}

/// The part of a screen's partition without the record.
pub(super) fn screen_extras(tenant: Tenant, id: Id) -> Partition {
    Partition::section(screen_record(tenant, id).pk, START, BEFORE_RECORD)
}

/// The claim of a member who has accepted the invitation on the e-mail address. Claims from before an address could be in
/// several organizations have another range key, and nothing moves them.
pub(super) fn claim_of(organization: Id, member: &Member) -> Key {
    let claim = member_email(&member.email, organization);
    match member.accepted_at {
        Some(_) => claim,
        None => Key { sk: "EMAIL".to_owned(), ..claim },
    }
}

/// The shard of the registry that has an organization.
pub(super) const fn registry_shard(organization: Id) -> u64 {
    organization.get() % REGISTRY_SHARDS
}

/// The partition with everything about a voice screen.
pub(super) fn screen_partition(tenant: Tenant, id: Id) -> Partition {
    Partition::Table(screen_record(tenant, id).pk)
}

/// A partition of the tasks of all tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskPartition {
    group: u8,
    part: u8,
}

impl TaskPartition {
    /// All partitions.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TASK_GROUPS).flat_map(|group| (0..TASK_PARTS).map(move |part| Self { group, part }))
    }

    /// The partition with this key.
    pub fn parse(pk: &str) -> Option<Self> {
        let (group, part) = pk.strip_prefix("TASK#")?.split_once('#')?;
        let partition = Self { group: group.parse().ok()?, part: part.parse().ok()? };
        let exists = partition.group < TASK_GROUPS && partition.part < TASK_PARTS;
        // Other texts have the same numbers, such as with a sign.
        (exists && partition.key() == pk).then_some(partition)
    }

    /// The partitions of a tenant's tasks.
    pub fn of(tenant: Tenant) -> impl Iterator<Item = Self> {
        let group = group_of(tenant);
        (0..TASK_PARTS).map(move |part| Self { group, part })
    }

    /// The partition of a task about something with this identifier.
    fn of_task(tenant: Tenant, id: Id) -> Self {
        let [part, ..] = id.get().to_le_bytes();
        Self { group: group_of(tenant), part: part % TASK_PARTS }
    }

    pub(super) fn key(self) -> String {
        format!("TASK#{:02}#{}", self.group, self.part)
    }

    pub(super) fn tasks(self) -> Partition {
        Partition::Table(self.key())
    }
}

fn group_of(tenant: Tenant) -> u8 {
    Sha256::digest(tenant.to_string())[0] % TASK_GROUPS
}

/// A partition of the changes of all tenants that are not in their feeds yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutboxPartition(u8);

impl OutboxPartition {
    /// All partitions.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).map(Self)
    }

    /// The two partitions of a tenant's changes.
    pub fn of(tenant: Tenant) -> [Self; 2] {
        let group = Sha256::digest(tenant.to_string())[0];
        [Self(group), Self(group ^ 0x80)]
    }

    /// The partition of a new change with this range key. Reading never depends on it, so it may be chosen otherwise one day.
    fn of_new(tenant: Tenant, sk: &str) -> Self {
        let [one, other] = Self::of(tenant);
        if Sha256::digest(sk)[0].is_multiple_of(2) { one } else { other }
    }

    pub(super) fn key(self) -> String {
        format!("OUTBOX#{:03}", self.0)
    }

    pub(super) fn items(self) -> Partition {
        Partition::Table(self.key())
    }
}

/// The changes of a transaction. They sort by the time in milliseconds, which grows with the versions of every subject. So no
/// two transactions in which the same subject comes first have the same key.
pub(super) fn outbox_item(tenant: Tenant, time: i64, first: Subject) -> Key {
    let subject = format!("{}#{}", first.kind.as_str(), first.id.map_or(0, Id::get));
    let sk = format!("{}{time:015}#{subject}", outbox_of(tenant));
    Key { pk: OutboxPartition::of_new(tenant, &sk).key(), sk }
}

/// The beginning of the range keys of a tenant's changes in its partitions of the outbox.
pub(super) fn outbox_of(tenant: Tenant) -> String {
    format!("{tenant}#")
}

/// A range key that sorts after all changes of a tenant in a partition of the outbox, and before those of other tenants.
pub(super) fn outbox_after(tenant: Tenant) -> String {
    format!("{tenant}#~")
}

/// The tenant of an item of the outbox, by its range key.
pub(super) fn outbox_tenant(range: &str) -> Option<Tenant> {
    let mut parts = range.split('#');
    let (organization, mode) = (parts.next()?, parts.next()?);
    Some(Tenant { organization: organization.parse().ok()?, mode: mode.parse().ok()? })
}

/// The place of an event in the feed.
pub(super) fn event_position(seq: u64) -> String {
    format!("{seq:016}")
}

/// The tasks of an hour are sorted by tenant, so that a reader can skip the rest of one tenant's tasks.
pub(super) fn task(due: Timestamp, tenant: Tenant, kind: &str, id: Id) -> Key {
    let sk = format!("{}#{}#{kind}#{}", tasks_of(due, tenant), sortable(due), padded(id));
    Key { pk: TaskPartition::of_task(tenant, id).key(), sk }
}

/// The beginning of the range keys of a tenant's tasks that are due in the same hour as `due`.
fn tasks_of(due: Timestamp, tenant: Tenant) -> String {
    format!("{:012}#{tenant}", due.as_second().max(0) / 3_600 * 3_600)
}

impl Key {
    /// Whether this is the key of a task.
    pub(super) fn is_of_task(&self) -> bool {
        self.pk.starts_with("TASK#")
    }
}

/// A range key that sorts after the tasks of a tenant in the same hour, and before those of all other tenants after it.
pub(super) fn tasks_after(due: Timestamp, tenant: Tenant) -> String {
    format!("{}$", tasks_of(due, tenant))
}

/// A range key that sorts after all tasks that are due in the hour of `time`, and before all later ones.
pub(super) fn tasks_until(time: Timestamp) -> String {
    format!("{:012}~", time.as_second().max(0) / 3_600 * 3_600)
}

/// A partition of the progress of webhook endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebhookPartition(u8);

impl WebhookPartition {
    const NUMBER: u8 = 16;

    /// All partitions.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::NUMBER).map(Self)
    }

    fn of(tenant: Tenant) -> Self {
        Self(Sha256::digest(tenant.to_string())[0] % Self::NUMBER)
    }

    fn key(self) -> String {
        format!("WEBHOOK#{:02}", self.0)
    }

    pub(super) fn progress(self) -> Partition {
        Partition::Table(self.key())
    }
}

pub(super) fn endpoint_progress(tenant: Tenant, endpoint: Id) -> Key {
    Key { pk: WebhookPartition::of(tenant).key(), sk: format!("{}{}", progress_of(tenant), padded(endpoint)) }
}

/// The partition and the beginning of the range keys of the progress of a tenant's endpoints.
pub(super) fn progress_of_all(tenant: Tenant) -> (Partition, String) {
    (WebhookPartition::of(tenant).progress(), progress_of(tenant))
}

fn progress_of(tenant: Tenant) -> String {
    format!("{tenant}#")
}

/// The place of an item that could not be read.
pub(super) fn quarantined(old: &Key) -> Key {
    Key { pk: format!("QUARANTINE#{}", old.pk), sk: old.sk.clone() }
}

/// All items that could not be read, or those of a tenant.
pub(super) fn quarantine(tenant: Option<Tenant>) -> Partition {
    match tenant {
        None => Partition::Filtered(QUARANTINE.to_owned()),
        Some(tenant) => Partition::ByStatus(quarantine_of(tenant)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;
    use proptest::prelude::*;

    fn live(organization: u64) -> Tenant {
        Tenant { organization: Id::new(organization).unwrap(), mode: Mode::Live }
    }

    #[test]
    fn tasks_are_in_the_order_of_their_hours_and_then_of_their_tenants() {
        let at = |time: &str| time.parse::<Timestamp>().unwrap();
        let (early, late, next) =
            (at("2026-11-20T09:00:00Z"), at("2026-11-20T09:59:59Z"), at("2026-11-20T10:00:00Z"));
        assert!(tasks_of(late, live(1)) < tasks_after(early, live(1)));
        assert!(tasks_after(early, live(1)) < tasks_of(early, live(10)));
        assert!(tasks_of(late, live(99)) < tasks_until(early) && tasks_until(late) < tasks_of(next, live(1)));
    }

    #[test]
    fn retention_periods_are_in_the_order_of_their_starts() {
        let since = |second| Timestamp::from_second(second).unwrap();
        let start = |second| retention_start(live(1), false, since(second), Id::LAST).sk;
        assert!(start(5) < retention_starts_after(since(5)) && retention_starts_after(since(5)) < start(6));
    }

    #[test]
    fn the_progress_of_a_tenant_is_told_from_that_of_others() {
        let endpoint = endpoint_progress(live(1), Id::new(7).unwrap());
        let of = |organization| endpoint.sk.starts_with(&progress_of_all(live(organization)).1);
        assert_eq!([1, 11, 2].map(of), [true, false, false]);
    }

    #[test]
    fn only_the_key_of_a_task_partition_is_one() {
        for partition in TaskPartition::all() {
            assert_eq!(TaskPartition::parse(&partition.key()), Some(partition));
        }
        let beyond =
            [(TASK_GROUPS, 0), (0, TASK_PARTS)].map(|(group, part)| TaskPartition { group, part }.key());
        for text in
            beyond.iter().map(String::as_str).chain(["TASK#+1#0", "TASK#1#0", "TASK#01#+0", "TASK#", "01#0"])
        {
            assert_eq!(TaskPartition::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn padded_ids_sort_as_numbers(a in 1..=Id::MAX, b in 1..=Id::MAX) {
            let text = |n| padded(Id::new(n).unwrap());
            prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
        }

        /// This holds for any idempotency key and any external id that a client chooses.
        #[test]
        fn keys_of_different_tenants_differ(a in 1..=Id::MAX, b in 1..=Id::MAX, chosen in "[!-~]{1,40}") {
            let tenants: Vec<_> = [a, b].into_iter().flat_map(|organization| {
                let organization = Id::new(organization).unwrap();
                Mode::ALL.map(|mode| Tenant { organization, mode })
            }).collect();
            for (i, one) in tenants.iter().enumerate() {
                for other in &tenants[i + 1..] {
                    if one == other { continue; }
                    let prefix = format!("{other}#");
                    prop_assert!(!receipt(*one, &chosen, "POST /x").pk.starts_with(&prefix));
                    let external = ExternalId::parse(&chosen).unwrap().unwrap();
                    prop_assert!(!external_id(*one, &external).pk.starts_with(&prefix));
                    prop_assert!(!gate(*one).pk.starts_with(&prefix));
                    prop_assert!(!role(*one, Id::new(1).unwrap()).pk.starts_with(&prefix));
                    prop_assert!(!email(*one, &"a@example.com".parse().unwrap()).pk.starts_with(&prefix));
                }
            }
        }
    }
}
