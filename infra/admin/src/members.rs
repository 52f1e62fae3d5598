//! The `member` commands. Only `create` and `link` print a password link, once.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use shared::id::Id;
use shared::model::{Member, Mode, Tenant};
use shared::services::membership;
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
    let mut transaction = Transaction::new(tenant);
    transaction.insert_member(&member)?;
    admin.store.commit(transaction).await.map_err(organization_error)?;
    Ok(LinkedMember::of(tenant, member, link))
}

pub(crate) async fn link(admin: &Admin, new: NewLink) -> Result<LinkedMember, CommandError> {
    let tenant = Tenant { organization: new.organization, mode: Mode::Live };
    let before = find(admin, new.organization, new.id).await?;
    let (member, link) = linked(admin, tenant, before.clone(), &new.base_url)?;
    let mut transaction = Transaction::new(tenant);
    transaction.replace_member(&before, &member)?;
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
        state: if member.password.is_some() { "active" } else { "invited" },
        created_at: member.created_at,
    });
    Ok(Summaries(members.collect()))
}

pub(crate) async fn remove(admin: &Admin, organization: Id, id: Id) -> Result<Removed, OrganizationError> {
    let member = find(admin, organization, id).await?;
    let removed = membership::remove(&admin.store, organization, &member, None, admin.now);
    removed.await.map_err(organization_error)?;
    Ok(Removed { id, email: member.email.as_str().to_owned() })
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
    let keys = admin.credential_keys()?;
    Ok(membership::create_link(tenant.organization, member, base_url, keys, &admin.random, admin.now))
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

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is no longer a member; all sessions have ended and all connected applications have lost access.",
            self.email
        )
    }
}
