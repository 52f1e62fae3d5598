//! One request without a credential, as its handler sees it.

use jiff::Timestamp;
use lambda_http::http::HeaderMap;

use super::headers;
use crate::clock::to_second;
use crate::id::Ids;
use crate::providers::Providers;
use crate::store::Store;

/// A request from whoever it may be.
pub struct Visit {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) store: Store,
    pub(super) ids: Ids,
    pub(super) now: Timestamp,
    pub(super) providers: Providers,
}

impl Visit {
    /// The path, decoded as the gateway decodes it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A header's value, where it was sent once and is visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        headers::single(&self.headers, name).ok().flatten()
    }

    /// The body, byte by byte as it was sent.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The table.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The time of the request, in whole seconds.
    pub fn now(&self) -> Timestamp {
        to_second(self.now)
    }

    /// Makes identifiers.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The outside services.
    pub fn providers(&self) -> &Providers {
        &self.providers
    }
}
