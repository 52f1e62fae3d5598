//! Submitted application forms in the API.

use super::question::Answer;
use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    self, ApplicationForm, Email, Name, Notes, Phone, SubmittedConsent, TypedPhone, WebAddress,
};

/// What an applicant entered in the form on the career page.
#[derive(Debug, Serialize, ToSchema)]
pub struct FormContent {
    /// The name.
    name: Name,
    /// The e-mail address.
    email: Email,
    /// The telephone number.
    phone: Option<Phone>,
    /// What was typed as the telephone number, if that is not the number with its country code.
    phone_as_typed: Option<TypedPhone>,
    /// The URL of the resume.
    resume_url: Option<WebAddress>,
    /// A message from the applicant.
    note: Option<Notes>,
    /// The consents that the applicant gave. A box that was not ticked says nothing.
    consents: Vec<SubmittedConsent>,
    /// The answers to the questions of the job posting.
    answers: Vec<Answer>,
}

impl From<ApplicationForm> for FormContent {
    fn from(form: ApplicationForm) -> Self {
        let ApplicationForm {
            name,
            email,
            phone,
            phone_as_typed,
            resume_url,
            note,
            consents,
            answers,
            source: _,
        } = form;
        let answers = Answer::all(answers);
        Self { name, email, phone, phone_as_typed, resume_url, note, consents, answers }
    }
}

/// An application form that was submitted on the career page.
#[derive(Debug, Serialize, ToSchema)]
pub struct Submission {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// The application.
    application_id: Id,
    /// The role.
    role_id: Id,
    #[serde(flatten)]
    content: FormContent,
    /// The resume file that came with the form.
    resume_file_id: Option<Id>,
    /// When the form was submitted.
    submitted_at: Timestamp,
}

impl Submission {
    /// The form of this candidate.
    pub fn of(candidate_id: Id, submission: model::Submission) -> Self {
        let model::Submission { id, application_id, role_id, content, resume_file_id, submitted_at } =
            submission;
        let content = content.into();
        Self { id, candidate_id, application_id, role_id, content, resume_file_id, submitted_at }
    }
}
