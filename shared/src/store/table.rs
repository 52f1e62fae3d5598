//! Creating and deleting the table, for places where CloudFormation does not: a local database, a test, an empty endpoint.

use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification, TimeToLiveStatus,
};

use super::keys::{EXPIRES_AT, FILTER, FILTERED, PK, SK};
use super::{Failure, Store};

impl Store {
    /// Creates the table as `template.yaml` has it; `false` where it existed already.
    pub async fn create_table(&self) -> Result<bool, Failure> {
        let build = |error| Failure::Internal(format!("the table's definition cannot be built: {error}"));
        let attribute = |name| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build()
        };
        let key = |name, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
        let filtered = GlobalSecondaryIndex::builder()
            .index_name(FILTERED)
            .key_schema(key(FILTER, KeyType::Hash).map_err(build)?)
            .key_schema(key(SK, KeyType::Range).map_err(build)?)
            .projection(Projection::builder().projection_type(ProjectionType::All).build())
            .build()
            .map_err(build)?;
        let call = self
            .client
            .create_table()
            .table_name(&*self.table)
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(
                [PK, SK, FILTER].into_iter().map(attribute).collect::<Result<_, _>>().map_err(build)?,
            ))
            .key_schema(key(PK, KeyType::Hash).map_err(build)?)
            .key_schema(key(SK, KeyType::Range).map_err(build)?)
            .global_secondary_indexes(filtered);
        let created = match self.count(call.send()).await {
            Ok(_) => true,
            Err(error) => match error.as_service_error() {
                Some(CreateTableError::ResourceInUseException(_)) => false,
                _ => return Err(Failure::of(&error)),
            },
        };
        self.await_table().await?;
        self.expire_items().await?;
        Ok(created)
    }

    /// Deletes the table with all that is in it.
    pub async fn delete_table(&self) -> Result<(), Failure> {
        let call = self.client.delete_table().table_name(&*self.table);
        self.count(call.send()).await.map(|_| ()).map_err(|error| Failure::of(&error))
    }

    /// Has DynamoDB remove what has expired, unless it does so already.
    async fn expire_items(&self) -> Result<(), Failure> {
        let call = self.client.describe_time_to_live().table_name(&*self.table);
        let current = self.count(call.send()).await.map_err(|error| Failure::of(&error))?;
        let status = current.time_to_live_description.and_then(|expiry| expiry.time_to_live_status);
        if matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)) {
            return Ok(());
        }
        let expiry = TimeToLiveSpecification::builder().enabled(true).attribute_name(EXPIRES_AT).build();
        let expiry =
            expiry.map_err(|error| Failure::Internal(format!("the expiry cannot be defined: {error}")))?;
        let call =
            self.client.update_time_to_live().table_name(&*self.table).time_to_live_specification(expiry);
        self.count(call.send()).await.map(|_| ()).map_err(|error| Failure::of(&error))
    }

    /// AWS takes some seconds to make a table; what it is asked meanwhile fails.
    async fn await_table(&self) -> Result<(), Failure> {
        use aws_sdk_dynamodb::client::Waiters;
        let ready = self.client.wait_until_table_exists().table_name(&*self.table);
        match ready.wait(std::time::Duration::from_mins(2)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Failure::Unavailable("the table was not ready after two minutes".to_owned())),
        }
    }
}
