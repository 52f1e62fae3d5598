//! The commits of an API request, each with the receipt of its idempotency key and the confirmation that it uses up.
//!
//! A request that calls an external service commits a pending receipt first (`begin`), and replaces or deletes it
//! afterwards (`complete`, `abandon` or `leave_unknown`).

use std::time::Duration;

use jiff::SignedDuration;

use super::api_request::AdmittedRequest;
use super::{ApiRequest, Error, Reply};
use crate::clock::later;
use crate::secret::Secret;
use crate::store::{CommitError, Receipt, StoreError, Transaction};
use crate::token_encryption::EncryptionKeys;

/// The maximum time that a request waits for an external service: longer than a function may run.
const MAX_WAIT: SignedDuration = SignedDuration::from_secs(60);
/// The maximum number of attempts to commit a transaction after a call to an external service.
const MAX_ATTEMPTS: u32 = 5;

impl AdmittedRequest {
    /// The stored reply, unless it belongs to another request or to a candidate who was erased.
    async fn replay<O>(&self, mut receipt: Receipt) -> Result<Reply<O>, Error> {
        if let Some(candidate) = receipt.candidate {
            let tenant = self.caller.tenant;
            Error::unless_missing(self.context.store().find_candidate(tenant, candidate).await?)?;
        }
        match &self.idempotency_key {
            Some(key) => {
                if let Some(sealed) = receipt.sealed_body.take() {
                    let context = key.sealing_context(self.caller.tenant, &self.caller.actor);
                    // Another request with the same key, or by another caller, has another context and is refused.
                    let body = self.sealing_keys()?.decrypt(&sealed, &context);
                    body.map_err(|_| Error::IdempotencyMismatch)?.expose().clone_into(&mut receipt.body);
                }
                key.replay(receipt)
            }
            None => Err(Error::IdempotencyMismatch),
        }
    }

    fn sealing_keys(&self) -> Result<&EncryptionKeys, StoreError> {
        let missing = || StoreError::Internal("SEALING_KEYS is not set".to_owned());
        self.context.sealing_keys().ok_or_else(missing)
    }

    /// Returns the stored reply instead of `error` if the request was carried out before, because its effect may be the
    /// cause of the error.
    pub(super) async fn replay_or(&self, error: Error) -> Result<Reply<()>, Error> {
        if matches!(error, Error::Erased) {
            return Err(error);
        }
        self.find_reply().await?.ok_or(error)
    }

    /// The stored reply, if the request was carried out before.
    pub(super) async fn find_reply(&self) -> Result<Option<Reply<()>>, Error> {
        let Some(key) = &self.idempotency_key else { return Ok(None) };
        match self.context.store().find_receipt(self.caller.tenant, &key.slot).await? {
            Some(receipt) => self.replay(receipt).await.map(Some),
            None => Ok(None),
        }
    }
}

impl<I> ApiRequest<I> {
    /// Commits the transaction together with the receipt. Returns the stored reply if the request was carried out
    /// before.
    pub async fn commit<O>(&self, mut transaction: Transaction, reply: Reply<O>) -> Result<Reply<O>, Error> {
        if let Some(key) = &self.admitted.idempotency_key {
            let mut receipt = key.receipt(&reply);
            if reply.is_confidential {
                let body = Secret::new(std::mem::take(&mut receipt.body));
                let context = key.sealing_context(self.tenant(), self.actor());
                let nonce = self.context.random().bytes();
                let sealed = self.admitted.sealing_keys()?.encrypt(&body, &context, nonce);
                let sealed = sealed.map_err(|error| {
                    StoreError::Internal(format!("a receipt cannot be encrypted: {error}"))
                })?;
                receipt.sealed_body = Some(sealed);
            }
            transaction.insert_receipt(&key.slot, receipt)?;
        }
        if let Some(confirmed) = self.admitted.confirmed.get() {
            transaction.use_confirmation(&confirmed);
        }
        if transaction.is_empty() {
            return Ok(reply);
        }
        match self.context.store().commit(transaction).await {
            Ok(()) => Ok(reply),
            Err(CommitError::Repeated(receipt)) => self.admitted.replay(*receipt).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Commits the transaction that precedes a call to an external service, with a pending receipt. Returns the stored
    /// reply if the request was carried out before.
    ///
    /// A repetition gets a conflict while the call may still be running, and `sentence` after that, until
    /// [`Self::complete`], [`Self::abandon`] or [`Self::leave_unknown`] replaces or deletes the receipt.
    pub async fn begin<O>(
        &self,
        mut transaction: Transaction,
        sentence: &str,
    ) -> Result<Option<Reply<O>>, Error> {
        if let Some(key) = &self.admitted.idempotency_key {
            let until = later(self.context.received_at, MAX_WAIT);
            transaction.insert_receipt(&key.slot, key.pending_receipt(until, sentence))?;
        }
        if let Some(confirmed) = self.admitted.confirmed.get() {
            transaction.use_confirmation(&confirmed);
        }
        match self.context.store().commit(transaction).await {
            Ok(()) => Ok(None),
            Err(CommitError::Repeated(receipt)) => self.admitted.replay(*receipt).await.map(Some),
            Err(error) => Err(error.into()),
        }
    }

    /// Commits the changes after a successful call, and stores the reply.
    pub async fn complete<O>(
        &self,
        mut transaction: Transaction,
        reply: Reply<O>,
    ) -> Result<Reply<O>, Error> {
        if let Some(key) = &self.admitted.idempotency_key {
            transaction.replace_receipt(&key.slot, &key.receipt(&reply))?;
        }
        self.commit_after_call(transaction).await?;
        Ok(reply)
    }

    /// Commits the changes after a call that certainly had no effect, and frees the idempotency key.
    pub async fn abandon(&self, mut transaction: Transaction) -> Result<(), Error> {
        if let Some(key) = &self.admitted.idempotency_key {
            transaction.delete_receipt(&key.slot);
        }
        self.commit_after_call(transaction).await
    }

    /// Replaces the receipt of a call whose effect is unknown. Repetitions get `sentence` and have no effect.
    pub async fn leave_unknown(&self, sentence: &str) -> Result<(), Error> {
        let Some(key) = &self.admitted.idempotency_key else { return Ok(()) };
        let mut transaction = self.transaction();
        transaction.replace_receipt(&key.slot, &key.pending_receipt(self.context.received_at, sentence))?;
        self.commit_after_call(transaction).await
    }

    /// Retries conflicts here, because the handler must not run again after a call to an external service.
    async fn commit_after_call(&self, transaction: Transaction) -> Result<(), Error> {
        for _ in 0..MAX_ATTEMPTS {
            match self.context.store().commit(transaction.clone()).await {
                Ok(()) => return Ok(()),
                Err(CommitError::Store(error)) => return Err(error.into()),
                // A random wait, so that the transactions in conflict do not meet again.
                Err(_) => tokio::time::sleep(Duration::from_millis(self.context.random().below(50))).await,
            }
        }
        Err(StoreError::Unavailable("write conflicts persisted".to_owned()).into())
    }
}
