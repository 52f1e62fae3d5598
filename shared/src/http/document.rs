//! Functions that need no database: each of their answers is in the function itself. They have an entry of their own, which
//! reaches no code of the store, so that the linker leaves the AWS SDK out of their binaries.

use std::collections::HashMap;
use std::sync::Arc;

use lambda_http::http::HeaderMap;
use lambda_http::{Body, Request, RequestExt, Response};

use super::envelope::{Envelope, Trace};
use super::route::Handler;
use super::{Error, Form, Output, Reply, Route};
use crate::clock::Clock;

/// A request for a document.
pub struct DocumentRequest<'r> {
    path: &'r str,
    headers: &'r HeaderMap,
}

impl<'r> DocumentRequest<'r> {
    pub(super) fn of(request: &'r Request) -> Self {
        Self { path: request.raw_http_path(), headers: request.headers() }
    }

    /// The path, decoded as the gateway decodes it.
    pub fn path(&self) -> &str {
        self.path
    }

    /// A reply that caches may hold for half a minute; 304 without a body where the client has it already (RFC 9110,
    /// section 13.1.2).
    pub fn cached<O>(&self, reply: Reply<O>) -> Reply<O> {
        reply.cached(self.headers)
    }
}

pub(super) type DocumentHandler = Arc<dyn Fn(&DocumentRequest<'_>) -> Result<Reply<()>, Error> + Send + Sync>;

/// A row of a function's tables that needs no database.
#[derive(Clone)]
pub struct Document {
    key: &'static str,
    form: Form,
    handler: DocumentHandler,
}

impl Document {
    /// `handler` answers requests of this key: with a page where HTML is asked for, otherwise as the API does.
    pub fn page<O: 'static>(
        key: &'static str,
        handler: impl Fn(&DocumentRequest<'_>) -> Result<Reply<O>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            key,
            form: Form::Either,
            handler: Arc::new(move |request| handler(request).map(Reply::untyped)),
        }
    }
}

/// A row of a route table that needs no database, as its reader wants it; see [`Row`](super::Row).
pub trait DocumentRow: Sized {
    /// `handler` answers requests of this key from anybody.
    fn document<O, H>(key: &'static str, handler: H) -> Self
    where
        O: Output + 'static,
        H: Fn(&DocumentRequest<'_>) -> Result<Reply<O>, Error> + Send + Sync + 'static;
}

impl DocumentRow for Document {
    fn document<O, H>(key: &'static str, handler: H) -> Self
    where
        O: Output + 'static,
        H: Fn(&DocumentRequest<'_>) -> Result<Reply<O>, Error> + Send + Sync + 'static,
    {
        Self { form: Form::Document, ..Self::page(key, handler) }
    }
}

impl From<Document> for Route {
    fn from(Document { key, form, handler }: Document) -> Self {
        Self { key, handler: Handler::Document(form, handler) }
    }
}

/// A function that needs no database: its rows, and the little that they need.
pub struct DocumentApp {
    clock: Clock,
    base_url: Option<String>,
    rows: HashMap<&'static str, Document>,
}

impl DocumentApp {
    /// A function that answers `rows`.
    pub fn new(clock: Clock, base_url: Option<String>, rows: Vec<Document>) -> Self {
        Self { clock, base_url, rows: rows.into_iter().map(|row| (row.key, row)).collect() }
    }

    /// Answers one request.
    pub fn handle(&self, request: &Request) -> Response<Body> {
        let envelope = Envelope::of(request, self.base_url.as_deref(), self.clock.now());
        let row = self.rows.get(envelope.route_key.as_str());
        let form = row.map_or(Form::Api, |row| row.form).chosen_by(request);
        let result = match row {
            Some(row) => (row.handler)(&DocumentRequest::of(request)),
            None => Err(Error::NotFound),
        };
        envelope.close(form, result, &Trace::default(), self.clock.now())
    }
}
