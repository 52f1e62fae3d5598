//! Roles: open positions.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/api/v1/roles` | list, by `status` where given |
//! | POST | `/api/v1/roles` | create a draft |
//! | GET | `/api/v1/roles/{id}` | show |
//! | PATCH | `/api/v1/roles/{id}` | update |
//! | POST | `/api/v1/roles/{id}/publish` | draft -> open |
//! | POST | `/api/v1/roles/{id}/pause` | open -> paused |
//! | POST | `/api/v1/roles/{id}/resume` | paused -> open |
//! | DELETE | `/api/v1/roles/{id}` | any state -> closed |
//! | POST | `/api/v1/roles/{id}/reopen` | closed -> draft |
//! | GET | `/api/v1/roles/{id}/stats` | applicants, screens, pass rate, average score |

use serde::Serialize;
use shared::http::{Call, Collection, Created, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::{self, InvalidTransition, Opening, RoleContent, RoleStatus, Scope};
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

/// Which roles to list.
pub struct RoleFilter {
    /// Those in this status.
    status: Option<RoleStatus>,
}

impl Input for RoleFilter {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { status: fields.optional("status") })
    }
}

/// A role's figures, kept up to date by every write that changes them.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleStats {
    /// The role.
    role_id: Id,
    /// Distinct candidates.
    applicants: u64,
    /// Voice screens of any status.
    screens: u64,
    /// Completed voice screens.
    screens_completed: u64,
    /// Passed of completed screens; `null` before the first.
    #[schema(minimum = 0, maximum = 1)]
    pass_rate: Option<f64>,
    /// Over the completed screens that have an overall score; `null` before the first.
    #[schema(minimum = 0, maximum = 100)]
    average_score: Option<f64>,
}

/// Lists the organization's roles, newest first; with `status`, those in that status.
async fn list(call: Call<Listing<RoleFilter>>) -> Result<Reply<Collection<Role>>, Error> {
    let (filter, page) = call.listing()?;
    let roles = call.store().list_roles(call.tenant(), filter.status, &page).await?;
    call.reply(roles, |role| present(&call, role))
}

/// Creates a role as a draft.
async fn create(call: Call<RoleContent>) -> Result<Reply<Created<Role>>, Error> {
    let role = model::Role::draft(call.new_id(), call.input()?, call.now());
    let mut writes = call.writes();
    writes.insert_role(&role)?;
    let address = call.address("roles", role.id);
    call.commit(writes, Reply::resource(&present(&call, role))?.created(address)).await
}

/// Shows a role.
async fn show(call: Call<()>) -> Result<Reply<Role>, Error> {
    let role = find(&call).await?;
    call.input()?;
    Reply::resource(&present(&call, role))
}

/// Changes the fields that are sent: a value sets, `null` clears, absence leaves as it is. What changes nothing writes
/// nothing.
async fn update(call: Call<RolePatch>) -> Result<Reply<Role>, Error> {
    let role = find(&call).await?;
    let content = call.input()?.apply(role.content.clone()).ok_or_else(crossed_salary)?;
    call.check_precondition(&present(&call, role.clone()))?;
    if content == role.content {
        return Reply::resource(&present(&call, role));
    }
    replace(&call, &role, role.clone().edit(content, call.now())).await
}

/// Publishes a draft: draft -> open.
///
/// # Errors
///
/// - `invalid_transition`: the role is not a draft.
async fn publish(call: Call<()>) -> Result<Reply<Role>, Error> {
    step(call, model::Role::publish).await
}

/// Stops accepting applications: open -> paused.
///
/// # Errors
///
/// - `invalid_transition`: the role is not open.
async fn pause(call: Call<()>) -> Result<Reply<Role>, Error> {
    step(call, model::Role::pause).await
}

/// Accepts applications again: paused -> open.
///
/// # Errors
///
/// - `invalid_transition`: the role is not paused.
async fn resume(call: Call<()>) -> Result<Reply<Role>, Error> {
    step(call, model::Role::resume).await
}

/// Closes a role and takes its posting offline. Closing a closed role changes nothing.
async fn close(call: Call<()>) -> Result<Reply<Role>, Error> {
    let role = find(&call).await?;
    call.input()?;
    if role.status == RoleStatus::Closed {
        return Reply::resource(&present(&call, role));
    }
    let mut writes = call.writes();
    if let Some(posting) = find_posting(&call, &role).await? {
        writes.replace_opening(Opening::of(&role, &posting).as_ref(), None)?;
        if posting.published {
            writes.replace_posting(&posting.unpublish(call.now()))?;
        } else {
            // Nobody may publish it in the meantime.
            writes.require_posting(&posting);
        }
    }
    let role = role.close(call.now());
    writes.replace_role(&role)?;
    call.commit(writes, Reply::resource(&present(&call, role))?).await
}

/// Makes a closed role a draft again: closed -> draft.
///
/// # Errors
///
/// - `invalid_transition`: the role is not closed.
async fn reopen(call: Call<()>) -> Result<Reply<Role>, Error> {
    step(call, model::Role::reopen).await
}

/// Shows a role's applicants, screens, pass rate and average score.
async fn show_role_stats(call: Call<()>) -> Result<Reply<RoleStats>, Error> {
    let role_id = call.id()?;
    let stats = call.store().find_role_stats(call.tenant(), role_id).await?.ok_or(Error::NotFound)?;
    call.input()?;
    Reply::resource(&RoleStats {
        role_id,
        applicants: stats.applicants,
        screens: stats.screens,
        screens_completed: stats.screens_completed,
        pass_rate: stats.pass_rate(),
        average_score: stats.average_score(),
    })
}

async fn find<I>(call: &Call<I>) -> Result<model::Role, Error> {
    call.store().find_role(call.tenant(), call.id()?).await?.ok_or(Error::NotFound)
}

async fn find_posting<I>(call: &Call<I>, role: &model::Role) -> Result<Option<model::Posting>, Error> {
    match &role.posting {
        Some(link) => Ok(call.store().find_posting(call.tenant(), link.id).await?),
        None => Ok(None),
    }
}

async fn step(
    call: Call<()>,
    transition: fn(model::Role, jiff::Timestamp) -> Result<model::Role, InvalidTransition>,
) -> Result<Reply<Role>, Error> {
    let role = find(&call).await?;
    call.input()?;
    replace(&call, &role, transition(role.clone(), call.now())?).await
}

/// Writes a role in place of `before`, and what the career page lists of it.
async fn replace<I>(call: &Call<I>, before: &model::Role, role: model::Role) -> Result<Reply<Role>, Error> {
    let mut writes = call.writes();
    if let Some(posting) = find_posting(call, &role).await? {
        let (old, new) = (Opening::of(before, &posting), Opening::of(&role, &posting));
        writes.replace_opening(old.as_ref(), new.as_ref())?;
        writes.require_posting(&posting);
    }
    writes.replace_role(&role)?;
    call.commit(writes, Reply::resource(&present(call, role))?).await
}

fn present<I>(call: &Call<I>, role: model::Role) -> Role {
    Role::of(role, call.organization(), call.base_url())
}

fn crossed_salary() -> Error {
    Error::Validation(vec!["salary_min must be at most salary_max".to_owned()])
}
