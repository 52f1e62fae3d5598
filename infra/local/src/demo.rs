//! The demo organizations. They are the same on every machine, so the README's commands work unchanged.
//!
//! Their keys and passwords are public, but they exist only in the local service: a deployed service derives the ids of
//! its organizations from the time, so it never assigns 1 or 2.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use shared::auth::{Claims, Credential, Kind};
use shared::clock::Timestamp;
use shared::config::DemoLogin;
use shared::http::Environment;
use shared::id::Id;
use shared::mac_keys::MacKeys;
use shared::model::{
    Actor, ActorKind, Member, MemberRole, Mode, Password, PasswordCost, PasswordHash, Plan, Scopes, Slug,
    Tenant, Text,
};
use shared::store::{TaskPartition, Transaction};

use crate::company::{self, Staff};

/// The key that signs the local service's cursors and forms. It need not be secret.
pub const SIGNING_KEYS: &str = "0123456789abcdef0123456789abcdef";
/// The key that authenticates the local service's credentials. It need not be secret.
pub const CREDENTIAL_KEYS: &str = "credentials-0123456789abcdef0123";
/// The key that encrypts the stored secrets of the local service. It need not be secret.
pub const SEALING_KEYS: &str = "1:the local service seals for itself";

/// The keys that sign the local service's cursors and forms.
pub fn signing_keys() -> Result<MacKeys, String> {
    MacKeys::parse(SIGNING_KEYS)
}

/// The keys that authenticate the local service's credentials.
pub fn credential_keys() -> Result<MacKeys, String> {
    MacKeys::parse(CREDENTIAL_KEYS)
}

/// A demo organization with one member, an owner.
pub struct Demo {
    /// The organization's name.
    pub name: &'static str,
    /// The organization's plan.
    pub plan: Plan,
    /// The member's e-mail address.
    pub email: &'static str,
    /// The member's password.
    pub password: &'static str,
    number: u64,
    secrets: [&'static str; 2],
}

/// The demo organizations.
pub const DEMOS: [Demo; 2] = [
    Demo {
        name: "Acme",
        plan: Plan::Pro,
        email: "ada@acme.example",
        password: "acme demo password",
        number: 1,
        secrets: ["DemoKeyOfAcmeLiveNotASecret", "DemoKeyOfAcmeTestNotASecret"],
    },
    Demo {
        name: "Globex",
        plan: Plan::Free,
        email: "grace@globex.example",
        password: "globex demo password",
        number: 2,
        secrets: ["DemoKeyOfGlobexLiveNoSecret", "DemoKeyOfGlobexTestNoSecret"],
    },
];

/// The partitions with the tasks of the demo organizations.
pub fn task_partitions() -> Vec<TaskPartition> {
    let modes = DEMOS.iter().flat_map(|demo| Mode::ALL.map(|mode| demo.tenant(mode)));
    let partitions: BTreeSet<_> = modes.flatten().flat_map(TaskPartition::of).collect();
    partitions.into_iter().collect()
}

/// The tenants of the demo organizations.
pub fn tenants() -> Vec<Tenant> {
    DEMOS.iter().flat_map(|demo| Mode::ALL.map(|mode| demo.tenant(mode))).flatten().collect()
}

impl Demo {
    /// The tenant for one mode.
    pub fn tenant(&self, mode: Mode) -> Result<Tenant, String> {
        let organization = Id::new(self.number).ok_or("a demo organization needs a number")?;
        Ok(Tenant { organization, mode })
    }

    /// The API key for one mode.
    pub fn key(&self, mode: Mode) -> Result<Credential, String> {
        let tenant = self.tenant(mode)?;
        let secret = match mode {
            Mode::Live => self.secrets[0],
            Mode::Test => self.secrets[1],
        };
        let access = Claims { scopes: Scopes::EVERY, expires_at: None, ..Claims::default() };
        Ok(Credential::with_secret(
            Kind::ApiKey,
            tenant,
            tenant.organization,
            access,
            &credential_keys()?,
            secret,
        ))
    }

    /// The path of the career page.
    pub fn careers_path(&self) -> String {
        format!("/careers/{}", Slug::of(self.name, "organization"))
    }

    /// The credentials that the page at `/` shows.
    pub fn login(&self) -> Result<DemoLogin, String> {
        Ok(DemoLogin {
            organization: self.name.to_owned(),
            careers: self.careers_path(),
            email: self.email.to_owned(),
            password: self.password.to_owned(),
            key: self.key(Mode::Live)?.reveal().to_owned(),
        })
    }

    /// Who works in the organization: the member, and a program with the API key.
    pub fn staff(&self) -> Result<Staff, String> {
        let organization = self.tenant(Mode::Live)?.organization;
        let actor = |kind, name| Actor { kind, id: Some(organization), name };
        Ok(Staff {
            organization,
            recruiter: actor(ActorKind::Member, self.member_name()),
            program: actor(ActorKind::ApiKey, self.key_name()),
        })
    }

    fn key_name(&self) -> String {
        format!("{} demonstration", self.name)
    }

    fn member_name(&self) -> String {
        let (name, _) = self.email.split_once('@').unwrap_or((self.email, ""));
        name[..1].to_uppercase() + &name[1..]
    }

    /// Creates the organization, its keys and its member, unless they already exist. With `has_company`, a new
    /// organization begins with the demo company. If that was interrupted, it begins again.
    async fn create(&self, environment: &Environment, has_company: bool) -> Result<(), String> {
        let (store, now) = (&environment.store, environment.clock.now());
        let live = self.tenant(Mode::Live)?;
        let is_new = store.find_organization(live).await.map_err(|error| error.to_string())?.is_none();
        if is_new {
            let name = Text::parse(self.name)?.ok_or("a demo organization needs a name")?;
            let created = store.create_organization(live.organization, &name, None, self.plan, now).await;
            created.map_err(|error| error.to_string())?;
        }
        // The keys are created after the company, so they exist only if it is complete.
        let key = self.key(Mode::Live)?;
        let has_key = store.find_api_key(live, key.id()).await.map_err(|error| error.to_string())?.is_some();
        if has_company && !has_key {
            if !is_new {
                let deleted = store.delete_organization_data(live.organization, now).await;
                deleted.map_err(|error| error.to_string())?;
            }
            eprintln!("Creating the demo company ...");
            company::create(environment, &self.staff()?).await?;
            // So that people are found by their names as soon as the service answers. Those of the test copy, too: otherwise
            // the first run of the feed writes their words for seconds, and nobody else's.
            let tenants = Mode::ALL.map(|mode| self.tenant(mode)).into_iter().collect::<Result<_, _>>()?;
            feed::run_for(environment.clone(), tenants).await.map_err(|error| error.to_string())?;
        }
        for mode in Mode::ALL {
            let (tenant, credential) = (self.tenant(mode)?, self.key(mode)?);
            if store.find_api_key(tenant, credential.id()).await.map_err(|error| error.to_string())?.is_none()
            {
                let key = credential.api_key(self.key_name(), now);
                let transaction = Transaction::new(tenant);
                store.insert_api_key(transaction, &key).await.map_err(|error| error.to_string())?;
            }
        }
        let id = live.organization;
        if store.find_member(id, id).await.map_err(|error| error.to_string())?.is_none() {
            let mut transaction = Transaction::new(live);
            transaction
                .insert_member(&self.member(id, now, environment.password_cost)?)
                .map_err(|error| error.to_string())?;
            store.commit(transaction).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The member, who has the same id as the organization.
    fn member(&self, id: Id, now: Timestamp, cost: PasswordCost) -> Result<Member, String> {
        // A public password needs no secret salt. The hash is slow to compute, so it is computed only once.
        static HASHES: Mutex<BTreeMap<(u64, PasswordCost), PasswordHash>> = Mutex::new(BTreeMap::new());
        let name = Text::parse(&self.member_name())?.ok_or("a member needs a name")?;
        let member = Member::invited(id, self.email.parse()?, name, MemberRole::Owner, now);
        let password = Password::parse(self.password, &member.email)?;
        let mut hashes = HASHES.lock().unwrap_or_else(PoisonError::into_inner);
        let hash = match hashes.get(&(id.get(), cost)) {
            Some(hash) => hash.clone(),
            None => PasswordHash::of(&password, [7; 16], cost)?,
        };
        hashes.insert((id.get(), cost), hash.clone());
        Ok(Member { password: Some(hash), accepted_at: Some(now), ..member })
    }
}

/// Creates the demo organizations with their keys and members, unless they already exist.
pub async fn create(environment: &Environment) -> Result<(), String> {
    for demo in &DEMOS {
        demo.create(environment, false).await?;
    }
    Ok(())
}

/// Like [`create`], and gives the first organization the demo company if it is new.
pub async fn create_with_company(environment: &Environment) -> Result<(), String> {
    let [first, others @ ..] = &DEMOS;
    first.create(environment, true).await?;
    for demo in others {
        demo.create(environment, false).await?;
    }
    Ok(())
}
