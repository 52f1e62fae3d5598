//! Applications: found by their identifier, and made to prove that they are themselves.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use percent_encoding::percent_decode_str;
use shared::auth::hash;
use shared::http::{Error, Visit};
use shared::model::{Client, ClientAuthentication};
use shared::providers::client_document::ClientUrl;
use subtle::ConstantTimeEq;

use crate::refusal::Refusal;
use crate::register::{self, NewClient};

/// The longest identifier that is looked up.
const MAX_ID: usize = 500;
/// How long a metadata document is kept.
const DOCUMENT_LIFE: SignedDuration = SignedDuration::from_hours(24);
/// How many documents one address may make us fetch in ten minutes.
const FETCHES: u64 = 30;
const FETCH_WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// The application with this identifier: registered here, or described by the document at that address.
pub(crate) async fn find(visit: &Visit, id: &str) -> Result<Option<Client>, Error> {
    if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(None);
    }
    let Ok(url) = id.parse::<ClientUrl>() else { return Ok(visit.store().find_client(id).await?) };
    let now = visit.now();
    if let Some(known) = visit.store().find_document(id, now).await? {
        return Ok(Some(known));
    }
    let from = format!("document {}", visit.source());
    if visit.store().count_attempt(&from, FETCHES, FETCH_WINDOW, now).await?.is_some() {
        return Ok(None);
    }
    let Some(documents) = visit.providers().client_documents() else { return Ok(None) };
    let document = match documents.fetch(&url).await {
        Ok(document) => document,
        Err(reason) => {
            tracing::info!(%reason, "a client metadata document was not read");
            return Ok(None);
        }
    };
    let Some(client) = read_document(id, &document, visit) else { return Ok(None) };
    let until = now.saturating_add(DOCUMENT_LIFE).unwrap_or(now);
    visit.store().put_document(&client, until).await?;
    Ok(Some(client))
}

/// What a document says, if it is about this address and about a public client.
fn read_document(id: &str, document: &str, visit: &Visit) -> Option<Client> {
    let value: serde_json::Value = serde_json::from_str(document).ok()?;
    if value.get("client_id")?.as_str()? != id || value.get("client_secret").is_some() {
        return None;
    }
    let authentication = value.get("token_endpoint_auth_method");
    if !matches!(authentication.map(serde_json::Value::as_str), None | Some(Some("none"))) {
        return None;
    }
    let new: NewClient = serde_json::from_value(value).ok()?;
    register::read(id.to_owned(), new, ClientAuthentication::None, visit.now()).ok()
}

/// The application that sends this identifier and this secret in its form, or others in the header, once it has proved
/// that it is itself (RFC 6749, section 2.3).
pub(crate) async fn authenticate(visit: &Visit, id: &str, secret: &str) -> Result<Client, Refusal> {
    let header = visit.header("authorization");
    let basic =
        header.map(|value| read_basic(value).ok_or_else(|| Refusal::invalid_client(true))).transpose()?;
    let by_basic = basic.is_some();
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let (id, secret) = match (basic, given(id), given(secret)) {
        (Some(_), _, Some(_)) => {
            return Err(Refusal::new("invalid_request", "Client credentials must be sent one way, not two."));
        }
        (Some((id, _)), Some(other), None) if id != other => return Err(Refusal::invalid_client(true)),
        (Some((id, secret)), _, None) => (id, Some(secret)),
        (None, Some(id), secret) => (id, secret),
        (None, None, _) => {
            return Err(Refusal::new("invalid_request", "client_id is missing."));
        }
    };
    let client = find(visit, &id).await?.ok_or_else(|| Refusal::invalid_client(by_basic))?;
    let proved = match (&client.secret_hash, secret) {
        (None, None) => true,
        // Some libraries send a public client's empty secret by Basic.
        (None, Some(secret)) => secret.is_empty(),
        (Some(expected), Some(secret)) => hash(&secret).as_bytes().ct_eq(expected.as_bytes()).into(),
        (Some(_), None) => false,
    };
    if proved { Ok(client) } else { Err(Refusal::invalid_client(by_basic)) }
}

/// The identifier and secret of a `Basic` header; both are form-encoded in it (RFC 6749, section 2.3.1).
fn read_basic(header: &str) -> Option<(String, String)> {
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
