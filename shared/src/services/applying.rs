//! Applying for a role, through the API or on the career page, and applying again.

use super::Author;
use crate::id::Id;
use crate::model::{
    Answer, Answers, Application, ApplicationError, ApplicationForm, CandidateRecord, Consent, Origin,
    Profile, Resume, Role, Submission, Submitted, SubmittedConsent, TooManyConsents, TouchpointKind,
};
use crate::store::{StoreError, SubmittedWith, Transaction, Upload};

/// A candidate who applies for a role.
pub enum Applicant {
    /// A candidate who is created with the application.
    New(CandidateRecord),
    /// An existing candidate.
    Known(CandidateRecord),
}

/// Why a candidate cannot apply.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The candidate or the role does not allow it.
    #[error(transparent)]
    Rejected(#[from] ApplicationError),
    /// The candidate has too many consents.
    #[error(transparent)]
    Consents(#[from] TooManyConsents),
    /// The write could not be prepared.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Adds a form of the career page to the transaction: as the application of a new candidate or of the `existing` one with the
/// same e-mail address, or as another form of the application for this role. Returns what a file belongs to that comes with the
/// form or after it. Of a candidate who has too many applications, the transaction then only requires that nothing else
/// changes. Fails if the role is not open.
pub fn apply_with_form(
    transaction: &mut Transaction,
    role: &Role,
    existing: Option<CandidateRecord>,
    form: ApplicationForm,
    author: &Author<'_>,
) -> Result<Upload, ApplyError> {
    let is_new = existing.is_none();
    let before = existing.unwrap_or_else(|| new_candidate(&form, author));
    let candidate_id = before.candidate.id;
    let applicant = if is_new { Applicant::New(before.clone()) } else { Applicant::Known(before.clone()) };
    let answers = form.answers.clone();
    let applied = apply_for(transaction, applicant, role, form.source(), Some(form.clone()), answers, author);
    let submitted = match applied {
        Ok((_, application)) => {
            let submission = application.submissions.last().copied();
            Some((application.id, submission.ok_or_else(not_added)?, true))
        }
        Err(ApplyError::Rejected(ApplicationError::AlreadyApplied(id))) => {
            Some((id, apply_again(transaction, &before, id, role, form, author)?, false))
        }
        Err(ApplyError::Rejected(ApplicationError::TooMany)) => {
            transaction.require_candidate(&before);
            None
        }
        Err(error) => return Err(error),
    };
    let submitted = submitted.map(|(application_id, submission_id, is_first)| SubmittedWith {
        application_id,
        submission_id,
        is_first,
    });
    Ok(Upload { candidate_id, is_new, submitted })
}

fn new_candidate(form: &ApplicationForm, author: &Author<'_>) -> CandidateRecord {
    let ApplicationForm { name, email, phone, resume_url, .. } = form.clone();
    let (resume, source) = (resume_url.map(Resume::Address), Some(form.source()));
    let profile = Profile { phone, resume, source, ..Profile::new(name, email) };
    CandidateRecord::new(author.ids.next(), profile, author.at)
}

/// Adds writes that change nothing, until the transaction with a form has as many as if the candidate were new: otherwise the
/// time that it takes would tell who is known. A new candidate takes the most.
pub fn hide_known(
    transaction: &mut Transaction,
    candidate: Id,
    role: &Role,
    form: ApplicationForm,
    author: &Author<'_>,
) -> Result<(), ApplyError> {
    let mut as_new = Transaction::new(transaction.tenant());
    let applicant = Applicant::New(new_candidate(&form, author));
    let answers = form.answers.clone();
    apply_for(&mut as_new, applicant, role, form.source(), Some(form), answers, author)?;
    transaction.pad(as_new.sent(), candidate);
    Ok(())
}

/// Adds an application to the transaction: the candidate's record, the application's list entry, the role's counter and
/// the answers and the history. The role's status and title must not change before the commit. Returns the record with the
/// application as its last one.
///
/// The consents in a form are recorded only for a new candidate. To an existing one they are only offered, because anyone
/// can submit a form with another person's e-mail address.
pub fn apply_for(
    transaction: &mut Transaction,
    applicant: Applicant,
    role: &Role,
    origin: impl Into<Origin>,
    form: Option<ApplicationForm>,
    answers: Vec<Answer>,
    author: &Author<'_>,
) -> Result<(CandidateRecord, Application), ApplyError> {
    let origin = origin.into();
    let source = origin.source.clone();
    let (before, is_new) = match applicant {
        Applicant::New(record) => (record, true),
        Applicant::Known(record) => (record, false),
    };
    let mut after = before.clone().apply(author.ids.next(), role, origin, author.at)?;
    let application_id = after.applications.last().ok_or_else(not_added)?.id;
    let submission = form.map(|form| submission(form, application_id, role.id, author));
    let applied = TouchpointKind::Applied {
        application_id,
        role_id: role.id,
        source: source.clone(),
        submission_id: submission.as_ref().map(|submission| submission.id),
    };
    if let Some(submission) = &submission {
        transaction.insert_submission(after.candidate.id, submission)?;
        after = after.with_first_submission(submission, !is_new);
    }
    if !answers.is_empty() {
        transaction.insert_answers(after.candidate.id, &Answers { application_id, answers })?;
        after = after.with_answers(application_id);
    }
    let consents = submission.into_iter().flat_map(|submission| submission.content.consents);
    if is_new {
        let mut history = vec![TouchpointKind::Created { source }];
        for SubmittedConsent { purpose, wording } in consents {
            let consent = Consent {
                id: author.ids.next(),
                purpose,
                granted: true,
                obtained_at: author.at,
                wording,
                actor: author.actor.clone(),
                created_at: author.at,
            };
            transaction.insert_consent(after.candidate.id, &consent)?;
            history.push(TouchpointKind::of_consent(&consent));
            after = after.record_consent(consent)?;
        }
        history.push(applied);
        transaction.insert_candidate(after.clone(), &author.touchpoints(history))?;
    } else {
        transaction.replace_candidate(&before, &after, &author.touchpoints([applied]))?;
    }
    transaction.require_role_state(role);
    let application = after.applications.last().cloned().ok_or_else(not_added)?;
    Ok((after, application))
}

fn not_added() -> StoreError {
    StoreError::Internal("the application was not added".to_owned())
}

/// Adds a form to the transaction with which a candidate applies again for a role, whatever became of the application. It
/// changes neither the stage nor the candidate's data. Returns the submission's identifier. The role's status and title must
/// not change before the commit.
fn apply_again(
    transaction: &mut Transaction,
    before: &CandidateRecord,
    application_id: Id,
    role: &Role,
    form: ApplicationForm,
    author: &Author<'_>,
) -> Result<Id, StoreError> {
    let candidate_id = before.candidate.id;
    let submission = submission(form, application_id, role.id, author);
    let submission_id = submission.id;
    let Submitted { record, dropped } = before.clone().reapply(&submission);
    transaction.insert_submission(candidate_id, &submission)?;
    // During a legal hold, nothing about the candidate is deleted.
    if let Some(dropped) = dropped.filter(|_| before.legal_hold.is_none()) {
        transaction.delete_submission(candidate_id, dropped);
    }
    let reapplied = TouchpointKind::Reapplied { application_id, role_id: role.id, submission_id };
    transaction.replace_candidate(before, &record, &author.touchpoints([reapplied]))?;
    transaction.require_role_state(role);
    Ok(submission_id)
}

fn submission(content: ApplicationForm, application_id: Id, role_id: Id, author: &Author<'_>) -> Submission {
    let (id, submitted_at) = (author.ids.next(), author.at);
    Submission { id, application_id, role_id, content, resume_file_id: None, submitted_at }
}
