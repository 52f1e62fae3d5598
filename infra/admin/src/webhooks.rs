//! The `webhook` commands: webhook endpoints of organizations, and what became of the latest deliveries.

use std::fmt;

use serde::Serialize;
use shared::clock::Timestamp;
use shared::handlers::responses::webhook::{self, Delivery};
use shared::id::Id;
use shared::model::{AuditAction, DisabledReason, Tenant, WebhookEndpoint};
use shared::store::{Paging, Transaction};

use crate::admin::{Admin, CommandError};
use crate::output::{line, or_dash, table};

/// The number of deliveries that are shown.
const SHOWN: u32 = 20;

/// Webhook endpoints, newest first.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Endpoints(Vec<webhook::WebhookEndpoint>);

/// A webhook endpoint with its state and its latest deliveries.
#[derive(Serialize)]
pub(crate) struct Shown {
    endpoint: webhook::WebhookEndpoint,
    /// The number of the last event of the feed that has become a delivery or is not wanted.
    after: u64,
    /// Since when requests have failed.
    failing_since: Option<Timestamp>,
    deliveries: Vec<Delivery>,
}

/// A webhook endpoint that was enabled or disabled.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Switched(webhook::WebhookEndpoint);

pub(crate) async fn list(admin: &Admin, tenant: Tenant) -> Result<Endpoints, CommandError> {
    let listed = admin.store.list_all_webhook_endpoints(tenant).await?;
    let endpoints = listed.iter().map(|endpoint| webhook::WebhookEndpoint::of(endpoint, admin.now));
    Ok(Endpoints(endpoints.collect()))
}

pub(crate) async fn show(admin: &Admin, tenant: Tenant, id: Id) -> Result<Shown, CommandError> {
    let endpoint = find(admin, tenant, id).await?;
    let progress = admin.store.find_endpoint_progress(tenant, id).await?;
    let progress = progress.ok_or(CommandError::NoSuchWebhook)?;
    let page = Paging { limit: SHOWN, before: None };
    let listed = admin.store.list_deliveries(tenant, id, &page, admin.now).await?;
    Ok(Shown {
        endpoint: webhook::WebhookEndpoint::of(&endpoint, admin.now),
        after: progress.after,
        failing_since: progress.failing_since,
        deliveries: listed.items.into_iter().map(Delivery::of).collect(),
    })
}

/// Stops sending events to an endpoint.
pub(crate) async fn disable(admin: &Admin, tenant: Tenant, id: Id) -> Result<Switched, CommandError> {
    let before = find(admin, tenant, id).await?;
    let Some(after) = before.clone().disable(DisabledReason::Operator, admin.now) else {
        return Ok(Switched(webhook::WebhookEndpoint::of(&before, admin.now)));
    };
    replace(admin, Transaction::new(tenant), &before, &after).await
}

/// Sends events to an endpoint again, from the end of the feed on.
pub(crate) async fn enable(admin: &Admin, tenant: Tenant, id: Id) -> Result<Switched, CommandError> {
    let before = find(admin, tenant, id).await?;
    if before.disabled_reason.is_none() {
        return Ok(Switched(webhook::WebhookEndpoint::of(&before, admin.now)));
    }
    let after = WebhookEndpoint { disabled_reason: None, ..before.clone() }.changed(admin.now);
    let progress = admin.store.find_endpoint_progress(tenant, id).await?;
    let progress = progress.ok_or(CommandError::NoSuchWebhook)?;
    let head = admin.store.get_feed_head(tenant).await?;
    let mut transaction = Transaction::new(tenant);
    transaction.replace_endpoint_progress(&progress, &progress.clone().resume(head.seq))?;
    replace(admin, transaction, &before, &after).await
}

async fn replace(
    admin: &Admin,
    mut transaction: Transaction,
    before: &WebhookEndpoint,
    after: &WebhookEndpoint,
) -> Result<Switched, CommandError> {
    transaction.replace_webhook_endpoint(before, after, AuditAction::WebhookEndpointUpdated)?;
    admin.store.commit(transaction).await.map_err(CommandError::of_commit)?;
    Ok(Switched(webhook::WebhookEndpoint::of(after, admin.now)))
}

async fn find(admin: &Admin, tenant: Tenant, id: Id) -> Result<WebhookEndpoint, CommandError> {
    admin.store.find_webhook_endpoint(tenant, id).await?.ok_or(CommandError::NoSuchWebhook)
}

fn reason(endpoint: &webhook::WebhookEndpoint) -> &'static str {
    endpoint.disabled_reason.map_or("-", DisabledReason::as_str)
}

impl fmt::Display for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "No webhook endpoints in this mode.");
        }
        let rows = self.0.iter().map(|endpoint| {
            let (created, status) = (endpoint.created_at.to_string(), endpoint.status.as_str().to_owned());
            [
                endpoint.id.to_string(),
                created,
                status,
                reason(endpoint).to_owned(),
                line(endpoint.url.as_str()),
            ]
        });
        table(f, ["ID", "CREATED", "STATUS", "REASON", "URL"], rows)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (endpoint, status) = (&self.endpoint, self.endpoint.status.as_str());
        writeln!(f, "{} {} ({status}, {})", endpoint.id, line(endpoint.url.as_str()), reason(endpoint))?;
        writeln!(f, "Position in the feed: {}", self.after)?;
        writeln!(f, "Failing since: {}", or_dash(self.failing_since))?;
        let rows = self.deliveries.iter().map(|delivery| {
            let last = delivery.attempts.last();
            let answer = last.and_then(|attempt| {
                attempt.status.map(|status| status.to_string()).or_else(|| attempt.error.clone())
            });
            let next = or_dash(delivery.next_attempt_at);
            let (id, kind) = (delivery.id.to_string(), delivery.kind.as_str().to_owned());
            [id, kind, delivery.status.as_str().to_owned(), next, line(&answer.unwrap_or_default())]
        });
        table(f, ["DELIVERY", "TYPE", "STATUS", "NEXT ATTEMPT", "LAST ANSWER"], rows)
    }
}

impl fmt::Display for Switched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The webhook endpoint {} is {}.", self.0.id, self.0.status.as_str())
    }
}
