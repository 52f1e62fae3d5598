//! The time in which one run alone works on a batch of changes.

use futures_util::stream::{self, TryStreamExt};
use jiff::SignedDuration;

use super::StoreError;
use crate::clock::{Clock, Timestamp, later};

/// How long before the end a run begins no further write. This is longer than a call to DynamoDB takes.
const MARGIN: SignedDuration = SignedDuration::from_secs(8);
/// The number of writes at a time.
const SIDE_BY_SIDE: usize = 8;
/// How often a write is tried, each time with the repetitions of the SDK.
const ATTEMPTS: u32 = 3;

/// The time in which a run works on a batch.
pub(super) struct Lease<'l> {
    pub(super) clock: &'l Clock,
    pub(super) until: Option<Timestamp>,
}

impl Lease<'_> {
    /// Makes writes side by side, as long as the lease lasts. One that fails is repeated alone: if the whole batch were, a large
    /// one might never end on a bad day.
    pub(super) async fn write_all<T: Clone, W: Future<Output = Result<(), StoreError>>>(
        &self,
        targets: impl IntoIterator<Item = T>,
        write: impl Fn(T) -> W,
    ) -> Result<(), StoreError> {
        let write = async |target: T| {
            let mut attempt = 1;
            loop {
                if self.until.is_none_or(|until| until <= later(self.clock.now(), MARGIN)) {
                    return Err(StoreError::Unavailable(
                        "the time for a batch of changes is over".to_owned(),
                    ));
                }
                match write(target.clone()).await {
                    Err(StoreError::Unavailable(_)) if attempt < ATTEMPTS => attempt += 1,
                    result => return result,
                }
            }
        };
        stream::iter(targets.into_iter().map(Ok)).try_for_each_concurrent(SIDE_BY_SIDE, write).await
    }
}
