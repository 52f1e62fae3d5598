//! The path that a page continues with after a sign-in or a confirmation.

/// The maximum length of `return_to`, in bytes.
const MAX_RETURN: usize = 8 * 1024;

/// Returns `path` if it is a page of the dashboard or an authorization request, otherwise `/dashboard`.
pub fn return_to(path: &str) -> &str {
    let is_allowed = ["/dashboard", "/oauth/authorize"].iter().any(|prefix| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    });
    // Browsers treat a backslash in a path as a slash, and `%2e` as a dot. No path of the dashboard has an escape.
    let without_query = path.split('?').next().unwrap_or_default();
    let is_plain = path.len() <= MAX_RETURN
        && path.bytes().all(|byte| byte.is_ascii_graphic())
        && !["..", "%", "\\"].iter().any(|part| without_query.contains(part));
    if is_allowed && is_plain { path } else { "/dashboard" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn return_to_accepts_only_paths_of_the_dashboard_and_the_authorization_endpoint() {
        for accepted in
            ["/dashboard", "/dashboard/roles?status=open", "/oauth/authorize?client_id=a&state=%0A\\"]
        {
            assert_eq!(return_to(accepted), accepted);
        }
        for rejected in [
            "",
            "//evil.example",
            "https://evil.example/dashboard",
            "/dashboard.evil.example",
            "/dashboardx",
            "/dashboard\\evil",
            "/dashboard/\r\nset-cookie:a=b",
            "/dashboard/../oauth/token",
            "/dashboard/%2e%2e/oauth/token",
            "/dashboard/%2E./oauth/token",
            "/dashboard/..%2foauth/token",
            "/oauth/authorize/%2e%2e/token?client_id=a",
            "/dashboard/%5c%2e%2e",
            "/oauth/authorizex",
            "/api/v1/roles",
            "javascript:alert(1)",
        ] {
            assert_eq!(return_to(rejected), "/dashboard", "{rejected:?}");
        }
    }
}
