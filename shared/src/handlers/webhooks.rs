//! Webhook endpoints: adding, changing and deleting them, and repeating deliveries.

use std::collections::HashSet;

use serde::Deserialize;

use super::responses::webhook::{Delivery, WebhookEndpoint, WebhookEndpointWithSecret};
use crate::http::{
    Accepted, ApiRequest, Change, Collection, Created, Error, Listing, Reply, Unversioned, input,
};
use crate::id::Id;
use crate::model::{
    self, ActorKind, AuditAction, AuditActor, DeliveryOrigin, DisabledReason, EndpointDescription,
    EndpointProgress, EndpointStatus, EndpointUrl, Event, EventActor, EventData, EventType, FeedPosition,
    NoticeEvent, StoredKeys, Subject, SubjectType, WebhookKeys,
};
use crate::secret::Secret;
use crate::services::webhooks::body_of;
use crate::store::{StoreError, Transaction};

input! {
    /// A webhook endpoint to add.
    pub struct NewWebhookEndpoint {
        /// The URL: https with a public host name, on port 443.
        url: required EndpointUrl,
        /// A description.
        description: optional EndpointDescription,
        /// The types of the events to send. By default, all are sent.
        types: list EventType[EventType::ALL.len()],
        /// Whether requests also have a signature with the shared secret. The default is true.
        hmac: optional bool = true,
    }

    /// Changes to a webhook endpoint. Fields that are not sent keep their values.
    pub struct WebhookEndpointPatch {
        /// The URL.
        url: replacement EndpointUrl,
        /// The description.
        description: change EndpointDescription,
        /// The types of the events to send. `null` or an empty array means all.
        types: list EventType[EventType::ALL.len()],
        /// Whether requests also have a signature with the shared secret.
        hmac: replacement bool,
        /// Whether events are sent. An endpoint that is enabled again gets only later events; a replay brings the others.
        status: replacement EndpointStatus,
    }
}

/// The types of a request after the change, each of them once.
fn chosen(types: Change<Vec<EventType>>, before: Option<Vec<EventType>>) -> Vec<EventType> {
    let mut types = types.apply(before).unwrap_or_default();
    let mut seen = HashSet::new();
    types.retain(|kind| seen.insert(*kind));
    types
}

input! {
    /// A position in the feed.
    pub struct ReplayFrom {
        /// The `position` of the feed after which events are sent again, or the `seq` of an event; `0` for all.
        after: required FeedPosition,
    }
}

/// Lists the webhook endpoints, newest first.
pub async fn list(request: ApiRequest<Listing<()>>) -> Result<Reply<Collection<WebhookEndpoint>>, Error> {
    let ((), page) = request.listing()?;
    let listed = request.context.store().list_webhook_endpoints(request.tenant(), &page).await?;
    let now = request.context.now();
    request.reply(listed, |endpoint| WebhookEndpoint::of(&endpoint, now))
}

/// Returns a webhook endpoint.
pub async fn show(request: ApiRequest<()>) -> Result<Reply<WebhookEndpoint>, Error> {
    let endpoint = find(&request).await?;
    request.input()?;
    Reply::resource(&WebhookEndpoint::of(&endpoint, request.context.now()))
}

/// Adds a webhook endpoint, which gets the events from now on. Only this response and those of rotations have a secret.
///
/// # Errors
///
/// - `invalid_transition`: the organization has 20 endpoints.
pub async fn create(
    request: ApiRequest<NewWebhookEndpoint>,
) -> Result<Reply<Created<WebhookEndpointWithSecret>>, Error> {
    let NewWebhookEndpoint { url, description, types, hmac } = request.input()?;
    let (store, tenant, now) = (request.context.store(), request.tenant(), request.context.now());
    let (checked, existing, head, caller) = tokio::join!(
        check(&request, &url),
        store.list_all_webhook_endpoints(tenant),
        store.get_feed_head(tenant),
        caller(&request),
    );
    checked?;
    if existing?.len() as u64 >= model::WebhookEndpoint::MAX {
        let sentence =
            format!("An organization has at most {} webhook endpoints", model::WebhookEndpoint::MAX);
        return Err(Error::InvalidTransition(sentence));
    }
    let head = head?;
    let id = request.context.ids().next();
    let keys = WebhookKeys::generate(request.context.random());
    let endpoint = model::WebhookEndpoint {
        id,
        url,
        description,
        created_by: Some(request.actor().clone()),
        url_chosen_by: Some(caller?),
        types: chosen(types, None),
        hmac,
        disabled_reason: None,
        keys: encrypt(&request, &keys, id)?,
        previous_keys: None,
        created_at: now,
        updated_at: now,
        version: 1,
    };
    let mut transaction = request.transaction();
    let progress = EndpointProgress::beginning_at(tenant, id, head.seq);
    transaction.insert_webhook_endpoint(&endpoint, &progress)?;
    tell_owners(&request, &mut transaction, &endpoint.url, true)?;
    let reply = reply_with_secret(&request, &endpoint, &keys)?;
    request.commit(transaction, reply.created(request.address("webhook_endpoints", id))).await
}

/// Changes a webhook endpoint, enables or disables it.
pub async fn update(request: ApiRequest<WebhookEndpointPatch>) -> Result<Reply<WebhookEndpoint>, Error> {
    let before = find(&request).await?;
    let patch = request.input()?;
    let now = request.context.now();
    request.check_precondition(&WebhookEndpoint::of(&before, now))?;
    if let Some(url) = &patch.url {
        check(&request, url).await?;
    }
    let disabled_reason = match patch.status {
        None => before.disabled_reason,
        Some(EndpointStatus::Enabled) => None,
        Some(EndpointStatus::Disabled) => before.disabled_reason.or(Some(DisabledReason::Requested)),
    };
    let (url, mut url_chosen_by) = (patch.url.unwrap_or_else(|| before.url.clone()), before.url_chosen_by);
    let is_moved = url != before.url;
    if is_moved {
        url_chosen_by = Some(caller(&request).await?);
    }
    let after = model::WebhookEndpoint {
        url,
        url_chosen_by,
        description: patch.description.apply(before.description.clone()),
        types: chosen(patch.types, Some(before.types.clone())),
        hmac: patch.hmac.unwrap_or(before.hmac),
        disabled_reason,
        ..before.clone()
    };
    let mut transaction = request.transaction();
    if after == before {
        return request.commit(transaction, Reply::resource(&WebhookEndpoint::of(&before, now))?).await;
    }
    let after = after.changed(now);
    transaction.replace_webhook_endpoint(&before, &after, AuditAction::WebhookEndpointUpdated)?;
    if is_moved {
        tell_owners(&request, &mut transaction, &after.url, false)?;
    }
    if before.disabled_reason.is_some() && after.disabled_reason.is_none() {
        let progress = find_progress(&request, before.id).await?;
        let head = request.context.store().get_feed_head(request.tenant()).await?;
        transaction.replace_endpoint_progress(&progress, &progress.clone().resume(head.seq))?;
    }
    request.commit(transaction, Reply::resource(&WebhookEndpoint::of(&after, now))?).await
}

/// Deletes a webhook endpoint, and returns it.
pub async fn delete(request: ApiRequest<()>) -> Result<Reply<Unversioned<WebhookEndpoint>>, Error> {
    let endpoint = find(&request).await?;
    request.input()?;
    let mut transaction = request.transaction();
    transaction.delete_webhook_endpoint(&endpoint);
    let reply = Reply::ok(&WebhookEndpoint::of(&endpoint, request.context.now()))?.unversioned();
    request.commit(transaction, reply).await
}

/// Replaces the secret and the key pair of a webhook endpoint. The previous ones also sign for 24 hours.
///
/// # Errors
///
/// - `invalid_transition`: the previous ones still sign.
pub async fn rotate_secret(
    request: ApiRequest<()>,
) -> Result<Reply<Unversioned<WebhookEndpointWithSecret>>, Error> {
    let before = find(&request).await?;
    request.input()?;
    let keys = WebhookKeys::generate(request.context.random());
    let stored = encrypt(&request, &keys, before.id)?;
    let rotated = before.clone().rotate(stored, request.context.now());
    let after =
        rotated.map_err(|error| Error::InvalidTransition(format!("A third pair is too early: {error}")))?;
    let mut transaction = request.transaction();
    transaction.replace_webhook_endpoint(&before, &after, AuditAction::WebhookEndpointSecretRotated)?;
    let shown = WebhookEndpointWithSecret::of(&after, &keys, request.context.now());
    let reply = Reply::ok(&shown)?.confidential().unversioned();
    request.commit(transaction, reply).await
}

/// Lists the deliveries to a webhook endpoint, newest first.
pub async fn list_deliveries(request: ApiRequest<Listing<()>>) -> Result<Reply<Collection<Delivery>>, Error> {
    let page = match request.listing() {
        Ok(((), page)) => page,
        Err(invalid) => return Err(find(&request).await.err().unwrap_or(invalid)),
    };
    let (store, id, now) = (request.context.store(), request.id()?, request.context.now());
    let (endpoint, listed) =
        tokio::join!(find(&request), store.list_deliveries(request.tenant(), id, &page, now));
    endpoint?;
    request.reply(listed?, Delivery::of)
}

/// Sends a test to a webhook endpoint. It is not in the feed, and is tried once.
///
/// # Errors
///
/// - `invalid_transition`: the endpoint is disabled.
pub async fn ping(request: ApiRequest<()>) -> Result<Reply<Accepted<Delivery>>, Error> {
    let endpoint = find(&request).await?;
    request.input()?;
    require_enabled(&endpoint)?;
    let now = request.context.now();
    let event = Event {
        id: request.context.ids().next(),
        seq: None,
        kind: EventType::WebhookEndpointPinged,
        at: now,
        mode: request.tenant().mode,
        subject: Subject {
            kind: SubjectType::WebhookEndpoint,
            id: Some(endpoint.id),
            version: endpoint.version,
        },
        actor: EventActor::from(AuditActor::of(&request.author().actor, None)),
        changed: Vec::new(),
        data: EventData::default(),
        imported: false,
        quiet: false,
    };
    let delivery = model::Delivery::of(
        request.context.ids().next(),
        endpoint.id,
        &event,
        body_of(&event)?,
        DeliveryOrigin::Ping,
        now,
    );
    let progress = find_progress(&request, endpoint.id).await?;
    let mut transaction = request.transaction();
    transaction.insert_delivery(&delivery)?;
    transaction.replace_endpoint_progress(&progress, &progress.clone().wake(now))?;
    let reply = Reply::ok(&Delivery::of(delivery))?.accepted();
    request.commit(transaction, reply).await
}

/// Delivers an event again: the same event with the same identifier, whatever became of the delivery.
///
/// # Errors
///
/// - `invalid_transition`: the endpoint is disabled.
pub async fn redeliver(request: ApiRequest<()>) -> Result<Reply<Accepted<Delivery>>, Error> {
    let endpoint = find(&request).await?;
    let now = request.context.now();
    let id: Id = request.context.path_parameter("delivery_id").parse().map_err(|_| Error::NotFound)?;
    let found = request.context.store().find_delivery(request.tenant(), endpoint.id, id, now).await?;
    let before = found.ok_or(Error::NotFound)?;
    request.input()?;
    require_enabled(&endpoint)?;
    let mut after = before.clone().send_again(now);
    let progress = find_progress(&request, endpoint.id).await?;
    let mut transaction = request.transaction();
    transaction.replace_delivery(&before, &after)?;
    transaction.replace_endpoint_progress(&progress, &progress.clone().wake(now))?;
    let (store, shown) = (request.context.store(), std::slice::from_mut(&mut after));
    store.read_answers(request.tenant(), endpoint.id, shown, now).await?;
    let reply = Reply::ok(&Delivery::of(after))?.accepted();
    request.commit(transaction, reply).await
}

/// Delivers all events after a position in the feed again, when there is nothing new to deliver.
///
/// # Errors
///
/// - `invalid_transition`: the endpoint is disabled.
/// - `cursor_expired`: the position is older than 30 days, or beyond the end of the feed.
pub async fn replay(request: ApiRequest<ReplayFrom>) -> Result<Reply<Accepted<WebhookEndpoint>>, Error> {
    let endpoint = find(&request).await?;
    let ReplayFrom { after: FeedPosition(after) } = request.input()?;
    require_enabled(&endpoint)?;
    let (store, tenant, now) = (request.context.store(), request.tenant(), request.context.now());
    let head = store.get_feed_head(tenant).await?;
    if after > head.seq || after < store.find_feed_start(tenant, &head, now).await? {
        return Err(Error::CursorExpired);
    }
    let progress = find_progress(&request, endpoint.id).await?;
    let mut transaction = request.transaction();
    transaction.replace_endpoint_progress(&progress, &progress.clone().replay(after, now))?;
    let reply = Reply::ok(&WebhookEndpoint::of(&endpoint, now))?.accepted();
    request.commit(transaction, reply).await
}

/// The secret in a reply of [`create`] or [`rotate_secret`], which may be a repeated one.
pub fn secret_in<O>(reply: &Reply<O>) -> Result<Secret, Error> {
    let shown: SecretOnly = serde_json::from_str(reply.body())
        .map_err(|error| StoreError::Internal(format!("a reply has no secret: {error}")))?;
    Ok(Secret::new(shown.secret))
}

/// The part of a reply that is its secret.
#[derive(Deserialize)]
struct SecretOnly {
    secret: String,
}

async fn find<I>(request: &ApiRequest<I>) -> Result<model::WebhookEndpoint, Error> {
    let found = request.context.store().find_webhook_endpoint(request.tenant(), request.id()?).await?;
    found.ok_or(Error::NotFound)
}

/// Who makes the request, with the member behind a key or an application.
async fn caller<I>(request: &ApiRequest<I>) -> Result<AuditActor, Error> {
    let actor = request.actor();
    let member = match (actor.kind, actor.id) {
        (ActorKind::ApiKey, Some(id)) => {
            let key = request.context.store().find_api_key(request.tenant(), id).await?;
            key.and_then(|key| key.created_by)
        }
        _ => request.member(),
    };
    Ok(AuditActor::of(actor, member))
}

/// Adds a notice for the owners that an endpoint is new, or has another URL.
fn tell_owners<I>(
    request: &ApiRequest<I>,
    transaction: &mut Transaction,
    url: &EndpointUrl,
    is_new: bool,
) -> Result<(), StoreError> {
    let (url, mode, by) = (url.clone(), request.tenant().mode, request.actor().clone());
    let event = NoticeEvent::WebhookUrlChosen { url, is_new, mode, by };
    transaction.insert_owners_notice(request.context.notice(event))
}

async fn find_progress<I>(request: &ApiRequest<I>, endpoint: Id) -> Result<EndpointProgress, Error> {
    let found = request.context.store().find_endpoint_progress(request.tenant(), endpoint).await?;
    found.ok_or(Error::NotFound)
}

fn require_enabled(endpoint: &model::WebhookEndpoint) -> Result<(), Error> {
    match endpoint.status() {
        EndpointStatus::Enabled => Ok(()),
        EndpointStatus::Disabled => {
            Err(Error::InvalidTransition("The webhook endpoint is disabled; enable it first".to_owned()))
        }
    }
}

async fn check<I>(request: &ApiRequest<I>, url: &EndpointUrl) -> Result<(), Error> {
    let allows_loopback = request.context.providers().await.webhook_reach().allows_loopback();
    url.check(request.context.base_url(), allows_loopback)
        .map_err(|problem| Error::Validation(vec![format!("url {problem}")]))
}

fn encrypt<I>(request: &ApiRequest<I>, keys: &WebhookKeys, endpoint: Id) -> Result<StoredKeys, Error> {
    let missing = || StoreError::Internal("SEALING_KEYS is not set".to_owned());
    let sealing = request.context.sealing_keys().ok_or_else(missing)?;
    StoredKeys::encrypt(keys, request.tenant(), endpoint, sealing, request.context.random())
        .map_err(|error| StoreError::Internal(format!("keys cannot be encrypted: {error}")).into())
}

/// The reply with a secret. Its receipt is encrypted.
fn reply_with_secret<I>(
    request: &ApiRequest<I>,
    endpoint: &model::WebhookEndpoint,
    keys: &WebhookKeys,
) -> Result<Reply<WebhookEndpointWithSecret>, Error> {
    let now = request.context.now();
    let shown = WebhookEndpointWithSecret::of(endpoint, keys, now);
    Ok(Reply::resource_as(&shown, &WebhookEndpoint::of(endpoint, now))?.confidential())
}
