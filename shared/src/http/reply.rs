//! Replies: a status, a body, and the headers that the handler sets.

use std::marker::PhantomData;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::page::Sources;
use super::{Error, Resource, page};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::store::{Receipt, StoreError};

/// The characters that are escaped in a query value (RFC 3986, section 2.3).
pub(super) const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// For how many seconds caches may keep a reply.
const CACHED: i64 = 30;
/// The characters that are escaped in a path, which keeps its slashes.
pub(super) const PATH: &AsciiSet = &QUERY.remove(b'/');

/// A successful reply, as the OpenAPI document describes it. A type with a schema represents one resource with its
/// entity tag.
pub trait Output {
    /// The status.
    const STATUS: u16;
    /// The body's media type.
    const MEDIA: &'static str = "application/json";
    /// The headers that the handler sets. All except `link` are always present.
    const HEADERS: &'static [&'static str];
    /// The body.
    type Body: Resource;

    /// The name and the schema of a list's items. The derived schema of a list only refers to them.
    fn items() -> Option<(String, RefOr<Schema>)> {
        None
    }
}

impl<O: Resource> Output for O {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &["etag"];
    type Body = O;
}

/// A resource without an entity tag.
pub struct Unversioned<O>(PhantomData<O>);

impl<O: Resource> Output for Unversioned<O> {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &[];
    type Body = O;
}

/// A part of the change feed.
pub struct Feed<O>(PhantomData<O>);

impl<O: ToSchema> Output for Feed<O> {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &["link"];
    type Body = O;
}

/// A page of a list.
pub struct Collection<T>(PhantomData<T>);

impl<O: ToSchema> Output for Collection<O> {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &["link"];
    type Body = List<O>;

    fn items() -> Option<(String, RefOr<Schema>)> {
        Some((O::name().into_owned(), O::schema()))
    }
}

/// A created resource with its URL.
pub struct Created<O>(PhantomData<O>);

impl<O: Resource> Output for Created<O> {
    const STATUS: u16 = 201;
    const HEADERS: &'static [&'static str] = &["etag", "location"];
    type Body = O;
}

/// Resources that were created together, with the URL of the first one. Each has its own entity tag, so the reply has
/// none.
pub struct CreatedTogether<O>(PhantomData<O>);

impl<O: Resource> Output for CreatedTogether<O> {
    const STATUS: u16 = 201;
    const HEADERS: &'static [&'static str] = &["location"];
    type Body = O;
}

/// A created object without a URL.
pub struct Added<O>(PhantomData<O>);

impl<O: Resource> Output for Added<O> {
    const STATUS: u16 = 201;
    const HEADERS: &'static [&'static str] = &[];
    type Body = O;
}

/// The result of a request that a task completes.
pub struct Accepted<O>(PhantomData<O>);

impl<O: Resource> Output for Accepted<O> {
    const STATUS: u16 = 202;
    const HEADERS: &'static [&'static str] = &[];
    type Body = O;
}

/// A page of a list, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    /// The items on the page: at most `limit`, but possibly fewer or none.
    pub data: Vec<T>,
    /// The cursor of the next page; `null` only on the last page.
    pub next_cursor: Option<String>,
}

/// The format of a route's replies and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyFormat {
    /// The API's JSON.
    Api,
    /// JSON-RPC messages.
    Rpc,
    /// OAuth's JSON (RFC 6749, section 5.2), for scripts of any origin.
    OAuth,
    /// Documents for programs and search engines; errors are the API's JSON.
    Document,
    /// HTML pages.
    Page,
    /// HTML pages for everyone, which shared caches may keep.
    PublicPage,
    /// An HTML page if the client accepts `text/html`, otherwise the API's JSON.
    Negotiated,
}

/// An HTML page, or a redirect to one.
#[derive(Debug)]
pub enum Html {}

/// A handler's reply: an `O` as JSON, a document, or [`Html`].
#[derive(Debug)]
pub struct Reply<O> {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    /// Bytes in place of `body`.
    pub(super) bytes: Option<Vec<u8>>,
    /// Whether a client with the same entity tag has this body, so that it need not be sent again.
    pub(super) is_revalidated: bool,
    /// The number of items on the page, if it is a page of a list.
    pub(super) shown: Option<u64>,
    /// Whether the items were searched for.
    pub(super) is_search: bool,
    /// Whether the body has a secret, so that its receipt is encrypted.
    pub(super) is_confidential: bool,
    output: PhantomData<fn() -> O>,
}

impl<O: Serialize> Reply<O> {
    /// 200 with one resource, and its entity tag.
    pub fn resource(resource: &O) -> Result<Self, Error> {
        let body = json(resource)?;
        let tag = etag(&body);
        Ok(Self::new(200, body).with("etag", tag))
    }

    /// 200 with one resource, and the entity tag of `identity`, which changes exactly when the resource does, except for
    /// the parts that change on their own.
    pub fn resource_as(resource: &O, identity: &impl Serialize) -> Result<Self, Error> {
        Ok(Self::new(200, json(resource)?).with("etag", etag(&json(identity)?)))
    }

    /// 200 without an entity tag.
    pub fn ok(body: &O) -> Result<Self, Error> {
        Ok(Self::new(200, json(body)?))
    }
}

impl Reply<Html> {
    /// 200 with a page.
    pub fn page(page: &impl askama::Template) -> Result<Self, Error> {
        let html = page.render();
        let html =
            html.map_err(|error| StoreError::Internal(format!("a page could not be rendered: {error}")))?;
        Ok(Self::new(200, html))
    }

    /// 303: redirects the browser to `url`, with GET.
    pub fn see_other(url: &str) -> Self {
        Self::new(303, String::new()).with("location", url.to_owned())
    }

    /// 307: lets the browser send the same form to the path and query `url`.
    pub(super) fn send_on(url: &str) -> Self {
        Self::new(307, String::new()).with("location", url.to_owned())
    }

    /// 308: the page is at `path`, which is not encoded, with the same query.
    pub fn moved(path: &str, query: &str) -> Self {
        let separator = if query.is_empty() { "" } else { "?" };
        let url = format!("{}{separator}{query}", utf8_percent_encode(path, PATH));
        Self::new(308, String::new()).with("location", url)
    }

    /// 200 with a file that may be cached for a year, because its URL changes with its content.
    pub fn file(media: &str, content: &str) -> Self {
        Self::document(media, content.to_owned())
            .with("cache-control", "public, max-age=31536000, immutable".to_owned())
    }

    /// 200 with a picture that may be cached for a year, because its URL changes with its content.
    pub fn picture(media: &str, content: Vec<u8>) -> Self {
        Self { bytes: Some(content), ..Self::file(media, "") }
    }

    /// 200 with a file to be saved under a name.
    // As a text it would lose a byte order mark on its way through the function's runtime.
    pub fn attachment(name: &str, content: Vec<u8>) -> Self {
        let reply = Self::document("application/octet-stream", String::new());
        let reply = reply.with("content-disposition", format!("attachment; filename=\"{name}\""));
        Self { bytes: Some(content), ..reply }
    }

    /// The same page with another status, such as the status for an invalid form.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// The same page with permission to use these sources.
    #[must_use]
    pub fn using(self, sources: &Sources<'_>) -> Self {
        self.with("content-security-policy", page::content_security_policy(sources))
    }
}

impl<O> Reply<O> {
    /// 200 with a document of this media type.
    pub fn document(media: &str, content: String) -> Self {
        Self::new(200, content).with("content-type", media.to_owned())
    }

    /// Lets caches keep the reply for 30 seconds, and revalidate it with its entity tag.
    #[must_use]
    pub fn cached(self) -> Self {
        self.cached_until([], Timestamp::MIN)
    }

    /// Like [`Self::cached`], but not beyond the first of these ends of what the reply shows.
    #[must_use]
    pub fn cached_until(self, ends: impl IntoIterator<Item = Timestamp>, now: Timestamp) -> Self {
        let left = ends.into_iter().map(|end| end.duration_since(now).as_secs()).min();
        let seconds = left.unwrap_or(CACHED).clamp(0, CACHED);
        let tag = etag(&self.body);
        self.with("cache-control", format!("public, max-age={seconds}")).with("etag", tag)
    }

    /// The same body as a file with this name, for browsers.
    pub fn download(self, name: &str) -> Reply<Html> {
        let disposition = format!("attachment; filename=\"{name}\"");
        let reply = self.with("content-type", "application/json".to_owned());
        reply.with("content-disposition", disposition).typed()
    }

    /// Any status with a JSON body, for protocols with their own errors.
    pub fn status(status: u16, body: &impl Serialize) -> Result<Self, Error> {
        Ok(Self::new(status, json(body)?))
    }

    /// The body.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The size of the body in bytes, as Lambda counts it: as a JSON string.
    pub fn size(&self) -> Result<usize, Error> {
        Ok(json(&self.body)?.len())
    }

    /// The same reply, typed as a resource without an entity tag.
    #[must_use]
    pub fn unversioned(self) -> Reply<Unversioned<O>> {
        self.typed()
    }

    /// 204 without a body.
    pub fn empty() -> Self {
        Self::new(204, String::new())
    }

    /// 202 without a body, for a message that has no answer.
    pub fn accepted_message() -> Self {
        Self::new(202, String::new())
    }

    pub(super) fn new(status: u16, body: String) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
            bytes: None,
            is_revalidated: true,
            shown: None,
            is_search: false,
            is_confidential: false,
            output: PhantomData,
        }
    }

    /// The same reply, which shows this number of items of a list.
    #[must_use]
    pub fn showing(self, items: usize) -> Self {
        Self { shown: u64::try_from(items).ok(), ..self }
    }

    /// The same reply, whose items were searched for.
    #[must_use]
    pub fn found_by_search(self) -> Self {
        Self { is_search: true, ..self }
    }

    /// The same reply with a secret in its body: the receipt is encrypted, and only the same caller gets it again.
    #[must_use]
    pub fn confidential(self) -> Self {
        Self { is_confidential: true, ..self }
    }

    /// The same reply, sent even to a client that has its version, because parts of that version expire.
    #[must_use]
    pub fn always_sent(self) -> Self {
        Self { is_revalidated: false, ..self }
    }

    /// The same reply with this header, in place of an earlier one with the same name. Only cookies are added to each other:
    /// of all other headers with one name, the gateway gets the first and no more.
    #[must_use]
    pub fn with(mut self, name: &str, value: String) -> Self {
        if name != "set-cookie" {
            self.headers.retain(|(known, _)| known != name);
        }
        self.headers.push((name.to_owned(), value));
        self
    }

    /// The identifier at the end of the URL of a created resource.
    pub fn created_id(&self) -> Option<Id> {
        self.location()?.rsplit('/').next()?.parse().ok()
    }

    /// The URL of a redirect or of a created resource.
    pub(super) fn location(&self) -> Option<&str> {
        let (_, url) = self.headers.iter().find(|(name, _)| name == "location")?;
        Some(url)
    }

    pub(super) fn sets(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    /// Changes the status to 201, for a created object without a URL.
    #[must_use]
    pub fn created_without_address(self) -> Reply<Added<O>> {
        Reply { status: 201, ..self.typed() }
    }

    /// Changes the status to 202, for a request that a task completes.
    #[must_use]
    pub fn accepted(self) -> Reply<Accepted<O>> {
        Reply { status: 202, ..self.typed() }
    }

    /// Changes the status to 201, and adds the URL of the created resource.
    #[must_use]
    pub fn created(self, url: String) -> Reply<Created<O>> {
        Reply { status: 201, ..self.with("location", url).typed() }
    }

    /// Changes the status to 201, and adds the URL of the first created resource.
    #[must_use]
    pub fn created_together(self, url: String) -> Reply<CreatedTogether<O>> {
        self.created(url).typed()
    }

    pub(crate) fn typed<P>(self) -> Reply<P> {
        let Self {
            status,
            headers,
            body,
            bytes,
            is_revalidated,
            shown,
            is_search,
            is_confidential,
            output: _,
        } = self;
        Reply {
            status,
            headers,
            body,
            bytes,
            is_revalidated,
            shown,
            is_search,
            is_confidential,
            output: PhantomData,
        }
    }

    pub(super) fn replayed(receipt: Receipt) -> Self {
        Self { headers: receipt.headers, ..Self::new(receipt.status, receipt.body) }
            .with("idempotency-replayed", "true".to_owned())
    }
}

/// The strong entity tag of a resource.
pub fn entity_tag(resource: &impl Serialize) -> Result<String, Error> {
    Ok(etag(&json(resource)?))
}

/// The strong entity tag of a body: a digest that changes exactly when the body changes.
pub(super) fn etag(body: &str) -> String {
    let digest = URL_SAFE_NO_PAD.encode(&Sha256::digest(body)[..16]);
    format!("\"{digest}\"")
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Internal(format!("a reply could not be serialized: {error}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cookies_are_added_to_each_other() {
        let reply = ["link", "set-cookie", "vary"].into_iter().fold(Reply::<()>::empty(), |reply, name| {
            reply.with(name, "first".to_owned()).with(name, "second".to_owned())
        });
        let headers: Vec<_> =
            reply.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let cookies = [("set-cookie", "first"), ("set-cookie", "second")];
        assert_eq!(headers, [("link", "second"), cookies[0], cookies[1], ("vary", "second")]);
    }
}
