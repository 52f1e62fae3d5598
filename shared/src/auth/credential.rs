//! The format of all credentials: API keys, OAuth tokens and codes, sessions, and single-use links.
//!
//! An API key begins with `rc_live_` or `rc_test_`. Any other credential begins with `rc_`, two letters for its kind,
//! `_`, and `L` or `T` for the mode. These parts follow, in base62:
//!
//! - the organization's id, 9 characters
//! - the id of the key, grant or member, 9 characters
//! - the secret, 27 random characters (160.7 bits); a refresh token has two: its family's secret and its own
//! - the CRC-32 of everything before it, 6 characters
//!
//! The checksum detects mistyped credentials without a database call and lets scanners recognize leaked keys. The
//! credential alone identifies the tenant. Only a SHA-256 hash is stored. A slow hash is not needed, because the secret
//! is long and random.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::base62;
use crate::id::Id;
use crate::model::{Mode, Tenant};
use crate::random::Random;
use crate::store::{Holder, PresentedCredential};

const ID_LENGTH: usize = 9;
const SECRET_LENGTH: usize = 27;
const CHECKSUM_LENGTH: usize = 6;
const ENDING_LENGTH: usize = 4;

/// The kind of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An API key, which is valid until it is revoked.
    ApiKey,
    /// An OAuth access token, which gives a connected application access to the API for an hour.
    AccessToken,
    /// An OAuth refresh token, which is exchanged for new tokens.
    RefreshToken,
    /// An OAuth authorization code, which is exchanged for the first tokens.
    AuthorizationCode,
    /// The session of a signed-in browser.
    Session,
    /// A single-use link for setting a member's password.
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

    /// The prefix of a credential of this kind and mode.
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

/// A credential, such as an API key, a token or a session.
#[derive(Clone)]
pub struct Credential {
    kind: Kind,
    tenant: Tenant,
    id: Id,
    text: String,
}

impl Credential {
    /// Generates a credential of a tenant's key, grant or member.
    pub fn generate(kind: Kind, tenant: Tenant, id: Id, random: &Random) -> Self {
        Self::with_secret(kind, tenant, id, &random.token(kind.secret_length()))
    }

    /// Generates the next refresh token of the same family.
    #[must_use]
    pub fn successor(&self, random: &Random) -> Self {
        let secret = format!("{}{}", self.family(), random.token(SECRET_LENGTH));
        Self::with_secret(self.kind, self.tenant, self.id, &secret)
    }

    /// Creates a credential with a given secret: 27 letters and digits, or 54 for a refresh token. Anyone who knows the
    /// secret has the credential, so this is meant for demos.
    pub fn with_secret(kind: Kind, tenant: Tenant, id: Id, secret: &str) -> Self {
        let mut text = format!(
            "{}{}{}{secret}",
            kind.prefix(tenant.mode),
            base62::encode(tenant.organization.get(), ID_LENGTH),
            base62::encode(id.get(), ID_LENGTH),
        );
        text.push_str(&checksum(&text));
        Self { kind, tenant, id, text }
    }

    /// The full text, which is shown only once, after the credential is generated.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The tenant that the credential gives access to, if it is valid.
    pub const fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// The id of the key, grant or member.
    pub const fn id(&self) -> Id {
        self.id
    }

    /// The last four characters, which are part of the checksum. They may be stored and shown.
    pub fn ending(&self) -> &str {
        &self.text[self.text.len() - ENDING_LENGTH..]
    }

    /// The hash to store: the SHA-256 in base64url.
    pub fn hash(&self) -> String {
        hash(&self.text)
    }

    /// The hash of an access token to store. It includes the audience (RFC 8707), so the token is invalid for any other
    /// service.
    pub fn hash_for(&self, audience: &str) -> String {
        hash(&format!("{}\n{audience}", self.text))
    }

    /// The hash of a refresh token's family. All tokens with this family were issued for the same grant.
    pub fn family_hash(&self) -> String {
        hash(self.family())
    }

    /// The part of the secret that all refresh tokens of a grant share.
    fn family(&self) -> &str {
        let from = self.kind.prefix(self.tenant.mode).len() + 2 * ID_LENGTH;
        self.text.get(from..from + SECRET_LENGTH).unwrap_or_default()
    }

    /// The hashed form that the gate checks, for the API with this audience.
    pub fn presented(&self, audience: &str) -> PresentedCredential {
        let (holder, hash) = match self.kind {
            Kind::ApiKey => (Holder::Key(self.id), self.hash()),
            _ => (Holder::App(self.id), self.hash_for(audience)),
        };
        PresentedCredential { tenant: self.tenant, holder, hash }
    }
}

/// Shows everything but the secret.
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
            |from: usize| base62::decode(&rest[from..from + ID_LENGTH]).and_then(Id::new).ok_or(MALFORMED);
        if checksum(signed) != sum {
            return Err("a mistyped credential");
        }
        let tenant = Tenant { organization: number(0)?, mode };
        Ok(Self { kind, tenant, id: number(ID_LENGTH)?, text: text.to_owned() })
    }
}

/// The hash to store for a long, random secret: its SHA-256 in base64url.
pub fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

fn checksum(text: &str) -> String {
    base62::encode(crc32fast::hash(text.as_bytes()).into(), CHECKSUM_LENGTH)
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
        fn a_parsed_credential_has_its_kind_tenant_and_id(
            organization in 1..=Id::MAX, id in 1..=Id::MAX, seed: u64, live: bool,
        ) {
            let tenant = tenant(organization, if live { Mode::Live } else { Mode::Test });
            let id = Id::new(id).unwrap();
            for kind in Kind::ALL {
                let made = Credential::generate(kind, tenant, id, &Random::seeded(seed));
                let read: Credential = made.reveal().parse().unwrap();
                prop_assert_eq!((read.kind, read.tenant, read.id, read.hash()), (kind, tenant, id, made.hash()));
                prop_assert!(made.reveal().len() <= 256);
                prop_assert!(made.ending().len() == 4 && checksum(&made.text[..made.text.len() - 6]).ends_with(made.ending()));
            }
        }

        #[test]
        fn one_wrong_character_is_detected(seed: u64, at in 0usize..59, other in "[0-9A-Za-z_]") {
            let (tenant, id) = (tenant(7, Mode::Live), Id::new(9).unwrap());
            let made = Credential::generate(Kind::ApiKey, tenant, id, &Random::seeded(seed));
            let mut mistyped = made.reveal().to_owned();
            mistyped.replace_range(at..=at, &other);
            prop_assume!(mistyped != made.reveal());
            prop_assert!(mistyped.parse::<Credential>().is_err());
        }

        #[test]
        fn any_header_is_parsed_without_panic(header in "\\PC{0,80}") {
            let _ = Caller::read(Some(&header));
        }
    }

    #[test]
    fn the_header_is_parsed_as_in_rfc_6750() {
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
    fn refresh_tokens_of_a_grant_share_a_family() {
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
    fn the_hash_of_an_access_token_depends_on_the_audience() {
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
