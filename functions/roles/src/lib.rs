//! Roles: open positions.
//!
//! | Method | Path | Description |
//! |---|---|---|
//! | GET | `/api/v1/roles` | list, optionally by `status` |
//! | POST | `/api/v1/roles` | create a draft |
//! | GET | `/api/v1/roles/{id}` | show |
//! | PATCH | `/api/v1/roles/{id}` | update |
//! | POST | `/api/v1/roles/{id}/publish` | draft -> open |
//! | POST | `/api/v1/roles/{id}/pause` | open -> paused |
//! | POST | `/api/v1/roles/{id}/resume` | paused -> open |
//! | DELETE | `/api/v1/roles/{id}` | any status -> closed |
//! | POST | `/api/v1/roles/{id}/reopen` | closed -> draft |
//! | GET | `/api/v1/roles/{id}/stats` | show applicants, screens, pass rate and average score |

use jiff::Timestamp;
use serde::Serialize;
use shared::http::{ApiRequest, Collection, Created, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::{self, InvalidTransition, RoleAndPosting, RoleContent, RoleStatus, Scope};
use shared::resources::role::{Role, RolePatch};
use utoipa::ToSchema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/roles", Scope::RolesRead, list),
        R::new("POST /api/v1/roles", Scope::RolesWrite, create),
        R::new("GET /api/v1/roles/{id}", Scope::RolesRead, show),
        R::new("PATCH /api/v1/roles/{id}", Scope::RolesWrite, update),
        R::new("POST /api/v1/roles/{id}/publish", Scope::RolesWrite, publish),
        R::new("POST /api/v1/roles/{id}/pause", Scope::RolesWrite, pause),
        R::new("POST /api/v1/roles/{id}/resume", Scope::RolesWrite, resume),
        R::new("DELETE /api/v1/roles/{id}", Scope::RolesWrite, close),
        R::new("POST /api/v1/roles/{id}/reopen", Scope::RolesWrite, reopen),
        R::new("GET /api/v1/roles/{id}/stats", Scope::RolesRead, show_role_stats),
    ]
}

/// Filters for the list of roles.
pub struct RoleFilter {
    /// Returns only roles in this status.
    status: Option<RoleStatus>,
}

impl Input for RoleFilter {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { status: fields.optional("status") })
    }
}

/// The statistics of a role. They are always up to date.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleStats {
    /// The role.
    role_id: Id,
    /// The number of distinct candidates who have applied.
    applicants: u64,
    /// The number of voice screens in any status.
    screens: u64,
    /// The number of completed voice screens.
    screens_completed: u64,
    /// The share of completed screens that were passed, or `null` before the first completed screen.
    #[schema(minimum = 0, maximum = 1)]
    pass_rate: Option<f64>,
    /// The mean overall score of the completed screens that have one, or `null` before the first.
    #[schema(minimum = 0, maximum = 100)]
    average_score: Option<f64>,
}

/// An action that changes a role's status.
#[derive(Clone, Copy)]
enum Action {
    Publish,
    Pause,
    Resume,
    Reopen,
}

impl Action {
    fn apply(self, role: model::Role, now: Timestamp) -> Result<model::Role, InvalidTransition> {
        match self {
            Self::Publish => role.publish(now),
            Self::Pause => role.pause(now),
            Self::Resume => role.resume(now),
            Self::Reopen => role.reopen(now),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Reopen => "reopen",
        }
    }

    /// How a role in this status, in which the action is not allowed, gets where the action leads.
    const fn advice(self, status: RoleStatus) -> &'static str {
        match (status, self) {
            (RoleStatus::Draft, Self::Reopen) => "it is a draft already",
            (RoleStatus::Draft, _) => "publish the draft with POST /api/v1/roles/{id}/publish",
            (RoleStatus::Open | RoleStatus::Paused, Self::Reopen) => {
                "only a closed role can be reopened, and DELETE /api/v1/roles/{id} closes it"
            }
            (RoleStatus::Open, _) => "it is open already",
            (RoleStatus::Paused, Self::Pause) => "it is paused already",
            (RoleStatus::Paused, _) => "resume it with POST /api/v1/roles/{id}/resume",
            (RoleStatus::Closed, _) => "reopen it as a draft first, with POST /api/v1/roles/{id}/reopen",
        }
    }
}

/// Lists roles, newest first. `status` narrows the list.
async fn list(request: ApiRequest<Listing<RoleFilter>>) -> Result<Reply<Collection<Role>>, Error> {
    let (filter, page) = request.listing()?;
    let roles = request.context.store().list_roles(request.tenant(), filter.status, &page).await?;
    request.reply(roles, |role| present(&request, role))
}

/// Creates a role as a draft.
async fn create(request: ApiRequest<RoleContent>) -> Result<Reply<Created<Role>>, Error> {
    let role = model::Role::draft(request.context.ids().next(), request.input()?, request.context.now());
    let mut transaction = request.transaction();
    transaction.insert_role(&role)?;
    let address = request.address("roles", role.id);
    request.commit(transaction, Reply::resource(&present(&request, role))?.created(address)).await
}

/// Returns a role.
async fn show(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    let role = find(&request).await?;
    request.input()?;
    Reply::resource(&present(&request, role))
}

/// Updates the fields that are sent. A value sets a field, `null` clears it, and an absent field stays unchanged. A
/// no-op PATCH writes nothing.
async fn update(request: ApiRequest<RolePatch>) -> Result<Reply<Role>, Error> {
    let role = find(&request).await?;
    let content = request.input()?.apply(role.content.clone()).ok_or_else(invalid_salary_range)?;
    request.check_precondition(&present(&request, role.clone()))?;
    if content == role.content {
        return Reply::resource(&present(&request, role));
    }
    let after = role.clone().edit(content, request.context.now());
    change(&request, role, after).await
}

/// Opens a draft role, so that it accepts applications.
///
/// # Errors
///
/// - `invalid_transition`: the role is not a draft.
async fn publish(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    change_status(request, Action::Publish).await
}

/// Pauses an open role, so that it stops accepting applications.
///
/// # Errors
///
/// - `invalid_transition`: the role is not open.
async fn pause(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    change_status(request, Action::Pause).await
}

/// Resumes a paused role, so that it accepts applications again.
///
/// # Errors
///
/// - `invalid_transition`: the role is not paused.
async fn resume(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    change_status(request, Action::Resume).await
}

/// Closes a role in any status and unpublishes its job posting. Closing a closed role changes nothing.
async fn close(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    let role = find(&request).await?;
    request.input()?;
    if role.status == RoleStatus::Closed {
        return Reply::resource(&present(&request, role));
    }
    let before = with_posting(&request, role).await?;
    let now = request.context.now();
    let after = RoleAndPosting {
        role: before.role.clone().close(now),
        posting: before.posting.clone().map(|posting| posting.unpublish(now)),
    };
    replace(&request, &before, after).await
}

/// Reopens a closed role as a draft.
///
/// # Errors
///
/// - `invalid_transition`: the role is not closed.
async fn reopen(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    change_status(request, Action::Reopen).await
}

/// Returns a role's number of applicants and voice screens, pass rate and average score.
async fn show_role_stats(request: ApiRequest<()>) -> Result<Reply<RoleStats>, Error> {
    let role_id = request.context.id()?;
    let stats =
        request.context.store().find_role_stats(request.tenant(), role_id).await?.ok_or(Error::NotFound)?;
    request.input()?;
    Reply::resource(&RoleStats {
        role_id,
        applicants: stats.applicants,
        screens: stats.screens,
        screens_completed: stats.screens_completed,
        pass_rate: stats.pass_rate(),
        average_score: stats.average_score(),
    })
}

async fn find<I>(request: &ApiRequest<I>) -> Result<model::Role, Error> {
    request.context.store().find_role(request.tenant(), request.context.id()?).await?.ok_or(Error::NotFound)
}

/// Loads the role's posting, because a change to the role may show or hide the posting on the career page.
async fn with_posting<I>(request: &ApiRequest<I>, role: model::Role) -> Result<RoleAndPosting, Error> {
    let posting = match &role.posting {
        Some(link) => request.context.store().find_posting(request.tenant(), link.id).await?,
        None => None,
    };
    Ok(RoleAndPosting { role, posting })
}

async fn change_status(request: ApiRequest<()>, action: Action) -> Result<Reply<Role>, Error> {
    let role = find(&request).await?;
    request.input()?;
    let after = action.apply(role.clone(), request.context.now()).map_err(|error| {
        Error::InvalidTransition(format!("{error} with {}; {}", action.name(), action.advice(role.status)))
    })?;
    change(&request, role, after).await
}

/// Replaces a role and leaves its posting unchanged.
async fn change<I>(
    request: &ApiRequest<I>,
    before: model::Role,
    after: model::Role,
) -> Result<Reply<Role>, Error> {
    let before = with_posting(request, before).await?;
    let after = RoleAndPosting { role: after, posting: before.posting.clone() };
    replace(request, &before, after).await
}

async fn replace<I>(
    request: &ApiRequest<I>,
    before: &RoleAndPosting,
    after: RoleAndPosting,
) -> Result<Reply<Role>, Error> {
    let mut transaction = request.transaction();
    transaction.replace_role(before, &after)?;
    request.commit(transaction, Reply::resource(&present(request, after.role))?).await
}

fn present<I>(request: &ApiRequest<I>, role: model::Role) -> Role {
    Role::of(role, request.organization(), request.context.base_url())
}

fn invalid_salary_range() -> Error {
    Error::Validation(vec!["salary_min must be at most salary_max".to_owned()])
}
