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
    /// The hash of the secret by which the client authenticates; `None` for a public client, which PKCE protects. The
    /// secret may be sent in the header or in the form, whatever the client registered.
    pub secret_hash: Option<String>,
    /// The URL of the client's home page.
    pub uri: Option<WebAddress>,
    /// The scopes that the client has registered; `None` if it named none.
    pub scopes: Option<Scopes>,
    /// When the client was registered or its metadata document was fetched.
    pub created_at: Timestamp,
}

impl Client {
    /// Whether the client is identified by the URL of its metadata document.
    pub fn is_documented(&self) -> bool {
        self.id.starts_with("https://")
    }

    /// The scopes that the client may request: those that it has registered, or all that every member may give.
    pub fn requestable_scopes(&self) -> Scopes {
        self.scopes.unwrap_or_else(Scopes::of_members)
    }

    /// The scopes of a request for this audience that names none.
    pub fn default_scopes(&self, audience: Audience) -> Scopes {
        self.scopes.map_or_else(|| audience.default_scopes(), |scopes| scopes.within(audience.scopes()))
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
    #[serde(default = "Audience::before_both")]
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
    /// The access token before it, if it is still valid: another session of the application may use it.
    pub previous_access: Option<PreviousAccess>,
    /// The hash of the part that all refresh tokens of the grant share.
    pub family: String,
    /// The hash of the refresh token.
    pub refresh: String,
    /// The refresh token that these tokens were given for; `None` if they were given for the code.
    #[serde(default)]
    pub used: Option<UsedRefresh>,
    /// When the refresh token expires.
    pub expires_at: Timestamp,
}

/// An access token that was replaced by a refresh. The next refresh ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousAccess {
    /// The hash.
    pub hash: GateHash,
    /// When the token expires.
    pub ends_at: Timestamp,
}

/// A refresh token that was used, with what the access token that it was used for says. For a while, it is answered with
/// the same tokens again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedRefresh {
    /// The hash of the refresh token.
    pub hash: String,
    /// When using it again becomes reuse.
    pub until: Timestamp,
    /// The scopes of the access token.
    pub scopes: Scopes,
    /// What the access token is for.
    pub audience: Audience,
}

/// The result of checking a refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// The current token. The client gets new tokens.
    Next,
    /// The last token that was used, a short time ago. The client gets the same tokens again: another session of it was
    /// faster, or the response was lost.
    Again(UsedRefresh),
    /// Any other token of the grant that was used. The grant is revoked.
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
    /// The time after its first use for which a refresh token is answered with the same tokens again.
    pub const REPEAT_LIFE: SignedDuration = SignedDuration::from_mins(1);
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

    /// What an owner narrows with the application, as [`RedirectUri::site`].
    pub fn site(&self) -> String {
        self.code
            .redirect_uri
            .parse()
            .map_or_else(|_| self.redirect_host.clone(), |uri: RedirectUri| uri.site())
    }

    /// Narrows the grant to the scopes for reading. New tokens have only these.
    #[must_use]
    pub fn narrowed(self) -> Self {
        Self { scopes: self.scopes.within(Scopes::for_reading()), version: self.version + 1, ..self }
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
        } else {
            let repeated = tokens.used.as_ref().filter(|used| same(&used.hash, hash) && now < used.until);
            repeated.map_or(Refresh::Reuse, |used| Refresh::Again(used.clone()))
        }
    }

    /// The day since which the grant has not been used.
    fn idle_since(&self) -> Day {
        self.last_used_on.unwrap_or_else(|| Day::of(self.created_at))
    }
}

/// What a further grant of a member requires, because the gate has room for a limited number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// Nothing.
    Free,
    /// The end of this grant of the member, which has been idle longest.
    Ending(Box<Grant>),
    /// That others are revoked: the organization is full, and the member has none.
    Full,
}

impl Room {
    /// The maximum number of good grants in a mode of an organization.
    pub const MAX: usize = 150;
    /// The maximum number of these that are one member's.
    pub const MAX_OF_MEMBER: usize = 50;

    /// What a further grant of the member requires beside these, which are all good ones of the tenant.
    pub fn beside(grants: Vec<Grant>, member: Id) -> Self {
        let is_full = grants.len() >= Self::MAX;
        let mut own: Vec<_> = grants.into_iter().filter(|grant| grant.member == member).collect();
        if !is_full && own.len() < Self::MAX_OF_MEMBER {
            return Self::Free;
        }
        own.sort_by_key(|grant| (grant.idle_since(), grant.created_at, grant.id));
        own.into_iter().next().map_or(Self::Full, |idlest| Self::Ending(Box::new(idlest)))
    }
}

/// A redirect target whose applications may only read, because an owner narrowed one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NarrowedSite {
    /// The target, as [`RedirectUri::site`] names it.
    pub site: String,
    /// The grant that was narrowed.
    pub grant: Id,
    /// The name of its application.
    pub client_name: ClientName,
    /// When it was narrowed.
    pub at: Timestamp,
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
            access: GateHash::of("access"),
            access_expires_at: now,
            previous_access: None,
            family: String::new(),
            refresh: String::new(),
            used: None,
            expires_at: later(now, day * 200),
        });
        assert_eq!(refreshed.tokens.as_ref().unwrap().expires_at, later(now, day * 180));
        assert!(refreshed.is_good(later(now, day * 180 - SignedDuration::from_secs(1))));
        assert!(!refreshed.is_good(later(now, day * 180)));
    }

    #[test]
    fn refresh_tokens_are_current_repeated_reused_or_unknown() {
        let (now, second) = (Timestamp::UNIX_EPOCH, SignedDuration::from_secs(1));
        let used = |hash: &str| UsedRefresh {
            hash: hash.to_owned(),
            until: later(now, second * 60),
            scopes: Scopes::all(),
            audience: Audience::Api,
        };
        let set = |refresh: &str, before: Option<&str>| TokenSet {
            access: GateHash::of("access"),
            access_expires_at: now,
            previous_access: None,
            family: "family".to_owned(),
            refresh: refresh.to_owned(),
            used: before.map(used),
            expires_at: now.saturating_add(TokenSet::REFRESH_LIFE).unwrap(),
        };
        assert_eq!(grant(now).judge_refresh("r1", "family", now), Refresh::Unknown);
        let live = grant(now).with_tokens(set("r3", Some("r2")));
        let last = later(now, second * 59);
        for (hash, family, at, verdict) in [
            ("r3", "family", now, Refresh::Next),
            ("r2", "family", now, Refresh::Again(used("r2"))),
            ("r2", "family", last, Refresh::Again(used("r2"))),
            ("r2", "family", later(last, second), Refresh::Reuse),
            ("r1", "family", now, Refresh::Reuse),
            ("r3", "another", now, Refresh::Unknown),
        ] {
            assert_eq!(live.judge_refresh(hash, family, at), verdict, "{hash} {family} {at}");
        }
        let late = now.saturating_add(TokenSet::REFRESH_LIFE).unwrap();
        assert_eq!(live.judge_refresh("r3", "family", late), Refresh::Unknown);
        assert_eq!(live.revoked(now).judge_refresh("r3", "family", now), Refresh::Unknown);
    }

    #[test]
    fn a_further_grant_ends_the_members_own_that_was_idle_longest() {
        let day = |number: i64| later(Timestamp::UNIX_EPOCH, SignedDuration::from_hours(24 * number));
        let of = |member: u64, id: u64, created: i64, used: Option<i64>| Grant {
            id: Id::new(id).unwrap(),
            member: Id::new(member).unwrap(),
            last_used_on: used.map(|used| Day::of(day(used))),
            ..grant(day(created))
        };
        let many = |member: u64, count: u64| -> Vec<_> {
            (1..=count).map(|id| of(member, 1_000 * member + id, 20, Some(21))).collect()
        };
        let room =
            |grants: &[Vec<Grant>], member| match Room::beside(grants.concat(), Id::new(member).unwrap()) {
                Room::Free => "free".to_owned(),
                Room::Full => "full".to_owned(),
                Room::Ending(grant) => grant.id.to_string(),
            };
        // One was never used, one was used on the day on which the other was made.
        let own = vec![of(1, 1, 6, None), of(1, 2, 1, Some(7)), of(1, 3, 2, Some(5)), of(1, 4, 3, Some(9))];
        assert_eq!(room(&[many(1, 45), own.clone()], 1), "free");
        assert_eq!(room(&[many(1, 46), own.clone()], 1), "3");
        assert_eq!(room(&[many(1, 46), own.clone()], 2), "free");
        let others = [many(5, 50), many(6, 50), many(7, 46)];
        assert_eq!(room(&others, 2), "free");
        let all = [others.concat(), own];
        assert_eq!(room(&all, 2), "full");
        assert_eq!(room(&all, 1), "3");
        let older = vec![of(1, 9, 1, None), of(1, 8, 1, None)];
        assert_eq!(room(&[others.concat(), many(8, 2), older], 1), "8");
    }
}
