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

use serde::Serialize;
use shared::hiring::roles;
use shared::http::{ApiRequest, Collection, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::schema::string;
use shared::model::{self, RoleStatus, Scalar, Scope, Stage, Value};
use shared::resources::role::Role;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/roles", Scope::RolesRead, list),
        R::new("POST /api/v1/roles", Scope::RolesWrite, roles::create),
        R::new("GET /api/v1/roles/{id}", Scope::RolesRead, show),
        R::new("PATCH /api/v1/roles/{id}", Scope::RolesWrite, roles::update),
        R::new("POST /api/v1/roles/{id}/publish", Scope::RolesWrite, roles::publish),
        R::new("POST /api/v1/roles/{id}/pause", Scope::RolesWrite, roles::pause),
        R::new("POST /api/v1/roles/{id}/resume", Scope::RolesWrite, roles::resume),
        R::new("DELETE /api/v1/roles/{id}", Scope::RolesWrite, roles::close),
        R::new("POST /api/v1/roles/{id}/reopen", Scope::RolesWrite, roles::reopen),
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

/// Returns a role.
async fn show(request: ApiRequest<()>) -> Result<Reply<Role>, Error> {
    let role = find(&request).await?;
    request.input()?;
    Reply::resource(&present(&request, role))
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

fn present<I>(request: &ApiRequest<I>, role: model::Role) -> Role {
    Role::of(role, request.organization(), request.context.base_url())
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
