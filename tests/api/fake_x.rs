//! A fake X API. It checks every request and its token, and returns errors on demand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shared::config::{Addresses, Services, XAccess};
use shared::model::{Mode, XConnection, challenge};
use shared::providers::x::Tokens;
use shared::secret::Secret;
use shared::services::accounts::connect_x;
use shared::store::Transaction;
use shared::token_encryption::EncryptionKeys;
use tests::fake::{FakeResponse, FakeServer, Request};
use tests::{ACME, TestApi, tenant};
use url::{Url, form_urlencoded};

pub(crate) const POST: &str = "POST /2/tweets";
/// Reads the public metrics of posts.
pub(crate) const READ: &str = "GET /2/tweets";
/// Reads the private metrics of posts.
pub(crate) const CLICKS: &str = "GET /2/tweets (private)";
pub(crate) const ME: &str = "GET /2/users/me";
pub(crate) const TOKEN: &str = "POST /2/oauth2/token";
pub(crate) const REVOKE: &str = "POST /2/oauth2/revoke";

/// The app's credentials for HTTP Basic authentication: `client:s3cret`.
const BASIC: &str = "Basic Y2xpZW50OnMzY3JldA==";
/// The page where an account's owner authorizes the app.
const AUTHORIZE: &str = "https://x.com/i/oauth2/authorize";
/// The parameter of the fields of posts, and its old name.
const FIELDS: [&str; 2] = ["post.fields", "tweet.fields"];

/// A fake X API. It issues the token pairs `access-1` and `refresh-1`, then `access-2` and `refresh-2`, and so on.
pub(crate) struct FakeX {
    pub(crate) fake: FakeServer,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    access: String,
    refresh: String,
    pairs: u32,
    posts: u64,
    /// The challenge and the redirect URI of each authorization code.
    codes: HashMap<String, (String, String)>,
    allowed: u32,
    failures: HashMap<&'static str, FakeResponse>,
    metrics: HashMap<String, Value>,
    only_old_names: bool,
    during_refresh: Option<Box<dyn Fn() + Send>>,
}

impl FakeX {
    pub(crate) async fn start() -> Self {
        let state = State { posts: 1_900_000_000_000_000_000, ..State::grant(1) };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        let fake = FakeServer::start(move |request| State::respond(&shared, request)).await;
        Self { fake, state }
    }

    /// Sends this response to every later request to the route.
    pub(crate) fn reply_with(&self, route: &'static str, response: FakeResponse) {
        self.state.lock().unwrap().failures.insert(route, response);
    }

    /// Removes the responses of [`Self::reply_with`].
    pub(crate) fn reply_normally(&self) {
        self.state.lock().unwrap().failures.clear();
    }

    /// Revokes the access token, but not the refresh token.
    pub(crate) fn revoke_access(&self) {
        self.state.lock().unwrap().access.clear();
    }

    /// Revokes both tokens.
    pub(crate) fn revoke(&self) {
        let mut state = self.state.lock().unwrap();
        state.access.clear();
        state.refresh.clear();
    }

    /// Knows only the old name of the fields' parameter from now on.
    pub(crate) fn know_only_old_names(&self) {
        self.state.lock().unwrap().only_old_names = true;
    }

    /// Sets the metrics of a post. The fake reports posts without metrics as missing, as X does with posts whose private
    /// metrics the account may not read.
    pub(crate) fn set_metrics(&self, external_id: &str, metrics: Value) {
        self.state.lock().unwrap().metrics.insert(external_id.to_owned(), metrics);
    }

    /// Deletes a post.
    pub(crate) fn delete_post(&self, external_id: &str) {
        self.state.lock().unwrap().metrics.remove(external_id);
    }

    /// Runs `action` before the response to the next token refresh is sent.
    pub(crate) fn during_refresh(&self, action: impl Fn() + Send + 'static) {
        self.state.lock().unwrap().during_refresh = Some(Box::new(action));
    }

    /// Authorizes the app as the account's owner. Returns the authorization code that X sends back with the state.
    pub(crate) fn allow(&self, authorize_url: &str) -> String {
        let url = Url::parse(authorize_url).unwrap();
        assert_eq!(format!("{}{}", url.origin().ascii_serialization(), url.path()), AUTHORIZE);
        let query: Vec<_> = url.query_pairs().into_owned().collect();
        let names: Vec<_> = query.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "response_type",
            "client_id",
            "redirect_uri",
            "scope",
            "state",
            "code_challenge",
            "code_challenge_method",
        ];
        assert_eq!(names, expected);
        let value = |name: &str| query.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!((value("response_type"), value("client_id")), ("code".to_owned(), "client".to_owned()));
        assert_eq!(value("scope"), "tweet.read tweet.write users.read offline.access");
        assert_eq!((value("code_challenge_method").as_str(), value("code_challenge").len()), ("S256", 43));
        let mut state = self.state.lock().unwrap();
        state.allowed += 1;
        let code = format!("code-{}", state.allowed);
        state.codes.insert(code.clone(), (value("code_challenge"), value("redirect_uri")));
        code
    }

    /// Returns the route and the token of each request.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        self.fake.requests().iter().map(|request| (route(request), token(request))).collect()
    }

    pub(crate) fn count(&self, route: &str) -> usize {
        count(&self.fake, route)
    }

    /// Returns the ids in each request to one of the routes that read posts.
    pub(crate) fn ids(&self, expected: &str) -> Vec<Vec<String>> {
        let requests = self.fake.requests();
        requests.iter().filter(|request| route(request) == expected).map(ids).collect()
    }

    /// Returns the text of each post.
    pub(crate) fn texts(&self) -> Vec<String> {
        let requests = self.fake.requests();
        let posts = requests.iter().filter(|request| route(request) == POST);
        posts
            .map(|post| {
                serde_json::from_str::<Value>(&post.body).unwrap()["text"].as_str().unwrap().to_owned()
            })
            .collect()
    }
}

/// Returns the number of requests to a route.
pub(crate) fn count(fake: &FakeServer, expected: &str) -> usize {
    fake.requests().iter().filter(|request| route(request) == expected).count()
}

/// Fails the test if X does not support one of the requests.
impl Drop for FakeX {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let requests = self.fake.requests();
            requests.iter().for_each(check);
            // The old name is only the second attempt.
            for (at, request) in requests.iter().enumerate() {
                let first = request.target.replace(FIELDS[1], FIELDS[0]);
                assert!(first == request.target || requests[at - 1].target == first, "{}", request.target);
            }
        }
    }
}

fn route(request: &Request) -> String {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let suffix = if query.ends_with("=non_public_metrics") { " (private)" } else { "" };
    format!("{} {path}{suffix}", request.method)
}

/// Returns the parameters of a request.
fn query(request: &Request) -> Vec<(String, String)> {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// Returns the token or the code of a request.
fn token(request: &Request) -> String {
    if let Some(token) = request.header("authorization").strip_prefix("Bearer ") {
        return token.to_owned();
    }
    let mut form = form(request).into_iter();
    form.find(|(name, _)| ["refresh_token", "code", "token"].contains(&name.as_str()))
        .map(|(_, token)| token)
        .unwrap_or_default()
}

/// Returns the fields of a token request.
fn form(request: &Request) -> Vec<(String, String)> {
    form_urlencoded::parse(request.body.as_bytes()).into_owned().collect()
}

fn check(request: &Request) {
    assert!(!token(request).is_empty(), "{request:?}");
    let content_type = request.header("content-type");
    match route(request).as_str() {
        POST => {
            assert_eq!((request.target.as_str(), content_type), ("/2/tweets", "application/json"));
            let body: Value = serde_json::from_str(&request.body).unwrap();
            assert!(body["text"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
            assert_eq!(body, json!({ "text": body["text"] }));
        }
        READ | CLICKS => {
            let query = query(request);
            let [(first, _), (second, fields)] = query.as_slice() else { panic!("{query:?}") };
            assert_eq!(first, "ids");
            assert!(FIELDS.contains(&second.as_str()), "{second}");
            // X omits posts whose private metrics cannot be read, so the public ones are read separately.
            assert!(["public_metrics", "non_public_metrics"].contains(&fields.as_str()), "{fields}");
            let mut ids = ids(request);
            assert!((1..=100).contains(&ids.len()), "{}", ids.len());
            assert!(ids.iter().all(|id| id.parse::<u64>().is_ok()), "{ids:?}");
            let all = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), all, "the ids are unique");
            assert_eq!(request.body, "");
        }
        ME => assert_eq!((request.target.as_str(), request.body.as_str()), ("/2/users/me", "")),
        TOKEN | REVOKE => {
            assert_eq!(request.header("authorization"), BASIC);
            assert_eq!(content_type, "application/x-www-form-urlencoded");
            let form = form(request);
            let names: Vec<_> = form.iter().map(|(name, _)| name.as_str()).collect();
            if route(request) == REVOKE {
                return assert_eq!(names, ["token"]);
            }
            match form[0].1.as_str() {
                "refresh_token" => assert_eq!(names, ["grant_type", "refresh_token"]),
                "authorization_code" => {
                    assert_eq!(names, ["grant_type", "code", "redirect_uri", "code_verifier"]);
                }
                other => panic!("unknown grant type {other}"),
            }
        }
        other => panic!("X has no route {other}"),
    }
}

/// Returns the requested ids in order.
fn ids(request: &Request) -> Vec<String> {
    let ids = query(request).into_iter().find_map(|(name, ids)| (name == "ids").then_some(ids));
    ids.unwrap_or_default().split(',').map(str::to_owned).collect()
}

impl State {
    fn grant(pair: u32) -> Self {
        let (access, refresh) = (format!("access-{pair}"), format!("refresh-{pair}"));
        Self { access, refresh, pairs: pair, ..Self::default() }
    }

    fn respond(state: &Mutex<Self>, request: &Request) -> FakeResponse {
        let (route, token) = (route(request), token(request));
        let mut state = state.lock().unwrap();
        let failure = state.failures.get(route.as_str()).cloned();
        if route == TOKEN {
            let response = failure.unwrap_or_else(|| state.exchange(&form(request)));
            let action = state.during_refresh.take();
            drop(state);
            if let Some(action) = action {
                action();
            }
            return response;
        }
        if let Some(failure) = failure {
            return failure;
        }
        if route == REVOKE {
            // A revoked token is revoked; it is no error to say so again (RFC 7009, section 2.2).
            let Self { access, refresh, .. } = &mut *state;
            for known in [access, refresh] {
                if *known == token {
                    known.clear();
                }
            }
            return FakeResponse::Json(200, json!({ "revoked": true }));
        }
        if token != state.access {
            return problem(401, "Unauthorized", "Unauthorized");
        }
        match route.as_str() {
            POST => {
                state.posts += 1;
                FakeResponse::Json(
                    201,
                    json!({ "data": { "id": state.posts.to_string(), "text": "as X shows it" } }),
                )
            }
            READ | CLICKS => {
                let (parameter, fields) = query(request).pop().unwrap_or_default();
                if state.only_old_names && parameter == FIELDS[0] {
                    return problem(
                        400,
                        "Invalid Request",
                        "The query parameter [post.fields] is not one of [...]",
                    );
                }
                let (mut found, mut gone) = (Vec::new(), Vec::new());
                for id in ids(request) {
                    match state.metrics.get(&id).and_then(|metrics| metrics.get(&fields)) {
                        Some(group) => found.push(json!({ "id": id, "text": "...", fields.clone(): group })),
                        None => gone.push(json!({ "value": id, "title": "Not Found Error" })),
                    }
                }
                let mut body = json!({ "data": found, "errors": gone });
                if found.is_empty() {
                    body.as_object_mut().unwrap().remove("data");
                }
                FakeResponse::Json(200, body)
            }
            _ => FakeResponse::Json(
                200,
                json!({ "data": { "id": "42", "name": "Acme", "username": "acme_jobs" } }),
            ),
        }
    }

    /// Issues the next token pair for a valid refresh token or code.
    fn exchange(&mut self, form: &[(String, String)]) -> FakeResponse {
        let value = |name: &str| form.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        let is_valid = match value("grant_type") {
            "refresh_token" => value("refresh_token") == self.refresh,
            _ => self.codes.remove(value("code")).is_some_and(|(expected, redirect_uri)| {
                challenge(value("code_verifier")) == expected && value("redirect_uri") == redirect_uri
            }),
        };
        if !is_valid {
            return FakeResponse::Json(
                400,
                json!({ "error": "invalid_grant", "error_description": "The token was already used." }),
            );
        }
        let State { access, refresh, pairs, .. } = Self::grant(self.pairs + 1);
        (self.access, self.refresh, self.pairs) = (access, refresh, pairs);
        let (access, refresh) = (&self.access, &self.refresh);
        let granted = json!({ "token_type": "bearer", "expires_in": 7200, "access_token": access, "refresh_token": refresh });
        FakeResponse::Json(200, granted)
    }
}

/// Returns an error in X's format.
pub(crate) fn problem(status: u16, title: &str, detail: &str) -> FakeResponse {
    FakeResponse::Json(
        status,
        json!({ "title": title, "detail": detail, "type": "about:blank", "status": status }),
    )
}

/// Returns encryption keys with these ids.
pub(crate) fn keys(ids: &[&str]) -> EncryptionKeys {
    let keys: Vec<_> = ids.iter().map(|id| format!("{id}:0123456789abcdef0123456789abcdef{id}")).collect();
    EncryptionKeys::parse(&keys.join(",")).unwrap()
}

/// Returns the configuration of a service that uses the fake at this URL.
pub(crate) fn services(x_url: &str) -> Services {
    Services {
        x: Some(XAccess { client_id: "client".to_owned(), client_secret: Secret::new("s3cret") }),
        sealing_keys: Some(keys(&["k1"])),
        addresses: Addresses { x: x_url.to_owned(), ..Addresses::default() },
        ..Services::default()
    }
}

/// Returns Acme's account, whose access token `access-1` expires at `expires_at`.
pub(crate) fn account(api: &TestApi, mode: Mode, keys: &EncryptionKeys, expires_at: &str) -> XConnection {
    let tokens = Tokens {
        access: Secret::new("access-1"),
        refresh: Secret::new("refresh-1"),
        expires_at: expires_at.parse().unwrap(),
    };
    connect_x(tenant(ACME, mode), "acme_jobs".to_owned(), &tokens, keys, &api.environment.random).unwrap()
}

/// Connects an account, replacing any other.
pub(crate) async fn connect(api: &TestApi, mode: Mode, account: &XConnection) {
    let mut transaction = Transaction::new(tenant(ACME, mode));
    transaction.put_x_connection(account).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// Creates a test API where Acme's account on X is connected, with an access token that expires at `expires_at`.
pub(crate) async fn connected_until(expires_at: &str) -> (TestApi, FakeX) {
    let x = FakeX::start().await;
    let api = TestApi::with_services(services(&x.fake.url)).await;
    connect(&api, Mode::Live, &account(&api, Mode::Live, &keys(&["k1"]), expires_at)).await;
    api.dynamodb.take_calls();
    (api, x)
}

/// Creates a test API where Acme's account on X is connected, with an access token that expires in two hours.
pub(crate) async fn connected() -> (TestApi, FakeX) {
    connected_until("2026-11-20T11:30:00Z").await
}
