//! Code that the functions share. `shared/README.md` explains the architecture.
//!
//! The modules are layers. A module uses only modules below it in this list. A test checks this.
//!
//! - `runtime`: the start-up of a function, the log, and Lambda's event loop
//! - `handlers`: the handlers of API routes, which the dashboard and the tools of assistants use, too
//! - `http`: requests, replies, errors, dispatch, idempotency, cursors and entity tags
//! - `services`: operations that several functions share, such as applying for a role
//! - `auth`: the format of credentials, and their checksums and hashes
//! - `providers`: external services, their simulators, and the HTTP client
//! - `config`: the configuration as a type
//! - `store`: the table with its keys, reads, transactions and the gate
//! - `documents`: what uploaded documents are, and what they would do when they are opened
//! - `model`: valid values and state machines, without I/O
//! - `token_encryption`, `mac_keys`, `secret`, `spreadsheet`, `id`, `random`, `clock`, `base62`, `invisible`: the foundations

pub mod auth;
mod base62;
pub mod clock;
pub mod config;
pub mod descriptions;
pub mod documents;
pub mod handlers;
pub mod http;
pub mod id;
pub mod invisible;
pub mod mac_keys;
pub mod model;
pub mod providers;
pub mod random;
pub mod runtime;
pub mod secret;
pub mod services;
pub mod spreadsheet;
pub mod store;
pub mod token_encryption;
