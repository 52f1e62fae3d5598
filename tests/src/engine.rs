//! The DynamoDB that the tests use: an embedded one, or the one at the URL in `ROLECALL_TEST_ENDPOINT`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, SharedHttpClient};
use shared::random::Random;
use shared::store::Store;

use super::interceptor::{DynamoDbInterceptor, ReturnConsumedCapacity};

/// Opens a table of the DynamoDB at `endpoint`. Every call goes through `http`. The timeouts are long so that tests do
/// not fail on a busy machine.
pub async fn store(http: SharedHttpClient, endpoint: &str, table: &str) -> Store {
    Store::from_config_with_long_timeouts(client(http, endpoint).await, table)
}

/// Returns the configuration of a client of the DynamoDB at `endpoint`. With HTTPS, the credentials and the region come
/// from the standard AWS environment variables. Otherwise they have fixed values.
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
    builder.endpoint_url(endpoint).interceptor(ReturnConsumedCapacity)
}

/// Returns the URL of the DynamoDB that all tests share, or `None` if each test API has an embedded one.
pub(super) fn shared_endpoint() -> Option<String> {
    std::env::var("ROLECALL_TEST_ENDPOINT").ok()
}

/// Returns a table name that no other test API uses, not even in another run.
pub(super) fn new_table() -> String {
    static RUN: OnceLock<String> = OnceLock::new();
    static TABLES: AtomicUsize = AtomicUsize::new(0);
    let run = RUN.get_or_init(|| Random::system().expect("randomness").token(10));
    format!("rolecall-test-{run}-{}", TABLES.fetch_add(1, Ordering::Relaxed))
}

/// A table of a shared DynamoDB, which is deleted when this value is dropped.
pub(super) struct TemporaryTable {
    pub(super) endpoint: String,
    pub(super) table: String,
}

impl Drop for TemporaryTable {
    fn drop(&mut self) {
        // The test's own runtime may be shutting down, and `drop` cannot await.
        let deleted = std::thread::scope(|scope| {
            let delete = async {
                let interceptor = DynamoDbInterceptor::new();
                store(interceptor.client(), &self.endpoint, &self.table).await.delete_table().await
            };
            let thread = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(delete)
            });
            thread.join()
        });
        if !matches!(deleted, Ok(Ok(()))) {
            eprintln!("the table {} was not deleted: {deleted:?}", self.table);
        }
    }
}
