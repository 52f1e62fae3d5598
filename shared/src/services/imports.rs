//! The files of imports in the bucket: rows and verdicts, a part in each.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::model::{Import, ImportPart, ImportVerdict, Tenant, ZippedFile};
use crate::providers::bucket::{Bucket, BucketError};

/// The maximum size of a part, one row more than a part has room for, and of a list of 5,000 files.
const MAX_PART: usize = ImportPart::BYTES + 48 * 1024 * 1024;
const NDJSON: &str = "application/x-ndjson";

/// Why verdicts or rows could not be read.
#[derive(Debug, thiserror::Error)]
pub enum VerdictError {
    /// They were deleted.
    #[error("the file was deleted")]
    Gone,
    /// The bucket failed.
    #[error(transparent)]
    Bucket(#[from] BucketError),
}

/// A row that was read from the file of an import.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRow {
    /// The number of the row, from 1 on after the header.
    pub row: u64,
    /// The line of the file, or the row of the sheet.
    pub line: u64,
    /// The JSON of the row; `None` if it is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// What is wrong with it, or what a program may have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The first row of the file that is about the same person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<u64>,
    /// Whether an earlier row has the same content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_repeated: bool,
}

/// Writes a file with a line for each of these values.
pub async fn write_lines<T: Serialize>(
    bucket: &Bucket,
    key: &str,
    lines: &[T],
    now: Timestamp,
) -> Result<(), BucketError> {
    let mut content = Vec::new();
    for line in lines {
        // These values have no maps with other keys than strings, so they can always be written.
        let written = serde_json::to_writer(&mut content, line);
        written.map_err(|_| BucketError::Unsigned("the lines can't be written"))?;
        content.push(b'\n');
    }
    bucket.write(key, content, NDJSON, now).await
}

/// Reads the verdicts of a part.
pub async fn verdicts(
    bucket: &Bucket,
    import: &Import,
    tenant: Tenant,
    part: u32,
    now: Timestamp,
) -> Result<Vec<ImportVerdict>, VerdictError> {
    read_lines(bucket, &import.verdict_file(tenant, part), now).await
}

/// Reads the list of the files in the ZIP whose files the rows have, with those that members assigned; nothing if there is none.
pub async fn zipped_files(
    bucket: &Bucket,
    import: &Import,
    tenant: Tenant,
    now: Timestamp,
) -> Result<Vec<ZippedFile>, VerdictError> {
    let Some(zip) = import.matched_zip().filter(|zip| zip.count > 0) else { return Ok(Vec::new()) };
    let mut files: Vec<ZippedFile> = read_lines(bucket, &import.zip_list(tenant, zip.number), now).await?;
    for assigned in &zip.assigned {
        if let Some(file) = files.iter_mut().find(|file| file.number == assigned.number) {
            (file.row, file.kind) = (Some(assigned.row), assigned.kind);
        }
    }
    Ok(files)
}

/// Reads the rows of a part.
pub async fn rows(
    bucket: &Bucket,
    import: &Import,
    tenant: Tenant,
    part: u32,
    now: Timestamp,
) -> Result<Vec<StoredRow>, VerdictError> {
    read_lines(bucket, &import.part_file(tenant, part), now).await
}

async fn read_lines<T: for<'de> Deserialize<'de>>(
    bucket: &Bucket,
    key: &str,
    now: Timestamp,
) -> Result<Vec<T>, VerdictError> {
    let object = bucket.read(key, MAX_PART, now).await?.ok_or(VerdictError::Gone)?;
    let lines = object.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let read: Result<Vec<T>, _> = lines.map(serde_json::from_slice).collect();
    read.map_err(|_| BucketError::Unavailable("a line can't be read").into())
}
