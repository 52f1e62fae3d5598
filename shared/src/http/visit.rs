//! One request without a credential, as its handler sees it.

use std::marker::PhantomData;
use std::net::Ipv6Addr;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use lambda_http::aws_lambda_events::query_map::QueryMap;
use lambda_http::http::HeaderMap;
use utoipa::ToSchema;

use super::parameters::Parameters;
use super::{Error, Reply, headers};
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

/// What a program brings along with a visit, as the API describes it.
pub trait Payload {
    /// The body's media type; `None` where there is no body.
    const MEDIA: Option<&'static str> = None;
    /// The parameters of query and headers, by the names that the API has for them.
    const PARAMETERS: &'static [&'static str] = &[];
    /// The body.
    type Body: ToSchema;
}

/// Nothing.
impl Payload for () {
    type Body = ();
}

/// A visit that brings a `P`.
pub struct Sent<P> {
    visit: Arc<Visit>,
    payload: PhantomData<fn() -> P>,
}

impl<P> Sent<P> {
    pub(super) fn new(visit: Arc<Visit>) -> Self {
        Self { visit, payload: PhantomData }
    }
}

impl<P> Deref for Sent<P> {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.visit
    }
}

/// The media type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";
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
            return Err(Error::UnsupportedMediaType(FORM));
        }
        Ok(Parameters::parse(&self.body))
    }

    /// A header's value, where it was sent once and is visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        headers::single(&self.headers, name).ok().flatten()
    }

    /// A reply that caches may hold for half a minute, so that what changes shows within one; where the caller has it
    /// already, only that (RFC 9110, section 13.1.2).
    pub fn cached<O>(&self, reply: Reply<O>) -> Reply<O> {
        reply.cached(&self.headers)
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
