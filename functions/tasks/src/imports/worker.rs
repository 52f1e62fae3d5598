//! What the work on an import needs.

use shared::clock::{Clock, Timestamp};
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
pub(super) struct Worker<'j> {
    pub(super) store: Store,
    pub(super) bucket: &'j Bucket,
    pub(super) ids: Ids,
    pub(super) random: Random,
    pub(super) clock: Clock,
    pub(super) now: Timestamp,
    pub(super) tenant: Tenant,
    pub(super) import: &'j Import,
    pub(super) settings: OrganizationSettings,
    /// The files of the rows, once they were read.
    pub(super) files: OnceCell<RowFiles>,
}
