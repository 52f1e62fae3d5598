//! Writes of one item, outside of transactions, which cost half as much as in one.

use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;

use super::changes::Changes;
use super::keys::Key;
use super::{Item, Store, StoreError};

impl Store {
    /// Writes an item.
    pub(super) async fn put_item(&self, item: Item) -> Result<(), StoreError> {
        let call = self.client.put_item().table_name(&*self.table).set_item(Some(item));
        let call = call.set_return_consumed_capacity(self.wanted_capacity());
        let answer = self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
        self.meter.has_written(answer.consumed_capacity.as_slice());
        Ok(())
    }

    /// Gives an item these attributes, whether it exists or not.
    pub(super) async fn write_item(&self, item: Item) -> Result<(), StoreError> {
        let (key, changes) = (Key::of(&item)?, Changes::to(item));
        let call = self
            .client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(key.attributes()))
            .update_expression(changes.expression)
            .set_expression_attribute_names(Some(changes.names))
            .set_expression_attribute_values(Some(changes.values))
            .set_return_consumed_capacity(self.wanted_capacity());
        let answer = self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
        self.meter.has_written(answer.consumed_capacity.as_slice());
        Ok(())
    }

    /// Deletes an item, if there is one.
    pub(super) async fn delete_item(&self, key: Key) -> Result<(), StoreError> {
        let call = self.client.delete_item().table_name(&*self.table).set_key(Some(key.attributes()));
        let call = call.set_return_consumed_capacity(self.wanted_capacity());
        let answer = self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
        self.meter.has_written(answer.consumed_capacity.as_slice());
        Ok(())
    }

    /// Deletes an item if an attribute has this value. Otherwise it stays.
    pub(super) async fn delete_if(
        &self,
        key: Key,
        attribute: &str,
        value: AttributeValue,
    ) -> Result<(), StoreError> {
        let call = self
            .client
            .delete_item()
            .table_name(&*self.table)
            .set_key(Some(key.attributes()))
            .condition_expression("#attribute = :value")
            .expression_attribute_names("#attribute", attribute)
            .expression_attribute_values(":value", value)
            .set_return_consumed_capacity(self.wanted_capacity());
        match self.count(call.send()).await {
            Ok(answer) => {
                self.meter.has_written(answer.consumed_capacity.as_slice());
                Ok(())
            }
            Err(error) => match error.as_service_error() {
                Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(StoreError::of(&error)),
            },
        }
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
            .condition_expression(condition)
            .set_return_consumed_capacity(self.wanted_capacity());
        match self.count(call.send()).await {
            Ok(answer) => {
                self.meter.has_written(answer.consumed_capacity.as_slice());
                Ok(true)
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(StoreError::of(&error)),
            },
        }
    }
}
