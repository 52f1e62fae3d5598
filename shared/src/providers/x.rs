//! X (API v2): how an account is connected, fresh tokens, the account itself, posts and their figures.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use reqwest::{RequestBuilder, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use url::form_urlencoded;

use super::client::{Answer, NoAnswer, Outside};
use crate::config::Addresses;
use crate::model::Metrics;
use crate::secret::Secret;

/// How long an access token lives where X does not say.
const ACCESS_TOKEN_LIFE: u64 = 2 * 60 * 60;
/// How much of X's own words is kept, in characters.
const MAX_WORDS: usize = 200;
/// What an account's owner is asked to allow: posting, figures, the account's name, and all that without them.
const SCOPE: &str = "tweet.read tweet.write users.read offline.access";
const UNREADABLE: Trouble = Trouble::Unknown("it could not be read");

/// X, as one registered app sees it.
#[derive(Clone, Debug)]
pub struct X {
    outside: Outside,
    api_url: String,
    authorize_url: String,
    client_id: String,
    client_secret: Secret,
}

/// What an account's owner has granted.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Opens the account until `expires_at`.
    pub access: Secret,
    /// Good for one refresh.
    pub refresh: Secret,
    /// When the access token is spent.
    pub expires_at: Timestamp,
}

/// An account on X.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// X's id, in digits.
    pub id: String,
    /// The name that is shown.
    pub name: String,
    /// The name in addresses, without the @.
    pub username: String,
}

/// Why X did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// 401: the token is spent or revoked.
    #[error("X no longer accepts the connection")]
    Unauthorized,
    /// 403: the account has posted this text before.
    #[error("X has this text already and does not take it twice")]
    Duplicate,
    /// 429: too many calls.
    #[error("X takes no more calls for now")]
    Limited {
        /// When X takes calls again, where it says so.
        until: Option<Timestamp>,
    },
    /// Another 4xx, with X's own words: at most 200 characters, no control characters.
    #[error("X refused: {0}")]
    Refused(String),
    /// Nothing was sent.
    #[error("X could not be reached")]
    Unreached,
    /// It was sent, and X may have done it.
    #[error("X gave no usable answer: {0}")]
    Unknown(&'static str),
}

impl X {
    /// X at these addresses, for the app with these credentials.
    pub fn new(outside: Outside, addresses: &Addresses, client_id: String, client_secret: Secret) -> Self {
        let (api_url, authorize_url) = (addresses.x.clone(), addresses.x_authorize.clone());
        Self { outside, api_url, authorize_url, client_id, client_secret }
    }

    /// Where an account's owner is sent, to connect it. X sends them back to `redirect_uri` with `state` and a code;
    /// `challenge` is the S256 of the verifier that the code is exchanged with (RFC 7636).
    pub fn authorize_url(&self, redirect_uri: &str, state: &str, challenge: &str) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", SCOPE)
            .append_pair("state", state)
            .append_pair("code_challenge", challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        format!("{}?{query}", self.authorize_url)
    }

    /// A post's public address.
    pub fn post_url(username: &str, id: &str) -> String {
        format!("https://x.com/{username}/status/{id}")
    }

    /// Posts `text`; gives X's id of the post. After `Unknown` the post may be there.
    pub async fn post(&self, access: &Secret, text: &str) -> Result<String, Trouble> {
        let url = format!("{}/2/tweets", self.api_url);
        let request = self.outside.post(&url).bearer_auth(access.expose()).json(&json!({ "text": text }));
        let posted = settle(&self.send(request).await?)?;
        let id = posted.pointer("/data/id").and_then(Value::as_str).filter(|id| is_id(id));
        id.map(str::to_owned).ok_or(UNREADABLE)
    }

    /// The figures of 1 to 100 posts of the token's owner, in one call. What X does not know, or cannot be an id of
    /// X's, is left out.
    pub async fn metrics(
        &self,
        access: &Secret,
        ids: &[String],
    ) -> Result<HashMap<String, Metrics>, Trouble> {
        let ids: Vec<_> = ids.iter().map(String::as_str).filter(|id| is_id(id)).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let (api_url, ids) = (&self.api_url, ids.join(","));
        let url = format!("{api_url}/2/tweets?ids={ids}&tweet.fields=public_metrics,non_public_metrics");
        let answer = settle(&self.send(self.outside.get(&url).bearer_auth(access.expose())).await?)?;
        match (answer.get("data"), answer.get("errors")) {
            (Some(Value::Array(posts)), _) => Ok(posts.iter().filter_map(read_metrics).collect()),
            (None | Some(Value::Null), Some(_)) => Ok(HashMap::new()),
            _ => Err(UNREADABLE),
        }
    }

    /// The account of the token's owner.
    pub async fn account(&self, access: &Secret) -> Result<Account, Trouble> {
        let url = format!("{}/2/users/me", self.api_url);
        let mut answer = settle(&self.send(self.outside.get(&url).bearer_auth(access.expose())).await?)?;
        let account = answer.get_mut("data").map(Value::take).unwrap_or_default();
        let account: Account = serde_json::from_value(account).map_err(|_| UNREADABLE)?;
        // Both become parts of addresses.
        let in_username = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let sound =
            is_id(&account.id) && !account.username.is_empty() && account.username.bytes().all(in_username);
        if sound { Ok(account) } else { Err(UNREADABLE) }
    }

    /// The origin of that page, for a policy that lets a form lead there.
    pub fn authorize_origin(&self) -> String {
        Url::parse(&self.authorize_url)
            .map_or_else(|_| String::new(), |url| url.origin().ascii_serialization())
    }

    /// Exchanges the code that X sent back for the account's first tokens; it lives for 30 seconds. `Unauthorized`
    /// says that it is spent, too old, or of another redirect address or verifier.
    pub async fn exchange(
        &self,
        code: &str,
        redirect_uri: &str,
        verifier: &Secret,
        now: Timestamp,
    ) -> Result<Tokens, Trouble> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier.expose()),
        ];
        let granted = self.grant(&form).await?;
        let refresh = token(&granted, "refresh_token").ok_or(UNREADABLE)?;
        tokens(&granted, refresh, now)
    }

    /// Exchanges a refresh token for new tokens; the old one is spent. `Unauthorized` says that it was spent or
    /// revoked before, and only the account's owner can connect it again.
    pub async fn refresh(&self, refresh: &Secret, now: Timestamp) -> Result<Tokens, Trouble> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.expose())];
        let granted = self.grant(&form).await?;
        tokens(&granted, token(&granted, "refresh_token").unwrap_or_else(|| refresh.clone()), now)
    }

    /// What the token endpoint grants for `form`.
    async fn grant(&self, form: &[(&str, &str)]) -> Result<Value, Trouble> {
        let url = format!("{}/2/oauth2/token", self.api_url);
        let request = self.outside.post(&url).basic_auth(&self.client_id, Some(self.client_secret.expose()));
        let answer = self.send(request.form(form)).await?;
        // Here a 401 may also mean that the app's own credentials are wrong, which no new connection would mend.
        if matches!(answer.status, StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED) {
            let said = read(&answer);
            return Err(match said.get("error").and_then(Value::as_str) {
                Some("invalid_grant" | "invalid_request") => Trouble::Unauthorized,
                _ => refused(&answer, &said),
            });
        }
        settle(&answer)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answer, Trouble> {
        self.outside.send(request).await.map_err(|none| match none {
            NoAnswer::Unreached => Trouble::Unreached,
            NoAnswer::Lost => Trouble::Unknown("it did not come whole or in time"),
            NoAnswer::TooLong => Trouble::Unknown("it was too long"),
        })
    }
}

/// A token of a grant; `None` where there is none.
fn token(granted: &Value, name: &str) -> Option<Secret> {
    granted.get(name).and_then(Value::as_str).filter(|token| !token.is_empty()).map(Secret::new)
}

fn tokens(granted: &Value, refresh: Secret, now: Timestamp) -> Result<Tokens, Trouble> {
    let life = granted.get("expires_in").and_then(Value::as_u64).unwrap_or(ACCESS_TOKEN_LIFE);
    let life = SignedDuration::from_secs(i64::try_from(life).unwrap_or(i64::MAX));
    Ok(Tokens {
        access: token(granted, "access_token").ok_or(UNREADABLE)?,
        refresh,
        expires_at: now.checked_add(life).unwrap_or(Timestamp::MAX),
    })
}

/// What a 2xx says, or the trouble that any other answer means.
fn settle(answer: &Answer) -> Result<Value, Trouble> {
    let said = read(answer);
    match answer.status.as_u16() {
        200..300 if said.is_object() => Ok(said),
        200..300 => Err(UNREADABLE),
        401 => Err(Trouble::Unauthorized),
        403 if speaks_of_duplicate(&said) => Err(Trouble::Duplicate),
        429 => Err(Trouble::Limited { until: reset(answer) }),
        400..500 => Err(refused(answer, &said)),
        500.. => Err(Trouble::Unknown("X failed")),
        _ => Err(Trouble::Unknown("it was neither yes nor no")),
    }
}

/// The body as JSON; null where it is none.
fn read(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

fn speaks_of_duplicate(said: &Value) -> bool {
    let detail = said.get("detail").and_then(Value::as_str).unwrap_or_default();
    detail.to_ascii_lowercase().contains("duplicate")
}

fn reset(answer: &Answer) -> Option<Timestamp> {
    let seconds = answer.headers.get("x-rate-limit-reset")?.to_str().ok()?.parse().ok()?;
    Timestamp::from_second(seconds).ok()
}

/// X's words for people: a problem's title and detail, or those of an OAuth error.
fn refused(answer: &Answer, said: &Value) -> Trouble {
    let words =
        ["title", "detail", "error", "error_description"].map(|name| said.get(name).and_then(Value::as_str));
    let words: Vec<_> = words.into_iter().flatten().collect();
    let words = if words.is_empty() { answer.status.to_string() } else { words.join(": ") };
    Trouble::Refused(words.chars().filter(|c| !c.is_control()).take(MAX_WORDS).collect())
}

fn read_metrics(post: &Value) -> Option<(String, Metrics)> {
    let id = post.get("id")?.as_str()?.to_owned();
    let count = |group: &str, name: &str| post.get(group)?.get(name)?.as_u64();
    let public = |name| count("public_metrics", name);
    let metrics = Metrics {
        likes: public("like_count"),
        reposts: public("repost_count").or_else(|| public("retweet_count")),
        replies: public("reply_count"),
        link_clicks: count("non_public_metrics", "url_link_clicks"),
    };
    Some((id, metrics))
}

fn is_id(id: &str) -> bool {
    (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::stand_in::{NOWHERE, Play, Request, StandIn};
    use proptest::prelude::*;
    use reqwest::header::{HeaderMap, HeaderValue};

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
    const CALLBACK: &str = "https://rolecall.example/x/callback";
    const TEXT: &str = "We hire: \"Crab\" & 🦀\nhttps://jobs.example/careers/acme/crab?a=1";
    const POSTED: &str =
        r#"{"data": {"id": "1900000000000000001", "text": "...", "edit_history_tweet_ids": []}}"#;
    const ME: &str =
        r#"{"data": {"id": "42", "name": "Acme 🦀", "username": "acme_jobs", "verified": null}}"#;
    const GRANTED: &str = r#"{"token_type": "bearer", "expires_in": 7200, "access_token": "access-2",
        "refresh_token": "refresh-2", "scope": "tweet.read tweet.write users.read offline.access"}"#;

    fn x(url: &str) -> X {
        let addresses = Addresses { x: url.to_owned(), ..Addresses::default() };
        X::new(Outside::new().unwrap(), &addresses, "client".to_owned(), Secret::new("s3cret"))
    }

    fn access() -> Secret {
        Secret::new("access-1")
    }

    async fn posted(play: &Play) -> Result<String, Trouble> {
        let stand_in = StandIn::playing(play).await;
        let result = x(&stand_in.url).post(&access(), TEXT).await;
        let request = stand_in.request();
        assert_eq!(request.line, "POST /2/tweets HTTP/1.1");
        assert_eq!(request.header("authorization"), "Bearer access-1");
        assert_eq!(request.header("content-type"), "application/json");
        assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap(), json!({ "text": TEXT }));
        result
    }

    fn assert_reads(request: &Request, target: &str) {
        assert_eq!(request.line, format!("GET {target} HTTP/1.1"));
        assert_eq!(request.header("authorization"), "Bearer access-1");
        assert_eq!(request.body, "");
    }

    async fn measured(play: &Play) -> Result<HashMap<String, Metrics>, Trouble> {
        let stand_in = StandIn::playing(play).await;
        let ids =
            ["7", "12345678901234567890", "no&id", "", "123456789012345678901", "٣", "8"].map(str::to_owned);
        let result = x(&stand_in.url).metrics(&access(), &ids).await;
        assert_reads(
            &stand_in.request(),
            "/2/tweets?ids=7,12345678901234567890,8&tweet.fields=public_metrics,non_public_metrics",
        );
        result
    }

    async fn introduced(play: &Play) -> Result<Account, Trouble> {
        let stand_in = StandIn::playing(play).await;
        let result = x(&stand_in.url).account(&access()).await;
        assert_reads(&stand_in.request(), "/2/users/me");
        result
    }

    fn assert_asks_for_tokens(request: &Request, form: &str) {
        assert_eq!(request.line, "POST /2/oauth2/token HTTP/1.1");
        assert_eq!(request.header("authorization"), "Basic Y2xpZW50OnMzY3JldA==");
        assert_eq!(request.header("content-type"), "application/x-www-form-urlencoded");
        assert_eq!(request.body, form);
    }

    async fn exchanged(play: &Play) -> Result<Tokens, Trouble> {
        let stand_in = StandIn::playing(play).await;
        let verifier = Secret::new("verifier-._~1");
        let result = x(&stand_in.url).exchange("code+1/=&", CALLBACK, &verifier, NOW).await;
        assert_asks_for_tokens(
            &stand_in.request(),
            "grant_type=authorization_code&code=code%2B1%2F%3D%26&redirect_uri=https%3A%2F%2Frolecall.example\
             %2Fx%2Fcallback&code_verifier=verifier-._%7E1",
        );
        result
    }

    async fn refreshed(play: &Play) -> Result<Tokens, Trouble> {
        let stand_in = StandIn::playing(play).await;
        let result = x(&stand_in.url).refresh(&Secret::new("refresh+1/="), NOW).await;
        let form = "grant_type=refresh_token&refresh_token=refresh%2B1%2F%3D";
        assert_asks_for_tokens(&stand_in.request(), form);
        result
    }

    /// The trouble that each of the five calls has with the same answer.
    async fn troubles(play: &Play) -> [Option<Trouble>; 5] {
        [
            posted(play).await.err(),
            measured(play).await.err(),
            introduced(play).await.err(),
            refreshed(play).await.err(),
            exchanged(play).await.err(),
        ]
    }

    /// Access token, refresh token, and the access token's life in seconds.
    fn shown(Tokens { access, refresh, expires_at }: &Tokens) -> (&str, &str, i64) {
        (access.expose(), refresh.expose(), expires_at.as_second() - NOW.as_second())
    }

    #[test]
    fn an_owner_is_asked_with_every_parameter_and_may_inject_none() {
        let query = "?response_type=code&client_id=client&redirect_uri=https%3A%2F%2Frolecall.example%2Fx%2Fcallback\
            &scope=tweet.read+tweet.write+users.read+offline.access&state=st%26ate%3D1%2B%23&code_challenge=chal-_1\
            &code_challenge_method=S256";
        let asked = |x: &X| x.authorize_url(CALLBACK, "st&ate=1+#", "chal-_1");
        assert_eq!(asked(&x(NOWHERE)), format!("https://x.com/i/oauth2/authorize{query}"));
        let elsewhere = X { authorize_url: "http://127.0.0.1:1/authorize".to_owned(), ..x(NOWHERE) };
        assert_eq!(asked(&elsewhere), format!("http://127.0.0.1:1/authorize{query}"));
    }

    #[tokio::test]
    async fn a_code_gives_both_tokens_or_none() {
        let tokens = exchanged(&Play::json(200, GRANTED)).await.unwrap();
        assert_eq!(shown(&tokens), ("access-2", "refresh-2", 7200));
        let without_life = r#"{"access_token": "a", "refresh_token": "r"}"#;
        assert_eq!(shown(&exchanged(&Play::json(200, without_life)).await.unwrap()), ("a", "r", 7200));
        for half in [
            r#"{"access_token": "a"}"#,
            r#"{"access_token": "a", "refresh_token": ""}"#,
            r#"{"refresh_token": "r"}"#,
            r#"{"access_token": "", "refresh_token": "r"}"#,
            r#"{"access_token": 1, "refresh_token": 2}"#,
        ] {
            assert_eq!(exchanged(&Play::json(200, half)).await.err(), Some(UNREADABLE), "{half}");
        }
    }

    #[tokio::test]
    async fn a_post_gets_the_id_that_x_gives_it() {
        assert_eq!(posted(&Play::json(201, POSTED)).await, Ok("1900000000000000001".to_owned()));
        assert_eq!(X::post_url("acme_jobs", "19"), "https://x.com/acme_jobs/status/19");
        for id in [r#""""#, r#""1/../2""#, r#""123456789012345678901""#, "19", "null"] {
            let body = format!(r#"{{"data": {{"id": {id}, "text": "..."}}}}"#);
            assert_eq!(posted(&Play::json(201, &body)).await, Err(UNREADABLE), "{id}");
        }
    }

    #[tokio::test]
    async fn figures_are_read_in_their_older_and_newer_form() {
        let body = r#"{"data": [
            {"id": "7", "text": "new", "non_public_metrics": {"url_link_clicks": 5, "impression_count": 9},
             "public_metrics": {"like_count": 4, "repost_count": 3, "reply_count": 2, "quote_count": 1}},
            {"id": "8", "text": "old", "public_metrics": {"like_count": 1, "retweet_count": 0, "reply_count": -1}},
            {"text": "nameless"}, 17],
            "errors": [{"value": "12345678901234567890", "parameter": "ids", "resource_type": "tweet",
                        "title": "Not Found Error", "type": "https://api.x.com/2/problems/resource-not-found"}]}"#;
        let new = Metrics { likes: Some(4), reposts: Some(3), replies: Some(2), link_clicks: Some(5) };
        let old = Metrics { likes: Some(1), reposts: Some(0), replies: None, link_clicks: None };
        let expected = HashMap::from([("7".to_owned(), new), ("8".to_owned(), old)]);
        assert_eq!(measured(&Play::json(200, body)).await, Ok(expected));
        for all_deleted in
            [r#"{"errors": [{"value": "7"}]}"#, r#"{"data": null, "errors": []}"#, r#"{"data": []}"#]
        {
            assert_eq!(measured(&Play::json(200, all_deleted)).await, Ok(HashMap::new()), "{all_deleted}");
        }
        assert_eq!(measured(&Play::json(200, "{}")).await, Err(UNREADABLE));
        let unasked = x(NOWHERE).metrics(&access(), &["no id".to_owned()]).await;
        assert_eq!(unasked, Ok(HashMap::new()));
    }

    #[tokio::test]
    async fn an_account_has_an_id_and_a_username_fit_for_addresses() {
        let account = introduced(&Play::json(200, ME)).await.unwrap();
        assert_eq!((account.id.as_str(), account.name.as_str()), ("42", "Acme 🦀"));
        assert_eq!(account.username, "acme_jobs");
        for (good, bad) in
            [("42", "4/2"), ("acme_jobs", ""), ("acme_jobs", "acme/../x"), ("username", "user")]
        {
            let body = ME.replace(good, bad);
            assert_eq!(introduced(&Play::json(200, &body)).await, Err(UNREADABLE), "{body}");
        }
    }

    #[tokio::test]
    async fn a_refresh_gives_both_tokens_and_keeps_what_x_leaves_out() {
        let given = async |body: &str| {
            let tokens = refreshed(&Play::json(200, body)).await?;
            let (access, refresh, life) = shown(&tokens);
            Ok((access.to_owned(), refresh.to_owned(), life))
        };
        let tokens = |refresh: &str, life| Ok(("access-2".to_owned(), refresh.to_owned(), life));
        let without_refresh = GRANTED.replace(r#""refresh_token": "refresh-2","#, "");
        assert_eq!(given(GRANTED).await, tokens("refresh-2", 7200));
        assert_eq!(given(&without_refresh).await, tokens("refresh+1/=", 7200));
        assert_eq!(
            given(r#"{"access_token": "access-2", "refresh_token": ""}"#).await,
            tokens("refresh+1/=", 7200)
        );
        let forever = GRANTED.replace("7200", &u64::MAX.to_string());
        let to_the_end = Timestamp::MAX.as_second() - NOW.as_second();
        assert_eq!(given(&forever).await, tokens("refresh-2", to_the_end));
        assert_eq!(given(r#"{"refresh_token": "refresh-2"}"#).await, Err(UNREADABLE));
    }

    #[tokio::test]
    async fn a_spent_token_is_unauthorized() {
        let problem =
            r#"{"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}"#;
        let refused = Trouble::Refused("Unauthorized: Unauthorized".to_owned());
        let [post, metrics, account, refresh, exchange] = troubles(&Play::json(401, problem)).await;
        assert_eq!([post, metrics, account], [const { Some(Trouble::Unauthorized) }; 3]);
        assert_eq!([refresh, exchange], [Some(refused.clone()), Some(refused)], "the app itself was refused");
        for (status, error) in [(400, "invalid_request"), (400, "invalid_grant"), (401, "invalid_grant")] {
            let body = format!(r#"{{"error": "{error}", "error_description": "the token was invalid"}}"#);
            let play = Play::json(status, &body);
            for met in [refreshed(&play).await, exchanged(&play).await] {
                assert_eq!(met.err(), Some(Trouble::Unauthorized), "{error}");
            }
        }
        let body =
            r#"{"error": "unauthorized_client", "error_description": "Missing valid authorization header"}"#;
        let expected = "unauthorized_client: Missing valid authorization header".to_owned();
        assert_eq!(refreshed(&Play::json(401, body)).await.err(), Some(Trouble::Refused(expected)));
    }

    #[tokio::test]
    async fn a_refusal_says_what_x_says() {
        let duplicate = r#"{"title": "Forbidden", "status": 403, "type": "about:blank",
            "detail": "You are not allowed to create a Tweet with duplicate content."}"#;
        assert_eq!(posted(&Play::json(403, duplicate)).await, Err(Trouble::Duplicate));
        for (status, body, words) in [
            (
                403,
                r#"{"title": "Forbidden", "detail": "Not permitted.", "status": 403}"#,
                "Forbidden: Not permitted.",
            ),
            (402, r#"{"title": "CreditsDepleted", "account_id": 1}"#, "CreditsDepleted"),
            (400, r#"{"detail": "too\u001b[31m long\n", "errors": [{}]}"#, "too[31m long"),
            (404, "", "404 Not Found"),
            (403, "<html>duplicate</html>", "403 Forbidden"),
        ] {
            for met in troubles(&Play::json(status, body)).await {
                assert_eq!(met, Some(Trouble::Refused(words.to_owned())));
            }
        }
    }

    #[tokio::test]
    async fn every_fault_is_told_apart_on_every_call() {
        let limited = |headers: &str| Play::answer(429, headers, r#"{"title": "Too Many Requests"}"#);
        let until = Some(Timestamp::constant(1_800_000_900, 0));
        for (play, trouble) in [
            (limited("x-rate-limit-reset: 1800000900\r\n"), Trouble::Limited { until }),
            (limited(""), Trouble::Limited { until: None }),
            (limited("x-rate-limit-reset: soon\r\n"), Trouble::Limited { until: None }),
            (limited("x-rate-limit-reset: 9223372036854775807\r\n"), Trouble::Limited { until: None }),
            (Play::json(500, POSTED), Trouble::Unknown("X failed")),
            (Play::html(503), Trouble::Unknown("X failed")),
            (Play::html(200), UNREADABLE),
            (Play::json(200, ""), UNREADABLE),
            (Play::json(200, r#"{"data": {"id": "19"#), UNREADABLE),
            (Play::json(200, "[]"), UNREADABLE),
            (Play::nothing(), Trouble::Unknown("it did not come whole or in time")),
            (Play::half(200, POSTED), Trouble::Unknown("it did not come whole or in time")),
            (Play::redirect(), Trouble::Unknown("it was neither yes nor no")),
            (Play::long(200, POSTED), Trouble::Unknown("it was too long")),
        ] {
            for met in troubles(&play).await {
                assert_eq!(met.as_ref(), Some(&trouble));
            }
        }
    }

    #[tokio::test]
    async fn a_hang_ends_and_leaves_open_what_was_done() {
        assert_eq!(posted(&Play::Hang).await, Err(Trouble::Unknown("it did not come whole or in time")));
    }

    #[tokio::test]
    async fn nothing_is_sent_to_nobody_nor_with_a_token_that_is_none() {
        assert_eq!(x(NOWHERE).post(&access(), TEXT).await, Err(Trouble::Unreached));
        let stand_in = StandIn::playing(&Play::json(201, POSTED)).await;
        let split = x(&stand_in.url).post(&Secret::new("a\r\nx-more: b"), TEXT).await;
        assert_eq!(split, Err(Trouble::Unreached));
    }

    #[test]
    fn nothing_secret_is_shown() {
        let shown = format!("{:?}", x("https://api.x.com"));
        assert!(shown.contains("client_id: \"client\"") && !shown.contains("s3cret"), "{shown}");
    }

    proptest! {
        #[test]
        fn whatever_x_answers_its_words_are_short_and_plain(
            status in 200u16..600, title: String, detail in "(?s).{0,300}", cut in 0usize..400, reset in "\\PC{0,20}",
        ) {
            let mut body = json!({ "title": title, "detail": detail }).to_string().into_bytes();
            body.truncate(body.len().saturating_sub(cut.saturating_sub(200)));
            let headers = HeaderValue::from_str(&reset).map(|reset| ("x-rate-limit-reset".parse().unwrap(), reset));
            let headers: HeaderMap = headers.into_iter().collect();
            let status = StatusCode::from_u16(status).unwrap();
            match settle(&Answer { status, headers, body: body.into() }) {
                Ok(said) => prop_assert!(status.is_success() && said.is_object()),
                Err(Trouble::Refused(words)) => {
                    prop_assert!(status.is_client_error());
                    prop_assert!(words.chars().count() <= 200 && !words.chars().any(char::is_control));
                }
                Err(_) => {}
            }
        }
    }
}
