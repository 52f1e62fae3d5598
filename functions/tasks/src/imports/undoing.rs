//! Undoes rows: people whom the import made are erased, unless somebody has touched them since; of others, the notes that it made
//! are deleted.

use std::collections::{BTreeMap, HashMap};

use futures_util::stream::{self, StreamExt};
use shared::model::{
    ActorKind, CandidateRecord, Erasure, ErasureReason, ImportCounts, ImportPart, ImportVerdict, ImportedRow,
    TouchpointKind,
};
use shared::services::Author;
use shared::services::erasure::{self, EraseError, Tombstone};
use shared::services::imports::{verdicts, write_lines};
use shared::store::{CommitError, MaybeErased, Paging, Transaction};

use super::worker::{CONCURRENCY, Worker};
use crate::{MAX_ATTEMPTS, TaskError};

/// The number of touchpoints that are read at a time.
const PAGE: u32 = 100;

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
        let before = verdicts(bucket, import, *tenant, part.number, *now).await?;
        let (mut counts, mut undone, mut stays) = (ImportCounts::default(), 0, 0);
        let after: Vec<_> = before
            .into_iter()
            .map(|verdict| match kept.get(&verdict.row) {
                None => verdict,
                Some(left) => {
                    undone += u64::from(left.is_empty());
                    stays += u64::from(!left.is_empty());
                    ImportVerdict { messages: left.clone(), ..verdict }
                }
            })
            .collect();
        for verdict in &after {
            counts.add(verdict.result, !verdict.messages.is_empty());
        }
        (counts.undone, counts.kept) = (undone, stays);
        write_lines(bucket, &import.verdict_file(*tenant, part.number), &after, *now).await?;
        Ok(Some(ImportPart { counts, ..part }))
    }

    /// Undoes a row. Returns what stays, as sentences.
    async fn undo_row(&self, row: &ImportedRow) -> Result<Vec<String>, TaskError> {
        let mut attempt = 1;
        loop {
            match Box::pin(self.try_to_undo(row)).await {
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
            Some(record) => self.remove_added(&mut transaction, &record, row).await?,
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
        let (mut before, mut is_after_import) = (None, true);
        let importer = self.actor().without_name();
        loop {
            let page = Paging { limit: PAGE, before };
            let listed = self.store.list_touchpoints(self.tenant, record.candidate.id, &page).await;
            let listed = listed?;
            for touchpoint in listed.items {
                is_after_import &= touchpoint.kind != TouchpointKind::Imported { import_id: self.import.id };
                let is_known = touchpoint.actor.kind == ActorKind::System
                    || (!is_after_import && touchpoint.actor.without_name() == importer);
                if !is_known {
                    return Ok(true);
                }
            }
            before = listed.next;
            if before.is_none() {
                return Ok(false);
            }
        }
    }

    /// Deletes the notes that the import made about a person who was known before. Returns what stays.
    async fn remove_added(
        &self,
        transaction: &mut Transaction,
        record: &CandidateRecord,
        row: &ImportedRow,
    ) -> Result<Vec<String>, TaskError> {
        let (tenant, id) = (self.tenant, record.candidate.id);
        let mut kept = Vec::new();
        if !row.fields.is_empty() {
            kept.push(format!("What was filled or replaced stays: {}", row.fields.join(", ")));
        }
        for application in &row.applications {
            if record.applications.iter().any(|one| one.id == *application) {
                kept.push(format!("Application {application} stays"));
            }
        }
        let mut deleted = Vec::new();
        for note in &row.notes {
            if self.store.find_note(tenant, id, *note).await?.is_some() {
                transaction.delete_note(id, *note);
                deleted.push(TouchpointKind::NoteDeleted { note_id: *note });
            }
        }
        if deleted.is_empty() {
            return Ok(kept);
        }
        let page = Paging { limit: u32::try_from(deleted.len() + 1).unwrap_or(u32::MAX), before: None };
        let others = self.store.list_notes(tenant, id, &page).await?.items;
        let mut after = record.clone().advance_version();
        after.candidate.has_notes = others.iter().any(|note| !row.notes.contains(&note.id));
        let actor = self.import.undone_by.clone().unwrap_or_else(|| self.actor());
        let author = Author { ids: &self.ids, actor, at: self.now };
        transaction.replace_candidate(record, &after, &author.touchpoints(deleted))?;
        Ok(kept)
    }
}
