//! The usage reset job: it moves the counters of finished days into the usage history. A schedule runs it at 00:00 UTC.
//!
//! Quotas do not depend on this job. A counter carries its date, so each day starts at 0 without a reset. The job may
//! start late, run twice, run concurrently or be killed at any point, because it moves each counter in a separate
//! transaction.

use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use serde::Serialize;
use shared::http::Environment;
use shared::id::Id;
use shared::model::{Day, Mode, Tenant};
use shared::store::{Paging, REGISTRY_SHARDS, Store, StoreError};

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of organizations processed.
    pub organizations: usize,
    /// The number of counters moved into the usage history.
    pub archived: usize,
    /// The number of organizations that failed. The next run processes them again.
    pub failed: usize,
}

/// The number of organizations read per query.
const PAGE_SIZE: u32 = 100;
/// The number of organizations processed at the same time.
const CONCURRENCY: usize = 16;

/// Archives the finished days of every organization. If an organization fails, the run continues with the others and
/// returns an error at the end, so that the schedule retries it.
pub async fn run(environment: Environment) -> Result<Summary, lambda_http::Error> {
    let today = Day::of(environment.clock.now());
    let mut summary = Summary::default();
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Paging { limit: PAGE_SIZE, before: None };
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
                    Err(error) => {
                        summary.failed += 1;
                        tracing::error!(organization = organization.get(), failure = %error, "usage not archived");
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

async fn archive(store: &Store, organization: Id, today: Day) -> Result<usize, StoreError> {
    let mut archived = 0;
    for mode in Mode::ALL {
        archived += store.archive_usage(Tenant { organization, mode }, today).await?;
    }
    Ok(archived)
}
