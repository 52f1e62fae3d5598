//! Revocation (RFC 7009): a client ends its own tokens. What it does not know of, or what has ended, is answered alike.

use std::sync::Arc;

use serde::Serialize;
use shared::auth::{Credential, Kind};
use shared::http::{Error, Reply, Visit, audience};
use shared::store::Writes;
use subtle::ConstantTimeEq;

use crate::client;
use crate::refusal::{Answer, Refusal, answer};
use crate::token::read_form;

/// What a client is answered: nothing.
#[derive(Debug, Serialize)]
pub(crate) struct Revoked {}

/// Revokes an access token, or with a refresh token the whole grant.
pub(crate) async fn revoke(visit: Arc<Visit>) -> Result<Reply<Answer<Revoked>>, Error> {
    answer(respond(&visit).await)
}

async fn respond(visit: &Visit) -> Result<Reply<Answer<Revoked>>, Refusal> {
    let form = read_form(visit)?;
    let client = client::authenticate(visit, &form).await?;
    let token = form.given("token").ok_or_else(|| Refusal::new("invalid_request", "token is missing."))?;
    if let Ok(token) = token.parse() {
        end(visit, &token, &client.id).await?;
    }
    Ok(Reply::ok(&Answer::Granted(Revoked {}))?)
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
