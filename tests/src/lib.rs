//! A world for tests: the real functions behind the real gateway events, a DynamoDB, and a clock that stands still.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "in a test, that is a failure"
)]

pub mod browser;
pub mod careers;
pub mod contract;
pub mod desk;
pub mod engine;
pub mod fake;
pub mod oauth;
pub mod openapi;
pub mod wire;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::header::IntoHeaderName;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use rolecall_local::bucket::{BUCKET, Shelf};
use rolecall_local::database::Embedded;
use rolecall_local::demo::{self, DEMOS};
use rolecall_local::functions;
use rolecall_local::gateway::Gateway;
use rolecall_local::server::{self, Host};
use rolecall_local::template::Template;
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::config::{Config, Services};
use shared::http::Environment;
use shared::model::{Mode, Role, Tenant};
use shared::providers::Providers;
use shared::providers::client_document::ClientDocuments;
use shared::random::Random;
use shared::secret::Secret;
use shared::store::{Store, Writes};
use tokio::net::TcpListener;
use tokio::sync::watch;

use contract::Watch;
use engine::Borrowed;
use wire::Wire;

/// Where public links begin in tests.
pub const BASE_URL: &str = "https://api.rolecall.test";

/// The demonstration organizations' places in [`DEMOS`].
pub const ACME: usize = 0;
/// See [`ACME`].
pub const GLOBEX: usize = 1;

/// Where requests come from in tests.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A clock that is set by hand.
#[derive(Clone)]
pub struct Hands(Arc<AtomicI64>);

impl Hands {
    /// Sets the clock.
    pub fn set(&self, time: &str) {
        let time: Timestamp = time.parse().expect("a timestamp");
        self.0.store(time.as_millisecond(), Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let ms = self.0.clone();
        Clock::from_fn(move || Timestamp::from_millisecond(ms.load(Ordering::SeqCst)).expect("a time"))
    }
}

/// Everything a test needs; a table of its own.
pub struct World {
    /// The gateway, with every function behind it.
    pub gateway: Arc<Gateway>,
    /// What the functions are given.
    pub environment: Environment,
    /// The clock's hands: 2026-11-20T09:30:00Z at first.
    pub hands: Hands,
    /// The way to DynamoDB.
    pub wire: Wire,
    /// DynamoDB's address.
    pub endpoint: String,
    /// What holds the functions to the document.
    pub watch: Watch,
    _table: Option<Borrowed>,
    /// What was started for this world stops when this is dropped.
    _running: watch::Sender<()>,
}

impl World {
    /// A world with the demonstration organizations in it, and simulators of all outside services.
    pub async fn new() -> Self {
        Self::with_services(Services { simulated: true, ..Services::default() }).await
    }

    /// A world with these outside services. They find the webhooks on a loopback address, unless another is given.
    pub async fn with_services(services: Services) -> Self {
        Self::built(services, Providers::new).await
    }

    /// A world in which OAuth clients have these documents.
    pub async fn with_documents(documents: ClientDocuments) -> Self {
        let services = Services { simulated: true, ..Services::default() };
        Self::built(services, |config| Providers::given_documents(config, documents)).await
    }

    async fn built(services: Services, providers: impl FnOnce(&Config) -> Providers) -> Self {
        let (running, stopped) = watch::channel(());
        let shared = engine::shared_address();
        let is_shared = shared.is_some();
        let endpoint = match shared {
            Some(address) => address,
            None => embedded(stopped.clone()).await,
        };
        let table = engine::new_table();
        let wire = Wire::new();
        let hands = Hands(Arc::default());
        hands.set("2026-11-20T09:30:00Z");
        let callbacks = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a loopback port");
        let loopback = format!("http://{}", callbacks.local_addr().expect("an address"));
        let config = Config {
            table: table.clone(),
            base_url: Some(BASE_URL.to_owned()),
            client_address_header: None,
            dynamodb_endpoint: None,
            signing_key: Secret::new(demo::SIGNING_KEY),
            services: Services {
                resumes: Some(Shelf::access(&loopback)),
                callback_url: services.callback_url.or(Some(loopback)),
                ..services
            },
        };
        let environment = Environment {
            store: engine::store(wire.client(), &endpoint, &table).await,
            clock: hands.clock(),
            random: Random::seeded(42),
            providers: providers(&config),
            config,
        };
        environment.store.create_table().await.expect("a table");
        let borrowed = is_shared.then(|| Borrowed { endpoint: endpoint.clone(), table });
        demo::create(&environment.store, environment.clock.now()).await.expect("demonstration organizations");
        let watch = Watch::default();
        let gateway = gateway(&environment, &watch);
        let bucket = Arc::new(Shelf::in_memory(BUCKET));
        let host = Host { gateway: gateway.clone(), bucket, clock: hands.clock() };
        tokio::spawn(server::serve(callbacks, host, until(stopped)));
        wire.forget();
        Self { gateway, environment, hands, wire, endpoint, watch, _table: borrowed, _running: running }
    }

    /// Starts the functions anew, in the environment as it is now.
    pub fn restart(&mut self) {
        self.gateway = gateway(&self.environment, &self.watch);
    }

    /// A request to `path`, with Acme's live key.
    pub fn request(&self, method: Method, path: &str) -> Ask<'_> {
        let request = Ask {
            world: self,
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            source: LOOPBACK,
        };
        request.key(ACME, Mode::Live)
    }

    /// GET, with Acme's live key.
    pub async fn get(&self, path: &str) -> Answer {
        self.request(Method::GET, path).send().await
    }

    /// POST, with Acme's live key.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.request(Method::POST, path).json(&body).send().await
    }

    /// PATCH, with Acme's live key.
    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.request(Method::PATCH, path).json(&body).send().await
    }

    /// DELETE, with Acme's live key.
    pub async fn delete(&self, path: &str) -> Answer {
        self.request(Method::DELETE, path).send().await
    }

    /// Does what requests have left to be done.
    pub async fn run_tasks(&self) -> tasks::Summary {
        tasks::run(self.environment.clone()).await.expect("tasks")
    }

    /// Writes roles of Acme's live mode past the API, fifty to a transaction.
    pub async fn write_roles(&self, roles: &[Role]) {
        for some in roles.chunks(50) {
            let mut writes = Writes::new(tenant(ACME, Mode::Live));
            for role in some {
                writes.insert_role(role).expect("an item");
            }
            self.store().commit(writes).await.expect("roles");
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.environment.store
    }

    /// Another table, which need not be there, or the same one with calls that `wire` sees.
    pub async fn table(&self, wire: &Wire, table: &str) -> Store {
        engine::store(wire.client(), &self.endpoint, table).await
    }
}

/// One of everything, in Acme's live mode.
#[derive(Clone, Copy, Debug)]
pub struct Things {
    /// An open role.
    pub role: u64,
    /// Its published posting.
    pub posting: u64,
    /// A candidate who has applied for it.
    pub candidate: u64,
    /// The candidate's voice screen, not yet called.
    pub screen: u64,
}

impl Things {
    /// Makes them by way of the API.
    pub async fn new(world: &World) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let posted = world.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
        let (role, posting) = (posted.number("/role/id"), posted.number("/job_posting/id"));
        let jane = json!({ "name": "Jane", "email": format!("jane{number}@example.com"), "role_id": role });
        let candidate = world.post("/api/v1/candidates", jane).await.expect(201).number("/id");
        let invite = format!("/api/v1/candidates/{candidate}/invite_screen");
        let screen = world.post(&invite, json!({ "role_id": role })).await.expect(201).number("/id");
        Self { role, posting, candidate, screen }
    }

    /// The one that a path with an id is about.
    pub fn id(&self, path: &str) -> u64 {
        match path.split('/').nth(3) {
            Some("job_postings") => self.posting,
            Some("candidates") => self.candidate,
            Some("voice_screens") => self.screen,
            _ => self.role,
        }
    }
}

/// The project's template.
pub static TEMPLATE: LazyLock<Template> =
    LazyLock::new(|| Template::read(&project("template.yaml")).expect("template.yaml"));

/// A file of the project.
pub fn project(path: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// A demonstration organization's key.
pub fn key(demo: usize, mode: Mode) -> String {
    DEMOS[demo].key(mode).expect("a key").reveal().to_owned()
}

/// A demonstration organization's tenant.
pub fn tenant(demo: usize, mode: Mode) -> Tenant {
    DEMOS[demo].tenant(mode).expect("a tenant")
}

/// The gateway, with every function in this environment behind it, watched.
fn gateway(environment: &Environment, watch: &Watch) -> Arc<Gateway> {
    let functions = functions::answering(environment).into_iter();
    let gateway = Gateway::new(
        &TEMPLATE.routes,
        &functions.map(|(name, function)| (name, watch.over(function))).collect(),
        environment.clock.clone(),
        environment.random.clone(),
    );
    Arc::new(gateway.expect("a function for every route"))
}

async fn until(mut stopped: watch::Receiver<()>) {
    // An error says that the world is gone.
    let _ = stopped.changed().await;
}

async fn embedded(stopped: watch::Receiver<()>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    let database = Embedded::in_memory().expect("a database");
    tokio::spawn(database.serve(listener, until(stopped)));
    format!("http://{address}")
}

/// A request being put together.
pub struct Ask<'w> {
    world: &'w World,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
    source: IpAddr,
}

impl Ask<'_> {
    /// With an organization's key instead.
    #[must_use]
    pub fn key(self, demo: usize, mode: Mode) -> Self {
        self.bearer(&key(demo, mode))
    }

    /// With another credential instead.
    #[must_use]
    pub fn bearer(self, credential: &str) -> Self {
        self.header("authorization", &format!("Bearer {credential}"))
    }

    /// From another address than 127.0.0.1.
    #[must_use]
    pub fn from(self, source: &str) -> Self {
        Self { source: source.parse().expect("an address"), ..self }
    }

    /// Without a credential.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.headers.remove("authorization");
        self
    }

    /// With a header, in place of any of that name.
    #[must_use]
    pub fn header(mut self, name: impl IntoHeaderName, value: &str) -> Self {
        self.headers.insert(name, value.parse().expect("a header value"));
        self
    }

    /// With a header of any bytes.
    #[must_use]
    pub fn header_value(mut self, name: &'static str, value: http::HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// With one more header of a name.
    #[must_use]
    pub fn another(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(name, value.parse().expect("a header value"));
        self
    }

    /// With a JSON body.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// With any body.
    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    /// Sends it.
    pub async fn send(self) -> Answer {
        let mut request =
            http::Request::builder().method(self.method).uri(&self.path).body(self.body).expect("a request");
        *request.headers_mut() = self.headers;
        request.headers_mut().entry("host").or_insert("api.rolecall.test".parse().expect("a host"));
        let response = self.world.gateway.send(request, self.source).await;
        Answer::read(response)
    }
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, `null` where it is not JSON.
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

impl Answer {
    /// Takes a response apart.
    pub fn read(response: http::Response<Bytes>) -> Self {
        let (parts, body) = response.into_parts();
        let text = String::from_utf8_lossy(&body).into_owned();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Self { status: parts.status.as_u16(), headers: parts.headers, body, text }
    }

    /// A header's value, empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The same answer, whose status must be this.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "an assertion may be all that is wanted")]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// A number in the body.
    #[track_caller]
    pub fn number(&self, pointer: &str) -> u64 {
        self.body
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("{pointer} in {}", self.text))
    }

    /// A string in the body.
    #[track_caller]
    pub fn string(&self, pointer: &str) -> &str {
        self.body
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{pointer} in {}", self.text))
    }

    /// The messages of a validation failure.
    pub fn messages(&self) -> Vec<&str> {
        self.body["messages"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }
}
