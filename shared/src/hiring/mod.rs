//! API handlers that the dashboard and the MCP tools share: the rules of hiring.
//!
//! The dashboard calls them with a member's form in place of a JSON body, and a tool with its arguments (`HandlerCall`).

mod candidate;
pub mod candidate_detail;
mod candidate_filter;
pub mod candidate_list;
pub mod candidates;
pub mod consents;
pub mod erasure;
pub mod event_list;
pub mod export;
pub mod moves;
pub mod notes;
pub mod postings;
pub mod quick_post;
pub mod resumes;
pub mod role_list;
pub mod role_stats;
pub mod roles;
pub mod screen_list;
pub mod screens;
pub mod submissions;
pub mod webhooks;
pub mod x_posts;

use crate::http::Error;

/// The error of a field with this message.
fn invalid(message: &str) -> Error {
    Error::Validation(vec![message.to_owned()])
}
