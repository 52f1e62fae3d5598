//! Receipts: the stored responses to requests with idempotency keys.

use serde::{Deserialize, Serialize};

use super::item;
use super::keys::{self, EXPIRES_AT};
use super::{Store, StoreError};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::Tenant;
use crate::token_encryption::EncryptedToken;

/// The stored response to a request with an idempotency key. A repeated request gets the same response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// A digest of the credential's scopes and the request's path and body.
    pub fingerprint: String,
    /// The response's status.
    pub status: u16,
    /// The headers that the handler set.
    pub headers: Vec<(String, String)>,
    /// The response's body; empty if it is encrypted.
    pub body: String,
    /// The body of a response with a secret, encrypted.
    pub sealed_body: Option<EncryptedToken>,
    /// The candidate whose data the response may contain.
    pub candidate: Option<Id>,
    /// Set while the request calls an external service. The response is not known yet, and may never be.
    pub pending: Option<Pending>,
}

/// The state of a request that calls an external service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The time until which the call may still be running.
    pub until: Timestamp,
    /// The error message for repeated requests after that time, if the outcome is unknown.
    pub sentence: String,
}

/// The key and the lifetime of a receipt.
#[derive(Clone, Debug)]
pub struct ReceiptSlot {
    /// The route of the request.
    pub route: &'static str,
    /// The value of the `Idempotency-Key` header.
    pub idempotency_key: String,
    /// The time of the request. A stored receipt that has expired by then is ignored.
    pub now: Timestamp,
    /// When the receipt of this request expires.
    pub expires_at: Timestamp,
}

impl Store {
    /// The receipt of an earlier request, unless it has expired.
    pub async fn find_receipt(
        &self,
        tenant: Tenant,
        slot: &ReceiptSlot,
    ) -> Result<Option<Receipt>, StoreError> {
        let receipt = self.read(keys::receipt(tenant, &slot.idempotency_key, slot.route)).await?;
        let now = u64::try_from(slot.now.as_second()).unwrap_or(0);
        receipt.filter(|item| item::count(item, EXPIRES_AT) > now).map(item::read).transpose()
    }
}
