//! A function's rows by method and path.

use std::collections::HashMap;

use lambda_http::http::Method;

use super::Error;

/// The rows of a function by their route keys.
pub(super) struct RouteTable<R>(HashMap<&'static str, R>);

impl<R> RouteTable<R> {
    pub(super) fn new(rows: impl IntoIterator<Item = (&'static str, R)>) -> Self {
        Self(rows.into_iter().collect())
    }

    /// Finds the row for a request. A row for GET also answers HEAD.
    pub(super) fn find(&self, key: &str) -> Result<&R, Error> {
        if let Some(row) = self.0.get(key) {
            return Ok(row);
        }
        let Some((method, path)) = key.split_once(' ') else { return Err(Error::NotFound) };
        match self.0.get(format!("GET {path}").as_str()) {
            Some(row) if method == Method::HEAD.as_str() => Ok(row),
            _ => Err(Error::of_unknown_route(
                self.0
                    .keys()
                    .filter_map(|key| key.split_once(' '))
                    .filter(|row| row.1 == path)
                    .map(|row| row.0),
            )),
        }
    }
}

impl<R> RouteTable<R> {
    /// The path of the page that has the form which is sent to `path`: the nearest page at this path or above it.
    /// `key` is the route of the form.
    pub(super) fn page_of_form<'p>(&self, key: &str, path: &'p str) -> &'p str {
        let (mut pattern, mut path) = (key.split_once(' ').map_or(key, |(_, pattern)| pattern), path);
        while !self.0.contains_key(format!("GET {pattern}").as_str()) {
            match (pattern.rsplit_once('/'), path.rsplit_once('/')) {
                (Some((above, _)), Some((above_path, _))) if !above_path.is_empty() => {
                    (pattern, path) = (above, above_path);
                }
                _ => return "/dashboard",
            }
        }
        path
    }
}

/// The key of the row for a request: its method, and the path of the route that the gateway matched.
///
/// A route for any method stands for GET, HEAD and all methods without a route of their own.
pub(super) fn key(method: &Method, route_key: &str) -> String {
    match route_key.split_once(' ') {
        Some((_, path)) => format!("{method} {path}"),
        None => route_key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_belongs_to_the_nearest_page() {
        let table = RouteTable::new(
            ["GET /dashboard/roles", "GET /dashboard/people/{id}", "POST /dashboard/people/{id}/notes"]
                .map(|key| (key, ())),
        );
        for (pattern, path, page) in [
            ("/dashboard/people/{id}/notes", "/dashboard/people/7/notes", "/dashboard/people/7"),
            ("/dashboard/people/{id}/notes/{note}/x", "/dashboard/people/7/notes/8/x", "/dashboard/people/7"),
            ("/dashboard/roles", "/dashboard/roles", "/dashboard/roles"),
            ("/dashboard/roles/{id}/x", "/dashboard/roles/7/x", "/dashboard/roles"),
            ("/dashboard/mode", "/dashboard/mode", "/dashboard"),
            ("/dashboard", "/dashboard", "/dashboard"),
        ] {
            assert_eq!(table.page_of_form(&format!("POST {pattern}"), path), page, "{pattern}");
        }
    }

    #[test]
    fn a_request_is_matched_by_its_method_and_its_path() {
        let table = RouteTable::new(
            ["GET /roles", "POST /roles", "GET /roles/{id}", "POST /roles/{id}/pause", "$default"]
                .map(|key| (key, key)),
        );
        for (method, route_key, found) in [
            (Method::GET, "ANY /roles", Ok("GET /roles")),
            (Method::GET, "GET /roles", Ok("GET /roles")),
            (Method::HEAD, "ANY /roles/{id}", Ok("GET /roles/{id}")),
            (Method::HEAD, "HEAD /roles/{id}", Ok("GET /roles/{id}")),
            (Method::POST, "POST /roles", Ok("POST /roles")),
            (Method::PUT, "$default", Ok("$default")),
            (Method::PUT, "ANY /roles", Err("GET, HEAD, POST")),
            (Method::HEAD, "ANY /roles/{id}/pause", Err("POST")),
            (Method::GET, "ANY /unknown", Err("")),
        ] {
            let result = table.find(&key(&method, route_key)).copied().map_err(|error| match error {
                Error::MethodNotAllowed(methods) => methods,
                _ => String::new(),
            });
            assert_eq!(result, found.map_err(str::to_owned), "{method} {route_key}");
        }
    }
}
