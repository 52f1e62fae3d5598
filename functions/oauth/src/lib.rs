//! OAuth 2.0 for applications that act for a member (RFC 6749 with the best practices of RFC 9700): authorization code
//! with PKCE, dynamic registration, client ID metadata documents, rotating refresh tokens and revocation.
//!
//! A grant has one valid refresh token at a time, and at most two valid access tokens: the current one, and the one before
//! it until it expires. Access tokens are checked by the same gate as API keys.

mod authorize;
pub mod client;
mod metadata;
mod offer;
mod pages;
mod register;
mod rejection;
mod revoke;
mod token;

use shared::http::{Access, ReplyFormat, Route, Row};

/// The routes for clients.
pub fn routes<R: Row>() -> Vec<R> {
    let (public, format) = (Access::Public, ReplyFormat::OAuth);
    vec![
        R::open(
            "GET /.well-known/oauth-authorization-server",
            public,
            format,
            metadata::show_authorization_server,
        ),
        R::open("GET /.well-known/oauth-protected-resource", public, format, metadata::show_protected_host),
        R::open(
            "GET /.well-known/oauth-protected-resource/api/v1",
            public,
            format,
            metadata::show_protected_api,
        ),
        R::open(
            "GET /.well-known/oauth-protected-resource/mcp",
            public,
            format,
            metadata::show_protected_mcp_endpoint,
        ),
        R::open("POST /oauth/registrations", public, format, register::register_client),
        R::open("POST /oauth/token", public, format, token::issue_tokens),
        R::open("POST /oauth/revoke", public, format, revoke::revoke_token),
    ]
}

/// The consent page and the CORS preflights.
pub fn pages() -> Vec<Route> {
    let preflight = |key| Route::open(key, Access::Public, ReplyFormat::OAuth, metadata::preflight);
    vec![
        Route::page("GET /oauth/authorize", authorize::show_consent),
        Route::page("POST /oauth/authorize", authorize::decide),
        preflight("OPTIONS /.well-known/oauth-authorization-server"),
        preflight("OPTIONS /.well-known/oauth-protected-resource"),
        preflight("OPTIONS /.well-known/oauth-protected-resource/api/v1"),
        preflight("OPTIONS /.well-known/oauth-protected-resource/mcp"),
        preflight("OPTIONS /oauth/registrations"),
        preflight("OPTIONS /oauth/token"),
        preflight("OPTIONS /oauth/revoke"),
    ]
}
