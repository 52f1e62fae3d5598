//! The channels' commands: accounts elsewhere that an organization's live mode uses. Tokens come in and never go out.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use shared::accounts;
use shared::id::Id;
use shared::model::{Day, Mode, Standing, Tenant};
use shared::providers::x::Tokens;
use shared::store::{Denied, Failure, Refusal, Writes};

use crate::Admin;
use crate::cli::{Channel, NewWhatsAppNumber, NewXAccount};
use crate::output::{columns, line, or_dash};

/// What was done to a channel.
#[derive(Serialize)]
pub(crate) struct Done {
    organization_id: Id,
    channel: &'static str,
    account: Option<String>,
    connected: bool,
}

/// An organization's channels.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Shown([ShownChannel; 2]);

#[derive(Serialize)]
struct ShownChannel {
    channel: &'static str,
    status: &'static str,
    account: Option<String>,
    checked_at: Option<Timestamp>,
    sealed_with: Option<String>,
    detail: Option<String>,
}

pub(crate) async fn connect_x(admin: &Admin, new: NewXAccount) -> Result<Done, Denied> {
    let tenant = live(admin, new.organization).await?;
    let lifetime = SignedDuration::from_secs(i64::from(new.expires_in_seconds));
    let tokens = Tokens {
        access: new.access_token,
        refresh: new.refresh_token,
        expires_at: admin.now.saturating_add(lifetime).unwrap_or(admin.now),
    };
    let username = new.username.trim_start_matches('@').to_owned();
    let connection = accounts::connect_x(tenant, username.clone(), &tokens, &new.sealing_keys, &admin.random);
    let connection = connection.map_err(|error| Failure::Internal(error.to_string()))?;
    let mut writes = Writes::new(tenant);
    writes.put_x_connection(&connection)?;
    commit(admin, writes).await?;
    Ok(Done::of(tenant, Channel::X, Some(format!("@{username}"))))
}

pub(crate) async fn connect_whatsapp(admin: &Admin, new: NewWhatsAppNumber) -> Result<Done, Denied> {
    let tenant = live(admin, new.organization).await?;
    let number = new.phone_number_id;
    let connection =
        accounts::connect_whatsapp(tenant, number.clone(), &new.token, &new.sealing_keys, &admin.random);
    let connection = connection.map_err(|error| Failure::Internal(error.to_string()))?;
    let mut writes = Writes::new(tenant);
    writes.put_whatsapp_connection(&connection)?;
    commit(admin, writes).await?;
    Ok(Done::of(tenant, Channel::WhatsApp, Some(number)))
}

pub(crate) async fn disconnect(admin: &Admin, organization: Id, channel: Channel) -> Result<Done, Denied> {
    let tenant = live(admin, organization).await?;
    let mut writes = Writes::new(tenant);
    match channel {
        Channel::X => writes.delete_x_connection(),
        Channel::WhatsApp => writes.delete_whatsapp_connection(),
    }
    commit(admin, writes).await?;
    Ok(Done::of(tenant, channel, None))
}

pub(crate) async fn show(admin: &Admin, organization: Id) -> Result<Shown, Denied> {
    let tenant = live(admin, organization).await?;
    let found = admin.store.find_channels(tenant, Day::of(admin.now)).await?;
    let x = found.x.map(|x| (x.standing, format!("@{}", x.username), x.access.key));
    let whatsapp = found.whatsapp.map(|whatsapp| {
        let name = whatsapp.account.unwrap_or(whatsapp.phone_number_id);
        (whatsapp.standing, name, whatsapp.token.key)
    });
    Ok(Shown([ShownChannel::of(Channel::X, x), ShownChannel::of(Channel::WhatsApp, whatsapp)]))
}

/// Only the live mode has accounts: the test mode's are simulated.
async fn live(admin: &Admin, organization: Id) -> Result<Tenant, Denied> {
    let tenant = Tenant { organization, mode: Mode::Live };
    admin.store.find_organization(tenant).await?.ok_or(Denied::NoSuchOrganization)?;
    Ok(tenant)
}

async fn commit(admin: &Admin, writes: Writes) -> Result<(), Denied> {
    match admin.store.commit(writes).await {
        Ok(()) => Ok(()),
        Err(Refusal::Failed(failure)) => Err(failure.into()),
        Err(refusal) => Err(Failure::Unavailable(refusal.to_string()).into()),
    }
}

impl Done {
    fn of(tenant: Tenant, channel: Channel, account: Option<String>) -> Self {
        let connected = account.is_some();
        Self { organization_id: tenant.organization, channel: channel.as_str(), account, connected }
    }
}

impl ShownChannel {
    fn of(channel: Channel, found: Option<(Standing, String, String)>) -> Self {
        let (standing, account, key) = match found {
            Some((standing, account, key)) => (standing, Some(account), Some(key)),
            None => (Standing::NONE, None, None),
        };
        Self {
            channel: channel.as_str(),
            status: standing.status.as_str(),
            account,
            checked_at: standing.checked_at,
            sealed_with: key,
            detail: standing.detail,
        }
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { organization_id, channel, account, .. } = self;
        match account {
            Some(account) => {
                write!(f, "{} is organization {organization_id}'s {channel} account.", line(account))
            }
            None => write!(f, "Organization {organization_id} has no {channel} account any more."),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.0.iter().map(|channel| {
            [
                channel.channel.to_owned(),
                channel.status.to_owned(),
                or_dash(channel.account.as_deref().map(line)),
                or_dash(channel.checked_at),
                or_dash(channel.sealed_with.as_deref()),
                or_dash(channel.detail.as_deref().map(line)),
            ]
        });
        columns(f, ["CHANNEL", "STATUS", "ACCOUNT", "CHECKED", "SEALED WITH", "DETAIL"], rows)
    }
}
