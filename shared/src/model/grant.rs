//! OAuth: applications, and what members have granted them (RFC 6749, RFC 7636, RFC 9700).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::words::words;
use super::{RedirectUri, Scopes, Text, WebAddress};
use crate::id::Id;

/// An application's name.
pub type ClientName = Text<100>;

words! {
    /// How an application proves at the token endpoint that it is itself (RFC 7591, section 2).
    pub enum ClientAuthentication {
        /// Not at all: a public client, which PKCE protects.
        None = "none",
        /// With its secret in the `Authorization` header.
        Basic = "client_secret_basic",
        /// With its secret in the form.
        Post = "client_secret_post",
    }
}

words! {
    /// What an application gets tokens for (RFC 6749, sections 4.1.3 and 6).
    pub enum GrantType {
        /// For a code.
        AuthorizationCode = "authorization_code",
        /// For a refresh token.
        RefreshToken = "refresh_token",
    }
}

words! {
    /// What an application gets for a member's yes (RFC 6749, section 3.1.1).
    pub enum ResponseType {
        /// A code.
        Code = "code",
    }
}

/// An application that may ask members for access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// The identifier: ours, or the address of its metadata document.
    pub id: String,
    /// The name that it gives itself.
    pub name: ClientName,
    /// Where codes may be sent.
    pub redirect_uris: Vec<RedirectUri>,
    /// How it proves that it is itself.
    pub authentication: ClientAuthentication,
    /// The hash of its secret, where it has one.
    pub secret_hash: Option<String>,
    /// Its home page.
    pub uri: Option<WebAddress>,
    /// When it was registered, or its document was read.
    pub created_at: Timestamp,
}

impl Client {
    /// Whether the identifier is the address of the document that describes it, on a host of its own.
    pub fn is_documented(&self) -> bool {
        self.id.starts_with("https://")
    }

    /// The redirect URI that `given` means, if codes may be sent there.
    pub fn redirects_to(&self, given: &str) -> Option<&RedirectUri> {
        self.redirect_uris.iter().find(|registered| registered.matches(given))
    }
}

/// What a member has granted an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The identifier; every code and token of the grant names it.
    pub id: Id,
    /// The application.
    pub client_id: String,
    /// Its name at the time.
    pub client_name: ClientName,
    /// The host that the code went to.
    pub redirect_host: String,
    /// Who granted it.
    pub member: Id,
    /// What it may do at most.
    pub scopes: Scopes,
    /// The code that it began with.
    pub code: Code,
    /// The tokens, once the code was exchanged.
    pub tokens: Option<TokenSet>,
    /// When it was granted.
    pub created_at: Timestamp,
    /// Since when nothing of it is accepted.
    pub revoked_at: Option<Timestamp>,
    /// Grows with every write; a write names the version it has read.
    pub version: u64,
}

/// An authorization code and what it is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The code's hash.
    pub hash: String,
    /// Where it was sent, as the application wrote it.
    pub redirect_uri: String,
    /// The PKCE challenge, S256.
    pub challenge: String,
    /// Until when it may be exchanged.
    pub expires_at: Timestamp,
}

/// The tokens of a grant: one access token and one refresh token are good at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSet {
    /// The hash of the access token.
    pub access: String,
    /// The hash of what all refresh tokens of the grant share.
    pub family: String,
    /// The hash of the refresh token.
    pub refresh: String,
    /// The hash of the one before it.
    pub previous: Option<String>,
    /// Until when the refresh token is good.
    pub expires_at: Timestamp,
}

/// What presenting a refresh token comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// The next pair.
    Next,
    /// The next pair, provided that the current one is still unused: its answer may have been lost.
    Again,
    /// Somebody shows a token that was replaced: the grant ends.
    Reuse,
    /// Not one of the grant's, or too late.
    Unknown,
}

impl Code {
    /// How long a code is good.
    pub const LIFE: SignedDuration = SignedDuration::from_secs(60);

    /// Whether `verifier` is what the challenge was made of (RFC 7636, section 4.6), compared in constant time.
    pub fn is_verified_by(&self, verifier: &str) -> bool {
        challenge(verifier).as_bytes().ct_eq(self.challenge.as_bytes()).into()
    }
}

/// The S256 challenge of a verifier (RFC 7636, section 4.2).
pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

impl TokenSet {
    /// How long an access token is good.
    pub const ACCESS_LIFE: SignedDuration = SignedDuration::from_hours(1);
    /// How long a refresh token is good.
    pub const REFRESH_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
}

impl Grant {
    /// Whether its tokens are, or may become, good.
    pub fn is_good(&self, now: Timestamp) -> bool {
        let ends_at = self.tokens.as_ref().map_or(self.code.expires_at, |tokens| tokens.expires_at);
        self.revoked_at.is_none() && now < ends_at
    }

    /// The grant with tokens in place of those before.
    #[must_use]
    pub fn with_tokens(self, tokens: TokenSet) -> Self {
        Self { tokens: Some(tokens), version: self.version + 1, ..self }
    }

    /// The grant, ended.
    #[must_use]
    pub fn revoked(self, now: Timestamp) -> Self {
        Self { revoked_at: Some(now), version: self.version + 1, ..self }
    }

    /// What the refresh token with these hashes comes to.
    pub fn judge_refresh(&self, hash: &str, family: &str, now: Timestamp) -> Refresh {
        let same = |stored: &str, shown: &str| -> bool { stored.as_bytes().ct_eq(shown.as_bytes()).into() };
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
            code,
            tokens: None,
            created_at: now,
            revoked_at: None,
            version: 1,
        }
    }

    #[test]
    fn the_verifier_of_rfc_7636_appendix_b() {
        let code = grant(Timestamp::UNIX_EPOCH).code;
        assert!(code.is_verified_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        for wrong in
            ["", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK"]
        {
            assert!(!code.is_verified_by(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_refresh_token_is_the_current_one_the_one_before_or_a_reuse() {
        let now = Timestamp::UNIX_EPOCH;
        let set = |refresh: &str, previous: Option<&str>| TokenSet {
            access: "access".to_owned(),
            family: "family".to_owned(),
            refresh: refresh.to_owned(),
            previous: previous.map(str::to_owned),
            expires_at: now.saturating_add(TokenSet::REFRESH_LIFE).unwrap(),
        };
        assert_eq!(grant(now).judge_refresh("r1", "family", now), Refresh::Unknown);
        let live = grant(now).with_tokens(set("r3", Some("r2")));
        for (hash, family, comes_to) in [
            ("r3", "family", Refresh::Next),
            ("r2", "family", Refresh::Again),
            ("r1", "family", Refresh::Reuse),
            ("r3", "another", Refresh::Unknown),
        ] {
            assert_eq!(live.judge_refresh(hash, family, now), comes_to, "{hash} {family}");
        }
        let late = now.saturating_add(TokenSet::REFRESH_LIFE).unwrap();
        assert_eq!(live.judge_refresh("r3", "family", late), Refresh::Unknown);
        assert_eq!(live.revoked(now).judge_refresh("r3", "family", now), Refresh::Unknown);
    }
}
