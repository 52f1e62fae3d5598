//! What the work on an import needs.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::SignedDuration;
use shared::clock::{Clock, Timestamp, later};
use shared::id::Ids;
use shared::model::{Import, OrganizationSettings, Tenant};
use shared::providers::bucket::Bucket;
use shared::random::Random;
use shared::store::Store;
use tokio::sync::OnceCell;

use super::row_files::RowFiles;

/// The number of rows of a part that are worked on at a time.
pub(super) const CONCURRENCY: usize = 8;
/// What the work on an import needs.
#[derive(Clone)]
pub(super) struct Worker<'j> {
    pub(super) store: Store,
    pub(super) bucket: &'j Bucket,
    pub(super) ids: Ids,
    pub(super) random: Random,
    pub(super) clock: Clock,
    pub(super) now: Timestamp,
    /// The latest moment of a transaction.
    pub(super) latest: Arc<Mutex<Timestamp>>,
    pub(super) tenant: Tenant,
    pub(super) import: &'j Import,
    pub(super) settings: OrganizationSettings,
    /// The files of the rows, once they were read.
    pub(super) files: Arc<OnceCell<RowFiles>>,
}

impl Worker<'_> {
    /// The same work at a later moment, which no other transaction has: the records and the events of a transaction have one time.
    pub(super) fn later(&self) -> Self {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = self.clock.now().max(later(*latest, SignedDuration::from_millis(1)));
        Self { now: *latest, ..self.clone() }
    }
}
