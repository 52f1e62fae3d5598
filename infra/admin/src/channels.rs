//! The `channel` commands, for the X and WhatsApp accounts of an organization's live mode. They never print a token.

use std::fmt;

use jiff::SignedDuration;
use serde::Serialize;
use shared::clock::{Timestamp, later};
use shared::id::Id;
use shared::model::{ConnectionStatus, Day, Mode, Tenant};
use shared::providers::x::Tokens;
use shared::services::accounts;
use shared::store::{CommitError, OrganizationError, StoreError, Transaction};

use crate::admin::{Admin, CommandError};
use crate::cli::{Channel, NewWhatsAppNumber, NewXAccount};
use crate::output::{line, or_dash, table};
use crate::secrets::{WHATSAPP_TOKEN, X_ACCESS_TOKEN, X_REFRESH_TOKEN};

/// A channel that was just connected or disconnected.
#[derive(Serialize)]
pub(crate) struct Changed {
    organization_id: Id,
    channel: &'static str,
    account: Option<String>,
    connected: bool,
}

/// An organization's channels.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Summaries([Summary; 2]);

#[derive(Serialize)]
struct Summary {
    channel: &'static str,
    status: &'static str,
    account: Option<String>,
    checked_at: Option<Timestamp>,
    sealed_with: Option<String>,
    detail: Option<String>,
}

pub(crate) async fn connect_x(admin: &Admin, new: NewXAccount) -> Result<Changed, CommandError> {
    let keys = admin.secrets.sealing_keys()?;
    let tenant = live(admin, new.organization).await?;
    let lifetime = SignedDuration::from_secs(i64::from(new.expires_in_seconds));
    let tokens = Tokens {
        access: admin.secrets.token(X_ACCESS_TOKEN)?,
        refresh: admin.secrets.token(X_REFRESH_TOKEN)?,
        expires_at: later(admin.now, lifetime),
    };
    let username = new.username.trim_start_matches('@').to_owned();
    let connection = accounts::connect_x(tenant, username.clone(), &tokens, &keys, &admin.random);
    let connection = connection.map_err(|error| StoreError::Internal(error.to_string()))?;
    let mut transaction = Transaction::new(tenant);
    transaction.put_x_connection(&connection)?;
    commit(admin, transaction).await?;
    Ok(Changed::of(tenant, Channel::X, Some(format!("@{username}"))))
}

pub(crate) async fn connect_whatsapp(admin: &Admin, new: NewWhatsAppNumber) -> Result<Changed, CommandError> {
    let (keys, token) = (admin.secrets.sealing_keys()?, admin.secrets.token(WHATSAPP_TOKEN)?);
    let tenant = live(admin, new.organization).await?;
    let number = new.phone_number_id;
    let connection = accounts::connect_whatsapp(tenant, number.clone(), &token, &keys, &admin.random);
    let connection = connection.map_err(|error| StoreError::Internal(error.to_string()))?;
    let mut transaction = Transaction::new(tenant);
    transaction.put_whatsapp_connection(&connection)?;
    commit(admin, transaction).await?;
    Ok(Changed::of(tenant, Channel::WhatsApp, Some(number)))
}

pub(crate) async fn disconnect(
    admin: &Admin,
    organization: Id,
    channel: Channel,
) -> Result<Changed, OrganizationError> {
    let tenant = live(admin, organization).await?;
    let mut transaction = Transaction::new(tenant);
    match channel {
        Channel::X => transaction.delete_x_connection(),
        Channel::WhatsApp => transaction.delete_whatsapp_connection(),
    }
    commit(admin, transaction).await?;
    Ok(Changed::of(tenant, channel, None))
}

pub(crate) async fn show(admin: &Admin, organization: Id) -> Result<Summaries, OrganizationError> {
    let tenant = live(admin, organization).await?;
    let found = admin.store.get_channels(tenant, Day::of(admin.now)).await?;
    let x = found.x.map(|x| (x.standing, format!("@{}", x.username), x.access.key));
    let whatsapp = found.whatsapp.map(|whatsapp| {
        let name = whatsapp.account.unwrap_or(whatsapp.phone_number_id);
        (whatsapp.standing, name, whatsapp.token.key)
    });
    Ok(Summaries([Summary::of(Channel::X, x), Summary::of(Channel::WhatsApp, whatsapp)]))
}

/// The organization's live tenant. In test mode, accounts are simulated.
async fn live(admin: &Admin, organization: Id) -> Result<Tenant, OrganizationError> {
    let tenant = Tenant { organization, mode: Mode::Live };
    admin.store.find_organization(tenant).await?.ok_or(OrganizationError::NoSuchOrganization)?;
    Ok(tenant)
}

async fn commit(admin: &Admin, transaction: Transaction) -> Result<(), OrganizationError> {
    match admin.store.commit(transaction).await {
        Ok(()) => Ok(()),
        Err(CommitError::Store(error)) => Err(error.into()),
        Err(error) => Err(StoreError::Unavailable(error.to_string()).into()),
    }
}

impl Changed {
    fn of(tenant: Tenant, channel: Channel, account: Option<String>) -> Self {
        let connected = account.is_some();
        Self { organization_id: tenant.organization, channel: channel.as_str(), account, connected }
    }
}

impl Summary {
    fn of(channel: Channel, found: Option<(ConnectionStatus, String, String)>) -> Self {
        let (connection, account, key) = match found {
            Some((connection, account, key)) => (connection, Some(account), Some(key)),
            None => (ConnectionStatus::NONE, None, None),
        };
        Self {
            channel: channel.as_str(),
            status: connection.status.as_str(),
            account,
            checked_at: connection.checked_at,
            sealed_with: key,
            detail: connection.detail,
        }
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { organization_id, channel, account, .. } = self;
        match account {
            Some(account) => {
                write!(
                    f,
                    "Connected {} as organization {organization_id}'s {channel} account.",
                    line(account)
                )
            }
            None => write!(f, "Disconnected organization {organization_id}'s {channel} account."),
        }
    }
}

impl fmt::Display for Summaries {
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
        table(f, ["CHANNEL", "STATUS", "ACCOUNT", "CHECKED", "SEALING KEY", "DETAIL"], rows)
    }
}
