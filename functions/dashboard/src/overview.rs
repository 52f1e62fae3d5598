//! The overview: what waits for the team, the pipelines of the open roles, the statistics of all hiring, and the usage of the
//! plan.

use std::sync::Arc;

use askama::Template;
use futures_util::try_join;
use shared::http::page::{Sources, version_of};
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{
    Day, HiringStats, MemberRole, Plan, Role, RoleStats, RoleStatus, Stage, StayLength, grouped,
};
use shared::store::{Paging, StoreError};

use crate::chart::Chart;
use crate::dates::date;
use crate::layout::{Layout, SCRIPT, Section};
use crate::sources::source_name;
use crate::webhooks::reason_of;

/// The number of days on the chart of requests, including today.
const DAYS: u32 = 30;
/// The maximum number of open roles that are counted. The page shows a higher number as `100+`.
const COUNTED: u32 = 100;
/// The maximum number of open roles whose pipelines are shown.
const SHOWN_ROLES: usize = 10;
/// The maximum number of sources that are shown.
const SHOWN_SOURCES: usize = 20;
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
    /// The statistics of all roles together.
    hiring: HiringStats,
    /// The number of applications that have ever been in each stage.
    funnel: Chart,
    /// The people who were added in the last weeks.
    new_people: Chart,
    /// The sources of these people, and the number of people from all others.
    sources: (Vec<(String, u64)>, u64),
    /// The webhook endpoints that are disabled because of their deliveries, for owners.
    failed_endpoints: Vec<FailedEndpoint>,
    base_url: &'p str,
    /// The version in the script's URL.
    script_version: String,
}

/// A webhook endpoint that is disabled because of its deliveries.
struct FailedEndpoint {
    id: u64,
    url: String,
    reason: &'static str,
}

/// The number of applications in each stage, except the rejected ones.
struct Pipeline<'p> {
    role: u64,
    title: &'p str,
    stages: [u64; 5],
}

/// The stages of a pipeline.
const STAGES: [Stage; 5] = [Stage::Applied, Stage::Screening, Stage::Interview, Stage::Offer, Stage::Hired];

/// The same stages as headings.
const HEADINGS: [&str; STAGES.len()] = ["Applied", "Screening", "Interview", "Offer", "Hired"];

impl<'p> Pipeline<'p> {
    fn of(role: &'p Role, stats: &RoleStats) -> Self {
        let stages = STAGES.map(|stage| stats.stages[stage.rank()].now);
        Self { role: role.id.get(), title: role.content.title.as_str(), stages }
    }
}

impl OverviewPage<'_> {
    /// The number of active applications in a stage.
    fn active(&self, stage: Stage) -> String {
        grouped(self.hiring.of(stage).active)
    }

    /// The median length of a stay in a stage, in days; `None` for a final stage, and before anybody has left the stage.
    fn days(&self, stage: Stage) -> Option<String> {
        self.hiring.of(stage).median_stay().map(StayLength::days)
    }

    /// The largest number of people from one source.
    fn most_from_a_source(&self) -> u64 {
        self.sources.0.first().map_or(1, |(_, people)| *people)
    }
}

/// The webhook endpoints that owners are told about.
async fn failed_endpoints(request: &MemberRequest) -> Result<Vec<FailedEndpoint>, StoreError> {
    if request.member().role != MemberRole::Owner {
        return Ok(Vec::new());
    }
    let endpoints = request.context.store().list_all_webhook_endpoints(request.tenant()).await?;
    let failed = endpoints.into_iter().filter_map(|endpoint| {
        let reason = endpoint.disabled_reason.filter(|reason| reason.is_failure())?;
        Some(FailedEndpoint {
            id: endpoint.id.get(),
            url: endpoint.url.as_str().to_owned(),
            reason: reason_of(reason),
        })
    });
    Ok(failed.collect())
}

/// Shows the overview.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, today) = (request.tenant(), request.context.store(), Day::of(request.context.now()));
    let first = |limit| Paging { limit, before: None };
    let (days, roles) = (first(DAYS), first(COUNTED));
    let pipelines = async {
        let open = store.list_roles(tenant, Some(RoleStatus::Open), &roles).await?;
        let shown = open.items.iter().take(SHOWN_ROLES).map(|role| role.id);
        let stats = store.find_roles_stats(tenant, shown).await?;
        Ok((open, stats))
    };
    let (mut days, archived, (open, stats), hiring, failed_endpoints) = try_join!(
        store.counted_requests(tenant),
        store.list_usage(tenant, &days),
        pipelines,
        store.find_hiring_stats(tenant),
        failed_endpoints(&request),
    )?;
    let shown = &open.items[..open.items.len().min(SHOWN_ROLES)];
    let requests_today = days.get(&today).copied().unwrap_or(0);

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
        usage: Chart::of(days),
        open_roles: count(open.items.len(), open.next.is_some()),
        pipelines: shown
            .iter()
            .map(|role| Pipeline::of(role, stats.get(&role.id).unwrap_or(&none)))
            .collect(),
        funnel: Chart::of(STAGES.map(|stage| (stage.as_str().to_owned(), hiring.of(stage).ever))),
        new_people: Chart::of(
            hiring.new_people(today).into_iter().map(|(monday, people)| (date(monday), people)),
        ),
        sources: hiring.top_sources(today, SHOWN_SOURCES),
        hiring,
        failed_endpoints,
        base_url: request.context.base_url(),
        script_version: version_of(&SCRIPT),
    };
    // The script proposes the browser's time zone.
    let sources = Sources { script: request.member().time_zone.is_utc(), ..Sources::default() };
    Ok(Reply::page(&page)?.using(&sources))
}

fn count(number: usize, has_more: bool) -> String {
    if has_more { format!("{number}+") } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headings_are_those_of_the_stages() {
        assert_eq!(HEADINGS.map(str::to_lowercase), STAGES.map(|stage| stage.as_str().to_owned()));
    }
}
