//! Closing a role: the page that says what ends with it, and how the closing is undone from the message about it.

use std::sync::Arc;

use askama::Template;
use shared::handlers::{postings, roles};
use shared::http::{Error, HandlerCall, Html, MemberRequest, Reply};
use shared::id::Id;
use shared::model::{RoleAndPosting, RoleStatus, ScreenStatus, Stage, grouped};
use shared::store::{Paging, StoreError};

use crate::closing::Closing;
use crate::form_page::fields_of;
use crate::layout::{Layout, Section};
use crate::messages::{Alert, Notice};

/// The number of a role's newest voice screens among which the page counts the calls that will be cancelled.
const COUNTED: u32 = 100;
/// How often the steps of an undo are tried while other changes are made at the same time.
const ATTEMPTS: usize = 5;

/// A number of things, of which there may be more.
struct Count {
    number: u64,
    is_minimum: bool,
}

#[derive(Template)]
#[template(path = "role_closing.html")]
struct ClosingPage<'p> {
    layout: Layout<'p>,
    title: &'p str,
    closing: Closing,
    /// The number of active applications.
    active: u64,
    /// The number of people who have applied.
    applicants: u64,
    /// The calls that are not made.
    calls: Count,
    /// Whether somebody changed the role after the page was shown.
    is_stale: bool,
}

impl Count {
    /// The number in words: `2 planned calls are`, `at least 1 planned call is`.
    fn in_words(&self) -> String {
        let minimum = if self.is_minimum { "at least " } else { "" };
        let noun = if self.number == 1 { "planned call is" } else { "planned calls are" };
        format!("{minimum}{} {noun}", grouped(self.number))
    }
}

/// Asks whether to close a role.
pub(crate) async fn ask(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let found = find(&request).await?;
    if found.role.status == RoleStatus::Closed {
        return Ok(Reply::see_other(&format!("/dashboard/roles/{}", found.role.id)));
    }
    page(&request, &found, false).await
}

async fn page(request: &MemberRequest, found: &RoleAndPosting, is_stale: bool) -> Result<Reply<Html>, Error> {
    let (role, stats) = (&found.role, found.stats.clone().unwrap_or_default());
    let page = ClosingPage {
        layout: Layout::of(request, Section::Roles),
        title: role.content.title.as_str(),
        closing: Closing::of(found, request),
        active: Stage::OPEN.iter().map(|stage| stats.stages[stage.rank()].now).sum(),
        applicants: stats.applicants,
        calls: count_calls(request, role.id).await?,
        is_stale,
    };
    Ok(Reply::page(&page)?.with_status(if is_stale { 412 } else { 200 }))
}

/// Counts the calls for a role that have not begun, among its newest voice screens.
async fn count_calls(request: &MemberRequest, role: Id) -> Result<Count, StoreError> {
    let first = Paging { limit: COUNTED, before: None };
    let listed = request.context.store().list_screens(request.tenant(), Some(role), None, &first).await?;
    let is_planned = |status| matches!(status, ScreenStatus::Queued | ScreenStatus::Scheduled);
    let planned = listed.items.iter().filter(|screen| is_planned(screen.status)).count();
    Ok(Count { number: planned as u64, is_minimum: listed.next.is_some() })
}

/// Closes a role that is as the page has shown it.
pub(crate) async fn close(request: &MemberRequest) -> Result<Reply<Html>, Error> {
    let found = find(request).await?;
    let role = &found.role;
    let Some(shown) = Closing::parse(request.page.form(), role.id) else {
        return Ok(Reply::see_other(&format!("/dashboard/roles/{}/close", role.id)));
    };
    if role.status == RoleStatus::Closed {
        // The form was sent twice, or a colleague was faster.
        return Ok(if shown.has_closed(role) {
            Notice::RoleClosed.redirect_to(&shown.path(request))
        } else {
            Alert::StatusChanged.redirect_to(&format!("/dashboard/roles/{}", role.id))
        });
    }
    if shown != Closing::of(&found, request) {
        return page(request, &found, true).await;
    }
    request.carry_out(request.call(fields_of(&[])), roles::close).await?;
    Ok(Notice::RoleClosed.redirect_to(&shown.path(request)))
}

/// Undoes a closing: reopens the role, and brings back its status and its posting. What the API does in several steps happens in
/// several steps here, too.
pub(crate) async fn undo(request: &MemberRequest) -> Result<Reply<Html>, Error> {
    let (form, id) = (request.page.form(), request.context.id()?);
    let path = format!("/dashboard/roles/{id}");
    let closing = Closing::parse(form, id).ok_or_else(|| {
        Error::BadRequest("The form must say what the role was before it was closed".to_owned())
    })?;
    let found = find(request).await?;
    if !closing.has_closed(&found.role) {
        return Ok(Alert::StatusChanged.redirect_to(&path));
    }
    let now = Closing::of(&found, request);
    if (now.status, now.is_published) == (closing.status, closing.is_published) {
        // The form was sent twice.
        return Ok(Notice::ClosingUndone.redirect_to(&path));
    }
    match found.role.status {
        RoleStatus::Closed => {}
        // Somebody has reopened it, or a change at the same time has stopped this form after its first step.
        RoleStatus::Draft => return Ok(Alert::OnlyReopened.redirect_to(&path)),
        RoleStatus::Open | RoleStatus::Paused => return Ok(Alert::StatusChanged.redirect_to(&path)),
    }
    request.carry_out(step(request), roles::reopen).await?;
    let mut restored = restore(request, closing).await;
    for _ in 1..ATTEMPTS {
        match &restored {
            Err(error) if error.is_conflict() => restored = restore(request, closing).await,
            _ => break,
        }
    }
    match restored {
        Ok(()) => Ok(Notice::ClosingUndone.redirect_to(&path)),
        Err(Error::InvalidTransition(_) | Error::Validation(_) | Error::NotFound) => {
            Ok(Alert::OnlyReopened.redirect_to(&path))
        }
        Err(error) => Err(error),
    }
}

/// Brings back the posting and the status of a role that was just reopened, as far as they are not back.
async fn restore(request: &MemberRequest, closing: Closing) -> Result<(), Error> {
    let found = find(request).await?;
    let posting = found.posting.filter(|posting| closing.is_published && !posting.published);
    if let Some(posting) = posting {
        let call = HandlerCall { id: Some(posting.id), ..step(request) };
        request.carry_out(call, postings::publish).await?;
    }
    if found.role.status == RoleStatus::Draft && closing.status != RoleStatus::Draft {
        request.carry_out(step(request), roles::publish).await?;
    }
    if closing.status == RoleStatus::Paused {
        request.carry_out(step(request), roles::pause).await?;
    }
    Ok(())
}

/// A step of an undo. A receipt is about one request, and these are several.
fn step(request: &MemberRequest) -> HandlerCall {
    HandlerCall { key: None, ..request.call(fields_of(&[])) }
}

async fn find(request: &MemberRequest) -> Result<RoleAndPosting, Error> {
    let id = request.context.id()?;
    request.context.store().find_role_and_posting(request.tenant(), id).await?.ok_or(Error::NotFound)
}
