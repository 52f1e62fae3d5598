//! The `export` commands: everything that is stored about a person or an organization, as JSON.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::json;
use shared::clock::Timestamp;
use shared::handlers::rejection_reasons::RejectionReasons;
use shared::handlers::responses::export::CandidateExport;
use shared::handlers::responses::posting::Posting;
use shared::handlers::responses::role::Role;
use shared::id::Id;
use shared::model::{
    AuditAction, AuditTarget, AuditTargetKind, Day, Grant, Mode, Organization, Scope, Tenant,
};
use shared::store::{
    AuditSelection, Listed, MaybeErased, OrganizationError, Paging, StoreError, SuspectSelection, UsageDay,
};

use crate::admin::{Admin, CommandError};
use crate::cli::{Export, OnePerson};
use crate::{channels, keys, members, people};

/// A line of an organization's export.
#[derive(Serialize)]
struct Line<'l, T> {
    /// The type of `data`.
    r#type: &'l str,
    /// The mode that the data belongs to. The data of both modes, such as a member, is in live mode.
    mode: Mode,
    data: T,
}

/// An application with OAuth access.
#[derive(Serialize)]
struct ConnectedApp<'a> {
    id: Id,
    client_id: &'a str,
    client_name: &'a str,
    member_id: Id,
    scopes: Vec<&'static str>,
    created_at: Timestamp,
    revoked_at: Option<Timestamp>,
}

const PAGE: u32 = 100;

/// Writes everything that is stored about a person, as one JSON document.
pub(crate) async fn person(
    admin: &Admin,
    person: &OnePerson,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let (tenant, id) = people::find(admin, person).await?;
    let export = find_export(admin, tenant, id).await?.ok_or(OrganizationError::NoSuchPerson)?;
    let target = AuditTarget::of(AuditTargetKind::Candidate, id);
    admin.store.record(tenant, AuditAction::CandidateExported, Some(target), None).await?;
    serde_json::to_writer_pretty(&mut *out, &export)
        .map_err(|error| CommandError::Unwritten(error.into()))?;
    writeln!(out).map_err(CommandError::Unwritten)
}

/// Writes everything that is stored about an organization, one JSON document per line. Only one page of a list is in
/// memory at a time.
pub(crate) async fn organization(
    admin: &Admin,
    export: Export,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let (id, base_url, store) = (export.id, export.base_url.as_str(), &admin.store);
    for mode in Mode::ALL {
        let tenant = Tenant { organization: id, mode };
        let organization =
            store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
        if mode == Mode::Live {
            store.record(tenant, AuditAction::OrganizationExported, None, None).await?;
        }
        let mut lines = Lines { mode, out: &mut *out };
        lines.write("organization", &organization)?;
        if let Some(site) = store.find_career_site(&organization.organization.slug).await? {
            lines.write("career_site", &site.branding)?;
        }
        if let Some(text) = store.find_privacy_text(tenant).await? {
            lines.write("privacy_text", &text)?;
        }
        if let Some(logo) = store.find_logo(tenant).await? {
            let content = STANDARD.encode(&logo.content);
            lines.write("logo", &json!({ "format": logo.format, "content": content }))?;
        }
        if let Some(rule) = store.get_retention_setting(tenant).await?.schedule {
            lines.write("retention_rule", &rule)?;
        }
        let reasons = store.get_rejection_reasons(tenant).await?;
        if reasons.version > 0 {
            lines.write("rejection_reasons", &RejectionReasons::of(&reasons))?;
        }
        if mode == Mode::Live {
            lines.write("channels", &channels::show(admin, id).await?)?;
            lines.write_all("member", members::list(admin, id).await?.0)?;
        }
        lines.write_all("api_key", keys::list(admin, tenant).await?.0)?;
        let mut pages = Pages::new();
        while let Some(page) = pages.next() {
            let grants = pages.read(store.list_grants(tenant, &page).await?);
            lines.write_all("connected_app", grants.iter().map(ConnectedApp::of))?;
        }
        let mut pages = Pages::new();
        while let Some(page) = pages.next() {
            let log =
                store.list_audit_log(&organization, AuditSelection::All, [None; 2], admin.now, &page).await?;
            lines.write_all("audit_entry", pages.read(log))?;
        }
        let today = Day::of(admin.now);
        let requests = store.find_organization_and_usage(tenant, today).await?.map_or(0, |found| found.1);
        lines.write("usage", &UsageDay { day: today, requests })?;
        let mut pages = Pages::new();
        while let Some(page) = pages.next() {
            lines.write_all("usage", pages.read(store.list_usage(tenant, &page).await?))?;
        }
        let mut pages = Pages::new();
        while let Some(page) = pages.next() {
            let roles = pages.read(store.list_roles(tenant, None, &page).await?);
            lines.write_all(
                "role",
                roles.into_iter().map(|role| Role::of(role, &organization.organization, base_url)),
            )?;
        }
        export_postings(admin, &organization.organization, base_url, &mut lines).await?;
        let mut pages = Pages::new();
        while let Some(page) = pages.next() {
            lines.write_all("x_post", pages.read(store.list_posts(tenant, &page).await?))?;
        }
        export_candidates(admin, tenant, &mut lines).await?;
        let (all, mut pages) = (SuspectSelection::default(), Pages::new());
        while let Some(page) = pages.next() {
            let forms = store.list_suspects(tenant, &all, admin.now, &page).await?;
            lines.write_all("suspect_form", pages.read(forms))?;
        }
    }
    Ok(())
}

async fn export_postings(
    admin: &Admin,
    organization: &Organization,
    base_url: &str,
    lines: &mut Lines<'_, impl Write>,
) -> Result<(), CommandError> {
    let (tenant, mut pages) = (organization.tenant(), Pages::new());
    while let Some(page) = pages.next() {
        let postings = pages.read(admin.store.list_postings(tenant, None, &page).await?);
        let roles = admin.store.find_roles(tenant, postings.iter().map(|posting| posting.role_id)).await?;
        for posting in &postings {
            let role = roles.get(&posting.role_id);
            let role = role.ok_or_else(|| StoreError::Internal("a posting's role is missing".to_owned()))?;
            lines.write("job_posting", &Posting::of(posting, role, organization, base_url, admin.now))?;
        }
    }
    Ok(())
}

async fn export_candidates(
    admin: &Admin,
    tenant: Tenant,
    lines: &mut Lines<'_, impl Write>,
) -> Result<(), CommandError> {
    let mut pages = Pages::new();
    while let Some(page) = pages.next() {
        for (candidate, _) in pages.read(admin.store.list_candidates(tenant, None, None, &page).await?) {
            // The candidate may have been erased in the meantime.
            if let Some(export) = find_export(admin, tenant, candidate.id).await? {
                lines.write("candidate", &export)?;
            }
        }
    }
    Ok(())
}

/// The export of a candidate with all transcripts, regardless of their size.
async fn find_export(admin: &Admin, tenant: Tenant, id: Id) -> Result<Option<CandidateExport>, StoreError> {
    let found = admin.store.find_candidate_data(tenant, id, usize::MAX).await?;
    let Some(data) = found.and_then(MaybeErased::present) else { return Ok(None) };
    Ok(Some(CandidateExport::of(data, admin.bucket.as_ref(), admin.clock.now()).await))
}

/// The pages of a list.
struct Pages {
    /// The next page; `None` after the last one.
    page: Option<Paging>,
}

impl Pages {
    const fn new() -> Self {
        Self { page: Some(Paging { limit: PAGE, before: None }) }
    }

    const fn next(&mut self) -> Option<Paging> {
        self.page.take()
    }

    /// The items of a page.
    fn read<T>(&mut self, listed: Listed<T>) -> Vec<T> {
        self.page = listed.next.map(|next| Paging { limit: PAGE, before: Some(next) });
        listed.items
    }
}

/// The lines of one mode.
struct Lines<'o, W> {
    mode: Mode,
    out: &'o mut W,
}

impl<W: Write> Lines<'_, W> {
    fn write(&mut self, r#type: &str, data: &impl Serialize) -> Result<(), CommandError> {
        let line = Line { r#type, mode: self.mode, data };
        serde_json::to_writer(&mut *self.out, &line)
            .map_err(|error| CommandError::Unwritten(error.into()))?;
        writeln!(self.out).map_err(CommandError::Unwritten)
    }

    fn write_all<T: Serialize>(
        &mut self,
        r#type: &str,
        data: impl IntoIterator<Item = T>,
    ) -> Result<(), CommandError> {
        data.into_iter().try_for_each(|data| self.write(r#type, &data))
    }
}

impl<'a> ConnectedApp<'a> {
    fn of(grant: &'a Grant) -> Self {
        Self {
            id: grant.id,
            client_id: &grant.client_id,
            client_name: grant.client_name.as_str(),
            member_id: grant.member,
            scopes: grant.scopes.iter().map(Scope::as_str).collect(),
            created_at: grant.created_at,
            revoked_at: grant.revoked_at,
        }
    }
}
