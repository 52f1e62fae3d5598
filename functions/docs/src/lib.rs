//! Docs: the OpenAPI document and the API reference.
//!
//! The build script makes the pages from the contract, of which the document is a part, and from the API guide. They need no scripts. With their script, they
//! have a search and forms that send requests.

use std::collections::HashMap;

use jiff::SignedDuration;
use serde_json::Value;
use shared::clock::later;
use shared::http::{Document, DocumentRequest, DocumentRow, Error, Html, Reply};
use shared::model::Day;
use utoipa::ToSchema;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The route for programs.
pub fn routes<R: DocumentRow>() -> Vec<R> {
    vec![R::document("GET /api/v1/openapi.json", show_openapi)]
}

/// The routes for browsers.
pub fn pages() -> Vec<Document> {
    vec![
        Document::page("GET /docs", show_start),
        Document::page("GET /docs/{page}", show_page),
        Document::page("GET /.well-known/security.txt", show_security),
    ]
}

/// The OpenAPI document with an example of the service's URL. A test generates it from the route tables and checks that it
/// is up to date.
pub const DOCUMENT: &str = include_str!("../openapi.json");
/// The content security policy of the pages. Their script may send requests to this origin only. Forms are never
/// submitted.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The time for which the contact is valid. RFC 9116 recommends less than a year.
const CONTACT_LIFE: SignedDuration = SignedDuration::from_hours(180 * 24);

/// Returns where to report vulnerabilities (RFC 9116). Without a configured contact, there is no such document.
fn show_security(request: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    let contact = request.edge.security_contact.as_deref().ok_or(Error::NotFound)?;
    let expires = Day::of(later(request.received_at, CONTACT_LIFE));
    let mut lines = vec![
        format!("Contact: {contact}"),
        format!("Expires: {expires}T00:00:00Z"),
        "Preferred-Languages: en".to_owned(),
        format!("Canonical: {}/.well-known/security.txt", request.base_url),
    ];
    lines.extend(request.edge.security_policy.iter().map(|policy| format!("Policy: {policy}")));
    Ok(Reply::document("text/plain; charset=utf-8", lines.join("\n") + "\n").cached())
}

/// An OpenAPI document.
#[derive(Debug, ToSchema)]
pub struct OpenApi {
    /// The version of the OpenAPI specification.
    pub openapi: String,
    /// The title, version and description of the API.
    pub info: HashMap<String, Value>,
    /// The servers of the API.
    pub servers: Vec<HashMap<String, Value>>,
    /// The groups of operations.
    pub tags: Vec<HashMap<String, Value>>,
    /// The operations, by path and method.
    pub paths: HashMap<String, HashMap<String, Value>>,
    /// The components that operations share.
    pub components: HashMap<String, Value>,
}

/// Returns this document. Its URLs are those of this service.
#[expect(clippy::unnecessary_wraps, reason = "other handlers can fail")]
fn show_openapi(request: &DocumentRequest<'_>) -> Result<Reply<OpenApi>, Error> {
    let quoted = Value::from(request.base_url).to_string();
    let base_url = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
    Ok(Reply::document("application/json", DOCUMENT.replace(EXAMPLE_URL, base_url)).cached())
}

/// Returns the start page of the API reference.
fn show_start(request: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    page("", request)
}

/// Returns a page of the API reference, or a file that pages use.
fn show_page(request: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    let name = request.path.strip_prefix("/docs/").filter(|name| !name.is_empty()).ok_or(Error::NotFound)?;
    match FILES.iter().find(|(file, ..)| *file == name) {
        Some((_, media, content)) => Ok(Reply::file(media, content)),
        None => page(name, request),
    }
}

/// Returns a page whose samples have the URL of this service. The local service also fills in its demo key.
fn page(name: &str, request: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    let (_, html) = PAGES.iter().find(|(page, _)| *page == name).ok_or(Error::NotFound)?;
    let base_url = request.base_url.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let demo = request.edge.demo_login.as_ref();
    let html = html.replace(EXAMPLE_URL, &base_url);
    let html = html.replace(EXAMPLE_KEY, demo.map_or(EXAMPLE_KEY, |demo| &demo.key));
    let security = [
        ("content-security-policy", POLICY),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
    ];
    let reply = Reply::document("text/html; charset=utf-8", html).cached();
    Ok(security.into_iter().fold(reply, |reply, (name, value)| reply.with(name, value.to_owned())))
}
