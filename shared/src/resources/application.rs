//! Applications, as the API shows them.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Serialize;
use utoipa::ToSchema;

use crate::id::Id;
use crate::model::{self, ApplicationStatus, Reason, Source, Stage, Title};

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
    /// When the candidate applied.
    applied_at: Timestamp,
    /// When the application reached its stage.
    stage_changed_at: Timestamp,
    /// The reason for the rejection.
    rejection_reason: Option<Reason>,
    /// The first day of work of a hired candidate.
    start_date: Option<Date>,
    /// When the application was created.
    created_at: Timestamp,
    /// When the application was last updated.
    updated_at: Timestamp,
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
            applied_at: application.applied_at,
            stage_changed_at: application.stage_changed_at,
            rejection_reason: application.rejection_reason.clone(),
            start_date: application.start_date,
            created_at: application.applied_at,
            updated_at: application.updated_at,
        }
    }
}
