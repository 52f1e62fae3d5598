//! Notes about candidates in the API.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::id::Id;
use crate::model::{self, Actor, NoteText};

/// A note about a candidate.
#[derive(Debug, Serialize, ToSchema)]
pub struct Note {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// The text.
    text: NoteText,
    /// Who wrote the note.
    actor: Actor,
    /// When the note was written.
    created_at: Timestamp,
}

impl Note {
    /// The note about this candidate.
    pub fn of(candidate_id: Id, note: model::Note) -> Self {
        let model::Note { id, text, actor, created_at } = note;
        Self { id, candidate_id, text, actor, created_at }
    }
}
