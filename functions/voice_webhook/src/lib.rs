//! The voice webhook: what voice providers report. The signature comes first, over the bytes as they came, then everything
//! else.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | POST | `/webhooks/voice/{provider}` | take a signed callback |
//!
//! Reports may come twice, late or in any order: an ended screen does not change any more. Whether a screen exists is
//! nobody's business: every well-signed callback is answered alike.

use serde::Serialize;
use shared::http::{Access, Error, Form, Payload, Reply, Row, Sent, Unversioned, Visit};
use shared::model::{Dialing, VoiceProvider};
use shared::providers::voice::{self, Callback, CallbackBody, News};
use shared::screening::{self, Reference};
use shared::store::Writes;
use utoipa::ToSchema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![R::open("POST /webhooks/voice/{provider}", Access::Signed, Form::Api, receive)]
}

/// The largest callback: a transcript of it still fits into one transaction.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// What a provider sends.
pub enum SignedCallback {}

impl Payload for SignedCallback {
    const MEDIA: Option<&'static str> = Some("application/json");
    const PARAMETERS: &'static [&'static str] = &["X-Timestamp"];
    type Body = CallbackBody;
}

/// What a provider is answered: nothing.
#[derive(Debug, Serialize, ToSchema)]
pub struct Received {}

/// Takes a voice provider's callback, whatever it is about: whether there is such a screen is nobody's business.
///
/// # Errors
///
/// - `bad_request`: the body is not a callback.
/// - `unauthorized`: the signature is not the provider's, of this body, within five minutes.
/// - `not_found`: there is no such provider here.
/// - `payload_too_large`: the body is over 3 MB.
async fn receive(visit: Sent<SignedCallback>) -> Result<Reply<Unversioned<Received>>, Error> {
    let provider = authenticate(&visit)?;
    if visit.body().len() > MAX_BODY {
        return Err(Error::PayloadTooLarge(MAX_BODY));
    }
    let callback = voice::read_callback(visit.body());
    let callback =
        callback.ok_or_else(|| Error::BadRequest("The request body is not a callback".to_owned()))?;
    if let Ok(reference) = callback.reference.parse() {
        apply(&visit, provider, reference, callback).await?;
    } else {
        tracing::warn!(provider = provider.as_str(), "a callback names no screen of ours");
    }
    Ok(Reply::ok(&Received {})?.unversioned())
}

fn authenticate(visit: &Visit) -> Result<VoiceProvider, Error> {
    let provider = visit.path().rsplit('/').next().and_then(|name| name.parse::<VoiceProvider>().ok());
    let provider = provider.ok_or(Error::NotFound)?;
    let secret = visit.providers().webhook_secret(provider).ok_or(Error::NotFound)?;
    let (signature, timestamp) = (visit.header("x-signature"), visit.header("x-timestamp"));
    let genuine = voice::verify(
        secret,
        signature.unwrap_or_default(),
        timestamp.unwrap_or_default(),
        visit.body(),
        visit.now(),
    );
    if genuine { Ok(provider) } else { Err(Error::BadSignature) }
}

async fn apply(
    visit: &Visit,
    provider: VoiceProvider,
    reference: Reference,
    callback: Callback,
) -> Result<(), Error> {
    let found = visit.store().find_screen(reference.tenant, reference.screen).await?;
    let Some(before) = found.filter(|file| file.provider == provider) else {
        tracing::warn!(provider = provider.as_str(), "a callback names a screen that is not the provider's");
        return Ok(());
    };
    if before.screen.status.is_end() {
        return Ok(());
    }
    let (tenant, store, now) = (reference.tenant, visit.store(), visit.now());
    let mut file = before.clone();
    if let (Some(call_id), Some(due), Dialing::Due | Dialing::Asked) =
        (callback.call_id, file.task_due, &before.dialing)
    {
        file = file.dial(Dialing::Placed(call_id), None, due, now);
    }
    match callback.news {
        // It was kept before.
        News::Ended(report) if screening::is_early(&report) && before.transcript_parts > 0 => return Ok(()),
        News::Ended(report) if screening::is_early(&report) && matches!(file.dialing, Dialing::Placed(_)) => {
            return Ok(screening::keep(store, tenant, &before, file, &report, now).await?);
        }
        News::Ended(report) => {
            return Ok(screening::end(store, tenant, &before, report, now, visit.ids()).await?);
        }
        News::InProgress => file = file.begin(now),
        News::Other => {}
    }
    if file == before {
        return Ok(());
    }
    let mut writes = Writes::new(tenant);
    writes.replace_screen(&before, &file)?;
    Ok(store.commit(writes).await?)
}
