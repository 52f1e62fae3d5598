//! Notes that recruiters write about candidates.

use serde::{Deserialize, Serialize};

use super::{Actor, Lines};
use crate::clock::Timestamp;
use crate::id::Id;

/// The text of a note.
pub type NoteText = Lines<5_000>;

/// A note about a candidate. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The identifier.
    pub id: Id,
    /// The text.
    pub text: NoteText,
    /// Who wrote it.
    pub actor: Actor,
    /// When it was written.
    pub created_at: Timestamp,
}
