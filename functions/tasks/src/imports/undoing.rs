//! Undoes rows: people whom the import made are erased, unless somebody has touched them since; of others, the notes and the
//! applications that it made are deleted, unless an application has moved.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use futures_util::stream::{self, StreamExt};
use shared::id::Id;
use shared::model::{
    ActorKind, CandidateRecord, Erasure, ErasureReason, ImportCounts, ImportPart, ImportVerdict, ImportedRow,
    Touchpoint, TouchpointKind,
};
use shared::services::Author;
use shared::services::erasure::{self, EraseError, Tombstone};
use shared::services::imports::{VerdictError, verdicts, write_lines};
use shared::store::{CommitError, MaybeErased, Paging, Transaction};

use super::worker::{CONCURRENCY, Worker};
use crate::{MAX_ATTEMPTS, TaskError};

/// The number of versions of a record whose touchpoints are read at a time.
const PAGE: u32 = 100;
/// The number of applications that a transaction removes.
// Each takes up to six of its 100 actions: the item, two list entries, the counters of the role and of the tenant, and the
// answers.
const APPLICATIONS: usize = 8;
/// The number of notes that are read at a time.
const BATCH: usize = 100;
/// The number of notes that a transaction deletes.
const NOTES: usize = 30;

impl Worker<'_> {
    /// Undoes the rows of a part.
    pub(super) async fn undo_part(&self, part: ImportPart) -> Result<Option<ImportPart>, TaskError> {
        let Worker { import, tenant, bucket, now, store, .. } = self;
        let made = store.list_imported_rows(*tenant, import.id, &part).await?;
        let mut people = BTreeMap::<_, Vec<ImportedRow>>::new();
        for row in made {
            people.entry(row.candidate_id).or_default().push(row);
        }
        let undo = |rows: Vec<ImportedRow>| async move {
            let mut kept = Vec::new();
            for row in rows {
                let left = match row.kept.clone() {
                    Some(left) => left,
                    None => self.undo_row(&row).await?,
                };
                kept.push((row.row, left));
            }
            Ok::<_, TaskError>(kept)
        };
        let mut results = stream::iter(people.into_values().map(undo)).buffer_unordered(CONCURRENCY);
        let mut kept = HashMap::new();
        while let Some(done) = results.next().await {
            kept.extend(done?);
        }
        drop(results);
        let undone = kept.values().filter(|left| left.is_empty()).count() as u64;
        let of_undo = |counts| ImportCounts { undone, kept: kept.len() as u64 - undone, ..counts };
        let before = match verdicts(bucket, import, *tenant, part.number, *now).await {
            // What the rows have made is known without them.
            Err(VerdictError::Gone) => return Ok(Some(ImportPart { counts: of_undo(part.counts), ..part })),
            before => before?,
        };
        let after = before.into_iter().map(|verdict| match kept.get(&verdict.row) {
            None => verdict,
            Some(left) => ImportVerdict { messages: left.clone(), ..verdict },
        });
        let (after, mut counts): (Vec<_>, _) = (after.collect(), ImportCounts::default());
        for verdict in &after {
            counts.add(verdict.result, !verdict.messages.is_empty());
        }
        write_lines(bucket, &import.verdict_file(*tenant, part.number), &after, *now).await?;
        Ok(Some(ImportPart { counts: of_undo(counts), ..part }))
    }

    /// Undoes a row. Returns what stays, as sentences.
    async fn undo_row(&self, row: &ImportedRow) -> Result<Vec<String>, TaskError> {
        let mut attempt = 1;
        loop {
            match Box::pin(self.later().try_to_undo(row)).await {
                Err(TaskError::Commit(CommitError::Stale)) if attempt < MAX_ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn try_to_undo(&self, row: &ImportedRow) -> Result<Vec<String>, TaskError> {
        let (store, tenant) = (&self.store, self.tenant);
        let found = store.find_any_candidate(tenant, row.candidate_id).await?;
        let mut transaction = Transaction::new(tenant);
        let kept = match found.and_then(MaybeErased::present) {
            None => Vec::new(),
            Some(record) if record.legal_hold.is_some() => {
                vec!["A legal hold is on the candidate, who stays".to_owned()]
            }
            Some(_) if row.is_of_import => vec!["The candidate stays".to_owned()],
            Some(record) if row.is_new => {
                if self.is_touched(&record).await? {
                    vec!["The candidate was changed since, and stays".to_owned()]
                } else {
                    return self.erase_person(&record, row).await;
                }
            }
            Some(record) => {
                let files = self.remove_files(row).await?;
                let record = if row.files.is_empty() {
                    record
                } else {
                    let found = store.find_any_candidate(tenant, row.candidate_id).await?;
                    found.and_then(MaybeErased::present).ok_or(CommitError::Stale)?
                };
                let Some(mut kept) = self.remove_added(&mut transaction, &record, row).await? else {
                    store.commit(transaction).await?;
                    return Box::pin(self.later().try_to_undo(row)).await;
                };
                kept.extend(files);
                kept
            }
        };
        let after = ImportedRow { kept: Some(kept.clone()), version: row.version + 1, ..row.clone() };
        transaction.replace_imported_row(self.import, row, &after)?;
        store.commit(transaction).await?;
        Ok(kept)
    }

    /// Erases a person whom the import made.
    async fn erase_person(
        &self,
        record: &CandidateRecord,
        row: &ImportedRow,
    ) -> Result<Vec<String>, TaskError> {
        let (tenant, now) = (self.tenant, self.now);
        let actor = self.import.undone_by.clone().unwrap_or_else(|| self.actor());
        let erasure = Erasure::new(record.candidate.id, ErasureReason::Mistake, &actor, now);
        let mut transaction = Transaction::new(tenant);
        match erasure::begin(&mut transaction, record, erasure.clone()) {
            Ok(()) => {}
            Err(EraseError::OnHold(_)) => return Err(CommitError::Stale.into()),
            Err(EraseError::Commit(error)) => return Err(error.into()),
            Err(EraseError::Bucket(error)) => return Err(error.into()),
        }
        let after = ImportedRow { kept: Some(Vec::new()), version: row.version + 1, ..row.clone() };
        transaction.replace_imported_row(self.import, row, &after)?;
        self.store.commit(transaction).await?;
        Tombstone::store(Some(self.bucket), tenant, &erasure, now).await?;
        Ok(Vec::new())
    }

    /// Whether anything but the import and the service itself stands in the history of a person whom the import made.
    async fn is_touched(&self, record: &CandidateRecord) -> Result<bool, TaskError> {
        let mut is_touched = false;
        self.look_back(record.candidate.id, |touchpoint, is_by_import| {
            is_touched |= !is_by_import && touchpoint.actor.kind != ActorKind::System;
            if is_touched { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .await?;
        Ok(is_touched)
    }

    /// Of these applications, those with which anything has happened since the import made them.
    async fn touched_of(
        &self,
        record: &CandidateRecord,
        applications: &[Id],
    ) -> Result<BTreeSet<Id>, TaskError> {
        let of_import = record.applications.iter().filter(|one| applications.contains(&one.id));
        let mut roles: BTreeMap<_, _> = of_import.map(|one| (one.role.id, one.id)).collect();
        let mut touched = BTreeSet::new();
        self.look_back(record.candidate.id, |touchpoint, is_by_import| {
            let role = touchpoint.kind.role_id();
            if matches!(touchpoint.kind, TouchpointKind::Applied { .. }) {
                roles.retain(|of, _| Some(*of) != role);
            } else if !is_by_import && touchpoint.actor.kind != ActorKind::System {
                touched.extend(role.and_then(|role| roles.get(&role)));
            }
            if roles.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .await?;
        Ok(touched)
    }

    /// Shows the history of a person, newest first, and of each entry whether it is by the import.
    async fn look_back(
        &self,
        candidate: Id,
        mut see: impl FnMut(&Touchpoint, bool) -> ControlFlow<()>,
    ) -> Result<(), TaskError> {
        let mut page = Paging { limit: PAGE, before: None };
        loop {
            let listed = self.store.list_versions(self.tenant, candidate, &page).await?;
            for (touchpoints, import) in listed.items {
                let is_by_import = import == Some(self.import.id);
                if touchpoints.iter().any(|touchpoint| see(touchpoint, is_by_import).is_break()) {
                    return Ok(());
                }
            }
            page.before = listed.next;
            if page.before.is_none() {
                return Ok(());
            }
        }
    }

    /// Deletes the notes and the applications that the import made of a person who was known before. Returns what stays; `None` if
    /// there is more to delete than a transaction has room for.
    async fn remove_added(
        &self,
        transaction: &mut Transaction,
        record: &CandidateRecord,
        row: &ImportedRow,
    ) -> Result<Option<Vec<String>>, TaskError> {
        let (tenant, id) = (self.tenant, record.candidate.id);
        let mut kept = Vec::new();
        if !row.fields.is_empty() {
            kept.push(format!("What was filled or replaced stays: {}", row.fields.join(", ")));
        }
        let touched = self.touched_of(record, &row.applications).await?;
        let changed = |id: &Id| format!("Application {id} was changed since, and stays");
        kept.extend(touched.iter().map(changed));
        let of_import = record.applications.iter();
        let of_import =
            of_import.filter(|one| row.applications.contains(&one.id) && !touched.contains(&one.id));
        let all: Vec<_> = of_import.collect();
        let removed = all.get(..APPLICATIONS).unwrap_or(&all);
        let mut history = Vec::new();
        for application in removed {
            let (application_id, role_id) = (application.id, application.role.id);
            if application.has_answers {
                transaction.delete_answers(id, application_id);
            }
            history.push(TouchpointKind::ApplicationDeleted { application_id, role_id });
        }
        let mut notes = Vec::new();
        for some in row.notes.chunks(BATCH) {
            if notes.len() > NOTES {
                break;
            }
            for note in self.store.find_notes(tenant, id, some).await? {
                if note.updated_at.is_some() {
                    kept.push(format!("Note {} was edited since, and stays", note.id));
                } else {
                    notes.push(note);
                }
            }
        }
        let deleted = notes.get(..NOTES).unwrap_or(&notes);
        for note in deleted {
            transaction.delete_note(id, note.id);
            history.push(TouchpointKind::NoteDeleted { note_id: note.id });
        }
        if history.is_empty() {
            return Ok(Some(kept));
        }
        let removed_ids: Vec<_> = removed.iter().map(|application| application.id).collect();
        let mut after = match removed_ids.as_slice() {
            [] => record.clone().advance_version(),
            ids => record.clone().without_applications(ids, self.now),
        };
        if !deleted.is_empty() {
            let page = Paging { limit: u32::try_from(deleted.len() + 1).unwrap_or(u32::MAX), before: None };
            let others = self.store.list_notes(tenant, id, &page).await?.items;
            after.candidate.has_notes = others.iter().any(|note| !deleted.contains(note));
        }
        let actor = self.import.undone_by.clone().unwrap_or_else(|| self.actor());
        let author = Author { ids: &self.ids, actor, at: self.now };
        transaction.replace_candidate(record, &after, &author.touchpoints(history))?;
        Ok((removed.len() == all.len() && deleted.len() == notes.len()).then_some(kept))
    }
}
