//! Channels: the organization's X and WhatsApp accounts, and jobs posted to X.

use std::time::Duration;

use futures_util::future::join;
use jiff::SignedDuration;
use serde::Serialize;
use utoipa::ToSchema;

use super::x_posts::account;
use crate::clock::Timestamp;
use crate::http::{ApiRequest, Error, Reply};
use crate::model::{ChannelStatus, ConnectionStatus, Day, WhatsAppConnection, XConnection};
use crate::providers::whatsapp::Health;
use crate::providers::x::XError;
use crate::providers::{WhatsAppPort, XPort, x_simulator};
use crate::services::accounts;
use crate::token_encryption::DecryptionError;

/// The time a channel's status is reused before the provider is queried again.
const STATUS_AGE: SignedDuration = SignedDuration::from_secs(60);
/// The timeout of a status query.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);
/// The organization's channels.
#[derive(Debug, Serialize, ToSchema)]
pub struct Channels {
    /// The X account.
    x: Channel,
    /// The WhatsApp number.
    whatsapp: Channel,
}

/// The connection status and usage of a channel.
#[derive(Debug, Serialize, ToSchema)]
pub struct Channel {
    /// Whether the channel can be used.
    connected: bool,
    /// The connection status.
    status: ChannelStatus,
    /// The name of the connected account.
    account: Option<String>,
    /// When the provider last responded.
    checked_at: Option<Timestamp>,
    /// An explanation of the status.
    detail: Option<String>,
    /// Today's usage.
    usage: Usage,
}

/// The usage of a channel.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChannelUsage)]
pub struct Usage {
    /// The number of posts or messages sent in this period.
    used: u64,
    /// The maximum number of posts or messages in this period, or `null` if this service sets no limit.
    limit: Option<u64>,
    /// The period.
    period: Period,
    /// When the period ends: the next midnight UTC.
    resets_at: Timestamp,
}

/// The period over which a channel's usage is counted.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Period {
    Day,
}

/// Returns the connection status and today's usage of both channels. If a provider fails or times out, the request
/// still succeeds, and `status` and `detail` describe the problem.
pub async fn show_channels(request: ApiRequest<()>) -> Result<Reply<Channels>, Error> {
    request.input()?;
    let today = Day::of(request.context.now());
    let found = request.context.store().get_channels(request.tenant(), today).await?;
    let (x, whatsapp) = join(check_x(&request, found.x), check_whatsapp(&request, found.whatsapp)).await;
    let mut transaction = request.transaction();
    if let Some((before, after)) = &x.replacement {
        transaction.replace_x_connection(before, after)?;
    }
    if let Some((before, after)) = &whatsapp.replacement {
        transaction.replace_whatsapp_connection(before, after)?;
    }
    // Another request may have queried the provider at the same time. Either result is good enough.
    if !transaction.is_empty()
        && let Err(refusal) = request.context.store().commit(transaction).await
    {
        tracing::warn!(%refusal, "a channel's status was not stored");
    }
    Reply::resource(&Channels {
        x: x.channel(found.posts_today, today),
        whatsapp: whatsapp.channel(0, today),
    })
}

/// The current state of a channel.
struct Checked<C> {
    status: ConnectionStatus,
    account: Option<String>,
    /// The connection to store if the provider was queried.
    replacement: Option<(C, C)>,
}

impl<C> Checked<C> {
    fn simulated(account: &str, now: Timestamp) -> Self {
        let detail = Some("This is a simulator.".to_owned());
        let status = ConnectionStatus::answered(ChannelStatus::Connected, detail, now);
        Self { status, account: Some(account.to_owned()), replacement: None }
    }

    fn missing(detail: &str) -> Self {
        let status = ConnectionStatus { detail: Some(detail.to_owned()), ..ConnectionStatus::NONE };
        Self { status, account: None, replacement: None }
    }

    /// An account whose tokens cannot be decrypted. The provider was not queried, so `checked_at` stays unchanged.
    fn undecryptable(mut status: ConnectionStatus, account: Option<String>, error: DecryptionError) -> Self {
        status.status = ChannelStatus::Error;
        status.detail = Some(format!("The account cannot be used: {error}."));
        Self { status, account, replacement: None }
    }

    fn channel(self, used: u64, today: Day) -> Channel {
        let ConnectionStatus { status, detail, checked_at, .. } = self.status;
        Channel {
            connected: status == ChannelStatus::Connected,
            status,
            account: self.account,
            checked_at,
            detail,
            usage: Usage { used, limit: None, period: Period::Day, resets_at: today.end() },
        }
    }
}

async fn check_x<I>(request: &ApiRequest<I>, connection: Option<XConnection>) -> Checked<XConnection> {
    let now = request.context.now();
    let (x, keys) = match request.context.providers().await.x(request.tenant().mode) {
        XPort::Simulated => return Checked::simulated(&format!("@{}", x_simulator::ACCOUNT), now),
        XPort::Missing => return Checked::missing("X is not set up on this service."),
        XPort::Real(x, keys) => (x, keys),
    };
    let Some(connection) = connection else { return Checked::missing("No account is connected.") };
    let username = Some(format!("@{}", connection.username));
    let account = account(&request.context, request.tenant(), x, keys);
    let old = connection.standing.clone();
    // X is queried only with a valid token, because a renewal may take longer than the timeout or may already be in
    // progress.
    let renewing = connection.leased_until.is_some_and(|until| until > now);
    let access = match account.current(&connection) {
        Err(error) => return Checked::undecryptable(old, username, error),
        Ok(Some(access)) if !renewing && is_stale(&old, now) => access,
        Ok(_) => return Checked { status: old, account: username, replacement: None },
    };
    let status = match tokio::time::timeout(STATUS_TIMEOUT, account.x.account(&access)).await {
        Ok(Ok(_)) => ConnectionStatus::answered(ChannelStatus::Connected, None, now),
        Ok(Err(XError::Unauthorized)) => {
            let detail = "X rejected the access token. The next post will request a new one if the account still \
                          allows it.";
            ConnectionStatus::answered(ChannelStatus::Expired, Some(detail.to_owned()), now)
        }
        Ok(Err(XError::Refused(sentence))) => {
            ConnectionStatus::answered(ChannelStatus::Error, Some(sentence), now)
        }
        Ok(Err(error @ XError::Blocked)) => {
            ConnectionStatus::answered(ChannelStatus::Error, Some(format!("{error}.")), now)
        }
        Ok(Err(error)) => old.unanswered(error.to_string(), now),
        Err(_) => old.unanswered("X did not answer in time.".to_owned(), now),
    };
    let version = connection.version + 1;
    let after = XConnection { standing: status.clone(), version, ..connection.clone() };
    Checked { status, account: username, replacement: Some((connection, after)) }
}

async fn check_whatsapp<I>(
    request: &ApiRequest<I>,
    connection: Option<WhatsAppConnection>,
) -> Checked<WhatsAppConnection> {
    let now = request.context.now();
    let (whatsapp, keys) = match request.context.providers().await.whatsapp(request.tenant().mode) {
        WhatsAppPort::Simulated => return Checked::simulated("Rolecall simulator", now),
        WhatsAppPort::Missing => return Checked::missing("WhatsApp is not set up on this service."),
        WhatsAppPort::Real(whatsapp, keys) => (whatsapp, keys),
    };
    let Some(connection) = connection else { return Checked::missing("No number is connected.") };
    let mut account = connection.account.clone();
    let old = connection.standing.clone();
    let token = match accounts::whatsapp_token(request.tenant(), &connection, keys) {
        Err(error) => return Checked::undecryptable(old, account, error),
        Ok(token) if is_stale(&old, now) => token,
        Ok(_) => return Checked { status: old, account, replacement: None },
    };
    let status = match whatsapp.health(&connection.phone_number_id, &token, STATUS_TIMEOUT).await {
        Health::Connected { account: name, detail } => {
            account = Some(name);
            ConnectionStatus::answered(ChannelStatus::Connected, detail, now)
        }
        Health::Error { detail } => ConnectionStatus::answered(ChannelStatus::Error, Some(detail), now),
        Health::Expired => {
            let detail = "WhatsApp no longer accepts the token: reconnect the number.".to_owned();
            ConnectionStatus::answered(ChannelStatus::Expired, Some(detail), now)
        }
        Health::Unavailable(detail) => old.unanswered(format!("{detail}."), now),
    };
    let version = connection.version + 1;
    let after = WhatsAppConnection {
        standing: status.clone(),
        account: account.clone(),
        version,
        ..connection.clone()
    };
    Checked { status, account, replacement: Some((connection, after)) }
}

fn is_stale(status: &ConnectionStatus, now: Timestamp) -> bool {
    status.asked_at.is_none_or(|asked| now.duration_since(asked) >= STATUS_AGE)
}
