//! A connected application: what it may do, and the tools that it has called.

use std::sync::Arc;

use askama::Template;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::model::{AuditActorKind, AuditActorTerm, AuditEntry, Grant, MemberRole, Scope, ToolOutcome};
use shared::store::{AuditSelection, Paging};

use crate::dates::{self, Time};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

/// The maximum number of entries of the audit log that the page reads.
const ENTRIES: u32 = 100;

#[derive(Template)]
#[template(path = "connected_app.html")]
struct ConnectedAppPage<'p> {
    layout: Layout<'p>,
    id: u64,
    name: &'p str,
    host: &'p str,
    scopes: Vec<&'static str>,
    /// Whether the member may narrow the application to reading.
    can_narrow: bool,
    /// What is narrowed with it.
    site: &'p str,
    /// Whether apps from there may only read.
    is_narrowed: bool,
    /// The calls, newest first.
    calls: Vec<CallRow<'p>>,
}

struct CallRow<'p> {
    tool: &'p str,
    at: Time,
    outcome: &'static str,
}

/// Shows what an application may do, and its calls.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (grant, context) = (find(&request).await?, &request.context);
    let actor = AuditActorTerm { kind: AuditActorKind::App, id: Some(grant.id) };
    let (organization, page) = (request.named_organization(), Paging { limit: ENTRIES, before: None });
    let selection = AuditSelection::Actor(actor);
    let period = [Some(grant.created_at), None];
    let entries =
        context.store().list_audit_log(organization, selection, period, context.now(), &page).await?.items;
    let zone = dates::zone(&request);
    let call =
        |entry: &'_ AuditEntry| entry.tool.as_ref().map(|tool| (tool.name.clone(), tool.outcome, entry.at));
    let calls: Vec<_> = entries.iter().filter_map(call).collect();
    let site = grant.site();
    let narrowed = context.store().find_narrowed_site(request.tenant().organization, &site).await?;
    let is_owner = request.member().role == MemberRole::Owner;
    Reply::page(&ConnectedAppPage {
        layout: Layout::of(&request, Section::ConnectedApps),
        id: grant.id.get(),
        name: grant.client_name.as_str(),
        host: &grant.redirect_host,
        scopes: grant.scopes.iter().map(Scope::description).collect(),
        can_narrow: is_owner && grant.clone().narrowed().scopes != grant.scopes,
        site: &site,
        is_narrowed: narrowed.is_some(),
        calls: calls
            .iter()
            .map(|(tool, outcome, at)| CallRow { tool, at: zone.minute(*at), outcome: words(*outcome) })
            .collect(),
    })
}

/// Narrows an application to reading. What comes from the same site is given no more until an owner lifts this.
pub(crate) async fn narrow(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let grant = find(&request).await?;
    let mut transaction = request.transaction();
    transaction.narrow_grant(&grant, request.context.now())?;
    request.context.store().commit(transaction).await?;
    let page = format!("/dashboard/settings/integrations/connected-apps/{}", grant.id);
    Ok(Notice::AppNarrowed.redirect_to(&page))
}

/// The grant of a connected application.
async fn find(request: &MemberRequest) -> Result<Grant, Error> {
    let (context, now) = (&request.context, request.context.now());
    let grant = context.store().find_grant(request.tenant(), context.id()?).await?;
    grant.filter(|grant| grant.tokens.is_some() && grant.is_good(now)).ok_or(Error::NotFound)
}

const fn words(outcome: ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Done => "done",
        ToolOutcome::Rejected => "rejected",
        ToolOutcome::Asked => "asked for a confirmation",
        ToolOutcome::Confirmed => "confirmed in the app",
        ToolOutcome::Refused => "refused in the app",
    }
}
