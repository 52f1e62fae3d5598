//! The DynamoDB that the tests run on: which one, where it is, and what is known to be wrong with it.
//!
//! `ROLECALL_TEST_ENDPOINT` names another than the embedded one; several addresses of equals, separated by commas, share
//! the worlds. `ROLECALL_TEST_ENGINE` says which implementation is there, where it is not Amazon's.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, SharedHttpClient};
use shared::random::Random;
use shared::store::Store;

use super::wire::{AskForCapacity, Wire};

/// An implementation of DynamoDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A part of this process; each world has its own.
    Embedded,
    /// DynamoDB itself, or Amazon's DynamoDB Local.
    Amazon,
    /// moto, one Python process for each address.
    Moto,
}

/// Where an implementation does not do what Amazon's documentation says, and a test notices. A test of its own
/// demonstrates each (`tests/api/engine.rs`) and fails once it is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A transaction is made once more when it is sent again with its `ClientRequestToken`. By Amazon's API reference
    /// of `TransactWriteItems`, identical calls with one token, within ten minutes, have the effect of one.
    TokensIgnored,
    /// `ConsumedCapacity` is the same whatever was consumed, and missing from transactions. By Amazon's developer guide,
    /// "DynamoDB read and write operations", a read takes half a unit or one for every 4 KB.
    CapacityInvented,
}

impl Engine {
    /// What the environment asks for.
    pub fn chosen() -> Self {
        match (std::env::var("ROLECALL_TEST_ENGINE").as_deref(), addresses().is_empty()) {
            (Err(_), true) => Self::Embedded,
            (Err(_), false) => Self::Amazon,
            (Ok("moto"), false) => Self::Moto,
            (name, _) => {
                panic!("ROLECALL_TEST_ENGINE is {name:?}: nothing, or moto with ROLECALL_TEST_ENDPOINT")
            }
        }
    }

    /// Whether this is wrong with it.
    pub fn has(self, flaw: Flaw) -> bool {
        match flaw {
            Flaw::TokensIgnored | Flaw::CapacityInvented => self == Self::Moto,
        }
    }

    /// Whether it answers one request after the other, and each takes it some milliseconds; a query more of them, the
    /// more there is in the table, whatever it is for. Such an engine is given time, and tests with very many items or
    /// requests do with a tenth.
    pub fn is_slow(self) -> bool {
        self == Self::Moto
    }

    /// This number of items or requests, or a tenth of it.
    pub fn many(self, number: u64) -> u64 {
        if self.is_slow() { number / 10 } else { number }
    }

    /// The table `table`, every call going through `http`.
    pub async fn store(self, http: SharedHttpClient, endpoint: &str, table: &str) -> Store {
        let store = Store::configured(self.client(http, endpoint).await, table);
        if self.is_slow() { store.patient(Duration::from_mins(1)) } else { store }
    }

    /// A client of it: over HTTPS with the credentials and the region that Amazon's usual variables name, or else with any.
    pub async fn client(self, http: SharedHttpClient, endpoint: &str) -> Builder {
        let builder = if is_secure(endpoint) {
            let shared = aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await;
            Builder::from(&shared)
        } else {
            Builder::new()
                .behavior_version(BehaviorVersion::latest())
                .http_client(http)
                .region(Region::from_static("us-east-1"))
                .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        };
        builder.endpoint_url(endpoint).interceptor(AskForCapacity)
    }
}

/// The next world's address; `None` where it has an embedded engine.
pub(super) fn next_address() -> Option<&'static str> {
    static WORLDS: AtomicUsize = AtomicUsize::new(0);
    let addresses = addresses();
    let number = WORLDS.fetch_add(1, Ordering::Relaxed);
    number.checked_rem(addresses.len()).map(|place| addresses[place].as_str())
}

pub(super) fn is_secure(endpoint: &str) -> bool {
    endpoint.starts_with("https:")
}

fn addresses() -> &'static [String] {
    static ADDRESSES: OnceLock<Vec<String>> = OnceLock::new();
    ADDRESSES.get_or_init(|| {
        let named = std::env::var("ROLECALL_TEST_ENDPOINT").unwrap_or_default();
        named.split(',').filter(|address| !address.is_empty()).map(str::to_owned).collect()
    })
}

/// A table that no other world has, not even one of another run.
pub(super) fn new_table() -> String {
    static RUN: OnceLock<String> = OnceLock::new();
    static TABLES: AtomicUsize = AtomicUsize::new(0);
    let run = RUN.get_or_init(|| Random::system().expect("randomness").token(10));
    format!("rolecall-test-{run}-{}", TABLES.fetch_add(1, Ordering::Relaxed))
}

/// Deletes a table of an engine that outlives this process, when it is dropped.
pub(super) struct Borrowed {
    pub(super) engine: Engine,
    pub(super) endpoint: String,
    pub(super) table: String,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if self.engine == Engine::Embedded {
            return;
        }
        // The test's own runtime may be about to end, and cannot be waited for here.
        let deleted = std::thread::scope(|scope| {
            let delete = async {
                let wire = Wire::new();
                self.engine.store(wire.client(), &self.endpoint, &self.table).await.delete_table().await
            };
            let thread = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(delete)
            });
            thread.join()
        });
        if !matches!(deleted, Ok(Ok(()))) {
            eprintln!("the table {} is left behind: {deleted:?}", self.table);
        }
    }
}
