//! Settings > Audit log: who did what in the organization, and when. Only owners see it, because it shows when and from
//! where members sign in.

use std::sync::Arc;

use askama::Template;
use jiff::civil::Date;
use shared::http::page::{Problem, problem_of};
use shared::http::{Error, Html, MemberRequest, Parameters, Reply};
use shared::id::Id;
use shared::model::{
    AuditAction, AuditActor, AuditActorKind, AuditActorTerm, AuditEntry, AuditTarget, AuditTargetKind,
    Member, non_blank,
};
use shared::store::{AuditNames, AuditSelection, Paging, is_audit_position};

use crate::dates::{self, Time, Zone};
use crate::layout::{Layout, Section};
use crate::lists::{Pager, Place};

const PATH: &str = "/dashboard/settings/audit-log";
/// The number of entries on a page.
const PAGE: u32 = 25;

#[derive(Template)]
#[template(path = "audit_log.html")]
struct AuditLogPage<'p> {
    layout: Layout<'p>,
    entries: Vec<EntryRow>,
    actors: Vec<Choice>,
    actions: Vec<Choice>,
    from: &'p str,
    to: &'p str,
    /// Whether the list is filtered.
    is_filtered: bool,
    /// Problems with the fields `actor`, `action`, `from` and `to`.
    problems: Vec<Problem>,
    pager: Pager,
}

/// An entry of the log, as a sentence.
struct EntryRow {
    at: Time,
    actor: String,
    /// The URL of the actor's entries.
    actor_url: String,
    /// What the actor did, without what it was done on.
    verb: &'static str,
    /// What it was done on.
    object: Option<String>,
    /// The URL of the page about it.
    object_url: Option<String>,
    network: String,
}

/// An option of a list in the form.
struct Choice {
    value: String,
    label: String,
    is_chosen: bool,
}

/// The filter in the query.
struct Filter {
    selection: AuditSelection,
    /// The first day.
    from: Option<Date>,
    /// The last day, which counts.
    to: Option<Date>,
}

impl Filter {
    /// Parses the filter, or returns the problems with it.
    fn parse(query: &Parameters) -> Result<Self, Vec<Problem>> {
        let problem = |field, sentence: &str| Problem { field, sentence: sentence.to_owned() };
        let mut problems = Vec::new();
        let actor = non_blank(query.get("actor")).map(str::parse::<AuditActorTerm>).transpose();
        let actor = actor.unwrap_or_else(|_| {
            problems.push(problem("actor", "Choose who did it from the list."));
            None
        });
        let action = non_blank(query.get("action")).map(str::parse::<AuditAction>).transpose();
        let action = action.unwrap_or_else(|_| {
            problems.push(problem("action", "Choose what was done from the list."));
            None
        });
        let selection = match (actor, action) {
            (None, None) => AuditSelection::All,
            (Some(actor), None) => AuditSelection::Actor(actor),
            (None, Some(action)) => AuditSelection::Action(action),
            (Some(_), Some(_)) => {
                problems.push(problem(
                    "action",
                    "Choose who did it or what was done, not both: the log is filtered by one of them.",
                ));
                AuditSelection::All
            }
        };
        let [from, to] = dates::period(query, &mut problems);
        if problems.is_empty() { Ok(Self { selection, from, to }) } else { Err(problems) }
    }

    /// The links to the pages of the filtered list around this place.
    fn pager(&self, place: &Place, next: Option<String>) -> Pager {
        let selection = match self.selection {
            AuditSelection::All => None,
            AuditSelection::Actor(actor) => Some(("actor", actor.to_string())),
            AuditSelection::Action(action) => Some(("action", action.as_str().to_owned())),
        };
        let (from, to) =
            (self.from.map(|day| ("from", day.to_string())), self.to.map(|day| ("to", day.to_string())));
        let filters: Vec<_> = [selection, from, to].into_iter().flatten().collect();
        let filters: Vec<_> = filters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Pager::new(PATH, &filters, place, next)
    }
}

/// Shows a page of the log.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, store, now) = (request.tenant(), request.context.store(), request.context.now());
    let query = request.context.query();
    let members = store.list_members(tenant.organization).await?;
    let filter = match Filter::parse(&query) {
        Ok(filter) => filter,
        Err(problems) => {
            let page = page(&request, &query, &members, Vec::new(), problems, Pager::default());
            return Ok(Reply::page(&page)?.with_status(422));
        }
    };
    let place = Place::read(&query, is_audit_position);
    let paging = Paging { limit: PAGE, before: place.before().map(str::to_owned) };
    let zone = dates::zone(&request);
    let from = filter.from.and_then(|day| zone.bounds(day)[0]);
    let to = filter.to.and_then(|day| zone.bounds(day)[1]);
    let listed = store
        .list_audit_log(request.named_organization(), filter.selection, [from, to], now, &paging)
        .await?;
    let names = store.find_audit_names(tenant, &listed.items).await?;
    let entries = listed.items.iter().map(|entry| EntryRow::of(entry, &names, &zone)).collect();
    let pager = filter.pager(&place, listed.next);
    Reply::page(&page(&request, &query, &members, entries, Vec::new(), pager))
}

fn page<'p>(
    request: &'p MemberRequest,
    query: &'p Parameters,
    members: &[Member],
    entries: Vec<EntryRow>,
    problems: Vec<Problem>,
    pager: Pager,
) -> AuditLogPage<'p> {
    let chosen = query.get("actor").trim();
    let mut actors: Vec<_> = members
        .iter()
        .map(|member| (AuditActor::member(member.id).term(), member.name.as_str().to_owned()))
        .chain(
            [AuditActor::operator(), AuditActor::system(), AuditActor::unknown()]
                .map(|actor| (actor.term(), actor_name(actor, &AuditNames::default()))),
        )
        .map(|(term, label)| Choice { value: term.to_string(), label, is_chosen: term.to_string() == chosen })
        .collect();
    if let Ok(AuditActorTerm { kind, id }) = chosen.parse()
        && !actors.iter().any(|actor| actor.is_chosen)
    {
        let label = actor_name(AuditActor { kind, id, member: None }, &AuditNames::default());
        actors.push(Choice { value: chosen.to_owned(), label, is_chosen: true });
    }
    let actions = AuditAction::ALL.map(|action| Choice {
        value: action.as_str().to_owned(),
        label: action.label().to_owned(),
        is_chosen: action.as_str() == query.get("action").trim(),
    });
    AuditLogPage {
        layout: Layout::of(request, Section::AuditLog),
        entries,
        actors,
        actions: actions.into(),
        from: query.get("from"),
        to: query.get("to"),
        is_filtered: ["actor", "action", "from", "to"]
            .iter()
            .any(|name| non_blank(query.get(name)).is_some()),
        problems,
        pager,
    }
}

impl EntryRow {
    fn of(entry: &AuditEntry, names: &AuditNames, zone: &Zone) -> Self {
        let term = entry.actor.term().to_string();
        let is_own = entry.actor.kind == AuditActorKind::Member
            && entry.target == entry.actor.id.map(|id| AuditTarget::of(AuditTargetKind::Member, id));
        let (object, object_url) = match (entry.target, entry.shown) {
            (Some(_), _) if is_own => (None, None),
            (Some(target), _) => (Some(object(target, names)), object_url(target)),
            (None, Some(count)) if entry.action == AuditAction::SuspectFormsDiscarded => {
                (Some(format!("({count})")), None)
            }
            (None, Some(shown)) => (Some(format!("({shown} on the page)")), None),
            (None, None) => (None, None),
        };
        Self {
            at: zone.minute(entry.at),
            actor: actor_name(entry.actor, names),
            actor_url: format!("{PATH}?actor={term}"),
            verb: entry.action.verb(),
            object,
            object_url,
            network: entry.network.clone().unwrap_or_default(),
        }
    }
}

/// Returns the name of an actor, or what is known of it.
fn actor_name(AuditActor { kind, id, member }: AuditActor, names: &AuditNames) -> String {
    let number = |id: Option<Id>| id.map(|id| id.to_string()).unwrap_or_default();
    match kind {
        AuditActorKind::Member => member_name(id, names),
        AuditActorKind::ApiKey => match id.and_then(|id| names.api_key(id)) {
            Some(name) => format!("The API key “{name}”"),
            None => format!("The API key {}", number(id)),
        },
        AuditActorKind::App => {
            let app = match id.and_then(|id| names.app(id)) {
                Some(name) => format!("The application “{name}”"),
                None => format!("The application with the grant {}", number(id)),
            };
            match member {
                Some(member) => format!("{app}, connected by {},", member_name(Some(member), names)),
                None => app,
            }
        }
        AuditActorKind::Operator => "The operator".to_owned(),
        AuditActorKind::System => "Rolecall".to_owned(),
        AuditActorKind::Unknown => "Somebody".to_owned(),
    }
}

fn member_name(id: Option<Id>, names: &AuditNames) -> String {
    match id.map(|id| (id, names.member(id))) {
        Some((_, Some(name))) => name.to_owned(),
        Some((id, None)) => format!("the former member {id}"),
        None => "a member".to_owned(),
    }
}

/// Returns what an act was done on, as the end of a sentence.
fn object(AuditTarget { kind, id }: AuditTarget, names: &AuditNames) -> String {
    let number = id.map(|id| id.to_string()).unwrap_or_default();
    match kind {
        AuditTargetKind::Member => member_name(id, names),
        AuditTargetKind::ApiKey => match id.and_then(|id| names.api_key(id)) {
            Some(name) => format!("“{name}”"),
            None => number,
        },
        AuditTargetKind::Grant => match id.and_then(|id| names.app(id)) {
            Some(name) => format!("“{name}”"),
            None => format!("with the grant {number}"),
        },
        AuditTargetKind::Candidate
        | AuditTargetKind::Application
        | AuditTargetKind::VoiceScreen
        | AuditTargetKind::WebhookEndpoint
        | AuditTargetKind::Import
        | AuditTargetKind::Export => number,
        AuditTargetKind::Role => format!("role {number}"),
        AuditTargetKind::JobPosting => format!("job posting {number}"),
        AuditTargetKind::ConfirmationRule => "where assistants' calls are confirmed".to_owned(),
        AuditTargetKind::CareerPage => "the career page".to_owned(),
        AuditTargetKind::PrivacyText => "the privacy text".to_owned(),
        AuditTargetKind::RetentionRule => "the retention rule".to_owned(),
        AuditTargetKind::SecondFactorRule => "the rule for second factors".to_owned(),
        AuditTargetKind::CallCountries => "the countries that may be called".to_owned(),
        AuditTargetKind::ApplicationLimits => "the limits of applications".to_owned(),
        AuditTargetKind::RejectionReasons => "the rejection reasons".to_owned(),
        AuditTargetKind::Plan => "the plan".to_owned(),
        AuditTargetKind::X => "X".to_owned(),
        AuditTargetKind::WhatsApp => "WhatsApp".to_owned(),
        AuditTargetKind::Organization => "the settings of the organization".to_owned(),
    }
}

fn object_url(AuditTarget { kind, id }: AuditTarget) -> Option<String> {
    let id = id.filter(|_| kind == AuditTargetKind::Candidate)?;
    Some(format!("/dashboard/candidates/{id}"))
}
