//! Organizations, their registry and their API keys: what administration reads and writes.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::gate::{CREDENTIAL_PREFIX, Credential, credential_attribute};
use super::keys;
use super::writes::SlugClaim;
use super::{Failure, Listed, Page, Refusal, Store, Writes, item};
use crate::id::Id;
use crate::model::{Day, Mode, Organization, Plan, Scopes, Slug, Tenant, Text};

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

/// How many keys one mode of an organization may hold: each request writes the item that they are on. Keys created at
/// the same moment may exceed it by their number.
const MAX_KEYS: usize = 25;

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
        let numbers = if slug.is_some() { 1..=1 } else { 1..=100 };
        let base = slug.unwrap_or_else(|| Slug::of(name.as_str(), "organization"));
        for number in numbers {
            let modes = Mode::ALL.map(|mode| {
                let slug = base.numbered(number);
                let slug = if mode == Mode::Live { slug } else { slug.with_suffix("-test") };
                Organization { id, mode, name: name.clone(), slug, plan, suspended: false, created_at: now }
            });
            match self.commit(organization_writes(&modes)?).await {
                Ok(()) => return Ok(modes),
                Err(Refusal::SlugTaken { .. }) => {}
                Err(Refusal::Failed(failure)) => return Err(failure.into()),
                Err(_) => return Err(Denied::Exists),
            }
        }
        Err(Denied::SlugTaken)
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

    /// Puts an organization, in both modes, on another plan.
    pub async fn set_plan(&self, organization: Id, plan: Plan) -> Result<(), Denied> {
        self.set(organization, "plan", AttributeValue::S(plan.as_str().to_owned())).await
    }

    /// Suspends an organization in both modes, or lets it go on.
    pub async fn set_suspended(&self, organization: Id, suspended: bool) -> Result<(), Denied> {
        self.set(organization, "suspended", AttributeValue::Bool(suspended)).await
    }

    async fn set(&self, organization: Id, name: &str, value: AttributeValue) -> Result<(), Denied> {
        let tenants = Mode::ALL.map(|mode| Tenant { organization, mode });
        let mut writes = Writes::new(tenants[0]);
        for tenant in tenants {
            let (names, values) = (vec![("#name", name.to_owned())], vec![(":value", value.clone())]);
            writes.update(keys::gate(tenant), "SET #name = :value", EXISTS, names, values);
        }
        self.commit(writes).await.map_err(|refusal| denied(refusal, Denied::NoSuchOrganization))
    }

    /// Adds a key to a tenant.
    pub async fn insert_api_key(&self, tenant: Tenant, new: &NewApiKey) -> Result<(), Denied> {
        let gate = self.read(keys::gate(tenant)).await?.ok_or(Denied::NoSuchOrganization)?;
        if gate.keys().filter(|name| name.starts_with(CREDENTIAL_PREFIX)).count() >= MAX_KEYS {
            return Err(Denied::TooManyKeys);
        }
        let credential = Credential {
            hash: new.hash.clone(),
            scopes: new.key.scopes,
            expires_at: new.key.expires_at.map(Timestamp::as_second),
            last_used: None,
        };
        let credential = serde_dynamo::to_attribute_value(credential)
            .map_err(|error| Failure::Internal(format!("a credential cannot be written: {error}")))?;
        let mut writes = Writes::new(tenant);
        writes.insert(item::write(&new.key, keys::api_key(tenant, new.key.id), None)?);
        let names = vec![("#credential", credential_attribute(new.key.id))];
        let values = vec![(":credential", credential)];
        writes.update(keys::gate(tenant), "SET #credential = :credential", EXISTS, names, values);
        self.commit(writes).await.map_err(|refusal| denied(refusal, Denied::Exists))
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
            let credential = gate.get(&credential_attribute(id)).cloned()?;
            serde_dynamo::from_attribute_value::<_, Credential>(credential).ok()?.last_used
        })
    }

    /// Refuses a key from now on.
    pub async fn revoke_api_key(&self, tenant: Tenant, id: Id, now: Timestamp) -> Result<(), Denied> {
        let mut writes = Writes::new(tenant);
        let (names, values) =
            (vec![("#revoked", "revoked_at".to_owned())], vec![(":now", AttributeValue::S(now.to_string()))]);
        writes.update(keys::api_key(tenant, id), "SET #revoked = :now", EXISTS, names, values);
        let names = vec![("#credential", credential_attribute(id))];
        writes.update(keys::gate(tenant), "REMOVE #credential", EXISTS, names, Vec::new());
        self.commit(writes).await.map_err(|refusal| denied(refusal, Denied::NoSuchKey))
    }
}

const EXISTS: &str = "attribute_exists(pk)";

fn organization_writes(modes: &[Organization; 2]) -> Result<Writes, Failure> {
    let id = modes[0].id;
    let mut writes = Writes::new(modes[0].tenant());
    writes.insert(item::write(&Registered { id }, keys::registered(id), None)?);
    for organization in modes {
        writes.insert(item::write(organization, keys::gate(organization.tenant()), None)?);
        let claim = SlugClaim { id, last: 1 };
        writes.insert_slug(item::write(&claim, keys::organization_slug(&organization.slug), None)?, 1);
    }
    Ok(writes)
}

fn denied(refusal: Refusal, otherwise: Denied) -> Denied {
    match refusal {
        Refusal::Failed(failure) => failure.into(),
        _ => otherwise,
    }
}
