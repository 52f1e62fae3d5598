//! The `organization` commands.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use shared::clock::{Clock, Timestamp};
use shared::id::Id;
use shared::model::{
    Country, Email, Mode, NamedOrganization, OrganizationSettings, Plan, ResumeFile, Tenant, TimeZoneName,
};
use shared::providers::bucket::{Bucket, BucketError};
use shared::store::{OrganizationError, Paging, REGISTRY_SHARDS};

use crate::admin::{Admin, CommandError, ID_ATTEMPTS};
use crate::cli::{Deletion, NewOrganization, NewSettings};
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

/// The settings of an organization in one mode.
#[derive(Serialize)]
pub(crate) struct Settings {
    country: Option<Country>,
    time_zone: TimeZoneName,
    contact_email: Option<Email>,
}

/// An organization that was deleted.
#[derive(Serialize)]
pub(crate) struct Deleted {
    id: Id,
    deleted_at: Timestamp,
}

/// The maximum duration of a request that was admitted before the organization was suspended, and of the feed's work on its
/// changes.
const LONGEST_WORK: Duration = Duration::from_mins(1);

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
    Ok(Detail::of(&find(admin, organization).await?))
}

pub(crate) async fn plan(admin: &Admin, id: Id, plan: Plan) -> Result<Detail, OrganizationError> {
    admin.store.set_plan(id, plan).await?;
    show(admin, id).await
}

/// Changes the settings that are given, and returns all of them.
pub(crate) async fn settings(admin: &Admin, new: NewSettings) -> Result<Settings, OrganizationError> {
    let change = |before: &OrganizationSettings| {
        let country = new.country.or(before.country).filter(|_| !new.no_country);
        let time_zone = new.time_zone.as_ref().unwrap_or(&before.time_zone).clone();
        let contact_email = new.contact_email.as_ref().or(before.contact_email.as_ref());
        let contact_email = contact_email.filter(|_| !new.no_contact_email).cloned();
        before.change(OrganizationSettings { country, time_zone, contact_email, ..before.clone() })
    };
    let changed = admin.store.change_organization_settings(new.tenant.tenant(), change).await?;
    let OrganizationSettings { country, time_zone, contact_email, .. } = changed;
    Ok(Settings { country, time_zone, contact_email })
}

pub(crate) async fn suspend(admin: &Admin, id: Id, suspended: bool) -> Result<Detail, OrganizationError> {
    admin.store.set_suspended(id, suspended, admin.now).await?;
    show(admin, id).await
}

/// Deletes an organization with all its data and files. Does nothing if it is already deleted.
pub(crate) async fn delete(admin: &Admin, deletion: &Deletion) -> Result<Deleted, CommandError> {
    let id = deletion.id;
    if let Some(deleted) = admin.store.find_deleted_organization(id).await? {
        return Ok(Deleted { id, deleted_at: deleted.deleted_at });
    }
    let modes = find(admin, id).await?;
    if modes[0].organization.slug != deletion.confirm {
        return Err(CommandError::WrongSlug);
    }
    if admin.bucket.is_none() && !deletion.no_files {
        return Err(CommandError::NoBucket);
    }
    require_no_hold(admin, id).await?;
    if !modes[0].organization.suspended {
        admin.store.set_suspended(id, true, admin.now).await?;
        tokio::time::sleep(LONGEST_WORK).await;
    }
    // A request may have set a hold before the suspension.
    require_no_hold(admin, id).await?;
    // A task that was running may have written more.
    while admin.store.delete_organization_data(id, admin.now).await? > 0 {}
    if let Some(bucket) = &admin.bucket {
        delete_files(bucket, &modes, &admin.clock).await.map_err(CommandError::Bucket)?;
    }
    // Last, because a repeated run finds everything else through the organization.
    admin.store.delete_organization(&modes, admin.now).await?;
    Ok(Deleted { id, deleted_at: admin.now })
}

/// Fails if a person of the organization is on legal hold.
async fn require_no_hold(admin: &Admin, organization: Id) -> Result<(), CommandError> {
    match admin.store.find_legal_hold(organization).await? {
        Some((mode, id)) => Err(CommandError::OnHold { mode, id }),
        None => Ok(()),
    }
}

/// Deletes the organization's uploaded files, stored or not yet checked.
async fn delete_files(
    bucket: &Bucket,
    modes: &[NamedOrganization; 2],
    clock: &Clock,
) -> Result<(), BucketError> {
    let [live, test] = modes.each_ref().map(|mode| &mode.organization);
    for prefix in ResumeFile::prefixes(live.id, [&live.slug, &test.slug]) {
        loop {
            let keys = bucket.list(&prefix, None, clock.now()).await?;
            if keys.is_empty() {
                break;
            }
            for key in keys {
                bucket.delete(&key, clock.now()).await?;
            }
        }
    }
    Ok(())
}

/// The organization in both modes.
async fn find(admin: &Admin, organization: Id) -> Result<[NamedOrganization; 2], OrganizationError> {
    let find = async |mode| {
        let found = admin.store.find_organization(Tenant { organization, mode }).await?;
        found.ok_or(OrganizationError::NoSuchOrganization)
    };
    Ok([find(Mode::Live).await?, find(Mode::Test).await?])
}

impl Summary {
    fn of(live: &NamedOrganization) -> Self {
        Self {
            id: live.organization.id,
            name: live.name.as_str().to_owned(),
            slug: live.organization.slug.to_string(),
            plan: live.organization.plan.as_str(),
            suspended: live.organization.suspended,
            created_at: live.created_at,
        }
    }

    const fn status(&self) -> &'static str {
        if self.suspended { "suspended" } else { "active" }
    }
}

impl Detail {
    fn of([live, test]: &[NamedOrganization; 2]) -> Self {
        Self { summary: Summary::of(live), test_slug: test.organization.slug.to_string() }
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

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "country        {}", self.country.map_or("-", Country::code))?;
        writeln!(f, "time zone      {}", self.time_zone.as_str())?;
        write!(f, "contact email  {}", self.contact_email.as_ref().map_or("-", Email::as_str))
    }
}

impl fmt::Display for Deleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The organization {} was deleted at {}.", self.id, self.deleted_at)
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
