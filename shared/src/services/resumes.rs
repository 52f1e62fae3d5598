//! Resume files that arrive in a form: the check of their content, the bucket, and the candidate's record.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::Author;
use crate::clock::Timestamp;
use crate::documents::{FileKind, Refusal};
use crate::model::{CandidateRecord, Resume, ResumeFile, SubmittedFile, Tenant, TouchpointKind};
use crate::providers::bucket::{Bucket, BucketError};
use crate::store::{StoreError, SubmittedWith, Transaction, Upload};

/// The endings of the names of files that are accepted, for the fields of forms.
pub const ENDINGS: &str = ".pdf,.doc,.docx,.docm,.odt,.rtf,.txt";
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
        let content = within_limit(content)?;
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

/// Checks only the size of a file from a form.
pub fn within_limit(content: Bytes) -> Result<Bytes, FileError> {
    if content.len() > MAX_FILE { Err(FileError::TooLarge) } else { Ok(content) }
}

/// Adds a file in the bucket to a candidate: to the history, and as the current resume. Returns the changed record and the
/// entry of the history.
pub fn attach(
    before: &CandidateRecord,
    file: ResumeFile,
    now: Timestamp,
) -> (CandidateRecord, TouchpointKind) {
    let resume = Resume::File(file);
    let mut profile = before.candidate.profile.clone();
    profile.resume = Some(resume.clone());
    (before.clone().edit(profile, now), updated(true, resume))
}

/// Adds a file in the bucket that came with a form of the career page to the transaction. It becomes the resume of a new
/// candidate. To a known one it is only offered, because anyone can submit a form with another person's e-mail address.
pub fn attach_to_form(
    transaction: &mut Transaction,
    before: &CandidateRecord,
    upload: Upload,
    file: ResumeFile,
    size: usize,
    author: &Author<'_>,
) -> Result<(), StoreError> {
    let Upload { candidate_id, is_new, submitted } = upload;
    let (resume, created_at) = (Resume::File(file.clone()), author.at);
    let after = match submitted {
        // Without an application, only the history has the file.
        None => before.clone().edit(before.candidate.profile.clone(), created_at),
        Some(SubmittedWith { application_id, submission_id }) => {
            let (id, size) = (author.ids.next(), size as u64);
            let file = SubmittedFile { id, application_id, resume: file, size, created_at };
            let is_kept = before.applications.iter().any(|one| one.submissions.contains(&submission_id));
            transaction.insert_submitted_file(candidate_id, is_kept.then_some(submission_id), &file)?;
            before.clone().add_submitted_file(&file, !is_new)
        }
    };
    transaction.replace_candidate(before, &after, &author.touchpoints([updated(is_new, resume)]))
}

/// The entry of the history for a file.
fn updated(is_current: bool, resume: Resume) -> TouchpointKind {
    let fields = if is_current { vec!["resume_url".to_owned()] } else { Vec::new() };
    TouchpointKind::Updated { fields, resume: Some(resume) }
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
