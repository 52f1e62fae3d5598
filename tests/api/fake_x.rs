//! X as the tests play it: it checks every request, knows its tokens, and fails as it is told to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shared::accounts::connect_x;
use shared::config::{Addresses, Services, XAccess};
use shared::model::{Mode, XConnection, challenge};
use shared::providers::x::Tokens;
use shared::sealed::SealingKeys;
use shared::secret::Secret;
use shared::store::Writes;
use tests::fake::{Fake, Play, Request};
use tests::{ACME, World, tenant};
use url::{Url, form_urlencoded};

pub(crate) const POST: &str = "POST /2/tweets";
pub(crate) const READ: &str = "GET /2/tweets";
pub(crate) const ME: &str = "GET /2/users/me";
pub(crate) const TOKEN: &str = "POST /2/oauth2/token";

/// The app's credentials as HTTP Basic has them: `client:s3cret`.
const BASIC: &str = "Basic Y2xpZW50OnMzY3JldA==";
/// Where an account's owner is asked.
const AUTHORIZE: &str = "https://x.com/i/oauth2/authorize";
const FIELDS: &str = "&tweet.fields=public_metrics,non_public_metrics";

/// The pairs of tokens are `access-1` and `refresh-1`, then `access-2` and `refresh-2`, and so on.
pub(crate) struct FakeX {
    pub(crate) fake: Fake,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    access: String,
    refresh: String,
    pairs: u32,
    posts: u64,
    /// What each code that was allowed must be exchanged with: the challenge and the redirect address.
    codes: HashMap<String, (String, String)>,
    allowed: u32,
    plays: HashMap<&'static str, Play>,
    figures: HashMap<String, Value>,
    meanwhile: Option<Box<dyn Fn() + Send>>,
}

impl FakeX {
    pub(crate) async fn start() -> Self {
        let state = State { posts: 1_900_000_000_000_000_000, ..State::grant(1) };
        let state = Arc::new(Mutex::new(state));
        let playing = state.clone();
        let fake = Fake::start(move |request| State::answer(&playing, request)).await;
        Self { fake, state }
    }

    /// From now on, this is what comes of every such request that is in order.
    pub(crate) fn play(&self, route: &'static str, play: Play) {
        self.state.lock().unwrap().plays.insert(route, play);
    }

    /// From now on, everything works again.
    pub(crate) fn heal(&self) {
        self.state.lock().unwrap().plays.clear();
    }

    /// The access token is good no more, but the refresh token is.
    pub(crate) fn revoke_access(&self) {
        self.state.lock().unwrap().access.clear();
    }

    /// Neither token is good any more.
    pub(crate) fn revoke(&self) {
        let mut state = self.state.lock().unwrap();
        state.access.clear();
        state.refresh.clear();
    }

    /// What X has to say of a post; of others it says that they are gone.
    pub(crate) fn set_figures(&self, external_id: &str, mut figures: Value) {
        figures["id"] = json!(external_id);
        self.state.lock().unwrap().figures.insert(external_id.to_owned(), figures);
    }

    /// A post is gone from X.
    pub(crate) fn forget(&self, external_id: &str) {
        self.state.lock().unwrap().figures.remove(external_id);
    }

    /// What happens before the next answer to a renewal is sent.
    pub(crate) fn meanwhile(&self, meanwhile: impl Fn() + Send + 'static) {
        self.state.lock().unwrap().meanwhile = Some(Box::new(meanwhile));
    }

    /// The account's owner allows the connection: gives the code that X sends back with the state.
    pub(crate) fn allow(&self, authorize_url: &str) -> String {
        let url = Url::parse(authorize_url).unwrap();
        assert_eq!(format!("{}{}", url.origin().ascii_serialization(), url.path()), AUTHORIZE);
        let asked: Vec<_> = url.query_pairs().into_owned().collect();
        let names: Vec<_> = asked.iter().map(|(name, _)| name.as_str()).collect();
        let known = [
            "response_type",
            "client_id",
            "redirect_uri",
            "scope",
            "state",
            "code_challenge",
            "code_challenge_method",
        ];
        assert_eq!(names, known);
        let value = |name: &str| asked.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!((value("response_type"), value("client_id")), ("code".to_owned(), "client".to_owned()));
        assert_eq!(value("scope"), "tweet.read tweet.write users.read offline.access");
        assert_eq!((value("code_challenge_method").as_str(), value("code_challenge").len()), ("S256", 43));
        let mut state = self.state.lock().unwrap();
        state.allowed += 1;
        let code = format!("code-{}", state.allowed);
        state.codes.insert(code.clone(), (value("code_challenge"), value("redirect_uri")));
        code
    }

    /// What has been asked: each request's route and token.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        self.fake.requests().iter().map(|request| (route(request), token(request))).collect()
    }

    pub(crate) fn count(&self, route: &str) -> usize {
        count(&self.fake, route)
    }

    /// The texts that came to be posted.
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

/// How many requests of a route have come.
pub(crate) fn count(fake: &Fake, wanted: &str) -> usize {
    fake.requests().iter().filter(|request| route(request) == wanted).count()
}

/// A request that X would not know fails the test.
impl Drop for FakeX {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.fake.requests().iter().for_each(check);
        }
    }
}

fn route(request: &Request) -> String {
    let path = request.target.split('?').next().unwrap_or_default();
    format!("{} {path}", request.method)
}

/// The token or code that a request brings.
fn token(request: &Request) -> String {
    if let Some(token) = request.header("authorization").strip_prefix("Bearer ") {
        return token.to_owned();
    }
    let mut form = form(request).into_iter();
    form.find(|(name, _)| name == "refresh_token" || name == "code")
        .map(|(_, token)| token)
        .unwrap_or_default()
}

/// The fields of a request for tokens.
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
        READ => {
            assert!(request.target.ends_with(FIELDS), "{}", request.target);
            let mut ids = ids(request);
            assert!((1..=100).contains(&ids.len()), "{}", ids.len());
            assert!(ids.iter().all(|id| id.parse::<u64>().is_ok()), "{ids:?}");
            let all = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), all, "no id twice");
            assert_eq!(request.body, "");
        }
        ME => assert_eq!((request.target.as_str(), request.body.as_str()), ("/2/users/me", "")),
        TOKEN => {
            assert_eq!(request.header("authorization"), BASIC);
            assert_eq!(content_type, "application/x-www-form-urlencoded");
            let form = form(request);
            let names: Vec<_> = form.iter().map(|(name, _)| name.as_str()).collect();
            match form[0].1.as_str() {
                "refresh_token" => assert_eq!(names, ["grant_type", "refresh_token"]),
                "authorization_code" => {
                    assert_eq!(names, ["grant_type", "code", "redirect_uri", "code_verifier"]);
                }
                other => panic!("{other} is no grant"),
            }
        }
        other => panic!("{other} is not X's"),
    }
}

/// The ids that are asked for, in their order.
pub(crate) fn ids(request: &Request) -> Vec<String> {
    let ids = request.target.strip_prefix("/2/tweets?ids=").and_then(|rest| rest.strip_suffix(FIELDS));
    ids.unwrap_or_default().split(',').map(str::to_owned).collect()
}

impl State {
    fn grant(pair: u32) -> Self {
        let (access, refresh) = (format!("access-{pair}"), format!("refresh-{pair}"));
        Self { access, refresh, pairs: pair, ..Self::default() }
    }

    fn answer(state: &Mutex<Self>, request: &Request) -> Play {
        let (route, token) = (route(request), token(request));
        let mut state = state.lock().unwrap();
        let play = state.plays.get(route.as_str()).cloned();
        if route == TOKEN {
            let answer = play.unwrap_or_else(|| state.exchange(&form(request)));
            let meanwhile = state.meanwhile.take();
            drop(state);
            if let Some(meanwhile) = meanwhile {
                meanwhile();
            }
            return answer;
        }
        if let Some(play) = play {
            return play;
        }
        if token != state.access {
            return problem(401, "Unauthorized", "Unauthorized");
        }
        match route.as_str() {
            POST => {
                state.posts += 1;
                Play::Json(
                    201,
                    json!({ "data": { "id": state.posts.to_string(), "text": "as it is shown" } }),
                )
            }
            READ => {
                let (found, gone): (Vec<_>, Vec<_>) =
                    ids(request).into_iter().partition(|id| state.figures.contains_key(id));
                let found: Vec<_> = found.iter().map(|id| &state.figures[id]).collect();
                let gone: Vec<_> =
                    gone.iter().map(|id| json!({ "value": id, "title": "Not Found Error" })).collect();
                Play::Json(200, json!({ "data": found, "errors": gone }))
            }
            _ => Play::Json(200, json!({ "data": { "id": "42", "name": "Acme", "username": "acme_jobs" } })),
        }
    }

    /// The next pair, for a refresh token or a code that is good.
    fn exchange(&mut self, form: &[(String, String)]) -> Play {
        let value = |name: &str| form.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        let is_good = match value("grant_type") {
            "refresh_token" => value("refresh_token") == self.refresh,
            _ => self.codes.remove(value("code")).is_some_and(|(expected, redirect_uri)| {
                challenge(value("code_verifier")) == expected && value("redirect_uri") == redirect_uri
            }),
        };
        if !is_good {
            return Play::Json(
                400,
                json!({ "error": "invalid_grant", "error_description": "It was spent." }),
            );
        }
        let State { access, refresh, pairs, .. } = Self::grant(self.pairs + 1);
        (self.access, self.refresh, self.pairs) = (access, refresh, pairs);
        let (access, refresh) = (&self.access, &self.refresh);
        let granted = json!({ "token_type": "bearer", "expires_in": 7200, "access_token": access, "refresh_token": refresh });
        Play::Json(200, granted)
    }
}

/// A refusal in X's own form.
pub(crate) fn problem(status: u16, title: &str, detail: &str) -> Play {
    Play::Json(status, json!({ "title": title, "detail": detail, "type": "about:blank", "status": status }))
}

/// Sealing keys of these ids.
pub(crate) fn keys(ids: &[&str]) -> SealingKeys {
    let keys: Vec<_> = ids.iter().map(|id| format!("{id}:0123456789abcdef0123456789abcdef{id}")).collect();
    SealingKeys::parse(&keys.join(",")).unwrap()
}

/// The configuration of a service that uses this X.
pub(crate) fn services(x_url: &str) -> Services {
    Services {
        x: Some(XAccess { client_id: "client".to_owned(), client_secret: Secret::new("s3cret") }),
        sealing_keys: Some(keys(&["k1"])),
        addresses: Addresses { x: x_url.to_owned(), ..Addresses::default() },
        ..Services::default()
    }
}

/// Acme's account, whose first access token ends at this time.
pub(crate) fn account(world: &World, mode: Mode, keys: &SealingKeys, ends: &str) -> XConnection {
    let tokens = Tokens {
        access: Secret::new("access-1"),
        refresh: Secret::new("refresh-1"),
        expires_at: ends.parse().unwrap(),
    };
    connect_x(tenant(ACME, mode), "acme_jobs".to_owned(), &tokens, keys, &world.environment.random).unwrap()
}

/// Connects an account, in place of any other.
pub(crate) async fn connect(world: &World, mode: Mode, account: &XConnection) {
    let mut writes = Writes::new(tenant(ACME, mode));
    writes.put_x_connection(account).unwrap();
    world.store().commit(writes).await.unwrap();
}

/// A world in which Acme's account on X is connected until its access token ends at this time.
pub(crate) async fn connected_until(ends: &str) -> (World, FakeX) {
    let x = FakeX::start().await;
    let world = World::with_services(services(&x.fake.url)).await;
    connect(&world, Mode::Live, &account(&world, Mode::Live, &keys(&["k1"]), ends)).await;
    world.wire.take();
    (world, x)
}

/// A world in which Acme's account on X is connected for two hours.
pub(crate) async fn connected() -> (World, FakeX) {
    connected_until("2026-11-20T11:30:00Z").await
}
