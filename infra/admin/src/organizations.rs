//! The `organization` commands.

use std::cmp::Reverse;
use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use shared::id::Id;
use shared::model::{Mode, Organization, Plan, Tenant};
use shared::store::{OrganizationError, Paging, REGISTRY_SHARDS};

use crate::admin::{Admin, ID_ATTEMPTS};
use crate::cli::NewOrganization;
use crate::output::{line, table};

/// An organization in a list.
#[derive(Serialize)]
pub(crate) struct Summary {
    id: Id,
    name: String,
    slug: String,
    plan: &'static str,
    suspended: bool,
    created_at: Timestamp,
}

/// All organizations.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Summaries(Vec<Summary>);

/// An organization with the slugs of both its modes.
#[derive(Serialize)]
pub(crate) struct Detail {
    #[serde(flatten)]
    summary: Summary,
    test_slug: String,
}

pub(crate) async fn create(admin: &Admin, new: NewOrganization) -> Result<Detail, OrganizationError> {
    for _ in 0..ID_ATTEMPTS {
        let (id, slug) = (admin.ids.next(), new.slug.clone());
        match admin.store.create_organization(id, &new.name, slug, new.plan, admin.now).await {
            Err(OrganizationError::Exists) => {}
            created => return created.map(|created| Detail::of(&created)),
        }
    }
    Err(OrganizationError::Exists)
}

pub(crate) async fn list(admin: &Admin) -> Result<Summaries, OrganizationError> {
    let mut all = Vec::new();
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Paging { limit: 100, before: None };
        loop {
            let listed = admin.store.list_organizations(shard, &page).await?;
            all.extend(listed.items.iter().map(Summary::of));
            let Some(next) = listed.next else { break };
            page.before = Some(next);
        }
    }
    all.sort_by_key(|summary| Reverse(summary.id));
    Ok(Summaries(all))
}

pub(crate) async fn show(admin: &Admin, organization: Id) -> Result<Detail, OrganizationError> {
    let find = async |mode| {
        let found = admin.store.find_organization(Tenant { organization, mode }).await?;
        found.ok_or(OrganizationError::NoSuchOrganization)
    };
    Ok(Detail::of(&[find(Mode::Live).await?, find(Mode::Test).await?]))
}

pub(crate) async fn plan(admin: &Admin, id: Id, plan: Plan) -> Result<Detail, OrganizationError> {
    admin.store.set_plan(id, plan).await?;
    show(admin, id).await
}

pub(crate) async fn suspend(admin: &Admin, id: Id, suspended: bool) -> Result<Detail, OrganizationError> {
    admin.store.set_suspended(id, suspended).await?;
    show(admin, id).await
}

impl Summary {
    fn of(live: &Organization) -> Self {
        Self {
            id: live.id,
            name: live.name.as_str().to_owned(),
            slug: live.slug.to_string(),
            plan: live.plan.as_str(),
            suspended: live.suspended,
            created_at: live.created_at,
        }
    }

    const fn status(&self) -> &'static str {
        if self.suspended { "suspended" } else { "active" }
    }
}

impl Detail {
    fn of([live, test]: &[Organization; 2]) -> Self {
        Self { summary: Summary::of(live), test_slug: test.slug.to_string() }
    }
}

impl fmt::Display for Summaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "No organizations.");
        }
        let rows = self.0.iter().map(|summary| {
            [
                summary.id.to_string(),
                summary.plan.to_owned(),
                summary.status().to_owned(),
                summary.created_at.to_string(),
                summary.slug.clone(),
                line(&summary.name),
            ]
        });
        table(f, ["ID", "PLAN", "STATUS", "CREATED", "SLUG", "NAME"], rows)
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { summary, test_slug } = self;
        writeln!(f, "id         {}", summary.id)?;
        writeln!(f, "name       {}", line(&summary.name))?;
        writeln!(f, "slug       {}", summary.slug)?;
        writeln!(f, "test slug  {test_slug}")?;
        writeln!(f, "plan       {}", summary.plan)?;
        writeln!(f, "status     {}", summary.status())?;
        write!(f, "created    {}", summary.created_at)
    }
}
