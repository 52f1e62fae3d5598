//! The default route handles requests that match no other route.
//!
//! | Route | Description |
//! |---|---|
//! | `$default` | 404, or 405 with the methods that the path supports |

mod routes;

use std::collections::BTreeSet;

use shared::http::{Document, DocumentRequest, Error, Reply};

use routes::KNOWN_ROUTES;

/// The default route. Browsers get a page, and programs get an API error.
pub fn pages() -> Vec<Document> {
    vec![Document::page("$default", reject)]
}

/// Returns 404 for an unknown path, and 405 for a known path with another method.
fn reject(request: &DocumentRequest<'_>) -> Result<Reply<()>, Error> {
    Err(error_for(request.path()))
}

fn error_for(path: &str) -> Error {
    let methods: BTreeSet<_> = KNOWN_ROUTES
        .iter()
        .filter_map(|route| route.split_once(' '))
        .filter(|(_, pattern)| matches(pattern, path))
        .map(|(method, _)| method)
        .collect();
    let methods = Vec::from_iter(methods).join(", ");
    if methods.is_empty() { Error::NotFound } else { Error::MethodNotAllowed(methods) }
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
            ("/api/v1/roles", "GET, POST"),
            ("/api/v1/roles/17", "DELETE, GET, PATCH"),
            ("/api/v1/roles/x/stats", "GET"),
            ("/api/v1/quick_post", "POST"),
            ("/careers/acme/cook", "GET"),
            ("/careers/acme/cook/apply", "GET, POST"),
            ("/careers/acme/jobs.json", "GET"),
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
