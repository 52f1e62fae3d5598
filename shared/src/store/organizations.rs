//! Organizations, their registry and their API keys.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::gate::{Credential, Holder};
use super::item::number;
use super::keys::{self, Key};
use super::tasks::{Task, TaskKind};
use super::{CommitError, Listed, Paging, Store, StoreError, Transaction, item};
use crate::id::Id;
use crate::model::{
    AuditAction, AuditTarget, AuditTargetKind, Branding, CareerSite, Day, Mode, Organization, Plan, Scopes,
    Slug, Tenant, Text,
};

/// An API key as members see it. The secret is not stored anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The identifier.
    pub id: Id,
    /// The name that a member gave it.
    pub name: String,
    /// The last four characters of the key, so that members recognize it. They are part of its checksum.
    #[serde(default)]
    pub ending: String,
    /// The scopes.
    pub scopes: Scopes,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A new API key.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// The key as members will see it.
    pub key: ApiKey,
    /// The SHA-256 of the whole credential, in base64url.
    pub hash: String,
}

/// Why a change to an organization failed.
#[derive(Debug, thiserror::Error)]
pub enum OrganizationError {
    /// The organization does not exist.
    #[error("the organization does not exist")]
    NoSuchOrganization,
    /// The organization has no key with this identifier in this mode.
    #[error("the key does not exist")]
    NoSuchKey,
    /// The organization has no member with this identifier.
    #[error("the member does not exist")]
    NoSuchMember,
    /// The organization has no person with this identifier or e-mail address in this mode.
    #[error("the person does not exist")]
    NoSuchPerson,
    /// Another member of any organization has the e-mail address.
    #[error("the e-mail address already belongs to a member")]
    EmailTaken,
    /// Another organization has the slug.
    #[error("the slug is taken by another organization")]
    SlugTaken,
    /// The identifier is in use.
    #[error("the identifier is in use")]
    Exists,
    /// The organization already has the maximum number of keys in this mode.
    #[error("there are {MAX_API_KEYS} keys already; revoke one first")]
    TooManyKeys,
    /// DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The maximum number of keys that an organization can have in one mode, including expired keys that are not revoked.
/// Each request writes the item with the keys.
const MAX_API_KEYS: u64 = 25;

/// The attribute of that item with the number of keys, which the limit's condition uses.
const KEYS: &str = "keys";

/// The maximum number of attempts at a write. It may conflict with requests, because each request writes the gate item.
const ATTEMPTS: usize = 10;

/// The maximum number of organizations with the same name that get a slug. Further organizations must choose a slug.
const MAX_NAMESAKES: u64 = 100;

/// The attribute of organizations and career sites that says whether they are suspended.
const SUSPENDED: &str = "suspended";

const EXISTS: &str = "attribute_exists(pk)";

#[derive(Serialize, Deserialize)]
struct Registered {
    id: Id,
}

impl Transaction {
    /// Requires that the organization is not suspended at the commit. The condition is on its career site, because each
    /// request writes the organization's own item.
    pub fn require_active(&mut self, organization: &Organization) {
        self.require_not(keys::organization_slug(&organization.slug), SUSPENDED);
    }
}

impl Store {
    /// Creates an organization in both modes, with its registry entry and its slugs. Without a `slug`, the slug is
    /// derived from the name, with a number if it is taken. The test mode's slug ends with `-test`.
    pub async fn create_organization(
        &self,
        id: Id,
        name: &Text<200>,
        slug: Option<Slug>,
        plan: Plan,
        now: Timestamp,
    ) -> Result<[Organization; 2], OrganizationError> {
        let last = if slug.is_some() { 1 } else { MAX_NAMESAKES };
        let base = slug.unwrap_or_else(|| Slug::of(name.as_str(), "organization"));
        let mut number = 1;
        let mut conflicts = 0;
        while number <= last && conflicts < ATTEMPTS {
            let live = base.numbered(number);
            let test = live.with_suffix("-test");
            if live == test {
                // The slug has the maximum length and already ends with `-test`.
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
                Err(CommitError::SlugTaken { .. }) => number += 1,
                Err(CommitError::Store(error)) => return Err(error.into()),
                Err(_) if self.find_organization(modes[0].tenant()).await?.is_some() => {
                    return Err(OrganizationError::Exists);
                }
                Err(_) => conflicts += 1,
            }
        }
        if number > last { Err(OrganizationError::SlugTaken) } else { Err(contended()) }
    }

    /// The organization in one mode.
    pub async fn find_organization(&self, tenant: Tenant) -> Result<Option<Organization>, StoreError> {
        self.read(keys::gate(tenant)).await?.map(item::read).transpose()
    }

    /// A page of one registry partition (0 to [`REGISTRY_SHARDS`](super::REGISTRY_SHARDS) - 1).
    pub async fn list_registered(&self, shard: u64, page: &Paging) -> Result<Listed<Id>, StoreError> {
        let listed: Listed<Registered> = self.read_page(&keys::registry(shard), page).await?;
        Ok(Listed { items: listed.items.into_iter().map(|entry| entry.id).collect(), next: listed.next })
    }

    /// A page of the organizations in a registry partition, in live mode, newest first.
    pub async fn list_organizations(
        &self,
        shard: u64,
        page: &Paging,
    ) -> Result<Listed<Organization>, StoreError> {
        let Listed { items: ids, next } = self.list_registered(shard, page).await?;
        let gates = ids.into_iter().map(|organization| keys::gate(Tenant { organization, mode: Mode::Live }));
        let gates: Vec<_> = gates.collect();
        if gates.is_empty() {
            return Ok(Listed { items: Vec::new(), next });
        }
        let organizations = self.read_many(gates).await?.into_iter().map(item::read);
        let mut items = organizations.collect::<Result<Vec<Organization>, _>>()?;
        items.sort_by_key(|organization| std::cmp::Reverse(organization.id));
        Ok(Listed { items, next })
    }

    /// Sets the plan of an organization in both modes.
    pub async fn set_plan(&self, organization: Id, plan: Plan) -> Result<(), OrganizationError> {
        let tenants = Mode::ALL.map(|mode| Tenant { organization, mode });
        self.set(
            tenants[0],
            &tenants.map(keys::gate),
            "plan",
            &AttributeValue::S(plan.as_str().to_owned()),
            &[],
            (AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::Plan))),
        )
        .await
    }

    /// Suspends or resumes an organization and its career pages in both modes. A suspension adds tasks that cancel the
    /// voice screens.
    pub async fn set_suspended(
        &self,
        organization: Id,
        suspended: bool,
        now: Timestamp,
    ) -> Result<(), OrganizationError> {
        let tenants = Mode::ALL.map(|mode| Tenant { organization, mode });
        let mut keys = tenants.map(keys::gate).to_vec();
        for gate in self.read_many(keys.clone()).await? {
            let organization: Organization = item::read(gate)?;
            keys.push(keys::organization_slug(&organization.slug));
        }
        let tasks = tenants.map(|tenant| Task::new(tenant, TaskKind::Suspension, organization, now));
        let tasks = if suspended { &tasks[..] } else { &[] };
        let action =
            if suspended { AuditAction::OrganizationSuspended } else { AuditAction::OrganizationResumed };
        self.set(tenants[0], &keys, SUSPENDED, &AttributeValue::Bool(suspended), tasks, (action, None)).await
    }

    /// Sets the branding of a career site.
    pub async fn set_branding(
        &self,
        organization: &Organization,
        branding: &Branding,
    ) -> Result<(), OrganizationError> {
        let branding: AttributeValue = serde_dynamo::to_attribute_value(branding)
            .map_err(|error| StoreError::Internal(format!("a branding cannot be written: {error}")))?;
        let key = keys::organization_slug(&organization.slug);
        let act = (AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::CareerPage)));
        self.set(organization.tenant(), &[key], "branding", &branding, &[], act).await
    }

    /// Sets one attribute of several items, which must all exist, adds tasks, and records the act.
    async fn set(
        &self,
        tenant: Tenant,
        keys: &[Key],
        name: &str,
        value: &AttributeValue,
        tasks: &[Task],
        act: (AuditAction, Option<AuditTarget>),
    ) -> Result<(), OrganizationError> {
        for _ in 0..ATTEMPTS {
            let mut transaction = Transaction::new(tenant);
            transaction.audit(act.0, act.1);
            for task in tasks {
                transaction.put(task.item()?);
            }
            for key in keys {
                let (names, values) = (vec![("#name", name.to_owned())], vec![(":value", value.clone())]);
                transaction.update(key.clone(), "SET #name = :value", EXISTS, names, values);
            }
            if self.attempt(transaction).await? {
                return Ok(());
            }
            if self.read_many(keys.iter().cloned()).await?.len() < keys.len() {
                return Err(OrganizationError::NoSuchOrganization);
            }
        }
        Err(contended())
    }

    /// Inserts an API key of the tenant.
    pub async fn insert_api_key(&self, tenant: Tenant, new: &NewApiKey) -> Result<(), OrganizationError> {
        let id = new.key.id;
        let credential = Credential {
            hash: new.hash.clone(),
            name: new.key.name.clone(),
            scopes: new.key.scopes,
            expires_at: new.key.expires_at.map(Timestamp::as_second),
            last_used: None,
            member: None,
        };
        let credential: AttributeValue = serde_dynamo::to_attribute_value(credential)
            .map_err(|error| StoreError::Internal(format!("a credential cannot be written: {error}")))?;
        for _ in 0..ATTEMPTS {
            let mut transaction = Transaction::new(tenant);
            transaction.insert(item::write(&new.key, keys::api_key(tenant, id), None)?);
            transaction.audit(AuditAction::ApiKeyCreated, Some(AuditTarget::of(AuditTargetKind::ApiKey, id)));
            transaction.update(
                keys::gate(tenant),
                "SET #credential = :credential ADD #keys :one",
                "attribute_exists(pk) AND (attribute_not_exists(#keys) OR #keys < :most)",
                vec![("#credential", Holder::Key(id).attribute()), ("#keys", KEYS.to_owned())],
                vec![
                    (":credential", credential.clone()),
                    (":one", number(1)),
                    (":most", number(MAX_API_KEYS)),
                ],
            );
            if self.attempt(transaction).await? {
                return Ok(());
            }
            let gate = self.read(keys::gate(tenant)).await?.ok_or(OrganizationError::NoSuchOrganization)?;
            if item::count(&gate, KEYS) >= MAX_API_KEYS {
                return Err(OrganizationError::TooManyKeys);
            }
            if self.find_api_key(tenant, id).await?.is_some() {
                return Err(OrganizationError::Exists);
            }
        }
        Err(contended())
    }

    /// The tenant's API key with this identifier, revoked or not.
    pub async fn find_api_key(&self, tenant: Tenant, id: Id) -> Result<Option<ApiKey>, StoreError> {
        self.read(keys::api_key(tenant, id)).await?.map(item::read).transpose()
    }

    /// A page of the tenant's API keys, revoked or not, newest first.
    pub async fn list_api_keys(&self, tenant: Tenant, page: &Paging) -> Result<Listed<ApiKey>, StoreError> {
        self.read_page(&keys::api_keys(tenant), page).await
    }

    /// A function that maps a key's identifier to the day on which the key was last used. It returns `None` for revoked
    /// keys.
    pub async fn get_last_used_days(
        &self,
        tenant: Tenant,
    ) -> Result<impl Fn(Id) -> Option<Day> + use<>, StoreError> {
        let gate = self.read(keys::gate(tenant)).await?.unwrap_or_default();
        Ok(move |id| {
            let credential = gate.get(&Holder::Key(id).attribute()).cloned()?;
            serde_dynamo::from_attribute_value::<_, Credential>(credential).ok()?.last_used
        })
    }

    /// Revokes a key and returns it. Does nothing if the key is already revoked.
    pub async fn revoke_api_key(
        &self,
        tenant: Tenant,
        id: Id,
        now: Timestamp,
    ) -> Result<ApiKey, OrganizationError> {
        for _ in 0..ATTEMPTS {
            let key = self.find_api_key(tenant, id).await?.ok_or(OrganizationError::NoSuchKey)?;
            if key.revoked_at.is_some() {
                return Ok(key);
            }
            let mut transaction = Transaction::new(tenant);
            transaction.audit(AuditAction::ApiKeyRevoked, Some(AuditTarget::of(AuditTargetKind::ApiKey, id)));
            transaction.update(
                keys::api_key(tenant, id),
                "SET #revoked = :now",
                EXISTS,
                vec![("#revoked", "revoked_at".to_owned())],
                vec![(":now", AttributeValue::S(now.to_string()))],
            );
            transaction.update(
                keys::gate(tenant),
                "REMOVE #credential ADD #keys :less",
                "attribute_exists(#credential)",
                vec![("#credential", Holder::Key(id).attribute()), ("#keys", KEYS.to_owned())],
                vec![(":less", number(-1))],
            );
            if self.attempt(transaction).await? {
                return Ok(ApiKey { revoked_at: Some(now), ..key });
            }
        }
        Err(contended())
    }

    /// Commits a transaction. Returns `false` if a condition failed, or if another transaction used the same items.
    async fn attempt(&self, transaction: Transaction) -> Result<bool, StoreError> {
        match self.commit(transaction).await {
            Ok(()) => Ok(true),
            Err(CommitError::Store(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }
}

fn contended() -> OrganizationError {
    StoreError::Unavailable("write conflicts persisted".to_owned()).into()
}

fn organization_writes(modes: &[Organization; 2]) -> Result<Transaction, StoreError> {
    let id = modes[0].id;
    let mut transaction = Transaction::new(modes[0].tenant());
    transaction.insert(item::write(&Registered { id }, keys::registered(id), None)?);
    for organization in modes {
        transaction.insert(item::write(organization, keys::gate(organization.tenant()), None)?);
        let branding =
            Branding { name: organization.name.clone(), introduction: None, accent: None, logo_url: None };
        let (mode, slug) = (organization.mode, organization.slug.clone());
        let site = CareerSite { id, mode, slug, suspended: organization.suspended, branding };
        transaction.insert_slug(item::write(&site, keys::organization_slug(&site.slug), None)?, 1);
    }
    Ok(transaction)
}
