//! Channels: the accounts that an organization has connected, and the posts made through them.

use serde::{Deserialize, Serialize};

use super::string_enum::string_enum;
use super::x_text::Style;
use crate::clock::Timestamp;
use crate::id::Id;
use crate::token_encryption::EncryptedToken;

string_enum! {
    /// The status of a channel.
    pub enum ChannelStatus {
        /// The channel can be used.
        Connected = "connected",
        /// No account is connected.
        Disconnected = "disconnected",
        /// The account must be reconnected.
        Expired = "expired",
        /// The provider reports a problem, or the tokens cannot be decrypted.
        Error = "error",
    }
}

/// The last known status of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// The status.
    pub status: ChannelStatus,
    /// A sentence that explains the status.
    pub detail: Option<String>,
    /// When the provider last responded.
    pub checked_at: Option<Timestamp>,
    /// When the provider was last queried.
    pub asked_at: Option<Timestamp>,
}

impl ConnectionStatus {
    /// The status after the provider has responded.
    pub const fn answered(status: ChannelStatus, detail: Option<String>, now: Timestamp) -> Self {
        Self { status, detail, checked_at: Some(now), asked_at: Some(now) }
    }

    /// The status after the provider failed to respond. Only `detail` and `asked_at` change.
    #[must_use]
    pub fn unanswered(self, detail: String, now: Timestamp) -> Self {
        Self { detail: Some(detail), asked_at: Some(now), ..self }
    }

    /// The status of a new connection, before the provider is queried.
    pub const NEW: Self =
        Self { status: ChannelStatus::Connected, detail: None, checked_at: None, asked_at: None };
    /// The status without a connected account.
    pub const NONE: Self =
        Self { status: ChannelStatus::Disconnected, detail: None, checked_at: None, asked_at: None };
}

/// An account on X.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct XConnection {
    /// The account's name, without the `@`.
    pub username: String,
    /// The access token, which is valid for about two hours.
    pub access: EncryptedToken,
    /// The refresh token, which can be used once.
    pub refresh: EncryptedToken,
    /// When the access token expires.
    pub expires_at: Timestamp,
    /// The last known status.
    pub standing: ConnectionStatus,
    /// When the lease on refreshing the tokens expires. Until then, only the request that holds it may refresh them.
    pub leased_until: Option<Timestamp>,
    /// The version, which increases with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

/// A telephone number on `WhatsApp`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WhatsAppConnection {
    /// The number's identifier at `WhatsApp`.
    pub phone_number_id: String,
    /// The access token.
    pub token: EncryptedToken,
    /// The display name, once it is known.
    pub account: Option<String>,
    /// The last known status.
    pub standing: ConnectionStatus,
    /// The version, which increases with every write. A write fails if the stored version has changed since it was read.
    pub version: u64,
}

/// The metrics of a post. `None` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// The number of likes.
    pub likes: Option<u64>,
    /// The number of reposts.
    pub reposts: Option<u64>,
    /// The number of replies.
    pub replies: Option<u64>,
    /// The number of clicks on the link.
    pub link_clicks: Option<u64>,
}

/// A post on X that advertises a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// The identifier.
    pub id: Id,
    /// The job posting.
    pub job_posting_id: Id,
    /// The tone.
    pub style: Style,
    /// The text of the post.
    pub text: String,
    /// The post's identifier on X; `None` if X has not confirmed the post.
    pub external_id: Option<String>,
    /// The post's URL on X.
    pub url: Option<String>,
    /// When X confirmed the post.
    pub posted_at: Option<Timestamp>,
    /// The last known metrics.
    pub metrics: Metrics,
    /// When the metrics were measured.
    pub metrics_at: Option<Timestamp>,
    /// When X was last queried for metrics.
    pub asked_at: Option<Timestamp>,
}

impl Post {
    /// A post that X has not confirmed.
    pub fn unconfirmed(id: Id, job_posting_id: Id, style: Style, text: String) -> Self {
        Self {
            id,
            job_posting_id,
            style,
            text,
            external_id: None,
            url: None,
            posted_at: None,
            metrics: Metrics::default(),
            metrics_at: None,
            asked_at: None,
        }
    }

    /// The post after X has confirmed it.
    #[must_use]
    pub fn confirmed(self, external_id: String, url: String, now: Timestamp) -> Self {
        Self { external_id: Some(external_id), url: Some(url), posted_at: Some(now), ..self }
    }

    /// The post with new metrics. A metric that X no longer reports keeps its last known value.
    #[must_use]
    pub fn measured(self, metrics: Option<Metrics>, now: Timestamp) -> Self {
        let queried = Self { asked_at: Some(now), ..self };
        let Some(new) = metrics else { return queried };
        let old = queried.metrics;
        let metrics = Metrics {
            likes: new.likes.or(old.likes),
            reposts: new.reposts.or(old.reposts),
            replies: new.replies.or(old.replies),
            link_clicks: new.link_clicks.or(old.link_clicks),
        };
        Self { metrics, metrics_at: Some(now), ..queried }
    }
}
