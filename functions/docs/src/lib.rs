//! Docs: the OpenAPI document and a page that displays it.
//!
//! | Method | Path | Description |
//! |---|---|---|
//! | GET | `/api/v1/openapi.json` | the OpenAPI document |
//! | GET | `/docs` | a page that displays it |
//! | GET | `/docs/viewer.js` | the page's script |
//! | GET | `/docs/viewer.css` | the page's stylesheet |
//! | GET | `/.well-known/security.txt` | returns where to report vulnerabilities (RFC 9116) |
//!
//! The page is Swagger UI from `utoipa-swagger-ui`. It sends no requests, because API keys don't belong in a browser.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::Value;
use shared::clock::later;
use shared::http::{Document, DocumentRequest, DocumentRow, Error, Html, Reply};
use shared::model::Day;
use utoipa::ToSchema;
use utoipa_swagger_ui::Config;

/// The route for programs.
pub fn routes<R: DocumentRow>() -> Vec<R> {
    vec![R::document("GET /api/v1/openapi.json", show_openapi)]
}

/// The routes for browsers.
pub fn pages() -> Vec<Document> {
    vec![
        Document::page("GET /docs", show_page),
        Document::page("GET /docs/viewer.js", show_script),
        Document::page("GET /docs/viewer.css", show_style),
        Document::page("GET /.well-known/security.txt", show_security),
    ]
}

/// The OpenAPI document. A test generates it from the route tables and checks that it is up to date.
pub const DOCUMENT: &str = include_str!("../openapi.json");
const PAGE: &str = include_str!("page.html");
/// The script that starts the viewer.
const START: &str = include_str!("start.js");
/// The content security policy of the page. The page can run its own scripts in a sandbox, isolated from everything
/// else on this origin. `data:` allows the icons in Swagger UI's stylesheet.
const POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";

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

/// Returns this document.
#[expect(clippy::unnecessary_wraps, reason = "other handlers can fail")]
fn show_openapi(_: &DocumentRequest<'_>) -> Result<Reply<OpenApi>, Error> {
    Ok(Reply::document("application/json", DOCUMENT.to_owned()).cached())
}

/// Returns the page.
#[expect(clippy::unnecessary_wraps, reason = "other handlers can fail")]
fn show_page(_: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    Ok(page("text/html; charset=utf-8", PAGE.to_owned()))
}

/// Returns the viewer's code, the document, and the code that starts the viewer with the document.
fn show_script(_: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    let code = viewer("swagger-ui-bundle.js")?;
    let script = format!("{code}\nconst DOCUMENT = {DOCUMENT};\n{START}");
    Ok(page("text/javascript; charset=utf-8", script))
}

/// Returns the viewer's stylesheet.
fn show_style(_: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    Ok(page("text/css; charset=utf-8", viewer("swagger-ui.css")?))
}

fn page(media: &str, content: String) -> Reply<Html> {
    Reply::document(media, content).with("content-security-policy", POLICY.to_owned()).cached()
}

/// Returns a file of the viewer.
fn viewer(name: &str) -> Result<String, Error> {
    let file = utoipa_swagger_ui::serve(name, Arc::new(Config::default())).ok().flatten();
    file.and_then(|file| String::from_utf8(file.bytes.into_owned()).ok()).ok_or(Error::NotFound)
}
