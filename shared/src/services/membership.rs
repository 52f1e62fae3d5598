//! Invitations, links for setting a password, and the end of a member's access.

use jiff::SignedDuration;

use crate::auth::{Claims, Credential, Kind};
use crate::clock::{Timestamp, later};
use crate::id::Id;
use crate::mac_keys::MacKeys;
use crate::model::{AuditActor, Grant, Link, Member, Mode, Tenant, WebhookEndpoint};
use crate::random::Random;
use crate::services::webhooks;
use crate::store::{
    ApiKey, CommitError, OrganizationError, Paging, Store, StoreError, Taken, Transaction, UniqueField,
};

/// The number of grants that are read at once.
const GRANTS: u32 = 100;
/// The maximum number of attempts to revoke a grant. An attempt fails if the application fetches tokens at the same
/// time.
const ATTEMPTS: usize = 10;

/// Creates a single-use link, which replaces any earlier one. Returns the member with the link, and the link's URL,
/// which is shown only once.
pub fn create_link(
    organization: Id,
    member: Member,
    base_url: &str,
    keys: &MacKeys,
    random: &Random,
    now: Timestamp,
) -> (Member, String) {
    let tenant = Tenant { organization, mode: Mode::Live };
    let secret = Credential::generate(Kind::Link, tenant, member.id, Claims::default(), keys, random);
    let lifetime: SignedDuration = if member.is_invited() { Link::INVITATION } else { Link::RESET };
    let link = Link { hash: secret.hash(), expires_at: later(now, lifetime) };
    (member.with_link(link), format!("{base_url}/dashboard/password?token={}", secret.reveal()))
}

/// Invites a member. The invitation does not claim the e-mail address; accepting it does. Fails with
/// [`CommitError::Taken`] if the organization has a member or an open invitation with the address; an expired invitation
/// is replaced. Also fails if the record of `acting`, the member who invites the other, has changed since it was read.
pub async fn invite(
    store: &Store,
    organization: Id,
    new: &Member,
    acting: Option<&Member>,
) -> Result<(), CommitError> {
    let mut transaction = Transaction::new(Tenant { organization, mode: Mode::Live });
    let members = store.list_members(organization).await?;
    let with_address = || members.iter().filter(|other| other.email.normalized() == new.email.normalized());
    for other in with_address() {
        if !other.is_invited() || other.has_link(new.created_at) {
            return Err(CommitError::Taken(vec![Taken { field: UniqueField::Email, owner: Some(other.id) }]));
        }
        transaction.delete_member(other);
    }
    transaction.insert_member(new)?;
    if let Some(acting) = acting {
        transaction.require_member(acting);
    }
    store.commit(transaction).await?;
    for replaced in with_address() {
        store.delete_member_items(organization, replaced.id).await?;
    }
    Ok(())
}

/// What happens to an API key or a webhook endpoint of a member who is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The key is revoked, the endpoint disabled.
    End,
    /// It stays. The member who removes the other then answers for it; the operator, if nobody else does.
    HandOver,
}

/// The API keys that a member created and that are not revoked, with their modes.
pub async fn keys_of(store: &Store, organization: Id, member: Id) -> Result<Vec<(Mode, ApiKey)>, StoreError> {
    let mut keys = Vec::new();
    for mode in Mode::ALL {
        let listed = store.list_unrevoked_keys(Tenant { organization, mode }).await?;
        let created = listed.into_iter().filter(|key| key.created_by == Some(member));
        keys.extend(created.map(|key| (mode, key)));
    }
    Ok(keys)
}

/// Ends or hands over the API keys and the webhook endpoints of a member who is about to be removed, or was.
async fn decide_about_holdings(
    store: &Store,
    organization: Id,
    member: Id,
    acting: Option<&Member>,
    decide: &impl Fn(Mode, Id) -> Decision,
    now: Timestamp,
) -> Result<(), CommitError> {
    for (mode, key) in keys_of(store, organization, member).await? {
        let tenant = Tenant { organization, mode };
        let decided = match decide(mode, key.id) {
            Decision::End => store.revoke_api_key(tenant, key.id, now).await.map(drop),
            Decision::HandOver => {
                store.hand_over_api_key(tenant, key.id, acting.map(|acting| acting.id)).await
            }
        };
        decided.map_err(key_error)?;
    }
    let heir = acting.map_or_else(AuditActor::operator, |acting| AuditActor::member(acting.id));
    for tenant in Mode::ALL.map(|mode| Tenant { organization, mode }) {
        let endpoints = store.list_all_webhook_endpoints(tenant).await?;
        for endpoint in endpoints.into_iter().filter(|endpoint| endpoint.member() == Some(member)) {
            match decide(tenant.mode, endpoint.id) {
                Decision::End => webhooks::disable(store, tenant, endpoint, now).await?,
                Decision::HandOver => {
                    let hand_over = |endpoint: WebhookEndpoint| Some(endpoint.handed_over(heir));
                    webhooks::change(store, tenant, endpoint, hand_over).await?;
                }
            }
        }
    }
    Ok(())
}

/// Removes a member with all sessions and grants. `decide` says what happens to each of the member's API keys and webhook
/// endpoints. Fails if the record of `acting`, the member who removes the other, has changed since it was read, so two owners
/// cannot remove each other at the same time.
pub async fn remove(
    store: &Store,
    organization: Id,
    member: &Member,
    acting: Option<&Member>,
    decide: impl Fn(Mode, Id) -> Decision,
    now: Timestamp,
) -> Result<(), CommitError> {
    decide_about_holdings(store, organization, member.id, acting, &decide, now).await?;
    let mut transaction = Transaction::new(Tenant { organization, mode: Mode::Live });
    transaction.delete_member(member);
    if let Some(acting) = acting {
        transaction.require_member(acting);
    }
    end_access(store, organization, member, transaction, now).await?;
    // The member may have created something in between.
    decide_about_holdings(store, organization, member.id, acting, &decide, now).await?;
    Ok(store.delete_member_items(organization, member.id).await?)
}

fn key_error(error: OrganizationError) -> CommitError {
    match error {
        OrganizationError::Store(error) => error.into(),
        _ => CommitError::Stale,
    }
}

/// Commits a transaction that ends the sessions of the member, and revokes the member's grants.
pub async fn end_access(
    store: &Store,
    organization: Id,
    member: &Member,
    transaction: Transaction,
    now: Timestamp,
) -> Result<(), CommitError> {
    revoke_grants(store, organization, member, now).await?;
    store.commit(transaction).await?;
    // The member may have granted access in between.
    revoke_grants(store, organization, member, now).await
}

/// Commits a transaction that makes an owner a plain member. API keys that the owner made and access that the owner granted
/// end if they include what only owners may give.
pub async fn demote(
    store: &Store,
    organization: Id,
    owner: Id,
    transaction: Transaction,
    now: Timestamp,
) -> Result<(), CommitError> {
    end_owners_access(store, organization, owner, now).await?;
    store.commit(transaction).await?;
    // The owner may have given access in between.
    end_owners_access(store, organization, owner, now).await
}

async fn end_owners_access(
    store: &Store,
    organization: Id,
    owner: Id,
    now: Timestamp,
) -> Result<(), CommitError> {
    for (mode, key) in keys_of(store, organization, owner).await? {
        if key.scopes.need_owner() {
            let tenant = Tenant { organization, mode };
            store.revoke_api_key(tenant, key.id, now).await.map_err(key_error)?;
        }
    }
    let ends = |grant: &Grant| grant.member == owner && grant.scopes.need_owner();
    revoke_grants_that(store, organization, ends, now).await
}

/// Revokes all grants of the member, in both modes.
pub async fn revoke_grants(
    store: &Store,
    organization: Id,
    member: &Member,
    now: Timestamp,
) -> Result<(), CommitError> {
    revoke_grants_that(store, organization, |grant| grant.member == member.id, now).await
}

async fn revoke_grants_that(
    store: &Store,
    organization: Id,
    end: impl Fn(&Grant) -> bool,
    now: Timestamp,
) -> Result<(), CommitError> {
    for mode in Mode::ALL {
        let tenant = Tenant { organization, mode };
        let mut page = Paging { limit: GRANTS, before: None };
        loop {
            let listed = store.list_grants(tenant, &page).await?;
            for grant in listed.items.into_iter().filter(&end) {
                revoke_grant(store, tenant, grant, now).await?;
            }
            match listed.next {
                Some(next) => page.before = Some(next),
                None => break,
            }
        }
    }
    Ok(())
}

/// Revokes a grant, even if it changes at the same time. After the member is deleted, nothing would retry this.
pub async fn revoke_grant(
    store: &Store,
    tenant: Tenant,
    grant: Grant,
    now: Timestamp,
) -> Result<(), CommitError> {
    let id = grant.id;
    let mut current = Some(grant);
    for _ in 0..ATTEMPTS {
        let Some(grant) = current.filter(|grant| grant.revoked_at.is_none()) else { return Ok(()) };
        let mut transaction = Transaction::new(tenant);
        transaction.revoke_grant(&grant, now)?;
        match store.commit(transaction).await {
            Err(CommitError::Stale) => current = store.find_grant(tenant, id).await?,
            result => return result,
        }
    }
    Err(StoreError::Unavailable("a grant kept changing".to_owned()).into())
}
