//! The voice webhook: voice providers send their callbacks here. The function verifies the signature over the raw bytes
//! before it parses the body.
//!
//! Callbacks may arrive twice, late or in any order, because a screen that has ended no longer changes. Every callback
//! with a valid signature gets the same response, so the response does not reveal which screens exist.

use serde::Serialize;
use shared::http::{
    Access, Error, Payload, PublicRequest, Reply, ReplyFormat, RequestContext, Row, Unversioned,
};
use shared::model::AuditActor;
use shared::providers::voice::{CallbackBody, VoicePort};
use shared::services::screening;
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
    let voice = voice_provider(context).await?;
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
        let (store, now) = (context.store(), context.now());
        screening::apply(store, provider, reference, callback, now, context.ids(), context.random()).await?;
    } else {
        tracing::warn!(provider = provider.as_str(), "a callback has no valid reference");
    }
    Ok(Reply::ok(&Received {})?.unversioned())
}

/// The voice provider named in the path.
async fn voice_provider(context: &RequestContext) -> Result<Box<dyn VoicePort + '_>, Error> {
    let provider = context.path().rsplit('/').next().and_then(|name| name.parse().ok());
    let providers = context.providers().await;
    provider.and_then(|provider| providers.voice_provider(provider)).ok_or(Error::NotFound)
}
