//! The form of a credential.
//!
//! `rc_live_` or `rc_test_`, then in base62 the organization's id (9 characters), the credential's id (9) and a secret
//! of 27 random characters (160.7 bits), then the CRC-32 of all that in 6. So a mistyped key is refused without asking
//! the database, scanners can tell a leaked key from noise, and the key alone says which tenant it opens. Only its
//! SHA-256 is stored: the secret is random and long, so that a slow hash would protect nothing.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::id::Id;
use crate::model::{Mode, Tenant};
use crate::random::Random;
use crate::store::Presented;

const ID_LENGTH: usize = 9;
const SECRET_LENGTH: usize = 27;
const CHECKSUM_LENGTH: usize = 6;
const BODY_LENGTH: usize = 2 * ID_LENGTH + SECRET_LENGTH;

/// An API key.
#[derive(Clone)]
pub struct Credential {
    tenant: Tenant,
    id: Id,
    text: String,
}

impl Credential {
    /// A new key for `tenant`, known there as `id`.
    pub fn generate(tenant: Tenant, id: Id, random: &Random) -> Self {
        Self::with_secret(tenant, id, &random.token(SECRET_LENGTH))
    }

    /// The key with this secret, which must be 27 letters and digits. Whoever knows the secret knows the key: for
    /// demonstration keys, which are public.
    pub fn with_secret(tenant: Tenant, id: Id, secret: &str) -> Self {
        let mut text = format!(
            "rc_{}_{}{}{secret}",
            tenant.mode.as_str(),
            base62(tenant.organization.get(), ID_LENGTH),
            base62(id.get(), ID_LENGTH),
        );
        text.push_str(&checksum(&text));
        Self { tenant, id, text }
    }

    /// The whole key. It is shown once, when it is made.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Whose data it opens, if it is good.
    pub const fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The identifier that its tenant knows it by.
    pub const fn id(&self) -> Id {
        self.id
    }

    /// What is stored of it: the SHA-256 in base64url.
    pub fn hash(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.text))
    }

    /// What the gate is asked about it.
    pub fn presented(&self) -> Presented {
        Presented { tenant: self.tenant, id: self.id, hash: self.hash() }
    }
}

/// Shows no secret.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({}, {})", self.tenant, self.id)
    }
}

impl FromStr for Credential {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const MALFORMED: &str = "not an API key";
        let mode = Mode::ALL.into_iter().find_map(|mode| {
            let rest = text.strip_prefix("rc_")?.strip_prefix(mode.as_str())?.strip_prefix('_')?;
            Some((mode, rest))
        });
        let (mode, rest) = mode.ok_or(MALFORMED)?;
        if rest.len() != BODY_LENGTH + CHECKSUM_LENGTH
            || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err(MALFORMED);
        }
        let (signed, sum) = text.split_at(text.len() - CHECKSUM_LENGTH);
        let number =
            |from: usize| from_base62(&rest[from..from + ID_LENGTH]).and_then(Id::new).ok_or(MALFORMED);
        if checksum(signed) != sum {
            return Err("a mistyped API key");
        }
        let tenant = Tenant { organization: number(0)?, mode };
        Ok(Self { tenant, id: number(ID_LENGTH)?, text: text.to_owned() })
    }
}

fn checksum(text: &str) -> String {
    base62(crc32fast::hash(text.as_bytes()).into(), CHECKSUM_LENGTH)
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn base62(mut number: u64, length: usize) -> String {
    let mut digits = vec!['0'; length];
    for digit in digits.iter_mut().rev() {
        *digit = char::from(DIGITS[usize::try_from(number % 62).unwrap_or(0)]);
        number /= 62;
    }
    digits.into_iter().collect()
}

fn from_base62(text: &str) -> Option<u64> {
    text.bytes().try_fold(0u64, |number, byte| {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        number.checked_mul(62)?.checked_add(digit as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Caller;
    use super::*;
    use proptest::prelude::*;

    fn tenant(organization: u64, mode: Mode) -> Tenant {
        Tenant { organization: Id::new(organization).unwrap(), mode }
    }

    proptest! {
        #[test]
        fn a_key_says_whose_it_is(organization in 1..=Id::MAX, id in 1..=Id::MAX, seed: u64, live: bool) {
            let tenant = tenant(organization, if live { Mode::Live } else { Mode::Test });
            let id = Id::new(id).unwrap();
            let made = Credential::generate(tenant, id, &Random::seeded(seed));
            let read: Credential = made.reveal().parse().unwrap();
            prop_assert_eq!((read.tenant, read.id, read.hash()), (tenant, id, made.hash()));
            prop_assert_eq!(made.reveal().len(), 59);
        }

        #[test]
        fn one_wrong_character_is_noticed(seed: u64, at in 0usize..59, other in "[0-9A-Za-z_]") {
            let made = Credential::generate(tenant(7, Mode::Live), Id::new(9).unwrap(), &Random::seeded(seed));
            let mut mistyped = made.reveal().to_owned();
            mistyped.replace_range(at..=at, &other);
            prop_assume!(mistyped != made.reveal());
            prop_assert!(mistyped.parse::<Credential>().is_err());
        }

        #[test]
        fn no_header_panics(header in "\\PC{0,80}") {
            let _ = Caller::read(Some(&header));
        }
    }

    #[test]
    fn the_header_is_read_as_rfc_6750_has_it() {
        let key = Credential::generate(tenant(7, Mode::Test), Id::new(9).unwrap(), &Random::seeded(1));
        let key = key.reveal();
        for good in [format!("Bearer {key}"), format!("bearer {key}"), format!("BEARER  {key}")] {
            assert!(matches!(Caller::read(Some(&good)), Caller::Presented(_)), "{good}");
        }
        for bad in [
            key.to_owned(),
            format!("Basic {key}"),
            format!("Bearer {key},Bearer {key}"),
            "Bearer ".to_owned(),
            String::new(),
        ] {
            assert!(matches!(Caller::read(Some(&bad)), Caller::Malformed), "{bad}");
        }
        assert!(matches!(Caller::read(None), Caller::Anonymous));
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let key = Credential::generate(tenant(7, Mode::Live), Id::new(9).unwrap(), &Random::seeded(1));
        assert_eq!(format!("{key:?}"), "Credential(7#live, 9)");
    }
}
