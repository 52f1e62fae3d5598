//! The demonstration organizations: the same on every machine, so that the README's commands work as they stand.
//!
//! Their keys are public. They can exist only here: a deployed service numbers its organizations by time and never
//! hands out 1 or 2, and nothing but this file makes these.

use jiff::Timestamp;
use shared::auth::Credential;
use shared::clock::to_second;
use shared::id::Id;
use shared::model::{Mode, Plan, Scopes, Tenant, Text};
use shared::store::{ApiKey, NewApiKey, Store};

/// A demonstration organization.
pub struct Demo {
    /// Its name.
    pub name: &'static str,
    /// What it pays for.
    pub plan: Plan,
    number: u64,
    secrets: [&'static str; 2],
}

/// The demonstration organizations.
pub const DEMOS: [Demo; 2] = [
    Demo {
        name: "Acme",
        plan: Plan::Pro,
        number: 1,
        secrets: ["DemoKeyOfAcmeLiveNotASecret", "DemoKeyOfAcmeTestNotASecret"],
    },
    Demo {
        name: "Globex",
        plan: Plan::Free,
        number: 2,
        secrets: ["DemoKeyOfGlobexLiveNoSecret", "DemoKeyOfGlobexTestNoSecret"],
    },
];

impl Demo {
    /// One mode of it.
    pub fn tenant(&self, mode: Mode) -> Result<Tenant, String> {
        let organization = Id::new(self.number).ok_or("a demonstration organization needs a number")?;
        Ok(Tenant { organization, mode })
    }

    /// Its key for one mode.
    pub fn key(&self, mode: Mode) -> Result<Credential, String> {
        let tenant = self.tenant(mode)?;
        let secret = match mode {
            Mode::Live => self.secrets[0],
            Mode::Test => self.secrets[1],
        };
        Ok(Credential::with_secret(tenant, tenant.organization, secret))
    }

    /// Creates what of it does not exist yet.
    async fn create(&self, store: &Store, now: Timestamp) -> Result<(), String> {
        let live = self.tenant(Mode::Live)?;
        if store.find_organization(live).await.map_err(|error| error.to_string())?.is_none() {
            let name = Text::parse(self.name)?.ok_or("a demonstration organization needs a name")?;
            let created = store.create_organization(live.organization, &name, None, self.plan, now).await;
            created.map_err(|error| error.to_string())?;
        }
        for mode in Mode::ALL {
            let (tenant, credential) = (self.tenant(mode)?, self.key(mode)?);
            if store.find_api_key(tenant, credential.id()).await.map_err(|error| error.to_string())?.is_none()
            {
                let key = ApiKey {
                    id: credential.id(),
                    name: format!("{} demonstration", self.name),
                    scopes: Scopes::all(),
                    created_at: now,
                    expires_at: None,
                    revoked_at: None,
                };
                let new = NewApiKey { key, hash: credential.hash() };
                store.insert_api_key(tenant, &new).await.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

/// Creates the demonstration organizations that do not exist yet, with their keys.
pub async fn create(store: &Store, now: Timestamp) -> Result<(), String> {
    for demo in &DEMOS {
        demo.create(store, to_second(now)).await?;
    }
    Ok(())
}
