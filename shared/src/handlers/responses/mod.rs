//! API resources that more than one function returns.

pub mod application;
pub mod candidate;
pub mod consent;
pub mod data_export;
pub mod export;
pub mod file;
pub mod import;
pub mod note;
pub mod posting;
pub mod question;
pub mod resume;
pub mod role;
pub mod screen;
pub mod submission;
pub mod webhook;
