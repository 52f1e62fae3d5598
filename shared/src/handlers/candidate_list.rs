//! The list of candidates.

use serde::Serialize;
use utoipa::ToSchema;

pub use super::candidate_filter::CandidateFilter;
use super::responses::candidate::Candidate;
use super::responses::resume::ResumeLinks;
use crate::http::{ApiRequest, Asked, Collection, Error, Listing, Reply, Since};
use crate::id::Id;
use crate::model::{self, ApplicationStatus, Stage};
use crate::store::{Applicant, CandidateSearch, Listed, Paging};

/// A candidate in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedCandidate {
    #[serde(flatten)]
    candidate: Candidate,
    /// The application for the role that the list is filtered by, otherwise `null`.
    application: Option<ApplicationState>,
}

/// The state of an application.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApplicationState {
    /// The identifier.
    id: Id,
    /// The stage.
    stage: Stage,
    /// The status.
    status: ApplicationStatus,
}

/// Lists candidates, newest first. `role_id` and `stage` narrow the list and can be combined. `email`, `phone`,
/// `external_id`, `source`, `tag` and `q` find candidates and can't be combined with other filters. With `q`, the order is
/// that of the words that are found. `updated_after` returns those who have changed, also by a change of one of their
/// applications.
///
/// # Errors
///
/// - `cursor_expired`: with `updated_after`, the changes that the page needs are no longer kept.
pub async fn list(
    request: ApiRequest<Listing<Since<CandidateFilter>>>,
) -> Result<Reply<Collection<ListedCandidate>>, Error> {
    let (asked, page) = request.asked()?;
    let (store, tenant) = (request.context.store(), request.tenant());
    let mut is_search = false;
    let alone = |Listed { items, next }: Listed<model::Candidate>| Listed {
        items: items.into_iter().map(|candidate| (candidate, None)).collect(),
        next,
    };
    let candidates = match asked {
        Asked::Since(time) => {
            let since = request.changes_since(time);
            alone(store.list_changed_candidates(tenant, since, &page).await?.ok_or(Error::CursorExpired)?)
        }
        Asked::Part(filter) => {
            filter.check()?;
            let (role_id, stage) = (filter.role_id, filter.stage);
            match filter.search() {
                None => store.list_candidates(tenant, role_id, stage, &page).await?,
                Some(search) => {
                    is_search = true;
                    alone(find(&request, &search, &page).await?)
                }
            }
        }
    };
    let people = candidates.items.iter().map(|(candidate, _)| candidate);
    let links =
        ResumeLinks::of_candidates(request.context.providers().await, request.context.now(), people).await;
    let reply = request.reply(candidates, |(candidate, application)| ListedCandidate {
        candidate: Candidate::of(candidate, &links),
        application: application.map(ApplicationState::from),
    })?;
    Ok(if is_search { reply.found_by_search() } else { reply })
}

/// Searches with the form that the index had at the last request, beside the gate. If the index has got another form since,
/// the result is wrong, and the search is repeated.
async fn find<I>(
    request: &ApiRequest<I>,
    search: &CandidateSearch,
    page: &Paging,
) -> Result<Listed<model::Candidate>, Error> {
    let (store, expect) = (request.context.store(), |found| request.expect_page(found, true));
    if let Some(last_known) = request.last_known_organization() {
        let found = store.search_candidates(last_known, search, page, expect).await?;
        if request.organization().await.index_form == last_known.index_form {
            return Ok(found);
        }
    }
    Ok(store.search_candidates(request.organization().await, search, page, expect).await?)
}

impl From<(Applicant, ApplicationStatus)> for ApplicationState {
    fn from((applicant, status): (Applicant, ApplicationStatus)) -> Self {
        Self { id: applicant.application_id, stage: applicant.stage, status }
    }
}
