//! Submitted application forms on a candidate's page: what they contain, and what they offer.

use std::collections::HashMap;
use std::sync::Arc;

use shared::handlers::submissions;
use shared::http::{Error, Html, MemberRequest, Reply, entity_tag};
use shared::id::Id;
use shared::model::{
    Application, CandidateFile, CandidateRecord, ConsentPurpose, Phone, ResumeFile, Submission,
    SubmittedConsent, Text, Touchpoint, TouchpointKind, TypedPhone, WebAddress,
};

use crate::answers::{self, AnswerRow};
use crate::candidate_list::candidate_path;
use crate::dates::{Time, Zone};
use crate::files;
use crate::form_page::fields_of;
use crate::messages::{Alert, Notice};

/// A candidate's submitted forms and their files.
pub(crate) struct Submissions {
    candidate: Id,
    forms: HashMap<Id, Submission>,
    /// Newest first.
    files: Vec<CandidateFile>,
}

/// A submitted form in the history.
pub(crate) struct FormRow<'p> {
    pub(crate) name: &'p str,
    pub(crate) email: &'p str,
    pub(crate) phone: Option<&'p str>,
    /// What was typed as the telephone number, if that is not the number with its country code.
    pub(crate) phone_as_typed: Option<&'p str>,
    pub(crate) resume_url: Option<&'p str>,
    /// The applicant's message.
    pub(crate) note: Option<&'p str>,
    pub(crate) consents: &'p [SubmittedConsent],
    pub(crate) answers: Vec<AnswerRow<'p>>,
    /// The path of the resume file.
    pub(crate) file: Option<String>,
}

/// What forms have offered to an application.
pub(crate) struct OfferRow<'p> {
    pub(crate) phone: Option<&'p str>,
    pub(crate) consents: Vec<OfferedConsentRow<'p>>,
    pub(crate) has_file: bool,
    /// The path of the resume file.
    pub(crate) file: Option<String>,
    /// The version that the member sees.
    pub(crate) seen: String,
}

/// A consent that a form brought.
pub(crate) struct OfferedConsentRow<'p> {
    /// What it is for, after the words "consent to".
    pub(crate) purpose: &'static str,
    pub(crate) obtained: Time,
    pub(crate) wording: &'p str,
}

impl Submissions {
    /// Reads the submitted forms of a candidate.
    pub(crate) async fn of(request: &MemberRequest, record: &CandidateRecord) -> Result<Self, Error> {
        let store = request.context.store();
        let (forms, files) = store.list_submissions(request.tenant(), record.candidate.id).await?;
        let forms = forms.into_iter().map(|form| (form.id, form)).collect();
        Ok(Self { candidate: record.candidate.id, forms, files })
    }

    /// The message of the latest form that applied for a role. `touchpoints` are newest first.
    pub(crate) fn note(&self, touchpoints: &[Touchpoint], role: Id) -> Option<&str> {
        let id = touchpoints.iter().find_map(|touchpoint| match &touchpoint.kind {
            TouchpointKind::Applied { role_id, submission_id, .. } if *role_id == role => *submission_id,
            TouchpointKind::Reapplied { role_id, submission_id, .. } if *role_id == role => {
                Some(*submission_id)
            }
            _ => None,
        })?;
        self.forms.get(&id)?.content.note.as_ref().map(Text::as_str)
    }

    /// The form that a touchpoint names, unless it is no longer kept.
    pub(crate) fn form(&self, touchpoint: &Touchpoint) -> Option<FormRow<'_>> {
        let id = match &touchpoint.kind {
            TouchpointKind::Applied { submission_id, .. } => (*submission_id)?,
            TouchpointKind::Reapplied { submission_id, .. } => *submission_id,
            _ => return None,
        };
        let form = self.forms.get(&id)?;
        let content = &form.content;
        Some(FormRow {
            name: content.name.as_str(),
            email: content.email.as_str(),
            phone: content.phone.as_ref().map(Phone::as_str),
            phone_as_typed: content.phone_as_typed.as_ref().map(TypedPhone::as_str),
            resume_url: content.resume_url.as_ref().map(WebAddress::as_str),
            note: content.note.as_ref().map(Text::as_str),
            consents: &content.consents,
            answers: answers::rows(&content.answers, Some(self.candidate)),
            file: self.link(form.resume_file_id),
        })
    }

    /// The path that opens a file, if the candidate has it.
    pub(crate) fn link(&self, file: Option<Id>) -> Option<String> {
        let file = self.files.iter().find(|one| Some(one.id) == file)?;
        file.ready().map(|_| files::path(self.candidate, file.id))
    }

    /// All files of the candidate, newest first.
    pub(crate) fn files(&self) -> &[CandidateFile] {
        &self.files
    }

    /// The file with this content.
    pub(crate) fn of_stored(&self, stored: &ResumeFile) -> Option<&CandidateFile> {
        self.files.iter().find(|file| file.stored() == Some(stored))
    }

    /// What waits for a decision.
    pub(crate) fn offer<'p>(
        &'p self,
        application: &'p Application,
        zone: &Zone,
    ) -> Result<Option<OfferRow<'p>>, Error> {
        let Some(offered) = &application.offered else { return Ok(None) };
        let wording = |form: Id, purpose: ConsentPurpose| {
            let consents = &self.forms.get(&form)?.content.consents;
            consents.iter().find(|consent| consent.purpose == purpose)
        };
        let consents = offered.consents.iter().map(|offered| OfferedConsentRow {
            purpose: offered.purpose.words(),
            obtained: zone.minute(offered.obtained_at),
            wording: wording(offered.submission_id, offered.purpose)
                .map_or("", |consent| consent.wording.as_str()),
        });
        Ok(Some(OfferRow {
            phone: offered.phone.as_ref().map(Phone::as_str),
            consents: consents.collect(),
            has_file: offered.resume_file_id.is_some(),
            file: self.link(offered.resume_file_id),
            seen: entity_tag(offered)?,
        }))
    }
}

/// Accepts or dismisses what forms have offered to an application.
pub(crate) async fn decide(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let path = candidate_path(&request, request.context.id()?);
    let form = request.page.form();
    let call = request.call(fields_of(&[("application_id", form.get("application_id"))]));
    let (done, notice) = match form.get("action") {
        "accept" => (request.carry_out(call, submissions::accept_offered).await, Notice::OfferAccepted),
        "dismiss" => (request.carry_out(call, submissions::dismiss_offered).await, Notice::OfferDismissed),
        _ => return Err(Error::BadRequest("The form must name an action that the page offers".to_owned())),
    };
    match done {
        Ok(_) => Ok(notice.redirect_to(&path)),
        Err(Error::PreconditionFailed) => Ok(Alert::OfferChanged.redirect_to(&path)),
        Err(error) => Err(error),
    }
}
