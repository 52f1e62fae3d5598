//! Organizations, their registry and their API keys: what administration reads and writes.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::gate::{Credential, credential_attribute};
use super::keys;
use super::writes::SlugClaim;
use super::{Failure, Item, Listed, Page, Refusal, Store, Writes, item};
use crate::id::Id;
use crate::model::{Mode, Organization, Plan, Scopes, Tenant};

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

/// Another organization has the slug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrganizationSlugTaken;

/// How many keys one mode of an organization may hold: each request writes the item that they are on.
const MAX_KEYS: usize = 25;

#[derive(Serialize, Deserialize)]
struct Registered {
    id: Id,
}

impl Store {
    /// Creates both modes of an organization, its place in the registry and its slugs.
    pub async fn insert_organization(
        &self,
        live: &Organization,
        test: &Organization,
    ) -> Result<Result<(), OrganizationSlugTaken>, Failure> {
        let mut writes = Writes::new(live.tenant());
        writes.insert(item::write(&Registered { id: live.id }, keys::registered(live.id), None)?);
        for organization in [live, test] {
            writes.insert(item::write(organization, keys::gate(organization.tenant()), None)?);
            let claim = SlugClaim { id: organization.id, last: 1 };
            writes.insert_slug(item::write(&claim, keys::organization_slug(&organization.slug), None)?, 1);
        }
        match self.commit(writes).await {
            Ok(()) => Ok(Ok(())),
            Err(Refusal::SlugTaken { .. }) => Ok(Err(OrganizationSlugTaken)),
            Err(refusal) => Err(failed(refusal, "the organization exists already")),
        }
    }

    /// One mode of an organization.
    pub async fn find_organization(&self, tenant: Tenant) -> Result<Option<Organization>, Failure> {
        self.read(keys::gate(tenant)).await?.map(item::read).transpose()
    }

    /// A page of one registry partition (0 to [`keys::REGISTRY_SHARDS`] - 1): the organizations' identifiers.
    pub async fn list_registered(&self, shard: u64, page: &Page) -> Result<Listed<Id>, Failure> {
        let listed: Listed<Registered> = self.page(&keys::registry(shard), page).await?;
        Ok(Listed { items: listed.items.into_iter().map(|entry| entry.id).collect(), next: listed.next })
    }

    /// Puts an organization, in both modes, on another plan or into or out of suspension.
    pub async fn set_standing(&self, organization: Id, plan: Plan, suspended: bool) -> Result<(), Failure> {
        let tenants = Mode::ALL.map(|mode| Tenant { organization, mode });
        let mut writes = Writes::new(tenants[0]);
        for tenant in tenants {
            writes.update(
                keys::gate(tenant),
                "SET #plan = :plan, #suspended = :suspended",
                "attribute_exists(pk)",
                vec![("#plan", "plan".to_owned()), ("#suspended", "suspended".to_owned())],
                vec![
                    (":plan", AttributeValue::S(plan.as_str().to_owned())),
                    (":suspended", AttributeValue::Bool(suspended)),
                ],
            );
        }
        self.commit(writes).await.map_err(|refusal| failed(refusal, "there is no such organization"))
    }

    /// Adds a key to a tenant. The transaction reads the keys first, so that their number stays bounded.
    pub async fn insert_api_key(&self, tenant: Tenant, new: &NewApiKey) -> Result<(), Failure> {
        let gate = self.read(keys::gate(tenant)).await?;
        let gate = gate.ok_or_else(|| Failure::Internal("there is no such organization".to_owned()))?;
        if gate.keys().filter(|name| name.starts_with("key_")).count() >= MAX_KEYS {
            return Err(Failure::Internal(format!("there are {MAX_KEYS} keys already; revoke one first")));
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
        writes.update(
            keys::gate(tenant),
            "SET #credential = :credential",
            "attribute_exists(pk) AND attribute_not_exists(#credential)",
            vec![("#credential", credential_attribute(new.key.id))],
            vec![(":credential", credential)],
        );
        self.commit(writes).await.map_err(|refusal| failed(refusal, "the key exists already"))
    }

    /// A tenant's keys, newest first.
    pub async fn list_api_keys(&self, tenant: Tenant, page: &Page) -> Result<Listed<ApiKey>, Failure> {
        self.page(&keys::api_keys(tenant), page).await
    }

    /// The day on which each of a tenant's good keys was last used.
    pub async fn last_used(
        &self,
        tenant: Tenant,
    ) -> Result<impl Fn(Id) -> Option<crate::model::Day>, Failure> {
        let gate: Item = self.read(keys::gate(tenant)).await?.unwrap_or_default();
        Ok(move |id| {
            let credential = gate.get(&credential_attribute(id)).cloned()?;
            serde_dynamo::from_attribute_value::<_, Credential>(credential).ok()?.last_used
        })
    }

    /// Refuses a key from now on.
    pub async fn revoke_api_key(&self, tenant: Tenant, id: Id, now: Timestamp) -> Result<(), Failure> {
        let mut writes = Writes::new(tenant);
        writes.update(
            keys::api_key(tenant, id),
            "SET #revoked = :now",
            "attribute_exists(pk)",
            vec![("#revoked", "revoked_at".to_owned())],
            vec![(":now", AttributeValue::S(now.to_string()))],
        );
        writes.update(
            keys::gate(tenant),
            "REMOVE #credential",
            "attribute_exists(pk)",
            vec![("#credential", credential_attribute(id))],
            Vec::new(),
        );
        self.commit(writes).await.map_err(|refusal| failed(refusal, "there is no such key"))
    }
}

fn failed(refusal: Refusal, otherwise: &str) -> Failure {
    match refusal {
        Refusal::Failed(failure) => failure,
        _ => Failure::Internal(otherwise.to_owned()),
    }
}
