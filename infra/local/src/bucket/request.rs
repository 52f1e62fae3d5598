//! The parameters and headers of requests.

use std::collections::BTreeMap;

use http::HeaderMap;

/// The names and values in a query string or a form.
pub(super) type Parameters = BTreeMap<String, String>;

/// Returns a header as text, if it is present and readable.
pub(super) fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| str::from_utf8(value.as_bytes()).ok())
}
