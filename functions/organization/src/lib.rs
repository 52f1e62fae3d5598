//! The organization: its plan, limits and usage.
//!
//! | Method | Path | Description |
//! |---|---|---|
//! | GET | `/api/v1/organization` | show the credential's organization |

use jiff::Timestamp;
use serde::Serialize;
use shared::http::{ApiRequest, Error, Reply, Row};
use shared::id::Id;
use shared::model::{Day, Mode, NamedOrganization, Plan, Scope, Slug, Text};
use shared::resources::posting::career_portal_url;
use utoipa::ToSchema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![R::new("GET /api/v1/organization", Scope::OrganizationRead, show)]
}

/// An organization in the credential's mode.
#[derive(Debug, Serialize, ToSchema)]
pub struct Organization {
    /// The identifier. It is the same in both modes.
    id: Id,
    /// The display name.
    name: Text<200>,
    /// The organization's part of the career page's URL. It differs between the modes.
    slug: Slug,
    /// The mode: live or test.
    mode: Mode,
    /// The plan.
    plan: Subscription,
    /// The limits of the plan.
    limits: Limits,
    /// Today's usage.
    usage: Usage,
    /// The URL of the career page.
    #[schema(format = "uri")]
    career_portal_url: String,
    /// When the organization was created.
    created_at: Timestamp,
}

/// An organization's plan and its price.
#[derive(Debug, Serialize, ToSchema)]
pub struct Subscription {
    /// The name of the plan.
    name: Plan,
    /// The price in US dollars per month.
    price_usd_per_month: u32,
}

/// The limits of a plan.
#[derive(Debug, Serialize, ToSchema)]
pub struct Limits {
    /// The number of requests per day in each mode, or `null` if there is no limit.
    requests_per_day: Option<u64>,
}

/// The usage of an organization in this mode.
#[derive(Debug, Serialize, ToSchema)]
pub struct Usage {
    /// The number of requests since midnight UTC, including this one.
    requests_today: u64,
    /// When the count resets: the next midnight UTC.
    resets_at: Timestamp,
}

/// Returns the organization that the credential belongs to.
async fn show(request: ApiRequest<()>) -> Result<Reply<Organization>, Error> {
    request.input()?;
    let today = Day::of(request.context.now());
    let found = request.context.store().find_organization_and_usage(request.tenant(), today).await?;
    let (NamedOrganization { organization, name, created_at }, requests_today) =
        found.ok_or(Error::NotFound)?;
    Reply::resource(&Organization {
        id: organization.id,
        name,
        slug: organization.slug.clone(),
        mode: organization.mode,
        plan: Subscription {
            name: organization.plan,
            price_usd_per_month: organization.plan.price_usd_per_month(),
        },
        limits: Limits { requests_per_day: organization.plan.requests_per_day() },
        usage: Usage { requests_today, resets_at: today.end() },
        career_portal_url: career_portal_url(request.context.base_url(), &organization),
        created_at,
    })
}
