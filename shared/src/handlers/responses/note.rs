//! Notes about candidates in the API.

use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::http::Personal;
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
    /// When the text was last changed; `null` if it never was.
    updated_at: Option<Timestamp>,
}

impl Note {
    /// The note about this candidate.
    pub fn of(candidate_id: Id, note: model::Note) -> Self {
        let model::Note { id, text, actor, created_at, updated_at } = note;
        Self { id, candidate_id, text, actor, created_at, updated_at }
    }
}

/// A note without its text and its author: what a credential without the scope `candidates:read` gets.
#[derive(Debug, Serialize, ToSchema)]
pub struct NoteRef {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// When the note was written.
    created_at: Timestamp,
    /// When the text was last changed; `null` if it never was.
    updated_at: Option<Timestamp>,
}

impl Personal for Note {
    type Reference = NoteRef;

    fn into_reference(self) -> NoteRef {
        let Self { id, candidate_id, created_at, updated_at, .. } = self;
        NoteRef { id, candidate_id, created_at, updated_at }
    }
}
