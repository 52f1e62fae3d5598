//! The commands `verify` and `rebuild`: they read what organizations have stored, and repair it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use shared::id::Id;
use shared::model::{Mode, Tenant};
use shared::store::{Finding, OrganizationError, Paging, REGISTRY_SHARDS};

use crate::admin::{Admin, CommandError};
use crate::cli::Selection;
use crate::output::table;

/// What a run has found.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    organizations: u64,
    items: u64,
    findings: Vec<Found>,
}

/// Something that is wrong.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    pk: String,
    sk: String,
    problem: String,
    repaired: bool,
}

/// Reads the organizations in the order of the registry. Each one that is done is named on the standard error, so that an
/// interrupted run can continue after it.
pub(crate) async fn run(
    admin: &Admin,
    selection: &Selection,
    rebuilds: bool,
) -> Result<Summary, CommandError> {
    let mut summary = Summary::default();
    if let Some(organization) = selection.organization {
        let tenant = Tenant { organization, mode: Mode::Live };
        admin.store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
        check(admin, selection, rebuilds, organization, &mut summary).await?;
        return Ok(summary);
    }
    let mut skips = selection.after.is_some();
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Paging { limit: 100, before: None };
        loop {
            let listed = admin.store.list_registered(shard, &page).await?;
            for organization in listed.items {
                if !skips {
                    check(admin, selection, rebuilds, organization, &mut summary).await?;
                }
                skips = skips && selection.after != Some(organization);
            }
            page.before = listed.next;
            if page.before.is_none() {
                break;
            }
        }
    }
    if skips { Err(OrganizationError::NoSuchOrganization.into()) } else { Ok(summary) }
}

async fn check(
    admin: &Admin,
    selection: &Selection,
    rebuilds: bool,
    organization: Id,
    summary: &mut Summary,
) -> Result<(), CommandError> {
    let second = Duration::from_secs(1);
    let pause = |items: usize| {
        tokio::time::sleep(second * u32::try_from(items).unwrap_or(u32::MAX) / selection.items_per_second)
    };
    let (mut read, mut wrong) = (0, 0);
    for tenant in Mode::ALL.map(|mode| Tenant { organization, mode }) {
        let (items, findings) = admin.store.verify(tenant, rebuilds, pause).await?;
        read += items;
        wrong += findings.len();
        summary.findings.extend(findings.into_iter().map(Found::of));
    }
    summary.organizations += 1;
    summary.items += read;
    eprintln!("Organization {organization} is done: {read} items, {wrong} findings.");
    Ok(())
}

impl Found {
    fn of(Finding { pk, sk, problem, repaired }: Finding) -> Self {
        Self { pk, sk, problem, repaired }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { organizations, items, findings } = self;
        let repaired = findings.iter().filter(|found| found.repaired).count();
        writeln!(
            f,
            "Organizations: {organizations}. Items: {items}. Findings: {}, repaired: {repaired}.",
            findings.len()
        )?;
        if findings.is_empty() {
            return write!(f, "Everything agrees.");
        }
        let rows = findings.iter().map(|found| {
            let state = if found.repaired { "repaired" } else { "open" };
            [state.to_owned(), found.pk.clone(), found.sk.clone(), found.problem.clone()]
        });
        table(f, ["STATE", "PK", "SK", "PROBLEM"], rows)
    }
}
