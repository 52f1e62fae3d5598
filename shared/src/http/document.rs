//! Functions that serve only documents and need no database. Their entry point uses no code of the store, so the
//! linker leaves the AWS SDK out of their binaries.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lambda_http::http::Method;
use lambda_http::{Body, Request, RequestExt, Response};

use super::envelope::{Envelope, Trace};
use super::route_table::RouteTable;
use super::{Error, Output, Reply, ReplyFormat, headers};
use crate::clock::{Clock, Timestamp};
use crate::config::Edge;

/// A request for a document.
pub struct DocumentRequest<'r> {
    /// The method.
    pub method: &'r Method,
    /// The path, percent-decoded by the gateway.
    pub path: &'r str,
    /// The query string as sent.
    pub query: &'r str,
    /// The base URL of public links.
    pub base_url: &'r str,
    /// When the request arrived.
    pub received_at: Timestamp,
    /// Whether the client accepts a page.
    pub accepts_html: bool,
    /// The configuration.
    pub edge: &'r Edge,
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
            handler: Arc::new(move |request| handler(request).map(Reply::typed)),
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
    edge: Edge,
    rows: RouteTable<Document>,
    has_served: AtomicBool,
}

impl DocumentApp {
    /// Creates a function that serves `rows`.
    pub fn new(clock: Clock, base_url: Option<String>, edge: Edge, rows: Vec<Document>) -> Self {
        let rows = RouteTable::new(rows.into_iter().map(|row| (row.key, row)));
        Self { clock, base_url, edge, rows, has_served: AtomicBool::new(false) }
    }

    /// Handles one request.
    pub fn handle(&self, request: &Request) -> Response<Body> {
        let envelope = Envelope::of(request, self.base_url.as_deref(), self.clock.now());
        let row = self.rows.find(&envelope.route_key);
        let format = row.as_ref().map_or(ReplyFormat::Negotiated, |row| row.format).negotiated(request);
        let secret = headers::single(request.headers(), headers::ORIGIN_SECRET).ok().flatten();
        let result = if self.edge.origin_secrets.admit(secret) {
            let document = DocumentRequest {
                method: request.method(),
                path: request.raw_http_path(),
                query: request.uri().query().unwrap_or_default(),
                base_url: &envelope.base_url,
                received_at: envelope.received_at,
                accepts_html: headers::accepts_html(request.headers()),
                edge: &self.edge,
            };
            row.and_then(|row| (row.handler)(&document))
        } else {
            Err(Error::NotThroughCdn)
        };
        let is_first = !self.has_served.swap(true, Ordering::Relaxed);
        let trace = Trace { is_first, ..Trace::default() };
        envelope.close(format, result, &trace, self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OriginSecrets;
    use crate::http::Html;

    #[test]
    fn a_function_without_a_database_requires_the_origin_secret() {
        let secret = "s".repeat(32);
        let edge = Edge { origin_secrets: OriginSecrets::parse(&secret).unwrap(), ..Edge::default() };
        let serve = |_: &DocumentRequest<'_>| Ok(Reply::<Html>::document("text/plain", "x".to_owned()));
        let app = DocumentApp::new(Clock::system(), None, edge, vec![Document::page("$default", serve)]);
        let status = |values: &[&str]| {
            let mut event: serde_json::Value =
                serde_json::from_str(include_str!("../../../events/default_not_found.json")).unwrap();
            event["headers"]["x-origin-secret"] = values.join(",").into();
            let request = lambda_http::request::from_str(&event.to_string()).unwrap();
            app.handle(&request).status().as_u16()
        };
        assert_eq!(status(&[&secret]), 200);
        for wrong in [&[][..], &["x"], &[&secret, &secret]] {
            assert_eq!(status(wrong), 403, "{wrong:?}");
        }
    }
}
