//! The hash by which the gate recognizes a credential.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The first eight bytes of the SHA-256 of a credential. Each request writes the item with these hashes, so they are
/// short. They need not resist an attacker alone: a credential also contains a MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GateHash([u8; 8]);

impl GateHash {
    /// The hash of a credential with this text.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).first_chunk().copied().unwrap_or_default())
    }

    /// The hash's bytes.
    pub const fn bytes(self) -> [u8; 8] {
        self.0
    }

    /// The hash with these bytes; `None` unless there are eight.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Whether the hashes are equal. The comparison takes constant time.
    pub fn matches(self, other: Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl From<GateHash> for String {
    fn from(hash: GateHash) -> Self {
        URL_SAFE_NO_PAD.encode(hash.0)
    }
}

impl TryFrom<String> for GateHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| "not a hash")?;
        Self::from_bytes(&bytes).ok_or("not a hash")
    }
}
