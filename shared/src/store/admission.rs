//! What waits for the gate: a request's reads may be under way while the gate decides, but nothing that has an effect.

use std::sync::Arc;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::delete_table::DeleteTableError;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::operation::describe_time_to_live::DescribeTimeToLiveError;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_continuous_backups::UpdateContinuousBackupsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_table::UpdateTableError;
use aws_sdk_dynamodb::operation::update_time_to_live::UpdateTimeToLiveError;
use tokio::sync::SetOnce;

use crate::model::Organization;

/// The gate's admission of a request, which may still be under way.
#[derive(Clone, Debug, Default)]
pub struct PendingAdmission(Arc<SetOnce<Organization>>);

impl PendingAdmission {
    /// The admission of a caller who needs none from the gate, such as a member.
    pub fn of(organization: Organization) -> Self {
        Self(Arc::new(SetOnce::from(organization)))
    }

    /// The gate has admitted the request of this organization.
    pub fn admit(&self, organization: Organization) {
        // Only the first admission counts, and there is only one.
        let _ = self.0.set(organization);
    }

    /// Waits until the gate has admitted the request, and returns the organization as the gate has it. Never returns if the
    /// gate refuses the request: whoever waits is dropped then.
    pub async fn organization(&self) -> &Organization {
        self.0.wait().await
    }
}

/// An operation of DynamoDB, by the type of its errors.
pub(super) trait Operation: ProvideErrorMetadata {
    /// Whether the operation changes anything.
    const WRITES: bool;
}

/// Says which operations read and which write. A call of any other one does not compile.
macro_rules! operations {
    (read $($reading:ident),*; write $($writing:ident),*;) => {
        $(impl Operation for $reading { const WRITES: bool = false; })*
        $(impl Operation for $writing { const WRITES: bool = true; })*
    };
}

operations! {
    read BatchGetItemError, DescribeTableError, DescribeTimeToLiveError, GetItemError, QueryError;
    write CreateTableError, DeleteItemError, DeleteTableError, PutItemError, TransactWriteItemsError,
        UpdateContinuousBackupsError, UpdateItemError, UpdateTableError, UpdateTimeToLiveError;
}
