//! The API keys' commands. A key itself is shown here, by `create`, and nowhere else.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use shared::auth::{Credential, Kind};
use shared::id::Id;
use shared::model::{Day, Scope, Scopes, Tenant};
use shared::store::{ApiKey, Denied, NewApiKey, Page};

use crate::cli::NewKey;
use crate::output::{columns, line, or_dash};
use crate::{Admin, DRAWS};

/// A key that was just created. It shows the key.
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

/// A key as its owner sees it.
#[derive(Serialize)]
pub(crate) struct Shown {
    id: Id,
    name: String,
    mode: &'static str,
    scopes: Vec<&'static str>,
    state: &'static str,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    last_used_on: Option<Day>,
}

/// All keys of one mode of an organization.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ShownKeys(Vec<Shown>);

/// A key that is refused from now on.
#[derive(Serialize)]
pub(crate) struct Refused {
    id: Id,
    name: String,
    revoked_at: Option<Timestamp>,
}

pub(crate) async fn create(admin: &Admin, new: NewKey) -> Result<Created, Denied> {
    let tenant = new.tenant.tenant();
    let scopes = if new.scopes.is_empty() { Scopes::all() } else { new.scopes.into_iter().collect() };
    let days = new.expires_in_days.map(|days| SignedDuration::from_hours(24 * i64::from(days)));
    let expires_at = days.map(|days| admin.now.saturating_add(days).unwrap_or(Timestamp::MAX));
    for _ in 0..DRAWS {
        let credential = Credential::generate(Kind::ApiKey, tenant, admin.ids.next(), &admin.random);
        let name = new.name.as_str().to_owned();
        let key =
            ApiKey { id: credential.id(), name, scopes, created_at: admin.now, expires_at, revoked_at: None };
        let inserted = NewApiKey { key, hash: credential.hash() };
        match admin.store.insert_api_key(tenant, &inserted).await {
            Err(Denied::Exists) => {}
            Err(denied) => return Err(denied),
            Ok(()) => return Ok(Created::of(tenant, inserted.key, &credential)),
        }
    }
    Err(Denied::Exists)
}

pub(crate) async fn list(admin: &Admin, tenant: Tenant) -> Result<ShownKeys, Denied> {
    admin.store.find_organization(tenant).await?.ok_or(Denied::NoSuchOrganization)?;
    let last_used = admin.store.last_used(tenant).await?;
    let mut shown = Vec::new();
    let mut page = Page { limit: 100, before: None };
    loop {
        let listed = admin.store.list_api_keys(tenant, &page).await?;
        shown.extend(listed.items.into_iter().map(|key| Shown {
            state: state(&key, admin.now),
            last_used_on: last_used(key.id),
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
    Ok(ShownKeys(shown))
}

pub(crate) async fn revoke(admin: &Admin, tenant: Tenant, id: Id) -> Result<Refused, Denied> {
    let key = admin.store.revoke_api_key(tenant, id, admin.now).await?;
    Ok(Refused { id: key.id, name: key.name, revoked_at: key.revoked_at })
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

fn readable(scopes: &[&str]) -> String {
    if scopes.len() == Scope::ALL.len() { "all".to_owned() } else { scopes.join(",") }
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
        writeln!(f, "Keep it now: it is not stored and cannot be shown again.")?;
        write!(f, "It is the {mode} key {id}, {}; scopes: {}; ", line(&self.name), readable(&self.scopes))?;
        match self.expires_at {
            Some(expires_at) => write!(f, "expires at {expires_at}."),
            None => write!(f, "does not expire."),
        }
    }
}

impl fmt::Display for ShownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "There are no keys in this mode.");
        }
        let rows = self.0.iter().map(|key| {
            [
                key.id.to_string(),
                key.state.to_owned(),
                key.created_at.to_string(),
                or_dash(key.expires_at),
                or_dash(key.last_used_on),
                readable(&key.scopes),
                line(&key.name),
            ]
        });
        columns(f, ["ID", "STATE", "CREATED", "EXPIRES", "LAST USED", "SCOPES", "NAME"], rows)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The key {}, {}, is refused since {}.", self.id, line(&self.name), or_dash(self.revoked_at))
    }
}
