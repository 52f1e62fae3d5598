//! All functions behind a gateway, with a table that never changes, and without a network.

use std::future::ready;

use rolecall_local::functions;
use rolecall_local::gateway::{Function, Gateway};
use rolecall_local::template::Template;
use rolecall_local::{demo, event_fixtures};
use shared::clock::{Clock, Timestamp};
use shared::config::{Config, Edge, Services};
use shared::http::{Environment, KnownHolders, KnownSites};
use shared::model::PasswordCost;
use shared::providers::Providers;
use shared::providers::client_document::{ClientDocuments, FetchError};
use shared::random::Random;
use shared::token_encryption::EncryptionKeys;
use tokio::runtime::{Builder, Runtime};

use crate::frozen_table::FrozenTable;

/// The base URL of public links.
pub(crate) const BASE_URL: &str = "https://api.rolecall.test";
const TABLE: &str = "rolecall";
/// 2026-11-20T09:30:00Z, the time of the sample events.
const NOW: Timestamp = Timestamp::constant(1_795_167_000, 0);

/// The deployment, with the records that the sample events use.
pub(crate) struct Deployment {
    runtime: Runtime,
    gateway: Gateway,
}

impl Deployment {
    /// Creates a deployment. `wrap` can watch its functions.
    pub(crate) fn new(wrap: impl Fn(Function) -> Function) -> Self {
        let runtime =
            Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let table = FrozenTable::new();
        let config = Config {
            table: TABLE.to_owned(),
            base_url: Some(BASE_URL.to_owned()),
            client_address_header: None,
            edge: Edge::default(),
            dynamodb_endpoint: None,
            signing_keys: demo::signing_keys().expect("keys"),
            credential_keys: demo::credential_keys().expect("keys"),
            settling: Config::SETTLING,
            services: Services {
                simulated: true,
                callback_url: Some(BASE_URL.to_owned()),
                sealing_keys: Some(EncryptionKeys::parse(demo::SEALING_KEYS).expect("a key")),
                ..Services::default()
            },
        };
        let documents = ClientDocuments::from_fn(|_| ready(Err(FetchError::Status(404))));
        let environment = Environment {
            store: table.store(TABLE),
            clock: Clock::from_fn(|| NOW),
            random: Random::seeded(42),
            providers: Providers::with_client_documents(&config, documents),
            config,
            password_cost: PasswordCost::LOWEST,
            known_holders: KnownHolders::default(),
            known_sites: KnownSites::default(),
        };
        runtime.block_on(async {
            environment.store.create_table().await.expect("a table");
            demo::create(&environment).await.expect("demo organizations");
            event_fixtures::create(&environment.store, NOW).await.expect("records");
        });
        table.freeze();
        let template = Template::read(&tests::project("template.yaml")).expect("a template");
        let functions = functions::answering(&environment).into_iter();
        let functions = functions.map(|(name, function)| (name, wrap(function))).collect();
        let gateway = Gateway::new(&template.routes, &functions, environment.clock, environment.random);
        Self { runtime, gateway: gateway.expect("a function for every route") }
    }

    /// Awaits what `send` does with the gateway.
    pub(crate) fn run<'d, T, F: Future<Output = T>>(&'d self, send: impl FnOnce(&'d Gateway) -> F) -> T {
        self.runtime.block_on(send(&self.gateway))
    }
}
