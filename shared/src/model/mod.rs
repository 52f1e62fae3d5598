//! The domain model: values that are always valid, and the state machines of roles, candidates and voice screens.
//!
//! The model performs no I/O. The store reads and writes its types in their `serde` format. Some types have the same
//! format in the API: single values and enumerations (see [`schema`] and [`Value`]), touchpoints, transcripts, excerpts
//! and scores. Changing their format also changes the API. All other types of the API are in `resources` and the
//! functions.

mod accent;
mod candidate;
mod career_site;
mod channel;
mod contact;
mod day;
mod grant;
mod member;
mod opening;
mod organization;
mod password;
mod posting;
mod redirect_uri;
mod resume;
mod role;
pub mod schema;
mod screen;
mod slug;
mod string_enum;
mod text;
mod touchpoint;
mod value;
mod wire;
pub mod x_text;

pub use accent::{Accent, Colour};
pub use candidate::{
    Application, ApplicationError, ApplicationStatus, Candidate, CandidateRecord, InvitationError, Name,
    OpenScreen, Profile, Source, Stage,
};
pub use career_site::{Branding, CareerSite, Introduction};
pub use channel::{ChannelStatus, ConnectionStatus, Metrics, Post, WhatsAppConnection, XConnection};
pub use contact::{Email, Phone, WebAddress};
pub use day::Day;
pub use grant::{
    Client, ClientAuthentication, ClientCredential, ClientName, Code, Grant, GrantType, Refresh,
    ResponseType, SecretMethod, TokenSet, challenge,
};
pub use member::{Link, Member, MemberRole, Session};
pub use opening::{Opening, RoleAndPosting, Visibility};
pub use organization::{Mode, Organization, Plan, Scope, Scopes, Tenant};
pub use password::{Password, PasswordHash};
pub use posting::{Posting, PostingContent, PublishError};
pub use redirect_uri::RedirectUri;
pub use resume::{Resume, ResumeFile};
pub use role::{
    Department, InvalidTransition, Location, LongText, PostingLink, RemotePolicy, Role, RoleContent,
    RoleStats, RoleStatus, Salary, SalaryRange, Title,
};
pub use screen::{
    Analysis, CallState, Excerpt, Invitation, Outcome, Report, Scores, Screen, ScreenRecord, ScreenResult,
    ScreenStatus, Speaker, Turn, VoiceProvider,
};
pub use slug::Slug;
pub use text::{Lines, Text, grouped, non_blank};
pub use touchpoint::{Notes, Reason, Submission, Touchpoint, TouchpointKind};
pub use value::{Scalar, Value};
pub use x_text::Style;
