//! The `app` commands: applications that members have connected.

use std::fmt;

use serde::Serialize;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{AuditActorKind, AuditActorTerm, Tenant};
use shared::services::membership;
use shared::services::webhooks::disable_endpoints_of;
use shared::store::Paging;

use crate::admin::{Admin, CommandError};
use crate::output::{line, or_dash, table};

/// A connected application.
#[derive(Serialize)]
pub(crate) struct App {
    id: Id,
    name: String,
    member_id: Id,
    created_at: Timestamp,
    revoked_at: Option<Timestamp>,
}

/// Connected applications, newest first.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Apps(Vec<App>);

/// An application that was disconnected.
#[derive(Serialize)]
pub(crate) struct Revoked {
    id: Id,
}

pub(crate) async fn list(admin: &Admin, tenant: Tenant) -> Result<Apps, CommandError> {
    let mut apps = Vec::new();
    let mut page = Paging { limit: 100, before: None };
    loop {
        let listed = admin.store.list_grants(tenant, &page).await?;
        apps.extend(listed.items.into_iter().map(|grant| App {
            id: grant.id,
            name: grant.client_name.as_str().to_owned(),
            member_id: grant.member,
            created_at: grant.created_at,
            revoked_at: grant.revoked_at,
        }));
        page.before = listed.next;
        if page.before.is_none() {
            return Ok(Apps(apps));
        }
    }
}

/// Disconnects an application, and disables the webhook endpoints whose URLs it has chosen.
pub(crate) async fn revoke(admin: &Admin, tenant: Tenant, id: Id) -> Result<Revoked, CommandError> {
    let grant = admin.store.find_grant(tenant, id).await?.ok_or(CommandError::NoSuchApp)?;
    let revoked = membership::revoke_grant(&admin.store, tenant, grant, admin.now);
    revoked.await.map_err(CommandError::of_commit)?;
    let chooser = AuditActorTerm { kind: AuditActorKind::App, id: Some(id) };
    let disabled = disable_endpoints_of(&admin.store, tenant, chooser, |_| false, admin.now);
    disabled.await.map_err(CommandError::of_commit)?;
    Ok(Revoked { id })
}

impl fmt::Display for Apps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "No connected applications in this mode.");
        }
        let rows = self.0.iter().map(|app| {
            let (member, connected) = (app.member_id.to_string(), app.created_at.to_string());
            [app.id.to_string(), connected, or_dash(app.revoked_at), member, line(&app.name)]
        });
        table(f, ["ID", "CONNECTED", "REVOKED", "MEMBER", "NAME"], rows)
    }
}

impl fmt::Display for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The application {} was disconnected.", self.id)
    }
}
