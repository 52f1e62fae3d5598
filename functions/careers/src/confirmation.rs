//! The confirmation page after an application, with the form to upload a resume that was not in the application form.

use shared::http::page::Sources;
use shared::http::{Error, Html, PublicRequest, Reply};
use shared::providers::bucket::UploadForm;

use crate::job_page::PostedJob;
use crate::pages::{ConfirmationPage, FileForm};
use crate::resume_error::{ResumeError, UNSAVED};
use crate::resumes;
use crate::upload_ticket::{TicketKind, UploadTicket};

/// Shows the confirmation page. It offers an upload for files that are too large for a form. After an upload, the bucket also redirects here, and the file is attached to the
/// candidate.
pub(crate) async fn received(request: PublicRequest) -> Result<Reply<Html>, Error> {
    let context = &request.context;
    let job = match PostedJob::find(context).await? {
        Ok(job) => job,
        Err(reply) => return Ok(reply),
    };
    let query = context.query();
    let Some(ticket) = UploadTicket::parse(context, &job, TicketKind::Upload, query.get("ticket")) else {
        // Without a valid ticket, go back to the application form.
        return Ok(Reply::see_other(&format!("{}#apply", job.path())));
    };
    let path = format!("{}/apply?ticket={ticket}", job.path());
    let Some(bucket) = context.providers().await.resumes() else { return page(&job, None, false, None) };
    if query.non_empty("attached").is_some() {
        return page(&job, None, true, None);
    }
    let mut status = 200;
    let mut problem = query.non_empty("unsaved").map(|_| UNSAVED.to_owned());
    // The bucket adds `etag` when it redirects after an upload.
    if query.non_empty("etag").is_some() {
        match resumes::attach(context, &job, &ticket, bucket).await {
            Ok(()) => return Ok(Reply::see_other(&format!("{path}&attached=yes"))),
            Err(ResumeError::Rejected(sentence)) => {
                problem = Some(sentence);
                status = 422;
            }
            Err(ResumeError::Failed(error)) => return Err(error),
        }
    }
    let form = bucket.upload_form(&ticket.upload_key(&job), &job.site.url(&path), context.now()).await;
    let form = form.map_err(|error| tracing::error!(trouble = %error, "cannot sign an upload form")).ok();
    Ok(page(&job, form, false, problem)?.with_status(status))
}

fn page(
    job: &PostedJob,
    form: Option<UploadForm>,
    is_attached: bool,
    problem: Option<String>,
) -> Result<Reply<Html>, Error> {
    let origin = form.as_ref().map(|form| form.origin.clone());
    let page = ConfirmationPage {
        layout: job.site.layout(None),
        title: job.content().title.as_str(),
        job_path: &job.path(),
        upload: form.map(|form| FileForm { action: form.action, fields: form.fields }),
        is_attached,
        problem,
        contact: job.settings.contact_email.as_ref(),
    };
    job.site.page(&page, &Sources { form: origin.as_deref(), ..Sources::default() })
}
