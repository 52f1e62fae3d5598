//! The application form as a document for programs that fill it.

use serde::Serialize;
use shared::handlers::responses::question::Question;
use shared::http::{Error, Output, PublicRequest, Reply};
use shared::model::{Answer, ConsentPurpose, Email, Name, Notes, QuestionKind, TypedPhone, WebAddress};
use shared::providers::bucket::MAX_UPLOAD;
use shared::services::files::{ENDINGS, MAX_FILE};
use shared::store::StoreError;
use utoipa::ToSchema;

use crate::application_form::CONSENTS;
use crate::job_page::PostedJob;
use crate::question_fields::field_name;

/// The application form of a job, for programs that fill it in. It is sent with `POST` as `multipart/form-data`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ApplicationFormDocument<'p> {
    /// The organization's public name.
    organization: &'p str,
    /// The job's title.
    title: &'p str,
    /// The URL of the job's page.
    #[schema(format = "uri")]
    url: String,
    /// Whether the job accepts applications at the moment.
    accepts_applications: bool,
    /// The URL that the form is sent to. An accepted form is answered with 303, and one with mistakes with 422 and the page.
    #[schema(format = "uri")]
    submit_url: String,
    /// The fields that every form has, in their order.
    fields: Vec<FormField>,
    /// The questions of the job, in their order.
    questions: Vec<FormQuestion>,
    /// The maximum number of characters of all answers together.
    max_answers_length: usize,
    /// The consents that the form asks for.
    consents: Vec<FormConsent>,
    /// The URL of the page that says what happens to an applicant's data.
    #[schema(format = "uri")]
    privacy_url: String,
}

/// A field of an application form.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FormField {
    /// The name in the form.
    name: &'static str,
    /// What the page calls it.
    label: &'static str,
    /// What it takes: `short_text`, `long_text`, `email`, `phone`, `url` or `file`.
    kind: &'static str,
    /// Whether it must be filled in.
    required: bool,
    /// The maximum number of characters; `null` for a file.
    max_length: Option<usize>,
    /// The maximum number of bytes of a file; `null` for other fields.
    max_size: Option<usize>,
    /// The endings of the names of files that are accepted; empty for other fields.
    accepts: Vec<&'static str>,
}

/// A question of an application form.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FormQuestion {
    #[serde(flatten)]
    question: Question,
    /// When the question is asked: `in_form`, or `after_form` for a `file`. The page that follows an accepted form has a form for
    /// each file, which is sent to its own URL with the fields that it contains.
    asked: Asked,
    /// The name of the question's field in the form; `null` for a `file`, which the form does not take. The value of `yes_no` is
    /// `yes` or `no`, that of a choice an option, once for each option that is chosen, and that of `date` a date such as
    /// `2026-11-20`.
    field: Option<String>,
    /// The maximum number of characters of an answer that is typed.
    max_length: Option<usize>,
    /// The maximum number of bytes of a file; `null` for other kinds.
    max_size: Option<usize>,
    /// The endings of the names of files that are accepted; empty for other kinds.
    accepts: Vec<&'static str>,
}

/// When a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Asked {
    /// In the form.
    InForm,
    /// On the page that follows it.
    AfterForm,
}

/// A consent that an application form asks for.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FormConsent {
    /// The name of the box in the form. Its value is `yes` if the applicant agrees; otherwise it is left out.
    field: &'static str,
    /// What the consent is for.
    purpose: ConsentPurpose,
    /// What the applicant agrees to.
    wording: &'static str,
    /// Whether an application needs it.
    required: bool,
}

/// The application form of a job.
pub(crate) enum FormOutput {}

impl Output for FormOutput {
    const STATUS: u16 = 200;
    const HEADERS: &'static [&'static str] = &["etag", "access-control-allow-origin"];
    type Body = ApplicationFormDocument<'static>;
}

/// Returns the application form of a job: its fields, limits, questions and consents, for programs that fill it in.
///
/// # Errors
///
/// - `not_found`: the job is not on the career page.
pub(crate) async fn show_form(request: PublicRequest) -> Result<Reply<FormOutput>, Error> {
    let context = &request.context;
    let job = PostedJob::find(context).await?.map_err(|_| Error::NotFound)?;
    let (site, content, path) = (&job.site, job.content(), job.path());
    let form = ApplicationFormDocument {
        organization: site.name(),
        title: content.title.as_str(),
        url: site.url(&path),
        accepts_applications: job.is_open,
        submit_url: site.url(&format!("{path}/apply")),
        fields: fields(context.stores_files()),
        questions: content
            .questions
            .list()
            .iter()
            .filter(|question| context.stores_files() || question.content.kind() != QuestionKind::File)
            .map(form_question)
            .collect(),
        max_answers_length: Answer::MAX_LENGTH,
        consents: CONSENTS
            .map(|(purpose, field, wording)| FormConsent {
                field,
                purpose,
                wording,
                required: purpose == ConsentPurpose::Application,
            })
            .into(),
        privacy_url: site.url(&site.privacy_path()),
    };
    let json = serde_json::to_string(&form)
        .map_err(|error| Error::from(StoreError::Internal(format!("cannot serialize a form: {error}"))))?;
    let reply = Reply::document("application/json", json).with("access-control-allow-origin", "*".to_owned());
    Ok(reply.cached())
}

fn form_question(question: &shared::model::Question) -> FormQuestion {
    let kind = question.content.kind();
    let is_file = kind == QuestionKind::File;
    FormQuestion {
        question: question.into(),
        asked: if is_file { Asked::AfterForm } else { Asked::InForm },
        field: (!is_file).then(|| field_name(question)),
        max_length: kind.max_length(),
        max_size: is_file.then_some(MAX_UPLOAD),
        accepts: if is_file { ENDINGS.split(',').collect() } else { Vec::new() },
    }
}

/// The fields that every form has, with or without one for a file.
fn fields(takes_file: bool) -> Vec<FormField> {
    let text = |name, label, kind, max_length| FormField {
        name,
        label,
        kind,
        required: matches!(name, "name" | "email"),
        max_length: Some(max_length),
        max_size: None,
        accepts: Vec::new(),
    };
    let file = FormField {
        max_length: None,
        max_size: Some(MAX_FILE),
        accepts: ENDINGS.split(',').collect(),
        ..text("resume_file", "Resume", "file", 0)
    };
    let before = [
        text("name", "Name", "short_text", Name::MAX_LENGTH),
        text("email", "E-mail address", "email", Email::MAX),
        text("phone", "Phone", "phone", TypedPhone::MAX_LENGTH),
    ];
    let after = [
        text("resume_url", "Link to your resume", "url", WebAddress::MAX),
        text("note", "Note", "long_text", Notes::MAX_LENGTH),
    ];
    before.into_iter().chain(takes_file.then_some(file)).chain(after).collect()
}
