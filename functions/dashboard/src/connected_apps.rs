//! Settings > Integrations > Connected apps: the applications with access to the data of the current mode.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{Mode, Scope};
use shared::store::Paging;

use crate::dates::{self, Time, date};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

const PATH: &str = "/dashboard/settings/integrations/connected-apps";
/// The number of grants per read.
const GRANTS: u32 = 100;

#[derive(Template)]
#[template(path = "connected_apps.html")]
struct ConnectedAppsPage<'p> {
    layout: Layout<'p>,
    /// The applications, newest first.
    apps: Vec<AppRow<'p>>,
    base_url: &'p str,
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
}

/// Shows the connected applications.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, now) = (request.tenant(), request.context.store(), request.context.now());
    let mut grants = Vec::new();
    let mut paging = Paging { limit: GRANTS, before: None };
    loop {
        let page = store.list_grants(tenant, &paging).await?;
        grants.extend(page.items.into_iter().filter(|grant| grant.tokens.is_some() && grant.is_good(now)));
        paging.before = page.next;
        if paging.before.is_none() {
            break;
        }
    }
    let members = store.list_members(tenant.organization).await?;
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
    });
    Reply::page(&ConnectedAppsPage {
        layout: Layout::of(&request, Section::ConnectedApps),
        apps: apps.collect(),
        base_url: request.context.base_url(),
    })
}

/// Revokes an application's access.
pub(crate) async fn revoke(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (context, tenant) = (&request.context, request.tenant());
    let grant = context.store().find_grant(tenant, context.id()?).await?.ok_or(Error::NotFound)?;
    if grant.revoked_at.is_none() {
        let mut transaction = request.transaction();
        transaction.revoke_grant(&grant, context.now())?;
        context.store().commit(transaction).await?;
    }
    Ok(Notice::AppRevoked.redirect_to(PATH))
}
