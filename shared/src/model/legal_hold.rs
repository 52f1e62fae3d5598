//! Legal holds on candidates, which forbid their erasure.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Actor, Lines};
use crate::clock::Timestamp;

/// The reason for a legal hold.
pub type HoldReason = Lines<500>;

/// A legal hold. While it is set, nobody can erase the candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LegalHold {
    /// The reason.
    pub reason: HoldReason,
    /// When it was set.
    pub set_at: Timestamp,
    /// Who set it.
    pub actor: Actor,
}
