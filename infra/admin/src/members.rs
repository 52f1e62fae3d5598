//! The members' commands. A link to a password is shown here once, by `create` and `link`, and nowhere else.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use shared::id::Id;
use shared::membership;
use shared::model::{Member, Mode, Tenant};
use shared::store::{Denied, Failure, Refusal, Writes};

use crate::Admin;
use crate::cli::{NewLink, NewMember};
use crate::output::{columns, line, or_dash};

/// A member with a link that was just made. It shows the link.
#[derive(Serialize)]
pub(crate) struct Linked {
    id: Id,
    organization_id: Id,
    name: String,
    email: String,
    role: &'static str,
    link: String,
    link_expires_at: Option<Timestamp>,
}

/// A member, as others see them.
#[derive(Serialize)]
pub(crate) struct Shown {
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
pub(crate) struct ShownMembers(Vec<Shown>);

/// A member who was removed.
#[derive(Serialize)]
pub(crate) struct Removed {
    id: Id,
    email: String,
}

pub(crate) async fn create(admin: &Admin, new: NewMember) -> Result<Linked, Denied> {
    let tenant = Tenant { organization: new.organization, mode: Mode::Live };
    admin.store.find_organization(tenant).await?.ok_or(Denied::NoSuchOrganization)?;
    let member = Member::invited(admin.ids.next(), new.email, new.name, new.role, admin.now);
    let (member, link) = linked(admin, tenant, member, &new.base_url);
    let mut writes = Writes::new(tenant);
    writes.insert_member(&member)?;
    admin.store.commit(writes).await.map_err(denied)?;
    Ok(Linked::of(tenant, member, link))
}

pub(crate) async fn link(admin: &Admin, new: NewLink) -> Result<Linked, Denied> {
    let tenant = Tenant { organization: new.organization, mode: Mode::Live };
    let member = find(admin, new.organization, new.id).await?;
    let (member, link) = linked(admin, tenant, member, &new.base_url);
    let mut writes = Writes::new(tenant);
    writes.replace_member(&member)?;
    admin.store.commit(writes).await.map_err(denied)?;
    Ok(Linked::of(tenant, member, link))
}

pub(crate) async fn list(admin: &Admin, organization: Id) -> Result<ShownMembers, Denied> {
    let tenant = Tenant { organization, mode: Mode::Live };
    admin.store.find_organization(tenant).await?.ok_or(Denied::NoSuchOrganization)?;
    let members = admin.store.list_members(organization).await?;
    let shown = members.into_iter().map(|member| Shown {
        id: member.id,
        name: member.name.as_str().to_owned(),
        email: member.email.as_str().to_owned(),
        role: member.role.as_str(),
        state: if member.password.is_some() { "active" } else { "invited" },
        created_at: member.created_at,
    });
    Ok(ShownMembers(shown.collect()))
}

pub(crate) async fn remove(admin: &Admin, organization: Id, id: Id) -> Result<Removed, Denied> {
    let member = find(admin, organization, id).await?;
    let removed = membership::remove(&admin.store, organization, &member, None, admin.now);
    removed.await.map_err(denied)?;
    Ok(Removed { id, email: member.email.as_str().to_owned() })
}

async fn find(admin: &Admin, organization: Id, id: Id) -> Result<Member, Denied> {
    admin.store.find_member(organization, id).await?.ok_or(Denied::NoSuchMember)
}

fn linked(admin: &Admin, tenant: Tenant, member: Member, base_url: &str) -> (Member, String) {
    membership::linked(tenant.organization, member, base_url, &admin.random, admin.now)
}

fn denied(refusal: Refusal) -> Denied {
    match refusal {
        Refusal::EmailTaken => Denied::EmailTaken,
        Refusal::Failed(failure) => failure.into(),
        refusal => Failure::Unavailable(refusal.to_string()).into(),
    }
}

impl Linked {
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

impl fmt::Display for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, email, role, link, .. } = self;
        writeln!(f, "{link}\n")?;
        writeln!(f, "Send it to {email}: whoever opens it sets the password. It cannot be shown again.")?;
        let until = or_dash(self.link_expires_at);
        write!(f, "It works once, until {until}. {} is the {role} {id}.", line(&self.name))
    }
}

impl fmt::Display for ShownMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "The organization has no members.");
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
        columns(f, ["ID", "ROLE", "STATE", "CREATED", "E-MAIL", "NAME"], rows)
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is no longer a member: every session and connected application of theirs has ended.",
            self.email
        )
    }
}
