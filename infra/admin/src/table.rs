//! The `table` commands.

use std::fmt;

use serde::Serialize;
use shared::model::{Mode, Tenant};
use shared::store::{CommitError, OrganizationError, Paging, REGISTRY_SHARDS, StoreError, TableFeatures};

use crate::admin::Admin;

/// Whether the table was created or already existed.
#[derive(Serialize)]
pub(crate) struct Created {
    table: String,
    created: bool,
}

pub(crate) async fn create(admin: &Admin, table: &str) -> Result<Created, OrganizationError> {
    Ok(Created { table: table.to_owned(), created: admin.store.create_table().await? })
}

/// What a table has now.
#[derive(Serialize)]
pub(crate) struct Adopted {
    table: String,
    #[serde(flatten)]
    features: TableFeatures,
    /// The number of change feeds whose numbers go on a million later.
    feeds: usize,
}

pub(crate) async fn adopt(admin: &Admin, table: &str) -> Result<Adopted, OrganizationError> {
    let features = admin.store.adopt_table().await?;
    let feeds = raise_feeds(admin).await?;
    Ok(Adopted { table: table.to_owned(), features, feeds })
}

/// Leaves out numbers of all change feeds: readers may have seen events that the backup lacks.
async fn raise_feeds(admin: &Admin) -> Result<usize, OrganizationError> {
    let mut feeds = 0;
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Paging { limit: 100, before: None };
        loop {
            let listed = admin.store.list_registered(shard, &page).await?;
            for organization in listed.items {
                for mode in Mode::ALL {
                    let raised = admin.store.raise_feed(Tenant { organization, mode }).await;
                    raised.map_err(|error| match error {
                        CommitError::Store(error) => error,
                        error => StoreError::Unavailable(error.to_string()),
                    })?;
                    feeds += 1;
                }
            }
            page.before = listed.next;
            if page.before.is_none() {
                break;
            }
        }
    }
    Ok(feeds)
}

impl fmt::Display for Adopted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TableFeatures { stream_arn, recovery, protection } = &self.features;
        writeln!(f, "The table {} has its keys, both indexes, a stream and an expiry.", self.table)?;
        let state = |is_on: bool| if is_on { "on" } else { "not supported here" };
        writeln!(f, "Recovery: {}. Protection: {}.", state(*recovery), state(*protection))?;
        writeln!(f, "The events of {} change feeds go on a million numbers later.", self.feeds)?;
        write!(f, "ExistingTableStreamArn={stream_arn}")
    }
}

impl fmt::Display for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, created } = self;
        if *created {
            write!(f, "Created the table {table}.")
        } else {
            write!(f, "The table {table} already exists.")
        }
    }
}
