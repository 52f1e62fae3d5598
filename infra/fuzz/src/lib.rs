//! Fuzz targets. Each one gives arbitrary bytes to the code that parses what other people send, and checks the result.
//!
//! libFuzzer drives them with the binaries in `targets/`. An ordinary test replays the corpus. `README.md` explains both.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a panic is a finding"
)]

mod bodies;
mod callbacks;
mod credentials;
mod cursors;
mod deployment;
mod frozen_table;
mod gateway;
mod input;
mod markdown;
mod oauth_clients;
mod people;
mod posts;
mod redirect_uris;
mod resumes;
mod rpc;
mod slugs;

pub use bodies::request_bodies;
pub use callbacks::callbacks;
pub use credentials::credentials;
pub use cursors::cursors;
pub use gateway::{gateway_events, requests};
pub use markdown::markdown;
pub use oauth_clients::{client_addresses, client_documents};
pub use people::import_files;
pub use posts::x_posts;
pub use redirect_uris::redirect_uris;
pub use resumes::{compound_files, resumes, zips};
pub use rpc::rpc_messages;
pub use slugs::slugs;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target, of its binary and of its corpus.
    pub name: &'static str,
    /// Runs one input. It panics if a property does not hold.
    pub run: fn(&[u8]),
    /// The number of random inputs in an ordinary test.
    pub random_inputs: u32,
}

/// All targets, in alphabetical order.
pub const TARGETS: [Target; 17] = [
    Target { name: "callbacks", run: callbacks, random_inputs: 500 },
    Target { name: "client_addresses", run: client_addresses, random_inputs: 1_000 },
    Target { name: "client_documents", run: client_documents, random_inputs: 1_000 },
    Target { name: "compound_files", run: compound_files, random_inputs: 500 },
    Target { name: "credentials", run: credentials, random_inputs: 1_000 },
    Target { name: "cursors", run: cursors, random_inputs: 1_000 },
    Target { name: "gateway_events", run: gateway_events, random_inputs: 100 },
    Target { name: "import_files", run: import_files, random_inputs: 300 },
    Target { name: "markdown", run: markdown, random_inputs: 200 },
    Target { name: "redirect_uris", run: redirect_uris, random_inputs: 1_000 },
    Target { name: "request_bodies", run: request_bodies, random_inputs: 500 },
    Target { name: "requests", run: requests, random_inputs: 100 },
    Target { name: "resumes", run: resumes, random_inputs: 500 },
    Target { name: "rpc_messages", run: rpc_messages, random_inputs: 100 },
    Target { name: "slugs", run: slugs, random_inputs: 1_000 },
    Target { name: "x_posts", run: x_posts, random_inputs: 100 },
    Target { name: "zips", run: zips, random_inputs: 500 },
];
