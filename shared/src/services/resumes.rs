//! Resume files that arrive in a form: the check of their content, the bucket, and the candidate's record.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::documents::{FileKind, Refusal};
use crate::model::{CandidateRecord, Resume, ResumeFile, Tenant, TouchpointKind};
use crate::providers::resumes::{Bucket, BucketError};

/// The maximum size of a file in a form, in bytes. The whole form must fit into one request to a function.
pub const MAX_FILE: usize = 4 * 1024 * 1024;

/// A resume file whose content was checked.
#[derive(Clone, Debug)]
pub struct CheckedFile {
    content: Bytes,
    kind: FileKind,
}

/// Why a file is not accepted as a resume, as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file is larger than [`MAX_FILE`].
    #[error("This file is larger than 4 MB. Choose a smaller one.")]
    TooLarge,
    /// The content was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl CheckedFile {
    /// Checks a file from a form. Its name and its declared type come from the sender and are not trusted.
    pub fn check(content: Bytes) -> Result<Self, FileError> {
        if content.len() > MAX_FILE {
            return Err(FileError::TooLarge);
        }
        let kind = FileKind::of(&content)?;
        Ok(Self { content, kind })
    }

    /// What distinguishes the file from others: the hash of its content.
    pub fn digest(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.content))
    }

    /// The size in bytes.
    pub fn size(&self) -> usize {
        self.content.len()
    }

    /// Where the file is kept. `name` must be unguessable.
    pub fn place(&self, tenant: Tenant, name: &str) -> ResumeFile {
        ResumeFile::new(tenant, name, self.kind.extension())
    }

    /// Stores the file in the bucket, under this key.
    pub async fn write(&self, bucket: &Bucket, key: &str, now: Timestamp) -> Result<(), BucketError> {
        bucket.write_attachment(key, self.content.clone(), self.kind.media_type(), now).await
    }
}

/// Adds a file in the bucket to a candidate: to the history, and as the current resume unless it is `only_in_history`.
/// Returns the changed record and the entry of the history.
pub fn attach(
    before: &CandidateRecord,
    file: ResumeFile,
    only_in_history: bool,
    now: Timestamp,
) -> (CandidateRecord, TouchpointKind) {
    let resume = Resume::File(file);
    let mut profile = before.candidate.profile.clone();
    let mut fields = Vec::new();
    if !only_in_history {
        profile.resume = Some(resume.clone());
        fields.push("resume_url".to_owned());
    }
    (before.clone().edit(profile, now), TouchpointKind::Updated { fields, resume: Some(resume) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_checked_by_its_size_and_its_content() {
        let of_size = |size: usize| {
            let mut content = b"%PDF-1.7\n".to_vec();
            content.resize(size - 6, b' ');
            content.extend_from_slice(b"\n%%EOF");
            CheckedFile::check(content.into()).map(|file| file.kind)
        };
        assert_eq!(of_size(MAX_FILE), Ok(FileKind::Pdf));
        assert_eq!(of_size(MAX_FILE + 1), Err(FileError::TooLarge));
        for (content, refusal) in [(&b""[..], Refusal::Empty), (b"\x89PNG\r\n\x1a\n", Refusal::Picture)] {
            let checked = CheckedFile::check(Bytes::copy_from_slice(content));
            assert_eq!(checked.map(|file| file.kind), Err(FileError::Refused(refusal)));
        }
    }
}
