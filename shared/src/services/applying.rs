//! Applying for a role, through the API or on the career page.

use super::Author;
use crate::model::{
    Application, ApplicationError, CandidateRecord, Consent, Role, Source, Submission, SubmittedConsent,
    TooManyConsents, TouchpointKind,
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
/// The consents in a submission are recorded only for a new candidate. For an existing one they remain part of the
/// submission, because anyone can submit a form with another person's e-mail address.
pub fn apply_for(
    transaction: &mut Transaction,
    applicant: Applicant,
    role: &Role,
    source: Source,
    submission: Option<Box<Submission>>,
    author: &Author<'_>,
) -> Result<(CandidateRecord, Application), ApplyError> {
    let (before, is_new) = match applicant {
        Applicant::New(record) => (record, true),
        Applicant::Known(record) => (record, false),
    };
    let mut after = before.clone().apply(author.ids.next(), role, source.clone(), author.at)?;
    let application = after.applications.last().cloned();
    let application =
        application.ok_or_else(|| StoreError::Internal("the application was not added".to_owned()))?;
    let applied = TouchpointKind::Applied {
        application_id: application.id,
        role_id: role.id,
        source: source.clone(),
        submission: submission.clone(),
    };
    transaction.require_role(role);
    if is_new {
        let mut history = vec![TouchpointKind::Created { source }];
        for SubmittedConsent { purpose, wording } in submission.into_iter().flat_map(|form| form.consents) {
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
    Ok((after, application))
}
