//! Roles: open positions.
//!
//! | Method | Path | Description |
//! |---|---|---|
//! | GET | `/api/v1/roles` | list, optionally by `status` |
//! | POST | `/api/v1/roles` | create a draft |
//! | GET | `/api/v1/roles/{id}` | show |
//! | PATCH | `/api/v1/roles/{id}` | update |
//! | POST | `/api/v1/roles/{id}/publish` | draft -> open, optionally together with its job posting |
//! | POST | `/api/v1/roles/{id}/pause` | open -> paused |
//! | POST | `/api/v1/roles/{id}/resume` | paused -> open |
//! | DELETE | `/api/v1/roles/{id}` | any status -> closed |
//! | POST | `/api/v1/roles/{id}/reopen` | closed -> draft |
//! | GET | `/api/v1/roles/{id}/stats` | show applicants, screens, pass rate and average score |

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;
use shared::http::{ApiRequest, Collection, Created, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::schema::string;
use shared::model::{self, RoleAndPosting, RoleContent, RoleStatus, Scalar, Scope, Stage, Value};
use shared::resources::role::{Role, RolePatch};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

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
    /// With `stats`, adds each role's statistics.
    include: Option<Include>,
}

impl Input for RoleFilter {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { status: fields.optional("status"), include: fields.optional("include") })
    }
}

/// What to publish with a role.
pub struct Publication {
    /// Whether to publish the role's job posting, too. The default is `false`: the posting stays as it is.
    job_posting: bool,
}

impl Input for Publication {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { job_posting: fields.optional("job_posting").unwrap_or(false) })
    }
}

/// What a list can include.
struct Include;

impl Value for Include {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        match scalar {
            Scalar::Word("stats") => Ok(Some(Self)),
            _ => Err("must be stats".to_owned()),
        }
    }

    fn schema() -> RefOr<Schema> {
        string().enum_values(Some(["stats"])).into()
    }
}

/// A role in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedRole {
    #[serde(flatten)]
    role: Role,
    /// The role's statistics with `include=stats`, otherwise `null`.
    stats: Option<Statistics>,
}

/// The statistics of a role with those of its stages. They are always up to date.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleStats {
    /// The role.
    role_id: Id,
    #[serde(flatten)]
    statistics: Statistics,
    /// The statistics of each stage.
    stages: Stages,
}

/// The statistics of the stages of a role's pipeline.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stages {
    /// The stage `applied`.
    applied: StageStats,
    /// The stage `screening`.
    screening: StageStats,
    /// The stage `interview`.
    interview: StageStats,
    /// The stage `offer`.
    offer: StageStats,
    /// The stage `hired`.
    hired: StageStats,
    /// The stage `rejected`.
    rejected: StageStats,
}

/// The statistics of a stage.
#[derive(Debug, Serialize, ToSchema)]
pub struct StageStats {
    /// The number of applications in the stage. Closed applications don't count.
    now: u64,
    /// The number of applications that have ever been in the stage.
    ever: u64,
    /// The lower median of the finished stays in the stage, in whole days, where longer stays count as 60 days; `null`
    /// without any, and for final stages.
    #[schema(minimum = 0, maximum = 60)]
    median_days: Option<u8>,
}

/// The statistics of a role.
#[derive(Debug, Serialize, ToSchema)]
pub struct Statistics {
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

/// Lists roles, newest first. `status` narrows the list, and `include=stats` adds each role's statistics.
async fn list(request: ApiRequest<Listing<RoleFilter>>) -> Result<Reply<Collection<ListedRole>>, Error> {
    let (filter, page) = request.listing()?;
    let roles = request.context.store().list_roles(request.tenant(), filter.status, &page).await?;
    let stats = match filter.include {
        Some(Include) => {
            let ids = roles.items.iter().map(|role| role.id);
            Some(request.context.store().find_roles_stats(request.tenant(), ids).await?)
        }
        None => None,
    };
    request.reply(roles, |role| {
        let of_role =
            |stats: &HashMap<Id, model::RoleStats>| stats.get(&role.id).cloned().unwrap_or_default();
        let stats = stats.as_ref().map(|stats| Statistics::from(&of_role(stats)));
        ListedRole { role: present(&request, role), stats }
    })
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
    let before = find_with_posting(&request).await?;
    let role = &before.role;
    let content = request
        .input()?
        .apply(role.content.clone())
        .ok_or_else(|| invalid("salary_min must be at most salary_max"))?;
    request.check_precondition(&present(&request, role.clone()))?;
    if content == role.content {
        return Reply::resource(&present(&request, before.role));
    }
    let after = role.clone().edit(content, request.context.now());
    change(&request, &before, after).await
}

/// Opens a draft role, so that it accepts applications. With `job_posting`, also publishes its job posting; either both
/// are published or neither is. Otherwise the posting stays as it is: an unpublished one stays off the career page.
///
/// # Errors
///
/// - `invalid_transition`: the role is not a draft.
async fn publish(request: ApiRequest<Publication>) -> Result<Reply<Role>, Error> {
    let before = find_with_posting(&request).await?;
    let Publication { job_posting } = request.input()?;
    if job_posting && before.role.posting.is_none() {
        return Err(invalid("job_posting cannot be published, because the role has none"));
    }
    let now = request.context.now();
    let after = Action::Publish.apply(&before.role, now)?;
    let posting = match before.posting.clone() {
        Some(posting) if job_posting => Some(posting.publish(after.status, now)?),
        posting => posting,
    };
    replace(&request, &before, RoleAndPosting { role: after, posting }).await
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
    let before = find_with_posting(&request).await?;
    request.input()?;
    if before.role.status == RoleStatus::Closed {
        return Reply::resource(&present(&request, before.role));
    }
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

/// Returns a role's statistics: applicants, voice screens, pass rate, average score and stages.
async fn show_role_stats(request: ApiRequest<()>) -> Result<Reply<RoleStats>, Error> {
    let id = request.context.id()?;
    let found = request.context.store().find_role_and_stats(request.tenant(), id).await?;
    let (role, stats) = found.ok_or(Error::NotFound)?;
    request.input()?;
    Reply::resource(&RoleStats {
        role_id: id,
        statistics: Statistics::from(&stats),
        stages: Stages::of(role.status, &stats.stages),
    })
}

async fn find<I>(request: &ApiRequest<I>) -> Result<model::Role, Error> {
    request.context.store().find_role(request.tenant(), request.context.id()?).await?.ok_or(Error::NotFound)
}

/// Loads the role with its posting, because a change to the role may show or hide the posting on the career page.
async fn find_with_posting<I>(request: &ApiRequest<I>) -> Result<RoleAndPosting, Error> {
    let found =
        request.context.store().find_role_and_posting(request.tenant(), request.context.id()?).await?;
    found.ok_or(Error::NotFound)
}

async fn change_status(request: ApiRequest<()>, action: Action) -> Result<Reply<Role>, Error> {
    let before = find_with_posting(&request).await?;
    request.input()?;
    let after = action.apply(&before.role, request.context.now())?;
    change(&request, &before, after).await
}

/// Replaces a role and leaves its posting unchanged.
async fn change<I>(
    request: &ApiRequest<I>,
    before: &RoleAndPosting,
    after: model::Role,
) -> Result<Reply<Role>, Error> {
    let after = RoleAndPosting { role: after, posting: before.posting.clone() };
    replace(request, before, after).await
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

fn invalid(message: &str) -> Error {
    Error::Validation(vec![message.to_owned()])
}

impl From<&model::RoleStats> for Statistics {
    fn from(stats: &model::RoleStats) -> Self {
        Self {
            applicants: stats.applicants,
            screens: stats.screens,
            screens_completed: stats.screens_completed,
            pass_rate: stats.pass_rate(),
            average_score: stats.average_score(),
        }
    }
}

impl Stages {
    fn of(
        status: RoleStatus,
        [applied, screening, interview, offer, hired, rejected]: &[model::StageStats; 6],
    ) -> Self {
        let of = |stage: Stage, stats: &model::StageStats| StageStats {
            // Applications in an open stage are closed while the role is closed.
            now: if status == RoleStatus::Closed && !stage.is_end() { 0 } else { stats.now },
            ever: stats.ever,
            median_days: stats.median_days(),
        };
        Self {
            applied: of(Stage::Applied, applied),
            screening: of(Stage::Screening, screening),
            interview: of(Stage::Interview, interview),
            offer: of(Stage::Offer, offer),
            hired: of(Stage::Hired, hired),
            rejected: of(Stage::Rejected, rejected),
        }
    }
}
