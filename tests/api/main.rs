//! The API, through gateway events, against a DynamoDB. One file a subject.

mod access;
mod bodies;
mod budget;
mod events;
mod faults;
mod idempotency;
mod job_postings;
mod organization;
mod paging;
mod quick_post;
mod quota;
mod races;
mod roles;
mod shape;
mod usage_reset;
