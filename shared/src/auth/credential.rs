//! The form of everything secret that we hand out: API keys, OAuth tokens and codes, sessions, single-use links.
//!
//! `rc_live_` or `rc_test_` for an API key; for the others `rc_`, two letters for the kind, `_`, and `L` or `T` for the
//! mode. Then in base62 the organization's id (9 characters), the id of the key, grant or member (9) and a secret of 27
//! random characters (160.7 bits; a refresh token has its family's secret and one of its own), then the CRC-32 of all
//! that in 6. So what is mistyped is refused without asking the database, scanners can tell a leaked key from noise, and
//! the text alone says which tenant it opens. Only a SHA-256 is stored: the secret is random and long, so that a slow hash
//! would protect nothing.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::id::Id;
use crate::model::{Mode, Tenant};
use crate::random::Random;
use crate::store::{Holder, Presented};

const ID_LENGTH: usize = 9;
const SECRET_LENGTH: usize = 27;
const CHECKSUM_LENGTH: usize = 6;

/// What a credential is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Calling the API, until it is revoked.
    ApiKey,
    /// Calling the API for an hour, in the name of a connected application.
    AccessToken,
    /// The next pair of tokens.
    RefreshToken,
    /// The first pair of tokens.
    AuthorizationCode,
    /// A signed-in browser.
    Session,
    /// Setting a member's password, once.
    Link,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::ApiKey,
        Self::AccessToken,
        Self::RefreshToken,
        Self::AuthorizationCode,
        Self::Session,
        Self::Link,
    ];

    /// What a credential of this kind and mode begins with.
    const fn prefix(self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Self::ApiKey, Mode::Live) => "rc_live_",
            (Self::ApiKey, Mode::Test) => "rc_test_",
            (Self::AccessToken, Mode::Live) => "rc_at_L",
            (Self::AccessToken, Mode::Test) => "rc_at_T",
            (Self::RefreshToken, Mode::Live) => "rc_rt_L",
            (Self::RefreshToken, Mode::Test) => "rc_rt_T",
            (Self::AuthorizationCode, Mode::Live) => "rc_ac_L",
            (Self::AuthorizationCode, Mode::Test) => "rc_ac_T",
            (Self::Session, Mode::Live) => "rc_ss_L",
            (Self::Session, Mode::Test) => "rc_ss_T",
            (Self::Link, Mode::Live) => "rc_ln_L",
            (Self::Link, Mode::Test) => "rc_ln_T",
        }
    }

    const fn secret_length(self) -> usize {
        match self {
            Self::RefreshToken => 2 * SECRET_LENGTH,
            _ => SECRET_LENGTH,
        }
    }
}

/// An API key, a token, a session.
#[derive(Clone)]
pub struct Credential {
    kind: Kind,
    tenant: Tenant,
    id: Id,
    text: String,
}

impl Credential {
    /// A new credential for `tenant`, known there as `id`.
    pub fn generate(kind: Kind, tenant: Tenant, id: Id, random: &Random) -> Self {
        Self::with_secret(kind, tenant, id, &random.token(kind.secret_length()))
    }

    /// The refresh token that follows this one: of the same family, with another secret of its own.
    #[must_use]
    pub fn successor(&self, random: &Random) -> Self {
        let secret = format!("{}{}", self.family(), random.token(SECRET_LENGTH));
        Self::with_secret(self.kind, self.tenant, self.id, &secret)
    }

    /// The credential with this secret, which must be 27 letters and digits, or 54 for a refresh token. Whoever knows the
    /// secret knows the credential: for demonstrations, which are public.
    pub fn with_secret(kind: Kind, tenant: Tenant, id: Id, secret: &str) -> Self {
        let mut text = format!(
            "{}{}{}{secret}",
            kind.prefix(tenant.mode),
            base62(tenant.organization.get(), ID_LENGTH),
            base62(id.get(), ID_LENGTH),
        );
        text.push_str(&checksum(&text));
        Self { kind, tenant, id, text }
    }

    /// The whole text. It is shown once, when it is made.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// What it is good for.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Whose data it opens, if it is good.
    pub const fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The identifier that its tenant knows the key, grant or member by.
    pub const fn id(&self) -> Id {
        self.id
    }

    /// What is stored of it: the SHA-256 in base64url.
    pub fn hash(&self) -> String {
        hash(&self.text)
    }

    /// What is stored of an access token: the SHA-256 over the token and what it is for (RFC 8707), so that it proves
    /// nothing anywhere else.
    pub fn hash_for(&self, audience: &str) -> String {
        hash(&format!("{}\n{audience}", self.text))
    }

    /// What is stored of a refresh token's family: whoever shows another token of it held one of ours.
    pub fn family_hash(&self) -> String {
        hash(self.family())
    }

    /// The part of the secret that all refresh tokens of a grant share.
    fn family(&self) -> &str {
        let from = self.kind.prefix(self.tenant.mode).len() + 2 * ID_LENGTH;
        self.text.get(from..from + SECRET_LENGTH).unwrap_or_default()
    }

    /// What the gate of the API that is `audience` is asked about it.
    pub fn presented(&self, audience: &str) -> Presented {
        let (holder, hash) = match self.kind {
            Kind::ApiKey => (Holder::Key(self.id), self.hash()),
            _ => (Holder::App(self.id), self.hash_for(audience)),
        };
        Presented { tenant: self.tenant, holder, hash }
    }
}

/// Shows no secret.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({:?}, {}, {})", self.kind, self.tenant, self.id)
    }
}

impl FromStr for Credential {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const MALFORMED: &str = "not a credential";
        let kinds = Kind::ALL.into_iter().flat_map(|kind| Mode::ALL.map(|mode| (kind, mode)));
        let mut known =
            kinds.filter_map(|(kind, mode)| Some((kind, mode, text.strip_prefix(kind.prefix(mode))?)));
        let (kind, mode, rest) = known.next().ok_or(MALFORMED)?;
        if rest.len() != 2 * ID_LENGTH + kind.secret_length() + CHECKSUM_LENGTH
            || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err(MALFORMED);
        }
        let (signed, sum) = text.split_at(text.len() - CHECKSUM_LENGTH);
        let number =
            |from: usize| from_base62(&rest[from..from + ID_LENGTH]).and_then(Id::new).ok_or(MALFORMED);
        if checksum(signed) != sum {
            return Err("a mistyped credential");
        }
        let tenant = Tenant { organization: number(0)?, mode };
        Ok(Self { kind, tenant, id: number(ID_LENGTH)?, text: text.to_owned() })
    }
}

/// What is stored of a secret that is random and long: its SHA-256 in base64url.
pub fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
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
            for kind in Kind::ALL {
                let made = Credential::generate(kind, tenant, id, &Random::seeded(seed));
                let read: Credential = made.reveal().parse().unwrap();
                prop_assert_eq!((read.kind, read.tenant, read.id, read.hash()), (kind, tenant, id, made.hash()));
                prop_assert!(made.reveal().len() <= 256);
            }
        }

        #[test]
        fn one_wrong_character_is_noticed(seed: u64, at in 0usize..59, other in "[0-9A-Za-z_]") {
            let made = Credential::generate(Kind::ApiKey, tenant(7, Mode::Live), Id::new(9).unwrap(), &Random::seeded(seed));
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
        let key = Credential::generate(
            Kind::ApiKey,
            tenant(7, Mode::Test),
            Id::new(9).unwrap(),
            &Random::seeded(1),
        );
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
        let key = Credential::generate(
            Kind::ApiKey,
            tenant(7, Mode::Live),
            Id::new(9).unwrap(),
            &Random::seeded(1),
        );
        assert_eq!(format!("{key:?}"), "Credential(ApiKey, 7#live, 9)");
    }

    #[test]
    fn refresh_tokens_of_a_grant_are_a_family() {
        let random = Random::seeded(1);
        let grant = |id| {
            Credential::generate(Kind::RefreshToken, tenant(7, Mode::Test), Id::new(id).unwrap(), &random)
        };
        let (first, other) = (grant(9), grant(9));
        let second = first.successor(&random);
        assert_ne!(first.hash(), second.hash());
        assert_eq!(first.family_hash(), second.successor(&random).family_hash());
        assert_ne!(first.family_hash(), other.family_hash());
        assert!(second.reveal().parse::<Credential>().is_ok());
    }

    #[test]
    fn an_access_token_proves_nothing_elsewhere() {
        let token = Credential::generate(
            Kind::AccessToken,
            tenant(7, Mode::Live),
            Id::new(9).unwrap(),
            &Random::seeded(1),
        );
        let [here, there] = ["https://a.example/api/v1", "https://b.example/api/v1"]
            .map(|audience| token.presented(audience));
        assert_ne!(here.hash, there.hash);
        assert!(matches!(here.holder, Holder::App(id) if id == token.id()));
    }
}
