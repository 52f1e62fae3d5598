//! Moves of candidates and their applications between the stages of the pipeline.

use super::responses::application::{Application, ApplicationRef};
use super::responses::candidate::{Candidate, CandidateRef};
use super::responses::resume::ResumeLinks;
use crate::http::{ApiRequest, Error, Input, Personal, Reply, Visible, input};
use crate::id::Id;
use crate::model::schema::string;
use crate::model::{
    self, ApplicationStatus, CandidateRecord, Followed, Move, Moved, Notes, Reason, RoleState, Scalar, Stage,
    Step, TouchpointKind, Value,
};
use crate::store::CommitError;
use jiff::civil::Date;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::candidate_lookup::find_with_input;
use super::questions;

/// A candidate after a move.
#[derive(Debug, Serialize, ToSchema)]
pub struct MovedCandidate {
    #[serde(flatten)]
    candidate: Candidate,
    /// The applications that the move changed, newest first.
    applications: Vec<Application>,
}

/// A candidate after a move, without personal data: what a credential without the scope `candidates:read` gets.
#[derive(Debug, Serialize, ToSchema)]
pub struct MovedCandidateRef {
    #[serde(flatten)]
    candidate: CandidateRef,
    /// The applications that the move changed, newest first.
    applications: Vec<ApplicationRef>,
}

impl Personal for MovedCandidate {
    type Reference = MovedCandidateRef;

    fn into_reference(self) -> MovedCandidateRef {
        let Self { candidate, applications } = self;
        let applications = applications.into_iter().map(Personal::into_reference).collect();
        MovedCandidateRef { candidate: candidate.into_reference(), applications }
    }
}

input! {
    /// A move to another stage.
    pub struct Advance {
        /// The new stage, which must differ from the current one.
        stage: required OpenStage,
        /// The role of the application to move. By default, all active applications in other stages move.
        role_id: optional Id,
    }
}

/// A stage other than `hired` and `rejected`.
pub struct OpenStage(Stage);

impl Value for OpenStage {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match Stage::read(scalar) {
            Ok(Some(stage)) if !stage.is_end() => Ok(Some(Self(stage))),
            Ok(None) => Ok(None),
            _ => Err("must be one of applied, screening, interview, offer".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        let open = Stage::ALL.into_iter().filter(|stage| !stage.is_end()).map(Stage::as_str);
        string().enum_values(Some(open)).into()
    }
}

input! {
    /// A rejection.
    pub struct Rejection {
        /// The reason.
        reason: optional Reason,
        /// Further notes.
        notes: optional Notes,
        /// The role of the application to reject. By default, all active applications are rejected.
        role_id: optional Id,
    }

    /// A hire.
    pub struct Hire {
        /// The first day of work.
        start_date: optional Date,
        /// The role that the candidate is hired for. By default, it is the role of the active application in the furthest
        /// stage, and of the newest of several.
        role_id: optional Id,
    }

    /// An undo of a rejection or a hire.
    pub struct Undo {
        /// The role of the application. By default, the applications that the latest such move ended return.
        role_id: optional Id,
    }
}

/// Moves applications to another open stage: applied, screening, interview or offer.
///
/// With `role_id`, the application for that role moves; otherwise, all active applications in other stages do, at most
/// 10. A candidate without applications moves alone.
///
/// # Errors
///
/// - `invalid_transition`: no application can make this move, or its role is closed.
pub async fn advance(request: ApiRequest<Advance>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    make(&request, |input| input.role_id, |input| Move::Advance(input.stage.0)).await
}

/// Rejects applications: the one for the role `role_id`, or all active ones, at most 10. A candidate without
/// applications is rejected alone.
///
/// # Errors
///
/// - `invalid_transition`: no application can make this move, or its role is closed.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn reject(request: ApiRequest<Rejection>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let step = |input: Rejection| Move::Reject { reason: input.reason, notes: input.notes };
    make(&request, |input| input.role_id, step).await
}

/// Undoes a rejection: the application for the role `role_id`, or those that the latest rejection ended, return to the
/// stage before.
///
/// # Errors
///
/// - `invalid_transition`: no application is rejected.
pub async fn unreject(request: ApiRequest<Undo>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    make(&request, |input| input.role_id, |_| Move::Unreject).await
}

/// Hires a candidate for a role: `role_id`, or the role of the active application in the furthest stage.
///
/// # Errors
///
/// - `invalid_transition`: no application can make this move, or its role is closed.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn hire(request: ApiRequest<Hire>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    make(&request, |input| input.role_id, |input| Move::Hire { start_date: input.start_date }).await
}

/// Undoes a hire: the application for the role `role_id`, or the one that was hired last, returns to the stage before.
///
/// # Errors
///
/// - `invalid_transition`: no application is hired.
pub async fn unhire(request: ApiRequest<Undo>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    make(&request, |input| input.role_id, |_| Move::Unhire).await
}

/// Makes a move. If it may have failed only because copies of roles are out of date, reads the changes of roles and tries again.
async fn make<I: Input>(
    request: &ApiRequest<I>,
    role_id: impl Fn(&I) -> Option<Id>,
    step: impl Fn(I) -> Move,
) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let (input, before) = find_with_input(request).await?;
    let (role_id, step) = (role_id(&input), step(input));
    match attempt(request, &before, &[], &step, role_id).await {
        Err(error) if may_be_outdated(&error, &before) => {
            let changes = request.context.store().list_role_changes(request.tenant()).await?;
            attempt(request, &before, &changes, &step, role_id).await
        }
        result => result,
    }
}

/// Whether a move may have failed only because a role has been closed or reopened since it was copied.
fn may_be_outdated(error: &Error, record: &CandidateRecord) -> bool {
    match error {
        Error::Commit(CommitError::RoleChanged) => true,
        Error::InvalidTransition(_) => {
            record.applications.iter().any(|application| application.status() == ApplicationStatus::Closed)
        }
        _ => false,
    }
}

/// Makes a move with these changes of roles.
async fn attempt<I>(
    request: &ApiRequest<I>,
    before: &CandidateRecord,
    roles: &[RoleState],
    step: &Move,
    role_id: Option<Id>,
) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let now = request.context.now();
    let followed = before.clone().follow(roles, now);
    let Followed { record, statuses } =
        followed.unwrap_or_else(|| Followed { record: before.clone(), statuses: Vec::new() });
    let stage = role_id.and_then(|role| record.application(role)).map(|application| application.stage);
    request.check_stage(stage.unwrap_or(record.candidate.stage).as_str())?;
    let Moved { record, steps } = record.make(step, role_id, now)?;
    match step {
        Move::Reject { .. } => request.confirm(|| questions::of_end(before, "Reject", role_id)).await?,
        Move::Hire { .. } => request.confirm(|| questions::of_end(before, "Hire", role_id)).await?,
        Move::Advance(_) | Move::Unreject | Move::Unhire => {}
    }
    let mut history: Vec<_> = statuses.iter().map(TouchpointKind::of_status).collect();
    history.extend(steps.iter().map(|made| TouchpointKind::of(step, *made)));
    let mut transaction = request.transaction();
    transaction.replace_candidate(before, &record, &request.author().touchpoints(history))?;
    request.commit(transaction, reply(request, &record, &steps).await?).await
}

/// Returns the response with the candidate and the applications that changed.
async fn reply<I>(
    request: &ApiRequest<I>,
    record: &CandidateRecord,
    steps: &[Step],
) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let candidate = &record.candidate;
    let links =
        ResumeLinks::of_candidates(request.context.providers().await, request.context.now(), [candidate])
            .await;
    let changed = |application: &&model::Application| {
        steps.iter().any(|step| step.role_id == Some(application.role.id))
    };
    let applications = record.applications.iter().rev().filter(changed);
    let applications = applications.map(|application| Application::of(candidate.id, application)).collect();
    let identity = request.visible(Candidate::of(candidate.clone(), &ResumeLinks::Keys));
    let moved = MovedCandidate { candidate: Candidate::of(candidate.clone(), &links), applications };
    Reply::resource_as(&request.visible(moved), &identity)
}
