//! The overview: the plan, its usage, the numbers of roles and postings, and the newest candidates.

use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Day, Plan, RoleStatus, grouped};
use shared::store::Paging;

use crate::candidates::CandidateRow;
use crate::dates::date;
use crate::layout::{Layout, Section};

/// The number of days on the chart, including today.
const DAYS: u32 = 30;
/// The number of candidates on the page.
const NEWEST: u32 = 5;
/// The maximum number of roles or postings that are counted. The page shows a higher number as `100+`.
const COUNTED: u32 = 100;

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
    /// The number of published postings: `12` or `100+`.
    published_postings: String,
    newest: Vec<CandidateRow<'p>>,
    base_url: &'p str,
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
    let published = store.list_postings(tenant, Some(true), &first(COUNTED)).await?;
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
    let page = OverviewPage {
        layout: Layout::of(&request, Section::Overview),
        plan: match plan {
            Plan::Free => "Free",
            Plan::Pro => "Pro",
        },
        price: plan.price_usd_per_month().into(),
        requests_today,
        limit: plan.requests_per_day(),
        usage: Chart::of(days.collect()),
        open_roles: count(open.items.len(), open.next.is_some()),
        published_postings: count(published.items.len(), published.next.is_some()),
        newest: candidates.items.iter().map(|(candidate, _)| CandidateRow::of(candidate)).collect(),
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
