//! Webhook endpoints, their progress and their deliveries.
//!
//! A delivery with a next attempt has one more item, which sorts by the time of the attempt. What is sent again waits in a
//! queue of its own. Answers to failed attempts have items of their own, because they are kept for less time. The progress of the endpoints of all tenants is in a few partitions, so that a job finds what is due.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::item::number;
use super::keys::{self, EXPIRES_AT, Key, WebhookPartition};
use super::list::Range;
use super::recording::{Recorded, names};
use super::{Item, Listed, Paging, Store, StoreError, Transaction, item};
use crate::clock::Timestamp;
use crate::id::Id;
use crate::model::{
    Attempt, AuditAction, AuditTarget, AuditTargetKind, Delivery, DeliveryOrigin, EndpointProgress,
    EventData, EventType, SubjectType, Tenant, WebhookEndpoint,
};

/// The number of items that one query reads.
const PAGE: u32 = 500;

/// The order in which attempts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// New events, and those whose delivery failed.
    New,
    /// Events that are sent again.
    Replayed,
}

impl Queue {
    const fn of(origin: DeliveryOrigin) -> Self {
        match origin {
            DeliveryOrigin::Event | DeliveryOrigin::Ping => Self::New,
            DeliveryOrigin::Replay => Self::Replayed,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::New => "A",
            Self::Replayed => "B",
        }
    }
}

/// The beginning of what a webhook endpoint answered, and the candidate whom the event is about.
#[derive(Serialize, Deserialize)]
pub(super) struct Answer {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<Id>,
}

/// An attempt that is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueAttempt {
    /// The delivery.
    pub id: Id,
    /// When it is due.
    pub due: Timestamp,
}

impl Transaction {
    /// Inserts an endpoint. Fails if the tenant has the maximum number of them.
    pub fn insert_webhook_endpoint(
        &mut self,
        endpoint: &WebhookEndpoint,
        progress: &EndpointProgress,
    ) -> Result<(), StoreError> {
        self.insert(item::write(endpoint, keys::webhook_endpoint(self.tenant, endpoint.id), None)?);
        self.record([recorded(EventType::WebhookEndpointCreated, endpoint)]);
        self.insert(item::write(progress, keys::endpoint_progress(self.tenant, endpoint.id), None)?);
        self.count_webhook_endpoints(1, "attribute_not_exists(#count) OR #count < :max");
        self.audit_endpoint(AuditAction::WebhookEndpointCreated, endpoint);
        Ok(())
    }

    /// Replaces an endpoint. `action` says what was done, for the audit log.
    pub fn replace_webhook_endpoint(
        &mut self,
        before: &WebhookEndpoint,
        after: &WebhookEndpoint,
        action: AuditAction,
    ) -> Result<(), StoreError> {
        self.reseal_webhook_endpoint(before, after)?;
        self.record(changes(before, after));
        self.audit_endpoint(action, after);
        Ok(())
    }

    /// Replaces an endpoint whose keys were encrypted again. For its organization, nothing has changed.
    pub fn reseal_webhook_endpoint(
        &mut self,
        before: &WebhookEndpoint,
        after: &WebhookEndpoint,
    ) -> Result<(), StoreError> {
        let key = || keys::webhook_endpoint(self.tenant, before.id);
        let (old, new) = (item::write(before, key(), None)?, item::write(after, key(), None)?);
        self.replace(&old, &new)
    }

    /// Deletes an endpoint. Its deliveries expire.
    pub fn delete_webhook_endpoint(&mut self, endpoint: &WebhookEndpoint) {
        self.delete_version(keys::webhook_endpoint(self.tenant, endpoint.id), endpoint.version);
        let deleted = WebhookEndpoint { version: endpoint.version + 1, ..endpoint.clone() };
        self.record([recorded(EventType::WebhookEndpointDeleted, &deleted)]);
        self.delete(keys::endpoint_progress(self.tenant, endpoint.id));
        // The condition always holds: DynamoDB refuses a value that no expression uses.
        self.count_webhook_endpoints(-1, "#count <= :max");
        self.audit_endpoint(AuditAction::WebhookEndpointDeleted, endpoint);
    }

    fn count_webhook_endpoints(&mut self, by: i64, condition: &'static str) {
        self.update(
            keys::webhook_endpoint_count(self.tenant),
            "ADD #count :by",
            condition,
            vec![("#count", "count".to_owned())],
            vec![(":by", number(by)), (":max", number(WebhookEndpoint::MAX))],
        );
    }

    fn audit_endpoint(&mut self, action: AuditAction, endpoint: &WebhookEndpoint) {
        self.audit(action, Some(AuditTarget::of(AuditTargetKind::WebhookEndpoint, endpoint.id)));
    }

    /// Replaces the progress of an endpoint.
    pub fn replace_endpoint_progress(
        &mut self,
        before: &EndpointProgress,
        after: &EndpointProgress,
    ) -> Result<(), StoreError> {
        let key = || keys::endpoint_progress(self.tenant, before.endpoint);
        let (old, new) = (item::write(before, key(), None)?, item::write(after, key(), None)?);
        self.replace(&old, &new)
    }

    /// Inserts a delivery and its first attempt.
    pub fn insert_delivery(&mut self, delivery: &Delivery) -> Result<(), StoreError> {
        self.insert(self.delivery_item(delivery)?);
        self.put_attempt(delivery)
    }

    /// Replaces a delivery, and the planned attempt with the next one.
    pub fn replace_delivery(&mut self, before: &Delivery, after: &Delivery) -> Result<(), StoreError> {
        self.replace(&self.delivery_item(before)?, &self.delivery_item(after)?)?;
        if before.next_attempt_at == after.next_attempt_at {
            return Ok(());
        }
        if let Some(due) = before.next_attempt_at {
            self.delete(self.attempt_key(before, due));
        }
        self.put_attempt(after)
    }

    /// Keeps the answer to an attempt, if answers to such attempts are kept. `candidate` is whom the event is about. Fails if
    /// this candidate was erased.
    pub fn put_answer(
        &mut self,
        delivery: &Delivery,
        attempt: &Attempt,
        candidate: Option<Id>,
    ) -> Result<(), StoreError> {
        let Some((text, until)) = attempt.answer.clone().zip(attempt.answer_until()) else { return Ok(()) };
        let key = keys::delivery_answer(self.tenant, delivery.endpoint, delivery.id, attempt.at);
        let mut item = item::write(&Answer { text, candidate }, key, None)?;
        item.insert(EXPIRES_AT.to_owned(), number(until.as_second()));
        self.put(item)?;
        match candidate {
            Some(candidate) => self.put_answer_trace(candidate, delivery, attempt.at, until),
            None => Ok(()),
        }
    }

    /// Deletes an attempt whose delivery has expired.
    pub fn delete_attempt(&mut self, endpoint: Id, queue: Queue, attempt: DueAttempt) {
        self.delete(keys::due_delivery(self.tenant, endpoint, queue.name(), attempt.due, attempt.id));
    }

    fn put_attempt(&mut self, delivery: &Delivery) -> Result<(), StoreError> {
        let Some(due) = delivery.next_attempt_at else { return Ok(()) };
        let attempt = DueAttempt { id: delivery.id, due };
        let mut item = item::write(&attempt, self.attempt_key(delivery, due), None)?;
        item.insert(EXPIRES_AT.to_owned(), number(delivery.expires_at().as_second()));
        self.put(item)
    }

    fn attempt_key(&self, delivery: &Delivery, due: Timestamp) -> Key {
        let queue = Queue::of(delivery.origin).name();
        keys::due_delivery(self.tenant, delivery.endpoint, queue, due, delivery.id)
    }

    fn delivery_item(&self, delivery: &Delivery) -> Result<Item, StoreError> {
        let key = keys::delivery(self.tenant, delivery.endpoint, delivery.id);
        let mut item = item::write(delivery, key, None)?;
        item.insert(EXPIRES_AT.to_owned(), number(delivery.expires_at().as_second()));
        Ok(item)
    }
}

fn recorded(kind: EventType, endpoint: &WebhookEndpoint) -> Recorded {
    Recorded::versioned(kind, SubjectType::WebhookEndpoint, endpoint.id, endpoint.version)
}

/// What the change feed says about a change of an endpoint.
fn changes(before: &WebhookEndpoint, after: &WebhookEndpoint) -> Vec<Recorded> {
    let fields = names([
        ("url", before.url != after.url),
        ("description", before.description != after.description),
        ("types", before.types != after.types),
        ("hmac", before.hmac != after.hmac),
    ]);
    let mut changes = Vec::new();
    if !fields.is_empty() {
        changes.push(recorded(EventType::WebhookEndpointUpdated, after).changing(fields));
    }
    if before.keys.public_key != after.keys.public_key {
        changes.push(recorded(EventType::WebhookEndpointSecretRotated, after));
    }
    match (before.disabled_reason, after.disabled_reason) {
        (None, Some(reason)) => {
            let data = EventData::new().with("reason", reason.as_str());
            changes.push(recorded(EventType::WebhookEndpointDisabled, after).with(data));
        }
        (Some(_), None) => changes.push(recorded(EventType::WebhookEndpointEnabled, after)),
        _ => {}
    }
    changes
}

impl Store {
    /// A webhook endpoint.
    pub async fn find_webhook_endpoint(
        &self,
        tenant: Tenant,
        id: Id,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        self.read(keys::webhook_endpoint(tenant, id)).await?.map(item::read).transpose()
    }

    /// A page of the tenant's webhook endpoints, newest first.
    pub async fn list_webhook_endpoints(
        &self,
        tenant: Tenant,
        page: &Paging,
    ) -> Result<Listed<WebhookEndpoint>, StoreError> {
        self.read_page(&keys::webhook_endpoints(tenant), page).await
    }

    /// All webhook endpoints of the tenant, newest first.
    pub async fn list_all_webhook_endpoints(
        &self,
        tenant: Tenant,
    ) -> Result<Vec<WebhookEndpoint>, StoreError> {
        // A page has every endpoint of a tenant.
        let page = Paging { limit: 100, before: None };
        Ok(self.list_webhook_endpoints(tenant, &page).await?.items)
    }

    /// The progress of an endpoint.
    pub async fn find_endpoint_progress(
        &self,
        tenant: Tenant,
        endpoint: Id,
    ) -> Result<Option<EndpointProgress>, StoreError> {
        self.read(keys::endpoint_progress(tenant, endpoint)).await?.map(item::read).transpose()
    }

    /// The progress of all endpoints of a tenant.
    pub async fn list_progress_of(&self, tenant: Tenant) -> Result<Vec<EndpointProgress>, StoreError> {
        let (partition, prefix) = keys::progress_of_all(tenant);
        let range = Range::Prefix { prefix: &prefix, after: None };
        // A tenant has at most 20 endpoints, so one query finds all.
        let (items, _) = self.query(&partition, PAGE, range).await?;
        Ok(items.into_iter().filter_map(item::read_listed).collect())
    }

    /// The progress of all endpoints in a partition.
    pub async fn list_progress(
        &self,
        partition: WebhookPartition,
    ) -> Result<Vec<EndpointProgress>, StoreError> {
        let (mut found, mut page) = (Vec::new(), Paging { limit: PAGE, before: None });
        loop {
            let listed = self.read_page(&partition.progress(), &page).await?;
            found.extend(listed.items);
            page.before = listed.next;
            if page.before.is_none() {
                return Ok(found);
            }
        }
    }

    /// A delivery that is still kept.
    pub async fn find_delivery(
        &self,
        tenant: Tenant,
        endpoint: Id,
        id: Id,
        now: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        let found: Option<Delivery> =
            self.read(keys::delivery(tenant, endpoint, id)).await?.map(item::read).transpose()?;
        Ok(found.filter(|delivery| now < delivery.expires_at()))
    }

    /// A page of the deliveries to an endpoint, newest first. DynamoDB deletes expired ones late, so a page may be short.
    pub async fn list_deliveries(
        &self,
        tenant: Tenant,
        endpoint: Id,
        page: &Paging,
        now: Timestamp,
    ) -> Result<Listed<Delivery>, StoreError> {
        let mut listed: Listed<Delivery> = self.read_page(&keys::deliveries(tenant, endpoint), page).await?;
        listed.items.retain(|delivery| now < delivery.expires_at());
        self.read_answers(tenant, endpoint, &mut listed.items, now).await?;
        Ok(listed)
    }

    /// Adds the answers that are kept to deliveries to an endpoint.
    pub async fn read_answers(
        &self,
        tenant: Tenant,
        endpoint: Id,
        deliveries: &mut [Delivery],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_kept = |attempt: &Attempt| attempt.answer_until().is_some_and(|until| now < until);
        let answered = || {
            let answered = deliveries.iter().filter(|delivery| delivery.attempts.iter().any(is_kept));
            answered.map(|delivery| delivery.id)
        };
        let Some(ends) = answered().min().zip(answered().max()) else { return Ok(()) };
        let stored = self.read_partition(&keys::answers(tenant, endpoint, ends.into()), usize::MAX).await?;
        let mut stored: HashMap<String, Item> = stored.into_iter().collect();
        for delivery in deliveries {
            let id = delivery.id;
            for attempt in delivery.attempts.iter_mut().filter(|attempt| is_kept(attempt)) {
                let item = stored.remove(&keys::delivery_answer(tenant, endpoint, id, attempt.at).sk);
                attempt.answer = item.and_then(item::read_listed).map(|answer: Answer| answer.text);
            }
        }
        Ok(())
    }

    /// The first planned attempts in a queue of an endpoint, the earliest first, also those that are not due yet.
    pub async fn list_attempts(
        &self,
        tenant: Tenant,
        endpoint: Id,
        queue: Queue,
        limit: u32,
    ) -> Result<Vec<DueAttempt>, StoreError> {
        let prefix = format!("{}#", queue.name());
        let range = Range::Prefix { prefix: &prefix, after: None };
        let (items, _) = self.query(&keys::due_deliveries(tenant, endpoint), limit, range).await?;
        Ok(items.into_iter().filter_map(item::read_listed).collect())
    }
}
