//! Moving several candidates of one role at once. Each one is moved by a transaction of its own.

use std::sync::Arc;

use askama::Template;
use shared::handlers::moves;
use shared::http::{Error, HandlerCall, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{EndedBy, RejectionReason, Role, Stage};
use shared::store::CommitError;

use crate::form_page::{Refusal, fields_of};
use crate::layout::{Layout, Section};
use crate::messages::Alert;

/// The maximum number of candidates at once.
const MAX: usize = 50;

#[derive(Template)]
#[template(path = "bulk.html")]
struct BulkPage<'p> {
    layout: Layout<'p>,
    role: u64,
    title: &'p str,
    to: Stage,
    /// The key of the form, which a repetition keeps.
    key: String,
    reason: String,
    /// The reasons that can be chosen, with their identifiers.
    reasons: Vec<RejectionReason>,
    /// The identifier of the one that was chosen.
    reason_id: String,
    people: Vec<Person>,
    /// Whether the move was carried out.
    is_done: bool,
    /// The number of candidates who could not be moved.
    refused: usize,
}

/// A candidate in a review or a result.
struct Person {
    id: Id,
    name: String,
    stage: Stage,
    /// Why the candidate was not moved; `None` before the move and after a successful one.
    refusal: Option<String>,
}

impl Person {
    /// The candidate and the stage that was shown, as the value of a form's field.
    fn value(&self) -> String {
        format!("{}.{}", self.id, self.stage.as_str())
    }
}

/// Shows who would be moved.
pub(crate) async fn review(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    let role = find_role(&request).await?;
    let to = stage(query.get("to"))?;
    let ids: Vec<Id> = query.all("id").filter_map(|id| id.parse().ok()).take(MAX).collect();
    let found = request.context.store().find_applicants(request.tenant(), role.id, &ids).await?;
    if found.is_empty() {
        let list = format!("/dashboard/candidates?role_id={}", role.id);
        return Ok(Alert::NobodySelected.redirect_to(&list).showing(0));
    }
    let people = found.into_iter().map(|(candidate, applicant)| Person {
        id: candidate.id,
        name: candidate.profile.name.as_str().to_owned(),
        stage: applicant.stage,
        refusal: None,
    });
    let people: Vec<_> = people.collect();
    let layout = Layout::of(&request, Section::Candidates);
    let shown = people.len();
    let page = BulkPage {
        key: layout.key.clone(),
        layout,
        role: role.id.get(),
        title: role.content.title.as_str(),
        to,
        reason: String::new(),
        reasons: reasons(&request, to).await?,
        reason_id: String::new(),
        people,
        is_done: false,
        refused: 0,
    };
    Ok(Reply::page(&page)?.showing(shown))
}

/// The reasons that can be chosen for a rejection.
async fn reasons(request: &MemberRequest, to: Stage) -> Result<Vec<RejectionReason>, Error> {
    if to != Stage::Rejected {
        return Ok(Vec::new());
    }
    let reasons = request.context.store().get_rejection_reasons(request.tenant()).await?;
    Ok(reasons.active(EndedBy::Team).cloned().collect())
}

/// Moves the candidates, one after another, and shows what happened. The same form again finishes the rest.
pub(crate) async fn carry_out(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let form = request.page.form();
    let role = find_role(&request).await?;
    let to = stage(form.get("to"))?;
    let chosen = form.all("candidate").filter_map(|value| {
        let (id, stage) = value.split_once('.')?;
        Some((id.parse::<Id>().ok()?, stage.parse::<Stage>().ok()?))
    });
    let chosen: Vec<_> = chosen.take(MAX).collect();
    let ids: Vec<_> = chosen.iter().map(|(id, _)| *id).collect();
    let found = request.context.store().find_applicants(request.tenant(), role.id, &ids).await?;
    let mut people = Vec::new();
    for (candidate, _) in found {
        let Some((id, seen)) = chosen.iter().find(|(id, _)| *id == candidate.id).copied() else { continue };
        let moved = move_one(&request, role.id, id, seen, to).await;
        let refusal = match moved {
            Ok(()) => None,
            Err(error) => Some(refusal(error)?),
        };
        people.push(Person { id, name: candidate.profile.name.as_str().to_owned(), stage: seen, refusal });
    }
    let refused = people.iter().filter(|person| person.refusal.is_some()).count();
    let page = BulkPage {
        layout: Layout::of(&request, Section::Candidates),
        role: role.id.get(),
        title: role.content.title.as_str(),
        to,
        key: form.get("key").to_owned(),
        reason: form.get("reason").to_owned(),
        reasons: Vec::new(),
        reason_id: form.get("reason_id").to_owned(),
        people,
        is_done: true,
        refused,
    };
    Reply::page(&page)
}

async fn move_one(request: &MemberRequest, role: Id, id: Id, seen: Stage, to: Stage) -> Result<(), Error> {
    let role = role.to_string();
    let form = request.page.form();
    let details = match to {
        Stage::Rejected => {
            vec![("reason_id", form.get("reason_id")), ("reason", form.get("reason"))]
        }
        stage => vec![("stage", stage.as_str())],
    };
    let fields: Vec<_> = [("role_id", role.as_str())].into_iter().chain(details).collect();
    let call = request.call(fields_of(&fields));
    let call = HandlerCall { id: Some(id), seen: Some(seen.as_str().to_owned()), ..call };
    match to {
        Stage::Rejected => request.carry_out(call, moves::reject).await.map(drop),
        _ => request.carry_out(call, moves::advance).await.map(drop),
    }
}

/// Why a candidate was not moved.
fn refusal(error: Error) -> Result<String, Error> {
    Ok(match error {
        Error::PreconditionFailed => "Somebody moved this candidate in the meantime.".to_owned(),
        Error::Erased | Error::NotFound => "This candidate was erased.".to_owned(),
        Error::Commit(CommitError::Store(error)) => return Err(error.into()),
        Error::Commit(_) => "Somebody changed this candidate at the same time. Repeat the move.".to_owned(),
        Error::InvalidTransition(_) => "The application has ended, or its role is closed.".to_owned(),
        error => Refusal::of(error)?.text(),
    })
}

/// The stage to move to: an open one, or rejected. Candidates are hired one at a time.
fn stage(word: &str) -> Result<Stage, Error> {
    word.parse().ok().filter(|stage| *stage != Stage::Hired).ok_or(Error::NotFound)
}

async fn find_role(request: &MemberRequest) -> Result<Role, Error> {
    let found = request.context.store().find_role(request.tenant(), request.context.id()?).await?;
    found.ok_or(Error::NotFound)
}
