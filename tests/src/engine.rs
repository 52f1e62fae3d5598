//! The DynamoDB that the tests run on: the embedded one, or the one whose address `ROLECALL_TEST_ENDPOINT` is.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, SharedHttpClient};
use shared::random::Random;
use shared::store::Store;

use super::wire::{AskForCapacity, Wire};

/// The table `table` of the DynamoDB at `endpoint`, every call going through `http`. It is patient, so that no test fails
/// because the machine is busy.
pub async fn store(http: SharedHttpClient, endpoint: &str, table: &str) -> Store {
    Store::patient(client(http, endpoint).await, table)
}

/// A client of the DynamoDB at `endpoint`: over HTTPS with the credentials and the region that Amazon's usual variables
/// name, or else with any.
pub async fn client(http: SharedHttpClient, endpoint: &str) -> Builder {
    let builder = if endpoint.starts_with("https:") {
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

/// The address of the DynamoDB that all worlds share; `None` where each has an embedded one.
pub(super) fn shared_address() -> Option<String> {
    std::env::var("ROLECALL_TEST_ENDPOINT").ok()
}

/// A table that no other world has, not even one of another run.
pub(super) fn new_table() -> String {
    static RUN: OnceLock<String> = OnceLock::new();
    static TABLES: AtomicUsize = AtomicUsize::new(0);
    let run = RUN.get_or_init(|| Random::system().expect("randomness").token(10));
    format!("rolecall-test-{run}-{}", TABLES.fetch_add(1, Ordering::Relaxed))
}

/// Deletes a table of a DynamoDB that outlives this process, when it is dropped.
pub(super) struct Borrowed {
    pub(super) endpoint: String,
    pub(super) table: String,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // The test's own runtime may be about to end, and cannot be waited for here.
        let deleted = std::thread::scope(|scope| {
            let delete = async {
                let wire = Wire::new();
                store(wire.client(), &self.endpoint, &self.table).await.delete_table().await
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
