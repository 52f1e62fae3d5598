//! Notes about candidates.

use super::changes::Changes;
use super::recording::Recorded;
use super::{Listed, Paging, Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{EventData, EventType, Note, SubjectType, Tenant};

impl Transaction {
    /// Inserts a note about a candidate. The same transaction replaces the candidate.
    pub fn insert_note(&mut self, candidate: Id, note: &Note) -> Result<(), StoreError> {
        self.insert(item::write(note, keys::note(self.tenant, candidate, note.id), None)?);
        self.record_note(EventType::NoteCreated, candidate, note.id);
        Ok(())
    }

    /// Replaces the text of a note about a candidate. The same transaction replaces the candidate, so no other change of the note
    /// is lost.
    pub fn replace_note(&mut self, candidate: Id, before: &Note, after: &Note) -> Result<(), StoreError> {
        let key = keys::note(self.tenant, candidate, after.id);
        let item = |note| item::write(note, key.clone(), None);
        self.change_existing(key.clone(), Changes::between(&item(before)?, &item(after)?));
        let updated = note_event(EventType::NoteUpdated, candidate, after.id);
        self.record([updated.changing(vec!["text".into()])]);
        Ok(())
    }

    /// Deletes a note about a candidate. The same transaction replaces the candidate.
    pub fn delete_note(&mut self, candidate: Id, note: Id) {
        self.delete_existing(keys::note(self.tenant, candidate, note));
        self.record_note(EventType::NoteDeleted, candidate, note);
    }

    fn record_note(&mut self, kind: EventType, candidate: Id, note: Id) {
        self.record([note_event(kind, candidate, note)]);
    }
}

/// An event of a note about a candidate.
pub(super) fn note_event(kind: EventType, candidate: Id, note: Id) -> Recorded {
    let data = EventData::new().with("candidate_id", candidate);
    Recorded::stamped(kind, SubjectType::Note, Some(note)).with(data)
}

impl Store {
    /// A note about the candidate.
    pub async fn find_note(&self, tenant: Tenant, candidate: Id, id: Id) -> Result<Option<Note>, StoreError> {
        self.read(keys::note(tenant, candidate, id)).await?.map(item::read).transpose()
    }

    /// Those of these notes about the candidate that there are: of at most 100, in the order of their identifiers.
    pub async fn find_notes(
        &self,
        tenant: Tenant,
        candidate: Id,
        ids: &[Id],
    ) -> Result<Vec<Note>, StoreError> {
        let found = self.read_many(ids.iter().map(|id| keys::note(tenant, candidate, *id))).await?;
        let mut notes = found.into_iter().map(item::read::<Note>).collect::<Result<Vec<_>, _>>()?;
        notes.sort_by_key(|note| note.id);
        Ok(notes)
    }

    /// A page of the notes about the candidate, newest first.
    pub async fn list_notes(
        &self,
        tenant: Tenant,
        candidate: Id,
        page: &Paging,
    ) -> Result<Listed<Note>, StoreError> {
        self.read_page(&keys::notes(tenant, candidate), page).await
    }
}
