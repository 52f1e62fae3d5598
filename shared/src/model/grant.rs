//! OAuth clients and the grants that members give them (RFC 6749, RFC 7636, RFC 9700).

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::string_enum::string_enum;
use super::{Audience, Day, GateHash, RedirectUri, Scopes, Text, WebAddress};
use crate::clock::{Timestamp, later};
use crate::id::Id;

/// The name of a client.
pub type ClientName = Text<100>;

string_enum! {
    /// How a client authenticates at the token endpoint (RFC 7591, section 2).
    pub enum ClientAuthentication {
        /// The client is public and does not authenticate. PKCE protects it.
        None = "none",
        /// The client sends its secret in the `Authorization` header.
        Basic = "client_secret_basic",
        /// The client sends its secret in the form.
        Post = "client_secret_post",
    }
}

/// How a client authenticates at the token endpoint. Only the registered method is accepted (RFC 7591, section 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredCredential", into = "StoredCredential")]
pub enum ClientCredential {
    /// The client is public and does not authenticate. PKCE protects it.
    None,
    /// The client has a secret.
    Secret {
        /// The secret's hash.
        hash: String,
        /// How the secret is sent.
        method: SecretMethod,
    },
}

/// How a client sends its secret (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretMethod {
    /// The client sends the secret in the `Authorization` header.
    Basic,
    /// The client sends the secret in the form.
    Post,
}

impl ClientAuthentication {
    /// How a client with this method sends its secret; `None` for a public client.
    pub const fn secret_method(self) -> Option<SecretMethod> {
        match self {
            Self::None => None,
            Self::Basic => Some(SecretMethod::Basic),
            Self::Post => Some(SecretMethod::Post),
        }
    }
}

/// The stored form of a [`ClientCredential`].
#[derive(Serialize, Deserialize)]
struct StoredCredential {
    authentication: ClientAuthentication,
    secret_hash: Option<String>,
}

impl From<ClientCredential> for StoredCredential {
    fn from(credential: ClientCredential) -> Self {
        match credential {
            ClientCredential::None => Self { authentication: ClientAuthentication::None, secret_hash: None },
            ClientCredential::Secret { hash, method } => Self {
                authentication: match method {
                    SecretMethod::Basic => ClientAuthentication::Basic,
                    SecretMethod::Post => ClientAuthentication::Post,
                },
                secret_hash: Some(hash),
            },
        }
    }
}

impl TryFrom<StoredCredential> for ClientCredential {
    type Error = &'static str;

    fn try_from(stored: StoredCredential) -> Result<Self, Self::Error> {
        match (stored.authentication.secret_method(), stored.secret_hash) {
            (None, None) => Ok(Self::None),
            (Some(method), Some(hash)) => Ok(Self::Secret { hash, method }),
            _ => Err("the client's authentication method and secret do not match"),
        }
    }
}

string_enum! {
    /// The credential that a client exchanges for tokens (RFC 6749, sections 4.1.3 and 6).
    pub enum GrantType {
        /// An authorization code.
        AuthorizationCode = "authorization_code",
        /// A refresh token.
        RefreshToken = "refresh_token",
    }
}

string_enum! {
    /// The response of the authorization endpoint (RFC 6749, section 3.1.1).
    pub enum ResponseType {
        /// An authorization code.
        Code = "code",
    }
}

/// An OAuth client: an application that may ask members for access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// The identifier: a string assigned by this service, or the URL of the client's metadata document.
    pub id: String,
    /// The name that the client chose for itself.
    pub name: ClientName,
    /// The redirect URIs that codes may be sent to.
    pub redirect_uris: Vec<RedirectUri>,
    /// How the client authenticates.
    #[serde(flatten)]
    pub credential: ClientCredential,
    /// The URL of the client's home page.
    pub uri: Option<WebAddress>,
    /// The scopes that the client may request.
    pub scopes: Scopes,
    /// When the client was registered or its metadata document was fetched.
    pub created_at: Timestamp,
}

impl Client {
    /// Whether the client is identified by the URL of its metadata document.
    pub fn is_documented(&self) -> bool {
        self.id.starts_with("https://")
    }

    /// Finds the registered redirect URI that `uri` matches.
    pub fn redirects_to(&self, uri: &str) -> Option<&RedirectUri> {
        self.redirect_uris.iter().find(|registered| registered.matches(uri))
    }
}

/// The access that a member has granted to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The identifier, which every code and token of the grant contains.
    pub id: Id,
    /// The client's identifier.
    pub client_id: String,
    /// The client's name when access was granted.
    pub client_name: ClientName,
    /// The host that the code was sent to.
    pub redirect_host: String,
    /// The member who granted access.
    pub member: Id,
    /// The granted scopes.
    pub scopes: Scopes,
    /// What the tokens are for.
    #[serde(default, skip_serializing_if = "Audience::is_api")]
    pub audience: Audience,
    /// The authorization code.
    pub code: Code,
    /// The current tokens, once the code was exchanged.
    pub tokens: Option<TokenSet>,
    /// When access was granted.
    pub created_at: Timestamp,
    /// The day on which an access token was last used.
    pub last_used_on: Option<Day>,
    /// When the grant was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The version, which increases with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

/// An authorization code and the request that it is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The code's hash.
    pub hash: String,
    /// The redirect URI that the code was sent to, exactly as the client sent it.
    pub redirect_uri: String,
    /// The PKCE challenge (S256).
    pub challenge: String,
    /// When the code expires.
    pub expires_at: Timestamp,
}

/// A PKCE code verifier (RFC 7636, section 4.1): 43 to 128 unreserved characters.
#[derive(Clone, PartialEq, Eq)]
pub struct CodeVerifier(String);

impl FromStr for CodeVerifier {
    type Err = &'static str;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if (43..=128).contains(&given.len()) && given.bytes().all(is_unreserved) {
            Ok(Self(given.to_owned()))
        } else {
            Err("must be 43 to 128 letters, digits and -._~")
        }
    }
}

/// The tokens of a grant: one access token, the one before it, and one refresh token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSet {
    /// The hash of the access token.
    pub access: GateHash,
    /// When the access token expires.
    pub access_expires_at: Timestamp,
    /// The access token before it, which may still be valid.
    pub previous_access: Option<PreviousAccess>,
    /// The hash of the part that all refresh tokens of the grant share.
    pub family: String,
    /// The hash of the refresh token.
    pub refresh: String,
    /// The hash of the previous refresh token.
    pub previous: Option<String>,
    /// When the refresh token expires.
    pub expires_at: Timestamp,
}

/// An access token that was replaced by a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousAccess {
    /// The hash.
    pub hash: GateHash,
    /// When the token becomes invalid.
    pub ends_at: Timestamp,
}

/// The result of checking a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// The current token. The client gets new tokens.
    Next,
    /// The previous token. The client gets new tokens if the current ones are unused, because the response with them
    /// may have been lost.
    Again,
    /// An older token of the grant. The grant is revoked.
    Reuse,
    /// An expired token, or one that does not belong to the grant.
    Unknown,
}

impl Code {
    /// The lifetime of a code.
    pub const LIFE: SignedDuration = SignedDuration::from_secs(60);

    /// Whether the challenge was derived from `verifier` (RFC 7636, section 4.6). The comparison takes constant time.
    pub fn is_verified_by(&self, verifier: &CodeVerifier) -> bool {
        challenge(&verifier.0).as_bytes().ct_eq(self.challenge.as_bytes()).into()
    }
}

/// Returns the S256 challenge of a verifier (RFC 7636, section 4.2).
pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

impl TokenSet {
    /// The lifetime of an access token.
    pub const ACCESS_LIFE: SignedDuration = SignedDuration::from_hours(1);
    /// The time for which an access token stays valid after a refresh, for requests that were sent before.
    pub const REPLACED_LIFE: SignedDuration = SignedDuration::from_mins(1);
    /// The lifetime of a refresh token.
    pub const REFRESH_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
}

impl Grant {
    /// The time after which the member has to grant access again, however often the tokens were refreshed.
    pub const LIFE: SignedDuration = SignedDuration::from_hours(180 * 24);

    /// When access ends, however often the tokens are refreshed.
    fn ends_at(&self) -> Timestamp {
        later(self.created_at, Self::LIFE)
    }

    /// Whether the grant has a valid code or a valid refresh token.
    pub fn is_good(&self, now: Timestamp) -> bool {
        let ends_at = self.tokens.as_ref().map_or(self.code.expires_at, |tokens| tokens.expires_at);
        self.revoked_at.is_none() && now < ends_at
    }

    /// Replaces the tokens. The refresh token expires with the grant at the latest.
    #[must_use]
    pub fn with_tokens(self, tokens: TokenSet) -> Self {
        let tokens = TokenSet { expires_at: tokens.expires_at.min(self.ends_at()), ..tokens };
        Self { tokens: Some(tokens), version: self.version + 1, ..self }
    }

    /// Narrows the grant to the scopes for reading. New tokens have only these.
    #[must_use]
    pub fn narrowed(self) -> Self {
        let scopes = self.scopes.iter().filter(|scope| scope.is_for_reading()).collect();
        Self { scopes, version: self.version + 1, ..self }
    }

    /// Revokes the grant.
    #[must_use]
    pub fn revoked(self, now: Timestamp) -> Self {
        Self { revoked_at: Some(now), version: self.version + 1, ..self }
    }

    /// Checks the refresh token with these hashes.
    pub fn judge_refresh(&self, hash: &str, family: &str, now: Timestamp) -> Refresh {
        let same = |stored: &str, hash: &str| -> bool { stored.as_bytes().ct_eq(hash.as_bytes()).into() };
        let Some(tokens) = self.tokens.as_ref().filter(|tokens| same(&tokens.family, family)) else {
            return Refresh::Unknown;
        };
        if !self.is_good(now) {
            Refresh::Unknown
        } else if same(&tokens.refresh, hash) {
            Refresh::Next
        } else if tokens.previous.as_ref().is_some_and(|previous| same(previous, hash)) {
            Refresh::Again
        } else {
            Refresh::Reuse
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(now: Timestamp) -> Grant {
        let code = Code {
            hash: "code".to_owned(),
            redirect_uri: "https://app.example/cb".to_owned(),
            challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM".to_owned(),
            expires_at: now.saturating_add(Code::LIFE).unwrap(),
        };
        Grant {
            id: Id::new(1).unwrap(),
            client_id: "client".to_owned(),
            client_name: Text::parse("App").unwrap().unwrap(),
            redirect_host: "app.example".to_owned(),
            member: Id::new(2).unwrap(),
            scopes: Scopes::all(),
            audience: Audience::Api,
            code,
            tokens: None,
            created_at: now,
            last_used_on: None,
            revoked_at: None,
            version: 1,
        }
    }

    #[test]
    fn the_verifier_of_rfc_7636_appendix_b_is_accepted() {
        let code = grant(Timestamp::UNIX_EPOCH).code;
        assert!(code.is_verified_by(&"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".parse().unwrap()));
        for wrong in
            ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK"]
        {
            assert!(!code.is_verified_by(&wrong.parse().unwrap()), "{wrong}");
        }
    }

    #[test]
    fn a_verifier_has_43_to_128_unreserved_characters() {
        let parse = |text: String| text.parse::<CodeVerifier>().is_ok();
        assert!(parse("-._~".repeat(11)) && parse("a".repeat(43)) && parse("Z9".repeat(64)));
        for wrong in [String::new(), "abc".to_owned(), "a".repeat(42), "a".repeat(129), "é".repeat(43)] {
            assert!(!parse(wrong.clone()), "{wrong}");
        }
        for other in [" ", "+", "/", "=", "%", "\n", "\0"] {
            assert!(!parse(format!("{}{other}", "a".repeat(43))), "{other:?}");
        }
    }

    #[test]
    fn a_grant_ends_after_180_days() {
        let (now, day) = (Timestamp::UNIX_EPOCH, SignedDuration::from_hours(24));
        let refreshed = grant(now).with_tokens(TokenSet {
            access: GateHash::of("access", None),
            access_expires_at: now,
            previous_access: None,
            family: String::new(),
            refresh: String::new(),
            previous: None,
            expires_at: later(now, day * 200),
        });
        assert_eq!(refreshed.tokens.as_ref().unwrap().expires_at, later(now, day * 180));
        assert!(refreshed.is_good(later(now, day * 180 - SignedDuration::from_secs(1))));
        assert!(!refreshed.is_good(later(now, day * 180)));
    }

    #[test]
    fn refresh_tokens_are_current_previous_reused_or_unknown() {
        let now = Timestamp::UNIX_EPOCH;
        let set = |refresh: &str, previous: Option<&str>| TokenSet {
            access: GateHash::of("access", None),
            access_expires_at: now,
            previous_access: None,
            family: "family".to_owned(),
            refresh: refresh.to_owned(),
            previous: previous.map(str::to_owned),
            expires_at: now.saturating_add(TokenSet::REFRESH_LIFE).unwrap(),
        };
        assert_eq!(grant(now).judge_refresh("r1", "family", now), Refresh::Unknown);
        let live = grant(now).with_tokens(set("r3", Some("r2")));
        for (hash, family, verdict) in [
            ("r3", "family", Refresh::Next),
            ("r2", "family", Refresh::Again),
            ("r1", "family", Refresh::Reuse),
            ("r3", "another", Refresh::Unknown),
        ] {
            assert_eq!(live.judge_refresh(hash, family, now), verdict, "{hash} {family}");
        }
        let late = now.saturating_add(TokenSet::REFRESH_LIFE).unwrap();
        assert_eq!(live.judge_refresh("r3", "family", late), Refresh::Unknown);
        assert_eq!(live.revoked(now).judge_refresh("r3", "family", now), Refresh::Unknown);
    }
}
