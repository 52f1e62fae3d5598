//! Candidates: their files, the lists that they stand in, their history.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::tasks::{Task, TaskKind};
use super::writes::number;
use super::{Failure, Item, Listed, Page, Refusal, Store, Writes, item, keys};
use crate::id::Id;
use crate::model::{Application, Candidate, CandidateFile, Email, Role, Screen, Stage, Tenant, Touchpoint};

/// Everything about one candidate.
#[derive(Clone, Debug)]
pub struct CandidatePage {
    /// The candidate with the applications.
    pub file: CandidateFile,
    /// The voice screens, newest first.
    pub screens: Vec<Screen>,
    /// The history, newest first.
    pub touchpoints: Vec<Touchpoint>,
}

/// A candidate whose applications stand in the index under another stage from now on.
#[derive(Clone, Debug)]
pub(super) struct ApplicantMove {
    entries: Vec<Item>,
    task: Task,
}

/// An applicant's place in a list of a role's.
#[derive(Serialize, Deserialize)]
struct Applicant {
    id: Id,
}

/// A claim on an e-mail address.
#[derive(Serialize, Deserialize)]
struct EmailClaim {
    id: Id,
}

/// The most pages of 1 MB that are read of one candidate: what a function can answer.
const MAX_PAGES: usize = 5;

impl Writes {
    /// A new candidate.
    pub fn insert_candidate(&mut self, file: &CandidateFile) -> Result<(), Failure> {
        let id = file.candidate.id;
        self.insert(item::write(file, keys::candidate_file(self.tenant, id), None)?);
        self.put(list_item(self.tenant, &file.candidate)?);
        let key = keys::email(self.tenant, &file.candidate.profile.email);
        self.insert_email(item::write(&EmailClaim { id }, key, None)?);
        Ok(())
    }

    /// A candidate in place of `before`, the version that it was made from.
    pub fn replace_candidate(&mut self, before: &CandidateFile, file: &CandidateFile) -> Result<(), Failure> {
        let (old, new) = (&before.candidate, &file.candidate);
        self.supersede(item::write(file, keys::candidate_file(self.tenant, new.id), None)?, before.version);
        if old != new {
            self.put(list_item(self.tenant, new)?);
        }
        if old.profile.email.folded() != new.profile.email.folded() {
            let claim = EmailClaim { id: new.id };
            self.insert_email(item::write(&claim, keys::email(self.tenant, &new.profile.email), None)?);
            self.delete(keys::email(self.tenant, &old.profile.email));
        }
        if old.stage != new.stage {
            self.applicant = Some(applicant_move(self.tenant, file, new.updated_at)?);
        }
        Ok(())
    }

    /// A new application of the candidate, counted with the role's.
    pub fn insert_application(
        &mut self,
        candidate: &Candidate,
        application: &Application,
    ) -> Result<(), Failure> {
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

    /// What was done to the candidate to make this version of it.
    pub fn insert_touchpoints(
        &mut self,
        file: &CandidateFile,
        touchpoints: &[Touchpoint],
    ) -> Result<(), Failure> {
        for (number, touchpoint) in touchpoints.iter().enumerate() {
            let key = keys::touchpoint(self.tenant, file.candidate.id, file.version, number);
            self.insert(item::write(touchpoint, key, None)?);
        }
        Ok(())
    }

    /// Adds the candidate's places in the index, as many as there is room for; where it is not enough for all, a task
    /// for the rest.
    pub(super) fn index(&mut self, applicant: ApplicantMove) -> Result<(), Failure> {
        let all = applicant.entries.len() <= self.room();
        let now = if all { applicant.entries.len() } else { self.room().saturating_sub(1) };
        for entry in applicant.entries.into_iter().take(now) {
            self.put(entry);
        }
        if !all {
            self.put(applicant.task.item()?);
        }
        Ok(())
    }
}

impl Store {
    /// The candidate's file, if the tenant has the candidate.
    pub async fn find_candidate(&self, tenant: Tenant, id: Id) -> Result<Option<CandidateFile>, Failure> {
        self.read(keys::candidate_file(tenant, id)).await?.map(item::read).transpose()
    }

    /// The file of the candidate with this e-mail address, if the tenant has one.
    pub async fn find_candidate_by_email(
        &self,
        tenant: Tenant,
        email: &Email,
    ) -> Result<Option<CandidateFile>, Failure> {
        let Some(claim) = self.read(keys::email(tenant, email)).await? else { return Ok(None) };
        self.find_candidate(tenant, item::read::<EmailClaim>(claim)?.id).await
    }

    /// A candidate's file and a role, each if the tenant has it.
    pub async fn find_candidate_and_role(
        &self,
        tenant: Tenant,
        candidate: Id,
        role: Id,
    ) -> Result<(Option<CandidateFile>, Option<Role>), Failure> {
        let (file, role) = (keys::candidate_file(tenant, candidate), keys::role(tenant, role));
        let (mut found_file, mut found_role) = (None, None);
        for found in self.read_many([file.clone(), role]).await? {
            if found.get(keys::SK).and_then(|sk| sk.as_s().ok()) == Some(&file.sk) {
                found_file = Some(item::read(found)?);
            } else {
                found_role = Some(item::read(found)?);
            }
        }
        Ok((found_file, found_role))
    }

    /// Everything about the candidate, if the tenant has it.
    pub async fn find_candidate_page(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<CandidatePage>, Failure> {
        let (mut file, mut screens, mut touchpoints) = (None, Vec::new(), Vec::new());
        for (range, found) in self.whole(&keys::candidate_page(tenant, id), MAX_PAGES).await? {
            if range.starts_with(keys::HISTORY) {
                touchpoints.push(item::read(found)?);
            } else if range.starts_with(keys::SCREEN) {
                screens.push(item::read(found)?);
            } else {
                file = Some(item::read(found)?);
            }
        }
        Ok(file.map(|file| CandidatePage { file, screens, touchpoints }))
    }

    /// The tenant's candidates, newest first: those who have applied for the role, those in the stage, or both.
    pub async fn list_candidates(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        stage: Option<Stage>,
        page: &Page,
    ) -> Result<Listed<Candidate>, Failure> {
        let partition = keys::candidates(tenant, role, stage);
        if role.is_none() {
            return self.page(&partition, page).await;
        }
        let applicants: Listed<Applicant> = self.page(&partition, page).await?;
        let wanted = applicants.items.iter().map(|applicant| keys::candidate(tenant, applicant.id));
        let mut found: HashMap<Id, Candidate> = HashMap::new();
        if !applicants.items.is_empty() {
            for candidate in self.read_many(wanted).await? {
                let candidate: Candidate = item::read(candidate)?;
                found.insert(candidate.id, candidate);
            }
        }
        let items = applicants.items.iter().filter_map(|applicant| found.remove(&applicant.id)).collect();
        Ok(Listed { items, next: applicants.next })
    }

    /// Puts all applications of a candidate where they belong in the index, in as many transactions as it takes; the
    /// last one finishes the task that asked for it.
    pub async fn index_candidate(&self, task: &Task) -> Result<(), Refusal> {
        let tenant = task.tenant();
        let Some(file) = self.find_candidate(tenant, task.id).await? else { return Ok(()) };
        let mut entries = applicant_move(tenant, &file, task.due)?.entries;
        loop {
            let mut writes = Writes::new(tenant);
            writes.require(keys::candidate_file(tenant, task.id), file.version);
            let batch = entries.len().min(writes.room() - 1);
            for entry in entries.drain(..batch) {
                writes.put(entry);
            }
            if entries.is_empty() {
                writes.finish(task);
                return self.transact(writes).await;
            }
            self.transact(writes).await?;
        }
    }
}

fn list_item(tenant: Tenant, candidate: &Candidate) -> Result<Item, Failure> {
    let filter = keys::candidate_filter(tenant, candidate.stage);
    item::write(candidate, keys::candidate(tenant, candidate.id), Some(filter))
}

fn applicant_item(tenant: Tenant, role: Id, candidate: Id, stage: Stage) -> Result<Item, Failure> {
    let filter = keys::applicant_filter(tenant, role, stage);
    item::write(&Applicant { id: candidate }, keys::applicant(tenant, role, candidate), Some(filter))
}

fn applicant_move(tenant: Tenant, file: &CandidateFile, now: Timestamp) -> Result<ApplicantMove, Failure> {
    let Candidate { id, stage, .. } = file.candidate;
    let entry = |application: &Application| applicant_item(tenant, application.role_id, id, stage);
    Ok(ApplicantMove {
        entries: file.applications.iter().map(entry).collect::<Result<_, _>>()?,
        task: Task::new(tenant, TaskKind::Index, id, now),
    })
}
