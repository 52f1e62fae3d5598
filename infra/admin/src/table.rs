//! The `table` command.

use std::fmt;

use serde::Serialize;
use shared::store::OrganizationError;

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
