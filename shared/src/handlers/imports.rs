//! Imports of people: beginning, checking, running, cancelling and undoing them. A task does the work.

use super::candidate_lookup::UNKNOWN_ROLE;
use super::responses::import::Import;
use crate::http::{
    Accepted, ApiRequest, Change, Collection, Created, Error, Fields, Input, Listing, Reply, input,
};
use crate::id::Id;
use crate::model::{
    self, DateFormat, ImportColumn, ImportDefaults, ImportField, ImportFormat, ImportMapping, ImportPart,
    ImportSettings, ImportStatus, ImportVerdict, ImportZip, PlainPhones, RowResult, Source, Tag, Tags, Text,
    TextEncoding,
};
use crate::providers::bucket::{Bucket, UploadForm};
use crate::services::imports::{VerdictError, verdicts};
use crate::store::{Listed, Paging};

/// The maximum number of columns of a file.
const MAX_COLUMNS: usize = 200;
/// The maximum number of files with verdicts that one page reads.
const MAX_FILES: usize = 20;
const NDJSON: &str = "application/x-ndjson";

/// An import to begin: with an upload, or with its rows.
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the request")]
pub struct NewImport {
    /// The format of the file.
    format: ImportFormat,
    /// Where the file comes from, such as the name of another system.
    source: Option<Text<100>>,
    /// The sheet of a workbook. Without it, the first visible one with a header is read.
    sheet: Option<Text<100>>,
    /// The encoding of a text file. Without it, UTF-8 if the whole file is, else Windows-1252.
    encoding: Option<TextEncoding>,
    /// What the columns mean. Without it, their names are understood.
    mapping: Option<NewMapping>,
    /// How dates with several readings are read, such as 03/04/2026. Without it, they are invalid.
    date_format: Option<DateFormat>,
    /// How phone numbers of digits alone are read. Without it, those with two readings are invalid.
    plain_phones: Option<PlainPhones>,
    /// Rows in place of an upload, for the format `ndjson`. The guide says what they have.
    rows: Option<Vec<String>>,
    /// What rows have that do not say otherwise.
    defaults: Option<NewDefaults>,
    /// Whether roles are made, closed, whose titles are unknown. The default is true.
    create_roles: bool,
    /// Whether values replace those that a known person has. The default is false: they fill what is missing.
    overwrite: bool,
    /// Whether retention counts from the people's own dates. The default is false: it counts from the import.
    respect_dates: bool,
    /// Whether webhook endpoints get the events. The default is false.
    notify: bool,
}

impl Input for NewImport {
    // As much as a function takes, with a little room.
    const MAX_BODY: usize = 5_700_000;

    fn read(fields: &mut impl Fields) -> Option<Self> {
        let format = fields.required("format");
        let new = Self {
            format: ImportFormat::Ndjson,
            source: fields.optional("source"),
            sheet: fields.optional("sheet"),
            encoding: fields.optional("encoding"),
            mapping: fields.optional_object("mapping"),
            date_format: fields.optional("date_format"),
            plain_phones: fields.optional("plain_phones"),
            rows: fields.unread("rows", model::Import::MAX_SENT_ROWS),
            defaults: fields.optional_object("defaults"),
            create_roles: fields.optional("create_roles").unwrap_or(true),
            overwrite: fields.optional("overwrite").unwrap_or_default(),
            respect_dates: fields.optional("respect_dates").unwrap_or_default(),
            notify: fields.optional("notify").unwrap_or_default(),
        };
        Some(Self { format: format?, ..new })
    }
}

input! {
    /// What the columns of a file mean.
    pub struct NewMapping {
        /// The line or row of the file that has the names of the columns. Without it, it is looked for.
        header_row: optional HeaderRow,
        /// The columns. Those that are not among them are understood by their names.
        columns: objects NewColumn[MAX_COLUMNS],
    }

    /// A column of a file, and what it has.
    pub struct NewColumn {
        /// The name in the header.
        header: optional Text<500>,
        /// What it has; `null` if it is left out.
        field: optional ImportField,
    }

    /// What rows have that do not say otherwise.
    pub struct NewDefaults {
        /// The role of rows without an application.
        role_id: optional Id,
        /// Where the people came from.
        source: optional Source,
        /// Tags that all get.
        tags: list Tag[Tags::MAX],
    }
}

/// The number of a line of a file.
pub struct HeaderRow(u64);

impl model::Value for HeaderRow {
    fn read(scalar: &model::Scalar<'_>) -> Result<Option<Self>, String> {
        if scalar.is_blank() {
            return Ok(None);
        }
        scalar.whole_number_in(1..=1_000_000).map(|row| Some(Self(row)))
    }

    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        model::schema::integer(1).maximum(Some(1_000_000)).into()
    }
}

impl From<NewMapping> for ImportMapping {
    fn from(new: NewMapping) -> Self {
        let column = |NewColumn { header, field }| {
            let header = header.map(|header: Text<500>| header.as_str().to_owned()).unwrap_or_default();
            ImportColumn { header, field }
        };
        let columns = new.columns.into_iter().flatten().map(column).collect();
        Self { header_row: new.header_row.map(|HeaderRow(row)| row), columns }
    }
}

input! {
    /// The verdicts to return.
    pub struct VerdictFilter {
        /// Returns only rows of which this becomes.
        result: optional RowResult,
        /// Returns only rows that are not invalid and have messages.
        warnings: optional bool,
    }
}

/// Lists the imports, newest first.
pub async fn list_imports(request: ApiRequest<Listing<()>>) -> Result<Reply<Collection<Import>>, Error> {
    let ((), page) = request.listing()?;
    let listed = request.context.store().list_imports(request.tenant(), &page).await?;
    request.reply(listed, |import| Import::of(import, None))
}

/// Returns an import.
pub async fn show_import(request: ApiRequest<()>) -> Result<Reply<Import>, Error> {
    let import = find(&request).await?;
    request.input()?;
    let upload = ticket(&request, &import).await?;
    let zip = zip_ticket(&request, &import).await?;
    let identity = Import::of(import.clone(), None);
    Reply::resource_as(&Import::of(import, upload).with_zip_upload(zip), &identity)
}

/// Begins an import. With `rows`, they are checked at once. Otherwise, the answer says how to upload the file, at most 200 MB;
/// it is checked soon after it is here, or when it is said with `complete`. A check writes nothing but a verdict for each row.
/// The import then waits for `run`, for seven days.
///
/// # Errors
///
/// - `invalid_transition`: three imports are not finished.
/// - `upstream_failed`: the bucket did not take the rows.
pub async fn create_import(request: ApiRequest<NewImport>) -> Result<Reply<Created<Import>>, Error> {
    let new = request.input()?;
    let (context, tenant) = (&request.context, request.tenant());
    let (store, now) = (context.store(), context.now());
    let mut messages = Vec::new();
    if new.rows.is_some() && new.format != ImportFormat::Ndjson {
        messages.push("rows can be given only with the format ndjson".to_owned());
    }
    if new.rows.as_ref().is_some_and(Vec::is_empty) {
        messages.push("rows must have at least one item".to_owned());
    }
    let NewDefaults { role_id, source, tags } =
        new.defaults.unwrap_or(NewDefaults { role_id: None, source: None, tags: Change::Keep });
    if let Some(id) = role_id
        && store.find_role(tenant, id).await?.is_none()
    {
        messages.push(format!("defaults.{UNKNOWN_ROLE}"));
    }
    let providers = context.providers().await;
    if providers.resumes().is_none() {
        messages.push("Files cannot be stored by this installation".to_owned());
    }
    let bucket = providers.resumes().filter(|_| messages.is_empty()).ok_or(Error::Validation(messages))?;
    let tags = tags.map(Tags::of).apply(None).unwrap_or_default();
    let id = context.ids().next();
    let import = model::Import {
        id,
        format: new.format,
        settings: ImportSettings {
            source: new.source,
            sheet: new.sheet.map(|sheet| sheet.as_str().to_owned()),
            encoding: new.encoding,
            date_format: new.date_format,
            plain_phones: new.plain_phones,
            defaults: ImportDefaults { role_id, source, tags },
            create_roles: new.create_roles,
            overwrite: new.overwrite,
            respect_dates: new.respect_dates,
            notify: new.notify,
        },
        mapping: new.mapping.map(ImportMapping::from),
        ..model::Import::new(
            id,
            context.random().token(model::Import::SECRET_LENGTH),
            request.author().actor,
            now,
        )
    };
    let used = store.find_import_use(tenant).await?;
    let Some(after) = used.with(id) else {
        let sentence =
            format!("{} imports are not finished. Run or cancel one first", model::Import::MAX_UNFINISHED);
        return Err(Error::InvalidTransition(sentence));
    };
    let import = match &new.rows {
        Some(rows) => {
            let lines = rows.iter().map(|row| one_line(row)).collect::<String>();
            let written = bucket.write(&import.file(tenant), lines.into_bytes(), NDJSON, now).await;
            written.map_err(|error| unavailable(&error))?;
            import.with_file(now)
        }
        None => import,
    };
    let upload = ticket(&request, &import).await?;
    let mut transaction = request.transaction();
    transaction.insert_import(&import)?;
    transaction.replace_import_use(&used, &after)?;
    let address = request.address("imports", id);
    let identity = Import::of(import.clone(), None);
    let reply = Reply::resource_as(&Import::of(import, upload), &identity)?.created(address);
    request.commit(transaction, reply).await
}

/// A row in a line of its own. In JSON, line breaks are only between its parts.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ") + "\n"
}

/// Says that the file is uploaded, so that it is checked at once. After that, it says that the ZIP file is uploaded, so that its
/// files are given to rows and the rows are checked again. If nothing is awaited, the answer is the import.
pub async fn complete_import(request: ApiRequest<()>) -> Result<Reply<Accepted<Import>>, Error> {
    let before = find(&request).await?;
    request.input()?;
    let (tenant, now) = (request.tenant(), request.context.now());
    let is_waiting = before.status == ImportStatus::Waiting;
    let zip = before.awaited_zip().filter(|_| before.is_unfinished()).map(|zip| zip.number);
    if !is_waiting && zip.is_none() {
        return Ok(Reply::ok(&Import::of(before, None))?.accepted());
    }
    let providers = request.context.providers().await;
    let bucket = providers.resumes().ok_or_else(|| unavailable(&"there is no bucket"))?;
    let has = async |key: String| bucket.has(&key, now).await.map_err(|error| unavailable(&error));
    if is_waiting && !has(before.file(tenant)).await? {
        return Err(Error::Validation(vec!["The file has not been uploaded".to_owned()]));
    }
    let has_zip = match zip {
        Some(number) => has(before.zip_file(tenant, number)).await?,
        None => false,
    };
    if !is_waiting && !has_zip {
        return Err(Error::Validation(vec!["The ZIP file has not been uploaded".to_owned()]));
    }
    let after = match (is_waiting, has_zip) {
        (true, true) => before.check_with_zip(now),
        (true, false) => before.check(now),
        (false, _) => before.match_zip(now),
    };
    let mut transaction = request.transaction();
    transaction.replace_import(&before, &after)?;
    request.commit(transaction, Reply::ok(&Import::of(after, None))?.accepted()).await
}

/// Carries out the rows of an import that is checked. Each is judged again, and those that are invalid are skipped.
///
/// # Errors
///
/// - `invalid_transition`: the import is not checked.
/// - `invalid_transition`: its ZIP file is uploaded, and its rows have yet to get the files; or it was replaced since they got them.
/// - `plan_limit`: it has more rows than the plan has room for today.
pub async fn run_import(request: ApiRequest<()>) -> Result<Reply<Accepted<Import>>, Error> {
    let (store, now) = (request.context.store(), request.context.now());
    let (found, used) = tokio::join!(find(&request), store.find_import_use(request.tenant()));
    let (before, used) = (found?, used?);
    request.input()?;
    let Some(after) = before.run(request.author().actor, now) else {
        let sentence =
            format!("Only a checked import can be run, but this one is {}", before.status.as_str());
        return Err(Error::InvalidTransition(sentence));
    };
    if has_new_zip(&request, &before).await? {
        let sentence = "The ZIP file is uploaded, but its files have no rows yet. They get them within a minute, or at once with \
                        complete";
        return Err(Error::InvalidTransition(sentence.to_owned()));
    }
    if has_replaced_zip(&request, &before).await? {
        let sentence = "The ZIP file was replaced after its files were given to rows. Ask for another upload with files, and send \
                        it there";
        return Err(Error::InvalidTransition(sentence.to_owned()));
    }
    let rows = before.counts.create + before.counts.update;
    let plan = request.organization().await.plan;
    let then = used.run(plan, rows, model::Day::of(now)).map_err(|room| {
        Error::PlanLimit(format!(
            "The import has {rows} rows to carry out, and the plan {} has room for {room} more today; it is {} rows a day",
            plan.as_str(),
            plan.imported_rows_per_day()
        ))
    })?;
    let mut transaction = request.transaction();
    transaction.replace_import(&before, &after)?;
    transaction.replace_import_use(&used, &then)?;
    request.commit(transaction, Reply::ok(&Import::of(after, None))?.accepted()).await
}

/// Whether a ZIP is uploaded that the rows have no files of.
async fn has_new_zip<I>(request: &ApiRequest<I>, import: &model::Import) -> Result<bool, Error> {
    let Some(zip) = import.awaited_zip() else { return Ok(false) };
    let Some(bucket) = request.context.providers().await.resumes() else { return Ok(false) };
    let key = import.zip_file(request.tenant(), zip.number);
    bucket.has(&key, request.context.now()).await.map_err(|error| unavailable(&error))
}

/// Whether the ZIP is another one than that whose files the rows have, or is gone.
async fn has_replaced_zip<I>(request: &ApiRequest<I>, import: &model::Import) -> Result<bool, Error> {
    let Some(zip) = import.matched_zip().filter(|zip| zip.with_row() > 0) else { return Ok(false) };
    let Some(bucket) = request.context.providers().await.resumes() else { return Ok(false) };
    let Some(etag) = &zip.etag else { return Ok(false) };
    let found = bucket.find(&import.zip_file(request.tenant(), zip.number), request.context.now()).await;
    let found = found.map_err(|error| unavailable(&error))?;
    Ok(found.is_none_or(|found| found.etag != *etag))
}

/// Cancels an import that is not finished. While it runs, it stops between two rows; those that were carried out stay, and can
/// be undone.
///
/// # Errors
///
/// - `invalid_transition`: the import is finished.
pub async fn cancel_import(request: ApiRequest<()>) -> Result<Reply<Accepted<Import>>, Error> {
    let used = request.context.store().find_import_use(request.tenant());
    let (found, used) = tokio::join!(find(&request), used);
    let (before, used) = (found?, used?);
    request.input()?;
    if before.status == ImportStatus::Cancelled {
        return Ok(Reply::ok(&Import::of(before, None))?.accepted());
    }
    let Some(after) = before.cancel(request.context.now()) else {
        return Err(Error::InvalidTransition(format!("The import is {} already", before.status.as_str())));
    };
    let mut transaction = request.transaction();
    transaction.replace_import(&before, &after)?;
    transaction.replace_import_use(&used, &used.without(before.id))?;
    request.commit(transaction, Reply::ok(&Import::of(after, None))?.accepted()).await
}

/// Undoes an import, within 30 days. It erases the people whom the import made, if nobody has touched them since, and deletes
/// the notes and the applications that it made of others. An application with which anything has happened since, and what was filled
/// or replaced, stay; the verdicts say so.
///
/// # Errors
///
/// - `invalid_transition`: the import was not run, or was undone.
/// - `expired`: it was run more than 30 days ago.
pub async fn undo_import(request: ApiRequest<()>) -> Result<Reply<Accepted<Import>>, Error> {
    let before = find(&request).await?;
    request.input()?;
    let now = request.context.now();
    if matches!(before.status, ImportStatus::Undoing | ImportStatus::Undone) {
        return Ok(Reply::ok(&Import::of(before, None))?.accepted());
    }
    let Some(after) = before.undo(request.author().actor, now) else {
        let sentence =
            format!("Only an import that was run can be undone, but this one is {}", before.status.as_str());
        return Err(Error::InvalidTransition(sentence));
    };
    if now >= before.kept_until() {
        return Err(Error::Expired);
    }
    let mut transaction = request.transaction();
    transaction.replace_import(&before, &after)?;
    request.commit(transaction, Reply::ok(&Import::of(after, None))?.accepted()).await
}

/// Lists the verdicts on the rows, in the order of the file. They have no values of the rows.
///
/// # Errors
///
/// - `expired`: the verdicts were deleted, 30 days after the import ended.
/// - `upstream_failed`: the bucket did not answer.
pub async fn list_verdicts(
    request: ApiRequest<Listing<VerdictFilter>>,
) -> Result<Reply<Collection<ImportVerdict>>, Error> {
    let (filter, page) = match request.listing() {
        Ok(listing) => listing,
        Err(invalid) => return Err(find(&request).await.err().unwrap_or(invalid)),
    };
    let (tenant, now) = (request.tenant(), request.context.now());
    let from = page.before.as_deref().and_then(|place| place.split('#').next()?.parse().ok());
    let parts = request.context.store().list_import_parts(tenant, request.id()?, from.unwrap_or(0));
    let (found, parts) = tokio::join!(find(&request), parts);
    let (import, parts) = (found?, parts?);
    if import.is_cleared || now >= import.kept_until() {
        return Err(Error::Expired);
    }
    let providers = request.context.providers().await;
    let bucket = providers.resumes().ok_or_else(|| unavailable(&"there is no bucket"))?;
    let listed = read_verdicts(bucket, (&import, &parts), &filter, &page, &request).await?;
    request.reply(listed, |verdict| verdict)
}

/// Whether a part has verdicts that the filter asks for.
const fn may_have(part: &ImportPart, filter: &VerdictFilter) -> bool {
    let counts = &part.counts;
    match (filter.result, filter.warnings) {
        (_, Some(true)) if counts.warnings == 0 => false,
        (Some(result), _) => counts.of(result) > 0,
        (None, _) => counts.judged() > 0,
    }
}

/// Reads the files with verdicts until the page is full, or many files are read.
async fn read_verdicts(
    bucket: &Bucket,
    (import, parts): (&model::Import, &[ImportPart]),
    filter: &VerdictFilter,
    page: &Paging,
    request: &ApiRequest<Listing<VerdictFilter>>,
) -> Result<Listed<ImportVerdict>, Error> {
    let (tenant, now) = (request.tenant(), request.context.now());
    let after: u64 =
        page.before.as_deref().and_then(|place| place.split_once('#')?.1.parse().ok()).unwrap_or(0);
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let is_wanted = |verdict: &ImportVerdict| {
        let is_warned = verdict.result != RowResult::Invalid && !verdict.messages.is_empty();
        verdict.row > after
            && filter.result.is_none_or(|result| verdict.result == result)
            && filter.warnings.is_none_or(|warned| warned == is_warned)
    };
    let (mut items, mut files): (Vec<ImportVerdict>, usize) = (Vec::new(), 0);
    for part in parts.iter().filter(|part| may_have(part, filter)) {
        if files == MAX_FILES {
            return Ok(Listed { items, next: Some(format!("{}#{}", part.number, part.first - 1)) });
        }
        files += 1;
        let read = verdicts(bucket, import, tenant, part.number, now).await.map_err(|error| match error {
            VerdictError::Gone => Error::Expired,
            VerdictError::Bucket(error) => unavailable(&error),
        })?;
        let read = read.into_iter().map(|verdict| verdict.with_assigned(import));
        for verdict in read.filter(is_wanted) {
            if items.len() == limit {
                let last = items.last().map_or(after, |last| last.row);
                return Ok(Listed { items, next: Some(format!("{}#{last}", part.number)) });
            }
            items.push(verdict);
        }
    }
    // One query lists only so many parts.
    let next = parts.last().filter(|last| last.number + 1 < import.parts);
    let next = next.map(|last| format!("{}#{}", last.number + 1, last.first + last.rows - 1));
    Ok(Listed { items, next })
}

/// The form for the upload of an import that waits for it.
async fn ticket<I>(request: &ApiRequest<I>, import: &model::Import) -> Result<Option<UploadForm>, Error> {
    let now = request.context.now();
    if import.status != ImportStatus::Waiting || now >= import.upload_until() {
        return Ok(None);
    }
    let Some(bucket) = request.context.providers().await.resumes() else { return Ok(None) };
    let key = import.file(request.tenant());
    let form = bucket.upload_ticket(&key, [1, model::Import::MAX_UPLOAD], import.upload_until(), now).await;
    form.map(Some).map_err(|error| unavailable(&error))
}

/// The form for the upload of the ZIP of an import, if it is awaited.
pub(super) async fn zip_ticket<I>(
    request: &ApiRequest<I>,
    import: &model::Import,
) -> Result<Option<UploadForm>, Error> {
    let now = request.context.now();
    let Some(zip) = import.awaited_zip().filter(|zip| import.is_unfinished() && now < zip.until) else {
        return Ok(None);
    };
    let Some(bucket) = request.context.providers().await.resumes() else { return Ok(None) };
    let key = import.zip_file(request.tenant(), zip.number);
    let form = bucket.upload_ticket(&key, [1, ImportZip::MAX_SIZE], zip.until, now).await;
    form.map(Some).map_err(|error| unavailable(&error))
}

pub(super) async fn find<I>(request: &ApiRequest<I>) -> Result<model::Import, Error> {
    let found = request.context.store().find_import(request.tenant(), request.id()?).await?;
    found.ok_or(Error::NotFound)
}

pub(super) fn unavailable(error: &dyn std::fmt::Display) -> Error {
    tracing::error!(trouble = %error, "the bucket failed in an import");
    Error::Upstream { sentence: "The file could not be stored or read".to_owned(), retry_after: None }
}
