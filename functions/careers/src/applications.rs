//! Applications: handles submitted application forms.
//!
//! New candidates, existing candidates and repeated applications all get the same response after the same DynamoDB
//! calls, so neither the response nor its time reveals whether somebody has applied before.

use jiff::SignedDuration;
use shared::http::{Error, Html, PublicRequest, Reply, RequestContext};
use shared::model::{ApplicationError, CandidateRecord, Profile, Resume, Source, Submission};
use shared::services::applying::{Applicant, ApplyError, apply_for};
use shared::store::{CommitError, Transaction, Upload};

use crate::application_form;
use crate::author::author;
use crate::job_page::PostedJob;
use crate::pages::TooManyApplicationsPage;
use crate::upload_ticket::UploadTicket;

/// The maximum number of applications from one IP address or IPv6 network within [`WINDOW`]. It is high because a whole
/// lecture hall can share one IP address.
const LIMIT: u64 = 100;
const WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Submits an application: creates a candidate, or adds the application to the candidate with the same e-mail address.
pub(crate) async fn apply(request: PublicRequest) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let job = match PostedJob::find(context).await? {
        Ok(job) => job,
        Err(reply) => return Ok(reply),
    };
    let form = context.form()?;
    if !job.is_open {
        return Ok(job.page(context, &form, Vec::new())?.with_status(422));
    }
    let ticket = UploadTicket::new(context, &job);
    let confirmation = Reply::see_other(&format!("{}/apply?ticket={ticket}", job.path()));
    let submission = match application_form::parse(&form) {
        Ok(submission) => submission,
        Err(problems) => return Ok(job.page(context, &form, problems)?.with_status(422)),
    };
    let (subject, now) = (format!("apply {}", context.source()), context.now());
    if let Some(seconds) = context.store().count_attempt(&subject, LIMIT, WINDOW, now).await? {
        let page = TooManyApplicationsPage {
            layout: job.site.layout(None),
            minutes: (seconds + 59) / 60,
            job_path: &job.path(),
        };
        let reply = job.site.page(&page, None)?.with_status(429);
        return Ok(reply.with("retry-after", seconds.to_string()));
    }
    // `website` is a hidden honeypot field. Bots count towards the limit because a ticket permits an upload.
    if form.non_empty("website").is_some() {
        return Ok(confirmation);
    }
    let submitted = submit(context, &job, submission, &ticket).await;
    if let Err(Error::Commit(CommitError::Stale)) = submitted {
        context.store().uncount_attempt(&subject, WINDOW, now).await?;
    }
    submitted.map(|()| confirmation)
}

/// Stores an application. Fails with [`CommitError::Stale`] after a conflict with another write to the same candidate.
async fn submit(
    context: &RequestContext,
    job: &PostedJob,
    submission: Submission,
    ticket: &UploadTicket,
) -> Result<(), Error> {
    let (tenant, now) = (job.site.career.tenant(), context.now());
    let existing = context.store().find_candidate_by_email(tenant, &submission.email).await?;
    let is_new = existing.is_none();
    let before = existing.unwrap_or_else(|| {
        let Submission { name, email, phone, resume_url, .. } = submission.clone();
        let (resume, source) = (resume_url.map(Resume::Address), Some(Source::CAREER_PAGE));
        let profile = Profile { phone, resume, source, ..Profile::new(name, email) };
        CandidateRecord::new(context.ids().next(), profile, now)
    });
    let candidate_id = before.candidate.id;
    let applicant = if is_new { Applicant::New(before.clone()) } else { Applicant::Known(before.clone()) };
    let mut transaction = Transaction::new(tenant);
    let (source, submission) = (Source::CAREER_PAGE, Some(Box::new(submission)));
    match apply_for(&mut transaction, applicant, &job.role, source, submission, &author(context)) {
        Ok(_) => {}
        // Neither the response nor its time may reveal that the candidate has applied before. A file that is uploaded
        // is added to the history.
        Err(ApplyError::Rejected(ApplicationError::AlreadyApplied(_))) => {
            transaction.require_candidate(&before);
        }
        Err(ApplyError::Rejected(ApplicationError::TooMany)) => {
            tracing::info!(candidate = candidate_id.get(), "a candidate has too many applications");
            transaction.require_candidate(&before);
        }
        Err(ApplyError::Rejected(ApplicationError::RoleNotOpen(_))) => {
            return Err(CommitError::Stale.into());
        }
        Err(error @ (ApplyError::Consents(_) | ApplyError::Store(_))) => return Err(error.into()),
    }
    if context.providers().resumes().is_some() {
        let upload = Upload { candidate_id, is_new };
        let key = ticket.upload_key(job);
        transaction.insert_upload(&ticket.hash(), key, upload, ticket.expires_at())?;
    }
    match context.store().commit(transaction).await {
        // Another request created the candidate first. The retry finds it by its e-mail address.
        Err(CommitError::Taken(_)) => Err(CommitError::Stale.into()),
        result => Ok(result?),
    }
}
