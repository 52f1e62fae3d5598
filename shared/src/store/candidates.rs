//! Candidates: their records, list entries and history.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::item::number;
use super::tasks::{Task, TaskKind};
use super::transaction::IndexEntries;
use super::{CommitError, Item, Listed, Paging, Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{Application, Candidate, CandidateRecord, Email, Role, Screen, Stage, Tenant, Touchpoint};

/// Everything about one candidate.
#[derive(Clone, Debug)]
pub struct CandidatePage {
    /// The candidate and the applications.
    pub record: CandidateRecord,
    /// The voice screens, newest first.
    pub screens: Vec<Screen>,
    /// The history, newest first.
    pub touchpoints: Vec<Touchpoint>,
}

/// A candidate's entry in a role's list of applicants.
#[derive(Serialize, Deserialize)]
struct Applicant {
    id: Id,
}

/// A claim on an e-mail address.
#[derive(Serialize, Deserialize)]
struct EmailClaim {
    id: Id,
}

/// The maximum number of 1 MB pages to read for one candidate. A function's response cannot be larger.
const MAX_PAGES: usize = 5;

impl Transaction {
    /// Inserts a candidate with its history so far. The record is stored as version 1.
    pub fn insert_candidate(
        &mut self,
        record: CandidateRecord,
        history: &[Touchpoint],
    ) -> Result<(), StoreError> {
        let record = CandidateRecord { version: 1, ..record };
        let id = record.candidate.id;
        self.insert(item::write(&record, keys::candidate_record(self.tenant, id), None)?);
        self.put(list_item(self.tenant, &record.candidate)?);
        let key = keys::email(self.tenant, &record.candidate.profile.email);
        self.insert_email(item::write(&EmailClaim { id }, key, None)?);
        self.insert_touchpoints(&record, history)
    }

    /// Replaces a candidate and inserts `history`, the touchpoints of the change.
    pub fn replace_candidate(
        &mut self,
        before: &CandidateRecord,
        after: &CandidateRecord,
        history: &[Touchpoint],
    ) -> Result<(), StoreError> {
        let (old, new) = (&before.candidate, &after.candidate);
        let item = item::write(after, keys::candidate_record(self.tenant, new.id), None)?;
        self.replace(item, before.version, after.version)?;
        if old != new {
            self.put(list_item(self.tenant, new)?);
        }
        if old.profile.email.folded() != new.profile.email.folded() {
            let claim = EmailClaim { id: new.id };
            self.insert_email(item::write(&claim, keys::email(self.tenant, &new.profile.email), None)?);
            self.delete(keys::email(self.tenant, &old.profile.email));
        }
        if old.stage != new.stage {
            self.index = Some(index_entries(self.tenant, after, new.updated_at)?);
        }
        self.insert_touchpoints(after, history)
    }

    /// Inserts an application's list entry and adds the application to the role's counters.
    pub fn insert_application(
        &mut self,
        candidate: &Candidate,
        application: &Application,
    ) -> Result<(), StoreError> {
        self.insert(applicant_item(self.tenant, application.role_id, candidate.id, candidate.stage)?);
        self.update(
            keys::role_stats(self.tenant, application.role_id),
            "ADD #applicants :one",
            "attribute_exists(pk)",
            vec![("#applicants", "applicants".to_owned())],
            vec![(":one", number(1))],
        );
        Ok(())
    }

    fn insert_touchpoints(
        &mut self,
        record: &CandidateRecord,
        history: &[Touchpoint],
    ) -> Result<(), StoreError> {
        for (number, touchpoint) in history.iter().enumerate() {
            let key = keys::touchpoint(self.tenant, record.candidate.id, record.version, number);
            self.insert(item::write(touchpoint, key, None)?);
        }
        Ok(())
    }
}

impl Store {
    /// The candidate's record.
    pub async fn find_candidate(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<CandidateRecord>, StoreError> {
        self.read(keys::candidate_record(tenant, id)).await?.map(item::read).transpose()
    }

    /// The record of the candidate with this e-mail address.
    pub async fn find_candidate_by_email(
        &self,
        tenant: Tenant,
        email: &Email,
    ) -> Result<Option<CandidateRecord>, StoreError> {
        let Some(claim) = self.read(keys::email(tenant, email)).await? else { return Ok(None) };
        self.find_candidate(tenant, item::read::<EmailClaim>(claim)?.id).await
    }

    /// A candidate's record and a role.
    pub async fn find_candidate_and_role(
        &self,
        tenant: Tenant,
        candidate: Id,
        role: Id,
    ) -> Result<(Option<CandidateRecord>, Option<Role>), StoreError> {
        let (record, role) = (keys::candidate_record(tenant, candidate), keys::role(tenant, role));
        let mut items = self.read_many([record.clone(), role.clone()]).await?;
        let record = record.take_from(&mut items).map(item::read).transpose()?;
        let role = role.take_from(&mut items).map(item::read).transpose()?;
        Ok((record, role))
    }

    /// Everything about the candidate.
    pub async fn find_candidate_page(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<CandidatePage>, StoreError> {
        let (mut record, mut screens, mut touchpoints) = (None, Vec::new(), Vec::new());
        for (range, item) in self.read_partition(&keys::candidate_partition(tenant, id), MAX_PAGES).await? {
            if range.starts_with(keys::HISTORY) {
                touchpoints.push(item::read(item)?);
            } else if range.starts_with(keys::SCREEN) {
                screens.push(item::read(item)?);
            } else {
                record = Some(item::read(item)?);
            }
        }
        Ok(record.map(|record| CandidatePage { record, screens, touchpoints }))
    }

    /// A page of the tenant's candidates, newest first, optionally only those who applied for the role, are in the
    /// stage, or both.
    pub async fn list_candidates(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        stage: Option<Stage>,
        page: &Paging,
    ) -> Result<Listed<Candidate>, StoreError> {
        let partition = keys::candidates(tenant, role, stage);
        if role.is_none() {
            return self.read_page(&partition, page).await;
        }
        let applicants: Listed<Applicant> = self.read_page(&partition, page).await?;
        let keys = applicants.items.iter().map(|applicant| keys::candidate(tenant, applicant.id));
        let mut candidates: HashMap<Id, Candidate> = HashMap::new();
        if !applicants.items.is_empty() {
            for candidate in self.read_many(keys).await? {
                let candidate: Candidate = item::read(candidate)?;
                candidates.insert(candidate.id, candidate);
            }
        }
        let items =
            applicants.items.iter().filter_map(|applicant| candidates.remove(&applicant.id)).collect();
        Ok(Listed { items, next: applicants.next })
    }

    /// Updates the list entries of all of a candidate's applications, in as many transactions as necessary. The last
    /// transaction deletes the task.
    pub async fn index_candidate(&self, task: &Task) -> Result<(), CommitError> {
        let tenant = task.tenant();
        let Some(record) = self.find_candidate(tenant, task.id).await? else { return Ok(()) };
        let mut entries = index_entries(tenant, &record, task.due)?.entries;
        loop {
            let mut transaction = Transaction::new(tenant);
            transaction.require(keys::candidate_record(tenant, task.id), record.version);
            let batch = entries.len().min(transaction.room() - 1);
            for entry in entries.drain(..batch) {
                transaction.put(entry);
            }
            if entries.is_empty() {
                transaction.delete_task(task);
                return self.transact(transaction).await;
            }
            self.transact(transaction).await?;
        }
    }
}

fn list_item(tenant: Tenant, candidate: &Candidate) -> Result<Item, StoreError> {
    let filter = keys::candidate_filter(tenant, candidate.stage);
    item::write(candidate, keys::candidate(tenant, candidate.id), Some(filter))
}

fn applicant_item(tenant: Tenant, role: Id, candidate: Id, stage: Stage) -> Result<Item, StoreError> {
    let filter = keys::applicant_filter(tenant, role, stage);
    item::write(&Applicant { id: candidate }, keys::applicant(tenant, role, candidate), Some(filter))
}

fn index_entries(
    tenant: Tenant,
    record: &CandidateRecord,
    now: Timestamp,
) -> Result<IndexEntries, StoreError> {
    let Candidate { id, stage, .. } = record.candidate;
    let entry = |application: &Application| applicant_item(tenant, application.role_id, id, stage);
    Ok(IndexEntries {
        entries: record.applications.iter().map(entry).collect::<Result<_, _>>()?,
        task: Task::new(tenant, TaskKind::Index, id, now).item()?,
    })
}
