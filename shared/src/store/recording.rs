//! Records what a transaction changes, for the change feed.
//!
//! The methods of `Transaction` that write records know the state before and after, so they record the change, and no handler
//! can forget it. The commit adds one item with all changes of the transaction to the outbox. The item sorts by the time of
//! the transaction, which each changed item keeps as its stamp. The time is later than the stamps that the items had, so later
//! versions sort after earlier ones, even if the clocks of the functions differ.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::keys;
use super::labels::NewLabels;
use super::{Item, StoreError, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    Application, ApplicationStatus, AuditActor, CandidateRecord, Change, Consent, EndedBy, ErasedCandidate,
    EventActor, EventData, EventType, Member, Mode, Posting, Role, RoleStatus, ScreenRecord, ScreenStatus,
    Subject, SubjectType, Tenant,
};

/// The attribute with the time of the last recorded change of an item, in milliseconds.
pub(super) const STAMP: &str = "stamp";
/// The maximum number of events of one transaction.
const MAX_EVENTS: usize = 90;

/// A change, before the time of its transaction is known.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    /// The mode whose feed has the change; `None` for the transaction's own.
    pub(super) mode: Option<Mode>,
    kind: EventType,
    subject: SubjectType,
    id: Option<Id>,
    /// The `updated_at` that the change gives the subject, if it has one and gets a new one.
    pub(super) made: Option<Timestamp>,
    /// The version of the subject; `None` for the stamp of its item, if the item has no version.
    version: Option<u64>,
    changed: Vec<Cow<'static, str>>,
    data: EventData,
}

/// The changes of one transaction in one tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutboxEntry {
    /// When the transaction was made.
    pub(super) at: Timestamp,
    /// Who made it.
    pub(super) actor: EventActor,
    /// The changes, in the order of the transaction's writes.
    pub(super) changes: Vec<Change>,
    /// The people whose words in the search index have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) new_words: Vec<Id>,
    /// The people whose labels have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) new_labels: Vec<NewLabels>,
    /// That an import made the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) imported: Option<Imported>,
}

/// What the events of a transaction say that an import makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Imported {
    /// Whether webhook endpoints get them.
    pub(super) notifies: bool,
}

impl Recorded {
    /// A change of a subject whose item has no version.
    pub(super) fn stamped(kind: EventType, subject: SubjectType, id: Option<Id>) -> Self {
        let (changed, data) = (Vec::new(), EventData::new());
        Self { mode: None, kind, subject, id, made: None, version: None, changed, data }
    }

    /// A change that leads to this version of a subject.
    pub(super) fn versioned(kind: EventType, subject: SubjectType, id: Id, version: u64) -> Self {
        let change = Self::stamped(kind, subject, Some(id));
        Self { version: Some(version), ..change }
    }

    /// A change of a setting.
    pub(super) fn setting(subject: SubjectType) -> Self {
        Self::stamped(EventType::SettingsChanged, subject, None)
    }

    pub(super) fn with(self, data: EventData) -> Self {
        Self { data, ..self }
    }

    /// The change is made at this time, unless the subject had it before.
    fn made_at(self, time: Timestamp, before: Option<Timestamp>) -> Self {
        Self { made: Some(time).filter(|_| before != Some(time)), ..self }
    }

    pub(super) fn changing(self, changed: Vec<Cow<'static, str>>) -> Self {
        Self { changed, ..self }
    }

    /// The same change in the feed of a mode.
    pub(super) fn in_mode(self, mode: Mode) -> Self {
        Self { mode: Some(mode), ..self }
    }

    fn at(self, time: i64) -> Change {
        let version = self.version.unwrap_or_else(|| u64::try_from(time).unwrap_or(0));
        let subject = Subject { kind: self.subject, id: self.id, version };
        Change { kind: self.kind, subject, changed: self.changed, data: self.data }
    }
}

/// The names of the fields that have changed.
pub(super) fn names(fields: impl IntoIterator<Item = (&'static str, bool)>) -> Vec<Cow<'static, str>> {
    fields.into_iter().filter(|(_, has_changed)| *has_changed).map(|(name, _)| Cow::Borrowed(name)).collect()
}

fn from_to(from: &'static str, to: &'static str) -> EventData {
    EventData::new().with("from", from).with("to", to)
}

/// The items of the outbox with the changes of a transaction, made at `time` (in milliseconds): one for each tenant.
pub(super) fn outbox_items(
    tenant: Tenant,
    changes: &[Recorded],
    new_words: &[Id],
    new_labels: &[NewLabels],
    imported: Option<Imported>,
    time: i64,
    actor: AuditActor,
) -> Result<Vec<Item>, StoreError> {
    let at = Timestamp::from_millisecond(time).unwrap_or_default();
    let mut items = Vec::new();
    for mode in Mode::ALL {
        let own = changes.iter().filter(|change| change.mode.unwrap_or(tenant.mode) == mode);
        let changes: Vec<_> = own.map(|change| change.clone().at(time)).collect();
        if changes.len() > MAX_EVENTS {
            let message =
                format!("a transaction has {} events, and {MAX_EVENTS} are possible", changes.len());
            return Err(StoreError::Internal(message));
        }
        let (new_words, new_labels) = if mode == tenant.mode {
            (new_words.to_owned(), new_labels.to_owned())
        } else {
            Default::default()
        };
        let first = changes.first().map(|change| change.subject);
        let person = new_words.first().copied().or_else(|| Some(new_labels.first()?.candidate));
        let person = person.map(|id| Subject { kind: SubjectType::Candidate, id: Some(id), version: 0 });
        if let Some(first) = first.or(person) {
            let key = keys::outbox_item(Tenant { mode, ..tenant }, time, first);
            let entry = OutboxEntry { at, actor: actor.into(), changes, new_words, new_labels, imported };
            items.push(item::write(&entry, key, None)?);
        }
    }
    Ok(items)
}

pub(super) fn new_role(role: &Role) -> Recorded {
    let data = EventData::new().with("status", role.status.as_str());
    Recorded::versioned(EventType::RoleCreated, SubjectType::Role, role.id, role.version)
        .with(data)
        .made_at(role.updated_at, None)
}

pub(super) fn role_changes(before: &Role, after: &Role) -> Vec<Recorded> {
    let of = |kind| {
        Recorded::versioned(kind, SubjectType::Role, after.id, after.version)
            .made_at(after.updated_at, Some(before.updated_at))
    };
    let others = [
        ("closes_at", before.closes_at != after.closes_at),
        ("job_posting_id", before.posting != after.posting),
    ];
    let fields = names(before.content.differences(&after.content).chain(others));
    let posting = after.posting.as_ref().filter(|posting| before.posting.as_ref() != Some(*posting));
    let data = EventData::new().with_some("job_posting_id", posting.map(|posting| posting.id));
    let updated = (!fields.is_empty()).then(|| of(EventType::RoleUpdated).changing(fields).with(data));
    let kind = match (before.status, after.status) {
        (from, to) if from == to => None,
        (_, RoleStatus::Closed) => Some(EventType::RoleClosed),
        (_, RoleStatus::Paused) => Some(EventType::RolePaused),
        (_, RoleStatus::Draft) => Some(EventType::RoleReopened),
        (RoleStatus::Paused, RoleStatus::Open) => Some(EventType::RoleResumed),
        (_, RoleStatus::Open) => Some(EventType::RolePublished),
    };
    let moved = kind.map(|kind| {
        of(kind)
            .changing(names([("status", true)]))
            .with(from_to(before.status.as_str(), after.status.as_str()))
    });
    updated.into_iter().chain(moved).collect()
}

pub(super) fn new_posting(posting: &Posting) -> Recorded {
    let data = EventData::new().with("role_id", posting.role_id).with("published", posting.published);
    Recorded::versioned(EventType::PostingCreated, SubjectType::JobPosting, posting.id, posting.version)
        .with(data)
        .made_at(posting.updated_at, None)
}

/// The changes of a posting, also of the fields that it takes from its role.
pub(super) fn posting_changes(
    before: &Posting,
    after: &Posting,
    followed: impl IntoIterator<Item = (&'static str, bool)>,
) -> Vec<Recorded> {
    let of = |kind| {
        let data = EventData::new().with("role_id", after.role_id);
        Recorded::versioned(kind, SubjectType::JobPosting, after.id, after.version)
            .with(data)
            .made_at(after.updated_at, Some(before.updated_at))
    };
    let mut fields = names(before.content.differences(&after.content));
    for field in names(followed) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    let updated = (!fields.is_empty()).then(|| of(EventType::PostingUpdated).changing(fields));
    let kind = if after.published { EventType::PostingPublished } else { EventType::PostingUnpublished };
    let published =
        (before.published != after.published).then(|| of(kind).changing(names([("published", true)])));
    updated.into_iter().chain(published).collect()
}

/// The applications that a change of a candidate has removed.
fn deleted_applications(before: &CandidateRecord, after: &CandidateRecord) -> impl Iterator<Item = Recorded> {
    let (candidate, version) = (after.candidate.id, after.version);
    let is_gone = |old: &&Application| after.applications.iter().all(|one| one.id != old.id);
    before.applications.iter().filter(is_gone).map(move |gone| {
        let data = EventData::new().with("candidate_id", candidate).with("role_id", gone.role.id);
        let kind = EventType::ApplicationDeleted;
        Recorded::versioned(kind, SubjectType::Application, gone.id, version)
            .with(data)
            .made_at(after.candidate.updated_at, Some(before.candidate.updated_at))
    })
}

/// The changes from one version of a candidate's record to the next; all of a new candidate without a version before.
pub(super) fn candidate_changes(before: Option<&CandidateRecord>, after: &CandidateRecord) -> Vec<Recorded> {
    let (id, version) = (after.candidate.id, after.version);
    let of = |kind| {
        Recorded::versioned(kind, SubjectType::Candidate, id, version)
            .made_at(after.candidate.updated_at, before.map(|before| before.candidate.updated_at))
    };
    let mut changes = Vec::new();
    match before.map(|before| (&before.candidate, &before.candidate.profile)) {
        None => {
            let data = EventData::new().with("stage", after.candidate.stage.as_str());
            changes.push(of(EventType::CandidateCreated).with(data));
        }
        Some((candidate, old)) => {
            let fields = names(old.differences(&after.candidate.profile));
            changes.extend((!fields.is_empty()).then(|| of(EventType::CandidateUpdated).changing(fields)));
            let (from, to) = (candidate.stage, after.candidate.stage);
            changes.extend((from != to).then(|| {
                let data = from_to(from.as_str(), to.as_str());
                of(EventType::CandidateStageChanged).changing(names([("stage", true)])).with(data)
            }));
        }
    }
    for (index, application) in after.applications.iter().enumerate() {
        let old = before.and_then(|before| before.applications.iter().find(|old| old.id == application.id));
        let data = EventData::new().with("candidate_id", id).with("role_id", application.role.id);
        let of = |kind| {
            Recorded::versioned(kind, SubjectType::Application, application.id, version)
                .made_at(application.updated_at, old.map(|old| old.updated_at))
        };
        let stage = application.stage.as_str();
        let Some(old) = old else {
            if before.is_some() || index < CandidateRecord::TOLD_AT_ONCE {
                changes.push(new_application(after, application));
            }
            continue;
        };
        if old.stage != application.stage {
            let data = data.clone().with("from", old.stage.as_str()).with("to", stage);
            let kind = match application.rejection().map(|rejection| rejection.cause.by) {
                Some(EndedBy::Candidate) => EventType::ApplicationWithdrawn,
                Some(EndedBy::Team) | None => EventType::ApplicationStageChanged,
            };
            changes.push(of(kind).changing(names([("stage", true)])).with(data));
        }
        let is_closed = |status| status == ApplicationStatus::Closed;
        let kind = match (is_closed(old.status()), is_closed(application.status())) {
            (false, true) => Some(EventType::ApplicationClosed),
            (true, false) => Some(EventType::ApplicationReopened),
            _ => None,
        };
        changes.extend(kind.map(|kind| {
            of(kind).changing(names([("status", true)])).with(data.clone().with("stage", stage))
        }));
        if old.score != application.score {
            changes
                .push(of(EventType::ApplicationScored).changing(names([("score", true)])).with(data.clone()));
        }
        let fields = names([
            ("reapplied_at", old.reapplied_at != application.reapplied_at),
            ("resubmissions", old.resubmissions != application.resubmissions),
            ("resume_file_id", old.resume_file_id != application.resume_file_id),
            ("offered", old.offered != application.offered),
        ]);
        if !fields.is_empty() {
            let kind = if old.submissions == application.submissions {
                EventType::ApplicationUpdated
            } else {
                EventType::ApplicationResubmitted
            };
            changes.push(of(kind).changing(fields).with(data));
        }
    }
    changes.extend(before.into_iter().flat_map(|before| deleted_applications(before, after)));
    let is_new = |consent: &&Consent| {
        before.is_none_or(|before| before.consents.iter().all(|known| known.id != consent.id))
    };
    let consents: Vec<_> = after.consents.iter().filter(is_new).collect();
    for consent in &consents {
        let data = EventData::new().with("consent_id", consent.id).with("purpose", consent.purpose.as_str());
        changes.push(
            of(EventType::CandidateConsentRecorded)
                .changing(names([("consents", true)]))
                .with(data.with("granted", consent.granted)),
        );
    }
    // Another consent may have a later time, so that this one does not count.
    if consents.is_empty() && before.is_some_and(|before| before.recorded_consents < after.recorded_consents)
    {
        changes.push(of(EventType::CandidateConsentRecorded));
    }
    let hold = before.and_then(|before| before.legal_hold.as_ref());
    let kind = match (hold, &after.legal_hold) {
        (Some(_), None) => Some(EventType::CandidateLegalHoldLifted),
        (old, Some(new)) if old != Some(new) => Some(EventType::CandidateLegalHoldSet),
        _ => None,
    };
    changes.extend(kind.map(|kind| of(kind).changing(names([("legal_hold", true)]))));
    changes
}

/// The event of a new application of a candidate.
pub(super) fn new_application(record: &CandidateRecord, application: &Application) -> Recorded {
    let data =
        EventData::new().with("candidate_id", record.candidate.id).with("role_id", application.role.id);
    let data = data.with("stage", application.stage.as_str());
    Recorded::versioned(
        EventType::ApplicationCreated,
        SubjectType::Application,
        application.id,
        record.version,
    )
    .with(data)
    .made_at(application.updated_at, None)
}

pub(super) fn erased_candidate(erased: &ErasedCandidate) -> Recorded {
    let data = EventData::new().with("reason", erased.erasure.reason.as_str());
    let id = erased.erasure.id;
    Recorded::versioned(EventType::CandidateErased, SubjectType::Candidate, id, erased.version).with(data)
}

pub(super) fn new_screen(record: &ScreenRecord) -> Recorded {
    let data = screen_data(record).with("status", record.screen.status.as_str());
    let (id, version) = (record.screen.id, record.version);
    Recorded::versioned(EventType::ScreenCreated, SubjectType::VoiceScreen, id, version)
        .with(data)
        .made_at(record.screen.updated_at, None)
}

fn screen_data(record: &ScreenRecord) -> EventData {
    EventData::new().with("candidate_id", record.screen.candidate_id).with("role_id", record.screen.role_id)
}

pub(super) fn screen_changes(before: &ScreenRecord, after: &ScreenRecord) -> Vec<Recorded> {
    let (old, new) = (&before.screen, &after.screen);
    let of = |kind| {
        Recorded::versioned(kind, SubjectType::VoiceScreen, new.id, after.version)
            .made_at(new.updated_at, Some(old.updated_at))
    };
    let has_moved = old.status != new.status;
    let fields = names([
        ("status", has_moved),
        ("scheduled_at", old.scheduled_at != new.scheduled_at),
        ("started_at", old.started_at != new.started_at),
        ("completed_at", old.completed_at != new.completed_at),
        ("duration_seconds", old.duration_seconds != new.duration_seconds),
        ("summary", old.summary != new.summary),
        ("scores", old.scores != new.scores),
        ("result", old.result != new.result),
        ("review", old.review != new.review),
        ("highlights", before.highlights != after.highlights),
        ("red_flags", before.red_flags != after.red_flags),
    ]);
    if fields.is_empty() {
        return Vec::new();
    }
    let kind = match new.status {
        _ if old.review != new.review => EventType::ScreenReviewed,
        _ if !has_moved => EventType::ScreenUpdated,
        ScreenStatus::Queued | ScreenStatus::Scheduled => EventType::ScreenUpdated,
        ScreenStatus::InProgress => EventType::ScreenStarted,
        ScreenStatus::Completed => EventType::ScreenCompleted,
        ScreenStatus::NoAnswer => EventType::ScreenUnanswered,
        ScreenStatus::Failed => EventType::ScreenFailed,
        ScreenStatus::Cancelled => EventType::ScreenCancelled,
        ScreenStatus::Declined => EventType::ScreenDeclined,
    };
    let mut data = screen_data(after);
    if has_moved {
        data = data.with("from", old.status.as_str()).with("to", new.status.as_str());
    }
    vec![of(kind).changing(fields).with(data)]
}

pub(super) fn new_member(member: &Member) -> Recorded {
    let data = EventData::new().with("role", member.role.as_str());
    let kind = if member.is_invited() { EventType::MemberInvited } else { EventType::MemberJoined };
    of_member(kind, member.id, member.version).with(data)
}

pub(super) fn removed_member(member: &Member) -> Recorded {
    of_member(EventType::MemberRemoved, member.id, member.version + 1)
}

pub(super) fn member_changes(before: &Member, after: &Member) -> Vec<Recorded> {
    let of = |kind| of_member(kind, after.id, after.version);
    let (old, new) = (before.role.as_str(), after.role.as_str());
    let fields = names([
        ("name", before.name != after.name),
        ("email", before.email != after.email),
        ("time_zone", before.time_zone != after.time_zone),
    ]);
    let joined = (before.is_invited() && !after.is_invited())
        .then(|| of(EventType::MemberJoined).with(EventData::new().with("role", new)));
    let updated = (!fields.is_empty()).then(|| of(EventType::MemberUpdated).changing(fields));
    let changed = (old != new)
        .then(|| of(EventType::MemberRoleChanged).changing(names([("role", true)])).with(from_to(old, new)));
    joined.into_iter().chain(updated).chain(changed).collect()
}

/// Members belong to live mode, even while they look at test data.
fn of_member(kind: EventType, id: Id, version: u64) -> Recorded {
    Recorded::versioned(kind, SubjectType::Member, id, version).in_mode(Mode::Live)
}
