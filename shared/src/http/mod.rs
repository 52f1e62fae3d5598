//! HTTP as this API speaks it: from a gateway event to domain values and back.
//!
//! Nothing here knows a resource, and no handler sees a header.

mod app;
mod call;
mod cursor;
mod error;
mod fields;
mod headers;
mod reply;
mod route;
mod visit;

pub use app::{App, Environment};
pub use call::{Call, Listing};
pub use error::Error;
pub use fields::{Change, Fields, Input, Scalar, Value};
pub use reply::{Collection, Reply};
pub use route::{Access, Route};
pub use visit::Visit;
