//! Carries out rows. A row that fits one transaction is one; of a larger one, each transaction adds what has room, and nobody sees
//! the person before the last.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::stream::{self, StreamExt};
use jiff::SignedDuration;
use shared::clock::{Timestamp, later};
use shared::handlers::consents::NewConsent;
use shared::id::Id;
use shared::model::{
    Actor, Answers, CandidateFile, CandidateRecord, Consent, ImportCounts, ImportPart, ImportStatus,
    ImportVerdict, ImportedFile, ImportedRow, Note, RoleCopy, RoleState, RowResult, Source, Touchpoint,
    TouchpointKind,
};
use shared::services::imports::{StoredRow, rows, verdicts, write_lines};
use shared::store::{CommitError, MaybeErased, Transaction};

use super::judging::{Earlier, Items, Plan};
use super::roles::{RoleFound, Roles};
use super::rows::{may_be_together, read, some_at_a_time};
use super::worker::{CONCURRENCY, Worker};
use crate::{MAX_ATTEMPTS, TaskError};

/// How much a transaction has room for, beside what every one has.
// DynamoDB takes 100 actions. A record, its list entry, its claims, what it is found by, the statistics, the history, the claim of
// the row and the changes for the feed are at most 50 for somebody with 20 tags.
const ROOM: usize = 48;
/// What an application takes that is in lists: the item, two list entries, the role's counters, the tenant's, and the answers.
const SHOWN: usize = 6;
/// What an application takes of a person whom nobody sees yet: the item, and the answers.
const HIDDEN: usize = 2;
/// The number of events in a transaction.
const EVENTS: usize = 80;
/// The number of rows after which it is looked whether somebody has cancelled the import.
const LOOK: usize = 10;

/// The time after which no further row of a part is begun, because a function may run for two minutes.
const ENOUGH: SignedDuration = SignedDuration::from_secs(45);

/// Rows that are carried out by one.
enum Work {
    /// Rows of different people who were unknown.
    Together(Vec<StoredRow>),
    /// The rows of a person, in the order of the file.
    OneByOne(Vec<StoredRow>),
}

/// A transaction for a row.
pub(super) struct Draft {
    pub(super) transaction: Transaction,
    pub(super) record: CandidateRecord,
    /// What the history says, and when it happened.
    pub(super) history: Vec<(Timestamp, TouchpointKind)>,
    /// What the row has made.
    pub(super) made: ImportedRow,
}

impl Worker<'_> {
    /// Carries out the rows of a part. Returns `None` if somebody has cancelled the import meanwhile, or if the part needs another
    /// turn, as rows with many files do.
    pub(super) async fn run_part(&self, part: ImportPart) -> Result<Option<ImportPart>, TaskError> {
        let Worker { import, tenant, bucket, now, .. } = self;
        let stored = rows(bucket, import, *tenant, part.number, *now).await?;
        let before = verdicts(bucket, import, *tenant, part.number, *now).await?;
        // Without them, every row would be left out.
        self.row_files().await?;
        let before: HashMap<_, _> = before.into_iter().map(|verdict| (verdict.row, verdict)).collect();
        // The rows of a person are carried out one after another, in the order of the file.
        let mut people = BTreeMap::<u64, Vec<StoredRow>>::new();
        for row in stored {
            people.entry(row.same_as.unwrap_or(row.row)).or_default().push(row);
        }
        let (new, people): (Vec<_>, Vec<_>) =
            people.into_values().partition(|rows| may_be_together(rows, &before));
        let new = some_at_a_time(new.into_iter().flatten()).map(Work::Together);
        let work = new.chain(people.into_iter().map(Work::OneByOne));
        let (roles, is_cancelled, is_late) =
            (Roles::default(), AtomicBool::new(false), AtomicBool::new(false));
        let must_stop = async |index: usize| {
            if index.is_multiple_of(LOOK) && self.is_cancelled().await? {
                is_cancelled.store(true, Ordering::Relaxed);
            }
            if self.clock.now() > later(self.now, ENOUGH) {
                is_late.store(true, Ordering::Relaxed);
            }
            Ok::<_, TaskError>(is_cancelled.load(Ordering::Relaxed) || is_late.load(Ordering::Relaxed))
        };
        let carry_out = |(index, work): (usize, Work)| {
            let (roles, before, must_stop) = (&roles, &before, &must_stop);
            async move {
                let mut done = Vec::new();
                match work {
                    Work::Together(_) if must_stop(0).await? => {}
                    Work::Together(rows) => done = Box::pin(self.run_together(roles, rows, before)).await?,
                    Work::OneByOne(rows) => {
                        for row in rows {
                            if must_stop(index).await? {
                                break;
                            }
                            done.push(self.run_row(roles, &row, before.get(&row.row)).await?);
                        }
                    }
                }
                Ok::<_, TaskError>(done)
            }
        };
        let groups = work.enumerate().map(carry_out);
        let mut results = stream::iter(groups).buffer_unordered(CONCURRENCY);
        let (mut all, mut failure) = (before.clone(), None);
        while let Some(done) = results.next().await {
            match done {
                Ok(done) => all.extend(done.into_iter().map(|verdict| (verdict.row, verdict))),
                Err(error) => failure = Some(error),
            }
        }
        drop(results);
        if let Some(error) = failure {
            return Err(error);
        }
        let mut all: Vec<_> = all.into_values().collect();
        all.sort_by_key(|verdict| verdict.row);
        write_lines(bucket, &import.verdict_file(*tenant, part.number), &all, *now).await?;
        let mut counts = ImportCounts::default();
        for verdict in &all {
            counts.add(verdict.result, !verdict.messages.is_empty());
        }
        let (is_cancelled, is_late) = (is_cancelled.into_inner(), is_late.into_inner());
        if is_late && !is_cancelled {
            let mut transaction = Transaction::new(*tenant);
            transaction.replace_import(import, &import.wait(self.clock.now()))?;
            self.store.commit(transaction).await?;
        }
        Ok((!is_cancelled && !is_late).then_some(ImportPart { counts, ..part }))
    }

    /// Carries out the rest of these rows of a part, of a cancelled import, too: nobody stays half.
    pub(super) async fn finish_rows(
        &self,
        part: &ImportPart,
        begun: &[ImportedRow],
    ) -> Result<(), TaskError> {
        let Self { import, tenant, bucket, now, .. } = self;
        let roles = Roles::default();
        let mut all = verdicts(bucket, import, *tenant, part.number, *now).await?;
        for row in rows(bucket, import, *tenant, part.number, *now).await? {
            if begun.iter().any(|made| made.row == row.row) {
                let before = all.iter_mut().find(|verdict| verdict.row == row.row);
                let verdict = self.run_row(&roles, &row, before.as_deref()).await?;
                if let Some(before) = before {
                    *before = verdict;
                }
            }
        }
        write_lines(bucket, &import.verdict_file(*tenant, part.number), &all, *now).await?;
        Ok(())
    }

    /// What the rows of a part have made that are begun and not done.
    pub(super) async fn begun_rows(&self, part: &ImportPart) -> Result<Vec<ImportedRow>, TaskError> {
        let mut begun = self.store.list_imported_rows(self.tenant, self.import.id, part).await?;
        begun.retain(|made| !made.is_done);
        Ok(begun)
    }

    /// Ends these rows with what stands of them, because nobody knows any more what they said.
    pub(super) async fn end_rows(&self, begun: &[ImportedRow]) -> Result<(), TaskError> {
        let roles = Roles::default();
        for row in begun {
            for attempt in 1.. {
                let made = self.store.find_imported_row(self.tenant, self.import.id, row.row).await?;
                let Some(made) = made.filter(|made| !made.is_done) else { break };
                match Box::pin(self.end_row(&roles, made)).await {
                    Err(TaskError::Commit(CommitError::Stale | CommitError::RoleChanged))
                        if attempt < MAX_ATTEMPTS => {}
                    result => {
                        result?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    async fn is_cancelled(&self) -> Result<bool, TaskError> {
        let found = self.store.find_import(self.tenant, self.import.id).await?;
        Ok(found.is_none_or(|import| import.status != ImportStatus::Running))
    }

    /// Carries out a row. Other changes of the person may come between.
    pub(super) async fn run_row(
        &self,
        roles: &Roles,
        row: &StoredRow,
        before: Option<&ImportVerdict>,
    ) -> Result<ImportVerdict, TaskError> {
        let mut attempt = 1;
        loop {
            match Box::pin(self.later().try_row(roles, row, before)).await {
                Err(TaskError::Commit(
                    CommitError::Stale | CommitError::Taken(_) | CommitError::RoleChanged,
                )) if attempt < MAX_ATTEMPTS => {
                    attempt += 1;
                    Self::forget_roles(roles).await;
                }
                // The other rows can go on.
                Err(TaskError::NotCarriedOut(problem)) => {
                    let messages = vec![format!("row can't be carried out: {problem}")];
                    return self.leave_out(roles, row, messages).await;
                }
                result => return result,
            }
        }
    }

    /// Leaves out what of a row cannot be made. Nobody stays hidden of whom a part is made.
    async fn leave_out(
        &self,
        roles: &Roles,
        row: &StoredRow,
        messages: Vec<String>,
    ) -> Result<ImportVerdict, TaskError> {
        let made = self.store.find_imported_row(self.tenant, self.import.id, row.row).await?;
        let (result, candidate_id) = match made {
            None => (RowResult::Invalid, None),
            Some(made) => {
                let made = Box::pin(self.end_row(roles, made)).await?;
                (result_of(&made), Some(made.candidate_id))
            }
        };
        Ok(ImportVerdict { row: row.row, line: row.line, result, messages, candidate_id, files: Vec::new() })
    }

    async fn try_row(
        &self,
        roles: &Roles,
        row: &StoredRow,
        before: Option<&ImportVerdict>,
    ) -> Result<ImportVerdict, TaskError> {
        let (store, tenant, import) = (&self.store, self.tenant, self.import.id);
        let find = async |row| store.find_imported_row(tenant, import, row).await;
        let made = find(row.row).await?;
        if let Some(made) = made.as_ref().filter(|made| made.is_done) {
            let messages = before.map(|before| before.messages.clone()).unwrap_or_default();
            return Ok(verdict_of(row, messages, made));
        }
        let earlier = match row.same_as {
            Some(first) if made.is_none() => find(first).await?,
            _ => None,
        };
        let person = made.as_ref().map(|made| Earlier::Own(made.candidate_id));
        let person = person.unwrap_or_else(|| Earlier::Row(earlier.as_ref().map(|made| made.candidate_id)));
        let (verdict, mut plan) = self.judge(roles, row, read(row, self.now), person, before).await?;
        if let (Some(plan), Some(made)) = (&mut plan, &made) {
            plan.items.files.retain(|number| made.files.iter().all(|file| file.number != *number));
        }
        let is_of_import = earlier.is_some_and(|earlier| earlier.is_new || earlier.is_of_import);
        let made = match (plan, made) {
            (None, None) => return Ok(verdict),
            (Some(_), None) if verdict.result == RowResult::Unchanged => return Ok(verdict),
            (Some(mut plan), None) => {
                let draft = self.begin_row(roles, &mut plan, row, is_of_import).await?;
                let made = self.commit(draft, &mut plan, None).await?;
                self.go_on(roles, plan, made).await?
            }
            (Some(plan), Some(made)) => self.go_on(roles, plan, made).await?,
            // What was begun is ended, so that nobody stays hidden.
            (None, Some(made)) => self.end_row(roles, made).await?,
        };
        Ok(verdict_of(row, verdict.messages, &made))
    }

    /// Ends a row of which a part is made, and the rest cannot or must not be made any more.
    async fn end_row(&self, roles: &Roles, made: ImportedRow) -> Result<ImportedRow, TaskError> {
        let found = self.store.find_any_candidate(self.tenant, made.candidate_id).await?;
        if let Some(known) = found.and_then(MaybeErased::present) {
            let profile = known.candidate.profile.clone();
            let plan = Plan { since: self.now, profile, items: Items::default(), known: Some(known) };
            return self.go_on(roles, plan, made).await;
        }
        let after = ImportedRow { is_done: true, version: made.version + 1, ..made.clone() };
        let mut transaction = self.transaction();
        transaction.replace_imported_row(self.import, &made, &after)?;
        self.store.commit(transaction).await?;
        Ok(after)
    }

    /// The first part of a row: all of it, if it has room.
    pub(super) async fn begin_row(
        &self,
        roles: &Roles,
        plan: &mut Plan,
        row: &StoredRow,
        is_of_import: bool,
    ) -> Result<Draft, TaskError> {
        let made = ImportedRow {
            row: row.row,
            candidate_id: plan.known.as_ref().map_or_else(|| self.ids.next(), |known| known.candidate.id),
            is_new: plan.known.is_none(),
            is_of_import,
            applications: Vec::new(),
            notes: Vec::new(),
            files: Vec::new(),
            told: 0,
            fields: plan.fields(),
            is_done: false,
            kept: None,
            version: 0,
        };
        let mut draft = if let Some(known) = &plan.known {
            let updated = TouchpointKind::Updated { fields: made.fields.clone(), resume: None };
            let history = (!made.fields.is_empty()).then_some((self.now, updated)).into_iter().collect();
            Draft { transaction: self.transaction(), record: known.clone(), history, made }
        } else {
            let source = plan.profile.source.clone().unwrap_or(Source::IMPORT);
            let mut record = CandidateRecord::new(made.candidate_id, plan.profile.clone(), plan.since);
            record.retained_from = (!self.import.settings.respect_dates).then_some(self.now);
            let history = vec![(plan.since, TouchpointKind::Created { source })];
            Draft { transaction: self.transaction(), record, history, made }
        };
        let weights = if plan.known.is_some() || plan.items.fit() { SHOWN } else { HIDDEN };
        self.add(roles, &mut draft, plan.items.take(weights)).await?;
        draft.made.is_done = plan.items.is_empty();
        if plan.known.is_none() && !draft.made.is_done {
            draft.record = draft.record.begin_import(self.import.id);
        }
        Ok(draft)
    }

    /// Makes the rest of a row, part by part.
    async fn go_on(
        &self,
        roles: &Roles,
        mut plan: Plan,
        mut made: ImportedRow,
    ) -> Result<ImportedRow, TaskError> {
        while !made.is_done {
            let moment = self.later();
            let known = plan.known.clone().ok_or(CommitError::Stale)?;
            let is_new = made.is_new;
            let before = made.clone();
            let mut draft =
                Draft { transaction: self.transaction(), record: known, history: Vec::new(), made };
            if draft.record.is_shown() && is_new && plan.items.is_empty() {
                let ids = draft.made.file_ids();
                let files = self.store.find_files(self.tenant, draft.made.candidate_id, &ids).await?;
                Self::tell(&mut draft, &files);
                made = self.commit_claim(draft, &before).await?;
                continue;
            }
            let weights = if draft.record.is_shown() { SHOWN } else { HIDDEN };
            if plan.items.has_others() {
                moment.add(roles, &mut draft, plan.items.take(weights)).await?;
                draft.made.is_done = draft.record.is_shown() && plan.items.is_empty();
            } else if !plan.items.files.is_empty() {
                let number = plan.items.files.remove(0);
                Box::pin(moment.add_file(&mut draft, number)).await?;
                plan.profile.resume.clone_from(&draft.record.candidate.profile.resume);
                draft.made.is_done = draft.record.is_shown() && plan.items.is_empty();
            } else if !draft.record.is_shown() {
                draft.record = moment.with_current_roles(draft.record).await?;
                draft.record = if let Some(listed) = draft.record.list_ahead() {
                    listed
                } else {
                    draft.history.push((moment.now, moment.imported_kind()));
                    draft.record.finish_import(moment.now)
                };
            } else {
                draft.made.is_done = true;
            }
            made = moment.commit(draft, &mut plan, Some(&before)).await?;
        }
        Ok(made)
    }

    /// The record, in which the copies of roles are current: nobody has updated them while it was in no list.
    async fn with_current_roles(&self, record: CandidateRecord) -> Result<CandidateRecord, TaskError> {
        let ids: Vec<_> = record.applications.iter().map(|application| application.role.id).collect();
        let roles = self.store.find_roles(self.tenant, ids).await?;
        let followed = record.clone().follow(roles.values().map(RoleState::of), self.now);
        Ok(followed.map_or(record, |followed| followed.record))
    }

    /// Adds what has room to a transaction.
    async fn add(&self, roles: &Roles, draft: &mut Draft, items: Items) -> Result<(), TaskError> {
        let unfit = |error: &dyn std::fmt::Display| TaskError::NotCarriedOut(error.to_string());
        let id = draft.record.candidate.id;
        let (mut imported, mut answered) = (Vec::new(), Vec::new());
        for application in &items.applications {
            let role = match &application.role {
                RoleFound::Known(role) => RoleCopy::of(role),
                RoleFound::Missing(title, external_id) => {
                    RoleCopy::of(&self.make_role(roles, title, external_id.as_ref()).await?)
                }
            };
            let application_id = self.ids.next();
            imported.push(Self::imported(application, application_id, role));
            draft.made.applications.push(application_id);
            let answers = application.answers(|| self.ids.next());
            if !answers.is_empty() {
                draft.transaction.insert_answers(id, &Answers { application_id, answers })?;
                answered.push(application_id);
            }
        }
        if !imported.is_empty() {
            let added = draft.record.clone().import_applications(imported, self.now);
            let (record, history) = added.map_err(|error| unfit(&error))?;
            draft.record = answered.into_iter().fold(record, CandidateRecord::with_answers);
            draft.history.extend(history);
        }
        for note in &items.notes {
            let (note_id, created_at) = (self.ids.next(), note.at.unwrap_or(self.now));
            let note = Note {
                id: note_id,
                text: note.text.clone(),
                actor: self.actor(),
                created_at,
                updated_at: None,
            };
            draft.transaction.insert_note(id, &note)?;
            draft.history.push((created_at, TouchpointKind::NoteAdded { note_id }));
            draft.record.candidate.has_notes = true;
            draft.made.notes.push(note_id);
        }
        for consent in &items.consents {
            let NewConsent { purpose, granted, obtained_at, wording } = consent.clone();
            let (consent_id, actor, created_at) = (self.ids.next(), self.actor(), self.now);
            let consent =
                Consent { id: consent_id, purpose, granted, obtained_at, wording, actor, created_at };
            draft.transaction.insert_consent(id, &consent)?;
            draft.history.push((self.now, TouchpointKind::of_consent(&consent)));
            let recorded = draft.record.clone().record_consent(consent);
            draft.record = recorded.map_err(|error| unfit(&error))?;
        }
        Ok(())
    }

    /// Tells of what was made before anybody saw the person, apart from what the last write told.
    fn tell(draft: &mut Draft, files: &[CandidateFile]) {
        let (applications, notes) = (&draft.record.applications, &draft.made.notes);
        let of_import = |id: &Id| draft.made.applications.contains(id);
        let untold = applications.iter().skip(CandidateRecord::TOLD_AT_ONCE);
        let untold: Vec<_> = untold.filter(|application| of_import(&application.id)).cloned().collect();
        let told = draft.made.told;
        let all = untold.len() + notes.len() + files.len();
        let end = (told + EVENTS).min(all);
        let part = |start: usize, length: usize| {
            told.saturating_sub(start).min(length)..end.saturating_sub(start).min(length)
        };
        let (of_applications, of_notes) = (part(0, untold.len()), part(untold.len(), notes.len()));
        let of_files = part(untold.len() + notes.len(), files.len());
        let (applications, notes, files) = (&untold[of_applications], &notes[of_notes], &files[of_files]);
        draft.transaction.tell_of_import(&draft.record, applications, notes, files);
        draft.made.told = end;
        draft.made.is_done = end == all;
    }

    /// Commits a part, and makes the plan go on from there.
    async fn commit(
        &self,
        draft: Draft,
        plan: &mut Plan,
        before: Option<&ImportedRow>,
    ) -> Result<ImportedRow, TaskError> {
        let (transaction, record, made) = self.write(draft, plan, before)?;
        self.store.commit(transaction).await?;
        plan.known = Some(record);
        Ok(made)
    }

    /// What a part writes, and the record and what the row has made afterwards.
    pub(super) fn write(
        &self,
        draft: Draft,
        plan: &Plan,
        before: Option<&ImportedRow>,
    ) -> Result<(Transaction, CandidateRecord, ImportedRow), TaskError> {
        let Draft { mut transaction, record, mut history, mut made } = draft;
        let record = record.edit(plan.profile.clone(), self.now);
        if made.is_done {
            history.push((self.now, self.imported_kind()));
        }
        history.sort_by_key(|(at, _)| *at);
        let touchpoint = |(at, kind)| Touchpoint { id: self.ids.next(), kind, at, actor: self.actor() };
        let touchpoints: Vec<_> = history.into_iter().map(touchpoint).collect();
        match &plan.known {
            None => transaction.insert_candidate_with_past(&[(record.clone(), touchpoints)])?,
            Some(known) => transaction.replace_candidate(known, &record, &touchpoints)?,
        }
        made.version += 1;
        match before {
            None => transaction.insert_imported_row(self.import, &made)?,
            Some(before) => transaction.replace_imported_row(self.import, before, &made)?,
        }
        Ok((transaction, record, made))
    }

    /// Commits what a row has made, if nothing of the person changes.
    async fn commit_claim(&self, draft: Draft, before: &ImportedRow) -> Result<ImportedRow, TaskError> {
        let Draft { mut transaction, mut made, .. } = draft;
        made.version += 1;
        transaction.replace_imported_row(self.import, before, &made)?;
        self.store.commit(transaction).await?;
        Ok(made)
    }

    pub(super) fn transaction(&self) -> Transaction {
        Transaction::of_import(self.tenant, self.import.id, self.import.settings.notify)
    }

    /// Who runs the import.
    pub(super) fn actor(&self) -> Actor {
        self.import.run_by.clone().unwrap_or_else(|| self.import.created_by.clone())
    }

    fn imported_kind(&self) -> TouchpointKind {
        TouchpointKind::Imported { import_id: self.import.id }
    }
}

/// The verdict on a row that was carried out. These are the messages of the check.
pub(super) fn verdict_of(row: &StoredRow, mut messages: Vec<String>, made: &ImportedRow) -> ImportVerdict {
    let left_out = made.files.iter().filter_map(ImportedFile::message);
    let new: Vec<_> = left_out.filter(|message| !messages.contains(message)).collect();
    messages.extend(new);
    ImportVerdict {
        row: row.row,
        line: row.line,
        result: result_of(made),
        messages,
        candidate_id: Some(made.candidate_id),
        files: made.files.iter().filter(|file| file.id.is_some()).map(|file| file.number).collect(),
    }
}

/// What a row that was carried out has become.
const fn result_of(made: &ImportedRow) -> RowResult {
    if made.is_new { RowResult::Create } else { RowResult::Update }
}

impl Items {
    /// Whether all fit one transaction.
    pub(super) fn fit(&self) -> bool {
        let Self { applications, notes, consents, files: _ } = self;
        applications.len() * SHOWN + notes.len() + consents.len() <= ROOM
    }

    /// Takes what a transaction has room for, but no files: at least one thing. Each application takes this much.
    fn take(&mut self, application: usize) -> Self {
        fn split<T>(items: &mut Vec<T>, weight: usize, room: &mut usize) -> Vec<T> {
            let count = items.len().min(*room / weight);
            *room -= count * weight;
            items.drain(..count).collect()
        }
        let mut room = ROOM;
        Self {
            applications: split(&mut self.applications, application, &mut room),
            notes: split(&mut self.notes, 1, &mut room),
            consents: split(&mut self.consents, 1, &mut room),
            files: Vec::new(),
        }
    }
}
