//! Recorded requests and responses.

use std::collections::BTreeSet;

use serde_json::Value;

/// A recorded successful request and its response.
#[derive(Clone, Debug)]
pub struct Example {
    /// The request's body, or `null` if it had none.
    pub request: Value,
    /// The response's body.
    pub response: Value,
    /// The `Location` header, or an empty string.
    pub location: String,
    /// The recorded error responses of the same route.
    pub refusals: Vec<Refused>,
}

/// A recorded error response.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The status.
    pub status: u16,
    /// The names of the headers.
    pub headers: BTreeSet<String>,
    /// The body.
    pub body: Value,
}
