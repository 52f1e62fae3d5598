//! Creates and deletes the table where CloudFormation does not: in a local database, a test or an empty endpoint. Adopts
//! a table that DynamoDB has restored from a backup.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    PointInTimeRecoverySpecification, Projection, ProjectionType, ScalarAttributeType, StreamSpecification,
    StreamViewType, TableDescription, TimeToLiveSpecification, TimeToLiveStatus,
};

use super::keys::{BY_STATUS, EXPIRES_AT, FILTER, FILTERED, PK, SK, STATUS_FILTER};
use super::{Store, StoreError};

/// What a table has besides its items.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TableFeatures {
    /// The ARN of the stream.
    pub stream_arn: String,
    /// Whether the table can be recovered to any second of the last 35 days.
    pub recovery: bool,
    /// Whether the table is protected from deletion.
    pub protection: bool,
}

impl Store {
    /// Switches on what a restored table lacks: the stream, the expiry, recovery and protection. Fails if the keys or the
    /// indexes are not those of `template.yaml`. An endpoint other than AWS may not support recovery and protection.
    pub async fn adopt_table(&self) -> Result<TableFeatures, StoreError> {
        let table = self.describe_table().await?;
        let indexes: BTreeSet<_> =
            table.global_secondary_indexes().iter().filter_map(|index| index.index_name()).collect();
        let key: Vec<_> = table.key_schema().iter().map(KeySchemaElement::attribute_name).collect();
        if key != [PK, SK] || indexes != BTreeSet::from([BY_STATUS, FILTERED]) {
            let found = format!("its keys are {key:?} and its indexes are {indexes:?}");
            return Err(StoreError::Internal(format!("the table is not one of Rolecall: {found}")));
        }
        if !table.stream_specification().is_some_and(StreamSpecification::stream_enabled) {
            let stream = StreamSpecification::builder()
                .stream_enabled(true)
                .stream_view_type(StreamViewType::KeysOnly)
                .build()
                .map_err(|error| StoreError::Internal(format!("the stream cannot be defined: {error}")))?;
            let call = self.client.update_table().table_name(&*self.table).stream_specification(stream);
            self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
            self.await_table().await?;
        }
        self.expire_items().await?;
        let protection = self.protect_table().await?;
        let recovery = self.recover_table().await?;
        let stream_arn = self.describe_table().await?.latest_stream_arn.ok_or_else(|| {
            StoreError::Unavailable("the stream is not ready; repeat the command in a minute".to_owned())
        })?;
        Ok(TableFeatures { stream_arn, recovery, protection })
    }

    async fn describe_table(&self) -> Result<TableDescription, StoreError> {
        let call = self.client.describe_table().table_name(&*self.table);
        let described = self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
        described.table.ok_or_else(|| StoreError::Internal("DynamoDB described no table".to_owned()))
    }

    /// Protects the table from deletion. Returns `false` if the endpoint does not support it.
    async fn protect_table(&self) -> Result<bool, StoreError> {
        let call = self.client.update_table().table_name(&*self.table).deletion_protection_enabled(true);
        self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
        self.await_table().await?;
        Ok(self.describe_table().await?.deletion_protection_enabled == Some(true))
    }

    /// Switches on recovery to any second. Returns `false` if the endpoint does not support it.
    async fn recover_table(&self) -> Result<bool, StoreError> {
        let recovery =
            PointInTimeRecoverySpecification::builder().point_in_time_recovery_enabled(true).build();
        let recovery =
            recovery.map_err(|error| StoreError::Internal(format!("recovery cannot be defined: {error}")))?;
        let call = self
            .client
            .update_continuous_backups()
            .table_name(&*self.table)
            .point_in_time_recovery_specification(recovery);
        match self.count(call.send()).await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some("UnknownOperationException") => Ok(false),
            Err(error) => Err(StoreError::of(&error)),
        }
    }

    /// Creates the table as `template.yaml` defines it. Returns `false` if it already existed.
    pub async fn create_table(&self) -> Result<bool, StoreError> {
        let build = |error| StoreError::Internal(format!("the table's definition cannot be built: {error}"));
        let attribute = |name| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build()
        };
        let key = |name, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
        let index = |name, hash| {
            GlobalSecondaryIndex::builder()
                .index_name(name)
                .key_schema(key(hash, KeyType::Hash)?)
                .key_schema(key(SK, KeyType::Range)?)
                .projection(Projection::builder().projection_type(ProjectionType::All).build())
                .build()
        };
        let call = self
            .client
            .create_table()
            .table_name(&*self.table)
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(
                [PK, SK, FILTER, STATUS_FILTER]
                    .into_iter()
                    .map(attribute)
                    .collect::<Result<_, _>>()
                    .map_err(build)?,
            ))
            .key_schema(key(PK, KeyType::Hash).map_err(build)?)
            .key_schema(key(SK, KeyType::Range).map_err(build)?)
            .global_secondary_indexes(index(FILTERED, FILTER).map_err(build)?)
            .global_secondary_indexes(index(BY_STATUS, STATUS_FILTER).map_err(build)?);
        let created = match self.count(call.send()).await {
            Ok(_) => true,
            Err(error) => match error.as_service_error() {
                Some(CreateTableError::ResourceInUseException(_)) => false,
                _ => return Err(StoreError::of(&error)),
            },
        };
        self.await_table().await?;
        self.expire_items().await?;
        Ok(created)
    }

    /// Deletes the table and everything in it.
    pub async fn delete_table(&self) -> Result<(), StoreError> {
        let call = self.client.delete_table().table_name(&*self.table);
        self.count(call.send()).await.map(|_| ()).map_err(|error| StoreError::of(&error))
    }

    /// Enables the deletion of expired items (TTL), unless it is already enabled.
    async fn expire_items(&self) -> Result<(), StoreError> {
        let call = self.client.describe_time_to_live().table_name(&*self.table);
        let current = self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
        let status = current.time_to_live_description.and_then(|expiry| expiry.time_to_live_status);
        if matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)) {
            return Ok(());
        }
        let expiry = TimeToLiveSpecification::builder().enabled(true).attribute_name(EXPIRES_AT).build();
        let expiry =
            expiry.map_err(|error| StoreError::Internal(format!("the expiry cannot be defined: {error}")))?;
        let call =
            self.client.update_time_to_live().table_name(&*self.table).time_to_live_specification(expiry);
        self.count(call.send()).await.map(|_| ()).map_err(|error| StoreError::of(&error))
    }

    /// Waits until the table is ready. AWS takes a few seconds to create it, and calls fail until then.
    async fn await_table(&self) -> Result<(), StoreError> {
        use aws_sdk_dynamodb::client::Waiters;
        let ready = self.client.wait_until_table_exists().table_name(&*self.table);
        match ready.wait(std::time::Duration::from_mins(2)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(StoreError::Unavailable("the table was not ready after two minutes".to_owned())),
        }
    }
}
