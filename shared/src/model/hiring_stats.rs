//! The statistics of all hiring of a tenant: the applications of all roles together, and new people by week and source.

use std::collections::BTreeMap;

use super::{Day, Stage};

/// The number of shards of the counters of stages. All changes of a candidate's applications are counted in one shard.
pub const STAGE_SHARDS: u64 = 8;
/// The number of weeks, including the current one, whose new people are counted.
pub const WEEKS: u32 = 12;

/// The statistics of one stage, over all roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageTotals {
    /// The number of active applications in the stage.
    pub active: u64,
    /// The number of applications that have ever been in the stage.
    pub ever: u64,
    /// The number of finished stays in the stage, by their length.
    pub stays: BTreeMap<StayLength, u64>,
}

/// The length of a stay in a stage in days: exact for a week, a range after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StayLength(usize);

/// The statistics of all hiring of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HiringStats {
    /// The statistics of each stage, in the order of [`Stage::ALL`].
    pub stages: [StageTotals; 6],
    /// The number of active applications in screening whose voice screen is completed.
    pub screened: u64,
    /// The number of people who were added, by the Monday of their week (UTC), and then by the source that they were
    /// added with.
    pub weeks: BTreeMap<Day, BTreeMap<String, u64>>,
}

impl StayLength {
    /// The first day of each range. The last range has no end.
    const STARTS: [u8; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 14, 21, 30, 60];
    /// All lengths, shortest first.
    pub const ALL: [Self; Self::STARTS.len()] = {
        let mut all = [Self(0); Self::STARTS.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = Self(index);
            index += 1;
        }
        all
    };

    /// The length of a stay of this many whole days.
    pub fn of(days: u8) -> Self {
        Self(Self::STARTS.partition_point(|start| *start <= days).saturating_sub(1))
    }

    /// The fewest days of a stay of this length.
    pub const fn first_day(self) -> u8 {
        Self::STARTS[self.0]
    }

    /// The length in days as text: `3`, `8–13` or `60+`.
    pub fn days(self) -> String {
        let first = self.first_day();
        match Self::STARTS.get(self.0 + 1) {
            None => format!("{first}+"),
            Some(next) if *next == first + 1 => first.to_string(),
            Some(next) => format!("{first}–{}", next - 1),
        }
    }
}

impl StageTotals {
    /// The length of the stay in the middle of all finished stays, or of the shorter one of two; `None` without any.
    pub fn median_stay(&self) -> Option<StayLength> {
        let middle = self.stays.values().sum::<u64>().div_ceil(2);
        let mut count = 0;
        self.stays.iter().find_map(|(length, stays)| {
            count += stays;
            (middle > 0 && count >= middle).then_some(*length)
        })
    }
}

impl HiringStats {
    /// The statistics of a stage.
    pub const fn of(&self, stage: Stage) -> &StageTotals {
        &self.stages[stage.rank()]
    }

    /// The number of people who were added in each of the last [`WEEKS`] weeks, oldest first, with the week's Monday.
    pub fn new_people(&self, today: Day) -> Vec<(Day, u64)> {
        let mondays = (0..WEEKS).rev().map(|week| today.monday().before(7 * week));
        mondays
            .map(|monday| (monday, self.weeks.get(&monday).map_or(0, |week| week.values().sum())))
            .collect()
    }

    /// The sources of the people who were added in the last [`WEEKS`] weeks, those of most people first, and the number of
    /// people from all sources after the first `limit`. Texts that differ only in case are one source.
    pub fn top_sources(&self, today: Day, limit: usize) -> (Vec<(String, u64)>, u64) {
        let first = today.monday().before(7 * (WEEKS - 1));
        let mut sources: BTreeMap<String, (String, u64)> = BTreeMap::new();
        for (source, people) in self.weeks.range(first..).flat_map(|(_, sources)| sources) {
            let (_, sum) = sources.entry(source.to_lowercase()).or_insert_with(|| (source.clone(), 0));
            *sum += people;
        }
        let mut sources: Vec<_> = sources.into_values().collect();
        sources.sort_by_key(|(_, people)| std::cmp::Reverse(*people));
        let others = sources.split_off(limit.min(sources.len()));
        (sources, others.iter().map(|(_, people)| people).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    #[test]
    fn stays_are_exact_for_a_week_and_then_in_ranges() {
        for (days, expected) in [
            (0, "0"),
            (1, "1"),
            (7, "7"),
            (8, "8–13"),
            (13, "8–13"),
            (14, "14–20"),
            (59, "30–59"),
            (60, "60+"),
            (255, "60+"),
        ] {
            assert_eq!(StayLength::of(days).days(), expected, "{days}");
        }
        for length in StayLength::ALL {
            assert_eq!(StayLength::of(length.first_day()), length);
        }
    }

    #[test]
    fn the_median_stay_is_the_shorter_one_of_the_two_in_the_middle() {
        let totals = |stays: &[(u8, u64)]| StageTotals {
            stays: stays.iter().map(|(days, count)| (StayLength::of(*days), *count)).collect(),
            ..StageTotals::default()
        };
        let median = |stays: &[(u8, u64)]| totals(stays).median_stay().map(StayLength::days);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[(3, 0)]), None);
        assert_eq!(median(&[(3, 1), (9, 1)]).as_deref(), Some("3"));
        assert_eq!(median(&[(3, 1), (9, 2)]).as_deref(), Some("8–13"));
    }

    #[test]
    fn new_people_are_counted_by_week_and_by_source_regardless_of_case() {
        let week = |sources: &[(&str, u64)]| {
            sources.iter().map(|(source, people)| ((*source).to_owned(), *people)).collect()
        };
        let stats = HiringStats {
            weeks: BTreeMap::from([
                (day("2026-08-31"), week(&[("too old", 100)])),
                (day("2026-09-07"), week(&[("LinkedIn", 2), ("fair", 5)])),
                (day("2026-11-23"), week(&[("linkedin", 4), ("manual", 1)])),
            ]),
            ..HiringStats::default()
        };
        let weeks = stats.new_people(day("2026-11-24"));
        assert_eq!(weeks[0], (day("2026-09-07"), 7));
        assert_eq!(weeks[11], (day("2026-11-23"), 5));
        assert_eq!(weeks.iter().map(|(_, people)| people).sum::<u64>(), 12);
        let (sources, others) = stats.top_sources(day("2026-11-24"), 2);
        assert_eq!(sources, [("LinkedIn".to_owned(), 6), ("fair".to_owned(), 5)]);
        assert_eq!(others, 1);
        assert_eq!(stats.top_sources(day("2026-11-24"), 20).1, 0);
    }
}
