//! OAuth 2.0 for tool servers (RFC 6749 as RFC 9700 has it): authorization code with PKCE, dynamic registration, client ID
//! metadata documents, rotating refresh tokens, revocation.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/.well-known/oauth-authorization-server` | the server's metadata (RFC 8414) |
//! | GET | `/.well-known/oauth-protected-resource` | the metadata of everything here as a resource (RFC 9728) |
//! | GET | `/.well-known/oauth-protected-resource/api/v1` | the same of the API |
//! | POST | `/oauth/registrations` | register an application (RFC 7591) |
//! | GET | `/oauth/authorize` | ask the member who is signed in |
//! | POST | `/oauth/authorize` | take the member's answer |
//! | POST | `/oauth/token` | a code or a refresh token for the next tokens |
//! | POST | `/oauth/revoke` | end a token or a grant (RFC 7009) |
//! | OPTIONS | `/.well-known/oauth-authorization-server` | scripts of any origin may read it |
//! | OPTIONS | `/.well-known/oauth-protected-resource` | likewise |
//! | OPTIONS | `/.well-known/oauth-protected-resource/api/v1` | likewise |
//! | OPTIONS | `/oauth/registrations` | likewise |
//! | OPTIONS | `/oauth/token` | likewise |
//! | OPTIONS | `/oauth/revoke` | likewise |
//!
//! An application's grant has at most one good access token and one good refresh token at a time. The access token is let
//! in by the same gate as API keys.

mod authorize;
mod client;
mod metadata;
mod pages;
mod refusal;
mod register;
mod revoke;
mod token;

use shared::http::Route;

/// The function's routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::oauth("GET /.well-known/oauth-authorization-server", metadata::server),
        Route::oauth("GET /.well-known/oauth-protected-resource", metadata::host),
        Route::oauth("GET /.well-known/oauth-protected-resource/api/v1", metadata::api),
        Route::oauth("POST /oauth/registrations", register::create),
        Route::page("GET /oauth/authorize", authorize::ask),
        Route::page("POST /oauth/authorize", authorize::decide),
        Route::oauth("POST /oauth/token", token::issue),
        Route::oauth("POST /oauth/revoke", revoke::revoke),
        Route::oauth("OPTIONS /.well-known/oauth-authorization-server", metadata::preflight),
        Route::oauth("OPTIONS /.well-known/oauth-protected-resource", metadata::preflight),
        Route::oauth("OPTIONS /.well-known/oauth-protected-resource/api/v1", metadata::preflight),
        Route::oauth("OPTIONS /oauth/registrations", metadata::preflight),
        Route::oauth("OPTIONS /oauth/token", metadata::preflight),
        Route::oauth("OPTIONS /oauth/revoke", metadata::preflight),
    ]
}
