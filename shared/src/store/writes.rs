//! Writes of one item, outside of transactions, which cost half as much as in one.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;

use super::changes::Changes;
use super::keys::Key;
use super::{Item, Store, StoreError};

impl Store {
    /// Writes an item.
    pub(super) async fn put_item(&self, item: Item) -> Result<(), StoreError> {
        let call = self.client.put_item().table_name(&*self.table).set_item(Some(item));
        self.count(call.send()).await.map(drop).map_err(|error| StoreError::of(&error))
    }

    /// Deletes an item, if there is one.
    pub(super) async fn delete_item(&self, key: Key) -> Result<(), StoreError> {
        let call = self.client.delete_item().table_name(&*self.table).set_key(Some(key.attributes()));
        self.count(call.send()).await.map(drop).map_err(|error| StoreError::of(&error))
    }

    /// Changes an item if a condition with these names and values holds. Returns whether it does.
    pub(super) async fn update_if<const N: usize, const V: usize>(
        &self,
        key: Key,
        changes: Changes,
        condition: &str,
        names: [(&str, &str); N],
        values: [(&str, AttributeValue); V],
    ) -> Result<bool, StoreError> {
        let Changes { expression, names: mut all_names, values: mut all_values } = changes;
        all_names.extend(names.map(|(name, attribute)| (name.to_owned(), attribute.to_owned())));
        all_values.extend(values.map(|(name, value)| (name.to_owned(), value)));
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(key.attributes()))
            .update_expression(expression)
            .set_expression_attribute_names(Some(all_names))
            .set_expression_attribute_values(Some(all_values))
            .condition_expression(condition);
        match self.count(call.send()).await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(StoreError::of(&error)),
            },
        }
    }
}
