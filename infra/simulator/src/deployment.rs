//! A whole deployment in one process: a gateway, functions with an environment and a clock of their own, and the jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_runtime::client::retries::RetryPartition;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Method, Request};
use jiff::SignedDuration;
use lambda_http::{Body, Response};
use rolecall_local::demo::{self, DEMOS, Demo};
use rolecall_local::functions::tables;
use rolecall_local::gateway::{Function, Gateway};
use rolecall_local::in_process;
use rolecall_local::template::Template;
use serde_json::Value;
use shared::clock::Timestamp;
use shared::config::{Config, Edge};
use shared::http::{App, Environment, KnownHolders, KnownSites, Route};
use shared::id::Id;
use shared::model::{Member, MemberRole, Mode, Password, PasswordCost, PasswordHash, Text};
use shared::providers::Providers;
use shared::providers::client::HttpClient;
use shared::providers::webhooks::WebhookReach;
use shared::providers::x::Tokens;
use shared::random::Random;
use shared::secret::Secret;
use shared::services::accounts;
use shared::store::{Store, TaskPartition, Transaction};

use crate::cloud::{Cloud, Life};
use crate::contents::TABLE;
use crate::faults::Faults;
use crate::kind::Kind;
use crate::outside::{self, BASE_URL, Outside};
use crate::receivers;
use crate::time::Time;

/// The maximum difference between the clocks of functions, in milliseconds.
const SKEW: i64 = 2_000;
/// The id of the first organization's second member. Those of the others follow.
pub(crate) const SECOND_MEMBER: u64 = 1_600_000_000_000_000;
/// The maximum time after which a killed function ends, in milliseconds.
const LIFE: u64 = 60;
/// Of so many runs of the feed, one is killed before one of its calls.
const KILLED: u32 = 3;
/// The maximum number of calls that such a run makes.
const CALLS: u32 = 24;
/// The time after which a run of the feed takes over what another one has begun.
pub(crate) const LEASE: Duration = Duration::from_secs(20);

/// The routes of every function.
static ROUTES: LazyLock<BTreeMap<&str, Vec<Route>>> =
    LazyLock::new(|| tables().into_iter().map(|tables| (tables.function, tables.rows())).collect());

static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    Template::read(&file).expect("a template")
});

/// The deployment.
pub(crate) struct Deployment {
    gateway: Arc<Gateway>,
    /// The table and its faults.
    pub(crate) cloud: Cloud,
    /// The external services.
    pub(crate) outside: Arc<Outside>,
    time: Time,
    chaos: Arc<Chaos>,
    /// The environment of the jobs and of the operator.
    operator: Environment,
}

/// The version of the protocol that assistants use.
pub(crate) const MCP_VERSION: &str = "2026-07-28";

/// What happens to function instances.
struct Chaos {
    random: Mutex<fastrand::Rng>,
    /// How many of a thousand invocations are killed.
    kills_per_mille: AtomicU32,
    kills: AtomicU64,
    faults: Faults,
}

impl Chaos {
    /// The time after which this invocation is killed, if it is.
    fn kill(&self) -> Option<Duration> {
        let per_mille = self.kills_per_mille.load(Ordering::Relaxed);
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if per_mille == 0 || random.u32(0..1_000) >= per_mille {
            return None;
        }
        let life = Duration::from_millis(random.u64(0..LIFE));
        let is_killed = self.faults.admits();
        self.kills.fetch_add(u64::from(is_killed), Ordering::Relaxed);
        is_killed.then_some(life)
    }
}

impl Chaos {
    /// The number of calls after which this run is killed, if it is.
    fn kill_before_call(&self) -> Option<u32> {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if self.kills_per_mille.load(Ordering::Relaxed) == 0 || random.u32(0..KILLED) > 0 {
            return None;
        }
        let calls = random.u32(0..CALLS);
        let is_killed = self.faults.admits();
        self.kills.fetch_add(u64::from(is_killed), Ordering::Relaxed);
        is_killed.then_some(calls)
    }
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// The body, or `null` if it is not JSON.
    pub(crate) body: Value,
    /// The body as text.
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn of(response: &http::Response<Bytes>) -> Self {
        let text = String::from_utf8_lossy(response.body()).into_owned();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Self { status: response.status().as_u16(), body, text }
    }
}

impl Deployment {
    /// A deployment without faults, whose time begins at `start`.
    pub(crate) fn new(seed: u64, faults: Faults, cloud: Cloud, kind: Kind, start: Timestamp) -> Self {
        let time = Time::starting_at(start);
        let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
        let outside = Outside::new(random.fork(), time.clone(), faults.clone());
        let transport = outside.clone().transport();
        let reach = WebhookReach::over(transport.clone());
        let documents = outside.clone().documents();
        let http = HttpClient::through(transport).expect("a client");
        let (table, common) = (cloud.clone(), time.clone());
        let instance = move |skew: i64, seed: u64| {
            let config = config(kind.is_simulated);
            Environment {
                store: store(&table, seed),
                clock: common.clock(SignedDuration::from_millis(skew)),
                random: Random::seeded(seed),
                providers: Providers::simulated(&config, http.clone(), documents.clone(), reach.clone()),
                config,
                password_cost: PasswordCost::LOWEST,
                known_holders: KnownHolders::default(),
                known_sites: KnownSites::default(),
            }
        };
        let operator = instance(0, random.u64(..));
        let chaos = Arc::new(Chaos {
            random: Mutex::new(random.fork()),
            kills_per_mille: AtomicU32::default(),
            kills: AtomicU64::default(),
            faults,
        });
        let functions: BTreeMap<_, _> = ROUTES
            .iter()
            .map(|(name, routes)| {
                let (instance, skew, seed) = (instance.clone(), random.i64(-SKEW..=SKEW), random.u64(..));
                // Most runs need only some of the functions.
                let environment = move || instance(skew, seed);
                ((*name).to_owned(), function(environment, routes, chaos.clone()))
            })
            .collect();
        let clock = time.clock(SignedDuration::ZERO);
        let random = Random::seeded(random.u64(..));
        let gateway = Gateway::new(&TEMPLATE.routes, &functions, clock, random);
        let gateway = Arc::new(gateway.expect("a function for every route"));
        outside.set_gateway(&gateway);
        Self { gateway, cloud, outside, time, chaos, operator }
    }

    /// Creates the table and the demo organizations.
    pub(crate) async fn create_organizations(&self, kind: Kind) {
        self.operator.store.create_table().await.expect("a table");
        demo::create(&self.operator).await.expect("demo organizations");
        // The organizations are older than every act, whichever clock it has.
        self.skip(SignedDuration::from_secs(5));
        if !kind.is_simulated {
            connect_x(&self.operator).await;
        }
    }

    /// Gives each organization a second member.
    pub(crate) async fn create_members(&self) {
        for (number, demo) in DEMOS.iter().enumerate() {
            let mut transaction = Transaction::new(demo.tenant(Mode::Live).expect("a tenant"));
            transaction.insert_member(&second_member(number, demo, self.now())).expect("a member");
            self.operator.store.commit(transaction).await.expect("a member");
        }
    }

    /// Gives each tenant a webhook endpoint.
    pub(crate) async fn create_endpoints(&self) {
        receivers::create(&self.operator.store, self.now()).await;
    }

    /// Sets how many of a thousand calls to the table have a fault, and how many of a thousand invocations are killed.
    pub(crate) fn set_chaos(&self, faults_per_mille: u32, kills_per_mille: u32) {
        self.cloud.set_faults(faults_per_mille);
        self.outside.set_faults(faults_per_mille);
        self.chaos.kills_per_mille.store(kills_per_mille, Ordering::Relaxed);
    }

    /// The number of invocations that were killed.
    pub(crate) fn kills(&self) -> u64 {
        self.chaos.kills.load(Ordering::Relaxed)
    }

    /// The current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.time.now()
    }

    /// Lets time pass at once.
    pub(crate) fn skip(&self, duration: SignedDuration) {
        self.time.skip(duration);
    }

    /// Lets time pass until the quotas begin again.
    pub(crate) fn skip_to_tomorrow(&self) {
        const DAY: i64 = 24 * 60 * 60;
        let since_midnight = self.now().as_second().rem_euclid(DAY);
        // The clocks of the functions differ.
        self.skip(SignedDuration::from_secs(DAY - since_midnight) + SignedDuration::from_millis(2 * SKEW));
    }

    /// Sends a request to the gateway.
    pub(crate) async fn request(&self, request: Request<Bytes>, source: IpAddr) -> http::Response<Bytes> {
        self.gateway.send(request, source).await
    }

    /// Sends a request to the API.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        key: &str,
        idempotency: &str,
        body: &Value,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "api.rolecall.test")
            .header("authorization", format!("Bearer {key}"));
        if !idempotency.is_empty() {
            request = request.header("idempotency-key", idempotency);
        }
        if path == "/mcp" {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            request = request
                .header("mcp-protocol-version", MCP_VERSION)
                .header("mcp-method", text(&body["method"]))
                .header("mcp-name", text(&body["params"]["name"]));
        }
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = request.header("content-type", "application/json").body(body).expect("a request");
        let response = self.request(request, IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))).await;
        Answer::of(&response)
    }

    /// Runs the tasks as the schedule does: in all partitions. The run may be killed.
    pub(crate) async fn run_all_tasks(&self) -> Result<(), String> {
        let run = Box::pin(tasks::run(self.operator.clone()));
        self.survive(async { run.await.map(drop).map_err(|error| error.to_string()) }).await
    }

    /// Runs the due tasks of these partitions. The run may be killed.
    pub(crate) async fn run_tasks_of(&self, partitions: Vec<TaskPartition>) -> Result<(), String> {
        let run = Box::pin(tasks::run_for(self.operator.clone(), partitions));
        self.survive(async { run.await.map(drop).map_err(|error| error.to_string()) }).await
    }

    /// Moves changes of these tenants to the change feeds. The run may be killed, also before any of its calls.
    pub(crate) async fn run_feed(&self, tenants: &BTreeSet<usize>) -> Result<(), String> {
        let run = Box::pin(feed::run_for(self.operator.clone(), receivers::tenants(tenants)));
        self.survive_calls(async { run.await.map(drop).map_err(|error| error.to_string()) }).await
    }

    /// Moves changes to the change feeds as the schedule does, which reads all partitions. The run may be killed.
    pub(crate) async fn sweep_feed(&self) -> Result<(), String> {
        let run = Box::pin(feed::run(self.operator.clone()));
        self.survive_calls(async { run.await.map(drop).map_err(|error| error.to_string()) }).await
    }

    /// Sends the events of these tenants to their webhook endpoints. The run may be killed.
    pub(crate) async fn deliver(&self, tenants: &BTreeSet<usize>) -> Result<(), String> {
        let run = Box::pin(deliver::run_for(self.operator.clone(), receivers::tenants(tenants)));
        self.survive(async { run.await.map(drop).map_err(|error| error.to_string()) }).await
    }

    /// Resets the usage of finished days. The run may be killed.
    pub(crate) async fn reset_usage(&self) -> Result<(), String> {
        let run = Box::pin(usage_reset::run(self.operator.clone()));
        self.survive(async { run.await.map(drop).map_err(|error| error.to_string()) }).await
    }

    /// Like [`Self::survive`], but many runs are killed before one of their calls.
    async fn survive_calls(&self, run: impl Future<Output = Result<(), String>>) -> Result<(), String> {
        match self.chaos.kill_before_call() {
            None => self.survive(run).await,
            Some(calls) => Life::of_calls(calls, run).await.unwrap_or_else(|| Err("killed".to_owned())),
        }
    }

    async fn survive(&self, run: impl Future<Output = Result<(), String>>) -> Result<(), String> {
        match self.chaos.kill() {
            None => run.await,
            Some(life) => tokio::time::timeout(life, run).await.unwrap_or_else(|_| Err("killed".to_owned())),
        }
    }
}

/// A function whose instance is sometimes killed. A new one knows nothing.
fn function(
    environment: impl Fn() -> Environment + Send + Sync + 'static,
    routes: &'static [Route],
    chaos: Arc<Chaos>,
) -> Function {
    let environment = LazyLock::<_, Box<dyn FnOnce() -> Environment + Send>>::new(Box::new(environment));
    let instance = Arc::new((environment, Mutex::new(None::<App>)));
    Arc::new(move |request| {
        let (instance, chaos) = (instance.clone(), chaos.clone());
        async move {
            let (environment, app) = &*instance;
            let start = || {
                let environment = Environment {
                    known_holders: KnownHolders::default(),
                    known_sites: KnownSites::default(),
                    ..(**environment).clone()
                };
                App::new(environment, routes.to_vec())
            };
            let running =
                app.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(start).clone();
            let life = chaos.kill();
            let answer = Box::pin(running.handle(request));
            let Some(life) = life else { return answer.await };
            if let Ok(response) = tokio::time::timeout(life, answer).await {
                return response;
            }
            *app.lock().unwrap_or_else(PoisonError::into_inner) = None;
            let mut response = Response::new(Body::Empty);
            *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
            response
        }
        .boxed()
    })
}

/// The second member of an organization.
fn second_member(organization: usize, demo: &Demo, now: Timestamp) -> Member {
    let name = Text::parse("Vera").expect("a name").expect("a name");
    let email = second_email(demo).parse().expect("an address");
    let id = Id::new(SECOND_MEMBER + organization as u64).expect("an id");
    let member = Member::invited(id, email, name, MemberRole::Member, now);
    let password = Password::parse(demo.password, &member.email).expect("a password");
    let hash = PasswordHash::of(&password, [7; 16], PasswordCost::LOWEST).expect("a hash");
    Member { password: Some(hash), accepted_at: Some(now), ..member }
}

/// The e-mail address of an organization's second member, whose password is the first one's.
pub(crate) fn second_email(demo: &Demo) -> String {
    format!("vera@{}.example", demo.name.to_lowercase())
}

/// Connects an account on X to each organization's live mode.
async fn connect_x(operator: &Environment) {
    let keys = operator.config.services.sealing_keys.as_ref().expect("keys");
    for demo in &DEMOS {
        let tenant = demo.tenant(Mode::Live).expect("a tenant");
        let expires_at = operator.clock.now() + SignedDuration::from_hours(2);
        let (access, refresh) = (Secret::new("access-1"), Secret::new("refresh-1"));
        let tokens = Tokens { access, refresh, expires_at };
        let account = accounts::connect_x(tenant, "jobs".to_owned(), &tokens, keys, &operator.random);
        let mut transaction = Transaction::new(tenant);
        transaction.put_x_connection(&account.expect("an account")).expect("an account");
        operator.store.commit(transaction).await.expect("an account");
    }
}

fn config(is_simulated: bool) -> Config {
    Config {
        table: TABLE.to_owned(),
        base_url: Some(BASE_URL.to_owned()),
        client_address_header: None,
        edge: Edge::default(),
        dynamodb_endpoint: None,
        signing_keys: demo::signing_keys().expect("keys"),
        credential_keys: demo::credential_keys().expect("keys"),
        settling: Config::SETTLING,
        services: outside::services(is_simulated),
    }
}

/// A handle to the table with its own retries, as each function instance has.
fn store(cloud: &Cloud, seed: u64) -> Store {
    let config = in_process::config(cloud.http_client())
        .retry_partition(RetryPartition::custom(format!("{seed}")).build());
    Store::from_config(config, TABLE)
}
