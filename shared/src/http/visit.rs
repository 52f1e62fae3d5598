//! One request without a credential, as its handler sees it.

use std::net::Ipv6Addr;

use jiff::Timestamp;
use lambda_http::aws_lambda_events::query_map::QueryMap;
use lambda_http::http::HeaderMap;

use super::parameters::Parameters;
use super::reply::etag;
use super::{Error, Page, Reply, headers};
use crate::clock::to_second;
use crate::id::{Id, Ids};
use crate::providers::Providers;
use crate::random::Random;
use crate::secret::Secret;
use crate::store::Store;

/// A request from whoever it may be.
pub struct Visit {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) parameters: QueryMap,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) source: String,
    pub(super) base_url: String,
    pub(super) store: Store,
    pub(super) ids: Ids,
    pub(super) random: Random,
    pub(super) signing_key: Secret,
    pub(super) now: Timestamp,
    pub(super) providers: Providers,
}

/// The largest form.
const MAX_FORM: usize = 64 * 1024;

impl Visit {
    /// The path, decoded as the gateway decodes it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The identifier in the path. What cannot be one names nothing.
    pub fn id(&self) -> Result<Id, Error> {
        self.parameter("id").parse().map_err(|_| Error::NotFound)
    }

    /// The part of the path that the route calls `name`; empty where it has none.
    pub fn parameter(&self, name: &str) -> &str {
        self.parameters.first(name).unwrap_or_default()
    }

    /// The query's parameters.
    pub fn query(&self) -> Parameters {
        Parameters::parse(self.query.as_bytes())
    }

    /// The body's parameters, where it is a form of at most 64 KB.
    pub fn form(&self) -> Result<Parameters, Error> {
        if self.body.len() > MAX_FORM {
            return Err(Error::PayloadTooLarge(MAX_FORM));
        }
        if !headers::is_form(&self.headers) {
            return Err(Error::UnsupportedMediaType("application/x-www-form-urlencoded"));
        }
        Ok(Parameters::parse(&self.body))
    }

    /// A header's value, where it was sent once and is visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        headers::single(&self.headers, name).ok().flatten()
    }

    /// A reply that caches may hold for half a minute, so that what changes shows within one; where the caller has it
    /// already, only that (RFC 9110, section 13.1.2).
    pub fn cached(&self, reply: Reply<Page>) -> Reply<Page> {
        let tag = etag(&reply.body);
        let is_known = headers::if_none_match(&self.headers, &tag);
        let reply = reply.with("cache-control", "public, max-age=30".to_owned()).with("etag", tag);
        if is_known && reply.status == 200 { reply.not_modified() } else { reply }
    }

    /// The body, byte by byte as it was sent.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Where the request came from, as the gateway saw it: an IPv4 address, or the network that an IPv6 address is in,
    /// of which one household has billions.
    pub fn source(&self) -> String {
        match self.source.parse::<Ipv6Addr>() {
            Ok(address) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            Err(_) => self.source.clone(),
        }
    }

    /// The address that public links begin with.
    pub fn base_url(&self) -> &str {
        &self.base_url
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

    /// Randomness.
    pub fn random(&self) -> &Random {
        &self.random
    }

    /// Signs what we want to recognise.
    pub fn signing_key(&self) -> &Secret {
        &self.signing_key
    }

    /// The outside services.
    pub fn providers(&self) -> &Providers {
        &self.providers
    }
}
