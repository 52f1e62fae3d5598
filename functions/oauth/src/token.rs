//! The token endpoint (RFC 6749, section 3.2): a code, or a refresh token, for the next tokens. Everything is looked at
//! before anything is spent, and the spending is one conditional write.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use shared::auth::{Credential, Kind};
use shared::http::{Error, FORM, Payload, Reply, Sent, Unversioned, Visit, audience};
use shared::model::{Client, Grant, GrantType, Refresh, Scopes, TokenSet};
use shared::store::{Apps, NewAccess, Writes};
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

use crate::authorize::{is_resource, read_scopes};
use crate::client;
use crate::refusal::{Refusal, answer};

/// The names that may be sent once only (RFC 6749, section 3.2); `resource` may be repeated.
const ONCE: [&str; 8] = [
    "grant_type",
    "code",
    "redirect_uri",
    "client_id",
    "client_secret",
    "code_verifier",
    "refresh_token",
    "scope",
];

/// What a client shows for tokens (RFC 6749, sections 4.1.3 and 6): a code, or a refresh token. What is empty was not sent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct TokenRequest {
    /// `authorization_code` or `refresh_token`.
    #[schema(required, value_type = GrantType)]
    grant_type: String,
    /// The code.
    code: String,
    /// Where the code was sent to; with `code`.
    redirect_uri: String,
    /// What the code was asked for with, before it was made a challenge (RFC 7636, section 4.1); with `code`.
    code_verifier: String,
    /// The refresh token.
    refresh_token: String,
    /// Fewer scopes than were granted, for the next access token; with `refresh_token`.
    scope: String,
    /// What the tokens are for (RFC 8707): this host, or its `/api/v1`.
    #[serde(deserialize_with = "one_or_more")]
    resource: Vec<String>,
    /// The client, if the header does not name it.
    client_id: String,
    /// Its secret, if it has one and sends it here.
    client_secret: String,
}

impl Payload for TokenRequest {
    const MEDIA: Option<&'static str> = Some(FORM);
    type Body = Self;
}

fn one_or_more<'de, D: Deserializer<'de>>(values: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Values {
        One(String),
        More(Vec<String>),
    }
    Ok(match Values::deserialize(values)? {
        Values::One(value) => vec![value],
        Values::More(values) => values,
    })
}

/// A pair of tokens (RFC 6749, section 5.1).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// The access token, for the `Authorization` header.
    access_token: String,
    /// `Bearer`.
    token_type: &'static str,
    /// For how many seconds the access token is good.
    expires_in: i64,
    /// The refresh token.
    refresh_token: String,
    /// The scopes of the access token.
    scope: String,
}

/// The form of the token and the revocation endpoint: none of these names sent twice. Others are ignored.
pub(crate) fn read_form<T: DeserializeOwned>(visit: &Visit, once: &[&str]) -> Result<T, Refusal> {
    let form = visit.form().map_err(|error| Refusal::new("invalid_request", format!("{error}.")))?;
    match form.repeated(once) {
        Some(name) => Err(Refusal::new("invalid_request", format!("{name} must be sent once."))),
        None => form.read().map_err(|_| Refusal::new("invalid_request", "The form cannot be read.")),
    }
}

/// Gives tokens for a code, or for a refresh token.
///
/// # Errors
///
/// - `invalid_request`: the body is no form of at most 64 KB, or something is missing or there twice.
/// - `invalid_client`: the client is not known, or its secret is not right.
/// - `invalid_grant`: the code or refresh token is not good, or the organization has too many connected applications.
/// - `unsupported_grant_type`: `grant_type` is another.
/// - `invalid_scope`: `scope` holds more than was granted.
/// - `invalid_target`: `resource` is not this API.
pub(crate) async fn issue_tokens(sent: Sent<TokenRequest>) -> Result<Reply<Unversioned<Tokens>>, Error> {
    answer(issue(&sent).await)
}

async fn issue(visit: &Visit) -> Result<Reply<Unversioned<Tokens>>, Refusal> {
    let request: TokenRequest = read_form(visit, &ONCE)?;
    let client = client::authenticate(visit, &request.client_id, &request.client_secret).await?;
    let tokens = match required("grant_type", &request.grant_type)?.parse() {
        Ok(GrantType::AuthorizationCode) => exchange(visit, &request, &client).await?,
        Ok(GrantType::RefreshToken) => refresh(visit, &request, &client).await?,
        Err(_) => {
            let known = "grant_type must be authorization_code or refresh_token.";
            return Err(Refusal::new("unsupported_grant_type", known));
        }
    };
    Ok(Reply::ok(&tokens)?.unversioned())
}

/// What must have been sent.
pub(crate) fn required<'v>(name: &str, value: &'v str) -> Result<&'v str, Refusal> {
    match value {
        "" => Err(Refusal::new("invalid_request", format!("{name} is missing."))),
        value => Ok(value),
    }
}

async fn exchange(visit: &Visit, request: &TokenRequest, client: &Client) -> Result<Tokens, Refusal> {
    let code = required("code", &request.code)?;
    let verifier = required("code_verifier", &request.code_verifier)?;
    let redirect_uri = required("redirect_uri", &request.redirect_uri)?;
    check_resource(visit, request)?;
    let (code, grant) = find(visit, code, Kind::AuthorizationCode, client).await?;
    let genuine: bool = code.hash().as_bytes().ct_eq(grant.code.hash.as_bytes()).into();
    if !genuine {
        return Err(Refusal::invalid_grant());
    }
    if grant.tokens.is_some() {
        return end(visit, &code, grant, "a code was used again").await;
    }
    if !grant.is_good(visit.now())
        || grant.code.redirect_uri != redirect_uri
        || !grant.code.is_verified_by(verifier)
    {
        return Err(Refusal::invalid_grant());
    }
    let refresh = Credential::generate(Kind::RefreshToken, code.tenant(), grant.id, visit.random());
    let scopes = grant.scopes;
    let apps = visit.store().list_apps(code.tenant()).await?;
    put(visit, grant, &refresh, None, scopes, &apps, false).await
}

async fn refresh(visit: &Visit, request: &TokenRequest, client: &Client) -> Result<Tokens, Refusal> {
    let shown = required("refresh_token", &request.refresh_token)?;
    check_resource(visit, request)?;
    let (shown, grant) = find(visit, shown, Kind::RefreshToken, client).await?;
    let judged = grant.judge_refresh(&shown.hash(), &shown.family_hash(), visit.now());
    if judged == Refresh::Unknown {
        return Err(Refusal::invalid_grant());
    }
    let scopes = match request.scope.as_str() {
        "" => grant.scopes,
        scope => read_scopes(scope)
            .filter(|scopes| scopes.iter().all(|scope| grant.scopes.contains(scope)))
            .ok_or_else(|| Refusal::new("invalid_scope", "scope may hold only what was granted."))?,
    };
    let apps = visit.store().list_apps(shown.tenant()).await?;
    let again = judged == Refresh::Again;
    if judged == Refresh::Reuse || (again && !apps.is_unused(grant.id)) {
        return end(visit, &shown, grant, "a refresh token was used again").await;
    }
    let next = shown.successor(visit.random());
    put(visit, grant, &next, Some(shown.hash()), scopes, &apps, again).await
}

/// Refuses a token for anything but this API (RFC 8707, section 2.2).
fn check_resource(visit: &Visit, request: &TokenRequest) -> Result<(), Refusal> {
    if request.resource.iter().all(|resource| is_resource(visit.base_url(), resource)) {
        Ok(())
    } else {
        Err(Refusal::new("invalid_target", format!("resource must be {}.", audience(visit.base_url()))))
    }
}

/// The grant that a code or token names, if it is this client's.
async fn find(
    visit: &Visit,
    text: &str,
    kind: Kind,
    client: &Client,
) -> Result<(Credential, Grant), Refusal> {
    let credential: Credential = text.parse().map_err(|_| Refusal::invalid_grant())?;
    if credential.kind() != kind {
        return Err(Refusal::invalid_grant());
    }
    let grant = visit.store().find_grant(credential.tenant(), credential.id()).await?;
    let grant = grant.filter(|grant| grant.client_id == client.id).ok_or_else(Refusal::invalid_grant)?;
    Ok((credential, grant))
}

/// Issues the tokens. Whoever else is at the same grant makes this write fail, and the request is decided anew.
async fn put(
    visit: &Visit,
    grant: Grant,
    refresh: &Credential,
    previous: Option<String>,
    scopes: Scopes,
    apps: &Apps,
    unused: bool,
) -> Result<Tokens, Refusal> {
    let (now, tenant) = (visit.now(), refresh.tenant());
    if !apps.have_room_for(grant.id, now) {
        let sentence =
            "Too many applications of this organization are connected; revoke some in the dashboard.";
        return Err(Refusal::new("invalid_grant", sentence));
    }
    let access = Credential::generate(Kind::AccessToken, tenant, grant.id, visit.random());
    let hash = access.hash_for(&audience(visit.base_url()));
    let grant = grant.with_tokens(TokenSet {
        access: hash.clone(),
        family: refresh.family_hash(),
        refresh: refresh.hash(),
        previous,
        expires_at: now.saturating_add(TokenSet::REFRESH_LIFE).unwrap_or(now),
    });
    let expires_at = now.saturating_add(TokenSet::ACCESS_LIFE).unwrap_or(now);
    let mut writes = Writes::new(tenant);
    writes.replace_grant(&grant)?;
    writes.put_access(&grant, &NewAccess { hash, scopes, expires_at }, apps, unused, now)?;
    visit.store().commit(writes).await?;
    Ok(Tokens {
        access_token: access.reveal().to_owned(),
        token_type: "Bearer",
        expires_in: TokenSet::ACCESS_LIFE.as_secs(),
        refresh_token: refresh.reveal().to_owned(),
        scope: scopes.iter().map(shared::model::Scope::as_str).collect::<Vec<_>>().join(" "),
    })
}

/// Ends a grant because somebody has shown what was used before: a thief, or the one who was robbed.
async fn end<T>(visit: &Visit, shown: &Credential, grant: Grant, why: &str) -> Result<T, Refusal> {
    if grant.revoked_at.is_none() {
        tracing::warn!(tenant = %shown.tenant(), grant = %grant.id, why, "a grant ends");
        let mut writes = Writes::new(shown.tenant());
        writes.revoke_grant(grant, visit.now())?;
        visit.store().commit(writes).await?;
    }
    Err(Refusal::invalid_grant())
}
