//! The format of all credentials: API keys, OAuth tokens and codes, sessions, and single-use links.
//!
//! An API key begins with `rc_live_` or `rc_test_`. Any other credential begins with `rc_`, two letters for its kind,
//! `_`, and `L` or `T` for the mode. These parts follow, in base62:
//!
//! - the organization's id, 9 characters
//! - the id of the key, grant or member, 9 characters
//! - the scopes, 4 characters
//! - the expiry in epoch seconds and the audience, 6 characters; the expiry is 0 if the credential itself has none
//! - the secret, 27 random characters (160.7 bits); a refresh token has two: its family's secret and its own
//! - the MAC of everything before it under a key of the service, 11 characters (64 bits)
//! - the CRC-32 of everything before it, 6 characters
//!
//! The checksum detects mistyped credentials and lets scanners recognize leaked keys. The MAC detects made-up
//! credentials. Neither check needs a database call. The credential alone identifies the tenant. Only a hash is stored.
//! The secrets of the tokens that a refresh gives are derived from the used refresh token, under a key of the service.
//! A slow hash is not needed, because the secret is long and random. The MAC proves only that the service issued the
//! credential. It is valid while the table contains its hash, so a leaked key of the service is not enough to forge one.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::base62;
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::mac_keys::MacKeys;
use crate::model::{Audience, GateHash, Mode, Networks, Scopes, Tenant};
use crate::random::Random;
use crate::store::{ApiKey, Holder, PresentedCredential};

// Base62 needs nine digits for the 53 bits of an id, six for a time or a CRC-32, and eleven for 64 bits.
const ID_LENGTH: usize = 9;
const SCOPES_LENGTH: usize = 4;
const EXPIRY_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 27;
const MAC_LENGTH: usize = 11;
const CHECKSUM_LENGTH: usize = 6;
const ENDING_LENGTH: usize = 4;
/// The purpose of the MACs.
const PURPOSE: &str = "credential";
/// The number of values of the part with the expiry that belong to one audience. The expiry is less, until the year 2242.
const EXPIRIES: u64 = 1 << 33;
/// The length of a part of a derived secret, for which 64 bits are more than enough.
const DERIVED_LENGTH: usize = 9;
/// The length of the parts before the secret.
const CLAIMS_LENGTH: usize = 2 * ID_LENGTH + SCOPES_LENGTH + EXPIRY_LENGTH;

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
    /// All kinds.
    pub const ALL: [Self; 6] = [
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

/// What the text of an API key or an access token says. Other credentials have no scopes, and their expiry is stored elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The scopes.
    pub scopes: Scopes,
    /// When the credential expires.
    pub expires_at: Option<Timestamp>,
    /// What an access token is for. API keys are for both.
    pub audience: Audience,
}

/// Why a text is not a credential of this service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The format is wrong.
    #[error("not a credential")]
    Malformed,
    /// The checksum is wrong.
    #[error("a mistyped credential")]
    Mistyped,
    /// The MAC is wrong, or its key is no longer configured.
    #[error("a forged credential")]
    Forged,
}

impl CredentialError {
    /// The word for the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Mistyped => "mistyped",
            Self::Forged => "forged",
        }
    }
}

/// A credential, such as an API key, a token or a session. This service issued it, but it may be invalid by now.
#[derive(Clone)]
pub struct Credential {
    kind: Kind,
    tenant: Tenant,
    id: Id,
    claims: Claims,
    text: String,
}

impl Credential {
    /// Generates a credential of a tenant's key, grant or member.
    pub fn generate(
        kind: Kind,
        tenant: Tenant,
        id: Id,
        claims: Claims,
        keys: &MacKeys,
        random: &Random,
    ) -> Self {
        Self::with_secret(kind, tenant, id, claims, keys, &random.token(kind.secret_length()))
    }

    /// The access token with these claims and the refresh token that this refresh token is exchanged for. The same keys
    /// and claims give the same texts.
    pub fn exchange(&self, access: Claims, keys: &MacKeys) -> (Self, Self) {
        let derived = |kind: Kind, claims: Claims, family: &str| {
            let mac = keys.mac(&["exchange", kind.prefix(self.tenant.mode), &self.text]).unwrap_or_default();
            let parts = mac.as_chunks().0.iter().take(SECRET_LENGTH / DERIVED_LENGTH);
            let secret: String =
                parts.map(|part| base62::encode(u64::from_be_bytes(*part), DERIVED_LENGTH)).collect();
            Self::with_secret(kind, self.tenant, self.id, claims, keys, &format!("{family}{secret}"))
        };
        let refresh = derived(Kind::RefreshToken, self.claims, self.family());
        (derived(Kind::AccessToken, access, ""), refresh)
    }

    /// Creates a credential with a given secret: 27 letters and digits, or 54 for a refresh token. Anyone who knows the
    /// secret has the credential, so this is meant for demos.
    pub fn with_secret(
        kind: Kind,
        tenant: Tenant,
        id: Id,
        claims: Claims,
        keys: &MacKeys,
        secret: &str,
    ) -> Self {
        // The text has room for whole seconds.
        let claims = Claims { expires_at: claims.expires_at.map(Timestamp::to_second), ..claims };
        let expiry = claims.expires_at.map_or(0, |time| u64::try_from(time.as_second()).unwrap_or(0));
        let expiry = expiry.min(EXPIRIES - 1) + claims.audience as u64 * EXPIRIES;
        let mut text = format!(
            "{}{}{}{}{}{secret}",
            kind.prefix(tenant.mode),
            base62::encode(tenant.organization.get(), ID_LENGTH),
            base62::encode(id.get(), ID_LENGTH),
            base62::encode(claims.scopes.bits().into(), SCOPES_LENGTH),
            base62::encode(expiry, EXPIRY_LENGTH),
        );
        // Without a key, the credential is as invalid as a forged one.
        let mac = keys.mac(&[PURPOSE, &text]).unwrap_or_default();
        let mac = mac.first_chunk().copied().unwrap_or_default();
        text.push_str(&base62::encode(u64::from_be_bytes(mac), MAC_LENGTH));
        text.push_str(&checksum(&text));
        Self { kind, tenant, id, claims, text }
    }

    /// Parses a credential and checks that this service issued it.
    pub fn read(text: &str, keys: &MacKeys) -> Result<Self, CredentialError> {
        use CredentialError::{Forged, Malformed, Mistyped};
        let kinds = Kind::ALL.into_iter().flat_map(|kind| Mode::ALL.map(|mode| (kind, mode)));
        let mut known =
            kinds.filter_map(|(kind, mode)| Some((kind, mode, text.strip_prefix(kind.prefix(mode))?)));
        let (kind, mode, rest) = known.next().ok_or(Malformed)?;
        if rest.len() != CLAIMS_LENGTH + kind.secret_length() + MAC_LENGTH + CHECKSUM_LENGTH
            || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err(Malformed);
        }
        let (checked, sum) = text.split_at(text.len() - CHECKSUM_LENGTH);
        if checksum(checked) != sum {
            return Err(Mistyped);
        }
        let (signed, mac) = checked.split_at(checked.len() - MAC_LENGTH);
        let mac = base62::decode(mac).ok_or(Forged)?.to_be_bytes();
        if !keys.verify(&[PURPOSE, signed], mac) {
            return Err(Forged);
        }
        let mut rest = rest;
        let mut number = |length: usize| {
            let (digits, others) = rest.split_at(length);
            rest = others;
            base62::decode(digits).ok_or(Malformed)
        };
        let organization = Id::new(number(ID_LENGTH)?).ok_or(Malformed)?;
        let id = Id::new(number(ID_LENGTH)?).ok_or(Malformed)?;
        let scopes = Scopes::from_bits(number(SCOPES_LENGTH)?.try_into().map_err(|_| Malformed)?);
        let expiry = number(EXPIRY_LENGTH)?;
        let audience = usize::try_from(expiry / EXPIRIES).ok();
        let audience = audience.and_then(|index| Audience::ALL.get(index).copied()).ok_or(Malformed)?;
        let expires_at = match i64::try_from(expiry % EXPIRIES).map_err(|_| Malformed)? {
            0 => None,
            second => Some(Timestamp::from_second(second).map_err(|_| Malformed)?),
        };
        let claims = Claims { scopes, expires_at, audience };
        Ok(Self { kind, tenant: Tenant { organization, mode }, id, claims, text: text.to_owned() })
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

    /// The claims, which hold if the credential is valid.
    pub const fn claims(&self) -> Claims {
        self.claims
    }

    /// Whether the credential has expired by its own claims.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.claims.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// The last four characters, which are part of the checksum. They may be stored and shown.
    pub fn ending(&self) -> &str {
        &self.text[self.text.len() - ENDING_LENGTH..]
    }

    /// The hash to store: the SHA-256 in base64url.
    pub fn hash(&self) -> String {
        hash(&self.text)
    }

    /// The hash by which the gate recognizes an API key or an access token.
    pub fn gate_hash(&self) -> GateHash {
        GateHash::of(&self.text)
    }

    /// The hash of a refresh token's family. All tokens with this family were issued for the same grant.
    pub fn family_hash(&self) -> String {
        hash(self.family())
    }

    /// The part of the secret that all refresh tokens of a grant share.
    fn family(&self) -> &str {
        let from = self.kind.prefix(self.tenant.mode).len() + CLAIMS_LENGTH;
        self.text.get(from..from + SECRET_LENGTH).unwrap_or_default()
    }

    /// An API key as it is stored: created by an operator, and allowed from all networks.
    pub fn api_key(&self, name: String, now: Timestamp) -> ApiKey {
        ApiKey {
            id: self.id,
            name,
            ending: self.ending().to_owned(),
            hash: self.gate_hash(),
            scopes: self.claims.scopes,
            created_at: now,
            created_by: None,
            expires_at: self.claims.expires_at,
            networks: Networks::default(),
            last_used_on: None,
            replaces: None,
            ends_at: None,
            revoked_at: None,
        }
    }

    /// Generates a credential that replaces an API key, and the key as it is stored. It has the same name, scopes and
    /// networks, and lives as long as the replaced key was meant to.
    pub fn replace_key(
        replaced: &ApiKey,
        tenant: Tenant,
        id: Id,
        keys: &MacKeys,
        random: &Random,
        now: Timestamp,
    ) -> (Self, ApiKey) {
        let life = replaced.expires_at.map(|expires_at| expires_at.duration_since(replaced.created_at));
        let expires_at = life.map(|life| later(now, life));
        let claims = Claims { scopes: replaced.scopes, expires_at, ..Claims::default() };
        let credential = Self::generate(Kind::ApiKey, tenant, id, claims, keys, random);
        let key = ApiKey {
            networks: replaced.networks.clone(),
            replaces: Some(replaced.id),
            ..credential.api_key(replaced.name.clone(), now)
        };
        (credential, key)
    }

    /// The form that the gate checks.
    pub fn presented(&self) -> PresentedCredential {
        let holder = match self.kind {
            Kind::ApiKey => Holder::Key(self.id),
            _ => Holder::App(self.id),
        };
        PresentedCredential { tenant: self.tenant, holder, hash: self.gate_hash() }
    }
}

/// Shows everything but the secret.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({:?}, {}, {})", self.kind, self.tenant, self.id)
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

    const CLAIMS: Claims =
        Claims { scopes: Scopes::from_bits(5), expires_at: None, audience: Audience::Both };

    fn keys() -> MacKeys {
        MacKeys::parse("0123456789abcdef0123456789abcdef,fedcba9876543210fedcba9876543210").unwrap()
    }

    fn tenant(organization: u64, mode: Mode) -> Tenant {
        Tenant { organization: Id::new(organization).unwrap(), mode }
    }

    fn generate(kind: Kind, mode: Mode, seed: u64) -> Credential {
        let random = Random::seeded(seed);
        Credential::generate(kind, tenant(7, mode), Id::new(9).unwrap(), CLAIMS, &keys(), &random)
    }

    proptest! {
        #[test]
        fn a_parsed_credential_has_all_that_it_was_generated_with(
            organization in 1..=Id::MAX, id in 1..=Id::MAX, scopes in 0u32..1 << 20, second in 0i64..1 << 33, seed: u64, live: bool,
        ) {
            let tenant = tenant(organization, if live { Mode::Live } else { Mode::Test });
            let id = Id::new(id).unwrap();
            let expires_at = (second > 0).then(|| Timestamp::from_second(second).unwrap());
            let audience = Audience::ALL[usize::try_from(seed % 3).unwrap()];
            let claims = Claims { scopes: Scopes::from_bits(scopes), expires_at, audience };
            for kind in Kind::ALL {
                let made = Credential::generate(kind, tenant, id, claims, &keys(), &Random::seeded(seed));
                let read = Credential::read(made.reveal(), &keys()).unwrap();
                prop_assert_eq!(
                    (read.kind, read.tenant, read.id, read.claims, read.hash()),
                    (kind, tenant, id, claims, made.hash())
                );
                prop_assert!(made.reveal().len() <= 256);
                prop_assert!(made.ending().len() == 4 && checksum(&made.text[..made.text.len() - 6]).ends_with(made.ending()));
            }
        }

        #[test]
        fn one_wrong_character_is_detected(seed: u64, at in 0usize..80, other in "[0-9A-Za-z_]") {
            let made = generate(Kind::ApiKey, Mode::Live, seed);
            let mut mistyped = made.reveal().to_owned();
            mistyped.replace_range(at..=at, &other);
            prop_assume!(mistyped != made.reveal());
            prop_assert!(Credential::read(&mistyped, &keys()).is_err());
        }

        #[test]
        fn a_changed_credential_with_a_right_checksum_is_forged(seed: u64, at in 8usize..73, other in "[0-9A-Za-z]") {
            for kind in Kind::ALL {
                let made = generate(kind, Mode::Live, seed);
                let mut forged = made.reveal()[..made.reveal().len() - CHECKSUM_LENGTH].to_owned();
                forged.replace_range(at..=at, &other);
                prop_assume!(!made.reveal().starts_with(&forged));
                let forged = format!("{forged}{}", checksum(&forged));
                prop_assert_eq!(Credential::read(&forged, &keys()).unwrap_err(), CredentialError::Forged);
            }
        }

        #[test]
        fn any_header_is_parsed_without_panic(header in "\\PC{0,120}") {
            let _ = Caller::read(Some(&header), &keys());
        }
    }

    #[test]
    fn a_credential_is_forged_without_the_service_s_key() {
        let others = MacKeys::parse("another key of another service that is long").unwrap();
        let none = MacKeys::default();
        for kind in Kind::ALL {
            let made = generate(kind, Mode::Live, 1);
            for keys in [&others, &none] {
                assert_eq!(Credential::read(made.reveal(), keys).unwrap_err(), CredentialError::Forged);
            }
            let tenant = tenant(7, Mode::Live);
            for keys in [&others, &none] {
                let random = Random::seeded(1);
                let forged = Credential::generate(kind, tenant, Id::new(9).unwrap(), CLAIMS, keys, &random);
                let error = Credential::read(forged.reveal(), &self::keys()).unwrap_err();
                assert_eq!(error, CredentialError::Forged, "{kind:?}");
            }
        }
    }

    #[test]
    fn a_credential_of_an_older_key_is_valid_as_long_as_the_key_is_configured() {
        let old = MacKeys::parse("fedcba9876543210fedcba9876543210").unwrap();
        let random = Random::seeded(1);
        let made = Credential::generate(
            Kind::ApiKey,
            tenant(7, Mode::Live),
            Id::new(9).unwrap(),
            CLAIMS,
            &old,
            &random,
        );
        assert!(Credential::read(made.reveal(), &keys()).is_ok());
        let newest = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(Credential::read(made.reveal(), &newest).unwrap_err(), CredentialError::Forged);
    }

    #[test]
    fn a_text_of_another_length_or_with_other_characters_is_no_credential() {
        for kind in Kind::ALL {
            let made = generate(kind, Mode::Live, 1);
            let text = made.reveal();
            let prefix = kind.prefix(Mode::Live);
            let umlauts = format!("{prefix}{}", "ü".repeat((text.len() - prefix.len()) / 2));
            let padded = format!("{umlauts}{}", "x".repeat(text.len() - umlauts.len()));
            for wrong in [&text[1..], &text[..text.len() - 1], &format!("{text}0"), prefix, &umlauts, &padded]
            {
                assert_eq!(
                    Credential::read(wrong, &keys()).unwrap_err(),
                    CredentialError::Malformed,
                    "{wrong}"
                );
            }
        }
    }

    #[test]
    fn the_header_is_parsed_as_in_rfc_6750() {
        let key = generate(Kind::ApiKey, Mode::Test, 1);
        let key = key.reveal();
        for good in [format!("Bearer {key}"), format!("bearer {key}"), format!("BEARER  {key}")] {
            assert!(matches!(Caller::read(Some(&good), &keys()), Caller::Presented(_)), "{good}");
        }
        for bad in [
            key.to_owned(),
            format!("Basic {key}"),
            format!("Bearer {key},Bearer {key}"),
            "Bearer ".to_owned(),
            String::new(),
            format!("Bearer {}", generate(Kind::Session, Mode::Live, 1).reveal()),
        ] {
            let caller = Caller::read(Some(&bad), &keys());
            assert!(matches!(caller, Caller::Rejected(CredentialError::Malformed)), "{bad}");
        }
        assert!(matches!(Caller::read(None, &keys()), Caller::Anonymous));
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let key = generate(Kind::ApiKey, Mode::Live, 1);
        assert_eq!(format!("{key:?}"), "Credential(ApiKey, 7#live, 9)");
    }

    #[test]
    fn refresh_tokens_of_a_grant_share_a_family() {
        let [first, other] = [1, 2].map(|seed| generate(Kind::RefreshToken, Mode::Test, seed));
        let (_, second) = first.exchange(CLAIMS, &keys());
        let (_, third) = second.exchange(CLAIMS, &keys());
        assert!(first.hash() != second.hash() && second.hash() != third.hash());
        assert_eq!(first.family_hash(), third.family_hash());
        assert_ne!(first.family_hash(), other.family_hash());
    }

    #[test]
    fn the_same_token_is_exchanged_for_the_same_pair_under_the_same_key() {
        let texts = |seed: u64, claims: Claims, keys: &MacKeys| {
            let (access, refresh) = generate(Kind::RefreshToken, Mode::Live, seed).exchange(claims, keys);
            for token in [&access, &refresh] {
                assert!(Credential::read(token.reveal(), &self::keys()).is_ok());
            }
            assert_eq!((access.kind(), access.claims()), (Kind::AccessToken, claims));
            [access.text, refresh.text]
        };
        let narrow = Claims { scopes: Scopes::from_bits(1), ..CLAIMS };
        let pair = texts(1, CLAIMS, &keys());
        assert_eq!(texts(1, CLAIMS, &keys()), pair);
        let older = keys().each().nth(1).unwrap();
        for (other, name) in
            [(texts(2, CLAIMS, &keys()), "of another token"), (texts(1, CLAIMS, &older), "under another key")]
        {
            assert!(pair[0] != other[0] && pair[1] != other[1], "{name}");
        }
        let [access, refresh] = texts(1, narrow, &keys());
        assert!(access != pair[0] && refresh == pair[1], "only the access token has the claims");
        // The secrets of the two have nothing in common.
        assert_ne!(pair[0][35..62], pair[1][62..89]);
    }

    #[test]
    fn a_credential_without_an_audience_is_for_both() {
        let claims = |audience| Claims { audience, ..CLAIMS };
        let text = |audience| {
            let random = Random::seeded(1);
            let (tenant, id) = (tenant(7, Mode::Live), Id::new(9).unwrap());
            Credential::generate(Kind::AccessToken, tenant, id, claims(audience), &keys(), &random).text
        };
        assert_eq!(&text(Audience::Both)[29..35], "000000");
        let all = Audience::ALL.map(|audience| Credential::read(&text(audience), &keys()).unwrap());
        assert_eq!(all.map(|token| token.claims().audience), Audience::ALL);
        // Keys that expire later than the text can say expire at the last second that it can.
        let late = Claims { expires_at: Some(Timestamp::MAX), ..claims(Audience::Mcp) };
        let random = Random::seeded(1);
        let late = Credential::generate(
            Kind::ApiKey,
            tenant(7, Mode::Live),
            Id::new(9).unwrap(),
            late,
            &keys(),
            &random,
        );
        let read = Credential::read(late.reveal(), &keys()).unwrap().claims();
        assert_eq!(read.audience, Audience::Mcp);
        assert_eq!(read.expires_at.unwrap().as_second(), (1 << 33) - 1);
    }
}
