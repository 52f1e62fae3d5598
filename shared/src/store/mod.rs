//! The single table. No other module uses DynamoDB.
//!
//! Methods are named after access patterns: `find_` returns an `Option`, `get_` returns a value that always exists, and
//! `list_` returns a page. Single items and unfiltered lists are read from the table, filtered lists from the index. No
//! method scans the table, and no query uses a filter expression.

mod admission;
mod answers;
mod api_keys;
mod applications;
mod audit;
mod audit_origin;
mod bulk_acts;
mod candidate_records;
mod candidates;
mod changed;
mod changes;
mod channels;
mod chart;
mod confirmations;
mod connection;
mod data_exports;
mod deletion;
mod erasures;
mod error;
mod events;
mod exports;
mod files;
mod finding;
mod gate;
mod grants;
mod hiring_stats;
mod imported_people;
mod imports;
mod indexing;
mod item;
mod keys;
mod kinds;
mod labels;
mod lease;
mod list;
mod logos;
mod maybe_erased;
mod members;
mod meter;
mod notes;
mod openings;
mod organizations;
mod outbox;
mod partition;
mod passkeys;
mod people_lists;
mod postings;
mod privacy;
mod quarantine;
mod receipts;
mod recording;
mod rejection_reasons;
mod retention;
mod rewriting;
mod role_changes;
mod roles;
mod saved_views;
mod screens;
mod submissions;
mod suspects;
mod table;
mod tasks;
mod times;
mod transaction;
mod unreadable;
mod uploads;
mod usage;
mod user_agent;
mod verification;
mod webhooks;
mod writes;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Credentials, Region, SharedHttpClient, StalledStreamProtectionConfig, retry::RetryConfig,
};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnConsumedCapacity};

pub use admission::PendingAdmission;
pub use api_keys::ApiKey;
pub use applications::{Applicant, ApplicationFilter, Board, CandidateApplication, ListedBoard};
pub use audit::{AuditNames, AuditSelection, WrittenEntry, is_audit_position};
pub use audit_origin::AuditOrigin;
pub use candidates::CandidatePage;
pub use changed::ChangesSince;
pub use channels::Channels;
pub use chart::{Kind, Owner};
pub use confirmations::{AnsweredQuestion, Confirmation, Confirmed, Fact};
pub use connection::{https_client, https_client_trusting};
pub use data_exports::{ExportedPerson, ExportedPersonScreen, Wanted};
pub use deletion::DeletedOrganization;
pub use erasures::{Traced, UploadTrace};
pub use error::StoreError;
pub use events::{EventPage, FeedHead, Jump};
pub use exports::{CandidateData, ScreenData};
pub use finding::CandidateSearch;
pub use gate::{Admission, Holder, HolderDetails, PresentedCredential, Verdict};
pub use grants::AccessTokens;
pub use imports::SomebodyNew;
pub use keys::{
    OutboxPartition, REGISTRY_SHARDS, StageOrStatus, StatusOrResult, TaskPartition, WebhookPartition,
    score_position,
};
pub use kinds::KINDS;
pub use list::{Listed, Paging};
pub use maybe_erased::MaybeErased;
pub use members::SignedIn;
pub use meter::{ConsumedUnits, DatabaseUse};
pub use openings::{PostedUnder, Search, opening_position};
pub use organizations::OrganizationError;
pub use outbox::{FeedRun, Sequenced};
pub use people_lists::{CandidateList, CandidatePlace, Order, waiting_position};
pub use quarantine::{Correction, RestoreError};
pub use receipts::{Pending, Receipt, ReceiptSlot};
pub use retention::DuePerson;
pub use rewriting::{PageWork, Rewriting};
pub use role_changes::RoleChange;
pub use suspects::{DISCARDED_AT_ONCE, SuspectSelection};
pub use table::TableFeatures;
pub use tasks::{DueTasks, Task};
pub use transaction::{CommitError, Taken, Transaction, UniqueField};
pub use unreadable::{Quarantined, Unreadable};
pub use uploads::{SubmittedWith, Upload, UploadAttempt};
pub use usage::UsageDay;
pub use verification::Finding;
pub use webhooks::{DueAttempt, Queue};

use admission::Operation;
use item::Item;
use keys::Key;
use meter::{Attempts, Meter};
use times::Times;
use user_agent::UserAgent;

/// The maximum number of keys in a batch.
// DynamoDB's limit.
const MAX_BATCH: usize = 100;

/// A handle to the table. It measures its calls.
#[derive(Clone)]
pub struct Store {
    client: Client,
    table: Arc<str>,
    meter: Arc<Meter>,
    /// The times of changes that this process has given.
    times: Arc<Times>,
    /// Who writes through this handle. Handles of functions and of the administration tool have it.
    origin: Option<Arc<AuditOrigin>>,
    /// What writes through this handle wait for. Handles of requests with a credential have it.
    admission: Option<PendingAdmission>,
    /// Whether DynamoDB says how many units a call consumes.
    asks_for_units: bool,
    /// The kinds of items that are not in the chart.
    more_kinds: &'static [Kind],
}

impl Store {
    /// A handle to `table` in a region. `endpoint` overrides the region's endpoint.
    pub fn in_region(
        http: SharedHttpClient,
        credentials: SharedCredentialsProvider,
        region: String,
        endpoint: Option<String>,
        table: &str,
    ) -> Self {
        let mut config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new(region))
            .credentials_provider(credentials);
        config.set_endpoint_url(endpoint);
        Self::from_config(config, table)
    }

    /// A handle to `table` in the DynamoDB at `endpoint`, which accepts any credentials. The timeouts are long because the
    /// machine may be busy.
    pub fn at_endpoint(endpoint: &str, table: &str) -> Self {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(https_client())
            .endpoint_url(endpoint)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "local"));
        Self::from_config_with_long_timeouts(config, table)
    }

    /// A handle to `table` with this configuration, but with a function's timeouts and retries.
    pub fn from_config(config: aws_sdk_dynamodb::config::Builder, table: &str) -> Self {
        // A function may run for ten seconds, so it has time for two operations with three attempts each.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(1))
            .operation_attempt_timeout(Duration::from_millis(1_500))
            .operation_timeout(Duration::from_secs(4))
            .build();
        Self::build(config, timeouts, table)
    }

    /// Like [`Self::from_config`], but each call may take a minute, because the machine that runs the database may be
    /// busy.
    pub fn from_config_with_long_timeouts(config: aws_sdk_dynamodb::config::Builder, table: &str) -> Self {
        let minute = Duration::from_mins(1);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(minute)
            .operation_attempt_timeout(minute)
            .operation_timeout(minute)
            .build();
        // A busy database may send nothing for a while.
        let config = config.stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        Self::build(config, timeouts, table)
    }

    fn build(config: aws_sdk_dynamodb::config::Builder, timeouts: TimeoutConfig, table: &str) -> Self {
        let retries =
            RetryConfig::standard().with_max_attempts(3).with_initial_backoff(Duration::from_millis(50));
        let config = config
            .timeout_config(timeouts)
            .retry_config(retries)
            .interceptor(Attempts)
            .interceptor(UserAgent);
        Self {
            client: Client::from_conf(config.build()),
            table: table.into(),
            meter: Arc::default(),
            times: Arc::default(),
            origin: None,
            admission: None,
            asks_for_units: false,
            more_kinds: &[],
        }
    }

    /// A handle to the same table whose writes wait for this admission.
    #[must_use]
    pub fn behind(self, admission: PendingAdmission) -> Self {
        Self { admission: Some(admission), ..self }
    }

    /// Waits until the gate has admitted the request that the handle belongs to. Does not wait if it belongs to something
    /// else. Every writing call waits here; whoever needs to know who writes waits before.
    pub async fn admitted(&self) {
        if let Some(admission) = &self.admission {
            admission.organization().await;
        }
    }

    /// A handle to the same table with its own meter, which starts at 0.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self { meter: Arc::default(), ..self.clone() }
    }

    /// A handle to the same table that adds up the units that reads of lists and batches and transactions consume.
    #[must_use]
    pub fn counting_units(&self) -> Self {
        Self { asks_for_units: true, ..self.metered() }
    }

    /// The units that were read and written through this handle and its clones, if it [counts](Self::counting_units) them.
    pub fn units(&self) -> ConsumedUnits {
        self.meter.units()
    }

    fn wanted_capacity(&self) -> Option<ReturnConsumedCapacity> {
        self.asks_for_units.then_some(ReturnConsumedCapacity::Total)
    }

    /// The calls through this handle and its clones.
    pub fn database_use(&self) -> DatabaseUse {
        self.meter.read()
    }

    /// Opens the connection, so that the first request does not wait for it.
    pub async fn connect(&self) {
        // Every function's policy allows this key, and no item has it.
        let missing = Key { pk: "NOTHING".to_owned(), sk: "NOTHING".to_owned() };
        if let Err(error) = self.read(missing).await {
            tracing::warn!(failure = %error, "no connection to DynamoDB yet");
        }
    }

    /// Measures a call and awaits it. A call that writes waits for the gate first.
    fn count<T, E: Operation>(
        &self,
        call: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> impl Future<Output = Result<T, SdkError<E>>> {
        // The SDK's futures are large. On the heap, they are not copied between stack frames.
        let call = Box::pin(call);
        async move {
            if E::WRITES {
                self.admitted().await;
            }
            self.meter.measure(call).await
        }
    }

    /// Reads an item consistently.
    async fn read(&self, key: Key) -> Result<Option<Item>, StoreError> {
        let call = self
            .client
            .get_item()
            .table_name(&*self.table)
            .set_key(Some(key.attributes()))
            .consistent_read(true);
        Ok(self.count(call.send()).await.map_err(|error| StoreError::of(&error))?.item)
    }

    /// Reads up to 100 items consistently and returns them in any order. Omits items that do not exist.
    async fn read_many(&self, keys: impl IntoIterator<Item = Key>) -> Result<Vec<Item>, StoreError> {
        self.read_batch(keys, true).await
    }

    /// Like [`Self::read_many`], with eventually consistent reads at half the price.
    async fn read_many_eventually(
        &self,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<Vec<Item>, StoreError> {
        self.read_batch(keys, false).await
    }

    async fn read_batch(
        &self,
        keys: impl IntoIterator<Item = Key>,
        is_consistent: bool,
    ) -> Result<Vec<Item>, StoreError> {
        let keys: Vec<_> = keys.into_iter().map(Key::attributes).collect();
        let mut items = Vec::new();
        // DynamoDB refuses a batch without keys.
        let mut unprocessed = if keys.is_empty() { None } else { Some(self.batch(keys, is_consistent)?) };
        for _ in 0..5 {
            let Some(request) = unprocessed.take() else { return Ok(items) };
            let call = self.client.batch_get_item().set_request_items(Some(request));
            let call = call.set_return_consumed_capacity(self.wanted_capacity());
            let mut answer = self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
            self.meter.has_read(answer.consumed_capacity.as_deref().unwrap_or_default());
            items.extend(
                answer.responses.as_mut().and_then(|tables| tables.remove(&*self.table)).unwrap_or_default(),
            );
            unprocessed = answer.unprocessed_keys.filter(|left| !left.is_empty());
        }
        match unprocessed {
            None => Ok(items),
            Some(_) => Err(StoreError::Unavailable("keys of a batch remained unprocessed".to_owned())),
        }
    }

    fn batch(
        &self,
        keys: Vec<Item>,
        is_consistent: bool,
    ) -> Result<HashMap<String, KeysAndAttributes>, StoreError> {
        let request =
            KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(is_consistent).build();
        let request =
            request.map_err(|error| StoreError::Internal(format!("a batch cannot be built: {error}")))?;
        Ok(HashMap::from([(self.table.to_string(), request)]))
    }
}
