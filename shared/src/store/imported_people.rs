//! People whom an import brings with several writes: what is told of them afterwards.
//!
//! The first writes make a record with [`CandidateRecord::begin_import`]. It is in no list but the one of such people, which leads
//! the deletion and the verification of a tenant to them, and no request finds it. What must be unique is claimed. Then come notes,
//! files, consents and further versions of the record, all without events. At most
//! [`CandidateRecord::LISTED_AT_ONCE`] applications are left for the last write ([`CandidateRecord::finish_import`]), which makes the
//! entries and counters of the others beside them, and the events of the person. Those of notes, files and further applications follow.

use super::Transaction;
use super::files::file_event;
use super::notes::note_event;
use super::recording::new_application;
use crate::id::Id;
use crate::model::{Application, CandidateFile, CandidateRecord, EventType};

impl Transaction {
    /// Tells of what an import has brought with a new person before the last write: applications that the last write did not
    /// tell of, notes, and files that are here. At most 90 of them in a transaction, which also writes that they are told.
    pub fn tell_of_import(
        &mut self,
        record: &CandidateRecord,
        applications: &[Application],
        notes: &[Id],
        files: &[CandidateFile],
    ) {
        let candidate = record.candidate.id;
        let files = files.iter().filter(|file| file.stored().is_some());
        self.tell(applications.iter().map(|application| new_application(record, application)));
        self.tell(notes.iter().map(|note| note_event(EventType::NoteCreated, candidate, *note)));
        self.tell(files.map(|file| file_event(EventType::FileCreated, candidate, file)));
    }
}
