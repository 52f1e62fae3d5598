//! Tokens at rest: sealed with XChaCha20-Poly1305 under a key from the configuration, and bound to their place.

use std::fmt;
use std::iter::once;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::secret::Secret;

/// The longest id of a sealing key; a key is longer, so it cannot be taken for an id.
const MAX_ID: usize = 31;
/// The fewest characters of a key.
const MIN_KEY: usize = 32;

/// The keys that tokens are sealed with: the first seals, all open.
#[derive(Clone, Debug)]
pub struct SealingKeys {
    first: SealingKey,
    older: Vec<SealingKey>,
}

#[derive(Clone)]
struct SealingKey {
    id: String,
    cipher: XChaCha20Poly1305,
}

/// A sealed token, as it is stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The id of the key that sealed it.
    pub key: String,
    /// The nonce and then the ciphertext, in base64.
    sealed: String,
}

/// Why a token was not sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The token is larger than the cipher takes (256 GB).
    #[error("the token is too long to be sealed")]
    TooLong,
    /// It was sealed with a key that is no longer configured.
    #[error("the token was sealed with a key that is not configured")]
    UnknownKey,
    /// It was changed, sealed for another place, or sealed with another key of the same id.
    #[error("the sealed token does not open here")]
    Broken,
}

impl SealingKeys {
    /// Reads `id:key[,id:key...]`, each key at least 32 random characters; says in a sentence what is wrong, and shows
    /// none of it.
    pub fn parse(given: &str) -> Result<Self, String> {
        let mut keys: Vec<SealingKey> = Vec::new();
        for (entry, number) in given.split(',').zip(1..) {
            let key =
                SealingKey::parse(entry.trim()).map_err(|wrong| format!("sealing key {number} {wrong}"))?;
            if keys.iter().any(|known| known.id == key.id) {
                return Err(format!("sealing key {number} has the id of an earlier one"));
            }
            keys.push(key);
        }
        let mut keys = keys.into_iter();
        let first = keys.next().ok_or("no sealing key is given")?;
        Ok(Self { first, older: keys.collect() })
    }

    /// Seals `secret` for `place` (whose it is, and what for) with the first key. A nonce is 24 random bytes, never
    /// used twice.
    pub fn seal(&self, secret: &Secret, place: &str, nonce: [u8; 24]) -> Result<Sealed, SealError> {
        let SealingKey { id, cipher } = &self.first;
        let bound = bound(id, place);
        let payload = Payload { msg: secret.expose().as_bytes(), aad: bound.as_bytes() };
        let ciphertext = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| SealError::TooLong)?;
        Ok(Sealed { key: id.clone(), sealed: STANDARD.encode([&nonce[..], &ciphertext].concat()) })
    }

    /// Opens what was sealed for `place` with any of the keys.
    pub fn open(&self, sealed: &Sealed, place: &str) -> Result<Secret, SealError> {
        let mut keys = once(&self.first).chain(&self.older);
        let SealingKey { id, cipher } = keys.find(|key| key.id == sealed.key).ok_or(SealError::UnknownKey)?;
        let bytes = STANDARD.decode(&sealed.sealed).map_err(|_| SealError::Broken)?;
        let (nonce, ciphertext) = bytes.split_first_chunk::<24>().ok_or(SealError::Broken)?;
        let bound = bound(id, place);
        let payload = Payload { msg: ciphertext, aad: bound.as_bytes() };
        let opened = cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::Broken)?;
        String::from_utf8(opened).map(Secret::new).map_err(|_| SealError::Broken)
    }
}

/// What is authenticated with a token. An id has no newline, so no two pairs of key and place are written alike.
fn bound(key_id: &str, place: &str) -> String {
    format!("{key_id}\n{place}")
}

impl SealingKey {
    fn parse(entry: &str) -> Result<Self, String> {
        let (id, key) = entry.split_once(':').ok_or("is not written as id:key")?;
        let in_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if id.is_empty() || id.len() > MAX_ID || !id.bytes().all(in_id) {
            return Err(format!("needs an id of 1 to {MAX_ID} letters, digits, hyphens and underscores"));
        }
        if key.chars().count() < MIN_KEY {
            return Err(format!("needs at least {MIN_KEY} random characters"));
        }
        // The cipher wants 32 bytes; the characters are random already, so that a digest is all it takes.
        let cipher = XChaCha20Poly1305::new(&Sha256::digest(key));
        Ok(Self { id: id.to_owned(), cipher })
    }
}

/// Shows the id alone.
impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// Shows the key's id alone.
impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("key", &self.key).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(named: &[(&str, u8)]) -> SealingKeys {
        let entries: Vec<_> =
            named.iter().map(|(id, byte)| format!("{id}:{}", byte.to_string().repeat(32))).collect();
        SealingKeys::parse(&entries.join(",")).unwrap()
    }

    fn sealed() -> Sealed {
        keys(&[("a", 1), ("b", 2)]).seal(&Secret::new("token"), "acme/x", [7; 24]).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_in_its_own_place_only(
            token in "(?s).{0,80}", place in "(?s).{0,20}", other in "(?s).{0,20}", nonce: [u8; 24],
        ) {
            let keys = keys(&[("a", 1)]);
            let sealed = keys.seal(&Secret::new(token.clone()), &place, nonce).unwrap();
            let stored: Sealed = serde_json::from_str(&serde_json::to_string(&sealed).unwrap()).unwrap();
            let opened = keys.open(&stored, &place).unwrap();
            prop_assert_eq!(opened.expose(), token);
            if other != place {
                prop_assert_eq!(keys.open(&stored, &other).unwrap_err(), SealError::Broken);
            }
        }

        #[test]
        fn any_configuration_is_read_or_refused(given in "[ab:,= ]{0,8}|\\PC{0,100}") {
            let _ = SealingKeys::parse(&given);
        }
    }

    #[test]
    fn a_bit_flipped_anywhere_is_noticed() {
        let keys = keys(&[("a", 1), ("b", 2)]);
        let sealed = sealed();
        let bytes = STANDARD.decode(&sealed.sealed).unwrap();
        assert_eq!(bytes.len(), 24 + "token".len() + 16);
        for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            let flipped = Sealed { sealed: STANDARD.encode(bytes), ..sealed.clone() };
            assert_eq!(
                keys.open(&flipped, "acme/x").unwrap_err(),
                SealError::Broken,
                "bit {bit} of byte {at}"
            );
        }
        for at in 0..sealed.sealed.len() {
            for bit in 0..7 {
                let mut text = sealed.sealed.clone().into_bytes();
                text[at] ^= 1 << bit;
                let flipped = Sealed { sealed: String::from_utf8(text).unwrap(), ..sealed.clone() };
                assert_eq!(keys.open(&flipped, "acme/x").unwrap_err(), SealError::Broken);
            }
        }
        for cut in 0..sealed.sealed.len() {
            let cut = Sealed { sealed: sealed.sealed[..cut].to_owned(), ..sealed.clone() };
            assert_eq!(keys.open(&cut, "acme/x").unwrap_err(), SealError::Broken);
        }
    }

    #[test]
    fn a_token_opens_with_the_key_that_sealed_it_and_no_other() {
        let open = |named: &[(&str, u8)], sealed: &Sealed| {
            keys(named).open(sealed, "acme/x").map(|secret| secret.expose().to_owned())
        };
        assert_eq!(open(&[("a", 1)], &sealed()), Ok("token".to_owned()));
        assert_eq!(open(&[("b", 2)], &sealed()), Err(SealError::UnknownKey));
        assert_eq!(open(&[("a", 2)], &sealed()), Err(SealError::Broken));
        // The same key under another name: the id is bound too.
        let renamed = Sealed { key: "c".to_owned(), ..sealed() };
        assert_eq!(open(&[("a", 1), ("c", 1)], &renamed), Err(SealError::Broken));
    }

    #[test]
    fn after_a_rotation_the_new_key_seals_and_the_old_one_still_opens() {
        let rotated = keys(&[("b", 2), ("a", 1)]);
        assert_eq!(rotated.open(&sealed(), "acme/x").unwrap().expose(), "token");
        assert_eq!(rotated.seal(&Secret::new("token"), "acme/x", [8; 24]).unwrap().key, "b");
    }

    #[test]
    fn a_wrong_configuration_is_named_and_not_shown() {
        let good = "0123456789abcdef".repeat(2);
        let short = &good[1..];
        for (given, wrong) in [
            (String::new(), "sealing key 1 is not written as id:key"),
            (good.clone(), "sealing key 1 is not written as id:key"),
            (format!("a:{good},"), "sealing key 2 is not written as id:key"),
            (format!(":{good}"), "sealing key 1 needs an id"),
            (format!("{good}:a"), "sealing key 1 needs an id"),
            (format!("{}:{good}", "a".repeat(32)), "sealing key 1 needs an id"),
            (format!("a:{good},b c:{good}"), "sealing key 2 needs an id"),
            (format!("a:{short}"), "sealing key 1 needs at least 32"),
            ("a:".to_owned(), "sealing key 1 needs at least 32"),
            (format!("a:{good},a:{good}"), "sealing key 2 has the id of an earlier one"),
        ] {
            let said = SealingKeys::parse(&given).unwrap_err();
            assert!(said.starts_with(wrong), "{said}");
            assert!(!said.contains(&good[..8]), "{said}");
        }
        assert!(SealingKeys::parse(&format!(" a:{good} , b-2_C:{good}\n")).is_ok());
    }

    #[test]
    fn neither_keys_nor_tokens_show_themselves() {
        assert_eq!(format!("{:?}", keys(&[("a", 1), ("b", 2)])), "SealingKeys { first: a, older: [b] }");
        assert_eq!(format!("{:?}", sealed()), r#"Sealed { key: "a", .. }"#);
    }
}
