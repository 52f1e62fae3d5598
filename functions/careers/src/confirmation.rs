//! The confirmation page after an application, with forms to upload the files that questions ask for, and a resume that was not
//! in the application form.
//!
//! What was received is in the address of the page: the page looks nothing up, so it is the same for everybody.

use std::collections::BTreeSet;

use shared::http::page::Sources;
use shared::http::{Error, Html, Parameters, PublicRequest, Reply, RequestContext};
use shared::id::Id;
use shared::model::{Question, Text};
use shared::providers::bucket::{Bucket, BucketError};

use crate::job_page::PostedJob;
use crate::pages::{ConfirmationPage, FileForm, FileQuestion};
use crate::question_fields::field_name;
use crate::resume_error::{ResumeError, UNSAVED};
use crate::resumes;
use crate::site;
use crate::upload_ticket::{TicketKind, UploadTicket};

/// The sentence for the answer to a question that was deleted, or that another kind of answer is expected to now.
const NOT_ASKED: &str = "This job does not ask for the file that you uploaded any more, so it was not kept.";

/// What was received, as the address of the page says.
#[derive(Default)]
struct Received {
    resume: bool,
    /// The questions that were answered with a file.
    answers: BTreeSet<Id>,
}

impl Received {
    /// Reads the address. Leaves out what is not among the questions that are `asked`.
    fn of(query: &Parameters, asked: &[&Question]) -> Self {
        let answers = query.all("answered").filter_map(|id| find(asked, id)).map(|question| question.id);
        Self { resume: query.non_empty("attached").is_some(), answers: answers.collect() }
    }

    /// The path of the page.
    fn path(&self, job: &PostedJob, ticket: &UploadTicket) -> String {
        let resume = if self.resume { "&attached=yes" } else { "" };
        let answers: Vec<_> = self.answers.iter().map(|id| format!("&answered={id}")).collect();
        format!("{}/apply?ticket={ticket}{resume}{}", job.path(), answers.concat())
    }
}

/// The question with this identifier.
fn find<'q>(asked: &[&'q Question], id: &str) -> Option<&'q Question> {
    asked.iter().copied().find(|question| question.id.to_string() == id)
}

/// What was wrong with an uploaded file, as a sentence: the resume, the answer to a question, or a file that nothing asks for.
#[derive(Default)]
struct Problems {
    resume: Option<String>,
    answer: Option<(Id, String)>,
    notice: Option<&'static str>,
}

/// Shows the confirmation page. It offers an upload for each question that asks for a file, and for files that are too large
/// for a form. After an upload, the bucket also redirects here, and the file is attached to the candidate.
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
    let Some(bucket) = context.providers().await.resumes() else {
        return page(&job, &[], &Received::default(), Forms::default(), &Problems::default());
    };
    let asked: Vec<_> = job.content().questions.of_files().collect();
    let mut received = Received::of(&query, &asked);
    let mut problems = Problems::default();
    if query.non_empty("unsaved").is_some() && !received.resume {
        problems.resume = Some(UNSAVED.to_owned());
    }
    // The bucket adds `etag` when it redirects after an upload.
    let uploaded = query.non_empty("etag").map(|_| query.non_empty("question"));
    match uploaded {
        Some(Some(id)) => match find(&asked, id) {
            None => problems.notice = Some(NOT_ASKED),
            Some(question) => match resumes::attach(context, &job, &ticket, bucket, Some(question)).await {
                Ok(()) => {
                    received.answers.insert(question.id);
                    return Ok(Reply::see_other(&received.path(&job, &ticket)));
                }
                Err(ResumeError::Rejected(sentence)) => problems.answer = Some((question.id, sentence)),
                Err(ResumeError::Failed(error)) => return Err(error),
            },
        },
        Some(None) if !received.resume => match resumes::attach(context, &job, &ticket, bucket, None).await {
            Ok(()) => {
                received.resume = true;
                return Ok(Reply::see_other(&received.path(&job, &ticket)));
            }
            Err(ResumeError::Rejected(sentence)) => problems.resume = Some(sentence),
            Err(ResumeError::Failed(error)) => return Err(error),
        },
        _ => {}
    }
    let is_refused = uploaded.is_some()
        && (problems.resume.is_some() || problems.answer.is_some() || problems.notice.is_some());
    let forms = Forms::sign(context, &job, &ticket, &asked, &received, bucket).await;
    let forms = forms.unwrap_or_else(|error| {
        tracing::error!(trouble = %error, "cannot sign an upload form");
        Forms::default()
    });
    Ok(page(&job, &asked, &received, forms, &problems)?.with_status(if is_refused { 422 } else { 200 }))
}

/// The forms of what was not received.
#[derive(Default)]
struct Forms {
    resume: Option<FileForm>,
    answers: Vec<(Id, FileForm)>,
    /// The origins that all of them are sent to and come back to.
    origins: Option<String>,
}

impl Forms {
    async fn sign(
        context: &RequestContext,
        job: &PostedJob,
        ticket: &UploadTicket,
        asked: &[&Question],
        received: &Received,
        bucket: &Bucket,
    ) -> Result<Self, BucketError> {
        let (path, mut forms) = (received.path(job, ticket), Self::default());
        let unanswered = asked.iter().map(|question| question.id).filter(|id| !received.answers.contains(id));
        for question in unanswered.map(Some).chain((!received.resume).then_some(None)) {
            let marked = question.map(|id| format!("&question={id}")).unwrap_or_default();
            let (key, redirect) =
                (ticket.upload_key(job, question), job.site.url(&format!("{path}{marked}")));
            let form = bucket.upload_form(&key, &redirect, context.now()).await?;
            // The bucket redirects to the site's own address, which is another origin if the page was opened by another name.
            let back = site::origin(&redirect).map(|back| format!(" {back}")).unwrap_or_default();
            forms.origins = Some(format!("{}{back}", form.origin));
            let form = FileForm { action: form.action, fields: form.fields };
            match question {
                Some(id) => forms.answers.push((id, form)),
                None => forms.resume = Some(form),
            }
        }
        Ok(forms)
    }
}

fn page(
    job: &PostedJob,
    asked: &[&Question],
    received: &Received,
    forms: Forms,
    problems: &Problems,
) -> Result<Reply<Html>, Error> {
    let Forms { resume: upload, answers: mut uploads, origins } = forms;
    let questions = asked.iter().map(|question| {
        let (id, content) = (question.id, &question.content);
        let upload = uploads.iter().position(|(answered, _)| *answered == id);
        let problem = problems.answer.as_ref().filter(|(answered, _)| *answered == id);
        FileQuestion {
            field: field_name(question),
            label: content.label().as_str(),
            help: content.help().map(Text::as_str),
            is_required: content.is_required(),
            is_received: received.answers.contains(&id),
            upload: upload.map(|index| uploads.swap_remove(index).1),
            problem: problem.map(|(_, sentence)| sentence.as_str()),
        }
    });
    let page = ConfirmationPage {
        layout: job.site.layout(None),
        title: job.content().title.as_str(),
        job_path: &job.path(),
        questions: questions.collect(),
        notice: problems.notice,
        upload,
        is_attached: received.resume,
        problem: problems.resume.clone(),
        contact: job.settings.contact_email.as_ref(),
    };
    job.site.page(&page, &Sources { form: origins.as_deref(), ..Sources::default() })
}
