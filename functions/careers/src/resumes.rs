//! Resume files: checks an uploaded file and attaches it to the candidate.

use shared::documents::FileKind;
use shared::http::{Error, RequestContext};
use shared::model::{CandidateRecord, Resume, ResumeFile, SubmittedFile, Tenant, TouchpointKind};
use shared::providers::resumes::{Bucket, BucketError, MAX_UPLOAD};
use shared::services::resumes::{self, CheckedFile};
use shared::store::{
    CommitError, MaybeErased, StoreError, SubmittedWith, Transaction, Upload, UploadAttempt,
};

use crate::author::author;
use crate::job_page::PostedJob;
use crate::upload_ticket::UploadTicket;

/// The sentence for a file that the bucket did not take.
pub(crate) const UNSAVED: &str = "We could not save the file. Your application has been received; please upload the file again in a minute.";
/// The maximum number of attempts to add a file to a candidate whose record changes.
const ATTEMPTS: u32 = 5;

/// Why a file was not attached.
pub(crate) enum ResumeError {
    /// The file was rejected. The reason is a sentence for the candidate.
    Rejected(String),
    /// The request failed.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for ResumeError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Attaches the file that was uploaded with this ticket, if its format is accepted. If the application created the
/// candidate, the file becomes the candidate's resume. To an existing candidate it is only offered.
pub(crate) async fn attach(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    bucket: &Bucket,
) -> Result<(), ResumeError> {
    let (tenant, now) = (job.site.career.tenant(), context.now());
    // The ticket of a robot, or of a file that was attached already, reads nothing from the bucket.
    let upload = match context.store().count_upload(tenant, &ticket.hash()).await? {
        UploadAttempt::Allowed(upload) => upload,
        UploadAttempt::Exhausted => {
            let sentence = "You have uploaded too many files for this application. Your application has been \
                            received without a file.";
            return Err(ResumeError::Rejected(sentence.to_owned()));
        }
        UploadAttempt::Unexpected => return Ok(()),
    };
    let key = ticket.upload_key(job);
    let object = match bucket.read(&key, MAX_UPLOAD, now).await {
        Ok(Some(object)) => object,
        Ok(None) => {
            let sentence = "We did not receive the file. Please upload it again.";
            return Err(ResumeError::Rejected(sentence.to_owned()));
        }
        Err(error) => return Err(unavailable(&error)),
    };
    let kind = FileKind::of(&object.bytes).map_err(|refusal| ResumeError::Rejected(refusal.to_string()))?;
    // A file that is kept while the candidate is being erased is deleted by the task of the erasure.
    let found = context.store().find_candidate(tenant, upload.candidate_id).await?;
    let Some(before) = found.and_then(MaybeErased::present) else { return Ok(()) };
    let file = ResumeFile::new(tenant, &ticket.hash(), kind.extension());
    match bucket.keep(&key, file.key(), &object.etag, kind.media_type(), now).await {
        Ok(()) => {}
        Err(BucketError::Changed) => {
            let sentence = "The file changed while we were checking it. Please upload it again.";
            return Err(ResumeError::Rejected(sentence.to_owned()));
        }
        Err(error) => return Err(unavailable(&error)),
    }
    Ok(add(context, tenant, ticket, upload, &before, file, object.bytes.len()).await?)
}

/// Attaches the file that was sent with an application, after the application was stored.
pub(crate) async fn attach_sent(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    bucket: &Bucket,
    upload: Upload,
    file: &CheckedFile,
) -> Result<(), ResumeError> {
    let (tenant, now) = (job.site.career.tenant(), context.now());
    let place = file.place(tenant, &ticket.hash());
    file.write(bucket, place.key(), now).await.map_err(|error| unavailable(&error))?;
    // The request must not run again, because the application is stored, so conflicts are retried here.
    for _ in 0..ATTEMPTS {
        let found = context.store().find_candidate(tenant, upload.candidate_id).await?;
        // The task of the erasure deletes the file.
        let Some(before) = found.and_then(MaybeErased::present) else { return Ok(()) };
        match add(context, tenant, ticket, upload, &before, place.clone(), file.size()).await {
            Err(CommitError::Stale) => {}
            result => return Ok(result?),
        }
    }
    Err(StoreError::Unavailable("write conflicts persisted".to_owned()).into())
}

/// Adds a file in the bucket to the candidate. The ticket is used up.
async fn add(
    context: &RequestContext,
    tenant: Tenant,
    ticket: &UploadTicket,
    upload: Upload,
    before: &CandidateRecord,
    file: ResumeFile,
    size: usize,
) -> Result<(), CommitError> {
    let (author, mut transaction) = (author(context), Transaction::new(tenant));
    let (after, updated) = match upload.submitted {
        None => resumes::attach(before, file, true, author.at),
        Some(SubmittedWith { application_id, submission_id }) => {
            let resume = Some(Resume::File(file.clone()));
            let (id, size, created_at) = (author.ids.next(), size as u64, author.at);
            let file = SubmittedFile { id, application_id, resume: file, size, created_at };
            let kept = before.applications.iter().any(|one| one.submissions.contains(&submission_id));
            transaction.insert_submitted_file(upload.candidate_id, kept.then_some(submission_id), &file)?;
            let fields = if upload.is_new { vec!["resume_url".to_owned()] } else { Vec::new() };
            let after = before.clone().add_submitted_file(&file, !upload.is_new);
            (after, TouchpointKind::Updated { fields, resume })
        }
    };
    transaction.replace_candidate(before, &after, &author.touchpoints([updated]))?;
    transaction.delete_upload(&ticket.hash());
    context.store().commit(transaction).await
}

/// Returns the error of a bucket that does not answer, or does not take a file.
pub(crate) fn unavailable(error: &BucketError) -> ResumeError {
    tracing::error!(trouble = %error, "cannot store a resume");
    ResumeError::Rejected(UNSAVED.to_owned())
}
