//! What every Rolecall function stands on.
//!
//! The arrows go one way: `functions -> runtime -> resources -> http -> membership -> auth -> (accounts, screening) -> (providers,
//! config) -> store -> model -> (sealed, secret, id, clock, random)`.
//! A request runs through them as: event, credential and quota, scope, syntax, existence, validation, state, store, reply.

pub mod accounts;
pub mod auth;
pub mod clock;
pub mod config;
pub mod http;
pub mod id;
pub mod membership;
pub mod model;
pub mod providers;
pub mod random;
pub mod resources;
pub mod runtime;
pub mod screening;
pub mod sealed;
pub mod secret;
pub mod store;
