//! The start page, and the default route, which handles requests that match no other route.

mod pages;

use askama::Template;
use lambda_http::http::Method;
use serde::Serialize;
use shared::config::DemoLogin;
use shared::http::page::style_version;
use shared::http::{Document, DocumentRequest, Error, Html, Reply};

use pages::PAGES;

/// The start page and the default route. Browsers get a page, and programs get JSON.
pub fn pages() -> Vec<Document> {
    vec![Document::page("GET /", show_start), Document::page("$default", reject)]
}

/// The start page.
#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'p> {
    style_version: &'p str,
    base_url: &'p str,
    /// The demo login, on the local service only.
    demo: Option<&'p DemoLogin>,
}

/// The start page for programs.
#[derive(Serialize)]
struct Start {
    name: &'static str,
    api_url: String,
    openapi_url: String,
    docs_url: String,
    dashboard_url: String,
}

/// Shows what runs here and where to go. On the local service, the page also has the demo login.
fn show_start(request: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    let base_url = request.base_url;
    if request.accepts_html {
        let demo = request.edge.demo_login.as_ref();
        return Reply::page(&StartPage { style_version: style_version(), base_url, demo });
    }
    let start = Start {
        name: "Rolecall",
        api_url: format!("{base_url}/api/v1"),
        openapi_url: format!("{base_url}/api/v1/openapi.json"),
        docs_url: format!("{base_url}/docs"),
        dashboard_url: format!("{base_url}/dashboard"),
    };
    Reply::status(200, &start)
}

/// Returns 404. Sites and mail programs add a slash to the paths of pages, so these redirect.
fn reject(request: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    let path = request.path.trim_end_matches('/');
    let is_read = matches!(*request.method, Method::GET | Method::HEAD);
    if is_read && path != request.path && PAGES.iter().any(|page| matches(page, path)) {
        return Ok(Reply::moved(path, request.query));
    }
    Err(Error::NotFound)
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(parameter), Some(segment)) if parameter.starts_with('{') && !segment.is_empty() => {}
            (Some(literal), Some(segment)) if literal == segment => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_matches_a_page_segment_by_segment() {
        for (pattern, path, expected) in [
            ("/docs", "/docs", true),
            ("/docs", "/docs/x", false),
            ("/docs/x", "/docs", false),
            ("/careers/{org}", "/careers/acme", true),
            ("/careers/{org}", "/careers/", false),
            ("/careers/{org}/{slug}", "/careers//cook", false),
            ("/careers/{org}/privacy", "/careers/acme/cook", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
