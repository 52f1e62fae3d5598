//! The single table: the only place that knows DynamoDB.
//!
//! Methods are named after access patterns. Single items and whole partitions are read consistently from the table,
//! filtered lists from the index; nothing scans, and no query drops what it has read.

mod candidates;
mod channels;
mod connection;
mod failure;
mod gate;
mod grants;
mod item;
mod keys;
mod list;
mod members;
mod openings;
mod organizations;
mod postings;
mod roles;
mod screens;
mod table;
mod tasks;
mod uploads;
mod usage;
mod writes;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider};
use aws_config::meta::region::ProvideRegion;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Credentials, Region, SharedHttpClient, StalledStreamProtectionConfig, retry::RetryConfig,
};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::KeysAndAttributes;

pub use candidates::CandidatePage;
pub use channels::Channels;
pub use connection::{https, trusting};
pub use failure::Failure;
pub use gate::{Admission, Holder, Presented, Verdict};
pub use grants::{Apps, NewAccess};
pub use keys::REGISTRY_SHARDS;
pub use list::{Listed, Page};
pub use members::SignedIn;
pub use openings::{Search, opening_position};
pub use organizations::{ApiKey, Denied, NewApiKey};
pub use tasks::{Task, TaskKind};
pub use uploads::Upload;
pub use usage::UsageDay;
pub use writes::{Pending, Receipt, ReceiptSlot, Refusal, Writes};

use item::Item;
use keys::Key;

/// The most keys of one batch.
const MAX_KEYS: usize = 100;

/// The table, as one request or one job sees it.
#[derive(Clone)]
pub struct Store {
    client: Client,
    table: Arc<str>,
    calls: Arc<AtomicU32>,
}

impl Store {
    /// The table `table` in the region and with the credentials that Lambda puts into a function's environment, or of the
    /// DynamoDB at `endpoint`. The SDK's default chain would look in five more places, and make a client for one of them.
    pub async fn in_lambda(http: SharedHttpClient, table: &str, endpoint: Option<String>) -> Self {
        let credentials = EnvironmentVariableCredentialsProvider::new();
        let mut shared = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(EnvironmentVariableRegionProvider::new().region().await)
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(http);
        shared.set_endpoint_url(endpoint);
        Self::configured(aws_sdk_dynamodb::config::Builder::from(&shared.build()), table)
    }

    /// The table `table` of the account and region that the SDK's default chain finds: AWS's usual variables, profiles,
    /// and so on.
    pub async fn from_default_chain(table: &str) -> Self {
        let shared = aws_config::defaults(BehaviorVersion::latest()).http_client(https()).load().await;
        Self::configured(aws_sdk_dynamodb::config::Builder::from(&shared), table)
    }

    /// The table `table` of a DynamoDB that takes any credentials, at `endpoint`.
    pub fn at_endpoint(endpoint: &str, table: &str) -> Self {
        Self::through(https(), endpoint, table)
    }

    /// The same, with every call going through `http`. Nothing gives up because the machine is busy.
    pub fn through(http: SharedHttpClient, endpoint: &str, table: &str) -> Self {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .endpoint_url(endpoint)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "local"));
        Self::patient(config, table)
    }

    /// The table `table` by a client configured so, but for its timeouts and retries.
    pub fn configured(config: aws_sdk_dynamodb::config::Builder, table: &str) -> Self {
        // All three attempts and what lies between them fit into a function's ten seconds twice.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(1))
            .operation_attempt_timeout(Duration::from_millis(1_500))
            .operation_timeout(Duration::from_secs(4))
            .build();
        Self::timed(config, timeouts, table)
    }

    /// The same, but every call has a minute: for a database or a service on a machine that may be busy.
    pub fn patient(config: aws_sdk_dynamodb::config::Builder, table: &str) -> Self {
        let minute = Duration::from_mins(1);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(minute)
            .operation_attempt_timeout(minute)
            .operation_timeout(minute)
            .build();
        let config = config.stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        Self::timed(config, timeouts, table)
    }

    fn timed(config: aws_sdk_dynamodb::config::Builder, timeouts: TimeoutConfig, table: &str) -> Self {
        let retries =
            RetryConfig::standard().with_max_attempts(3).with_initial_backoff(Duration::from_millis(50));
        let client = Client::from_conf(config.timeout_config(timeouts).retry_config(retries).build());
        Self { client, table: table.into(), calls: Arc::default() }
    }

    /// The same table with a call counter of its own, starting at 0.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self { calls: Arc::default(), ..self.clone() }
    }

    /// How many calls have been made through this handle and its clones.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Opens the connection, so that the first request does not have to.
    pub async fn connect(&self) {
        let nothing = Key { pk: "NOTHING".to_owned(), sk: "NOTHING".to_owned() };
        if let Err(failure) = self.read(nothing).await {
            tracing::warn!(%failure, "no connection to DynamoDB yet");
        }
    }

    async fn count<T, E>(
        &self,
        call: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<T, SdkError<E>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        call.await
    }

    /// One item, as of now.
    async fn read(&self, key: Key) -> Result<Option<Item>, Failure> {
        let call = self
            .client
            .get_item()
            .table_name(&*self.table)
            .set_key(Some(key.attributes()))
            .consistent_read(true);
        Ok(self.count(call.send()).await.map_err(|error| Failure::of(&error))?.item)
    }

    /// Several items, as of now; those that do not exist are left out. At most 100.
    async fn read_many(&self, keys: impl IntoIterator<Item = Key>) -> Result<Vec<Item>, Failure> {
        let mut items = Vec::new();
        let mut wanted = Some(self.batch(keys.into_iter().map(Key::attributes).collect())?);
        for _ in 0..5 {
            let Some(request) = wanted.take() else { return Ok(items) };
            let call = self.client.batch_get_item().set_request_items(Some(request));
            let mut answer = self.count(call.send()).await.map_err(|error| Failure::of(&error))?;
            items.extend(
                answer.responses.as_mut().and_then(|tables| tables.remove(&*self.table)).unwrap_or_default(),
            );
            wanted = answer.unprocessed_keys.filter(|left| !left.is_empty());
        }
        match wanted {
            None => Ok(items),
            Some(_) => Err(Failure::Unavailable("keys of a batch stayed unprocessed".to_owned())),
        }
    }

    fn batch(&self, keys: Vec<Item>) -> Result<HashMap<String, KeysAndAttributes>, Failure> {
        let request = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
        let request =
            request.map_err(|error| Failure::Internal(format!("a batch cannot be built: {error}")))?;
        Ok(HashMap::from([(self.table.to_string(), request)]))
    }
}
