//! The voice webhook: voice providers send their callbacks here. The function verifies the signature over the raw bytes
//! before it parses the body.
//!
//! Callbacks may arrive twice, late or in any order, because a screen that has ended no longer changes. Every callback
//! with a valid signature gets the same response, so the response does not reveal which screens exist.

use serde::Serialize;
use shared::http::{
    Access, Error, Payload, PublicRequest, Reply, ReplyFormat, RequestContext, Row, Unversioned,
};
use shared::model::{AuditActor, CallState, VoiceProvider};
use shared::providers::voice::{CallEvent, Callback, CallbackBody, VoicePort};
use shared::services::screening::{self, Reference};
use shared::store::{MaybeErased, Transaction};
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

/// Applies a callback to its screen, if the screen exists, belongs to the provider and has not ended, and the candidate
/// was not erased.
async fn apply(
    context: &RequestContext,
    provider: VoiceProvider,
    reference: Reference,
    callback: Callback,
) -> Result<(), Error> {
    let found = context.store().find_screen(reference.tenant, reference.screen).await?;
    let Some(before) = found.filter(|record| record.provider == provider) else {
        tracing::warn!(provider = provider.as_str(), "a callback matches no screen of its provider");
        return Ok(());
    };
    let (tenant, store, now) = (reference.tenant, context.store(), context.now());
    let mut record = before.clone();
    if before.screen.status.is_end() {
        let Some(call_id) = callback.call_id.filter(|_| before.awaits_call()) else { return Ok(()) };
        // The callback contains the id of the call, so a task can cancel it.
        record = record.follow_call(CallState::Placed(call_id), Some(now));
        let mut transaction = Transaction::new(tenant);
        transaction.replace_screen(&before, &record)?;
        return Ok(store.commit(transaction).await?);
    }
    let new_call = callback.call_id.filter(|_| !matches!(before.dialing, CallState::Placed(_)));
    let candidate = store.find_candidate(tenant, before.screen.candidate_id).await?;
    let Some(candidate) = candidate.and_then(MaybeErased::present) else {
        // The candidate was erased. The callback is ignored, but the call must be erased at the provider.
        let Some(call_id) = new_call else { return Ok(()) };
        let due = record.task_due;
        record = record.follow_call(CallState::Placed(call_id), due);
        let mut transaction = Transaction::new(tenant);
        transaction.replace_screen(&before, &record)?;
        return Ok(store.commit(transaction).await?);
    };
    if let (Some(call_id), Some(due)) = (new_call, record.task_due) {
        record = record.dial(CallState::Placed(call_id), None, due, now);
    }
    match callback.event {
        // An earlier callback delivered the transcript.
        CallEvent::Ended(report) if screening::awaits_analysis(&report) && before.transcript_parts > 0 => {
            return Ok(());
        }
        CallEvent::Ended(report)
            if screening::awaits_analysis(&report) && matches!(record.dialing, CallState::Placed(_)) =>
        {
            let stored =
                screening::store_transcript(store, tenant, &before, record, &candidate, &report, now);
            return Ok(stored.await?);
        }
        CallEvent::Ended(report) => {
            return Ok(screening::end(store, tenant, &before, report, now, context.ids()).await?);
        }
        CallEvent::InProgress => record = record.begin(now),
        CallEvent::Other => {}
    }
    if record == before {
        return Ok(());
    }
    let mut transaction = Transaction::new(tenant);
    transaction.replace_screen(&before, &record)?;
    Ok(store.commit(transaction).await?)
}
