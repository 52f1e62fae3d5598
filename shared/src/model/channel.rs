//! Channels: accounts elsewhere that an organization has connected, and the posts made through them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::words::words;
use super::x_text::Style;
use crate::id::Id;
use crate::sealed::Sealed;

words! {
    /// Whether a channel can be used.
    pub enum ChannelStatus {
        /// It can.
        Connected = "connected",
        /// No account is connected.
        Disconnected = "disconnected",
        /// The account has to be connected anew.
        Expired = "expired",
        /// The provider says that something is wrong.
        Error = "error",
    }
}

/// What is known of a channel, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Whether it can be used.
    pub status: ChannelStatus,
    /// A sentence for people, where there is something to say.
    pub detail: Option<String>,
    /// When the provider last answered.
    pub checked_at: Option<Timestamp>,
    /// When the provider was last asked.
    pub asked_at: Option<Timestamp>,
}

impl Standing {
    /// What the provider has answered.
    pub const fn answered(status: ChannelStatus, detail: Option<String>, now: Timestamp) -> Self {
        Self { status, detail, checked_at: Some(now), asked_at: Some(now) }
    }

    /// The provider has not answered: what was known before still is.
    #[must_use]
    pub fn unanswered(self, detail: String, now: Timestamp) -> Self {
        Self { detail: Some(detail), asked_at: Some(now), ..self }
    }

    /// An account that was connected and not asked about yet.
    pub const NEW: Self =
        Self { status: ChannelStatus::Connected, detail: None, checked_at: None, asked_at: None };
    /// No account.
    pub const NONE: Self =
        Self { status: ChannelStatus::Disconnected, detail: None, checked_at: None, asked_at: None };
}

/// An account on X.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct XConnection {
    /// The account's name, without the `@`.
    pub username: String,
    /// Lets us act for the account, for some two hours.
    pub access: Sealed,
    /// Gives the next pair of tokens, once.
    pub refresh: Sealed,
    /// When the access token ends.
    pub expires_at: Timestamp,
    /// What is known of it.
    pub standing: Standing,
    /// While this lies ahead, somebody is fetching the next pair of tokens.
    pub leased_until: Option<Timestamp>,
    /// Grows with every write; a write names the version it has read.
    pub version: u64,
}

/// A telephone number on `WhatsApp`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WhatsAppConnection {
    /// The number's identifier there.
    pub phone_number_id: String,
    /// Lets us ask about it.
    pub token: Sealed,
    /// What people call it, once it is known.
    pub account: Option<String>,
    /// What is known of it.
    pub standing: Standing,
    /// Grows with every write; a write names the version it has read.
    pub version: u64,
}

/// How a post is received; `None` for what is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// Likes.
    pub likes: Option<u64>,
    /// Reposts.
    pub reposts: Option<u64>,
    /// Replies.
    pub replies: Option<u64>,
    /// Clicks on the link.
    pub link_clicks: Option<u64>,
}

/// A job posted to X.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// The identifier.
    pub id: Id,
    /// The job posting.
    pub job_posting_id: Id,
    /// The tone.
    pub style: Style,
    /// What was posted.
    pub text: String,
    /// The post's identifier on X; `None` where X has not confirmed it.
    pub external_id: Option<String>,
    /// Where it is on X.
    pub url: Option<String>,
    /// When X confirmed it.
    pub posted_at: Option<Timestamp>,
    /// How it is received.
    pub metrics: Metrics,
    /// When that was.
    pub metrics_at: Option<Timestamp>,
    /// When X was last asked for it.
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

    /// The same post, known to X as `external_id` and shown at `url`.
    #[must_use]
    pub fn confirmed(self, external_id: String, url: String, now: Timestamp) -> Self {
        Self { external_id: Some(external_id), url: Some(url), posted_at: Some(now), ..self }
    }

    /// The same post with what X says of it now. What X no longer says stays as it was last known.
    #[must_use]
    pub fn measured(self, metrics: Option<Metrics>, now: Timestamp) -> Self {
        let asked = Self { asked_at: Some(now), ..self };
        let Some(new) = metrics else { return asked };
        let old = asked.metrics;
        let metrics = Metrics {
            likes: new.likes.or(old.likes),
            reposts: new.reposts.or(old.reposts),
            replies: new.replies.or(old.replies),
            link_clicks: new.link_clicks.or(old.link_clicks),
        };
        Self { metrics, metrics_at: Some(now), ..asked }
    }
}
