//! The `export` command: an export of an organization's data, as the service's tasks write it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use shared::id::Id;
use shared::model::{
    Actor, Day, Export, ExportKind, ExportOrder, ExportStatus, Mode, Tenant, TooManyExports,
};
use shared::providers::bucket::Bucket;
use shared::store::{OrganizationError, Transaction};

use crate::admin::{Admin, CommandError};
use crate::cli::NewExport;
use crate::output::table;

/// The time between two looks at the export.
const POLL: Duration = Duration::from_secs(2);

/// An export, and the links to its files.
#[derive(Serialize)]
pub(crate) struct Exported {
    id: Id,
    organization_id: Id,
    mode: Mode,
    status: ExportStatus,
    /// Where the change feed goes on.
    position: Option<String>,
    left_out: u64,
    files: Vec<File>,
}

/// A file of an export.
#[derive(Serialize)]
struct File {
    kind: ExportKind,
    rows: u64,
    size: u64,
    url: String,
}

/// Begins an export. With `--wait`, returns when the service has written its files.
pub(crate) async fn export(admin: &Admin, new: NewExport) -> Result<Exported, CommandError> {
    let (store, tenant, now) = (&admin.store, new.tenant.tenant(), admin.now);
    let bucket =
        admin.bucket.as_ref().ok_or_else(|| failed("Name the bucket of uploaded files with --bucket"))?;
    let organization = store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    if let Some(role) = new.role
        && store.find_role(tenant, role).await?.is_none()
    {
        return Err(failed("The organization has no role with the identifier after --role in this mode"));
    }
    let order = ExportOrder {
        format: new.format,
        kinds: new.kinds,
        role_id: new.role,
        has_results: true,
        base_url: new.base_url,
    };
    let id = admin.ids.next();
    let used = store.find_export_use(tenant).await?;
    let after = used.with(id, organization.organization.plan, Day::of(now));
    let after = after.map_err(|problem| match problem {
        TooManyExports::Running => failed(format!("Others run: {problem}")),
        TooManyExports::Plan(_) => failed(problem.to_string()),
    })?;
    let position = if order.is_whole() { Some(store.get_feed_head(tenant).await?.seq) } else { None };
    let secret = admin.random.token(Export::SECRET_LENGTH);
    let export = Export::new((id, secret), order, position, Actor::system(), now);
    let mut transaction = Transaction::new(tenant);
    transaction.insert_export(&export)?;
    transaction.replace_export_use(&used, &after)?;
    store.commit(transaction).await.map_err(CommandError::of_commit)?;
    let export = if new.wait { wait(admin, tenant, id).await? } else { export };
    describe(admin, bucket, tenant, export).await
}

/// Waits until the files are written.
async fn wait(admin: &Admin, tenant: Tenant, id: Id) -> Result<Export, CommandError> {
    loop {
        let found = admin.store.find_export(tenant, id).await?;
        let export = found.ok_or_else(|| failed("The export is gone"))?;
        match export.status {
            ExportStatus::Running => tokio::time::sleep(POLL).await,
            ExportStatus::Done => return Ok(export),
            ExportStatus::Failed => {
                let reason = export.reason.unwrap_or_default();
                return Err(failed(format!("The export {id} has failed. {}", reason.trim_end_matches('.'))));
            }
        }
    }
}

async fn describe(
    admin: &Admin,
    bucket: &Bucket,
    tenant: Tenant,
    export: Export,
) -> Result<Exported, CommandError> {
    let mut files = Vec::new();
    for file in export.files.iter().filter(|_| export.status == ExportStatus::Done) {
        let (key, name) = (export.file(tenant, file.kind), export.file_name(file.kind));
        let url = bucket.download_url(&key, &name, admin.clock.now()).await.map_err(CommandError::Bucket)?;
        files.push(File { kind: file.kind, rows: file.rows, size: file.size, url });
    }
    Ok(Exported {
        id: export.id,
        organization_id: tenant.organization,
        mode: tenant.mode,
        status: export.status,
        position: export.position.map(|position| position.to_string()),
        left_out: export.left_out(),
        files,
    })
}

fn failed(sentence: impl Into<String>) -> CommandError {
    CommandError::Export(sentence.into())
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, status, files, left_out, .. } = self;
        if *status == ExportStatus::Running {
            return write!(
                f,
                "The export {id} is being written. GET /api/v1/exports/{id} has the links to its files when it is done."
            );
        }
        let cells = files.iter().map(|File { kind, rows, size, url }| {
            [kind.as_str().to_owned(), rows.to_string(), size.to_string(), url.clone()]
        });
        table(f, ["KIND", "ROWS", "BYTES", "LINK"], cells)?;
        writeln!(f, "\n")?;
        if *left_out > 0 {
            writeln!(f, "{left_out} rows have a cell of more than 32,000 characters and were left out.")?;
        }
        write!(
            f,
            "The export {id} is done. The links are good for up to an hour, and the files for 24 hours."
        )
    }
}
