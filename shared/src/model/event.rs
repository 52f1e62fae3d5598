//! Events: the changes of an organization's data, as its change feed has them. Events contain identifiers and words of
//! enumerations, but no personal data and no text that somebody wrote.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::schema::{integer, string};
use super::string_enum::string_enum;
use super::{AuditActor, AuditActorKind, Mode};
use crate::clock::Timestamp;
use crate::id::Id;

string_enum! {
    /// The type of what an event is about.
    pub enum SubjectType {
        /// A role.
        Role = "role",
        /// A job posting.
        JobPosting = "job_posting",
        /// A candidate.
        Candidate = "candidate",
        /// An application for a role.
        Application = "application",
        /// A note about a candidate.
        Note = "note",
        /// A voice screen.
        VoiceScreen = "voice_screen",
        /// A post to a channel.
        Post = "post",
        /// The X account.
        X = "x",
        /// The `WhatsApp` number.
        WhatsApp = "whatsapp",
        /// A member.
        Member = "member",
        /// An API key.
        ApiKey = "api_key",
        /// A webhook endpoint.
        WebhookEndpoint = "webhook_endpoint",
        /// The branding of the career page.
        CareerPage = "career_page",
        /// The organization's own text on its privacy page.
        PrivacyText = "privacy_text",
        /// The retention rule.
        RetentionRule = "retention_rule",
        /// Whether members need a second factor.
        SecondFactorRule = "second_factor_rule",
        /// The countries that may be called.
        CallCountries = "call_countries",
        /// The organization.
        Organization = "organization",
        /// A file of a candidate.
        File = "file",
        /// The list of rejection reasons.
        RejectionReasons = "rejection_reasons",
        /// An import of people.
        Import = "import",
        /// An export.
        Export = "export",
    }
}

/// Declares the types of events: the word, what the event says, and the names of its data.
macro_rules! event_types {
    ($($variant:ident = $word:literal, $description:literal, [$($data:literal),*];)+) => {
        string_enum! {
            /// The type of an event.
            pub enum EventType {
                $(#[doc = $description] $variant = $word,)+
            }
        }

        impl EventType {
            /// What an event of this type says.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $description,)+
                }
            }

            /// The names that the data of an event of this type may have.
            pub const fn data(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &[$($data),*],)+
                }
            }
        }
    };
}

// The words are stored: append types, never change their words.
event_types! {
    RoleCreated = "role.created", "A role was created.", ["status"];
    RoleUpdated = "role.updated", "Fields of a role were changed, or it got its job posting.", ["job_posting_id"];
    RolePublished = "role.published", "A draft was opened.", ["from", "to"];
    RolePaused = "role.paused", "A role accepts no applications for now.", ["from", "to"];
    RoleResumed = "role.resumed", "A paused role is open again.", ["from", "to"];
    RoleClosed = "role.closed", "A role was closed.", ["from", "to"];
    RoleReopened = "role.reopened", "A closed role became a draft again.", ["from", "to"];
    PostingCreated = "posting.created", "A job posting was created.", ["role_id", "published"];
    PostingUpdated = "posting.updated", "Fields of a job posting were changed.", ["role_id"];
    PostingPublished = "posting.published", "A job posting was published.", ["role_id"];
    PostingUnpublished = "posting.unpublished", "A job posting was unpublished.", ["role_id"];
    CandidateCreated = "candidate.created", "A candidate was added.", ["stage"];
    CandidateUpdated = "candidate.updated", "Fields of a candidate were changed.", [];
    CandidateStageChanged = "candidate.stage_changed", "The stage of a candidate changed, which follows from the applications.", ["from", "to"];
    CandidateConsentRecorded = "candidate.consent_recorded", "A consent was given, refused or withdrawn.", ["consent_id", "purpose", "granted"];
    CandidateLegalHoldSet = "candidate.legal_hold_set", "A legal hold was set, or its reason was changed.", [];
    CandidateLegalHoldLifted = "candidate.legal_hold_lifted", "A legal hold was lifted.", [];
    CandidateErased = "candidate.erased", "Everything about a candidate is being erased: also the applications, the notes and the voice screens, which have no events of their own.", ["reason"];
    ApplicationCreated = "application.created", "A candidate applied for a role.", ["candidate_id", "role_id", "stage"];
    ApplicationStageChanged = "application.stage_changed", "An application moved, was rejected or hired, or that was undone.", ["candidate_id", "role_id", "from", "to"];
    ApplicationWithdrawn = "application.withdrawn", "A candidate withdrew an application. There is no `application.stage_changed` beside it.", ["candidate_id", "role_id", "from", "to"];
    ApplicationDeleted = "application.deleted", "An application was deleted, because the import that had made it was undone.", ["candidate_id", "role_id"];
    ApplicationClosed = "application.closed", "An application was closed with its role.", ["candidate_id", "role_id", "stage"];
    ApplicationReopened = "application.reopened", "An application became active again with its role.", ["candidate_id", "role_id", "stage"];
    ApplicationScored = "application.scored", "The score of an application changed.", ["candidate_id", "role_id"];
    NoteCreated = "note.created", "A note about a candidate was added.", ["candidate_id"];
    NoteDeleted = "note.deleted", "A note about a candidate was deleted.", ["candidate_id"];
    ScreenCreated = "screen.created", "A candidate was invited to a voice screen.", ["candidate_id", "role_id", "status"];
    ScreenUpdated = "screen.updated", "Fields of a voice screen were changed.", ["candidate_id", "role_id"];
    ScreenStarted = "screen.started", "The conversation of a voice screen began.", ["candidate_id", "role_id", "from", "to"];
    ScreenCompleted = "screen.completed", "The conversation of a voice screen took place.", ["candidate_id", "role_id", "from", "to"];
    ScreenUnanswered = "screen.unanswered", "The candidate did not answer the call of a voice screen, or said nothing.", ["candidate_id", "role_id", "from", "to"];
    ScreenFailed = "screen.failed", "The call or the conversation of a voice screen failed.", ["candidate_id", "role_id", "from", "to"];
    ScreenCancelled = "screen.cancelled", "A voice screen was cancelled.", ["candidate_id", "role_id", "from", "to", "reason"];
    ScreenReviewed = "screen.reviewed", "A person confirmed or overruled the result of a voice screen.", ["candidate_id", "role_id"];
    ScreenDeclined = "screen.declined", "A candidate declined the conversation of a voice screen.", ["candidate_id", "role_id", "from", "to"];
    PostCreated = "post.created", "A post is being sent to a channel, which has not confirmed it yet.", ["job_posting_id", "channel"];
    PostPublished = "post.published", "A channel confirmed a post.", ["job_posting_id", "channel"];
    PostDeleted = "post.deleted", "A channel did not take a post, so it was deleted here.", ["channel"];
    ConnectionCreated = "connection.created", "An account of a channel was connected.", ["channel"];
    ConnectionUpdated = "connection.updated", "The status of a connected account changed.", ["channel", "from", "to"];
    ConnectionDeleted = "connection.deleted", "An account of a channel was disconnected.", ["channel"];
    MemberInvited = "member.invited", "A member was invited.", ["role"];
    MemberJoined = "member.joined", "A member accepted the invitation.", ["role"];
    MemberUpdated = "member.updated", "Fields of a member were changed.", [];
    MemberRoleChanged = "member.role_changed", "The role of a member was changed.", ["from", "to"];
    MemberRemoved = "member.removed", "A member was removed.", [];
    ApiKeyCreated = "api_key.created", "An API key was created.", ["replaces"];
    ApiKeyUpdated = "api_key.updated", "An API key got an end, because another one replaces it.", [];
    ApiKeyRevoked = "api_key.revoked", "An API key was revoked.", [];
    WebhookEndpointCreated = "webhook_endpoint.created", "A webhook endpoint was created.", [];
    WebhookEndpointUpdated = "webhook_endpoint.updated", "Fields of a webhook endpoint were changed.", [];
    WebhookEndpointEnabled = "webhook_endpoint.enabled", "A webhook endpoint was enabled.", [];
    WebhookEndpointDisabled = "webhook_endpoint.disabled", "A webhook endpoint was disabled.", ["reason"];
    WebhookEndpointSecretRotated = "webhook_endpoint.secret_rotated", "The secret of a webhook endpoint was replaced.", [];
    WebhookEndpointDeleted = "webhook_endpoint.deleted", "A webhook endpoint was deleted.", [];
    WebhookEndpointPinged = "webhook_endpoint.pinged", "A test of a webhook endpoint. It is delivered, but never in the feed.", [];
    SettingsChanged = "settings.changed", "A setting was changed. The type of the subject says which.", [];
    OrganizationPlanChanged = "organization.plan_changed", "The plan was changed.", ["to"];
    OrganizationSuspended = "organization.suspended", "The organization was suspended.", [];
    OrganizationResumed = "organization.resumed", "The suspension of the organization ended.", [];
    ApplicationResubmitted = "application.resubmitted", "A candidate applied again for the role, on the career page.", ["candidate_id", "role_id"];
    FileCreated = "file.created", "A candidate has a file, which was checked.", ["candidate_id", "application_id", "kind"];
    FileDeleted = "file.deleted", "A file of a candidate was deleted.", ["candidate_id", "application_id", "kind"];
    ApplicationUpdated = "application.updated", "Fields of an application were changed.", ["candidate_id", "role_id"];
    ImportFinished = "import.finished", "An import is done, has failed or was cancelled.", ["status"];
    ImportUndone = "import.undone", "An import was undone.", [];
    NoteUpdated = "note.updated", "The text of a note about a candidate was changed.", ["candidate_id"];
    ExportFinished = "export.finished", "An export is done, or has failed.", ["status"];
}

/// Declares the names in the data of events: the name, the JSON type of its value, and what it says.
macro_rules! data_names {
    ($($name:literal: $kind:literal, $description:literal;)+) => {
        /// The names that the data of events may have, with the JSON type of the value and what it says.
        pub const DATA_NAMES: &[(&str, &str, &str)] = &[$(($name, $kind, $description)),+];
    };
}

data_names! {
    "candidate_id": "integer", "The candidate.";
    "role_id": "integer", "The role.";
    "application_id": "integer", "The application that a file belongs to. Missing if it belongs to none.";
    "job_posting_id": "integer", "The job posting.";
    "consent_id": "integer", "The consent.";
    "replaces": "integer", "The API key that the new one replaces. Missing if it replaces none.";
    "from": "string", "The stage, the status or the role of a member before.";
    "to": "string", "The stage, the status, the role of a member or the plan now.";
    "stage": "string", "The stage.";
    "status": "string", "The status.";
    "reason": "string", "Why a candidate was erased, a voice screen cancelled or a webhook endpoint disabled.";
    "purpose": "string", "What a consent is for.";
    "kind": "string", "What a file is: `resume`, `cover_letter`, `portfolio` or `other`.";
    "channel": "string", "The channel, such as `x`.";
    "role": "string", "The role of a member.";
    "granted": "boolean", "Whether a consent was given.";
    "published": "boolean", "Whether a job posting is published.";
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Subject {
    /// The type.
    #[serde(rename = "type")]
    pub kind: SubjectType,
    /// The identifier; `null` for what an organization has only once, such as a setting.
    pub id: Option<Id>,
    /// The version after the change. Versions of a subject increase, but not always by 1.
    pub version: u64,
}

/// Who made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventActor {
    /// The type.
    #[serde(rename = "type")]
    pub kind: AuditActorKind,
    /// The API key, the application's grant or the member; `null` for the other types.
    pub id: Option<Id>,
}

impl From<AuditActor> for EventActor {
    fn from(AuditActor { kind, id, .. }: AuditActor) -> Self {
        Self { kind, id }
    }
}

/// A value in the data of an event. There is no way to make one from a text that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventValue {
    /// An identifier.
    Id(Id),
    /// A word of an enumeration.
    Word(Cow<'static, str>),
    /// Yes or no.
    Flag(bool),
}

impl From<Id> for EventValue {
    fn from(id: Id) -> Self {
        Self::Id(id)
    }
}

impl From<&'static str> for EventValue {
    fn from(word: &'static str) -> Self {
        Self::Word(Cow::Borrowed(word))
    }
}

impl From<bool> for EventValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// What else an event says: identifiers and words, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventData(BTreeMap<Cow<'static, str>, EventValue>);

impl EventData {
    /// No data.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<EventValue>) -> Self {
        self.0.insert(Cow::Borrowed(name), value.into());
        self
    }

    /// Adds a value if there is one.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl Into<EventValue>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The value with this name.
    pub fn get(&self, name: &str) -> Option<&EventValue> {
        self.0.get(name)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }
}

impl PartialSchema for EventData {
    fn schema() -> RefOr<Schema> {
        let value = OneOfBuilder::new()
            .item(integer(1))
            .item(string())
            .item(ObjectBuilder::new().schema_type(Type::Boolean));
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .additional_properties(Some(AdditionalProperties::RefOr(value.into())))
            .into()
    }
}

impl ToSchema for EventData {}

/// A change of one subject, as the transaction that makes it records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The type of the event.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// What was changed.
    pub subject: Subject,
    /// The names of the changed fields.
    pub changed: Vec<Cow<'static, str>>,
    /// What else the event says.
    pub data: EventData,
}

/// An event of the change feed. Events never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// The identifier.
    pub id: Id,
    /// The number in the feed, which has no gaps; `null` for the test of a webhook endpoint, which is not in the feed.
    #[schema(minimum = 1)]
    pub seq: Option<u64>,
    /// The type.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// When the change was made.
    pub at: Timestamp,
    /// The mode.
    pub mode: Mode,
    /// What was changed.
    pub subject: Subject,
    /// Who changed it.
    pub actor: EventActor,
    /// The names of the changed fields.
    pub changed: Vec<Cow<'static, str>>,
    /// What else the event says: identifiers and words of enumerations, by name.
    pub data: EventData,
    /// Whether an import made the change.
    #[serde(default)]
    #[schema(required = true)]
    pub imported: bool,
    /// Whether no webhook endpoint gets the event, because the import was not to notify them.
    #[serde(default, skip_serializing)]
    #[schema(ignore)]
    pub quiet: bool,
}

impl Event {
    /// The time for which the feed keeps events.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

    /// The candidate whom the event is about, if it is about one.
    pub fn candidate(&self) -> Option<Id> {
        match (self.subject.kind, self.data.get("candidate_id")) {
            (SubjectType::Candidate, _) => self.subject.id,
            (_, Some(EventValue::Id(candidate))) => Some(*candidate),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn events_about_a_person_name_the_candidate() {
        let candidate = Id::new(17);
        for kind in EventType::ALL {
            let noun = kind.as_str().split_once('.').unwrap().0;
            let is_about = ["candidate", "application", "file", "note", "screen"].contains(&noun);
            let named = kind.data().contains(&"candidate_id");
            assert_eq!(named, is_about && noun != "candidate", "{kind:?}");
            let data = EventData::new().with_some("candidate_id", candidate.filter(|_| named));
            let subject = if noun == "candidate" { SubjectType::Candidate } else { SubjectType::Role };
            let event = Event {
                id: Id::LAST,
                seq: None,
                kind,
                at: Timestamp::UNIX_EPOCH,
                mode: Mode::Live,
                subject: Subject { kind: subject, id: candidate, version: 1 },
                actor: EventActor { kind: AuditActorKind::System, id: None },
                changed: Vec::new(),
                data,
                imported: false,
                quiet: false,
            };
            assert_eq!(event.candidate(), candidate.filter(|_| is_about), "{kind:?}");
        }
    }

    #[test]
    fn every_type_is_a_noun_and_a_past_participle() {
        for kind in EventType::ALL {
            let (noun, verb) = kind.as_str().split_once('.').unwrap();
            assert!(!noun.is_empty(), "{kind:?}");
            let last = verb.rsplit('_').next().unwrap();
            assert!(last.ends_with("ed") || ["set", "undone", "withdrawn"].contains(&last), "{kind:?}");
            assert!(kind.description().ends_with('.'), "{kind:?}");
        }
    }

    #[test]
    fn every_name_in_data_has_one_type() {
        let used: BTreeSet<_> = EventType::ALL.iter().flat_map(|kind| kind.data()).copied().collect();
        let declared: Vec<_> = DATA_NAMES.iter().map(|(name, ..)| *name).collect();
        assert_eq!(declared.iter().copied().collect::<BTreeSet<_>>(), used);
        assert_eq!(declared.len(), used.len());
    }

    #[test]
    fn data_is_written_as_plain_values() {
        let id = Id::new(17).unwrap();
        let data = EventData::new().with("role_id", id).with("to", "offer").with("granted", true);
        let data = data.with_some("reason", None::<&'static str>);
        let json = serde_json::to_value(&data).unwrap();
        assert_eq!(json, serde_json::json!({ "role_id": 17, "to": "offer", "granted": true }));
        assert_eq!(serde_json::from_value::<EventData>(json).unwrap(), data);
    }
}
