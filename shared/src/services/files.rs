//! Files of candidates: the check of their content, the bucket, and the candidate's record.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::Author;
use crate::clock::Timestamp;
use crate::documents::{FileKind, Refusal};
use crate::model::{
    Answer, AnswerValue, CandidateFile, CandidateFileKind, CandidateRecord, FileContent, FileName,
    FileOrigin, Question, Resume, ResumeFile, Tenant, TouchpointKind, giving_way_to_form,
};
use crate::providers::bucket::{Bucket, BucketError, MAX_UPLOAD, Scan};
use crate::store::{StoreError, SubmittedWith, Transaction, Upload, UploadTrace};

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
        Ok(Self::check_content(within_limit(content)?)?)
    }

    /// Checks a file that is known to be no larger than a candidate's files are.
    pub fn check_content(content: Bytes) -> Result<Self, Refusal> {
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

/// A file in the bucket that came with a form of the career page.
#[derive(Clone, Debug)]
pub struct FormFile {
    /// Where it is.
    pub stored: ResumeFile,
    /// The name that its sender gave it.
    pub name: Option<FileName>,
    /// The size in bytes.
    pub size: usize,
    /// The question that it answers; `None` for a resume.
    pub question: Option<Question>,
}

/// Adds a file to the transaction that came with a form of the career page. A resume becomes that of a new candidate. To a
/// known one it is only offered, because anyone can submit a form with another person's e-mail address. A file that answers a
/// question never becomes a resume: it is an answer in the submission, and in the application that the form created. `files`
/// are all that the candidate has; the oldest one of the application's forms gives way if there are too many.
pub fn attach_to_form(
    transaction: &mut Transaction,
    before: &CandidateRecord,
    files: &[CandidateFile],
    upload: Upload,
    form_file: FormFile,
    bucket: &Bucket,
    author: &Author<'_>,
) -> Result<(), StoreError> {
    let Upload { candidate_id, is_new, submitted } = upload;
    let FormFile { stored, name, size, question } = form_file;
    let now = author.at;
    let resume = Resume::File(stored.clone());
    let application_id = submitted.map(|with| with.application_id);
    let question_id = question.as_ref().map(|question| question.id);
    let file = CandidateFile {
        id: author.ids.next(),
        application_id,
        kind: if question.is_some() { CandidateFileKind::Other } else { CandidateFileKind::Resume },
        question_id,
        name,
        content: kept(bucket, stored),
        size: size as u64,
        origin: if is_new { FileOrigin::OwnForm } else { FileOrigin::LaterForm },
        created_at: now,
        created_by: author.actor.clone(),
        opened_at: None,
        digest: None,
    };
    let mut after = before.clone();
    let mut history = Vec::new();
    // During a legal hold, nothing about the candidate is deleted.
    let giving_way =
        giving_way_to_form(files, application_id, question_id).filter(|_| before.legal_hold.is_none());
    if let Some(old) = giving_way {
        transaction.delete_file(candidate_id, old, now)?;
        after = after.without_file(old, files);
        history.push(TouchpointKind::of_deleted_file(old, before));
    }
    transaction.insert_file(candidate_id, &file)?;
    after = after.add_file(&file, now);
    history.push(TouchpointKind::of_new_file(&file, before));
    let form = submitted.and_then(|with| {
        let application = before.applications.iter().find(|one| one.id == with.application_id)?;
        Some((application, with))
    });
    let is_kept =
        form.is_some_and(|(application, with)| application.submissions.contains(&with.submission_id));
    match (question, form) {
        (Some(question), Some((application, SubmittedWith { submission_id, is_first, .. }))) => {
            let answer = Answer::to(&question, AnswerValue::File(file.id));
            if is_kept {
                transaction.add_answer_to_submission(candidate_id, submission_id, &answer)?;
            }
            if is_first {
                transaction.add_answer(candidate_id, application, answer)?;
                after = after.with_answers(application.id);
            }
        }
        (Some(_), None) => {}
        (None, form) => {
            if let Some((_, with)) = form.filter(|_| is_kept) {
                transaction.add_to_submission(candidate_id, with.submission_id, file.id);
            }
            history.push(updated(is_new, resume));
        }
    }
    transaction.replace_candidate(before, &after, &author.touchpoints(history))
}

/// Adds a file of the team to the transaction: its item and its entries in the history, and as the current resume, if it is
/// one. Returns the changed record.
pub fn add(
    transaction: &mut Transaction,
    before: &CandidateRecord,
    file: &CandidateFile,
    author: &Author<'_>,
) -> Result<CandidateRecord, StoreError> {
    transaction.insert_file(before.candidate.id, file)?;
    if file.stored().is_some() {
        return arrive(transaction, before, file, author);
    }
    let after = before.clone().advance_version();
    transaction.replace_candidate(before, &after, &[])?;
    Ok(after)
}

/// Adds to the transaction that a file of the team is here. Returns the changed record.
fn arrive(
    transaction: &mut Transaction,
    before: &CandidateRecord,
    file: &CandidateFile,
    author: &Author<'_>,
) -> Result<CandidateRecord, StoreError> {
    let after = before.clone().add_file(file, author.at);
    transaction.replace_candidate(before, &after, &author.touchpoints(history_of(file, before)))?;
    Ok(after)
}

/// The entries in the history for a file of the team that is here.
pub fn history_of(file: &CandidateFile, before: &CandidateRecord) -> Vec<TouchpointKind> {
    let mut history = vec![TouchpointKind::of_new_file(file, before)];
    if let Some(stored) = file.stored().filter(|_| file.is_own_resume()) {
        history.push(updated(true, Resume::File(stored.clone())));
    }
    history
}

/// Removes a file in the transaction. `files` are all that the candidate has. Returns the changed record.
pub fn remove(
    transaction: &mut Transaction,
    before: &CandidateRecord,
    files: &[CandidateFile],
    file: &CandidateFile,
    author: &Author<'_>,
) -> Result<CandidateRecord, StoreError> {
    transaction.delete_file(before.candidate.id, file, author.at)?;
    let after = before.clone().remove_file(file, files, author.at);
    let deleted = file.stored().map(|_| TouchpointKind::of_deleted_file(file, before));
    transaction.replace_candidate(before, &after, &author.touchpoints(deleted))?;
    Ok(after)
}

/// Looks at a file that is awaited. If it was uploaded, or if its ticket has ended, the transaction writes what became of it.
/// Returns the file as it is then; `None` if it is not here yet.
pub async fn settle(
    transaction: &mut Transaction,
    bucket: &Bucket,
    before: &CandidateRecord,
    file: &CandidateFile,
    author: &Author<'_>,
) -> Result<Option<CandidateFile>, SettleError> {
    let (Some(upload), now) = (file.awaited(), author.at) else { return Ok(None) };
    let refused =
        |sentence: String| CandidateFile { content: FileContent::Refused(sentence), ..file.clone() };
    let settled = match bucket.read(&upload.key, MAX_UPLOAD, now).await {
        Ok(None) if now >= upload.until => refused("Nothing was uploaded in time.".to_owned()),
        Ok(None) => return Ok(None),
        Err(BucketError::TooLarge) => refused("This file is larger than 10 MB.".to_owned()),
        Err(error) => return Err(error.into()),
        Ok(Some(object)) => match FileKind::of(&object.bytes) {
            Err(refusal) => refused(refusal.to_string()),
            Ok(kind) => {
                let stored = ResumeFile::new(transaction.tenant(), &upload.name, kind.extension());
                let to = stored.key();
                match bucket.keep(&upload.key, to, &object.etag, kind.media_type(), now).await {
                    // It was uploaded once more meanwhile.
                    Err(BucketError::Changed) => return Ok(None),
                    kept => kept?,
                }
                let size = object.bytes.len() as u64;
                CandidateFile { content: kept(bucket, stored), size, ..file.clone() }
            }
        },
    };
    transaction.settle_file(before.candidate.id, file, &settled)?;
    if settled.stored().is_some() {
        arrive(transaction, before, &settled, author)?;
    } else {
        transaction.replace_candidate(before, &before.clone().advance_version(), &[])?;
    }
    Ok(Some(settled))
}

/// Asks the bucket what a virus scanner has found in a file that waits for it. If the scanner has looked at it, the transaction
/// writes that, and the file is returned as it is then. A file with a threat is deleted.
pub async fn read_scan(
    transaction: &mut Transaction,
    bucket: &Bucket,
    before: &CandidateRecord,
    files: &[CandidateFile],
    file: &CandidateFile,
    author: &Author<'_>,
) -> Result<Option<CandidateFile>, SettleError> {
    let FileContent::Unscanned(stored) = &file.content else { return Ok(None) };
    let id = before.candidate.id;
    let content = match bucket.scan(stored.key(), author.at).await? {
        Scan::Pending => return Ok(None),
        Scan::Clean => FileContent::Kept(stored.clone()),
        Scan::Threat => FileContent::Refused("A virus scanner has found a threat in this file.".to_owned()),
    };
    let settled = CandidateFile { content, ..file.clone() };
    transaction.change_file(id, file, &settled)?;
    if settled.stored().is_none() {
        let (hash, key) = (stored.name().to_owned(), stored.key().to_owned());
        transaction.expect_file(id, UploadTrace { hash, key, until: author.at })?;
        let after = before.clone().remove_file(file, files, author.at);
        transaction.replace_candidate(before, &after, &[])?;
    }
    Ok(Some(settled))
}

/// Why a file could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// The bucket failed.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The write could not be prepared.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The content of a file that was accepted.
pub fn kept(bucket: &Bucket, stored: ResumeFile) -> FileContent {
    if bucket.waits_for_scans() { FileContent::Unscanned(stored) } else { FileContent::Kept(stored) }
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
