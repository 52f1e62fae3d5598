//! The time in which one run alone works on a batch of changes.

use futures_util::stream::{self, TryStreamExt};
use jiff::SignedDuration;

use super::StoreError;
use crate::clock::{Clock, Timestamp, later};

/// How long before the end a run begins no further write. This is longer than a call to DynamoDB takes.
const MARGIN: SignedDuration = SignedDuration::from_secs(8);
/// The number of writes at a time.
const SIDE_BY_SIDE: usize = 8;

/// The time in which a run works on a batch.
pub(super) struct Lease<'l> {
    pub(super) clock: &'l Clock,
    pub(super) until: Option<Timestamp>,
}

impl Lease<'_> {
    /// Makes writes side by side, as long as the lease lasts.
    pub(super) async fn write_all<W: Future<Output = Result<(), StoreError>>>(
        &self,
        writes: impl Iterator<Item = W>,
    ) -> Result<(), StoreError> {
        let write = async |write: W| {
            if self.until.is_none_or(|until| until <= later(self.clock.now(), MARGIN)) {
                return Err(StoreError::Unavailable("the time for a batch of changes is over".to_owned()));
            }
            write.await
        };
        stream::iter(writes.map(Ok)).try_for_each_concurrent(SIDE_BY_SIDE, write).await
    }
}
