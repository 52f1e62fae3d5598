//! Organizations, their registry and their API keys: what administration reads and writes.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::gate::{Credential, Holder};
use super::keys::{self, Key};
use super::writes::number;
use super::{Failure, Listed, Page, Refusal, Store, Writes, item};
use crate::id::Id;
use crate::model::{Branding, CareerSite, Day, Mode, Organization, Plan, Scopes, Slug, Tenant, Text};

/// An API key as its owner sees it; the secret is not here, nor anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The identifier.
    pub id: Id,
    /// What its owner calls it.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// When it was created.
    pub created_at: Timestamp,
    /// From when on it is refused by itself.
    pub expires_at: Option<Timestamp>,
    /// Since when it is refused.
    pub revoked_at: Option<Timestamp>,
}

/// A key to be created.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// The key as its owner will see it.
    pub key: ApiKey,
    /// The SHA-256 of the whole credential, in base64url.
    pub hash: String,
}

/// Why administration was not done.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// There is no organization with this identifier.
    #[error("there is no such organization")]
    NoSuchOrganization,
    /// The organization has no key with this identifier in this mode.
    #[error("there is no such key")]
    NoSuchKey,
    /// The organization has no member with this identifier.
    #[error("there is no such member")]
    NoSuchMember,
    /// Another member, of any organization, has the e-mail address.
    #[error("the e-mail address belongs to a member already")]
    EmailTaken,
    /// Another organization has the slug.
    #[error("the slug is taken by another organization")]
    SlugTaken,
    /// The identifier is in use.
    #[error("the identifier is in use")]
    Exists,
    /// One mode of an organization holds no more keys.
    #[error("there are {MAX_KEYS} keys already; revoke one first")]
    TooManyKeys,
    /// DynamoDB failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// How many keys one mode of an organization may hold, expired ones included until they are revoked: each request
/// writes the item that they are on.
const MAX_KEYS: u64 = 25;

/// That item's count of its keys, which the limit is a condition on.
const KEYS: &str = "keys";

/// How often a write is tried while others are at the same items: every request writes a gate item.
const ATTEMPTS: usize = 10;

/// How many organizations may have the same name before one has to choose its slug.
const MAX_NAMESAKES: u64 = 100;

const EXISTS: &str = "attribute_exists(pk)";

#[derive(Serialize, Deserialize)]
struct Registered {
    id: Id,
}

impl Store {
    /// Creates both modes of an organization, its place in the registry and its slugs: the one that is given, or the
    /// name's, numbered while it is taken. The test copy's slug ends in `-test`.
    pub async fn create_organization(
        &self,
        id: Id,
        name: &Text<200>,
        slug: Option<Slug>,
        plan: Plan,
        now: Timestamp,
    ) -> Result<[Organization; 2], Denied> {
        let last = if slug.is_some() { 1 } else { MAX_NAMESAKES };
        let base = slug.unwrap_or_else(|| Slug::of(name.as_str(), "organization"));
        let mut number = 1;
        let mut conflicts = 0;
        while number <= last && conflicts < ATTEMPTS {
            let live = base.numbered(number);
            let test = live.with_suffix("-test");
            if live == test {
                // A slug of full length that ends in `-test` already.
                number += 1;
                continue;
            }
            let organization = |mode, slug| Organization {
                id,
                mode,
                name: name.clone(),
                slug,
                plan,
                suspended: false,
                created_at: now,
            };
            let modes = [organization(Mode::Live, live), organization(Mode::Test, test)];
            match self.commit(organization_writes(&modes)?).await {
                Ok(()) => return Ok(modes),
                Err(Refusal::SlugTaken { .. }) => number += 1,
                Err(Refusal::Failed(failure)) => return Err(failure.into()),
                Err(_) if self.find_organization(modes[0].tenant()).await?.is_some() => {
                    return Err(Denied::Exists);
                }
                Err(_) => conflicts += 1,
            }
        }
        if number > last { Err(Denied::SlugTaken) } else { Err(contended()) }
    }

    /// One mode of an organization.
    pub async fn find_organization(&self, tenant: Tenant) -> Result<Option<Organization>, Failure> {
        self.read(keys::gate(tenant)).await?.map(item::read).transpose()
    }

    /// A page of one registry partition (0 to [`REGISTRY_SHARDS`](super::REGISTRY_SHARDS) - 1).
    pub async fn list_registered(&self, shard: u64, page: &Page) -> Result<Listed<Id>, Failure> {
        let listed: Listed<Registered> = self.page(&keys::registry(shard), page).await?;
        Ok(Listed { items: listed.items.into_iter().map(|entry| entry.id).collect(), next: listed.next })
    }

    /// The live copies of the organizations on one page of a registry partition, newest first.
    pub async fn list_organizations(&self, shard: u64, page: &Page) -> Result<Listed<Organization>, Failure> {
        let Listed { items: ids, next } = self.list_registered(shard, page).await?;
        let gates = ids.into_iter().map(|organization| keys::gate(Tenant { organization, mode: Mode::Live }));
        let gates: Vec<_> = gates.collect();
        if gates.is_empty() {
            return Ok(Listed { items: Vec::new(), next });
        }
        let found = self.read_many(gates).await?.into_iter().map(item::read);
        let mut items = found.collect::<Result<Vec<Organization>, _>>()?;
        items.sort_by_key(|organization| std::cmp::Reverse(organization.id));
        Ok(Listed { items, next })
    }

    /// Puts an organization, in both modes, on another plan.
    pub async fn set_plan(&self, organization: Id, plan: Plan) -> Result<(), Denied> {
        let tenants = Mode::ALL.map(|mode| Tenant { organization, mode });
        self.set(tenants[0], &tenants.map(keys::gate), "plan", &AttributeValue::S(plan.as_str().to_owned()))
            .await
    }

    /// Suspends an organization in both modes, its career pages included, or lets it go on.
    pub async fn set_suspended(&self, organization: Id, suspended: bool) -> Result<(), Denied> {
        let tenants = Mode::ALL.map(|mode| Tenant { organization, mode });
        let mut keys = tenants.map(keys::gate).to_vec();
        for gate in self.read_many(keys.clone()).await? {
            let organization: Organization = item::read(gate)?;
            keys.push(keys::organization_slug(&organization.slug));
        }
        self.set(tenants[0], &keys, "suspended", &AttributeValue::Bool(suspended)).await
    }

    /// Changes how a career site looks.
    pub async fn set_branding(&self, organization: &Organization, branding: &Branding) -> Result<(), Denied> {
        let branding: AttributeValue = serde_dynamo::to_attribute_value(branding)
            .map_err(|error| Failure::Internal(format!("a branding cannot be written: {error}")))?;
        let key = keys::organization_slug(&organization.slug);
        self.set(organization.tenant(), &[key], "branding", &branding).await
    }

    /// Sets one attribute of items that must all be there.
    async fn set(
        &self,
        tenant: Tenant,
        keys: &[Key],
        name: &str,
        value: &AttributeValue,
    ) -> Result<(), Denied> {
        for _ in 0..ATTEMPTS {
            let mut writes = Writes::new(tenant);
            for key in keys {
                let (names, values) = (vec![("#name", name.to_owned())], vec![(":value", value.clone())]);
                writes.update(key.clone(), "SET #name = :value", EXISTS, names, values);
            }
            if self.attempt(writes).await? {
                return Ok(());
            }
            if self.read_many(keys.iter().cloned()).await?.len() < keys.len() {
                return Err(Denied::NoSuchOrganization);
            }
        }
        Err(contended())
    }

    /// Adds a key to a tenant.
    pub async fn insert_api_key(&self, tenant: Tenant, new: &NewApiKey) -> Result<(), Denied> {
        let id = new.key.id;
        let credential = Credential {
            hash: new.hash.clone(),
            name: new.key.name.clone(),
            scopes: new.key.scopes,
            expires_at: new.key.expires_at.map(Timestamp::as_second),
            last_used: None,
        };
        let credential: AttributeValue = serde_dynamo::to_attribute_value(credential)
            .map_err(|error| Failure::Internal(format!("a credential cannot be written: {error}")))?;
        for _ in 0..ATTEMPTS {
            let mut writes = Writes::new(tenant);
            writes.insert(item::write(&new.key, keys::api_key(tenant, id), None)?);
            writes.update(
                keys::gate(tenant),
                "SET #credential = :credential ADD #keys :one",
                "attribute_exists(pk) AND (attribute_not_exists(#keys) OR #keys < :most)",
                vec![("#credential", Holder::Key(id).attribute()), ("#keys", KEYS.to_owned())],
                vec![(":credential", credential.clone()), (":one", number(1)), (":most", number(MAX_KEYS))],
            );
            if self.attempt(writes).await? {
                return Ok(());
            }
            let gate = self.read(keys::gate(tenant)).await?.ok_or(Denied::NoSuchOrganization)?;
            if item::count(&gate, KEYS) >= MAX_KEYS {
                return Err(Denied::TooManyKeys);
            }
            if self.find_api_key(tenant, id).await?.is_some() {
                return Err(Denied::Exists);
            }
        }
        Err(contended())
    }

    /// One of a tenant's keys, revoked or not.
    pub async fn find_api_key(&self, tenant: Tenant, id: Id) -> Result<Option<ApiKey>, Failure> {
        self.read(keys::api_key(tenant, id)).await?.map(item::read).transpose()
    }

    /// A tenant's keys, revoked ones included, newest first.
    pub async fn list_api_keys(&self, tenant: Tenant, page: &Page) -> Result<Listed<ApiKey>, Failure> {
        self.page(&keys::api_keys(tenant), page).await
    }

    /// The day on which each of a tenant's good keys was last used.
    pub async fn last_used(&self, tenant: Tenant) -> Result<impl Fn(Id) -> Option<Day> + use<>, Failure> {
        let gate = self.read(keys::gate(tenant)).await?.unwrap_or_default();
        Ok(move |id| {
            let credential = gate.get(&Holder::Key(id).attribute()).cloned()?;
            serde_dynamo::from_attribute_value::<_, Credential>(credential).ok()?.last_used
        })
    }

    /// Refuses a key from now on, and gives it as it then is. Of a key that was revoked before, nothing changes.
    pub async fn revoke_api_key(&self, tenant: Tenant, id: Id, now: Timestamp) -> Result<ApiKey, Denied> {
        for _ in 0..ATTEMPTS {
            let key = self.find_api_key(tenant, id).await?.ok_or(Denied::NoSuchKey)?;
            if key.revoked_at.is_some() {
                return Ok(key);
            }
            let mut writes = Writes::new(tenant);
            writes.update(
                keys::api_key(tenant, id),
                "SET #revoked = :now",
                EXISTS,
                vec![("#revoked", "revoked_at".to_owned())],
                vec![(":now", AttributeValue::S(now.to_string()))],
            );
            writes.update(
                keys::gate(tenant),
                "REMOVE #credential ADD #keys :less",
                "attribute_exists(#credential)",
                vec![("#credential", Holder::Key(id).attribute()), ("#keys", KEYS.to_owned())],
                vec![(":less", number(-1))],
            );
            if self.attempt(writes).await? {
                return Ok(ApiKey { revoked_at: Some(now), ..key });
            }
        }
        Err(contended())
    }

    /// Makes the writes, or says `false`: a condition does not hold, or another transaction was at the same items.
    async fn attempt(&self, writes: Writes) -> Result<bool, Failure> {
        match self.commit(writes).await {
            Ok(()) => Ok(true),
            Err(Refusal::Failed(failure)) => Err(failure),
            Err(_) => Ok(false),
        }
    }
}

fn contended() -> Denied {
    Failure::Unavailable("other writes kept coming first".to_owned()).into()
}

fn organization_writes(modes: &[Organization; 2]) -> Result<Writes, Failure> {
    let id = modes[0].id;
    let mut writes = Writes::new(modes[0].tenant());
    writes.insert(item::write(&Registered { id }, keys::registered(id), None)?);
    for organization in modes {
        writes.insert(item::write(organization, keys::gate(organization.tenant()), None)?);
        let branding =
            Branding { name: organization.name.clone(), introduction: None, accent: None, logo_url: None };
        let (mode, slug) = (organization.mode, organization.slug.clone());
        let site = CareerSite { id, mode, slug, suspended: organization.suspended, branding };
        writes.insert_slug(item::write(&site, keys::organization_slug(&site.slug), None)?, 1);
    }
    Ok(writes)
}
