//! The local service's parts; the tests use them to run the real functions behind real gateway events.

pub mod bucket;
pub mod database;
pub mod demo;
pub mod functions;
pub mod gateway;
pub mod recorded;
pub mod server;
pub mod template;
