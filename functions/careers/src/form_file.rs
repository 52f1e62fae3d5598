//! Resume files in forms. The content of a suspect form's file is not looked at.

use bytes::Bytes;
use shared::clock::Timestamp;
use shared::providers::bucket::{Bucket, BucketError};
use shared::services::files::{CheckedFile, FileError, within_limit};

/// The media type of files that nobody has looked at.
pub(crate) const UNCHECKED: &str = "application/octet-stream";

/// A file in a form.
pub(crate) enum FormFile {
    /// The content was checked.
    Checked(CheckedFile),
    /// Only the size was checked, because the form is suspect.
    Unchecked(Bytes),
    /// It came with an earlier form, and the bucket that keeps it does not answer.
    Unread,
}

impl FormFile {
    /// Checks the file of a form.
    pub(crate) fn read(content: Bytes, is_suspect: bool) -> Result<Self, FileError> {
        if is_suspect {
            within_limit(content).map(Self::Unchecked)
        } else {
            CheckedFile::check(content).map(Self::Checked)
        }
    }

    /// Stores the file in the bucket, under this key. Returns whether the bucket has it.
    pub(crate) async fn write(&self, bucket: &Bucket, key: &str, now: Timestamp) -> bool {
        let written: Result<(), BucketError> = match self {
            Self::Checked(file) => file.write(bucket, key, now).await,
            Self::Unchecked(content) => bucket.write_attachment(key, content.clone(), UNCHECKED, now).await,
            Self::Unread => return false,
        };
        written.inspect_err(|error| tracing::error!(trouble = %error, "cannot store a resume")).is_ok()
    }
}
