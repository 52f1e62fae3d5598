//! The statistics of roles.

use serde::Serialize;
use utoipa::ToSchema;

use crate::http::{ApiRequest, Error, Reply};
use crate::id::Id;
use crate::model::{self, CountedCause, EndedBy, RoleStatus, Stage};

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
    /// The number of rejected applications by who ended them and why, the most frequent first. An application whose rejection
    /// or withdrawal was undone does not count.
    rejections: Vec<RejectionCount>,
}

/// The number of applications that were ended by the same side for the same reason.
#[derive(Debug, Serialize, ToSchema)]
pub struct RejectionCount {
    /// The reason in the organization's list; `null` if none was given.
    reason_id: Option<Id>,
    /// Who ended them: the team, or candidates who withdrew.
    by: EndedBy,
    /// The number of applications.
    #[schema(minimum = 1)]
    count: u64,
}

/// Returns a role's statistics: applicants, voice screens, pass rate, average score and stages.
pub async fn show_role_stats(request: ApiRequest<()>) -> Result<Reply<RoleStats>, Error> {
    let id = request.id()?;
    let found = request.context.store().find_role_and_stats(request.tenant(), id).await?;
    let (role, stats) = found.ok_or(Error::NotFound)?;
    request.input()?;
    Reply::resource(&RoleStats {
        role_id: id,
        statistics: Statistics::from(&stats),
        stages: Stages::of(role.status, &stats.stages),
    })
}

impl From<&model::RoleStats> for Statistics {
    fn from(stats: &model::RoleStats) -> Self {
        Self {
            applicants: stats.applicants,
            screens: stats.screens,
            screens_completed: stats.screens_completed,
            pass_rate: stats.pass_rate(),
            average_score: stats.average_score(),
            rejections: stats.rejections().into_iter().map(RejectionCount::from).collect(),
        }
    }
}

impl From<(CountedCause, u64)> for RejectionCount {
    fn from((CountedCause { by, reason_id }, count): (CountedCause, u64)) -> Self {
        Self { reason_id, by, count }
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
