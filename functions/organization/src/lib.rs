//! The organization: its plan, limits and usage.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/api/v1/organization` | show the caller's organization |

use jiff::Timestamp;
use serde::Serialize;
use shared::http::{Call, Error, Reply, Row};
use shared::id::Id;
use shared::model::{Day, Mode, Plan, Scope, Slug, Text};
use shared::resources::posting::career_portal_url;
use utoipa::ToSchema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![R::new("GET /api/v1/organization", Scope::OrganizationRead, show)]
}

/// An organization, in the mode of the credential that asks.
#[derive(Debug, Serialize, ToSchema)]
pub struct Organization {
    /// The identifier, the same in both modes.
    id: Id,
    /// The name that people read.
    name: Text<200>,
    /// Its part of the career pages' address, different in each mode.
    slug: Slug,
    /// Which copy this is.
    mode: Mode,
    /// What it pays for.
    plan: Subscription,
    /// What the plan allows.
    limits: Limits,
    /// What has been used of it.
    usage: Usage,
    /// The career page.
    #[schema(format = "uri")]
    career_portal_url: String,
    /// When it was created.
    created_at: Timestamp,
}

/// What the organization pays for.
#[derive(Debug, Serialize, ToSchema)]
pub struct Subscription {
    /// The plan.
    name: Plan,
    /// The price in US dollars a month.
    price_usd_per_month: u32,
}

/// What the plan allows; `null` where it sets no limit.
#[derive(Debug, Serialize, ToSchema)]
pub struct Limits {
    /// Requests a day, in each mode.
    requests_per_day: Option<u64>,
}

/// What has been used of it; this request counts.
#[derive(Debug, Serialize, ToSchema)]
pub struct Usage {
    /// Requests since midnight UTC, in this mode.
    requests_today: u64,
    /// The next midnight UTC.
    resets_at: Timestamp,
}

/// Shows the caller's organization.
async fn show(call: Call<()>) -> Result<Reply<Organization>, Error> {
    call.input()?;
    let organization = call.organization();
    let today = Day::of(call.now());
    Reply::resource(&Organization {
        id: organization.id,
        name: organization.name.clone(),
        slug: organization.slug.clone(),
        mode: organization.mode,
        plan: Subscription {
            name: organization.plan,
            price_usd_per_month: organization.plan.price_usd_per_month(),
        },
        limits: Limits { requests_per_day: organization.plan.requests_per_day() },
        usage: Usage {
            requests_today: call.store().requests_on(call.tenant(), today).await?,
            resets_at: today.end(),
        },
        career_portal_url: career_portal_url(call.base_url(), organization),
        created_at: organization.created_at,
    })
}
