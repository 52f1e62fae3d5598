//! The `member` commands. Only `create` and `link` print a password link, once.

use std::fmt;

use serde::Serialize;
use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{Member, Mode, Notice, NoticeEvent, Tenant};
use shared::services::membership::{self, Decision};
use shared::services::sign_in_limits;
use shared::store::{CommitError, OrganizationError, StoreError, Transaction};

use crate::admin::{Admin, CommandError};
use crate::cli::{NewLink, NewMember};
use crate::output::{line, or_dash, table};

/// A member with a new password link.
#[derive(Serialize)]
pub(crate) struct LinkedMember {
    id: Id,
    organization_id: Id,
    name: String,
    email: String,
    role: &'static str,
    link: String,
    link_expires_at: Option<Timestamp>,
}

/// A member in a list.
#[derive(Serialize)]
pub(crate) struct Summary {
    id: Id,
    name: String,
    email: String,
    role: &'static str,
    state: &'static str,
    created_at: Timestamp,
}

/// All members of an organization.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Summaries(pub(crate) Vec<Summary>);

/// A member whose second factor was removed.
#[derive(Serialize)]
pub(crate) struct ResetSecondFactor {
    id: Id,
    email: String,
    /// Whether the member had a second factor.
    had_one: bool,
}

/// A member who was removed.
#[derive(Serialize)]
pub(crate) struct Removed {
    id: Id,
    email: String,
}

pub(crate) async fn create(admin: &Admin, new: NewMember) -> Result<LinkedMember, CommandError> {
    let tenant = Tenant { organization: new.organization, mode: Mode::Live };
    admin.store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    let member = Member::invited(admin.ids.next(), new.email, new.name, new.role, admin.now);
    let (member, link) = linked(admin, tenant, member, &new.base_url)?;
    let invited = membership::invite(&admin.store, new.organization, &member, None);
    invited.await.map_err(organization_error)?;
    Ok(LinkedMember::of(tenant, member, link))
}

pub(crate) async fn link(admin: &Admin, new: NewLink) -> Result<LinkedMember, CommandError> {
    let tenant = Tenant { organization: new.organization, mode: Mode::Live };
    let before = find(admin, new.organization, new.id).await?;
    let (member, link) = linked(admin, tenant, before.clone(), &new.base_url)?;
    let mut transaction = Transaction::new(tenant);
    transaction.replace_member(&before, &member)?;
    if !member.is_invited() {
        let event = NoticeEvent::ResetLinkCreated { by: None };
        transaction.insert_notice(member.id, &Notice { id: admin.ids.next(), at: admin.now, event })?;
    }
    admin.store.commit(transaction).await.map_err(organization_error)?;
    Ok(LinkedMember::of(tenant, member, link))
}

pub(crate) async fn list(admin: &Admin, organization: Id) -> Result<Summaries, OrganizationError> {
    let tenant = Tenant { organization, mode: Mode::Live };
    admin.store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    let members = admin.store.list_members(organization).await?;
    let members = members.into_iter().map(|member| Summary {
        id: member.id,
        name: member.name.as_str().to_owned(),
        email: member.email.as_str().to_owned(),
        role: member.role.as_str(),
        state: if member.is_invited() { "invited" } else { "active" },
        created_at: member.created_at,
    });
    Ok(Summaries(members.collect()))
}

/// A member who can try to sign in again.
#[derive(Serialize)]
pub(crate) struct Unlocked {
    id: Id,
    email: String,
}

pub(crate) async fn remove(
    admin: &Admin,
    organization: Id,
    id: Id,
    keep_keys: bool,
) -> Result<Removed, OrganizationError> {
    let member = find(admin, organization, id).await?;
    let decide = |_, _| if keep_keys { Decision::HandOver } else { Decision::End };
    let removed = membership::remove(&admin.store, organization, &member, None, decide, admin.now);
    removed.await.map_err(organization_error)?;
    Ok(Removed { id, email: member.email.as_str().to_owned() })
}

pub(crate) async fn reset_second_factor(
    admin: &Admin,
    organization: Id,
    id: Id,
) -> Result<ResetSecondFactor, OrganizationError> {
    let member = find(admin, organization, id).await?;
    let had_one = member.has_second_factor();
    if had_one {
        let mut transaction = Transaction::new(Tenant { organization, mode: Mode::Live });
        transaction.replace_member(&member, &member.clone().without_second_factor())?;
        let event = NoticeEvent::SecondFactorReset { by: None };
        transaction.insert_notice(id, &Notice { id: admin.ids.next(), at: admin.now, event })?;
        admin.store.commit(transaction).await.map_err(organization_error)?;
    }
    Ok(ResetSecondFactor { id, email: member.email.as_str().to_owned(), had_one })
}

/// Allows further attempts after too many wrong passwords or codes.
pub(crate) async fn unlock(admin: &Admin, organization: Id, id: Id) -> Result<Unlocked, OrganizationError> {
    let member = find(admin, organization, id).await?;
    sign_in_limits::unlock(&admin.store, organization, &member, admin.now).await?;
    Ok(Unlocked { id, email: member.email.as_str().to_owned() })
}

async fn find(admin: &Admin, organization: Id, id: Id) -> Result<Member, OrganizationError> {
    admin.store.find_member(organization, id).await?.ok_or(OrganizationError::NoSuchMember)
}

fn linked(
    admin: &Admin,
    tenant: Tenant,
    member: Member,
    base_url: &str,
) -> Result<(Member, String), CommandError> {
    let keys = admin.secrets.credential_keys()?;
    Ok(membership::create_link(tenant.organization, member, base_url, &keys, &admin.random, admin.now))
}

fn organization_error(error: CommitError) -> OrganizationError {
    match error {
        CommitError::Taken(_) => OrganizationError::EmailTaken,
        CommitError::Store(error) => error.into(),
        error => StoreError::Unavailable(error.to_string()).into(),
    }
}

impl LinkedMember {
    fn of(tenant: Tenant, member: Member, link: String) -> Self {
        Self {
            id: member.id,
            organization_id: tenant.organization,
            name: member.name.as_str().to_owned(),
            email: member.email.as_str().to_owned(),
            role: member.role.as_str(),
            link,
            link_expires_at: member.link.map(|link| link.expires_at),
        }
    }
}

impl fmt::Display for LinkedMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, email, role, link, .. } = self;
        writeln!(f, "{link}\n")?;
        writeln!(
            f,
            "Send it to {email}: anyone who opens it can set the password. It cannot be shown again."
        )?;
        let expires_at = or_dash(self.link_expires_at);
        write!(f, "It works once and expires at {expires_at}. {} is the {role} {id}.", line(&self.name))
    }
}

impl fmt::Display for Summaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "No members.");
        }
        let rows = self.0.iter().map(|member| {
            [
                member.id.to_string(),
                member.role.to_owned(),
                member.state.to_owned(),
                member.created_at.to_string(),
                member.email.clone(),
                line(&member.name),
            ]
        });
        table(f, ["ID", "ROLE", "STATE", "CREATED", "E-MAIL", "NAME"], rows)
    }
}

impl fmt::Display for ResetSecondFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { email, .. } = self;
        if self.had_one {
            write!(f, "{email} now signs in with the password alone.")
        } else {
            write!(f, "{email} had no second factor.")
        }
    }
}

impl fmt::Display for Unlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} can try to sign in again.", self.email)
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is no longer a member; all sessions have ended and all connected applications have lost access.",
            self.email
        )
    }
}
