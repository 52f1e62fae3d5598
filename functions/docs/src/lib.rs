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
use std::future::{Ready, ready};
use std::sync::Arc;

use serde_json::Value;
use shared::http::{Access, Error, Form, Page, Reply, Route, Row, Sent, Visit};
use utoipa::ToSchema;
use utoipa_swagger_ui::Config;

/// What programs send.
pub fn routes<R: Row>() -> Vec<R> {
    vec![R::open("GET /api/v1/openapi.json", Access::Public, Form::Document, show_openapi)]
}

/// What a reader's browser asks for.
pub fn pages() -> Vec<Route> {
    vec![
        Route::public("GET /docs", show_page),
        Route::public("GET /docs/viewer.js", show_script),
        Route::public("GET /docs/viewer.css", show_style),
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
#[expect(clippy::needless_pass_by_value, reason = "a handler is given its request to keep")]
fn show_openapi(visit: Sent<()>) -> Ready<Result<Reply<OpenApi>, Error>> {
    ready(Ok(visit.cached(Reply::document("application/json", DOCUMENT.to_owned()))))
}

/// Shows the page.
fn show_page(visit: Arc<Visit>) -> Ready<Result<Reply<Page>, Error>> {
    document(visit, "text/html; charset=utf-8", Ok(PAGE.to_owned()))
}

/// Shows the viewer's code, the document, and the lines that bring them together.
fn show_script(visit: Arc<Visit>) -> Ready<Result<Reply<Page>, Error>> {
    let script =
        viewer("swagger-ui-bundle.js").map(|code| format!("{code}\nconst DOCUMENT = {DOCUMENT};\n{START}"));
    document(visit, "text/javascript; charset=utf-8", script)
}

/// Shows the viewer's stylesheet.
fn show_style(visit: Arc<Visit>) -> Ready<Result<Reply<Page>, Error>> {
    document(visit, "text/css; charset=utf-8", viewer("swagger-ui.css"))
}

#[expect(clippy::needless_pass_by_value, reason = "a handler is given its request to keep")]
fn document(
    visit: Arc<Visit>,
    media: &str,
    content: Result<String, Error>,
) -> Ready<Result<Reply<Page>, Error>> {
    ready(content.map(|content| {
        let document = Reply::document(media, content);
        visit.cached(document.with("content-security-policy", POLICY.to_owned()))
    }))
}

/// A file of the viewer.
fn viewer(name: &str) -> Result<String, Error> {
    let file = utoipa_swagger_ui::serve(name, Arc::new(Config::default())).ok().flatten();
    file.and_then(|file| String::from_utf8(file.bytes.into_owned()).ok()).ok_or(Error::NotFound)
}
