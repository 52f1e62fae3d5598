//! Whatever no other function answers: a path that does not exist, or one that has other methods.
//!
//! | Route | What |
//! |---|---|
//! | `$default` | 404, or 405 with the methods that the path has |

use shared::http::{Error, Reply, Route, Visit};

/// The function's routes.
pub fn routes() -> Vec<Route> {
    vec![Route::public("$default", refuse)]
}

/// Every route of the API: a function cannot see the others' tables, and a test keeps this one equal to them.
pub const KNOWN: &[&str] = &[
    "DELETE /api/v1/roles/{id}",
    "GET /api/v1/job_postings",
    "GET /api/v1/job_postings/{id}",
    "GET /api/v1/organization",
    "GET /api/v1/roles",
    "GET /api/v1/roles/{id}",
    "GET /api/v1/roles/{id}/stats",
    "PATCH /api/v1/job_postings/{id}",
    "PATCH /api/v1/roles/{id}",
    "POST /api/v1/job_postings",
    "POST /api/v1/job_postings/{id}/publish",
    "POST /api/v1/job_postings/{id}/unpublish",
    "POST /api/v1/quick_post",
    "POST /api/v1/roles",
    "POST /api/v1/roles/{id}/pause",
    "POST /api/v1/roles/{id}/publish",
    "POST /api/v1/roles/{id}/reopen",
    "POST /api/v1/roles/{id}/resume",
];

/// Says that there is no such path, or no such method on it.
fn refuse(visit: &Visit) -> Result<Reply<()>, Error> {
    let methods: Vec<_> = KNOWN
        .iter()
        .filter_map(|route| route.split_once(' '))
        .filter(|(_, path)| matches(path, &visit.path))
        .map(|(method, _)| method)
        .collect();
    Err(if methods.is_empty() { Error::NotFound } else { Error::MethodNotAllowed(methods.join(", ")) })
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some("{id}"), Some(segment)) if !segment.is_empty() => {}
            (Some(literal), Some(segment)) if literal == segment => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(method: &str, path: &str) -> Error {
        refuse(&Visit { method: method.to_owned(), path: path.to_owned() }).unwrap_err()
    }

    #[test]
    fn a_known_path_names_its_methods() {
        for (path, allowed) in [
            ("/api/v1/roles", "GET, POST"),
            ("/api/v1/roles/17", "DELETE, GET, PATCH"),
            ("/api/v1/roles/x/stats", "GET"),
            ("/api/v1/quick_post", "POST"),
        ] {
            assert!(
                matches!(answer("PUT", path), Error::MethodNotAllowed(methods) if methods == allowed),
                "{path}"
            );
        }
    }

    #[test]
    fn anything_else_is_not_found() {
        for path in [
            "/",
            "",
            "/api/v1",
            "/api/v1/roles/",
            "/api/v1/roles//stats",
            "/api/v1/roles/1/stats/2",
            "/api/v2/roles",
        ] {
            assert!(matches!(answer("GET", path), Error::NotFound), "{path}");
        }
    }
}
