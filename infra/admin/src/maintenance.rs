//! The commands `verify` and `rebuild`: they read what organizations have stored, and repair it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use shared::id::Id;
use shared::model::{Mode, Tenant};
use shared::store::{FeedRun, Finding, OrganizationError, PageWork, Paging, REGISTRY_SHARDS};

use crate::admin::{Admin, CommandError};
use crate::cli::Selection;
use crate::output::table;

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It only reads.
    Verify,
    /// It reports what a rebuild would write.
    Preview,
    /// It writes.
    Rebuild,
}

/// What a run has found.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    organizations: u64,
    items: u64,
    /// What a rebuild has done for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    people: Option<People>,
    findings: Vec<Found>,
}

/// The people who were written again, because this release stores people in another form.
#[derive(Debug, Default, Serialize)]
pub(crate) struct People {
    read: u64,
    /// Those who were written, or would be.
    rewritten: u64,
    read_units: f64,
    write_units: f64,
}

/// The number of items that are read in the time for writing one. A transaction writes each of its items twice, so that the
/// table has more work with it.
const READS_FOR_A_WRITE: usize = 4;

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
pub(crate) async fn run(admin: &Admin, selection: &Selection, work: Work) -> Result<Summary, CommandError> {
    let people = (work != Work::Verify).then(People::default);
    let mut summary = Summary { people, ..Summary::default() };
    if let Some(organization) = selection.organization {
        let tenant = Tenant { organization, mode: Mode::Live };
        admin.store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
        check(admin, selection, work, organization, &mut summary).await?;
        return Ok(summary);
    }
    let mut skips = selection.after.is_some();
    for shard in 0..REGISTRY_SHARDS {
        let mut page = Paging { limit: 100, before: None };
        loop {
            let listed = admin.store.list_registered(shard, &page).await?;
            for organization in listed.items {
                if !skips {
                    check(admin, selection, work, organization, &mut summary).await?;
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
    work: Work,
    organization: Id,
    summary: &mut Summary,
) -> Result<(), CommandError> {
    let second = Duration::from_secs(1);
    let pause = |items: usize| {
        tokio::time::sleep(second * u32::try_from(items).unwrap_or(u32::MAX) / selection.items_per_second)
    };
    let (mut read, mut wrong) = (0, 0);
    for tenant in Mode::ALL.map(|mode| Tenant { organization, mode }) {
        if let Some(people) = &mut summary.people {
            let store = admin.store.counting_units();
            let pause = |page: PageWork| pause(page.read + READS_FOR_A_WRITE * page.written);
            let writes = work == Work::Rebuild;
            let number = admin.random.below(u64::MAX);
            let run = FeedRun { number, ids: &admin.ids, clock: &admin.clock };
            let done = store.rewrite_people(tenant, writes, run, pause).await?;
            let units = store.units();
            people.read += done.people;
            people.rewritten += done.rewritten;
            people.read_units += units.read;
            people.write_units += units.written;
        }
        let (items, findings) = admin.store.verify(tenant, work == Work::Rebuild, pause).await?;
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
        let Self { organizations, items, people, findings } = self;
        if let Some(People { read, rewritten, read_units, write_units }) = people {
            writeln!(
                f,
                "People: {read}. In an older form: {rewritten}. Units: {read_units:.0} read, {write_units:.0} written."
            )?;
        }
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
