//! Applications: handles submitted application forms.
//!
//! New candidates, existing candidates and repeated applications all get the same response after the same DynamoDB
//! calls with the same number of writes, so neither the response nor its time reveals whether somebody has applied before.

use shared::http::page::{Problem, Sources};
use shared::http::{Error, Html, Parameters, PublicRequest, Reply, RequestContext, SubmittedForm};
use shared::model::{ApplicationForm, CandidateRecord, FileName, SuspectSign};
use shared::services::applying::{ApplyError, apply_with_form, hide_known};
use shared::store::{CommitError, Transaction, Upload};

use crate::application_form::{self, Mistakes, lost_file, refused_file};
use crate::author::author;
use crate::form_file::FormFile;
use crate::job_page::PostedJob;
use crate::kept_file::{EarlierFile, KeptFile};
use crate::pages::TooManyApplicationsPage;
use crate::resume_error::ResumeError;
use crate::resumes;
use crate::suspects::{self, APPLICATION, EVERY, Inspection, Kept, SENDER, is_trapped};
use crate::upload_ticket::{TicketKind, UploadTicket};

/// Submits an application: creates a candidate, or adds the form to the candidate with the same e-mail address, as a new
/// application or as another form of the one for this role.
pub(crate) async fn apply(request: PublicRequest) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    // A form on another site cannot apply in a visitor's name. Browsers without this header still send no cookies.
    if context.header("sec-fetch-site") == Some("cross-site") {
        return Err(Error::ForeignForm);
    }
    let submitted = context.form_with_file().await;
    // The candidate is looked for beside the job. What is wrong with the form is said only after the job was found.
    let email = match &submitted {
        Ok(SubmittedForm { fields, .. }) if !is_trapped(fields) => application_form::email(fields),
        _ => None,
    };
    let email = email.and_then(Result::ok);
    let (job, existing) = match PostedJob::find_with_applicant(context, email.as_ref()).await? {
        Ok(found) => found,
        Err(reply) => return Ok(reply),
    };
    let SubmittedForm { fields: form, file: sent, is_cut } = submitted?;
    if !job.is_open {
        return Ok(job.page(context, &form, None, &Mistakes::default())?.with_status(422));
    }
    // The check of a file costs work, so its sender is counted first. A form with mistakes and without a file costs nothing.
    let has_file = sent.is_some();
    let mut inspection = Inspection::of(context, &job, &form);
    if has_file {
        inspection.count(SENDER).await?;
    }
    let (file_name, content) = sent.map(|file| (file.name, file.content)).unzip();
    let file = content.map(|content| FormFile::read(content, inspection.is_suspect())).transpose();
    let (earlier, is_lost) = match EarlierFile::of(context, &job, &form) {
        EarlierFile::None => (None, false),
        EarlierFile::Lost => (None, true),
        EarlierFile::Kept(kept) => (Some(kept), false),
    };
    let is_sent = file.as_ref().map(Option::is_some).map_err(|error| *error);
    let questions = job.content().questions;
    let parsed =
        application_form::parse(&form, is_cut, is_sent, is_lost, &job.settings, job.country(), questions);
    let content = match parsed {
        Ok(content) => content,
        Err(mistakes) => {
            let new = file.ok().flatten().map(|file| (file, file_name.unwrap_or_default()));
            return with_mistakes(context, &job, &form, earlier, new, mistakes).await;
        }
    };
    // What is suspect already counts only for its sender: otherwise whoever fills in the hidden field, or exceeds the limit of
    // an address, could make all other applicants suspects.
    match (has_file, inspection.is_suspect()) {
        (false, false) => inspection.count(EVERY).await?,
        (false, true) => inspection.count(SENDER).await?,
        (true, false) => inspection.count(APPLICATION).await?,
        (true, true) => {}
    }
    let file = match chosen(context, &job, file.ok().flatten(), earlier.as_ref(), &inspection).await {
        Ok(file) => {
            let earlier_name = earlier.as_ref().map(|kept| kept.name().to_owned());
            let name = file_name.or(earlier_name).as_deref().and_then(FileName::cut);
            file.map(|file| (file, name))
        }
        Err(problem) => {
            inspection.uncount().await?;
            return Ok(job.page(context, &form, None, &problem.into())?.with_status(422));
        }
    };
    let ticket = UploadTicket::new(context, &job, TicketKind::Upload);
    let is_saved = match store(context, &job, existing, content, file, inspection, &ticket).await? {
        Kept::Form => None,
        Kept::FormWithFile { is_saved } => Some(is_saved),
        Kept::Nothing { seconds } => return too_many(&job, seconds),
    };
    if let (Some(kept), Some(bucket)) = (&earlier, context.providers().await.resumes()) {
        kept.delete(context, &job, bucket).await;
    }
    Ok(received(&job, &ticket, is_saved))
}

/// The form with its problems. It keeps what was entered and the file, a new one instead of an earlier one.
async fn with_mistakes(
    context: &RequestContext,
    job: &PostedJob,
    form: &Parameters,
    earlier: Option<KeptFile>,
    new: Option<(FormFile, String)>,
    mut mistakes: Mistakes,
) -> Result<Reply<Html>, Error> {
    let mut kept = earlier;
    if let (Some((file, name)), Some(bucket)) = (new, context.providers().await.resumes()) {
        match KeptFile::keep(context, job, bucket, &file, &name).await? {
            Some(new) => kept = Some(new),
            None => mistakes.fields.push(lost_file()),
        }
    }
    let page = job.page(context, form, kept.as_ref().map(KeptFile::shown), &mistakes)?;
    Ok(page.with_status(422))
}

/// Returns the file of a form: the one that was sent with it, or that came with an earlier form. Otherwise returns the
/// problem with it.
async fn chosen(
    context: &RequestContext,
    job: &PostedJob,
    sent: Option<FormFile>,
    earlier: Option<&KeptFile>,
    inspection: &Inspection<'_>,
) -> Result<Option<FormFile>, Problem> {
    let kept = earlier.filter(|kept| !kept.is_removed);
    match (sent, kept, context.providers().await.resumes()) {
        (None, Some(kept), Some(bucket)) => match kept.read(context, job, bucket).await {
            Ok(Some(content)) => {
                FormFile::read(content, inspection.is_suspect()).map(Some).map_err(refused_file)
            }
            Ok(None) => Err(lost_file()),
            Err(error) => {
                tracing::error!(trouble = %error, "cannot read a resume");
                Ok(Some(FormFile::Unread))
            }
        },
        (sent, ..) => Ok(sent),
    }
}

/// Stores a form: as an application, or among the suspect forms.
async fn store(
    context: &RequestContext,
    job: &PostedJob,
    existing: Option<CandidateRecord>,
    form: ApplicationForm,
    file: Option<(FormFile, Option<FileName>)>,
    inspection: Inspection<'_>,
    ticket: &UploadTicket,
) -> Result<Kept, Error> {
    if !inspection.is_suspect() {
        let submitted = submit(context, job, existing, form, ticket).await;
        if let Err(Error::Commit(CommitError::Stale)) = submitted {
            inspection.uncount().await?;
        }
        let (upload, Some((file, name))) = (submitted?, file) else { return Ok(Kept::Form) };
        return Ok(Kept::FormWithFile { is_saved: attach(context, job, ticket, upload, file, name).await });
    }
    let file = file.map(|(file, _)| file);
    suspects::keep(context, job, ticket, form, file, &inspection).await
}

/// Attaches the file. The application is stored, so the request succeeds without the file, too: the next page offers to upload
/// it.
async fn attach(
    context: &RequestContext,
    job: &PostedJob,
    ticket: &UploadTicket,
    upload: Upload,
    file: FormFile,
    name: Option<FileName>,
) -> bool {
    let (FormFile::Checked(file), Some(bucket)) = (file, context.providers().await.resumes()) else {
        return false;
    };
    match resumes::attach_sent(context, job, ticket, bucket, upload, &file, name).await {
        Ok(()) => true,
        Err(ResumeError::Rejected(_)) => false,
        Err(ResumeError::Failed(error)) => {
            tracing::error!(%error, "a resume was not attached");
            false
        }
    }
}

/// Redirects to the confirmation. `is_saved` says what became of the file, if there was one.
fn received(job: &PostedJob, ticket: &UploadTicket, is_saved: Option<bool>) -> Reply<Html> {
    let result = match is_saved {
        None => "",
        Some(true) => "&attached=yes",
        Some(false) => "&unsaved=yes",
    };
    Reply::see_other(&format!("{}/apply?ticket={ticket}{result}", job.path()))
}

/// The page that says when applications are accepted again.
fn too_many(job: &PostedJob, seconds: i64) -> Result<Reply<Html>, Error> {
    let page = TooManyApplicationsPage { layout: job.site.layout(None), job_path: &job.path() };
    let reply = job.site.page(&page, &Sources::default())?.with_status(429);
    Ok(reply.with("retry-after", seconds.to_string()))
}

/// Stores an application. Returns the upload that its ticket allows. Fails with [`CommitError::Stale`] after a conflict
/// with another write to the same candidate.
async fn submit(
    context: &RequestContext,
    job: &PostedJob,
    existing: Option<CandidateRecord>,
    form: ApplicationForm,
    ticket: &UploadTicket,
) -> Result<Upload, Error> {
    let mut transaction = Transaction::new(job.site.career.tenant());
    let applied = apply_with_form(&mut transaction, &job.role, existing, form.clone(), &author(context));
    let upload = match applied {
        Err(ApplyError::Rejected(_)) => return Err(CommitError::Stale.into()),
        result => result?,
    };
    // Neither the response nor its time may reveal that the candidate is known. A member finds the form.
    if upload.submitted.is_none() {
        let signs = vec![SuspectSign::Applications];
        transaction.insert_suspect(&suspects::form(context, job, form.clone(), signs, None))?;
    }
    hide_known(&mut transaction, upload.candidate_id, &job.role, form, &author(context))?;
    if context.stores_files() {
        let key = ticket.upload_key(job, None);
        transaction.insert_upload(&ticket.hash(), key, upload, ticket.expires_at())?;
    }
    match context.store().commit(transaction).await {
        // Another request created the candidate first. The retry finds it by its e-mail address.
        Err(CommitError::Taken(_)) => Err(CommitError::Stale.into()),
        result => Ok(result.map(|()| upload)?),
    }
}
