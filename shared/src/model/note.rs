//! Notes that recruiters write about candidates.

use serde::{Deserialize, Serialize};

use super::{Actor, Lines};
use crate::clock::Timestamp;
use crate::id::Id;

/// The text of a note.
pub type NoteText = Lines<5_000>;

/// A note about a candidate. Its author may change the text.
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
    /// When the text was last changed; `None` if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}
