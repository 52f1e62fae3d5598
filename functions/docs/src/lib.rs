//! Docs: the OpenAPI document, and a page to read it.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/api/v1/openapi.json` | the OpenAPI document |
//! | GET | `/docs` | a page to read it |
//! | GET | `/docs/viewer.js` | the page's script |
//! | GET | `/docs/viewer.css` | the page's stylesheet |
//!
//! The page is Swagger UI, which `utoipa-swagger-ui` brings along. It only shows: keys don't belong in a browser.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use shared::http::{Document, DocumentRequest, DocumentRow, Error, Page, Reply};
use utoipa::ToSchema;
use utoipa_swagger_ui::Config;

/// What programs send.
pub fn routes<R: DocumentRow>() -> Vec<R> {
    vec![R::document("GET /api/v1/openapi.json", show_openapi)]
}

/// What a reader's browser asks for.
pub fn pages() -> Vec<Document> {
    vec![
        Document::page("GET /docs", show_page),
        Document::page("GET /docs/viewer.js", show_script),
        Document::page("GET /docs/viewer.css", show_style),
    ]
}

/// The document, which a test makes from the route tables and keeps current.
pub const DOCUMENT: &str = include_str!("../openapi.json");
const PAGE: &str = include_str!("page.html");
/// Has the viewer show the document.
const START: &str = include_str!("start.js");
/// What the page may do: run the script that comes with it, for which nothing else of this origin is in reach. Swagger UI's
/// stylesheet has its icons in it.
const POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";

/// An OpenAPI document.
#[derive(Debug, ToSchema)]
pub struct OpenApi {
    /// The version of the specification.
    pub openapi: String,
    /// What it describes.
    pub info: HashMap<String, Value>,
    /// Where that is.
    pub servers: Vec<HashMap<String, Value>>,
    /// What belongs together.
    pub tags: Vec<HashMap<String, Value>>,
    /// The operations, by path and method.
    pub paths: HashMap<String, HashMap<String, Value>>,
    /// What they share.
    pub components: HashMap<String, Value>,
}

/// Shows this document.
#[expect(clippy::unnecessary_wraps, reason = "other handlers can fail")]
fn show_openapi(request: &DocumentRequest<'_>) -> Result<Reply<OpenApi>, Error> {
    Ok(request.cached(Reply::document("application/json", DOCUMENT.to_owned())))
}

/// Shows the page.
#[expect(clippy::unnecessary_wraps, reason = "other handlers can fail")]
fn show_page(request: &DocumentRequest<'_>) -> Result<Reply<Page>, Error> {
    Ok(page(request, "text/html; charset=utf-8", PAGE.to_owned()))
}

/// Shows the viewer's code, the document, and the lines that bring them together.
fn show_script(request: &DocumentRequest<'_>) -> Result<Reply<Page>, Error> {
    let code = viewer("swagger-ui-bundle.js")?;
    let script = format!("{code}\nconst DOCUMENT = {DOCUMENT};\n{START}");
    Ok(page(request, "text/javascript; charset=utf-8", script))
}

/// Shows the viewer's stylesheet.
fn show_style(request: &DocumentRequest<'_>) -> Result<Reply<Page>, Error> {
    Ok(page(request, "text/css; charset=utf-8", viewer("swagger-ui.css")?))
}

fn page(request: &DocumentRequest<'_>, media: &str, content: String) -> Reply<Page> {
    request.cached(Reply::document(media, content).with("content-security-policy", POLICY.to_owned()))
}

/// A file of the viewer.
fn viewer(name: &str) -> Result<String, Error> {
    let file = utoipa_swagger_ui::serve(name, Arc::new(Config::default())).ok().flatten();
    file.and_then(|file| String::from_utf8(file.bytes.into_owned()).ok()).ok_or(Error::NotFound)
}
