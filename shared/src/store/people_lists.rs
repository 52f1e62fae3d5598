//! The lists of people that members work through: by time, by score, by label, who has applied again, and who waits for the team. A page
//! takes the same calls whatever the list is: the places on it, and the records of the people there.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::applications::is_closed;
use super::keys::{self, Key, Partition, StageOrStatus};
use super::labels::Labelled;
use super::list::Range;
use super::roles::read_stats;
use super::{Item, Listed, MAX_BATCH, Paging, Store, StoreError, item};
use crate::id::Id;
use crate::model::{ApplicationStatus, CandidateRecord, Label, RoleStats, Stage, Tenant, Waiting};

/// The maximum number of roles that a page of those who wait looks at.
const ROLES: u32 = 100;

/// A list of people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateList {
    /// Everybody, those in the stage, those with an application with the status, those with an application for the role, or
    /// those whose application for the role is in the stage or has the status.
    ByTime {
        /// The role.
        role: Option<Id>,
        /// The stage or the status.
        state: Option<StageOrStatus>,
        /// The order.
        order: Order,
    },
    /// The candidates whose application for the role is in the stage and has at least this score, highest first.
    Scored {
        /// The role.
        role: Id,
        /// The stage.
        stage: Stage,
        /// The least score.
        least: u8,
    },
    /// The candidates who have applied again for the role since the application last moved, newest application first.
    Reapplied {
        /// The role.
        role: Id,
    },
    /// The candidates whose application for the role has the label. It follows a change by moments.
    Labelled {
        /// The role.
        role: Id,
        /// The label.
        label: Label,
        /// The order.
        order: Order,
    },
    /// The candidates with active applications that wait for the team, role by role, newest first.
    Waiting(Waiting),
}

/// The order of a list by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The newest person or application first.
    #[default]
    Newest,
    /// The oldest person or application first.
    Oldest,
}

/// A candidate's place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidatePlace {
    /// The position in the list.
    pub position: String,
    /// The candidate.
    pub id: Id,
    /// The role of the application that the place is of; `None` in a list of people.
    pub role: Option<Id>,
}

/// An item of a list.
#[derive(Deserialize)]
struct Placed {
    sk: String,
    /// The application, if `candidate_id` is there, and otherwise the candidate.
    id: Id,
    candidate_id: Option<Id>,
    role_id: Option<Id>,
}

impl Placed {
    fn place(self, role: Option<Id>) -> CandidatePlace {
        CandidatePlace {
            position: self.sk,
            id: self.candidate_id.unwrap_or(self.id),
            role: role.or(self.role_id),
        }
    }
}

/// The place of a waiting application, by its role and its position in a list of the role. Without one, the place is after
/// all applications for the role.
pub fn waiting_position(role: Id, position: &str) -> String {
    format!("{}#{position}", keys::padded(role))
}

impl Store {
    /// A page of a list: only who is on it, which takes one query, or one for each role of those who wait. The position before a
    /// page is the last one of the page before, in either order.
    pub async fn list_candidate_places(
        &self,
        tenant: Tenant,
        list: &CandidateList,
        page: &Paging,
    ) -> Result<Listed<CandidatePlace>, StoreError> {
        let (listed, role) = match *list {
            CandidateList::ByTime { role: None, state: None, order } => {
                (self.read_in_order(&keys::candidates(tenant, None, None), page, order).await?, None)
            }
            CandidateList::ByTime { role: None, state: Some(StageOrStatus::Stage(stage)), order } => {
                (self.read_in_order(&keys::candidates(tenant, None, Some(stage)), page, order).await?, None)
            }
            CandidateList::ByTime { role, state, order } => {
                if let (Some(role), Some(StageOrStatus::Status(status))) = (role, state)
                    && !self.may_have(tenant, role, status).await?
                {
                    return Ok(Listed { items: Vec::new(), next: None });
                }
                (self.read_in_order(&keys::applications(tenant, role, state), page, order).await?, role)
            }
            CandidateList::Scored { role, stage, least } => {
                let partition = keys::scored_applicants(tenant, role, stage);
                (self.read_scored(&partition, least, page).await?, Some(role))
            }
            CandidateList::Reapplied { role } => {
                (self.read_page(&keys::reapplied_applicants(tenant, role), page).await?, Some(role))
            }
            CandidateList::Labelled { role, ref label, order } => {
                return self.read_labelled(tenant, role, label, order, page).await;
            }
            CandidateList::Waiting(waiting) => return self.list_waiting(tenant, waiting, page).await,
        };
        Ok(listed.map(|placed: Placed| placed.place(role)))
    }

    /// The records of the people in these places, with the current states of their roles. Leaves out those who were erased,
    /// and those whose import is not finished.
    pub async fn find_listed(
        &self,
        tenant: Tenant,
        ids: impl IntoIterator<Item = Id>,
    ) -> Result<HashMap<Id, CandidateRecord>, StoreError> {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let records = try_join_all(ids.chunks(MAX_BATCH).map(|batch| self.find_records(tenant, batch)));
        let (records, changes) = tokio::try_join!(records, self.list_role_changes(tenant))?;
        let records = records.into_iter().flatten().filter(CandidateRecord::is_shown);
        let records = records.map(|record| record.with_roles(&changes));
        Ok(records.map(|record| (record.candidate.id, record)).collect())
    }

    /// Whether an application for the role may have the status. Open applications are active or closed with their role.
    async fn may_have(
        &self,
        tenant: Tenant,
        role: Id,
        status: ApplicationStatus,
    ) -> Result<bool, StoreError> {
        if !matches!(status, ApplicationStatus::Active | ApplicationStatus::Closed) {
            return Ok(true);
        }
        let role = self.find_role_in_lists(tenant, role).await?;
        Ok(role.is_some_and(|role| role.is_closed == (status == ApplicationStatus::Closed)))
    }

    async fn read_in_order<T: DeserializeOwned>(
        &self,
        partition: &Partition,
        page: &Paging,
        order: Order,
    ) -> Result<Listed<T>, StoreError> {
        if order == Order::Newest {
            return self.read_page(partition, page).await;
        }
        let range = Range::Ascending { after: page.before.as_deref().unwrap_or_default(), to: keys::END };
        let (items, next) = self.query(partition, page.limit, range).await?;
        Ok(Listed { items: items.into_iter().filter_map(item::read_listed).collect(), next })
    }

    /// Reads a page of a list by score. The entries are small, so a page takes one query.
    async fn read_scored<T: DeserializeOwned>(
        &self,
        partition: &Partition,
        least: u8,
        page: &Paging,
    ) -> Result<Listed<T>, StoreError> {
        let (from, before) = (keys::least_score(least), page.before.as_deref());
        if before.is_some_and(|before| before <= from.as_str()) {
            return Ok(Listed { items: Vec::new(), next: None });
        }
        let (items, next) = self.query(partition, page.limit, Range::From { from: &from, before }).await?;
        Ok(Listed { items: items.into_iter().filter_map(item::read_listed).collect(), next })
    }

    /// A page of a role's applications with a label, in either order. It takes one query, which reads no others.
    async fn read_labelled(
        &self,
        tenant: Tenant,
        role: Id,
        label: &Label,
        order: Order,
        page: &Paging,
    ) -> Result<Listed<CandidatePlace>, StoreError> {
        let (partition, label) = (keys::labelled_applications(tenant, role), keys::label(label));
        let at = |position: &str| keys::labelled_position(&label, position);
        let (start, end) = (at(""), at("~"));
        let from = page.before.as_deref().map(at);
        let range = match order {
            Order::Newest => Range::From { from: &start, before: Some(from.as_ref().unwrap_or(&end)) },
            Order::Oldest => Range::Ascending { after: from.as_ref().unwrap_or(&start), to: &end },
        };
        let (items, next) = self.query(&partition, page.limit, range).await?;
        let items =
            items.into_iter().filter_map(item::read_listed::<Labelled>).map(|labelled| CandidatePlace {
                position: keys::padded(labelled.id),
                id: labelled.candidate_id,
                role: Some(role),
            });
        let next = next.as_ref().and_then(|next| next.strip_prefix(&start)).map(ToOwned::to_owned);
        Ok(Listed { items: items.collect(), next })
    }

    /// A page of the applications that wait. Looks at the counters of at most [`ROLES`] roles, and reads only the lists of
    /// those that have any, so a page can be empty and have a next one.
    async fn list_waiting(
        &self,
        tenant: Tenant,
        waiting: Waiting,
        page: &Paging,
    ) -> Result<Listed<CandidatePlace>, StoreError> {
        let limit = page.limit as usize;
        let begun = page.before.as_deref().and_then(|before| before.split_once('#'));
        let before_of =
            |role: Id| begun.filter(|(begun, _)| *begun == keys::padded(role)).map(|(_, before)| before);
        // The role where the page before ended is looked at again, unless that page had its last application.
        let from = begun.map(|(role, before)| format!("{role}{}", if before.is_empty() { "" } else { "~" }));
        let counters = keys::all_role_stats(tenant);
        let (counters, _) = self.query(&counters, ROLES, Range::Before(from.as_deref())).await?;
        let is_cut = counters.len() == ROLES as usize;
        let (mut roles, mut expected, mut seen) = (Vec::new(), 0, 0);
        for item in &counters {
            let role = Key::of(item)?.id()?;
            let count = if is_closed(item) { 0 } else { waiting_of(&read_stats(item.clone())?, waiting) };
            if count > 0 {
                // Of the first role, all may be on the pages before.
                expected += if before_of(role).is_some() { 0 } else { count };
                roles.push(role);
            }
            seen += 1;
            if expected >= page.limit.into() {
                break;
            }
        }
        let last = counters.get(..seen).and_then(<[Item]>::last).map(Key::of).transpose()?;
        let lists = roles.into_iter().map(async |role| {
            let partition = match waiting {
                Waiting::Applied => keys::candidates(tenant, Some(role), Some(Stage::Applied)),
                Waiting::Screened => keys::screened_applicants(tenant, role),
                Waiting::Offer => keys::candidates(tenant, Some(role), Some(Stage::Offer)),
            };
            let page = Paging { limit: page.limit, before: before_of(role).map(ToOwned::to_owned) };
            let listed = self.read_page::<Placed>(&partition, &page).await?;
            Ok::<_, StoreError>(listed.map(|placed| {
                let place = placed.place(Some(role));
                CandidatePlace { position: waiting_position(role, &place.position), ..place }
            }))
        });
        let mut items = Vec::new();
        for listed in try_join_all(lists).await? {
            items.extend(listed.items);
            if listed.next.is_some() || items.len() >= limit {
                items.truncate(limit);
                let next = items.last().map(|place: &CandidatePlace| place.position.clone());
                return Ok(Listed { items, next });
            }
        }
        let has_more = is_cut || seen < counters.len();
        let next = last.filter(|_| has_more).map(|last| format!("{}#", last.sk));
        Ok(Listed { items, next })
    }
}

/// The number of applications for a role that wait.
const fn waiting_of(stats: &RoleStats, waiting: Waiting) -> u64 {
    match waiting {
        Waiting::Applied => stats.stages[Stage::Applied.rank()].now,
        Waiting::Screened => stats.screened,
        Waiting::Offer => stats.stages[Stage::Offer.rank()].now,
    }
}
