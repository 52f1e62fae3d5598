//! HTTP as this API speaks it: from a gateway event to domain values and back.
//!
//! Nothing here knows a resource, and no handler sees a header.

mod app;
mod browser;
mod call;
mod cursor;
mod document;
mod envelope;
mod error;
mod fields;
mod headers;
pub mod page;
mod parameters;
mod reply;
mod route;
mod visit;

pub use app::{App, Environment, audience};
pub use browser::{Browser, Desk};
pub use call::{Call, Listing};
pub use document::{Document, DocumentApp, DocumentRequest, DocumentRow};
pub use error::{Error, ErrorBody, OAuthError};
pub use fields::{Change, Fields, Input, Scalar, Value};
pub use parameters::Parameters;
pub use reply::{Added, Collection, Created, CreatedTogether, Output, Page, Reply, Unversioned};
pub use route::{Access, Form, Route, Row};
pub use visit::{FORM, Payload, Sent, Visit};
