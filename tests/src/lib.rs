//! The test harness of the API. It calls the real functions with real gateway events, a DynamoDB and a fixed clock.
//! `tests/README.md` gives an overview.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a panic in a test is a failure"
)]

pub mod altered;
pub mod assistant;
pub mod browser;
mod call_kinds;
pub mod careers;
pub mod chart;
mod compression;
pub mod contract;
pub mod dashboard;
pub mod engine;
pub mod fake;
pub mod generated;
pub mod interceptor;
pub mod mcp_fixtures;
pub mod metric_filters;
pub mod oauth;
pub mod openapi;
pub mod passkeys;
pub mod permissions;
mod project;
pub mod weighted_length;

// Tests use these crates, which need other crates or features of them. The library links them, so that `cargo test` does
// not compile the dependencies of `cargo run` again.
use cfb as _;
use proptest as _;
use rmcp as _;
use scraper as _;
use tempfile as _;
use tiktoken_rs as _;

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{HeaderName, IntoHeaderName, SET_COOKIE};
use http::{HeaderMap, Method};
use jiff::SignedDuration;
use rolecall_local::bucket::{BUCKET, LocalBucket};
use rolecall_local::company;
use rolecall_local::demo::{self, DEMOS};
use rolecall_local::functions;
use rolecall_local::gateway::{Function, Gateway};
use rolecall_local::server::{self, Host};
use rolecall_local::template::Template;
use serde_json::{Value, json};
use shared::auth::{Claims, Credential, Kind};
use shared::clock::{Clock, Timestamp, later};
use shared::config::{Config, Edge, Services};
use shared::http::{App, Environment, KnownHolders, KnownSites};
use shared::id::{Id, Ids};
use shared::model::{
    Day, ImportStatus, Mode, OrganizationSettings, PasswordCost, Role, RoleContent, Scopes, Source, Tenant,
    Text,
};
use shared::providers::Providers;
use shared::providers::client_document::ClientDocuments;
use shared::random::Random;
use shared::store::{Holder, HolderDetails, MaybeErased, Store, Task, Transaction};
use shared::token_encryption::EncryptionKeys;
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, watch};

use compression::uncompressed;
use contract::ContractMonitor;
use engine::{Original, Records, Table};
use interceptor::{DynamoDbInterceptor, Fault};
use permissions::Running;

pub use project::{BASE_URL, project, sources};
pub use rolecall_local::event_fixtures;

/// The index of the demo organization Acme in [`DEMOS`].
pub const ACME: usize = 0;
/// The index of the demo organization Globex in [`DEMOS`].
pub const GLOBEX: usize = 1;

/// The default source IP address of requests.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A clock that changes only when a test sets it.
#[derive(Clone)]
pub struct TestClock(Arc<AtomicI64>);

impl TestClock {
    /// Sets the clock.
    pub fn set(&self, time: &str) {
        let time: Timestamp = time.parse().expect("a timestamp");
        self.0.store(time.as_millisecond(), Ordering::SeqCst);
    }

    fn as_clock(&self) -> Clock {
        let ms = self.0.clone();
        Clock::from_fn(move || Timestamp::from_millisecond(ms.load(Ordering::SeqCst)).expect("a time"))
    }
}

/// The API with its own table, and everything that a test needs to control it.
pub struct TestApi {
    /// The gateway with every function behind it.
    pub gateway: Arc<Gateway>,
    /// The environment of the functions.
    pub environment: Environment,
    /// The clock, which starts at 2026-11-20T09:30:00Z.
    pub clock: TestClock,
    /// The interceptor of calls to DynamoDB.
    pub dynamodb: DynamoDbInterceptor,
    /// The bucket, which permits the functions what their policies do.
    pub files: Arc<LocalBucket>,
    running: Running,
    /// The monitor that compares requests and responses with the OpenAPI document.
    pub contract_monitor: ContractMonitor,
    _table: Table,
    /// Stops the background servers when it is dropped.
    _shutdown: watch::Sender<()>,
}

impl TestApi {
    /// Creates an API with the demo organizations and with simulators of all external services.
    pub async fn new() -> Self {
        Self::with_services(Services { simulated: true, ..Services::default() }).await
    }

    /// Creates an API with these external services. If `services` has no callback URL, callbacks go to a server on the
    /// loopback interface.
    pub async fn with_services(services: Services) -> Self {
        Box::pin(Self::build(Records::Demo, services, Providers::new)).await
    }

    /// Creates an API that also has the records of the sample events.
    pub async fn with_sample_records(services: Services) -> Self {
        Box::pin(Self::build(Records::SampleEvents, services, Providers::new)).await
    }

    /// Creates an API that also has the roles and people of the demo company.
    pub async fn with_demo_company() -> Self {
        let services = Services { simulated: true, ..Services::default() };
        Box::pin(Self::build(Records::DemoCompany, services, Providers::new)).await
    }

    /// Creates an API with these metadata documents of OAuth clients.
    pub async fn with_documents(documents: ClientDocuments) -> Self {
        let services = Services { simulated: true, ..Services::default() };
        let providers = |config: &Config| Providers::with_client_documents(config, documents);
        Box::pin(Self::build(Records::Demo, services, providers)).await
    }

    async fn build(
        records: Records,
        services: Services,
        providers: impl FnOnce(&Config) -> Providers,
    ) -> Self {
        let table = match engine::shared_endpoint() {
            Some(_) => Table::in_shared(records),
            None => Table::embedded(Self::original(records).await.copy(), None),
        };
        Self::with_table(table, services, providers).await
    }

    /// The database that test APIs with these records begin with.
    async fn original(records: Records) -> &'static Original {
        static DEMO: OnceCell<Original> = OnceCell::const_new();
        static SAMPLE_EVENTS: OnceCell<Original> = OnceCell::const_new();
        static DEMO_COMPANY: OnceCell<Original> = OnceCell::const_new();
        let original = match records {
            Records::Demo => &DEMO,
            Records::SampleEvents => &SAMPLE_EVENTS,
            Records::DemoCompany => &DEMO_COMPANY,
        };
        let create = || async {
            let original = Original::of(records);
            let table = Table::embedded(original.database.clone(), Some(records));
            Self::with_table(table, Services::default(), Providers::new).await;
            original
        };
        original.get_or_init(create).await
    }

    async fn with_table(
        table: Table,
        services: Services,
        providers: impl FnOnce(&Config) -> Providers,
    ) -> Self {
        let (shutdown, stopped) = watch::channel(());
        let dynamodb = table.interceptor();
        let clock = TestClock(Arc::default());
        clock.set("2026-11-20T09:30:00Z");
        let callbacks = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a loopback port");
        let bucket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a loopback port");
        let url = |listener: &TcpListener| format!("http://{}", listener.local_addr().expect("an address"));
        let loopback = url(&callbacks);
        let config = Config {
            table: table.name.clone(),
            base_url: Some(BASE_URL.to_owned()),
            client_address_header: None,
            edge: Edge {
                security_contact: Some("mailto:security@example.com".to_owned()),
                ..Edge::default()
            },
            dynamodb_endpoint: None,
            signing_keys: demo::signing_keys().expect("keys"),
            credential_keys: demo::credential_keys().expect("keys"),
            settling: Config::SETTLING,
            services: Services {
                resumes: Some(LocalBucket::access(&url(&bucket))),
                callback_url: services.callback_url.or(Some(loopback)),
                sealing_keys: services.sealing_keys.or_else(|| {
                    let keys = EncryptionKeys::parse(demo::SEALING_KEYS).expect("a key");
                    services.simulated.then_some(keys)
                }),
                ..services
            },
        };
        let environment = Environment {
            store: engine::store(dynamodb.client(), &table.name).await,
            clock: clock.as_clock(),
            random: Random::seeded(42),
            providers: providers(&config),
            config,
            // The tests check what is done with passwords, not how long it takes.
            password_cost: PasswordCost::LOWEST,
            known_holders: KnownHolders::default(),
            known_sites: KnownSites::default(),
        };
        if let Some(records) = table.missing {
            environment.store.create_table().await.expect("a table");
            demo::create(&environment).await.expect("demo organizations");
            match records {
                Records::Demo => {}
                Records::SampleEvents => {
                    let created = event_fixtures::create(&environment.store, environment.clock.now());
                    created.await.expect("the records of the sample events");
                }
                Records::DemoCompany => {
                    let staff = DEMOS[ACME].staff().expect("the members");
                    company::create(&environment, &staff).await.expect("the demo company");
                    feed::run_for(environment.clone(), demo::tenants()).await.expect("the search index");
                }
            }
        }
        // The functions have served requests of the demo keys before, on the same day.
        for (demo, mode) in DEMOS.iter().flat_map(|demo| Mode::ALL.map(|mode| (demo, mode))) {
            let key = demo.key(mode).expect("a key");
            let holder = Holder::Key(key.id());
            let details = environment.store.find_holder(key.tenant(), holder).await.expect("a table");
            let today = Some(Day::of(environment.clock.now()));
            let details = HolderDetails { last_used_on: today, ..details.expect("a holder") };
            environment.known_holders.insert(key.tenant(), holder, Arc::new(details));
            let found = environment.store.find_organization(key.tenant()).await.expect("a table");
            let organization = found.expect("an organization").organization;
            environment.known_holders.admit(&organization, false);
            environment.known_sites.remember(&organization.slug, Some(organization.tenant()));
        }
        let contract_monitor = ContractMonitor::default();
        let running = Running::default();
        let gateway = gateway(&environment, &contract_monitor, &running);
        let permits = running.clone();
        let files = LocalBucket::in_memory(BUCKET);
        let files =
            Arc::new(files.permitting(Box::new(move |action: &str, key: &str| permits.may(action, key))));
        let host = Host::Bucket(files.clone(), clock.as_clock());
        tokio::spawn(server::serve(bucket, host, until(stopped.clone())));
        let loopback = "127.0.0.1".parse().expect("a host");
        tokio::spawn(server::serve(callbacks, Host::Gateway(gateway.clone(), loopback), until(stopped)));
        dynamodb.clear_calls();
        Self {
            gateway,
            environment,
            clock,
            dynamodb,
            files,
            running,
            contract_monitor,
            _table: table,
            _shutdown: shutdown,
        }
    }

    /// Restarts the functions with the current environment.
    pub fn restart(&mut self) {
        self.gateway = gateway(&self.environment, &self.contract_monitor, &self.running);
    }

    /// Replaces the tools, prompts and resources of the MCP endpoint with fixtures.
    pub fn serve_mcp_fixtures(&mut self) {
        let mut functions = functions::answering(&self.environment);
        let app = App::new(self.environment.clone(), mcp_fixtures::routes());
        let fixtures: Function = Arc::new(move |request| {
            let app = app.clone();
            async move { app.handle(request).await }.boxed()
        });
        functions.insert("McpFunction".to_owned(), fixtures);
        self.gateway = gateway_to(functions, &self.environment, &self.contract_monitor, &self.running);
    }

    /// Builds a request to `path` with Acme's live key.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder<'_> {
        let request = RequestBuilder {
            api: self,
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            source: LOOPBACK,
        };
        request.key(ACME, Mode::Live)
    }

    /// Sends a GET request with Acme's live key.
    pub async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await
    }

    /// Sends a POST request with a JSON body and Acme's live key.
    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.request(Method::POST, path).json(&body).send().await
    }

    /// Sends a PATCH request with a JSON body and Acme's live key.
    pub async fn patch(&self, path: &str, body: Value) -> Response {
        self.request(Method::PATCH, path).json(&body).send().await
    }

    /// Sends a DELETE request with Acme's live key.
    pub async fn delete(&self, path: &str) -> Response {
        self.request(Method::DELETE, path).send().await
    }

    /// Runs a job of a function, whose requests to the table and to the bucket are checked.
    async fn run_as<T>(&self, function: &str, job: impl Future<Output = T>) -> T {
        permissions::run_as(function, self.running.during(function, job)).await
    }

    /// Runs the background tasks of the demo organizations that are due.
    pub async fn run_tasks(&self) -> tasks::Summary {
        let run = tasks::run_for(self.environment.clone(), demo::task_partitions());
        Box::pin(self.run_as("TasksFunction", run)).await.expect("tasks")
    }

    /// Runs the tasks, but the table answers only so many calls besides those that list tasks. Returns whether they were enough.
    pub async fn run_tasks_with(&self, calls: usize) -> bool {
        let seen = AtomicUsize::new(0);
        self.dynamodb.inject_faults(move |operation, request| {
            let lists_tasks = operation == "Query" && request.to_string().contains("\"TASK#");
            let is_dead = !lists_tasks && seen.fetch_add(1, Ordering::SeqCst) >= calls;
            is_dead.then_some(Fault::Unreachable)
        });
        let run = tasks::run_for(self.environment.clone(), demo::task_partitions()).await;
        self.dynamodb.inject_faults(|_, _| None);
        run.is_ok()
    }

    /// Lets the time pass after which others take over what a killed run works on.
    pub fn let_leases_end(&self) {
        let now = later(self.environment.clock.now(), SignedDuration::from_secs(200));
        self.clock.set(&now.to_string());
    }

    /// Runs the background tasks of all organizations that are due, as the schedule does.
    pub async fn run_all_tasks(&self) -> tasks::Summary {
        let run = tasks::run(self.environment.clone());
        Box::pin(self.run_as("TasksFunction", run)).await.expect("tasks")
    }

    /// Sends events to the webhook endpoints, as the schedule does.
    pub async fn deliver(&self) -> deliver::Summary {
        let run = deliver::run(self.environment.clone());
        Box::pin(self.run_as("DeliverFunction", run)).await.expect("deliveries")
    }

    /// Moves the changes of the demo organizations to their feeds.
    pub async fn run_feed(&self) -> feed::Summary {
        let run = feed::run_for(self.environment.clone(), demo::tenants());
        Box::pin(self.run_as("FeedFunction", run)).await.expect("the feed")
    }

    /// Writes what is still missing in the search index, as the function for the feed does moments after each change. These
    /// calls are not recorded and do not fail.
    async fn write_index(&self) {
        let store = engine::store(self.dynamodb.another().client(), &self.environment.config.table).await;
        let environment = Environment { store, random: Random::seeded(43), ..self.environment.clone() };
        Box::pin(feed::run_for(environment, demo::tenants())).await.expect("the search index");
    }

    /// Moves the changes of all organizations to their feeds, as the schedule does.
    pub async fn run_whole_feed(&self) -> feed::Summary {
        let run = feed::run(self.environment.clone());
        Box::pin(self.run_as("FeedFunction", run)).await.expect("the feed")
    }

    /// The tasks of the demo organizations that are due at this time.
    pub async fn due_tasks(&self, now: Timestamp) -> Vec<Task> {
        let mut tasks = Vec::new();
        for partition in demo::task_partitions() {
            tasks.extend(self.store().list_due_tasks(partition, now, usize::MAX).await.expect("tasks").tasks);
        }
        tasks
    }

    /// Sets the country, the time zone and the contact address of an organization. A blank value is none.
    pub async fn change_settings(&self, tenant: Tenant, [country, time_zone, email]: [&str; 3]) {
        let change = |before: &OrganizationSettings| {
            let zone = time_zone.parse().expect("a time zone");
            let (country, contact_email) = (country.parse().ok(), email.parse().ok());
            before.change(OrganizationSettings { country, time_zone: zone, contact_email, ..before.clone() })
        };
        self.store().change_organization_settings(tenant, change).await.expect("settings");
    }

    /// Stores roles directly in Acme's live mode, fifty per transaction.
    pub async fn write_roles(&self, roles: &[Role]) {
        for chunk in roles.chunks(50) {
            let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
            for role in chunk {
                transaction.insert_role(role).expect("an item");
            }
            self.store().commit(transaction).await.expect("roles");
        }
    }

    /// Stores open roles of Acme with these ids, without postings.
    pub async fn write_open_roles(&self, ids: RangeInclusive<u64>) {
        let now = self.environment.clock.now();
        let role = |number| {
            let content = RoleContent::titled(Text::parse("Engineer").expect("text").expect("a title"));
            Role::draft(Id::new(number).expect("an id"), content, now).publish(now).expect("a draft")
        };
        self.write_roles(&ids.map(role).collect::<Vec<_>>()).await;
    }

    /// Stores applications of one of Acme's candidates for these roles, without a history. Each transaction adds several,
    /// because a request for each would take a minute for 200 of them.
    pub async fn write_applications(&self, candidate: u64, roles: RangeInclusive<u64>) {
        let (tenant, store, now) = (tenant(ACME, Mode::Live), self.store(), self.environment.clock.now());
        let ids = Ids::new(self.environment.clock.clone(), self.environment.random.clone());
        let candidate = Id::new(candidate).expect("an id");
        let roles: Vec<_> = roles.map(|role| Id::new(role).expect("an id")).collect();
        for chunk in roles.chunks(15) {
            let found = store.find_roles(tenant, chunk.iter().copied()).await.expect("roles");
            let before = store.find_candidate(tenant, candidate).await.expect("a read");
            let before = before.and_then(MaybeErased::present).expect("a candidate");
            let after = chunk.iter().fold(before.clone(), |record, role| {
                record.apply(ids.next(), &found[role], Source::API, now).expect("an application")
            });
            let mut transaction = Transaction::new(tenant);
            transaction.replace_candidate(&before, &after, &[]).expect("items");
            store.commit(transaction).await.expect("applications");
        }
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.environment.store
    }

    /// Returns all items of the table by their keys.
    pub async fn stored_items(&self) -> BTreeMap<(String, String), HashMap<String, AttributeValue>> {
        let config = engine::client(self.dynamodb.client()).await;
        let scan = Client::from_conf(config.build()).scan().table_name(&self.environment.config.table);
        let items: Vec<_> =
            scan.into_paginator().items().send().collect::<Result<_, _>>().await.expect("items");
        let key = |item: &HashMap<_, AttributeValue>, name| item[name].as_s().expect("a key").clone();
        items.into_iter().map(|item| ((key(&item, "pk"), key(&item, "sk")), item)).collect()
    }

    /// Replaces all items of the table, as a restored backup does.
    pub async fn restore(&self, items: &BTreeMap<(String, String), HashMap<String, AttributeValue>>) {
        let config = engine::client(self.dynamodb.client()).await;
        let (client, table) = (Client::from_conf(config.build()), &self.environment.config.table);
        for ((pk, sk), _) in self.stored_items().await.iter().filter(|(key, _)| !items.contains_key(*key)) {
            let call = client.delete_item().table_name(table).key("pk", AttributeValue::S(pk.clone()));
            call.key("sk", AttributeValue::S(sk.clone())).send().await.expect("a deletion");
        }
        self.write_items(items.values().cloned()).await;
    }

    /// Writes items as they are, as another release would.
    pub async fn write_items(&self, items: impl IntoIterator<Item = HashMap<String, AttributeValue>>) {
        let config = engine::client(self.dynamodb.client()).await;
        let (client, table) = (Client::from_conf(config.build()), &self.environment.config.table);
        for item in items {
            client.put_item().table_name(table).set_item(Some(item)).send().await.expect("a write");
        }
    }
}

/// One resource of each kind, in Acme's live mode.
#[derive(Clone, Copy, Debug)]
pub struct Fixtures {
    /// An open role.
    pub role: u64,
    /// Its published posting.
    pub posting: u64,
    /// A candidate who has applied for the role.
    pub candidate: u64,
    /// The candidate's application for the role.
    pub application: u64,
    /// The candidate's voice screen, before its call.
    pub screen: u64,
    /// A note about the candidate.
    pub note: u64,
    /// A file of the candidate.
    pub file: u64,
    /// A form that the candidate submitted.
    pub submission: u64,
    /// A webhook endpoint.
    pub webhook_endpoint: u64,
    /// A delivery to the endpoint.
    pub delivery: u64,
    /// An import that is checked.
    pub import: u64,
    /// An export that is being written.
    pub export: u64,
}

impl Fixtures {
    /// Creates the resources through the API.
    pub async fn new(api: &TestApi) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let posted = api.post("/api/v1/quick_post", json!({ "role": { "title": "x" } })).await.expect(201);
        let (role, posting) = (posted.number("/role/id"), posted.number("/job_posting/id"));
        let jane = json!({ "name": "Jane", "email": format!("jane{number}@example.com"), "role_id": role });
        let candidate = api.post("/api/v1/candidates", jane).await.expect(201).number("/id");
        let detail = api.get(&format!("/api/v1/candidates/{candidate}")).await.expect(200);
        let application = detail.number("/applications/0/id");
        let invite = format!("/api/v1/candidates/{candidate}/invite_screen");
        let screen = api.post(&invite, json!({ "role_id": role })).await.expect(201).number("/id");
        let notes = format!("/api/v1/candidates/{candidate}/notes");
        let note = api.post(&notes, json!({ "text": "x" })).await.expect(201).number("/id");
        let (webhook_endpoint, delivery) = (9_000_000_000_001, 9_000_000_000_002);
        create_webhook_endpoint(api, webhook_endpoint, delivery).await;
        let import = 9_000_000_000_004;
        create_import(api, import).await;
        let export = 9_000_000_000_005;
        create_export(api, export).await;
        let submission = create_submission(api, candidate, application, role).await;
        let file = json!({ "name": "x", "kind": "other", "content": "SGVsbG8=" });
        let files = format!("/api/v1/candidates/{candidate}/files");
        let file = api.post(&files, file).await.expect(201).number("/id");
        Self {
            role,
            posting,
            candidate,
            application,
            screen,
            note,
            file,
            submission,
            webhook_endpoint,
            delivery,
            import,
            export,
        }
    }

    /// Returns the path of a route with the ids of these resources.
    pub fn path(&self, path: &str) -> String {
        let with_id = path.replace("{id}", &self.id(path).to_string());
        let with_id = with_id.replace("{note_id}", &self.note.to_string());
        let with_id = with_id.replace("{file_id}", &self.file.to_string());
        let with_id = with_id.replace("{submission_id}", &self.submission.to_string());
        let with_id = with_id.replace("{number}", "1");
        with_id.replace("{delivery_id}", &self.delivery.to_string())
    }

    /// Returns the id of the resource that a path with `{id}` refers to.
    fn id(&self, path: &str) -> u64 {
        match path.split('/').nth(3) {
            Some("job_postings") => self.posting,
            Some("applications") => self.application,
            Some("candidates") => self.candidate,
            Some("voice_screens") => self.screen,
            Some("webhook_endpoints") => self.webhook_endpoint,
            Some("imports") => self.import,
            Some("exports") => self.export,
            _ => self.role,
        }
    }
}

/// Stores a form that a candidate submitted.
async fn create_submission(api: &TestApi, candidate: u64, application: u64, role: u64) -> u64 {
    let (submission, now) = (9_000_000_000_003, api.environment.clock.now());
    let [id, candidate, application, role] =
        [submission, candidate, application, role].map(|id| Id::new(id).expect("an id"));
    let form = event_fixtures::submission(id, application, role, now).expect("a form");
    let mut transaction = Transaction::new(tenant(ACME, Mode::Live));
    transaction.insert_submission(candidate, &form).expect("an item");
    api.store().commit(transaction).await.expect("a commit");
    submission
}

/// Stores an import that is checked, unless it exists.
async fn create_import(api: &TestApi, import: u64) {
    let (store, tenant, now) = (api.store(), tenant(ACME, Mode::Live), api.environment.clock.now());
    let import = Id::new(import).expect("an id");
    if store.find_import(tenant, import).await.expect("a read").is_none() {
        let created = event_fixtures::create_import(store, tenant, import, ImportStatus::Checked, now);
        created.await.expect("an import");
    }
}

/// Stores an export that is being written, unless it exists.
async fn create_export(api: &TestApi, export: u64) {
    let (store, tenant, now) = (api.store(), tenant(ACME, Mode::Live), api.environment.clock.now());
    let export = Id::new(export).expect("an id");
    if store.find_export(tenant, export).await.expect("a read").is_none() {
        event_fixtures::create_export(store, tenant, export, now).await.expect("an export");
    }
}

/// Stores an endpoint with a delivery, unless it exists.
async fn create_webhook_endpoint(api: &TestApi, endpoint: u64, delivery: u64) {
    let (store, tenant, now) = (api.store(), tenant(ACME, Mode::Live), api.environment.clock.now());
    let [endpoint, delivery] = [endpoint, delivery].map(|id| Id::new(id).expect("an id"));
    if store.find_webhook_endpoint(tenant, endpoint).await.expect("a read").is_none() {
        let url = event_fixtures::WEBHOOK_URL;
        let created = event_fixtures::create_webhook_endpoint(store, tenant, endpoint, url, now);
        created.await.expect("an endpoint");
    }
    if store.find_delivery(tenant, endpoint, delivery, now).await.expect("a read").is_none() {
        event_fixtures::create_delivery(store, tenant, endpoint, delivery, now).await.expect("a delivery");
    }
}

/// The SAM template of the project.
pub static TEMPLATE: LazyLock<Template> =
    LazyLock::new(|| Template::read(&project("template.yaml")).expect("template.yaml"));

/// Returns a new credential with all scopes, which the table does not contain.
pub fn new_credential(kind: Kind, tenant: Tenant, id: Id, random: &Random) -> Credential {
    let access = Claims { scopes: Scopes::all(), expires_at: None, ..Claims::default() };
    Credential::generate(kind, tenant, id, access, &demo::credential_keys().expect("keys"), random)
}

/// Parses a credential of the service.
pub fn read_credential(text: &str) -> Credential {
    Credential::read(text, &demo::credential_keys().expect("keys")).expect("a credential")
}

/// Returns a demo organization's API key.
pub fn key(demo: usize, mode: Mode) -> String {
    DEMOS[demo].key(mode).expect("a key").reveal().to_owned()
}

/// Returns the actor of changes that are made with a demo organization's API key.
pub fn key_actor(demo: usize, mode: Mode) -> Value {
    let key = DEMOS[demo].key(mode).expect("a key");
    json!({ "type": "api_key", "id": key.id(), "name": format!("{} demonstration", DEMOS[demo].name) })
}

/// Returns a demo organization's tenant.
pub fn tenant(demo: usize, mode: Mode) -> Tenant {
    DEMOS[demo].tenant(mode).expect("a tenant")
}

/// Returns the gateway with every function behind it. The monitor checks every request and response.
fn gateway(environment: &Environment, monitor: &ContractMonitor, running: &Running) -> Arc<Gateway> {
    gateway_to(functions::answering(environment), environment, monitor, running)
}

fn gateway_to(
    functions: BTreeMap<String, Function>,
    environment: &Environment,
    monitor: &ContractMonitor,
    running: &Running,
) -> Arc<Gateway> {
    let gateway = Gateway::new(
        &TEMPLATE.routes,
        &functions
            .into_iter()
            .map(|(name, function)| {
                let function = running.wrap(&name, monitor.wrap(once(&name, function)));
                let function = permissions::wrap(&name, function);
                (name, function)
            })
            .collect(),
        environment.clock.clone(),
        environment.random.clone(),
    );
    Arc::new(gateway.expect("a function for every route"))
}

/// The same function, which panics if it sets a header twice. Of each header, the gateway gets only the first value, except
/// of cookies.
fn once(name: &str, function: Function) -> Function {
    let name = name.to_owned();
    Arc::new(move |request| {
        let (name, response) = (name.clone(), function(request));
        async move {
            let response = response.await;
            let headers = response.headers();
            let is_twice =
                |name: &&HeaderName| **name != SET_COOKIE && headers.get_all(*name).iter().nth(1).is_some();
            assert_eq!(headers.keys().find(is_twice), None, "{name} sets a header twice");
            response
        }
        .boxed()
    })
}

async fn until(mut stopped: watch::Receiver<()>) {
    // An error means that the test API was dropped.
    let _ = stopped.changed().await;
}

/// Builds and sends a request.
pub struct RequestBuilder<'a> {
    api: &'a TestApi,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
    source: IpAddr,
}

impl RequestBuilder<'_> {
    /// Replaces the credential with an organization's key.
    #[must_use]
    pub fn key(self, demo: usize, mode: Mode) -> Self {
        self.bearer(&key(demo, mode))
    }

    /// Replaces the credential.
    #[must_use]
    pub fn bearer(self, credential: &str) -> Self {
        self.header("authorization", &format!("Bearer {credential}"))
    }

    /// Sets the source IP address, which is 127.0.0.1 by default.
    #[must_use]
    pub fn from(self, source: &str) -> Self {
        Self { source: source.parse().expect("an address"), ..self }
    }

    /// Removes the credential.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.headers.remove("authorization");
        self
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: impl IntoHeaderName, value: &str) -> Self {
        self.headers.insert(name, value.parse().expect("a header value"));
        self
    }

    /// Sets a header whose value may contain any bytes.
    #[must_use]
    pub fn header_value(mut self, name: &'static str, value: http::HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Adds a header, even if the request already has one with this name.
    #[must_use]
    pub fn append_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(name, value.parse().expect("a header value"));
        self
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// Sets a body.
    #[must_use]
    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    /// Sends the request.
    pub async fn send(self) -> Response {
        if is_search(&self.path, &self.body) {
            self.api.write_index().await;
        }
        self.send_at_once().await
    }

    /// Sends the request, although the search index may be behind.
    pub async fn send_at_once(self) -> Response {
        let mut request =
            http::Request::builder().method(self.method).uri(&self.path).body(self.body).expect("a request");
        *request.headers_mut() = self.headers;
        request.headers_mut().entry("host").or_insert("api.rolecall.test".parse().expect("a host"));
        let response = self.api.gateway.send(request, self.source).await;
        Response::read(response)
    }
}

/// Whether a request may read the search index or a list by label, which follow the changes of people by moments.
fn is_search(target: &str, body: &[u8]) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (tools, body) =
        (["search_candidates", "get_candidate", "prompts/get"], String::from_utf8_lossy(body));
    path == "/mcp" && tools.iter().any(|tool| body.contains(tool))
        || path.contains("/candidates")
            && ["q=", "search=", "label=", "label%3D"].iter().any(|name| query.contains(name))
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as JSON, or `null` if it is not JSON.
    pub body: Value,
    /// The body as text, without its compression.
    pub text: String,
}

impl Response {
    /// Reads an HTTP response.
    pub fn read(response: http::Response<Bytes>) -> Self {
        let (parts, body) = response.into_parts();
        let text = String::from_utf8_lossy(&uncompressed(&parts.headers, &body)).into_owned();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Self { status: parts.status.as_u16(), headers: parts.headers, body, text }
    }

    /// Returns a header's value, or an empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| str::from_utf8(value.as_bytes()).ok()).unwrap_or_default()
    }

    /// Asserts the status and returns the response.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "the assertion may be the only purpose")]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Returns a number in the body.
    #[track_caller]
    pub fn number(&self, pointer: &str) -> u64 {
        self.body
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("{pointer} in {}", self.text))
    }

    /// Returns a string in the body.
    #[track_caller]
    pub fn string(&self, pointer: &str) -> &str {
        self.body
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{pointer} in {}", self.text))
    }

    /// Returns the messages of a validation error.
    pub fn messages(&self) -> Vec<&str> {
        self.body["messages"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }
}
