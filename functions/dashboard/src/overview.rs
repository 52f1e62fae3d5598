//! The overview: the plan, how much of it is used, and what is new.

use std::sync::Arc;

use shared::http::{Desk, Error, Page, Reply};
use shared::model::{Day, Plan, RoleStatus};
use shared::store;

use crate::frame::{date, day, frame};
use crate::pages::{CandidateRow, Chart, Overview, Section};

/// How many days the chart shows, today included.
const DAYS: u32 = 30;
/// How many candidates are shown.
const NEWEST: u32 = 5;
/// How far is counted: beyond it there are "more".
const COUNTED: u32 = 100;

/// Shows the overview.
pub(crate) async fn show(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let (tenant, store, today) = (desk.tenant(), desk.store(), Day::of(desk.now()));
    let first = |limit| store::Page { limit, before: None };
    let mut days = store.counted_requests(tenant).await?;
    let requests_today = days.get(&today).copied().unwrap_or(0);
    let finished = store.list_usage(tenant, &first(DAYS)).await?;
    let open = store.list_roles(tenant, Some(RoleStatus::Open), &first(COUNTED)).await?;
    let published = store.list_postings(tenant, Some(true), &first(COUNTED)).await?;
    let candidates = store.list_candidates(tenant, None, None, &first(NEWEST)).await?;

    // What is counted late is in both.
    for finished in finished.items {
        *days.entry(finished.day).or_default() += finished.requests;
    }
    let days = (0..DAYS).rev().map(|back| {
        let day = today.before(back);
        (date(day), days.get(&day).copied().unwrap_or(0))
    });
    let plan = desk.organization().plan;
    Reply::page(&Overview {
        frame: frame(&desk, Section::Overview),
        plan: match plan {
            Plan::Free => "Free",
            Plan::Pro => "Pro",
        },
        price: plan.price_usd_per_month().into(),
        requests_today,
        limit: plan.requests_per_day(),
        usage: Chart::of(days.collect()),
        open_roles: counted(open.items.len(), open.next.is_some()),
        published_postings: counted(published.items.len(), published.next.is_some()),
        newest: candidates.items.iter().map(row).collect(),
        base_url: desk.base_url(),
    })
}

fn counted(number: usize, has_more: bool) -> String {
    if has_more { format!("{number}+") } else { number.to_string() }
}

/// A candidate in a list.
pub(crate) fn row(candidate: &shared::model::Candidate) -> CandidateRow<'_> {
    CandidateRow {
        id: candidate.id.get(),
        name: candidate.profile.name.as_str(),
        email: candidate.profile.email.as_str(),
        stage: candidate.stage.as_str(),
        since: day(candidate.created_at),
    }
}
