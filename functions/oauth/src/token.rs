//! The token endpoint (RFC 6749, section 3.2): it exchanges a code or a refresh token for new tokens.
//!
//! After all checks, one conditional write invalidates the code or refresh token and stores the new tokens.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use shared::auth::{Claims, Credential, Kind};
use shared::http::{Error, FORM, Payload, PublicRequest, Reply, RequestContext, Unversioned};
use shared::model::{
    Audience, AuditActor, Client, CodeVerifier, Grant, GrantType, Refresh, Scopes, TokenSet, UsedRefresh,
};
use shared::store::{AccessTokens, Transaction};
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

use crate::authorize::audience;
use crate::client;
use crate::register::known_scopes;
use crate::rejection::{OAuthRejection, reply_or_error};

/// The parameters that must not be repeated (RFC 6749, section 3.2). Only `resource` may be repeated.
const UNREPEATABLE: [&str; 8] = [
    "grant_type",
    "code",
    "redirect_uri",
    "client_id",
    "client_secret",
    "code_verifier",
    "refresh_token",
    "scope",
];

/// A request for tokens, with a code or a refresh token (RFC 6749, sections 4.1.3 and 6). An empty parameter counts as
/// absent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct TokenRequest {
    /// The grant type: `authorization_code` or `refresh_token`.
    #[schema(required, value_type = GrantType)]
    grant_type: String,
    /// The authorization code. Required for `authorization_code`.
    code: String,
    /// The redirect URI that the code was sent to. Required for `authorization_code`.
    redirect_uri: String,
    /// The PKCE code verifier (RFC 7636, section 4.1): 43 to 128 letters, digits and `-._~`. Required for
    /// `authorization_code`.
    #[schema(pattern = "^([A-Za-z0-9._~-]{43,128})?$")]
    code_verifier: String,
    /// The refresh token. Required for `refresh_token`.
    refresh_token: String,
    /// The scopes of the new access token, separated by spaces. They default to all granted scopes, and unknown scopes are
    /// ignored. Only for `refresh_token`.
    scope: String,
    /// The resource that the access token is for (RFC 8707): the URL of this host, of its `/api/v1` or of its `/mcp`. It
    /// defaults to what access was granted to.
    #[serde(deserialize_with = "one_or_many")]
    resource: Vec<String>,
    /// The client's identifier, unless the `Authorization` header contains it.
    client_id: String,
    /// The client's secret, unless the client is public or the `Authorization` header contains it.
    client_secret: String,
}

impl Payload for TokenRequest {
    const MEDIA: Option<&'static str> = Some(FORM);
    type Body = Self;
}

fn one_or_many<'de, D: Deserializer<'de>>(values: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(values)? {
        OneOrMany::One(value) => vec![value],
        OneOrMany::Many(values) => values,
    })
}

/// An access token and a refresh token (RFC 6749, section 5.1).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// The access token, for the `Authorization` header.
    access_token: String,
    /// The token type: `Bearer`.
    token_type: &'static str,
    /// The lifetime of the access token, in seconds.
    expires_in: i64,
    /// The refresh token for the next pair of tokens. For a minute after its first use, it gives the same pair again.
    refresh_token: String,
    /// The scopes of the access token, separated by spaces.
    scope: String,
}

/// Parses the form of a token or revocation request. Unknown parameters are ignored.
pub(crate) fn read_form<T: DeserializeOwned>(
    context: &RequestContext,
    unrepeatable: &[&str],
) -> Result<T, OAuthRejection> {
    let form = context.form().map_err(|error| OAuthRejection::new("invalid_request", format!("{error}.")))?;
    match form.repeated(unrepeatable) {
        Some(name) => Err(OAuthRejection::new("invalid_request", format!("{name} must not be repeated."))),
        None => form.read().map_err(|_| OAuthRejection::new("invalid_request", "The form cannot be parsed.")),
    }
}

/// Issues an access token and a refresh token for a code or a refresh token.
///
/// # Errors
///
/// - `invalid_request`: the body is not a form of at most 64 KB, or a parameter is missing or repeated.
/// - `invalid_client`: the client is unknown, or its secret is wrong.
/// - `invalid_grant`: the code or refresh token is invalid.
/// - `unsupported_grant_type`: `grant_type` is not supported.
/// - `invalid_scope`: `scope` contains a scope that was not granted.
/// - `invalid_target`: `resource` is not what access was granted to.
pub(crate) async fn issue_tokens(
    request: PublicRequest<TokenRequest>,
) -> Result<Reply<Unversioned<Tokens>>, Error> {
    reply_or_error(issue(&request.context).await)
}

async fn issue(context: &RequestContext) -> Result<Reply<Unversioned<Tokens>>, OAuthRejection> {
    let request: TokenRequest = read_form(context, &UNREPEATABLE)?;
    let client = client::authenticate(context, &request.client_id, &request.client_secret).await?;
    let tokens = match required("grant_type", &request.grant_type)?.parse() {
        Ok(GrantType::AuthorizationCode) => exchange_code(context, &request, &client).await?,
        Ok(GrantType::RefreshToken) => refresh(context, &request, &client).await?,
        Err(_) => {
            let description = "grant_type must be authorization_code or refresh_token.";
            return Err(OAuthRejection::new("unsupported_grant_type", description));
        }
    };
    Ok(Reply::ok(&tokens)?.unversioned())
}

/// Returns the value of a required parameter.
pub(crate) fn required<'v>(name: &str, value: &'v str) -> Result<&'v str, OAuthRejection> {
    match value {
        "" => Err(OAuthRejection::new("invalid_request", format!("{name} is missing."))),
        value => Ok(value),
    }
}

async fn exchange_code(
    context: &RequestContext,
    request: &TokenRequest,
    client: &Client,
) -> Result<Tokens, OAuthRejection> {
    let code = required("code", &request.code)?;
    let verifier: CodeVerifier = required("code_verifier", &request.code_verifier)?
        .parse()
        .map_err(|wrong| OAuthRejection::new("invalid_request", format!("code_verifier {wrong}.")))?;
    let redirect_uri = required("redirect_uri", &request.redirect_uri)?;
    let (code, grant) = find(context, code, Kind::AuthorizationCode, client).await?;
    let audience = requested_audience(context, request, &grant)?;
    let is_genuine: bool = code.hash().as_bytes().ct_eq(grant.code.hash.as_bytes()).into();
    if !is_genuine {
        return Err(OAuthRejection::invalid_grant("the code is unknown"));
    }
    if grant.code.redirect_uri != redirect_uri {
        return Err(OAuthRejection::invalid_grant("redirect_uri is not the one that the code was sent to"));
    }
    if !grant.code.is_verified_by(&verifier) {
        return Err(OAuthRejection::invalid_grant("code_verifier does not match the code_challenge"));
    }
    // Only a request that knows the verifier can end the grant, so a leaked code alone cannot.
    if grant.tokens.is_some() {
        return revoke_reused(context, &code, grant, "a code was used again").await;
    }
    if !grant.is_good(context.now()) {
        return Err(OAuthRejection::invalid_grant("the code has expired or its grant was revoked"));
    }
    let (keys, random) = (context.credential_keys(), context.random());
    let (now, tenant) = (context.now(), code.tenant());
    let generate = |kind, claims| Credential::generate(kind, tenant, grant.id, claims, keys, random);
    let claims = access_claims(context, grant.scopes, audience);
    let (access, refresh) =
        (generate(Kind::AccessToken, claims), generate(Kind::RefreshToken, Claims::default()));
    let known = context.store().get_valid_access_tokens(tenant, now).await?;
    store_tokens(context, grant, (access, refresh), None, &known).await
}

async fn refresh(
    context: &RequestContext,
    request: &TokenRequest,
    client: &Client,
) -> Result<Tokens, OAuthRejection> {
    let token = required("refresh_token", &request.refresh_token)?;
    let (token, grant) = find(context, token, Kind::RefreshToken, client).await?;
    let audience = requested_audience(context, request, &grant)?;
    let now = context.now();
    match grant.judge_refresh(&token.hash(), &token.family_hash(), now) {
        Refresh::Next => {}
        Refresh::Again(used) => return repeated_tokens(context, &token, &grant, &used),
        Refresh::Reuse => {
            return revoke_reused(context, &token, grant, "a refresh token was used again").await;
        }
        Refresh::Unknown => {
            return Err(OAuthRejection::invalid_grant("the refresh token is unknown, expired or revoked"));
        }
    }
    let scopes = match request.scope.as_str() {
        "" => grant.scopes,
        scope => Some(known_scopes(scope))
            .filter(|scopes| !scopes.is_empty() && scopes.are_within(grant.scopes))
            .ok_or_else(|| {
                OAuthRejection::new("invalid_scope", "scope may contain only scopes that were granted.")
            })?,
    };
    let until = now.saturating_add(TokenSet::REPEAT_LIFE).unwrap_or(now);
    let used = UsedRefresh { hash: token.hash(), until, scopes, audience };
    let pair = token.exchange(access_claims(context, scopes, audience), context.credential_keys());
    let known = context.store().get_access_tokens(token.tenant()).await?;
    store_tokens(context, grant, pair, Some(used), &known).await
}

/// Returns the pair that a refresh token was exchanged for a short time ago. It may have been made under a key of the
/// service that is being replaced.
fn repeated_tokens(
    context: &RequestContext,
    token: &Credential,
    grant: &Grant,
    used: &UsedRefresh,
) -> Result<Tokens, OAuthRejection> {
    let pair = grant.tokens.as_ref().and_then(|tokens| {
        let expires_at = Some(tokens.access_expires_at);
        let claims = Claims { scopes: used.scopes, audience: used.audience, expires_at };
        let mut pairs = context.credential_keys().each().map(|key| token.exchange(claims, &key));
        let is_same = |(_, refresh): &(Credential, Credential)| -> bool {
            refresh.hash().as_bytes().ct_eq(tokens.refresh.as_bytes()).into()
        };
        pairs.find(is_same)
    });
    let pair = pair.ok_or_else(|| OAuthRejection::invalid_grant("the key of the repeated pair is gone"))?;
    Ok(Tokens::of(&pair, context))
}

/// Returns what a new access token says.
fn access_claims(context: &RequestContext, scopes: Scopes, audience: Audience) -> Claims {
    let expires_at = context.now().saturating_add(TokenSet::ACCESS_LIFE).unwrap_or_else(|_| context.now());
    Claims { scopes, audience, expires_at: Some(expires_at) }
}

/// Returns what the access token is for: what access was granted to, or a part of it that `resource` names (RFC 8707,
/// section 2.2). Anything else is rejected.
fn requested_audience(
    context: &RequestContext,
    request: &TokenRequest,
    grant: &Grant,
) -> Result<Audience, OAuthRejection> {
    let base_url = context.base_url();
    let named = request.resource.iter().map(String::as_str).filter(|resource| !resource.is_empty());
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        return Ok(grant.audience);
    }
    audience(base_url, named).filter(|audience| audience.is_within(grant.audience)).ok_or_else(|| {
        let resource = grant.audience.url(base_url);
        OAuthRejection::new("invalid_target", format!("resource must be {resource}."))
    })
}

/// Finds the grant of a code or token that was issued to this client.
async fn find(
    context: &RequestContext,
    text: &str,
    kind: Kind,
    client: &Client,
) -> Result<(Credential, Grant), OAuthRejection> {
    let credential = Credential::read(text, context.credential_keys())
        .map_err(|error| OAuthRejection::invalid_grant(error.as_str()))?;
    if credential.kind() != kind {
        return Err(OAuthRejection::invalid_grant("the credential is of another kind"));
    }
    let grant = context.store().find_grant(credential.tenant(), credential.id()).await?;
    let grant = grant.ok_or_else(|| OAuthRejection::invalid_grant("the grant is unknown"))?;
    if grant.client_id != client.id {
        return Err(OAuthRejection::invalid_grant("the code or token was issued to another client"));
    }
    Ok((credential, grant))
}

/// Stores a new access token and a new refresh token, and returns them. If the grant has changed since it was read, the
/// write fails and the request is retried.
async fn store_tokens(
    context: &RequestContext,
    grant: Grant,
    pair: (Credential, Credential),
    used: Option<UsedRefresh>,
    known: &AccessTokens,
) -> Result<Tokens, OAuthRejection> {
    let (now, (access, refresh)) = (context.now(), &pair);
    context.identify(AuditActor::app(grant.id, Some(grant.member)));
    let replaced = grant.tokens.as_ref();
    let tokens = TokenSet {
        access: access.gate_hash(),
        access_expires_at: access.claims().expires_at.unwrap_or(now),
        previous_access: replaced.and_then(|tokens| known.previous_access(tokens, now)),
        family: refresh.family_hash(),
        refresh: refresh.hash(),
        used,
        expires_at: now.saturating_add(TokenSet::REFRESH_LIFE).unwrap_or(now),
    };
    let mut transaction = Transaction::new(refresh.tenant());
    transaction.put_access_tokens(replaced, &tokens, known);
    transaction.replace_grant(&grant, &grant.clone().with_tokens(tokens))?;
    context.store().commit(transaction).await?;
    Ok(Tokens::of(&pair, context))
}

impl Tokens {
    /// The response with an access token and a refresh token.
    fn of((access, refresh): &(Credential, Credential), context: &RequestContext) -> Self {
        let Claims { scopes, expires_at, .. } = access.claims();
        let life = expires_at.map_or(0, |expires_at| expires_at.duration_since(context.now()).as_secs());
        Self {
            access_token: access.reveal().to_owned(),
            token_type: "Bearer",
            expires_in: life.max(0),
            refresh_token: refresh.reveal().to_owned(),
            scope: scopes.to_string(),
        }
    }
}

/// Revokes a grant whose code or refresh token was used a second time, because one of the two users may be an attacker.
async fn revoke_reused<T>(
    context: &RequestContext,
    credential: &Credential,
    grant: Grant,
    why: &'static str,
) -> Result<T, OAuthRejection> {
    if grant.revoked_at.is_none() {
        tracing::warn!(tenant = %credential.tenant(), grant = %grant.id, why, "a grant was revoked");
        // One of the two users may be an attacker, so the log does not say that the application did it.
        context.identify(AuditActor::system());
        let mut transaction = Transaction::new(credential.tenant());
        transaction.revoke_grant(&grant, context.now())?;
        context.store().commit(transaction).await?;
    }
    Err(OAuthRejection::invalid_grant(why))
}
