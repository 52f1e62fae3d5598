//! Secrets, which debug output never shows.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A value that debug output hides.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps `value`.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Computes the HMAC-SHA-256 of `parts` with this key. The first part names the purpose. Different lists of parts
    /// never produce the same input, because the length of each part is included.
    pub fn mac(&self, parts: &[&str]) -> [u8; 32] {
        let mut mac = [0; 32];
        // HMAC accepts a key of any length.
        if let Ok(mut hmac) = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()) {
            for part in parts {
                hmac.update(&(part.len() as u64).to_be_bytes());
                hmac.update(part.as_bytes());
            }
            mac.copy_from_slice(&hmac.finalize().into_bytes());
        }
        mac
    }

    /// The hidden value.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
