//! Candidates: their records, list entries and history.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::applications::Applicant;
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{Candidate, CandidateRecord, Email, Role, Screen, Stage, Tenant, Touchpoint};

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
        self.replace_applications(id, &[], &record.applications)?;
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
        self.replace_applications(new.id, &before.applications, &after.applications)?;
        self.insert_touchpoints(after, history)
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

    /// A page of the tenant's candidates, newest first: all, those with an application for the role, those in the stage,
    /// or those whose application for the role is in the stage. With a role, each candidate comes with that application.
    pub async fn list_candidates(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        stage: Option<Stage>,
        page: &Paging,
    ) -> Result<Listed<(Candidate, Option<Applicant>)>, StoreError> {
        let partition = keys::candidates(tenant, role, stage);
        if role.is_none() {
            let Listed { items, next } = self.read_page(&partition, page).await?;
            return Ok(Listed {
                items: items.into_iter().map(|candidate| (candidate, None)).collect(),
                next,
            });
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
        let items = applicants.items.into_iter();
        let items = items.filter_map(|applicant| Some((candidates.remove(&applicant.id)?, Some(applicant))));
        Ok(Listed { items: items.collect(), next: applicants.next })
    }
}

fn list_item(tenant: Tenant, candidate: &Candidate) -> Result<Item, StoreError> {
    let filter = keys::candidate_filter(tenant, candidate.stage);
    item::write(candidate, keys::candidate(tenant, candidate.id), Some(filter))
}
