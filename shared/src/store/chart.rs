//! The chart of the table: one row for each kind of item.
//!
//! A row has the name and the type of the kind, its partition key and its range key, its keys in the indexes, and its owner.
//! `keys.rs` makes the functions that build the keys from it, and `kinds.rs` what deletion, erasure, export, verification and
//! the chart in the documents follow. `{tenant}` is `{organization id}#{live or test}`, so the keys of different tenants differ.
//! Ids are padded to 16 digits, so they sort by time. A partition key contains no text that somebody chose, only a hash of it:
//! the functions' permissions are patterns of partition keys, such as `*#GATE`, and no chosen text can match one of another
//! kind.

use super::StoreError;
use super::item::Item;
use super::partition::padded;
use crate::id::Id;
use crate::model::{Stage, Tenant};

/// Gives the rows to a macro.
///
/// A row is `name: Type, "pk"(parameters) as list, "sk"(parameters), ..., of Owner;`. The function `name` builds a key. The
/// function `list` returns the partition, or the part of a partition with the fixed beginning of the range key. A parameter can
/// have an expression that is written in its place. Rows without parameters have builders of their own in `keys.rs`.
///
/// Each of the two macros matches a whole row. One that did it for both would have to hand on every part, and they would match
/// those: as many lines, with a form of its own between.
macro_rules! rows {
    ($make:ident) => {
        $make! {
            /// gate: organization in one mode, hashes of its API keys and access tokens, today's counter
            gate: Organization, "{tenant}#GATE"(tenant: Tenant), "GATE"(), of Others;
            /// organization's name and settings
            profile: Profile, "{tenant}#PROFILE"(tenant: Tenant), "PROFILE"(), of Others;
            /// shard of the gate's counter
            gate_shard: counters, "{tenant}#GATE#{shard}"(tenant: Tenant, shard: u64), "GATE"(), of Others;
            /// API key, as shown to members
            api_key: ApiKey, "{tenant}#KEY"(tenant: Tenant) as api_keys, "{id:016}"(id: Id), of Tenant;
            /// requests of a finished day
            usage_day: UsageDay, "{tenant}#USAGE"(tenant: Tenant) as usage, "{day}"(day: Day), of Tenant;
            /// receipt of an idempotent request, by the hash of its idempotency key
            receipt: Receipt, "{tenant}#RECEIPT#{hash}"(tenant: Tenant, hash: &str = hashed(hash)), "{route}"(route: &str),
                 of Others, and expires;
            /// role
            role: Role, "{tenant}#ROLE"(tenant: Tenant) as all_roles, "{id:016}"(id: Id),
                filter "{tenant}#ROLE#{status}"(tenant: Tenant, status: RoleStatus = status.as_str()) as role_filter,
                of Tenant, leads to Role;
            /// role's counters
            role_stats: role_stats, "{tenant}#ROLE_STATS"(tenant: Tenant) as all_role_stats, "{role:016}"(role: Id), of Tenant;
            /// role's external id, by its hash
            role_external_id: Reference, "{tenant}#ROLE_EXTERNAL_ID"(tenant: Tenant),
                "{hash}"(hash: &ExternalId = hashed(hash.as_str())), of Tenant;
            /// change of a role that the copies in applications do not have yet
            role_change: RoleChange, "{tenant}#ROLE_CHANGE"(tenant: Tenant) as role_changes, "{role:016}"(role: Id), of Tenant;
            /// shard of the counters of stages of all roles
            stage_counters: counters, "{tenant}#HIRING_STATS"(tenant: Tenant), "{shard}"(shard: u64), of Tenant;
            /// people who were added in a week, which begins on a Monday, with a source
            new_people: counters, "{tenant}#NEW_PEOPLE"(tenant: Tenant),
                "{monday}#{shard}#{source}"(monday: Day, shard: u64, source: &str), of Tenant, and expires;
            /// job posting
            posting: Posting, "{tenant}#POSTING"(tenant: Tenant) as all_postings, "{id:016}"(id: Id),
                filter "{tenant}#POSTING#{state}"
                    (tenant: Tenant, state: bool = if state { "published" } else { "unpublished" }) as posting_filter,
                of Tenant;
            /// job posting of a role
            role_posting: Posting, "{tenant}#ROLE_POSTING"(tenant: Tenant), "{role:016}"(role: Id), of Tenant;
            /// posting's slug
            posting_slug: PostingSlug, "{tenant}#SLUG"(tenant: Tenant), "{slug}"(slug: &Slug), of Tenant;
            /// opening: posting in the career page's list, by the time since when it is public
            opening: Opening, "{tenant}#OPENING"(tenant: Tenant),
                "{since}{id:016}"(since: Timestamp = sortable(since), id: Id), of Tenant;
            /// candidate's record: candidate, first application, open screens, consents that count; of an erased candidate, what is
            /// kept
            candidate_record: candidate_record, "{tenant}#CANDIDATE#{candidate:016}"(tenant: Tenant, candidate: Id), "~FILE"(),
                of Candidate;
            /// further application of a candidate, beside the record; of one that was removed, the times it was written
            candidate_application: candidate_application, "{tenant}#CANDIDATE#{candidate:016}"(tenant: Tenant, candidate: Id),
                "~APPLICATION#{id:016}"(id: Id), of Candidate;
            /// touchpoints of a change, by the version of the candidate's record, because clocks may differ
            touchpoints: Touchpoints, "{tenant}#CANDIDATE#{candidate:016}"(tenant: Tenant, candidate: Id) as candidate_history,
                "HISTORY#{version:012}"(version: u64), of Candidate;
            /// consent of a candidate
            consent: Consent, "{tenant}#CANDIDATE#{candidate:016}"(tenant: Tenant, candidate: Id) as candidate_consents,
                "CONSENT#{id:016}"(id: Id), of Candidate;
            /// answers of an application
            application_answers: Answers, "{tenant}#CANDIDATE#{candidate:016}"(tenant: Tenant, candidate: Id) as candidate_answers,
                "ANSWERS#{application:016}"(application: Id), of Candidate;
            /// file of a candidate, whose content is in the bucket
            file: CandidateFile, "{tenant}#CANDIDATE#{candidate:016}"(tenant: Tenant, candidate: Id) as candidate_files,
                "FILE#{id:016}"(id: Id), of Candidate;
            /// submitted form
            submission: Submission, "{tenant}#CANDIDATE#{candidate:016}"(tenant: Tenant, candidate: Id),
                "FORM#{id:016}"(id: Id), of Candidate;
            /// voice screen on the candidate's page
            candidate_screen: Screen, "{tenant}#CANDIDATE#{candidate:016}"(tenant: Tenant, candidate: Id) as candidate_screens,
                "SCREEN#{id:016}"(id: Id), of Candidate;
            /// note about a candidate
            note: Note, "{tenant}#CANDIDATE_NOTE#{candidate:016}"(tenant: Tenant, candidate: Id) as notes, "{id:016}"(id: Id),
                of Candidate;
            /// trace: leads from a candidate to a receipt, an expected upload, a file that nobody has, a question of an assistant, an
            /// answer of a webhook endpoint, or suspect forms with a former e-mail address
            trace: Trace, "{tenant}#CANDIDATE_TRACE#{candidate:016}"(tenant: Tenant, candidate: Id) as traces,
                "{target}"(target: String), of Candidate;
            /// candidate whose erasure is not finished
            unfinished_erasure: Reference, "{tenant}#ERASED"(tenant: Tenant) as unfinished_erasures, "~{id:016}"(id: Id), of Tenant;
            /// erased candidate
            erased_candidate: Erasure, "{tenant}#ERASED"(tenant: Tenant), "{id:016}"(id: Id), of Tenant, leads to Candidate;
            /// legal hold on a candidate
            legal_hold: Reference, "{tenant}#LEGAL_HOLD"(tenant: Tenant) as legal_holds, "{candidate:016}"(candidate: Id), of Tenant;
            /// candidate in lists
            candidate: Candidate, "{tenant}#CANDIDATE"(tenant: Tenant) as all_candidates, "{id:016}"(id: Id),
                filter "{tenant}#CANDIDATE#{stage}"(tenant: Tenant, stage: Stage = stage.as_str()) as candidate_filter,
                of Tenant, leads to Candidate;
            /// candidate whose import is not finished, who is in no list
            unfinished_candidate: Candidate, "{tenant}#UNFINISHED_CANDIDATE"(tenant: Tenant), "{id:016}"(id: Id),
                of Tenant, leads to Candidate;
            /// application in lists
            application: Entry, "{tenant}#APPLICATION"(tenant: Tenant) as all_applications, "{id:016}"(id: Id),
                filter "{tenant}#APPLICATION#{state}"(tenant: Tenant, state: &str) as application_filter,
                status_filter "{tenant}#APPLICATION#{status}", of Tenant;
            /// application in a role's lists
            role_application: role_entry, "{tenant}#ROLE_APPLICATION#{role:016}"(tenant: Tenant, role: Id) as role_applications,
                "{id:016}"(id: Id),
                filter "{tenant}#ROLE_APPLICATION#{role:016}#{state}"(tenant: Tenant, role: Id, state: &str) as role_application_filter,
                status_filter "{tenant}#ROLE_APPLICATION#{role:016}#{status}", of Role;
            /// applicant of a role with a score, in a stage, by the score
            scored_applicant: ScoredApplicant,
                "{tenant}#SCORED#{role:016}#{stage}"(tenant: Tenant, role: Id, stage: Stage = stage.as_str()) as scored_applicants,
                "{score:03}#{application:016}"(score: u8, application: Id), of Role;
            /// applicant of a role who has applied again since the last move
            reapplied_applicant: Applicant, "{tenant}#REAPPLIED#{role:016}"(tenant: Tenant, role: Id) as reapplied_applicants,
                "{application:016}"(application: Id), of Role;
            /// applicant of a role whose completed voice screen is to be decided about
            screened_applicant: Applicant, "{tenant}#SCREENED#{role:016}"(tenant: Tenant, role: Id) as screened_applicants,
                "{application:016}"(application: Id), of Role;
            /// application for a role with a label, by the hash of the label: a source, a tag, or the reason for which it ended
            labelled: Labelled, "{tenant}#LABELLED#{role:016}"(tenant: Tenant, role: Id),
                "{label}#{application:016}"(label: &str, application: Id), of Role;
            /// what a member does to several people at once, without the people; by the role in whose list it was begun, if it was
            /// in one
            bulk_act: BulkAct, "{tenant}#BULK"(tenant: Tenant),
                "{list}#{id:016}"(list: Option<Id> = list.map_or_else(|| ALL_ROLES.to_owned(), padded), id: Id),
                of Tenant, and expires;
            /// some of the people in such an act
            bulk_part: BulkPart, "{tenant}#BULK_PART"(tenant: Tenant) as bulk_parts,
                "{act:016}#{number:04}"(act: Id, number: u32), of Tenant, and expires;
            /// candidate's e-mail address, by the hash of its normal form
            email: Reference, "{tenant}#EMAIL#{hash}"(tenant: Tenant, hash: &Email = hashed(&hash.normalized())), "EMAIL"(),
                of Others;
            /// word of a candidate in the search index, newest candidate first
            word: WordEntry, "{tenant}#WORD"(tenant: Tenant), "{word_and_candidate}"(word_and_candidate: IndexPosition<'_>),
                of Tenant;
            /// words and labels that a candidate had, until their entries are deleted
            former_words: FormerWords, "{tenant}#FORMER_WORDS"(tenant: Tenant), "{candidate:016}"(candidate: Id), of Tenant;
            /// candidate with a phone number, by its hash
            phone: Reference, "{tenant}#PHONE#{hash}", "{candidate:016}", of Others;
            /// candidate with a Gmail mailbox, by its hash
            mailbox: Reference, "{tenant}#MAILBOX#{hash}", "{candidate:016}", of Others;
            /// candidate from a source, by the hash of the case-folded source
            source: Reference, "{tenant}#CANDIDATE_SOURCE#{hash}", "{candidate:016}", of Others;
            /// candidate with a tag, by the hash of the case-folded tag
            tag: Reference, "{tenant}#TAG#{hash}", "{candidate:016}", of Others;
            /// candidate's external id, by its hash
            external_id: Reference, "{tenant}#EXTERNAL_ID#{hash}"(tenant: Tenant, hash: &ExternalId = hashed(hash.as_str())),
                "EXTERNAL_ID"(), of Others;
            /// start of a candidate's retention period: of those who were ever hired, or of all others
            retention_start: DuePerson, "{tenant}#RETENTION#{hired_or_others}"
                (tenant: Tenant, hired_or_others: bool = if hired_or_others { "hired" } else { "others" }),
                "{start}#{candidate:016}"(start: Timestamp = sortable(start), candidate: Id), of Tenant;
            /// expected upload of a resume and of files that answer questions, by the hash of their ticket
            upload: Upload, "{tenant}#UPLOAD#{ticket}"(tenant: Tenant, ticket: &str), "UPLOAD"(), of Others, and expires;
            /// expected upload of a resume with a suspect form, by the hash of its ticket
            suspect_upload: SuspectUpload, "{tenant}#UPLOAD#{ticket}"(tenant: Tenant, ticket: &str), "SUSPECT"(), of Others, and expires;
            /// suspect form of an applicant, and the hashes of its network and of its e-mail address
            suspect_form: SuspectForm, "{tenant}#SUSPECT"(tenant: Tenant) as all_suspects, "{id:016}"(id: Id),
                filter "{tenant}#SUSPECT#{network}"(tenant: Tenant, network: &str = hashed(network)) as suspect_filter,
                status_filter "{tenant}#SUSPECT_EMAIL#{email}"(tenant: Tenant, email: &Email = hashed(&email.normalized()))
                    as suspects_with_email,
                 of Tenant, and expires;
            /// voice screen's record: screen, highlights, red flags, call
            screen_record: ScreenRecord, "{tenant}#SCREEN#{screen:016}"(tenant: Tenant, screen: Id), "~FILE"(), of Screen;
            /// part of a transcript, of at most 10,000
            transcript_part: bytes, "{tenant}#SCREEN#{screen:016}"(tenant: Tenant, screen: Id), "TRANSCRIPT#{part:04}"(part: usize),
                of Screen;
            /// voice screen in lists
            screen: Screen, "{tenant}#SCREEN"(tenant: Tenant) as all_screens, "{id:016}"(id: Id),
                filter "{tenant}#SCREEN#{state}"(tenant: Tenant, state: &str) as screen_filter,
                status_filter "{tenant}#SCREEN#{result}", of Tenant, leads to Screen;
            /// voice screen in a role's lists
            role_screen: Screen, "{tenant}#ROLE_SCREEN#{role:016}"(tenant: Tenant, role: Id) as role_screens, "{id:016}"(id: Id),
                filter "{tenant}#ROLE_SCREEN#{role:016}#{state}"(tenant: Tenant, role: Id, state: &str) as role_screen_filter,
                status_filter "{tenant}#ROLE_SCREEN#{role:016}#{result}", of Role;
            /// organization's own text on its privacy page
            privacy_text: Privacy, "{tenant}#PRIVACY"(tenant: Tenant), "PRIVACY"(), of Tenant;
            /// logo of the career site
            logo: Stored, "{tenant}#LOGO"(tenant: Tenant), "LOGO"(), of Tenant;
            /// connection of an account on X
            x_connection: XConnection, "{tenant}#CHANNEL"(tenant: Tenant), "x"(), of Tenant;
            /// connection of WhatsApp
            whatsapp_connection: WhatsAppConnection, "{tenant}#CHANNEL"(tenant: Tenant), "whatsapp"(), of Tenant;
            /// number of posts to X on a day
            x_usage: counters, "{tenant}#CHANNEL"(tenant: Tenant), "x#{day}"(day: Day), of Tenant, and expires;
            /// post to X
            post: Post, "{tenant}#POST"(tenant: Tenant) as posts, "{id:016}"(id: Id), of Tenant;
            /// retention rule
            retention_setting: RetentionSetting, "{tenant}#SETTING"(tenant: Tenant), "retention"(), of Tenant;
            /// number of webhook endpoints
            webhook_endpoint_count: counters, "{tenant}#SETTING"(tenant: Tenant), "webhook_endpoints"(), of Tenant;
            /// whether members need a second factor, in live mode
            second_factor_setting: SecondFactorSetting, "{tenant}#SETTING"(tenant: Id = live(tenant)), "second_factor"(), of Tenant;
            /// list of the reasons for which applications end
            rejection_reasons: RejectionReasons, "{tenant}#SETTING"(tenant: Tenant), "rejection_reasons"(), of Tenant;
            /// lists of candidates that the team has saved
            saved_views: SavedViews, "{tenant}#VIEWS"(tenant: Tenant), "VIEWS"(), of Tenant;
            /// import of people
            import: Import, "{tenant}#IMPORT"(tenant: Tenant) as imports, "{id:016}"(id: Id), of Tenant;
            /// part of the rows of an import, and what became of them
            import_part: ImportPart, "{tenant}#IMPORT_PART"(tenant: Tenant) as import_parts,
                "{import:016}#{number:06}"(import: Id, number: u32), of Tenant, and expires;
            /// what a row of an import has made
            imported_row: ImportedRow, "{tenant}#IMPORT_ROW"(tenant: Tenant) as imported_rows,
                "{import:016}#{row:08}"(import: Id, row: u64), of Tenant, and expires;
            /// unfinished imports, and the number of rows that were run on a day
            import_use: ImportUse, "{tenant}#IMPORT_USE"(tenant: Tenant), "USE"(), of Tenant;
            /// export of the organization's data
            export: Export, "{tenant}#EXPORT"(tenant: Tenant) as all_exports, "{id:016}"(id: Id), of Tenant;
            /// exports that are being written or kept, and the number that began on a day
            export_use: ExportUse, "{tenant}#EXPORT_USE"(tenant: Tenant), "USE"(), of Tenant;
            /// countries that may be called
            call_setting: CallSetting, "{tenant}#SETTING"(tenant: Tenant), "calls"(), of Tenant;
            /// how often applications were connected or narrowed, in live mode
            connections: counters, "{tenant}#CONNECTED"(tenant: Id = live(tenant)), "connections"(), of Tenant;
            /// redirect target whose applications may only read, in live mode
            narrowed_site: NarrowedSite, "{tenant}#CONNECTED"(tenant: Id = live(tenant)) as narrowed_sites,
                "narrowed#{hash}"(hash: &str = hashed(hash)), of Tenant;
            /// webhook endpoint
            webhook_endpoint: WebhookEndpoint, "{tenant}#WEBHOOK"(tenant: Tenant) as webhook_endpoints, "{id:016}"(id: Id),
                of Tenant, leads to Endpoint;
            /// progress of a webhook endpoint, in 16 partitions: a part of the hash of its tenant
            endpoint_progress: EndpointProgress, "WEBHOOK#{group}", "{tenant}#{endpoint:016}", of Others;
            /// delivery to a webhook endpoint
            delivery: Delivery, "{tenant}#DELIVERY#{endpoint:016}"(tenant: Tenant, endpoint: Id) as deliveries, "{id:016}"(id: Id),
                 of Endpoint, and expires;
            /// answer of a webhook endpoint to a failed attempt of a delivery, by the time of the attempt
            delivery_answer: Answer, "{tenant}#ANSWER#{endpoint:016}"(tenant: Tenant, endpoint: Id),
                "{delivery:016}#{at}"(delivery: Id, at: Timestamp = sortable(at)), of Endpoint, and expires;
            /// due attempt of a delivery: new or replayed, by the time when it is due
            due_delivery: DueAttempt, "{tenant}#DELIVERY_DUE#{endpoint:016}"(tenant: Tenant, endpoint: Id) as due_deliveries,
                "{queue}#{due:015}#{id:016}"(queue: &str, due: Timestamp = due.as_millisecond().max(0), id: Id), of Endpoint, and expires;
            /// entry of the audit log, by day, time and id; its actor and its action, by month
            audit_entry: AuditEntry, "{tenant}#AUDIT#{day}#{shard}"(tenant: Tenant, day: &str, shard: u64) as audit_day,
                "{position}"(position: &str),
                filter "{tenant}#AUDIT_ACTOR#{actor}#{month}#{shard}"
                    (tenant: Tenant, actor: AuditActorTerm, month: &str, shard: u64) as audit_actor,
                status_filter "{tenant}#AUDIT_ACTION#{action}#{month}#{shard}"
                    (tenant: Tenant, action: AuditAction = action.as_str(), month: &str, shard: u64) as audit_action,
                 of Others, and expires;
            /// member, in live mode
            member: Member, "{tenant}#MEMBER"(tenant: Id = live(tenant)) as members, "{id:016}"(id: Id), of Tenant, leads to Member;
            /// session of a member, in live mode, by its hash
            session: Session, "{tenant}#SESSION#{member:016}"(tenant: Id = live(tenant), member: Id) as sessions,
                "{hash}"(hash: &str), of Member, and expires;
            /// notice for a member, in live mode
            notice: Notice, "{tenant}#NOTICE#{member:016}"(tenant: Id = live(tenant), member: Id) as notices,
                "{id:016}"(id: Id), of Member, and expires;
            /// notice for all owners, in live mode
            owners_notice: OwnersNotice, "{tenant}#OWNERS_NOTICE"(tenant: Id = live(tenant)) as owners_notices,
                "{id:016}"(id: Id), of Tenant, and expires;
            /// call of an assistant that a member has to confirm, by its hash
            confirmation: Confirmation, "{tenant}#CONFIRMATION"(tenant: Tenant), "CALL#{hash}"(hash: &str), of Tenant, and expires;
            /// answered question of an assistant
            used_confirmation: counters, "{tenant}#CONFIRMATION"(tenant: Tenant), "USED#{question}"(question: &str),
                 of Tenant, and expires;
            /// grant to an application
            grant: Grant, "{tenant}#GRANT"(tenant: Tenant) as grants, "{id:016}"(id: Id), of Tenant;
            /// head of the change feed
            feed_head: FeedHead, "{tenant}#EVENT_HEAD"(tenant: Tenant), "HEAD"(), of Tenant;
            /// event of the change feed, by its number
            event: Event, "{tenant}#EVENT"(tenant: Tenant) as events, "{number:016}"(number: u64), of Tenant;
            /// changes of a transaction, until the feed has them, in 256 partitions: two of them, by the hash of the tenant, and one
            /// of these, by the hash of the range key
            outbox_entry: OutboxEntry, "OUTBOX#{group}", "{tenant}#{time}#{first_subject}", of Others;
            /// task, in 256 partitions: a part of the hash of its tenant, and a part of its tasks; by the hour when it is due
            task: Task, "TASK#{group}#{part}", "{hour}#{tenant}#{due}#{kind}#{id}", of Others;
            /// organization registry, in 16 partitions
            registered: Registered, "ORGANIZATION#{shard:02}"(shard: u64) as registry, "{id:016}"(id: Id), of Others;
            /// what is kept of a deleted organization
            deleted_organization: DeletedOrganization, "DELETED_ORGANIZATION"(), "{id:016}"(id: Id), of Others;
            /// organization's slug: a career site
            organization_slug: CareerSite, "ORGANIZATION_SLUG#{slug}"(slug: &Slug), "SLUG"(), of Others;
            /// e-mail address of members who have accepted their invitations, by the hash of its normal form, in an organization
            member_email: MemberEmail, "MEMBER_EMAIL#{hash}"(hash: &Email = hashed(&hash.normalized())) as member_emails,
                "{organization:016}"(organization: Id), of Others;
            /// ceremony of a passkey: the challenge that a browser has yet to answer, by the hash of its secret
            passkey_ceremony: Ceremony, "PASSKEY_CEREMONY#{hash}"(hash: &str), "CEREMONY"(), of Others, and expires;
            /// attempts to sign in, to invite, to register, to apply or to call in a time window, by the hash of the subject
            attempts: counters, "ATTEMPTS#{hash}"(hash: &str = hashed(hash)), "{end}"(end: i64), of Others, and expires;
            /// registered OAuth client, by the hash of its id
            client: Client, "OAUTH_CLIENT#{hash}"(hash: &str = hashed(hash)), "CLIENT"(), of Others;
            /// OAuth client with a metadata document, by the hash of the URL
            client_document: Document, "OAUTH_DOCUMENT#{hash}"(hash: &str = hashed(hash)), "DOCUMENT"(), of Others;
            /// item that could not be read, by its old key; and its tenant
            quarantined: Quarantined, "QUARANTINE#{old_pk}", "{old_sk}", filter "QUARANTINE",
                status_filter "{tenant}#QUARANTINE"(tenant: Tenant) as quarantine_of, of Others;
        }
    };
}

pub(super) use rows;

/// What stands for the tenant in a row of the chart.
const TENANT: &str = "{tenant}";

/// A kind of items: a row of the chart.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name, such as `role`.
    pub name: &'static str,
    /// What an item is.
    pub about: &'static str,
    /// The partition key, with what differs in braces.
    pub pk: &'static str,
    /// The range key, with what differs in braces.
    pub sk: &'static str,
    /// The key in the index `filtered`.
    pub filter: Option<&'static str>,
    /// The key in the index `by_status`.
    pub status_filter: Option<&'static str>,
    /// Whether items are deleted some time after they were written, or have a purpose only until then.
    pub expires: bool,
    /// In whose partitions the items are.
    pub owner: Owner,
    /// The owner with the identifier in the range key, if an item leads to one.
    pub leads_to: Option<Owner>,
    /// Reads an item.
    pub read: fn(Item) -> Result<(), StoreError>,
}

/// Whom a partition belongs to. Everything in it is deleted and verified with its owner. What belongs to a candidate is
/// also exported and erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The organization in one mode.
    Tenant,
    /// A candidate.
    Candidate,
    /// A role.
    Role,
    /// A voice screen.
    Screen,
    /// A webhook endpoint.
    Endpoint,
    /// A member.
    Member,
    /// Nobody alone: the items are among those of others, or are found through another item, or expire. What writes them
    /// deletes them.
    Others,
}

impl Kind {
    /// Checks that this release can read an item of the kind.
    pub fn check(&self, item: Item) -> Result<(), StoreError> {
        (self.read)(item)
    }

    /// Whether items of the kind have such keys.
    pub fn has(&self, pk: &str, sk: &str) -> bool {
        let from = if self.pk.starts_with(TENANT) { TENANT.len() } else { 0 };
        matches(self.pk, from, &general(pk)) && matches(self.sk, 0, sk)
    }

    /// The partitions of an owner in which items of the kind are.
    pub(super) fn partitions(&self, tenant: Tenant, owner: Option<Id>) -> Vec<String> {
        let pk = self.pk.replace(TENANT, &tenant.to_string());
        let Some((start, rest)) = pk.split_once('{') else { return vec![pk] };
        let Some((name, end)) = rest.split_once('}') else { return vec![pk] };
        let filled = match (name.strip_suffix(":016"), owner) {
            (Some(_), Some(owner)) => format!("{start}{}{end}", padded(owner)),
            _ => pk,
        };
        values(filled)
    }
}

/// A partition key, with each of the values that are known for a name in braces.
fn values(pk: String) -> Vec<String> {
    let fill = |name: &str, value: &str| pk.replace(name, value);
    if pk.contains("{stage}") {
        return Stage::ALL.map(|stage| fill("{stage}", stage.as_str())).into();
    }
    if pk.contains("{hired_or_others}") {
        return ["hired", "others"].map(|period| fill("{hired_or_others}", period)).into();
    }
    vec![pk]
}

/// A partition key with `{tenant}` in place of the tenant.
fn general(pk: &str) -> String {
    let mut parts = pk.splitn(3, '#');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(organization), Some("live" | "test"), Some(rest))
            if organization.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            format!("{TENANT}#{rest}")
        }
        _ => pk.to_owned(),
    }
}

/// Whether a key has the fixed beginning of a pattern, which ends at the first brace after `from`; or is the pattern, if
/// it has no brace.
fn matches(pattern: &str, from: usize, key: &str) -> bool {
    match pattern.char_indices().find(|(at, letter)| *at >= from && *letter == '{') {
        Some((at, _)) => key.starts_with(&pattern[..at]),
        None => key == pattern,
    }
}
