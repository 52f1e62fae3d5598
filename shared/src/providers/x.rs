//! A client for X's API v2: authorization, tokens, accounts, posts and their metrics.

use std::collections::HashMap;

use jiff::SignedDuration;
use reqwest::{RequestBuilder, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use url::form_urlencoded;

use super::client::{HttpClient, Provider, RequestError, Response};
use crate::clock::Timestamp;
use crate::config::Addresses;
use crate::model::Metrics;
use crate::secret::Secret;

/// The default lifetime of an access token, in seconds.
const ACCESS_TOKEN_LIFE: u64 = 2 * 60 * 60;
/// The maximum length of an error message from X, in characters.
const MAX_MESSAGE: usize = 200;
/// The scopes to request: posting, metrics, the account's name, and offline access.
const SCOPE: &str = "tweet.read tweet.write users.read offline.access";
const UNREADABLE: XError = XError::Unknown("it could not be read");

/// The parameter that names the fields of posts.
const FIELDS: &str = "post.fields";
/// Its name until July 2026. X still understands both, and its documentation has only the new one.
const OLD_FIELDS: &str = "tweet.fields";
/// The limits that X counts: of an account or app in 15 minutes, of the app in a day, and of an account in a day.
const LIMITS: [&str; 3] = ["x-rate-limit", "x-app-limit-24hour", "x-user-limit-24hour"];

/// A client for X's API, with the credentials of one app.
#[derive(Clone, Debug)]
pub struct X {
    http: HttpClient,
    api_url: String,
    authorize_url: String,
    client_id: String,
    client_secret: Secret,
}

/// The tokens of an account.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The access token, valid until `expires_at`.
    pub access: Secret,
    /// The refresh token, valid for one refresh.
    pub refresh: Secret,
    /// When the access token expires.
    pub expires_at: Timestamp,
}

/// An account on X.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// The account's id on X, which consists of digits.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The username, without the @.
    pub username: String,
}

/// Why a request to X failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XError {
    /// 401: the token has expired or was revoked.
    #[error("X no longer accepts the account's tokens")]
    Unauthorized,
    /// 403: the account has already posted this text.
    #[error("X rejected the text as a duplicate")]
    Duplicate,
    /// 429: too many requests.
    #[error("X's rate limit is reached")]
    Limited {
        /// When X accepts requests again, if known.
        until: Option<Timestamp>,
    },
    /// 402, or 403 for the whole app: the operator's account at X has no credits, or the app may not use the API.
    #[error("This service may not post to X at present; its administrator has been told")]
    Blocked,
    /// Another 4xx status, with X's own message: at most 200 characters, no control characters. Only
    /// [`sentence`](Self::sentence) contains the message, because it must not be logged.
    #[error("X rejected the request")]
    Refused(String),
    /// Nothing was sent.
    #[error("X could not be reached")]
    Unreached,
    /// The request was sent, and X may have carried it out.
    #[error("X's response was unusable: {0}")]
    Unknown(&'static str),
}

impl XError {
    /// The error as a sentence for the organization, with X's own message.
    pub fn sentence(&self) -> String {
        match self {
            Self::Refused(message) => format!("{self}: {message}"),
            _ => self.to_string(),
        }
    }
}

impl X {
    /// Creates a client for X at these URLs, with the credentials of an app.
    pub fn new(http: HttpClient, addresses: &Addresses, client_id: String, client_secret: Secret) -> Self {
        let (api_url, authorize_url) = (addresses.x.clone(), addresses.x_authorize.clone());
        Self { http: http.of(Provider::X), api_url, authorize_url, client_id, client_secret }
    }

    /// The URL of X's consent page. X redirects the account's owner back to `redirect_uri` with `state` and a code.
    /// `challenge` is the S256 challenge of the verifier for the code exchange (RFC 7636).
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

    /// The public URL of a post.
    pub fn post_url(username: &str, id: &str) -> String {
        format!("https://x.com/{username}/status/{id}")
    }

    /// Publishes a post with this text and returns X's id for it. If the error is `Unknown`, the post may have been
    /// published.
    pub async fn post(&self, access: &Secret, text: &str) -> Result<String, XError> {
        let url = format!("{}/2/tweets", self.api_url);
        let request = self.http.post(&url).bearer_auth(access.expose()).json(&json!({ "text": text }));
        let body = parse(&self.send(request).await?)?;
        let id = body.pointer("/data/id").and_then(Value::as_str).filter(|id| is_id(id));
        id.map(str::to_owned).ok_or(UNREADABLE)
    }

    /// Reads the public metrics of 1 to 100 posts, in one request. The result omits malformed ids and ids that X does not
    /// have.
    pub async fn metrics(&self, access: &Secret, ids: &[String]) -> Result<HashMap<String, Metrics>, XError> {
        let posts = self.posts(access, ids, "public_metrics").await?;
        Ok(posts.iter().filter_map(parse_metrics).collect())
    }

    /// Reads the clicks on the links in 1 to 100 posts, in one request. X counts them for 30 days, and shows them only to
    /// the account that posted. It omits every other post, with all its fields, so nothing else is read here.
    pub async fn link_clicks(&self, access: &Secret, ids: &[String]) -> Result<HashMap<String, u64>, XError> {
        let posts = self.posts(access, ids, "non_public_metrics").await?;
        Ok(posts
            .iter()
            .filter_map(|post| Some((post_id(post)?, count(post, "non_public_metrics", "url_link_clicks")?)))
            .collect())
    }

    /// Reads these fields of posts.
    async fn posts(&self, access: &Secret, ids: &[String], fields: &str) -> Result<Vec<Value>, XError> {
        let ids: Vec<_> = ids.iter().map(String::as_str).filter(|id| is_id(id)).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let (api_url, ids) = (&self.api_url, ids.join(","));
        let get = async |parameter: &str| {
            let url = format!("{api_url}/2/tweets?ids={ids}&{parameter}={fields}");
            self.send(self.http.get(&url).bearer_auth(access.expose())).await
        };
        let mut response = get(FIELDS).await?;
        if response.status == StatusCode::BAD_REQUEST {
            response = get(OLD_FIELDS).await?;
        }
        let mut body = parse(&response)?;
        let has_errors = body.get("errors").is_some();
        match body.get_mut("data").map(Value::take) {
            Some(Value::Array(posts)) => Ok(posts),
            None | Some(Value::Null) if has_errors => Ok(Vec::new()),
            _ => Err(UNREADABLE),
        }
    }

    /// Reads the account of the token's owner.
    pub async fn account(&self, access: &Secret) -> Result<Account, XError> {
        let url = format!("{}/2/users/me", self.api_url);
        let mut body = parse(&self.send(self.http.get(&url).bearer_auth(access.expose())).await?)?;
        let account = body.get_mut("data").map(Value::take).unwrap_or_default();
        let account: Account = serde_json::from_value(account).map_err(|_| UNREADABLE)?;
        // Id and username become parts of URLs.
        let in_username = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_valid =
            is_id(&account.id) && !account.username.is_empty() && account.username.bytes().all(in_username);
        if is_valid { Ok(account) } else { Err(UNREADABLE) }
    }

    /// The origin of X's consent page, for the `form-action` directive of a content security policy.
    pub fn authorize_origin(&self) -> String {
        Url::parse(&self.authorize_url)
            .map_or_else(|_| String::new(), |url| url.origin().ascii_serialization())
    }

    /// Exchanges the code from X's redirect, which is valid for 30 seconds, for the account's first tokens. `Unauthorized`
    /// means that the code was used, has expired, or belongs to another redirect URI or verifier.
    pub async fn exchange(
        &self,
        code: &str,
        redirect_uri: &str,
        verifier: &Secret,
        now: Timestamp,
    ) -> Result<Tokens, XError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier.expose()),
        ];
        let grant = self.grant(&form).await?;
        let refresh = token(&grant, "refresh_token").ok_or(UNREADABLE)?;
        tokens(&grant, refresh, now)
    }

    /// Exchanges a refresh token, which can be used once, for new tokens. `Unauthorized` means that it was used or
    /// revoked before, so the account's owner must connect it again.
    pub async fn refresh(&self, refresh: &Secret, now: Timestamp) -> Result<Tokens, XError> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.expose())];
        let grant = self.grant(&form).await?;
        tokens(&grant, token(&grant, "refresh_token").unwrap_or_else(|| refresh.clone()), now)
    }

    /// Revokes a token, so that X no longer accepts it.
    pub async fn revoke(&self, token: &Secret) -> Result<(), XError> {
        parse(&self.send_as_app("revoke", &[("token", token.expose())]).await?).map(|_| ())
    }

    /// Sends `form` to an OAuth endpoint, with the app's credentials.
    async fn send_as_app(&self, endpoint: &str, form: &[(&str, &str)]) -> Result<Response, XError> {
        let url = format!("{}/2/oauth2/{endpoint}", self.api_url);
        let request = self.http.post(&url).basic_auth(&self.client_id, Some(self.client_secret.expose()));
        self.send(request.form(form)).await
    }

    /// Sends `form` to the token endpoint and returns the response's JSON.
    async fn grant(&self, form: &[(&str, &str)]) -> Result<Value, XError> {
        let response = self.send_as_app("token", form).await?;
        // A 401 from this endpoint may also mean that the app's credentials are wrong. Reconnecting would not fix that.
        if matches!(response.status, StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED) {
            let body = json_body(&response);
            return Err(match body.get("error").and_then(Value::as_str) {
                Some("invalid_grant" | "invalid_request") => XError::Unauthorized,
                _ => refused(&response, &body),
            });
        }
        parse(&response)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, XError> {
        self.http.send(request).await.map_err(|error| match error {
            RequestError::Unreached => XError::Unreached,
            RequestError::Lost => XError::Unknown("it was incomplete or too late"),
            RequestError::TooLong => XError::Unknown("it was too long"),
        })
    }
}

/// The token with this name in a grant; `None` if it is missing or empty.
fn token(grant: &Value, name: &str) -> Option<Secret> {
    grant.get(name).and_then(Value::as_str).filter(|token| !token.is_empty()).map(Secret::new)
}

fn tokens(grant: &Value, refresh: Secret, now: Timestamp) -> Result<Tokens, XError> {
    let life = grant.get("expires_in").and_then(Value::as_u64).unwrap_or(ACCESS_TOKEN_LIFE);
    let life = SignedDuration::from_secs(i64::try_from(life).unwrap_or(i64::MAX));
    Ok(Tokens {
        access: token(grant, "access_token").ok_or(UNREADABLE)?,
        refresh,
        expires_at: now.checked_add(life).unwrap_or(Timestamp::MAX),
    })
}

/// Returns the JSON object of a successful response, or the error that the response represents.
fn parse(response: &Response) -> Result<Value, XError> {
    let body = json_body(response);
    match response.status.as_u16() {
        200..300 if body.is_object() => Ok(body),
        200..300 => Err(UNREADABLE),
        401 => Err(XError::Unauthorized),
        402 => Err(blocked(response)),
        403 if is_about_the_app(&body) => Err(blocked(response)),
        403 if reports_duplicate(&body) => Err(XError::Duplicate),
        429 => Err(XError::Limited { until: limit_reset(response) }),
        400..500 => Err(refused(response, &body)),
        500.. => Err(XError::Unknown("it was a server error")),
        _ => Err(XError::Unknown("its status was unexpected")),
    }
}

/// The body as JSON; null if it is not JSON.
fn json_body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_default()
}

fn reports_duplicate(body: &Value) -> bool {
    let detail = body.get("detail").and_then(Value::as_str).unwrap_or_default();
    detail.to_ascii_lowercase().contains("duplicate")
}

/// Whether X refuses the app, and not only this request.
fn is_about_the_app(body: &Value) -> bool {
    let kind = body.get("type").and_then(Value::as_str).unwrap_or_default();
    kind.ends_with("/client-forbidden")
}

/// The error of an app that X does not serve. Its message names the operator's account at X, so it is neither logged nor
/// shown. The line of the log raises an alarm.
fn blocked(response: &Response) -> XError {
    tracing::error!(
        status = response.status.as_u16(),
        "X does not serve this service's app: look at its credits and its access in X's developer console"
    );
    XError::Blocked
}

/// When X accepts requests again: when the last of the limits that are used up is reset. If X does not say which they are,
/// the limit of 15 minutes counts.
fn limit_reset(response: &Response) -> Option<Timestamp> {
    let number = |limit: &str, name: &str| {
        let value = response.headers.get(format!("{limit}-{name}"))?;
        str::from_utf8(value.as_bytes()).ok()?.parse::<i64>().ok()
    };
    let reset = |limit: &str| Timestamp::from_second(number(limit, "reset")?).ok();
    let used_up = LIMITS.into_iter().filter(|limit| number(limit, "remaining") == Some(0));
    used_up.filter_map(reset).max().or_else(|| reset(LIMITS[0]))
}

/// The error with X's own message: the title and detail of a problem, or the code and description of an OAuth error.
fn refused(response: &Response, body: &Value) -> XError {
    let parts =
        ["title", "detail", "error", "error_description"].map(|name| body.get(name).and_then(Value::as_str));
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let message = if parts.is_empty() { response.status.to_string() } else { parts.join(": ") };
    XError::Refused(message.chars().filter(|c| !c.is_control()).take(MAX_MESSAGE).collect())
}

fn post_id(post: &Value) -> Option<String> {
    post.get("id")?.as_str().map(str::to_owned)
}

fn count(post: &Value, group: &str, name: &str) -> Option<u64> {
    post.get(group)?.get(name)?.as_u64()
}

fn parse_metrics(post: &Value) -> Option<(String, Metrics)> {
    let id = post_id(post)?;
    if post.get("public_metrics").is_none() {
        // X ignores the names of fields that it does not know.
        tracing::warn!(post = id, "X returned a post without public_metrics");
    }
    let public = |name| count(post, "public_metrics", name);
    let metrics = Metrics {
        likes: public("like_count"),
        reposts: public("repost_count").or_else(|| public("retweet_count")),
        replies: public("reply_count"),
        link_clicks: None,
    };
    Some((id, metrics))
}

fn is_id(id: &str) -> bool {
    // A number of 64 bits has at most 20 digits.
    (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::test_server::{NOWHERE, Play, Request, TestServer};
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
        X::new(HttpClient::new().unwrap(), &addresses, "client".to_owned(), Secret::new("s3cret"))
    }

    fn access() -> Secret {
        Secret::new("access-1")
    }

    async fn post_result(play: &Play) -> Result<String, XError> {
        let test_server = TestServer::playing(play).await;
        let result = x(&test_server.url).post(&access(), TEXT).await;
        let request = test_server.request();
        assert_eq!(request.line, "POST /2/tweets HTTP/1.1");
        assert_eq!(request.header("authorization"), "Bearer access-1");
        assert_eq!(request.header("content-type"), "application/json");
        assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap(), json!({ "text": TEXT }));
        result
    }

    fn assert_get_request(request: &Request, target: &str) {
        assert_eq!(request.line, format!("GET {target} HTTP/1.1"));
        assert_eq!(request.header("authorization"), "Bearer access-1");
        assert_eq!(request.body, "");
    }

    /// The ids of posts, of which three are well-formed.
    fn ids() -> [String; 7] {
        ["7", "12345678901234567890", "no&id", "", "123456789012345678901", "٣", "8"].map(str::to_owned)
    }

    /// Asserts that these fields of the three posts were requested: once, or after a 400 again with the parameter's old
    /// name.
    fn assert_posts_request(test_server: &TestServer, play: &Play, fields: &str) {
        let is_repeated = matches!(play, Play::Send(bytes) if bytes.starts_with(b"HTTP/1.1 400"));
        let parameters = if is_repeated { &["post.fields", "tweet.fields"][..] } else { &["post.fields"] };
        let requests = test_server.requests();
        assert_eq!(requests.len(), parameters.len());
        for (request, parameter) in requests.iter().zip(parameters) {
            let target = format!("/2/tweets?ids=7,12345678901234567890,8&{parameter}={fields}");
            assert_get_request(request, &target);
        }
    }

    async fn metrics_result(play: &Play) -> Result<HashMap<String, Metrics>, XError> {
        let test_server = TestServer::playing(play).await;
        let result = x(&test_server.url).metrics(&access(), &ids()).await;
        assert_posts_request(&test_server, play, "public_metrics");
        result
    }

    async fn clicks_result(play: &Play) -> Result<HashMap<String, u64>, XError> {
        let test_server = TestServer::playing(play).await;
        let result = x(&test_server.url).link_clicks(&access(), &ids()).await;
        assert_posts_request(&test_server, play, "non_public_metrics");
        result
    }

    async fn account_result(play: &Play) -> Result<Account, XError> {
        let test_server = TestServer::playing(play).await;
        let result = x(&test_server.url).account(&access()).await;
        assert_get_request(&test_server.request(), "/2/users/me");
        result
    }

    fn assert_app_request(request: &Request, endpoint: &str, form: &str) {
        assert_eq!(request.line, format!("POST /2/oauth2/{endpoint} HTTP/1.1"));
        assert_eq!(request.header("authorization"), "Basic Y2xpZW50OnMzY3JldA==");
        assert_eq!(request.header("content-type"), "application/x-www-form-urlencoded");
        assert_eq!(request.body, form);
    }

    async fn exchange_result(play: &Play) -> Result<Tokens, XError> {
        let test_server = TestServer::playing(play).await;
        let verifier = Secret::new("verifier-._~1");
        let result = x(&test_server.url).exchange("code+1/=&", CALLBACK, &verifier, NOW).await;
        assert_app_request(
            &test_server.request(),
            "token",
            "grant_type=authorization_code&code=code%2B1%2F%3D%26&redirect_uri=https%3A%2F%2Frolecall.example\
             %2Fx%2Fcallback&code_verifier=verifier-._%7E1",
        );
        result
    }

    async fn refresh_result(play: &Play) -> Result<Tokens, XError> {
        let test_server = TestServer::playing(play).await;
        let result = x(&test_server.url).refresh(&Secret::new("refresh+1/="), NOW).await;
        let form = "grant_type=refresh_token&refresh_token=refresh%2B1%2F%3D";
        assert_app_request(&test_server.request(), "token", form);
        result
    }

    async fn revoke_result(play: &Play) -> Result<(), XError> {
        let test_server = TestServer::playing(play).await;
        let result = x(&test_server.url).revoke(&Secret::new("refresh+1/=")).await;
        assert_app_request(&test_server.request(), "revoke", "token=refresh%2B1%2F%3D");
        result
    }

    /// The errors of the seven requests for the same response.
    async fn errors(play: &Play) -> [Option<XError>; 7] {
        [
            post_result(play).await.err(),
            metrics_result(play).await.err(),
            clicks_result(play).await.err(),
            account_result(play).await.err(),
            revoke_result(play).await.err(),
            refresh_result(play).await.err(),
            exchange_result(play).await.err(),
        ]
    }

    /// The access token, the refresh token, and the access token's lifetime in seconds.
    fn parts(Tokens { access, refresh, expires_at }: &Tokens) -> (&str, &str, i64) {
        (access.expose(), refresh.expose(), expires_at.as_second() - NOW.as_second())
    }

    #[test]
    fn the_consent_url_has_every_parameter_and_encodes_their_values() {
        let query = "?response_type=code&client_id=client&redirect_uri=https%3A%2F%2Frolecall.example%2Fx%2Fcallback\
            &scope=tweet.read+tweet.write+users.read+offline.access&state=st%26ate%3D1%2B%23&code_challenge=chal-_1\
            &code_challenge_method=S256";
        let url = |x: &X| x.authorize_url(CALLBACK, "st&ate=1+#", "chal-_1");
        assert_eq!(url(&x(NOWHERE)), format!("https://x.com/i/oauth2/authorize{query}"));
        let elsewhere = X { authorize_url: "http://127.0.0.1:1/authorize".to_owned(), ..x(NOWHERE) };
        assert_eq!(url(&elsewhere), format!("http://127.0.0.1:1/authorize{query}"));
    }

    #[tokio::test]
    async fn a_code_is_exchanged_for_both_tokens_or_none() {
        let tokens = exchange_result(&Play::json(200, GRANTED)).await.unwrap();
        assert_eq!(parts(&tokens), ("access-2", "refresh-2", 7200));
        let without_life = r#"{"access_token": "a", "refresh_token": "r"}"#;
        assert_eq!(parts(&exchange_result(&Play::json(200, without_life)).await.unwrap()), ("a", "r", 7200));
        for incomplete in [
            r#"{"access_token": "a"}"#,
            r#"{"access_token": "a", "refresh_token": ""}"#,
            r#"{"refresh_token": "r"}"#,
            r#"{"access_token": "", "refresh_token": "r"}"#,
            r#"{"access_token": 1, "refresh_token": 2}"#,
        ] {
            assert_eq!(
                exchange_result(&Play::json(200, incomplete)).await.err(),
                Some(UNREADABLE),
                "{incomplete}"
            );
        }
    }

    #[tokio::test]
    async fn posting_returns_the_id_from_x() {
        assert_eq!(post_result(&Play::json(201, POSTED)).await, Ok("1900000000000000001".to_owned()));
        assert_eq!(X::post_url("acme_jobs", "19"), "https://x.com/acme_jobs/status/19");
        for id in [r#""""#, r#""1/../2""#, r#""123456789012345678901""#, "19", "null"] {
            let body = format!(r#"{{"data": {{"id": {id}, "text": "..."}}}}"#);
            assert_eq!(post_result(&Play::json(201, &body)).await, Err(UNREADABLE), "{id}");
        }
    }

    #[tokio::test]
    async fn metrics_are_read_in_their_old_and_new_format() {
        let body = r#"{"data": [
            {"id": "7", "text": "new",
             "public_metrics": {"like_count": 4, "repost_count": 3, "reply_count": 2, "quote_count": 1}},
            {"id": "8", "text": "old", "public_metrics": {"like_count": 1, "retweet_count": 0, "reply_count": -1}},
            {"text": "nameless"}, 17, {"id": "9", "text": "bare"}],
            "errors": [{"value": "12345678901234567890", "parameter": "ids", "resource_type": "tweet",
                        "title": "Not Found Error", "type": "https://api.x.com/2/problems/resource-not-found"}]}"#;
        let new = Metrics { likes: Some(4), reposts: Some(3), replies: Some(2), link_clicks: None };
        let old = Metrics { likes: Some(1), reposts: Some(0), replies: None, link_clicks: None };
        let bare = ("9".to_owned(), Metrics::default());
        let expected = HashMap::from([("7".to_owned(), new), ("8".to_owned(), old), bare]);
        assert_eq!(metrics_result(&Play::json(200, body)).await, Ok(expected));
        for all_deleted in
            [r#"{"errors": [{"value": "7"}]}"#, r#"{"data": null, "errors": []}"#, r#"{"data": []}"#]
        {
            assert_eq!(
                metrics_result(&Play::json(200, all_deleted)).await,
                Ok(HashMap::new()),
                "{all_deleted}"
            );
            assert_eq!(clicks_result(&Play::json(200, all_deleted)).await, Ok(HashMap::new()));
        }
        assert_eq!(metrics_result(&Play::json(200, "{}")).await, Err(UNREADABLE));
        assert_eq!(clicks_result(&Play::json(200, "{}")).await, Err(UNREADABLE));
        let unsent = x(NOWHERE).metrics(&access(), &["no id".to_owned()]).await;
        assert_eq!(unsent, Ok(HashMap::new()));
    }

    #[tokio::test]
    async fn clicks_are_read_of_the_posts_that_x_shows() {
        let body = r#"{"data": [
            {"id": "7", "text": "own", "non_public_metrics": {"url_link_clicks": 5, "impression_count": 9}},
            {"id": "9", "text": "without a link", "non_public_metrics": {"impression_count": 9}}],
            "errors": [{"resource_id": "8", "field": "non_public_metrics", "title": "Field Authorization Error",
                        "type": "https://api.x.com/2/problems/not-authorized-for-field"}]}"#;
        assert_eq!(clicks_result(&Play::json(200, body)).await, Ok(HashMap::from([("7".to_owned(), 5)])));
        let unsent = x(NOWHERE).link_clicks(&access(), &["no id".to_owned()]).await;
        assert_eq!(unsent, Ok(HashMap::new()));
    }

    #[tokio::test]
    async fn a_token_is_revoked() {
        assert_eq!(revoke_result(&Play::json(200, r#"{"revoked": true}"#)).await, Ok(()));
    }

    #[tokio::test]
    async fn an_account_needs_an_id_and_a_username_that_are_safe_in_urls() {
        let account = account_result(&Play::json(200, ME)).await.unwrap();
        assert_eq!((account.id.as_str(), account.name.as_str()), ("42", "Acme 🦀"));
        assert_eq!(account.username, "acme_jobs");
        for (valid, invalid) in
            [("42", "4/2"), ("acme_jobs", ""), ("acme_jobs", "acme/../x"), ("username", "user")]
        {
            let body = ME.replace(valid, invalid);
            assert_eq!(account_result(&Play::json(200, &body)).await, Err(UNREADABLE), "{body}");
        }
    }

    #[tokio::test]
    async fn a_refresh_keeps_the_refresh_token_if_x_sends_no_new_one() {
        let refreshed = async |body: &str| {
            let tokens = refresh_result(&Play::json(200, body)).await?;
            let (access, refresh, life) = parts(&tokens);
            Ok((access.to_owned(), refresh.to_owned(), life))
        };
        let tokens = |refresh: &str, life| Ok(("access-2".to_owned(), refresh.to_owned(), life));
        let without_refresh = GRANTED.replace(r#""refresh_token": "refresh-2","#, "");
        assert_eq!(refreshed(GRANTED).await, tokens("refresh-2", 7200));
        assert_eq!(refreshed(&without_refresh).await, tokens("refresh+1/=", 7200));
        assert_eq!(
            refreshed(r#"{"access_token": "access-2", "refresh_token": ""}"#).await,
            tokens("refresh+1/=", 7200)
        );
        let forever = GRANTED.replace("7200", &u64::MAX.to_string());
        let to_the_end = Timestamp::MAX.as_second() - NOW.as_second();
        assert_eq!(refreshed(&forever).await, tokens("refresh-2", to_the_end));
        assert_eq!(refreshed(r#"{"refresh_token": "refresh-2"}"#).await, Err(UNREADABLE));
    }

    #[tokio::test]
    async fn an_invalid_token_is_unauthorized() {
        let problem =
            r#"{"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"}"#;
        let refused = XError::Refused("Unauthorized: Unauthorized".to_owned());
        let [post, metrics, clicks, account, revoke, refresh, exchange] =
            errors(&Play::json(401, problem)).await;
        let unauthorized = [post, metrics, clicks, account, revoke];
        assert_eq!(unauthorized, [const { Some(XError::Unauthorized) }; 5]);
        assert_eq!([refresh, exchange], [Some(refused.clone()), Some(refused)], "the app was rejected");
        for (status, error) in [(400, "invalid_request"), (400, "invalid_grant"), (401, "invalid_grant")] {
            let body = format!(r#"{{"error": "{error}", "error_description": "the token was invalid"}}"#);
            let play = Play::json(status, &body);
            for result in [refresh_result(&play).await, exchange_result(&play).await] {
                assert_eq!(result.err(), Some(XError::Unauthorized), "{error}");
            }
        }
        let body =
            r#"{"error": "unauthorized_client", "error_description": "Missing valid authorization header"}"#;
        let expected = "unauthorized_client: Missing valid authorization header".to_owned();
        assert_eq!(refresh_result(&Play::json(401, body)).await.err(), Some(XError::Refused(expected)));
    }

    #[tokio::test]
    async fn a_rejection_has_the_message_from_x() {
        let duplicate = r#"{"title": "Forbidden", "status": 403, "type": "about:blank",
            "detail": "You are not allowed to create a Tweet with duplicate content."}"#;
        assert_eq!(post_result(&Play::json(403, duplicate)).await, Err(XError::Duplicate));
        for (status, body, message) in [
            (
                403,
                r#"{"title": "Forbidden", "detail": "Not permitted.", "status": 403}"#,
                "Forbidden: Not permitted.",
            ),
            (400, r#"{"detail": "too\u001b[31m long\n", "errors": [{}]}"#, "too[31m long"),
            (404, "", "404 Not Found"),
            (403, "<html>duplicate</html>", "403 Forbidden"),
        ] {
            for error in errors(&Play::json(status, body)).await {
                assert_eq!(error, Some(XError::Refused(message.to_owned())));
            }
        }
    }

    #[tokio::test]
    async fn what_x_refuses_to_the_whole_app_does_not_name_the_operators_account() {
        let depleted = |kind: &str, title: &str| {
            let detail =
                "Your enrolled account [1234567890] does not have any credits to fulfill this request.";
            json!({"title": title, "detail": detail, "type": kind, "account_id": 1_234_567_890}).to_string()
        };
        let forbidden = r#"{"title": "Client Forbidden", "required_enrollment": "Appropriate Level of API Access",
            "reason": "client-not-enrolled", "client_id": "1234567890", "detail": "You must attach the app to a project.",
            "type": "https://api.twitter.com/2/problems/client-forbidden"}"#;
        for (status, body) in [
            (402, depleted("https://api.x.com/2/problems/credits", "CreditsDepleted")),
            (402, depleted("https://api.x.com/2/problems/credits-depleted", "credits-depleted")),
            (402, String::new()),
            (403, forbidden.to_owned()),
        ] {
            for error in errors(&Play::json(status, &body)).await {
                assert_eq!(error, Some(XError::Blocked), "{body}");
            }
        }
        let sentence = "This service may not post to X at present; its administrator has been told";
        assert_eq!(XError::Blocked.sentence(), sentence);
    }

    #[tokio::test]
    async fn a_limit_ends_with_the_last_one_that_is_used_up() {
        let (soon, day, later) = (1_800_000_900, 1_800_086_400, 1_800_090_000);
        let limit = |name: &str, remaining: u32, reset: i64| {
            format!("{name}-limit: 100\r\n{name}-remaining: {remaining}\r\n{name}-reset: {reset}\r\n")
        };
        let quarter = |remaining| limit("x-rate-limit", remaining, soon);
        let app = |remaining| limit("x-app-limit-24hour", remaining, day);
        let user = |remaining| limit("x-user-limit-24hour", remaining, later);
        for (headers, expected) in [
            (quarter(0) + &app(7) + &user(7), soon),
            (quarter(7) + &app(0) + &user(7), day),
            (quarter(7) + &app(7) + &user(0), later),
            (quarter(0) + &app(0), day),
            (quarter(0) + &app(0) + &user(0), later),
            // Nothing says which one it is.
            (quarter(7) + &app(7) + &user(7), soon),
        ] {
            let error = post_result(&Play::response(429, &headers, "{}")).await.unwrap_err();
            let until = Timestamp::from_second(expected).ok();
            assert_eq!(error, XError::Limited { until }, "{headers}");
        }
    }

    #[tokio::test]
    async fn every_request_distinguishes_all_faults() {
        let limited = |headers: &str| Play::response(429, headers, r#"{"title": "Too Many Requests"}"#);
        let until = Some(Timestamp::constant(1_800_000_900, 0));
        for (play, expected) in [
            (limited("x-rate-limit-reset: 1800000900\r\n"), XError::Limited { until }),
            (limited(""), XError::Limited { until: None }),
            (limited("x-rate-limit-reset: soon\r\n"), XError::Limited { until: None }),
            (limited("x-rate-limit-reset: 9223372036854775807\r\n"), XError::Limited { until: None }),
            (Play::json(500, POSTED), XError::Unknown("it was a server error")),
            (Play::html(503), XError::Unknown("it was a server error")),
            (Play::html(200), UNREADABLE),
            (Play::json(200, ""), UNREADABLE),
            (Play::json(200, r#"{"data": {"id": "19"#), UNREADABLE),
            (Play::json(200, "[]"), UNREADABLE),
            (Play::nothing(), XError::Unknown("it was incomplete or too late")),
            (Play::half(200, POSTED), XError::Unknown("it was incomplete or too late")),
            (Play::redirect(), XError::Unknown("its status was unexpected")),
            (Play::long(200, POSTED), XError::Unknown("it was too long")),
        ] {
            for error in errors(&play).await {
                assert_eq!(error.as_ref(), Some(&expected));
            }
        }
    }

    #[tokio::test]
    async fn a_hanging_request_times_out_with_an_unknown_outcome() {
        assert_eq!(post_result(&Play::Hang).await, Err(XError::Unknown("it was incomplete or too late")));
    }

    #[tokio::test]
    async fn an_unreachable_server_and_a_malformed_token_send_nothing() {
        assert_eq!(x(NOWHERE).post(&access(), TEXT).await, Err(XError::Unreached));
        let test_server = TestServer::playing(&Play::json(201, POSTED)).await;
        let split = x(&test_server.url).post(&Secret::new("a\r\nx-more: b"), TEXT).await;
        assert_eq!(split, Err(XError::Unreached));
    }

    #[test]
    fn debug_output_has_no_secret() {
        let output = format!("{:?}", x("https://api.x.com"));
        assert!(output.contains("client_id: \"client\"") && !output.contains("s3cret"), "{output}");
    }

    proptest! {
        #[test]
        fn error_messages_from_x_have_a_maximum_length_and_no_control_characters(
            status in 200u16..600, title: String, detail in "(?s).{0,300}", cut in 0usize..400, reset in "\\PC{0,20}",
        ) {
            let mut body = json!({ "title": title, "detail": detail }).to_string().into_bytes();
            body.truncate(body.len().saturating_sub(cut.saturating_sub(200)));
            let headers = HeaderValue::from_str(&reset).map(|reset| ("x-rate-limit-reset".parse().unwrap(), reset));
            let headers: HeaderMap = headers.into_iter().collect();
            let status = StatusCode::from_u16(status).unwrap();
            match parse(&Response { status, headers, body: body.into() }) {
                Ok(body) => prop_assert!(status.is_success() && body.is_object()),
                Err(XError::Refused(message)) => {
                    prop_assert!(status.is_client_error());
                    prop_assert!(message.chars().count() <= 200 && !message.chars().any(char::is_control));
                }
                Err(_) => {}
            }
        }
    }
}
