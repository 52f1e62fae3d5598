//! The `table` commands.

use std::fmt;

use serde::Serialize;
use shared::store::{OrganizationError, TableFeatures};

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
}

pub(crate) async fn adopt(admin: &Admin, table: &str) -> Result<Adopted, OrganizationError> {
    Ok(Adopted { table: table.to_owned(), features: admin.store.adopt_table().await? })
}

impl fmt::Display for Adopted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TableFeatures { stream_arn, recovery, protection } = &self.features;
        writeln!(f, "The table {} has its keys, both indexes, a stream and an expiry.", self.table)?;
        let state = |is_on: bool| if is_on { "on" } else { "not supported here" };
        writeln!(f, "Recovery: {}. Protection: {}.", state(*recovery), state(*protection))?;
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
