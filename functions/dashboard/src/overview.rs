//! The overview: what waits for the team, the pipelines of the open roles, the newest candidates, and the usage of the plan.

use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Day, Plan, Role, RoleStats, RoleStatus, Stage, StageStats, grouped};
use shared::store::Paging;

use crate::candidates::CandidateRow;
use crate::dates::{self, date};
use crate::layout::{Layout, Section};

/// The number of days on the chart, including today.
const DAYS: u32 = 30;
/// The number of candidates on the page.
const NEWEST: u32 = 5;
/// The maximum number of open roles that are counted. The page shows a higher number as `100+`.
const COUNTED: u32 = 100;
/// The maximum number of open roles whose pipelines are shown.
const SHOWN_ROLES: usize = 10;
/// The percentage of the day's requests from which the page warns.
const WARNING: u64 = 80;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage<'p> {
    layout: Layout<'p>,
    /// The plan's name.
    plan: &'static str,
    /// The plan's price in US dollars per month.
    price: u64,
    /// The number of requests today (UTC).
    requests_today: u64,
    /// The number of requests allowed per day; `None` if there is no limit.
    limit: Option<u64>,
    /// The requests of the last 30 days.
    usage: Chart,
    /// The number of open roles: `12` or `100+`.
    open_roles: String,
    /// The percentage of the day's requests that are used, if there is a reason to warn.
    warning: Option<u64>,
    /// The pipelines of the newest open roles.
    pipelines: Vec<Pipeline<'p>>,
    /// The pipelines of all counted open roles together.
    all: [String; 5],
    /// The lower median of the days in each open stage, over the counted open roles.
    days: [Option<u8>; 4],
    newest: Vec<CandidateRow<'p>>,
    base_url: &'p str,
}

/// The number of applications in each stage, except the rejected ones.
struct Pipeline<'p> {
    role: u64,
    title: &'p str,
    stages: [u64; 5],
}

/// The stages of a pipeline.
const STAGES: [Stage; 5] = [Stage::Applied, Stage::Screening, Stage::Interview, Stage::Offer, Stage::Hired];

impl<'p> Pipeline<'p> {
    /// The number of applications in a stage, as text.
    fn count(&self, stage: usize) -> String {
        grouped(self.stages[stage])
    }

    fn of(role: &'p Role, stats: &RoleStats) -> Self {
        let stages = STAGES.map(|stage| stats.stages[stage.rank()].now);
        Self { role: role.id.get(), title: role.content.title.as_str(), stages }
    }
}

/// The stays of several roles in one stage, together.
fn merged<'s>(stages: impl Iterator<Item = &'s StageStats>) -> StageStats {
    stages.fold(StageStats::default(), |mut all, stage| {
        for (days, count) in &stage.stays {
            *all.stays.entry(*days).or_default() += count;
        }
        all
    })
}

/// A bar chart of requests by day. Coordinates are in units of the SVG's view box.
struct Chart {
    bars: Vec<Bar>,
    total: u64,
    /// The number of requests on the busiest day.
    peak: u64,
}

/// The bar of one day.
struct Bar {
    day: String,
    requests: u64,
    x: usize,
    y: u64,
    height: u64,
}

impl Chart {
    const HEIGHT: u64 = 120;
    /// The distance from one bar to the next.
    const STEP: usize = 20;
    /// The minimum height of the bar of a day with requests, so that it stays visible.
    const MIN_BAR: u64 = 3;

    /// Returns the chart of these days, oldest first.
    fn of(days: Vec<(String, u64)>) -> Self {
        let peak = days.iter().map(|(_, requests)| *requests).max().unwrap_or(0);
        let total = days.iter().fold(0, |sum: u64, (_, requests)| sum.saturating_add(*requests));
        let bars = days.into_iter().enumerate().map(|(place, (day, requests))| {
            let share = u128::from(requests) * u128::from(Self::HEIGHT) / u128::from(peak.max(1));
            let share = u64::try_from(share).unwrap_or(Self::HEIGHT);
            let height = if requests == 0 { 0 } else { share.max(Self::MIN_BAR) };
            Bar { day, requests, x: place * Self::STEP, y: Self::HEIGHT - height, height }
        });
        Self { bars: bars.collect(), total, peak }
    }

    fn width(&self) -> usize {
        self.bars.len() * Self::STEP
    }

    fn first_day(&self) -> &str {
        self.bars.first().map_or("", |bar| &bar.day)
    }

    fn last_day(&self) -> &str {
        self.bars.last().map_or("", |bar| &bar.day)
    }
}

/// Shows the overview.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, today) = (request.tenant(), request.context.store(), Day::of(request.context.now()));
    let first = |limit| Paging { limit, before: None };
    let mut days = store.counted_requests(tenant).await?;
    let requests_today = days.get(&today).copied().unwrap_or(0);
    let archived = store.list_usage(tenant, &first(DAYS)).await?;
    let open = store.list_roles(tenant, Some(RoleStatus::Open), &first(COUNTED)).await?;
    let stats = store.find_roles_stats(tenant, open.items.iter().map(|role| role.id)).await?;
    let candidates = store.list_candidates(tenant, None, None, &first(NEWEST)).await?;

    // A request that was counted late can be in the counters after its day was archived.
    for usage in archived.items {
        *days.entry(usage.day).or_default() += usage.requests;
    }
    let days = (0..DAYS).rev().map(|back| {
        let day = today.before(back);
        (date(day), days.get(&day).copied().unwrap_or(0))
    });
    let plan = request.organization().plan;
    let limit = plan.requests_per_day();
    let none = RoleStats::default();
    let pipelines: Vec<_> =
        open.items.iter().map(|role| Pipeline::of(role, stats.get(&role.id).unwrap_or(&none))).collect();
    let zone = dates::zone(&request);
    let page = OverviewPage {
        layout: Layout::of(&request, Section::Overview),
        plan: match plan {
            Plan::Free => "Free",
            Plan::Pro => "Pro",
        },
        price: plan.price_usd_per_month().into(),
        requests_today,
        limit,
        warning: limit.map(|limit| requests_today * 100 / limit.max(1)).filter(|used| *used >= WARNING),
        usage: Chart::of(days.collect()),
        open_roles: count(open.items.len(), open.next.is_some()),
        all: std::array::from_fn(|stage| {
            grouped(pipelines.iter().map(|pipeline| pipeline.stages[stage]).sum())
        }),
        days: Stage::OPEN
            .map(|stage| merged(stats.values().map(|stats| &stats.stages[stage.rank()])).median_days()),
        pipelines: pipelines.into_iter().take(SHOWN_ROLES).collect(),
        newest: candidates.items.iter().map(|(candidate, _)| CandidateRow::of(candidate, &zone)).collect(),
        base_url: request.context.base_url(),
    };
    Ok(Reply::page(&page)?.showing(page.newest.len()))
}

fn count(number: usize, has_more: bool) -> String {
    if has_more { format!("{number}+") } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bars_end_at_the_baseline_and_days_with_requests_are_visible(
            requests in prop::collection::vec(any::<u64>(), 0..40),
        ) {
            let chart = Chart::of(requests.iter().map(|requests| (String::new(), *requests)).collect());
            prop_assert_eq!(chart.bars.len(), requests.len());
            for (bar, requests) in chart.bars.iter().zip(requests) {
                prop_assert_eq!(bar.y + bar.height, Chart::HEIGHT);
                prop_assert_eq!(bar.height == 0, requests == 0);
                prop_assert!(requests != chart.peak || requests == 0 || bar.height == Chart::HEIGHT);
                prop_assert!(bar.x < chart.width());
            }
        }
    }
}
