//! Organizations and their registry.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

use super::changes::Changes;
use super::gate::day_attribute;
use super::keys::{self, Key};
use super::recording::{Recorded, names};
use super::tasks::Task;
use super::{CommitError, Item, Listed, Paging, Store, StoreError, Transaction, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    ApplicationLimits, AuditAction, AuditTarget, AuditTargetKind, Branding, CareerSite, Day, EventData,
    EventType, IndexForm, Mode, NamedOrganization, Organization, OrganizationSettings, Plan, Slug,
    SubjectType, TaskKind, Tenant, Text,
};

/// The values of an organization that most requests do not need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Profile {
    name: Text<200>,
    created_at: Timestamp,
    /// A new organization has none.
    #[serde(flatten, skip_serializing)]
    settings: OrganizationSettings,
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
    /// The organization already has a member or an open invitation with the e-mail address.
    #[error("the e-mail address already belongs to a member or an open invitation of the organization")]
    EmailTaken,
    /// Another organization has the slug.
    #[error("the slug is taken by another organization")]
    SlugTaken,
    /// The identifier is in use.
    #[error("the identifier is in use")]
    Exists,
    /// The form was sent before, and has taken effect.
    #[error("the form was sent before")]
    Repeated,
    /// The key is revoked.
    #[error("the key is revoked")]
    KeyRevoked,
    /// Another key already replaces the key.
    #[error("another key already replaces this one")]
    KeyReplaced,
    /// The key that this key replaces is still valid.
    #[error("the key that this one replaces is still valid; revoke it first")]
    KeyOverlaps,
    /// The organization already has the maximum number of keys in this mode.
    #[error("there are {MAX_API_KEYS} keys already; revoke one first")]
    TooManyKeys,
    /// DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The maximum number of keys that an organization can have in one mode, including expired keys that are not revoked.
/// Each request writes the item with their hashes.
pub(super) const MAX_API_KEYS: u64 = 25;

/// The maximum number of attempts at a write. It may conflict with requests, because each request writes the gate item.
pub(super) const ATTEMPTS: usize = 10;

/// The maximum number of organizations with the same name that get a slug. Further organizations must choose a slug.
const MAX_NAMESAKES: u64 = 100;

/// The slug that no organization gets, because the sign-in to it would have the path of the sign-in with a passkey.
const RESERVED: &str = "passkey";

/// The attribute of organizations and career sites that says whether they are suspended.
const SUSPENDED: &str = "suspended";

pub(super) const EXISTS: &str = "attribute_exists(pk)";

#[derive(Serialize, Deserialize)]
pub(super) struct Registered {
    id: Id,
}

impl Transaction {
    /// Requires that the organization is not suspended at the commit. The condition is on its career site, because each
    /// request writes the organization's own item.
    pub fn require_active(&mut self, organization: &Organization) {
        self.require_not(keys::organization_slug(&organization.slug), SUSPENDED);
    }

    /// Replaces the settings of the organization.
    pub fn replace_organization_settings(
        &mut self,
        before: &OrganizationSettings,
        after: &OrganizationSettings,
    ) -> Result<(), StoreError> {
        let item = |settings| item::write(settings, keys::profile(self.tenant), None);
        match before.version {
            0 => self.change_if(
                item(after)?,
                "attribute_exists(pk) AND attribute_not_exists(#version)",
                vec![("#version", "version".to_owned())],
                Vec::new(),
            )?,
            _ => self.replace(&item(before)?, &item(after)?)?,
        }
        let target = if before.confirmations == after.confirmations {
            AuditTargetKind::Organization
        } else {
            AuditTargetKind::ConfirmationRule
        };
        self.audit(AuditAction::SettingsChanged, Some(AuditTarget::only(target)));
        let changed = names([
            ("confirmations", before.confirmations != after.confirmations),
            ("country", before.country != after.country),
            ("time_zone", before.time_zone != after.time_zone),
            ("contact_email", before.contact_email != after.contact_email),
            ("linkedin_company_id", before.linkedin_company_id != after.linkedin_company_id),
            ("link_sources", before.link_sources != after.link_sources),
        ]);
        self.record(
            [of_organization(EventType::SettingsChanged, self.tenant.organization).changing(changed)],
        );
        Ok(())
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
    ) -> Result<[NamedOrganization; 2], OrganizationError> {
        let last = if slug.is_some() { 1 } else { MAX_NAMESAKES };
        let base = slug.unwrap_or_else(|| Slug::of(name.as_str(), "organization"));
        let mut number = 1;
        let mut conflicts = 0;
        while number <= last && conflicts < ATTEMPTS {
            let live = base.numbered(number);
            let test = live.with_suffix("-test");
            if live == test || live.as_str() == RESERVED {
                // The slug has the maximum length and already ends with `-test`, or it is reserved.
                number += 1;
                continue;
            }
            let organization = |mode, slug| NamedOrganization {
                organization: Organization {
                    id,
                    mode,
                    slug,
                    plan,
                    suspended: false,
                    index_form: IndexForm::NEWEST,
                },
                name: name.clone(),
                settings: OrganizationSettings::default(),
                created_at: now,
            };
            let modes = [organization(Mode::Live, live), organization(Mode::Test, test)];
            match self.commit(organization_writes(&modes)?).await {
                Ok(()) => return Ok(modes),
                Err(CommitError::SlugTaken { .. }) => number += 1,
                Err(CommitError::Store(error)) => return Err(error.into()),
                Err(_) if self.find_organization(modes[0].organization.tenant()).await?.is_some() => {
                    return Err(OrganizationError::Exists);
                }
                Err(_) => conflicts += 1,
            }
        }
        if number > last { Err(OrganizationError::SlugTaken) } else { Err(contended()) }
    }

    /// The organization in one mode.
    pub async fn find_organization(&self, tenant: Tenant) -> Result<Option<NamedOrganization>, StoreError> {
        let mut items = self.read_many([keys::gate(tenant), keys::profile(tenant)]).await?;
        NamedOrganization::take_from(&mut items, tenant)
    }

    /// The settings of an organization in one mode.
    pub async fn find_organization_settings(
        &self,
        tenant: Tenant,
    ) -> Result<Option<OrganizationSettings>, StoreError> {
        let profile = self.read(keys::profile(tenant)).await?.map(item::read::<Profile>).transpose()?;
        Ok(profile.map(|profile| profile.settings))
    }

    /// The organization in one mode and its number of requests on `day`.
    pub async fn find_organization_and_usage(
        &self,
        tenant: Tenant,
        day: Day,
    ) -> Result<Option<(NamedOrganization, u64)>, StoreError> {
        let mut items = self.read_many([keys::gate(tenant), keys::profile(tenant)]).await?;
        let mut requests = 0;
        if let Some(gate) = keys::gate(tenant).take_from(&mut items) {
            let shards = self.read_shards(tenant, &gate).await?;
            let counters = shards.iter().chain([&gate]);
            requests = counters.map(|counter| item::count(counter, &day_attribute(day))).sum();
            items.push(gate);
        }
        let organization = NamedOrganization::take_from(&mut items, tenant)?;
        Ok(organization.map(|organization| (organization, requests)))
    }

    /// A page of one registry partition (0 to [`REGISTRY_SHARDS`](super::REGISTRY_SHARDS) - 1).
    pub async fn list_registered(&self, shard: u64, page: &Paging) -> Result<Listed<Id>, StoreError> {
        let listed: Listed<Registered> = self.read_page(&keys::registry(shard), page).await?;
        Ok(Listed { items: listed.items.into_iter().map(|entry| entry.id).collect(), next: listed.next })
    }

    /// A page of the organizations in a registry partition, in live mode, newest first. It holds at most 50, because
    /// each takes two keys of a batch.
    pub async fn list_organizations(
        &self,
        shard: u64,
        page: &Paging,
    ) -> Result<Listed<NamedOrganization>, StoreError> {
        let page = Paging { limit: page.limit.min(50), before: page.before.clone() };
        let Listed { items: ids, next } = self.list_registered(shard, &page).await?;
        let tenants: Vec<_> =
            ids.into_iter().map(|organization| Tenant { organization, mode: Mode::Live }).collect();
        if tenants.is_empty() {
            return Ok(Listed { items: Vec::new(), next });
        }
        let keys = tenants.iter().flat_map(|tenant| [keys::gate(*tenant), keys::profile(*tenant)]);
        let mut found = self.read_many(keys).await?;
        let mut items = Vec::new();
        for tenant in tenants {
            // One that cannot be read is reported and left out.
            items.extend(NamedOrganization::take_from(&mut found, tenant).ok().flatten());
        }
        items.sort_by_key(|named: &NamedOrganization| std::cmp::Reverse(named.organization.id));
        Ok(Listed { items, next })
    }

    /// Sets the plan of an organization in both modes.
    pub async fn set_plan(&self, organization: Id, plan: Plan) -> Result<(), OrganizationError> {
        let tenants = Mode::ALL.map(|mode| Tenant { organization, mode });
        self.set(
            tenants[0],
            &tenants.map(keys::gate),
            &Changes::set("plan", AttributeValue::S(plan.as_str().to_owned())),
            &[],
            (AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::Plan))),
            &in_both_modes(
                organization,
                EventType::OrganizationPlanChanged,
                &EventData::new().with("to", plan.as_str()),
            ),
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
        let (action, kind) = if suspended {
            (AuditAction::OrganizationSuspended, EventType::OrganizationSuspended)
        } else {
            (AuditAction::OrganizationResumed, EventType::OrganizationResumed)
        };
        self.set(
            tenants[0],
            &keys,
            &Changes::set(SUSPENDED, AttributeValue::Bool(suspended)),
            tasks,
            (action, None),
            &in_both_modes(organization, kind, &EventData::new()),
        )
        .await
    }

    /// Changes the settings of an organization in one mode, unless `change` returns `None`. Returns the settings.
    pub async fn change_organization_settings(
        &self,
        tenant: Tenant,
        change: impl Fn(&OrganizationSettings) -> Option<OrganizationSettings>,
    ) -> Result<OrganizationSettings, OrganizationError> {
        for _ in 0..ATTEMPTS {
            let found = self.find_organization_settings(tenant).await?;
            let before = found.ok_or(OrganizationError::NoSuchOrganization)?;
            let Some(after) = change(&before) else { return Ok(before) };
            let mut transaction = Transaction::new(tenant);
            transaction.replace_organization_settings(&before, &after)?;
            if self.attempt(transaction).await? {
                return Ok(after);
            }
        }
        Err(contended())
    }

    /// Sets the branding of a career site.
    pub async fn set_branding(
        &self,
        organization: &Organization,
        branding: &Branding,
    ) -> Result<(), OrganizationError> {
        let branding: Item = serde_dynamo::to_item(branding)
            .map_err(|error| StoreError::Internal(format!("a branding cannot be written: {error}")))?;
        let key = keys::organization_slug(&organization.slug);
        let act = (AuditAction::SettingsChanged, Some(AuditTarget::only(AuditTargetKind::CareerPage)));
        let change =
            (key.clone(), Recorded::setting(SubjectType::CareerPage).changing(names([("branding", true)])));
        self.set(organization.tenant(), &[key], &Changes::within("branding", branding), &[], act, &[change])
            .await
    }

    /// Changes several items in the same way, which must all exist, adds tasks, and records the act.
    async fn set(
        &self,
        tenant: Tenant,
        keys: &[Key],
        changes: &Changes,
        tasks: &[Task],
        act: (AuditAction, Option<AuditTarget>),
        recorded: &[(Key, Recorded)],
    ) -> Result<(), OrganizationError> {
        for _ in 0..ATTEMPTS {
            let mut transaction = Transaction::new(tenant);
            transaction.audit(act.0, act.1);
            for task in tasks {
                transaction.put(task.item()?)?;
            }
            for key in keys {
                transaction.change_existing(key.clone(), changes.clone());
                let own = recorded.iter().filter(|(changed, _)| changed == key);
                transaction.record(own.map(|(_, change)| change.clone()));
            }
            // The gate is too small for a stamp, so the organization's name keeps it.
            for (key, change) in recorded.iter().filter(|(key, _)| !keys.contains(key)) {
                transaction.change_existing(key.clone(), Changes::default());
                transaction.record([change.clone()]);
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

    /// Commits a transaction whose conditions fail only if another transaction uses the same items.
    pub(super) async fn commit_any(&self, transaction: Transaction) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            if self.attempt(transaction.clone()).await? {
                return Ok(());
            }
        }
        Err(StoreError::Unavailable("write conflicts persisted".to_owned()))
    }

    /// Commits a transaction. Returns `false` if a condition failed, or if another transaction used the same items.
    pub(super) async fn attempt(&self, transaction: Transaction) -> Result<bool, StoreError> {
        match self.commit(transaction).await {
            Ok(()) => Ok(true),
            Err(CommitError::Store(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }
}

impl Profile {
    /// Reads a tenant's settings from the item of its profile. An organization that was deleted meanwhile has none.
    pub(super) fn take_settings_from(
        items: &mut Vec<Item>,
        tenant: Tenant,
    ) -> Result<OrganizationSettings, StoreError> {
        let profile = keys::profile(tenant).take_from(items).map(item::read::<Self>).transpose()?;
        Ok(profile.map(|profile| profile.settings).unwrap_or_default())
    }
}

pub(super) fn contended() -> OrganizationError {
    StoreError::Unavailable("write conflicts persisted".to_owned()).into()
}

impl NamedOrganization {
    /// Reads a tenant's organization from the items of its gate and its profile.
    pub(super) fn take_from(items: &mut Vec<Item>, tenant: Tenant) -> Result<Option<Self>, StoreError> {
        let gate = keys::gate(tenant).take_from(items);
        let profile = keys::profile(tenant).take_from(items);
        let (Some(gate), Some(profile)) = (gate, profile) else { return Ok(None) };
        let Profile { name, created_at, settings } = item::read(profile)?;
        Ok(Some(Self { organization: item::read(gate)?, name, settings, created_at }))
    }
}

/// A change of the organization, in the feeds of both modes.
fn in_both_modes(organization: Id, kind: EventType, data: &EventData) -> [(Key, Recorded); 2] {
    Mode::ALL.map(|mode| {
        let change = of_organization(kind, organization).with(data.clone()).in_mode(mode);
        (keys::profile(Tenant { organization, mode }), change)
    })
}

fn of_organization(kind: EventType, organization: Id) -> Recorded {
    Recorded::stamped(kind, SubjectType::Organization, Some(organization))
}

fn organization_writes(modes: &[NamedOrganization; 2]) -> Result<Transaction, StoreError> {
    let id = modes[0].organization.id;
    let mut transaction = Transaction::new(modes[0].organization.tenant());
    transaction.insert(item::write(
        &Registered { id },
        keys::registered(keys::registry_shard(id), id),
        None,
    )?);
    for NamedOrganization { organization, name, settings, created_at } in modes {
        transaction.insert(item::write(organization, keys::gate(organization.tenant()), None)?);
        let profile = Profile { name: name.clone(), created_at: *created_at, settings: settings.clone() };
        transaction.insert(item::write(&profile, keys::profile(organization.tenant()), None)?);
        let branding = Branding { name: name.clone(), introduction: None, accent: None, logo_url: None };
        let (mode, slug) = (organization.mode, organization.slug.clone());
        let limits = ApplicationLimits::USUAL;
        let suspended = organization.suspended;
        let site = CareerSite { id, mode, slug, suspended, branding, logo: None, limits };
        transaction.insert_slug(item::write(&site, keys::organization_slug(&site.slug), None)?, 1);
    }
    Ok(transaction)
}
