//! The organization: its plan, limits, usage and settings, and its audit log.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use super::responses::posting::career_portal_url;
use crate::clock::Timestamp;
use crate::http::{ApiRequest, Collection, Error, Listing, Reply, input};
use crate::id::Id;
use crate::model::{
    self, AuditAction, AuditActorKind, AuditActorTerm, AuditTargetKind, Country, Day, Email, Mode,
    NamedOrganization, Plan, Scalar, Slug, Text, TimeZoneName, ToolOutcome, Value,
};
use crate::store::AuditSelection;

/// An organization in the credential's mode.
#[derive(Debug, Serialize, ToSchema)]
pub struct Organization {
    /// The identifier. It is the same in both modes.
    id: Id,
    /// The display name.
    name: Text<200>,
    /// The organization's part of the career page's URL. It differs between the modes.
    slug: Slug,
    /// The mode: live or test.
    mode: Mode,
    /// The plan.
    plan: Subscription,
    /// The limits of the plan.
    limits: Limits,
    /// Today's usage.
    usage: Usage,
    /// The URL of the career page.
    #[schema(format = "uri")]
    career_portal_url: String,
    /// The country that applies where nothing else names one.
    country: Option<Country>,
    /// The time zone of dates without a time zone of their own: a name in the IANA database. At first `UTC`.
    time_zone: TimeZoneName,
    /// The e-mail address that candidates can write to about their data.
    contact_email: Option<Email>,
    /// When the organization was created.
    created_at: Timestamp,
}

/// An organization's plan and its price.
#[derive(Debug, Serialize, ToSchema)]
pub struct Subscription {
    /// The name of the plan.
    name: Plan,
    /// The price in US dollars per month.
    price_usd_per_month: u32,
}

/// The limits of a plan.
#[derive(Debug, Serialize, ToSchema)]
pub struct Limits {
    /// The number of requests per day in each mode, or `null` if there is no limit.
    requests_per_day: Option<u64>,
}

/// The usage of an organization in this mode.
#[derive(Debug, Serialize, ToSchema)]
pub struct Usage {
    /// The number of requests since midnight UTC, including this one.
    requests_today: u64,
    /// When the count resets: the next midnight UTC.
    resets_at: Timestamp,
}

/// Returns the organization that the credential belongs to.
pub async fn show(request: ApiRequest<()>) -> Result<Reply<Organization>, Error> {
    request.input()?;
    let today = Day::of(request.context.now());
    // The usage includes this request, so the gate has counted it before.
    request.organization().await;
    let found = request.context.store().find_organization_and_usage(request.tenant(), today).await?;
    let (NamedOrganization { organization, name, settings, created_at }, requests_today) =
        found.ok_or(Error::NotFound)?;
    Reply::resource(&Organization {
        id: organization.id,
        name,
        slug: organization.slug.clone(),
        mode: organization.mode,
        plan: Subscription {
            name: organization.plan,
            price_usd_per_month: organization.plan.price_usd_per_month(),
        },
        limits: Limits { requests_per_day: organization.plan.requests_per_day() },
        usage: Usage { requests_today, resets_at: today.end() },
        career_portal_url: career_portal_url(request.context.base_url(), &organization),
        country: settings.country,
        time_zone: settings.time_zone,
        contact_email: settings.contact_email,
        created_at,
    })
}

input! {
    /// Filters for the audit log.
    pub struct AuditLogFilter {
        /// Returns only what this actor did: `member:ID`, `api_key:ID`, `app:ID` (with the id of the grant), `operator`,
        /// `system` or `unknown`. Cannot be combined with `action`.
        actor: optional AuditActorTerm,
        /// Returns only acts of this kind. Cannot be combined with `actor`.
        action: optional AuditAction,
        /// Returns only entries of this time or later.
        from: optional Moment,
        /// Returns only entries before this time.
        to: optional Moment,
    }
}

/// A time in a query, which must not be blank.
struct Moment(Timestamp);

impl Value for Moment {
    fn read(scalar: &Scalar<'_>) -> Result<Option<Self>, String> {
        Timestamp::read(scalar)?.map(|time| Some(Self(time))).ok_or_else(|| "can't be blank".to_owned())
    }

    fn schema() -> RefOr<Schema> {
        <Timestamp as Value>::schema()
    }
}

/// An entry of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEntry {
    /// The identifier.
    id: Id,
    /// When it was done.
    at: Timestamp,
    /// Who did it.
    actor: AuditActor,
    /// What was done.
    action: AuditAction,
    /// What it was done on; `null` if the action already says that.
    target: Option<AuditTarget>,
    /// The number of items on the page, if a page of a list was read; otherwise `null`.
    shown: Option<u64>,
    /// The client's network: an IPv4 address, or the /64 network of an IPv6 address; `null` for the operator and the
    /// service itself.
    network: Option<String>,
    /// The call, if an assistant called a tool; otherwise `null`.
    tool: Option<ToolCall>,
}

/// A call of a tool by an assistant.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolCall {
    /// The name of the tool.
    name: String,
    /// The outcome.
    outcome: ToolOutcome,
}

/// Who did something.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditActor {
    /// The type.
    r#type: AuditActorKind,
    /// The API key, the application's grant or the member; `null` for the other types.
    id: Option<Id>,
    /// The member who gave the application access; `null` for the other types.
    member_id: Option<Id>,
}

/// What an act was done on.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditTarget {
    /// The type.
    r#type: AuditTargetKind,
    /// The identifier; `null` for what an organization has only once, such as a setting.
    id: Option<Id>,
}

/// Lists what was done in the organization, newest first: sign-ins, reads of people by members and applications, exports,
/// erasures, and changes to keys, applications, members and settings. Entries are kept for 400 days. A page without `actor`
/// and `action` reads at most 15 days, so it may have fewer entries than `limit`, or none, while `next_cursor` is set.
pub async fn list_audit_log(
    request: ApiRequest<Listing<AuditLogFilter>>,
) -> Result<Reply<Collection<AuditEntry>>, Error> {
    let (AuditLogFilter { actor, action, from, to }, page) = request.listing()?;
    let [from, to] = [from, to].map(|moment| moment.map(|Moment(time)| time));
    let mut messages = Vec::new();
    if actor.is_some() && action.is_some() {
        messages.push("actor can't be combined with action".to_owned());
    }
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        messages.push("from must be before to".to_owned());
    }
    if !messages.is_empty() {
        return Err(Error::Validation(messages));
    }
    let selection = match (actor, action) {
        (Some(actor), _) => AuditSelection::Actor(actor),
        (None, Some(action)) => AuditSelection::Action(action),
        (None, None) => AuditSelection::All,
    };
    let (store, now) = (request.context.store(), request.context.now());
    let organization = store.find_organization(request.tenant()).await?.ok_or(Error::NotFound)?;
    let entries = store.list_audit_log(&organization, selection, [from, to], now, &page).await?;
    request.reply(entries, AuditEntry::from)
}

impl From<model::AuditEntry> for AuditEntry {
    fn from(entry: model::AuditEntry) -> Self {
        let model::AuditEntry { id, at, actor, action, target, shown, network, tool } = entry;
        let actor = AuditActor { r#type: actor.kind, id: actor.id, member_id: actor.member };
        let target = target.map(|target| AuditTarget { r#type: target.kind, id: target.id });
        let tool = tool.map(|tool| ToolCall { name: tool.name, outcome: tool.outcome });
        Self { id, at, actor, action, target, shown, network, tool }
    }
}
