//! The DynamoDB that the tests use: an embedded one, or the one at the URL in `ROLECALL_TEST_ENDPOINT`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Credentials, Region, SharedHttpClient};
use dynoxide::Database;
use rolecall_local::in_process;
use serde_json::json;
use shared::random::Random;
use shared::store::Store;

use super::interceptor::{DynamoDbInterceptor, ReturnConsumedCapacity};

/// Opens a table, which need not exist. Every call goes through `http`. The timeouts are long so that tests do not fail on a busy machine.
pub async fn store(http: SharedHttpClient, table: &str) -> Store {
    Store::from_config_with_long_timeouts(client(http).await, table)
}

/// Returns the configuration of a client. For a DynamoDB with HTTPS, the credentials and the region come from the standard
/// AWS environment variables. Otherwise they have fixed values.
pub async fn client(http: SharedHttpClient) -> Builder {
    let builder = match shared_endpoint() {
        None => in_process::config(http),
        Some(endpoint) if endpoint.starts_with("https:") => {
            let shared = aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await;
            Builder::from(&shared).endpoint_url(endpoint)
        }
        Some(endpoint) => Builder::new()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "local"))
            .endpoint_url(endpoint),
    };
    builder.interceptor(ReturnConsumedCapacity)
}

/// Returns the URL of the DynamoDB that all tests share, or `None` if each test API has an embedded one.
pub(super) fn shared_endpoint() -> Option<String> {
    std::env::var("ROLECALL_TEST_ENDPOINT").ok()
}

/// The records that a test API begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Records {
    /// The demo organizations.
    Demo,
    /// The demo organizations, and the records of the sample events.
    SampleEvents,
    /// The demo organizations, and the roles and people of the demo company.
    DemoCompany,
}

/// The table of a test API.
pub(super) struct Table {
    pub(super) name: String,
    /// The records that it has to be created with, or `None` if it exists with its records.
    pub(super) missing: Option<Records>,
    /// The embedded database. Without one, the table is in a DynamoDB that all tests share.
    embedded: Option<Database>,
}

impl Table {
    /// A table that no other test API uses, not even in another run, in the DynamoDB that all tests share.
    pub(super) fn in_shared(records: Records) -> Self {
        static RUN: OnceLock<String> = OnceLock::new();
        static TABLES: AtomicUsize = AtomicUsize::new(0);
        let run = RUN.get_or_init(|| Random::system().expect("randomness").token(10));
        let name = format!("rolecall-test-{run}-{}", TABLES.fetch_add(1, Ordering::Relaxed));
        Self { name, missing: Some(records), embedded: None }
    }

    /// The table of an embedded database.
    pub(super) fn embedded(database: Database, missing: Option<Records>) -> Self {
        Self { name: "rolecall-test".to_owned(), missing, embedded: Some(database) }
    }

    /// An interceptor of calls to its DynamoDB.
    pub(super) fn interceptor(&self) -> DynamoDbInterceptor {
        self.embedded.clone().map_or_else(DynamoDbInterceptor::new, DynamoDbInterceptor::of)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(database) = &self.embedded {
            // The originals stay, because others copy them.
            if self.missing.is_none() {
                let request = json!({ "TableName": self.name });
                in_process::execute(database, "DeleteTable", &request.to_string());
            }
            return;
        }
        // The test's own runtime may be shutting down, and `drop` cannot await.
        let deleted = std::thread::scope(|scope| {
            let delete = async {
                let interceptor = DynamoDbInterceptor::new();
                store(interceptor.client(), &self.name).await.delete_table().await
            };
            let thread = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(delete)
            });
            thread.join()
        });
        if !matches!(deleted, Ok(Ok(()))) {
            eprintln!("the table {} was not deleted: {deleted:?}", self.name);
        }
    }
}

/// An embedded database with records. Each test API begins with a copy, because creating the records takes longer.
pub(super) struct Original {
    pub(super) database: Database,
    /// The address of the database in this process.
    uri: String,
}

impl Original {
    /// A database without a table.
    pub(super) fn of(records: Records) -> Self {
        let uri = format!("file:{records:?}?mode=memory&cache=shared");
        Self { database: Database::new(&uri).expect("a database"), uri }
    }

    pub(super) fn copy(&self) -> Database {
        let copy = Database::memory().expect("a database");
        copy.restore_from(&self.uri).expect("a copy");
        copy
    }
}
