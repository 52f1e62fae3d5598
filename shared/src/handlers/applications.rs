//! Applications: candidates' progress through the pipelines of roles. Moves are routes of the candidate.

use serde::Serialize;
use utoipa::ToSchema;

use super::responses::application::{Application, Offered};
use super::responses::question::Answer;
use crate::http::{ApiRequest, Asked, Collection, Error, Listing, Reply, Since, input};
use crate::id::Id;
use crate::model::{self, ApplicationStatus, Email, Name, Stage};
use crate::store::{self, CandidateApplication, StageOrStatus};

input! {
    /// Filters for the list of applications.
    pub struct ApplicationFilter {
        /// Returns only applications for this role. Can be combined with `stage` or `status`.
        role_id: optional Id,
        /// Returns only applications of this candidate. Cannot be combined with other filters.
        candidate_id: optional Id,
        /// Returns only applications in this stage, closed ones included. Cannot be combined with `status`.
        stage: optional Stage,
        /// Returns only applications with this status. Cannot be combined with `stage`.
        status: optional ApplicationStatus,
    }
}

/// An application with its candidate.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedApplication {
    #[serde(flatten)]
    application: Application,
    /// The candidate's name.
    name: Name,
    /// The candidate's e-mail address; `null` if none is known.
    email: Option<Email>,
}

/// An application with its candidate, its answers and what forms have offered to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationDetail {
    #[serde(flatten)]
    application: ListedApplication,
    /// What forms with the candidate's e-mail address brought, until a member accepts or dismisses it in the dashboard; `null`
    /// if nothing waits.
    #[schema(value_type = Option<Offered>)]
    offered: Option<Offered>,
    /// The answers that the application came with: those of the form with which the candidate applied, or of the request. What
    /// later forms answer is in their submissions.
    answers: Vec<Answer>,
}

impl ApplicationDetail {
    /// The application with its answers.
    pub fn of(application: CandidateApplication, answers: Vec<model::Answer>) -> Self {
        let offered = application.application.offered.clone().map(Offered::from);
        Self { application: application.into(), offered, answers: Answer::all(answers) }
    }
}

/// Lists applications, newest first. The filters narrow the list: `role_id`, alone or with `stage` or `status`;
/// `candidate_id`, `stage` or `status` alone. `updated_after` returns those that have changed.
///
/// # Errors
///
/// - `cursor_expired`: with `updated_after`, the changes that the page needs are no longer kept.
pub async fn list(
    request: ApiRequest<Listing<Since<ApplicationFilter>>>,
) -> Result<Reply<Collection<ListedApplication>>, Error> {
    let (asked, page) = request.asked()?;
    let (store, tenant) = (request.context.store(), request.tenant());
    let filter = match asked {
        Asked::Since(time) => {
            let since = request.changes_since(time);
            let changed = store.list_changed_applications(tenant, since, &page).await?;
            return request.reply(changed.ok_or(Error::CursorExpired)?, ListedApplication::from);
        }
        Asked::Part(filter) => filter,
    };
    check(&filter)?;
    let applications = if let Some(candidate) = filter.candidate_id {
        store.list_applications_of(tenant, candidate, &page).await?
    } else {
        let stage = filter.stage.map(StageOrStatus::Stage);
        let state = stage.or(filter.status.map(StageOrStatus::Status));
        store
            .list_applications(tenant, store::ApplicationFilter { role: filter.role_id, state }, &page)
            .await?
    };
    request.reply(applications, ListedApplication::from)
}

/// Returns an application with the candidate's name and e-mail address, its answers, and what waits in `offered`.
pub async fn show(request: ApiRequest<()>) -> Result<Reply<ApplicationDetail>, Error> {
    let found = request.context.store().find_application(request.tenant(), request.context.id()?).await?;
    let application = found.ok_or(Error::NotFound)?;
    request.input()?;
    let CandidateApplication { application: one, candidate } = &application;
    let answers = if one.has_answers {
        request.context.store().find_answers(request.tenant(), candidate.id, one.id).await?
    } else {
        Vec::new()
    };
    Reply::resource(&ApplicationDetail::of(application, answers))
}

/// The answers of an application of a candidate.
#[derive(Debug, Serialize)]
pub struct AnsweredApplication {
    application_id: Id,
    answers: Vec<Answer>,
}

/// Returns the answers of a candidate's applications that have any, the newest application first. Only a tool calls it, after it
/// has read the candidate.
pub async fn list_answers(request: ApiRequest<()>) -> Result<Reply<Vec<AnsweredApplication>>, Error> {
    request.input()?;
    let found = request.context.store().list_answers(request.tenant(), request.id()?).await?;
    let answered = found.into_iter().map(|found| AnsweredApplication {
        application_id: found.application_id,
        answers: Answer::all(found.answers),
    });
    Reply::ok(&answered.collect())
}

/// Fails with 422 if filters cannot be combined.
fn check(filter: &ApplicationFilter) -> Result<(), Error> {
    let given = [
        ("role_id", filter.role_id.is_some()),
        ("stage", filter.stage.is_some()),
        ("status", filter.status.is_some()),
    ];
    let mut messages = Vec::new();
    if filter.candidate_id.is_some() {
        let others = given.iter().filter(|(_, given)| *given);
        messages.extend(others.map(|(name, _)| format!("candidate_id can't be combined with {name}")));
    } else if filter.stage.is_some() && filter.status.is_some() {
        messages.push("stage can't be combined with status".to_owned());
    }
    if messages.is_empty() { Ok(()) } else { Err(Error::Validation(messages)) }
}

impl From<CandidateApplication> for ListedApplication {
    fn from(CandidateApplication { application, candidate }: CandidateApplication) -> Self {
        Self {
            application: Application::of(candidate.id, &application),
            name: candidate.profile.name,
            email: candidate.profile.email,
        }
    }
}
