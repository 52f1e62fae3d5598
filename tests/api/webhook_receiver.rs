//! A receiver of webhooks, as the API guide shows it, word for word.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use standardwebhooks::Webhook;

pub(crate) fn receive(webhook: &Webhook, headers: &http::HeaderMap, body: &[u8]) -> u16 {
    match webhook.verify(body, headers) {
        Ok(()) => 204,
        Err(_) => 401,
    }
}

pub(crate) fn public_key(text: &str) -> Option<VerifyingKey> {
    let bytes = STANDARD.decode(text.strip_prefix("whpk_")?).ok()?;
    VerifyingKey::try_from(bytes.as_slice()).ok()
}

pub(crate) fn is_genuine(headers: &http::HeaderMap, body: &str, key: &VerifyingKey, now: i64) -> bool {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (id, timestamp) = (header("webhook-id"), header("webhook-timestamp"));
    let signed = format!("{id}.{timestamp}.{body}");
    let is_fresh = timestamp.parse().is_ok_and(|sent: i64| now.abs_diff(sent) < 300);
    let mut entries = header("webhook-signature").split(' ').filter_map(|entry| entry.strip_prefix("v1a,"));
    is_fresh
        && entries.any(|entry| {
            let bytes = STANDARD.decode(entry).ok();
            let signature = bytes.and_then(|bytes| Signature::from_slice(&bytes).ok());
            signature.is_some_and(|signature| key.verify_strict(signed.as_bytes(), &signature).is_ok())
        })
}
