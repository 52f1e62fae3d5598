//! Moves of candidates and their applications between the stages of the pipeline.

use super::responses::application::{Application, ApplicationRef};
use super::responses::candidate::{Candidate, CandidateRef};
use super::responses::resume::ResumeLinks;
use crate::http::{ApiRequest, Error, Input, Personal, Reply, Visible, input};
use crate::id::Id;
use crate::model::schema::string;
use crate::model::{
    self, ApplicationStatus, CandidateRecord, Cause, EndedBy, Followed, Move, Moved, Notes, Reason,
    RejectionReasons, RoleState, Scalar, Stage, Step, TouchpointKind, Value,
};
use crate::store::CommitError;
use futures_util::future::OptionFuture;
use futures_util::join;
use jiff::civil::Date;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::candidate_lookup::{find, find_with_input};
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
        /// The reason in the organization's list: an active one of the team.
        reason_id: optional Id,
        /// The reason as a text. By default, it is the name of the reason in the list.
        reason: optional Reason,
        /// Further notes.
        notes: optional Notes,
        /// The role of the application to reject. By default, all active applications are rejected.
        role_id: optional Id,
    }

    /// A withdrawal by the candidate.
    pub struct Withdrawal {
        /// The reason in the organization's list: an active one of the candidate.
        reason_id: optional Id,
        /// The reason as a text. By default, it is the name of the reason in the list.
        reason: optional Reason,
        /// The role of the application that the candidate withdraws. By default, all active applications are withdrawn.
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

    /// An undo of a rejection, a withdrawal or a hire.
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
    let (Advance { stage, role_id }, before) = find_with_input(&request).await?;
    make(&request, &before, &Move::Advance(stage.0), role_id).await
}

/// Rejects applications: the one for the role `role_id`, or all active ones, at most 10. A candidate without
/// applications is rejected alone.
///
/// # Errors
///
/// - `invalid_transition`: no application can make this move, or its role is closed.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn reject(request: ApiRequest<Rejection>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let listed = |input: &Rejection| input.reason_id;
    let (Rejection { reason_id, reason, notes, role_id }, before, reasons) =
        find_with_reasons(&request, listed).await?;
    let cause = cause(reasons.as_ref(), EndedBy::Team, reason_id, reason)?;
    make(&request, &before, &Move::Reject { cause, notes }, role_id).await
}

/// Ends applications because the candidate withdraws: the one for the role `role_id`, or all active ones, at most 10. They are
/// then rejected by the candidate. A candidate without applications withdraws alone.
///
/// # Errors
///
/// - `invalid_transition`: no application can make this move, or its role is closed.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn withdraw(request: ApiRequest<Withdrawal>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let listed = |input: &Withdrawal| input.reason_id;
    let (Withdrawal { reason_id, reason, role_id }, before, reasons) =
        find_with_reasons(&request, listed).await?;
    let cause = cause(reasons.as_ref(), EndedBy::Candidate, reason_id, reason)?;
    make(&request, &before, &Move::Reject { cause, notes: None }, role_id).await
}

/// Reads the input, and loads the candidate named in the path and, if the input has one of the reasons in the list, the list. An
/// invalid input is reported only if the candidate exists.
async fn find_with_reasons<I: Input>(
    request: &ApiRequest<I>,
    listed: impl Fn(&I) -> Option<Id>,
) -> Result<(I, CandidateRecord, Option<RejectionReasons>), Error> {
    let input = match request.input() {
        Ok(input) => input,
        Err(invalid) => return Err(find(request).await.err().unwrap_or(invalid)),
    };
    let reasons = listed(&input).map(|_| request.context.store().get_rejection_reasons(request.tenant()));
    let (before, reasons) = join!(find(request), OptionFuture::from(reasons));
    Ok((input, before?, reasons.transpose()?))
}

/// The cause of a rejection. Fails if the reason in the list is unknown, inactive or of the other side.
fn cause(
    reasons: Option<&RejectionReasons>,
    by: EndedBy,
    reason_id: Option<Id>,
    reason: Option<Reason>,
) -> Result<Cause, Error> {
    match (reasons, reason_id) {
        (Some(reasons), Some(id)) => {
            reasons.cause(by, id, reason).map_err(|message| Error::Validation(vec![message]))
        }
        _ => Ok(Cause { by, reason_id, reason }),
    }
}

/// Undoes a rejection or a withdrawal: the application for the role `role_id`, or those that the latest one ended, return to
/// the stage before.
///
/// # Errors
///
/// - `invalid_transition`: no application is rejected.
pub async fn unreject(request: ApiRequest<Undo>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let (Undo { role_id }, before) = find_with_input(&request).await?;
    make(&request, &before, &Move::Unreject, role_id).await
}

/// Hires a candidate for a role: `role_id`, or the role of the active application in the furthest stage.
///
/// # Errors
///
/// - `invalid_transition`: no application can make this move, or its role is closed.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn hire(request: ApiRequest<Hire>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let (Hire { start_date, role_id }, before) = find_with_input(&request).await?;
    make(&request, &before, &Move::Hire { start_date }, role_id).await
}

/// Undoes a hire: the application for the role `role_id`, or the one that was hired last, returns to the stage before.
///
/// # Errors
///
/// - `invalid_transition`: no application is hired.
pub async fn unhire(request: ApiRequest<Undo>) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    let (Undo { role_id }, before) = find_with_input(&request).await?;
    make(&request, &before, &Move::Unhire, role_id).await
}

/// Makes a move. If it may have failed only because copies of roles are out of date, reads the changes of roles and tries again.
async fn make<I>(
    request: &ApiRequest<I>,
    before: &CandidateRecord,
    step: &Move,
    role_id: Option<Id>,
) -> Result<Reply<Visible<MovedCandidate>>, Error> {
    match attempt(request, before, &[], step, role_id).await {
        Err(error) if may_be_outdated(&error, before) => {
            let changes = request.context.store().list_role_changes(request.tenant()).await?;
            attempt(request, before, &changes, step, role_id).await
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
        Move::Reject { cause, .. } => {
            let verb = match cause.by {
                EndedBy::Team => "Reject",
                EndedBy::Candidate => "Record the withdrawal of",
            };
            request.confirm(|| questions::of_end(before, verb, role_id)).await?;
        }
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
