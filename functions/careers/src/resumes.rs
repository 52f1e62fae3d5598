//! Resume files: checks an uploaded file and attaches it to the candidate.

use shared::documents::FileKind;
use shared::http::RequestContext;
use shared::model::{CandidateRecord, ResumeFile, Tenant};
use shared::providers::bucket::{Bucket, BucketError, MAX_UPLOAD};
use shared::services::resumes::{self, CheckedFile};
use shared::store::{CommitError, MaybeErased, StoreError, Transaction, Upload, UploadAttempt};

use crate::author::author;
use crate::job_page::PostedJob;
use crate::resume_error::{ResumeError, unavailable};
use crate::suspects;
use crate::upload_ticket::UploadTicket;

/// The maximum number of attempts to add a file to a candidate whose record changes.
const ATTEMPTS: u32 = 5;
/// The number of writes that attach the file of a new candidate, which are the most.
const WRITES: usize = 10;

/// Attaches the file that was uploaded with this ticket, if its format is accepted. If the application created the
/// candidate, the file becomes the candidate's resume. To an existing candidate it is only offered.
pub(crate) async fn attach(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    bucket: &Bucket,
) -> Result<(), ResumeError> {
    let (tenant, now) = (job.site.career.tenant(), context.now());
    // The ticket of a suspect form, or of a file that was attached already, reads nothing from the bucket.
    let upload = match context.store().count_upload(tenant, &ticket.hash()).await? {
        UploadAttempt::Allowed(upload) => upload,
        UploadAttempt::Exhausted => {
            let sentence = "You have uploaded too many files for this application. Your application has been \
                            received without a file.";
            return Err(ResumeError::Rejected(sentence.to_owned()));
        }
        UploadAttempt::Unexpected => return suspects::keep_uploaded(context, job, ticket, bucket).await,
    };
    let key = ticket.upload_key(job);
    let object = match bucket.read(&key, MAX_UPLOAD, now).await {
        Ok(Some(object)) => object,
        Ok(None) => return Err(ResumeError::missing()),
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
    let mut transaction = Transaction::new(tenant);
    resumes::attach_to_form(&mut transaction, before, upload, file, size, &author(context))?;
    transaction.delete_upload(&ticket.hash());
    // Otherwise the time would tell who is known.
    transaction.pad(WRITES, upload.candidate_id);
    context.store().commit(transaction).await
}
