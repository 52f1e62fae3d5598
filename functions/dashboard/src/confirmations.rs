//! The page on which a member confirms a call of an assistant, or refuses it.

use std::sync::Arc;

use askama::Template;
use jiff::SignedDuration;
use shared::clock::later;
use shared::http::{Error, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{AuditAction, AuditTarget, AuditTargetKind, Mode, Tenant};
use shared::store::{Confirmation, MaybeErased};

use crate::dates::{self, Time};
use crate::layout::{Layout, Section};
use crate::messages::Notice;

/// The time in which the assistant must repeat a confirmed call.
const LIFE: SignedDuration = SignedDuration::from_mins(15);
/// The page to return to.
const APPS: &str = "/dashboard/settings/integrations/connected-apps";

#[derive(Template)]
#[template(path = "confirmation.html")]
struct ConfirmationPage<'p> {
    layout: Layout<'p>,
    call: &'p str,
    confirmation: &'p Confirmation,
    /// The name of the candidate whom the call is about.
    candidate: Option<String>,
    mode: Mode,
    until: Time,
    /// Whether this member may confirm the call.
    is_allowed: bool,
}

/// Shows what the assistant wants to do.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, confirmation) = find(&request).await?;
    let candidate = match confirmation.candidate() {
        Some(id) => candidate_name(&request, tenant, id).await?,
        None => None,
    };
    Reply::page(&ConfirmationPage {
        layout: Layout::of(&request, Section::ConnectedApps),
        call: request.context.path_parameter("call"),
        candidate,
        mode: tenant.mode,
        until: dates::zone(&request).minute(confirmation.until),
        is_allowed: confirmation.may_be_confirmed_by(request.member().id),
        confirmation: &confirmation,
    })
}

/// The name in the candidate's record, unless the candidate was erased. The audit log has the read.
async fn candidate_name(request: &MemberRequest, tenant: Tenant, id: Id) -> Result<Option<String>, Error> {
    let store = request.context.store();
    let Some(MaybeErased::Present(record)) = store.find_candidate(tenant, id).await? else { return Ok(None) };
    let target = AuditTarget::of(AuditTargetKind::Candidate, id);
    store.record(tenant, AuditAction::CandidateRead, Some(target), None).await?;
    Ok(Some(record.candidate.profile.name.as_str().to_owned()))
}

/// Stores the member's decision. The assistant then repeats the call.
pub(crate) async fn decide(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let (tenant, confirmation) = find(&request).await?;
    let member = request.member().id;
    if !confirmation.may_be_confirmed_by(member) {
        return Err(Error::OwnersOnly);
    }
    let call = request.context.path_parameter("call");
    let mut transaction = shared::store::Transaction::new(tenant);
    let notice = match request.page.form().get("decision") {
        "confirm" if confirmation.confirmed_by.is_some() => Notice::CallConfirmed,
        "confirm" => {
            let confirmed = confirmation.clone().confirmed(member, later(request.context.now(), LIFE));
            transaction.replace_confirmation(call, &confirmation, &confirmed)?;
            Notice::CallConfirmed
        }
        "refuse" => {
            transaction.delete_confirmation(call, &confirmation);
            Notice::CallRefused
        }
        _ => return Err(Error::BadRequest("The form must contain a decision: confirm or refuse".to_owned())),
    };
    if !transaction.is_empty() {
        request.context.store().commit(transaction).await?;
    }
    Ok(notice.redirect_to(APPS))
}

/// Finds the question in the mode that the dashboard shows, or else in the other one.
async fn find(request: &MemberRequest) -> Result<(Tenant, Confirmation), Error> {
    let (context, shown) = (&request.context, request.tenant());
    let call = context.path_parameter("call");
    if !call.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        return Err(Error::NotFound);
    }
    let others = Mode::ALL.into_iter().filter(|mode| *mode != shown.mode);
    for mode in [shown.mode].into_iter().chain(others) {
        let tenant = Tenant { mode, ..shown };
        if let Some(found) = context.store().find_confirmation(tenant, call, context.now()).await? {
            return Ok((tenant, found));
        }
    }
    Err(Error::NotFound)
}
