//! Encryption of stored tokens: XChaCha20-Poly1305 with a configured key. A ciphertext is bound to its context.

use std::fmt;
use std::iter::once;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::secret::Secret;

/// The maximum length of a key's id. Keys are longer, so a key can never be mistaken for an id.
const MAX_ID: usize = 31;
/// The minimum length of a key, in characters.
const MIN_KEY: usize = 32;

/// The configured keys. The first one encrypts, and all of them decrypt.
#[derive(Clone, Debug)]
pub struct EncryptionKeys {
    first: EncryptionKey,
    older: Vec<EncryptionKey>,
}

#[derive(Clone)]
struct EncryptionKey {
    id: String,
    cipher: XChaCha20Poly1305,
}

/// An encrypted token in its stored form.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncryptedToken {
    /// The id of the key that encrypted the token.
    pub key: String,
    /// The nonce followed by the ciphertext, in base64.
    #[serde(rename = "sealed")]
    ciphertext: String,
}

/// Why a token could not be encrypted or decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecryptionError {
    /// The token exceeds the limit of the cipher (256 GB).
    #[error("the token is too long to be encrypted")]
    TooLong,
    /// The token was encrypted with a key that is not configured.
    #[error("the token was encrypted with a key that is not configured")]
    UnknownKey,
    /// The token was changed, or it was encrypted for another context or with another key that has the same id.
    #[error("the token cannot be decrypted")]
    Broken,
}

impl EncryptionKeys {
    /// Parses `id:key[,id:key...]`. Each key has at least 32 random characters. Error messages show no part of a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut keys: Vec<EncryptionKey> = Vec::new();
        for (entry, number) in text.split(',').zip(1..) {
            let key = EncryptionKey::parse(entry.trim()).map_err(|error| format!("key {number} {error}"))?;
            if keys.iter().any(|known| known.id == key.id) {
                return Err(format!("key {number} has the same id as an earlier key"));
            }
            keys.push(key);
        }
        let mut keys = keys.into_iter();
        let first = keys.next().ok_or("no key is given")?;
        Ok(Self { first, older: keys.collect() })
    }

    /// Encrypts `secret` with the first key. `context` names the owner and the purpose of the secret. The nonce must be
    /// random and must never be reused.
    pub fn encrypt(
        &self,
        secret: &Secret,
        context: &str,
        nonce: [u8; 24],
    ) -> Result<EncryptedToken, DecryptionError> {
        let EncryptionKey { id, cipher } = &self.first;
        let associated = associated_data(id, context);
        let payload = Payload { msg: secret.expose().as_bytes(), aad: associated.as_bytes() };
        let ciphertext =
            cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| DecryptionError::TooLong)?;
        Ok(EncryptedToken {
            key: id.clone(),
            ciphertext: STANDARD.encode([&nonce[..], &ciphertext].concat()),
        })
    }

    /// Encrypts a token with the first key, if an older key has encrypted it.
    pub fn reencrypt(
        &self,
        token: &EncryptedToken,
        context: &str,
        nonce: [u8; 24],
    ) -> Result<Option<EncryptedToken>, DecryptionError> {
        if token.key == self.first.id {
            return Ok(None);
        }
        self.encrypt(&self.decrypt(token, context)?, context, nonce).map(Some)
    }

    /// Whether two tokens are the same secret, perhaps encrypted with different keys.
    pub fn are_same(&self, one: &EncryptedToken, other: &EncryptedToken, context: &str) -> bool {
        let secrets = self.decrypt(one, context).ok().zip(self.decrypt(other, context).ok());
        one == other || secrets.is_some_and(|(one, other)| one.expose() == other.expose())
    }

    /// Decrypts a token that was encrypted for `context` with any of the keys.
    pub fn decrypt(&self, token: &EncryptedToken, context: &str) -> Result<Secret, DecryptionError> {
        let mut keys = once(&self.first).chain(&self.older);
        let EncryptionKey { id, cipher } =
            keys.find(|key| key.id == token.key).ok_or(DecryptionError::UnknownKey)?;
        let bytes = STANDARD.decode(&token.ciphertext).map_err(|_| DecryptionError::Broken)?;
        let (nonce, ciphertext) = bytes.split_first_chunk::<24>().ok_or(DecryptionError::Broken)?;
        let associated = associated_data(id, context);
        let payload = Payload { msg: ciphertext, aad: associated.as_bytes() };
        let secret = cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| DecryptionError::Broken)?;
        String::from_utf8(secret).map(Secret::new).map_err(|_| DecryptionError::Broken)
    }
}

/// The associated data of a ciphertext. An id contains no newline, so different pairs never produce the same data.
fn associated_data(key_id: &str, context: &str) -> String {
    format!("{key_id}\n{context}")
}

impl EncryptionKey {
    fn parse(entry: &str) -> Result<Self, String> {
        let (id, key) = entry.split_once(':').ok_or("is not in the form id:key")?;
        let in_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(in_id) {
            return Err(format!("needs an id of 1 to {MAX_ID} letters, digits, hyphens and underscores"));
        }
        if key.chars().count() < MIN_KEY {
            return Err(format!("needs at least {MIN_KEY} random characters"));
        }
        // The cipher needs 32 bytes. The characters are random already, so a plain digest is enough.
        let cipher = XChaCha20Poly1305::new(&Sha256::digest(key));
        Ok(Self { id: id.to_owned(), cipher })
    }
}

/// Shows only the id.
impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// Shows only the key's id.
impl fmt::Debug for EncryptedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptedToken").field("key", &self.key).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(named: &[(&str, u8)]) -> EncryptionKeys {
        let entries: Vec<_> =
            named.iter().map(|(id, byte)| format!("{id}:{}", byte.to_string().repeat(32))).collect();
        EncryptionKeys::parse(&entries.join(",")).unwrap()
    }

    fn encrypted() -> EncryptedToken {
        keys(&[("a", 1), ("b", 2)]).encrypt(&Secret::new("token"), "acme/x", [7; 24]).unwrap()
    }

    proptest! {
        #[test]
        fn a_token_is_decrypted_only_in_its_own_context(
            token in "(?s).{0,80}", context in "(?s).{0,20}", other in "(?s).{0,20}", nonce: [u8; 24],
        ) {
            let keys = keys(&[("a", 1)]);
            let encrypted = keys.encrypt(&Secret::new(token.clone()), &context, nonce).unwrap();
            let stored: EncryptedToken = serde_json::from_str(&serde_json::to_string(&encrypted).unwrap()).unwrap();
            let decrypted = keys.decrypt(&stored, &context).unwrap();
            prop_assert_eq!(decrypted.expose(), token);
            if other != context {
                prop_assert_eq!(keys.decrypt(&stored, &other).unwrap_err(), DecryptionError::Broken);
            }
        }

        #[test]
        fn any_configuration_is_parsed_without_panic(text in "[ab:,= ]{0,8}|\\PC{0,100}") {
            let _ = EncryptionKeys::parse(&text);
        }
    }

    #[test]
    fn any_flipped_bit_is_detected() {
        let keys = keys(&[("a", 1), ("b", 2)]);
        let token = encrypted();
        let bytes = STANDARD.decode(&token.ciphertext).unwrap();
        assert_eq!(bytes.len(), 24 + "token".len() + 16);
        for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            let flipped = EncryptedToken { ciphertext: STANDARD.encode(bytes), ..token.clone() };
            assert_eq!(
                keys.decrypt(&flipped, "acme/x").unwrap_err(),
                DecryptionError::Broken,
                "bit {bit} of byte {at}"
            );
        }
        for at in 0..token.ciphertext.len() {
            for bit in 0..7 {
                let mut text = token.ciphertext.clone().into_bytes();
                text[at] ^= 1 << bit;
                let flipped =
                    EncryptedToken { ciphertext: String::from_utf8(text).unwrap(), ..token.clone() };
                assert_eq!(keys.decrypt(&flipped, "acme/x").unwrap_err(), DecryptionError::Broken);
            }
        }
        for cut in 0..token.ciphertext.len() {
            let cut = EncryptedToken { ciphertext: token.ciphertext[..cut].to_owned(), ..token.clone() };
            assert_eq!(keys.decrypt(&cut, "acme/x").unwrap_err(), DecryptionError::Broken);
        }
    }

    #[test]
    fn a_token_is_decrypted_only_with_its_own_key() {
        let decrypt = |named: &[(&str, u8)], token: &EncryptedToken| {
            keys(named).decrypt(token, "acme/x").map(|secret| secret.expose().to_owned())
        };
        assert_eq!(decrypt(&[("a", 1)], &encrypted()), Ok("token".to_owned()));
        assert_eq!(decrypt(&[("b", 2)], &encrypted()), Err(DecryptionError::UnknownKey));
        assert_eq!(decrypt(&[("a", 2)], &encrypted()), Err(DecryptionError::Broken));
        // The same key with another id: the id is authenticated too.
        let renamed = EncryptedToken { key: "c".to_owned(), ..encrypted() };
        assert_eq!(decrypt(&[("a", 1), ("c", 1)], &renamed), Err(DecryptionError::Broken));
    }

    #[test]
    fn a_rotation_encrypts_with_the_new_key_and_still_decrypts_with_the_old_one() {
        let rotated = keys(&[("b", 2), ("a", 1)]);
        assert_eq!(rotated.decrypt(&encrypted(), "acme/x").unwrap().expose(), "token");
        assert_eq!(rotated.encrypt(&Secret::new("token"), "acme/x", [8; 24]).unwrap().key, "b");
    }

    #[test]
    fn a_token_is_encrypted_again_unless_the_newest_key_has_encrypted_it() {
        let rotated = keys(&[("b", 2), ("a", 1)]);
        let renewed = rotated.reencrypt(&encrypted(), "acme/x", [8; 24]).unwrap().unwrap();
        assert_eq!(keys(&[("b", 2)]).decrypt(&renewed, "acme/x").unwrap().expose(), "token");
        assert!(rotated.reencrypt(&renewed, "acme/x", [9; 24]).unwrap().is_none());
        assert!(rotated.are_same(&encrypted(), &renewed, "acme/x"));
        let other = rotated.encrypt(&Secret::new("other"), "acme/x", [8; 24]).unwrap();
        assert!(!rotated.are_same(&encrypted(), &other, "acme/x"));
        let error = keys(&[("b", 2)]).reencrypt(&encrypted(), "acme/x", [8; 24]).unwrap_err();
        assert_eq!(error, DecryptionError::UnknownKey);
    }

    #[test]
    fn a_configuration_error_names_the_key_without_showing_it() {
        let good = "0123456789abcdef".repeat(2);
        let short = &good[1..];
        for (text, expected) in [
            (String::new(), "key 1 is not in the form id:key"),
            (good.clone(), "key 1 is not in the form id:key"),
            (format!("a:{good},"), "key 2 is not in the form id:key"),
            (format!(":{good}"), "key 1 needs an id"),
            (format!("{good}:a"), "key 1 needs an id"),
            (format!("{}:{good}", "a".repeat(32)), "key 1 needs an id"),
            (format!("a:{good},b c:{good}"), "key 2 needs an id"),
            (format!("a:{short}"), "key 1 needs at least 32"),
            ("a:".to_owned(), "key 1 needs at least 32"),
            (format!("a:{good},a:{good}"), "key 2 has the same id as an earlier key"),
        ] {
            let message = EncryptionKeys::parse(&text).unwrap_err();
            assert!(message.starts_with(expected), "{message}");
            assert!(!message.contains(&good[..8]), "{message}");
        }
        assert!(EncryptionKeys::parse(&format!(" a:{good} , b-2_C:{good}\n")).is_ok());
        assert!(EncryptionKeys::parse(&format!("{}:{good}", "a".repeat(31))).is_ok());
    }

    #[test]
    fn debug_output_shows_no_keys_or_tokens() {
        assert_eq!(format!("{:?}", keys(&[("a", 1), ("b", 2)])), "EncryptionKeys { first: a, older: [b] }");
        assert_eq!(format!("{:?}", encrypted()), r#"EncryptedToken { key: "a", .. }"#);
    }
}
