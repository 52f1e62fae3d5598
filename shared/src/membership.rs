//! Members come and go: links that set a password, and what ends with a member.

use jiff::{SignedDuration, Timestamp};

use crate::auth::{Credential, Kind};
use crate::id::Id;
use crate::model::{Grant, Link, Member, Mode, Tenant};
use crate::random::Random;
use crate::store::{Failure, Page, Refusal, Store, Writes};

/// How many grants are read at once.
const GRANTS: u32 = 100;
/// How often a grant is tried to be ended while its application fetches tokens.
const ATTEMPTS: usize = 10;

/// The member with a new single-use link in place of any before, and the link's address, which is shown once.
pub fn linked(
    organization: Id,
    member: Member,
    base_url: &str,
    random: &Random,
    now: Timestamp,
) -> (Member, String) {
    let tenant = Tenant { organization, mode: Mode::Live };
    let secret = Credential::generate(Kind::Link, tenant, member.id, random);
    let life: SignedDuration = if member.password.is_some() { Link::RESET } else { Link::INVITATION };
    let link = Link { hash: secret.hash(), expires_at: now.saturating_add(life).unwrap_or(now) };
    (member.with_link(link), format!("{base_url}/dashboard/password?token={}", secret.reveal()))
}

/// Removes a member, with every session and all that the member has granted to applications. With `acting`, only if
/// that member is still as read: two owners who remove each other cannot both succeed.
pub async fn remove(
    store: &Store,
    organization: Id,
    member: &Member,
    acting: Option<&Member>,
    now: Timestamp,
) -> Result<(), Refusal> {
    take_back(store, organization, member, now).await?;
    let mut writes = Writes::new(Tenant { organization, mode: Mode::Live });
    writes.delete_member(member);
    if let Some(acting) = acting {
        writes.require_member(acting);
    }
    store.commit(writes).await?;
    // What was granted in between.
    take_back(store, organization, member, now).await
}

/// Ends every grant of the member, in both modes.
async fn take_back(store: &Store, organization: Id, member: &Member, now: Timestamp) -> Result<(), Refusal> {
    for mode in Mode::ALL {
        let tenant = Tenant { organization, mode };
        let mut page = Page { limit: GRANTS, before: None };
        loop {
            let listed = store.list_grants(tenant, &page).await?;
            for grant in listed.items.into_iter().filter(|grant| grant.member == member.id) {
                end(store, tenant, grant, now).await?;
            }
            match listed.next {
                Some(next) => page.before = Some(next),
                None => break,
            }
        }
    }
    Ok(())
}

/// Ends a grant, however often it changes meanwhile: once its member is gone, nobody would try again.
async fn end(store: &Store, tenant: Tenant, grant: Grant, now: Timestamp) -> Result<(), Refusal> {
    let id = grant.id;
    let mut found = Some(grant);
    for _ in 0..ATTEMPTS {
        let Some(grant) = found.filter(|grant| grant.revoked_at.is_none()) else { return Ok(()) };
        let mut writes = Writes::new(tenant);
        writes.revoke_grant(grant, now)?;
        match store.commit(writes).await {
            Err(Refusal::Stale) => found = store.find_grant(tenant, id).await?,
            settled => return settled,
        }
    }
    Err(Failure::Unavailable("a grant kept changing".to_owned()).into())
}
