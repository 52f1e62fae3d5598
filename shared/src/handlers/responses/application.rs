//! Applications, as the API shows them.

use jiff::civil::Date;
use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::http::Personal;
use crate::id::Id;
use crate::model::{
    self, ApplicationStatus, ConsentPurpose, EndedBy, ExternalId, Phone, Reason, Source, Stage, Title,
};

/// A candidate's application for a role.
#[derive(Debug, Serialize, ToSchema)]
pub struct Application {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// The role.
    role_id: Id,
    /// The role's title.
    role_title: Title,
    /// The stage. Only moves such as `advance` and `reject` change it.
    stage: Stage,
    /// The status. An application in an open stage is `closed` while its role is closed.
    status: ApplicationStatus,
    /// Where the application came from.
    source: Source,
    /// The identifier in another system. Several applications may have the same.
    external_id: Option<ExternalId>,
    /// When the candidate applied.
    applied_at: Timestamp,
    /// When the candidate last applied again for the role, on the career page.
    reapplied_at: Option<Timestamp>,
    /// The number of submissions that are no longer kept.
    resubmissions: u64,
    /// When the application reached its stage.
    stage_changed_at: Timestamp,
    /// Who ended the application, why and where; `null` if it is not rejected.
    rejection: Option<ApplicationRejection>,
    /// The reason for the rejection: that of `rejection`.
    rejection_reason: Option<Reason>,
    /// The first day of work of a hired candidate.
    start_date: Option<Date>,
    /// The resume file of the application.
    resume_file_id: Option<Id>,
    /// When the application was created.
    created_at: Timestamp,
    /// When the application was last updated.
    updated_at: Timestamp,
}

/// The end of an application that is rejected.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationRejection {
    /// Who ended it: the team, or the candidate, who withdrew.
    by: EndedBy,
    /// The reason in the organization's list.
    reason_id: Option<Id>,
    /// The reason as a text: the one that was given or, without one, the name that the reason in the list had then.
    reason: Option<Reason>,
    /// The stage before; `null` if it is not known.
    stage: Option<Stage>,
}

impl From<model::Rejection<'_>> for ApplicationRejection {
    fn from(model::Rejection { cause, stage }: model::Rejection<'_>) -> Self {
        Self { by: cause.by, reason_id: cause.reason_id, reason: cause.reason.clone(), stage }
    }
}

impl Application {
    /// The application of a candidate. Its copy of the role must be current.
    pub fn of(candidate_id: Id, application: &model::Application) -> Self {
        Self {
            id: application.id,
            candidate_id,
            role_id: application.role.id,
            role_title: application.role.title.clone(),
            stage: application.stage,
            status: application.status(),
            source: application.source.clone(),
            external_id: application.external_id.clone(),
            applied_at: application.applied_at,
            reapplied_at: application.reapplied_at,
            resubmissions: application.resubmissions,
            stage_changed_at: application.stage_changed_at,
            rejection: application.rejection().map(ApplicationRejection::from),
            rejection_reason: application.cause.reason.clone(),
            start_date: application.start_date,
            resume_file_id: application.resume_file_id,
            created_at: application.applied_at,
            updated_at: application.updated_at,
        }
    }
}

/// An application without personal data: what a credential without the scope `candidates:read` gets.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationRef {
    /// The identifier.
    id: Id,
    /// The candidate.
    candidate_id: Id,
    /// The role.
    role_id: Id,
    /// The stage.
    stage: Stage,
    /// The status.
    status: ApplicationStatus,
    /// When the candidate applied.
    applied_at: Timestamp,
    /// When the candidate last applied again for the role, on the career page.
    reapplied_at: Option<Timestamp>,
    /// When the application reached its stage.
    stage_changed_at: Timestamp,
    /// When the application was created.
    created_at: Timestamp,
    /// When the application was last updated.
    updated_at: Timestamp,
}

impl Personal for Application {
    type Reference = ApplicationRef;

    fn into_reference(self) -> ApplicationRef {
        ApplicationRef {
            id: self.id,
            candidate_id: self.candidate_id,
            role_id: self.role_id,
            stage: self.stage,
            status: self.status,
            applied_at: self.applied_at,
            reapplied_at: self.reapplied_at,
            stage_changed_at: self.stage_changed_at,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// What forms with a candidate's e-mail address brought. It changes nothing until a member accepts it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Offered {
    /// The telephone number.
    phone: Option<Phone>,
    /// The consents, at most one for each purpose.
    consents: Vec<OfferedConsent>,
    /// The resume file.
    resume_file_id: Option<Id>,
}

/// A consent that a form brought.
#[derive(Debug, Serialize, ToSchema)]
pub struct OfferedConsent {
    /// What the consent is for.
    purpose: ConsentPurpose,
    /// When the form was submitted.
    obtained_at: Timestamp,
    /// The submitted form, which contains the wording.
    submission_id: Id,
}

impl From<model::Offered> for Offered {
    fn from(offered: model::Offered) -> Self {
        let model::Offered { phone, consents, resume_file_id } = offered;
        let consents = consents.into_iter().map(|consent| {
            let model::OfferedConsent { purpose, obtained_at, submission_id } = consent;
            OfferedConsent { purpose, obtained_at, submission_id }
        });
        Self { phone, consents: consents.collect(), resume_file_id }
    }
}
