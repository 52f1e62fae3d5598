//! The default route handles requests that match no other route.
//!
//! | Route | Description |
//! |---|---|
//! | `$default` | 404, or 405 with the methods that the path supports |

mod routes;

use shared::http::{Document, DocumentRequest, Error, Reply};

use routes::KNOWN_ROUTES;

/// The default route. Browsers get a page, and programs get an API error.
pub fn pages() -> Vec<Document> {
    vec![Document::page("$default", reject)]
}

/// Returns 404 for an unknown path, and 405 for a known path with another method.
fn reject(request: &DocumentRequest<'_>) -> Result<Reply<()>, Error> {
    Err(error_for(request.path))
}

fn error_for(path: &str) -> Error {
    let routes = KNOWN_ROUTES.iter().filter_map(|route| route.split_once(' '));
    Error::of_unknown_route(routes.filter(|(_, pattern)| matches(pattern, path)).map(|(method, _)| method))
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
            "/",
            "",
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
