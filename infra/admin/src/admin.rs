//! The dependencies of the commands.

use jiff::Timestamp;
use shared::id::Ids;
use shared::random::Random;
use shared::store::Store;

/// The store, the time, and the sources of ids and secrets.
pub(crate) struct Admin {
    pub(crate) store: Store,
    pub(crate) now: Timestamp,
    pub(crate) ids: Ids,
    pub(crate) random: Random,
}

/// The maximum number of random identifiers to try for a new record. In rare cases, an identifier is already in use.
pub(crate) const ID_ATTEMPTS: usize = 3;
