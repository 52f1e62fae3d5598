//! The hiring domain, pure: values that cannot be wrong and the state machines that govern them.
//!
//! No input or output, no wire form. `serde` here is the stored form, read and written by the store alone.

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
mod text;
mod touchpoint;
mod words;
pub mod x_text;

pub use accent::{Accent, Colour};
pub use candidate::{
    Application, ApplicationStatus, Candidate, CandidateFile, Name, NotApplicable, NotInvitable, OpenScreen,
    Profile, Source, Stage,
};
pub use career_site::{Branding, CareerSite, Introduction};
pub use channel::{ChannelStatus, Metrics, Post, Standing, WhatsAppConnection, XConnection};
pub use contact::{Email, Phone, WebAddress};
pub use day::Day;
pub use grant::{
    Client, ClientAuthentication, ClientName, Code, Grant, GrantType, Refresh, ResponseType, TokenSet,
    challenge,
};
pub use member::{Link, Member, MemberRole, Session};
pub use opening::{Opening, Visibility};
pub use organization::{Mode, Organization, Plan, Scope, Scopes, Tenant};
pub use password::{Password, PasswordHash};
pub use posting::{NotPublishable, Posting, PostingContent};
pub use redirect_uri::RedirectUri;
pub use resume::{Resume, ResumeFile};
pub use role::{
    Department, InvalidTransition, Location, LongText, PostingLink, RemotePolicy, Role, RoleContent,
    RoleStats, RoleStatus, Salary, SalaryRange, Title,
};
pub use screen::{
    Analysis, Dialing, Excerpt, Invitation, Outcome, Report, Scores, Screen, ScreenFile, ScreenResult,
    ScreenStatus, Speaker, Turn, VoiceProvider,
};
pub use slug::Slug;
pub use text::{Text, grouped};
pub use touchpoint::{Happening, Notes, Reason, Submission, Touchpoint};
pub use x_text::Style;
