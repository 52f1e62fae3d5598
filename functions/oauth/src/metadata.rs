//! Discovery: the metadata of the authorization server (RFC 8414) and of the protected resources (RFC 9728), and the
//! CORS preflights of the OAuth routes.

use std::future::{Ready, ready};

use serde::Serialize;
use shared::http::{Error, PublicRequest, Reply, Unversioned};
use shared::model::{ClientAuthentication, GrantType, Resource, ResponseType, Scope, Scopes};
use utoipa::ToSchema;

/// The metadata of the authorization server (RFC 8414).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuthorizationServer {
    /// The issuer of the tokens: the base URL of this service.
    #[schema(format = "uri")]
    issuer: String,
    /// The URL of the authorization endpoint, which clients open in the member's browser.
    #[schema(format = "uri")]
    authorization_endpoint: String,
    /// The URL of the token endpoint.
    #[schema(format = "uri")]
    token_endpoint: String,
    /// The URL of the registration endpoint.
    #[schema(format = "uri")]
    registration_endpoint: String,
    /// The URL of the revocation endpoint.
    #[schema(format = "uri")]
    revocation_endpoint: String,
    /// The supported scopes.
    scopes_supported: [&'static str; Scope::ALL.len()],
    /// The supported response type: `code`.
    response_types_supported: [&'static str; 1],
    /// The supported response mode: `query`.
    response_modes_supported: [&'static str; 1],
    /// The supported grant types.
    grant_types_supported: [&'static str; 2],
    /// The supported PKCE method: `S256`.
    code_challenge_methods_supported: [&'static str; 1],
    /// The client authentication methods of the token endpoint.
    token_endpoint_auth_methods_supported: [&'static str; 3],
    /// The client authentication methods of the revocation endpoint.
    revocation_endpoint_auth_methods_supported: [&'static str; 3],
    /// Whether authorization responses contain the issuer (RFC 9207).
    authorization_response_iss_parameter_supported: bool,
    /// Whether the URL of a metadata document can be used as a client identifier.
    client_id_metadata_document_supported: bool,
}

/// The metadata of a protected resource (RFC 9728).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProtectedResource {
    /// The URL of the resource.
    #[schema(format = "uri")]
    resource: String,
    /// The display name of the resource.
    resource_name: &'static str,
    /// The authorization servers that issue tokens for the resource.
    authorization_servers: [String; 1],
    /// The supported scopes.
    scopes_supported: Vec<&'static str>,
    /// How the access token is sent: in the `header`.
    bearer_methods_supported: [&'static str; 1],
}

/// Returns the metadata of the authorization server.
#[expect(clippy::needless_pass_by_value, reason = "handlers take their request by value")]
pub(crate) fn show_authorization_server(
    request: PublicRequest,
) -> Ready<Result<Reply<Unversioned<AuthorizationServer>>, Error>> {
    let base = request.context.base_url();
    let methods = ClientAuthentication::ALL.map(ClientAuthentication::as_str);
    let server = Reply::ok(&AuthorizationServer {
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

/// Returns the metadata of this host as a resource: the API and the MCP endpoint together. Some clients look for it only
/// there.
#[expect(clippy::needless_pass_by_value, reason = "handlers take their request by value")]
pub(crate) fn show_protected_host(
    request: PublicRequest,
) -> Ready<Result<Reply<Unversioned<ProtectedResource>>, Error>> {
    let base_url = request.context.base_url();
    ready(protected_resource(base_url, base_url.to_owned(), "Rolecall", Scopes::all()))
}

/// Returns the metadata of the API as a resource.
#[expect(clippy::needless_pass_by_value, reason = "handlers take their request by value")]
pub(crate) fn show_protected_api(
    request: PublicRequest,
) -> Ready<Result<Reply<Unversioned<ProtectedResource>>, Error>> {
    let base_url = request.context.base_url();
    let resource = Resource::Api;
    ready(protected_resource(base_url, resource.url(base_url), resource.title(), resource.scopes()))
}

/// Returns the metadata of the MCP endpoint as a resource.
#[expect(clippy::needless_pass_by_value, reason = "handlers take their request by value")]
pub(crate) fn show_protected_mcp_endpoint(
    request: PublicRequest,
) -> Ready<Result<Reply<Unversioned<ProtectedResource>>, Error>> {
    let base_url = request.context.base_url();
    let resource = Resource::Mcp;
    ready(protected_resource(base_url, resource.url(base_url), resource.title(), resource.scopes()))
}

fn protected_resource(
    base_url: &str,
    resource: String,
    resource_name: &'static str,
    scopes: Scopes,
) -> Result<Reply<Unversioned<ProtectedResource>>, Error> {
    let resource = Reply::ok(&ProtectedResource {
        resource,
        resource_name,
        authorization_servers: [base_url.to_owned()],
        scopes_supported: scopes.iter().map(Scope::as_str).collect(),
        bearer_methods_supported: ["header"],
    });
    resource.map(Reply::unversioned)
}

/// Responds to a CORS preflight. Scripts from any origin may send the request.
pub(crate) fn preflight(_: PublicRequest) -> Ready<Result<Reply<()>, Error>> {
    ready(Ok(Reply::empty()
        .with("access-control-allow-methods", "GET, POST, OPTIONS".to_owned())
        .with("access-control-allow-headers", "Authorization, Content-Type, MCP-Protocol-Version".to_owned())
        .with("access-control-max-age", "86400".to_owned())))
}
