//! The voice webhook: voice providers send their callbacks here. The function verifies the signature over the raw bytes
//! before it parses the body.
//!
//! Callbacks may arrive twice, late or in any order, because a screen that has ended no longer changes. Every callback
//! with a valid signature gets the same response, so the response does not reveal which screens exist.

use serde::Serialize;
use shared::http::{
    Access, Error, Payload, PublicRequest, Reply, ReplyFormat, RequestContext, Row, Unversioned,
};
use shared::model::{AuditActor, CallState, ScreenRecord, Tenant, VoiceProvider};
use shared::providers::voice::{CallEvent, Callback, CallbackBody, VoicePort};
use shared::services::screening::{self, Reference};
use shared::store::{CommitError, MaybeErased, Store, Transaction};
use utoipa::ToSchema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![R::open("POST /webhooks/voice/{provider}", Access::Signed, ReplyFormat::Api, receive)]
}

/// The maximum size of a callback. The transcript of a larger one might not fit into one transaction.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// The headers and the body of a callback.
pub enum SignedCallback {}

impl Payload for SignedCallback {
    const MEDIA: Option<&'static str> = Some("application/json");
    const PARAMETERS: &'static [&'static str] = &["X-Timestamp"];
    type Body = CallbackBody;
}

/// The response to a callback: an empty object.
#[derive(Debug, Serialize, ToSchema)]
pub struct Received {}

/// Receives a voice provider's callback. The response does not depend on whether the screen exists.
///
/// # Errors
///
/// - `bad_request`: the body is not a callback.
/// - `unauthorized`: the signature is invalid, or its timestamp is more than five minutes off.
/// - `not_found`: this service has no such voice provider.
/// - `payload_too_large`: the body is over 3 MB.
async fn receive(request: PublicRequest<SignedCallback>) -> Result<Reply<Unversioned<Received>>, Error> {
    let context = &request.context;
    let voice = voice_provider(context)?;
    if !voice.verify(&|name| context.header(name), context.body(), context.now()) {
        return Err(Error::BadSignature);
    }
    context.identify(AuditActor::system());
    if context.body().len() > MAX_BODY {
        return Err(Error::PayloadTooLarge(MAX_BODY));
    }
    let callback = voice.read_callback(context.body());
    let callback =
        callback.ok_or_else(|| Error::BadRequest("The request body is not a callback".to_owned()))?;
    let provider = voice.facts().provider;
    if let Ok(reference) = callback.reference.parse() {
        apply(context, provider, reference, callback).await?;
    } else {
        tracing::warn!(provider = provider.as_str(), "a callback has no valid reference");
    }
    Ok(Reply::ok(&Received {})?.unversioned())
}

/// The voice provider named in the path.
fn voice_provider(context: &RequestContext) -> Result<Box<dyn VoicePort + '_>, Error> {
    let provider = context.path().rsplit('/').next().and_then(|name| name.parse().ok());
    provider.and_then(|provider| context.providers().voice_provider(provider)).ok_or(Error::NotFound)
}

/// Applies a callback to its screen, if the screen exists and belongs to the provider. A screen that has ended no longer
/// changes.
async fn apply(
    context: &RequestContext,
    provider: VoiceProvider,
    reference: Reference,
    callback: Callback,
) -> Result<(), CommitError> {
    let (store, now, ids, tenant) = (context.store(), context.now(), context.ids(), reference.tenant);
    let found = store.find_screen(tenant, reference.screen).await?;
    let Some(before) = found.filter(|record| record.provider == provider) else {
        tracing::warn!(provider = provider.as_str(), "a callback matches no screen of its provider");
        return Ok(());
    };
    let mut record = before.clone();
    let is_placed = matches!(before.dialing, CallState::Placed(_));
    let call = callback.call_id.filter(|_| !is_placed).map(CallState::Placed);
    if before.screen.status.is_end() {
        // The callback contains the id of the call, so a task can cancel it.
        let Some(call) = call.filter(|_| before.awaits_call()) else { return Ok(()) };
        return replace(store, tenant, &before, &record.follow_call(call, Some(now))).await;
    }
    let found = store.find_candidate(tenant, before.screen.candidate_id).await?;
    let Some(candidate) = found.and_then(MaybeErased::present) else {
        // The candidate was erased. The callback is ignored, but the call must be erased at the provider.
        let Some(call) = call else { return Ok(()) };
        return replace(store, tenant, &before, &record.follow_call(call, before.task_due)).await;
    };
    if let (Some(call), Some(due)) = (call, before.task_due) {
        record = record.dial(call, None, due, now);
    }
    record = match callback.event {
        CallEvent::Ended(report) if screening::awaits_analysis(&report) && before.transcript_parts > 0 => {
            // An earlier callback delivered the transcript.
            return Ok(());
        }
        CallEvent::Ended(report)
            if screening::awaits_analysis(&report) && matches!(record.dialing, CallState::Placed(_)) =>
        {
            return screening::store_transcript(store, tenant, &before, record, &candidate, &report, now)
                .await;
        }
        CallEvent::Ended(report) => {
            return screening::end(store, tenant, &before, report, now, ids).await;
        }
        CallEvent::InProgress => record.begin(now),
        CallEvent::Other => record,
    };
    if record == before { Ok(()) } else { replace(store, tenant, &before, &record).await }
}

/// Stores the changed record of a screen.
async fn replace(
    store: &Store,
    tenant: Tenant,
    before: &ScreenRecord,
    after: &ScreenRecord,
) -> Result<(), CommitError> {
    let mut transaction = Transaction::new(tenant);
    transaction.replace_screen(before, after)?;
    store.commit(transaction).await
}
