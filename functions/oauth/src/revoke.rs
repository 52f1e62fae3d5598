//! Revocation (RFC 7009): a client revokes its own tokens. An unknown or revoked token gets the same response.

use serde::{Deserialize, Serialize};
use shared::auth::{Credential, Kind};
use shared::http::{Error, FORM, Payload, PublicRequest, Reply, RequestContext, Unversioned};
use shared::model::AuditActor;
use shared::store::Transaction;
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

use crate::client;
use crate::rejection::{OAuthRejection, reply_or_error};
use crate::token::{read_form, required};

/// The parameters that must not be repeated (RFC 6749, section 3.2).
const UNREPEATABLE: [&str; 3] = ["token", "client_id", "client_secret"];

/// A token to revoke (RFC 7009, section 2.1). An empty parameter counts as absent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct RevocationRequest {
    /// The access or refresh token.
    #[schema(required, min_length = 1)]
    token: String,
    /// The client's identifier, unless the `Authorization` header contains it.
    client_id: String,
    /// The client's secret, unless the client is public or the `Authorization` header contains it.
    client_secret: String,
}

impl Payload for RevocationRequest {
    const MEDIA: Option<&'static str> = Some(FORM);
    type Body = Self;
}

/// An empty object.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Revoked {}

/// Revokes an access token, or the whole grant of a refresh token. An unknown token gets the same response.
///
/// # Errors
///
/// - `invalid_request`: the body is not a form of at most 64 KB, or a parameter is missing or repeated.
/// - `invalid_client`: the client is unknown, or its secret is wrong.
/// - `invalid_grant`: the token was issued to another client.
pub(crate) async fn revoke_token(
    request: PublicRequest<RevocationRequest>,
) -> Result<Reply<Unversioned<Revoked>>, Error> {
    reply_or_error(revoke(&request.context).await)
}

async fn revoke(context: &RequestContext) -> Result<Reply<Unversioned<Revoked>>, OAuthRejection> {
    let request: RevocationRequest = read_form(context, &UNREPEATABLE)?;
    let client = client::authenticate(context, &request.client_id, &request.client_secret).await?;
    if let Ok(token) = Credential::read(required("token", &request.token)?, context.credential_keys()) {
        revoke_if_valid(context, &token, &client.id).await?;
    }
    Ok(Reply::ok(&Revoked {})?.unversioned())
}

/// What a token revokes.
enum Revocation {
    /// The whole grant.
    Grant,
    /// The current access token, and the one before it.
    AccessToken,
    /// Only the access token before the current one.
    PreviousAccessToken,
}

async fn revoke_if_valid(
    context: &RequestContext,
    token: &Credential,
    client_id: &str,
) -> Result<(), OAuthRejection> {
    let Some(grant) = context.store().find_grant(token.tenant(), token.id()).await? else { return Ok(()) };
    let Some(tokens) = &grant.tokens else { return Ok(()) };
    let family = token.family_hash();
    let is_family: bool = tokens.family.as_bytes().ct_eq(family.as_bytes()).into();
    let access_hash = token.gate_hash();
    let revoked = match token.kind() {
        Kind::RefreshToken if is_family => Revocation::Grant,
        Kind::AccessToken if tokens.access.matches(access_hash) => Revocation::AccessToken,
        Kind::AccessToken
            if tokens.previous_access.is_some_and(|previous| previous.hash.matches(access_hash)) =>
        {
            Revocation::PreviousAccessToken
        }
        _ => return Ok(()),
    };
    if grant.revoked_at.is_some() {
        return Ok(());
    }
    if grant.client_id != client_id {
        return Err(OAuthRejection::new("invalid_grant", "The token was issued to another client."));
    }
    context.identify(AuditActor::app(grant.id, Some(grant.member)));
    let mut transaction = Transaction::new(token.tenant());
    match revoked {
        Revocation::Grant => transaction.revoke_grant(&grant, context.now())?,
        Revocation::AccessToken => {
            transaction.delete_access_tokens(tokens);
            transaction.require_grant(&grant);
        }
        Revocation::PreviousAccessToken => {
            transaction.delete_previous_access_token(tokens);
            transaction.require_grant(&grant);
        }
    }
    Ok(context.store().commit(transaction).await?)
}
