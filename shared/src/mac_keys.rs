//! The service's own keys for MACs: of credentials, cursors, forms and links that only this service verifies.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::secret::Secret;

/// The minimum length of a key, in characters.
const MIN_KEY: usize = 32;

/// The configured keys. The first one signs, and all of them verify, so that a key can be replaced while values signed
/// with the earlier one stay valid.
#[derive(Clone, Default)]
pub struct MacKeys(Vec<Secret>);

impl MacKeys {
    /// Parses `key[,key...]`, the newest key first. Each has at least 32 random characters. Error messages show no part
    /// of a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let keys: Vec<_> = text.split(',').map(str::trim).collect();
        match keys.iter().position(|key| key.chars().count() < MIN_KEY) {
            Some(index) => Err(format!("key {} needs at least {MIN_KEY} characters", index + 1)),
            None => Ok(Self(keys.into_iter().map(Secret::new).collect())),
        }
    }

    /// Whether no key is configured. Then nothing can be verified.
    pub const fn are_missing(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of the keys alone, the newest first.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        self.0.iter().map(|key| Self(vec![key.clone()]))
    }

    /// The MAC of `parts` under the newest key, as [`Secret::mac`]. `None` if no key is configured.
    pub fn mac(&self, parts: &[&str]) -> Option<[u8; 32]> {
        self.0.first().map(|key| key.mac(parts))
    }

    /// Whether `mac` is the beginning of the MAC of `parts` under one of the keys. Each comparison takes constant time.
    pub fn verify<const N: usize>(&self, parts: &[&str], mac: [u8; N]) -> bool {
        self.signer(parts, mac).is_some()
    }

    /// The key under which `mac` is the beginning of the MAC of `parts`.
    fn signer<const N: usize>(&self, parts: &[&str], mac: [u8; N]) -> Option<&Secret> {
        let is_mac =
            |key: &&Secret| key.mac(parts).first_chunk::<N>().is_some_and(|own| own.ct_eq(&mac).into());
        self.0.iter().find(is_mac)
    }

    /// The signature of `parts`: the MAC under the newest key, in base64url. Without a key, it is empty and never valid.
    pub fn sign(&self, parts: &[&str]) -> String {
        self.mac(parts).map(|mac| URL_SAFE_NO_PAD.encode(mac)).unwrap_or_default()
    }

    /// Whether `signature` is a signature of `parts` under one of the keys.
    pub fn verify_signature(&self, parts: &[&str], signature: &str) -> bool {
        self.signer_of(parts, signature).is_some()
    }

    /// The key under which `signature` is a signature of `parts`, for other values that were derived from the same key.
    pub fn signer_of(&self, parts: &[&str], signature: &str) -> Option<&Secret> {
        let mac: [u8; 32] = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
        self.signer(parts, mac)
    }

    /// The signatures of `parts` under each of the keys, the newest first.
    pub fn signatures(&self, parts: &[&str]) -> Vec<String> {
        self.0.iter().map(|key| URL_SAFE_NO_PAD.encode(key.mac(parts))).collect()
    }
}

/// Shows only how many keys there are.
impl fmt::Debug for MacKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MacKeys({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "0123456789abcdef0123456789abcdef";
    const SECOND: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn the_first_key_signs_and_every_key_verifies() {
        let old = MacKeys::parse(FIRST).unwrap();
        let rotated = MacKeys::parse(&format!("{SECOND}, {FIRST}\n")).unwrap();
        let new = MacKeys::parse(SECOND).unwrap();
        let (before, after) = (old.mac(&["a", "b"]).unwrap(), rotated.mac(&["a", "b"]).unwrap());
        assert_ne!(before, after);
        assert!(rotated.verify(&["a", "b"], before) && rotated.verify(&["a", "b"], after));
        assert!(new.verify(&["a", "b"], after) && !new.verify(&["a", "b"], before));
        assert!(!rotated.verify(&["ab"], before) && !rotated.verify(&["a", "c"], before));
        assert!(old.verify::<8>(&["a", "b"], *before.first_chunk().unwrap()));
        let each: Vec<_> = rotated.each().map(|key| key.mac(&["a", "b"]).unwrap()).collect();
        assert_eq!(each, [after, before]);
        let none = MacKeys::default();
        assert!(none.mac(&["a"]).is_none() && !none.verify(&["a"], [0; 8]));
    }

    #[test]
    fn a_signature_is_valid_as_long_as_its_key_is_configured() {
        let old = MacKeys::parse(FIRST).unwrap();
        let rotated = MacKeys::parse(&format!("{SECOND},{FIRST}")).unwrap();
        let new = MacKeys::parse(SECOND).unwrap();
        let (before, after) = (old.sign(&["a"]), rotated.sign(&["a"]));
        assert_eq!(rotated.signatures(&["a"]), [after.clone(), before.clone()]);
        assert!(rotated.verify_signature(&["a"], &before) && rotated.verify_signature(&["a"], &after));
        assert!(new.verify_signature(&["a"], &after) && !new.verify_signature(&["a"], &before));
        assert_eq!(rotated.signer_of(&["a"], &before).unwrap().expose(), FIRST);
        for wrong in ["", "A", &before[1..], &format!("{before}A"), &before.to_uppercase(), &"A".repeat(43)] {
            assert!(!rotated.verify_signature(&["a"], wrong), "{wrong}");
        }
        let none = MacKeys::default();
        assert_eq!(none.sign(&["a"]), "");
        assert!(!none.verify_signature(&["a"], "") && none.signatures(&["a"]).is_empty());
    }

    #[test]
    fn a_configuration_error_names_the_key_without_showing_it() {
        let short = &FIRST[1..];
        for (text, number) in [
            (String::new(), 1),
            (short.to_owned(), 1),
            (format!("{FIRST},"), 2),
            (format!("{FIRST},{short}"), 2),
        ] {
            assert_eq!(
                MacKeys::parse(&text).unwrap_err(),
                format!("key {number} needs at least 32 characters")
            );
        }
        assert_eq!(format!("{:?}", MacKeys::parse(&format!("{FIRST},{SECOND}")).unwrap()), "MacKeys(2)");
    }
}
