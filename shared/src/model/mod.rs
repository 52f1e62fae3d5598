//! The domain model: values that are always valid, and the state machines of roles, candidates and voice screens.
//!
//! The model performs no I/O. The store reads and writes its types in their `serde` format. Some types have the same
//! format in the API: single values and enumerations (see [`schema`] and [`Value`]), touchpoints, transcripts, excerpts
//! and scores. Changing their format also changes the API. All other types of the API are in `resources` and the
//! functions.

mod accent;
mod actor;
mod answer;
mod application;
mod audience;
mod audit;
mod bulk_act;
mod candidate;
mod candidate_file_kind;
mod career_site;
mod channel;
mod consent;
mod contact;
mod country;
mod country_zones;
mod currency;
mod day;
mod device;
mod erasure;
mod event;
mod evidence;
mod export;
mod file;
mod folding;
mod gate_hash;
mod grant;
mod hiring_stats;
mod import;
mod import_matching;
mod import_settings;
mod import_zip;
mod imported_people;
mod index_form;
mod job_board;
mod label;
mod legal_hold;
mod logo;
mod member;
mod mentions;
mod network;
mod note;
mod notice;
mod offered;
mod opening;
mod organization;
mod passkey;
mod password;
mod pay;
mod phone;
mod phone_digits;
mod place;
mod posting;
mod product_name;
mod public_name;
mod question;
mod redirect_uri;
mod rejection;
mod resume;
mod retention;
mod role;
mod saved_view;
pub mod schema;
mod screen;
mod search;
mod second_factor;
mod session;
mod slug;
mod source;
mod stage;
mod string_enum;
mod submission;
mod suspect;
mod tags;
mod task;
mod text;
mod time_zone;
mod touchpoint;
mod turn;
mod value;
mod webhook_delivery;
mod webhook_endpoint;
mod webhook_keys;
mod webhook_url;
mod wire;
pub mod x_text;

pub use accent::{Accent, Colour};
pub use actor::{Actor, ActorId, ActorKind};
pub use answer::{Answer, AnswerNumber, AnswerValue, Answers, GivenAnswer};
pub use application::{
    Application, ApplicationStatus, End, Move, Notes, Origin, RoleCopy, RoleState, StageCount,
};
pub use audience::{Audience, Resource};
pub use audit::{
    AuditAction, AuditActor, AuditActorKind, AuditActorTerm, AuditEntry, AuditTarget, AuditTargetKind,
    ToolCall, ToolOutcome,
};
pub use bulk_act::{BulkAct, BulkKind, BulkPart, BulkPerson, BulkResult, BulkState, BulkStop, BulkWords};
pub use candidate::{
    ApplicationError, Candidate, CandidateRecord, Followed, InvitationError, MoveError, Moved, Name,
    OpenScreen, OwnStage, Profile, Step, TooManyConsents, Unfinished,
};
pub use candidate_file_kind::CandidateFileKind;
pub use career_site::{ApplicationLimits, Branding, CareerSite, Introduction, PrivacyText};
pub use channel::{ChannelStatus, ConnectionStatus, Metrics, Post, WhatsAppConnection, XConnection};
pub use consent::{Consent, ConsentPurpose, ConsentWording, SubmittedConsent};
pub use contact::{Email, WebAddress};
pub use country::Country;
pub use country_zones::CallingHours;
pub use currency::Currency;
pub use day::Day;
pub use device::Device;
pub use erasure::{ErasedApplication, ErasedCandidate, Erasure, ErasureReason, OnHold};
pub use event::{
    Change, DATA_NAMES, Event, EventActor, EventData, EventType, EventValue, Subject, SubjectType,
};
pub use evidence::Evidence;
pub use export::{
    Export, ExportFile, ExportFormat, ExportKind, ExportOrder, ExportStatus, ExportStep, ExportUse,
    TooManyExports,
};
pub use file::{
    AwaitedUpload, CandidateFile, FileContent, FileName, FileOrigin, FileStatus, TooManyFiles,
    giving_way_to_form, giving_way_to_team,
};
pub use folding::CaseFolded;
pub use gate_hash::GateHash;
pub use grant::{
    Client, ClientAuthentication, ClientName, Code, CodeVerifier, Grant, GrantType, NarrowedSite,
    PreviousAccess, Refresh, ResponseType, Room, TokenSet, UsedRefresh, challenge,
};
pub use hiring_stats::{HiringStats, STAGE_SHARDS, StageTotals, StayLength, WEEKS};
pub use import::{
    Import, ImportCounts, ImportDefaults, ImportFindings, ImportFormat, ImportPart, ImportSettings,
    ImportStatus, ImportUse, ImportVerdict, ImportedRow, RowResult,
};
pub use import_settings::{DateFormat, ImportColumn, ImportField, ImportMapping, TextEncoding};
pub use import_zip::{AssignedFile, ImportFilesStatus, ImportZip, ImportedFile, ZippedFile};
pub use imported_people::ImportedApplication;
pub use index_form::IndexForm;
pub use job_board::JobBoard;
pub use label::Label;
pub use legal_hold::{HoldReason, LegalHold};
pub use logo::{Logo, LogoFormat, LogoHash};
pub use member::{Link, Member, MemberRole};
pub use mentions::{Handles, may_mention};
pub use network::Networks;
pub use note::{Note, NoteText};
pub use notice::{ImportOutcome, Notice, NoticeEvent};
pub use offered::{Offered, OfferedConsent};
pub use opening::{Opening, RoleAndPosting, Visibility};
pub use organization::{
    ConfirmationRule, Mode, NamedOrganization, Organization, OrganizationSettings, Plan, Scope, Scopes,
    Tenant,
};
pub use passkey::{Passkey, Passkeys};
pub use password::{Password, PasswordCost, PasswordHash};
pub use pay::{Amount, Pay, PayPeriod, Salary};
pub use phone::{GivenPhone, Phone, PhoneError, TypedPhone};
pub use phone_digits::PlainPhones;
pub use place::{City, Location, Place, Places, PostalCode, Region};
pub use posting::{Posting, PostingContent, PublicContent, PublishError};
pub use product_name::names_product;
pub use public_name::is_public_name;
pub use question::{
    GivenQuestion, LongAnswer, Question, QuestionContent, QuestionHelp, QuestionKind, QuestionLabel,
    QuestionOption, Questions, ShortText,
};
pub use redirect_uri::RedirectUri;
pub use rejection::{
    Cause, CountedCause, EndedBy, Reason, ReasonInput, ReasonName, Rejection, RejectionReason,
    RejectionReasons,
};
pub use resume::{Resume, ResumeFile, SuspectFile};
pub use retention::{Retention, RetentionDays, RetentionSchedule, RetentionSetting, RetentionStart};
pub use role::{
    Department, EmploymentType, InvalidTransition, LongText, PostingLink, RemotePolicy, Role, RoleContent,
    RoleStats, RoleStatus, StageStats, Title,
};
pub use saved_view::{SavedView, SavedViews, ViewName};
pub use screen::{
    Analysis, Assessment, CallState, CancelReason, Excerpt, Failure, Invitation, Orders, Outcome, Report,
    Review, ReviewDecision, ReviewNote, Scores, Screen, ScreenRecord, ScreenResult, ScreenStatus,
    VoiceProvider,
};
pub use search::{IndexPosition, SearchQuery, SearchWords};
pub use second_factor::{AcceptedCode, SecondFactor, TotpSecret};
pub use session::{Session, SignInMethod};
pub use slug::Slug;
pub use source::Source;
pub use stage::{Stage, Waiting};
pub use submission::{ApplicationForm, Submission, Submitted};
pub use suspect::{SuspectForm, SuspectSign};
pub use tags::{Tag, Tags};
pub use task::TaskKind;
pub use text::{ExternalId, Lines, Text, grouped, non_blank};
pub use time_zone::TimeZoneName;
pub use touchpoint::{Touchpoint, TouchpointKind};
pub use turn::{Speaker, Turn};
pub use value::{Scalar, Value, one_of};
pub use webhook_delivery::{Attempt, Delivery, DeliveryOrigin, DeliveryStatus, MAX_ANSWER, retry_after};
pub use webhook_endpoint::{
    DisabledReason, EndpointDescription, EndpointProgress, EndpointStatus, FeedPosition, PreviousKeys,
    Replay, RotatedRecently, StoredKeys, WebhookEndpoint,
};
pub use webhook_keys::{WebhookHeaders, WebhookKeys};
pub use webhook_url::EndpointUrl;
pub use x_text::Style;
