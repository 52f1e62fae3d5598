//! The usage reset job, run by the schedule at 00:00 UTC: finished days' counters become usage history.
//!
//! Quotas do not depend on it: a counter carries its date, so that each day begins at 0 by itself. The job may be late,
//! run twice or twice at once, or be killed anywhere: every counter is moved in a transaction of its own.

use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use serde::Serialize;
use shared::http::Environment;
use shared::id::Id;
use shared::model::{Day, Mode, Tenant};
use shared::store::{Failure, Page, REGISTRY_SHARDS, Store};

/// What a run has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Organizations looked at.
    pub organizations: usize,
    /// Counters moved into usage history.
    pub archived: usize,
    /// Organizations that could not be finished; the next run takes them up again.
    pub failed: usize,
}

/// How many organizations are read at a time.
const PAGE: u32 = 100;
/// How many of them are worked on at a time.
const CONCURRENCY: usize = 16;

/// Archives the finished days of every organization. What fails for one does not keep the others waiting, but makes the
/// run fail in the end, so that the schedule tries again.
pub async fn run(environment: Environment) -> Result<Summary, lambda_http::Error> {
    let today = Day::of(environment.clock.now());
    let mut summary = Summary::default();
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Page { limit: PAGE, before: None };
        loop {
            let listed = environment.store.list_registered(shard, &page).await?;
            let archiving = listed.items.into_iter().map(|organization| {
                let archived = archive(&environment.store, organization, today);
                archived.map(move |archived| (organization, archived))
            });
            let mut archiving = stream::iter(archiving).buffer_unordered(CONCURRENCY);
            while let Some((organization, archived)) = archiving.next().await {
                summary.organizations += 1;
                match archived {
                    Ok(archived) => summary.archived += archived,
                    Err(failure) => {
                        summary.failed += 1;
                        tracing::error!(organization = organization.get(), %failure, "usage not archived");
                    }
                }
            }
            let Some(next) = listed.next else { break };
            page.before = Some(next);
        }
    }
    tracing::info!(
        organizations = summary.organizations,
        archived = summary.archived,
        failed = summary.failed,
        "usage reset"
    );
    if summary.failed > 0 {
        return Err(format!("the usage of {} organizations could not be archived", summary.failed).into());
    }
    Ok(summary)
}

async fn archive(store: &Store, organization: Id, today: Day) -> Result<usize, Failure> {
    let mut archived = 0;
    for mode in Mode::ALL {
        archived += store.archive_usage(Tenant { organization, mode }, today).await?;
    }
    Ok(archived)
}
