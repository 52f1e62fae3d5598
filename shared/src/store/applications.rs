//! Applications: their list entries, the role's counters of stages, and the lists.
//!
//! A candidate's record contains the applications. The list entries are copies, which every replacement of the record
//! keeps up to date.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Not;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::finding::by_id;
use super::keys::{FILTER, Key, ROLE_STATUS, STATUS_FILTER, StageOrStatus};
use super::maybe_erased::MaybeErased;
use super::transaction::RoleCondition;
use super::{Item, Listed, MAX_BATCH, Paging, Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{
    Application, ApplicationStatus, Candidate, CandidateRecord, Cause, CountedCause, EndedBy,
    ErasedApplication, Role, RoleCopy, RoleState, RoleStatus, Stage, StageCount, Tenant, Title,
};

/// The attribute of the counters with the number of applications in screening whose voice screen is completed, and of an
/// application whether its voice screen is.
pub(super) const SCREENED: &str = "screened";
/// The attributes that an application does not have in the lists of its role. All have the same there, and so closing a role
/// changes none of these items.
const SAME_IN_ROLE: [&str; 3] = ["role_title", "role_closed", "role_version"];

/// An application in a list.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    candidate_id: Id,
    #[serde(flatten)]
    pub(super) application: Application,
}

/// A candidate with an application for a role, as in the role's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applicant {
    /// The candidate.
    pub(super) id: Id,
    /// The application.
    pub application_id: Id,
    /// The stage of the application.
    pub stage: Stage,
    /// Whether the candidate has applied again since the application last moved.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub reapplied: bool,
    /// Whether the candidate has withdrawn the application.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub withdrawn: bool,
}

/// A candidate's entry in a role's list by score.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ScoredApplicant {
    /// The candidate.
    id: Id,
    /// The application.
    application_id: Id,
    /// The overall score of the application.
    score: u8,
}

impl Entry {
    /// The application while changes of roles are not in the copies yet. `updated_at` changes with the copies.
    fn with_roles(mut self, changes: &[RoleState]) -> Self {
        let updated_at = self.application.updated_at;
        for change in changes {
            self.application.follow(change, change.changed_at);
        }
        self.application.updated_at = updated_at;
        self
    }

    /// The application with its candidate, unless the candidate is not in lists any more.
    fn with_candidate(self, candidates: &HashMap<Id, Candidate>) -> Option<CandidateApplication> {
        let candidate = candidates.get(&self.candidate_id)?.clone();
        Some(CandidateApplication { application: self.application, candidate })
    }
}

impl Applicant {
    fn of(id: Id, application: &Application) -> Self {
        Self {
            id,
            application_id: application.id,
            stage: application.stage,
            reapplied: application.reapplied,
            withdrawn: is_withdrawn(application.stage, &application.cause),
        }
    }
}

/// What a list of candidates by role reads of an application in a list of its role.
#[derive(Deserialize)]
pub(super) struct Applied {
    /// The candidate.
    pub(super) candidate_id: Id,
    id: Id,
    stage: Stage,
    #[serde(default)]
    reapplied: bool,
    #[serde(flatten)]
    cause: Cause,
}

fn is_withdrawn(stage: Stage, cause: &Cause) -> bool {
    stage == Stage::Rejected && cause.by == EndedBy::Candidate
}

impl From<Applied> for Applicant {
    fn from(Applied { candidate_id, id, stage, reapplied, cause }: Applied) -> Self {
        let withdrawn = is_withdrawn(stage, &cause);
        Self { id: candidate_id, application_id: id, stage, reapplied, withdrawn }
    }
}

/// An application with its candidate.
#[derive(Clone, Debug)]
pub struct CandidateApplication {
    /// The application, with the current state of its role.
    pub application: Application,
    /// The candidate.
    pub candidate: Candidate,
}

/// The entries of a role's board, before the people are read.
#[derive(Debug)]
pub struct ListedBoard {
    stages: [Vec<Item>; 4],
    reapplied: Vec<Applicant>,
}

impl ListedBoard {
    /// The number of cards and of those who have applied again.
    pub fn len(&self) -> usize {
        self.stages.iter().map(Vec::len).sum::<usize>() + self.reapplied.len()
    }

    /// Whether nobody is on the board.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The board of a role.
#[derive(Clone, Debug)]
pub struct Board {
    /// The applications in each open stage.
    pub stages: [Vec<CandidateApplication>; 4],
    /// The candidates who have applied again since their applications last moved.
    pub reapplied: Vec<(Candidate, Applicant)>,
}

/// The filters of a list of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplicationFilter {
    /// Only applications for this role.
    pub role: Option<Id>,
    /// Only applications in this stage or with this status.
    pub state: Option<StageOrStatus>,
}

impl Transaction {
    /// Writes the changes between two versions of a candidate's applications: list entries and counters. A role must
    /// still be closed, or not, as its applications that move assume.
    pub(super) fn replace_applications(
        &mut self,
        candidate: Id,
        before: &[Application],
        after: &[Application],
    ) -> Result<(), StoreError> {
        for gone in before.iter().filter(|old| after.iter().all(|one| one.id != old.id)) {
            self.remove_application(candidate, &ErasedApplication::of(gone), gone.role.is_closed);
        }
        for application in after {
            let old = before.iter().find(|old| old.id == application.id);
            if old == Some(application) {
                continue;
            }
            self.put_entries(candidate, application)?;
            self.replace_scored(candidate, old, application)?;
            self.replace_marks(candidate, old, application)?;
            let is_closed = application.role.is_closed;
            if self.count_application(candidate, old, application, is_closed) {
                self.require_of_role(application.role.id, RoleCondition::Closed(is_closed));
            }
        }
        Ok(())
    }

    /// Writes the applications of a new candidate with their past: the list entries of the last version, and the counters
    /// of all `versions`.
    pub(super) fn insert_applications<'v>(
        &mut self,
        candidate: Id,
        versions: impl Iterator<Item = &'v [Application]>,
    ) -> Result<(), StoreError> {
        let versions: Vec<_> = versions.collect();
        let last = versions.last().copied().unwrap_or_default();
        let mut before: &[Application] = &[];
        for version in versions {
            for ((index, application), last) in version.iter().enumerate().zip(last) {
                let old = before.get(index);
                self.count_application(candidate, old, application, last.role.is_closed);
            }
            before = version;
        }
        for application in last {
            self.put_entries(candidate, application)?;
            self.replace_scored(candidate, None, application)?;
            self.replace_marks(candidate, None, application)?;
            let required = RoleCondition::Closed(application.role.is_closed);
            self.require_of_role(application.role.id, required);
        }
        Ok(())
    }

    /// Adds the change of an application to the counters of its role and of the tenant, which do not have those of closed
    /// roles. Returns whether any counter of the role changes.
    fn count_application(
        &mut self,
        candidate: Id,
        before: Option<&Application>,
        after: &Application,
        is_closed: bool,
    ) -> bool {
        let counts = after.counts(before);
        self.count_stages(candidate, &counts, is_closed);
        let mut counts: Vec<_> = counts.into_iter().map(counter).collect();
        if before.is_none() {
            counts.push(("applicants".to_owned(), 1));
        }
        if counts.is_empty() {
            return false;
        }
        self.add(keys::role_stats(self.tenant, after.role.id), counts);
        true
    }

    /// Takes an application out of all lists and no longer counts it. Its role must still be closed, or not.
    pub(super) fn remove_application(
        &mut self,
        candidate: Id,
        application: &ErasedApplication,
        is_closed: bool,
    ) {
        let (id, role, stage) = (application.id, application.role_id, application.stage);
        self.delete(keys::application(self.tenant, id));
        self.delete(keys::role_application(self.tenant, role, id));
        if let Some(score) = application.score {
            self.delete(keys::scored_applicant(self.tenant, role, stage, score, id));
        }
        if application.reapplied {
            self.delete(keys::reapplied_applicant(self.tenant, role, id));
        }
        if application.screened {
            self.delete(keys::screened_applicant(self.tenant, role, id));
        }
        let mut counts = vec![StageCount::Now(application.stage, -1)];
        counts.extend(application.cause.map(|cause| StageCount::Rejected(cause, -1)));
        counts.extend(application.screened.then_some(StageCount::Screened(-1)));
        self.count_stages(candidate, &counts, is_closed);
        let counts = counts.into_iter().map(counter).collect();
        self.add(keys::role_stats(self.tenant, application.role_id), counts);
        self.require_of_role(application.role_id, RoleCondition::Closed(is_closed));
    }

    fn put_entries(&mut self, candidate: Id, application: &Application) -> Result<(), StoreError> {
        let (tenant, role, stage) = (self.tenant, application.role.id, application.stage);
        let mut entry = entry_item(tenant, candidate, application)?;
        self.put(entry.clone())?;
        entry.retain(|name, _| !SAME_IN_ROLE.contains(&&**name));
        entry.extend(keys::role_application(tenant, role, application.id).attributes());
        let filter = |state| AttributeValue::S(keys::applications_in(tenant, Some(role), state));
        entry.insert(FILTER.to_owned(), filter(stage.as_str()));
        if !stage.is_end() {
            entry.insert(STATUS_FILTER.to_owned(), filter(keys::OPEN));
        }
        self.put(entry)
    }

    /// Moves an application to its place in the lists by score. An application without a score has none.
    fn replace_scored(
        &mut self,
        candidate: Id,
        before: Option<&Application>,
        after: &Application,
    ) -> Result<(), StoreError> {
        let key = |application: &Application| {
            let (role, stage, score) = (application.role.id, application.stage, application.score?);
            Some(keys::scored_applicant(self.tenant, role, stage, score, application.id))
        };
        let (old, new) = (before.and_then(key), key(after));
        if old == new {
            return Ok(());
        }
        if let Some(old) = old {
            self.delete(old);
        }
        if let Some((new, score)) = new.zip(after.score) {
            let entry = ScoredApplicant { id: candidate, application_id: after.id, score };
            self.put(item::write(&entry, new, None)?)?;
        }
        Ok(())
    }

    /// Adds an application to the lists of those with which somebody applied again and of those whose voice screen is to be
    /// decided about, or removes it after a move.
    fn replace_marks(
        &mut self,
        candidate: Id,
        before: Option<&Application>,
        after: &Application,
    ) -> Result<(), StoreError> {
        let (role, id) = (after.role.id, after.id);
        let reapplied = [before.is_some_and(|before| before.reapplied), after.reapplied];
        let screened = [before.is_some_and(Application::is_screened), after.is_screened()];
        for ([was_marked, is_marked], key) in [
            (reapplied, keys::reapplied_applicant(self.tenant, role, id)),
            (screened, keys::screened_applicant(self.tenant, role, id)),
        ] {
            let entry = |application| Applicant::of(candidate, application);
            let is_current = was_marked && before.map(entry) == Some(entry(after));
            match is_marked {
                true if !is_current => self.put(item::write(&entry(after), key, None)?)?,
                false if was_marked => self.delete(key),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a role with these counters is closed.
pub(super) fn is_closed(counters: &Item) -> bool {
    counters.get(ROLE_STATUS) == Some(&AttributeValue::S(RoleStatus::Closed.as_str().to_owned()))
}

/// The item of an application in the lists over all roles.
pub(super) fn entry_item(
    tenant: Tenant,
    candidate_id: Id,
    application: &Application,
) -> Result<Item, StoreError> {
    // Lists do not show these parts.
    let listed = Application {
        submissions: Vec::new(),
        offered: None,
        has_answers: false,
        past_stays: Vec::new(),
        ..application.clone()
    };
    let (key, status) = (keys::application(tenant, application.id), application.status());
    let filter = |state| keys::applications_in(tenant, None, state);
    let entry = Entry { candidate_id, application: listed };
    let mut item = item::write(&entry, key, Some(filter(application.stage.as_str())))?;
    // The lists of the other statuses are those of the stages.
    if !application.stage.is_end() {
        item.insert(STATUS_FILTER.to_owned(), AttributeValue::S(filter(status.as_str())));
    }
    Ok(item)
}

/// Reads an application in a list of its role; `None` if it cannot be read, which is reported.
fn read_in_role(item: Item, role: &RoleCopy) -> Option<Entry> {
    in_role(item, role).and_then(item::read).ok()
}

/// An item of a list of a role, with what all items there have in common.
fn in_role(item: Item, role: &RoleCopy) -> Result<Item, StoreError> {
    let mut item = item;
    let role: Item = serde_dynamo::to_item(role)
        .map_err(|error| StoreError::Internal(format!("an item cannot be written: {error}")))?;
    item.extend(role);
    Ok(item)
}

/// Checks that an item of a list of a role can be read.
pub(super) fn check_role_entry(item: Item) -> Result<(), StoreError> {
    let id = Id::new(item::count(&item, "role_id"));
    let title = Title::parse("?").ok().flatten();
    let Some((id, title)) = id.zip(title) else {
        return Err(StoreError::unreadable("an application in a list of its role", "it has no role"));
    };
    let any = RoleCopy { id, title, is_closed: false, version: 1 };
    item::read::<Entry>(in_role(item, &any)?).map(drop)
}

/// The cause of the rejection of an application in a list of its role that has a counter of its own; `None` if it cannot be
/// read, which is found already.
pub(super) fn counted_cause(item: Item) -> Option<CountedCause> {
    #[derive(Deserialize)]
    struct Rejected {
        stage: Stage,
        #[serde(flatten)]
        cause: Cause,
    }
    let Rejected { stage, cause } = serde_dynamo::from_item(item).ok()?;
    let cause = Some(cause.counted()).filter(|_| stage == Stage::Rejected);
    cause.filter(|cause| *cause != CountedCause::UNNAMED)
}

/// The attribute of a role's counter, and the number to add.
fn counter(count: StageCount) -> (String, i64) {
    match count {
        StageCount::Now(stage, by) => (now(stage), by),
        StageCount::Ever(stage) => (ever(stage), 1),
        StageCount::Stay(stage, days) => (stays(stage, days), 1),
        StageCount::Rejected(cause, by) => (rejections(cause), by),
        StageCount::Screened(by) => (SCREENED.to_owned(), by),
    }
}

/// The beginning of the attributes with the numbers of applications that were rejected for a cause.
pub(super) const REJECTIONS: &str = "rejections_";

/// The attribute with the number of applications that were rejected for a cause: `rejections_candidate` or
/// `rejections_candidate_9`.
pub(super) fn rejections(CountedCause { by, reason_id }: CountedCause) -> String {
    let reason = reason_id.map(|id| format!("_{id}")).unwrap_or_default();
    format!("{REJECTIONS}{}{reason}", by.as_str())
}

/// The numbers of applications that were rejected for each cause.
pub(super) fn read_rejections(item: &Item) -> BTreeMap<CountedCause, u64> {
    let cause = |name: &String| {
        let cause = name.strip_prefix(REJECTIONS)?;
        let (by, reason_id) = match cause.split_once('_') {
            Some((by, id)) => (by, Some(id.parse().ok()?)),
            None => (cause, None),
        };
        Some(CountedCause { by: by.parse().ok()?, reason_id })
    };
    item.keys().filter_map(|name| Some((cause(name)?, item::count(item, name)))).collect()
}

/// The attribute with the number of applications in a stage.
pub(super) fn now(stage: Stage) -> String {
    format!("now_{}", stage.as_str())
}

/// The attribute with the number of applications that have ever been in a stage.
pub(super) fn ever(stage: Stage) -> String {
    format!("ever_{}", stage.as_str())
}

/// The attribute with the number of stays of this length in a stage.
pub(super) fn stays(stage: Stage, days: u8) -> String {
    format!("stays_{}_{days}", stage.as_str())
}

impl Store {
    /// The application with its candidate.
    pub async fn find_application(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<CandidateApplication>, StoreError> {
        let Some(entry) = self.read(keys::application(tenant, id)).await? else { return Ok(None) };
        let Entry { candidate_id, .. } = item::read(entry)?;
        let (record, changes) =
            tokio::try_join!(self.find_candidate(tenant, candidate_id), self.list_role_changes(tenant))?;
        let Some(record) = record.and_then(MaybeErased::present) else { return Ok(None) };
        let CandidateRecord { candidate, applications, .. } = record.with_roles(&changes);
        let application = applications.into_iter().find(|application| application.id == id);
        Ok(application.map(|application| CandidateApplication { application, candidate }))
    }

    /// A page of the tenant's applications, newest first.
    pub async fn list_applications(
        &self,
        tenant: Tenant,
        filter: ApplicationFilter,
        page: &Paging,
    ) -> Result<Listed<CandidateApplication>, StoreError> {
        let partition = keys::applications(tenant, filter.role, filter.state);
        let (entries, next) = match filter.role {
            None => {
                let listed = self.read_page::<Entry>(&partition, page);
                let (Listed { items, next }, changes) =
                    tokio::try_join!(listed, self.list_role_changes(tenant))?;
                (items.into_iter().map(|entry| entry.with_roles(&changes)).collect(), next)
            }
            Some(role) => {
                let (Listed { items, next }, role) = tokio::try_join!(
                    self.read_items(&partition, page),
                    self.find_role_in_lists(tenant, role)
                )?;
                let nothing = || Ok(Listed { items: Vec::new(), next: None });
                let Some(role) = role else { return nothing() };
                let is_closed = role.is_closed;
                match filter.state {
                    Some(StageOrStatus::Status(ApplicationStatus::Active)) if is_closed => return nothing(),
                    Some(StageOrStatus::Status(ApplicationStatus::Closed)) if !is_closed => return nothing(),
                    _ => {}
                }
                (items.into_iter().filter_map(|item| read_in_role(item, &role)).collect::<Vec<_>>(), next)
            }
        };
        let candidates = self.find_people_of(tenant, entries.iter().map(|entry| entry.candidate_id)).await?;
        let items = entries.into_iter().filter_map(|entry| entry.with_candidate(&candidates));
        Ok(Listed { items: items.collect(), next })
    }

    /// These applications with their candidates and the current states of their roles.
    pub(super) async fn with_candidates(
        &self,
        tenant: Tenant,
        entries: Vec<Entry>,
    ) -> Result<Vec<CandidateApplication>, StoreError> {
        let ids: BTreeSet<_> = entries.iter().map(|entry| entry.candidate_id).collect();
        let (mut candidates, changes) = tokio::try_join!(
            self.find_people_of(tenant, ids.iter().copied()),
            self.list_role_changes(tenant)
        )?;
        let missing: Vec<_> = ids.into_iter().filter(|id| !candidates.contains_key(id)).collect();
        candidates
            .extend(by_id(self.read_many(missing.into_iter().map(|id| keys::candidate(tenant, id))).await?));
        let entries = entries.into_iter().map(|entry| entry.with_roles(&changes));
        Ok(entries.filter_map(|entry| entry.with_candidate(&candidates)).collect())
    }

    /// The candidates with these identifiers, without those who are no longer in lists. They may be out of date by a moment.
    async fn find_people_of(
        &self,
        tenant: Tenant,
        ids: impl Iterator<Item = Id>,
    ) -> Result<HashMap<Id, Candidate>, StoreError> {
        let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
        let found =
            try_join_all(ids.chunks(MAX_BATCH).map(|batch| self.find_candidates(tenant, batch))).await?;
        Ok(found.into_iter().flatten().map(|candidate| (candidate.id, candidate)).collect())
    }

    /// Which of these roles are closed.
    pub(super) async fn find_closed_roles(
        &self,
        tenant: Tenant,
        roles: impl Iterator<Item = Id>,
    ) -> Result<BTreeSet<Id>, StoreError> {
        let roles: BTreeSet<_> = roles.collect();
        let mut closed = BTreeSet::new();
        for item in self.read_many(roles.iter().map(|role| keys::role_stats(tenant, *role))).await? {
            let id = Key::of(&item)?.id()?;
            if is_closed(&item) {
                closed.insert(id);
            }
        }
        Ok(closed)
    }

    /// The candidates with these identifiers who have applied for a role, each once with the application, in the order of the
    /// identifiers.
    pub async fn find_applicants(
        &self,
        tenant: Tenant,
        role: Id,
        ids: &[Id],
    ) -> Result<Vec<(Candidate, Applicant)>, StoreError> {
        let ids: BTreeSet<_> = ids.iter().copied().collect();
        let ids: Vec<_> = ids.into_iter().collect();
        let found = try_join_all(ids.chunks(MAX_BATCH).map(|batch| self.find_records(tenant, batch))).await?;
        let mut found = found.concat();
        found.retain(CandidateRecord::is_shown);
        found.sort_by_key(|record| record.candidate.id);
        let both = found.into_iter().filter_map(|record| {
            let applicant = Applicant::of(record.candidate.id, record.application(role)?);
            Some((record.candidate, applicant))
        });
        Ok(both.collect())
    }

    /// The entries of the newest applications for a role in each open stage, and of those with which somebody has applied
    /// again since the last move, at most `limit` of each. The role may not exist.
    pub async fn list_board(&self, tenant: Tenant, role: Id, limit: u32) -> Result<ListedBoard, StoreError> {
        let first = Paging { limit, before: None };
        let partitions = Stage::OPEN
            .map(|stage| keys::applications(tenant, Some(role), Some(StageOrStatus::Stage(stage))));
        let [applied, screening, interview, offer] =
            partitions.each_ref().map(|partition| self.read_items(partition, &first));
        let reapplied = keys::reapplied_applicants(tenant, role);
        let reapplied = self.read_page::<Applicant>(&reapplied, &first);
        let (applied, screening, interview, offer, reapplied) =
            tokio::try_join!(applied, screening, interview, offer, reapplied)?;
        let stages = [applied, screening, interview, offer].map(|listed| listed.items);
        Ok(ListedBoard { stages, reapplied: reapplied.items })
    }

    /// The board of a role with the people on it. Leaves out whom nothing is known about any more.
    pub async fn find_board(
        &self,
        tenant: Tenant,
        role: &Role,
        ListedBoard { stages, reapplied }: ListedBoard,
    ) -> Result<Board, StoreError> {
        let copy = RoleCopy::of(role);
        let stages = stages
            .map(|items| items.into_iter().filter_map(|item| read_in_role(item, &copy)).collect::<Vec<_>>());
        let listed = stages.iter().flatten().map(|entry| entry.candidate_id);
        let people = listed.chain(reapplied.iter().map(|applicant| applicant.id));
        let candidates = self.find_people_of(tenant, people).await?;
        let with_candidate = |entry: Entry| entry.with_candidate(&candidates);
        let reapplied = reapplied.into_iter();
        let reapplied =
            reapplied.filter_map(|applicant| Some((candidates.get(&applicant.id)?.clone(), applicant)));
        let reapplied = reapplied.collect();
        let stages = stages.map(|entries| entries.into_iter().filter_map(with_candidate).collect());
        Ok(Board { stages, reapplied })
    }

    /// A page of a candidate's applications, newest first.
    pub async fn list_applications_of(
        &self,
        tenant: Tenant,
        candidate: Id,
        page: &Paging,
    ) -> Result<Listed<CandidateApplication>, StoreError> {
        let (record, changes) =
            tokio::try_join!(self.find_candidate(tenant, candidate), self.list_role_changes(tenant))?;
        let Some(record) = record.and_then(MaybeErased::present) else {
            return Ok(Listed { items: Vec::new(), next: None });
        };
        let CandidateRecord { candidate, applications, .. } = record.with_roles(&changes);
        let position = |application: &Application| keys::padded(application.id);
        let before = |application: &Application| {
            page.before.as_ref().is_none_or(|before| position(application) < *before)
        };
        let mut left: Vec<_> = applications.into_iter().filter(before).collect();
        left.reverse();
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let has_more = left.len() > limit;
        left.truncate(limit);
        let next = left.last().filter(|_| has_more).map(position);
        let items = left
            .into_iter()
            .map(|application| CandidateApplication { application, candidate: candidate.clone() });
        Ok(Listed { items: items.collect(), next })
    }
}
