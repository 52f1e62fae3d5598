//! Submitted application forms: what they contain, and what members do with what they offer.

use super::responses::candidate::Candidate;
use super::responses::submission::Submission;
use crate::http::{ApiRequest, Error, Reply, Visible, input};
use crate::id::Id;
use crate::model::{self, CandidateRecord, Consent, ConsentPurpose, ConsentWording, Offered, TouchpointKind};
use crate::store::StoreError;

use super::candidate_lookup::find;
use super::candidates::{changed_fields, reply};

input! {
    /// The application whose offer a member accepts or dismisses.
    pub struct OfferOf {
        application_id: required Id,
    }
}

/// Returns an application form that was submitted on the career page.
pub async fn show_submission(request: ApiRequest<()>) -> Result<Reply<Submission>, Error> {
    let Ok(id) = request.context.path_parameter("submission_id").parse() else {
        return Err(find(&request).await.err().unwrap_or(Error::NotFound));
    };
    let (store, candidate_id) = (request.context.store(), request.id()?);
    let (candidate, submission) =
        tokio::join!(find(&request), store.find_submission(request.tenant(), candidate_id, id));
    candidate?;
    let submission = submission?.ok_or(Error::NotFound)?;
    request.input()?;
    Reply::resource(&Submission::of(candidate_id, submission))
}

/// Takes over what forms with the candidate's e-mail address offer to an application: the telephone number, the consents
/// and the resume file. Fails with 412 if it is not what the member saw.
pub async fn accept_offered(request: ApiRequest<OfferOf>) -> Result<Reply<Visible<Candidate>>, Error> {
    let before = find(&request).await?;
    let (application_id, role_id, offered) = offer(&request, &before)?;
    let (candidate_id, author) = (before.candidate.id, request.author());
    let store = request.context.store();
    let (forms, file) = store.find_offer(request.tenant(), candidate_id, &offered).await?;
    if offered.resume_file_id.is_some() && file.is_none() {
        return Err(StoreError::Internal("an offered file is missing".to_owned()).into());
    }
    let mut after = before.clone().accept_offered(application_id, file.as_ref(), author.at);
    let fields = changed_fields(&before.candidate.profile, &after.candidate.profile);
    let mut history = vec![TouchpointKind::OfferedAccepted { application_id, role_id }];
    history.extend((!fields.is_empty()).then_some(TouchpointKind::Updated { fields, resume: None }));
    let mut transaction = request.transaction();
    if let Some(file) = &file {
        transaction.accept_file(candidate_id, file)?;
    }
    for consent in &offered.consents {
        let form = forms.iter().find(|form| form.id == consent.submission_id);
        let given = form.and_then(|form| wording(form, consent.purpose));
        let wording =
            given.ok_or_else(|| StoreError::Internal("an offered consent is missing".to_owned()))?;
        let consent = Consent {
            id: author.ids.next(),
            purpose: consent.purpose,
            granted: true,
            obtained_at: consent.obtained_at,
            wording: wording.clone(),
            actor: author.actor.clone(),
            created_at: author.at,
        };
        transaction.insert_consent(candidate_id, &consent)?;
        history.push(TouchpointKind::of_consent(&consent));
        after = after.record_consent(consent)?;
    }
    transaction.replace_candidate(&before, &after, &author.touchpoints(history))?;
    request.commit(transaction, reply(&request, after.candidate).await?).await
}

/// Dismisses what forms with the candidate's e-mail address offer to an application. The submissions keep it. Fails with
/// 412 if it is not what the member saw.
pub async fn dismiss_offered(request: ApiRequest<OfferOf>) -> Result<Reply<Visible<Candidate>>, Error> {
    let before = find(&request).await?;
    let (application_id, role_id, _) = offer(&request, &before)?;
    let author = request.author();
    let after = before.clone().dismiss_offered(application_id);
    let mut transaction = request.transaction();
    let dismissed = TouchpointKind::OfferedDismissed { application_id, role_id };
    transaction.replace_candidate(&before, &after, &author.touchpoints([dismissed]))?;
    request.commit(transaction, reply(&request, after.candidate).await?).await
}

/// The application, its role, and the offer that the member saw.
fn offer(request: &ApiRequest<OfferOf>, record: &CandidateRecord) -> Result<(Id, Id, Offered), Error> {
    let OfferOf { application_id } = request.input()?;
    let application = record.applications.iter().find(|application| application.id == application_id);
    let application = application.ok_or(Error::NotFound)?;
    let offered = application.offered.clone().ok_or(Error::PreconditionFailed)?;
    request.check_precondition(&offered)?;
    Ok((application_id, application.role.id, offered))
}

fn wording(form: &model::Submission, purpose: ConsentPurpose) -> Option<&ConsentWording> {
    let consent = form.content.consents.iter().find(|consent| consent.purpose == purpose)?;
    Some(&consent.wording)
}
