//! All handlers of API routes, with their input and response types. The dashboard and the tools of assistants call them, too.
//!
//! The dashboard calls them with a member's form in place of a JSON body, and a tool with its arguments (`HandlerCall`).

pub mod applications;
pub mod bulk_acts;
pub mod candidate_detail;
mod candidate_filter;
pub mod candidate_list;
mod candidate_lookup;
pub mod candidates;
pub mod channels;
pub mod consents;
pub mod erasure;
pub mod event_list;
pub mod export;
pub mod export_rows;
pub mod exports;
pub mod files;
pub mod import_files;
pub mod import_row;
pub mod imports;
pub mod moves;
pub mod notes;
pub mod organization;
pub mod postings;
mod questions;
pub mod quick_post;
pub mod rejection_reasons;
pub mod responses;
pub mod role_queries;
pub mod role_stats;
pub mod roles;
pub mod screen_queries;
pub mod screens;
pub mod submissions;
pub mod webhooks;
pub mod x_posts;

use crate::http::Error;

/// The error of a field with this message.
fn invalid(message: &str) -> Error {
    Error::Validation(vec![message.to_owned()])
}
