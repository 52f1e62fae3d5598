//! The `import` command: an import of people, as the service's tasks carry it out.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use shared::id::Id;
use shared::model::{
    Actor, DateFormat, Day, Import, ImportCounts, ImportDefaults, ImportFilesStatus, ImportFormat,
    ImportSettings, ImportStatus, ImportVerdict, ImportZip, Mode, RowResult, Tags, Tenant,
};
use shared::providers::bucket::Bucket;
use shared::services::imports::{VerdictError, verdicts};
use shared::store::{OrganizationError, Transaction};

use crate::admin::{Admin, CommandError};
use crate::cli::NewImport;
use crate::conversion::{by_name, mapping};
use crate::output::{line, table};

/// The time between two looks at the import.
const POLL: Duration = Duration::from_secs(2);
const OCTET_STREAM: &str = "application/octet-stream";

/// An import, and what there is to say about its rows.
#[derive(Serialize)]
pub(crate) struct Imported {
    id: Id,
    organization_id: Id,
    mode: Mode,
    status: ImportStatus,
    counts: ImportCounts,
    /// What the whole file shows.
    warnings: Vec<String>,
    /// The form that all dates have, if some are not read without it.
    date_format: Option<&'static str>,
    /// The rows that are invalid or have warnings.
    rows: Vec<ImportVerdict>,
    /// The ZIP of files; `None` without one.
    files: Option<Files>,
}

/// The ZIP of files of an import.
#[derive(Serialize)]
struct Files {
    status: ImportFilesStatus,
    reason: Option<String>,
    count: u64,
    matched: u64,
}

impl From<ImportZip> for Files {
    fn from(zip: ImportZip) -> Self {
        Self { status: zip.status, matched: zip.with_row(), reason: zip.reason, count: zip.count }
    }
}

/// Begins an import. With `--wait` or `--run`, returns when the service has done it.
pub(crate) async fn import(admin: &Admin, new: NewImport) -> Result<Imported, CommandError> {
    let tenant = new.tenant.tenant();
    let bucket =
        admin.bucket.as_ref().ok_or_else(|| failed("Name the bucket of uploaded files with --bucket"))?;
    let (waits, runs) = (new.wait || new.run, new.run);
    let mut import = begin(admin, bucket, new).await?;
    if waits {
        import = wait(admin, tenant, import.id).await?;
    }
    if runs {
        run(admin, tenant, &import).await?;
        import = wait(admin, tenant, import.id).await?;
    }
    let rows = if waits { remarks(admin, bucket, tenant, &import).await? } else { Vec::new() };
    let findings = import.findings.unwrap_or_default();
    Ok(Imported {
        files: import.zip.map(Files::from),
        id: import.id,
        organization_id: tenant.organization,
        mode: tenant.mode,
        status: import.status,
        counts: import.counts,
        warnings: findings.warnings,
        date_format: findings.date_format.map(DateFormat::as_str),
        rows,
    })
}

/// Stores the file and an import that is to be checked.
async fn begin(admin: &Admin, bucket: &Bucket, new: NewImport) -> Result<Import, CommandError> {
    let (store, tenant, now) = (&admin.store, new.tenant.tenant(), admin.now);
    store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    if let Some(role) = new.role
        && store.find_role(tenant, role).await?.is_none()
    {
        return Err(failed("The organization has no role with the identifier after --role in this mode"));
    }
    let format = new.format.or_else(|| by_name(&new.file)).ok_or_else(|| {
        let formats = ImportFormat::ALL.map(ImportFormat::as_str).join(", ");
        failed(format!(
            "Say with --format what {} is: {formats}; `rolecall-admin convert` makes NDJSON of other files",
            new.file.display()
        ))
    })?;
    let mapping = mapping(&new.reading).map_err(CommandError::Import)?;
    let content = read(&new.file, Import::MAX_UPLOAD, "200 MB")?;
    let files = new.files.as_deref().map(|path| read(path, ImportZip::MAX_SIZE, "1 GB")).transpose()?;
    let id = admin.ids.next();
    let created = Import::new(id, admin.random.token(Import::SECRET_LENGTH), Actor::system(), now);
    let import = Import {
        format,
        settings: ImportSettings {
            sheet: new.reading.sheet,
            encoding: new.reading.encoding,
            date_format: new.reading.date_format,
            plain_phones: new.reading.plain_phones,
            defaults: ImportDefaults { role_id: new.role, source: new.source, tags: Tags::of(new.tags) },
            overwrite: new.overwrite,
            ..created.settings.clone()
        },
        mapping,
        ..created
    };
    let import = if files.is_some() { import.with_zip(now) } else { import };
    let import = import.with_file(now);
    let used = store.find_import_use(tenant).await?;
    let after = used.with(id).ok_or_else(|| {
        failed(format!(
            "The organization has {} unfinished imports. Run or cancel one first",
            Import::MAX_UNFINISHED
        ))
    })?;
    let stored = bucket.write_large(&import.file(tenant), content, OCTET_STREAM, now).await;
    stored.map_err(CommandError::Bucket)?;
    if let (Some(content), Some(zip)) = (files, &import.zip) {
        let key = import.zip_file(tenant, zip.number);
        bucket.write_large(&key, content, OCTET_STREAM, now).await.map_err(CommandError::Bucket)?;
    }
    let mut transaction = Transaction::new(tenant);
    transaction.insert_import(&import)?;
    transaction.replace_import_use(&used, &after)?;
    store.commit(transaction).await.map_err(CommandError::of_commit)?;
    Ok(import)
}

/// Reads a file, if it is not too large.
fn read(path: &Path, most: u64, in_words: &str) -> Result<Vec<u8>, CommandError> {
    let unread =
        |error: std::io::Error| failed(format!("The file {} can't be read: {error}", path.display()));
    let size = std::fs::metadata(path).map_err(unread)?.len();
    if size > most {
        return Err(failed(format!("The file {} has more than {in_words}. Split it", path.display())));
    }
    std::fs::read(path).map_err(unread)
}

/// Waits until nothing more is done by itself. Fails if the import has failed.
async fn wait(admin: &Admin, tenant: Tenant, id: Id) -> Result<Import, CommandError> {
    loop {
        let found = admin.store.find_import(tenant, id).await?;
        let import = found.ok_or_else(|| failed("The import is gone"))?;
        if import.status == ImportStatus::Failed {
            let reason = import.reason.unwrap_or_default();
            return Err(failed(format!("The import {id} has failed. {}", reason.trim_end_matches('.'))));
        }
        if !import.is_working() {
            return Ok(import);
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Runs a checked import.
async fn run(admin: &Admin, tenant: Tenant, before: &Import) -> Result<(), CommandError> {
    let (store, now) = (&admin.store, admin.clock.now());
    let after = before.run(Actor::system(), now).ok_or_else(|| {
        failed(format!("Only a checked import can be run, but {} is {}", before.id, before.status.as_str()))
    })?;
    let organization = store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    let (plan, rows) = (organization.organization.plan, before.counts.create + before.counts.update);
    let used = store.find_import_use(tenant).await?;
    let then = used.run(plan, rows, Day::of(now)).map_err(|room| {
        failed(format!(
            "The import {} is checked and has {rows} rows to carry out, but the plan {} has room for {room} more today",
            before.id,
            plan.as_str()
        ))
    })?;
    let mut transaction = Transaction::new(tenant);
    transaction.replace_import(before, &after)?;
    transaction.replace_import_use(&used, &then)?;
    store.commit(transaction).await.map_err(CommandError::of_commit)
}

/// The verdicts with messages.
async fn remarks(
    admin: &Admin,
    bucket: &Bucket,
    tenant: Tenant,
    import: &Import,
) -> Result<Vec<ImportVerdict>, CommandError> {
    let mut remarks = Vec::new();
    for part in 0..import.parts {
        match verdicts(bucket, import, tenant, part, admin.clock.now()).await {
            Ok(read) => remarks.extend(read.into_iter().filter(|verdict| !verdict.messages.is_empty())),
            // Somebody has cancelled the import before its rows were checked.
            Err(VerdictError::Gone) => {}
            Err(VerdictError::Bucket(error)) => return Err(CommandError::Bucket(error)),
        }
    }
    Ok(remarks)
}

fn failed(sentence: impl Into<String>) -> CommandError {
    CommandError::Import(sentence.into())
}

impl fmt::Display for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, status, counts, warnings, date_format, rows, files, .. } = self;
        if !rows.is_empty() {
            let cells = rows.iter().map(|ImportVerdict { row, line: place, result, messages, .. }| {
                let verdict = if *result == RowResult::Invalid { "invalid" } else { "warning" };
                [row.to_string(), place.to_string(), verdict.to_owned(), line(&messages.join("; "))]
            });
            table(f, ["ROW", "LINE", "VERDICT", "MESSAGES"], cells)?;
            writeln!(f, "\n")?;
        }
        for warning in warnings {
            writeln!(f, "{warning}.")?;
        }
        if let Some(format) = date_format {
            writeln!(f, "All dates can be read with --date-format {format}.")?;
        }
        match files {
            Some(Files { reason: Some(reason), .. }) => writeln!(f, "The ZIP file is not used. {reason}")?,
            Some(Files { status: ImportFilesStatus::Matched, count, matched, .. }) => {
                writeln!(f, "{matched} of {count} files have a row.")?;
            }
            _ => {}
        }
        if *status == ImportStatus::Checking {
            return write!(
                f,
                "The import {id} is being checked. GET /api/v1/imports/{id} says how far it is; \
                 POST /api/v1/imports/{id}/run carries it out."
            );
        }
        let ImportCounts { create, update, unchanged, invalid, warnings, skipped, .. } = counts;
        writeln!(
            f,
            "{create} create, {update} update, {unchanged} unchanged ({warnings} with warnings), {invalid} invalid, \
             {skipped} skipped"
        )?;
        write!(f, "The import {id} is {}.", status.as_str())?;
        match status {
            ImportStatus::Checked => {
                write!(f, " POST /api/v1/imports/{id}/run carries it out, within seven days.")
            }
            ImportStatus::Done => write!(f, " POST /api/v1/imports/{id}/undo undoes it, within 30 days."),
            _ => Ok(()),
        }
    }
}
