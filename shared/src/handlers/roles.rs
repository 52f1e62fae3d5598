//! Creating, editing, publishing and closing roles.

use super::responses::role::{Role, RolePatch};
use crate::clock::Timestamp;
use crate::http::{ApiRequest, Created, Error, Reply, input};
use crate::model::{self, RoleAndPosting, RoleContent, RoleStatus};

use super::{invalid, questions};

input! {
    /// What to publish with a role.
    pub struct Publication {
        /// Whether to publish the role's job posting, too. The default is `false`: the posting stays as it is.
        job_posting: optional bool = false,
    }
}

/// An action that changes a role's status.
#[derive(Clone, Copy)]
enum Action {
    /// A draft becomes open.
    Publish,
    /// An open role is paused.
    Pause,
    /// A paused role becomes open.
    Resume,
    /// A closed role becomes a draft.
    Reopen,
}

impl Action {
    /// The role after the action. Fails if its status does not allow the action.
    fn apply(self, role: &model::Role, now: Timestamp) -> Result<model::Role, Error> {
        let changed = match self {
            Self::Publish => role.clone().publish(now),
            Self::Pause => role.clone().pause(now),
            Self::Resume => role.clone().resume(now),
            Self::Reopen => role.clone().reopen(now),
        };
        changed.map_err(|error| {
            Error::InvalidTransition(format!("{error} with {}; {}", self.name(), self.advice(role.status)))
        })
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

/// Creates a role as a draft.
///
/// # Errors
///
/// - `duplicate`: another role has this `external_id`.
pub async fn create(request: ApiRequest<RoleContent>) -> Result<Reply<Created<Role>>, Error> {
    let role = model::Role::draft(request.context.ids().next(), request.input()?, request.context.now());
    let role = closing(&request, role).await?;
    let mut transaction = request.transaction();
    transaction.insert_role(&role)?;
    let address = request.address("roles", role.id);
    request.commit(transaction, Reply::resource(&present(&request, role).await)?.created(address)).await
}

/// Updates the fields that are sent. A value sets a field, `null` clears it, and an absent field stays unchanged. A
/// no-op PATCH writes nothing.
///
/// # Errors
///
/// - `duplicate`: another role has this `external_id`.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn update(request: ApiRequest<RolePatch>) -> Result<Reply<Role>, Error> {
    let before = find_with_posting(&request).await?;
    let role = &before.role;
    let content = request
        .input()?
        .apply(role.content.clone())
        .map_err(|(field, problem)| invalid(&format!("{field} {problem}")))?;
    request.check_precondition(&present(&request, role.clone()).await)?;
    if content == role.content {
        return Reply::resource(&present(&request, before.role).await);
    }
    let is_shown = before.shows(&content);
    let after = closing(&request, role.clone().edit(content, request.context.now())).await?;
    if is_shown {
        request.confirm(|| questions::of_change(&before)).await?;
    }
    change(&request, &before, after).await
}

/// Opens a draft role, so that it accepts applications. With `job_posting`, also publishes its job posting; either both
/// are published or neither is. Otherwise the posting stays as it is: an unpublished one stays off the career page.
///
/// # Errors
///
/// - `invalid_transition`: the role is not a draft, or the job posting is to be published after `closes_on`.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn publish(request: ApiRequest<Publication>) -> Result<Reply<Role>, Error> {
    let before = find_with_posting(&request).await?;
    let Publication { job_posting } = request.input()?;
    if job_posting && before.role.posting.is_none() {
        return Err(invalid("job_posting cannot be published, because the role has none"));
    }
    let now = request.context.now();
    let after = Action::Publish.apply(&before.role, now)?;
    let posting = match before.posting.clone() {
        Some(posting) if job_posting => Some(posting.publish(&after, now)?),
        posting => posting,
    };
    request.confirm(|| questions::of_publication(&before, job_posting)).await?;
    replace(&request, &before, RoleAndPosting { role: after, posting, ..before.clone() }).await
}

/// Pauses an open role, so that it stops accepting applications.
///
/// # Errors
///
/// - `invalid_transition`: the role is not open.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn pause(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    change_status(request, Action::Pause).await
}

/// Resumes a paused role, so that it accepts applications again.
///
/// # Errors
///
/// - `invalid_transition`: the role is not paused.
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn resume(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    change_status(request, Action::Resume).await
}

/// Closes a role in any status and unpublishes its job posting. Closing a closed role changes nothing.
///
/// # Errors
///
/// - `confirmation_required`: an assistant sent the request, and a member has to confirm it on the page `page`.
pub async fn close(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    let before = find_with_posting(&request).await?;
    request.input()?;
    if before.role.status == RoleStatus::Closed {
        return Reply::resource(&present(&request, before.role).await);
    }
    request.confirm(|| questions::of_closing(&before)).await?;
    let now = request.context.now();
    let after = RoleAndPosting {
        role: before.role.clone().close(now),
        posting: before.posting.clone().map(|posting| posting.unpublish(now)),
        ..before.clone()
    };
    replace(&request, &before, after).await
}

/// Reopens a closed role as a draft.
///
/// # Errors
///
/// - `invalid_transition`: the role is not closed.
pub async fn reopen(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    change_status(request, Action::Reopen).await
}

/// Fixes when a new closing date is over.
pub(super) async fn closing<I>(request: &ApiRequest<I>, role: model::Role) -> Result<model::Role, Error> {
    if role.content.closes_on.is_none() || role.closes_at.is_some() {
        return Ok(role);
    }
    let settings = request.context.store().find_organization_settings(request.tenant()).await?;
    let zone = settings.unwrap_or_default().time_zone;
    role.closing_in(&zone, request.context.now()).map_err(|_| invalid("closes_on must not be over"))
}

/// Loads the role with its posting, because a change to the role may show or hide the posting on the career page.
async fn find_with_posting<I>(request: &ApiRequest<I>) -> Result<RoleAndPosting, Error> {
    let found = request.context.store().find_role_and_posting(request.tenant(), request.id()?).await?;
    found.ok_or(Error::NotFound)
}

async fn change_status(request: ApiRequest<()>, action: Action) -> Result<Reply<Role>, Error> {
    let before = find_with_posting(&request).await?;
    request.input()?;
    let after = action.apply(&before.role, request.context.now())?;
    match action {
        Action::Pause => request.confirm(|| questions::of_pause(&before)).await?,
        Action::Resume => request.confirm(|| questions::of_resumption(&before)).await?,
        Action::Publish | Action::Reopen => {}
    }
    change(&request, &before, after).await
}

/// Replaces a role. Its posting changes only if it shows something else of the role now.
async fn change<I>(
    request: &ApiRequest<I>,
    before: &RoleAndPosting,
    after: model::Role,
) -> Result<Reply<Role>, Error> {
    let (old, new, now) = (&before.role.content, &after.content, request.context.now());
    let posting = before.posting.clone().map(|posting| posting.follow(old, new, now));
    let after = RoleAndPosting { role: after, posting, ..before.clone() };
    replace(request, before, after).await
}

async fn replace<I>(
    request: &ApiRequest<I>,
    before: &RoleAndPosting,
    after: RoleAndPosting,
) -> Result<Reply<Role>, Error> {
    let mut transaction = request.transaction();
    transaction.replace_role(before, &after)?;
    request.commit(transaction, Reply::resource(&present(request, after.role).await)?).await
}

/// The API form of a role.
pub(super) async fn present<I>(request: &ApiRequest<I>, role: model::Role) -> Role {
    Role::of(role, request.organization().await, request.context.base_url())
}
