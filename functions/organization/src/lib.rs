//! The organization: its plan, limits and usage.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/api/v1/organization` | show the caller's organization |

use jiff::Timestamp;
use serde::Serialize;
use shared::http::{Call, Error, Reply, Route};
use shared::id::Id;
use shared::model::{Day, Scope};
use shared::resources::posting::career_portal_url;

/// The function's routes.
pub fn routes() -> Vec<Route> {
    vec![Route::new("GET /api/v1/organization", Scope::OrganizationRead, show)]
}

/// An organization, in the mode of the credential that asks.
#[derive(Debug, Serialize)]
pub struct Organization {
    id: Id,
    name: String,
    slug: String,
    mode: &'static str,
    plan: Plan,
    limits: Limits,
    usage: Usage,
    career_portal_url: String,
    created_at: Timestamp,
}

/// What the organization pays for.
#[derive(Debug, Serialize)]
pub struct Plan {
    name: &'static str,
    price_usd_per_month: u32,
}

/// What the plan allows; `null` where it sets no limit.
#[derive(Debug, Serialize)]
pub struct Limits {
    requests_per_day: Option<u64>,
}

/// What has been used of it; this request counts.
#[derive(Debug, Serialize)]
pub struct Usage {
    requests_today: u64,
    resets_at: Timestamp,
}

/// Shows the caller's organization.
async fn show(call: Call<()>) -> Result<Reply<Organization>, Error> {
    call.input()?;
    let organization = call.organization();
    let today = Day::of(call.now());
    Reply::resource(&Organization {
        id: organization.id,
        name: organization.name.as_str().to_owned(),
        slug: organization.slug.to_string(),
        mode: organization.mode.as_str(),
        plan: Plan {
            name: organization.plan.as_str(),
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
