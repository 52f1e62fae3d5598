//! Revocation (RFC 7009): a client ends its own tokens. What it does not know of, or what has ended, is answered alike.

use serde::{Deserialize, Serialize};
use shared::auth::{Credential, Kind};
use shared::http::{Error, FORM, Payload, Reply, Sent, Unversioned, Visit, audience};
use shared::store::Writes;
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

use crate::client;
use crate::refusal::{Refusal, answer};
use crate::token::{read_form, required};

/// The names that may be sent once only (RFC 6749, section 3.2).
const ONCE: [&str; 3] = ["token", "client_id", "client_secret"];

/// What a client ends (RFC 7009, section 2.1). What is empty was not sent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct RevocationRequest {
    /// The access or refresh token.
    #[schema(required, min_length = 1)]
    token: String,
    /// The client, if the header does not name it.
    client_id: String,
    /// Its secret, if it has one and sends it here.
    client_secret: String,
}

impl Payload for RevocationRequest {
    const MEDIA: Option<&'static str> = Some(FORM);
    type Body = Self;
}

/// What a client is answered: nothing.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Revoked {}

/// Revokes an access token, or with a refresh token the whole grant. A token that nobody knows is answered alike.
///
/// # Errors
///
/// - `invalid_request`: the body is no form of at most 64 KB, or something is missing or there twice.
/// - `invalid_client`: the client is not known, or its secret is not right.
/// - `invalid_grant`: the token was issued to another client.
pub(crate) async fn revoke_token(
    sent: Sent<RevocationRequest>,
) -> Result<Reply<Unversioned<Revoked>>, Error> {
    answer(revoke(&sent).await)
}

async fn revoke(visit: &Visit) -> Result<Reply<Unversioned<Revoked>>, Refusal> {
    let request: RevocationRequest = read_form(visit, &ONCE)?;
    let client = client::authenticate(visit, &request.client_id, &request.client_secret).await?;
    if let Ok(token) = required("token", &request.token)?.parse() {
        end(visit, &token, &client.id).await?;
    }
    Ok(Reply::ok(&Revoked {})?.unversioned())
}

async fn end(visit: &Visit, token: &Credential, client_id: &str) -> Result<(), Refusal> {
    let Some(grant) = visit.store().find_grant(token.tenant(), token.id()).await? else { return Ok(()) };
    let Some(tokens) = &grant.tokens else { return Ok(()) };
    let (stored, shown) = match token.kind() {
        Kind::AccessToken => (&tokens.access, token.hash_for(&audience(visit.base_url()))),
        Kind::RefreshToken => (&tokens.family, token.family_hash()),
        _ => return Ok(()),
    };
    let genuine: bool = stored.as_bytes().ct_eq(shown.as_bytes()).into();
    if !genuine || grant.revoked_at.is_some() {
        return Ok(());
    }
    if grant.client_id != client_id {
        return Err(Refusal::new("invalid_grant", "The token was issued to another client."));
    }
    let mut writes = Writes::new(token.tenant());
    if token.kind() == Kind::RefreshToken {
        writes.revoke_grant(grant, visit.now())?;
    } else {
        writes.remove_access(grant.id);
        writes.require_grant(&grant);
    }
    Ok(visit.store().commit(writes).await?)
}
