//! The kinds of items, by their keys: what each can be read as.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::DeserializeOwned;

use super::api_keys::ApiKey;
use super::applications::{Applicant, Entry, ScoredApplicant};
use super::channels::CallSetting;
use super::confirmations::Confirmation;
use super::deletion::DeletedOrganization;
use super::erasures::Trace;
use super::events::FeedHead;
use super::finding::{Reference, WordEntry};
use super::grants::Document;
use super::keys::{PK, SK};
use super::logos::Stored;
use super::maybe_erased::is_erased;
use super::members::{MemberEmail, SecondFactorSetting};
use super::openings::PostingSlug;
use super::organizations::{Profile, Registered};
use super::passkeys::Ceremony;
use super::privacy::Privacy;
use super::recording::OutboxEntry;
use super::retention::DuePerson;
use super::roles::read_stats;
use super::suspects::SuspectUpload;
use super::tasks::Task;
use super::transaction::Receipt;
use super::unreadable::Quarantined;
use super::uploads::Upload;
use super::usage::UsageDay;
use super::webhooks::DueAttempt;
use super::{Item, StoreError, item};
use crate::model::{
    AuditEntry, Candidate, CandidateRecord, CareerSite, Client, Consent, Delivery, EndpointProgress,
    ErasedCandidate, Erasure, Event, Grant, Member, Note, Opening, Organization, Post, Posting,
    RetentionSetting, Role, Screen, ScreenRecord, SecurityNotice, Session, Submission, SubmittedFile,
    SuspectForm, Touchpoint, WebhookEndpoint, WhatsAppConnection, XConnection,
};

/// A kind of items.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name, such as `role`.
    pub name: &'static str,
    /// The partition key. `{tenant}` is an organization in one mode, and `*` at the end is anything.
    pub pk: &'static str,
    /// The range key. `*` at the end is anything.
    pub sk: &'static str,
    read: fn(Item) -> Result<(), StoreError>,
}

/// All kinds.
pub const KINDS: [Kind; 80] = [
    of::<Organization>("gate", "{tenant}#GATE", "GATE"),
    of::<Profile>("profile", "{tenant}#PROFILE", "PROFILE"),
    counters("gate_shard", "{tenant}#GATE#*", "GATE"),
    of::<ApiKey>("api_key", "{tenant}#KEY", "*"),
    of::<UsageDay>("usage_day", "{tenant}#USAGE", "*"),
    of::<Receipt>("receipt", "{tenant}#RECEIPT#*", "*"),
    of::<Role>("role", "{tenant}#ROLE", "*"),
    Kind { name: "role_stats", pk: "{tenant}#ROLE_STATS", sk: "*", read: |item| read_stats(item).map(drop) },
    counters("stages", "{tenant}#HIRING_STATS", "~STAGES#*"),
    counters("new_people", "{tenant}#HIRING_STATS", "WEEK#*"),
    of::<Posting>("posting", "{tenant}#POSTING", "*"),
    of::<Posting>("role_posting", "{tenant}#ROLE_POSTING", "*"),
    of::<PostingSlug>("posting_slug", "{tenant}#SLUG", "*"),
    of::<Opening>("opening", "{tenant}#OPENING", "*"),
    Kind { name: "candidate_record", pk: "{tenant}#CANDIDATE#*", sk: "~FILE", read: read_candidate_record },
    of::<Touchpoint>("touchpoint", "{tenant}#CANDIDATE#*", "HISTORY#*"),
    of::<Consent>("consent", "{tenant}#CANDIDATE#*", "CONSENT#*"),
    of::<SubmittedFile>("submitted_file", "{tenant}#CANDIDATE#*", "FILE#*"),
    of::<Submission>("submission", "{tenant}#CANDIDATE#*", "FORM#*"),
    of::<Screen>("candidate_screen", "{tenant}#CANDIDATE#*", "SCREEN#*"),
    of::<Note>("note", "{tenant}#CANDIDATE_NOTE#*", "*"),
    of::<Trace>("trace", "{tenant}#CANDIDATE_TRACE#*", "*"),
    of::<Reference>("unfinished_erasure", "{tenant}#ERASED", "~*"),
    of::<Erasure>("erased_candidate", "{tenant}#ERASED", "*"),
    of::<Reference>("legal_hold", "{tenant}#LEGAL_HOLD", "*"),
    of::<Candidate>("candidate", "{tenant}#CANDIDATE", "*"),
    of::<Entry>("application", "{tenant}#APPLICATION", "*"),
    of::<Entry>("role_application", "{tenant}#ROLE_APPLICATION#*", "*"),
    of::<Applicant>("applicant", "{tenant}#APPLICANT#*", "*"),
    of::<ScoredApplicant>("scored_applicant", "{tenant}#SCORED#*", "*"),
    of::<Applicant>("reapplied_applicant", "{tenant}#REAPPLIED#*", "*"),
    of::<Reference>("email", "{tenant}#EMAIL#*", "EMAIL"),
    of::<WordEntry>("word", "{tenant}#WORD", "*"),
    of::<Reference>("phone", "{tenant}#PHONE#*", "*"),
    of::<Reference>("mailbox", "{tenant}#MAILBOX#*", "*"),
    of::<Reference>("source", "{tenant}#CANDIDATE_SOURCE#*", "*"),
    of::<Reference>("tag", "{tenant}#TAG#*", "*"),
    of::<Reference>("external_id", "{tenant}#EXTERNAL_ID#*", "EXTERNAL_ID"),
    of::<DuePerson>("retention_start", "{tenant}#RETENTION#*", "*"),
    of::<Upload>("upload", "{tenant}#UPLOAD#*", "UPLOAD"),
    of::<SuspectUpload>("suspect_upload", "{tenant}#UPLOAD#*", "SUSPECT"),
    of::<SuspectForm>("suspect_form", "{tenant}#SUSPECT", "*"),
    of::<ScreenRecord>("screen_record", "{tenant}#SCREEN#*", "~FILE"),
    bytes("transcript_part", "{tenant}#SCREEN#*", "TRANSCRIPT#*"),
    of::<Screen>("screen", "{tenant}#SCREEN", "*"),
    of::<Screen>("role_screen", "{tenant}#ROLE_SCREEN#*", "*"),
    of::<Privacy>("privacy_text", "{tenant}#PRIVACY", "PRIVACY"),
    of::<Stored>("logo", "{tenant}#LOGO", "LOGO"),
    of::<XConnection>("x_connection", "{tenant}#CHANNEL", "x"),
    of::<WhatsAppConnection>("whatsapp_connection", "{tenant}#CHANNEL", "whatsapp"),
    counters("posts_of_a_day", "{tenant}#CHANNEL", "x#*"),
    of::<Post>("post", "{tenant}#POST", "*"),
    of::<RetentionSetting>("retention_setting", "{tenant}#SETTING", "retention"),
    counters("webhook_endpoint_count", "{tenant}#SETTING", "webhook_endpoints"),
    of::<WebhookEndpoint>("webhook_endpoint", "{tenant}#WEBHOOK", "*"),
    of::<EndpointProgress>("endpoint_progress", "WEBHOOK#*", "*"),
    of::<Delivery>("delivery", "{tenant}#DELIVERY#*", "*"),
    of::<DueAttempt>("due_delivery", "{tenant}#DELIVERY_DUE#*", "*"),
    of::<SecondFactorSetting>("second_factor_setting", "{tenant}#SETTING", "second_factor"),
    of::<CallSetting>("call_setting", "{tenant}#SETTING", "calls"),
    of::<AuditEntry>("audit_entry", "{tenant}#AUDIT#*", "*"),
    of::<Member>("member", "{tenant}#MEMBER", "*"),
    of::<Session>("session", "{tenant}#SESSION#*", "*"),
    of::<SecurityNotice>("security_notice", "{tenant}#NOTICE#*", "*"),
    of::<Confirmation>("confirmation", "{tenant}#CONFIRMATION", "CALL#*"),
    counters("used_confirmation", "{tenant}#CONFIRMATION", "USED#*"),
    of::<Grant>("grant", "{tenant}#GRANT", "*"),
    of::<Registered>("registered", "ORGANIZATION#*", "*"),
    of::<DeletedOrganization>("deleted_organization", "DELETED_ORGANIZATION", "*"),
    of::<CareerSite>("career_site", "ORGANIZATION_SLUG#*", "SLUG"),
    of::<MemberEmail>("member_email", "MEMBER_EMAIL#*", "EMAIL"),
    of::<Ceremony>("passkey_ceremony", "PASSKEY_CEREMONY#*", "CEREMONY"),
    counters("attempts", "ATTEMPTS#*", "*"),
    of::<Client>("client", "OAUTH_CLIENT#*", "CLIENT"),
    of::<Document>("client_document", "OAUTH_DOCUMENT#*", "DOCUMENT"),
    of::<Task>("task", "TASK#*", "*"),
    of::<OutboxEntry>("outbox_entry", "OUTBOX#*", "*"),
    of::<FeedHead>("feed_head", "{tenant}#EVENT_HEAD", "HEAD"),
    of::<Event>("event", "{tenant}#EVENT", "*"),
    of::<Quarantined>("quarantined", "QUARANTINE#*", "*"),
];

impl Kind {
    /// The kind of an item, by its key.
    pub fn of(item: &Item) -> Option<&'static Self> {
        let text = |name| item.get(name).and_then(|value: &AttributeValue| value.as_s().ok());
        let (pk, sk) = (text(PK)?, text(SK)?);
        let pk = general(pk);
        KINDS.iter().find(|kind| matches(kind.pk, &pk) && matches(kind.sk, sk))
    }

    /// Checks that this release can read an item of the kind.
    pub fn check(&self, item: Item) -> Result<(), StoreError> {
        (self.read)(item)
    }
}

const fn of<T: DeserializeOwned>(name: &'static str, pk: &'static str, sk: &'static str) -> Kind {
    Kind { name, pk, sk, read: |item| item::read::<T>(item).map(drop) }
}

/// Items without a form that only have numbers, which are 0 while they are missing.
const fn counters(name: &'static str, pk: &'static str, sk: &'static str) -> Kind {
    Kind { name, pk, sk, read: |_| Ok(()) }
}

/// Items without a form that have bytes of a larger whole.
const fn bytes(name: &'static str, pk: &'static str, sk: &'static str) -> Kind {
    Kind { name, pk, sk, read: |_| Ok(()) }
}

fn read_candidate_record(item: Item) -> Result<(), StoreError> {
    if is_erased(&item) {
        return item::read::<ErasedCandidate>(item).map(drop);
    }
    item::read::<CandidateRecord>(item).map(drop)
}

/// A partition key with `{tenant}` in place of the tenant.
fn general(pk: &str) -> String {
    let mut parts = pk.splitn(3, '#');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(organization), Some("live" | "test"), Some(rest))
            if organization.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            format!("{{tenant}}#{rest}")
        }
        _ => pk.to_owned(),
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => text.starts_with(prefix),
        None => text == pattern,
    }
}
