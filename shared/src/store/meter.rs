//! Measurements of the calls to DynamoDB.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::{BoxError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::ConsumedCapacity;
use tokio::time::Instant;

/// The calls that a request or a job has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseUse {
    /// The number of calls.
    pub calls: u32,
    /// The time that all calls took together. Calls at the same time count separately.
    pub milliseconds: u64,
    /// The number of times that the SDK sent a call again.
    pub retries: u32,
    /// The number of calls that DynamoDB throttled, also after all retries.
    pub throttled: u32,
    /// The number of writes that were not made because another write was first.
    pub conflicts: u32,
    /// The number of requests that were counted on a shard, because the organization's gate was busy.
    pub gate_shards: u32,
}

/// The units that calls have consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConsumedUnits {
    /// The read units.
    pub read: f64,
    /// The write units.
    pub written: f64,
}

/// Adds up the calls of a handle to the table and its clones.
#[derive(Debug, Default)]
pub(super) struct Meter {
    calls: AtomicU32,
    microseconds: AtomicU64,
    attempts: AtomicU32,
    throttled: AtomicU32,
    conflicts: AtomicU32,
    gate_shards: AtomicU32,
    units: Mutex<ConsumedUnits>,
}

tokio::task_local! {
    /// The meter of the call that is being sent. The SDK repeats calls by itself, and tells only its interceptors.
    static METER: Arc<Meter>;
}

/// Counts every attempt of a call.
#[derive(Debug)]
pub(super) struct Attempts;

impl Intercept for Attempts {
    fn name(&self) -> &'static str {
        "Attempts"
    }

    fn read_before_attempt(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // A client that is not used through a handle has no meter.
        let _ = METER.try_with(|meter| meter.attempts.fetch_add(1, Ordering::Relaxed));
        Ok(())
    }
}

impl Meter {
    /// Measures a call and awaits it.
    pub(super) async fn measure<T, E: ProvideErrorMetadata>(
        self: &Arc<Self>,
        call: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<T, SdkError<E>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        let result = METER.scope(self.clone(), call).await;
        let elapsed = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(elapsed, Ordering::Relaxed);
        if let Some(code) = result.as_ref().err().and_then(|error| error.code()) {
            self.refused(code);
        }
        result
    }

    /// Counts why DynamoDB did not make a call, or an action of a transaction.
    pub(super) fn refused(&self, code: &str) {
        match code {
            "ProvisionedThroughputExceeded"
            | "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "ThrottlingError"
            | "ThrottlingException" => {
                self.throttled.fetch_add(1, Ordering::Relaxed);
            }
            "TransactionConflictException" => self.conflicted(),
            _ => {}
        }
    }

    /// Counts a write that was not made because another write was first.
    pub(super) fn conflicted(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that is counted on a shard.
    pub(super) fn counted_on_shard(&self) {
        self.gate_shards.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the units of a read.
    pub(super) fn has_read(&self, consumed: &[ConsumedCapacity]) {
        self.units_mut().read += total(consumed);
    }

    /// Adds the units of a write.
    pub(super) fn has_written(&self, consumed: &[ConsumedCapacity]) {
        self.units_mut().written += total(consumed);
    }

    /// The units until now.
    pub(super) fn units(&self) -> ConsumedUnits {
        *self.units_mut()
    }

    fn units_mut(&self) -> MutexGuard<'_, ConsumedUnits> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls until now.
    pub(super) fn read(&self) -> DatabaseUse {
        let calls = self.calls.load(Ordering::Relaxed);
        DatabaseUse {
            calls,
            milliseconds: self.microseconds.load(Ordering::Relaxed) / 1_000,
            retries: self.attempts.load(Ordering::Relaxed).saturating_sub(calls),
            throttled: self.throttled.load(Ordering::Relaxed),
            conflicts: self.conflicts.load(Ordering::Relaxed),
            gate_shards: self.gate_shards.load(Ordering::Relaxed),
        }
    }
}

/// The units of a call, which may use several tables.
fn total(consumed: &[ConsumedCapacity]) -> f64 {
    consumed.iter().filter_map(|table| table.capacity_units).sum()
}
