//! The API tests. They send gateway events to the functions, which use a DynamoDB. Each file covers one subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::large_futures,
    reason = "a panic in a test is a failure, and the stack is large enough"
)]

mod access;
mod audit_log;
mod bodies;
mod budget;
mod calls;
mod candidates;
mod candidates_cost;
mod careers_applications;
mod careers_branding;
mod careers_cost;
mod careers_feeds;
mod careers_jobs;
mod careers_openings;
mod careers_privacy;
mod careers_resumes;
mod channels;
mod consents;
mod cost;
mod dashboard_access;
mod dashboard_channels;
mod dashboard_cost;
mod dashboard_faults;
mod dashboard_files;
mod dashboard_keys;
mod dashboard_links;
mod dashboard_lists;
mod dashboard_members;
mod dashboard_notices;
mod dashboard_pages;
mod dashboard_person;
mod dashboard_previews;
mod dashboard_retention;
mod dashboard_second_factor;
mod dashboard_sessions;
mod dashboard_sign_in;
mod dashboard_work;
mod delivery;
mod demo_company;
mod docs;
mod edge;
mod endings;
mod engine;
mod erasure_show;
mod erasures;
mod events;
mod expiry;
mod exports;
mod fake_x;
mod faults;
mod finding;
mod finding_cost;
mod gate;
mod guide;
mod idempotency;
mod imports;
mod job_postings;
mod mcp_confirmations;
mod mcp_protocol;
mod notes;
mod oauth_access;
mod oauth_authorize;
mod oauth_consent;
mod oauth_documents;
mod oauth_faults;
mod oauth_metadata;
mod oauth_races;
mod oauth_refresh;
mod oauth_registration;
mod oauth_revoke;
mod oauth_secrets;
mod oauth_token;
mod openapi;
mod organization;
mod paging;
mod passkeys;
mod pipeline;
mod policies;
mod quick_post;
mod quota;
mod races;
mod retention;
mod roles;
mod secrets;
mod shape;
mod signing_keys;
mod start_page;
mod tasks;
mod touchpoints;
mod usage_reset;
mod vapi;
mod voice_cancellations;
mod voice_screens;
mod voice_webhook;
mod x_metrics;
mod x_posts;
mod x_tokens;
