//! Replies: a status, a body, and the few headers that a handler decides.

use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lambda_http::http::HeaderMap;
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::page::Sources;
use super::{Error, headers, page};
use crate::store::{Failure, Receipt};

/// What a handler answers where nothing goes wrong, as the API describes it. A type by itself is one resource, with its
/// entity tag.
pub trait Output {
    /// The status.
    const STATUS: u16;
    /// The body's media type.
    const MEDIA: &'static str = "application/json";
    /// The headers that the handler decides. All but `link` are always there.
    const HEADERS: &'static [&'static str];
    /// The body.
    type Body: ToSchema;
}

impl<O: ToSchema> Output for O {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &["etag"];
    type Body = O;
}

/// What has no version of its own.
pub struct Unversioned<O>(PhantomData<O>);

impl<O: ToSchema> Output for Unversioned<O> {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &[];
    type Body = O;
}

/// A page of a list.
pub struct Collection<T>(PhantomData<T>);

impl<O: ToSchema> Output for Collection<O> {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &["link"];
    type Body = List<O>;
}

/// What was created, and where it can be found.
pub struct Created<O>(PhantomData<O>);

impl<O: ToSchema> Output for Created<O> {
    const STATUS: u16 = 201;
    const HEADERS: &'static [&'static str] = &["etag", "location"];
    type Body = O;
}

/// What was created together, and where the first of it can be found: each has a tag of its own.
pub struct CreatedTogether<O>(PhantomData<O>);

impl<O: ToSchema> Output for CreatedTogether<O> {
    const STATUS: u16 = 201;
    const HEADERS: &'static [&'static str] = &["location"];
    type Body = O;
}

/// What was created, and has no address of its own.
pub struct Added<O>(PhantomData<O>);

impl<O: ToSchema> Output for Added<O> {
    const STATUS: u16 = 201;
    const HEADERS: &'static [&'static str] = &[];
    type Body = O;
}

/// A page of a list, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    /// What is on the page; there may be fewer than `limit`, or none.
    pub data: Vec<T>,
    /// Where the next page begins; `null` at the end, and only there.
    pub next_cursor: Option<String>,
}

/// What a browser is answered: a page, or where to go.
#[derive(Debug)]
pub enum Page {}

/// What a handler answers: an `O`, mostly as JSON; or a [`Page`].
#[derive(Debug)]
pub struct Reply<O> {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    form: PhantomData<fn() -> O>,
}

impl<O: Serialize> Reply<O> {
    /// 200 with one resource, and its entity tag.
    pub fn resource(resource: &O) -> Result<Self, Error> {
        let body = json(resource)?;
        let tag = etag(&body);
        Ok(Self::new(200, body).with("etag", tag))
    }

    /// 200 with one resource, and the entity tag of `identity`: the same resource without what changes by itself.
    pub fn resource_as(resource: &O, identity: &O) -> Result<Self, Error> {
        Ok(Self::new(200, json(resource)?).with("etag", etag(&json(identity)?)))
    }

    /// 200 without an entity tag.
    pub fn ok(body: &O) -> Result<Self, Error> {
        Ok(Self::new(200, json(body)?))
    }
}

impl Reply<Page> {
    /// 200 with a page.
    pub fn page(page: &impl askama::Template) -> Result<Self, Error> {
        let html = page.render();
        let html = html.map_err(|error| Failure::Internal(format!("a page cannot be written: {error}")))?;
        Ok(Self::new(200, html))
    }

    /// 303: the browser goes on there, with GET.
    pub fn see_other(address: &str) -> Self {
        Self::new(303, String::new()).with("location", address.to_owned())
    }

    /// 200 with a file that may be kept for a year, because its address changes with its content.
    pub fn file(media: &str, content: &str) -> Self {
        Self::document(media, content.to_owned())
            .with("cache-control", "public, max-age=31536000, immutable".to_owned())
    }

    /// The same page as the answer to a form that was not right.
    #[must_use]
    pub fn refused(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// The same page, which may use these sources, too.
    #[must_use]
    pub fn using(self, sources: &Sources<'_>) -> Self {
        self.with("content-security-policy", page::content_security_policy(sources))
    }
}

impl<O> Reply<O> {
    /// 200 with a document of this media type.
    pub fn document(media: &str, content: String) -> Self {
        Self::new(200, content)
            .with("content-type", media.to_owned())
            .with("x-content-type-options", "nosniff".to_owned())
    }

    /// The same reply, which caches may hold for half a minute; 304 where the request's headers name its entity tag.
    pub(super) fn cached(self, headers: &HeaderMap) -> Self {
        let tag = etag(&self.body);
        let is_known = headers::if_none_match(headers, &tag);
        let reply = self.with("cache-control", "public, max-age=30".to_owned()).with("etag", tag);
        if is_known && reply.status == 200 { reply.not_modified() } else { reply }
    }

    /// 304: the caller has the document already.
    pub(super) fn not_modified(self) -> Self {
        Self { status: 304, body: String::new(), ..self }
    }

    /// Any status with a body; for protocols that have error forms of their own.
    pub fn status(status: u16, body: &impl Serialize) -> Result<Self, Error> {
        Ok(Self::new(status, json(body)?))
    }

    /// The same; it has no version of its own.
    #[must_use]
    pub fn unversioned(self) -> Reply<Unversioned<O>> {
        self.typed()
    }

    /// 204, and nothing else.
    pub fn empty() -> Self {
        Self::new(204, String::new())
    }

    pub(super) fn new(status: u16, body: String) -> Self {
        Self { status, headers: Vec::new(), body, form: PhantomData }
    }

    /// The same reply with one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: String) -> Self {
        self.headers.push((name.to_owned(), value));
        self
    }

    pub(super) fn sets(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    /// 201 instead; what was created has no address of its own.
    #[must_use]
    pub fn created_without_address(self) -> Reply<Added<O>> {
        Reply { status: 201, ..self.typed() }
    }

    /// 201 instead, naming where what was created can be found.
    #[must_use]
    pub fn created(self, address: String) -> Reply<Created<O>> {
        Reply { status: 201, ..self.with("location", address).typed() }
    }

    /// 201 instead, naming where the first of what was created can be found.
    #[must_use]
    pub fn created_together(self, address: String) -> Reply<CreatedTogether<O>> {
        self.created(address).typed()
    }

    pub(super) fn untyped(self) -> Reply<()> {
        self.typed()
    }

    pub(super) fn typed<P>(self) -> Reply<P> {
        Reply { status: self.status, headers: self.headers, body: self.body, form: PhantomData }
    }

    pub(super) fn receipt(&self, fingerprint: String) -> Receipt {
        Receipt {
            fingerprint,
            status: self.status,
            headers: self.headers.clone(),
            body: self.body.clone(),
            pending: None,
        }
    }

    pub(super) fn replayed(receipt: Receipt) -> Self {
        Self { status: receipt.status, headers: receipt.headers, body: receipt.body, form: PhantomData }
            .with("idempotency-replayed", "true".to_owned())
    }
}

/// The strong entity tag of a body: a digest, so that it changes exactly when the body does.
pub(super) fn etag(body: &str) -> String {
    let digest = URL_SAFE_NO_PAD.encode(&Sha256::digest(body)[..16]);
    format!("\"{digest}\"")
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| Failure::Internal(format!("a reply cannot be written: {error}")).into())
}
