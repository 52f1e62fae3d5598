//! The statistics of all hiring of a tenant, in one partition that one query reads.
//!
//! The transaction that changes a candidate's applications also changes one shard of the counters of stages, so that
//! requests do not wait for each other. New people are counted by week and source. Such a counter is deleted some weeks
//! after its week.

use std::collections::BTreeMap;

use super::item::number;
use super::keys::{CandidateGroup, EXPIRES_AT, Key, SK};
use super::list::Range;
use super::{CommitError, Item, Store, StoreError, Transaction, item, keys};
use crate::id::Id;
use crate::model::{
    Candidate, CaseFolded, Day, ErasedApplication, HiringStats, STAGE_SHARDS, Source, Stage, StageCount,
    StayLength, Tenant,
};

/// The attribute with the number of screened applications that wait.
const SCREENED: &str = "screened";
/// The attribute with the number of people.
const PEOPLE: &str = "people";
/// The number of weeks after which the counters of a week are deleted. The overview shows fewer.
const WEEKS_KEPT: i64 = 14;
const SECONDS_PER_WEEK: i64 = 7 * 24 * 60 * 60;
/// The source in the keys of the counters of people without one.
const NO_SOURCE: &str = "";

impl Transaction {
    /// Counts the change of an application of a candidate.
    pub(super) fn count_stages(&mut self, candidate: Id, counts: &[StageCount]) {
        let counts: Vec<_> = counts.iter().copied().filter_map(counter).collect();
        if !counts.is_empty() {
            self.count(stage_counters(self.tenant, candidate), counts);
        }
    }

    /// No longer counts an application of an erased candidate as active.
    pub(super) fn uncount_application(&mut self, candidate: Id, application: &ErasedApplication) {
        let active = application.active.then_some(StageCount::Active(application.stage, -1));
        let screened = application.screened.then_some(StageCount::Screened(-1));
        let counts: Vec<_> = active.into_iter().chain(screened).collect();
        self.count_stages(candidate, &counts);
    }

    /// Counts a new person in the week and under the source in which the person was added.
    pub(super) fn count_new_person(&mut self, candidate: &Candidate) {
        let source = candidate.profile.source.as_ref().map_or(NO_SOURCE, |source| source.as_str());
        let shard = candidate.id.get() % STAGE_SHARDS;
        self.count_new_people(Day::of(candidate.created_at).monday(), shard, source, 1);
    }

    fn count_new_people(&mut self, monday: Day, shard: u64, source: &str, people: u64) {
        let expires_at = monday.end().as_second() + WEEKS_KEPT * SECONDS_PER_WEEK;
        self.update(
            keys::new_people(self.tenant, monday, shard, source),
            "SET #expires = :expires ADD #people :people",
            "",
            vec![("#expires", EXPIRES_AT.to_owned()), ("#people", PEOPLE.to_owned())],
            vec![(":expires", number(expires_at)), (":people", number(i128::from(people)))],
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

fn stage_counters(tenant: Tenant, candidate: Id) -> Key {
    keys::stage_counters(tenant, candidate.get() % STAGE_SHARDS)
}

/// The attribute of a counter, and the number to add; `None` for a count that only roles have.
fn counter(count: StageCount) -> Option<(String, i64)> {
    match count {
        StageCount::Now(..) => None,
        StageCount::Active(stage, by) => Some((active(stage), by)),
        StageCount::Screened(by) => Some((SCREENED.to_owned(), by)),
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
    /// The statistics of all hiring. One query reads 1 MB, the newest weeks first. Should there be more, because there are
    /// thousands of sources in each week, the oldest weeks are incomplete.
    pub async fn find_hiring_stats(&self, tenant: Tenant) -> Result<HiringStats, StoreError> {
        let partition = keys::hiring_stats(tenant);
        // Stages come first, then the newest weeks. What does not fit into the first MB is from the oldest weeks.
        let (items, _) = self.query(&partition, u32::MAX, Range::Before(None)).await?;
        let mut stats = HiringStats::default();
        for item in items {
            let range = item.get(SK).and_then(|range| range.as_s().ok()).cloned().unwrap_or_default();
            match keys::read_new_people(&range) {
                Some((monday, source)) => {
                    let sources: &mut BTreeMap<_, u64> = stats.weeks.entry(monday).or_default();
                    *sources.entry(source.to_owned()).or_default() += item::count(&item, PEOPLE);
                }
                None => add_shard(&mut stats, &item),
            }
        }
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
        for (range, item) in self.read_partition(&keys::hiring_stats(tenant), usize::MAX).await? {
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

fn add_shard(stats: &mut HiringStats, shard: &Item) {
    stats.screened += item::count(shard, SCREENED);
    for (stage, totals) in Stage::ALL.into_iter().zip(&mut stats.stages) {
        totals.active += item::count(shard, &active(stage));
        totals.ever += item::count(shard, &ever(stage));
        for length in StayLength::ALL {
            let count = item::count(shard, &stays(stage, length));
            if count > 0 {
                *totals.stays.entry(length).or_default() += count;
            }
        }
    }
}
