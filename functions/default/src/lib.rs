//! Whatever no other function answers: a path that does not exist, or one that has other methods.
//!
//! | Route | What |
//! |---|---|
//! | `$default` | 404, or 405 with the methods that the path has |

use std::collections::BTreeSet;

use shared::http::{Document, DocumentRequest, Error, Reply};

/// What is shown where nothing is: a page to browsers, and the API's error to programs.
pub fn pages() -> Vec<Document> {
    vec![Document::page("$default", refuse)]
}

/// Every route: a function cannot see the others' tables, and a test keeps this one equal to them.
pub const KNOWN: &[&str] = &[
    "DELETE /api/v1/roles/{id}",
    "GET /.well-known/oauth-authorization-server",
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/api/v1",
    "GET /api/v1/candidates",
    "GET /api/v1/candidates/{id}",
    "GET /api/v1/channels",
    "GET /api/v1/channels/x/posts",
    "GET /api/v1/job_postings",
    "GET /api/v1/job_postings/{id}",
    "GET /api/v1/openapi.json",
    "GET /api/v1/organization",
    "GET /api/v1/roles",
    "GET /api/v1/roles/{id}",
    "GET /api/v1/roles/{id}/stats",
    "GET /api/v1/voice_screens",
    "GET /api/v1/voice_screens/{id}",
    "GET /careers/style.css",
    "GET /careers/{org}",
    "GET /careers/{org}/jobs.json",
    "GET /careers/{org}/sitemap.xml",
    "GET /careers/{org}/{slug}",
    "GET /careers/{org}/{slug}/apply",
    "GET /dashboard",
    "GET /dashboard/candidates",
    "GET /dashboard/candidates/{id}",
    "GET /dashboard/icon.svg",
    "GET /dashboard/password",
    "GET /dashboard/postings",
    "GET /dashboard/roles",
    "GET /dashboard/roles/{id}",
    "GET /dashboard/settings/account",
    "GET /dashboard/settings/career-page",
    "GET /dashboard/settings/integrations/api-keys",
    "GET /dashboard/settings/integrations/channels",
    "GET /dashboard/settings/integrations/channels/x/callback",
    "GET /dashboard/settings/integrations/connected-apps",
    "GET /dashboard/settings/members",
    "GET /dashboard/sign-in",
    "GET /dashboard/style.css",
    "GET /docs",
    "GET /docs/viewer.css",
    "GET /docs/viewer.js",
    "GET /oauth/authorize",
    "GET /robots.txt",
    "OPTIONS /.well-known/oauth-authorization-server",
    "OPTIONS /.well-known/oauth-protected-resource",
    "OPTIONS /.well-known/oauth-protected-resource/api/v1",
    "OPTIONS /oauth/registrations",
    "OPTIONS /oauth/revoke",
    "OPTIONS /oauth/token",
    "PATCH /api/v1/candidates/{id}",
    "PATCH /api/v1/job_postings/{id}",
    "PATCH /api/v1/roles/{id}",
    "POST /api/v1/candidates",
    "POST /api/v1/candidates/{id}/advance",
    "POST /api/v1/candidates/{id}/applications",
    "POST /api/v1/candidates/{id}/hire",
    "POST /api/v1/candidates/{id}/invite_screen",
    "POST /api/v1/candidates/{id}/reject",
    "POST /api/v1/candidates/{id}/unreject",
    "POST /api/v1/channels/x/post",
    "POST /api/v1/job_postings",
    "POST /api/v1/job_postings/{id}/publish",
    "POST /api/v1/job_postings/{id}/unpublish",
    "POST /api/v1/quick_post",
    "POST /api/v1/roles",
    "POST /api/v1/roles/{id}/pause",
    "POST /api/v1/roles/{id}/publish",
    "POST /api/v1/roles/{id}/reopen",
    "POST /api/v1/roles/{id}/resume",
    "POST /careers/{org}/{slug}/apply",
    "POST /dashboard/mode",
    "POST /dashboard/password",
    "POST /dashboard/settings/account/password",
    "POST /dashboard/settings/career-page",
    "POST /dashboard/settings/integrations/api-keys",
    "POST /dashboard/settings/integrations/api-keys/{id}/revoke",
    "POST /dashboard/settings/integrations/channels/whatsapp/connect",
    "POST /dashboard/settings/integrations/channels/whatsapp/disconnect",
    "POST /dashboard/settings/integrations/channels/x/connect",
    "POST /dashboard/settings/integrations/channels/x/disconnect",
    "POST /dashboard/settings/integrations/connected-apps/{id}/revoke",
    "POST /dashboard/settings/members",
    "POST /dashboard/settings/members/{id}/link",
    "POST /dashboard/settings/members/{id}/remove",
    "POST /dashboard/settings/members/{id}/role",
    "POST /dashboard/sign-in",
    "POST /dashboard/sign-out",
    "POST /dashboard/sign-out-everywhere",
    "POST /oauth/authorize",
    "POST /oauth/registrations",
    "POST /oauth/revoke",
    "POST /oauth/token",
    "POST /webhooks/voice/{provider}",
];

/// Says that there is no such path, or no such method on it.
fn refuse(request: &DocumentRequest<'_>) -> Result<Reply<()>, Error> {
    Err(refusal(request.path()))
}

fn refusal(path: &str) -> Error {
    let methods: BTreeSet<_> = KNOWN
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
    fn a_known_path_names_its_methods() {
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
                matches!(refusal(path), Error::MethodNotAllowed(methods) if methods == allowed),
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
            assert!(matches!(refusal(path), Error::NotFound), "{path}");
        }
    }
}
