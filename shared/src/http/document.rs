//! Functions that serve only documents and need no database. Their entry point uses no code of the store, so the
//! linker leaves the AWS SDK out of their binaries.

use std::collections::HashMap;
use std::sync::Arc;

use lambda_http::http::HeaderMap;
use lambda_http::{Body, Request, RequestExt, Response};

use super::envelope::{Envelope, Trace};
use super::{Error, Output, Reply, ReplyFormat};
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

    /// The path, percent-decoded by the gateway.
    pub fn path(&self) -> &str {
        self.path
    }

    /// Lets caches keep the reply for 30 seconds. Returns 304 if the client already has it (RFC 9110, section 13.1.2).
    pub fn cached<O>(&self, reply: Reply<O>) -> Reply<O> {
        reply.cached(self.headers)
    }
}

pub(super) type DocumentHandler = Arc<dyn Fn(&DocumentRequest<'_>) -> Result<Reply<()>, Error> + Send + Sync>;

/// A route that needs no database.
#[derive(Clone)]
pub struct Document {
    pub(super) key: &'static str,
    pub(super) format: ReplyFormat,
    pub(super) handler: DocumentHandler,
}

impl Document {
    /// A public route with content negotiation: a page for a browser, JSON for a program.
    pub fn page<O: 'static>(
        key: &'static str,
        handler: impl Fn(&DocumentRequest<'_>) -> Result<Reply<O>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            key,
            format: ReplyFormat::Negotiated,
            handler: Arc::new(move |request| handler(request).map(Reply::untyped)),
        }
    }
}

/// A row in a table of documents; see [`Row`](super::Row).
pub trait DocumentRow: Sized {
    /// A public route that serves a document.
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
        Self { format: ReplyFormat::Document, ..Self::page(key, handler) }
    }
}

/// A function that needs no database: its routes and their environment.
pub struct DocumentApp {
    clock: Clock,
    base_url: Option<String>,
    rows: HashMap<&'static str, Document>,
}

impl DocumentApp {
    /// Creates a function that serves `rows`.
    pub fn new(clock: Clock, base_url: Option<String>, rows: Vec<Document>) -> Self {
        Self { clock, base_url, rows: rows.into_iter().map(|row| (row.key, row)).collect() }
    }

    /// Handles one request.
    pub fn handle(&self, request: &Request) -> Response<Body> {
        let envelope = Envelope::of(request, self.base_url.as_deref(), self.clock.now());
        let row = self.rows.get(envelope.route_key.as_str());
        let format = row.map_or(ReplyFormat::Api, |row| row.format).negotiated(request);
        let result = match row {
            Some(row) => (row.handler)(&DocumentRequest::of(request)),
            None => Err(Error::NotFound),
        };
        envelope.close(format, result, &Trace::default(), self.clock.now())
    }
}
