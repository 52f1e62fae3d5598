//! Operations that several functions share, between HTTP and the store.

use crate::clock::Timestamp;
use crate::id::Ids;
use crate::model::{Actor, Touchpoint, TouchpointKind};

pub mod accounts;
pub mod applying;
pub mod calls;
pub mod erasure;
pub mod files;
pub mod imports;
pub mod membership;
pub mod notices;
pub mod screening;
pub mod second_factor;
pub mod sign_in_limits;
pub mod webhooks;

/// The author and the time of a change, which all its touchpoints share.
pub struct Author<'i> {
    /// Generates the touchpoints' identifiers.
    pub ids: &'i Ids,
    /// The actor.
    pub actor: Actor,
    /// The time.
    pub at: Timestamp,
}

impl Author<'_> {
    /// The touchpoints of one change.
    pub fn touchpoints(&self, kinds: impl IntoIterator<Item = TouchpointKind>) -> Vec<Touchpoint> {
        let touchpoint =
            |kind| Touchpoint { id: self.ids.next(), kind, at: self.at, actor: self.actor.clone() };
        kinds.into_iter().map(touchpoint).collect()
    }
}
