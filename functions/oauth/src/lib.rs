//! OAuth 2.0 for tool servers (RFC 6749 as RFC 9700 has it): authorization code with PKCE, dynamic registration, client ID
//! metadata documents, rotating refresh tokens, revocation.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/.well-known/oauth-authorization-server` | the server's metadata (RFC 8414) |
//! | GET | `/.well-known/oauth-protected-resource` | the metadata of everything here as a resource (RFC 9728) |
//! | GET | `/.well-known/oauth-protected-resource/api/v1` | the same of the API |
//! | POST | `/oauth/registrations` | register an application (RFC 7591) |
//! | POST | `/oauth/token` | a code or a refresh token for the next tokens |
//! | POST | `/oauth/revoke` | end a token or a grant (RFC 7009) |
//! | GET | `/oauth/authorize` | ask the member who is signed in |
//! | POST | `/oauth/authorize` | take the member's answer |
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

use shared::http::{Access, Form, Route, Row};

/// What applications send.
pub fn routes<R: Row>() -> Vec<R> {
    let (anybody, form) = (Access::Public, Form::OAuth);
    vec![
        R::open(
            "GET /.well-known/oauth-authorization-server",
            anybody,
            form,
            metadata::show_authorization_server,
        ),
        R::open("GET /.well-known/oauth-protected-resource", anybody, form, metadata::show_protected_host),
        R::open(
            "GET /.well-known/oauth-protected-resource/api/v1",
            anybody,
            form,
            metadata::show_protected_api,
        ),
        R::open("POST /oauth/registrations", anybody, form, register::register_client),
        R::open("POST /oauth/token", anybody, form, token::issue_tokens),
        R::open("POST /oauth/revoke", anybody, form, revoke::revoke_token),
    ]
}

/// The page on which a member consents, and what browsers send by themselves before a script's request.
pub fn pages() -> Vec<Route> {
    let preflight = |key| Route::open(key, Access::Public, Form::OAuth, metadata::preflight);
    vec![
        Route::page("GET /oauth/authorize", authorize::ask),
        Route::page("POST /oauth/authorize", authorize::decide),
        preflight("OPTIONS /.well-known/oauth-authorization-server"),
        preflight("OPTIONS /.well-known/oauth-protected-resource"),
        preflight("OPTIONS /.well-known/oauth-protected-resource/api/v1"),
        preflight("OPTIONS /oauth/registrations"),
        preflight("OPTIONS /oauth/token"),
        preflight("OPTIONS /oauth/revoke"),
    ]
}
