//! The erasure of candidates: through the API, with the administration tool, or when a retention period is over.
//!
//! What is kept of a candidate is also kept in the bucket, because a restored backup of the table brings the candidate
//! back.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{CandidateRecord, ErasedCandidate, Erasure, Mode, OnHold, Tenant};
use crate::providers::bucket::{Bucket, BucketError};
use crate::store::{CommitError, MaybeErased, Store, StoreError, Transaction};

/// The maximum number of attempts to erase a candidate who is changed at the same time.
const ATTEMPTS: usize = 10;
/// The maximum size of a tombstone, in bytes.
const MAX_TOMBSTONE: usize = 4096;

/// What the bucket keeps of an erased candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    organization: Id,
    mode: Mode,
    /// The erasure.
    #[serde(flatten)]
    pub erasure: Erasure,
}

/// Why a candidate was not erased.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// There is a legal hold on the candidate.
    #[error(transparent)]
    OnHold(#[from] OnHold),
    /// The write failed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The candidate was erased, but the bucket does not have the tombstone yet.
    #[error(transparent)]
    Bucket(#[from] BucketError),
}

impl From<StoreError> for EraseError {
    fn from(error: StoreError) -> Self {
        Self::Commit(error.into())
    }
}

impl Tombstone {
    /// The prefix of the keys of all tombstones.
    pub const PREFIX: &str = "erased/";

    /// The tenant.
    pub const fn tenant(&self) -> Tenant {
        Tenant { organization: self.organization, mode: self.mode }
    }

    /// Stores the tombstone of an erasure in the bucket, if there is one.
    pub async fn store(
        bucket: Option<&Bucket>,
        tenant: Tenant,
        erasure: &Erasure,
        now: Timestamp,
    ) -> Result<(), BucketError> {
        let Some(bucket) = bucket else { return Ok(()) };
        let Tenant { organization, mode } = tenant;
        let key = format!("{}{organization}/{}/{}.json", Self::PREFIX, mode.as_str(), erasure.id);
        let tombstone = Self { organization, mode, erasure: erasure.clone() };
        let json = serde_json::to_vec(&tombstone);
        let json = json.map_err(|_| BucketError::Unsigned("the tombstone cannot be written"))?;
        bucket.write(&key, json, "application/json", now).await
    }

    /// Reads the tombstone at this key of the bucket; `None` if there is none, or if it cannot be parsed.
    pub async fn find(bucket: &Bucket, key: &str, now: Timestamp) -> Result<Option<Self>, BucketError> {
        let object = bucket.read(key, MAX_TOMBSTONE, now).await?;
        Ok(object.and_then(|object| serde_json::from_slice(&object.bytes).ok()))
    }
}

/// Erases a candidate, in one transaction and a task. Returns the erasure, which is an earlier one if the candidate was
/// already erased, or `None` if there is no such candidate.
pub async fn erase(
    store: &Store,
    bucket: Option<&Bucket>,
    tenant: Tenant,
    erasure: Erasure,
    now: Timestamp,
) -> Result<Option<Erasure>, EraseError> {
    for _ in 0..ATTEMPTS {
        let erased = match store.find_any_candidate(tenant, erasure.id).await? {
            None => return Ok(None),
            Some(MaybeErased::Erased(erasure)) => erasure,
            Some(MaybeErased::Present(record)) => {
                let mut transaction = Transaction::new(tenant);
                begin(&mut transaction, &record, erasure.clone())?;
                match store.commit(transaction).await {
                    Err(CommitError::Stale) => continue,
                    result => result?,
                }
                erasure
            }
        };
        // After the commit: a replay would erase a candidate whose erasure had failed.
        Tombstone::store(bucket, tenant, &erased, now).await?;
        return Ok(Some(erased));
    }
    Err(CommitError::Stale.into())
}

/// Adds the erasure of a candidate to a transaction. After the commit, the tombstone is to be stored in the bucket; the
/// task repeats that.
pub fn begin(
    transaction: &mut Transaction,
    record: &CandidateRecord,
    erasure: Erasure,
) -> Result<(), EraseError> {
    let erased = ErasedCandidate::of(record, erasure)?;
    Ok(transaction.erase_candidate(record, &erased)?)
}
