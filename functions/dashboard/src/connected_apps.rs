//! Settings, Integrations, Connected apps: what members have given access to the mode that is looked at.

use std::collections::HashMap;
use std::sync::Arc;

use shared::http::{Desk, Error, Page, Reply};
use shared::model::Scope;
use shared::store;

use crate::frame::{date, day, done, frame};
use crate::pages::{AppRow, ConnectedApps, Section};

const PATH: &str = "/dashboard/settings/integrations/connected-apps";
/// How many grants are read at once.
const GRANTS: u32 = 100;

/// Shows the applications that have access.
pub(crate) async fn list(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let (tenant, store, now) = (desk.tenant(), desk.store(), desk.now());
    let mut grants = Vec::new();
    let mut page = store::Page { limit: GRANTS, before: None };
    loop {
        let found = store.list_grants(tenant, &page).await?;
        grants.extend(found.items.into_iter().filter(|grant| grant.tokens.is_some() && grant.is_good(now)));
        page.before = found.next;
        if page.before.is_none() {
            break;
        }
    }
    let used = store.list_apps(tenant).await?;
    let members = store.list_members(tenant.organization).await?;
    let names: HashMap<_, _> = members.iter().map(|member| (member.id, member.name.as_str())).collect();
    let apps = grants.iter().map(|grant| AppRow {
        id: grant.id.get(),
        name: grant.client_name.as_str(),
        host: &grant.redirect_host,
        member: names.get(&grant.member).copied().unwrap_or("somebody who has left"),
        mode: tenant.mode.as_str(),
        scopes: grant.scopes.iter().map(Scope::description).collect(),
        connected: day(grant.created_at),
        last_used: used.last_used(grant.id).map(date),
    });
    Reply::page(&ConnectedApps {
        frame: frame(&desk, Section::ConnectedApps),
        apps: apps.collect(),
        base_url: desk.base_url(),
    })
}

/// Takes an application's access back, at once.
pub(crate) async fn revoke(desk: Arc<Desk>) -> Result<Reply<Page>, Error> {
    let grant = desk.store().find_grant(desk.tenant(), desk.id()?).await?.ok_or(Error::NotFound)?;
    if grant.revoked_at.is_none() {
        let mut writes = desk.writes();
        writes.revoke_grant(grant, desk.now())?;
        desk.store().commit(writes).await?;
    }
    Ok(done(PATH, "app-revoked"))
}
