//! The `usage` command.

use std::cmp::Reverse;
use std::fmt;

use jiff::SignedDuration;
use serde::Serialize;
use shared::id::Id;
use shared::model::{Day, Mode, Tenant};
use shared::store::{OrganizationError, Paging, REGISTRY_SHARDS, UsageDay};

use crate::admin::Admin;
use crate::output::table;

/// The number of requests that an organization made in one mode.
#[derive(Serialize)]
pub(crate) struct Usage {
    organization_id: Id,
    mode: &'static str,
    plan: &'static str,
    requests_per_day: Option<u64>,
    today: UsageDay,
    history: Vec<UsageDay>,
}

pub(crate) async fn show(admin: &Admin, tenant: Tenant, days: u32) -> Result<Usage, OrganizationError> {
    let day = Day::of(admin.now);
    let found = admin.store.find_organization_and_usage(tenant, day).await?;
    let (organization, requests) = found.ok_or(OrganizationError::NoSuchOrganization)?;
    let today = UsageDay { day, requests };
    let period = SignedDuration::from_hours(24 * i64::from(days));
    let first = admin.now.saturating_sub(period).map_or(day, Day::of);
    let mut history = Vec::new();
    let mut page = Paging { limit: 100, before: None };
    loop {
        let listed = admin.store.list_usage(tenant, &page).await?;
        let (in_period, older): (Vec<_>, Vec<_>) =
            listed.items.into_iter().partition(|usage| usage.day >= first);
        history.extend(in_period);
        match listed.next {
            Some(next) if older.is_empty() => page.before = Some(next),
            _ => break,
        }
    }
    Ok(Usage {
        organization_id: tenant.organization,
        mode: tenant.mode.as_str(),
        plan: organization.organization.plan.as_str(),
        requests_per_day: organization.organization.plan.requests_per_day(),
        today,
        history,
    })
}

/// Today's requests of all organizations, the busiest first.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Fleet(Vec<Busy>);

/// Today's requests of an organization in one mode.
#[derive(Serialize)]
struct Busy {
    organization_id: Id,
    mode: &'static str,
    plan: &'static str,
    requests: u64,
}

pub(crate) async fn fleet(admin: &Admin, top: usize) -> Result<Fleet, OrganizationError> {
    let day = Day::of(admin.now);
    let mut all = Vec::new();
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Paging { limit: 100, before: None };
        loop {
            let listed = admin.store.list_registered(shard, &page).await?;
            let modes = |organization| Mode::ALL.map(|mode| Tenant { organization, mode });
            for tenant in listed.items.into_iter().flat_map(modes) {
                let found = admin.store.find_organization_and_usage(tenant, day).await?;
                all.extend(found.map(|(named, requests)| Busy {
                    organization_id: tenant.organization,
                    mode: tenant.mode.as_str(),
                    plan: named.organization.plan.as_str(),
                    requests,
                }));
            }
            page.before = listed.next;
            if page.before.is_none() {
                break;
            }
        }
    }
    all.sort_by_key(|busy| Reverse(busy.requests));
    all.truncate(top);
    Ok(Fleet(all))
}

impl fmt::Display for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.0.iter().map(|busy| {
            let requests = busy.requests.to_string();
            [requests, busy.organization_id.to_string(), busy.mode.to_owned(), busy.plan.to_owned()]
        });
        table(f, ["REQUESTS", "ORGANIZATION", "MODE", "PLAN"], rows)
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.requests_per_day.map(|limit| format!(" of {limit}")).unwrap_or_default();
        let today = [self.today.day.to_string(), format!("{}{limit} so far", self.today.requests)];
        let days = self.history.iter().map(|usage| [usage.day.to_string(), usage.requests.to_string()]);
        table(f, ["DAY", "REQUESTS"], std::iter::once(today).chain(days))
    }
}
