//! Settings > Integrations > Webhooks: the webhook endpoints of the current mode, and the form that adds one.

use std::sync::Arc;

use askama::Template;
use shared::handlers::webhooks;
use shared::http::page::{Problem, Sources, problem_of, version_of};
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::model::{DisabledReason, EndpointStatus, EventType, Text, WebhookEndpoint};
use shared::secret::Secret;

use crate::dates::{self, Time};
use crate::form_page::Refusal;
use crate::layout::{Layout, SCRIPT, Section};
use crate::sources::actor;

pub(crate) const PATH: &str = "/dashboard/webhooks";
/// The fields of the forms, and how messages name them.
const FIELDS: [(&str, &str); 6] = [
    ("url", "The URL"),
    ("description", "The description"),
    ("types", "The list of events"),
    ("hmac", "The signature"),
    ("status", "The status"),
    ("after", "The event number"),
];

#[derive(Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage<'p> {
    layout: Layout<'p>,
    /// The endpoints, newest first.
    endpoints: Vec<EndpointRow<'p>>,
    /// The endpoint that was just added.
    added: Option<AddedEndpoint>,
    values: FormValues,
    types: Vec<TypeChoice>,
    /// Problems with the fields of the form.
    problems: Vec<Problem>,
    /// The version in the script's URL.
    script_version: String,
}

struct EndpointRow<'p> {
    id: u64,
    url: &'p str,
    description: Option<&'p str>,
    /// The types of the events; empty for all.
    types: Vec<&'static str>,
    status: EndpointStatus,
    /// Why it is disabled, as a sentence.
    reason: Option<&'static str>,
    created: Time,
    /// Who added it.
    created_by: Option<String>,
}

/// A new endpoint, whose secret is shown only once.
struct AddedEndpoint {
    id: u64,
    secret: Secret,
}

/// A checkbox in the form.
pub(crate) struct TypeChoice {
    pub(crate) value: &'static str,
    pub(crate) description: &'static str,
    pub(crate) is_checked: bool,
}

/// The values in the form of an endpoint.
pub(crate) struct FormValues {
    pub(crate) url: String,
    pub(crate) description: String,
    /// The words of the types of events.
    types: Vec<String>,
    pub(crate) hmac: bool,
}

impl FormValues {
    /// The values for a new endpoint.
    fn initial() -> Self {
        Self { url: String::new(), description: String::new(), types: Vec::new(), hmac: true }
    }

    /// The stored values.
    pub(crate) fn of(endpoint: &WebhookEndpoint) -> Self {
        Self {
            url: endpoint.url.as_str().to_owned(),
            description: endpoint.description.as_ref().map_or("", Text::as_str).to_owned(),
            types: endpoint.types.iter().map(|kind| kind.as_str().to_owned()).collect(),
            hmac: endpoint.hmac,
        }
    }

    /// The submitted values.
    pub(crate) fn submitted(request: &MemberRequest) -> Self {
        let form = request.page.form();
        Self {
            url: form.get("url").to_owned(),
            description: form.get("description").to_owned(),
            types: form.all("types").map(str::to_owned).collect(),
            hmac: form.get("hmac") == "true",
        }
    }

    /// The checkboxes.
    pub(crate) fn choices(&self) -> Vec<TypeChoice> {
        let choice = |kind: EventType| TypeChoice {
            value: kind.as_str(),
            description: kind.description(),
            is_checked: self.types.iter().any(|word| word == kind.as_str()),
        };
        EventType::ALL.into_iter().map(choice).collect()
    }
}

/// The fields of the form of an endpoint. A browser sends only the boxes that are ticked.
pub(crate) fn fields(request: &MemberRequest) -> Parameters {
    let (sent, values) = (request.fields(), FormValues::submitted(request));
    let others = sent.iter().filter(|(name, _)| !["types", "hmac"].contains(name));
    let others = others.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let ticked = [("types", values.types.join(",")), ("hmac", values.hmac.to_string())];
    others.chain(ticked.map(|(name, value)| (name.to_owned(), value))).collect()
}

/// The status of the page and what is wrong, after a change was not made. Fails if the form is not the reason.
pub(crate) fn problems_of(error: Error) -> Result<(u16, Vec<Problem>), Error> {
    let problem = |message: String| {
        let (path, problem) = message.split_once(' ').unwrap_or((&message, "is invalid"));
        let name = path.split('[').next().unwrap_or_default();
        match FIELDS.iter().find(|(field, _)| *field == name) {
            Some((field, label)) => Problem { field, sentence: format!("{label} {problem}.") },
            None => Problem { field: "url", sentence: format!("{message}.") },
        }
    };
    Ok(match Refusal::of(error)? {
        Refusal::Problems { messages, .. } => (422, messages.into_iter().map(problem).collect()),
        refusal @ Refusal::Stale => {
            let sentence =
                format!("{} Nothing was saved. Compare the values, and save again.", refusal.text());
            (412, vec![Problem { field: "url", sentence }])
        }
        Refusal::Sentence(sentence) => (422, vec![Problem { field: "url", sentence }]),
    })
}

/// Why an endpoint is disabled, as a sentence.
pub(crate) const fn reason_of(reason: DisabledReason) -> &'static str {
    match reason {
        DisabledReason::Requested => "It was disabled in the dashboard or with the API.",
        DisabledReason::Operator => "The operator of this service disabled it.",
        DisabledReason::Gone => "It answered that it is gone (410).",
        DisabledReason::Failing => "Its requests failed for 120 hours.",
    }
}

/// Shows the endpoints.
pub(crate) async fn list(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    page(&request, None, FormValues::initial(), Vec::new()).await
}

/// Adds an endpoint and shows its secret once. A form that is sent again adds nothing and gets the same page.
pub(crate) async fn create(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    match request.carry_out(request.call(fields(&request)), webhooks::create).await {
        Ok(reply) => {
            let id = reply.created_id().ok_or(Error::NotFound)?.get();
            let added = AddedEndpoint { id, secret: webhooks::secret_in(&reply)? };
            page(&request, Some(added), FormValues::initial(), Vec::new()).await
        }
        Err(error) => {
            let (status, problems) = problems_of(error)?;
            Ok(page(&request, None, FormValues::submitted(&request), problems).await?.with_status(status))
        }
    }
}

async fn page(
    request: &MemberRequest,
    added: Option<AddedEndpoint>,
    values: FormValues,
    problems: Vec<Problem>,
) -> Result<Reply<Html>, Error> {
    let endpoints = request.context.store().list_all_webhook_endpoints(request.tenant()).await?;
    let zone = dates::zone(request);
    let rows = endpoints.iter().map(|endpoint| EndpointRow {
        id: endpoint.id.get(),
        url: endpoint.url.as_str(),
        description: endpoint.description.as_ref().map(Text::as_str),
        types: endpoint.types.iter().map(|kind| kind.as_str()).collect(),
        status: endpoint.status(),
        reason: endpoint.disabled_reason.map(reason_of),
        created: zone.day(endpoint.created_at),
        created_by: endpoint.created_by.as_ref().map(actor),
    });
    let sources = Sources { script: added.is_some(), ..Sources::default() };
    let page = Reply::page(&WebhooksPage {
        layout: Layout::of(request, Section::Webhooks),
        endpoints: rows.collect(),
        added,
        types: values.choices(),
        values,
        problems,
        script_version: version_of(&SCRIPT),
    })?;
    Ok(page.using(&sources))
}
