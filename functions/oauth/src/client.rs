//! Clients: finds them by their identifiers and authenticates them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use percent_encoding::percent_decode_str;
use shared::auth::hash;
use shared::clock::Timestamp;
use shared::http::{Error, RequestContext};
use shared::model::Client;
use shared::providers::client_document::ClientUrl;
use subtle::ConstantTimeEq;

use crate::register::{self, ClientMetadata};
use crate::rejection::OAuthRejection;

/// The maximum length of a client identifier, in bytes.
const MAX_ID: usize = 500;
/// The time for which a metadata document is cached.
const DOCUMENT_LIFE: SignedDuration = SignedDuration::from_hours(24);
/// The maximum number of documents that the service fetches in ten minutes for requests from one IP address.
const FETCHES: u64 = 30;
const FETCH_WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// Finds the client with this identifier: a registered client, or the client described by the document at this URL.
pub(crate) async fn find(context: &RequestContext, id: &str) -> Result<Option<Client>, Error> {
    if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(None);
    }
    let Ok(url) = id.parse::<ClientUrl>() else { return Ok(context.store().find_client(id).await?) };
    let now = context.now();
    if let Some(cached) = context.store().find_client_document(id, now).await? {
        return Ok(Some(cached));
    }
    let counter = format!("document {}", context.source());
    if context.store().count_attempt(&counter, FETCHES, FETCH_WINDOW, now).await?.is_some() {
        return Ok(None);
    }
    let Some(documents) = context.providers().await.client_documents() else { return Ok(None) };
    let document = match documents.fetch(&url).await {
        Ok(document) => document,
        Err(reason) => {
            tracing::info!(%reason, "a client metadata document could not be fetched");
            return Ok(None);
        }
    };
    let Some(client) = parse_document(id, &document, now) else { return Ok(None) };
    let until = now.saturating_add(DOCUMENT_LIFE).unwrap_or(now);
    context.store().put_client_document(&client, until).await?;
    Ok(Some(client))
}

/// Parses a metadata document. Returns `None` if it names another URL or does not describe a public client.
pub fn parse_document(id: &str, document: &str, now: Timestamp) -> Option<Client> {
    let value: serde_json::Value = serde_json::from_str(document).ok()?;
    if value.get("client_id")?.as_str()? != id || value.get("client_secret").is_some() {
        return None;
    }
    let authentication = value.get("token_endpoint_auth_method");
    if !matches!(authentication.map(serde_json::Value::as_str), None | Some(Some("none"))) {
        return None;
    }
    let metadata: ClientMetadata = serde_json::from_value(value).ok()?;
    register::client_of(id.to_owned(), metadata, None, now).ok()
}

/// Authenticates the client by the identifier and secret in the form or in the `Authorization` header (RFC 6749,
/// section 2.3). The secret may be sent by either method, whichever the client registered: some libraries always use one,
/// and others use both.
pub(crate) async fn authenticate(
    context: &RequestContext,
    id: &str,
    secret: &str,
) -> Result<Client, OAuthRejection> {
    let header = context.header("authorization");
    let basic = header
        .map(|value| parse_basic(value).ok_or_else(|| OAuthRejection::invalid_client(true)))
        .transpose()?;
    let by_basic = basic.is_some();
    let non_empty = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let (id, secret) = match (basic, non_empty(id), non_empty(secret)) {
        (Some(_), _, Some(_)) => {
            let description = "Client credentials must be sent in the header or in the form, not in both.";
            return Err(OAuthRejection::new("invalid_request", description));
        }
        (Some((id, _)), Some(other), None) if id != other => {
            return Err(OAuthRejection::invalid_client(true));
        }
        (Some((id, secret)), _, None) => (id, Some(secret)),
        (None, Some(id), secret) => (id, secret),
        (None, None, _) => {
            return Err(OAuthRejection::new("invalid_request", "client_id is missing."));
        }
    };
    let client = find(context, &id).await?.ok_or_else(|| OAuthRejection::invalid_client(by_basic))?;
    let is_authentic = match (&client.secret_hash, secret) {
        (None, None) => true,
        // Some libraries send an empty secret with `Basic` for a public client.
        (None, Some(secret)) => secret.is_empty(),
        (Some(expected), Some(secret)) => hash(&secret).as_bytes().ct_eq(expected.as_bytes()).into(),
        (Some(_), None) => false,
    };
    if is_authentic { Ok(client) } else { Err(OAuthRejection::invalid_client(by_basic)) }
}

/// Parses the identifier and secret of a `Basic` header. Both are form-encoded (RFC 6749, section 2.3.1).
fn parse_basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    let plain = |text: &str| {
        percent_decode_str(&text.replace('+', " ")).decode_utf8().ok().map(std::borrow::Cow::into_owned)
    };
    Some((plain(id)?, plain(secret)?))
}
