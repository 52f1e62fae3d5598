//! The organizations' commands.

use std::cmp::Reverse;
use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use shared::id::Id;
use shared::model::{Mode, Organization, Plan, Tenant};
use shared::store::{Denied, Page, REGISTRY_SHARDS};

use crate::cli::NewOrganization;
use crate::output::{columns, line};
use crate::{Admin, DRAWS};

/// An organization as the list shows it.
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

/// An organization, with what only one of its modes has.
#[derive(Serialize)]
pub(crate) struct Whole {
    #[serde(flatten)]
    summary: Summary,
    test_slug: String,
}

pub(crate) async fn create(admin: &Admin, new: NewOrganization) -> Result<Whole, Denied> {
    for _ in 0..DRAWS {
        let (id, slug) = (admin.ids.next(), new.slug.clone());
        match admin.store.create_organization(id, &new.name, slug, new.plan, admin.now).await {
            Err(Denied::Exists) => {}
            made => return made.map(|made| Whole::of(&made)),
        }
    }
    Err(Denied::Exists)
}

pub(crate) async fn list(admin: &Admin) -> Result<Summaries, Denied> {
    let mut all = Vec::new();
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Page { limit: 100, before: None };
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

pub(crate) async fn show(admin: &Admin, organization: Id) -> Result<Whole, Denied> {
    let find = async |mode| {
        let found = admin.store.find_organization(Tenant { organization, mode }).await?;
        found.ok_or(Denied::NoSuchOrganization)
    };
    Ok(Whole::of(&[find(Mode::Live).await?, find(Mode::Test).await?]))
}

pub(crate) async fn plan(admin: &Admin, id: Id, plan: Plan) -> Result<Whole, Denied> {
    admin.store.set_plan(id, plan).await?;
    show(admin, id).await
}

pub(crate) async fn suspend(admin: &Admin, id: Id, suspended: bool) -> Result<Whole, Denied> {
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

    const fn standing(&self) -> &'static str {
        if self.suspended { "suspended" } else { "active" }
    }
}

impl Whole {
    fn of([live, test]: &[Organization; 2]) -> Self {
        Self { summary: Summary::of(live), test_slug: test.slug.to_string() }
    }
}

impl fmt::Display for Summaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "There are no organizations.");
        }
        let rows = self.0.iter().map(|one| {
            let (plan, standing) = (one.plan.to_owned(), one.standing().to_owned());
            [
                one.id.to_string(),
                plan,
                standing,
                one.created_at.to_string(),
                one.slug.clone(),
                line(&one.name),
            ]
        });
        columns(f, ["ID", "PLAN", "STANDING", "CREATED", "SLUG", "NAME"], rows)
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { summary, test_slug } = self;
        writeln!(f, "id         {}", summary.id)?;
        writeln!(f, "name       {}", line(&summary.name))?;
        writeln!(f, "slug       {}", summary.slug)?;
        writeln!(f, "test slug  {test_slug}")?;
        writeln!(f, "plan       {}", summary.plan)?;
        writeln!(f, "standing   {}", summary.standing())?;
        write!(f, "created    {}", summary.created_at)
    }
}
