//! Resume files, and files that answer questions: checks an uploaded file and attaches it to the candidate.

use futures_util::future::try_join;
use shared::documents::FileKind;
use shared::http::RequestContext;
use shared::id::Id;
use shared::model::{CandidateFile, CandidateRecord, FileName, Question, ResumeFile, Tenant};
use shared::providers::bucket::{Bucket, BucketError, MAX_UPLOAD};
use shared::services::files::{self, CheckedFile, FormFile};
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
/// The number of files that are checked for one ticket, besides one for each question that is answered with a file.
const MAX_CHECKED: usize = 20;

/// Attaches the file that was uploaded with this ticket, if its format is accepted: the resume, or the answer to a question. If
/// the application created the candidate, a resume becomes the candidate's. To an existing candidate it is only offered.
pub(crate) async fn attach(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    bucket: &Bucket,
    question: Option<&Question>,
) -> Result<(), ResumeError> {
    let (tenant, now) = (job.site.career.tenant(), context.now());
    let question_id = question.map(|question| question.id);
    let most = MAX_CHECKED + job.content().questions.of_files().count();
    // The ticket of a suspect form, or of a file that was attached already, reads nothing from the bucket.
    let upload = match context.store().count_upload(tenant, &ticket.hash(), question_id, most).await? {
        UploadAttempt::Allowed(upload) => upload,
        UploadAttempt::Exhausted => {
            let sentence = "You have uploaded too many files for this application. Your application has been \
                            received without this file.";
            return Err(ResumeError::Rejected(sentence.to_owned()));
        }
        UploadAttempt::Used => return Ok(()),
        UploadAttempt::Unexpected => {
            return match question_id {
                Some(question) => suspects::drop_answer(context, job, ticket, question, bucket).await,
                None => suspects::keep_uploaded(context, job, ticket, bucket).await,
            };
        }
    };
    let key = ticket.upload_key(job, question_id);
    let object = match bucket.read(&key, MAX_UPLOAD, now).await {
        Ok(Some(object)) => object,
        Ok(None) => return Err(ResumeError::missing()),
        Err(error) => return Err(unavailable(&error)),
    };
    let kind = FileKind::of(&object.bytes).map_err(|refusal| ResumeError::Rejected(refusal.to_string()))?;
    // A file that is kept while the candidate is being erased is deleted by the task of the erasure.
    let Some((before, files)) = find(context, tenant, upload.candidate_id).await? else { return Ok(()) };
    let file = ResumeFile::new(tenant, &ticket.kept_name(question_id), kind.extension());
    match bucket.keep(&key, file.key(), &object.etag, kind.media_type(), now).await {
        Ok(()) => {}
        Err(BucketError::Changed) => {
            let sentence = "The file changed while we were checking it. Please upload it again.";
            return Err(ResumeError::Rejected(sentence.to_owned()));
        }
        Err(error) => return Err(unavailable(&error)),
    }
    let name = question.and_then(|question| FileName::cut(question.content.label().as_str()));
    let file = FormFile { stored: file, name, size: object.bytes.len(), question: question.cloned() };
    Ok(add(context, tenant, ticket, upload, (&before, &files), file, bucket).await?)
}

/// Attaches the file that was sent with an application, after the application was stored.
pub(crate) async fn attach_sent(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    bucket: &Bucket,
    upload: Upload,
    file: &CheckedFile,
    name: Option<FileName>,
) -> Result<(), ResumeError> {
    let (tenant, now) = (job.site.career.tenant(), context.now());
    let place = file.place(tenant, &ticket.hash());
    file.write(bucket, place.key(), now).await.map_err(|error| unavailable(&error))?;
    // The request must not run again, because the application is stored, so conflicts are retried here.
    for _ in 0..ATTEMPTS {
        // The task of the erasure deletes the file.
        let Some((before, files)) = find(context, tenant, upload.candidate_id).await? else { return Ok(()) };
        let (stored, name, size) = (place.clone(), name.clone(), file.size());
        let file = FormFile { stored, name, size, question: None };
        match add(context, tenant, ticket, upload, (&before, &files), file, bucket).await {
            Err(CommitError::Stale) => {}
            result => return Ok(result?),
        }
    }
    Err(StoreError::Unavailable("write conflicts persisted".to_owned()).into())
}

/// The candidate and all files of the candidate; `None` if the candidate is being erased. Both are read of everybody, because
/// the time must not tell who is known.
async fn find(
    context: &RequestContext,
    tenant: Tenant,
    candidate: Id,
) -> Result<Option<(CandidateRecord, Vec<CandidateFile>)>, StoreError> {
    let store = context.store();
    let (found, files) =
        try_join(store.find_candidate(tenant, candidate), store.all_files(tenant, candidate)).await?;
    Ok(found.and_then(MaybeErased::present).map(|before| (before, files)))
}

/// Adds a file in the bucket to the candidate. The ticket allows no other file in its place.
async fn add(
    context: &RequestContext,
    tenant: Tenant,
    ticket: &UploadTicket,
    upload: Upload,
    (before, files): (&CandidateRecord, &[CandidateFile]),
    file: FormFile,
    bucket: &Bucket,
) -> Result<(), CommitError> {
    let mut transaction = Transaction::new(tenant);
    let question = file.question.as_ref().map(|question| question.id);
    files::attach_to_form(&mut transaction, before, files, upload, file, bucket, &author(context))?;
    transaction.use_upload(&ticket.hash(), question);
    // Otherwise the time would tell who is known.
    transaction.pad(WRITES, upload.candidate_id);
    context.store().commit(transaction).await
}
