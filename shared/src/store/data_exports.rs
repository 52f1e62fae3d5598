//! Exports of an organization's data: their heads, which lists read, and what they read of the table.
//!
//! All of it is read consistently, so an export has every change that the change feed had when the export began. What is changed
//! while it is written has events after that.

use std::collections::{BTreeMap, HashMap};

use serde::de::DeserializeOwned;

use super::applications::Applied;
use super::candidate_records::see;
use super::candidates::Touchpoints;
use super::keys::Key;
use super::recording::Recorded;
use super::{Item, Listed, MAX_BATCH, MaybeErased, Paging, Store, StoreError, Task, Transaction, item, keys};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    Answers, AuditAction, AuditTarget, AuditTargetKind, Candidate, CandidateFile, CandidateRecord, Consent,
    Erasure, EventData, EventType, Export, ExportStatus, ExportUse, Note, Posting, Role, RoleState, Screen,
    ScreenRecord, SubjectType, TaskKind, Tenant, Touchpoint, Turn,
};

/// Which parts of people an export reads, because they are apart from the others.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The notes.
    pub notes: bool,
    /// The records of voice screens with their transcripts.
    pub screens: bool,
}

/// What an export reads of a person.
#[derive(Clone, Debug)]
pub struct ExportedPerson {
    /// The candidate and the applications, with current copies of their roles.
    pub record: CandidateRecord,
    /// The voice screens, newest first.
    pub screens: Vec<ExportedPersonScreen>,
    /// The history, newest first.
    pub touchpoints: Vec<Touchpoint>,
    /// The notes, newest first; none unless they are wanted.
    pub notes: Vec<Note>,
    /// The consents, newest first.
    pub consents: Vec<Consent>,
    /// The answers of applications.
    pub answers: HashMap<Id, Answers>,
    /// The files, newest first.
    pub files: Vec<CandidateFile>,
}

/// A voice screen of a person.
#[derive(Clone, Debug)]
pub struct ExportedPersonScreen {
    /// The screen as lists have it.
    pub screen: Screen,
    /// Everything about it; `None` unless it is wanted.
    pub record: Option<(ScreenRecord, Vec<Turn>)>,
}

impl Transaction {
    /// Inserts an export with the task that works on it.
    pub fn insert_export(&mut self, export: &Export) -> Result<(), StoreError> {
        self.insert(export_item(self.tenant, export)?);
        let target = AuditTarget::of(AuditTargetKind::Export, export.id);
        self.audit(AuditAction::ExportCreated, Some(target));
        self.put_export_task(export)
    }

    /// Replaces an export, unless it has changed, and its task.
    pub fn replace_export(&mut self, before: &Export, after: &Export) -> Result<(), StoreError> {
        self.replace(&export_item(self.tenant, before)?, &export_item(self.tenant, after)?)?;
        // Files that are given up were told of when they were written.
        if before.status == ExportStatus::Running && after.status != ExportStatus::Running {
            let of =
                Recorded::versioned(EventType::ExportFinished, SubjectType::Export, after.id, after.version);
            self.record([of.with(EventData::new().with("status", after.status.as_str()))]);
        }
        if before.task_due == after.task_due {
            return Ok(());
        }
        if let Some(task) = export_task(self.tenant, before) {
            self.delete_task(&task);
        }
        self.put_export_task(after)
    }

    /// Replaces how much of exports the tenant uses, unless it has changed.
    pub fn replace_export_use(&mut self, before: &ExportUse, after: &ExportUse) -> Result<(), StoreError> {
        let item = |used| item::write(used, keys::export_use(self.tenant), None);
        match before.version {
            0 => self.insert(item(after)?),
            _ => self.replace(&item(before)?, &item(after)?)?,
        }
        Ok(())
    }

    fn put_export_task(&mut self, export: &Export) -> Result<(), StoreError> {
        match export_task(self.tenant, export) {
            Some(task) => self.put(task.item()?),
            None => Ok(()),
        }
    }
}

impl Store {
    /// An export.
    pub async fn find_export(&self, tenant: Tenant, id: Id) -> Result<Option<Export>, StoreError> {
        self.read(keys::export(tenant, id)).await?.map(item::read).transpose()
    }

    /// A page of the tenant's exports, newest first.
    pub async fn list_exports(&self, tenant: Tenant, page: &Paging) -> Result<Listed<Export>, StoreError> {
        self.read_page(&keys::all_exports(tenant), page).await
    }

    /// How much of exports the tenant uses.
    pub async fn find_export_use(&self, tenant: Tenant) -> Result<ExportUse, StoreError> {
        let item = self.read(keys::export_use(tenant)).await?;
        Ok(item.map(item::read).transpose()?.unwrap_or_default())
    }

    /// When the last of the people was erased whose erasure is not finished; `None` if all are.
    pub async fn find_unfinished_erasure(&self, tenant: Tenant) -> Result<Option<Timestamp>, StoreError> {
        let mut last = None;
        for id in self.list_unfinished_erasures(tenant).await? {
            let erased = self.read(keys::erased_candidate(tenant, id)).await?;
            let erased = erased.map(item::read::<Erasure>).transpose()?;
            last = last.max(erased.map(|erased| erased.erased_at));
        }
        Ok(last)
    }

    /// A page of the tenant's roles with their job postings, newest first.
    pub async fn list_roles_and_postings(
        &self,
        tenant: Tenant,
        page: &Paging,
    ) -> Result<Listed<(Role, Option<Posting>)>, StoreError> {
        let roles = self.list_roles(tenant, None, page).await?;
        let postings = self.find_postings_of(tenant, &roles.items).await?;
        Ok(roles.map(with_posting(postings)))
    }

    /// A role with its job posting.
    pub async fn find_role_to_export(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<(Role, Option<Posting>)>, StoreError> {
        let Some(role) = self.find_role(tenant, id).await? else { return Ok(None) };
        let postings = self.find_postings_of(tenant, std::slice::from_ref(&role)).await?;
        Ok(Some(with_posting(postings)(role)))
    }

    async fn find_postings_of(
        &self,
        tenant: Tenant,
        roles: &[Role],
    ) -> Result<HashMap<Id, Posting>, StoreError> {
        let ids = roles.iter().filter_map(|role| role.posting.as_ref()).map(|posting| posting.id);
        let keys: Vec<_> = ids.map(|id| keys::posting(tenant, id)).collect();
        let mut postings = HashMap::new();
        for batch in keys.chunks(MAX_BATCH) {
            let read = self.read_many(batch.iter().cloned()).await?.into_iter();
            postings.extend(
                read.filter_map(item::read_listed::<Posting>).map(|posting| (posting.role_id, posting)),
            );
        }
        Ok(postings)
    }

    /// A page of the tenant's people, or of those who have applied for a role, newest first. Each has the place in the list where what
    /// follows begins.
    pub async fn list_people_to_export(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        page: &Paging,
    ) -> Result<Listed<(Id, String)>, StoreError> {
        let partition = keys::candidates(tenant, role, None);
        let Listed { items, next } = self.read_items(&partition, page).await?;
        let placed = items.into_iter().filter_map(|item| {
            let place = Key::of(&item).ok()?.sk;
            let id = match role {
                Some(_) => item::read_listed::<Applied>(item)?.candidate_id,
                None => item::read_listed::<Candidate>(item)?.id,
            };
            Some((id, place))
        });
        Ok(Listed { items: placed.collect(), next })
    }

    /// Everything about a person; `None` if the person was erased, or if the import that brings the person is not finished.
    /// `changes` are those that the copies of roles do not have yet.
    pub async fn find_person_to_export(
        &self,
        tenant: Tenant,
        id: Id,
        wanted: Wanted,
        changes: &[RoleState],
    ) -> Result<Option<ExportedPerson>, StoreError> {
        let mut found: BTreeMap<&'static str, Vec<Item>> = BTreeMap::new();
        for (_, item) in self.read_partition(&keys::candidate_partition(tenant, id), usize::MAX).await? {
            found.entry(self.kind_of(&item)?.name).or_default().push(item);
        }
        let of_record = ["candidate_record", "candidate_application"].map(|kind| found.remove(kind));
        let seen = match see(of_record.into_iter().flatten().flatten())? {
            Ok(record) => record,
            // A transaction came between the pages. The others of its changes have events after the position.
            Err(_) => self.find_any_candidate(tenant, id).await?,
        };
        let record = seen.and_then(MaybeErased::present).filter(CandidateRecord::is_shown);
        let Some(record) = record else { return Ok(None) };
        let mut notes = Vec::new();
        if wanted.notes && record.candidate.has_notes {
            let items = self.read_partition(&keys::notes(tenant, id), usize::MAX).await?;
            notes = items.into_iter().filter_map(|(_, item)| item::read_listed(item)).collect();
        }
        let mut screens = Vec::new();
        for screen in take::<Screen>(&mut found, "candidate_screen") {
            let record = if wanted.screens { self.read_screen(tenant, screen.id).await? } else { None };
            screens.push(ExportedPersonScreen { screen, record });
        }
        let history = take::<Touchpoints>(&mut found, "touchpoints").into_iter();
        let answers = take::<Answers>(&mut found, "application_answers").into_iter();
        Ok(Some(ExportedPerson {
            record: record.with_roles(changes),
            screens,
            touchpoints: history.flat_map(Touchpoints::newest_first).collect(),
            notes,
            consents: take(&mut found, "consent"),
            answers: answers.map(|answers| (answers.application_id, answers)).collect(),
            files: take(&mut found, "file"),
        }))
    }
}

/// The items of a kind that can be read.
fn take<T: DeserializeOwned>(found: &mut BTreeMap<&'static str, Vec<Item>>, kind: &str) -> Vec<T> {
    found.remove(kind).unwrap_or_default().into_iter().filter_map(item::read_listed).collect()
}

/// Adds to a role its job posting.
fn with_posting(mut postings: HashMap<Id, Posting>) -> impl FnMut(Role) -> (Role, Option<Posting>) {
    move |role| {
        let posting = postings.remove(&role.id);
        (role, posting)
    }
}

fn export_task(tenant: Tenant, export: &Export) -> Option<Task> {
    Some(Task::new(tenant, TaskKind::Export, export.id, export.task_due?))
}

fn export_item(tenant: Tenant, export: &Export) -> Result<Item, StoreError> {
    item::write(export, keys::export(tenant, export.id), None)
}
