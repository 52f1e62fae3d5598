//! Webhook endpoints: the requests that deliver events to them, and their end with the access of whoever chose their URLs.

use serde::Serialize;

use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{AuditAction, AuditActorTerm, DisabledReason, Event, Tenant, WebhookEndpoint};
use crate::store::{CommitError, Store, StoreError, Transaction};

/// The maximum number of attempts to change an endpoint. An attempt fails if it changes at the same time.
const ATTEMPTS: usize = 10;

/// The body of a request: the event as in the feed, and the time that Standard Webhooks asks for.
#[derive(Serialize)]
struct Body<'e> {
    #[serde(flatten)]
    event: &'e Event,
    timestamp: Timestamp,
}

/// The candidate whom the event in a body is about, if it is about one.
pub fn candidate_in(body: &str) -> Option<Id> {
    serde_json::from_str::<Event>(body).ok()?.candidate()
}

/// The body of the requests that deliver an event.
pub fn body_of(event: &Event) -> Result<String, StoreError> {
    serde_json::to_string(&Body { event, timestamp: event.at })
        .map_err(|error| StoreError::Internal(format!("an event cannot be serialized: {error}")))
}

/// Disables the endpoints whose URL a key or an application has chosen, except those that are kept.
pub async fn disable_endpoints_of(
    store: &Store,
    tenant: Tenant,
    chooser: AuditActorTerm,
    is_kept: impl Fn(Id) -> bool,
    now: Timestamp,
) -> Result<(), CommitError> {
    for endpoint in store.list_all_webhook_endpoints(tenant).await? {
        if endpoint.is_chosen_by(chooser) && !is_kept(endpoint.id) {
            disable(store, tenant, endpoint, now).await?;
        }
    }
    Ok(())
}

/// Disables an endpoint, unless it is disabled already.
pub(super) async fn disable(
    store: &Store,
    tenant: Tenant,
    endpoint: WebhookEndpoint,
    now: Timestamp,
) -> Result<(), CommitError> {
    change(store, tenant, endpoint, |endpoint| endpoint.disable(DisabledReason::Requested, now)).await
}

/// Changes an endpoint, even if it changes at the same time. Nothing is to do if `change` returns `None`.
pub(super) async fn change(
    store: &Store,
    tenant: Tenant,
    endpoint: WebhookEndpoint,
    change: impl Fn(WebhookEndpoint) -> Option<WebhookEndpoint>,
) -> Result<(), CommitError> {
    let id = endpoint.id;
    let mut current = Some(endpoint);
    for _ in 0..ATTEMPTS {
        let Some(before) = current else { return Ok(()) };
        let Some(after) = change(before.clone()) else { return Ok(()) };
        let mut transaction = Transaction::new(tenant);
        transaction.replace_webhook_endpoint(&before, &after, AuditAction::WebhookEndpointUpdated)?;
        match store.commit(transaction).await {
            Err(CommitError::Stale) => current = store.find_webhook_endpoint(tenant, id).await?,
            result => return result,
        }
    }
    Err(StoreError::Unavailable("a webhook endpoint kept changing".to_owned()).into())
}
