//! The rules of hiring. Each change that the API offers is one function here, which members also use in the dashboard.
//!
//! These functions are the handlers of API routes. The dashboard calls them with a member's form in place of a JSON body
//! (`MemberRequest::carry_out`).

mod candidate;
pub mod candidates;
pub mod consents;
pub mod erasure;
pub mod export;
pub mod moves;
pub mod notes;
pub mod postings;
pub mod quick_post;
pub mod resumes;
pub mod roles;
pub mod screens;
pub mod webhooks;
pub mod x_posts;

pub use candidate::{find, with_current_roles};

use crate::http::Error;

/// The error of a field with this message.
fn invalid(message: &str) -> Error {
    Error::Validation(vec![message.to_owned()])
}
