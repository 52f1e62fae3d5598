//! The files of an import: the ZIP that has them, whose they are, and assigning those that are nobody's.

use std::collections::BTreeMap;

use super::imports::{find, unavailable, zip_ticket};
use super::responses::import::{self as responses, ImportFile, ImportFiles};
use crate::http::{Added, ApiRequest, Collection, Error, Listing, Reply, Unversioned, input};
use crate::model::{
    self, AssignedFile, CandidateFile, CandidateFileKind, Import, ImportPart, ImportStatus, ImportZip,
    RowResult, ZippedFile,
};
use crate::providers::bucket::Bucket;
use crate::services::imports::{VerdictError, verdicts, zipped_files};
use crate::store::Listed;

input! {
    /// The files to return.
    pub struct FileFilter {
        /// Returns only files that belong to a row, or only those that do not.
        matched: optional bool,
    }

    /// The row that gets a file.
    pub struct NewAssignment {
        /// The number of the row, from 1 on after the header.
        row: required RowNumber,
        /// What the file is.
        kind: optional CandidateFileKind = CandidateFileKind::default(),
    }
}

/// The number of a row.
pub struct RowNumber(u64);

impl model::Value for RowNumber {
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

/// Awaits a ZIP file with the files of the people. The answer says how to upload it, at most 1 GB, within an hour. Afterwards,
/// `complete` gives its files to rows, and the rows are checked again; without that, this happens within a minute. Another request
/// takes the place of a ZIP file that the import has already.
///
/// # Errors
///
/// - `invalid_transition`: the import was run, or has ended.
pub async fn create_import_files(request: ApiRequest<()>) -> Result<Reply<Added<ImportFiles>>, Error> {
    let before = find(&request).await?;
    request.input()?;
    let Some(after) = before.await_zip(request.context.now()) else {
        let status = before.status.as_str();
        let sentence = format!("Files can be sent until an import is run, but this one is {status}");
        return Err(Error::InvalidTransition(sentence));
    };
    let upload = zip_ticket(&request, &after).await?;
    let mut transaction = request.transaction();
    transaction.replace_import(&before, &after)?;
    let files = after.zip.map(|zip| ImportFiles::of(zip, upload)).ok_or(Error::NotFound)?;
    request.commit(transaction, Reply::ok(&files)?.created_without_address()).await
}

/// Lists the files in the ZIP file of an import in their order, with the rows that they belong to. There are none before they
/// have rows.
///
/// # Errors
///
/// - `expired`: the import has ended, so its files were deleted.
/// - `upstream_failed`: the bucket did not answer.
pub async fn list_import_files(
    request: ApiRequest<Listing<FileFilter>>,
) -> Result<Reply<Collection<ImportFile>>, Error> {
    let (filter, page) = match request.listing() {
        Ok(listing) => listing,
        Err(invalid) => return Err(find(&request).await.err().unwrap_or(invalid)),
    };
    let import = find(&request).await?;
    let after: u64 = page.before.as_deref().and_then(|place| place.parse().ok()).unwrap_or(0);
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let files = read_files(&request, &import).await?;
    let is_wanted = |file: &ZippedFile| {
        file.number > after && filter.matched.is_none_or(|matched| matched == file.row.is_some())
    };
    let mut items: Vec<_> = files.into_iter().filter(is_wanted).take(limit + 1).collect();
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| has_more).map(|file| file.number.to_string());
    let assigned = import.zip.map(|zip| zip.assigned).unwrap_or_default();
    request.reply(Listed { items, next }, |file| ImportFile::of(file, &assigned))
}

/// Gives a file that no row has to a row of a checked import. A file that was given to a row in this way can be given to another.
///
/// # Errors
///
/// - `invalid_transition`: the import is not checked, or its files have no rows yet.
/// - `upstream_failed`: the bucket did not answer.
pub async fn assign_import_file(
    request: ApiRequest<NewAssignment>,
) -> Result<Reply<Unversioned<responses::Import>>, Error> {
    let before = find(&request).await?;
    let number = request.context.path_parameter("number").parse::<u64>().map_err(|_| Error::NotFound)?;
    let NewAssignment { row: RowNumber(row), kind } = request.input()?;
    let zip = before.matched_zip().filter(|_| before.status == ImportStatus::Checked);
    let Some(zip) = zip else {
        let status = before.status.as_str();
        let sentence =
            format!("Files can be assigned while a checked import has them, but this one is {status}");
        return Err(Error::InvalidTransition(sentence));
    };
    let assigned = AssignedFile { number, row, kind };
    if zip.assigned.contains(&assigned) {
        return Ok(Reply::ok(&responses::Import::of(before, None))?.unversioned());
    }
    let files = read_files(&request, &before).await?;
    let file = files.into_iter().find(|file| file.number == number).ok_or(Error::NotFound)?;
    let former = zip.assigned.iter().find(|assigned| assigned.number == number).map(|one| one.row);
    let refused = |message: String| Error::Validation(vec![message]);
    if let Some(problem) = &file.problem {
        return Err(refused(format!("row can't get the file, because it {problem}")));
    }
    if let Some(owner) = file.row.filter(|_| former.is_none()) {
        return Err(refused(format!("row can't be another one, because the file belongs to row {owner}")));
    }
    if former != Some(row) && zip.assigned_to(row) >= CandidateFile::MAX_OF_TEAM {
        return Err(refused(format!("row can get at most {} files", CandidateFile::MAX_OF_TEAM)));
    }
    let Some(after) = before.assign(assigned) else {
        let most = ImportZip::MAX_ASSIGNED;
        let sentence =
            format!("row can't get the file, because {most} files are assigned. Name them in the sheet");
        return Err(refused(sentence));
    };
    let mut changes = Changes { request: &request, before: &before, after, parts: BTreeMap::new() };
    if !changes.apply(row).await? {
        return Err(refused(format!("row must be that of a valid row: the import has {} rows", before.rows)));
    }
    if let Some(former) = former.filter(|former| *former != row) {
        changes.apply(former).await?;
    }
    let Changes { after, parts, .. } = changes;
    let mut transaction = request.transaction();
    transaction.replace_import(&before, &after)?;
    for part in parts.values() {
        transaction.put_import_part(before.id, part)?;
    }
    request.commit(transaction, Reply::ok(&responses::Import::of(after, None))?.unversioned()).await
}

/// What an assignment changes in the numbers of rows.
struct Changes<'r> {
    request: &'r ApiRequest<NewAssignment>,
    before: &'r Import,
    after: Import,
    parts: BTreeMap<u32, ImportPart>,
}

impl Changes<'_> {
    /// Counts what a row becomes with its files. Returns whether there is such a row and it is valid.
    async fn apply(&mut self, row: u64) -> Result<bool, Error> {
        let (request, tenant) = (self.request, self.request.tenant());
        let Some(part) = part_with(request, self.before, row).await? else { return Ok(false) };
        let bucket = bucket(request).await?;
        let read = verdicts(bucket, self.before, tenant, part.number, request.context.now()).await;
        let verdict = read.map_err(failure)?.into_iter().find(|verdict| verdict.row == row);
        let Some(verdict) = verdict.filter(|verdict| verdict.result != RowResult::Invalid) else {
            return Ok(false);
        };
        let of = |import: &Import| verdict.clone().with_assigned(import).result;
        let (before, after) = (of(self.before), of(&self.after));
        if before != after {
            let part = self.parts.entry(part.number).or_insert(part);
            part.counts = part.counts.changed(before, after);
            self.after.counts = self.after.counts.changed(before, after);
        }
        Ok(true)
    }
}

/// The part of the import that has a row.
async fn part_with(
    request: &ApiRequest<NewAssignment>,
    import: &Import,
    row: u64,
) -> Result<Option<ImportPart>, Error> {
    let store = request.context.store();
    let mut from = 0;
    while from < import.parts {
        let parts = store.list_import_parts(request.tenant(), import.id, from).await?;
        let Some(last) = parts.last() else { return Ok(None) };
        from = last.number + 1;
        if row < last.first + last.rows {
            return Ok(parts.into_iter().find(|part| (part.first..part.first + part.rows).contains(&row)));
        }
    }
    Ok(None)
}

async fn bucket<I>(request: &ApiRequest<I>) -> Result<&Bucket, Error> {
    request.context.providers().await.resumes().ok_or_else(|| unavailable(&"there is no bucket"))
}

/// The files in the ZIP of an import that has not ended.
async fn read_files<I>(request: &ApiRequest<I>, import: &Import) -> Result<Vec<ZippedFile>, Error> {
    if import.matched_zip().is_none() {
        return Ok(Vec::new());
    }
    if !import.is_unfinished() {
        return Err(Error::Expired);
    }
    let read = zipped_files(bucket(request).await?, import, request.tenant(), request.context.now()).await;
    read.map_err(failure)
}

fn failure(error: VerdictError) -> Error {
    match error {
        VerdictError::Gone => Error::Expired,
        VerdictError::Bucket(error) => unavailable(&error),
    }
}
