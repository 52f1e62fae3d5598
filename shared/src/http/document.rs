//! Functions that serve only documents and need no database. Their entry point uses no code of the store, so the
//! linker leaves the AWS SDK out of their binaries.

use std::sync::Arc;

use lambda_http::{Body, Request, RequestExt, Response};

use super::envelope::{Envelope, Trace};
use super::route_table::RouteTable;
use super::{Error, Output, Reply, ReplyFormat};
use crate::clock::Clock;

/// A request for a document.
pub struct DocumentRequest<'r> {
    path: &'r str,
}

impl<'r> DocumentRequest<'r> {
    pub(super) fn of(request: &'r Request) -> Self {
        Self { path: request.raw_http_path() }
    }

    /// The path, percent-decoded by the gateway.
    pub fn path(&self) -> &str {
        self.path
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
    rows: RouteTable<Document>,
}

impl DocumentApp {
    /// Creates a function that serves `rows`.
    pub fn new(clock: Clock, base_url: Option<String>, rows: Vec<Document>) -> Self {
        Self { clock, base_url, rows: RouteTable::new(rows.into_iter().map(|row| (row.key, row))) }
    }

    /// Handles one request.
    pub fn handle(&self, request: &Request) -> Response<Body> {
        let envelope = Envelope::of(request, self.base_url.as_deref(), self.clock.now());
        let row = self.rows.find(&envelope.route_key);
        let format = row.as_ref().map_or(ReplyFormat::Negotiated, |row| row.format).negotiated(request);
        let result = row.and_then(|row| (row.handler)(&DocumentRequest::of(request)));
        envelope.close(format, result, &Trace::default(), self.clock.now())
    }
}
