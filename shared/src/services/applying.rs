//! Applying for a role, through the API or on the career page, and applying again.

use super::Author;
use crate::id::Id;
use crate::model::{
    Application, ApplicationError, ApplicationForm, CandidateRecord, Consent, Role, Source, Submission,
    Submitted, SubmittedConsent, TooManyConsents, TouchpointKind,
};
use crate::store::{StoreError, Transaction};

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

/// Adds an application to the transaction: the candidate's record, the application's list entry, the role's counter and
/// the history. The role must not change before the commit. Returns the record with the application as its last one.
///
/// The consents in a form are recorded only for a new candidate. To an existing one they are only offered, because anyone
/// can submit a form with another person's e-mail address.
pub fn apply_for(
    transaction: &mut Transaction,
    applicant: Applicant,
    role: &Role,
    source: Source,
    form: Option<ApplicationForm>,
    author: &Author<'_>,
) -> Result<(CandidateRecord, Application), ApplyError> {
    let (before, is_new) = match applicant {
        Applicant::New(record) => (record, true),
        Applicant::Known(record) => (record, false),
    };
    let mut after = before.clone().apply(author.ids.next(), role, source.clone(), author.at)?;
    let not_added = || StoreError::Internal("the application was not added".to_owned());
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
    let consents = submission.into_iter().flat_map(|submission| submission.content.consents);
    transaction.require_role(role);
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
    let application = after.applications.last().cloned().ok_or_else(not_added)?;
    Ok((after, application))
}

/// Adds a form to the transaction with which a candidate applies again for a role, whatever became of the application. It
/// changes neither the stage nor the candidate's data. Returns the submission's identifier. The role must not change
/// before the commit.
pub fn apply_again(
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
    transaction.require_role(role);
    transaction.insert_submission(candidate_id, &submission)?;
    // During a legal hold, nothing about the candidate is deleted.
    if let Some(dropped) = dropped.filter(|_| before.legal_hold.is_none()) {
        transaction.delete_submission(candidate_id, dropped);
    }
    let reapplied = TouchpointKind::Reapplied { application_id, role_id: role.id, submission_id };
    transaction.replace_candidate(before, &record, &author.touchpoints([reapplied]))?;
    Ok(submission_id)
}

fn submission(content: ApplicationForm, application_id: Id, role_id: Id, author: &Author<'_>) -> Submission {
    let (id, submitted_at) = (author.ids.next(), author.at);
    Submission { id, application_id, role_id, content, resume_file_id: None, submitted_at }
}
