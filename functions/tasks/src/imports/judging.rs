//! Judges rows: what becomes of each, before anything is written and again when it is carried out.

use std::collections::HashSet;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::clock::Timestamp;
use shared::handlers::consents::NewConsent;
use shared::handlers::import_row::ImportRow;
use shared::id::Id;
use shared::model::{
    CandidateRecord, Email, ImportCounts, ImportPart, ImportVerdict, ImportedApplication, Origin, Profile,
    Retention, RoleCopy, RowResult, Source,
};
use shared::services::imports::{StoredRow, rows, write_lines};
use shared::store::{MaybeErased, Paging};

use super::person::{Person, RowApplication, RowNote};
use super::roles::{RoleFound, Roles};
use super::row_files::names;
use super::rows::{ReadRow, some_at_a_time};
use super::worker::{CONCURRENCY, Worker};
use crate::TaskError;

/// The number of notes of a known person that one query reads, with which a row's notes are compared.
const NOTES: u32 = 100;

/// What is to be done for a row.
pub(super) struct Plan {
    /// The person as he or she is; `None` for a new one.
    pub(super) known: Option<CandidateRecord>,
    /// Since when the person is known.
    pub(super) since: Timestamp,
    /// The profile afterwards.
    pub(super) profile: Profile,
    /// The applications, the notes and the consents that are missing.
    pub(super) items: Items,
}

/// What a row adds to a person.
#[derive(Default)]
pub(super) struct Items {
    /// The applications, first the oldest.
    pub(super) applications: Vec<RowApplication>,
    /// The notes, first the oldest.
    pub(super) notes: Vec<RowNote>,
    /// The consents.
    pub(super) consents: Vec<NewConsent>,
    /// The numbers of the files in the ZIP. Each takes a transaction of its own, after the others.
    pub(super) files: Vec<u64>,
}

impl Items {
    pub(super) fn is_empty(&self) -> bool {
        !self.has_others() && self.files.is_empty()
    }

    /// Whether it has anything but files.
    pub(super) fn has_others(&self) -> bool {
        !(self.applications.is_empty() && self.notes.is_empty() && self.consents.is_empty())
    }
}

impl Plan {
    /// The fields of a known person that are filled or replaced.
    pub(super) fn fields(&self) -> Vec<String> {
        let known = self.known.as_ref().map(|known| &known.candidate.profile);
        let changed = known.into_iter().flat_map(|known| known.differences(&self.profile));
        changed.filter(|(_, has_changed)| *has_changed).map(|(name, _)| name.to_owned()).collect()
    }
}

/// Whom a row is about, beside what it says itself.
#[derive(Clone, Copy)]
pub(super) enum Earlier {
    /// Nothing is written yet.
    Check,
    /// The person of the first row about the same person, if that was carried out.
    Row(Option<Id>),
    /// The person of this row, of which a part is made.
    Own(Id),
    /// Nobody has the address or the external id, and no other row is about the person.
    Nobody,
}

impl Worker<'_> {
    /// Judges the rows of a part, and writes nothing but the verdicts.
    pub(super) async fn judge_part(&self, part: ImportPart) -> Result<Option<ImportPart>, TaskError> {
        let Worker { import, tenant, bucket, now, .. } = self;
        let stored = rows(bucket, import, *tenant, part.number, *now).await?;
        let setting = self.store.get_retention_setting(*tenant).await?;
        let rule = setting.schedule.map(|schedule| schedule.retention);
        let roles = Roles::default();
        let judge = |rows: Vec<StoredRow>| {
            let roles = &roles;
            async move {
                let mut judged = Vec::new();
                for ReadRow { row, read, is_new } in self.read_rows(rows, None).await? {
                    let earlier = if is_new { Earlier::Nobody } else { Earlier::Check };
                    let (verdict, plan) = Box::pin(self.judge(roles, &row, read, earlier, None)).await?;
                    judged.push((verdict, plan.is_some_and(|plan| self.is_due(&plan, rule))));
                }
                Ok::<_, TaskError>(judged)
            }
        };
        let judged: Vec<_> =
            stream::iter(some_at_a_time(stored).map(judge)).buffered(CONCURRENCY).try_concat().await?;
        let (mut verdicts, mut counts, mut due_for_erasure) = (Vec::new(), ImportCounts::default(), 0);
        for (verdict, is_due) in judged {
            counts.add(verdict.result, !verdict.messages.is_empty());
            due_for_erasure += u64::from(is_due);
            verdicts.push(verdict);
        }
        write_lines(bucket, &import.verdict_file(*tenant, part.number), &verdicts, *now).await?;
        Ok(Some(ImportPart { counts, due_for_erasure, ..part }))
    }

    /// Whether the retention rule would erase a new person on the first day, by the person's own dates.
    fn is_due(&self, plan: &Plan, rule: Option<Retention>) -> bool {
        let Some(rule) = rule.filter(|_| plan.known.is_none()) else { return false };
        let record = CandidateRecord::new(Id::LAST, plan.profile.clone(), plan.since);
        let applications = plan.items.applications.iter().enumerate().map(|(index, application)| {
            let role = match &application.role {
                RoleFound::Known(role) => RoleCopy::of(role),
                RoleFound::Missing(title, _) => {
                    RoleCopy { id: Id::LAST, title: title.clone(), is_closed: true, version: 1 }
                }
            };
            let id = Id::new(index as u64 + 1).unwrap_or(Id::LAST);
            Self::imported(application, id, role)
        });
        let record = record.import_applications(applications.collect(), plan.since).ok();
        let record = record.map(|(record, _)| record);
        let start = record.and_then(|record| record.retention_start());
        start.is_some_and(|start| rule.is_due(start, self.now))
    }

    /// An application as a person gets it.
    pub(super) fn imported(application: &RowApplication, id: Id, role: RoleCopy) -> ImportedApplication {
        ImportedApplication {
            id,
            role,
            origin: Origin {
                source: application.source.clone().unwrap_or(Source::IMPORT),
                external_id: application.external_id.clone(),
                resume_file_id: None,
            },
            applied_at: application.applied_at,
            moves: application.moves.clone(),
        }
    }

    /// Judges a row that was read. Returns the verdict and, unless the row is invalid, what is to be done. `before` is the verdict of the
    /// check, when the row is carried out.
    pub(super) async fn judge(
        &self,
        roles: &Roles,
        row: &StoredRow,
        read: Result<ImportRow, Vec<String>>,
        earlier: Earlier,
        before: Option<&ImportVerdict>,
    ) -> Result<(ImportVerdict, Option<Plan>), TaskError> {
        let verdict = |result, messages, candidate_id| ImportVerdict {
            row: row.row,
            line: row.line,
            result,
            messages,
            candidate_id,
            files: Vec::new(),
        };
        let invalid = |messages| Ok((verdict(RowResult::Invalid, messages, None), None));
        let read = match read {
            Ok(read) => read,
            Err(wrong) => return invalid(wrong),
        };
        let (mut messages, names) = (row.messages.clone(), names(&read));
        let person = match self.read_person(roles, read, &mut messages).await? {
            Ok(person) => person,
            Err(wrong) => return invalid(wrong),
        };
        let known = match self.find_known(&person, earlier).await? {
            Ok(known) => known,
            Err(wrong) => return invalid(vec![wrong]),
        };
        let was_known = before.and_then(|before| before.candidate_id);
        if known.is_none() && was_known.is_some() {
            return invalid(vec!["row is about a candidate who was erased since the check".to_owned()]);
        }
        let row_files = self.row_files().await?;
        messages.extend(row_files.messages(row.row, &names));
        let files = row_files.numbers(row.row);
        let Some(known) = known else {
            let is_later = matches!(earlier, Earlier::Check) && row.same_as.is_some();
            let result = match (is_later, row.is_repeated) {
                (false, _) => RowResult::Create,
                (true, false) => RowResult::Update,
                (true, true) if !files.is_empty() => RowResult::Update,
                (true, true) => RowResult::Unchanged,
            };
            let items = Items {
                applications: person.applications.clone(),
                notes: person.notes.clone(),
                consents: person.consents.clone(),
                files: files.clone(),
            };
            let (since, profile) = (person.since(self.now), person.profile);
            let plan = (!is_later).then_some(Plan { known: None, since, profile, items });
            return Ok((ImportVerdict { files, ..verdict(result, messages, None) }, plan));
        };
        let id = known.candidate.id;
        let mut plan = self.compare(known, person, &mut messages).await?;
        plan.items.files.clone_from(&files);
        if let Some(wrong) = too_many(&plan) {
            return invalid(vec![wrong]);
        }
        let is_same = plan.fields().is_empty() && plan.items.is_empty();
        let result = if is_same { RowResult::Unchanged } else { RowResult::Update };
        Ok((ImportVerdict { files, ..verdict(result, messages, Some(id)) }, Some(plan)))
    }

    /// The person that a row is about, if we know one. Fails with what is wrong.
    async fn find_known(
        &self,
        person: &Person,
        earlier: Earlier,
    ) -> Result<Result<Option<CandidateRecord>, String>, TaskError> {
        let (store, tenant) = (&self.store, self.tenant);
        if matches!(earlier, Earlier::Nobody) {
            return Ok(Ok(None));
        }
        let by_id = match &person.profile.external_id {
            Some(id) => store.find_claimed_external_id(tenant, id).await?,
            None => None,
        };
        let by_email = match &person.profile.email {
            Some(email) => store.find_claimed_email(tenant, email).await?,
            None => None,
        };
        if let (Some(one), Some(other)) = (by_id, by_email)
            && one != other
        {
            return Ok(Err(format!("external_id is that of candidate {one}, but email that of {other}")));
        }
        let (own, by_row) = match earlier {
            Earlier::Own(own) => (Some(own), None),
            Earlier::Row(made) => (None, made),
            Earlier::Check | Earlier::Nobody => (None, None),
        };
        let Some(id) = own.or(by_id).or(by_email).or(by_row) else { return Ok(Ok(None)) };
        let found = store.find_any_candidate(tenant, id).await?.and_then(MaybeErased::present);
        Ok(match found {
            Some(record) if own.is_none() && !record.is_shown() => {
                Err("row is about a candidate whose import is not finished".to_owned())
            }
            found => Ok(found),
        })
    }

    /// What a row adds to a known person.
    async fn compare(
        &self,
        known: CandidateRecord,
        person: Person,
        messages: &mut Vec<String>,
    ) -> Result<Plan, TaskError> {
        let overwrite = self.import.settings.overwrite;
        let profile = person.merged(&known.candidate.profile, overwrite);
        for (name, differs) in person.profile.differences(&profile) {
            // Tags are added, and what the row does not have is kept.
            let is_given = match name {
                "email" => {
                    let normal = |profile: &Profile| profile.email.as_ref().map(Email::normalized);
                    person.profile.email.is_some() && normal(&person.profile) != normal(&profile)
                }
                "phone" => person.profile.phone.is_some(),
                "resume_url" => person.profile.resume.is_some(),
                "source" => person.profile.source.is_some(),
                "external_id" => person.profile.external_id.is_some(),
                "name" => true,
                _ => false,
            };
            if differs && is_given {
                messages.push(format!("{name} differs from the candidate's, which stays"));
            }
        }
        for (index, application) in person.applications.iter().enumerate() {
            let RoleFound::Known(role) = &application.role else { continue };
            let known = known.applications.iter().find(|known| known.role.id == role.id);
            if known.zip(application.stage()).is_some_and(|(known, stage)| known.stage != stage) {
                messages.push(format!("applications[{index}] differs from the candidate's, which stays"));
            }
        }
        let applied: HashSet<_> = known.applications.iter().map(|application| application.role.id).collect();
        let is_new = |application: &&RowApplication| match &application.role {
            RoleFound::Known(role) => !applied.contains(&role.id),
            RoleFound::Missing(..) => true,
        };
        let applications = person.applications.iter().filter(is_new).cloned().collect();
        let mut notes = person.notes.clone();
        if !notes.is_empty() && known.candidate.has_notes {
            let mut page = Paging { limit: NOTES, before: None };
            loop {
                let listed = self.store.list_notes(self.tenant, known.candidate.id, &page).await?;
                notes.retain(|note| listed.items.iter().all(|other| other.text != note.text));
                page.before = listed.next;
                if page.before.is_none() || notes.is_empty() {
                    break;
                }
            }
        }
        let is_missing = |consent: &&NewConsent| {
            let current = known.consent(consent.purpose);
            current.is_none_or(|current| current.obtained_at < consent.obtained_at)
        };
        let consents = person.consents.iter().filter(is_missing).cloned().collect();
        let items = Items { applications, notes, consents, files: Vec::new() };
        Ok(Plan { known: Some(known), since: self.now, profile, items })
    }
}

/// Why a person cannot have so much.
fn too_many(plan: &Plan) -> Option<String> {
    let known = plan.known.as_ref()?;
    let (applications, consents) = (plan.items.applications.len(), plan.items.consents.len());
    if known.applications.len() + applications > CandidateRecord::MAX_APPLICATIONS {
        let most = CandidateRecord::MAX_APPLICATIONS;
        return Some(format!("applications can't be added, because a candidate has at most {most}"));
    }
    if known.recorded_consents + consents > CandidateRecord::MAX_CONSENTS {
        let most = CandidateRecord::MAX_CONSENTS;
        return Some(format!("consents can't be added, because a candidate has at most {most}"));
    }
    None
}
