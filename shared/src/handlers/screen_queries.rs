//! The list of voice screens, and single voice screens.

use serde::Serialize;
use utoipa::ToSchema;

use super::responses::screen::{Screen, ScreenAccess};
use crate::http::{ApiRequest, Asked, Collection, Error, Listing, Reply, Since, input};
use crate::id::Id;
use crate::model::{Assessment, Excerpt, ScreenResult, ScreenStatus, Turn};
use crate::store::StatusOrResult;

input! {
    /// Filters for the list of voice screens.
    pub struct ScreenFilter {
        /// Returns only screens for this role. Can be combined with `status` or `result`.
        role_id: optional Id,
        /// Returns only screens of this candidate. Cannot be combined with other filters.
        candidate_id: optional Id,
        /// Returns only screens in this status. Cannot be combined with `result`.
        status: optional ScreenStatus,
        /// Returns only screens with this result. Cannot be combined with `status`.
        result: optional ScreenResult,
    }
}

/// A voice screen with its transcript, highlights and red flags.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScreenDetail {
    #[serde(flatten)]
    screen: Screen,
    /// The transcript of the conversation.
    transcript: Vec<Turn>,
    /// Points in favor of the candidate.
    highlights: Vec<Excerpt>,
    /// Concerns about the candidate.
    red_flags: Vec<Excerpt>,
    /// What conducted and assessed the conversation; `null` until the call is ordered.
    assessment: Option<Assessment>,
}

/// Lists voice screens, newest first. The filters narrow the list: `role_id`, alone or with `status` or `result`;
/// `candidate_id`, `status` or `result` alone. `updated_after` returns those that have changed.
///
/// # Errors
///
/// - `cursor_expired`: with `updated_after`, the changes that the page needs are no longer kept.
pub async fn list(
    request: ApiRequest<Listing<Since<ScreenFilter>>>,
) -> Result<Reply<Collection<Screen>>, Error> {
    let (asked, page) = request.asked()?;
    let (store, tenant) = (request.context.store(), request.tenant());
    let access = ScreenAccess::of(request.scopes());
    let filter = match asked {
        Asked::Since(time) => {
            let changed = store.list_changed_screens(tenant, request.changes_since(time), &page).await?;
            return request.reply(changed.ok_or(Error::CursorExpired)?, |screen| access.screen(screen));
        }
        Asked::Part(filter) => filter,
    };
    check(&filter)?;
    let screens = if let Some(candidate) = filter.candidate_id {
        store.list_screens_of(tenant, candidate, &page).await?
    } else {
        let status = filter.status.map(StatusOrResult::Status);
        let state = status.or(filter.result.map(StatusOrResult::Result));
        store.list_screens(tenant, filter.role_id, state, &page).await?
    };
    request.reply(screens, |screen| access.screen(screen))
}

/// Returns a voice screen with its transcript, highlights and red flags.
pub async fn show(request: ApiRequest<()>) -> Result<Reply<ScreenDetail>, Error> {
    let found = request.context.store().find_screen_page(request.tenant(), request.id()?).await?;
    let (record, transcript) = found.ok_or(Error::NotFound)?;
    request.input()?;
    Reply::resource(&ScreenDetail {
        screen: ScreenAccess::of(request.scopes()).screen(record.screen),
        transcript,
        highlights: record.highlights,
        red_flags: record.red_flags,
        assessment: record.assessment,
    })
}

/// Fails with 422 if filters cannot be combined.
fn check(filter: &ScreenFilter) -> Result<(), Error> {
    let given = [
        ("role_id", filter.role_id.is_some()),
        ("status", filter.status.is_some()),
        ("result", filter.result.is_some()),
    ];
    let mut messages = Vec::new();
    if filter.candidate_id.is_some() {
        let others = given.iter().filter(|(_, given)| *given);
        messages.extend(others.map(|(name, _)| format!("candidate_id can't be combined with {name}")));
    } else if filter.status.is_some() && filter.result.is_some() {
        messages.push("status can't be combined with result".to_owned());
    }
    if messages.is_empty() { Ok(()) } else { Err(Error::Validation(messages)) }
}
