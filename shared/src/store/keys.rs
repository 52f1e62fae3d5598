//! The keys of the single table. No other module builds keys.
//!
//! | Entity | `pk` | `sk` | `filter` |
//! |---|---|---|---|
//! | gate: organization in one mode, hashes of its API keys and access tokens, today's counter | `{tenant}#GATE` | `GATE` | |
//! | organization's name and settings | `{tenant}#PROFILE` | `PROFILE` | |
//! | shard of the gate's counter | `{tenant}#GATE#{shard}` | `GATE` | |
//! | API key, as shown to members | `{tenant}#KEY` | id | |
//! | requests of a finished day | `{tenant}#USAGE` | date | |
//! | receipt of an idempotent request | `{tenant}#RECEIPT#{hash of the idempotency key}` | route | |
//! | role | `{tenant}#ROLE` | id | `{tenant}#ROLE#{status}` |
//! | role's counters | `{tenant}#ROLE_STATS` | role id | |
//! | shard of the counters of stages of all roles | `{tenant}#HIRING_STATS` | `~STAGES#{shard}` | |
//! | people who were added in a week with a source | `{tenant}#HIRING_STATS` | `WEEK#{Monday}#{shard}#{source}` | |
//! | job posting | `{tenant}#POSTING` | id | `{tenant}#POSTING#{published or unpublished}` |
//! | job posting of a role | `{tenant}#ROLE_POSTING` | role id | |
//! | posting's slug | `{tenant}#SLUG` | slug | |
//! | opening: posting in the career page's list | `{tenant}#OPENING` | public since, then id | |
//! | candidate's record: candidate, applications, open screens, consents that count; of an erased candidate, what is kept | `{tenant}#CANDIDATE#{id}` | `~FILE` | |
//! | touchpoint | `{tenant}#CANDIDATE#{id}` | `HISTORY#{record's version}#{number}` | |
//! | consent of a candidate | `{tenant}#CANDIDATE#{id}` | `CONSENT#{id}` | |
//! | file that came with a submitted form | `{tenant}#CANDIDATE#{id}` | `FILE#{id}` | |
//! | submitted form | `{tenant}#CANDIDATE#{id}` | `FORM#{id}` | |
//! | note about a candidate | `{tenant}#CANDIDATE_NOTE#{candidate id}` | id | |
//! | trace: leads from a candidate to a receipt or an expected upload | `{tenant}#CANDIDATE_TRACE#{candidate id}` | kind, then what identifies the item | |
//! | erased candidate | `{tenant}#ERASED` | id | |
//! | candidate whose erasure is not finished | `{tenant}#ERASED` | `~{id}` | |
//! | legal hold on a candidate | `{tenant}#LEGAL_HOLD` | candidate id | |
//! | candidate in lists | `{tenant}#CANDIDATE` | id | `{tenant}#CANDIDATE#{stage}` |
//! | application in lists | `{tenant}#APPLICATION` | id | `{tenant}#APPLICATION#{stage}` |
//! | application in a role's lists | `{tenant}#ROLE_APPLICATION#{role id}` | id | `{tenant}#ROLE_APPLICATION#{role id}#{stage}` |
//! | applicant of a role | `{tenant}#APPLICANT#{role id}` | candidate id | `{tenant}#APPLICANT#{role id}#{stage}` |
//! | applicant of a role with a score, in a stage | `{tenant}#SCORED#{role id}#{stage}` | score, then application id | |
//! | applicant of a role who has applied again since the last move | `{tenant}#REAPPLIED#{role id}` | application id | |
//! | candidate's e-mail address | `{tenant}#EMAIL#{hash of the address in its normal form}` | `EMAIL` | |
//! | word of a candidate in the search index | `{tenant}#WORD` | word, then newest candidate first | |
//! | candidate with a phone number | `{tenant}#PHONE#{hash of the phone number}` | candidate id | |
//! | candidate with a Gmail mailbox | `{tenant}#MAILBOX#{hash of the mailbox}` | candidate id | |
//! | candidate from a source | `{tenant}#CANDIDATE_SOURCE#{hash of the case-folded source}` | candidate id | |
//! | candidate with a tag | `{tenant}#TAG#{hash of the case-folded tag}` | candidate id | |
//! | candidate's external id | `{tenant}#EXTERNAL_ID#{hash of the external id}` | `EXTERNAL_ID` | |
//! | start of a candidate's retention period | `{tenant}#RETENTION#{hired or others}` | start, then candidate id | |
//! | expected upload of a resume | `{tenant}#UPLOAD#{ticket's hash}` | `UPLOAD` | |
//! | voice screen's record: screen, highlights, red flags, call | `{tenant}#SCREEN#{id}` | `~FILE` | |
//! | part of a transcript | `{tenant}#SCREEN#{id}` | `TRANSCRIPT#{part}` | |
//! | voice screen in lists | `{tenant}#SCREEN` | id | `{tenant}#SCREEN#{status}` |
//! | voice screen in a role's lists | `{tenant}#ROLE_SCREEN#{role id}` | id | `{tenant}#ROLE_SCREEN#{role id}#{status}` |
//! | voice screen on the candidate's page | `{tenant}#CANDIDATE#{candidate id}` | `SCREEN#{id}` | |
//! | suspect form of an applicant | `{tenant}#SUSPECT` | id | `{tenant}#SUSPECT#{hash of the network}` |
//! | expected upload of a resume with a suspect form | `{tenant}#UPLOAD#{ticket's hash}` | `SUSPECT` | |
//! | organization's own text on its privacy page | `{tenant}#PRIVACY` | `PRIVACY` | |
//! | logo of the career site | `{tenant}#LOGO` | `LOGO` | |
//! | connection of a channel | `{tenant}#CHANNEL` | `x` or `whatsapp` | |
//! | number of posts on a day | `{tenant}#CHANNEL` | `x#{date}` | |
//! | post to X | `{tenant}#POST` | id | |
//! | webhook endpoint | `{tenant}#WEBHOOK` | id | |
//! | delivery to a webhook endpoint | `{tenant}#DELIVERY#{endpoint id}` | id | |
//! | due attempt of a delivery | `{tenant}#DELIVERY_DUE#{endpoint id}` | new or replayed, then due time and delivery id | |
//! | progress of a webhook endpoint, 16 partitions | `WEBHOOK#{tenant's hash}` | tenant, then endpoint id | |
//! | number of webhook endpoints | `{tenant}#SETTING` | `webhook_endpoints` | |
//! | retention rule | `{tenant}#SETTING` | `retention` | |
//! | whether members need a second factor | `{organization}#live#SETTING` | `second_factor` | |
//! | countries that may be called | `{tenant}#SETTING` | `calls` | |
//! | entry of the audit log | `{tenant}#AUDIT#{date}#{shard}` | time, then id | `{tenant}#AUDIT_ACTOR#{actor}#{month}#{shard}` |
//! | organization registry, 16 partitions | `ORGANIZATION#{shard}` | id | |
//! | what is kept of a deleted organization | `DELETED_ORGANIZATION` | id | |
//! | organization's slug: a career site | `ORGANIZATION_SLUG#{slug}` | `SLUG` | |
//! | member | `{organization}#live#MEMBER` | id | |
//! | session of a member | `{organization}#live#SESSION#{member id}` | hash | |
//! | security notice for a member | `{organization}#live#NOTICE#{member id}` | id | |
//! | e-mail address of a member who has accepted the invitation | `MEMBER_EMAIL#{hash of the address in its normal form}` | `EMAIL` | |
//! | ceremony of a passkey: the challenge that a browser has yet to answer | `PASSKEY_CEREMONY#{hash}` | `CEREMONY` | |
//! | attempts to sign in, to register, to apply or to call in a time window | `ATTEMPTS#{hash of the subject}` | end of the window | |
//! | call of an assistant that a member has to confirm | `{tenant}#CONFIRMATION` | `CALL#{hash of the call}` | |
//! | answered question of an assistant | `{tenant}#CONFIRMATION` | `USED#{question}` | |
//! | grant to an application | `{tenant}#GRANT` | id | |
//! | registered OAuth client | `OAUTH_CLIENT#{hash of the client id}` | `CLIENT` | |
//! | OAuth client with a metadata document | `OAUTH_DOCUMENT#{hash of the URL}` | `DOCUMENT` | |
//! | task, 256 partitions: the tenant's group, and a part of its tasks | `TASK#{group}#{part}` | hour when it is due, then tenant, due time, kind and id | |
//! | changes of a transaction, until the feed has them, 256 partitions | `OUTBOX#{tenant's hash}` | tenant, then time and first subject | |
//! | head of the change feed | `{tenant}#EVENT_HEAD` | `HEAD` | |
//! | event of the change feed | `{tenant}#EVENT` | number in the feed | |
//! | item that could not be read, with its old key | `QUARANTINE#{pk}` | `sk` | `QUARANTINE` |
//!
//! `{tenant}` is `{organization id}#{live or test}`, so the keys of different tenants differ. Ids are padded to 16
//! digits, so they sort by time. A partition key contains no text that somebody chose, only a hash of it: the functions'
//! permissions are patterns of partition keys, such as `*#GATE`, and no chosen text can match one of another kind. `~` sorts after all letters, so the record comes first when its partition is read
//! backwards.
//!
//! The index `filtered` (hash key `filter`, range key `sk`, all attributes) contains the lists of items in one state.
//! The index `by_status` (hash key `status_filter`) contains the lists of applications with one status, whose `filter` is
//! for their stage, of voice screens with one result, whose `filter` is for their status, of entries of the audit log
//! with one action, whose `filter` is for their actor, and of suspect forms with one e-mail address, whose `filter` is for
//! their network. Both indexes are eventually consistent. Single items and unfiltered lists are read consistently from the table, except openings,
//! searches for candidates and retention periods, which use eventually consistent reads at half the price.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::id::Id;
use crate::model::{
    ApplicationStatus, AuditAction, AuditActorTerm, CaseFolded, Day, Email, ExternalId, IndexPosition, Mode,
    Phone, RetentionStart, RoleStatus, ScreenResult, ScreenStatus, Slug, Stage, Subject, Tenant,
};

/// The attribute of the table's hash key.
pub(super) const PK: &str = "pk";
/// The attribute of the range key, in the table and in the index.
pub(super) const SK: &str = "sk";
/// The attribute of the index's hash key.
pub(super) const FILTER: &str = "filter";
/// The name of that index.
pub(super) const FILTERED: &str = "filtered";
/// The attribute of the second index's hash key.
pub(super) const STATUS_FILTER: &str = "status_filter";
/// The name of the second index.
pub(super) const BY_STATUS: &str = "by_status";
/// The attribute of the entries of an application with which somebody applied again. The others lack it.
pub(super) const REAPPLIED: &str = "reapplied";
/// The attribute with the request that caused a task.
pub(super) const CAUSED_BY: &str = "caused_by";
/// The attribute with the time after which DynamoDB deletes an item (TTL, in epoch seconds).
pub(super) const EXPIRES_AT: &str = "expires_at";

/// The range key of a record.
pub(super) const RECORD: &str = "~FILE";
/// The prefix of the range keys of consents. It sorts before everything that a candidate's page shows.
pub(super) const CONSENT: &str = "CONSENT#";
/// A range key that sorts after all consents.
const CONSENT_END: &str = "CONSENT#~";
/// The prefix of the range keys of files that came with submitted forms. It sorts after consents and before submitted forms.
pub(super) const FILE: &str = "FILE#";
/// The prefix of the range keys of submitted forms. It sorts before everything that a candidate's page shows.
pub(super) const SUBMISSION: &str = "FORM#";
/// A range key that sorts after all submitted forms.
const SUBMISSION_END: &str = "FORM#~";
/// The prefix of the range keys of touchpoints.
pub(super) const HISTORY: &str = "HISTORY#";
/// A range key that sorts after all touchpoints.
const HISTORY_END: &str = "HISTORY#~";
/// The prefix of the range keys of the screens on a candidate's page.
pub(super) const SCREEN: &str = "SCREEN#";
/// A range key that sorts after all screens on a candidate's page.
const SCREEN_END: &str = "SCREEN#~";
/// A range key that sorts before all others, which are visible ASCII characters.
const START: &str = "!";
/// A range key that sorts before records and unfinished erasures, and after everything else.
const BEFORE_RECORD: &str = "~";
/// A range key that sorts after all others.
pub(super) const END: &str = "~~";
/// The prefix of the range keys of a transcript's parts.
pub(super) const TRANSCRIPT: &str = "TRANSCRIPT#";

/// The filter of all items in quarantine.
pub(super) const QUARANTINE: &str = "QUARANTINE";
/// The prefix of the range keys of the counters of new people.
const NEW_PEOPLE: &str = "WEEK#";

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

/// The primary key of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) pk: String,
    pub(super) sk: String,
}

impl Key {
    pub(super) fn attributes(self) -> HashMap<String, AttributeValue> {
        HashMap::from([
            (PK.to_owned(), AttributeValue::S(self.pk)),
            (SK.to_owned(), AttributeValue::S(self.sk)),
        ])
    }
}

/// The source of a list: the table (with consistent reads, or with eventually consistent reads at half the price) or
/// the index.
pub(super) enum Partition {
    Table(String),
    /// The range keys from one to another of a partition of the table, read consistently.
    Section {
        pk: String,
        from: &'static str,
        to: &'static str,
    },
    EventuallyConsistent(String),
    Filtered(String),
    ByStatus(String),
}

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

pub(super) fn padded(id: Id) -> String {
    format!("{:016}", id.get())
}

/// The hash that stands for a chosen text in a partition key: 128 bits of SHA-256 in base64url.
fn hashed(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(text)[..16])
}

pub(super) fn gate(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#GATE"), sk: "GATE".to_owned() }
}

pub(super) fn profile(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#PROFILE"), sk: "PROFILE".to_owned() }
}

pub(super) fn gate_shard(tenant: Tenant, shard: u64) -> Key {
    Key { pk: format!("{tenant}#GATE#{shard}"), sk: "GATE".to_owned() }
}

pub(super) fn api_keys(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#KEY"))
}

pub(super) fn api_key(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#KEY"), sk: padded(id) }
}

pub(super) fn usage(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#USAGE"))
}

pub(super) fn usage_day(tenant: Tenant, day: Day) -> Key {
    Key { pk: format!("{tenant}#USAGE"), sk: day.to_string() }
}

pub(super) fn receipt(tenant: Tenant, route: &str, idempotency_key: &str) -> Key {
    Key { pk: format!("{tenant}#RECEIPT#{}", hashed(idempotency_key)), sk: route.to_owned() }
}

pub(super) fn roles(tenant: Tenant, status: Option<RoleStatus>) -> Partition {
    match status {
        None => Partition::Table(format!("{tenant}#ROLE")),
        Some(status) => Partition::Filtered(role_filter(tenant, status)),
    }
}

pub(super) fn role(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#ROLE"), sk: padded(id) }
}

pub(super) fn role_filter(tenant: Tenant, status: RoleStatus) -> String {
    format!("{tenant}#ROLE#{}", status.as_str())
}

pub(super) fn role_stats(tenant: Tenant, role: Id) -> Key {
    Key { pk: format!("{tenant}#ROLE_STATS"), sk: padded(role) }
}

pub(super) fn hiring_stats(tenant: Tenant) -> Partition {
    Partition::EventuallyConsistent(format!("{tenant}#HIRING_STATS"))
}

pub(super) fn stage_counters(tenant: Tenant, shard: u64) -> Key {
    Key { pk: format!("{tenant}#HIRING_STATS"), sk: format!("~STAGES#{shard}") }
}

pub(super) fn new_people(tenant: Tenant, monday: Day, shard: u64, source: &str) -> Key {
    Key { pk: format!("{tenant}#HIRING_STATS"), sk: format!("{NEW_PEOPLE}{monday}#{shard}#{source}") }
}

/// The Monday and the source of a counter of new people, by its range key; `None` for the other counters.
pub(super) fn read_new_people(range: &str) -> Option<(Day, &str)> {
    let (monday, counter) = range.strip_prefix(NEW_PEOPLE)?.split_once('#')?;
    let (_, source) = counter.split_once('#')?;
    Some((monday.parse().ok()?, source))
}

pub(super) fn postings(tenant: Tenant, published: Option<bool>) -> Partition {
    match published {
        None => Partition::Table(format!("{tenant}#POSTING")),
        Some(published) => Partition::Filtered(posting_filter(tenant, published)),
    }
}

pub(super) fn posting(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#POSTING"), sk: padded(id) }
}

pub(super) fn role_posting(tenant: Tenant, role: Id) -> Key {
    Key { pk: format!("{tenant}#ROLE_POSTING"), sk: padded(role) }
}

pub(super) fn posting_filter(tenant: Tenant, published: bool) -> String {
    format!("{tenant}#POSTING#{}", if published { "published" } else { "unpublished" })
}

pub(super) fn posting_slug(tenant: Tenant, slug: &Slug) -> Key {
    Key { pk: format!("{tenant}#SLUG"), sk: slug.to_string() }
}

pub(super) fn openings(tenant: Tenant) -> Partition {
    Partition::EventuallyConsistent(format!("{tenant}#OPENING"))
}

pub(super) fn opening(tenant: Tenant, since: Timestamp, id: Id) -> Key {
    Key { pk: format!("{tenant}#OPENING"), sk: opening_position(since, id) }
}

pub(super) fn opening_position(since: Timestamp, id: Id) -> String {
    format!("{}{}", sortable(since), padded(id))
}

pub(super) fn candidates(tenant: Tenant, role: Option<Id>, stage: Option<Stage>) -> Partition {
    match (role, stage) {
        (None, None) => Partition::Table(format!("{tenant}#CANDIDATE")),
        (None, Some(stage)) => Partition::Filtered(candidate_filter(tenant, stage)),
        (Some(role), None) => Partition::Table(format!("{tenant}#APPLICANT#{}", padded(role))),
        (Some(role), Some(stage)) => Partition::Filtered(applicant_filter(tenant, role, stage)),
    }
}

pub(super) fn candidate(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#CANDIDATE"), sk: padded(id) }
}

pub(super) fn candidate_filter(tenant: Tenant, stage: Stage) -> String {
    format!("{tenant}#CANDIDATE#{}", stage.as_str())
}

pub(super) fn applications(tenant: Tenant, role: Option<Id>, state: Option<StageOrStatus>) -> Partition {
    match (role, state) {
        (None, None) => Partition::Table(format!("{tenant}#APPLICATION")),
        (Some(role), None) => Partition::Table(format!("{tenant}#ROLE_APPLICATION#{}", padded(role))),
        (role, Some(StageOrStatus::Stage(stage))) => {
            Partition::Filtered(application_filter(tenant, role, stage.as_str()))
        }
        (role, Some(StageOrStatus::Status(status))) => {
            Partition::ByStatus(application_filter(tenant, role, status.as_str()))
        }
    }
}

pub(super) fn application(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#APPLICATION"), sk: padded(id) }
}

pub(super) fn role_application(tenant: Tenant, role: Id, id: Id) -> Key {
    Key { pk: format!("{tenant}#ROLE_APPLICATION#{}", padded(role)), sk: padded(id) }
}

/// The filter of the applications in a stage or with a status: those of one role, or all.
pub(super) fn application_filter(tenant: Tenant, role: Option<Id>, state: &str) -> String {
    match role {
        None => format!("{tenant}#APPLICATION#{state}"),
        Some(role) => format!("{tenant}#ROLE_APPLICATION#{}#{state}", padded(role)),
    }
}

pub(super) fn applicant(tenant: Tenant, role: Id, candidate: Id) -> Key {
    Key { pk: format!("{tenant}#APPLICANT#{}", padded(role)), sk: padded(candidate) }
}

pub(super) fn applicant_filter(tenant: Tenant, role: Id, stage: Stage) -> String {
    format!("{tenant}#APPLICANT#{}#{}", padded(role), stage.as_str())
}

/// The applicants of a role in a stage who have a score.
pub(super) fn scored_applicants(tenant: Tenant, role: Id, stage: Stage) -> Partition {
    Partition::Table(scored_list(tenant, role, stage))
}

pub(super) fn scored_applicant(tenant: Tenant, role: Id, stage: Stage, score: u8, application: Id) -> Key {
    Key { pk: scored_list(tenant, role, stage), sk: score_position(score, application) }
}

/// The place of an application in the lists by score.
pub fn score_position(score: u8, application: Id) -> String {
    format!("{}#{}", least_score(score), padded(application))
}

/// A range key that sorts before all applications with at least this score, and after all others.
pub(super) fn least_score(score: u8) -> String {
    format!("{score:03}")
}

/// The applicants of a role who have applied again since their applications last moved.
pub(super) fn reapplied_applicants(tenant: Tenant, role: Id) -> Partition {
    Partition::Table(reapplied_applicant(tenant, role, Id::LAST).pk)
}

pub(super) fn reapplied_applicant(tenant: Tenant, role: Id, application: Id) -> Key {
    Key { pk: format!("{tenant}#REAPPLIED#{}", padded(role)), sk: padded(application) }
}

fn scored_list(tenant: Tenant, role: Id, stage: Stage) -> String {
    format!("{tenant}#SCORED#{}#{}", padded(role), stage.as_str())
}

/// The partition with everything about a candidate.
pub(super) fn candidate_partition(tenant: Tenant, id: Id) -> Partition {
    Partition::Table(format!("{tenant}#CANDIDATE#{}", padded(id)))
}

/// The part of this partition with the touchpoints, the screens and the record.
pub(super) fn candidate_page(tenant: Tenant, id: Id) -> Partition {
    Partition::Section { pk: candidate_record(tenant, id).pk, from: HISTORY, to: RECORD }
}

/// The part of this partition with the screens and the record.
pub(super) fn candidate_screens_and_record(tenant: Tenant, id: Id) -> Partition {
    Partition::Section { pk: candidate_record(tenant, id).pk, from: SCREEN, to: RECORD }
}

/// The part of this partition with the touchpoints.
pub(super) fn candidate_history(tenant: Tenant, id: Id) -> Partition {
    Partition::Section { pk: candidate_record(tenant, id).pk, from: HISTORY, to: HISTORY_END }
}

pub(super) fn candidate_record(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#CANDIDATE#{}", padded(id)), sk: RECORD.to_owned() }
}

/// Touchpoints sort by the record's version. Times are not reliable, because clocks may differ.
pub(super) fn touchpoint(tenant: Tenant, candidate: Id, version: u64, number: usize) -> Key {
    let sk = format!("{HISTORY}{version:012}#{number:02}");
    Key { pk: format!("{tenant}#CANDIDATE#{}", padded(candidate)), sk }
}

/// A range key that sorts after all touchpoints of this version of the record and before all later ones.
pub(super) fn history_after(version: u64) -> String {
    format!("{HISTORY}{version:012}~")
}

/// The part of a candidate's partition with the consents.
pub(super) fn candidate_consents(tenant: Tenant, candidate: Id) -> Partition {
    Partition::Section { pk: candidate_record(tenant, candidate).pk, from: CONSENT, to: CONSENT_END }
}

pub(super) fn consent(tenant: Tenant, candidate: Id, id: Id) -> Key {
    Key { pk: format!("{tenant}#CANDIDATE#{}", padded(candidate)), sk: format!("{CONSENT}{}", padded(id)) }
}

/// The part of a candidate's partition with the submitted forms and their files.
pub(super) fn submissions_and_files(tenant: Tenant, candidate: Id) -> Partition {
    Partition::Section { pk: candidate_record(tenant, candidate).pk, from: FILE, to: SUBMISSION_END }
}

pub(super) fn submission(tenant: Tenant, candidate: Id, id: Id) -> Key {
    Key { pk: candidate_record(tenant, candidate).pk, sk: format!("{SUBMISSION}{}", padded(id)) }
}

pub(super) fn submitted_file(tenant: Tenant, candidate: Id, id: Id) -> Key {
    Key { pk: candidate_record(tenant, candidate).pk, sk: format!("{FILE}{}", padded(id)) }
}

pub(super) fn notes(tenant: Tenant, candidate: Id) -> Partition {
    Partition::Table(format!("{tenant}#CANDIDATE_NOTE#{}", padded(candidate)))
}

pub(super) fn note(tenant: Tenant, candidate: Id, id: Id) -> Key {
    Key { pk: format!("{tenant}#CANDIDATE_NOTE#{}", padded(candidate)), sk: padded(id) }
}

pub(super) fn candidate_screen(tenant: Tenant, candidate: Id, id: Id) -> Key {
    Key { pk: format!("{tenant}#CANDIDATE#{}", padded(candidate)), sk: format!("{SCREEN}{}", padded(id)) }
}

/// The two parts of a candidate's partition before and after the screens, without the record.
pub(super) fn candidate_extras(tenant: Tenant, candidate: Id) -> [Partition; 2] {
    let part = |from, to| Partition::Section { pk: candidate_record(tenant, candidate).pk, from, to };
    [part(START, SCREEN), part(SCREEN_END, BEFORE_RECORD)]
}

/// The items that lead from a candidate to receipts and expected uploads.
pub(super) fn traces(tenant: Tenant, candidate: Id) -> Partition {
    Partition::Table(format!("{tenant}#CANDIDATE_TRACE#{}", padded(candidate)))
}

pub(super) fn receipt_trace(tenant: Tenant, candidate: Id, route: &str, idempotency_key: &str) -> Key {
    let pk = format!("{tenant}#CANDIDATE_TRACE#{}", padded(candidate));
    Key { pk, sk: format!("RECEIPT#{route}#{idempotency_key}") }
}

pub(super) fn upload_trace(tenant: Tenant, candidate: Id, hash: &str) -> Key {
    let pk = format!("{tenant}#CANDIDATE_TRACE#{}", padded(candidate));
    Key { pk, sk: format!("UPLOAD#{hash}") }
}

/// The tenant's erased candidates.
pub(super) fn erased(tenant: Tenant) -> Partition {
    Partition::Section { pk: format!("{tenant}#ERASED"), from: START, to: BEFORE_RECORD }
}

pub(super) fn erased_candidate(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#ERASED"), sk: padded(id) }
}

/// The tenant's erased candidates whose erasure is not finished.
pub(super) fn unfinished_erasures(tenant: Tenant) -> Partition {
    Partition::Section { pk: format!("{tenant}#ERASED"), from: BEFORE_RECORD, to: END }
}

pub(super) fn unfinished_erasure(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#ERASED"), sk: format!("~{}", padded(id)) }
}

pub(super) fn legal_holds(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#LEGAL_HOLD"))
}

pub(super) fn legal_hold(tenant: Tenant, candidate: Id) -> Key {
    Key { pk: format!("{tenant}#LEGAL_HOLD"), sk: padded(candidate) }
}

/// The part of a candidate's partition with the screens.
pub(super) fn candidate_screens(tenant: Tenant, candidate: Id) -> Partition {
    Partition::Section { pk: candidate_record(tenant, candidate).pk, from: SCREEN, to: SCREEN_END }
}

pub(super) fn email(tenant: Tenant, email: &Email) -> Key {
    Key { pk: format!("{tenant}#EMAIL#{}", hashed(&email.normalized())), sk: "EMAIL".to_owned() }
}

/// The search index of all candidates.
pub(super) fn words(tenant: Tenant) -> Partition {
    Partition::EventuallyConsistent(format!("{tenant}#WORD"))
}

pub(super) fn word(tenant: Tenant, position: IndexPosition<'_>) -> Key {
    Key { pk: format!("{tenant}#WORD"), sk: position.to_string() }
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

    pub(super) fn entry(self, candidate: Id) -> Key {
        Key { pk: self.0, sk: padded(candidate) }
    }
}

pub(super) fn external_id(tenant: Tenant, id: &ExternalId) -> Key {
    Key { pk: format!("{tenant}#EXTERNAL_ID#{}", hashed(id.as_str())), sk: "EXTERNAL_ID".to_owned() }
}

/// The candidates who were ever hired, or all others, by the start of their retention period.
pub(super) fn retention_starts(tenant: Tenant, ever_hired: bool) -> Partition {
    Partition::EventuallyConsistent(retention_group(tenant, ever_hired))
}

pub(super) fn retention_start(tenant: Tenant, start: &RetentionStart, candidate: Id) -> Key {
    let sk = format!("{}#{}", sortable(start.since), padded(candidate));
    Key { pk: retention_group(tenant, start.ever_hired), sk }
}

fn retention_group(tenant: Tenant, ever_hired: bool) -> String {
    format!("{tenant}#RETENTION#{}", if ever_hired { "hired" } else { "others" })
}

/// A range key that sorts after all retention periods that begin at `time` and before all later ones.
pub(super) fn retention_starts_after(time: Timestamp) -> String {
    format!("{}~", sortable(time))
}

pub(super) fn retention_setting(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#SETTING"), sk: "retention".to_owned() }
}

pub(super) fn second_factor_setting(organization: Id) -> Key {
    Key { pk: format!("{}#SETTING", live(organization)), sk: "second_factor".to_owned() }
}

pub(super) fn call_setting(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#SETTING"), sk: "calls".to_owned() }
}

/// The shard of the audit log for an entry.
pub(super) const fn audit_shard(entry: Id) -> u64 {
    entry.get() % AUDIT_SHARDS
}

/// A shard of a day (`2026-11-20`) of the audit log.
pub(super) fn audit_day(tenant: Tenant, day: &str, shard: u64) -> String {
    format!("{tenant}#AUDIT#{day}#{shard}")
}

/// A shard of an actor's entries in a month (`2026-11`) of the audit log.
pub(super) fn audit_actor(tenant: Tenant, actor: AuditActorTerm, month: &str, shard: u64) -> String {
    format!("{tenant}#AUDIT_ACTOR#{actor}#{month}#{shard}")
}

/// A shard of the entries with an action in a month (`2026-11`) of the audit log.
pub(super) fn audit_action(tenant: Tenant, action: AuditAction, month: &str, shard: u64) -> String {
    format!("{tenant}#AUDIT_ACTION#{}#{month}#{shard}", action.as_str())
}

/// The range key of an entry of the audit log.
pub(super) fn audit_position(at: Timestamp, id: Id) -> String {
    format!("{}{}", sortable(at), padded(id))
}

pub(super) fn upload(tenant: Tenant, hash: &str) -> Key {
    Key { pk: format!("{tenant}#UPLOAD#{hash}"), sk: "UPLOAD".to_owned() }
}

/// The upload that the ticket with this hash allows after a suspect form.
pub(super) fn suspect_upload(tenant: Tenant, hash: &str) -> Key {
    Key { pk: format!("{tenant}#UPLOAD#{hash}"), sk: "SUSPECT".to_owned() }
}

/// The suspect forms of a network, or all.
pub(super) fn suspects(tenant: Tenant, network: Option<&str>) -> Partition {
    match network {
        None => Partition::Table(format!("{tenant}#SUSPECT")),
        Some(network) => Partition::Filtered(suspect_filter(tenant, network)),
    }
}

pub(super) fn suspect(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#SUSPECT"), sk: padded(id) }
}

pub(super) fn suspect_filter(tenant: Tenant, network: &str) -> String {
    format!("{tenant}#SUSPECT#{}", hashed(network))
}

/// The filter of the suspect forms with an e-mail address.
pub(super) fn suspects_with_email(tenant: Tenant, email: &Email) -> String {
    format!("{tenant}#SUSPECT_EMAIL#{}", hashed(&email.normalized()))
}

pub(super) fn screens(tenant: Tenant, role: Option<Id>, state: Option<StatusOrResult>) -> Partition {
    match (role, state) {
        (None, None) => Partition::Table(format!("{tenant}#SCREEN")),
        (Some(role), None) => Partition::Table(format!("{tenant}#ROLE_SCREEN#{}", padded(role))),
        (role, Some(StatusOrResult::Status(status))) => {
            Partition::Filtered(screen_filter(tenant, role, status.as_str()))
        }
        (role, Some(StatusOrResult::Result(result))) => {
            Partition::ByStatus(screen_filter(tenant, role, result.as_str()))
        }
    }
}

pub(super) fn screen(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#SCREEN"), sk: padded(id) }
}

/// The filter of the screens in a status or with a result: those for one role, or all.
pub(super) fn screen_filter(tenant: Tenant, role: Option<Id>, state: &str) -> String {
    match role {
        None => format!("{tenant}#SCREEN#{state}"),
        Some(role) => format!("{tenant}#ROLE_SCREEN#{}#{state}", padded(role)),
    }
}

pub(super) fn role_screen(tenant: Tenant, role: Id, id: Id) -> Key {
    Key { pk: format!("{tenant}#ROLE_SCREEN#{}", padded(role)), sk: padded(id) }
}

/// The partition with everything about a voice screen.
pub(super) fn screen_partition(tenant: Tenant, id: Id) -> Partition {
    Partition::Table(format!("{tenant}#SCREEN#{}", padded(id)))
}

/// The part of this partition without the record.
pub(super) fn screen_extras(tenant: Tenant, id: Id) -> Partition {
    Partition::Section { pk: screen_record(tenant, id).pk, from: START, to: BEFORE_RECORD }
}

pub(super) fn screen_record(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#SCREEN#{}", padded(id)), sk: RECORD.to_owned() }
}

/// A transcript has at most 10,000 parts.
pub(super) fn transcript_part(tenant: Tenant, screen: Id, part: usize) -> Key {
    Key { pk: format!("{tenant}#SCREEN#{}", padded(screen)), sk: format!("{TRANSCRIPT}{part:04}") }
}

pub(super) fn privacy_text(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#PRIVACY"), sk: "PRIVACY".to_owned() }
}

pub(super) fn logo(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#LOGO"), sk: "LOGO".to_owned() }
}

pub(super) fn x_connection(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#CHANNEL"), sk: "x".to_owned() }
}

pub(super) fn whatsapp_connection(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#CHANNEL"), sk: "whatsapp".to_owned() }
}

pub(super) fn x_usage(tenant: Tenant, day: Day) -> Key {
    Key { pk: format!("{tenant}#CHANNEL"), sk: format!("x#{day}") }
}

pub(super) fn posts(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#POST"))
}

pub(super) fn post(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#POST"), sk: padded(id) }
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

    /// The partition of a tenant's changes.
    pub fn of(tenant: Tenant) -> Self {
        Self(Sha256::digest(tenant.to_string())[0])
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
    Key { pk: OutboxPartition::of(tenant).key(), sk: format!("{}{time:015}#{subject}", outbox_of(tenant)) }
}

/// The beginning of the range keys of a tenant's changes in its partition of the outbox.
pub(super) fn outbox_of(tenant: Tenant) -> String {
    format!("{tenant}#")
}

/// A range key that sorts after all changes of a tenant in its partition of the outbox, and before those of other tenants.
pub(super) fn outbox_after(tenant: Tenant) -> String {
    format!("{tenant}#~")
}

/// The tenant of an item of the outbox, by its range key.
pub(super) fn outbox_tenant(range: &str) -> Option<Tenant> {
    let mut parts = range.split('#');
    let (organization, mode) = (parts.next()?, parts.next()?);
    Some(Tenant { organization: organization.parse().ok()?, mode: mode.parse().ok()? })
}

pub(super) fn feed_head(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#EVENT_HEAD"), sk: "HEAD".to_owned() }
}

pub(super) fn events(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#EVENT"))
}

pub(super) fn event(tenant: Tenant, seq: u64) -> Key {
    Key { pk: format!("{tenant}#EVENT"), sk: event_position(seq) }
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

pub(super) fn webhook_endpoints(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#WEBHOOK"))
}

pub(super) fn webhook_endpoint(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#WEBHOOK"), sk: padded(id) }
}

/// The number of the tenant's webhook endpoints.
pub(super) fn webhook_endpoint_count(tenant: Tenant) -> Key {
    Key { pk: format!("{tenant}#SETTING"), sk: "webhook_endpoints".to_owned() }
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

pub(super) fn deliveries(tenant: Tenant, endpoint: Id) -> Partition {
    Partition::Table(format!("{tenant}#DELIVERY#{}", padded(endpoint)))
}

pub(super) fn delivery(tenant: Tenant, endpoint: Id, id: Id) -> Key {
    Key { pk: format!("{tenant}#DELIVERY#{}", padded(endpoint)), sk: padded(id) }
}

pub(super) fn due_deliveries(tenant: Tenant, endpoint: Id) -> Partition {
    Partition::Table(format!("{tenant}#DELIVERY_DUE#{}", padded(endpoint)))
}

/// Attempts sort by queue, then by due time in milliseconds.
pub(super) fn due_delivery(tenant: Tenant, endpoint: Id, queue: &str, due: Timestamp, id: Id) -> Key {
    let sk = format!("{queue}#{:015}#{}", due.as_millisecond().max(0), padded(id));
    Key { pk: format!("{tenant}#DELIVERY_DUE#{}", padded(endpoint)), sk }
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

pub(super) fn quarantine_of(tenant: Tenant) -> String {
    format!("{tenant}#QUARANTINE")
}

/// Formats a time as a string that sorts by time.
pub(super) fn sortable(time: Timestamp) -> String {
    format!("{:012}", time.as_second().max(0))
}

pub(super) fn members(organization: Id) -> Partition {
    Partition::Table(format!("{}#MEMBER", live(organization)))
}

pub(super) fn member(organization: Id, id: Id) -> Key {
    Key { pk: format!("{}#MEMBER", live(organization)), sk: padded(id) }
}

pub(super) fn sessions(organization: Id, member: Id) -> Partition {
    Partition::Table(format!("{}#SESSION#{}", live(organization), padded(member)))
}

pub(super) fn session(organization: Id, member: Id, hash: &str) -> Key {
    Key { pk: format!("{}#SESSION#{}", live(organization), padded(member)), sk: hash.to_owned() }
}

pub(super) fn notices(organization: Id, member: Id) -> Partition {
    Partition::Table(format!("{}#NOTICE#{}", live(organization), padded(member)))
}

pub(super) fn notice(organization: Id, member: Id, id: Id) -> Key {
    Key { pk: format!("{}#NOTICE#{}", live(organization), padded(member)), sk: padded(id) }
}

/// The organization's live tenant. Members belong to it, even while they look at test data.
const fn live(organization: Id) -> Tenant {
    Tenant { organization, mode: Mode::Live }
}

pub(super) fn member_email(email: &Email) -> Key {
    Key { pk: format!("MEMBER_EMAIL#{}", hashed(&email.normalized())), sk: "EMAIL".to_owned() }
}

pub(super) fn confirmation(tenant: Tenant, hash: &str) -> Key {
    Key { pk: format!("{tenant}#CONFIRMATION"), sk: format!("CALL#{hash}") }
}

pub(super) fn used_confirmation(tenant: Tenant, question: &str) -> Key {
    Key { pk: format!("{tenant}#CONFIRMATION"), sk: format!("USED#{question}") }
}

pub(super) fn passkey_ceremony(hash: &str) -> Key {
    Key { pk: format!("PASSKEY_CEREMONY#{hash}"), sk: "CEREMONY".to_owned() }
}

pub(super) fn attempts(subject: &str, ends_at: i64) -> Key {
    Key { pk: format!("ATTEMPTS#{}", hashed(subject)), sk: ends_at.to_string() }
}

pub(super) fn grants(tenant: Tenant) -> Partition {
    Partition::Table(format!("{tenant}#GRANT"))
}

pub(super) fn grant(tenant: Tenant, id: Id) -> Key {
    Key { pk: format!("{tenant}#GRANT"), sk: padded(id) }
}

pub(super) fn client(id: &str) -> Key {
    Key { pk: format!("OAUTH_CLIENT#{}", hashed(id)), sk: "CLIENT".to_owned() }
}

pub(super) fn client_document(url: &str) -> Key {
    Key { pk: format!("OAUTH_DOCUMENT#{}", hashed(url)), sk: "DOCUMENT".to_owned() }
}

pub(super) fn registry(shard: u64) -> Partition {
    Partition::Table(format!("ORGANIZATION#{shard:02}"))
}

pub(super) fn registered(organization: Id) -> Key {
    Key { pk: format!("ORGANIZATION#{:02}", organization.get() % REGISTRY_SHARDS), sk: padded(organization) }
}

pub(super) fn deleted_organization(id: Id) -> Key {
    Key { pk: "DELETED_ORGANIZATION".to_owned(), sk: padded(id) }
}

/// The tenant's partitions that lead to no other items. The role's counters and the postings' slugs are among them,
/// because each kind has one partition.
pub(super) fn simple_partitions(tenant: Tenant) -> impl Iterator<Item = Partition> {
    let kinds = [
        "KEY",
        "USAGE",
        "ROLE_STATS",
        "HIRING_STATS",
        "POSTING",
        "ROLE_POSTING",
        "SUSPECT",
        "SLUG",
        "OPENING",
        "APPLICATION",
        "PRIVACY",
        "LOGO",
        "CHANNEL",
        "POST",
        "GRANT",
        "CONFIRMATION",
        "LEGAL_HOLD",
        "RETENTION#hired",
        "RETENTION#others",
        "SETTING",
        "EVENT",
        "EVENT_HEAD",
    ];
    kinds.into_iter().map(move |kind| Partition::Table(format!("{tenant}#{kind}")))
}

pub(super) fn organization_slug(slug: &Slug) -> Key {
    Key { pk: format!("ORGANIZATION_SLUG#{slug}"), sk: "SLUG".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let start = |second| {
            let start = RetentionStart { since: since(second), ever_hired: false, grace_until: None };
            retention_start(live(1), &start, Id::new(Id::MAX).unwrap()).sk
        };
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
                    prop_assert!(!receipt(*one, "POST /x", &chosen).pk.starts_with(&prefix));
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
