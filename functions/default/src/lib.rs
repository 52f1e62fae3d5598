//! The start page, and the default route, which handles requests that match no other route.

mod routes;

use askama::Template;
use lambda_http::http::Method;
use serde::Serialize;
use shared::config::DemoLogin;
use shared::http::page::style_version;
use shared::http::{Document, DocumentRequest, Error, Html, Reply};

use routes::KNOWN_ROUTES;

/// How the paths of pages begin.
const PAGES: [&str; 3] = ["/careers/", "/dashboard", "/docs"];

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

/// Returns 404 for an unknown path, and 405 for a known path with another method. Sites and mail programs add a slash to
/// the paths of pages, so these redirect.
fn reject(request: &DocumentRequest<'_>) -> Result<Reply<Html>, Error> {
    let path = request.path.trim_end_matches('/');
    let is_read = matches!(*request.method, Method::GET | Method::HEAD);
    if is_read && path != request.path && is_page(path) {
        return Ok(Reply::moved(path, request.query));
    }
    Err(error_for(request.path))
}

fn is_page(path: &str) -> bool {
    PAGES.iter().any(|root| path.starts_with(root)) && methods(path).any(|method| method == "GET")
}

fn error_for(path: &str) -> Error {
    Error::of_unknown_route(methods(path))
}

/// The methods that a path supports.
fn methods(path: &str) -> impl Iterator<Item = &'static str> {
    let routes = KNOWN_ROUTES.iter().filter_map(|route| route.split_once(' '));
    routes.filter(move |(_, pattern)| matches(pattern, path)).map(|(method, _)| method)
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
    fn a_known_path_returns_405_with_its_methods() {
        for (path, allowed) in [
            ("/", "GET, HEAD"),
            ("/api/v1/roles", "GET, HEAD, POST"),
            ("/api/v1/roles/17", "DELETE, GET, HEAD, PATCH"),
            ("/api/v1/roles/x/stats", "GET, HEAD"),
            ("/api/v1/quick_post", "POST"),
            ("/careers/acme/cook", "GET, HEAD"),
            ("/careers/acme/cook/apply", "GET, HEAD, POST"),
            ("/careers/acme/jobs.json", "GET, HEAD"),
        ] {
            assert!(
                matches!(error_for(path), Error::MethodNotAllowed(methods) if methods == allowed),
                "{path}"
            );
        }
    }

    #[test]
    fn an_unknown_path_returns_404() {
        for path in [
            "",
            "//",
            "/api/v1",
            "/api/v1/roles/",
            "/api/v1/roles//stats",
            "/api/v1/roles/1/stats/2",
            "/api/v2/roles",
        ] {
            assert!(matches!(error_for(path), Error::NotFound), "{path}");
        }
    }
}
