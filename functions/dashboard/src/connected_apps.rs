//! Settings > Integrations > Connected apps: the applications with access to the data of the current mode.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{AuditActorKind, AuditActorTerm, MemberRole, Mode, NarrowedSite, Scope};
use shared::services::webhooks::disable_endpoints_of;

use crate::dates::{self, Time, date};
use crate::holdings::{EndingEndpoint, is_kept};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

const PATH: &str = "/dashboard/settings/integrations/connected-apps";

#[derive(Template)]
#[template(path = "connected_apps.html")]
struct ConnectedAppsPage<'p> {
    layout: Layout<'p>,
    /// The applications, newest first.
    apps: Vec<AppRow<'p>>,
    /// The sites whose applications may only read.
    narrowed: Vec<NarrowedRow<'p>>,
    base_url: &'p str,
    /// Whether the member may lift this, and change the rule for confirmations.
    is_owner: bool,
}

struct AppRow<'p> {
    /// The grant's identifier.
    id: u64,
    /// The name under which the application registered.
    name: &'p str,
    /// The host of its redirect URI.
    host: &'p str,
    /// The name of the member who connected it.
    member: &'p str,
    mode: Mode,
    scopes: Vec<&'static str>,
    connected: Time,
    last_used: Option<String>,
    /// The webhook endpoints that are disabled with its access.
    endpoints: Vec<EndingEndpoint<'p>>,
}

struct NarrowedRow<'p> {
    site: &'p str,
    /// The name of the application that was narrowed.
    name: &'p str,
    at: Time,
}

/// Shows the connected applications.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, now) = (request.tenant(), request.context.store(), request.context.now());
    let mut grants = store.list_good_grants(tenant, now).await?;
    grants.retain(|grant| grant.tokens.is_some());
    let sites = store.list_narrowed_sites(tenant.organization).await?;
    let members = store.list_members(tenant.organization).await?;
    let endpoints = store.list_all_webhook_endpoints(tenant).await?;
    let names: HashMap<_, _> = members.iter().map(|member| (member.id, member.name.as_str())).collect();
    let zone = dates::zone(&request);
    let apps = grants.iter().map(|grant| AppRow {
        id: grant.id.get(),
        name: grant.client_name.as_str(),
        host: &grant.redirect_host,
        member: names.get(&grant.member).copied().unwrap_or("a former member"),
        mode: tenant.mode,
        scopes: grant.scopes.iter().map(Scope::description).collect(),
        connected: zone.day(grant.created_at),
        last_used: grant.last_used_on.map(date),
        endpoints: EndingEndpoint::chosen_by(&request, &endpoints, app_term(grant.id)),
    });
    let narrowed = sites.iter().map(|NarrowedSite { site, client_name, at, .. }| NarrowedRow {
        site,
        name: client_name.as_str(),
        at: zone.day(*at),
    });
    Reply::page(&ConnectedAppsPage {
        layout: Layout::of(&request, Section::ConnectedApps),
        apps: apps.collect(),
        narrowed: narrowed.collect(),
        base_url: request.context.base_url(),
        is_owner: request.member().role == MemberRole::Owner,
    })
}

/// Revokes an application's access, and disables the webhook endpoints whose URLs it has chosen, unless the form says that
/// they stay.
pub(crate) async fn revoke(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (context, tenant) = (&request.context, request.tenant());
    let grant = context.store().find_grant(tenant, context.id()?).await?.ok_or(Error::NotFound)?;
    if grant.revoked_at.is_none() {
        let mut transaction = request.transaction();
        transaction.revoke_grant(&grant, context.now())?;
        context.store().commit(transaction).await?;
    }
    let is_kept = |endpoint| is_kept(&request, tenant.mode, endpoint);
    disable_endpoints_of(context.store(), tenant, app_term(grant.id), is_kept, context.now()).await?;
    Ok(Notice::AppRevoked.redirect_to(PATH))
}

const fn app_term(grant: Id) -> AuditActorTerm {
    AuditActorTerm { kind: AuditActorKind::App, id: Some(grant) }
}

/// Lets members give applications at a narrowed site all permissions again.
pub(crate) async fn lift_narrowing(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (store, organization) = (request.context.store(), request.tenant().organization);
    let site = store.find_narrowed_site(organization, request.page.form().get("site")).await?;
    let mut transaction = request.transaction();
    transaction.lift_narrowing(&site.ok_or(Error::NotFound)?);
    store.commit(transaction).await?;
    Ok(Notice::NarrowingLifted.redirect_to(PATH))
}
