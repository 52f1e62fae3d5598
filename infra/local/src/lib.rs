//! The parts of the local service. Tests also use them, to run the real functions behind gateway events.

pub mod bucket;
pub mod company;
pub mod database;
pub mod demo;
pub mod event_fixtures;
pub mod functions;
pub mod gateway;
pub mod in_process;
pub mod server;
pub mod template;
