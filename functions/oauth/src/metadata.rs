//! What clients discover: the authorization server (RFC 8414), the resources that it protects (RFC 9728), and that scripts
//! of any origin may talk to both.

use std::future::{Ready, ready};
use std::sync::Arc;

use serde::Serialize;
use shared::http::{Error, Reply, Visit, audience};
use shared::model::{ClientAuthentication, Scope};

/// The authorization server.
#[derive(Debug, Serialize)]
pub(crate) struct Server {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: String,
    revocation_endpoint: String,
    scopes_supported: [&'static str; Scope::ALL.len()],
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 2],
    code_challenge_methods_supported: [&'static str; 1],
    token_endpoint_auth_methods_supported: [&'static str; 3],
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    authorization_response_iss_parameter_supported: bool,
    client_id_metadata_document_supported: bool,
}

/// A protected resource.
#[derive(Debug, Serialize)]
pub(crate) struct Protected {
    resource: String,
    resource_name: &'static str,
    authorization_servers: [String; 1],
    scopes_supported: [&'static str; Scope::ALL.len()],
    bearer_methods_supported: [&'static str; 1],
}

/// Shows the authorization server's metadata.
#[expect(clippy::needless_pass_by_value, reason = "a handler is given its request to keep")]
pub(crate) fn server(visit: Arc<Visit>) -> Ready<Result<Reply<Server>, Error>> {
    let base = visit.base_url();
    let methods = ClientAuthentication::ALL.map(ClientAuthentication::as_str);
    ready(Reply::ok(&Server {
        issuer: base.to_owned(),
        authorization_endpoint: format!("{base}/oauth/authorize"),
        token_endpoint: format!("{base}/oauth/token"),
        registration_endpoint: format!("{base}/oauth/registrations"),
        revocation_endpoint: format!("{base}/oauth/revoke"),
        scopes_supported: Scope::ALL.map(Scope::as_str),
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_methods_supported: methods,
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
    }))
}

/// Shows the metadata of this host as a resource, for clients that look there only.
#[expect(clippy::needless_pass_by_value, reason = "a handler is given its request to keep")]
pub(crate) fn host(visit: Arc<Visit>) -> Ready<Result<Reply<Protected>, Error>> {
    ready(resource(&visit, visit.base_url().to_owned()))
}

/// Shows the metadata of the API.
#[expect(clippy::needless_pass_by_value, reason = "a handler is given its request to keep")]
pub(crate) fn api(visit: Arc<Visit>) -> Ready<Result<Reply<Protected>, Error>> {
    ready(resource(&visit, audience(visit.base_url())))
}

fn resource(visit: &Visit, resource: String) -> Result<Reply<Protected>, Error> {
    Reply::ok(&Protected {
        resource,
        resource_name: "Rolecall API",
        authorization_servers: [visit.base_url().to_owned()],
        scopes_supported: Scope::ALL.map(Scope::as_str),
        bearer_methods_supported: ["header"],
    })
}

/// Says to a browser that a script may send what it is about to send.
pub(crate) fn preflight(_: Arc<Visit>) -> Ready<Result<Reply<()>, Error>> {
    ready(Ok(Reply::empty()
        .with("access-control-allow-methods", "GET, POST, OPTIONS".to_owned())
        .with("access-control-allow-headers", "Authorization, Content-Type, MCP-Protocol-Version".to_owned())
        .with("access-control-max-age", "86400".to_owned())))
}
