//! Webhook endpoints and their deliveries in the API.

use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    self, Actor, DeliveryStatus, DisabledReason, EndpointDescription, EndpointStatus, EndpointUrl, EventType,
};

/// A webhook endpoint: a URL that events are sent to.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookEndpoint {
    /// The identifier.
    pub id: Id,
    /// The URL.
    pub url: EndpointUrl,
    /// A description.
    pub description: Option<EndpointDescription>,
    /// Who added the endpoint; `null` for endpoints that are older than this field.
    pub created_by: Option<Actor>,
    /// The types of the events that are sent; empty for all.
    pub types: Vec<EventType>,
    /// Whether requests also have a signature with the shared secret (`v1`). All have one with the key pair (`v1a`).
    pub hmac: bool,
    /// Whether events are sent.
    pub status: EndpointStatus,
    /// Why the endpoint is disabled; `null` if it is enabled.
    pub disabled_reason: Option<DisabledReason>,
    /// The public keys that verify requests, the newest first: `whpk_` and base64. For 24 hours after a rotation there are
    /// two.
    #[schema(min_items = 1, max_items = 2)]
    pub public_keys: Vec<String>,
    /// When the endpoint was created.
    pub created_at: Timestamp,
    /// When the endpoint was last changed.
    pub updated_at: Timestamp,
}

impl WebhookEndpoint {
    /// The endpoint as it is at this time.
    pub fn of(endpoint: &model::WebhookEndpoint, now: Timestamp) -> Self {
        Self {
            id: endpoint.id,
            url: endpoint.url.clone(),
            description: endpoint.description.clone(),
            created_by: endpoint.created_by.clone(),
            types: endpoint.types.clone(),
            hmac: endpoint.hmac,
            status: endpoint.status(),
            disabled_reason: endpoint.disabled_reason,
            public_keys: endpoint.public_keys(now),
            created_at: endpoint.created_at,
            updated_at: endpoint.updated_at,
        }
    }
}

/// A webhook endpoint with its new secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookEndpointWithSecret {
    #[serde(flatten)]
    endpoint: WebhookEndpoint,
    /// The shared secret: `whsec_` and base64. It is shown only here.
    secret: String,
}

impl WebhookEndpointWithSecret {
    /// The endpoint as it is at this time, with its secret.
    pub fn of(endpoint: &model::WebhookEndpoint, keys: &model::WebhookKeys, now: Timestamp) -> Self {
        Self { endpoint: WebhookEndpoint::of(endpoint, now), secret: keys.secret() }
    }
}

/// The delivery of an event to a webhook endpoint.
#[derive(Debug, Serialize, ToSchema)]
pub struct Delivery {
    /// The identifier.
    pub id: Id,
    /// The event, which `webhook-id` names. A ping has an identifier of its own.
    pub event_id: Id,
    /// The event's number in the feed; `null` for a ping.
    pub seq: Option<u64>,
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// The state.
    pub status: DeliveryStatus,
    /// When the next attempt is due; `null` if there is none.
    pub next_attempt_at: Option<Timestamp>,
    /// The latest attempts, at most 20, the oldest first.
    pub attempts: Vec<Attempt>,
    /// When the delivery was created. It is kept for 30 days.
    pub created_at: Timestamp,
}

/// An attempt to deliver an event.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeliveryAttempt)]
pub struct Attempt {
    /// When it began.
    pub at: Timestamp,
    /// The status of the answer; `null` if there was none.
    pub status: Option<u16>,
    /// Why there was no answer.
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The beginning of the answer's body, at most 1 KB. `null` if the attempt succeeded, 72 hours after it, and once a
    /// candidate whom the event is about is erased.
    pub answer: Option<String>,
}

impl Delivery {
    /// The delivery in the API.
    pub fn of(delivery: model::Delivery) -> Self {
        let attempt = |attempt: model::Attempt| {
            let model::Attempt { at, status, error, duration_ms, answer } = attempt;
            Attempt { at, status, error, duration_ms, answer }
        };
        Self {
            id: delivery.id,
            event_id: delivery.event_id,
            seq: delivery.seq,
            kind: delivery.kind,
            status: delivery.status,
            next_attempt_at: delivery.next_attempt_at,
            attempts: delivery.attempts.into_iter().map(attempt).collect(),
            created_at: delivery.created_at,
        }
    }
}
