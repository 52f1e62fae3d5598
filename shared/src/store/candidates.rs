//! Candidates: their records, list entries and history.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::applications::{Applicant, Applied};
use super::finding::{Reference, by_id};
use super::keys::Key;
use super::list::Range;
use super::maybe_erased::MaybeErased;
use super::tasks::Task;
use super::transaction::RoleCondition;
use super::{Item, Listed, Paging, Store, StoreError, Transaction, UniqueField, item, keys, recording};
use crate::id::Id;
use crate::model::{
    ApplicationStatus, AuditAction, AuditTarget, AuditTargetKind, Candidate, CandidateRecord, Consent, Email,
    ExternalId, Role, Screen, Stage, TaskKind, Tenant, Touchpoint,
};

/// Everything about one candidate.
#[derive(Clone, Debug)]
pub struct CandidatePage {
    /// The candidate and the applications.
    pub record: CandidateRecord,
    /// The voice screens, newest first.
    pub screens: Vec<Screen>,
    /// The history, or its newest part, newest first.
    pub touchpoints: Vec<Touchpoint>,
}

/// The touchpoints of one version of a candidate's record, oldest first. Every version that has any has one item with all of
/// them.
#[derive(Serialize, Deserialize)]
pub(super) struct Touchpoints {
    touchpoints: Vec<Touchpoint>,
    /// The import that made this version of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    import_id: Option<Id>,
}

impl Touchpoints {
    /// The touchpoints, newest first.
    pub(super) fn newest_first(self) -> impl Iterator<Item = Touchpoint> {
        self.touchpoints.into_iter().rev()
    }
}

/// The maximum number of 1 MB pages to read for one candidate. A function's response cannot be larger.
pub(super) const MAX_PAGES: usize = 5;

impl Transaction {
    /// Inserts a candidate with its history so far. The record is stored as version 1.
    pub fn insert_candidate(
        &mut self,
        record: CandidateRecord,
        history: &[Touchpoint],
    ) -> Result<(), StoreError> {
        let record = CandidateRecord { version: 1, ..record };
        self.insert_candidate_with_past(&[(record, history.to_owned())])
    }

    /// Inserts a candidate with all versions of the record, oldest first, each with its touchpoints. The result is the same
    /// as if the first version had been inserted and replaced by each of the others.
    pub fn insert_candidate_with_past(
        &mut self,
        past: &[(CandidateRecord, Vec<Touchpoint>)],
    ) -> Result<(), StoreError> {
        let Some((record, _)) = past.last() else { return Ok(()) };
        let id = record.candidate.id;
        self.candidate = Some(id);
        self.insert_record(&past.iter().map(|(version, _)| version).collect::<Vec<_>>())?;
        self.record_person(None, record);
        self.put(list_item(self.tenant, record)?)?;
        self.claim_address(&record.candidate)?;
        self.replace_index(None, Some(record))?;
        self.replace_retention_start(id, None, record.retention_start())?;
        if record.is_shown() {
            self.count_new_person(&record.candidate);
        } else {
            self.keep_silent();
        }
        self.insert_applications(id, past.iter().map(|(version, _)| version.listed()))?;
        for (version, history) in past {
            self.insert_touchpoints(version, history)?;
        }
        Ok(())
    }

    /// Replaces a candidate and inserts `history`, the touchpoints of the change. If the change marks voice screens as to
    /// be cancelled, adds the task that cancels them. Keeps the tenant's list of legal holds up to date.
    ///
    /// While the candidate's import is not finished, only the record and what must be unique is written, and the transaction makes
    /// no events. What ends the import puts the candidate into lists and figures, and tells of the person and of the first
    /// [`CandidateRecord::TOLD_AT_ONCE`] applications.
    pub fn replace_candidate(
        &mut self,
        before: &CandidateRecord,
        after: &CandidateRecord,
        history: &[Touchpoint],
    ) -> Result<(), StoreError> {
        let (old, new) = (&before.candidate, &after.candidate);
        self.candidate = Some(new.id);
        self.replace_record(before, after)?;
        let address = |candidate: &Candidate| candidate.profile.email.as_ref().map(Email::normalized);
        if address(old) != address(new) {
            self.claim_address(new)?;
            if let Some(former) = &old.profile.email {
                self.delete(keys::email(self.tenant, former));
                self.put_former_address_trace(new.id, former, new.updated_at)?;
            }
        }
        self.replace_index(Some(before), Some(after))?;
        self.replace_retention_start(new.id, before.retention_start(), after.retention_start())?;
        self.replace_applications(new.id, before.listed(), after.listed())?;
        if !before.is_shown() {
            // While they were in no list, their roles may have changed.
            for application in after.listed().iter().skip(before.listed().len()) {
                let required = RoleCondition::SameSince(application.role.version);
                self.require_of_role(application.role.id, required);
            }
            if after.is_shown() {
                self.count_new_person(new);
            } else {
                self.keep_silent();
            }
        }
        self.put_cancellation_task(before, after)?;
        let hold = match (&before.legal_hold, &after.legal_hold) {
            (Some(_), None) => Some(AuditAction::LegalHoldLifted),
            (before, Some(hold)) if before.as_ref() != Some(hold) => Some(AuditAction::LegalHoldSet),
            _ => None,
        };
        if let Some(action) = hold {
            self.audit(action, Some(AuditTarget::of(AuditTargetKind::Candidate, new.id)));
        }
        match (&before.legal_hold, &after.legal_hold) {
            (None, Some(_)) => {
                let hold = Reference { id: new.id };
                self.put(item::write(&hold, keys::legal_hold(self.tenant, new.id), None)?)?;
            }
            (Some(_), None) => self.delete(keys::legal_hold(self.tenant, new.id)),
            (None, None) | (Some(_), Some(_)) => {}
        }
        self.insert_touchpoints(after, history)
    }

    /// Inserts the claim on the candidate's e-mail address, if there is one.
    fn claim_address(&mut self, candidate: &Candidate) -> Result<(), StoreError> {
        if let Some(email) = &candidate.profile.email {
            let claim = Reference { id: candidate.id };
            self.insert_claim(
                UniqueField::Email,
                item::write(&claim, keys::email(self.tenant, email), None)?,
            );
        }
        Ok(())
    }

    /// Replaces a candidate's record and the candidate in lists.
    pub(super) fn replace_record(
        &mut self,
        before: &CandidateRecord,
        after: &CandidateRecord,
    ) -> Result<(), StoreError> {
        let (old, new) = (&before.candidate, &after.candidate);
        self.replace_whole_record(before, after)?;
        self.record_person(Some(before), after);
        let is_moved = before.is_shown() != after.is_shown();
        if is_moved {
            self.delete(list_key(self.tenant, before));
        }
        if is_moved || old != new { self.put(list_item(self.tenant, after)?) } else { Ok(()) }
    }

    /// Records what has changed in a candidate's record, which nobody is told while the import is not finished.
    fn record_person(&mut self, before: Option<&CandidateRecord>, after: &CandidateRecord) {
        if after.is_shown() {
            self.record(recording::candidate_changes(before.and_then(CandidateRecord::shown), after));
        }
    }

    /// Adds the task that cancels voice screens if a change marks any.
    pub(super) fn put_cancellation_task(
        &mut self,
        before: &CandidateRecord,
        after: &CandidateRecord,
    ) -> Result<(), StoreError> {
        if after.screens_to_cancel().any(|(screen, _)| !before.open_screens.contains(screen)) {
            let candidate = &after.candidate;
            let task = Task::new(self.tenant, TaskKind::Cancellation, candidate.id, candidate.updated_at);
            self.put(task.item()?)?;
        }
        Ok(())
    }

    /// Inserts a consent of a candidate. The same transaction writes the candidate.
    pub fn insert_consent(&mut self, candidate: Id, consent: &Consent) -> Result<(), StoreError> {
        self.insert(item::write(consent, keys::consent(self.tenant, candidate, consent.id), None)?);
        Ok(())
    }

    /// Requires that the candidate does not change before the commit.
    pub fn require_candidate(&mut self, record: &CandidateRecord) {
        self.require(keys::candidate_record(self.tenant, record.candidate.id), record.version);
    }

    pub(super) fn insert_touchpoints(
        &mut self,
        record: &CandidateRecord,
        history: &[Touchpoint],
    ) -> Result<(), StoreError> {
        if !history.is_empty() {
            let touchpoints = Touchpoints { touchpoints: history.to_owned(), import_id: self.import };
            let key = keys::touchpoints(self.tenant, record.candidate.id, record.version);
            self.insert(item::write(&touchpoints, key, None)?);
        }
        Ok(())
    }
}

impl Store {
    /// The candidate's record, unless the candidate's import is not finished.
    pub async fn find_candidate(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<MaybeErased<CandidateRecord>>, StoreError> {
        Ok(self.find_any_candidate(tenant, id).await?.and_then(MaybeErased::shown))
    }

    /// The record of the candidate with this e-mail address.
    pub async fn find_candidate_by_email(
        &self,
        tenant: Tenant,
        email: &Email,
    ) -> Result<Option<CandidateRecord>, StoreError> {
        let claimed = self.find_claimed_email(tenant, email).await?;
        self.find_claimant(tenant, claimed).await
    }

    /// The candidate who has claimed this e-mail address.
    pub async fn find_claimed_email(&self, tenant: Tenant, email: &Email) -> Result<Option<Id>, StoreError> {
        let claim = self.read(keys::email(tenant, email)).await?.map(item::read::<Reference>).transpose()?;
        Ok(claim.map(|claim| claim.id))
    }

    /// The candidate who has claimed this external id.
    pub async fn find_claimed_external_id(
        &self,
        tenant: Tenant,
        id: &ExternalId,
    ) -> Result<Option<Id>, StoreError> {
        let claim =
            self.read(keys::external_id(tenant, id)).await?.map(item::read::<Reference>).transpose()?;
        Ok(claim.map(|claim| claim.id))
    }

    /// The candidate who has claimed an e-mail address. If nobody has, it takes a read as well, so the response time does not
    /// reveal whether the address is known.
    pub async fn find_claimant(
        &self,
        tenant: Tenant,
        claimed: Option<Id>,
    ) -> Result<Option<CandidateRecord>, StoreError> {
        let found = self.find_candidate(tenant, claimed.unwrap_or(Id::LAST)).await?;
        // An erasure deletes the claim.
        Ok(found.and_then(MaybeErased::present))
    }

    /// A candidate's record and a role.
    pub async fn find_candidate_and_role(
        &self,
        tenant: Tenant,
        candidate: Id,
        role: Id,
    ) -> Result<(Option<MaybeErased<CandidateRecord>>, Option<Role>), StoreError> {
        tokio::try_join!(self.find_candidate(tenant, candidate), self.find_role(tenant, role))
    }

    /// Everything about the candidate, with the current state of the roles. With `newest`, the history has at most this number
    /// of touchpoints, and the others are not read.
    pub async fn find_candidate_page(
        &self,
        tenant: Tenant,
        id: Id,
        newest: Option<u32>,
    ) -> Result<Option<MaybeErased<CandidatePage>>, StoreError> {
        let (mut screens, mut touchpoints) = (Vec::new(), Vec::new());
        let partition = match newest {
            None => keys::candidate_page(tenant, id),
            Some(_) => keys::candidate_screens_and_record(tenant, id),
        };
        let ((record, items), changes) =
            tokio::try_join!(self.read_with_record(&partition), self.list_role_changes(tenant))?;
        for (range, item) in items {
            if range.starts_with(keys::HISTORY) {
                let read = item::read_listed::<Touchpoints>(item);
                touchpoints.extend(read.into_iter().flat_map(Touchpoints::newest_first));
            } else if range.starts_with(keys::SCREEN) {
                screens.extend(item::read_listed::<Screen>(item));
            }
        }
        let record = match record {
            Some(MaybeErased::Present(record)) => record,
            Some(MaybeErased::Erased(erasure)) => return Ok(Some(MaybeErased::Erased(erasure))),
            None => return Ok(None),
        };
        if let Some(limit) = newest {
            // The history ends with the version of the record that was read.
            let page = Paging { limit, before: Some(keys::history_after(record.version)) };
            touchpoints = self.list_touchpoints(tenant, id, &page).await?.items;
        }
        let record = record.with_roles(&changes);
        Ok(Some(MaybeErased::Present(CandidatePage { record, screens, touchpoints })))
    }

    /// A page of the candidate's history, newest first. A page may end, and the next one begin, among the touchpoints of a
    /// version. Like other pages, one of very large items takes two calls.
    pub async fn list_touchpoints(
        &self,
        tenant: Tenant,
        id: Id,
        page: &Paging,
    ) -> Result<Listed<Touchpoint>, StoreError> {
        let history = keys::candidate_history(tenant, id);
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let (mut touchpoints, mut before) = (Vec::new(), page.before.clone());
        for _ in 0..2 {
            let missing = limit - touchpoints.len();
            if missing == 0 {
                break;
            }
            // Every item has a touchpoint.
            let most = u32::try_from(missing).unwrap_or(u32::MAX);
            let (items, rest) = self.query(&history, most, Range::Before(before.as_deref())).await?;
            let mut items = items.into_iter().peekable();
            while let Some(item) = items.next() {
                let range = Key::of(&item)?.sk;
                let Some(version) = item::read_listed::<Touchpoints>(item) else { continue };
                let place = page.before.as_deref();
                let unread = place.and_then(|place| keys::history_left(place, &range)).unwrap_or(usize::MAX);
                let unread = unread.min(version.touchpoints.len());
                let left = unread.saturating_sub(limit - touchpoints.len());
                touchpoints.extend(version.touchpoints.into_iter().take(unread).skip(left).rev());
                if touchpoints.len() < limit {
                    continue;
                }
                let next = match left {
                    0 => (items.peek().is_some() || rest.is_some()).then_some(range),
                    left => Some(keys::history_before(&range, left)),
                };
                return Ok(Listed { items: touchpoints, next });
            }
            before = rest;
            if before.is_none() {
                break;
            }
        }
        Ok(Listed { items: touchpoints, next: before })
    }

    /// A page of the candidate's history, newest first: the touchpoints of one version of the record after those of another, and
    /// the import that made it.
    pub async fn list_versions(
        &self,
        tenant: Tenant,
        id: Id,
        page: &Paging,
    ) -> Result<Listed<(Vec<Touchpoint>, Option<Id>)>, StoreError> {
        let listed = self.read_page::<Touchpoints>(&keys::candidate_history(tenant, id), page).await?;
        Ok(listed.map(|version| {
            let import = version.import_id;
            (version.newest_first().collect(), import)
        }))
    }

    /// A page of everything that was recorded about the candidate's consents, last recorded first.
    pub async fn list_consents(
        &self,
        tenant: Tenant,
        id: Id,
        page: &Paging,
    ) -> Result<Listed<Consent>, StoreError> {
        self.read_page(&keys::candidate_consents(tenant, id), page).await
    }

    /// A page of the tenant's candidates, newest first: all, those with an application for the role, those in the stage,
    /// or those whose application for the role is in the stage. With a role, the newest application comes first, and each
    /// candidate comes with that application and its status, as they were a moment ago.
    pub async fn list_candidates(
        &self,
        tenant: Tenant,
        role: Option<Id>,
        stage: Option<Stage>,
        page: &Paging,
    ) -> Result<Listed<(Candidate, Option<(Applicant, ApplicationStatus)>)>, StoreError> {
        let partition = keys::candidates(tenant, role, stage);
        let Some(role) = role else {
            let Listed { items, next } = self.read_page(&partition, page).await?;
            return Ok(Listed {
                items: items.into_iter().map(|candidate| (candidate, None)).collect(),
                next,
            });
        };
        let (applicants, role) = tokio::try_join!(
            self.read_page::<Applied>(&partition, page),
            self.find_role_in_lists(tenant, role)
        )?;
        let is_closed = role.is_some_and(|role| role.is_closed);
        let applicants = applicants.map(Applicant::from);
        let keys = applicants.items.iter().map(|applicant| keys::candidate(tenant, applicant.id));
        let mut candidates = HashMap::new();
        if !applicants.items.is_empty() {
            candidates = by_id(self.read_many_eventually(keys).await?);
        }
        let items = applicants.items.into_iter().filter_map(|applicant| {
            let status = ApplicationStatus::of(applicant.stage, is_closed);
            Some((candidates.remove(&applicant.id)?, Some((applicant, status))))
        });
        Ok(Listed { items: items.collect(), next: applicants.next })
    }
}

/// The key of the candidate's item in the list of candidates or, while the import is not finished, of those people.
pub(super) fn list_key(tenant: Tenant, record: &CandidateRecord) -> Key {
    let key = if record.is_shown() { keys::candidate } else { keys::unfinished_candidate };
    key(tenant, record.candidate.id)
}

fn list_item(tenant: Tenant, record: &CandidateRecord) -> Result<Item, StoreError> {
    let filter = record.is_shown().then(|| keys::candidate_filter(tenant, record.candidate.stage));
    item::write(&record.candidate, list_key(tenant, record), filter)
}
