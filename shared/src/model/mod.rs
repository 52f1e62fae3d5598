//! The hiring domain, pure: values that cannot be wrong and the state machines that govern them.
//!
//! No input or output, no wire form. `serde` here is the stored form, read and written by the store alone.

mod day;
mod organization;
mod posting;
mod role;
mod slug;
mod text;
mod words;

pub use day::Day;
pub use organization::{Mode, Organization, Plan, Scope, Scopes, Tenant};
pub use posting::{NotPublishable, Posting, PostingContent};
pub use role::{
    Department, InvalidTransition, Location, LongText, PostingLink, RemotePolicy, Role, RoleContent,
    RoleStats, RoleStatus, Salary, SalaryRange, Title,
};
pub use slug::Slug;
pub use text::Text;
