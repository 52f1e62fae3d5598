//! The audit log: who did what, on what, from where and when. Entries contain identifiers, but no personal data.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::schema::string;
use super::string_enum::string_enum;
use super::{Actor, ActorKind, Scalar, Value};
use crate::clock::Timestamp;
use crate::id::Id;

macro_rules! audit_actions {
    ($($(#[$documented:meta])* $action:ident = $word:literal: $verb:literal, $label:literal,)+) => {
        string_enum! {
            /// What was done. The words are stored, and are part of keys: append words, never change them.
            pub enum AuditAction {
                $($(#[$documented])* $action = $word,)+
            }
        }

        impl AuditAction {
            /// What was done, as the middle of a sentence: the actor comes before it, and what it was done on after it.
            pub const fn verb(self) -> &'static str {
                match self {
                    $(Self::$action => $verb,)+
                }
            }

            /// What was done, as an option of a list.
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$action => $label,)+
                }
            }
        }
    };
}

audit_actions! {
    /// A member signed in.
    SessionCreated = "session.created": "signed in", "Sign-in",
    /// A member signed out.
    SessionEnded = "session.ended": "signed out", "Sign-out",
    /// A member ended all of his or her sessions.
    SessionsEnded = "sessions.ended": "signed out everywhere", "Sign-out everywhere",
    /// Somebody entered a wrong password for a member.
    SignInFailed = "sign_in.failed": "entered a wrong password for", "Wrong password",
    /// A member set a password, with a link or in the account's settings.
    PasswordChanged = "password.changed": "set a new password", "New password",
    /// A member was invited.
    MemberInvited = "member.invited": "invited", "Member invited",
    /// A link to set a member's password was created.
    MemberLinkCreated = "member.link_created": "created a password link for", "Password link created",
    /// A member's role was changed.
    MemberRoleChanged = "member.role_changed": "changed the role of", "Role of a member changed",
    /// A member was removed.
    MemberRemoved = "member.removed": "removed", "Member removed",
    /// A member set up a second factor.
    SecondFactorAdded = "second_factor.added": "set up a second factor", "Second factor set up",
    /// A member's second factor was removed.
    SecondFactorRemoved = "second_factor.removed": "removed the second factor of", "Second factor removed",
    /// A member added a passkey.
    PasskeyAdded = "passkey.added": "added a passkey for", "Passkey added",
    /// A passkey of a member was removed.
    PasskeyRemoved = "passkey.removed": "removed a passkey of", "Passkey removed",
    /// An API key was created.
    ApiKeyCreated = "api_key.created": "created the API key", "API key created",
    /// A new API key replaced an API key.
    ApiKeyRotated = "api_key.rotated": "replaced the API key", "API key replaced",
    /// An API key was revoked.
    ApiKeyRevoked = "api_key.revoked": "revoked the API key", "API key revoked",
    /// A member gave an application access.
    GrantCreated = "grant.created": "connected the application", "Application connected",
    /// An application's access was revoked.
    GrantRevoked = "grant.revoked": "revoked the access of the application", "Access of an application revoked",
    /// A setting was changed; the target says which.
    SettingsChanged = "settings.changed": "changed", "Settings changed",
    /// An account on X or `WhatsApp` was connected.
    ChannelConnected = "channel.connected": "connected", "Channel connected",
    /// An account on X or `WhatsApp` was disconnected.
    ChannelDisconnected = "channel.disconnected": "disconnected", "Channel disconnected",
    /// The organization was suspended.
    OrganizationSuspended = "organization.suspended": "suspended the organization", "Organization suspended",
    /// The organization's suspension ended.
    OrganizationResumed = "organization.resumed": "ended the organization's suspension", "Suspension ended",
    /// All data of the organization was exported.
    OrganizationExported = "organization.exported": "exported all data of the organization", "Organization exported",
    /// Everything about a candidate was exported.
    CandidateExported = "candidate.exported": "exported everything about candidate", "Candidate exported",
    /// A candidate was erased.
    CandidateErased = "candidate.erased": "erased candidate", "Candidate erased",
    /// A legal hold was set on a candidate, or its reason was changed.
    LegalHoldSet = "legal_hold.set": "set a legal hold on candidate", "Legal hold set",
    /// The legal hold on a candidate was lifted.
    LegalHoldLifted = "legal_hold.lifted": "lifted the legal hold on candidate", "Legal hold lifted",
    /// A candidate was read.
    CandidateRead = "candidate.read": "read candidate", "Candidate read",
    /// A page of a list of candidates was read.
    CandidatesListed = "candidates.listed": "read a list of candidates", "List of candidates read",
    /// A page of candidates who were searched for was read.
    CandidatesSearched = "candidates.searched": "searched for candidates", "Search for candidates",
    /// A page of a candidate's history was read.
    TouchpointsListed = "touchpoints.listed": "read the history of candidate", "History of a candidate read",
    /// A page of the notes about a candidate was read.
    NotesListed = "notes.listed": "read the notes about candidate", "Notes about a candidate read",
    /// A page of a candidate's files was read.
    FilesListed = "files.listed": "read the list of files of candidate", "Files of a candidate listed",
    /// A file of a candidate was opened.
    FileRead = "file.read": "opened a file of candidate", "File of a candidate opened",
    /// An application was read.
    ApplicationRead = "application.read": "read application", "Application read",
    /// A page of a list of applications was read.
    ApplicationsListed = "applications.listed": "read a list of applications", "List of applications read",
    /// A voice screen with its transcript was read.
    VoiceScreenRead = "voice_screen.read": "read voice screen", "Voice screen read",
    /// A page of a list of voice screens was read.
    VoiceScreensListed = "voice_screens.listed": "read a list of voice screens", "List of voice screens read",
    /// An assistant called a tool; the entry names the tool and the outcome.
    ToolCalled = "tool.called": "called the tool", "Tool call",
    /// The scopes of an application were narrowed to reading.
    GrantNarrowed = "grant.narrowed": "narrowed to reading the application", "Application narrowed to reading",
    /// Applications at the redirect target of a narrowed one may have all scopes again.
    GrantNarrowingLifted = "grant.narrowing_lifted": "lifted the narrowing that began with the application", "Narrowing of applications lifted",
    /// A webhook endpoint was created.
    WebhookEndpointCreated = "webhook_endpoint.created": "added the webhook endpoint", "Webhook endpoint added",
    /// A webhook endpoint was changed, enabled or disabled.
    WebhookEndpointUpdated = "webhook_endpoint.updated": "changed the webhook endpoint", "Webhook endpoint changed",
    /// The secret of a webhook endpoint was replaced.
    WebhookEndpointSecretRotated = "webhook_endpoint.secret_rotated": "replaced the secret of the webhook endpoint", "Secret of a webhook endpoint replaced",
    /// A webhook endpoint was deleted.
    WebhookEndpointDeleted = "webhook_endpoint.deleted": "deleted the webhook endpoint", "Webhook endpoint deleted",
    /// A submitted application form was read.
    SubmissionRead = "submission.read": "read an application form of candidate", "Application form read",
    /// Suspect application forms were discarded.
    SuspectFormsDiscarded = "suspect_forms.discarded": "discarded suspect application forms", "Suspect forms discarded",
    /// A member confirmed or refused a call of an assistant; the entry names the tool and the decision.
    ConfirmationDecided = "confirmation.decided": "decided on an assistant's call about", "Decision on an assistant's call",
    /// An import was created.
    ImportCreated = "import.created": "began the import", "Import begun",
    /// An import was run.
    ImportRun = "import.run": "ran the import", "Import run",
    /// An import was cancelled.
    ImportCancelled = "import.cancelled": "cancelled the import", "Import cancelled",
    /// An import was undone.
    ImportUndone = "import.undone": "undid the import", "Import undone",
    /// An export was created.
    ExportCreated = "export.created": "began the export", "Export begun",
    /// The links to the files of an export were read.
    ExportRead = "export.read": "opened the files of the export", "Files of an export opened",
}

string_enum! {
    /// The type of what an act was done on.
    pub enum AuditTargetKind {
        /// A member.
        Member = "member",
        /// An API key.
        ApiKey = "api_key",
        /// An application's access.
        Grant = "grant",
        /// A candidate.
        Candidate = "candidate",
        /// An application for a role.
        Application = "application",
        /// A voice screen.
        VoiceScreen = "voice_screen",
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
        /// The plan.
        Plan = "plan",
        /// The X account.
        X = "x",
        /// The `WhatsApp` number.
        WhatsApp = "whatsapp",
        /// A webhook endpoint.
        WebhookEndpoint = "webhook_endpoint",
        /// The country, the time zone and the contact address of the organization.
        Organization = "organization",
        /// The numbers of application forms above which a form is suspect.
        ApplicationLimits = "application_limits",
        /// A role.
        Role = "role",
        /// A job posting.
        JobPosting = "job_posting",
        /// Where members confirm what assistants do.
        ConfirmationRule = "confirmation_rule",
        /// The list of rejection reasons.
        RejectionReasons = "rejection_reasons",
        /// An import.
        Import = "import",
        /// An export.
        Export = "export",
    }
}

string_enum! {
    /// The type of who did something.
    pub enum AuditActorKind {
        /// An API key.
        ApiKey = "api_key",
        /// An application with OAuth access.
        App = "app",
        /// A member, in the dashboard.
        Member = "member",
        /// The operator of the service.
        Operator = "operator",
        /// The service itself, for example a scheduled job.
        System = "system",
        /// Somebody who is not signed in.
        Unknown = "unknown",
    }
}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditActor {
    /// The type.
    #[serde(rename = "type")]
    pub kind: AuditActorKind,
    /// The API key, the application's grant or the member; `None` for the other types.
    pub id: Option<Id>,
    /// The member who gave the application access, if that is known.
    pub member: Option<Id>,
}

/// What an act was done on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditTarget {
    /// The type.
    #[serde(rename = "type")]
    pub kind: AuditTargetKind,
    /// The identifier; `None` for what an organization has only once, such as a setting.
    pub id: Option<Id>,
}

string_enum! {
    /// The outcome of a call of a tool.
    pub enum ToolOutcome {
        /// The call was carried out.
        Done = "done",
        /// The call was rejected, for example because of a mistake in it.
        Rejected = "rejected",
        /// The call waits for a member's confirmation.
        Asked = "asked",
        /// A member confirmed the call.
        Confirmed = "confirmed",
        /// A member refused the call.
        Refused = "refused",
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The name of the tool.
    pub name: String,
    /// The outcome.
    pub outcome: ToolOutcome,
}

/// An entry of the audit log. Entries never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The identifier.
    pub id: Id,
    /// When it was done.
    pub at: Timestamp,
    /// Who did it.
    pub actor: AuditActor,
    /// What was done.
    pub action: AuditAction,
    /// What it was done on.
    pub target: Option<AuditTarget>,
    /// The number of items on the page, if a page of a list was read, or of the forms that were discarded.
    pub shown: Option<u64>,
    /// The client's network: an IPv4 address, or the /64 network of an IPv6 address.
    pub network: Option<String>,
    /// The call, if an assistant called a tool or a member decided on a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolCall>,
}

impl AuditEntry {
    /// The time for which entries are kept.
    pub const KEPT: SignedDuration = SignedDuration::from_hours(400 * 24);
}

impl AuditAction {
    /// Whether the act concerns the organization in both modes. It is then in the log of live mode.
    pub const fn concerns_both_modes(self) -> bool {
        matches!(
            self,
            Self::SessionCreated
                | Self::SessionEnded
                | Self::SessionsEnded
                | Self::SignInFailed
                | Self::SecondFactorAdded
                | Self::SecondFactorRemoved
                | Self::PasskeyAdded
                | Self::PasskeyRemoved
                | Self::PasswordChanged
                | Self::MemberInvited
                | Self::MemberLinkCreated
                | Self::MemberRoleChanged
                | Self::MemberRemoved
                | Self::OrganizationSuspended
                | Self::OrganizationResumed
                | Self::OrganizationExported
        )
    }

    /// The type of the resource whose identifier is in the path of a route that reads it; `None` if the route reads a
    /// page of a list of people.
    pub const fn resource(self) -> Option<AuditTargetKind> {
        match self {
            Self::CandidateRead
            | Self::CandidateExported
            | Self::TouchpointsListed
            | Self::NotesListed
            | Self::FilesListed
            | Self::FileRead
            | Self::SubmissionRead => Some(AuditTargetKind::Candidate),
            Self::ApplicationRead => Some(AuditTargetKind::Application),
            Self::VoiceScreenRead => Some(AuditTargetKind::VoiceScreen),
            Self::ExportRead => Some(AuditTargetKind::Export),
            _ => None,
        }
    }

    /// Whether an act of this actor is recorded. The log has no reads of people by API keys, because programs read
    /// everybody every night; the request log has the key of each request. Exports are recorded in any case.
    pub fn is_recorded_for(self, actor: AuditActorKind) -> bool {
        actor != AuditActorKind::ApiKey || matches!(self, Self::CandidateExported | Self::ExportRead)
    }
}

impl AuditTarget {
    /// What an organization has only once.
    pub const fn only(kind: AuditTargetKind) -> Self {
        Self { kind, id: None }
    }

    /// The resource with this identifier.
    pub const fn of(kind: AuditTargetKind, id: Id) -> Self {
        Self { kind, id: Some(id) }
    }
}

impl AuditActor {
    /// A member, in the dashboard.
    pub const fn member(id: Id) -> Self {
        Self { kind: AuditActorKind::Member, id: Some(id), member: None }
    }

    /// An application with this grant, which this member gave it.
    pub const fn app(grant: Id, member: Option<Id>) -> Self {
        Self { kind: AuditActorKind::App, id: Some(grant), member }
    }

    /// The operator, with the administration tool.
    pub const fn operator() -> Self {
        Self { kind: AuditActorKind::Operator, id: None, member: None }
    }

    /// The service itself.
    pub const fn system() -> Self {
        Self { kind: AuditActorKind::System, id: None, member: None }
    }

    /// Somebody who is not signed in.
    pub const fn unknown() -> Self {
        Self { kind: AuditActorKind::Unknown, id: None, member: None }
    }

    /// The holder of a credential. `member` gave an application its access.
    pub const fn of(actor: &Actor, member: Option<Id>) -> Self {
        let kind = match actor.kind {
            ActorKind::ApiKey => AuditActorKind::ApiKey,
            ActorKind::App => AuditActorKind::App,
            ActorKind::Member => AuditActorKind::Member,
            ActorKind::CareerPage => AuditActorKind::Unknown,
            ActorKind::VoiceProvider | ActorKind::System => AuditActorKind::System,
        };
        Self { kind, id: actor.id, member }
    }

    /// The actor as a search term.
    pub const fn term(self) -> AuditActorTerm {
        AuditActorTerm { kind: self.kind, id: self.id }
    }
}

/// An actor as a search term: `member:17`, `api_key:17`, `app:17`, `operator`, `system` or `unknown`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AuditActorTerm {
    /// The type.
    pub kind: AuditActorKind,
    /// The API key, the application's grant or the member.
    pub id: Option<Id>,
}

impl AuditActorKind {
    const fn has_id(self) -> bool {
        matches!(self, Self::ApiKey | Self::App | Self::Member)
    }
}

impl fmt::Display for AuditActorTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        self.id.map_or(Ok(()), |id| write!(f, ":{id}"))
    }
}

impl FromStr for AuditActorTerm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = match text.split_once(':') {
            None => text.parse().ok().map(|kind| Self { kind, id: None }),
            Some((kind, id)) => {
                kind.parse().ok().zip(id.parse().ok()).map(|(kind, id)| Self { kind, id: Some(id) })
            }
        };
        parsed.filter(|term| term.kind.has_id() == term.id.is_some()).ok_or_else(|| {
            "must be api_key:ID, app:ID (the grant's id), member:ID, operator, system or unknown".to_owned()
        })
    }
}

impl Value for AuditActorTerm {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Word(word) => word.parse().map(Some),
            _ => Err("must be a string".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        let pattern = "^((api_key|app|member):[1-9][0-9]{0,15}|operator|system|unknown)$";
        string().pattern(Some(pattern)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_actor_has_an_id_exactly_if_its_type_has_one() {
        for (text, is_valid) in [
            ("member:17", true),
            ("api_key:1", true),
            ("app:9007199254740991", true),
            ("operator", true),
            ("system", true),
            ("unknown", true),
            ("member", false),
            ("operator:1", false),
            ("member:", false),
            ("member:017", false),
            ("member:0", false),
            ("owner:1", false),
            ("member:1:2", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<AuditActorTerm>().is_ok(), is_valid, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_term_round_trips_through_text(kind in 0..AuditActorKind::ALL.len(), id in 1..=Id::MAX) {
            let kind = AuditActorKind::ALL[kind];
            let term = AuditActorTerm { kind, id: Id::new(id).filter(|_| kind.has_id()) };
            prop_assert_eq!(term.to_string().parse(), Ok(term));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = text.parse::<AuditActorTerm>();
        }
    }

    #[test]
    fn only_reads_by_api_keys_are_left_out() {
        use AuditAction::{CandidateExported, CandidateRead, CandidatesListed};
        for kind in AuditActorKind::ALL {
            let is_key = kind == AuditActorKind::ApiKey;
            assert_eq!(CandidateRead.is_recorded_for(kind), !is_key);
            assert_eq!(CandidatesListed.is_recorded_for(kind), !is_key);
            assert!(CandidateExported.is_recorded_for(kind));
        }
    }
}
