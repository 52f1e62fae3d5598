//! Resume files: checks an uploaded file and attaches it to the candidate.

use shared::http::{Error, RequestContext};
use shared::model::{Resume, ResumeFile, TouchpointKind};
use shared::providers::resumes::content::{ContentError, FileKind};
use shared::providers::resumes::{Bucket, BucketError, MAX_UPLOAD};
use shared::store::{MaybeErased, Transaction, Upload, UploadAttempt};

use crate::author::author;
use crate::job_page::PostedJob;
use crate::upload_ticket::UploadTicket;

/// Why a file was not attached.
pub(crate) enum ResumeError {
    /// The file was rejected. The reason is a sentence for the candidate.
    Rejected(&'static str),
    /// The request failed.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for ResumeError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Attaches the file that was uploaded with this ticket, if its format is accepted. If the application created the
/// candidate, the file becomes the candidate's resume. For an existing candidate, only the history has the file.
pub(crate) async fn attach(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    bucket: &Bucket,
) -> Result<(), ResumeError> {
    let (tenant, now) = (job.site.career.tenant(), context.now());
    // The ticket of a robot, or of a file that was attached already, reads nothing from the bucket.
    let Upload { candidate_id, is_new } = match context.store().count_upload(tenant, &ticket.hash()).await? {
        UploadAttempt::Allowed(upload) => upload,
        UploadAttempt::Exhausted => {
            let sentence = "You have uploaded too many files for this application. Your application has been \
                            received without a file.";
            return Err(ResumeError::Rejected(sentence));
        }
        UploadAttempt::Unexpected => return Ok(()),
    };
    let key = ticket.upload_key(job);
    let object = match bucket.read(&key, MAX_UPLOAD, now).await {
        Ok(Some(object)) => object,
        Ok(None) => {
            return Err(ResumeError::Rejected("We did not receive the file. Please upload it again."));
        }
        Err(error) => return Err(unavailable(&error)),
    };
    let kind = FileKind::of(&object.bytes).map_err(|error| {
        ResumeError::Rejected(match error {
            ContentError::Type => {
                "This is not a PDF, DOC, DOCX, ODT or plain text file. Please choose another file."
            }
            ContentError::Active => {
                "This file is protected, or contains macros, scripts, embedded files or links to files that are loaded \
                 by themselves. Please save it as a simple PDF and choose that file."
            }
        })
    })?;
    // A file that is kept while the candidate is being erased is deleted by the task of the erasure.
    let found = context.store().find_candidate(tenant, candidate_id).await?;
    let Some(before) = found.and_then(MaybeErased::present) else { return Ok(()) };
    let file = ResumeFile::new(tenant, &ticket.hash(), kind.extension());
    match bucket.keep(&key, file.key(), &object.etag, kind.media_type(), now).await {
        Ok(()) => {}
        Err(BucketError::Changed) => {
            let sentence = "The file changed while we were checking it. Please upload it again.";
            return Err(ResumeError::Rejected(sentence));
        }
        Err(error) => return Err(unavailable(&error)),
    }
    let resume = Resume::File(file);
    let mut profile = before.candidate.profile.clone();
    let mut fields = Vec::new();
    if is_new {
        profile.resume = Some(resume.clone());
        fields.push("resume_url".to_owned());
    }
    let after = before.clone().edit(profile, now);
    let mut transaction = Transaction::new(tenant);
    let updated = TouchpointKind::Updated { fields, resume: Some(resume) };
    transaction.replace_candidate(&before, &after, &author(context).touchpoints([updated]))?;
    transaction.delete_upload(&ticket.hash());
    Ok(context.store().commit(transaction).await?)
}

fn unavailable(error: &BucketError) -> ResumeError {
    tracing::error!(trouble = %error, "cannot store a resume");
    ResumeError::Rejected(
        "We could not save the file. Your application has been received; please upload the file again in a minute.",
    )
}
