//! What clients discover: the authorization server (RFC 8414), the resources that it protects (RFC 9728), and that scripts
//! of any origin may talk to both.

use std::future::{Ready, ready};

use serde::Serialize;
use shared::http::{Error, Reply, Sent, Unversioned, Visit, audience};
use shared::model::{ClientAuthentication, GrantType, ResponseType, Scope};
use utoipa::ToSchema;

/// The authorization server (RFC 8414).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuthorizationServer)]
pub(crate) struct Server {
    /// Who issues the tokens: where everything here is.
    #[schema(format = "uri")]
    issuer: String,
    /// Where an application sends the member's browser.
    #[schema(format = "uri")]
    authorization_endpoint: String,
    /// Where it gets its tokens.
    #[schema(format = "uri")]
    token_endpoint: String,
    /// Where it registers itself.
    #[schema(format = "uri")]
    registration_endpoint: String,
    /// Where it ends its tokens.
    #[schema(format = "uri")]
    revocation_endpoint: String,
    /// The scopes that there are.
    scopes_supported: [&'static str; Scope::ALL.len()],
    /// `code`.
    response_types_supported: [&'static str; 1],
    /// `query`.
    response_modes_supported: [&'static str; 1],
    /// What tokens are given for.
    grant_types_supported: [&'static str; 2],
    /// `S256`.
    code_challenge_methods_supported: [&'static str; 1],
    /// How an application proves who it is where it gets its tokens.
    token_endpoint_auth_methods_supported: [&'static str; 3],
    /// How it does where it ends them.
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    /// Whether an answer to the browser says whose it is (RFC 9207).
    authorization_response_iss_parameter_supported: bool,
    /// Whether the address of a metadata document will do as a client's identifier.
    client_id_metadata_document_supported: bool,
}

/// A protected resource (RFC 9728).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProtectedResource)]
pub(crate) struct Protected {
    /// What is protected.
    #[schema(format = "uri")]
    resource: String,
    /// What people call it.
    resource_name: &'static str,
    /// Who issues tokens for it.
    authorization_servers: [String; 1],
    /// The scopes that there are.
    scopes_supported: [&'static str; Scope::ALL.len()],
    /// `header`.
    bearer_methods_supported: [&'static str; 1],
}

/// Shows the authorization server's metadata.
#[expect(clippy::needless_pass_by_value, reason = "a handler is given its request to keep")]
pub(crate) fn show_authorization_server(sent: Sent<()>) -> Ready<Result<Reply<Unversioned<Server>>, Error>> {
    let base = sent.base_url();
    let methods = ClientAuthentication::ALL.map(ClientAuthentication::as_str);
    let server = Reply::ok(&Server {
        issuer: base.to_owned(),
        authorization_endpoint: format!("{base}/oauth/authorize"),
        token_endpoint: format!("{base}/oauth/token"),
        registration_endpoint: format!("{base}/oauth/registrations"),
        revocation_endpoint: format!("{base}/oauth/revoke"),
        scopes_supported: Scope::ALL.map(Scope::as_str),
        response_types_supported: ResponseType::ALL.map(ResponseType::as_str),
        response_modes_supported: ["query"],
        grant_types_supported: GrantType::ALL.map(GrantType::as_str),
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_methods_supported: methods,
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
    });
    ready(server.map(Reply::unversioned))
}

/// Shows the metadata of this host as a resource, for clients that look there only.
#[expect(clippy::needless_pass_by_value, reason = "a handler is given its request to keep")]
pub(crate) fn show_protected_host(sent: Sent<()>) -> Ready<Result<Reply<Unversioned<Protected>>, Error>> {
    ready(resource(&sent, sent.base_url().to_owned()))
}

/// Shows the metadata of the API.
#[expect(clippy::needless_pass_by_value, reason = "a handler is given its request to keep")]
pub(crate) fn show_protected_api(sent: Sent<()>) -> Ready<Result<Reply<Unversioned<Protected>>, Error>> {
    ready(resource(&sent, audience(sent.base_url())))
}

fn resource(visit: &Visit, resource: String) -> Result<Reply<Unversioned<Protected>>, Error> {
    let protected = Reply::ok(&Protected {
        resource,
        resource_name: "Rolecall API",
        authorization_servers: [visit.base_url().to_owned()],
        scopes_supported: Scope::ALL.map(Scope::as_str),
        bearer_methods_supported: ["header"],
    });
    protected.map(Reply::unversioned)
}

/// Says to a browser that a script may send what it is about to send.
pub(crate) fn preflight(_: Sent<()>) -> Ready<Result<Reply<()>, Error>> {
    ready(Ok(Reply::empty()
        .with("access-control-allow-methods", "GET, POST, OPTIONS".to_owned())
        .with("access-control-allow-headers", "Authorization, Content-Type, MCP-Protocol-Version".to_owned())
        .with("access-control-max-age", "86400".to_owned())))
}
