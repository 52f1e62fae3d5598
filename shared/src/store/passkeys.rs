//! The ceremonies of passkeys: what the service must remember between its challenge and the browser's answer.

use aws_sdk_dynamodb::types::ReturnValue;
use serde::{Deserialize, Serialize};

use super::item::number;
use super::keys::{self, EXPIRES_AT};
use super::{Store, StoreError, item};
use crate::clock::Timestamp;

/// A challenge that a browser has yet to answer.
#[derive(Serialize, Deserialize)]
pub(super) struct Ceremony {
    /// The challenge and its conditions, as the `WebAuthn` library writes them.
    state: String,
    /// When the answer comes too late.
    until: Timestamp,
}

impl Store {
    /// Stores a ceremony under the hash of what only one page in one browser knows.
    pub async fn put_passkey_ceremony(
        &self,
        hash: &str,
        state: String,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let mut item = item::write(&Ceremony { state, until }, keys::passkey_ceremony(hash), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(until.as_second()));
        self.put_item(item).await
    }

    /// Takes a ceremony out of the table, so that its challenge is answered only once. Returns its state, or `None` if it
    /// does not exist or is over.
    pub async fn take_passkey_ceremony(
        &self,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let call = self
            .client
            .delete_item()
            .table_name(&*self.table)
            .set_key(Some(keys::passkey_ceremony(hash).attributes()))
            .return_values(ReturnValue::AllOld);
        let taken = self.count(call.send()).await.map_err(|error| StoreError::of(&error))?;
        let ceremony: Option<Ceremony> = taken.attributes.map(item::read).transpose()?;
        Ok(ceremony.filter(|ceremony| now < ceremony.until).map(|ceremony| ceremony.state))
    }
}
