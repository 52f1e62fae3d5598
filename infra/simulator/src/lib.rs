//! The simulator: a deployment of all functions in one process, on days when much goes wrong. Everything is chosen by a
//! seed, so each run can be repeated.
//!
//! Clients of several organizations use the API at the same time, while calls to the table are throttled, lost, slow or
//! in conflict, indexes lag, function instances are killed, clocks differ, and jobs overlap. Afterwards, all is quiet,
//! and the invariants in `invariants.rs` must hold.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a panic is a finding, and ends the run"
)]

mod browser;
mod clients;
pub mod cloud;
mod contents;
mod copies;
mod deployment;
mod factors;
mod faults;
mod imports;
mod invariants;
mod items;
mod kind;
mod outside;
mod people;
mod receivers;
mod run;
mod setup;
mod shrink;
mod sign_ins;
mod time;
mod work;

pub use imports::rows_before_the_task_of_another_tenant;
pub use run::{Report, Run, simulate};
pub use shrink::shrink;
