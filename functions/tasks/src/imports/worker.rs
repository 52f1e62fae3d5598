//! What the work on an import needs.

use shared::clock::Timestamp;
use shared::id::Ids;
use shared::model::{Import, OrganizationSettings, Tenant};
use shared::providers::bucket::Bucket;
use shared::store::Store;

/// The number of rows of a part that are worked on at a time.
pub(super) const CONCURRENCY: usize = 8;
/// What the work on an import needs.
pub(super) struct Worker<'j> {
    pub(super) store: Store,
    pub(super) bucket: &'j Bucket,
    pub(super) ids: Ids,
    pub(super) now: Timestamp,
    pub(super) tenant: Tenant,
    pub(super) import: &'j Import,
    pub(super) settings: OrganizationSettings,
}
