//! The statistics of all hiring of a tenant.
//!
//! The transaction that changes a candidate's applications also changes one shard of the counters of stages, so that
//! requests do not wait for each other. New people are counted by week and source, in a partition of their own, which takes
//! as many writes. Such a counter is deleted some weeks after its week.

use std::collections::BTreeMap;

use super::applications::SCREENED;
use super::item::number;
use super::keys::{CandidateGroup, Key, SK};
use super::list::Range;
use super::{CommitError, Item, Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{
    Candidate, CaseFolded, Day, HiringStats, RoleStats, STAGE_SHARDS, Source, Stage, StageCount, StayLength,
    Tenant,
};

/// The attribute with the number of people.
const PEOPLE: &str = "people";
/// The number of weeks after which the counters of a week are deleted. The overview shows fewer.
const WEEKS_KEPT: i64 = 14;
const SECONDS_PER_WEEK: i64 = 7 * 24 * 60 * 60;
/// The source in the keys of the counters of people without one.
const NO_SOURCE: &str = "";

impl Transaction {
    /// Counts the change of an application of a candidate. The applications of closed roles are not active.
    pub(super) fn count_stages(&mut self, candidate: Id, counts: &[StageCount], is_closed: bool) {
        let counts: Vec<_> = counts.iter().filter_map(|count| counter(*count, is_closed)).collect();
        if !counts.is_empty() {
            self.count(stage_counters(self.tenant, candidate), counts);
        }
    }

    /// No longer counts the active applications of a role that is closed (-1), or counts them again (1).
    pub(super) fn count_role(&mut self, role: Id, stats: &RoleStats, sign: i64) {
        let signed = |count: u64| sign * i64::try_from(count).unwrap_or(i64::MAX);
        let stages = Stage::OPEN.into_iter();
        let stages = stages.map(|stage| (active(stage), signed(stats.stages[stage.rank()].now)));
        let mut counts: Vec<_> = stages.chain([(SCREENED.to_owned(), signed(stats.screened))]).collect();
        counts.retain(|(_, by)| *by != 0);
        if !counts.is_empty() {
            self.count(stage_counters(self.tenant, role), counts);
        }
    }

    /// Counts a new person in the week and under the source in which the person was added, unless an import says that this was
    /// too long ago.
    pub(super) fn count_new_person(&mut self, candidate: &Candidate) {
        let source = candidate.profile.source.as_ref().map_or(NO_SOURCE, |source| source.as_str());
        let (monday, shard) = (Day::of(candidate.created_at).monday(), candidate.id.get() % STAGE_SHARDS);
        if kept_until(monday) > candidate.updated_at.as_second() {
            self.count_new_people(monday, shard, source, 1);
        }
    }

    fn count_new_people(&mut self, monday: Day, shard: u64, source: &str, people: u64) {
        let expires_at = kept_until(monday);
        let key = keys::new_people(self.tenant, monday, shard, source);
        self.count_until(
            key,
            vec![(PEOPLE.to_owned(), i64::try_from(people).unwrap_or(i64::MAX))],
            expires_at,
        );
    }

    /// Deletes a counter of new people, unless somebody was counted since it was read.
    fn delete_new_people(&mut self, key: Key, people: u64) {
        self.delete_if(
            key,
            "#people = :people",
            ("#people", PEOPLE),
            (":people", number(i128::from(people))),
        );
    }
}

/// When the counters of a week are deleted, in epoch seconds.
fn kept_until(monday: Day) -> i64 {
    monday.end().as_second() + WEEKS_KEPT * SECONDS_PER_WEEK
}

/// The shard for the changes of a candidate's applications, or of a role.
fn stage_counters(tenant: Tenant, id: Id) -> Key {
    keys::stage_counters(tenant, id.get() % STAGE_SHARDS)
}

/// The attribute of a counter, and the number to add; `None` for a count that only roles have, and for what is not active.
fn counter(count: StageCount, is_closed: bool) -> Option<(String, i64)> {
    match count {
        StageCount::Now(stage, by) => (!stage.is_end() && !is_closed).then(|| (active(stage), by)),
        StageCount::Screened(by) => (!is_closed).then(|| (SCREENED.to_owned(), by)),
        StageCount::Rejected(..) => None,
        StageCount::Ever(stage) => Some((ever(stage), 1)),
        StageCount::Stay(stage, days) => Some((stays(stage, StayLength::of(days)), 1)),
    }
}

fn active(stage: Stage) -> String {
    format!("active_{}", stage.as_str())
}

fn ever(stage: Stage) -> String {
    format!("ever_{}", stage.as_str())
}

fn stays(stage: Stage, length: StayLength) -> String {
    format!("stays_{}_{}", stage.as_str(), length.first_day())
}

impl Store {
    /// The statistics of all hiring. One query reads 1 MB of the new people, the newest weeks first. Should there be more,
    /// because there are thousands of sources in each week, the oldest weeks are incomplete.
    pub async fn find_hiring_stats(&self, tenant: Tenant) -> Result<HiringStats, StoreError> {
        let (stages, people) = (keys::hiring_stats(tenant), keys::all_new_people(tenant));
        let first = |partition| self.query(partition, u32::MAX, Range::Before(None));
        let ((shards, _), (people, _)) = tokio::try_join!(first(&stages), first(&people))?;
        let mut stats = HiringStats::default();
        for item in people {
            let range = item.get(SK).and_then(|range| range.as_s().ok());
            let Some((monday, source)) = range.and_then(|range| keys::read_new_people(range)) else {
                continue;
            };
            let sources: &mut BTreeMap<_, u64> = stats.weeks.entry(monday).or_default();
            *sources.entry(source.to_owned()).or_default() += item::count(&item, PEOPLE);
        }
        // A shard can be negative: that of a role that was closed.
        let (mut waiting, mut screened) = ([0_i64; Stage::OPEN.len()], 0_i64);
        for shard in shards {
            for (stage, sum) in Stage::OPEN.into_iter().zip(&mut waiting) {
                *sum += signed_count(&shard, &active(stage));
            }
            screened += signed_count(&shard, SCREENED);
            add_shard(&mut stats, &shard);
        }
        for (stage, sum) in Stage::OPEN.into_iter().zip(waiting) {
            stats.stages[stage.rank()].active = u64::try_from(sum).unwrap_or(0);
        }
        stats.screened = u64::try_from(screened).unwrap_or(0);
        Ok(stats)
    }

    /// Counts the people of a source as people without one, if the last candidate from it was erased: it may be a text about
    /// this candidate. Fails if somebody is added from the source at the same time.
    pub async fn forget_source(&self, tenant: Tenant, source: &Source) -> Result<(), CommitError> {
        let source = CaseFolded::of(source.as_str());
        let candidates = CandidateGroup::of_source(tenant, &source).current();
        let (others, _) = self.query(&candidates, 1, Range::Before(None)).await?;
        if !others.is_empty() {
            return Ok(());
        }
        for (range, item) in self.read_partition(&keys::all_new_people(tenant), usize::MAX).await? {
            let Some((monday, named)) = keys::read_new_people(&range) else { continue };
            if CaseFolded::of(named) == source {
                let people = item::count(&item, PEOPLE);
                let mut transaction = Transaction::new(tenant);
                transaction.count_new_people(monday, 0, NO_SOURCE, people);
                transaction.delete_new_people(Key::of(&item)?, people);
                self.commit(transaction).await?;
            }
        }
        Ok(())
    }
}

/// An attribute's whole number, which may be negative, or 0 without the attribute.
fn signed_count(item: &Item, name: &str) -> i64 {
    item.get(name).and_then(|value| value.as_n().ok()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn add_shard(stats: &mut HiringStats, shard: &Item) {
    for (stage, totals) in Stage::ALL.into_iter().zip(&mut stats.stages) {
        totals.ever += item::count(shard, &ever(stage));
        for length in StayLength::ALL {
            let count = item::count(shard, &stays(stage, length));
            if count > 0 {
                *totals.stays.entry(length).or_default() += count;
            }
        }
    }
}
