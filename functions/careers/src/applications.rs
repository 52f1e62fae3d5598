//! Applications: handles submitted application forms.
//!
//! New candidates, existing candidates and repeated applications all get the same response after the same DynamoDB
//! calls, so neither the response nor its time reveals whether somebody has applied before.

use jiff::SignedDuration;
use shared::http::page::Sources;
use shared::http::{Error, Html, PublicRequest, Reply, RequestContext, SubmittedForm};
use shared::model::{ApplicationError, ApplicationForm, CandidateRecord, Profile, Resume, Source};
use shared::services::applying::{Applicant, ApplyError, apply_again, apply_for};
use shared::services::resumes::CheckedFile;
use shared::store::{CommitError, SubmittedWith, Transaction, Upload};

use crate::application_form::{self, lost_file};
use crate::author::author;
use crate::job_page::PostedJob;
use crate::kept_file::{EarlierFile, KeptFile};
use crate::pages::TooManyApplicationsPage;
use crate::resumes::{self, ResumeError};
use crate::upload_ticket::{TicketKind, UploadTicket};

/// The maximum number of applications from one IP address or IPv6 network within [`WINDOW`]. It is high because a whole
/// lecture hall can share one IP address.
const LIMIT: u64 = 100;
const WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// The maximum number of applications for one posting, and for all postings of a career site, on a day (UTC). They bound
/// what a sender with many IP addresses can store.
const POSTING_LIMIT: u64 = 1_000;
const SITE_LIMIT: u64 = 5_000;
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Submits an application: creates a candidate, or adds the form to the candidate with the same e-mail address, as a new
/// application or as another form of the one for this role.
pub(crate) async fn apply(request: PublicRequest) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    // A form on another site cannot apply in a visitor's name. Browsers without this header still send no cookies.
    if context.header("sec-fetch-site") == Some("cross-site") {
        return Err(Error::ForeignForm);
    }
    let job = match PostedJob::find(context).await? {
        Ok(job) => job,
        Err(reply) => return Ok(reply),
    };
    let SubmittedForm { fields: form, file: sent, is_cut } = context.form_with_file().await?;
    if !job.is_open {
        return Ok(job.page(context, &form, None, Vec::new())?.with_status(422));
    }
    let ticket = UploadTicket::new(context, &job, TicketKind::Upload);
    let confirmation = Reply::see_other(&format!("{}/apply?ticket={ticket}", job.path()));
    let (file_name, content) = sent.map(|file| (file.name, file.content)).unzip();
    let file = content.map(CheckedFile::check).transpose();
    let (earlier, is_lost) = match EarlierFile::of(context, &job, &form) {
        EarlierFile::None => (None, false),
        EarlierFile::Lost => (None, true),
        EarlierFile::Kept(kept) => (Some(kept), false),
    };
    let bucket = context.providers().resumes();
    let submission = match application_form::parse(&form, is_cut, &file, is_lost, job.role.content.country) {
        Ok(submission) => submission,
        Err(mut problems) => {
            let mut kept = earlier;
            if let (Ok(Some(file)), Some(bucket)) = (&file, bucket) {
                let name = file_name.unwrap_or_default();
                match KeptFile::keep(context, &job, bucket, file, &name).await? {
                    Some(new) => kept = Some(new),
                    None => problems.push(lost_file()),
                }
            }
            return Ok(job
                .page(context, &form, kept.as_ref().map(KeptFile::shown), problems)?
                .with_status(422));
        }
    };
    let (subject, now) = (format!("apply {}", context.source()), context.now());
    if let Some(seconds) = context.store().count_attempt(&subject, LIMIT, WINDOW, now).await? {
        return too_many(&job, seconds, true);
    }
    // `website` is a hidden honeypot field. Bots count towards the limit because a ticket permits an upload.
    if form.non_empty("website").is_some() {
        return Ok(confirmation);
    }
    let tenant = job.site.career.tenant();
    let daily = [
        (format!("applications for {tenant}#{}", job.posting.id), POSTING_LIMIT),
        (format!("applications to {tenant}"), SITE_LIMIT),
    ];
    for (subject, limit) in &daily {
        if let Some(seconds) = context.store().count_attempt(subject, *limit, DAY, now).await? {
            // A metric filter counts this line for the alarm.
            tracing::warn!(%tenant, posting = job.posting.id.get(), limit, "a daily limit of applications is reached");
            return too_many(&job, seconds, false);
        }
    }
    let uncount = async || {
        context.store().uncount_attempt(&subject, WINDOW, now).await?;
        for (subject, _) in &daily {
            context.store().uncount_attempt(subject, DAY, now).await?;
        }
        Ok::<_, Error>(())
    };
    let file = match (file.ok().flatten(), &earlier, bucket) {
        (None, Some(kept), Some(bucket)) if !kept.is_removed => {
            match kept.read(context, &job, bucket).await.map_err(|error| resumes::unavailable(&error)) {
                Ok(Some(file)) => Some(Ok(file)),
                Ok(None) => {
                    uncount().await?;
                    return Ok(job.page(context, &form, None, vec![lost_file()])?.with_status(422));
                }
                Err(error) => Some(Err(error)),
            }
        }
        (sent, _, _) => sent.map(Ok),
    };
    let submitted = submit(context, &job, submission, &ticket).await;
    if let Err(Error::Commit(CommitError::Stale)) = submitted {
        uncount().await?;
    }
    let (upload, Some(bucket)) = (submitted?, bucket) else { return Ok(confirmation) };
    // The application is stored, so the request succeeds without the file, too. The next page offers to upload it.
    let attached = match file {
        Some(Ok(file)) => Some(resumes::attach_sent(context, &job, &ticket, bucket, upload, &file).await),
        other => other.map(|unread| unread.map(drop)),
    };
    if let Some(kept) = &earlier {
        kept.delete(context, &job, bucket).await;
    }
    let result = match attached {
        None => return Ok(confirmation),
        Some(Ok(())) => "attached",
        Some(Err(ResumeError::Rejected(_))) => "unsaved",
        Some(Err(ResumeError::Failed(error))) => {
            tracing::error!(%error, "a resume was not attached");
            "unsaved"
        }
    };
    Ok(Reply::see_other(&format!("{}/apply?ticket={ticket}&{result}=yes", job.path())))
}

/// The page that says when applications are accepted again. The limit is one of the applicant's network, or of the job.
fn too_many(job: &PostedJob, seconds: i64, is_of_network: bool) -> Result<Reply<Html>, Error> {
    let page = TooManyApplicationsPage {
        layout: job.site.layout(None),
        minutes: (seconds + 59) / 60,
        is_of_network,
        job_path: &job.path(),
    };
    let reply = job.site.page(&page, &Sources::default())?.with_status(429);
    Ok(reply.with("retry-after", seconds.to_string()))
}

/// Stores an application. Returns the upload that its ticket allows. Fails with [`CommitError::Stale`] after a conflict
/// with another write to the same candidate.
async fn submit(
    context: &RequestContext,
    job: &PostedJob,
    form: ApplicationForm,
    ticket: &UploadTicket,
) -> Result<Upload, Error> {
    let (tenant, now) = (job.site.career.tenant(), context.now());
    let existing = context.store().find_candidate_by_email(tenant, &form.email).await?;
    let is_new = existing.is_none();
    let before = existing.unwrap_or_else(|| {
        let ApplicationForm { name, email, phone, resume_url, .. } = form.clone();
        let (resume, source) = (resume_url.map(Resume::Address), Some(Source::CAREER_PAGE));
        let profile = Profile { phone, resume, source, ..Profile::new(name, email) };
        CandidateRecord::new(context.ids().next(), profile, now)
    });
    let candidate_id = before.candidate.id;
    let applicant = if is_new { Applicant::New(before.clone()) } else { Applicant::Known(before.clone()) };
    let mut transaction = Transaction::new(tenant);
    let (role, author) = (&job.role, author(context));
    let applied =
        apply_for(&mut transaction, applicant, role, Source::CAREER_PAGE, Some(form.clone()), &author);
    let submitted = match applied {
        Ok((_, application)) => application.submissions.last().map(|id| (application.id, *id)),
        Err(ApplyError::Rejected(ApplicationError::AlreadyApplied(id))) => {
            Some((id, apply_again(&mut transaction, &before, id, role, form, &author)?))
        }
        // Neither the response nor its time may reveal that the candidate is known. A file that is uploaded is added to
        // the history.
        Err(ApplyError::Rejected(ApplicationError::TooMany)) => {
            tracing::info!(candidate = candidate_id.get(), "a candidate has too many applications");
            transaction.require_candidate(&before);
            None
        }
        Err(ApplyError::Rejected(ApplicationError::RoleNotOpen(_))) => {
            return Err(CommitError::Stale.into());
        }
        Err(error @ (ApplyError::Consents(_) | ApplyError::Store(_))) => return Err(error.into()),
    };
    let submitted =
        submitted.map(|(application_id, submission_id)| SubmittedWith { application_id, submission_id });
    let upload = Upload { candidate_id, is_new, submitted };
    if context.providers().resumes().is_some() {
        let key = ticket.upload_key(job);
        transaction.insert_upload(&ticket.hash(), key, upload, ticket.expires_at())?;
    }
    match context.store().commit(transaction).await {
        // Another request created the candidate first. The retry finds it by its e-mail address.
        Err(CommitError::Taken(_)) => Err(CommitError::Stale.into()),
        result => Ok(result.map(|()| upload)?),
    }
}
