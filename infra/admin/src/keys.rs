//! The `key` commands. Only `create` prints the key itself.

use std::fmt;

use jiff::SignedDuration;
use serde::Serialize;
use shared::auth::{Claims, Credential, Kind};
use shared::clock::{Timestamp, later};
use shared::id::Id;
use shared::model::{AuditActorKind, AuditActorTerm, Day, Scope, Scopes, Tenant};
use shared::services::webhooks::disable_endpoints_of;
use shared::store::{ApiKey, OrganizationError, Paging, Transaction};

use crate::admin::{Admin, CommandError, ID_ATTEMPTS};
use crate::cli::NewKey;
use crate::output::{line, or_dash, table};

/// A key that was just created, with its secret.
#[derive(Serialize)]
pub(crate) struct Created {
    id: Id,
    organization_id: Id,
    mode: &'static str,
    name: String,
    scopes: Vec<&'static str>,
    expires_at: Option<Timestamp>,
    key: String,
}

/// A key in a list, without its secret.
#[derive(Serialize)]
pub(crate) struct Summary {
    id: Id,
    name: String,
    mode: &'static str,
    scopes: Vec<&'static str>,
    state: &'static str,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    last_used_on: Option<Day>,
    /// The member who created it.
    created_by: Option<Id>,
    /// The networks from which it may be used; empty if all are allowed.
    networks: String,
}

/// All keys of one mode of an organization.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Summaries(pub(crate) Vec<Summary>);

/// A key that was revoked.
#[derive(Serialize)]
pub(crate) struct RevokedKey {
    id: Id,
    name: String,
    revoked_at: Option<Timestamp>,
}

pub(crate) async fn create(admin: &Admin, new: NewKey) -> Result<Created, CommandError> {
    let (keys, networks) = (admin.secrets.credential_keys()?, new.networks);
    let tenant = new.tenant.tenant();
    let scopes = if new.scopes.is_empty() { Scopes::by_default() } else { new.scopes.into_iter().collect() };
    let days = new.expires_in_days.map(|days| SignedDuration::from_hours(24 * i64::from(days)));
    let expires_at = days.map(|days| later(admin.now, days));
    for _ in 0..ID_ATTEMPTS {
        let (id, access) = (admin.ids.next(), Claims { scopes, expires_at, ..Claims::default() });
        let credential = Credential::generate(Kind::ApiKey, tenant, id, access, &keys, &admin.random);
        let name = new.name.as_str().to_owned();
        let key = ApiKey { networks: networks.clone(), ..credential.api_key(name, admin.now) };
        match admin.store.insert_api_key(Transaction::new(tenant), &key).await {
            Err(OrganizationError::Exists) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(Created::of(tenant, key, &credential)),
        }
    }
    Err(OrganizationError::Exists.into())
}

/// Creates a key that replaces another one.
pub(crate) async fn rotate(
    admin: &Admin,
    tenant: Tenant,
    id: Id,
    overlap_hours: u32,
) -> Result<Created, CommandError> {
    let keys = admin.secrets.credential_keys()?;
    let replaced = admin.store.find_api_key(tenant, id).await?.ok_or(OrganizationError::NoSuchKey)?;
    let ends_at = later(admin.now, SignedDuration::from_hours(i64::from(overlap_hours)));
    for _ in 0..ID_ATTEMPTS {
        let (id, random, now) = (admin.ids.next(), &admin.random, admin.now);
        let (credential, key) = Credential::replace_key(&replaced, tenant, id, &keys, random, now);
        let mut transaction = Transaction::new(tenant);
        transaction.end_replaced_key(replaced.id, ends_at)?;
        match admin.store.insert_api_key(transaction, &key).await {
            Err(OrganizationError::Exists) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(Created::of(tenant, key, &credential)),
        }
    }
    Err(OrganizationError::Exists.into())
}

pub(crate) async fn list(admin: &Admin, tenant: Tenant) -> Result<Summaries, OrganizationError> {
    admin.store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    let mut keys = Vec::new();
    let mut page = Paging { limit: 100, before: None };
    loop {
        let listed = admin.store.list_api_keys(tenant, &page).await?;
        keys.extend(listed.items.into_iter().map(|key| Summary {
            state: state(&key, admin.now),
            last_used_on: key.last_used_on,
            created_by: key.created_by,
            networks: key.networks.to_string(),
            id: key.id,
            name: key.name,
            mode: tenant.mode.as_str(),
            scopes: names(key.scopes),
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
        }));
        let Some(next) = listed.next else { break };
        page.before = Some(next);
    }
    Ok(Summaries(keys))
}

/// Revokes a key, and disables the webhook endpoints whose URLs it has chosen.
pub(crate) async fn revoke(admin: &Admin, tenant: Tenant, id: Id) -> Result<RevokedKey, CommandError> {
    let key = admin.store.revoke_api_key(tenant, id, admin.now).await?;
    let chooser = AuditActorTerm { kind: AuditActorKind::ApiKey, id: Some(id) };
    let disabled = disable_endpoints_of(&admin.store, tenant, chooser, |_| false, admin.now);
    disabled.await.map_err(CommandError::of_commit)?;
    Ok(RevokedKey { id: key.id, name: key.name, revoked_at: key.revoked_at })
}

fn names(scopes: Scopes) -> Vec<&'static str> {
    scopes.iter().map(Scope::as_str).collect()
}

fn state(key: &ApiKey, now: Timestamp) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|expires_at| expires_at <= now) {
        "expired"
    } else {
        "active"
    }
}

fn scopes_text(scopes: &[&str]) -> String {
    if scopes.iter().copied().eq(Scopes::all().iter().map(Scope::as_str)) {
        return "all".to_owned();
    }
    if scopes.iter().copied().eq(Scopes::by_default().iter().map(Scope::as_str)) {
        return "default".to_owned();
    }
    scopes.join(",")
}

impl Created {
    fn of(tenant: Tenant, key: ApiKey, credential: &Credential) -> Self {
        Self {
            id: key.id,
            organization_id: tenant.organization,
            mode: tenant.mode.as_str(),
            name: key.name,
            scopes: names(key.scopes),
            expires_at: key.expires_at,
            key: credential.reveal().to_owned(),
        }
    }
}

impl fmt::Display for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, mode, key, .. } = self;
        writeln!(f, "{key}\n")?;
        writeln!(f, "Save it now: only its hash is stored, so it cannot be shown again.")?;
        write!(
            f,
            "It is the {mode} key {id}, {}; scopes: {}; ",
            line(&self.name),
            scopes_text(&self.scopes)
        )?;
        match self.expires_at {
            Some(expires_at) => write!(f, "expires at {expires_at}."),
            None => write!(f, "never expires."),
        }
    }
}

impl fmt::Display for Summaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "No keys in this mode.");
        }
        let rows = self.0.iter().map(|key| {
            [
                key.id.to_string(),
                key.state.to_owned(),
                key.created_at.to_string(),
                or_dash(key.expires_at),
                or_dash(key.last_used_on),
                scopes_text(&key.scopes),
                line(&key.name),
            ]
        });
        table(f, ["ID", "STATE", "CREATED", "EXPIRES", "LAST USED", "SCOPES", "NAME"], rows)
    }
}

impl fmt::Display for RevokedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, revoked_at) = (line(&self.name), or_dash(self.revoked_at));
        write!(f, "The key {}, {name}, was revoked at {revoked_at}.", self.id)
    }
}
