//! A webhook endpoint: its settings, its keys and its deliveries.

use std::sync::Arc;

use askama::Template;
use shared::handlers::responses::webhook;
use shared::handlers::webhooks;
use shared::http::page::{Problem, Sources, problem_of, version_of};
use shared::http::{Error, Html, MemberRequest, Reply, entity_tag};
use shared::model::{Attempt, Delivery, DeliveryStatus, EndpointStatus, WebhookEndpoint};
use shared::secret::Secret;

use crate::dates::{self, Time, Zone};
use crate::form_page::fields_of;
use crate::layout::{Layout, SCRIPT, Section};
use crate::lists::{PAGE_SIZE, Pager, Place, id_position, is_id_position, next};
use crate::messages::{Alert, Notice};
use crate::sources::actor;
use crate::webhooks::{FormValues, PATH, TypeChoice, fields, problems_of, reason_of};

#[derive(Template)]
#[template(path = "webhook_endpoint.html")]
struct EndpointPage<'p> {
    layout: Layout<'p>,
    id: u64,
    url: &'p str,
    /// The description as it is stored, or an empty text.
    description: String,
    status: EndpointStatus,
    /// Why the endpoint is disabled, as a sentence.
    reason: Option<&'static str>,
    /// The types of the events; empty for all.
    sent: Vec<&'static str>,
    hmac: bool,
    /// The public keys, the newest first.
    public_keys: Vec<String>,
    /// Until when the previous keys sign.
    rotated_until: Option<Time>,
    created: Time,
    /// Who added it.
    created_by: Option<String>,
    changed: Time,
    /// The new secret, which is shown only once.
    secret: Option<Secret>,
    /// The version that the form changes.
    seen: String,
    values: FormValues,
    types: Vec<TypeChoice>,
    /// The position in the form of a replay, as it was typed.
    after: &'p str,
    /// Problems with the fields of the forms.
    problems: Vec<Problem>,
    /// The deliveries, newest first.
    deliveries: Vec<DeliveryRow>,
    pager: Pager,
    /// The version in the script's URL.
    script_version: String,
}

struct DeliveryRow {
    id: u64,
    kind: &'static str,
    /// The event's number in the feed; `None` for a test.
    seq: Option<u64>,
    status: DeliveryStatus,
    created: Time,
    /// When the next attempt is due.
    next_attempt: Option<Time>,
    /// The latest attempts, the oldest first.
    attempts: Vec<AttemptRow>,
}

struct AttemptRow {
    at: Time,
    /// The status of the answer, or why there was none.
    result: String,
    duration_ms: u64,
    /// The beginning of the answer.
    answer: Option<String>,
}

impl DeliveryRow {
    fn of(delivery: Delivery, zone: &Zone) -> Self {
        let attempt = |attempt: Attempt| AttemptRow {
            at: zone.second(attempt.at),
            result: match (attempt.status, attempt.error) {
                (Some(status), None) => format!("status {status}"),
                (Some(status), Some(error)) => format!("status {status}, {error}"),
                (None, error) => error.unwrap_or_else(|| "no answer".to_owned()),
            },
            duration_ms: attempt.duration_ms,
            answer: attempt.answer.filter(|answer| !answer.is_empty()),
        };
        Self {
            id: delivery.id.get(),
            kind: delivery.kind.as_str(),
            seq: delivery.seq,
            status: delivery.status,
            created: zone.second(delivery.created_at),
            next_attempt: delivery.next_attempt_at.map(|time| zone.second(time)),
            attempts: delivery.attempts.into_iter().map(attempt).collect(),
        }
    }
}

/// What a page shows in addition to what is stored.
#[derive(Default)]
struct Addition {
    secret: Option<Secret>,
    /// The values that were typed; `None` for the stored ones.
    values: Option<FormValues>,
    problems: Vec<Problem>,
}

/// Shows an endpoint with its deliveries.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, Addition::default()).await
}

/// Saves an endpoint, or enables or disables it.
pub(crate) async fn update(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    // The buttons send only the status.
    let (fields, values, notice) = match request.page.form().get("status") {
        "enabled" => (request.fields(), None, Notice::WebhookEnabled),
        "disabled" => (request.fields(), None, Notice::WebhookDisabled),
        _ => (fields(&request), Some(FormValues::submitted(&request)), Notice::WebhookSaved),
    };
    match request.carry_out(request.call(fields), webhooks::update).await {
        Ok(_) => Ok(notice.redirect_to(&path_of(&request)?)),
        Err(error) => {
            let (status, problems) = problems_of(error)?;
            Ok(page(&request, Addition { values, problems, secret: None }).await?.with_status(status))
        }
    }
}

/// Replaces the secret and the key pair, and shows the secret once. A form that is sent again replaces nothing and gets the
/// same page.
pub(crate) async fn rotate(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    match request.carry_out(request.call(fields_of(&[])), webhooks::rotate_secret).await {
        Ok(reply) => {
            let secret = Some(webhooks::secret_in(&reply)?);
            page(&request, Addition { secret, ..Addition::default() }).await
        }
        Err(error) => {
            let (status, problems) = problems_of(error)?;
            Ok(page(&request, Addition { problems, ..Addition::default() }).await?.with_status(status))
        }
    }
}

/// Deletes an endpoint.
pub(crate) async fn delete(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    request.carry_out(request.call(fields_of(&[])), webhooks::delete).await?;
    Ok(Notice::WebhookDeleted.redirect_to(PATH))
}

/// Sends a test.
pub(crate) async fn ping(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let done = request.carry_out(request.call(fields_of(&[])), webhooks::ping).await;
    redirect(&request, done.map(drop), Notice::WebhookPinged)
}

/// Sends an event again.
pub(crate) async fn redeliver(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let done = request.carry_out(request.call(fields_of(&[])), webhooks::redeliver).await;
    redirect(&request, done.map(drop), Notice::WebhookRedelivering)
}

/// Sends the events after a position again.
pub(crate) async fn replay(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let done = request.carry_out(request.call(request.fields()), webhooks::replay).await;
    let problems = match done {
        Err(Error::CursorExpired) => {
            let sentence = "The event number is older than 30 days, or beyond the newest event.".to_owned();
            vec![Problem { field: "after", sentence }]
        }
        Err(error @ Error::Validation(_)) => problems_of(error)?.1,
        done => return redirect(&request, done.map(drop), Notice::WebhookReplaying),
    };
    Ok(page(&request, Addition { problems, ..Addition::default() }).await?.with_status(422))
}

fn redirect(request: &MemberRequest, done: Result<(), Error>, notice: Notice) -> Result<Reply<Html>, Error> {
    let path = path_of(request)?;
    match done {
        Ok(()) => Ok(notice.redirect_to(&path)),
        Err(Error::InvalidTransition(_)) => Ok(Alert::WebhookIsDisabled.redirect_to(&path)),
        Err(error) => Err(error),
    }
}

fn path_of(request: &MemberRequest) -> Result<String, Error> {
    Ok(format!("{PATH}/{}", request.context.id()?))
}

async fn page(request: &MemberRequest, addition: Addition) -> Result<Reply<Html>, Error> {
    let Addition { secret, values, problems } = addition;
    let (context, tenant, now) = (&request.context, request.tenant(), request.context.now());
    let found = context.store().find_webhook_endpoint(tenant, context.id()?).await?;
    let endpoint: WebhookEndpoint = found.ok_or(Error::NotFound)?;
    let (query, zone) = (context.query(), dates::zone(request));
    let place = Place::read(&query, is_id_position);
    let mut listed = context.store().list_deliveries(tenant, endpoint.id, &place.paging(), now).await?;
    let next = next(&mut listed, PAGE_SIZE, |delivery| id_position(delivery.id));
    let path = path_of(request)?;
    let stored = FormValues::of(&endpoint);
    let description = stored.description.clone();
    let values = values.unwrap_or(stored);
    let rotated_until = endpoint.previous_keys.as_ref().map(|previous| previous.until);
    let sources = Sources { script: secret.is_some(), ..Sources::default() };
    let page = Reply::page(&EndpointPage {
        layout: Layout::of(request, Section::Webhooks),
        id: endpoint.id.get(),
        url: endpoint.url.as_str(),
        description,
        status: endpoint.status(),
        reason: endpoint.disabled_reason.map(reason_of),
        sent: endpoint.types.iter().map(|kind| kind.as_str()).collect(),
        hmac: endpoint.hmac,
        public_keys: endpoint.public_keys(now),
        rotated_until: rotated_until.filter(|until| now < *until).map(|until| zone.minute(until)),
        created: zone.minute(endpoint.created_at),
        created_by: endpoint.created_by.as_ref().map(actor),
        changed: zone.minute(endpoint.updated_at),
        secret,
        seen: entity_tag(&webhook::WebhookEndpoint::of(&endpoint, now))?,
        types: values.choices(),
        values,
        after: request.page.form().get("after"),
        problems,
        deliveries: listed.items.into_iter().map(|delivery| DeliveryRow::of(delivery, &zone)).collect(),
        pager: Pager::new(&path, &[], &place, next),
        script_version: version_of(&SCRIPT),
    })?;
    Ok(page.using(&sources))
}
